"""From one answer to the next: where the cursor goes, and what it must not do on the way."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from tests.browser.seats import INITIALIZE, Window, begin, call, request
from tests.browser.test_answering import read_json
from tests.waiting import until

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.desk.desking import Desking
    from tests.serving import Serving

    Windows = Callable[..., Window]

pytestmark = pytest.mark.browser


def test_ten_calls_in_a_row_are_ten_sentences_and_ten_keys(
    desk: Desking, host: Serving, window: Windows
) -> None:
    """Issue 3, U17: type, Ctrl+Enter, and again; nothing in between, and no answer goes astray."""
    begin(host, desk)
    for number in range(1, 11):
        host.say(call(str(number), city=f"City {number}"))
    page = window().page
    for number in range(1, 11):
        expect(page.locator(".asked")).to_contain_text(f"City {number}")
        expect(page.locator("#sentence")).to_be_focused()
        page.keyboard.type(f"sunny {number}")
        page.keyboard.press("Control+Enter")
        answer = json.loads(host.hear())
        assert answer["id"] == number
        assert answer["result"]["content"][0]["text"] == f"sunny {number}"
    expect(page.locator("#rows .row")).to_have_count(0)


def test_the_list_keeps_its_place_while_the_cursor_is_in_the_box(
    desk: Desking, host: Serving, window: Windows
) -> None:
    """U17: the next row is the current one, the box names it, and J goes on from it."""
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
    page.keyboard.press("Escape")

    def went_on() -> bool:
        page.keyboard.press("j")
        return page.locator("#rows .row > a:focus").count() == 1

    until(went_on, "single keys act again")
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
    page.evaluate(
        """() => document.dispatchEvent(new KeyboardEvent(
            "keydown", { key: "Enter", ctrlKey: true, repeat: true, bubbles: true }))"""
    )
    assert "tools" in read_json(page) or page.locator("#form-fields").is_visible()
    expect(page.locator("#send")).to_be_enabled()
    page.locator("#send").click()
    assert json.loads(host.hear())["id"] == 2
    assert host.close()[1] == []


def test_the_next_page_does_not_send_in_its_first_moment(
    desk: Desking, host: Serving, window: Windows
) -> None:
    """The same for a second press that is not a repeat, until something was written here."""
    begin(host, desk)
    host.say(call("1", city="Tokyo"))
    host.say(request("tools/list", None, "2"))
    host.say(call("3", city="Osaka"))
    shown = window()
    # The second press, as early as it can be: before the script of the next page has done anything.
    shown.page.add_init_script(
        """if (location.search.includes("sent=")) addEventListener("DOMContentLoaded",
            () => setTimeout(() => {
                document.dispatchEvent(new KeyboardEvent(
                    "keydown", { key: "Enter", ctrlKey: true, bubbles: true }));
                document.body.dataset.pressed = "yes";
            }));"""
    )
    page = shown.page
    page.locator("#sentence").fill("sunny")
    page.locator("#send").click()
    assert json.loads(host.hear())["id"] == 1
    expect(page.locator("body[data-pressed]")).to_have_count(1)
    expect(page.locator("#said")).to_contain_text("Press again to send it")
    expect(page.locator("article .ids .mono")).to_have_text("tools/list")
    page.locator("#rows .row", has_text="Osaka").locator("a").click()
    page.locator("#sentence").fill("rain")
    page.locator("#send").click()
    assert json.loads(host.hear())["id"] == 3


def test_what_arrives_takes_the_focus_from_nobody(
    desk: Desking, host: Serving, window: Windows
) -> None:
    """ux.md 1.3: the first request opens by itself, and whoever is at something stays there."""
    page = window().page
    expect(page.locator(".empty")).to_be_visible()
    settings = page.locator("header .menu summary")
    settings.focus()
    host.say(INITIALIZE)
    expect(page.locator("article.message h1")).to_be_visible()
    expect(settings).to_be_focused()


def test_on_a_phone_the_next_row_has_the_focus(
    desk: Desking, host: Serving, window: Windows
) -> None:
    """U17: there the list is what is shown, and a field would bring up the keyboard over it."""
    begin(host, desk)
    host.say(call("1", city="Tokyo"))
    host.say(call("2", city="Osaka"))
    name = until(host.find_session, "a session").name
    shown = window(viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True)
    page = shown.goto(f"/m/{name}/2")
    page.locator("#sentence").fill("sunny")
    page.locator("#send").tap()
    host.hear()
    row = page.locator("#rows .row.opened > a")
    expect(row).to_be_focused()
    expect(row).to_contain_text("Osaka")
