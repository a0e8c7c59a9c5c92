"""The session as a runnable MCP server (official Python SDK): its tools answer as recorded.

Each tool is a function of its own, ready to be filled in. Names and values from the wire become
literals; nothing of them is ever code.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from humanmcp.export.source import comment, identifier, literal, sendable
from humanmcp.export.story import tell

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from humanmcp.export.manner import Manner
    from humanmcp.export.reading import Recording
    from humanmcp.export.story import Story, Talk

_LISTS: Final[Mapping[str, str]] = {
    "tools/list": "tools",
    "resources/list": "resources",
    "resources/templates/list": "resourceTemplates",
    "prompts/list": "prompts",
}
_TAKEN: Final = frozenset(
    {"calls", "tools", "recorded", "server", "main", "json", "anyio", "types", "any", "serve"}
    | {"list_tools", "call_tool", "list_resources", "read_resource", "list_prompts", "get_prompt"}
    | {"stdio_server", "mcperror", "list_resource_templates", "answered", "was_asked"}
)


def write(recording: Recording, manner: Manner) -> str:  # noqa: ARG001 - every format takes it
    """Write the server."""
    return "\n".join(_module(tell(recording))) + "\n"


def _module(story: Story) -> Iterator[str]:
    listed_tools = _tools(story)
    called = _called(story, listed_tools)
    tools: list[dict[str, Any]] = sendable([*listed_tools, *called])
    shown = tools[: len(listed_tools)] or tools
    yield _HEAD.format(session=comment(story.name))
    yield f"NAME = {sendable(story.server or story.name)!r}"
    yield f"VERSION = {sendable(story.server_version)!r}"
    yield f"INSTRUCTIONS = {sendable(_instructions(story))!r}"
    yield f"OFFERED: dict[str, Any] = {literal(sendable(dict(story.known.offered or {})))}"
    for method, member in _LISTS.items():
        listed = shown if method == "tools/list" else _listed(story, method, member)
        yield ""
        yield f"{_constant(method)}: list[dict[str, Any]] = {literal(sendable(listed))}"
    yield ""
    yield "# What was asked, and what was answered: (parameters, result, error)."
    recorded = literal(sendable(_recorded(story)))
    yield f"RECORDED: dict[str, list[tuple[Any, Any, Any]]] = {recorded}"
    yield _MIDDLE
    functions: dict[str, str] = {}
    for tool in tools:
        function = identifier(tool["name"], {*_TAKEN, *functions.values()})
        functions[tool["name"]] = function
        yield ""
        yield ""
        yield f"async def {function}(arguments: dict[str, Any]) -> types.CallToolResult:"
        yield f"    {_docstring(tool)}"
        yield f"    return recorded({tool['name']!r}, arguments)"
    yield ""
    yield ""
    yield "CALLS = {"
    yield from (f"    {name!r}: {function}," for name, function in functions.items())
    yield "}"
    yield _TAIL


def _docstring(tool: Mapping[str, Any]) -> str:
    description = tool.get("description")
    words = comment(description if isinstance(description, str) else "").strip()
    return f'"""{words or "Say what this tool does."}"""'


def _constant(method: str) -> str:
    return method.removesuffix("/list").replace("/", "_").upper()


def _instructions(story: Story) -> str:
    for method in ("initialize", "server/discover"):
        for talk in story.asked_by_client(method):
            found = talk.result.get("instructions") if isinstance(talk.result, dict) else None
            if isinstance(found, str):
                return found
    return ""


def _listed(story: Story, method: str, member: str) -> list[dict[str, Any]]:
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


def _tools(story: Story) -> list[dict[str, Any]]:
    """Return the tools that were listed."""
    return [
        tool if "inputSchema" in tool else {**tool, "inputSchema": {"type": "object"}}
        for tool in _listed(story, "tools/list", "tools")
        if isinstance(tool.get("name"), str)
    ]


def _called(story: Story, tools: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return what is a tool although it was not listed: what worked; without a list, all calls."""
    names = {tool["name"] for tool in tools}
    found = {
        talk.asked.name: {"name": talk.asked.name, "inputSchema": {"type": "object"}}
        for talk in story.asked_by_client("tools/call")
        if talk.asked.name and (not tools or _worked(talk))
    }
    return [tool for name, tool in found.items() if name not in names]


def _worked(talk: Talk) -> bool:
    """Say whether a call was one of a tool that is there: some servers refuse in a result."""
    return isinstance(talk.result, dict) and not talk.result.get("isError")


def _recorded(story: Story) -> dict[str, list[tuple[Any, Any, Any]]]:
    """Return the finished answers of calls, prompts and resources by what they were for."""
    wanted = {"tools/call": "arguments", "prompts/get": "arguments", "resources/read": ""}
    answers: dict[str, list[tuple[Any, Any, Any]]] = {}
    for talk in story.asked_by_client():
        member = wanted.get(talk.asked.method)
        if member is None or not _finished(talk):
            continue
        asked = talk.asked.request.params.get(member) if member else None
        key = f"{talk.asked.method} {talk.asked.name}"
        entry = (asked if isinstance(asked, dict) else {}, talk.result, talk.error)
        answers.setdefault(key, []).append(entry)
    return answers


