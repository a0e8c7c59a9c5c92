"""What MCP asks of tools and of what they return, beyond the shapes."""

from __future__ import annotations

import binascii
import re
from typing import TYPE_CHECKING, Final

from humanmcp.protocol.diagnostics.raw import RawDiagnostic, json_text, quoted, replace_with, shown
from humanmcp.protocol.spec.versions import features
from humanmcp.protocol.validation.json_schema import validator
from humanmcp.protocol.validation.json_schema.references import DATA

if TYPE_CHECKING:
    from collections.abc import Iterator

    from humanmcp.protocol.conversation.exchange import Exchange, Known
    from humanmcp.protocol.diagnostics.raw import Path
    from humanmcp.protocol.json.jsonrpc import Json, JsonObject


def tools(exchange: Exchange, value: JsonObject, _known: Known, path: Path) -> list[RawDiagnostic]:
    """Judge the answer to `tools/list`."""
    listed, at = value.get("tools"), (*path, "tools")
    if not isinstance(listed, list):
        return []
    found: list[RawDiagnostic] = []
    seen: set[str] = set()
    for index, tool in enumerate(listed):
        if not isinstance(tool, dict):
            continue
        where = (*at, index)
        name = tool.get("name")
        if isinstance(name, str):
            if name in seen:
                detail = (("key", "name"), ("value", shown(name)))
                found.append(RawDiagnostic("M38", (*where, "name"), detail))
            seen.add(name)
        for member in ("inputSchema", "outputSchema"):
            found += _schema(exchange, tool.get(member), (*where, member))
    return found


def _schema(exchange: Exchange, schema: Json, path: Path) -> list[RawDiagnostic]:
    if not isinstance(schema, dict):
        return []
    required, properties = schema.get("required"), schema.get("properties")
    if "required" in schema and not isinstance(required, list):
        if not features(exchange.revision).any_schema:
            return []  # the shape says so
        detail = (("key", "required"), ("got", "text"), ("example", '["…"]'))
        mend = replace_with((*path, "required"), [required]) if isinstance(required, str) else None
        return [RawDiagnostic("M01", (*path, "required"), detail, mend)]
    for code, look in (("M40", validator.trouble_in), ("M92", validator.unusable_in)):
        trouble = look(schema)
        if trouble is not None:
            inside, rule = trouble
            return [RawDiagnostic(code, (*path, *inside), rule)]
    names = properties if isinstance(properties, dict) else {}
    missing = [each for each in required or () if isinstance(each, str) and each not in names]
    found = _headers(schema, path) if features(exchange.revision).header_arguments else []
    if missing and "$ref" not in schema and "allOf" not in schema:
        at = (*path, "required")
        found.append(RawDiagnostic("M41", at, (("key", shown(missing[0])),)))
    return found


HEADER: Final = "x-mcp-header"
_HEADER_NAME: Final = r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+"
_IN_A_HEADER: Final = frozenset({"string", "integer", "boolean"})


def _headers(schema: JsonObject, path: Path) -> list[RawDiagnostic]:
    """MCP 2026-07-28, tools: which arguments may be mirrored into headers, and under which names.

    "Clients MUST reject tool definitions where any `x-mcp-header` value violates these
    constraints." https://modelcontextprotocol.io/specification/2026-07-28/server/tools#x-mcp-header
    """
    seen: set[str] = set()
    for at, part, reachable in _marked(schema) if validator.within_limits(schema) else ():
        name = part[HEADER]
        fits = (
            isinstance(name, str) and re.fullmatch(_HEADER_NAME, name) and name.lower() not in seen
        )
        if not fits or not reachable or part.get("type") not in _IN_A_HEADER:
            return [RawDiagnostic("M99", (*path, *at, HEADER), (("value", quoted(name)),))]
        seen.add(name.lower())
    return []


def _marked(schema: JsonObject) -> Iterator[tuple[Path, JsonObject, bool]]:
    """List the parts of a schema that have a header: where, and whether by properties alone."""
    waiting: list[tuple[Path, Json, bool]] = [((), schema, True)]
    while waiting:
        at, part, reachable = waiting.pop()
        if isinstance(part, list):
            waiting += [((*at, step), item, False) for step, item in enumerate(part)]
        if not isinstance(part, dict):
            continue
        if HEADER in part and at[-1:] != ("properties",):
            yield at, part, reachable and bool(at)
        named = at[-1:] == ("properties",)
        waiting += [
            ((*at, name), item, reachable and (named or name == "properties"))
            for name, item in part.items()
            if named or name not in DATA
        ]


def called_tool(
    exchange: Exchange, value: JsonObject, known: Known, path: Path
) -> list[RawDiagnostic]:
    """Judge the answer to `tools/call` against what the tool declares."""
    found = _pictures(value.get("content"), (*path, "content"))
    if not features(exchange.revision).structured_content or "task" in value:
        return found
    tool = (known.tools or {}).get(exchange.tool)
    schema = tool.get("outputSchema") if isinstance(tool, dict) else None
    at = (*path, "structuredContent")
    if "structuredContent" not in value:
        if schema is not None and value.get("isError") is not True:
            found.append(RawDiagnostic("M58", path, (("tool", shown(exchange.tool)),)))
        return found
    structured = value["structuredContent"]
    if schema is not None and value.get("isError") is not True:
        found += validator.first_found("M06", structured, schema, at)
    fitting = isinstance(structured, dict) or features(exchange.revision).any_schema
    if value.get("content") == [] and fitting:
        content = (*path, "content")
        mend = None
        if not validator.is_large(structured):
            again = [{"type": "text", "text": json_text(structured)}]
            mend = replace_with(content, again)
        found.append(RawDiagnostic("M59", content, (), mend))
    return found


_MAGIC: Final = (
    ("image/png", b"\x89PNG"),
    ("image/jpeg", b"\xff\xd8\xff"),
    ("image/gif", b"GIF8"),
    ("image/webp", b"RIFF"),
    ("audio/wav", b"RIFF"),
    ("audio/ogg", b"OggS"),
    ("audio/flac", b"fLaC"),
)
"""How files of a type begin. Types of other names are taken at their word."""


def _pictures(content: Json, path: Path) -> list[RawDiagnostic]:
    """Compare the first bytes of images and sounds with the type they are said to be of."""
    found: list[RawDiagnostic] = []
    for at, block in enumerate(content if isinstance(content, list) else []):
        if not isinstance(block, dict) or block.get("type") not in ("image", "audio"):
            continue
        said, encoded = block.get("mimeType"), block.get("data")
        begins = [magic for mime, magic in _MAGIC if mime == said]
        if not begins or not isinstance(encoded, str) or not encoded:
            continue
        try:
            first = binascii.a2b_base64(encoded[:24], strict_mode=True)
        except (binascii.Error, ValueError):
            continue  # the shape says so
        if any(first.startswith(magic) for magic in begins):
            continue
        really = next((mime for mime, magic in _MAGIC if first.startswith(magic)), "")
        where = (*path, at, "mimeType")
        mend = replace_with(where, really) if really else None
        detail = (("said", shown(str(said))), ("really", really or "?"))
        found.append(RawDiagnostic("M66", where, detail, mend))
    return found


def refused_call(exchange: Exchange, error: JsonObject, known: Known) -> list[RawDiagnostic]:
    """MCP, tools: what a model could mend belongs into a result with `isError`."""
    unknown = known.tools is not None and exchange.tool not in known.tools
    code = error.get("code")
    if code in (-32700, -32600, -32601, -32603, -32042, -32021, -32022) or unknown:
        return []
    return [RawDiagnostic("M50", ("error",))]
