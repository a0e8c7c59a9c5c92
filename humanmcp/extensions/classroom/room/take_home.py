"""The list that a learner takes home: what they did, what was wrong in it, and what to read next.

It is made from what a seat keeps of each lesson. The teacher's own mistakes are not in it.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from markupsafe import Markup

from humanmcp.answering.mistakes import find_mistake
from humanmcp.common import published
from humanmcp.desk.rendering import render
from humanmcp.extensions.classroom.room.pairs import PAIR_HOST
from humanmcp.inbox.contract import Role
from humanmcp.locales import say, spoken_language
from humanmcp.protocol.conversation.stages import ExchangeState
from humanmcp.protocol.tables import methods, versions
from humanmcp.protocol.validation.redaction import without_secrets

if TYPE_CHECKING:
    from collections.abc import Iterator

    from humanmcp.extensions.classroom.demo.steps import DemoStep, LessonSteps
    from humanmcp.extensions.classroom.room.classroom import Classroom
    from humanmcp.extensions.classroom.room.records import StepRecord
    from humanmcp.extensions.classroom.room.seat import RoomSeat

SECTION: Final = "classroom"
_PAGES: Final = (
    *("class-cheat-sheet", "class-from-one-link"),
    *("run-what-you-typed", "connect-a-host"),
)


class DoneStep(NamedTuple):
    """One step. `state` is "passed", "given" (answered for the learner), "tried" or "not begun"."""

    title: str
    method: str
    state: str
    tries: int


class DoneLesson(NamedTuple):
    """A lesson that was begun."""

    title: str
    steps: tuple[DoneStep, ...]


class DonePair(NamedTuple):
    """A conversation in a pair: what the seat was, "model" or "server", and what it answered."""

    side: str
    answers: int


class MadeMistake(NamedTuple):
    """A kind of mistake: where it was made, and an example: its sentence, and its fix."""

    title: str
    steps: str
    sentence: str
    wrong: str
    right: str


class Reading(NamedTuple):
    """What to read next; without an address while the manual is not published."""

    title: str
    address: str


class TakeHome(NamedTuple):
    """The whole list."""

    lessons: tuple[DoneLesson, ...]
    pairs: tuple[DonePair, ...]
    mistakes: tuple[MadeMistake, ...]
    readings: tuple[Reading, ...]


def take_home(classroom: Classroom, seat: RoomSeat) -> TakeHome:
    """Make the list of a seat, in the reader's language."""
    lessons, made, methods_left = [], dict[str, list[str]](), dict[str, str]()
    for name in seat.record.steps:
        lesson, kept = classroom.lesson_steps(spoken_language(), name), seat.steps_in(name)
        steps = tuple(_step(one, kept.get(str(at))) for at, one in enumerate(lesson.requests, 1))
        lessons.append(DoneLesson(lesson.title, steps))
        version = _version(lesson)
        for at, step in enumerate(steps, 1):
            codes = kept[str(at)].mistakes if str(at) in kept else []
            for code in codes:
                made.setdefault(code, []).append(f"{lesson.title}: {step.title or step.method}")
            if codes or step.state != "passed":
                methods_left.setdefault(step.method, methods.of(step.method).page_in(version))
    read = [Reading(f"MCP: {method}", page) for method, page in methods_left.items()]
    reading = (*read, *_manual())
    return TakeHome(tuple(lessons), tuple(_pairs(seat)), tuple(_mistakes(made)), reading)


def _step(step: DemoStep, kept: StepRecord | None) -> DoneStep:
    if kept is None:
        return DoneStep(step.title, step.method, "not begun", 0)
    found = {"given": kept.given, "passed": kept.passed, "tried": bool(kept.tries)}
    state = next((name for name, is_so in found.items() if is_so), "not begun")
    return DoneStep(step.title, step.method, state, kept.tries)


def _pairs(seat: RoomSeat) -> Iterator[DonePair]:
    for facts in (one.facts for one in reversed(seat.board.sessions())):
        if facts.client == PAIR_HOST:
            side = "model" if facts.role is Role.MODEL else "server"
            yield DonePair(side, len(seat.inbox.items(facts.name, ExchangeState.ANSWERED)))


def _version(lesson: LessonSteps) -> str:
    """Return the protocol version of a lesson."""
    hello = lesson.steps[0].params or {}
    return str(
        lesson.meta.get(versions.META_VERSION)
        or hello.get("protocolVersion", versions.LATEST_HANDSHAKE)
    )


def _mistakes(made: dict[str, list[str]]) -> Iterator[MadeMistake]:
    for code, steps in sorted(made.items(), key=lambda one: (-len(one[1]), one[0])):
        found = find_mistake(code)
        if found is not None:
            example = found.example
            wrong, right = (example.wrong, example.right) if example else ("", "")
            yield MadeMistake(found.title, "; ".join(steps), found.sentence, wrong, right)


def _manual() -> Iterator[Reading]:
    """Yield the pages of the manual for whoever goes on alone."""
    for page in _PAGES:
        address = published.manual(f"how-to/{page}", spoken_language())
        yield Reading(say(SECTION, f"home.{page}"), address)


def name_in_files(classroom: Classroom, seat: RoomSeat) -> str:
    """Return how a seat is called in what others may read. A learner types the name."""
    return without_secrets(classroom.name_of(seat))


def as_file(classroom: Classroom, seat: RoomSeat) -> str:
    """Return the list as a page that needs no other file."""
    css = (Path(__file__).parents[1] / "static" / "home.css").read_text(encoding="utf-8")
    return render(
        "classroom/home_file.html",
        home=take_home(classroom, seat),
        of=name_in_files(classroom, seat),
        style=Markup(f"<style>{css}</style>"),  # noqa: S704 - our own file
    )
