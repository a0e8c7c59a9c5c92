"""Who sits in a seat and who listens between the two know the same of a conversation."""

import json
from collections import Counter
from collections.abc import Sequence
from typing import Any, Final

from hypothesis import given, settings
from hypothesis import strategies as st

from humanmcp.protocol.conversation.outcomes import Sent
from humanmcp.protocol.conversation.state import ConversationState
from humanmcp.protocol.conversation.transcript import Direction
from humanmcp.protocol.diagnostics.model import TextForm
from humanmcp.protocol.json.jsonrpc import Message, read
from humanmcp.protocol.session import McpSession, Party

STATELESS: Final = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": {"name": "c", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {"elicitation": {}},
}
HELLO: Final = {
    "protocolVersion": "2025-11-25",
    "capabilities": {"roots": {}},
    "clientInfo": {"name": "client", "version": "2"},
}
ASKED: Final[Sequence[tuple[str, dict[str, Any]]]] = (
    ("initialize", HELLO),
    ("server/discover", {"_meta": STATELESS}),
    ("tools/list", {}),
    ("tools/list", {"cursor": "2", "_meta": STATELESS}),
    ("tools/call", {"name": "dice", "_meta": {"progressToken": 7}}),
    ("tools/call", {"name": "dice", "_meta": {**STATELESS, "progressToken": "t"}}),
    ("ping", {}),
)
ANSWERS: Final[Sequence[dict[str, Any]]] = (
    {"tools": [{"name": "dice", "inputSchema": {"type": "object"}}]},
    {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": {}},
    {"resultType": "input_required", "requestState": "s-1", "inputRequests": {}},
    {"content": []},
)


class Overheard:
    """A session in a seat, and an observer that is told of every line that passes."""

    def __init__(self, role: Party) -> None:
        """Begin with nothing said."""
        self.session = McpSession(role)
        self.observer = ConversationState()
        server = role is Party.SERVER
        self.peer = Direction.IN if server else Direction.OUT
        self.own = Direction.OUT if server else Direction.IN
        self.ids = 0

    def peer_says(self, **body: Any) -> None:  # noqa: ANN401 - any JSON value
        """Let the peer send a message."""
        line = json.dumps({"jsonrpc": "2.0", **body}).encode()
        self.session.receive(line)
        self._passed(self.peer, line)

    def we_say(self, line: str | None) -> None:
        """Note what the session wrote."""
        if line is not None:
            self._passed(self.own, line.encode())

    def _passed(self, direction: Direction, line: bytes) -> None:
        message = read(line)
        assert isinstance(message, Message)
        self.observer.observe(direction, message)

    def agree(self) -> None:
        """Compare what both know."""
        assert self.session.negotiated == self.observer.negotiated
        assert self.session.agreed == self.observer.version
        waiting = [one.request for one in self.session.pending if not one.awaiting_retry]
        assert _ids(waiting) == _ids(one.request for one in self.observer.in_flight(self.peer))
        for direction in Direction:
            mine, theirs = (
                self.session.state.in_flight(direction),
                self.observer.in_flight(direction),
            )
            assert _ids(one.request for one in mine) == _ids(one.request for one in theirs)


def _ids(requests: Any) -> Counter[str]:  # noqa: ANN401 - an iterable of messages
    return Counter(f"{one.id.token} {one.method}" for one in requests)


def request(room: Overheard, draw: st.DataObject) -> None:
    """The peer asks something, under an id of its own."""
    method, params = draw.draw(st.sampled_from(ASKED))
    if method == "initialize" and any(
        one.method == "server/discover" for one in room.session.pending
    ):
        return  # the seat ends what a client no longer waits for; an observer cannot know
    if draw.draw(st.booleans()):
        params = {**params, "requestState": "s-1"}
    room.ids += 1
    room.peer_says(id=room.ids, method=method, params=params)


def reply(room: Overheard, draw: st.DataObject) -> None:
    """A person answers something that waits, rightly or not."""
    waiting = [one for one in room.session.pending if not one.awaiting_retry]
    if waiting:
        one = draw.draw(st.sampled_from(waiting))
        text = json.dumps(draw.draw(st.sampled_from(ANSWERS)))
        became = room.session.reply(one.number, text, TextForm.RESULT, anyway=True)
        room.we_say(became.line if isinstance(became, Sent) else None)


def hold(room: Overheard, draw: st.DataObject) -> None:
    """A client of 2026-07-28 is asked to repeat its request, and does so now or later."""
    for one in room.session.pending:
        line = room.session.ask_to_retry(one.number, f"h-{room.ids}")
        if line is not None:
            room.we_say(line)
            if draw.draw(st.booleans()):
                room.ids += 1
                params = {**one.request.params, "requestState": f"h-{room.ids - 1}"}
                room.peer_says(id=room.ids, method=one.method, params=params)
            return


def cancel(room: Overheard, draw: st.DataObject) -> None:
    """The peer cancels something, open or not."""
    wanted = draw.draw(st.integers(0, room.ids + 1))
    room.peer_says(method="notifications/cancelled", params={"requestId": wanted})


def ask(room: Overheard, draw: st.DataObject) -> None:
    """The session asks something of its own."""
    method, params = draw.draw(st.sampled_from(ASKED))
    room.we_say(room.session.ask(method, params).raw)


def answer(room: Overheard, draw: st.DataObject) -> None:
    """The peer answers something, asked for or not."""
    wanted = draw.draw(st.integers(1, 4))
    room.peer_says(id=wanted, result=draw.draw(st.sampled_from(ANSWERS)))


def initialized(room: Overheard, _draw: st.DataObject) -> None:
    """The peer says that the handshake is over."""
    room.peer_says(method="notifications/initialized")


def progress(room: Overheard, _draw: st.DataObject) -> None:
    """The session keeps a client waiting."""
    for one in room.session.pending:
        room.we_say(room.session.progress(one.number, 1, "soon"))


def give_up(room: Overheard, _draw: st.DataObject) -> None:
    """The session no longer waits for an answer of its own."""
    for one in room.session.awaited:
        line = room.session.give_up(one)
        if line is None:
            return room.observer.forget(room.own, _number(room, one))
        room.we_say(line)
    return None


def _number(room: Overheard, request: Message) -> int:
    (one,) = (each for each in room.observer.in_flight(room.own) if each.request.id == request.id)
    return one.number


STEPS: Final = (
    request,
    request,
    request,
    hold,
    reply,
    hold,
    cancel,
    ask,
    answer,
    initialized,
    progress,
    give_up,
)


@given(
    st.sampled_from(Party),
    st.lists(st.sampled_from(STEPS), min_size=10, max_size=40),
    st.data(),
)
@settings(max_examples=200, deadline=None)
def test_a_session_and_an_observer_always_agree(
    role: Party, steps: list[Any], data: st.DataObject
) -> None:
    """Whatever is said: the version, who speaks, what is offered, and what is still in flight."""
    room = Overheard(role)
    for step in steps:
        step(room, data)
        room.agree()
