"""The permission prompts of agents: what comes on stdin, and which JSON each of them understands.

One row for each event of each agent. Measured with Claude Code 2.1.332, Codex 0.171.0, Gemini CLI
0.61.0, Copilot CLI 1.0.102 and Qwen Code 0.24.4; VS Code and Cursor are from their documentation
(https://code.visualstudio.com/docs/agents/reference/hooks-reference, https://cursor.com/docs/hooks).

An answer is JSON on stdout and the exit status 0: the only form that all of them read alike. What
a hook says when nobody decided depends on its event. After a *permission* event the agent asks in
its own dialog, so saying nothing is safe. Before a *tool* most agents run the tool after silence,
so the tool is denied with a sentence. Who started the hook says which agent it is: what cannot be
read is answered by what is safe at the strictest of that agent's events.
"""

from __future__ import annotations

import enum
import json
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from humanmcp.protocol.conversation import questions as asking
from humanmcp.protocol.conversation.approvals import (
    DENIED,
    QUESTION_TOOLS,
    Approval,
    digest_of,
    read_once,
    with_members,
)
from humanmcp.protocol.conversation.transcript import PROMPT, Direction, is_of_prompt
from humanmcp.protocol.diagnostics import kinds
from humanmcp.protocol.diagnostics.model import TextForm, Verdict
from humanmcp.protocol.json.jsonrpc import as_json, closed_at, member, members, parts_of, skip_space
from humanmcp.protocol.json.tree import text_at
from humanmcp.protocol.json.undecoded import is_large

if TYPE_CHECKING:
    from collections.abc import Mapping

    from humanmcp.protocol.conversation.transcript import Frame


class Form(NamedTuple):
    """How an agent wants to be answered: the members of the verdict, the words, a changed input.

    `wraps` lays them out: "" at the top, "output" in `hookSpecificOutput`, "decision" one deeper;
    "input" puts the changed input alone there.
    """

    verdict: str
    words: tuple[str, ...]
    changed: str = ""
    wraps: str = ""


_DECISION: Final = Form("behavior", ("message",), "updatedInput", "decision")
_PERMISSION: Final = Form(
    "permissionDecision", ("permissionDecisionReason",), "updatedInput", "output"
)
_COPILOT_FORM: Final = Form("permissionDecision", ("permissionDecisionReason",), "modifiedArgs")
_GEMINI_FORM: Final = Form("decision", ("reason",), "tool_input", "input")
_BEHAVIOR: Final = Form("behavior", ("message",))
_CURSOR_FORM: Final = Form("permission", ("agent_message", "user_message"))


class Lost(enum.Enum):
    """What is said when nobody decided, the strictest last."""

    NOTHING = "nothing"
    """The agent asks in its own dialog; without a screen it refuses."""
    ASK = "ask"
    """The same, said in words: silence would run the tool."""
    DENY = "deny"


class HookEvent(NamedTuple):
    """One event of one agent. `changes`: the agent runs an input that a person changed.

    `locks`: nobody can type in the agent while the hook waits; None where that was not tried.
    """

    agent: str
    name: str
    form: Form
    lost: Lost
    changes: bool = False
    says_allow: bool = True
    """Whether the agent takes the word *allow*; if not, silence allows."""
    locks: bool | None = True
    tells: bool = False
    """Whether other hooks, written with this one, tell that a tool has run, or a turn ended."""


_CLAUDE: Final = "claude-code"
_CODEX: Final = "codex"
_GEMINI: Final = "gemini-cli"
_COPILOT: Final = "copilot-cli"
_QWEN: Final = "qwen-code"
_VSCODE: Final = "vscode"
_CURSOR: Final = "cursor"
_OPENCODE: Final = "opencode"
OWN: Final = "humanmcp"
"""A test prompt of our own, by which nothing runs."""

EVENTS: Final = (
    HookEvent(
        _CLAUDE, "PermissionRequest", _DECISION, Lost.NOTHING, changes=True, locks=False, tells=True
    ),
    HookEvent(_CLAUDE, "PreToolUse", _PERMISSION, Lost.ASK, changes=True, locks=None, tells=True),
    HookEvent(_CODEX, "PermissionRequest", _DECISION, Lost.NOTHING),
    HookEvent(_CODEX, "PreToolUse", _PERMISSION, Lost.DENY, changes=True, says_allow=False),
    HookEvent(_GEMINI, "BeforeTool", _GEMINI_FORM, Lost.DENY, changes=True),
    HookEvent(_COPILOT, "permissionRequest", _BEHAVIOR, Lost.NOTHING),
    HookEvent(_COPILOT, "preToolUse", _COPILOT_FORM, Lost.DENY, changes=True),
    HookEvent(_QWEN, "PermissionRequest", _DECISION, Lost.NOTHING, changes=True),
    HookEvent(_QWEN, "PreToolUse", _PERMISSION, Lost.DENY),
    HookEvent(_OPENCODE, "permission.asked", _BEHAVIOR, Lost.NOTHING, locks=False),  # to our plugin
    HookEvent(_VSCODE, "PreToolUse", _PERMISSION, Lost.ASK, locks=None),
    HookEvent(_CURSOR, "beforeShellExecution", _CURSOR_FORM, Lost.DENY, locks=None),
    HookEvent(_CURSOR, "beforeMCPExecution", _CURSOR_FORM, Lost.DENY, locks=None),
    HookEvent(OWN, "PermissionRequest", _DECISION, Lost.DENY, locks=None),
)

