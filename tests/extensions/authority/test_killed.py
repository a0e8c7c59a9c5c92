"""An authority that is killed, or whose disk is full, at each write of a sign-in.

Its client goes on with the next process, as a real one does: what it has counts, or is refused in
words. Each run is a fork that breaks at its n-th call that changes the folder: for each n with
`RUNS=200 pytest` on this file, for some without it.
"""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, suppress
from functools import partial
from pathlib import Path
from typing import Final, TypeAlias
from urllib.parse import parse_qsl, urlencode, urlsplit

import pytest

from humanmcp.extensions.authority.answers import Asked, Place
from humanmcp.extensions.authority.grants import challenge_of
from humanmcp.extensions.authority.session import AuthoritySession, Outgoing, Ticket
from humanmcp.extensions.authority.steps import Step, WebRequest
from humanmcp.inbox.contract import Key, Reply
from humanmcp.inbox.folder import FolderInbox
from humanmcp.protocol.diagnostics.model import TextForm
from tests.inbox.crashing import Countdown, failing_at, killing_at

PLACE: Final = Place("http://127.0.0.1:8080")
URI: Final = "http://127.0.0.1:3999/cb"
VERIFIER: Final = "v" * 50
NAME: Final = "Hiking app"
RUNS: Final = int(os.environ.get("RUNS", "25"))
"""About how often each way is tried."""

Broken: TypeAlias = AbstractContextManager[Countdown]


class Client:
    """A client of a session. It tells of each value that it has, as soon as it has it."""

    def __init__(self, home: Path, tell: Callable[[str, object], object] = lambda *_: None) -> None:
        """`tell` is called with the name of a value and the value."""
        self.tell = tell
        self.session = AuthoritySession(FolderInbox(home), home / "kept.json", "")
        self.inbox = FolderInbox(home)

    def ask(self, step: Step, **asked: str) -> Outgoing | Ticket:
        """Bring a request. Returns what is said at once."""
        told: list[Outgoing | Ticket] = []
        query = urlencode(asked) if step is Step.AUTHORIZE else ""
        body = "" if query else urlencode(asked)
        if step is Step.REGISTER:
            members = {"redirect_uris": [URI], "token_endpoint_auth_method": "none"}
            body = json.dumps({"client_name": NAME, **members})
        method = "GET" if query else "POST"
        request = WebRequest(method, "/", query, body=body)
        self.session.ask(Asked(step, PLACE, request), told.append)
        self.session.step(time.monotonic())
        (found,) = told
        if isinstance(found, Outgoing):
            for name in ("client_id", "access_token", "refresh_token"):
                if name in found.response.members:
                    self.tell(name, found.response.members[name])
            self.session.was_written(found.number, written=True)
            self.session.step(time.monotonic())
        return found

    def register(self) -> str:
        """Register. Returns the id."""
        got = self.ask(Step.REGISTER)
        assert isinstance(got, Outgoing)
        return str(got.response.members.get("client_id", ""))

    def authorize(self, client: str) -> Ticket | None:
        """Open the page of a consent; None if there is none."""
        found = self.ask(
            Step.AUTHORIZE,
            client_id=client,
            redirect_uri=URI,
            response_type="code",
            code_challenge=challenge_of(VERIFIER),
            code_challenge_method="S256",
        )
        return found if isinstance(found, Ticket) else None

    def fetch(self, ticket: Ticket) -> str:
        """Return the code of a consent that a person has decided, "" without one."""
        due = self.session.step(time.monotonic())
        assert due is not None
        told: list[Outgoing | None] = []
        self.session.await_decision(ticket.name, told.append)
        self.session.step(due)
        if not told or told[0] is None:
            return ""
        code = dict(parse_qsl(urlsplit(told[0].response.header("location")).query)).get("code", "")
        self.tell("code", code)
        self.session.was_written(told[0].number, written=True)
        self.session.step(time.monotonic())
        return code

    def token(self, client: str, **form: str) -> Outgoing:
        """Ask for a token. Whatever is refused is refused in words."""
        got = self.ask(
            Step.TOKEN, client_id=client, redirect_uri=URI, code_verifier=VERIFIER, **form
        )
        assert isinstance(got, Outgoing)
        is_refused = got.response.status != 200
        assert not is_refused or got.response.status == 503 or got.response.members["error"]
        return got

    def exchange(self, client: str, code: str) -> int:
        """Exchange a code. Returns the status."""
        return self.token(client, grant_type="authorization_code", code=code).response.status

    def refresh(self, client: str, refresh_token: str) -> int:
        """Exchange a refresh token. Returns the status."""
        got = self.token(client, grant_type="refresh_token", refresh_token=refresh_token)
        return got.response.status

    def is_let_in(self, access_token: str) -> bool:
        """Whether a token counts."""
        return self.session.grant_of(access_token, PLACE)[0] is not None


