"""From one answer to the next: where the cursor goes, and what it must not do on the way."""

import json
import re
import signal
from functools import partial
from typing import Any, Final

import pytest
from playwright.sync_api import Page, Route, expect

from humanmcp.inbox.contract import Key, Reply
from humanmcp.inbox.folder import FolderInbox
from tests.browser.seats import (
    INITIALIZE,
    PHONE,
    Opened,
    Windows,
    begin,
    boxes_of,
    call,
    fetched,
    request,
    routed,
    until_keys_act,
)
from tests.browser.test_answering import read_json, write_json
from tests.support.desk_process import Desking
from tests.support.serve_process import Serving
from tests.support.waiting import until

pytestmark = pytest.mark.browser
CANCELLED: Final = '{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%d}}'


def begin_with_calls(host: Serving, desk: Desking, *cities: str) -> None:
    """Shake hands, and have the host call a tool for each city; the ids count from 1."""
    begin(host, desk)
    for number, city in enumerate(cities, 1):
        host.say(call(str(number), city=city))


def test_the_list_keeps_its_place_while_the_cursor_is_in_the_box(
    desk: Desking, host: Serving, window: Windows
) -> None:
    """The next row is the current one, the box names it, and J goes on from it."""
    begin(host, desk)
    for number in range(1, 4):
        host.say(call(str(number), city=f"City {number}"))
    page = window().page
    expect(page.locator("#sentence")).to_be_focused()
    page.keyboard.type("sunny")
    page.keyboard.press("Control+Enter")
    host.hear()
    row = page.locator("#rows .row.opened > a")
    expect(row).to_contain_text("City 2")
    expect(row).to_have_attribute("aria-current", "true")
    expect(page.locator("#sentence")).to_be_focused()
    expect(page.locator("#sentence")).to_have_accessible_description(
        "The model calls a tool get_forecast"
    )
    expect(page.locator("#sentence")).not_to_have_css("outline-style", "none")
    page.keyboard.press("Escape")
    until_keys_act(page)
    page.keyboard.press("j")
    expect(page.locator("#rows .row > a:focus")).to_contain_text("City 3")


def test_a_key_that_is_pressed_twice_does_not_send_the_next_template(
    desk: Desking, host: Serving, window: Windows
) -> None:
    """A list can be sent as it is: nobody shall do so by the second half of a double press."""
    begin(host, desk)
    host.say(call("1", city="Tokyo"))
    host.say(request("tools/list", None, "2"))
    page = window().page
    expect(page.locator("#sentence")).to_be_focused()
    page.keyboard.type("sunny")
    page.keyboard.press("Control+Enter")
    assert json.loads(host.hear())["id"] == 1
    expect(page.locator("article .ids .mono")).to_have_text("tools/list")
    fields = page.locator("#form-fields")
    page.evaluate(
        """() => document.dispatchEvent(new KeyboardEvent(
            "keydown", { key: "Enter", ctrlKey: true, repeat: true, bubbles: true }))"""
    )
    until(lambda: "tools" in read_json(page) or fields.is_visible(), "the next answer is there")
    expect(page.locator("#send")).to_be_enabled()
    page.locator("#send").click()
    assert json.loads(host.hear())["id"] == 2
    assert host.close()[1] == []


@pytest.mark.parametrize("speed", ["quick", "slow"])
def test_the_next_page_does_not_send_in_its_first_moment(
    desk: Desking, host: Serving, window: Windows, speed: str
) -> None:
    """The same for a second press that is not a repeat, until something was written here.

    The moment begins when its box takes keys; with a slow desk that is later than it is seen.
    """
    begin(host, desk)
    host.say(call("1", city="Tokyo"))
    host.say(request("tools/list", None, "2"))
    host.say(call("3", city="Osaka"))
    shown = window()
    page = shown.page
    page.locator("#sentence").fill("sunny")
    # the next request opens in the same page. The second press, as soon as its box is there.
    page.evaluate(
        """() => new MutationObserver((_, self) => {
            if (!document.querySelector(".sent") || !document.body.matches(".scripted")) return;
            self.disconnect();
            document.dispatchEvent(new KeyboardEvent(
                "keydown", { key: "Enter", ctrlKey: true, bubbles: true }));
            document.body.dataset.pressed = "yes";
        }).observe(document, { subtree: true, childList: true, attributes: true })"""
    )
    held: list[Route] = []
    if speed == "slow":
        routed(page, "**/list?*", held.append, once=True)
    page.locator("#send").click()
    assert json.loads(host.hear())["id"] == 1
    if speed == "slow":
        expect(page.locator(".sent")).to_be_visible()
        page.evaluate("window.since = performance.now()")
        page.wait_for_function("() => performance.now() - since > 500")
        held.pop(0).continue_()
    expect(page.locator("body[data-pressed]")).to_have_count(1)
    expect(page.locator("#said")).to_contain_text("Press again to send")
    expect(page.locator("article .ids .mono")).to_have_text("tools/list")
    page.locator("#rows .row", has_text="Osaka").locator("a").click()
    page.locator("#sentence").fill("rain")
    page.locator("#send").click()
    assert json.loads(host.hear())["id"] == 3


