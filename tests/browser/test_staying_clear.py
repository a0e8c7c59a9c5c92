"""What keeps a person from stopping to think: why Send is blocked, what became of what is open."""

import re
from pathlib import Path

import pytest
from playwright.sync_api import Route, expect

from humanmcp.inbox.contract import SessionFacts
from humanmcp.inbox.folder import FolderInbox
from tests.browser.seats import (
    PHONE,
    Opened,
    Windows,
    begin,
    boxes_of,
    call,
    request,
    until_keys_act,
)
from tests.browser.test_answering import read_json, write_json
from tests.support.desk_process import Desking
from tests.support.serve_process import Serving
from tests.support.waiting import until

pytestmark = pytest.mark.browser


def test_why_send_is_blocked_stands_beside_it(opened: Opened) -> None:
    """With its fix, where the list of problems is below the fold."""
    page = opened(request("tools/list", None, "1"), viewport={"width": 1280, "height": 480})
    page.locator("#tab-json").click()
    whole = until(
        lambda: re.fullmatch(r"\{.*\}", read_json(page), re.DOTALL), "every line is drawn"
    )
    write_json(page, whole[0].replace('"id": 1,', '"id": "1",') + "\n" * 40)
    page.keyboard.press("Control+Home")
    first = page.locator("#first-problem")
    expect(first).to_be_in_viewport()
    expect(first).to_contain_text("id")
    first.locator("button.fix").click()
    until(lambda: '"id": 1,' in read_json(page), "the id is fixed")
    expect(first).to_be_hidden()


@pytest.mark.parametrize(("width", "height", "room"), [(390, 844, 160), (1440, 900, 130)])
def test_what_blocks_send_leaves_room_for_the_box(  # noqa: PLR0917 - fixtures and sizes
    desk: Desking, host: Serving, window: Windows, width: int, height: int, room: int
) -> None:
    """The sentence takes two lines at most beside its fix; a press on it leads to the list."""
    begin(host, desk)
    host.say(call("7", city="Tokyo"))
    size = {"width": width, "height": height}
    page = window(viewport=size, has_touch=width < 400, is_mobile=width < 400).page
    page.locator("#rows a").first.click()
    page.locator("#tab-json").click()
    write_json(page, '{"jsonrpc": "2.0", "id": "7", "result": {"content": []}}' + "\n" * 60)
    page.evaluate("scrollTo(0, 0)")
    first = page.locator("#first-problem")
    expect(first.locator("button.fix")).to_be_in_viewport()
    (bar,) = boxes_of(page.locator(".composer > .actions"))
    assert bar["height"] <= room
    first.get_by_role("link").press("Enter")  # it goes as soon as the list is in view
    expect(page.locator("#problems .problem").first).to_be_in_viewport()


def test_what_blocks_send_is_said_once_where_its_field_is_in_view(
    desk: Desking, host: Serving, window: Windows
) -> None:
    """Beside Send it is told again only where the field is out of sight."""
    begin(host, desk)
    host.say(call("7", city="Tokyo"))
    page = window(viewport={"width": 390, "height": 440}, has_touch=True, is_mobile=True).page
    page.locator("#rows a").first.click()
    page.locator(".kinds").get_by_text("Protocol error").click()
    page.locator("[data-pointer='/error/code']").fill("many")
    beside, at_field = page.locator("#first-problem"), page.locator(".at-field.error")
    expect(at_field).to_have_count(1)
    page.evaluate("scrollTo(0, 0)")
    expect(at_field).not_to_be_in_viewport()
    expect(beside).to_be_visible()
    at_field.evaluate("one => one.scrollIntoView({ block: 'center' })")
    expect(at_field).to_be_in_viewport()
    expect(beside).to_be_hidden()


def test_the_keys_are_listed_from_the_first_on_where_the_window_is_small(
    desk: Desking, host: Serving, window: Windows
) -> None:
    """The button below them does not draw the list to its end."""
    begin(host, desk)
    page = window(viewport={"width": 640, "height": 400}).page
    page.locator("header .menu").click()
    page.locator("#show-keys").click()
    expect(page.locator("#keys-title")).to_be_in_viewport()


