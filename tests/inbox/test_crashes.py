"""Killed, or with a full disk, at any call: nothing is lost and nothing is half there."""

import errno
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Final, NamedTuple
from unittest.mock import patch

import pytest

from humanmcp.inbox.atomic import read_file
from humanmcp.inbox.contract import (
    Answer,
    Draft,
    Inbox,
    Item,
    Key,
    Reply,
    SessionFacts,
    StoreError,
    Tail,
    TakenError,
    UnknownItemError,
)
from humanmcp.inbox.folder import FolderInbox
from humanmcp.inbox.life_lock import is_held
from humanmcp.protocol.conversation.decisions import DecisionChain, DecisionRecord
from humanmcp.protocol.conversation.stages import ExchangeState
from humanmcp.protocol.conversation.transcript import Frame
from tests.inbox.contract import AT, GUEST, HINT, PAIRS, ask, frame_of, item_of
from tests.inbox.crashing import Crash, failing_at, killed_at, racing

MORE_CALLS_THAN_ANY: Final = 80
LOST: Final = Reply("lost", by="Bo")


class Scene(NamedTuple):
    """A server and a desk at one exchange. Somebody has typed `typed`."""

    home: Path
    server: FolderInbox
    desk: FolderInbox
    key: Key

    def fresh(self) -> FolderInbox:
        """Look at it as a process that was started afterwards."""
        return FolderInbox(self.home)


def scene_in(home: Path) -> Scene:
    """Deliver one exchange and type something."""
    server, desk = FolderInbox(home), FolderInbox(home)
    key = Key(server.begin_session(SessionFacts("", AT)), 1)
    server.deliver(item_of(key.session))
    desk.save(key, Draft("typed", touched=True))
    return Scene(home, server, desk, key)


def with_reply(scene: Scene) -> None:
    """Send a reply and let the server take it."""
    scene.desk.send(scene.key, Reply("sent"))
    scene.server.take_replies(scene.key.session)


def lose(scene: Scene) -> None:
    """Send a reply when somebody was first."""
    with pytest.raises(TakenError):
        scene.desk.send(scene.key, LOST)


def texts(item: Item) -> set[str]:
    """Collect everything that people have typed for an exchange and that can still be read."""
    drafts = [item.draft, item.reply, *item.kept]
    return {draft.text for draft in drafts if draft is not None}


def paused(draft: Draft | None) -> Draft:
    """Pause the answer book: a change of the draft that is not one of the text."""
    assert draft is not None
    return draft._replace(paused=True)


def nothing(_: Scene) -> None:
    """Prepare nothing more."""


class Deed(NamedTuple):
    """Something a process does: what must be there before, and what must not be lost by it."""

    before: Callable[[Scene], None]
    act: Callable[[Scene], object]
    typed: frozenset[str]
    """Acknowledged before: must be readable whatever happens."""


DEEDS: Final = {
    "deliver": Deed(
        nothing,
        lambda scene: scene.server.deliver(item_of(scene.key.session, 2)),
        frozenset({"typed"}),
    ),
    "update": Deed(
        nothing,
        lambda scene: scene.server.update(
            scene.key, line="{}", id="2", waiting=item_of("").waiting
        ),
        frozenset({"typed"}),
    ),
    "save": Deed(
        nothing,
        lambda scene: scene.desk.save(scene.key, Draft("typed", touched=True, by="again")),
        frozenset({"typed"}),
    ),
    "change": Deed(
        nothing,
        lambda scene: scene.desk.change_draft(scene.key, paused),
        frozenset({"typed"}),
    ),
    "send": Deed(
        nothing, lambda scene: scene.desk.send(scene.key, Reply("sent")), frozenset({"typed"})
    ),
    "lose": Deed(with_reply, lose, frozenset({"typed", "sent"})),
    "refuse": Deed(
        with_reply,
        lambda scene: scene.server.refuse(scene.key, [HINT]),
        frozenset({"typed", "sent"}),
    ),
    "answer": Deed(
        with_reply,
        lambda scene: scene.server.close(
            scene.key, ExchangeState.ANSWERED, Answer("{}", "desk", AT)
        ),
        frozenset({"typed", "sent"}),
    ),
    "cancel an untaken reply": Deed(
        lambda scene: scene.desk.send(scene.key, Reply("sent")),
        lambda scene: scene.server.close(scene.key, ExchangeState.CANCELLED, reason="late"),
        frozenset({"typed", "sent"}),
    ),
    "end": Deed(
        lambda scene: scene.desk.send(scene.key, Reply("sent")),
        lambda scene: scene.server.end(scene.key.session),
        frozenset({"typed", "sent"}),
    ),
    "say": Deed(
        nothing,
        lambda scene: scene.desk.submit(scene.key.session, Reply("said")),
        frozenset({"typed"}),
    ),
    "record": Deed(
        nothing,
        lambda scene: scene.server.record(scene.key.session, frame_of(2, number=1)),
        frozenset({"typed"}),
    ),
}


