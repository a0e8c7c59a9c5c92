"""A window with the page in it, and messages for a host to send."""

import contextlib
import json
import os
import re
from collections.abc import Callable
from typing import Any, Final, NamedTuple

from playwright.sync_api import (
    APIResponse,
    Browser,
    BrowserContext,
    ConsoleMessage,
    Error,
    FloatRect,
    Frame,
    Locator,
    Page,
    Request,
    Route,
    expect,
)

from tests.support.desk_process import Desking
from tests.support.serve_process import Serving
from tests.support.waiting import PATIENCE, until

OPTIONS: Final[dict[str, Any]] = {
    "viewport": {"width": 1280, "height": 800},
    "locale": "en-US",
    "reduced_motion": "reduce",
}
PHONE: Final[dict[str, Any]] = {
    "viewport": {"width": 390, "height": 844},
    "has_touch": True,
    "is_mobile": True,
}
ONCE: Final = {"Connection": "close"}
"""For what Playwright asks by itself: on a connection that it kept, a desk may just hang up."""
LATENCY: Final = int(os.environ.get("LATENCY", "0"))
"""Milliseconds that each response takes: it shows what works only with a quick desk."""


def fetched(route: Route) -> APIResponse:
    """Return the response to a request that is held."""
    return route.fetch(headers={**route.request.headers, **ONCE})


def routed(
    place: Page | BrowserContext,
    url: str | re.Pattern[str],
    handle: Callable[[Route], object],
    *,
    once: bool = False,
) -> Callable[[], None]:
    """Handle such requests, or the first of them, until what is returned is called.

    All others pass, by this process: while it waits elsewhere they are held. The route stays: if it
    is taken away while any request begins, Chromium may keep that one for ever, see
    https://github.com/microsoft/playwright/issues/41802
    """
    is_over = False

    def handle_or_pass(route: Route) -> None:
        nonlocal is_over
        if is_over:
            route.fallback()
            return
        is_over = once
        handle(route)

    def let_pass() -> None:
        nonlocal is_over
        is_over = True

    place.route(url, handle_or_pass)
    return let_pass


class Window:
    """A browser of one person, logged in at a desk."""

    def __init__(self, browser: Browser, desk: Desking, **options: Any) -> None:  # noqa: ANN401 - the browser's own options
        """Open it and log in with a key, as the page of a link does (see `test_island.py`)."""
        self.desk = desk
        self.troubles: list[str] = []
        self.foreign: list[str] = []
        self.login_path = ""
        self.context = browser.new_context(**{**OPTIONS, **options})
        self.context.set_default_timeout(PATIENCE * 1000)
        self.page = self.new_page()
        if options.get("java_script_enabled") is not False:
            own = desk.facts.address.rstrip("/")
            headers = {"Origin": own, "Sec-Fetch-Site": "same-origin", **ONCE}
            key = {"key": desk.key()}
            entered = self.context.request.post(f"{own}/api/login", data=key, headers=headers)
            path = str(entered.json()["path"])
            self.login_path = path.removeprefix("/") + "/"
            self.goto("")
            self.page.evaluate("path => localStorage.setItem('humanmcp:login-path', path)", path)

    def new_page(self) -> Page:
        """Open another tab of the same browser."""
        page = self.context.new_page()
        if LATENCY:
            network = {"offline": False, "downloadThroughput": -1, "uploadThroughput": -1}
            tools = self.context.new_cdp_session(page)
            tools.send("Network.emulateNetworkConditions", {**network, "latency": LATENCY})
        page.on("pageerror", lambda error: self.troubles.append(str(error)))
        page.on("console", self._heard)
        page.on("request", self._asked)
        return page

    def _heard(self, message: ConsoleMessage) -> None:
        if "Content Security Policy" in message.text or "Trusted" in message.text:
            self.troubles.append(message.text)

    def _asked(self, request: Request) -> None:
        if not request.url.startswith(self.desk.facts.address):
            self.foreign.append(request.url)

    def goto(self, path: str) -> Page:
        """Open a path of the desk, below the login path of this browser."""
        self.page.goto(self.desk.facts.address + self.login_path + path.lstrip("/"))
        return self.page

    def close(self) -> None:
        """Close it, once every page of it is quiet."""
        close(self.context)


Windows = Callable[..., Window]
Opened = Callable[..., Page]


