"""The right answer to each step, by the rules of MCP's authorization and of the RFCs it names.

https://modelcontextprotocol.io/specification/2025-11-25/basic/authorization
"""

from __future__ import annotations

import base64
import binascii
import hmac
import json
import re
import tomllib
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple
from urllib.parse import SplitResult, quote, unquote, urlencode, urlsplit

from humanmcp.extensions.authority.grants import (
    TOKEN_LIVES,
    Grant,
    RegisteredClient,
    challenge_of,
    digest,
)
from humanmcp.extensions.authority.steps import Step, WebRequest, WebResponse, given_back, named
from humanmcp.locales import say
from humanmcp.protocol.http.outbound import PATH
from humanmcp.protocol.validation.redaction import without_secrets

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from humanmcp.extensions.authority.grants import Grants

SECTION: Final = "oauth"
_RIGHT: Final = tomllib.loads((Path(__file__).parent / "right.toml").read_text("utf-8"))
"""The metadata."""
(SCOPE,) = _RIGHT["resource-metadata"]["scopes_supported"]
"""The scope that a client is asked to request. Nothing here depends on it."""
_CHALLENGE: Final = re.compile(r"[A-Za-z0-9_-]{43}")
_LONGEST_NAME: Final = 200
_MOST_REDIRECTS: Final = 20
_LOOPBACK: Final = frozenset({"127.0.0.1", "::1", "localhost"})
_RUNS: Final = frozenset({"javascript", "data", "vbscript", "file", "about", "blob", "ftp", "ws"})
"""Schemes that no redirect may have: a browser would run them, or show a file."""
SERVER_NAMES: Final = ("oauth-authorization-server", "openid-configuration")


_ADDRESS: Final = re.compile(r"\{(issuer|resource|origin|other)\}")


class Place(NamedTuple):
    """Where everything is. `origin` is what clients see, such as `http://127.0.0.1:8080`."""

    origin: str
    path: str = "/as"
    """The path of the issuer."""

    @property
    def issuer(self) -> str:
        return f"{self.origin}{self.path}"

    @property
    def resource(self) -> str:
        return f"{self.origin}{PATH}"

    @property
    def resource_metadata(self) -> str:
        """RFC 9728, 3.1: inserted between the host and the path."""
        return f"{self.origin}{_RESOURCE}{PATH}"

    @property
    def other(self) -> str:
        """Another origin: the same under the other name of this computer, if it is on this one."""
        for own, other in (("127.0.0.1", "localhost"), ("localhost", "127.0.0.1")):
            if f"//{own}:" in self.origin:
                return self.origin.replace(own, other, 1)
        return "http://localhost:1"

    def filled(self, text: str) -> str:
        """Return a text with the addresses of the place for `{issuer}`, `{resource}` and such."""
        return _ADDRESS.sub(lambda one: str(getattr(self, one[1])), text)

    def step_at(self, method: str, path: str) -> Step | None:
        """Return the step that is asked for at a path; None for a path that nobody names."""
        for step, (methods, paths) in _PATHS.items():
            if path in (one.format(self.path) for one in paths):
                return step if method in methods else Step.ELSEWHERE
        is_near = path.startswith("/.well-known/") or f"{{}}{path}" in _ENDPOINTS
        return Step.ELSEWHERE if is_near else None


_READ: Final = ("GET", "HEAD")
_WELL_KNOWN: Final = "/.well-known/{}{{}}".format
_RESOURCE: Final = "/.well-known/oauth-protected-resource"
_PATHS: Final[Mapping[Step, tuple[Sequence[str], Sequence[str]]]] = {
    Step.RESOURCE: (_READ, (f"{_RESOURCE}{PATH}", _RESOURCE, f"{_RESOURCE}/")),
    Step.SERVER: (_READ, [*map(_WELL_KNOWN, SERVER_NAMES), f"{{}}/.well-known/{SERVER_NAMES[1]}"]),
    Step.REGISTER: (["POST"], ["{}/register"]),
    Step.AUTHORIZE: (["GET"], ["{}/authorize"]),
    Step.TOKEN: (["POST"], ["{}/token"]),
}
"""The methods of each step, and its paths around that of the issuer."""
_ENDPOINTS: Final = {paths[0] for _, paths in _PATHS.values()}


