"""The box a person writes in is never replaced by an update."""

import json
import re
import time
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, expect

from tests.browser.chromium import launch_options
from tests.browser.seats import Opened, Windows, begin, call, until_keys_act
from tests.browser.test_answering import read_json, write_json
from tests.support.desk_process import Desking
from tests.support.serve_process import Serving
from tests.support.waiting import until

pytestmark = pytest.mark.browser


def test_messages_that_arrive_touch_nothing_in_the_box(
    desk: Desking, host: Serving, opened: Opened
) -> None:
    """50 new messages and 50 updates: text, caret, focus and scroll stay."""
    page = opened(call("1", city="Tokyo"))
    box = page.locator("#sentence")
    expect(box).to_be_focused()
    page.keyboard.insert_text("line\n" * 40 + "half a sent")
    box.evaluate("one => { one.setSelectionRange(12, 15); one.scrollTop = 30; }")
    before = box.evaluate(
        "one => [one.value, one.selectionStart, one.selectionEnd, one.scrollTop, scrollY]"
    )
    for number in range(2, 52):
        host.say(call(str(number), city=f"City {number}"))

    def fifty() -> list[dict[str, Any]]:
        others = [one for one in desk.get("/api/exchanges")["waiting"] if one["number"] > 2]
        return others if len(others) == 50 else []

    for one in until(fifty, "fifty more wait"):
        path = f"/api/exchanges/{one['session']}/{one['number']}/draft"
        desk.post(path, {"text": "somebody else writes"})
    expect(page.locator("#rows .row")).to_have_count(51)
    expect(page.locator("#rows .row .state", has_text="draft")).to_have_count(51)
    after = box.evaluate(
        "one => [one.value, one.selectionStart, one.selectionEnd, one.scrollTop, scrollY]"
    )
    assert after == before
    expect(box).to_be_focused()


def test_a_cancelled_request_keeps_the_text(desk: Desking, host: Serving, window: Windows) -> None:
    """Banner, Send locked, text there, "Copy my draft" works; nothing on stdout."""
    begin(host, desk)
    host.say(call("7", city="Tokyo"))
    shown = window(permissions=["clipboard-read", "clipboard-write"])
    page = shown.page
    page.locator("#sentence").fill("almost done")
    host.say(
        '{"jsonrpc":"2.0","method":"notifications/cancelled",'
        '"params":{"requestId":7,"reason":"the user pressed Esc"}}'
    )
    expect(page.locator(".banner.cancelled")).to_contain_text("the user pressed Esc")
    expect(page.locator("#send")).to_be_disabled()
    expect(page.locator("#sentence")).to_have_value("almost done")
    page.locator("#copy").click()
    assert page.evaluate("navigator.clipboard.readText()") == "almost done"
    expect(page.locator("#saved-at")).to_contain_text("saved")
    page.reload()
    expect(page.locator("#sentence")).to_have_value("almost done")
    assert host.close()[1] == []


def test_a_draft_survives_a_reload_and_a_restart_of_the_desk(
    desk: Desking, host: Serving, opened: Opened
) -> None:
    """The text comes back; the page connects again and shows what it missed, once."""
    page = opened(call("1", city="Tokyo"))
    page.locator("#sentence").fill("a careful draft")
    expect(page.locator("#saved-at")).to_contain_text("saved")
    page.reload()
    expect(page.locator("#sentence")).to_have_value("a careful draft")
    desk.kill()
    host.say(call("2", city="Osaka"))
    expect(page.locator("#live")).not_to_have_attribute("data-how", "live")
    page.locator("#sentence").fill("a careful draft, longer")
    with Desking(desk.home, port=desk.port):
        expect(page.locator("#live")).to_have_attribute("data-how", "live")
        expect(page.locator("#rows .row")).to_have_count(2)
        expect(page.locator("#sentence")).to_have_value("a careful draft, longer")
        page.locator("#send").click()
        assert json.loads(host.hear())["result"]["content"][0]["text"] == "a careful draft, longer"


