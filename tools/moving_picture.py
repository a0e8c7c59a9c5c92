"""The moving picture of the README: a question, a sentence that is typed, the line that goes out.

`python -m tools.moving_picture [FOLDER]` takes it alone. An animated PNG: every browser
shows it, and it is made of pictures of the page without another program. What changes is taken by
itself, so it stays small. https://www.w3.org/TR/png-3/#apng-frame-based-animation
"""

import struct
import sys
import tempfile
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from playwright.sync_api import Browser, FloatRect, expect, sync_playwright

from tests.browser import chromium
from tests.browser.seats import Window, begin, call
from tests.support.desk_process import Desking
from tests.support.serve_process import Serving
from tests.support.waiting import until

SIGNATURE: Final = b"\x89PNG\r\n\x1a\n"
WIDTH: Final = 640
HEIGHT: Final = 620
LANGUAGES: Final = {
    "demo": ("en-US", "Weather", "Tokyo", ("Sunny in", "Sunny in Tokyo, 23 °C.")),
    "demo-ja": ("ja-JP", "天気", "東京", ("東京は晴れ、", "東京は晴れ、23 度です。")),
}


class Frame(NamedTuple):
    """A picture, where its upper edge stands, and for how many milliseconds."""

    png: bytes
    top: int
    lasts: int


def chunks(png: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Go through the parts of a PNG file, as (kind, content)."""
    at = len(SIGNATURE)
    while at < len(png):
        (length,) = struct.unpack_from(">I", png, at)
        yield png[at + 4 : at + 8], png[at + 8 : at + 8 + length]
        at += 12 + length


def animation(frames: Sequence[Frame]) -> bytes:
    """Put pictures of one kind together; the first is as large as the whole."""
    ((_, header), *_) = chunks(frames[0].png)
    parts = [_chunk(b"IHDR", header), _chunk(b"acTL", struct.pack(">II", len(frames), 0))]
    number = 0
    for frame in frames:
        ((_, size), *rest) = chunks(frame.png)
        control = size[:8] + struct.pack(">IIHHBB", 0, frame.top, frame.lasts, 1000, 0, 0)
        parts.append(_chunk(b"fcTL", struct.pack(">I", number) + control))
        number += 1
        content = b"".join(content for kind, content in rest if kind == b"IDAT")
        content = zlib.compress(zlib.decompress(content), 9)  # a browser packs for speed
        if number == 1:
            parts.append(_chunk(b"IDAT", content))
        else:
            parts.append(_chunk(b"fdAT", struct.pack(">I", number) + content))
            number += 1
    return b"".join((SIGNATURE, *parts, _chunk(b"IEND", b"")))


def _chunk(kind: bytes, content: bytes) -> bytes:
    check = zlib.crc32(kind + content)
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", check)


def take(browser: Browser, home: Path, name: str) -> bytes:
    """Play the scene in one language."""
    locale, title, city, typed = LANGUAGES[name]
    frames: list[Frame] = []
    with Desking(home) as desk, Serving(home, "--by-hand", "--title", title) as host:
        begin(host, desk)
        window = Window(browser, desk, locale=locale, viewport={"width": WIDTH, "height": HEIGHT})
        host.say(call("7", city=city, days=3))
        (waiting,) = until(lambda: desk.get("/api/exchanges")["waiting"], "the question waits")
        where = f"/m/{waiting['session']}/{waiting['number']}"
        page = window.goto(where)
        box = page.locator("#sentence")
        box.focus()
        frames.append(Frame(page.screenshot(), 0, 2500))
        placed = box.bounding_box()
        assert placed is not None
        top = int(placed["y"]) - 8
        below: FloatRect = {"x": 0, "y": top, "width": WIDTH, "height": HEIGHT - top}
        for text in typed:
            box.fill(text)
            page.wait_for_selector("#wire:not([hidden])")
            frames.append(Frame(page.screenshot(clip=below), top, 700))
        page.locator("#wire-summary").click()
        expect(page.locator("#wire-line")).to_contain_text(typed[-1])
        page.locator("#wire").scroll_into_view_if_needed()
        frames.append(Frame(page.screenshot(), 0, 3000))
        page.locator("#send").click()
        host.hear()
        window.goto(where)
        frames.append(Frame(page.screenshot(), 0, 3000))
        window.close()
    return animation(frames)


def main(folder: Path) -> None:
    """Take it in each language."""
    folder.mkdir(parents=True, exist_ok=True)
    with sync_playwright() as playwright, tempfile.TemporaryDirectory() as scratch:
        browser = chromium.launch(playwright)
        for name in LANGUAGES:
            (folder / f"{name}.png").write_bytes(take(browser, Path(scratch) / name, name))
        browser.close()


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "screenshots"))
