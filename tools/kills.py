"""Kill what is between the tap on Send and the client's pipe, at random moments.

`python -m tools.kills --rounds 1000`. In each round a host calls a tool, one or two people answer
at a desk, and while their answers are on the way one of these dies by SIGKILL: the server process,
the desk, or the person's connection to it; with `--postgres` also the database, as a system stops
it that loses its power; with `--http` also the client. Whatever dies:

- who was told that their answer was sent, whose answer did reach the client, and the other way
  round: what the inbox calls answered has reached it;
- no call gets two responses;
- each text that a desk has taken is in the inbox: as the answer, the draft, or beside it.
"""

import argparse
import contextlib
import http.client
import json
import os
import random
import socket
import struct
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

from humanmcp.common.terminal import to_stdout
from humanmcp.inbox import open_inbox
from humanmcp.inbox.contract import Inbox, InboxError, Item, Key
from humanmcp.protocol.conversation.exchange import ExchangeState
from tests.support.desk_process import Desking
from tests.support.forking import start
from tests.support.postgres_server import PostgresServer
from tests.support.serve_http import JSON, ServingHttp, modern
from tests.support.serve_process import bare_environment
from tests.support.waiting import PATIENCE, until

SIZES: Final = (0, 0, 0, 5_000, 200_000)
"""How much is added to an answer: a pipe takes 4 KiB at once, and holds 64 KiB."""
RESET: Final = struct.pack("ii", 1, 0)
"""SO_LINGER: the connection is cut, and not closed in order."""
FINAL: Final = frozenset({"sent", "taken", "over", "not confirmed", "stored"})


class Host:
    """A server process, and what its client has read from its pipe."""

    def __init__(self, home: Path, flags: tuple[str, ...]) -> None:
        """Start it."""
        (from_host, self._to), (self._from, to_host) = os.pipe(), os.pipe()
        null = os.open(os.devnull, os.O_WRONLY)
        words = ["serve", "--by-hand", "--home", str(home), *flags]
        files = (from_host, to_host, null)
        self.process = start(words, files, bare_environment(home.parent), home.parent)
        for one in files:
            os.close(one)
        self.heard: list[dict[str, Any]] = []
        self.may_read = threading.Event()
        self.may_read.set()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        rest = b""
        with contextlib.suppress(OSError):
            while self.may_read.wait() and (part := os.read(self._from, 65536)):
                *lines, rest = (rest + part).split(b"\n")
                self.heard += map(json.loads, lines)

    def call(self, number: int) -> None:
        """Call a tool under this id."""
        params = {"name": "ask", "arguments": {}}
        call = {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params}
        os.write(self._to, json.dumps(call).encode() + b"\n")

    def close(self) -> None:
        """Close both ends, and let it end."""
        os.close(self._from)
        os.close(self._to)
        self.process.wait(PATIENCE)

    def end(self) -> None:
        """Kill it, and read what is left in the pipe."""
        self.process.kill()
        self.process.wait(PATIENCE)
        self.may_read.set()
        self._reader.join()
        os.close(self._to)
        os.close(self._from)


class HttpHost:
    """A server process with an endpoint, and what its clients have received or may still read."""

    def __init__(self, home: Path, flags: tuple[str, ...], seed: int) -> None:
        """Start it, with one session that is named by an id."""
        self._random = random.Random(seed)
        self._server = ServingHttp(home, "--handshake", "book", *flags)
        self._headers = self._server.initialize()
        self._clients: list[Client] = []
        self.may_read = threading.Event()
        self.may_read.set()

    @property
    def heard(self) -> list[dict[str, Any]]:
        """What the clients have received."""
        return [one for client in self._clients for one in client.heard()]

    def call(self, number: int) -> None:
        """Call a tool under this id, in 2026-07-28 or in the session."""
        params: dict[str, Any] = {"name": "ask", "arguments": {}}
        if self._random.random() < 0.5:
            body, headers = modern("tools/call", number, **params)
        else:
            call = {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params}
            body, headers = json.dumps(call), self._headers
        self._clients.append(Client(self._server.port, "POST", body, headers, self.may_read))

    def kill_client(self) -> None:
        """End the last client. Nothing reaches it from then on."""
        self._clients[-1].end()

    def come_again(self, number: int) -> bool:
        """Come again for the response to this exchange, if its client has a session."""
        if self._clients[-1].headers is not self._headers:
            return False
        headers = {**self._headers, "Last-Event-ID": f"{number}-0"}
        self._clients.append(Client(self._server.port, "GET", "", headers, self.may_read))
        return True

    def end(self) -> None:
        """Kill the server, and read what is left in the sockets."""
        self._server.process.kill()
        self._server.process.wait(PATIENCE)
        self.may_read.set()
        for client in self._clients:
            client.end()
        self._server.kill()


