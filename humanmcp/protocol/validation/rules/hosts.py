"""Rules of known hosts, for what MCP allows: hints, each with who refuses it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from humanmcp.protocol.diagnostics import host_limits as limits
from humanmcp.protocol.diagnostics import kinds
from humanmcp.protocol.json.tree import leaves
from humanmcp.protocol.validation.json_schema.references import DATA
from humanmcp.protocol.validation.json_schema.validator import is_large
from humanmcp.protocol.validation.rules.registry import rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from humanmcp.protocol.diagnostics.problem import Path, RawDiagnostic
    from humanmcp.protocol.json.jsonrpc import Json, JsonObject
    from humanmcp.protocol.validation.rules.registry import JudgedAnswer

_DOTTED: Final = re.compile(r"[A-Za-z0-9_.-]{1,128}")


@rule("tools/list")
def tools_that_hosts_take(answer: JudgedAnswer) -> Iterator[RawDiagnostic]:
    """Check the number, the names and the input schemas of tools."""
    listed = answer.value.get("tools")
    tools = listed if isinstance(listed, list) else []
    if len(tools) > limits.MOST_TOOLS:
        count, hosts = str(len(tools)), limits.MANY_TOOLS.hosts
        yield kinds.many_tools(answer.at("tools"), count=count, hosts=hosts)
    for index, tool in enumerate(tools):
        if not isinstance(tool, dict):
            continue
        name, schema = tool.get("name"), tool.get("inputSchema")
        at, key = answer.at("tools", index, "name"), f"tools[{index}].name"
        if isinstance(name, str) and _DOTTED.fullmatch(name):
            if "." in name:
                yield kinds.dotted_tool_name(at, key=key, hosts=limits.NAME_CHARACTERS.hosts)
            if len(name) > limits.LONGEST_NAME:
                count, hosts = str(len(name)), limits.NAME_LENGTH.hosts
                yield kinds.long_tool_name(at, key=key, count=count, hosts=hosts)
        if isinstance(schema, dict) and not is_large(schema):
            yield from _schema(schema, answer.at("tools", index, "inputSchema"))


def _schema(schema: JsonObject, path: Path) -> Iterator[RawDiagnostic]:
    """Report the first place of each kind."""
    for keyword in ("oneOf", "anyOf", "allOf"):
        if keyword in schema:
            hosts = limits.COMBINED_AT_TOP.hosts
            yield kinds.combined_schema_at_top((*path, keyword), key=keyword, hosts=hosts)
            break
    inner = list(_objects(schema, path))
    for at, one in inner:
        if one.get("type") == "array" and not {"items", "prefixItems"} & one.keys():
            yield kinds.array_without_items(at, hosts=limits.ARRAY_WITHOUT_ITEMS.hosts)
            break
    for at, one in inner:
        if isinstance(one.get("type"), list) and at != path:
            yield kinds.list_of_types((*at, "type"), hosts=limits.LIST_OF_TYPES.hosts)
            break


def _objects(value: Json, path: Path) -> Iterator[tuple[Path, JsonObject]]:
    """Yield the objects of a schema that may be schemas, each with its path."""
    if isinstance(value, dict):
        yield path, value
        for name, one in value.items():
            if name not in DATA:
                yield from _objects(one, (*path, name))
    elif isinstance(value, list):
        for index, one in enumerate(value):
            yield from _objects(one, (*path, index))


@rule("tools/call")
def integers_that_javascript_keeps(answer: JudgedAnswer) -> Iterator[RawDiagnostic]:
    """Report the first integer that is no exact number in JavaScript."""
    structured = answer.value.get("structuredContent")
    if structured is None or is_large(structured):
        return
    for at, leaf in leaves(structured, answer.at("structuredContent")):
        if type(leaf) is int and abs(leaf) > limits.LARGEST_INTEGER:
            hosts = limits.LARGE_INTEGER.hosts
            yield kinds.large_integer(at, value=str(leaf)[:40], hosts=hosts)
            return
