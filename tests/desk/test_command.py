"""`humanmcp desk`: one for each inbox, found again, disposable."""

import errno
import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from humanmcp import launch
from humanmcp.cli import main
from humanmcp.common import browser
from humanmcp.common.settings import make_home
from humanmcp.desk import command
from humanmcp.inbox.life_lock import LifeLock
from tests.support.desk_process import COMMAND, Desking
from tests.support.desktop import Desktop
from tests.support.waiting import PATIENCE, until


def test_a_second_desk_points_to_the_first(home: Path) -> None:
    """The second prints an address of the first, with a key, and ends."""
    with Desking(home) as desk:
        second = subprocess.run(
            [*COMMAND, "--home", str(home)],
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=False,
        )
        assert second.returncode == 0
        assert re.search(r"\b[A-Z2-9]{4}-[A-Z2-9]{4}\b", second.stdout)  # the code of now
        address = second.stdout.splitlines()[-1]
        assert address.startswith(f"{desk.facts.address}login#k=")
        key = address.partition("#k=")[2]
        body = json.dumps({"key": key}).encode()
        json_type = {"Content-Type": "application/json"}
        assert desk.ask("POST", "/api/login", body=body, headers=json_type).status == 200


def test_a_taken_port_leads_to_the_next(home: Path, tmp_path: Path) -> None:
    """The address is always the one in desk.json and on the terminal."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with Desking(home, port=port) as desk:
            assert desk.port != port
            assert str(desk.port) in desk.out.read_text(encoding="utf-8")


def test_a_file_of_a_dead_desk_is_ignored(home: Path) -> None:
    """The lock decides who is alive: not a file, not a process number."""
    with Desking(home) as desk:
        desk.kill()
        assert (home / launch.FACTS_NAME).exists()
        assert launch.find(home) is None
    with Desking(home) as again:
        assert launch.find(home) == again.facts


def test_a_broken_file_of_a_living_desk_is_no_desk_yet(home: Path) -> None:
    """What cannot be read is asked for again, not believed."""
    with Desking(home):
        for content in ("", "[]", "{}", '{"address": 1}', "\xff"):
            (home / launch.FACTS_NAME).write_text(content, encoding="latin-1")
            assert launch.find(home) is None


@pytest.fixture
def started(home: Path) -> Iterator[Path]:
    """A home whose desk, whoever started it, is gone afterwards."""
    yield home
    facts = launch.find(home)
    if facts is not None:
        os.kill(facts.pid, signal.SIGTERM)
        until(lambda: launch.find(home) is None, "the desk is gone")


def test_who_starts_a_desk_where_one_has_died_finds_the_new_one(started: Path) -> None:
    """The dead one's address stands in the folder while the new one holds the lock already."""
    with Desking(started) as desk:
        desk.kill()
    assert (started / launch.FACTS_NAME).exists()
    code = (
        "import sys\n"
        "from pathlib import Path\n"
        "from humanmcp import launch\n"
        "facts = launch.find_or_start(Path(sys.argv[1]))\n"
        "assert launch.find(Path(sys.argv[1])) == facts\n"
        "assert launch.login_address(facts).startswith(facts.address)\n"
    )
    subprocess.run([sys.executable, "-c", code, str(started)], check=True, timeout=PATIENCE)


