"""The lesson `sign-in`: what its client asks, which answers pass, and how far a session has come.

Pure but for `lesson.toml`: a lesson is read from the lines of its session, so each desk shows it.
"""

from __future__ import annotations

import tomllib
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from markupsafe import Markup

from humanmcp.answering.own_words import is_own
from humanmcp.desk.moments import Listener, Panel
from humanmcp.desk.rendering import render
from humanmcp.extensions.authority.answers import SECTION
from humanmcp.extensions.authority.steps import read_response
from humanmcp.locales import in_one_language, say, spoken_language
from humanmcp.protocol.conversation.transcript import Direction, is_of_step

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from starlette.requests import Request

    from humanmcp.extensions.authority.steps import WebResponse
    from humanmcp.inbox.contract import Inbox, SessionFacts
    from humanmcp.protocol.conversation.transcript import Frame

TITLE: Final = "humanmcp lesson sign-in"
"""The title of the lesson's session."""
MOST_LINES: Final = 1_000
_BY_RULE: Final = f"{SECTION}: rule"


class LessonStep(NamedTuple):
    """A request of the client, in the language of the reader."""

    number: int
    step: str
    title: str
    task: str
    hint: str
    passes: Sequence[dict[str, Any]]
    client: str = ""
    redirect: str = ""

    def missing(self, answer: WebResponse | None) -> str:
        """Say why an answer does not pass; "" if it does."""
        why = (one["why"] for one in self.passes if answer is None or not _is_met(one, answer))
        return next(why, "")


def _is_met(wanted: dict[str, Any], answer: WebResponse) -> bool:
    got = answer.part(wanted["at"])
    if "own" in wanted:
        return is_own(got, wanted["own"])
    if "other" in wanted:
        return bool(got) and got not in wanted["other"]
    if "is" in wanted:
        return bool(got == wanted["is"])
    return isinstance(got, str | list) and wanted["has"] in got


class Lesson(NamedTuple):
    """How far a session has come: `at` counts the steps that passed."""

    steps: Sequence[LessonStep]
    at: int = 0
    said: str = ""
    """What became of the last answer."""
    failed: bool = False

    @property
    def open(self) -> LessonStep | None:
        """The step that is asked now; None at the end."""
        return self.steps[self.at] if self.at < len(self.steps) else None

    @property
    def total(self) -> int:
        return self.steps[-1].number


@cache
def _written() -> Any:  # noqa: ANN401 - the types of TOML
    return tomllib.loads(Path(__file__).with_name("lesson.toml").read_text("utf-8"))


def words(name: str, language: str = "") -> str:
    """Return `title` or `teaches` of the lesson."""
    found: str = _written()[name][language or spoken_language()]
    return found


def requests() -> Mapping[str, str]:
    """Return what the client sends, by its name: that of a step, or of one that comes again."""
    found: Mapping[str, str] = _written()["requests"]
    return found


def lesson_of(frames: Iterable[Frame], language: str = "") -> Lesson:
    """Read how far a session has come: by the answers of its person, in their order."""
    spoken = in_one_language(_written()["steps"], language or spoken_language())
    found = Lesson([LessonStep(**one) for one in spoken])
    for frame in frames:
        step = found.open
        if step is None:
            break
        is_answer = frame.direction is Direction.OUT and is_of_step(frame)
        if is_answer and frame.note.split()[2] == step.step and not frame.by.startswith(_BY_RULE):
            why = step.missing(read_response(frame.text)[0])
            told = say(SECTION, "not passed", why=why) if why else say(SECTION, "passed")
            found = found._replace(at=found.at + (not why), said=told, failed=bool(why))
    return found


class LessonBeside(Listener):
    """Shows the lesson above the step that waits."""

    def __init__(self, home: Path) -> None:
        """`home` is the folder of the desk."""
        self._home = home

    def panel(self, inbox: Inbox, request: Request, facts: SessionFacts) -> Panel | None:
        """Return the lesson of its session."""
        del request
        if facts.title != TITLE:
            return None
        lesson = lesson_of(inbox.last_frames_before(facts.name, 0, MOST_LINES))
        shown = render("authority/lesson.html", lesson=lesson, facts=facts)
        return Panel(Markup(shown), Markup(shown))  # noqa: S704 - a template has escaped it
