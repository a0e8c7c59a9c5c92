"""Take a picture of every view: light, dark, phone and Japanese; and the moving one.

`python -m tools.screenshots [FOLDER]` writes them to `screenshots/`, which git ignores.
A real server and a real desk are behind each of them. `--manual` writes the pictures of the cards
in the manual instead, to `docs/images/`.
"""

import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Final

from playwright.sync_api import Browser, Page, ViewportSize, sync_playwright

from tests.browser import chromium
from tests.browser.seats import INITIALIZE, PHONE, Window, begin, call, open_menu, request
from tests.browser.test_accessibility import exported, judged
from tests.browser.test_answering import write_json
from tests.extensions.agents.test_hook import Agent
from tests.protocol.conversation.test_prompts import CLAUDE
from tests.support import full_class
from tests.support.desk_process import Desking
from tests.support.room_process import Rooming
from tests.support.serve_process import Serving
from tests.support.waiting import until
from tools import moving_picture

MANNERS: Final[dict[str, dict[str, Any]]] = {
    "light": {"viewport": {"width": 1440, "height": 900}, "color_scheme": "light"},
    "dark": {"viewport": {"width": 1440, "height": 900}, "color_scheme": "dark"},
    "japanese": {"viewport": {"width": 1440, "height": 900}, "locale": "ja-JP"},
    "phone": PHONE,
    "small": {"viewport": {"width": 320, "height": 640}, "has_touch": True, "is_mobile": True},
    "double": {"viewport": {"width": 720, "height": 450}, "device_scale_factor": 2},
}
SEEN: Final = ("light", "dark", "phone", "japanese")
LAPTOP: Final = ViewportSize(width=1280, height=800)
"""What a teacher sees without scrolling."""
BROKEN: Final = (
    '{\n  "jsonrpc": "2.0",\n  "id": "7",\n  "result": { "content": [\n'
    '    { "type": "txt", "text": "晴れ" } ] }\n}'
)


def main(folder: Path) -> None:
    """Take all of them."""
    folder.mkdir(parents=True, exist_ok=True)
    with sync_playwright() as playwright, tempfile.TemporaryDirectory() as scratch:
        browser = chromium.launch(playwright)
        empty = Path(scratch) / "empty"
        with Desking(empty) as desk:
            for name in ("light", "phone"):
                window = Window(browser, desk, **MANNERS[name])
                window.goto("/")
                window.page.screenshot(path=folder / f"first-run-{name}.png")
                window.close()
        home = Path(scratch) / "home"
        with (
            Desking(home) as desk,
            Serving(home, "--by-hand", "--title", "Weather", "--client-limit", "300") as host,
        ):
            session = _fill(desk, host)
            with Serving(home, "--by-hand") as other:
                _greet(desk, other)
                _all(browser, desk, folder, session)
        _cards(browser, folder, Path(scratch) / "agent")
        _hook(browser, folder, Path(scratch) / "hook")
        _class(browser, folder, Path(scratch) / "class")
        _report(browser, folder, Path(scratch))
        browser.close()
    moving_picture.main(folder)


COMMAND: Final = {"command": "git push origin main", "description": "Publish the fix"}
QUESTIONS: Final[dict[str, list[dict[str, Any]]]] = {
    "en": [
        {
            "question": "Which database?",
            "context": "One process writes, and all data fits on one computer.",
            "options": [
                {"label": "SQLite", "description": "one file, nothing to install"},
                {"label": "PostgreSQL", "description": "for several computers"},
            ],
            "default": "SQLite",
        },
        {
            "question": "Which systems must work?",
            "options": ["Linux", "macOS", "Windows"],
            "multiple": True,
        },
    ],
    "ja": [
        {
            "question": "どのデータベースにしますか?",
            "context": "書き込むプロセスは一つで、データは一台に収まります。",
            "options": [
                {"label": "SQLite", "description": "ファイル一つ。インストール不要"},
                {"label": "PostgreSQL", "description": "複数のコンピューターで使うとき"},
            ],
            "default": "SQLite",
        },
        {
            "question": "対応するシステムは?",
            "options": ["Linux", "macOS", "Windows"],
            "multiple": True,
        },
    ],
}
"""What an agent asks in the pictures of the cards, in each language."""
CARD: Final[dict[str, Any]] = {"viewport": {"width": 1120, "height": 720}}
"""The window of the pictures in the manual."""


def _cards(browser: Browser, folder: Path, home: Path) -> None:
    """Show a permission prompt, one question and several: light, dark, on a phone, in Japanese."""
    for name in SEEN:
        language = "ja" if name == "japanese" else "en"
        for view, page in _each_card(browser, home / name, language, MANNERS[name]):
            page.screenshot(path=folder / f"{view}-{name}.png", full_page=name == "phone")