def _finished(talk: Talk) -> bool:
    """Say whether an answer is one that ends the call: not a question back to the user."""
    result = talk.result
    if result is None:
        return isinstance(talk.error, dict)
    return isinstance(result, dict) and result.get("resultType", "complete") == "complete"


_HEAD: Final = '''"""An MCP server made from the recorded session {session}.

Its tools answer as they did there. Replace the body of a tool by the real work, one by one.

    pip install "mcp>=2.3,<3"
    python THIS_FILE.py
"""

from __future__ import annotations

import re
from typing import Any

import anyio
import mcp_types as types
from mcp import MCPError
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
'''

_MIDDLE: Final = '''
REDACTED = re.compile(r"\\[redacted(?::[A-Z0-9_]+)?\\]")
"""What stands where a secret was taken out of the recording."""


def fits(recorded: Any, asked: Any) -> bool:
    """Compare what was asked then and now; where something was taken out anything fits."""
    if isinstance(recorded, str) and REDACTED.search(recorded):
        around = "(?s:.*)".join(re.escape(part) for part in REDACTED.split(recorded))
        return bool(REDACTED.fullmatch(recorded) or re.fullmatch(around, str(asked)))
    if isinstance(recorded, dict) and isinstance(asked, dict):
        same = recorded.keys() == asked.keys()
        return same and all(fits(part, asked[key]) for key, part in recorded.items())
    if isinstance(recorded, list) and isinstance(asked, list):
        same = len(recorded) == len(asked)
        return same and all(map(fits, recorded, asked))
    return bool(recorded == asked)


def answered(key: str, asked: dict[str, Any]) -> Any:
    """Return the recorded result: each one in its turn, then the last one again."""
    fitting = [entry for entry in RECORDED.get(key, []) if fits(entry[0], asked)]
    if not fitting:
        raise MCPError(-32602, f"no answer was recorded for {key} with {asked}")
    entry = fitting[0]
    if len(fitting) > 1:
        RECORDED[key].remove(entry)
    _asked, result, error = entry
    if error is not None:
        raise MCPError(error.get("code", -32603), error.get("message", ""), error.get("data"))
    return result


def recorded(tool: str, arguments: dict[str, Any]) -> types.CallToolResult:
    """Answer a call as it was answered then."""
    return types.CallToolResult.model_validate(answered(f"tools/call {tool}", arguments))


# -- the tools: here goes the real work -------------------------------------------------------'''

_TAIL: Final = '''

# -- the server -------------------------------------------------------------------------------


async def list_tools(_context: Any, _params: Any) -> types.ListToolsResult:
    return types.ListToolsResult.model_validate({"tools": TOOLS})


async def call_tool(_context: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
    call = CALLS.get(params.name)
    if call is not None:
        return await call(params.arguments or {})
    if f"tools/call {params.name}" in RECORDED:
        return recorded(params.name, params.arguments or {})
    raise MCPError(-32602, f"there is no tool {params.name}")


async def list_resources(_context: Any, _params: Any) -> types.ListResourcesResult:
    return types.ListResourcesResult.model_validate({"resources": RESOURCES})


async def list_resource_templates(
    _context: Any, _params: Any
) -> types.ListResourceTemplatesResult:
    return types.ListResourceTemplatesResult.model_validate(
        {"resourceTemplates": RESOURCES_TEMPLATES}
    )


async def read_resource(
    _context: Any, params: types.ReadResourceRequestParams
) -> types.ReadResourceResult:
    return types.ReadResourceResult.model_validate(answered(f"resources/read {params.uri}", {}))


async def list_prompts(_context: Any, _params: Any) -> types.ListPromptsResult:
    return types.ListPromptsResult.model_validate({"prompts": PROMPTS})


async def get_prompt(_context: Any, params: types.GetPromptRequestParams) -> types.GetPromptResult:
    asked = dict(params.arguments or {})
    return types.GetPromptResult.model_validate(answered(f"prompts/get {params.name}", asked))


def was_asked(method: str) -> bool:
    """Say whether there is a recorded answer to this method."""
    return any(key.startswith(f"{method} ") for key in RECORDED)


def server() -> Server[Any]:
    """Put the server together: it offers what was recorded."""
    offered: dict[str, Any] = {"on_list_tools": list_tools, "on_call_tool": call_tool}
    listed = RESOURCES or RESOURCES_TEMPLATES
    if "resources" in OFFERED or listed or was_asked("resources/read"):
        offered |= {
            "on_list_resources": list_resources,
            "on_list_resource_templates": list_resource_templates,
            "on_read_resource": read_resource,
        }
    if "prompts" in OFFERED or PROMPTS or was_asked("prompts/get"):
        offered |= {"on_list_prompts": list_prompts, "on_get_prompt": get_prompt}
    return Server(NAME, version=VERSION, instructions=INSTRUCTIONS or None, **offered)


async def main() -> None:
    serve = server()
    async with stdio_server() as (reader, writer):
        await serve.run(reader, writer, serve.create_initialization_options())


if __name__ == "__main__":
    anyio.run(main)'''
