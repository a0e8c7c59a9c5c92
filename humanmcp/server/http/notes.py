"""What HTTP says beside the lines of a session, on its way to the session's transcript.

The event loop says it. The session's thread writes it down with the next line, in the same write,
or after a moment in which no line came: no message waits for it, and it costs no write of its own.
What a crash takes away of it are the heads of the last responses.

Requests that the guard turns away are in no transcript: their senders are in no session.
"""

from __future__ import annotations

import asyncio
from collections import deque
from http.client import responses
from typing import TYPE_CHECKING, Final

from humanmcp.protocol.http.headers import without_keys
from humanmcp.protocol.http.recorded import (
    carried,
    cut_part,
    event_part,
    request_part,
    response_part,
)
from humanmcp.server.connection import TransportNote
from humanmcp.server.process import Clock

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from humanmcp.protocol.http.inbound import HttpRequest
    from humanmcp.protocol.json.jsonrpc import Batch, Malformed, Message
    from humanmcp.server.http.streams import Stream

WITHIN: Final = 0.05
"""Seconds after which a note is written that no line has taken along."""


class HttpNotes:
    """The notes of one session that are not written yet. A `TransportNotes`."""

    def __init__(self) -> None:
        """Begin with none."""
        self.head = ""
        self.are_due = False
        """Whether they are to be written without a line."""
        self.wake: Callable[[], object] | None = None
        """Called when they are due."""
        self._calls = 0
        self._clock = Clock()
        self._waiting: deque[TransportNote] = deque()
        self._is_timed = False

    def go_on(self, calls: int) -> None:
        """Continue the numbering of another process."""
        self._calls = max(self._calls, calls)

    # -- the event loop's side ------------------------------------------------------------------

    def begin(
        self, request: HttpRequest, message: Message | Batch | Malformed | None = None
    ) -> ExchangeNotes:
        """Begin the notes of an exchange, by its request and the message in it."""
        self._calls += 1
        headers = without_keys(request.headers.pairs)
        head = request_part(self._calls, request.method, request.url, headers, carried(message))
        return ExchangeNotes(self, self._calls, head)

    def put(self, text: str, number: int) -> None:
        """Queue a note."""
        self._waiting.append(TransportNote(self._clock.stamp(), text, number))
        if not self._is_timed:
            self._is_timed = True
            asyncio.get_running_loop().call_later(WITHIN, self._time_is_over)

    def _time_is_over(self) -> None:
        self._is_timed = False
        self.are_due = bool(self._waiting)
        if self.are_due and self.wake is not None:
            self.wake()

    # -- the session's side ---------------------------------------------------------------------

    def take(self) -> Iterable[TransportNote]:
        """Return the notes to write."""
        self.are_due = False
        while self._waiting:
            yield self._waiting.popleft()


class ExchangeNotes:
    """The notes of one exchange. `head` is that of its request, to be written with its line."""

    def __init__(self, notes: HttpNotes, call: int, head: str) -> None:
        """Note what becomes of a call of this number."""
        self.head: Final = head
        self.stream: Stream | None = None
        """What its response says, where it is about a request."""
        self._notes = notes
        self._call = call

    def no_line(self) -> None:
        """Store the head alone: the request has no line for the session."""
        self._soon(lambda: self.head)

    def response(self, status: int, headers: Sequence[tuple[str, str]]) -> None:
        """Note the head of the response."""
        reason = responses.get(status, "")
        self._soon(lambda: response_part(self._call, status, reason, without_keys(headers)))

    def event(self, name: str, retry: int | None = None) -> None:
        """Note an event by its id."""
        self._soon(lambda: event_part(self._call, name, retry=retry))

    def cut(self, by: str) -> None:
        """Note that one side hung up before the response was whole."""
        self._soon(lambda: cut_part(self._call, by))

    def _soon(self, part: Callable[[], str]) -> None:
        """Make a note once what is being said is out."""
        asyncio.get_running_loop().call_soon(self._put, part)

    def _put(self, part: Callable[[], str]) -> None:
        self._notes.put(part(), 0 if self.stream is None else self.stream.at.stream)