def read_everything(inbox: Inbox, session: str) -> dict[int, Item]:
    """Read all there is; each exchange must be in one place only."""
    found: dict[int, Item] = {}
    for state in ExchangeState:
        for item in inbox.items(session, state):
            assert item.key.number not in found
            found[item.key.number] = item
    list(inbox.frames(session))
    inbox.take_replies(session)
    inbox.drafts(session)
    inbox.outgoing(session)
    inbox.sessions()
    return found


def each_call(deed: Deed, tmp_path: Path) -> Iterator[tuple[int, Scene]]:
    """Set the scene again and again, with the number of the call that is to fail."""
    for call in range(1, MORE_CALLS_THAN_ANY):
        scene = scene_in(tmp_path / str(call))
        scene.server.record(scene.key.session, frame_of(1, number=1))
        deed.before(scene)
        yield call, scene
    raise AssertionError(f"{deed.act} makes more than {MORE_CALLS_THAN_ANY} calls")


@pytest.mark.parametrize("name", DEEDS)
def test_a_process_may_be_killed_at_any_call(name: str, tmp_path: Path) -> None:
    """Whatever was acknowledged before can be read, and the deed can be done again."""
    deed = DEEDS[name]
    for call, scene in each_call(deed, tmp_path):
        with killed_at(call) as countdown:
            deed.act(scene)
        found = read_everything(scene.fresh(), scene.key.session)
        assert deed.typed <= texts(found[1]), f"killed at call {call}"
        assert [frame.seq for frame in scene.fresh().frames(scene.key.session)][:1] == [1]
        if not countdown.happened:
            return


@pytest.mark.parametrize("name", PAIRS)
def test_a_reader_misses_no_exchange_while_another_process_writes(
    name: str, tmp_path: Path
) -> None:
    """All of it is done between two files that are read: nothing is missing or half there."""
    pair = PAIRS[name]
    for read in range(1, MORE_CALLS_THAN_ANY):
        home = tmp_path / str(read)
        server, desk = FolderInbox(home), FolderInbox(home)
        key = Key(server.begin_session(SessionFacts("", AT)), 1)
        server.deliver(item_of(key.session))
        pair.before(server, desk, key)
        reads = 0

        def act_before(path: Path) -> bytes:
            nonlocal reads
            reads += 1
            if reads == read:  # noqa: B023 - called in this round alone
                pair.act(server, desk, key)  # noqa: B023 - as above
            return read_file(path)

        reader = FolderInbox(home)
        with patch("humanmcp.inbox.session_folder.read_file", act_before):
            found = [item for state in ExchangeState for item in reader.items(key.session, state)]
            if reads < read:
                return
        assert {item.key for item in found} == {key}, f"done at read {read}"
        assert not any(item.diagnostics and item.reply for item in found)
    raise AssertionError


