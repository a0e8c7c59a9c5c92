"""Two pages play MCP against each other: one person is the model, another the server."""

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, Route, expect

from humanmcp.locales import sentences_of
from humanmcp.protocol.conversation.exchange import NegotiatedState
from humanmcp.protocol.conversation.transcript import Direction
from tests.browser.seats import ONCE, Windows, close
from tests.desk.seated import Seated
from tests.support.desk_process import Desking
from tests.support.serve_process import bare_environment
from tests.support.waiting import PATIENCE, until

pytestmark = pytest.mark.browser

LOCALES = {"en": "en-US", "ja": "ja-JP"}


class Table:
    """A running play: the links that it printed, and a browser for each of them."""

    def __init__(self, browser: Browser, folder: Path, people: str, language: str = "en") -> None:
        """Lay it, and open the page of each seat in a browser of its own."""
        self.home = folder / "home"
        self.process = subprocess.Popen(
            [
                *(sys.executable, "-m", "humanmcp", "play", "--people", people),
                *("--home", str(self.home), "--lang", language),
            ],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            encoding="utf-8",
            env=bare_environment(folder) | {"PYTHONUTF8": "1"},
        )
        links: dict[str, str] = {}
        assert self.process.stdout is not None
        for line in self.process.stdout:
            seat, where = line.split(maxsplit=1)
            links[seat] = where.strip()
            if seat == "model":
                break
        self.contexts = []
        self.pages: dict[str, Page] = {}
        for seat in people.split(","):
            context = browser.new_context(locale=LOCALES[language])
            context.set_default_timeout(PATIENCE * 1000)
            self.contexts.append(context)
            page = self.pages[seat] = context.new_page()
            page.goto(links[seat])
            page.wait_for_url(re.compile("session="))

    def end(self) -> str:
        """Wait for the end of the play; return what the terminal showed."""
        out, _ = self.process.communicate(timeout=PATIENCE)
        assert self.process.returncode == 0
        return out

    def clear(self) -> None:
        """End what is left, the desk too: it would outlive its starter."""
        for context in self.contexts:
            close(context)
        self.process.terminate()
        self.process.communicate()
        facts = self.home / "desk.json"
        if facts.exists():
            pid = json.loads(facts.read_text(encoding="utf-8"))["pid"]
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGTERM)


@pytest.fixture
def lay(browser: Browser, tmp_path: Path) -> Iterator[Callable[..., Table]]:
    """Lay a table with people in these seats."""
    tables: list[Table] = []

    def laid(people: str, language: str = "en") -> Table:
        tables.append(Table(browser, tmp_path, people, language))
        return tables[-1]

    yield laid
    for one in tables:
        one.clear()


def shows(page: Page, method: str) -> None:
    """Wait until this message is open in the composer."""
    expect(page.locator("article.message .method, article.message h1").first).to_be_visible()
    until(
        lambda: method in page.locator("#initial-state").text_content(),  # type: ignore[operator]  # it is there
        f"{method} in the page",
    )


@pytest.mark.parametrize("language", LOCALES)
def test_two_people_play_to_the_end_without_a_word_of_json(
    lay: Callable[..., Table], language: str
) -> None:
    """The last exercise of the lesson: two browsers, both languages, keys where they help."""
    words = sentences_of("desk", language)
    table = lay("model,server", language)
    server, model = table.pages["server"], table.pages["model"]
    expect(model.locator(".empty .motto")).to_have_text(words["motto.model"])
    for method in ("initialize", "tools/list"):
        shows(server, f'"{method}"')
        server.locator("#send").click()

    shows(model, '"sampling/createMessage"')
    # their door leads to their seat, so there is nothing to choose between.
    expect(model.locator("#list .sessions")).to_have_count(0)
    model.get_by_role("button", name=f"{words['start.call']} weather__").click()
    model.locator("#form-fields input").press_sequentially("Tokyo")
    model.keyboard.press("Control+Enter")
    expect(model.locator(".sent")).to_contain_text("Tokyo")
    expect(model.locator("article.message")).to_have_count(0)

    shows(server, '"tools/call"')
    expect(server.locator("#sentence")).to_be_focused()
    server.keyboard.type("sunny")
    server.keyboard.press("Control+Enter")

    expect(model.locator("article.message .turn")).to_have_count(3)
    expect(model.locator("#rows .row")).to_have_count(1)
    model.get_by_role("button", name=words["start.say"]).click()
    model.locator("#form-fields textarea").fill("It is sunny in Tokyo.")
    model.keyboard.press("Control+Enter")
    assert " model | It is sunny in Tokyo." in table.end()
    for page, motto in ((server, words["motto"]), (model, words["motto.model"])):
        expect(page.locator(".empty")).to_contain_text(words["empty.ended"])
        expect(page.locator(".empty .motto")).to_have_text(motto)


