"""A room in real browsers: a learner behind a proxy that buffers, the teacher, the wall."""

import contextlib
import http.client
import re
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Final

import pytest
from playwright.sync_api import Browser, FilePayload, Page, expect

from humanmcp.answering import mistakes
from humanmcp.desk import examples
from tests.browser.seats import PHONE, boxes_of, routed
from tests.browser.test_page import AXE, violations
from tests.extensions.classroom.room.test_teaching import rows_of
from tests.support import full_class
from tests.support.room_process import Rooming
from tests.support.waiting import PATIENCE, until

TOOL_NAME: Final = '[data-pointer="/result/tools/0/name"]'
TOOL_DESCRIPTION: Final = '[data-pointer="/result/tools/0/description"]'

WAS: Final = "This page shows what was known then."


@pytest.fixture
def room(tmp_path: Path) -> Iterator[Rooming]:
    """A room of its own."""
    with Rooming(tmp_path / "home") as opened:
        yield opened


@pytest.fixture
def open_page(browser: Browser) -> Iterator[Callable[..., Page]]:
    """Open pages of separate people; what goes wrong in a script of theirs fails the test."""
    troubles: list[str] = []
    contexts = []

    def opened(address: str, **options: Any) -> Page:  # noqa: ANN401 - the browser's own options
        context = browser.new_context(**{"locale": "en-US", "reduced_motion": "reduce", **options})
        context.set_default_timeout(PATIENCE * 1000)
        contexts.append(context)
        page = context.new_page()
        page.on("pageerror", lambda error: troubles.append(str(error)))
        page.goto(address)
        page.wait_for_url(lambda url: "/s/" not in url)  # a link leads on by itself
        return page

    yield opened
    for context in contexts:
        context.close()
    assert troubles == []


class Buffering(BaseHTTPRequestHandler):
    """A proxy that hands on nothing before all of it is there: of a stream, nothing at all."""

    target = 0

    def do_GET(self) -> None:
        """Hand on a request."""
        self.hand_on()

    def do_POST(self) -> None:
        """Hand on a request with its body."""
        self.hand_on()

    def hand_on(self) -> None:
        """Wait for the whole answer; give up on one that does not end."""
        if "/api/events" in self.path or self.headers.get("Upgrade"):
            self.send_error(504)
            return
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        behind = http.client.HTTPConnection("127.0.0.1", self.target, timeout=PATIENCE)
        with contextlib.closing(behind):
            behind.request(self.command, self.path, body, dict(self.headers.items()))
            got = behind.getresponse()
            whole = got.read()
        with contextlib.suppress(ConnectionError):  # the browser has left the page meanwhile
            self._answer(got, whole)

    def _answer(self, got: http.client.HTTPResponse, whole: bytes) -> None:
        self.send_response(got.status)
        for name, value in got.getheaders():
            if name.lower() not in {"transfer-encoding", "connection", "content-length"}:
                self.send_header(name, value)
        self.send_header("Content-Length", str(len(whole)))
        self.end_headers()
        self.wfile.write(whole)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the library's own name
        """Keep quiet."""


