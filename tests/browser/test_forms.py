"""Forms: what is typed comes back, and it leaves the page only when the desk has taken it."""

import json
import re
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, Route, expect

from tests.browser.seats import INITIALIZE, Window, call, decided, outcome, until_keys_act
from tests.support.desk_process import Desking
from tests.support.serve_process import Serving
from tests.support.waiting import until

pytestmark = pytest.mark.browser

QUESTIONS = [
    {"question": "Which?", "options": ["A", "B"]},
    {"question": "Where?", "options": ["x", "y", "z"], "multiple": True},
    {"question": "Why?"},
]


@pytest.fixture
def host(home: Path, desk: Desking) -> Iterator[Serving]:
    """A server that offers the tool for approvals, and a host that knows it."""
    with Serving(home, "--handshake", "book", "--approvals") as serving:
        serving.say(INITIALIZE)
        serving.hear()
        serving.say('{"jsonrpc":"2.0","method":"notifications/initialized"}')
        yield serving


def asks(host: Serving, token: str, command: str) -> None:
    """Let the host ask for permission."""
    given = {"command": command}
    host.say(call(token, "approve", tool_name="Bash", input=given, tool_use_id="t"))


def opened(window: Callable[..., Window], command: str) -> Page:
    """Open the page, which shows the command."""
    page = window().page
    expect(page.locator(".approval pre")).to_have_text(command)
    return page


def decision(desk: Desking, path: str) -> dict[str, str]:
    """Return the form that denies what a page shows."""
    shown = re.search(r'name="shown" value="(\w+)"', desk.page(path))
    assert shown is not None
    return {"act": "deny", "shown": shown[1]}


def saved(page: Page) -> None:
    """Wait until the desk has what was typed."""
    expect(page.locator("form .saved-at").last).to_have_text("Draft saved")


def test_words_of_a_denial_come_back(
    desk: Desking, host: Serving, window: Callable[..., Window]
) -> None:
    """After a reload, another card, Back, and in another browser; and not after they were sent."""
    asks(host, "11", "ls")
    page = opened(window, "ls")
    reason = page.locator("#reason")
    reason.fill("not on a Friday")
    page.reload()
    expect(reason).to_have_value("not on a Friday")
    asks(host, "12", "pwd")
    page.locator("#rows .row a").nth(1).click()
    expect(page.locator(".approval pre")).to_have_text("pwd")
    expect(reason).to_have_value("")
    page.go_back()
    expect(page.locator(".approval pre")).to_have_text("ls")
    expect(reason).to_have_value("not on a Friday")
    reason.press("End")
    reason.press_sequentially("!")
    saved(page)
    other = opened(window, "ls")
    expect(other.locator("#reason")).to_have_value("not on a Friday!")
    page.locator("#deny").click()
    assert decided(host) == {"behavior": "deny", "message": "not on a Friday!"}
    expect(page.locator(".approval pre")).to_have_text("pwd")
    expect(reason).to_have_value("")
    assert not list((desk.home / "forms").rglob("*.json"))


def test_words_are_sent_after_their_draft(
    desk: Desking, host: Serving, window: Callable[..., Window]
) -> None:
    """A draft that arrives after its form would stay, as words that nobody sent."""
    asks(host, "14", "ls")
    page = opened(window, "ls")
    held: list[Route] = []
    sent: list[str] = []
    page.route("**/api/drafts?*", lambda route: held.append(route))  # noqa: PLW0108 - Playwright marks it
    with page.expect_request("**/api/drafts?*"):
        page.locator("#reason").fill("not on a Friday")
    page.on("request", lambda one: sent.append(one.url) if one.method == "POST" else None)
    page.locator("#deny").click()
    page.evaluate("1")
    assert not sent
    with page.expect_request(lambda one: one.method == "POST"):
        held.pop().continue_()
    assert decided(host) == {"behavior": "deny", "message": "not on a Friday"}
    expect(page.locator(".approval pre")).to_have_count(0)
    assert not list((desk.home / "forms").rglob("*.json"))


def test_a_changed_input_comes_back_for_the_input_that_was_shown(
    host: Serving, window: Callable[..., Window]
) -> None:
    """The card opens where it was changed."""
    asks(host, "11", "ls\npwd")
    page = window().page
    until_keys_act(page)
    page.keyboard.press("c")
    field = page.locator('[name="input 0"]')
    field.fill("ls -l\npwd")
    page.reload()
    expect(field).to_be_visible()
    expect(field).to_have_value("ls -l\npwd")
    page.get_by_role("button", name="Allow the changed input").first.click()
    assert decided(host)["updatedInput"] == {"command": "ls -l\npwd"}


def test_choices_and_words_of_several_questions_come_back(
    host: Serving, window: Callable[..., Window]
) -> None:
    """Each option, each field."""
    host.say(call("11", "ask_human", questions=QUESTIONS))
    page = window().page
    for option in ("B", "x", "z"):
        page.locator(".option").filter(has_text=option).first.click()
    page.locator('[name="own 2"]').fill("because")
    page.reload()
    expect(page.locator('[name="own 2"]')).to_have_value("because")
    page.locator("#send-answers").click()
    answers = {"Which?": "B", "Where?": ["x", "z"], "Why?": "because"}
    assert outcome(host) == {"status": "answered", "answers": answers}


