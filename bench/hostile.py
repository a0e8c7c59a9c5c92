"""What one client or visitor can make another one wait: it attacks, the other calls."""

from __future__ import annotations

import http.client
import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from typing import TYPE_CHECKING, Final, Self

from bench.desk import AT, Desk
from bench.figures import Figure
from bench.load import BARELY
from bench.measure import BOOK
from bench.peer import INITIALIZE, TOO_LONG, Peer, call
from bench.streamable import BOTH, Client, client_of, free_port, serving
from humanmcp.inbox.contract import Item, Key, SessionFacts
from humanmcp.inbox.folder import FolderInbox
from humanmcp.protocol.conversation.transcript import Direction, Frame

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

REQUESTS: Final = 5_000
FOR_PERSON: Final = b'{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"ask"}}'
OF_MANY: Final = (
    '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","arguments":{"a":[%s]}}}'
)
VALUES: Final = 1_000_000
LARGEST: Final = 4 * 1024 * 1024
OBJECTS: Final = 49_000
FORM: Final = 12 * 1024 * 1024
DECLARED: Final = 32 * 1024 * 1024
_HEAD: Final = (
    "POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nContent-Type: application/json\r\n"
    f"Accept: {BOTH}\r\nMcp-Session-Id: %s\r\nContent-Length: %d\r\n\r\n"
)
BETWEEN: Final = 0.005


