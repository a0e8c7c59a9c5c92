"""The hooks of agents as data: what comes on stdin, and which JSON each of them understands.

One row for each event of each agent. Measured with Claude Code 2.1.332, Codex 0.171.0, Gemini CLI
0.61.0, Copilot CLI 1.0.102 and Qwen Code 0.24.4; VS Code and Cursor are from their documentation
(https://code.visualstudio.com/docs/agents/reference/hooks-reference, https://cursor.com/docs/hooks).

An answer is JSON on stdout and the exit status 0: the only form that all of them read alike. What
a hook says when nobody decided depends on its event. After a *permission* event the agent asks in
its own dialog, so saying nothing is safe. Before a *tool* most agents run the tool after silence,
so the tool is denied with a sentence.
"""

from __future__ import annotations

import enum
import json
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from humanmcp.protocol.conversation.approvals import with_members
from humanmcp.protocol.json.jsonrpc import as_json, member, members
from humanmcp.protocol.json.tree import follow, text_at

if TYPE_CHECKING:
    from collections.abc import Mapping


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
    """What is said when nobody decided."""

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


_CLAUDE: Final = "claude-code"
_CODEX: Final = "codex"
_GEMINI: Final = "gemini-cli"
_COPILOT: Final = "copilot-cli"
_QWEN: Final = "qwen-code"
_VSCODE: Final = "vscode"
_CURSOR: Final = "cursor"
_OPENCODE: Final = "opencode"

EVENTS: Final = (
    HookEvent(_CLAUDE, "PermissionRequest", _DECISION, Lost.NOTHING, changes=True, locks=False),
    HookEvent(_CLAUDE, "PreToolUse", _PERMISSION, Lost.ASK, changes=True, locks=None),
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
)

OVER: Final = frozenset({"PostToolUse", "PostToolUseFailure", "postToolUse", "AfterTool"})
"""After one of these a tool has run: what asked for the same is decided."""
ENDED: Final = frozenset({"Stop", "SessionEnd", "UserPromptSubmit", "sessionEnd"})
"""After one of these nothing that the session asked is waited for any more."""

LABELS: Final[Mapping[str, str]] = {
    _CLAUDE: "Claude Code",
    _CODEX: "Codex",
    _GEMINI: "Gemini CLI",
    _COPILOT: "Copilot CLI",
    _QWEN: "Qwen Code",
    _VSCODE: "VS Code",
    _CURSOR: "Cursor",
    _OPENCODE: "opencode",
}


class HookPrompt(NamedTuple):
    """What a hook was asked. `input` is the JSON of the tool's input as it came, on one line.

    `event` is None for an unknown shape: then `tool` is "" and `input` everything that came.
    """

    event: HookEvent | None
    name: str
    tool: str
    input: str
    session: str = ""
    folder: str = ""
    mode: str = ""


class Decided(NamedTuple):
    """A decision: "allow", "deny" or "ask", the words for the model, and a changed input or ""."""

    behavior: str
    message: str = ""
    changed: str = ""


def read_prompt(text: str, agent: str = "", event: str = "") -> HookPrompt:
    """Read what came on stdin. `agent` and `event` are those of the command line, if any."""
    try:
        given: Any = json.loads(text)
    except (ValueError, RecursionError):
        given = None
    name = event or next(
        (one for key in _EVENT_NAMES if (one := text_at(given, key))),
        "preToolUse" if text_at(given, "sessionId") else "",
    )
    agent = agent or _agent_of(given, name)
    known = next((one for one in EVENTS if (one.agent, one.name) == (agent, name)), None)
    tool = text_at(given, "tool_name") or text_at(given, "toolName")
    found = next((raw for key in _INPUTS if (raw := _input(text, given, key))), None)
    if known is not None and known.name == "beforeShellExecution":
        tool, found = "Shell", _only(text, "command", "cwd")
    if not tool.strip() or (known is None and name not in OVER):
        found = None
    return HookPrompt(
        None if found is None else known,
        name,
        "" if found is None else tool,
        text if found is None else on_one_line(found),
        text_at(given, "session_id") or text_at(given, "sessionId") or text_at(given, _CURSORS),
        text_at(given, "cwd"),
        text_at(given, "permission_mode"),
    )


def on_one_line(text: str) -> str:
    """Return JSON as one line: none of its strings holds a line break."""
    return text.replace("\n", " ").replace("\r", " ")


_EVENT_NAMES: Final = ("hook_event_name", "hookEventName", "hookName")
_INPUTS: Final = ("tool_input", "toolInput", "toolArgs")
_CURSORS: Final = "conversation_id"
_FOLDERS: Final[Mapping[str, str]] = {
    "/.claude/": _CLAUDE,
    "/.codex/": _CODEX,
    "/.gemini/": _GEMINI,
    "/.qwen/": _QWEN,
}


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


def _input(text: str, given: object, key: str) -> str | None:
    """Return the JSON of an input: an object, or a text that holds one."""
    value = follow(given, key)
    if isinstance(value, str):
        try:
            return value if isinstance(json.loads(value), dict) else None
        except (ValueError, RecursionError):
            return None
    return member(text, key) if isinstance(value, dict) else None


def _only(text: str, *names: str) -> str:
    return json_object({one: raw for one in names if (raw := member(text, one))})


def can_change(prompt: HookPrompt, text: str = "{}") -> bool:
    """Return True if the agent runs this input instead of its own.

    Gemini CLI merges it into its own, so no member can be left out.
    """
    event = prompt.event
    if event is None or not event.changes:
        return False
    if event.form.wraps != "input" or text == "{}":
        return True
    return {name for name, *_ in members(prompt.input)} <= {name for name, *_ in members(text)}


def answer(prompt: HookPrompt, decided: Decided) -> str:
    """Return the JSON for stdout, "" to say nothing. To *ask* is to say what is safe.

    Raises:
        ValueError: the agent would not run the changed input.
    """
    event, verdict = prompt.event, decided.behavior
    if event is None or (verdict == "ask" and event.lost is Lost.NOTHING):
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
    said |= {name: as_json(decided.message) for name in form.words if decided.message}
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
    """Return a JSON object with these members, whose values are JSON."""
    return with_members("{}", members)
