"""A desk that hangs: who presses Send is told so."""

import json
import re
import signal
from collections.abc import Callable
from typing import Final

import pytest
from playwright.sync_api import Route, expect

from tests.browser.seats import INITIALIZE, Opened, Window, begin, call, routed
from tests.support.desk_process import Desking
from tests.support.serve_process import Serving
from tests.support.waiting import until

CUT: Final = re.compile(r"^Not connected since \d\d:\d\d\. What waits now is not known here\.$")


def test_a_desk_that_hangs_is_not_called_live(
    desk: Desking, host: Serving, window: Callable[..., Window]
) -> None:
    """Within seconds, and before anything is sent; when it goes on, the page says so, too."""
    page = window(locale="en-US").page
    expect(page.locator(".empty")).to_be_visible()
    host.say(INITIALIZE)
    expect(page.locator("#rows .row")).to_have_count(1)  # so its live stream is open
    chip = page.locator("#live")
    expect(chip).to_have_attribute("data-how", "live")
    desk.process.send_signal(signal.SIGSTOP)
    try:
        expect(chip).to_have_attribute("data-how", "waiting", timeout=10_000)
        expect(chip).to_have_attribute("data-how", "off")
    finally:
        desk.process.send_signal(signal.SIGCONT)
    expect(chip).to_have_attribute("data-how", "live")


@pytest.mark.parametrize("width", [390, 600, 768, 900, 1280])
def test_without_its_desk_the_list_says_that_it_does_not_know_what_waits(
    desk: Desking, host: Serving, window: Callable[..., Window], width: int
) -> None:
    """At each width. What it says of now is not said any more; when the desk is back, it is."""
    begin(host, desk)
    page = window(viewport={"width": width, "height": 800}).page
    claims = page.locator("#rows .none"), page.locator(".empty > p")
    for claim in claims:
        expect(claim).to_be_visible()
    assert not page.locator("#cut").is_visible()
    desk.kill()
    expect(page.locator("#cut")).to_have_text(CUT)
    expect(page.locator("#cut")).to_be_in_viewport(ratio=1)
    for claim in claims:
        assert not claim.is_visible()
    assert page.title().startswith("○")
    with Desking(desk.home, port=desk.port):
        expect(page.locator("#cut")).to_be_hidden()
        for claim in claims:
            expect(claim).to_be_visible()
        assert not page.title().startswith("○")


@pytest.mark.parametrize("width", [390, 768, 1280])
@pytest.mark.parametrize("view", ["", "focus"])
def test_without_its_desk_no_clock_of_an_open_request_counts_on(
    desk: Desking, opened: Opened, width: int, view: str
) -> None:
    """On the card, wherever it is scrolled to, and in the focus view."""
    page = opened(call(), viewport={"width": width, "height": 600})
    if not page.locator("#send").is_visible():
        page.locator("#rows .row a").click()
    if view:
        page.locator(".quieting button").click()
        expect(page.locator("body.quiet")).to_be_attached()
    clock = page.locator("#status [data-since]")
    expect(clock).not_to_have_text("0:00")
    desk.kill()
    expect(page.locator("#live")).to_have_attribute("data-how", "waiting")
    before = clock.inner_text()
    expect(page.locator("#cut")).to_have_text(CUT)  # 3 s later
    assert clock.inner_text() == before
    page.evaluate("scrollTo(0, document.body.scrollHeight)")
    expect(page.locator("#cut")).to_be_in_viewport(ratio=1)


def test_a_desk_that_hangs_after_send_is_told_and_the_answer_goes_out_in_the_end(
    desk: Desking, host: Serving, window: Callable[..., Window], opened: Opened
) -> None:
    """The text stays in the box; it is sent once, when the desk goes on."""
    page = opened(call(), locale="en-US")
    page.locator("#sentence").fill("sunny")
    expect(page.locator("#saved-at")).not_to_be_empty()
    desk.process.send_signal(signal.SIGSTOP)
    try:
        page.locator("#send").click()
        expect(page.get_by_text("has not answered for 5 seconds")).to_be_visible()
        expect(page.locator("#sentence")).to_have_value("sunny")
    finally:
        desk.process.send_signal(signal.SIGCONT)
    assert json.loads(host.hear())["result"]["content"][0]["text"] == "sunny"


