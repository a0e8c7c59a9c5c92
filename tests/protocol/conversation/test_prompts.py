"""What agents send to a hook, and what each of them is answered."""

import json
import re
from typing import Any, Final

import pytest

from humanmcp.protocol.conversation.allow_patterns import patterns_for
from humanmcp.protocol.conversation.approvals import Approval
from humanmcp.protocol.conversation.prompts import (
    EVENTS,
    LABELS,
    Decided,
    HookEvent,
    Lost,
    action_of,
    answer,
    approval_of_prompt,
    can_change,
    decided_in,
    judge,
    note_of,
    prompt_in,
    read_prompt,
)
from humanmcp.protocol.conversation.transcript import Direction, Frame
from humanmcp.protocol.diagnostics.model import TextForm

WORDS: Final = 'Not on a Sunday — 今日はだめ, "please".'
COMMAND: Final = {"command": "touch made.txt; echo done"}

CLAUDE: Final = {
    "session_id": "6b8d",
    "transcript_path": "/home/me/.claude/projects/-p/6b8d.jsonl",
    "cwd": "/p",
    "prompt_id": "07b5",
    "permission_mode": "default",
    "hook_event_name": "PermissionRequest",
    "tool_name": "Bash",
    "tool_input": COMMAND,
}
CODEX: Final = {
    **CLAUDE,
    "turn_id": "01a2",
    "model": "fake-model",
    "transcript_path": "/home/me/.codex/sessions/1.jsonl",
}
GEMINI: Final = {
    "session_id": "a9f3",
    "transcript_path": "/home/me/.gemini/tmp/project/chats/session-1.jsonl",
    "cwd": "/p",
    "hook_event_name": "BeforeTool",
    "timestamp": "2026-11-26T11:43:28.363Z",
    "tool_name": "run_shell_command",
    "tool_input": COMMAND,
}
COPILOT: Final = {
    "hookName": "permissionRequest",
    "sessionId": "67d8",
    "timestamp": 1795693186958,
    "cwd": "/p",
    "toolName": "bash",
    "toolInput": COMMAND,
    "permissionSuggestions": [],
}
COPILOT_BEFORE: Final = {
    "sessionId": "6bc4",
    "timestamp": 1795693354790,
    "cwd": "/p",
    "toolName": "bash",
    "toolArgs": COMMAND,
}
QWEN: Final = {**CLAUDE, "transcript_path": "C:\\Users\\me\\.qwen\\projects\\p\\chats\\1.jsonl"}
CURSOR: Final = {
    "hook_event_name": "beforeMCPExecution",
    "conversation_id": "c1",
    "generation_id": "g1",
    "workspace_roots": ["/p"],
    "tool_name": "search",
    "tool_input": json.dumps(COMMAND),
}
SHELL: Final = {
    "hook_event_name": "beforeShellExecution",
    "conversation_id": "c1",
    "command": COMMAND["command"],
    "cwd": "/p",
}

SENT: Final[dict[tuple[str, str], dict[str, Any]]] = {
    ("claude-code", "PermissionRequest"): CLAUDE,
    ("claude-code", "PreToolUse"): {**CLAUDE, "hook_event_name": "PreToolUse"},
    ("codex", "PermissionRequest"): CODEX,
    ("codex", "PreToolUse"): {**CODEX, "hook_event_name": "PreToolUse"},
    ("gemini-cli", "BeforeTool"): GEMINI,
    ("copilot-cli", "permissionRequest"): COPILOT,
    ("copilot-cli", "preToolUse"): COPILOT_BEFORE,
    ("qwen-code", "PermissionRequest"): QWEN,
    ("qwen-code", "PreToolUse"): {**QWEN, "hook_event_name": "PreToolUse"},
    ("cursor", "beforeShellExecution"): SHELL,
    ("cursor", "beforeMCPExecution"): CURSOR,
}
"""What each agent was seen to send, by agent and event."""


