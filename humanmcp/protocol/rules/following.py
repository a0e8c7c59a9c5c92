"""What the rules of an answer book say about one request: the answer, or what comes before it."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from humanmcp.protocol.conversation.state import declared_by
from humanmcp.protocol.diagnostics.model import TextForm
from humanmcp.protocol.json.tree import follow, leaves, mapped
from humanmcp.protocol.rules.answer_book import (
    BY_PERSON,
    Decision,
    by_rule,
    first_rule,
    with_result_envelope,
)
from humanmcp.protocol.rules.rule import RuleAction
from humanmcp.protocol.spec import methods
from humanmcp.protocol.spec.versions import features

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from humanmcp.protocol.conversation.exchange import Exchange, NegotiatedState
    from humanmcp.protocol.rules.answer_book import Book
    from humanmcp.protocol.rules.rule import Rule

# A text: `re` compiles it when it is first used, which the start of a server need not pay for.
_PLACEHOLDER: Final = r"\{([A-Za-z_][\w-]*(?:\.[\w-]+)*)\}"
_MISSING: Final = object()


def fill(template: Any, values: Mapping[str, Any]) -> Any:  # noqa: ANN401 - any JSON value
    """Return a JSON value with the placeholders in its texts filled, however deep they stand.

    A text that is one placeholder and nothing else becomes the value itself: a number, a list.
    """

    def filled(leaf: Any) -> Any:  # noqa: ANN401 - any JSON value
        alone = re.fullmatch(_PLACEHOLDER, leaf) if isinstance(leaf, str) else None
        value = _MISSING if alone is None else _found(alone[1], values)
        if value is not _MISSING:
            return value
        return fill_text(leaf, values) if isinstance(leaf, str) else leaf

    return mapped(template, filled)


def fill_text(template: str, values: Mapping[str, Any]) -> str:
    """Return a text with its placeholders filled; what is no text is written as JSON."""

    def filled(found: re.Match[str]) -> str:
        value = _found(found[1], values)
        return found[0] if value is _MISSING else _written(value)

    return re.sub(_PLACEHOLDER, filled, template) if "{" in template else template


def fill_answer(template: str, form: TextForm, values: Mapping[str, Any]) -> str:
    """Return the text of an answer, plain or JSON, with its placeholders filled."""
    if form not in (TextForm.RESULT, TextForm.ERROR):
        return fill_text(template, values)
    if re.search(_PLACEHOLDER, template) is None:
        return template
    return json.dumps(fill(json.loads(template), values), ensure_ascii=False)


def placeholders(template: Any) -> Iterator[str]:  # noqa: ANN401 - any JSON value
    """List the names that a JSON value has placeholders for, in their order."""
    for _path, leaf in leaves(template):
        if isinstance(leaf, str):
            yield from re.findall(_PLACEHOLDER, leaf)


def _written(value: Any) -> str:  # noqa: ANN401 - any JSON value
    """Return a value as it stands within a text: a text as it is, anything else as JSON."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _found(name: str, values: Mapping[str, Any]) -> Any:  # noqa: ANN401 - any JSON value
    return follow(values, *name.split("."), missing=_MISSING)


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


MOST_RECORDS: Final = 10_000
"""Records that are kept; the oldest one makes room."""

GIVEN: Final = frozenset({"kept", "records", "new", "now"})
"""The values that a rule has besides those of its request, where it keeps anything."""


class BookMemory:
    """What one session has done with its book. It begins anew when the rules are others."""

    def __init__(
        self,
        secret: bytes = b"",
        now: Callable[[], str] = str,
        used: Mapping[int, int] | None = None,
    ) -> None:
        """Begin with nothing. `secret` signs what a client brings back, and is unguessable."""
        self.secret = secret
        self.used = dict(used or {})
        """How often each rule has been followed, by its index."""
        self.records: dict[str, dict[str, Any]] = {}
        self._now = now

    def clear(self) -> None:
        """Forget what was done and kept. What was signed stays good."""
        self.used.clear()
        self.records.clear()

    def count(self, decision: Decision) -> None:
        """Count a rule as followed once more."""
        if decision.rule is not None and decision.counts:
            self.used[decision.rule] = self.used.get(decision.rule, 0) + 1

    def keep(self, decision: Decision) -> None:
        """Keep what a rule says that is known from its answer on."""
        if decision.keep:
            self.records.setdefault(decision.key, {}).update(decision.keep)
            if len(self.records) > MOST_RECORDS:
                del self.records[next(iter(self.records))]

    def values(self, rule: Rule, exchange: Exchange) -> Mapping[str, Any]:
        """Return what fills the placeholders of a rule: its request's values come first."""
        asked = rule.values(exchange)
        if not rule.remembers:
            return asked
        return {
            "kept": self.records.get(rule.key_for(exchange), {}),
            "records": [*self.records.values()],
            "new": self._new(exchange),
            "now": self._now(),
            **asked,
        }

    def _new(self, exchange: Exchange) -> str:
        """Return a key that no other request of the session has, and that cannot be guessed."""
        import hmac  # noqa: PLC0415 - only rules that keep something pay for it

        return hmac.new(self.secret, str(exchange.number).encode(), "sha256").hexdigest()[:24]


