"""What runs in an exported server, around the recorded values: Python source, the same for all."""

from __future__ import annotations

from typing import Final

HEAD: Final = '''"""An MCP server made from the recorded session {session}.

Its tools answer as they did there. Replace the body of a tool by the real work, one by one.

    pip install "mcp>=2.3,<3"
    python THIS_FILE.py
"""

from __future__ import annotations

import contextlib
import re
from typing import Any

import anyio
import mcp_types as types
from mcp import MCPError
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
'''

MIDDLE: Final = '''
REDACTED = re.compile(r"\\[redacted(?::[A-Z0-9_]+)?\\]")
"""What stands where a secret was taken out of the recording."""

LOG_LEVEL = "io.modelcontextprotocol/logLevel"
"""Where a request of 2026-07-28 says that it wants log messages."""


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


def find(key: str, asked: dict[str, Any]) -> tuple[Any, ...]:
    """Return the recorded answer: each one in its turn, then the last one again."""
    fitting = [entry for entry in RECORDED.get(key, []) if fits(entry[0], asked)]
    if not fitting:
        raise MCPError(-32602, f"no answer was recorded for {key} with {asked}")
    if len(fitting) > 1:
        RECORDED[key].remove(fitting[0])
    return fitting[0]


async def replayed(context: Any, key: str, asked: dict[str, Any]) -> Any:
    """Answer as it was answered then, and say what was said around the answer."""
    _asked, result, error, before, after = find(key, asked)
    await say(context, before, context.request_id)
    if after:
        BACKGROUND[0].start_soon(afterwards, context, after)
    if error is not None:
        raise MCPError(error.get("code", -32603), error.get("message", ""), error.get("data"))
    return result


async def recorded(context: Any, tool: str, arguments: dict[str, Any]) -> Any:
    """Answer a call as it was answered then."""
    result = await replayed(context, f"tools/call {tool}", arguments)
    return types.CallToolResult.model_validate(result)


# -- what the server says of its own ----------------------------------------------------------

BACKGROUND: list[Any] = []
"""The group of tasks in which something is said after an answer."""


async def say(context: Any, messages: list[Any], related: Any = None) -> None:
    """Say what was said then: notifications, and questions, whose answers are waited for."""
    for message in messages:
        method, params = message["method"], message.get("params")
        if method == "notifications/progress":
            token = (context.meta or {}).get("progress_token")
            if token is None:
                continue
            params = {**params, "progressToken": token}
        modern = context.protocol_version >= "2026-07-28"
        wants_log = LOG_LEVEL in ((context.params or {}).get("_meta") or {})
        if method == "notifications/message" and modern and not wants_log:
            continue
        said = {"method": method, **({} if params is None else {"params": params})}
        with contextlib.suppress(MCPError, ValueError):  # refused, or of another revision
            if "id" not in message:
                notification = types.server_notification_adapter.validate_python(said)
                await context.session.send_notification(notification, related)
            elif context.session.can_send_request:
                request = types.server_request_adapter.validate_python(said)
                await context.session.send_request(request, types.EmptyResult)


async def afterwards(context: Any, messages: list[Any]) -> None:
    """Say what was said after an answer, once it is written."""
    await anyio.sleep(0.05)
    await say(context, messages)


async def noticed(context: Any, _params: Any) -> None:
    """React to a notification of the client's as was reacted then."""
    messages = NOTICED.pop(context.method, [])
    if messages:
        BACKGROUND[0].start_soon(afterwards, context, messages)


# -- the tools: here goes the real work -------------------------------------------------------'''