def test_letters_typed_after_the_key_are_for_the_next_request(
    desk: Desking, host: Serving, window: Windows
) -> None:
    """Type, Ctrl+Enter, and type on at once: no letter is lost, and the page is not loaded."""
    begin(host, desk)
    for number in range(1, 4):
        host.say(call(str(number), city=f"City {number}"))
    page = window().page
    expect(page.locator("#sentence")).to_be_focused()
    page.evaluate("window.untouched = true")
    page.keyboard.type("sunny in 1")
    for number in range(1, 4):
        page.keyboard.press("Control+Enter")
        page.keyboard.type(f"sunny in {number + 1}")
        answer = json.loads(host.hear())
        assert answer["id"] == number
        assert answer["result"]["content"][0]["text"] == f"sunny in {number}"
        if number < 3:
            expect(page.locator(".asked")).to_contain_text(f"City {number + 1}")
            expect(page.locator("#sentence")).to_have_value(f"sunny in {number + 1}")
    expect(page.locator(".empty")).to_be_visible()
    assert page.evaluate("window.untouched") is True


def osaka_comes_first(host: Serving, page: Page, route: Route) -> None:
    """Let another request come when the desk has answered, and before the page knows."""
    answer = fetched(route)
    host.say(call("2", city="Osaka"))
    expect(page.locator("#rows .row", has_text="Osaka")).to_be_visible()
    route.fulfill(response=answer)


def test_what_came_while_the_next_page_was_on_its_way_is_opened(
    host: Serving, opened: Opened
) -> None:
    """The last answer goes out, and the next request comes just before the page of nothing."""
    page = opened(call("1", city="Tokyo"))
    page.locator("#sentence").fill("sunny")
    routed(page, "**/?sent=*", partial(osaka_comes_first, host, page), once=True)
    page.locator("#send").click()
    host.hear()
    expect(page.locator(".asked")).to_contain_text("Osaka")


def test_what_came_while_the_page_asked_what_became_of_a_request_is_opened(
    host: Serving, opened: Opened
) -> None:
    """The desk had answered before it came, and the page heard of it before it had the answer."""
    page = opened(call("1", city="Tokyo"))
    routed(page, "**/status", partial(osaka_comes_first, host, page), once=True)
    host.say(CANCELLED % 1)
    expect(page.locator(".asked")).to_contain_text("Osaka")


def test_a_page_does_not_stay_at_a_next_request_that_is_over_when_it_comes(
    desk: Desking, host: Serving, window: Windows
) -> None:
    """The host takes back what is open; the one that the desk named next, too, before it opens."""
    begin_with_calls(host, desk, "Tokyo", "Osaka", "Kyoto")
    page = window().page
    expect(page.locator(".asked")).to_contain_text("Tokyo")

    def taken_back(route: Route) -> None:
        answer = fetched(route)
        host.say(CANCELLED % 2)
        expect(page.locator("#rows .row", has_text="Osaka")).to_have_count(0)
        route.fulfill(response=answer)

    routed(page, "**/status*", taken_back, once=True)
    host.say(CANCELLED % 1)
    expect(page.locator(".asked")).to_contain_text("Kyoto")
    expect(page.locator("#send")).to_be_enabled()


def test_what_is_named_as_the_next_still_waits(
    desk: Desking, host: Serving, window: Windows
) -> None:
    """Who stays at what is over, as they wrote in it, is not sent to another one that is."""
    begin_with_calls(host, desk, "Tokyo", "Osaka", "Kyoto")
    page = window().page
    name = until(host.find_session, "a session").name
    page.locator("#sentence").fill("sunny")
    following = page.locator("#status a.button", has_text="Next: ")
    for number in (1, 2):
        host.say(CANCELLED % number)
        expect(following).to_have_attribute("href", re.compile(f"/m/{name}/{number + 2}$"))
    expect(page.locator(".asked")).to_contain_text("Tokyo")