@pytest.fixture
def proxied(tmp_path: Path) -> Iterator[tuple[Rooming, str]]:
    """A room behind a buffering proxy, and the address of that."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Buffering)
    address = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    with Rooming(tmp_path / "home", "--url", address) as room:
        Buffering.target = room.port
        yield room, address
        server.shutdown()
    thread.join()
    server.server_close()


def join(page: Page, name: str) -> None:
    """Sit down: the code stands in the address, as the QR code has it."""
    page.get_by_label("Your name").fill(name)
    page.get_by_role("button", name="Take a seat").click()
    expect(page.locator("#around")).to_be_visible()


def test_the_example_of_every_mistake_fits_on_the_projector(
    room: Rooming, open_page: Callable[..., Page]
) -> None:
    """Nobody can scroll there: the tallest ones are whole on 1280 by 720."""
    found = {code: examples.halves(mistakes.find_mistake(code)) for code in mistakes.codes()}
    rows = {
        code: max(
            (examples.rows_of("".join(text for _, text in half), 45) for half in one.values()),
            default=0,
        )
        for code, one in found.items()
    }
    teacher = room.teacher()
    wall = open_page(room.wall_link, viewport={"width": 1280, "height": 720})
    for code in sorted(rows, key=lambda code: -rows[code])[:5]:
        teacher.submit("/room", act="wall", show="mistake", code=code)
        expect(wall.locator(".of-mistake h1")).to_contain_text(f"({code})")
        box = wall.locator(".halves").bounding_box()
        assert box is not None
        assert box["y"] + box["height"] <= 720, (code, rows[code], box)


def test_on_a_phone_the_teacher_sees_the_people_first(
    room: Rooming, open_page: Callable[..., Page]
) -> None:
    """The rest is behind one button. A hand is first in its row, and a seat's panel is in sight."""
    room.learner("Ann")
    room.learner("Ben").submit("/own", act="raise")
    page = open_page(room.teacher_link, **PHONE)
    expect(page.locator(".seat")).to_have_count(2)
    controls = page.locator(".controls > summary")
    expect(controls).to_be_in_viewport(ratio=1)
    assert not page.locator("#pace button").first.is_visible()
    controls.tap()
    expect(page.locator("#pace button").first).to_be_visible()
    hand = page.locator(".seat", has_text="Ben").locator(".state > *").first
    expect(hand).to_contain_text("Hand raised")
    controls.tap()
    page.locator(".seat .acts").first.tap()
    expect(page.locator("#chosen")).to_be_in_viewport()
    row, panel = boxes_of(page.locator(".seat.chosen"), page.locator("#chosen"))
    assert abs(panel["y"] - row["y"] - row["height"]) < 8
    page.goto(room.wall_link)
    page.wait_for_url(lambda url: "/s/" not in url)
    said = page.locator(".joining").inner_text()
    assert re.sub(r"\s+", " ", said).startswith(
        f"1 Open http://127.0.0.1:{room.port} 2 Type the code"
    )


def test_no_number_of_a_row_is_cut_and_a_long_name_ends_with_a_sign(
    room: Rooming, open_page: Callable[..., Page]
) -> None:
    """Half of `0:22` is another time. With a hand, a pair, mistakes and a long name in one row."""
    people = [room.learner(name) for name in ("Maximilian-Alexander von Württemberg", "Bo")]
    for one in people:
        asked = one.question()
        path = f"/api/exchanges/{asked['session']}/{asked['number']}"
        for call in ("draft", "check"):
            one.call(f"{path}/{call}", {"text": full_class.WRONG[1]})
    people[0].submit("/own", act="raise")
    room.teacher().order(act="pair", seat=1, server=2)
    teacher = open_page(room.teacher_link, viewport={"width": 1280, "height": 800})
    expect(teacher.locator(".seat .state", has_text="⇄")).to_have_count(2)
    expect(teacher.locator(".seat .state a").first).to_be_attached()
    cut = teacher.evaluate(
        """() => [...document.querySelectorAll(".seat .state :is([data-since], b, a)")]
            .filter((one) => {
                const row = one.closest(".state").getBoundingClientRect();
                return one.getBoundingClientRect().right > row.right;
            })
            .map((one) => one.textContent)"""
    )
    assert cut == []
    name = teacher.locator(".seat bdi", has_text="Maximilian")
    # in one look: a row that is just replaced by a newer one has no size, and no style
    cut_by = "one => one.scrollWidth > one.clientWidth && getComputedStyle(one).textOverflow"
    until(lambda: name.evaluate(cut_by) == "ellipsis", "a name that ends with a sign")


@pytest.mark.parametrize("look", [{"viewport": {"width": 1280, "height": 800}}, PHONE], ids=str)
@pytest.mark.parametrize("locale", ["en-US", "ja-JP"])
def test_every_sign_of_a_row_is_read_whole_or_counted(
    room: Rooming, open_page: Callable[..., Page], look: dict[str, Any], locale: str
) -> None:
    """A hand, *Stuck*, *handed in* and mistakes at once: the last were cut."""
    learner = room.learner("Ann")
    learner.answer_as_offered("initialize")
    for wrong in full_class.WRONG[:6]:
        learner.answer(learner.question("tools/list"), wrong)
    for act in ("raise", "hand in"):
        learner.submit("/own", act=act)
    text = '{"jsonrpc":"2.0","id":99,"result":{"tools":[{"nam":"x"}]}}'
    asked = learner.question("tools/list")
    for call in ("draft", "check"):
        learner.call(f"/api/exchanges/{asked['session']}/{asked['number']}/{call}", {"text": text})
    teacher = open_page(room.teacher_link, **look, locale=locale)
    signs = teacher.locator(".seat .state > :not(.hidden)")
    more = teacher.locator(".seat .state a", has_text="+")
    expect(more).to_be_visible()
    until(lambda: "M" in signs.last.inner_text() or more.count(), "the mistakes that are there now")
    cut = signs.evaluate_all(
        """all => all.filter((one) => {
            const [row, place] = [".seat", ".state"]
                .map((name) => one.closest(name).getBoundingClientRect());
            const { left, right, bottom } = one.getBoundingClientRect();
            return one.scrollWidth > Math.max(one.clientWidth, 1) && one.clientWidth
                || left < place.left - 1 || right > place.right + 1 || bottom > row.bottom + 1;
        }).map((one) => one.textContent)"""
    )
    assert cut == []
    assert signs.count() >= 6
    more.click()
    codes = teacher.locator("#chosen a.mono")
    assert codes.count() > 1


