"""What becomes of a held message, judged by one function at the desk and in the tap."""

import pytest

from humanmcp.locales import describe
from humanmcp.protocol.conversation.transcript import Direction
from humanmcp.protocol.diagnostics.model import Diagnostic, Severity, TextForm, Verdict
from humanmcp.protocol.json.jsonrpc import Flaw, Malformed, read
from humanmcp.protocol.json.tree import pretty
from humanmcp.protocol.validation.held import HeldMessage, answers, doubts, judge
from tests.support.speaking import said_in

CALL = (
    '{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"dice","arguments":{"n":6.0}}}'
)
NOTICE = '{"jsonrpc":"2.0","method":"notifications/initialized"}'
ANSWER = '{"jsonrpc":"2.0","id":7,"result":{"content":[{"type":"text","text":"4"}]}}'

REQUEST = HeldMessage(CALL, Direction.IN, "2025-06-18")
HELD_ANSWER = HeldMessage(ANSWER, Direction.OUT, "2025-06-18", asked=CALL)


@pytest.mark.parametrize("line", [CALL, NOTICE, ANSWER, "hello", "[]", '{"id":true}'])
def test_what_is_untouched_goes_on_whatever_it_says(line: str) -> None:
    """It is not the person's: also laid out over several lines."""
    held = HeldMessage(line, Direction.IN, "2025-06-18")
    assert judge(held, line).line == line
    assert judge(held, pretty(line)).line == line


def test_an_edited_request_is_one_compact_line() -> None:
    """As typed, without the white space."""
    edited = pretty(CALL).replace("6.0", "20.0")
    assert judge(REQUEST, edited).line == CALL.replace("6.0", "20.0")


@pytest.mark.parametrize(
    ("held", "text", "code"),
    [
        (CALL, CALL.replace('"id":7', '"id":"7"'), "N33"),
        (CALL, CALL.replace('"id":7,', ""), "N32"),
        (NOTICE, NOTICE.replace('"jsonrpc":"2.0",', '"jsonrpc":"2.0","id":1,'), "N32"),
        (CALL, "{", "J"),
        (CALL, "[1]", "N32"),
        (NOTICE, "true", "N05"),
        (f"[{CALL}]", ANSWER, "N32"),
    ],
)
def test_an_edit_that_would_confuse_the_two_is_refused(held: str, text: str, code: str) -> None:
    """Another id, another kind, no message; sent anyway it goes as typed."""
    verdict = judge(HeldMessage(held, Direction.IN, "2025-06-18"), text)
    assert verdict.line is None
    assert verdict.errors[0].code.startswith(code)
    assert verdict.forced is not None


def test_the_kinds_of_a_changed_message_are_words_of_the_readers_language() -> None:
    """It said "a error" in English, and the codes of the kinds in Japanese."""
    error = '{"jsonrpc":"2.0","id":7,"error":{"code":1,"message":"no"}}'
    (problem,) = judge(HeldMessage(error, Direction.OUT, "2025-06-18"), CALL).errors
    assert describe(problem).startswith("This message was an error and would become a request.")
    assert said_in("ja", describe, problem).startswith(
        "元のメッセージはエラーでしたが、リクエストになってしまいます。"
    )


def test_a_request_can_be_answered_in_every_form() -> None:
    """A response, a result, plain text: the other side never sees the request."""
    for text, form in (
        (ANSWER, TextForm.MESSAGE),
        ('{"content":[{"type":"text","text":"4"}]}', TextForm.RESULT),
        ("4", TextForm.TEXT),
    ):
        assert answers(REQUEST, text, form)
        assert judge(REQUEST, text, form).line == ANSWER
    assert not answers(REQUEST, CALL, TextForm.MESSAGE)
    assert not answers(HELD_ANSWER, ANSWER, TextForm.MESSAGE)


def test_a_held_answer_is_checked_as_an_answer() -> None:
    """Against the request that it belongs to."""
    assert judge(HELD_ANSWER, ANSWER.replace('"4"', '"6"')).line == ANSWER.replace('"4"', '"6"')
    verdict = judge(HELD_ANSWER, ANSWER.replace('"content"', '"text"'))
    assert verdict.line is None
    assert judge(HELD_ANSWER, ANSWER.replace('"id":7', '"id":8')).line is None


