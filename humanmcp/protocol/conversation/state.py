"""Which answer belongs to which request, heard from between the two parties.

An id alone does not tell: both sides count their own, an id comes again once it was answered, and
in 2026-07-28 a question back to the user ends the request, which then comes again with a new id.
What stays ambiguous is said to be so; nothing is guessed silently.

Pure: `ConversationState.observe` takes one message after the other and keeps no more than what is
open.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeAlias

from humanmcp.protocol.conversation import negotiation
from humanmcp.protocol.conversation.exchange import Exchange, Known
from humanmcp.protocol.conversation.progress import Progress
from humanmcp.protocol.conversation.transcript import Direction
from humanmcp.protocol.json.jsonrpc import JsonObject, Kind, Message, RequestId

if TYPE_CHECKING:
    from collections.abc import Mapping

    from humanmcp.protocol.diagnostics.raw import RawDiagnostic

_Key: TypeAlias = tuple[Direction, tuple[str, str | int | float]]
_Question: TypeAlias = tuple[str, str, frozenset[str]]

MOST_OPEN: Final = 4096
"""Requests and questions that are remembered; of more than that the oldest is forgotten."""

_BACK: Final[Mapping[Direction, Direction]] = {
    Direction.IN: Direction.OUT,
    Direction.OUT: Direction.IN,
}


@dataclass(frozen=True, slots=True)
class ObservedRequest:
    """A request as it was heard. `number` counts the requests of both sides, from 1.

    `way` is where it came from: IN from the client, OUT from the server. `continues` is the number
    of the request whose question back to the user this one answers (2026-07-28), 0 for none.
    """

    number: int
    way: Direction
    request: Message
    revision: str
    continues: int = 0

    @property
    def method(self) -> str:
        """What was asked for."""
        return self.request.method

    @property
    def name(self) -> str:
        """The tool, the prompt or the address that was asked for; "" where there is none."""
        return name_of(self.request)

    @property
    def exchange(self) -> Exchange:
        """The same as the check wants it."""
        return Exchange(self.number, self.request, self.revision)


@dataclass(frozen=True, slots=True)
class ObservedMessage:
    """What a message is about.

    `asked` is the request itself, the one that is answered, or the one that is cancelled; None
    where there is none. `ambiguous` says that several open requests had the answer's id. `found` is
    what only who has heard the rest can find wrong with it.
    """

    way: Direction
    message: Message
    asked: ObservedRequest | None
    ambiguous: bool = False
    found: tuple[RawDiagnostic, ...] = ()

    @property
    def method(self) -> str:
        """The message's own method, or that of the request it answers."""
        return self.message.method or (self.asked.method if self.asked else "")

    @property
    def name(self) -> str:
        """The tool, prompt or address it is about; "" for none."""
        return self.asked.name if self.asked else name_of(self.message)


def name_of(message: Message) -> str:
    """Return the tool, the prompt or the address that a request asks for; "" for none."""
    for key in ("name", "uri"):
        name = message.params.get(key)
        if isinstance(name, str):
            return name
    return ""


