"""Whatever happens: no code without a person's yes, each code once, and nothing mixes."""

from __future__ import annotations

import itertools
import json
import tempfile
import time
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final
from urllib.parse import parse_qsl, urlencode, urlsplit

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    MultipleResults,
    RuleBasedStateMachine,
    initialize,
    invariant,
    multiple,
    rule,
)

from humanmcp.extensions.authority.answers import Asked, Place
from humanmcp.extensions.authority.grants import CODE_LIVES, TOKEN_LIVES, challenge_of
from humanmcp.extensions.authority.session import AuthoritySession, Outgoing, Ticket
from humanmcp.extensions.authority.steps import Step, WebRequest
from humanmcp.inbox.contract import Key, Reply, TakenError
from humanmcp.inbox.folder import FolderInbox
from humanmcp.protocol.conversation.stages import ExchangeState
from humanmcp.protocol.diagnostics.model import TextForm

PLACES: Final = (Place("http://127.0.0.1:8080"), Place("http://localhost:8080", "/as"))
URI: Final = "http://127.0.0.1:3999/cb"
VERIFIER: Final = "v" * 50
EVIL: Final = "HTTP/1.1 302 Found\nlocation: https://evil.example/?code={code}"
SYNCS: Final = ("atomic.fdatasync", "transcript_writer.fdatasync", "atomic.os.fsync")
places: Final = st.sampled_from(PLACES)
mostly: Final = st.sampled_from([True, True, True, False])


@pytest.fixture(autouse=True)
def _disk_that_does_not_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    """Here processes are killed, and a killed one has written what it wrote: no power fails."""
    for name in SYNCS:
        monkeypatch.setattr(f"humanmcp.inbox.{name}", lambda _: None)


@dataclass(eq=False)
class Consent:
    """A consent that was asked for; `is_allowed` once a person said yes."""

    ticket: Ticket
    place: Place
    client: str
    process: int
    is_allowed: bool = False
    is_decided: bool = False
    at: float = 0.0
    """When it was decided."""


@dataclass(eq=False)
class Code:
    """A code that came back to a client."""

    text: str
    of: Consent


@dataclass(eq=False)
class Token:
    """What a token endpoint gave."""

    access: str
    refresh: str
    of: Code
    ends: float
    is_alive: bool = True
    chain: list[Token] = field(default_factory=list)
    """All tokens of its grant."""