class Client:
    """One connection to the endpoint, and the bytes that reached it."""

    def __init__(
        self,
        port: int,
        verb: str,
        body: str,
        headers: Mapping[str, str],
        may_read: threading.Event,
    ) -> None:
        """Send the request."""
        self.headers = headers
        self._may_read, self._raw = may_read, b""
        self._socket = socket.create_connection(("127.0.0.1", port), timeout=PATIENCE)
        fields = {**JSON, **headers, "Host": f"127.0.0.1:{port}", "Content-Length": len(body)}
        head = "".join(f"{name}: {value}\r\n" for name, value in fields.items())
        self._socket.sendall(f"{verb} /mcp HTTP/1.1\r\n{head}\r\n{body}".encode())
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        with contextlib.suppress(OSError):
            while self._may_read.wait() and (part := self._socket.recv(65536)):
                self._raw += part

    def heard(self) -> list[dict[str, Any]]:
        """Return the responses: the one of a body, or those in events."""
        found = []
        for line in self._raw.split(b"\n"):
            with contextlib.suppress(ValueError):
                message = json.loads(line.removeprefix(b"data: "))
                if isinstance(message, dict) and "id" in message:
                    found.append(message)
        return found

    def end(self) -> None:
        """Close it. What its system had received is read."""
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_WR)
        self._may_read.set()
        self._reader.join()
        self._socket.close()


class Tap(NamedTuple):
    """What a person sends, and what their page was told of it: "" where nothing came back."""

    text: str
    told: str = ""
    was_saved: bool = False


class Phone(threading.Thread):
    """A person's page that sends one answer; its connection can be cut."""

    def __init__(self, desk: Desking, key: Key, tap: Tap, *, saves: bool) -> None:
        """Get ready to send."""
        super().__init__(daemon=True)
        self.tap, self._saves, self._bearer = tap, saves, desk.bearer
        self._connection = http.client.HTTPConnection("127.0.0.1", desk.port, timeout=PATIENCE)
        self._connection.connect()
        self._path = f"/api/exchanges/{key.session}/{key.number}"

    def run(self) -> None:
        """Save the draft as a page does while somebody types, then send."""
        with (
            contextlib.closing(self._connection),
            contextlib.suppress(OSError, http.client.HTTPException, ValueError),
        ):
            if self._saves:
                status, _ = self._post("draft")
                self.tap = self.tap._replace(was_saved=status == 200)
            _, record = self._post("reply")
            self.tap = self.tap._replace(told=str(record.get("became", "")))

    def _post(self, what: str) -> tuple[int, dict[str, Any]]:
        body = json.dumps({"text": self.tap.text, "form": "text"}).encode()
        headers = {**self._bearer, "Content-Type": "application/json"}
        self._connection.request("POST", f"{self._path}/{what}", body=body, headers=headers)
        response = self._connection.getresponse()
        return response.status, json.loads(response.read())

    def cut(self) -> None:
        """Lose the connection."""
        with contextlib.suppress(OSError, AttributeError):
            own = self._connection.sock
            own.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
            own.shutdown(socket.SHUT_RDWR)
            own.close()