def test_when_the_room_is_gone_no_page_of_it_counts_on(
    room: Rooming, open_page: Callable[..., Page]
) -> None:
    """A learner's phone, the projector and the teacher's page say since when they know nothing."""
    teacher = open_page(room.teacher_link)
    wall = open_page(room.wall_link, viewport={"width": 1280, "height": 720})
    learner = open_page(f"http://127.0.0.1:{room.port}/?code={room.code}", **PHONE)
    join(learner, "Ann")
    teacher.locator('[value="count down"]').click()
    clocks = wall.locator("#around [data-until]"), learner.locator("[data-since]").first
    for clock in clocks:
        expect(clock).not_to_have_text("")
    pages = {learner: "What waits now is not known here.", **dict.fromkeys((wall, teacher), WAS)}
    for page in pages:
        expect(page.locator("#live")).to_have_attribute("data-how", "live")
    room.kill()
    for page in pages:
        expect(page.locator("#live")).to_have_attribute("data-how", "waiting")
    before = [clock.inner_text() for clock in clocks]
    for page, unknown in pages.items():  # 3 s later
        cut = page.locator("#cut")
        expect(cut).to_have_text(re.compile(rf"^Not connected since \d\d:\d\d\. {unknown}$"))
        expect(cut).to_be_in_viewport(ratio=1)
    assert [clock.inner_text() for clock in clocks] == before


@pytest.mark.parametrize("device", [{}, PHONE], ids=["computer", "phone"])
def test_a_hint_is_seen_wherever_the_page_is_scrolled_to(
    room: Rooming, open_page: Callable[..., Page], device: dict[str, Any]
) -> None:
    """The browser keeps the box in its place, so a long hint came above the window."""
    teacher = open_page(room.teacher_link)
    learner = open_page(f"http://127.0.0.1:{room.port}/?code={room.code}", **device)
    join(learner, "Yuki")
    expect(learner.locator("body.scripted")).to_be_attached()
    learner.evaluate("scrollTo(0, document.body.scrollHeight)")
    teacher.get_by_label("Hint").fill("Read the description. " * 15)
    teacher.get_by_role("button", name="Send to everyone").click()
    hint = learner.locator(".hint")
    expect(hint).to_be_in_viewport(ratio=0.5)
    top = hint.evaluate("one => one.getBoundingClientRect().top")
    assert top >= learner.locator("header.bar").evaluate(
        "one => one.getBoundingClientRect().bottom"
    )
    words, button = boxes_of(hint.locator("p"), hint.get_by_role("button", name="OK"))
    assert words["y"] <= button["y"] <= words["y"] + words["height"], "OK is beside the hint"
    learner.get_by_role("button", name="OK").click()
    expect(hint).to_have_count(0)


def test_behind_a_buffering_proxy_a_phone_joins_answers_and_is_asked_the_next(
    proxied: tuple[Rooming, str], open_page: Callable[..., Page]
) -> None:
    """No stream and no WebSocket comes through, and nothing else changes."""
    room, address = proxied
    phone = open_page(f"{address}/?code={room.code}", viewport={"width": 390, "height": 800})
    join(phone, "Yuki")
    expect(phone.locator("#subject")).to_be_visible()
    expect(phone.locator(".places a", has_text="Book")).to_have_count(0)
    # A page without scripts has a button of the same name, which goes when the scripts are there.
    phone.locator("#send").click()
    expect(phone.locator(".ids", has_text="tools/list")).to_be_visible()


