"""What a model is asked, as a person reads it: who said what, which tools were called and offered.

Pure: the line of a `sampling/createMessage` goes in, values for the template come out. Nothing of
it is trusted: a part that is not what MCP wants is shown as the JSON that came. Text from the wire
is made visible here (`protocol/json/jsonrpc.py`) and escaped by the template.
"""

from __future__ import annotations

import enum
import shlex
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from typing import TYPE_CHECKING, Any, ClassVar, Final, NamedTuple, TypeAlias

from humanmcp.answering import service
from humanmcp.answering.case import CONVERSATION, read_line
from humanmcp.common.timestamps import seconds_of
from humanmcp.desk.presenters import rows
from humanmcp.desk.presenters.rendering import (
    Shown,
    WrittenNumber,
    decoded,
    is_text,
    shown,
    written,
)
from humanmcp.export.markdown import fenced
from humanmcp.inbox.contract import Action, Draft
from humanmcp.protocol.diagnostics.model import TextForm
from humanmcp.protocol.json import jsonrpc
from humanmcp.protocol.json.jsonrpc import Message, one_line
from humanmcp.protocol.json.tree import array_at, follow, object_at, pretty
from humanmcp.protocol.rules.book_writer import plain_text
from humanmcp.protocol.validation import held as held_check

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from humanmcp.answering.case import Case
    from humanmcp.desk.presenters.rows import Field, Step
    from humanmcp.inbox.contract import Item
    from humanmcp.protocol.validation.held import HeldMessage

_ANSWERS: Final = ("result", "error")
MOST_COMPARED: Final = 3000
"""Lines of a message, laid out, that are compared with another."""


@dataclass(frozen=True, slots=True)
class Pair:
    """A row: a request with its answer, or a line by itself.

    `state` is "" for what is no request. `times` counts pings that one row stands for.
    `before` is the line to compare with: of the last row that asked the same.
    """

    step: Step
    answer: Step | None = None
    state: str = ""
    times: int = 1
    before: str = ""

    @property
    def took(self) -> float | None:
        """Seconds until the answer."""
        if self.answer is None:
            return None
        return max(0.0, seconds_of(self.answer.at) - seconds_of(self.step.at))

    @property
    def compared(self) -> str:
        """The line that is compared with those before: the answer where there is one."""
        return place(self.answer or self.step)


def place(step: Step) -> str:
    """Name a line: its session and its number there."""
    return f"{step.session}/{step.seq}" if step.seq else ""


def pairs(steps: Iterable[Step]) -> list[Pair]:
    """Put each answer to its request, by its id, and the pings of a session into one row."""
    found: list[Pair] = []
    asked: dict[tuple[str, str, bool], int] = {}
    pings: dict[str, int] = {}
    for step in steps:
        if step.kind in _ANSWERS:
            at = asked.pop((step.session, step.id, not step.inwards), None)
            if at is not None:
                found[at] = replace(found[at], answer=step, state=answered_state(step))
                continue
        elif step.kind == "request":
            if step.word == "ping" and step.session in pings:
                at = pings[step.session]
                found[at] = replace(found[at], times=found[at].times + 1)
                asked[step.session, step.id, step.inwards] = at
                continue
            pings |= {step.session: len(found)} if step.word == "ping" else {}
            asked[step.session, step.id, step.inwards] = len(found)
        found.append(Pair(step, state="pending" if step.kind == "request" else ""))
    return _by_number(found)


def _by_number(found: list[Pair]) -> list[Pair]:
    """Put an answer that was sent under another id on purpose to the request that it was for."""
    open_ones: dict[tuple[str, int, bool], int] = {}
    rows: list[Pair] = []
    for one in found:
        step = one.step
        at = None
        if step.number and one.state == "pending":
            open_ones[step.session, step.number, step.inwards] = len(rows)
        elif step.number and step.kind in _ANSWERS:
            at = open_ones.pop((step.session, step.number, not step.inwards), None)
        if at is None:
            rows.append(one)
        else:
            rows[at] = replace(rows[at], answer=step, state=answered_state(step))
    return rows


def answered_state(answer: Step) -> str:
    """Return the state of a request that has this answer."""
    return "error" if answer.kind == "error" or answer.failed else "answered"


