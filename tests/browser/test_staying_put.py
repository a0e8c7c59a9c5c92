"""What stays where it is while a person types, and what goes once another desk has decided."""

import re
import subprocess
from collections.abc import Callable
from functools import partial
from typing import Any, Final

import pytest
from playwright.sync_api import Page, Route, expect

from tests.browser.seats import (
    PHONE,
    Sitting,
    Window,
    Windows,
    begin,
    boxes_of,
    call,
    request,
    routed,
)
from tests.browser.test_answering import read_json, write_json
from tests.browser.test_hook import QUESTION, asks
from tests.extensions.agents.test_hook import said
from tests.protocol.conversation.test_prompts import CLAUDE
from tests.support.desk_process import Desking
from tests.support.serve_process import Serving
from tests.support.waiting import until

pytestmark = pytest.mark.browser

__all__ = ["asks"]

LOOKS: Final[dict[str, dict[str, Any]]] = {
    "desk": {"viewport": {"width": 1280, "height": 800}},
    "tall": {"viewport": {"width": 1280, "height": 1600}, "locale": "ja-JP"},
    "phone": PHONE,
}
BELOW: Final = """() => {
    const found = document.getElementById("found");
    return [...document.querySelectorAll("article :is(button, a, summary, select)")]
        .filter((one) => one.checkVisibility()
            && found.compareDocumentPosition(one) & Node.DOCUMENT_POSITION_FOLLOWING
            && !one.closest(".outcome, #first-problem, #anyway"))
        .map((one) => [one.textContent.trim().slice(0, 20), one.getBoundingClientRect().y]);
}"""
"""What can be pressed below the box, but for what the check itself says, and how far down it is."""


def put(page: Page, act: Callable[[], None]) -> tuple[Any, Any]:
    """Write something; return what is where before its check has answered, and afterwards."""
    held: list[Route] = []
    let_pass = routed(page, "**/check", held.append)
    act()
    until(lambda: page.evaluate("true") and held, "it is checked")
    expect(page.locator("#found")).to_be_empty()
    expect(page.locator("#saved-at")).not_to_be_empty()
    before = page.evaluate(BELOW)

    def told() -> bool:
        while held:
            held.pop().continue_()
        return bool(page.locator("#found").inner_text())

    until(told, "what the check says")
    let_pass()
    boxes_of(page.locator("#send"))
    return before, page.evaluate(BELOW)


def texts(page: Page) -> dict[str, Callable[[], None]]:
    """Return what to write as a text."""
    page.locator("#tab-text").click()
    box = page.locator("#sentence")
    return {words: partial(box.fill, words) for words in ("sunny", "rain", "fog <b>")}


def fields(pointer: str) -> Callable[[Page], dict[str, Callable[[], None]]]:
    """Return what to write into a field of a form."""

    def acts(page: Page) -> dict[str, Callable[[], None]]:
        page.locator("#tab-form").click()
        field = page.locator(f'[data-pointer="{pointer}"]')
        return {words: partial(field.fill, words) for words in ("sunny", "rain today")}

    return acts


def documents(page: Page) -> dict[str, Callable[[], None]]:
    """Return what to write as JSON: with no problem, one, several, and none again."""
    page.locator("#tab-json").click()
    whole = until(
        lambda: re.fullmatch(r"\{.*\}", read_json(page), re.DOTALL), "every line is drawn"
    )[0]
    right = re.sub(r'"text": "[^"]*"', '"text": "sunny"', whole)
    one = re.sub(r'"id": (\d+)', r'"id": "\1"', right)
    many = one.replace('"2.0"', '"3"').replace('"content"', '"contents"')
    every = {"right": right, "one": one, "many": many, "again": right.replace("sunny", "rain")}
    return {name: partial(write_json, page, text) for name, text in every.items()}


CARDS: Final[dict[str, tuple[str, Callable[[Page], dict[str, Callable[[], None]]]]]] = {
    "text": (call("11", city="Tokyo"), texts),
    "form": (call("12", city="Tokyo"), fields("/result/content/0/text")),
    "JSON": (call("13", city="Tokyo"), documents),
    "question": (call("14", "ask_human", question="Shall I?", options=["Yes", "No"]), texts),
    "list": (request("tools/list", None, "15"), fields("/result/tools/0/description")),
}


@pytest.mark.parametrize("look", LOOKS)
def test_the_check_of_what_was_typed_moves_no_button(
    desk: Desking, host: Serving, window: Windows, look: str
) -> None:
    """Nor does its outcome go and come with each letter: its place is kept."""
    begin(host, desk)
    session = until(host.find_session, "a session").name
    sitting = Sitting(desk, host, window(**LOOKS[look]), session)
    moved = []
    for card, (line, acts) in CARDS.items():
        page = sitting.asked(line)
        for name, act in acts(page).items():
            before, after = put(page, act)
            names, old = zip(*before, strict=True)
            assert names == tuple(one for one, _ in after), (card, name)
            ways = (abs(y - was) for (_, y), was in zip(after, old, strict=True))
            if max(ways) > 1:
                moved.append((card, name, before, after))
    assert moved == []


