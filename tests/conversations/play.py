"""Plays a conversation against the pure core alone: no process, no file, no clock."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from humanmcp.protocol.answer_book.book import Book
from humanmcp.protocol.answer_book.decide import decide
from humanmcp.protocol.conversation.outcomes import (
    Event,
    LineReady,
    NoticeArrived,
    Outcome,
    Refused,
    RequestArrived,
    Sent,
    UnreadableArrived,
)
from humanmcp.protocol.diagnostics.model import Diagnostic, Fix, Severity, TextForm
from humanmcp.protocol.json.jsonrpc import Kind
from humanmcp.protocol.session import McpSession
from humanmcp.protocol.validation.addressing import addressed, id_of, kind_typed, unaddressed
from tests.conversations.script import Deed, Step

FORMS: Final = {
    Deed.SEND: TextForm.MESSAGE,
    Deed.TEXT: TextForm.TEXT,
    Deed.RESULT: TextForm.RESULT,
    Deed.ERROR: TextForm.ERROR,
}
"""What a person can do at a desk, and what the text stands for then."""


@dataclass(frozen=True, slots=True)
class Played:
    """What became of one step: the lines out, and the problems that a person is shown.

    `typed` is the text that was submitted, `number` the exchange that it was for (0: none), `form`
    what it stands for where it was submitted at a desk (None: in `out.txt`), `anyway` says that the
    person insisted, `refused` that it was given back.
    """

    out: tuple[str, ...] = ()
    diagnostics: tuple[Diagnostic, ...] = ()
    typed: str = ""
    number: int = 0
    form: TextForm | None = None
    anyway: bool = False
    refused: bool = False

    @property
    def codes(self) -> list[str]:
        """The codes of the problems, in order."""
        return [diagnostic.code for diagnostic in self.diagnostics]


class Player:
    """A session, and a person who does what the steps say."""

    def __init__(self) -> None:
        """Start with a new session."""
        self.session = McpSession()
        self._refused = Played()

    def play(self, step: Step) -> Played:
        """Play one step."""
        played = self._arrive(step) if step.deed is None else self._act(step.deed, step.text)
        if played.refused:
            self._refused = played
        return played

    def _arrive(self, step: Step) -> Played:
        events = self.session.receive(step.text.encode())
        return Played(
            out=tuple(event.line for event in events if isinstance(event, LineReady)),
            diagnostics=tuple(diagnostic for event in events for diagnostic in _shown(event)),
        )

    def _act(self, deed: Deed, text: str) -> Played:
        last = self._refused
        match deed:
            case Deed.OUT:
                return self._save(text)
            case Deed.FIX:
                text = fixed(last)
                return self._send(last.number, text, last.form) if last.form else self._save(text)
            case Deed.ANYWAY:
                return self._send(
                    last.number, last.typed, last.form or TextForm.MESSAGE, anyway=True
                )
            case Deed.BOOK:
                (exchange,) = self.session.pending
                decision = decide(exchange, Book(), self.session.negotiated)
                assert decision.due(0)
                return self._send(exchange.number, decision.text, decision.form)
            case _:
                (exchange,) = self.session.pending
                return self._send(exchange.number, text, FORMS[deed])

    def _send(self, number: int, text: str, form: TextForm, *, anyway: bool = False) -> Played:
        """Hand a text in at a desk, where it is clear which request it answers."""
        outcome = self.session.reply(number, text, form, anyway=anyway)
        return replace(_settled(outcome, text, number), form=form, anyway=anyway)

    def _save(self, text: str) -> Played:
        """Do with a text in `out.txt` what the server does with it."""
        exchange = addressed(text, self.session.pending)
        if kind_typed(text) in (Kind.REQUEST, Kind.NOTIFICATION) or (
            exchange is None and self.session.unreadable and id_of(text) is None
        ):
            verdict = self.session.submit(text)
            out = () if verdict.line is None else (verdict.line,)
            return Played(out, verdict.diagnostics, text, refused=not verdict.sendable)
        if exchange is None:
            diagnostics = unaddressed(text, self.session.exchanges.remembered, self.session.notice)
            return Played(diagnostics=diagnostics, typed=text, refused=True)
        return _settled(self.session.reply(exchange.number, text), text, exchange.number)


def _shown(event: Event) -> Sequence[Diagnostic]:
    """Return what a person is told about an event."""
    match event:
        case RequestArrived(exchange):
            return exchange.remarks
        case NoticeArrived(_, remarks):
            return remarks
        case UnreadableArrived(malformed):
            return (Diagnostic(malformed.why, Severity.ERROR, malformed.detail),)
        case _:
            return ()


def _settled(outcome: Outcome, typed: str, number: int) -> Played:
    match outcome:
        case Sent(_, line, _, verdict):
            return Played(() if line is None else (line,), verdict.diagnostics, typed, number)
        case Refused(_, verdict):
            return Played((), verdict.diagnostics, typed, number, refused=True)
        case _:
            raise AssertionError(f"nobody waits for {typed!r}")


def fixed(refused: Played) -> str:
    """Apply the fix of every problem of a text that was given back."""
    edits = {
        edit
        for diagnostic in refused.diagnostics
        if diagnostic.fix
        for edit in diagnostic.fix.edits
    }
    return Fix(tuple(edits)).apply(refused.typed)
