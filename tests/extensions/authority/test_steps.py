"""The right answers are right, each mistake is explained, and no text has a secret."""

import base64
import itertools
import json
from functools import cache
from itertools import chain
from typing import Final
from urllib.parse import urlencode

import pytest

from humanmcp.extensions.authority import answers
from humanmcp.extensions.authority.answers import (
    Place,
    Prepared,
    host_of,
    redirect_fits,
    uris_refused,
)
from humanmcp.extensions.authority.check import CODES, FITS, RULES, judge
from humanmcp.extensions.authority.consent import again_page, waiting_page
from humanmcp.extensions.authority.grants import CODE_LIVES, Grant, Grants, challenge_of
from humanmcp.extensions.authority.mistakes import mistakes
from humanmcp.extensions.authority.mistakes import of_step as choices
from humanmcp.extensions.authority.musts import musts, of_step, page_of
from humanmcp.extensions.authority.session import Ticket
from humanmcp.extensions.authority.steps import Step, WebRequest, WebResponse, read_response
from humanmcp.locales import LANGUAGES, describe, sentences_of
from humanmcp.protocol.tables import versions
from humanmcp.protocol.validation.redaction import without_secrets

PLACE: Final = Place("http://127.0.0.1:8080")
URI: Final = "http://127.0.0.1:3999/cb"
VERIFIER: Final = "v" * 50
LOCATION: Final = f"{URI}?code={{code}}&state={{state}}&iss={PLACE.issuer}"
NOW: Final = 1_000.0


def registering(**more: object) -> WebRequest:
    """Return a registration."""
    members = {"client_name": "c", "redirect_uris": [URI], "token_endpoint_auth_method": "none"}
    body = json.dumps({**members, **more})
    return WebRequest("POST", "/as/register", "", (("content-type", "application/json"),), body)


def registered(grants: Grants, place: Place = PLACE, **more: object) -> str:
    """Register a client. Returns its id."""
    client_id: str = answers.register(place, grants, registering(**more)).right.members["client_id"]
    return client_id


def asking(client: str, **more: str | None) -> WebRequest:
    """Return an authorization request; None leaves a parameter out."""
    asked: dict[str, str | None] = {
        "response_type": "code",
        "client_id": client,
        "redirect_uri": URI,
        "code_challenge": challenge_of(VERIFIER),
        "code_challenge_method": "S256",
        "state": "secret-state",
        "resource": PLACE.resource,
        **more,
    }
    query = urlencode({name: value for name, value in asked.items() if value is not None})
    return WebRequest("GET", "/as/authorize", query)


def exchanging(client: str, code: str, **more: str) -> WebRequest:
    """Return a request for a token."""
    form = {
        "grant_type": "authorization_code",
        "client_id": client,
        "code": code,
        "redirect_uri": URI,
        "code_verifier": VERIFIER,
        **more,
    }
    return WebRequest("POST", "/as/token", "", (), urlencode(form))


def consented(grants: Grants, client: str, place: Place = PLACE, **more: str | None) -> str:
    """Consent to what a client asks for. Returns the code."""
    consent = answers.authorize(place, grants, asking(client, **more)).consent
    assert consent is not None
    return grants.issue_code(consent, NOW)


@cache
def prepared(step: Step) -> Prepared:
    """Return a right answer to each step."""
    grants = Grants()
    client = registered(grants)
    code = consented(grants, client)
    own = registering(token_endpoint_auth_method="client_secret_post")
    found = {
        Step.CHALLENGE: lambda: answers.challenge(PLACE),
        Step.RESOURCE: lambda: answers.metadata(PLACE, "resource-metadata"),
        Step.SERVER: lambda: answers.metadata(PLACE, "server-metadata"),
        Step.REGISTER: lambda: answers.register(PLACE, grants, own),
        Step.AUTHORIZE: lambda: answers.authorize(PLACE, grants, asking(client)),
        Step.TOKEN: lambda: answers.token(PLACE, grants, exchanging(client, code), NOW),
        Step.ELSEWHERE: answers.elsewhere,
    }
    return found[step]()


def facts_of(step: Step, found: Prepared) -> dict[str, str]:
    """Return what the check knows of a step."""
    uri = "" if found.consent is None else found.consent.redirect_uri
    return {"step": step, "right": found.right.text, "redirect": uri}


def codes_of(step: Step, text: str) -> list[str]:
    """Return the problems of a text."""
    found = judge(facts_of(step, prepared(step)), text).diagnostics
    assert all(describe(one) for one in found)
    return [one.code.removeprefix("oauth.") for one in found]


@pytest.mark.parametrize("step", Step)
def test_a_right_answer_has_no_problem_and_is_read_as_it_is_written(step: Step) -> None:
    """The draft can be sent as it is."""
    right = prepared(step).right
    assert read_response(right.text)[0] == right
    assert codes_of(step, right.text) == []


