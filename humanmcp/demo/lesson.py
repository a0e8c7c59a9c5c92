"""A lesson as its lines tell it: which step a person is at, and what the host made of each answer.

Pure: it reads the lines of a session, and asks a host of its own what it understands of them. So a
desk that starts anew, and two desks on one inbox, show the same lesson.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from humanmcp.demo.good_host import GIVES_UP_AFTER, Answered, Failed, Ignored
from humanmcp.demo.passing import passes
from humanmcp.locales import problem, say
from humanmcp.protocol.conversation.transcript import Direction
from humanmcp.protocol.json.jsonrpc import Kind, Message, read

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


def lesson_of(frames: Iterable[Frame], course: Course, language: str) -> Lesson | None:
    """Read the lines of a session from its beginning; None when its client is another one."""
    host, wanted = course.host(), course.requests
    found: list[LessonStep] = []
    heard: list[Reaction] = []
    asked: Message | None = None
    for frame in frames:
        message = read(frame.raw)
        if frame.way is Direction.OUT:
            for reaction in host.take(frame.raw):
                heard.append(reaction)
                if found:
                    found[-1] = _after(found[-1], wanted[len(found) - 1], heard, language)
        elif not isinstance(message, Message):
            continue
        elif message.kind is Kind.REQUEST:
            asked = host.ask(message.method, message.params)
            if len(found) < len(wanted):
                step = wanted[len(found)]
                found.append(LessonStep(step.title, step.task, hints=step.hints))
                heard = []
        elif message.method == "notifications/cancelled" and asked is not None and found:
            host.give_up(asked, GIVES_UP_AFTER)
            found[-1] = _given_up(found[-1], wanted[len(found) - 1], heard, language)
    return Lesson(tuple(found), len(wanted)) if found else None


def _given_up(
    step: LessonStep, wanted: DemoStep, heard: list[Reaction], language: str
) -> LessonStep:
    """Return a step whose request has no answer: the host waits no longer."""
    said = say("demo", "waits-no-more", language, method=wanted.method)
    return replace(step, said=said, failed=not passes(wanted.passes, heard))


def _after(step: LessonStep, wanted: DemoStep, heard: list[Reaction], language: str) -> LessonStep:
    """Return a step as it stands after what the host made of a line, the last that it heard."""
    match reaction := heard[-1]:
        case Answered() | Failed():
            passed = passes(wanted.passes, heard)
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
    why = problem(ignored.problem, language) if ignored.problem else ""
    return say("demo", ignored.code, language, why=why, **ignored.fillings)


def understood(answer: Answered | Failed, language: str) -> str:
    """Say what the host makes of an answer, and what it tells its user."""
    if isinstance(answer, Answered):
        said = {name: cut(text, language) for name, text in answer.fillings.items()}
        return say("demo", answer.code, language, **said)
    why = say("demo", "unusable", language)
    if answer.problem is not None:
        why = problem(answer.problem, language)
    return say("demo", answer.code, language, method=answer.asked.method, why=why)


def cut(text: str, language: str) -> str:
    """Return a text as far as a screen can hold it."""
    if len(text) <= LONGEST_SHOWN:
        return text
    return text[:LONGEST_SHOWN] + say("demo", "cut", language, count=f"{len(text):,}")
