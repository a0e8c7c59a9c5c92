"""A prompt that an agent hands to `humanmcp hook`, in the page."""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.browser.seats import Window, until_keys_act
from tests.hook.test_events import CLAUDE, COPILOT
from tests.hook.test_hook import behavior, said
from tests.support.desk_process import Desking

pytestmark = pytest.mark.browser


def asks(home: Path, sent: object) -> subprocess.Popen[bytes]:
    """Start a hook as an agent does."""
    hook = subprocess.Popen(
        [sys.executable, "-m", "humanmcp", "hook", "--home", str(home)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert hook.stdin is not None
    hook.stdin.write(json.dumps(sent).encode())
    hook.stdin.close()
    hook.stdin = None
    return hook


def test_a_prompt_of_an_agent_is_decided_or_handed_back_with_one_key(
    home: Path, desk: Desking, window: Callable[..., Window]
) -> None:
    """Where the agent runs its own input whatever is allowed, no change is offered."""
    page = window().page
    hook = asks(home, CLAUDE)
    expect(page.locator("#subject")).to_have_text("Claude Code wants to run a command with Bash")
    assert page.locator(".approval .folder").inner_text() == "/p"
    expect(page.get_by_text("Change and allow")).to_have_count(1)
    until_keys_act(page)
    page.keyboard.press("a")
    assert behavior(said(hook)) == "allow"
    hook = asks(home, COPILOT)
    expect(page.locator("#subject")).to_have_text("Copilot CLI wants to run a command with bash")
    expect(page.get_by_text("Change and allow")).to_have_count(0)
    until_keys_act(page)
    page.keyboard.press("b")
    assert said(hook) is None
