"""The bodies of requests: how large, how many and how slow they may be.

Knows clocks and ASGI; nothing of the server that listens.
"""

from __future__ import annotations

import asyncio
import contextlib
import enum
from collections import Counter
from typing import TYPE_CHECKING, Any, Final

from humanmcp.protocol.http.http_headers import content_length

if TYPE_CHECKING:
    from collections.abc import Iterator

    from starlette.types import Message, Receive, Scope

LARGEST: Final = 32 * 1024 * 1024
"""Bytes of a request's body. An answer of 16 MiB still passes, quoted as JSON."""

LARGEST_OF_STRANGERS: Final = 4096
"""Bytes of a stranger's."""

LARGEST_TOGETHER: Final = 72 * 1024 * 1024
"""Bytes of all bodies that are held in memory at the same moment: two of the largest, and small
ones beside them."""

SLOWEST_PART: Final = 30.0
"""Seconds that one part of a body may take to arrive."""

SLOWEST: Final = 300.0
"""Seconds that the whole body may take."""

SLOWEST_OF_STRANGERS: Final = 10.0
"""Seconds that the whole body of a stranger may take."""

STALLED: Final = 1.0
"""Seconds after which nothing more is expected of a body that is not taken."""

MOST_STRANGERS: Final = 64
"""Strangers' bodies that may be on their way at once."""

MOST_OF_AN_ADDRESS: Final = 48
"""The same from one address: a class that joins together is behind one."""


def stated_length(scope: Scope) -> int:
    """Return the Content-Length of a request; more than the limit if it is invalid."""
    name = b"content-length"
    values = [value.decode("latin-1") for key, value in scope["headers"] if key == name]
    length = content_length(values)
    return LARGEST + 1 if length is None else length


def client_address(scope: Scope) -> str:
    """Return the address that a request comes from."""
    client = scope.get("client")
    return str(client[0]) if client else "?"


class BodyTrouble(enum.Enum):
    """Why a body was not taken."""

    LARGE = "large"
    MUCH = "much"
    """A stranger sends more than a key or a code."""
    SLOW = "slow"
    BUSY = "busy"


class BodyError(Exception):
    """A body broke a limit while it was read."""

    def __init__(self, trouble: BodyTrouble) -> None:
        super().__init__(trouble)
        self.trouble = trouble


class Bodies:
    """All bodies that are on their way or in memory. Used by one event loop."""

    def __init__(self, largest: int = LARGEST, too_large: BodyTrouble = BodyTrouble.LARGE) -> None:
        """Begin with none. `largest` is the limit of a body from a known visitor, in bytes.

        `too_large` is the trouble of one above it: MUCH where nobody is known.
        """
        self._largest = largest
        self._too_large = too_large
        self._held: dict[Body, str] = {}
        """Bodies of known visitors, the one with the oldest last part first."""
        self._strangers: dict[Body, str] = {}  # the one that has been there longest comes first

    @property
    def held(self) -> int:
        """Return how many bytes came and are still in memory."""
        return sum(body.taken for body in self._held)

    @contextlib.contextmanager
    def coming(
        self, receive: Receive, visitor: str, declared: int, *, stranger: bool = False
    ) -> Iterator[Body]:
        """Read a body within the limits. `visitor` is who sends it; the address of a stranger."""
        body = Body(receive, self, LARGEST_OF_STRANGERS if stranger else self._largest)
        if stranger:
            self._make_room_for_stranger(visitor)
            self._strangers[body] = visitor
            body.until = min(body.until, body.began + SLOWEST_OF_STRANGERS)
        else:
            self._held[body] = visitor
        body.declared = declared
        body.too_large = BodyTrouble.MUCH if stranger else self._too_large
        body.trouble = body.too_large if declared > body.most else None
        try:
            yield body
        finally:
            self._strangers.pop(body, None)
            self._held.pop(body, None)

    def whole(self, body: Body) -> None:
        """Note that a body is there, or given up: it is not waited for."""
        self._strangers.pop(body, None)

    def came(self, body: Body) -> bool:
        """Find room for another part of a body. Returns whether there is any."""
        visitor = self._held.pop(body, None)
        if visitor is None:  # a stranger's: there is always room for these
            return True
        self._held[body] = visitor
        while self.held > LARGEST_TOGETHER:
            sizes = Counter[str]()
            for each, whose in self._held.items():
                sizes[whose] += 0 if each.is_whole else each.taken
            ((most, _size),) = sizes.most_common(1)
            given_up = next(
                each for each, whose in self._held.items() if whose == most and not each.is_whole
            )
            if given_up is body:
                return False
            self._held.pop(given_up)
            given_up.cut(BodyTrouble.BUSY)
        return True

    def _make_room_for_stranger(self, address: str) -> None:
        same = [body for body, other in self._strangers.items() if other == address]
        for body in same[: max(0, len(same) - MOST_OF_AN_ADDRESS + 1)]:
            self._cut(body)
        while len(self._strangers) >= MOST_STRANGERS:
            self._cut(next(iter(self._strangers)))

    def _cut(self, body: Body) -> None:
        self.whole(body)
        body.cut(BodyTrouble.SLOW)


