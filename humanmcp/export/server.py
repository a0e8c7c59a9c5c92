"""The session as a runnable MCP server (official Python SDK): it answers as recorded.

Each tool is a function of its own, ready to be filled in. It introduces itself as it did, lists in
the same pages, and says again what it said of its own: notifications, and questions. Names and
values from the wire become literals; nothing of them is ever code. What runs stands in
`programs/server.py.txt`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from humanmcp.export.conversation import tell
from humanmcp.export.source import comment, identifier, literal, program, sendable
from humanmcp.protocol.policy.recording import Recorded, RecordedMessage, recorded
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


def write(recording: Recording, manner: ExportOptions) -> str:  # noqa: ARG001 - every format takes it
    """Write the server."""
    around = {one.seq: one for one in recorded(recording.frames)}
    return "\n".join(_module(tell(recording), around)) + "\n"


def _module(story: Conversation, around: Mapping[int, Recorded]) -> Iterator[str]:
    listed_tools = _tools(story)
    called = _called(story, listed_tools)
    tools: list[dict[str, Any]] = sendable([*listed_tools, *called])
    shown = tools[: len(listed_tools)] or tools
    head, middle, tail = program("server", story.name)
    yield head
    yield f"NAME = {sendable(story.server or story.name)!r}"
    yield f"VERSION = {sendable(story.server_version)!r}"
    yield f"INFO: dict[str, Any] = {literal(sendable(dict(story.server_info)))}"
    yield f"INSTRUCTIONS = {sendable(_instructions(story))!r}"
    yield f"OFFERED: dict[str, Any] = {literal(sendable(dict(story.known.offered or {})))}"
    for method, member in _LISTS.items():
        listed = shown if method == "tools/list" else _listed(story, method, member)
        yield ""
        yield f"{_constant(method)}: list[dict[str, Any]] = {literal(sendable(listed))}"
    yield ""
    yield "# The pages of the lists: (cursor, entries). The last page takes the rest."
    yield f"PAGES: dict[str, list[tuple[str, int]]] = {literal(sendable(_pages(story)))}"
    yield ""
    yield "# What was asked, and what was answered: (parameters, result, error, what the server"
    yield "# said of its own before the answer, and after it)."
    entries = literal(sendable(_recorded(story, around)))
    yield f"RECORDED: dict[str, list[tuple[Any, ...]]] = {entries}"
    yield ""
    yield "# What it said once the client was ready, or had said something else, by notification."
    yield f"NOTICED: dict[str, list[Any]] = {literal(sendable(_noticed(around)))}"
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
    description = tool.get("description")
    words = comment(description if isinstance(description, str) else "").strip()
    return f'"""{words or "Say what this tool does."}"""'


def _constant(method: str) -> str:
    return method.removesuffix("/list").replace("/", "_").upper()


def _instructions(story: Conversation) -> str:
    for method in ("initialize", "server/discover"):
        for talk in story.asked_by_client(method):
            found = talk.result.get("instructions") if isinstance(talk.result, dict) else None
            if isinstance(found, str):
                return found
    return ""


def _listed(story: Conversation, method: str, member: str) -> list[dict[str, Any]]:
    """Collect what was listed, page by page; what was listed again counts once, as it was last."""
    found: dict[str, dict[str, Any]] = {}
    for talk in story.asked_by_client(method):
        entries = talk.result.get(member) if isinstance(talk.result, dict) else None
        for entry in entries if isinstance(entries, list) else ():
            if isinstance(entry, dict):
                key = entry.get("uri") or entry.get("uriTemplate") or entry.get("name")
                if isinstance(key, str):
                    found[key] = entry
    return list(found.values())


def _tools(story: Conversation) -> list[dict[str, Any]]:
    """Return the tools that were listed."""
    return [
        tool if "inputSchema" in tool else {**tool, "inputSchema": {"type": "object"}}
        for tool in _listed(story, "tools/list", "tools")
        if isinstance(tool.get("name"), str)
    ]


def _called(story: Conversation, tools: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return what is a tool although it was not listed: what worked; without a list, all calls."""
    names = {tool["name"] for tool in tools}
    found = {
        talk.asked.name: {"name": talk.asked.name, "inputSchema": {"type": "object"}}
        for talk in story.asked_by_client("tools/call")
        if talk.asked.name and (not tools or _worked(talk))
    }
    return [tool for name, tool in found.items() if name not in names]


def _worked(talk: Call) -> bool:
    """Return True if a call was one of a tool that is there: some servers refuse in a result."""
    return isinstance(talk.result, dict) and not talk.result.get("isError")


def _pages(story: Conversation) -> dict[str, list[tuple[str, int]]]:
    """Return the pages of the lists that had several, as they were asked for the last time."""
    found = {}
    for method, member in _LISTS.items():
        pages: list[tuple[str, int]] = []
        for talk in story.asked_by_client(method):
            entries = talk.result.get(member) if isinstance(talk.result, dict) else None
            cursor = talk.asked.request.params.get("cursor", "")
            if isinstance(entries, list) and isinstance(cursor, str):
                pages = [*(pages if cursor else []), (cursor, len(entries))]
        if len(pages) > 1:
            found[method] = pages
    return found


_OWN_WAY: Final = frozenset(
    {"ping", *(one.name for one in methods.REQUESTS.values() if one.opening or one.stays_open)}
)
"""What the SDK, or a list above, answers."""


def _recorded(
    story: Conversation, around: Mapping[int, Recorded]
) -> dict[str, list[tuple[Any, ...]]]:
    """Return the finished answers by what they were for, with what was said around them."""
    answers: dict[str, list[tuple[Any, ...]]] = {}
    for talk in story.asked_by_client():
        method, params = talk.asked.method, talk.asked.request.params
        if method in _OWN_WAY or talk.answer is None or not _finished(talk):
            continue
        record = methods.of(method)
        named = record.asks_back  # a tool, a prompt or a resource, each by its name
        key = f"{method} {talk.asked.name}" if named else method
        asked = params.get(record.arguments, {})
        if not named:
            asked = {name: value for name, value in params.items() if name != "_meta"}
        one = around.get(talk.answer.frame.seq)
        said = (_said(one.before), _said(one.after)) if one else ([], [])
        entry = (asked if isinstance(asked, dict) else {}, talk.result, talk.error, *said)
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


def _finished(talk: Call) -> bool:
    """Return True if an answer is one that ends the call: not a question back to the user."""
    result = talk.result
    if result is None:
        return isinstance(talk.error, dict)
    return isinstance(result, dict) and result.get("resultType", "complete") == "complete"
