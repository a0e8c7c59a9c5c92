"""A prompt that an agent hands to `humanmcp hook`, in the page."""

import json
import re
import subprocess
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Final

import pytest
from playwright.sync_api import Page, expect

from tests.browser.seats import PHONE, Window, boxes_of, until_keys_act
from tests.extensions.agents.test_hook import Agent, behavior, said
from tests.protocol.conversation.test_prompts import CLAUDE, COPILOT
from tests.support.desk_process import Desking
from tests.support.waiting import until

pytestmark = pytest.mark.browser

QUESTION: Final[dict[str, Any]] = {
    "tool_name": "AskUserQuestion",
    "tool_input": {
        "questions": [
            {
                "question": "Delete the branch?",
                "header": "Branch",
                "options": [{"label": "Delete it"}, {"label": "Keep it"}],
                "multiSelect": False,
            }
        ]
    },
}


@pytest.fixture
def asks(home: Path) -> Iterator[Callable[[object], subprocess.Popen[bytes]]]:
    """Start hooks as an agent does; what is left of them ends with the test."""
    with ExitStack() as stack:

        def one(sent: object) -> subprocess.Popen[bytes]:
            return stack.enter_context(Agent(home).asks(sent))

        yield one


def test_the_keys_act_where_the_agents_own_words_are_shown(
    home: Path, desk: Desking, window: Callable[..., Window], tmp_path: Path
) -> None:
    """They are folded, and no part of what the scripts read."""
    message = {"role": "assistant", "content": [{"type": "text", "text": "I clean up."}]}
    transcript = tmp_path / "6b8d.jsonl"
    transcript.write_text(json.dumps({"type": "assistant", "message": message}) + "\n", "utf-8")
    sent = {**CLAUDE, "transcript_path": str(transcript)}
    with Agent(home).asks(sent, "--host", "claude-code") as hook:
        page = window().page
        page.get_by_text("own words").click()
        expect(page.get_by_text("I clean up.")).to_be_visible()
        page.locator("#approval").focus()
        until_keys_act(page)
        page.keyboard.press("d")
        assert behavior(said(hook)) == "deny"


def test_a_prompt_of_an_agent_is_decided_or_handed_back_with_one_key(
    desk: Desking,
    window: Callable[..., Window],
    asks: Callable[[object], subprocess.Popen[bytes]],
) -> None:
    """Where the agent runs its own input whatever is allowed, no change is offered."""
    page = window().page
    hook = asks(CLAUDE)
    expect(page.locator("#subject")).to_have_text("Run a command Bash")
    assert page.locator(".from").inner_text() == "Claude Code · p"
    assert page.locator(".approval .folder").inner_text() == "/p"
    expect(page.get_by_text("Change and allow")).to_have_count(1)
    until_keys_act(page)
    page.keyboard.press("a")
    assert behavior(said(hook)) == "allow"
    hook = asks({**CLAUDE, "tool_name": "ExitPlanMode", "tool_input": {"plan": "1. One\n2. Two"}})
    title = "Approve a plan"
    expect(page.locator("#subject")).to_have_text(title)
    assert page.locator(".approval pre").inner_text() == "1. One\n2. Two"
    page.get_by_label("Reason (the model reads it)").fill("First look at the tests.")
    until_keys_act(page)
    page.get_by_role("button", name="Keep planning").click()
    assert said(hook)["hookSpecificOutput"]["decision"]["message"] == "First look at the tests."
    hook = asks(COPILOT)
    expect(page.locator("#subject")).to_have_text("Run a command bash")
    expect(page.get_by_text("Change and allow")).to_have_count(0)
    until_keys_act(page)
    page.keyboard.press("b")
    assert said(hook) is None


def test_on_a_phone_the_command_comes_first(
    desk: Desking,
    window: Callable[..., Window],
    asks: Callable[[object], subprocess.Popen[bytes]],
) -> None:
    """Who and where are one line; no word of a protocol, one clock, no letter."""
    place = {"cwd": "/work/of/somebody/shop", "agent_id": "a1", "agent_type": "general-purpose"}
    plan = {"tool_name": "ExitPlanMode", "tool_input": {"plan": "One\nTwo"}}
    for number, asked in enumerate(({}, plan, QUESTION), 1):
        asks({**CLAUDE, **place, **asked})
        until(lambda: len(desk.get("/api/exchanges")["waiting"]) == number, "it waits")  # noqa: B023
    page = window(**PHONE).page
    for at in range(3):
        page.goto(page.url)
        page.locator("#rows .row a").nth(at).click()
        who = page.locator(".from")
        expect(who).to_have_text("Claude Code · …/somebody/shop · general-purpose")
        (line, command) = boxes_of(who, page.locator("#approval :is(pre, legend, .read)").first)
        assert line["height"] < 24
        assert command["y"] <= 120, at
        words = page.locator("article").inner_text()
        assert "PermissionRequest" not in words.split("\nRaw", 1)[0]
        expect(page.locator("article :is(.ids, .badge)")).to_have_count(0)
        expect(page.locator("article :is([data-since], [data-until])")).to_have_count(1)
        page.go_back()