class Asked(NamedTuple):
    """A step that a client asks for. `error` and `scope` are those of a challenge."""

    step: Step
    place: Place
    request: WebRequest
    error: str = ""
    scope: str = ""


class Prepared(NamedTuple):
    """A right answer. `values` are its secrets, by name; `client` is the name of who asks."""

    right: WebResponse
    values: Mapping[str, Any] = {}
    client: str = ""
    why: str = ""
    """The code of what is wrong with the request, "" for nothing."""
    consent: Grant | None = None
    """What a person is asked to consent to: what the code will be good for."""
    ready: Mapping[str, str] = {}
    """Other answers that a person may give, by name."""


def challenge(place: Place, error: str = "", scope: str = "") -> Prepared:
    """Ask for a token. RFC 6750, 3: without `error` where no token came."""
    parts = [f'error="{error}"'] if error else []
    parts += [f'resource_metadata="{place.resource_metadata}"']
    said, values = given_back({"scope": scope} if scope else {})
    parts += [f'{name}="{one}"' for name, one in said.items()]
    header, members = f"Bearer {', '.join(parts)}", {"error": error or "invalid_token"}
    status = 403 if error == "insufficient_scope" else 401
    right = WebResponse.of_json(status, members, www_authenticate=header)
    return Prepared(right, values, why=error or "no token")


def metadata(place: Place, *parts: str) -> Prepared:
    members = {name: one for part in parts for name, one in _RIGHT[part].items()}
    return Prepared(WebResponse.of_json(200, json.loads(place.filled(json.dumps(members)))))


def oauth_error(error: str, description: str, status: int = 400, **headers: str) -> WebResponse:
    members = {"error": error, "error_description": description}
    return WebResponse.of_json(status, members, cache_control="no-store", **headers)


# -- registration ---------------------------------------------------------------------------------


def register(place: Place, grants: Grants, request: WebRequest) -> Prepared:
    """Register a client (RFC 7591)."""
    asked, shown = request.members, request.shown
    name = shown.get("client_name")
    name = name[:_LONGEST_NAME] if isinstance(name, str) else ""
    uris = asked.get("redirect_uris")
    wrong = uris_refused(uris)
    if wrong or not isinstance(uris, list):
        error = oauth_error("invalid_redirect_uri", wrong)
        return Prepared(error, client=name, why="redirect refused")
    method = asked.get("token_endpoint_auth_method", "client_secret_basic")
    if method not in _RIGHT["server-metadata"]["token_endpoint_auth_methods_supported"]:
        error = oauth_error("invalid_client_metadata", "unknown token_endpoint_auth_method")
        return Prepared(error, client=name, why="method refused")
    client, secret = grants.register(place.issuer, name, uris, method)
    said, kept = given_back({name: asked[name] for name in _ECHOED if name in asked}, shown)
    members: dict[str, Any] = {
        "client_id": client.id,
        **(
            {"client_secret": named("client_secret"), "client_secret_expires_at": 0}
            if secret
            else {}
        ),
        **said,
        "token_endpoint_auth_method": method,
        "grant_types": ["authorization_code", "refresh_token"],
        "response_types": ["code"],
    }
    right = WebResponse.of_json(201, members, cache_control="no-store")
    return Prepared(right, {"client_secret": secret, **kept}, name)


_ECHOED: Final = (
    *("client_name", "client_uri", "logo_uri", "scope", "application_type", "contacts"),
    "redirect_uris",
)


