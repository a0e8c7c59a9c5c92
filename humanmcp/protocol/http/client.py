"""The client's side of Streamable HTTP: messages to HTTP requests, responses to messages.

Theory of operation. `HttpConversation` keeps what a client must know about its session: the session
id, the negotiated version, and the schemas of the tools, because 2026-07-28 repeats arguments in
headers. A message of 2026-07-28 states its version itself. The person's own headers
(`HeaderChanges`) are applied last, right or wrong.

It uses no socket and no clock.
"""

from __future__ import annotations

import enum
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

from humanmcp.protocol.conversation.state import by_name
from humanmcp.protocol.conversation.transcript import HTTP
from humanmcp.protocol.http.events import EVENTS, UnreadBytes
from humanmcp.protocol.http.http_headers import (
    LAST_EVENT,
    METHOD,
    NAME,
    SESSION,
    SPELLING,
    VERSION,
    Headers,
    as_text,
    encode_value,
    without_keys,
)
from humanmcp.protocol.http.outbound import JSON
from humanmcp.protocol.json import jsonrpc
from humanmcp.protocol.json.jsonrpc import Batch, Kind, Message
from humanmcp.protocol.json.tree import array_at, follow, object_at
from humanmcp.protocol.tables import methods, versions
from humanmcp.protocol.tables.versions import features
from humanmcp.protocol.validation.json_schema.references import mirrored_headers

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from humanmcp.protocol.conversation.transcript import Frame
    from humanmcp.protocol.http.events import ServerSentEvent
    from humanmcp.protocol.json.jsonrpc import DecodedLine, Json, JsonObject

Pairs: TypeAlias = tuple[tuple[str, str], ...]

_TOKEN: Final = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")
_VALUE: Final = re.compile(r"[\x20-\x7e\x80-\xff\t]*")


class OutgoingRequest(NamedTuple):
    """A request to send, with the header names as spelled."""

    method: str
    headers: Pairs
    body: bytes = b""
    url: str = ""
    """Its address for display; set when the request is sent."""


class IncomingResponse(NamedTuple):
    """The head of a response."""

    status: int
    reason: str
    headers: Pairs = ()

    @property
    def type(self) -> str:
        """The media type of its body, in lower case and without parameters."""
        kind = Headers.of(self.headers).get("content-type") or ""
        return kind.partition(";")[0].strip().lower()

    @property
    def encoding(self) -> str:
        """How its body is compressed, such as gzip; "" if it is not."""
        encoding = (Headers.of(self.headers).get("content-encoding") or "").strip().lower()
        return "" if encoding == "identity" else encoding


class HeaderError(Exception):
    """HTTP does not allow this header."""


@dataclass(slots=True)
class HeaderChanges:
    """The headers that a person sets or removes.

    `secret` are the names of headers whose values are never shown or stored.
    """

    given: dict[str, str] = field(default_factory=dict)
    left_out: set[str] = field(default_factory=set)
    secret: set[str] = field(default_factory=set)

    def put(self, name: str, value: str, *, secret: bool = False) -> None:
        """Send a header with this value.

        Raises:
            HeaderError: HTTP does not allow the name or the value.
        """
        value = value.strip()
        if not _TOKEN.fullmatch(name) or not _VALUE.fullmatch(value):
            raise HeaderError(name)
        self.take_back(name)
        self.given[name] = value
        if secret:
            self.secret.add(name.lower())

    def leave_out(self, name: str) -> None:
        """Send no header with this name."""
        self.take_back(name)
        self.left_out.add(name.lower())

    def take_back(self, name: str) -> None:
        """Cancel the person's change of a header."""
        self.left_out.discard(name.lower())
        for other in [one for one in self.given if one.lower() == name.lower()]:
            del self.given[other]

    def over(self, headers: Pairs) -> Pairs:
        """Return the headers with the person's changes."""
        changed = {name.lower() for name in self.given} | self.left_out
        return (*(pair for pair in headers if pair[0].lower() not in changed), *self.given.items())

    def shown(self, headers: Pairs) -> Pairs:
        """Return headers for display and for the transcript: keys are hidden."""
        return without_keys(headers, self.secret)


