"""The sessions of `humanmcp tap --http`: each is a tap, and its lines go where they belong.

Knows lines and the requests that wait for them; nothing of sockets.
"""

from __future__ import annotations

import json
import logging
import os
import secrets
import threading
import time
from collections import deque
from queue import SimpleQueue
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

from humanmcp.common.child import ChildCommand, ChildTransport, EndedError, StartError
from humanmcp.common.terminal import to_stderr
from humanmcp.protocol.http.inbound import UNKNOWN_SESSION, HttpRefusal
from humanmcp.protocol.http.lifetimes import evictable, silent, visitor_of
from humanmcp.protocol.json import jsonrpc
from humanmcp.protocol.json.jsonrpc import Batch, Kind, Malformed, Message
from humanmcp.protocol.json.tree import object_at, text_at
from humanmcp.protocol.session import cancellation

if TYPE_CHECKING:
    from humanmcp.protocol.http.guard import HttpAddress
    from humanmcp.protocol.http.headers import Headers
    from humanmcp.protocol.http.inbound import Posted
    from humanmcp.protocol.json.jsonrpc import Json

    Key: TypeAlias = tuple[str, str | int | float]

logger = logging.getLogger(__name__)

MOST_KEPT: Final = 100
"""Messages that belong to no request and wait until a client listens."""

MOST_SESSIONS: Final = 100
"""Each is a process, and its server another one."""

AUTHORIZATION: Final = "HUMANMCP_TAP_AUTHORIZATION"
"""The variable that brings a client's key to the tap of its session: no command line shows it."""

BUSY: Final = HttpRefusal(503, "busy", -32603)


class TappedClient:
    """One session: a tap as a child, and the requests that wait for it. Any thread may use it."""

    def __init__(self, command: ChildCommand, name: str, visitor: str, revision: str) -> None:
        """Start the tap.

        Raises:
            StartError: there is no room for one more process.
        """
        self.id = name
        self.visitor = visitor
        self.revision = revision
        """That of a client without a session; that of a handshake is in its answer."""
        self.is_over = False
        self.address = ""
        self.last_seen = time.monotonic()
        self._lock = threading.Lock()
        self._waiting: dict[Key, ResponseLines] = {}
        self._lines: ResponseLines | None = None
        self._kept: deque[bytes] = deque(maxlen=MOST_KEPT)
        self._asked: deque[str] = deque(maxlen=MOST_KEPT)
        self._tap = ChildTransport(command)
        self._tap.start(self)

    def seen(self, address: str) -> None:
        """Note that its client is there, and where."""
        self.address, self.last_seen = address, time.monotonic()

    def post(self, posted: Posted) -> ResponseLines:
        """Pass a message on. Returns what its response is made of."""
        lines = ResponseLines()
        message = posted.message
        with self._lock:
            for one in message.items if isinstance(message, Batch) else (message,):
                if isinstance(one, Message) and one.kind is Kind.REQUEST and one.id is not None:
                    lines.keys.append(one.id.key)
                    lines.tokens.append(one.meta.get("progressToken"))
                    self._waiting[one.id.key] = lines
        try:
            self._tap.send(posted.line.decode("utf-8", "surrogateescape"))
        except EndedError:
            lines.lines.put(None)
        return lines

    def uses(self, message: Message) -> bool:
        """Return True if a request of the same id waits."""
        with self._lock:
            return message.id is not None and message.id.key in self._waiting

    def has_asked(self, message: Message) -> bool:
        """Return True if a request brings what this server has asked for (2026-07-28)."""
        brought = _round_of(message.params, "inputResponses")
        with self._lock:
            return brought is not None and brought in self._asked

    @property
    def is_idle(self) -> bool:
        """Return True if no client waits or listens."""
        with self._lock:
            return not self._waiting and self._lines is None

    def listen(self) -> ResponseLines:
        """Return what belongs to no request, from now on and what was kept; one client hears it."""
        with self._lock:
            if self._lines is not None:
                self._lines.lines.put(None)
            self._lines = ResponseLines()
            while self._kept:
                self._lines.lines.put(self._kept.popleft())
            return self._lines

    def leave(self, lines: ResponseLines) -> None:
        """Note that a client listens no more: what it has not heard is kept for the next one."""
        with self._lock:
            self.last_seen = time.monotonic()
            if self._lines is lines:
                self._lines = None
                while not lines.lines.empty():
                    line = lines.lines.get()
                    self._kept.extend([line] if line is not None else [])

    def gone(self, lines: ResponseLines, posted: Posted) -> None:
        """Note that the client of a response is gone, which cancels in 2026-07-28 alone."""
        with self._lock:
            for key in lines.keys:
                self._waiting.pop(key, None)
        message = posted.message
        if (
            posted.transport_facts is not None
            and isinstance(message, Message)
            and message.id is not None
        ):
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
        items = jsonrpc.items_in(line)
        with self._lock:
            self.last_seen = time.monotonic()
            lines = next((found for one in items if (found := self._place(one))), None)
            if lines is not None:
                for one in items:
                    self._answered(lines, one)
                lines.lines.put(line)
            elif not all(_answers(one) for one in items):
                self._kept.append(line)

    def _place(self, message: Message | Malformed) -> ResponseLines | None:
        """Return where a line goes; None for an answer that no client waits for any more.

        "The server MUST NOT send a JSON-RPC response on the stream" of a GET.
        https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#listening-for-messages-from-the-server
        """
        if isinstance(message, Message):
            if _answers(message) and message.id is not None:
                return self._waiting.get(message.id.key)
            token = message.params.get("progressToken")
            for one in self._waiting.values():
                if token is not None and token in one.tokens:
                    return one
        return self._lines or next(iter(self._waiting.values()), None)

    def _answered(self, lines: ResponseLines, message: Message | Malformed) -> None:
        if isinstance(message, Message) and _answers(message) and message.id is not None:
            self._waiting.pop(message.id.key, None)
            if message.id.key in lines.keys:
                lines.keys.remove(message.id.key)
            result = object_at(message.body, "result")
            if result.get("resultType") == "input_required":
                self._asked.append(_round_of(result, "inputRequests") or "")
            self.revision = self.revision or text_at(result, "protocolVersion")

    def stderr_line(self, line: bytes) -> None:
        """Show what the tap and its server say beside the wire."""
        to_stderr(line.decode("utf-8", "replace"))

    def ended(self) -> None:
        """Let no client wait any longer."""
        with self._lock:
            self.is_over = True
            for one in {*self._waiting.values(), *([self._lines] if self._lines else [])}:
                one.lines.put(None)