class Kills:
    """Everything that can die, and the rounds."""

    def __init__(
        self,
        folder: Path,
        seed: int,
        postgres: PostgresServer | None = None,
        *,
        http: bool = False,
    ) -> None:
        """Start it all."""
        self._is_http = http
        self.random, self.folder, self._postgres = random.Random(seed), folder, postgres
        self._flags: tuple[str, ...] = ()
        if postgres is not None:
            # A server that was killed is known to be gone after so long.
            lease = "&options=-c%20humanmcp.lease%3D2s"
            self._flags = ("--inbox", postgres.another(f"kills_{seed}") + lease)
        self._home = folder / "home"
        self._host = self._new_host()
        self._desk = Desking(self._home, *self._flags)
        self._inbox: Inbox = open_inbox(self._home, *self._flags[1:])
        self._number, self._takes = 0, 0.05
        self._watch = contextlib.ExitStack()
        if postgres is not None:  # who watches a database notices that it is back
            self._watch.enter_context(self._inbox.watch(lambda _session, _number: None))
        self.counted: Counter[str] = Counter()

    def _new_host(self) -> Host | HttpHost:
        if self._is_http:
            return HttpHost(self._home, self._flags, self.random.randrange(10**6))
        return Host(self._home, self._flags)

    def end(self) -> None:
        """End it all."""
        self._watch.close()
        self._host.end()
        self._desk.kill()

    def round(self) -> None:
        """Call, answer, kill, and look whether all that was said is true."""
        self._number += 1
        self._host.call(self._number)
        key = until(self._waiting, "the desk shows the call")
        stuck = self.random.random() < 0.2
        if stuck:
            self._host.may_read.clear()
        phones = [
            Phone(self._desk, key, Tap(self._text(at)), saves=self.random.random() < 0.5)
            for at in range(self.random.choice((1, 1, 2)))
        ]
        victims = ["host", "desk", "connection"]
        victims += ["database"] * bool(self._postgres) + ["client"] * self._is_http
        victim = self.random.choice(victims)
        moment, begun = self.random.random() * self._takes * 1.5, time.monotonic()
        for phone in phones:
            phone.start()
        time.sleep(moment)
        dead = self._host
        self._kill(victim, phones)
        self._host.may_read.set()
        for phone in phones:
            phone.join()
        if victim == "connection":
            self._takes += (time.monotonic() - begun - self._takes) / 20
        self._start_again(victim)
        taps = [self._settled(key, phone.tap, victim) for phone in phones]
        self._look(key, taps, dead, victim)
        if isinstance(self._host, HttpHost) and self._host is dead and victim == "client":
            self._come_again(key, self._host)

    def _come_again(self, key: Key, host: HttpHost) -> None:
        """Let the client come again: it gets the one answer that it missed, and that is told."""
        before = len(self._texts(host))
        if not before and host.come_again(key.number):
            until(lambda: self._texts(host), "the client gets what it missed")
            state = ExchangeState.ANSWERED
            until(lambda: self._item(key).state is state, "it is known that the client has it")
            self.counted["came again"] += 1

    def _text(self, at: int) -> str:
        return f"answer {self._number} of {at} " + "x" * self.random.choice(SIZES)

    def _waiting(self) -> Key | None:
        if any(one.get("id") == self._number for one in tuple(self._host.heard)):
            # The server has not found its way back to the database: it cannot keep the call.
            self._number += 1
            self._host.call(self._number)
            return None
        found = [one for one in self._desk.get("/api/exchanges")["waiting"] if self._is_new(one)]
        return Key(found[0]["session"], found[0]["number"]) if found else None

    def _is_new(self, row: dict[str, Any]) -> bool:
        return bool(self._inbox.item(Key(row["session"], row["number"])).id == str(self._number))

    def _kill(self, victim: str, phones: list[Phone]) -> None:
        match victim:
            case "client" if isinstance(self._host, HttpHost):
                self._host.kill_client()
            case "host":
                self._host.end()
            case "desk":
                self._desk.kill()
            case "connection":
                phones[0].cut()
            case "database" if self._postgres:
                self._postgres.kill()
        self.counted[victim] += 1

    def _start_again(self, victim: str) -> None:
        match victim:
            case "host":
                self._host = self._new_host()
            case "desk":
                self._desk = Desking(self._home, *self._flags)
            case "database" if self._postgres:
                self._postgres.start()
                until(self._database_is_back, "the desk reads the database again")

    def _database_is_back(self) -> bool:
        with contextlib.suppress(InboxError):
            self._inbox.sessions()
            return bool(self._desk.ask("GET", "/api/state", headers=self._desk.bearer).json)
        return False

    def _settled(self, key: Key, tap: Tap, victim: str) -> Tap:
        """Tap once more where nothing came back, as a person does; wait where it is on its way.

        What nobody reads any more stays on its way until its client comes again.
        """
        is_unheard = self._is_http and victim in ("client", "host")

        def settled() -> Tap | None:
            phone = Phone(self._desk, key, tap, saves=False)
            phone.run()
            now = phone.tap
            is_open = self._item(key).state is ExchangeState.PENDING
            if is_open and is_unheard and now.told:
                return now
            if now.told in ("taken", "over", "not confirmed") and is_open:
                return None  # it is on its way, or its session is about to be known as gone
            return now if now.told in FINAL else None

        if tap.told in FINAL:
            return tap
        return until(settled, f"what became of {tap.text[:20]!r} (was: {tap.told!r}, {victim})")

    def _item(self, key: Key) -> Item:
        return self._inbox.item(key)

    def _look(self, key: Key, taps: list[Tap], host: Host | HttpHost, victim: str) -> None:
        item = self._item(key)
        kept = [one.text for one in (item.draft, item.reply, *item.kept) if one is not None]
        line = item.answer.line if item.answer is not None else ""
        if line:
            until(lambda: self._texts(host), f"the client reads what was sent ({victim})")
        came = self._texts(host)
        assert len(came) <= 1, f"{len(came)} responses ({victim})"
        for tap in taps:
            is_delivered = came == [tap.text]
            story = f"{tap.text[:20]!r}: {tap.told}, {victim}, {item.state}"
            assert tap.told != "sent" or is_delivered, f"not delivered: {story}"
            assert not line or is_delivered == (tap.text in line), f"another: {story}"
            assert is_delivered or tap.text in kept, f"lost: {story}"
            self.counted[tap.told] += 1
        assert item.state is not ExchangeState.ANSWERED or came, f"said to be answered: {victim}"

    def _texts(self, host: Host | HttpHost) -> list[str]:
        mine = [one for one in tuple(host.heard) if one.get("id") == self._number]
        return [one["result"]["content"][0]["text"] for one in mine]