def uris_refused(uris: Any) -> str:  # noqa: ANN401 - any JSON value
    """Return why redirect URIs cannot be registered, "" if they can.

    OAuth 2.1, 2.3.1: absolute, without a fragment; plain http on the loopback interface alone.
    """
    if not isinstance(uris, list) or not 0 < len(uris) <= _MOST_REDIRECTS:
        return "redirect_uris must be a list of one to twenty URIs"
    for uri in uris:
        parts = _split(uri)
        if parts is None or not parts.scheme or parts.fragment or "#" in uri:
            return "a redirect URI must be absolute, without a fragment"
        if parts.scheme in _RUNS or (parts.scheme in ("http", "https") and not parts.hostname):
            return "a redirect URI has a scheme or host that is not allowed"
        if parts.scheme == "http" and parts.hostname not in _LOOPBACK:
            return "a redirect URI with http must be on the loopback interface"
    return ""


def _split(uri: Any) -> SplitResult | None:  # noqa: ANN401 - any JSON value
    if not isinstance(uri, str) or not uri.isascii() or len(uri) > 2_000:
        return None
    if re.search(r'[\s\x00-\x1f\x7f\\"<>{}]', uri):
        return None
    try:
        parts = urlsplit(uri)
        _ = parts.port
    except ValueError:
        return None
    return None if parts.username is not None or parts.password is not None else parts


def _is_loopback(uri: str) -> bool:
    parts = _split(uri)
    return parts is not None and parts.scheme == "http" and parts.hostname in _LOOPBACK


def host_of(uri: str) -> str:
    """Return where a redirect leads: its host, or the program that its scheme opens."""
    parts = urlsplit(uri)
    host = parts.hostname or ""
    if parts.scheme in ("http", "https"):
        return host
    return f"{parts.scheme}://{host}" if host else f"{parts.scheme}:"


def redirect_fits(asked: str, registered: str) -> bool:
    """Return True if a redirect URI is the registered one.

    RFC 8252, 7.3: of a loopback one the port may differ.
    """
    if asked == registered:
        return True
    one, other = _PORT.fullmatch(asked), _PORT.fullmatch(registered)
    if one is None or other is None or _split(asked) is None or "#" in asked:
        return False
    return one.groups() == other.groups()


_PORT: Final = re.compile(r"(http://(?:127\.0\.0\.1|localhost|\[::1\]))(?::[0-9]+)?((?:[/?].*)?)")
"""A loopback address around its port."""


# -- authorization --------------------------------------------------------------------------------

_SCOPE: Final = re.compile(r"[\x20\x21\x23-\x5b\x5d-\x7e]{1,1000}")
"""RFC 6749, 3.3: no quotes and no control characters, which would end the header of a challenge."""


def authorize(place: Place, grants: Grants, request: WebRequest) -> Prepared:
    """Read an authorization request: what a person may consent to, or why nobody may.

    RFC 6749, 4.1.2.1: where the client or its redirect URI is wrong, the server "MUST NOT
    automatically redirect the user-agent to the invalid redirection URI".
    """
    asked = dict(request.parameters)
    twice = [name for name, count in Counter(n for n, _ in request.parameters).items() if count > 1]
    client = grants.client(place.issuer, asked.get("client_id", ""))
    if client is None or {"client_id", "redirect_uri"} & {*twice}:
        return _stranger("client unknown", "")
    uris, name = client.redirect_uris, client.name
    uri = asked.get("redirect_uri") or (uris[0] if len(uris) == 1 else "")
    if not any(redirect_fits(uri, one) for one in uris):
        return _stranger("redirect unknown", name)
    issued = Grant(
        *(place.issuer, client.id, place.resource, asked.get("scope") or SCOPE),
        *(uri, asked.get("code_challenge", ""), "redirect_uri" in asked),
    )
    values = {name: asked[name] for name in ("state",) if name in asked} | {"redirect_uri": uri}
    why, error = _refused(place, asked, twice)
    if error and not _is_loopback(uri):
        # RFC 9700, 4.11.2: else anybody could register, and send a browser wherever they like
        return _stranger("refused", name)
    if error:
        right = redirect(issued, values, error=error, error_description=why)
        return Prepared(right, values, name, why=f"refused {error}")
    allow = redirect(issued, values, code=named("code"))
    said_no = {"error": "access_denied", "error_description": "The person said no."}
    ready = {"allow": allow.text, "deny": redirect(issued, values, **said_no).text}
    return Prepared(allow, values, name, consent=issued, ready=ready)