def test_the_draft_of_a_killed_host_is_one_key_away_when_it_asks_again(
    desk: Desking, host: Serving, window: Windows
) -> None:
    """R inserts the text into the same call of a new session, and Send answers its id."""
    begin(host, desk)
    host.say(call("7", city="Tokyo"))
    shown = window()
    page = shown.page
    page.locator("#sentence").fill("a careful draft")
    expect(page.locator("#saved-at")).to_contain_text("saved")
    host.process.kill()
    expect(page.locator("#send")).to_be_disabled()
    with Serving(desk.home, "--by-hand") as again:
        begin(again, desk)
        again.say(call("9", city="Tokyo"))
        session = until(again.find_session, "a session").name
        until(lambda: desk.get("/api/exchanges")["waiting"], "the call waits")
        shown.goto(f"/m/{session}/2")
        expect(page.locator("#sentence")).to_have_value("")
        expect(page.locator("#sentence")).to_be_focused()
        page.keyboard.press("Escape")
        until_keys_act(page)
        page.keyboard.press("r")
        expect(page.locator("#sentence")).to_have_value("a careful draft")
        page.locator("#send").click()
        heard = json.loads(again.hear())
        assert (heard["id"], heard["result"]["content"][0]["text"]) == (9, "a careful draft")


def test_a_draft_survives_a_restart_of_the_browser_while_the_desk_is_away(
    browser: Browser, desk: Desking, host: Serving, tmp_path: Path
) -> None:
    """What only the browser has is there when both have started again."""
    begin(host, desk)
    host.say(call("1", city="Tokyo"))
    folder = tmp_path / "profile"
    first = _launched(browser, folder)
    page = first.new_page()
    page.goto(f"{desk.facts.address}login#k={desk.key()}")
    page.locator("#sentence").fill("half of a")
    expect(page.locator("#saved-at")).to_contain_text("saved")
    address = desk.facts.address
    desk.kill()
    page.locator("#sentence").fill("half of a careful draft")
    page.wait_for_function(
        "() => Object.values(localStorage).some((one) => one.includes('careful draft'))"
    )
    first.close()
    with Desking(desk.home, port=desk.port):
        second = _launched(browser, folder)
        page = second.new_page()
        page.goto(address)
        expect(page.locator("#sentence")).to_have_value("half of a careful draft")
        page.locator("#send").click()
        assert json.loads(host.hear())["result"]["content"][0]["text"] == "half of a careful draft"
        second.close()


def _launched(browser: Browser, folder: Path) -> BrowserContext:
    """Start another Chromium, which keeps what it knows in a folder, as a person's own does."""
    return browser.browser_type.launch_persistent_context(
        folder, **launch_options(), locale="en-US", reduced_motion="reduce"
    )


def test_of_two_people_one_answers_and_the_other_keeps_the_text(
    desk: Desking, host: Serving, window: Windows
) -> None:
    """B sees that A is writing; one line goes out; the loser keeps the draft."""
    begin(host, desk)
    host.say(call())
    first, second = window().page, window().page
    first.locator("header .menu").click()
    first.locator("[name=name]").fill("花子 <b>")
    first.locator("[name=name]").press("Enter")
    expect(first.locator("[name=name]")).to_have_value("花子 <b>")
    expect(second.locator("#sentence")).to_be_visible()
    first.locator("#sentence").fill("sunny")
    expect(second.locator(".banner.writer")).to_have_text("花子 <b> is writing an answer to this.")
    expect(second.locator("#rows .at-it")).to_have_text("花子 <b> is writing")
    expect(first.locator(".banner.writer, .at-it")).to_have_count(0)
    second.locator("#sentence").fill("rain")
    expect(first.locator(".banner.writer")).to_contain_text("Someone is writing")
    for page in (first, second):
        page.evaluate("setTimeout(() => document.getElementById('send').click(), 300)")
    sent = json.loads(host.hear())["result"]["content"][0]["text"]
    winner, loser = (first, second) if sent == "sunny" else (second, first)
    expect(winner.locator(".sent")).to_be_visible()
    expect(loser.locator("#lock")).to_be_visible()
    expect(loser.locator("#sentence")).to_have_value("rain" if sent == "sunny" else "sunny")
    assert host.close()[1] == []


def test_who_leaves_the_page_writes_no_more(desk: Desking, host: Serving, window: Windows) -> None:
    """At once, although their draft stays."""
    begin(host, desk)
    host.say(call())
    first, second = window().page, window().page
    first.locator("#sentence").fill("sunny")
    expect(second.locator(".banner.writer")).to_be_visible()
    first.goto("about:blank")
    signs = second.locator(".banner.writer, .at-it")
    expect(signs).to_have_count(0, timeout=10_000)  # a sign alone would count longer