EXPLAINED: Final = {
    "no-header": ["no-challenge"],
    "metadata-not-named": ["metadata-not-named"],
    "lower-bearer": [],
    "two-challenges": [],
    "scope-challenge": [],
    "refused-403": ["status", "no-challenge"],
    "step-up-401": ["scope-status"],
    "resource-404": ["status", "resource", "no-authority", "no-json"],
    "resource-html": ["resource", "no-authority", "no-json"],
    "resource-500": ["status", "resource", "no-authority", "no-json"],
    "no-authority": ["no-authority"],
    "empty-authority": ["no-authority"],
    "two-authorities": [],
    "resource-other": ["resource"],
    "resource-parent": ["resource"],
    "resource-slash": ["resource"],
    "resource-sibling": ["resource"],
    "scope-none": [],
    "scope-metadata": [],
    "issuer-other": ["issuer"],
    "issuer-slash": ["issuer"],
    "no-pkce": ["no-pkce"],
    "plain-only": ["no-pkce"],
    "no-token-endpoint": ["missing"],
    "no-registration": ["no-registration"],
    "documents": [],
    "documents-only": [],
    "register-400": [],
    "register-403": ["error-code", "no-json"],
    "register-200": ["status"],
    "register-no-id": ["client-id"],
    "register-no-secret": ["no-secret"],
    "register-other-uri": ["redirect-uris"],
    "state-wrong": ["state"],
    "state-missing": ["state"],
    "iss-wrong": ["iss"],
    "iss-missing": ["iss"],
    "iss-wrong-error": ["iss"],
    "code-unknown": ["unknown-code"],
    "token-500": ["error-code", "no-json"],
    "token-200-error": ["status"],
    "token-client": [],
    "token-request": [],
    "token-no-type": ["token-type"],
    "token-mac": ["token-type"],
    "token-string-expiry": ["expires"],
    "token-no-expiry": [],
    "token-form": ["access-token", "token-type", "not-rotated", "no-json"],
    "token-less-scope": ["scope"],
    "token-more-scope": ["scope"],
    "token-empty": ["access-token"],
    "token-no-refresh": ["not-rotated"],
    "expired-soon": [],
    "refresh-grant": [],
    "refresh-request": [],
    "refresh-500": ["error-code", "no-json"],
    "refresh-same": ["not-rotated"],
}
"""What the check says of each mistake; an error of OAuth is an answer like any other."""


@pytest.mark.parametrize("name", [row.id for step in Step for row in choices(step)])
def test_each_mistake_changes_the_answer_and_is_explained(name: str) -> None:
    """A mistake is another answer than the right one, and the check says what is wrong with it."""
    row = mistakes()[name]
    right = prepared(row.step).right
    wrong = row.put_into(right, PLACE)
    assert wrong != right
    assert read_response(wrong.text)[0] is not None
    if name in EXPLAINED:
        assert codes_of(row.step, wrong.text) == EXPLAINED[name]
    else:
        assert codes_of(row.step, wrong.text)


TYPED: Final = (
    (Step.TOKEN, "hello", "unreadable"),
    (Step.TOKEN, "HTTP/1.1 200 OK\nx y: 1\n\n{}", "unreadable"),
    (Step.TOKEN, "HTTP/1.1 200 OK\nx: a\rb\n\n{}", "unreadable"),
    *((Step.TOKEN, f"HTTP/1.1 {one} X\n\n", "unreadable") for one in (99, 100, 101, 199, 600)),
    (
        Step.CHALLENGE,
        'HTTP/1.1 401\nwww-authenticate: Bearer resource_metadata="http://x/"',
        "metadata-elsewhere",
    ),
    (
        Step.CHALLENGE,
        'HTTP/1.1 401\nwww-authenticate: Bearer resource_metadata=""',
        "metadata-elsewhere",
    ),
    (Step.SERVER, None, "foreign-endpoint"),
    (Step.RESOURCE, None, "other-authority"),
    (Step.RESOURCE, "HTTP/1.1 200 OK\n\n", "no-authority"),
    (Step.RESOURCE, None, "no-body-type"),
    (Step.REGISTER, None, "other-method"),
    (
        Step.AUTHORIZE,
        f"HTTP/1.1 302 Found\nlocation: {LOCATION}&access_token=x",
        "token-in-address",
    ),
    (Step.AUTHORIZE, f"HTTP/1.1 302 Found\nlocation: {URI}?code=%7Bcode%7D", "unknown-code"),
    (Step.TOKEN, None, "no-store"),
    (
        Step.TOKEN,
        'HTTP/1.1 400 Bad\ncontent-type: application/json\n\n{"error":"no"}',
        "error-code",
    ),
    (
        Step.TOKEN,
        'HTTP/1.1 400 Bad\ncontent-type: application/json\n\n{"error":[{}]}',
        "error-code",
    ),
)


@pytest.mark.parametrize(("step", "text", "code"), TYPED)
def test_a_typed_answer_is_explained_at_its_place(step: Step, text: str | None, code: str) -> None:
    """What a person types is judged by the same rules."""
    right = prepared(step).right.text
    changed = {
        "foreign-endpoint": right.replace(f"{PLACE.issuer}/token", "https://evil.example/token"),
        "other-authority": right.replace(f'"{PLACE.issuer}"', '"https://evil.example"'),
        "no-body-type": right.replace("application/json", "text/plain"),
        "other-method": right.replace("client_secret_post", "none"),
        "no-store": right.replace("no-store", "public"),
    }
    found = codes_of(step, text or changed[code])
    assert code in found


ODD: Final[tuple[object, ...]] = (None, True, 0, -1, 1.5, "", "x", [], {}, [[]], [{}], {"x": []})


@pytest.mark.parametrize("step", Step)
def test_whatever_a_member_is_the_check_says_what_is_wrong(step: Step) -> None:
    """Each member of the right answer, with a value of each kind in its place."""
    right = prepared(step).right
    for name, odd in itertools.product(right.members, ODD):
        body = json.dumps({**right.members, name: odd})
        codes_of(step, right._replace(body=body).text)


