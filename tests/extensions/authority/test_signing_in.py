"""`serve --http --oauth`: a client gets in by a person's consent alone, and nothing leaks."""

from __future__ import annotations

import itertools
import json
import re
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

import pytest

from humanmcp.answering.service import OrderError
from humanmcp.cli import commands
from humanmcp.export.command import FORMATS
from humanmcp.extensions.authority.mistakes import mistakes, of_step
from humanmcp.extensions.authority.orders import understand
from humanmcp.extensions.authority.steps import Step
from humanmcp.inbox.contract import Reply, Role
from humanmcp.inbox.folder import FolderInbox
from humanmcp.protocol.diagnostics.model import TextForm
from tests.support.desk_process import Desking
from tests.support.ntfy import Ntfy
from tests.support.ports import own_port
from tests.support.routes import RIGHTS
from tests.support.serve_http import INITIALIZED, JSON, ServingHttp, modern
from tests.support.serve_process import HUMANMCP
from tests.support.signing_in import (
    BROWSER,
    URI,
    SigningIn,
    consents,
    decide,
    link_in,
    order,
    steps_of,
    written_in,
)
from tests.support.waiting import until


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """Return the folder of an inbox."""
    return tmp_path / "home"


@pytest.fixture
def serving(home: Path) -> Iterator[ServingHttp]:
    """Run an authority."""
    with ServingHttp(home, "--oauth") as one:
        yield one


@pytest.fixture
def client(serving: ServingHttp) -> SigningIn:
    """Return a client of it."""
    return SigningIn(serving.port)


def test_a_client_signs_in_by_a_persons_consent(home: Path, client: SigningIn) -> None:
    """Each step is an exchange with its answer, and the token opens the endpoint."""
    refused = client.mcp()
    assert refused.status == 401
    named = re.search('resource_metadata="([^"]+)"', refused.headers["www-authenticate"])
    assert named is not None
    resource = client.ask("GET", named[1].partition(client.host)[2]).json
    assert resource["resource"] == f"http://{client.host}/mcp"
    issuer = resource["authorization_servers"][0]
    for path in (
        "/.well-known/oauth-authorization-server/as",
        "/as/.well-known/openid-configuration",
    ):
        assert client.ask("GET", path).json["issuer"] == issuer
    said = client.sign_in(home)
    assert said["token_type"] == "Bearer"
    assert client.mcp(said["access_token"]).status == 200
    assert client.mcp("another").status == 401
    assert client.mcp(said["refresh_token"]).status == 401
    answered = [one.note for one in steps_of(home)]
    assert [one.split()[2] for one in answered[::2]] == [one.split()[2] for one in answered[1::2]]
    assert [one.note.split()[2] for one in steps_of(home)][:-4:2] == [
        *("challenge", "resource-metadata", "server-metadata", "server-metadata"),
        *("registration", "authorization", "token"),
    ]


def test_a_refreshed_token_stays_in_its_session(home: Path, client: SigningIn) -> None:
    """What identifies a client of 2026-07-28 is its grant, not the token of the hour."""
    said = client.sign_in(home)
    message = modern("server/discover")
    for _ in range(2):
        got = client.ask(
            "POST",
            "/mcp",
            message.body,
            Authorization=f"Bearer {said['access_token']}",
            **{"Content-Type": "application/json", "Accept": "application/json", **message.headers},
        )
        assert got.status == 200
        said = client.refresh(said["refresh_token"]).json
    served = [one for one in FolderInbox(home).probes() if one.role is Role.SERVER]
    assert len(served) == 1


def test_a_refusal_gives_no_code(home: Path, client: SigningIn) -> None:
    """In a terminal, and by the button of the browser's page."""
    client.register()
    opened = client.open()
    decide(home, "--deny")
    said = opened.parameters()
    assert (said["error"], "code" in said) == ("access_denied", False)

    page = client.ask("GET", client.asked(), **BROWSER)
    path = link_in(page.text)
    (item,) = until(lambda: consents(home), "a consent")
    form = re.search('name="form" value="([^"]+)"', page.text)
    assert form is not None
    for body in ("act=deny&form=wrong", "act=deny", f"act=allow&form={form[1]}", f"form={form[1]}"):
        client.ask("POST", path, body, Origin=f"http://{client.host}")
    client.ask("POST", path, f"act=deny&form={form[1]}")  # no browser sends a form without these
    foreign = client.ask("POST", path, f"act=deny&form={form[1]}", Origin="http://evil.example")
    assert foreign.status == 403
    assert consents(home) == [item]
    client.ask("POST", path, f"act=deny&form={form[1]}", Origin=f"http://{client.host}")
    assert "error=access_denied" in client.ask("GET", path).headers["location"]
    over = client.ask("GET", path)
    assert (over.status, "location" in over.headers) == (410, False)


