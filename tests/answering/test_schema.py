"""The JSON of an exchange, from which page, interface and `--json` are made."""

import json
from typing import Any

import pytest
from pydantic import TypeAdapter

from docs.make_api import PRINTED
from humanmcp.answering import service
from humanmcp.answering.open_exchange import open_exchange_of
from humanmcp.answering.schema import (
    RowShape,
    diagnostic_shape,
    exchange_shape,
    verdict_shape,
)
from humanmcp.cli import main
from humanmcp.inbox.contract import Waiting
from humanmcp.protocol.diagnostics.model import Applicability, Diagnostic, Fix, Severity, TextEdit
from tests.support.inbox_folder import CALL, Room, Shell


def test_a_problem_that_a_newer_humanmcp_found_is_told_by_its_code() -> None:
    """The terminal did, and the page failed with an error of its own."""
    fix = Fix((TextEdit(0, 1, "x"),), "no such label")
    shape = diagnostic_shape(Diagnostic("Z99", Severity.ERROR, fix=fix))
    assert (shape["code"], shape["message"]) == ("Z99", "Z99")
    assert shape["fix"] is not None
    assert shape["fix"]["edits"] == [{"start": 0, "end": 1, "new": "x"}]
    assert shape["fix"]["label"]


@pytest.mark.parametrize(
    ("label", "new", "said"),
    [
        ("close", ("}",), "Add }"),
        ("insert", (', "jsonrpc": "2.0"',), 'Add "jsonrpc": "2.0"'),
        ("insert", (",",), "Add ,"),
        ("replace", ('"text"',), 'Write "text"'),
        ("rename", ('"isError"',), 'Rename to "isError"'),
        ("wrap", ("[", "]"), "Put it into [ ]"),
        ("wrap", ('[{"type": "text", "text": ', "}]"), "Wrap it"),
        ("delete", ("",), "Remove it"),
    ],
)
def test_a_button_says_what_its_fix_writes(label: str, new: tuple[str, ...], said: str) -> None:
    """A verb with its object, where that is short; a guess is called one."""
    edits = tuple(TextEdit(at, at, one) for at, one in enumerate(new))
    for grade, words in ((Applicability.SAFE, said), (Applicability.GUESS, f"{said} (a guess)")):
        shape = diagnostic_shape(Diagnostic("J07", Severity.ERROR, fix=Fix(edits, label, grade)))
        assert shape["fix"] is not None
        assert shape["fix"]["label"] == words


def test_the_terminal_says_of_an_exchange_what_the_interface_says(room: Room, shell: Shell) -> None:
    """Member by member: what two shapes of an exchange share means the same in both."""
    key = room.ask(room.session(), 3, waiting=Waiting(60.0, "client", 30.0, "paused"))
    shape = exchange_shape(open_exchange_of(room.inbox, key))
    (row,) = shell("inbox", "--json").json["items"]
    same = (row.keys() & shape.keys()) - {"id", "answer"}
    assert same >= RowShape.__required_keys__
    assert {name: row[name] for name in same} == {name: dict(shape)[name] for name in same}
    assert row.items() >= shape["waiting"].items()
    assert json.dumps(row["id"]) == shape["id"]


def test_a_problem_is_told_in_one_shape_everywhere(room: Room, shell: Shell) -> None:
    """The interface's check, `check`, `answer` and the folder's list: code, place, words, fix."""
    key = room.ask(room.session(), 3)
    file = room.home.parent / "answer.json"
    file.write_text('{"jsonrpc":"2.0","id":3,"result":{"contents":[]}}', "utf-8")
    verdict = service.judge(open_exchange_of(room.inbox, key), file.read_text("utf-8"))
    wanted = json.loads(json.dumps(verdict_shape(verdict)["problems"]))
    assert any(one["fix"] for one in wanted)
    told = [
        main_json(shell.capsys, "check", "--method", "tools/call", str(file)),
        shell("answer", "3", "--message", str(file), "--json").json,
    ]
    assert [one["problems"] for one in told] == [wanted, wanted]


def main_json(capsys: pytest.CaptureFixture[str], *words: str) -> Any:  # noqa: ANN401 - any JSON value
    """Run a command that has no inbox, and return what it prints."""
    capsys.readouterr()
    main([*words, "--json", "--lang", "en"])
    return json.loads(capsys.readouterr().out)


def test_what_each_command_prints_is_the_shape_that_the_reference_shows(
    room: Room, shell: Shell
) -> None:
    """Every member is documented, none is missing, and each has the type that stands there."""
    session = room.session()
    for number in (3, 4):
        room.ask(session, number)
    said = room.home.parent / "said.jsonl"
    said.write_text(f"{CALL}\n{CALL}\n", "utf-8")
    room.serve(session)
    printed = {
        "inbox": shell("inbox", "--json").json,
        "inbox --watch": shell("inbox", "--json").json["items"][0],
        "show": shell("show", "3", "--json").json,
        "answer": shell("answer", "3", "--text", "sunny", "--json").json,
        "check": main_json(shell.capsys, "check", "--method", "tools/call", str(said)),
        "check TRANSCRIPT": main_json(shell.capsys, "check", str(said)),
        "forget": shell("forget", f"{session}/3", "--yes", "--json").json,
        "config HOST": main_json(shell.capsys, "config", "cursor"),
        "hosts": main_json(shell.capsys, "hosts")[0],
    }
    elsewhere = {"doctor", "host -p TEXT"}  # each is run once, where it is tested
    assert (
        printed.keys() == PRINTED.keys() - {"say", "show --unreadable", "check --lines"} - elsewhere
    )
    for command, found in printed.items():
        fits(found, PRINTED[command], command)


def fits(found: dict[str, object], shape: Any, command: str) -> None:  # noqa: ANN401 - a TypedDict
    """Fail where an object has a member too many, or one too few."""
    assert found.keys() <= shape.__annotations__.keys(), command
    assert found.keys() >= shape.__required_keys__, command
    adapter = TypeAdapter(shape)
    assert adapter.dump_python(adapter.validate_python(found)) == found, command
