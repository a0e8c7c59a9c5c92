"""A server asks for a turn of a model (`sampling/createMessage`): the host's own model takes it.

Only after the person said yes: MCP, sampling: "there SHOULD always be a human in the loop with the
ability to deny sampling requests".
"""

from __future__ import annotations

import json
import threading
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Protocol

from humanmcp.common.terminal import Painted, to_stderr, to_stdout
from humanmcp.host.client.respondents import REFUSAL
from humanmcp.host.conversation import StopReason, TextBlock, Turn, TurnRole
from humanmcp.host.offering import blocks_heard
from humanmcp.host.terminal.answering import show_sampling
from humanmcp.locales import say
from humanmcp.locales.stop import StopError
from humanmcp.protocol.diagnostics.verdict import TextForm
from humanmcp.protocol.json.tree import objects_at

if TYPE_CHECKING:
    from collections.abc import Sequence

    from humanmcp.host.client.callbacks import Judge, ServerRequestHandler
    from humanmcp.host.terminal.typing import Typist
    from humanmcp.locales.stop import Reason
    from humanmcp.protocol.conversation.exchange import Established, Exchange

ROOM: Final = "host"
METHOD: Final = "sampling/createMessage"
INTERNAL_ERROR: Final = -32603
_STOPS: Final = {StopReason.LENGTH: "maxTokens"}


class TakeTurn(Protocol):
    """Lets a model take one turn of at most so many tokens."""

    def __call__(self, turns: Sequence[Turn], tokens: int, /) -> Turn:
        """Take it.

        Raises:
            StopError: there is none.
        """


@dataclass(frozen=True, slots=True)
class Sampler:
    """The host's model, as a server may ask it; one at a time."""

    name: str
    take_turn: TakeTurn
    without_asking: bool = False
    lock: threading.Lock = field(default_factory=threading.Lock)


@dataclass(frozen=True, slots=True)
class SampledByModel:
    """Answers a server: sampling by the host's model, everything else as another respondent.

    `typist` asks the person first; `server` names who asks.
    """

    sampler: Sampler
    otherwise: ServerRequestHandler
    typist: Typist
    language: str
    server: str

    def answer(self, exchange: Exchange, established: Established, judge: Judge) -> None:
        """Answer, after the person's yes."""
        if exchange.method != METHOD:
            self.otherwise.answer(exchange, established, judge)
            return
        params = exchange.request.params
        answer, form = (
            self._sampled(params) if self._may(params) else (dict(REFUSAL), TextForm.ERROR)
        )
        judge(json.dumps(answer, ensure_ascii=False), form)

    def withdraw(self, exchange: Exchange, reason: Reason) -> None:
        """Learn that the server no longer wants an answer; a turn of the model is dropped then."""
        if exchange.method != METHOD:
            self.otherwise.withdraw(exchange, reason)

    def _may(self, params: dict[str, Any]) -> bool:
        if self.sampler.without_asking:
            return True
        if not self.typist.can_answer:
            to_stderr(Painted(self._say("no sampling", server=self.server), "yellow"))
            return False
        found: list[bool] = []
        notice = say("client", "press enter", self.language, method=METHOD, server=self.server)
        self.typist.put(lambda: found.append(self._asked(params)), notice)
        return found == [True]

    def _asked(self, params: dict[str, Any]) -> bool:
        asks = say("client", "server asks", self.language, method=METHOD, server=self.server)
        to_stdout(Painted(asks, "bold"))
        show_sampling(params, self.language)
        question = self._say("ask sampling", model=self.sampler.name)
        try:
            return self.typist.choose(question, "yr") == "y"
        except KeyboardInterrupt:
            return False

    def _sampled(self, params: dict[str, Any]) -> tuple[dict[str, Any], TextForm]:
        try:
            with self.sampler.lock:
                turn = self.sampler.take_turn(turns_of(params), _tokens(params))
        except StopError as error:
            to_stderr(Painted(error.sentence(self.language), "red"))
            return {"code": INTERNAL_ERROR, "message": str(error)}, TextForm.ERROR
        line = self._say("sampled", model=self.sampler.name, server=self.server, text=turn.text)
        with self.typist.above():
            to_stderr(Painted(line, "dim"))
        return {
            "role": "assistant",
            "content": {"type": "text", "text": turn.text},
            "model": self.sampler.name,
            "stopReason": _STOPS.get(turn.stop, "endTurn"),
        }, TextForm.RESULT

    def _say(self, code: str, **fillings: object) -> str:
        return say(ROOM, code, self.language, **fillings)


def turns_of(params: dict[str, Any]) -> tuple[Turn, ...]:
    """Return the conversation that a server wants continued."""
    system = params.get("systemPrompt")
    turns = (
        [Turn(TurnRole.SYSTEM, (TextBlock(system),))] if isinstance(system, str) and system else []
    )
    return (*turns, *turns_heard(params.get("messages")))


def turns_heard(messages: Any) -> tuple[Turn, ...]:  # noqa: ANN401 - any JSON value
    """Return the messages of a server, of a sampling request or a prompt, as turns."""
    return tuple(
        Turn(
            TurnRole.ASSISTANT if one.get("role") == "assistant" else TurnRole.USER,
            blocks_heard(one.get("content")),
        )
        for one in objects_at(messages)
    )


def _tokens(params: dict[str, Any]) -> int:
    most = params.get("maxTokens")
    return most if isinstance(most, int) and not isinstance(most, bool) and most > 0 else 0
