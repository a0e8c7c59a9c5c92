"""`status.txt`: what happened to each line of `in.txt`, and what will happen.

For a person who uses only text files, this is the only place that shows what waits, what the answer
book did and will do, the problems of a request, and the client's reactions. It knows no file and no
wire.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Final, NamedTuple

from humanmcp.answering.standing import prospects, standing_of, told_of
from humanmcp.inbox.contract import InboxError, Item, Life, Reply
from humanmcp.locales import say, spoken_language, titled, who
from humanmcp.protocol.answer_book.decide import HandshakePolicy, Mode
from humanmcp.protocol.conversation.approvals import approval_of
from humanmcp.protocol.conversation.outcomes import (
    NoticeArrived,
    RequestArrived,
    RequestRepeated,
    ResponseArrived,
    UnreadableArrived,
)
from humanmcp.protocol.conversation.questions import inquiry_of
from humanmcp.protocol.conversation.stages import ExchangeState
from humanmcp.protocol.diagnostics.model import unreadable
from humanmcp.protocol.json.jsonrpc import compact
from humanmcp.protocol.json.visible import left_to_right, one_line
from humanmcp.protocol.tables.versions import features
from humanmcp.server.journal import BY_US

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from humanmcp.protocol.conversation.approvals import Approval
    from humanmcp.protocol.conversation.exchange import Exchange
    from humanmcp.protocol.conversation.outcomes import Event
    from humanmcp.protocol.diagnostics.model import Diagnostic
    from humanmcp.protocol.json.jsonrpc import Message
    from humanmcp.server.moments import Way

SECTION: Final = "status"
MOST: Final = 200
"""How many of the last lines are shown, and how many earlier ones that wait."""
LONGEST: Final = 200
"""Characters of a name or an id that are shown: both come from the client."""
LONGEST_EXAMPLE: Final = 2000
"""Characters of an example of an answer: one that is longer stands in no status."""

LONGEST_REMARKED: Final = 256 * 1024
"""Characters of a request whose problems are here: nobody waits while more is looked through."""


class StatusLine(NamedTuple):
    """One line of `in.txt`, counted from 1. `number` is its exchange's, 0 for none.

    `fate` describes a line without an exchange; `look` returns its problems.
    """

    line: int
    title: str
    number: int = 0
    fate: str = ""
    look: Callable[[], tuple[Diagnostic, ...]] = tuple


class StatusTxt:
    """Tracks the lines of one session and writes their status."""

    def __init__(self, way: Way) -> None:
        self._session = way.session
        self._way = way
        self._journal = way.journal
        self._clock = way.journal.clock
        self._entries: list[StatusLine] = []
        self._over = 0
        self._warned: set[int] = set()
        self._examples: dict[int, str] = {}
        """An answer to start from for each request that waits, made once."""

    def arrived(self, line: int, events: Iterable[Event]) -> None:
        for event in events:
            entry = self._entry(line, event)
            if entry is not None:
                self._entries.append(entry)

    def text(self, now: float) -> str:
        """Return the status of the lines, newest last."""
        waiting = [one for one in self._entries[:-MOST] if one.number in self._way.timers]
        newest = self._entries[-MOST:]
        self._over += len(self._entries) - len(waiting) - len(newest)
        self._entries = [*waiting, *newest]
        shown = [*waiting[:MOST], *newest]
        left_out = self._over + len(self._entries) - len(shown)
        lines = [*self._head(left_out), "", *self._lines(shown, now), *self._reactions(), ""]
        return "\n".join(lines)

    def tell_aside(self, now: float) -> None:
        """Report each automatic answer once before and once after it is sent."""
        for number, timers in self._way.timers.items():
            if number not in self._warned and timers.stops_at is not None:
                self._warned.add(number)
                self._say_aside(self._session.exchanges[number], now)
        for number in [one for one in self._warned if one not in self._way.timers]:
            self._warned.discard(number)
            exchange = self._session.exchanges.get(number)
            if exchange is not None and self._way.answer_to(number).by.startswith("book"):
                self._say_aside(exchange, now)

    def _say_aside(self, exchange: Exchange, now: float) -> None:
        self._way.options.tell_stderr(f"{_title(exchange)}: {self._fate(exchange, now)}\n")

    # -- the sentences ----------------------------------------------------------------------------

    def _say(self, code: str, **fillings: object) -> str:
        return say(SECTION, code, **fillings)

    def _head(self, left_out: int) -> Iterator[str]:
        mode, handshake = self._way.options.mode, self._way.options.handshake
        if self._journal.inbox.handshake_is_by_hand():
            handshake = HandshakePolicy.PERSON
        yield self._say("head")
        yield self._say(
            f"handshake {handshake.value}" if mode is Mode.NORMAL else f"mode {mode.value}"
        )
        if version := self._session.agreed:
            code = "version stateless" if features(version).stateless else "version"
            yield self._say(code, version=version)
        if left_out:
            yield self._say("left out", count=left_out)

    def _lines(self, entries: Iterable[StatusLine], now: float) -> Iterator[str]:
        for entry in entries:
            exchange = self._session.exchanges.get(entry.number) if entry.number else None
            fate = entry.fate or (self._fate(exchange, now) if exchange else self._say("forgotten"))
            yield self._say("line", line=entry.line, title=entry.title, fate=fate)
            if exchange is not None and entry.number in self._way.timers:
                yield from self._question(exchange)
            for diagnostic in entry.look():
                yield f"    {one_line(titled(diagnostic))}"

    def _reactions(self) -> Iterator[str]:
        """Return the client's reactions to outgoing messages and faults."""
        after = max(0, self._journal.seq - MOST)
        if self._journal.last_spoken_seq <= after:
            return
        # Imported when there is something to tell: most sessions never pay for it.
        from humanmcp.answering.reactions import reactions  # noqa: PLC0415 - the start is counted

        reacted = reactions(self._journal.frames(after))
        if reacted:
            yield f"\n{self._say('reactions')}"
        for reaction in reacted:
            yield f"    {reaction.sentence()}"

    def _question(self, exchange: Exchange) -> Iterator[str]:
        tools = self._session.negotiated.known_tools
        approval = approval_of(exchange.request.raw, exchange.request, tools)
        if approval is not None:
            yield from self._approval(approval, exchange.number)
            if len(approval.questions) == 1:
                yield from self._start(exchange)
            return
        inquiry = inquiry_of(exchange.request)
        if inquiry is None:
            yield from self._start(exchange)
            return
        yield f"    {one_line(inquiry.text, LONGEST)}"
        for option, description in inquiry.options:
            note = f" ({one_line(description, LONGEST)})" if description else ""
            yield f"      - {one_line(option, LONGEST)}{note}"
        if inquiry.options:
            yield f"    {self._say('choose' if inquiry.free_text else 'choose only')}"

    def _start(self, exchange: Exchange) -> Iterator[str]:
        example = self._example(exchange)
        if one_line(example, LONGEST_EXAMPLE) == example:
            yield f"    {self._say('example')} {example}"

    def _example(self, exchange: Exchange) -> str:
        """Return an answer to start from, as one line for out.txt."""
        if exchange.number not in self._examples:
            from humanmcp.protocol.validation.starting_draft import start  # noqa: PLC0415 - the start is counted

            text = start(exchange, self._session.negotiated, spoken_language())
            kept = {one: self._examples[one] for one in self._examples if one in self._way.timers}
            self._examples = {**kept, exchange.number: compact(text)}
        return self._examples[exchange.number]

    def _approval(self, approval: Approval, number: int) -> Iterator[str]:
        """Return what is to be allowed and the words that decide; for a long one, its file."""
        from humanmcp.answering.approvals import card_of, told_of  # noqa: PLC0415 - no start needs it

        if approval.questions:
            yield from self._asked(approval, number)
            return
        if approval.is_alone:
            yield from (f"    {one_line(told, LONGEST)}" for told in told_of(approval))
            yield f"    {self._say('words', number=number)}"
            return
        card = card_of(approval)
        may_be_allowed = not (approval.problem or approval.questions or card.is_long)
        yield f"    {one_line(approval.tool, LONGEST)}"
        for part in card.parts if may_be_allowed else ():
            yield f"      {left_to_right(part.name)}"
            yield from (f"        {left_to_right(line.sign + line.text)}" for line in part.lines)
        code = "allow" if may_be_allowed else "deny only"
        yield f"    {self._say(code, number=number, digest=approval.digest)}"

    def _asked(self, approval: Approval, number: int) -> Iterator[str]:
        """Return each question with its numbered options, and the words that answer them."""
        from humanmcp.answering.approvals import told_beside  # noqa: PLC0415 - no start needs it

        for question in approval.questions:
            yield f"    {one_line(question.text, LONGEST)}"
            for text in told_beside(question):
                yield f"    {one_line(text, LONGEST)}"
            for at, (label, description) in enumerate(question.options, 1):
                note = f" ({one_line(description, LONGEST)})" if description else ""
                yield f"      {at}  {one_line(label, LONGEST)}{note}"
        yield f"    {self._say('answer', number=number, digest=approval.digest)}"

    def _entry(self, line: int, event: Event) -> StatusLine | None:
        match event:
            case RequestArrived(exchange) | RequestRepeated(exchange):
                is_long = len(exchange.request.raw) > LONGEST_REMARKED
                look = tuple if is_long else exchange.make_remarks
                return StatusLine(line, _title(exchange), exchange.number, "", look)
            case NoticeArrived(message, remarks):
                title = one_line(message.method, LONGEST)
                return StatusLine(line, title, 0, self._say("notice"), lambda: remarks)
            case ResponseArrived(message, request, diagnostics):
                title = self._say("an answer", id=one_line(_token(message), LONGEST))
                fate = self._response(request)
                return StatusLine(line, title, 0, fate, lambda: diagnostics)
            case UnreadableArrived(malformed):
                why = unreadable(malformed)
                return StatusLine(
                    line, self._say("no message"), 0, self._say("unreadable"), lambda: (why,)
                )
            case _:
                return None

    def _response(self, request: Message | None) -> str:
        if request is None:
            return self._say("stray response")
        return self._say("response", method=one_line(request.method, LONGEST))

    def _fate(self, exchange: Exchange, now: float) -> str:
        """Return what is so of an exchange, and what happens to it if nobody answers."""
        item, timers = self._item(exchange), self._way.timers.get(exchange.number)
        is_awaited = timers or (item.reply and not self._journal.connection.closed)
        standing = standing_of(item, Life.OPEN if is_awaited else Life.CLOSED)
        by = "" if item.answer is None else item.answer.by
        found = [told_of(item, standing, self._who(by))]
        if timers is not None:
            for code, at in prospects(item, now - timers.arrived):
                left = 0.0 if at is None else timers.arrived + at - now
                found.append(self._say(code, at=self._clock.time_of_day(left)))
        return self._say("and").join(found)

    def _item(self, exchange: Exchange) -> Item:
        """Return an exchange as the inbox has it, as far as its standing depends on it."""
        key, request, state = self._journal.key(exchange.number), exchange.request, exchange.state
        if state is ExchangeState.ABANDONED and not self._journal.connection.closed:
            with suppress(InboxError):
                return self._journal.inbox.item(key)  # seldom: another request took its place
        item = Item(key, request.raw, exchange.method, "", exchange.version, "", state)
        if self._journal.is_on_the_way(exchange.number):
            return item._replace(state=ExchangeState.PENDING, reply=Reply(""))
        if (timers := self._way.timers.get(exchange.number)) is not None:
            return item._replace(waiting=timers.waiting())
        return item._replace(answer=self._way.answer_to(exchange.number))

    def _who(self, by: str) -> str:
        if by == BY_US:
            return self._say("by humanmcp")
        return one_line(who(by), LONGEST)


def _token(message: Message) -> str:
    return message.id.token if message.id is not None else "null"


def _title(exchange: Exchange) -> str:
    """Name a request: what it asks a person for, or its method and tool; and its id."""
    named = f"{exchange.method} {exchange.tool}".rstrip()
    if exchange.tool:
        from humanmcp.answering.summary import row_title, summary_of  # noqa: PLC0415 - the start is counted

        said = summary_of(exchange.request)
        named = row_title(said) if said.wants else named
    return one_line(f"{named} (id {exchange.id.token})", LONGEST)
