"""Write a book that is a server that exists: from its command, or from a recording of it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from humanmcp import __version__
from humanmcp.common.timestamps import now
from humanmcp.common.toml_edit import element_text, table_text
from humanmcp.host.client.callbacks import ClientObserver, Nobody
from humanmcp.host.client.client import Client
from humanmcp.host.client.handshake import Identity, SessionStart
from humanmcp.host.client.transport import connect
from humanmcp.locales import say
from humanmcp.protocol.conversation.transcript import Direction, Frame
from humanmcp.protocol.diagnostics.locate import json_text
from humanmcp.protocol.diagnostics.model import TextForm
from humanmcp.protocol.json.jsonrpc import one_line
from humanmcp.protocol.json.tree import object_at
from humanmcp.protocol.rules.book_format import KEY_OF
from humanmcp.protocol.rules.following import GIVEN, fill_answer, placeholders
from humanmcp.protocol.rules.rule import RuleAction
from humanmcp.protocol.spec import methods

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from humanmcp.host.client.transport import ServerTarget
    from humanmcp.protocol.rules.answer_book import Book
    from humanmcp.protocol.rules.book_writer import CopiedBook
    from humanmcp.protocol.rules.rule import Rule

NAME: Final = "humanmcp-book"
"""Who the client is that reads a server's definition."""


class _Listener(ClientObserver):
    """Records what passes, as a transcript would."""

    def __init__(self) -> None:
        self.frames: list[Frame] = []

    def line_sent(self, line: str) -> None:
        self._add(Direction.IN, line.encode())

    def line_arrived(self, line: bytes) -> None:
        self._add(Direction.OUT, line)

    def _add(self, direction: Direction, raw: bytes) -> None:
        self.frames.append(Frame(len(self.frames) + 1, now(), direction, raw))


def listed(target: ServerTarget) -> list[Frame]:
    """Ask a server for its definition, and return all that was said.

    Raises:
        StopError: it cannot be started, or does not speak MCP.
    """
    listener = _Listener()
    client = Client(
        connect(target),
        Nobody(),
        identity=Identity(NAME, __version__, {}),
        observer=listener,
    )
    try:
        client.open(SessionStart.PROBE)
        for method in methods.LISTS:
            if method.capability in client.server_capabilities:
                for _page in client.pages(method.name):
                    pass
    finally:
        client.close()
    return listener.frames


def as_toml(book: CopiedBook) -> str:
    """Write a book."""
    return "\n".join(_sections(book))


def _sections(book: CopiedBook) -> Iterator[str]:
    if book.server:
        yield table_text(["server"], book.server)
    yield table_text(["wait"], book.wait)
    for member, entries in book.lists.items():
        for entry in entries:
            yield element_text(member, entry)
    for rule in book.rules:
        yield element_text("rules", rule)


ROOM: Final = "book_command"
_SHOWN: Final = 160
"""Characters of a rule in its line."""


def rule_lines(book: Book) -> Iterator[str]:
    """Write each rule in a line: when it is meant, and what it answers, filled as far as known."""
    width = len(str(len(book.rules)))
    for number, rule in enumerate(book.rules, 1):
        turns = " | ".join(_does(turn, rule.where) for turn in rule.turns)
        yield one_line(f"{number:>{width}}  {_meant_for(rule)}  →  {turns}", _SHOWN)


def _meant_for(rule: Rule) -> str:
    """Write the conditions of a rule."""
    parts = [rule.method or "*", rule.tool or rule.resource]
    parts += [f"{name} = {json_text(value)}" for name, value in rule.where.items()]
    parts += [f"{name} ∋ {json_text(value)}" for name, value in rule.contains.items()]
    parts += [f"client_has {name}" for name in rule.client_has]
    parts += [f"inputResponses {json_text(rule.responses)}"] if rule.responses is not None else []
    parts += [f"requestState {json_text(rule.state)}"] if rule.state is not None else []
    parts += [f"key {rule.key}"] if rule.key else []
    parts += [f"kept {json_text(rule.kept)}"] if rule.kept is not None else []
    parts += [f"times {rule.times}"] if rule.times is not None else []
    return " ".join(filter(None, parts))


def _does(rule: Rule, where: Mapping[str, Any]) -> str:
    """Write what is done about one call."""
    steps = [f"notify {notice.method.removeprefix('notifications/')}" for notice in rule.notices]
    steps += [f"ask {', '.join(questions)}" for questions in rule.ask]
    if rule.change is not None:
        steps += [f"{word} {', '.join(found)}" for word, found in _changes(rule) if found]
    if rule.action is not RuleAction.ANSWER:
        return str(rule.action.value)
    text: str = fill_answer(rule.text, rule.form, where) if rule.fills else rule.text
    steps.append(f"{KEY_OF[rule.form]} {text}")
    steps += [f"fault {rule.fault}"] if rule.fault else []
    steps += [f"keep {json_text(rule.keep)}"] if rule.keep else []
    return "; ".join(steps)


def _changes(rule: Rule) -> Iterator[tuple[str, list[str]]]:
    if rule.change is not None:
        added = (one for each in rule.change.add.values() for one in each)
        yield "add", [str(one.get("name") or one) for one in added]
        yield "remove", [name for each in rule.change.remove.values() for name in each]


def doubts(book: Book) -> Iterator[str]:
    """Say what in a book is probably not meant: it can be used all the same."""
    added = [
        tool
        for rule in book.rules
        for turn in rule.turns
        for tool in (turn.change.add.get("tools", ()) if turn.change else ())
    ]
    tools = {str(tool.get("name")): tool for tool in (*book.tools, *added)}
    for number, rule in enumerate(book.rules, 1):
        if rule.method == "tools/call" and rule.tool:
            if rule.tool in tools:
                yield from _unknown_names(rule, tools[rule.tool], number)
            elif not _is_for_a_tap(book):
                yield say(ROOM, "no tool", rule=number, tool=rule.tool)


def _is_for_a_tap(book: Book) -> bool:
    """Return True if a rule forwards a request: the tools are those of a real server."""
    return any(turn.action is RuleAction.FORWARD for rule in book.rules for turn in rule.turns)


def _unknown_names(rule: Rule, tool: Mapping[str, Any], number: int) -> Iterator[str]:
    known = {*object_at(tool.get("inputSchema"), "properties"), "params"}
    for turn in rule.turns:
        names = (
            known
            | (GIVEN if turn.remembers else frozenset())
            | {name for questions in turn.ask for name in questions}
        )
        text = turn.text if turn.form in (TextForm.TEXT, TextForm.TOOL_ERROR) else _decoded(turn)
        for name in dict.fromkeys(placeholders(text)) if turn.fills else ():
            if name.split(".")[0] not in names:
                yield say(ROOM, "no value", rule=number, name=name, known=", ".join(sorted(names)))


def _decoded(rule: Rule) -> Any:  # noqa: ANN401 - any JSON value
    return json.loads(rule.text) if rule.text else ""