def decision(event: str, **members: Any) -> dict[str, Any]:  # noqa: ANN401 - any JSON value
    """Return the answer in `decision`."""
    return {"hookSpecificOutput": {"hookEventName": event, "decision": members}}


def permission(event: str, **members: Any) -> dict[str, Any]:  # noqa: ANN401 - any JSON value
    """Return the answer in `hookSpecificOutput`."""
    return {"hookSpecificOutput": {"hookEventName": event, **members}}


ANSWERS: Final[dict[tuple[str, str], tuple[Any, Any, Any]]] = {
    ("claude-code", "PermissionRequest"): (
        decision("PermissionRequest", behavior="allow", updatedInput=COMMAND),
        decision("PermissionRequest", behavior="deny", message=WORDS),
        None,
    ),
    ("claude-code", "PreToolUse"): (
        permission("PreToolUse", permissionDecision="allow", updatedInput=COMMAND),
        permission("PreToolUse", permissionDecision="deny", permissionDecisionReason=WORDS),
        permission("PreToolUse", permissionDecision="ask", permissionDecisionReason=WORDS),
    ),
    ("codex", "PermissionRequest"): (
        decision("PermissionRequest", behavior="allow"),
        decision("PermissionRequest", behavior="deny", message=WORDS),
        None,
    ),
    ("codex", "PreToolUse"): (
        {},
        permission("PreToolUse", permissionDecision="deny", permissionDecisionReason=WORDS),
        permission("PreToolUse", permissionDecision="deny", permissionDecisionReason=WORDS),
    ),
    ("gemini-cli", "BeforeTool"): (
        {"decision": "allow"},
        {"decision": "deny", "reason": WORDS},
        {"decision": "deny", "reason": WORDS},
    ),
    ("copilot-cli", "permissionRequest"): (
        {"behavior": "allow"},
        {"behavior": "deny", "message": WORDS},
        None,
    ),
    ("copilot-cli", "preToolUse"): (
        {"permissionDecision": "allow"},
        {"permissionDecision": "deny", "permissionDecisionReason": WORDS},
        {"permissionDecision": "deny", "permissionDecisionReason": WORDS},
    ),
    ("qwen-code", "PermissionRequest"): (
        decision("PermissionRequest", behavior="allow"),
        decision("PermissionRequest", behavior="deny", message=WORDS),
        None,
    ),
    ("qwen-code", "PreToolUse"): (
        permission("PreToolUse", permissionDecision="allow"),
        permission("PreToolUse", permissionDecision="deny", permissionDecisionReason=WORDS),
        permission("PreToolUse", permissionDecision="deny", permissionDecisionReason=WORDS),
    ),
    ("opencode", "permission.asked"): (
        {"behavior": "allow"},
        {"behavior": "deny", "message": WORDS},
        None,
    ),
    ("vscode", "PreToolUse"): (
        permission("PreToolUse", permissionDecision="allow"),
        permission("PreToolUse", permissionDecision="deny", permissionDecisionReason=WORDS),
        permission("PreToolUse", permissionDecision="ask", permissionDecisionReason=WORDS),
    ),
    ("cursor", "beforeShellExecution"): (
        {"permission": "allow"},
        {"permission": "deny", "agent_message": WORDS, "user_message": WORDS},
        {"permission": "deny", "agent_message": WORDS, "user_message": WORDS},
    ),
    ("cursor", "beforeMCPExecution"): (
        {"permission": "allow"},
        {"permission": "deny", "agent_message": WORDS, "user_message": WORDS},
        {"permission": "deny", "agent_message": WORDS, "user_message": WORDS},
    ),
    ("humanmcp", "PermissionRequest"): (
        decision("PermissionRequest", behavior="allow"),
        decision("PermissionRequest", behavior="deny", message=WORDS),
        decision("PermissionRequest", behavior="deny", message=WORDS),
    ),
}
"""What is said for allow, for deny with words, and when nobody decided (None: nothing)."""

