"""Ask a person about the permission prompt of an agent, and print the decision.

Theory of operation
-------------------
An agent starts this program for each prompt: JSON on stdin, the decision as JSON on stdout, the
exit status 0. The prompt is an exchange of its agent's session in the inbox (`join`), as the agent
wrote it, and this process waits for the decision.

Nothing is allowed but by a decision that says so and is recorded. Whatever goes wrong, what is safe
at the event is printed (`Lost`), before the agent's own timeout, which lets some agents run the
tool. The limit counts from the start of the process, and one thread does nothing but watch it.

  decided ──▶ recorded ──▶ printed ──▶ closed as answered
     │            │            the limit passed meanwhile: *late* is recorded, too
     │            └──────────▶ the agent is gone, or this process killed: *unconfirmed*
     └──────────▶ not recorded: a denial is printed; anything else is not allowed, and it is said

Who was killed between two of these leaves a prompt without an end, and a decision of which nobody
knows whether the agent has it. The next process of the agent adds that to the record.
"""

from __future__ import annotations

import logging
import os
import time
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Final

from humanmcp.answering.standing import Standing
from humanmcp.common.line_pipe import has_reader
from humanmcp.common.own_process import StopSignals
from humanmcp.extensions.agents import guests
from humanmcp.extensions.agents.printer import SECTION
from humanmcp.inbox.attendant import FALLBACK_POLL, SLOW, Attendant
from humanmcp.inbox.contract import Answer, InboxError, Item, Key, Purpose, Reply, Waiting
from humanmcp.inbox.inbox_session import Stamps, signed
from humanmcp.locales import say
from humanmcp.protocol.conversation import prompts
from humanmcp.protocol.conversation.approvals import allowed
from humanmcp.protocol.conversation.stages import ExchangeState
from humanmcp.protocol.conversation.transcript import Direction, Frame
from humanmcp.protocol.diagnostics.model import TextForm

if TYPE_CHECKING:
    from collections.abc import Callable

    from humanmcp.extensions.agents.printer import Printer
    from humanmcp.inbox.contract import Inbox

logger = logging.getLogger(__name__)

ALLOWED: Final = "allowed"
"""Who decides by a pattern that a person allowed for the session."""


