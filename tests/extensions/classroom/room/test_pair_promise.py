"""Whatever happens in a room: nothing typed in a pair is lost, said twice, or read by a third."""

from __future__ import annotations

import itertools
import json
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Final, NamedTuple
from unittest.mock import patch

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from humanmcp.desk.board import Board
from humanmcp.desk.desk import BY
from humanmcp.desk.guard import Address
from humanmcp.extensions.classroom.room.classroom import Classroom
from humanmcp.extensions.classroom.room.pages import around_of
from humanmcp.extensions.classroom.room.pairs import ASK, ServerSide
from humanmcp.extensions.classroom.room.seat import RoomSeat
from humanmcp.inbox.attendant import Attendant
from humanmcp.inbox.contract import Item, Key, Life, Order, Reply, StoreError, UnknownItemError
from humanmcp.inbox.folder import FolderInbox
from humanmcp.protocol.conversation.stages import ExchangeState
from humanmcp.protocol.conversation.transcript import Direction, Frame
from humanmcp.protocol.diagnostics.model import TextForm
from humanmcp.server.journal import Clock
from humanmcp.server.memory_connection import MemoryConnection
from tests.extensions.classroom.room.test_pairs import HELLO, TOOLS
from tests.inbox.crashing import SYNCS, Countdown, failing_at, killed_at

SEATS: Final = 4
seats: Final = st.integers(1, SEATS)
moments: Final = st.integers(1, 24)
"""At which of its calls that change something a process dies, or its disk is full."""


class StillAttendant(Attendant):
    """An attendant without a thread: the test takes its turns."""

    def run(self, *, for_ever: bool = False) -> None:
        """Do nothing."""

    def leave_all(self) -> None:
        """End in order."""
        for one in tuple(self._places):
            self._leave(one)


class NobodyLooks:
    """No page is open: nothing has to be followed."""

    def __init__(self, *, below: Path) -> None:
        """Take what `Following` does."""

    def __enter__(self) -> None:
        """Do nothing."""

    def __exit__(self, *_: object) -> None:
        """Do nothing."""

    def add(self, home: Path, board: Board) -> None:
        """Do nothing."""


class Typed(NamedTuple):
    """An answer that a person sent: `mark` is in it and nowhere else."""

    mark: str
    seat: int
    key: Key
    partner: int
    method: str
    """What it answers."""
    is_right: bool


