"""A question to a person, read from the arguments of a call."""

import json
from typing import Any

import pytest

from humanmcp.protocol.answer_book.book import Book
from humanmcp.protocol.conversation.questions import (
    MOST_OPTIONS,
    AskedQuestion,
    inquiry_of,
    shown_with,
)
from humanmcp.protocol.json.jsonrpc import Message, read


def inquiry_in(line: str) -> AskedQuestion | None:
    """Read the question in the line of a request."""
    found = read(line.encode())
    return inquiry_of(found) if isinstance(found, Message) else None


def asked(method: str = "tools/call", **arguments: Any) -> AskedQuestion | None:  # noqa: ANN401 - any JSON value
    """Read the question of a call with these arguments."""
    params = {"name": "whatever", "arguments": arguments}
    return inquiry_in(json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}))


def shows_options(question: AskedQuestion, options: object) -> bool:
    """Return True if the options need not be shown beside their question as they came."""
    return "options" in shown_with(question, {"options": options})


@pytest.mark.parametrize(
    ("given", "is_shown"),
    [
        ({"allow_free_text": "false"}, True),
        ({"allow_free_text": "perhaps"}, False),
        ({"context": " "}, False),
        ({"context": ["c"]}, False),
        ({"default": "d"}, False),
    ],
)
def test_what_a_question_does_not_show_is_shown_beside_it(
    given: dict[str, Any], *, is_shown: bool
) -> None:
    """Nothing is hidden that could not be read; JSON that came as a text is."""
    found = asked(question="Q?", options=["a"], **given)
    assert found is not None
    assert bool(given.keys() & shown_with(found, given)) is is_shown
    assert found.free_text is (given != {"allow_free_text": "false"})
    assert found.context == ""


def test_a_call_of_any_tool_with_a_question_is_one() -> None:
    """The arguments make it one, not the tool's name; what is not there has a default."""
    found = asked(question="Tea or coffee?")
    assert found == AskedQuestion("Tea or coffee?")
    given: dict[str, Any] = {
        "context": "Both work.",
        "options": ["a", "b"],
        "allow_free_text": False,
    }
    whole = asked(question="Which?", **given)
    assert whole is not None
    assert (whole.context, whole.labels, whole.free_text) == ("Both work.", ("a", "b"), False)
    assert shown_with(whole, given) == {"question", "context", "options", "allow_free_text"}


@pytest.mark.parametrize(
    "arguments",
    [{}, {"question": ""}, {"question": 5}, {"question": ["a"]}, {"query": "Tea?"}],
    ids=str,
)
def test_what_asks_nothing_in_words_is_none(arguments: dict[str, Any]) -> None:
    """A call is then shown as any other."""
    assert asked(**arguments) is None


def test_only_calls_put_a_question_to_the_person() -> None:
    """The parameters of other requests have a meaning of their own."""
    assert asked("prompts/get", question="Tea?") is None
    assert inquiry_in("no json") is None
    assert inquiry_in('{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{}}') is None


def test_an_option_may_be_an_object_with_a_label() -> None:
    """The label is the answer, word for word; the description is told beside it."""
    tea = {"label": "Tea", "description": "Hot"}
    options = [tea, "Water", {"label": "Milk"}]
    found = asked(question="Which?", options=options)
    assert found is not None
    assert found.labels == ("Tea", "Water", "Milk")
    assert found.options == (("Tea", "Hot"), ("Water", ""), ("Milk", ""))
    assert shows_options(found, options)


def test_an_option_that_says_more_is_shown_as_it_came_as_well() -> None:
    """Nobody loses what is read neither as a label nor as a description."""
    options = [{"label": "Tea", "preview": "…"}, "Water"]
    found = asked(question="Which?", options=options)
    assert found is not None
    assert found.labels == ("Tea", "Water")
    assert not shows_options(found, options)


@pytest.mark.parametrize(
    "options",
    [
        [],
        "yes",
        [{"label": ""}],
        [{"description": "x"}],
        [5, " "],
        {"a": 1},
        ["x"] * (MOST_OPTIONS + 1),
    ],
    ids=["none", "text", "empty label", "no label", "numbers", "object", "many"],
)
def test_options_that_are_no_list_of_texts_are_left_to_be_shown(options: Any) -> None:  # noqa: ANN401 - any JSON value
    """They are not among what was told, and an answer can then always be written."""
    found = asked(question="Which?", options=options, allow_free_text=False)
    assert found is not None
    assert found.labels == ()
    assert not shows_options(found, options)
    assert found.free_text


@pytest.mark.parametrize("options", [["yes", 5], ["yes", " "]])
def test_an_option_that_cannot_be_offered_hides_no_other(options: list[object]) -> None:
    """The list is shown as it came as well, and an answer can always be written."""
    found = asked(question="Which?", options=options, allow_free_text=False)
    assert found is not None
    assert found.labels == ("yes",)
    assert not shows_options(found, options)
    assert found.free_text


def test_the_default_tool_says_what_may_be_asked_and_that_asking_changes_nothing() -> None:
    """Without `readOnlyHint` Claude Code asks one question after the other."""
    (tool,) = Book().tools
    assert tool["name"] == "ask_human"
    one = {"question", "context", "options", "allow_free_text", "multiple", "default"}
    given = tool["inputSchema"]["properties"]
    assert set(given) == {*one, "questions", "timeout_seconds"}
    assert set(given["questions"]["items"]["properties"]) == one
    assert tool["annotations"]["readOnlyHint"] is True
    assert tool["annotations"]["openWorldHint"] is True
