"""What clients do with a wrong line of a server: measured, and otherwise unknown.

A row begins with the code of the problem, and with what tells it from others of its code: `at` is
the beginning of its place, any other name is a detail of the problem. The first row that fits
counts. `python -m tests.clients.reactions` measures the rows again with the real clients, and
writes the table; its cases are in `humanmcp/extensions/judge/misbehaviours.toml`.
"""

from __future__ import annotations

import enum
import functools
from itertools import groupby
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from humanmcp.protocol.diagnostics.model import Diagnostic


class Reaction(enum.StrEnum):
    """What a client does with the line, the mildest first."""

    TAKEN = "taken"
    """Its caller gets the response."""
    ENDED = "ended"
    """It ends the session afterwards."""
    FAILED = "failed"
    """Its caller gets an error at once."""
    SILENT = "silent"
    """It drops the line, and its caller waits until the timeout."""


_ORDER: Final = tuple(Reaction)

CLIENTS: Final = (
    ("TypeScript SDK", "1.32.2", "2026-11-26"),
    ("TypeScript SDK", "2.4.0", "2026-11-26"),
    ("Python SDK", "1.30.0", "2026-11-26"),
    ("Python SDK", "2.3.0", "2026-11-26"),
)
"""The measured clients: name, version, and the day. A column of the table each."""

MEASURED: Final = """
R17                                                      | silent silent taken taken
R05 null=error                                           | silent silent taken taken
R05 null=result                                          | silent silent failed failed
R05                                                      | silent silent failed failed
R01                                                      | silent silent silent silent
R04                                                      | taken taken taken taken
R16                                                      | taken taken silent silent
J10                                                      | silent silent taken taken
J46                                                      | taken taken taken taken
J09                                                      | taken taken taken taken
J23                                                      | taken taken silent silent
N11                                                      | silent silent silent silent
R12                                                      | silent silent silent silent
N01                                                      | silent silent silent silent
N49                                                      | silent silent silent silent
N50                                                      | silent silent silent silent
N51                                                      | silent silent silent silent
N54                                                      | silent silent silent silent
N55                                                      | silent silent silent silent
N52                                                      | silent silent silent silent
N53                                                      | taken taken failed silent
N05                                                      | silent silent silent silent
N06                                                      | silent silent silent silent
R20                                                      | silent silent silent silent
R18                                                      | silent silent silent silent
R08 form=text                                           | silent silent failed failed
R08 form=word                                           | silent silent silent silent
R08                                                      | silent silent silent silent
R19                                                      | silent silent silent silent
R09                                                      | silent silent silent silent
R56                                                      | failed failed failed failed
R11                                                      | failed failed failed failed
M01 at=/result                                           | failed failed failed failed
M09 key=content at=/result                               | taken taken failed failed
M09 at=/result                                           | failed failed failed failed
M02                                                      | failed failed failed failed
M20 at=/result                                           | failed failed taken taken
M20 at=/result/isError                                   | failed failed failed failed
M20 at=/result/structuredContent                         | failed failed taken taken
M20 at=/result/_meta                                     | silent silent taken taken
M17 at=/result                                           | failed failed taken taken
M17 at=/result got=number                                | failed failed taken taken
M29                                                      | failed failed taken taken
M30                                                      | failed failed taken taken
M16 at=/result                                           | failed failed failed failed
M15 at=/result                                           | failed failed failed failed
R07                                                      | silent silent silent silent
M31                                                      | taken taken ? taken
M37                                                      | failed failed taken taken
M12 at=/result                                           | taken taken taken taken
M58                                                      | failed failed failed failed
M06                                                      | failed failed failed failed
M111                                                     | failed taken taken taken
M92 at=/result rule=broken+reference member=outputSchema | failed taken taken taken
M92 at=/result rule=broken+reference member=inputSchema  | taken taken taken taken
M03                                                      | failed failed taken failed
M44                                                      | failed failed failed failed
N30                                                      | taken taken taken taken
N56                                                      | taken taken taken taken
N44                                                      | taken taken taken taken
N45                                                      | taken taken taken taken
N08                                                      | taken taken taken taken
N07                                                      | taken taken taken taken
"""


class _Row(NamedTuple):
    code: str
    at: str
    detail: frozenset[tuple[str, str]]
    reactions: tuple[Reaction | None, ...]


@functools.cache
def _rows() -> tuple[_Row, ...]:
    return tuple(map(_row, filter(None, MEASURED.splitlines())))


def _row(line: str) -> _Row:
    problem, _, told = line.partition("|")
    code, *conditions = problem.split()
    named = dict(one.replace("+", " ").split("=", 1) for one in conditions)
    reactions = tuple(None if one == "?" else Reaction(one) for one in told.split())
    return _Row(code, named.pop("at", ""), frozenset(named.items()), reactions)


def reactions_to(diagnostics: Iterable[Diagnostic]) -> Mapping[int, Reaction]:
    """Return what each client does with a line that has these problems, by its column.

    The gravest reaction counts. A client of which too little is known is left out.
    """
    gravest: dict[int, Reaction] = {}
    unknown: set[int] = set()
    for diagnostic in diagnostics:
        row = _row_of(diagnostic)
        for column in range(len(CLIENTS)):
            reaction = row.reactions[column] if row is not None else None
            if reaction is None:
                unknown.add(column)
            else:
                gravest[column] = max(gravest.get(column, reaction), reaction, key=_ORDER.index)
    mild = {column for column in unknown if gravest.get(column) is Reaction.TAKEN}
    return {column: told for column, told in gravest.items() if column not in mild}


def _row_of(diagnostic: Diagnostic) -> _Row | None:
    detail = set(diagnostic.detail)
    fitting = (
        row
        for row in _rows()
        if row.code == diagnostic.code
        and row.detail <= detail
        and diagnostic.pointer.startswith(row.at)
    )
    return max(fitting, key=lambda row: (len(row.detail), len(row.at)), default=None)


def in_detail(reactions: Mapping[int, Reaction]) -> str:
    """Write reactions for a problem's sentence: `silent=TypeScript SDK;taken=Python SDK 2.3.0`.

    A client whose measured versions all do the same is named without a version.
    """
    ordered = sorted(reactions, key=lambda column: (-_ORDER.index(reactions[column]), column))
    groups = groupby(ordered, key=reactions.__getitem__)
    return ";".join(f"{told.value}={', '.join(_names(tuple(columns)))}" for told, columns in groups)


def _names(columns: tuple[int, ...]) -> Iterable[str]:
    for name in dict.fromkeys(CLIENTS[column][0] for column in columns):
        every = [column for column, client in enumerate(CLIENTS) if client[0] == name]
        here = [column for column in every if column in columns]
        if here == every:
            yield name
        else:
            yield from (f"{name} {CLIENTS[column][1]}" for column in here)
