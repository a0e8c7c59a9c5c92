"""Ask the user back, in the page, while a call waits: with a real server and a test as the host."""

import json
from typing import Any

import pytest
from playwright.sync_api import expect

from tests.browser.seats import Windows, answer_all, call, open_menu, request
from tests.browser.test_page import AXE, violations
from tests.support.desk_process import Desking
from tests.support.serve_process import Serving
from tests.support.waiting import until

pytestmark = pytest.mark.browser


def begin(host: Serving, desk: Desking, **declared: Any) -> None:  # noqa: ANN401 - any JSON value
    """Shake hands as a client that can be asked something."""
    client = {"name": "test-host", "version": "1.0"}
    params = {"protocolVersion": "2025-06-18", "capabilities": declared, "clientInfo": client}
    host.say(request("initialize", params, "0"))
    answer_all(desk)
    host.hear()
    host.say('{"jsonrpc":"2.0","method":"notifications/initialized"}')


def test_the_user_is_asked_while_the_call_waits_and_the_answer_appears(
    desk: Desking, host: Serving, window: Windows
) -> None:
    """elicitation/create beside the open call; what is being written is not touched."""
    begin(host, desk, elicitation={})
    host.say(call("7", city="Tokyo"))
    page = window().page
    page.locator("#sentence").fill("Sunny in the part of Tokyo called ")
    open_menu(page)
    page.locator("#ask").click()
    expect(page.locator("[name=words]")).to_be_focused()
    page.keyboard.type("Which part of Tokyo?")
    page.locator("button[value=send]").click()
    asked = json.loads(host.hear())
    assert asked["method"] == "elicitation/create"
    assert asked["params"]["message"] == "Which part of Tokyo?"
    expect(page.locator(".question.open")).to_contain_text("has not answered yet")
    box = page.locator("#sentence")
    expect(box).to_have_value("Sunny in the part of Tokyo called ")
    box.focus()
    page.keyboard.press("End")
    said = {"action": "accept", "content": {"answer": "Shinjuku"}}
    host.say(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": said}))
    expect(page.locator(".question.told")).to_contain_text("Shinjuku")
    expect(page.locator("#said")).to_contain_text("Your question was answered")
    expect(box).to_be_focused()
    page.keyboard.type("Shinjuku")
    page.keyboard.press("Control+Enter")
    answer = json.loads(host.hear())
    assert answer["id"] == 7
    assert answer["result"]["content"][0]["text"].endswith("called Shinjuku")


def test_a_question_that_is_wrong_comes_back_and_can_be_sent_anyway(
    desk: Desking, host: Serving, window: Windows
) -> None:
    """The server judges it as everything that is said first."""
    begin(host, desk, elicitation={})
    host.say(call())
    name = until(host.find_session, "a session").name
    page = window().goto(f"/m/{name}/2/ask")
    page.locator("[name=words]").fill("Which?")
    page.locator("button[value=json]").click()
    text = page.locator("[name=text]").input_value()
    page.locator("[name=text]").fill(text.replace("elicitation/create", "sampling/createMessage"))
    page.locator("button[value=send]").click()
    expect(page.locator(".problems")).to_contain_text("sampling")
    page.locator("button[value=anyway]").click()
    assert json.loads(host.hear())["method"] == "sampling/createMessage"


@pytest.mark.skipif(not AXE.exists(), reason="axe-core is not installed: run `make test`")
@pytest.mark.parametrize(("scheme", "locale"), [("light", "ja-JP"), ("dark", "en-US")])
def test_axe_finds_nothing_where_one_asks(
    desk: Desking, host: Serving, window: Windows, scheme: str, locale: str
) -> None:
    """The form, and a question with its answer; at 320 pixels nothing is wider."""
    begin(host, desk, elicitation={})
    host.say(call())
    name = until(host.find_session, "a session").name
    page = window(color_scheme=scheme, locale=locale).goto(f"/m/{name}/2/ask")
    page.locator(".further summary").click()
    found = violations(page)
    page.set_viewport_size({"width": 320, "height": 640})
    assert page.evaluate("document.documentElement.scrollWidth") <= 320
    page.locator("[name=words]").fill("Which part?")
    page.locator("button[value=send]").click()
    asked = json.loads(host.hear())
    result = {"action": "accept", "content": {"answer": "x" * 300}}
    host.say(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": result}))
    expect(page.locator(".question.told")).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") <= 320
    found += violations(page)
    assert found == []
