"""Agents with sub-agents, people at desks and keyboards, patterns, kills, disks and clocks.

They act in any order.

Each prompt is played by hand, step by step, so nothing waits. The promise: nothing is allowed that
nobody allowed as it was shown, every prompt ends in exactly one decision or in *not known*, what is
told of it is so, the record says what was printed, and what was typed is kept.
"""

import contextlib
import errno
import json
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    consumes,
    invariant,
    precondition,
    rule,
)

from humanmcp.answering import approvals, service
from humanmcp.answering.open_exchange import OpenExchange, open_exchange_of
from humanmcp.answering.standing import Standing, note_told, twins_of
from humanmcp.extensions.agents.asking import PromptWaiting
from humanmcp.extensions.agents.guests import guest_name, note_event
from humanmcp.extensions.agents.printer import Printer
from humanmcp.inbox import records
from humanmcp.inbox.contract import Item, Key, Reply, StoreError
from humanmcp.inbox.folder import FolderInbox
from humanmcp.protocol.conversation.decisions import ChainEnd, verify_decisions
from humanmcp.protocol.conversation.prompts import AgentPrompt, read_prompt
from humanmcp.protocol.diagnostics.model import TextForm
from tests.protocol.conversation.test_prompts import CLAUDE

AT: Final = "2026-11-28T12:00:00.000Z"
LIMIT: Final = 600.0
AGENTS: Final = st.sampled_from(["one", "one", "one", "two"])
SUB_AGENTS: Final = st.sampled_from(["", "", "a1", "a2"])
COMMANDS: Final = st.sampled_from(["git status", "git status", "rm x"])
FOLDERS: Final = st.sampled_from(["/p", "/q"])
HOW: Final = st.sampled_from(["allow", "deny", "hand back"])
TOLD: Final = {
    "allow": Standing.ALLOW_SENT,
    "deny": Standing.DENIAL_SENT,
    "hand back": Standing.HANDED_BACK,
}
DEATHS: Final = ("marked", "gone", "printed")
"""What a hook has done for a note when it is killed; or its agent is gone before it prints."""
AT_THE_END: Final = {"allow": Standing.ALLOW_UNUSED, "deny": Standing.DENIED}


class KilledError(BaseException):
    """The process is gone: nothing of it runs any more."""


@dataclass(eq=False)
class Played:
    """One prompt: what the agent wrote, its process, and what the model of it expects."""

    sent: dict[str, Any]
    waiting: PromptWaiting
    inbox: FolderInbox
    printed: Path
    expected: set[Standing]
    may_allow: bool = False
    decision: str = ""
    is_over: bool = False
    note: str = ""
    became: str = ""
    """What the agent has told of it: "ran", "ended", or "unknown": it ran, and its hook died."""
    is_unrecorded: bool = False
    is_killed: bool = False
    """It died after it had recorded a decision, and no process of its agent has looked since."""

    @property
    def behavior(self) -> str:
        """What the agent was told."""
        text = self.printed.read_text("utf-8")
        return str(json.loads(text)["hookSpecificOutput"]["decision"]["behavior"]) if text else ""

    @property
    def prompt(self) -> AgentPrompt:
        return read_prompt(json.dumps(self.sent), "claude-code")


