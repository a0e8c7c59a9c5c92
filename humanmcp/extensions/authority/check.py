"""What is wrong with an answer that a person wrote, before a client gets it.

Each rule is one line of a generator: the code of the problem, what fills its sentence, and the part
of the text that it is about. The code names its sentence (section `oauth`) and, in `musts.toml`,
the sentence of the specification.
"""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias
from urllib.parse import parse_qsl, urlsplit

from humanmcp.extensions.authority.musts import page_of
from humanmcp.extensions.authority.steps import Step, WebResponse, named, read_response
from humanmcp.protocol.diagnostics.model import Diagnostic, Severity, Verdict, line_and_column

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

SECTION: Final = "oauth"
CODES: Final[Mapping[str, list[str]]] = tomllib.loads(
    Path(__file__).with_name("problems.toml").read_text("utf-8")
)
"""The codes of all problems, by what becomes of an answer that has them."""


class Found(NamedTuple):
    """A problem. `about` is the part of the text that it is about, "" for the first line."""

    code: str
    about: str = ""
    detail: tuple[tuple[str, str], ...] = ()


Facts: TypeAlias = "Mapping[str, Any]"
"""What the process knows of a step: `right`, the right answer; `step`, `redirect`, …"""


def judge(facts: Facts, text: str) -> Verdict:
    """Check an answer to a step. The line is the answer as it will be recorded."""
    answer, line = read_response(text)
    right, _ = read_response(str(facts.get("right", "")))
    if answer is None:
        about = [*text.split("\n"), ""][line - 1]
        return _verdict(text, None, [Found("unreadable", about, (("line", str(line)),))], facts)
    found: list[Found] = []
    if right is not None:
        found += _of_step(Step(facts["step"]), answer, right, facts)
        found += _of_any_body(answer, right)
    return _verdict(text, answer, found, facts)


def _of_step(step: Step, answer: WebResponse, right: WebResponse, facts: Facts) -> Iterator[Found]:
    if step in (Step.REGISTER, Step.TOKEN) and (_is_error(right) or _is_error(answer)):
        yield from _error(answer, right)
        return
    if step not in (Step.CHALLENGE, Step.AUTHORIZE):
        yield from _status(answer, right.status)
    if step in _RULES:
        yield from _RULES[step](answer, right, facts)


def _verdict(text: str, answer: WebResponse | None, found: list[Found], facts: Facts) -> Verdict:
    problems = tuple(_diagnostic(text, one, str(facts.get("version", ""))) for one in found)
    is_hard = answer is None or any(one.code in CODES["never"] for one in found)
    line = None if answer is None else answer.text
    blocked = any(one.blocks for one in problems)
    return Verdict(text, None if blocked else line, None if is_hard else line, problems)


def _diagnostic(text: str, found: Found, version: str) -> Diagnostic:
    start = max(0, text.find(found.about)) if found.about else 0
    end = start + len(found.about) if found.about else max(0, text.find("\n"))
    line, column = line_and_column(text, start)
    severity = Severity.WARNING if found.code in CODES["warning"] else Severity.ERROR
    page = page_of(found.code, version)
    return Diagnostic(
        f"{SECTION}.{found.code}", severity, found.detail, "", start, end, line, column, page=page
    )


def _other(code: str, name: str, got: object, wanted: object) -> Found:
    detail = (("name", name), ("got", str(got)), ("wanted", str(wanted)))
    about = got if isinstance(got, str) and got else f'"{name}"'
    return Found(code, about, detail)


def _differing(answer: WebResponse, right: WebResponse, *names: tuple[str, str]) -> Iterator[Found]:
    """Compare members with the right ones: each by its name, with the code of the problem."""
    said, wanted = answer.members, right.members
    for name, code in names:
        if name in wanted and said.get(name) != wanted[name]:
            yield _other(code, name, said.get(name, ""), wanted[name])


def _status(answer: WebResponse, *wanted: int) -> Iterator[Found]:
    if answer.status not in wanted:
        yield _other("status", "status", str(answer.status), " / ".join(map(str, wanted)))


def _of_any_body(answer: WebResponse, right: WebResponse) -> Iterator[Found]:
    """A JSON body must be one, and say so."""
    if right.header("content-type").startswith("application/json") and answer.body.strip():
        kind = answer.header("content-type").partition(";")[0].strip().lower()
        if not answer.members:
            yield Found("no-json", answer.body[:40])
        elif kind != "application/json":
            yield _other("no-body-type", "content-type", kind, "application/json")


_PARAMETER: Final = re.compile(r'([a-z_]+)="?([^",\s]*)"?')


def _challenge(answer: WebResponse, right: WebResponse, _facts: Facts) -> Iterator[Found]:
    header, wanted = answer.header("www-authenticate"), right.header("www-authenticate")
    given, expected = (dict(_PARAMETER.findall(one)) for one in (header, wanted))
    if given.get("error") != "insufficient_scope":
        yield from _status(answer, right.status)
    elif answer.status != 403:
        yield _other("scope-status", "status", str(answer.status), "403")
    if not re.match(r"(?i)(?:.*,\s*)?bearer(?:\s|$)", header):
        yield Found("no-challenge")
        return
    place = "resource_metadata"
    if place not in given:
        yield Found("metadata-not-named", header)
    elif given[place] != expected[place]:
        yield _other("metadata-elsewhere", place, given[place], expected[place])


