"""A session in this process: what a decision makes, and what becomes of those nobody fetches."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlencode

import pytest

from humanmcp.extensions.authority.answers import Place
from humanmcp.extensions.authority.grants import CODE_LIVES, Grants, IssuedCode, challenge_of
from humanmcp.extensions.authority.mistakes import of_step
from humanmcp.extensions.authority.session import MOST_WAITING, AuthoritySession, Outgoing, Ticket
from humanmcp.extensions.authority.steps import Step, WebRequest
from humanmcp.inbox.contract import InboxError, Key, Reply
from humanmcp.inbox.folder import FolderInbox
from humanmcp.inbox.inbox_session import InboxSession
from humanmcp.protocol.conversation.stages import ExchangeState
from humanmcp.protocol.conversation.transcript import Direction
from humanmcp.protocol.diagnostics.model import TextForm
from tests.support.waiting import until

PLACE: Final = Place("http://127.0.0.1:8080")
URI: Final = "http://127.0.0.1:3999/cb"


class Sitting:
    """A session with a clock, a registered client, and the codes that were made."""

    def __init__(self, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.clock = 1_000.0
        self.codes: list[IssuedCode] = []
        issued = Grants.issue_code

        def issue(grants: Grants, code: IssuedCode) -> str:
            self.codes.append(code)
            return issued(grants, code)

        monkeypatch.setattr(Grants, "issue_code", issue)
        self.inbox = FolderInbox(home)
        self.session = AuthoritySession(self.inbox, home / "kept", "", now=lambda: self.clock)
        members = {"redirect_uris": [URI], "token_endpoint_auth_method": "none"}
        got = self.ask(Step.REGISTER, WebRequest("POST", "/", body=json.dumps(members)))
        assert isinstance(got, Outgoing)
        self.client = got.response.members["client_id"]

    def ask(self, step: Step, request: WebRequest) -> Outgoing | Ticket:
        """Bring a request. Returns what is said at once."""
        told: list[Outgoing | Ticket] = []
        self.session.ask(request, step, PLACE, told.append)
        self.session.step(time.monotonic())
        (found,) = told
        if isinstance(found, Outgoing):
            self.session.was_written(found.number, written=True)
        return found

    def metadata(self) -> int:
        """Ask for the metadata, which nobody decides. Returns the status."""
        got = self.ask(Step.RESOURCE, WebRequest("GET", "/"))
        assert isinstance(got, Outgoing)
        return got.response.status

    def authorize(self) -> Outgoing | Ticket:
        """Open the page of a consent."""
        query = {
            "response_type": "code",
            "client_id": self.client,
            "redirect_uri": URI,
            "code_challenge": challenge_of("v" * 43),
            "code_challenge_method": "S256",
        }
        return self.ask(Step.AUTHORIZE, WebRequest("GET", "/", urlencode(query)))

    def decide(self, ticket: Ticket, ready: str) -> None:
        """Answer a consent with a ready answer, and wait until it is recorded."""
        key = Key(self.session.name, ticket.number)
        text = json.loads(self.inbox.item(key).context)["ready"][ready]
        self.inbox.send(key, Reply(text, TextForm.STEP, anyway=True, by="terminal"))
        told: list[Outgoing | None] = []
        self.session.await_decision(ticket.name, told.append)

        def is_told() -> bool:
            self.session.step(time.monotonic())
            return bool(told)

        until(is_told, "the decision")


@pytest.fixture
def sitting(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Sitting]:
    """Begin a session."""
    one = Sitting(tmp_path / "home", monkeypatch)
    yield one
    one.session.leave()


ANSWERS: Final = ("allow", "deny", *(one.id for one in of_step(Step.AUTHORIZE)))


@pytest.mark.parametrize("ready", ANSWERS)
def test_a_code_is_made_only_by_an_answer_that_holds_one(sitting: Sitting, ready: str) -> None:
    """A refusal makes none that somebody could find."""
    ticket = sitting.authorize()
    assert isinstance(ticket, Ticket)
    key = Key(sitting.session.name, ticket.number)
    text = json.loads(sitting.inbox.item(key).context)["ready"][ready]
    sitting.decide(ticket, ready)
    assert len(sitting.codes) == ("{code}" in text)


def test_a_refusal_on_the_page_makes_no_code(sitting: Sitting) -> None:
    """The browser can refuse, and no more."""
    ticket = sitting.authorize()
    assert isinstance(ticket, Ticket)
    sitting.session.deny(ticket.name, ticket.form)
    sitting.session.step(time.monotonic())
    assert sitting.codes == []


def test_abandoned_consents_keep_nobody_from_other_steps(sitting: Sitting) -> None:
    """Browsers that were closed: the rest goes on, and what was decided waits no more."""
    opened = [sitting.authorize() for _ in range(MOST_WAITING)]
    more = sitting.authorize()
    assert isinstance(more, Outgoing)
    assert more.response.status == 503
    assert sitting.metadata() == 200
    first = opened[0]
    assert isinstance(first, Ticket)
    sitting.decide(first, "allow")
    assert isinstance(sitting.authorize(), Ticket)
    sitting.clock += CODE_LIVES

    def is_closed() -> bool:
        sitting.session.step(time.monotonic())
        item = sitting.inbox.item(Key(sitting.session.name, first.number))
        return item.state is ExchangeState.CANCELLED

    until(is_closed, "the consent is over")


def test_steps_that_cannot_be_recorded_do_not_add_up(
    sitting: Sitting, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A full disk, say, and later there is room."""
    record = InboxSession.record

    def refuse(self: InboxSession, direction: Direction, *words: Any, **more: Any) -> None:  # noqa: ANN401 - those of `record`
        if direction is Direction.OUT:
            raise InboxError("no address", where="x")
        record(self, direction, *words, **more)

    monkeypatch.setattr(InboxSession, "record", refuse)
    assert {sitting.metadata() for _ in range(MOST_WAITING + 1)} == {503}
    monkeypatch.setattr(InboxSession, "record", record)
    assert isinstance(sitting.authorize(), Ticket)
    assert sitting.metadata() == 200
