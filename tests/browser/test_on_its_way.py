"""A learner's page that is on its way while something happens: it shows what waits afterwards.

The page, or a part of it, is held before the desk reads the request or after it has answered. What
happens is over before it is let go, so no chance is in it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Final

import pytest
from playwright.sync_api import Browser, Error, Page, Route, expect

from tests.browser.seats import close, fetched
from tests.extensions.classroom.room.test_pairs import HELLO, TOOLS, answered, opened
from tests.extensions.classroom.room.test_teaching import at_seat
from tests.support.room_process import Rooming, Visitor
from tests.support.waiting import PATIENCE, until

pytestmark = pytest.mark.browser


@dataclass
class Opened:
    """A room that is killed and opened again, and a page of one of its learners."""

    room: Rooming
    page: Page = field(init=False)
    seat: Visitor = field(init=False)
    """Another browser at the same seat, without scripts."""
    partner: Visitor = field(init=False)
    numbers: tuple[int, int] = (0, 0)
    """The seats of the learner and of the partner."""
    watcher: Visitor = field(init=False)

    def sit(self, page: Page) -> None:
        """Give two people a seat, one of them on a page."""
        self.order(act="lesson", lesson="weather")
        self.page, self.partner = page, self.room.learner("Bo")
        page.goto(f"http://127.0.0.1:{self.room.port}/?code={self.room.code}")
        page.get_by_label("Your name").fill("Nia")
        page.get_by_role("button", name="Take a seat").click()
        expect(page.locator("body.scripted #send")).to_be_visible()
        self.seat = self.room.visitor()
        self.seat.login_path = re.findall(r"/~[\w-]+", page.url)[0]
        (cookie,) = page.context.cookies(page.url)
        self.seat.cookies = {self.seat.login_path: f"{cookie['name']}={cookie['value']}"}
        numbers = sorted(int(one.name) for one in self.room.folder.glob("seats/[0-9]*"))
        self.numbers = (numbers[-1], numbers[-2])

    def order(self, **fields: object) -> None:
        """Press a button of the teacher's page."""
        assert self.room.teacher().order(**fields).status == 303

    def open_key(self) -> str:
        """Return the request that can be answered on the page; "" for none."""
        try:
            found = self.page.evaluate(
                "() => document.querySelector('article.message:has(#send:enabled)')?.dataset.key"
            )
        except Error:  # the page leaves for another one
            return ""
        return str(found or "")

    def answer(self) -> None:
        """Answer what is open on the page, in the other browser."""
        session, number = self.open_key().split("/")
        asked = {"session": session, "number": int(number)}
        path = f"/api/exchanges/{session}/{number}"
        self.seat.answer_to_the_end(asked, self.seat.get(path).json["document"])


def something_else(change: Callable[[Opened], object]) -> Callable[[Opened], None]:
    """Do it, and wait until the seat is asked something else."""

    def asked(it: Opened) -> set[tuple[str, int]]:
        return {(one["session"], one["number"]) for one in it.seat.waiting()}

    def act(it: Opened) -> None:
        before = asked(it)
        change(it)
        until(lambda: asked(it) - before, "another request")

    return act


def kill(it: Opened) -> None:
    """Kill the room, and open it again."""
    it.room.kill()
    it.room = Rooming(it.room.home)


def take_control(it: Opened) -> None:
    """Write in the learner's place, as the teacher."""
    it.watcher = at_seat(it.room, it.room.teacher(), it.numbers[0])


def pair(*, is_server: bool) -> Callable[[Opened], None]:
    """Join the two seats."""

    def act(it: Opened) -> None:
        own, other = it.numbers
        model, server = (other, own) if is_server else (own, other)
        it.order(act="pair", seat=model, server=server)
        until((it.seat if is_server else it.partner).waiting, "a request of the pair")

    return act


def shows_what_waits(it: Opened) -> None:
    """Show the request that the first page would open."""

    def shown() -> bool:
        waits = opened(it.seat)
        return waits != "" and waits == it.open_key()

    until(shown, lambda: f"{it.page.url} shows {it.open_key()}, and {opened(it.seat)} waits")


def only_shows(it: Opened) -> None:
    """Show that the teacher writes here."""
    expect(it.page.locator("#around")).to_contain_text("The teacher is writing here")
    expect(it.page.locator("#composer")).to_have_count(0)


def waits_for_the_partner(it: Opened) -> None:
    """Show whose turn it is, and after the partner's answers the own turn."""
    expect(it.page.locator("#around")).to_contain_text("Your partner is writing.")
    until(lambda: it.open_key() == "", "nothing to answer")
    expect(it.page.locator(".motto", has_text="server")).to_have_count(0)
    answered(it.partner, "initialize", HELLO)
    answered(it.partner, "tools/list", {"tools": TOOLS})
    shows_what_waits(it)
    expect(it.page.locator("#around")).to_contain_text("It is your turn.")


def nothing(_: Opened) -> None:
    """Do nothing."""


