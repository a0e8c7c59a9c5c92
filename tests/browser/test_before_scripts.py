"""What a person types before the script for it came: that script hears of it, and loses no word."""

from collections.abc import Callable
from typing import Final, NamedTuple

import pytest
from playwright.sync_api import Route, expect

from humanmcp.inbox.contract import SessionFacts
from humanmcp.inbox.folder import FolderInbox
from tests.browser.seats import Window, Windows, begin, call, routed
from tests.support.desk_process import Desking
from tests.support.serve_process import Serving
from tests.support.waiting import until

pytestmark = pytest.mark.browser


def arriving(window: Window, path: str) -> Callable[[], None]:
    """Open a page whose scripts are on their way; return what lets them come."""
    held: list[Route] = []
    page = window.page
    let_pass = routed(page, "**/desk.js", held.append)
    address = window.desk.facts.address + window.login_path + path.lstrip("/")
    page.goto(address, wait_until="commit")
    until(lambda: page.evaluate("1") and held, "the script is asked for")
    expect(page.locator("#words")).to_be_attached()

    def come() -> None:
        let_pass()
        held.pop().continue_()
        page.wait_for_function("() => document.body.dataset.opened")

    return come


class Early(NamedTuple):
    """A field, what is typed in it, and what is then on the page: so many of these."""

    path: str
    field: str
    typed: str
    rows: str
    many: int


SEARCHES: Final = {
    "the waiting": Early("/", "#narrow", "City3", "#rows .row", 1),
    "the sessions": Early("/", "#find", "agent 3", "#all-sessions li:visible", 1),
    "the history": Early("/history", "#search", "City3", "#lines tbody tr:not(.day)", 1),
}


@pytest.mark.parametrize("name", SEARCHES)
def test_what_was_searched_before_the_scripts_came_is_found(
    desk: Desking, host: Serving, window: Windows, name: str
) -> None:
    """Without another key."""
    early = SEARCHES[name]
    begin(host, desk)
    for number in range(9):
        host.say(call(str(number), city=f"City{number}"))
    until(lambda: len(desk.get("/api/exchanges")["waiting"]) == 9, "all are asked")
    inbox = FolderInbox(desk.home)
    for number in range(8):
        facts = SessionFacts("", "2026-11-20T18:00:00.000Z", client=f"agent {number}")
        inbox.begin_session(facts)
    opened = window()
    come = arriving(opened, early.path)
    page = opened.page
    if name == "the sessions":
        page.locator("button.finding").click()
    page.locator(early.field).press_sequentially(early.typed)
    come()
    expect(page.locator(early.rows)).to_have_count(early.many)


def test_a_form_keeps_what_was_typed_before_its_script_came(
    desk: Desking, host: Serving, window: Windows
) -> None:
    """The draft of before stays, too: what was typed meanwhile stands behind it."""
    begin(host, desk)
    path = f"/say/{until(host.find_session, 'a session').name}"
    opened = window()
    box = opened.page.locator("textarea[name=text]")
    for early, whole in (("first", "first"), ("second", "first second")):
        come = arriving(opened, path)
        box.fill(early)
        come()
        expect(opened.page.locator("form .saved-at")).to_have_text("Draft saved")
        expect(box).to_have_value(whole)


def test_what_was_typed_into_the_plain_form_is_in_the_box_that_takes_its_place(
    desk: Desking, host: Serving, window: Windows
) -> None:
    """It is seen where the scripts are long on their way."""
    begin(host, desk)
    host.say(call("7", city="Tokyo"))
    opened = window()
    expect(opened.page.locator("#sentence")).to_be_visible()
    come = arriving(opened, opened.page.url.partition(opened.login_path)[2])
    form = opened.page.locator(".plain-composer")
    form.evaluate("one => one.getAnimations().forEach((wait) => wait.finish())")
    form.locator("textarea").fill("sunny")
    come()
    expect(opened.page.locator("#sentence")).to_have_value("sunny")
    expect(form).to_be_hidden()
