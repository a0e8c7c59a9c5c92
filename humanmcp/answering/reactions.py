"""The client's reactions to what was sent, read from the transcript of a session.

    a changed list          listed again, never, or listed and the old tool called anyway
    a question              answered, declined by a person or automatically, refused, open
    progress                how long the client waited with it
    a cancellation          after how long; what an answer after it led to
    a wrong line            not a message, or an unknown id: did the client continue
    a fault of HTTP         in the response with an answer: did the client continue

Pure: it reads only the transcript. The sentences are in `locales/`, section `[reaction]`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import chain
from typing import TYPE_CHECKING, Any, Final

from humanmcp.answering.summary import message_in
from humanmcp.common.timestamps import seconds_of
from humanmcp.locales import say
from humanmcp.protocol.conversation.transcript import ON_PURPOSE, Direction, Perspective
from humanmcp.protocol.http.http_faults import TAKEN_BACK
from humanmcp.protocol.json.jsonrpc import Kind, Malformed, Message, RequestId
from humanmcp.protocol.json.tree import object_at, objects_at, text_at
from humanmcp.protocol.json.visible import one_line
from humanmcp.protocol.tables import methods

if TYPE_CHECKING:
    from collections.abc import Iterable

    from humanmcp.protocol.conversation.transcript import Frame

BY_ITSELF: Final = 1.0
"""Seconds in which no person can read and decline a question."""
WATCHED: Final = 2000
"""The most lines of a session that are searched for reactions."""
_OF_AN_ANSWER: Final = ("wrong", "late", "carried")
_CARRIED: Final = f"{ON_PURPOSE}http "
_CHANGED: Final = "/list_changed"
_LISTS: Final = {one.name: one.capability for one in methods.LISTS}
_NAMES: Final = {"tools": ("tools", "tools/call"), "prompts": ("prompts", "prompts/get")}
"""Lists whose entries are called by name: the member of the list, and the calling method."""


@dataclass(frozen=True, slots=True)
class ClientReaction:
    """The reaction to one sent line, so far. `seq` is the line, `after` is in seconds.

    `what` is the method, `became` the code of the sentence, `name` a tool where one counts.
    """

    seq: int
    at: str
    what: str
    became: str
    after: float = 0.0
    name: str = ""
    times: int = 1

    @property
    def is_open(self) -> bool:
        """Return True if the client has not reacted so far."""
        return self.became.endswith(("open", "never"))

    @property
    def is_of_an_answer(self) -> bool:
        """Return True if it is about an answer that was wrong, late or wrong in HTTP."""
        return self.became.startswith(_OF_AN_ANSWER)

    def sentence(self) -> str:
        fillings = {"what": self.what, "name": self.name, "times": self.times}
        return say("reaction", self.became, seconds=f"{round(self.after, 2):g}", **fillings)


def reactions(frames: Iterable[Frame]) -> tuple[ClientReaction, ...]:
    """Return the client's reactions to the sent lines, in order."""
    watch, view = _Watch(), Perspective(Direction.IN)
    orders = ([one] if one.note.startswith(_CARRIED) else view.feed(one) for one in frames)
    for frame in chain.from_iterable(orders):
        found = message_in(frame)
        if frame.note.startswith(_CARRIED):
            watch.carried = frame.note.removeprefix(_CARRIED).replace(TAKEN_BACK, "")
        if isinstance(found, Malformed) and frame.direction is Direction.OUT:
            watch.said_wrongly(frame)
        if not isinstance(found, Message):
            continue
        (watch.heard if frame.direction is Direction.IN else watch.said)(frame, found)
    return tuple(sorted(watch.found.values(), key=lambda one: one.seq))


def carried_wrongly(frames: Iterable[Frame]) -> bool:
    """Return True if one of these lines orders an HTTP fault for an answer."""
    return any(one.note.startswith(_CARRIED) for one in frames)