@pytest.mark.parametrize(
    ("line", "code"),
    [
        (CALL, ""),
        (NOTICE, ""),
        (f"[{CALL},{NOTICE}]", ""),
        (CALL.replace('"dice"', "7"), ""),
        ('{"id":1,"method":"x-y/Z_1"}', ""),
        (CALL.replace("dice", "di\\u0000ce"), "N42"),
        (CALL.replace("tools/call", "tools/call\\u0000"), "N42"),
        (CALL.replace("tools/call", "Tools/Call"), "N42"),
        (CALL.replace('"name"', '"Name":1,"name"'), "N42"),
        (CALL.replace('"id"', '"ID":1,"id"'), "N42"),
        (f"[{NOTICE},{CALL[:-1]}" + ',"Method":1}]', "N42"),
        (CALL.replace('"id"', '"id":1,"id"'), "J09"),
        (CALL.replace("6.0", "NaN"), "J10"),
        (CALL.replace("6.0", "\r6.0"), "N41"),
        (f"[{CALL},7]", "N05"),
        (f"[{CALL},7,hello]", "N01"),
        ("hello", "N01"),
    ],
)
def test_a_line_that_two_programs_could_read_differently_is_doubted(line: str, code: str) -> None:
    """Go ignores the case of a member's name, and C ends a text at a NUL."""
    raw = line.encode()
    assert [one.code for one in doubts(raw, read(raw))] == ([code] if code else [])


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ('{"method":"notifications/Initialized"}', '"notifications/Initialized"'),
        ('{"method":" PING ","id":1}', '" PING "'),
        ('{"method":"ping\\u0000x","id":1}', r'"ping\u0000x"'),
        ('{"method":"x-Y","id":1}', ""),
        ('{"method":" x ","id":1}', ""),
        ('{"method":"tools/call","id":1,"params":{"Name":1,"name":"x"}}', '"Name"'),
        ('{"method":"tools/call","id":1,"params":{"name":"di\\u0000"}}', r'"di\u0000"'),
        ('{"method":"tools/call","id":1,"params":{"name":["di\\u0000"]}}', ""),
        ('{"id":1,"Result":1,"result":{"ID":1,"Name":1}}', '"Result"'),
        ('{"id":1,"result":{"ID":1,"Name":1}}', ""),
        ('[{"method":"ping","id":1},{"Id":1,"ID":1,"method":"ping"}]', '"Id"'),
    ],
)
def test_the_name_that_is_read_differently_is_named(line: str, name: str) -> None:
    """The first of them, in JSON; only where it decides what a message is."""
    found = doubts(line.encode(), read(line.encode()))
    assert [(one.code, one.detail) for one in found] == (
        [("N42", (("name", name),))] if name else []
    )


def test_a_line_that_nobody_is_sure_of_goes_on_as_it_came_or_not_at_all() -> None:
    """It is no message, no request and no response, so it cannot be answered either."""
    held = HeldMessage(CALL, Direction.IN, "2025-06-18", asked=CALL, unread=True)
    assert held.message == Malformed(CALL.encode(), Flaw.NO_MESSAGE)
    assert (held.question, held.questions, held.answered) == (None, (), None)
    assert judge(held, CALL) == Verdict(CALL, CALL, CALL)
    for text, form in (
        (f"{CALL} ", TextForm.MESSAGE),
        (ANSWER, TextForm.MESSAGE),
        ("x", TextForm.TEXT),
    ):
        changed = Diagnostic("N43", Severity.ERROR)
        assert judge(held, text, form, answer=True) == Verdict(text, None, None, (changed,))


ERROR = '{"jsonrpc":"2.0","id":7,"error":{"code":1,"message":"no"}}'


@pytest.mark.parametrize(
    ("held", "text", "problem"),
    [
        (CALL, CALL.replace('"id":7', '"id":"7"'), 'N33 /id was=7 now="7"'),
        (CALL, CALL.replace('"id":7', '"id": 8'), "N33 /id was=7 now=8"),
        (CALL, NOTICE, "N32  was=request now=notification"),
        (NOTICE, CALL, "N32  was=notification now=request"),
        (f"[{CALL}]", CALL, "N32  was=batch now=request"),
        (NOTICE, f"[{NOTICE}]", "N32  was=notification now=batch"),
        (ERROR, CALL, "N32  was=error now=request"),
        (ANSWER, ERROR, "N32  was=result now=error"),
        (NOTICE, "true", "N05  got=boolean"),
        (CALL, "[]", "N06  "),
        ("hello", CALL, ""),
        (f"[{CALL}]", f"[{CALL},{CALL}]", ""),
        (CALL, CALL.replace("dice", "coin"), ""),
        (NOTICE, NOTICE.replace("initialized", "cancelled"), ""),
    ],
)
def test_what_would_confuse_the_two_is_told_with_both(held: str, text: str, problem: str) -> None:
    """What it was and what it would become; sent anyway, the line goes as it was typed."""
    verdict = judge(HeldMessage(held, Direction.IN, "2025-06-18"), text)
    assert [
        f"{one.code} {one.pointer} " + " ".join(f"{name}={said}" for name, said in one.detail)
        for one in verdict.diagnostics
    ] == ([problem] if problem else [])
    line = text.replace('"id": 8', '"id":8')
    assert (verdict.line, verdict.forced) == (None if problem else line, line)
