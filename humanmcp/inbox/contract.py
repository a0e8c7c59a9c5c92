"""The interface of every inbox, and its promises.

An inbox keeps the exchanges of all sessions while they wait for a person. The folder
(`folder.py`) is the first one; others keep the same promises over HTTP or in a database, and every
one of them passes the same tests (`tests/inbox/contract.py`).

The promises
------------
1. What `deliver` was given can be read by every desk from the moment it returns, and survives the
   death of any process at any moment.
2. Of several `send` for one exchange exactly one wins. The others raise `TakenError`, and nothing
   that a person typed is lost: a losing text is kept as a draft of its own (`Item.kept`). Each text
   that a `save` confirmed is the draft, a kept text, the answer, or a beginning that its own
   writer, or one who had seen it, replaced.
3. `take_replies` gives each winning reply to the server once in the life of a process, and again
   after a crash if the exchange was not closed: it leaves `pending` only through `close`.
4. `close` moves an exchange to its last state once; a second `close` changes nothing.
5. A frame given to `record` is in the transcript, in order, before `record` returns.
6. Numbers are ours: nothing that came over the wire ever becomes part of a path or a key.
7. No method blocks on a peer, a person or another process for longer than a disk takes.
8. A session whose process has died is `GONE` for every reader, without any cleaning up.
   What is parked in it (`Waiting.parked`) stays pending, and people may answer it.
   Where its client can come back (`SessionFacts.comes_back`), one other process may `resume` it.
   The process that ran it before records nothing more in it, and so says nothing more.
9. Every session that is listed has a letter. It never changes, and two sessions never share one,
   also not when the first of them was forgotten.
10. Who waits need not look all the time: after `send`, `save`, `say` and `hold` the session's
   bell rings. A ring may be lost with a crash, so a slow look stays the safety net.
11. A guest's session (`join`) belongs to no process: each exchange in it belongs to the one that
   `enter`ed it, under a number that never comes again, and is abandoned for every reader when that
   process has died. Their lines are one transcript, and their decisions one chain.
"""

from __future__ import annotations

import enum
import errno
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

from humanmcp.locales.stop import Phrase, StopError
from humanmcp.protocol.conversation.stages import ExchangeState
from humanmcp.protocol.conversation.transcript import Direction
from humanmcp.protocol.diagnostics.model import TextForm

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path
    from typing import Self

    from humanmcp.protocol.conversation.exchange import NegotiatedState
    from humanmcp.protocol.conversation.transcript import Frame
    from humanmcp.protocol.diagnostics.model import Diagnostic


class RoleTraits(NamedTuple):
    """What a session of a role has. `parties` are who sends lines in, and who sends them out."""

    parties: tuple[str, str]
    serves: bool = False
    """A person is a client's server: with a definition, an answer book, and orders for testing."""
    has_client: bool = False
    """A real client reads what goes out: a fault in it shows what that client does."""
    calls: bool = False
    """A person is a client, and calls a real server."""
    speaks_first: bool = False
    """A person may send a message that answers none."""
    holds: bool = False
    """Messages on their way are held for a person."""
    is_guest: bool = False
    """An agent sends its permission prompts, each by a process of its own (`join`)."""
    is_ordered: bool = False
    """Its process belongs to an extension, and takes the orders of that one alone."""


class Role(enum.StrEnum):
    """Which program a session belongs to, and so which role of MCP a person takes there."""

    SERVER = "server"
    TAP = "tap"
    CLIENT = "client"
    MODEL = "model"
    HOST = "host"
    AGENT = "agent"
    """An agent asks, and a person decides: no message of MCP (`Purpose.PROMPT`)."""
    ENDPOINT = "endpoint"
    """A person answers requests that are no messages of MCP (`Purpose.STEP`)."""
    READER = "reader"
    """Nobody's: a recording from elsewhere, to be read."""

    @property
    def traits(self) -> RoleTraits:
        return _TRAITS[self]


