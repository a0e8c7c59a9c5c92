"""MCP's rules of progress: an open request's token, a value that rises, nothing after the answer.

Strictly rising, and without the trap "progress after the answer, not
increasing, unknown token".
"""

import json
from typing import Any

import pytest

from humanmcp.protocol.conversation.outcomes import RequestRepeated
from humanmcp.protocol.conversation.state import MOST_OPEN, Progress
from humanmcp.protocol.conversation.transcript import Direction
from humanmcp.protocol.json.jsonrpc import Message, read
from humanmcp.protocol.session import McpSession
from tests.protocol.test_session import MODERN, call, line, opened
from tests.protocol.validation.test_observed import said as said_at_a_tap


def told(token: object, value: object) -> dict[str, Any]:
    """Make a progress notification."""
    return {
        "method": "notifications/progress",
        "params": {"progressToken": token, "progress": value},
    }


def asked(token: object, id: int = 1) -> dict[str, Any]:  # noqa: A002 - the protocol's own word
    """Make a call that wants to hear of its progress."""
    return {
        "id": id,
        "method": "resources/read",
        "params": {"uri": "a:b", "_meta": {"progressToken": token}},
    }


ANSWERED = {"id": 1, "result": {"contents": [{"uri": "a:b", "text": "4"}]}}
CANCELLED = {"method": "notifications/cancelled", "params": {"requestId": 1}}


IN, OUT = Direction.IN, Direction.OUT


@pytest.mark.parametrize(
    ("said", "codes"),
    [
        # the value MUST increase with each notification; what counts is the highest one
        ([asked("p"), told("p", 0)], []),
        ([asked("p"), told("p", -3), told("p", 0), told("p", 0.5), told("p", 7)], []),
        ([asked("p"), told("p", 1), told("p", 1)], ["N36"]),
        ([asked("p"), told("p", 2), told("p", 1), told("p", 1.5)], ["N36"]),
        ([asked("p"), told("p", 1e308), told("p", 2**70)], ["N36"]),
        ([asked("p"), told("p", 2**53), told("p", 2**53 + 1)], []),
        (
            [asked("p"), told("p", 3), told("p", value=True)],
            ["M19"],
        ),  # said by the shape, and only once
        ([asked("p"), told("p", 3), told("p", "4")], ["M19"]),
        # only tokens of active requests, each type its own
        ([asked("p"), told("p", 1), ANSWERED, told("p", 2)], ["N37"]),
        ([asked(0), told(0, 1), ANSWERED, told(0, 2)], ["N37"]),
        ([asked(""), told("", 1), ANSWERED, told("", 2)], ["N37"]),
        ([asked(7), told("7", 1)], ["N37"]),
        ([asked("7"), told(7, 1)], ["N37"]),
        # clients take the id as the token, and ids come again
        ([asked(1), told(1, 50), ANSWERED, asked(1), told(1, 1)], []),
        # both sides must handle the race of a cancellation
        ([asked("p"), CANCELLED, told("p", 1)], []),
    ],
)
def test_progress_rises_and_is_of_an_open_request(
    said: list[dict[str, Any]], codes: list[str]
) -> None:
    """MCP's rules of progress, at a tap."""
    client = (asked(0)["method"], CANCELLED["method"])
    lines = [(IN if each.get("method") in client else OUT, each) for each in said]
    assert said_at_a_tap(*lines) == codes


def test_a_token_of_the_other_side_is_none() -> None:
    """A client cannot tell of the progress of what it asked itself."""
    assert said_at_a_tap((IN, asked("p")), (IN, told("p", 1))) == ["N37"]


def test_a_person_is_told_too() -> None:
    """At the server's seat: nothing is blocked, since a client may be tested with it."""
    session = opened()
    call(session, 1, _meta={"progressToken": "p"})
    codes = []
    for token, value in (("p", 2), ("p", 1), ("q", 1), ("p", 3)):
        verdict = session.submit(json.dumps({"jsonrpc": "2.0", **told(token, value)}))
        assert verdict.sendable
        codes.append([diagnostic.code for diagnostic in verdict.diagnostics])
    assert codes == [[], ["N36"], ["N37"], []]


