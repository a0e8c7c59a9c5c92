"""A received HTTP request: the message for the session, or the reason why there is none.

Theory of operation. The version header or the version in `_meta` tells the era of a request. If
they disagree, it is a wrong request of 2026-07-28. An HTTP error (media type, body, session) is
refused at once, because a person could not answer anything. A mismatch between headers and body is
not refused: it is shown with the error that the specification requires, and a person may answer
something else (`Posted.error`).

It uses no socket and no clock.
"""

from __future__ import annotations

import hmac
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias
from urllib.parse import urlsplit

from humanmcp.protocol.answer_book.decide import HEADER_MISMATCH
from humanmcp.protocol.conversation.exchange import TransportFacts
from humanmcp.protocol.http import http_headers
from humanmcp.protocol.http.events import EVENTS, EventId
from humanmcp.protocol.http.http_headers import LAST_EVENT, SESSION, SPELLING, VERSION, Headers
from humanmcp.protocol.http.outbound import JSON, PATH
from humanmcp.protocol.json import jsonrpc
from humanmcp.protocol.json.jsonrpc import Batch, Flaw, Kind, Malformed, Message
from humanmcp.protocol.json.undecoded import MOST_VALUES, has_many_values
from humanmcp.protocol.tables import methods, versions

if TYPE_CHECKING:
    from collections.abc import Callable

    from humanmcp.protocol.json.jsonrpc import DecodedLine, Json, JsonObject

_PARSE_ERROR: Final = -32700
_INVALID_REQUEST: Final = -32600


class HttpRequest(NamedTuple):
    """A received request."""

    method: str
    headers: Headers
    body: bytes = b""
    url: str = ""
    """Its address for display."""
    address: str = ""
    """The client's address."""


class HttpRefusal(NamedTuple):
    """Why a request is refused: a status, the code of a sentence, the code of an error.

    `headers` are sent with the response, `fillings` fill the sentence.
    """

    status: int
    why: str
    error: int = _INVALID_REQUEST
    headers: tuple[tuple[str, str], ...] = ()
    fillings: tuple[tuple[str, str], ...] = ()
    id: str = "null"
    """The token of the request's id, if it can be read."""

    def body(self, sentence: str) -> bytes:
        """Return the JSON-RPC error of the response."""
        said = json.dumps({"code": self.error, "message": sentence}, ensure_ascii=False)
        return f'{{"jsonrpc":"2.0","id":{self.id},"error":{said}}}'.encode()


class Posted(NamedTuple):
    """A message for a session. `session` is the id that the client sent, "" for none.

    `transport_facts` are the facts from the headers; None in versions with a handshake.
    """

    line: bytes
    message: DecodedLine
    session: str = ""
    transport_facts: TransportFacts | None = None

    @property
    def opens(self) -> bool:
        """True if it starts a new session."""
        message, handshake = self.message, self.transport_facts is None
        return handshake and isinstance(message, Message) and message.method == "initialize"


class StreamWanted(NamedTuple):
    """A GET: the client asks for messages without a request, or for those that it missed."""

    session: str
    after: EventId | None = None


class EndWanted(NamedTuple):
    """A DELETE: the client ends the session."""

    session: str


class Acknowledged(NamedTuple):
    """A message that is accepted and changes nothing.

    2026-07-28: "no `notifications/cancelled` message is expected"; from a client that sends one, it
    could cancel another client's request with the same id.
    """


Inbound: TypeAlias = Posted | StreamWanted | EndWanted | Acknowledged | HttpRefusal

