"""An ntfy server for tests: it publishes, keeps and streams as ntfy does, or misbehaves."""

import json
import queue
import threading
from collections import defaultdict
from collections.abc import Mapping
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final, Self
from urllib.parse import parse_qs, urlsplit
from urllib.request import Request, urlopen

from tests.support.waiting import PATIENCE, until

_HANG_UP: Final = b""


class Ntfy(ThreadingHTTPServer):
    """A server. `status` other than 200 refuses everything; `wanted` is the token that it asks for.

    `page` makes it a web site that knows nothing of ntfy. While it is `mute`, what is published is
    kept and nothing is streamed.
    """

    daemon_threads = True

    def __init__(self, port: int = 0) -> None:
        """Listen on a free port, or on one that had such a server before."""
        self.status = 200
        self.wanted = ""
        self.page = False
        self.mute = False
        self.kept: defaultdict[str, list[dict[str, Any]]] = defaultdict(list)
        self.asked_since: list[str] = []
        self._streams: list[tuple[str, queue.SimpleQueue[bytes]]] = []
        self._lock = threading.Lock()
        super().__init__(("127.0.0.1", port), _Handler)
        self._thread = threading.Thread(target=self.serve_forever, args=(0.02,))

    @property
    def url(self) -> str:
        """Its address."""
        return f"http://127.0.0.1:{self.server_port}"

    def __enter__(self) -> Self:
        """Serve."""
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Stop, and hang up."""
        self.hang_up()
        self.shutdown()
        self._thread.join(PATIENCE)
        self.server_close()

    # -- for the server ---------------------------------------------------------------------------

    def publish(self, topic: str, record: Mapping[str, Any]) -> dict[str, Any]:
        """Keep a message, and bring it to who reads the topic."""
        with self._lock:
            number = sum(map(len, self.kept.values()))
            event = {"id": f"m{number:06}", "event": "message", "topic": topic, **record}
            self.kept[topic].append(event)
            if not self.mute:
                self._stream(topic, event)
        return event

    def _stream(self, topic: str, event: Mapping[str, Any]) -> None:
        for of, lines in self._streams:
            if of == topic:
                lines.put(json.dumps(event).encode())

    def stream(self, topic: str, since: str) -> queue.SimpleQueue[bytes]:
        """Begin a stream, with what was published after a message, or with everything."""
        with self._lock:
            lines = queue.SimpleQueue[bytes]()
            lines.put(json.dumps({"id": "open", "event": "open", "topic": topic}).encode())
            self.asked_since.append(since)
            names = [event["id"] for event in self.kept[topic]]
            first = names.index(since) + 1 if since in names else 0
            for event in self.kept[topic][first:] if not self.mute else ():
                lines.put(json.dumps(event).encode())
            self._streams.append((topic, lines))
            return lines

    # -- for tests --------------------------------------------------------------------------------

    def hang_up(self) -> None:
        """End every stream."""
        with self._lock:
            for _, lines in self._streams:
                lines.put(_HANG_UP)
            self._streams = []

    def deliver(self, event: Mapping[str, Any]) -> None:
        """Bring a message again, or one that was never published."""
        with self._lock:
            self._stream(str(event["topic"]), event)

    def is_read(self, topic: str) -> bool:
        """Return True if somebody reads a topic."""
        with self._lock:
            return any(of == topic for of, _ in self._streams)

    def notice(self, topic: str, number: int = 1) -> dict[str, Any]:
        """Return the notice of that number in a topic, as soon as it is there."""
        until(lambda: len(self.kept[topic]) >= number, f"notice {number}")
        return self.kept[topic][number - 1]


def labels(notice: Mapping[str, Any]) -> list[str]:
    """List what stands on the buttons of a notice."""
    return [one["label"] for one in notice.get("actions", ())]


def code(notice: Mapping[str, Any], label: str) -> str:
    """Return what a button publishes."""
    (action,) = (one for one in notice["actions"] if one["label"] == label)
    return str(action["body"])


def press(notice: Mapping[str, Any], label: str) -> None:
    """Press a button, as the app on a phone does."""
    (action,) = (one for one in notice["actions"] if one["label"] == label)
    assert action["action"] == "http"
    body, headers = action["body"].encode(), action.get("headers", {})
    request = Request(action["url"], body, headers, method=action.get("method", "POST"))
    with urlopen(request, timeout=PATIENCE) as response:
        assert response.status == 200


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Ntfy

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        topic = self.path.strip("/")
        if self._refuses():
            return
        if topic:
            self._answer(self.server.publish(topic, {"message": body.decode()}))
            return
        record = json.loads(body)
        assert len(body) < 8192, "ntfy takes no more"
        assert len(record.get("actions", ())) <= 3
        self._answer(self.server.publish(record.pop("topic"), record))

    def do_GET(self) -> None:
        parts = urlsplit(self.path)
        topic, _, kind = parts.path.strip("/").partition("/")
        if self._refuses():
            return
        assert kind == "json"
        lines = self.server.stream(topic, parse_qs(parts.query).get("since", [""])[0])
        self.send_response(200)
        self.send_header("Content-Type", "application/x-ndjson; charset=utf-8")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        self.close_connection = True
        with suppress(OSError):  # who read it has gone
            while line := lines.get():
                self.wfile.write(b"%x\r\n%s\n\r\n" % (len(line) + 1, line))

    def _refuses(self) -> bool:
        token = self.headers.get("Authorization", "")
        status = self.server.status
        if self.server.wanted and token != f"Bearer {self.server.wanted}":
            status = 403
        if self.server.page:
            self._write(200, b"<!doctype html><title>Shop</title>")
        elif status != 200:
            self._write(status, b'{"code":40301,"http":403}')
        return self.server.page or status != 200

    def _answer(self, event: Mapping[str, Any]) -> None:
        self._write(200, json.dumps(event).encode())

    def _write(self, status: int, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Say nothing."""
