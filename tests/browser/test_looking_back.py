"""What was said, on the page: the history, the recent lines, the picture, the projector."""

import json
import re
import shlex
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.browser.seats import PHONE, Windows, begin, call, listed, request, until_keys_act
from tests.extensions.tap.tap_process import Tapped, server
from tests.support.desk_process import Desking
from tests.support.serve_process import Serving
from tests.support.waiting import until

pytestmark = pytest.mark.browser

ROWS = "#lines tbody tr:not(.day)"
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
    past = listed(window())
    expect(past.locator(ROWS).first).to_contain_text("progress \N{MULTIPLICATION SIGN}9, 0:0")


def test_the_history_is_live_newest_first_and_has_dates(
    home: Path, desk: Desking, host: Serving, window: Windows
) -> None:
    """What two hosts say in turn is read in turn, without a reload, under its day."""
    begin(host, desk)
    with Serving(home, "--by-hand") as other:
        page = listed(window())
        expect(page.locator(ROWS)).to_have_count(2)  # the handshake, and its notice
        for at, one in enumerate((host, other, host)):
            one.send(request("tools/list", None, str(20 + at)))
            expect(page.locator(ROWS)).to_have_count(3 + at)
        badges = page.locator(f"{ROWS} .badge").all_inner_texts()
        assert badges[0] == badges[2] != badges[1]
        expect(page.locator("#lines .day")).to_have_count(1)
        day = page.locator("#lines .day").inner_text()
        assert desk.get("/api/history")["lines"][0]["at"].startswith(day)


EXPORT = {"en-US": "Export", "ja-JP": "書き出す"}


@pytest.mark.parametrize("locale", EXPORT)
def test_the_history_of_the_only_session_can_be_exported_until_another_begins(
    home: Path, desk: Desking, host: Serving, window: Windows, locale: str
) -> None:
    """Without a search, on a phone too; afterwards it would not say which of them."""
    begin(host, desk)
    page = listed(window(**PHONE, locale=locale))
    export = page.get_by_role("link", name=EXPORT[locale])
    expect(export).to_be_in_viewport(ratio=1)
    with Serving(home, "--by-hand") as other:
        other.send(request("tools/list", None, "1"))
        expect(page.locator(ROWS)).to_have_count(3)
        expect(export).to_have_count(0)
    page.locator("#search").fill("session:A")
    export.click()
    expect(page.get_by_role("heading", name=EXPORT[locale])).to_be_visible()


def test_a_row_leaves_the_list_when_it_no_longer_matches_the_search(
    desk: Desking, host: Serving, window: Windows
) -> None:
    """Its state is another one; what is read stays, and so does the row that has the focus."""
    begin(host, desk)
    for number in (7, 8, 9):
        host.say(call(str(number), city="Nagoya"))
    page = listed(window(), "/history?q=state:waiting")
    expect(page.locator(ROWS)).to_have_count(3)
    page.locator(f"{ROWS} th a").last.focus()
    for one in desk.get("/api/exchanges")["waiting"][:2]:
        path = f"/api/exchanges/{one['session']}/{one['number']}/reply"
        assert desk.post(path, {"text": "Sunny", "form": "text"}).status == 200
    expect(page.locator(ROWS)).to_have_count(2)
    page.locator("#search").focus()
    host.say(call("10", city="Kyoto"))
    expect(page.locator(f"{ROWS} .gist")).to_have_text(['city: "Kyoto"', 'city: "Nagoya"'])
    expect(page.locator(ROWS).last).to_have_class("request waits")


def test_a_search_that_found_nothing_yet_says_so(window: Windows) -> None:
    """The rule: "No matches" is said where there is nothing."""
    page = listed(window(), "/history?q=nowhere")
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


def answer_calls(host: Serving, desk: Desking, *tokens: str) -> None:
    """Have the host call, and answer each call."""
    for token in tokens:
        host.say(call(token, city="Nagoya"))
        waiting = until(lambda: desk.get("/api/exchanges")["waiting"], "the call waits")
        path = f"/api/exchanges/{waiting[0]['session']}/{waiting[0]['number']}/reply"
        desk.post(path, {"text": f"answer {token}", "form": "text"})
        host.hear()


