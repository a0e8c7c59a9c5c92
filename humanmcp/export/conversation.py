"""A recording, understood: what each line is, what it is about, and which answer is whose.

The formats that people read, and those that run, are written from this.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

from humanmcp.answering.summary import GIST, LineKind, line_kind, message_in, summary_of
from humanmcp.locales.explain import explain
from humanmcp.protocol.conversation.exchange import name_of
from humanmcp.protocol.conversation.state import (
    ConversationState,
    ObservedMessage,
)
from humanmcp.protocol.conversation.transcript import Direction, Frame, Perspective
from humanmcp.protocol.http.client import words_of
from humanmcp.protocol.json import jsonrpc
from humanmcp.protocol.json.jsonrpc import Batch, Kind, Malformed, Message, one_line
from humanmcp.protocol.json.tree import follow, text_at
from humanmcp.protocol.spec import versions
from humanmcp.protocol.validation.whole_conversation import hints

if TYPE_CHECKING:
    from collections.abc import Mapping

    from humanmcp.export.reading import Recording
    from humanmcp.locales.explain import Card
    from humanmcp.protocol.conversation.exchange import Exchange, NegotiatedState
    from humanmcp.protocol.diagnostics.model import Diagnostic


ASKING: Final = frozenset({LineKind.REQUEST, LineKind.NOTIFICATION})
ANSWERING: Final = frozenset({LineKind.RESULT, LineKind.ERROR})


@dataclass(frozen=True, slots=True)
class Entry:
    """One recorded line. `message` is None for what was no message, or no line of the wire.

    `observed` is what it is about, where that is known.
    """

    frame: Frame
    kind: LineKind
    version: str
    message: Message | None = None
    observed: ObservedMessage | None = None
    hints: tuple[Diagnostic, ...] = ()

    @property
    def method(self) -> str:
        """The method, or that of the request that is answered; "" for none."""
        if self.observed is not None:
            return self.observed.method
        return self.message.method if self.message else ""

    @property
    def name(self) -> str:
        """The tool, prompt or address it is about; "" for none."""
        if self.observed is not None:
            return self.observed.name
        return name_of(self.message) if self.message else ""

    @property
    def gist(self) -> str:
        """What it holds, in a few words."""
        if self.message is None:
            return one_line(words_of(self.frame) or self.frame.note or self.frame.text, GIST)
        return summary_of(self.message).gist

    def card(self) -> Card:
        """Return what it means, in words, to a reader who takes no part."""
        return explain(
            self.method,
            self.version,
            asks=self.kind is LineKind.REQUEST,
            role="reader",
            inwards=self.frame.direction is Direction.IN,
        )

    @property
    def words(self) -> str:
        """What it is and what it holds, as a row of a list says it."""
        what = " ".join(part for part in (self.method, self.name) if part)
        return one_line(f"{what or self.kind.value}: {self.gist}" if self.gist else what, GIST * 2)


@dataclass(frozen=True, slots=True)
class Call:
    """A request and its answer, as one side saw them; `answer` is None where there was none."""

    asked: Exchange
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
    """A whole session. `calls` are in the order of the requests, both sides' together.

    `entries` are all lines as they stand in the record; `seen` only those that one side saw, in the
    order in which it saw them.
    """

    name: str
    entries: tuple[Entry, ...]
    seen: tuple[Entry, ...]
    calls: tuple[Call, ...]
    negotiated: NegotiatedState
    version: str
    server_info: Mapping[str, Any] = field(default_factory=dict)
    """What the server says of itself: name, version, title."""

    @property
    def server(self) -> str:
        """The server's name, "" where it did not say."""
        return text_at(self.server_info, "name")

    @property
    def server_version(self) -> str:
        """The server's version, "" where it did not say."""
        return text_at(self.server_info, "version")

    @property
    def client(self) -> str:
        """Name and version of the client, "" where it did not say."""
        return f"{self.negotiated.client_name} {self.negotiated.client_version}".strip()

    def asked_by_client(self, method: str = "") -> tuple[Call, ...]:
        """Return the client's requests that were answered, of one method or of all."""
        return tuple(
            call
            for call in self.calls
            if call.asked.direction is Direction.IN
            and call.answer is not None
            and method in ("", call.asked.method)
        )


def build_conversation(recording: Recording, direction: Direction = Direction.IN) -> Conversation:
    """Understand a recording, as the client saw it; `Direction.OUT` is how the server saw it."""
    return _ConversationBuilder(recording, direction).conversation()


class _ConversationBuilder:
    """Goes through the frames once."""

    def __init__(self, recording: Recording, direction: Direction) -> None:
        self._recording = recording
        self._state = ConversationState()
        self._view = Perspective(direction)
        self._entries: list[Entry] = []
        self._seen: list[Entry] = []
        self._calls: dict[int, Call] = {}
        self._server: dict[str, Any] = {}

    def conversation(self) -> Conversation:
        for frame in self._recording.frames:
            entry = self._entry(frame)
            seen = tuple(self._view.feed(frame))
            if frame in seen:
                entry = self._observe(entry)
                self._seen.append(entry)
            for earlier in seen:
                if earlier is not frame:  # it was held, and reaches the other side only now
                    self._seen.append(self._observe(self._entry(earlier)))
            self._entries.append(entry)
        facts = self._recording.facts
        return Conversation(
            name=self._recording.name,
            entries=tuple(self._entries),
            seen=tuple(self._seen),
            calls=tuple(self._calls.values()),
            negotiated=self._state.negotiated,
            version=self._state.version or (facts.protocol_version if facts else ""),
            server_info=self._server,
        )

    def _entry(self, frame: Frame) -> Entry:
        version = self._state.version or versions.LATEST_HANDSHAKE
        found = message_in(frame)
        kind = line_kind(frame, found)
        message = found if isinstance(found, Message) else None
        wrong = found if kind is LineKind.BROKEN and isinstance(found, Malformed) else None
        noted = hints(wrong, self._negotiated, "") if wrong is not None else ()
        return Entry(frame, kind, version, message, hints=noted)

    @property
    def _negotiated(self) -> NegotiatedState:
        return self._state.negotiated

    def _observe(self, entry: Entry) -> Entry:
        if entry.kind is LineKind.BATCH:
            found = jsonrpc.read(entry.frame.raw)
            for item in found.items if isinstance(found, Batch) else ():
                if isinstance(item, Message):
                    self._observe_message(
                        replace(entry, message=item, kind=LineKind(item.kind.value)), item
                    )
            return entry
        return self._observe_message(entry, entry.message) if entry.message else entry

    def _observe_message(self, entry: Entry, message: Message) -> Entry:
        observed = self._state.observe(entry.frame.direction, message)
        version = observed.request.version if observed.request else self._state.version
        found = hints(observed, self._negotiated, self._state.version)
        entry = replace(entry, observed=observed, hints=found, version=version or entry.version)
        request = observed.request
        if request is not None and message.kind is Kind.REQUEST:
            self._calls[request.number] = Call(request, entry)
        elif request is not None and message.kind is not Kind.NOTIFICATION:
            self._calls[request.number] = replace(self._calls[request.number], answer=entry)
            self._meet_server(request, message)
        return entry

    def _meet_server(self, request: Exchange, message: Message) -> None:
        """Learn the server's name, which each era says in its own place."""
        modern = ("_meta", versions.META_SERVER)
        place = ("serverInfo",) if request.method == "initialize" else modern
        info = follow(message.body, "result", *place)
        if isinstance(info, dict) and request.direction is Direction.IN:
            self._server = info
