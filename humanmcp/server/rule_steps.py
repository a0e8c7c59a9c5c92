"""What a rule of the answer book does before its answer: notify, ask, change the definition.

    a request ──▶  its rule: notify, ask, add and remove, answer
                   ◀── notifications, each after its delay
                   ◀── the questions of a round (up to 2025-11-25)
    the answers ─▶
                   ◀── the answer, with what the client said in it

In 2026-07-28 a question is a result, and nothing has to be remembered here
(`protocol/answer_book/following.py`). The time between two steps is the request's own: it waits
like any other, and a person may answer it meanwhile.
"""

from __future__ import annotations

import json
import logging
from typing import TYPE_CHECKING, Any, Final

from humanmcp.protocol.answer_book.placeholders import fill
from humanmcp.protocol.diagnostics.kinds import title_of
from humanmcp.protocol.json.jsonrpc import Kind
from humanmcp.protocol.tables import versions
from humanmcp.protocol.tables.methods import LOG, PROGRESS, UPDATED
from humanmcp.protocol.tables.objects import LOG_LEVEL
from humanmcp.protocol.tables.versions import features
from humanmcp.server.journal import BY_US

if TYPE_CHECKING:
    from collections.abc import Mapping

    from humanmcp.protocol.answer_book.book_entry import Notice
    from humanmcp.protocol.answer_book.decision import Decision
    from humanmcp.protocol.conversation.exchange import Exchange
    from humanmcp.protocol.json.jsonrpc import Message
    from humanmcp.protocol.session import McpSession
    from humanmcp.server.journal import Journal

logger = logging.getLogger(__name__)

_CHANGED: Final = "/list_changed"
LEVELS: Final = LOG_LEVEL.values
"""From RFC 5424, the least first."""


class _Steps:
    """A request in the middle of its rule. `decision` holds the remaining steps."""

    def __init__(self, exchange: Exchange, decision: Decision) -> None:
        self.exchange = exchange
        self.decision = decision
        self.asked: dict[tuple[str, str | int | float], tuple[str, Message]] = {}
        """From the id of each open question to its name and itself."""
        self.answers: dict[str, Any] = {}


class RuleSteps:
    """The requests of one session that are in the middle of their rule."""

    def __init__(self, session: McpSession, journal: Journal) -> None:
        self._session = session
        self._journal = journal
        self._open: dict[int, _Steps] = {}
        self._questions = 0

    def left(self, number: int) -> Decision | None:
        """Return the remaining steps for a request, or None if no rule matched."""
        steps = self._open.get(number)
        return None if steps is None else steps.decision

    def go_on(self, exchange: Exchange, decision: Decision, waited: float) -> Decision:
        """Run the due steps. Return the rest: only an answer once all steps are done."""
        steps = self._open.get(exchange.number)
        if steps is None:
            decision = _then(decision, waited)
            steps = self._open[exchange.number] = _Steps(exchange, decision)
        decision = steps.decision
        while decision.notices and decision.due(waited):
            self._say(exchange, decision.notices[0], decision)
            decision = _then(decision._replace(notices=decision.notices[1:]), waited)
        if not decision.notices and decision.ask and not steps.asked:
            decision = self._ask(steps, decision)
        steps.decision = decision
        return decision

    def response(self, message: Message) -> int:
        """Take a response of the client. Return the request that continues with it, or 0."""
        for number, steps in self._open.items():
            name, _ = steps.asked.pop(message.id.key, ("", None)) if message.id else ("", None)
            if not name:
                continue
            result = message.kind is Kind.RESULT
            said = message.body["result"] if result else {"error": message.body["error"]}
            steps.answers[name] = said
            if steps.asked:
                return 0
            rest = steps.decision._replace(ask=steps.decision.ask[1:], after=0.0)
            steps.decision = rest if rest.ask else rest.answered(steps.answers)
            return number
        return 0

    def over(self, number: int) -> None:
        """Forget a finished request, and cancel its open questions."""
        steps = self._open.pop(number, None)
        for _, question in steps.asked.values() if steps is not None else ():
            cancel = self._session.give_up(question, "the request that asked is over")
            if cancel is not None:
                self._journal.write(cancel, number, by=BY_US)

    def _ask(self, steps: _Steps, decision: Decision) -> Decision:
        """Ask the questions of the next round; none when a client may not be asked them."""
        values = {**(decision.values or {}), **steps.answers}
        for name, question in decision.ask[0].items():
            self._questions += 1
            request = {
                "jsonrpc": "2.0",
                "id": f"book-{self._questions}",
                "method": question.method,
                "params": fill(question.params, values),
            }
            if self._write(steps.exchange, request, decision):
                asked = self._session.awaited[-1]
                steps.asked[asked.id.key if asked.id else ("", 0)] = (name, asked)
        return decision._replace(after=None)

    def _say(self, exchange: Exchange, notice: Notice, decision: Decision) -> None:
        """Send a notification, to whom it may go."""
        params = fill(notice.params, decision.values or {})
        if notice.method.endswith(_CHANGED):
            for line in self._session.list_changed(notice.method.split("/")[1]):
                self._journal.write(line, by=decision.by)
        elif notice.method == UPDATED:
            for line in self._session.resource_updated(str(params.get("uri"))):
                self._journal.write(line, by=decision.by)
        elif notice.method != LOG or self._logs(exchange, params.get("level")):
            if notice.method == PROGRESS:
                params = _with_token(exchange, params)
            if params is not None:
                said = {"jsonrpc": "2.0", "method": notice.method, "params": params}
                self._write(exchange, said, decision)

    def _logs(self, exchange: Exchange, level: object) -> bool:
        """Return True if the client wants to hear of this: in 2026-07-28 each request says it."""
        wanted: object = self._session.state.log_level or LEVELS[0]
        if features(exchange.version).stateless:
            wanted = exchange.request.meta.get(versions.META_LOG_LEVEL)
        return wanted in LEVELS and (
            level not in LEVELS or LEVELS.index(str(level)) >= LEVELS.index(str(wanted))
        )

    def _write(self, exchange: Exchange, message: Mapping[str, Any], decision: Decision) -> bool:
        """Judge a message and write it. False when it does not pass the check: then it is left."""
        verdict = self._session.submit(json.dumps(message, ensure_ascii=False))
        if verdict.line is None:
            first = title_of(verdict.errors[0].code)
            logger.warning("%s does not say %s: %s", decision.by, message["method"], first)
            return False
        self._journal.write(verdict.line, exchange.number, by=decision.by)
        return True


def _then(decision: Decision, waited: float) -> Decision:
    """Return the decision due when its next step is."""
    delay = decision.notices[0].after if decision.notices else 0.0
    return decision._replace(after=waited + delay)


def _with_token(exchange: Exchange, params: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Return a progress notification for a request; None if the client did not ask for it."""
    if exchange.progress_token is None:
        return None
    kept = dict(params)
    if not features(exchange.version).progress_messages:
        kept.pop("message", None)
    return {"progressToken": exchange.request.meta["progressToken"], **kept}
