"""A hook dies, or its disk fails, at each single call that changes a file, from its decision on.

The record of decisions, what the agent was told and what people are told agree afterwards.
"""

import contextlib
import json
import os
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, Final

import pytest

from humanmcp.answering import approvals, service
from humanmcp.answering.open_exchange import OpenExchange, open_exchange_of
from humanmcp.answering.standing import Standing
from humanmcp.extensions.agents.asking import PromptWaiting
from humanmcp.extensions.agents.printer import Printer
from humanmcp.inbox.contract import Key
from humanmcp.inbox.folder import FolderInbox
from humanmcp.protocol.conversation.decisions import ChainEnd, verify_decisions
from humanmcp.protocol.conversation.prompts import read_prompt
from tests.inbox.crashing import Countdown, failing_at, killed_at
from tests.protocol.conversation.test_prompts import CLAUDE

LIMIT: Final = 600.0
MORE_CALLS_THAN_ANY: Final = 80
Failing = Callable[[int], AbstractContextManager[Countdown]]
FAILURES: Final[dict[str, Failing]] = {
    "killed": killed_at,
    "a full disk": failing_at,
}
TOLD: Final = {
    Standing.ALLOW_SENT: "allow",
    Standing.DENIAL_SENT: "deny",
    Standing.LATE: "",
    Standing.UNRECORDED: "",
}
"""What the agent was told where people are told this."""


class Hook:
    """A hook of this process, at its own inbox."""

    def __init__(self, home: Path, sent: dict[str, Any] = CLAUDE) -> None:
        self.inbox = FolderInbox(home)
        self.printed = home / f"printed {os.urandom(4).hex()}"
        sink = os.open(self.printed, os.O_WRONLY | os.O_CREAT, 0o600)
        text = json.dumps(sent)
        prompt = read_prompt(text, "claude-code")
        self.printer = Printer(prompt, sink, time.monotonic() + LIMIT, LIMIT)
        self.waiting = PromptWaiting(self.inbox, self.printer, text.encode(), text)

    @property
    def key(self) -> Key:
        return self.waiting.key

    def decide(self, how: str) -> OpenExchange:
        """Let a person decide about it."""
        opened = open_exchange_of(FolderInbox(self.inbox.home), self.key)
        asked = opened.asked
        assert asked is not None
        reply = {
            "allow": lambda: approvals.allow(opened, asked, seen=True, shown=asked.digest),
            "deny": lambda: approvals.deny(opened, "no", shown=asked.digest),
        }[how]()
        service.send(opened, reply._replace(by="desk"), within=0)
        return opened

    def go_on(self) -> None:
        """Take the decision, or begin where a pattern decides; print what is safe after an error.

        As `command.run` does.
        """
        try:
            if self.key.number:
                self.waiting.step(time.monotonic())
            else:
                self.waiting.is_shown()
            self.waiting.end()
        except Exception:  # noqa: BLE001 - as there
            with contextlib.suppress(Exception):
                self.waiting.end()
        self.printer.lost("ended")

    def die(self) -> None:
        """Let the kernel give up what it held."""
        for entered in self.inbox._entered.values():
            entered.lock.release()

    @property
    def said(self) -> str:
        """What the agent was told: to allow it, to deny it, or nothing of either."""
        text = self.printed.read_text("utf-8")
        said = json.loads(text)["hookSpecificOutput"]["decision"]["behavior"] if text else ""
        return said if said in {"allow", "deny"} else ""


@pytest.mark.parametrize("failure", FAILURES)
@pytest.mark.parametrize("how", ["allow", "deny", "allowed by a pattern"])
def test_what_is_recorded_and_told_is_what_the_agent_was_told(
    how: str, failure: str, tmp_path: Path
) -> None:
    """Or nobody says that they know."""
    for call in range(1, MORE_CALLS_THAN_ANY):
        home = tmp_path / str(call)
        hook = Hook(home)
        if how == "allowed by a pattern":
            assert hook.waiting.is_shown()
            opened = hook.decide("allow")
            approvals.allow_like(opened, approvals.patterns_of(opened)[0])
            hook.go_on()
            hook = Hook(home)
        else:
            assert hook.waiting.is_shown()
            hook.decide(how)
        with FAILURES[failure](call) as countdown:
            hook.go_on()
        if failure == "killed" and countdown.happened:
            hook.die()
        _assert_agreed(home, hook, f"{failure} at call {call}")
        if not countdown.happened:
            return
    raise AssertionError(f"more than {MORE_CALLS_THAN_ANY} calls")


def _assert_agreed(home: Path, hook: Hook, when: str) -> None:
    """Look as the next process of the agent does, and then as a desk."""
    after = Hook(home, {**CLAUDE, "tool_input": {"command": "another"}})
    assert after.waiting.is_shown(), when
    after.waiting.end()
    desk = FolderInbox(home)
    facts = desk.facts(after.key.session)
    decided = [frame for frame in desk.frames(facts.name) if frame.decision]
    mine = [json.loads(one.decision)["action"] for one in decided if one.number == hook.key.number]
    last = mine[-1] if mine else ""
    assert last in {"", hook.said, "unconfirmed"}, when
    assert hook.said != "allow" or "allow" in mine, when
    content = "".join(f"{one.decision}\n" for one in decided).encode()
    ends = {facts.name: ChainEnd(facts.decisions, facts.last_decision)}
    assert not content or list(verify_decisions(content, ends.get)) == [], when
    if hook.key.number and hook.key.number != after.key.number:
        with contextlib.suppress(LookupError):
            standing = open_exchange_of(desk, hook.key).standing
            assert standing.is_over, when
            assert TOLD.get(standing, hook.said) == hook.said, when
            assert standing not in TOLD or last != "unconfirmed", when