class Body:
    """Count the bytes of a body and the seconds it takes; headers may lie about both."""

    def __init__(self, receive: Receive, bodies: Bodies, most: int) -> None:
        """Read from `receive` at most so many bytes; `bodies` counts all of them."""
        loop = asyncio.get_running_loop()
        self.trouble: BodyTrouble | None = None
        self.too_large = BodyTrouble.LARGE
        self.declared = 0
        self.taken = 0
        self.is_whole = False
        self.most = most
        self.began = loop.time()
        self.until = self.began + SLOWEST
        self._receive = receive
        self._bodies = bodies
        self._given_up: asyncio.Future[None] = loop.create_future()

    def limit(self, most: int) -> None:
        """Read at most so many bytes, if that is fewer.

        Raises:
            BodyError: more are declared.
        """
        self.most = min(self.most, most)
        if self.declared > self.most:
            self.trouble = self.too_large
        self._stop_if(self.trouble)

    def cut(self, trouble: BodyTrouble) -> None:
        """Wait for it no longer."""
        self.trouble = self.trouble or trouble
        if not self._given_up.done():
            self._given_up.set_result(None)

    async def drain(self, scope: Scope) -> None:
        """Drop what still comes of one that is too large, within bounds: who sends hears why.

        Who asks before they send anything has sent nothing: `_receive` would tell them to go on.
        A stranger's is not heard.
        """
        asks = not self.taken and any(name == b"expect" for name, _ in scope["headers"])
        left, clock = LARGEST_TOGETHER, asyncio.get_running_loop().time
        until = clock() + SLOWEST_OF_STRANGERS
        if asks or self.trouble is not BodyTrouble.LARGE:
            return
        with contextlib.suppress(TimeoutError):
            # not a timeout around it: `wait_for` of Python 3.11 may swallow that
            while left > 0 and not self.is_whole and clock() <= until:
                message = await asyncio.wait_for(self._receive(), STALLED)
                self.is_whole = not message.get("more_body", False)
                left -= len(message.get("body", b""))

    async def receive(self) -> Message:
        """Return the next part.

        Raises:
            BodyError: it is too large, too slow, or there is too much at once.
        """
        if self.is_whole:
            return await self._receive()  # what comes after the body is the disconnect
        self._stop_if(self.trouble)
        message = await self._part()
        self.taken += len(message.get("body", b""))
        if self.taken > self.most:
            self.trouble = self.too_large
        elif not self._bodies.came(self):
            self.trouble = BodyTrouble.BUSY
        self.is_whole = not message.get("more_body", False)
        self._stop_if(self.trouble)
        if self.is_whole:
            self._bodies.whole(self)
        return message

    async def _part(self) -> Message:
        left = self.until - asyncio.get_running_loop().time()
        if left <= 0:
            self.trouble = BodyTrouble.SLOW
            self._stop_if(self.trouble)
        part = asyncio.ensure_future(self._receive())
        waiting: set[asyncio.Future[Any]] = {part, self._given_up}
        try:
            await asyncio.wait(
                waiting, timeout=min(SLOWEST_PART, left), return_when=asyncio.FIRST_COMPLETED
            )
        finally:
            if not part.done():
                part.cancel()
        if not part.done():
            self.trouble = self.trouble or BodyTrouble.SLOW
        self._stop_if(self.trouble)
        return part.result()

    def _stop_if(self, trouble: BodyTrouble | None) -> None:
        if trouble is not None:
            raise BodyError(trouble)
