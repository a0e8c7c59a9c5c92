"""A turn in a model's place: whether it calls tools that were offered, rightly, each by its own id.

MCP 2025-11-25, sampling: `tools` are what the model may call, and a `tool_result` names its call
by the `id` of the `tool_use`.
https://modelcontextprotocol.io/specification/2025-11-25/client/sampling
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from humanmcp.protocol.diagnostics.raw import (
    RawDiagnostic,
    SchemaDiagnostic,
    quoted,
    replace_with,
    shown,
)
from humanmcp.protocol.json.similar import alike
from humanmcp.protocol.validation.json_schema import validator
from humanmcp.protocol.validation.rules.registry import rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from humanmcp.protocol.conversation.exchange import Exchange
    from humanmcp.protocol.diagnostics.raw import Path
    from humanmcp.protocol.json.jsonrpc import Json, JsonObject
    from humanmcp.protocol.validation.rules.registry import JudgedAnswer

TEXT_ONLY: Final = "humanmcp host"
"""The client whose conversation with a model holds text and calls of tools, and nothing else."""
_HELD: Final = frozenset({"text", "tool_use"})


class ToolNotOffered(RawDiagnostic, code="M95"):
    """The server cannot call it."""

    tool: str
    tools: str


class InputUnfit(SchemaDiagnostic, code="M96"):
    """The server refuses the call."""

    tool: str


class IdTaken(RawDiagnostic, code="M97"):
    """The result of a call names it by its id."""

    id: str


class NeitherTextNorCall(RawDiagnostic, code="M98"):
    """This host would leave it out."""

    kind: str


@rule("sampling/createMessage")
def calls_of_a_turn(answer: JudgedAnswer) -> Iterator[RawDiagnostic]:
    """Each call names a tool that was offered, fits it, and has an id of its own."""
    taken = _ids_before(answer.exchange)
    for block, at in _blocks(answer.value.get("content"), answer.at("content")):
        if block.get("type") == "tool_use":
            yield from _call(answer.exchange, block, at)
            yield from _own_id(block.get("id"), taken, at)


@rule("sampling/createMessage")
def text_and_calls_only(answer: JudgedAnswer) -> Iterator[RawDiagnostic]:
    """The host of ours takes text and calls from its model, and nothing else."""
    if answer.established.client_name != TEXT_ONLY:
        return
    for block, at in _blocks(answer.value.get("content"), answer.at("content")):
        kind = block.get("type")
        if isinstance(kind, str) and kind not in _HELD:
            yield NeitherTextNorCall((*at, "type"), kind=shown(kind))


def _blocks(content: Json, path: Path) -> Iterator[tuple[JsonObject, Path]]:
    """List the blocks of a turn: one, or a list of them."""
    if isinstance(content, dict):
        yield content, path
    for at, block in enumerate(content if isinstance(content, list) else ()):
        if isinstance(block, dict):
            yield block, (*path, at)


def _ids_before(exchange: Exchange) -> set[str]:
    """Return the ids of the calls that were made earlier in the conversation."""
    listed = exchange.request.params.get("messages")
    messages = [one for one in listed if isinstance(one, dict)] if isinstance(listed, list) else []
    return {
        block["id"]
        for one in messages
        for block, _at in _blocks(one.get("content"), ())
        if block.get("type") == "tool_use" and isinstance(block.get("id"), str)
    }


def _call(exchange: Exchange, block: JsonObject, path: Path) -> list[RawDiagnostic]:
    """A call names a tool that was offered, and fits what that tool takes."""
    name, given = block.get("name"), block.get("input", {})
    if not isinstance(name, str):
        return []
    listed = exchange.request.params.get("tools")
    offered = {
        tool["name"]: tool
        for tool in (listed if isinstance(listed, list) else ())
        if isinstance(tool, dict) and isinstance(tool.get("name"), str)
    }
    if name not in offered:
        meant = alike(name, list(offered))
        fix = replace_with((*path, "name"), meant) if meant else None
        tools = shown(", ".join(offered)) or "-"
        return [ToolNotOffered((*path, "name"), fix, tool=quoted(name), tools=tools)]
    at = (*path, "input")
    differences, missed = validator.compare(given, offered[name].get("inputSchema"))
    if not differences:
        return validator.unchecked_at(at, missed)
    inside, rule = differences[0]
    return [InputUnfit((*at, *inside), tool=quoted(name), broken=rule)]


def _own_id(own: Json, taken: set[str], path: Path) -> list[RawDiagnostic]:
    """No two calls have the same id. Remembers this one."""
    if not isinstance(own, str):
        return []
    if own not in taken:
        taken.add(own)
        return []
    free = next(
        f"{own}-{number}" for number in range(2, len(taken) + 3) if f"{own}-{number}" not in taken
    )
    taken.add(free)
    at = (*path, "id")
    return [IdTaken(at, replace_with(at, free), id=quoted(own))]
