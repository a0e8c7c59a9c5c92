"""The page without a server, from a server of static files that is gone after the first visit."""

import functools
import http.server
import json
import re
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, FrameLocator, Page, expect

from editor.build import find_npm
from tests.browser.seats import OPTIONS, PHONE
from tests.support.waiting import PATIENCE
from tools import lite

# Python starts several times in a test, in seconds on a machine that does nothing else.
pytestmark = [pytest.mark.browser, pytest.mark.xdist_group("lite"), pytest.mark.timeout(600)]
BOOTS_WITHIN = 6 * PATIENCE * 1000


class Quiet(http.server.SimpleHTTPRequestHandler):
    """Serves files, and says nothing."""

    def log_message(self, *_: object) -> None:
        """Say nothing."""


class Site:
    """A server of static files below a path, as a project's pages have."""

    def __init__(self, folder: Path) -> None:
        """Serve the folder."""
        handler = functools.partial(Quiet, directory=str(folder))
        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        self.address = f"http://127.0.0.1:{self._server.server_port}/try/"

    def close(self) -> None:
        """Cut the network."""
        self._server.shutdown()
        self._server.server_close()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the page once."""
    if not lite.libraries().exists() or find_npm() is None:
        pytest.skip("Python for the browser is not here: run `make test`")
    made = tmp_path_factory.mktemp("site")
    lite.build(made / "try")
    return made


@pytest.fixture
def site(folder: Path) -> Iterator[Site]:
    """Serve it."""
    serving = Site(folder)
    yield serving
    serving.close()


@pytest.fixture
def person(browser: Browser) -> Iterator[Callable[..., BrowserContext]]:
    """Open a browser of one person; a script that fails in it fails the test."""
    opened: list[BrowserContext] = []
    troubles: list[str] = []

    def begin(**options: object) -> BrowserContext:
        context = browser.new_context(**{**OPTIONS, **options})
        context.set_default_timeout(PATIENCE * 1000)
        context.on("weberror", lambda one: troubles.append(str(one.error)))
        opened.append(context)
        return context

    yield begin
    for context in opened:
        context.close()
    assert troubles == []


def shown(page: Page) -> FrameLocator:
    """Wait until the page is there, and return it."""
    inside = page.frame_locator("#page")
    expect(inside.locator("#main")).to_be_visible(timeout=BOOTS_WITHIN)
    return inside


def send(page: Page, inside: FrameLocator) -> None:
    """Send by the keys."""
    expect(inside.locator(".scripted article.message")).to_be_visible()
    page.keyboard.press("Control+Enter")


def test_the_first_lesson_is_taken_by_keys_without_a_network(
    site: Site, person: Callable[..., BrowserContext]
) -> None:
    """After the first visit: with a reload in the middle, and with a second tab."""
    context = person()
    page = context.new_page()
    page.goto(site.address)
    inside = shown(page)
    site.close()
    expect(inside.locator(".lesson")).to_contain_text("Step 1 of 2")
    send(page, inside)
    expect(inside.locator(".lesson")).to_contain_text("Step 2 of 2")
    expect(inside.get_by_text("No problems.")).to_be_visible()
    page.keyboard.press("Control+End")
    page.keyboard.type("x")
    expect(inside.locator("#saved-at")).to_have_text("Draft saved")
    page.reload()
    inside = shown(page)
    expect(inside.locator(".lesson")).to_contain_text("Step 2 of 2")
    second = context.new_page()
    second.goto(site.address)
    expect(shown(second).locator(".lesson")).to_contain_text("Step 2 of 2")
    page.bring_to_front()
    expect(inside.get_by_text("No problems.")).to_have_count(0)
    page.keyboard.press("Control+End")
    page.keyboard.press("Backspace")
    expect(inside.get_by_text("No problems.")).to_be_visible()
    send(page, inside)
    expect(inside.locator(".motto")).to_have_text("You were the MCP server.")
    page.close()
    inside = shown(second)
    inside.get_by_role("link", name="Inbox").click(timeout=BOOTS_WITHIN)
    over = "You were the MCP server."
    expect(inside.locator(".motto")).to_have_text(over, timeout=BOOTS_WITHIN)
    forget(second)
    expect(shown(second).locator(".lesson")).to_contain_text("Step 1 of 2")


def forget(page: Page) -> None:
    """Forget everything, as a person does."""
    inside = shown(page)
    inside.get_by_role("link", name="Lessons").click()
    inside.get_by_role("link", name="Forget everything").click()
    page.get_by_role("button", name="Forget everything").click()
    expect(page).to_have_url(re.compile(r"/try/$"))


def test_a_phone_in_japanese_takes_another_lesson_and_checks_a_message(
    site: Site, person: Callable[..., BrowserContext]
) -> None:
    """What cannot be judged without a library is said, and nothing is called right."""
    page = person(locale="ja-JP", **PHONE).new_page()
    page.goto(site.address)
    inside = shown(page)
    expect(inside.locator("html")).to_have_attribute("lang", "ja")
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["viewport"]["width"]
    inside.get_by_role("link", name="レッスン").tap()
    inside.get_by_role("button", name="モデルが選ぶツール").tap()
    expect(inside.locator(".scripted article.message")).to_be_visible()
    inside.get_by_role("link", name="レッスン").tap()
    tool = {"name": "a", "inputSchema": {"type": "objekt"}}
    inside.locator("[data-drop]").fill(
        json.dumps({"jsonrpc": "2.0", "id": 1, "result": {"tools": [tool]}})
    )
    inside.get_by_role("button", name="確認する").tap()
    expect(inside.locator("#verdict")).to_contain_text("スキーマを判断できません")


def test_a_browser_that_lacks_something_says_so(
    site: Site, person: Callable[..., BrowserContext]
) -> None:
    """A private window, or an address without TLS, has no service worker."""
    context = person()
    context.add_init_script(
        "Object.defineProperty(Navigator.prototype, 'serviceWorker', {value: undefined})"
    )
    page = context.new_page()
    page.goto(site.address)
    expect(page.get_by_role("alert")).to_contain_text("service workers")