def test_the_page_says_who_asks_and_goes_on_by_itself(home: Path, client: SigningIn) -> None:
    """The host of the redirect is shown; what the client writes is text; GET decides nothing."""
    name = '<script>alert(1)</script>"'
    client.register(client_name=name)
    page = client.ask("GET", client.asked(), **BROWSER)
    assert page.status == 200
    assert "&lt;script&gt;" in page.text
    assert "<script" not in page.text
    assert "<dd>127.0.0.1</dd>" in page.text
    assert "frame-ancestors 'none'" in page.headers["content-security-policy"]
    assert client.asked().partition("state=")[2].partition("&")[0] not in page.text
    opened = client.open(link_in(page.text))
    assert len(until(lambda: consents(home), "a consent")) == 1
    assert not opened.is_answered
    decide(home, "--allow")
    assert client.exchange(opened.parameters()["code"]).status == 200


@pytest.mark.parametrize(
    "path",
    [
        *("/.well-known/oauth-protected-resource/mcp", "/.well-known/oauth-protected-resource"),
        *("/.well-known/oauth-authorization-server/as", "/as/authorize", "/authorize"),
        *("/as/consent/x", "/as/.well-known/openid-configuration"),
    ],
)
def test_no_path_answers_without_the_flag(home: Path, path: str) -> None:
    """And 401 stays as it was."""
    with ServingHttp(home) as serving:
        assert serving.ask("GET", path=path).status == 404
        assert serving.ask("POST", path="/as/token").status == 404
        assert not FolderInbox(home).sessions()


ELSEWHERE: Final = ("/authorize", "/token", "/register", "/.well-known/oauth-authorization-server")


@pytest.mark.parametrize("path", ELSEWHERE)
def test_the_default_addresses_say_that_nothing_is_there(
    home: Path, client: SigningIn, path: str
) -> None:
    """A client that did not read the metadata does not sign in by luck."""
    method = "GET" if path != "/token" else "POST"
    assert client.ask(method, path).json["error"] == "not_found"
    assert [one.note for one in steps_of(home)] == ["step oauth elsewhere"] * 2


def test_a_page_of_another_origin_gets_nothing(client: SigningIn) -> None:
    """Host and Origin are checked before everything else."""
    client.register()
    for path in ("/as/register", client.asked(), "/.well-known/oauth-protected-resource/mcp"):
        method = "POST" if path == "/as/register" else "GET"
        assert client.ask(method, path, Origin="http://evil.example").status == 403
        client.host, right = "evil.example", client.host
        assert client.ask(method, path).status == 403
        client.host = right


def test_a_code_of_one_authority_is_nothing_to_another(tmp_path: Path) -> None:
    """Two processes, one inbox folder: nothing mixes."""
    home = tmp_path / "home"
    with ServingHttp(home, "--oauth") as first, ServingHttp(home, "--oauth") as second:
        one, other = SigningIn(first.port), SigningIn(second.port)
        one.register()
        other.client = one.client
        assert other.ask("GET", other.asked()).status == 400
        opened = one.open()
        decide(home, "--allow")
        code = opened.parameters()["code"]
        assert other.exchange(code).json["error"] == "invalid_client"
        other.register()
        assert other.exchange(code).json["error"] == "invalid_grant"
        said = one.exchange(code).json
        assert (one.mcp(said["access_token"]).status, other.mcp(said["access_token"]).status) == (
            200,
            401,
        )
        assert other.refresh(said["refresh_token"]).json["error"] == "invalid_grant"
        local = SigningIn(first.port, "localhost")
        assert local.mcp(said["access_token"]).status == 401  # its resource has another address


def test_a_session_is_of_the_client_that_began_it(home: Path) -> None:
    """Whoever else names it is told that there is none, also after a restart."""
    port = own_port()

    def sent(client: SigningIn, token: str, session: str, method: str = "POST") -> int:
        headers = {**JSON, "Mcp-Session-Id": session, "Authorization": f"Bearer {token}"}
        return client.ask(method, "/mcp", INITIALIZED, **headers).status

    with ServingHttp(home, "--oauth", address=port) as serving:
        one, other = SigningIn(port), SigningIn(port)
        token, foreign = (client.sign_in(home)["access_token"] for client in (one, other))
        session = one.mcp(token).headers["mcp-session-id"]
        assert sent(one, token, session) == 202
        assert [sent(other, foreign, session, how) for how in ("POST", "GET", "DELETE")] == [
            404
        ] * 3
        assert sent(one, token, session) == 202
        newer = one.sign_in(home)["access_token"]  # for a larger scope, say
        assert sent(one, newer, session) == 202
        serving.kill()
    with ServingHttp(home, "--oauth", address=port):
        assert sent(other, foreign, session) == 404
        assert sent(one, newer, session) == 202