CHANGED: Final = {"command": "ls"}
CHANGES: Final[dict[tuple[str, str], Any]] = {
    ("claude-code", "PermissionRequest"): decision(
        "PermissionRequest", behavior="allow", updatedInput=CHANGED
    ),
    ("claude-code", "PreToolUse"): permission(
        "PreToolUse", permissionDecision="allow", updatedInput=CHANGED
    ),
    ("codex", "PreToolUse"): permission(
        "PreToolUse", permissionDecision="allow", updatedInput=CHANGED
    ),
    ("gemini-cli", "BeforeTool"): {
        "decision": "allow",
        "hookSpecificOutput": {"hookEventName": "BeforeTool", "tool_input": CHANGED},
    },
    ("copilot-cli", "preToolUse"): {"permissionDecision": "allow", "modifiedArgs": CHANGED},
    ("qwen-code", "PermissionRequest"): decision(
        "PermissionRequest", behavior="allow", updatedInput=CHANGED
    ),
}
"""What is said for a changed input, where the agent was seen to run it; nowhere else."""

BY_NAME: Final = {(event.agent, event.name): event for event in EVENTS}


@pytest.mark.parametrize("name", SENT)
def test_an_agent_is_known_by_the_shape_of_what_it_sends(name: tuple[str, str]) -> None:
    """Tool, input, session and folder are read; the input byte for byte."""
    prompt = read_prompt(json.dumps(SENT[name], indent=1))
    assert prompt.event is BY_NAME[name]
    assert json.loads(prompt.input)["command"] == COMMAND["command"]
    assert prompt.tool in {"Bash", "bash", "run_shell_command", "search", "Shell"}
    assert prompt.session
    assert prompt.folder == "/p"
    asked = approval_of_prompt(prompt, json.dumps(SENT[name]))
    assert asked.input == json.loads(asked.text) == json.loads(prompt.input)


@pytest.mark.parametrize("key", ["tool_use_id", "tool_call_id"])
def test_the_id_of_the_tool_is_that_of_the_agent(key: str) -> None:
    """By it a tool that has run is known."""
    assert read_prompt(json.dumps({**CLAUDE, key: "toolu_1"})).tool_use_id == "toolu_1"


def test_an_input_of_null_is_no_permission() -> None:
    """Nobody saw what would run."""
    prompt, text = read_prompt(json.dumps(CLAUDE)), '{"behavior": "allow", "updatedInput": null}'
    assert decided_in(prompt, text) is None
    assert judge(prompt, text, TextForm.DECISION).line is None


@pytest.mark.parametrize("name", ["sessionId", "toolName"])
def test_half_of_a_shape_is_not_that_of_an_agent(name: str) -> None:
    """Nothing is printed to an agent that nobody knows, and nothing is allowed."""
    sent = {key: value for key, value in COPILOT.items() if key != name}
    prompt = read_prompt(json.dumps(sent))
    assert (prompt.host, prompt.lost, prompt.problem) == ("", "", "shape")
    assert answer(prompt, Decided("ask", WORDS)) == answer(prompt, Decided("deny", WORDS)) == ""
    with pytest.raises(ValueError, match="shape"):
        answer(prompt, Decided("allow"))


@pytest.mark.parametrize("name", BY_NAME)
def test_each_event_is_answered_in_the_form_that_its_agent_understands(
    name: tuple[str, str],
) -> None:
    """Nobody's decision is never a permission."""
    sent = SENT.get(name, CLAUDE)
    prompt = read_prompt(json.dumps(sent), *name)
    said = [
        answer(prompt, Decided(behavior, words))
        for behavior, words in (("allow", ""), ("deny", WORDS), ("ask", WORDS))
    ]
    expected = ANSWERS[name]
    assert [json.loads(one) if one else None for one in said] == list(expected)
    assert "allow" not in said[2]
    assert bool(said[2]) is (BY_NAME[name].lost is not Lost.NOTHING)


