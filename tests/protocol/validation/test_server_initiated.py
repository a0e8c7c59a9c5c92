"""What a server may say first: messages to begin from, and bytes as a person types them."""

import json

import pytest

from humanmcp.protocol.validation import whole_conversation
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
    assert whole_conversation.typed_bytes(typed) == raw


def test_progress_names_the_token_that_its_request_gave() -> None:
    """Its id where it gave none: that is wrong, and the check says so."""
    with_token = asked("tools/call", {"name": "dice", "_meta": {"progressToken": "p"}})
    for exchange, token in ((with_token, "p"), (asked("tools/call", {"name": "dice"}), None)):
        said = json.loads(whole_conversation.progress(exchange, 1, 2))
        wanted = token or exchange.id.value
        assert said["params"] == {"progressToken": wanted, "progress": 1, "total": 2}


def test_messages_to_begin_from_are_those_that_the_version_has() -> None:
    """Progress for each that waits and gave a token, with the tool that it is about."""
    with_token = asked("tools/call", {"name": "dice", "_meta": {"progressToken": "p"}})
    listed = asked("tools/list", {"_meta": {"progressToken": 7}})
    waiting = (with_token, listed, asked("tools/call", {"name": "silent"}))
    found = whole_conversation.openers("2025-11-25", waiting, "h-1")
    assert [(one.method, one.about) for one in found] == [
        ("notifications/tools/list_changed", "tools"),
        ("notifications/prompts/list_changed", "prompts"),
        ("notifications/resources/list_changed", "resources"),
        ("notifications/message", "info"),
        ("notifications/progress", "dice"),
        ("notifications/progress", "tools/list"),
        ("ping", ""),
        ("roots/list", ""),
        ("elicitation/create", ""),
        ("sampling/createMessage", ""),
    ]
    texts = {one.method: json.loads(one.text) for one in found}
    assert texts["roots/list"] == {"jsonrpc": "2.0", "id": "h-1", "method": "roots/list"}
    assert texts["notifications/tools/list_changed"].keys() == {"jsonrpc", "method"}
    assert texts["notifications/progress"]["params"] == {
        "progressToken": 7,
        "progress": 1,
        "total": 4,
    }
    assert texts["notifications/message"]["params"] == {
        "level": "info",
        "logger": "humanmcp",
        "data": "a person is at it",
    }
    assert texts["elicitation/create"]["params"]["requestedSchema"]["required"] == ["name"]
    assert texts["sampling/createMessage"]["params"]["maxTokens"] == 100


def test_a_server_of_2026_asks_nothing_by_itself() -> None:
    """2026-07-28 has questions in results instead of requests of the server."""
    methods = {one.method for one in whole_conversation.openers("2026-07-28", (), "h-1")}
    assert methods.isdisjoint({"ping", "roots/list", "elicitation/create"})
    assert "notifications/tools/list_changed" in methods
