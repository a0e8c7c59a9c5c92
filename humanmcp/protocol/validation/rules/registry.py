"""The registry of rules: requirements that the table of objects cannot express.

A rule is one function with `@rule(…)`: it gets an answer and yields its problems. Envelopes,
received messages and outgoing messages have separate sets of rules, each in the module that uses
it. An answer can have any structure, so every rule checks the types of what it reads. Each rule can
be called alone, so that its tests do not depend on other rules.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Final, Generic, NamedTuple, TypeAlias, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from humanmcp.protocol.conversation.exchange import Exchange, NegotiatedState
    from humanmcp.protocol.diagnostics.problem import Path, RawDiagnostic
    from humanmcp.protocol.json.jsonrpc import Json, JsonObject

Judged = TypeVar("Judged")
RuleFor: TypeAlias = "Callable[[Judged], Iterable[RawDiagnostic]]"


class JudgedAnswer(NamedTuple):
    """A result or error of an exchange, the negotiated state, and its place in the message."""

    exchange: Exchange
    value: JsonObject
    negotiated: NegotiatedState
    path: Path = ("result",)

    @property
    def asks_back(self) -> bool:
        """True if it is `input_required` instead of a result."""
        return "resultType" in self.value and bool(self.value["resultType"] == "input_required")

    def at(self, *steps: str | int) -> Path:
        return (*self.path, *steps)


class RuleSet(Generic[Judged]):
    """The rules for one kind of message, in the order of their registration."""

    def __init__(self) -> None:
        self._every: list[RuleFor[Judged]] = []
        self._own: defaultdict[str, list[RuleFor[Judged]]] = defaultdict(list)

    def __call__(self, *methods: str) -> Callable[[RuleFor[Judged]], RuleFor[Judged]]:
        """Register a rule for these methods; without any, for every method."""

        def register(function: RuleFor[Judged]) -> RuleFor[Judged]:
            for rules in map(self._own.__getitem__, methods) if methods else (self._every,):
                rules.append(function)
            return function

        return register

    def of(self, method: str) -> tuple[RuleFor[Judged], ...]:
        """Return the rules for a method: those for all methods first."""
        return (*self._every, *self._own.get(method, ()))

    def judge(self, method: str, judged: Judged) -> list[RawDiagnostic]:
        """Return the problems that the rules for a method report."""
        found: list[RawDiagnostic] = []
        for each in self.of(method):
            found += each(judged)
        return found

    def first(self, method: str, judged: Judged) -> list[RawDiagnostic]:
        """Return the problems of the first rule that reports any: the others no longer matter."""
        found = (list(each(judged)) for each in self.of(method))
        return next(filter(None, found), [])


Rule: TypeAlias = "RuleFor[JudgedAnswer]"

_FOR_RESULTS: Final[RuleSet[JudgedAnswer]] = RuleSet()
_FOR_ERRORS: Final[RuleSet[JudgedAnswer]] = RuleSet()


def rule(*methods: str, errors: bool = False) -> Callable[[Rule], Rule]:
    """Register a rule for the results of these methods; without any, of every method.

    With `errors`, it is for errors instead of results.
    """
    return (_FOR_ERRORS if errors else _FOR_RESULTS)(*methods)


def judge(answer: JudgedAnswer) -> list[RawDiagnostic]:
    """Return the problems that the rules for results of its method report."""
    return _FOR_RESULTS.judge(answer.exchange.method, answer)


def judge_error(
    exchange: Exchange, error: Json, negotiated: NegotiatedState
) -> list[RawDiagnostic]:
    """Return the problems that the rules for errors report; those of its shape are not."""
    answer = JudgedAnswer(exchange, error, negotiated, ("error",))
    return _FOR_ERRORS.judge(exchange.method, answer) if isinstance(error, dict) else []
