"""One request of a client for a script: the result on stdout alone, and an exit status."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from humanmcp.answering.forms import MistypedError
from humanmcp.common.child import ChildCommand, ChildTransport
from humanmcp.extensions.host.client.callbacks import Nobody
from humanmcp.extensions.host.client.client import Client
from humanmcp.extensions.host.client.handshake import SessionStart
from humanmcp.extensions.host.commands.client import ExitStatus, OneShot
from tests.extensions.host.seats import SAMPLES, SCRIPTED, as_process
from tests.support.serve_process import HUMANMCP, run_command

LIBRARY: Final = (sys.executable, str(Path(__file__).parent / "sdk_library.py"))
CALCULATE: Final = (sys.executable, str(SAMPLES / "servers" / "calculate.py"))
SUM: Final = "The result of the addition is: 35"


def script(
    home: Path, *words: str, server: tuple[str, ...] = CALCULATE
) -> subprocess.CompletedProcess[str]:
    """Run a client as a script does: nobody at the terminal, nothing on stdin."""
    return run_command(home, *HUMANMCP, "client", *words, "--", *server)


@pytest.fixture(scope="module")
def library() -> Iterator[Client]:
    """A session with a server of the official SDK."""
    client = Client(ChildTransport(ChildCommand(LIBRARY)), Nobody())
    client.open(SessionStart.HANDSHAKE)
    yield client
    client.close()


# -- as a process --------------------------------------------------------------------------------


def test_a_script_gets_the_result_of_a_tool_and_nothing_else(tmp_path: Path) -> None:
    """JSON on stdout alone, and the server's own stderr beside it."""
    run = script(tmp_path, "--call", "add", "first=2", "second=40", "--json", server=LIBRARY)
    assert run.returncode == ExitStatus.DONE, run.stderr
    assert json.loads(run.stdout)["content"] == [{"type": "text", "text": "42"}]
    assert "library is open" in run.stderr
    assert '"method"' not in run.stderr


def test_the_wire_is_shown_beside_the_result_when_it_is_wanted(tmp_path: Path) -> None:
    """On stderr; and arguments may stand behind another flag."""
    words = ("--call", "calculate", "--wire", "first=5", "second=[10,20]")
    run = script(tmp_path, *words)
    assert (run.returncode, run.stdout) == (ExitStatus.DONE, SUM + "\n")
    assert '"method":"tools/call"' in run.stderr


def test_the_arguments_may_be_one_json_object(tmp_path: Path) -> None:
    """`--arguments`."""
    given = '{"first": 5, "second": [10, 20]}'
    run = script(tmp_path, "--call", "calculate", "--arguments", given)
    assert run.stdout == SUM + "\n"


def test_a_server_that_dies_is_4_and_said_once(tmp_path: Path) -> None:
    """And nothing stands on stdout."""
    run = script(tmp_path, "--call", "leave", "--json", server=LIBRARY)
    assert (run.returncode, run.stdout) == (ExitStatus.LOST, "")
    assert run.stderr.count("exit status 7") == 1


def test_a_server_that_cannot_be_started_is_4(tmp_path: Path) -> None:
    """With the reason on stderr."""
    run = script(tmp_path, "--list", "tools", server=("no-such-program",))
    assert (run.returncode, run.stdout) == (ExitStatus.LOST, "")
    assert "cannot start `no-such-program`" in run.stderr


def test_a_server_that_says_nothing_is_5(tmp_path: Path) -> None:
    """It is waited for as long as `--timeout` says."""
    silent = (sys.executable, str(SCRIPTED), "no-initialize-answer")
    run = script(tmp_path, "--list", "tools", "--timeout", "0.2", server=silent)
    assert (run.returncode, run.stdout) == (ExitStatus.LATE, "")


@pytest.mark.parametrize("words", [("--call", "echo", "q=hi"), ("--read", "file:///a")])
def test_an_address_behind_a_request_is_the_server(tmp_path: Path, words: tuple[str, ...]) -> None:
    """Argparse cannot tell it from an argument; beside another server it is one."""
    run = run_command(tmp_path, *HUMANMCP, "client", *words, "http://127.0.0.1:9/mcp")
    assert run.returncode == ExitStatus.LOST
    assert "http://127.0.0.1:9/mcp" in run.stderr
    beside = script(tmp_path, "--call", "none", "http://127.0.0.1:9/mcp")
    assert (beside.returncode, "key=value" in beside.stderr) == (ExitStatus.MISTYPED, True)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--call", "calculate", "first=x"), "first takes: number"),
        (("--call", "calculate", "nonsense"), "not key=value: nonsense"),
        (("--call", "calculator"), "calculator was not sent"),
        (("--call", "calculate", "a=1", "--arguments", "{}"), "not both"),
        (("--call", "calculate", "--script", "lesson.txt"), "lesson.txt"),
        (("--call", "calculate", "--example"), "sends one request only"),
        (("--list", "nothing"), "--list"),
        (("--json",), "--json needs --call, --list, --read"),
        (("--call", "calculate", "--server", "none", "--config", "/nowhere"), "not sent"),
    ],
)
def test_what_cannot_be_asked_is_2(tmp_path: Path, words: tuple[str, ...], said: str) -> None:
    """Nothing is sent, and a sentence says why."""
    run = script(tmp_path, *words)
    assert (run.returncode, run.stdout) == (ExitStatus.MISTYPED, "")
    assert said in run.stderr


