"""One HTTP request and its response, read as it comes. Any thread may hang up.

A redirect is never followed here, nothing is unpacked, no proxy of the environment is used: what
goes out is what was asked for.
"""

from __future__ import annotations

import contextlib
import http.client
import socket
import ssl
from typing import TYPE_CHECKING, Final

from humanmcp.http.server_address import CallError
from humanmcp.protocol.http.client import IncomingResponse

if TYPE_CHECKING:
    from collections.abc import Iterator

    from humanmcp.http.server_address import ServerAddress
    from humanmcp.protocol.http.client import OutgoingRequest

CONNECTS_WITHIN: Final = 10.0
"""Seconds that a connection may take; after that the patience of the caller counts."""

_PIECE: Final = 64 * 1024


class HttpCall:
    """A request on its way. `response` first, then `pieces`; `close` always, from any thread."""

    def __init__(self, address: ServerAddress, request: OutgoingRequest) -> None:
        """Prepare; nothing is sent yet."""
        self.is_closed = False
        self._address = address
        self._request = request
        self._socket: socket.socket | None = None
        self._connection: http.client.HTTPConnection | None = None
        self._response: http.client.HTTPResponse | None = None

    def response(self) -> IncomingResponse:
        """Send the request, and wait for the head of its response.

        Raises:
            CallError: nothing can be reached there, or it does not speak HTTP.
        """
        try:
            self._send()
            assert self._connection is not None  # noqa: S101 - just made
            self._response = found = self._connection.getresponse()
        except http.client.HTTPException as error:
            raise self._error("no http", error) from error
        except OSError as error:
            raise self._error("no connection", error) from error
        return IncomingResponse(found.status, found.reason, tuple(found.getheaders()))

    def _send(self) -> None:
        parts = self._address.parts
        is_safe = parts.scheme == "https"
        make = http.client.HTTPSConnection if is_safe else http.client.HTTPConnection
        assert parts.hostname is not None  # noqa: S101 - an address has one
        self._connection = connection = make(parts.hostname, parts.port, timeout=CONNECTS_WITHIN)
        connection.connect()
        connection.sock.settimeout(None)
        self._socket = connection.sock
        if self.is_closed:  # while it was connecting
            raise ConnectionAbortedError
        names = {name.lower() for name, _value in self._request.headers}
        target = parts.path or "/"
        connection.putrequest(
            self._request.method,
            f"{target}?{parts.query}" if parts.query else target,
            skip_host="host" in names,
            skip_accept_encoding=True,
        )
        for name, value in self._request.headers:
            connection.putheader(name, value.encode("latin-1"))
        connection.endheaders(self._request.body or None)

    def pieces(self) -> Iterator[bytes]:
        """Yield the body as it comes.

        Raises:
            CallError: it broke off.
        """
        response = self._response
        assert response is not None  # noqa: S101 - its head came first
        try:
            while piece := response.read1(_PIECE):
                yield piece
        except (OSError, ValueError, http.client.HTTPException) as error:
            raise self._error("broken off", error) from error
        if response.length:  # less than was said
            raise self._error("broken off", "")

    def body(self, longest: int) -> bytes:
        """Return the whole body.

        Raises:
            CallError: it broke off, or it is longer than `longest` bytes.
        """
        found = bytearray()
        for piece in self.pieces():
            found += piece
            if len(found) > longest:
                raise self._error("too long", "", mebibytes=longest >> 20)
        return bytes(found)

    def _error(self, code: str, why: Exception | str, **fillings: object) -> CallError:
        if isinstance(why, http.client.HTTPException):
            why = str(why) or type(why).__name__
        if isinstance(why, ssl.SSLError):
            why = str(why.strerror or why)
        return CallError(code, url=self._address, why=why, **fillings)

    def close(self) -> None:
        """Hang up. The reader finds that nothing more comes."""
        self.is_closed = True
        if self._socket is not None:
            with contextlib.suppress(OSError):
                self._socket.shutdown(socket.SHUT_RDWR)

    def end(self) -> None:
        """Give back what the call took, in the thread that reads."""
        self.close()
        for one in (self._response, self._connection):
            if one is not None:
                with contextlib.suppress(OSError):
                    one.close()
