"""A definition is made without JSON, published while a session runs, and the host watched."""

import json
from pathlib import Path

import pytest
from playwright.sync_api import Route, expect

from humanmcp.common.book_file import read_book
from tests.browser.seats import Opened, Windows, begin, request, routed
from tests.support.desk_process import Desking
from tests.support.serve_process import Serving
from tests.support.verdicts import stating
from tests.support.waiting import until

pytestmark = [pytest.mark.browser, pytest.mark.extension("books")]

LONG_AFTER = 1000
"""Milliseconds, more than a browser waits with what was typed before it tells the desk."""


def test_a_tool_with_an_argument_is_made_by_keys_and_no_json(host: Serving, opened: Opened) -> None:
    """From the waiting `tools/list` to its answer: names, what they mean, two chords."""
    page = opened(request("tools/list", token="8"))
    page.locator("#design").click()
    page.wait_for_url("**/server/entry?*")
    page.locator("main [name=name]:focus").fill("forecast")
    page.locator("[name=description]").fill("The weather")
    page.locator("[name='in name 0']").fill("place.city")
    page.locator("[name='in needed 0']").check()
    page.locator("[name='in about 0']").fill("Where")
    expect(page.locator("#seen")).to_contain_text("forecast")
    page.keyboard.press("Control+Enter")
    page.locator("#sentence, #form-fields").first.wait_for(state="attached")
    page.wait_for_url(lambda url: url.endswith("#answer"))
    page.keyboard.press("Control+Enter")
    sent = json.loads(host.hear())["result"]["tools"]
    assert sent[-1] == {
        "name": "forecast",
        "description": "The weather",
        "inputSchema": {
            "type": "object",
            "properties": {
                "place": {
                    "type": "object",
                    "properties": {"city": {"type": "string", "description": "Where"}},
                    "required": ["city"],
                }
            },
        },
    }


def test_a_published_tool_is_told_and_the_host_watched(
    desk: Desking, host: Serving, window: Windows
) -> None:
    """`list_changed` goes out, and the page says live when the host has listed again."""
    begin(host, desk)
    (session,) = desk.get("/api/sessions")["sessions"]
    page = window().goto(f"server/entry?session={session['name']}")
    page.locator("main [name=name]").fill("forecast")
    page.locator("button[value=keep]").click()
    assert json.loads(host.hear())["method"] == "notifications/tools/list_changed"
    expect(page.locator("#told")).to_contain_text("has not sent tools/list again")
    host.say(request("tools/list", token="9"))
    expect(page.locator("#told")).to_contain_text("The client sent tools/list again after")
    book = read_book(desk.home / "book.toml")
    assert [one["name"] for one in book.tools] == ["ask_human", "forecast"]
    (waiting,) = desk.get("/api/exchanges")["waiting"]
    draft = desk.get(f"/api/exchanges/{waiting['session']}/{waiting['number']}")["document"]
    assert [one["name"] for one in json.loads(draft)["result"]["tools"]] == [
        "ask_human",
        "forecast",
    ]


def test_a_subscription_of_2026_07_28_is_told_and_the_client_watched(
    home: Path, desk: Desking, window: Windows
) -> None:
    """The notice belongs to the subscription; the verdict is that of every other client."""
    listen = {"notifications": {"toolsListChanged": True}, "_meta": stating()}
    with Serving(home) as host:
        host.say(request("subscriptions/listen", listen, '"s"'))
        assert json.loads(host.hear())["method"] == "notifications/subscriptions/acknowledged"
        (session,) = until(lambda: desk.get("/api/sessions")["sessions"], "the desk has seen it")
        page = window().goto(f"server/entry?session={session['name']}")
        page.locator("main [name=name]").fill("forecast")
        page.locator("button[value=keep]").click()
        told = json.loads(host.hear())
        assert told["method"] == "notifications/tools/list_changed"
        assert list(told["params"]["_meta"].values()) == ["s"]
        expect(page.locator("#told")).to_contain_text("has not sent tools/list again")
        host.say(request("tools/list", {"_meta": stating()}, "9"))
        expect(page.locator("#told")).to_contain_text("The client sent tools/list again after")


def test_what_is_typed_in_the_designer_comes_back_without_the_desk(opened: Opened) -> None:
    """The desk does not draw the form again: what it had at first is filled in."""
    page = opened(request("tools/list", token="9"))
    page.locator("#design").click()
    page.wait_for_url("**/server/entry?*")
    page.locator("main [name=name]").fill("forecast")
    expect(page.locator(".saved-at")).not_to_be_empty()
    let_pass = routed(page, "**/server/entry", lambda route: route.abort())
    page.reload()
    expect(page.locator("main [name=name]")).to_have_value("forecast")
    let_pass()