def compared(found: Iterable[Pair]) -> list[Pair]:
    """Name for each row the last one before it that asked the same, oldest first."""
    last: dict[tuple[str, str], str] = {}
    rows = []
    for one in found:
        what = (one.step.word, one.step.name)
        rows.append(replace(one, before=last.get(what, "")) if one.state else one)
        if one.state and one.compared:
            last[what] = one.compared
    return rows


def difference(before: str, now: str) -> Iterator[tuple[str, str]]:
    """Yield the lines of two texts: `same`, `gone` or `new`, and the line."""
    old, new = (text.split("\n")[:MOST_COMPARED] for text in (before, now))
    for tag, a, b, c, d in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if tag == "equal":
            yield from (("same", line) for line in old[a:b])
        else:
            yield from (("gone", line) for line in old[a:b])
            yield from (("new", line) for line in new[c:d])


# -- what may be copied ---------------------------------------------------------------------------


def body_of(line: str) -> Draft | None:
    """Return an answer without its envelope: its text alone where it is one text for a model."""
    found = read_line(line)
    if not isinstance(found, Message):
        return None
    error, result = jsonrpc.member(line, "error"), jsonrpc.member(line, "result")
    plain = plain_text(found.body.get("result"))
    if plain is not None:
        return Draft(plain.text, plain.form)
    if error is not None:
        return Draft(error, TextForm.ERROR)
    return None if result is None else Draft(result, TextForm.RESULT)


def copies(line: str) -> list[tuple[str, str]]:
    """List the ways to write a line elsewhere: as it was, laid out, as a command, as Markdown."""
    laid_out = pretty(line)
    found = [("line", line), ("pretty", laid_out)]
    draft = body_of(line)
    if draft is not None:
        found.append(("command", _command(draft)))
    return [*found, ("markdown", "\n".join(fenced(laid_out)))]


def _command(draft: Draft) -> str:
    """Write the command that answers so."""
    flags = {TextForm.TEXT: "--text", TextForm.TOOL_ERROR: "--tool-error"}
    if draft.form in flags:
        return f"humanmcp answer {flags[draft.form]} {shlex.quote(draft.text)}"
    whole = f'{{"{draft.form.value}":{draft.text}}}' if draft.form is TextForm.ERROR else draft.text
    flag = "--message" if draft.form is TextForm.ERROR else "--result"
    return f"humanmcp answer {flag} - <<'JSON'\n{pretty(whole)}\nJSON"


