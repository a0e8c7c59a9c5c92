"""The session as a runnable MCP server (official Python SDK): it answers as recorded.

Each tool is a function of its own, ready to be filled in. It introduces itself as it did, lists in
the same pages, and says again what it said of its own: notifications, and questions. Names and
values from the wire become literals; nothing of them is ever code. What runs stands in
`programs/server.py.txt`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from humanmcp.export.conversation import build_conversation
from humanmcp.export.source import comment, identifier, literal, program
from humanmcp.protocol.json.tree import follow, objects_at, text_at, well_formed
from humanmcp.protocol.rules.replay import Recorded, RecordedMessage, recorded
from humanmcp.protocol.spec import methods

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from humanmcp.export.conversation import Call, Conversation
    from humanmcp.export.reading import ExportOptions, Recording

_LISTS: Final = {one.name: one.listing.member for one in methods.LISTS if one.listing}
_TAKEN: Final = frozenset(
    {"calls", "tools", "recorded", "server", "main", "json", "anyio", "types", "any", "serve", "re"}
    | {"list_tools", "call_tool", "list_resources", "read_resource", "list_prompts", "get_prompt"}
    | {"stdio_server", "mcperror", "list_resource_templates", "replayed", "was_asked", "say"}
    | {"introduced", "page", "asked_for", "afterwards", "fits", "find", "contextlib", "noticed"}
    | {"notice", "other", "wire"}
)


def write(recording: Recording, options: ExportOptions) -> str:  # noqa: ARG001 - every format takes it
    """Write the server."""
    around = {one.seq: one for one in recorded(recording.frames)}
    return "\n".join(_module(build_conversation(recording), around)) + "\n"


def _module(conversation: Conversation, around: Mapping[int, Recorded]) -> Iterator[str]:
    listed_tools = _tools(conversation)
    called = _called(conversation, listed_tools)
    tools: list[dict[str, Any]] = well_formed([*listed_tools, *called])
    shown = tools[: len(listed_tools)] or tools
    head, middle, tail = program("server", conversation.name)
    yield head
    yield f"NAME = {well_formed(conversation.server or conversation.name)!r}"
    yield f"VERSION = {well_formed(conversation.server_version)!r}"
    yield f"INFO: dict[str, Any] = {literal(well_formed(dict(conversation.server_info)))}"
    yield f"INSTRUCTIONS = {well_formed(_instructions(conversation))!r}"
    capabilities = well_formed(dict(conversation.negotiated.server_capabilities or {}))
    yield f"CAPABILITIES: dict[str, Any] = {literal(capabilities)}"
    for method, member in _LISTS.items():
        listed = shown if method == "tools/list" else _listed(conversation, method, member)
        yield ""
        yield f"{_constant(method)}: list[dict[str, Any]] = {literal(well_formed(listed))}"
    yield ""
    yield "# The pages of the lists: (cursor, entries). The last page takes the rest."
    yield f"PAGES: dict[str, list[tuple[str, int]]] = {literal(well_formed(_pages(conversation)))}"
    yield ""
    yield "# What was asked, and what was answered: (parameters, result, error, what the server"
    yield "# said of its own before the answer, and after it)."
    entries = literal(well_formed(_recorded(conversation, around)))
    yield f"RECORDED: dict[str, list[tuple[Any, ...]]] = {entries}"
    yield ""
    yield "# What it said once the client was ready, or had said something else, by notification."
    yield f"NOTICED: dict[str, list[Any]] = {literal(well_formed(_noticed(around)))}"
    yield middle
    functions: dict[str, str] = {}
    for tool in tools:
        function = identifier(tool["name"], {*_TAKEN, *functions.values()})
        functions[tool["name"]] = function
        yield ""
        yield ""
        yield f"async def {function}(context: Any, arguments: dict[str, Any]) -> Any:"
        yield f"    {_docstring(tool)}"
        yield f"    return await recorded(context, {tool['name']!r}, arguments)"
    yield ""
    yield ""
    yield "CALLS = {"
    yield from (f"    {name!r}: {function}," for name, function in functions.items())
    yield "}"
    yield tail


def _docstring(tool: Mapping[str, Any]) -> str:
    words = comment(text_at(tool, "description")).strip()
    return f'"""{words or "Say what this tool does."}"""'


def _constant(method: str) -> str:
    return method.removesuffix("/list").replace("/", "_").upper()


def _instructions(conversation: Conversation) -> str:
    for method in ("initialize", "server/discover"):
        for call in conversation.asked_by_client(method):
            found = follow(call.result, "instructions")
            if isinstance(found, str):
                return found
    return ""


def _listed(conversation: Conversation, method: str, member: str) -> list[dict[str, Any]]:
    """Collect what was listed, page by page; what was listed again counts once, as it was last."""
    found: dict[str, dict[str, Any]] = {}
    for call in conversation.asked_by_client(method):
        for entry in objects_at(call.result, member):
            key = entry.get("uri") or entry.get("uriTemplate") or entry.get("name")
            if isinstance(key, str):
                found[key] = entry
    return list(found.values())


def _tools(conversation: Conversation) -> list[dict[str, Any]]:
    """Return the tools that were listed."""
    return [
        tool if "inputSchema" in tool else {**tool, "inputSchema": {"type": "object"}}
        for tool in _listed(conversation, "tools/list", "tools")
        if isinstance(tool.get("name"), str)
    ]


def _called(conversation: Conversation, tools: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return what is a tool although it was not listed: what worked; without a list, all calls."""
    names = {tool["name"] for tool in tools}
    found = {
        call.asked.name: {"name": call.asked.name, "inputSchema": {"type": "object"}}
        for call in conversation.asked_by_client("tools/call")
        if call.asked.name and (not tools or _worked(call))
    }
    return [tool for name, tool in found.items() if name not in names]