def test_a_problem_is_about_what_is_wrong_or_about_the_first_line() -> None:
    """Also where it is missing."""
    right = prepared(Step.TOKEN).right
    for text, about in (
        (right.text.replace("Bearer", "mac"), "mac"),
        (right.text.replace('"token_type": "Bearer",', ""), "HTTP/1.1 200 OK"),
        (right.text.replace('"Bearer"', "7"), '"token_type"'),
        (right.text.replace("no-store", "public"), "public"),
    ):
        (found,) = judge(facts_of(Step.TOKEN, prepared(Step.TOKEN)), text).diagnostics
        assert text[found.start : found.end] == about


def test_a_state_that_nobody_sent_is_not_called_by_a_name_of_python() -> None:
    """A person would write it."""
    grants = Grants()
    found = answers.authorize(PLACE, grants, asking(registered(grants), state=None))
    text = found.right.text.replace("iss=", "state=x&iss=")
    (problem,) = judge(facts_of(Step.AUTHORIZE, found), text).diagnostics
    assert problem.code == "oauth.state"
    assert "None" not in describe(problem)


@pytest.mark.parametrize("scope", [None, 0, False, [], {}, "a mcp", ["mcp"]])
def test_a_scope_that_is_no_part_of_what_was_granted_is_a_problem(scope: object) -> None:
    """Also one that is no text."""
    right = prepared(Step.TOKEN).right
    text = right._replace(body=json.dumps({**right.members, "scope": scope})).text
    assert codes_of(Step.TOKEN, text) == ["scope"]


def test_each_rule_of_the_table_is_one_that_the_check_knows() -> None:
    """Its steps, its problem, and how the part must be; no way to compare is left over."""
    assert {one.fits for one in RULES} == {*FITS}
    assert {one.code for one in RULES} <= {*chain(*CODES.values())}
    assert {step for one in RULES for step in one.steps} <= {*Step}


def test_a_token_without_a_scope_may_always_be_refused_with_403() -> None:
    """Whatever the right answer is: the person may know of a scope that the token lacks."""
    text = prepared(Step.CHALLENGE).right.text.replace("401 Unauthorized", "403 Forbidden")
    assert codes_of(Step.CHALLENGE, text) == ["status"]
    said = text.replace("Bearer ", 'Bearer error="insufficient_scope", scope="write", ')
    assert codes_of(Step.CHALLENGE, said) == []


OPTIONAL: Final = ("expires_in", "scope")


@pytest.mark.parametrize("name", prepared(Step.TOKEN).right.members)
def test_a_member_that_is_null_is_not_one_that_is_missing(name: str) -> None:
    """Clients that read it as it should be break there."""
    right = prepared(Step.TOKEN).right
    text = right._replace(body=json.dumps({**right.members, name: None})).text
    (problem,) = judge(facts_of(Step.TOKEN, prepared(Step.TOKEN)), text).diagnostics
    assert "None" not in describe(problem)
    left = {one: value for one, value in right.members.items() if one != name}
    without = codes_of(Step.TOKEN, right._replace(body=json.dumps(left)).text)
    assert without == ([] if name in OPTIONAL else [problem.code.removeprefix("oauth.")])


@pytest.mark.parametrize("said", [None, False, 1, "true", ...])
def test_metadata_announce_the_issuer_that_a_redirect_has(said: object) -> None:
    """RFC 9207, 2.3; from 2026-07-28 on it is a sentence of MCP, too."""
    name, right = "authorization_response_iss_parameter_supported", prepared(Step.SERVER).right
    assert right.members[name] is True
    assert f"iss={PLACE.issuer}" in prepared(Step.AUTHORIZE).right.header("location")
    members = {key: one for key, one in right.members.items() if key != name}
    members |= {} if said is ... else {name: said}
    text = right._replace(body=json.dumps(members)).text
    assert codes_of(Step.SERVER, text) == ["iss-not-announced"]
    assert versions.R2026_07 in page_of("iss-not-announced", versions.R2026_07)


ELSEWHERE: Final = (
    "https://evil.example/cb?code={code}",
    "http://127.0.0.1:3999/cb.evil.example?code={code}",
    "http://127.0.0.1:3999/cb@evil.example?code={code}",
    "http://127.0.0.1:3999/cb/../x?code={code}",
    "http://127.0.0.1:3999/cb#code={code}",
    "http://127.0.0.1:3998/cb?code={code}",
    "//evil.example",
    "",
)


@pytest.mark.parametrize("location", ELSEWHERE)
def test_a_redirect_to_elsewhere_cannot_be_sent_even_anyway(location: str) -> None:
    """Only the registered address is followed."""
    facts = facts_of(Step.AUTHORIZE, prepared(Step.AUTHORIZE))
    for text in (
        f"HTTP/1.1 302 Found\nlocation: {location}",
        f"HTTP/1.1 302 Found\nlocation: {LOCATION}\nlocation: {location}",
        f"HTTP/1.1 200 OK\nrefresh: 0;url={location}",
    ):
        verdict = judge(facts, text)
        assert (verdict.line, verdict.forced) == (None, None), text
        assert verdict.diagnostics[0].code == "oauth.redirect-elsewhere"


