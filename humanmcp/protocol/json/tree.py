# ruff: noqa: ANN401 - any JSON value
"""Read a decoded JSON value: find one place in it, iterate its leaves, or change each leaf.

A leaf is a string, a number, `true`, `false` or `null`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from humanmcp.protocol.json.jsonrpc import TOKEN

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable, Iterator


_ESCAPED: Final = str.maketrans({"~": "~0", "/": "~1"})
_LONGEST_INDEX: Final = 9
"""The maximum number of digits of an index; Python converts at most about 4,300."""


def follow(value: Any, *steps: str | int, missing: Any = None) -> Any:
    """Return the value at names and indexes below `value`; `missing` if there is none.

    An index may be a string, as in a JSON Pointer.
    """
    for step in steps:
        if isinstance(value, dict) and step in value:
            value = value[step]
        elif isinstance(value, list) and _index(step) < len(value):
            value = value[int(step)]
        else:
            return missing
    return value


def object_at(value: Any, *steps: str | int) -> dict[str, Any]:
    """Return the object at these steps of a received value; {} if there is none."""
    found = follow(value, *steps)
    return found if isinstance(found, dict) else {}


def array_at(value: Any, *steps: str | int) -> list[Any]:
    """Return the array at these steps; [] if there is none."""
    found = follow(value, *steps)
    return found if isinstance(found, list) else []


def objects_at(value: Any, *steps: str | int) -> list[dict[str, Any]]:
    """Return the objects in the array at these steps."""
    return [one for one in array_at(value, *steps) if isinstance(one, dict)]


def text_at(value: Any, *steps: str | int) -> str:
    """Return the string at these steps; "" if there is none."""
    found = follow(value, *steps)
    return found if isinstance(found, str) else ""


def at(value: Any, text: str, missing: Any = None) -> Any:
    """Return the value at a JSON Pointer; `missing` if there is none."""
    steps = (step.replace("~1", "/").replace("~0", "~") for step in text.split("/")[1:])
    return follow(value, *steps, missing=missing)


def pointer(path: Iterable[object]) -> str:
    """Write a path as a JSON Pointer (RFC 6901)."""
    return "".join(f"/{str(step).translate(_ESCAPED)}" for step in path)


def _index(step: str | int) -> float:
    """Return a step as an index; infinity if it has a sign or a leading zero."""
    name = str(step)
    is_one = name.isascii() and name.isdecimal() and (name == "0" or name[0] != "0")
    return int(name) if is_one and len(name) <= _LONGEST_INDEX else float("inf")


def leaves(
    value: Any, path: tuple[str | int, ...] = (), names: Container[str | int] | None = None
) -> Iterator[tuple[tuple[str | int, ...], Any]]:
    """Yield each leaf of a value with its path, in order; with `names`, the members so called."""
    if not isinstance(value, (dict, list, tuple)):
        yield path, value
        return
    opened = [(path, _parts(value))]
    while opened:
        path, parts = opened[-1]
        for step, part in parts:
            if isinstance(part, (dict, list, tuple)):
                opened.append(((*path, step), _parts(part)))
                break
            if names is None or step in names:
                yield (*path, step), part
        else:
            opened.pop()


def _parts(value: dict[str, Any] | list[Any] | tuple[Any, ...]) -> Iterator[tuple[Any, Any]]:
    """Return the members or items of a value, each with its name or index."""
    return iter(value.items() if isinstance(value, dict) else enumerate(value))


def mapped(value: Any, change: Callable[[Any], Any], *, names: bool = False) -> Any:
    """Return a value with each leaf changed, and with `names` also each member name."""
    match value:
        case dict():
            return {
                change(name) if names else name: mapped(part, change, names=names)
                for name, part in value.items()
            }
        case list() | tuple():
            return type(value)([mapped(part, change, names=names) for part in value])
        case _:
            return change(value)


def well_formed(value: Any) -> Any:
    """Return a value with U+FFFD for each unpaired surrogate, which cannot be encoded."""
    return mapped(value, _whole, names=True)


def _whole(leaf: Any) -> Any:
    if not isinstance(leaf, str) or leaf.isascii():
        return leaf
    return leaf.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


_CLOSES: Final = {"{": "}", "[": "]"}

DEEPEST_INDENT: Final = 40
"""The maximum number of indented levels: 100,000 brackets would need 20 GB of spaces."""


def pretty(text: str) -> str:
    """Return a JSON text with one member or item per line; quickly, even if it is not JSON."""
    parts: list[str] = []
    depth = 0
    pieces = [found[0] for found in TOKEN.finditer(text)]
    for at, piece in enumerate(pieces):
        following = pieces[at + 1] if at + 1 < len(pieces) else ""
        if piece in _CLOSES:
            parts.append(piece)
            if following != _CLOSES[piece]:
                depth += 1
                parts.append(_new_line(depth))
        elif piece in ("}", "]"):
            if not (parts and parts[-1] in _CLOSES):
                depth = max(0, depth - 1)
                parts.append(_new_line(depth))
            parts.append(piece)
        elif piece == ",":
            parts.extend((piece, _new_line(depth)))
        elif piece == ":":
            parts.append(": ")
        else:
            parts.append(piece)
    return "".join(parts)


def _new_line(depth: int) -> str:
    return "\n" + "  " * min(depth, DEEPEST_INDENT)
