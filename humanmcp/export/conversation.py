"""A recording, understood: what each line is, what it is about, and which answer is whose.

The formats that people read, and those that run, are written from this.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from humanmcp.answering.summary import GIST, summary_of
from humanmcp.protocol.conversation.perspective import Perspective
from humanmcp.protocol.conversation.state import (
    ConversationState,
    ObservedMessage,
    ObservedRequest,
    name_of,
)
from humanmcp.protocol.conversation.transcript import Direction, Frame
from humanmcp.protocol.json import jsonrpc
from humanmcp.protocol.json.escaping import one_line
from humanmcp.protocol.json.jsonrpc import Batch, Kind, Malformed, Message
from humanmcp.protocol.spec import versions
from humanmcp.protocol.validation.observed import hints

if TYPE_CHECKING:
    from collections.abc import Mapping

    from humanmcp.export.reading import Recording
    from humanmcp.protocol.conversation.exchange import Known
    from humanmcp.protocol.diagnostics.model import Diagnostic


@dataclass(frozen=True, slots=True)
class Entry:
    """One recorded line. `message` is None for what was no message, or no line of the wire.

    `heard` is what it is about, where that is known. `kind` is request, notification, result,
    error, batch, broken, note or err.
    """

    frame: Frame
    kind: str
    revision: str
    message: Message | None = None
    heard: ObservedMessage | None = None
    hints: tuple[Diagnostic, ...] = ()

    @property
    def method(self) -> str:
        """The method, or that of the request that is answered; "" for none."""
        if self.heard is not None:
            return self.heard.method
        return self.message.method if self.message else ""

    @property
    def name(self) -> str:
        """The tool, prompt or address it is about; "" for none."""
        if self.heard is not None:
            return self.heard.name
        return name_of(self.message) if self.message else ""

    @property
    def gist(self) -> str:
        """What it holds, in a few words."""
        if self.message is None:
            return one_line(self.frame.note or self.frame.text, GIST)
        return summary_of(self.message).gist

    @property
    def words(self) -> str:
        """What it is and what it holds, as a row of a list says it."""
        what = " ".join(part for part in (self.method, self.name) if part)
        return one_line(f"{what or self.kind}: {self.gist}" if self.gist else what, GIST * 2)


@dataclass(frozen=True, slots=True)
class Call:
    """A request and its answer, as one side saw them; `answer` is None where there was none."""

    asked: ObservedRequest
    request: Entry
    answer: Entry | None = None

    @property
    def result(self) -> Any:  # noqa: ANN401 - any JSON value
        """The result that was given; None for an error, and for no answer."""
        return self._member("result")

    @property
    def error(self) -> Any:  # noqa: ANN401 - any JSON value
        """The error that was given; None for a result, and for no answer."""
        return self._member("error")

    def _member(self, name: str) -> Any:  # noqa: ANN401 - any JSON value
        message = self.answer.message if self.answer else None
        return message.body.get(name) if message else None


@dataclass(frozen=True, slots=True)
class Conversation:
    """A whole session. `talks` are in the order of the requests, both sides' together.

    `turns` are all lines as they stand in the record; `seen` only those that one side saw, in the
    order in which it saw them.
    """

    name: str
    turns: tuple[Entry, ...]
    seen: tuple[Entry, ...]
    talks: tuple[Call, ...]
    known: Known
    revision: str
    server_info: Mapping[str, Any] = field(default_factory=dict)
    """What the server says of itself: name, version, title."""

    @property
    def server(self) -> str:
        """The server's name, "" where it did not say."""
        return _text(self.server_info.get("name"))

    @property
    def server_version(self) -> str:
        """The server's version, "" where it did not say."""
        return _text(self.server_info.get("version"))

    @property
    def client(self) -> str:
        """Name and version of the client, "" where it did not say."""
        return f"{self.known.client_name} {self.known.client_version}".strip()

    def asked_by_client(self, method: str = "") -> tuple[Call, ...]:
        """Return the client's requests that were answered, of one method or of all."""
        return tuple(
            talk
            for talk in self.talks
            if talk.asked.way is Direction.IN
            and talk.answer is not None
            and method in ("", talk.asked.method)
        )


