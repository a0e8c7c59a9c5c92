"""Turn the path of a problem into an offset in the text, and its fix into an edit.

It reads only the part of the text that leads to a problem, so a valid text costs nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from humanmcp.protocol.diagnostics.model import (
    Applicability,
    Diagnostic,
    Fix,
    LineIndex,
    Severity,
    TextEdit,
)
from humanmcp.protocol.diagnostics.problem import HOLE, FixKind, Path
from humanmcp.protocol.json.jsonrpc import item_spans, member_spans, skip_space
from humanmcp.protocol.json.tree import pointer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from humanmcp.protocol.diagnostics.problem import FixAction, RawDiagnostic, Step

MOST_PLACED: Final = 1000
"""The maximum number of problems that get a place: a text may have a million of them."""


class Spot(NamedTuple):
    """The place of a value; `name_start` is the offset of its name, or of the value in a list."""

    name_start: int
    name_end: int
    start: int
    end: int


class Source(NamedTuple):
    """A valid JSON text in which problems get a place.

    `root` are the steps from the message to the text: empty for a whole message, `("result",)` if a
    person typed only the result. `typed` maps an offset of `json` to the text as typed, because
    fixes may have made it valid. `page` is that of the method, for kinds without one.
    """

    json: str
    text: str
    root: Path = ()
    typed: Callable[[int], int] | None = None
    page: str = ""


class Placer:
    """Finds the place of problems in one text. It keeps the members that it has read."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self._lines = LineIndex(source.text)
        self._inside: dict[int, _Inside] = {}
        start = skip_space(source.json, 0)
        self._whole = Spot(start, start, start, max(start, len(source.json.rstrip())))

    def diagnostics(self, found: Iterable[RawDiagnostic]) -> list[Diagnostic]:
        """Place the problems; of more than a thousand only the first thousand, errors first."""
        found = list(found)
        if len(found) > MOST_PLACED:
            found = sorted(found, key=lambda each: each.severity is not Severity.ERROR)
        return [self._diagnostic(each) for each in found[:MOST_PLACED]]

    def _diagnostic(self, diagnostic: RawDiagnostic) -> Diagnostic:
        start, end = self._extent(diagnostic)
        source = self.source
        line, column = self._lines.place(start) if source.text else (0, 0)
        return Diagnostic(
            diagnostic.code,
            diagnostic.severity,
            diagnostic.detail,
            pointer(diagnostic.path),
            start,
            end,
            line,
            column,
            self._fix(diagnostic, diagnostic.fix) if diagnostic.fix else None,
            diagnostic.kind.page or source.page,
        )

    def spot(self, path: Path) -> Spot | None:
        """Return the place of the value at a path, None if it is not in the text."""
        root = self.source.root
        if path[: len(root)] != root:
            return None
        spot = self._whole
        for step in path[len(root) :]:
            if spot.start not in self._inside:
                self._inside[spot.start] = _Inside(self.source.json, spot.start)
            inner = self._inside[spot.start].spot(step)
            if inner is None:
                return None
            spot = inner
        return spot

    def _extent(self, diagnostic: RawDiagnostic) -> tuple[int, int]:
        """Return the offsets of a problem in the text as typed."""
        path = diagnostic.path
        spot = self.spot(path)
        while spot is None and path:
            path = path[:-1]
            spot = self.spot(path)
        if spot is None:
            spot = self._whole
        if diagnostic.at_name and path == diagnostic.path:
            return self._typed(spot.name_start), self._typed(spot.name_end)
        return self._typed(spot.start), self._typed(spot.end)

    def _typed(self, at: int) -> int:
        typed = self.source.typed
        return typed(at) if typed else at

    # -- fixes ----------------------------------------------------------------------------------

    def _fix(self, diagnostic: RawDiagnostic, fix: FixAction) -> Fix | None:
        from humanmcp.protocol.diagnostics.autofix import trust  # noqa: PLC0415 - what has no fix never needs it

        edits = self._edits(fix)
        if edits is None:
            return None
        moved = (TextEdit(self._typed(e.start), self._typed(e.end), e.new) for e in edits)
        old = " ".join(self.source.json[e.start : e.end] for e in edits)
        grade = diagnostic.kind.applicability
        if grade is Applicability.SAFE:
            grade = trust(diagnostic, fix, old, " ".join(e.new for e in edits))
        return Fix(tuple(moved), fix.label, grade)

    def _edits(self, fix: FixAction) -> list[TextEdit] | None:  # noqa: PLR0911 - one arm an act
        if fix.does is FixKind.INSERT:
            return self._insertion(fix)
        spot = self.spot(fix.path)
        if spot is None:
            return None
        json = self.source.json
        match fix.does:
            case FixKind.REPLACE:
                return [TextEdit(spot.start, spot.end, fix.new)]
            case FixKind.RENAME:
                return [TextEdit(spot.name_start, spot.name_end, fix.new)]
            case FixKind.DELETE:
                return [_removal(json, spot)]
            case FixKind.WRAP:
                before, after = fix.new.split(HOLE)
                return [
                    TextEdit(spot.start, spot.start, before),
                    TextEdit(spot.end, spot.end, after),
                ]
            case _:
                inner = self.spot((*fix.path, *fix.inner))
                if inner is None:
                    return None
                return [TextEdit(spot.start, spot.end, json[inner.start : inner.end])]

    def _insertion(self, fix: FixAction) -> list[TextEdit] | None:
        name, new = fix.path[-1], fix.new
        owner = self.spot(fix.path[:-1])
        if owner is None or self.source.json[owner.start : owner.start + 1] != "{":
            return None
        after = _space_before(self.source.json, owner.end - 1)
        if after == owner.start + 1:
            return [TextEdit(after, owner.end - 1, f'"{name}": {new}')]
        return [TextEdit(after, after, f', "{name}": {new}')]


def _removal(json: str, spot: Spot) -> TextEdit:
    """Return the removal of a member or item with its comma: the one before it, or after it."""
    before = _space_before(json, spot.name_start)
    if json[before - 1 : before] == ",":
        return TextEdit(_space_before(json, before - 1), spot.end, "")
    after = skip_space(json, spot.end)
    first = json[after : after + 1] == ","
    return TextEdit(spot.name_start, skip_space(json, after + 1) if first else spot.end, "")


def _space_before(json: str, at: int) -> int:
    """Return the start of the white space before an offset."""
    while at and json[at - 1] in " \t\r\n":
        at -= 1
    return at


class _Inside:
    """The places of the members of an object or items of a list; the last of equal names counts.

    It does not search beyond the last requested item: there may be millions.
    """

    def __init__(self, json: str, start: int) -> None:
        opens = json[start : start + 1]
        members = member_spans(json, start) if opens == "{" else ()
        self._items = item_spans(json, start) if opens == "[" else iter(())
        self._seen: dict[Step, Spot] = {name: Spot(*places) for name, *places in members}

    def spot(self, step: Step) -> Spot | None:
        """Return the place of a member or item."""
        while step not in self._seen and (span := next(self._items, None)) is not None:
            at, end = span
            self._seen[len(self._seen)] = Spot(at, at, at, end)
        return self._seen.get(step)
