"""Asks the real server what was not recorded, for `serve --replay … --otherwise forward`.

    client            here                         the real server
    a request ──────▶ was it recorded? no ───────▶ started now, its handshake, the request
                      progress, logs ◀────────────
                      a question, under an id of ours ◀──
                      the client's answer, under its own ──▶
    the answer ◀───── added to the recording ◀────

The server is a child that is started when it is first needed, and again when it is needed after
its end. The client's lines go to it as they are, and its answer to the client likewise. Its threads
only bring lines: all that decides happens in the loop's own thread, in `look`.
"""

from __future__ import annotations

import json
import logging
import os
import threading
from collections import deque
from contextlib import suppress
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Final, NamedTuple

from humanmcp import __version__
from humanmcp.common.child import ChildCommand, ChildTransport, EndedError, StartError
from humanmcp.extensions.recordings import SECTION
from humanmcp.inbox.contract import InboxError
from humanmcp.locales import say
from humanmcp.locales.stop import sentence_of
from humanmcp.protocol.conversation.outcomes import Sent
from humanmcp.protocol.conversation.stages import ExchangeState
from humanmcp.protocol.conversation.transcript import Direction, Frame
from humanmcp.protocol.json import jsonrpc
from humanmcp.protocol.json.jsonrpc import Kind, Malformed, Message, RequestId
from humanmcp.protocol.json.tree import follow, text_at
from humanmcp.protocol.tables import methods
from humanmcp.protocol.tables.methods import CANCELLED, INITIALIZED
from humanmcp.protocol.tables.versions import features

if TYPE_CHECKING:
    from collections.abc import Callable

    from humanmcp.extensions.recordings.recording import Forward
    from humanmcp.extensions.recordings.replay import Replay
    from humanmcp.protocol.conversation.exchange import Exchange
    from humanmcp.server.moments import Way

logger = logging.getLogger(__name__)

BY_SERVER: Final = "forward"
"""The author of lines from the real server."""

_TIMEOUT: Final = 0.5
"""Seconds that the server gets after each step of its end: a host gives all of us two."""

PATIENCE: Final = 60.0
"""Seconds for the server to answer our handshake; a server that is installed first takes long."""

_HANDSHAKE: Final = RequestId.of("humanmcp-handshake")
_REQUEST_ID: Final = ("params", "requestId")


@dataclass(slots=True)
class _AwaitedAnswer:
    """A request forwarded to the real server, and the frames about it so far."""

    exchange: Exchange
    frames: list[Frame]

    @property
    def progress_token(self) -> object:
        return self.exchange.request.meta.get("progressToken")

    @property
    def takes_what_comes(self) -> bool:
        """Return True if an unrelated line probably belongs to this request."""
        return not methods.of(self.exchange.method).stays_open


class _ServerEvent(NamedTuple):
    """A line that one run of the server wrote; `line` is None at its end, or when it is late."""

    run: _Run
    line: bytes | None
    aside: bool = False
    is_late: bool = False
    """Our handshake has taken all its time."""


class _Run:
    """One run of the server. Its threads queue lines; the session's thread processes them."""

    def __init__(self, command: ChildCommand, tell: Callable[[_ServerEvent], object]) -> None:
        """Start it.

        Raises:
            StartError: there is no such program, or it may not be run.
        """
        self.transport = ChildTransport(command, _TIMEOUT, own_group=False)
        self.opened = False
        """Whether it takes requests of a version with a handshake."""
        self.opened_by_client = False
        self.asked_for = ""
        """The version of our own handshake with it."""
        self.kept_back: list[str] = []
        """What waits for the end of the handshake."""
        self._tell = tell
        self.transport.start(self)

    def line_arrived(self, line: bytes) -> None:
        """Queue a line of its stdout."""
        self._tell(_ServerEvent(self, line.removesuffix(b"\r")))

    def stderr_line(self, line: bytes) -> None:
        self._tell(_ServerEvent(self, line, aside=True))

    def ended(self) -> None:
        self._tell(_ServerEvent(self, None))

    def send(self, line: str) -> None:
        """Write a line to the server. `ended` reports a server that has ended."""
        with suppress(EndedError):
            self.transport.send(line)

    def send_once_open(self, line: str) -> None:
        """Write a line to the server once the handshake is over."""
        if self.opened:
            self.send(line)
        else:
            self.kept_back.append(line)