def run(
    folder: Path,
    rounds: int,
    seed: int,
    postgres: PostgresServer | None = None,
    rest: float = 0,
    *,
    http: bool = False,
) -> Counter[str]:
    """Play so many rounds. Returns how often each was killed, and what people were told."""
    kills = Kills(folder, seed, postgres, http=http)
    try:
        for at in range(rounds):
            try:
                kills.round()
            except AssertionError as error:
                raise AssertionError(f"round {at + 1} with seed {seed}: {error}") from error
            time.sleep(rest)
    finally:
        kills.end()
    return kills.counted


def main() -> None:
    """Play the rounds that the command line says."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=100)
    parser.add_argument("--seed", type=int, default=int.from_bytes(os.urandom(3)))
    parser.add_argument("--postgres", action="store_true", help="the inbox is in a database")
    parser.add_argument("--http", action="store_true", help="clients come over HTTP")
    parser.add_argument("--rest", type=float, default=0, help="seconds between two rounds")
    wanted = parser.parse_args()
    to_stdout(f"seed {wanted.seed}")
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="kills-")))
        server = stack.enter_context(PostgresServer()) if wanted.postgres else None
        counted = run(folder, wanted.rounds, wanted.seed, server, wanted.rest, http=wanted.http)
    to_stdout(f"{wanted.rounds} rounds: {dict(counted)}")


if __name__ == "__main__":
    main()
