"""A session over HTTP that is killed at any moment, and that the next process goes on with.

`live_on` is the process of a server, its client and its person. Each does what was not done yet:
what was done stands in the inbox, so it can be called again after every kill.
"""

import base64
import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from humanmcp.common.book_file import BookFile
from humanmcp.inbox import records
from humanmcp.inbox.contract import HttpFacts, Order, Reply, SessionFacts
from humanmcp.inbox.folder import FolderInbox
from humanmcp.inbox.inbox_session import TransportNote
from humanmcp.inbox.transcript_writer import TranscriptWriter
from humanmcp.protocol.answer_book.decide import HandshakePolicy
from humanmcp.protocol.conversation.transcript import Direction, Frame
from humanmcp.protocol.diagnostics.model import TextForm
from humanmcp.protocol.http.client import request_part, response_part
from humanmcp.protocol.http.events import EventId
from humanmcp.server import resuming  # noqa: F401 - imported once for every run
from humanmcp.server.http.connection import after
from humanmcp.server.memory_connection import MemoryConnection
from humanmcp.server.serve import ServerParts
from humanmcp.server.waiting import ServeOptions
from tests.support.inbox_folder import permission
from tests.support.serve_http import INITIALIZED, call, initialize
from tests.support.waiting import PATIENCE

VERSION: Final = "2025-03-26"
PING: Final = '{"jsonrpc":"2.0","id":4,"method":"ping"}'
CANCEL: Final = '{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":5}}'
DECISIONS: Final = {
    3: ("change", '{"behavior": "allow", "updatedInput": {"command": "sunny"}}'),
    6: ("deny", '{"behavior": "deny", "message": "sunny"}'),
}
"""What a person decides about the permission prompts, by id: how the record calls it, the text."""


def prompt(number: int) -> str:
    """Return a permission prompt that comes as a call."""
    return permission("Bash", command="ls").replace('"id": 3', f'"id": {number}')


LINES: Final = (
    initialize(VERSION),
    INITIALIZED,
    call(2),
    f"[{prompt(3)},{PING},{call(7)}]",
    call(5),
    CANCEL,
    prompt(6),
)
OUTGOING: Final = '{"jsonrpc":"2.0","id":"ours","method":"ping"}'
BYTES: Final = '{"jsonrpc":"2.0","id":"bytes","method":"ping"}'
ORDERS: Final = {
    OUTGOING: Reply(OUTGOING, order=Order.SAY),
    BYTES: Reply(base64.b64encode(f"{BYTES}\n".encode()).decode(), order=Order.RAW),
}
"""What a person says without a request, and as bytes, by the text of its line."""
ANSWERED: Final = frozenset({1, 2, 3, 4, 6, 7})
PORT: Final = 1
APPENDED: Final = "humanmcp.appended"
"""The event of Python's audit for a transcript that is written, which has no event of its own."""


def live_on(home: Path) -> None:
    """Go on until everything is done, and leave."""
    _audit_the_transcript()
    living = _Living(home)
    until = time.monotonic() + PATIENCE
    while not living.is_done:
        assert time.monotonic() < until, living.frames
        living.step()
    living.server.leave(to_others=True)


def _audit_the_transcript() -> None:
    append = TranscriptWriter.append

    def audited(
        self: TranscriptWriter,
        *frames: Frame,
        durable: bool = False,
        then: Callable[[], object] | None = None,
    ) -> None:
        sys.audit(APPENDED, str(self._path))
        append(self, *frames, durable=durable, then=then)
        sys.audit(APPENDED, str(self._path))

    TranscriptWriter.append = audited  # type: ignore[method-assign] # in a process of its own


class _Notes:
    """What HTTP says beside each line: something before it, and what it came with after it."""

    head = ""

    def take(self) -> list[TransportNote]:
        """Say something each time."""
        return [TransportNote(_stamp(), response_part(1, 200, "OK", ()), 0)]


class _Connection(MemoryConnection):
    """The connection of a client that comes again for what it may have missed."""

    def come_again(self, frames: list[Frame]) -> None:
        """Get the responses of each stream, as with `Last-Event-ID`."""
        for stream in {one.number for one in frames if one.direction is Direction.OUT}:
            for event in after(frames, EventId(stream, 0), self._receive):
                event.tell_written(written=True)

    def _receive(self, receipt: int, *, written: bool) -> None:
        assert written
        self._receipts.put(receipt)


class _Living:
    """The three of them."""

    def __init__(self, home: Path) -> None:
        parts = ServerParts(
            home,
            BookFile(home / "book.toml", approvals=True),
            ServeOptions(handshake=HandshakePolicy.BOOK),
        )
        inbox = FolderInbox(home)
        new = SessionFacts("", "", http=HttpFacts("id", str(PORT)))
        facts = next(iter(inbox.orphaned_sessions(str(PORT))), new)
        self.connection = _Connection()
        self.connection.notes = self.notes = _Notes()
        self.server = parts.session(self.connection, inbox, lambda _one: None, facts)
        self.name = self.server.journal.name
        self.desk = FolderInbox(home)
        self.server.begin_steps(lambda: None)
        self.connection.come_again(self.frames)

    @property
    def frames(self) -> list[Frame]:
        """What was heard and said so far."""
        return [*self.desk.frames(self.name)]

    @property
    def is_done(self) -> bool:
        """Return True once everything was said, and nothing waits."""
        folder = self.desk.folder(self.name)
        said = {frame.text for frame in self.frames}
        return (
            said >= {*LINES, *ORDERS}
            and not [*folder.glob("pending/*")]
            and len([*folder.glob("outbox/*.result.json")]) == len(ORDERS)
        )

    def step(self) -> None:
        """Let each do the next thing."""
        heard = {frame.text for frame in self.frames if frame.direction is Direction.IN}
        waiting = [one for one in self.desk.items(self.name) if one.reply is None]
        following = next((line for line in LINES if line not in heard), None)
        if following is not None and (not waiting or following == CANCEL):
            self.notes.head = request_part(1, "POST", "", (), "")
            self.connection.say(following.encode())
        for item in waiting:
            if item.id != "5":
                _action, text = DECISIONS.get(int(item.id), ("answer", "sunny"))
                self.desk.send(item.key, Reply(text, TextForm.TEXT, by="desk"))
        if call(2) in heard:
            outbox = self.desk.folder(self.name) / "outbox"
            for number, one in enumerate(ORDERS.values(), 1):
                if not (outbox / records.OUTGOING.format(number)).exists():
                    self.desk.submit(self.name, one._replace(by="desk", at=_stamp()))
        self.server.step(time.monotonic())


def _stamp() -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%S.000Z", time.gmtime())


def ids_of(frames: list[Frame], direction: Direction) -> list[Any]:
    """Return the ids of the answers, or of the requests, that went one way, each as often."""
    wanted = ("result", "error") if direction is Direction.OUT else ("method",)
    found = []
    for frame in frames:
        said = json.loads(frame.raw) if frame.direction is direction else []
        found += [
            one["id"]
            for one in (said if isinstance(said, list) else [said])
            if any(name in one for name in wanted) and "id" in one
        ]
    return found
