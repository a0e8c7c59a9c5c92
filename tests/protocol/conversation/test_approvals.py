"""What a call asks a person to allow, and which response each choice makes."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

import pytest

from humanmcp.protocol.conversation import approvals
from humanmcp.protocol.conversation.approvals import (
    APPROVAL,
    KIND,
    AllowPattern,
    Approval,
    approval_of,
    digest_of,
    kind_of,
    pattern_of,
    patterns_for,
)
from humanmcp.protocol.json import jsonrpc
from humanmcp.protocol.json.jsonrpc import Message

if TYPE_CHECKING:
    from collections.abc import Mapping

TOOLS: Final = {"approve": {"name": "approve", "_meta": {KIND: APPROVAL}}, "add": {"name": "add"}}
BASH: Final = {"command": "git status -s", "description": "Show what changed"}


def line(arguments: object, name: object = "approve") -> str:
    """Write a call of a tool."""
    params = {"name": name, "arguments": arguments}
    return json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params})


def read(text: str, *, held: bool = False) -> Approval | None:
    """Read what a line asks a person to allow."""
    message = jsonrpc.read_text(text)
    assert isinstance(message, Message)
    return approval_of(text, message, TOOLS, held=held)


def asked(given: Mapping[str, Any], tool: str = "Bash") -> Approval:
    """Return the approval of a tool with this input."""
    found = read(line({"tool_name": tool, "input": given, "tool_use_id": "toolu_1"}))
    assert found is not None
    assert not found.problem
    return found


def test_a_tool_is_for_approvals_because_its_list_says_so_whatever_its_name() -> None:
    """Its `_meta` says it; a name says nothing."""
    assert kind_of("approve", TOOLS) == APPROVAL
    assert kind_of("approve", {"approve": {"name": "approve"}}) == ""
    assert kind_of("approve", None) == ""
    assert kind_of(["approve"], TOOLS) == ""
    assert kind_of("x", {"x": {"_meta": {KIND: "anything"}}}) == ""
    assert read(line({"tool_name": "Bash", "input": BASH}, "add")) is None


def test_what_is_allowed_is_the_input_as_it_was_written() -> None:
    """Numbers, escapes and white space are the host's own."""
    given = '{"a": 1.0, "b":9007199254740993,"c":"\\u00e9"}'
    found = read(line({"tool_name": "T", "input": {}}).replace("{}", given))
    assert found is not None
    assert approvals.allowed(found) == f'{{"behavior": "allow", "updatedInput": {given}}}'


def test_what_is_changed_replaces_one_member_and_leaves_the_others_as_written() -> None:
    """The form of the input sends only what a person changed."""
    text = '{"command":"ls", "timeout": 1e3}'
    changed = approvals.with_members(text, {"command": approvals.as_json("ls -l")})
    assert changed == '{"command": "ls -l", "timeout": 1e3}'


@pytest.mark.parametrize(
    ("reason", "message"), [("not on a Friday", "not on a Friday"), ("  ", approvals.DENIED)]
)
def test_a_denial_carries_the_reason_word_for_word(reason: str, message: str) -> None:
    """The host refuses a denial without a message."""
    assert json.loads(approvals.denied(reason)) == {"behavior": "deny", "message": message}


@pytest.mark.parametrize(
    "arguments",
    [
        None,
        [],
        "rm -rf /",
        {},
        {"tool_name": "Bash"},
        {"tool_name": "", "input": {}},
        {"tool_name": 7, "input": {}},
        {"tool_name": "Bash", "input": "rm -rf /"},
        {"tool_name": "Bash", "input": None},
        {"toolName": "Bash", "input": {}},
    ],
)
def test_nonsense_in_the_place_of_the_arguments_cannot_be_allowed(arguments: object) -> None:
    """It is shown with the reason, and no choice but to deny is offered."""
    found = read(line(arguments))
    assert found is not None
    assert found.problem == "shape"
    assert not patterns_for(found)


