"""The person at the terminal answers what a server asks of the client, by the same check."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from humanmcp.host.explaining import told
from humanmcp.host.forms import Field, FieldError, fields, value
from humanmcp.host.respondents import REFUSED, Nobody
from humanmcp.locales import say, stop
from humanmcp.locales.explain import explain
from humanmcp.protocol.events import Refused
from humanmcp.protocol.verdict import Form
from humanmcp.terminal import Painted
from humanmcp.terminal import say as show

if TYPE_CHECKING:
    from humanmcp.host.company import Judge
    from humanmcp.host.typing_in import Typist
    from humanmcp.locales.stop import Reason
    from humanmcp.protocol.exchange import Exchange, Known

ROOM: Final = "client"
_URI: Final = r"[A-Za-z][A-Za-z0-9+.\-]*:\S+"
_EXPECTED: Final = {
    "roots/list": rf"{_URI}(\s+{_URI})*",
    "elicitation/create": r"[adcADC]|accept|decline|cancel",
}
"""What a line of the script looks like that answers; where nothing stands, any line does."""
_REFUSAL: Final = {"code": REFUSED, "message": "User rejected sampling request"}


class AtTerminal:
    """Asks the person. Where nobody sits at the terminal, answers as `Nobody` does."""

    def __init__(self, typist: Typist, language: str, otherwise: Nobody | None = None) -> None:
        """Ask through this typist."""
        self.typist = typist
        self.language = language
        self.otherwise = otherwise or Nobody()

    def answer(self, exchange: Exchange, known: Known, judge: Judge) -> None:
        """Ask until the answer passes, or the person gives up."""
        if not self.typist.can_answer:
            self.otherwise.answer(exchange, known, judge)
            return
        notice = self._say("press enter", method=exchange.method)
        expected = _EXPECTED.get(exchange.method, ".*")
        with self.typist.turn(notice), self.typist.expecting(expected) as is_answered:
            if not is_answered:
                self.otherwise.answer(exchange, known, judge)
                return
            card = explain(exchange.method, exchange.revision, self.language, seat="client")
            show(Painted(self._say("server asks", method=exchange.method), "bold"))
            show("  ", card.title)
            while True:
                answer, form = self._asked(exchange)
                outcome = judge(json.dumps(answer, ensure_ascii=False), form)
                if not isinstance(outcome, Refused):
                    return
                for one in outcome.verdict.problems:
                    show(*told(one, self.language))

    def withdraw(self, exchange: Exchange, reason: Reason) -> None:
        """Tell the person that nobody waits for the answer any more."""
        why = stop.told(reason, self.language)
        show(Painted(self._say("withdrawn", method=exchange.method, reason=why), "dim"))

    def _say(self, code: str, **fillings: object) -> str:
        return say(ROOM, code, self.language, **fillings)

    def _asked(self, exchange: Exchange) -> tuple[dict[str, Any], Form]:
        params = exchange.request.params
        match exchange.method:
            case "elicitation/create":
                return self._elicited(params), Form.RESULT
            case "sampling/createMessage":
                return self._sampled(params)
            case "roots/list":
                return self._roots(exchange), Form.RESULT
            case _:
                return self.otherwise.ready_answer(exchange)

    def _roots(self, exchange: Exchange) -> dict[str, Any]:
        ready, _form = self.otherwise.ready_answer(exchange)
        shown = ", ".join(root["uri"] for root in ready["roots"])
        typed = self.typist.ask(self._say("ask roots", shown=shown)) or ""
        return {"roots": [{"uri": uri} for uri in typed.split()]} if typed.split() else ready

    def _sampled(self, params: dict[str, Any]) -> tuple[dict[str, Any], Form]:
        """Let the person be the model that the server asks."""
        if params.get("systemPrompt"):
            show(Painted("  system: ", "dim"), str(params["systemPrompt"]))
        messages = params.get("messages")
        for message in messages if isinstance(messages, list) else []:
            if isinstance(message, dict):
                said = json.dumps(message.get("content"), ensure_ascii=False)
                show(Painted(f"  {message.get('role')}: ", "dim"), said)
        typed = self.typist.ask(self._say("ask sampling"))
        if not typed:
            return dict(_REFUSAL), Form.ERROR
        return {
            "role": "assistant",
            "content": {"type": "text", "text": typed},
            "model": "a person",
            "stopReason": "endTurn",
        }, Form.RESULT

    def _elicited(self, params: dict[str, Any]) -> dict[str, Any]:
        show("  ", str(params.get("message", "")))
        if params.get("mode") == "url":
            show("  ", str(params.get("url", "")))
        choice = self.typist.choose(self._say("ask elicitation"), "adc")
        if choice != "a":
            return {"action": "decline" if choice == "d" else "cancel"}
        if params.get("mode") == "url":
            return {"action": "accept"}
        return {"action": "accept", "content": self.fill(params.get("requestedSchema"))}

    def fill(self, schema: object) -> dict[str, Any]:
        """Let the person fill in a form, field by field. An empty answer leaves a field out."""
        filled = {}
        for field in fields(schema):
            found = self._field(field)
            if found is not None:
                filled[field.name] = found
        return filled

    def _field(self, field: Field) -> Any:  # noqa: ANN401 - any JSON value
        kind = "|".join(field.choices) or field.kind
        needed = "*" if field.required else ""
        about = f": {field.about}" if field.about else ""
        default = f" [{field.default}]" if field.default else ""
        while True:
            typed = self.typist.ask(f"  {field.name}{needed} ({kind}){about}{default}: ")
            if typed is None or (not typed and not field.default):
                return None
            try:
                return value(field, typed or field.default)
            except FieldError as error:
                wanted = ", ".join(field.choices) or field.kind
                said = self._say("wrong field", name=error.field.name, wanted=wanted)
                show("  ", Painted(said, "yellow"))
