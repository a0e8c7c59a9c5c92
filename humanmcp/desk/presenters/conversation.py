"""What a model is asked, as a person reads it: who said what, which tools were called and offered.

Pure: the line of a `sampling/createMessage` goes in, values for the template come out. Nothing of
it is trusted: a part that is not what MCP wants is shown as the JSON that came. Text from the wire
is made visible here (`protocol/json/escaping.py`) and escaped by the template.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Final, TypeAlias

from humanmcp.answering.case import CONVERSATION, read_line
from humanmcp.desk.presenters import tools as tool_cards
from humanmcp.desk.presenters.readable_json import WrittenNumber, decoded, is_text, shown, written
from humanmcp.protocol.json import jsonrpc
from humanmcp.protocol.json.escaping import one_line
from humanmcp.protocol.json.jsonrpc import Message
from humanmcp.protocol.json.tree import follow, object_at

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from humanmcp.desk.presenters.tools import Offered
    from humanmcp.inbox.contract import Item

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
_NAME: Final = 80


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
        tools=tuple(map(tool_cards.offered, listed[: tool_cards.MOST])),
        more_tools=max(0, len(listed) - tool_cards.MOST),
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
