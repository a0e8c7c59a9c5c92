"""A remote server behind `tap --http`: each request with its key, each refusal as it came.

Theory of operation. The front (`http_front.py`) has the clients, the tap of a session the server.
Between them is a pipe of lines, and a line says neither with which `Authorization` it came nor with
which status the server refused it. So the front writes before each line what to do (`Order`), its
number and the key. The orders are taken out again before the pump: nothing that is recorded or held
has a key. The key of a line is found again when the line leaves, changed by a person or not.

A refusal of a request goes back inside the line that answers it (`Refusal`), because that line may
be held; any other one goes past the record, by its number. The client's GET and DELETE are the
server's: the tap opens no stream and ends no session with a key that it was not given for that.
"""

from __future__ import annotations

import base64
import contextlib
import enum
import json
import os
import re
import threading
from collections import OrderedDict
from typing import TYPE_CHECKING, Final, NamedTuple

from humanmcp.common.line_pipe import LONGEST_LINE, lines, write_pieces
from humanmcp.common.own_process import leave_signals_to_the_main_thread
from humanmcp.extensions.tap.real_server import INTERNAL_ERROR, RemoteServer
from humanmcp.http.server_address import CallError
from humanmcp.http.transport import AGENT, HttpExchange, HttpTransport
from humanmcp.locales import say
from humanmcp.protocol.conversation.transcript import OTHER_ID
from humanmcp.protocol.http.client import (
    HttpConversation,
    ResponseKind,
    is_error,
    kind_of_response,
    named_after,
)
from humanmcp.protocol.http.http_headers import Headers
from humanmcp.protocol.http.inbound import on_one_line
from humanmcp.protocol.http.outbound import http_status_of
from humanmcp.protocol.json import jsonrpc
from humanmcp.protocol.json.jsonrpc import Kind, Message
from humanmcp.protocol.json.visible import one_line

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from humanmcp.http.server_address import HttpCall, ServerAddress
    from humanmcp.protocol.http.client import IncomingResponse, OutgoingRequest
    from humanmcp.protocol.http.events import EventReader

MOST_ON_THEIR_WAY: Final = 1_000
"""Lines whose key is remembered. Those that a person dropped are never asked for."""

LARGEST_BODY: Final = 64 * 1024
"""Bytes of the body of a refusal that a client gets."""
_SHOWN: Final = 300
_ERRORS: Final = 400
_LAST: Final = 599
_NO_GET: Final = 405

_NO_TEXT: Final = re.compile(r"[^\x20-\x7e\xa0-\xff]+")
"""What would be two headers, or none."""

PASSED: Final = frozenset(
    {"www-authenticate", "content-type", "content-encoding", "allow", "retry-after", "dpop-nonce"}
)
"""The headers of a refusal that have a meaning for a client."""

MARK: Final = "humanmcp/http"
"""The member of an error that has the refusal which it stands for."""


class Order(enum.Enum):
    """What the front wants of the tap of a session."""

    SEND = "send"
    LISTEN = "listen"
    HANG_UP = "hang up"
    END = "end"


class OrderLine(NamedTuple):
    """An order: its number, the `Authorization` of the client, and the line to send."""

    order: Order
    number: int
    key: str = ""
    line: str = ""

    def __str__(self) -> str:
        return f"{json.dumps([self.order.value, self.number, self.key])}\t{self.line}"

    @classmethod
    def read(cls, raw: bytes) -> OrderLine:
        head, _, line = raw.decode("utf-8", "surrogateescape").partition("\t")
        order, number, key = json.loads(head)
        return cls(Order(order), number, key, line)


class Refusal(NamedTuple):
    """What a server answered instead of what was wanted. The body is text, or Base64."""

    status: int
    headers: tuple[tuple[str, str], ...] = ()
    body: str = ""
    is_base64: bool = False

    @classmethod
    def of(cls, response: IncomingResponse, body: bytes) -> Refusal:
        kept = _passed((name.lower(), value) for name, value in response.headers)
        try:
            return cls(response.status, kept, body.decode())
        except UnicodeDecodeError:
            return cls(response.status, kept, base64.b64encode(body).decode(), is_base64=True)

    @property
    def content(self) -> bytes:
        return base64.b64decode(self.body, validate=True) if self.is_base64 else self.body.encode()


