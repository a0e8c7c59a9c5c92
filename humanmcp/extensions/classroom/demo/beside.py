"""The lesson beside the requests of a desk, and the practice host that a press starts."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, ClassVar, Final

from markupsafe import Markup

from humanmcp.desk.moments import Listener, Panel
from humanmcp.desk.rendering import render
from humanmcp.desk.settings import own_request
from humanmcp.extensions.classroom.demo.lesson import (
    AT_DESK,
    WEATHER,
    lesson_of,
    lesson_of_client,
    weather,
)
from humanmcp.extensions.classroom.demo.steps import HOST
from humanmcp.locales import spoken_language

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path
    from typing import Any

    from starlette.requests import Request

    from humanmcp.extensions.classroom.demo.steps import LessonSteps
    from humanmcp.inbox.contract import Inbox, SessionFacts

LOG_NAME: Final = "demo.log"
MOST_LINES: Final = 1500
"""The number of lines of a session from which its lesson is read, including notes of HTTP."""


class LessonBeside(Listener):
    """Shows the lesson of a practice host at a person's own desk."""

    STARTS: ClassVar = True

    def __init__(self, home: Path) -> None:
        """`home` is the folder of the desk."""
        self._home = home

    def try_now(self, language: str, *, helps: bool) -> None:
        """Start the demo host. It ends with its session, and with the desk."""
        words = ["humanmcp.as_child", "demo", "--by-hand", *(() if helps else ("--handshake",))]
        own_request.start(words, self._home, language, LOG_NAME)

    def practises(self, client: str) -> bool:
        return client.startswith((HOST, AT_DESK))

    def panel(self, inbox: Inbox, request: Request, facts: SessionFacts) -> Panel | None:
        """Return the lesson of a practice host."""
        if facts.client == HOST:
            return lesson_panel(inbox, request, facts, weather(spoken_language()))
        made = lesson_of_client(facts.client, self._home)
        return made and lesson_panel(inbox, request, facts, made(spoken_language()))


def around_shown(values: Mapping[str, Any], path: str) -> Markup:
    """Return what the pages of a seat show above them."""
    now = datetime.now(UTC).timestamp()
    return Markup(render("classroom/around.html", around=values, path=path, now=now).strip())  # noqa: S704 - escaped


def lesson_panel(  # noqa: PLR0913 - the lesson, and where it is shown
    inbox: Inbox,
    request: Request,
    facts: SessionFacts,
    lesson_steps: LessonSteps,
    *,
    own: bool = False,
    around: Mapping[str, Any] | None = None,
) -> Panel | None:
    """Return the state of a lesson; None if there is none yet, or the person wants no help.

    `own` is that of a client under test, `around` what a room shows around its pages: there it
    is always shown.
    """
    if around is None and request.cookies.get("help") == "no":
        return None
    lesson = lesson_of(inbox.last_frames_before(facts.name, 0, MOST_LINES), lesson_steps, own=own)
    if lesson is None:
        return None
    is_demo = facts.client == HOST
    if around is not None:
        again = "/own" if around["role"] == "learner" and not own else ""
    else:
        again = f"{AT_DESK} {WEATHER}" if is_demo else facts.client
    shown = {"again": again, "is_demo": is_demo}
    values = {"lesson": lesson, "around": around, "facts": facts, **shown}
    found = (render(f"classroom/{name}.html", **values) for name in ("step", "ended"))
    return Panel(*map(Markup, found))