def close(context: BrowserContext) -> None:
    """Close the windows of one person, once every page in them is quiet.

    Chromium has been seen to close a context for ever while a page was in the middle of one
    request to the next; a page that has left for nowhere asks for nothing.
    """
    for page in context.pages:
        with contextlib.suppress(Error):  # it crashed, or is gone already
            page.goto("about:blank")
    context.close()


def until_keys_act(page: Page | Frame) -> None:
    """Wait out the first half second of a page, in which no single key acts."""
    page.wait_for_function("() => performance.now() - Number(document.body.dataset.opened) > 500")


def listed(window: Window, path: str = "/history") -> Page:
    """Open the history, and wait for its script: before, a press on a row opens a whole page."""
    page = window.goto(path)
    page.evaluate(
        """() => import(document.querySelector("script[src$='/desk.js']").src
          .replace("desk.js", "history.js")).then(() => true)"""
    )
    return page


def boxes_of(*places: Locator) -> list[FloatRect]:
    """Return where each place is drawn, as soon as all of them are and none of them moves.

    A part of the page that is being replaced has no box, and a box measured before its neighbour
    moved says nothing of the two.
    """

    def at_rest() -> list[FloatRect] | None:
        before, after = ([place.bounding_box() for place in places] for _ in range(2))
        drawn = [box for box in after if box is not None]
        return drawn if len(drawn) == len(places) and before == after else None

    return until(at_rest, "boxes that stay where they are")


class Sitting(NamedTuple):
    """A host, and a person who answers it on the page: one for the tests of a whole file."""

    desk: Desking
    host: Serving
    window: Window
    session: str

    def asked(self, line: str) -> Page:
        """Have the host say a line, and open its request."""
        before = self._numbers()
        self.host.say(line)
        (number,) = until(lambda: self._numbers() - before, "the request is there")
        page = self.window.goto(f"/m/{self.session}/{number}")
        expect(page.locator("#send")).to_be_visible()
        return page

    def _numbers(self) -> set[int]:
        return {one["number"] for one in self.desk.get("/api/exchanges")["waiting"]}

    def heard(self) -> Any:  # noqa: ANN401 - any JSON value
        """Read what was sent."""
        return json.loads(self.host.hear())


def request(method: str, params: dict[str, Any] | None = None, token: str = "7") -> str:
    """Write a request line; `token` is the id as it stands on the wire."""
    inside = "" if params is None else f',"params":{json.dumps(params, ensure_ascii=False)}'
    return f'{{"jsonrpc":"2.0","id":{token},"method":"{method}"{inside}}}'


INITIALIZE: Final = request(
    "initialize",
    {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "test-host", "version": "1.0"},
    },
    "0",
)


def call(token: str = "7", tool: str = "get_forecast", **arguments: Any) -> str:  # noqa: ANN401 - any JSON value
    """Write a call of a tool."""
    return request("tools/call", {"name": tool, "arguments": arguments}, token)


def decided(host: Serving) -> Any:  # noqa: ANN401 - any JSON value
    """Return what the host reads of the answer."""
    (block,) = json.loads(host.hear())["result"]["content"]
    return json.loads(block["text"])


def outcome(host: Serving) -> Any:  # noqa: ANN401 - any JSON value
    """Return the data of the answer."""
    return json.loads(host.hear())["result"]["structuredContent"]


def begin(host: Serving, desk: Desking) -> None:
    """Shake hands, with a script in the person's place."""
    host.say(INITIALIZE)
    answer_all(desk)
    host.hear()
    host.say('{"jsonrpc":"2.0","method":"notifications/initialized"}')


def answer_all(desk: Desking) -> None:
    """Answer everything that waits with its template."""
    waiting = until(lambda: desk.get("/api/exchanges")["waiting"], "something waits")
    for one in waiting:
        path = f"/api/exchanges/{one['session']}/{one['number']}"
        text = desk.get(path)["document"]
        assert desk.post(f"{path}/reply", {"text": text}).status == 200


def open_menu(page: Page) -> None:
    """Open the menu beside Send. It may move under a pointer as quick as a test's: then again."""
    menu = page.locator("#more")

    def opened() -> bool:
        if not menu.is_visible():
            page.locator("button.more").click()
        return menu.is_visible()

    until(opened, "the menu is open")
