"""How an answer book is written: the decoded TOML of its file becomes a `Book`.

Knows the keys and what each may hold; those of a rule stand in `rule_format.py`. What is wrong is
told as a code with its place; the sentences stand in `locales/`, table `[book]`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from humanmcp.protocol.rules.answer_book import ATTRIBUTES, Book
from humanmcp.protocol.rules.book_values import (
    BookError,
    flag,
    json_text,
    only,
    seconds,
    table,
    tables,
    text,
)
from humanmcp.protocol.rules.rule_format import read_rule
from humanmcp.protocol.spec import versions

if TYPE_CHECKING:
    from collections.abc import Mapping

SERVER_KEYS: Final = frozenset(
    {"name", "version", "title", "instructions", "revisions", "capabilities", "progress"}
)


def parse(written: Mapping[str, Any]) -> Book:
    """Read a decoded book.

    Raises:
        BookError: something in it has no meaning; the error names the place.
    """
    only(written, frozenset({"server", "rules", "wait", *ATTRIBUTES}), "the book")
    server = table(written.get("server", {}), "server")
    only(server, SERVER_KEYS, "server")
    chosen: dict[str, Any] = {
        name: text(server[name], f"server.{name}")
        for name in ("name", "version", "title", "instructions")
        if name in server
    }
    if "revisions" in server:
        chosen["revisions"] = _revisions(server["revisions"])
    if "capabilities" in server:
        chosen["capabilities"] = table(server["capabilities"], "server.capabilities")
        json_text(chosen["capabilities"], "server.capabilities")
    if "progress" in server:
        chosen["progress"] = flag(server["progress"], "server.progress")
    for key, attribute in ATTRIBUTES.items():
        if key in written:
            chosen[attribute] = tuple(tables(written[key], key))
            json_text(chosen[attribute], key)
    rules = enumerate(tables(written.get("rules", []), "rules"))
    wait = table(written.get("wait", {}), "wait")
    return Book(
        **chosen,
        rules=tuple(read_rule(rule, f"rules[{index}]") for index, rule in rules),
        wait={method: _wait(value, f"wait.{method!r}") for method, value in wait.items()},
    )


def _wait(value: Any, place: str) -> float | None:  # noqa: ANN401 - TOML's types
    return None if value is False else seconds(value, place)


def _revisions(value: Any) -> tuple[str, ...]:  # noqa: ANN401 - TOML's types
    if not isinstance(value, list) or not value or any(one not in versions.ALL for one in value):
        raise BookError("server.revisions", "revisions", known=", ".join(versions.ALL))
    return tuple(one for one in versions.ALL if one in value)