class Pairs(RuleBasedStateMachine):
    """Four seats, a teacher, and a machine that fails."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        self.home = Path(self.folder.name) / "class"
        self.now = 1000.0
        self.marks = itertools.count(1)
        self.typed: list[Typed] = []
        self.deleted: set[str] = set()
        self.drafts: dict[Key, tuple[int, str]] = {}
        self.patches = ExitStack()
        self.patches.enter_context(patch.object(Clock, "now", lambda _self: self.now))
        at = "humanmcp.extensions.classroom.room"
        self.patches.enter_context(patch(f"{at}.classroom.Attendant", StillAttendant))
        self.patches.enter_context(patch(f"{at}.classroom.Following", NobodyLooks))
        self.patches.enter_context(patch(f"{at}.pairs.time.monotonic", lambda: self.now))
        for sync in ("os.fsync", "os.fdatasync", *SYNCS):
            self.patches.enter_context(patch(sync, lambda _descriptor: None))
        real = SimpleNamespace(**vars(os))  # a pipe is on no disk
        self.patches.enter_context(patch("humanmcp.inbox.bell.os", real))
        self.open()
        for number in range(SEATS):
            self.room.join(f"P{number}")
        self.settle()

    # -- the process ----------------------------------------------------------------------------

    def open(self) -> None:
        self.room = Classroom(self.home, "en", around_of, ticks=lambda: self.now)
        self.removed: list[RoomSeat] = []
        self.room.door.clock = lambda: self.now
        self.room.open(Address(1), "http://127.0.0.1:1")
        self.room.run()
        assert isinstance(self.room.attendant, StillAttendant)
        self.attendant = self.room.attendant

    def settle(self, rounds: int = 4) -> None:
        """Let happen what nobody has to be waited for; in the first round what comes at once."""
        for _ in range(rounds):
            self.now += 2.5
            for _ in range(400):
                if self.attendant.turn(self.now) > self.now:
                    break

    def let_go(self) -> None:
        """Be gone, as the system ends a process: its locks are free, and nothing else is done."""
        self.room.close()
        for seat in (*self.room.seats, *self.removed):
            assert isinstance(seat.inbox, FolderInbox)
            for name in list(seat.inbox._own):
                seat.inbox.leave_session(name)

    def teardown(self) -> None:
        self.let_go()
        self.patches.close()
        self.folder.cleanup()

    def failing(self, kind: str, moment: int) -> AbstractContextManager[Countdown | None]:
        match kind:
            case "full" | "refused, then killed":
                return failing_at(moment)
            case "full, then killed":
                return failing_at(moment, once=False)
            case "killed":
                return killed_at(moment)
            case _:
                return nullcontext(None)

    def do(self, act: Callable[[], object], kind: str, moment: int) -> None:
        """Let somebody do something, while the machine is well, its disk is full, or it dies."""
        with self.failing(kind, moment) as trouble:
            try:
                act()
            except StoreError:
                assert kind not in {"", "killed"}  # who did it is told
            self.settle(1 if kind == "refused, then killed" else 4)
        if "killed" in kind and trouble is not None and trouble.happened:
            self.let_go()
            self.open()
        self.settle()

    # -- what people do -------------------------------------------------------------------------

    answers = st.sampled_from(["right", "right", "right", "calls", "wrong", "anyway", "error"])
    troubles = st.sampled_from(
        ["", "", "full", "killed", "full, then killed", "refused, then killed"]
    )

    kills = st.sampled_from(["", "", "killed"])

    @initialize()
    def begin(self) -> None:
        """The teacher joins everybody."""
        self.do(self.room.pair_all, "", 0)

    @rule(kind=troubles, moment=moments)
    def pair_all(self, kind: str, moment: int) -> None:
        self.do(self.room.pair_all, kind, moment)

    @rule(model=seats, server=seats, kind=troubles, moment=moments)
    def pair_two(self, model: int, server: int, kind: str, moment: int) -> None:
        one, other = self.room.seat(model), self.room.seat(server)
        if one and other:
            self.do(lambda: self.room.pair(one, other), kind, moment)

    @rule(kind=troubles, moment=moments)
    def swap(self, kind: str, moment: int) -> None:
        self.do(self.room.swap_pairs, kind, moment)

    @rule(number=seats, kind=troubles, moment=moments)
    def part(self, number: int, kind: str, moment: int) -> None:
        self.do(
            lambda: self.room.part([one for one in [self.room.seat(number)] if one]), kind, moment
        )

    @rule(number=seats, kind=kills, moment=moments)
    def remove(self, number: int, kind: str, moment: int) -> None:
        if (seat := self.room.seat(number)) is not None:
            self.removed.append(seat)
            self.do(lambda: self.room.remove([seat]), kind, moment)

    @rule(kind=kills, moment=moments)
    def give_back(self, kind: str, moment: int) -> None:
        if number := next(iter(self.room.removed), 0):
            knock = self.room.knock("back", lost=True)
            assert knock
            self.do(lambda: self.room.let_in(knock.number, number), kind, moment)

    @rule(how=answers, kind=troubles, moment=moments, which=st.integers(0, 3))
    def answer(self, how: str, kind: str, moment: int, which: int) -> None:
        """A person of a pair answers what the pair asks."""
        open_ones = self.unanswered()
        if not open_ones:
            return
        seat, item = open_ones[which % len(open_ones)]
        mark = f"<{next(self.marks)}>"
        text, form = written(item, how, mark)
        pair, number = self.room.pair_of(seat), seat.record.number
        partner = 0 if pair is None else pair.model + pair.server - number
        reply = Reply(text, form, anyway=how == "anyway", by=BY, at="2026-01-01T00:00:00.000Z")

        def send() -> None:
            seat.inbox.send(item.key, reply)
            is_right = how in {"right", "calls"}
            self.typed.append(Typed(mark, number, item.key, partner, item.method, is_right))

        self.replace_typed(item.key)
        self.do(send, kind, moment)

    @rule(which=st.integers(0, 3))
    def type(self, which: int) -> None:
        """A person types, and sends nothing yet."""
        if open_ones := self.unanswered():
            seat, item = open_ones[which % len(open_ones)]
            mark = f"<{next(self.marks)}>"
            self.replace_typed(item.key)
            seat.inbox.save(item.key, Reply(mark, by=BY).as_draft)
            self.drafts[item.key] = (seat.record.number, mark)

    @rule(which=st.integers(0, 1), order=st.sampled_from([Order.EXIT, Order.CRASH]))
    def end_server(self, which: int, order: Order) -> None:
        """The person of a server ends it, or lets it crash."""
        if pairs := self.room.record.pairs:
            pair = pairs[which % len(pairs)]
            seat = self.room.seat(pair.server)
            assert seat
            seat.inbox.submit(pair.server_session, Reply("0", by=BY, order=order))
            self.settle()
            assert pair not in self.room.record.pairs

    def replace_typed(self, key: Key) -> None:
        """Forget what stood there: its author writes over it."""
        self.drafts.pop(key, None)
        self.typed = [one for one in self.typed if one.key != key]

    @rule(stops=st.booleans())
    def restart(self, stops: bool) -> None:  # noqa: FBT001 - drawn
        """The room is ended by its teacher, or killed while nothing happens."""
        if stops:
            self.attendant.leave_all()
        self.let_go()
        self.open()
        self.settle()

    @rule(which=st.integers(0, 3), of_model=st.booleans())
    def delete(self, which: int, of_model: bool) -> None:  # noqa: FBT001 - drawn
        """While the room is down somebody deletes a session of a pair."""
        self.let_go()
        if pairs := self.room.record.pairs:
            pair = pairs[which % len(pairs)]
            number = pair.model if of_model else pair.server
            name = pair.model_session if of_model else pair.server_session
            if name:
                shutil.rmtree(
                    self.home / "seats" / f"{number:03d}" / "sessions" / name, ignore_errors=True
                )
                self.deleted.add(name)
        self.open()
        self.settle()

    def unanswered(self) -> list[tuple[RoomSeat, Item]]:
        """Return what waits for a person, and not for a disk."""
        return [one for one in self.waiting() if one[1].reply is None]

    def waiting(self) -> list[tuple[RoomSeat, Item]]:
        """Return what waits of pairs."""
        return [
            (seat, item)
            for seat in self.room.seats
            for facts in seat.inbox.sessions()
            if facts.life is Life.OPEN and facts.name not in seat.record.sessions
            for item in seat.inbox.items(facts.name)
            if item.waits
        ]

    # -- what is promised -----------------------------------------------------------------------

    def inboxes(self) -> dict[int, FolderInbox]:
        return {
            number: FolderInbox(self.home / "seats" / f"{number:03d}")
            for number in range(1, SEATS + 1)
        }

    @invariant()
    def is_kept(self) -> None:
        """The promises."""
        self.nothing_typed_is_lost()
        self.each_message_reaches_the_partner_once_and_no_third()
        self.no_request_comes_twice()
        self.a_turn_that_was_answered_is_in_the_next_ones()
        self.one_person_has_the_turn()

    def nothing_typed_is_lost(self) -> None:
        """What was sent is an answer, on its way, or a draft again; a draft is the draft."""
        inboxes = self.inboxes()
        for one in self.typed:
            if one.key.session not in self.deleted:
                item = inboxes[one.seat].item(one.key)
                found = item.reply, item.draft, item.answer, item.kept
                assert one.mark in str(found), one
        for key, (seat, mark) in self.drafts.items():
            if key.session not in self.deleted:
                draft = inboxes[seat].item(key).draft
                assert draft is not None, key
                assert draft.text == mark

    def each_message_reaches_the_partner_once_and_no_third(self) -> None:
        """What came to each seat, from whatever is written there."""
        came = {
            number: [text for facts in inbox.sessions() for text in lines_to(inbox, facts.name)]
            for number, inbox in self.inboxes().items()
        }
        for one in self.typed:
            for number, lines in came.items():
                heard = sum(one.mark in text for text in lines)
                assert heard == 0 or number in {one.seat, one.partner}, (one, number)
                assert heard <= 1 or one.method != ASK or number != one.partner, one

    def no_request_comes_twice(self) -> None:
        """Each has an id of its own."""
        for inbox in self.inboxes().values():
            for facts in inbox.sessions():
                ids = [json.loads(text).get("id") for text in lines_to(inbox, facts.name)]
                asked = [one for one in ids if one is not None]
                assert len(asked) == len(set(asked))

    def a_turn_that_was_answered_is_in_the_next_ones(self) -> None:
        """A right answer of the model is part of what it is asked later."""
        inboxes = self.inboxes()
        for pair in self.room.record.pairs:
            name = pair.model_session
            own = [one for one in self.typed if one.is_right and one.key.session == name]
            turns = lines_to(inboxes[pair.model], name) if own else []
            for one in own:
                if inboxes[pair.model].item(one.key).state is ExchangeState.ANSWERED:
                    assert all(one.mark in turn for turn in turns[one.key.number :]), one

    def one_person_has_the_turn(self) -> None:
        """Who has it is asked, and nobody else of any pair."""
        waits = [(seat.record.number, item.key.session) for seat, item in self.waiting()]
        expected, numbers = list[tuple[int, str]](), list[int]()
        for pair in self.room.record.pairs:
            numbers += pair.model, pair.server
            match self.room.turn_of(pair):
                case "model":
                    expected.append((pair.model, pair.model_session))
                case "server":
                    expected.append((pair.server, pair.server_session))
                case over:
                    assert over == "over"
        assert sorted(waits) == sorted(expected)
        assert len(numbers) == len(set(numbers)), "a seat is in one pair"


def lines_to(inbox: FolderInbox, session: str) -> list[str]:
    """Return what came to a session."""
    frames = inbox.frames(session)
    return [one.text for one in frames if one.direction is Direction.IN and not one.note]


def written(item: Item, how: str, mark: str) -> tuple[str, TextForm]:
    """Return what a person types."""
    match how:
        case "wrong":
            return f'{{"odd": "{mark}"', TextForm.MESSAGE
        case "anyway":
            return json.dumps({"odd": mark}), TextForm.RESULT
        case "error":
            return json.dumps({"code": -32000, "message": mark}), TextForm.ERROR
        case _:
            result = right(item.method, mark, is_call=how == "calls")
            return json.dumps(result), TextForm.RESULT


def right(method: str, mark: str, *, is_call: bool) -> dict[str, Any]:
    """Return a right answer."""
    text = {"type": "text", "text": mark}
    call = {"type": "tool_use", "id": "a", "name": "find", "input": {"q": mark}}
    turn = {"role": "assistant", "model": "me"}
    match method:
        case "initialize":
            return {**HELLO, "serverInfo": {"name": mark, "version": "1"}}
        case "tools/list":
            return {"tools": [{**TOOLS[0], "description": mark}]}
        case "tools/call":
            return {"content": [text]}
        case _ if is_call:
            return {**turn, "content": [call], "stopReason": "toolUse"}
        case _:
            return {**turn, "content": text, "stopReason": "endTurn"}


@pytest.fixture
def pairs() -> Iterator[Pairs]:
    """Two pairs."""
    state = Pairs()
    state.begin()
    yield state
    state.teardown()


@pytest.mark.parametrize("moment", range(1, 10))
@pytest.mark.parametrize("at", range(4))
def test_an_answer_that_the_disk_refused_is_there_after_a_kill(
    pairs: Pairs, at: int, moment: int
) -> None:
    """That of the server to the handshake, its list, a call of the model, and its result."""
    for _ in range(at):
        pairs.answer("calls", "", 0, 0)
    pairs.answer("calls", "refused, then killed", moment, 0)
    pairs.is_kept()


@pytest.mark.parametrize("which", range(2))
@pytest.mark.parametrize("moment", range(1, 10))
def test_nothing_is_asked_again_that_the_disk_keeps_late(
    pairs: Pairs, moment: int, which: int
) -> None:
    """A turn of the model that was answered, or a request to a server whose answer comes later."""
    for _ in range(2):
        pairs.answer("right", "", 0, 0)
    pairs.answer("right", "refused, then killed", moment, which)
    pairs.is_kept()
    pairs.answer("right", "killed", 1, 0)
    pairs.is_kept()


@pytest.mark.parametrize("moment", range(1, 25))
def test_a_request_that_the_disk_refused_is_asked_again_once(pairs: Pairs, moment: int) -> None:
    """The server's session has no line of it, and answers it with an error."""
    pairs.answer("right", "full", moment, 0)
    pairs.is_kept()
    for stops in (False, True):
        pairs.restart(stops=stops)
        pairs.is_kept()
    for which in (0, 1):
        pairs.answer("right", "", 0, which)
        pairs.is_kept()


def test_what_answers_no_request_keeps_its_place() -> None:
    """An error without an id is behind no notification."""
    lines = [
        (Direction.IN, '{"jsonrpc":"2.0","method":"notifications/initialized"}'),
        (Direction.OUT, '{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"x"}}'),
        (Direction.IN, '{"jsonrpc":"2.0","method":"notifications/cancelled"}'),
    ]
    said = [
        Frame(at, "2026-11-20T12:00:00.000Z", way, text.encode())
        for at, (way, text) in enumerate(lines, 1)
    ]

    def unknown(key: Key) -> Item:
        raise UnknownItemError(key.session)

    inbox: Any = SimpleNamespace(frames=lambda _session: said, item=unknown)
    side = ServerSide(inbox, "s", MemoryConnection())
    assert list(side.frames()) == said


def test_a_wrong_answer_on_purpose_is_known_after_a_kill(pairs: Pairs) -> None:
    """The pair goes on with the request that it asked again."""
    pairs.answer("anyway", "", 0, 0)
    pairs.restart(stops=False)
    pairs.answer("right", "", 0, 0)
    pairs.is_kept()


TestPairs = Pairs.TestCase
TestPairs.settings = settings(
    max_examples=12,
    stateful_step_count=20,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)
