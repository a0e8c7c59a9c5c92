"""A prompt that an agent hands to `humanmcp hook`, in the page."""

import subprocess
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.browser.seats import Window, until_keys_act
from tests.hook.test_events import CLAUDE, COPILOT
from tests.hook.test_hook import Agent, behavior, said
from tests.support.desk_process import Desking

pytestmark = pytest.mark.browser


@pytest.fixture
def asks(home: Path) -> Iterator[Callable[[object], subprocess.Popen[bytes]]]:
    """Start hooks as an agent does; what is left of them ends with the test."""
    with ExitStack() as stack:

        def one(sent: object) -> subprocess.Popen[bytes]:
            return stack.enter_context(Agent(home).asks(sent))

        yield one


def test_a_prompt_of_an_agent_is_decided_or_handed_back_with_one_key(
    desk: Desking,
    window: Callable[..., Window],
    asks: Callable[[object], subprocess.Popen[bytes]],
) -> None:
    """Where the agent runs its own input whatever is allowed, no change is offered."""
    page = window().page
    hook = asks(CLAUDE)
    expect(page.locator("#subject")).to_have_text("Claude Code wants to run a command with Bash")
    assert page.locator(".approval .folder").inner_text() == "/p"
    expect(page.get_by_text("Change and allow")).to_have_count(1)
    until_keys_act(page)
    page.keyboard.press("a")
    assert behavior(said(hook)) == "allow"
    hook = asks({**CLAUDE, "tool_name": "ExitPlanMode", "tool_input": {"plan": "1. One\n2. Two"}})
    title = "Claude Code asks you to approve its plan"
    expect(page.locator("#subject")).to_have_text(title)
    assert page.locator(".approval pre").inner_text() == "1. One\n2. Two"
    page.get_by_label("Reason (the model reads it)").fill("First look at the tests.")
    until_keys_act(page)
    page.get_by_role("button", name="Keep planning").click()
    assert said(hook)["hookSpecificOutput"]["decision"]["message"] == "First look at the tests."
    hook = asks(COPILOT)
    expect(page.locator("#subject")).to_have_text("Copilot CLI wants to run a command with bash")
    expect(page.get_by_text("Change and allow")).to_have_count(0)
    until_keys_act(page)
    page.keyboard.press("b")
    assert said(hook) is None
