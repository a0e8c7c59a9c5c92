"""A proxy without any idea of sessions: each request goes to the next server that is there."""

from __future__ import annotations

import itertools
import re
import select
import socket
import socketserver
import threading
from contextlib import AbstractContextManager, suppress
from typing import TYPE_CHECKING

from tests.waiting import PATIENCE

if TYPE_CHECKING:
    from typing import Self


class RoundRobin(AbstractContextManager["RoundRobin"]):
    """Stands before several ports of this computer, and calls each by its own name."""

    def __init__(self, *ports: int) -> None:
        """Stand before these."""
        self.met: list[int] = []
        """The port that each request went to."""
        self.stand_before(*ports)
        self._over = threading.Event()
        proxy = self

        class Request(socketserver.BaseRequestHandler):
            def handle(self) -> None:
                with suppress(OSError):
                    proxy.serve(self.request)

        socketserver.ThreadingTCPServer.allow_reuse_address = True
        self._server = socketserver.ThreadingTCPServer(("127.0.0.1", 0), Request)
        self.port = self._server.server_address[1]
        self.name = f"127.0.0.1:{self.port}"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,))

    def stand_before(self, *ports: int) -> None:
        """Send the requests from now on to these, in turn."""
        self._ports = itertools.cycle(ports)

    def __enter__(self) -> Self:
        """Listen."""
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Hang up on everybody."""
        self._over.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def serve(self, client: socket.socket) -> None:
        """Pass one request on, and what comes back as it comes; then the connection is over."""
        head = b""
        while b"\r\n\r\n" not in head:
            piece = client.recv(1 << 16)
            if not piece:
                return
            head += piece
        head, rest = head.split(b"\r\n\r\n", 1)
        head = re.sub(rb"(?i)\r\n(connection|host):[^\r]*", b"", head)
        with self._next() as server:
            own = f"Host: 127.0.0.1:{server.getpeername()[1]}\r\nX-Forwarded-Host: {self.name}"
            server.sendall(head + f"\r\n{own}\r\nConnection: close\r\n\r\n".encode() + rest)
            while not self._over.is_set():
                for one in select.select([client, server], [], [], 0.05)[0]:
                    piece = one.recv(1 << 16)
                    if not piece:
                        return
                    (server if one is client else client).sendall(piece)

    def _next(self) -> socket.socket:
        for port in self._ports:
            with suppress(OSError):
                found = socket.create_connection(("127.0.0.1", port), PATIENCE)
                self.met.append(port)
                return found
        raise AssertionError
