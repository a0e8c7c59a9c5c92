"""A server at an address as a transport of lines: the same seam as a pipe to a child.

Theory of operation. Each message is a POST in a thread of its own, which waits for its response;
one thread sends, and lets a notification be taken before what follows it. A response brings its
messages to the listener as they come. What the listener cannot see in lines (a status, an event's
id) it is told beside them. In 2026-07-28 hanging up is the cancel, so `notifications/cancelled`
becomes that.
"""

from __future__ import annotations

import threading
from queue import SimpleQueue
from typing import TYPE_CHECKING, Final, Protocol, TypeAlias

from humanmcp import __version__
from humanmcp.common.child import EndedError, OutputListener
from humanmcp.http.exchange import HttpExchange
from humanmcp.protocol.http.client import HttpConversation, IncomingResponse, OutgoingRequest
from humanmcp.protocol.http.events import ServerSentEvent
from humanmcp.protocol.json.jsonrpc import Message
from humanmcp.protocol.spec import versions

if TYPE_CHECKING:
    from humanmcp.http.server_address import ServerAddress
    from humanmcp.locales.stop import StopError

AGENT: Final = f"humanmcp/{__version__}"
TAKEN_WITHIN: Final = 5.0
"""Seconds that a notification may take to be taken before what follows it goes out."""

ENDS_WITHIN: Final = 2.0
"""Seconds that the end of the session may take."""

MOST_PAUSE: Final = 600.0
"""Seconds that a server may ask a client to wait before it comes again."""

HttpPart: TypeAlias = OutgoingRequest | IncomingResponse | ServerSentEvent


class CallListener(OutputListener, Protocol):
    """Who is told what comes of the calls. Called from several threads."""

    def line_arrived(self, line: bytes, asked: str = "") -> None:
        """Take a line. `asked` is the request whose response brought it, where it names none."""

    def unanswered(self, line: str, error: StopError) -> None:
        """Learn that no answer to a message that was sent will come.

        The line is "" where the stream that belongs to none is over with its session.
        """

    def http_passed(self, number: int, what: HttpPart) -> None:
        """See a part of an HTTP exchange, without keys. `number` tells the exchanges apart."""