class Forwarding:
    """Forwards requests to the real server."""

    def __init__(
        self, way: Way, forward: Forward, replay: Replay, wake: Callable[[], object]
    ) -> None:
        """Begin with no server running. `wake` is called from other threads: `look` soon."""
        self._recording = forward.recording
        self._command = ChildCommand(forward.command, os.environ)
        self._replay = replay
        self._session = way.session
        self._journal = way.journal
        self._way = way
        self._wake = wake
        self._news: SimpleQueue[_ServerEvent] = SimpleQueue()
        self._run: _Run | None = None
        self._leaving: deque[threading.Thread] = deque()
        self._waiting: dict[int, _AwaitedAnswer] = {}
        self._questions: dict[object, tuple[_Run, RequestId, _AwaitedAnswer | None]] = {}
        """The server's requests to the client, by the value of the id that the client knows."""
        self._asked = 0
        self._client: Message | None = None
        """How the client opened the session: the server's session is opened the same way."""

    # -- from the client --------------------------------------------------------------------------

    def arrived(self, exchange: Exchange) -> None:
        """Note a request of the client, forwarded or not."""
        if exchange.method == "initialize":
            self._client = exchange.request

    def ask(self, exchange: Exchange) -> None:
        """Forward a request to the server, and start it if necessary."""
        try:
            run = self._run = self._run or _Run(self._command, self._tell)
        except StartError as error:
            self._give_up(sentence_of(error), exchange)
            return
        line = exchange.request.raw
        self._waiting[exchange.number] = _AwaitedAnswer(exchange, [self._frame(Direction.IN, line)])
        if exchange.method == "initialize":
            run.opened = run.opened_by_client = True
        elif not run.opened and not run.asked_for and not features(exchange.version).stateless:
            run.asked_for = self._session.version
            run.send(_handshake(run.asked_for, self._client))
            timer = threading.Timer(PATIENCE, self._tell, [_ServerEvent(run, None, is_late=True)])
            timer.daemon = True
            timer.start()
        if features(exchange.version).stateless:
            run.send(line)
        else:
            run.send_once_open(line)

    def noticed(self, message: Message) -> None:
        """Forward a notification of the client, if it concerns the server."""
        run = self._run
        if run is None or (message.method == INITIALIZED and not run.opened_by_client):
            return
        if message.method == CANCELLED:
            waiting = self._asked_as(message.params.get("requestId"))
            if waiting is None:
                return
            del self._waiting[waiting.exchange.number]
        elif message.method == INITIALIZED:
            self._keep([self._frame(Direction.IN, message.raw)])
        if run.asked_for or run.opened:
            run.send_once_open(message.raw)
        else:
            run.send(message.raw)  # of a version without a handshake

    def response(self, message: Message) -> None:
        """Forward the client's response to a request of the server."""
        found = self._questions.pop(message.id.value, None) if message.id else None
        if found is None:
            return
        run, request_id, awaited = found
        run.send(jsonrpc.with_token(message.raw, request_id.token))
        self._note(self._frame(Direction.IN, message.raw), awaited)

    def _asked_as(self, value: object) -> _AwaitedAnswer | None:
        if isinstance(value, bool):  # in Python, `true` would be 1
            return None
        return next((one for one in self._waiting.values() if one.exchange.id.value == value), None)

    # -- from the server --------------------------------------------------------------------------

    def look(self) -> None:
        """Process the lines that the server wrote."""
        with suppress(Empty):
            while True:
                self._see(self._news.get_nowait())

    def _tell(self, event: _ServerEvent) -> None:
        self._news.put(event)
        self._wake()

    def _see(self, event: _ServerEvent) -> None:
        if event.aside and event.line is not None:  # also the last words of one that has ended
            self._set_aside(event.line)
        elif event.run is not self._run:
            pass  # it was told to end
        elif event.is_late:
            if not event.run.opened:
                self._stop(event.run)
                self._give_up(say(SECTION, "forward silent", seconds=f"{PATIENCE:g}"))
        elif event.line is None:
            self._ended(event.run)
        else:
            self._hear(event.run, event.line)

    def _hear(self, run: _Run, line: bytes) -> None:
        for item in jsonrpc.items_in(line):
            if isinstance(item, Malformed):
                self._set_aside(item.raw, "no message")
            elif item.kind in (Kind.REQUEST, Kind.NOTIFICATION):
                self._speaks(run, item)
            elif item.id is not None and item.id.key == _HANDSHAKE.key:
                self._opened(run, item)
            else:
                self._answers_with(item)

    def _set_aside(self, line: bytes, note: str = "") -> None:
        """Record a line that is not forwarded: stderr, or no message."""
        if note:
            logger.warning("the real server wrote what is %s: %.200r", note, line)
        try:
            self._journal.record(Direction.ERR, line, by=BY_SERVER, note=note)
        except InboxError:
            logger.exception("the transcript misses a line of the real server")

    def _opened(self, run: _Run, message: Message) -> None:
        if message.kind is Kind.ERROR:
            self._stop(run)
            error = jsonrpc.member(message.raw, "error") or ""
            refused = say(SECTION, "forward refused", error=error)
            self._give_up(_reason_in(message) if jsonrpc.is_stand_in(message) else refused)
            return
        speaks = follow(message.body, "result", "protocolVersion")
        if speaks != run.asked_for:
            logger.warning("the real server speaks %.40r, the session %s", speaks, run.asked_for)
        run.opened = True
        run.send(f'{{"jsonrpc":"2.0","method":"{INITIALIZED}"}}')
        for line in run.kept_back:
            run.send(line)
        run.kept_back.clear()

    def _answers_with(self, message: Message) -> None:
        waiting = self._asked_as(message.id.value) if message.id is not None else None
        if waiting is None:
            self._set_aside(message.raw.encode(), "no answer to anything that waits")
            return
        exchange = waiting.exchange
        if jsonrpc.is_stand_in(message):  # of a tap before it: the server has said nothing
            self._give_up(_reason_in(message), exchange)
            return
        del self._waiting[exchange.number]
        line = jsonrpc.with_token(message.raw, exchange.id.token)
        if "\r" in line:  # between members; on the wire it would be a line break for some
            line = jsonrpc.compact(line)
        outcome = self._session.reply_with_line(exchange.number, line, deliberate=False)
        if not isinstance(outcome, Sent):
            logger.info("the real server answered %s too late", exchange.number)
            return
        self._way.send(outcome, BY_SERVER)
        self._keep([*waiting.frames, self._frame(Direction.OUT, line)])
        self._replay.forwarded += 1

    def _speaks(self, run: _Run, message: Message) -> None:
        """Send the server's notification or request to the client."""
        awaited, line = self._about(message), message.raw
        if message.id is not None:
            self._asked += 1
            ours = RequestId.of(f"{BY_SERVER}-{self._asked}")
            self._questions[ours.value] = (run, message.id, awaited)
            line = jsonrpc.with_token(line, ours.token)
        elif message.method == CANCELLED:
            theirs = message.params.get("requestId")
            found = (own for own, (_run, id_, _) in self._questions.items() if id_.value == theirs)
            own = next(found, None)
            line = jsonrpc.with_token(line, json.dumps(own), _REQUEST_ID) if own else line
        verdict = self._session.submit(line, anyway=True)
        line = verdict.line or verdict.forced or jsonrpc.compact(line)
        number = awaited.exchange.number if awaited is not None else 0
        self._journal.write(line, number, by=BY_SERVER)
        self._note(self._frame(Direction.OUT, line), awaited)

    def _about(self, message: Message) -> _AwaitedAnswer | None:
        """Return the forwarded request that a line of the server is about."""
        token = message.params.get("progressToken")
        latest = tuple(reversed(self._waiting.values()))
        for waiting in latest:
            if token is not None and waiting.progress_token == token:
                return waiting
        return next((one for one in latest if one.takes_what_comes), None)

    # -- when it is over --------------------------------------------------------------------------

    def _ended(self, run: _Run) -> None:
        self._run = None
        why = sentence_of(run.transport.end_reason())
        self._stop(run)
        self._give_up(why)

    def _give_up(self, why: str, *some: Exchange) -> None:
        """Hand some or all waiting requests to the person, or refuse them, with the reason."""
        left = some or tuple(one.exchange for one in self._waiting.values())
        for exchange in left:
            self._waiting.pop(exchange.number, None)
        code = "forward failed, refused" if self._replay.refuses else "forward failed"
        sentence = say(SECTION, code, why=why, count=len(left))
        logger.warning("%s", sentence)
        if left:
            self._way.options.tell_stderr(sentence)
        for exchange in left:
            current = self._session.exchanges.get(exchange.number)
            if current is not None and current.state is ExchangeState.PENDING:
                self._replay.leave(exchange, why)
                self._way.fall_back(exchange)

    def _stop(self, run: _Run) -> None:
        """Stop a run of the server without waiting for it."""
        self._run = None
        thread = threading.Thread(target=run.transport.close, daemon=True)
        thread.start()
        self._leaving.append(thread)

    def close(self) -> None:
        """Stop the server in order, within the time that hosts allow."""
        if self._run is not None:
            self._stop(self._run)
        while self._leaving:
            self._leaving.popleft().join(3 * _TIMEOUT)

    # -- the recording ----------------------------------------------------------------------------

    def _frame(self, direction: Direction, line: str) -> Frame:
        by = BY_SERVER if direction is Direction.OUT else ""
        return Frame(0, self._journal.clock.stamp(), direction, line.encode(), by=by)

    def _note(self, frame: Frame, awaited: _AwaitedAnswer | None) -> None:
        """Store a line with its request, or alone."""
        if awaited is not None and awaited.exchange.number in self._waiting:
            awaited.frames.append(frame)
        else:
            self._keep([frame])

    def _keep(self, frames: list[Frame]) -> None:
        why = self._recording.add(frames)
        if why is not None:
            sentence = say(SECTION, "not added", path=self._recording.path, why=why)
            logger.warning("%s", sentence)
            self._way.options.tell_stderr(sentence)


def _reason_in(message: Message) -> str:
    return text_at(message.body, "error", "message").rstrip(".")


def _handshake(version: str, client: Message | None) -> str:
    """Return the `initialize` request for the real server."""
    ours = {"capabilities": {}, "clientInfo": {"name": "humanmcp", "version": __version__}}
    params = (ours if client is None else client.params) | {"protocolVersion": version}
    request = {"jsonrpc": "2.0", "id": _HANDSHAKE.value, "method": "initialize", "params": params}
    return jsonrpc.as_line(request)
