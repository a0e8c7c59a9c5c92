"""What clients were seen to wait, in one file of the home."""

import json
import stat
import time
from pathlib import Path

import pytest

from humanmcp.inbox import records
from humanmcp.inbox.client_seconds import LONGEST, LONGEST_NAME, MOST_CLIENTS, ClientSeconds
from humanmcp.inbox.contract import Reply, Waiting
from humanmcp.inbox.folder import FolderInbox
from humanmcp.protocol.diagnostics.model import TextForm
from tests.server.test_serve import INITIALIZE, call
from tests.support.serve_process import Serving
from tests.support.waiting import until


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """Return an inbox folder that exists."""
    home = tmp_path / "home"
    home.mkdir(mode=0o700)
    return home


def test_another_server_knows_what_one_has_learned(home: Path) -> None:
    """The newest counts, for that client alone; the file is for its owner only."""
    limits = ClientSeconds(home)
    assert limits.of("a") is None
    for seconds in (60.04, 20.04):
        limits.put("a", seconds)
    assert (ClientSeconds(home).of("a"), limits.of("a"), limits.of("b")) == (20, 20, None)
    assert stat.S_IMODE((home / records.LEARNED).stat().st_mode) == 0o600


def test_what_another_server_learns_later_is_seen(home: Path) -> None:
    """A chat may last for days."""
    limits = ClientSeconds(home)
    assert limits.of("a") is None
    ClientSeconds(home).put("a", 30)
    assert limits.of("a") == 30


def test_the_file_is_bounded(home: Path) -> None:
    """Names come from the wire: neither their number nor their length is ours."""
    limits = ClientSeconds(home)
    for number in range(MOST_CLIENTS + 5):
        limits.put(f"client {number}", 60)
    limits.put("x" * 5000, 60)
    kept = json.loads((home / records.LEARNED).read_text())
    assert len(kept) == MOST_CLIENTS
    assert max(map(len, kept)) == LONGEST_NAME
    assert limits.of("x" * 5000) == 60
    assert limits.of("client 0") is None


@pytest.mark.parametrize(
    "content",
    [
        *("", "[]", "{", "\x00", "[" * 100_000, " " * 100_000),
        *('{"a": "60"}', '{"a": true}', '{"a": -1}', '{"a": NaN}', '{"a": 1e400}', '{"a": null}'),
        f'{{"a": {LONGEST + 1}}}',
    ],
)
def test_whatever_stands_in_the_file_is_no_trouble(home: Path, content: str) -> None:
    """It only improves an estimate."""
    (home / records.LEARNED).write_text(content)
    limits = ClientSeconds(home)
    assert limits.of("a") is None
    limits.put("a", 60)
    assert ClientSeconds(home).of("a") == 60


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


def test_nothing_is_learned_by_a_name_that_programs_have_in_common(home: Path) -> None:
    """One program on the Python SDK, whose name is `mcp`, says nothing of the next one."""
    ClientSeconds(home).put("mcp", 2)  # by an older version
    with Serving(home) as host:
        give_up(host, INITIALIZE.replace('"test"', '"mcp"'))
        host.say(call(3))
        second = until(lambda: waiting(host), "the next call waits")
        assert (second.limit, second.source) == (None, "unknown")
    assert ClientSeconds(home).of("mcp") == 2


def test_an_answer_that_was_waited_for_lifts_what_was_learned(home: Path) -> None:
    """Whoever takes an answer after two seconds does not give up after one tenth of one."""
    limits = ClientSeconds(home)
    limits.put("test", 0.1)
    limits.put("other", 60)
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
        until(lambda: limits.of("test") is None, "it is forgotten")
    assert limits.of("other") == 60


def test_what_a_person_has_set_of_a_client_counts_before_what_is_known(home: Path) -> None:
    """A call shows the limit that was set; a handshake message waits as long as was set."""
    ClientSeconds(home, records.CALL_LIMITS).put("test", 600)
    ClientSeconds(home, records.GRACE).put("test", 50)
    ClientSeconds(home).put("test", 3)
    with Serving(home) as host:
        host.say(INITIALIZE)
        handshake = until(lambda: waiting(host), "the handshake waits")
        assert handshake.book_at == 50
        host.say(call(2))
        until(lambda: len(FolderInbox(home).items(host.session.name)) > 1 or None, "the call waits")
        item = FolderInbox(home).items(host.session.name)[1]
        assert (item.waiting.limit, item.waiting.source) == (600, "set")