class HttpConversation:
    """A client's knowledge of its session over HTTP."""

    def __init__(self, agent: str, changes: HeaderChanges | None = None) -> None:
        """Start without a session. `agent` is the `User-Agent`."""
        self.session = ""
        self.version = ""
        self.changes = changes or HeaderChanges()
        self._agent = agent
        self._schemas: dict[str, JsonObject] = {}

    # -- requests --------------------------------------------------------------------------------

    def posted(self, line: bytes) -> OutgoingRequest:
        message = jsonrpc.read(line)
        said = self._said_of(message) if isinstance(message, Message) else self._of_session()
        headers = (("Content-Type", JSON), ("Accept", f"{JSON}, {EVENTS}"), *said)
        return self._request("POST", headers, line)

    def stream_wanted(self, after: str = "") -> OutgoingRequest:
        """Return the GET of a stream: for messages without a request, or after an event."""
        headers = (("Accept", EVENTS), *self._of_session())
        if after:
            headers += ((SPELLING[LAST_EVENT], after),)
        return self._request("GET", headers)

    def end(self) -> OutgoingRequest | None:
        """Return the DELETE of the session; None if there is no session."""
        if not self.session:
            return None
        return self._request("DELETE", tuple(self._of_session()))

    def _request(self, method: str, headers: Pairs, body: bytes = b"") -> OutgoingRequest:
        length = (("Content-Length", str(len(body))),) if body else ()
        headers = (*headers, *length, ("User-Agent", self._agent))
        return OutgoingRequest(method, self.changes.over(headers), body)

    def _said_of(self, message: Message) -> Iterator[tuple[str, str]]:
        stated = versions.stated_in(message)
        if message.method == "initialize":
            return
        if stated is None and self.version not in versions.STATELESS:
            yield from self._of_session()
            return
        yield SPELLING[VERSION], encode_value(stated or self.version)
        if message.method:
            yield SPELLING[METHOD], encode_value(message.method)
        named = message.params.get(methods.of(message.method).named_by)
        if isinstance(named, str):
            yield SPELLING[NAME], encode_value(named)
        if message.method == "tools/call":
            yield from self._arguments(message, named)

    def _arguments(self, call: Message, tool: Json) -> Iterator[tuple[str, str]]:
        """Yield headers for the arguments that the tool's schema wants in headers."""
        schema = self._schemas.get(tool, {}) if isinstance(tool, str) else {}
        for path, name, _kind in mirrored_headers(schema):
            text = as_text(follow(object_at(call.params, "arguments"), *path))
            if text is not None:
                yield f"Mcp-Param-{name}", encode_value(text)

    def _of_session(self) -> Iterator[tuple[str, str]]:
        """Yield the headers of a session that began with a handshake."""
        if self.version and features(self.version).version_header:
            yield SPELLING[VERSION], self.version
        if self.session:
            yield SPELLING[SESSION], self.session

    # -- responses -------------------------------------------------------------------------------

    def response_came(self, request: Message | None, response: IncomingResponse) -> None:
        """Read the session id: the server sends it "at initialization time", in this response."""
        if request is not None and request.method == "initialize":
            self.session = Headers.of(response.headers).get(SESSION) or ""

    def answer_came(self, request: Message, answer: Message) -> None:
        """Read the version, and the arguments that go into headers, from a response."""
        result = answer.body.get("result")
        if not isinstance(result, dict):
            return
        match request.method:
            case "initialize":
                chosen = result.get("protocolVersion")
                self.version = chosen if chosen in versions.HANDSHAKE else ""
            case "server/discover":
                stated = versions.stated_in(request)
                if stated and stated in array_at(result, "supportedVersions"):
                    self.version = stated
            case "tools/list":
                for name, tool in by_name(result.get("tools")).items():
                    self._schemas[name] = object_at(tool, "inputSchema")

    def is_over(self, name: str) -> None:
        """Forget a session that the server has ended, unless the client has a newer one."""
        if self.session == name:
            self.session = self.version = ""


