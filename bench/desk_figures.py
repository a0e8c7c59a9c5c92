"""What the desk's own list wants of the page, measured in Chromium: `python -m bench.desk_figures`.

chords              from a call's arrival to the sent answer: the sentence, one chord
an own tool         one argument, by keys, without JSON: seconds of the page
typing on           letters that are lost when a person goes on typing after Ctrl+Enter
an image            drop, chord: until the answer is out
5,000 lines         until the history shows them, and then 100,000
a search            milliseconds until one of 100,000 lines is found
scripts             bytes, the editor apart
"""

from __future__ import annotations

import base64
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Final

from playwright.sync_api import sync_playwright

from humanmcp.common.terminal import to_stdout
from humanmcp.inbox.contract import SessionFacts
from humanmcp.inbox.folder import FolderInbox
from humanmcp.protocol.conversation.transcript import Direction, Frame
from tests.browser import chromium
from tests.browser.seats import Window, begin, call, request
from tests.browser.test_content import DROP, PNG
from tests.support.desk_process import Desking
from tests.support.serve_process import Serving
from tests.support.waiting import until

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Browser

FEW: Final = 5_000
LINES: Final = 100_000
SENTENCE: Final = "It is sunny in Nagoya."


def chords(desk: Desking, host: Serving, window: Window) -> Iterator[str]:
    """Answer a call; go on typing at once, and count what is lost."""
    page = window.goto("/")
    host.say(call("7", city="Nagoya"))
    page.locator("#sentence").wait_for()
    host.say(call("8", city="Tokyo"))
    until(lambda: len(desk.get("/api/exchanges")["waiting"]) > 1 or None, "two wait")
    page.locator("#rows .row").nth(1).wait_for()
    page.wait_for_function("document.activeElement.id === 'sentence'")
    page.keyboard.type(SENTENCE)
    begun = time.perf_counter()
    page.keyboard.press("Control+Enter")
    page.keyboard.type(SENTENCE)
    host.hear()
    yield f"call to answer: 0 clicks, the sentence, 1 chord; sent {_since(begun)} after the chord"
    field = page.locator("#sentence")
    until(lambda: field.input_value() == SENTENCE or None, "the letters are in the next box")
    yield "typing on after Ctrl+Enter: 0 letters lost"
    # A second chord in the same breath is not taken for one: a script answers in its place.
    (waiting,) = desk.get("/api/exchanges")["waiting"]
    path = f"/api/exchanges/{waiting['session']}/{waiting['number']}/reply"
    desk.post(path, {"text": SENTENCE, "form": "text"})
    host.hear()


def image(host: Serving, window: Window) -> Iterator[str]:
    """Drop a picture of 1 MB on a call, and send it."""
    host.say(call("10", city="Nara"))
    page = window.goto("/")
    page.locator("#sentence").wait_for()
    begun = time.perf_counter()
    page.locator("#sentence").evaluate(DROP, base64.b64encode(PNG + bytes(1_000_000)).decode())
    page.locator("#form-fields .preview img").wait_for()
    dropped = _since(begun)
    page.keyboard.press("Control+Enter")
    host.hear()
    yield f"an image of 1 MB: drop, chord; seen after {dropped}, sent after {_since(begun)}"


def own_tool(host: Serving, window: Window) -> Iterator[str]:
    """Make a tool with one argument, and send the list."""
    host.say(request("tools/list", token="9"))
    page = window.goto("/")
    page.locator("#design").wait_for()
    begun = time.perf_counter()
    page.locator("#design").click()
    page.locator("main [name=name]:focus").wait_for()
    page.keyboard.type("forecast")
    page.locator("[name=description]").fill("The weather of a place")
    page.locator("[name='in name 0']").fill("city")
    page.keyboard.press("Control+Enter")
    page.wait_for_url(lambda url: url.endswith("#answer"))
    page.keyboard.press("Control+Enter")
    host.hear()
    yield f"an own tool with one argument, no JSON: {_since(begun)} besides the typing"


def lines(browser: Browser, folder: Path, count: int) -> Iterator[str]:
    """Open a long history and find one line in it."""
    inbox = FolderInbox(folder)
    name = inbox.begin_session(SessionFacts("", "2026-11-20T18:00:00.000Z"))
    for seq in range(1, count + 1):
        word = "needle" if seq == 1 else "hay"
        line = f'{{"jsonrpc":"2.0","method":"notifications/message","params":{{"data":"{word}"}}}}'
        inbox.record(name, Frame(seq, "2026-11-20T18:00:00.000Z", Direction.IN, line.encode()))
    with Desking(folder) as desk:
        window = Window(browser, desk)
        window.goto("history")
        begun = time.perf_counter()
        window.goto("history")
        yield f"the history of {count:,} lines open: {_since(begun)}"
        begun = time.perf_counter()
        page = window.goto("history?q=needle")
        found = page.locator("#lines tbody tr:not(.day)").count()
        yield f"the oldest of {count:,} lines searched: {_since(begun)}, found {found}"
        window.close()


def _since(begun: float) -> str:
    return f"{(time.perf_counter() - begun) * 1000:.0f} ms"


def main() -> None:
    """Print the figures."""
    scripts = Path(__file__).parent.parent.joinpath("web", "static").glob("*.js")
    to_stdout(f"scripts without the editor: {sum(one.stat().st_size for one in scripts):,} bytes")
    with tempfile.TemporaryDirectory() as name, sync_playwright() as playwright:
        folder = Path(name)
        browser = chromium.launch(playwright)
        with Desking(folder / "home") as desk, Serving(folder / "home", "--by-hand") as host:
            begin(host, desk)
            window = Window(browser, desk)
            for one in (
                *chords(desk, host, window),
                *own_tool(host, window),
                *image(host, window),
            ):
                to_stdout(one)
            window.close()
        for count in (FEW, LINES):
            for one in lines(browser, folder / str(count), count):
                to_stdout(one)
        browser.close()


if __name__ == "__main__":
    main()
