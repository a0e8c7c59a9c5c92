"""The demo as a lesson: which step a person is at, and what the host made of each answer.

Pure: it reads the lines of a session, and asks a host of its own what it understands of them. So a
desk that starts anew, and two desks on one inbox, show the same lesson.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from humanmcp.demo import steps
from humanmcp.demo.good_host import GIVES_UP_AFTER, Answered, Failed, GoodHost, Ignored
from humanmcp.locales import problem, say
from humanmcp.protocol.conversation.transcript import Direction
from humanmcp.protocol.json.jsonrpc import Kind, Message, read

if TYPE_CHECKING:
    from collections.abc import Iterable

    from humanmcp.demo.good_host import Reaction
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


@dataclass(frozen=True, slots=True)
class Lesson:
    """The requests that came so far, of `total`; the last of them may still be open."""

    steps: tuple[LessonStep, ...]
    total: int

    @property
    def answered(self) -> tuple[LessonStep, ...]:
        """The requests that have an answer."""
        return tuple(one for one in self.steps if one.said)


def lesson_of(frames: Iterable[Frame], language: str) -> Lesson | None:
    """Read the lines of a session from its beginning; None when its client is another one."""
    host, wanted = GoodHost(), steps.requests(language)
    found: list[LessonStep] = []
    for frame in frames:
        message = read(frame.raw)
        if frame.way is Direction.OUT:
            for reaction in host.take(frame.raw):
                if found:
                    found[-1] = _after(found[-1], reaction, language)
        elif isinstance(message, Message) and message.kind is Kind.REQUEST:
            host.ask(message.method, message.params)
            if len(found) < len(wanted):
                found.append(_step(wanted[len(found)].code, language))
    return Lesson(tuple(found), len(wanted)) if found else None


def _step(code: str, language: str) -> LessonStep:
    return LessonStep(say("demo", f"{code}-title", language), say("demo", f"{code}-task", language))


def _after(step: LessonStep, reaction: Reaction, language: str) -> LessonStep:
    """Return a step as it stands after what the host made of a line."""
    match reaction:
        case Answered() | Failed():
            said, failed = understood(reaction, language), isinstance(reaction, Failed)
            return replace(step, said=said, failed=failed)
        case Ignored() if reaction.is_in_vain and not step.said:
            waits = say("demo", "still-waits", language, seconds=f"{GIVES_UP_AFTER:g}")
            return replace(step, task=f"{why_ignored(reaction, language)} {waits}")
        case _:
            return step


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
