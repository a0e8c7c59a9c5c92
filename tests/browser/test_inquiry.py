"""A question that an agent asks a person, in the page: with a real server and a real browser."""

import json
from typing import Any, Final

import pytest
from playwright.sync_api import expect

from tests.browser.seats import PHONE, Opened, Windows, begin, call, until_keys_act
from tests.support.desk_process import Desking
from tests.support.serve_process import Serving

pytestmark = pytest.mark.browser

ASKED: Final[dict[str, Any]] = {
    "question": "Shall I delete the old backups?",
    "context": "There are three,\nthe newest is a year old.",
    "options": [
        "Yes, all of them",
        "Keep the newest",
        {"label": "<b>No</b>", "description": "They stay."},
    ],
}


def said(host: Serving) -> str:
    """Return the text of the answer that the host got."""
    text: str = json.loads(host.hear())["result"]["content"][0]["text"]
    return text


def test_the_question_is_the_headline_and_one_press_answers(host: Serving, opened: Opened) -> None:
    """What to know stands below; an option goes out word for word, with one click."""
    page = opened(call("7", tool="whatever", **ASKED, urgent=True))
    expect(page.locator("h1")).to_have_text(ASKED["question"])
    expect(page.locator(".context")).to_have_text(ASKED["context"])
    expect(page.locator(".asked th")).to_have_text(["urgent"])
    expect(page.locator("#rows .gist")).to_have_text(ASKED["question"])
    expect(page.locator("#sentence")).to_be_visible()
    expect(page.locator("#options small")).to_have_text(["They stay."])
    page.get_by_role("button", name="<b>No</b>").click()
    assert said(host) == "<b>No</b>"
    expect(page.locator(".sent")).to_contain_text("Sent. 1 line")


@pytest.mark.parametrize("free", [True, False])
def test_on_a_phone_an_option_can_be_undone_for_three_seconds(
    host: Serving, opened: Opened, *, free: bool
) -> None:
    """A thumb misses: until then nothing is sent, and another option can be chosen instead."""
    page = opened(call("7", "ask_human", **ASKED, allow_free_text=free), **PHONE)
    page.locator("#rows .row a").click()
    page.get_by_role("button", name="Yes, all of them").click()
    expect(page.locator("#undo")).to_be_in_viewport()
    expect(page.locator("#saved-at")).to_contain_text("Sending in")
    page.locator("#undo").click()
    expect(page.locator("#undo")).to_be_hidden()
    page.get_by_role("button", name="<b>No</b>").click()
    assert "<b>No</b>" in said(host)


def test_what_is_strong_in_a_question_is_strong_in_the_headline(
    desk: Desking, host: Serving, window: Windows
) -> None:
    """A model writes Markdown in a short question, too; what is no Markdown stays as it came."""
    begin(host, desk)
    host.say(call("7", tool="whatever", question="Delete **all** of `2 * 3 * 4`?"))
    host.say(call("8", tool="whatever", question="# of backups?"))
    page = window().page
    expect(page.locator("h1")).to_have_text("Delete all of 2 * 3 * 4?")
    expect(page.locator("h1 strong")).to_have_text("all")
    page.locator("#rows a").nth(1).click()
    expect(page.locator("h1")).to_have_text("# of backups?")


def test_a_digit_answers_and_a_held_one_answers_once(
    desk: Desking, host: Serving, window: Windows
) -> None:
    """Nothing has to be focused first; the next question is not answered by the same press."""
    begin(host, desk)
    host.say(call("7", **ASKED))
    host.say(call("8", **ASKED))
    page = window().page
    expect(page.locator("#options")).to_be_focused()
    until_keys_act(page)
    page.keyboard.down("2")
    assert said(host) == "Keep the newest"
    expect(page.locator(".sent")).to_be_visible()
    until_keys_act(page)
    page.keyboard.down("2")  # the keyboard repeats a key that is held
    page.keyboard.up("2")
    page.keyboard.press("1")
    assert said(host) == "Yes, all of them"


