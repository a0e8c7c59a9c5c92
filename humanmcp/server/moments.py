"""The moments that a capability may hear, and what it may ask for.

Theory of operation
-------------------
`exchanges.py` takes each request along its way: received, recorded, decided, waiting, answered,
closed. It knows no capability. A capability is what else a server can do: it hears the moments of
`Capability` that it defines, and asks through `Way`; it knows neither the way's own state nor any
other capability. `capabilities.py` lists all of them. At each moment they are told in that order:

    decide    each may answer, or leave it to those after it
    begin     a new request: what has to happen before it is answered or waits
    act       the first that returns something has done what a decision says
    acted     an automatic answer went out
    waits     a request waits in the inbox, or something about its waiting changed
    due       a moment has come that a capability has planned
    ending    an answer is about to go out, or the exchange ends without one
    over      it went out, or the exchange has ended without one
    reply_to  what a person answers there, if it is no open request

Beside a request: `arrived` (a line), `noticed`, `responded`, `order`, and the session's own:
`start`, `probed`, `shown`, `look` (after each step), `look_at_rest` (each second), `close`. Where
people answer in this process, a capability is a `FrontEnd` (`front_end.py`) and hears more.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, NamedTuple, Protocol

from humanmcp.protocol.answer_book.decision import Decision

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from humanmcp.common.book_file import BookFile
    from humanmcp.common.settings import Setting
    from humanmcp.inbox.attendant import PollSchedule
    from humanmcp.inbox.contract import Answer, Item, Key, Reply
    from humanmcp.protocol.conversation.exchange import Exchange, NegotiatedState
    from humanmcp.protocol.conversation.outcomes import Event, Outcome, Sent
    from humanmcp.protocol.diagnostics.model import Verdict
    from humanmcp.protocol.json.jsonrpc import Message
    from humanmcp.protocol.session import McpSession
    from humanmcp.server.journal import Journal
    from humanmcp.server.waiting import PendingTimers, ServeOptions


class Acted(NamedTuple):
    """What became of a decision that was due: its answer was `sent`, or something is left to do.

    `line` goes out where the recorded answer was a malformed line.
    """

    decision: Decision
    sent: Sent | None = None
    line: bytes | None = None


LEFT_TO_A_PERSON = Acted(Decision())


class ParkedRequest(NamedTuple):
    """A parked request, of this session or of one that is over, and what is known of its client."""

    key: Key
    exchange: Exchange
    negotiated: NegotiatedState


class Way(Protocol):
    """What a capability may know of its session, and ask for."""

    session: McpSession
    journal: Journal
    book_file: BookFile
    schedule: PollSchedule
    options: ServeOptions
    """As the command line and people want it: an order of a person replaces them."""

    @property
    def timers(self) -> Mapping[int, PendingTimers]:
        """Those of each exchange that waits in the inbox."""

    def answer_to(self, number: int) -> Answer:
        """Return who answered one of the last exchanges, and how; an empty answer for no such."""

    def answer(self, number: int, reply: Reply, parked: ParkedRequest | None = None) -> Outcome:
        """Judge what a person answers, at whatever desk, and send it with its decision record.

        A parked request has its response already: the caller keeps the answer for its client.
        """

    def say(self, reply: Reply) -> Verdict:
        """Judge what a person says without a request, and send it."""

    def send(self, sent: Sent, author: Reply | str, line: bytes | None = None) -> None:
        """Send an answer that passed, and close its exchange; a parked one stays open for people.

        `author` is the reply of a person, or who answered instead of one. `line` goes out where the
        recorded answer was a malformed line.
        """

    def fall_back(self, exchange: Exchange) -> None:
        """Decide anew about a request that another server was to answer."""

    def decide_again(self, number: int) -> None:
        """Decide anew about a waiting request: what it waited for has arrived."""

    def look_again(self) -> None:
        """Decide anew about every waiting request."""

    def text_is_being_written(self, where: Capability, *, writing: bool) -> bool:
        """Keep the book from answering while a person writes there. Return True if new."""

    @property
    def end(self) -> Callable[[int], None]:
        """End the session after this step; a process that serves it alone exits with the status."""


class Capability:
    """What a server can do beside taking requests to a person. Each moment may be left out."""

    SETTINGS: ClassVar[Sequence[Setting]] = ()
    """What a person may set for it: `way.options.added` has the values."""

    def decide(self, exchange: Exchange, rest: Callable[[Exchange], Decision]) -> Decision:
        """Return who answers a request, and when. `rest` is what those after this one decide."""
        return rest(exchange)

    def begin(self, exchange: Exchange, decision: Decision) -> Decision | None:  # noqa: ARG002 - a moment that is left out
        """Prepare for a new request. Return its decision; None if another server answers it."""
        return decision

    def act(self, exchange: Exchange, decision: Decision, waited: float) -> Acted | None:
        """Do what is due by a decision; None if it is another capability's."""

    def acted(self, exchange: Exchange, decision: Decision) -> None:
        """Hear that an automatic answer was sent."""

    def waits(self, exchange: Exchange, timers: PendingTimers) -> None:
        """Plan what is done while a request waits: `timers.plan(name, when)`."""

    def due(self, name: str, exchange: Exchange, timers: PendingTimers, now: float) -> None:
        """Do what was planned under this name, if it is this capability's."""

    def ending(self, exchange: Exchange) -> None:
        """Take back what was asked on the way to an answer."""

    def over(self, exchange: Exchange, timers: PendingTimers | None, reason: str) -> None:
        """Forget an exchange: its answer went out, or it has ended for this reason.

        There are no timers if it did not wait, or does not end for people because it is parked.
        """

    def reply_to(self, number: int, reply: Reply) -> bool:  # noqa: ARG002 - as above
        """Take a person's reply to what is no open request. Return False for anything else."""
        return False

    def arrived(self, line: bytes, events: Sequence[Event], *, later: bool) -> None:
        """Take in a line of the client. `later`: it is answered, and nobody waits for it."""

    def noticed(self, message: Message) -> None:
        """Take in a notification of the client."""

    def responded(self, message: Message) -> int:  # noqa: ARG002 - as above
        """Take in a response of the client. Return the request that continues with it, or 0."""
        return 0

    def order(self, reply: Reply) -> None:
        """Follow an order of a person, if it is this capability's."""

    def start(self, wake: Callable[[], object]) -> None:
        """Begin with the session. `wake`, from any thread, lets it `look` soon."""

    def resumed(self, item: Item) -> None:
        """Take back an exchange that another process of this session has left parked."""

    def probed(self) -> None:
        """Give back what others may need: nobody but a probe has come."""

    def shown(self) -> None:
        """Be there for people: more than a probe has come."""

    def look(self) -> None:
        """Process what arrived from elsewhere."""

    def look_at_rest(self, now: float) -> None:
        """Look, about once a second, at what nothing wakes for."""

    def close(self) -> None:
        """End with the session."""