def _resource(answer: WebResponse, right: WebResponse, _facts: Facts) -> Iterator[Found]:
    yield from _differing(answer, right, ("resource", "resource"))
    name = "authorization_servers"
    servers, (issuer,) = answer.members.get(name), right.members[name]
    if not isinstance(servers, list) or not servers:
        yield Found("no-authority", f'"{name}"')
    elif issuer not in servers:
        yield _other("other-authority", name, servers[0], issuer)


def _server(answer: WebResponse, right: WebResponse, _facts: Facts) -> Iterator[Found]:
    yield from _differing(answer, right, ("issuer", "issuer"))
    said, wanted = answer.members, right.members
    for name in ("authorization_endpoint", "token_endpoint", "response_types_supported"):
        if not said.get(name):
            yield _other("missing", name, "", wanted.get(name))
    methods = said.get("code_challenge_methods_supported")
    if not isinstance(methods, list) or "S256" not in methods:
        yield Found("no-pkce", '"code_challenge_methods_supported"')
    if not said.get("registration_endpoint") and not said.get(_DOCUMENTS):
        yield Found("no-registration")
    for name in ("authorization_endpoint", "token_endpoint", "registration_endpoint"):
        if said.get(name) and said[name] != wanted.get(name):
            yield _other("foreign-endpoint", name, said[name], wanted.get(name))


_DOCUMENTS: Final = "client_id_metadata_document_supported"


def _register(answer: WebResponse, right: WebResponse, _facts: Facts) -> Iterator[Found]:
    yield from _differing(
        *(answer, right),
        ("client_id", "client-id"),
        ("redirect_uris", "redirect-uris"),
        ("client_secret", "no-secret"),
        ("token_endpoint_auth_method", "other-method"),
    )


def _authorize(answer: WebResponse, right: WebResponse, facts: Facts) -> Iterator[Found]:
    uri = str(facts.get("redirect", ""))
    location, leading = answer.header("location"), ("location", "refresh")
    count = sum(name.lower() in leading for name, _ in answer.headers)
    if not uri and not count:
        return
    if count != 1 or not leads_to(location, uri):
        yield _other("redirect-elsewhere", "location", location, uri)
        return
    if answer.body.strip():
        yield Found("page-elsewhere", answer.body[:40])
    yield from _status(answer, 302, 303)
    said, wanted = query_of(location), query_of(right.header("location"))
    if "access_token" in said or "access_token" in location:
        yield Found("token-in-address", "access_token")
    if "error" not in said and said.get("code") != named("code"):
        yield _other("unknown-code", "code", said.get("code", ""), named("code"))
    for name in ("state", "iss"):
        if said.get(name) != wanted.get(name):
            yield _other(name, name, said.get(name, ""), wanted.get(name, ""))


def leads_to(location: str, uri: str) -> bool:
    """Return True if a location is a redirect URI, with parameters added and nothing else."""
    if not uri or not location.startswith(uri) or "#" in location or "\\" in location:
        return False
    rest = location[len(uri) :]
    return not rest or rest[0] == ("&" if "?" in uri else "?")


def query_of(location: str) -> dict[str, str]:
    """Return the parameters of a location. A brace that is encoded is none of ours."""
    query = re.sub("(?i)%7b", "%257B", urlsplit(location).query)
    return dict(parse_qsl(query, keep_blank_values=True))


def _token(answer: WebResponse, right: WebResponse, _facts: Facts) -> Iterator[Found]:
    yield from _differing(answer, right, ("access_token", "access-token"))
    said, wanted = answer.members, right.members
    kind = said.get("token_type")
    if not isinstance(kind, str) or kind.lower() != "bearer":
        yield _other("token-type", "token_type", kind or "", "Bearer")
    lives = said.get("expires_in")
    if lives is not None and (not isinstance(lives, int) or isinstance(lives, bool) or lives < 0):
        yield _other("expires", "expires_in", lives, "3600")
    if {*str(said.get("scope", "")).split()} - {*str(wanted.get("scope", "")).split()}:
        yield _other("scope", "scope", said.get("scope"), wanted.get("scope"))
    yield from _differing(answer, right, ("refresh_token", "not-rotated"))
    if "no-store" not in answer.header("cache-control").lower():
        yield Found("no-store", "cache-control")


def _is_error(answer: WebResponse) -> bool:
    return answer.status >= 400 or "error" in answer.members


_ERRORS: Final = frozenset(
    {"invalid_request", "invalid_client", "invalid_grant", "unauthorized_client", "invalid_scope"}
    | {"unsupported_grant_type", "invalid_target", "invalid_redirect_uri"}
    | {"invalid_client_metadata", "temporarily_unavailable", "server_error", "access_denied"}
)


def _error(answer: WebResponse, right: WebResponse) -> Iterator[Found]:
    """An error has a code that is known, and a status that says so."""
    said = answer.members.get("error")
    if _is_error(right) and not _is_error(answer):
        yield _other("granted", "error", answer.status, right.members.get("error"))
        return
    if said not in _ERRORS:
        yield _other("error-code", "error", said or "", "invalid_grant")
    if answer.status < 400:
        yield _other("status", "status", str(answer.status), "400")


_RULES: Final[Mapping[Step, Callable[[WebResponse, WebResponse, Facts], Iterator[Found]]]] = {
    Step.CHALLENGE: _challenge,
    Step.RESOURCE: _resource,
    Step.SERVER: _server,
    Step.REGISTER: _register,
    Step.AUTHORIZE: _authorize,
    Step.TOKEN: _token,
}
