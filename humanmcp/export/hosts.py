"""`humanmcp hosts`: how hosts behave, as a table; and a row of it, measured in a recorded session.

The table is `samples/measured_hosts.toml`. A row knows what the session showed and nothing more:
how long a host waits is known of a call that it gave up.
"""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from humanmcp.common import paths
from humanmcp.common.settings import add_flags
from humanmcp.common.terminal import json_to_stdout, raw_to_stdout, to_stdout
from humanmcp.common.timestamps import seconds_of
from humanmcp.export.reading import LAST, find
from humanmcp.locales import language_of, say
from humanmcp.protocol.conversation.perspective import Perspective
from humanmcp.protocol.conversation.state import ConversationState
from humanmcp.protocol.conversation.transcript import Direction
from humanmcp.protocol.json import jsonrpc
from humanmcp.protocol.json.jsonrpc import Kind, Message
from humanmcp.protocol.policy import known_clients
from humanmcp.protocol.spec.versions import features

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable, Iterator, Mapping

    from humanmcp.answering.schema.commands import HostRowShape
    from humanmcp.common.parsing import Parser
    from humanmcp.common.settings import Settings
    from humanmcp.protocol.conversation.state import ObservedMessage
    from humanmcp.protocol.conversation.transcript import Frame

ROOM: Final = "hosts"
FILE: Final = "measured_hosts.toml"
COLUMNS: Final = ("name", "version", "opens", "start", "call", "token", "progress", "cancels")
_LIMIT: Final = 1.0
"""Seconds below which a cancelled call says nothing of a limit: a person changed their mind."""


def add_arguments(parser: Parser) -> None:
    """Declare the flags of `hosts`."""
    flag = parser.flags(ROOM, "help ")
    add_flags(parser, "home", "lang")
    flag("--measure", nargs="?", const=LAST, metavar="SESSION")
    flag("-o", "--output", metavar="FILE")
    flag("--json", action="store_true")


def run(arguments: argparse.Namespace, settings: Settings) -> int:
    """Print the table, or measure a session and print or add its row."""
    language = language_of(settings.lang)
    if arguments.measure is None:
        rows = table()
    else:
        home = paths.home_folder(settings.home)
        rows = (measured(find(arguments.measure, home).frames),)
    if arguments.output:
        with Path(arguments.output).open("a", encoding="utf-8") as file:
            file.writelines(f"\n{as_toml(row)}" for row in rows)
    elif arguments.json:
        json_to_stdout(list(rows))
    elif arguments.measure is None:
        for line in lines(rows, language):
            to_stdout(line)
    else:
        raw_to_stdout(as_toml(rows[0]).removesuffix("\n"))
    return 0


def table() -> tuple[HostRowShape, ...]:
    """Read the rows that come with humanmcp."""
    return tuple(tomllib.loads(paths.sample(FILE).read_text(encoding="utf-8"))["host"])


def lines(rows: Iterable[Mapping[str, Any]], language: str) -> Iterator[str]:
    """Write rows as a table of Markdown."""
    yield f"| {' | '.join(say(ROOM, name, language) for name in COLUMNS)} |"
    yield f"| {' | '.join('---' for _ in COLUMNS)} |"
    for row in rows:
        yield f"| {' | '.join(_cell(row.get(name), name, language) for name in COLUMNS)} |"


def _cell(value: object, name: str, language: str) -> str:
    if isinstance(value, bool):
        return say(ROOM, "yes" if value else "no", language)
    if value is None:
        return "?"
    if value == "none" or name in ("opens", "token"):
        return say(ROOM, f"{name} {value}" if name in ("opens", "token") else "none", language)
    return f"{value:g} s" if isinstance(value, (int, float)) else str(value)


def as_toml(row: Mapping[str, Any]) -> str:
    """Write a row as it stands in the file."""
    members = (f"{name} = {json.dumps(value, ensure_ascii=False)}" for name, value in row.items())
    return "\n".join(("[[host]]", *members)) + "\n"


# -- measuring ------------------------------------------------------------------------------------


def measured(frames: Iterable[Frame]) -> HostRowShape:
    """Return the row that a session shows, as its client behaved."""
    state, view, calls = ConversationState(), Perspective(Direction.IN), _Calls()
    first = ""
    for frame in frames:
        for seen in view.feed(frame):
            for message in _messages(seen):
                heard = state.observe(seen.way, message)
                calls.take(heard, seconds_of(seen.at))
                if seen.way is Direction.IN and message.kind is Kind.REQUEST:
                    first = first or message.method
    known = known_clients.find(state.established.client_name)
    return {
        "name": known.label if known else state.established.client_name,
        "client": state.established.client_name,
        "version": state.established.client_version,
        "opens": _opening(first, state.revision),
        "revision": state.revision,
        "capabilities": sorted(_flat(state.established.client_capabilities)),
        **calls.row(),
    }


def _messages(frame: Frame) -> Iterator[Message]:
    items = jsonrpc.items_in(frame.raw) if frame.way in (Direction.IN, Direction.OUT) else ()
    return (item for item in items if isinstance(item, Message))


class _Calls:
    """What became of the calls of a session: who waited how long, and who gave up."""

    def __init__(self) -> None:
        self._asked: dict[int, float] = {}
        self._tokens: list[bool] = []
        self._answered: list[float] = []
        self._gave_up: list[float] = []

    def take(self, heard: ObservedMessage, at: float) -> None:
        """Take a message, and when it was said."""
        asked, message = heard.asked, heard.message
        if asked is None or asked.way is not Direction.IN or asked.method != "tools/call":
            return
        if message.kind is Kind.REQUEST:
            self._asked[asked.number] = at
            self._tokens.append("progressToken" in message.meta)
        elif asked.number in self._asked and message.method in ("", "notifications/cancelled"):
            waits = self._gave_up if message.method else self._answered
            waits.append(at - self._asked.pop(asked.number))

    def row(self) -> HostRowShape:
        """Return the limit where a call was given up, else how long one was waited for at least."""
        token = "always" if all(self._tokens) else "on request" if any(self._tokens) else "never"
        row: HostRowShape = {"token": token} if self._tokens else {}
        gave_up = [wait for wait in self._gave_up if wait >= _LIMIT]
        if gave_up:
            return {**row, "call": round(min(gave_up)), "cancels": True}
        return {**row, "waited": round(max(self._answered))} if self._answered else row


def _opening(first: str, revision: str) -> str:
    if first == "server/discover":
        return "probe"
    return "modern" if revision and features(revision).stateless else "handshake"


def _flat(capabilities: Mapping[str, Any]) -> Iterator[str]:
    """Name what was declared: `elicitation.form`, `roots.listChanged`, `sampling`."""
    for name, value in capabilities.items():
        inner = [key for key in value if value[key] is not False] if isinstance(value, dict) else []
        yield from (f"{name}.{key}" for key in inner) if inner else (name,)
