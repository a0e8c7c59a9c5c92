"""A session in this process: what a decision makes, and what becomes of those nobody fetches."""

from __future__ import annotations

import errno
import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final
from urllib.parse import parse_qsl, urlencode, urlsplit

import pytest

from humanmcp.extensions.authority.answers import Asked, Place
from humanmcp.extensions.authority.grants import CODE_LIVES, Grant, Grants, challenge_of
from humanmcp.extensions.authority.mistakes import of_step
from humanmcp.extensions.authority.session import MOST_WAITING, AuthoritySession, Outgoing, Ticket
from humanmcp.extensions.authority.steps import Step, WebRequest
from humanmcp.inbox.contract import Key, Order, Reply, StoreError
from humanmcp.inbox.folder import FolderInbox
from humanmcp.protocol.conversation.decisions import ChainEnd, verify_decisions
from humanmcp.protocol.conversation.stages import ExchangeState
from humanmcp.protocol.conversation.transcript import Direction, Frame
from humanmcp.protocol.diagnostics.model import TextForm
from tests.support.waiting import until

PLACE: Final = Place("http://127.0.0.1:8080")
URI: Final = "http://127.0.0.1:3999/cb"


class Sitting:
    """A session with a clock, a registered client, and the codes that were made."""

    def __init__(self, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.clock = 1_000.0
        self.codes: list[Grant] = []
        issued = Grants.issue_code

        def issue(grants: Grants, code: Grant, now: float) -> str:
            self.codes.append(code)
            return issued(grants, code, now)

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
        self.session.ask(Asked(step, PLACE, request), told.append)
        self.session.step(time.monotonic())
        (found,) = told
        if isinstance(found, Outgoing):
            self.session.was_written(found.number, written=True)
        return found

    def look(self) -> None:
        """Let the session look at the desks, as if the time for it had come."""
        due = self.session.step(time.monotonic())
        assert due is not None
        self.session.step(due)

    def order(self, words: str) -> None:
        """Order something, as the page does."""
        self.inbox.submit(self.session.name, Reply(f"oauth {words}", order=Order.EXTENSION))
        self.look()

    def metadata(self) -> int:
        """Ask for the metadata, which nobody decides. Returns the status."""
        got = self.ask(Step.RESOURCE, WebRequest("GET", "/"))
        assert isinstance(got, Outgoing)
        return got.response.status

    def authorize(self, **more: str) -> Outgoing | Ticket:
        """Open the page of a consent."""
        query = {
            "response_type": "code",
            "client_id": self.client,
            "redirect_uri": URI,
            "code_challenge": challenge_of("v" * 43),
            "code_challenge_method": "S256",
            **more,
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
    with full_disk(monkeypatch, Direction.OUT):
        assert {sitting.metadata() for _ in range(MOST_WAITING + 1)} == {503}
    assert isinstance(sitting.authorize(), Ticket)
    assert sitting.metadata() == 200


@contextmanager
def full_disk(patch: pytest.MonkeyPatch, *refused: Direction) -> Iterator[None]:
    """Let nothing of these directions be recorded."""
    record = FolderInbox.record

    def refuse(self: FolderInbox, session: str, *frames: Frame, durable: bool = False) -> None:
        if any(one.direction in refused for one in frames):
            raise StoreError(OSError(errno.ENOSPC, "full"), "end", number=1)
        record(self, session, *frames, durable=durable)

    with patch.context() as patched:
        patched.setattr(FolderInbox, "record", refuse)
        yield


def test_a_decision_that_the_disk_refused_is_made_once_or_never(
    sitting: Sitting, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was ordered before it neither; and the client of one of them has gone meanwhile."""
    sitting.order("hand resource-metadata")
    told: list[Outgoing | Ticket] = []
    asked = Asked(Step.RESOURCE, PLACE, WebRequest("GET", "/"))
    sitting.session.ask(asked, told.append)
    ticket = sitting.authorize()
    assert isinstance(ticket, Ticket)
    name = sitting.session.name
    with full_disk(monkeypatch, Direction.OUT, Direction.NOTE):
        mark = sitting.inbox.submit(name, Reply("oauth refuse", order=Order.EXTENSION))
        for number, ready in ((ticket.number - 1, "right"), (ticket.number, "allow")):
            text = json.loads(sitting.inbox.item(Key(name, number)).context)["ready"][ready]
            sitting.inbox.send(Key(name, number), Reply(text, TextForm.STEP, by="terminal"))
        for _ in range(3):
            sitting.look()
    assert told == []
    sitting.session.was_written(ticket.number - 1, written=False)
    for _ in range(3):
        sitting.look()
    assert sitting.inbox.outgoing_result(name, mark) is not None
    heard: list[Outgoing | None] = []
    sitting.session.await_decision(ticket.name, heard.append)
    sitting.look()
    assert [one and "code=" in one.response.header("location") for one in heard] == [True]
    frames = [one for one in sitting.inbox.frames(name) if one.decision]
    assert [one.number for one in frames] == [ticket.number]
    records = "".join(f"{one.decision}\n" for one in frames).encode()
    (facts,) = [one for one in sitting.inbox.sessions() if one.name == name]
    end = ChainEnd(facts.decisions, facts.last_decision)
    assert list(verify_decisions(records, lambda _: end)) == []
    assert len(sitting.codes) == 1


def test_a_stolen_refresh_token_ends_its_grant_also_on_a_full_disk(
    sitting: Sitting, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What cannot be kept is taken back, but not the end of a grant."""
    ticket = sitting.authorize()
    assert isinstance(ticket, Ticket)
    sitting.decide(ticket, "allow")

    heard: list[Outgoing | None] = []
    sitting.session.await_decision(ticket.name, heard.append)
    sitting.session.step(time.monotonic())
    assert heard[0] is not None
    code = heard[0].response.header("location").partition("code=")[2].partition("&")[0]

    def given(grant_type: str, **form: str) -> tuple[int, str]:
        body = urlencode({"grant_type": grant_type, "client_id": sitting.client, **form})
        got = sitting.ask(Step.TOKEN, WebRequest("POST", "/", body=body))
        assert isinstance(got, Outgoing)
        return got.response.status, got.response.members.get("refresh_token", "")

    def exchanged() -> tuple[int, str]:
        shown = {"code": code, "code_verifier": "v" * 43, "redirect_uri": URI}
        return given("authorization_code", **shown)

    with full_disk(monkeypatch, Direction.OUT):
        assert exchanged()[0] == 503
    status, first = exchanged()
    assert status == 200  # nobody had got anything for the code
    with full_disk(monkeypatch, Direction.OUT):
        assert given("refresh_token", refresh_token=first)[0] == 503
    status, second = given("refresh_token", refresh_token=first)
    assert status == 200
    with full_disk(monkeypatch, Direction.OUT):
        assert given("refresh_token", refresh_token=first)[0] == 503
    assert given("refresh_token", refresh_token=second)[0] == 400


@pytest.mark.parametrize(
    ("step", "request_", "mistake"),
    [
        (Step.REGISTER, WebRequest("POST", "/", body="{}"), "register-no-id"),
        (Step.TOKEN, WebRequest("POST", "/", body="grant_type=refresh_token"), "refresh-same"),
    ],
)
def test_a_mistake_is_not_made_in_an_answer_that_refuses(
    sitting: Sitting, step: Step, request_: WebRequest, mistake: str
) -> None:
    """It waits for the next one: nothing would be wrong, but the record would say so."""
    sitting.order(f"mistake {mistake}")
    got = sitting.ask(step, request_)
    assert isinstance(got, Outgoing)
    assert got.response.status in {400, 401}
    members = {"redirect_uris": [URI], "token_endpoint_auth_method": "none"}
    given = sitting.ask(Step.REGISTER, WebRequest("POST", "/", body=json.dumps(members)))
    assert isinstance(given, Outgoing)
    assert ("client_id" in given.response.members) is (step is Step.TOKEN)
    frames = [*sitting.inbox.frames(sitting.session.name)]
    made = [one.by for one in frames if mistake in one.note and one.direction is Direction.OUT]
    assert made == (["oauth: rule register-no-id"] if step is Step.REGISTER else [])


def exchanging(sitting: Sitting, **more: str) -> WebRequest:
    """Return the exchange of a code that a person has allowed."""
    ticket = sitting.authorize(**more)
    assert isinstance(ticket, Ticket)
    sitting.decide(ticket, "allow")
    out = sitting.session._waiting[ticket.number].out
    assert out is not None
    code = dict(parse_qsl(urlsplit(out.response.header("location")).query))["code"]
    form = {"grant_type": "authorization_code", "client_id": sitting.client, "code": code}
    body = urlencode({**form, "code_verifier": "v" * 43, "redirect_uri": URI})
    return WebRequest("POST", "/", body=body)


def test_no_change_is_made_in_the_grants_that_the_event_loop_reads(
    sitting: Sitting, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each is made in a copy first: a registration, a consent, a token, less scope, the end."""
    changed: list[str] = []

    def watched(name: str) -> Callable[..., object]:
        change = getattr(Grants, name)

        def watch(grants: Grants, *given: object) -> object:
            changed.append(name)
            assert sitting.session._grants is not grants, name
            return change(grants, *given)

        return watch

    changes = ("register", "issue_code", "exchange", "narrow", "refresh", "expire")
    for name in changes:
        monkeypatch.setattr(Grants, name, watched(name))
    members = {"redirect_uris": [URI], "token_endpoint_auth_method": "none"}
    sitting.ask(Step.REGISTER, WebRequest("POST", "/", body=json.dumps(members)))
    given = by_hand(sitting, exchanging(sitting, scope="read write"), '"read write"', '"read"')
    form = {"grant_type": "refresh_token", "client_id": sitting.client}
    body = urlencode({**form, "refresh_token": given["refresh_token"]})
    sitting.order("rule token")
    sitting.ask(Step.TOKEN, WebRequest("POST", "/", body=body))
    sitting.order("expire")
    assert changed == [*changes]


def test_only_a_mistake_of_its_request_is_offered_for_a_step_by_hand(sitting: Sitting) -> None:
    """A code has no refresh token that could be refused, and what is refused has none at all."""
    request = exchanging(sitting)
    sitting.order("hand token")
    for offers in (True, False):
        sitting.session.ask(Asked(Step.TOKEN, PLACE, request), print)
        sitting.session.step(time.monotonic())
        key = Key(sitting.session.name, max(sitting.session._waiting))
        ready = json.loads(sitting.inbox.item(key).context)["ready"]
        assert ("token-mac" in ready) is offers
        assert "refresh-grant" not in ready


def by_hand(sitting: Sitting, request: WebRequest, part: str, instead: str) -> dict[str, str]:
    """Let a person answer a request for a token with a part replaced. Returns what goes out."""
    sitting.order("hand token")
    told: list[Outgoing | Ticket] = []
    sitting.session.ask(Asked(Step.TOKEN, PLACE, request), told.append)
    sitting.session.step(time.monotonic())
    key = Key(sitting.session.name, max(sitting.session._waiting))
    text = json.loads(sitting.inbox.item(key).context)["right"].replace(part, instead)
    sitting.inbox.send(key, Reply(text, TextForm.STEP, by="terminal"))
    sitting.look()
    (found,) = told
    assert isinstance(found, Outgoing)
    given: dict[str, str] = found.response.members
    return given


def test_a_token_has_the_scope_that_the_person_gave_it(sitting: Sitting) -> None:
    """Who asked for two and was told of one has no way in where the other one is needed."""
    request = exchanging(sitting, scope="read write")
    token = by_hand(sitting, request, '"read write"', '"read"')["access_token"]
    sitting.order("more scope")
    grant, error, scope = sitting.session.grant_of(token, PLACE)
    assert (grant, error, scope) == (None, "insufficient_scope", "read write")
    kept = json.loads(sitting.session._kept.read_text())["grants"]
    assert [one["scope"] for one in kept] == ["read"]
