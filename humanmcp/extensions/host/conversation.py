"""What a host and a model say to each other: turns, made of text, tool calls and their results.

The written form is the one that LLM services use (`tool_use`, `tool_result`, `input_schema`); on
the wire of MCP nothing of it appears.
"""

from __future__ import annotations

import enum
import hashlib
import json
import re
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any, Final, Self, TypeAlias, assert_never

from humanmcp.answering.schema import TypedDict
from humanmcp.locales.stop import StopError
from humanmcp.protocol.json.tree import array_at

if TYPE_CHECKING:
    from collections.abc import Mapping


class TurnRole(enum.StrEnum):
    """Who speaks."""

    SYSTEM = "system"
    USER = "user"
    """The person at the host; tool results are handed to the model in their name."""
    ASSISTANT = "assistant"


@dataclass(frozen=True, slots=True)
class TextBlock:
    """Something said."""

    text: str


@dataclass(frozen=True, slots=True)
class ImageBlock:
    """A picture, in base64."""

    mime: str
    data: str


@dataclass(frozen=True, slots=True)
class ToolUse:
    """The model asks for a tool, by the name that it was offered under.

    `malformed` is the text of arguments that are not a JSON object, as the model wrote it.
    """

    id: str
    name: str
    input: Mapping[str, Any] = field(default_factory=dict)
    malformed: str = ""


@dataclass(frozen=True, slots=True)
class ToolResult:
    """What became of one tool call, as the model reads it; `text` names its pictures too."""

    id: str
    text: str
    is_error: bool = False
    images: tuple[ImageBlock, ...] = ()


Block: TypeAlias = TextBlock | ImageBlock | ToolUse | ToolResult


class StopReason(enum.Enum):
    """Why a model's turn ended, where that is worth telling."""

    DONE = "done"
    LENGTH = "length"
    """It reached its limit of tokens: what it said is cut off."""
    FILTER = "filter"
    """The service would not let it go on."""


@dataclass(frozen=True, slots=True)
class Turn:
    """One message of the conversation."""

    role: TurnRole
    blocks: tuple[Block, ...]
    stop: StopReason = StopReason.DONE

    @property
    def text(self) -> str:
        """What is said in it, without the calls."""
        return "\n".join(block.text for block in self.blocks if isinstance(block, TextBlock))

    @property
    def calls(self) -> tuple[ToolUse, ...]:
        return tuple(block for block in self.blocks if isinstance(block, ToolUse))


@dataclass(frozen=True, slots=True)
class ModelTool:
    """A tool as the model sees it: `server__tool`."""

    name: str
    description: str
    schema: Mapping[str, Any]


class ModelError(StopError):
    """The model did not take its turn. The words of a service are quoted."""

    section = "model"

    @classmethod
    def quoting(cls, why: str) -> Self:
        """Quote a service, or a person, in words without any key."""
        return cls("quoted", why=why)


OVERLOADED: Final = "overloaded_error"
"""The error of a service without room, by its name at Anthropic."""


class OverloadedError(ModelError):
    """The service has no room at the moment: it is worth trying again."""


class TurnShape(TypedDict):
    """A turn of a conversation with a model, in the common form of model services."""

    role: TurnRole
    content: list[dict[str, Any]]


def written(turn: Turn) -> TurnShape:
    """Write a turn as JSON."""
    return {"role": turn.role, "content": list(map(written_block, turn.blocks))}


def written_block(block: Block) -> dict[str, Any]:
    match block:
        case TextBlock(text):
            return {"type": "text", "text": text}
        case ImageBlock(mime, data):
            source = {"type": "base64", "media_type": mime, "data": data}
            return {"type": "image", "source": source}
        case ToolUse(call, name, given):
            return {"type": "tool_use", "id": call, "name": name, "input": dict(given)}
        case ToolResult(call, text, is_error, images):
            wrong = {"is_error": True} if is_error else {}
            parts = [written_block(TextBlock(text)), *map(written_block, images)]
            content = parts if images else text
            return {"type": "tool_result", "tool_use_id": call, "content": content, **wrong}
        case impossible:
            assert_never(impossible)


def tool_written(tool: ModelTool) -> dict[str, Any]:
    """Write a tool as JSON. `input_schema` is the LLM services' name for it."""
    return {"name": tool.name, "description": tool.description, "input_schema": dict(tool.schema)}


def blocks_of(content: Any, number: int = 1) -> tuple[Block, ...]:  # noqa: ANN401 - any JSON value
    """Read the blocks of a model's turn: text, a block, or a list of blocks.

    Both spellings of a result's members are read: the LLM services' and that of MCP's sampling.
    A call without an id gets one that holds `number`.

    Raises:
        ModelError: it is none of these.
    """
    if isinstance(content, str):
        return (TextBlock(content),)
    parts = content if isinstance(content, list) else [content]
    return tuple(_block(part, f"call-{number}-{at}") for at, part in enumerate(parts, 1))


