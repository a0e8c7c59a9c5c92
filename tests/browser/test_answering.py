"""Answering in the page, with a real server and a real browser."""

import json
import re
from pathlib import Path

import pytest
from playwright.sync_api import Page, Route, expect

from tests.browser.seats import INITIALIZE, Opened, Windows, answer_all, call, request
from tests.support.desk_process import Desking
from tests.support.serve_process import Serving
from tests.support.waiting import until

pytestmark = pytest.mark.browser

EDITOR = Path(__file__).parents[2] / "web/static/vendor/editor.js"
SENTENCE = 'Sunny in Tokyo, 23 °C. "clear" 😀'


def test_a_request_appears_without_a_reload(desk: Desking, host: Serving, window: Windows) -> None:
    """The row is there sooner than a page that polls would ask, and the message is open."""
    page = window().page
    expect(page.locator(".empty")).to_be_visible()
    page.evaluate("window.untouched = true")
    host.say(INITIALIZE)
    expect(page.locator("#rows .row")).to_have_count(1, timeout=3000)
    expect(page.locator("article.message h1")).to_be_visible()
    assert page.evaluate("window.untouched") is True


def test_a_sentence_and_one_key_answer_a_call(host: Serving, opened: Opened) -> None:
    """Open, type, Ctrl+Enter: exactly one line, the id that no JavaScript can hold, the text."""
    page = opened(call("9007199254740993", city="Tokyo"))
    expect(page.locator("#sentence")).to_be_focused()
    page.keyboard.insert_text(SENTENCE)
    page.keyboard.press("Control+Enter")
    answer = json.loads(host.hear())
    assert answer["id"] == 9007199254740993
    assert answer["result"]["content"] == [{"type": "text", "text": SENTENCE}]
    expect(page.locator(".sent")).to_contain_text("Sent. 1 line")
    _, rest = host.close()
    assert rest == []


@pytest.mark.parametrize(
    ("mistake", "line"),
    [
        (('"id": 7', '"id": "7"'), 3),
        (('"type": "text"', '"type": "txt"'), 7),
        (('"jsonrpc": "2.0",', '"jsonrpc": "2.0"'), 2),
        (('"text": "sunny"', '"text": "sunny",'), 8),
    ],
)
def test_a_mistake_is_named_on_its_line_and_fixed_by_a_button(
    host: Serving, mistake: tuple[str, str], line: int, opened: Opened
) -> None:
    """The line, a mark beside it, the reason at Send, and the fix."""
    page = opened(call())
    page.locator("#sentence").fill("sunny")
    page.locator("#tab-json").click()
    text = read_json(page)
    assert mistake[0] in text
    write_json(page, text.replace(*mistake, 1))
    diagnostic = page.locator("#problems .problem.error").first
    expect(diagnostic).to_contain_text(f"Line {line},")
    short = diagnostic.locator(".code").inner_text().partition("(")[2].rstrip(")")
    expect(diagnostic.locator("a.why")).to_have_attribute(
        "href", re.compile(rf"^/~[^/]+/mistake/{short}$")
    )
    expect(page.locator(".editor .sign.error, #document[aria-invalid=true]").first).to_be_visible()
    expect(page.locator("#found")).to_contain_text("before you can send")
    page.locator("#send").click()
    expect(page.locator("#problems button, #problems a").first).to_be_focused()
    diagnostic.locator(".fix").click()
    expect(page.locator("#problems .problem.error")).to_have_count(0)
    page.locator("#send").click()
    assert json.loads(host.hear())["result"]["content"][0]["text"] == "sunny"


def read_json(page: Page) -> str:
    """Return what the JSON view holds."""
    return str(
        page.evaluate(
            """() => {
                const lines = document.querySelector(".editor")?.shadowRoot
                    .querySelectorAll(".cm-line");
                return lines ? [...lines].map((line) => line.textContent).join("\\n")
                    : document.getElementById("document").value;
            }"""
        )
    )


def write_json(page: Page, text: str) -> None:
    """Put a text in the place of what the JSON view holds, as a paste does."""
    # Where the editor was built it takes the place of the text area, a moment after the view opens;
    # a phone keeps the area.
    coded = EDITOR.exists() and page.evaluate("matchMedia('(pointer: fine)').matches")
    page.locator(".editor .cm-content" if coded else "#document").click()
    page.keyboard.press("Control+A")
    page.evaluate(
        """text => {
            const data = new DataTransfer();
            data.setData("text/plain", text);
            const host = document.querySelector(".editor");
            const box = host?.shadowRoot.querySelector(".cm-content");
            if (box) {
                box.dispatchEvent(new ClipboardEvent(
                    "paste", { clipboardData: data, bubbles: true, cancelable: true }));
            } else {
                const area = document.getElementById("document");
                area.value = text;
                area.dispatchEvent(new Event("input", { bubbles: true }));
            }
        }""",
        text,
    )


def test_two_clicks_and_a_key_send_once(host: Serving, opened: Opened) -> None:
    """Whatever comes at once, one line goes out; also for the id 0."""
    page = opened(call("0"))
    page.locator("#sentence").fill("sunny")
    posts: list[str] = []
    page.on("request", lambda one: posts.append(one.url) if one.url.endswith("/reply") else None)
    page.evaluate(
        """() => {
            const send = document.getElementById("send");
            send.click();
            send.click();
            document.dispatchEvent(new KeyboardEvent("keydown", { key: "Enter", ctrlKey: true }));
        }"""
    )
    assert json.loads(host.hear())["id"] == 0
    expect(page.locator(".sent")).to_be_visible()
    assert len(posts) == 1
    assert host.close()[1] == []