def test_a_message_opens_beside_the_list_and_stays_while_lines_arrive(
    desk: Desking, host: Serving, window: Windows
) -> None:
    """It is shown line by line; what arrives is counted; Back and Esc lead to the list."""
    begin(host, desk)
    answer_calls(host, desk, "5", "6")
    page = listed(window())
    row = page.locator(f"{ROWS}.answered").first
    row.locator("th a").click()
    answer = page.locator("#beside .json").nth(1)
    expect(answer).to_be_visible()
    assert answer.inner_text() == LAID_OUT
    host.say(request("tools/list", None, "9"))
    expect(page.locator("#newer")).to_have_text("1 new line")
    expect(page.locator("#lines [data-opened]")).to_have_count(1)
    answer.locator("summary", has_text="result").click()
    assert answer.inner_text() == FOLDED
    page.locator("#newer").click()
    expect(page.locator("#newer")).to_be_hidden()
    page.keyboard.press("Escape")
    expect(page.locator("#beside")).to_be_hidden()
    assert page.url.endswith("/history")
    expect(page.locator(ROWS).first).to_contain_text("tools/list")
    row = page.locator(f"{ROWS}.answered").first
    row.click()
    page.get_by_role("link", name="Compare with the previous call").last.click()
    expect(page.locator(".difference .gone").nth(1)).to_contain_text("answer 5")
    page.go_back()
    page.go_back()
    expect(page.locator(ROWS)).to_have_count(5)


LAID_OUT = """{
  "jsonrpc": "2.0",
  "id": 6,
  "result": {
    "content": [
      {
        "type": "text",
        "text": "answer 6"
      }
    ]
  }
}"""
FOLDED = """{
  "jsonrpc": "2.0",
  "id": 6,
  "result": {
}"""


def test_the_list_is_filtered_while_somebody_types_and_sorted_with_a_press(
    desk: Desking, host: Serving, window: Windows
) -> None:
    """Without Enter, and without a new page; chips fill the search; the address keeps it."""
    begin(host, desk)
    answer_calls(host, desk, "5", "6")
    page = listed(window())
    expect(page.locator(ROWS)).to_have_count(4)
    page.locator("#search").press_sequentially('"answer 5"')
    expect(page.locator(ROWS)).to_have_count(1)
    expect(page.locator("#search")).to_be_focused()
    expect(page).to_have_url(re.compile("q=%22answer"))
    page.locator("#search").fill("")
    expect(page.locator(ROWS)).to_have_count(4)
    page.locator("thead").get_by_role("link", name="Bytes").click()
    sizes = page.locator("#lines tbody .size")
    expect(page.locator("th.size")).to_have_attribute("aria-sort", "descending")
    found = [int(one) for one in sizes.all_inner_texts()]
    assert found == sorted(found, reverse=True)
    page.get_by_role("link", name="method:tools/call").click()
    expect(page.locator("#search")).to_have_value("method:tools/call")
    expect(page.locator(f"{ROWS}.answered")).to_have_count(2)


def test_one_press_copies_a_message_in_each_form(
    desk: Desking, host: Serving, window: Windows
) -> None:
    """As JSON, as its line, as curl, as the command that gives it."""
    begin(host, desk)
    answer_calls(host, desk, "5")
    opened = window(permissions=["clipboard-read", "clipboard-write"])
    page = listed(opened, "/history?q=method:tools/call")
    page.locator(f"{ROWS} th a").click()
    copied: dict[str, str] = {}
    for half in range(2):
        buttons = page.locator("#beside .copies").nth(half).get_by_role("button")
        expect(buttons.first).to_be_visible()
        for name in buttons.all_inner_texts():
            buttons.get_by_text(name, exact=True).click()
            expect(page.locator("#said p").last).to_be_visible()
            copied[f"{half} {name}"] = page.evaluate("() => navigator.clipboard.readText()")
    assert list(copied) == [
        *("0 JSON", "0 Line", "0 curl", "0 Markdown"),
        *("1 JSON", "1 Line", "1 Command", "1 Markdown"),
    ]
    line = call("5", city="Nagoya")
    assert copied["0 Line"] == line
    assert json.loads(copied["0 JSON"]) == json.loads(line)
    assert shlex.split(copied["0 curl"].replace("\\\n", ""))[-1] == line
    assert copied["1 Command"] == "humanmcp answer --text 'answer 5'"


def test_keys_lead_along_the_list_and_open_messages(
    desk: Desking, host: Serving, window: Windows
) -> None:
    """J and K move, Enter opens, and from then on moving shows the next message."""
    begin(host, desk)
    answer_calls(host, desk, "5", "6")
    page = listed(window())
    until_keys_act(page)
    for key in ("j", "j", "k"):
        page.keyboard.press(key)
    expect(page.locator(ROWS).first.locator("a")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("#beside")).to_contain_text("answer 6")
    page.keyboard.press("j")
    expect(page.locator("#beside")).to_contain_text("answer 5")
    page.keyboard.press("Escape")
    expect(page.locator(ROWS).nth(1).locator("a")).to_be_focused()
    page.keyboard.press("/")
    expect(page.locator("#search")).to_be_focused()


