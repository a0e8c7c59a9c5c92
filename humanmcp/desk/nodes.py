"""Turn received JSON into a tree of nodes, which the macros of `nodes.html` show.

It trusts nothing in a message: a part that is not valid MCP is shown as JSON. Invisible characters
are replaced here (`protocol/json/visible.py`), and the templates escape the text.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from humanmcp.answering.open_exchange import CONVERSATION, read_line
from humanmcp.desk.rendering import WrittenNumber, decoded, is_text, shown, written
from humanmcp.protocol.json import jsonrpc
from humanmcp.protocol.json.jsonrpc import Message
from humanmcp.protocol.json.tree import array_at, follow, object_at, objects_at
from humanmcp.protocol.json.visible import one_line
from humanmcp.protocol.tables import methods

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from humanmcp.answering.open_exchange import OpenExchange
    from humanmcp.inbox.contract import Item

MOST: Final = 100
"""The maximum number of nodes in a node."""
DEEPEST: Final = 5
"""The maximum depth of a value that becomes a table."""
ON_ONE_LINE: Final = 60
"""The maximum length of an object or list that is shown on one line, in characters."""
MOST_CHARACTERS: Final = 200_000
"""The maximum length of all turns together, in characters: a page that a phone can show."""
SAMPLING: Final = "sampling/createMessage"
ELICITATION: Final = "elicitation/create"
_NAME: Final = 80
_BARE: Final = frozenset(
    {"type", "$schema", "title", "description", "properties", "required", "additionalProperties"}
)
"""The members of a schema that may name no parameter."""


@dataclass(frozen=True, slots=True)
class Node:
    """A piece of a message. `cut` counts the characters of `text` that are not shown.

    | kind | what it is | `type` |
    | --- | --- | --- |
    | value | any JSON, with what its schema says `about` it | its JSON type |
    | words, raw | text; JSON that is not what MCP wants | |
    | media | an image, a sound, a file, with its `size` in bytes | |
    | call, result | the call of a tool, what the tool answered | `failed` |
    | turn | what one side of a conversation said | the speaker |
    | tool, parameter | a tool, and each of its parameters | of a parameter its JSON type |
    | more | `size` nodes that are not shown | |
    """

    kind: str
    text: str = ""
    cut: int = 0
    name: str = ""
    type: str = ""
    about: str = ""
    children: tuple[Node, ...] = ()
    size: int | None = None
    required: bool = False

    @property
    def length(self) -> int:
        """The number of characters that it shows."""
        return len(self.text) + sum(one.length for one in self.children)


def _limited(nodes: Iterable[Node], count: int, most: int = MOST) -> tuple[Node, ...]:
    """Return the first nodes, and a node with the number of the others."""
    more = (Node("more", size=count - most),) if count > most else ()
    return (*islice(nodes, most), *more)


# -- any value -----------------------------------------------------------------------------------


def arguments(item: Item, schema: Any = None) -> tuple[Node, ...]:  # noqa: ANN401 - it came over a wire
    """Return what was requested: the arguments of a call, or the parameters of another request.

    `schema` is their declared schema.
    """
    text = jsonrpc.member(item.line, "params") or "{}"
    member = methods.of(item.method).arguments
    return members((jsonrpc.member(text, member) or "{}") if member else text, schema)


def members(text: str, schema: Any = None) -> tuple[Node, ...]:  # noqa: ANN401 - as above
    """Return the members of a JSON object, also repeated ones. Numbers stay as written."""
    spans = list(jsonrpc.members(text))
    pairs = ((name, decoded(text[start:end])) for name, start, end in spans)
    return _members(pairs, len(spans), schema, 1)


def value(found: Any, name: str = "", schema: Any = None, depth: int = 1) -> Node:  # noqa: ANN401 - as above
    """Return the node of any value; with inner nodes if it does not fit on one line."""
    text = found if is_text(found) else written(found)
    children: tuple[Node, ...] = ()
    if isinstance(found, dict) and depth <= DEEPEST:
        children = _members(found.items(), len(found), schema, depth + 1)
    elif isinstance(found, list) and depth <= DEEPEST:
        items = follow(schema, "items")
        nodes = (value(one, str(at), items, depth + 1) for at, one in enumerate(found, 1))
        children = _limited(nodes, len(found))
    long = len(text) > ON_ONE_LINE or any(one.children or one.about for one in children)
    return Node(
        "value",
        *shown(text),
        name=one_line(name, _NAME),
        type="number" if isinstance(found, WrittenNumber) else jsonrpc.json_type(found),
        about=_about(schema),
        children=children if long else (),
    )


def _members(
    pairs: Iterable[tuple[str, Any]], count: int, schema: object, depth: int
) -> tuple[Node, ...]:
    declared = object_at(schema, "properties")
    nodes = (
        value(found, name, declared.get(name), depth) for name, found in pairs if name != "_meta"
    )
    return _limited(nodes, count)


def _about(schema: object) -> str:
    words = follow(schema, "description")
    return shown(words).text if is_text(words) else ""


# -- content -------------------------------------------------------------------------------------


def tool_result(text: str) -> Node | None:
    """Return the node of a tool result in JSON; None if it is not one."""
    found = decoded(text)
    return _result(found, {}) if isinstance(follow(found, "content"), list) else None


def _content(content: Any, names: Mapping[str, str]) -> tuple[Node, ...]:  # noqa: ANN401 - it came over a wire
    blocks = _blocks(content)
    return _limited((_block(one, names) for one in blocks), len(blocks))


def _blocks(content: Any) -> list[Any]:  # noqa: ANN401 - it came over a wire
    """Return the blocks of a content: since 2025-11-25 it may be one block or a list of them."""
    return content if isinstance(content, list) else [content]


def _block(block: Any, names: Mapping[str, str]) -> Node:  # noqa: ANN401 - it came over a wire
    match block:
        case {"type": "text", "text": str(text)} if is_text(text):
            return Node("words", *shown(text))
        case {"type": "tool_use", "name": str(name)} if is_text(name):
            given = block.get("input", {})
            pairs = given.items() if isinstance(given, dict) else ()
            text = ", ".join(f"{one}: {written(part)}" for one, part in pairs)
            text = text if isinstance(given, dict) else written(given)
            return Node("call", *shown(text), name=one_line(name, _NAME))
        case {"type": "tool_result", "content": list()}:
            return _result(block, names)
        case {"type": "text" | "tool_use" | "tool_result"}:
            return _raw(block)
        case {"type": str(kind)} if is_text(kind):
            return _media(kind, block)
        case _:
            return _raw(block)


def _raw(found: Any, name: str = "") -> Node:  # noqa: ANN401 - any JSON value
    return Node("raw", *shown(written(found)), name=name)


def _result(block: Mapping[str, Any], names: Mapping[str, str]) -> Node:
    """Return the node of a tool result. A result inside a result is shown as JSON."""
    call = block.get("toolUseId")
    tool = names.get(call, call) if is_text(call) else ""
    content = block["content"]
    nested = (
        _raw(one) if follow(one, "type") == "tool_result" else _block(one, {}) for one in content
    )
    children = _limited(nested, len(content))
    if "structuredContent" in block:
        children += (_raw(block["structuredContent"], "structuredContent"),)
    failed = "failed" if block.get("isError") is True else ""
    return Node("result", name=one_line(tool, _NAME), type=failed, children=children)


def _media(kind: str, block: Mapping[str, Any]) -> Node:
    """Return the node of content other than text: its type, its own description, and its size."""
    inner = block.get("resource")
    held = inner if isinstance(inner, dict) else block
    words = (held.get("uri"), held.get("name"), held.get("mimeType"))
    about = " · ".join(one_line(word, _NAME) for word in words if is_text(word))
    size = _declared(held.get("size")) if kind == "resource_link" else _size(held)
    return Node("media", about, name=one_line(kind, _NAME), size=size)


def _size(held: Mapping[str, Any]) -> int:
    for name in ("data", "blob"):
        base64 = held.get(name)
        if is_text(base64):
            return len(base64.rstrip("=")) * 3 // 4  # four characters encode three bytes
    text = held.get("text")
    return len((text if is_text(text) else written(held)).encode("utf-8", "surrogatepass"))


def _declared(size: object) -> int | None:
    """Return the size that a link declares, if it is an integer of reasonable length."""
    digits = str(size) if isinstance(size, WrittenNumber) else ""
    return int(digits) if digits.isdigit() and len(digits) < _NAME else None


# -- a conversation with a model -----------------------------------------------------------------


class Conversation(NamedTuple):
    """The request to a model. `left_out` earlier turns are not shown."""

    system: Node | None
    turns: tuple[Node, ...]
    left_out: int
    tools: tuple[Node, ...]
    tool_count: int
    covered: frozenset[str]
    """The parameters that it shows; the others must still be listed."""


def conversation_of(item: Item) -> Conversation | None:
    """Return the conversation in a request to a model; None for other requests.

    A person in the role of the host gets the earlier conversation in `_meta`.
    """
    if (
        item.method not in (SAMPLING, ELICITATION) or item.held.asked
    ):  # a response has no conversation
        return None
    params = _params(item.line)
    said = follow(params, *(["messages"] if item.method == SAMPLING else ["_meta", CONVERSATION]))
    if not isinstance(said, list):
        return None
    system, tools = params.get("systemPrompt"), params.get("tools")
    listed, turns = array_at(tools), _turns(said)
    read = {"messages": True, "systemPrompt": is_text(system), "tools": isinstance(tools, list)}
    return Conversation(
        Node("words", *shown(system)) if is_text(system) and system else None,
        turns,
        len(said) - len(turns),
        _limited(map(tool, listed), len(listed)),
        len(listed),
        frozenset(name for name, is_shown in read.items() if is_shown),
    )


def user_question(item: Item) -> str:
    """Return the question of a form for a user; "" for other requests."""
    if item.method != ELICITATION or item.held.asked:
        return ""
    params = _params(item.line)
    is_form = params.get("mode", "form") == "form" and "requestedSchema" in params
    words = params.get("message")
    return words if is_form and is_text(words) and object_at(params, "requestedSchema") else ""


def _params(line: str) -> dict[str, Any]:
    """Return the parameters, with numbers as written; {} if the line is not a request."""
    if not isinstance(read_line(line), Message):
        return {}
    return object_at(decoded(jsonrpc.member(line, "params") or "{}"))


def _turns(said: Sequence[Any]) -> tuple[Node, ...]:
    """Return the newest turns, as many as fit on a page, oldest first."""
    names = {
        block["id"]: block["name"]
        for message in said
        for block in objects_at(_blocks(follow(message, "content")))
        if block.get("type") == "tool_use" and is_text(block.get("id"))
        if is_text(block.get("name"))
    }
    turns: list[Node] = []
    characters = 0
    for message in reversed(said[-MOST:]):
        turn = _turn(message, names)
        characters += turn.length
        if turns and characters > MOST_CHARACTERS:
            break
        turns.append(turn)
    return tuple(reversed(turns))


def _turn(message: Any, names: Mapping[str, str]) -> Node:  # noqa: ANN401 - it came over a wire
    """Return the node of a message. MCP has no role for tools: their results have the user's."""
    if not isinstance(message, dict) or "content" not in message:
        return Node("turn", type="other", children=(_raw(message),))
    children, role = _content(message["content"], names), message.get("role")
    speaker = {"user": "user", "assistant": "model"}.get(str(role), "other")
    if speaker == "user" and children and all(one.kind == "result" for one in children):
        speaker = "tool"
    named = one_line(role, _NAME) if is_text(role) else ""
    return Node("turn", name=named, type=speaker, children=children)


