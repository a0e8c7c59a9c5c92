"""What a file is, by how it begins."""

import json

import pytest

from humanmcp.protocol.validation.json_schema.validator import MOST_SHOWN
from humanmcp.protocol.validation.rules.tools import mime_of
from tests.asking import asked, check


@pytest.mark.parametrize(
    ("content", "mime"),
    [
        (b"\x89PNG\r\n", "image/png"),
        (b"\xff\xd8\xff\xe0", "image/jpeg"),
        (b"GIF89a", "image/gif"),
        (b"RIFF\0\0\0\0WEBPVP8", "image/webp"),
        (b"RIFF\0\0\0\0WAVEfmt", "audio/wav"),
        (b"RIFF\0\0\0\0AVI ", ""),
        (b"RIFF", ""),
        (b"OggS", "audio/ogg"),
        (b"fLaC", "audio/flac"),
        (b"ID3", "audio/mpeg"),
        (b"\xff\xfb", "audio/mpeg"),
        (b" ID3", ""),
        (b"", ""),
    ],
)
def test_a_picture_or_a_sound_is_told_by_its_first_bytes(content: bytes, mime: str) -> None:
    """As every reader does; of another file nothing is known."""
    assert mime_of(content) == mime


@pytest.mark.parametrize(("count", "offered"), [(MOST_SHOWN, True), (MOST_SHOWN + 1, False)])
def test_structured_content_is_offered_as_text_unless_it_is_large(
    count: int, *, offered: bool
) -> None:
    """Nobody reads thousands of values in a text."""
    result = {"content": [], "structuredContent": {"a": list(range(count))}}
    (diagnostic,) = check(asked("tools/call", {"name": "t"}), json.dumps(result)).diagnostics
    assert (diagnostic.code, diagnostic.fix is not None) == ("M59", offered)
