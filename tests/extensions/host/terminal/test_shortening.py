"""A picture does not flood the terminal, and nothing is shown twice there."""

import json
import sys
import threading
from pathlib import Path

import pytest

from humanmcp.extensions.host.terminal.results import LONGEST, WireLog, shortened
from humanmcp.extensions.host.terminal.typing import Typist
from tests.extensions.host.at_keys import PROMPT, Terminal
from tests.extensions.host.terminal.test_prompt import typed
from tests.support.speaking import said_in

PICTURE = "iVBORw0KGgo" * 1000
PAINTER = f"""
import json, sys
for line in sys.stdin:
    asked = json.loads(line)
    found = {{"protocolVersion": "2025-11-25", "capabilities": {{"tools": {{}}}},
             "serverInfo": {{"name": "painter", "version": "1"}}}}
    if asked["method"] == "tools/call":
        item = {{"type": "image", "mimeType": "image/png", "data": "{PICTURE}"}}
        found = {{"content": [{{"type": "text", "text": "a picture"}}, item]}}
    elif asked["method"] == "tools/list":
        found = {{"tools": [{{"name": "paint", "inputSchema": {{"type": "object"}}}}]}}
    if "id" in asked:
        print(json.dumps({{"jsonrpc": "2.0", "id": asked["id"], "result": found}}), flush=True)
"""


def test_long_base64_is_cut_and_its_length_is_said() -> None:
    """In both languages; what is short, or no base64, stays."""
    line = json.dumps({"data": PICTURE, "text": "words " * 200, "id": "a" * (LONGEST - 1)})
    for language, unit in (("en", "characters"), ("ja", "文字")):
        short = said_in(language, shortened, line)
        assert len(short) < len(line) - len(PICTURE) + 200
        assert f"{len(PICTURE)} {unit}" in short
        assert "words " * 200 in short
        assert "a" * (LONGEST - 1) in short


def test_a_terminal_shows_a_result_once_and_short(tmp_path: Path) -> None:
    """The line on the wire is cut, and below it stands what a person wants to know."""
    terminal = Terminal(tmp_path, sys.executable, "-c", PAINTER, wire=True)
    terminal.see(PROMPT)
    terminal.type("tools/list")
    terminal.see("tools/list paint\r\n")
    terminal.see(PROMPT)
    terminal.type("call! paint")
    shown = terminal.see("tools/call a picture [image: image/png]")
    assert f"{len(PICTURE)} characters" in shown
    assert len(shown) < len(PICTURE)
    terminal.see(PROMPT)
    terminal.type("quit")
    assert terminal.end() == 0


def test_a_pipe_gets_every_character(tmp_path: Path) -> None:
    """Only what a person looks at is cut."""
    run = typed(tmp_path, (), "call! paint", server=(sys.executable, "-c", PAINTER))
    assert PICTURE in run.stdout
    assert PICTURE in run.stderr


def test_what_one_server_says_is_written_in_one_piece() -> None:
    """Whoever writes above the typed line has the terminal for that long."""
    typist = Typist()
    free: list[bool] = []
    with typist.above():
        other = threading.Thread(
            target=lambda: free.append(typist._writing.acquire(blocking=False))
        )
        other.start()
        other.join()
    assert free == [False]


def test_what_is_wrong_names_its_server(capfd: pytest.CaptureFixture[str]) -> None:
    """A line of another server may come between a message and what is said of it."""
    log = WireLog(name="dice")
    log._remark("gone")
    assert capfd.readouterr().err == "  dice gone\n"
