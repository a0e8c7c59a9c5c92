"""People, a server and a reader act at once, with a random wait before each write of each of them.

`SEEDS=500` tries as many seeds; a failure names its own.
"""

import os
import random
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Final

import pytest

from humanmcp.inbox.contract import Answer, Key, Reply, SessionFacts, TakenError
from humanmcp.protocol.conversation.stages import ExchangeState
from tests.inbox.contract import AT, PROBLEM, item_of
from tests.inbox.crashing import Crash, racing
from tests.inbox.test_folder import FolderStore
from tests.support.waiting import PATIENCE

SEEDS: Final = int(os.environ.get("SEEDS", "10"))
EXCHANGES: Final = (1, 2, 3)
PEOPLE: Final = ("Ann", "Ben")


class Race:
    """One session; what each of its threads was told, and what they saw that must not be."""

    def __init__(self, home: Path, seed: int) -> None:
        """Begin the session with its exchanges."""
        self.store = FolderStore(home)
        self.seed = seed
        self.server = self.store.view()
        self.session = self.server.begin_session(SessionFacts("", AT))
        self.keys = [Key(self.session, number) for number in EXCHANGES]
        for number in EXCHANGES:
            self.server.deliver(item_of(self.session, number))
        self.sent: list[tuple[Key, str]] = []
        self.lost: list[tuple[Key, str]] = []
        self.taken: list[tuple[Key, str]] = []
        self.failures: list[BaseException] = []
        self.over = threading.Event()

    def run(self, people: int, kill: int) -> None:
        """Let all act until each exchange is answered; the server dies at its n-th write."""
        acts: dict[str, Callable[[], None]] = {"server": self._serve, "reader": self._read}
        acts |= dict.fromkeys(PEOPLE[:people], self._answer)
        threads = [
            threading.Thread(target=self._act, name=one, args=(act,)) for one, act in acts.items()
        ]
        with racing(self.seed, kill=("server", kill) if kill else ("", 0)):
            for one in threads:
                one.start()
            for one in threads:
                one.join(PATIENCE)
                self.over.set() if one.is_alive() else None
            for one in threads:
                one.join()
        if self.failures:
            raise self.failures[0]

    def _act(self, act: Callable[[], None]) -> None:
        try:
            act()
        except BaseException as error:  # noqa: BLE001 - told by `run`
            self.failures.append(error)
            self.over.set()

    def _is_over(self) -> bool:
        inbox = self.store.view()
        return self.over.is_set() or not inbox.items(self.session)

    def _serve(self) -> None:
        try:
            self._serve_with_this_process()
        except Crash:
            self.store.kill(self.server)
            threading.current_thread().name = "next server"
            self.server = self.store.view()
            self.server.resume(self.session)
            self._serve_with_this_process()

    def _serve_with_this_process(self) -> None:
        chance = random.Random(self.seed)
        while not self._is_over():
            for key, reply in self.server.take_replies(self.session):
                self.taken.append((key, reply.text))
                if chance.random() < 1 / 2:
                    self.server.refuse(key, [PROBLEM])
                else:
                    answer = Answer(reply.text, reply.by, AT)
                    self.server.close(key, ExchangeState.ANSWERED, answer)

    def _answer(self) -> None:
        """Answer whatever waits; correct at once what came back."""
        desk, name = self.store.view(), threading.current_thread().name
        chance, count = random.Random(f"{self.seed} {name}"), 0
        while not self._is_over():
            key = chance.choice(self.keys)
            item, count = desk.item(key), count + 1
            if item.state is not ExchangeState.PENDING or (item.reply and not item.diagnostics):
                continue
            text = f"{name} {count}"
            try:
                desk.send(key, Reply(text, by=name))
            except TakenError:
                self.lost.append((key, text))
            else:
                self.sent.append((key, text))

    def _read(self) -> None:
        """Miss no exchange, and never see the problems of a reply that is on its way."""
        desk = self.store.view()
        while not self._is_over():
            found = [item for state in ExchangeState for item in desk.items(self.session, state)]
            assert {item.key for item in found} == {*self.keys}  # one that moves may be there twice
            assert not [item for item in found if item.diagnostics and item.reply]


def hold(race: Race) -> None:
    """Assert what must hold at the end: no reply is lost, doubled, or sent by nobody."""
    desk = race.store.view()
    assert set(race.taken) == set(race.sent)
    for key in race.keys:
        item = desk.item(key)
        assert item.state is ExchangeState.ANSWERED
        assert item.answer is not None
        assert (key, item.answer.line) in race.sent
        assert item.answer.line == [text for one, text in race.taken if one == key][-1]


@pytest.mark.parametrize("seed", range(SEEDS))
def test_two_people_and_a_server_lose_nothing_and_answer_once(tmp_path: Path, seed: int) -> None:
    """Each reply that was called sent is taken once, and the last one is the answer."""
    race = Race(tmp_path, seed)
    race.run(people=2, kill=0)
    hold(race)
    assert len(race.taken) == len(set(race.taken))


@pytest.mark.parametrize("seed", range(SEEDS))
def test_who_answers_alone_is_never_told_of_another_answer(tmp_path: Path, seed: int) -> None:
    """Also the correction of what was refused, in the moment in which its problems can be read."""
    race = Race(tmp_path, seed)
    race.run(people=1, kill=0)
    hold(race)
    assert race.lost == []


@pytest.mark.parametrize("seed", range(SEEDS))
def test_a_server_that_dies_between_two_writes_loses_nothing(tmp_path: Path, seed: int) -> None:
    """The next one goes on, while the people answer."""
    race = Race(tmp_path, seed)
    race.run(people=2, kill=random.Random(seed).randrange(1, 40))
    hold(race)
