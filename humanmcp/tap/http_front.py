"""`humanmcp tap --http`: an address in front of any server, and a tap for each client that comes.

Theory of operation. Each session of HTTP is a tap of its own over pipes, in a process of its own:
what is recorded, held, changed and dropped there is what a tap does anyway. Here lines only go
between requests and that pipe. A POST waits for the answer of its request; what belongs to no
request goes out on the stream of a GET. Nothing is resumed: events have no ids.
"""

from __future__ import annotations

import contextlib
import json
import logging
import os
import secrets
import select
import sys
import threading
import time
from collections import deque
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from io import BufferedReader
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, ClassVar, Final, NamedTuple, TypeAlias, cast

from humanmcp.common.child import ChildCommand, ChildTransport, EndedError, StartError
from humanmcp.common.terminal import to_stderr
from humanmcp.http.listening import LARGEST, LARGEST_TOGETHER, SLOWEST
from humanmcp.locales import say
from humanmcp.protocol.http import inbound
from humanmcp.protocol.http.http_headers import SESSION, SPELLING, Headers, content_length
from humanmcp.protocol.http.inbound import (
    NOT_ALLOWED,
    UNKNOWN_SESSION,
    Acknowledged,
    HttpRefusal,
    HttpRequest,
    Posted,
    SessionOver,
    StreamWanted,
    judge,
    refused_body,
    refused_to,
)
from humanmcp.protocol.http.outbound import (
    COMMENT,
    COMMENT_EVERY,
    EVENTS,
    JSON,
    event,
    evictable,
    silent,
    status_of,
    visitor_of,
)
from humanmcp.protocol.json import jsonrpc
from humanmcp.protocol.json.jsonrpc import Batch, Kind, Malformed, Message
from humanmcp.protocol.json.tree import object_at, text_at
from humanmcp.protocol.session import cancellation

if TYPE_CHECKING:
    import socket
    from collections.abc import Callable
    from io import BufferedIOBase, RawIOBase

    from humanmcp.protocol.http.client import Pairs
    from humanmcp.protocol.http.inbound import HttpAddress, Inbound
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

    def __init__(self, command: ChildCommand, name: str, visitor: str, version: str) -> None:
        """Start the tap.

        Raises:
            StartError: there is no room for one more process.
        """
        self.id = name
        self.visitor = visitor
        self.version = version
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
            self.version = self.version or text_at(result, "protocolVersion")

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
            return self._open(key, address, visitor=who, version=posted.transport_facts.version)

    def _open(
        self,
        key: str,
        address: str,
        name: str = "",
        visitor: str = "",
        version: str = "",
    ) -> TappedClient | HttpRefusal:
        if len(self._sessions) >= MOST_SESSIONS:
            ends = evictable(self._sessions, time.monotonic(), address)
            if ends is None:
                return BUSY
            self._end(ends)
        try:
            client = TappedClient(self._command.of(key), name, visitor, version)
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


LOOKS_EVERY: Final = 0.5
"""Seconds between two looks whether the client still waits."""

SILENT_FOR: Final = 30.0
"""Seconds that a client may take to send the next part of a request."""

NO_LENGTH: Final = HttpRefusal(411, "length")
WRONG_LENGTH: Final = HttpRefusal(400, "length")
"""RFC 9112, 6.3: 400 for "an invalid Content-Length header field", and hang up."""
LARGE: Final = HttpRefusal(413, "large")
SLOW: Final = HttpRefusal(408, "slow")
ENDED: Final = HttpRefusal(502, "ended", -32603)
_NO_CONTENT: Final = 204
_PART: Final = 256 * 1024


class BodyReading:
    """Reads bodies, of all connections no more at once than memory has room for."""

    def __init__(self) -> None:
        """Begin with none."""
        self._lock = threading.Lock()
        self._held = 0

    def body(self, stream: BufferedIOBase, length: int) -> bytes | HttpRefusal:
        """Read a whole body; who sends it byte by byte is cut."""
        until = time.monotonic() + SLOWEST
        body = bytearray()
        try:
            while len(body) < length:
                part = stream.read1(min(length - len(body), _PART))
                if not part or time.monotonic() > until:
                    return SLOW
                body += part
                if not self._may_hold(len(part)):
                    return BUSY
            return bytes(body)
        finally:
            self._may_hold(-len(body))

    def _may_hold(self, more: int) -> bool:
        with self._lock:
            self._held += more
            return self._held <= LARGEST_TOGETHER


