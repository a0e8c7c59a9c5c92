"""A class behind the Wi-Fi of a school: thirty seats through one address, slow and with losses."""

import http.client
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from statistics import median
from typing import Final

import pytest

from tests.extensions.classroom.room.test_teaching import table_of
from tests.support.poor_network import AGAIN, PoorNetwork
from tests.support.room_process import Rooming, Visitor
from tests.support.waiting import PATIENCE, until

SEATS: Final = 30
TOLD_WITHIN: Final = 4.0
"""Seconds until a learner has on the page what the teacher ordered. The news, the request of the
page and the response are sent again if they are lost."""


@pytest.fixture
def scene(tmp_path: Path) -> Iterator[tuple[Rooming, PoorNetwork]]:
    """A room, and the network in front of it."""
    with PoorNetwork(seed=7) as network:
        address = f"http://127.0.0.1:{network.port}"
        with Rooming(tmp_path / "home", "--url", address) as room:
            network.behind = room.port
            yield room, network


class Listener:
    """A page of a learner: it hears of a change by its stream, and fetches what is new."""

    def __init__(self, learner: Visitor, words: str) -> None:
        """Listen for a page that has these words."""
        self.told_at = 0.0
        self._learner, self._words = learner, words
        self._listens = threading.Event()
        self._thread = threading.Thread(target=self._listen)
        self._thread.start()
        assert self._listens.wait(PATIENCE)

    def _listen(self) -> None:
        stream = http.client.HTTPConnection("127.0.0.1", self._learner.port, timeout=PATIENCE)
        with closing(stream):
            path = f"{self._learner.login_path}/api/events"
            cookie = "; ".join(self._learner.cookies.values())
            stream.request("GET", path, headers={"Cookie": cookie})
            lines = iter(stream.getresponse().readline, b"")
            for line in lines:
                self._listens.set()
                if b"change" in line and self._words in self._learner.get("/list").text:
                    self.told_at = time.monotonic()
                    return

    def wait(self) -> float:
        """Return when the page had the words."""
        self._thread.join()
        assert self.told_at, "this page has never heard of it"
        return self.told_at


def work(learner: Visitor, number: int) -> None:
    """Type at the first step, send it, and type at the second."""
    learner.answer_as_offered("initialize")
    asked = learner.question("tools/list")
    path = f"/api/exchanges/{asked['session']}/{asked['number']}/draft"
    assert learner.call(path, {"text": f"half of {number}"}).status == 200


def typed(learner: Visitor) -> str:
    """Return what the page shows in the box."""
    asked = learner.question()
    path = f"/api/exchanges/{asked['session']}/{asked['number']}"
    return str(learner.get(path).json["document"])


TOOLS: Final = '{"tools":[{"name":"x","inputSchema":{"type":"object"}}]}'


def test_thirty_seats_behind_a_poor_network_lose_nothing_and_are_told_in_time(
    scene: tuple[Rooming, PoorNetwork],
) -> None:
    """0.3 s each way and 2 % loss: who joins, types and sends has it; an order is there soon."""
    room, network = scene
    link = room.teacher_link.replace(f":{network.port}", f":{room.port}")
    teacher = room.visitor().follow(link)
    with ThreadPoolExecutor(SEATS) as people:
        learners = list(
            people.map(lambda one: Visitor(network.port).join(room.code, f"L{one}"), range(SEATS))
        )
        list(people.map(work, learners, range(SEATS)))
    rows = table_of(teacher)
    assert [rows[f"L{one}"]["passed"] for one in range(SEATS)] == ["1"] * SEATS
    with ThreadPoolExecutor(SEATS) as people:
        assert list(people.map(typed, learners)) == [f"half of {one}" for one in range(SEATS)]
        listeners = list(people.map(lambda one: Listener(one, "has paused everyone"), learners))
    ordered_at = time.monotonic()
    teacher.submit("/room", act="freeze", on="yes")
    told = [one.wait() - ordered_at for one in listeners]
    assert network.lost > 0
    assert median(told) < TOLD_WITHIN, sorted(told)
    assert max(told) < TOLD_WITHIN + 3 * AGAIN, sorted(told)
    teacher.submit("/room", act="freeze", on="no")
    learners[0].answer(learners[0].question(), TOOLS, "result")
    until(lambda: "At step 3: 1" in teacher.get("/room").text, "the teacher sees it", TOLD_WITHIN)
