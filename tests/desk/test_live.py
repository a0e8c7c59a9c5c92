"""The live stream, against a running desk: what it says, how it ends, who may read it."""

import asyncio
import contextlib
import http.client
import json
import re
import socket
from collections.abc import MutableMapping
from pathlib import Path
from typing import Any, Final, Self

import pytest

from humanmcp.desk import live
from humanmcp.desk.board import Board, BoardChange
from humanmcp.desk.live import EventStream, Live, report
from humanmcp.desk.login import Door
from humanmcp.inbox.folder import FolderInbox
from tests.browser.seats import call
from tests.support.desk_process import FORM, Desking
from tests.support.serve_process import Serving
from tests.support.waiting import PATIENCE, until

PING: Final = "event: ping\ndata: {}\n\n"


class Stream:
    """One reader of the stream."""

    def __init__(self, desk: Desking, path: str = "/api/events", **headers: str) -> None:
        """Open it."""
        self.connection = http.client.HTTPConnection("127.0.0.1", desk.port, timeout=20)
        self.connection.request("GET", path, headers={**(headers or desk.bearer)})
        self.response = self.connection.getresponse()

    def __enter__(self) -> Self:
        """Use it as a context."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close it."""
        self.close()

    def close(self) -> None:
        """Close it: the answer keeps the socket open by itself."""
        self.response.close()
        self.connection.close()

    def event(self) -> tuple[str, Any]:
        """Return the next event: its name and what it says."""
        found: dict[str, str] = {}
        while line := self.response.readline().decode().rstrip("\n"):
            key, _, value = line.partition(": ")
            assert key not in found, "one line of each kind an event"
            found[key] = value
        if not found:
            return "", None
        return found.get("event", ""), json.loads(found.get("data", "null"))


def test_it_says_what_changed_and_not_to_what(home: Path) -> None:
    """An event names the session and the exchange; nothing of a message is in it."""
    evil = "\n\ndata: {}\n\nevent: bye"
    with Desking(home) as desk, Serving(home, "--by-hand") as host, Stream(desk) as stream:
        assert stream.event()[0] == "hello"
        host.say(call("1", city=evil))
        seen: list[Any] = []
        while not any(one["what"] == "arrived" for one in seen):
            name, said = stream.event()
            if name == "ping":  # nothing came for a while
                continue
            assert name == "change"
            assert "data:" not in json.dumps(said)
            seen += said["changes"]
        assert {one["number"] for one in seen} <= {0, 1}


def test_a_reader_that_was_away_is_told_what_it_missed(home: Path) -> None:
    """By the number of the last change; one of another desk means: everything."""
    with Desking(home) as desk, Serving(home, "--by-hand") as host:
        before = desk.get("/api/state")["version"]
        host.say(call("1"))
        until(lambda: desk.get("/api/state")["waiting"] == 1 or None, "it waits")
        last = {"Last-Event-ID": str(before), **desk.bearer}
        with Stream(desk, **last) as stream:
            stream.event()
            _, said = stream.event()
            assert "arrived" in [one["what"] for one in said["changes"]]
        with Stream(desk, **{**last, "Last-Event-ID": "5"}) as stream:
            stream.event()
            assert stream.event()[1]["changes"] == [{"what": "everything"}]
        assert desk.get(f"/api/state?since={before}")["changes"] == said["changes"]
        assert desk.get("/api/state?since=5")["changes"] == [{"what": "everything"}]


def test_open_streams_do_not_keep_the_desk(home: Path) -> None:
    """It ends, whoever still reads."""
    with Desking(home) as desk:
        streams = [Stream(desk) for _ in range(5)]
        for stream in streams:
            assert stream.event()[0] == "hello"
        assert desk.stop() == 0
        for stream in streams:
            assert stream.event()[0] == "bye"
            stream.close()


def test_the_stream_ends_with_the_visit(home: Path) -> None:
    """After logging out nothing more is said."""
    with Desking(home) as desk:
        cookie = desk.cookie()
        own = {"Origin": f"http://127.0.0.1:{desk.port}", **FORM}
        with Stream(desk, desk.in_login("/api/events"), **cookie) as stream:
            assert stream.event()[0] == "hello"
            desk.ask("POST", desk.in_login("/logout"), headers={**own, **cookie})
            assert stream.event()[0] == "bye"