def test_teacher_learner_and_wall_see_what_happens_without_a_reload(
    room: Rooming, open_page: Callable[..., Page]
) -> None:
    """Step, hint, pen and wall arrive by themselves; the wall has no name."""
    teacher = open_page(room.teacher_link)
    wall = open_page(room.wall_link)
    expect(wall.locator(".big")).to_contain_text(room.code[:4])
    expect(wall.locator(".marks .mark")).to_have_count(0)
    learner = open_page(f"http://127.0.0.1:{room.port}/?code={room.code}")
    join(learner, "Annabel")
    seat = teacher.locator("li.seat", has_text="Annabel")
    expect(seat).to_contain_text("step 1 of 5")
    expect(wall.locator(".marks .mark")).to_have_text(["blue fox"])
    # The button of a page without a script goes when the script is there.
    expect(learner.locator("body.scripted")).to_be_attached()
    learner.get_by_role("button", name="Send answer").click()
    expect(seat).to_contain_text("step 2 of 5")
    teacher.get_by_role("button", name="Steps").click()
    expect(wall.locator(".bars li").first).to_contain_text("1 of 1 person")
    seat.get_by_label("Actions for Annabel").click()
    teacher.get_by_label("Hint for Annabel").fill("Name your tool")
    teacher.get_by_role("button", name="Hint").click()
    expect(learner.locator("#around")).to_contain_text("Name your tool")
    teacher.get_by_role("button", name="Show seat on projector").click()
    expect(wall.locator(".stage")).to_contain_text("blue fox")
    expect(wall.locator("body")).not_to_contain_text("Annabel")
    teacher.get_by_role("button", name="Pause everyone").click()
    for class_sees in (learner, wall):
        expect(class_sees.locator("#around")).to_contain_text("has paused everyone")
    expect(teacher.locator("#around")).to_be_empty()
    teacher.get_by_role("button", name="Resume everyone").click()
    expect(wall.locator("#around")).not_to_contain_text("has paused everyone")
    seat.get_by_role("link").first.click()
    teacher.get_by_role("button", name="Take control").click()
    expect(learner.locator("#around")).to_contain_text("The teacher is writing here")
    expect(learner.locator("#composer")).to_have_count(0)
    teacher.locator("#tab-form").click()
    for name in ("forecast", "forecast-of-tokyo"):
        teacher.locator(TOOL_NAME).fill(name)
        expect(learner.locator("#around pre")).to_contain_text(f'"{name}"')
    teacher.get_by_role("button", name="Give control back").click()
    expect(learner.locator("#around")).not_to_contain_text("is writing here")
    expect(learner.locator("#composer")).to_be_visible()
    teacher.get_by_role("link", name=re.compile("The room")).click()
    expect(seat).to_be_visible()


def test_who_closes_the_tab_and_types_the_address_again_is_at_their_own_seat(
    room: Rooming, open_page: Callable[..., Page]
) -> None:
    """Somebody else can join in the same browser, and a removed seat lets go of it."""
    address = f"http://127.0.0.1:{room.port}/"
    first = open_page(f"{address}?code={room.code}")
    join(first, "Yuki")
    expect(first.locator("#live")).to_have_text("Live")  # from here on the browser knows the seat
    again = first.context.new_page()
    first.close()
    again.goto(address)
    expect(again.locator("#around .mark")).to_have_text("blue fox")
    expect(again.locator("#subject")).to_be_visible()
    login_path = re.findall(r"/~[\w-]+", again.url)[0]
    again.goto(f"{address[:-1]}{login_path}/own")
    again.locator("#leave").click()
    again.get_by_label("The code on the screen").fill(room.code)
    join(again, "Sora")
    expect(again.locator("#around .mark")).to_have_text("green owl")
    expect(again.locator("#subject")).to_be_visible()
    later = again.context.new_page()
    again.close()  # an open page of the seat would leave by itself
    room.teacher().order(act="remove", seat=2)
    later.goto(address)
    expect(later.get_by_role("alert")).to_contain_text("The teacher removed this seat.")
    expect(later.get_by_label("Your name")).to_be_visible()


SERVER_NAME: Final = '[data-pointer="/result/serverInfo/name"]'


