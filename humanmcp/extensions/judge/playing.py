"""The server that does one thing wrong: over stdio as a program, over HTTP inside `humanmcp judge`.

    python -m humanmcp.extensions.judge.playing FOLDER SECONDS TOOL,TOOL… [NAME]

Whatever it reads and writes goes into FOLDER, a file for each start, so that what the client did
can be read there. It ends after SECONDS, whatever happens. Without NAME, FOLDER has a `queue`, of
which it takes the next.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import time
from collections import Counter
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from humanmcp.extensions.judge.server_faults import (
    GOOD,
    RIGHT,
    ServerFault,
    server_fault,
    tool,
    written,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from humanmcp.extensions import Guard

SERVER: Final = "humanmcp.extensions.judge.playing"
"""The module that is run as a server: by it, its processes are found."""
KEPT: Final = {"in": 20_000}
"""Characters of a line that are kept: what the client says is read again, the rest only shown."""
_KEPT: Final = 500
MOST_KEPT: Final = 2000
"""Lines of one start that are kept; a flood is not written down whole."""

_NEW: Final = "2026-07-28"
_VERSIONS: Final = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
_SCHEMA: Final = {
    "type": "object",
    "properties": {"n": {"type": "number"}},
    "required": ["n"],
}


class Event(NamedTuple):
    """Something that was seen at a server: `what` is start, in, out, odd, broke or end."""

    at: float
    what: str
    text: str


class Record:
    """What one start of a server read and wrote, as lines of JSON in a file."""

    def __init__(self, folder: Path) -> None:
        self._file = (folder / f"{time.time_ns()}.jsonl").open("a", encoding="utf-8")
        self._lock = threading.Lock()
        self._count = 0
        self.add("start", str(os.getpid()))

    def add(self, what: str, text: str) -> None:
        """Write it down at once: the process may be killed any moment."""
        with self._lock:
            self._count += 1
            if self._count <= MOST_KEPT and not self._file.closed:
                event = (time.time(), what, text[: KEPT.get(what, _KEPT)])
                self._file.write(json.dumps(event) + "\n")
                self._file.flush()

    def close(self) -> None:
        """Write nothing more."""
        with self._lock:
            self._file.close()


def events(folder: Path) -> list[Event]:
    """Read what was seen at all starts of a server, in the order of time."""
    found: list[Event] = []
    for file in sorted(folder.glob("*.jsonl")):
        for line in file.read_text("utf-8").splitlines():
            with suppress(ValueError):  # killed in the middle of a line
                found.append(Event(*json.loads(line)))
    return sorted(found)


def take_next(base: Path, transport: str) -> tuple[ServerFault, Path]:
    """Take the next fault that this transport can have, and the folder of its record.

    `base/queue` has a folder for each, named NUMBER-NAME. It moves to `base/taken`, so that each is
    taken once, by whichever process. After the last one, the server does nothing wrong.

    Raises:
        FileNotFoundError: the folder is gone, because `humanmcp judge` has ended.
    """
    for folder in sorted((base / "queue").iterdir()):
        row = server_fault(folder.name.partition("-")[2])
        if row.transport in ("", transport):
            with suppress(FileNotFoundError):  # another process was quicker
                return row, folder.rename(base / "taken" / folder.name)
    after = base / "after"
    after.mkdir(exist_ok=True)
    return GOOD, after


class Player:
    """Decides what is done with each message; how it is written is its caller's."""

    def __init__(self, row: ServerFault, tools: Sequence[str] = ("t",)) -> None:
        self.row = row
        self._tools = tools
        self._seen: Counter[str] = Counter()
        self._lock = threading.Lock()

    def is_odd(self, message: dict[str, Any]) -> bool:
        """Return True if this message is the one to which the fault belongs."""
        method = str(message.get("method", ""))
        with self._lock:
            self._seen[method] += 1
            return method == self.row.method and self.row.nth in (0, self._seen[method])

    def steps(self, message: dict[str, Any]) -> tuple[tuple[Any, ...], bool]:
        """Return the steps to take for a message, and whether they are the fault."""
        if self.is_odd(message):
            return self.row.steps, True
        is_request = "id" in message and "method" in message
        if not is_request or message["method"] == self.row.unanswered:
            return (), False
        return ({"right": True},), False

    def filled(self, text: str, message: Mapping[str, Any], number: int = 0) -> str:
        """Return a text of a step as it is written for this message."""
        token = message.get("id")
        if message.get("method") == "notifications/cancelled":
            token = message.get("params", {}).get("requestId")
        if number and "«" not in text:
            text = text.replace("#", str(number))
        return written(text, self.row, json.dumps(token), self._tools)

    def acts(
        self, message: Mapping[str, Any], steps: Sequence[Mapping[str, Any]]
    ) -> Iterator[tuple[str, Any]]:
        """Yield what is to be done for a message, and with what; waits on the way."""
        for step in steps:
            what, content = next(one for one in step.items() if one[0] not in ("times", "pause"))
            for number in range(1, step["times"] + 1) if "times" in step else (0,):
                if what == "right":
                    yield what, self.right(message)
                elif what in ("line", "text", "stderr"):
                    yield what, self.filled(content, message, number)
                elif what != "wait":
                    yield what, content
                time.sleep(step.get("pause", content if what == "wait" else 0))

    def encoded(self, text: str) -> bytes:
        """Return a text in the encoding of the fault."""
        errors = "surrogatepass" if self.row.encoding == "utf-8" else "strict"
        return text.encode(self.row.encoding, errors)

    def right(self, message: Mapping[str, Any]) -> str:
        """Return the right response to a request."""
        return json.dumps(
            {"jsonrpc": "2.0", "id": message.get("id"), **self._result(message)},
            separators=(",", ":"),
        )

    def _result(self, message: Mapping[str, Any]) -> dict[str, Any]:
        method, params = message.get("method"), message.get("params")
        params = params if isinstance(params, dict) else {}
        is_new = "io.modelcontextprotocol/protocolVersion" in (params.get("_meta") or {})
        tools = [tool(name) for name in self._tools]
        called: dict[str, Any] = {"content": [{"type": "text", "text": RIGHT}]}
        if self.row.structured:
            tools = [one | {"outputSchema": _SCHEMA} for one in tools]
            called["structuredContent"] = {"n": 1}
        asked = params.get("protocolVersion")
        version = asked if asked in _VERSIONS else _VERSIONS[-1]
        results: dict[str, dict[str, Any]] = {
            "initialize": {"protocolVersion": version, **_DECLARED},
            "tools/list": {"tools": tools},
            "tools/call": called,
            "resources/list": {"resources": []},
            "resources/templates/list": {"resourceTemplates": []},
            "prompts/list": {"prompts": []},
            "ping": {},
            "logging/setLevel": {},
        }
        if self.row.version == _NEW:
            results["server/discover"] = {"supportedVersions": [_NEW], **_DECLARED}
        result = results.get(str(method))
        if result is None:
            return {"error": {"code": -32601, "message": f"Method not found: {method}"}}
        if is_new:
            result["resultType"] = "complete"
            if method != "tools/call":
                result |= {"ttlMs": 0, "cacheScope": "private"}
        return {"result": result}