TAIL: Final = '''

# -- the server -------------------------------------------------------------------------------


def page(method: str, member: str, entries: list[dict[str, Any]], params: Any) -> dict[str, Any]:
    """Return one page of a list, as it was cut into pages then."""
    pages = PAGES.get(method, [("", len(entries))])
    cursors = [cursor for cursor, _count in pages]
    wanted = (params.cursor if params else None) or ""
    if wanted not in cursors:
        raise MCPError(-32602, f"there is no page {wanted} of {method}")
    at = cursors.index(wanted)
    start = sum(count for _cursor, count in pages[:at])
    if at == len(pages) - 1:
        return {member: entries[start:]}
    return {member: entries[start : start + pages[at][1]], "nextCursor": cursors[at + 1]}


async def list_tools(_context: Any, params: Any) -> types.ListToolsResult:
    return types.ListToolsResult.model_validate(page("tools/list", "tools", TOOLS, params))


async def call_tool(context: Any, params: types.CallToolRequestParams) -> Any:
    call = CALLS.get(params.name)
    if call is not None:
        return await call(context, params.arguments or {})
    if f"tools/call {params.name}" in RECORDED:
        return await recorded(context, params.name, params.arguments or {})
    raise MCPError(-32602, f"there is no tool {params.name}")


async def list_resources(_context: Any, params: Any) -> types.ListResourcesResult:
    listed = page("resources/list", "resources", RESOURCES, params)
    return types.ListResourcesResult.model_validate(listed)


async def list_resource_templates(_context: Any, params: Any) -> types.ListResourceTemplatesResult:
    method, member = "resources/templates/list", "resourceTemplates"
    listed = page(method, member, RESOURCES_TEMPLATES, params)
    return types.ListResourceTemplatesResult.model_validate(listed)


async def read_resource(
    context: Any, params: types.ReadResourceRequestParams
) -> types.ReadResourceResult:
    result = await replayed(context, f"resources/read {params.uri}", {})
    return types.ReadResourceResult.model_validate(result)


async def list_prompts(_context: Any, params: Any) -> types.ListPromptsResult:
    return types.ListPromptsResult.model_validate(page("prompts/list", "prompts", PROMPTS, params))


async def get_prompt(context: Any, params: types.GetPromptRequestParams) -> types.GetPromptResult:
    result = await replayed(context, f"prompts/get {params.name}", dict(params.arguments or {}))
    return types.GetPromptResult.model_validate(result)


async def other(context: Any, _params: Any) -> Any:
    """Answer any other method as it was answered then; a level or a subscription always."""
    asked = {name: part for name, part in (context.params or {}).items() if name != "_meta"}
    if context.method in EMPTY and context.method not in RECORDED:
        return {}
    return await replayed(context, context.method, asked)


EMPTY = ("logging/setLevel", "resources/subscribe", "resources/unsubscribe")


async def introduced(context: Any, call_next: Any) -> Any:
    """Let the server introduce itself as it did: its name and title, and what it declared."""
    result = await call_next(context)
    if not OFFERED or context.method not in ("initialize", "server/discover"):
        return result
    told = result if isinstance(result, dict) else result.model_dump(by_alias=True, mode="json")
    told = {name: part for name, part in told.items() if part is not None}
    told["capabilities"] = OFFERED
    if context.method == "initialize":
        told["serverInfo"] = INFO or told["serverInfo"]
    return told


def was_asked(method: str) -> bool:
    """Say whether there is a recorded answer to this method."""
    return any(key == method or key.startswith(f"{method} ") for key in RECORDED)


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
    title = INFO.get("title")
    made = Server(
        NAME, version=VERSION, title=title, instructions=INSTRUCTIONS or None, **offered
    )
    declared = {"logging": EMPTY[:1], "completions": ("completion/complete",)}
    others = {key for key in RECORDED if " " not in key}
    others |= {method for name, more in declared.items() if name in OFFERED for method in more}
    if (OFFERED.get("resources") or {}).get("subscribe"):
        others |= set(EMPTY[1:])
    for method in sorted(others):
        made.add_request_handler(method, types.RequestParams, other)
    for method in NOTICED:
        made.add_notification_handler(method, types.NotificationParams, noticed)
    made.middleware.append(introduced)
    return made


async def main() -> None:
    serve = server()
    async with anyio.create_task_group() as group, stdio_server() as (reader, writer):
        BACKGROUND.append(group)
        await serve.run(reader, writer, serve.create_initialization_options())
        group.cancel_scope.cancel()


if __name__ == "__main__":
    anyio.run(main)'''
