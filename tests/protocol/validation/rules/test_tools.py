"""What a file is, by how it begins."""

import json

import pytest

from humanmcp.protocol.diagnostics.model import TextForm
from humanmcp.protocol.validation.json_schema.validator import MOST_SHOWN
from humanmcp.protocol.validation.rules.tools import mime_of
from tests.support.verdicts import asked, check


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


WHOLE = '{"jsonrpc":"2.0","id":3,"result":{"content":[{"type":"text","text":"sunny"}]}}'


def in_text(text: str) -> str:
    """Return a response whose only text is this one."""
    return WHOLE.replace('"sunny"', json.dumps(text))


def test_a_response_that_was_pasted_as_text_is_used_as_json_with_one_fix() -> None:
    """A warning: it may be meant. What was pasted then stands byte for byte in its place."""
    pasted = WHOLE.replace(",", ",\n ")
    verdict = check(asked("tools/call", {"name": "t"}), in_text(f" {pasted}\n"))
    assert verdict.sendable
    (diagnostic,) = verdict.diagnostics
    assert (diagnostic.code, diagnostic.blocks) == ("M110", False)
    assert diagnostic.fix is not None
    assert not diagnostic.fix.is_safe  # never among all fixes at once
    assert diagnostic.fix.apply(verdict.text) == pasted


def test_plain_text_that_is_a_response_is_warned_of_without_a_fix() -> None:
    """There is no JSON to put it into."""
    verdict = check(asked("tools/call", {"name": "t"}), WHOLE, TextForm.TEXT)
    assert [(one.code, one.fix) for one in verdict.diagnostics] == [("M110", None)]


@pytest.mark.parametrize(
    "text",
    [
        "sunny",
        '{"jsonrpc":"2.0","id":3}',
        '{"result":{}}',
        '{"jsonrpc":"2.0","id":3,"result":{}',
        '["jsonrpc", "result"]',
        f"The server sent {WHOLE}",
    ],
)
def test_other_json_is_a_text_like_any_other(text: str) -> None:
    """Only a whole response is nothing that a model should read."""
    verdict = check(asked("tools/call", {"name": "t"}), in_text(text))
    assert "M110" not in {one.code for one in verdict.diagnostics}
