"""The client of the lesson `sign-in`: it asks a person for each step, and again until it passes."""

from __future__ import annotations

import http.client
import json
import re
import subprocess
import sys
import threading
import time
from contextlib import ExitStack
from typing import TYPE_CHECKING, Final
from urllib.parse import parse_qsl, urlencode, urlsplit

from humanmcp import launch
from humanmcp.common.settings import home_folder, make_home
from humanmcp.common.terminal import to_stdout
from humanmcp.extensions.authority.answers import SECTION, Place
from humanmcp.extensions.authority.grants import challenge_of, new_secret
from humanmcp.extensions.authority.lesson import MOST_LINES, TITLE, lesson_of, words
from humanmcp.extensions.authority.orders import ORDER
from humanmcp.extensions.authority.steps import Step, WebResponse
from humanmcp.inbox import open_inbox
from humanmcp.inbox.contract import Order, Reply
from humanmcp.locales import say, spoken_language
from humanmcp.protocol.http.outbound import JSON, PATH

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path
    from typing import Self

    from humanmcp.common.settings import Settings
    from humanmcp.extensions.authority.lesson import LessonStep

_LOOK_EVERY: Final = 0.05
_INITIALIZE: Final = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "Practice client", "version": "1"},
    },
}


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
        with ExitStack() as stack:
            desk = stack.enter_context(launch.DeskOfCommand(home))
            server = stack.enter_context(_Server(home))
            session = server.session
            client = _Client(server.port, server.order)
            address = launch.login_address(desk.facts())
            opens = launch.open_in_browser(home, desk.facts().address, address) if opened else ""
            to_stdout(say(SECTION, "lesson begins", address=address, opens=opens))
            lesson = lesson_of(())
            try:
                while step := lesson.open:
                    to_stdout(f"{step.number}/{lesson.total}  {step.title}\n  {step.task}")
                    client.ask(step, is_again=lesson.failed)
                    frames = server.inbox.last_frames_before(session, 0, MOST_LINES)
                    lesson = lesson_of(frames)
                    to_stdout(f"  {lesson.said}")
            except KeyboardInterrupt:
                return 130, lesson.at
            except OSError:
                return 1, lesson.at
            return 0, lesson.at


class _Server(ExitStack):
    """The server of the lesson, as a child of this process; what it kept goes with it."""

    def __init__(self, home: Path) -> None:
        super().__init__()
        self._home = home
        self.inbox = open_inbox(home)

    def __enter__(self) -> Self:
        served = ("serve", "--http", "127.0.0.1", "--oauth", "--title", TITLE)
        flags = ("--home", str(self._home), "--lang", spoken_language())
        child = subprocess.Popen(  # noqa: S603 - our own program
            [sys.executable, "-m", "humanmcp.as_child", *served, *flags],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            encoding="utf-8",
        )
        self.enter_context(child)
        self.callback(child.terminate)
        found = None
        assert child.stderr is not None  # noqa: S101 - Popen made the pipe
        while found is None:
            line = child.stderr.readline()
            if not line:
                raise ConnectionRefusedError
            found = re.search(r"http://[\d.]+:(\d+)/", line)
        self.port = int(found[1])
        threading.Thread(target=child.stderr.read, daemon=True).start()
        kept = self._home / SECTION / f"{self.port}.json"
        self.callback(kept.unlink, missing_ok=True)
        while not (names := self._sessions(child.pid)):
            time.sleep(_LOOK_EVERY)
        self.session, self._child = names[0], child
        return self

    def order(self, order: str) -> None:
        """Order something of the authority, and wait until it is followed.

        Raises:
            ConnectionRefusedError: it has ended.
        """
        ticket = self.inbox.submit(self.session, Reply(f"{ORDER} {order}", order=Order.EXTENSION))
        while self.inbox.outgoing_result(self.session, ticket) is None:
            if self._child.poll() is not None:
                raise ConnectionRefusedError
            time.sleep(_LOOK_EVERY)

    def _sessions(self, pid: int) -> list[str]:
        own = (one for one in self.inbox.sessions() if one.title == TITLE)
        return [one.name for one in own if one.pid == pid]


