"""What the page opens by itself, and what it leaves open."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest
from playwright.sync_api import Page, expect

from tests.browser.seats import (
    PHONE,
    Windows,
    begin,
    boxes_of,
    call,
    decided,
    request,
    until_keys_act,
)
from tests.support.desk_process import Desking
from tests.support.serve_process import Serving
from tests.support.verdicts import stating

pytestmark = pytest.mark.browser

PROMPTS: Final = 5
LISTEN: Final = request(
    "subscriptions/listen",
    {"notifications": {"toolsListChanged": True}, "_meta": stating()},
    '"listens"',
)


def prompt(number: int) -> str:
    """Write a permission prompt of 2026-07-28."""
    given = {"command": f"echo {number}", "description": "Say it"}
    arguments = {"tool_name": "Bash", "input": given, "tool_use_id": f"toolu_{number}"}
    params = {"name": "approve", "arguments": arguments, "_meta": stating()}
    return request("tools/call", params, str(number))


@pytest.fixture
def agent(home: Path, desk: Desking) -> Iterator[Serving]:
    """A host of 2026-07-28 that has subscribed to changes, as a real agent does first."""
    with Serving(home, "--handshake", "book", "--approvals") as serving:
        serving.say(LISTEN)
        assert "acknowledged" in serving.hear()
        yield serving


def opened(page: Page) -> Any:  # noqa: ANN401 - the page's own record
    """Return the number of what is open, "" for nothing."""
    key = page.locator("article.message").get_attribute("data-key") or ""
    return key.rpartition("/")[2]


def test_every_prompt_of_an_agent_is_decided_with_one_key_and_no_click(
    agent: Serving, window: Windows
) -> None:
    """Each is open when it comes, and the subscription never is."""
    page = window().page
    expect(page.locator(".empty")).to_be_visible()
    for number in range(1, PROMPTS + 1):
        agent.say(prompt(number))
        expect(page.locator(".approval .code pre")).to_have_text(f"echo {number}")
        until_keys_act(page)
        allowed = number % 3 > 0
        page.keyboard.press("a" if allowed else "d")
        assert decided(agent)["behavior"] == ("allow" if allowed else "deny")


def test_a_subscription_is_not_among_what_waits_and_no_key_ends_it(
    agent: Serving, window: Windows
) -> None:
    """It has a page, which shows how it is ended; the page leaves it for what needs a decision."""
    page = window().page
    expect(page.locator(".subscriptions .row")).to_have_count(1)
    expect(page.locator("#rows")).to_have_text("No message is waiting for an answer.")
    expect(page.locator("#count")).to_be_hidden()
    page.locator(".subscriptions a").click()
    expect(page.get_by_text("End this subscription")).to_be_visible()
    until_keys_act(page)
    page.keyboard.press("Control+Enter")
    agent.say(prompt(1))
    expect(page.locator(".approval .code pre")).to_have_text("echo 1")
    until_keys_act(page)
    page.keyboard.press("a")
    assert decided(agent)["behavior"] == "allow"


def test_when_the_agent_has_ended_the_page_opens_what_the_next_one_asks(
    agent: Serving, home: Path, window: Windows
) -> None:
    """Nobody has to close what can no longer be answered."""
    agent.say(prompt(1))
    page = window().page
    expect(page.locator(".approval .code pre")).to_have_text("echo 1")
    agent.close()
    expect(page.locator("#status .banner")).to_be_visible()
    with Serving(home, "--handshake", "book", "--approvals") as other:
        other.say(prompt(2))
        expect(page.locator(".approval .code pre")).to_have_text("echo 2")
        until_keys_act(page)
        page.keyboard.press("d")
        assert decided(other)["behavior"] == "deny"


def test_what_is_decided_elsewhere_makes_room_for_the_next(
    desk: Desking, host: Serving, window: Windows
) -> None:
    """The page says what became of it, and opens what has waited longest."""
    begin(host, desk)
    for number in (1, 2, 3):
        host.say(call(str(number), city="Tokyo"))
    page = window().page
    expect(page.locator("#composer")).to_be_visible()
    first = opened(page)
    session = desk.get("/api/exchanges")["waiting"][0]["session"]
    path = f"/api/exchanges/{session}/{first}"
    assert desk.post(f"{path}/reply", {"text": "sunny", "form": "text"}).status == 200
    expect(page.locator("article.message")).to_have_attribute(
        "data-key", f"{session}/{int(first) + 1}"
    )
    expect(page.locator("#said")).to_contain_text(re.compile("nswer(ed)? by you"))
    page.go_back()
    expect(page.locator("#sent-line")).to_contain_text("sunny")


def test_the_page_leaves_nothing_that_somebody_writes(
    desk: Desking, host: Serving, window: Windows
) -> None:
    """The request that was written to has ended: the text stays, and a notice tells of the next."""
    begin(host, desk)
    host.say(call("1", city="Tokyo"))
    page = window().page
    page.keyboard.type("It is sunn")
    host.say('{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}')
    expect(page.locator("#composer.locked")).to_be_visible()
    host.say(call("2", city="Osaka"))
    expect(page.locator("#said")).to_contain_text('get_forecast · city: "Osaka" · test-host')
    expect(page.get_by_role("link", name="Next")).to_be_visible()
    expect(page.locator("#main textarea:visible").first).to_have_value("It is sunn")


def test_a_reason_that_is_being_typed_keeps_its_card(agent: Serving, window: Windows) -> None:
    """Words of a denial are text that somebody writes, too."""
    agent.say(prompt(1))
    page = window().page
    page.locator("#reason").fill("not on a Fri")
    agent.say('{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}')
    agent.say(prompt(2))
    expect(page.locator("#said")).to_contain_text("Run a command · echo 2 · c · …/")
    expect(page.locator("#status .cancelled")).to_be_visible()
    expect(page.locator("#subject")).to_be_visible()
    assert opened(page) == "2"


def test_who_looks_at_an_old_message_stays_there(
    desk: Desking, host: Serving, window: Windows
) -> None:
    """They opened it themselves: a notice tells them what came."""
    begin(host, desk)
    host.say(call("1", city="Tokyo"))
    seat = window()
    seat.page.keyboard.type("sunny")
    seat.page.keyboard.press("Control+Enter")
    assert json.loads(host.hear())["id"] == 1
    answered = seat.page.locator(".sent a").first
    expect(answered).to_have_text("get_forecast")
    answered.click()
    expect(seat.page.locator("#sent-line")).to_be_visible()
    host.say(call("2", city="Osaka"))
    expect(seat.page.locator("#said")).to_contain_text('get_forecast · city: "Osaka" · test-host')
    expect(seat.page.locator("#sent-line")).to_be_visible()


def test_what_is_over_offers_nothing(agent: Serving, desk: Desking, window: Windows) -> None:
    """The buttons of an open page go when another front end has decided; typed words stay."""
    agent.say(prompt(1))
    page = window().page
    page.locator("#reason").fill("too early")
    (one,) = [one for one in desk.get("/api/exchanges")["waiting"] if one["method"] == "tools/call"]
    path = f"/api/exchanges/{one['session']}/{one['number']}"
    denied = {"text": '{"behavior":"deny","message":"no"}', "form": "text"}
    assert desk.post(f"{path}/reply", denied).status == 200
    expect(page.locator("#status .refused")).to_contain_text("Denied by")
    expect(page.locator(".verdict button")).to_have_count(0)
    expect(page.locator("#reason")).to_have_value("too early")
    until_keys_act(page)
    page.keyboard.press("a")
    page.reload()
    expect(page.locator(".decide")).to_have_count(0)


def test_a_press_that_was_meant_for_the_last_card_does_not_decide_the_next(
    agent: Serving, window: Windows
) -> None:
    """Of a double click the second half does nothing."""
    agent.say(prompt(1))
    page = window().page
    expect(page.locator("#allow")).to_be_visible()
    agent.say(prompt(2))
    expect(page.locator("#rows .row")).to_have_count(2)
    (place,) = boxes_of(page.locator("#allow"))
    until_keys_act(page)
    page.mouse.dblclick(place["x"] + 20, place["y"] + 20)
    assert decided(agent)["behavior"] == "allow"
    # The second half of a slow one, as soon as the next card is there.
    page.evaluate(
        """() => new Promise((done) => {
            const card = () => document.querySelector(".approval .code pre")?.innerText;
            const isNext = () => card() === "echo 2" && "opened" in document.body.dataset;
            const wait = () => isNext() ? done(document.getElementById("allow").click())
                : requestAnimationFrame(wait);
            wait();
        })"""
    )
    expect(page.locator("#said")).to_contain_text("again")
    expect(page.locator("#count")).to_have_text("1")
    page.locator("#deny").click()
    assert decided(agent)["behavior"] == "deny"


def test_on_a_phone_the_two_buttons_are_wide_apart_and_follow_the_input(
    agent: Serving, window: Windows
) -> None:
    """They are in the first screen for a short command; what explains is closed below."""
    agent.say(prompt(1))
    page = window(**PHONE).page
    page.locator("#rows a").first.tap()
    allow, deny = boxes_of(page.locator("#allow"), page.locator("#deny"))
    assert min(allow["width"], deny["width"]) >= 150
    assert min(allow["height"], deny["height"]) >= 44
    assert deny["x"] - allow["x"] - allow["width"] >= 16
    assert allow["y"] + allow["height"] <= 844
    expect(page.locator("aside.side details[open]")).to_have_count(0)
    page.get_by_text("What is this?").tap()
    expect(page.locator("aside.side")).to_contain_text("An agent asks before it does this.")


def test_a_key_allows_nothing_whose_end_was_not_in_view(agent: Serving, window: Windows) -> None:
    """It shows the end first."""
    lines = "\n".join(f"echo {number}" for number in range(35))
    given = {"tool_name": "Bash", "input": {"command": lines}, "tool_use_id": "toolu_1"}
    agent.say(
        request("tools/call", {"name": "approve", "arguments": given, "_meta": stating()}, "1")
    )
    page = window(viewport={"width": 1280, "height": 500}).page
    expect(page.locator("#allow")).not_to_be_in_viewport()
    until_keys_act(page)
    page.keyboard.press("a")
    expect(page.locator("#allow")).to_be_in_viewport()
    page.keyboard.press("a")
    assert decided(agent)["updatedInput"]["command"] == lines


def test_a_request_that_ends_because_its_id_was_used_twice_is_named(
    agent: Serving, window: Windows
) -> None:
    """One response is accepted for each id: the page says what became of the other request."""
    agent.say(prompt(1))
    page = window().page
    expect(page.locator("#allow")).to_be_visible()
    agent.say(prompt(1).replace("echo 1", "echo again"))
    expect(page.locator("#rows .row")).to_have_count(2)
    page.reload()
    expect(page.locator(".remarks")).to_contain_text("id")
    until_keys_act(page)
    page.keyboard.press("a")
    assert decided(agent)["updatedInput"]["command"] == "echo 1"
    expect(page.locator(".sent .banner")).to_contain_text("used the same id for another request")
    page.get_by_role("link", name="Show that request").click()
    expect(page.locator("#status .banner")).to_contain_text("Another request with the same id")
