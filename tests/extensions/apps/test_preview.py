"""What the preview of a page knows: of which exchange, for whom, and of which call."""

import json
from types import SimpleNamespace
from typing import Any, Final

import pytest

from humanmcp.extensions.apps import preview
from humanmcp.inbox.contract import Answer, Item, Key
from humanmcp.protocol.conversation.exchange import NegotiatedState
from humanmcp.protocol.conversation.stages import ExchangeState
from humanmcp.protocol.conversation.transcript import Direction, Frame

URI: Final = "ui://a/page"
TOOL: Final = {"name": "show", "_meta": {"ui": {"resourceUri": URI}}}
AT: Final = "2026-11-28T00:00:00Z"


def frame(direction: Direction, **members: Any) -> Frame:  # noqa: ANN401 - any JSON value
    """Make a frame of a transcript."""
    text = json.dumps({"jsonrpc": "2.0", **members})
    return Frame(1, AT, direction, text.encode())


def called(token: int, name: str = "show", **arguments: str) -> Frame:
    """Make the frame of a call."""
    params = {"name": name, "arguments": arguments}
    return frame(Direction.IN, id=token, method="tools/call", params=params)


def result(token: int, value: object) -> Frame:
    """Make the frame of a result."""
    return frame(Direction.OUT, id=token, result=value)


@pytest.mark.parametrize(
    ("frames", "found"),
    [
        ([], ({}, None)),
        ([called(1, a="1")], ({"a": "1"}, None)),
        ([called(1, a="1"), result(1, {"content": []})], ({"a": "1"}, {"content": []})),
        ([called(1), result(2, {})], ({}, None)),
        ([called(1), called(2, "other"), result(2, {"b": 2}), result(1, {"c": 3})], ({}, {"c": 3})),
        ([called(1), result(1, {"b": 2}), called(1, a="2")], ({"a": "2"}, None)),
        ([called(1), result(1, "no object")], ({}, None)),
        ([called(1), frame(Direction.IN, id=1, result={"b": 2})], ({}, None)),  # of the other side
        ([called(1), frame(Direction.OUT, id=1, error={"code": 1, "message": "a"})], ({}, None)),
    ],
)
def test_the_page_is_told_of_the_last_call(frames: list[Frame], found: object) -> None:
    assert preview.last_call(frames, "show") == found


def test_of_two_open_requests_with_one_id_each_has_its_own_result() -> None:
    """What is answered is known by the number of the exchange."""
    asked = [called(1, "other"), called(1, a="1")]
    frames = [one._replace(number=at) for at, one in enumerate([*asked, result(1, {"b": 2})], 1)]
    frames[-1] = frames[-1]._replace(number=2)
    assert preview.last_call(frames, "show") == ({"a": "1"}, {"b": 2})


@pytest.mark.parametrize(
    ("method", "uri", "device", "platform", "shown"),
    [
        ("resources/read", URI, "", "linux", 1),
        ("resources/read", URI, "Phone", "linux", 0),
        ("resources/read", URI, "", "emscripten", 0),
        ("resources/read", "file:///a", "", "linux", 0),
        ("tools/call", URI, "", "linux", 0),
    ],
)
@pytest.mark.parametrize("answer", ["", "sent"])
def test_the_preview_is_beside_the_page_of_a_tool_and_never_on_a_phone(  # noqa: PLR0917 - a table
    monkeypatch: pytest.MonkeyPatch,
    method: str,
    uri: str,
    device: str,
    platform: str,
    shown: int,
    answer: str,
) -> None:
    """It holds no page itself: what was sent is a stranger's text, in a block of data.

    Nor is it there without a server.
    """
    monkeypatch.setattr("sys.platform", platform)
    sent = Answer("<script>alert(1)</script>", "desk", AT) if answer else None
    state = ExchangeState.ANSWERED if answer else ExchangeState.PENDING
    item = Item(Key("s", 1), "", method, "1", "2025-11-25", AT, state=state, answer=sent)
    opened: Any = SimpleNamespace(
        item=item,
        params={"uri": uri},
        negotiated=NegotiatedState(tools={"show": TOOL}),
        inbox=SimpleNamespace(last_frames_before=lambda *_: []),
    )
    request: Any = SimpleNamespace(state=SimpleNamespace(device=device))
    html = preview.below(request, opened)
    assert html.count("<app-preview") == shown
    assert "<iframe" not in html
    assert "alert(1)</script>" not in html
    assert html.count("alert(1)") == (shown if answer else 0)
