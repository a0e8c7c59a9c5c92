"""What an agent hears when something fails in `humanmcp hook` that nobody foresaw."""

import argparse
import json
import os
from pathlib import Path
from typing import Final, NoReturn

import pytest

from humanmcp.common.settings import SettingError, load
from humanmcp.extensions.agents import command, guests, printer
from humanmcp.extensions.agents.asking import PromptWaiting
from humanmcp.protocol.conversation.prompts import ENDED, EVENTS, OVER, HookEvent, Lost
from tests.protocol.conversation.test_prompts import CLAUDE

AGENTS: Final = sorted({one.agent for one in EVENTS})
QUIET: Final = sorted(OVER | ENDED)
STEPS: Final = {
    "read": (command, "_read"),
    "parse": (command, "read_prompt"),
    "log": (command, "log_to"),
    "inbox": (command, "open_inbox"),
    "prompt": (PromptWaiting, "is_shown"),
    "end": (PromptWaiting, "end"),
    "note": (guests, "note_event"),
}
"""Where each step of a hook is."""
ERRORS: Final = (ZeroDivisionError("traceback"), RecursionError("traceback"), OSError("disk"))


class Hooked:
    """A hook that runs in this process: what it printed, and its log."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, home: Path) -> None:
        self.monkeypatch = monkeypatch
        self.home = home
        monkeypatch.setattr(command, "log_to", lambda _home: None)  # pytest has the log
        monkeypatch.setattr(printer.Printer, "watch_limit", lambda _printer: None)

    def fail(self, step: str, error: Exception) -> None:
        """Let a step fail."""
        place, name = STEPS[step]
        original = getattr(place, name)

        def failing(*given: object) -> object:
            if step == "parse" and not given[0]:  # of the command line alone
                return original(*given)
            raise error

        self.monkeypatch.setattr(place, name, failing)

    def run(self, agent: str, event: str, *, flag: bool = False) -> tuple[int, str]:
        """Return the status and what was printed."""
        sent = {**CLAUDE, "hook_event_name": event, "command": "rm x"}
        source, writer = os.pipe()
        os.write(writer, json.dumps(sent).encode())
        os.close(writer)
        printed = self.home.with_name("printed")
        sink = os.open(printed, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        self.monkeypatch.setattr(command, "claim", lambda: (source, sink))
        given = argparse.Namespace(host=agent, event=event if flag else "", limit=600.0)
        try:
            status = command.run(given, load({"home": str(self.home)}))
        finally:
            os.close(source)
            os.close(sink)
        return status, printed.read_text("utf-8")


@pytest.fixture
def hooked(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Hooked:
    """Return a hook with an inbox of its own."""
    return Hooked(monkeypatch, tmp_path / "inbox")


def is_safe(event: HookEvent, status: int, printed: str) -> bool:
    """Return True if the agent denies after this, or asks."""
    if status == printer.DENIED:
        return True
    said = "deny" in printed or '"ask"' in printed
    return status == 0 and (said if event.lost is not Lost.NOTHING else said or not printed)


@pytest.mark.parametrize("error", ERRORS, ids=lambda one: type(one).__name__)
@pytest.mark.parametrize("step", [one for one in STEPS if one != "note"])
@pytest.mark.parametrize("event", EVENTS, ids=lambda one: f"{one.agent} {one.name}")
def test_what_decides_is_denied_or_asked_whatever_fails(
    hooked: Hooked,
    capfd: pytest.CaptureFixture[str],
    event: HookEvent,
    step: str,
    error: Exception,
) -> None:
    """Nothing is allowed, and no traceback is shown in the agent."""
    if step == "end":
        hooked.monkeypatch.setattr(PromptWaiting, "is_shown", lambda _self: False)
    hooked.fail(step, error)
    status, printed = hooked.run(event.agent, event.name)
    assert is_safe(event, status, printed)
    assert "allow" not in printed.replace("allowed", "")
    assert "Traceback" not in capfd.readouterr().err


@pytest.mark.parametrize("error", ERRORS, ids=lambda one: type(one).__name__)
@pytest.mark.parametrize("event", EVENTS, ids=lambda one: f"{one.agent} {one.name}")
def test_what_decides_is_denied_by_the_status_where_nothing_can_be_written(
    hooked: Hooked, event: HookEvent, error: Exception
) -> None:
    """After silence, or half an answer, some agents run the tool."""

    def half(descriptor: int, _raw: bytes) -> NoReturn:
        os.write(descriptor, b"{")
        raise error

    hooked.monkeypatch.setattr(printer, "write_pieces", half)
    hooked.fail("inbox", ZeroDivisionError())
    assert hooked.run(event.agent, event.name) == (printer.DENIED, "{")


@pytest.mark.parametrize("step", ["read", "parse", "log", "inbox", "note"])
@pytest.mark.parametrize("flag", [False, True])
@pytest.mark.parametrize("agent", AGENTS)
@pytest.mark.parametrize("event", QUIET)
def test_what_decides_nothing_ends_quietly(  # noqa: PLR0917 - a table of four, and what is looked at
    hooked: Hooked,
    capfd: pytest.CaptureFixture[str],
    caplog: pytest.LogCaptureFixture,
    agent: str,
    event: str,
    step: str,
    *,
    flag: bool,
) -> None:
    """A line in the log says why. As long as the event is not known, it may be one that decides."""
    hooked.fail(step, ZeroDivisionError("traceback"))
    status, printed = hooked.run(agent, event, flag=flag)
    assert "Traceback" not in capfd.readouterr().err
    if step in {"read", "parse"} and not flag:
        strictest = max(
            (one for one in EVENTS if one.agent == agent),
            key=lambda one: [*Lost].index(one.lost),
        )
        assert is_safe(strictest, status, printed)
    else:
        assert (status, printed) == (0, "")
    assert ("this should not happen" in caplog.text) is (step != "log")


@pytest.mark.parametrize("event", [*QUIET, "PermissionRequest", "PreToolUse"])
def test_settings_that_cannot_be_read_are_told_as_the_event_wants_it(
    hooked: Hooked, capfd: pytest.CaptureFixture[str], event: str
) -> None:
    """In words where nothing is decided; otherwise with what is safe at that very event."""
    error = SettingError("no-toml", file="config.toml", why="x")
    hooked.monkeypatch.setattr(
        command, "run", lambda given, _none: command.cannot_start(given, error)
    )
    status, printed = hooked.run("claude-code", event)
    if event in QUIET:
        assert (status, printed) == (command.CANNOT_HAND_BACK, "")
        assert error.sentence() in capfd.readouterr().err
    elif event == "PreToolUse":
        assert json.loads(printed)["hookSpecificOutput"]["permissionDecision"] == "ask"
    else:
        assert (status, printed) == (0, "")