NOT_ALLOWED: Final = HttpRefusal(405, "method", headers=(("allow", "GET, POST, DELETE"),))
POST_ONLY: Final = HttpRefusal(405, "post only", headers=(("allow", "POST"),))
OLD_TRANSPORT: Final = HttpRefusal(405, "old transport", headers=(("allow", "GET, POST, DELETE"),))
NO_SESSION: Final = HttpRefusal(400, "no session")
UNKNOWN_SESSION: Final = HttpRefusal(404, "unknown session")
NOT_ACCEPTED: Final = HttpRefusal(406, "not accepted")
NO_JSON: Final = HttpRefusal(415, "no json")
NO_UTF8: Final = HttpRefusal(415, "no utf-8")
"""Some servers decode a body by its charset, others always as UTF-8.

"JSON-RPC messages **MUST** be UTF-8 encoded."

https://modelcontextprotocol.io/specification/2025-11-25/basic/transports
"""
_UTF8: Final = ("", "utf-8", "utf8")
MANY_VALUES: Final = HttpRefusal(413, "many values", fillings=(("limit", f"{MOST_VALUES:,}"),))
"""All sessions wait while a message is decoded: 4 MiB can be one string, or a million values."""
NO_BATCHES: Final = HttpRefusal(400, "batch")
"""2025-06-18: "The body of the POST request MUST be a single JSON-RPC request, notification, or
response": what nothing answers would be waited for.
https://modelcontextprotocol.io/specification/2025-06-18/basic/transports#sending-messages-to-the-server
"""
NO_EVENT: Final = HttpRefusal(400, "no event")


def _no_schema(_call: Message) -> Json:
    return None


def judge_request(
    request: HttpRequest, schema_of: Callable[[Message], Json] = _no_schema
) -> Inbound:
    """Classify a request. `schema_of` returns the inputSchema of the tool of a call."""
    if request.method == "POST":
        return _posted(request, schema_of)
    if request.method not in ("GET", "DELETE"):
        return NOT_ALLOWED
    refusal = _session_refused(request)
    if refusal is not None:
        return refusal
    session = request.headers.get(SESSION) or ""
    if request.method == "DELETE":
        return EndWanted(session)
    return _stream(request.headers, session)


def _session_refused(request: HttpRequest) -> HttpRefusal | None:
    """Return why there is no session to listen to or to end, or None."""
    version = request.headers.get(VERSION)
    if version in versions.STATELESS:
        return POST_ONLY
    if request.headers.get(SESSION) is None:
        return OLD_TRANSPORT if request.method == "GET" and version is None else NO_SESSION
    return _with_handshake_refused(request.headers)


def _stream(headers: Headers, session: str) -> Inbound:
    if not headers.accepts(EVENTS):
        return NOT_ACCEPTED
    last = headers.get(LAST_EVENT)
    after = EventId.read(last) if last is not None else None
    return NO_EVENT if last is not None and after is None else StreamWanted(session, after)


def repeated(name: str) -> HttpRefusal:
    """Return the refusal of a request with a header that occurs twice."""
    return HttpRefusal(400, "twice", fillings=(("header", SPELLING.get(name, name.title())),))


def _with_handshake_refused(headers: Headers) -> HttpRefusal | None:
    """2025-06-18: for an "invalid or unsupported" version a server "MUST respond with 400".

    https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#protocol-version-header
    """
    twice = headers.repeated((VERSION, SESSION, LAST_EVENT))
    if twice:
        return repeated(twice)
    version = headers.get(VERSION)
    if version is None or version in versions.HANDSHAKE:
        return None
    known = ", ".join(versions.ALL)
    return HttpRefusal(400, "version", fillings=(("version", version[:80]), ("known", known)))


def _posted(request: HttpRequest, schema_of: Callable[[Message], Json]) -> Inbound:
    headers = request.headers
    if headers.repeated(("content-type",)):
        return repeated("content-type")
    kind = (headers.get("content-type") or "").partition(";")[0].strip().lower()
    encoding = headers.get("content-encoding") or "identity"
    if kind != JSON or encoding.lower() != "identity":
        return NO_JSON
    if headers.charset not in _UTF8:
        return NO_UTF8
    if not headers.accepts(JSON) and not headers.accepts(EVENTS):
        return NOT_ACCEPTED
    body = request.body
    if len(body) > MOST_VALUES and has_many_values(body.decode("utf-8", "replace")):
        return MANY_VALUES
    line = _compacted(body)
    message = jsonrpc.read(line)
    line = on_one_line(line)
    if is_stateless(message, headers):
        found = _stateless(line, message, headers, schema_of)
    else:
        found = _with_handshake(line, message, headers)
    return refused_to(found, message) if isinstance(found, HttpRefusal) else found


def refused_to(refusal: HttpRefusal, message: DecodedLine) -> HttpRefusal:
    """Return a refusal with the id of its request."""
    named = message.id if isinstance(message, Message) and message.method else None
    return refusal if named is None else refusal._replace(id=named.token)


