"""The person at the terminal answers what a server asks of the client, by the same check."""

from __future__ import annotations

import contextlib
import json
from collections import deque
from typing import TYPE_CHECKING, Any, Final

from humanmcp.common.terminal import Painted, to_stdout
from humanmcp.host.client.respondents import REFUSAL, Nobody
from humanmcp.host.terminal.form import FormAtTerminal, LeftError
from humanmcp.host.terminal.results import diagnostic_line, shortened
from humanmcp.locales import say, stop
from humanmcp.locales.explain import explain
from humanmcp.protocol.conversation.events import Refused
from humanmcp.protocol.diagnostics.verdict import TextForm

if TYPE_CHECKING:
    from collections.abc import Mapping

    from humanmcp.host.client.callbacks import Judge
    from humanmcp.host.terminal.typing import Typist
    from humanmcp.locales.stop import Reason
    from humanmcp.protocol.conversation.exchange import Established, Exchange
    from humanmcp.protocol.json.jsonrpc import Message

ROOM: Final = "client"
MOST_WITHDRAWN: Final = 1000
"""Questions that are remembered as withdrawn, in case they are still to be asked."""
_URI: Final = r"[A-Za-z][A-Za-z0-9+.\-]*:\S+"
_EXPECTED: Final = {
    "roots/list": rf"{_URI}(\s+{_URI})*",
    "elicitation/create": r"[adcADC]|accept|decline|cancel",
}
"""What a line of the script looks like that answers; where nothing stands, any line does."""


class AtTerminal:
    """Asks the person. Where no person sits at the terminal, answers as its stand-in does."""

    def __init__(
        self,
        typist: Typist,
        language: str,
        otherwise: Nobody | None = None,
        *,
        server: str = "",
    ) -> None:
        """Ask through this typist. `server` names who asks, where there are several."""
        self.typist = typist
        self.language = language
        self.otherwise = otherwise or Nobody()
        self.server = server or say(ROOM, "the server", language)
        self._withdrawn: deque[Message] = deque(maxlen=MOST_WITHDRAWN)

    def answer(self, exchange: Exchange, established: Established, judge: Judge) -> None:
        """Ask until the answer passes, or the person gives up."""
        if not self.typist.can_answer:
            self.otherwise.answer(exchange, established, judge)
            return
        notice = self._say("press enter", method=exchange.method, server=self.server)
        self.typist.put(lambda: self._answer(exchange, established, judge), notice)

    def _answer(self, exchange: Exchange, established: Established, judge: Judge) -> None:
        if any(exchange.request is one for one in self._withdrawn):
            return
        with self.typist.expecting(_EXPECTED.get(exchange.method, ".*")) as is_answered:
            if not is_answered:
                self.otherwise.answer(exchange, established, judge)
                return
            card = explain(exchange.method, exchange.revision, self.language, seat="client")
            asks = self._say("server asks", method=exchange.method, server=self.server)
            to_stdout(Painted(asks, "bold"))
            to_stdout("  ", card.title)
            form = self._form(exchange.request.params.get("requestedSchema"))
            while True:
                try:
                    answer, kind = self._asked(exchange, form)
                except KeyboardInterrupt:  # the way out of every question
                    answer, kind = self.otherwise.ready_answer(exchange)
                outcome = judge(json.dumps(answer, ensure_ascii=False), kind)
                if not isinstance(outcome, Refused):
                    return
                for one in outcome.verdict.diagnostics:
                    to_stdout(*diagnostic_line(one, self.language))

    def withdraw(self, exchange: Exchange, reason: Reason) -> None:
        """Tell the person that the answer is no longer awaited."""
        self._withdrawn.append(exchange.request)
        why = stop.in_language(reason, self.language)
        with self.typist.above():
            to_stdout(Painted(self._say("withdrawn", method=exchange.method, reason=why), "dim"))

    def _say(self, code: str, **fillings: object) -> str:
        return say(ROOM, code, self.language, **fillings)

    def _asked(self, exchange: Exchange, form: FormAtTerminal) -> tuple[dict[str, Any], TextForm]:
        params = exchange.request.params
        match exchange.method:
            case "elicitation/create":
                return self._elicited(params, form), TextForm.RESULT
            case "sampling/createMessage":
                return self._sampled(params)
            case "roots/list":
                return self._roots(exchange), TextForm.RESULT
            case _:
                return self.otherwise.ready_answer(exchange)

    def _roots(self, exchange: Exchange) -> dict[str, Any]:
        ready, _form = self.otherwise.ready_answer(exchange)
        shown = ", ".join(root["uri"] for root in ready["roots"]) or self._say("none")
        typed = self.typist.ask(self._say("ask roots", shown=shown)) or ""
        return {"roots": [{"uri": uri} for uri in typed.split()]} if typed.split() else ready

    def _sampled(self, params: dict[str, Any]) -> tuple[dict[str, Any], TextForm]:
        """Let the person be the model that the server asks."""
        show_sampling(params, self.language)
        typed = self.typist.ask(self._say("ask sampling"))
        if not typed:
            return dict(REFUSAL), TextForm.ERROR
        return {
            "role": "assistant",
            "content": {"type": "text", "text": typed},
            "model": "a person",
            "stopReason": "endTurn",
        }, TextForm.RESULT

    def _elicited(self, params: dict[str, Any], form: FormAtTerminal) -> dict[str, Any]:
        to_stdout("  ", str(params.get("message", "")))
        by_url = params.get("mode") == "url"
        if by_url:
            to_stdout("  ", str(params.get("url", "")))
        while True:
            choice = self.typist.choose(self._say("ask elicitation"), "adc")
            if choice != "a":
                return {"action": "decline" if choice == "d" else "cancel"}
            if by_url:
                return {"action": "accept"}
            with contextlib.suppress(LeftError):  # back to the question: decline, cancel, or fill
                return {"action": "accept", "content": form.fill()}

    def fill(self, schema: object) -> dict[str, Any]:
        """Let the person fill in a form.

        Raises:
            LeftError: they left it.
        """
        return self._form(schema).fill()

    def _form(self, schema: object) -> FormAtTerminal:
        return FormAtTerminal(schema, self.typist, self.language)


def show_sampling(params: Mapping[str, Any], language: str) -> None:
    """Show the person the conversation that a server wants a model to continue."""
    if params.get("systemPrompt"):
        to_stdout(Painted("  system: ", "dim"), str(params["systemPrompt"]))
    messages = params.get("messages")
    for message in messages if isinstance(messages, list) else []:
        if isinstance(message, dict):
            said = json.dumps(message.get("content"), ensure_ascii=False)
            to_stdout(Painted(f"  {message.get('role')}: ", "dim"), shortened(said, language))
