"""What the rules of an answer book say about one request: the answer, or what comes before it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NamedTuple

from humanmcp.protocol.conversation.negotiation import declared_by
from humanmcp.protocol.diagnostics.verdict import TextForm
from humanmcp.protocol.rules import asking
from humanmcp.protocol.rules.answer_book import (
    BY_PERSON,
    Decision,
    by_rule,
    first_rule,
    with_result_envelope,
)
from humanmcp.protocol.rules.filling import fill_text
from humanmcp.protocol.rules.memory import BookMemory
from humanmcp.protocol.rules.rule import RuleAction
from humanmcp.protocol.spec import methods
from humanmcp.protocol.spec.versions import features

if TYPE_CHECKING:
    from collections.abc import Mapping

    from humanmcp.protocol.conversation.exchange import Established, Exchange
    from humanmcp.protocol.rules.answer_book import Book
    from humanmcp.protocol.rules.rule import Rule


def follow(
    exchange: Exchange, book: Book, established: Established, memory: BookMemory | None = None
) -> Decision | None:
    """Follow the first rule that is meant for a request; None when none is.

    A request that answers a rule's questions goes on with that rule, and the secret of `memory`
    says whether it was asked them.
    """
    memory = memory or BookMemory()
    retry = _retry(exchange, book, established, memory)
    if retry is None:
        found = first_rule(exchange, book, memory.used, established, memory.records)
        if found is None:
            return None
        index, rule = found
        retry = asking.Retry(index, book.rules[index].turns.index(rule))
    rule = book.rules[retry.rule].turns[retry.turn]
    return _followed(_Request(exchange, book, established, memory), rule, retry)


def _retry(
    exchange: Exchange, book: Book, established: Established, memory: BookMemory
) -> asking.Retry | None:
    """Return which rule's questions a request answers, unverified; None for a request anew."""
    if not features(exchange.revision).input_required:
        return None
    retry = asking.read_state(exchange.request.params.get("requestState"))
    if retry is None or not 0 <= retry.rule < len(book.rules):
        return None
    rule = book.rules[retry.rule]
    is_turn = 0 <= retry.turn < len(rule.turns) and rule.turns[retry.turn].ask
    return retry if is_turn and rule.matches(exchange, established, memory.records) else None


class _Request(NamedTuple):
    """A request with what a rule needs to follow it."""

    exchange: Exchange
    book: Book
    established: Established
    memory: BookMemory


def _followed(request: _Request, rule: Rule, retry: asking.Retry) -> Decision:
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
    undeclared = _undeclared(exchange, rule, request.established)
    if undeclared:
        return decision.refused(_lacks_capability(exchange.revision, undeclared))
    if features(exchange.revision).input_required:
        return _asked_back(request, rule, decision, retry)
    return decision


def _asked_back(request: _Request, rule: Rule, decision: Decision, retry: asking.Retry) -> Decision:
    """Ask what is still to be asked by a result (2026-07-28), or answer when all is answered."""
    exchange, book, secret = request.exchange, request.book, request.memory.secret
    state = exchange.request.params.get("requestState")
    if state is not None and not asking.is_ours(str(state), rule, secret):
        return decision.refused(asking.BAD_STATE)
    if state is not None:
        decision = decision._replace(notices=(), counts=False)
    following = asking.next_round(exchange, rule, retry, secret)
    if following.result is None:
        return _whole(decision.answered(following.answers), exchange, book)
    text = json.dumps(following.result, ensure_ascii=False)
    return decision._replace(
        text=text, form=TextForm.RESULT, ask=(), change=None, fault="", keep={}
    )


def _undeclared(exchange: Exchange, rule: Rule, established: Established) -> str:
    """Return a capability that a rule's questions need and the client did not declare, or ""."""
    declared = declared_by(exchange, established)
    asked = (question for questions in rule.ask for question in questions.values())
    lacking = (methods.undeclared(one.method, one.params, declared) for one in asked)
    return next(filter(None, lacking), "")


def _lacks_capability(revision: str, capability: str) -> Mapping[str, Any]:
    """Return the error for a request that needs what the client did not declare.

    2026-07-28: "the server MUST return a MissingRequiredClientCapabilityError (-32021)".
    """
    message = f"The client has not declared {capability}"
    if not features(revision).error_codes:
        return {"code": -32600, "message": message}
    required: dict[str, Any] = {}
    inner = required
    for name in capability.split("."):
        inner = inner.setdefault(name, {})
    return {"code": -32021, "message": message, "data": {"requiredCapabilities": required}}


def _whole(decision: Decision, exchange: Exchange, book: Book) -> Decision:
    """Add to a result of a rule what every result of its revision carries."""
    if decision.form is not TextForm.RESULT or not features(exchange.revision).result_types:
        return decision
    result = json.loads(decision.text)
    if "inputRequests" in result and methods.of(exchange.method).asks_back:
        return decision
    text = json.dumps(
        with_result_envelope(result, exchange.method, exchange.revision, book), ensure_ascii=False
    )
    return decision._replace(text=text)
