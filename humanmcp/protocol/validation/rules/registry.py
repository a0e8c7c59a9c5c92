"""The rules for answers: what MCP asks of a result or an error that no shape can say.

A rule is one function with `@rule(…)`: it gets an answer, and reports what is wrong with it.
Results come in any shape, right or wrong, so every rule looks before it steps. Each can be called
alone, so that no rule breaks the tests of another.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from humanmcp.protocol.conversation.exchange import Exchange, Known
    from humanmcp.protocol.diagnostics.raw import Path, RawDiagnostic
    from humanmcp.protocol.json.jsonrpc import JsonObject


class JudgedAnswer(NamedTuple):
    """A result (or the error) of an exchange, what is known of both sides, and where it stands."""

    exchange: Exchange
    value: JsonObject
    known: Known
    path: Path = ("result",)

    @property
    def asks_back(self) -> bool:
        """Return True if it is a question to the user in the place of a result."""
        return "resultType" in self.value and bool(self.value["resultType"] == "input_required")

    def at(self, *steps: str | int) -> Path:
        """Return the path of a part of it."""
        return (*self.path, *steps)


Rule: TypeAlias = "Callable[[JudgedAnswer], Iterable[RawDiagnostic]]"

_FOR_RESULTS: Final[dict[str, list[Rule]]] = {}
_FOR_ERRORS: Final[dict[str, list[Rule]]] = {}
_EVERY: Final = ""


def rule(*methods: str, errors: bool = False) -> Callable[[Rule], Rule]:
    """Register a rule for the results of these methods; of every method where none is named.

    `errors` registers it for errors in the place of results.
    """
    table = _FOR_ERRORS if errors else _FOR_RESULTS

    def register(function: Rule) -> Rule:
        for method in methods or (_EVERY,):
            table.setdefault(method, []).append(function)
        return function

    return register


def judge(answer: JudgedAnswer, *, errors: bool = False) -> list[RawDiagnostic]:
    """Return what the rules of its method find in an answer."""
    table = _FOR_ERRORS if errors else _FOR_RESULTS
    rules = (*table.get(_EVERY, ()), *table.get(answer.exchange.method, ()))
    return [found for each in rules for found in each(answer)]
