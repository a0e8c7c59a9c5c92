"""Plays a server as it was recorded, for `serve --replay`.

What the server said before and after an answer is said again in its place; where it asked the
client something, its answer waits until the client has answered. With `--otherwise forward` the
real server is asked what was not recorded (`forwarding.py`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from humanmcp.extensions.recordings.forwarding import Forwarding
from humanmcp.extensions.recordings.replay import Otherwise, renewed, replayed
from humanmcp.protocol.answer_book.decision import BY_PERSON
from humanmcp.protocol.conversation.outcomes import Sent
from humanmcp.protocol.conversation.stages import ExchangeState
from humanmcp.protocol.conversation.transcript import DELIBERATE
from humanmcp.protocol.json.jsonrpc import member
from humanmcp.protocol.tables import versions
from humanmcp.protocol.tables.methods import PROGRESS
from humanmcp.server.moments import LEFT_TO_A_PERSON, Acted, Capability

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from humanmcp.extensions.recordings.recording import Forward
    from humanmcp.extensions.recordings.replay import Replay
    from humanmcp.protocol.answer_book.decision import Decision
    from humanmcp.protocol.answer_book.recorded import Recorded, RecordedMessage
    from humanmcp.protocol.conversation.exchange import Exchange
    from humanmcp.protocol.json.jsonrpc import Message
    from humanmcp.server.moments import Way


@dataclass(slots=True)
class ReplayedExchange:
    """A replayed exchange: the lines that are still to be sent before its answer."""

    exchange: Exchange
    recorded: Recorded
    left: list[RecordedMessage]
    question: tuple[str, str | int | float] | None = None
    """The id of the question that the client has to answer first."""


class ReplayedAnswers(Capability):
    """Answers as a server was recorded, with all that it said."""

    def __init__(self, way: Way, replay: Replay, forward: Forward | None = None) -> None:
        self._way = way
        self._session = way.session
        self._journal = way.journal
        self._replay = replay
        self._forward = forward
        self._forwarding: Forwarding | None = None
        self._scenes: dict[int, ReplayedExchange] = {}
        self._given: dict[str, str] = {}
        """From the id of each recorded request to the id of the request that got its answer."""
        self._said: set[int] = set()
        self._calls: dict[int, int] = {}
        """From the number of each call of a tool to its number among them, from 1."""

    # -- the moments of an exchange --------------------------------------------------------------

    def decide(self, exchange: Exchange, rest: Callable[[Exchange], Decision]) -> Decision:
        if exchange.number in self._scenes:
            return BY_PERSON  # first the client has to answer what it was asked
        found = self._replay.find(exchange)
        if found is not None:
            after = found.recorded.took if self._replay.paced else 0.0
            return found.decision(after=after, fault=self._fault(exchange))
        decision = rest(exchange)
        has_begun = decision.entry is not None and not decision.counts
        return decision if has_begun else self._replay.instead(exchange, decision)

    def _fault(self, exchange: Exchange) -> str:
        """Return the fault that is asked for this call of a tool, "" for none."""
        if not self._replay.faults or exchange.method != "tools/call":
            return ""
        number = self._calls.setdefault(exchange.number, len(self._calls) + 1)
        return self._replay.faults.get(number, "")

    def begin(self, exchange: Exchange, decision: Decision) -> Decision | None:
        """Send what precedes the answer, or forward the request to the real server."""
        if self._forwarding is not None:
            self._forwarding.arrived(exchange)
            if decision.own is Otherwise.FORWARD:
                self._forwarding.ask(exchange)
                return None
        if not self._play(exchange, replayed(decision)):
            return BY_PERSON  # the answer comes when the client has answered what it was asked
        if replayed(decision) is None and not decision.fault:
            self._replay.miss(exchange)
        return decision

    def act(self, exchange: Exchange, decision: Decision, waited: float) -> Acted | None:  # noqa: ARG002 - a recorded answer waits for nothing
        """Give a recorded answer as it was recorded, also where the check has something to say."""
        seq = replayed(decision)
        if seq is None:
            return None
        line = self._line(exchange, seq)
        if line is None:
            outcome = self._session.reply(
                exchange.number, decision.text, decision.form, anyway=True
            )
        else:
            text = line.decode("utf-8", "replace")
            outcome = self._session.reply_with_line(exchange.number, text)
        if not isinstance(outcome, Sent):
            return LEFT_TO_A_PERSON
        self._replay.given(seq)
        return Acted(decision, outcome, line)

    def acted(self, exchange: Exchange, decision: Decision) -> None:
        """Send the lines that followed a recorded answer."""
        seq = replayed(decision)
        one = None if seq is None else self._replay.around(seq)
        for said in one.after if one is not None else ():
            self._say(said, {} if one is None else {"id": (one.id, exchange.id.token)})

    def noticed(self, message: Message) -> None:
        """Send the lines that followed a notification of the client, and forward it."""
        one = self._replay.reaction(message.method)
        for said in (*one.before, *one.after) if one is not None else ():
            self._say(said, {})
        if self._forwarding is not None:
            self._forwarding.noticed(message)

    def responded(self, message: Message) -> int:
        """Take in the answer to a question of the recorded server, or of the real one."""
        if self._forwarding is not None:
            self._forwarding.response(message)
        return self._play_on(message)

    def start(self, wake: Callable[[], object]) -> None:
        """Prepare to forward to the real server, if there is one."""
        if self._forward is not None:
            self._forwarding = Forwarding(self._way, self._forward, self._replay, wake)

    def look(self) -> None:
        if self._forwarding is not None:
            self._forwarding.look()

    def close(self) -> None:
        if self._forwarding is not None:
            self._forwarding.close()

    # -- what was recorded -----------------------------------------------------------------------

    def _play(self, exchange: Exchange, seq: int | None) -> bool:
        """Send what precedes an answer. Return False while it waits for the client.

        `seq` names the recorded answer; None for a request without any, which may have been spoken
        about all the same.
        """
        recorded = (
            self._replay.find_unanswered(exchange) if seq is None else self._replay.around(seq)
        )
        if recorded is None:
            return True
        self._given[recorded.id] = exchange.id.token
        scene = self._scenes[exchange.number] = ReplayedExchange(
            exchange, recorded, list(recorded.before)
        )
        return self._go_on_with(scene)

    def _play_on(self, message: Message) -> int:
        """Process the client's response. Return the exchange to answer now, or 0."""
        for number, scene in tuple(self._scenes.items()):
            if message.id is None or scene.question != message.id.key:
                continue
            scene.question = None
            current = self._session.exchanges.get(number)
            if current is None or current.state is not ExchangeState.PENDING:  # cancelled, say
                del self._scenes[number]
            elif self._go_on_with(scene) and scene.recorded.answered:
                return number
        return 0

    def _line(self, exchange: Exchange, seq: int) -> bytes | None:
        """Return the raw line of an invalid recorded answer; None if it was valid."""
        recorded = self._replay.around(seq)
        if recorded is None or recorded.raw is None or exchange.batch:
            return None
        return renewed(recorded.raw, {"id": (recorded.id, exchange.id.token)})

    def _go_on_with(self, scene: ReplayedExchange) -> bool:
        """Send the next lines, up to a request. Return True if none are left."""
        recorded, exchange = scene.recorded, scene.exchange
        names = {"id": (recorded.id, exchange.id.token)}
        if recorded.progress_token:
            names["progressToken"] = (recorded.progress_token, exchange.progress_token or "")
        while scene.left:
            said = scene.left.pop(0)
            request = self._say(said, names)
            if request is not None and request.id is not None:
                scene.question = request.id.key
                return False
        del self._scenes[exchange.number]
        return True

    def _say(
        self, recorded: RecordedMessage, names: Mapping[str, tuple[str, str]]
    ) -> Message | None:
        """Send one line. Return it if it is a request."""
        by = f"replay: {recorded.seq}"
        if recorded.message is None:
            self._journal.write(renewed(recorded.raw, names), by=by, note=DELIBERATE)
            return None
        if recorded.message.method == PROGRESS and not names.get("progressToken", ("", "-"))[1]:
            return None  # this time nobody wants to know: there is no token
        line = renewed(recorded.raw, self._of_message(recorded, names)).decode("utf-8", "replace")
        verdict = self._session.submit(line, anyway=True)
        line = verdict.line or verdict.forced or line
        self._journal.write(line, by=by, note="" if verdict.sendable else DELIBERATE)
        return self._session.awaited[-1] if recorded.asks and self._session.awaited else None

    def _of_message(
        self, recorded: RecordedMessage, names: Mapping[str, tuple[str, str]]
    ) -> Mapping[str, tuple[str, str]]:
        """Return the names to replace in a message; a request gets an unused id."""
        kept = {name: pair for name, pair in names.items() if name != "id"}
        meta = member(member(recorded.raw.decode(), "params") or "{}", "_meta") or "{}"
        subscription = member(meta, versions.META_SUBSCRIPTION)
        if subscription in self._given:
            kept[versions.META_SUBSCRIPTION] = (subscription, self._given[subscription])
        if recorded.asks and recorded.message is not None and recorded.message.id is not None:
            token = recorded.message.id.token
            again = f"{len(self._said)}-{token.strip(chr(34))}"
            kept["id"] = (token, f'"{again}"' if recorded.seq in self._said else token)
            self._said.add(recorded.seq)
        return kept
