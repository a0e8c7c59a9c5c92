"""What was said, on the page: the history, the recent lines, the picture, the projector."""

import json
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.browser.seats import Windows, begin, call, request
from tests.support.desk_process import Desking
from tests.support.serve_process import Serving
from tests.support.tap_process import Tapped, server
from tests.support.waiting import until

pytestmark = pytest.mark.browser

PROGRESS = (
    '{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":7,"progress":%d}}'
)


def test_progress_drowns_neither_projector_nor_list(
    desk: Desking, host: Serving, window: Windows
) -> None:
    """While our progress goes out, the call stays on the wall, and the list has no line more."""
    begin(host, desk)
    params = {"name": "dice", "arguments": {"sides": 6}, "_meta": {"progressToken": 7}}
    host.say(request("tools/call", params, "7"))
    name = until(host.find_session, "a session").name
    wall = window().goto("/present")
    expect(wall.locator("h1")).to_contain_text("dice")
    page = window().page
    expect(page.locator("#recent .step")).to_have_count(4)
    for number in range(1, 10):
        desk.post(f"/api/sessions/{name}/say", {"text": PROGRESS % number})
    expect(wall.locator(".sequence .notification").last).to_contain_text(
        "progress \N{MULTIPLICATION SIGN}9, 0:0"
    )
    expect(wall.locator("h1")).to_contain_text("dice")
    expect(page.locator("#recent .step")).to_have_count(4)
    past = window().goto("/history")
    expect(past.locator("#lines .step").first).to_contain_text(
        "progress \N{MULTIPLICATION SIGN}9, 0:0"
    )


def test_the_history_is_live_newest_first_and_has_dates(
    home: Path, desk: Desking, host: Serving, window: Windows
) -> None:
    """What two hosts say in turn is read in turn, without a reload, under its day."""
    begin(host, desk)
    with Serving(home, "--by-hand") as other:
        page = window().goto("/history")
        expect(page.locator("#lines .step")).to_have_count(2)  # the handshake, and its notice
        for at, one in enumerate((host, other, host)):
            one.send(request("tools/list", None, str(20 + at)))
            expect(page.locator("#lines .step")).to_have_count(3 + at)
        badges = page.locator("#lines .step .badge").all_inner_texts()
        assert badges[0] == badges[2] != badges[1]
        expect(page.locator("#lines h2")).to_have_text(page.locator("time").first.inner_text())
        assert desk.get("/api/history")["lines"][0]["at"].startswith(
            page.locator("#lines h2").inner_text()
        )


def test_a_search_that_found_nothing_yet_says_so(window: Windows) -> None:
    """The rule: "No matches" is said where there is nothing."""
    page = window().goto("/history?q=nowhere")
    expect(page.locator("#lines")).to_contain_text("No matches.")
    expect(page.get_by_role("link", name="Search further back")).to_have_count(0)


def test_the_picture_of_a_tap_names_client_and_server(
    home: Path, desk: Desking, window: Windows
) -> None:
    """At a tap nobody is "you"."""
    with Tapped(home, server("echo"), "--hold", "in") as tapped:
        tapped.say(call("1").encode() + b"\n")
        page = window().page
        expect(page.locator(".sequence .who")).to_have_text(["client", "server"])
        expect(page.locator("#recent .step .hidden").first).to_have_text("from the client: ")


def test_the_projector_chooses_a_session_and_names_each_answer(
    home: Path, desk: Desking, host: Serving, window: Windows
) -> None:
    """An older session can be followed, and an answer says what it answers."""
    begin(host, desk)
    host.say(request("tools/list", None, "1"))
    waiting = until(lambda: desk.get("/api/exchanges")["waiting"], "the list waits")
    path = f"/api/exchanges/{waiting[0]['session']}/{waiting[0]['number']}/reply"
    desk.post(path, {"text": '{"tools":[]}', "form": "result"})
    assert json.loads(host.hear())["id"] == 1
    with Serving(home, "--by-hand", "--title", "Younger") as other:
        other.send(request("ping", None, "1"))
        until(lambda: len(desk.get("/api/exchanges")["waiting"]) or None, "the ping waits")
        wall = window().goto("/present")
        expect(wall.locator(".pager .sessions [aria-current]")).to_contain_text("Younger")
        wall.get_by_role("link", name="test-host").click()
        expect(wall.locator("h1")).to_have_text("Result: tools/list")
        expect(wall.locator(".meaning .what")).to_contain_text("id of its request")
        host.send(call("5", city="Nagoya"))
        expect(wall.locator("h1")).to_contain_text("get_forecast")


def test_a_row_opens_in_place_stays_open_and_new_ones_are_counted(
    desk: Desking, host: Serving, window: Windows
) -> None:
    """What somebody reads is not taken away; chips fill the search; two answers are compared."""
    begin(host, desk)
    for number in ("5", "6"):
        host.say(call(number, city="Nagoya"))
        waiting = until(lambda: desk.get("/api/exchanges")["waiting"], "the call waits")
        path = f"/api/exchanges/{waiting[0]['session']}/{waiting[0]['number']}/reply"
        desk.post(path, {"text": f"answer {number}", "form": "text"})
        host.hear()
    page = window().goto("/history")
    row = page.locator("#lines .pair").first
    row.locator("summary").click()
    expect(row.locator("pre").nth(1)).to_contain_text("answer 6")
    host.say(request("tools/list", None, "9"))
    expect(page.locator("#newer")).to_have_text("1 new line")
    expect(row).to_have_attribute("open", "")
    row.get_by_role("link", name="Compare with the previous call").click()
    expect(page.locator(".difference .gone").nth(1)).to_contain_text("answer 5")
    page.go_back()
    page.get_by_role("link", name="method:tools/call").click()
    expect(page.locator("#search")).to_have_value("method:tools/call")
    expect(page.locator("#lines .pair.answered")).to_have_count(2)
