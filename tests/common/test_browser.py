"""An address is opened in the person's browser, or it is said how they reach it."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

from humanmcp.common import browser
from tests.support.desktop import SCREEN, Desktop
from tests.support.serve_process import bare_environment
from tests.support.waiting import PATIENCE

pytestmark = pytest.mark.skipif(sys.platform in ("win32", "darwin"), reason="no xdg-open")

ADDRESS: Final = "http://127.0.0.1:8765/"
OVER_SSH: Final = {"SSH_CONNECTION": "203.0.113.5 50000 203.0.113.7 22", "USER": "me"}


@pytest.mark.parametrize(("status", "is_open"), [(0, True), (3, False)])
def test_the_opener_of_the_desktop_says_whether_it_could(
    tmp_path: Path, status: int, *, is_open: bool
) -> None:
    """xdg-open: "3: A required tool could not be found"."""
    desktop = Desktop(tmp_path, status=status)
    assert browser.open_address(ADDRESS, desktop.environment) is is_open
    assert desktop.lines() == [f"{' '.join(SCREEN.values())} {ADDRESS}"]


@pytest.mark.parametrize(("status", "is_open"), [(0, True), (1, False)])
def test_the_browser_that_a_person_chose_comes_first(
    tmp_path: Path, status: int, *, is_open: bool
) -> None:
    """BROWSER, without any screen: the terminal of an editor opens it elsewhere."""
    desktop, chosen = Desktop(tmp_path), tmp_path / "chosen"
    chosen.write_text(f"#!/bin/sh\necho $1 > {tmp_path}/by-choice\nexit {status}\n")
    chosen.chmod(0o755)
    found = desktop.without_screen | {"BROWSER": str(chosen)} | OVER_SSH
    assert browser.open_address(ADDRESS, found) is is_open
    assert (tmp_path / "by-choice").read_text() == f"{ADDRESS}\n"
    assert desktop.lines() == []


@pytest.mark.parametrize("more", [{}, OVER_SSH])
def test_without_a_screen_nothing_is_opened(tmp_path: Path, more: dict[str, str]) -> None:
    """A text browser would be started where nobody sees it."""
    desktop = Desktop(tmp_path)
    assert not browser.open_address(ADDRESS, desktop.without_screen | more)
    assert desktop.lines() == []


def test_a_browser_that_runs_on_is_not_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without a desktop environment, xdg-open is the browser until its window is closed."""
    monkeypatch.setattr(browser, "OPENS_WITHIN", 0.1)
    pipe = tmp_path / "pipe"
    desktop = Desktop(tmp_path)
    opener = tmp_path / "bin" / "xdg-open"
    subprocess.run(["mkfifo", str(pipe)], check=True)
    opener.write_text(f"#!/bin/sh\nread closed < {pipe}\n")
    assert browser.open_address(ADDRESS, desktop.environment)
    pipe.write_text("closed\n")
    browser._browsers.pop().wait(PATIENCE)


@pytest.mark.parametrize(
    ("variables", "platform", "has_one"),
    [
        ({}, "darwin", True),
        ({}, "win32", True),
        (OVER_SSH, "darwin", False),
        (OVER_SSH, "win32", False),
        ({}, "linux", False),
        ({"DISPLAY": ""}, "linux", False),
        ({"DISPLAY": ":0"}, "linux", True),
        ({"WAYLAND_DISPLAY": "wayland-0"}, "linux", True),
        ({"DISPLAY": "localhost:10.0"} | OVER_SSH, "linux", True),
        (OVER_SSH, "freebsd14", False),
    ],
)
def test_who_sees_a_window_here(variables: dict[str, str], platform: str, *, has_one: bool) -> None:
    """MacOS and Windows always have a screen; elsewhere a variable names it."""
    assert browser.has_screen(variables, platform) is has_one


FOUND: Final = (
    "import json; from humanmcp.common import browser; print(json.dumps(browser.desktop()))"
)


@pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="no /proc")
@pytest.mark.parametrize("more", [SCREEN, {"SSH_CONNECTION": "1 2 h 22"}])
def test_the_desktop_of_a_host_is_found_from_a_server_with_few_variables(
    tmp_path: Path, more: dict[str, str]
) -> None:
    """Only the variables of the desktop come along; a key does not."""
    few = bare_environment(tmp_path)
    host = (
        "import subprocess, sys\n"
        f"subprocess.run([sys.executable, '-c', {FOUND!r}], env={few!r}, check=True)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", host],
        env=few | more | {"API_KEY": "secret", "PYTHONPATH": str(Path(__file__).parents[2])},
        capture_output=True,
        check=True,
        timeout=60,
    )
    found: dict[str, str] = json.loads(done.stdout)
    assert found.keys() - {"LC_CTYPE"} == few.keys() | more.keys()  # LC_CTYPE is Python's own
    assert found.items() >= more.items()


@pytest.mark.parametrize(
    ("address", "variables", "line"),
    [
        (ADDRESS, OVER_SSH, "ssh -L 8765:127.0.0.1:8765 me@203.0.113.7"),
        (
            "http://[::1]:81/",
            {"SSH_CONNECTION": "::1 5 fe80::1%eth0 2222", "USER": "$(touch x)"},
            "ssh -L '81:[::1]:81' -p 2222 '$(touch x)@fe80::1%eth0'",
        ),
        (ADDRESS, {"SSH_CONNECTION": "1 2 h 22"}, "ssh -L 8765:127.0.0.1:8765 h"),
    ],
)
def test_over_ssh_it_is_said_how_to_reach_the_page(
    address: str, variables: dict[str, str], line: str
) -> None:
    """The address of this computer is the one that the person's ssh uses."""
    assert browser.outcome(address, variables, is_open=False) == (
        f"This terminal runs over ssh, so no browser opens. On your own computer, run `{line}`. "
        "Then open the address above there."
    )


def test_without_ssh_the_address_is_for_this_computer() -> None:
    """The address itself is printed before."""
    assert browser.outcome(ADDRESS, {}, is_open=False).startswith("humanmcp cannot open a browser")
    assert browser.outcome(ADDRESS, OVER_SSH, is_open=True).startswith("Your browser opens")