NAME: Final = "ghp_c4n4ryQz7c4n4ryQz7c4n4ryQz7c4n4ry"
"""A secret in what a client says of itself."""
NAMED: Final = r"GET /[a-z/]+\{(?:name|session)\}[a-z/]*(?:\{(?:number|seq)\}[a-z/]*)?"
SHOWN: Final = (
    *(key.removeprefix("GET ") for key in RIGHTS if re.fullmatch(NAMED, key)),
    *("/", "/history", "/authority/{name}", "/api/history", "/api/exchanges", "/api/state"),
    *(f"/export/{{name}}?form={form}" for form in FORMATS),
)
"""Each page and call about a session, one of its exchanges, or one of its lines."""


def test_no_secret_is_written_anywhere(home: Path, serving: ServingHttp, client: SigningIn) -> None:
    """Not in the inbox, the transcript, the log, the kept sign-ins, an export, a page or a call."""
    client.register(token_endpoint_auth_method="client_secret_post")
    named = {"client_name": f"Client {NAME}", "contacts": [NAME], "client_uri": "{client_secret}"}
    got = client.register(token_endpoint_auth_method="client_secret_post", **named)
    assert {name: got.json[name] for name in named} == named
    secret = got.json["client_secret"]
    opened = client.open()
    decide(home, "--allow")
    said = client.exchange(opened.parameters()["code"], client_secret=secret).json
    client.mcp(said["access_token"])
    client.refresh(said["refresh_token"], client_secret=secret)
    client.mcp(said["access_token"])
    client.secrets += [secret, NAME]
    assert len(client.secrets) == 9
    written = written_in(home)
    assert "{code}" in written
    (facts,) = [one for one in FolderInbox(home).sessions() if one.role is Role.ENDPOINT]
    for words in (
        *(("export", facts.name, "--no-redact", "--format", one) for one in FORMATS),
        ("book", "--no-redact", "--from", facts.name),
        *((("diff", facts.name, facts.name),) if "diff" in commands() else ()),
        ("show", f"{facts.name}/2", "--json"),
    ):
        run = subprocess.run(
            [*HUMANMCP, *words, "--home", str(home)],
            capture_output=True,
            encoding="utf-8",
            check=False,
        )
        assert run.returncode in {0, 1}, run.stderr
        assert "Traceback" not in run.stderr, run.stderr
        written += run.stdout + run.stderr
    with Desking(home) as desk:
        assert facts.name in desk.page("/history")
        for number, path in itertools.product(range(1, 10), SHOWN):
            if number == 1 or path.endswith(("r}", "q}")):
                named = {"name": facts.name, "session": facts.name}
                shown = path.format_map({**named, "number": number, "seq": number})
                written += desk.ask("GET", shown, headers=desk.bearer).text
    written += serving.said
    assert [one for one in client.secrets if one in written] == []


def test_no_secret_goes_to_a_phone(home: Path, client: SigningIn) -> None:
    """A phone that is told the question is told the request without them."""
    with Ntfy() as server:
        rule = {"device": "phone", "server": server.url, "detail": "question", "buttons": True}
        lines = "".join(f"{name} = {json.dumps(value)}\n" for name, value in rule.items())
        (home / "notices.toml").write_text(f"[[ntfy]]\n{lines}", "utf-8")
        with Desking(home):
            client.register(token_endpoint_auth_method="client_secret_post")
            opened = client.open()
            until(lambda: any(server.kept.values()), "a notice of the consent")
            decide(home, "--allow")
            opened.parameters()
            told = json.dumps(server.kept)
    assert "May this client sign in? GET /as/authorize?" in told
    assert [one for one in client.secrets if one in told] == []


def test_a_sign_in_outlives_its_process(home: Path) -> None:
    """Killed and started again at its port, it knows clients and tokens, but no codes."""
    port = own_port()
    with ServingHttp(home, "--oauth", address=port) as serving:
        client = SigningIn(serving.port)
        said = client.sign_in(home)
        opened = client.open()
        decide(home, "--allow")
        code = opened.parameters()["code"]
        serving.kill()
    with ServingHttp(home, "--oauth", address=port):
        assert client.mcp(said["access_token"]).status == 200
        assert client.exchange(code).json["error"] == "invalid_grant"
        newer = client.refresh(said["refresh_token"]).json
        assert client.mcp(newer["access_token"]).status == 200
    kept = home / "oauth" / f"{port}.json"
    assert kept.stat().st_mode & 0o077 == 0
    kept.write_text("{")
    with ServingHttp(home, "--oauth", address=port) as serving:
        assert client.mcp(newer["access_token"]).status == 401
        assert client.refresh(newer["refresh_token"]).json["error"] == "invalid_client"
        assert "must sign in again" in serving.said