class Guests(RuleBasedStateMachine):
    """Two agents with their sub-agents, and people who decide."""

    prompts = Bundle("prompts")

    def __init__(self) -> None:
        """Begin with an empty inbox."""
        super().__init__()
        self.home = Path(tempfile.mkdtemp(prefix="guests-"))
        self.home.chmod(0o700)
        self.desk = FolderInbox(self.home)
        self.played: list[Played] = []
        self._before: dict[Key, Item] = {}
        """The prompts as they were before the last tool ran."""
        self.patterns: set[tuple[str, str, str]] = set()
        """What is allowed without asking: the agent, the folder and the command."""

    def teardown(self) -> None:
        """Remove the inbox."""
        for one in self.played:
            one.waiting.end()
        shutil.rmtree(self.home, ignore_errors=True)

    # -- what an agent does -----------------------------------------------------------------------

    @rule(target=prompts, agent=AGENTS, sub=SUB_AGENTS, command=COMMANDS, folder=FOLDERS)
    def ask(self, agent: str, sub: str, command: str, folder: str) -> Played:
        """An agent asks: a pattern allows it only in its own session and folder."""
        sent = {**CLAUDE, "session_id": agent, "cwd": folder, "tool_input": {"command": command}}
        sent |= {"agent_id": sub, "agent_type": "Explore"} if sub else {}
        return self.play(sent)

    def play(self, sent: dict[str, Any]) -> Played:
        """Ask as an agent that sends this."""
        text = json.dumps(sent)
        printed = self.home / f"printed {len(self.played)}"
        sink = os.open(printed, os.O_WRONLY | os.O_CREAT, 0o600)
        prompt = read_prompt(text, "claude-code")
        printer = Printer(prompt, sink, time.monotonic() + LIMIT, LIMIT)
        inbox = FolderInbox(self.home)
        waiting = PromptWaiting(inbox, printer, text.encode(), text)
        is_allowed = _pattern(sent) in self.patterns
        assert waiting.is_shown() is not is_allowed
        one = Played(sent, waiting, inbox, printed, {Standing.WAITS}, may_allow=is_allowed)
        if is_allowed:
            one.is_over, one.decision, one.expected = True, "allow", {TOLD["allow"]}
            waiting.end()
        for each in self.played:
            each.is_killed = each.is_killed and each.waiting.key.session != one.waiting.key.session
        self.played.append(one)
        return one

    @rule(one=prompts, dies=st.sampled_from(["", "", *DEATHS]))
    def run_at_the_keyboard(self, one: Played, dies: str) -> None:
        """The tool ran: by our permission, by the keyboard's, or although it was denied here.

        The hook that tells this may die at each of its writes, and the agent before it reads them.
        """
        self._before = {each.waiting.key: self._opened(each).item for each in self.played}
        said = self._tell(one.sent, "PostToolUse", dies)
        same = [each for each in self.played if _key(each) == _key(one) and not each.became]
        allowed = [each for each in same if each.decision == "allow"]
        open_ones = [each for each in same if not each.is_over]
        denied = [each for each in same if each.decision == "deny"]
        is_told = allowed and not open_ones and dies in {"", "printed"}
        assert said == (allowed[0].note if is_told else "")
        if not allowed:
            self._twins(open_ones, denied)
        elif open_ones:  # the agent's own dialog is open for these: one of them may have run
            for each in allowed:
                each.expected, each.became = {Standing.ALLOW_EQUAL}, "equal ran"
            self._twins(open_ones, denied, allowed)
        else:
            allowed[0].expected = {Standing.ALLOWED}
            allowed[0].became = "unknown" if dies else "ran"

    def _twins(
        self, open_ones: list[Played], denied: list[Played], allowed: Sequence[Played] = ()
    ) -> None:
        """Nothing tells which of several equal ones it was, until all of them have run."""
        had_twins = any(twins_of(self._before[one.waiting.key]) for one in open_ones)
        for one in open_ones:
            one.waiting.step(time.monotonic())
        is_gone = not any(self._waits(one) for one in open_ones)
        if len(open_ones) + len(denied) + len(allowed) > 1 and not had_twins:
            assert not open_ones or not is_gone
        elif not had_twins:
            assert is_gone
        for one in open_ones if is_gone else ():
            self._gone(one, Standing.KEYBOARD)
        for one in denied:
            one.expected, one.became = {Standing.EQUAL_RAN}, "equal ran"

    @rule(
        agent=AGENTS,
        event=st.sampled_from(["Stop", "UserPromptSubmit", "SessionEnd"]),
        background=st.none() | st.sets(st.sampled_from(["a1", "a2"])),
    )
    def end_a_turn(self, agent: str, event: str, background: set[str] | None) -> None:
        """The end of one agent's turn ends its own prompts, and no other's."""
        more = {} if background is None else {"background_tasks": [{"id": b} for b in background]}
        self._tell({**CLAUDE, "session_id": agent, **more}, event)
        for one in self.played:
            sub = one.sent.get("agent_id", "")
            is_known = event == "Stop" and background is not None
            is_left = is_known and sub not in (background or ())
            is_mine = event == "SessionEnd" or not sub or is_left
            if one.sent["session_id"] == agent and is_mine:
                self._ended(one)

    @rule(agent=AGENTS, sub=st.sampled_from(["a1", "a2"]))
    def end_a_sub_agent(self, agent: str, sub: str) -> None:
        """A sub-agent ends."""
        self._tell({**CLAUDE, "session_id": agent, "agent_id": sub}, "SubagentStop")
        for one in self.played:
            if (one.sent["session_id"], one.sent.get("agent_id", "")) == (agent, sub):
                self._ended(one)

    def _ended(self, one: Played) -> None:
        if not one.is_over:
            self._gone(one, Standing.MOVED_ON)
        elif one.decision in AT_THE_END and not one.became:
            one.expected, one.became = {AT_THE_END[one.decision]}, "ended"

    def _tell(self, sent: dict[str, Any], event: str, dies: str = "") -> str:
        """Tell what another hook of the agent tells. Return the note that was printed."""
        told = read_prompt(json.dumps({**sent, "hook_event_name": event}), "claude-code")
        printed: list[str] = []

        def tell(note: str) -> bool:
            if dies == "marked":
                raise KilledError
            if dies != "gone":
                printed.append(note)
            if dies == "printed":
                raise KilledError
            return dies != "gone"

        with contextlib.suppress(KilledError):
            note_event(FolderInbox(self.home), told, AT, tell)
        return "".join(printed)

    # -- what happens to its process --------------------------------------------------------------

    @rule(one=consumes(prompts))
    def kill(self, one: Played) -> None:
        """The process of a prompt dies without a word."""
        if one.is_over:
            return
        self._release(one)
        one.is_over, one.expected = True, {Standing.WITHDRAWN}

    @staticmethod
    def _release(one: Played) -> None:
        for entered in one.inbox._entered.values():
            entered.lock.release()

    @rule(one=consumes(prompts))
    def let_the_limit_pass(self, one: Played) -> None:
        """Nobody decides in time."""
        if one.is_over:
            return
        one.waiting.step(time.monotonic() + 2 * LIMIT)
        one.waiting.end()
        one.is_over, one.expected = True, {Standing.LATE}

    # -- what people do ---------------------------------------------------------------------------

    @rule(one=prompts)
    def allow_like(self, one: Played) -> None:
        """Somebody allows it, and what is like it from now on."""
        self.decide(one, "allow", like=True)

    @rule(one=prompts, note=st.sampled_from(["small", "keep it"]))
    def allow_with_a_note(self, one: Played, note: str) -> None:
        """Somebody says something to the agent beside."""
        self.decide(one, "allow", note=note)

    @rule(one=prompts, how=HOW)
    def decide(self, one: Played, how: str, *, like: bool = False, note: str = "") -> None:
        """Somebody decides at the desk, on a phone, or in a terminal; the first one wins."""
        if not self._is_sent(one, how, like=like, note=note):
            return
        one.note = note
        one.may_allow = how == "allow"
        assert one.waiting.step(time.monotonic()) is None
        one.waiting.end()
        one.is_over, one.decision = True, how
        one.expected = {TOLD[how]}

    def _is_sent(self, one: Played, how: str, *, like: bool = False, note: str = "") -> bool:
        """Send a decision as a desk does. Return False if the prompt is over."""
        opened = self._opened(one)
        asked = opened.asked
        assert asked is not None
        shown = asked.digest
        reply = {
            "allow": lambda: approvals.allow(opened, asked, seen=True, shown=shown, note=note),
            "deny": lambda: approvals.deny(opened, "no", shown=shown),
            "hand back": lambda: approvals.hand_back(opened, shown=shown),
        }[how]()
        result = service.send(opened, reply._replace(by="desk"), within=0)
        if one.is_over:
            assert result.outcome in {service.Outcome.OVER, service.Outcome.TAKEN}
            return False
        assert result.outcome is service.Outcome.QUEUED
        if how == "allow" and like:
            approvals.allow_like(opened, approvals.patterns_of(opened)[0])
            self.patterns.add(_pattern(one.sent))
        return True

    # -- what a disk does -------------------------------------------------------------------------

    @rule(one=prompts, how=HOW)
    def decide_while_nothing_can_be_recorded(self, one: Played, how: str) -> None:
        """A denial goes out; what cannot be recorded is not allowed, and that is said."""
        if not self._is_sent(one, how):
            return

        def share(*_: object) -> None:
            raise StoreError(OSError(errno.ENOSPC, "full"), "session", session="a")

        one.inbox.share = share  # type: ignore[assignment] # a full disk
        assert one.waiting.step(time.monotonic()) is None
        one.waiting.end()
        one.is_over, one.decision = True, "" if how == "allow" else how
        one.expected = {Standing.UNRECORDED if how == "allow" else TOLD[how]}
        one.is_unrecorded = True

    @rule(one=consumes(prompts), how=HOW)
    def let_the_limit_pass_while_a_decision_is_recorded(self, one: Played, how: str) -> None:
        """The disk stalls, and what is safe was printed meanwhile: the record says so."""
        if not self._is_sent(one, how):
            return
        printer = one.waiting._printer
        self._after_recording(one, lambda: printer.lost(printer.too_late))
        assert one.waiting.step(time.monotonic()) is None
        one.waiting.end()
        one.is_over, one.expected = True, {Standing.LATE}

    @rule(one=consumes(prompts), how=HOW)
    def kill_while_a_decision_is_recorded(self, one: Played, how: str) -> None:
        """Nobody knows then what the agent was told, and nothing says that somebody does."""
        if not self._is_sent(one, how):
            return

        def die() -> None:
            raise KilledError

        self._after_recording(one, die)
        with contextlib.suppress(KilledError):
            one.waiting.step(time.monotonic())
        self._release(one)
        one.is_over, one.expected, one.is_killed = True, {Standing.UNCONFIRMED}, True

    @staticmethod
    def _after_recording(one: Played, happen: Callable[[], object]) -> None:
        share = one.inbox.share
        happened: list[int] = []

        def shared(session: str, write: Any) -> None:  # noqa: ANN401 - as the inbox takes it
            share(session, write)
            if not happened:
                happened.append(1)
                happen()

        one.inbox.share = shared  # type: ignore[method-assign] # a disk that is slow

    @rule(name=st.sampled_from([records.NUMBER, records.SESSION]), agent=AGENTS)
    def tear_a_file(self, name: str, agent: str) -> None:
        """A crash leaves a file empty: no number comes again, and the chain goes on."""
        asked = [one for one in self.played if one.sent["session_id"] == agent]
        if asked:
            (self.home / "sessions" / guest_name(asked[0].prompt) / name).write_bytes(b"")
            self.ask(agent, "", "git status", "/p")

    @rule(one=prompts, form=st.sampled_from(TextForm))
    def type_what_decides_nothing(self, one: Played, form: TextForm) -> None:
        """It is kept, and never sent."""
        opened = self._opened(one)
        result = service.send(opened, Reply("no, keep x", form, by="desk"), within=0)
        assert result.outcome is not service.Outcome.SENT
        item = self._opened(one).item
        texts = [*(kept.text for kept in item.kept), "" if item.draft is None else item.draft.text]
        assert "no, keep x" in texts
        if not one.is_over:
            assert one.waiting.step(time.monotonic()) is not None
            one.expected = {Standing.WRITING}

    @rule(one=prompts)
    def take_back(self, one: Played) -> None:
        """What is taken back is in force at once, for every prompt of the agent."""
        opened = self._opened(one)
        for pattern in approvals.allowed_patterns(opened):
            approvals.take_back(opened, str(pattern))
        agent = one.sent["session_id"]
        self.patterns = {each for each in self.patterns if each[0] != agent}

    @precondition(lambda self: self.played)
    @rule()
    def restart_the_desk(self) -> None:
        """A desk keeps nothing that the inbox does not."""
        self.desk = FolderInbox(self.home)

    # -- what is always so ------------------------------------------------------------------------

    @invariant()
    def nothing_is_allowed_that_nobody_allowed(self) -> None:
        """And what was printed is what was decided."""
        for one in self.played:
            assert one.behavior in {"", "allow", "deny"}
            assert (one.behavior == "allow") is (one.decision == "allow" and one.may_allow)
            assert (one.behavior == "deny") is (one.decision == "deny")

    @invariant()
    def what_is_told_is_so(self) -> None:
        """Every prompt waits, or has exactly one end."""
        for one in self.played:
            assert self._opened(one).standing in one.expected

    @invariant()
    def what_is_told_of_a_note_is_so(self) -> None:
        """It is printed with the result of its call, not known, or lost when the turn ends."""
        told = {
            "": "unread",
            "ran": "read",
            "unknown": "unknown",
            "ended": "lost",
            "equal ran": "of equal",
        }
        for one in self.played:
            expected = (one.note, f"note {told[one.became]}") if one.note else ("", "")
            assert note_told(self._opened(one).item) == expected

    @invariant()
    def the_record_says_what_was_printed(self) -> None:
        """Of a process that was killed, from the next prompt of its agent on."""
        for one in self.played:
            frames = self.desk.frames(one.waiting.key.session)
            mine = [f for f in frames if f.number == one.waiting.key.number and f.decision]
            actions = [json.loads(frame.decision)["action"] for frame in mine]
            *_, last = ["", *(each for each in actions if each != "equal ran")]
            behavior = {"allow": "allow", "deny": "deny"}.get(last, "")
            if not one.is_killed:
                assert behavior == one.behavior or (one.is_unrecorded and last == "")

    @invariant()
    def each_agent_has_one_letter_and_each_prompt_a_number(self) -> None:
        """No number comes again."""
        names = {guest_name(one.prompt) for one in self.played}
        assert {facts.name for facts in self.desk.sessions()} == names
        assert len({facts.letter for facts in self.desk.sessions()}) == len(names)
        assert len({one.waiting.key for one in self.played}) == len(self.played)

    @invariant()
    def the_record_of_each_agent_is_one_chain(self) -> None:
        """What was taken out of it would be seen."""
        for facts in self.desk.sessions():
            frames = self.desk.frames(facts.name)
            content = "".join(f"{one.decision}\n" for one in frames if one.decision).encode()
            known = {facts.name: ChainEnd(facts.decisions, facts.last_decision)}
            actions = [json.loads(line)["action"] for line in content.splitlines()]
            ran = [one for one in self.played if Standing.EQUAL_RAN in one.expected]
            names = [guest_name(one.prompt) for one in ran]
            assert actions.count("equal ran") == names.count(facts.name)
            if content:
                assert list(verify_decisions(content, known.get)) == []

    def _opened(self, one: Played) -> OpenExchange:
        return open_exchange_of(self.desk, one.waiting.key)

    def _waits(self, one: Played) -> bool:
        return self._opened(one).standing in {Standing.WAITS, Standing.WRITING}

    def _gone(self, one: Played, standing: Standing) -> None:
        """Let a prompt take what another hook has told."""
        one.waiting.step(time.monotonic())
        one.waiting.end()
        one.is_over, one.expected = True, {standing}