_DECLARED: Final[dict[str, Any]] = {
    "capabilities": {"tools": {}, "resources": {}, "prompts": {}, "logging": {}},
    "serverInfo": {"name": "judge", "version": "1"},
}


# -- over stdio ----------------------------------------------------------------------------------


def serve_stdio(player: Player, record: Record) -> None:
    """Serve. Returns when stdin has ended."""
    _take({"method": "start"}, player, record)
    for raw in sys.stdin.buffer:
        text = raw.decode("utf-8", "replace").rstrip("\n")
        record.add("in", text)
        with suppress(ValueError):
            message = json.loads(text)
            for one in message if isinstance(message, list) else [message]:
                if isinstance(one, dict):
                    _take(one, player, record)
    record.add("end", "")
    _take({"method": "end"}, player, record)


def _take(message: dict[str, Any], player: Player, record: Record) -> None:
    steps, is_odd = player.steps(message)
    if is_odd and not (steps and steps[0].keys() & {"line", "text"}):
        record.add("odd", " ".join(steps[0]) if steps else "")
    for what, content in player.acts(message, steps):
        match what:
            case "line" | "text":
                record.add("odd" if is_odd else "out", content)
                _write(player.encoded(content) + (b"\n" if what == "line" else b""))
            case "right":
                record.add("out", content)
                _write(content.encode() + b"\n")
            case "stderr":
                sys.stderr.write(f"{content}\n")
                sys.stderr.flush()
            case "exit":
                os._exit(content)
            case "kill":
                os.kill(os.getpid(), getattr(signal, "SIGKILL", signal.SIGTERM))
            case "stay":
                signal.signal(signal.SIGTERM, signal.SIG_IGN)
                threading.Event().wait()
            case "close":
                os.close(1)


