"""The test prompt, and how the prompts of agents come here, on the pages of a desk."""

import contextlib
import html
import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from humanmcp.extensions.agents.hook_entries import HOOKS
from tests.extensions.agents.test_hook import Agent
from tests.extensions.agents.test_hook import said as printed
from tests.protocol.conversation.test_prompts import CLAUDE
from tests.support.desk_process import Desking
from tests.support.inbox_folder import Ran
from tests.support.waiting import until


@pytest.mark.skipif(sys.platform != "linux", reason="processes are listed as Linux lists them")
def test_a_test_prompt_ends_with_its_desk_however_soon(desk: Desking) -> None:
    """Also when the desk ends before the prompt's process can see who started it."""
    for _ in range(3):
        assert desk.submit("/test-prompt").status == 303
    desk.kill()
    home = str(desk.home).encode()

    def commands() -> list[bytes]:
        found = []
        for file in Path("/proc").glob("[0-9]*/cmdline"):
            with contextlib.suppress(OSError):
                found.append(file.read_bytes())
        return [words for words in found if b"hook" in words.split(b"\0") and home in words]

    until(lambda: not commands(), "the processes of the prompts end")


def test_the_page_has_the_command_of_each_host_that_asks_for_approvals(desking: Desking) -> None:
    """They are those of the table of hooks."""
    page = desking.page("/connect")
    assert all(f"humanmcp config {host} --approvals --write" in page for host in HOOKS)


@pytest.mark.parametrize("is_off", [False, True])
def test_where_a_hook_is_set_up_the_page_says_so_before_anything_has_come(
    run: Callable[..., Ran], tmp_path: Path, *, is_off: bool
) -> None:
    """It said that no host is connected. A hook whose prompts go elsewhere is not named."""
    assert run("config", "claude-code", "--approvals", "--write").status == 0
    file = tmp_path / ".claude" / "settings.json"
    if is_off:
        written = json.loads(file.read_text(encoding="utf-8"))
        file.write_text(json.dumps({**written, "disableAllHooks": True}), encoding="utf-8")
    run("config", "gemini-cli", "--approvals", "--write", "--home", str(tmp_path / "other"))
    with Desking(tmp_path / ".humanmcp", "--lang", "en") as desk:
        page = html.unescape(desk.page("/"))
    assert '<h1 class="motto">Approvals of an agent</h1>' in page
    assert "<code>humanmcp doctor</code> starts each hook once" in page
    assert "Send me a test prompt" in page
    assert "Gemini CLI is set up" not in page
    told = f"Claude Code runs no hook: {file} says disableAllHooks = true."
    assert (told in page) is is_off
    set_up = f"The hook of Claude Code is set up ({file}). The inbox has no permission prompt"
    assert (set_up in page) is not is_off
    assert "No host is connected yet" not in page
    assert 'action="/try"' in page


def test_without_a_hook_nothing_is_said_of_hooks(machine: Path) -> None:
    """Nor with a file that cannot be read."""
    file = machine / ".claude" / "settings.json"
    file.parent.mkdir()
    file.write_text("{", encoding="utf-8")
    with Desking(machine / ".humanmcp", "--lang", "en") as desk:
        page = desk.page("/")
    assert "No host is connected yet" in page
    assert "Approvals of an agent" not in page


def test_a_test_prompt_is_a_prompt_of_humanmcp_and_says_what_was_decided(desking: Desking) -> None:
    """Nothing runs by it; who only approves is not called a server."""
    assert desking.submit("/test-prompt").status == 303
    (one,) = until(lambda: desking.get("/api/exchanges")["waiting"], "the prompt waits")
    path = f"/m/{one['session']}/{one['number']}"
    page = desking.page(path)
    assert "A test: nothing runs, whatever you decide." in page
    assert 'class="from">humanmcp<' in page
    shown = page.split('name="shown" value="')[1].split('"')[0]
    assert desking.submit(path, act="allow", shown=shown).status == 303
    until(lambda: "Allow sent by" in desking.page(path), "it says what was decided")
    assert "You are the MCP server.</h1>" in desking.page("/")
    with Agent(desking.home).asks(CLAUDE) as hook:
        (one,) = until(lambda: desking.get("/api/exchanges")["waiting"], "the prompt waits")
        reply = {"text": json.dumps({"behavior": "deny"}), "form": "decision"}
        desking.post(f"/api/exchanges/{one['session']}/{one['number']}/reply", reply)
        assert printed(hook)
    card = desking.page(f"/m/{one['session']}/{one['number']}")
    assert '<p class="banner refused" role="status">Denial sent' in card  # in red
    assert 'class="prompt denial-sent"' in desking.page("/history")
    page = desking.page("/")
    assert "Approvals from Claude Code come here." in page
    assert "You are the MCP server.</h1>" not in page
    assert "Send me a test prompt" in page