def _pattern(sent: dict[str, Any]) -> tuple[str, str, str]:
    return sent["session_id"], sent["cwd"], sent["tool_input"]["command"]


def _key(one: Played) -> tuple[str, str, str]:
    sub = one.sent.get("agent_id", "")
    return one.sent["session_id"], sub, one.sent["tool_input"]["command"]


def test_a_tool_that_runs_for_long_is_still_known_by_its_prompt() -> None:
    """Whatever the agent has asked meanwhile."""
    guests = Guests()
    first = guests.ask("one", "a1", "git status", "/p")
    guests.allow_with_a_note(first, "small")
    for _ in range(30):
        guests.decide(guests.ask("one", "", "rm x", "/p"), "allow")
    guests.run_at_the_keyboard(first, "")
    guests.what_is_told_is_so()
    guests.what_is_told_of_a_note_is_so()
    guests.teardown()


PERMISSION: Final = dict(CLAUDE)
BEFORE_A_TOOL: Final = {**CLAUDE, "hook_event_name": "PreToolUse", "tool_use_id": "toolu_1"}
OTHER: Final = {"tool_use_id": "toolu_2"}
SUB_AGENT: Final = {**CLAUDE, "agent_id": "a1", "agent_type": "Explore"}
STOP: Final = {"hook_event_name": "Stop"}


