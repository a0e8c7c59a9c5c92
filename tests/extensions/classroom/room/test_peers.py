"""What one person in a room can make the others wait."""

import json
import threading
import time
from collections.abc import Callable, Iterator
from statistics import median
from typing import Final

import pytest

from tests.support.room_process import Rooming, Visitor
from tests.support.waiting import PATIENCE

LONGEST_WAIT: Final = 0.1
"""Seconds, in the middle of the measured ones: ten times what it is on a busy machine."""
LOOKS: Final = 40
LARGE: Final = json.dumps({"result": {"x": [{"a": one} for one in range(12_000)]}})
"""200 kB of JSON with thousands of members."""


@pytest.fixture(scope="module")
def room(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Rooming]:
    """One room, with its people."""
    with Rooming(tmp_path_factory.mktemp("peers") / "home") as opened:
        yield opened


def check_large(room: Rooming, busy: Visitor, path: str) -> None:
    """Have a large answer checked."""
    del room
    assert busy.call(f"{path}/check", {"text": LARGE}).status == 200


def check_long(room: Rooming, busy: Visitor, path: str) -> None:
    """Send five megabytes that are no JSON."""
    del room
    busy.call(f"{path}/check", {"text": "x" * 5_000_000})


def join(room: Rooming, busy: Visitor, path: str) -> None:
    """Join again and again."""
    del busy, path
    assert room.visitor().submit("/login", code=room.code, name="bot").status in {200, 429}


@pytest.mark.parametrize("act", [check_large, check_long, join])
def test_nobody_waits_long_for_what_one_person_does(
    room: Rooming, act: Callable[[Rooming, Visitor, str], None]
) -> None:
    """One person does it without a pause; the page of another is answered meanwhile."""
    busy, other = room.learner("busy"), room.learner("other")
    asked = busy.question()
    path = f"/api/exchanges/{asked['session']}/{asked['number']}"
    began, stopped = threading.Event(), threading.Event()

    def go_on() -> None:
        while not stopped.is_set():
            act(room, busy, path)
            began.set()

    load = threading.Thread(target=go_on)
    load.start()
    assert began.wait(PATIENCE)
    waits = []
    for _ in range(LOOKS):
        before = time.perf_counter()
        other.waiting()
        waits.append(time.perf_counter() - before)
    stopped.set()
    load.join()
    assert median(waits) < LONGEST_WAIT, sorted(waits)
