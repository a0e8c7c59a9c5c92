"""A socket to listen on, the server behind it, and connections that never say what they want.

Knows addresses and clocks; nothing of what is asked and answered.
"""

from __future__ import annotations

import contextlib
import ipaddress
import os
import select
import signal
import socket
import sys
import threading
from functools import partial
from typing import TYPE_CHECKING, ClassVar, Final, Protocol
from urllib.parse import urlsplit

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from humanmcp.common.own_process import (
    ending_signals,
    is_ignored_hangup,
    need_files,
    stop_was_heard,
)
from humanmcp.locales import say
from humanmcp.locales.stop import StopError, stopped
from humanmcp.protocol.http.inbound import HttpAddress

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from types import FrameType

    from starlette.types import ASGIApp, Message, Receive, Scope, Send
    from uvicorn.protocols.http.h11_impl import RequestResponseCycle

NEXT_PORTS: Final = 16
"""How many ports are tried one after another before any free one will do."""

FIRST_LINE_WITHIN: Final = 15.0
"""Seconds within which a connection must have sent the head of a request, the first or the next."""

KEPT_FOR: Final = 15
"""Seconds that a connection stays open after a response: longer than clients keep one.

httpx 0.28, which the Python SDK uses, and Node's agent keep it for 5 s, as uvicorn does. A server
that closes it just when the client uses it again makes that request fail: 10 of 120 that came 4.97
to 5.01 s after the one before.
"""

ENDS_WITHIN: Final = 2
"""Seconds that open answers get when a server ends; live streams are ended before."""

TURN: Final = 0.001
"""Seconds after which a thread lets another one go on (`sys.setswitchinterval`).

A request passes through several threads. With Python's 5 ms it would wait for each of them while
megabytes of another client are decoded.
"""

MOST_SILENT: Final = 256
"""Connections that have asked for nothing yet; a quarter of the files, where those are few."""


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

WRITTEN: Final = "humanmcp.written"
"""The key of a `Written` in a message to ASGI's `send`."""


class Written(Protocol):
    """Is told once whether the system has taken what was sent, or never will.

    What came after the client had closed its end counts as never.
    """

    def __call__(self, *, written: bool) -> object:
        """Take note of it, in the thread of the event loop."""