def test_what_was_answered_elsewhere_shows_its_answer_and_the_next(
    desk: Desking, host: Serving, window: Windows
) -> None:
    """No dead form stays, the picture has the answer, and the next request opens by itself."""
    begin(host, desk)
    host.say(call("7", city="Tokyo"))
    page = window().page
    expect(page.locator(".scripted .asked")).to_contain_text("Tokyo")
    one = desk.get("/api/exchanges")["waiting"][0]
    path = f"/api/exchanges/{one['session']}/{one['number']}/reply"
    desk.post(path, {"text": "sunny", "form": "text"})
    expect(page.locator("#sent-line")).to_contain_text("sunny")
    expect(page.locator("#send")).to_have_count(0)
    expect(page.locator(".sequence .result")).to_have_count(2)
    expect(page.locator(".banner.answered")).to_contain_text("by you")
    host.say(call("8", city="Osaka"))
    expect(page.locator(".asked")).to_contain_text("Osaka")
    expect(page.locator("#send")).to_be_visible()


def test_nothing_is_to_be_fixed_in_a_text_whose_request_is_over(
    host: Serving, opened: Opened
) -> None:
    """The banner says that it cannot be delivered; no change of it would help."""
    page = opened(call(), locale="en-US")
    held: list[Route] = []
    page.route("**/check", lambda route: held.append(route))  # noqa: PLW0108 - Playwright marks it
    page.locator("#sentence").fill("sunny")
    until(lambda: page.evaluate("true") and held, "it is checked")
    host.stdin.close()
    expect(page.locator("#copy")).to_be_visible()
    for route in held:
        with page.expect_response("**/check") as told:
            route.continue_()
        told.value.finished()
    page.evaluate("new Promise(requestAnimationFrame)")
    assert page.locator("#found").inner_text() == ""
    expect(page.locator("#problems .problem")).to_have_count(0)


def test_a_replaced_text_stays_in_the_folder(desk: Desking, opened: Opened) -> None:
    """Also where the browser is closed before Undo."""
    page = opened(call("1", city="Tokyo"))
    page.locator("#sentence").fill("a careful answer")
    page.locator("button.more").click()
    page.locator("#template").click()
    expect(page.locator("#saved-at")).to_have_text("Draft saved")

    def is_kept() -> bool:
        kept = desk.home.glob("sessions/*/**/kept-*.json")
        return any("a careful answer" in one.read_text(encoding="utf-8") for one in kept)

    # "Draft saved" may still be of the text before.
    until(lambda: page.evaluate("true") and is_kept(), "the replaced text is kept")


def test_a_disabled_view_says_why(opened: Opened) -> None:
    """Form without a form and Text without a text have their reason.

    What opens first is a setting.
    """
    page = opened('{"jsonrpc":"2.0","id":"own","method":"example/own"}')
    expect(page.locator("#tab-form")).to_have_attribute(
        "title", "There is no form for this answer. Write it as JSON."
    )
    expect(page.locator("#tab-text")).to_be_enabled()
    expect(page.locator("#tab-text")).to_have_attribute("title", "")
    expect(page.locator("#tab-text")).to_have_attribute("aria-selected", "true")
    at = page.url
    page.locator("header .menu").click()
    page.get_by_role("link", name="All settings").click()
    page.get_by_role("button", name="JSON").click()
    expect(page.get_by_role("button", name="JSON")).to_have_attribute("aria-pressed", "true")
    page.goto(at)
    expect(page.locator("#tab-json")).to_have_attribute("aria-selected", "true")


def test_of_many_sessions_one_is_found_by_keys(home: Path, desk: Desking, window: Windows) -> None:
    """S opens the menu, typing leaves what fits, Enter opens the first; Esc closes it."""
    inbox = FolderInbox(home)
    clients = [f"agent {one}" for one in range(8)]
    facts = [SessionFacts("", "2026-11-20T18:00:00.000Z", client=one) for one in clients]
    names = [inbox.begin_session(one) for one in facts]
    until(lambda: len(desk.get("/api/sessions")["sessions"]) == len(names) or None, "all are seen")
    page = window().goto("/")
    menu = page.locator("#finding")
    until_keys_act(page)
    page.keyboard.press("s")
    page.keyboard.type("AGENT 3")
    expect(page.locator("#all-sessions li:visible")).to_have_text(["D agent 3 18:00"])
    page.keyboard.press("Escape")
    expect(menu).to_be_hidden()
    expect(page.locator("button.finding")).to_be_focused()
    page.keyboard.press("Enter")
    page.keyboard.press("Control+a")
    page.keyboard.type("d")
    page.keyboard.press("Enter")
    page.wait_for_url(lambda url: url.endswith(f"?session={names[3]}"))
    expect(page.locator(".sessions [aria-current]").first).to_have_text("D agent 3")
    inbox.begin_session(SessionFacts("", "2026-11-20T18:00:00.000Z", client="agent 8"))
    expect(page.locator("button.finding b")).to_have_text("9")  # its list came without the menu
    page.keyboard.press("Escape")
    page.locator("button.finding").click()
    expect(page.locator("#all-sessions li:visible")).to_have_count(9)
    page.goto(page.url.partition("?")[0] + "?find=nobody")  # as a browser without scripts asks
    expect(menu.get_by_role("status")).to_have_text("No sessions found.")


