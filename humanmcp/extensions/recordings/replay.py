"""Replay recorded answers: find the recorded answer to a received request.

The answer is found by method and parameters, by the order of the recording, or by similar
parameters, with a hint. Other requests are left to a person, refused, or forwarded to the real
server.
"""

from __future__ import annotations

import enum
import json
import re
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, NamedTuple

from humanmcp.protocol.answer_book.decision import Decision
from humanmcp.protocol.answer_book.recorded import BY_NOTHING, Recorded, comparison_key
from humanmcp.protocol.diagnostics.model import TextForm
from humanmcp.protocol.json.visible import one_line
from humanmcp.protocol.tables import methods
from humanmcp.protocol.tables.versions import features

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from humanmcp.protocol.conversation.exchange import Exchange

# -- the same line for another request -----------------------------------------------------------


def renewed(raw: bytes, tokens: Mapping[str, tuple[str, str]]) -> bytes:
    """Return a recorded line with the ids of the current request.

    `tokens` has the old and the new token for each member (`id`, `progressToken`, …), as written. A
    wrong id of the recording (`"7"` for 7, `7.0`) stays.
    """
    text = raw.decode("utf-8", "surrogateescape")
    for name, (was, becomes) in tokens.items():
        bare, new = was.strip('"'), becomes.strip('"')
        pattern = rf'("{re.escape(name)}"\s*:\s*)("?){re.escape(bare)}(\.0+)?(")?(?![\w.])'
        text = re.sub(pattern, partial(_spelt, new), text)
    return text.encode("utf-8", "surrogateescape")


def _spelt(new: str, found: re.Match[str]) -> str:
    before, opening, decimals, closing = found[1], found[2], found[3] or "", found[4] or ""
    number = re.fullmatch(r"-?\d+", new) is not None
    if not number and not opening:
        opening = closing = '"'
    return f"{before}{opening}{new}{decimals if number else ''}{closing}"


ALIKE: Final = 0.6
"""The minimum likeness of the parameters, from 0 to 1, for `SIMILAR`."""

NOT_RECORDED: Final = -32602
"""The error code for a request that was not recorded; exported servers use the same."""

_COMPARED: Final = 4000
"""The number of characters of the parameters that are compared for likeness."""


class Match(enum.Enum):
    """How a recorded answer is found. Each way includes the previous ones."""

    EXACT = "exact"
    """The same method and parameters; repeated requests get the recorded answers in turn."""
    ORDER = "order"
    """Else the next recorded answer for this method and tool, prompt or address."""
    SIMILAR = "similar"
    """Else the answer whose parameters are most similar, if they are similar enough."""


class Otherwise(enum.Enum):
    """What happens to a request that was not recorded."""

    HAND = "hand"
    """A person or the answer book answers it."""
    ERROR = "error"
    """It is refused, unless the book answers it at once."""
    FORWARD = "forward"
    """The real server gets it, unless an entry of the book matches. Else a person answers it."""
    FORWARD_OR_ERROR = "forward-or-error"
    """The same. What the real server does not answer is refused, with the reason."""

    @property
    def forwards(self) -> bool:
        return self in {Otherwise.FORWARD, Otherwise.FORWARD_OR_ERROR}


@dataclass(frozen=True, slots=True)
class UnrecordedRequest:
    """A request that was not recorded, by its number in the session."""

    number: int
    method: str
    name: str

    @property
    def words(self) -> str:
        return one_line(f"{self.number} {self.method} {self.name}".rstrip(), _SHOWN)


_SHOWN: Final = 120
"""The maximum length of a request in the list of unrecorded ones, in characters."""


class Replayed(NamedTuple):
    """The frame number of the recorded answer that a decision gives, right or wrong."""

    seq: int


def replayed(decision: Decision) -> int | None:
    """Return the frame number of the recorded answer; None if the answer is not recorded."""
    return decision.own.seq if isinstance(decision.own, Replayed) else None


@dataclass(frozen=True, slots=True)
class FoundAnswer:
    """A recorded answer to a request. `hint` says how it was found, "" for an exact match."""

    recorded: Recorded
    hint: str = ""

    @property
    def by(self) -> str:
        """The author of the answer in the transcript."""
        return f"replay: {self.recorded.seq}" + (f" ({self.hint})" if self.hint else "")

    def decision(self, *, after: float = 0.0, fault: str = "") -> Decision:
        """Return the answer as a decision of the answer book: as recorded, or with a fault."""
        recorded = self.recorded
        if fault and recorded.text is not None:
            by = f"{self.by} ({fault})"
            return Decision(after, recorded.text, recorded.form, by, fault=fault)
        text = recorded.text or ""
        return Decision(after, text, recorded.form, self.by, own=Replayed(recorded.seq))


_HANDSHAKE_ONLY: Final = Recorded(
    seq=0,
    method="server/discover",
    name="",
    params="{}",
    text='{"code":-32601,"message":"Method not found"}',
    form=TextForm.ERROR,
    modern=True,
)
"""The error that makes a client start a handshake, if the recording has one."""


