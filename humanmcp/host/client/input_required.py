"""The questions inside an `input_required` result (2026-07-28), answered like any other question.

Such a question is no request of its own: it has no envelope and no id. It gets one for as long as
it is asked, so that the same people answer it and the same check judges them.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, TypeAlias

from humanmcp.protocol.conversation.events import RequestArrived, Sent
from humanmcp.protocol.diagnostics.verdict import TextForm
from humanmcp.protocol.json import jsonrpc
from humanmcp.protocol.json.jsonrpc import Message
from humanmcp.protocol.session import Session, SessionRole

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from humanmcp.host.client.callbacks import Judge
    from humanmcp.protocol.conversation.events import Outcome
    from humanmcp.protocol.conversation.exchange import Established, Exchange

    Ask: TypeAlias = Callable[[Exchange, Established, Judge], None]
    """Puts a question to the one who answers for the client, and waits."""


def find_out(found: Mapping[str, Any], established: Established, ask: Ask) -> dict[str, Any] | None:
    """Return what a repeated request carries beside its own parameters.

    None when a question was not answered, or when there is nothing to repeat for.
    """
    questions = found.get("inputRequests", {})
    more: dict[str, Any] = {}
    if isinstance(questions, dict) and questions:
        answers = {key: _answer(key, asked, established, ask) for key, asked in questions.items()}
        if None in answers.values():
            return None
        more["inputResponses"] = answers
    if "requestState" in found:
        more["requestState"] = found["requestState"]
    return more or None


def _answer(key: str, asked: Any, established: Established, ask: Ask) -> dict[str, Any] | None:  # noqa: ANN401 - any JSON value
    """Have one question answered, in the shape of the last revision in which it was a request."""
    if not isinstance(asked, dict):
        return None
    aside = Session(SessionRole.CLIENT)
    aside.established = established
    found: list[Sent] = []

    def judge(text: str, form: TextForm = TextForm.RESULT, *, anyway: bool = False) -> Outcome:
        outcome = aside.reply(1, text, form, anyway=anyway)
        if isinstance(outcome, Sent):
            found.append(outcome)
        return outcome

    line = one_line({"jsonrpc": "2.0", "id": key, **asked})
    for event in aside.receive(jsonrpc.encoded(line)):
        if isinstance(event, RequestArrived):
            ask(event.exchange, aside.established, judge)
    if not found:
        return None
    reply = jsonrpc.read(found[0].own.encode("utf-8", "replace"))
    result = reply.body.get("result") if isinstance(reply, Message) else None
    return result if isinstance(result, dict) else None


def one_line(value: Mapping[str, Any]) -> str:
    """Write an object as one line."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
