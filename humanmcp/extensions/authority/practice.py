"""The client of the lesson `sign-in`: it asks a person for each step, and again until it passes.

Its authority is in this process, and so is the way to it: nothing listens at an address. Each of
its requests is a text of `lesson.toml`, with what the client has in the place of names in braces.
"""

from __future__ import annotations

import os
import re
import threading
import time
from contextlib import ExitStack, contextmanager
from queue import SimpleQueue
from typing import TYPE_CHECKING, Final
from urllib.parse import parse_qsl, urlsplit

from humanmcp import launch
from humanmcp.common.settings import home_folder, make_home
from humanmcp.common.terminal import to_stdout
from humanmcp.extensions.authority.answers import SECTION, Asked, Place
from humanmcp.extensions.authority.grants import challenge_of, new_secret
from humanmcp.extensions.authority.kind import request_in
from humanmcp.extensions.authority.lesson import MOST_LINES, TITLE, lesson_of, requests, words
from humanmcp.extensions.authority.session import AuthoritySession, Outgoing, Ticket
from humanmcp.extensions.authority.steps import Step
from humanmcp.inbox import open_inbox
from humanmcp.inbox.attendant import Attendant
from humanmcp.locales import say

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from humanmcp.common.settings import Settings
    from humanmcp.extensions.authority.lesson import LessonStep
    from humanmcp.inbox.contract import Inbox

_PLACE: Final = Place("https://mcp.example")
_LOOK_EVERY: Final = 0.05
_GIVES: Final = {
    Step.REGISTER: ("client_id",),
    Step.AUTHORIZE: ("code",),
    Step.TOKEN: ("access_token", "refresh_token"),
}
"""What a client keeps of an answer; what is missing there it has no more."""


class SignInLesson:
    """A lesson to take alone: it is in `lessons` of the extension."""

    @property
    def title(self) -> str:
        return words("title")

    @property
    def teaches(self) -> str:
        return words("teaches")

    @property
    def count(self) -> int:
        return len(lesson_of(()).steps)

    def play(self, settings: Settings, *, opened: bool) -> tuple[int, int]:
        """Play it at the desk of a folder. Return the exit status, and how many steps passed."""
        home = make_home(home_folder(settings.home))
        inbox, lesson = open_inbox(home), lesson_of(())
        with ExitStack() as stack:
            desk = stack.enter_context(launch.DeskOfCommand(home))
            session = stack.enter_context(_served(inbox, home))
            client = _Client(session)
            address = launch.login_address(desk.facts())
            opens = launch.open_in_browser(home, desk.facts().address, address) if opened else ""
            to_stdout(say(SECTION, "lesson begins", address=address, opens=opens))
            try:
                while step := lesson.open:
                    to_stdout(f"{step.number}/{lesson.total}  {step.title}\n  {step.task}")
                    client.ask(step, is_again=lesson.failed)
                    lesson = lesson_of(inbox.last_frames_before(session.name, 0, MOST_LINES))
                    to_stdout(f"  {lesson.said}")
            except KeyboardInterrupt:
                return 130, lesson.at
            except OSError:
                return 1, lesson.at
            return 0, lesson.at


@contextmanager
def _served(inbox: Inbox, home: Path) -> Iterator[AuthoritySession]:
    """Run the authority of the lesson; what it kept goes with it."""
    kept = home / SECTION / f"lesson-{os.getpid()}.json"
    session, attendant = AuthoritySession(inbox, kept, TITLE), Attendant()
    attendant.attend(session)
    thread = threading.Thread(target=attendant.run, daemon=True)
    thread.start()
    try:
        yield session
    finally:
        attendant.stop()
        thread.join()
        kept.unlink(missing_ok=True)


class _Client:
    """A client that waits for as long as a person likes. It keeps what it is given, by its name."""

    def __init__(self, session: AuthoritySession) -> None:
        self._session = session
        verifier = new_secret()
        self._has = {"verifier": verifier, "challenge": challenge_of(verifier)}
        self._has |= {"state": new_secret(), "redirect": "", "access_token": ""}

    def ask(self, step: LessonStep, *, is_again: bool) -> None:
        """Ask for one step, and wait for the answer.

        Raises:
            OSError: the disk is full, say.
        """
        has, name = self._has, step.step
        is_other = step.redirect not in ("", has["redirect"])
        if is_other:
            has |= {"redirect": step.redirect, "client": step.client}
        if name != Step.AUTHORIZE:
            self._session.order(f"hand {name}")
        elif is_other:  # the browser goes elsewhere: for the authority this is another client
            self._session.order(f"rule {Step.REGISTER}")
            self._send(Step.REGISTER)
        has_token = has["refresh_token" if name == Step.TOKEN and is_again else "access_token"]
        if name == Step.TOKEN and is_again and not has_token:
            self._send(Step.AUTHORIZE)  # its code is used
        is_second = has_token and f"{name} again" in requests()
        self._send(f"{name} again" if is_second else name)

    def _send(self, name: str) -> None:
        text = re.sub(r"\{(\w+)\}", lambda one: self._has[one[1]], requests()[name])
        request, step = request_in(text), Step(name.partition(" ")[0])
        error = "invalid_token" if request.header("authorization") else ""
        heard: SimpleQueue[Outgoing | Ticket | None] = SimpleQueue()
        self._session.ask(Asked(step, _PLACE, request, error), heard.put)
        found = _said(heard)
        if isinstance(found, Ticket):
            self._session.await_decision(found.name, heard.put)
            found = _said(heard)
        if not isinstance(found, Outgoing) or not found.number:
            raise ConnectionAbortedError
        self._session.was_written(found.number, written=True)
        said = found.response
        given = said.members | dict(parse_qsl(urlsplit(said.header("location")).query))
        self._has |= {name: str(given.get(name, "")) for name in _GIVES.get(step, ())}


def _said(heard: SimpleQueue[Outgoing | Ticket | None]) -> Outgoing | Ticket | None:
    """Wait for an answer. Ctrl-C ends this also where it does not end a wait in a queue."""
    while heard.empty():
        time.sleep(_LOOK_EVERY)
    return heard.get()


LESSON: Final = SignInLesson()