MOST: Final = 40
"""Tools, and parameters of one tool, that are shown."""
_NAME: Final = 80
_ABOUT: Final = 600


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter of a tool. `type` is its type or what may be chosen, "" for anything."""

    name: str
    type: str
    needed: bool
    about: Shown


@dataclass(frozen=True, slots=True)
class Offered:
    """A tool that the model may call. `more` counts the parameters that are not shown."""

    name: str
    about: Shown
    parameters: tuple[Parameter, ...]
    more: int = 0
    unread: Shown | None = None
    """The JSON of what stands among the tools and is none."""


def offered(tool: Any) -> Offered:  # noqa: ANN401 - it came over a wire
    """Read one of the tools."""
    if not isinstance(tool, dict) or not is_text(tool.get("name")):
        return Offered("", Shown(""), (), unread=shown(written(tool)))
    schema = object_at(tool, "inputSchema")
    properties, needed = object_at(schema, "properties"), array_at(schema, "required")
    return Offered(
        one_line(tool["name"], _NAME),
        _about(tool),
        tuple(
            _parameter(name, schema, needed=name in needed)
            for name, schema in list(properties.items())[:MOST]
        ),
        max(0, len(properties) - MOST),
    )


def _parameter(name: str, schema: Any, *, needed: bool) -> Parameter:  # noqa: ANN401 - it came over a wire
    facts = object_at(schema)
    kinds = facts.get("enum", facts.get("type"))
    several = kinds if isinstance(kinds, list) else [kinds]
    kind = " | ".join(
        one if is_text(one) else written(one) for one in several[:MOST] if one is not None
    )
    return Parameter(one_line(name, _NAME), one_line(kind, _NAME), needed, _about(facts))


def _about(facts: Mapping[str, Any]) -> Shown:
    words = facts.get("description")
    return shown(words, _ABOUT) if is_text(words) else Shown("")


METHOD: Final = "sampling/createMessage"
ASKED: Final = "elicitation/create"
MOST_TURNS: Final = 100
"""Turns that are shown, the newest: what was said last is what is to be answered."""
RECENT: Final = 8
"""Turns that stand open; those before them are one click away."""
MOST_PARTS: Final = 40
"""Parts of one turn, and of one result, that are shown."""
MOST_CHARACTERS: Final = 200_000
"""Characters of all turns together: a page that a phone can hold."""


class Speaker(enum.Enum):
    """Whose turn it is."""

    USER = "user"
    MODEL = "model"
    TOOL = "tool"
    OTHER = "other"
    """A role that MCP does not know; the turn has it as it came."""


@dataclass(frozen=True, slots=True)
class ModelText:
    """Words."""

    kind: ClassVar[str] = "text"
    text: str
    cut: int = 0
    """Characters that are not shown; 0 when all of them are."""


@dataclass(frozen=True, slots=True)
class ModelToolCall:
    """The call of a tool: its name, and its arguments as `city: "東京", days: 3`."""

    kind: ClassVar[str] = "call"
    tool: str
    text: str
    cut: int = 0


@dataclass(frozen=True, slots=True)
class ModelToolResult:
    """What a tool answered. `tool` is its name; the id of the call where no call is known."""

    kind: ClassVar[str] = "result"
    tool: str
    failed: bool
    parts: tuple[Part, ...]
    more: int = 0


@dataclass(frozen=True, slots=True)
class Thing:
    """What is no text: a picture, a sound, a file. `size` counts bytes; None for unknown."""

    kind: ClassVar[str] = "thing"
    what: str
    about: str
    size: int | None


@dataclass(frozen=True, slots=True)
class Unread:
    """JSON that has no other words, as it came. `name` is the member it stands in, "" for none."""

    kind: ClassVar[str] = "unread"
    text: str
    cut: int = 0
    name: str = ""


Part: TypeAlias = ModelText | ModelToolCall | ModelToolResult | Thing | Unread


@dataclass(frozen=True, slots=True)
class ModelTurn:
    """What one of them said. `more` counts the parts that are not shown."""

    speaker: Speaker
    role: str
    parts: tuple[Part, ...]
    more: int = 0


@dataclass(frozen=True, slots=True)
class ModelConversation:
    """All that a model is given to answer."""

    system: ModelText | None
    earlier: tuple[ModelTurn, ...]
    recent: tuple[ModelTurn, ...]
    left_out: int
    """Turns before those, which are not shown."""
    tools: tuple[Offered, ...]
    more_tools: int
    covered: frozenset[str]
    """The parameters that all this stands for; the others are still to be listed."""


def conversation_of(item: Item) -> ModelConversation | None:
    """Read what a model is asked; None when this is no such request, or has no list of messages."""
    if item.method not in (METHOD, ASKED) or item.asked:  # an answer has no conversation in it
        return None
    params = _params(item.line)
    said = params.get("messages") if item.method == METHOD else _beside(params)
    if not isinstance(said, list):
        return None
    system, tools = params.get("systemPrompt"), params.get("tools")
    turns = _turns(said)
    listed = tools if isinstance(tools, list) else []
    read = {"messages": True, "systemPrompt": is_text(system), "tools": isinstance(tools, list)}
    return ModelConversation(
        system=ModelText(*shown(system)) if is_text(system) and system else None,
        earlier=turns[:-RECENT],
        recent=turns[-RECENT:],
        left_out=len(said) - len(turns),
        tools=tuple(map(offered, listed[:MOST])),
        more_tools=max(0, len(listed) - MOST),
        covered=frozenset(name for name, it_is in read.items() if it_is),
    )


def _beside(params: Mapping[str, Any]) -> Any:  # noqa: ANN401 - it came over a wire
    """Return what was said at a table of ours before its host was asked."""
    return follow(params.get("_meta"), CONVERSATION)


@dataclass(frozen=True, slots=True)
class UserAsked:
    """What a server, or a table's host, asks its user: the words, and what the form shows."""

    question: str
    covered: frozenset[str] = frozenset(("message", "requestedSchema", "mode"))


def user_asked(item: Item) -> UserAsked | None:
    """Read what a user is asked to fill in; None for anything else."""
    if item.method != ASKED or item.asked:
        return None
    params = _params(item.line)
    words, mode = params.get("message"), params.get("mode", "form")
    schema = isinstance(params.get("requestedSchema"), dict)
    return UserAsked(words) if is_text(words) and mode == "form" and schema else None