def _block(part: Any, own_id: str) -> Block:  # noqa: ANN401 - any JSON value
    match part:
        case {"type": "text", "text": str(text)}:
            return TextBlock(text)
        case {"type": "tool_use", "name": str(name)}:
            given = part.get("input", {})
            if not isinstance(given, dict):
                raise ModelError("no input", name=name)
            call = part.get("id")
            return ToolUse(call if isinstance(call, str) and call else own_id, name, given)
        case {"type": str(kind)}:
            raise ModelError("no such block", kind=kind)
        case _:
            raise ModelError("no block")


BETWEEN: Final = "__"
LONGEST_NAME: Final = 64
"""What LLM services allow for a tool's name; other characters than these they refuse."""
_FORBIDDEN: Final = re.compile(r"[^A-Za-z0-9_-]")


@dataclass(frozen=True, slots=True)
class ToolAddress:
    """Where a name leads that the model has: a server, and the name its tool has there."""

    server: str
    tool: str


@dataclass(frozen=True, slots=True)
class ToolFilter:
    """Which tools a model gets: patterns such as `weather__*`, of `server__tool`."""

    allowed: tuple[str, ...] = ()
    """Those only; () for all."""
    denied: tuple[str, ...] = ()

    def lets(self, tool: ToolAddress) -> bool:
        whole = f"{tool.server}{BETWEEN}{tool.tool}"
        names = {whole, _FORBIDDEN.sub("_", whole)}

        def fits(patterns: tuple[str, ...]) -> bool:
            return any(fnmatchcase(name, pattern) for name in names for pattern in patterns)

        return (not self.allowed or fits(self.allowed)) and not fits(self.denied)


class NoToolError(LookupError):
    """A name leads nowhere. Its text says why, for the model to read."""


def name_for_model(server: str, tool: str, taken: Mapping[str, ToolAddress]) -> str:
    """Return `server__tool` in characters that LLM services allow, and as no other is called."""
    plain = _FORBIDDEN.sub("_", f"{server}{BETWEEN}{tool}")
    if len(plain) <= LONGEST_NAME and plain not in taken:
        return plain
    mark = hashlib.sha256(f"{server}{BETWEEN}{tool}".encode()).hexdigest()[:8]
    return f"{plain[: LONGEST_NAME - 9]}_{mark}"


def text_of(result: Mapping[str, Any]) -> str:
    """Return what a model reads of a tool's result: its text items, joined with one space.

    What is not as MCP has it is read as JSON: nothing of it is lost.
    """
    parts = [_item(item) for item in array_at(result, "content")]
    if not any(parts) and "structuredContent" in result:
        return json.dumps(result["structuredContent"], ensure_ascii=False)
    if not isinstance(result.get("content"), list):
        return json.dumps(result, ensure_ascii=False)
    return " ".join(part for part in parts if part).strip()


PICTURES: Final = frozenset({"image/gif", "image/jpeg", "image/png", "image/webp"})
"""What LLM services take."""


def images_of(result: Mapping[str, Any]) -> tuple[ImageBlock, ...]:
    """Return the pictures of a tool's result, as far as LLM services take them."""
    return tuple(one for one in map(_image, array_at(result, "content")) if one is not None)


def blocks_heard(content: Any) -> tuple[Block, ...]:  # noqa: ANN401 - any JSON value
    """Return what a server says in a message: text, pictures, and of all else what it is."""
    parts = content if isinstance(content, list) else [content]
    return tuple(_image(part) or TextBlock(_item(part)) for part in parts)


def _image(item: Any) -> ImageBlock | None:  # noqa: ANN401 - any JSON value
    match item:
        case {"type": "image", "mimeType": str(mime), "data": str(data)} if mime in PICTURES:
            return ImageBlock(mime, data)
        case _:
            return None


def _item(item: Any) -> str:  # noqa: ANN401 - any JSON value
    match item:
        case {"type": "text", "text": str(text)}:
            return text.strip()
        case {"type": "image" | "audio" as kind, "mimeType": str(mime)}:
            return f"[{kind}: {mime}]"
        case {"type": "resource", "resource": {"text": str(text)}}:
            return text.strip()
        case {"type": "resource", "resource": {"uri": str(uri)}} | {
            "type": "resource_link",
            "uri": str(uri),
        }:
            return f"[resource: {uri}]"
        case {"type": "image" | "audio" as kind}:
            return f"[{kind}]"
        case _:
            return json.dumps(item, ensure_ascii=False)
