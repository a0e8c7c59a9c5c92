"""Add a fault in the page: by keyboard, put back, sent."""

import json

import pytest
from playwright.sync_api import Page, Route, expect

from tests.browser.seats import Opened, boxes_of, call, open_menu, until_keys_act
from tests.browser.test_answering import read_json
from tests.browser.test_page import AXE, violations
from tests.support.desk_process import Desking
from tests.support.serve_process import Serving
from tests.support.waiting import until

pytestmark = pytest.mark.browser


def add_fault(page: Page, fault: str) -> None:
    """Choose a fault with the mouse."""
    open_menu(page)
    page.locator("#add-fault").click()
    button = page.locator(f"#fault-dialog button[value={fault}]")
    title = button.inner_text()
    button.click()
    expect(page.locator("#fault-name")).to_have_text(title)


def test_an_answer_gets_a_fault_and_is_sent_by_keyboard_alone(
    desk: Desking, host: Serving, opened: Opened
) -> None:
    """B, a line of the menu, Ctrl+Enter, asked once; recorded as deliberate."""
    page = opened(call("7", city="Tokyo"))
    expect(page.locator("#sentence")).to_be_focused()
    page.keyboard.type("sunny")
    page.keyboard.press("Escape")
    until_keys_act(page)
    page.keyboard.press("b")
    expect(page.locator("#fault-dialog button").first).to_be_focused()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    expect(page.locator("#added-fault")).to_contain_text("Id as text")
    expect(page.locator("#added-fault")).to_contain_text("A good host:")
    assert '"id": "7"' in read_json(page)
    page.keyboard.press("Control+Enter")
    expect(page.locator("#anyway-dialog")).to_be_visible()
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    answer = json.loads(host.hear())
    assert (answer["id"], answer["result"]["content"][0]["text"]) == ("7", "sunny")
    expect(page.locator(".sent")).to_be_visible()
    name = until(host.find_session, "a session").name
    assert desk.get(f"/api/exchanges/{name}/2")["answer"]["deliberate"] is True


def test_one_click_puts_back_what_was_there(host: Serving, opened: Opened) -> None:
    """Also after a second fault and a reload: the view and the words of before."""
    page = opened(call())
    page.locator("#sentence").fill("sunny, 23 °C")
    add_fault(page, "cut-in-half")
    add_fault(page, "log-line")
    assert read_json(page) == "Server started on stdio"
    expect(page.locator("#saved-at")).to_contain_text("saved")
    page.reload()
    expect(page.locator("#added-fault")).to_contain_text("A log line instead")
    page.locator("#remove-fault").click()
    expect(page.locator("#added-fault")).to_be_hidden()
    expect(page.locator("#sentence")).to_have_value("sunny, 23 °C")
    page.locator("#send").click()
    assert json.loads(host.hear())["result"]["content"][0]["text"] == "sunny, 23 °C"


def test_a_fault_of_an_answer_that_was_not_written_yet_is_the_only_one(opened: Opened) -> None:
    """A tester need not think of words first. Another answer removes the fault."""
    page = opened(call())
    add_fault(page, "unknown-field")
    expect(page.locator("#problems .problem.error")).to_have_count(1)
    open_menu(page)
    page.locator("#template").click()
    expect(page.locator("#added-fault")).to_be_hidden()
    expect(page.locator("#sentence")).to_have_value("")


def test_a_wrong_answer_that_is_kept_open_is_followed_by_the_right_one(
    host: Serving, opened: Opened
) -> None:
    """The button writes the line, and the same page then sends the right answer."""
    page = opened(call())
    page.locator("#sentence").fill("sunny")
    add_fault(page, "wrong-id")
    open_menu(page)
    page.locator("#keep-open").click()
    assert '"id":1000007' in host.hear()
    page.locator("#remove-fault").click()
    expect(page.locator("#sentence")).to_have_value("sunny")
    expect(page.locator("#send")).to_be_enabled()
    page.locator("#send").click()
    right = json.loads(host.hear())
    assert (right["id"], right["result"]["content"][0]["text"]) == (7, "sunny")
    assert host.close()[1] == []


def test_nothing_is_sent_between_the_choice_and_the_fault(host: Serving, opened: Opened) -> None:
    """Ctrl+Enter at once sent the right answer, and a tester believed it was wrong."""
    page = opened(call())
    page.locator("#sentence").fill("sunny")
    held: list[Route] = []
    page.route("**/fault", lambda route: held.append(route))  # noqa: PLW0108 - Playwright marks it
    open_menu(page)
    page.locator("#add-fault").click()
    with page.expect_request("**/fault"):
        page.locator("#fault-dialog button[value=wrong-id]").click()
    page.keyboard.press("Control+Enter")
    held[0].continue_()
    expect(page.locator("#added-fault")).to_contain_text("Wrong id")
    page.locator("#anyway").click()
    page.locator("#anyway-dialog button[value=yes]").click()
    assert '"id":1000007' in host.hear()


@pytest.mark.skipif(not AXE.exists(), reason="axe-core is not installed: run `make test`")
@pytest.mark.parametrize(("scheme", "locale"), [("light", "ja-JP"), ("dark", "en-US")])
def test_axe_finds_nothing_where_a_fault_is_added(scheme: str, locale: str, opened: Opened) -> None:
    """The menu and the banner, in both languages and themes."""
    page = opened(call(), color_scheme=scheme, locale=locale)
    open_menu(page)
    found = violations(page)
    page.locator("#add-fault").click()
    found += violations(page)
    page.locator("#fault-dialog button[value=cut-in-half]").click()
    expect(page.locator("#problems .problem.error").first).to_be_visible()
    found += violations(page)
    assert found == []


@pytest.mark.parametrize(("width", "height"), [(320, 640), (390, 844), (640, 400)])
def test_the_menus_fit_on_a_small_screen(
    desk: Desking, host: Serving, width: int, height: int, opened: Opened
) -> None:
    """More and the faults can be reached whole, and nothing scrolls sideways."""
    page = opened(call(), viewport={"width": width, "height": height}, has_touch=True)
    name = until(host.find_session, "a session").name
    page.goto(f"{desk.facts.address}m/{name}/2")
    open_menu(page)
    panel, bar = boxes_of(page.locator("#more"), page.locator("header.bar"))
    assert panel["y"] >= bar["height"]
    assert panel["y"] + panel["height"] <= height
    page.locator("#add-fault").click()
    (dialog,) = boxes_of(page.locator("#fault-dialog"))
    assert dialog["y"] >= 0
    assert dialog["y"] + dialog["height"] <= height
    page.locator("#fault-dialog button").last.scroll_into_view_if_needed()
    expect(page.locator("#fault-dialog button").last).to_be_in_viewport()
    assert page.evaluate("document.documentElement.scrollWidth") <= width