def tool(found: Any) -> Node:  # noqa: ANN401 - it came over a wire
    """Return the node of a tool or another named entry, as a model or a user sees it."""
    if not is_text(follow(found, "name")):
        return _raw(found)
    schema = object_at(found, "inputSchema")
    properties, needed = object_at(schema, "properties"), array_at(schema, "required")
    nodes = (
        Node(
            "parameter",
            name=one_line(name, _NAME),
            type=one_line(_type(part), _NAME),
            about=_about(part),
            required=name in needed,
        )
        for name, part in properties.items()
    )
    children = _limited(nodes, len(properties))
    if not children and not _takes_nothing(found.get("inputSchema")):
        children = (_raw(found["inputSchema"], "inputSchema"),)
    name = one_line(found["name"], _NAME)
    return Node("tool", name=name, about=_about(found), children=children)


def _takes_nothing(schema: Any) -> bool:  # noqa: ANN401 - it came over a wire
    """Return True if a schema names no parameters in any way; others are shown as they are."""
    if not isinstance(schema, dict):
        return schema is None
    others = schema.get("additionalProperties")
    return schema.keys() <= _BARE and not (schema.get("properties") or isinstance(others, dict))


def _type(part: object) -> str:
    """Return the type of a parameter, or its allowed values; "" for any value."""
    kinds = follow(part, "enum", missing=follow(part, "type"))
    several = kinds if isinstance(kinds, list) else [kinds]
    return " | ".join(
        one if is_text(one) else written(one) for one in several[:MOST] if one is not None
    )


