"""Every measurement of the desk: from a request in the folder to an open page."""

from __future__ import annotations

import contextlib
import http.client
import json
import re
import signal
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Final, Self

from bench.figures import Figure, spread
from bench.load import BARELY, affordable
from bench.many_sessions import FILES_EACH
from humanmcp import launch
from humanmcp.extensions.agents.guests import begin_facts, write_down
from humanmcp.inbox.contract import Draft, Item, Key, Purpose, SessionFacts
from humanmcp.inbox.folder import FolderInbox
from humanmcp.locales.stop import REFUSED, stopped
from humanmcp.protocol.conversation.prompts import read_prompt
from humanmcp.protocol.conversation.transcript import Direction, Frame, to_json

if TYPE_CHECKING:
    from collections.abc import Iterator

AT: Final = "2026-11-20T18:49:07.123Z"
HISTORY: Final = 100_000
SESSIONS: Final = (1, 100, 500)
_FEW: Final = (1, 2, 20)
_BESIDE: Final = (10, 300)
"""How many wait in the two sessions that are compared."""
_EVENTS: Final = 3
_AGENTS: Final = 20
_PROMPTS: Final = 10
_READERS: Final = 3


class Desk:
    """A desk in a process of its own, as a browser sees it."""

    def __init__(self, home: Path) -> None:
        """Start it and wait until it listens."""
        self.process = subprocess.Popen(
            [sys.executable, "-m", "humanmcp", "desk", "--home", str(home), "--port", "0"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        facts = launch.wait_for_facts(home, 30)
        if facts is None:
            raise stopped("no_desk", "no start", REFUSED, log=home / launch.LOG_NAME)
        self.port = int(facts.address.rstrip("/").rpartition(":")[2])
        self.headers = {"Authorization": f"Bearer {facts.token}"}

    def __enter__(self) -> Self:
        """Use it as a context."""
        return self

    def __exit__(self, *_: object) -> None:
        """End it."""
        self.process.kill()
        self.process.wait()

    def open(self, path: str) -> tuple[http.client.HTTPConnection, http.client.HTTPResponse]:
        """Ask for something and leave the answer open."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        connection.request("GET", path, headers=self.headers)
        return connection, connection.getresponse()

    def get(self, path: str) -> bytes:
        """Ask for something."""
        connection, response = self.open(path)
        with contextlib.closing(connection):
            return response.read()

    def memory(self) -> float:
        """Return the megabytes of its resident set; 0 where that cannot be read."""
        status = Path("/proc") / str(self.process.pid) / "status"
        if not status.exists():
            return 0.0
        return int(status.read_text().partition("VmRSS:")[2].split()[0]) / 1024


def sessions(folder: Path, rounds: int) -> Iterator[Figure]:
    """How soon a request is in an open page, with few and with many sessions; and the memory."""
    counts = _FEW if rounds <= BARELY else SESSIONS
    medians: list[float] = []
    for count in (affordable(wanted, FILES_EACH) for wanted in counts):
        inbox = FolderInbox(folder / f"desk-{count}")
        names = [inbox.begin_session(SessionFacts("", AT, client="bench")) for _ in range(count)]
        for name in names:
            for number in (1, 2):
                _deliver(inbox, name, number)
        with Desk(inbox.home) as desk:
            desk.get("/")
            took = _arrivals(desk, inbox, names, rounds)
            slow = took[int(len(took) * 0.99)] * 1e3
            middle = statistics.median(took) * 1e3
            medians.append(middle)
            words = f"p99 {slow:.0f} ms, median {middle:.0f} ms"
            what = f"the desk: request to visible in an open page, {count} sessions"
            yield Figure(what, words, slow, 50, "ms at p99")
            if count == affordable(counts[-1], FILES_EACH):
                used = desk.memory()
                waiting = 2 * count + rounds
                words = f"{used:.0f} MB with {waiting} waiting"
                yield Figure(f"the desk: memory, {count} sessions", words, used, 250, "MB")
        for name in names:
            inbox.end(name)
    many = medians[-1] / medians[0]
    what = f"the desk: request to visible, {counts[-1]} sessions to {counts[0]}"
    yield Figure(what, f"{many:.2f}", many, 1.3, "of the median")


def _arrivals(desk: Desk, inbox: FolderInbox, names: list[str], rounds: int) -> list[float]:
    """Deliver requests; return the seconds until each is in the list that a page fetches."""
    connection, stream = desk.open("/api/events")
    took: list[float] = []
    version = _version(desk.get("/list"))
    with contextlib.closing(connection):
        for turn in range(rounds):
            name, number = names[turn * 7 % len(names)], 3 + turn // len(names)
            began = time.perf_counter()
            _deliver(inbox, name, number)
            while not _tells_of(stream, name, number):
                pass
            page = desk.get(f"/list?since={version}")
            took.append(time.perf_counter() - began)
            version = _version(page)
        stream.close()
    return sorted(took)


def _version(page: bytes) -> int:
    """Return the version of a list, after which its page asks for what is new."""
    found = re.search(rb'data-version="(\d+)"', page)
    return int(found[1]) if found else 0


def _tells_of(stream: http.client.HTTPResponse, name: str, number: int) -> bool:
    line = stream.readline()
    if not line.startswith(b'data: {"version"'):
        return False
    changes = json.loads(line[6:])["changes"]
    return any((one["session"], one["number"]) == (name, number) for one in changes)


def agents(folder: Path, rounds: int) -> Iterator[Figure]:
    """Twenty agents with ten prompts each: one more in the list, and the turn to the next card."""
    inbox = FolderInbox(folder / "agents")

    def ask(number: int) -> Key:
        agent, at = number % _AGENTS, _at(number)
        text = _PROMPT % (agent, agent)
        prompt = read_prompt(text, "claude-code")
        facts = begin_facts(prompt, at)
        inbox.join(facts)
        key = inbox.enter(facts.name)
        write_down(inbox, facts.name, Frame(0, at, Direction.IN, text.encode(), key.number))
        purpose = Purpose.PROMPT
        item = Item(key, text, prompt.name, "", "", at, purpose=purpose, host=prompt.host)
        inbox.deliver(item)
        return key

    keys = [ask(number) for number in range(_AGENTS * _PROMPTS)]
    lists: list[float] = []
    cards: list[float] = []
    with Desk(inbox.home) as desk:
        version = _version(desk.get("/"))
        for turn in range(min(rounds, len(keys))):
            keys.append(ask(len(keys)))
            key = keys[turn]
            began = time.perf_counter()
            desk.get(f"/?sent={key.session}/{key.number}")
            cards.append(time.perf_counter() - began)
            began = time.perf_counter()
            version = _version(desk.get(f"/list?since={version}"))
            lists.append(time.perf_counter() - began)
    for key in keys:
        inbox.leave(key)
    who = f"the desk: {_AGENTS * _PROMPTS} prompts of {_AGENTS} agents"
    yield spread(f"{who}: what is new in the list", lists, 50)
    yield spread(f"{who}: the next card", cards, 50)


def _at(number: int) -> str:
    """Return the time of a prompt: each comes after the one before."""
    return f"2026-11-20T18:{number // 60 % 60:02}:{number % 60:02}.123Z"


_PROMPT: Final = (
    '{"session_id":"agent-%d","cwd":"/work/app%d","hook_event_name":"PreToolUse",'
    '"tool_name":"Bash","tool_input":{"command":"git push origin main"}}'
)


def events(folder: Path, rounds: int) -> Iterator[Figure]:
    """What an event costs in a session in which many wait, and in one in which few do."""
    inbox = FolderInbox(folder / "events")
    names = [inbox.begin_session(SessionFacts("", AT, client="bench")) for _ in _BESIDE]
    for name, count in zip(names, _BESIDE, strict=True):
        for number in range(1, count + 1):
            _deliver(inbox, name, number)
    took: dict[str, list[float]] = {name: [] for name in names}
    with Desk(inbox.home) as desk:
        desk.get("/")
        connection, stream = desk.open("/api/events")
        with contextlib.closing(connection):
            for turn in range(_EVENTS * rounds):
                for name in names:
                    took[name].append(_changed(inbox, stream, Key(name, 1), turn))
            stream.close()
    few, many = (statistics.median(took[name]) * 1e3 for name in names)
    for name in names:
        inbox.end(name)
    words = f"{many / few:.2f} ({many:.1f} ms to {few:.1f} ms)"
    what = "the desk: an event in a session with 300 waiting"
    yield Figure(what, words, many / few, 1.5, "of the cost with 10")


def _changed(inbox: FolderInbox, stream: http.client.HTTPResponse, key: Key, turn: int) -> float:
    """Save a draft as another desk does; return the seconds until the pages are told."""
    began = time.perf_counter()
    inbox.save(key, Draft("{}", touched=turn % 2 == 0))
    while not _tells_of(stream, *key):
        pass
    return time.perf_counter() - began


def history(folder: Path, rounds: int) -> Iterator[Figure]:
    """How soon a history of a hundred thousand lines is open, by a desk that never saw it."""
    inbox = FolderInbox(folder / "history")
    name = inbox.begin_session(SessionFacts("", AT, client="bench"))
    call = '{{"jsonrpc":"2.0","id":{},"method":"tools/call","params":{{"name":"forecast"}}}}'
    with (inbox.folder(name) / "transcript.jsonl").open("w", encoding="utf-8") as stream:
        for seq in range(1, HISTORY + 1):
            stream.write(
                to_json(Frame(seq, AT, Direction.IN, call.format(seq).encode(), seq)) + "\n"
            )
    with Desk(inbox.home) as desk:
        desk.get("/connect")  # the first page of all pays for reading the templates
        began = time.perf_counter()
        desk.get("/history")
        first = (time.perf_counter() - began) * 1e3
        again = []
        for _ in range(rounds):
            began = time.perf_counter()
            desk.get("/history")
            again.append((time.perf_counter() - began) * 1e3)
        began = time.perf_counter()
        desk.get("/history?sort=-size")
        ordered = (time.perf_counter() - began) * 1e3
        began = time.perf_counter()
        desk.get(f"/line/{name}/{HISTORY // 2}")
        opened = (time.perf_counter() - began) * 1e3
    inbox.end(name)
    words = f"{first:.0f} ms, then {statistics.median(again):.0f} ms"
    yield Figure("the desk: a history of 100,000 lines opens", words, first, 300, "ms")
    what = "the desk: a history of 100,000 lines is sorted by another column"
    yield Figure(what, f"{ordered:.0f} ms", ordered, 1500, "ms")
    what = "the desk: a message in the middle of 100,000 lines opens"
    yield Figure(what, f"{opened:.0f} ms", opened, 1500, "ms")


def shutdown(folder: Path, _rounds: int) -> Iterator[Figure]:
    """How long a desk takes to end while pages read its stream."""
    with Desk(FolderInbox(folder / "ending").home) as desk:
        readers = [desk.open("/api/events") for _ in range(_READERS)]
        began = time.perf_counter()
        desk.process.send_signal(signal.SIGTERM)
        desk.process.wait(timeout=30)
        took = time.perf_counter() - began
        for connection, response in readers:
            response.close()
            connection.close()
    words = f"{took:.2f} s with {_READERS} open streams"
    yield Figure("the desk: SIGTERM to exit", words, took, 2, "s")


def _deliver(inbox: FolderInbox, name: str, number: int) -> None:
    line = f'{{"jsonrpc":"2.0","id":{number},"method":"tools/call","params":{{"name":"forecast"}}}}'
    inbox.record(name, Frame(number, AT, Direction.IN, line.encode(), number))
    key = Key(name, number)
    inbox.deliver(Item(key, line, "tools/call", str(number), "2025-11-25", AT, draft=Draft("{}")))


ALL: Final = (sessions, agents, events, history, shutdown)
