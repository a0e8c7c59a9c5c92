"""Find and read a recorded session, and work out its conversation.

A recording is a session of the inbox (by its name or the beginning of it), the newest one, a
transcript file, a session's folder, or a text log in the format of the first capture script. The
formats are written from its `RecordedConversation`: what each line is, and which answer belongs to
which request.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from humanmcp.answering.alone import judge_recording, told, unchecked
from humanmcp.answering.files import read_file
from humanmcp.answering.summary import (
    GIST,
    LineKind,
    line_kind,
    message_in,
    row_title,
    sessions_named,
    summary_of,
    summary_of_frame,
)
from humanmcp.common.terminal import to_stderr
from humanmcp.common.timestamps import from_log_time
from humanmcp.inbox import open_inbox
from humanmcp.inbox.contract import DeskInbox, InboxError, SessionFacts
from humanmcp.locales.explain import explain
from humanmcp.locales.stop import stopped
from humanmcp.protocol.conversation.exchange import name_of
from humanmcp.protocol.conversation.state import ConversationState, ObservedMessage
from humanmcp.protocol.conversation.transcript import Direction, Frame, Perspective, is_foreign
from humanmcp.protocol.http.client import part_in_words
from humanmcp.protocol.json import jsonrpc
from humanmcp.protocol.json.jsonrpc import Batch, Kind, Message
from humanmcp.protocol.json.tree import follow, text_at
from humanmcp.protocol.json.visible import one_line
from humanmcp.protocol.tables import versions
from humanmcp.protocol.validation.captures import captured_line, frames_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import tzinfo

    from humanmcp.locales.explain import Card
    from humanmcp.protocol.conversation.exchange import Exchange, NegotiatedState
    from humanmcp.protocol.diagnostics.model import Diagnostic
    from humanmcp.protocol.validation.whole_conversation import Judged


LAST: Final = "last"
TRANSCRIPT: Final = "transcript.jsonl"


@dataclass(frozen=True, slots=True)
class Recording:
    """The frames of one session. `facts` is set if it comes from the inbox."""

    name: str
    frames: tuple[Frame, ...]
    facts: SessionFacts | None = None


def find_recording(
    wanted: str, home: Path, zone: tzinfo | None = None, *, inbox: str = ""
) -> Recording:
    """Find and read a recording. What of a file is no message is said on stderr.

    `zone` is that of a text log, None for this machine's. `inbox` is the address of the database
    if sessions are in one.

    Raises:
        StopError: no recording matches, or several do.
    """
    path = Path(wanted).expanduser()
    if wanted != LAST and path.exists():
        found = recording_of(path, zone)
        for one in unchecked([captured_line(frame) for frame in found.frames]):
            if one.code != "foreign":  # those are exported as what they are
                to_stderr(wanted, ": ", one.sentence)
        return found
    return _from_inbox(wanted, open_inbox(home, inbox))


def _from_inbox(wanted: str, inbox: DeskInbox) -> Recording:
    sessions = inbox.sessions()
    named = sessions if wanted == LAST else sessions_named(sessions, wanted)
    if not named:
        raise stopped("export", "no session yet" if wanted == LAST else "no session", what=wanted)
    if wanted != LAST and len(named) > 1:
        raise stopped("export", "several sessions", what=wanted, count=len(named))
    facts = named[0]
    try:
        return Recording(facts.name, tuple(inbox.frames(facts.name)), facts)
    except InboxError as error:
        raise stopped("export", "unreadable", what=wanted, why=error) from error


def recording_of(path: Path, zone: tzinfo | None = None) -> Recording:
    """Read a recording: a transcript, a session's folder, or a text log.

    Raises:
        StopError: it cannot be read, or has no messages.
    """
    name = path.name if path.is_dir() else path.parent.name
    if path.is_dir():
        path /= TRANSCRIPT
    elif path.name != TRANSCRIPT:
        name = path.stem
    try:
        content = path.read_bytes()
    except OSError as error:
        raise stopped("export", "unreadable", what=path, why=error) from error
    return Recording(name, frames_in(content, path, zone))


def frames_in(content: bytes, name: object, zone: tzinfo | None = None) -> tuple[Frame, ...]:
    """Return the lines of a recording, whoever wrote it, or of a file with one message.

    Raises:
        StopError: it has no messages. The sentence says what it is instead.
    """
    captured = read_file(content).messages(name)
    return tuple(frames_of(captured, lambda time: from_log_time(time, zone)))


@dataclass(frozen=True, slots=True)
class ExportOptions:
    """Options of all formats. `zone` is None for the zone of this machine."""

    zone: tzinfo | None = None
    command: tuple[str, ...] = ()
    """The command that starts the real server, for a test that runs it; empty for unknown."""


NOTED: Final = "\u2605"
"""The beginning of the note of a NOTE frame that a person put at the line before it."""


def with_notes(recording: Recording, notes: Mapping[int, str]) -> Recording:
    """Return a recording with people's notes after their lines."""
    frames: list[Frame] = []
    for frame in recording.frames:
        frames.append(frame)
        if frame.seq in notes:
            note = f"{NOTED} {notes[frame.seq]}".rstrip()
            frames.append(Frame(frame.seq, frame.at, Direction.NOTE, b"", note=note))
    return replace(recording, frames=tuple(frames))