class _Watch:
    """Sent lines without a reaction yet. `found` has the reactions by their subject."""

    def __init__(self) -> None:
        self.found: dict[tuple[str, object], ClientReaction] = {}
        self.asked: dict[object, tuple[Frame, Message]] = {}
        """The client's open requests, by id."""
        self.ids: set[object] = set()
        """Every id that the client has used."""
        self.tokens: dict[object, object] = {}
        """From a progress token to the id of its request."""
        self.cancelled: dict[object, Frame] = {}
        self.carried = ""
        """The HTTP fault of the next answer."""
        self.listed: dict[str, set[str]] = {}
        self.gone: dict[str, set[str]] = {}
        """Names that were listed once and are not in the last list."""

    def said(self, frame: Frame, message: Message) -> None:
        """Note an outgoing line."""
        if message.kind is Kind.NOTIFICATION:
            self._notified(frame, message)
        elif message.kind is Kind.REQUEST and message.id is not None:
            self._add(("ask", message.id.key), frame, message.method, "ask.open")
        elif message.id is not None:
            self._answered(frame, message, message.id.key)

    def said_wrongly(self, frame: Frame) -> None:
        """Note an outgoing line with a fault."""
        self._add(("wrong", frame.seq), frame, "", "wrong.open")

    def _notified(self, frame: Frame, message: Message) -> None:
        if message.method.endswith(_CHANGED):
            capability = message.method.split("/")[1]
            key = (f"list {capability}", frame.seq)
            for old in [one for one in self.found if one[0] == key[0]]:
                if self.found[old].became == "list.never":
                    del self.found[old]  # the client may answer several notices with one request
            self._add(key, frame, f"{capability}/list", "list.never")
        elif message.method == "notifications/progress":
            token = message.params.get("progressToken")
            of = self.tokens.get(_plain(token), token)
            known = self.found.get(("progress", of))
            if known is None:
                self._add(("progress", of), frame, "notifications/progress", "progress.open")
            else:
                self.found["progress", of] = replace(known, times=known.times + 1)

    def _answered(self, frame: Frame, message: Message, token: object) -> None:
        request = self.asked.pop(token, None)
        if token not in self.ids and (frame.note or not frame.number):
            self.said_wrongly(frame)  # else its request was said before the first line at hand
        late = self.cancelled.get(token)
        if late is not None:
            self._add(("late", frame.seq), frame, "", "late.open", _between(late, frame))
        if self.carried:
            self._add(("carried", frame.seq), frame, self.carried, "carried.open")
            self.carried = ""
        if request is None:
            return
        self._settle(("progress", token), "progress.waited", _between(request[0], frame))
        result = message.body.get("result")
        if isinstance(result, dict):
            if result.get("resultType") == "input_required":
                state = result.get("requestState")
                self._add(("ask", _plain(state)), frame, request[1].method, "ask.open")
            capability = _LISTS.get(request[1].method, "")
            if capability in _NAMES and "cursor" not in request[1].params:
                self._list(capability, result.get(_NAMES[capability][0]))

    def _list(self, capability: str, entries: Any) -> None:  # noqa: ANN401 - any JSON value
        named = {str(one["name"]) for one in objects_at(entries) if "name" in one}
        before = self.listed.get(capability, set()) | self.gone.get(capability, set())
        self.listed[capability], self.gone[capability] = named, before - named

    def heard(self, frame: Frame, message: Message) -> None:
        """Note a line of the client."""
        for key in [one for one in self.found if one[0] in _OF_AN_ANSWER]:
            self._settle(key, f"{key[0]}.went on")
        if message.kind is Kind.REQUEST and message.id is not None:
            self._requested(frame, message, message.id.key)
        elif message.kind is Kind.NOTIFICATION and message.method == "notifications/cancelled":
            token = _plain(message.params.get("requestId"))
            request = self.asked.get(token)
            if request is not None:
                waited = _between(request[0], frame)
                self.cancelled[token] = frame
                self._settle(("progress", token), "progress.gave up", waited)
                self._add(("cancel", frame.seq), frame, request[1].method, "cancelled", waited)
        elif message.id is not None:
            self._was_told(("ask", message.id.key), frame, message)

    def _requested(self, frame: Frame, message: Message, token: object) -> None:
        self.asked[token] = (frame, message)
        self.ids.add(token)
        given = message.meta.get("progressToken")
        if given is not None:
            self.tokens[_plain(given)] = token
        state = message.params.get("requestState")
        if state is not None:
            self._was_told(("ask", _plain(state)), frame, message)
        capability = _LISTS.get(message.method)
        for (kind, seq), reaction in list(self.found.items()):
            if kind == f"list {capability}" and reaction.became in ("list.never", "list.unlisted"):
                self._settle((kind, seq), "list.again", _between(reaction, frame))
        self._called(message)

    def _called(self, message: Message) -> None:
        """Note a call of a removed tool."""
        name = str(message.params.get("name"))
        for capability, (_, method) in _NAMES.items():
            if message.method != method:
                continue
            for key in [one for one in self.found if one[0] == f"list {capability}"][-1:]:
                if self.found[key].became == "list.again" and name in self.gone.get(capability, ()):
                    self.found[key] = replace(self.found[key], became="list.old", name=name)
                elif self.found[key].became == "list.never":
                    self.found[key] = replace(self.found[key], became="list.unlisted", name=name)

    def _was_told(self, key: tuple[str, object], frame: Frame, message: Message) -> None:
        """Note the response to a request of ours."""
        asked = self.found.get(key)
        if asked is None:
            return
        after = _between(asked, frame)
        actions = set(_actions(message))
        if message.kind is Kind.ERROR:
            became = "ask.refused"
        elif actions & {"decline", "cancel"}:
            became = "ask.by itself" if after < BY_ITSELF else "ask.declined"
        else:
            became = "ask.answered"
        self._settle(key, became, after)

    def _add(
        self, key: tuple[str, object], frame: Frame, what: str, became: str, after: float = 0.0
    ) -> None:
        self.found[key] = ClientReaction(frame.seq, frame.at, one_line(what, 60), became, after)

    def _settle(self, key: tuple[str, object], became: str, after: float | None = None) -> None:
        if key in self.found:
            known = self.found[key]
            self.found[key] = replace(
                known, became=became, after=known.after if after is None else after
            )


def _actions(message: Message) -> Iterable[str]:
    """List what users did: accept, decline, cancel."""
    responses = object_at(message.params, "inputResponses").values()
    for one in (message.body.get("result"), *responses):
        yield text_at(one, "action")


def _plain(value: object) -> object:
    """Return an id or a token as a comparable key."""
    return RequestId.of(value).key if isinstance(value, (int, str)) else None


def _between(first: Frame | ClientReaction, last: Frame) -> float:
    return max(0.0, seconds_of(last.at) - seconds_of(first.at))