def _hook(browser: Browser, folder: Path, home: Path) -> None:
    """Show what an agent hands to `humanmcp hook`."""
    change = {"file_path": "/p/app.py", "old_string": "retries = 1", "new_string": "retries = 3"}
    with Desking(home) as desk, ExitStack() as stack:
        for asked in ({}, {"tool_name": "Edit", "tool_input": change}):
            stack.enter_context(Agent(home).asks({**CLAUDE, **asked}))
        until(lambda: len(_waiting(desk)) == 2, "the prompts wait")
        for name in SEEN:
            window = Window(browser, desk, **MANNERS[name])
            for key in _waiting(desk):
                page = window.goto(f"/m/{key['session']}/{key['number']}")
                view = "hook-edit" if page.get_by_text("retries").count() else "hook"
                page.screenshot(path=folder / f"{view}-{name}.png", full_page=name == "phone")
            window.close()


def _class(browser: Browser, folder: Path, home: Path) -> None:
    """Show a room with thirty people: to the teacher, on the projector, and to a learner."""
    home.mkdir()
    with Rooming(home / "home") as room:
        _, learner, *_ = full_class.fill(room)
        views = {"teacher": room.teacher_link, "wall": room.wall_link, "learner": learner.link}
        views["join"] = f"http://127.0.0.1:{room.port}/?code={room.code}"
        for name in SEEN:
            for view, link in views.items():
                context = browser.new_context(**MANNERS[name], reduced_motion="reduce")
                page = context.new_page()
                page.goto(link)
                page.wait_for_url(lambda url: "/s/" not in url)
                if view == "teacher":
                    page.set_viewport_size(MANNERS[name]["viewport"] if name == "phone" else LAPTOP)
                    page.locator("li.seat .acts").first.click()
                    page.locator("#chosen").wait_for()
                page.screenshot(path=folder / f"{view}-{name}.png")
                for what in ("steps", "mistake", "answer") if view == "wall" else ():
                    room.teacher().submit("/room", act="wall", show=what, code="M09", seat=3)
                    page.locator(f".of-{what}").wait_for()
                    page.screenshot(path=folder / f"wall-{what}-{name}.png")
                room.teacher().submit("/room", act="wall", show="code")
                context.close()


def _report(browser: Browser, folder: Path, scratch: Path) -> None:
    """Show a session that was exported, and the report on a client."""
    for view, text in (("exported", exported()), ("judge", judged())):
        file = scratch / f"{view}.html"
        file.write_text(text, encoding="utf-8")
        for name in ("light", "dark", "phone"):  # their language is that of the terminal
            context = browser.new_context(**MANNERS[name])
            page = context.new_page()
            page.goto(file.as_uri())
            page.screenshot(path=folder / f"{view}-{name}.png")
            context.close()


def of_manual(folder: Path) -> None:
    """Take the pictures of the manual."""
    with sync_playwright() as playwright, tempfile.TemporaryDirectory() as scratch:
        browser = chromium.launch(playwright)
        for language, ending in (("en", ""), ("ja", "-ja")):
            manner = {**CARD, "locale": "ja-JP" if language == "ja" else "en-US"}
            home = Path(scratch) / language / "app" / "inbox"
            for view, page in _each_card(browser, home, language, manner):
                if view != "question":
                    page.locator(".folder").evaluate("one => { one.textContent = '/home/me/app' }")
                    page.screenshot(path=folder / f"{view}{ending}.png")
        browser.close()


def _each_card(
    browser: Browser, home: Path, language: str, manner: dict[str, Any]
) -> Iterator[tuple[str, Page]]:
    """Yield the page of each card, with its name."""
    home.mkdir(parents=True)
    several = QUESTIONS[language]
    with Desking(home) as desk, Serving(home, "--handshake", "book", "--approvals") as host:
        host.say(INITIALIZE.replace("test-host", "claude-code"))
        host.hear()
        host.say('{"jsonrpc":"2.0","method":"notifications/initialized"}')
        host.say(request("tools/list", {}, "1"))
        host.hear()
        host.say(call("7", "approve", tool_name="Bash", input=COMMAND, tool_use_id="toolu_01"))
        host.say(call("8", "ask_human", **several[0]))
        host.say(call("9", "ask_human", questions=several))
        until(lambda: len(_waiting(desk)) == 3, "the prompts wait")
        for view, key in zip(("approve", "question", "questions"), _waiting(desk), strict=True):
            window = Window(browser, desk, **manner)
            page = window.goto(f"/m/{key['session']}/{key['number']}")
            page.locator(".approval").first.wait_for()
            yield view, page
            window.close()


