"""Answers as they were recorded: which recorded answer fits a request that arrives now.

By method and parameters, each recorded answer in its turn; in the order of the recording; or by
likeness, with a hint that says so. What fits nothing is left to a person, refused, or asked of the
real server.
"""

from __future__ import annotations

import enum
import json
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import TYPE_CHECKING, Final

from humanmcp.protocol.conversation.state import name_of
from humanmcp.protocol.diagnostics.verdict import TextForm
from humanmcp.protocol.json.escaping import one_line
from humanmcp.protocol.rules.answer_book import Decision
from humanmcp.protocol.rules.recording import Recorded, comparison_key
from humanmcp.protocol.spec import methods
from humanmcp.protocol.spec.versions import features

if TYPE_CHECKING:
    from collections.abc import Iterable

    from humanmcp.protocol.conversation.exchange import Exchange

ALIKE: Final = 0.6
"""How alike the parameters must be, from 0 to 1, for an answer to be taken by likeness."""

NOT_RECORDED: Final = -32602
"""The code of the error that such a request gets; exported servers answer with the same."""

_COMPARED: Final = 4000
"""Characters of the parameters that are compared for likeness."""


class Match(enum.Enum):
    """How a recorded answer is found. Each way includes the ones before it."""

    EXACT = "exact"
    """The same method and the same parameters; the first time the first answer, and so on."""
    ORDER = "order"
    """Else the next one that was recorded for this method and this tool, prompt or address."""
    SIMILAR = "similar"
    """Else the one whose parameters are most alike, if they are alike enough."""


class Otherwise(enum.Enum):
    """What becomes of a request that fits nothing recorded."""

    HAND = "hand"
    """It is a person's, or the answer book's."""
    ERROR = "error"
    """It is refused, unless the book answers it at once."""
    FORWARD = "forward"
    """It is asked of the real server, unless a rule of the book is meant for it."""


@dataclass(frozen=True, slots=True)
class UnrecordedRequest:
    """A request that fitted nothing recorded, by its number in the session."""

    number: int
    method: str
    name: str

    @property
    def words(self) -> str:
        """What was asked, in a line."""
        return one_line(f"{self.number} {self.method} {self.name}".rstrip(), _SHOWN)


_SHOWN: Final = 120
"""Characters of a request in the list of what was missing."""


@dataclass(frozen=True, slots=True)
class FoundAnswer:
    """A recorded answer that fits. `hint` says how it was found, "" when it fits exactly."""

    recorded: Recorded
    hint: str = ""

    @property
    def by(self) -> str:
        """Say in the transcript who answered."""
        return f"replay: {self.recorded.seq}" + (f" ({self.hint})" if self.hint else "")

    @property
    def decision(self) -> Decision:
        """The same as what the answer book would decide: at once, and as recorded."""
        recorded = self.recorded
        return Decision(0.0, recorded.text or "", recorded.form, self.by, replayed=recorded.seq)


_HANDSHAKE_ONLY: Final = Recorded(
    seq=0,
    method="server/discover",
    name="",
    params="{}",
    text='{"code":-32601,"message":"Method not found"}',
    form=TextForm.ERROR,
    modern=True,
)
"""What makes a client speak as it did when a handshake session was recorded."""


