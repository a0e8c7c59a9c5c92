"""The session as a program: a server that answers as recorded, or a test of the real server.

Both are Python without humanmcp. What runs is in `programs/`, with a line `#: …` where recorded
values go; these are literals that say exactly what was on the wire. Names and values from the wire
become literals; nothing of them is ever code.
"""

from __future__ import annotations

import keyword
import math
import pprint
import re
from dataclasses import replace
from importlib import resources
from typing import TYPE_CHECKING, Any, Final

from humanmcp.answering.summary import LineKind
from humanmcp.export.recording import build_conversation
from humanmcp.protocol.answer_book.recorded import Recorded, RecordedMessage, recorded
from humanmcp.protocol.conversation.transcript import Direction, recorded_command
from humanmcp.protocol.json.removed import mark_of, names_in
from humanmcp.protocol.json.tree import follow, mapped, objects_at, text_at, well_formed
from humanmcp.protocol.tables import methods, versions

if TYPE_CHECKING:
    from collections.abc import Container, Iterator, Mapping, Sequence

    from humanmcp.export.recording import Call, ExportOptions, RecordedConversation, Recording


WIDTH: Final = 96


def program_parts(name: str, session: str) -> list[str]:
    """Return the parts of a program; recorded values go between them."""
    file = resources.files("humanmcp.extensions.testing").joinpath("programs", f"{name}.py.txt")
    first, *others = re.split(r"\n#: .*\n", file.read_text("utf-8").removesuffix("\n"))
    return [first.replace("{session}", comment(session)), *others]


def literal(value: Any) -> str:  # noqa: ANN401 - any JSON value
    """Write a decoded JSON value as a Python literal, over as many lines as it needs."""
    return pprint.pformat(mapped(value, _finite), width=WIDTH, sort_dicts=False)


def _finite(leaf: Any) -> Any:  # noqa: ANN401 - any JSON value
    """Replace NaN and Infinity, which have no literal in Python."""
    return None if isinstance(leaf, float) and not math.isfinite(leaf) else leaf


def identifier(name: str, taken: Container[str]) -> str:
    """Turn a name from the wire into a free Python name."""
    plain = re.sub(r"\W", "_", name, flags=re.ASCII).strip("_").lower() or "unnamed"
    if plain[0].isdigit() or keyword.iskeyword(plain):
        plain = f"_{plain}"
    count, candidate = 1, plain
    while candidate in taken:
        count += 1
        candidate = f"{plain}_{count}"
    return candidate


def comment(text: str) -> str:
    """Make a text safe for a comment or a docstring: one line, nothing that could end it."""
    plain = "".join(c if c.isprintable() else " " for c in text)
    return plain.replace("\\", "/").replace('"', "'")


# -- a server (official Python SDK): it introduces itself, lists and answers as it did -----------


_TAKEN: Final = frozenset(
    {"calls", "tools", "recorded", "server", "main", "json", "anyio", "types", "any", "serve", "re"}
    | {"list_tools", "call_tool", "list_resources", "read_resource", "list_prompts", "get_prompt"}
    | {"stdio_server", "mcperror", "list_resource_templates", "replayed", "was_asked", "say"}
    | {"introduced", "page", "asked_for", "afterwards", "fits", "find", "contextlib", "noticed"}
    | {"notice", "other", "wire"}
)


def write_server(recording: Recording, options: ExportOptions) -> str:  # noqa: ARG001 - every format takes it
    around = {one.seq: one for one in recorded(recording.frames)}
    marks = list(_removed(recording))
    return "\n".join(_server(build_conversation(recording), around, marks)) + "\n"