@pytest.mark.parametrize(
    ("asked", "events", "told"),
    [
        # Without an id of the call nothing tells whether the one that ran was the denied one.
        ([(PERMISSION, "deny")], [{}], [Standing.EQUAL_RAN]),
        ([(PERMISSION, "deny")], [OTHER], [Standing.EQUAL_RAN]),
        ([(PERMISSION, "deny")], [OTHER, "Stop"], [Standing.EQUAL_RAN]),
        ([(PERMISSION, "deny")], ["Stop", OTHER], [Standing.DENIED]),
        ([(PERMISSION, "deny")], [{"tool_input": {"command": "ls"}}], [Standing.DENIAL_SENT]),
        ([(PERMISSION, "deny")], [{"agent_id": "a1"}], [Standing.DENIAL_SENT]),
        (
            [(PERMISSION, "deny")],
            [{"hook_event_name": "PostToolUseFailure"}],
            [Standing.DENIAL_SENT],
        ),
        # With one it is known.
        ([(BEFORE_A_TOOL, "deny")], [{"tool_use_id": "toolu_1"}], [Standing.RAN]),
        ([(BEFORE_A_TOOL, "deny")], [OTHER], [Standing.DENIED]),
        ([(BEFORE_A_TOOL, "deny")], [{}], [Standing.EQUAL_RAN]),
        # Of two prompts.
        ([(PERMISSION, "deny")] * 2, [OTHER], [Standing.EQUAL_RAN] * 2),
        (
            [(PERMISSION, "deny"), (PERMISSION, "allow")],
            [OTHER],
            [Standing.DENIAL_SENT, Standing.ALLOWED],
        ),
        (
            [(PERMISSION, "allow"), (PERMISSION, "deny")],
            [OTHER],
            [Standing.ALLOWED, Standing.DENIAL_SENT],
        ),
        (
            [(PERMISSION, "allow"), (PERMISSION, "deny")],
            [{}, {}],
            [Standing.ALLOWED, Standing.EQUAL_RAN],
        ),
        ([(PERMISSION, "deny"), (PERMISSION, "")], [OTHER], [Standing.EQUAL_RAN, Standing.WAITS]),
        (
            [(PERMISSION, "deny"), (PERMISSION, "")],
            [{}, {}],
            [Standing.EQUAL_RAN, Standing.KEYBOARD],
        ),
        (
            [(PERMISSION, "deny"), (PERMISSION, ""), (PERMISSION, "")],
            [{}, {}],
            [Standing.EQUAL_RAN, Standing.WAITS, Standing.WAITS],
        ),
        (
            [(BEFORE_A_TOOL, "deny"), (PERMISSION, "")],
            [{"tool_use_id": "toolu_1"}],
            [Standing.RAN, Standing.WAITS],
        ),
        (
            [(BEFORE_A_TOOL, "deny"), ({**BEFORE_A_TOOL, **OTHER}, "")],
            [OTHER],
            [Standing.DENIED, Standing.KEYBOARD],
        ),
        (
            [(BEFORE_A_TOOL, "deny"), ({**BEFORE_A_TOOL, **OTHER}, "allow")],
            [OTHER],
            [Standing.DENIED, Standing.ALLOWED],
        ),
        # The end of a turn ends the prompts of who has ended it.
        ([(SUB_AGENT, "")], ["Stop"], [Standing.WAITS]),
        ([(SUB_AGENT, "")], [{**STOP, "background_tasks": [{"id": "a1"}]}], [Standing.WAITS]),
        ([(SUB_AGENT, "")], [{**STOP, "background_tasks": []}], [Standing.MOVED_ON]),
        ([(SUB_AGENT, "")], ["SessionEnd"], [Standing.MOVED_ON]),
        ([(PERMISSION, "")], ["SubagentStop", "UserPromptSubmit"], [Standing.MOVED_ON]),
        ([(PERMISSION, "")], [{**SUB_AGENT, "hook_event_name": "Stop"}], [Standing.WAITS]),
    ],
)
def test_what_ran_is_told_of_the_prompt_that_it_is_known_to_be(
    asked: list[tuple[dict[str, Any], str]], events: list[Any], told: list[Standing]
) -> None:
    """And of each that it may be, that it is not known."""
    guests = Guests()
    played = [guests.play(sent) for sent, _ in asked]
    for one, (_, how) in zip(played, asked, strict=True):
        if how:
            guests.decide(one, how)
    for event in events:
        more = {"hook_event_name": event} if isinstance(event, str) else event
        guests._tell({**CLAUDE, **more}, more.get("hook_event_name", "PostToolUse"))
    for one in played:
        if not one.is_over:
            one.waiting.step(time.monotonic())
    assert [guests._opened(one).standing for one in played] == told
    guests.teardown()


def test_a_pattern_allows_what_fits_it_alone() -> None:
    """And nothing of another agent, or in another folder: each of them waits."""
    guests = Guests()
    guests.allow_like(guests.play(PERMISSION))
    others = ({"tool_input": {"command": "rm x"}}, {"session_id": "two"}, {"cwd": "/q"})
    assert not any(guests.play({**PERMISSION, **other}).is_over for other in others)
    assert guests.play(PERMISSION).is_over
    guests.nothing_is_allowed_that_nobody_allowed()
    guests.teardown()


TestGuests = Guests.TestCase
TestGuests.settings = settings(max_examples=25, stateful_step_count=25, deadline=None)