def _stranger(why: str, name: str) -> Prepared:
    headers = (("content-type", "text/plain; charset=utf-8"), ("cache-control", "no-store"))
    page = WebResponse(400, headers, say(SECTION, f"browser {why}"))
    return Prepared(page, client=name, why=why)


def _refused(place: Place, asked: Mapping[str, str], twice: list[str]) -> tuple[str, str]:
    """Return why a request cannot be granted, and its code of RFC 6749; "" for both."""
    kind, method = asked.get("response_type"), asked.get("code_challenge_method")
    is_other = asked.get("resource", place.resource) != place.resource or "resource" in twice
    is_query = asked.get("response_mode", "query") == "query"
    is_plain = is_query and not {"request", "request_uri"} & {*asked}
    is_digest = _CHALLENGE.fullmatch(asked.get("code_challenge", ""))
    wrong_digest = "code_challenge must be 43 characters of base64url"
    found = (
        (bool({*twice} - {"resource"}), "a parameter came twice", "invalid_request"),
        (kind != "code", "response_type must be code", "unsupported_response_type"),
        (method != "S256", "code_challenge_method must be S256", "invalid_request"),
        (not is_digest, wrong_digest, "invalid_request"),
        (is_other, "the resource is another one", "invalid_target"),
        ("\ufffd" in "".join(asked.values()), "a parameter is no UTF-8", "invalid_request"),
        (not _SCOPE.fullmatch(asked.get("scope") or SCOPE), "this is no scope", "invalid_scope"),
        (not is_plain, "only response_mode=query is known", "invalid_request"),
        (asked.get("prompt") == "none", "a person must be asked", "consent_required"),
    )
    return next(((why, error) for is_so, why, error in found if is_so), ("", ""))


def redirect(issued: Grant, values: Mapping[str, str], **said: str) -> WebResponse:
    """Send the browser back to the client. RFC 9207: with the issuer."""
    state = {"state": named("state")} if "state" in values else {}
    query = urlencode({**said, **state, "iss": issued.issuer}, safe="{}:/", quote_via=quote)
    uri = without_secrets(issued.redirect_uri)
    location = f"{uri}{'&' if '?' in uri else '?'}{query}"
    headers = (("location", location), ("cache-control", "no-store"))
    return WebResponse(302, headers)


# -- tokens ---------------------------------------------------------------------------------------


def token(place: Place, grants: Grants, request: WebRequest, now: float) -> Prepared:
    """Exchange a code, or a refresh token."""
    form = dict(request.form)
    if len(form) != len(request.form):
        return _no("invalid_request", "a parameter came twice")
    client = _authenticated(place, grants, request, form)
    if client is None:
        basic = request.header("authorization")
        more = {"www_authenticate": 'Basic realm="humanmcp"'} if basic else {}
        error = oauth_error("invalid_client", "the client is unknown", 401, **more)
        return Prepared(error, why="token invalid_client")
    if form.get("resource", place.resource) != place.resource:
        return _no("invalid_target", "the resource is another one", client)
    match form.get("grant_type"):
        case "authorization_code":
            grant, why = _by_code(grants, form, client, now)
        case "refresh_token":
            shown, why = form.get("refresh_token", ""), "the refresh_token is unknown or was used"
            grant = grants.refresh(shown, client)
        case _:
            return _no("unsupported_grant_type", "authorization_code or refresh_token", client)
    return _no("invalid_grant", why, client) if grant is None else _tokens(client, grant, now)