def _write(content: bytes) -> None:
    rest = memoryview(content)
    while rest:
        rest = rest[os.write(1, rest) :]


# -- over HTTP -----------------------------------------------------------------------------------


class HttpSession(NamedTuple):
    """Who answers the requests of one session, and where they are written down."""

    player: Player
    record: Record
    name: str = "judged"


class HttpServer(ThreadingHTTPServer):
    """The same server at an address of this machine, on threads of this process.

    `session_of` returns the session of a request, by its method and its session id.
    """

    daemon_threads = True
    block_on_close = False

    def __init__(self, session_of: Callable[[str, str], HttpSession], port: int = 0) -> None:
        super().__init__(("127.0.0.1", port), _Handler)
        self.session_of = session_of
        self.guard: Guard | None = None
        self.url = f"http://127.0.0.1:{self.server_port}/mcp"
        self._thread = threading.Thread(target=self.serve_forever, args=(0.05,))
        self._thread.start()

    def close(self) -> None:
        """Take no more requests."""
        self.shutdown()
        self._thread.join()
        self.server_close()

    def handle_error(self, request: object, client_address: object) -> None:
        """Leave it: a client may close its connection whenever it likes."""


class NextSessions:
    """Gives each new session the next fault."""

    def __init__(self, base: Path, tools: Sequence[str]) -> None:
        self._base = base
        self._tools = tools
        self._sessions: dict[str, HttpSession] = {}
        self._latest: HttpSession | None = None
        self._lock = threading.Lock()
        self._probed = False

    def __call__(self, method: str, name: str) -> HttpSession:
        """Return the session; one without an id is the latest."""
        with self._lock:
            known = self._sessions.get(name, self._latest)
            is_after_probe = method == "initialize" and self._probed
            if (method in _BEGINNINGS and not is_after_probe) or known is None:
                row, folder = take_next(self._base, "http")
                name = f"{folder.name}-{len(self._sessions)}"
                known = HttpSession(Player(row, self._tools), Record(folder), name)
                self._sessions[name] = self._latest = known
            if method in _BEGINNINGS:
                self._probed = method == "server/discover"
            return known


_BEGINNINGS: Final = ("initialize", "server/discover")


