"""The endpoint: whose turn it is."""

import asyncio
from collections.abc import MutableMapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final
from unittest.mock import AsyncMock, Mock

from humanmcp.http.front import LARGE, HttpApp
from humanmcp.http.responses import ResponseNotes, Stream, Streams
from humanmcp.protocol.http.inbound import HttpAddress, Posted
from humanmcp.server.http.connection import HttpConnection
from tests.support.waiting import PATIENCE

HEADERS: Final = {
    b"host": b"127.0.0.1:1",
    b"content-type": b"application/json",
    b"accept": b"application/json, text/event-stream",
    b"mcp-session-id": b"s",
}
NOTICE: Final = b'{"jsonrpc":"2.0","method":"%s"%s}'
LARGER: Final = b" " * LARGE


async def post(app: HttpApp[Any], body: bytes) -> int:
    """Send a body and stay; returns the status of the response."""
    parts = [{"type": "http.request", "body": body, "more_body": False}]
    statuses: list[int] = []

    async def receive() -> MutableMapping[str, Any]:
        if not parts:
            await asyncio.Event().wait()
        return parts.pop()

    async def send(message: MutableMapping[str, Any]) -> None:
        statuses.append(message.get("status", 0))

    scope = {
        "method": "POST",
        "scheme": "http",
        "path": "/mcp",
        "query_string": b"",
        "client": ("127.0.0.1", 9),
        "headers": [*HEADERS.items(), (b"content-length", b"%d" % len(body))],
    }
    await asyncio.wait_for(app(scope, receive, send), PATIENCE)
    return statuses[0]


async def take_turns() -> list[str]:
    """Send two large messages and a small one; returns the order in which the session gets them."""
    loop = asyncio.get_running_loop()
    loop.set_default_executor(ThreadPoolExecutor(1))  # what is begun first ends first
    connection = HttpConnection(loop.call_soon_threadsafe)
    posts: asyncio.Queue[str] = asyncio.Queue()

    def accept(posted: Posted, _head: str) -> Stream:
        posts.put_nowait(getattr(posted.message, "method", ""))
        return connection.post(posted)

    session = Mock(id="", resumes=False, version="2025-11-25", streams=Streams(), post=accept)
    session.begin_notes.return_value = ResponseNotes()
    session.why_unanswered.return_value = None
    sessions = Mock(session_of=AsyncMock(return_value=session))
    app: HttpApp[Any] = HttpApp(sessions, HttpAddress("127.0.0.1", 1))

    def begin(name: bytes, more: bytes = b"") -> asyncio.Task[int]:
        return asyncio.create_task(post(app, NOTICE % (name, more)))

    clients = [begin(name, LARGER) for name in (b"large 1", b"large 2")]
    order = [await asyncio.wait_for(posts.get(), PATIENCE)]
    await asyncio.to_thread(int)  # whatever waited to be decoded is decoded
    clients.append(begin(b"small"))
    order.append(await asyncio.wait_for(posts.get(), PATIENCE))
    for _each in order:
        assert connection.get() is not None
        connection.accept_requests(())
    order.append(await asyncio.wait_for(posts.get(), PATIENCE))
    assert connection.get() is not None
    connection.accept_requests(())
    assert await asyncio.gather(*clients) == [202] * 3
    return order


def test_a_large_message_waits_until_the_one_before_is_processed() -> None:
    """Nobody waits behind several of them: a small message of another client goes between."""
    assert asyncio.run(take_turns()) == ["large 1", "small", "large 2"]
