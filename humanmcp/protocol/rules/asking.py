"""How a rule asks the user back in 2026-07-28: a question ends the request, which comes again.

    tools/call                   ───▶
                                 ◀───  input_required: the questions of the first round, a state
    tools/call, answers, state   ───▶
                                 ◀───  those of the next round, another state; or the answer

Nothing is remembered between two of these requests: the state holds the rule, the round and the
answers so far, and is signed, since it comes back through the client: "servers MUST treat
`requestState` as an attacker-controlled input".
https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/mrtr
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from humanmcp.protocol.rules.filling import fill

if TYPE_CHECKING:
    from collections.abc import Mapping

    from humanmcp.protocol.conversation.exchange import Exchange
    from humanmcp.protocol.rules.rule import Rule

BAD_STATE: Final[Mapping[str, Any]] = {
    "code": -32602,
    "message": "Invalid params: requestState is not one that this server gave for this request",
}


class Retry(NamedTuple):
    """What a `requestState` says: the rule, which of its turns, the round, the answers so far."""

    rule: int
    turn: int
    round: int = 0
    answers: Mapping[str, Any] = {}


class NextRound(NamedTuple):
    """What is to be asked now; nothing when all is answered. `answers` are those so far."""

    result: Mapping[str, Any] | None
    answers: Mapping[str, Any]


def read_state(state: object) -> Retry | None:
    """Read what a state says of itself, unverified; None for what is none of ours."""
    import binascii  # noqa: PLC0415 - only rules that ask pay for it

    if not isinstance(state, str) or "." not in state:
        return None
    try:
        rule, turn, count, answers = json.loads(binascii.a2b_base64(state.split(".")[0]))
        return Retry(int(rule), int(turn), int(count), dict(answers))
    except (ValueError, TypeError):
        return None


def write_state(retry: Retry, rule: Rule, secret: bytes) -> str:
    """Write a state and sign it, for this rule as it is now."""
    import binascii  # noqa: PLC0415 - as above

    text = json.dumps(retry, separators=(",", ":")).encode()
    body = binascii.b2a_base64(text, newline=False).decode()
    return f"{body}.{_signature(body, rule, secret)}"


def is_ours(state: str, rule: Rule, secret: bytes) -> bool:
    """Return True if a state was signed here, for this rule as it is now."""
    import hmac  # noqa: PLC0415 - as above

    body, _, signature = state.partition(".")
    wanted = _signature(body, rule, secret)
    return hmac.compare_digest(wanted.encode(), signature.encode("utf-8", "replace"))


def next_round(exchange: Exchange, rule: Rule, retry: Retry, secret: bytes) -> NextRound:
    """Take the answers that came with a request, and say what is still to be asked.

    What is missing, or is no answer at all, is asked again; what was not asked for is ignored.
    """
    came = exchange.request.params.get("inputResponses")
    answers = dict(retry.answers)
    for number, questions in enumerate(rule.ask):
        if isinstance(came, dict):
            answers |= {name: came[name] for name in questions if isinstance(came.get(name), dict)}
        missing = [name for name in questions if name not in answers]
        if missing:
            values = {**rule.values(exchange), **answers}
            state = write_state(retry._replace(round=number, answers=answers), rule, secret)
            asked = {
                name: {
                    "method": questions[name].method,
                    "params": fill(questions[name].params, values),
                }
                for name in missing
            }
            result = {"resultType": "input_required", "inputRequests": asked}
            return NextRound({**result, "requestState": state}, answers)
    return NextRound(None, answers)


def _signature(body: str, rule: Rule, secret: bytes) -> str:
    import hmac  # noqa: PLC0415 - as above

    return hmac.new(secret, f"{rule!r}\n{body}".encode(), "sha256").hexdigest()[:32]