@pytest.mark.parametrize("name", BY_NAME)
def test_a_changed_input_is_sent_only_to_an_agent_that_runs_it(name: tuple[str, str]) -> None:
    """The others would run the original, and the person would have allowed another one."""
    prompt = read_prompt(json.dumps(SENT.get(name, CLAUDE)), *name)
    decided = Decided("allow", "", json.dumps(CHANGED))
    assert can_change(prompt) is (name in CHANGES)
    if name in CHANGES:
        assert json.loads(answer(prompt, decided)) == CHANGES[name]
    else:
        with pytest.raises(ValueError, match="ls"):
            answer(prompt, decided)


@pytest.mark.parametrize(
    ("tool", "text", "action", "changed"),
    [
        ("Bash", {"behavior": "allow"}, "allow", ""),
        ("Bash", {"behavior": "allow", "updatedInput": CLAUDE["tool_input"]}, "allow", ""),
        ("Bash", {"behavior": "allow", "updatedInput": CHANGED}, "change", json.dumps(CHANGED)),
        ("Bash", {"behavior": "deny", "updatedInput": CHANGED}, "deny", ""),
        ("Bash", {"behavior": "ask"}, "hand back", ""),
        ("AskUserQuestion", {"behavior": "allow"}, "answer", ""),
    ],
)
def test_what_a_text_decides_is_named(
    tool: str, text: dict[str, Any], action: str, changed: str
) -> None:
    """And the input that a person changed is the one that runs."""
    prompt = read_prompt(json.dumps({**CLAUDE, "tool_name": tool}), "claude-code")
    decided = decided_in(prompt, json.dumps(text))
    assert decided is not None
    assert (action_of(prompt, decided), decided.changed) == (action, changed)


def test_an_input_that_an_agent_merges_cannot_lose_a_member() -> None:
    """Gemini CLI would run the member that the person took out."""
    given = {**GEMINI, "tool_input": {"command": "ls", "dir": "/"}}
    prompt = read_prompt(json.dumps(given))
    assert can_change(prompt, '{"command": "pwd", "dir": "/"}')
    for changed in ('{"command": "pwd"}', "{}", "{ }"):
        assert not can_change(prompt, changed)
        with pytest.raises(ValueError, match=re.escape(changed)):
            answer(prompt, Decided("allow", "", changed))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "no JSON",
        "[1]",
        "null",
        "{}",
        '{"hook_event_name":"PermissionRequest"}',
        json.dumps({**CLAUDE, "tool_name": ""}),
        json.dumps({**CLAUDE, "tool_input": "rm -rf /"}),
        json.dumps({**CLAUDE, "tool_input": [1]}),
        json.dumps({**CLAUDE, "hook_event_name": "SomethingNew"}),
        "[" * 100_000,
        json.dumps(GEMINI).replace('"cwd"', r'"c\wd"'),
        json.dumps(GEMINI).replace('"command"', r'"c\u12"'),
        json.dumps(GEMINI).replace('"cwd"', '"\\n\0"'),
        json.dumps(CLAUDE)[:-1] + ', "cwd": "/q"}',
    ],
)
def test_what_cannot_be_read_is_shown_raw_and_never_allowed(text: str) -> None:
    """Its whole text is the input; what is safe at the agent's strictest event is the answer."""
    for host in ("", *LABELS):
        prompt = read_prompt(text, host)
        assert prompt.problem
        assert (prompt.tool, prompt.input) == ("", text)
        assert not approval_of_prompt(prompt, text).tool
        assert judge(prompt, '{"behavior": "allow"}', TextForm.DECISION).line is None
        lost = {event.lost for event in EVENTS if event.agent == host}
        said = answer(prompt, Decided("ask", WORDS))
        if Lost.DENY in lost and prompt.event.lost is not Lost.NOTHING:
            assert '"deny"' in said
        assert '"allow"' not in said
        if host:
            assert bool(said) is (prompt.event.lost is not Lost.NOTHING)
        assert bool(host) <= bool(prompt.host)


