"""Whoever watches is woken for every change, with and without events."""

import errno
import gc
import os
import sys
import threading
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Final

import pytest
from watchdog import observers
from watchdog.utils.delayed_queue import DelayedQueue

from humanmcp.inbox import watch
from humanmcp.inbox.contract import Answer, Draft, Key, Reply, SessionFacts
from humanmcp.inbox.folder import FolderInbox
from humanmcp.inbox.watch import Watch
from humanmcp.protocol.conversation.stages import ExchangeState
from tests.inbox.contract import AT, frame_of, item_of
from tests.support.waiting import until

NEVER: Final = 3600.0
"""Seconds between two polls where the test is about events."""


class Scene:
    """An inbox with a session, and a list of who was woken."""

    def __init__(self, home: Path) -> None:
        """Begin a session with one exchange."""
        self.home = home
        self.server = FolderInbox(home)
        self.session = self.server.begin_session(SessionFacts("", AT))
        self.key = Key(self.session, 1)
        self.server.deliver(item_of(self.session))
        self.woken: list[str] = []
        self.numbers = iter(range(2, 1000))

    def wake(self, session: str, _number: int) -> None:
        """Note who was woken."""
        self.woken.append(session)

    def deeds(self) -> dict[str, Callable[[], object]]:
        """List what must wake: everything that a desk shows."""
        return {
            "record": lambda: self.server.record(self.session, frame_of(next(self.numbers))),
            "deliver": lambda: self.server.deliver(item_of(self.session, next(self.numbers))),
            "save": lambda: FolderInbox(self.home).save(self.key, Draft("typed")),
            "send": lambda: FolderInbox(self.home).send(self.key, Reply("typed")),
            "say": lambda: FolderInbox(self.home).submit(self.session, Reply("typed")),
            "refuse": lambda: self.server.refuse(self.key, []),
            "close": lambda: self.server.close(
                self.key, ExchangeState.ANSWERED, Answer("{}", "", AT)
            ),
            "end": lambda: self.server.end(self.session),
        }

    def expect_wake(self, deed: Callable[[], object], what: str) -> None:
        """Do something and wait until the session was named."""
        self.woken.clear()
        deed()
        until(lambda: self.session in self.woken, f"woken by {what}")


@pytest.fixture
def scene(tmp_path: Path) -> Iterator[Scene]:
    """Begin a session; let go of it at the end."""
    scene = Scene(tmp_path / "home")
    yield scene
    for owned in scene.server._own.values():
        owned.transcript.close()
        owned.lock.release()


def test_every_change_wakes_by_an_event(scene: Scene) -> None:
    """Design 5: events only wake; the poll never comes here."""
    with Watch(scene.home, scene.wake, every=NEVER) as watching:
        assert watching.why_polling == ""
        for what, deed in scene.deeds().items():
            scene.expect_wake(deed, what)