def test_the_host_s_person_is_asked_in_forms(lay: Callable[..., Table]) -> None:
    """An elicitation is a form in the page; the person decides about each call."""
    table = lay("host")
    page = table.pages["host"]
    shows(page, '"elicitation/create"')
    expect(page.locator("h1")).to_contain_text("You are the user at the host")
    expect(page.locator(".filled")).to_have_count(0)
    # it is asked in words, and no name of the protocol is to be read.
    for raw in ("requestedSchema", "action", "choice"):
        expect(page.locator(".asked table")).to_have_count(0)
        expect(page.locator("#form-fields")).not_to_contain_text(raw)
    page.get_by_label("Your message to the model").fill("How is the weather?")
    page.locator("#send").click()

    for place, choice in (("Tokyo", "Call the tool"), ("Osaka", "Refuse the call")):
        expect(page.locator("h1")).to_contain_text(place)
        page.get_by_label("What to do with this call").select_option(label=choice)
        page.locator("#send").click()

    expect(page.locator("h1")).to_contain_text("That is what I found out")
    # the host's page shows the conversation.
    expect(page.locator(".turn.user .words").first).to_have_text("How is the weather?")
    expect(page.locator(".turn.user .speaker").first).to_have_text("You (the user)")
    expect(page.locator(".turn.tool")).to_contain_text("sunny")
    page.get_by_role("combobox", name="Action").select_option(label="Decline")
    page.locator("#send").click()
    out = table.end()
    assert "  host | How is the weather?" in out
    expect(page.locator(".empty")).to_be_visible()
    expect(page.get_by_role("button", name="Send answer")).to_have_count(0)
    assert "server | sunny" in out
    assert "  host | The user refused this tool call." in out


@pytest.mark.extension("text_files")
def test_the_client_s_person_asks_the_server_themselves(lay: Callable[..., Table]) -> None:
    """The client's seat has a voice of its own in the page: lists, calls, and mistakes."""
    table = lay("host,client")
    client = table.pages["client"]
    client.get_by_role("link", name="Send a message to the server").first.click()
    box = client.locator(
        "textarea[name=text]"
    )  # the JSON editor, where it was built, writes into it
    expect(box).to_have_value(re.compile('"method": "tools/list"'))
    client.get_by_role("button", name="Send", exact=True).click()
    expect(client.get_by_text("Sent.", exact=True)).to_be_visible()
    expect(client.locator("#said-last")).to_contain_text('"tools":[{"name":"get-japan-forecast"')

    client.get_by_role("link", name="Call get-japan-forecast").click()
    # a form of the tool's inputSchema, and the JSON of it.
    client.get_by_label("location").fill("Kyoto")
    client.get_by_role("button", name="Show as JSON").click()
    asked = json.loads(box.input_value())
    assert asked["params"]["arguments"] == {"location": "Kyoto"}
    asked["params"]["arguments"]["location"] = ""
    assert asked["params"] == {"name": "get-japan-forecast", "arguments": {"location": ""}}
    asked["params"]["arguments"]["location"] = "東京"
    laid_out = json.dumps(asked, ensure_ascii=False, indent=2)
    built = client.locator("body[data-editor]").count()

    def write(text: str) -> None:
        if built:
            expect(client.locator(".editor")).to_be_visible()
        client.get_by_role("textbox", name="Your message").fill(text)

    write(laid_out + "}")
    client.get_by_role("button", name="Send", exact=True).click()
    expect(client.locator("main .problems")).to_contain_text("J26")
    assert box.input_value().endswith("}}"), "what was typed is kept"
    write(laid_out)
    if built:  # undone and done again, here too
        client.keyboard.press("Control+z")
        expect(box).not_to_have_value(laid_out)
        client.keyboard.press("Control+Shift+z")
        expect(box).to_have_value(laid_out)
    client.get_by_role("button", name="Send", exact=True).click()
    expect(client.get_by_text("Sent.", exact=True)).to_be_visible()
    expect(client.locator("#said-last .wire").first).to_contain_text('"text":"晴れ"')

    def sent() -> int:
        texts = (file.read_text("utf-8") for file in table.home.glob("sessions/*/in.txt"))
        return sum('"location":"東京"' in line for text in texts for line in text.splitlines())

    until(sent, "it is in in.txt")
    assert sent() == 1, "one line, however it was typed"

    host = table.pages["host"]
    expect(host.get_by_role("link", name="Send a message to the server")).to_have_count(0)
    shows(host, "elicitation/create")
    host.get_by_role("combobox", name="Action").select_option(label="Decline")
    host.locator("#send").click()
    table.end()


