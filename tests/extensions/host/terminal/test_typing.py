"""The keyboard of the client's and the host's seat, at a real terminal."""

import io
import os
import sys
from pathlib import Path
from typing import Final

import pytest

from humanmcp.extensions.host.terminal.typing import Typist, completion
from tests.extensions.host.at_keys import CTRL_D, PROMPT, TAB, Terminal
from tests.extensions.host.seats import SAMPLES, SCRIPTED

CALCULATE: Final = (sys.executable, str(SAMPLES / "servers" / "calculate.py"))


def test_names_are_completed() -> None:
    """What begins so, one after the other, each once."""
    names = ["tools", "tools/list", "tools/call", "ping", "tools/call"]
    assert [completion(names, "tools/", at) for at in range(3)] == [
        "tools/call",
        "tools/list",
        None,
    ]


def test_the_tab_key_completes_what_is_there_and_what_the_server_told_of(tmp_path: Path) -> None:
    """Completion of names: a method at once, a tool once it was listed."""
    terminal = Terminal(tmp_path, *CALCULATE)
    terminal.see(PROMPT)
    terminal.press(f"resources/l{TAB}")
    terminal.see("resources/list")
    terminal.press("\n")
    terminal.see('resources/list {"resources": []}')
    terminal.see(PROMPT)
    terminal.type("tools")
    terminal.see("This tool calculates")
    terminal.see(PROMPT)
    terminal.press(f"call calc{TAB}")
    terminal.see("call calculate")
    terminal.press("\n")
    terminal.see("first* (number): This is the first parameter: ")
    terminal.type("five")
    terminal.see("first takes: number")
    terminal.see("This is the first parameter: ")
    terminal.type("5")
    terminal.see("which is an array of numbers: ")
    terminal.type("[10, 20]")
    terminal.see("The result of the addition is: 35")
    terminal.see(PROMPT)
    terminal.press(CTRL_D)
    assert terminal.end() == 0
    assert terminal.shown.endswith("\r\n"), "the prompt of the shell gets a line of its own"


def test_ctrl_c_drops_a_line_and_twice_ends_the_session(tmp_path: Path) -> None:
    """As in a shell: one too many does not cost the session."""
    terminal = Terminal(tmp_path, *CALCULATE)
    terminal.see(PROMPT)
    terminal.press("tools/li")
    terminal.see("tools/li")
    terminal.interrupt()
    terminal.see(PROMPT)
    terminal.type("ping")
    terminal.see("Ping {}")
    terminal.see(PROMPT)
    terminal.interrupt()
    terminal.see(PROMPT)
    terminal.interrupt()
    assert terminal.end() == 130


def test_ctrl_c_gives_up_one_request_only(tmp_path: Path) -> None:
    """The server is told, and the session goes on."""
    terminal = Terminal(tmp_path, sys.executable, str(SCRIPTED), wire=True)
    terminal.see(PROMPT)
    terminal.type("test/silence")
    terminal.see('"method":"test/silence"')
    terminal.interrupt()
    terminal.see("notifications/cancelled")
    terminal.see("interrupted; the request was cancelled")
    terminal.see(PROMPT)
    terminal.type("quit")
    assert terminal.end() == 0


def test_a_line_that_arrives_stands_above_the_one_that_is_typed(tmp_path: Path) -> None:
    """Neither the prompt nor what was typed is lost on the screen."""
    talks = (
        "import json, sys\n"
        "for line in sys.stdin:\n"
        "    asked = json.loads(line)\n"
        "    if asked.get('method') == 'initialize':\n"
        "        found = {'protocolVersion': '2025-11-25', 'capabilities': {},\n"
        "                 'serverInfo': {'name': 'x', 'version': '1'}}\n"
        "        said = {'jsonrpc': '2.0', 'id': asked['id'], 'result': found}\n"
        "        print(json.dumps(said), flush=True)\n"
        "    if asked.get('method') == 'test/later':\n"
        "        open(sys.argv[1]).read()\n"
        "        print('I am a log line', flush=True)\n"
    )
    gate = tmp_path / "gate"
    os.mkfifo(gate)
    terminal = Terminal(tmp_path, sys.executable, "-c", talks, str(gate), wire=True)
    terminal.see(PROMPT)
    terminal.type("test/later &")
    terminal.see(PROMPT)
    terminal.press("half a li")
    terminal.see("half a li")
    gate.write_text("now")
    terminal.see("\r\x1b[K")
    terminal.see("Server :   I am a log line")
    terminal.see(f"\r\x1b[K{PROMPT}half a li")
    terminal.see("Only messages of MCP may come here")
    terminal.see(f"\r\x1b[K{PROMPT}half a li")
    terminal.type("ne")
    terminal.see('"half" is not a command')
    terminal.see(PROMPT)
    terminal.press(CTRL_D)
    assert terminal.end() == 0


@pytest.mark.parametrize(
    ("typed", "letter"),
    [(["x", "", "Answer"], "a"), (["c"], "c"), (["no"], "r"), ([], "r")],
)
def test_a_slip_of_the_finger_decides_nothing(
    typed: list[str], letter: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is asked again; the end of input is a no."""
    monkeypatch.setattr("sys.stdin", io.StringIO("".join(f"{one}\n" for one in typed)))
    assert Typist().choose("call?", "car") == letter