_TRAITS: Final = {
    Role.SERVER: RoleTraits(("host", "you"), serves=True, has_client=True, speaks_first=True),
    Role.TAP: RoleTraits(("client", "server"), has_client=True, holds=True),
    Role.CLIENT: RoleTraits(("you", "server"), calls=True, speaks_first=True),
    Role.MODEL: RoleTraits(("host", "you")),
    Role.HOST: RoleTraits(("humanmcp", "you")),
    Role.AGENT: RoleTraits(("agent", "you"), is_guest=True),
    Role.ENDPOINT: RoleTraits(("client", "you"), is_ordered=True),
    Role.READER: RoleTraits(("client", "server")),
}


class Life(enum.StrEnum):
    """Whether a session can still answer its client."""

    OPEN = "open"
    CLOSED = "closed"
    """Ended in order: the client closed its end, or the process was told to stop."""
    GONE = "gone"
    """Its process died without a word."""


class Key(NamedTuple):
    """Names one exchange on this machine."""

    session: str
    number: int


class HttpFacts(NamedTuple):
    """What is known of a session over HTTP; all empty elsewhere."""

    id: str = ""
    """The `Mcp-Session-Id` under which its client comes again; "" where it cannot."""
    port: str = ""
    """The next process that listens at this port goes on with the session; "" for a tap's."""
    visitor: str = ""
    """A digest of who its client says that it is, where it has no id to come back under; of a tap
    only that there is none."""


class SessionFacts(NamedTuple):
    """What is known of a session. `started` is UTC, ISO 8601; `files` is where its text files are.

    `protocol_version` is the negotiated one, "" before there is any; a 2026-07-28 session states it
    with every request, and the last one counts here.
    """

    name: str
    started: str
    role: Role = Role.SERVER
    life: Life = Life.OPEN
    pid: int = 0
    client: str = ""
    client_version: str = ""
    protocol_version: str = ""
    files: str = ""
    title: str = ""
    """What the person calls it (`--title`)."""
    probe: bool = False
    """Nothing but `server/discover` was asked so far: `sessions` leaves it out."""
    stuck: bool = False
    """The client takes nothing of what is written to it: answers wait in the pipe."""
    unreadable: int = 0
    """How many lines of the client could not be read. Nothing is sent for them."""
    unreadable_at: int = 0
    """The number of the last of them in the transcript."""
    letter: str = ""
    """What people call it (a, b, … aa): given by the inbox when the session becomes visible, the
    same in every desk, and no other session's while this one is kept. "" before that."""
    http: HttpFacts = HttpFacts()
    parked: bool = False
    """Calls were parked in it: they may be answered after it is over."""
    decisions: int = 0
    """How many records of decisions its transcript has."""
    last_decision: str = ""
    """The digest of the last of them."""
    folder: str = ""
    """The folder in which its client started it, usually that of the project; "" if unknown."""
    agent: str = ""
    """The agent's own name of a guest's session; "" elsewhere, and where the agent names none."""

    @property
    def is_open(self) -> bool:
        """Return True if the session can still answer its client."""
        return self.life is Life.OPEN

    @property
    def is_one_client(self) -> bool:
        """Return False where all who call themselves the same are in one session.

        What a person allows for the session would then be allowed to another client.
        """
        return bool(self.agent) if self.role.traits.is_guest else not self.http.visitor

    def comes_back(self, at: str) -> bool:
        """Return True if its client comes back to where a process listens at."""
        is_known = bool(self.http.id or self.http.visitor)
        return is_known and self.http.port == at != ""

    @property
    def may_go_on(self) -> bool:
        """Return True if it can answer its client, in this process or the next one."""
        return self.is_open or (self.life is Life.GONE and self.comes_back(self.http.port))


class Purpose(enum.StrEnum):
    """What a person is asked to do with an item."""

    ANSWER = "answer"
    """Answer a request in the place of the one it was sent to."""
    HELD = "pass"
    """A tap holds this message: let it go, change it, drop it, or answer it (`Action`)."""
    PROMPT = "prompt"
    """Decide a permission prompt, whose line is what the agent wrote."""
    STEP = "step"
    """Answer what is no message of MCP, in its own form. An extension brings its kind
    (`answering/steps.py`)."""


