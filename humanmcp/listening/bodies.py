"""What requests may bring: how much, how slowly, and how many at once.

Who is known may send a large answer, so many bytes of all of them together at once. A stranger has
a key or a code to send and nothing else: a few bytes, soon. When too many strangers dawdle, those
who have done so longest are cut, so that who comes to log in is heard however many there are.

Knows bodies, their lengths, addresses and the loop's clock; nothing of other headers or pages.
"""

from __future__ import annotations

import asyncio
import contextlib
import enum
from typing import TYPE_CHECKING, Any, Final

from humanmcp.protocol.http.headers import content_length

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
"""Seconds within which the whole of it is there."""

SLOWEST_OF_STRANGERS: Final = 10.0
"""Seconds within which the whole of a stranger's is."""

MOST_STRANGERS: Final = 64
"""Strangers' bodies that may be on their way at once."""

MOST_OF_AN_ADDRESS: Final = 16
"""The same from one address."""


def stated_length(scope: Scope) -> int:
    """Return how many bytes a request says that it brings; too many for what is no length."""
    name = b"content-length"
    values = [value.decode("latin-1") for key, value in scope["headers"] if key == name]
    length = content_length(values)
    return LARGEST + 1 if length is None else length


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

    def __init__(self) -> None:
        self.held = 0
        self._strangers: dict[Body, str] = {}  # the one that has been there longest comes first

    @contextlib.contextmanager
    def coming(self, receive: Receive, address: str, declared: int) -> Iterator[Body]:
        """Read a body within the limits. `address` is a stranger's, "" stands for who is known."""
        body = Body(receive, self, stranger=bool(address))
        try:
            if address:
                self._make_room(address)
                self._strangers[body] = address
            body.reserve(declared)
            yield body
        finally:
            self.whole(body)
            self.held -= body.reserved

    def whole(self, body: Body) -> None:
        """Note that a body is there, or given up: it is not waited for."""
        self._strangers.pop(body, None)

    def _make_room(self, address: str) -> None:
        same = [body for body, other in self._strangers.items() if other == address]
        for body in same[: max(0, len(same) - MOST_OF_AN_ADDRESS + 1)]:
            self._cut(body)
        while len(self._strangers) >= MOST_STRANGERS:
            self._cut(next(iter(self._strangers)))

    def _cut(self, body: Body) -> None:
        self.whole(body)
        body.cut()


class Body:
    """Count the bytes of a body and the seconds it takes; headers may lie about both."""

    def __init__(self, receive: Receive, bodies: Bodies, *, stranger: bool) -> None:
        """Read from `receive`; `bodies` counts all of them."""
        loop = asyncio.get_running_loop()
        self.trouble: BodyTrouble | None = None
        self.reserved = 0
        self._receive = receive
        self._bodies = bodies
        self._most = LARGEST_OF_STRANGERS if stranger else LARGEST
        self._until = loop.time() + (SLOWEST_OF_STRANGERS if stranger else SLOWEST)
        self._taken = 0
        self._whole = False
        self._given_up: asyncio.Future[None] = loop.create_future()

    def cut(self) -> None:
        """Wait for it no longer."""
        if not self._given_up.done():
            self._given_up.set_result(None)

    def reserve(self, size: int) -> None:
        """Ask for room for so many bytes in all."""
        if size > self._most:
            self.trouble = BodyTrouble.LARGE if self._most == LARGEST else BodyTrouble.MUCH
        elif self._bodies.held + size - self.reserved > LARGEST_TOGETHER:
            self.trouble = BodyTrouble.BUSY
        else:
            self._bodies.held += size - self.reserved
            self.reserved = size

    async def receive(self) -> Message:
        """Return the next part.

        Raises:
            BodyError: it is too large, too slow, or there is too much at once.
        """
        if self._whole:
            return await self._receive()  # what comes after the body is the disconnect
        self._stop_if(self.trouble)
        message = await self._part()
        self._taken += len(message.get("body", b""))
        if self._taken > self.reserved:
            self.reserve(self._taken)
        self._stop_if(self.trouble)
        self._whole = not message.get("more_body", False)
        if self._whole:
            self._bodies.whole(self)
        return message

    async def _part(self) -> Message:
        left = self._until - asyncio.get_running_loop().time()
        if left <= 0:
            self.trouble = BodyTrouble.SLOW
            self._stop_if(self.trouble)
        part = asyncio.ensure_future(self._receive())
        waiting: set[asyncio.Future[Any]] = {part, self._given_up}
        try:
            await asyncio.wait(
                waiting,
                timeout=min(SLOWEST_PART, left),
                return_when=asyncio.FIRST_COMPLETED,
            )
        finally:
            if not part.done():
                part.cancel()
        if not part.done():
            self.trouble = BodyTrouble.SLOW
        self._stop_if(self.trouble)
        return part.result()

    def _stop_if(self, trouble: BodyTrouble | None) -> None:
        if trouble is not None:
            raise BodyError(trouble)