def page_at_what_is_over(desk: Desking, host: Serving, window: Windows, *cities: str) -> Page:
    """Open a page that stays at a request that its host takes back, as a person wrote in it."""
    begin_with_calls(host, desk, *cities)
    page = window().page
    page.locator("#sentence").fill("sunny")
    host.say(CANCELLED % 1)
    expect(page.locator("#status .banner.cancelled")).to_be_visible()
    return page


def test_what_is_over_before_it_is_named_is_not_the_next(
    desk: Desking, host: Serving, window: Windows
) -> None:
    """It is taken back while the page hears that it is the next one."""
    page = page_at_what_is_over(desk, host, window, "Tokyo")

    def too_late(route: Route) -> None:
        status = fetched(route)
        host.say(CANCELLED % 2)
        expect(page.locator("#rows .row", has_text="Osaka")).to_have_count(0)
        route.fulfill(response=status)
        told.append(status.text())

    told: list[str] = []
    routed(page, "**/status*", too_late, once=True)
    host.say(call("2", city="Osaka"))
    until(lambda: page.evaluate("1") and told, "the page hears of it")
    assert "Next: " in told[0]
    expect(page.locator("#status a.button", has_text="Next: ")).to_have_count(0)


def test_what_waits_again_is_the_next(desk: Desking, host: Serving, window: Windows) -> None:
    """Its answer was on its way when another one ended, and came back with its problems."""
    begin_with_calls(host, desk, "Tokyo")
    page = window().page
    page.locator("#sentence").fill("sunny")
    with Serving(host.home, "--auto") as other:
        other.say(INITIALIZE)
        other.hear()
        other.say(call("1", city="Osaka"))
        row = page.locator("#rows .row", has_text="Osaka")
        expect(row).to_be_visible()
        key = Key(until(other.find_session, "a session").name, 2)
        other.process.send_signal(signal.SIGSTOP)
        try:
            FolderInbox(host.home).send(key, Reply('{"jsonrpc":"2.0","id":99,"result":{}}'))
            expect(row).to_contain_text("being sent")
            host.say(CANCELLED % 1)
            expect(page.locator("#status .banner.cancelled")).to_be_visible()
            expect(page.locator("#status a.button", has_text="Next: ")).to_have_count(0)
        finally:
            other.process.send_signal(signal.SIGCONT)
        expect(page.locator("#status a.button", has_text="Next: ")).to_be_visible()
        expect(page.locator(".asked")).to_contain_text("Tokyo")


def test_words_for_a_request_that_ends_while_they_are_composed_stay_with_it(
    desk: Desking, host: Serving, window: Windows
) -> None:
    """They are typed when it is shown and its box is not ready, as an input method composes."""
    begin_with_calls(host, desk, "Tokyo", "Osaka", "Kyoto")
    seat = window(locale="ja-JP")
    page = seat.page
    expect(page.locator("#sentence")).to_be_focused()
    page.keyboard.type("sunny")
    page.keyboard.press("Control+Enter")
    keyboard = seat.context.new_cdp_session(page)
    for composed in ("おおさか", "おおさかははれ"):
        at = {"selectionStart": len(composed), "selectionEnd": len(composed)}
        keyboard.send("Input.imeSetComposition", {"text": composed, **at})
        expect(page.locator(".asked")).to_contain_text("Osaka")
    host.hear()
    host.say(CANCELLED % 2)
    expect(page.locator("#rows .row", has_text="Osaka")).to_have_count(0)
    expect(page.locator("#status[data-state=cancelled]")).to_be_visible()
    keyboard.send("Input.insertText", {"text": "大阪は晴れ"})
    expect(page.locator("#sentence")).to_have_value("大阪は晴れ")
    expect(page.locator(".asked")).to_contain_text("Osaka")