class Replay:
    """The recorded answers of one session, and which of them were used."""

    def __init__(
        self,
        answers: Iterable[Recorded],
        match: Match = Match.EXACT,
        otherwise: Otherwise = Otherwise.HAND,
        *,
        paced: bool = False,
        faults: Mapping[int, str] = MappingProxyType({}),
    ) -> None:
        """Begin with none used.

        With `paced`, each answer takes as long as then. `faults` are those of the recorded answers
        to calls of tools, by the number of the call in its session, from 1.
        """
        self.otherwise = otherwise
        self.paced = paced
        self.faults = faults
        self.misses: list[UnrecordedRequest] = []
        self.forwarded = 0
        """The number of requests that the real server has answered."""
        self._left: dict[int, str] = {}
        """Why the real server did not answer a request, by the number of the request."""
        self._all = tuple(answers)
        self._answers = tuple(recorded for recorded in self._all if recorded.answered)
        self._match = match
        self._modern = any(recorded.modern for recorded in self._answers)
        self._given: set[int] = set()

    def __len__(self) -> int:
        return len(self._answers)

    def find(self, exchange: Exchange) -> FoundAnswer | None:
        """Find the answer to a request, without marking it as used; None if there is none."""
        modern = features(exchange.version).stateless
        fitting = [
            recorded
            for recorded in self._answers
            if recorded.modern == modern and recorded.is_for(exchange)
        ]
        if not fitting and exchange.method == "server/discover" and not self._modern:
            return FoundAnswer(_HANDSHAKE_ONLY)
        params = exchange.request.params
        # each client sends its own name and capabilities here: any recorded answer fits
        introduces = methods.of(exchange.method).introduces
        exact = [recorded for recorded in fitting if introduces or recorded.has_params(params)]
        if exact:
            return FoundAnswer(self._next(exact) or exact[-1])
        if self._match is not Match.EXACT and (following := self._next(fitting)):
            return FoundAnswer(following, "in order")
        if self._match is Match.SIMILAR and fitting:
            wanted = comparison_key(params)
            score, best = max(
                ((_alike(recorded.params, wanted), recorded) for recorded in fitting),
                key=lambda pair: pair[0],
            )
            return FoundAnswer(best, "similar") if score >= ALIKE else None
        return None

    @property
    def unused(self) -> list[str]:
        """Return the method and name of each recorded request that was not sent, in order."""
        return [
            one_line(f"{recorded.method} {recorded.name}".rstrip(), _SHOWN)
            for recorded in self._answers
            if recorded.id and recorded.seq not in self._given
            if not methods.of(recorded.method).introduces
        ]

    def around(self, seq: int) -> Recorded | None:
        """Return the record of an answer, with the messages before and after it."""
        return next((recorded for recorded in self._all if recorded.seq == seq), None)

    def find_unanswered(self, exchange: Exchange) -> Recorded | None:
        """Find the messages that a request got which was never answered, each in turn."""
        return self._take(
            recorded
            for recorded in self._all
            if recorded.id
            and not recorded.answered
            and recorded.is_for(exchange)
            and recorded.has_params(exchange.request.params)
        )

    def reaction(self, method: str) -> Recorded | None:
        """Find the messages that followed a client's notification, each in turn."""
        return self._take(
            recorded for recorded in self._all if not recorded.id and recorded.method == method
        )

    def instead(self, exchange: Exchange, decision: Decision) -> Decision:
        """Return what happens to an unrecorded request; `decision` is the answer book's."""
        why = self._left.get(exchange.number)
        if self.otherwise.forwards and why is None:
            is_ours = decision.entry is not None or exchange.method == "ping"
            return decision if is_ours else Decision(own=Otherwise.FORWARD)
        is_ours = self.otherwise is not Otherwise.FORWARD_OR_ERROR and decision.due(0)
        if not self.refuses or is_ours:
            return decision
        message = f"no answer was recorded for {exchange.method} {exchange.name}".rstrip()
        message += f"; the real server did not answer: {why}" if why else ""
        error = {"code": NOT_RECORDED, "message": message}
        return Decision(0.0, json.dumps(error), TextForm.ERROR, BY_NOTHING)

    @property
    def refuses(self) -> bool:
        """Return True if nobody waits for a person: what nothing else answers is refused."""
        return self.otherwise in {Otherwise.ERROR, Otherwise.FORWARD_OR_ERROR}

    def leave(self, exchange: Exchange, why: str) -> None:
        """Leave a request to the person, or refuse it: the real server will not answer it."""
        self._left[exchange.number] = why
        self.miss(exchange)

    def miss(self, exchange: Exchange) -> None:
        """Count a request that was not recorded; a `ping` is never recorded."""
        if exchange.method != "ping":
            self.misses.append(UnrecordedRequest(exchange.number, exchange.method, exchange.name))

    def given(self, seq: int) -> None:
        """Mark the answer of this frame as used."""
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
