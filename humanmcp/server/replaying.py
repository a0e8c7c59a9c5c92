"""Plays a server as it was recorded, for `serve --replay`: reads the recording, and speaks.

What the server said before and after an answer is said again in its place; where it asked the
client something, its answer waits until the client has answered.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Self

from humanmcp.inbox import records
from humanmcp.inbox.contract import InboxError
from humanmcp.locales.stop import StopError
from humanmcp.protocol.answer_book.decision import Decision
from humanmcp.protocol.answer_book.replay import (
    Match,
    Otherwise,
    RecordedMessage,
    Replay,
    recorded,
    renewed,
)
from humanmcp.protocol.conversation.exchange import ExchangeState, Sent
from humanmcp.protocol.conversation.transcript import DELIBERATE
from humanmcp.protocol.json.jsonrpc import member
from humanmcp.protocol.tables import versions
from humanmcp.protocol.tables.methods import PROGRESS
from humanmcp.protocol.validation.captures import read_recording
from humanmcp.server.forwarding import Addition, Forwarding, beside, growing
from humanmcp.server.rules import LEFT_TO_A_PERSON, Acted, AutomaticAnswers
from humanmcp.server.waiting import Forward

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from humanmcp.protocol.answer_book.replay import Recorded
    from humanmcp.protocol.conversation.exchange import Exchange
    from humanmcp.protocol.conversation.transcript import Frame
    from humanmcp.protocol.json.jsonrpc import Message
    from humanmcp.server.exchanges import ExchangeHandler
    from humanmcp.server.rules import ServerDefinition
    from humanmcp.server.waiting import ServeOptions


class NoReplayError(StopError):
    """There is nothing to be replayed."""

    section = "serve"


class RecordingPlace(NamedTuple):
    """Where a recording is: in a file, or in a database as the session of this name."""

    path: Path
    """The file; for a session in a database, the one with what is added to it."""
    home: Path
    session: str = ""
    database: str = ""

    @classmethod
    def find(cls, wanted: str, home: Path, database: str = "") -> Self:
        """Find a transcript or text log, or a session by its folder or its name."""
        path = Path(wanted).expanduser()
        if not path.exists() and records.is_session_name(wanted):
            path = home / records.SESSIONS / wanted
            if database and not path.exists():
                return cls(home / records.FORWARDED.format(wanted), home, wanted, database)
        return cls(path / records.TRANSCRIPT if path.is_dir() else path, home)

    @property
    def is_missing(self) -> bool:
        """Return True if there is no such file; of a database only reading it tells."""
        return not self.session and not self.path.exists()

    def frames(self) -> Iterator[Frame]:
        """Read the recording and its additions, with unique frame numbers.

        Raises:
            OSError: it cannot be read.
            InboxError: the database cannot be used, or has no such session.
        """
        last = 0
        for part in self._parts():
            for frame in part:
                last = max(last + 1, frame.seq)
                yield frame._replace(seq=last)

    def _parts(self) -> Iterator[Iterator[Frame]]:
        if self.session:
            from humanmcp.inbox import open_inbox  # noqa: PLC0415 - few have a database

            yield open_inbox(self.home, self.database).frames(self.session)
        else:
            yield read_frames(self.path)
        added = self.path if self.session else beside(self.path)
        if added.exists():
            yield read_frames(added)


def read_replay(recording: RecordingPlace, match: str, otherwise: str = "hand") -> Replay:
    """Read the recorded answers.

    Where the real server stands behind it, a recording may be empty, or a file that is to be made.

    Raises:
        NoReplayError: there is no such recording, or no answer in it.
    """
    begins = otherwise == Otherwise.FORWARD.value
    is_new = begins and recording.is_missing and _may_be_made(recording.path)
    named = recording.session or recording.path
    try:
        frames = () if is_new else recording.frames()
        replay = Replay(recorded(frames), Match(match), Otherwise(otherwise))
    except (OSError, InboxError) as error:
        raise NoReplayError("no replay", path=named, why=error) from error
    if not len(replay) and not begins:
        raise NoReplayError("nothing to replay", path=named)
    return replay


def read_forward(recording: RecordingPlace, command: Iterable[str]) -> Forward:
    """Return the command for unrecorded requests and the file that records its answers."""
    frames = () if recording.is_missing else recording.frames()
    last = max((frame.seq for frame in frames), default=0)
    path = recording.path if recording.session else growing(recording.path)
    return Forward(tuple(command), Addition(path, last))


def _may_be_made(path: Path) -> bool:
    """Return True if the path lies in an existing folder."""
    return path.parent.is_dir() and not records.is_session_name(path.name)


def read_frames(path: Path) -> Iterator[Frame]:
    """Read a transcript, or a text log.

    Raises:
        OSError: it cannot be read.
    """
    with path.open(encoding="utf-8-sig", errors="replace", newline="\n") as stream:
        yield from read_recording((line.removesuffix("\n") for line in stream), str)


# -- speaking ----------------------------------------------------------------------------------


@dataclass(slots=True)
class ReplayedExchange:
    """A replayed exchange: the lines that are still to be sent before its answer."""

    exchange: Exchange
    recorded: Recorded
    left: list[RecordedMessage]
    question: tuple[str, str | int | float] | None = None
    """The id of the question that the client has to answer first."""


class ReplayedAnswers(AutomaticAnswers):
    """Answers as a server was recorded, with all that it said; else as the answer book does.

    With `forwarding` the real server is asked what was not recorded.
    """

    forwarding: Forwarding | None = None

    def __init__(
        self,
        replay: Replay,
        definition: ServerDefinition,
        options: ServeOptions,
        end_session: Callable[[int], object],
    ) -> None:
        """Begin the recording."""
        super().__init__(definition, options, end_session)
        self._replay = replay
        self._scenes: dict[int, ReplayedExchange] = {}
        self._given: dict[str, str] = {}
        """From the id of each recorded request to the id of the request that got its answer."""
        self._said: set[int] = set()

    # -- the moments of an exchange --------------------------------------------------------------

    def decide(self, exchange: Exchange) -> Decision:
        """Return the recorded answer, or the decision about a request without one."""
        if exchange.number in self._scenes:
            return Decision()  # first the client has to answer what it was asked
        if self.has_begun(exchange.number):
            return super().decide(exchange)
        found = self._replay.find(exchange)
        return found.decision if found else self._replay.instead(exchange, super().decide(exchange))

    def begin(self, exchange: Exchange, decision: Decision) -> Decision | None:
        """Send what precedes the answer, or forward the request to the real server."""
        if self.forwarding is not None:
            self.forwarding.arrived(exchange)
            if decision.forward:
                self.forwarding.ask(exchange)
                return None
        if not self._play(exchange, decision.replayed):
            return Decision()  # the answer comes when the client has answered what it was asked
        if decision.replayed is None:
            self._replay.miss(exchange)
        return decision

    def act(self, exchange: Exchange, decision: Decision, waited: float) -> Acted:
        """Give a recorded answer as it was recorded, also where the check has something to say."""
        if decision.replayed is None:
            return super().act(exchange, decision, waited)
        line = self._line(exchange, decision.replayed)
        if line is None:
            outcome = self._session.reply(
                exchange.number, decision.text, decision.form, anyway=True
            )
        else:
            text = line.decode("utf-8", "replace")
            outcome = self._session.reply_with_line(exchange.number, text)
        if not isinstance(outcome, Sent):
            return LEFT_TO_A_PERSON
        self._replay.given(decision.replayed)
        return Acted(decision, outcome, line)

    def answered(self, exchange: Exchange, decision: Decision) -> None:
        """Send the lines that followed a recorded answer."""
        super().answered(exchange, decision)
        one = None if decision.replayed is None else self._replay.around(decision.replayed)
        for said in one.after if one is not None else ():
            self._say(said, {} if one is None else {"id": (one.id, exchange.id.token)})

    def noticed(self, message: Message) -> None:
        """Send the lines that followed a notification of the client, and forward it."""
        one = self._replay.reaction(message.method)
        for said in (*one.before, *one.after) if one is not None else ():
            self._say(said, {})
        if self.forwarding is not None:
            self.forwarding.noticed(message)

    def responded(self, message: Message) -> int:
        """Take in the answer to a question of the recorded server, or of the real one."""
        if self.forwarding is not None:
            self.forwarding.response(message)
        return self._play_on(message) or super().responded(message)

    def attach(
        self,
        handler: ExchangeHandler,
        wake: Callable[[], object],
        tell_stderr: Callable[[str], object],
    ) -> None:
        """Prepare to forward to the real server, if there is one."""
        if self._options.forward is not None:
            self.forwarding = Forwarding(
                self._options.forward,
                self._replay,
                handler,
                wake=wake,
                tell_stderr=tell_stderr,
            )

    def look(self) -> None:
        """Process the lines of the real server."""
        if self.forwarding is not None:
            self.forwarding.look()

    def close(self) -> None:
        """Stop the real server."""
        if self.forwarding is not None:
            self.forwarding.close()

    # -- what was recorded -----------------------------------------------------------------------

    def _play(self, exchange: Exchange, seq: int | None) -> bool:
        """Send what precedes an answer. Return False while it waits for the client.

        `seq` names the recorded answer; None for a request without any, which may have been spoken
        about all the same.
        """
        recorded = self._replay.unanswered(exchange) if seq is None else self._replay.around(seq)
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