def test_the_last_resort_of_a_script_is_to_send_it_anyway(tmp_path: Path) -> None:
    """Then the server says what it thinks of it."""
    run = script(tmp_path, "--call", "calculate", "first=x", "--anyway", "--json")
    assert run.returncode in (ExitStatus.TOOL_ERROR, ExitStatus.ERROR)


def test_the_statuses_are_in_the_help(tmp_path: Path) -> None:
    """Whoever writes a script looks there first."""
    run = script(tmp_path, "--help")
    assert "Exit status after --call" in run.stdout


# -- what is asked -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "name", "typed", "shown"),
    [
        ("call", "echo", 'text="東京 and Kyoto"', "東京 and Kyoto\n"),
        ("list", "resources", "", "note://today  What is to be done.\n"),
        ("list", "templates", "", "weather://{city}/now  Weather of a city.\n"),
        ("list", "prompts", "", "greeting  city=… [style=…]  Greet a city.\n"),
        ("read", "note://today", "", "water the plants\n"),
        ("read", "weather://{city}/now", "city=東京", "sunny in 東京\n"),
        ("get", "greeting", "city=Oslo", "user: Write a short greeting to Oslo.\n"),
        ("complete", "greeting", "city=To", "Tokyo\nToronto\n"),
        ("complete", "greeting", "country=Japan city=To", "Tokyo\nToyama\n"),
        ("complete", "weather://{city}/now", "city=Tor", "Toronto\n"),
    ],
)
def test_each_kind_of_request_is_made_of_words(  # noqa: PLR0917 - one row of a table
    library: Client,
    capfd: pytest.CaptureFixture[str],
    kind: str,
    name: str,
    typed: str,
    shown: str,
) -> None:
    """Against a server of the official SDK."""
    assert OneShot(kind, name, typed).ask(library) is ExitStatus.DONE
    assert capfd.readouterr().out == shown


@pytest.mark.parametrize(
    ("kind", "name", "typed", "member"),
    [
        ("list", "tools", "", "tools"),
        ("list", "templates", "", "resourceTemplates"),
        ("read", "note://today", "", "contents"),
        ("get", "greeting", "city=Oslo", "messages"),
        ("complete", "greeting", "city=To", "completion"),
    ],
)
def test_each_result_can_be_had_as_json(  # noqa: PLR0917 - one row of a table
    library: Client,
    capfd: pytest.CaptureFixture[str],
    kind: str,
    name: str,
    typed: str,
    member: str,
) -> None:
    """One object."""
    assert OneShot(kind, name, typed, as_json=True).ask(library) is ExitStatus.DONE
    assert member in json.loads(capfd.readouterr().out)


def test_a_tool_that_fails_is_1_and_its_result_is_shown(
    library: Client, capfd: pytest.CaptureFixture[str]
) -> None:
    """`isError`."""
    assert OneShot("call", "fail", "", as_json=True).ask(library) is ExitStatus.TOOL_ERROR
    assert json.loads(capfd.readouterr().out)["isError"] is True


def test_an_error_of_the_server_is_3(library: Client, capfd: pytest.CaptureFixture[str]) -> None:
    """Its code and its words on stderr."""
    assert OneShot("read", "note://never", "").ask(library) is ExitStatus.ERROR
    shown = capfd.readouterr()
    assert shown.out == ""
    assert "-32602" in shown.err


def test_what_a_prompt_needs_is_said_before_it_is_asked_for(library: Client) -> None:
    """Nobody has to read the list of its arguments first."""
    with pytest.raises(MistypedError, match="greeting needs city"):
        OneShot("get", "greeting", "style=long").ask(library)


def test_all_pages_of_a_list_are_one_object(capfd: pytest.CaptureFixture[str]) -> None:
    """A script has no cursor to care for."""
    client = Client(as_process("paged"), Nobody())
    try:
        client.open(SessionStart.HANDSHAKE)
        assert OneShot("list", "tools", "", as_json=True).ask(client) is ExitStatus.DONE
    finally:
        client.close()
    listed = json.loads(capfd.readouterr().out)["tools"]
    assert [one["name"] for one in listed] == ["tool1", "tool2", "tool3"]
