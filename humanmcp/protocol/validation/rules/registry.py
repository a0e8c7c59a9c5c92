"""Rules: what the specification asks of a text that no shape can say.

A rule is one function with `@rule(…)`: it gets an answer, and reports what is wrong with it. The
rules of envelopes, of what comes in and of what goes out first are sets of their own, each beside
what asks them. Texts come in any shape, right or wrong, so every rule looks before it steps. Each
can be called alone, so that no rule breaks the tests of another.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Generic, NamedTuple, TypeAlias, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from humanmcp.protocol.conversation.exchange import Exchange, NegotiatedState
    from humanmcp.protocol.diagnostics.locate import Path, RawDiagnostic
    from humanmcp.protocol.json.jsonrpc import JsonObject

Judged = TypeVar("Judged")
RuleFor: TypeAlias = "Callable[[Judged], Iterable[RawDiagnostic]]"


class JudgedAnswer(NamedTuple):
    """A result (or the error) of an exchange, what is known of both sides, and where it stands."""

    exchange: Exchange
    value: JsonObject
    negotiated: NegotiatedState
    path: Path = ("result",)

    @property
    def asks_back(self) -> bool:
        """Return True if it is a question to the user in the place of a result."""
        return "resultType" in self.value and bool(self.value["resultType"] == "input_required")

    def at(self, *steps: str | int) -> Path:
        """Return the path of a part of it."""
        return (*self.path, *steps)


class RuleSet(Generic[Judged]):
    """The rules for one kind of text, in the order in which they were registered."""

    def __init__(self) -> None:
        self._rules: list[tuple[tuple[str, ...], RuleFor[Judged]]] = []

    def __call__(self, *methods: str) -> Callable[[RuleFor[Judged]], RuleFor[Judged]]:
        """Register a rule for these methods; for every method where none is named."""

        def register(function: RuleFor[Judged]) -> RuleFor[Judged]:
            self._rules.append((methods, function))
            return function

        return register

    def of(self, method: str) -> tuple[RuleFor[Judged], ...]:
        """Return the rules for a method: those for all methods first."""
        every = (rule for methods, rule in self._rules if not methods)
        own = (rule for methods, rule in self._rules if method in methods)
        return (*every, *own)

    def judge(self, method: str, judged: Judged) -> list[RawDiagnostic]:
        """Return what the rules for a method find."""
        found: list[RawDiagnostic] = []
        for each in self.of(method):
            found += each(judged)
        return found

    def first(self, method: str, judged: Judged) -> list[RawDiagnostic]:
        """Return what the first rule finds that finds anything: the others no longer matter."""
        found = (list(each(judged)) for each in self.of(method))
        return next(filter(None, found), [])


Rule: TypeAlias = "RuleFor[JudgedAnswer]"

_FOR_RESULTS: Final[RuleSet[JudgedAnswer]] = RuleSet()
_FOR_ERRORS: Final[RuleSet[JudgedAnswer]] = RuleSet()


def rule(*methods: str, errors: bool = False) -> Callable[[Rule], Rule]:
    """Register a rule for the results of these methods; of every method where none is named.

    `errors` registers it for errors in the place of results.
    """
    return (_FOR_ERRORS if errors else _FOR_RESULTS)(*methods)


def judge(answer: JudgedAnswer, *, errors: bool = False) -> list[RawDiagnostic]:
    """Return what the rules of its method find in an answer."""
    return (_FOR_ERRORS if errors else _FOR_RESULTS).judge(answer.exchange.method, answer)