TYPED: Final = {
    "right at first": "b_a",
    "wrong": "a b",
    "right": "a_b",
    "wrong again": "a  b",
    "right again": "ab",
}


@pytest.mark.parametrize("look", LOOKS)
def test_a_problem_that_goes_and_comes_at_the_field_that_is_typed_in_moves_nothing(
    desk: Desking, host: Serving, window: Windows, look: str
) -> None:
    """The first one lies over what is below: neither a field nor a button goes up and down."""
    begin(host, desk)
    sitting = Sitting(desk, host, window(**LOOKS[look]), until(host.find_session, "a session").name)
    page = sitting.asked(request("tools/list", None, "16"))
    page.locator("#tab-form").click()
    field = page.locator('[data-pointer="/result/tools/0/name"]')
    places = []
    for name, words in TYPED.items():
        put(page, partial(field.fill, words))
        expect(page.locator(".at-field")).to_have_count(int("wrong" in name))
        places.append(page.evaluate(FIELDS))
    assert places == [places[0]] * len(TYPED)
    other = page.locator('[data-pointer="/result/tools/0/description"]')
    put(page, partial(other.fill, "Rolls"))
    put(page, partial(field.fill, "c d"))
    expect(page.locator(".at-field")).to_have_count(1)
    expect(page.locator(".at-kept")).to_have_count(0)


FIELDS: Final = """() =>
    [...document.querySelectorAll("article :is(input, textarea, button, label)")]
    .filter((one) => one.checkVisibility({visibilityProperty: true})
        && !one.closest(".outcome, #first-problem, #anyway, .problem"))
    .map((one) => [one.id || one.textContent.slice(0, 20), one.getBoundingClientRect().y])"""
"""What can be typed in or pressed, and how far down it is."""


PRESSED: Final = {
    "Raw message": "details.raw[open]",
    "More": "#more:popover-open",
    "Focus view": "body.quiet",
}


@pytest.mark.parametrize("name", PRESSED)
def test_a_press_counts_although_the_page_moves_what_was_pressed(
    sitting: Sitting, name: str
) -> None:
    """A status that comes may push it away before the release; who leaves it presses nothing."""
    page = sitting.asked(call(f'"{name}"', city="Tokyo"))
    pressed = page.locator("article :is(button, summary)").filter(has_text=name).first
    grow = "height => { document.querySelector('article').style.paddingTop = height }"
    for release, counts in (((5, 5), False), (None, True)):
        (box,) = boxes_of(pressed)
        page.mouse.move(box["x"] + 10, box["y"] + 10)
        page.mouse.down()
        if release:
            page.mouse.move(*release)
        else:
            page.evaluate(grow, "400px")
        page.mouse.up()
        expect(page.locator(PRESSED[name])).to_have_count(int(counts))
    if name == "Focus view":
        page.get_by_role("button", name=name).click()


def prompt(tool: str, **given: Any) -> dict[str, Any]:  # noqa: ANN401 - any JSON value
    """Return what an agent asks before it runs a tool."""
    return {**CLAUDE, "tool_name": tool, "tool_input": given}


PROMPTS: Final = {
    "command": prompt("Bash", command="ls"),
    "edit": prompt("Edit", file_path="/a", old_string="x", new_string="y"),
    "plan": prompt("ExitPlanMode", plan="1. One"),
    "questions": {**CLAUDE, **QUESTION},
}
USABLE: Final = (
    "article :is(input:not([type=hidden], .show-text), textarea, select, button[name=act])"
    ":enabled:visible:not([readonly])"
)


@pytest.mark.parametrize("typed", ["", "not now"])
@pytest.mark.parametrize("asked", PROMPTS)
def test_nothing_decides_what_another_desk_decided(
    window: Callable[..., Window],
    asks: Callable[[object], subprocess.Popen[bytes]],
    asked: str,
    typed: str,
) -> None:
    """Its fields go with its buttons; words that were typed stay, to be copied."""
    hook = asks(PROMPTS[asked])
    here, phone = window().page, window(**PHONE).page
    expect(here.locator("#reason")).to_be_visible()
    for fold in here.locator("#approval details:has(.decide) > summary").all():
        fold.click()
    here.locator("#reason").fill(typed)
    phone.locator("#rows a").first.tap()
    phone.locator("#deny").tap()
    said(hook)
    expect(here.locator("#status .banner")).to_be_visible()
    expect(here.locator(USABLE)).to_have_count(0)
    expect(here.locator("article details:has(.decide)")).to_have_count(0)
    kept = here.locator("#reason")
    expect(kept).to_have_count(1 if typed else 0)
    if typed:
        expect(kept).to_have_value(typed)
        expect(here.get_by_role("button", name="Copy draft")).to_be_visible()
