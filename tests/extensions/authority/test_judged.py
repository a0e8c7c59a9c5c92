"""`humanmcp judge --only oauth`: each mistake is made, and what no client may do is seen."""

from __future__ import annotations

import base64
import json
import sys
import threading
from collections.abc import Mapping
from contextlib import suppress
from http.client import HTTPConnection
from pathlib import Path
from typing import Any, Final, NamedTuple
from urllib.parse import parse_qsl, urlencode, urlsplit

import pytest

from humanmcp.extensions import Guarded
from humanmcp.extensions.authority.grants import challenge_of
from humanmcp.extensions.authority.judged import BREACHES, rows
from humanmcp.extensions.authority.mistakes import mistakes
from humanmcp.extensions.authority.musts import musts
from humanmcp.extensions.judge.playing import HttpServer, HttpSession
from humanmcp.extensions.judge.running import Client, run_client
from humanmcp.extensions.judge.server_faults import WRONG, every, measure_of
from humanmcp.extensions.judge.verdicts import DECISIONS, Word, verdict

ORIGIN: Final = "http://127.0.0.1:8080"
URI: Final = "http://127.0.0.1:3999/cb"
VERIFIER: Final = "verifier-that-nobody-may-see-anywhere-0123456789"
STATE: Final = "state-that-nobody-may-see-anywhere"
ROWS: Final = {one.name: one for one in rows()}
SDK: Final = str(Path(__file__).parents[2] / "clients" / "signs_in.py")
CALL: Final = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call"}).encode()


class Got(NamedTuple):
    """A response of the guard."""

    status: int
    headers: Mapping[str, str]
    body: str

    @property
    def json(self) -> Any:  # noqa: ANN401 - any JSON value
        """The body, {} if it is no object."""
        try:
            found = json.loads(self.body)
        except ValueError:
            return {}
        return found if isinstance(found, dict) else {}


class Careless:
    """A client that goes on whatever comes, as far as it can."""

    def __init__(self, row: Guarded, **more: str) -> None:
        self.seen: list[tuple[str, str]] = []
        self._guard = row.begin(ORIGIN, lambda what, text: self.seen.append((what, text)))
        self._more = more
        """Parameters of its own in the authorization and token request."""
        self.secrets = [VERIFIER, STATE]
        self.client = ""

    def ask(self, method: str, target: str, body: bytes = b"", **headers: str) -> Got | None:
        """Send a request; None if it was let through."""
        pairs = [("host", "127.0.0.1:8080"), *headers.items()]
        answer = self._guard(method, target, pairs, body)
        if answer is None:
            return None
        status, said, content = answer
        return Got(status, dict(said), content.decode())

    def read(self, *targets: str) -> Any:  # noqa: ANN401 - any JSON value
        """Return the first metadata that are there; {} for none."""
        found = (self.ask("GET", one) for one in targets)
        return next((one.json for one in found if one and one.status == 200 and one.json), {})

    def sign_in(self, issuer: str, **form: str) -> Got | None:
        """Register, let the browser come back, and ask for a token."""
        at = urlsplit(issuer).path
        inserted = [f"/.well-known/{one}{at}" for one in ("oauth-authorization-server", "openid")]
        self.read(*inserted, f"/.well-known/openid-configuration{at}")
        if not self.client or not form:
            members = {"redirect_uris": [URI], "token_endpoint_auth_method": "none"}
            registered = self.ask("POST", f"{at}/register", json.dumps(members).encode())
            self.client = (registered and registered.json.get("client_id")) or "none"
        query = {
            "response_type": "code",
            "client_id": self.client,
            "redirect_uri": URI,
            "code_challenge": challenge_of(VERIFIER),
            "code_challenge_method": "S256",
            "state": STATE,
            **self._more,
        }
        page = self.ask("GET", f"{at}/authorize?{urlencode(query)}")
        back = dict(parse_qsl(urlsplit(page.headers.get("location", "") if page else "").query))
        self.secrets += [back["code"]] if "nobody" not in back.get("code", "nobody") else []
        given = {"grant_type": "authorization_code", "code": back.get("code", ""), **form}
        given |= {"client_id": self.client, "redirect_uri": URI, "code_verifier": VERIFIER}
        return self.ask("POST", f"{at}/token", urlencode({**given, **self._more}).encode())

    def play(self, **form: str) -> bool:
        """Go all the way, twice if the token is refused. Returns whether a call got through."""
        self.ask("POST", "/mcp", b"{}")
        token, refresh = "", ""
        for _ in range(2):
            places = (f"/.well-known/oauth-protected-resource{end}" for end in ("/mcp", ""))
            found = self.read(*places)
            issuer = [*(found.get("authorization_servers") or []), f"{ORIGIN}{self.at}"][0]
            if refresh:
                given = {"grant_type": "refresh_token", "refresh_token": refresh}
                body = urlencode({**given, "client_id": self.client}).encode()
                got = self.ask("POST", f"{urlsplit(issuer).path}/token", body)
                token = (got.json.get("access_token") if got else "") or token
            if not refresh or not got or got.status != 200:
                got = self.sign_in(issuer, **form)
            said = got.json if got else {}
            token, refresh = said.get("access_token", ""), said.get("refresh_token", "")
            self.secrets += [one for one in (token, refresh) if one]
            self.ask("POST", "/mcp", b"{}", authorization=f"Bearer {token}")
            if self.ask("POST", "/mcp", CALL, authorization=f"Bearer {token}") is None:
                return True
        return False

    at = "/as"


