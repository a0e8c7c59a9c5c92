"""One browser for the tests of this folder; each test gets its own desk, host and window."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, Playwright, expect, sync_playwright

from tests.browser import chromium
from tests.browser.seats import Opened, Sitting, Window, Windows, begin
from tests.support.desk_process import Desking
from tests.support.serve_process import Serving
from tests.support.waiting import PATIENCE, until

expect.set_options(timeout=PATIENCE * 1000)


@pytest.fixture(scope="package")
def playwright() -> Iterator[Playwright]:
    """What drives the browsers of this folder.

    It ends before a test of another folder: while it lives, an event loop runs in this thread, and
    tests elsewhere that start one of their own would fail.
    """
    with sync_playwright() as driver:
        yield driver


@pytest.fixture(scope="package")
def browser(playwright: Playwright) -> Iterator[Browser]:
    """A browser for the windows of all these tests."""
    started = chromium.launch(playwright)
    yield started
    started.close()


@pytest.fixture(scope="module")
def sitting(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sitting]:
    """Sit down once for a file: each of its tests sends a request of its own and answers it."""
    home = tmp_path_factory.mktemp("sitting") / "home"
    with Desking(home) as desk, Serving(home, "--by-hand") as host:
        begin(host, desk)
        window = Window(browser, desk)
        yield Sitting(desk, host, window, until(host.find_session, "a session").name)
        window.close()
        assert window.troubles == []


@pytest.fixture
def desk(home: Path) -> Iterator[Desking]:
    """A desk over it."""
    with Desking(home) as desk:
        yield desk


@pytest.fixture
def host(home: Path, desk: Desking) -> Iterator[Serving]:
    """A server, with the test in the host's place. It answers nothing by itself."""
    with Serving(home, "--by-hand") as serving:
        yield serving


@pytest.fixture
def window(browser: Browser, desk: Desking) -> Iterator[Callable[..., Window]]:
    """Open windows of separate people, logged in; what went wrong in any of them fails the test."""
    windows: list[Window] = []

    def opened(**options: object) -> Window:
        windows.append(Window(browser, desk, **options))
        return windows[-1]

    yield opened
    for one in windows:
        one.close()
    assert [trouble for one in windows for trouble in one.troubles] == []


@pytest.fixture
def opened(host: Serving, desk: Desking, window: Windows) -> Opened:
    """Shake hands, have the host say a line, and return the page of a person who sees it."""

    def opened(line: str, **options: object) -> Page:
        begin(host, desk)
        host.say(line)
        return window(**options).page

    return opened