_UNKNOWN: Final = HookEvent("", "", Form("", ()), Lost.NOTHING, locks=None)
"""That of an agent that nobody named and whose shape is unknown: nothing is printed to it."""

OVER: Final = frozenset({"PostToolUse", "PostToolUseFailure", "postToolUse", "AfterTool"})
"""After one of these a tool has run."""
ENDED: Final = frozenset({"Stop", "SubagentStop", "SessionEnd", "UserPromptSubmit", "sessionEnd"})
"""After one of these an agent waits for nothing that it has asked."""

LABELS: Final[Mapping[str, str]] = {
    _CLAUDE: "Claude Code",
    _CODEX: "Codex",
    _GEMINI: "Gemini CLI",
    _COPILOT: "Copilot CLI",
    _QWEN: "Qwen Code",
    _VSCODE: "VS Code",
    _CURSOR: "Cursor",
    _OPENCODE: "opencode",
    OWN: "humanmcp",
}


class AgentPrompt(NamedTuple):
    """A permission prompt as an agent wrote it. `input` is the JSON of the tool's input as it came.

    `problem` is the code of why the prompt cannot be allowed, or "": then `tool` is "" and `input`
    everything that came, and `event`, unless it could be read, is the strictest of its agent's.
    """

    event: HookEvent
    name: str
    tool: str
    input: str
    session: str = ""
    folder: str = ""
    mode: str = ""
    problem: str = ""
    agent_id: str = ""
    """Which sub-agent of the session asks, "" for the main one; `agent_type` is its kind."""
    agent_type: str = ""
    tool_use_id: str = ""
    server: str = ""
    """The MCP server that the tool belongs to, where the agent says so."""
    transcript: str = ""
    """The file in which the agent keeps its conversation."""
    background: frozenset[str] | None = None
    """The sub-agents that work on after the main one has ended its turn; None where unsaid."""

    @property
    def host(self) -> str:
        return self.event.agent

    @property
    def lost(self) -> str:
        """What happens if nobody decides: "ask" in its own dialog, "deny", or "" if unknown."""
        return "deny" if self.event.lost is Lost.DENY else "ask" if self.host else ""

    @property
    def takes_note(self) -> bool:
        """The agent reads what a person says to it beside an *allow*, once the tool has run.

        Measured with Claude Code 2.1.332: `additionalContext` of its hook PostToolUse; with 2.1.197
        also that of PostToolUseFailure, of a tool that has failed.
        """
        is_claude = self.host == _CLAUDE and self.name == "PermissionRequest"
        return is_claude and not self.problem and self.tool not in QUESTION_TOOLS

    @property
    def is_beside(self) -> bool | None:
        """The agent's own dialog is open as well: whoever answers first decides. None if unknown.

        Claude Code 2.1.332 opens it for a sub-agent that it waits for, and not for one in the
        background. Their prompts look alike.
        """
        if self.event.locks is not False:
            return False
        return None if self.agent_id else True

    @property
    def keeps_words(self) -> bool:
        """The file `transcript` ends in what the agent wrote before it asked.

        Measured with Claude Code 2.1.332, of its main agent.
        """
        return self.host == _CLAUDE and not self.agent_id and bool(self.transcript)

    def __str__(self) -> str:
        """Return the text of a decision record."""
        label = LABELS.get(self.host, "an agent")
        return f"{label}: {self.name}, session {self.session}, {self.folder}"


class Decided(NamedTuple):
    """A decision: "allow", "deny" or "ask", the words for the model, and a changed input or "".

    `note` is what a person says to the agent beside an *allow*: it goes with the tool's result.
    """

    behavior: str
    message: str = ""
    changed: str = ""
    note: str = ""