class HttpTransport:
    """A server at an address. A `Transport`."""

    def __init__(self, address: ServerAddress) -> None:
        """Prepare to call it. Nothing is sent yet.

        Raises:
            AddressError: it is no address that can be called.
        """
        address.check()
        self.address = address
        self.conversation = HttpConversation(AGENT, address.changes)
        self._leaving: SimpleQueue[str | None] = SimpleQueue()
        self._closing = threading.Event()
        self._lock = threading.RLock()
        self._settled = threading.Condition(self._lock)
        self._handed_in = 0
        """Lines that were handed in, and have not ended."""
        self._exchanges: set[HttpExchange] = set()
        self._numbers = 0
        self._last_id = ""
        self._listener: CallListener | None = None

    @property
    def listener(self) -> CallListener:
        """Who is told."""
        assert self._listener is not None  # noqa: S101 - `start` comes first
        return self._listener

    def start(self, listener: CallListener) -> None:
        """Begin to send, and to bring lines to the listener."""
        self._listener = listener
        threading.Thread(target=self._send_all, daemon=True).start()

    def send(self, line: str) -> None:
        """Hand in a line; it is posted by a thread."""
        if self._closing.is_set():
            raise self.end_reason()
        with self._lock:
            self._handed_in += 1
        self._leaving.put(line)

    def end_reason(self) -> EndedError:
        """Say no more than that: an address does not end."""
        return EndedError()

    @property
    def is_closing(self) -> bool:
        """Return True if nothing more is wanted."""
        return self._closing.is_set()

    def close(self) -> None:
        """End the session in order, as far as the server takes part, and hang up."""
        with self._lock:
            if self._closing.is_set():
                return
            self._closing.set()
            self._settled.notify_all()
        self._leaving.put(None)
        self.drop()
        request = self.conversation.end()
        if request is not None:  # it may answer 405: it ends its sessions itself
            ending = threading.Thread(target=HttpExchange(self).run, args=(request,), daemon=True)
            ending.start()
            ending.join(ENDS_WITHIN)
            self.drop()
        if self._listener is not None:
            self._listener.ended()

    def wait_for_answers(self) -> None:
        """Wait until every request that was handed in has its answer, or will have none."""
        with self._settled:
            self._settled.wait_for(lambda: self.is_closing or not self._handed_in)

    def send_now(self, line: str) -> bool:
        """Post a line in this thread, before what was handed in. False when it failed."""
        return self._run(HttpExchange(self, line))

    # -- by hand -------------------------------------------------------------------------------

    def drop(self) -> int:
        """Hang up on every response that is awaited, without a word. Returns how many."""
        with self._lock:
            exchanges = list(self._exchanges)
        for exchange in exchanges:
            exchange.drop()
        return len(exchanges)

    def resume(self, after: str = "") -> str:
        """Ask for what came after an event, the last one where none is named. Returns its id."""
        after = after or self._last_id
        if after:
            wanted = self.conversation.stream_wanted(after)
            exchange = HttpExchange(self, comes_again=False)
            threading.Thread(target=exchange.run, args=(wanted,), daemon=True).start()
        return after

    # -- the threads ---------------------------------------------------------------------------

    def _send_all(self) -> None:
        while (line := self._leaving.get()) is not None:
            exchange = HttpExchange(self, line)
            if self._hangs_up(exchange):
                self._done()
                continue
            threading.Thread(target=self._post, args=(exchange,), daemon=True).start()
            if exchange.request is None:
                exchange.taken.wait(TAKEN_WITHIN)

    def _hangs_up(self, exchange: HttpExchange) -> bool:
        """Return True if a message is said by hanging up, and was.

        2026-07-28: "the client cancels a request by closing its response stream".
        """
        message = exchange.message
        if not isinstance(message, Message) or message.method != "notifications/cancelled":
            return False
        if self.conversation.version not in versions.STATELESS:
            return False
        with self._lock:
            named = [one for one in self._exchanges if one.has_id(message.params.get("requestId"))]
        for one in named:
            one.drop()
        return True

    def _post(self, exchange: HttpExchange) -> None:
        try:
            self._run(exchange)
        finally:
            self._done()

    def _run(self, exchange: HttpExchange) -> bool:
        line = exchange.line.encode("utf-8", "replace")
        is_taken = exchange.run(self.conversation.posted(line))
        begins = is_taken and exchange.method == "notifications/initialized"
        if begins and self.conversation.version in versions.HANDSHAKE and not self.is_closing:
            wanted = self.conversation.stream_wanted()
            threading.Thread(target=HttpExchange(self).run, args=(wanted,), daemon=True).start()
        return is_taken

    def _done(self) -> None:
        with self._settled:
            self._handed_in -= 1
            self._settled.notify_all()

    # -- for the exchanges -----------------------------------------------------------------------

    def begun(self, exchange: HttpExchange) -> None:
        """Know an exchange that goes on."""
        with self._lock:
            self._exchanges.add(exchange)

    def over(self, exchange: HttpExchange) -> None:
        """Know it no more."""
        with self._lock:
            self._exchanges.discard(exchange)

    def next_number(self) -> int:
        """Count a call."""
        with self._lock:
            self._numbers += 1
            return self._numbers

    def http_passed(self, number: int, what: HttpPart) -> None:
        """Show a part of an exchange without its keys, and remember the last event."""
        if isinstance(what, ServerSentEvent):
            self._last_id = what.id or self._last_id
        else:
            what = what._replace(headers=self.conversation.changes.shown(what.headers))
        self.listener.http_passed(number, what)

    def pause(self, seconds: float) -> bool:
        """Wait. False when nothing more is wanted."""
        return not self._closing.wait(min(seconds, MOST_PAUSE))