class PromptWaiting:
    """One prompt in the inbox, until it is decided: an `Attended`."""

    def __init__(self, inbox: Inbox, printer: Printer, raw: bytes, text: str) -> None:
        self._inbox = inbox
        self._printer = printer
        self._prompt = printer.prompt
        self._raw = raw
        self._text = text
        self._stamps = Stamps()
        self.key = Key("", 0)
        self._has_bell = False
        self._parent = os.getppid()

    def run(self) -> None:
        """Show it, and wait until it is decided, the limit, a signal, or the end of the agent."""
        attendant = Attendant()
        with StopSignals(lambda _number: attendant.stop()):
            try:
                if self.is_shown():
                    attendant.attend(self)
                    attendant.run()
            finally:
                self.end()

    def end(self) -> None:
        """Wait no more: if nobody decided, it is abandoned."""
        self._inbox.leave(self.key)

    def is_shown(self) -> bool:
        """Record and show the prompt. Return False if a pattern has decided it."""
        facts = guests.begin_facts(self._prompt, self._stamp())
        facts = facts._replace(name=self._inbox.join(facts))
        guests.record_unconfirmed(self._inbox, facts.name, facts.started)
        self.key = self._inbox.enter(facts.name)
        self._record(Direction.IN, self._raw)
        prompt, left = self._prompt, self._printer.deadline - time.monotonic()
        self._inbox.deliver(
            Item(
                self.key,
                self._text,
                prompt.name,
                "",
                "",
                self._stamp(),
                purpose=Purpose.PROMPT,
                waiting=Waiting(limit=max(0.0, round(left, 1))),
                host=prompt.host,
            )
        )
        asked = prompts.approval_of_prompt(prompt, self._text)
        is_allowed = partial(guests.fits_pattern, self._inbox, facts, asked)
        if is_allowed():
            reply = Reply(allowed(asked), TextForm.DECISION, by=ALLOWED, at=self._stamp())
            with suppress(guests.TakenBackError):
                return not self._decide(reply, is_allowed)
        return True

    def _stamp(self) -> str:
        return self._stamps.at(time.time_ns() // 1_000_000)

    # -- waiting ----------------------------------------------------------------------------------

    def begin_steps(self, wake: Callable[[], object]) -> None:
        bell = self._inbox.bell(*self.key)
        self._has_bell = bell is not None
        if bell is not None:
            bell.listen(wake)

    def step(self, now: float) -> float | None:
        """Take a decision that came, give up when it is too late, or end with the agent.

        The agent is gone when its shell or the pipe to it is: either may outlive the other.
        """
        is_gone = os.getppid() != self._parent or not has_reader(self._printer.sink)
        if now >= self._printer.deadline:
            self._give_up()
            return None
        try:
            for key, reply in self._inbox.take_replies(self.key.session):
                if key == self.key and self._decide(reply):
                    return None
        except InboxError as error:
            logger.warning("the inbox cannot be read: %s", error)
        if is_gone:
            return None
        return min(self._printer.deadline, now + (SLOW if self._has_bell else FALLBACK_POLL))

    def leave(self) -> None:
        """Do nothing: `run` ends it."""

    def _give_up(self, words: str = "", reason: Standing = Standing.LATE) -> None:
        """Print what is safe, and record that nothing else was printed."""
        said = self._printer.lost(words or self._printer.too_late)
        self._keep(partial(self._record, Direction.OUT, said.encode()))
        self._keep(partial(self._inbox.close, self.key, ExchangeState.CANCELLED, reason=reason))

    # -- deciding ---------------------------------------------------------------------------------

    def _decide(self, reply: Reply, is_allowed: Callable[[], bool] = lambda: True) -> bool:
        """Print the decision of a reply. Return True unless it goes back to the person.

        Raises:
            TakenBackError: it is not allowed any more as it is recorded.
        """
        verdict = prompts.judge(self._prompt, reply.text, reply.form)
        decided = prompts.decided_in(self._prompt, reply.text)
        if verdict.line is None or decided is None:
            self._inbox.refuse(self.key, verdict.diagnostics)
            return False
        action = prompts.action_of(self._prompt, decided)
        action = reply.by if reply.by in guests.ENDINGS else action
        said = verdict.line
        record = partial(self._record, Direction.OUT, said.encode(), reply, action, is_allowed)
        why = self._keep(record)
        if why and decided.behavior == "allow":
            self._give_up(say(SECTION, "unrecorded", why=why), Standing.UNRECORDED)
        elif self._printer.print(said, decided.message if decided.behavior == "deny" else ""):
            ending = Answer(said, reply.by, self._stamp(), action=action)
            self._keep(partial(self._inbox.close, self.key, ExchangeState.ANSWERED, ending))
        else:
            is_late = self._printer.said is not None
            if not why:
                self._keep(partial(self._amend, Standing.LATE if is_late else Standing.UNCONFIRMED))
            if is_late:
                self._give_up()
        return True

    def _amend(self, action: Standing) -> None:
        """Add to the record that what it says was not printed, or perhaps not."""
        said = self._printer.said or ""
        guests.amend_record(self._inbox, self._inbox.item(self.key), action, self._stamp(), said)

    def _record(
        self,
        direction: Direction,
        raw: bytes,
        reply: Reply | None = None,
        action: str = "",
        is_allowed: Callable[[], bool] = lambda: True,
    ) -> None:
        """Add what came or goes out to the transcript, with the record of the decision."""
        at, note = self._stamp(), prompts.note_of(self._prompt)
        frame = Frame(0, at, direction, raw, self.key.number, note=note)
        decision = None
        if reply is not None:
            about = guests.decision_about(self.key, self._prompt, self._text, raw.decode(), action)
            frame, decision = frame._replace(by=reply.by), signed(about, reply, at)
        guests.write_down(self._inbox, self.key.session, frame, decision, is_allowed)

    @staticmethod
    def _keep(write: Callable[[], object]) -> str:
        """Write down. Return why that was not possible, or ""."""
        try:
            write()
        except InboxError as error:
            logger.warning("not kept: %s", error)
            return error.sentence()
        return ""