def test_a_phone_joins_and_is_back_with_its_text(
    room: Rooming, open_page: Callable[..., Page]
) -> None:
    """After a closed tab, in another browser by its link, and when the phone is dead."""
    address, teacher = f"http://127.0.0.1:{room.port}/", open_page(room.teacher_link)
    phone = open_page(f"{address}?code={room.code}", **PHONE)
    join(phone, "Yuki")
    phone.locator("#tab-form").click()
    phone.locator(SERVER_NAME).fill("phone-of-yuki")
    expect(phone.locator("#saved-at")).to_have_text("Draft saved")
    own = phone.context.new_page()
    own.goto(re.sub(r"(/~[\w-]+).*", r"\1/own", phone.url))
    link = own.locator(".copyable").first.inner_text()
    own.close()
    other = phone.context.new_page()
    phone.close()

    def come_back(page: Page) -> None:
        page.locator("#tab-form").click()
        expect(page.locator(SERVER_NAME)).to_have_value("phone-of-yuki")

    other.goto(address)
    come_back(other)
    come_back(open_page(link, **PHONE))
    borrowed = open_page(f"{address}?code={room.code}", **PHONE)
    borrowed.get_by_label("Your name").fill("Yuki")
    borrowed.get_by_role("button", name="I already have a seat").click()
    teacher.get_by_role("button", name="Let in", exact=True).click()
    come_back(borrowed)


@pytest.mark.parametrize("device", [{}, PHONE], ids=["computer", "phone"])
def test_what_is_typed_while_a_seat_is_removed_is_there_when_it_is_given_back(
    room: Rooming, open_page: Callable[..., Page], device: dict[str, Any]
) -> None:
    """The open page says who removed it, leads to the door, and to the same request again."""
    teacher = room.teacher()
    learner = open_page(f"http://127.0.0.1:{room.port}/?code={room.code}", **device)
    join(learner, "Yuki")
    learner.locator("#tab-form").click()
    learner.locator(SERVER_NAME).fill("half a name")
    expect(learner.locator("#saved-at")).to_have_text("Draft saved")
    address = learner.url
    let_pass = routed(learner, re.compile("/api/(state|events)"), lambda route: route.abort())
    teacher.order(act="remove", seat=1)
    learner.locator(SERVER_NAME).fill("a name of when it was removed")
    expect(learner.get_by_role("alert")).to_contain_text("The teacher removed this seat.")
    let_pass()
    learner.get_by_label("The code on the screen").fill(room.code)
    learner.get_by_label("Your name").fill("Yuki")
    learner.get_by_role("button", name="I already have a seat").click()
    expect(learner.get_by_role("heading")).to_have_text("You are waiting to join")
    (knock,) = re.findall(r'name="knock" value="(\d+)"', teacher.get("/room").text)
    teacher.order(act="let in", knock=knock, seat=1)
    learner.wait_for_url(address)
    learner.locator("#tab-form").click()
    expect(learner.locator(SERVER_NAME)).to_have_value("a name of when it was removed")
    learner.locator("#send").click()
    expect(learner.locator(".ids", has_text="tools/list")).to_be_visible()


def test_a_step_that_the_teacher_opens_is_open_in_the_page_and_says_who_did_it(
    room: Rooming, open_page: Callable[..., Page]
) -> None:
    """No form that is dead, and no word of a host that closed the connection."""
    learner = open_page(f"http://127.0.0.1:{room.port}/?code={room.code}")
    join(learner, "Yuki")
    expect(learner.locator(".ids", has_text="initialize")).to_be_visible()
    expect(learner.locator("#live")).to_have_text("Live")
    teacher = room.teacher()
    teacher.order(act="step", step=3)
    expect(learner.locator(".ids", has_text="tools/call")).to_be_visible()
    expect(learner.locator("#around")).to_contain_text("The teacher opened step 3.")
    expect(learner.locator("#composer")).to_be_visible()
    teacher.order(act="reset")
    expect(learner.locator(".ids", has_text="initialize")).to_be_visible()
    expect(learner.locator("body")).not_to_contain_text("closed the connection")
    expect(learner.locator("#composer")).to_be_visible()


