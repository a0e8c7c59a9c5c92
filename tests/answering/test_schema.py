"""The JSON of an exchange, from which page, interface and `--json` are made."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from humanmcp.answering.case import case_of
from humanmcp.answering.schema import diagnostic_shape, exchange_shape
from humanmcp.cli import main
from humanmcp.inbox.contract import Waiting
from humanmcp.protocol.diagnostics.model import Diagnostic, Fix, Severity, TextEdit
from tests.terminal_desk.rooms import Room, Shell

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def room(tmp_path: Path) -> Iterator[Room]:
    """Make an inbox folder without any session."""
    made = Room(tmp_path / "home")
    yield made
    made.close()


def test_a_problem_that_a_newer_humanmcp_found_is_told_by_its_code() -> None:
    """The terminal did, and the page failed with an error of its own."""
    fix = Fix((TextEdit(0, 1, "x"),), "no such label")
    shape = diagnostic_shape(Diagnostic("Z99", Severity.ERROR, fix=fix), "en")
    assert (shape["code"], shape["text"], shape["blocks"]) == ("Z99", "Z99", True)
    assert shape["fix"] is not None
    assert shape["fix"]["edits"] == [(0, 1, "x")]
    assert shape["fix"]["label"]


def test_the_terminal_says_of_an_exchange_what_the_interface_says(
    room: Room, capsys: pytest.CaptureFixture[str]
) -> None:
    """Member by member; three that are older than the interface keep their form."""
    key = room.ask(room.session(), 3, waiting=Waiting(60.0, "client", 30.0, held=True))
    shape = exchange_shape(case_of(room.inbox, key), "en")
    (row,) = Shell(room.home, main, capsys)("inbox", "--json").json["items"]
    whole = {**shape, **shape["waiting"]}
    same = (row.keys() & whole.keys()) - {"id", "answer"}
    assert len(same) > 12
    assert {name: row[name] for name in same} == {name: whole[name] for name in same}
    assert json.dumps(row["id"]) == shape["id"]