@pytest.mark.parametrize("status", ["200 OK", "302 Found", "404 Not Found"])
def test_no_page_goes_out_beside_a_redirect(status: str) -> None:
    """What a browser does not follow it shows: a page with the code could lead anywhere."""
    page = '<meta http-equiv="refresh" content="0;url=https://evil.example/?c={code}">'
    text = f"HTTP/1.1 {status}\nlocation: {LOCATION}\ncontent-type: text/html\n\n{page}"
    verdict = judge(facts_of(Step.AUTHORIZE, prepared(Step.AUTHORIZE)), text)
    assert (verdict.line, verdict.forced) == (None, None)
    assert "oauth.page-elsewhere" in {one.code for one in verdict.diagnostics}


@pytest.mark.parametrize(
    "name",
    [
        *("redirect_uri", "resource", "client_id", "iss", "audience", "error", "prompt", "scope"),
        *("response_mode", "code", "state", "code_verifier", "x"),
    ],
)
def test_an_address_with_a_secret_in_it_is_written_without_it(name: str) -> None:
    """A client that sends the whole address to which the browser came back."""
    secret = "nobody-may-read-this-0123456789"
    address = f"{URI}?code={secret}&state={secret}#access_token={secret}"
    written = urlencode({"grant_type": "authorization_code", name: address})
    for asked in (
        WebRequest("POST", "/as/token", body=written),
        WebRequest("GET", "/as/authorize", written),
        WebRequest("POST", "/as/register", body=json.dumps({name: [address]})),
    ):
        assert secret not in asked.text()


@pytest.mark.parametrize(
    ("uri", "shown"),
    [
        ("http://127.0.0.1:3999/cb", "127.0.0.1"),
        ("https://a.example/cb", "a.example"),
        ("evil://127.0.0.1/cb", "evil://127.0.0.1"),
        ("com.example.app:/cb", "com.example.app:"),
    ],
)
def test_a_program_that_a_scheme_opens_is_not_taken_for_a_host(uri: str, shown: str) -> None:
    """A person looks there for this computer."""
    assert host_of(uri) == shown


def test_a_page_that_loads_an_address_has_nothing_else_of_it() -> None:
    """The address of a consent is what its sender wrote, and its page leads a browser on."""
    page = again_page('/as/consent/x"><meta http-equiv="refresh" content="0;url=https:evil.example')
    assert page.body.count('http-equiv="') == 1


def test_what_is_granted_by_mistake_is_a_problem_of_its_own() -> None:
    """A request that must be refused is not granted by a slip."""
    refused = answers.token(PLACE, Grants(), exchanging("nobody", "x"), NOW)
    granted = prepared(Step.TOKEN).right.text
    assert [one.code for one in judge(facts_of(Step.TOKEN, refused), granted).diagnostics] == [
        "oauth.granted"
    ]


REDIRECTS: Final = (
    ("http://127.0.0.1:4000/cb", URI, True),
    ("http://[::1]:1/cb", "http://[::1]:2/cb", True),
    ("http://localhost:1/cb", "http://localhost/cb", True),
    ("http://localhost:3999/cb", URI, False),
    ("http://127.0.0.1:3999/cb/", URI, False),
    ("http://127.0.0.1:3999/cb?x=1", URI, False),
    ("http://127.0.0.1:3999/cb#x", URI, False),
    ("https://127.0.0.1:3999/cb", URI, False),
    ("http://user@127.0.0.1:3999/cb", URI, False),
    ("http://127.0.0.1:3999\\@evil.example/cb", URI, False),
    ("https://a.example:1/cb", "https://a.example:2/cb", False),
    ("http://127.0.0.1:4000/cb?", URI, False),
    ("http://127.0.0.1:4000/CB", URI, False),
    ("http://127.0.0.1:4000/cb;x", URI, False),
    ("HTTP://127.0.0.1:4000/cb", URI, False),
    ("http://LOCALHOST:1/cb", "http://localhost/cb", False),
    ("http://127.0.0.1:99999/cb", URI, False),
    ("http://127.0.0.1:4000/cb#", URI, False),
    ("http://127.0.0.1:1/a?b=1", "http://127.0.0.1/a?b=1", True),
    ("cursor://x/cb", "cursor://x/cb", True),
    ("", URI, False),
)


@pytest.mark.parametrize(("asked", "registered_uri", "fits"), REDIRECTS)
def test_redirect_addresses_are_compared_exactly(
    asked: str,
    registered_uri: str,
    fits: bool,  # noqa: FBT001 - a column
) -> None:
    """Only the port of the loopback interface may differ (RFC 8252, 7.3)."""
    assert redirect_fits(asked, registered_uri) is fits


@pytest.mark.parametrize(
    "more",
    [
        *('"client_name": "\\ud800"', '"scope": "\\ud800"', '"contacts": NaN', '"a": 1e999'),
        f'"contacts": {"[" * 5_000}{"]" * 5_000}',
    ],
)
def test_what_cannot_be_written_again_registers_nothing(more: str) -> None:
    """Half a character, no number, too deep: it is refused, and its text can be kept."""
    body = f'{{{more}, "redirect_uris": ["{URI}"]}}'
    asked = WebRequest("POST", "/as/register", "", (("content-type", "application/json"),), body)
    grants = Grants()
    found = answers.register(PLACE, grants, asked)
    assert (found.right.status, grants.clients) == (400, {})
    assert f"{asked.text()}{found.right.text}{found.client}".encode()


@pytest.mark.parametrize(
    "uri",
    [
        *("javascript:alert(1)", "data:text/html,x", "http://evil.example/cb", "/cb", "", 7),
        *("https://a.example/cb#x", "http://127.0.0.1/{code}", "https:///cb", "http://a b/"),
        *("http://u:p@127.0.0.1/cb", "http://127.0.0.1\\@evil.example/", "file:///x"),
    ],
)
def test_what_must_not_be_a_redirect_address_is_not_registered(uri: object) -> None:
    """A browser is sent to a program of this computer, or to a page over https."""
    assert uris_refused([uri])
    assert not uris_refused([URI])