def read_prompt(text: str, agent: str = "", event: str = "") -> AgentPrompt:
    """Read what came on stdin. `agent` and `event` are those of the command line, if any."""
    parts, problem = _parts(text.removeprefix("\ufeff"))
    given = {name: _small(raw) for name, raw in parts.items()}
    name = event or next(
        (one for key in _EVENT_NAMES if (one := text_at(given, key))),
        "preToolUse" if text_at(given, "sessionId") else "",
    )
    agent = agent or _agent_of(given, name)
    own = [one for one in EVENTS if one.agent == agent]
    known = next((one for one in own if one.name == name), None)
    inputs = {raw for key in _INPUTS if (raw := _input(parts.get(key, "")))}
    tools = {one for key in _TOOLS if (one := text_at(given, key))}
    tool, found = min(tools, default=""), min(inputs, default="")
    if len(tools) > 1 or len(inputs) > 1:  # nothing tells which of them would run
        problem = problem or "twice"
    if name == "beforeShellExecution":
        shown: dict[str, str] = {one: parts[one] for one in ("command", "cwd") if one in parts}
        tool, found = "Shell", with_members("{}", shown)
        problem = problem or ("" if text_at(given, "command") else "shape")
    if not (tool.strip() and found) or (known is None and name not in OVER):
        problem = problem or "shape"
    problem = problem or ("large" if is_large(found) else read_once(found)[1])
    return AgentPrompt(
        known or max(own, key=lambda one: [*Lost].index(one.lost), default=_UNKNOWN),
        name,
        "" if problem else tool,
        text if problem else on_one_line(found),
        text_at(given, "session_id") or text_at(given, "sessionId") or text_at(given, _CURSORS),
        text_at(given, "cwd") or text_at(given, "workspace_roots", 0),
        text_at(given, "permission_mode"),
        problem,
        text_at(given, "agent_id"),
        text_at(given, "agent_type"),
        text_at(given, "tool_use_id") or text_at(given, "tool_call_id"),
        text_at(given, "mcp_server_name") or text_at(given, "mcp_context", "server_name"),
        text_at(given, "transcript_path"),
        _background(given),
    )


_SMALL: Final = 100_000
"""Characters of a member that is decoded by itself: a name, a path, a list of sub-agents."""


def _parts(text: str) -> tuple[dict[str, str], str]:
    """Return the members of a prompt as written, and why it cannot be allowed: a code, or ""."""
    at = skip_space(text, 0)
    if text[at : at + 1] != "{" or text[at:].rstrip()[closed_at(text, at) - at :]:
        return {}, "shape"
    names = [name for name, *_ in members(text)]
    if len(names) != len(set(names)):
        return {}, "twice"
    return parts_of(text), "" if is_large(text) else read_once(text)[1]


def _small(raw: str) -> Any:  # noqa: ANN401 - any JSON value
    """Return the value of a member; None for one that is long or cannot be read."""
    try:
        return json.loads(raw) if len(raw) <= _SMALL else None
    except (ValueError, RecursionError):
        return None


def _background(given: Mapping[str, Any]) -> frozenset[str] | None:
    tasks = given.get("background_tasks")
    return frozenset(text_at(one, "id") for one in tasks) if isinstance(tasks, list) else None


def note_of(prompt: AgentPrompt) -> str:
    """Return the note of the lines of a prompt in the transcript."""
    return f"{PROMPT} {prompt.host or '-'} {prompt.name}".rstrip()


def prompt_in(frame: Frame) -> AgentPrompt | None:
    """Return the prompt that a recorded line is; None for any other line."""
    if frame.direction is not Direction.IN or not is_of_prompt(frame):
        return None
    _, host, *event = frame.note.split(" ", 2)
    return read_prompt(frame.text, host.strip("-"), "".join(event))


def approval_of_prompt(prompt: AgentPrompt, line: str) -> Approval:
    """Return what a prompt, which came as this text, asks a person to allow."""
    text = "" if prompt.problem else prompt.input
    value = read_once(text)[0] if text else {}
    return Approval(
        prompt.tool,
        text,
        value,
        digest_of(line),
        asking.questions_in(value)[0] if prompt.tool in QUESTION_TOOLS else (),
        prompt.problem,
        server=prompt.server,
        place=(prompt.folder, prompt.server, prompt.name),
        is_fixed=not can_change(prompt),
    )


def judge(prompt: AgentPrompt, text: str, form: TextForm) -> Verdict:
    """Check a text that a person sends about a prompt: only a decision is one.

    `line` is what is printed.
    """
    decided = decided_in(prompt, text) if form is TextForm.DECISION else None
    try:
        said = None if decided is None else answer(prompt, decided)
    except ValueError:
        said = None
    if said is None:
        return Verdict(text, None, None, (kinds.no_decision().unplaced(),))
    return Verdict(text, said, said)