def test_send_can_be_taken_back_for_three_seconds(host: Serving, opened: Opened) -> None:
    """With Undo nothing goes out and the box is as before; without, one line after 3 s."""
    page = opened(call())
    page.evaluate("localStorage.setItem('humanmcp:choice:undo', 'on')")
    page.locator("#sentence").fill("sunny")
    page.locator("#send").click()
    expect(page.locator("#undo")).to_be_visible()
    expect(page.locator("#saved-at")).to_contain_text("Sending in")
    page.locator("#undo").click()
    expect(page.locator("#undo")).to_be_hidden()
    expect(page.locator("#sentence")).to_be_focused()  # D16
    expect(page.locator("#sentence")).to_have_value("sunny")
    expect(page.locator("#sentence")).to_be_editable()
    began = time.monotonic()
    page.locator("#send").click()
    expect(page.locator("#undo")).to_be_visible()
    assert json.loads(host.hear())["result"]["content"][0]["text"] == "sunny"
    assert time.monotonic() - began >= 3  # so it was not the one that was taken back
    assert host.close()[1] == []


def test_an_input_method_is_left_alone(host: Serving, opened: Opened) -> None:
    """While something is composed no key sends and no letter acts; afterwards they do."""
    page = opened(call(), locale="ja-JP")
    expect(page.locator("#sentence")).to_be_focused()
    keys = page.context.new_cdp_session(page)
    keys.send("Input.imeSetComposition", {"text": "はれ", "selectionStart": 2, "selectionEnd": 2})
    page.keyboard.press("Enter")
    page.keyboard.press("Control+Enter")
    assert page.url.endswith("/2")
    expect(page.locator("#send")).to_be_enabled()
    keys.send("Input.insertText", {"text": "晴れ"})
    page.keyboard.type("je")
    expect(page.locator("#sentence")).to_have_value(re.compile("晴れje"))
    expect(page.locator("[name=kind][value=result]")).to_be_checked()
    page.keyboard.press("Control+Enter")
    assert "晴れje" in json.loads(host.hear())["result"]["content"][0]["text"]
    assert host.close()[1] == []


def test_switching_views_loses_nothing(host: Serving, opened: Opened) -> None:
    """Three views of one document: what one cannot show is still there in the others."""
    page = opened(call())
    page.locator("#sentence").fill("sunny 😀")
    page.locator("#tab-json").click()
    text = read_json(page).replace('"result": {', '"result": {"_meta": {"n": 1.0e2}, ')
    write_json(page, text)
    page.locator("#tab-text").click()
    expect(page.locator("#sentence")).to_have_value("sunny 😀")
    page.locator("#sentence").fill("rain")
    page.locator("[name=kind][value=error]").check()
    page.locator("[data-pointer='/error/message']").fill("no such city")
    page.locator("[name=kind][value='tool error']").check()
    expect(page.locator("#sentence")).to_have_value("rain")
    page.locator("#send").click()
    line = host.hear()
    assert '"_meta":{"n":1.0e2}' in line
    assert '"isError":true' in line
    assert json.loads(line)["result"]["content"][0]["text"] == "rain"


def test_the_json_editor_offers_what_can_be_written_there(opened: Opened) -> None:
    """Members and values of the place; nothing is chosen unless an arrow key chose it."""
    page = opened(call("7", city="Tokyo"))
    with page.expect_response("**/editor-offering.js"):
        page.locator("#tab-json").click()
    editor = page.locator(".editor .cm-content")
    options = page.locator(".editor [role=option]")
    head = '{"jsonrpc": "2.0", "id": 7, "result": {"content": [{"type": '
    write_json(page, head)
    editor.press("ControlOrMeta+End")
    editor.press_sequentially('"im')
    expect(options).to_have_text(["image"])
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    editor.press_sequentially(', "')
    expect(options.filter(has_text="mimeType")).to_be_visible()
    expect(options.filter(has_text="text")).to_have_count(0)
    page.keyboard.press("Escape")
    expect(options).to_have_count(0)
    editor.press_sequentially("mime")
    expect(options).to_have_text(["mimeType*"])
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    editor.press_sequentially('"image/png", "dat')
    expect(options).to_be_visible()
    page.keyboard.press("Enter")  # the next line: no arrow key has chosen
    written = read_json(page)
    assert written.startswith(head + '"image", "mimeType": "image/png", "dat\n'), written
    write_json(page, '{"result": {}, "id": 7}')
    editor.press("ControlOrMeta+Home")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Control+Space")
    expect(options).to_have_text(["error", "jsonrpc"])  # the others stand behind
