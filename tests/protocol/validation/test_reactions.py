"""What the check says of clients is what was measured, and nothing else."""

import json
import re
from typing import Any

import pytest

from humanmcp.extensions.judge.misbehaviours import misbehaviour, rows
from humanmcp.extensions.judge.playing import Player
from humanmcp.locales import describe, sentences_of
from humanmcp.protocol.conversation.transcript import Direction
from humanmcp.protocol.diagnostics.model import Diagnostic, Severity
from humanmcp.protocol.tables.reactions import (
    MEASURED,
    Reaction,
    in_detail,
    reactions_to,
)
from humanmcp.protocol.validation.whole_conversation import ConversationJudge, Judged

ROWS = {name: row for name, row in rows().items() if "problem" in row}
CASES = [f"{row}:{n + 1}" for row, one in ROWS.items() for n in range(len(one["lines"]))]
TABLE = {
    problem.strip(): told.split()
    for problem, _, told in (line.partition("|") for line in MEASURED.splitlines() if line)
}
INITIALIZE = {
    "protocolVersion": "2025-06-18",
    "capabilities": {},
    "clientInfo": {"name": "c", "version": "1"},
}


def judged(name: str) -> list[Diagnostic]:
    """Judge a whole session in which a case is answered oddly."""
    judge = ConversationJudge()
    row = misbehaviour(name)
    player = Player(row)
    asked = ("initialize", "notifications/initialized", "tools/list", "tools/call", "ping")
    found: list[Judged] = []
    number = 0
    for token, step in enumerate(asked, 1):
        message: dict[str, Any] = {"jsonrpc": "2.0", "method": step}
        if not step.startswith("notifications/"):
            message["id"] = token
        if step in ("initialize", "tools/call"):
            message["params"] = INITIALIZE if step == "initialize" else {"name": "t"}
        lines = [(Direction.IN, json.dumps(message).encode())]
        steps, is_odd = player.steps(message)
        for one in steps:
            line = player.filled(one["line"], message) if "line" in one else player.right(message)
            encoding = row.encoding if "line" in one else "utf-8"
            raw_line = line.encode(encoding, "surrogatepass" if encoding == "utf-8" else "strict")
            lines += [(Direction.OUT, part) for part in raw_line.split(b"\n")]
        for direction, raw in lines:
            number += 1
            of_line = judge.line(number, direction, raw)
            found += of_line if is_odd and direction is Direction.OUT else ()
    return [one for each in found for one in each.diagnostics]


@pytest.mark.parametrize("name", CASES)
def test_what_is_said_of_a_line_is_what_the_clients_did_with_it(name: str) -> None:
    """Every measured case, through the whole check: its problem, and the clients of its row."""
    row = ROWS[name.partition(":")[0]]
    problem = row["problem"]
    found = judged(name)
    assert problem.partition(" ")[0] in [one.code for one in found]
    told = [dict(one.detail)["reactions"] for one in found if one.code in ("N39", "N46")]
    measured = {column: Reaction(word) for column, word in enumerate(TABLE[problem]) if word != "?"}
    is_error = 'ID,"error":' in row["lines"][0]
    grave = {Reaction.SILENT, Reaction.ENDED} if is_error else set(Reaction) - {Reaction.TAKEN}
    said = in_detail(measured) if grave & set(measured.values()) else ""
    assert set(told) == ({said} if said else set())


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
    **dict.fromkeys(("M40", *(f"M{number}" for number in range(113, 120))), "the table of hosts"),
    "J27": "the limit of the TypeScript SDK's line buffer",
}


def test_no_sentence_says_from_memory_what_clients_do() -> None:
    """A sentence that says so is of a problem whose row says it of every client that it names."""
    known = {problem.partition(" ")[0] for problem in TABLE} | set(BY_THE_SPECIFICATION)
    sentences = sentences_of("problem", "en")
    wrong = [code for code, text in sentences.items() if CLAIM.search(text)]
    assert [code for code in wrong if code.removesuffix(".why") not in known] == []


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
        ([problem("R05", null="other")], [S, S, F, F]),
        ([problem("R08", form="word")], [S, S, S, S]),
        ([problem("R08", form="text")], [S, S, F, F]),
        ([problem("M09", "/result/a", key="content")], [T, T, F, F]),
        ([problem("M09", "/result/a", key="x")], [F, F, F, F]),
        ([problem("M09", "/params/a", key="content")], []),
        ([problem("M20", "/result/a")], [F, F, T, T]),
        ([problem("M20", "/result/_meta/a")], [S, S, T, T]),
        ([problem("M20", "/result/isError")], [F, F, F, F]),
        ([problem("M92", "/result/tools", rule="broken reference", member="inputSchema")], [T] * 4),
        (
            [problem("M92", "/result/tools", rule="broken reference", member="outputSchema")],
            [F, T, T, T],
        ),
        ([problem("R16"), problem("R05", null="error")], [S, S, S, S]),
        ([problem("M20", "/result/a"), problem("M20", "/result/_meta")], [S, S, T, T]),
        ([problem("M20", "/result/_meta"), problem("M99")], [S, S]),
        ([], []),
    ],
)
def test_the_row_that_says_most_of_a_problem_counts(
    found: list[Diagnostic], told: list[Reaction]
) -> None:
    """Its detail, then its place; of several problems the gravest reaction of each client."""
    assert reactions_to(found) == dict(enumerate(told))