@pytest.mark.parametrize("by", ["the host", "somebody else"])
def test_what_ended_while_it_was_counted_down_is_locked(
    desk: Desking, host: Serving, window: Windows, by: str
) -> None:
    """Who takes the answer back finds no box that could be sent."""
    begin_with_calls(host, desk, "Tokyo", "Osaka")
    page = window().page
    page.evaluate("localStorage.setItem('humanmcp:choice:undo', 'on')")
    page.reload()
    until_keys_act(page)
    page.locator("#sentence").fill("sunny")
    page.locator("#send").click()
    expect(page.locator("#undo")).to_be_visible()
    if by == "the host":
        host.say(CANCELLED % 1)
    else:
        path = f"/api/exchanges/{until(host.find_session, 'a session').name}/2/reply"
        assert desk.post(path, {"text": "rain", "form": "text"}).status == 200
    expect(page.locator("#status[data-state=pending]")).to_have_count(0)
    page.locator("#undo").click()
    expect(page.locator("#send")).not_to_be_visible()
    expect(page.locator("#sentence")).not_to_be_editable()
    expect(page.locator(".asked")).to_contain_text("Tokyo")


def test_what_arrives_takes_no_unsent_words_out_of_sight(
    desk: Desking, host: Serving, window: Windows
) -> None:
    """They are shown after a reload, as somebody else has answered: only this browser has them."""
    begin_with_calls(host, desk, "Tokyo")
    page = window().page
    page.locator("#sentence").fill("long words of mine")
    expect(page.locator("#saved-at")).not_to_be_empty()
    path = f"/api/exchanges/{until(host.find_session, 'a session').name}/2/reply"
    assert desk.post(path, {"text": "rain", "form": "text"}).status == 200
    expect(page.locator("#lock")).to_be_visible()
    page.reload()
    expect(page.locator("#unsent")).to_contain_text("long words of mine")
    host.say(call("2", city="Osaka"))
    expect(page.locator("#status a.button", has_text="Next: ")).to_be_visible()
    expect(page.locator("#unsent")).to_contain_text("long words of mine")


def test_what_has_the_focus_beside_what_is_over_keeps_it(
    desk: Desking, host: Serving, window: Windows
) -> None:
    """Who goes to "Next: " with the keyboard gets there, whatever happens elsewhere."""
    page = page_at_what_is_over(desk, host, window, "Tokyo", "Osaka", "Kyoto")
    following = page.locator("#status a.button", has_text="Next: ")
    following.focus()
    asked: list[str] = []
    page.on("response", lambda one: asked.append(one.url) if "/status" in one.url else None)
    host.say(CANCELLED % 3)
    expect(page.locator("#rows .row", has_text="Kyoto")).to_have_count(0)
    until(lambda: page.evaluate("1") and asked, "the page asks what became of its request")
    host.say(call("4", city="Sapporo"))
    expect(page.locator("#rows .row", has_text="Sapporo")).to_be_visible()
    expect(following).to_be_focused()


def test_what_became_of_the_last_request_does_not_lock_the_next(
    desk: Desking, host: Serving, window: Windows
) -> None:
    """The times of the answered request come when another one is open in its place."""
    begin_with_calls(host, desk, "Tokyo", "Osaka")
    page = window().page
    expect(page.locator(".asked")).to_contain_text("Tokyo")
    held: list[Route] = []

    def late(route: Route) -> None:
        if held:
            route.continue_()
        else:
            held.append(route)

    page.route("**/status", late)
    page.locator("#sentence").fill("sunny")
    page.locator("#send").click()
    host.hear()
    expect(page.locator(".asked")).to_contain_text("Osaka")
    until(lambda: page.evaluate("1") and held, "the page asks what became of the first")
    with page.expect_response("**/status"):
        held[0].continue_()
    page.locator("#sentence").fill("cloudy")
    page.locator("#send").click()
    assert json.loads(host.hear())["id"] == 2


def test_letters_typed_while_nothing_could_be_sent_stay_in_the_box(opened: Opened) -> None:
    """An answer that is refused takes back what was typed behind it."""
    page = opened(call("1", city="Tokyo"))
    page.locator("#tab-json").click()
    write_json(page, read_json(page).replace('"id": 1', '"id": 7'))
    page.locator(".editor, #document:visible").first.focus()
    page.keyboard.press("Control+End")
    page.keyboard.press("Control+Enter")
    page.keyboard.type(" here")
    expect(page.locator("#problems")).to_contain_text("id")
    until(lambda: read_json(page).endswith("} here"), "the box has the letters")


def test_the_way_back_leads_to_what_was_open(desk: Desking, host: Serving, window: Windows) -> None:
    """The browser's Back shows the request that was answered, though no page was loaded."""
    begin_with_calls(host, desk, "Tokyo", "Osaka")
    page = window().page
    page.locator("#sentence").fill("sunny")
    page.locator("#send").click()
    host.hear()
    expect(page.locator(".asked")).to_contain_text("Osaka")
    page.go_back()
    expect(page.locator(".banner.answered")).to_be_visible()
    expect(page.locator(".asked")).to_contain_text("Tokyo")


