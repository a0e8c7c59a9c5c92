"""Time, notices and tabs."""

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

import pytest
from playwright.sync_api import Page, expect

from humanmcp.inbox import records
from humanmcp.inbox.client_seconds import ClientSeconds
from tests.browser.seats import (
    INITIALIZE,
    Windows,
    begin,
    boxes_of,
    call,
    request,
    routed,
    until_keys_act,
)
from tests.support.desk_process import Desking
from tests.support.serve_process import Serving
from tests.support.verdicts import stating
from tests.support.waiting import until

pytestmark = pytest.mark.browser

GRACE: Final = 5
"""Seconds until the book answers, in which a busy browser can show a page and fill in its form."""


def test_the_clock_counts_up_and_down_and_speaks_twice(desk: Desking, window: Windows) -> None:
    """0:42 waited, 0:18 left; past the limit it says so; spoken of at 30 s and 10 s only."""
    with Serving(desk.home, "--by-hand", "--client-limit", "60") as host:
        begin(host, desk)
        host.say(call())
        page = window().page
        expect(page.locator("#status .waited b")).to_be_visible()
        arrived = datetime.fromtimestamp(
            float(page.locator("#status").get_attribute("data-arrived") or 0), UTC
        )
        page.evaluate(
            """() => {
                window.spoken = [];
                new MutationObserver((all) => {
                    for (const one of all) for (const node of one.addedNodes) {
                        window.spoken.push(node.textContent);
                    }
                }).observe(document.getElementById("said"), { childList: true });
            }"""
        )
        for second in (20, 29, 31, 42):
            page.clock.set_fixed_time(arrived + timedelta(seconds=second))
            expect(page.locator("#status .waited b")).to_have_text(f"0:{second:02d}")
        expect(page.locator("#status .limit b")).to_have_text("0:18")
        for second in (45, 51, 55):
            page.clock.set_fixed_time(arrived + timedelta(seconds=second))
            expect(page.locator("#status .waited b")).to_have_text(f"0:{second:02d}")
        page.clock.set_fixed_time(arrived + timedelta(seconds=61))
        expect(page.locator("#status .limit")).to_contain_text("probably timed out")
        expect(page.locator("#send")).to_be_enabled()
        assert page.evaluate("window.spoken") == ["30 seconds left", "10 seconds left"]


def test_what_keeps_the_client_waiting_is_said(desk: Desking, window: Windows) -> None:
    """With a token lines go out, growing, and stop; without one the reason is there."""
    with Serving(desk.home, "--handshake", "hand") as host:  # by hand alone, nothing is said
        begin(host, desk)
        line = request(
            "tools/call", {"name": "slow", "arguments": {}, "_meta": {"progressToken": "p-1"}}, "5"
        )
        host.say(line)
        page = window().page
        expect(page.locator(".keeping summary")).to_contain_text("sends progress notifications")
        seen = [json.loads(host.hear()) for _ in range(2)]
        assert [one["method"] for one in seen] == ["notifications/progress"] * 2
        assert seen[0]["params"]["progress"] < seen[1]["params"]["progress"]
        assert seen[0]["params"]["progressToken"] == "p-1"
        page.locator("#sentence").fill("done")
        page.locator("#send").click()
        while "result" not in (last := json.loads(host.hear())):
            assert last["method"] == "notifications/progress"
        assert last["id"] == 5
        page.wait_for_url(lambda url: "sent=" in url)  # where the page goes after Send
        host.say(call("6"))
        page.goto(desk.facts.address)
        expect(page.locator(".keeping summary")).to_contain_text(
            "humanmcp cannot make this client wait longer"
        )
        page.locator(".keeping summary").click()
        expect(page.locator(".keeping")).to_contain_text("progressToken")
        assert host.close()[1] == []


def test_the_book_answers_unless_somebody_writes(desk: Desking, window: Windows) -> None:
    """Countdown, automatic answer, marked as such; writing before keeps it from answering."""
    page = window().page
    ClientSeconds(desk.home, records.GRACE).put("test-host", GRACE)
    with Serving(desk.home) as host:
        host.say(INITIALIZE)
        expect(page.locator("#status .book [data-until]")).to_be_visible()
        answered = json.loads(host.hear())
        assert "serverInfo" in answered["result"]
        expect(page.locator(".banner.answered")).to_contain_text("book")
        host.say('{"jsonrpc":"2.0","method":"notifications/initialized"}')
        host.say(request("tools/list", None, "1"))
        page.goto(desk.facts.address)
        page.locator("#tab-json").click()
        page.locator("#tab-form").click()
        page.locator("#form-fields input").first.fill("my_own_tool")
        expect(page.locator("#status .book [data-until]")).to_have_count(0)
        with pytest.raises(AssertionError, match="no line on stdout"):
            host.hear(within=GRACE + 1)
        page.locator("#send").click()
        assert json.loads(host.hear())["result"]["tools"][0]["name"] == "my_own_tool"