class Action(enum.StrEnum):
    """What to do with a message that a tap holds (`Purpose.HELD`); unused elsewhere.

    A reply of any form but MESSAGE to a held request is an ANSWER, whatever its action: a result
    or plain text is nothing that could be let go.
    """

    FORWARD = "pass"
    """Let it go as the text has it. The text it was held with goes on byte for byte."""
    DROP = "drop"
    """The other side never sees it. The text says nothing."""
    ANSWER = "answer"
    """Answer a held request in the other side's place: it never sees the request."""


SUBSCRIBED: Final = "subscription"
"""What `Waiting.keepalive` says of an acknowledged subscription (2026-07-28): its client waits for
changes, and for no answer.
"""


FOLLOWS: Final = "parked answer"
"""What `Waiting.keepalive` says of a request for the answer to a parked call: nobody answers it."""


class Parked(NamedTuple):
    """How a client comes for the answer to a parked call; all empty where it waits for it.

    `ticket` is what it asks under, `way` how (`parking.py` of the core: task, ticket, retry),
    `since` when it was parked. `status` is what the person tells it meanwhile; `asks` are the
    questions that the client of a task has not answered yet, `heard` what it answered to others:
    JSON objects with a member for each question, "" without any. `told_at` is when one of these
    three changed last.
    """

    ticket: str = ""
    way: str = ""
    since: str = ""
    status: str = ""
    asks: str = ""
    heard: str = ""
    told_at: str = ""


class Waiting(NamedTuple):
    """How long an exchange may wait, and what keeps its client waiting. Seconds count from arrival.

    `limit` is when the client will probably time out, None if that is unknown or never;
    `source` is where that is known from (a code of `locales/`). `book_at` is when the answer book
    answers, None for never; `book` says what that countdown does: "" runs, "paused" by a person,
    "writing" waits for the text of one, "fixed" cannot be stopped (a rule, or the limit of who
    asks). `keepalive` is what keeps the client waiting now: "progress", "retry", or "" with the
    reason in `why_not` (a code); or it says that its answer is not awaited (`SUBSCRIBED`). Over
    HTTP nothing has gone out before
    `status_until`, so the status of the response is what the answer makes of it.

    `can_park` is how a waiting call can be parked, "" where it cannot.
    """

    limit: float | None = None
    source: str = ""
    book_at: float | None = None
    book: str = ""
    keepalive: str = ""
    why_not: str = ""
    status_until: float | None = None
    can_park: str = ""
    parked: Parked = Parked()

    @property
    def answers_at(self) -> float | None:
        """When the answer book answers unless a person stops it; None while somebody has."""
        return None if self.book in ("paused", "writing") else self.book_at


class Draft(NamedTuple):
    """What a person is writing. `touched` says that it is no longer the text we started them with.

    `paused` asks the server to pause the countdown of the answer book for this exchange.
    `by` names the desk, `at` is when it was saved (UTC, ISO 8601). `action` is that of the reply
    that the text is for: what goes on in the place of a held request, or what answers it. `page`
    is the box that it was typed in, until that is opened anew: one writer; "" elsewhere.
    """

    text: str
    form: TextForm = TextForm.MESSAGE
    touched: bool = False
    paused: bool = False
    by: str = ""
    at: str = ""
    action: Action = Action.FORWARD
    page: str = ""

    def replaces(self, before: Draft, since: str) -> bool:
        """Return True if no text of another is lost with the draft before.

        Its own writer goes on, or one who began from it: `since` is the `at` of what they saw.
        Who names no page is known by the way in (`by`).
        """
        is_same = (before.text, before.form) == (self.text, self.form)
        is_own = before.page == self.page and (self.page != "" or before.by == self.by)
        is_seen = is_own or before.at == since != ""
        return not before.touched or is_same or (is_seen and before.action is self.action)

    def follows(self, kept: Draft) -> bool:
        """Return True if it takes the place of an older draft of the same page."""
        return kept.page == self.page != "" and kept.at <= self.at

    def is_in(self, kept: Iterable[Draft]) -> bool:
        """Return True if it is kept already, and no newer draft of another page takes its place."""
        texts = {(old.text, old.form) for old in kept if old.page in ("", self.page)}
        return (self.text, self.form) in texts