class Told(NamedTuple):
    """What the tap tells the front of an order: the refusal, or that it is done.

    `is_over`: nothing more comes of it; without an answer before, the server could not be asked.
    """

    number: int
    refusal: Refusal | None = None
    is_over: bool = False

    def line(self, secret: str) -> bytes:
        """Write it; no line of a server's begins with the secret."""
        return f"\0{secret}{json.dumps(self)}\n".encode()

    @classmethod
    def read(cls, line: bytes, secret: str) -> Told | None:
        """Read a line of the tap's; None for one of its server's."""
        start = f"\0{secret}".encode()
        if not secret or not line.startswith(start):
            return None
        number, refusal, is_over = json.loads(line[len(start) :])
        return cls(number, None if refusal is None else _refusal(*refusal), is_over)


def _refusal(status: int, headers: list[list[str]], body: str, is_base64: object) -> Refusal:
    return Refusal(int(status), _passed(headers), body, bool(is_base64))


def _passed(headers: Iterable[Sequence[str]]) -> tuple[tuple[str, str], ...]:
    """Return the headers that a client gets, each as the one that it is."""
    kept = ((name, text) for name, text in headers if name in PASSED)
    return tuple((name, _NO_TEXT.sub(" ", text).strip()) for name, text in kept)


def marked(line: bytes, refusal: Refusal) -> bytes:
    """Add a refusal to an error, as its last member; the rest stays as it is written."""
    return line.rstrip()[:-1] + f',"{MARK}":{jsonrpc.as_line(refusal)}}}'.encode()


def refusal_in(message: Message) -> Refusal | None:
    """Return the refusal in an error; None where there is none, or a person changed it."""
    value = message.body.get(MARK)
    if message.kind is not Kind.ERROR or not isinstance(value, list):
        return None
    try:
        found = _refusal(*value)
        is_whole = _ERRORS <= found.status <= _LAST and found.content is not None
    except (TypeError, ValueError):
        return None
    return found if is_whole else None


class _OnItsWay(NamedTuple):
    number: int
    key: str
    name: tuple[object, ...]


class Keys:
    """With which key each line came that has not left. For any thread."""

    def __init__(self) -> None:
        self.accepted = ""
        """The last key that the server took."""
        self._lock = threading.Lock()
        self._lines: OrderedDict[bytes, list[_OnItsWay]] = OrderedDict()
        self._count = 0

    def note(self, order: OrderLine) -> None:
        """Remember the key of a line that is about to pass the pump."""
        line = _as_sent(order.line)
        entry = _OnItsWay(order.number, order.key, _name_of(line))
        with self._lock:
            self._lines.setdefault(line, []).append(entry)
            self._count += 1
            if self._count > MOST_ON_THEIR_WAY:
                self._take(next(iter(self._lines)))

    def take(self, line: bytes) -> tuple[int, str]:
        """Return the number and the key of a line that leaves.

        A person may have changed it: then it is the line of the same id or method. What matches
        nothing is the person's own, and goes with the key that the server took last; its number is
        0.
        """
        with self._lock:
            if line in self._lines:
                return self._take(line)[:2]
            name = _name_of(line)
            same = next((it for it, all_ in self._lines.items() if all_[0].name == name), None)
            return (0, self.accepted) if same is None else self._take(same)[:2]

    def _take(self, line: bytes) -> _OnItsWay:
        self._count -= 1
        entries = self._lines[line]
        entry = entries.pop()  # those before it may be ones that a person dropped
        if not entries:
            del self._lines[line]
        return entry


def _as_sent(line: str) -> bytes:
    """Return a line as `HttpTransport` sends it."""
    return line.encode("utf-8", "replace")


def _name_of(line: bytes) -> tuple[object, ...]:
    message = jsonrpc.read(line)
    if not isinstance(message, Message):
        return (None,)
    return (message.kind, message.id.key) if message.id else (message.kind, message.method)