@pytest.mark.skipif(sys.platform != "linux", reason="there, no move comes in two halves")
def test_half_a_move_holds_up_no_other_change_for_long(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The installed watchdog waits for the other half only as long as we say; it said 0.5 s."""
    own = 0.012345
    monkeypatch.setattr(watch, "_PAIRED_WITHIN", own)
    half, outside = scene.home / "sessions" / scene.session / "x", scene.home / "x"
    half.touch()
    with Watch(scene.home, scene.wake, NEVER):
        queues = [one for one in gc.get_objects() if isinstance(one, DelayedQueue)]
        assert own in [one.delay for one in queues]
        half.rename(outside)
        other = scene.server.begin_session(SessionFacts("", AT))
        until(lambda: other in scene.woken, "the next change is told")


def test_a_new_session_and_what_happens_in_it_at_once_wakes(scene: Scene) -> None:
    """Folders that appear are watched, also those made before anybody noticed the first."""
    with Watch(scene.home, scene.wake, every=NEVER):
        for _ in range(20):
            scene.session = scene.server.begin_session(SessionFacts("", AT))
            scene.expect_wake(lambda: scene.server.deliver(item_of(scene.session)), "deliver")
            key = Key(scene.session, 1)
            scene.expect_wake(partial(scene.server.close, key, ExchangeState.CANCELLED), "close")


def test_reading_wakes_nobody(scene: Scene) -> None:
    """A desk that reads what it was woken for must not wake itself by that."""
    desk = FolderInbox(scene.home)
    with Watch(scene.home, scene.wake, every=NEVER):
        scene.expect_wake(lambda: desk.save(scene.key, Draft("typed")), "save")
        desk.sessions()
        desk.items(scene.session)
        list(desk.frames(scene.session))
        other = scene.server.begin_session(SessionFacts("", AT))
        until(lambda: other in scene.woken, "the next change is told")
        after = scene.woken[scene.woken.index(other) :]
        assert scene.session not in after


def test_without_an_observer_polling_finds_every_change(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The limit on inotify instances is 128 to a user."""

    def no_more(_: object) -> None:
        raise OSError(errno.EMFILE, "inotify instance limit reached")

    monkeypatch.setattr(observers.Observer, "start", no_more)
    with Watch(scene.home, scene.wake, every=0.02) as watching:
        assert "instance limit" in watching.why_polling
        for what, deed in scene.deeds().items():
            scene.expect_wake(deed, what)


def test_a_death_wakes_although_it_changes_no_file(scene: Scene) -> None:
    """Found by the poll, which looks at the locks."""
    with Watch(scene.home, scene.wake, every=0.02):
        scene.expect_wake(scene.server._own[scene.session].lock.release, "death")


def test_a_session_that_went_on_after_a_death_can_die_again(scene: Scene) -> None:
    """Whoever began to look while it was dead finds that, too."""
    scene.server._own[scene.session].lock.release()
    look, following = watch._Snapshotter(scene.home / "sessions"), FolderInbox(scene.home)
    assert look.changed()
    following.resume(scene.session)
    assert look.changed() == {scene.session: {0}}
    assert look.changed() == {}
    owned = following._own[scene.session]
    owned.lock.release()
    assert look.changed() == {scene.session: {0}}
    owned.transcript.close()


def test_a_look_of_many_sessions_reads_a_part_of_them_and_every_life(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After some looks each was read; a death is found by the next look."""
    names = [scene.server.begin_session(SessionFacts("", AT)) for _ in range(9)]
    look = watch._Snapshotter(scene.home / "sessions")
    assert set(look.changed()) == {scene.session, *names}
    read: list[str] = []
    whole = look._of

    def reading(name: str) -> watch._Snapshot:
        read.append(name)
        return whole(name)

    monkeypatch.setattr(look, "_of", reading)
    for name in names:
        scene.server.record(name, frame_of(1))
    found = [look.changed(most=3) for _ in range(4)]
    assert all(1 <= len(one) <= 3 for one in found)  # one of the ten did not change
    assert sorted(name for one in found for name in one) == sorted(names)
    assert sorted(read) == sorted([scene.session, *names])
    scene.server._own[names[4]].lock.release()
    assert look.changed(most=3) == {names[4]: {0}}
    new = scene.server.begin_session(SessionFacts("", AT))
    assert set(look.changed(most=3)) == {new}


def test_a_drive_that_reports_nothing_is_noticed(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No error, just silence. The poll is quickened, and the reason can be read."""

    class Silent:
        """An observer that never says anything."""

        def stop(self) -> None:
            """Stop."""

        def join(self) -> None:
            """Wait for nothing."""

    monkeypatch.setattr(watch, "observe", lambda *_, **__: Silent())
    with Watch(scene.home, scene.wake, every=0.02) as watching:
        while not watching.why_polling:
            scene.expect_wake(scene.deeds()["record"], "record")
        assert "does not report" in watching.why_polling
        scene.expect_wake(scene.deeds()["save"], "save")


def test_an_error_of_who_is_woken_does_not_end_the_watch(scene: Scene) -> None:
    """One page that fails must not blind the others."""
    calls: list[str] = []

    def wake(name: str, _number: int) -> None:
        calls.append(name)
        raise RuntimeError(name)

    with Watch(scene.home, wake, every=0.02):
        for what in ("save", "deliver", "record"):
            calls.clear()
            scene.deeds()[what]()
            until(lambda: calls, f"woken by {what}")


def test_nobody_is_woken_after_the_end(scene: Scene) -> None:
    """And no thread is left."""
    before = threading.active_count()
    with Watch(scene.home, scene.wake, every=0.02):
        scene.expect_wake(scene.deeds()["save"], "save")
    scene.woken.clear()
    scene.deeds()["save"]()
    assert scene.woken == []
    assert threading.active_count() <= before + 1  # watchdog keeps one reader for the process


def test_names_that_are_no_sessions_wake_nobody(scene: Scene) -> None:
    """Files that others put into the folder."""
    sessions = scene.home / "sessions"
    with Watch(scene.home, scene.wake, every=0.02):
        for name in (".DS_Store", "a b", "x.swp"):
            (sessions / name).write_text("")
        os.utime(sessions)
        other = scene.server.begin_session(SessionFacts("", AT))
        until(lambda: other in scene.woken, "woken by the other one")
        assert set(scene.woken) == {other}


def test_what_is_done_to_one_exchange_names_that_one(scene: Scene) -> None:
    """Who is woken need not read the others; the rest of a session is number 0."""
    woken: list[int] = []
    desk = FolderInbox(scene.home)
    with Watch(scene.home, lambda _, number: woken.append(number)):
        # First, while no late news of an exchange can be on its way.
        scene.server.record(scene.session, frame_of(1))
        until(lambda: woken, "the session is named")
        assert set(woken) == {0}
        scene.server.deliver(item_of(scene.session, 2))
        until(lambda: 2 in woken, "the new one is named")
        scene.server.record(scene.session, frame_of(2))
        until(lambda: woken[-1] == 0, "all that is told of it before that")
        woken.clear()
        desk.save(scene.key, Draft("typed"))
        until(lambda: 1 in woken, "the one is named")
        scene.server.close(scene.key, ExchangeState.CANCELLED)
        until(lambda: 1 in woken, "the one that closed is named")
        assert 2 not in woken


def test_two_looks_tell_which_exchange_has_changed(scene: Scene) -> None:
    """Also where changes are found by looking."""
    desk = FolderInbox(scene.home)
    look = watch._Snapshotter(scene.home / "sessions")
    assert look.changed() == {scene.session: {0, 1}}
    assert look.changed() == {}
    scene.server.deliver(item_of(scene.session, 2))
    assert look.changed()[scene.session] - {0} == {2}
    desk.save(scene.key, Draft("typed"))
    assert look.changed() == {scene.session: {1}}
    scene.server.record(scene.session, frame_of(1))
    assert look.changed() == {scene.session: {0}}
    scene.server.close(scene.key, ExchangeState.CANCELLED)
    assert look.changed()[scene.session] - {0} == {1}
