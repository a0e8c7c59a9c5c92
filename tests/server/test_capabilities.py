"""A capability is a class with the moments that it needs, and an entry of the list."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import pytest

from humanmcp.common.book_file import BookFile
from humanmcp.inbox.attendant import Attendant
from humanmcp.inbox.folder import FolderInbox
from humanmcp.protocol.answer_book.decision import Decision
from humanmcp.protocol.conversation.exchange import Exchange
from humanmcp.protocol.diagnostics.model import TextForm
from humanmcp.server import session
from humanmcp.server.capabilities import capabilities
from humanmcp.server.front_end import FrontEnd
from humanmcp.server.memory_connection import MemoryConnection
from humanmcp.server.moments import Capability, Way
from humanmcp.server.serve import ServerParts
from humanmcp.server.waiting import PendingTimers, ServeOptions
from tests.server.test_many_sessions import call
from tests.server.test_serve import INITIALIZE

ROOT: Final = Path(__file__).parents[2]


class Echo(Capability):
    """Answers a call of the tool `t` with its place, if that is not far."""

    def __init__(self, way: Way) -> None:
        """Hear the moments of one session."""
        self.way = way
        self.acts: list[tuple[int, str]] = []

    def decide(self, exchange: Exchange, rest: Callable[[Exchange], Decision]) -> Decision:
        place = exchange.request.params.get("arguments", {}).get("place")
        if exchange.tool != "t" or place == "far":
            return rest(exchange)
        return Decision(0.0, str(place), TextForm.TEXT, "echo")

    def acted(self, exchange: Exchange, decision: Decision) -> None:
        self.acts.append((exchange.number, decision.by))


def answers(home: Path, options: ServeOptions, *lines: bytes) -> dict[int, Any]:
    """Have a session with these lines after the handshake's first. Return what was answered."""
    connection = MemoryConnection()
    parts = ServerParts(home, BookFile(home / "book.toml"), options)
    served = parts.session(connection, FolderInbox(home / "inbox"))
    for line in (INITIALIZE.encode(), *lines):
        connection.say(line)
    connection.hang_up()
    attendant = Attendant()
    attendant.attend(served)
    attendant.run()
    heard = {}
    while (sent := connection.hear()) is not None:
        heard[json.loads(sent.content)["id"]] = json.loads(sent.content)
    return heard


def test_a_capability_of_two_moments_answers_and_leaves_the_rest_to_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It neither knows how an answer goes out, nor who decides about what it leaves."""
    made: list[Echo] = []

    def echo(way: Way) -> Capability:
        made.append(Echo(way))
        return made[-1]

    monkeypatch.setattr(session, "capabilities", lambda: (echo, *capabilities()))
    heard = answers(tmp_path, ServeOptions(), call(2, "near"), call(3, "far"))
    assert heard[2]["result"]["content"][0]["text"] == "near"
    assert 3 not in heard
    (of_echo,) = made
    assert of_echo.acts[-1] == (2, "echo")
    inbox = FolderInbox(tmp_path / "inbox")
    (served,) = inbox.sessions()
    (frame,) = [one for one in inbox.frames(served.name) if one.by == "echo"]
    assert frame.number == 2


class Patient(Capability):
    """Plans two moments for each request that waits, and ends the session at the second."""

    def __init__(self, way: Way) -> None:
        """Hear the moments of one session."""
        self.way = way
        self.heard: list[str] = []

    def waits(self, exchange: Exchange, timers: PendingTimers) -> None:  # noqa: ARG002 - a moment
        if not self.heard:
            timers.plan("patient: first", timers.arrived)

    def due(self, name: str, exchange: Exchange, timers: PendingTimers, now: float) -> None:  # noqa: ARG002 - a moment
        self.heard.append(name)
        if name == "patient: first":
            timers.plan("patient: second", now)
        elif name == "patient: second":
            self.way.end(0)


def test_a_capability_hears_what_it_has_planned_once(tmp_path: Path) -> None:
    """And nothing of what it took back; the others hear its name, and leave it alone."""
    made: list[Patient] = []

    def patient(way: Way) -> Capability:
        made.append(Patient(way))
        return made[-1]

    connection = MemoryConnection()
    parts = ServerParts(tmp_path, BookFile(tmp_path / "book.toml"), ServeOptions())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(session, "capabilities", lambda: (patient, *capabilities()))
        served = parts.session(connection, FolderInbox(tmp_path / "inbox"))
    for line in (INITIALIZE.encode(), call(2, "near")):
        connection.say(line)
    attendant = Attendant()
    attendant.attend(served)
    attendant.run()
    (heard,) = [one.heard for one in made]
    assert [name for name in heard if name.startswith("patient")] == [
        "patient: first",
        "patient: second",
    ]


class Desk(FrontEnd):
    """A front end at which somebody writes, or nobody does."""

    def __init__(self, way: Way, *, writes: bool) -> None:
        """Hear the moments of one session."""
        self.way, self.writes = way, writes
        self.looks: list[set[bool]] = []
        """After each look while requests wait: whether the book was kept from answering them."""
        self.has_said = False

    def hello(self) -> str:
        self.has_said = True
        return f"writes: {self.writes}\n"

    def next(self) -> float:
        return self.way.journal.clock.now()

    def look_for_answers(self, now: float, *, is_last: bool) -> None:  # noqa: ARG002 - as it comes
        self.way.text_is_being_written(self, writing=self.writes)
        if self.way.timers:
            self.looks.append({timers.writing for timers in self.way.timers.values()})
        if self.has_said and len(self.looks) > 2:
            self.way.end(0)


@pytest.mark.parametrize("writes", [(True, False), (False, True), (False, False)])
def test_the_book_waits_while_somebody_writes_at_one_of_two_front_ends(
    tmp_path: Path, writes: tuple[bool, bool]
) -> None:
    """And each says where to answer."""
    made: list[Desk] = []
    told: list[str] = []

    def desk(way: Way) -> Capability:
        made.append(Desk(way, writes=writes[len(made)]))
        return made[-1]

    connection = MemoryConnection()
    parts = ServerParts(tmp_path, BookFile(tmp_path / "book.toml"), ServeOptions())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(session, "capabilities", lambda: (desk, desk, *capabilities()))
        served = parts.session(connection, FolderInbox(tmp_path / "inbox"), told.append)
    for line in (INITIALIZE.encode(), call(2, "near")):
        connection.say(line)
    attendant = Attendant()
    attendant.attend(served)
    attendant.run()
    later = [look for one in made for look in one.looks[1:]]
    assert later
    assert all(look == {any(writes)} for look in later)
    (text,) = told
    assert text.startswith(f"writes: {writes[0]}\nwrites: {writes[1]}\n")


def test_the_design_lists_the_capabilities_in_their_order() -> None:
    """With the file of each; the two of a replay are made by a function. Extensions have a row."""
    text = (ROOT / "docs" / "explanation" / "design.md").read_text(encoding="utf-8")
    table = text.partition("| capability | file |")[2].partition("\n\n")[0]
    rows = re.findall(r"^\| `?(\w+)`? \| `(\w+)", table, re.MULTILINE)
    ours = [one for one in capabilities() if one.__module__.startswith("humanmcp.server")]
    assert [name for name, _ in rows] == [one.__name__.lstrip("_") for one in ours]
    for one, (_, file) in zip(ours, rows, strict=True):
        if isinstance(one, type):
            assert one.__module__.startswith(f"humanmcp.server.{file}")
