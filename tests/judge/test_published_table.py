"""The page of the clients says what was measured, and `humanmcp check` does not contradict it."""

import json
from collections.abc import Iterator
from typing import Any, Final

import pytest

from humanmcp.judge.misbehaviours import misbehaviours
from humanmcp.judge.verdicts import Word
from humanmcp.protocol.tables.reactions import CLIENTS, MEASURED, Reaction
from tools.judging import FILE, PAGE, UNMEASURED, page

CONTRADICTS: Final = {
    Reaction.TAKEN: {Word.WAITED, Word.HUNG},
    Reaction.FAILED: {Word.WELL, Word.BELIEVED, Word.WAITED, Word.HUNG},
    Reaction.SILENT: {Word.WELL, Word.BELIEVED, Word.TOLD, Word.SILENT},
    Reaction.ENDED: {Word.HUNG},
}
"""The words of a whole run that cannot be, where the caller of an SDK saw this."""
COLUMNS: Final = {(name, version): at for at, (name, version, _day) in enumerate(CLIENTS)}
REACTIONS: Final = {
    problem.strip(): told.split()
    for problem, _, told in (line.partition("|") for line in MEASURED.splitlines() if line)
}


def contradictions(table: dict[str, Any]) -> Iterator[str]:
    """Yield the rows in which a run of `humanmcp judge` contradicts the table of `check`."""
    for client in table["clients"]:
        column = COLUMNS.get((client["name"], client["version"]))
        for row in misbehaviours().values():
            if column is None or not row.problem or row.name not in client["words"]:
                continue
            reaction, word = REACTIONS[row.problem][column], Word(client["words"][row.name])
            if reaction != "?" and word in CONTRADICTS[Reaction(reaction)]:
                yield f"{client['name']} {client['version']}, {row.name}: {reaction}, but {word}"


def test_the_page_is_what_was_measured() -> None:
    """Before the first measurement it says only how to measure."""
    if not FILE.exists():
        assert PAGE.read_text("utf-8") == UNMEASURED
        pytest.skip("NOT MEASURED: `make judge` writes docs/reference/clients.md and clients.json")
    table = json.loads(FILE.read_text("utf-8"))
    assert PAGE.read_text("utf-8") == page(table)
    for client in table["clients"]:
        assert client["words"].keys() <= misbehaviours().keys()
        assert all(Word(word) for word in client["words"].values())


def test_what_check_says_of_clients_is_so_in_the_published_table() -> None:
    """Two measurements of one client: by its caller, and from outside."""
    if not FILE.exists():
        pytest.skip("NOT MEASURED: `make judge` writes docs/reference/clients.json")
    table = json.loads(FILE.read_text("utf-8"))
    measured = {(one["name"], one["version"]) for one in table["clients"]}
    assert measured & COLUMNS.keys(), "no client of the page is one that check speaks of"
    assert list(contradictions(table)) == []


def test_a_contradiction_is_found() -> None:
    """A dropped line that a run calls believed; what was not measured contradicts nothing."""
    name, version, _day = CLIENTS[0]
    words = {"no_jsonrpc": "believed", "id_string": "believed", "banner": "hung"}
    table = {"clients": [{"name": name, "version": version, "words": words}]}
    assert list(contradictions(table)) == [f"{name} {version}, no_jsonrpc: silent, but believed"]
    table["clients"][0]["version"] = "0"
    assert list(contradictions(table)) == []


def test_a_measured_page_has_each_misbehaviour_once() -> None:
    """A table for each place, a column for each client."""
    words = dict.fromkeys(misbehaviours(), "well") | {"nan": "not known"}
    one = {"name": "SDK", "version": "1", "words": words}
    text = page({"date": "2026-01-02", "clients": [one, {**one, "words": {}}]})
    assert text.startswith(UNMEASURED.replace("Not measured yet.\n", "Measured on 2026-01-02."))
    rows = [line for line in text.splitlines() if line.endswith((" | well |  |", "known |  |"))]
    assert len(rows) == len(misbehaviours())
    assert text.count("| SDK 1 | SDK 1 |") == len({one.place for one in misbehaviours().values()})
