"""A session of the client's role, with the test in the place of its program."""

import html
import json
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from humanmcp.inbox.contract import Role, SessionFacts
from humanmcp.inbox.folder import FolderInbox
from humanmcp.protocol.conversation.exchange import NegotiatedState
from humanmcp.protocol.conversation.transcript import Direction, Frame
from tests.support.desk_process import Desking
from tests.support.serve_http import Got


class Seated:
    """A client's session in the inbox, with a test in the place of its program, and a desk."""

    def __init__(self, home: Path, desk: Desking) -> None:
        """Begin a session of each seat that has a person."""
        self.desk = desk
        self.inbox = FolderInbox(home)
        self.name = self.begun(Role.CLIENT)
        self.seq = 0

    def begun(self, role: Role) -> str:
        """Begin a session; return its name."""
        facts = SessionFacts(name="", started="2026-11-21T01:00:00.000Z", role=role, pid=1)
        return self.inbox.begin_session(facts)

    def knows(self, version: str, negotiated: NegotiatedState) -> None:
        """Tell the desk what has been negotiated."""
        facts = SessionFacts(
            name=self.name,
            started="2026-11-21T01:00:00.000Z",
            role=Role.CLIENT,
            pid=1,
            protocol_version=version,
        )
        self.inbox.describe(facts, negotiated)

    def page(self) -> str:
        """Return the page as a browser reads it."""
        return html.unescape(self.desk.page(f"/say/{self.name}"))

    def box(self, page: str) -> str:
        """Return what stands in the box."""
        found = re.search(r"<textarea[^>]*>(.*?)</textarea>", page, re.DOTALL)
        assert found is not None
        return found[1]

    def press(self, act: str, text: str = "", **values: str) -> Got:
        """Press a button of the form."""
        return self.desk.submit(f"/say/{self.name}", act=act, text=text, **values)

    def lines(self, *lines: tuple[Direction, dict[str, Any]]) -> None:
        """Record what was said."""
        for direction, message in lines:
            self.seq += 1
            raw = json.dumps(message, ensure_ascii=False).encode()
            self.inbox.record(
                self.name, Frame(self.seq, "2026-11-21T01:00:01.000Z", direction, raw)
            )

    @contextmanager
    def server(
        self, answer: Callable[[dict[str, Any]], dict[str, Any] | None]
    ) -> Iterator[list[dict[str, Any]]]:
        """Say what is submitted, and answer it as a server: with a result, or not at all."""
        asked: list[dict[str, Any]] = []
        over = threading.Event()

        def run() -> None:
            while not over.wait(0.01):
                for ticket, reply in self.inbox.outgoing(self.name):
                    message = json.loads(reply.text)
                    asked.append(message)
                    self.inbox.settle_outgoing(self.name, ticket, ())
                    self.lines((Direction.IN, message))
                    result = answer(message)
                    if result is not None:
                        head = {"jsonrpc": "2.0", "id": message["id"]}
                        self.lines((Direction.OUT, {**head, "result": result}))

        program = threading.Thread(target=run)
        program.start()
        yield asked
        over.set()
        program.join()