def test_a_form_that_is_sent_while_the_desk_is_away_stays_with_its_text(
    desk: Desking, host: Serving, window: Callable[..., Window]
) -> None:
    """It says so; when the desk is back it is sent, once."""
    asks(host, "11", "ls")
    page = opened(window, "ls")
    desk.kill()
    page.locator("#reason").fill("never")
    page.locator("#deny").click()
    expect(page.locator(".not-sent")).to_have_text(
        "Not sent: can't reach humanmcp. Your text is saved in this browser. Try again later."
    )
    expect(page.locator("#reason")).to_have_value("never")
    expect(page.locator("form .saved-at")).to_have_text(
        "Can't reach humanmcp. The draft is saved in this browser."
    )
    with Desking(desk.home, port=desk.port):
        saved(page)  # without another key
        page.locator("#deny").click()
        assert decided(host) == {"behavior": "deny", "message": "never"}
        expect(page.locator(".sent")).to_be_visible()
        expect(page.locator(".not-sent")).to_have_count(0)


@pytest.mark.skipif(sys.platform == "win32", reason="no SIGSTOP")
def test_what_is_not_known_to_be_sent_is_not_shown_as_sent(
    desk: Desking, host: Serving, window: Callable[..., Window]
) -> None:
    """The desk dies with the form in its hands."""
    asks(host, "11", "ls")
    page = opened(window, "ls")
    page.locator("#reason").fill("never")
    saved(page)
    desk.process.send_signal(signal.SIGSTOP)
    page.locator("#deny").click()
    expect(page.get_by_text("has not answered for 5 seconds")).to_be_visible()
    desk.kill()
    expect(page.locator(".not-sent")).to_contain_text("It is not known whether")
    expect(page.locator("#reason")).to_have_value("never")
    with Desking(desk.home, port=desk.port):
        expect(page.locator("#live")).to_have_attribute("data-how", "live")
        page.locator("#deny").click()
        assert decided(host) == {"behavior": "deny", "message": "never"}


def test_words_stay_to_be_copied_when_somebody_else_decides_first(
    host: Serving, window: Callable[..., Window]
) -> None:
    """In the page where they were typed, and after a reload, with a sentence."""
    asks(host, "11", "ls")
    page, other = opened(window, "ls"), opened(window, "ls")
    page.locator("#reason").fill("never on  a Friday")
    until_keys_act(other)
    other.keyboard.press("a")
    assert decided(host)["behavior"] == "allow"
    sentence = (
        "This request is no longer waiting. Your text was not sent from here. You can copy it."
    )
    expect(page.locator("form .lock")).to_have_text(sentence)
    expect(page.locator("#reason")).to_have_value("never on  a Friday")
    expect(page.locator("#reason")).not_to_be_editable()
    expect(page.locator("#allow, #deny")).to_have_count(0)
    expect(page.get_by_role("button", name="Copy draft")).to_be_visible()
    saved(page)
    page.reload()
    sentence = "You typed this and did not send it. You can copy it."
    expect(page.locator("#unsent p")).to_have_text(sentence)
    assert page.locator("#unsent pre").inner_text() == "never on  a Friday"


def test_words_that_only_the_browser_has_are_offered_when_somebody_else_decided(
    desk: Desking, host: Serving, window: Callable[..., Window]
) -> None:
    """They were typed offline, and the browser was closed before the desk was back."""
    asks(host, "11", "ls")
    here = window()
    expect(here.page.locator(".approval pre")).to_have_text("ls")
    path = here.page.url.partition(here.login_path)[2]
    here.page.route("**/api/drafts*", lambda route: route.abort())
    here.page.locator("#reason").fill("not today <b>")
    expect(here.page.locator("form .saved-at").last).to_contain_text("saved in this browser")
    here.page.close()
    assert desk.submit(f"/{path}", **decision(desk, f"/{path}")).status == 303
    assert decided(host)["behavior"] == "deny"
    here.page = here.new_page()
    page = here.goto(path)
    expect(page.locator("#unsent pre")).to_have_text("not today <b>")
    expect(page.locator("#unsent").get_by_role("button", name="Copy")).to_be_visible()


def test_words_stay_when_the_client_cancels(host: Serving, window: Callable[..., Window]) -> None:
    """Answers to questions, too; the page says that nobody waits for them."""
    host.say(call("11", "ask_human", questions=QUESTIONS))
    page = window().page
    page.locator(".option").filter(has_text="B").first.click()
    page.locator('[name="own 2"]').fill("because")
    host.say('{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":11}}')
    expect(page.locator("form .lock")).to_be_visible()
    saved(page)
    page.reload()
    assert page.locator("#unsent pre").inner_text() == "B\n\nbecause"


def test_an_outgoing_message_comes_back_with_what_it_began_from(
    host: Serving, window: Callable[..., Window]
) -> None:
    """After a reload and Back; another beginning has a draft of its own."""
    host.say(call("11", "ask_human", question="Tea?"))
    here = window()
    session = until(host.find_session, "a session").name
    page = here.goto(f"/say/{session}")
    page.get_by_role("link", name="ping", exact=True).click()
    page.wait_for_url("**begin=ping*")
    box = page.locator("main textarea")
    ping = box.input_value()
    mine = ping.replace('"ping"', '"my/method"')
    box.fill(mine)
    saved(page)
    page.reload()
    expect(box).to_have_value(mine)
    page.locator(".beginnings a", has_text="notifications/message").click()
    page.wait_for_url("**begin=notifications**")
    assert "my/method" not in box.input_value()
    page.go_back()
    expect(box).to_have_value(mine)
    page.get_by_role("button", name="Send anyway").click()
    assert json.loads(host.hear())["method"] == "my/method"
    page.wait_for_url("**sent=1*")
    expect(box).not_to_have_value(mine)
