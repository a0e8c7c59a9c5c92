"""The whole demo in the page, by keyboard alone, in both languages; and real SDK clients."""

import json
import sys
import threading
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client
from playwright.sync_api import expect

from tests.browser.seats import PHONE, Windows
from tests.support.desk_process import Desking
from tests.support.waiting import until

pytestmark = pytest.mark.browser


@pytest.mark.parametrize("locale", ["en-US", "ja-JP"])
def test_the_whole_demo_by_keyboard_alone(desk: Desking, window: Windows, locale: str) -> None:
    """Try it now, then answer everything that comes, with keys; the history has all of it."""
    page = window(locale=locale).page
    for _ in range(40):
        page.keyboard.press("Tab")
        if page.evaluate(
            "document.activeElement.closest('form')?.action.endsWith('/try') ?? false"
        ):
            break
    page.keyboard.press("Enter")
    answered: list[str] = []
    while len(answered) < 3:
        expect(page.locator(".scripted article.message")).to_be_visible()
        key = page.locator("article.message").get_attribute("data-key") or ""
        if key in answered:
            page.wait_for_function(
                "key => document.querySelector('article.message')?.dataset.key !== key", arg=key
            )
            continue
        answered.append(key)
        expect(page.locator("#sentence")).to_be_focused()
        page.keyboard.insert_text("晴れ sunny")
        page.keyboard.press("Control+Enter")
        expect(page.locator(".sent, .empty .motto").first).to_be_visible()
        if len(answered) == 3:
            break
    until(lambda: not desk.get("/api/exchanges")["waiting"] or None, "nothing waits after the demo")
    lines = desk.get("/api/history")["lines"]
    sent = [one for one in lines if one["way"] == "out" and one["by"] == "desk"]
    assert len(sent) == 3
    assert any("晴れ" in one["gist"] for one in sent)


@pytest.mark.parametrize("device", [{}, PHONE], ids=["computer", "phone"])
def test_try_it_now_is_a_lesson_that_ends_with_success(
    desk: Desking, window: Windows, device: dict[str, Any]
) -> None:
    """Numbered steps, filled in; what the host understood after each; a summary at the end."""
    page = window(**device).page
    page.get_by_role("button", name="Try it now").click()
    lesson = page.locator(".lesson")
    for number, task in enumerate(("Tokyo", "refuse", "last"), 1):
        expect(lesson).to_contain_text(f"Step {number} of 3")
        expect(lesson).to_contain_text(task)
        expect(page.locator(".from")).to_contain_text("humanmcp demo host")
        expect(page.locator(".remarks")).to_have_count(0)
        if number > 1:
            expect(lesson.locator("> .told")).to_contain_text("The host understood")
            expect(lesson.locator(".handshake")).to_contain_text("initialize: the host introduces")
        expect(page.locator("h1")).to_contain_text("get-japan-forecast")
        page.locator("#sentence").fill("It is sunny.")
        page.locator("#send").click()
    expect(page.locator(".motto")).to_have_text("You were the MCP server.")
    expect(page.locator("ol.lesson .told")).to_have_count(3)
    expect(page.locator(".handshake .told")).to_have_count(2)
    expect(page.locator("ol.lesson")).to_contain_text("the tool answers “It is sunny.”")
    expect(page.get_by_role("link", name="Connect a real host")).to_be_visible()
    with page.expect_download() as download:
        page.get_by_role("link", name="Export").click()
    assert "It is sunny." in download.value.path().read_text(encoding="utf-8")
    page.get_by_role("button", name="Repeat without help").click()
    expect(page.locator("article.message h1")).to_contain_text("The host starts the session")
    expect(lesson).to_have_count(0)


@pytest.mark.extension("text_files")
def test_a_demo_that_is_answered_in_its_files_ends_on_the_page_too(
    desk: Desking, window: Windows, home: Path
) -> None:
    """Each card leads to the next one, and the last to what the host understood."""
    page = window().page
    page.get_by_role("button", name="Try it now").click()
    for number in (1, 2, 3):
        expect(page.locator(".lesson")).to_contain_text(f"Step {number} of 3")
        files, came = home / "demo", f'"id":{number + 2},'
        until(lambda: came in (files / "in.txt").read_text("utf-8"), "the request in the files")  # noqa: B023 - waited for
        result = {"content": [{"type": "text", "text": str(number + 2)}]}
        answer = {"jsonrpc": "2.0", "id": number + 2, "result": result}
        (files / "out.txt").write_text(json.dumps(answer), encoding="utf-8")
    expect(page.locator(".motto")).to_have_text("You were the MCP server.")
    assert not desk.get("/api/exchanges")["waiting"]


def test_a_real_client_reads_what_was_typed(desk: Desking, window: Windows, home: Path) -> None:
    """The official Python client calls a tool that it never listed, and checks the result."""
    results: list[Any] = []

    async def host() -> None:
        server = StdioServerParameters(
            command=sys.executable, args=["-m", "humanmcp", "serve", "--home", str(home), "--auto"]
        )
        async with stdio_client(server) as (read, write), ClientSession(read, write) as session:
            await session.initialize()
            results.append(await session.call_tool("ask_human", {"question": "Tokyo"}))
            results.append(await session.call_tool("ask_human", {"question": "東京"}))

    running = threading.Thread(target=lambda: anyio.run(host), daemon=True)
    running.start()
    page = window().page
    for sentence in ("Sunny, 23 °C 😀", 'line one\nline "two"'):
        expect(page.locator("#sentence")).to_have_value("")
        page.locator("#sentence").fill(sentence)
        page.locator("#send").click()
        expect(page.locator(".sent")).to_be_visible()
    running.join(20)
    assert not running.is_alive()
    answers = [one.structured_content["answers"] for one in results]
    assert answers == [{"Tokyo": "Sunny, 23 °C 😀"}, {"東京": 'line one\nline "two"'}]
    assert all(json.loads(one.content[0].text) == one.structured_content for one in results)
