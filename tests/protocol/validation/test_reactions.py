"""What the check says of clients is what was measured, and nothing else."""

import json
import re
from typing import Any

import pytest

from humanmcp.judge.misbehaviours import misbehaviour, rows
from humanmcp.judge.playing import Player
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
