"""News and answers that overtake each other: the page shows the newest, and sends once."""

import json
from pathlib import Path

import pytest
from playwright.sync_api import Route, expect

from humanmcp.inbox.contract import Key, Reply
from humanmcp.inbox.folder import FolderInbox
from humanmcp.protocol.diagnostics.model import TextForm
from tests.browser.seats import Opened, Windows, begin, call, fetched, routed
from tests.support.desk_process import Desking
from tests.support.serve_process import Serving
from tests.support.waiting import until

pytestmark = pytest.mark.browser

CLOUDY = '{"content":[{"type":"text","text":"cloudy"}]}'


def test_send_just_after_an_answer_from_elsewhere_says_who_was_first(
    host: Serving, opened: Opened
) -> None:
    """Send stays enabled until the news is here. Here it never comes: the worst race."""
    page = opened(call())
    page.route("**/api/events*", lambda route: route.abort())
    page.route("**/api/changes*", lambda route: route.abort())
    page.reload()
    page.locator("#sentence").fill("sunny")
    expect(page.locator("#saved-at")).not_to_be_empty()
    inbox = FolderInbox(host.home)
    item = until(lambda: inbox.items(inbox.sessions()[0].name), "the call")[0]
    inbox.send(item.key, Reply(CLOUDY, TextForm.RESULT, by="terminal"))
    assert json.loads(host.hear())["result"]["content"][0]["text"] == "cloudy"
    expect(page.locator("#send")).to_be_enabled()
    page.locator("#send").click()
    expect(page.locator("#lock")).to_contain_text("terminal answered first. Your text is saved")
    expect(page.locator("#send")).to_be_disabled()
    assert any("sunny" in one.text for one in inbox.item(item.key).kept)
    assert host.close()[1] == []


def answer_elsewhere(home: Path, number: int) -> None:
    """Answer an exchange of the only session as a terminal does."""
    inbox = FolderInbox(home)
    key = Key(inbox.sessions()[0].name, number)
    inbox.send(key, Reply(CLOUDY, TextForm.RESULT, by="terminal"))


def test_a_request_that_is_over_says_no_more_what_happens_in_silence(
    host: Serving, opened: Opened
) -> None:
    """What was typed keeps the page as it is; only this sentence would not be true any more."""
    page = opened(call())
    page.locator("#sentence").fill("sunny")
    silence = page.get_by_text("If you do nothing")
    expect(silence).to_be_visible()
    inbox = FolderInbox(host.home)
    item = until(lambda: inbox.items(inbox.sessions()[0].name), "the call")[0]
    answer_elsewhere(host.home, item.key.number)
    expect(page.locator("#lock")).to_be_visible()
    expect(silence).to_be_hidden()


def test_a_request_that_was_answered_while_the_page_opened_it_is_shown_as_answered(
    desk: Desking, host: Serving, window: Windows
) -> None:
    """The page of it was on its way when the news came, and shows how it stood before."""
    begin(host, desk)
    page = window().page
    expect(page.locator("#live")).to_have_attribute("data-how", "live")
    expect(page.locator(".empty")).to_be_visible()
    row = page.locator("#rows .row")
    opened: list[Route] = []

    def late(route: Route) -> None:
        answer = fetched(route)
        # A page that was asked for before may have the request in its list alone.
        if "<article" in answer.text() and not opened:
            opened.append(route)
            expect(row).to_have_count(1)
            answer_elsewhere(host.home, 2)
            expect(row).to_have_count(0)
        route.fulfill(response=answer)

    page.route(page.url, late)
    host.say(call(city="Tokyo"))
    expect(page.locator(".asked")).to_contain_text("Tokyo")
    expect(page.locator("#status")).to_have_attribute("data-state", "answered")


