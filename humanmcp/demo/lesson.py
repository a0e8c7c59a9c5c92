"""A lesson as its lines tell it: which step a person is at, and what the host made of each answer.

Pure: it reads the lines of a session, and asks a host of its own what it understands of them. So a
desk that starts anew, and two desks on one inbox, show the same lesson.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from humanmcp.answering.summary import message_in
from humanmcp.demo.good_host import GIVES_UP_AFTER, Answered, Failed, Ignored
from humanmcp.locales import describe, say
from humanmcp.protocol.conversation.transcript import Direction
from humanmcp.protocol.json.jsonrpc import Kind, Message

if TYPE_CHECKING:
    from collections.abc import Iterable

    from humanmcp.demo.good_host import Reaction
    from humanmcp.demo.steps import Course, DemoStep
    from humanmcp.protocol.conversation.transcript import Frame

LONGEST_SHOWN: Final = 1_000
"""Characters of one line or text that are shown: a huge answer must not flood a screen."""


@dataclass(frozen=True, slots=True)
class LessonStep:
    """One request of the lesson, in the reader's language. `said` is "" until it has its answer."""

    title: str
    task: str
    said: str = ""
    failed: bool = False
    hints: tuple[str, ...] = ()
    waits: bool = False
    """Whether nothing is missing but a sign of life of a client of one's own."""
    before: str = ""
    """What the host made of the last answer, where it asks the same again."""


@dataclass(frozen=True, slots=True)
class Lesson:
    """The requests that came so far, of `total`; the last of them may still be open."""

    steps: tuple[LessonStep, ...]
    total: int

    @property
    def passed(self) -> bool:
        """Whether every request passed."""
        return len(self.answered) == self.total and not any(one.failed for one in self.steps)

    @property
    def answered(self) -> tuple[LessonStep, ...]:
        """The requests that have an answer."""
        return tuple(one for one in self.steps if one.said)


def lesson_of(
    frames: Iterable[Frame], course: Course, language: str, *, own: bool = False
) -> Lesson | None:
    """Read the lines of a session from its beginning; None when its client is another one.

    Of a client of one's `own` it is not known what it understands: that it lived through something
    is shown by the next thing that it says.
    """
    reading = _Reading(course, language, own=own)
    for frame in frames:
        message = message_in(frame)
        if frame.direction is Direction.OUT:
            reading.said(frame.raw, message)
        elif isinstance(message, Message):
            reading.heard(message)
    return Lesson(tuple(reading.found), len(course.requests)) if reading.found else None


class _Reading:
    """A lesson as far as it was read."""

    def __init__(self, course: Course, language: str, *, own: bool) -> None:
        self.found: list[LessonStep] = []
        self._course, self._host, self._wanted = course, course.host(), course.requests
        self._language = language
        self._own = own
        self._reactions: list[Reaction] = []
        self._asked: dict[tuple[str, str | int | float], Message] = {}
        """What the host asks in the place of each request, by its id."""

    @property
    def _step(self) -> DemoStep:
        return self._wanted[len(self.found) - 1]

    def said(self, line: bytes, message: object) -> None:
        """Take a line that the client was told."""
        if self._own and isinstance(message, Message) and message.id is not None:
            request = self._asked.get(message.id.key)
            if request is not None and not message.method:
                line = json.dumps({**message.body, "id": request.body["id"]}).encode()
        for reaction in self._host.take(line):
            self._reactions.append(reaction)
            if self.found:
                self._react()

    @property
    def _passed(self) -> bool:
        return self._course.passes(len(self.found) - 1, self._reactions, self._host.tools)

    def _react(self) -> None:
        reactions, language = self._reactions, self._language
        step = _after(self.found[-1], self._step, reactions, language, passed=self._passed)
        if self._own and self._step.passes.survives and step.said and not step.failed:
            said = f"{step.said} {say('demo', 'goes-on', self._language)}"
            step = replace(step, said=said, failed=True, waits=True)
        self.found[-1] = step

    def heard(self, message: Message) -> None:
        """Take a message of the client."""
        if self.found and self.found[-1].waits:
            self.found[-1] = replace(self.found[-1], failed=False, waits=False)
        if message.kind is Kind.REQUEST and message.id is not None:
            self._asked[message.id.key] = self._host.ask(message.method, message.params)
            self._begin(message.method)
        elif message.method == "notifications/cancelled" and self.found:
            self._give_up(message.params.get("requestId"))

    def _begin(self, method: str) -> None:
        """Begin the next step, or the last one again, if it is this that the lesson asks for."""
        at = len(self.found)
        if at and self._is_again(method):
            self.found[-1] = replace(
                self.found[-1], said="", failed=False, before=self.found[-1].said
            )
            self._reactions = []
        elif at < len(self._wanted) and method == self._wanted[at].method:
            step = self._wanted[at]
            self.found.append(LessonStep(step.title, step.task, hints=step.hints))
            self._reactions = []

    def _is_again(self, method: str) -> bool:
        """Return True if the host cannot go on from the last answer, and asks the same again."""
        at, last = len(self.found) - 1, self.found[-1]
        return (
            bool(last.said)
            and last.failed
            and method == self._wanted[at].method
            and not self._course.leads_on(at, self._host.tools, passed=False)
        )

    def _give_up(self, id_: object) -> None:
        request = next((one for key, one in self._asked.items() if key[-1] == id_), None)
        if request is not None:
            self._host.give_up(request, GIVES_UP_AFTER)
            said = say("demo", "waits-no-more", self._language, method=self._step.method)
            self.found[-1] = replace(self.found[-1], said=said, failed=not self._passed)


def _after(
    step: LessonStep, wanted: DemoStep, heard: list[Reaction], language: str, *, passed: bool
) -> LessonStep:
    """Return a step as it stands after what the host made of a line, the last that it heard."""
    match reaction := heard[-1]:
        case Answered() | Failed():
            said = understood(reaction, language)
            if not passed and isinstance(reaction, Answered):
                said += " " + not_passed(wanted, language)
            return replace(step, said=said, failed=not passed)
        case Ignored() if reaction.is_in_vain and not step.said:
            waits = say("demo", "still-waits", language, seconds=f"{GIVES_UP_AFTER:g}")
            return replace(step, task=f"{why_ignored(reaction, language)} {waits}")
        case _:
            return step


def not_passed(step: DemoStep, language: str) -> str:
    """Say that an answer is not what a step is about, with the step's first hint."""
    return " ".join((say("demo", "not-passed", language), *step.hints[:1]))


def why_ignored(ignored: Ignored, language: str) -> str:
    """Say why a line changes nothing for the host."""
    why = describe(ignored.diagnostic, language) if ignored.diagnostic else ""
    return say("demo", ignored.code, language, why=why, **ignored.fillings)


def understood(answer: Answered | Failed, language: str) -> str:
    """Say what the host makes of an answer, and what it tells its user."""
    if isinstance(answer, Answered):
        said = {name: cut(text, language) for name, text in answer.fillings.items()}
        return say("demo", answer.code, language, **said)
    why = say("demo", "unusable", language)
    if answer.diagnostic is not None:
        why = describe(answer.diagnostic, language)
    return say("demo", answer.code, language, method=answer.request.method, why=why)


def cut(text: str, language: str) -> str:
    """Return a text as far as a screen can hold it."""
    if len(text) <= LONGEST_SHOWN:
        return text
    return text[:LONGEST_SHOWN] + say("demo", "cut", language, count=f"{len(text):,}")