class Order(enum.Enum):
    """What a person asks the process of a session to send: an outgoing message, or a fault.

    Only SAY is checked: most others are for testing what a client does with a server that is wrong.
    """

    SAY = "say"
    """Write `text` as one message."""
    RAW = "raw"
    """Write the bytes that `text` holds in base64, with nothing before or after them."""
    PROGRESS = "progress"
    """"off": send no progress notifications while a person is at a request; "on" again."""
    SILENCE = "silence"
    """"on": write nothing by oneself, be it an answer of the book or progress; "off" again."""
    DEFINITION = "definition"
    """Change the server definition, as a rule does: JSON with `add` and `remove`."""
    EXIT = "exit"
    """End with the status that `text` says, as a server that closes in order."""
    CRASH = "crash"
    """End at once and without a word, as a server that is killed."""
    HTTP = "http"
    """Carry the next answer wrongly: `text` names the fault (`protocol/http/http_faults.py`)."""
    EXTENSION = "extension"
    """Do what an extension does: `text` is the name of the order, and its words."""
    PARK = "park"
    """Park the call of the number that `text` holds."""
    STATUS = "status"
    """Tell the client of a parked call how it stands: `text` is its number and the words."""


def named_author(who: str, device: str) -> str:
    """Return a name with its device: on a phone, people may call themselves anything."""
    return f"{who} ({device})" if device and who != device else who


class Reply(NamedTuple):
    """What a person sends. `anyway` sends it although the check finds errors in it.

    `action` is for what a tap holds, `order` for an outgoing message, `page` is that of its draft.
    """

    text: str
    form: TextForm = TextForm.MESSAGE
    anyway: bool = False
    by: str = ""
    at: str = ""
    action: Action = Action.FORWARD
    order: Order = Order.SAY
    shown: str = ""
    """A digest of the arguments that the person saw: to others nothing is sent. "" asks nothing."""
    who: str = ""
    """The name that the person, or their device, gave themselves."""
    device: str = ""
    """The device that it was sent from, "" for the computer of the desk."""
    shown_at: str = ""
    """When the desk first showed the request to somebody, "" where that is not known."""
    page: str = ""

    @property
    def author(self) -> str:
        """The person, and in brackets the device if that has another name."""
        return named_author(self.who, self.device)

    @property
    def as_draft(self) -> Draft:
        """The draft that it was before it was submitted, and is again if it is not sent."""
        text, form, by, at = self.text, self.form, self.by, self.at
        return Draft(text, form, touched=True, by=by, at=at, action=self.action, page=self.page)

    def given_back(self, draft: Draft | None) -> tuple[Draft, Draft | None]:
        """Return the draft after it was refused, and a text to keep beside it.

        What was typed last is the draft.
        """
        text = self.as_draft
        if draft is None or not draft.touched or draft.text == text.text:
            return text, None
        return (draft, text) if draft.at > text.at else (text, draft)


class OutgoingResult(NamedTuple):
    """What became of an outgoing message: it was sent, or refused because of its problems."""

    problems: tuple[Diagnostic, ...] = ()

    @property
    def sent(self) -> bool:
        return not self.problems


class Writer(NamedTuple):
    """Who is writing an answer: which window, and the name that its person goes by, "" for none."""

    page: str
    name: str = ""


WRITES_FOR: Final = 20.0
"""Seconds for which a sign of a writer counts. The inbox's own clock counts them."""


