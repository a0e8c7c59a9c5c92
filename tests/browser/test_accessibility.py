"""Every page, for whoever sees little, sees nothing, or has no mouse: looked at by axe."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Final

import pytest
from playwright.sync_api import Browser, Page, expect

from humanmcp.export.readable import write_html
from humanmcp.export.recording import ExportOptions
from humanmcp.extensions.judge.reports import FORMATS
from humanmcp.extensions.judge.verdicts import Verdict, Word
from humanmcp.inbox.contract import Item, Key, Role, SessionFacts
from humanmcp.inbox.folder import FolderInbox
from tests.browser.seats import (
    INITIALIZE,
    PHONE,
    Window,
    call,
    request,
)
from tests.browser.test_page import AXE, COLOURS, EDITOR, RULES, fill, views, violations
from tests.extensions.agents.test_hook import Agent
from tests.extensions.tap.tap_process import Tapped, server
from tests.protocol.conversation.test_prompts import CLAUDE, COPILOT
from tests.support.desk_process import Desking
from tests.support.recordings import WEATHER
from tests.support.serve_process import Serving
from tests.support.waiting import until

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(not AXE.exists(), reason="axe-core is not installed: run `make test`"),
]

OPTION: Final = {"label": "SQLite", "description": "one file"}
QUESTION: Final[dict[str, Any]] = {"question": "Which database?", "options": [OPTION, OPTION]}
SEVERAL: Final[dict[str, Any]] = {
    "questions": [
        {**QUESTION, "options": [OPTION, {"label": "PostgreSQL"}]},
        {"question": "Which systems?", "options": ["Linux", "macOS"], "multiple": True},
    ]
}
ASKED: Final = [{**QUESTION, "header": "Store", "multiSelect": False}]
HOOKS: Final[list[dict[str, Any]]] = [
    CLAUDE,
    {**CLAUDE, "tool_name": "Write", "tool_input": {"file_path": "/p/a.txt", "content": "a\nb"}},
    {
        **CLAUDE,
        "tool_name": "Edit",
        "tool_input": {"file_path": "/p/a.txt", "old_string": "a", "new_string": "b"},
    },
    {**CLAUDE, "tool_name": "ExitPlanMode", "tool_input": {"plan": "1. One\n2. Two"}},
    {**CLAUDE, "tool_name": "AskUserQuestion", "tool_input": {"questions": ASKED}},
    COPILOT,
]
FORM: Final = {
    "type": "object",
    "properties": {
        "name": {"type": "string"},
        "size": {"type": "string", "enum": ["s", "m"]},
        "sure": {"type": "boolean"},
    },
    "required": ["name"],
}
OF_CLIENTS: Final[list[tuple[str, dict[str, Any]]]] = [
    ("sampling/createMessage", {"messages": [], "maxTokens": 9}),
    ("elicitation/create", {"message": "Who?", "requestedSchema": FORM}),
    ("roots/list", {}),
]


@pytest.fixture(scope="module")
def full(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Desking, str]]:
    """A desk where a card of each kind waits, and the session of a host."""
    home = tmp_path_factory.mktemp("full") / "home"
    with ExitStack() as stack:
        desk = stack.enter_context(Desking(home))
        host = stack.enter_context(Serving(home, "--by-hand"))
        name = fill(host, desk)
        host.say(request("prompts/get", {"name": "poem"}, "4"))
        host.say(request("resources/read", {"uri": "file:///a"}, "5"))
        host.say(call("6"))
        host.say(call("7"))
        approvals = stack.enter_context(Serving(home, "--handshake", "book", "--approvals"))
        approvals.send(INITIALIZE)
        approvals.hear()
        approvals.send('{"jsonrpc":"2.0","method":"notifications/initialized"}')
        command = {"command": "git push", "description": "Publish"}
        prompt = {"tool_name": "Bash", "input": command, "tool_use_id": "t1"}
        approvals.send(call("7", "approve", **prompt))
        approvals.send(call("8", "ask_human", **QUESTION))
        approvals.send(call("9", "ask_human", **SEVERAL))
        for one in HOOKS:
            stack.enter_context(Agent(home).asks(one))
        tapped = stack.enter_context(Tapped(home, server("echo"), "--hold", "in"))
        tapped.say(request("ping", None, "1").encode() + b"\n")
        inbox = FolderInbox(home)
        facts = SessionFacts(name="", started="2026-11-21T01:00:00.000Z", role=Role.CLIENT, pid=1)
        session = inbox.begin_session(facts)
        for number, (method, params) in enumerate(OF_CLIENTS, 1):
            line = request(method, params, str(number))
            key = Key(session, number)
            inbox.deliver(Item(key, line, method, str(number), "2025-11-25", facts.started))
        wanted = 6 + 3 + len(HOOKS) + 1 + len(OF_CLIENTS)
        until(lambda: len(desk.get("/api/exchanges")["waiting"]) >= wanted, "a card of each kind")
        yield desk, name


def cards(desk: Desking, name: str) -> list[str]:
    """List an address of every card that waits, and what is beside them."""
    waiting = desk.get("/api/exchanges")["waiting"]
    found = [f"/m/{one['session']}/{one['number']}" for one in waiting]
    return [*found, "/", "/devices", "/taps", "/offline", "/history?q=nothing-has-this"]


def places(desk: Desking, name: str) -> list[str]:
    """List an address of every other view."""
    log = "\n".join((request("tools/list", None, "1"), '{"jsonrpc":"2.0","id":"1","result":{}}'))
    headers = {**desk.bearer, "Content-Type": "application/octet-stream"}
    answer = desk.ask("POST", "/api/recordings?name=log", body=log.encode(), headers=headers)
    opened = answer.json["address"]
    beside = (f"/history?line={name}/1", f"/m/{name}/2?view=json")
    return [*views(name), *beside, opened, f"/check/{name}"]


THEMES: Final[dict[str, dict[str, Any]]] = {
    "light": {"color_scheme": "light", "locale": "ja-JP"},
    "dark": {"color_scheme": "dark", "locale": "en-US"},
    "phone": {**PHONE, "color_scheme": "light", "locale": "en-US"},
}


@pytest.mark.parametrize(
    ("listed", "theme"),
    [(listed, theme) for listed in (cards, places) for theme in ("light", "dark", "phone")],
)
def test_axe_finds_nothing_on_any_page_of_the_desk(
    full: tuple[Desking, str],
    browser: Browser,
    theme: str,
    listed: Callable[[Desking, str], list[str]],
) -> None:
    """WCAG 2.2 A and AA, best practice; with all that can be opened open.

    What is dark differs by its colours.
    """
    desk, name = full
    window = Window(browser, desk, **THEMES[theme])
    found: list[str] = []
    for path in listed(desk, name):
        page = window.goto(path)
        for part in page.locator("main details").all():
            part.evaluate("one => { one.open = true }")
        found += violations(page, COLOURS if theme == "dark" else RULES)
    window.close()
    assert (found, window.troubles) == ([], [])


@pytest.mark.parametrize(("theme", "number"), [("light", 7), ("dark", 8)])
def test_axe_finds_nothing_in_menus_and_dialogs(
    full: tuple[Desking, str], browser: Browser, theme: str, number: int
) -> None:
    """The settings, the editor, what is wrong in it, and the list of keys."""
    desk, name = full
    window = Window(browser, desk, **THEMES[theme])
    page = window.goto(f"/m/{name}/{number}")
    page.locator("header .menu").click()
    page.locator("#sentence").fill("sunny")
    page.locator("#tab-json").click()
    document = page.locator(".editor .cm-content" if EDITOR.exists() else "#document")
    expect(document).to_be_visible()
    found = violations(page)
    page.locator("[name=kind][value=error]").check()
    document.press("Space")  # before anything is typed, nothing is said of it
    expect(page.locator("#problems .problem").first).to_be_visible()
    found += violations(page)
    page.evaluate("document.getElementById('keys').showModal()")
    found += violations(page)
    window.close()
    assert found == []


def exported() -> str:
    """Return a session as a page."""
    return write_html(WEATHER, ExportOptions())


def judged() -> str:
    """Return what a judged client did as a page."""
    verdicts = [
        Verdict("banner", Word.WELL, 0.1, ("<- Server started",)),
        Verdict("nan", Word.BELIEVED, 0.2, ("<- NaN",), ("cancelled",)),
        Verdict("silent_at_second_call", Word.UNKNOWN, 0, ()),
    ]
    return FORMATS["html"](verdicts, "node client.mjs")


def see_file(browser: Browser, file: Path, **options: Any) -> Page:  # noqa: ANN401 - the browser's own options
    """Open a file in a new window."""
    page = browser.new_context(**options).new_page()
    page.goto(file.as_uri())
    return page


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("make", [exported, judged])
def test_axe_finds_nothing_in_a_page_that_is_handed_on(
    browser: Browser, tmp_path: Path, make: Callable[[], str], theme: str
) -> None:
    """An exported session, and the report on a client."""
    file = tmp_path / "page.html"
    file.write_text(make(), encoding="utf-8")
    page = see_file(browser, file, color_scheme=theme)
    for part in page.locator("details").all():
        part.evaluate("one => { one.open = true }")
    found = violations(page)
    page.context.close()
    assert found == []


REACHED: Final = """() => {
  const shown = (one) =>
    one.checkVisibility({ visibilityProperty: true }) && !one.closest("[inert]");
  const all = [...document.querySelectorAll(
    "a[href], button, input, select, textarea, summary, [tabindex='0'], [contenteditable='true']")]
    .filter((one) => shown(one) && !one.disabled && one.type !== "hidden" && one.tabIndex >= 0);
  const group = (one) => one.type === "radio" ? one.name : one;
  globalThis.left = new Set(all.map(group));
  document.addEventListener("focusin", ({ target }) => left.delete(group(target)));
  return left.size;
}"""
STANDS: Final = "() => [document.activeElement.closest('.editor') !== null, left.size]"
"""Whether the focus is in the editor, and how many were not reached."""
LEFT: Final = """() => [...left]
  .filter((one) => typeof one === "string" || (one.isConnected && one.checkVisibility()))
  .map((one) => one.outerHTML?.slice(0, 120) ?? `radio ${one}`)"""


@pytest.mark.parametrize("half", [0, 1])
@pytest.mark.parametrize("listed", [cards, places])
def test_tab_reaches_all_that_can_be_pressed(
    full: tuple[Desking, str],
    browser: Browser,
    listed: Callable[[Desking, str], list[str]],
    half: int,
) -> None:
    """No trap on the way, nothing that only a mouse finds; a card is called as its title."""
    desk, name = full
    window = Window(browser, desk)
    found: dict[str, object] = {}
    for path in listed(desk, name)[half::2]:
        page = window.goto(path)
        for _ in range(2 * page.evaluate(REACHED) + 10):
            in_editor, count = page.evaluate(STANDS)
            if not count:
                break
            if in_editor:
                page.keyboard.press("Escape")  # as the page says beside it
            page.keyboard.press("Tab")
        if left := page.evaluate(LEFT):
            found[path] = left
        if path.startswith("/m/") and path.count("/") == 3:
            title = page.locator("main h1").inner_text()
            expect(page.locator("main article")).to_have_accessible_name(title)
            expect(page.locator("#said[role=status][aria-live=polite]")).to_have_count(1)
    nameless = window.goto("/").locator("#rows .group > .who > span:empty")
    expect(nameless).to_have_count(0)
    window.close()
    assert found == {}
