"""How tools look to a model: names with the server in front, and results as text."""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any, Final

from humanmcp.host.conversation import ImageBlock, TextBlock

if TYPE_CHECKING:
    from collections.abc import Mapping

    from humanmcp.host.conversation import Block

BETWEEN: Final = "__"
LONGEST_NAME: Final = 64
"""What LLM services allow for a tool's name; other characters than these they refuse."""
_FORBIDDEN: Final = re.compile(r"[^A-Za-z0-9_-]")


@dataclass(frozen=True, slots=True)
class ToolAddress:
    """Where an offered name leads: a server, and the name its tool has there."""

    server: str
    tool: str


@dataclass(frozen=True, slots=True)
class ToolFilter:
    """Which tools a model gets: patterns such as `weather__*`, of `server__tool`."""

    allowed: tuple[str, ...] = ()
    """Those only; () for all."""
    denied: tuple[str, ...] = ()

    def lets(self, tool: ToolAddress) -> bool:
        """Return True if a tool is offered."""
        whole = f"{tool.server}{BETWEEN}{tool.tool}"
        names = {whole, _FORBIDDEN.sub("_", whole)}

        def fits(patterns: tuple[str, ...]) -> bool:
            return any(fnmatchcase(name, pattern) for name in names for pattern in patterns)

        return (not self.allowed or fits(self.allowed)) and not fits(self.denied)


class NoToolError(LookupError):
    """A name leads nowhere."""

    def __init__(self, name: str, why: str) -> None:
        super().__init__(name, why)
        self.name = name
        self.why = why

    def __str__(self) -> str:
        """Say so, for the model to read."""
        return f"Error calling tool {self.name}: {self.why}"


def offered_name(server: str, tool: str, taken: Mapping[str, ToolAddress]) -> str:
    """Return `server__tool` in characters that LLM services allow, and as no other is called."""
    plain = _FORBIDDEN.sub("_", f"{server}{BETWEEN}{tool}")
    if len(plain) <= LONGEST_NAME and plain not in taken:
        return plain
    mark = hashlib.sha256(f"{server}{BETWEEN}{tool}".encode()).hexdigest()[:8]
    return f"{plain[: LONGEST_NAME - 9]}_{mark}"


def text_of(result: Mapping[str, Any]) -> str:
    """Return what a model reads of a tool's result: its text items, joined with one space."""
    content = result.get("content")
    parts = [_item(item) for item in content] if isinstance(content, list) else []
    if not any(parts) and "structuredContent" in result:
        return json.dumps(result["structuredContent"], ensure_ascii=False)
    return " ".join(part for part in parts if part).strip()


PICTURES: Final = frozenset({"image/gif", "image/jpeg", "image/png", "image/webp"})
"""What LLM services take."""


def images_of(result: Mapping[str, Any]) -> tuple[ImageBlock, ...]:
    """Return the pictures of a tool's result, as far as LLM services take them."""
    content = result.get("content")
    listed = content if isinstance(content, list) else []
    return tuple(one for one in map(_image, listed) if one is not None)


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
        case _:
            return ""
