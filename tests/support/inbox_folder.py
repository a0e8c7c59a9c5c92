"""The parts of the terminal's tests: a folder with sessions in it, and a command line."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final, NamedTuple

import pytest

from humanmcp.answering import service
from humanmcp.answering.open_exchange import OpenExchange, open_exchange_of
from humanmcp.inbox import records
from humanmcp.inbox.contract import Answer, HeldFacts, Item, Key, SessionFacts, Waiting
from humanmcp.inbox.folder import FolderInbox
from humanmcp.protocol.answer_book.own_tools import APPROVE_TOOL, ASK_TOOL
from humanmcp.protocol.conversation.exchange import NegotiatedState
from humanmcp.protocol.conversation.stages import ExchangeState
from humanmcp.protocol.json.jsonrpc import Message, read
from tests.support.waiting import EVERY

CALL: Final = (
    '{"jsonrpc":"2.0","id":3,"method":"tools/call",'
    '"params":{"name":"get-japan-forecast","arguments":{"location":"東京"}}}'
)
QUESTION: Final = (
    '{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"ask_human","arguments":'
    '{"question":"Tea or coffee?","context":"It is late.","options":["Tea","Coffee"]}}}'
)
INITIALIZE: Final = (
    '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25",'
    '"capabilities":{},"clientInfo":{"name":"claude-code","version":"2.1"}}}'
)


class Room:
    """An inbox folder, with the servers' side of it in the hands of a test."""

    def __init__(self, home: Path) -> None:
        """Open the inbox."""
        self.home = home
        self.inbox = FolderInbox(home)
        self._servers: list[Taker] = []
        self._sessions = 0

    def session(self, client: str = "claude-code", **facts: Any) -> str:  # noqa: ANN401 - facts of any type
        """Begin a session, a minute after the one before it."""
        started = datetime(2026, 11, 20, 18, self._sessions, tzinfo=UTC)
        self._sessions += 1
        made = SessionFacts(
            name="",
            started=stamp(started),
            client=client,
            client_version="2.1",
            protocol_version="2025-11-25",
            **facts,
        )
        name = self.inbox.begin_session(made)
        self.inbox.describe(made._replace(name=name), NegotiatedState(client_name=client))
        return name

    def ask(self, session: str, number: int, line: str = CALL, **parts: Any) -> Key:  # noqa: ANN401 - parts of an item
        """Deliver a request."""
        key = Key(session, number)
        held: HeldFacts = parts.get("held", HeldFacts())
        message, about = read(line.encode()), read((held.asked or line).encode())
        parts.setdefault("arrived", stamp(datetime.now(UTC)))
        item = Item(
            key=key,
            line=line,
            method=about.method if isinstance(about, Message) else "",
            id=message.id.token if isinstance(message, Message) and message.id else "",
            protocol_version="2025-11-25",
            **parts,
        )
        if item.draft is None:
            opened = OpenExchange(self.inbox, item, self.inbox.facts(session))
            item = item._replace(draft=service.starting_draft(opened))
        self.inbox.deliver(item)
        return key

    def served(self, number: int = 3, line: str = CALL, **facts: Any) -> Key:  # noqa: ANN401 - facts of any type
        """Deliver a request to a new session whose server takes replies."""
        session = self.session(**facts)
        key = self.ask(session, number, line)
        self.serve(session)
        return key

    def sent(self, key: Key) -> Any:  # noqa: ANN401 - any JSON value
        """Return the answer that was sent, decoded."""
        answer = self.inbox.item(key).answer
        assert answer is not None
        return json.loads(answer.line)

    def serve(self, session: str) -> Taker:
        """Let a thread in the server's place take and judge the replies of a session."""
        taker = Taker(self.home, session)
        self._servers.append(taker)
        return taker

    def close(self) -> None:
        """Stop the threads."""
        for server in self._servers:
            server.stop()


class Taker:
    """A server reduced to what a desk sees of it: it takes a reply, and closes or refuses it."""

    def __init__(self, home: Path, session: str) -> None:
        """Start taking."""
        self._inbox = FolderInbox(home)
        self._session = session
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def stop(self) -> None:
        """Stop taking."""
        self._stopped.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._stopped.wait(EVERY):
            for key, reply in self._inbox.take_replies(self._session):
                verdict = service.judge(open_exchange_of(self._inbox, key), reply.text, reply.form)
                line = verdict.forced if reply.anyway else verdict.line
                if line is None:
                    self._inbox.refuse(key, verdict.diagnostics)
                    continue
                answer = Answer(line, reply.by, stamp(datetime.now(UTC)), reply.anyway)
                self._inbox.close(key, ExchangeState.ANSWERED, answer)


class Ran(NamedTuple):
    """What a command did."""

    status: int
    out: str
    err: str

    @property
    def json(self) -> Any:  # noqa: ANN401 - any JSON value
        """What it printed, decoded."""
        return json.loads(self.out)


@dataclass
class Shell:
    """The command line, with the inbox folder of a test."""

    home: Path
    main: Callable[[list[str]], int]
    capsys: pytest.CaptureFixture[str]

    def __call__(self, *words: str) -> Ran:
        """Run a command."""
        self.capsys.readouterr()
        status = self.main([*words, "--home", str(self.home)])
        out, err = self.capsys.readouterr()
        return Ran(status, out, err)


TOOLS: Final = {"approve": APPROVE_TOOL, "ask_human": ASK_TOOL}
"""What `serve --approvals` offers."""


def approving(room: Room, **facts: Any) -> str:  # noqa: ANN401 - facts of any type
    """Begin a session whose client was told of the tool for permission prompts."""
    name = room.session(**facts)
    negotiated = NegotiatedState(client_name="claude-code", tools=TOOLS)
    room.inbox.describe(room.inbox.facts(name), negotiated)
    return name


def permission(tool: str, **given: Any) -> str:  # noqa: ANN401 - any JSON value
    """Write the permission prompt of a host, as a real one sends it."""
    arguments = {"tool_name": tool, "input": given, "tool_use_id": "toolu_01"}
    params = {"name": "approve", "arguments": arguments}
    return json.dumps({"jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": params})


def question(**arguments: Any) -> str:  # noqa: ANN401 - any JSON value
    """Write a call of the tool that asks a person."""
    params = {"name": "ask_human", "arguments": arguments}
    return json.dumps({"jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": params})


def outcome(room: Room, key: Key) -> Any:  # noqa: ANN401 - any JSON value
    """Return the data that the asker gets; None if it has no answer."""
    answer = room.inbox.item(key).answer
    return answer and json.loads(answer.line)["result"]["structuredContent"]


def stamp(moment: datetime) -> str:
    """Write a moment as the inbox does."""
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def ago(seconds: float) -> str:
    """Write the moment that was so many seconds ago."""
    return stamp(datetime.now(UTC) - timedelta(seconds=seconds))


def waiting(**parts: Any) -> Waiting:  # noqa: ANN401 - parts of a Waiting
    """Make a description of a wait."""
    return Waiting(**parts)


_EXAMPLES: Final = {"TORN": "1", "WRITER": "0001", "FORWARDED": records.TRANSCRIPT}
LAYOUT: Final = tuple(
    {
        value.format(_EXAMPLES.get(name, 1)): None
        for name, value in vars(records).items()
        if name.isupper() and isinstance(value, str)
    }
    | dict.fromkeys(records.STATES)
)
"""Every name of a file or folder of the inbox, with an example where a number is part of it."""
