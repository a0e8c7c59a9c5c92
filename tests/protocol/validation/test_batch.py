"""A held array of messages is answered by an array of answers, one for each request."""

import json

from humanmcp.protocol.conversation.exchange import NegotiatedState
from humanmcp.protocol.conversation.transcript import Direction
from humanmcp.protocol.diagnostics.model import TextForm, Verdict
from humanmcp.protocol.validation.held import HeldMessage, answers, judge

HELD = HeldMessage(
    '[{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"dice"}},'
    '{"jsonrpc":"2.0","method":"notifications/initialized"},'
    '{"jsonrpc":"2.0","id":"1","method":"ping"}]',
    Direction.IN,
    "2025-03-26",
)
FIRST = '{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"4"}]}}'
SECOND = '{"jsonrpc":"2.0","id":"1","result":{}}'


def judged(*parts: str) -> Verdict:
    """Judge an array of these answers."""
    return judge(HELD, "[\n" + ",\n".join(parts) + "\n]", TextForm.MESSAGE, NegotiatedState())


def told(verdict: Verdict) -> list[tuple[str, str, int]]:
    """Say in short what is wrong: code, pointer, line. Several lines become one, as ever (J51)."""
    return [(one.code, one.pointer, one.line) for one in verdict.diagnostics if one.code != "J51"]


def test_every_request_is_answered_in_any_order() -> None:
    """Ids 1 and "1" are two; a notification wants no answer; one line goes out."""
    verdict = judged(SECOND, FIRST)
    assert verdict.line == f"[{SECOND},{FIRST}]"
    assert told(verdict) == []


def test_an_answer_that_is_missing_is_named() -> None:
    """By its id as the client wrote it; it can be sent anyway."""
    verdict = judge(HELD, f"[{FIRST}]", TextForm.MESSAGE, NegotiatedState())
    assert [(one.code, one.detail) for one in verdict.diagnostics] == [("N35", (("ids", '"1"'),))]
    assert (verdict.line, verdict.forced) == (None, f"[{FIRST}]")


def test_what_is_wrong_in_one_answer_stands_where_it_was_typed() -> None:
    """Its pointer leads through the array, its line is that of the whole text."""
    verdict = judged(SECOND, FIRST.replace('"text":"4"', '"text":4'))
    ((code, pointer, line),) = told(verdict)
    assert code.startswith("M")
    assert (pointer, line) == ("/1/result/content/0/text", 3)
    assert not verdict.sendable


def test_an_answer_to_nothing_is_said() -> None:
    """Twice the same id, an id that nobody asked with, and an answer without any."""
    assert told(judged(FIRST, SECOND, FIRST)) == [("N30", "/2/id", 4)]
    assert told(judged(FIRST, SECOND, SECOND.replace('"1"', "9"))) == [("N30", "/2/id", 4)]
    assert told(judged(FIRST, SECOND, '{"jsonrpc":"2.0","result":{}}')) == [("N08", "/2", 4)]


def test_what_was_fixed_is_still_in_its_place() -> None:
    """A trailing comma is repaired, and the problem behind it stands where it was typed."""
    text = f"[\n{SECOND},\n" + FIRST.replace('"4"}', '"4",}').replace(":1,", ":2,") + "\n]"
    verdict = judge(HELD, text, TextForm.MESSAGE, NegotiatedState())
    assert ("N30", "/1/id", 3) in told(verdict)
    assert verdict.forced is not None
    assert json.loads(verdict.forced)[1]["id"] == 2


def test_an_array_that_asks_is_an_edit() -> None:
    """Nothing is taken for an answer that still holds a request; nor is plain text."""
    assert answers(HELD, f"[{FIRST}]", TextForm.MESSAGE)
    assert not answers(
        HELD, f'[{FIRST},{{"jsonrpc":"2.0","id":2,"method":"ping"}}]', TextForm.MESSAGE
    )
    assert not answers(HELD, "sunny", TextForm.TEXT)
    assert not answers(HELD, "[", TextForm.MESSAGE)
    assert judge(HELD, HELD.line).line == HELD.line
