"""What a client made of what was said to it, read from the record alone."""

import json
from typing import Any

from humanmcp.answering.reactions import reactions
from humanmcp.common.timestamps import stamp
from humanmcp.protocol.conversation.transcript import Direction, Frame

IN, OUT = Direction.IN, Direction.OUT


def frames(*said: tuple[float, Direction, dict[str, Any]]) -> list[Frame]:
    """Record what was said: when, by whom, what."""
    return [
        Frame(
            seq,
            stamp(1_800_000_000 + at),
            direction,
            json.dumps({"jsonrpc": "2.0", **body}).encode(),
        )
        for seq, (at, direction, body) in enumerate(said, 1)
    ]


def asked(number: int, method: str, **params: Any) -> dict[str, Any]:  # noqa: ANN401 - any JSON value
    """Write a request."""
    return {"id": number, "method": method, "params": params}


def listed(number: int, *names: str) -> dict[str, Any]:
    """Write the answer to `tools/list`."""
    return {"id": number, "result": {"tools": [{"name": name} for name in names]}}


CHANGED = {"method": "notifications/tools/list_changed"}


def became(*said: tuple[float, Direction, dict[str, Any]]) -> list[tuple[str, float]]:
    """Return the verdicts."""
    return [(one.became, round(one.after, 3)) for one in reactions(frames(*said))]


def test_a_list_that_was_asked_for_again_says_how_soon() -> None:
    """`listed again after 0.4 s`; before that: never."""
    before = (0.0, OUT, CHANGED)
    assert became(before) == [("list.never", 0)]
    assert became(before, (0.4, IN, asked(2, "tools/list"))) == [("list.again", 0.4)]


def test_the_call_of_a_tool_that_was_taken_away_is_noticed() -> None:
    """Listed again, and the model still called the old one; or called without listing."""
    opening = ((0.0, IN, asked(1, "tools/list")), (0.1, OUT, listed(1, "old")), (1.0, OUT, CHANGED))
    called = (5.0, IN, asked(3, "tools/call", name="old"))
    again = ((1.4, IN, asked(2, "tools/list")), (1.5, OUT, listed(2, "new")))
    assert became(*opening, *again, called) == [("list.old", 0.4)]
    assert became(*opening, called) == [("list.unlisted", 0)]
    found = reactions(frames(*opening, *again, called))
    assert "the model still called the old old" in found[0].sentence()


def test_of_several_notices_the_last_counts() -> None:
    """One request answers them all."""
    again = (2.5, IN, asked(2, "tools/list"))
    assert became((0.0, OUT, CHANGED), (2.0, OUT, CHANGED), again) == [("list.again", 0.5)]


def test_a_question_that_nobody_can_have_read_was_declined_by_itself() -> None:
    """Declined within a second, by a person, answered, refused with an error, open."""
    question = (0.0, OUT, asked(9, "elicitation/create", message="Which?"))

    def told(at: float, **body: Any) -> str:  # noqa: ANN401 - any JSON value
        return became(question, (at, IN, {"id": 9, **body}))[0][0]

    assert became(question) == [("ask.open", 0)]
    assert told(0.02, result={"action": "decline"}) == "ask.by itself"
    assert told(4.0, result={"action": "cancel"}) == "ask.declined"
    assert told(4.0, result={"action": "accept", "content": {}}) == "ask.answered"
    assert told(0.1, error={"code": -32601, "message": "no"}) == "ask.refused"


def test_a_question_of_2026_is_answered_by_the_repeat() -> None:
    """It is a result; what was said stands in the request that comes again."""
    question = {"resultType": "input_required", "inputRequests": {}, "requestState": "s"}
    again = asked(
        2, "tools/call", name="a", requestState="s", inputResponses={"user": {"action": "decline"}}
    )
    assert became(
        (0.0, IN, asked(1, "tools/call", name="a")),
        (1.0, OUT, {"id": 1, "result": question}),
        (1.2, IN, again),
    ) == [("ask.by itself", 0.2)]


def test_progress_says_how_long_a_client_waited_with_it() -> None:
    """Until the answer, or until it gave up all the same."""
    call = (0.0, IN, asked(1, "tools/call", name="a", _meta={"progressToken": "p"}))
    said = {"method": "notifications/progress", "params": {"progressToken": "p", "progress": 1}}
    going = (call, (5.0, OUT, said), (10.0, OUT, said))
    assert became(*going) == [("progress.open", 0)]
    assert became(*going, (70.0, OUT, {"id": 1, "result": {}})) == [("progress.waited", 70.0)]
    given_up = {"method": "notifications/cancelled", "params": {"requestId": 1}}
    assert became(*going, (60.0, IN, given_up)) == [("progress.gave up", 60.0), ("cancelled", 60.0)]
    assert reactions(frames(*going))[0].times == 2


def test_an_answer_after_the_cancellation_is_a_late_one() -> None:
    """And what comes after it says whether the client lived through it."""
    late = (
        (0.0, IN, asked(1, "tools/call", name="a")),
        (3.0, IN, {"method": "notifications/cancelled", "params": {"requestId": 1}}),
        (8.0, OUT, {"id": 1, "result": {}}),
    )
    assert became(*late) == [("cancelled", 3.0), ("late.open", 5.0)]
    assert became(*late, (9.0, IN, asked(2, "ping"))) == [("cancelled", 3.0), ("late.went on", 5.0)]


def test_a_line_that_no_client_can_use_says_whether_the_client_went_on() -> None:
    """Another id, or no JSON at all; a second answer is not one of them."""
    said = (
        (0.0, IN, asked(1, "tools/call", name="a")),
        (1.0, OUT, {"id": 999, "result": {}}),
        (2.0, OUT, {"id": 1, "result": {}}),
        (2.0, OUT, {"id": 1, "result": {}}),
    )
    assert became(*said) == [("wrong.open", 0)]
    assert became(*said, (3.0, IN, asked(2, "ping"))) == [("wrong.went on", 0)]
    broken = [*frames(said[0]), Frame(2, stamp(1_800_000_001), OUT, b'{"jsonrpc": "2.0", "id": 1')]
    (found,) = reactions(broken)
    assert found.sentence().endswith("Nothing has come since.")


def test_an_answer_that_http_carried_wrongly_is_one_of_them() -> None:
    """The fault that was asked for last; one that was taken back is none."""
    asks = frames((0.0, IN, asked(1, "a/b")))
    at = stamp(1_800_000_001)
    order = Frame(11, at, Direction.NOTE, b"", note="on purpose: http wrong-type")
    back = Frame(12, at, Direction.NOTE, b"", note="on purpose: http none")
    said = frames((2.0, OUT, {"id": 1, "result": {}}), (3.0, IN, asked(2, "ping")))
    (found,) = reactions([*asks, order, *said])
    assert (found.became, found.what) == ("carried.went on", "wrong-type")
    assert found.is_of_an_answer
    assert reactions([*asks, order, *said[:1]])[0].is_open
    assert reactions([*asks, order, back, *said]) == ()