def _server(
    conversation: RecordedConversation, around: Mapping[int, Recorded], marks: list[str]
) -> Iterator[str]:
    listed_tools = _tools(conversation)
    called = _called(conversation, listed_tools)
    tools: list[dict[str, Any]] = well_formed([*listed_tools, *called])
    shown = tools[: len(listed_tools)] or tools
    head, middle, tail = program_parts("server", conversation.name)
    yield head
    yield "# The marks of what was removed from the recording."
    yield f"REMOVED: list[str] = {literal(marks)}\n"
    yield f"NAME = {well_formed(conversation.server or conversation.name)!r}"
    yield f"VERSION = {well_formed(conversation.server_version)!r}"
    yield f"INFO: dict[str, Any] = {literal(well_formed(dict(conversation.server_info)))}"
    yield f"INSTRUCTIONS = {well_formed(_instructions(conversation))!r}"
    capabilities = well_formed(dict(conversation.negotiated.server_capabilities or {}))
    yield f"CAPABILITIES: dict[str, Any] = {literal(capabilities)}"
    for method, member in methods.MEMBER_OF_LIST.items():
        listed = shown if method == "tools/list" else _listed(conversation, method, member)
        constant = method.removesuffix("/list").replace("/", "_").upper()
        yield f"\n{constant}: list[dict[str, Any]] = {literal(well_formed(listed))}"
    yield "\n# The pages of the lists: (cursor, entries). The last page takes the rest."
    yield f"PAGES: dict[str, list[tuple[str, int]]] = {literal(well_formed(_pages(conversation)))}"
    yield "\n# What was asked, and what was answered: (parameters, result, error, what the server"
    yield "# said of its own before the answer, and after it)."
    entries = literal(well_formed(_recorded(conversation, around)))
    yield f"RECORDED: dict[str, list[tuple[Any, ...]]] = {entries}"
    yield "\n# What it said once the client was ready, or had said something else, by notification."
    yield f"NOTICED: dict[str, list[Any]] = {literal(well_formed(_noticed(around)))}"
    yield middle
    functions: dict[str, str] = {}
    for tool in tools:
        function = identifier(tool["name"], {*_TAKEN, *functions.values()})
        functions[tool["name"]] = function
        yield f"\n\nasync def {function}(context: Any, arguments: dict[str, Any]) -> Any:"
        words = comment(text_at(tool, "description")).strip()
        yield f'    """{words or "Say what this tool does."}"""'
        yield f"    return await recorded(context, {tool['name']!r}, arguments)"
    yield "\n\nCALLS = {"
    yield from (f"    {name!r}: {function}," for name, function in functions.items())
    yield "}"
    yield tail


def _instructions(conversation: RecordedConversation) -> str:
    for method in ("initialize", "server/discover"):
        for call in conversation.asked_by_client(method):
            found = follow(call.result, "instructions")
            if isinstance(found, str):
                return found
    return ""


def _listed(conversation: RecordedConversation, method: str, member: str) -> list[dict[str, Any]]:
    """Collect the listed entries of all pages; of an entry listed again, the last counts."""
    found: dict[str, dict[str, Any]] = {}
    for call in conversation.asked_by_client(method):
        for entry in objects_at(call.result, member):
            key = entry.get("uri") or entry.get("uriTemplate") or entry.get("name")
            if isinstance(key, str):
                found[key] = entry
    return list(found.values())


def _tools(conversation: RecordedConversation) -> list[dict[str, Any]]:
    return [
        tool if "inputSchema" in tool else {**tool, "inputSchema": {"type": "object"}}
        for tool in _listed(conversation, "tools/list", "tools")
        if isinstance(tool.get("name"), str)
    ]


def _called(
    conversation: RecordedConversation, tools: Sequence[Mapping[str, Any]]
) -> list[dict[str, Any]]:
    """Return tools that were called but not listed: successful calls; without a list, all calls."""
    names = {tool["name"] for tool in tools}
    found = {
        call.asked.name: {"name": call.asked.name, "inputSchema": {"type": "object"}}
        for call in conversation.asked_by_client("tools/call")
        # Some servers refuse the call of a tool that does not exist with an error result.
        if call.asked.name
        and (not tools or (isinstance(call.result, dict) and not call.result.get("isError")))
    }
    return [tool for name, tool in found.items() if name not in names]


def _pages(conversation: RecordedConversation) -> dict[str, list[tuple[str, int]]]:
    """Return the pages of the lists that had several, as last requested."""
    found = {}
    for method, member in methods.MEMBER_OF_LIST.items():
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
"""The methods that the SDK, or a list above, answers."""


def _recorded(
    conversation: RecordedConversation, around: Mapping[int, Recorded]
) -> dict[str, list[tuple[Any, ...]]]:
    """Return the final answers by method and name, with the messages before and after each."""
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
    """Return what the server sent after a notification of the client, or after the handshake."""
    found: dict[str, list[Any]] = {}
    for one in around.values():
        said = _said((*one.before, *one.after)) if not one.id else _said(one.after)
        if said and (not one.id or one.method in _OWN_WAY):
            method = "notifications/initialized" if one.id else one.method
            found.setdefault(method, []).extend(said)
    return found


def _said(said: Sequence[RecordedMessage]) -> list[Any]:
    """Return messages without their envelope; a server of the SDK cannot send anything else."""
    return [
        {name: value for name, value in one.message.body.items() if name != "jsonrpc"}
        for one in said
        if one.message is not None
    ]


