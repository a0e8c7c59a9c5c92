"""A server asks for a turn of a model (`sampling/createMessage`): the host's own model takes it.

Only after the person said yes: MCP, sampling: "there SHOULD always be a human in the loop with the
ability to deny sampling requests".
"""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from humanmcp.common.terminal import Painted, to_stderr, to_stdout
from humanmcp.extensions.host.client.callbacks import REFUSAL
from humanmcp.extensions.host.conversation import (
    PICTURES,
    ImageBlock,
    StopReason,
    TextBlock,
    Turn,
    TurnRole,
    blocks_heard,
)
from humanmcp.extensions.host.requests import LISTS, Requests
from humanmcp.extensions.host.terminal.results import line_of, show_sampling
from humanmcp.extensions.host.terminal.typing import LineError
from humanmcp.locales import say
from humanmcp.locales.stop import REFUSED, StopError, stopped
from humanmcp.protocol.diagnostics.model import TextForm
from humanmcp.protocol.json.jsonrpc import as_json
from humanmcp.protocol.json.tree import objects_at, text_at
from humanmcp.protocol.validation.results import sampled

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from humanmcp.extensions.host.client.callbacks import Judge, ServerRequestHandler
    from humanmcp.extensions.host.conversation import Block
    from humanmcp.extensions.host.requests import Asking
    from humanmcp.extensions.host.servers import Server, Servers
    from humanmcp.extensions.host.terminal.typing import Typist
    from humanmcp.locales.stop import Reason
    from humanmcp.protocol.conversation.exchange import Exchange, NegotiatedState

SECTION: Final = "host"
METHOD: Final = "sampling/createMessage"
INTERNAL_ERROR: Final = -32603
_STOPS: Final = {StopReason.LENGTH: "maxTokens"}


@dataclass(frozen=True, slots=True)
class Sampler:
    """The host's model, as a server may ask it; one at a time."""

    name: str
    take_turn: Callable[[Sequence[Turn], int], Turn]
    """Lets it take one turn of at most so many tokens; raises `StopError` if there is none."""
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
    server: str

    def answer(self, exchange: Exchange, negotiated: NegotiatedState, judge: Judge) -> None:
        """Answer, after the person's yes."""
        if exchange.method != METHOD:
            self.otherwise.answer(exchange, negotiated, judge)
            return
        params = exchange.request.params
        answer, form = (
            self._sampled(params) if self._may(params) else (dict(REFUSAL), TextForm.ERROR)
        )
        judge(as_json(answer), form)

    def withdraw(self, exchange: Exchange, reason: Reason) -> None:
        """Learn that the server no longer wants an answer; a turn of the model is dropped then."""
        if exchange.method != METHOD:
            self.otherwise.withdraw(exchange, reason)

    def _may(self, params: dict[str, Any]) -> bool:
        if self.sampler.without_asking:
            return True
        if not self.typist.can_answer:
            to_stderr(Painted(say(SECTION, "no sampling", server=self.server), "yellow"))
            return False
        found: list[bool] = []
        notice = say("client", "press enter", method=METHOD, server=self.server)
        self.typist.put(lambda: found.append(self._asked(params)), notice)
        return found == [True]

    def _asked(self, params: dict[str, Any]) -> bool:
        asks = say("client", "server asks", method=METHOD, server=self.server)
        to_stdout(Painted(asks, "bold"))
        show_sampling(params)
        question = say(SECTION, "ask sampling", model=self.sampler.name)
        try:
            return self.typist.choose(question, "yr") == "y"
        except KeyboardInterrupt:
            return False

    def _sampled(self, params: dict[str, Any]) -> tuple[dict[str, Any], TextForm]:
        try:
            with self.sampler.lock:
                turn = self.sampler.take_turn(turns_of(params), _tokens(params))
        except StopError as error:
            to_stderr(Painted(error.sentence(), "red"))
            return {"code": INTERNAL_ERROR, "message": str(error)}, TextForm.ERROR
        line = say(SECTION, "sampled", model=self.sampler.name, server=self.server, text=turn.text)
        with self.typist.above():
            to_stderr(Painted(line, "dim"))
        stop = _STOPS.get(turn.stop, "endTurn")
        said = {"type": "text", "text": turn.text}
        return sampled(said, self.sampler.name, stop), TextForm.RESULT