def _waiting(desk: Desking) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = desk.get("/api/exchanges")["waiting"]
    return sorted(found, key=lambda one: int(one["number"]))


def _all(browser: Browser, desk: Desking, folder: Path, session: str) -> None:
    for name, manner in MANNERS.items():
        _views(browser, desk, folder, name, manner, session)


def _fill(desk: Desking, host: Serving) -> str:
    """Have something of everything in the inbox. Returns the session's name."""
    begin(host, desk)
    host.say(request("tools/list", None, "1"))
    first = until(lambda: desk.get("/api/exchanges")["waiting"], "the desk has seen the request")
    session: str = first[0]["session"]
    tools = '{"tools":[{"name":"get_forecast","inputSchema":{"type":"object"}}]}'
    desk.post(f"/api/exchanges/{session}/2/reply", {"text": tools, "form": "result"})
    host.hear()
    host.say(call("3", city="札幌", days=1))
    host.say(
        '{"jsonrpc":"2.0","method":"notifications/cancelled",'
        '"params":{"requestId":3,"reason":"the user pressed Esc"}}'
    )
    host.say(call("7", city="東京", days=3))
    host.say(request("resources/read", {"uri": "file:///notes/today.md"}, '"r-8"'))
    answer = {"name": "I do not know", "method": "tools/call", "text": "I do not know."}
    desk.post("/api/answers", answer)
    return session


def _greet(desk: Desking, other: Serving) -> None:
    """Let a second host say hello; `Serving.say` would look at the first session of the home."""
    other.send(INITIALIZE)
    until(lambda: len(desk.get("/api/exchanges")["waiting"]) == 3 or None, "three wait")


def _views(  # noqa: PLR0917 - one place that knows them all
    browser: Browser, desk: Desking, folder: Path, name: str, manner: dict[str, Any], session: str
) -> None:
    window = Window(browser, desk, **manner)

    def take(view: str) -> None:
        window.page.screenshot(path=folder / f"{view}-{name}.png")

    window.goto("/")
    window.page.wait_for_selector("#rows .row")
    take("inbox")
    page = window.goto(f"/m/{session}/4")
    page.locator("#sentence").fill(
        "東京は晴れ、23 度です。" if name == "japanese" else "Sunny in Tokyo, 23 °C."
    )
    page.wait_for_selector("#wire:not([hidden])")
    take("answer")
    page.locator("#tab-json").click()
    write_json(page, BROKEN)
    page.wait_for_selector("#problems .problem.error")
    take("problems")
    _restore(page)
    for view, path in (
        ("form", f"/m/{session}/5"),
        ("cancelled", f"/m/{session}/3"),
        ("answered", f"/m/{session}/2"),
        ("history", "/history"),
        ("timeline", f"/timeline/{session}"),
        ("line", f"/line/{session}/1"),
        ("connect", "/connect"),
        ("login", "/login"),
        ("missing", "/nothing-here"),
        ("check", f"/check/{session}"),
        ("compare", f"/compare?line={session}/1&line={session}/6"),
        ("export", f"/export/{session}"),
        ("book", "/book"),
        ("server", f"/server?session={session}"),
        ("entry", f"/server/entry?session={session}&list=tools"),
        ("say", f"/say/{session}"),
        ("ask", f"/m/{session}/4/ask"),
        ("keep", f"/m/{session}/2/keep"),
        ("faults", f"/faults/{session}"),
        ("devices", "/devices"),
        ("settings-page", "/settings"),
        ("mistake", "/mistake/M09"),
        ("present", "/present"),
    ):
        window.goto(path)
        take(view)
    page = window.goto("/history")
    page.locator("#lines tbody tr:not(.day) a").nth(2).click()
    page.locator("#beside:not([hidden]) h1").wait_for()
    take("history-beside")
    window.goto("/").locator("header .menu").click()
    take("settings")
    page.keyboard.press("Escape")
    page.evaluate("document.getElementById('keys').showModal()")
    take("keys")
    if name in ("light", "dark", "japanese"):
        page.set_viewport_size({"width": 1920, "height": 1080})
        window.goto(f"/present?name={session}&seq=7")
        take("projector")
    window.close()


def _restore(page: Page) -> None:
    """Leave the exchange as it was for the next pictures."""
    open_menu(page)
    page.locator("#template").click()
    page.keyboard.press("Control+S")


if __name__ == "__main__":
    if sys.argv[1:] == ["--manual"]:
        of_manual(Path("docs/images"))
    else:
        main(Path(sys.argv[1] if len(sys.argv) > 1 else "screenshots"))