def test_a_text_that_nobody_checked_is_not_called_good(desk: Desking, opened: Opened) -> None:
    """Nor is the line of the text before it shown; when the desk is back, it is checked."""
    page = opened(call(), locale="en-US")
    page.locator("#sentence").fill("sunny")
    found, wire = page.locator("#found"), page.locator("#wire")
    expect(found).to_have_text("No problems.")
    expect(wire).to_be_visible()
    desk.kill()
    page.locator("#sentence").fill("rain, and a lot of it")
    expect(found).to_have_text("Not checked: can't reach humanmcp.")
    assert found.inner_text() == "Not checked: can't reach humanmcp."
    expect(wire).to_be_hidden()
    with Desking(desk.home, port=desk.port):
        expect(found).to_have_text("No problems.")
        expect(wire).to_be_visible()
        expect(page.locator("#saved-at")).to_have_text("Draft saved")  # without another key
        assert page.locator("#sentence").input_value() == "rain, and a lot of it"


def test_nothing_is_said_of_a_text_while_its_check_is_on_the_way(opened: Opened) -> None:
    """The verdict that is there is about an older text."""
    page = opened(call(), locale="en-US")
    page.locator("#sentence").fill("sunny")
    expect(page.locator("#found")).to_have_text("No problems.")
    held: list[Route] = []
    page.route("**/check", lambda route: held.append(route))  # noqa: PLW0108 - Playwright marks it
    page.locator("#sentence").fill("rain")
    expect(page.locator("#found")).to_be_empty()
    expect(page.locator("#wire")).to_be_hidden()
    until(lambda: page.evaluate("true") and held, "it is asked for")
    for route in held:
        route.continue_()
    expect(page.locator("#found")).to_have_text("No problems.")


def test_what_was_not_sent_is_saved_at_the_desk_again(desk: Desking, opened: Opened) -> None:
    """Sent to a desk that is gone, it is there when the desk is back, without another key."""
    page = opened(call(), locale="en-US")
    page.locator("#sentence").fill("sunny")
    saved = page.locator("#saved-at")
    expect(saved).to_have_text("Draft saved")
    desk.kill()
    page.locator("#sentence").fill("rain, and a lot of it")
    page.locator("#send").click()
    failed = "humanmcp could not do this: Can't reach humanmcp. Your text is still here."
    expect(page.locator("#said p")).to_have_text(failed)
    expect(saved).to_have_text("Can't reach humanmcp. The draft is saved in this browser.")
    with Desking(desk.home, port=desk.port) as again:
        expect(saved).to_have_text("Draft saved")
        (waiting,) = again.get("/api/exchanges")["waiting"]
        shown = again.get(f"/api/exchanges/{waiting['session']}/{waiting['number']}")
        text = json.loads(shown["draft"]["text"])["result"]["content"][0]["text"]
        assert text == "rain, and a lot of it"


def test_what_was_lost_on_its_way_is_saved_at_the_desk(desk: Desking, opened: Opened) -> None:
    """Sent before the draft was ever saved: the page goes on saving it."""
    page = opened(call(), locale="en-US")
    routed(page, "**/reply", lambda route: route.abort(), once=True)
    page.locator("#sentence").fill("sunny")
    page.locator("#send").click()
    expect(page.locator("#saved-at")).to_have_text("Draft saved")
    (waiting,) = desk.get("/api/exchanges")["waiting"]
    shown = desk.get(f"/api/exchanges/{waiting['session']}/{waiting['number']}")
    assert json.loads(shown["draft"]["text"])["result"]["content"][0]["text"] == "sunny"


@pytest.mark.parametrize("status", [0, 503])
def test_a_list_that_cannot_be_fetched_is_not_called_live(
    desk: Desking, host: Serving, window: Callable[..., Window], status: int
) -> None:
    """The stream says that something came. Until the page has it, it does not say what waits."""
    begin(host, desk)
    page = window(locale="en-US").page
    claims = page.locator("#rows .none"), page.locator(".empty > p")
    for claim in claims:
        expect(claim).to_be_visible()

    def fail(route: Route) -> None:
        route.fulfill(status=status, json={}) if status else route.abort()

    works = routed(page, re.compile(r"/(list\?.*|m/.*)?$"), fail)
    host.say(call())
    chip, cut = page.locator("#live"), page.locator("#cut")
    expect(chip).to_have_attribute("data-how", "waiting")
    assert cut.inner_text() == "Reconnecting… What waits now is not known here."
    for claim in claims:
        assert not claim.is_visible()
    works()
    expect(chip).to_have_attribute("data-how", "live")
    expect(page.locator("#sentence")).to_be_visible()
    expect(page.locator("#rows .row")).to_have_count(1)
    assert cut.inner_text() == ""