def turns_of(params: dict[str, Any]) -> tuple[Turn, ...]:
    """Return the conversation that a server wants continued."""
    system = text_at(params, "systemPrompt")
    turns = [Turn(TurnRole.SYSTEM, (TextBlock(system),))] if system else []
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


KINDS: Final = {"/prompts": ("prompts",), "/resources": ("resources", "templates")}
"""The commands that list, and what each lists."""


class Lent:
    """The prompts and resources of all servers of one host."""

    def __init__(self, servers: Servers, typist: Typist) -> None:
        self.servers = servers
        self.typist = typist

    def list(self, command: str) -> None:
        """Show what each server that runs has of it, or that there is none.

        Raises:
            StopError: a server does not answer.
        """
        shown = 0
        for word in KINDS[command]:
            for server in self.servers.running():
                capability = LISTS[word].method.partition("/")[0]
                if server.client is not None and capability in server.client.server_capabilities:
                    shown += self._list(server, word)
        if not shown:
            to_stdout(f"  {say('client', 'none')}")

    def _list(self, server: Server, word: str) -> int:
        """Show what a server has of it; return how many there are."""
        shown = 0
        for page in self._requests(server).pages(word):
            for entry in objects_at(page.result, LISTS[word].member):
                name, about = line_of(entry, LISTS[word])
                to_stdout(
                    f"  {server.name}  ", Painted(name, "bold"), f"  {about}" if about else ""
                )
                shown += 1
        return shown

    def prompt(self, typed: str) -> tuple[Turn, ...]:
        """Return a server's prompt, ready to be said: `SERVER NAME key=value …`.

        Raises:
            StopError: there is no such prompt, or an argument is missing.
        """
        requests, name, rest = self._words(typed, "prompt what")
        result = self._asked(requests, requests.prompt(name, rest))
        turns = turns_heard(result.get("messages"))
        if not turns:
            raise stopped(SECTION, "empty prompt", REFUSED, name=name)
        return turns

    def read(self, typed: str) -> tuple[Block, ...]:
        """Return what a resource holds, ready to be shown to the model: `SERVER URI key=value …`.

        Raises:
            StopError: there is no such resource, or a variable has no value.
        """
        requests, uri, rest = self._words(typed, "read what")
        result = self._asked(requests, requests.read(uri, rest))
        return tuple(map(_block, objects_at(result.get("contents"))))

    def _words(self, typed: str, otherwise: str) -> tuple[Requests, str, str]:
        """Take a server's name and the name of what it has from the beginning of a line."""
        parts = typed.split(maxsplit=2)
        found = [one for one in self.servers.running() if parts and one.name == parts[0]]
        if len(parts) < 2 or not found:
            names = ", ".join(one.name for one in self.servers.running()) or "-"
            raise stopped(SECTION, otherwise, REFUSED, names=names)
        return self._requests(found[0]), parts[1], parts[2] if len(parts) > 2 else ""

    def _requests(self, server: Server) -> Requests:
        assert server.client is not None  # noqa: S101 - it runs
        return Requests(server.client, self.typist)

    def _asked(self, requests: Requests, asking: Asking) -> dict[str, Any]:
        response = requests.client.call(*asking)
        if response.error is not None:
            number, why = response.error
            raise LineError("error", method=asking.method, number=number, why=why)
        return response.result or {}


def _block(content: dict[str, Any]) -> Block:
    """Return what a resource holds: a picture, or text with its address."""
    match content:
        case {"blob": str(data), "mimeType": str(mime)} if mime in PICTURES:
            return ImageBlock(mime, data)
        case {"uri": str(uri), "text": str(text)}:
            return TextBlock(f"{uri}:\n{text}")
        case _:
            return TextBlock(f"[resource: {content.get('uri')}]")