def test_each_row_is_judged_by_words_that_there_are() -> None:
    """Its kind, its sentence of the specification, what no client may do: each is known."""
    assert len(ROWS) == len(mistakes()) + 1 >= 73
    assert {one.kind for one in ROWS.values()} <= {*DECISIONS, "good"}
    assert {name for one in musts() for name in one.mistakes} <= {*mistakes()}
    assert {one.judged.never for one in mistakes().values()} == {*BREACHES, ""}
    for one in ROWS.values():
        assert one.kind == "good" or every()[one.name].what("en")
        assert (one.quote == "") is (one.link == "")
    assert {measure_of(every()[name]).name for name in ROWS} == {"oauth_right"}


@pytest.mark.parametrize("name", ROWS)
def test_each_mistake_is_made_for_a_client_that_goes_on(name: str) -> None:
    """And no secret is written down."""
    one = Careless(ROWS[name])
    one.at = "" if name in ("oauth_server_alone", "oauth_no_metadata") else "/as"
    is_through = one.play()
    assert ("odd" in {what for what, _ in one.seen}) is (name != "oauth_right")
    if ROWS[name].kind == "good":
        assert is_through
    written = json.dumps(one.seen)
    assert [secret for secret in one.secrets if secret in written] == []
    assert WRONG in written or not ROWS[name].is_hidden


@pytest.mark.parametrize(
    ("name", "more", "broke"),
    [
        ("oauth_scope_challenge", {}, True),
        ("oauth_scope_challenge", {"scope": "b a"}, False),
        ("oauth_asks_resource", {}, True),
        ("oauth_asks_resource", {"resource": f"{ORIGIN}/mcp"}, False),
        ("oauth_asks_application_type", {}, True),
        ("oauth_server_moves", {}, True),
    ],
)
def test_what_no_client_may_do_is_seen(name: str, more: dict[str, str], *, broke: bool) -> None:
    """In the request that does it: here the old refresh token goes to the new authority."""
    one = Careless(ROWS[name], **more)
    one.play()
    assert ("broke" in {what for what, _ in one.seen}) is broke


@pytest.mark.parametrize("is_known", [True, False])
def test_a_client_that_says_in_a_header_who_it_is_brings_no_old_credentials(
    *, is_known: bool
) -> None:
    """RFC 7591, 2: that is how a client does it which asked for nothing else."""
    one = Careless(ROWS["oauth_server_moves"])
    got = one.ask("POST", "/as/register", json.dumps({"redirect_uris": [URI]}).encode())
    assert got is not None
    assert got.json["token_endpoint_auth_method"] == "client_secret_basic"
    client = got.json["client_id"] if is_known else "of-another-server"
    basic = base64.b64encode(f"{client}:{got.json['client_secret']}".encode()).decode()
    one.ask("POST", "/as/token", b"grant_type=authorization_code", authorization=f"Basic {basic}")
    assert ("broke" in {what for what, _ in one.seen}) is not is_known


def test_requests_of_one_client_are_answered_one_after_the_other() -> None:
    """Its server has a thread for each, and what one of them gives the next one counts on."""
    barrier = threading.Barrier(2)
    met = []

    def note(what: str, _: str) -> None:
        if what == "in":
            with suppress(threading.BrokenBarrierError):
                met.append(barrier.wait(0.5))

    guard = ROWS["oauth_right"].begin(ORIGIN, note)

    def ask() -> None:
        guard("GET", "/.well-known/oauth-authorization-server/as", [], b"")

    threads = [threading.Thread(target=ask) for _ in range(2)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert met == []


def test_a_head_is_answered_without_a_body_that_would_begin_the_next_response() -> None:
    """A client may ask both on one connection."""

    def no_session(_method: str, _name: str) -> HttpSession:
        raise AssertionError

    server = HttpServer(no_session)
    server.guard = ROWS["oauth_right"].begin(server.url.removesuffix("/mcp"), lambda *_: None)
    connection = HTTPConnection("127.0.0.1", server.server_port)
    try:
        found = []
        for method in ("HEAD", "GET"):
            connection.request(method, "/.well-known/oauth-authorization-server/as")
            response = connection.getresponse()
            found.append((response.status, bool(response.read())))
        assert found == [(200, False), (200, True)]
    finally:
        connection.close()
        server.close()


def test_a_code_that_follows_a_redirect_to_another_origin_is_seen() -> None:
    """The same server under its other name."""
    one = Careless(ROWS["oauth_token_redirect"])
    got = one.sign_in(f"{ORIGIN}/as")
    assert got is not None
    assert urlsplit(got.headers["location"]).netloc == "localhost:8080"
    assert "broke" not in {what for what, _ in one.seen}
    one._guard("POST", "/token", [("host", "localhost:8080")], b"code=x")
    assert ("broke", "leaks") in one.seen


def test_a_real_client_is_judged_as_it_was_measured() -> None:
    """The Python SDK 2: it goes on without PKCE, tells of another issuer, and asks for scopes."""
    client = Client((sys.executable, SDK, "{url}", "t"), seconds=30)
    found = {}
    good = run_client(client, every()["oauth_right"], threading.Event())
    assert good.status == 0, good.output
    for name in ("no_pkce", "issuer_other", "scope_challenge", "server_moves"):
        row = every()[f"oauth_{name}"]
        found[name] = verdict(row, run_client(client, row, threading.Event()), good)
    words = {name: one.word for name, one in found.items()}
    assert words == {
        "no_pkce": Word.BELIEVED,
        "issuer_other": Word.TOLD,
        "scope_challenge": Word.WELL,
        "server_moves": Word.WELL,
    }
    assert [name for name, one in found.items() if one.broke] == ["no_pkce"], found
    assert "MUST refuse to proceed" in str(found["no_pkce"].broke)
