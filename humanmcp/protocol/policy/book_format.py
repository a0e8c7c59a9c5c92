"""How an answer book is written: the decoded TOML of its file becomes a `Book`.

Knows the keys and what each may hold. What is wrong is told as a code with its place; the sentences
stand in `locales/`, table `[book]`.
"""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any, Final

from humanmcp.protocol.diagnostics.verdict import TextForm
from humanmcp.protocol.policy.answer_book import Book, Rule, RuleAction
from humanmcp.protocol.spec import versions

if TYPE_CHECKING:
    from collections.abc import Mapping


class BookError(Exception):
    """A book cannot be used: where in it, and what is wrong there."""

    def __init__(self, place: str, code: str, **fillings: str) -> None:
        """Remember the place (`rules[2].after`), the code of the sentence and what fills it."""
        super().__init__(place, code, fillings)
        self.place = place
        self.code = code
        self.fillings = fillings

    def __str__(self) -> str:
        """Return where and what, for a log; people read the sentence of the code."""
        return f"{self.place}: {' '.join((self.code, *self.fillings.values()))}"


_SERVER_KEYS: Final = frozenset(
    {"name", "version", "title", "instructions", "revisions", "capabilities", "progress"}
)
_ENTRIES: Final = {
    "tools": "tools",
    "resources": "resources",
    "resourceTemplates": "resource_templates",
    "prompts": "prompts",
}
_RULE_KEYS: Final = frozenset(
    {"method", "tool", "where", "contains", "text", "tool_error", "result", "error"}
    | {"after", "times", "do"}
)
_ANSWERS: Final = {
    "text": TextForm.TEXT,
    "tool_error": TextForm.TOOL_ERROR,
    "result": TextForm.RESULT,
    "error": TextForm.ERROR,
}


def parse(written: Mapping[str, Any]) -> Book:
    """Read a decoded book.

    Raises:
        BookError: something in it has no meaning; the error names the place.
    """
    _only(written, frozenset({"server", "rules", "wait", *_ENTRIES}), "the book")
    server = _table(written.get("server", {}), "server")
    _only(server, _SERVER_KEYS, "server")
    chosen: dict[str, Any] = {
        name: _text(server[name], f"server.{name}")
        for name in ("name", "version", "title", "instructions")
        if name in server
    }
    if "revisions" in server:
        chosen["revisions"] = _revisions(server["revisions"])
    if "capabilities" in server:
        chosen["capabilities"] = _table(server["capabilities"], "server.capabilities")
        _json(chosen["capabilities"], "server.capabilities")
    if "progress" in server:
        chosen["progress"] = _flag(server["progress"], "server.progress")
    for key, attribute in _ENTRIES.items():
        if key in written:
            chosen[attribute] = tuple(_tables(written[key], key))
            _json(chosen[attribute], key)
    rules = enumerate(_tables(written.get("rules", []), "rules"))
    wait = _table(written.get("wait", {}), "wait")
    return Book(
        **chosen,
        rules=tuple(_rule(rule, f"rules[{index}]") for index, rule in rules),
        wait={method: _wait(value, f"wait.{method!r}") for method, value in wait.items()},
    )


def _rule(rule: Mapping[str, Any], place: str) -> Rule:
    _only(rule, _RULE_KEYS, place)
    deed, form, text = _deed(rule, place)
    times = rule.get("times")
    if times is not None and (not isinstance(times, int) or isinstance(times, bool) or times < 1):
        raise BookError(f"{place}.times", "count")
    contains = _table(rule.get("contains", {}), f"{place}.contains")
    method = _text(rule.get("method", ""), f"{place}.method")
    tool = _text(rule.get("tool", ""), f"{place}.tool")
    return Rule(
        text=text,
        form=form,
        method=method or ("tools/call" if tool else ""),
        tool=tool,
        where=_table(rule.get("where", {}), f"{place}.where"),
        contains={key: _text(part, f"{place}.contains.{key}") for key, part in contains.items()},
        after=_seconds(rule.get("after", 0), f"{place}.after"),
        times=times,
        deed=deed,
    )


def _deed(rule: Mapping[str, Any], place: str) -> tuple[RuleAction, TextForm, str]:
    """Read what a rule does, and the answer if it gives one."""
    answers = [name for name in (*_ANSWERS, "do") if name in rule]
    if len(answers) != 1:
        raise BookError(place, "answers", known=", ".join((*_ANSWERS, "do")))
    (answer,) = answers
    value = rule[answer]
    if answer == "do":
        if value not in (RuleAction.HOLD.value, RuleAction.FORWARD.value):
            raise BookError(f"{place}.do", "deed")
        return RuleAction(value), TextForm.RESULT, ""
    form = _ANSWERS[answer]
    if form in (TextForm.TEXT, TextForm.TOOL_ERROR):
        return RuleAction.ANSWER, form, _text(value, f"{place}.{answer}")
    return RuleAction.ANSWER, form, _json(_table(value, f"{place}.{answer}"), f"{place}.{answer}")


def _json(value: Any, place: str) -> str:  # noqa: ANN401 - TOML's types
    """Write what goes on the wire. TOML knows dates, nan and inf; JSON does not."""
    try:
        return json.dumps(value, ensure_ascii=False, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise BookError(place, "json") from error


def _only(table: Mapping[str, Any], allowed: frozenset[str], place: str) -> None:
    unknown = sorted(set(table) - allowed)
    if unknown:
        raise BookError(place, "key", key=unknown[0], known=", ".join(sorted(allowed)))


def _table(value: Any, place: str) -> Mapping[str, Any]:  # noqa: ANN401 - TOML's types
    if not isinstance(value, dict):
        raise BookError(place, "table")
    return value


def _tables(value: Any, place: str) -> list[Mapping[str, Any]]:  # noqa: ANN401 - TOML's types
    if not isinstance(value, list) or not all(isinstance(one, dict) for one in value):
        raise BookError(place, "tables")
    return value


def _text(value: Any, place: str) -> str:  # noqa: ANN401 - TOML's types
    if not isinstance(value, str):
        raise BookError(place, "text")
    return value


def _flag(value: Any, place: str) -> bool:  # noqa: ANN401 - TOML's types
    if not isinstance(value, bool):
        raise BookError(place, "flag")
    return value


def _seconds(value: Any, place: str) -> float:  # noqa: ANN401 - TOML's types
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if not is_number or not math.isfinite(value) or value < 0:
        raise BookError(place, "seconds")
    return float(value)


def _wait(value: Any, place: str) -> float | None:  # noqa: ANN401 - TOML's types
    return None if value is False else _seconds(value, place)


def _revisions(value: Any) -> tuple[str, ...]:  # noqa: ANN401 - TOML's types
    if not isinstance(value, list) or not value or any(one not in versions.ALL for one in value):
        raise BookError("server.revisions", "revisions", known=", ".join(versions.ALL))
    return tuple(one for one in versions.ALL if one in value)