def test_what_is_typed_while_the_room_is_down_is_in_the_page_and_at_the_desk_afterwards(
    tmp_path: Path, open_page: Callable[..., Page]
) -> None:
    """The page that was open goes on with it, and so does another browser at the same seat."""
    home = tmp_path / "home"
    with Rooming(home) as room:
        learner = open_page(f"http://127.0.0.1:{room.port}/?code={room.code}")
        join(learner, "Yuki")
        learner.locator("#send").click()
        expect(learner.locator(".ids", has_text="tools/list")).to_be_visible()
        expect(learner).to_have_url(re.compile("/m/"))  # the page names what is open
        address = learner.url
        own = learner.context.new_page()
        own.goto(re.sub(r"(/~[\w-]+).*", r"\1/own", address))
        link = own.locator(".copyable").first.inner_text()
        own.close()
        room.kill()
        learner.locator("#tab-form").click()
        name = learner.locator(TOOL_NAME)
        name.fill("forecast-of-yuki")
        expect(learner.locator("#saved-at")).to_contain_text("saved in this browser")
    with Rooming(home):
        expect(learner.locator("#live")).to_have_text("Live")
        expect(name).to_have_value("forecast-of-yuki")
        assert learner.url == address
        learner.reload()
        learner.locator("#tab-form").click()
        expect(learner.locator(TOOL_NAME)).to_have_value("forecast-of-yuki")
        learner.locator(TOOL_DESCRIPTION).fill("what I think")
        expect(learner.locator("#saved-at")).to_have_text("Draft saved")
        other = open_page(link)
        other.locator("#tab-form").click()
        expect(other.locator(TOOL_NAME)).to_have_value("forecast-of-yuki")


def test_a_restart_is_asked_about_by_keyboard_and_leaves_what_was_typed_at_its_step(
    room: Rooming, open_page: Callable[..., Page]
) -> None:
    """The question opens at Cancel; the learner is told; an open page of a removed seat, too."""
    learner = open_page(f"http://127.0.0.1:{room.port}/?code={room.code}")
    join(learner, "Yuki")
    learner.locator("#send").click()
    expect(learner.locator(".ids", has_text="tools/list")).to_be_visible()
    learner.locator("#tab-form").click()
    learner.locator(TOOL_NAME).fill("forecast-of-yuki")
    teacher = open_page(room.teacher_link)
    teacher.get_by_role("button", name="Restart the lesson").press("Enter")
    expect(teacher.get_by_role("heading", level=1)).to_have_text("This ends the work of 1 person")
    expect(teacher.get_by_role("link", name="Cancel")).to_be_focused()
    teacher.keyboard.press("Enter")
    expect(teacher.locator("#seats")).to_be_visible()
    expect(learner.locator(".ids", has_text="tools/list")).to_be_visible()
    teacher.get_by_role("button", name="Restart the lesson").press("Enter")
    expect(teacher.get_by_role("link", name="Cancel")).to_be_focused()
    teacher.keyboard.press("Shift+Tab")
    teacher.keyboard.press("Enter")
    expect(teacher.locator("#seats")).to_be_visible()
    expect(learner.locator("#around")).to_contain_text("The teacher restarted the lesson.")
    expect(learner.locator(".ids", has_text="initialize")).to_be_visible()
    learner.locator("#send").click()
    expect(learner.locator(".ids", has_text="tools/list")).to_be_visible()
    learner.locator("#tab-form").click()
    expect(learner.locator(TOOL_NAME)).to_have_value("forecast-of-yuki")
    room.teacher().order(act="remove", seat=1)
    expect(learner.get_by_role("alert")).to_contain_text("The teacher removed this seat.")


def test_back_after_an_order_leads_to_a_page_and_orders_nothing(
    room: Rooming, open_page: Callable[..., Page]
) -> None:
    """The browser would ask whether the form is to be sent again."""
    learner = room.learner("Yuki")
    first = learner.question()["session"]
    teacher = open_page(room.teacher_link)
    teacher.get_by_role("button", name="Restart the lesson").click()
    teacher.locator("main").get_by_role("button", name="Restart the lesson").click()
    expect(teacher.locator("#seats")).to_be_visible()
    until(lambda: learner.question()["session"] != first, "the lesson again")
    second = learner.question()["session"]
    teacher.go_back()
    expect(teacher.get_by_role("heading", level=1)).to_have_text("The room")
    assert learner.question()["session"] == second