def test_a_box_below_the_fold_comes_no_further_up_than_it_must(
    desk: Desking, host: Serving, window: Windows
) -> None:
    """The focus scrolled what was asked out of the window: the model saw no question."""
    begin(host, desk)
    opened = window(viewport={"width": 1280, "height": 640})
    opened.context.add_cookies([{"name": "view", "value": "form", "url": desk.facts.address}])
    page = opened.goto("/")
    host.say(call("7", **{f"part {number}": "sunny" for number in range(20)}))
    field = page.locator("#form-fields textarea").first
    expect(field).to_be_focused()
    expect(field).to_be_in_viewport(ratio=1)
    box, bar = boxes_of(field, page.locator("#send"))
    assert 0 <= bar["y"] - box["y"] - box["height"] < 60


@pytest.mark.parametrize("view", ["desk", "focus", "phone"])
def test_messages_about_the_page_cover_nothing_of_what_is_open(opened: Opened, view: str) -> None:
    """The last two lie over the list; where there is none, the last one over the bar."""
    page = opened(call("1", city="Tokyo"), **(PHONE if view == "phone" else {}))
    if view == "focus":
        page.get_by_role("button", name="Focus view").click()
        expect(page.locator("body.quiet")).to_have_count(1)
    elif view == "phone":
        page.locator("#rows .row > a").tap()
        page.wait_for_url("**/m/**")
    until_keys_act(page)
    page.evaluate(
        """async () => {
            const loaded = performance.getEntriesByType("resource").map((one) => one.name);
            const { tell } = await import(loaded.find((one) => one.endsWith("/words.js")));
            for (const code of ["copied", "ordered", "stored"]) tell(code);
        }"""
    )
    expect(page.locator("#said p")).to_have_count(2)
    expect(page.locator("#said p:visible")).to_have_count(2 if view == "desk" else 1)
    bar, card, said = boxes_of(page.locator(".bar"), page.locator("article"), page.locator("#said"))
    if view == "desk":
        assert said["x"] + said["width"] <= card["x"]
    else:
        assert said["y"] + said["height"] <= bar["height"]


def test_on_a_phone_the_place_of_a_problem_is_marked_in_the_text(opened: Opened) -> None:
    """What is marked is a copy below the area: laid out alike, gone while somebody types."""
    page = opened(call("7", city="Tokyo"), **PHONE)
    page.locator("#rows .row > a").tap()
    page.locator("#tab-json").tap()
    rows = "\n".join('["' + "日本 ab " * n + '"],' for n in range(40))
    text = f'{{"jsonrpc": "2.0", "id": "7",\n"result": {{"a": [{rows}\n0], "content": []}}}}'
    write_json(page, text)
    marks = page.locator("#under mark")
    expect(marks.first).to_have_text('"7"')
    area, under = (
        page.locator(one).evaluate("one => [one.scrollHeight, one.clientWidth]")
        for one in ("#document", "#under")
    )
    assert area == under
    page.locator("#document").evaluate("one => { one.scrollTop = 90; }")
    until(lambda: page.locator("#under").evaluate("one => one.scrollTop") == 90, "it follows")
    page.locator("#problems button.place").first.tap()
    until(lambda: page.locator("#under").evaluate("one => one.scrollTop") == 0, "the place is seen")
    page.keyboard.type("8")  # over the place
    expect(page.locator("#document")).to_have_value(text.replace('"7"', "8"))
    expect(marks.first).to_have_text("8")


def test_where_the_scripts_do_not_come_the_plain_form_does(opened: Opened) -> None:
    """While they are on their way it only keeps their place: nobody sees two forms in turn."""
    page = opened(call("7", city="Tokyo"))
    page.route("**/desk.js", lambda route: route.abort())
    page.reload()
    form = page.locator(".plain-composer")
    seen = form.evaluate(
        """one => {
            const [wait] = one.getAnimations();
            wait.currentTime = 0;
            const before = getComputedStyle(one).visibility;
            wait.finish();
            return [before, getComputedStyle(one).visibility];
        }"""
    )
    assert seen == ["hidden", "visible"]
    expect(form.get_by_role("button")).to_be_visible()
