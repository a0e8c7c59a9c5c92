"""The keys that the page lists under `?`: each does what its line says."""

import re
from typing import Final

import pytest
from playwright.sync_api import Page, expect

from tests.browser.seats import Opened, Windows, begin, call, open_menu, until_keys_act
from tests.browser.test_answering import EDITOR, read_json, write_json
from tests.support.desk_process import Desking
from tests.support.serve_process import Serving

pytestmark = pytest.mark.browser

CHECKED_KIND: Final = "[name=kind]:checked"
WALKED: Final = (
    *("Ctrl Enter", "Ctrl S", "Ctrl Z", "Ctrl F", "Esc", "J K", "Enter", "1\u20139"),
    # A D C L O: test_approving.py; A C I X: test_tap.py; S, with many sessions:
    # test_staying_clear.py; N R P: test_looking_back.py
    *("R", "T", "F", "E", "B", "A D C L O", "A C I X", "S", "N R P", "/", "M", "?"),
)
"""The keys that the tests below press, as the list writes them."""


def single_keys_act(page: Page) -> None:
    """Leave the box, and wait out the first half second of a page, in which no letter acts."""
    page.keyboard.press("Escape")
    until_keys_act(page)


def save_first_answer(page: Page, text: str) -> None:
    """Keep what is in the box as the saved answer 1."""
    page.locator("#sentence").fill(text)
    open_menu(page)
    page.locator("#keep-answer").click()
    page.get_by_role("textbox", name="Name of the answer").fill("one")
    page.keyboard.press("Enter")
    expect(page.locator("[data-saved]")).to_be_visible()


def test_every_key_of_the_list_is_walked_here(opened: Opened) -> None:
    """`?` and the button in the settings show the list; a new key is pressed here too."""
    page = opened(call("1", city="Tokyo"))
    expect(page.locator("#sentence")).to_be_focused()
    single_keys_act(page)
    page.keyboard.press("?")
    shown = page.locator("dialog[open] dt").all_inner_texts()
    assert [re.sub(r"\s+", " ", keys) for keys in shown] == list(WALKED)
    page.keyboard.press("Escape")
    page.locator("header .menu").click()
    page.locator("#show-keys").click()
    expect(page.locator("dialog[open] dt")).to_have_count(len(WALKED))


@pytest.mark.skipif(not EDITOR.exists(), reason="the JSON editor was not built")
def test_the_editor_finds_a_text_and_what_is_typed_there_is_no_answer(opened: Opened) -> None:
    """Ctrl+F, Enter and Shift+Enter go round; the count, the undo and the focus are its own."""
    page = opened(call("1", city="Tokyo"))
    text = (
        '{"jsonrpc": "2.0", "id": 1, "result": {"content": [{"type": "text", "text": "a.b A.B"}]}}'
    )
    page.locator("#tab-json").click()
    write_json(page, text)
    page.keyboard.press("Control+Home")
    page.keyboard.press("Control+f")
    page.keyboard.type("a.b")  # at once, and no pattern: the point is a point
    count = page.locator(".finder [role=status]")
    expect(count).to_have_text("1 / 2")
    for key, told in (("Enter", "2 / 2"), ("Enter", "1 / 2"), ("Shift+Enter", "2 / 2")):
        page.keyboard.press(key)
        expect(count).to_have_text(told)
    page.keyboard.press("Control+z")
    assert page.get_by_role("textbox", name="Find").input_value() != "a.b"
    for wanted, told in (("nowhere", "0 / 0"), ("A.B", "1 / 2")):
        page.keyboard.press("Control+a")
        page.keyboard.type(wanted)
        expect(count).to_have_text(told)
    page.keyboard.press("Escape")
    expect(count).to_be_hidden()
    page.keyboard.press("Delete")  # the place that was found is selected
    assert read_json(page) == text.replace("a.b", "")
    page.locator("#seek").click()
    expect(page.get_by_role("textbox", name="Find")).to_be_focused()