def _finished(call: Call) -> bool:
    """Return True if the answer ends the call, and does not ask the user back."""
    result = call.result
    if result is None:
        return isinstance(call.error, dict)
    return isinstance(result, dict) and result.get("resultType", "complete") == "complete"


# -- a script: the answers as they were, and a loop ----------------------------------------------


def write_script(recording: Recording, options: ExportOptions) -> str:  # noqa: ARG001 - every format takes it
    """Return a server of twenty lines that needs nothing but Python."""
    conversation = build_conversation(recording)
    answers: dict[str, list[dict[str, Any]]] = {}
    for call in conversation.asked_by_client():
        given = call.answer.message.body if call.answer and call.answer.message else {}
        said = {name: value for name, value in given.items() if name in {"result", "error"}}
        named = follow(call.asked.request.body, "params", methods.of(call.asked.method).named_by)
        key = f"{call.asked.method} {named if isinstance(named, str) else ''}".strip()
        answers.setdefault(key, []).append(said)
    head, tail = program_parts("script", conversation.name)
    return f"{head}\nANSWERS = {literal(well_formed(answers))}\n{tail}\n"


# -- a test: the recorded requests are asked again of a real server, and compared ----------------


def write_test(recording: Recording, options: ExportOptions) -> str:
    known = options.command or recorded_command(recording.frames)
    conversation = build_conversation(recording, Direction.OUT)
    removed = _removed(recording)
    return "\n".join(_test(conversation, replace(options, command=known), removed)) + "\n"


def _removed(recording: Recording) -> dict[str, str]:
    """Return each mark in a recording, and the name of what was removed there."""
    names = {name for frame in recording.frames for name in names_in(frame.text)}
    return {mark_of(name): name for name in sorted(names)}


def _test(
    conversation: RecordedConversation, options: ExportOptions, removed: Mapping[str, str]
) -> Iterator[str]:
    head, tail = program_parts("pytest", conversation.name)
    yield head
    yield "# What was removed from the recording is read from the environment. What needs a"
    yield "# variable that is not there is skipped: (mark: variable)"
    variables = {mark: f"MCP_SECRET_{name}" for mark, name in removed.items()}
    yield f"REMOVED: dict[str, str] = {literal(variables)}\n"
    yield "# The command that starts the server. MCP_SERVER in the environment comes before it."
    yield f"SERVER: list[str] = {literal(list(options.command))}"
    yield "\n# In order: (what the client wrote, what it was answered). No answer: a notification."
    yield f"SESSION: list[tuple[Any, Any]] = {literal(sent_and_answered(conversation))}"
    yield "\n# What the client answered when the server asked it something, by method, in order."
    yield f"CLIENT: dict[str, list[Any]] = {literal(client_answers(conversation))}"
    yield tail


def sent_and_answered(conversation: RecordedConversation) -> list[tuple[Any, Any]]:
    """Collect what reached the server, in order, each request with the server's answer.

    A request that a person at a tap changed is taken as changed; one that the person answered is
    left out.
    """
    refused = _refused_probes(conversation)
    answers = {
        call.request.frame.seq: call.answer
        for call in conversation.calls
        if call.asked.direction is Direction.IN and call.answer is not None and call not in refused
    }
    found: list[tuple[Any, Any]] = []
    for entry in conversation.seen:
        if (
            entry.frame.direction is not Direction.IN
            or entry.message is None
            or entry.observed is None
        ):
            continue
        if entry.kind is LineKind.NOTIFICATION:
            found.append((entry.message.body, None))
        elif (answer := answers.get(entry.frame.seq)) is not None and answer.message:
            found.append((entry.message.body, answer.message.body))
    return found


def _refused_probes(conversation: RecordedConversation) -> list[Call]:
    """List the requests by which a client tried a protocol version that the server refused.

    A server that has learned 2026-07-28 since would take the probe and refuse the handshake that
    follows in the recording.
    """
    return [
        call
        for call in conversation.calls
        if call.asked.direction is Direction.IN
        and call.error is not None
        and (
            call.asked.method == "server/discover"
            or versions.stated_in(call.asked.request) is not None
        )
        and any(later.asked.method == "initialize" for later in conversation.calls)
    ]


def client_answers(conversation: RecordedConversation) -> dict[str, list[Any]]:
    """Return the client's answers to the server's requests, by method, in order."""
    answers: dict[str, list[Any]] = {}
    for call in conversation.calls:
        if (
            call.asked.direction is Direction.OUT
            and call.answer is not None
            and call.answer.message
        ):
            answers.setdefault(call.asked.method, []).append(call.answer.message.body)
    return answers
