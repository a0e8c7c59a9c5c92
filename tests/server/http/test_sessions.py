"""Which session a message belongs to, without a server: nothing is answered here."""

import asyncio
from types import SimpleNamespace
from typing import cast

import pytest

from humanmcp.http.responses import Stream
from humanmcp.inbox.attendant import Attendant
from humanmcp.inbox.contract import HttpFacts, ServerInbox, SessionFacts, StoreError
from humanmcp.protocol.http import session_ends
from humanmcp.protocol.http.http_headers import Headers
from humanmcp.protocol.http.inbound import HttpRequest, Posted
from humanmcp.protocol.http.session_ends import visitor_of
from humanmcp.protocol.json.jsonrpc import Message, read
from humanmcp.server.http.connection import WITHIN, HttpConnection
from humanmcp.server.http.sessions import (
    HELD_ELSEWHERE,
    MOST_TELLING,
    TOO_MANY,
    HttpSession,
    HttpSessions,
)
from humanmcp.server.session import ServedSession


class Unattended:
    """Attends to nothing."""

    def attend(self, session: HttpSession) -> None:
        """Do nothing."""


def test_a_session_too_many_takes_the_place_of_the_one_that_is_idle_longest(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Clients that never send DELETE keep nobody out."""

    async def fill() -> None:
        # Nothing here asks the session, the attendant or the inbox anything.
        server = cast("ServedSession", None)
        attendant, inbox = cast("Attendant", Unattended()), cast("ServerInbox", None)
        sessions = HttpSessions(lambda _connection, _facts: server, attendant, inbox, most=2)
        first, second = await sessions.open("10.0.0.1"), await sessions.open("10.0.0.1")
        assert isinstance(first, HttpSession)
        assert isinstance(second, HttpSession)
        assert await sessions.open("10.0.0.1") is TOO_MANY
        monkeypatch.setattr(session_ends, "MAKES_ROOM_AFTER", 0.0)
        first.connection.streams.posted(Stream(), [1])
        assert isinstance(await sessions.open("10.0.0.1"), HttpSession)
        assert (first.connection.closed, second.connection.closed) == (False, True)

    asyncio.run(fill())


def test_a_session_that_outlives_the_server_says_nothing_and_goes_on() -> None:
    """It is in the middle of a step when the event loop ends: what it says is in the transcript."""
    line = b'{"jsonrpc":"2.0","id":1,"method":"tools/list"}'
    server, inbox = cast("ServedSession", None), cast("ServerInbox", None)

    async def begin() -> HttpConnection:
        attendant = cast("Attendant", Unattended())
        sessions = HttpSessions(lambda _connection, _facts: server, attendant, inbox)
        found = await sessions.open("10.0.0.1")
        assert isinstance(found, HttpSession)
        found.connection.post(Posted(line, read(line)))
        return found.connection

    connection = asyncio.run(begin())
    assert connection.get() == line
    connection.accept_requests((1,))
    connection.send(b'{"jsonrpc":"2.0","id":1,"result":{"tools":[]}}', related_to=1)
    assert connection.get() is None


@pytest.mark.parametrize(("lost", "begun"), [("", ["a", "b"]), ("b", ["a"]), ("a", [])])
def test_who_takes_the_oldest_session_of_a_visitor_takes_them_all(
    lost: str, begun: list[str]
) -> None:
    """Of two processes that find the same ones, one answers; the other refuses."""
    message = read(b'{"jsonrpc":"2.0","id":1,"method":"tools/list"}')
    assert isinstance(message, Message)
    digest = visitor_of(message, "", "host")
    made: list[str] = []

    def of_visitor(_digest: str) -> list[SessionFacts]:
        return [SessionFacts(name, "", http=HttpFacts(visitor=digest)) for name in ("a", "b")]

    def make(_connection: HttpConnection, facts: SessionFacts) -> ServedSession:
        if facts.name == lost:
            raise StoreError(BlockingIOError(), "session")
        made.append(facts.name)
        session = SimpleNamespace(repeated_by=lambda _message: None)
        journal = SimpleNamespace(frames=lambda: iter(()), name=facts.name)
        return cast("ServedSession", SimpleNamespace(session=session, journal=journal))

    async def ask() -> None:
        seen = SimpleNamespace(of_visitor=of_visitor, sign_of_life=lambda _name: "")
        attendant, inbox = cast("Attendant", Unattended()), cast("ServerInbox", seen)
        found = await HttpSessions(make, attendant, inbox).visit(message, "", "host", "")
        assert (found is HELD_ELSEWHERE) is not bool(begun)

    asyncio.run(ask())
    assert made == begun


def test_a_session_that_is_over_goes_on_for_a_response_that_has_not_begun() -> None:
    """It is recorded then; a response that never begins keeps nothing open."""
    held = SimpleNamespace(is_held=lambda _name: True)
    journal = SimpleNamespace(inbox=held, name="")
    server = SimpleNamespace(journal=journal, step=lambda _now: None)
    connection = HttpConnection(lambda call, *arguments: call(*arguments))
    session = HttpSession("", connection, cast("ServedSession", server), lambda _session: None)
    request = HttpRequest("POST", Headers())
    notes = session.begin_notes(request)
    assert session.step(0) == WITHIN
    assert session.step(1) == 1 + WITHIN

    async def begin_response() -> None:
        notes.response(404, ())
        assert session.step(1) == 1 + WITHIN
        await asyncio.sleep(0)

    asyncio.run(begin_response())
    assert len([*connection.notes.take()]) == 1
    assert session.step(1 + WITHIN) is None
    session.begin_notes(request)
    assert session.step(1.5) == 1.5 + WITHIN
    assert session.step(MOST_TELLING) is None
