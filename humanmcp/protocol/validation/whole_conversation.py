"""A whole conversation, judged: every line of both sides, in the order in which they were said.

The same ears and the same check that a tap has. Knows no file: lines come in with the number that
they have where they stand.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from humanmcp.protocol.conversation.perspective import Perspective
from humanmcp.protocol.conversation.state import ConversationState, ObservedMessage
from humanmcp.protocol.conversation.transcript import Direction
from humanmcp.protocol.json import jsonrpc
from humanmcp.protocol.json.jsonrpc import Batch, Malformed, Message
from humanmcp.protocol.spec import methods, versions
from humanmcp.protocol.validation.observed import hints, line_hints
from humanmcp.protocol.validation.unanswered import Unanswered

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from humanmcp.protocol.conversation.transcript import Frame
    from humanmcp.protocol.diagnostics.model import Diagnostic
    from humanmcp.protocol.validation.unanswered import NeverAnswered


class Judged(NamedTuple):
    """A message, or a line that is none, and what is wrong with it.

    `line` is where it stands. `method` is its own, or that of the request that it answers.
    """

    line: int
    direction: Direction
    text: str
    method: str = ""
    id: str = ""
    diagnostics: tuple[Diagnostic, ...] = ()


class ConversationJudge:
    """Judges line after line. `revision` counts until the two sides agree on one."""

    def __init__(self, revision: str = "", *, initialized: bool = False) -> None:
        """Start with nothing heard; `initialized` for what stands alone, without its handshake."""
        self._conversation = ConversationState()
        self._conversation.negotiated = revision
        if initialized:
            self._conversation.established = self._conversation.established._replace(
                initialized=True
            )
        self._unanswered = Unanswered()

    @property
    def revision(self) -> str:
        """The revision that counts by now."""
        return self._conversation.revision or versions.LATEST_HANDSHAKE

    def line(self, number: int, direction: Direction, raw: bytes) -> tuple[Judged, ...]:
        """Judge one line: the line as such, and each message in it."""
        if not raw.strip():
            return ()
        found = jsonrpc.read(raw)
        about = line_hints(raw, found, self.revision, strict=True)
        match found:
            case Message() as message:
                return (self._message(number, direction, message, about),)
            case Batch() as batch:
                items = [
                    self._message(number, direction, item, ())
                    if isinstance(item, Message)
                    else self._broken(number, direction, item)
                    for item in batch.items
                ]
                return (Judged(number, direction, batch.raw, diagnostics=about), *items)
            case Malformed() as malformed:
                return (self._broken(number, direction, malformed, about),)

    def _message(
        self, number: int, direction: Direction, message: Message, about: tuple[Diagnostic, ...]
    ) -> Judged:
        observed = self._conversation.observe(direction, message)
        self._unanswered.heard(number, observed)
        found = (
            *about,
            *hints(observed, self._conversation.established, self.revision, strict=True),
        )
        unanswered = self._unanswered.checked(number, observed, found)
        return _judged(number, observed, (*found, *_effect(unanswered)))

    def _broken(
        self,
        number: int,
        direction: Direction,
        malformed: Malformed,
        about: tuple[Diagnostic, ...] = (),
    ) -> Judged:
        waiting = [
            request for request in self._conversation.open if request.direction is not direction
        ]
        unanswered = self._unanswered.broken(number, malformed, waiting)
        found = hints(malformed, self._conversation.established, self.revision)
        return Judged(
            number, direction, malformed.text, diagnostics=(*about, *found, *_effect(unanswered))
        )

    def end(self) -> tuple[Judged, ...]:
        """Name the requests that never got an answer; whose answer was dropped is named already."""
        return tuple(
            Judged(
                one.seq,
                one.request.direction,
                one.request.request.raw,
                diagnostics=(one.diagnostic,),
            )._replace(method=one.request.method)
            for one in self._unanswered.left(self._conversation)
            if not one.dropped
        )

    def speaker(self, raw: bytes) -> Direction:
        """Guess who said a line that comes without a direction: by what only one side may say.

        An answer is from the side that was asked; what both may say is taken for the client's.
        """
        found = jsonrpc.read(raw)
        message = found.items[0] if isinstance(found, Batch) else found
        if not isinstance(message, Message):
            return Direction.OUT  # servers print what is no message, clients hardly ever
        if message.kind.is_answer:
            own = None if message.id is None else message.id.key
            asked = (one for one in self._conversation.open if one.request.id is not None)
            ways = [one.direction for one in asked if one.request.id and one.request.id.key == own]
            return Direction.IN if ways[:1] == [Direction.OUT] else Direction.OUT
        return Direction.OUT if _only_servers_say(message.method) else Direction.IN


def _only_servers_say(method: str) -> bool:
    record = methods.of(method)
    return record.from_servers or (bool(record.to_client) and not record.to_server)


def _judged(number: int, observed: ObservedMessage, diagnostics: tuple[Diagnostic, ...]) -> Judged:
    token = observed.message.id.token if observed.message.id is not None else ""
    return Judged(
        number, observed.direction, observed.message.raw, observed.method, token, diagnostics
    )


def _effect(unanswered: NeverAnswered | None) -> tuple[Diagnostic, ...]:
    return () if unanswered is None else (unanswered.diagnostic,)


def judge_frames(frames: Iterable[tuple[int, Frame]], revision: str = "") -> Iterator[Judged]:
    """Judge a recording, as the client saw it. Each frame comes with the line it stands on."""
    overheard, view = ConversationJudge(revision), Perspective(Direction.IN)
    lines: dict[int, int] = {}
    for number, frame in frames:
        lines[frame.seq] = number
        for seen in view.feed(frame):
            yield from overheard.line(lines[seen.seq], seen.direction, seen.raw)
    yield from overheard.end()


def judge_messages(lines: Iterable[bytes], revision: str = "") -> Iterator[Judged]:
    """Judge messages as they stand in a pipe, a line each, of both sides."""
    overheard = ConversationJudge(revision)
    for number, raw in enumerate(lines, 1):
        yield from overheard.line(number, overheard.speaker(raw), raw)
    yield from overheard.end()