# -- an answer -----------------------------------------------------------------------------------


def held_answer(opened: OpenExchange) -> tuple[tuple[Node, ...], tuple[Node, ...]] | None:
    """Return a held response: the nodes of the request, and of the response; None for others."""
    item = opened.outlined
    if opened.held is None or not item.held.asked:
        return None
    answer: tuple[Node, ...] = ()
    result, error = (jsonrpc.member(item.line, member) for member in ("result", "error"))
    if result is not None:
        read = tool_result(result)
        answer = members(result) if read is None else (read,)
    elif error is not None:
        answer = members(error)
    return arguments(item._replace(line=item.held.asked)), answer


_CARDS: Final = {
    "initialize": ("agreed", ""),
    "server/discover": ("agreed", ""),
    "prompts/get": ("prompt", "messages"),
    "resources/read": ("contents", "contents"),
    SAMPLING: ("sampled", ""),
    ELICITATION: ("elicited", ""),
}
"""The headline of a response, and its important list, by method."""
_NAMES: Final = ("role", "uri", "uriTemplate", "name")
_WORDS: Final = ("content", "text", "description", "title", "name", "mimeType")
MOST_ROWS: Final = 12
"""The maximum number of rows on a projector."""


def answer_card(method: str, line: str) -> Node | None:
    """Return the important part of a response for a projector; `type` is the headline."""
    member = "result" if jsonrpc.member(line, "error") is None else "error"
    found = decoded(jsonrpc.member(line, member) or "null")
    listing = methods.of(method).listing
    kind, name = ("definition", listing.member) if listing else _CARDS.get(method, ("other", ""))
    if member == "error":
        kind, name = "error", ""
    pairs: list[tuple[Any, Any]] = [pair for pair in object_at(found).items() if pair[0] != "_meta"]
    if name:
        pairs = [(_first(one, _NAMES), _first(one, _WORDS, one)) for one in array_at(found, name)]
    rows = (Node("value", *shown(_brief(said)), name=_brief(one)) for one, said in pairs)
    children = _limited(rows, len(pairs), MOST_ROWS)
    return Node("card", type=kind, children=children) if children else None


def _first(entry: object, names: Iterable[str], missing: object = "") -> object:
    found = entry if isinstance(entry, dict) else {}
    return next((found[name] for name in names if name in found), missing)


def _brief(found: object) -> str:
    """Return a value in a few words: the text of a content block, the names of capabilities."""
    match found:
        case {"text": str(text)} if is_text(text):
            return text
        case {"name": str(name), "version": str(version)}:
            return f"{name} {version}"
        case {**inner} if inner and all(isinstance(one, dict) for one in inner.values()):
            return ", ".join(map(str, inner))
        case [dict() as only]:
            return _brief(only)
    return found if is_text(found) else written(found)