class KeyedConversation(HttpConversation):
    """Adds to each request the key that it came with: each is made in the thread that sends it."""

    def __init__(self, address: ServerAddress) -> None:
        super().__init__(AGENT, address.changes)
        self.keys = Keys()
        self.current = threading.local()
        """The `number` and the `key` of what this thread sends, and whether it says it `again`."""

    def posted(self, line: bytes) -> OutgoingRequest:
        if not hasattr(self.current, "again"):
            self.current.number, self.current.key = self.keys.take(line)
        return self._with_key(super().posted(line))

    def stream_wanted(self, after: str = "") -> OutgoingRequest:
        return self._with_key(super().stream_wanted(after))

    def end(self) -> OutgoingRequest | None:
        request = super().end()
        return request and self._with_key(request)

    def _with_key(self, request: OutgoingRequest) -> OutgoingRequest:
        """Return a request with the key. The one of a flag counts more (`changes`)."""
        key = getattr(self.current, "key", self.keys.accepted)
        if not key or Headers.of(request.headers).get("authorization") is not None:
            return request
        return request._replace(headers=(*request.headers, ("Authorization", key)))


class KeyedExchange(HttpExchange):
    """A message whose refusal goes back as it came."""

    _transport: KeyedTransport

    def _take(self, call: HttpCall, response: IncomingResponse, reader: EventReader) -> None:
        conversation = self._transport.conversation
        if self._ends_session(response) and self._is_said_again():
            self._is_answered = True
            return
        if response.status >= _ERRORS:
            self._is_answered = True
            self._transport.refused(self, response, Refusal.of(response, _body_of(call)))
            return
        conversation.keys.accepted = conversation.current.key
        if not self.line and kind_of_response(response) is ResponseKind.EVENTS:
            self._transport.tell(Told(conversation.current.number))
        super()._take(call, response, reader)

    def _is_said_again(self) -> bool:
        """Say it in a new session, where the server has ended this one.

        Everything that is said for that has the key of this line. It must be the one that the
        server took last: with another one, a session would change its owner.
        """
        conversation = self._transport.conversation
        if conversation.current.key != conversation.keys.accepted:
            return False
        conversation.is_over(self._session)
        conversation.current.again = True
        if self._transport.say_again(self.line):
            return True
        conversation.session = conversation.session or self._session
        return False

    def end(self, request: OutgoingRequest) -> None:
        """Send the DELETE of a client."""
        try:
            with self._called(request) as (call, response):
                if response.status >= _ERRORS:
                    found = Refusal.of(response, _body_of(call))
                    self._transport.refused(self, response, found)
                    return
        except CallError:
            return
        conversation = self._transport.conversation
        conversation.session = ""
        self._transport.tell(Told(conversation.current.number))


def _body_of(call: HttpCall) -> bytes:
    """Read the body of a refusal, as far as it comes and is not too long."""
    found = bytearray()
    with contextlib.suppress(CallError):
        for piece in call.pieces():
            found += piece
            if len(found) > LARGEST_BODY:
                break
    return bytes(found[:LARGEST_BODY])


