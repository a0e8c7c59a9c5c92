"""The page of the clients says what was measured, and `humanmcp check` does not contradict it."""

import json
from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import Any, Final

import pytest

from humanmcp.extensions.judge.server_faults import every, server_faults
from humanmcp.extensions.judge.verdicts import Word
from humanmcp.locales import say
from humanmcp.protocol.tables.reactions import CLIENTS, Reaction, measured
from tests.clients.reactions import row_of
from tools import judging
from tools.judging import FILE, PAGE, page

CONTRADICTS: Final = {
    Reaction.TAKEN: {Word.WAITED, Word.HUNG},
    Reaction.FAILED: {Word.WELL, Word.BELIEVED, Word.WAITED, Word.HUNG},
    Reaction.SILENT: {Word.WELL, Word.BELIEVED, Word.TOLD, Word.SILENT},
    Reaction.ENDED: {Word.HUNG},
}
"""The words of a whole run that cannot be, where the caller of an SDK saw this."""
COLUMNS: Final = {(name, version): at for at, (name, version, _day) in enumerate(CLIENTS)}


def contradictions(table: dict[str, Any]) -> Iterator[str]:
    """Yield the rows in which a run of `humanmcp judge` contradicts the table of `check`."""
    for client in table["clients"]:
        column = COLUMNS.get((client["name"], client["version"]))
        for row in server_faults().values():
            if column is None or not row.problem or row.name not in client["words"]:
                continue
            reaction, word = (
                measured()[row_of(f"{row.name}:1")][column],
                Word(client["words"][row.name]),
            )
            if reaction is not None and word in CONTRADICTS[reaction]:
                yield f"{client['name']} {client['version']}, {row.name}: {reaction}, but {word}"


def test_the_page_is_what_was_measured() -> None:
    """Each client with its version, and the day."""
    clients = json.loads(FILE.read_text("utf-8"))["clients"]
    assert PAGE.read_text("utf-8") == page(clients)
    for client in clients:
        assert date.fromisoformat(client["date"]).isoformat() == client["date"]
        assert client["words"].keys() <= every().keys()
        assert all(Word(word) for word in client["words"].values())


def test_what_check_says_of_clients_is_so_in_the_published_table() -> None:
    """Two measurements of one client: by its caller, and from outside."""
    table = json.loads(FILE.read_text("utf-8"))
    measured = {(one["name"], one["version"]) for one in table["clients"]}
    assert measured >= COLUMNS.keys(), "check speaks of a client that the page does not have"
    assert list(contradictions(table)) == []


def test_a_contradiction_is_found() -> None:
    """A dropped line that a run calls believed; what was not measured contradicts nothing."""
    name, version, _day = CLIENTS[0]
    words = {"no_jsonrpc": "believed", "id_string": "believed", "banner": "hung"}
    table = {"clients": [{"name": name, "version": version, "words": words}]}
    assert list(contradictions(table)) == [f"{name} {version}, no_jsonrpc: silent, but believed"]
    table["clients"][0]["version"] = "0"
    assert list(contradictions(table)) == []


def test_a_page_has_each_fault_once() -> None:
    """A table for each place, a column for each client that was judged on one of its rows."""
    words = dict.fromkeys(server_faults(), "well") | {"nan": "not known"}
    one: dict[str, Any] = {"name": "SDK", "version": "1", "date": "2026-01-02", "words": words}
    one |= {"runs": 2, "how": "A call."}
    text = page([one, {**one, "name": "Agent", "words": {"banner": "told", "nan": "told"}}])
    assert "| SDK | 1 | 2026-01-02 | 2 | A call. |" in text
    places = {row.place for row in server_faults().values()}
    assert text.count("| the server | SDK 1 |") == len(places)
    assert text.count("| the server | SDK 1 | Agent 1 |") == len({"start", "call"})
    for name in server_faults():
        assert text.count(f"| {say('server_fault', name, 'en')} |") == 1
    assert f"{say('server_fault', 'nan', 'en')} | not known | told |" in text


def test_words_that_were_measured_later_join_those_of_the_same_version(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The page says their day; another version keeps its words."""
    monkeypatch.setattr(judging, "FILE", tmp_path / "clients.json")
    monkeypatch.setattr(judging, "PAGE", tmp_path / "clients.md")
    row = {"name": "SDK", "version": "1.2", "runs": 2, "date": "2026-01-02", "how": "A call."}
    judging.write(row | {"words": {"banner": "told", "nan": "told"}})
    later = row | {"date": "2026-01-03", "words": {"nan": "well"}}
    judging.write(later, is_part=True)
    judging.write(later | {"version": "1.3", "words": {"nan": "died"}}, is_part=True)
    (kept,) = json.loads(judging.FILE.read_text("utf-8"))["clients"]
    assert kept["words"] == {"banner": "told", "nan": "well"}
    assert "| SDK | 1.2 | 2026-01-02, 1 row 2026-01-03 | 2 |" in judging.PAGE.read_text("utf-8")