def tell(recording: Recording, side: Direction = Direction.IN) -> Conversation:
    """Understand a recording, as the client saw it; `Direction.OUT` is how the server saw it."""
    return _Telling(recording, side).story()


class _Telling:
    """Goes through the frames once."""

    def __init__(self, recording: Recording, side: Direction) -> None:
        self._recording = recording
        self._conversation = ConversationState()
        self._view = Perspective(side)
        self._turns: list[Entry] = []
        self._seen: list[Entry] = []
        self._talks: dict[int, Call] = {}
        self._server: dict[str, Any] = {}

    def story(self) -> Conversation:
        for frame in self._recording.frames:
            turn = self._turn(frame)
            seen = tuple(self._view.feed(frame))
            if frame in seen:
                turn = self._hear(turn)
                self._seen.append(turn)
            for earlier in seen:
                if earlier is not frame:  # it was held, and reaches the other side only now
                    self._seen.append(self._hear(self._turn(earlier)))
            self._turns.append(turn)
        facts = self._recording.facts
        return Conversation(
            name=self._recording.name,
            turns=tuple(self._turns),
            seen=tuple(self._seen),
            talks=tuple(self._talks.values()),
            known=self._conversation.known,
            revision=self._conversation.revision or (facts.revision if facts else ""),
            server_info=self._server,
        )

    def _turn(self, frame: Frame) -> Entry:
        revision = self._conversation.revision or versions.LATEST_HANDSHAKE
        if frame.way in (Direction.NOTE, Direction.ERR):
            return Entry(frame, frame.way.value, revision)
        match jsonrpc.read(frame.raw):
            case Message() as message:
                return Entry(frame, message.kind.value, revision, message)
            case Batch():
                return Entry(frame, "batch", revision)
            case Malformed() as malformed:
                if not frame.raw.strip():
                    return Entry(frame, "blank", revision)
                return Entry(frame, "broken", revision, hints=hints(malformed, self._known, ""))

    @property
    def _known(self) -> Known:
        return self._conversation.known

    def _hear(self, turn: Entry) -> Entry:
        if turn.kind == "batch":
            found = jsonrpc.read(turn.frame.raw)
            for item in found.items if isinstance(found, Batch) else ():
                if isinstance(item, Message):
                    self._hear_message(replace(turn, message=item, kind=item.kind.value), item)
            return turn
        return self._hear_message(turn, turn.message) if turn.message else turn

    def _hear_message(self, turn: Entry, message: Message) -> Entry:
        heard = self._conversation.observe(turn.frame.way, message)
        revision = heard.asked.revision if heard.asked else self._conversation.revision
        found = hints(heard, self._known, self._conversation.revision)
        turn = replace(turn, heard=heard, hints=found, revision=revision or turn.revision)
        asked = heard.asked
        if asked is not None and message.kind is Kind.REQUEST:
            self._talks[asked.number] = Call(asked, turn)
        elif asked is not None and message.kind is not Kind.NOTIFICATION:
            self._talks[asked.number] = replace(self._talks[asked.number], answer=turn)
            self._meet_server(asked, message)
        return turn

    def _meet_server(self, asked: ObservedRequest, message: Message) -> None:
        """Learn the server's name, which each era says in its own place."""
        result = message.body.get("result")
        if not isinstance(result, dict) or asked.way is not Direction.IN:
            return
        meta = result.get("_meta")
        modern = meta.get(versions.META_SERVER) if isinstance(meta, dict) else None
        info = result.get("serverInfo") if asked.method == "initialize" else modern
        if isinstance(info, dict):
            self._server = info


def _text(value: Any) -> str:  # noqa: ANN401 - any JSON value
    return value if isinstance(value, str) else ""
