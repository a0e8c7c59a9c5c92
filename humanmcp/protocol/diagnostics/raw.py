"""What a check finds before it is known where that stands in the text.

The shapes and the lints judge decoded values: they name a place by its path and a fix by what it
does. `locate.py` turns both into offsets of the text as typed, and only when there is something to
report: a valid answer never pays for a map of its positions.
"""

from __future__ import annotations

import enum
import json
from typing import TYPE_CHECKING, Any, ClassVar, Final, NamedTuple, TypeAlias, dataclass_transform

from humanmcp.protocol.diagnostics.model import Diagnostic, Severity
from humanmcp.protocol.json.escaping import one_line
from humanmcp.protocol.json.tree import pointer

if TYPE_CHECKING:
    from humanmcp.protocol.json.jsonrpc import Json

Step: TypeAlias = str | int
Path: TypeAlias = tuple[Step, ...]
"""The names and indexes that lead from the message to a value: `("result", "content", 0)`."""

Detail: TypeAlias = tuple[tuple[str, str], ...]
"""What fills a sentence: names and texts."""

LONGEST_QUOTE = 60
"""Characters of a person's own text that a sentence repeats."""


class FixKind(enum.Enum):
    """What a fix does to the value, member or list item that stands at its path."""

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


HOLE: Final = "\0"
"""Where the wrapped value goes in the `new` of a `WRAP`. No JSON text can contain it."""
PLACEHOLDER: Final = "…"
"""What an example of ours says where a person's own words belong."""


class FixAction(NamedTuple):
    """A fix as an act on a value: what it does, to which one, and the code of its label."""

    does: FixKind
    path: Path
    new: str = ""
    inner: Path = ()
    label: str = "fix"


def _placed(*, default: Any = ..., kw_only: bool = False) -> Any:  # noqa: ANN401 - as `field` is
    """Tell mypy which fields may be given by their position."""


@dataclass_transform(kw_only_default=True, field_specifiers=(_placed,))
class _Typed:
    """What makes the annotations of a diagnostic's class the arguments of it, for mypy."""


class RawDiagnostic(_Typed):
    """One problem, whose place is still a path.

    Each kind is a class that registers itself by its code; its docstring is the reason, `page` is
    where the specification says so. Its fields fill its sentence, which stands under the code in
    `locales/` in each language, and mypy holds its makers to them. `at_name` points at the
    member's name.
    """

    code: ClassVar[str] = ""
    severity: ClassVar[Severity]
    page: ClassVar[str] = ""
    if TYPE_CHECKING:
        path: Path = _placed(default=(), kw_only=False)
        fix: FixAction | None = _placed(default=None, kw_only=False)
        at_name: bool = False

        @property
        def detail(self) -> Detail:
            """Return what fills its sentence."""

    else:

        def __init__(self, path=(), fix=None, *, at_name=False, broken=(), **fillings):  # noqa: ANN001, ANN003, ANN204
            detail = (*fillings.items(), *broken)
            fillings.update(path=path, fix=fix, at_name=at_name, detail=detail)
            self.__dict__ = fillings  # of a text with 40,000 problems a copy of each would count

    def __init_subclass__(
        cls, *, code: str = "", severity: Severity = Severity.ERROR, page: str = ""
    ) -> None:
        """Register a kind of diagnostic under its code. A family hands its page down."""
        cls.code, cls.severity, cls.page = code, severity, page or cls.page
        if code and KINDS.setdefault(code, cls) is not cls:
            raise TypeError(f"{code} is the code of {KINDS[code].__name__}")

    def without_fix(self, severity: Severity) -> RawDiagnostic:
        """Return the same as it is said of what the peer sent: so bad, and without a fix."""
        other: RawDiagnostic = object.__new__(type(self))
        vars(other).update(vars(self), severity=severity, fix=None)
        return other

    def unplaced(self) -> Diagnostic:
        """Return it as a problem of a message whose text is not looked at."""
        return Diagnostic(self.code, self.severity, self.detail, pointer(self.path))


KINDS: Final[dict[str, type[RawDiagnostic]]] = {}
"""Every class of a diagnostic, by its code."""


class SchemaDiagnostic(RawDiagnostic):
    """What does not fit a JSON Schema: which rule is broken fills the sentence of that rule."""

    broken: Detail


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
    """Return a person's own text, safe to show and short enough for a sentence."""
    return one_line(text, LONGEST_QUOTE)


def json_text(value: Json) -> str:
    """Write a value of our own as JSON, the way a person would type it on one line."""
    return _write_json(value)


_write_json: Final = json.JSONEncoder(ensure_ascii=False).encode
"""`json.dumps` makes such an encoder anew for each value."""


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