def decided_in(prompt: AgentPrompt, text: str) -> Decided | None:
    """Return what a text decides: `{"behavior": "allow", …}`; None if it decides nothing."""
    body, problem = read_once(text)
    behavior = text_at(body, "behavior")
    changed = member(text, "updatedInput") if behavior == "allow" and not problem else None
    if problem or behavior not in ("allow", "deny", "ask") or changed == "null":
        return None
    own = "" if changed in (None, prompt.input) else changed or ""
    return Decided(behavior, text_at(body, "message"), own, text_at(body, "note"))


def action_of(prompt: AgentPrompt, decided: Decided) -> str:
    """Say what was decided (`DecisionRecord.action`)."""
    match decided.behavior:
        case "allow" if prompt.tool in QUESTION_TOOLS:
            return "answer"
        case "allow":
            return "change" if decided.changed else "allow"
        case "deny":
            return "deny"
        case _:
            return "hand back"


def on_one_line(text: str) -> str:
    """Return JSON as one line: none of its strings holds a line break."""
    return text.replace("\n", " ").replace("\r", " ")


_EVENT_NAMES: Final = ("hook_event_name", "hookEventName", "hookName")
_TOOLS: Final = ("tool_name", "toolName")
_INPUTS: Final = ("tool_input", "toolInput", "toolArgs")
_CURSORS: Final = "conversation_id"
_FOLDERS: Final = {"/.claude/": _CLAUDE, "/.codex/": _CODEX, "/.gemini/": _GEMINI, "/.qwen/": _QWEN}


def _agent_of(given: object, name: str) -> str:
    """Return the agent whose shape this is; "" for an unknown one."""
    if text_at(given, "sessionId") and text_at(given, "toolName"):
        return _COPILOT
    if text_at(given, _CURSORS):
        return _CURSOR
    if name == "BeforeTool":
        return _GEMINI
    path = text_at(given, "transcript_path").replace("\\", "/")
    named = (agent for folder, agent in _FOLDERS.items() if folder in path)
    return next(named, _CODEX if text_at(given, "turn_id") else "")


def _input(raw: str) -> str:
    """Return the JSON of an input: an object, or a text that holds one; "" for anything else."""
    if raw.startswith('"'):
        raw = _small(raw) or ""
    return raw if raw.lstrip().startswith("{") else ""


def can_change(prompt: AgentPrompt, text: str = "") -> bool:
    """Return True if the agent runs this input instead of its own; "" for any input at all.

    Gemini CLI merges it into its own, so no member can be left out.
    """
    event = prompt.event
    if not event.changes or event.form.wraps != "input" or not text:
        return event.changes
    return {name for name, *_ in members(prompt.input)} <= {name for name, *_ in members(text)}


def answer(prompt: AgentPrompt, decided: Decided) -> str:
    """Return the JSON for stdout, "" to say nothing. To *ask* is to say what is safe.

    Raises:
        ValueError: it cannot be allowed, or the agent would not run the changed input.
    """
    event, verdict = prompt.event, decided.behavior
    if verdict == "allow" and (prompt.problem or event is _UNKNOWN):
        raise ValueError(prompt.problem)
    if event is _UNKNOWN or (verdict == "ask" and event.lost is Lost.NOTHING):
        return ""
    if decided.changed and not can_change(prompt, decided.changed):
        raise ValueError(decided.changed)
    verdict, form = event.lost.value if verdict == "ask" else verdict, event.form
    changed = decided.changed
    if verdict == "allow" and event.agent == _CLAUDE:
        changed = changed or prompt.input  # it ignores a permission for a question without it
    if verdict == "allow" and not event.says_allow and not changed:
        return "{}"
    said = {form.verdict: as_json(verdict)}
    words = decided.message or ("" if verdict == "allow" else DENIED)
    said |= {name: as_json(words) for name in form.words if words}
    own = {form.changed: changed} if changed else {}
    output = {"hookEventName": as_json(event.name)}
    match form.wraps:
        case "decision":
            output["decision"] = json_object(said | own)
            return json_object({"hookSpecificOutput": json_object(output)})
        case "output":
            return json_object({"hookSpecificOutput": json_object(output | said | own)})
        case "input" if changed:
            return json_object({**said, "hookSpecificOutput": json_object(output | own)})
        case _:
            return json_object(said | own)


def json_object(members: Mapping[str, str]) -> str:
    """Return a JSON object with these members, whose values are JSON.

    JSON escapes stand in for lone surrogates, which UTF-8 cannot hold.
    """
    return with_members("{}", members).encode("utf-8", "backslashreplace").decode()
