"""A socket to listen on, the server behind it, and connections that never say what they want.

Knows addresses and clocks; nothing of what is asked and answered.
"""

from __future__ import annotations

import os
import socket
import sys
from functools import partial
from typing import TYPE_CHECKING, ClassVar, Final, Literal

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from humanmcp.locales import say

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable, Sequence

    from starlette.types import ASGIApp, Message, Receive, Scope, Send
    from uvicorn.protocols.http.h11_impl import RequestResponseCycle

NEXT_PORTS: Final = 16
"""How many ports are tried one after another before any free one will do."""

FIRST_LINE_WITHIN: Final = 15.0
"""Seconds within which a connection must have sent the head of a request, the first or the next."""

ENDS_WITHIN: Final = 2
"""Seconds that open answers get when a server ends; live streams are ended before."""

MOST_SILENT: Final = 256
"""Connections that have asked for nothing yet."""


def listen(host: str, port: int) -> socket.socket:
    """Listen on a port; on the next free one when it is taken.

    Raises:
        OSError: there is no port at all.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    candidates = [*range(port, min(port + NEXT_PORTS, 65536)), 0] if port else [0]
    for candidate in candidates:
        # asyncio sends small writes at once only on a socket that is said to be TCP: else the body
        # of a response would wait 40 ms until the client has acknowledged its head.
        one = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        if os.name != "nt":  # there, it would let two programs listen on one port
            one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            one.bind((host, candidate))
            one.listen(256)
        except OSError:
            one.close()
            if candidate == 0:
                raise
        else:
            return one
    raise AssertionError(candidates)  # the last candidate returns or raises


DROP: Final = "humanmcp.drop"
"""The type of a message to ASGI's `send` that ends the connection, whatever was promised on it."""


class QuietServer(uvicorn.Server):
    """uvicorn without a word on stdout, with bounds, and telling when it listens.

    `most` is how many connections there may be at once, idle ones too; more are told to come back.
    `tls` are the files of a certificate and its key. `behind_proxy`: who connects from this
    computer is a proxy, which says in `X-Forwarded-For` where a request came from.
    """

    def __init__(  # noqa: PLR0913 - what a server is told at its start
        self,
        app: Callable[..., object],
        ready: Callable[[], object],
        *,
        most: int,
        lifespan: Literal["on", "off"],
        tls: Sequence[str] = (),
        behind_proxy: bool = False,
    ) -> None:
        certificate, key = tls or (None, None)
        config = uvicorn.Config(
            app,
            http=Patient,
            ws="none",
            lifespan=lifespan,
            proxy_headers=behind_proxy,
            access_log=False,  # uvicorn would write it to stdout
            log_config=None,
            server_header=False,
            timeout_graceful_shutdown=ENDS_WITHIN,
            limit_concurrency=most,
            ssl_certfile=certificate,
            ssl_keyfile=key,
        )
        super().__init__(config)
        self._ready = ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Listen, then say so."""
        await super().startup(sockets)
        if self.started:
            self._ready()


class Patient(H11Protocol):
    """Hang up on a connection that never says what it wants, or never reads what it wanted."""

    _silent: ClassVar[dict[Patient, None]] = {}
    """Those that have not asked for anything yet; the one that has been there longest is first."""

    def connection_made(
        self,
        transport: asyncio.Transport,  # type: ignore[override] # uvicorn narrows it as well
    ) -> None:
        """Give it a little time for its first line; less where very many are silent."""
        super().connection_made(transport)
        self.app = partial(_with_drop, self.app, transport)
        self._silent[self] = None
        if len(self._silent) > MOST_SILENT:
            self._make_room()
        self._looking = self.loop.call_later(FIRST_LINE_WITHIN, self._hang_up_on_silence, None)

    def connection_lost(self, exc: Exception | None) -> None:
        """Look at it no more."""
        self._looking.cancel()
        self._silent.pop(self, None)
        super().connection_lost(exc)

    def send_400_response(self, msg: str) -> None:
        """Say what is wrong with what is no HTTP; uvicorn says only that something is."""
        error = sys.exception()
        why = str(error).encode("ascii", "backslashreplace").decode() if error else msg
        super().send_400_response(say("http", "no http", "en", why=why.rstrip(".")))

    def asked(self) -> RequestResponseCycle | None:
        """Return the request that came last; None before the first."""
        return self.cycle  # uvicorn says it is always there; before a request it is None

    def _make_room(self) -> None:
        """Forget those that have asked; hang up on the one that has been silent longest."""
        for one in [one for one in self._silent if one.asked() is not None]:
            del self._silent[one]
        if len(self._silent) > MOST_SILENT:
            oldest = next(iter(self._silent))
            del self._silent[oldest]
            oldest.transport.abort()

    def _hang_up_on_silence(self, before: RequestResponseCycle | None) -> None:
        """Hang up when nothing new was asked since the last look, and nothing is being answered."""
        asked = self.asked()
        if asked is before and (asked is None or asked.response_complete):
            self.transport.abort()  # what it has not read by now it does not want
            return
        self._looking = self.loop.call_later(FIRST_LINE_WITHIN, self._hang_up_on_silence, asked)


async def _with_drop(
    app: ASGIApp, transport: asyncio.Transport, scope: Scope, receive: Receive, send: Send
) -> None:
    """Let an application end its connection: ASGI has no word for that."""

    async def sent(message: Message) -> None:
        if message["type"] == DROP:
            transport.close()
        else:
            await send(message)

    await app(scope, receive, sent)
