"""What a check finds before it is known where that stands in the text.

The shapes and the lints judge decoded values: they name a place by its path and a mend by what it
does. `locate.py` turns both into offsets of the text as typed, and only when there is something to
report: a valid answer never pays for a map of its positions.
"""

from __future__ import annotations

import enum
import json
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from humanmcp.protocol.json.escaping import one_line

if TYPE_CHECKING:
    from humanmcp.protocol.diagnostics.model import Severity
    from humanmcp.protocol.json.jsonrpc import Json

Step: TypeAlias = str | int
Path: TypeAlias = tuple[Step, ...]
"""The names and indexes that lead from the message to a value: `("result", "content", 0)`."""

LONGEST_QUOTE = 60
"""Characters of somebody's own text that a sentence repeats."""


class FixKind(enum.Enum):
    """What a mend does to the value, member or list item that stands at its path."""

    REPLACE = "replace"
    """Put `new` in its place."""
    RENAME = "rename"
    """Give the member the name `new`."""
    DELETE = "delete"
    """Take the member or item out, with one comma."""
    INSERT = "insert"
    """Add the member or item that the last step of the path names, with the value `new`."""
    WRAP = "wrap"
    """Put the value where `new` has its `HOLE`."""
    UNWRAP = "unwrap"
    """Keep only the part of the value that the steps `inner` lead to."""


HOLE = "\0"
"""Where the wrapped value goes in the `new` of a `WRAP`. No JSON text can contain it."""


class FixAction(NamedTuple):
    """A fix as an act on a value: what it does, to which one, and the code of its label."""

    does: FixKind
    path: Path
    new: str = ""
    inner: Path = ()
    label: str = "fix"


class RawDiagnostic(NamedTuple):
    """One finding: a problem whose place is still a path. `at_name` points at the member's name.

    `level` is None for the level that `codes.py` gives the code.
    """

    code: str
    path: Path
    detail: tuple[tuple[str, str], ...] = ()
    mend: FixAction | None = None
    level: Severity | None = None
    at_name: bool = False


def quoted(value: Json) -> str:
    """Return a value as JSON, safe to show and short enough for a sentence."""
    if isinstance(value, dict):
        return "{…}" if value else "{}"
    if isinstance(value, list):
        return "[…]" if value else "[]"
    if isinstance(value, str):
        value = value[: LONGEST_QUOTE + 1]
    return one_line(json.dumps(value, ensure_ascii=False), LONGEST_QUOTE)


def shown(text: str) -> str:
    """Return somebody's own text, safe to show and short enough for a sentence."""
    return one_line(text, LONGEST_QUOTE)


def json_text(value: Json) -> str:
    """Write a value of our own as JSON, the way a person would type it on one line."""
    return json.dumps(value, ensure_ascii=False)


def replace_with(path: Path, value: Json, label: str = "replace") -> FixAction:
    """Mend by putting another value in the place."""
    return FixAction(FixKind.REPLACE, path, json_text(value), label=label)


def rename_to(path: Path, name: str) -> FixAction:
    """Mend by giving the member at `path` another name."""
    return FixAction(FixKind.RENAME, path, json_text(name), label="rename")


def delete(path: Path) -> FixAction:
    """Mend by taking the member or item at `path` out."""
    return FixAction(FixKind.DELETE, path, label="delete")


def insert(path: Path, value: Json) -> FixAction:
    """Mend by adding the member that the last step of `path` names."""
    return FixAction(FixKind.INSERT, path, json_text(value), label="insert")


def wrap(path: Path, before: str, after: str) -> FixAction:
    """Mend by putting text around the value at `path`."""
    return FixAction(FixKind.WRAP, path, before + HOLE + after, label="wrap")


def unwrap(path: Path, inner: Path) -> FixAction:
    """Mend by keeping only a part of the value at `path`."""
    return FixAction(FixKind.UNWRAP, path, inner=inner, label="unwrap")