class _Client:
    """A client that waits for as long as a person likes. It keeps what it is given."""

    def __init__(self, port: int, order: Callable[[str], None]) -> None:
        self._port, self._order = port, order
        self._place = Place(f"http://127.0.0.1:{port}")
        self._ids: dict[str, str] = {}
        """Its registrations, by where the browser goes."""
        self._verifier = new_secret()
        self._code = self._token = self._refresh = ""

    def ask(self, step: LessonStep, *, is_again: bool) -> None:
        """Ask for one step, and wait for the answer."""
        if step.step != Step.AUTHORIZE:
            self._order(f"hand {step.step}")
        match step.step:
            case Step.CHALLENGE if not self._token:
                self._send("POST", PATH, _INITIALIZE)
            case Step.CHALLENGE:
                self._order("refuse")
                call = {"jsonrpc": "2.0", "id": 2, "method": "tools/call"}
                self._send("POST", PATH, call | {"params": {"name": "write"}}, self._token)
            case Step.RESOURCE:
                self._send("GET", urlsplit(self._place.resource_metadata).path)
            case Step.SERVER:
                self._send("GET", f"/.well-known/oauth-authorization-server{self._place.path}")
            case Step.REGISTER:
                self._register(step)
            case Step.AUTHORIZE:
                if step.redirect not in self._ids or not self._authorize(step.redirect):
                    self._order("rule registration")  # the id that a person wrote is nobody's
                    self._register(step)
                    self._authorize(step.redirect)
            case Step.TOKEN:
                self._exchange(is_again=is_again)

    def _send(
        self, method: str, path: str, body: object = None, token: str = "", kind: str = JSON
    ) -> WebResponse:
        """Send a request. Return the response; one of the status 0 if it cannot be read."""
        headers = {"Accept": f"{JSON}, text/event-stream", "User-Agent": "Practice client"}
        headers |= {"Content-Type": kind} if body is not None else {}
        headers |= {"Authorization": f"Bearer {token}"} if token else {}
        sent = body if body is None or isinstance(body, str) else json.dumps(body)
        connection = http.client.HTTPConnection("127.0.0.1", self._port)
        try:
            connection.request(method, path, sent, headers)
            response = connection.getresponse()
            content = response.read().decode("utf-8", "replace")
        except http.client.HTTPException:  # more headers than it reads, say
            return WebResponse(0)
        finally:
            connection.close()
        return WebResponse(response.status, (*response.getheaders(),), content)

    def _register(self, step: LessonStep) -> None:
        members = {
            "client_name": step.client,
            "redirect_uris": [step.redirect],
            "token_endpoint_auth_method": "none",
            "application_type": "native",
            "scope": "read write",
        }
        said = self._send("POST", f"{self._place.path}/register", members)
        self._ids[step.redirect] = str(said.members.get("client_id", ""))

    def _authorize(self, redirect: str) -> bool:
        """Ask for consent, and keep the code. Returns whether a person was asked."""
        query = {
            "response_type": "code",
            "client_id": self._ids[redirect],
            "redirect_uri": redirect,
            "code_challenge": challenge_of(self._verifier),
            "code_challenge_method": "S256",
            "scope": "read write",
            "state": new_secret(),
            "resource": self._place.resource,
        }
        self._redirect = redirect
        said = self._send("GET", f"{self._place.path}/authorize?{urlencode(query)}")
        location = said.header("location")
        self._code = dict(parse_qsl(urlsplit(location).query)).get("code", "")
        return bool(location)

    def _exchange(self, *, is_again: bool) -> None:
        """Exchange the code; once it is used, the refresh token, or a code for another consent."""
        form = {"client_id": self._ids[self._redirect], "resource": self._place.resource}
        if is_again and self._refresh:
            form |= {"grant_type": "refresh_token", "refresh_token": self._refresh}
        else:
            if is_again:
                self._authorize(self._redirect)
            form |= {"grant_type": "authorization_code", "code": self._code}
            form |= {"redirect_uri": self._redirect, "code_verifier": self._verifier}
        encoded = "application/x-www-form-urlencoded"
        said = self._send("POST", f"{self._place.path}/token", urlencode(form), kind=encoded)
        self._token = str(said.members.get("access_token", ""))
        self._refresh = str(said.members.get("refresh_token", ""))


LESSON: Final = SignInLesson()