REFUSED: Final = (
    ({"code_challenge": None}, "invalid_request"),
    ({"code_challenge_method": "plain"}, "invalid_request"),
    ({"code_challenge": "short"}, "invalid_request"),
    ({"response_type": "token"}, "unsupported_response_type"),
    ({"resource": "https://other.example/mcp"}, "invalid_target"),
    ({"prompt": "none"}, "consent_required"),
    ({"response_mode": "fragment"}, "invalid_request"),
    ({"request_uri": "urn:x"}, "invalid_request"),
    ({"state": "\ufffd"}, "invalid_request"),
    ({"scope": "mcp\r\nx: y"}, "invalid_scope"),
    ({"scope": 'mcp", error="x'}, "invalid_scope"),
    ({"scope": "\xe9"}, "invalid_scope"),
    ({"scope": "x" * 1_001}, "invalid_scope"),
    *(({"resource": f"{PLACE.resource}{end}"}, "invalid_target") for end in ("/", "?", "/x")),
    ({"resource": "http://127.0.0.1:8081/mcp"}, "invalid_target"),
    ({"resource": "http://localhost:8080/mcp"}, "invalid_target"),
)


@pytest.mark.parametrize(("changed", "error"), REFUSED)
def test_a_wrong_request_asks_nobody(changed: dict[str, str | None], error: str) -> None:
    """It goes back with its error to this computer, and nowhere else."""
    grants = Grants()
    client = registered(grants, redirect_uris=[URI, "https://a.example/cb"])
    found = answers.authorize(PLACE, grants, asking(client, **changed))
    assert found.consent is None
    assert f"error={error}" in found.right.header("location")
    assert all(f"why {found.why}" in sentences_of("oauth", one) for one in LANGUAGES), found.why
    away = {**changed, "redirect_uri": "https://a.example/cb"}
    found = answers.authorize(PLACE, grants, asking(client, **away))
    assert (found.right.status, found.right.header("location")) == (400, "")


@pytest.mark.parametrize("name", ["code_challenge_method", "response_mode", "prompt", "state", "x"])
def test_no_parameter_comes_twice(name: str) -> None:
    """RFC 6749, 3.1: who reads the first one, and who the last one, would disagree."""
    grants = Grants()
    asked = asking(registered(grants), **{name: "S256"})
    twice = answers.authorize(PLACE, grants, asked._replace(query=f"{name}=S256&{asked.query}"))
    assert twice.consent is None
    assert "error=invalid_request" in twice.right.header("location")


@pytest.mark.parametrize("uri", [URI, f"{URI}?", f"{URI}?a=1", f"{URI}?a", "cursor://x/cb?"])
def test_a_consent_to_each_registered_address_can_be_sent(uri: str) -> None:
    """Its draft leads there, also where the address ends with a question mark."""
    grants = Grants()
    client = registered(grants, redirect_uris=[uri])
    found = answers.authorize(PLACE, grants, asking(client, redirect_uri=uri))
    for text in found.ready.values():
        assert judge(facts_of(Step.AUTHORIZE, found), text).diagnostics == ()
    for row in (one for one in mistakes().values() if one.step is Step.AUTHORIZE):
        assert judge(
            facts_of(Step.AUTHORIZE, found), row.put_into(found.right, PLACE).text
        ).forced, row.id


@pytest.mark.parametrize(
    "changed",
    [{"client_id": "nobody"}, {"redirect_uri": "https://evil.example/"}, {"redirect_uri": ""}],
)
def test_a_stranger_is_not_redirected(changed: dict[str, str | None]) -> None:
    """RFC 6749, 4.1.2.1."""
    grants = Grants()
    client = registered(grants, redirect_uris=[URI, "http://127.0.0.1:1/x"])
    found = answers.authorize(PLACE, grants, asking(client, **changed))
    assert (found.consent, found.right.status, found.right.header("location")) == (None, 400, "")


WRONG_TOKENS: Final = (
    ({"code": "x"}, "invalid_grant"),
    ({"code_verifier": "w" * 50}, "invalid_grant"),
    ({"redirect_uri": "http://127.0.0.1:3998/cb"}, "invalid_grant"),
    ({"client_id": "nobody"}, "invalid_client"),
    ({"client_secret": "x"}, "invalid_client"),
    ({"resource": "https://other.example/mcp"}, "invalid_target"),
    ({"grant_type": "password"}, "unsupported_grant_type"),
)


@pytest.mark.parametrize(("changed", "error"), WRONG_TOKENS)
def test_a_code_is_exchanged_only_for_whom_it_was_made(changed: dict[str, str], error: str) -> None:
    """Client, verifier, redirect address and resource must fit."""
    grants = Grants()
    client = registered(grants)
    code = consented(grants, client)
    asked = exchanging(client, **{"code": code, **changed})
    found = answers.token(PLACE, grants, asked, NOW)
    assert found.right.members["error"] == error
    assert found.values == {}
    assert all(f"why {found.why}" in sentences_of("oauth", one) for one in LANGUAGES), found.why
    again = answers.token(PLACE, grants, exchanging(client, code), NOW)
    is_burned = "code_verifier" in changed or "redirect_uri" in changed
    assert again.right.status == (400 if is_burned else 200)  # who guesses has one try