def test_a_member_that_is_there_twice_cannot_be_allowed() -> None:
    """Programs differ in which of the two counts: one would be shown, the other run."""
    once = line({"tool_name": "Bash", "input": {"command": "ls"}})
    for twice in (
        '{"command": "rm", "command": "ls"}',
        '{"command": "rm"}, "input": {"command": "ls"}',
    ):
        found = read(once.replace('{"command": "ls"}', twice))
        assert found is not None
        assert found.problem == "twice"


@pytest.mark.parametrize("part", ["9" * 4_000, "[" * 90 + "]" * 90, "1e999", '"\\ud800"'])
def test_values_at_the_limits_of_json_are_shown_as_they_are_or_not_at_all(part: str) -> None:
    """No reader gives up: either the very text is on the card, or nothing can be allowed."""
    found = read(line({"tool_name": "Bash", "input": {"n": 7}}).replace("7}", f"{part}}}"))
    assert found is not None
    assert found.problem or part in approvals.allowed(found)


def test_a_message_that_is_too_large_to_be_read_whole_cannot_be_allowed() -> None:
    """Only its beginning would be shown."""
    found = read(line({"tool_name": "Write", "input": {"content": "x" * 9_000_000}}))
    assert found is not None
    assert found.problem == "large"


def test_the_digest_covers_the_tool_and_the_arguments_and_nothing_else() -> None:
    """A retry has another id and a token; another command is another call."""
    first = line({"tool_name": "Bash", "input": BASH})
    assert digest_of(first) == digest_of(first.replace('"id": 1', '"id": 2'))
    assert digest_of(first) != digest_of(first.replace("git status", "git push"))
    assert digest_of(first) != digest_of(first.replace('"approve"', '"other"'))


def test_a_call_that_a_tap_holds_is_asked_for_by_its_own_name() -> None:
    """Whatever tool of whatever server it is."""
    found = read(line({"a": 1}, "add"), held=True)
    assert found is not None
    assert (found.tool, found.text, found.questions) == ("add", '{"a": 1}', ())


QUESTIONS: Final = {
    "questions": [
        {
            "question": "Which database?",
            "header": "Storage",
            "multiSelect": False,
            "options": [{"label": "SQLite", "description": "one file"}, {"label": "PostgreSQL"}],
        },
        {"question": "Which systems?", "multiSelect": True, "options": ["Linux", "macOS"]},
    ]
}


def test_the_questions_of_a_host_are_answered_in_a_member_of_their_input() -> None:
    """Several choices stand in one text, as the host joins them itself."""
    found = asked(QUESTIONS, "AskUserQuestion")
    first, second = found.questions
    assert (first.header, first.options[0], first.multiple) == (
        "Storage",
        ("SQLite", "one file"),
        False,
    )
    assert second.multiple
    chosen = {"Which database?": ("SQLite",), "Which systems?": ("Linux", "macOS")}
    sent = json.loads(approvals.answered(found, chosen))
    assert sent["behavior"] == "allow"
    assert sent["updatedInput"] == {
        **QUESTIONS,
        "answers": {"Which database?": "SQLite", "Which systems?": "Linux, macOS"},
    }


def test_a_tool_that_looks_like_a_question_is_shown_as_what_it_is() -> None:
    """To answer it would also run it."""
    assert asked({**QUESTIONS, "command": "rm -rf /"}).questions == ()
    assert asked(QUESTIONS, "mcp__evil__deploy").questions == ()
    assert read(line(QUESTIONS, "AskUserQuestion"), held=True).questions == ()  # type: ignore[union-attr]


@pytest.mark.parametrize(
    "questions",
    [
        None,
        [],
        ["Which?"],
        [{"question": " "}],
        [{"question": "Which?"}, {"question": "Which?"}],
        [{"question": str(number)} for number in range(11)],
    ],
)
def test_questions_that_cannot_be_shown_whole_are_none(questions: object) -> None:
    """Then the input is shown as it came."""
    assert asked({"questions": questions}, "AskUserQuestion").questions == ()


