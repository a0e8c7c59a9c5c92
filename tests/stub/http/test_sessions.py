"""Which session a message belongs to, without a server: nothing is answered here."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, cast

from humanmcp.protocol.http import lifetimes
from humanmcp.stub.http import sessions as of_http
from humanmcp.stub.http.sessions import TOO_MANY, HttpSession, HttpSessions
from humanmcp.stub.http.streams import Stream

if TYPE_CHECKING:
    import pytest

    from humanmcp.inbox.attendant import Attendant
    from humanmcp.inbox.contract import StubInbox
    from humanmcp.stub.stub_session import StubSession


class Unattended:
    """Attends to nothing."""

    def attend(self, session: HttpSession) -> None:
        """Do nothing."""


def test_a_session_too_many_takes_the_place_of_the_one_that_is_idle_longest(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Clients that never send DELETE keep nobody out."""
    monkeypatch.setattr(of_http, "MOST_SESSIONS", 2)

    async def fill() -> None:
        # Nothing here asks the session, the attendant or the inbox anything.
        stub = cast("StubSession", None)
        attendant, inbox = cast("Attendant", Unattended()), cast("StubInbox", None)
        sessions = HttpSessions(lambda _connection, _facts: stub, attendant, inbox)
        first, second = await sessions.open(), await sessions.open()
        assert isinstance(first, HttpSession)
        assert isinstance(second, HttpSession)
        assert await sessions.open() is TOO_MANY
        monkeypatch.setattr(lifetimes, "MAKES_ROOM_AFTER", 0.0)
        first.connection.streams.posted(Stream(), [1])
        assert isinstance(await sessions.open(), HttpSession)
        assert (first.connection.closed, second.connection.closed) == (False, True)

    asyncio.run(fill())