class ResponseKind(enum.Enum):
    """The content of a response."""

    MESSAGE = "message"
    """One message, as its body."""
    EVENTS = "events"
    NOTHING = "nothing"
    """The message was accepted, and no response belongs to it."""
    MOVED = "moved"
    TROUBLE = "trouble"


_MOVED: Final = (301, 302, 303, 307, 308)
_SUCCESS: Final = range(200, 300)
_TROUBLES: Final = {
    401: "wants key",
    403: "forbidden",
    404: "not there",
    405: "no post",
} | dict.fromkeys((429, 502, 503, 504), "busy")


def kind_of_response(response: IncomingResponse) -> ResponseKind:
    """Return the content of a response, from its head."""
    headers = Headers.of(response.headers)
    if response.status in _MOVED and headers.get("location"):
        return ResponseKind.MOVED
    if response.encoding:
        return ResponseKind.TROUBLE
    if response.status in _SUCCESS:
        if response.type == EVENTS:
            return ResponseKind.EVENTS
        if response.type == JSON:
            return ResponseKind.MESSAGE
        is_empty = response.status in (202, 204) or headers.get("content-length") == "0"
        return ResponseKind.NOTHING if is_empty else ResponseKind.TROUBLE
    # "the HTTP response body MAY comprise a JSON-RPC error response that has no id"; OAuth's errors
    # are JSON, too
    is_message = response.type == JSON and response.status != 401
    return ResponseKind.MESSAGE if is_message else ResponseKind.TROUBLE


def trouble_with(response: IncomingResponse) -> str:
    """Return the code of the problem of a response without a message."""
    if response.status in _SUCCESS:
        if response.encoding:
            return "compressed"
        return "no message" if response.type else "no type"
    if response.status == 401 and metadata_in(response):
        return "wants sign-in"
    return _TROUBLES.get(response.status, "status")


def metadata_in(response: IncomingResponse) -> str:
    """Return the address of the OAuth metadata that a server names for signing in; "" for none.

    https://modelcontextprotocol.io/specification/2025-11-25/basic/authorization#protected-resource-metadata-discovery-requirements
    """
    challenges = ",".join(Headers.of(response.headers).all("www-authenticate"))
    found = re.search(r'resource_metadata\s*=\s*"?([^",\s]{1,500})', challenges)
    return found[1] if found else ""


def is_error(line: bytes) -> bool:
    """Return True for a body that is one JSON-RPC error, whatever its id is.

    OAuth and most frameworks write `{"error": "…"}`.
    """
    message = jsonrpc.read(line)
    if not isinstance(message, Message) or message.kind is not Kind.ERROR:
        return False
    return "jsonrpc" in message.body or isinstance(message.body["error"], dict)


def named_after(line: bytes, asked: str) -> bytes:
    """Return an error with the id of the request whose response brought it.

    The Python SDK 1.x writes `"id": "server-error"`. An id that says the same is left as it is.
    """
    answer, request = jsonrpc.read(line), jsonrpc.read_text(asked)
    if not isinstance(answer, Message) or not isinstance(request, Message) or not request.id:
        return line
    if answer.id is not None and answer.id.answers(request.id):
        return line
    if "id" in answer.body:
        return jsonrpc.encoded(jsonrpc.with_token(answer.raw, request.id.token))
    start = answer.raw.index("{") + 1
    named = f'{answer.raw[:start]}"id":{request.id.token},{answer.raw[start:]}'
    return jsonrpc.encoded(named)