def test_a_reader_that_never_reads_holds_up_nobody(home: Path) -> None:
    """The others are told at once."""
    with Desking(home) as desk, Serving(home, "--by-hand") as host:
        lazy = socket.create_connection(("127.0.0.1", desk.port))
        lazy.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1024)
        lazy.sendall(
            f"GET /api/events HTTP/1.1\r\nHost: 127.0.0.1:{desk.port}\r\n"
            f"Authorization: Bearer {desk.facts.token}\r\n\r\n".encode()
        )
        with Stream(desk) as stream:
            stream.event()
            for number in range(20):
                host.say(call(str(number)))
            seen: set[int] = set()
            while len(seen) < 20:
                seen |= {one["number"] for one in stream.event()[1]["changes"]} - {0}
        lazy.close()


class Reader:
    """The other end of a stream, without a socket: it reads until it is told not to."""

    def __init__(self, *, reads: bool = True) -> None:
        """Begin to read, or never."""
        self.reads = reads
        self.got: list[str] = []
        self.enough = asyncio.Event()

    async def send(self, message: MutableMapping[str, Any]) -> None:
        """Take what the stream writes."""
        if message["type"] == "http.response.body":
            if not self.reads:
                await asyncio.Event().wait()
            self.got.append(message["body"].decode())
            if PING in self.got:
                self.enough.set()

    async def receive(self) -> MutableMapping[str, Any]:
        """Leave once it has seen enough."""
        await self.enough.wait()
        return {"type": "http.disconnect"}


def played(home: Path, *, reads: bool) -> tuple[Live, Reader]:
    """Let one reader have a stream until either of them ends it."""
    streams = Live(Board(FolderInbox(home)))

    async def play() -> Reader:
        reader = Reader(reads=reads)
        stream = EventStream(streams, Door(), login="", after=-1)
        await asyncio.wait_for(stream({"type": "http"}, reader.receive, reader.send), PATIENCE)
        return reader

    return streams, asyncio.run(play())


def test_a_reader_that_never_reads_is_dropped(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """After the time it has, its stream ends; it may come back later."""
    monkeypatch.setattr(live, "SEND_WITHIN", 0.05)
    streams, reader = played(home, reads=False)
    assert reader.got == []
    assert streams.streams == 0


def test_a_quiet_stream_says_now_and_then_that_it_is_there(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By that the other end tells a dead line and a desk that hangs from a quiet one."""
    monkeypatch.setattr(live, "PING_EVERY", 0.05)
    monkeypatch.setattr(live, "LOOK_EVERY", 0.01)
    streams, reader = played(home, reads=True)
    assert reader.got[-1] == PING
    assert streams.streams == 0


def test_there_are_only_so_many_streams(home: Path) -> None:
    """One more is refused, and the desk works on."""
    with Desking(home) as desk, contextlib.ExitStack() as opened:
        for _ in range(live.MOST):
            assert opened.enter_context(Stream(desk)).response.status == 200
        with Stream(desk) as one_more:
            assert one_more.response.status == 503
        assert desk.get("/api/state")["streams"] == live.MOST


def test_idle_connections_do_not_starve_the_desk(home: Path) -> None:
    """A few hundred that say nothing, and the page still answers."""
    with Desking(home) as desk:
        idle = [socket.create_connection(("127.0.0.1", desk.port)) for _ in range(300)]
        assert desk.get("/api/state")["waiting"] == 0
        for one in idle:
            one.close()


def test_several_changes_of_one_exchange_are_one() -> None:
    """To who saw neither, what arrived and changed arrived, and a session ended that said more."""
    changes = (
        BoardChange(1, "arrived", "s", 1),
        BoardChange(2, "changed", "s", 1),
        BoardChange(3, "arrived", "s", 2),
        BoardChange(4, "closed", "s", 2),
        BoardChange(5, "session", "s"),
        BoardChange(6, "lines", "s"),
    )
    assert report(changes) == [
        {"what": "arrived", "session": "s", "number": 1},
        {"what": "closed", "session": "s", "number": 2},
        {"what": "session", "session": "s", "number": 0},
    ]
    assert report(None) == [{"what": "everything"}]
    assert report(()) == []


def test_the_first_line_tells_the_browser_when_to_come_back(home: Path) -> None:
    """The waiting time after a break and the number of the last change come first."""
    with Desking(home) as desk, Stream(desk) as stream:
        lines = [stream.response.readline().decode() for _ in range(2)]
        assert lines[0] == "retry: 1000\n"
        assert re.fullmatch(r"id: \d+\n", lines[1])