class KeyedTransport(HttpTransport):
    """Sends what it is told to with the key that it is told."""

    exchange_type = KeyedExchange
    conversation: KeyedConversation

    def __init__(self, address: ServerAddress, server: KeyedServer) -> None:
        super().__init__(address)
        self.conversation = KeyedConversation(address)
        self._server = server
        self.tell, self.say_again = server.tell, server.say_again
        self._listening: dict[int, KeyedExchange] = {}

    def _run(self, exchange: HttpExchange) -> bool:
        """Send a message. A stream is the client's to open."""
        is_sent = exchange.run(self.conversation.posted(_as_sent(exchange.line)))
        if exchange.request is None and isinstance(exchange, KeyedExchange):
            self.tell(Told(self.conversation.current.number, is_over=not is_sent))
        return is_sent

    def refused(
        self, exchange: KeyedExchange, response: IncomingResponse, refusal: Refusal
    ) -> None:
        """Tell the person and the client what the server refused."""
        challenge = "; ".join(Headers.of(response.headers).all("www-authenticate"))
        said = say(
            "tap",
            "refused",
            status=f"{response.status} {response.reason}".strip(),
            said=one_line(" ".join(filter(None, (challenge, refusal.body))), _SHOWN),
        )
        if exchange.line or response.status != _NO_GET:  # many servers have no stream
            self.listener.stderr_line(said.encode("utf-8", "replace"))
        if exchange.request is None or exchange.request.id is None:
            self.tell(Told(self.conversation.current.number, refusal))
            return
        body = on_one_line(refusal.content)
        if is_error(body):
            self._server.refusal_arrived(body, exchange.line, refusal)
        else:
            token = exchange.request.id.token
            own = jsonrpc.error_line(token, INTERNAL_ERROR, said, jsonrpc.NO_RESPONSE)
            self._server.refusal_arrived(own.encode("utf-8", "replace"), "", refusal)

    # -- what is not a message -------------------------------------------------------------------

    def follow(self, order: OrderLine) -> None:
        """Open or drop the client's stream, or end its session."""
        if order.order is Order.HANG_UP:
            if (exchange := self._listening.pop(order.number, None)) is not None:
                exchange.drop()
            return
        exchange = KeyedExchange(self)
        if order.order is Order.LISTEN:
            self._listening[order.number] = exchange
        threading.Thread(target=self._follow, args=(order, exchange), daemon=True).start()

    def _follow(self, order: OrderLine, exchange: KeyedExchange) -> None:
        conversation = self.conversation
        conversation.current.number, conversation.current.key = order.number, order.key
        if order.order is Order.LISTEN:
            exchange.run(conversation.stream_wanted())
            self._listening.pop(order.number, None)
        elif (request := conversation.end()) is not None:
            exchange.end(request)
        elif order.key == conversation.keys.accepted:  # a server without sessions
            self.tell(Told(order.number))
        self.tell(Told(order.number, is_over=True))


class KeyedServer(RemoteServer):
    """A server at an address, whose client has a status, a stream and keys that change."""

    _transport: KeyedTransport

    def __init__(
        self, address: ServerAddress, record: Callable[[bytes, str], object], secret: str
    ) -> None:
        super().__init__(address, record)
        self._secret = secret
        self._write_aside: Callable[[bytes], object] = lambda _line: None
        self._transport = KeyedTransport(address, self)

    def lines_of_client(self, source: int, tell: Callable[[bytes], object]) -> int:
        """Follow the orders of a descriptor. Return one that has the lines of the client alone.

        `tell` writes a line to the front, between those of the server.
        """
        reader, writer = os.pipe()
        self._write_aside = tell

        def run() -> None:
            leave_signals_to_the_main_thread()
            with contextlib.suppress(OSError):  # nobody reads any more
                for cut in lines(source, LONGEST_LINE * 2):
                    order = OrderLine.read(cut.line)
                    if order.order is not Order.SEND:
                        self._transport.follow(order)
                        continue
                    self._transport.conversation.keys.note(order)
                    line = order.line.encode("utf-8", "surrogateescape") + b"\n"
                    for _ in write_pieces(writer, line):
                        pass
            os.close(writer)

        threading.Thread(target=run, name="tap-orders", daemon=True).start()
        return reader

    def tell(self, told: Told) -> None:
        """Answer an order."""
        self._write_aside(told.line(self._secret))

    def refusal_arrived(self, line: bytes, asked: str, refusal: Refusal) -> None:
        """Take the error of a refusal, which is added to it if the error does not tell it all.

        `asked` is the request, where the error is the server's own.
        """
        named = named_after(line, asked) if asked else line
        if asked and named != line:
            self._record(line, OTHER_ID)
        usual = http_status_of(named, self._transport.conversation.version)
        has_more = bool({"www-authenticate", "retry-after"} & {name for name, _ in refusal.headers})
        tells_all = asked and usual == refusal.status and not has_more
        self.line_arrived(named if tells_all else marked(named, refusal))