class QuietServer(uvicorn.Server):
    """uvicorn without a word on stdout, with bounds, and telling when it listens.

    `most` is how many connections there may be at once, idle ones too; more are told to come back.
    `ending` ends the streams.
    `tls` are the files of a certificate and its key. `behind_proxy`: who connects from this
    computer is a proxy, which says in `X-Forwarded-For` where a request came from.
    """

    def __init__(  # noqa: PLR0913 - what a server is told at its start
        self,
        app: Callable[..., object],
        ready: Callable[[], object],
        *,
        most: int,
        ending: Callable[[], object] = lambda: None,
        tls: Sequence[str] = (),
        behind_proxy: bool = False,
    ) -> None:
        certificate, key = tls or (None, None)
        config = uvicorn.Config(
            app,
            http=Patient,
            ws="none",
            lifespan="off",
            proxy_headers=behind_proxy,
            access_log=False,  # uvicorn would write it to stdout
            log_config=None,
            server_header=False,
            timeout_keep_alive=KEPT_FOR,
            timeout_graceful_shutdown=ENDS_WITHIN,
            limit_concurrency=most,
            ssl_certfile=certificate,
            ssl_keyfile=key,
        )
        super().__init__(config)
        self._ready, self._ending = ready, ending
        Patient.most_silent = min(MOST_SILENT, need_files() // 4)

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Stop in order at every signal that ends a program.

        uvicorn does so for two of them, and then sends itself the signal again, which cleans
        nothing up.
        """
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        heeded = [one for one in ending_signals() if not is_ignored_hangup(one)]
        before = {number: signal.signal(number, self.handle_exit) for number in heeded}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        stop_was_heard()
        super().handle_exit(sig, frame)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Listen, then say so."""
        sys.setswitchinterval(TURN)
        await super().startup(sockets)
        if self.started:
            self._ready()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """End the streams first: uvicorn waits for whatever is open."""
        self._ending()
        await super().shutdown(sockets)


class Patient(H11Protocol):
    """Hang up on a connection that never sends a request, or never reads the response."""

    _silent: ClassVar[dict[Patient, None]] = {}
    """Connections without a request so far, the oldest first."""
    most_silent: ClassVar[int] = MOST_SILENT

    def connection_made(
        self,
        transport: asyncio.Transport,  # type: ignore[override] # uvicorn narrows it as well
    ) -> None:
        """Give it a little time for its first line; less where very many are silent."""
        super().connection_made(transport)
        self.app = partial(_with_more, self.app, self)
        self._has_left = False
        self._unwritten: list[Written] = []
        self._silent[self] = None
        if len(self._silent) > self.most_silent:
            self._make_room()
        self._looking = self.loop.call_later(FIRST_LINE_WITHIN, self._hang_up_on_silence, None)

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop watching the connection."""
        self._looking.cancel()
        self._silent.pop(self, None)
        super().connection_lost(exc)
        self._has_left = True
        self._tell_written()

    def eof_received(self) -> None:
        """Note that what the system has not taken by now comes too late."""
        super().eof_received()
        self._has_left = True

    def tell_when_written(self, tell: Written) -> None:
        """Call `tell` once the system has taken all that was sent, or never will."""
        self._unwritten.append(tell)
        if self._has_left or not self.transport.get_write_buffer_size():
            self._tell_written()
        else:
            self.transport.set_write_buffer_limits(high=0)  # `resume_writing` when it is empty

    def resume_writing(self) -> None:
        """Go on: the system has taken enough."""
        super().resume_writing()
        if not self.transport.get_write_buffer_size():
            self._tell_written()

    def _tell_written(self) -> None:
        unwritten, self._unwritten = self._unwritten, []
        for tell in unwritten:
            tell(written=not self._has_left)

    def send_400_response(self, msg: str) -> None:
        """Explain in the 400 body why the request is not valid HTTP."""
        error = sys.exception()
        why = str(error).encode("ascii", "backslashreplace").decode() if error else msg
        super().send_400_response(say("http", "no http", "en", why=why.rstrip(".")))

    def asked(self) -> RequestResponseCycle | None:
        """Return the request that came last; None before the first."""
        return self.cycle  # uvicorn says it is always there; before a request it is None

    def _make_room(self) -> None:
        """Forget connections with a request; hang up on the oldest silent one."""
        for one in [one for one in self._silent if one.asked() is not None]:
            del self._silent[one]
        if len(self._silent) > self.most_silent:
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


def _has_hung_up(transport: asyncio.BaseTransport) -> bool:
    """Return True if a client has closed its end by now: what is sent comes too late."""
    poll = getattr(select, "poll", None)
    if poll is None:  # Windows
        return False
    own = transport.get_extra_info("socket").fileno()
    if own < 0:
        return True
    ends = getattr(select, "POLLRDHUP", 0) | select.POLLHUP | select.POLLERR
    looking = poll()
    looking.register(own, ends)
    return any(events & ends for _own, events in looking.poll(0))


async def _with_more(
    app: ASGIApp, protocol: Patient, scope: Scope, receive: Receive, send: Send
) -> None:
    """Let an application end its connection, and learn what was written: ASGI has neither."""

    async def sent(message: Message) -> None:
        if message["type"] == DROP:
            protocol.transport.close()
            return
        tell: Written | None = message.get(WRITTEN)
        if tell is None:
            await send(message)
            return
        # Seen now: who has read the whole response may hang up at once.
        is_open = not (protocol.transport.is_closing() or _has_hung_up(protocol.transport))
        is_sent = False
        try:
            await send(message)
            is_sent = is_open
        finally:
            if is_sent:
                protocol.tell_when_written(tell)
            else:
                tell(written=False)

    await app(scope, receive, sent)


PORT: Final = 8766
"""The port that is tried first where none was given."""

EVERYWHERE: Final = "0.0.0.0"  # noqa: S104 - only where somebody asked for it


class HttpServeError(StopError):
    """The address, or the key, cannot be used."""

    section = "http"


def address_of(text: str) -> tuple[str, int]:
    """Read ADDRESS:PORT, ADDRESS or PORT; what is missing is loopback, and 0 for no port.

    Raises:
        HttpServeError: it is none of these.
    """
    host, colon, port = text.rpartition(":")
    if text.isdigit():
        host, port = "", text
    elif not colon or text.endswith("]") or (text.count(":") > 1 and not text.startswith("[")):
        host, port = text, ""
    host = {"": "127.0.0.1", "localhost": "127.0.0.1"}.get(host, host).strip("[]")
    try:
        ipaddress.ip_address(host)
        number = int(port or "0")
    except ValueError as error:
        raise HttpServeError("no address", value=text) from error
    if number > 65535:
        raise HttpServeError("no address", value=text)
    return host, number


def bind(
    text: str, key: str, *, lan: bool, url: str = "", pages: Iterable[str] = ()
) -> tuple[socket.socket, HttpAddress]:
    """Listen where it was asked for; beyond this computer only where that was said.

    `url` is the address of a proxy before it, or another name of this computer. `pages` are the
    origins of pages that may send requests.

    Raises:
        HttpServeError: the address cannot be used.
        OSError: there is no port.
    """
    host, port = address_of(text)
    outside = outside_of(url)
    if lan and ipaddress.ip_address(host).is_loopback:
        host = EVERYWHERE
    is_open = not ipaddress.ip_address(host).is_loopback
    if is_open and not (lan or key):
        raise HttpServeError("beyond", address=host)
    listening = listen(host, port or PORT)
    got = int(listening.getsockname()[1])
    if port and got != port:
        listening.close()
        raise HttpServeError("port taken", port=port)
    names = _names_of(host) if is_open else ()
    origins = tuple(origin for page in pages for origin in outside_of(page))
    return listening, HttpAddress(host, got, key, is_open, names, outside, origins)


def outside_of(url: str | None) -> tuple[str, ...]:
    """Return the address of a proxy before this program, as browsers say it; nothing for none.

    Raises:
        StopError: this is no such address.
    """
    if not url:
        return ()
    found = url.rstrip("/")
    parts = urlsplit(found)
    if parts.scheme not in ("http", "https") or not parts.netloc or parts.path:
        raise stopped("desk", "no url", url=url)
    return (found.lower(),)


def _names_of(host: str) -> tuple[str, ...]:
    if ipaddress.ip_address(host).is_unspecified:
        return (*own_addresses(), *own_names())
    return (f"[{host}]" if ":" in host else host,)


_ELSEWHERE: Final = (("192.0.2.1", socket.AF_INET), ("2001:db8::1", socket.AF_INET6))
"""Addresses of documentation: nothing is sent there, but the system says from where it would be."""


def own_names() -> tuple[str, ...]:
    """Return the names by which others in this network may know this computer."""
    name = socket.gethostname().lower()
    short = name.partition(".")[0]
    return tuple(dict.fromkeys((name, short, f"{short}.local")))


def own_addresses() -> tuple[str, ...]:
    """Return the addresses by which others reach this computer, the likeliest first.

    IPv6 addresses stand in brackets. No network is needed, and no name server is asked for others.
    """
    found: list[str] = []
    for target, family in _ELSEWHERE:
        with contextlib.suppress(OSError), socket.socket(family, socket.SOCK_DGRAM) as probe:
            probe.connect((target, 9))
            found.append(str(probe.getsockname()[0]))
    with contextlib.suppress(OSError):
        found += [str(one[4][0]) for one in socket.getaddrinfo(socket.gethostname(), None)]
    usable = dict.fromkeys(one.partition("%")[0] for one in found if _is_usable(one))
    return tuple(f"[{one}]" if ":" in one else one for one in usable)


def _is_usable(address: str) -> bool:
    one = ipaddress.ip_address(address.partition("%")[0])
    return not (one.is_loopback or one.is_link_local or one.is_unspecified)