def test_a_line_that_is_wrapped_is_told_from_a_line_of_the_command(
    window: Callable[..., Window], asks: Callable[[object], subprocess.Popen[bytes]]
) -> None:
    """What continues a line hangs; what begins one has a number. What is copied is the command."""
    command = (
        "cd build\n\n  npm publish --access public --registry https://registry.example/a --tag b"
    )
    asks({**CLAUDE, "tool_input": {"command": command}})
    page = window(**PHONE).page
    page.locator("#rows .row a").click()
    drawn = page.locator(".code pre")
    assert drawn.inner_text() == command
    numbers = drawn.locator(".line").evaluate_all("all => all.map((one) => one.dataset.number)")
    assert numbers == ["1", "2", "3"]
    starts = page.evaluate(STARTS)
    first = starts[0]
    assert len(starts) > 4, "nothing was wrapped"
    assert all(start == first for start in starts), starts
    edit = {"file_path": "/a", "old_string": "a\nb\nc", "new_string": "a\nB and words " * 9 + "\nc"}
    asks({**CLAUDE, "tool_name": "Edit", "tool_input": edit})
    page.go_back()
    page.locator("#rows .row a").nth(1).click()
    lines = page.locator(".difference .line")
    expect(lines.nth(2)).to_have_attribute("data-number", "2")
    signs = lines.evaluate_all("all => all.map((one) => one.dataset.number + one.innerText[0])")
    assert signs[:3] == ["1 ", "2-", "3-"] or signs[:3] == ["1 ", "2-", "2+"], signs
    assert wraps_inside(page)


def test_a_word_that_is_wider_than_the_card_begins_in_its_first_row(
    window: Callable[..., Window], asks: Callable[[object], subprocess.Popen[bytes]]
) -> None:
    """A path without blanks: no empty row is before it, which the command does not have."""
    asks({**CLAUDE, "tool_input": {"command": "/a" * 60}})
    page = window(**PHONE).page
    page.locator("#rows .row a").click()
    rows = page.evaluate(STARTS)
    assert len(rows) == page.evaluate(
        "() => { const range = document.createRange();"
        " range.selectNodeContents(document.querySelector('.code .line'));"
        " return range.getClientRects().length; }"
    )


def test_on_a_phone_no_name_of_a_time_line_is_cut(
    desk: Desking,
    window: Callable[..., Window],
    asks: Callable[[object], subprocess.Popen[bytes]],
) -> None:
    """It has the whole width, above its bar; so have the names below, beside how long it took."""
    sent = {**CLAUDE, "tool_name": "mcp__weather_of_the_world__get_forecast_for_a_week"}
    hook = asks(sent)
    until(lambda: desk.get("/api/exchanges")["waiting"], "it waits")
    shown = window(**PHONE)
    name = desk.get("/api/sessions")["sessions"][0]["name"]
    shown.page.locator("#rows .row a").click()
    shown.page.locator("#deny").click()
    assert behavior(said(hook)) == "deny"
    page = shown.goto(f"/timeline/{name}")
    names = page.locator(".bars-over-time li a, .latency td:first-child")
    expect(names).to_have_count(3)
    assert names.evaluate_all("all => all.every((one) => one.scrollWidth <= one.clientWidth)")
    (label, bar) = boxes_of(names.first, page.locator(".bars-over-time a rect").first)
    assert label["y"] + 14 <= bar["y"] + 1, "a line of text, then the bar"
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["viewport"]["width"]


STARTS = """() => [...document.querySelectorAll(".code .line")].flatMap((line) =>
  [...line.getClientRects()].map((box) => Math.round(box.left)))"""
"""Where each drawn row of a command begins."""


def wraps_inside(page: Page) -> bool:
    """Return True if no row of a wrapped line of a difference begins at the place of a sign."""
    found: bool = page.evaluate(
        """() => [...document.querySelectorAll(".difference .line")].every((line) => {
          const range = document.createRange();
          range.selectNodeContents(line.lastChild);
          const sign = line.querySelector("b").getBoundingClientRect().right - 1;
          return [...range.getClientRects()].every((box) => box.left > sign);
        })"""
    )
    return found


