"""What an agent asks a person: which questions are read, and the typed result of each outcome."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

import pytest

from humanmcp.protocol.answer_book.book import Book
from humanmcp.protocol.answer_book.book_format import parse
from humanmcp.protocol.answer_book.decide import Mode, decide
from humanmcp.protocol.answer_book.own_tools import ASK_TOOL
from humanmcp.protocol.conversation.approvals import Approval, approval_of
from humanmcp.protocol.conversation.exchange import QUESTION, Exchange, NegotiatedState
from humanmcp.protocol.conversation.questions import (
    LONGEST_LIMIT,
    OUTCOME,
    AskedQuestion,
    QuestionNote,
    ReadOptions,
    answered,
    declined,
    limit_in,
    no_answer,
    options_in,
    questions_in,
    result_with,
    waiting,
)
from humanmcp.protocol.diagnostics.model import TextForm
from humanmcp.protocol.json import jsonrpc
from humanmcp.protocol.json.jsonrpc import Message
from humanmcp.protocol.tables.versions import R2024_11, R2025_11, R2026_07
from humanmcp.protocol.validation.check import check
from humanmcp.protocol.validation.json_schema import validator
from humanmcp.protocol.validation.results import outcome_result

if TYPE_CHECKING:
    from humanmcp.protocol.json.jsonrpc import JsonObject

TOOLS: Final = {"ask_human": ASK_TOOL}
LISTED: Final = NegotiatedState(tools=TOOLS)
SEVERAL: Final = {
    "questions": [
        {"question": "Which?", "options": ["SQLite", {"label": "PostgreSQL"}], "default": "SQLite"},
        {"question": "Where?", "options": ["Linux", "macOS"], "multiple": True},
    ]
}


def call(arguments: object, **more: Any) -> str:  # noqa: ANN401 - any JSON value
    """Write a call of the tool."""
    params = {"name": "ask_human", "arguments": arguments, **more}
    return json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params})


def asked(arguments: object, version: str = R2025_11) -> Exchange:
    """Return the exchange of a call."""
    message = jsonrpc.read_text(call(arguments))
    assert isinstance(message, Message)
    return Exchange(1, message, version)


def card(line: str) -> Approval:
    """Read what a call puts on a card."""
    message = jsonrpc.read_text(line)
    assert isinstance(message, Message)
    found = approval_of(line, message, TOOLS)
    assert found is not None
    return found


def sent(arguments: object, text: str, form: TextForm = TextForm.TEXT, **more: Any) -> JsonObject:  # noqa: ANN401 - any JSON value
    """Return the result that goes out for a text."""
    verdict = check(asked(arguments, **more), text, form, LISTED)
    assert verdict.line is not None, verdict.diagnostics
    result: JsonObject = json.loads(verdict.line)["result"]
    return result


def test_one_question_needs_no_card_and_several_stand_on_one() -> None:
    """One with several answers stands on a card, too."""
    assert card(call({"question": "Tea?"})).is_alone
    found = card(call(SEVERAL))
    assert not found.is_alone
    assert (found.kind, [one.text for one in found.questions]) == (QUESTION, ["Which?", "Where?"])
    assert [one.multiple for one in found.questions] == [False, True]
    assert found.questions[0].default == "SQLite"
    assert not card(call({"question": "Tea?", "options": ["a", "b"], "multiple": True})).is_alone


def test_a_question_beside_several_is_asked_first() -> None:
    """Nothing that was asked is left out."""
    found, _ = questions_in({"question": "Go on?", **SEVERAL})
    assert [one.text for one in found] == ["Go on?", "Which?", "Where?"]


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ({}, "no questions"),
        ([], "no questions"),
        ("Tea?", "no questions"),
        (None, "no questions"),
        ({"question": " "}, "no questions"),
        ({"question": 7}, "no questions"),
        ({"questions": []}, "no questions"),
        ({"questions": {"question": "Tea?"}}, "no questions"),
        ({"questions": "Tea?"}, "no questions"),
        ({"questions": ["Tea?"]}, "no questions"),
        ({"question": "Tea?", "questions": [None]}, "no questions"),
        ({"questions": [{"question": "Tea?"}, {"question": "Tea?"}]}, "same question"),
        ({"question": "Tea?", "questions": [{"question": "Tea?"}]}, "same question"),
        ({"questions": [{"question": str(n)} for n in range(11)]}, "too many questions"),
        ({"questions": [{"question": "x" * 200_001}, {"question": "y"}]}, "large"),
        ({"questions": "x" * 5_000_000}, "large"),
    ],
    ids=range(16),
)
def test_what_asks_nothing_that_can_be_shown_whole_is_explained(
    arguments: object, problem: str
) -> None:
    """Nobody is asked half of it. The person reads the message and answers, or declines."""
    found = card(call(arguments))
    assert (found.problem, found.questions) == (problem, ())
    line = check(asked(arguments), "yes", TextForm.TEXT, LISTED).line
    assert (line is None) is (problem == "large")


@pytest.mark.parametrize(
    "twice",
    ['{"question": "Tea?", "question": "Rum?"}', '{"question": "Tea?"}, "arguments": {}'],
)
def test_a_member_that_is_there_twice_is_not_asked(twice: str) -> None:
    """Programs differ in which of the two counts."""
    line = call({"question": "Tea?"}).replace('{"question": "Tea?"}', twice)
    assert card(line).problem == "twice"


@pytest.mark.parametrize(
    "options",
    ["yes", 7, {"a": 1}, [1, 2], ["x"] * 51, [{"label": 5}], [" "], [["a"]], [None]],
    ids=range(9),
)
def test_options_that_cannot_be_offered_are_said_to_be_so(options: object) -> None:
    """The person answers in their own words, whatever the asker forbids."""
    given = {"question": "Which?", "options": options, "allow_free_text": False}
    ((found,), problem) = questions_in(given)
    assert (problem, found.options, found.free_text) == ("", (), True)
    (note,) = found.notes
    assert note.code == "unread options"
    assert note.value in json.dumps(options)


A, B = ("a", ""), ("b", "second")


@pytest.mark.parametrize(
    ("given", "options", "multiple", "notes"),
    [
        ({"options": '["a", {"label": "b", "description": "second"}]'}, (A, B), False, ["as text"]),
        ({"options": ["a", {"name": "B"}, 3, None]}, (A,), False, ["unread options"]),
        ({"options": '["a", 3]'}, (A,), False, ["unread options"]),
        ({"options": "a or b"}, (), False, ["unread options"]),
        ({"options": None, "multiple": None}, (), False, []),
        ({"options": ["a"], "multiple": "true"}, (A,), True, ["as text"]),
        ({"options": ["a"], "multiple": "yes"}, (A,), False, ["unread"]),
        ({"options": ["a"], "multiSelect": 1}, (A,), False, ["unread"]),
        ({"options": ["a"], "allow_free_text": "false"}, (A,), False, ["as text"]),
        ({"options": ["a"], "timeout_seconds": "soon"}, (A,), False, ["unread"]),
        ({"options": ["a"], "timeout_seconds": "60"}, (A,), False, []),
        ({"options": ["a"], "timeout_seconds": "true"}, (A,), False, ["unread"]),
        ({"options": ["a"], "timeout_seconds": -5}, (A,), False, ["unread"]),
        ({"options": ["a"], "timeout_seconds": None}, (A,), False, []),
    ],
)
def test_what_an_agent_sends_as_text_is_read_and_what_cannot_be_read_is_named(
    given: dict[str, Any], options: object, multiple: object, notes: list[str]
) -> None:
    """One option that cannot be offered hides no other."""
    ((found,), problem) = questions_in({"question": "Which?", **given})
    assert (problem, found.options, found.multiple) == ("", options, multiple)
    assert [one.code for one in found.notes] == notes
    assert found.free_text is (given.get("allow_free_text") != "false")


def test_questions_that_came_as_text_are_asked() -> None:
    """The first says how they came."""
    text = json.dumps([{"question": "Tea?"}, {"question": "Rum?"}])
    (first, second), problem = questions_in({"questions": text})
    assert (first.text, second.text, problem) == ("Tea?", "Rum?", "")
    assert [one.code for one in (*first.notes, *second.notes)] == ["as text"]


def test_questions_that_cannot_be_read_are_answered_in_words() -> None:
    """A person read the message, and the answer has its shape."""
    assert sent({"question": ["x", "y"]}, "x and y")["structuredContent"] == {
        "status": "answered",
        "answers": {"answer": "x and y"},
    }


@pytest.mark.parametrize(
    "limit", [True, "soon", None, 0, -1, float("nan"), 1e400, LONGEST_LIMIT + 1, [60], {}]
)
def test_a_limit_that_is_no_time_is_none(limit: object) -> None:
    """The call then waits for the person."""
    assert limit_in({"t": limit}, "t") is None
    exchange = asked({"question": "Tea?", "timeout_seconds": limit})
    assert decide(exchange, Book(), LISTED).after is None


def test_words_alone_become_the_answer_in_its_shape() -> None:
    """As data and, for a client that reads only text, the same as text."""
    outcome = {"status": "answered", "answers": {"Tea or rum?": "Tea"}}
    result = sent({"question": "Tea or rum?"}, "Tea")
    assert result["structuredContent"] == outcome
    assert [json.loads(one["text"]) for one in result["content"]] == [outcome]
    typed = '{"content": [{"type": "text", "text": "Tea"}]}'
    assert sent({"question": "Tea or rum?"}, typed, TextForm.RESULT) == result


def test_what_a_person_writes_beside_the_words_stays_as_it_was_written() -> None:
    """The data is added, and nothing is written anew."""
    typed = (
        '{"content":[{"type":"text","text":"Te\\u0061"},{"type":"image","data":"AAAA",'
        '"mimeType":"image/png"}],"_meta":{"n":1.0}}'
    )
    verdict = check(asked({"question": "Tea?"}), typed, TextForm.RESULT, LISTED)
    added = ',"structuredContent":{"status":"answered","answers":{"Tea?":"Tea"}}'
    assert verdict.line is not None
    assert verdict.line.partition('"result":')[2] == f"{typed[:-1]}{added}}}}}"


def test_a_client_of_before_2025_06_18_gets_text_alone() -> None:
    """It knows neither `structuredContent` nor `outputSchema`."""
    result = sent({"question": "Tea?"}, "Yes", version=R2024_11)
    assert json.loads(result["content"][0]["text"])["answers"] == {"Tea?": "Yes"}
    assert "structuredContent" not in result
    assert "outputSchema" not in Book().listed_tools(R2024_11)[0]
    assert Book().listed_tools(R2025_11)[0]["outputSchema"] == OUTCOME


def test_words_alone_are_no_answer_to_several_questions() -> None:
    """Which of them they answer is not guessed."""
    verdict = check(asked(SEVERAL), "Tea", TextForm.TEXT, LISTED)
    assert [one.code for one in verdict.diagnostics] == ["M58"]


def test_an_error_of_the_tool_and_data_that_a_person_wrote_stay_as_they_are() -> None:
    """Only words alone are put into the shape."""
    failed = sent({"question": "Tea?"}, "no", TextForm.TOOL_ERROR)
    assert (failed["isError"], "structuredContent" in failed) == (True, False)
    own = {"status": "answered", "answers": {"Tea?": "x"}}
    typed = {"content": [{"type": "text", "text": "mine"}], "structuredContent": own}
    result = sent({"question": "Tea?"}, json.dumps(typed), TextForm.RESULT)
    assert result == typed


def test_another_tool_is_answered_as_before() -> None:
    """Its list does not say that it asks."""
    plain = NegotiatedState(tools={"ask_human": {"name": "ask_human"}})
    verdict = check(asked({"question": "Tea?"}), "Yes", TextForm.TEXT, plain)
    assert verdict.line is not None
    assert json.loads(verdict.line)["result"]["content"] == [{"type": "text", "text": "Yes"}]


def test_a_client_that_lists_the_tools_later_gets_the_shape_too() -> None:
    """A client of Python asks for the schema once it has the answer."""
    unlisted = NegotiatedState(offered=TOOLS)
    verdict = check(asked({"question": "Tea?"}), "Yes", TextForm.TEXT, unlisted)
    assert verdict.line is not None
    assert json.loads(verdict.line)["result"]["structuredContent"]["status"] == "answered"


@pytest.mark.parametrize(
    "outcome",
    [
        answered(
            questions_in(SEVERAL)[0], {"Which?": ("SQLite",), "Where?": ("Linux", "own, words")}
        ),
        declined(""),
        declined("Not my decision."),
        no_answer(questions_in(SEVERAL)[0]),
        no_answer(()),
    ],
)
@pytest.mark.parametrize("version", [R2025_11, R2026_07])
def test_every_outcome_fits_what_the_tool_declares(outcome: JsonObject, version: str) -> None:
    """A client checks it, and fails the call otherwise."""
    assert validator.mismatch(outcome, OUTCOME) is None
    text = json.dumps(outcome_result(version, outcome, LISTED))
    exchange = asked(SEVERAL, version)
    verdict = check(exchange, text, TextForm.RESULT, LISTED)
    assert not [one for one in verdict.diagnostics if one.blocks]


def test_a_person_who_declines_may_say_why() -> None:
    """Without a reason there is none."""
    assert declined(" ") == {"status": "declined", "answers": {}}
    assert declined(" No. ") == {"status": "declined", "answers": {}, "reason": "No."}


def test_several_choices_are_a_list_and_one_is_a_text() -> None:
    """A comma in an answer divides nothing."""
    found = answered(questions_in(SEVERAL)[0], {"Which?": ("a, b",), "Where?": ("c, d", "e")})
    assert found["answers"] == {"Which?": "a, b", "Where?": ["c, d", "e"]}


# -- nobody answers -------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", [Mode.NORMAL, Mode.AUTO])
def test_after_the_limit_of_the_asker_the_result_says_that_nobody_answered(mode: Mode) -> None:
    """The asker's own default is named as a default. A person at the question stops no limit."""
    decision = decide(asked({**SEVERAL, "timeout_seconds": 90}), Book(), LISTED, mode=mode)
    assert not decision.due(89.9)
    assert decision.due(90, touched=True)
    result = json.loads(decision.text)
    outcome = {"status": "no_answer", "answers": {}, "defaults": {"Which?": "SQLite"}}
    assert result["structuredContent"] == outcome
    assert json.loads(result["content"][0]["text"]) == outcome


