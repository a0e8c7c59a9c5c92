"""The sessions of `humanmcp tap --http`: each is a tap, and its lines go where they belong.

Knows lines and the requests that wait for them; nothing of sockets.
"""

from __future__ import annotations

import json
import logging
import os
import secrets
import threading
from collections import deque
from queue import SimpleQueue
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

from humanmcp.common.child import ChildCommand, ChildTransport, EndedError
from humanmcp.common.terminal import to_stderr
from humanmcp.protocol.http.inbound import UNKNOWN_SESSION, HttpRefusal
from humanmcp.protocol.json import jsonrpc
from humanmcp.protocol.json.jsonrpc import Batch, Kind, Malformed, Message
from humanmcp.protocol.session import cancellation
from humanmcp.protocol.spec import versions

if TYPE_CHECKING:
    from humanmcp.protocol.http.guard import HttpAddress
    from humanmcp.protocol.http.headers import Headers
    from humanmcp.protocol.http.inbound import Posted

    Key: TypeAlias = tuple[str, str | int | float]

logger = logging.getLogger(__name__)

MOST_KEPT: Final = 100
"""Messages that belong to no request and wait until a client listens."""

MOST_SESSIONS: Final = 100
AUTHORIZATION: Final = "HUMANMCP_TAP_AUTHORIZATION"
"""The variable that brings a client's key to the tap of its session: no command line shows it."""

BUSY: Final = HttpRefusal(503, "busy", -32603)


class TappedClient:
    """One session: a tap as a child, and the requests that wait for it. Any thread may use it."""

    def __init__(self, name: str, command: ChildCommand, revision: str = "") -> None:
        """Start the tap."""
        self.name = name
        self.revision = revision
        """That of a client without a session; that of a handshake is in its answer."""
        self.is_over = False
        self._lock = threading.Lock()
        self._waiting: dict[Key, ResponseLines] = {}
        self._own: ResponseLines | None = None
        self._kept: deque[bytes] = deque(maxlen=MOST_KEPT)
        self._tap = ChildTransport(command)
        self._tap.start(self)

    def post(self, posted: Posted) -> ResponseLines:
        """Pass a message on. Returns what its response is made of."""
        waiting = ResponseLines()
        message = posted.message
        with self._lock:
            for one in message.items if isinstance(message, Batch) else (message,):
                if isinstance(one, Message) and one.kind is Kind.REQUEST and one.id is not None:
                    waiting.keys.append(one.id.key)
                    waiting.tokens.append(one.meta.get("progressToken"))
                    self._waiting[one.id.key] = waiting
        try:
            self._tap.send(posted.line.decode("utf-8", "surrogateescape"))
        except EndedError:
            waiting.lines.put(None)
        return waiting

    def uses(self, message: Message) -> bool:
        """Return True if a request of the same id waits."""
        with self._lock:
            return message.id is not None and message.id.key in self._waiting

    def listen(self) -> ResponseLines:
        """Return what belongs to no request, from now on and what was kept."""
        with self._lock:
            self._own = ResponseLines()
            while self._kept:
                self._own.lines.put(self._kept.popleft())
            return self._own

    def gone(self, waiting: ResponseLines, posted: Posted) -> None:
        """Note that the client of a response is gone, which cancels in 2026-07-28 alone."""
        with self._lock:
            for key in waiting.keys:
                self._waiting.pop(key, None)
        message = posted.message
        if posted.stated is not None and isinstance(message, Message) and message.id is not None:
            try:
                self._tap.send(cancellation(message.id, "the client hung up"))
            except EndedError:
                logger.info("a client hung up whose server had ended")

    def close(self) -> None:
        """End the tap, and its server with it."""
        self._tap.close()

    # -- what the tap says -----------------------------------------------------------------------

    def line_arrived(self, line: bytes) -> None:
        """Bring a line to where it belongs."""
        message = jsonrpc.read(line)
        items = message.items if isinstance(message, Batch) else (message,)
        with self._lock:
            place = next((found for one in items if (found := self._place(one))), None)
            if place is not None:
                for one in items:
                    self._answered(place, one)
                place.lines.put(line)
            else:
                self._kept.append(line)

    def _place(self, message: Message | Malformed) -> ResponseLines | None:
        if isinstance(message, Message):
            is_answer = message.kind in (Kind.RESULT, Kind.ERROR)
            if is_answer and message.id is not None:
                return self._waiting.get(message.id.key) or self._own
            token = message.params.get("progressToken")
            for one in self._waiting.values():
                if token is not None and token in one.tokens:
                    return one
        return self._own or next(iter(self._waiting.values()), None)

    def _answered(self, place: ResponseLines, message: Message | Malformed) -> None:
        is_answer = isinstance(message, Message) and message.kind in (Kind.RESULT, Kind.ERROR)
        if is_answer and isinstance(message, Message) and message.id is not None:
            self._waiting.pop(message.id.key, None)
            if message.id.key in place.keys:
                place.keys.remove(message.id.key)
            result = message.body.get("result")
            chosen = result.get("protocolVersion") if isinstance(result, dict) else None
            self.revision = self.revision or (chosen if isinstance(chosen, str) else "")

    def stderr_line(self, line: bytes) -> None:
        """Show what the tap and its server say beside the wire."""
        to_stderr(line.decode("utf-8", "replace"))

    def ended(self) -> None:
        """Let no client wait any longer."""
        with self._lock:
            self.is_over = True
            for one in {*self._waiting.values(), *([self._own] if self._own else [])}:
                one.lines.put(None)