def test_a_plan_is_rendered_and_shown_as_text(
    window: Callable[..., Window], asks: Callable[[object], subprocess.Popen[bytes]]
) -> None:
    """Nothing of it is markup of the page, and no word of it is left out."""
    plan = (
        "# Ship it\n\n1. Read **all**\n2. `make`\n\n```sh and then rm -rf /\nmake\n```\n<b>now</b>"
    )
    hook = asks({**CLAUDE, "tool_name": "ExitPlanMode", "tool_input": {"plan": plan}})
    page = window().page
    read = page.locator(".approval .read")
    expect(read.locator(".heading")).to_have_text("Ship it")
    expect(read.locator("li")).to_have_text(["1. Read all", "2. make"])
    expect(read.locator("pre")).to_have_text("sh and then rm -rf /\nmake")
    expect(read).to_contain_text("<b>now</b>")
    expect(page.locator(".approval pre.as-came")).to_be_hidden()
    page.get_by_label("Show as plain text").check()
    assert page.locator(".approval pre.as-came").inner_text() == plan
    expect(read).to_be_hidden()
    until_keys_act(page)
    page.keyboard.press("Escape")
    page.locator("#allow").click()
    assert behavior(said(hook)) == "allow"


def test_the_card_says_when_the_agent_asks_itself_and_goes_when_it_was_answered_there(
    window: Callable[..., Window], asks: Callable[[object], subprocess.Popen[bytes]]
) -> None:
    """Nothing is said of making a client wait longer: no agent does."""
    page = window().page
    first = asks(CLAUDE)
    status = page.locator("#status")
    expect(status).to_contain_text("the first answer counts. You can answer here for 9:")
    expect(page.locator("#status .keeping")).to_have_count(0)
    assert "nobody can type" not in status.inner_text()
    second = asks(COPILOT)
    expect(page.locator("#rows .row")).to_have_count(2)
    until_keys_act(page)
    over = asks({**CLAUDE, "hook_event_name": "PostToolUse"})
    assert said(over) is None
    assert said(first) is None
    expect(page.locator("#said")).to_contain_text("the agent itself")  # answered, or being sent
    title = "Run a command bash"
    expect(page.locator("#subject")).to_have_text(title)
    expect(page.locator("#rows .row")).to_have_count(1)
    expect(status).to_contain_text("Until you decide, nobody can type in the agent.")
    until_keys_act(page)
    page.keyboard.press("a")
    assert said(second) == {"behavior": "allow"}


def test_prompts_of_many_agents_are_grouped_and_searched(
    window: Callable[..., Window], asks: Callable[[object], subprocess.Popen[bytes]]
) -> None:
    """Who wants what and where; while a person searches, what comes next is of what they search."""
    page = window().page
    commands = [f"make {number}" for number in range(6)] + ["git push", "git pull"]
    for number, command in enumerate(commands):
        place = {"cwd": f"/work/app{number % 2}", "session_id": f"agent-{number % 2}"}
        asks({**CLAUDE, **place, "tool_input": {"command": command}})
        expect(page.locator("#rows .row")).to_have_count(number + 1)
    expect(page).to_have_title("(8) humanmcp · waiting")
    groups = page.locator("#rows .group > .who")
    expect(groups).to_have_text(["Claude Code · …/work/app0 4", "Claude Code · …/work/app1 4"])
    until_keys_act(page)
    page.keyboard.press("/")
    page.keyboard.type("git")
    expect(page.locator("#rows .row")).to_have_count(2)
    expect(page).to_have_title("(8) humanmcp · waiting")
    row = page.locator("#rows a").first
    expect(row).to_have_attribute("href", re.compile("q=git"))  # "g" has the same two rows
    row.click()
    expect(page.locator(".approval pre").first).to_have_text("git push")
    expect(page.locator("#narrow")).to_have_value("git")
    until_keys_act(page)
    page.keyboard.press("d")
    expect(page.locator(".approval pre").first).to_have_text("git pull")
    expect(page.locator("#rows .row")).to_have_count(1)
    until_keys_act(page)
    page.keyboard.press("d")
    expect(page.locator(".approval")).to_have_count(0)  # the page that follows, with the search
    expect(page.locator("#rows")).to_contain_text("No row shows these words.")
    page.locator("#narrow").fill("")
    expect(page.locator("#rows .row")).to_have_count(6)