def _patterns(given: Mapping[str, Any], tool: str = "Bash") -> dict[str, AllowPattern]:
    return {one.way: one for one in patterns_for(asked(given, tool))}


@pytest.mark.parametrize(
    ("command", "fits"),
    [
        ("git status -s", True),
        ("git status", True),
        ("git status --porcelain src/a.py", True),
        ("git statusx", False),
        ("git push", False),
        ("git status; rm -rf /", False),
        ("git status && rm x", False),
        ("git status | sh", False),
        ("git status > /etc/passwd", False),
        ("git status $(rm x)", False),
        ("git status `rm x`", False),
        ("git status\nrm x", False),
        ("git status \u202e", False),
        (" git status", False),
        ("", False),
    ],
)
def test_a_command_is_allowed_like_another_only_where_a_shell_sees_words(
    command: str, *, fits: bool
) -> None:
    """Whatever a shell does more than start one program is asked for again."""
    pattern = _patterns(BASH)["begins"]
    assert pattern.value == "git status"
    assert pattern.fits(asked({"command": command, "description": "other"})) is fits


def test_a_command_with_other_members_is_another_one() -> None:
    """In the background, or outside the sandbox."""
    loose = asked({**BASH, "dangerouslyDisableSandbox": True})
    assert not any(pattern.fits(loose) for pattern in patterns_for(asked(BASH)))


@pytest.mark.parametrize("command", ["rm -rf build", "ls", "python x.py", "A=1 make", "a; b c"])
def test_a_program_alone_is_no_pattern(command: str) -> None:
    """It may do anything with other words; the very same command may be allowed."""
    found = _patterns({"command": command})
    assert list(found) == ["same"]
    assert found["same"].fits(asked({"command": command, "description": "again"}))
    assert not found["same"].fits(asked({"command": command + " "}))


@pytest.mark.parametrize(
    ("path", "fits"),
    [
        ("/home/ann/app/b.py", True),
        ("/home/ann/app/deep/c.py", True),
        ("/home/ann/apple/c.py", False),
        ("/home/ann/app/../.ssh/config", False),
        ("/home/ann/app", False),
        ("app/b.py", False),
        ("", False),
    ],
)
def test_files_are_allowed_below_the_folder_of_the_one_that_was_shown(
    path: str, *, fits: bool
) -> None:
    """A path that leads elsewhere is asked for again."""
    pattern = _patterns({"file_path": "/home/ann/app/a.py", "content": "x"}, "Write")["folder"]
    assert pattern.value == "/home/ann/app/"
    assert pattern.fits(asked({"file_path": path, "content": "y"}, "Write")) is fits
    assert not pattern.fits(asked({"file_path": path, "content": "y"}, "Edit"))


def test_a_pattern_never_allows_another_tool_a_question_or_what_cannot_be_read() -> None:
    """A person allowed what was shown."""
    every = AllowPattern("AskUserQuestion", "tool")
    assert not every.fits(asked(QUESTIONS, "AskUserQuestion"))
    assert not AllowPattern("", "tool").fits(Approval("", "", {}, "", problem="shape"))
    assert not AllowPattern("Bash", "no such way").fits(asked(BASH))
    assert _patterns({"url": "https://example.com"}, "WebFetch")["tool"].fits(
        asked({"url": "https://example.org"}, "WebFetch")
    )


def test_a_pattern_is_kept_as_text_and_read_again() -> None:
    """Texts of other kinds, and broken ones, are none."""
    for pattern in patterns_for(asked(BASH)):
        assert pattern_of(str(pattern)) == pattern
    for text in ("tools/call", "allow:", "allow:[]", 'allow:["Bash",1,"",""]', "allow:{}"):
        assert pattern_of(text) is None