class Answer(NamedTuple):
    """A sent answer: the line, by whom ("desk", "terminal", "files", "book: …"), and when."""

    line: str
    by: str
    at: str
    deliberate: bool = False
    """It was sent although the check found errors in it."""
    fetched: str = ""
    """When the client came for the answer to a parked call, or when what became of a decision was
    seen (`became`); "" as long as it has not."""
    action: str = ""
    """What was decided about a permission prompt (`DecisionRecord.action`), also about one that
    came as a call of a tool; "" for any other answer."""
    became: str = ""
    """What was seen of a decision: "ran", the tool ran; "read", and a note was printed;
    "equal ran", it may be another one that ran; "ended", the turn ended without it. Of what a tap
    held: "changed", it went on in the place of the line that was held."""


class HeldFacts(NamedTuple):
    """What is known of a message that a tap holds; all empty elsewhere."""

    way: Direction = Direction.IN
    """Where it came from: IN from the client, OUT from the server."""
    asked: str = ""
    """The request that a held answer answers."""
    unread: tuple[Diagnostic, ...] = ()
    """Why nobody can be sure what its line says; () if it is understood."""


class Item(NamedTuple):
    """One exchange as a desk sees it. `line` is the request as it came, `id` its id's token.

    At a tap (`Purpose.HELD`) it is any message that is held; `method` is then that of the request,
    also of a held answer, and a notification has no `id`.
    """

    key: Key
    line: str
    method: str
    id: str
    protocol_version: str
    arrived: str
    state: ExchangeState = ExchangeState.PENDING
    purpose: Purpose = Purpose.ANSWER
    waiting: Waiting = Waiting()
    draft: Draft | None = None
    diagnostics: tuple[Diagnostic, ...] = ()
    """Why the last reply was given back."""
    answer: Answer | None = None
    reason: str = ""
    """Why it was cancelled, in the client's words."""
    reply: Reply | None = None
    """The reply that won: on its way while pending, and what was sent once answered."""
    kept: tuple[Draft, ...] = ()
    """Texts that lost to another reply or were overtaken by one, oldest first."""
    headers: tuple[Diagnostic, ...] = ()
    """What is wrong with what came beside the line, in the headers of HTTP."""
    held: HeldFacts = HeldFacts()
    host: str = ""
    """The agent that sent a prompt (`Purpose.PROMPT`), whose `method` is the event; the kind of a
    step (`Purpose.STEP`), whose `method` is its name."""
    context: str = ""
    """What the process of a step says beside it, for its kind to read."""

    @property
    def is_paused(self) -> bool:
        """Return True if a person has stopped the answer book for it."""
        return self.draft is not None and self.draft.paused

    @property
    def is_subscription(self) -> bool:
        """Return True for an open subscription: nobody waits for its answer, which only ends it."""
        return self.state is ExchangeState.PENDING and self.waiting.keepalive == SUBSCRIBED

    @property
    def follows(self) -> bool:
        """Return True for a request that waits for the answer to a parked call."""
        return self.state is ExchangeState.PENDING and self.waiting.keepalive == FOLLOWS

    @property
    def is_parked(self) -> bool:
        """Return True while it waits for a person and its client has a task or a ticket."""
        return self.outlives and self.waiting.parked.way != "retry"

    @property
    def outlives(self) -> bool:
        """Return True if it can be answered when its session is over: its client comes back."""
        return self.state is ExchangeState.PENDING and bool(self.waiting.parked.ticket)

    @property
    def waits(self) -> bool:
        """Return True while the peer waits for the answer."""
        of_nobody = self.is_subscription or self.follows or self.is_parked
        return self.state is ExchangeState.PENDING and not of_nobody


class InboxError(StopError):
    """Base of what an inbox raises."""

    section = "inbox_error"


class UnknownItemError(InboxError, LookupError):
    """There is no such session or exchange or, with `line`, no such line."""

    def __init__(self, what: str, *, line: int = 0) -> None:
        super().__init__("no line" if line else "unknown", what=what, line=line)