def test_the_time_left_is_right_on_a_device_whose_clock_is_wrong(
    room: Rooming, open_page: Callable[..., Page]
) -> None:
    """It is counted by the clock of the room, also after the device's clock was set."""
    learner = open_page(f"http://127.0.0.1:{room.port}/?code={room.code}")
    learner.clock.install(time=time.time() + 600)
    learner.reload()
    join(learner, "Yuki")
    room.teacher().submit("/room", act="count down", minutes=5)
    left = learner.locator("#around [data-until]")
    expect(left).to_have_text(re.compile("4:5|5:00"))
    learner.clock.set_system_time(time.time() - 3600)
    room.teacher().submit("/room", act="hint", hint="Read the task again")
    expect(learner.locator("#around")).to_contain_text("Read the task again")
    learner.clock.run_for(1000)
    expect(left).to_have_text(re.compile("4:[45]"))


def test_send_on_a_mistake_is_a_try(room: Rooming, open_page: Callable[..., Page]) -> None:
    """The page stops it; the teacher sees it as over HTTP, with what is wrong in a field."""
    learner = open_page(f"http://127.0.0.1:{room.port}/?code={room.code}")
    join(learner, "Yuki")
    learner.locator("#send").click()
    expect(learner.locator(".ids", has_text="tools/list")).to_be_visible()
    learner.locator("#tab-form").click()
    schema = learner.locator('[data-pointer="/result/tools/0/inputSchema"]')
    schema.fill("[]")
    teacher = open_page(room.teacher_link)

    def send() -> None:
        with learner.expect_response(lambda one: '"sent":true' in (one.request.post_data or "")):
            learner.locator("#send").click()

    send()
    schema.fill("[")
    send()
    send()
    expect(teacher.locator("li.seat", has_text="Yuki")).to_contain_text("3 tries at this step")
    schema.fill('{"type":"object"}')
    learner.locator("#send").click()
    expect(learner.locator(".ids", has_text="tools/call")).to_be_visible()
    learner.locator("#send").click()  # with nothing written
    expect(learner.locator("#main")).to_contain_text("There is nothing to send yet")
    (row,) = rows_of(room.teacher())
    assert [row[f"tries at step {step}"] for step in (1, 2, 3)] == ["1", "4", "0"]
    assert {"J07:1"} <= {*row["mistakes stopped"].split()}
    assert "M61" not in row["mistakes"], "an empty box is no mistake"
    assert row["mistakes sent"] == ""


@pytest.mark.parametrize("width", [390, 1024, 1440, 1920])
def test_the_whole_code_is_on_the_screen(
    room: Rooming, open_page: Callable[..., Page], width: int
) -> None:
    """A class reads it from a projector, and nobody can scroll there."""
    wall = open_page(room.wall_link, viewport={"width": width, "height": 900})
    expect(wall.locator(".big")).to_be_visible()
    assert wall.evaluate("document.documentElement.scrollWidth <= innerWidth")


@pytest.mark.parametrize("locale", ["en-US", "ja-JP"])
def test_thirty_seats_are_on_one_screen(
    room: Rooming, open_page: Callable[..., Page], locale: str
) -> None:
    """The map, its orders, the actions of a seat, ten kinds of mistakes: no scroll bar."""
    full_class.fill(room)
    size = {"width": 1280, "height": 800}
    teacher = open_page(
        room.teacher_link, viewport=size, extra_http_headers={"Accept-Language": locale}
    )
    expect(teacher.locator("li.seat .cells")).to_have_count(30)
    teacher.locator("li.seat .acts").first.click()
    expect(teacher.locator("#chosen")).to_be_visible()
    expect(teacher.locator(".mistakes li").nth(9)).to_be_visible()
    tall, wide = teacher.evaluate(
        "[document.documentElement.scrollHeight, document.documentElement.scrollWidth]"
    )
    assert (wide, tall) == (1280, 800)


@pytest.mark.parametrize("look", [{}, PHONE], ids=["desk", "phone"])
@pytest.mark.parametrize("language", ["en-US", "ja-JP"])
def test_the_title_of_the_lesson_that_is_chosen_is_read_whole(
    room: Rooming, open_page: Callable[..., Page], look: dict[str, Any], language: str
) -> None:
    """The list is as wide as the title that stands in it, and no wider than the page."""
    teacher = open_page(room.teacher_link, **look, locale=language)
    if look:
        teacher.locator(".controls > summary").click()
    lesson = teacher.locator("select[name=lesson]")
    cut = teacher.evaluate(
        """() => {
            const select = document.querySelector("select[name=lesson]");
            return [...select.options].filter((one) => {
                select.value = one.value;
                const shown = select.offsetWidth;
                select.style.maxWidth = "none";
                select.style.flex = "none";
                const whole = select.offsetWidth;
                select.style.cssText = "";
                return shown < whole;
            }).map((one) => one.text);
        }"""
    )
    assert lesson.locator("option").count() > 3
    assert cut == []


