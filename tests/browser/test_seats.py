"""Two pages play MCP against each other: one person is the model, another the server."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from tests.serving import bare_environment
from tests.waiting import until

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from playwright.sync_api import Browser, Page

pytestmark = pytest.mark.browser


@pytest.fixture
def table(tmp_path: Path) -> Iterator[tuple[subprocess.Popen[str], dict[str, str]]]:
    """A table where people hold the model and the server; the links that it printed."""
    home = tmp_path / "home"
    environment = bare_environment(tmp_path) | {"PYTHONUTF8": "1"}
    process = subprocess.Popen(
        [
            *(sys.executable, "-m", "humanmcp", "play", "--people", "model,server"),
            *("--home", str(home), "--lang", "en"),
        ],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        encoding="utf-8",
        env=environment,
    )
    links: dict[str, str] = {}
    assert process.stdout is not None
    for line in process.stdout:
        seat, where = line.split(maxsplit=1)
        links[seat] = where.strip()
        if seat == "model":
            break
    yield process, links
    process.terminate()
    process.communicate()
    facts = home / "desk.json"
    if facts.exists():
        pid = json.loads(facts.read_text(encoding="utf-8"))["pid"]
        subprocess.run(["kill", str(pid)], check=False)


@pytest.fixture
def pages(
    browser: Browser, table: tuple[subprocess.Popen[str], dict[str, str]]
) -> Iterator[dict[str, Page]]:
    """Two browsers that share nothing, each opened with the link of its seat."""
    _process, links = table
    found = {}
    contexts = []
    for seat in ("model", "server"):
        context = browser.new_context(locale="en-US")
        context.set_default_timeout(20_000)
        contexts.append(context)
        page = context.new_page()
        page.goto(links[seat])
        page.wait_for_url(re.compile("session="))
        found[seat] = page
    yield found
    for context in contexts:
        context.close()


def shows(page: Page, method: str) -> None:
    """Wait until this message is open in the composer."""
    expect(page.locator("article.message .method, article.message h1").first).to_be_visible()
    until(
        lambda: method in page.locator("#island").text_content(),  # type: ignore[operator]  # it is there
        f"{method} in the page",
    )


def test_two_pages_finish_the_weather_conversation(
    table: tuple[subprocess.Popen[str], dict[str, str]], pages: dict[str, Page]
) -> None:
    """Issue 5: the model picks a tool and fills its form; the server answers; the model tells."""
    process, _links = table
    server, model = pages["server"], pages["model"]

    shows(server, '"initialize"')
    server.locator("#send").click()
    shows(server, '"tools/list"')
    server.locator("#tab-json").click()
    tools = {
        "tools": [
            {
                "name": "get-japan-forecast",
                "description": "Get weather forecast",
                "inputSchema": {
                    "type": "object",
                    "properties": {"location": {"type": "string"}},
                    "required": ["location"],
                },
            }
        ]
    }
    token = json.loads(server.locator("#island").text_content() or "{}")["id"]
    answer = {"jsonrpc": "2.0", "id": json.loads(token), "result": tools}
    server.locator("#document, #editor [contenteditable]").first.fill(json.dumps(answer))
    server.locator("#send").click()

    shows(model, '"sampling/createMessage"')
    model.get_by_role("button", name="Call weather__get-japan-forecast").click()
    model.locator("#form-fields input").fill("東京")
    model.locator("#send").click()

    shows(server, '"tools/call"')
    expect(server.locator("article.message")).to_contain_text("東京")
    server.locator("#sentence").fill("sunny")
    server.locator("#send").click()

    expect(model.locator("article.message")).to_contain_text("sunny", timeout=20_000)
    model.get_by_role("button", name="Say something").click()
    model.locator("#form-fields textarea").fill("東京は晴れです。")
    model.locator("#send").click()

    out, _ = process.communicate(timeout=30)
    assert process.returncode == 0
    assert "server | sunny" in out
    assert " model | 東京は晴れです。" in out