class NotHeldError(UnknownItemError):
    """This process does not own the session, so it must not send anything in it."""

    def __init__(self, session: str) -> None:
        """Remember its key."""
        InboxError.__init__(self, "not held", session=session)


class TakenError(InboxError):
    """Another reply was first: the exchange is not pending, or another reply is on its way."""

    def __init__(self, key: Key, state: ExchangeState, by: str = "") -> None:
        code = f"{state.value} by" if by else state.value
        super().__init__(code, number=key.number, by=by)
        self.key = key
        self.state = state
        self.by = by


class StoreError(InboxError):
    """The store of the inbox failed, for example a full disk. Nothing half-written is left.

    `number` is the operating system's error number, 0 where there is none.
    """

    def __init__(self, error: OSError, what: str, **named: object) -> None:
        """Remember the error, and what could not be stored: a code of the section `kept`."""
        self.number = error.errno or 0
        advice = errno.errorcode.get(self.number, "")
        super().__init__(
            "not kept",
            what=Phrase("kept", what, named),
            why=error,
            advice=Phrase("store_advice", advice if advice in _ADVISED else "other"),
        )

    @property
    def is_of_disk(self) -> bool:
        """Return True if a disk or its permissions are to blame, and no database."""
        return self.number not in (0, errno.EAGAIN)


_ADVISED: Final = frozenset(
    {"ENOENT", "ENOSPC", "EDQUOT", "EFBIG", "EIO", "EROFS", "EACCES", "EPERM", "EMFILE", "ENFILE"}
)
"""The troubles of a disk that have an advice of their own."""


class Tail(NamedTuple):
    """The end of a shared transcript: its last frame, and its chain of decisions."""

    seq: int = 0
    decisions: int = 0
    last_decision: str = ""


class Doorbell(Protocol):
    """Rings in the process that began a session when something was sent to it."""

    def listen(self, rung: Callable[[], object]) -> None:
        """Call `rung`, which must not block, from a thread of our own after each ring."""


class Watching(Protocol):
    """Watches an inbox inside its `with` block: read everything after entering it."""

    @property
    def why_polling(self) -> str:
        """Why changes are found only by polling; "" if they are reported."""

    def __enter__(self) -> Self:
        """Start watching."""

    def __exit__(self, *_: object) -> None:
        """Stop watching. `wake` is not called after this."""


class SharedInbox(Protocol):
    """The part of an inbox that server and desks share."""

    def negotiated(self, session: str) -> NegotiatedState:
        """Return what the conversation has negotiated; the check needs it."""

    def holds(self, session: str) -> Sequence[str]:
        """Return the patterns of messages to hold and of allowed calls."""

    def hold(self, session: str, patterns: Sequence[str]) -> None:
        """Replace the patterns of messages to hold and of allowed calls."""

    def change_holds(self, session: str, change: Callable[[Sequence[str]], Sequence[str]]) -> None:
        """Replace these patterns by what `change` makes of them, one change after the other."""

    def handshake_is_by_hand(self) -> bool:
        """Return True if people answer the handshake of every session themselves."""

    def facts(self, session: str) -> SessionFacts:
        """Return what is known of one session."""

    def frames(self, session: str, after: int = 0) -> Iterator[Frame]:
        """Read the frames of the transcript whose `seq` is greater than `after`."""

    def item(self, key: Key) -> Item:
        """Return one exchange, whatever its state.

        Raises:
            UnknownItemError: there is none.
        """

    def save(self, key: Key, draft: Draft, since: str = "") -> None:
        """Save the person's draft, even after the exchange was closed.

        A draft that it does not replace (`Draft.replaces`) is kept: the last one of each page.
        """