def test_a_phone_shows_the_list_then_the_message(
    desk: Desking, host: Serving, window: Windows
) -> None:
    """One at a time; Back leads to the same place in the list."""
    begin(host, desk)
    answer_calls(host, desk, *map(str, range(5, 15)))
    page = listed(window(**PHONE))
    row = page.locator(f"{ROWS}.answered").last
    row.scroll_into_view_if_needed()
    place = page.evaluate("() => scrollY")
    assert place > 0
    row.locator("a").tap()
    expect(page.locator("#beside")).to_be_visible()
    expect(page.locator("#lines")).to_be_hidden()
    page.go_back()
    expect(page.locator("#lines")).to_be_visible()
    assert abs(page.evaluate("() => scrollY") - place) < 2


def test_a_time_line_shows_each_exchange_and_leads_to_its_message(
    desk: Desking, host: Serving, window: Windows
) -> None:
    """Who had it when, wider with a press, and one press to the message."""
    begin(host, desk)
    answer_calls(host, desk, "5", "6")
    name = until(host.find_session, "a session").name
    page = listed(window(), f"/history?q=session:{name}")
    page.get_by_role("link", name="Time line").click()
    labels = page.locator(".bars-over-time li")
    said = ["initialize test-host 1.0", *['get_forecast city: "Nagoya"'] * 2]
    assert labels.all_inner_texts() == said
    expect(page.locator(".scrolled .person")).to_have_count(3)
    svg = page.locator(".scrolled svg")
    page.wait_for_load_state()  # the style sheet is there
    width = "one => one.getBoundingClientRect().width"
    narrow = svg.evaluate(width)
    page.get_by_label("4\N{MULTIPLICATION SIGN}", exact=True).check()
    assert abs(svg.evaluate(width) - 4 * narrow) < 2
    counts = page.locator(".latency tbody td:nth-child(2)").all_inner_texts()
    assert (counts[0], sorted(counts[1:])) == ("3", ["1", "2"])
    page.locator(".scrolled a").last.locator("rect").first.click()
    expect(page.locator(".json").nth(1)).to_contain_text("answer 6")


def test_a_message_is_marked_with_a_key_and_noted_without_leaving_the_list(
    desk: Desking, host: Serving, window: Windows
) -> None:
    """The row shows it at once, and the message stays open."""
    begin(host, desk)
    answer_calls(host, desk, "5")
    page = listed(window())
    until_keys_act(page)
    row = page.locator(f"{ROWS}.answered").first
    row.locator("th a").click()
    expect(page.locator("#beside .note button")).to_have_text("\u2606 Mark")
    row.locator("th a").focus()
    page.keyboard.press("n")
    expect(row.locator(".noted")).to_have_text("\u2605")
    page.locator("#beside [name=note]").fill("look here")
    page.keyboard.press("Enter")
    expect(row.locator(".noted")).to_have_text("\u2605 look here")
    expect(page.locator("#lines [data-opened]")).to_have_count(1)
    page.get_by_role("button", name="Remove mark").click()
    expect(row.locator(".noted")).to_have_count(0)


def test_keys_compare_a_message_and_send_it_again(
    desk: Desking, host: Serving, window: Windows
) -> None:
    """P leads to what changed since the previous call, R into the box of outgoing messages."""
    begin(host, desk)
    answer_calls(host, desk, "5", "6")
    name = until(host.find_session, "a session").name
    told = '{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}'
    desk.post(f"/api/sessions/{name}/say", {"text": told})
    host.hear()
    page = listed(window(), "/history?q=tool:get_forecast")
    until_keys_act(page)
    page.locator(f"{ROWS} th a").first.click()
    expect(page.locator("#beside .half")).to_have_count(2)
    page.keyboard.press("p")
    expect(page.locator(".difference .gone").nth(1)).to_contain_text("answer 5")
    page.goto(f"{page.url.partition('/compare')[0]}/history?q=list_changed")
    until_keys_act(page)
    page.locator(f"{ROWS} th a").first.click()
    expect(page.locator("#beside .half")).to_have_count(1)
    page.keyboard.press("r")
    expect(page.locator("textarea[name=text]")).to_have_value(re.compile("tools/list_changed"))
