"""Plays a server as it was recorded, for `serve --replay`: reads the recording, and speaks.

What the server said before and after an answer is said again in its place; where it asked the
client something, its answer waits until the client has answered.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from humanmcp.inbox import layout
from humanmcp.locales.stop import StopError
from humanmcp.protocol.conversation.capture_log import read_recording
from humanmcp.protocol.conversation.exchange import ExchangeState
from humanmcp.protocol.conversation.progress import METHOD as PROGRESS
from humanmcp.protocol.conversation.transcript import DELIBERATE
from humanmcp.protocol.json.jsonrpc import member
from humanmcp.protocol.policy.recording import RecordedMessage, recorded, renewed
from humanmcp.protocol.policy.replay import Match, Otherwise, Replay
from humanmcp.protocol.spec import versions
from humanmcp.stub.adding import Addition, beside, growing
from humanmcp.stub.options import Forward

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from humanmcp.protocol.conversation.exchange import Exchange
    from humanmcp.protocol.conversation.transcript import Frame
    from humanmcp.protocol.json.jsonrpc import Message
    from humanmcp.protocol.policy.recording import Recorded
    from humanmcp.protocol.session import Session
    from humanmcp.stub.journal import Journal


class NoReplayError(StopError):
    """There is nothing to be replayed."""

    room = "serve"


def read_replay(wanted: str, home: Path, match: str, otherwise: str = "hand") -> Replay:
    """Read the recorded answers of a transcript or text log, or of a session by folder or name.

    Where the real server stands behind it, a recording may be empty, or a file that is to be made.

    Raises:
        NoReplayError: there is no such file, or no answer in it.
    """
    path, begins = recording_path(wanted, home), otherwise == Otherwise.FORWARD.value
    try:
        frames = () if begins and _is_new(path, wanted) else _all_frames(path)
        replay = Replay(recorded(frames), Match(match), Otherwise(otherwise))
    except OSError as error:
        raise NoReplayError("no replay", path=path, why=error) from error
    if not len(replay) and not begins:
        raise NoReplayError("nothing to replay", path=path)
    return replay


def read_forward(wanted: str, home: Path, command: Iterable[str]) -> Forward:
    """Return where what was not recorded is asked, and which file the answers are added to."""
    path = recording_path(wanted, home)
    last = max((frame.seq for frame in _all_frames(path)), default=0) if path.exists() else 0
    return Forward(tuple(command), Addition(growing(path), last))


def _is_new(path: Path, wanted: str) -> bool:
    """Return True if a recording is to be made: no file of this name, and no name of a session."""
    return not path.exists() and path.parent.is_dir() and not layout.is_session_name(wanted)


def _all_frames(path: Path) -> Iterator[Frame]:
    """Read a recording with what was added beside it, each frame under a number of its own."""
    last = 0
    for file in (path, beside(path)):
        if file == path or file.exists():
            for frame in read_frames(file):
                last = max(last + 1, frame.seq)
                yield frame._replace(seq=last)


def recording_path(wanted: str, home: Path) -> Path:
    """Find the file of a recording."""
    path = Path(wanted).expanduser()
    if not path.exists() and layout.is_session_name(wanted):
        path = home / layout.SESSIONS / wanted
    return path / layout.TRANSCRIPT if path.is_dir() else path


def read_frames(path: Path) -> Iterator[Frame]:
    """Read a transcript, or a text log.

    Raises:
        OSError: it cannot be read.
    """
    with path.open(encoding="utf-8-sig", errors="replace", newline="\n") as stream:
        yield from read_recording((line.removesuffix("\n") for line in stream), str)


# -- speaking -------------------------------------------------------------------------------------


@dataclass(slots=True)
class _Scene:
    """An exchange that is played: what is still to be said before its answer."""

    exchange: Exchange
    recorded: Recorded
    left: list[RecordedMessage]
    question: tuple[str, str | int | float] | None = None
    """The id of the question that the client has to answer first."""


class Player:
    """Says again what the server said of its own, through the stub's one writer."""

    def __init__(self, replay: Replay, session: Session, ledger: Journal) -> None:
        self.replay = replay
        self._session = session
        self._ledger = ledger
        self._scenes: dict[int, _Scene] = {}
        self._given: dict[str, str] = {}
        """From the id of each recorded request to that of the one that was answered like it."""
        self._said: set[int] = set()

    def plays(self, number: int) -> bool:
        """Return True if an exchange waits for the client's answer to a recorded question."""
        return number in self._scenes

    def begin(self, exchange: Exchange, seq: int | None) -> bool:
        """Say what was said before an answer. False while the answer has to wait for the client.

        `seq` names the recorded answer; None for a request without any, which may have been spoken
        about all the same.
        """
        one = self.replay.unanswered(exchange) if seq is None else self.replay.around(seq)
        if one is None:
            return True
        self._given[one.id] = exchange.id.token
        scene = self._scenes[exchange.number] = _Scene(exchange, one, list(one.before))
        return self._go_on(scene)

    def response(self, message: Message) -> int:
        """Take the client's answer. Returns the number of the exchange to be answered now, or 0."""
        for number, scene in tuple(self._scenes.items()):
            if message.id is None or scene.question != message.id.key:
                continue
            scene.question = None
            current = self._session.exchanges.get(number)
            if current is None or current.state is not ExchangeState.PENDING:  # cancelled, say
                del self._scenes[number]
            elif self._go_on(scene) and scene.recorded.answered:
                return number
        return 0

    def line(self, exchange: Exchange, seq: int) -> bytes | None:
        """Return the line of a recorded answer that was broken; None for one that was none."""
        one = self.replay.around(seq)
        if one is None or one.raw is None or exchange.batch:
            return None
        return renewed(one.raw, {"id": (one.id, exchange.id.token)})

    def finish(self, exchange: Exchange, seq: int) -> None:
        """Say what was said after an answer."""
        one = self.replay.around(seq)
        for said in one.after if one is not None else ():
            self._say(said, {} if one is None else {"id": (one.id, exchange.id.token)})

    def noticed(self, method: str) -> None:
        """Say what was said after a notification of the client's."""
        one = self.replay.reaction(method)
        for said in (*one.before, *one.after) if one is not None else ():
            self._say(said, {})

    def _go_on(self, scene: _Scene) -> bool:
        """Say the next lines up to a question. True when nothing is left to be said."""
        one, exchange = scene.recorded, scene.exchange
        names = {"id": (one.id, exchange.id.token)}
        if one.progress_token:
            names["progressToken"] = (one.progress_token, exchange.progress_token or "")
        while scene.left:
            said = scene.left.pop(0)
            asked = self._say(said, names)
            if asked is not None and asked.id is not None:
                scene.question = asked.id.key
                return False
        del self._scenes[exchange.number]
        return True

    def _say(self, said: RecordedMessage, names: Mapping[str, tuple[str, str]]) -> Message | None:
        """Say one line. Returns it when it asks something."""
        by = f"replay: {said.seq}"
        if said.message is None:
            self._ledger.write(renewed(said.raw, names), by=by, note=DELIBERATE)
            return None
        if said.message.method == PROGRESS and not names.get("progressToken", ("", "-"))[1]:
            return None  # this time nobody wants to know: there is no token
        line = renewed(said.raw, self._of_message(said, names)).decode("utf-8", "replace")
        verdict = self._session.submit(line, anyway=True)
        line = verdict.line or verdict.forced or line
        self._ledger.write(line, by=by, note="" if verdict.sendable else DELIBERATE)
        return self._session.awaited[-1] if said.asks and self._session.awaited else None

    def _of_message(
        self, said: RecordedMessage, names: Mapping[str, tuple[str, str]]
    ) -> Mapping[str, tuple[str, str]]:
        """Return which names change in a message: a question has an id that was never used."""
        kept = {name: pair for name, pair in names.items() if name != "id"}
        meta = member(member(said.raw.decode(), "params") or "{}", "_meta") or "{}"
        subscription = member(meta, versions.META_SUBSCRIPTION)
        if subscription in self._given:
            kept[versions.META_SUBSCRIPTION] = (subscription, self._given[subscription])
        if said.asks and said.message is not None and said.message.id is not None:
            token = said.message.id.token
            again = f"{len(self._said)}-{token.strip(chr(34))}"
            kept["id"] = (token, f'"{again}"' if said.seq in self._said else token)
            self._said.add(said.seq)
        return kept
