"""What a call asks a person to allow or to answer, and the response for each choice.

The answer book says what a tool is for: `kind = "approval"` or `kind = "question"`. The kind is in
the tool's `_meta`, so every front end reads it from the tool list that the client got.

A host sends each permission prompt to a tool for approvals: `{"tool_name": "Bash", "input": {…}}`.
It runs the input of the response `{"behavior": "allow", "updatedInput": {…}}`, or nothing after
`{"behavior": "deny", "message": "…"}`. The allowed input is the text that was shown, never
re-serialised. The questions of the host's own question tool come in the same form; `updatedInput`
then contains the answers.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from humanmcp.protocol.conversation import questions as asking
from humanmcp.protocol.conversation.decisions import sha256
from humanmcp.protocol.conversation.exchange import APPROVAL, QUESTION, kind_of_tool
from humanmcp.protocol.json.jsonrpc import (
    DEEPEST_INCOMING,
    AmbiguousError,
    Kind,
    as_json,
    decode_once,
    deeper_than,
    member,
    members,
    object_in,
    parts_of,
)
from humanmcp.protocol.json.tree import follow, object_at, objects_at, text_at
from humanmcp.protocol.json.undecoded import is_large

if TYPE_CHECKING:
    from collections.abc import Mapping

    from humanmcp.protocol.conversation.exchange import Exchange, NegotiatedState
    from humanmcp.protocol.conversation.questions import AskedQuestion
    from humanmcp.protocol.json.jsonrpc import JsonObject, Message

QUESTION_TOOLS: Final = frozenset({"AskUserQuestion"})
"""Host tools whose permission prompt is a question. An answer to another tool would run it."""
PLAN_TOOL: Final = "ExitPlanMode"
"""A host's tool whose permission approves its plan: with it, the agent leaves its plan mode."""
DENIED: Final = "A person denied this."


def kind_of_input(given: Mapping[str, Any], tool: str = "") -> str:
    """Return what a prompt asks for: `command`, `edit`, `file`, `plan` or `other`."""
    if tool == PLAN_TOOL:
        return "plan"
    if isinstance(given.get("command"), str):
        return "command"
    if edits_in(given):
        return "edit"
    is_file = isinstance(given.get("content"), str) and isinstance(given.get("file_path"), str)
    return "file" if is_file else "other"