class HeadReader(BufferedReader):
    """Reads a connection, and sees in its heads what another reader would cut in another way.

    RFC 9112, 2.2 and 5.2: a carriage return that ends no line is invalid, and a server "MUST
    either reject the message" with a folded line "or replace" it.
    """

    is_ambiguous = False

    def readline(self, size: int | None = -1, /) -> bytes:
        """Return the next line of a head."""
        line = super().readline(size)
        text = line.removesuffix(b"\n").removesuffix(b"\r")
        if b"\r" in text or b"\0" in text or line.startswith((b" ", b"\t")):
            self.is_ambiguous = True
        return line


class TapHandler(BaseHTTPRequestHandler):
    """One connection of a client."""

    front: ClassVar[TapFront]
    reading: ClassVar[BodyReading]
    protocol_version = "HTTP/1.1"
    timeout = SILENT_FOR
    rbufsize = 0  # a `HeadReader` buffers

    def setup(self) -> None:
        """Read heads with care."""
        super().setup()
        self.rfile = self._reader = HeadReader(cast("RawIOBase", self.rfile))

    def version_string(self) -> str:
        """Say nothing of what runs here."""
        return "humanmcp"

    def log_message(self, format: str, *arguments: object) -> None:  # noqa: A002 - as inherited
        """Write it to the log; stderr is for people."""
        logger.debug(format, *arguments)

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """Refuse what is no request, and other methods: as everything here, and not as HTML."""
        del explain
        self.close_connection, self.request_version = True, self.protocol_version
        why = (("why", (message or "").rstrip(".")),)
        is_method = code == HTTPStatus.NOT_IMPLEMENTED
        self._refuse(NOT_ALLOWED if is_method else HttpRefusal(code, "no http", fillings=why))

    def do_POST(self) -> None:
        """Take a message."""
        self._serve()

    def do_GET(self) -> None:
        """Let a client listen."""
        self._serve()

    def do_DELETE(self) -> None:
        """End a session."""
        self._serve()

    def _serve(self) -> None:
        # What follows a line with a defect was not read as headers.
        if self.headers.defects or self._reader.is_ambiguous:
            self.send_error(HTTPStatus.BAD_REQUEST, "a line of its head is no header")
            return
        headers = Headers.of(self.headers.items())
        refusal = inbound.refused(self.path, headers, self.front.address)
        length = content_length(headers.all("content-length"))
        if headers.get("transfer-encoding"):
            refusal = refusal or NO_LENGTH
        elif length is None:
            refusal = refusal or WRONG_LENGTH
        elif length > LARGEST:
            refusal = refusal or LARGE
        if refusal is not None:
            self.close_connection = True
            self._refuse(refusal)
            return
        body = self.reading.body(self.rfile, length or 0)
        if isinstance(body, HttpRefusal):
            self.close_connection = True
            self._refuse(body)
            return
        refusal = self._answer(judge(HttpRequest(self.command, headers, body)), headers)
        if refusal is not None:
            self._refuse(refusal)

    def _answer(self, inbound: Inbound, headers: Headers) -> HttpRefusal | None:
        match inbound:
            case HttpRefusal():
                return inbound
            case Acknowledged():
                self._whole(202)
            case SessionOver(name):
                refusal = self.front.end(name, self.client_address[0])
                if refusal is not None:
                    return refusal
                self._whole(204)
            case StreamWanted(name):
                client = self.front.find(name, self.client_address[0])
                if isinstance(client, HttpRefusal):
                    return client
                lines = client.listen()
                self._stream(lines, self._named(client))
                client.leave(lines)
            case Posted(transport_facts=transport_facts) if (
                transport_facts is not None and transport_facts.error is not None
            ):
                wrong = HttpRefusal(400, "mismatch", int(transport_facts.error["code"]))
                said = refused_to(wrong, inbound.message).body(
                    str(transport_facts.error["message"])
                )
                self._whole(wrong.status, said, (("Content-Type", JSON),))
            case Posted():
                refusal = self._post(inbound, headers)
                return refusal and refused_to(refusal, inbound.message)
        return None

    def _post(self, posted: Posted, headers: Headers) -> HttpRefusal | None:
        if isinstance(posted.message, Malformed) and not posted.session:
            return refused_body(posted.message)
        client = self.front.client_of(posted, headers, self.client_address[0])
        if isinstance(client, HttpRefusal):
            return client
        lines = client.post(posted)
        if isinstance(posted.message, Malformed):  # the server has it; a pipe knows no status
            return refused_body(posted.message)
        if not lines.keys:
            self._whole(202, headers=self._named(client))
            return None
        line = self._next(lines, COMMENT_EVERY)
        if line is None and client.is_over:
            return ENDED
        if line is None:
            self._gone(client, lines, posted)
        elif line and not lines.keys and headers.accepts(JSON):
            status = status_of(line, client.version)
            self._whole(status, line, (("Content-Type", JSON), *self._named(client)))
        elif not self._stream(lines, self._named(client), line):
            self._gone(client, lines, posted)
        return None

    def _gone(self, client: TappedClient, lines: ResponseLines, posted: Posted) -> None:
        self.close_connection = True
        client.gone(lines, posted)

    def _next(self, lines: ResponseLines, within: float) -> bytes | None:
        """Return the next line; b"" for none within the time, None at the end or without client."""
        left = within
        while left > 0:
            try:
                return lines.lines.get(timeout=LOOKS_EVERY)
            except Empty:
                left -= LOOKS_EVERY
                if select.select([self.connection], [], [], 0)[0]:  # a client says nothing now
                    return None
        return b""

    def _stream(self, lines: ResponseLines, named: Pairs, line: bytes = b"") -> bool:
        """Send lines as events until each request has its answer. False if the client is gone."""
        is_own = not lines.keys and not line
        self.close_connection = True
        try:
            self._head(200, (("Content-Type", EVENTS), ("Cache-Control", "no-cache"), *named))
            while True:
                self.wfile.write(event(line) if line else COMMENT)
                if line and not is_own and not lines.keys and lines.lines.empty():
                    return True
                found = self._next(lines, COMMENT_EVERY)
                if found is None:
                    return not lines.keys
                line = found
        except OSError:
            return False

    def _named(self, client: TappedClient) -> Pairs:
        return ((SPELLING[SESSION], client.id),) if client.id else ()

    def _refuse(self, refusal: HttpRefusal) -> None:
        sentence = say("http", refusal.why, "en", **dict(refusal.fillings))
        self._whole(
            refusal.status, refusal.body(sentence), (("Content-Type", JSON), *refusal.headers)
        )

    def _whole(self, status: int, body: bytes = b"", headers: Pairs = ()) -> None:
        length = () if status == _NO_CONTENT else (("Content-Length", str(len(body))),)
        try:
            self._head(status, (*headers, *length))
            self.wfile.write(b"" if self.command == "HEAD" else body)
        except OSError:
            self.close_connection = True

    def _head(self, status: int, headers: Pairs) -> None:
        self.send_response(status)
        for name, value in headers:
            self.send_header(name, value)
        if self.close_connection:
            self.send_header("Connection", "close")
        self.end_headers()


class FrontServer(ThreadingHTTPServer):
    """Listens on a socket that is open already; each connection has a thread."""

    daemon_threads = True

    def __init__(self, listening: socket.socket, handler: type[TapHandler]) -> None:
        """Serve with this handler."""
        super().__init__(listening.getsockname(), handler, bind_and_activate=False)
        self.socket.close()
        self.socket = listening

    def handle_error(self, request: object, client_address: object) -> None:  # noqa: ARG002 - as inherited
        """Write it to the log: a client that hangs up is nothing special."""
        logger.info("a connection ended early: %s", sys.exception())


def handler_of(front: TapFront) -> type[TapHandler]:
    """Return what handles the connections to an address."""
    return type("Handler", (TapHandler,), {"front": front, "reading": BodyReading()})


def serve(listening: socket.socket, front: TapFront, ready: Callable[[], object]) -> None:
    """Serve until told to stop."""
    handler = handler_of(front)
    server = FrontServer(listening, handler)
    ready()
    try:
        with contextlib.suppress(KeyboardInterrupt):
            server.serve_forever(poll_interval=0.2)
    finally:
        server.server_close()
        front.close()