class ServerInbox(SharedInbox, Protocol):
    """The inbox as its process uses it: it begins sessions and delivers exchanges."""

    def begin_session(self, facts: SessionFacts) -> str:
        """Open a session that this process owns. Return its name.

        `facts.name` may be empty: the inbox then makes one.
        """

    def orphaned_sessions(self, at: str) -> Sequence[SessionFacts]:
        """List the open sessions at this port that no process owns."""

    def session_by_http_id(self, http_id: str) -> SessionFacts | None:
        """Return the session with this `Mcp-Session-Id`, of any process."""

    def of_visitor(self, visitor: str, /) -> Sequence[SessionFacts]:
        """List the open sessions of a visitor in other processes, oldest first.

        None where only one process can be at the address that the visitor knows.
        """

    def sign_of_life(self, session: str, /) -> str:
        """Return when the owner of a session was last known to live.

        "" where it is known to live.
        """

    def resume(self, session: str) -> tuple[SessionFacts, Sequence[int]]:
        """Take over a session whose owner is gone.

        One process at a time can. Returns what is known of it, and the exchanges that wait.

        Raises:
            StoreError: another process holds it.
            UnknownItemError: it was closed in order.
        """

    def is_held(self, session: str) -> bool | None:
        """Return True while this process owns the session, False if it ended or has another owner.

        None while that is unknown: nothing may be sent before.
        """

    def leave_session(self, session: str) -> None:
        """Release a session with its pending exchanges: another process may `resume` it."""

    def describe(self, facts: SessionFacts, negotiated: NegotiatedState) -> None:
        """Replace what is known of a session."""

    def record(self, session: str, *frames: Frame, durable: bool = False) -> None:
        """Append frames to the transcript, in one write. Durable ones survive the machine's death.

        Raises:
            StoreError: they could not be kept. The transcript is as it was before.
            NotHeldError: this process does not run the session: the line must not be sent.
        """

    def deliver(self, item: Item) -> None:
        """Show an exchange to people. `item.draft` is what they typed before, if anything.

        One that is over already, answered at once, never waits for anybody's eyes.

        Raises:
            StoreError: it could not be kept. No desk sees a part of it.
        """

    def update(self, key: Key, *, line: str, id: str, waiting: Waiting) -> None:  # noqa: A002 - the protocol's own word
        """Replace the request (a client repeated it under a new id) and how long it may wait."""

    def guest_session(self, name: str) -> str:
        """Return the name of a guest's session: another one each time that it was forgotten."""

    def join(self, facts: SessionFacts) -> str:
        """Be a part of a guest's session, which is begun with these facts if it is not there.

        Returns its name: that of the facts, or after each time that it was forgotten another one.
        """

    def enter(self, session: str) -> Key:
        """Return the name of a new exchange of a guest, which this process owns from now on."""

    def share(self, session: str, write: Callable[[Tail], tuple[Sequence[Frame], Tail]]) -> None:
        """Append what `write` makes after the end of a guest's transcript, one after the other.

        Raises:
            StoreError: it could not be kept. The transcript is as it was before.
        """

    def leave(self, key: Key) -> None:
        """Own an exchange of a guest no more: if it is still pending, it is abandoned."""

    def folder(self, session: str) -> Path:
        """Return the folder on this machine for the text files of a session."""

    def bell(self, session: str, number: int = 0) -> Doorbell | None:
        """Return the bell of a session of this process, or of its exchange of a guest's session.

        None where it must look by itself.
        """

    def take_replies(self, session: str) -> Sequence[tuple[Key, Reply]]:
        """Return the replies that were sent since the last call, oldest first."""

    def drafts(self, session: str) -> Sequence[tuple[Key, Draft]]:
        """Return the drafts that were saved since the last call."""

    def refuse(self, key: Key, diagnostics: Sequence[Diagnostic]) -> None:
        """Return a taken reply to the person as the draft, with its problems."""

    def close(
        self, key: Key, state: ExchangeState, answer: Answer | None = None, reason: str = ""
    ) -> None:
        """Move an exchange to its last state. The draft is kept beside it.

        Any process may do so with what is parked in a session that is over.
        """

    def take_parked(self, key: Key) -> Reply | None:
        """Take the reply to a parked call of a session that is over; None while there is none."""

    def fetched(self, key: Key, at: str, became: str = "", after: str = "") -> bool:
        """Note when the client came for the answer to a parked call, or what became of a decision.

        Any process may do so. The first time counts: return False if it was noted before, unless
        what was noted is `after`.
        """

    def outgoing(self, session: str) -> Sequence[tuple[str, Reply]]:
        """Return the outgoing messages of people, as (ticket, text), each until it is settled."""

    def settle_outgoing(self, session: str, ticket: str, diagnostics: Sequence[Diagnostic]) -> None:
        """Store an outgoing message's result: sent without problems, else returned."""

    def end(self, session: str) -> None:
        """Close a session in order. What is still pending and not parked becomes abandoned."""