def test_a_code_of_another_client_of_the_same_authority_is_unknown() -> None:
    """And whoever has it by right can still use it."""
    grants = Grants()
    client, other = registered(grants), registered(grants)
    code = consented(grants, client)
    stolen = answers.token(PLACE, grants, exchanging(other, code), NOW)
    assert (stolen.right.members["error"], stolen.values) == ("invalid_grant", {})
    assert answers.token(PLACE, grants, exchanging(client, code), NOW).right.status == 200


def test_a_code_counts_once_and_its_second_use_ends_what_it_gave() -> None:
    """RFC 6749, 4.1.2; and an old refresh token ends its grant."""
    grants = Grants()
    client = registered(grants)
    code = consented(grants, client)
    first = answers.token(PLACE, grants, exchanging(client, code), NOW)
    token = first.values["access_token"]
    assert grants.grant_of(token, PLACE.issuer, PLACE.resource, NOW) is not None
    assert grants.grant_of(token, PLACE.issuer, PLACE.resource, NOW + 4_000) is None
    assert grants.grant_of(token, PLACE.issuer, "http://127.0.0.1:8081/mcp", NOW) is None
    again = answers.token(PLACE, grants, exchanging(client, code), NOW)
    assert again.right.members["error"] == "invalid_grant"
    assert grants.grant_of(token, PLACE.issuer, PLACE.resource, NOW) is None

    code = consented(grants, client)
    given = answers.token(PLACE, grants, exchanging(client, code), NOW).values["refresh_token"]
    asked = exchanging(client, "", grant_type="refresh_token", refresh_token=given)
    newer = answers.token(PLACE, grants, asked, NOW)
    assert grants.grant_of(newer.values["access_token"], PLACE.issuer, PLACE.resource, NOW)
    assert answers.token(PLACE, grants, asked, NOW).values == {}
    assert grants.grants == {}
    late = consented(grants, client)
    found = answers.token(PLACE, grants, exchanging(client, late), NOW + 301)
    assert found.right.members["error"] == "invalid_grant"


def test_a_code_that_nobody_exchanges_is_kept_nowhere_and_forgotten() -> None:
    """It is a grant without a token; and to expire all tokens ends no code."""
    grants = Grants()
    client = registered(grants)
    code = consented(grants, client)
    assert grants.as_record()["grants"] == []
    grants.expire()
    given = answers.token(PLACE, grants, exchanging(client, code), NOW)
    (kept,) = grants.as_record()["grants"]
    assert kept["code"] == ""
    other = consented(grants, client)
    assert len(grants.grants) == 2
    grants.issue_code(Grant(PLACE.issuer, client, PLACE.resource, "mcp"), NOW + CODE_LIVES)
    assert len(grants.grants) == 2
    found = answers.token(PLACE, grants, exchanging(client, other), NOW)
    assert found.right.members["error"] == "invalid_grant"
    token = given.values["access_token"]
    assert grants.grant_of(token, PLACE.issuer, PLACE.resource, NOW) is not None
    assert Grants.read(grants.as_record()).grants[kept["id"]].refresh == kept["refresh"]


@pytest.mark.parametrize("method", ["client_secret_post", "client_secret_basic"])
def test_a_client_with_a_secret_must_show_it(method: str) -> None:
    """As it registered, and in no other way."""
    grants = Grants()
    asked = registering(token_endpoint_auth_method=method)
    found = answers.register(PLACE, grants, asked)
    client, secret = found.right.members["client_id"], found.values["client_secret"]
    basic = base64.b64encode(f"{client}:{secret}".encode()).decode()

    def exchanged(shown: str, header: str = "") -> str:
        code = consented(grants, client)
        more = {"client_secret": shown} if shown else {}
        request = exchanging(client, code, **more)
        request = request._replace(headers=(("authorization", header),) if header else ())
        right = answers.token(PLACE, grants, request, NOW).right
        return str(right.members.get("error", "given"))

    assert exchanged("") == "invalid_client"
    assert exchanged("wrong") == "invalid_client"
    assert exchanged("", "Basic nonsense!") == "invalid_client"
    assert exchanged(secret, f"Basic {basic}") == "invalid_client"  # two ways at once
    other = base64.b64encode(f"{registered(grants)}:".encode()).decode()
    assert exchanged("", f"Basic {other}") == "invalid_client"
    by_header = method == "client_secret_basic"
    assert exchanged("" if by_header else secret, f"Basic {basic}" if by_header else "") == "given"


def test_two_issuers_take_nothing_from_each_other() -> None:
    """Clients, codes and tokens of one are unknown to the other."""
    grants, other = Grants(), Place("http://127.0.0.1:8080", "/as2")
    client = registered(grants)
    assert answers.authorize(other, grants, asking(client)).consent is None
    code = consented(grants, client)
    wrong = answers.token(other, grants, exchanging(client, code), NOW)
    assert wrong.right.members["error"] == "invalid_client"
    token = answers.token(PLACE, grants, exchanging(client, code), NOW).values["access_token"]
    assert grants.grant_of(token, other.issuer, other.resource, NOW) is None


