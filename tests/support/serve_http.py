"""A running `humanmcp serve --http` with a test in the client's place, byte by byte."""

from __future__ import annotations

import http.client
import json
import os
import re
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, suppress
from pathlib import Path
from typing import Any, Final, NamedTuple

from humanmcp.cli import main
from humanmcp.inbox.contract import Key, Reply
from humanmcp.inbox.folder import FolderInbox
from humanmcp.protocol.diagnostics.model import TextForm
from humanmcp.protocol.tables import versions
from tests.support.forking import start
from tests.support.serve_process import bare_environment
from tests.support.waiting import PATIENCE, until

JSON: Final = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
MODERN: Final = "2026-07-28"
INITIALIZED: Final = '{"jsonrpc":"2.0","method":"notifications/initialized"}'
QUICK: Final = (
    "import sys; from humanmcp.http import responses; "
    "responses.STATUS_WITHIN = 0.2; responses.COMMENT_EVERY = 0.2; "
    "responses.POLLED_AFTER = {quick}; responses.POLL_AGAIN = 200; "
    "from humanmcp.cli import main; sys.exit(main())"
)
"""The same server, whose streams begin and say something sooner, and end after `quick` seconds."""


class Got(NamedTuple):
    """A response that is whole."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def text(self) -> str:
        """The body as text."""
        return self.body.decode("utf-8", "replace")

    @property
    def json(self) -> Any:  # noqa: ANN401 - any JSON value
        """The body, decoded."""
        return json.loads(self.body)


def ask_http(
    port: int,
    method: str,
    path: str,
    body: bytes | str | None = None,
    headers: Mapping[str, str] | None = None,
) -> Got:
    """Send a request to this computer with exactly these headers; read the whole response."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
    try:
        connection.request(method, path, body, dict(headers or {}))
        got = connection.getresponse()
        named = {name.lower(): value for name, value in got.getheaders()}
        return Got(got.status, named, got.read())
    finally:
        connection.close()


def answers_whole(port: int) -> bool:
    """Return True if a server of the Python SDK sends its response to `initialize` whole.

    On a busy machine it may break off the first one of a process: python-sdk#3494 on GitHub.
    """
    with suppress(OSError, http.client.HTTPException):
        return ask_http(port, "POST", "/mcp", initialize("2025-11-25"), JSON).status == 200
    return False


class ServingHttp(AbstractContextManager["ServingHttp"]):
    """One server over HTTP. `home` is its inbox folder."""

    def __init__(
        self,
        home: Path,
        *flags: str,
        quick: float = 0,
        address: int = 0,
        command: tuple[str, ...] = (),
    ) -> None:
        """Start it, by another `command` where one is given, and wait until it listens."""
        self.home = home
        http_flags = ["--http", str(address)] if address else ["--http"]
        words = ["serve", *http_flags, "--home", str(home), *flags]
        (out, to_out), (err, to_err) = os.pipe(), os.pipe()
        self.stdout, self._stderr = os.fdopen(out, "rb"), os.fdopen(err, "rb")
        null = os.open(os.devnull, os.O_RDONLY)
        self.process = start(
            words,
            (null, to_out, to_err),
            bare_environment(home.parent),
            home.parent,
            (sys.executable, "-c", QUICK.format(quick=quick)) if quick else command,
        )
        for one in (null, to_out, to_err):
            os.close(one)
        self.said = ""
        self._opened: list[Open] = []
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        found = until(
            lambda: self._dead() or re.search(r"at http://(.+):(\d+)/mcp", self.said), "an address"
        )
        assert isinstance(found, re.Match), self.said
        self.host, self.port = found[1], int(found[2])

    def _dead(self) -> bool:
        return self.process.poll() is not None

    def _read(self) -> None:
        for line in self._stderr:
            self.said += line.decode()

    def __exit__(self, *_: object) -> None:
        """Kill it if it still lives, and close every pipe."""
        self.kill()

    def kill(self) -> None:
        """End it as a machine does that loses its power: before it can see a client hang up."""
        self.process.kill()
        self.process.wait(PATIENCE)
        for one in self._opened:
            one.close()
        self._reader.join()
        self.stdout.close()
        self._stderr.close()

    @property
    def url(self) -> str:
        """The endpoint."""
        return f"http://127.0.0.1:{self.port}/mcp"

    def ask(
        self,
        method: str = "POST",
        body: bytes | str = b"",
        headers: Mapping[str, str] | None = None,
        path: str = "/mcp",
    ) -> Got:
        """Send a request and read the whole response."""
        return ask_http(self.port, method, path, body, {**JSON, **(headers or {})})

    def open(self, headers: Mapping[str, str], body: bytes | str = b"", verb: str = "POST") -> Open:
        """Send a request whose response is read as it comes."""
        self._opened.append(Open(self.port, verb, body, {**JSON, **headers}))
        return self._opened[-1]

    def initialize(self, version: str = "2025-11-25") -> dict[str, str]:
        """Begin a session. Returns the headers of every further request."""
        got = self.ask(body=initialize(version))
        assert got.status == 200, got
        headers = {"Mcp-Session-Id": got.headers["mcp-session-id"]}
        if version >= "2025-06-18":
            headers["MCP-Protocol-Version"] = version
        done = self.ask(
            body='{"jsonrpc":"2.0","method":"notifications/initialized"}', headers=headers
        )
        assert (done.status, done.body) == (202, b"")
        return headers

    # -- the person's side --------------------------------------------------------------------

    def folder(self) -> Path:
        """Return the folder of the session in which something waits."""
        found = until(lambda: sorted(self.home.glob("sessions/*/pending/*")), "a pending request")
        return found[0].parent.parent

    def answer(self, number: int, text: str, *more: str) -> None:
        """Answer as a person at a terminal does, whose answer is sent."""
        name = self.folder().name
        words = ["answer", f"{name}/{number}", "--home", str(self.home), "--text", text, *more]
        assert main([*words, "--lang", "en"]) == 0

    def leave_answer(self, number: int, text: str) -> None:
        """Answer a request whose client has gone: the answer waits for it."""
        inbox, key = FolderInbox(self.home), Key(self.folder().name, number)
        inbox.send(key, Reply(text, TextForm.TEXT, by="terminal"))
        by = "terminal"
        until(lambda: any(one.by == by for one in inbox.frames(key.session)), "it is taken")