def _worked(call: Call) -> bool:
    """Return True if a call was one of a tool that is there: some servers refuse in a result."""
    return isinstance(call.result, dict) and not call.result.get("isError")


def _pages(conversation: Conversation) -> dict[str, list[tuple[str, int]]]:
    """Return the pages of the lists that had several, as they were asked for the last time."""
    found = {}
    for method, member in _LISTS.items():
        pages: list[tuple[str, int]] = []
        for call in conversation.asked_by_client(method):
            entries = follow(call.result, member)
            cursor = call.asked.request.params.get("cursor", "")
            if isinstance(entries, list) and isinstance(cursor, str):
                pages = [*(pages if cursor else []), (cursor, len(entries))]
        if len(pages) > 1:
            found[method] = pages
    return found


_OWN_WAY: Final = frozenset(
    {"ping", *(one.name for one in methods.REQUESTS.values() if one.in_handshake or one.stays_open)}
)
"""What the SDK, or a list above, answers."""


def _recorded(
    conversation: Conversation, around: Mapping[int, Recorded]
) -> dict[str, list[tuple[Any, ...]]]:
    """Return the finished answers by what they were for, with what was said around them."""
    answers: dict[str, list[tuple[Any, ...]]] = {}
    for call in conversation.asked_by_client():
        method, params = call.asked.method, call.asked.request.params
        if method in _OWN_WAY or call.answer is None or not _finished(call):
            continue
        record = methods.of(method)
        named = record.asks_back  # a tool, a prompt or a resource, each by its name
        key = f"{method} {call.asked.name}" if named else method
        asked = params.get(record.arguments, {})
        if not named:
            asked = {name: value for name, value in params.items() if name != "_meta"}
        recorded = around.get(call.answer.frame.seq)
        said = (_said(recorded.before), _said(recorded.after)) if recorded else ([], [])
        entry = (asked if isinstance(asked, dict) else {}, call.result, call.error, *said)
        answers.setdefault(key, []).append(entry)
    return answers


def _noticed(around: Mapping[int, Recorded]) -> dict[str, list[Any]]:
    """Return what the server said after a notification of the client's, or after its handshake."""
    found: dict[str, list[Any]] = {}
    for one in around.values():
        said = _said((*one.before, *one.after)) if not one.id else _said(one.after)
        if said and (not one.id or one.method in _OWN_WAY):
            method = "notifications/initialized" if one.id else one.method
            found.setdefault(method, []).extend(said)
    return found


def _said(said: Sequence[RecordedMessage]) -> list[Any]:
    """Return messages without their envelope; what was no message no server of the SDK can say."""
    return [
        {name: value for name, value in one.message.body.items() if name != "jsonrpc"}
        for one in said
        if one.message is not None
    ]


def _finished(call: Call) -> bool:
    """Return True if an answer is one that ends the call: not a question back to the user."""
    result = call.result
    if result is None:
        return isinstance(call.error, dict)
    return isinstance(result, dict) and result.get("resultType", "complete") == "complete"
