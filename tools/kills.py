"""Kill what is between the tap on Send and the client's pipe, at random moments.

`python -m tools.kills --rounds 1000`. In each round a host calls a tool, one or two people answer
at a desk, and while their answers are on the way one of these dies by SIGKILL: the server process,
the desk, or the person's connection to it; with `--postgres` also the database, as a system stops
that loses its power; with `--calls http` also the client. With `--calls hook` an agent's hook takes
the place of the server process: sometimes nobody answers, the agent dies, too, and the folder of
the inbox goes away for a moment. Whatever dies:

- who was told that their answer was sent, whose answer did reach the client, and the other way
  round: what the inbox calls answered has reached it;
- no call gets two responses;
- each text that a desk has taken is in the inbox: as the answer, the draft, or beside it;
- nothing reaches the client that nobody sent: an agent runs nothing without a press. Nor is
  anybody told *too late* whose answer did reach it.
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
from humanmcp.protocol.conversation.stages import ExchangeState
from tests.support.desk_process import Desking
from tests.support.postgres_server import PostgresServer
from tests.support.waiting import PATIENCE, until
from tools.killed_hosts import CallingHost, HookHost, Host, HttpHost

RESET: Final = struct.pack("ii", 1, 0)
"""SO_LINGER: the connection is cut, and not closed in order."""
HOSTS: Final[Mapping[str, type[Host | HttpHost | HookHost]]] = {
    "pipe": Host,
    "http": HttpHost,
    "hook": HookHost,
}
FINAL: Final = frozenset({"sent", "taken", "over", "not confirmed", "stored"})


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
        form = "decision" if self.tap.text.startswith('{"behavior"') else "text"
        body = json.dumps({"text": self.tap.text, "form": form}).encode()
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
        calls: type[Host | HttpHost | HookHost] = Host,
    ) -> None:
        """Start it all."""
        self._calls = calls
        self.random, self.folder, self._postgres = random.Random(seed), folder, postgres
        self._flags: tuple[str, ...] = ()
        if postgres is not None:
            # A server that was killed is known to be gone after so long.
            lease = "&options=-c%20humanmcp.lease%3D2s"
            self._flags = ("--inbox", postgres.another(f"kills_{seed}") + lease)
        self._home, self._aside = folder / "home", folder / "aside"
        self._host = self._new_host()
        self._desk = Desking(self._home, *self._flags)
        self._inbox: Inbox = open_inbox(self._home, *self._flags[1:])
        self._number, self._takes = 0, 0.05
        self._watch = contextlib.ExitStack()
        if postgres is not None:  # who watches a database notices that it is back
            self._watch.enter_context(self._inbox.watch(lambda _session, _number: None))
        self.counted: Counter[str] = Counter()

    def _new_host(self) -> CallingHost:
        return self._calls(self._home, self._flags, self.random.randrange(10**6))

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
        texts = [
            self._host.text(self._number, at, self.random)
            for at in range(self.random.choice(self._host.people))
        ]
        phones = [
            Phone(self._desk, key, Tap(text), saves=self.random.random() < 0.5) for text in texts
        ]
        victims = [*self._host.victims, *["database"] * bool(self._postgres)]
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
        if self._host is dead:
            self._host.finish()
        self._look(key, taps, dead, victim)
        if isinstance(self._host, HttpHost) and self._host is dead and victim == "client":
            self._come_again(key, self._host)

    def _come_again(self, key: Key, host: HttpHost) -> None:
        """Let the client come again: it gets the one answer that it missed, and that is told."""
        before = len(host.texts(self._number))
        if not before and host.come_again(key.number):
            until(lambda: host.texts(self._number), "the client gets what it missed")
            state = ExchangeState.ANSWERED
            until(lambda: self._item(key).state is state, "it is known that the client has it")
            self.counted["came again"] += 1

    def _waiting(self) -> Key | None:
        if any(one.get("id") == self._number for one in self._host.received()):
            # The server has not found its way back to the database: it cannot keep the call.
            self._number += 1
            self._host.call(self._number)
            return None
        rows = self._desk.get("/api/exchanges")["waiting"]
        keys = [Key(row["session"], row["number"]) for row in rows]
        return next((key for key in keys if self._is_new(key)), None)

    def _is_new(self, key: Key) -> bool:
        return self._host.is_own(self._inbox, key, self._number)

    def _kill(self, victim: str, phones: list[Phone]) -> None:
        match victim:
            case "client":
                self._host.kill_client()
            case "inbox":
                self._home.rename(self._aside)
            case "host":
                self._host.end()
            case "desk":
                self._desk.kill()
            case "connection" if phones:
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
            case "inbox":
                self._aside.rename(self._home)
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
        is_unheard = self._calls is HttpHost and victim in ("client", "host")

        def settled() -> Tap | None:
            # What its process could not write down while the inbox was away stays open for ever.
            lives = self._inbox.facts(key.session).is_open
            phone = Phone(self._desk, key, tap, saves=False)
            phone.run()
            now = phone.tap
            is_open = lives and self._item(key).state is ExchangeState.PENDING
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

    def _look(self, key: Key, taps: list[Tap], host: CallingHost, victim: str) -> None:
        item = self._item(key)
        kept = [one.text for one in (item.draft, item.reply, *item.kept) if one is not None]
        line = item.answer.line if item.answer is not None else ""
        sent = host.sent_in(line, self._number) if line else ""
        if line:
            until(lambda: host.texts(self._number), f"the client reads what was sent ({victim})")
        came = host.texts(self._number)
        assert len(came) <= 1, f"{len(came)} responses ({victim})"
        assert {*came} <= {tap.text for tap in taps}, f"nobody sent {came} ({victim})"
        for tap in taps:
            is_delivered = came == [tap.text]
            story = f"{tap.text[:20]!r}: {tap.told}, {victim}, {item.state}"
            assert tap.told != "sent" or is_delivered, f"not delivered: {story}"
            assert not line or is_delivered == (tap.text == sent), f"another: {story}"
            assert tap.told != "over" or not is_delivered, f"not too late: {story}"
            assert is_delivered or tap.text in kept, f"lost: {story}"
            self.counted[tap.told] += 1
        assert item.state is not ExchangeState.ANSWERED or came, f"said to be answered: {victim}"


def run(
    folder: Path,
    rounds: int,
    seed: int,
    postgres: PostgresServer | None = None,
    rest: float = 0,
    *,
    calls: type[Host | HttpHost | HookHost] = Host,
) -> Counter[str]:
    """Play so many rounds. Returns how often each was killed, and what people were told."""
    kills = Kills(folder, seed, postgres, calls)
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
    parser.add_argument(
        "--calls", choices=HOSTS, default="pipe", help="who asks: at a pipe, over HTTP, by a hook"
    )
    parser.add_argument("--rest", type=float, default=0, help="seconds between two rounds")
    wanted = parser.parse_args()
    to_stdout(f"seed {wanted.seed}")
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="kills-")))
        server = stack.enter_context(PostgresServer()) if wanted.postgres else None
        counted = run(
            folder, wanted.rounds, wanted.seed, server, wanted.rest, calls=HOSTS[wanted.calls]
        )
    to_stdout(f"{wanted.rounds} rounds: {dict(counted)}")


if __name__ == "__main__":
    main()
