"""Write the shapes that the page's scripts read as TypeScript: for the check of the scripts alone.

A TypedDict of Python becomes an interface; `Annotated[str, SomeEnum]` becomes the values of the
enum. `make check` and `make docs` write it.
"""

from __future__ import annotations

import inspect
import json
import types
from pathlib import Path
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    Final,
    Literal,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)

from typing_extensions import is_typeddict

from humanmcp.answering.schema import exchanges, interface

if TYPE_CHECKING:
    import enum
    from collections.abc import Iterator

_PLAIN: Final = {str: "string", int: "number", float: "number", bool: "boolean", Any: "any"}

MADE: Final = Path(__file__).parent.parent / "build" / "types" / "desk.d.ts"
"""Where `editor/tsconfig.json` finds it."""
NOTICE: Final = "// Made from humanmcp/answering/schema/ by `make docs`."


def declarations() -> str:
    """Write every shape, in the order of the module."""
    return "\n".join(
        [
            NOTICE,
            *_all(),
            "",
        ]
    )


def _all() -> Iterator[str]:
    for name, value in {**vars(exchanges), **vars(exchanges), **vars(interface)}.items():
        if is_typeddict(value):
            yield from (
                "",
                f"/** {inspect.getdoc(value) or ''} */",
                f"interface {name} {{",
            )
            for member, hint in get_type_hints(value, include_extras=True).items():
                optional = "" if member in value.__required_keys__ else "?"
                yield f"  {member}{optional}: {written(hint)};"
            yield "}"
        elif get_origin(value) is Literal:
            yield from ("", f"type {name} = {written(value)};")


def written(hint: Any) -> str:  # noqa: ANN401, PLR0911 - one line for each kind of annotation
    """Write an annotation of Python as a type of TypeScript.

    Raises:
        TypeError: there is no way to write it.
    """
    arguments = get_args(hint)
    match get_origin(hint):
        case None if hint in _PLAIN:
            return _PLAIN[hint]
        case None if hint is types.NoneType:
            return "null"
        case None if is_typeddict(hint):
            return str(hint.__name__)
        case origin if origin is Annotated:
            kind: type[enum.Enum] = arguments[1]
            return " | ".join(json.dumps(one.value) for one in kind)
        case origin if origin is Literal:
            return " | ".join(json.dumps(one) for one in arguments)
        case origin if origin in (types.UnionType, Union):
            return " | ".join(written(one) for one in arguments)
        case origin if origin is list:
            return f"Array<{written(arguments[0])}>"
        case origin if origin is tuple:
            return f"[{', '.join(written(one) for one in arguments)}]"
        case origin if origin is dict:
            return f"Record<string, {written(arguments[1])}>"
    raise TypeError(hint)


if __name__ == "__main__":
    MADE.parent.mkdir(parents=True, exist_ok=True)
    MADE.write_text(declarations(), encoding="utf-8")