Act = Callable[[Opened], Any]
LESSON: Final = something_else(lambda it: it.order(act="lesson", lesson="recover"))


def kill_and_begin(it: Opened) -> None:
    """Begin another lesson in the room after the kill."""
    kill(it)
    LESSON(it)


HAPPENS: Final[dict[str, tuple[Act, Act, Act]]] = {
    "another lesson": (nothing, LESSON, shows_what_waits),
    "the lesson again": (
        nothing,
        something_else(lambda it: it.order(act="reset")),
        shows_what_waits,
    ),
    "a later step": (
        nothing,
        something_else(lambda it: it.order(act="step", step=4)),
        shows_what_waits,
    ),
    "a step repeated": (
        nothing,
        something_else(lambda it: it.seat.submit("/own", act="begin", step=1)),
        shows_what_waits,
    ),
    "a kill": (nothing, kill, shows_what_waits),
    "a kill, then another lesson": (nothing, kill_and_begin, shows_what_waits),
    "control taken": (nothing, take_control, only_shows),
    "control given back": (
        take_control,
        lambda it: it.watcher.submit("/own", act="give back"),
        shows_what_waits,
    ),
    "a pair, as the server": (nothing, pair(is_server=True), shows_what_waits),
    "a pair, as the model": (nothing, pair(is_server=False), waits_for_the_partner),
    "the end of a pair": (
        pair(is_server=True),
        lambda it: it.order(act="part"),
        shows_what_waits,
    ),
}
"""What was before, what happens, and what the page shows afterwards."""
WAYS: Final = {"page": r"/($|\?$)", "after Send": r"/\?sent=", "status": "/m/.*/status"}
"""What is on its way: the first page in a new tab, the part after Send, the state of a request."""


@pytest.fixture(scope="module")
def room(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Opened]:
    """One room for the tests of this file."""
    it = Opened(Rooming(tmp_path_factory.mktemp("way") / "home"))
    yield it
    it.room.__exit__()


@pytest.fixture
def it(room: Opened, browser: Browser) -> Iterator[Opened]:
    """A learner with a page in it, and another one."""
    context = browser.new_context(locale="en-US", reduced_motion="reduce")
    context.set_default_timeout(PATIENCE * 1000)
    troubles: list[str] = []
    context.on("weberror", lambda error: troubles.append(str(error.error)))
    room.sit(context.new_page())
    yield room
    close(context)
    for number in room.numbers:
        room.order(act="remove", seat=number)
    assert troubles == []


def hold(it: Opened, path: str, act: Act, *, is_read: bool) -> list[str]:
    """Hold the next request for a path until something has happened; the list has it then."""
    held: list[str] = []

    def meanwhile(route: Route) -> None:
        if held:
            route.continue_()
            return
        held.append(route.request.url)
        response = fetched(route) if is_read else None
        act(it)
        if response is None:
            route.continue_()
        else:
            route.fulfill(response=response)

    it.page.route(re.compile(re.escape(it.seat.login_path) + path), meanwhile)
    return held


@pytest.mark.parametrize(
    ("what", "way", "is_read"),
    [
        (what, way, is_read)
        for what in HAPPENS
        for way, is_read in (("page", False), *((one, True) for one in WAYS))
        if what != "control given back" or way == "page"
    ],
)
def test_a_page_on_its_way_shows_what_waits_after_what_happened_meanwhile(
    it: Opened,
    what: str,
    way: str,
    is_read: bool,  # noqa: FBT001 - a parameter of the test
) -> None:
    """Within the usual bound, and without a press."""
    before, happens, afterwards = HAPPENS[what]
    first = it.open_key()
    it.page.locator("#send").click()
    until(lambda: it.open_key() not in {"", first}, "the second step")
    before(it)
    if before is not nothing:
        (only_shows if before is take_control else shows_what_waits)(it)
    if way == "page":
        with suppress(Error):  # it leaves for elsewhere already; see `close`
            it.page.goto("about:blank")
        it.page = it.page.context.new_page()
    held = hold(it, WAYS[way], happens, is_read=is_read)
    match way:
        case "page":
            it.page.goto(f"http://127.0.0.1:{it.room.port}{it.seat.login_path}/")
        case "after Send":
            it.page.locator("#send").click()
        case "status":
            it.answer()
    until(lambda: (it.open_key(), held)[1], "a request that is held")
    afterwards(it)


def test_no_page_stays_at_a_request_that_was_set_aside(it: Opened) -> None:
    """Also where all that has happened is in it, and nothing more is heard.

    Somebody opens the request, or the page does: it was said to be the next one.
    """
    lesson, seat = it.open_key(), f"http://127.0.0.1:{it.room.port}{it.seat.login_path}"
    pair(is_server=False)(it)
    it.page.wait_for_url(f"{seat}/")
    expect(it.page.locator("#around")).to_contain_text("Your partner is writing.")
    it.page.goto(f"{seat}/m/{lesson}", wait_until="commit")  # it leaves before all of it is there
    waits_for_the_partner(it)
