"""A hook dies, or its disk fails, at each single call that changes a file, from its decision on.

The record of decisions, what the agent was told and what people are told agree afterwards.
"""

import contextlib
import json
import os
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, Final

import pytest

from humanmcp.answering import approvals, service
from humanmcp.answering.open_exchange import OpenExchange, open_exchange_of
from humanmcp.answering.standing import Standing
from humanmcp.extensions.agents.asking import PromptWaiting
from humanmcp.extensions.agents.printer import Printer
from humanmcp.inbox import life_lock
from humanmcp.inbox.contract import Key, StoreError, Tail
from humanmcp.inbox.folder import FolderInbox
from humanmcp.protocol.conversation.decisions import ChainEnd, verify_decisions
from humanmcp.protocol.conversation.prompts import read_prompt
from humanmcp.protocol.conversation.transcript import Frame
from tests.inbox.crashing import Countdown, failing_at, killed_at, watched
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
            _allow_like(hook)
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


def _allow_like(hook: Hook) -> None:
    """Let a person allow it and the same from now on."""
    assert hook.waiting.is_shown()
    opened = hook.decide("allow")
    approvals.allow_like(opened, approvals.patterns_of(opened)[0])
    hook.go_on()


class _TakingBack:
    """A person who takes every pattern back before the n-th call that changes something."""

    def __init__(self, hook: Hook, session: str, at: int) -> None:
        self._hook, self._session, self._at = hook, session, at
        self._desk = FolderInbox(hook.inbox.home)
        self._share = hook.inbox.share
        self.count = 0
        self.is_before = False
        """They were taken back, and no decision had been recorded."""

    def share(self, session: str, write: Callable[[Tail], tuple[Sequence[Frame], Tail]]) -> None:
        """Look between the reading of the patterns and the record of what they allow."""
        self.look()
        self._share(session, write)

    def look(self) -> None:
        self.count += 1
        if self.count == self._at:
            number = self._hook.key.number
            frames = self._desk.frames(self._session)
            recorded = any(one.decision for one in frames if one.number == number)
            with contextlib.suppress(StoreError):  # it is the hook's turn
                self._desk.change_holds(self._session, lambda _: ())
                self.is_before = not recorded


def test_a_pattern_that_was_taken_back_before_it_was_recorded_allows_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At each single moment: what was said to be taken back is not in force any more."""
    monkeypatch.setattr(life_lock, "TURN_WITHIN", 0.0)
    outcomes = set()
    for call in range(1, MORE_CALLS_THAN_ANY):
        home = tmp_path / str(call)
        first = Hook(home)
        _allow_like(first)
        hook = Hook(home)
        taking = _TakingBack(hook, first.key.session, call)
        monkeypatch.setattr(hook.inbox, "share", taking.share)
        with watched(taking.look):
            hook.go_on()
        if taking.count < call:
            break
        outcomes.add((taking.is_before, hook.said))
    assert outcomes == {(True, ""), (False, "allow")}


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
