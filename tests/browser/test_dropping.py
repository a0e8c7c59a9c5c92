"""A message, a recording or another file that is pasted or dropped on the page."""

import json
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.browser.seats import Opened, Windows, call
from tests.browser.test_answering import read_json
from tests.desk.history.test_opening import WRONG
from tests.support.desk_process import Desking
from tests.support.serve_process import Serving

pytestmark = pytest.mark.browser

WHOLE = '{"jsonrpc":"2.0","id":7,"result":{"content":[{"type":"text","text":"rain"}]}}'
_GIVE = """([name, kind, text, place]) => {
    const data = new DataTransfer();
    if (name) data.items.add(new File([text], name));
    else data.setData("text/plain", text);
    const shared = { bubbles: true, cancelable: true };
    const event = kind === "drop"
        ? new DragEvent(kind, { dataTransfer: data, ...shared })
        : new ClipboardEvent(kind, { clipboardData: data, ...shared });
    document.querySelector(place).dispatchEvent(event);
    return event.defaultPrevented;
}"""


def give(page: Page, kind: str, text: str, place: str = "main", name: str = "") -> bool:
    """Paste or drop a text or a file at a place. Return whether the page took it."""
    expect(page.locator("body[data-takes]")).to_be_attached()
    return bool(page.evaluate(_GIVE, [name, kind, text, place]))


def test_a_dropped_log_opens_and_leads_to_what_is_wrong(desk: Desking, window: Windows) -> None:
    """Two actions from a log to the wrong message."""
    page = window().page
    assert give(page, "drop", WRONG, name="server.log")
    expect(page.locator(".judged > li")).to_have_count(1)
    expect(page.locator("main")).to_contain_text("server.log")
    page.locator(".judged a").first.click()
    expect(page.locator(".half")).to_have_count(2)
    expect(page.locator(".half .json").last).to_contain_text("19 °C")
    name = page.locator(".half .json").first.get_by_text('"rain"')
    expect(name).to_be_visible()
    page.get_by_role("button", name="Fold all").first.click()
    expect(name).to_be_hidden()
    page.get_by_role("button", name="Unfold all").first.click()
    expect(name).to_be_visible()


def test_a_log_that_is_pasted_beside_the_fields_or_chosen_opens(
    desk: Desking, window: Windows, tmp_path: Path
) -> None:
    """Also with the keyboard alone."""
    page = window().goto("/history")
    assert give(page, "paste", WRONG)
    expect(page.locator(".judged > li")).to_have_count(1)
    file = tmp_path / "chosen.log"
    file.write_text(WRONG, encoding="utf-8")
    page = window().goto("/history")
    page.locator("[data-recording]").set_input_files(file)
    expect(page.locator("main")).to_contain_text("chosen.log")
    expect(page.locator(".judged > li")).to_have_count(1)


def test_what_is_no_recording_is_named_and_the_page_stays(opened: Opened) -> None:
    """Nothing that was typed is lost, whatever is dropped."""
    page = opened(call("7"))
    page.locator("#sentence").fill("half a sent")
    assert give(page, "drop", '{"mcpServers":{}}', name="mcp.json")
    expect(page.locator("#said")).to_contain_text("mcp.json is the configuration of a host")
    expect(page.locator("#sentence")).to_have_value("half a sent")
    address = page.url
    assert give(page, "drop", WRONG, name="a.log")
    expect(page.locator(".judged > li")).to_have_count(1)
    page.goto(address)
    expect(page.locator("#sentence")).to_have_value("half a sent")


def test_a_whole_message_that_is_pasted_is_the_message(host: Serving, opened: Opened) -> None:
    """It is sent as it is, and can be undone before."""
    page = opened(call("7"))
    page.locator("#sentence").fill(" ")
    assert give(page, "paste", WHOLE, "#sentence")
    expect(page.locator("#view-json")).to_be_visible()
    assert json.loads(read_json(page)) == json.loads(WHOLE)
    expect(page.locator("#said")).to_contain_text("whole message")
    page.locator("#send").click()
    assert json.loads(host.hear()) == json.loads(WHOLE)


def test_a_message_within_other_words_stays_words(opened: Opened) -> None:
    """Only an empty box turns into the message."""
    page = opened(call("7"))
    page.locator("#sentence").fill("It said")
    assert not give(page, "paste", WHOLE, "#sentence")
    expect(page.locator("#view-text")).to_be_visible()


def test_a_log_that_is_pasted_into_the_answer_can_be_opened(opened: Opened) -> None:
    """The text stays the person's; the button leads to the recording."""
    page = opened(call("7"))
    assert not give(page, "paste", WRONG, "#sentence")
    page.locator("#sentence").fill(WRONG)
    page.locator(".pasted button").click()
    expect(page.locator(".judged > li")).to_have_count(1)