def edits_in(given: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return the pairs of old and new texts, or nothing for other members."""
    several = objects_at(given, "edits") if "edits" in given else [dict(given)]
    pairs = [(one.get("old_string"), one.get("new_string")) for one in several]
    found = [(a, b) for a, b in pairs if isinstance(a, str) and isinstance(b, str)]
    plain = "edits" not in given or (
        isinstance(given["edits"], list)
        and len(given["edits"]) == len(several)
        and all(set(one) == {"old_string", "new_string"} for one in several)
        and not {"old_string", "new_string"} & set(given)
    )
    return found if plain and len(found) == len(several) else []


_OF_A_CALL: Final = {"jsonrpc", "id", "method", "params"}


def digest_of(line: str) -> str:
    """Return a digest of the tool and the arguments of a call, exactly as they were written.

    Of anything else it is that of the whole line: of a large call, which can only be denied, and of
    an object with members that no call has, such as the prompt of an agent.
    """
    if is_large(line) or member(line, "method") != '"tools/call"':
        return sha256(line)
    if not {name for name, *_ in members(line)} <= _OF_A_CALL:
        return sha256(line)
    params = member(line, "params") or "{}"
    parts = (member(params, "name") or "", member(params, "arguments") or "")
    return sha256("\0".join(parts))


def differs(shown: str, line: str) -> bool:
    """Return True if the person saw another call. `shown` is the digest of what they saw, or ""."""
    return bool(shown) and shown != digest_of(line)


class Approval(NamedTuple):
    """A tool call that a person is asked to allow. `text` is its input as received.

    `questions` are set if the prompt comes from the host's question tool, or if `kind` is
    `QUESTION`: then the called tool itself asks. `problem` is the code of the sentence that says
    why the call cannot be allowed, or "".

    Of an agent's hook, `server` is the MCP server that the tool belongs to, where that is known;
    `place` its folder, this server and its event. With `is_fixed` the agent runs its own input,
    whatever is allowed in its place.
    """

    tool: str
    text: str
    input: Mapping[str, Any]
    digest: str
    questions: tuple[AskedQuestion, ...] = ()
    problem: str = ""
    kind: str = APPROVAL
    server: str = ""
    place: tuple[str, ...] = ()
    is_fixed: bool = False

    @property
    def is_alone(self) -> bool:
        """True for one question with one answer, or unread ones: the usual text box is enough."""
        if self.kind != QUESTION or self.problem not in ("", *asking.PROBLEMS):
            return False
        return len(self.questions) <= 1 and not any(one.multiple for one in self.questions)


def approval_of(
    line: str, message: Message, tools: Mapping[str, Any] | None, *, held: bool = False
) -> Approval | None:
    """Read what a call asks a person to allow, or its questions; None for any other call.

    With `held`, a tap holds the call: then the call itself needs the permission.
    """
    if message.kind is not Kind.REQUEST or message.method != "tools/call":
        return None
    kind = APPROVAL if held else kind_of_tool(message.params.get("name"), tools)
    if not kind:
        return None
    digest = digest_of(line)
    body, problem = (None, "large") if is_large(line) else read_once(line)
    if problem:
        return Approval("", "", {}, digest, problem=problem, kind=kind)
    if kind == QUESTION:
        return _question_card(line, body, digest)
    steps = ("params",) if held else ("params", "arguments")
    name, given = ("name", "arguments") if held else ("tool_name", "input")
    tool = text_at(body, *steps, name)
    value = follow(body, *steps, given, missing={} if held else None)
    if not tool.strip() or not isinstance(value, dict):
        return Approval("", "", {}, digest, problem="shape")
    may_ask = not held and tool in QUESTION_TOOLS
    questions = asking.questions_in(value)[0] if may_ask else ()
    text = member(line, *steps, given) or "{}"
    return Approval(tool, text, value, digest, questions)


def _question_card(line: str, body: object, digest: str) -> Approval:
    """Read the questions of a call to a question tool."""
    text = member(line, "params", "arguments") or "{}"
    given = object_at(body, "params", "arguments")
    questions, problem = asking.questions_in(given)
    asked = Approval(
        text_at(body, "params", "name"), text, given, digest, questions, problem, QUESTION
    )
    is_large = len(text) > asking.LONGEST and not (asked.questions and asked.is_alone)
    return Approval("", "", {}, digest, problem="large", kind=QUESTION) if is_large else asked


def read_once(text: str) -> tuple[Any, str]:
    """Decode JSON; return the value, or the code of why programs differ in its meaning.

    How deep a text may be differs from Python to Python.
    """
    if deeper_than(text, DEEPEST_INCOMING):
        return None, "shape"
    try:
        return decode_once(text), ""
    except AmbiguousError as error:
        return None, str(error)
    except (ValueError, RecursionError):
        return None, "shape"


# -- what a choice sends -------------------------------------------------------------------------


def allowed(approval: Approval, text: str = "") -> str:
    """Return the answer that allows the call, with another input if `text` is given."""
    return f'{{"behavior": "allow", "updatedInput": {text or approval.text}}}'


def handed_back() -> str:
    """Return the answer that lets the agent ask in its own dialog."""
    return as_json({"behavior": "ask"})


def denied(reason: str) -> str:
    """Return the answer that denies the call; the model reads the reason."""
    return as_json({"behavior": "deny", "message": reason.strip() or DENIED})


def answered(approval: Approval, answers: Mapping[str, tuple[str, ...]]) -> str:
    """Return the answer to the host's questions; several choices become one string."""
    texts = {question: ", ".join(chosen) for question, chosen in answers.items()}
    return allowed(approval, with_members(approval.text, {"answers": as_json(texts)}))


def with_members(text: str, changed: Mapping[str, str]) -> str:
    """Return a JSON object with some members replaced or added; the others stay as written."""
    parts = {**parts_of(text), **changed}
    return f"{{{', '.join(f'{as_json(name)}: {value}' for name, value in parts.items())}}}"


# -- a tool that asks ----------------------------------------------------------------------------


def questions_of(exchange: Exchange, negotiated: NegotiatedState) -> tuple[AskedQuestion, ...]:
    """Return what a call of a tool with `kind = "question"` asks; nothing for any other request."""
    asks = exchange.method == "tools/call"
    if not asks or kind_of_tool(exchange.tool, negotiated.known_tools) != QUESTION:
        return ()
    return asking.questions_in(object_at(exchange.request.params, "arguments"))[0]


def outcome_of_words(
    exchange: Exchange, words: str, negotiated: NegotiatedState
) -> JsonObject | None:
    """Return the outcome for a plain text; None unless the call asks exactly one question.

    Questions that cannot be read are answered together.
    """
    tools, request = negotiated.known_tools, exchange.request
    asked = approval_of(request.raw, request, tools) if words.strip() else None
    if asked is None or asked.kind != QUESTION or len(asked.questions) > 1:
        return None
    if asked.problem in asking.PROBLEMS:
        return asking.answered((), {asking.UNREAD: (words,)})
    questions = asked.questions
    return asking.answered(questions, {questions[0].text: (words,)}) if questions else None


def words_in(result: object) -> str:
    """Return the text of a result without structured data; "" for a tool error."""
    has_data = follow(result, "structuredContent") is not None
    if has_data or follow(result, "isError") is True:
        return ""
    return "\n".join(text_at(one, "text") for one in objects_at(result, "content")).strip()


# -- what was decided ----------------------------------------------------------------------------

_STATUS: Final = {"answered": "answer", "declined": "decline", "no_answer": "no answer"}


def action_of(
    exchange: Exchange, line: str, tools: Mapping[str, Any] | None, *, deliberate: bool = False
) -> str:
    """Say what a response decided (`DecisionRecord.action`). With `deliberate` it has errors."""
    try:
        response: Any = json.loads(line)
    except (ValueError, RecursionError):
        return "fault"
    result = follow(response, "result")
    asked = approval_of(exchange.request.raw, exchange.request, tools)
    content = text_at(result, "content", 0, "text") if asked is not None else ""
    body, problem = read_once(content) if content else (None, "none")
    data = follow(result, "structuredContent", missing=None if problem else body)
    if asked is not None and asked.kind == APPROVAL and not problem:
        match text_at(body, "behavior"):
            case ("deny" | "ask") as behavior:
                return "deny" if behavior == "deny" else "hand back"
            case "allow" if asked.questions:
                return "answer"
            case "allow":
                same = member(content, "updatedInput") in (None, asked.text)
                return "allow" if same else "change"
    status = text_at(data, "status") if asked is not None else ""
    if deliberate:
        return "fault"
    failed = follow(response, "error") is not None or follow(result, "isError") is True
    return "error" if failed else _STATUS.get(status, "answer")


def action_in(record: str) -> str:
    """Return the action of a record, "" without one."""
    return text_at(object_in(record), "action") if record else ""


def permission_in(record: str) -> str:
    """Return what a record says of a permission prompt that came as a call; "" of another one."""
    action = action_in(record)
    return action if action in {"allow", "change", "deny"} else ""