# -- the conversation in a recording ---------------------------------------------------------------


ASKING: Final = frozenset({LineKind.REQUEST, LineKind.NOTIFICATION})
ANSWERING: Final = frozenset({LineKind.RESULT, LineKind.ERROR})
PROMPTING: Final = frozenset({LineKind.PROMPT, LineKind.DECISION})
FOREIGN_ASKS: Final = frozenset({LineKind.PROMPT, LineKind.STEP})
FOREIGN_ANSWERS: Final = frozenset({LineKind.DECISION, LineKind.STEP_ANSWER})


@dataclass(frozen=True, slots=True)
class RecordedEntry:
    """One recorded line. `message` is None if the line is not one message.

    `observed` has the request that the message belongs to, if that is known.
    """

    frame: Frame
    kind: LineKind
    version: str
    message: Message | None = None
    observed: ObservedMessage | None = None
    hints: tuple[Diagnostic, ...] = ()

    @property
    def method(self) -> str:
        """The method, or that of the answered request; "" for none."""
        if self.observed is not None:
            return self.observed.method
        return self.message.method if self.message else ""

    @property
    def name(self) -> str:
        """The tool, prompt or address; "" for none."""
        if self.observed is not None:
            return self.observed.name
        return name_of(self.message) if self.message else ""

    @property
    def gist(self) -> str:
        """The content, in a few words."""
        said = summary_of_frame(self.frame)
        if said is not None:
            return ": ".join(filter(None, (row_title(said), said.gist)))
        if self.message is None:
            return one_line(part_in_words(self.frame) or self.frame.remark or self.frame.text, GIST)
        return summary_of(self.message).gist

    def card(self) -> Card:
        """Return the explanation of the line for an onlooker."""
        return explain(
            self.method,
            self.version,
            asks=self.kind is LineKind.REQUEST,
            role="reader",
            inwards=self.frame.direction is Direction.IN,
        )

    @property
    def words(self) -> str:
        """The method, name and content, as in a row of a list."""
        if is_foreign(self.frame):
            return self.gist
        what = " ".join(part for part in (self.method, self.name) if part)
        return one_line(f"{what or self.kind.value}: {self.gist}" if self.gist else what, GIST * 2)


@dataclass(frozen=True, slots=True)
class Call:
    """A request and its answer, as one side saw them; `answer` is None without an answer."""

    asked: Exchange
    request: RecordedEntry
    answer: RecordedEntry | None = None

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
class RecordedConversation:
    """A whole session. `calls` has the requests of both sides, in order.

    `entries` has all recorded lines; `seen` only those that one side saw, in the order in which it
    saw them.
    """

    name: str
    entries: tuple[RecordedEntry, ...]
    seen: tuple[RecordedEntry, ...]
    calls: tuple[Call, ...]
    negotiated: NegotiatedState
    version: str
    server_info: Mapping[str, Any] = field(default_factory=dict)
    """The server's `serverInfo`: name, version, title."""

    @property
    def is_of_agent(self) -> bool:
        """Return True for the permission prompts of an agent, which are no messages."""
        return any(one.kind in PROMPTING for one in self.entries)

    @property
    def server(self) -> str:
        return text_at(self.server_info, "name")

    @property
    def server_version(self) -> str:
        return text_at(self.server_info, "version")

    @property
    def server_in_words(self) -> str:
        """Name and version of the server, or ""."""
        return f"{self.server} {self.server_version}".strip()

    @property
    def client(self) -> str:
        """Name and version of the client, or ""."""
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


