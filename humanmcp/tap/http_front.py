"""`humanmcp tap --http`: an address in front of any server, and a tap for each client that comes.

Theory of operation. Each session of HTTP is a tap of its own over pipes, in a process of its own:
what is recorded, held, changed and dropped there is what a tap does anyway. Here lines only go
between requests and that pipe. A POST waits for the answer of its request; what belongs to no
request goes out on the stream of a GET. Nothing is resumed: events have no ids.
"""

from __future__ import annotations

import contextlib
import logging
import select
import sys
import threading
import time
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from io import BufferedReader
from queue import Empty
from typing import TYPE_CHECKING, ClassVar, Final, cast

from humanmcp.http.bodies import LARGEST, LARGEST_TOGETHER, SLOWEST
from humanmcp.locales import say
from humanmcp.protocol.http import guard
from humanmcp.protocol.http.headers import SESSION, SPELLING, Headers, content_length
from humanmcp.protocol.http.inbound import (
    NOT_ALLOWED,
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
from humanmcp.protocol.http.outbound import COMMENT, COMMENT_EVERY, EVENTS, JSON, event, status_of
from humanmcp.protocol.json.jsonrpc import Malformed
from humanmcp.tap.http_sessions import BUSY

if TYPE_CHECKING:
    import socket
    from collections.abc import Callable
    from io import BufferedIOBase, RawIOBase

    from humanmcp.protocol.http.client import Pairs
    from humanmcp.protocol.http.inbound import Inbound
    from humanmcp.tap.http_sessions import ResponseLines, TapFront, TappedClient

logger = logging.getLogger(__name__)

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
        refusal = guard.refused(self.path, headers, self.front.address)
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
            status = status_of(line, client.revision)
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