BRACKETS: Final = "[" * 1000 + "]" * 1000
UNREADABLE: Final = {
    "1,000 brackets": f'{{"x": {BRACKETS}}}',
    "an integer of 4,301 digits": f'{{"x": {"9" * 4301}}}',
    "a name twice": '{"x": 1, "x": 2}',
    "a list": '["rm"]',
    "a number": "7",
    "NaN": '{"x": NaN}',
    "another input in another spelling": '{"x": 1}, "toolInput": {"x": 2}',
    "another tool in another spelling": '{"x": 1}, "toolName": "y"',
}


@pytest.mark.parametrize("name", UNREADABLE)
@pytest.mark.parametrize("event", EVENTS, ids=lambda one: f"{one.agent} {one.name}")
def test_an_input_that_cannot_be_read_leaves_the_event_known(event: HookEvent, name: str) -> None:
    """The model writes the arguments: they switch no denial off."""
    if event.name == "beforeShellExecution":
        text = '{"conversation_id": "c", "hook_event_name": "%s", "command": %s}'
    else:
        text = '{"session_id": "s", "hook_event_name": "%s", "tool_name": "x", "tool_input": %s}'
    for before in ("", "\ufeff"):
        prompt = read_prompt(before + text % (event.name, UNREADABLE[name]), event.agent)
        assert prompt.event is event
        assert prompt.problem
        assert prompt.session
        said = answer(prompt, Decided("ask", WORDS))
        assert bool(said) is (event.lost is not Lost.NOTHING)


@pytest.mark.parametrize("host", LABELS)
@pytest.mark.parametrize("text", ["", "{", '{"hook_event_name": "Pe', "\x00", "[1]"])
def test_who_started_the_hook_says_what_is_safe_where_nothing_can_be_read(
    host: str, text: str
) -> None:
    """An agent that runs the tool after silence at any event hears a denial or a question."""
    said = answer(read_prompt(text, host), Decided("ask", WORDS))
    lost = {event.lost for event in EVENTS if event.agent == host}
    assert bool(said) is (lost != {Lost.NOTHING})
    assert ('"deny"' in said) is (Lost.DENY in lost)


@pytest.mark.parametrize(
    ("prompt", "takes_note"),
    [
        (CLAUDE, True),
        ({**CLAUDE, "hook_event_name": "PreToolUse"}, False),
        ({**CLAUDE, "tool_name": "AskUserQuestion"}, False),
        ({**CLAUDE, "tool_input": None}, False),
        (CODEX, False),
        (GEMINI, False),
        (COPILOT, False),
    ],
)
def test_only_an_agent_that_reads_a_note_beside_its_permission_is_given_one(
    prompt: dict[str, Any], *, takes_note: bool
) -> None:
    """Measured with Claude Code; a question is answered, and has no note."""
    assert read_prompt(json.dumps(prompt)).takes_note is takes_note


@pytest.mark.parametrize(
    ("prompt", "keeps_words"),
    [
        (CLAUDE, True),
        ({**CLAUDE, "agent_id": "a1"}, False),
        ({**CLAUDE, "transcript_path": ""}, False),
        (CODEX, False),
        (GEMINI, False),
    ],
)
def test_only_the_main_agent_of_claude_code_keeps_its_words_in_a_file(
    prompt: dict[str, Any], *, keeps_words: bool
) -> None:
    """Measured with it; its sub-agents write into others."""
    assert read_prompt(json.dumps(prompt)).keeps_words is keeps_words