def test_the_countdown_can_be_held(desk: Desking, window: Windows) -> None:
    """The countdown of the book is visible and stops at a click."""
    page = window().page
    ClientSeconds(desk.home, records.GRACE).put("test-host", GRACE)
    with Serving(desk.home) as host:
        host.say(INITIALIZE)
        page.locator("#pause").click()
        expect(page.locator("#status .book")).to_contain_text("Nothing is answered automatically")
        with pytest.raises(AssertionError, match="no line on stdout"):
            host.hear(within=GRACE + 1)


def test_of_a_client_without_a_limit_the_page_says_that_it_waits_and_no_more(
    home: Path, desk: Desking, window: Windows
) -> None:
    """It also said that nothing makes the client wait longer, and that it waits for its limit."""
    with Serving(home) as host:
        host.say(INITIALIZE.replace("test-host", "claude-code"))
        host.hear()
        host.say('{"jsonrpc":"2.0","method":"notifications/initialized"}')
        host.say(call())
        page = window().page
        expect(page.locator("#status .limit")).to_have_text("The client waits as long as you need.")
        expect(page.locator("#status .keeping")).to_have_count(0)


def test_a_subscription_takes_less_of_the_list_than_a_question_and_comes_after_it(
    home: Path, desk: Desking, window: Windows
) -> None:
    """It waits as long as the session lives; a question that comes later is above it."""
    listen = {"notifications": {"toolsListChanged": True}, "_meta": stating()}
    with Serving(home) as host:
        host.say(request("subscriptions/listen", listen, '"s"'))
        page = window().page
        subscription, question = page.locator(".subscriptions .row"), page.locator("#rows .row")
        expect(subscription).to_be_visible()
        asked = {"name": "t", "arguments": {"city": "東京"}, "_meta": stating()}
        host.say(request("tools/call", asked, "7"))
        expect(question).to_be_visible()
        upper, lower = boxes_of(question, subscription)
        assert upper["y"] < lower["y"]
        assert lower["height"] < upper["height"] * 0.8


def look_elsewhere(tab: Page) -> None:
    """Behave as a window behind others that may notify; count its notifications."""
    tab.evaluate(
        """() => {
            localStorage.setItem("humanmcp:choice:notify", "on");
            window.notices = [];
            window.Notification = class {
                static permission = "granted";
                constructor(title, options) {
                    window.notices.push(this);
                    this.body = options.body;
                }
                close() {}
            };
            Object.defineProperty(document, "hidden", { get: () => true });
        }"""
    )


def test_what_arrives_while_the_list_is_on_its_way_is_told(
    desk: Desking, host: Serving, window: Windows
) -> None:
    """The list that came did not have it yet, and nobody was ever told."""
    begin(host, desk)
    page = window().page
    look_elsewhere(page)
    page.evaluate(
        """() => {
            window.XMLHttpRequest = class extends XMLHttpRequest {
                set onload(use) {
                    super.onload = () => {
                        const held = !window.release && this.responseURL.includes("/list");
                        if (held) window.release = use;
                        else use();
                    };
                }
            };
            window.arrived = [];
            const path = localStorage.getItem("humanmcp:login-path") ?? "";
            new BroadcastChannel(`humanmcp-live${path}`).onmessage = ({ data }) =>
                window.arrived.push(
                    ...(data.changes ?? []).filter(({ what }) => what === "arrived")
                );
        }"""
    )
    host.say(call("1"))
    page.wait_for_function("() => window.release")
    host.say(call("2"))
    page.wait_for_function("() => window.arrived.length === 2")
    page.evaluate("window.release()")
    page.wait_for_function("() => window.notices.length === 2")