class ResponseLines:
    """A response on its way: its lines, None at the end, and the requests without an answer."""

    def __init__(self) -> None:
        """Begin with nothing to say."""
        self.lines: SimpleQueue[bytes | None] = SimpleQueue()
        self.keys: list[Key] = []
        self.tokens: list[object] = []


class TapCommand(NamedTuple):
    """How the tap of a session is started. `passes_key` if a client's key goes to the server."""

    words: tuple[str, ...]
    server: tuple[str, ...]
    passes_key: bool

    def of(self, authorization: str) -> ChildCommand:
        """Return the command for a client that brings this key, "" for none."""
        env = dict(os.environ)
        words = self.words
        if authorization and self.passes_key:
            env[AUTHORIZATION] = authorization
            words += ("--header", f"Authorization: ${{{AUTHORIZATION}}}")
        return ChildCommand((*words, "--", *self.server), env)


class TapFront:
    """All sessions at the address."""

    def __init__(self, address: HttpAddress, command: TapCommand) -> None:
        """Begin with none."""
        self.address = address
        self._command = command
        self._lock = threading.Lock()
        self._by_name: dict[str, TappedClient] = {}
        self._visitors: dict[str, list[TappedClient]] = {}

    def client_of(self, posted: Posted, headers: Headers) -> TappedClient | HttpRefusal:
        """Return the session that a message belongs to, a new one where it begins one."""
        if posted.session:
            return self.find(posted.session)
        with self._lock:
            self._forget_those_that_are_over()
            message = posted.message
            key = headers.get("authorization") or ""
            if posted.stated is None or not isinstance(message, Message):
                found = self._open(secrets.token_urlsafe(24), key)
                if isinstance(found, TappedClient):
                    self._by_name[found.name] = found
                return found
            who = json.dumps([key, message.meta.get(versions.META_CLIENT)], sort_keys=True)
            ones = self._visitors.setdefault(who, [])
            free = next((one for one in ones if not one.uses(message)), None)
            found = free or self._open("", key, posted.stated.revision)
            if isinstance(found, TappedClient) and found is not free:
                ones.append(found)
            return found

    def _open(self, name: str, key: str, revision: str = "") -> TappedClient | HttpRefusal:
        if len(self._all()) >= MOST_SESSIONS:
            return BUSY
        return TappedClient(name, self._command.of(key), revision)

    def find(self, name: str) -> TappedClient | HttpRefusal:
        """Return the session of a name."""
        found = self._by_name.get(name)
        return UNKNOWN_SESSION if found is None or found.is_over else found

    def end(self, name: str) -> HttpRefusal | None:
        """End a session."""
        found = self._by_name.pop(name, None)
        if found is None:
            return UNKNOWN_SESSION
        found.close()
        return None

    def _all(self) -> list[TappedClient]:
        return [*self._by_name.values(), *(one for ones in self._visitors.values() for one in ones)]

    def _forget_those_that_are_over(self) -> None:
        self._by_name = {name: one for name, one in self._by_name.items() if not one.is_over}
        for who, ones in list(self._visitors.items()):
            self._visitors[who] = [one for one in ones if not one.is_over]

    def close(self) -> None:
        """End all of them."""
        for one in self._all():
            one.close()