def _no(error: str, why: str, client: RegisteredClient | None = None) -> Prepared:
    name = "" if client is None else client.name
    return Prepared(oauth_error(error, why), client=name, why=f"token {error}")


def in_header(request: WebRequest) -> tuple[str, str] | None:
    """Return the client and its secret in a header `Basic`, ("", "") if unreadable; None without.

    RFC 6749, 2.3.1: both are form-encoded there.
    """
    scheme, _, encoded = request.header("authorization").partition(" ")
    if scheme.lower() != "basic":
        return None
    try:
        pair = base64.b64decode(encoded.strip(), validate=True).decode()
    except (binascii.Error, ValueError):
        return "", ""
    name, _, secret = (unquote(part) for part in pair.partition(":"))
    return name, secret


def _authenticated(
    place: Place, grants: Grants, request: WebRequest, form: Mapping[str, str]
) -> RegisteredClient | None:
    """Return the client that asks, as it registered; None for a stranger."""
    name, secret, method = form.get("client_id", ""), form.get("client_secret", ""), "none"
    basic = in_header(request)
    if basic is not None:
        if secret or form.get("client_id", basic[0]) != basic[0]:  # RFC 6749, 2.3: one method
            return None
        method = "client_secret_basic"
        name, secret = basic
    elif secret:
        method = "client_secret_post"
    client = grants.client(place.issuer, name)
    if client is None or (client.method == "none") is not (method == "none"):
        return None
    if client.secret and not hmac.compare_digest(client.secret, digest(secret)):
        return None
    return client


def _by_code(
    grants: Grants, form: Mapping[str, str], client: RegisteredClient, now: float
) -> tuple[Grant | None, str]:
    """Return the grant of a code, or why there is none: who guesses has one try."""
    found = grants.exchange(form.get("code", ""), client, now)
    if found is None:
        return None, "the code is unknown, used or too old"
    if form.get("redirect_uri", "" if found.names_redirect else found.redirect_uri) != (
        found.redirect_uri
    ):
        return None, "the redirect_uri is another one"
    if not hmac.compare_digest(challenge_of(form.get("code_verifier", "")), found.challenge):
        return None, "the code_verifier does not fit"
    grants.grants[found.id] = found
    return found, ""


def _tokens(client: RegisteredClient, grant: Grant, now: float) -> Prepared:
    said, kept = given_back({"scope": grant.scope})
    members = {
        "access_token": named("access_token"),
        "token_type": "Bearer",
        "expires_in": int(TOKEN_LIVES),
        "refresh_token": named("refresh_token"),
        **said,
    }
    right = WebResponse.of_json(200, members, cache_control="no-store", pragma="no-cache")
    return Prepared(right, grant.renew(now) | kept, client.name)


def elsewhere() -> Prepared:
    """Answer at an address at which nothing is: a default of 2025-03-26, or a guessed one."""
    right = oauth_error("not_found", "Nothing is here. The metadata name the endpoints.", 404)
    return Prepared(right, why="elsewhere")


def prepare(asked: Asked, grants: Grants, now: float) -> Prepared:
    """Return the right answer to a step."""
    step, place, request, error, scope = asked
    openid = ("openid",) if SERVER_NAMES[1] in request.path else ()
    return {
        Step.CHALLENGE: lambda: challenge(place, error, scope),
        Step.RESOURCE: lambda: metadata(place, "resource-metadata"),
        Step.SERVER: lambda: metadata(place, "server-metadata", *openid),
        Step.REGISTER: lambda: register(place, grants, request),
        Step.AUTHORIZE: lambda: authorize(place, grants, request),
        Step.TOKEN: lambda: token(place, grants, request, now),
        Step.ELSEWHERE: elsewhere,
    }[step]()