def test_the_desk_is_not_told_of_a_form_before_it_has_what_was_typed(opened: Opened) -> None:
    """A slow desk draws a form again later than the browser saves what it has."""
    page = opened(request("tools/list", token="10"))
    page.locator("#design").click()
    page.wait_for_url("**/server/entry?*")
    told: list[str] = []
    held: list[Route] = []

    def tell(route: Route) -> None:
        draft = json.loads(route.request.post_data or "")
        told.append(draft["fields"]["name"])
        route.abort()

    page.route("**/api/drafts?*", tell)
    page.clock.install()
    page.reload()
    name = page.locator("main [name=name]")
    name.fill("forecast")
    page.route("**/server/entry", lambda route: held.append(route))  # noqa: PLW0108 - Playwright marks it
    with page.expect_request("**/server/entry"):
        page.reload()
    page.clock.run_for(LONG_AFTER)
    held.pop().continue_()
    expect(page.locator("#restored")).to_be_visible()
    expect(name).to_have_value("forecast")
    before = len(told)
    page.clock.run_for(LONG_AFTER)
    until(lambda: page.evaluate("1") and len(told) > before, "the desk is told")
    assert set(told) == {"forecast"}


def test_a_form_starts_over_while_it_is_being_saved(opened: Opened) -> None:
    """The desk says that it has saved it after the person has dropped it."""
    page = opened(request("tools/list", token="11"))
    page.locator("#design").click()
    page.wait_for_url("**/server/entry?*")
    name, held = page.locator("main [name=name]"), list[Route]()
    name.fill("forecast")
    expect(page.locator(".saved-at")).not_to_be_empty()
    page.reload()
    expect(name).to_have_value("forecast")

    routed(page, "**/api/drafts?*", held.append, once=True)
    with page.expect_request("**/api/drafts?*"):
        name.fill("weather")
    again = page.get_by_role("button", name="Start over")
    again.click()
    with page.expect_navigation():
        held[0].continue_()
    expect(name).to_have_value("")
    expect(again).to_be_hidden()


def test_what_is_typed_in_the_designer_comes_back(opened: Opened) -> None:
    """After another page, Back, a reload and another row; until it is put into the answer."""
    page = opened(request("tools/list", token="8"))
    page.locator("#design").click()
    page.wait_for_url("**/server/entry?*")
    designer = page.url
    name, second = page.locator("main [name=name]"), page.locator("[name='in name 2']")
    name.fill("forecast")
    for at in (0, 1):
        page.locator(f"[name='in name {at}']").fill(f"place_{at}")
    page.get_by_role("button", name="Add a row").click()
    second.fill("city")
    page.locator("header .places a").first.click()
    page.goto(designer)
    expect(name).to_have_value("forecast")
    expect(second).to_have_value("city")
    expect(page.locator("#restored")).to_be_visible()
    name.fill("weather")
    page.goto(designer.partition("/server")[0] + "/history")
    page.go_back()
    expect(name).to_have_value("weather")
    page.locator("form.asking .primary").click()
    page.wait_for_url(lambda url: url.endswith("#answer"))
    page.goto(designer)
    expect(name).to_have_value("")
    page.go_back()
    page.go_forward()
    name.fill("second")
    page.reload()
    expect(name).to_have_value("second")
    page.get_by_role("button", name="Start over").click()
    expect(name).to_have_value("")


def test_what_is_typed_while_the_desk_saves_comes_back(opened: Opened) -> None:
    """The desk saves it later than that was typed, but it is older."""
    page = opened(request("tools/list", token="8"))
    page.locator("#design").click()
    page.wait_for_url("**/server/entry?*")
    name, held = page.locator("main [name=name]"), list[Route]()
    page.route("**/api/drafts?*", lambda route: route.abort())
    routed(page, "**/api/drafts?*", held.append, once=True)
    with page.expect_request("**/api/drafts?*"):
        name.fill("fore")
    name.fill("forecast")
    with page.expect_response("**/api/drafts?*"):
        held.pop().continue_()
    page.reload()
    expect(name).to_have_value("forecast")


def test_nobody_types_into_a_form_before_it_is_whole(opened: Opened) -> None:
    """The desk draws again what was kept; what was typed meanwhile was written over by it."""
    page = opened(request("tools/list", token="8"))
    page.locator("#design").click()
    page.wait_for_url("**/server/entry?*")
    designer, name = page.url, page.locator("main [name=name]")
    name.fill("forecast")
    held: list[Route] = []
    page.route("**/server/entry", lambda route: held.append(route))  # noqa: PLW0108 - Playwright marks it
    with page.expect_request("**/server/entry"):
        page.goto(designer)
    expect(name).to_be_hidden()
    held.pop().continue_()
    expect(name).to_have_value("forecast")
    expect(name).to_be_focused()
    with page.expect_request("**/server/entry"):
        page.reload()
    expect(name).to_be_hidden()
    held.pop().abort()
    expect(name).to_be_visible()