def test_a_hint_that_is_too_long_is_told_of_where_it_is_typed_and_nothing_is_lost(
    room: Rooming, open_page: Callable[..., Page]
) -> None:
    """It ended after 400 characters without a word. Nothing moves while it is typed."""
    learner = room.learner("Ann")
    page = open_page(room.teacher_link)
    field, told = page.locator(".wide [name=hint]"), page.locator(".wide .too-long")
    field.fill("あ" * 400)
    expect(told).to_be_hidden()
    before = boxes_of(page.locator("#sums"), field)
    field.press_sequentially("い")
    expect(told).to_have_text("At most 400 characters fit. Shorten it to send it.")
    assert boxes_of(page.locator("#sums"), field) == before
    page.get_by_role("button", name="Send to everyone").click()
    expect(field).to_have_value("あ" * 400 + "い")
    assert "あああ" not in learner.get("/").text
    field.press("Backspace")
    expect(told).to_be_hidden()
    page.get_by_role("button", name="Send to everyone").click()
    until(lambda: "あ" * 400 in learner.get("/").text, "the learner reads it")


def test_a_lesson_file_that_is_chosen_or_dropped_is_added(
    room: Rooming, open_page: Callable[..., Page]
) -> None:
    """What is wrong with it stands on the page, as `lesson --check` says it."""
    teacher = open_page(room.teacher_link)
    text = Path("samples/lessons/01-first-answer.toml").read_text("utf-8")
    wrong = FilePayload(name="x.toml", mimeType="", buffer=text.replace("ping", "pong").encode())
    teacher.locator("#lesson-file input[type=file]").set_input_files(wrong)
    expect(teacher.get_by_role("alert")).to_contain_text("steps[1].method")
    teacher.evaluate(
        """(text) => {
            const data = new DataTransfer();
            data.items.add(new File([text], "mine.toml"));
            document.dispatchEvent(new DragEvent("drop", { dataTransfer: data, cancelable: true }));
        }""",
        text,
    )
    expect(teacher.get_by_role("alert")).to_contain_text("Added: Your first answer (2 steps).")
    teacher.get_by_role("button", name="Start this lesson").click()
    expect(teacher.get_by_label("Lesson", exact=True)).to_have_value("mine.toml")


@pytest.mark.skipif(not AXE.exists(), reason="axe-core is not installed: run `make test`")
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_axe_finds_nothing_in_a_room(
    room: Rooming, open_page: Callable[..., Page], theme: str
) -> None:
    """The door, a seat, the teacher's pages, the wall; on a phone and in Japanese, too."""
    options: dict[str, Any] = {"color_scheme": theme, "viewport": {"width": 390, "height": 800}}
    learner = open_page(f"http://127.0.0.1:{room.port}/?code={room.code}&lang=ja", **options)
    assert violations(learner) == []
    learner.locator("[name=name]").fill("x")
    learner.locator("button.primary").click()
    expect(learner.locator("#around")).to_be_visible()
    login_path = learner.url.rpartition("/")[0]
    expect(learner.locator("article.message")).to_be_visible()
    assert violations(learner) == []
    learner.goto(f"{login_path}/own")
    assert violations(learner) == []
    room.visitor().join(room.code, "y", lost="yes")
    teacher = open_page(room.teacher_link, **options)
    teacher.locator("li.seat .acts").first.click()
    expect(teacher.locator("#chosen")).to_be_visible()
    assert violations(teacher) == []
    wall = open_page(room.wall_link, **options)
    assert violations(wall) == []
    for what in ("steps", "mistake"):
        room.teacher().submit("/room", act="wall", show=what, code="M02")
        expect(wall.locator(f".of-{what}")).to_be_visible()
        assert violations(wall) == [], what
    room.teacher().submit("/room", act="wall", show="seat", seat="1")
    for path in ("", "/mistake/M02"):
        teacher.goto(re.sub(r"/room.*", f"/room{path}", teacher.url))
        assert violations(teacher) == [], path
    assert violations(open_page(room.wall_link, **options)) == []
