"""Which arguments of a tool are mirrored into HTTP headers: the `x-mcp-header` of its schema.

https://modelcontextprotocol.io/specification/2026-07-28/server/tools#x-mcp-header
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from humanmcp.protocol.validation.json_schema import validator
from humanmcp.protocol.validation.json_schema.errors import DATA

if TYPE_CHECKING:
    from collections.abc import Iterator

    from humanmcp.protocol.diagnostics.locate import Path
    from humanmcp.protocol.json.jsonrpc import Json, JsonObject

HEADER: Final = "x-mcp-header"
_NAME: Final = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")
_TYPES: Final = ("string", "integer", "boolean")


def misplaced(schema: JsonObject) -> tuple[Path, Json] | None:
    """Return the first annotation that makes a tool invalid, and where it stands; None for none.

    "An `x-mcp-header` annotation anywhere else makes the annotation — and thus the tool definition
    — invalid." https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/streamable-http#schema-extension
    """
    seen: set[str] = set()
    for at, part, reachable in _marked(schema) if validator.within_limits(schema) else ():
        name = part[HEADER]
        fits = isinstance(name, str) and _NAME.fullmatch(name) and name.lower() not in seen
        if not fits or not reachable or part.get("type") not in _TYPES:
            return (*at, HEADER), name
        seen.add(name.lower())
    return None


def mirrored(schema: JsonObject) -> tuple[tuple[tuple[str, ...], str, str], ...]:
    """List what is mirrored: the path of the argument, the name of its header, its type.

    Nothing of a schema that is invalid: "the client MUST exclude the invalid tool".
    """
    if misplaced(schema) is not None:
        return ()
    marked = _marked(schema) if validator.within_limits(schema) else ()
    return tuple(
        (tuple(str(step) for step in at[1::2]), part[HEADER], part["type"])
        for at, part, _reachable in marked
    )


def _marked(schema: JsonObject) -> Iterator[tuple[Path, JsonObject, bool]]:
    """List the parts of a schema that have a header: where, and whether by properties alone.

    What stands in `properties` is no schema but names of schemas: an argument may be called so.
    """
    waiting: list[tuple[Path, Json, bool, bool]] = [((), schema, True, False)]
    while waiting:
        at, part, reachable, names = waiting.pop()
        if isinstance(part, list):
            waiting += [((*at, step), item, False, False) for step, item in enumerate(part)]
        if not isinstance(part, dict):
            continue
        if HEADER in part and not names:
            yield at, part, reachable and bool(at)
        for name, item in part.items():
            opens = name == "properties" and not names
            if names or name not in DATA:
                waiting.append(((*at, name), item, reachable and (names or opens), opens))