class _Handler(BaseHTTPRequestHandler):
    server: HttpServer
    session: HttpSession
    read: bytes | None = None
    """The body of the request, if a guard has read it."""
    protocol_version = "HTTP/1.1"

    def log_message(self, *_: object) -> None:
        """Print nothing."""

    def parse_request(self) -> bool:
        """Read the head of a request; answer it if the other servers would refuse its sender."""
        from humanmcp.protocol.http.http_headers import Headers  # noqa: PLC0415 - only over HTTP
        from humanmcp.protocol.http.inbound import (  # noqa: PLC0415 - as above
            ELSEWHERE,
            HttpAddress,
            refusal_of,
        )

        if not super().parse_request():
            return False
        address = HttpAddress("127.0.0.1", self.server.server_port)
        refusal = refusal_of(self.path, Headers.of(self.headers.items()), address)
        if refusal in (None, ELSEWHERE):
            return not self._guarded()
        self.close_connection = True
        self.send_error(refusal.status)
        return False

    def _guarded(self) -> bool:
        """Let the guard of the server answer. Return True if it did."""
        if self.server.guard is None:
            return False
        self.read = None
        self.read = self._body()
        answer = self.server.guard(self.command, self.path, self.headers.items(), self.read)
        if answer is not None:
            status, headers, body = answer
            self._respond(status, body, *headers)
        return answer is not None

    def do_GET(self) -> None:
        self._moment("GET", 405, ("Allow", "POST, DELETE"))

    def do_DELETE(self) -> None:
        self._moment("DELETE", 200)

    def _moment(self, method: str, status: int, *headers: tuple[str, str]) -> None:
        self._note(method, method)
        if self.session.player.is_odd({"method": method}):
            return self._odd({})
        return self._respond(status, b"", *headers)

    def do_POST(self) -> None:
        text = self._body().decode("utf-8", "replace")
        try:
            message = json.loads(text)
        except ValueError:
            message = None
        is_message = isinstance(message, dict)
        self._note(str(message.get("method", "")) if is_message else "", text)
        if not is_message:
            return self._respond(400, b"")
        steps, is_odd = self.session.player.steps(message)
        if is_odd:
            return self._odd(message, steps)
        if not steps:
            if "id" in message and "method" in message:
                return self._hang()
            return self._respond(202, b"")
        right = self.session.player.right(message)
        self.session.record.add("out", right)
        is_first = message.get("method") == "initialize"
        extra = (("Mcp-Session-Id", self.session.name),) if is_first else ()
        return self._respond(200, right.encode(), ("Content-Type", "application/json"), *extra)

    def _odd(self, message: dict[str, Any], steps: Sequence[dict[str, Any]] = ()) -> None:
        """Answer wrongly: by the whole response of the row, or by its lines, as events."""
        self.close_connection = True
        row = self.session.player.row
        if row.response is not None:
            head, blank, body = row.response.partition("\n\n")
            text = self.session.player.filled(body, message)
            head = head.replace("\n", "\r\n").replace("URL", self.server.url)
            head += "\r\nConnection: close" if blank else ""
            self.session.record.add("odd", (row.response.partition("\n")[0] + " " + text).strip())
            self.wfile.write((head + blank.replace("\n", "\r\n") + text).encode())
            return None
        if not steps:
            self.session.record.add("odd", "")
            return self._hang()
        lines = [line for _, line in self.session.player.acts(message, steps)]
        for line in lines:
            self.session.record.add("odd", line)
        if len(lines) == 1 and "\n" not in lines[0]:
            return self._respond(200, lines[0].encode(), ("Content-Type", "application/json"))
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        self.end_headers()
        for line in lines:
            self.wfile.write(b"".join(b"data: %s\n" % part.encode() for part in line.split("\n")))
            self.wfile.write(b"\n")
            self.wfile.flush()
        return None

    def _hang(self) -> None:
        """Answer nothing until the client goes."""
        self.close_connection = True
        with suppress(OSError):
            while self.connection.recv(1):
                pass

    def _respond(self, status: int, body: bytes, *headers: tuple[str, str]) -> None:
        self.send_response(status)
        for name, text in (*headers, ("Content-Length", str(len(body)))):
            self.send_header(name, text)
        self.end_headers()
        self.wfile.write(b"" if self.command == "HEAD" else body)

    def _note(self, method: str, text: str) -> None:
        self.session = self.server.session_of(method, self.headers.get("Mcp-Session-Id") or "")
        self.session.record.add("in", text)

    def _body(self) -> bytes:
        if self.read is not None:
            body, self.read = self.read, None
            return body
        if "chunked" not in self.headers.get("Transfer-Encoding", "").lower():
            return self.rfile.read(int(self.headers.get("Content-Length") or 0))
        pieces = []
        while size := int(self.rfile.readline().partition(b";")[0] or b"0", 16):
            pieces.append(self.rfile.read(size))
            self.rfile.readline()
        while self.rfile.readline().strip():  # trailers, up to the blank line
            pass
        return b"".join(pieces)


def main(folder: str, seconds: str, tools: str, name: str = "") -> None:
    """Serve one client over stdio."""
    base = Path(folder)
    row, kept_in = (server_fault(name), base) if name else take_next(base, "stdio")
    timer = threading.Timer(float(seconds), os._exit, (0,))
    timer.daemon = True
    timer.start()
    with suppress(BrokenPipeError):
        serve_stdio(Player(row, tools.split(",")), Record(kept_in))


if __name__ == "__main__":
    main(*sys.argv[1:])