@pytest.mark.parametrize("menu", ["more", "menu"])
def test_esc_closes_a_menu_and_goes_back_to_what_opened_it(menu: str, opened: Opened) -> None:
    """More, and the settings."""
    page = opened(call("1", city="Tokyo"))
    expect(page.locator("#sentence")).to_be_focused()
    page.locator(f"button.{menu}").click()
    expect(page.locator(f"#{menu}")).to_be_visible()
    page.locator(f"#{menu} button:visible").first.focus()
    page.keyboard.press("Escape")
    expect(page.locator(f"#{menu}")).to_be_hidden()
    expect(page.locator(f"button.{menu}")).to_be_focused()


def test_what_arrives_takes_the_focus_from_nobody(
    desk: Desking, host: Serving, window: Windows
) -> None:
    """The first request opens by itself, and whoever is at something stays there."""
    page = window().page
    expect(page.locator(".empty")).to_be_visible()
    settings = page.locator("header .menu")
    settings.focus()
    host.say(INITIALIZE)
    expect(page.locator("article.message h1")).to_be_visible()
    expect(settings).to_be_focused()


def test_on_a_phone_the_next_row_has_the_focus(
    desk: Desking, host: Serving, window: Windows
) -> None:
    """There the list is what is shown, and a field would bring up the keyboard over it."""
    begin_with_calls(host, desk, "Tokyo", "Osaka")
    name = until(host.find_session, "a session").name
    shown = window(**PHONE)
    page = shown.goto(f"/m/{name}/2")
    page.locator("#sentence").fill("sunny")
    page.locator("#send").tap()
    host.hear()
    row = page.locator("#rows .row.opened > a")
    expect(row).to_be_focused()
    expect(row).to_contain_text("Osaka")


@pytest.mark.parametrize(
    ("rows", "locale"), [(0, "en-US"), (1, "ja-JP"), (2, "en-US"), (3, "ja-JP")]
)
def test_the_cursor_is_never_under_the_bar_with_send(
    desk: Desking, host: Serving, window: Windows, rows: int, locale: str
) -> None:
    """WCAG 2.4.11: at 320 by 640 the box is scrolled free, wherever it happens to stand."""
    begin(host, desk)
    host.say(call("1", **{f"argument {row}": "x" for row in range(rows)}))
    name = until(host.find_session, "a session").name
    shown = window(
        viewport={"width": 320, "height": 640}, has_touch=True, is_mobile=True, locale=locale
    )
    page = shown.goto(f"/m/{name}/2")
    expect(page.locator("#sentence")).to_be_visible()
    page.wait_for_load_state("networkidle")  # nothing above the box is on its way any more
    page.locator("#sentence").focus()
    free = """() => document.getElementById("sentence").getBoundingClientRect().bottom
        <= document.querySelector(".composer > .actions").getBoundingClientRect().top"""
    until(lambda: page.evaluate(free), "the box stands free")


@pytest.mark.parametrize("locale", ["en-US", "ja-JP"])
def test_what_was_sent_and_a_remark_leave_room_for_the_box(
    desk: Desking, host: Serving, window: Windows, locale: str
) -> None:
    """At 1280 by 800 the box of the next call is there whole, without scrolling."""
    begin(host, desk)
    host.say(request("tools/list", None, "1"))
    name = until(host.find_session, "a session").name
    schema = {"type": "object", "properties": {"days": {"type": "integer"}}}
    tools = {"tools": [{"name": "get_forecast", "inputSchema": schema}]}
    body = {"text": json.dumps(tools), "form": "result"}
    until(lambda: desk.get("/api/exchanges")["waiting"], "the list is asked for")
    assert desk.post(f"/api/exchanges/{name}/2/reply", body).status == 200
    host.hear()
    host.say(call("2", city="Tokyo"))
    host.say(call("3", city="Osaka", days="3", unit="C"))
    page = window(locale=locale).goto(f"/m/{name}/3")
    page.locator("#sentence").fill("sunny " * 40)
    page.locator("#send").click()
    host.hear()
    expect(page.locator(".remarks")).to_be_visible()
    expect(page.locator(".sent")).to_be_visible()
    expect(page.locator("#sentence")).to_be_focused()
    box, bar = boxes_of(page.locator("#sentence"), page.locator(".composer > .actions"))
    assert page.evaluate("scrollY") == 0
    assert box["y"] + box["height"] <= bar["y"]