@pytest.mark.parametrize("name", DEEDS)
@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EIO])
def test_a_disk_that_fails_at_any_call_is_reported(name: str, number: int, tmp_path: Path) -> None:
    """A sentence instead of a traceback, and nothing is lost."""
    deed = DEEDS[name]
    for call, scene in each_call(deed, tmp_path):
        with failing_at(call, number) as countdown:
            error = failure_of(partial(deed.act, scene))
        assert error is None or error.number == number
        found = read_everything(scene.fresh(), scene.key.session)
        assert deed.typed <= texts(found[1]), f"failed at call {call}"
        if not countdown.happened:
            return


def failure_of(deed: Callable[[], object]) -> StoreError | None:
    """Return what was reported, None when it worked."""
    try:
        deed()
    except StoreError as error:
        return error
    return None


def test_a_delivery_that_failed_is_seen_by_nobody_and_can_be_repeated(tmp_path: Path) -> None:
    """No part of it stays behind, not even a temporary file."""
    for call in range(1, MORE_CALLS_THAN_ANY):
        scene = scene_in(tmp_path / str(call))
        second = item_of(scene.key.session, 2)
        with failing_at(call) as countdown:
            error = failure_of(partial(scene.server.deliver, second))
        assert list((scene.home / "tmp").iterdir()) == []
        if error is not None:
            assert error.number == errno.ENOSPC
            assert "the disk is full" in str(error)
            with pytest.raises(UnknownItemError):
                scene.desk.item(second.key)
            scene.server.deliver(second)
        assert scene.desk.item(second.key) == second
        if not countdown.happened:
            return
    raise AssertionError


@pytest.mark.parametrize("name", ["save", "send", "lose", "refuse", "say"])
def test_what_a_person_did_is_reported_as_failed_only_when_it_did(
    name: str, tmp_path: Path
) -> None:
    """After an error nothing of it was done, without one all of it."""
    for call, scene in each_call(DEEDS[name], tmp_path):
        before = read_everything(scene.fresh(), scene.key.session)[1]
        with failing_at(call) as countdown:
            error = failure_of(partial(DEEDS[name].act, scene))
        after = read_everything(scene.fresh(), scene.key.session)[1]
        if name in ("save", "send") and error is not None:
            assert after == before
        if name == "send" and error is None:
            assert after.reply == Reply("sent")
        if name == "lose" and error is None:
            assert "lost" in texts(after)
        if name == "refuse" and error is None:
            assert after.diagnostics == (HINT,)
        if not countdown.happened:
            return


def test_a_frame_that_could_not_be_written_leaves_the_transcript_as_it_was(
    tmp_path: Path,
) -> None:
    """Also after an fsync that failed, the next frames are all there."""
    scene = scene_in(tmp_path)
    session = scene.key.session
    scene.server.record(session, frame_of(1, number=1))
    for call, number in ((1, errno.ENOSPC), (2, errno.EIO)):
        with failing_at(call, number), pytest.raises(StoreError) as caught:
            scene.server.record(session, frame_of(2, number=1), durable=True)
        assert caught.value.number == number
        assert [frame.seq for frame in scene.desk.frames(session)] == [1]
    scene.server.record(session, frame_of(2, number=1))
    scene.server.record(session, frame_of(3))
    assert [frame.seq for frame in scene.desk.frames(session)] == [1, 2, 3]


def test_a_transcript_that_lost_what_was_in_it_is_not_written_on(tmp_path: Path) -> None:
    """After a failed write the file is shorter than it was; a hole would be a lie."""
    scene = scene_in(tmp_path)
    session = scene.key.session
    for seq in (1, 2):
        scene.server.record(session, frame_of(seq, number=1))
    with failing_at(2, errno.EIO), pytest.raises(StoreError):
        scene.server.record(session, frame_of(3), durable=True)
    file = scene.server.folder(session) / "transcript.jsonl"
    kept = file.read_bytes().splitlines(keepends=True)[0]
    file.write_bytes(kept)
    for _ in range(3):
        with pytest.raises(StoreError) as caught:
            scene.server.record(session, frame_of(3))
        assert caught.value.number == errno.EIO
    assert file.read_bytes() == kept
    if Path("/proc/self/fd").is_dir():
        names = [one.resolve() for one in Path("/proc/self/fd").iterdir()]
        assert file.resolve() not in names, "a file that is not written to is not held open"


