"""What answers the next time: rules and saved answers are made, seen, changed, ordered, removed."""

import json
import re

import pytest
from playwright.sync_api import Page, expect

from humanmcp.common.book_file import read_book
from tests.browser.seats import Opened, Windows, begin, call, open_menu
from tests.support.desk_process import Desking
from tests.support.serve_process import Serving

pytestmark = [pytest.mark.browser, pytest.mark.extension("books")]

BOOK = """# mine
[server]
name = "weather"

[[rules]]
tool = "dice"
text = "six"

# the sun
[[rules]]
tool = "get_forecast"
where = { city = "Tokyo" }
text = "sunny"

[wait]
initialize = 0
"""


def write(page: Page, sentence: str) -> None:
    """Write an answer and ask to keep it."""
    page.locator("#sentence").fill(sentence)
    open_menu(page)
    page.locator("#keep-answer").click()
    expect(page.locator("[name='kept text']")).to_have_value(sentence)


def test_a_rule_is_made_of_an_answer_and_removed(desk: Desking, opened: Opened) -> None:
    """It is said as a sentence before it is saved, stands in the list, and goes again."""
    page = opened(call("7", city="Tokyo", days=3))
    write(page, "sunny")
    page.get_by_label("Only when days is 3").uncheck()
    page.get_by_role("button", name="Update the preview").click()
    expect(page.locator(".reads")).to_contain_text('with city = "Tokyo", answer “sunny”')
    page.get_by_role("button", name="Save the rule").click()
    expect(page.locator("ol.kept-things li")).to_contain_text("get_forecast")
    assert dict(read_book(desk.home / "book.toml").entries[0].where) == {"city": "Tokyo"}
    page.get_by_role("button", name="Remove").click()
    expect(page.locator("ol.kept-things")).to_contain_text("There are no rules yet")


def test_an_answer_that_was_sent_can_be_kept(desk: Desking, host: Serving, window: Windows) -> None:
    """The page of an answered request offers it, and its chip is there at once."""
    begin(host, desk)
    host.say(call("7", city="Tokyo"))
    shown = window()
    page = shown.page
    page.locator("#sentence").fill("sunny")
    page.locator("#send").click()
    host.hear()
    expect(page.locator(".sent")).to_be_visible()
    host.say(call("8", city="Osaka"))
    expect(page.locator(".asked")).to_contain_text("Osaka")
    key = page.locator("article.message").get_attribute("data-key") or ""
    name, _, number = key.partition("/")
    page = shown.goto(f"/m/{name}/{int(number) - 1}")
    page.get_by_role("link", name="Keep for next time").click()
    page.get_by_label("Name of the answer").fill("sun")
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page).not_to_have_url(re.compile("/keep"))  # the form was taken
    page = shown.goto(f"/m/{key}")
    page.locator("[data-saved]").click()
    expect(page.locator("#sentence")).to_have_value("sunny")
    page.locator("#send").click()
    assert json.loads(host.hear())["id"] == 8


def test_rules_are_ordered_and_changed_and_the_rest_of_the_book_stays(
    desk: Desking, window: Windows
) -> None:
    """Comments and other tables stay, and what would break the book is refused."""
    book = desk.home / "book.toml"
    book.write_text(BOOK, encoding="utf-8")
    page = window().goto("/book")
    rules = page.locator("ol.kept-things li")
    expect(rules).to_have_count(2)
    rules.nth(1).get_by_role("button", name="Up").click()
    expect(rules.first).to_contain_text("get_forecast")
    assert [one.tool for one in read_book(book).entries] == ["get_forecast", "dice"]
    rules.first.locator("summary").click()
    box = rules.first.locator("textarea")
    box.fill(box.input_value().replace("sunny", "rain"))
    rules.first.get_by_role("button", name="Save").click()
    expect(rules.first).to_contain_text("rain")
    rules.first.locator("summary").click()
    rules.first.locator("textarea").fill("[[rules")
    rules.first.get_by_role("button", name="Save").click()
    expect(page.get_by_role("alert")).to_be_visible()
    text = book.read_text(encoding="utf-8")
    assert text.startswith('# mine\n[server]\nname = "weather"\n')
    assert "# the sun" in text
    assert text.endswith("[wait]\ninitialize = 0\n")
