"""Streamable HTTP: a call by a rule beside the SDK's server, and many sessions in one process."""

from __future__ import annotations

import http.client
import json
import os
import socket
import statistics
import sys
import time
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final, Self

from bench.figures import Figure, percentile, ratio
from bench.load import BARELY, affordable, on_core, share_of_core
from bench.many_sessions import FILES_EACH
from bench.measure import BOOK
from bench.peer import INITIALIZE, INITIALIZED, SDK_SERVER, TOO_LONG, Peer, call, exists, watch
from humanmcp.inbox.contract import Key, Reply
from humanmcp.inbox.folder import FolderInbox
from humanmcp.protocol.diagnostics.model import TextForm

if TYPE_CHECKING:
    from collections.abc import Iterator

SESSIONS: Final = 500
WAITING: Final = 2
_EVENTS: Final = "text/event-stream"
BOTH: Final = f"application/json, {_EVENTS}"


class Client:
    """One session over HTTP, on one connection that stays open."""

    def __init__(self, port: int, accept: str) -> None:
        """Shake hands."""
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=TOO_LONG)
        self.headers = {"Content-Type": "application/json", "Accept": accept}
        self.post(INITIALIZE)
        response = self._connection.getresponse()
        response.read()
        self.headers |= {
            "Mcp-Session-Id": response.headers["Mcp-Session-Id"],
            "MCP-Protocol-Version": "2025-06-18",
        }
        self.post(INITIALIZED)
        self.answer()

    def post(self, line: bytes) -> None:
        """Send a message."""
        self._connection.request("POST", "/mcp", line, self.headers)

    def answer(self) -> bytes:
        """Return the whole response."""
        return self._connection.getresponse().read()

    def ask(self, line: bytes) -> float:
        """Send a request and read its response; returns the seconds between."""
        began = time.perf_counter()
        self.post(line)
        body = self.answer()
        took = time.perf_counter() - began
        if b'"result"' not in body:
            raise RuntimeError(f"no result: {body!r}")
        return took

    def beside(self, port: int) -> Self:
        """Return another connection of the same session."""
        other = object.__new__(type(self))
        other._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=TOO_LONG)
        other.headers = self.headers
        return other

    def close(self) -> None:
        """Hang up."""
        self._connection.close()


def by_a_rule(folder: Path, rounds: int) -> Iterator[Figure]:
    """A call that a rule answers, as JSON and as a stream, and the same to the SDK's server."""
    book = folder / "http.toml"
    book.write_text(BOOK, encoding="utf-8")
    for way, accept in (("JSON", BOTH), ("SSE", _EVENTS)):
        with ExitStack() as stack:
            home, port, other = folder / f"http-{way}", free_port(), free_port()
            ours = stack.enter_context(Peer(serving(home, port, "--auto", "--book", str(book))))
            theirs = stack.enter_context(Peer((*SDK_SERVER, str(other), way)))
            clients = [client_of(stack, ours, port, accept), client_of(stack, theirs, other, BOTH)]
            took: list[list[float]] = [[], []]
            for number in range(1, rounds + 1):
                for client, each in zip(clients, took, strict=True):
                    each.append(client.ask(call(number)))
        yield ratio(f"HTTP: a call answered by a rule, {way}", took[0], took[1], 1.0)


def many_sessions(folder: Path, rounds: int) -> Iterator[Figure]:
    """Many sessions with calls that wait, each on its own connection, in one process."""
    count = 10 if rounds <= BARELY else affordable(SESSIONS, FILES_EACH + WAITING)
    home, port = folder / "http-many", free_port()
    inbox = FolderInbox(home)
    with ExitStack() as stack:
        server = stack.enter_context(Peer(serving(home, port, "--auto")))
        waiting: list[tuple[Client, Key]] = []
        for _ in range(count):
            waiting += _waiting(stack, server, inbox, port)
        time.sleep(1 if rounds <= BARELY else 12)  # all streams have begun
        yield from _at_rest(server, count, rounds)
        step = len(waiting) // min(rounds, count)  # each call is answered once
        took = [_answered(inbox, *each) for each in waiting[::step]]
    p50, p99 = statistics.median(took) * 1e3, percentile(took, 0.99) * 1e3
    what = f"HTTP: reply to the client, one of {count} sessions"
    yield Figure(what, f"p50 {p50:.1f} ms, p99 {p99:.1f} ms", p99, 100, "ms at p99")


def _at_rest(server: Peer, count: int, rounds: int) -> Iterator[Figure]:
    """What a process takes in which nothing happens."""
    who = f"HTTP: {count} sessions with {WAITING} calls waiting each"
    if Path("/proc/self/task").exists():
        share = share_of_core(partial(on_core, server), rounds)
        yield Figure(f"{who}: share of a core", f"{share:.2f} %", share, 5, "% of a core")
    size = server.resident()
    yield Figure(f"{who}: memory", f"{size:.0f} MB", size, 250, "MB")


def _waiting(
    stack: ExitStack, server: Peer, inbox: FolderInbox, port: int
) -> list[tuple[Client, Key]]:
    """Open a session, and let its calls wait, each on a connection of its own."""
    before = _names(inbox)
    client = client_of(stack, server, port, BOTH)
    (name,) = _names(inbox) - before
    found = []
    for number in range(2, WAITING + 2):  # 1 is initialize
        one = client if number == 2 else client.beside(port)
        stack.callback(one.close)
        one.post(call(number))
        watch(exists(str(inbox.home / "sessions" / name / "pending" / f"{number:04d}")))
        found.append((one, Key(name, number)))
    return found


def _names(inbox: FolderInbox) -> set[str]:
    folder = inbox.home / "sessions"
    return set(os.listdir(folder)) if folder.exists() else set()  # noqa: PTH208 - only the names


def _answered(inbox: FolderInbox, client: Client, key: Key) -> float:
    """Answer a call that waits. Returns how long it took until its client had the answer."""
    inbox.send(key, Reply("sunny", TextForm.TEXT, by="bench"))
    began = time.perf_counter()
    body = client.answer()
    took = time.perf_counter() - began
    if json.dumps("sunny").encode() not in body:
        raise RuntimeError(f"no answer: {body!r}")
    return took


def serving(home: Path, port: int, *flags: str) -> tuple[str, ...]:
    """Return the command of a server over HTTP."""
    address = f"127.0.0.1:{port}"
    here = (sys.executable, "-m", "humanmcp", "serve", "--http", address, "--home", str(home))
    return (*here, *flags)


def free_port() -> int:
    """Return a port that nothing listens on."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port: int = listening.getsockname()[1]
        return port


def client_of(stack: ExitStack, server: Peer, port: int, accept: str) -> Client:
    """Return a session with a server, as soon as it listens."""

    def listens() -> bool:
        if server.process.poll() is not None:
            raise RuntimeError(f"{server.process.args!r} ended")
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", port)) == 0

    watch(listens)
    client = Client(port, accept)
    stack.callback(client.close)
    return client


ALL: Final = (by_a_rule, many_sessions)