SECRET_REQUESTS: Final = (
    asking("c", nonce="sec-1", login_hint="sec-2", whatever="sec-3", state="sec-4"),
    exchanging("c", "sec-5", code_verifier="sec-6", client_secret="sec-7", other="sec-8"),
    WebRequest("POST", "/mcp", "access_token=sec-9", (("authorization", "Bearer sec-a"),)),
    WebRequest("GET", "/mcp", "", (("cookie", "a=sec-b"), ("x-api-key", "sec-c"))),
    WebRequest("GET", "/x", "", (("referer", "http://a/?code=sec-d"), ("X-Other", "sec-e"))),
    WebRequest(
        "POST",
        "/as/register",
        "",
        (("content-type", "application/json"),),
        json.dumps({"client_secret": "sec-f", "redirect_uris": [URI]}),
    ),
    WebRequest("POST", "/as/token", "", (("content-type", "text/plain"),), "code=sec-g"),
    WebRequest("POST", "/mcp", "", (("authorization", "sec-h"),)),
    WebRequest("POST", "/mcp", "", (("proxy-authorization", "sec-i-of-20-characters sec-j"),)),
    WebRequest("GET", "/.well-known/sk-sec-klmnopqrstuvwxyz"),
    WebRequest("GET", "/as/authorize", "sec-k"),
    WebRequest("GET", "/as/authorize", "sec-l/=x&%22sec-m%22"),
    WebRequest("POST", "/as/token", "", (("content-type", "text/plain"),), '{"code":"sec-n"}'),
    WebRequest("POST", "/as/token", "", (("content-type", "text/plain"),), '[{"code":"sec-o"}]'),
    WebRequest("POST", "/as/token", "", (("content-type", "application/json"),), "code=sec-p"),
    WebRequest("POST", "/as/token", "", (("content-type", "application/json"),), '{"code":"sec-q'),
    WebRequest("POST", "/as/token", "", (), "sec-r"),
    *(
        WebRequest("POST", "/as/register", "", (), json.dumps(body))
        for name in ("Code", "STATE", "request", "x", "k", "software_statement", "")
        for body in (
            {name: "sec-s"},
            {"jwks": {"keys": [{"kty": "oct", name: ["sec-t", 7]}]}},
            [name, "sec-u"],
            [{name: {name: "sec-v"}}],
        )
    ),
)


@pytest.mark.parametrize("request_", SECRET_REQUESTS)
def test_no_text_of_a_request_has_a_secret(request_: WebRequest) -> None:
    """Names stand for the values."""
    assert "sec-" not in request_.text()


SECRET: Final = "ghp_c4n4ryQz7c4n4ryQz7c4n4ryQz7c4n4ry"
GIVEN_BACK: Final = (
    {"client_name": f"My client {SECRET}"},
    {"client_name": "{client_secret}"},
    {"client_name": {"password": "hunter-22"}},
    {"client_uri": "https://me:hunter-22@a.example/"},
    {"logo_uri": f"https://a.example/?access_token={SECRET}"},
    {"scope": f"mcp {SECRET}"},
    {"scope": "{client_id} {client_secret}"},
    {"application_type": SECRET},
    {"contacts": ["a@a.example", SECRET, {"token": "hunter-22"}, {"n": 7}, '"{', 1e9]},
    {"client_name": "hunter-22", "contacts": ["password=hunter-22"]},
    {"client_name": "hunter-22", "tos_uri": "https://a.example/?password=hunter-22"},
    {"redirect_uris": [URI, f"https://a.example/cb?token={SECRET}", f"{URI}?code=hunter-22"]},
)


@pytest.mark.parametrize("more", GIVEN_BACK)
def test_a_client_gets_back_what_it_sent_and_nobody_reads_its_secrets(
    more: dict[str, object],
) -> None:
    """RFC 7591, 3.2.1: the server "MUST return all registered metadata about this client"."""
    request = registering(token_endpoint_auth_method="client_secret_post", **more)
    found = answers.register(PLACE, Grants(), request)
    written = f"{request.text()}{found.right.text}{found.client}"
    assert [one for one in (SECRET, "hunter-22") if one in written] == []
    sent = found.right.filled(found.values).members
    assert {name: sent[name] for name in more if name != "tos_uri"} == {
        name: one for name, one in more.items() if name != "tos_uri"
    }
    assert sent["client_secret"] == found.values["client_secret"]
    assert judge(facts_of(Step.REGISTER, found), found.right.text).diagnostics == ()


LEADS: Final = (
    URI,
    f"{URI}?code=hunter-22&state=hunter-22",
    f"{URI}/{SECRET}",
    f"https://a.example/cb?next=%2Fx%3Ftoken%3D{SECRET}&a=",
    f"{SECRET.lower().replace('_', '-')}://cb",
    "https://eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.c2lnbmF0dXJlLXF6Nw/cb",
)


