"""What a session remembers of its requests."""

import json

import pytest

from humanmcp.protocol.conversation.exchange import (
    REMEMBERED,
    REMEMBERED_SIZE,
    Exchange,
    Late,
    RequestArrived,
    Sent,
)
from humanmcp.protocol.session import Session
from humanmcp.protocol.validation.addressing import unaddressed


def call(session: Session, number: int, **meta: object) -> Exchange:
    """Let a call of a tool arrive."""
    params = {"name": "dice", "_meta": meta}
    body = {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params}
    (event,) = session.receive(json.dumps(body).encode())
    assert isinstance(event, RequestArrived)
    return event.exchange


def arrive(session: Session, token: int, padding: str = "") -> Exchange:
    """Let a ping arrive."""
    body = {"jsonrpc": "2.0", "id": token, "method": "ping", "params": {"padding": padding}}
    (event,) = session.receive(json.dumps(body).encode())
    assert isinstance(event, RequestArrived)
    return event.exchange


def answered(session: Session, token: int, padding: str = "") -> Exchange:
    """Let a ping arrive and answer it."""
    exchange = arrive(session, token, padding)
    assert isinstance(session.reply(exchange.number, "{}"), Sent)
    return exchange


def test_a_long_session_remembers_the_last_requests_only() -> None:
    """The transcript has them all: the memory of a session does not grow with its length."""
    session = Session()
    first = answered(session, 1)
    waits = arrive(session, 2)
    for token in range(3, REMEMBERED + 3):
        last = answered(session, token)
    assert len(session.exchanges.remembered) == REMEMBERED + 1
    assert session.exchanges.remembered[0] == waits, "what waits is never forgotten"
    assert session.pending == (waits,)
    assert session.reply(first.number, "{}") == Late(None)
    assert session.reply(last.number, "{}") == Late(session.exchanges[last.number])
    assert last.number == session.exchanges.last == REMEMBERED + 2
    with pytest.raises(KeyError):
        session.exchanges[first.number]


def test_long_lines_are_forgotten_sooner() -> None:
    """A few answered requests of megabytes must not stay in the memory."""
    session = Session()
    for token in range(1, 8):
        answered(session, token, "x" * (REMEMBERED_SIZE // 3))
    assert len(session.exchanges.remembered) == 2
    huge = answered(session, 9, "x" * (REMEMBERED_SIZE + 1))
    assert [one.number for one in session.exchanges.remembered] == [huge.number]


def test_a_forgotten_request_is_one_that_nobody_waits_for() -> None:
    """An answer to it is refused as any other that belongs to nothing."""
    session = Session()
    for token in range(1, REMEMBERED + 2):
        answered(session, token)
    remembered = session.exchanges.remembered
    late = '{"jsonrpc":"2.0","id":%d,"result":{}}'
    (over,) = unaddressed(late % (REMEMBERED + 1), remembered)
    (gone,) = unaddressed(late % 1, remembered)
    assert over.code != gone.code
    assert gone.blocks


def test_a_progress_notification_belongs_to_the_request_that_gave_its_token() -> None:
    """Not to the last one, and to none where no request that waits gave it."""
    session = Session()
    first, _other = call(session, 1, progressToken="a"), call(session, 2)
    progress = '{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%s}}'
    assert session.related_to(progress % '"a"') == first.number
    assert session.related_to(progress % '"b"') == 0


def test_a_notification_of_a_task_belongs_to_the_subscription_that_names_it() -> None:
    """Not to the request that came last: over HTTP that is another stream."""
    session = Session()
    meta = {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    listens = {
        "jsonrpc": "2.0",
        "id": "s",
        "method": "subscriptions/listen",
        "params": {"notifications": {"taskIds": ["a"]}, "_meta": meta},
    }
    session.receive(json.dumps(listens).encode())
    call(session, 2)
    told = '{"jsonrpc":"2.0","method":"notifications/tasks","params":{"taskId":"%s"}}'
    assert session.related_to(told % "a") == 1
    assert session.related_to(told % "b") == 0
