"""Write the shapes that the page's scripts read as TypeScript: for the check of the scripts alone.

They come from the same OpenAPI as the reference. `make check` and `make docs` write them.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from docs.make_api import SCHEMAS, shapes
from humanmcp.desk.inbox import inbox_page

if TYPE_CHECKING:
    from collections.abc import Mapping

MADE: Final = Path(__file__).parent.parent / "build" / "types" / "desk.d.ts"
"""Where `editor/tsconfig.json` finds it."""
_PLAIN: Final = {"integer": "number"}


def declarations() -> str:
    """Write every shape of the interface, and what the composer starts from, as TypeScript."""
    lines = ["// Made from `/api/openapi.json` by `make docs`."]
    for name, shape in shapes([inbox_page.InitialState]).items():
        if "enum" in shape:
            lines.append(f"type {name} = {_written(shape)};")
            continue
        needed = shape.get("required", ())
        lines += [f"/** {shape.get('description', '')} */", f"interface {name} {{"]
        for member, held in shape["properties"].items():
            lines.append(f"  {member}{'' if member in needed else '?'}: {_written(held)};")
        lines.append("}")
    return "\n".join([*lines, ""])


def _written(schema: Mapping[str, Any]) -> str:  # noqa: PLR0911 - one line for each kind of schema
    match schema:
        case {"$ref": name}:
            return str(name.removeprefix(SCHEMAS))
        case {"anyOf": choices}:
            return " | ".join(_written(one) for one in choices)
        case {"enum": values}:
            return " | ".join(json.dumps(one) for one in values)
        case {"prefixItems": parts}:
            return f"[{', '.join(_written(one) for one in parts)}]"
        case {"type": "array", "items": inner}:
            return f"Array<{_written(inner)}>"
        case {"type": "object", "additionalProperties": inner}:
            return f"Record<string, {'any' if inner is True else _written(inner)}>"
        case {"type": kind}:
            return _PLAIN.get(kind, str(kind))
        case _:
            return "any"


if __name__ == "__main__":
    MADE.parent.mkdir(parents=True, exist_ok=True)
    MADE.write_text(declarations(), encoding="utf-8")
