"""Rules for the answers of a model to the requests of a server."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from humanmcp.protocol.conversation.state import by_name
from humanmcp.protocol.diagnostics import kinds
from humanmcp.protocol.diagnostics.problem import quoted, replace_with, shown
from humanmcp.protocol.json.spelling import alike
from humanmcp.protocol.json.tree import array_at, follow, objects_at
from humanmcp.protocol.validation.json_schema import validator
from humanmcp.protocol.validation.rules.registry import rule

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from humanmcp.protocol.conversation.exchange import Exchange
    from humanmcp.protocol.diagnostics.problem import Path, RawDiagnostic
    from humanmcp.protocol.json.jsonrpc import Json, JsonObject
    from humanmcp.protocol.validation.rules.registry import JudgedAnswer

TEXT_ONLY: Final = "humanmcp host"
"""The client whose conversation with a model only contains text and tool calls."""
_HELD: Final = frozenset({"text", "tool_use"})


@rule("sampling/createMessage")
def calls_of_a_turn(answer: JudgedAnswer) -> Iterator[RawDiagnostic]:
    """Check that each tool call of a model names an offered tool, fits it, and has a unique id."""
    taken = _ids_before(answer.exchange)
    for block, at in _blocks(answer.value.get("content"), answer.at("content")):
        if block.get("type") == "tool_use":
            yield from _call(answer.exchange, block, at)
            yield from _own_id(block.get("id"), taken, at)


@rule("sampling/createMessage")
def choice_of_the_server(answer: JudgedAnswer) -> Iterator[RawDiagnostic]:
    """Check that a model calls a tool if it must, and none if it must not.

    `required`: "Model MUST use at least one tool before completing"; `none`: "Model MUST NOT use
    any tools".
    https://modelcontextprotocol.io/specification/2025-11-25/client/sampling#tool-choice-modes
    """
    mode = follow(answer.exchange.request.params, "toolChoice", "mode")
    blocks = list(_blocks(answer.value.get("content"), answer.at("content")))
    calls = [at for block, at in blocks if block.get("type") == "tool_use"]
    if mode == "required" and blocks and not calls:
        yield kinds.missing_tool_call(answer.at("content"))
    elif mode == "none" and calls:
        yield kinds.forbidden_tool_call((*calls[0], "type"))


@rule("sampling/createMessage")
def text_and_calls_only(answer: JudgedAnswer) -> Iterator[RawDiagnostic]:
    """Check that a model answers our own host with text and tool calls only."""
    if answer.negotiated.client_name != TEXT_ONLY:
        return
    for block, at in _blocks(answer.value.get("content"), answer.at("content")):
        kind = block.get("type")
        if isinstance(kind, str) and kind not in _HELD:
            yield kinds.unsupported_model_content((*at, "type"), kind=shown(kind))


_STOP_REASONS: Final = {
    **dict.fromkeys(("tool_use", "tool_calls"), "toolUse"),
    **dict.fromkeys(("end_turn", "stop"), "endTurn"),
    **dict.fromkeys(("max_tokens", "length"), "maxTokens"),
    "stop_sequence": "stopSequence",
}
"""What the APIs of Claude and OpenAI call a reason that has a name in MCP."""


@rule("sampling/createMessage")
def stop_reason_of_mcp(answer: JudgedAnswer) -> Iterator[RawDiagnostic]:
    """Check that a reason to stop has MCP's name: servers look for `toolUse`.

    https://modelcontextprotocol.io/specification/2025-11-25/schema#createmessageresult
    """
    typed, at = answer.value.get("stopReason"), answer.at("stopReason")
    if isinstance(typed, str) and typed in _STOP_REASONS:
        named = _STOP_REASONS[typed]
        yield kinds.foreign_stop_reason(at, replace_with(at, named), typed=typed, name=named)


def tool_results_of_turns(messages: Json, path: Path) -> Iterator[RawDiagnostic]:
    """Check that the results of tools follow their calls, in a message of their own.

    "it **MUST** contain ONLY tool results" and "every assistant message containing `ToolUseContent`
    blocks **MUST** be followed by a user message that consists entirely of `ToolResultContent`
    blocks, with each tool use (e.g. with `id: $id`) matched by a corresponding tool result"
    https://modelcontextprotocol.io/specification/2025-11-25/client/sampling#message-content-constraints
    """
    called: set[str] = set()
    for index, turn in enumerate(array_at(messages)):
        at = (*path, index, "content")
        blocks = list(_blocks(follow(turn, "content"), at))
        results = _ids_in(blocks, "tool_result", "toolUseId")
        if called != results:
            ids = ", ".join(map(quoted, sorted(called ^ results)))
            yield kinds.unbalanced_tool_results(at, ids=ids)
        elif results and any(one.get("type") != "tool_result" for one, _at in blocks):
            yield kinds.mixed_tool_results(at)
        called = _ids_in(blocks, "tool_use", "id")
    if called:
        ids = ", ".join(map(quoted, sorted(called)))
        yield kinds.unbalanced_tool_results(path, ids=ids)


def _blocks(content: Json, path: Path) -> Iterator[tuple[JsonObject, Path]]:
    """Yield the content blocks of a turn: one, or a list of them."""
    if isinstance(content, dict):
        yield content, path
    for at, block in enumerate(array_at(content)):
        if isinstance(block, dict):
            yield block, (*path, at)


def _ids_in(blocks: Iterable[tuple[JsonObject, Path]], kind: str, member: str) -> set[str]:
    """Return the ids in the content blocks of one kind."""
    ids = (block.get(member) for block, _at in blocks if block.get("type") == kind)
    return {one for one in ids if isinstance(one, str)}


def _ids_before(exchange: Exchange) -> set[str]:
    """Return the ids of the earlier tool calls in the conversation."""
    messages = objects_at(exchange.request.params, "messages")
    blocks = (block for one in messages for block in _blocks(one.get("content"), ()))
    return _ids_in(blocks, "tool_use", "id")


def _call(exchange: Exchange, block: JsonObject, path: Path) -> list[RawDiagnostic]:
    """Check that a tool call names an offered tool, and fits its schema."""
    name, given = block.get("name"), block.get("input", {})
    if not isinstance(name, str):
        return []
    offered = by_name(exchange.request.params.get("tools"))
    if name not in offered:
        meant = alike(name, list(offered))
        fix = replace_with((*path, "name"), meant) if meant else None
        tools = shown(", ".join(offered)) or "-"
        return [kinds.tool_not_in_request((*path, "name"), fix, tool=quoted(name), tools=tools)]
    at = (*path, "input")
    differences, missed = validator.compare(given, offered[name].get("inputSchema"))
    if not differences:
        return validator.unchecked_at(at, missed)
    inside, rule = differences[0]
    return [kinds.tool_input_mismatch((*at, *inside), tool=quoted(name), broken=rule)]


def _own_id(own: Json, taken: set[str], path: Path) -> list[RawDiagnostic]:
    """Check that no two tool calls have the same id, and add this id to `taken`."""
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
    return [kinds.duplicate_call_id(at, replace_with(at, free), id=quoted(own))]
