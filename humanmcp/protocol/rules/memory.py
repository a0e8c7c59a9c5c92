"""What the rules of an answer book have done in a session, and what they keep of it.

A record is what is known of one thing, under a key that rules name: a task by its id, a user by
their name; under "" of the session itself. Pure: the clock and the secret come in.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from humanmcp.protocol.conversation.exchange import Exchange
    from humanmcp.protocol.rules.answer_book import Decision
    from humanmcp.protocol.rules.rule import Rule

MOST_RECORDS: Final = 10_000
"""Records that are kept; the oldest one makes room."""

GIVEN: Final = frozenset({"kept", "records", "new", "now"})
"""The values that a rule has besides those of its request, where it keeps anything."""


class BookMemory:
    """What one session has done with its book. It begins anew when the rules are others."""

    def __init__(
        self,
        secret: bytes = b"",
        now: Callable[[], str] = str,
        used: Mapping[int, int] | None = None,
    ) -> None:
        """Begin with nothing. `secret` signs what a client brings back, and is unguessable."""
        self.secret = secret
        self.used = dict(used or {})
        """How often each rule has been followed, by its index."""
        self.records: dict[str, dict[str, Any]] = {}
        self._now = now

    def clear(self) -> None:
        """Forget what was done and kept. What was signed stays good."""
        self.used.clear()
        self.records.clear()

    def count(self, decision: Decision) -> None:
        """Count a rule as followed once more."""
        if decision.rule is not None and decision.counts:
            self.used[decision.rule] = self.used.get(decision.rule, 0) + 1

    def keep(self, decision: Decision) -> None:
        """Keep what a rule says that is known from its answer on."""
        if decision.keep:
            self.records.setdefault(decision.key, {}).update(decision.keep)
            if len(self.records) > MOST_RECORDS:
                del self.records[next(iter(self.records))]

    def values(self, rule: Rule, exchange: Exchange) -> Mapping[str, Any]:
        """Return what fills the placeholders of a rule: its request's values come first."""
        asked = rule.values(exchange)
        if not rule.remembers:
            return asked
        return {
            "kept": self.records.get(rule.key_for(exchange), {}),
            "records": [*self.records.values()],
            "new": self._new(exchange),
            "now": self._now(),
            **asked,
        }

    def _new(self, exchange: Exchange) -> str:
        """Return a key that no other request of the session has, and that cannot be guessed."""
        import hmac  # noqa: PLC0415 - only rules that keep something pay for it

        return hmac.new(self.secret, str(exchange.number).encode(), "sha256").hexdigest()[:24]