def test_what_was_typed_stays_a_draft_when_an_option_is_chosen(
    desk: Desking, host: Serving, opened: Opened
) -> None:
    """Nothing typed is lost, and what is typed is never sent instead."""
    page = opened(call("7", **ASKED))
    (waiting,) = desk.get("/api/exchanges")["waiting"]
    path = f"/api/exchanges/{waiting['session']}/{waiting['number']}"
    page.locator("#sentence").fill("half a thought")
    page.get_by_role("button", name="Keep the newest").click()
    assert said(host) == "Keep the newest"
    assert "half a thought" in desk.get(path)["document"]


def test_where_one_has_to_choose_the_box_is_put_away(host: Serving, opened: Opened) -> None:
    """And still there for an error, or for what fits none of the options."""
    page = opened(call("7", **ASKED, allow_free_text=False))
    expect(page.locator("#options button")).to_have_count(3)
    expect(page.locator("#sentence")).to_be_hidden()
    page.get_by_text("Answer in another way").click()
    expect(page.locator("#sentence")).to_be_focused()
    page.keyboard.type("Ask my colleague.")
    page.keyboard.press("Control+Enter")
    assert said(host) == "Ask my colleague."


LONG: Final = (
    "# Which plan?\n\nI see **two** ways, with `git rebase` or without:\n\n"
    + "".join(
        f"- step {number}: read file number {number} and say what it does\n" for number in range(12)
    )
    + "\n```sh\ngit rebase -i main\n```\n\n<img src=x onerror=alert(1)>\n\n"
    + "Please answer in full sentences, and take your time. " * 6
)


def test_a_long_question_can_be_read_as_it_was_meant(opened: Opened) -> None:
    """Nothing is cut, its Markdown is read, no HTML is made, and the text is one press away."""
    page = opened(call("7", tool="ask", question=LONG))
    question = page.locator(".question-text")
    expect(question.locator(".heading")).to_have_text("Which plan?")
    expect(question.locator("li")).to_have_count(12)
    expect(question.locator("pre")).to_have_text("git rebase -i main")
    expect(question.locator("strong")).to_have_text("two")
    assert question.locator("img").count() == 0
    question.get_by_label("Show all").check()
    assert question.locator(".read").evaluate("one => one.scrollHeight - one.clientHeight") <= 1
    question.get_by_label("Show as plain text").check()
    expect(question.locator(".as-came")).to_contain_text("**two**")
    expect(question.locator(".read")).to_be_hidden()


def test_what_is_longer_than_the_window_is_shown_whole_with_one_press(
    window: Windows, opened: Opened
) -> None:
    """Up to 60 % of the window, then "Show all"; also for any other argument."""
    page = opened(call("7", tool="ask", message="A line of the message.\n" * 80))
    text = page.locator(".asked .as-came")
    height = text.evaluate("one => one.clientHeight / innerHeight")
    assert 0.5 < height < 0.65
    page.get_by_label("Show all").check()
    assert text.evaluate("one => one.scrollHeight - one.clientHeight") <= 1


def test_a_digit_that_shall_not_send_leads_to_the_option(host: Serving, opened: Opened) -> None:
    """The page says what the digits do, and the settings turn it off; Enter then sends."""
    page = opened(call("7", **ASKED))
    hint = page.get_by_text("The keys 1 to 9 send an option immediately.")
    expect(hint).to_be_visible()
    page.locator("header .menu").click()
    page.get_by_label("Send an option with the keys 1 to 9").uncheck()
    page.keyboard.press("Escape")
    expect(hint).to_be_hidden()
    until_keys_act(page)
    page.keyboard.press("2")
    expect(page.get_by_role("button", name="Keep the newest")).to_be_focused()
    page.keyboard.press("Enter")
    assert said(host) == "Keep the newest"
