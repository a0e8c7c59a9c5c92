"""What clients were seen to wait, in one file of the home."""

from __future__ import annotations

import json
import stat
import time
from typing import TYPE_CHECKING

import pytest

from humanmcp.inbox import layout
from humanmcp.inbox.contract import Reply
from humanmcp.inbox.folder import FolderInbox
from humanmcp.protocol.diagnostics.verdict import TextForm
from humanmcp.stub.limits import LARGEST, LONGEST, LONGEST_NAME, MOST_CLIENTS, SeenLimits
from tests.serving import Serving
from tests.stub.test_serve import INITIALIZE, call
from tests.waiting import until

if TYPE_CHECKING:
    from pathlib import Path

    from humanmcp.inbox.contract import Waiting


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """Return an inbox folder that exists."""
    home = tmp_path / "home"
    home.mkdir(mode=0o700)
    return home


def test_another_stub_knows_what_one_has_learned(home: Path) -> None:
    """The newest counts, for that client alone; the file is for its owner only."""
    limits = SeenLimits(home)
    assert limits.of("a") == 0
    for seconds in (60.04, 20.04):
        limits.learn("a", seconds)
    assert (SeenLimits(home).of("a"), limits.of("a"), limits.of("b")) == (20, 20, 0)
    assert stat.S_IMODE((home / layout.LEARNED).stat().st_mode) == 0o600


def test_what_another_stub_learns_later_is_seen(home: Path) -> None:
    """A chat may last for days."""
    limits = SeenLimits(home)
    assert limits.of("a") == 0
    SeenLimits(home).learn("a", 30)
    assert limits.of("a") == 30


def test_the_file_is_bounded(home: Path) -> None:
    """Names come from the wire: neither their number nor their length is ours."""
    limits = SeenLimits(home)
    for number in range(MOST_CLIENTS + 5):
        limits.learn(f"client {number}", 60)
    limits.learn("x" * 5000, 60)
    kept = json.loads((home / layout.LEARNED).read_text())
    assert len(kept) == MOST_CLIENTS
    assert max(map(len, kept)) == LONGEST_NAME
    assert limits.of("x" * 5000) == 60
    assert limits.of("client 0") == 0


@pytest.mark.parametrize(
    "content",
    [
        *("", "[]", "{", "\x00", "[" * 100_000, " " * (LARGEST + 1)),
        *('{"a": "60"}', '{"a": true}', '{"a": -1}', '{"a": NaN}', '{"a": 1e400}', '{"a": null}'),
        f'{{"a": {LONGEST + 1}}}',
    ],
)
def test_whatever_stands_in_the_file_is_no_trouble(home: Path, content: str) -> None:
    """It only improves an estimate."""
    (home / layout.LEARNED).write_text(content)
    limits = SeenLimits(home)
    assert limits.of("a") == 0
    limits.learn("a", 60)
    assert SeenLimits(home).of("a") == 60


def test_a_client_that_gave_up_is_known_the_next_time(home: Path) -> None:
    """The next call shows the limit, and that it was seen before."""
    with Serving(home) as host:
        began = time.monotonic()
        give_up(host, INITIALIZE)
        host.say(call(3))
        second = until(lambda: waiting(host), "the next call waits")
        assert second.source == "learned"
        assert second.limit is not None
        assert 1 <= second.limit <= time.monotonic() - began + 0.1


def waiting(host: Serving) -> Waiting | None:
    """Return how long the first exchange may wait, None while nothing waits."""
    items = FolderInbox(host.home).items(host.session.name)
    return items[0].waiting if items else None


def give_up(host: Serving, initialize: str) -> None:
    """Let a client give up on a call after more than a second."""
    host.say(initialize)
    host.hear()
    began = time.monotonic()
    host.say(call(2))
    first = until(lambda: waiting(host), "the call waits")
    assert (first.limit, first.source) == (None, "unknown")
    until(lambda: time.monotonic() - began > 1.2, "it has waited for more than a second")
    host.say(
        '{"jsonrpc":"2.0","method":"notifications/cancelled","params":'
        '{"requestId":2,"reason":"McpError: MCP error -32001: Request timed out"}}'
    )
    until(lambda: waiting(host) is None, "it is cancelled")


def test_h5_nothing_is_learned_by_a_name_that_programs_have_in_common(home: Path) -> None:
    """H5: one program on the Python SDK, whose name is `mcp`, says nothing of the next one."""
    SeenLimits(home).learn("mcp", 2)  # by an older version
    with Serving(home) as host:
        give_up(host, INITIALIZE.replace('"test"', '"mcp"'))
        host.say(call(3))
        second = until(lambda: waiting(host), "the next call waits")
        assert (second.limit, second.source) == (None, "unknown")
    assert SeenLimits(home).of("mcp") == 2


def test_h5_an_answer_that_was_waited_for_lifts_what_was_learned(home: Path) -> None:
    """H5: whoever takes an answer after two seconds does not give up after one tenth of one."""
    limits = SeenLimits(home)
    limits.learn("test", 0.1)
    limits.learn("other", 60)
    with Serving(home) as host:
        host.say(INITIALIZE)
        host.hear()
        began = time.monotonic()
        host.say(call(2))
        assert until(lambda: waiting(host), "the call waits").source == "learned"
        until(lambda: time.monotonic() - began > 1.3, "it has waited for longer")
        inbox = FolderInbox(home)
        (item,) = inbox.items(host.session.name)
        inbox.send(item.key, Reply("here", TextForm.TEXT))
        assert "here" in host.hear()
        until(lambda: limits.of("test") == 0, "it is forgotten")
    assert limits.of("other") == 60