@pytest.mark.parametrize("uri", LEADS)
@pytest.mark.parametrize("scope", ["mcp", f"mcp {SECRET}", "{access_token} {code}{state}"])
def test_a_browser_and_a_token_bring_back_what_was_asked_for(uri: str, scope: str) -> None:
    """Whatever looks like a secret in an address or a scope is in no text."""
    grants = Grants()
    client = registered(grants, redirect_uris=[uri])
    found = answers.authorize(PLACE, grants, asking(client, redirect_uri=uri, scope=scope))
    assert found.consent is not None
    code = grants.issue_code(found.consent, NOW)
    facts = {**facts_of(Step.AUTHORIZE, found), "redirect": without_secrets(uri)}
    for text in found.ready.values():
        assert judge(facts, text).diagnostics == ()
        answer, _ = read_response(text)
        assert answer is not None
        location = answer.filled({**found.values, "code": code}).header("location")
        assert location.startswith(f"{uri}{'&' if '?' in uri else '?'}")
        assert location.endswith(f"&state=secret-state&iss={PLACE.issuer}")
    assert host_of(uri) in uri.lower()
    asked = exchanging(client, code, redirect_uri=uri)
    given = answers.token(PLACE, grants, asked, NOW)
    assert judge(facts_of(Step.TOKEN, given), given.right.text).diagnostics == ()
    sent = given.right.filled(given.values).members
    assert (sent["scope"], sent["access_token"]) == (scope, given.values["access_token"])
    more = answers.challenge(PLACE, "insufficient_scope", f"{scope} write")
    assert judge(facts_of(Step.CHALLENGE, more), more.right.text).diagnostics == ()
    header = more.right.filled(more.values).header("www-authenticate")
    assert header.endswith(f'scope="{scope} write"')
    page = waiting_page(Ticket("n", "f", 1, found.consent, found.client), "/").body
    every = (*found.ready.values(), given.right.text, more.right.text, asked.text(), page)
    assert [one for one in (SECRET, "hunter-22") if one in "".join(every)] == []


def test_a_refusal_of_a_browser_has_no_secret_either() -> None:
    """It goes to the address as it came."""
    grants, uri = Grants(), f"{URI}?code=hunter-22"
    client = registered(grants, redirect_uris=[uri])
    found = answers.authorize(PLACE, grants, asking(client, redirect_uri=uri, prompt="none"))
    assert "hunter-22" not in found.right.text
    location = found.right.filled(found.values).header("location")
    assert location.startswith(f"{uri}&error=consent_required&")


def test_no_header_but_a_redirect_and_a_challenge_gets_a_value() -> None:
    """A line break in a state would begin another header."""
    state = "x\r\nset-cookie: a=b"
    typed = WebResponse(302, (("www-authenticate", "{state} {scope}"), ("x", "{state}")))
    assert typed.filled({"state": state}) == typed
    assert typed.filled({"scope": [state]}).headers[0][1].isprintable()
    typed = typed._replace(headers=(("location", "{state}"),))
    assert "\r" not in typed.filled({"state": state}).header("location")


WELL_KNOWN: Final = (
    ("/.well-known/oauth-protected-resource/mcp", Step.RESOURCE),
    ("/.well-known/oauth-protected-resource", Step.RESOURCE),
    ("/.well-known/oauth-authorization-server/as", Step.SERVER),
    ("/as/.well-known/openid-configuration", Step.SERVER),
    ("/.well-known/other", Step.ELSEWHERE),
)


@pytest.mark.parametrize(("path", "step"), WELL_KNOWN)
def test_metadata_are_only_read(path: str, step: Step) -> None:
    """Nothing is at these addresses for another method."""
    assert {PLACE.step_at(one, path) for one in ("GET", "HEAD")} == {step}
    others = {PLACE.step_at(one, path) for one in ("POST", "PUT", "DELETE", "OPTIONS", "X")}
    assert others == {Step.ELSEWHERE}


def test_what_is_no_utf_8_is_not_given_back_as_something_else() -> None:
    """A state comes back as it was, or not at all."""
    grants = Grants()
    asked = asking(registered(grants), state=None)
    asked = asked._replace(query=f"{asked.query}&state=%ff%fe")
    assert answers.authorize(PLACE, grants, asked).consent is None


@pytest.mark.parametrize(
    ("origin", "other"),
    [
        ("http://127.0.0.1:8080", "http://localhost:8080"),
        ("http://localhost:8080", "http://127.0.0.1:8080"),
        ("http://[::1]:8080", "http://localhost:1"),
        ("https://mcp.example", "http://localhost:1"),
        ("https://localhost.example:80", "http://localhost:1"),
    ],
)
def test_a_redirect_to_another_origin_leads_to_another_one(origin: str, other: str) -> None:
    """Never to where the request came, and never to somebody else's computer."""
    assert Place(origin).other == other


def test_a_path_cannot_write_a_header() -> None:
    """A line break in it stays encoded."""
    assert WebRequest("GET", "/.well-known/x\nhost: evil").text().count("\n") == 0


def test_values_are_filled_in_once_as_the_response_goes_out() -> None:
    """A value that looks like a name stays a value."""
    right = prepared(Step.AUTHORIZE).right
    filled = right.filled({"state": "{code}&x=1", "code": "abc"})
    assert "code=abc&state=%7Bcode%7D%26x%3D1&iss" in filled.header("location")
    assert WebResponse(200, (), '{"a": "{code}"}').filled({"code": 'x"y'}).members == {"a": 'x"y'}


def test_every_problem_mistake_and_step_has_its_sentences() -> None:
    """In both languages, and no sentence is left over."""
    for language in LANGUAGES:
        told = sentences_of("oauth", language)
        assert {*chain(*CODES.values())} <= {*told}
        assert {*sentences_of("oauth mistake", language)} == {*mistakes()}
        for step in Step:
            assert {f"title {step}", f"what {step}"} <= {*told}


@pytest.mark.parametrize("version", [one for one in versions.ALL if one > "2025"])
def test_the_rules_are_those_of_the_version_in_use(version: str) -> None:
    """Each sentence belongs to a step and has a page of its version."""
    shown = [one for step in Step for one in of_step(step, version)]
    assert shown
    assert {*shown} == {one for one in musts() if one.since <= version <= one.until}
    assert all(code in chain(*CODES.values()) for one in musts() for code in one.codes)
    assert f"/{version}/" in page_of("no-challenge", version)