def test_the_buttons_of_the_session_refuse_expire_and_ask_for_more(
    home: Path, client: SigningIn
) -> None:
    """What a resource server does to a client that is signed in."""
    said = client.sign_in(home)
    order(home, "refuse")
    assert [client.mcp(said["access_token"]).status for _ in range(2)] == [401, 200]
    order(home, "more scope")
    refused = client.mcp(said["access_token"])
    assert refused.status == 403
    assert 'error="insufficient_scope"' in refused.headers["www-authenticate"]
    assert 'scope="mcp write"' in refused.headers["www-authenticate"]
    order(home, "forget")
    order(home, "expire")
    assert client.mcp(said["access_token"]).status == 401
    newer = client.refresh(said["refresh_token"]).json
    assert client.mcp(newer["access_token"]).status == 200


def test_a_mistake_is_in_the_next_answer_and_in_the_record(home: Path, client: SigningIn) -> None:
    """Once, and by its name."""
    order(home, "mistake issuer-other")
    path = "/.well-known/oauth-authorization-server/as"
    assert client.ask("GET", path).json["issuer"] == "https://honest.example"
    assert client.ask("GET", path).json["issuer"] == f"http://{client.host}/as"
    said = [one for one in steps_of(home) if "server-metadata" in one.note and one.by]
    assert [one.by for one in said] == ["oauth: rule issuer-other", "oauth: rule right"]
    assert "issuer-other" in said[0].note
    client.register()
    opened = client.open()
    decide(home, "--template", "state-wrong", "--as-is", "--send-anyway")
    assert opened.parameters()["state"] == "other"
    assert "state-wrong" in steps_of(home)[-1].note


def test_only_a_mistake_that_a_rule_can_make_is_ordered() -> None:
    """One that is more than an answer, or one of a consent, would be in the record alone."""
    ordered = []
    for name in mistakes():
        with suppress(OrderError):
            understand(f"mistake {name}")
            ordered.append(name)
    offered = [row.id for step in Step if step is not Step.AUTHORIZE for row in of_step(step)]
    assert ordered == offered
    assert len(ordered) > 50
    assert not {"refused", "server-moves", "state-wrong"} & {*ordered}


def test_a_step_by_hand_waits_for_a_person(home: Path, client: SigningIn) -> None:
    """Its client waits; who gives up is told as such."""
    order(home, "hand server-metadata")
    opened = client.open("/.well-known/oauth-authorization-server/as")
    (item,) = until(lambda: consents(home), "a step")
    assert item.method == "server-metadata"
    decide(home, "--as-is")
    assert opened.got().json["issuer"] == f"http://{client.host}/as"


def test_nothing_but_a_reply_to_the_consent_makes_a_code(home: Path, client: SigningIn) -> None:
    """A text that leads elsewhere, or in another form, goes back to the person."""
    client.register()
    opened = client.open()
    (item,) = until(lambda: consents(home), "a consent")
    inbox = FolderInbox(home)
    evil = "HTTP/1.1 302 Found\nlocation: https://evil.example/?code={code}"
    right = json.loads(item.context)["right"]
    for reply in (
        Reply(evil, TextForm.STEP, anyway=True, by="desk"),
        Reply(right, TextForm.MESSAGE, anyway=True, by="desk"),
        Reply("{}", TextForm.STEP, anyway=True, by="desk"),
    ):
        inbox.send(item.key, reply)
        until(lambda: inbox.item(item.key).reply is None, "it comes back")
        assert not opened.is_answered
    decide(home, "--template", "allow", "--as-is")
    assert opened.got().headers["location"].startswith(f"{URI}?code=")


REFUSED_FLAGS: Final = (
    (("--http", "0", "--key", "key.txt"), "exclude each other"),
    ((), "needs --http"),
    (("--http", "0", "--lan"), "on this computer only"),
    (("--http", "0", "--url", "http://mcp.example"), "on this computer only"),
)


@pytest.mark.parametrize(("flags", "words"), REFUSED_FLAGS)
def test_flags_that_do_not_go_together_are_refused(
    tmp_path: Path, flags: tuple[str, ...], words: str
) -> None:
    """Tokens go over plain http on this computer alone."""
    run = subprocess.run(
        [*HUMANMCP, "serve", "--oauth", *flags, "--home", str(tmp_path / "home")],
        capture_output=True,
        encoding="utf-8",
        timeout=30,
        check=False,
        cwd=tmp_path,
    )
    assert run.returncode == 1
    assert words in run.stderr
