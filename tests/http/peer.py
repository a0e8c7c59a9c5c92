"""A server over HTTP that says exactly what a test wants, byte by byte, right or wrong."""

import contextlib
import json
import socket
import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple, Self

from tests.support.waiting import PATIENCE

EVENTS: Final = "text/event-stream"
SESSION: Final = (("Mcp-Session-Id", "s-1"),)
ACCEPTED: Final = b"HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n"
NOT_ALLOWED: Final = b"HTTP/1.1 405 Method Not Allowed\r\nContent-Length: 0\r\n\r\n"


class Asked(NamedTuple):
    """A request as it came."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:  # noqa: ANN401 - any JSON value
        """The body, decoded; nothing for none."""
        return json.loads(self.body) if self.body else {}

    @property
    def rpc(self) -> str:
        """The method of its message; that of HTTP where it brings none."""
        return str(self.json.get("method", "")) or self.method


def response(
    body: bytes = b"",
    *,
    status: str = "200 OK",
    kind: str = "application/json",
    headers: Iterable[tuple[str, str]] = (),
) -> bytes:
    """Write a whole response."""
    lines = [f"HTTP/1.1 {status}", f"Content-Length: {len(body)}"]
    lines += [f"Content-Type: {kind}"] if kind else []
    lines += [f"{name}: {value}" for name, value in headers]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


def answer(asked: Asked, result: object, **more: Any) -> bytes:  # noqa: ANN401 - as `response`
    """Write the response that answers a request."""
    said = {"jsonrpc": "2.0", "id": asked.json["id"], "result": result}
    return response(json.dumps(said).encode(), **more)


def stream(*events: bytes) -> bytes:
    """Write a response of events that ends with the connection."""
    return b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n" + b"".join(events)


def initialized(asked: Asked, version: str = "2025-11-25") -> bytes:
    """Answer `initialize`, with a session."""
    result = {
        "protocolVersion": version,
        "capabilities": {"tools": {}},
        "serverInfo": {"name": "peer", "version": "1"},
    }
    return answer(asked, result, headers=SESSION)


@dataclass
class Peer:
    """Listens, and answers each request with what `say` returns for it; None hangs up at once.

    A function in the place of bytes is given the connection.
    """

    say: Callable[[Asked], bytes | Callable[[socket.socket], object] | None]
    asked: list[Asked] = field(default_factory=list)

    def __post_init__(self) -> None:
        """Listen on a free port."""
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.origin = f"http://127.0.0.1:{self._socket.getsockname()[1]}"
        self._open: list[socket.socket] = []
        threading.Thread(target=self._serve, daemon=True).start()

    @property
    def url(self) -> str:
        """The endpoint."""
        return f"{self.origin}/mcp"

    def __enter__(self) -> Self:
        """Use it as a context."""
        return self

    def __exit__(self, *_: object) -> None:
        """Listen no more, and hang up."""
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)  # wakes the thread that accepts
        self._socket.close()
        for one in self._open:
            one.close()

    def _serve(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                connection, _ = self._socket.accept()
                self._open.append(connection)
                threading.Thread(target=self._answer, args=(connection,), daemon=True).start()

    def _answer(self, connection: socket.socket) -> None:
        with connection, contextlib.suppress(OSError, ValueError):
            connection.settimeout(PATIENCE)
            asked = _read(connection)
            self.asked.append(asked)
            said = self.say(asked)
            if isinstance(said, bytes):
                connection.sendall(said)
            elif said is not None:
                said(connection)


def _read(connection: socket.socket) -> Asked:
    got = b""
    while b"\r\n\r\n" not in got:
        got += connection.recv(65536) or _gone()
    head, _, body = got.partition(b"\r\n\r\n")
    first, *lines = head.decode("latin-1").split("\r\n")
    method, path, _ = first.split(" ")
    pairs = (line.partition(":") for line in lines)
    headers = {name.lower(): value.strip() for name, _, value in pairs}
    while len(body) < int(headers.get("content-length", "0")):
        body += connection.recv(65536) or _gone()
    return Asked(method, path, headers, body)


def _gone() -> bytes:
    raise ConnectionResetError