def follow_rules(
    exchange: Exchange, book: Book, negotiated: NegotiatedState, memory: BookMemory | None = None
) -> Decision | None:
    """Follow the first rule that is meant for a request; None when none is.

    A request that answers a rule's questions goes on with that rule, and the secret of `memory`
    says whether it was asked them.
    """
    memory = memory or BookMemory()
    retry = _retry(exchange, book, negotiated, memory)
    if retry is None:
        found = first_rule(exchange, book, memory.used, negotiated, memory.records)
        if found is None:
            return None
        index, rule = found
        retry = Retry(index, book.rules[index].turns.index(rule))
    rule = book.rules[retry.rule].turns[retry.turn]
    return _followed(_Request(exchange, book, negotiated, memory), rule, retry)


def _retry(
    exchange: Exchange, book: Book, negotiated: NegotiatedState, memory: BookMemory
) -> Retry | None:
    """Return which rule's questions a request answers, unverified; None for a request anew."""
    if not features(exchange.version).input_required:
        return None
    retry = read_state(exchange.request.params.get("requestState"))
    if retry is None or not 0 <= retry.rule < len(book.rules):
        return None
    rule = book.rules[retry.rule]
    is_turn = 0 <= retry.turn < len(rule.turns) and rule.turns[retry.turn].ask
    return retry if is_turn and rule.matches(exchange, negotiated, memory.records) else None


class _Request(NamedTuple):
    """A request with what a rule needs to follow it."""

    exchange: Exchange
    book: Book
    negotiated: NegotiatedState
    memory: BookMemory


def _followed(request: _Request, rule: Rule, retry: Retry) -> Decision:
    """Follow a rule: its answer, or what is asked first."""
    exchange = request.exchange
    if rule.action is not RuleAction.ANSWER:
        return BY_PERSON
    values = request.memory.values(rule, exchange) if rule.fills or rule.keep else {}
    decision = Decision(
        rule.after,
        rule.text,
        rule.form,
        by_rule(retry.rule),
        retry.rule,
        notices=rule.notices,
        ask=rule.ask,
        change=rule.change,
        fault=rule.fault,
        values=values if rule.fills else None,
        key=fill_text(rule.key, values) if rule.keep else "",
        keep=rule.keep,
    )
    if not rule.ask:
        return _whole(decision.answered({}), exchange, request.book)
    undeclared = _undeclared(exchange, rule, request.negotiated)
    if undeclared:
        return decision.refused(_lacks_capability(exchange.version, undeclared))
    if features(exchange.version).input_required:
        return _asked_back(request, rule, decision, retry)
    return decision


def _asked_back(request: _Request, rule: Rule, decision: Decision, retry: Retry) -> Decision:
    """Ask what is still to be asked by a result (2026-07-28), or answer when all is answered."""
    exchange, book, secret = request.exchange, request.book, request.memory.secret
    state = exchange.request.params.get("requestState")
    if state is not None and not is_ours(str(state), rule, secret):
        return decision.refused(BAD_STATE)
    if state is not None:
        decision = decision._replace(notices=(), counts=False)
    following = next_round(exchange, rule, retry, secret)
    if following.result is None:
        return _whole(decision.answered(following.answers), exchange, book)
    text = json.dumps(following.result, ensure_ascii=False)
    return decision._replace(
        text=text, form=TextForm.RESULT, ask=(), change=None, fault="", keep={}
    )


def _undeclared(exchange: Exchange, rule: Rule, negotiated: NegotiatedState) -> str:
    """Return a capability that a rule's questions need and the client did not declare, or ""."""
    declared = declared_by(exchange, negotiated)
    asked = (question for questions in rule.ask for question in questions.values())
    lacking = (methods.undeclared(one.method, one.params, declared) for one in asked)
    return next(filter(None, lacking), "")


def _lacks_capability(version: str, capability: str) -> Mapping[str, Any]:
    """Return the error for a request that needs what the client did not declare.

    2026-07-28: "the server MUST return a MissingRequiredClientCapabilityError (-32021)".
    """
    message = f"The client has not declared {capability}"
    if not features(version).error_codes:
        return {"code": -32600, "message": message}
    required: dict[str, Any] = {}
    inner = required
    for name in capability.split("."):
        inner = inner.setdefault(name, {})
    return {"code": -32021, "message": message, "data": {"requiredCapabilities": required}}


def _whole(decision: Decision, exchange: Exchange, book: Book) -> Decision:
    """Add to a result of a rule what every result of its version carries."""
    if decision.form is not TextForm.RESULT or not features(exchange.version).result_types:
        return decision
    result = json.loads(decision.text)
    if "inputRequests" in result and methods.of(exchange.method).asks_back:
        return decision
    text = json.dumps(
        with_result_envelope(result, exchange.method, exchange.version, book), ensure_ascii=False
    )
    return decision._replace(text=text)