def build_conversation(
    recording: Recording,
    direction: Direction = Direction.IN,
    problems: Mapping[int, Sequence[Judged]] = MappingProxyType({}),
) -> RecordedConversation:
    """Build the conversation as the client saw it; `Direction.OUT` is how the server saw it.

    `problems` are the messages with problems, by the numbers of their lines.
    """
    return _ConversationBuilder(recording, direction, problems).conversation()


def problems_in(recording: Recording) -> dict[int, list[Judged]]:
    """Return the messages with problems, by the numbers of their lines: as `check` tells them."""
    goes_on = recording.facts is not None and recording.facts.is_open
    found: dict[int, list[Judged]] = {}
    frames = ((one.seq, one) for one in recording.frames)
    for one in told(judge_recording(frames, goes_on=goes_on)):
        found.setdefault(one.line, []).append(one)
    return found


class _ConversationBuilder:
    """Builds a conversation in one pass over the frames."""

    def __init__(
        self,
        recording: Recording,
        direction: Direction,
        problems: Mapping[int, Sequence[Judged]],
    ) -> None:
        self._recording = recording
        self._problems = problems
        self._state = ConversationState()
        self._view = Perspective(direction)
        self._entries: list[RecordedEntry] = []
        self._seen: list[RecordedEntry] = []
        self._calls: dict[int, Call] = {}
        self._server: dict[str, Any] = {}

    def conversation(self) -> RecordedConversation:
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
        return RecordedConversation(
            name=self._recording.name,
            entries=tuple(self._entries),
            seen=tuple(self._seen),
            calls=tuple(self._calls.values()),
            negotiated=self._state.negotiated,
            version=self._state.version or (facts.protocol_version if facts else ""),
            server_info=self._server,
        )

    def _entry(self, frame: Frame) -> RecordedEntry:
        version = self._state.version or versions.LATEST_HANDSHAKE
        found = message_in(frame)
        kind = line_kind(frame, found)
        message = found if isinstance(found, Message) else None
        noted = (each for one in self._problems.get(frame.seq, ()) for each in one.diagnostics)
        return RecordedEntry(frame, kind, version, message, hints=tuple(noted))

    def _observe(self, entry: RecordedEntry) -> RecordedEntry:
        if entry.kind is LineKind.BATCH:
            found = jsonrpc.read(entry.frame.raw)
            for item in found.items if isinstance(found, Batch) else ():
                if isinstance(item, Message):
                    part = replace(entry, message=item, kind=LineKind(item.kind.value))
                    self._observe_message(part, item)
            return entry
        return self._observe_message(entry, entry.message) if entry.message else entry

    def _observe_message(self, entry: RecordedEntry, message: Message) -> RecordedEntry:
        observed = self._state.observe(entry.frame.direction, message)
        version = observed.request.version if observed.request else self._state.version
        entry = replace(entry, observed=observed, version=version or entry.version)
        request = observed.request
        if request is not None and message.kind is Kind.REQUEST:
            self._calls[request.number] = Call(request, entry)
        elif request is not None and message.kind is not Kind.NOTIFICATION:
            self._calls[request.number] = replace(self._calls[request.number], answer=entry)
            self._meet_server(request, message)
        return entry

    def _meet_server(self, request: Exchange, message: Message) -> None:
        """Learn the server's name, from `serverInfo` or from `_meta` since 2026-07-28."""
        is_first = request.method == "initialize"
        place = ("serverInfo",) if is_first else ("_meta", versions.META_SERVER)
        info = follow(message.body, "result", *place)
        if isinstance(info, dict) and request.direction is Direction.IN:
            self._server = info
