"""Rules of known hosts, for what MCP allows: hints, each with who refuses it."""

from __future__ import annotations

import re
from itertools import islice
from typing import TYPE_CHECKING, Final

from humanmcp.protocol.diagnostics import kinds
from humanmcp.protocol.diagnostics.locate import MOST_PLACED
from humanmcp.protocol.diagnostics.problem import shown
from humanmcp.protocol.json.tree import array_at, leaves, object_at
from humanmcp.protocol.validation.json_schema.references import objects_in
from humanmcp.protocol.validation.json_schema.validator import is_large
from humanmcp.protocol.validation.rules.registry import rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from humanmcp.protocol.diagnostics.problem import Detail, Path, RawDiagnostic
    from humanmcp.protocol.json.jsonrpc import JsonObject
    from humanmcp.protocol.validation.rules.registry import JudgedAnswer

_DOTTED: Final = re.compile(r"[A-Za-z0-9_.-]{1,128}")
_PROPERTY: Final = re.compile(r"[a-zA-Z0-9_.-]{1,64}")
"""The names of the top properties that the Claude API takes; it does not look at nested ones."""
_NOT_OF_GEMINI: Final = (
    *("exclusiveMinimum", "exclusiveMaximum", "const"),
    *("propertyNames", "patternProperties"),
)
"""Keywords that the Gemini API does not know. Hosts remove other ones, such as `$schema`."""
LONGEST_NAME: Final = 64
MOST_TOOLS: Final = 128
LARGEST_INTEGER: Final = 2**53


@rule("tools/list")
def tools_that_hosts_take(answer: JudgedAnswer) -> Iterator[RawDiagnostic]:
    """Check the number, the names and the input schemas of tools: as many hints as get a place."""
    return islice(_tools(answer), MOST_PLACED)


def _tools(answer: JudgedAnswer) -> Iterator[RawDiagnostic]:
    tools = array_at(answer.value, "tools")
    if len(tools) > MOST_TOOLS:
        yield kinds.many_tools(answer.at("tools"), count=str(len(tools)))
    for index, tool in enumerate(tools):
        if not isinstance(tool, dict):
            continue
        name, schema = tool.get("name"), tool.get("inputSchema")
        if (
            isinstance(name, str)
            and ("." in name or len(name) > LONGEST_NAME)
            and _DOTTED.fullmatch(name)
        ):
            at, key = answer.at("tools", index, "name"), f"tools[{index}].name"
            if "." in name:
                yield kinds.dotted_tool_name(at, key=key)
            if len(name) > LONGEST_NAME:
                yield kinds.long_tool_name(at, key=key, count=str(len(name)))
        if isinstance(schema, dict) and not is_large(schema):
            yield from _schema(schema, answer.at("tools", index, "inputSchema"))


def _schema(schema: JsonObject, path: Path) -> Iterator[RawDiagnostic]:
    """Report the first place of each kind."""
    keyword = next((one for one in ("oneOf", "anyOf", "allOf") if one in schema), None)
    if keyword is not None:
        yield kinds.combined_schema_at_top((*path, keyword), key=keyword)
    unusual = [name for name in object_at(schema, "properties") if not _PROPERTY.fullmatch(name)]
    if unusual:
        at, names = (*path, "properties", unusual[0]), shown(", ".join(unusual))
        yield kinds.unusual_property_name(at, at_name=True, names=names)
    told: set[tuple[str, Detail]] = set()
    for part in objects_in(schema):
        for each in () if part.names else _refused_in(part.value, (*path, *part.path)):
            if (each.code, each.detail) not in told and each.path != (*path, "type"):
                told.add((each.code, each.detail))
                yield each


def _refused_in(schema: JsonObject, path: Path) -> Iterator[RawDiagnostic]:
    """Report what hosts refuse in one subschema."""
    if schema.get("type") == "array" and not {"items", "prefixItems"} & schema.keys():
        yield kinds.array_without_items(path)
    if isinstance(schema.get("type"), list):
        yield kinds.list_of_types((*path, "type"))
    for keyword in _NOT_OF_GEMINI:
        if keyword in schema:
            yield kinds.keyword_unknown_to_gemini((*path, keyword), key=keyword)
    values = schema.get("enum")
    if isinstance(values, list) and not (
        schema.get("type") == "string" and all(isinstance(one, str) and one for one in values)
    ):
        yield kinds.enum_not_of_text((*path, "enum"))


@rule("tools/call")
def integers_that_javascript_keeps(answer: JudgedAnswer) -> Iterator[RawDiagnostic]:
    """Report the first integer that is no exact number in JavaScript."""
    structured = answer.value.get("structuredContent")
    if structured is None or is_large(structured):
        return
    for at, leaf in leaves(structured, answer.at("structuredContent")):
        if type(leaf) is int and abs(leaf) > LARGEST_INTEGER:
            yield kinds.large_integer(at, value=str(leaf)[:40])
            return
