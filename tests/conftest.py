"""What every test may ask for, and how tests that cannot run here say so.

A test that needs Node.js or a browser carries the mark `node` or `browser`. Where that is missing
the test is skipped, and the end of the run names what was not proved and how to get it.
"""

import contextlib
import functools
import importlib
import os
import signal
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Final

import pytest
from hypothesis import Phase, settings

from editor.build import find_npm
from humanmcp import extensions
from humanmcp.cli import main
from humanmcp.locales import speak
from tests.browser import chromium, firefox
from tests.support.inbox_folder import Room, Shell
from tests.support.postgres_server import PostgresServer, why_no_postgres
from tests.support.proxies import PROXIES, proxy_program
from tools import install

HERE: Final = Path(__file__).parent
NPM: Final = find_npm()
if NPM is not None:
    # Tests start `node` by its name. Playwright brings a Node.js that wants a library which not
    # every machine has (libatomic), so it takes the same.
    os.environ["PATH"] = NPM.path
    os.environ["PLAYWRIGHT_NODEJS_PATH"] = NPM.node

# How long an example takes says nothing on a machine that does other work: bench/ has the figures.
settings.register_profile(
    "patient",
    settings(),
    deadline=None,
    phases=set(Phase) - {Phase.explain},  # it traces each line: minutes on a busy computer
)
settings.load_profile("patient")


@pytest.fixture(autouse=True)
def _english() -> None:
    """Begin each test in English, whatever the command line of another one asked for."""
    speak("en")


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """An inbox folder that does not exist yet."""
    return tmp_path / "home"


@pytest.fixture
def room(home: Path) -> Iterator[Room]:
    """An inbox folder, with the servers' side of it in the hands of a test."""
    made = Room(home)
    yield made
    made.close()


@pytest.fixture
def shell(room: Room, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Shell:
    """Give the command line of that inbox, in English unless it is told otherwise."""
    for name in ("LC_ALL", "LANG", "HUMANMCP_LANG", "HUMANMCP_HOME"):
        monkeypatch.delenv(name, raising=False)
    return Shell(room.home, main, capsys)


@functools.cache
def why_no_node() -> str:
    """Return why the npm clients cannot run here, or "" when they can."""
    if NPM is None:
        return "there is no Node.js 20 or newer: install one, then run `make node`"
    if not install.is_installed(install.CLIENTS):
        return "the npm clients are not installed: run `make node`"
    return ""


@functools.cache
def why_no_browser() -> str:
    """Return why no browser can be driven here, or "" when one can."""
    if chromium.find() is None:
        return "there is no Chromium: run `make browser`, or install one"
    return ""


@functools.cache
def why_no_firefox() -> str:
    """Return why Firefox cannot be driven here, or "" when it can."""
    if firefox.find() is None:
        return "there is no Firefox: run `make programs` as root, or install firefox-esr"
    return ""


@functools.cache
def why_no_proxies() -> str:
    """Say which proxy cannot be started here, or "" when all can."""
    missing = [name for name in PROXIES if not proxy_program(name)]
    if missing:
        return f"there is no {missing[0]}: run `make programs` as root, or install it"
    return ""


NEEDS: Final[Mapping[str, Callable[[], str]]] = {
    "node": why_no_node,
    "browser": why_no_browser,
    "firefox": why_no_firefox,
    "postgres": why_no_postgres,
    "proxies": why_no_proxies,
}


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    """Start a PostgreSQL of our own. Tests that ask for it are of the xdist group `postgres`."""
    with PostgresServer() as server:
        yield server


def pytest_configure() -> None:
    """Hear signals, and let what the tests start hear them.

    A shell that runs a command in the background lets it ignore Ctrl-C, `nohup` lets it ignore a
    hangup, and every child inherits that: then no test of what such a signal does can pass.
    """
    for name, usual in (("SIGINT", signal.default_int_handler), ("SIGHUP", signal.SIG_DFL)):
        number = getattr(signal, name, None)  # Windows has no SIGHUP
        if number is not None and signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, usual)


def pytest_sessionstart(session: pytest.Session) -> None:
    """Load other tests first in each worker of a whole run.

    In a fresh clone pytest rewrites the asserts of every file, which takes longer than to collect
    them, and keeps what it wrote. So each worker begins with a part of its own.
    """
    worker = getattr(session.config, "workerinput", None)
    if worker is None or session.config.args_source is not pytest.Config.ArgsSource.TESTPATHS:
        return
    rank, count = int(worker["workerid"].removeprefix("gw")), worker["workercount"]
    files = sorted(file for depth in range(4) for file in HERE.glob("*/" * depth + "test_*.py"))
    for file in files[rank::count]:
        with contextlib.suppress(Exception, pytest.skip.Exception):  # it is told when collected
            importlib.import_module(".".join(file.relative_to(HERE.parent).with_suffix("").parts))


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Keep the browser tests of a file together, in one worker: they share one browser."""
    for item in items:
        if item.get_closest_marker("browser") is not None:
            item.add_marker(pytest.mark.xdist_group(item.path.stem))


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip what cannot run here, with the reason."""
    for mark, why_not in NEEDS.items():
        if item.get_closest_marker(mark) is not None and (reason := why_not()):
            pytest.skip(f"{mark}: {reason}")
    for needed in item.iter_markers("extension"):
        if needed.args[0] not in {one.name for one in extensions.installed()}:
            pytest.skip(f"extension: {needed.args[0]} is not installed")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Name at the very end what was not proved: it must not look like a test that passed."""
    reasons: dict[str, int] = {}
    for report in terminalreporter.stats.get("skipped", []):
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
        reasons[reason] = reasons.get(reason, 0) + 1
    if not reasons:
        return
    terminalreporter.section("NOT RUN: these tests prove nothing today", red=True, bold=True)
    for reason, count in sorted(reasons.items()):
        terminalreporter.line(f"{count} x {reason.removeprefix('Skipped: ')}")