def tool_result(text: str) -> ModelToolResult | None:
    """Read the result of a tool, as JSON; None when it is none."""
    found = decoded(text)
    content = follow(found, "content")
    return _result(found, content, {}) if isinstance(content, list) else None


def _params(line: str) -> dict[str, Any]:
    """Decode the parameters, numbers as they were written; empty where the line is no request."""
    if not isinstance(read_line(line), Message):
        return {}
    return object_at(decoded(jsonrpc.member(line, "params") or "{}"))


# -- who said what --------------------------------------------------------------------------------


def _turns(said: Sequence[Any]) -> tuple[ModelTurn, ...]:
    """Read the newest turns, as many as a page can hold, the oldest of them first."""
    names = _names_of_calls(said)
    turns: list[ModelTurn] = []
    characters = 0
    for message in reversed(said[-MOST_TURNS:]):
        turn = _turn(message, names)
        characters += sum(map(_length, turn.parts))
        if turns and characters > MOST_CHARACTERS:
            break
        turns.append(turn)
    return tuple(reversed(turns))


def _length(part: Part) -> int:
    match part:
        case ModelText(text) | Unread(text) | ModelToolCall(text=text):
            return len(text)
        case ModelToolResult(parts=parts):
            return sum(map(_length, parts))
        case Thing():
            return 0


def _turn(message: Any, names: Mapping[str, str]) -> ModelTurn:  # noqa: ANN401 - it came over a wire
    if not isinstance(message, dict) or "content" not in message:
        return ModelTurn(Speaker.OTHER, "", (_unread(message),))
    content = _blocks(message["content"])
    parts = tuple(_part(block, names) for block in content[:MOST_PARTS])
    role = _role(message)
    match role:
        case "user" if parts and all(isinstance(part, ModelToolResult) for part in parts):
            speaker = Speaker.TOOL  # MCP has no role for tools: their results come as the user's
        case "user":
            speaker = Speaker.USER
        case "assistant":
            speaker = Speaker.MODEL
        case _:
            speaker = Speaker.OTHER
    return ModelTurn(speaker, role, parts, max(0, len(content) - MOST_PARTS))


def _role(message: Mapping[str, Any]) -> str:
    role = message.get("role")
    return one_line(role, _NAME) if is_text(role) else ""


def _blocks(content: Any) -> list[Any]:  # noqa: ANN401 - it came over a wire
    """List the blocks of a content: since 2025-11-25 it may be one block or a list of them."""
    return content if isinstance(content, list) else [content]


def _names_of_calls(said: Sequence[Any]) -> dict[str, str]:
    """Return which tool each call named, by the id of the call."""
    return {
        block["id"]: block["name"]
        for block in _all_blocks(said)
        if block.get("type") == "tool_use"
        and is_text(block.get("id"))
        and is_text(block.get("name"))
    }


def _all_blocks(said: Sequence[Any]) -> Iterator[dict[str, Any]]:
    for message in said:
        if isinstance(message, dict):
            for block in _blocks(message.get("content")):
                if isinstance(block, dict):
                    yield block


def _part(block: Any, names: Mapping[str, str]) -> Part:  # noqa: ANN401 - it came over a wire
    match block:
        case {"type": "text", "text": str(text)} if is_text(text):
            return ModelText(*shown(text))
        case {"type": "tool_use", "name": str(name)} if is_text(name):
            return ModelToolCall(one_line(name, _NAME), *shown(_arguments(block.get("input", {}))))
        case {"type": "tool_result", "content": list(content)}:
            return _result(block, content, names)
        case {"type": "text" | "tool_use" | "tool_result"}:
            return _unread(block)
        case {"type": str(kind)} if is_text(kind):
            return _thing(kind, block)
        case _:
            return _unread(block)


def _result(
    block: Mapping[str, Any], content: list[Any], names: Mapping[str, str]
) -> ModelToolResult:
    call = block.get("toolUseId")
    tool = names.get(call, call) if is_text(call) else ""
    # A result in a result is none of MCP's: it is shown as it came, and nothing nests further.
    parts = [
        _unread(one)
        if isinstance(one, dict) and one.get("type") == "tool_result"
        else _part(one, {})
        for one in content[:MOST_PARTS]
    ]
    if "structuredContent" in block:
        parts.append(_unread(block["structuredContent"], "structuredContent"))
    return ModelToolResult(
        one_line(tool, _NAME),
        block.get("isError") is True,
        tuple(parts),
        max(0, len(content) - MOST_PARTS),
    )