def test_an_older_status_never_takes_the_place_of_a_newer_one(
    desk: Desking, host: Serving, opened: Opened
) -> None:
    """Of one exchange the page asks for one status at a time, and once more for later news."""
    page = opened(call(city="Tokyo"))
    expect(page.locator("#live")).to_have_attribute("data-how", "live")
    asked: list[str] = []
    before: list[str] = []

    def late(route: Route) -> None:
        answer = fetched(route)
        expect(page.locator("#rows .row .state", has_text="draft")).to_be_visible()
        answer_elsewhere(host.home, 2)
        expect(page.locator("#rows .row")).to_have_count(0)
        before.extend(asked)
        route.fulfill(response=answer)

    page.on("request", lambda one: asked.extend([one.url] * one.url.endswith("/status")))
    routed(page, "**/status", late, once=True)
    session = FolderInbox(host.home).sessions()[0].name
    desk.post(f"/api/exchanges/{session}/2/draft", {"text": "somebody else writes"})
    expect(page.locator("#status")).to_have_attribute("data-state", "answered")
    assert len(before) == 1


def test_a_status_that_the_desk_could_not_give_is_asked_for_again(
    host: Serving, opened: Opened
) -> None:
    """The news was heard, and the way to the desk broke just then: no other news may ever come."""
    page = opened(call(city="Tokyo"))
    expect(page.locator("#live")).to_have_attribute("data-how", "live")
    failed: list[Route] = []

    def fail(route: Route) -> None:
        failed.append(route)
        route.abort()

    routed(page, "**/status", fail, once=True)
    answer_elsewhere(host.home, 2)
    expect(page.locator("#status")).to_have_attribute("data-state", "answered")
    assert len(failed) == 1


def test_a_tab_shows_what_came_before_its_script_began(
    desk: Desking, host: Serving, window: Windows
) -> None:
    """Another tab of the browser has the live stream, and heard of it."""
    begin(host, desk)
    host.say(call("1", city="Tokyo"))
    opened = window()
    expect(opened.page.locator("#live")).to_have_attribute("data-how", "live")
    second = opened.new_page()
    held: list[Route] = []
    second.route("**/desk.js", lambda route: held.append(route))  # noqa: PLW0108 - Playwright marks it
    second.goto(opened.page.url, wait_until="commit")
    expect(second.locator("#rows .row")).to_have_count(1)
    host.say(call("2", city="Osaka"))
    expect(opened.page.locator("#rows .row")).to_have_count(2)
    held[0].continue_()
    expect(second.locator("#rows .row")).to_have_count(2)


def test_the_draft_that_the_desk_keeps_is_the_one_that_was_saved_last(
    host: Serving, window: Windows, opened: Opened
) -> None:
    """A slow line holds back the first of two: the second waits for it."""
    page = opened(call(city="Tokyo"))
    page.evaluate(
        """() => {
          const { fetch } = window;
          window.held = [];
          window.fetch = (address, options) => String(address).endsWith("/draft")
            ? new Promise((done) => held.push(() => done(fetch(address, options))))
            : fetch(address, options);
        }"""
    )
    for text in ("sunny", "sunny all day"):
        page.locator("#sentence").fill(text)
        page.keyboard.press("Control+s")
    assert page.evaluate("held.length") == 1
    page.evaluate("held.pop()()")
    until(lambda: page.evaluate("held.length"), "the second is saved, too")
    page.evaluate("held.pop()()")
    expect(page.locator("#saved-at")).not_to_be_empty()
    inbox = FolderInbox(host.home)
    draft = inbox.item(Key(inbox.sessions()[0].name, 2)).draft
    assert draft is not None
    assert "sunny all day" in draft.text


@pytest.mark.extension("books")
def test_the_preview_of_a_tool_shows_what_was_written_last(
    desk: Desking, host: Serving, window: Windows
) -> None:
    """While one preview is on its way no other is asked for, and then the newest text is."""
    begin(host, desk)
    opened = window()
    opened.page.clock.install()
    page = opened.goto("/server/entry")
    name = page.locator("#main input[name=name]")
    page.evaluate(
        """() => {
          const { send } = XMLHttpRequest.prototype;
          window.posted = 0;
          XMLHttpRequest.prototype.send = function (form) {
            if (form) window.posted += 1;
            send.call(this, form);
          };
        }"""
    )
    posted: list[int] = []

    def late(route: Route) -> None:
        answer = fetched(route)
        name.fill("get_forecast")
        page.clock.run_for(400)
        posted.append(page.evaluate("posted"))
        route.fulfill(response=answer)

    routed(page, "**/server/entry", late, once=True)
    name.fill("get")
    page.clock.run_for(400)
    expect(page.locator("#seen")).to_contain_text("get_forecast")
    assert posted == [1]
