"""What a start of the server may cost: some hosts wait 1.5 s in all for the first answer."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

from tests.support.serve_process import COMMAND, bare_environment
from tests.support.verdicts import stating
from tests.support.waiting import PATIENCE, until

INITIALIZE: Final = (
    '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25",'
    '"capabilities":{},"clientInfo":{"name":"test","version":"1"}}}\n'
)

# What the first three bring with them differs from Python to Python, and a server needs them.
UP_TO_THE_FIRST_ANSWER: Final = """
import argparse, logging, pathlib, os, sys
needed = set(sys.modules)

def send(_connection, line, **_more):
    os.write(2, b"\\n".join([line, *(name.encode() for name in sorted(set(sys.modules) - needed))]))
    os._exit(0)

from humanmcp.server import session
from humanmcp.server.connection import PipeConnection
session.QUIET_AFTER = 60
PipeConnection.send = send
from humanmcp.cli import main
main()
"""

NOT_FOR_THE_FIRST_ANSWER: Final = {
    "asyncio": "sockets and a loop",
    "base64": "`binascii` is what it calls",
    "dataclasses": "each costs half a millisecond, and the module brings `inspect`",
    "datetime": "`time` writes a stamp as well",
    "email": "a part of `importlib.metadata`",
    "hashlib": "brings OpenSSL, 3 MB of a server's memory",
    "http": "there is no network in a server",
    "inspect": "brings `ast` and `dis`",
    "jsonschema_rs": "for the schema of a tool",
    "random": "brings `hashlib`",
    "shutil": "brings every compression there is",
    "socket": "there is no network in a server",
    "subprocess": "for --open alone",
    "tempfile": "brings `random` and `shutil`",
    "tomllib": "for a book, a settings file or a sentence",
    "uuid": "brings `platform`",
    "watchdog": "a server looks by itself",
    "humanmcp.protocol.answer_book.book_format": "for a book",
    "humanmcp.protocol.repair.parser": "for a text that is no JSON",
    "humanmcp.extensions.recordings.replay": "for --replay",
    "humanmcp.extensions.recordings.replaying": "for --replay",
}
"""What a start must not load, and why it is dear or what it is for."""


@pytest.fixture(scope="module")
def first_answer(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, list[str]]:
    """Return a server's first automatic answer, and the modules that were loaded until then."""
    home: Path = tmp_path_factory.mktemp("start") / "inbox"
    run = subprocess.run(
        [sys.executable, "-c", UP_TO_THE_FIRST_ANSWER, "serve", "--home", str(home), "--auto"],
        input=INITIALIZE,
        capture_output=True,
        text=True,
        check=False,
        env=bare_environment(home.parent),
    )
    answer, *loaded = run.stderr.split("\n")
    return answer, loaded


def test_the_modules_are_those_of_a_server_that_has_answered(
    first_answer: tuple[str, list[str]],
) -> None:
    """The list below is compared with a real start: the answer and what made it are there."""
    answer, loaded = first_answer
    assert json.loads(answer)["result"]["protocolVersion"] == "2025-11-25"
    assert {
        "humanmcp.server.session",
        "humanmcp.inbox.folder",
        "humanmcp.protocol.validation.check",
    } <= {*loaded}


@pytest.mark.parametrize("module", NOT_FOR_THE_FIRST_ANSWER)
def test_the_first_answer_waits_for_nothing_that_it_does_not_need(
    first_answer: tuple[str, list[str]], module: str
) -> None:
    """0.15 of the time that a server of the official SDK takes."""
    _answer, loaded = first_answer
    assert module not in loaded, NOT_FOR_THE_FIRST_ANSWER[module]


@pytest.mark.extension("text_files")
@pytest.mark.parametrize("more", [False, True], ids=["a probe alone", "a session"])
def test_where_to_answer_is_said_once_it_is_known(tmp_path: Path, more: bool) -> None:  # noqa: FBT001 - a column of the table
    """FastMCP 4 begins with `server/discover`, and until then nobody has the text files."""
    heard, files = tmp_path / "stderr", tmp_path / "files"
    methods = ["server/discover", "tools/list"] if more else ["server/discover"]
    with heard.open("wb") as stderr:
        process = subprocess.Popen(
            [*COMMAND, "--home", tmp_path / "home", "--auto", "--files", files, "--lang", "en"],
            env=bare_environment(tmp_path),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=stderr,
        )
    with process:
        assert process.stdin is not None
        assert process.stdout is not None
        for number, method in enumerate(methods):
            asked = {"id": number, "method": method, "params": {"_meta": stating()}}
            process.stdin.write(json.dumps({"jsonrpc": "2.0", **asked}).encode() + b"\n")
            process.stdin.flush()
            assert json.loads(process.stdout.readline())["id"] == number
        if more:
            until(lambda: f"{files}/in.txt" in heard.read_text(encoding="utf-8"), "the folder")
        process.stdin.close()
        assert process.wait(timeout=PATIENCE) == 0
    assert heard.read_text(encoding="utf-8").count("in.txt") == (1 if more else 0)