def _thing(kind: str, block: Mapping[str, Any]) -> Thing:
    """Name what is no text: by its type, what it says of itself, and its size."""
    inner = block.get("resource")
    held = inner if isinstance(inner, dict) else block
    words = (held.get("uri"), held.get("name"), held.get("mimeType"))
    about = " · ".join(one_line(word, _NAME) for word in words if is_text(word))
    size = _declared(held.get("size")) if kind == "resource_link" else _size(held)
    return Thing(one_line(kind, _NAME), about, size)


def _size(held: Mapping[str, Any]) -> int:
    for name in ("data", "blob"):
        base64 = held.get(name)
        if is_text(base64):
            return len(base64.rstrip("=")) * 3 // 4  # four characters are three bytes
    text = held.get("text")
    return len((text if is_text(text) else written(held)).encode("utf-8", "surrogatepass"))


def _declared(size: object) -> int | None:
    """Read the size that a link declares: a whole number, and not one of a thousand digits."""
    if not isinstance(size, WrittenNumber):
        return None
    digits = str(size)
    return int(digits) if digits.isdigit() and len(digits) < _NAME else None


def _unread(value: Any, name: str = "") -> Unread:  # noqa: ANN401 - any JSON value
    return Unread(*shown(written(value)), name)


def _arguments(given: Any) -> str:  # noqa: ANN401 - it came over a wire
    if not isinstance(given, dict):
        return written(given)
    return ", ".join(f"{name}: {written(value)}" for name, value in given.items())


class Task(enum.StrEnum):
    """What a person does on the page of an exchange."""

    NOTHING = ""
    """Nothing yet: a held message is let go, dropped, or one of the others is chosen."""
    CHANGE = "change"
    ANSWER = "answer"


def task_of(case: Case, wanted: str) -> Task:
    """Choose the task: the one that was asked for, else the one that a draft was begun for."""
    held, draft = case.held, case.item.draft
    if held is None:
        return Task.ANSWER
    answerable = held.question is not None
    if (wanted == Task.CHANGE and not case.is_large) or (wanted == Task.ANSWER and answerable):
        return Task(wanted)
    if draft is None or not draft.touched:
        return Task.NOTHING
    return _task_of(held, draft)


def _task_of(held: HeldMessage, draft: Draft) -> Task:
    meant = draft.action is Action.ANSWER
    answers = held_check.answers(held, draft.text, draft.form, answer=meant)
    return Task.ANSWER if answers and held.question is not None else Task.CHANGE


def action_of(case: Case, task: Task) -> Action:
    """Return what becomes of a held message when the text of a task is sent."""
    held = case.held is not None
    return Action.ANSWER if held and task is Task.ANSWER else Action.FORWARD


def goes_on(case: Case, task: Task) -> bool:
    """Return True if what is written goes on in the place of a message that is no answer."""
    return task is Task.CHANGE and not case.item.asked


def draft_of(case: Case, task: Task, language: str) -> Draft:
    """Return what a person has written for a task, or what they start from.

    The draft is what they wrote last; what they had written for the other task was put aside.
    """
    held, item = case.held, case.item
    if held is None:
        return service.draft_of(case, language)
    if item.draft is not None and item.draft.touched:
        for one in (item.draft, *reversed(item.kept)):
            if _task_of(held, one) is task:
                return one
    on = task is Task.ANSWER
    return service.starting_draft(case, language) if on else service.as_it_came(case)


class HeldAnswer(NamedTuple):
    """An answer that a tap holds: what was asked, and the answer, to be read."""

    asked: tuple[Field, ...]
    result: ModelToolResult | None
    """What a tool said."""
    members: tuple[Field, ...]
    """The members of any other result, or of an error."""


def answer_of(case: Case) -> HeldAnswer | None:
    """Read a held answer; None for anything else."""
    item = case.outlined
    if case.held is None or not item.asked:
        return None
    asked = item._replace(line=item.asked)
    for member in ("result", "error"):
        text = jsonrpc.member(item.line, member)
        if text is not None:
            result = tool_result(text) if member == "result" else None
            others = () if result else rows.members(text)
            return HeldAnswer(rows.fields(asked), result, others)
    return HeldAnswer(rows.fields(asked), None, ())