@pytest.mark.parametrize("locale", ["en-US", "ja-JP"])
def test_the_kinds_of_answer_stand_in_one_row_on_the_smallest_phone(
    desk: Desking, host: Serving, window: Windows, locale: str
) -> None:
    """Three choices beside each other at 320 pixels, none of them broken."""
    begin(host, desk)
    host.say(call())
    name = until(host.find_session, "a session").name
    shown = window(
        viewport={"width": 320, "height": 640}, has_touch=True, is_mobile=True, locale=locale
    )
    page = shown.goto(f"/m/{name}/2")
    expect(page.locator("#sentence")).to_be_visible()
    places = page.locator(".kinds span").evaluate_all(
        "all => all.map((one) => [one.getBoundingClientRect().y, one.getClientRects()[0].height])"
    )
    assert len(places) == 3
    assert places == [places[0]] * 3


def test_what_opens_by_itself_is_not_announced_and_begins_at_its_top(
    desk: Desking, host: Serving, window: Windows
) -> None:
    """What a filled answer is about is read first; a toast would lie over the box."""
    begin(host, desk)
    page = window(viewport={"width": 1024, "height": 500}).page
    expect(page.locator(".empty")).to_be_visible()
    host.say(request("tools/list", None, "3"))
    expect(page.locator("#filled")).to_be_attached()
    page.wait_for_function("() => document.activeElement.matches('#form-fields *')")
    assert page.evaluate("scrollY") == 0
    expect(page.locator("#said p")).to_have_count(0)


def test_only_what_is_not_in_view_is_announced_and_nothing_lies_over_send(
    desk: Desking, host: Serving, window: Windows
) -> None:
    """The page of a request may be there before the news of it."""
    begin(host, desk)
    host.say(call("1", city="Tokyo"))
    page = window(**PHONE).page
    page.locator("#rows a").first.click()
    expect(page.locator("#send")).to_be_visible()
    page.evaluate(
        """async () => {
          const script = document.querySelector("script[type=module]").src;
          const { arrived } = await import(script.replace("desk.js", "notice.js"));
          arrived(document.querySelector("article.message").dataset.key, "the open one");
        }"""
    )
    host.say(call("2", city="Osaka"))
    said = page.locator("#said p")
    expect(said).to_have_count(1)
    expect(said).to_contain_text("get_forecast")
    box, send = boxes_of(said, page.locator("#send"))
    assert box["y"] >= send["y"] + send["height"] or box["y"] + box["height"] <= send["y"]


TELL: Final = """async () => {
    const script = document.querySelector("script[type=module]").src;
    (await import(script.replace("desk.js", "words.js"))).tell("copied");
}"""
LINKS: Final[dict[str, tuple[dict[str, Any], str]]] = {
    "phone": (PHONE, ".places a"),
    "computer": ({}, "#rows a"),
}


@pytest.mark.parametrize("look", LINKS)
def test_a_press_on_a_toast_takes_it_away_and_follows_no_link_below_it(
    desk: Desking, host: Serving, window: Windows, look: str
) -> None:
    """On a phone it is in the place of the bar, and no half of a link looks out below it."""
    options, links = LINKS[look]
    begin(host, desk)
    for at in range(1, 12):
        host.say(call(str(at), city="Tokyo"))
    page = window(**options).page
    expect(page.locator("#rows a")).to_have_count(11)
    page.evaluate(TELL)
    (box,) = boxes_of(page.locator("#said p"))
    edges = "one => [one.getBoundingClientRect().y, one.getBoundingClientRect().bottom]"
    top, bottom = page.locator("header.bar").evaluate(edges)
    if look == "phone":
        assert (box["x"], box["y"], box["width"]) == (0, top, page.evaluate("innerWidth"))
        assert box["y"] + box["height"] >= bottom
    covered = page.locator(links).evaluate_all(
        """(links, {x, y, width, height}) => links.map((one) => one.getBoundingClientRect())
            .filter((one) => one.right > x && one.left < x + width
                && one.bottom > y && one.top < y + height)
            .map((one) => [one.x + 5, one.y + one.height / 2])""",
        box,
    )
    assert covered, "a link is below it"
    address = page.url
    page.mouse.click(*next(one for one in covered if one[1] < box["y"] + box["height"]))
    expect(page.locator("#said p")).to_have_count(0)
    assert page.url == address