def test_nobody_decides_without_a_rule_in_the_book_or_by_hand() -> None:
    """A book with tools of its own says itself whether, and after which argument."""
    exchange = asked({"question": "Tea?", "wait": 5, "timeout_seconds": 90})
    assert decide(exchange, Book(), LISTED, mode=Mode.BY_HAND).after is None
    tool = {"name": "ask_human", "kind": "question", "inputSchema": {"type": "object"}}
    assert decide(exchange, parse({"tools": [tool]}), LISTED).after is None
    ruled = parse({"tools": [{**tool, "no_answer_after": "wait"}]})
    assert decide(exchange, ruled, LISTED).after == 5.0
    assert ruled.tools[0]["outputSchema"] == OUTCOME


def test_a_question_can_be_parked_as_a_task() -> None:
    """A task is no result yet: it needs no data."""
    task = {"resultType": "task", "taskId": "t", "status": "working", "ttlMs": 1}
    stamps = {"createdAt": "2026-11-23T07:00:00Z", "lastUpdatedAt": "2026-11-23T07:00:00Z"}
    extensions: JsonObject = {"extensions": {"io.modelcontextprotocol/tasks": {}}}
    meta = {
        "io.modelcontextprotocol/protocolVersion": R2026_07,
        "io.modelcontextprotocol/clientInfo": {"name": "c", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": extensions,
    }
    message = jsonrpc.read_text(call({"question": "Tea?"}, _meta=meta))
    assert isinstance(message, Message)
    text = json.dumps({**task, **stamps})
    verdict = check(Exchange(1, message, R2026_07), text, TextForm.RESULT, LISTED)
    assert verdict.line is not None, verdict.diagnostics


TEXT_NOTE = QuestionNote("as text", "options")


@pytest.mark.parametrize(
    ("options", "found"),
    [
        (None, ReadOptions()),
        ([], ReadOptions()),
        (["a", {"label": "b", "description": " "}], ReadOptions((("a", ""), ("b", "")))),
        ([{"label": "b", "description": "d"}], ReadOptions((("b", "d"),))),
        ('["a"]', ReadOptions((("a", ""),), (TEXT_NOTE,))),
        (
            ["a", 7, {}],
            ReadOptions((("a", ""),), (QuestionNote("unread options", "options", "7, {}"),)),
        ),
        ("x", ReadOptions((), (QuestionNote("unread options", "options", '"x"'),))),
        ({"a": 1}, ReadOptions((), (QuestionNote("unread options", "options", '{"a": 1}'),))),
        (["x"] * 50, ReadOptions((("x", ""),) * 50)),
        (
            ["x"] * 51,
            ReadOptions((), (QuestionNote("unread options", "options", ", ".join(['"x"'] * 51)),)),
        ),
    ],
    ids=range(10),
)
def test_options_are_read_each_with_what_it_says(options: object, found: ReadOptions) -> None:
    """What cannot be offered is named as it came."""
    read = options_in({"options": options})
    assert read == found
    whole = bool(found.choices) and found.notes in ((), (TEXT_NOTE,))
    assert read.is_whole is whole


@pytest.mark.parametrize(
    ("given", "question"),
    [
        ({"question": "Q?"}, AskedQuestion("Q?")),
        (
            {
                "question": "Q?", "header": "H", "context": "C", "options": ["a"],
                "multiSelect": True, "allow_free_text": False, "default": ["a", 7],
            },
            AskedQuestion(
                "Q?", "H", (("a", ""),), multiple=True, free_text=False, context="C", default=["a"]
            ),
        ),
        ({"question": "Q?", "multiple": True}, AskedQuestion("Q?", multiple=True)),
        ({"question": "Q?", "allow_free_text": False}, AskedQuestion("Q?")),
        ({"question": "Q?", "default": 7}, AskedQuestion("Q?", default=[])),
        ({"question": "Q?", "default": None}, AskedQuestion("Q?", default=[])),
        (
            {"question": "Q?", "multiple": 1, "timeout_seconds": [1]},
            AskedQuestion(
                "Q?",
                notes=(
                    QuestionNote("unread", "timeout_seconds", "[1]"),
                    QuestionNote("unread", "multiple", "1"),
                ),
            ),
        ),
        (
            {"question": "Q?", "questions": "x"},
            None,
        ),
    ],
    ids=range(8),
)  # fmt: skip
def test_a_question_is_read_with_all_that_belongs_to_it(
    given: dict[str, Any], question: AskedQuestion | None
) -> None:
    """And with what could not be read of it."""
    assert questions_in(given) == (((question,), "") if question else ((), "no questions"))


@pytest.mark.parametrize(
    ("limit", "seconds"),
    [(0.1, 0.1), ("60", 60.0), (604_800, 604_800.0), (604_801, None), ("0", None), ("nan", None)],
)
def test_a_limit_is_above_nothing_and_at_most_a_week(limit: object, seconds: float | None) -> None:
    """Also as text."""
    assert limit_in({"t": limit}, "t") == seconds
    assert limit_in({}, "t") is None


def test_every_outcome_is_whole() -> None:
    """Member by member; a client before 2025-06-18 gets the text alone."""
    asked_for = (AskedQuestion("a", default="d"), AskedQuestion("b", multiple=True, default=[]))
    assert answered(asked_for, {"a": ("x", "y"), "b": ("x",), "c": ("z",)}) == {
        "status": "answered",
        "answers": {"a": "x, y", "b": ["x"], "c": "z"},
    }
    assert no_answer(asked_for) == {"status": "no_answer", "answers": {}, "defaults": {"a": "d"}}
    assert no_answer(()) == {"status": "no_answer", "answers": {}}
    outcome = waiting("t")
    assert outcome == {"status": "waiting", "answers": {}, "ticket": "t"}
    content = [{"type": "text", "text": json.dumps(outcome)}]
    assert result_with(R2025_11, outcome) == {"content": content, "structuredContent": outcome}
    assert result_with(R2024_11, outcome) == {"content": content}


def test_ten_questions_are_asked_and_eleven_are_not() -> None:
    """One beside them counts."""
    ten = [{"question": str(number)} for number in range(10)]
    assert len(questions_in({"questions": ten})[0]) == 10
    assert len(questions_in({"question": "Q?", "questions": ten[1:]})[0]) == 10
    assert questions_in({"question": "Q?", "questions": ten}) == ((), "too many questions")