@pytest.mark.extension("books")
def test_the_keys_that_write_save_and_replace_do_what_their_lines_say(
    host: Serving, opened: Opened
) -> None:
    """Pressed one after the other, as a person who tries the list from top to bottom."""
    page = opened(call("1", city="Tokyo"))
    sentence = page.locator("#sentence")
    save_first_answer(page, "sunny")
    sentence.fill("rain")
    page.keyboard.press("Control+Enter")  # send
    assert "rain" in host.hear()
    host.say(call("2", city="Osaka"))
    expect(sentence).to_be_focused()
    page.keyboard.type("sno")
    page.keyboard.press("Control+s")  # save the draft now
    expect(page.locator("#saved-at")).to_contain_text("Draft saved")
    single_keys_act(page)  # Esc: leave the box
    expect(sentence).not_to_be_focused()
    page.keyboard.press("1")  # insert a saved answer
    expect(sentence).to_have_value("sunny")
    page.keyboard.press("Control+z")  # undo what was replaced
    expect(sentence).to_have_value("sno")
    page.keyboard.press("Control+Shift+z")  # redo
    expect(sentence).to_have_value("sunny")
    page.keyboard.press("Escape")
    page.keyboard.press("r")  # the last answer to this
    expect(sentence).to_have_value("rain")
    page.keyboard.press("Escape")
    page.keyboard.press("t")  # back to the template
    expect(sentence).to_have_value("")


def test_the_keys_that_move_and_choose_do_what_their_lines_say(
    desk: Desking, host: Serving, window: Windows
) -> None:
    """The list, the kinds, the views, the sound, the faults, the search."""
    begin(host, desk)
    host.say(call("1", city="Tokyo"))
    host.say(call("2", city="Osaka"))
    page = window().page
    rows = page.locator("#rows .row")
    expect(rows).to_have_count(2)
    single_keys_act(page)
    page.keyboard.press("j")  # next message
    expect(rows.nth(1).locator("a")).to_be_focused()
    page.keyboard.press("k")  # previous message
    expect(rows.nth(0).locator("a")).to_be_focused()
    page.keyboard.press("Enter")  # write the answer
    expect(page.locator("#sentence")).to_be_focused()
    page.keyboard.press("Escape")
    for kind in ("tool error", "error", "result"):
        page.keyboard.press("e")  # next kind
        expect(page.locator(CHECKED_KIND)).to_have_value(kind)
    page.keyboard.press("f")  # next view
    expect(page.locator("#view-form")).to_be_visible()
    page.keyboard.press("Escape")
    page.keyboard.press("m")  # sound
    expect(page.locator("#said")).to_contain_text("Sound")
    page.keyboard.press("b")  # break the answer
    expect(page.locator("dialog[open]")).to_be_visible()
    page.keyboard.press("Escape")
    page.keyboard.press("/")  # search the history
    page.wait_for_url("**/history*")
    expect(page.locator("#search")).to_be_focused()


def test_who_chooses_a_kind_with_the_pointer_writes_on_in_its_field(
    desk: Desking, host: Serving, window: Windows
) -> None:
    """The letters are no keys. Along the kinds the arrows lead, and the focus stays."""
    begin(host, desk)
    host.say(call("1", city="Tokyo"))
    page = window().page
    expect(page.locator("#sentence")).to_be_focused()
    until_keys_act(page)
    page.locator(".kinds").get_by_text("Protocol error").click()
    page.keyboard.press("Control+a")
    page.keyboard.type("temporary")
    expect(page.locator("[data-pointer='/error/message']")).to_have_value("temporary")
    page.locator(".kinds").get_by_text("Tool error").click()
    expect(page.locator("#sentence")).to_be_focused()
    page.keyboard.press("Shift+Tab")
    page.keyboard.press("ArrowRight")
    expect(page.locator(CHECKED_KIND)).to_have_value("error")
    expect(page.locator(CHECKED_KIND)).to_be_focused()
