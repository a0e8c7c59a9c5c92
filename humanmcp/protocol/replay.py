"""Answers as they were recorded: which recorded answer fits a request that arrives now.

By method and parameters, each recorded answer in its turn; in the order of the recording; or by
likeness, with a hint that says so. What fits nothing is left to a person.
"""

from __future__ import annotations

import enum
import json
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import TYPE_CHECKING, Any, Final

from humanmcp.protocol import messages, revisions
from humanmcp.protocol.book import Decision
from humanmcp.protocol.correlate import Correlation, name_of
from humanmcp.protocol.messages import Kind, Message
from humanmcp.protocol.transcript import Way
from humanmcp.protocol.verdict import Form
from humanmcp.protocol.views import as_client

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from humanmcp.protocol.correlate import Asked
    from humanmcp.protocol.exchange import Exchange
    from humanmcp.protocol.transcript import Frame

ALIKE: Final = 0.6
"""How alike the parameters must be, from 0 to 1, for an answer to be taken by likeness."""

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


@dataclass(frozen=True, slots=True)
class Recorded:
    """A request of the client's and its answer. `seq` is the number of the answer's frame.

    `text` is what stands after `"result":` or `"error":`, as `form` says. `params` is what counts
    of the parameters when two requests are compared.
    """

    seq: int
    method: str
    name: str
    params: str
    text: str
    form: Form
    modern: bool


@dataclass(frozen=True, slots=True)
class Found:
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
        one = self.recorded
        return Decision(0.0, one.text, one.form, self.by, replayed=one.seq)


_OPENING: Final = frozenset({"initialize", "server/discover"})
"""What each client asks with its own name and abilities: any recorded answer fits."""

_HANDSHAKE_ONLY: Final = Recorded(
    seq=0,
    method="server/discover",
    name="",
    params="{}",
    text='{"code":-32601,"message":"Method not found"}',
    form=Form.ERROR,
    modern=True,
)
"""What makes a client speak as it did when a handshake session was recorded."""


def recorded(frames: Iterable[Frame]) -> tuple[Recorded, ...]:
    """Collect the client's requests that were answered, in the order of the answers."""
    correlation = Correlation()
    found: list[Recorded] = []
    for frame in as_client(frames):
        read = messages.read(frame.raw)
        items = read.items if isinstance(read, messages.Batch) else (read,)
        for message in items:
            if not isinstance(message, Message):
                continue
            heard = correlation.hear(frame.way, message)
            is_answer = message.kind in (Kind.RESULT, Kind.ERROR) and frame.way is Way.OUT
            if is_answer and heard.asked is not None:
                found.append(_recorded(frame.seq, heard.asked, message))
    return tuple(found)


def _recorded(seq: int, asked: Asked, answer: Message) -> Recorded:
    form = Form.RESULT if answer.kind is Kind.RESULT else Form.ERROR
    return Recorded(
        seq=seq,
        method=asked.method,
        name=asked.name,
        params=essence(asked.request.params),
        text=messages.member(answer.raw, form.value) or "{}",
        form=form,
        modern=asked.revision in revisions.MODERN,
    )


def essence(params: Mapping[str, Any]) -> str:
    """Write what counts of the parameters: not the `_meta`, and in an order of its own."""
    rest = {key: value for key, value in params.items() if key not in ("_meta", "requestState")}
    return json.dumps(rest, ensure_ascii=False, sort_keys=True, separators=(",", ":"))


class Replay:
    """The recorded answers of one session, and which of them have been given."""

    def __init__(self, answers: Iterable[Recorded], match: Match = Match.EXACT) -> None:
        """Begin with none given."""
        self._answers = tuple(answers)
        self._match = match
        self._modern = any(one.modern for one in self._answers)
        self._given: set[int] = set()

    def __len__(self) -> int:
        return len(self._answers)

    def find(self, exchange: Exchange) -> Found | None:
        """Find the answer to a request, without counting it as given; None when none fits."""
        modern = exchange.revision in revisions.MODERN
        asked = (exchange.method, name_of(exchange.request), modern)
        fitting = [one for one in self._answers if (one.method, one.name, one.modern) == asked]
        if not fitting and exchange.method == "server/discover" and not self._modern:
            return Found(_HANDSHAKE_ONLY)
        wanted = essence(exchange.request.params)
        opening = exchange.method in _OPENING
        exact = [one for one in fitting if opening or one.params == wanted]
        if exact:
            return Found(self._next(exact) or exact[-1])
        if self._match is not Match.EXACT and (following := self._next(fitting)):
            return Found(following, "in order")
        if self._match is Match.SIMILAR and fitting:
            score, best = max(
                ((_alike(one.params, wanted), one) for one in fitting), key=lambda pair: pair[0]
            )
            return Found(best, "similar") if score >= ALIKE else None
        return None

    def given(self, seq: int) -> None:
        """Count the answer of this frame as given: its turn is over."""
        self._given.add(seq)

    def _next(self, answers: list[Recorded]) -> Recorded | None:
        return next((one for one in answers if one.seq not in self._given), None)


def _alike(left: str, right: str) -> float:
    return SequenceMatcher(None, left[:_COMPARED], right[:_COMPARED], autojunk=False).ratio()