def test_the_address_of_a_dead_desk_is_not_taken_for_the_new_one_s(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The new one holds the lock a moment before it takes the old address away."""
    with Desking(home) as desk:
        desk.kill()
    held: list[LifeLock] = []
    new = launch.DeskFacts("http://127.0.0.1:9/", "new", os.getpid(), "0")

    def start(folder: Path, _flags: object, _stdin: int) -> None:
        held.append(LifeLock.take(folder / launch.LOCK_NAME))

    def look(_seconds: float) -> None:
        launch.write_facts(home, new)

    monkeypatch.setattr(launch, "_start", start)
    monkeypatch.setattr(time, "sleep", look)
    assert launch.find_or_start(home) == new
    held[0].release()


def test_a_desk_outlives_the_process_group_that_started_it(started: Path) -> None:
    """A host kills the whole group of a server two seconds after it closed its stdin."""
    code = (
        "import sys, time\n"
        "from pathlib import Path\n"
        "from humanmcp.launch import find_or_start\n"
        "sys.stderr.write(find_or_start(Path(sys.argv[1])).address)\n"
        "sys.stderr.flush()\n"
        "time.sleep(60)\n"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", code, str(started)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    assert process.stdout is not None
    assert process.stderr is not None
    until(lambda: launch.find(started), "a desk")
    facts = launch.find(started)
    assert facts is not None
    os.killpg(process.pid, signal.SIGKILL)
    out, err = process.communicate(timeout=PATIENCE)
    assert out == b""  # stdout is the wire
    assert b"#k=" not in err
    assert launch.find(started) == facts
    assert launch.find_or_start(started) == facts
    log = (started / launch.LOG_NAME).read_text(encoding="utf-8")
    assert facts.token not in log


def test_a_running_desk_says_that_no_browser_opens(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """The address stands above."""
    variables = Desktop(tmp_path / "desktop").without_screen
    with Desking(home) as desk:
        monkeypatch.setattr(browser, "desktop", lambda: variables)
        assert main(["desk", "--open", "--home", str(home), "--lang", "en"]) == 0
    said = capfd.readouterr().out.splitlines()
    assert said[-1].startswith("humanmcp cannot open a browser here.")
    assert f"{desk.facts.address}login#k=" in said[-2]
    assert not (home / launch.OPEN_NAME).exists()


def test_the_browser_is_opened_by_a_file_and_not_by_an_argument(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The key is in a 0600 file; the argument list only names the file."""
    desktop = Desktop(tmp_path / "desktop")
    monkeypatch.setattr(browser, "desktop", lambda: desktop.environment)
    with Desking(home) as desk:
        assert launch.open_in_browser(
            home, desk.facts.address, launch.login_address(desk.facts)
        ).startswith("Your browser opens the page")
    page = home / launch.OPEN_NAME
    assert page.stat().st_mode & 0o777 == 0o600
    assert "#k=" in page.read_text(encoding="utf-8")
    assert [line.split()[-1] for line in desktop.lines()] == [page.as_uri()]


def test_the_first_desk_opens_its_own_page_and_lives(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`humanmcp desk --open`: it asks nobody to be let in, and the key in the file works."""
    monkeypatch.setenv("BROWSER", "true")
    with Desking(home, "--open") as desk:
        until((home / launch.OPEN_NAME).exists, "the file that the browser opens")
        page = (home / launch.OPEN_NAME).read_text(encoding="utf-8")
        key = page.partition("#k=")[2][:22]
        answer = desk.ask(
            "POST",
            "/api/login",
            body=json.dumps({"key": key}).encode(),
            headers={
                "Content-Type": "application/json",
                "Origin": desk.facts.address.rstrip("/"),
                "Sec-Fetch-Site": "same-origin",
            },
        )
        assert answer.status == 200, answer.text
        assert desk.process.poll() is None


def ask_desk(home: Path, *flags: str) -> subprocess.CompletedProcess[str]:
    """Run `humanmcp desk` where one may run already."""
    words = [*COMMAND, "--home", str(home), "--lang", "en", *flags]
    return subprocess.run(words, capture_output=True, text=True, timeout=PATIENCE, check=False)


def test_a_desk_of_this_computer_alone_starts_again_for_the_network(home: Path) -> None:
    """At the same port: an open page comes back by itself, still logged in."""
    with Desking(home) as alone:
        cookie = alone.cookie()
        with Desking(home, "--lan") as desk:
            alone.process.wait(PATIENCE)
            assert desk.port == alone.port
            assert "now starts again for the network" in desk.out.read_text(encoding="utf-8")
            assert desk.ask("GET", alone.in_login("/"), headers=cookie).status == 200
            assert ask_desk(home, "--stop").stdout.startswith("The desk was stopped.")
            desk.process.wait(PATIENCE)
            again = ask_desk(home, "--stop")
            assert (again.returncode, again.stdout) == (0, "No desk runs for this inbox.\n")


def test_a_running_desk_that_others_reach_gives_a_link_for_another_device(home: Path) -> None:
    """The link lets in a device, which may answer and no more; another address is not invented."""
    with Desking(home, "--url", "https://desk.example") as desk:
        for flags in (("--lan",), ("--url", "https://Desk.example/")):
            second = ask_desk(home, *flags)
            assert second.returncode == 0, second.stderr
            link = second.stdout.splitlines()[-1].strip()
            assert link.startswith("https://desk.example/login#k=")
        key = link.partition("#k=")[2]
        body = json.dumps({"key": key}).encode()
        json_type = {"Content-Type": "application/json"}
        assert desk.ask("POST", "/api/login", body=body, headers=json_type).status == 200
        assert "My phone</strong>" in desk.page("/devices")
        other = ask_desk(home, "--url", "https://other.example")
        assert other.returncode == 1
        assert "at https://desk.example." in other.stderr


@pytest.mark.parametrize("lets_go", [True, False])
def test_a_desk_takes_the_place_of_one_that_ends_while_it_is_asked(
    home: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    *,
    lets_go: bool,
) -> None:
    """Its connections are cut before its lock is free. Where it lives on, the reason is told."""
    make_home(home)
    held = LifeLock.take(home / launch.LOCK_NAME)
    launch.write_facts(home, launch.DeskFacts("http://127.0.0.1:1/", "token", os.getpid(), "1", ""))

    def cut(*_given: object) -> tuple[str, str]:
        if lets_go:
            threading.Timer(0.05, held.release).start()
        raise ConnectionResetError(errno.ECONNRESET, "")

    monkeypatch.setattr(launch, "ways_in", cut)
    monkeypatch.setattr(command, "_serve", lambda *_given: 0)
    monkeypatch.setattr(command, "ENDS_WITHIN", PATIENCE if lets_go else 0.05)
    assert main(["desk", "--home", str(home)]) == (0 if lets_go else command.CANNOT)
    assert ("the connection was cut" in capsys.readouterr().err) is not lets_go
    held.release()