class Replay:
    """The recorded answers of one session, and which of them have been given."""

    def __init__(
        self,
        answers: Iterable[Recorded],
        match: Match = Match.EXACT,
        otherwise: Otherwise = Otherwise.HAND,
    ) -> None:
        self.otherwise = otherwise
        self.misses: list[UnrecordedRequest] = []
        self.forwarded = 0
        """Requests that the real server has answered."""
        self._left: set[int] = set()
        self._all = tuple(answers)
        self._answers = tuple(recorded for recorded in self._all if recorded.answered)
        self._match = match
        self._modern = any(recorded.modern for recorded in self._answers)
        self._given: set[int] = set()

    def __len__(self) -> int:
        return len(self._answers)

    def find(self, exchange: Exchange) -> FoundAnswer | None:
        """Find the answer to a request, without counting it as given; None when none fits."""
        modern = features(exchange.revision).stateless
        asked = (exchange.method, name_of(exchange.request), modern)
        fitting = [
            recorded
            for recorded in self._answers
            if (recorded.method, recorded.name, recorded.modern) == asked
        ]
        if not fitting and exchange.method == "server/discover" and not self._modern:
            return FoundAnswer(_HANDSHAKE_ONLY)
        wanted = comparison_key(exchange.request.params)
        # each client asks these with its own name and abilities: any recorded answer fits
        introduces = methods.of(exchange.method).introduces
        exact = [recorded for recorded in fitting if introduces or recorded.params == wanted]
        if exact:
            return FoundAnswer(self._next(exact) or exact[-1])
        if self._match is not Match.EXACT and (following := self._next(fitting)):
            return FoundAnswer(following, "in order")
        if self._match is Match.SIMILAR and fitting:
            score, best = max(
                ((_alike(recorded.params, wanted), recorded) for recorded in fitting),
                key=lambda pair: pair[0],
            )
            return FoundAnswer(best, "similar") if score >= ALIKE else None
        return None

    def around(self, seq: int) -> Recorded | None:
        """Return the whole of a recorded answer: what was said before and after it."""
        return next((recorded for recorded in self._all if recorded.seq == seq), None)

    def unanswered(self, exchange: Exchange) -> Recorded | None:
        """Find what was said about a request that was never answered, each time in its turn."""
        wanted = (
            exchange.method,
            name_of(exchange.request),
            comparison_key(exchange.request.params),
        )
        return self._take(
            recorded
            for recorded in self._all
            if recorded.id
            and not recorded.answered
            and (recorded.method, recorded.name, recorded.params) == wanted
        )

    def reaction(self, method: str) -> Recorded | None:
        """Find what was said after a notification of the client's, each time in its turn."""
        return self._take(
            recorded for recorded in self._all if not recorded.id and recorded.method == method
        )

    def instead(self, exchange: Exchange, decision: Decision) -> Decision:
        """Say what becomes of a request that was not recorded; `decision` is the answer book's."""
        if self.otherwise is Otherwise.FORWARD:
            return decision if self._is_ours(exchange, decision) else Decision(forward=True)
        if self.otherwise is not Otherwise.ERROR or decision.due(0):
            return decision
        asked = f"{exchange.method} {name_of(exchange.request)}".strip()
        error = {"code": NOT_RECORDED, "message": f"no answer was recorded for {asked}"}
        return Decision(0.0, json.dumps(error), TextForm.ERROR, "replay: not recorded")

    def _is_ours(self, exchange: Exchange, decision: Decision) -> bool:
        """Return True if a request is not for the real server: it left it, or a rule is for it."""
        left = exchange.number in self._left
        return left or decision.rule is not None or exchange.method == "ping"

    def leave(self, exchange: Exchange) -> None:
        """Leave a request to the person: the real server does not answer it."""
        self._left.add(exchange.number)
        self.miss(exchange)

    def miss(self, exchange: Exchange) -> None:
        """Remember a request that fitted nothing; a `ping` asks for nothing that is recorded."""
        if exchange.method != "ping":
            self.misses.append(
                UnrecordedRequest(exchange.number, exchange.method, name_of(exchange.request))
            )

    def given(self, seq: int) -> None:
        """Count the answer of this frame as given: its turn is over."""
        self._given.add(seq)

    def _next(self, answers: list[Recorded]) -> Recorded | None:
        return next((recorded for recorded in answers if recorded.seq not in self._given), None)

    def _take(self, answers: Iterable[Recorded]) -> Recorded | None:
        found = self._next(list(answers))
        if found is not None:
            self.given(found.seq)
        return found


def _alike(left: str, right: str) -> float:
    return SequenceMatcher(None, left[:_COMPARED], right[:_COMPARED], autojunk=False).ratio()