class _Caller:
    """Another client, which calls what a rule answers, again and again."""

    def __init__(self, client: Client) -> None:
        self.longest = 0.0
        self.refused = 0
        self.calls = 0
        self._client = client
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run)

    def __enter__(self) -> Self:
        """Begin to call."""
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Call no more."""
        self._over.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._over.wait(BETWEEN):
            self.calls += 1
            try:
                self.longest = max(self.longest, self._client.ask(call(self.calls)))
            except RuntimeError:
                self.refused += 1


def _session(port: int, version: bytes) -> dict[str, str]:
    """Shake hands; returns the headers of a request of that session."""
    headers = {"Content-Type": "application/json", "Accept": BOTH}
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=4 * TOO_LONG)
    connection.request("POST", "/mcp", INITIALIZE.replace(b"2025-06-18", version), headers)
    response = connection.getresponse()
    response.read()
    connection.close()
    return headers | {"Mcp-Session-Id": response.headers["Mcp-Session-Id"]}


def _arrays(port: int, size: int) -> None:
    """Send arrays of requests that a person would have to answer, without reading the answers."""
    headers = _session(port, b"2025-03-26")
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=4 * TOO_LONG)
    for first in range(0, REQUESTS, size):
        body = b"[%s]" % b",".join(FOR_PERSON % (first + each) for each in range(size))
        connection.request("POST", "/mcp", body, headers)
        connection.close()


def _declared(port: int) -> list[socket.socket]:
    """Declare three large bodies and send one byte of each."""
    opened = []
    for size in (DECLARED, DECLARED, DECLARED // 4):
        one = socket.create_connection(("127.0.0.1", port))
        one.sendall((_HEAD % (port, "x", size)).encode() + b"{")
        opened.append(one)
    return opened


def _large(port: int) -> list[http.client.HTTPConnection]:
    """Send calls for a person, as large as they may be, of as many objects as they may have."""
    headers = _session(port, b"2025-06-18")
    value = b'{"a":"%s"}' % (b"x" * (LARGEST // OBJECTS - 12))
    values = b",".join([value] * OBJECTS)
    opened = []
    for number in range(3):
        one = http.client.HTTPConnection("127.0.0.1", port, timeout=4 * TOO_LONG)
        body = FOR_PERSON.replace(b'"ask"', b'"ask","arguments":{"a":[%s]}' % values)
        one.request("POST", "/mcp", body % number, headers)
        opened.append(one)
    return opened


ATTACKS: Final[dict[str, Callable[[int], object]]] = {
    f"a batch of {REQUESTS:,} requests": lambda port: _arrays(port, REQUESTS),
    f"{REQUESTS // 100} batches of 100 requests": lambda port: _arrays(port, 100),
    "bodies that are declared and not sent": _declared,
    "bodies of 4 MiB": _large,
}


def others_wait(folder: Path, rounds: int) -> Iterator[Figure]:
    """Attack in each way, and let another client call all the while."""
    for number, (what, attack) in enumerate(ATTACKS.items()):
        book = folder / "hostile.toml"
        book.write_text(BOOK, encoding="utf-8")
        with ExitStack() as stack:
            port = free_port()
            command = serving(folder / f"hostile-{number}", port, "--book", str(book))
            server = stack.enter_context(Peer((*command, "--handshake", "book")))
            client = client_of(stack, server, port, BOTH)
            for warm in range(20):
                client.ask(call(warm))
            with _Caller(client) as caller:
                kept = attack(port)  # noqa: F841 - sockets stay open for so long
                time.sleep(0.2 if rounds <= BARELY else 2)
            longest = caller.longest * 1e3
        refused = f", {caller.refused} of {caller.calls} refused" if caller.refused else ""
        name = f"HTTP: the longest wait of another client during {what}"
        value = longest if not caller.refused else 1e9
        yield Figure(name, f"{longest:.0f} ms{refused}", value, 100, "ms")


def visitors_wait(folder: Path, rounds: int) -> Iterator[Figure]:
    """Look at a request of a million small values, and let another visitor open another page."""
    inbox = FolderInbox(folder / "hostile-desk")
    names = [inbox.begin_session(SessionFacts("", AT, client="bench")) for _ in range(2)]
    many = VALUES if rounds > BARELY else VALUES // 100
    for name, count in zip(names, (many, 1), strict=True):
        line = OF_MANY % ",".join(['{"a":[1]}'] * count)
        inbox.record(name, Frame(1, AT, Direction.IN, line.encode(), 1))
        inbox.deliver(Item(Key(name, 1), line, "tools/call", "1", "2025-11-25", AT))
    large, other = (f"/m/{name}/1" for name in names)
    took: list[float] = []
    with Desk(inbox.home) as desk:
        for path in (large, other):
            desk.get(path)
        with ThreadPoolExecutor(1) as looking:
            looks = looking.submit(lambda: [desk.get(large) for _ in range(min(rounds, 10))])
            while not looks.done():
                began = time.perf_counter()
                desk.get(other)
                took.append(time.perf_counter() - began)
    for name in names:
        inbox.end(name)
    longest = max(took) * 1e3
    what = f"the desk: the longest wait while someone looks at a request of {VALUES:,} values"
    yield Figure(what, f"{longest:.0f} ms", longest, 200, "ms")


def forms_wait(folder: Path, rounds: int) -> Iterator[Figure]:
    """Send large forms and records, and let another visitor ask all the while."""
    size = FORM if rounds > BARELY else FORM // 100
    form = b"text=" + b"%41" * (size // 3)
    record = b'{"text":' + b"[]," * (size // 3) + b'"x"}'
    took: list[float] = []
    with Desk(folder / "hostile-forms") as desk:

        def send() -> None:
            for path, kind, body in (
                ("/m/x/1", "application/x-www-form-urlencoded", form),
                ("/api/exchanges/x/1/draft", "application/json", record),
            ):
                connection = http.client.HTTPConnection("127.0.0.1", desk.port, timeout=TOO_LONG)
                connection.request("POST", path, body, {**desk.headers, "Content-Type": kind})
                connection.getresponse().read()
                connection.close()

        desk.get("/api/state")
        with ThreadPoolExecutor(3) as sending:
            sends = [sending.submit(send) for _ in range(3)]
            while not all(one.done() for one in sends):
                began = time.perf_counter()
                desk.get("/api/state")
                took.append(time.perf_counter() - began)
                time.sleep(BETWEEN)
        for one in sends:
            one.result()
    longest = max(took) * 1e3
    what = f"the desk: the longest wait while others send forms of {FORM >> 20} MiB"
    yield Figure(what, f"{longest:.0f} ms", longest, 100, "ms")


ALL: Final = (others_wait, visitors_wait, forms_wait)