def test_a_decision_whose_chain_cannot_be_kept_is_in_no_transcript(tmp_path: Path) -> None:
    """It was reported as not recorded, so something else was printed, and it stood there."""

    def decide(tail: Tail) -> tuple[list[Frame], Tail]:
        chain = DecisionChain(tail.decisions, tail.last_decision)
        record = chain.add(DecisionRecord(GUEST.name, 1, "PermissionRequest", "{}", "{}"))
        frame = frame_of(tail.seq + 1, number=1)._replace(decision=record)
        return [frame], Tail(frame.seq, chain.number, chain.last)

    for call in range(1, MORE_CALLS_THAN_ANY):
        inbox = FolderInbox(tmp_path / str(call))
        inbox.join(GUEST)
        with failing_at(call) as countdown:
            error = failure_of(partial(inbox.share, GUEST.name, decide))
        recorded = [frame for frame in inbox.frames(GUEST.name) if frame.decision]
        assert bool(recorded) is (error is None), f"failed at call {call}"
        assert inbox.facts(GUEST.name).decisions == len(recorded)
        if not countdown.happened:
            return
    raise AssertionError


def test_a_prompt_whose_process_dies_while_it_closes_it_has_one_end(tmp_path: Path) -> None:
    """It waits for no one, or it ended as its process had written down."""
    for call in range(1, MORE_CALLS_THAN_ANY):
        inbox = FolderInbox(tmp_path / str(call))
        key = ask(inbox)
        with killed_at(call) as countdown:
            inbox.close(key, ExchangeState.ANSWERED, Answer("{}", "desk", AT))
        for entered in inbox._entered.values():
            entered.lock.release()
        after = FolderInbox(inbox.home)
        after.join(GUEST)
        item = after.item(key)
        is_answered = item.state is ExchangeState.ANSWERED
        assert is_answered is (item.answer is not None), f"killed at call {call}"
        if not countdown.happened:
            assert is_answered
            return
    raise AssertionError


def test_a_prompt_that_is_closed_while_it_is_listed_is_not_left(tmp_path: Path) -> None:
    """Its lock is gone with it: what was decided and printed was recorded as not known."""
    inbox = FolderInbox(tmp_path)
    key = ask(inbox)

    def close_first(path: Path) -> bool | None:
        inbox.close(key, ExchangeState.ANSWERED, Answer("{}", "desk", AT))
        inbox.leave(key)
        return is_held(path)

    with patch("humanmcp.inbox.folder.is_held", close_first):
        assert FolderInbox(tmp_path).items(key.session, ExchangeState.ABANDONED) == []


@pytest.mark.parametrize("call", range(1, 31))
def test_what_three_people_saved_is_there_whoever_dies(tmp_path: Path, call: int) -> None:
    """A draft that was taken by one who died, while another one had looked before, was lost."""
    scene = scene_in(tmp_path)
    saved: dict[str, int] = {}

    def type_on(name: str) -> None:
        with suppress(Crash):
            desk = scene.fresh()
            for one in range(6):
                desk.save(scene.key, Draft(f"{name}{one}", touched=True, by=name))
                saved[name] = one

    with racing(call, kill=("b", call)):
        people = [threading.Thread(target=type_on, args=name, name=name) for name in "abc"]
        for one in people:
            one.start()
        for one in people:
            one.join()
    found = texts(scene.fresh().item(scene.key))
    assert "typed" in found
    for name, last in saved.items():
        assert found & {f"{name}{last}", f"{name}{last + 1}"}, "the last, or the one it died with"
