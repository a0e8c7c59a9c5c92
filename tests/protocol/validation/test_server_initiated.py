"""What a server may say first: messages to begin from, and bytes as a person types them."""

from __future__ import annotations

import json

import pytest

from humanmcp.protocol.validation import server_initiated
from tests.asking import asked


@pytest.mark.parametrize(
    ("typed", "raw"),
    [
        (r"\xff\x00", b"\xff\x00"),
        (r"\x4a", b"J"),
        (r"a\nb\\n", b"a\nb\\n"),
        ("\u6771\U0001f600", "\u6771\U0001f600".encode()),
    ],
)
def test_bytes_are_typed_as_escapes(typed: str, raw: bytes) -> None:
    """Two hexadecimal digits are one byte; everything else is UTF-8."""
    assert server_initiated.typed_bytes(typed) == raw


def test_progress_names_the_token_that_its_request_gave() -> None:
    """Its id where it gave none: that is wrong, and the check says so."""
    with_token = asked("tools/call", {"name": "dice", "_meta": {"progressToken": "p"}})
    for exchange, token in ((with_token, "p"), (asked("tools/call", {"name": "dice"}), None)):
        said = json.loads(server_initiated.progress(exchange, 1, 2))
        wanted = token or exchange.id.value
        assert said["params"] == {"progressToken": wanted, "progress": 1, "total": 2}