class Promise(RuleBasedStateMachine):
    """Two places, any clients, one person."""

    clients = Bundle("clients")
    consents = Bundle("consents")
    codes = Bundle("codes")
    tokens = Bundle("tokens")

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        self.home = Path(self.folder.name)
        self.clock, self.process = 1_000.0, 0
        self.numbers = itertools.count()
        self.every: list[Token] = []
        self.used: set[str] = set()
        """The codes that were exchanged, also in vain."""
        self.begin()

    def begin(self) -> None:
        self.inbox = FolderInbox(self.home)
        self.session = AuthoritySession(
            self.inbox, self.home / "kept.json", "", now=lambda: self.clock
        )
        self.process += 1

    def teardown(self) -> None:
        self.session.leave()
        self.folder.cleanup()

    def ask(self, step: Step, place: Place, request: WebRequest) -> Outgoing | Ticket:
        told: list[Outgoing | Ticket] = []
        self.session.ask(Asked(step, place, request), told.append)
        self.session.step(time.monotonic())
        (found,) = told
        if isinstance(found, Outgoing) and found.number:
            self.session.was_written(found.number, written=True)
            self.session.step(time.monotonic())
        return found

    def look(self) -> None:
        """Let the session look at the desks, as if the time for it had come."""
        due = self.session.step(time.monotonic())
        assert due is not None
        self.session.step(due)

    @initialize(target=clients)
    def first_client(self) -> tuple[Place, str]:
        """Somebody is there."""
        return self.registered(PLACES[0])

    @rule(target=clients, place=places)
    def register(self, place: Place) -> tuple[Place, str]:
        return self.registered(place)

    def registered(self, place: Place) -> tuple[Place, str]:
        members = {"redirect_uris": [URI], "token_endpoint_auth_method": "none"}
        body = json.dumps({**members, "client_name": f"c{next(self.numbers)}"})
        found = self.ask(Step.REGISTER, place, WebRequest("POST", "/as/register", body=body))
        assert isinstance(found, Outgoing)
        return place, found.response.members["client_id"]

    @rule(
        target=consents,
        client=clients,
        is_own=mostly,
        uri=st.sampled_from([URI, URI, "http://127.0.0.1:1/cb", "https://evil.example/cb"]),
    )
    def authorize(
        self,
        client: tuple[Place, str],
        is_own: bool,  # noqa: FBT001 - drawn
        uri: str,
    ) -> Consent | MultipleResults[Consent]:
        """A browser opens the page."""
        place = client[0] if is_own else PLACES[client[0] == PLACES[0]]
        query = urlencode(
            {
                "response_type": "code",
                "client_id": client[1],
                "redirect_uri": uri,
                "code_challenge": challenge_of(VERIFIER),
                "code_challenge_method": "S256",
                "state": "s",
            }
        )
        found = self.ask(Step.AUTHORIZE, place, WebRequest("GET", "/as/authorize", query))
        assert isinstance(found, Ticket) is (is_own and "evil" not in uri)
        if isinstance(found, Ticket):
            return Consent(found, place, client[1], self.process)
        assert "evil" not in found.response.header("location")
        return multiple()

    @rule(asked=consents, how=st.sampled_from(["allow", "deny", "evil", "form", "state-wrong"]))
    def decide(self, asked: Consent, how: str) -> None:
        """A person answers the consent, rightly or not."""
        if asked.process != self.process:
            return
        key = Key(self.session.name, asked.ticket.number)
        item = self.inbox.item(key)
        ready = json.loads(item.context)["ready"]
        form = TextForm.MESSAGE if how == "form" else TextForm.STEP
        reply = Reply(ready.get(how, EVIL), form, anyway=True, by="terminal")
        with suppress(TakenError):
            self.inbox.send(key, reply)

        self.look()
        now = self.inbox.item(key)
        is_sent = now.state is not ExchangeState.PENDING or asked.is_decided
        assert is_sent or now.reply is None or self.out(asked) is not None
        if not asked.is_decided and how in ("allow", "deny", "state-wrong"):
            asked.is_decided, asked.is_allowed, asked.at = True, how != "deny", self.clock

    def out(self, asked: Consent) -> Outgoing | None:
        """Return what a browser that asks now gets at once, if anything."""
        told: list[Outgoing | None] = []
        self.session.await_decision(asked.ticket.name, told.append)
        self.session.step(time.monotonic())
        return told[0] if told else None

    @rule(asked=consents, is_own=st.booleans())
    def refuse_on_the_page(self, asked: Consent, is_own: bool) -> None:  # noqa: FBT001 - drawn
        if asked.process != self.process:
            return
        self.session.deny(asked.ticket.name, asked.ticket.form if is_own else "wrong")
        self.session.step(time.monotonic())
        asked.is_decided = asked.is_decided or is_own

    @rule(target=codes, asked=consents, is_written=st.booleans())
    def fetch(self, asked: Consent, is_written: bool) -> Code | MultipleResults[Code]:  # noqa: FBT001 - drawn
        """The browser looks whether somebody has decided."""
        found = self.out(asked) if asked.process == self.process else None
        if found is None:
            return multiple()
        location = found.response.header("location")
        said = dict(parse_qsl(urlsplit(location).query))
        assert location.startswith((URI, "http://127.0.0.1:1/cb"))
        assert asked.is_decided
        assert ("code" in said) is asked.is_allowed
        self.session.was_written(found.number, written=is_written)
        self.session.step(time.monotonic())
        return Code(said["code"], asked) if "code" in said else multiple()

    @rule(target=codes, client=clients)
    def consent(self, client: tuple[Place, str]) -> Code | MultipleResults[Code]:
        """All goes well until there is a code: the way to what may go wrong with it."""
        asked = self.authorize(client, is_own=True, uri=URI)
        assert isinstance(asked, Consent)
        self.decide(asked, "allow")
        return self.fetch(asked, is_written=True)

    @rule(
        target=tokens,
        code=codes,
        other=clients,
        is_here=mostly,
        is_own=mostly,
        verifier=st.sampled_from([VERIFIER] * 3 + ["w" * 50]),
    )
    def exchange(
        self,
        code: Code,
        other: tuple[Place, str],
        is_here: bool,  # noqa: FBT001 - drawn
        is_own: bool,  # noqa: FBT001 - drawn
        verifier: str,
    ) -> Token | MultipleResults[Token]:
        """A client exchanges a code, or somebody else does."""
        place = code.of.place if is_here else other[0]
        client = code.of.client if is_own else other[1]
        form = {"grant_type": "authorization_code", "client_id": client, "code": code.text}
        body = urlencode({**form, "redirect_uri": code.of.ticket.consent.redirect_uri})
        body += f"&code_verifier={verifier}"
        found = self.ask(Step.TOKEN, place, WebRequest("POST", "/as/token", body=body))
        assert isinstance(found, Outgoing)
        same = [one for one in self.every if one.of.text == code.text]
        is_known = (place, client) == (code.of.place, code.of.client)
        is_known = is_known and code.of.process == self.process
        used = code.text in self.used
        is_right = is_known and not used and verifier == VERIFIER
        is_right = is_right and self.clock < code.of.at + CODE_LIVES
        assert (found.response.status == 200) is is_right, found.response
        if is_known and used:
            for one in same:
                one.is_alive = False
        if is_known and self.clock < code.of.at + CODE_LIVES:
            self.used.add(code.text)
        if not is_right:
            return multiple()
        return self.given(found, code, [])

    def given(self, found: Outgoing, code: Code, chain: list[Token]) -> Token:
        said = found.response.members
        ends = self.clock + TOKEN_LIVES
        token = Token(said["access_token"], said["refresh_token"], code, ends, chain=chain)
        chain.append(token)
        self.every.append(token)
        return token

    @rule(target=tokens, token=tokens, place=places)
    def refresh(self, token: Token, place: Place) -> Token | MultipleResults[Token]:
        """A client exchanges a refresh token, the newest one or an old one."""
        body = urlencode(
            {
                "grant_type": "refresh_token",
                "client_id": token.of.of.client,
                "refresh_token": token.refresh,
            }
        )
        found = self.ask(Step.TOKEN, place, WebRequest("POST", "/as/token", body=body))
        assert isinstance(found, Outgoing)
        is_own = place == token.of.of.place
        is_newest = token is token.chain[-1]
        is_right = is_own and token.is_alive and is_newest
        assert (found.response.status == 200) is is_right
        if is_own and token.is_alive and not is_newest:
            for one in token.chain:
                one.is_alive = False
        if not is_right:
            return multiple()
        token.ends = 0
        return self.given(found, token.of, token.chain)

    @rule(seconds=st.sampled_from([1.0, CODE_LIVES, TOKEN_LIVES]))
    def time_passes(self, seconds: float) -> None:
        self.clock += seconds

    @rule()
    def killed(self) -> None:
        """Another process goes on with the kept sign-ins."""
        self.begin()

    @invariant()
    def tokens_count_where_they_were_given(self) -> None:
        for token in self.every:
            for place in PLACES:
                found, _, _ = self.session.grant_of(token.access, place)
                is_own = place == token.of.of.place and token.of.of.is_allowed
                is_good = is_own and token.is_alive and self.clock < token.ends
                assert (found is not None) is is_good


Promise.TestCase.settings = settings(
    max_examples=60,
    stateful_step_count=40,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)
TestPromise = Promise.TestCase
