"""A problem that the check found: its kind, the path to its place, and its fix.

The rules report it with a path. `locate.py` turns the path into an offset in the text.
"""

from __future__ import annotations

import enum
from math import isfinite
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

from humanmcp.protocol.diagnostics.model import Applicability, Diagnostic, Severity
from humanmcp.protocol.json.jsonrpc import as_json
from humanmcp.protocol.json.tree import pointer
from humanmcp.protocol.json.visible import one_line

if TYPE_CHECKING:
    from humanmcp.protocol.json.jsonrpc import Json

Step: TypeAlias = str | int
Path: TypeAlias = tuple[Step, ...]
"""The names and indexes that lead from the message to a value: `("result", "content", 0)`."""

Detail: TypeAlias = tuple[tuple[str, str], ...]
"""The names and texts that fill a sentence."""

LONGEST_QUOTE = 60
"""The maximum number of characters of a person's text that a sentence repeats."""


class FixKind(enum.Enum):
    """What a fix does to the value, member or list item at its path."""

    REPLACE = "replace"
    """Replace it with `new`."""
    RENAME = "rename"
    """Give the member the name `new`."""
    DELETE = "delete"
    """Remove the member or item, with one comma."""
    INSERT = "insert"
    """Add the member or item at the last step of the path, with the value `new`."""
    WRAP = "wrap"
    """Replace it with `new`, where `HOLE` becomes the value."""
    UNWRAP = "unwrap"
    """Keep only the part of the value at the steps `inner`."""


HOLE: Final = "\0"
"""The place of the wrapped value in the `new` of a `WRAP`. No JSON text can contain it."""
PLACEHOLDER: Final = "…"
"""The place in an example where a person writes something."""


class FixAction(NamedTuple):
    """A fix of a value: its kind, its path, and the code of its label."""

    does: FixKind
    path: Path
    new: str = ""
    inner: Path = ()
    label: str = "fix"


class ProblemKind:
    """A kind of problem: its code, its severity, and its place in the specification.

    Call it to report a problem of its kind. `everywhere`: a person makes this JSON mistake all over
    a text, so many are reported as one with one fix. `label` names the fix if the edit does not
    tell it, and `applicability` says how far the fix can be trusted. `always` fills each sentence.
    """

    name: str

    def __init__(  # noqa: PLR0913 - the columns of the table
        self,
        code: str,
        severity: Severity = Severity.ERROR,
        *,
        page: str = "",
        everywhere: bool = False,
        label: str = "",
        applicability: Applicability = Applicability.SAFE,
        **always: str,
    ) -> None:
        self.code, self.severity, self.page, self.always = code, severity, page, always
        self.everywhere, self.label, self.applicability = everywhere, label, applicability

    def __repr__(self) -> str:
        return self.name

    def __call__(
        self,
        path: Path = (),
        fix: FixAction | None = None,
        *,
        at_name: bool = False,
        broken: Detail = (),
        **fields: str,
    ) -> RawDiagnostic:
        """Report a problem.

        `fields` fill its sentence; `broken` is the violated rule of a JSON Schema.
        """
        detail = (*fields.items(), *self.always.items(), *broken)
        return RawDiagnostic(self, detail, path, fix, at_name, self.severity)


class RawDiagnostic(NamedTuple):
    """A problem whose place is still a path. `kinds.py` has the kinds.

    `detail` fills the sentence; with `at_name`, the place is the member's name.
    """

    kind: ProblemKind
    detail: Detail = ()
    path: Path = ()
    fix: FixAction | None = None
    at_name: bool = False
    severity: Severity = Severity.ERROR

    @property
    def code(self) -> str:
        """The short code of its kind."""
        return self.kind.code

    def without_fix(self, severity: Severity) -> RawDiagnostic:
        """Return the problem for a peer's message: with this severity, without a fix."""
        return self._replace(severity=severity, fix=None)

    def unplaced(self) -> Diagnostic:
        """Return it as a problem without a place in a text."""
        page = self.kind.page
        return Diagnostic(self.code, self.severity, self.detail, pointer(self.path), page=page)


def quoted(value: Json) -> str:
    """Return a value as JSON, without control characters and short enough for a sentence."""
    if isinstance(value, dict):
        return "{…}" if value else "{}"
    if isinstance(value, list):
        return "[…]" if value else "[]"
    if isinstance(value, str):
        value = value[: LONGEST_QUOTE + 1]
    return one_line(as_json(value), LONGEST_QUOTE)


def shown(text: str) -> str:
    """Return a person's text, without control characters and short enough for a sentence."""
    return one_line(text, LONGEST_QUOTE)


def replace_with(path: Path, value: Json, label: str = "replace") -> FixAction:
    """Return a fix that replaces the value at `path`."""
    return FixAction(FixKind.REPLACE, path, as_json(value), label=label)


def replace_with_integer(path: Path, value: Json) -> FixAction | None:
    """Return a fix that puts the integer there that a text holds, or that is next to a number."""
    if isinstance(value, float) and isfinite(value):
        return replace_with(path, round(value))
    digits = value.strip() if isinstance(value, str) else ""
    if digits.removeprefix("-").isdecimal() and digits.isascii() and len(digits) < 1000:
        return replace_with(path, int(digits), "unquote")
    return None


def rename_to(path: Path, name: str) -> FixAction:
    """Return a fix that renames the member at `path`."""
    return FixAction(FixKind.RENAME, path, as_json(name), label="rename")


def delete(path: Path) -> FixAction:
    """Return a fix that removes the member or item at `path`."""
    return FixAction(FixKind.DELETE, path, label="delete")


def insert(path: Path, value: Json) -> FixAction:
    """Return a fix that adds the member at the last step of `path`."""
    return FixAction(FixKind.INSERT, path, as_json(value), label="insert")


def wrap(path: Path, before: str, after: str) -> FixAction:
    """Return a fix that puts text around the value at `path`."""
    return FixAction(FixKind.WRAP, path, before + HOLE + after, label="wrap")


def unwrap(path: Path, inner: Path) -> FixAction:
    """Return a fix that keeps only a part of the value at `path`."""
    return FixAction(FixKind.UNWRAP, path, inner=inner, label="unwrap")
