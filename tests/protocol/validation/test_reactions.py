"""What the check says of clients is what was measured, and nothing else."""

import re
from collections.abc import Iterable

import pytest

from humanmcp.locales import describe, sentences_of
from humanmcp.protocol.diagnostics.model import Diagnostic, Severity
from humanmcp.protocol.tables.reactions import (
    MEASURED,
    Reaction,
    in_detail,
    measured,
    reactions_to,
    table,
)


def test_the_table_is_read_as_it_is_written() -> None:
    """Rows with one reaction share a line, each with its place."""
    rows = {
        " ".join(one): "taken ? silent failed" for one in (("M15", "/a/*", "got=null"), ("R01",))
    }
    rows["M15 /b got=null"] = "taken ? silent failed"
    written = table(rows)
    assert written.splitlines()[:2] == ["M15 got=null | taken ? silent failed", "  /a/* /b"]
    assert table({row: _words(told) for row, told in measured().items()}) == MEASURED[1:]


def _words(told: Iterable[Reaction | None]) -> str:
    return " ".join("?" if one is None else one.value for one in told)


def test_a_client_of_which_too_little_is_known_is_left_out() -> None:
    """A known mild reaction to one problem says nothing where another one is unknown."""
    taken, unknown = (Diagnostic(code, Severity.ERROR) for code in ("R04", "M99"))
    assert set(reactions_to([taken]).values()) == {Reaction.TAKEN}
    assert reactions_to([taken, unknown]) == {}
    silent = Diagnostic("R01", Severity.ERROR)
    assert set(reactions_to([taken, unknown, silent]).values()) == {Reaction.SILENT}


def test_reactions_are_told_in_both_languages() -> None:
    """Clients whose versions agree are named once."""
    silent, failed = Reaction.SILENT, Reaction.FAILED
    detail = in_detail({0: silent, 1: silent, 2: failed, 3: Reaction.TAKEN})
    told = Diagnostic("N46", Severity.HOSTS, (("reactions", detail),))
    assert describe(told).endswith(
        "TypeScript SDK: never answered; Python SDK 1.30.0: an error; Python SDK 2.3.0: no error."
    )


CLAIM = re.compile(
    r"\b(clients?|hosts?|SDKs?)\b[^.]*\b(drops?|rejects?|ignores?|refuses?|fails?|closes?)\b",
    re.IGNORECASE,
)
BY_THE_SPECIFICATION = {
    "M100": "skills: a host may reject",
    "M103": "skills: a host may reject",
    "M104": "skills: a host may reject",
    **dict.fromkeys(
        ("M40", *(f"M{number}" for number in (*range(113, 120), 127, 128, 129))),
        "the table of hosts",
    ),
    "J27": "the limit of the TypeScript SDK's line buffer",
}


def test_no_sentence_says_from_memory_what_clients_do() -> None:
    """A sentence that says so is of a problem whose row says it of every client that it names."""
    known = {problem.partition(" ")[0] for problem in measured()} | set(BY_THE_SPECIFICATION)
    sentences = sentences_of("problem", "en")
    wrong = [code for code, text in sentences.items() if CLAIM.search(text)]
    assert [code for code in wrong if code.removesuffix(".why") not in known] == []


BROKEN = "broken reference"
S, F, E, T = Reaction.SILENT, Reaction.FAILED, Reaction.ENDED, Reaction.TAKEN


@pytest.mark.parametrize(
    ("reactions", "detail"),
    [
        ({}, ""),
        ({0: S, 1: S, 2: S, 3: S}, "silent=TypeScript SDK, Python SDK"),
        (
            {0: T, 1: E, 2: F, 3: S},
            (
                "silent=Python SDK 2.3.0;failed=Python SDK 1.30.0;"
                "ended=TypeScript SDK 2.4.0;taken=TypeScript SDK 1.32.2"
            ),
        ),
        ({3: F, 2: F, 0: F}, "failed=TypeScript SDK 1.32.2, Python SDK"),
        ({1: T}, "taken=TypeScript SDK 2.4.0"),
    ],
)
def test_the_gravest_reaction_is_told_first(reactions: dict[int, Reaction], detail: str) -> None:
    """Of a client whose versions agree without a version, in the order of the table."""
    assert in_detail(reactions) == detail


def problem(code: str, pointer: str = "", **detail: str) -> Diagnostic:
    """Make a problem."""
    return Diagnostic(code, Severity.ERROR, tuple(detail.items()), pointer)


@pytest.mark.parametrize(
    ("found", "told"),
    [
        ([problem("R05", null="error")], [S, S, T, T]),
        ([problem("R05", null="result", more="x")], [S, S, F, F]),
        ([problem("R05")], [S, S, F, F]),
        ([problem("R08", form="word")], [S, S, S, S]),
        ([problem("R08", form="text")], [S, S, F, F]),
        ([problem("M09", "/result", key="content")], [T, T, F, F]),
        ([problem("M09", "/result/content/7", key="text")], [F, F, F, F]),
        ([problem("M10", "/result/tools/0/input_schema", key="inputSchema")], [F, F, F, F]),
        ([problem("M09", "/result/strange", key="text")], []),
        ([problem("M09", "/params", key="content")], []),
        ([problem("M12", "/result/tools/3/anything")], [T, T, T, T]),
        ([problem("M12", "/result/tools/3/inputSchema/anything")], []),
        ([problem("M16", "/result/tools/0/inputSchema/properties/a", got="boolean")], [F, T, T, T]),
        ([problem("M16", "/result/tools/0/annotations/readOnlyHint", got="boolean")], []),
        ([problem("M16", "/result/tools/0/inputSchema", got="number")], []),
        ([problem("M20", "/result/_meta", got="null")], [S, S, T, T]),
        ([problem("M20", "/result/isError", got="null")], [F, F, F, F]),
        ([problem("M06", "/result/structuredContent/deep/1")], [F, F, F, F]),
        (
            [problem("M92", "/result/tools/0/inputSchema/a", member="inputSchema", rule=BROKEN)],
            [T, T, T, T],
        ),
        (
            [problem("M92", "/result/tools/0/inputSchema/a", member="inputSchema", rule="remote")],
            [],
        ),
        ([problem("M18", "/result/resources/0/size", form="integer")], [F, F, T, T]),
        ([problem("M18", "/result/resources/0/size", form="word")], [F, F, F, F]),
        ([problem("R16"), problem("R05", null="error")], [S, S, S, S]),
        ([problem("M20", "/result/_meta", got="null"), problem("M99")], [S, S]),
        ([], []),
    ],
)
def test_a_row_stands_for_its_place_and_for_no_other(
    found: list[Diagnostic], told: list[Reaction]
) -> None:
    """Indexes and names of somebody's own do not matter; each client's gravest reaction counts."""
    assert reactions_to(found) == dict(enumerate(told))
