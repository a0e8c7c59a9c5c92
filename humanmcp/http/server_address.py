"""Where a server is, and the headers that it wants, also by flags; what can go wrong with a call.

Variables are filled in, and keys are never shown.

Knows URLs and the environment; opens nothing.
"""

from __future__ import annotations

import contextlib
import http.client
import os
import re
import socket
import ssl
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final
from urllib.parse import SplitResult, urljoin, urlsplit

from humanmcp.common.child import EndedError
from humanmcp.common.person_files import find_key
from humanmcp.locales.stop import USAGE_ERROR, StopError
from humanmcp.protocol.http.client import HeaderChanges, HeaderError, IncomingResponse

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable, Iterator, Mapping

    from humanmcp.common.parsing import Parser
    from humanmcp.protocol.http.client import OutgoingRequest


class CallError(EndedError):
    """A message could not be brought to its address, or its answer not back."""

    section = "calling"


class SessionOverError(CallError):
    """The server no longer knows the session: a client begins anew."""


_SCHEMES: Final = ("http://", "https://")

# What a configuration is shared with must not learn keys: hosts fill them in when they start a
# server. https://code.claude.com/docs/en/mcp names both forms; VS Code and Cursor write
# `${env:NAME}` for the first. Other words in braces belong to some host, and stay.
_VARIABLE: Final = re.compile(
    r"\$\{(?:env:)?(?P<name>[A-Za-z_][A-Za-z0-9_]*)(?::-(?P<default>[^}]*))?\}"
)


class AddressError(StopError):
    """An address, or a header, cannot be used."""

    section = "calling"
    status = USAGE_ERROR


def is_address(text: str) -> bool:
    """Return True if a word names a server by its URL."""
    return text.lower().startswith(_SCHEMES)


def with_variables(text: str, environment: Mapping[str, str] = os.environ) -> str:
    """Return a text with its variables filled in.

    A default stands in for a variable that is not set or empty, as in a shell.

    Raises:
        KeyError: a variable is not set, and has no default.
    """
    return _VARIABLE.sub(
        lambda found: (
            environment[found["name"]]
            if found["default"] is None
            else environment.get(found["name"]) or found["default"]
        ),
        text,
    )


def put_header(
    changes: HeaderChanges, name: str, text: str, environment: Mapping[str, str] = os.environ
) -> None:
    """Send a header from now on. What comes from a variable is secret.

    Raises:
        AddressError: this is no header, or a variable is not set and has no default.
    """
    try:
        value = with_variables(text, environment)
        changes.put(name.strip(), value, secret=value != text)
    except KeyError as error:
        raise AddressError("no variable", name=error.args[0]) from error
    except HeaderError as error:
        raise AddressError("no header", name=name) from error


@dataclass(frozen=True, slots=True)
class ServerAddress:
    """A server at a URL. Its text shows no key: a query may hold one."""

    url: str
    changes: HeaderChanges = field(default_factory=HeaderChanges)
    title: str = ""
    is_entry: bool = False
    """True if it is an entry of a host's configuration, which has its headers."""

    @classmethod
    def of(
        cls,
        url: str,
        headers: Iterable[tuple[str, str]] = (),
        environment: Mapping[str, str] = os.environ,
    ) -> ServerAddress:
        """Return an address as it was written, with its variables filled in.

        Raises:
            AddressError: it cannot be called, one of the headers is none, or a variable not set.
        """
        changes = HeaderChanges()
        for name, text in headers:
            put_header(changes, name, text, environment)
        try:
            found = cls(with_variables(url, environment), changes, without_keys(url))
        except KeyError as error:
            raise AddressError("no variable", name=error.args[0]) from error
        found.check()
        return found

    def __str__(self) -> str:
        """Return it without keys: as it was written, before variables were filled in."""
        return self.title or without_keys(self.url)

    @property
    def parts(self) -> SplitResult:
        return urlsplit(self.url)

    def check(self) -> None:
        """Look whether it can be called.

        Raises:
            AddressError: it cannot, or it holds a key that everybody would see.
        """
        is_plain = self.url.isascii() and self.url.isprintable() and " " not in self.url
        try:
            parts = urlsplit(self.url)
            is_good = is_plain and is_address(self.url) and parts.hostname and parts.port != 0
        except ValueError:
            is_good = False
        if not is_good:
            raise AddressError("no address", url=self.url)
        if parts.username is not None:
            raise AddressError("key in address", url=without_keys(self.url))

    def moved(self, to: str) -> ServerAddress | None:
        """Return the address that a redirect leads to; None for one of another origin.

        A key must not follow there.
        """
        try:
            other = replace(self, url=urljoin(self.url, to), title="")
            other.check()
            is_same = _origin(other.parts) == _origin(self.parts)
        except (ValueError, AddressError):
            return None
        return other if is_same else None


def without_keys(url: str) -> str:
    try:
        parts = urlsplit(url)
    except ValueError:
        return url
    query = "…" if parts.query else ""
    return parts._replace(netloc=parts.netloc.rpartition("@")[2], query=query, fragment="").geturl()


def _origin(parts: SplitResult) -> tuple[str, str | None, int]:
    return parts.scheme, parts.hostname, parts.port or (443 if parts.scheme == "https" else 80)


def add_header_flags(parser: Parser) -> None:
    """Declare the flags that put headers over those of an address."""
    flag = parser.flags("calling", "help ")
    flag("--header", metavar="NAME:VALUE", action="append", default=[])
    flag("--key-file", metavar="FILE", default="")


def put_headers(changes: HeaderChanges, arguments: argparse.Namespace) -> None:
    """Put the headers of the flags over others; keys come from a file or a variable.

    Raises:
        StopError: one is no header, or the key cannot be used.
    """
    for one in arguments.header:
        name, _, value = one.partition(":")
        put_header(changes, name, value)
    key = find_key("", arguments.key_file)
    if key is not None:
        changes.put("Authorization", f"Bearer {key.secret}", secret=True)


CONNECTS_WITHIN: Final = 10.0
"""Seconds that a connection may take; after that the timeout of the caller counts."""

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
            raise self._error("ended early", "")

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
        """Close the connection, in the thread that reads."""
        self.close()
        for one in (self._response, self._connection):
            if one is not None:
                with contextlib.suppress(OSError):
                    one.close()
