"""What a call asks a person to allow, and which response each choice makes."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from humanmcp.protocol.conversation import approvals
from humanmcp.protocol.conversation.allow_patterns import (
    AllowPattern,
    pattern_of,
    patterns_for,
    patterns_in,
)
from humanmcp.protocol.conversation.approvals import (
    Approval,
    approval_of,
    digest_of,
    permission_in,
)
from humanmcp.protocol.conversation.decisions import sha256
from humanmcp.protocol.conversation.exchange import (
    APPROVAL,
    KIND,
    QUESTION,
    NegotiatedState,
    kind_of_tool,
)
from humanmcp.protocol.json import jsonrpc
from humanmcp.protocol.json.jsonrpc import Message
from humanmcp.protocol.tables import bounded
from tests.support.verdicts import asked as exchange_of

if TYPE_CHECKING:
    from collections.abc import Mapping

RUNNERS: Final = (
    "sudo git status",
    "env git status",
    "xargs rm",
    "xargs git status",
    "ssh host",
    "ssh host rm -rf x",
    "eval ls",
    "find src",
    "find src -delete",
    "nice ls",
    "timeout 5 ls",
    "watch ls",
    "time ls",
    "nohup ls",
    "bash -c ls",
    "sh x.sh",
    "git push",
    "git push --force",
    "git commit -m x",
    "git checkout main",
    "git -c core.pager=x log",
    "git -C /tmp status",
    "git --exec-path=. log",
    "git submodule foreach x",
    "git bisect run x",
    "git statusx",
    "npm run build",
    "npm install x",
    "npx x",
    "uvx x",
    "make test",
    "docker run x",
    "docker exec x ls",
    "kubectl exec x ls",
    "python -m pytest",
    "python x.py",
    "node x.js",
    "rm -rf build",
    "tar -xf x",
    "sort x",
    "awk x",
    "sed -n 1p x",
)
WITH_OPTIONS: Final = (
    "git log --output=x",
    "git log --outp=x",
    "git log --ext-diff",
    "git log --textconv",
    "git log --show-signature",
    "git diff --ext-diff",
    "git diff --no-index a b",
    "git diff -O x",
    "git grep -O x",
    "git status --help",
    "rg --pre=x y",
    "rg --pre x y",
    "rg -z x",
    "rg --hostname-bin=x y",
    "grep -f x y",
    "wc --files0-from=x",
    "tail -f x",
    "npm test --script-shell=x",
    "npm test -- --config=x",
    "pytest -p x",
    "pytest -c x",
    "pytest -o addopts=x",
    "pytest --rootdir=/x",
    "pytest --pdb",
    "cargo test --config=x",
    "cargo test --manifest-path=/x",
    "cargo test -Z x",
    "go test -exec x",
    "go test -toolexec=x",
    "go test -o x",
)
NOT_ORDINARY: Final = (
    "/home/ann/app/.git/hooks/pre-commit",
    "/home/ann/app/.git/config",
    "/home/ann/app/.claude/settings.json",
    "/home/ann/app/.github/workflows/ci.yml",
    "/home/ann/app/.vscode/tasks.json",
    "/home/ann/app/.envrc",
    "/home/ann/app/.mcp.json",
    "/home/ann/app/.pre-commit-config.yaml",
    "/home/ann/app/.npmrc",
    "/home/ann/app/src/.gitattributes",
    "/home/ann/.bashrc",
    "/home/ann/.ssh/authorized_keys",
    "/home/ann/.config/autostart/x.desktop",
    "/home/ann/app/Makefile",
    "/home/ann/app/makefile",
    "/home/ann/app/package.json",
    "/home/ann/app/pyproject.toml",
    "/home/ann/app/conftest.py",
    "/home/ann/app/src/build.rs",
    "/home/ann/app/vite.config.js",
    "/home/ann/app/CLAUDE.md",
    "/home/ann/app/GEMINI.md",
    "/home/ann/app/pnpm-lock.yaml",
    "/home/ann/app/azure-pipelines.yml",
    "/home/ann/app/vite.config.ts",
    "/home/ann/app/jest.setup.mts",
    "/home/ann/app/requirements-dev.txt",
    "/home/ann/app/docker-compose.override.yml",
    "/home/ann/app/dev.Dockerfile",
    "/home/ann/app/node_modules/x/index.js",
    "/home/ann/app/bin/run",
    "/usr/local/bin/ls",
    "/etc/sudoers",
    "/home/ann/Library/LaunchAgents/x.plist",
    "/home/ann/app/Make\u200bfile",
    "/x.py",
)
"""What a pattern for files never covers."""

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


@pytest.mark.parametrize(
    ("given", "tool", "kind"),
    [
        ({"command": "ls"}, "Bash", "command"),
        ({"command": 7}, "Bash", "other"),
        ({"command": "ls"}, "ExitPlanMode", "plan"),
        ({"old_string": "a", "new_string": "b"}, "Edit", "edit"),
        ({"edits": [{"old_string": "a", "new_string": "b"}]}, "Edit", "edit"),
        ({"edits": [{"old_string": "a", "new_string": "b", "more": 1}]}, "Edit", "other"),
        ({"edits": [{"old_string": "a", "new_string": "b"}, 7]}, "Edit", "other"),
        ({"edits": [{"old_string": "a", "new_string": "b"}], "old_string": "c"}, "", "other"),
        ({"edits": {"old_string": "a", "new_string": "b"}}, "Edit", "other"),
        ({"old_string": "a", "new_string": 1}, "Edit", "other"),
        ({"content": "x", "file_path": "/a"}, "Write", "file"),
        ({"content": "x"}, "Write", "other"),
        ({"content": 7, "file_path": "/a"}, "Write", "other"),
        ({}, "", "other"),
    ],
)
def test_a_prompt_is_shown_as_what_it_asks_for(given: dict[str, Any], tool: str, kind: str) -> None:
    """What has more than its form shows is no edit."""
    assert approvals.kind_of_input(given, tool) == kind


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("1.5", ""),
        ("NaN", "number"),
        ("1e999", "number"),
        ('{"a":1,"a":1}', "twice"),
        ("{", "shape"),
    ],
)
def test_json_that_programs_read_differently_has_the_reason(text: str, problem: str) -> None:
    """Nothing is allowed that is read in two ways."""
    assert approvals.read_once(text)[1] == problem


def test_a_prompt_can_be_handed_back_to_the_agent() -> None:
    """It asks in its own dialog then."""
    assert json.loads(approvals.handed_back()) == {"behavior": "ask"}


def test_a_tool_is_for_approvals_because_its_list_says_so_whatever_its_name() -> None:
    """Its `_meta` says it; a name says nothing."""
    assert kind_of_tool("approve", TOOLS) == APPROVAL
    assert kind_of_tool("approve", {"approve": {"name": "approve"}}) == ""
    assert kind_of_tool("approve", None) == ""
    assert kind_of_tool(["approve"], TOOLS) == ""
    assert kind_of_tool("x", {"x": {"_meta": {KIND: "anything"}}}) == ""
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
    changed = approvals.with_members(text, {"command": '"ls -l"'})
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


@pytest.mark.parametrize(
    "held",
    [
        '{"jsonrpc":"2.0","id":1,"method":"tools/list"}',
        '{"jsonrpc":"2.0","method":"notifications/initialized"}',
        '{"jsonrpc":"2.0","id":1,"result":{"tools":[]}}',
        '{"jsonrpc":"2.0","id":1,"result":{"method":"tools/call"}}',
        '[{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a"}}]',
        '{"jsonrpc":"2.0","id":1,"method":"sampling/createMessage","params":{"messages":[]}}',
        '{"hook_event_name":"PermissionRequest","method":"tools/call","tool_input":{"a":1}}',
        '{"method":"tools/call","params":{"name":"a"},"tool_name":"Bash","tool_input":{"a":1}}',
        "no JSON",
        "",
    ],
)
def test_the_digest_of_what_is_no_call_covers_the_whole_line(held: str) -> None:
    """It was the same for all of them, and so it proved nothing."""
    assert digest_of(held) == sha256(held)


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


WRITE: Final = {"file_path": "/home/ann/app/a.py", "content": "x"}
SEARCH: Final = {"q": 1, "words": "cats"}


@pytest.mark.parametrize(
    ("way", "tool", "shown", "other", "fits"),
    [
        ("same", "Search", SEARCH, {}, True),
        ("same", "Search", SEARCH, {"words": "dogs"}, False),
        ("same", "Search", SEARCH, {"description": "more"}, False),
        ("same", "Codex", {"command": ["ls"]}, {}, True),
        ("same", "Codex", {"command": ["ls"]}, {"command": ["rm"]}, False),
        ("command", "Bash", BASH, {"description": "other words"}, True),
        ("command", "Bash", BASH, {"description": ["not", "text"]}, False),
        ("command", "Bash", BASH, {"command": "git status"}, False),
        ("command", "Bash", BASH, {"command": ["git", "status", "-s"]}, False),
        ("command", "Bash", BASH, {"dangerouslyDisableSandbox": True}, False),
        ("begins", "Bash", BASH, {"command": "git status"}, True),
        ("begins", "Bash", BASH, {"command": "git status", "description": "other"}, True),
        ("begins", "Bash", BASH, {"run_in_background": True}, False),
        ("begins", "Bash", BASH, {"command": "git log"}, False),
        ("begins", "Bash", {**BASH, "timeout": 5}, {"timeout": 5.0}, False),
        ("folder", "Write", WRITE, {"content": "y"}, True),
        ("folder", "Write", WRITE, {"content": ["y"]}, False),
        ("folder", "Write", WRITE, {"file_path": "/home/ann/app/deep/b.py"}, True),
        ("folder", "Write", WRITE, {"file_path": "/home/ann/apple/b.py"}, False),
        ("folder", "Write", WRITE, {"file_path": "/home/ann/app/../.ssh/config"}, False),
        ("folder", "Write", WRITE, {"file_path": "/home/ann/app"}, False),
        ("folder", "Write", WRITE, {"file_path": "app/b.py"}, False),
        ("folder", "Write", WRITE, {"file_path": ""}, False),
        ("folder", "Write", WRITE, {"file_path": ["/home/ann/app/b.py"]}, False),
        ("folder", "Write", WRITE, {"command": "rm -rf /"}, False),
        ("folder", "Write", WRITE, {"mode": 511}, False),
        ("tool", "Search", SEARCH, {"q": 2, "words": "dogs"}, True),
        ("tool", "Search", SEARCH, {"q": "rm -rf /"}, False),
        ("tool", "Search", SEARCH, {"q": {"command": "rm -rf /"}}, False),
        ("tool", "Search", SEARCH, {"command": "rm -rf /"}, False),
    ],
)
def test_a_pattern_covers_what_its_sentence_names_and_nothing_else(
    way: str, tool: str, shown: dict[str, Any], other: dict[str, Any], *, fits: bool
) -> None:
    """Every other member is there in both inputs, and equal."""
    pattern = _patterns(shown, tool)[way]
    assert pattern.fits(asked({**shown, **other}, tool)) is fits
    assert not pattern.fits(asked(shown, f"Other{tool}"))
    for name in shown:
        assert not pattern.fits(asked({k: v for k, v in shown.items() if k != name}, tool))


def test_a_pattern_names_each_member_that_it_leaves_open() -> None:
    """In one order, and as a list reads."""
    for shown in ({"q": 1, "words": "cats"}, {"words": "cats", "q": 1}):
        assert _patterns(shown, "Search")["tool"].value == "q, words"


@pytest.mark.parametrize(
    ("command", "begins"),
    [
        ("git status", "git status"),
        ("git status --porcelain src/a.py", "git status"),
        ("git log -20 --oneline main..feature", "git log"),
        ("git diff --stat HEAD -- docs", "git diff"),
        ("ls -la src", "ls"),
        ("wc -lcmwL README.md", "wc"),
        ("cat README.md", "cat"),
        ("grep -rn needle src", "grep"),
        ("npm test", "npm test"),
        ("npm test src/a.test.js", "npm test"),
        ("pytest -q tests/test_a.py::test_b", "pytest"),
        ("go test -race ./...", "go test"),
        ("cargo test -p core parsing", "cargo test"),
        # what a shell does more than start one program
        ("git status; rm -rf /", ""),
        ("git status && rm x", ""),
        ("git status | sh", ""),
        ("git status > /etc/passwd", ""),
        ("git status $(rm x)", ""),
        ("git status `rm x`", ""),
        ("git status\nrm x", ""),
        ("git status \u202e", ""),
        (" git status", ""),
        ("", ""),
        ("ls ~", ""),
        ("A=1 ls", ""),
        # programs that run others, or may do anything
        *((one, "") for one in RUNNERS),
        # options that make a harmless command run or write something
        *((one, "") for one in WITH_OPTIONS),
        # files elsewhere, and hidden ones
        ("cat /etc/passwd", ""),
        ("cat ../secret", ""),
        ("cat docs/../../secret", ""),
        ("cat .env", ""),
        ("git show HEAD:.env", ""),
        ("git diff :/src", ""),
        ("cat http://a.example/b", ""),
        ("git diff /dev/null /home/ann/.ssh/id_rsa", ""),
        ("pytest @/tmp/arguments", ""),
    ],
)
def test_a_command_is_allowed_like_another_only_where_its_effect_is_known(
    command: str, begins: str
) -> None:
    """It reads, or runs the tests of its folder. Any other may be allowed as it is."""
    found = _patterns({"command": command})
    assert list(found) == (["command", "begins"] if begins else ["command"])
    if begins:
        assert found["begins"].value == begins
    for known in bounded.COMMANDS:
        pattern = _patterns({"command": known})["begins"]
        assert pattern.fits(asked({"command": command})) is (known == begins)


@pytest.mark.parametrize("path", NOT_ORDINARY)
def test_files_that_are_run_or_that_grant_rights_are_allowed_one_by_one(path: str) -> None:
    """No folder is offered for one, and the pattern of a file beside does not cover it."""
    assert list(_patterns({"file_path": path, "content": "x"}, "Write")) == ["same"]
    for folder in ("/", "/home/ann/app/", "/home/ann/app/src/"):
        ordinary = _patterns({"file_path": f"{folder}a.py", "content": "x"}, "Write")
        assert not any(
            pattern.fits(asked({"file_path": path, "content": "x"}, "Write"))
            for pattern in ordinary.values()
        )


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"command": ["bash", "-c", "ls"]},
        {"cmd": "ls"},
        {"sql": "select 1"},
        {"code": "print(1)"},
        {"path": "relative.txt", "mode": "r"},
        {"source_file": "a", "to": "b"},
        {"filter": {"q": 1}},
        {"words": ["a"]},
        {"Command": "ls"},
    ],
)
def test_every_call_is_not_offered_for_commands_files_or_nested_values(
    given: dict[str, Any],
) -> None:
    """There the next call could be anything."""
    assert list(_patterns(given, "Tool")) == ["same"]


VALUES = st.one_of(
    st.sampled_from(
        ["git status", "git status -s", "ls src", "rm -rf /", "/p/a.py", "/p/b.py", ""]
    ),
    st.text(max_size=4),
    st.integers(-2, 2),
    st.booleans(),
    st.none(),
    st.lists(st.just("ls"), max_size=1),
    st.dictionaries(st.sampled_from(["command", "q"]), st.just("ls"), max_size=1),
)
NAMES = ["command", "description", "file_path", "content", "q", "path", "timeout", "offset"]
INPUTS = st.dictionaries(st.sampled_from(NAMES), VALUES, max_size=4)
NAMED: Final[dict[str, set[str]]] = {
    "same": set(),
    "command": {"description"},
    "begins": {"command", "description"},
    "folder": {"file_path", "path", "content", "offset"},
    "tool": set(NAMES),
}
"""Which members the sentence of each pattern names."""


@given(shown=INPUTS, changes=INPUTS, removed=st.sets(st.sampled_from(NAMES), max_size=1))
def test_whatever_a_pattern_allows_has_the_members_that_were_shown(
    shown: dict[str, Any], changes: dict[str, Any], removed: set[str]
) -> None:
    """It differs only in what the sentence of the pattern names."""
    other = {name: value for name, value in {**shown, **changes}.items() if name not in removed}
    for pattern in patterns_for(asked(shown)):
        assert pattern.fits(asked(shown))
        if not pattern.fits(asked(other)):
            continue
        assert set(other) == set(shown)
        for name, value in shown.items():
            if name not in NAMED[pattern.way]:
                assert json.dumps(other[name]) == json.dumps(value)
            assert type(other[name]) is type(value)
        if pattern.way == "begins":
            assert f"{other['command']} ".startswith(f"{pattern.value} ")
        if pattern.way == "folder":
            assert str(other.get("file_path") or other["path"]).startswith(pattern.value)


def test_a_pattern_never_allows_another_tool_a_question_or_what_cannot_be_read() -> None:
    """A person allowed what was shown."""
    (same, every) = patterns_for(asked({"q": 1}, "AskUserQuestion"))
    assert not same.fits(asked(QUESTIONS, "AskUserQuestion"))
    assert not every.fits(asked(QUESTIONS, "AskUserQuestion"))
    assert not AllowPattern("", "tool").fits(Approval("", "", {}, "", problem="shape"))
    assert not AllowPattern("Bash", "no such way").fits(asked(BASH))
    assert not AllowPattern("Write", "folder", "").fits(asked(WRITE, "Write"))
    assert _patterns({"url": "https://example.com"}, "WebFetch")["tool"].fits(
        asked({"url": "https://example.org"}, "WebFetch")
    )


def test_a_pattern_is_kept_as_text_and_read_again() -> None:
    """Texts of other kinds, and broken ones, are none."""
    for pattern in patterns_for(asked(BASH)):
        assert pattern_of(str(pattern)) == pattern
    for text in ("tools/call", "allow:", "allow:[]", 'allow:["Bash",1,"",""]', "allow:{}"):
        assert pattern_of(text) is None


def test_each_name_of_a_file_that_tools_run_is_whole() -> None:
    """A word that was broken at the end of a line would be two names of nothing."""
    assert [one for one in bounded.RUN_FILES if one.endswith("-")] == []


@pytest.mark.parametrize(
    ("given", "pairs"),
    [
        ({"old_string": "a", "new_string": "b"}, [("a", "b")]),
        ({"old_string": "a", "new_string": "b", "file_path": "/f"}, [("a", "b")]),
        ({"old_string": "a"}, []),
        ({"new_string": "b"}, []),
        ({}, []),
        ({"edits": []}, []),
        (
            {
                "edits": [
                    {"old_string": "a", "new_string": "b"},
                    {"new_string": "", "old_string": "c"},
                ]
            },
            [("a", "b"), ("c", "")],
        ),
        ({"edits": [{"old_string": "a", "new_string": "b"}, {"old_string": "c"}]}, []),
        (
            {
                "edits": [
                    {"old_string": "a", "new_string": "b"},
                    {"old_string": 1, "new_string": ""},
                ]
            },
            [],
        ),
        ({"edits": [{"old_string": "a", "new_string": "b"}], "new_string": "c"}, []),
    ],
)
def test_edits_are_shown_all_or_none(given: dict[str, Any], pairs: list[tuple[str, str]]) -> None:
    """A form that shows half of them would hide the rest."""
    assert approvals.edits_in(given) == pairs


def test_another_call_than_the_one_that_was_seen_is_noticed() -> None:
    """A page that sent no digest has seen what there is."""
    text = line({"tool_name": "Bash", "input": BASH})
    assert not approvals.differs("", text)
    assert not approvals.differs(digest_of(text), text)
    assert approvals.differs(digest_of(text.replace("git status", "git push")), text)


@pytest.mark.parametrize(
    "text",
    [
        '{"jsonrpc":"2.0","id":1,"method":"tools/call"}',
        '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{}}',
    ],
)
def test_the_digest_of_a_call_of_nothing_is_of_nothing(text: str) -> None:
    """Neither a tool nor arguments are there."""
    assert digest_of(text) == sha256("\0")


def test_a_held_call_without_arguments_has_an_empty_input() -> None:
    """Which of the two was written shows in the line; the tool gets none either way."""
    text = '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"add"}}'
    found = read(text, held=True)
    assert found == Approval("add", "{}", {}, digest_of(text))


@pytest.mark.parametrize(
    ("text", "tool", "held"),
    [
        ('{"jsonrpc":"2.0","method":"tools/call","params":{"name":"add"}}', "", True),
        ('{"jsonrpc":"2.0","id":1,"method":"prompts/get","params":{"name":"add"}}', "", True),
        ('{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"add"}}', "", False),
        ('{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"add"}}', "add", True),
    ],
)
def test_only_a_call_is_asked_for(text: str, tool: str, *, held: bool) -> None:
    """No notification, no other method, no tool that is not for approvals unless a tap holds it."""
    found = read(text, held=held)
    assert (found.tool if found is not None else "") == tool


ONE: Final = {"question": "Tea?"}
BOTH: Final = {"questions": [ONE, {"question": "Rum?"}]}
ASKS: Final = {"ask": {"_meta": {KIND: QUESTION}}, "approve": TOOLS["approve"], "add": {}}


@pytest.mark.parametrize(
    ("tool", "arguments", "words", "answers", "is_alone"),
    [
        ("ask", ONE, "Yes", {"Tea?": "Yes"}, True),
        ("ask", {"questions": [ONE]}, " Yes ", {"Tea?": " Yes "}, True),
        ("ask", ONE, " ", None, True),
        ("ask", {}, "Yes", {"answer": "Yes"}, True),
        ("ask", {"questions": [ONE, ONE]}, "Yes", {"answer": "Yes"}, True),
        ("ask", {"questions": [ONE] * 11}, "Yes", {"answer": "Yes"}, True),
        ("ask", BOTH, "Yes", None, False),
        ("ask", {**ONE, "multiple": True}, "Yes", {"Tea?": ["Yes"]}, False),
        ("ask", {"question": "x" * 200_001}, "Yes", {"x" * 200_001: "Yes"}, True),
        ("ask", {"questions": "x" * 200_001}, "Yes", None, False),
        ("approve", {"tool_name": "AskUserQuestion", "input": BOTH}, "Yes", None, False),
        ("approve", {"tool_name": "AskUserQuestion", "input": {}}, "Yes", None, False),
        ("add", ONE, "Yes", None, None),
    ],
    ids=range(13),
)
def test_words_alone_answer_exactly_one_question(
    tool: str, arguments: object, words: str, answers: object, *, is_alone: bool | None
) -> None:
    """Also what cannot be read one by one, which is answered together."""
    exchange = exchange_of("tools/call", {"name": tool, "arguments": arguments})
    outcome = None if answers is None else {"status": "answered", "answers": answers}
    assert approvals.outcome_of_words(exchange, words, NegotiatedState(tools=ASKS)) == outcome
    found = approval_of(exchange.request.raw, exchange.request, ASKS)
    assert (None if found is None else found.is_alone) is is_alone


def test_a_question_without_arguments_has_none() -> None:
    """Its text is an object all the same."""
    exchange = exchange_of("tools/call", {"name": "ask"})
    found = approval_of(exchange.request.raw, exchange.request, ASKS)
    assert found is not None
    assert (found.text, found.input, found.is_alone) == ("{}", {}, True)


def test_a_card_of_questions_may_be_just_so_long() -> None:
    """A longer one would be shown in part."""
    exchanges = [
        exchange_of("tools/call", {"name": "ask", "arguments": {**BOTH, "x": "x" * (more - base)}})
        for base in [len(json.dumps({**BOTH, "x": ""}))]
        for more in (200_000, 200_001)
    ]
    found = [approval_of(one.request.raw, one.request, ASKS) for one in exchanges]
    assert [one and (one.problem, len(one.questions), one.tool) for one in found] == [
        ("", 2, "ask"),
        ("large", 0, ""),
    ]


@pytest.mark.parametrize(
    ("method", "tool", "arguments", "texts"),
    [
        ("tools/call", "ask", BOTH, ["Tea?", "Rum?"]),
        ("tools/call", "ask", {}, []),
        ("tools/call", "add", BOTH, []),
        ("tools/call", "approve", {"tool_name": "AskUserQuestion", "input": BOTH}, []),
        ("prompts/get", "ask", BOTH, []),
    ],
)
def test_a_call_of_a_tool_that_asks_has_questions(
    method: str, tool: str, arguments: object, texts: list[str]
) -> None:
    """No other request has any."""
    exchange = exchange_of(method, {"name": tool, "arguments": arguments})
    found = approvals.questions_of(exchange, NegotiatedState(offered=ASKS))
    assert [one.text for one in found] == texts


@pytest.mark.parametrize(
    ("result", "words"),
    [
        ({"content": [{"type": "text", "text": " a "}, 7, {"text": "b "}]}, "a \nb"),
        ({"content": [{"type": "text", "text": "a"}], "isError": False}, "a"),
        ({"content": [{"type": "text", "text": "a"}], "isError": True}, ""),
        ({"content": [{"type": "text", "text": "a"}], "structuredContent": {}}, ""),
        ({"content": [{"type": "text", "text": "a"}], "structuredContent": None}, "a"),
        ({"content": "a"}, ""),
        ("a", ""),
    ],
)
def test_a_result_of_words_alone_has_words(result: object, words: str) -> None:
    """One with data, and an error of the tool, are left as they are."""
    assert approvals.words_in(result) == words


@pytest.mark.parametrize(
    "text", ["x", "1" * 5_000, "[" * 200_000], ids=["no JSON", "long number", "too deep"]
)
def test_what_cannot_be_read_once_has_no_value(text: str) -> None:
    """Nothing of it is shown as if it were all."""
    assert approvals.read_once(text) == (None, "shape")


@pytest.mark.parametrize(
    "text", ["allow:{", 'allow:["a","b","c"]', 'allow:["a","b","c","d","e"]', '["a","b","c","d"]']
)
def test_a_text_that_is_no_pattern_is_none(text: str) -> None:
    """It has four parts."""
    assert pattern_of(text) is None
    assert pattern_of('allow:["a","b","c","d"]') == AllowPattern("a", "b", "c", "d")


def test_of_texts_only_patterns_are_patterns() -> None:
    """In their order."""
    first, second = AllowPattern("a", "b", "c", "d"), AllowPattern("e", "", "", "")
    assert patterns_in(["tools/call", str(first), "allow:", str(second)]) == (first, second)


@pytest.mark.parametrize(
    ("record", "action"),
    [
        ('{"action":"allow","number":1}', "allow"),
        ('{"action":"change"}', "change"),
        ('{"action":"deny"}', "deny"),
        ('{"action":"accept"}', ""),
        ('{"action":7}', ""),
        ("[]", ""),
        ("torn", ""),
        ("", ""),
    ],
)
def test_a_record_says_what_a_person_permitted(record: str, action: str) -> None:
    """That of an answer to something else says nothing of it."""
    assert permission_in(record) == action