class Open:
    """A response that is read line by line."""

    def __init__(self, port: int, verb: str, body: bytes | str, headers: Mapping[str, str]) -> None:
        """Send the request; the response may take a while."""
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
        self._connection.request(verb, "/mcp", body, dict(headers))
        self._response: http.client.HTTPResponse | None = None

    @property
    def response(self) -> http.client.HTTPResponse:
        """Its head, once it came."""
        if self._response is None:
            self._response = self._connection.getresponse()
        return self._response

    def lines(self) -> Iterator[bytes]:
        """Yield the lines of the body until its end."""
        while line := self.response.readline():
            yield line.rstrip(b"\n")

    def events(self) -> Iterator[tuple[str, bytes]]:
        """Yield the events as (id, data); comments are left out."""
        name, data = "", b""
        for line in self.lines():
            if line.startswith(b"id: "):
                name = line[4:].decode()
            elif line.startswith(b"data: "):
                data += line[6:]
            elif not line and (name or data):
                yield name, data
                name, data = "", b""

    def close(self) -> None:
        """Hang up."""
        if self._response is not None:
            self._response.close()
        self._connection.close()


def initialize(version: str) -> str:
    """Return an `initialize`."""
    return (
        '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":'
        f'"{version}","capabilities":{{}},"clientInfo":{{"name":"test","version":"1"}}}}}}'
    )


def call(number: int = 2, token: str = "", **params: Any) -> str:  # noqa: ANN401 - any JSON value
    """Return a call of `ask_human`."""
    meta = {"progressToken": token} if token else {}
    found = {"name": "ask_human", "arguments": {"question": "?"}, **params}
    if meta:
        found["_meta"] = meta
    return json.dumps({"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": found})


def answer_in(response: Any) -> Any:  # noqa: ANN401 - any JSON value
    """Return the answer to the one question of a call of `ask_human`."""
    (found,) = json.loads(response["result"]["content"][0]["text"])["answers"].values()
    return found


def modern(method: str, number: int = 1, client: str = "test", **params: Any) -> Modern:  # noqa: ANN401 - any JSON value
    """Return a request of 2026-07-28 with its headers."""
    meta = {
        versions.META_VERSION: MODERN,
        versions.META_CAPABILITIES: {},
        versions.META_CLIENT: {"name": client, "version": "1"},
    }
    body = {"jsonrpc": "2.0", "id": number, "method": method, "params": {**params, "_meta": meta}}
    headers = {"MCP-Protocol-Version": MODERN, "Mcp-Method": method}
    if "name" in params:
        headers["Mcp-Name"] = params["name"]
    return Modern(json.dumps(body), headers)


class Modern(NamedTuple):
    """A request and its headers."""

    body: str
    headers: dict[str, str]