def on_one_line(body: bytes) -> bytes:
    """Return a body as one line, so that transcript and display have one message per line."""
    return _compacted(body).replace(b"\r", b" ").replace(b"\n", b" ")


def _compacted(body: bytes) -> bytes:
    """Return a body without line breaks between its values; one within a string is no JSON."""
    body = body.strip(b" \t\r\n")
    if b"\n" not in body and b"\r" not in body:
        return body
    try:
        return jsonrpc.compact(body.decode("utf-8")).encode()
    except UnicodeDecodeError:
        return body


def is_stateless(message: DecodedLine, headers: Headers) -> bool:
    """Return True if a request belongs to a version without a handshake."""
    if isinstance(message, Message) and versions.META_VERSION in message.meta:
        return True
    version = headers.get(VERSION)
    if version is None or version in versions.HANDSHAKE:
        return False
    begins = isinstance(message, Message) and message.method == "initialize"
    return version in versions.STATELESS or (headers.get(SESSION) is None and not begins)


def _with_handshake(line: bytes, message: DecodedLine, headers: Headers) -> Posted | HttpRefusal:
    refusal = _with_handshake_refused(headers)
    if refusal is not None:
        return refusal
    posted = Posted(line, message, headers.get(SESSION) or "")
    if posted.session or posted.opens:
        return posted
    return refused_body(message) if isinstance(message, Malformed) else NO_SESSION


_UNREAD: Final = (Flaw.NOT_JSON, Flaw.NOT_UTF8, Flaw.TOO_DEEP, Flaw.LONG_NUMBER)


def refused_body(malformed: Malformed) -> HttpRefusal:
    """Return the refusal of a body that is not a message."""
    if malformed.why is Flaw.LONG_BATCH:
        return HttpRefusal(413, "long batch", fillings=malformed.detail)
    unread = malformed.why in _UNREAD
    return HttpRefusal(400, "no message", _PARSE_ERROR if unread else _INVALID_REQUEST)


def _stateless(
    line: bytes, message: DecodedLine, headers: Headers, schema_of: Callable[[Message], Json]
) -> Inbound:
    match message:
        case Malformed():
            return refused_body(message)
        case Batch():
            return NO_BATCHES
        case Message(kind=Kind.NOTIFICATION):
            if message.method == "notifications/cancelled":
                return Acknowledged()
            return Posted(line, message, transport_facts=TransportFacts(_version(message)))
        case Message(kind=Kind.REQUEST):
            return Posted(
                line, message, transport_facts=facts_stated_in(message, headers, schema_of)
            )
        case _:
            # "The client MUST NOT send JSON-RPC _responses_."
            return HttpRefusal(400, "response")


def _version(message: Message) -> str:
    stated = versions.stated_in(message)
    return stated if stated in versions.STATELESS else versions.LATEST_STATELESS


def facts_stated_in(
    message: Message, headers: Headers, schema_of: Callable[[Message], Json] = _no_schema
) -> TransportFacts:
    """Check a request of 2026-07-28: first its `_meta`, then its headers."""
    version = _version(message)
    lacking = next((key for key in versions.META_REQUIRED if key not in message.meta), None)
    if lacking is not None:
        return TransportFacts(version, methods.lacking(lacking))
    schema = schema_of(message) if message.method == "tools/call" else None
    wrong = http_headers.mismatch_in(message, headers, schema)
    if wrong is None:
        return TransportFacts(version)
    error: JsonObject = {"code": HEADER_MISMATCH, "message": wrong.message}
    return TransportFacts(version, error, (wrong.found,))


LONGEST_KEY: Final = 512

ONE_HOST: Final = HttpRefusal(400, "one host")
"""RFC 9112, 3.2: 400 for a request without `Host`, and for one with more than one."""
WRONG_HOST: Final = HttpRefusal(403, "host")
FOREIGN: Final = HttpRefusal(403, "origin")
NO_KEY: Final = HttpRefusal(401, "key", headers=(("www-authenticate", "Bearer"),))
ELSEWHERE: Final = HttpRefusal(404, "path")

_LOOPBACK: Final = ("127.0.0.1", "localhost", "[::1]")