def test_each_seat_has_its_own_door(lay: Callable[..., Table]) -> None:
    """The model's page cannot see or answer what waits for the server."""
    table = lay("model,server")
    server, model = table.pages["server"], table.pages["model"]
    shows(server, '"initialize"')
    key = server.locator("article.message").get_attribute("data-key")
    start = model.url.partition("?")[0]
    expect(model.locator("#rows .row")).to_have_count(0)
    model.goto(f"{start}history")
    expect(model.locator("main")).not_to_contain_text("initialize")
    refused = model.goto(f"{start}m/{key}")
    assert refused is not None
    assert refused.status == 403
    path = f"{start}api/exchanges/{key}/reply"
    reply = model.request.post(path, data={"text": "{}"}, headers=ONCE)
    assert reply.status == 403


TRIP = {"name": "trip", "arguments": [{"name": "country"}, {"name": "city", "required": True}]}


def test_values_are_offered_for_an_argument_while_one_types(
    desk: Desking, home: Path, window: Windows
) -> None:
    """In the client's seat, after a pause; the newest text counts, and the script may come late."""
    seated = Seated(home, desk)
    seated.knows(
        "2025-11-25", NegotiatedState(server_capabilities={"prompts": {}, "completions": {}})
    )
    listed = {"jsonrpc": "2.0", "id": 1, "result": {"prompts": [TRIP]}}
    seated.lines((Direction.OUT, listed))
    cities = ["Kobe", "Kochi", "Kyoto"]

    def fitting(request: dict[str, Any]) -> dict[str, Any]:
        typed = request["params"].get("argument", {}).get("value", "")
        return {"completion": {"values": [one for one in cities if one.startswith(typed)]}}

    page = window().goto(f"/say/{seated.name}")
    held: list[Route] = []
    page.route("**/offering.js", lambda route: held.append(route))  # noqa: PLW0108 - Playwright marks it
    page.get_by_role("link", name="Get trip").click()
    page.get_by_label("country").fill("Japan")
    city = page.get_by_role("combobox", name="city")
    options = page.locator("datalist:has(option) option")
    with seated.server(fitting) as asked:
        city.press_sequentially("Ko")
        until(lambda: page.evaluate("1") and held, "the script for it is asked for")
        for route in held:
            route.continue_()
        expect(options).to_have_count(2)
        city.press_sequentially("c")
        expect(options).to_have_count(1)
        assert asked[-1]["params"]["argument"] == {"name": "city", "value": "Koc"}
        assert asked[-1]["params"]["context"] == {"arguments": {"country": "Japan"}}
        assert [one.get_attribute("value") or one.text_content() for one in options.all()] == [
            "Kochi"
        ]
        city.fill("Nara")
        page.keyboard.press("Enter")
        # the values of what was typed last may be asked for after it
        (sent,) = until(
            lambda: [one for one in asked if one["method"] == "prompts/get"],
            "it is sent by the keyboard alone",
        )
    assert sent["params"]["arguments"] == {"country": "Japan", "city": "Nara"}