def part_as_json(
    number: int, what: OutgoingRequest | IncomingResponse | ServerSentEvent | UnreadBytes
) -> str:
    """Write a part of an HTTP exchange, as a client sees it, for the transcript."""
    match what:
        case OutgoingRequest(method, headers, body, url):
            message = jsonrpc.read(body) if body else None
            return request_part(number, method, url, headers, carried(message))
        case IncomingResponse(status, reason, headers):
            return response_part(number, status, reason, headers)
        case UnreadBytes(text):
            return jsonrpc.as_line({"call": number, "unread": text})
        case _:
            return event_part(number, what.id, what.event, what.retry)


def request_part(call: int, method: str, url: str, headers: Pairs, carries: str) -> str:
    """Write the head of a request. `carries` identifies its message (`carried`)."""
    said = {"call": call, "method": method, "url": url, "headers": headers, "carries": carries}
    return jsonrpc.as_line(said)


def response_part(call: int, status: int, reason: str, headers: Pairs) -> str:
    """Write the head of a response."""
    return jsonrpc.as_line({"call": call, "status": status, "reason": reason, "headers": headers})


def event_part(call: int, name: str, event: str = "message", retry: int | None = None) -> str:
    """Write the members of an event beside its message. `name` is its id, "" for none."""
    pause = {} if retry is None else {"retry": retry}
    return jsonrpc.as_line({"call": call, "event": event, "id": name, **pause})


def cut_part(call: int, by: str) -> str:
    """Write that an exchange ended before its response was complete, by `client` or `server`."""
    return jsonrpc.as_line({"call": call, "cut": by})


def carried(message: DecodedLine | None) -> str:
    """Return what identifies a client's message: its id as written, its method."""
    if isinstance(message, Batch):
        return ", ".join(carried(one) for one in message.items if isinstance(one, Message))
    if not isinstance(message, Message):
        return ""
    return f"{message.id.token if message.id else ''} {message.method}".strip()


def calls_in(frames: Iterable[Frame]) -> int:
    """Return the highest number of an HTTP exchange in a transcript, 0 for none."""
    calls = (part_in(frame).get("call") for frame in frames)
    return max((call for call in calls if isinstance(call, int)), default=0)


def part_in(frame: Frame) -> dict[str, Any]:
    """Return the part of an HTTP exchange in a frame; {} for none."""
    return jsonrpc.object_in(frame.raw) if frame.note == HTTP else {}


def is_beside(part: dict[str, Any]) -> bool:
    """Return True if a part only adds to a line or a request that a list shows itself.

    The head of a request without a line is shown itself, and so are an early end and bytes that
    make no event.
    """
    is_own = "cut" in part or "unread" in part
    return bool(part.get("carries") if "method" in part else part) and not is_own


def head_of(part: dict[str, Any]) -> str:
    """Return a part in the form of HTTP: its first line, and one line for each header."""
    return "\n".join([_words(part), *(f"{name}: {value}" for name, value in headers_of(part))])


def headers_of(part: dict[str, Any]) -> list[tuple[str, str]]:
    """Return the headers of a part. In an edited transcript, invalid ones are omitted."""
    pairs = array_at(part, "headers")
    return [(str(one[0]), str(one[1])) for one in pairs if isinstance(one, list) and len(one) == 2]


def part_in_words(frame: Frame) -> str:
    """Return the first line of a part in the form of HTTP; "" for a frame without one."""
    return _words(part_in(frame))


def _words(part: dict[str, Any]) -> str:
    if "method" in part:
        return f"HTTP {part.get('call')} -> {part['method']} {part.get('url', '')}"
    if "status" in part:
        return f"HTTP {part.get('call')} <- {part['status']} {part.get('reason', '')}".rstrip()
    if "cut" in part:
        return f"HTTP {part.get('call')} -- hung up by the {part['cut']}"
    if "unread" in part:
        return f"HTTP {part.get('call')} <- bytes that make no event: {part['unread']}"
    return f"HTTP {part.get('call')} <- event {part.get('id', '')}".rstrip() if part else ""