class ConversationState:
    """What an ear between client and server knows of the conversation so far."""

    def __init__(self) -> None:
        """Start with nothing known."""
        self.known = Known()
        self.negotiated = ""
        self.count = 0
        self._stated = ""
        self._open: OrderedDict[int, ObservedRequest] = OrderedDict()
        self._by_id: dict[_Key, list[int]] = {}
        self._states: OrderedDict[str, int] = OrderedDict()
        self._questions: OrderedDict[int, _Question] = OrderedDict()
        self._progress = {Direction.IN: Progress(), Direction.OUT: Progress()}  # of whose requests

    @property
    def revision(self) -> str:
        """The revision that is spoken: stated last, else negotiated, "" before either."""
        return self._stated or self.negotiated

    @property
    def open(self) -> tuple[ObservedRequest, ...]:
        """The requests that have no answer yet, oldest first."""
        return tuple(self._open.values())

    def observe(self, way: Direction, message: Message) -> ObservedMessage:
        """Take one message that came from this side and say what it is about."""
        match message.kind:
            case Kind.REQUEST:
                return ObservedMessage(way, message, self._observe_request(way, message))
            case Kind.NOTIFICATION:
                asked = self._observe_notice(way, message)
                return ObservedMessage(
                    way, message, asked, found=self._progress[_BACK[way]].hear(message)
                )
            case Kind.RESULT | Kind.ERROR:
                return self._observe_answer(way, message)

    def copy(self) -> ConversationState:
        """Return another one that knows the same, and goes its own way from here."""
        other = ConversationState()
        other.known, other.negotiated, other.count = self.known, self.negotiated, self.count
        other._stated = self._stated
        other._open = self._open.copy()
        other._by_id = {key: list(numbers) for key, numbers in self._by_id.items()}
        other._states, other._questions = self._states.copy(), self._questions.copy()
        other._progress = {way: progress.copy() for way, progress in self._progress.items()}
        return other

    def forget(self, asked: ObservedRequest) -> None:
        """Count a request as no longer open: no answer will pass here."""
        if asked.number in self._open:
            self._forget(asked)

    # -- requests ------------------------------------------------------------------------------

    def _observe_request(self, way: Direction, message: Message) -> ObservedRequest:
        revision = negotiation.revision_of(message, self.negotiated)
        if way is Direction.IN:
            self._stated = negotiation.stated_after(self._stated, message, revision)
            self.known = negotiation.after_request(self.known, message, revision)
        self.count += 1
        asked = ObservedRequest(self.count, way, message, revision, self._continued_by(message))
        self._open[asked.number] = asked
        if message.id is not None:
            self._by_id.setdefault((way, message.id.key), []).append(asked.number)
        self._progress[way].asked(message)
        if len(self._open) > MOST_OPEN:
            self._forget(next(iter(self._open.values())))
        return asked

    def _continued_by(self, message: Message) -> int:
        """Find the request that this one repeats with what the user said.

        2026-07-28: the repeat carries the `requestState` it was given, and answers under the keys
        it was asked with. Without a state method, name and keys must tell, and tell for certain.
        """
        state = message.params.get("requestState")
        if isinstance(state, str) and state:
            return self._states.pop(state, 0)
        responses = message.params.get("inputResponses")
        if not isinstance(responses, dict):
            return 0
        wanted = (message.method, name_of(message), frozenset(responses))
        alike = [number for number, question in self._questions.items() if question == wanted]
        if len(alike) != 1:
            return 0
        del self._questions[alike[0]]
        return alike[0]

    def _forget(self, asked: ObservedRequest) -> None:
        del self._open[asked.number]
        if asked.request.id is None:
            return
        key = (asked.way, asked.request.id.key)
        self._by_id[key].remove(asked.number)
        if not self._by_id[key]:
            del self._by_id[key]

    # -- notifications and answers -------------------------------------------------------------

    def _observe_notice(self, way: Direction, message: Message) -> ObservedRequest | None:
        if message.method == "notifications/initialized":
            self.known = self.known._replace(initialized=True)
        if message.method != "notifications/cancelled":
            return None
        wanted = message.params.get("requestId")
        if isinstance(wanted, bool) or not isinstance(wanted, (str, int, float)):
            return None
        numbers = self._by_id.get((way, RequestId("", wanted).key), [])
        asked = self._open[numbers[-1]] if numbers else None
        # "The `initialize` request MUST NOT be cancelled by clients"
        if asked is None or asked.method == "initialize":
            return None
        self._forget(asked)
        return asked

    def _observe_answer(self, way: Direction, message: Message) -> ObservedMessage:
        if message.id is None:
            return ObservedMessage(way, message, None)
        numbers = self._by_id.get((_BACK[way], message.id.key), [])
        if not numbers:
            return ObservedMessage(way, message, None)
        asked = self._open[numbers[0]]
        heard = ObservedMessage(way, message, asked, ambiguous=len(numbers) > 1)
        self._forget(asked)
        # Not when it is cancelled: what was on its way by then is nobody's mistake.
        self._progress[asked.way].over(asked.request)
        result = message.body.get("result")
        if message.kind is Kind.RESULT and way is Direction.OUT and isinstance(result, dict):
            self._learn(asked, result)
        return heard

    def _learn(self, asked: ObservedRequest, result: JsonObject) -> None:
        if asked.method == "initialize":
            self.negotiated = str(result.get("protocolVersion", ""))
        self.known = negotiation.after_result(self.known, asked.request, result)
        if result.get("resultType") != "input_required":
            return
        state = negotiation.question_in(result)
        wanted = result.get("inputRequests")
        if state:
            self._states[state] = asked.number
        elif isinstance(wanted, dict):
            self._questions[asked.number] = (asked.method, asked.name, frozenset(wanted))
        for memory in (self._states, self._questions):
            if len(memory) > MOST_OPEN:
                memory.popitem(last=False)