class Run:
    """A process that serves a sign-in until it dies, and what its client was told until then."""

    def __init__(self, home: Path, breaks: Callable[[], Broken], answer: str) -> None:
        """`answer` is the person's: "allow" or "deny"."""
        self.home, self.answer = home, answer
        self.said: dict[str, list[str]] = {}
        self.allowed = False
        from_child, to_parent = os.pipe()
        from_parent, to_child = os.pipe()
        child = os.fork()
        if child == 0:
            with suppress(BaseException):
                self._serve(breaks, to_parent, from_parent)
            os.kill(os.getpid(), signal.SIGKILL)
        os.close(to_parent)
        os.close(from_parent)
        with os.fdopen(from_child, encoding="utf-8") as lines, os.fdopen(to_child, "wb", 0) as back:
            for line in lines:
                name, value = json.loads(line)
                if name == "waits":
                    self._decide(*value)
                    with suppress(BrokenPipeError):
                        back.write(b"\n")
                else:
                    self.said.setdefault(name, []).append(value)
        os.waitpid(child, 0)

    def _serve(self, breaks: Callable[[], Broken], to_parent: int, from_parent: int) -> None:
        write = os.write  # the pipe is no disk

        def tell(name: str, value: object) -> None:
            write(to_parent, f"{json.dumps([name, value])}\n".encode())

        with breaks() as countdown:
            served(Client(self.home, tell), tell, from_parent)
            tell("calls", str(countdown.count))

    def _decide(self, session: str, number: int) -> None:
        """Answer as a person does, in another process than the authority's."""
        inbox, key = FolderInbox(self.home), Key(session, number)
        text = json.loads(inbox.item(key).context)["ready"][self.answer]
        self.allowed = self.answer == "allow"
        inbox.send(key, Reply(text, TextForm.STEP, by="terminal"))

    def got(self, name: str, at: int = 0) -> str:
        """Return a value that the client was given, "" if it was not."""
        values = self.said.get(name, [])
        return values[at] if at < len(values) else ""


def served(client: Client, tell: Callable[[str, object], object], from_parent: int) -> None:
    """Sign in, refresh, and end."""
    own = client.register()
    ticket = client.authorize(own)
    assert ticket is not None
    tell("waits", [client.session.name, ticket.number])
    os.read(from_parent, 1)
    if code := client.fetch(ticket):
        got = client.token(own, grant_type="authorization_code", code=code)
        client.refresh(own, str(got.response.members.get("refresh_token", "")))
    client.session.leave()


def goes_on(run: Run) -> None:
    """Start the authority again, and let the client go on from where it was."""
    kept = run.home / "kept.json"
    record = json.loads(kept.read_text()) if kept.exists() else {"grants": []}
    assert run.allowed or not record["grants"]
    client = Client(run.home)
    assert not client.session.is_lost
    own = run.got("client_id") or client.register()
    if code := run.got("code"):
        assert client.exchange(own, code) == 400  # codes end with their process
    first, second = run.got("refresh_token"), run.got("refresh_token", 1)
    if second:
        assert client.is_let_in(run.got("access_token", 1))
        assert not client.is_let_in(run.got("access_token"))
        assert client.refresh(own, first) == 400
        assert not client.is_let_in(run.got("access_token", 1))  # RFC 9700, 4.14.2
    elif first:
        again = client.refresh(own, first)  # the client had no answer
        assert again in {200, 400}
        assert client.refresh(own, first) == 400
    ticket = client.authorize(own)
    assert ticket is not None
    assert client.inbox.facts(client.session.name).client == NAME
    assert client.fetch(ticket) == ""
    key = Key(client.session.name, ticket.number)
    text = json.loads(client.inbox.item(key).context)["ready"]["allow"]
    client.inbox.send(key, Reply(text, TextForm.STEP, by="terminal"))
    code = client.fetch(ticket)
    assert [client.exchange(own, code) for _ in range(2)] == [200, 400]
    client.session.leave()


WAYS: Final[dict[str, tuple[Callable[[int], Broken], str]]] = {
    "killed, then allowed": (killing_at, "allow"),
    "killed, then denied": (killing_at, "deny"),
    "one write fails": (failing_at, "allow"),
    "the disk stays full": (partial(failing_at, once=False), "allow"),
}


@pytest.mark.parametrize("way", WAYS)
def test_a_sign_in_that_breaks_at_a_write_goes_on_or_ends_in_words(
    tmp_path: Path, way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No code and no token counts twice, and there is no grant without a person's yes."""
    for name in ("atomic.fdatasync", "transcript_writer.fdatasync", "atomic.os.fsync"):
        monkeypatch.setattr(f"humanmcp.inbox.{name}", lambda _: None)  # no power fails here
    breaks_at, answer = WAYS[way]
    calls = int(Run(tmp_path / "whole", partial(killing_at, 10_000), answer).got("calls"))
    for call in range(1, calls + 1, max(1, calls // RUNS)):
        goes_on(Run(tmp_path / str(call), partial(breaks_at, call), answer))
