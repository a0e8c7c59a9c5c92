"""A whole class at once, each with a browser without scripts or with a host of its own."""

import html
import json
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Final

import pytest

from tests.support.room_process import Rooming, Visitor
from tests.support.serve_http import Got, initialize
from tests.support.waiting import until

LEARNERS: Final = 30


@pytest.fixture(scope="module")
def room(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Rooming]:
    """One room for a class and for a host."""
    with Rooming(tmp_path_factory.mktemp("thirty") / "home") as opened:
        yield opened


def lesson(room: Rooming, name: str) -> Visitor:
    """Join, and pass the lesson: what is offered, and a word to each call."""
    learner = room.learner(name)
    learner.answer_as_offered("initialize")
    learner.answer_as_offered("tools/list")
    learner.answer_calls(f"sunny, says {name}")
    return learner


def test_thirty_learners_join_at_once_and_pass_the_first_lesson(room: Rooming) -> None:
    """Nobody is given what another was asked or said."""
    with ThreadPoolExecutor(LEARNERS) as people:
        learners = list(people.map(partial(lesson, room), map("L{}".format, range(LEARNERS))))
    teacher = room.teacher()
    until(
        lambda: teacher.get("/room").text.count('class="passed"') == 5 * LEARNERS,
        "everybody at the end",
    )
    assert len({one.login_path for one in learners}) == LEARNERS
    for number, one in enumerate(learners):
        said = one.get("/api/history?q=sunny").json["lines"]
        assert len(said) == 3
        assert all(f"says L{number}" in line["gist"] for line in said)


# -- a host of one's own ------------------------------------------------------------------------


def test_a_host_of_ones_own_needs_the_address_of_the_seat_and_nothing_else(room: Rooming) -> None:
    """It speaks Streamable HTTP, and its call waits at that seat's desk."""
    mine, other = room.learner("mine"), room.learner("other")
    for path in ("/connect", "/own"):
        page = html.unescape(mine.get(path).text)
        assert f'"url": "{mine.link}/mcp"' in page
        assert str(Path.home()) not in page
    hello = mine.host(initialize("2025-11-25"))
    assert hello.status == 200, hello
    session = hello.headers["mcp-session-id"]
    call = {"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": {"name": "ask_human"}}
    call["params"] = {"name": "ask_human", "arguments": {"question": "Which colour?"}}
    got: list[Got] = []
    headers = {"Mcp-Session-Id": session, "MCP-Protocol-Version": "2025-11-25"}
    waiting = threading.Thread(target=lambda: got.append(mine.host(json.dumps(call), **headers)))
    waiting.start()
    asked = mine.question("tools/call")
    assert "Which colour?" in asked["gist"]
    assert mine.answer(asked, "green", "text").status == 200
    waiting.join()
    assert "green" in got[0].text
    assert all(one["method"] != "tools/call" for one in other.waiting())
    assert other.host("{}", **headers).status in {400, 404}


def test_a_page_of_another_address_asks_no_seat(room: Rooming) -> None:
    """What the MCP specification demands of Origin holds for each seat."""
    learner = room.learner("origin")
    refused = learner.host(initialize("2025-11-25"), Origin="http://evil.example")
    assert refused.status == 403
