"""What a book will do, a line for each rule, and what in it is probably not meant."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from humanmcp.locales import say
from humanmcp.protocol.diagnostics.raw import json_text
from humanmcp.protocol.diagnostics.verdict import TextForm
from humanmcp.protocol.json.escaping import one_line
from humanmcp.protocol.json.tree import object_at
from humanmcp.protocol.rules.filling import fill_answer, placeholders
from humanmcp.protocol.rules.memory import GIVEN
from humanmcp.protocol.rules.rule import RuleAction
from humanmcp.protocol.rules.rule_format import KEY_OF

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from humanmcp.protocol.rules.answer_book import Book
    from humanmcp.protocol.rules.rule import Rule

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


def doubts(book: Book, language: str) -> Iterator[str]:
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
                yield from _unknown_names(rule, tools[rule.tool], number, language)
            elif not _is_for_a_tap(book):
                yield say(ROOM, "no tool", language, rule=number, tool=rule.tool)


def _is_for_a_tap(book: Book) -> bool:
    """Return True if a rule forwards a request: the tools are those of a real server."""
    return any(turn.action is RuleAction.FORWARD for rule in book.rules for turn in rule.turns)


def _unknown_names(
    rule: Rule, tool: Mapping[str, Any], number: int, language: str
) -> Iterator[str]:
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
                yield say(
                    ROOM,
                    "no value",
                    language,
                    rule=number,
                    name=name,
                    known=", ".join(sorted(names)),
                )


def _decoded(rule: Rule) -> Any:  # noqa: ANN401 - any JSON value
    return json.loads(rule.text) if rule.text else ""