@pytest.mark.parametrize("text", [json.dumps(CLAUDE), json.dumps(GEMINI), "{", ""])
def test_a_prompt_is_the_same_in_the_transcript(text: str) -> None:
    """Its note says what its text may not; an answer is none."""
    for host, event in (("", ""), ("claude-code", "PermissionRequest"), ("gemini-cli", "")):
        prompt = read_prompt(text, host, event)
        frame = Frame(1, "", Direction.IN, text.encode(), note=note_of(prompt))
        assert prompt_in(frame) == read_prompt(text, prompt.host, prompt.name)
        assert prompt_in(frame._replace(direction=Direction.OUT)) is None
        assert prompt_in(frame._replace(note="")) is None


def test_a_byte_order_mark_alone_is_read_as_without_it() -> None:
    """Cursor on Windows was reported to write one before each prompt."""
    text = json.dumps(SHELL)
    assert read_prompt(f"\ufeff{text}") == read_prompt(text)
    assert not read_prompt(f"\ufeff{text}").problem


@pytest.mark.parametrize("name", SENT)
def test_half_a_surrogate_pair_that_was_typed_is_said_as_an_escape(name: tuple[str, str]) -> None:
    """A terminal gives a byte that is no UTF-8 so: the decision reaches the agent nevertheless."""
    text = json.dumps({"behavior": "deny", "message": "no \udcff"})
    said = judge(read_prompt(json.dumps(SENT[name]), *name), text, TextForm.DECISION).line
    assert said is not None
    assert rb"no \udcff" in said.encode()


def test_a_denial_has_a_reason_also_where_nobody_wrote_one() -> None:
    """Gemini CLI told its model of one without: No reason provided."""
    said = answer(read_prompt(json.dumps(GEMINI)), Decided("ask"))
    assert json.loads(said)["reason"]


def test_what_a_sub_agent_and_a_server_are_called_is_read() -> None:
    """Two servers may have the same tool."""
    prompt = read_prompt(json.dumps({**CLAUDE, "agent_id": "a7", "agent_type": "Explore"}))
    assert (prompt.agent_id, prompt.agent_type, prompt.is_beside) == ("a7", "Explore", None)
    assert read_prompt(json.dumps(CLAUDE)).is_beside
    assert read_prompt(json.dumps({**CURSOR, "mcp_server_name": "wiki"})).server == "wiki"
    gemini = {**GEMINI, "mcp_context": {"server_name": "wiki"}}
    assert read_prompt(json.dumps(gemini)).server == "wiki"


def test_the_command_line_names_what_the_json_does_not() -> None:
    """VS Code sends the shape of Claude Code; without a host that shape is nobody's."""
    nobody = json.dumps({**CLAUDE, "transcript_path": ""})
    assert read_prompt(nobody).problem
    assert not read_prompt(nobody, "claude-code").problem
    prompt = read_prompt(json.dumps({**CLAUDE, "hook_event_name": "PreToolUse"}), "vscode")
    assert prompt.event is BY_NAME["vscode", "PreToolUse"]
    assert read_prompt(json.dumps(COPILOT), "", "preToolUse").name == "preToolUse"


@pytest.mark.parametrize(
    ("more", "fits"),
    [
        ({}, True),
        ({"agent_id": "a7", "agent_type": "Explore"}, True),  # the card says so
        ({"session_id": "other"}, True),  # the list of patterns is that of one session
        ({"cwd": "/etc"}, False),
        ({"hook_event_name": "PreToolUse"}, False),
        ({"mcp_server_name": "wiki"}, False),
    ],
)
def test_a_pattern_fits_where_its_card_says(more: dict[str, str], *, fits: bool) -> None:
    """In the same folder, at the same event, for the same server's tool."""

    def approval(**parts: str) -> Approval:
        text = json.dumps({**CLAUDE, **parts})
        return approval_of_prompt(read_prompt(text, "claude-code"), text)

    for pattern in patterns_for(approval()):
        assert pattern.fits(approval(**more)) is fits