def test_somebody_who_looks_elsewhere_is_told(
    desk: Desking, host: Serving, window: Windows
) -> None:
    """Title, icon, one notification for all tabs; clicking it opens the message."""
    begin(host, desk)
    shown = window()
    page, other = shown.page, shown.new_page()
    other.goto(desk.facts.address)
    for tab in (page, other):
        look_elsewhere(tab)
    host.say(call())
    expect(page).to_have_title("(1) humanmcp · waiting")
    assert "icon-1.svg" in (page.locator("#icon").get_attribute("href") or "")
    until(lambda: page.evaluate("window.notices.length") or None, "a notification")
    expect(other).to_have_title("(1) humanmcp · waiting")
    assert [tab.evaluate("window.notices.length") for tab in (page, other)] == [1, 0]
    assert "get_forecast" in page.evaluate("window.notices[0].body")
    page.evaluate("window.notices[0].onclick()")
    page.wait_for_url("**/m/*/2")


def test_how_many_wait_stands_on_one_line(desk: Desking, window: Windows, host: Serving) -> None:
    """Twelve was a 1 above a 2, beside the name of a long folder."""
    begin(host, desk)
    for number in range(12):
        host.say(call(str(number + 10)))
    count = window().page.locator(".who b")
    expect(count).to_have_text("12")
    lines = """one => {
        const text = document.createRange();
        text.selectNodeContents(one);
        return text.getClientRects().length;
    }"""
    assert count.evaluate(lines) == 1


def test_single_keys_can_be_turned_off(desk: Desking, host: Serving, window: Windows) -> None:
    """Then letters do nothing, Ctrl+Enter still sends, and it is remembered."""
    begin(host, desk)
    host.say(call("1", city="Tokyo"))
    host.say(call("2", city="Osaka"))
    page = window().page
    expect(page.locator("#rows .row")).to_have_count(2)
    page.locator("header .menu").click()
    page.locator("[data-choice=keys]").uncheck()
    page.reload()
    expect(page.locator("#sentence")).to_be_focused()
    page.keyboard.press("Escape")
    until_keys_act(page)
    for key in "jke":
        page.keyboard.press(key)
    assert page.evaluate("document.activeElement === document.body")
    expect(page.locator("[name=kind][value=result]")).to_be_checked()
    page.locator("#sentence").fill("sunny")
    page.keyboard.press("Control+Enter")
    assert json.loads(host.hear())["id"] == 1


@pytest.mark.parametrize("how", ["cut off", "refused"])
def test_a_page_without_the_stream_asks_every_few_seconds(
    desk: Desking, host: Serving, window: Windows, how: str
) -> None:
    """It says so, shows what arrives, and is live again by itself."""
    begin(host, desk)
    page = window().page
    page.clock.install()
    stream = "**/api/events*"
    let_pass = routed(
        page, stream, lambda one: one.abort() if how == "cut off" else one.fulfill(status=503)
    )
    page.reload()
    expect(page.locator("#live")).to_have_attribute("data-how", "polling")
    host.say(call("1"))
    page.clock.fast_forward(11_000)
    expect(page.locator("#rows .row")).to_have_count(1)
    let_pass()
    page.clock.fast_forward(11_000)
    expect(page.locator("#live")).to_have_attribute("data-how", "live")
    host.say(call("2"))
    expect(page.locator("#rows .row")).to_have_count(2)


def test_a_stream_that_something_keeps_back_is_noticed(
    desk: Desking, host: Serving, window: Windows
) -> None:
    """Not a byte, as behind a proxy that waits for the end; the page asks."""
    begin(host, desk)
    page = window().page
    page.clock.install()
    stream = "**/api/events*"
    let_pass = routed(page, stream, lambda _one: None)  # neither an answer nor an end
    page.reload()
    host.say(call("1"))
    page.clock.fast_forward(11_000)
    expect(page.locator("#live")).to_have_attribute("data-how", "polling")
    expect(page.locator("#rows .row")).to_have_count(1)
    let_pass()
    page.clock.fast_forward(11_000)
    expect(page.locator("#live")).to_have_attribute("data-how", "live")


def test_eight_tabs_share_one_stream(desk: Desking, host: Serving, window: Windows) -> None:
    """All update; when the one with the stream closes, another takes over."""
    begin(host, desk)
    shown = window()
    tabs = [shown.page] + [shown.new_page() for _ in range(7)]
    for tab in tabs[1:]:
        tab.goto(desk.facts.address)
    host.say(call("1"))
    for tab in tabs:
        expect(tab.locator("#rows .row")).to_have_count(1)
    assert desk.get("/api/state")["streams"] <= 2
    tabs[0].close()
    host.say(call("2"))
    for tab in tabs[1:]:
        expect(tab.locator("#rows .row")).to_have_count(2)
    until(lambda: desk.get("/api/state")["streams"] == 1 or None, "one stream is left")