@dataclass(frozen=True, slots=True)
class HttpAddress:
    """The address of the server. `key` is what a client must send, "" for nothing.

    With `is_open`, other computers reach it: by `names`, which are hosts without port (an IPv6
    address in brackets), or by a proxy at `outside`, such as `https://mcp.example`. `pages` are the
    origins of other pages that may send requests.
    """

    host: str
    port: int
    key: str = ""
    is_open: bool = False
    names: tuple[str, ...] = ()
    outside: tuple[str, ...] = ()
    pages: tuple[str, ...] = ()

    @property
    def url(self) -> str:
        shown = f"[{self.host}]" if ":" in self.host else self.host
        return f"http://{shown}:{self.port}{PATH}"

    @property
    def at(self) -> str:
        """The address where the next process must listen, so that the clients can return."""
        return str(self.port)

    @property
    def authorities(self) -> frozenset[str]:
        """Every value of `Host` that means this server."""
        ends = (f":{self.port}", *([""] if self.port == 80 else []))
        own = {name + end for name in (*_LOOPBACK, *self.names) for end in ends}
        return frozenset(own | {one.partition("://")[2] for one in self.outside})


def refusal_of(target: str, headers: Headers, address: HttpAddress) -> HttpRefusal | None:
    """Return why a request is refused, None to accept it. A query in the target is ignored.

    Only the endpoint exists, not even OAuth metadata: a client that finds metadata, or gets 401
    although no key is required, starts a login that cannot succeed.
    """
    host, path = _asked_for(target, (headers.get("host") or "").lower())
    if len(headers.all("host")) != 1:
        return ONE_HOST
    if host not in address.authorities:
        return WRONG_HOST
    if not all(_is_ours(origin, host, address) for origin in headers.all("origin")):
        return FOREIGN
    if path != PATH:
        return ELSEWHERE
    if headers.repeated(("authorization",)):
        return repeated("authorization")
    return None if _has_key(headers, address.key) else NO_KEY


_EXPOSED: Final = "Mcp-Session-Id, MCP-Protocol-Version, WWW-Authenticate"


def for_page(headers: Headers, address: HttpAddress) -> tuple[tuple[str, str], ...]:
    """Return what lets a page read a response, if it may send requests; () for other senders.

    https://fetch.spec.whatwg.org/#http-responses
    """
    origin = headers.get("origin") or ""
    if origin.lower() not in address.pages:
        return ()
    return (
        ("access-control-allow-origin", origin),
        ("access-control-expose-headers", _EXPOSED),
        ("vary", "origin"),
    )


def preflight(method: str, headers: Headers) -> tuple[tuple[str, str], ...]:
    """Return the answer to a browser that asks whether a page may send this; () for requests.

    It asks without the page's headers, so without its key.
    https://fetch.spec.whatwg.org/#http-cors-protocol
    """
    if method != "OPTIONS" or headers.get("access-control-request-method") is None:
        return ()
    wanted = headers.get("access-control-request-headers") or ""
    return (
        ("access-control-allow-methods", "POST, GET, DELETE"),
        *([("access-control-allow-headers", wanted)] if wanted else []),
        ("access-control-max-age", "600"),
    )


def _asked_for(target: str, host: str) -> tuple[str, str]:
    """Return the requested host and path.

    RFC 9112, 3.2.2: "a server MUST accept the absolute-form in requests", and then "MUST ignore the
    received Host header field".
    """
    path = target.partition("?")[0]
    scheme, _, rest = path.partition("://")
    if scheme.lower() != "http":
        return host, path
    authority, _, path = rest.partition("/")
    return authority.lower(), f"/{path}"


def _is_ours(origin: str, host: str, address: HttpAddress) -> bool:
    """Return True if the `Origin` of a page is the requested address."""
    if origin.lower() in (*address.outside, *address.pages):
        return True
    try:
        parts = urlsplit(origin.lower())
    except ValueError:  # not an address
        return False
    return parts.scheme == "http" and parts.netloc == host and not parts.path


def _has_key(headers: Headers, key: str) -> bool:
    if not key:
        return True
    sent = bearer(headers)
    return hmac.compare_digest(sent.encode("utf-8", "replace"), key.encode("utf-8", "replace"))


def bearer(headers: Headers) -> str:
    """Return the bearer token of a request, "" for none."""
    scheme, _, token = (headers.get("authorization") or "")[:LONGEST_KEY].partition(" ")
    return token.strip() if scheme.lower() == "bearer" else ""
