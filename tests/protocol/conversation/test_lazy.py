"""A value that is worked out when somebody asks for it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from humanmcp.protocol.conversation.events import RequestArrived
from humanmcp.protocol.conversation.lazy import Lazy
from humanmcp.protocol.session import Session
from humanmcp.protocol.validation import check

if TYPE_CHECKING:
    import pytest


def test_it_is_worked_out_at_most_once() -> None:
    """And not before it is asked for."""
    calls: list[int] = []

    def work() -> int:
        calls.append(1)
        return len(calls)

    value = Lazy(work)
    assert calls == []
    assert [value(), value()] == [1, 1]


def test_p5_a_request_that_is_answered_at_once_waits_for_no_remarks(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """P5: nobody reads what the check has to say of it before the answer is out."""
    asked: list[object] = []

    def remarks(*given: object) -> tuple[()]:
        asked.append(given)
        return ()

    monkeypatch.setattr(check, "remarks", remarks)
    (event,) = Session().receive(b'{"jsonrpc":"2.0","id":1,"method":"tools/call"}')
    assert isinstance(event, RequestArrived)
    assert asked == []
    assert event.exchange.remarks == ()
    assert len(asked) == 1
