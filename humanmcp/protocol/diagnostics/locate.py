"""From what was found to where it stands: paths become offsets, mends become edits.

Walks only the part of the text that leads to a finding, so that a valid text never pays.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from humanmcp.protocol.diagnostics.model import Diagnostic, Fix, LineIndex, TextEdit
from humanmcp.protocol.diagnostics.raw import HOLE, MOST_PLACED, FixKind
from humanmcp.protocol.json.jsonrpc import item_spans, member_spans, skip_space
from humanmcp.protocol.json.tree import pointer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from humanmcp.protocol.diagnostics.raw import FixAction, Path, RawDiagnostic, Step


class Spot(NamedTuple):
    """Where a value stands; `name_start` is where its name does, or the value in a list."""

    name_start: int
    name_end: int
    start: int
    end: int


class Source(NamedTuple):
    """A valid JSON text in which findings are to be placed.

    `root` are the steps that lead from the message to what the text holds: empty for a whole
    message, `("result",)` when a person typed only the result. `typed` maps an offset of `json` to
    the text as typed, which may have been mended to become valid.
    """

    json: str
    text: str
    root: Path = ()
    typed: Callable[[int], int] | None = None
    page: str = ""


class Placer:
    """Places findings in one text. Remembers the members it has seen."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self._lines = LineIndex(source.text)
        self._inside: dict[int, _Items | _Members] = {}
        self._in_order: dict[int, list[Spot]] = {}
        start = skip_space(source.json, 0)
        self._whole = Spot(start, start, start, max(start, len(source.json.rstrip())))

    def diagnostics(self, found: Iterable[RawDiagnostic]) -> list[Diagnostic]:
        """Make the problems of findings; those of a code after `MOST_PLACED` are only counted."""
        made: list[Diagnostic] = []
        placed: dict[str, list[int]] = {}
        times: Counter[str] = Counter()
        for each in found:
            times[each.code] += each.times
            of_code = placed.setdefault(each.code, [])
            if len(of_code) < MOST_PLACED:
                of_code.append(len(made))
                made.append(self._diagnostic(each))
        for code, at in placed.items():
            made[at[-1]] = made[at[-1]]._replace(times=times[code] - len(at) + 1)
        return made

    def _diagnostic(self, found: RawDiagnostic) -> Diagnostic:
        start, end = self._extent(found)
        source = self.source
        line, column = self._lines.place(start) if source.text else (0, 0)
        return Diagnostic(
            found.code,
            found.severity,
            found.detail,
            pointer(found.path),
            start,
            end,
            line,
            column,
            self._fix(found, found.mend) if found.mend else None,
            source.page,
        )

    def spot(self, path: Path) -> Spot | None:
        """Return where the value at a path stands, None when it is not in the text."""
        root = self.source.root
        if path[: len(root)] != root:
            return None
        spot = self._whole
        for step in path[len(root) :]:
            inner = self._contents(spot).spot(step)
            if inner is None:
                return None
            spot = inner
        return spot

    def _contents(self, spot: Spot) -> _Items | _Members:
        """Return the members of an object, or the items of a list. Once each."""
        inside = self._inside.get(spot.start)
        if inside is None:
            json, at = self.source.json, spot.start
            inside = (_Items if json.startswith("[", at) else _Members)(json, at)
            self._inside[at] = inside
        return inside

    def _ordered(self, spot: Spot) -> list[Spot]:
        """List the members or items of a value in the order of the text. Once each."""
        if spot.start not in self._in_order:
            self._in_order[spot.start] = sorted(self._contents(spot).every())
        return self._in_order[spot.start]

    def _extent(self, found: RawDiagnostic) -> tuple[int, int]:
        """Return the offsets, in the text as typed, that a finding is about."""
        path = found.path
        spot = self.spot(path)
        while spot is None and path:
            path = path[:-1]
            spot = self.spot(path)
        if spot is None:
            spot = self._whole
        if found.at_name and path == found.path:
            return self._typed(spot.name_start), self._typed(spot.name_end)
        return self._typed(spot.start), self._typed(spot.end)

    def _typed(self, at: int) -> int:
        typed = self.source.typed
        return typed(at) if typed else at

    # -- mends ----------------------------------------------------------------------------------

    def _fix(self, found: RawDiagnostic, mend: FixAction) -> Fix | None:
        from humanmcp.protocol.diagnostics.fix_safety import trust  # noqa: PLC0415 - what has no mend never needs it

        edits = self._edits(mend)
        if edits is None:
            return None
        moved = (TextEdit(self._typed(e.start), self._typed(e.end), e.new) for e in edits)
        old = " ".join(self.source.json[e.start : e.end] for e in edits)
        grade = trust(found, mend, old, " ".join(e.new for e in edits))
        return Fix(tuple(moved), mend.label, grade)

    def _edits(self, mend: FixAction) -> list[TextEdit] | None:  # noqa: PLR0911 - one arm an act
        if mend.does is FixKind.INSERT:
            return self._insertion(mend)
        spot = self.spot(mend.path)
        if spot is None:
            return None
        json = self.source.json
        match mend.does:
            case FixKind.REPLACE:
                return [TextEdit(spot.start, spot.end, mend.new)]
            case FixKind.RENAME:
                return [TextEdit(spot.name_start, spot.name_end, mend.new)]
            case FixKind.DELETE:
                return [self._removal(spot, mend.path)]
            case FixKind.WRAP:
                before, after = mend.new.split(HOLE)
                return [
                    TextEdit(spot.start, spot.start, before),
                    TextEdit(spot.end, spot.end, after),
                ]
            case _:
                inner = self.spot((*mend.path, *mend.inner))
                if inner is None:
                    return None
                return [TextEdit(spot.start, spot.end, json[inner.start : inner.end])]

    def _insertion(self, mend: FixAction) -> list[TextEdit] | None:
        name, new = mend.path[-1], mend.new
        owner = self.spot(mend.path[:-1])
        if owner is None or self.source.json[owner.start : owner.start + 1] != "{":
            return None
        inside = self._ordered(owner)
        if not inside:
            return [TextEdit(owner.start + 1, owner.end - 1, f'"{name}": {new}')]
        after = inside[-1].end
        return [TextEdit(after, after, f', "{name}": {new}')]

    def _removal(self, spot: Spot, path: Path) -> TextEdit:
        """Cut a member or item with the comma before it, or after it when it is the first."""
        owner = self.spot(path[:-1])
        others = self._ordered(owner) if owner else []
        at = bisect_left(others, spot)
        if at:
            return TextEdit(others[at - 1].end, spot.end, "")
        after = others[at + 1 :][:1]
        return TextEdit(spot.name_start, after[0].name_start if after else spot.end, "")


class _Members:
    """The places of the members of an object; nothing else has any. The last of a name counts."""

    def __init__(self, json: str, start: int) -> None:
        spans = member_spans(json, start) if json.startswith("{", start) else ()
        self._places: dict[Step, list[int]] = {name: places for name, *places in spans}

    def spot(self, step: Step) -> Spot | None:
        """Return where a member stands."""
        places = self._places.get(step)
        return Spot(*places) if places else None

    def every(self) -> Iterable[Spot]:
        """Return where all of them stand."""
        return map(Spot._make, self._places.values())


class _Items:
    """The places of the items of a list. Those after the last one asked for are not looked for."""

    def __init__(self, json: str, start: int) -> None:
        self._spans = item_spans(json, start)
        self._seen: list[Spot] = []

    def spot(self, step: Step) -> Spot | None:
        """Return where an item stands."""
        if not isinstance(step, int):
            return None
        self._look(step + 1 - len(self._seen))
        return self._seen[step] if step < len(self._seen) else None

    def every(self) -> Iterable[Spot]:
        """Return where all of them stand."""
        self._look(None)
        return self._seen

    def _look(self, further: int | None) -> None:
        if further is None or further > 0:
            self._seen += (Spot(at, at, at, end) for at, end in islice(self._spans, further))