def test_the_json_editor_is_no_trap(opened: Opened) -> None:
    """Tab indents in it; Esc, then Tab leaves it."""
    page = opened(call())
    page.locator("#tab-json").click()
    # Where the editor was built it takes the place of the text area, a moment after the view opens.
    page.locator(".editor .cm-content" if EDITOR.exists() else "#document").click()
    page.keyboard.press("Control+Home")
    page.keyboard.press("Tab")
    until(lambda: read_json(page).startswith("  {"), "the first line is indented")
    page.keyboard.press("Escape")
    page.keyboard.press("Tab")
    expect(page.locator(".editor")).not_to_be_focused()
    focused = page.evaluate("document.activeElement.id || document.activeElement.className")
    assert focused not in ("editor", "document")


def test_what_is_typed_while_the_editor_loads_stays_and_goes_on_in_it(opened: Opened) -> None:
    """The cursor too, and nothing is taken away in the middle of a composition.

    Written over, the first line had a style of Chromium's, which the policy of the page forbids.
    """
    page = opened(call())
    held: list[Route] = []
    page.route("**/vendor/editor.js", lambda route: held.append(route))  # noqa: PLW0108 - playwright marks what it calls
    page.locator("#tab-json").click()
    area = page.locator("#document")
    area.press("ControlOrMeta+a")
    page.keyboard.type("wrote")
    area.dispatch_event("compositionstart")
    until(lambda: page.evaluate("1") and held, "the editor is asked for")[0].continue_()
    page.evaluate("import(document.body.dataset.editor)")
    expect(area).to_be_visible()
    area.dispatch_event("compositionend")
    expect(area).to_be_hidden()
    page.keyboard.type(" on")
    assert read_json(page) == "wrote on"
    page.locator("#tab-text").click()
    page.keyboard.press("ControlOrMeta+z")
    page.locator("#tab-json").click()
    page.keyboard.press("ControlOrMeta+a")
    page.keyboard.type("{")
    assert read_json(page) == "{"


@pytest.mark.parametrize(
    ("line", "label"),
    [
        (request("resources/read", {"uri": "file:///notes.txt"}), "text"),
        (INITIALIZE, "protocolVersion"),
    ],
)
def test_the_cursor_of_a_form_stands_where_something_is_wanted(
    host: Serving, window: Windows, line: str, label: str
) -> None:
    """Not in what the template has filled in, and not past the head for nothing."""
    page = window().page
    host.say(line)
    expect(page.locator("article .ids .mono")).to_have_text(json.loads(line)["method"])
    field = page.locator("#form-fields .form-row", has=page.locator("label", has_text=label))
    expect(field.first.locator("input, textarea")).to_be_focused()


def test_an_object_in_a_form_is_laid_out_on_its_own(host: Serving, window: Windows) -> None:
    """It does not keep the indentation of the document around it."""
    page = window().page
    host.say(request("tools/list"))  # its inputSchema; capabilities are switches
    field = page.locator("#form-fields textarea.json").first
    expect(field).to_have_value(re.compile(r'^\{\n  "type": "object"'))


@pytest.mark.parametrize("is_error", [False, True])
def test_what_the_model_reads_of_a_bare_result_is_shown(opened: Opened, *, is_error: bool) -> None:
    """What the answer needs around it comes when it is sent: the model reads the same."""
    page = opened(call("1", city="Tokyo"))
    page.locator("#tab-json").click()
    result = {"content": [{"type": "text", "text": "Sunny"}], "isError": is_error}
    write_json(page, json.dumps(result))
    expect(page.locator("#reads")).to_contain_text("Sunny")


def test_of_an_answer_that_clients_reject_the_page_says_not_what_the_model_reads(
    opened: Opened,
) -> None:
    """It stood above the error. As soon as the error is gone, it is said again, in its place."""
    page = opened(call("1", city="Tokyo"))
    page.locator("#tab-json").click()
    content = [{"type": "text", "text": "Sunny"}]
    wrong = [*content, {"type": "txt", "text": "Rain"}]
    reads = page.locator("#reads")
    write_json(page, json.dumps({"content": content}))
    expect(reads).to_be_visible()
    before = page.locator("#send").bounding_box()
    write_json(page, json.dumps({"content": wrong}))
    expect(page.locator("#problems .problem.error")).to_be_visible()
    expect(reads).to_be_hidden()
    assert page.locator("#send").bounding_box() == before
    write_json(page, json.dumps({"content": content}))
    expect(reads).to_be_visible()


def test_a_card_has_the_letter_by_which_the_recent_messages_name_its_session(
    home: Path, desk: Desking, window: Windows
) -> None:
    """Of the only session it has none; the letter of another one told nothing without its own."""
    page = window().page
    card = page.locator("article .from .badge")
    with Serving(home, "--by-hand") as host:
        host.say(INITIALIZE)
        expect(page.locator("article .ids")).to_contain_text("initialize")
        expect(card).to_be_hidden()
        answer_all(desk)
        host.hear()
    with Serving(home, "--by-hand") as host:
        host.say(INITIALIZE)
        expect(page.locator("#recent .badge", has_text="B").first).to_be_visible()
        expect(card).to_have_text("B")
        expect(card).to_be_visible()
        expect(page.locator("#rows .badge")).to_be_visible()