def test_what_is_only_judged_is_not_remembered() -> None:
    """The page judges at every key."""
    session = opened()
    call(session, 1, _meta={"progressToken": "p"})
    text = json.dumps({"jsonrpc": "2.0", **told("p", 2)})
    assert [session.judge(text).diagnostics for _ in range(2)] == [(), ()]


def test_what_we_say_while_a_person_thinks_goes_on_from_what_the_person_said() -> None:
    """The client sees one line of progress, whoever spoke."""
    session = opened()
    exchange = call(session, 1, _meta={"progressToken": "p"})
    values: list[int] = []
    for own in (None, 4.5, None):
        if own is not None:
            assert (
                session.submit(json.dumps({"jsonrpc": "2.0", **told("p", own)})).diagnostics == ()
            )
        spoken = session.progress(exchange.number, len(values) + 1, "waiting")
        assert spoken is not None
        values.append(json.loads(spoken)["params"]["progress"])
    assert values == [1, 5, 6]


def test_a_held_request_that_comes_again_speaks_with_its_new_token() -> None:
    """2026-07-28: the repeat is a request of its own on the wire."""
    session = McpSession()
    number = call(session, 1, _meta={**MODERN, "progressToken": "a"}).number
    assert session.progress(number, 1, "") is not None
    assert session.ask_to_retry(number, "state") is not None
    meta = {**MODERN, "progressToken": "b"}
    again = line("tools/call", 2, name="t", requestState="state", _meta=meta)
    (event,) = session.receive(again)
    assert isinstance(event, RequestRepeated)
    judged = {
        token: session.judge(json.dumps({"jsonrpc": "2.0", **told(token, 1)})).diagnostics
        for token in ("a", "b")
    }
    assert [diagnostic.code for diagnostic in judged["a"]] == ["N37"]
    assert judged["b"] == ()


def test_of_many_tokens_the_oldest_are_forgotten() -> None:
    """A client that never gets an answer does not fill the memory."""
    progress = Progress()
    for number in range(MOST_OPEN + 1):
        message = read(line("tools/call", 1, name="t", _meta={"progressToken": number}))
        assert isinstance(message, Message)
        progress.asked(message)
    params = [told(number, 1)["params"] for number in (0, 1, MOST_OPEN)]
    assert [[one.code for one in progress.judge(each)] for each in params] == [["N37"], [], []]


@pytest.mark.parametrize("params", [None, [], "x", {}, {"progressToken": None, "progress": 1}])
def test_what_names_no_token_is_no_matter_of_the_rules_of_progress(params: object) -> None:
    """Its shape is judged elsewhere."""
    assert Progress().judge(params) == []


@pytest.mark.parametrize(
    ("said", "taken"),
    [(told(7, 1), True), (told(8, 1), False), (told("7", 1), False),
     ({**told(7, 1), "method": "notifications/message"}, False)],
)  # fmt: skip
def test_a_person_takes_over_the_progress_of_a_request_that_is_open(
    said: dict[str, Any], *, taken: bool
) -> None:
    """By a notification of their own with its token; another one takes over nothing."""
    progress = Progress()
    first, other = (read(json.dumps({"jsonrpc": "2.0", **asked(one)}).encode()) for one in (7, 8))
    notice = read(json.dumps({"jsonrpc": "2.0", **said}).encode())
    assert isinstance(first, Message)
    assert isinstance(other, Message)
    assert isinstance(notice, Message)
    progress.asked(first)
    progress.mark_manual(notice)
    assert progress.is_taken_over(first) == taken
    progress.asked(other)
    assert not progress.is_taken_over(other)