def _round_of(said: dict[str, Json], member: str) -> str | None:
    """Return what a request with answers and the result that asked for them have in common.

    "If an `InputRequiredResult` contains a `requestState` field, the client MUST echo back the
    exact value"; where there is none, what was asked for has the same names.
    https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/mrtr
    """
    if "requestState" in said:
        return json.dumps(said["requestState"])
    named = said.get(member)
    return json.dumps(sorted(named)) if isinstance(named, dict) else None


def _answers(message: Message | Malformed) -> bool:
    return isinstance(message, Message) and message.kind.is_answer


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
    """All sessions at the address. Any thread may use it."""

    def __init__(self, address: HttpAddress, command: TapCommand) -> None:
        """Begin with none."""
        self.address = address
        self._command = command
        self._lock = threading.Lock()
        self._sessions: list[TappedClient] = []

    def client_of(
        self, posted: Posted, headers: Headers, address: str
    ) -> TappedClient | HttpRefusal:
        """Return the session that a message belongs to, a new one where it begins one."""
        if posted.session:
            return self.find(posted.session, address)
        message, key = posted.message, headers.get("authorization") or ""
        with self._lock:
            self._end_those_that_are_over()
            if posted.transport_facts is None or not isinstance(message, Message):
                return self._open(key, address, name=secrets.token_urlsafe(24))
            who = visitor_of(message, key, headers.get("host") or "")
            able = [one for one in self._sessions if one.visitor == who and not one.uses(message)]
            if able:
                chosen = next((one for one in able if one.has_asked(message)), able[0])
                chosen.seen(address)
                return chosen
            return self._open(key, address, visitor=who, revision=posted.transport_facts.revision)

    def _open(
        self,
        key: str,
        address: str,
        name: str = "",
        visitor: str = "",
        revision: str = "",
    ) -> TappedClient | HttpRefusal:
        if len(self._sessions) >= MOST_SESSIONS:
            ends = evictable(self._sessions, time.monotonic(), address)
            if ends is None:
                return BUSY
            self._end(ends)
        try:
            client = TappedClient(self._command.of(key), name, visitor, revision)
        except StartError as error:
            logger.warning("no tap for one more session: %s", error)
            return BUSY
        client.seen(address)
        self._sessions.append(client)
        return client

    def find(self, name: str, address: str) -> TappedClient | HttpRefusal:
        """Return the session of a name."""
        with self._lock:
            found = next((one for one in self._sessions if one.id == name), None)
            if found is None or found.is_over:
                return UNKNOWN_SESSION
            found.seen(address)
            return found

    def end(self, name: str, address: str) -> HttpRefusal | None:
        """End a session."""
        found = self.find(name, address)
        if isinstance(found, HttpRefusal):
            return found
        with self._lock:
            self._sessions = [one for one in self._sessions if one is not found]
        found.close()
        return None

    def _end_those_that_are_over(self) -> None:
        over = [one for one in self._sessions if one.is_over]
        for one in (*over, *silent(self._sessions, time.monotonic())):
            self._end(one)

    def _end(self, client: TappedClient) -> None:
        """Know a session no more. Its tap may take seconds to end: no client waits for that."""
        self._sessions = [one for one in self._sessions if one is not client]
        threading.Thread(target=client.close, daemon=True).start()

    def close(self) -> None:
        """End all of them."""
        for one in self._sessions:
            one.close()