class DeskInbox(SharedInbox, Protocol):
    """The inbox as desks use it: they read what waits, and write what a person decided."""

    @property
    def away(self) -> str:
        """Why the inbox cannot be reached now; "" if it can."""

    def watch(self, wake: Callable[[str, int], None]) -> Watching:
        """Return a watch that calls `wake` with a session and the number of a changed exchange.

        The number is 0 for everything else of the session: its record, its transcript, its life.
        `wake` is called from other threads, often several times for one change, and must not block.
        """

    def sweep(self) -> None:
        """Remove half-written files of dead processes; a desk does so when it starts."""

    def sessions(self) -> Sequence[SessionFacts]:
        """List the sessions, newest first."""

    def probes(self) -> Sequence[SessionFacts]:
        """List the open sessions that received only `server/discover` so far."""

    def items(
        self, session: str, state: ExchangeState = ExchangeState.PENDING, most: int = 0
    ) -> Sequence[Item]:
        """List the exchanges of a session in one state, oldest first; the last ones if `most`."""

    def change_draft(self, key: Key, change: Callable[[Draft | None], Draft]) -> None:
        """Replace the draft by what `change` makes of it, and lose none that is saved meanwhile.

        `change` is called again for a draft that was saved after the one it got.
        """

    def put_aside(self, key: Key, draft: Draft) -> None:
        """Save a replaced text beside the draft (`Item.kept`)."""

    def send(self, key: Key, reply: Reply) -> None:
        """Send a reply. The server checks it; a refused one comes back as the draft.

        Raises:
            TakenError: another reply was first. The text was kept as the draft.
        """

    def note_writer(self, key: Key, writer: Writer) -> None:
        """Note a sign of somebody who writes an answer. A window writes one answer at a time."""

    def clear_writer(self, page: str) -> None:
        """Note that a window writes no answer any more."""

    def writers(self) -> Mapping[Key, tuple[Writer, ...]]:
        """Return who gave a sign lately, by exchange. They keep nobody else from answering."""

    def submit(self, session: str, reply: Reply) -> str:
        """Submit an outgoing message. Return its ticket."""

    def answer_handshake_by_hand(self, *, on: bool) -> None:
        """Let people answer the handshake of every session, or stop that.

        Raises:
            StoreError: it could not be kept.
        """

    def outgoing_result(self, session: str, ticket: str) -> OutgoingResult | None:
        """Return what became of an outgoing message; None while it waits."""

    def forget(self, key: Key) -> None:
        """Forget a finished exchange: its request, answer and drafts.

        Its frames stay as notes that they were forgotten.

        Raises:
            InboxError: its client still waits for an answer.
        """

    def forget_session(self, session: str) -> None:
        """Forget a session that is over.

        Raises:
            InboxError: it still runs.
        """

    def last_frames_before(
        self, session: str, seq: int, count: int, word: str = ""
    ) -> Sequence[Frame]:
        """Read the last `count` frames of the transcript before number `seq`.

        They come oldest first; 0 asks for the very last ones. With a word of lower-case ASCII
        letters and digits only those that have it count, whatever its case there.
        """


class Inbox(ServerInbox, DeskInbox, Protocol):
    """The whole interface. Its promises are at the head of this module."""
