"""The page under *Connect*: who opens a session, said and changed."""

import contextlib
import json
import sys
from pathlib import Path

import pytest

from humanmcp.inbox.folder import FolderInbox
from humanmcp.setup.hook_entries import HOOKS
from tests.hook.test_hook import Agent
from tests.hook.test_hook import said as printed
from tests.protocol.conversation.test_prompts import CLAUDE
from tests.support.desk_process import FORM, Desking
from tests.support.waiting import until


def test_who_opens_a_session_is_said_and_changed_on_the_page(desking: Desking) -> None:
    """*Answer the handshake myself*: one press, and one to give it back."""
    inbox = FolderInbox(desking.home)
    assert "Answer the handshake myself" in desking.page("/connect")
    for act, on, said in (
        ("hand", True, "Let rules answer"),
        ("book", False, "Answer the handshake"),
    ):
        answer = desking.submit("/handshake", act=act)
        assert answer.status == 303
        assert inbox.handshake_is_by_hand() is on
        assert said in desking.page("/connect")


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


def test_scripts_send_the_forms_of_the_page(desking: Desking) -> None:
    """What the interface has no call for, a form with the token of scripts does."""
    form = {**desking.bearer, **FORM}
    assert desking.ask("POST", "/handshake", body=b"act=hand", headers=form).status == 303
    assert FolderInbox(desking.home).handshake_is_by_hand()
    assert desking.ask("POST", "/handshake", body=b"act=perhaps", headers=form).status == 404


def test_the_page_has_the_command_of_each_host_that_asks_for_approvals(desking: Desking) -> None:
    """They are those of the table of hooks."""
    page = desking.page("/connect")
    assert all(f"humanmcp config {host} --approvals --write" in page for host in HOOKS)


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
