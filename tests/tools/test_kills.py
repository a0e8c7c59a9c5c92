"""Some rounds of `tools/kills.py`, and what it found in its first thousand."""

import random
import sys
from pathlib import Path

import pytest

from humanmcp.inbox.contract import Item, Reply
from humanmcp.inbox.folder import FolderInbox
from humanmcp.protocol.conversation.stages import ExchangeState
from humanmcp.protocol.diagnostics.model import TextForm
from tests.support.postgres_server import PostgresServer
from tests.support.waiting import until
from tools.killed_hosts import HookHost, Host, HttpHost
from tools.kills import run

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="processes are forked")

MORE_THAN_A_PIPE_HOLDS = "x" * 200_000


def test_whatever_is_killed_nobody_is_told_sent_of_what_was_not_delivered(tmp_path: Path) -> None:
    """Nothing goes out twice, and every text is kept. A failure names its seed."""
    assert run(tmp_path, 24, random.randrange(10**6))


def test_the_same_holds_over_http_where_the_client_is_killed_too(tmp_path: Path) -> None:
    """A client that can come again gets its answer then; sent is said after that."""
    assert run(tmp_path, 24, random.randrange(10**6), calls=HttpHost)


def test_no_agent_runs_what_nobody_allowed_whatever_is_killed(tmp_path: Path) -> None:
    """The hook, the desk, the agent, the connection, or the inbox: nothing allows by itself."""
    assert run(tmp_path, 24, random.randrange(10**6), calls=HookHost)


@pytest.mark.postgres
@pytest.mark.xdist_group("postgres")
def test_the_same_holds_when_the_inbox_is_a_database_that_is_killed_too(
    tmp_path: Path, postgres: PostgresServer
) -> None:
    """It is started again, and everybody finds their way back to it."""
    assert run(tmp_path, 5, random.randrange(10**6), postgres)


@pytest.fixture
def host(tmp_path: Path) -> Host:
    """Let a call wait whose client reads nothing."""
    host = Host(tmp_path / "home", ())
    host.call(7)
    host.may_read.clear()
    return host


def answer(host: Host, inbox: FolderInbox) -> Item:
    """Answer with more than the pipe holds, and return the call once the server has taken that."""

    def waits() -> Item | None:
        found = [item for one in inbox.sessions() for item in inbox.items(one.name)]
        return found[0] if found else None

    item = until(waits, "the call")
    inbox.send(item.key, Reply(MORE_THAN_A_PIPE_HOLDS, TextForm.TEXT, by="desk"))
    until(lambda: [one for one in inbox.frames(item.key.session) if one.by == "desk"], "it is sent")
    return inbox.item(item.key)


def test_an_answer_is_on_its_way_until_the_client_has_read_enough_of_it(
    host: Host, tmp_path: Path
) -> None:
    """It is called answered when all of it is in the pipe, and not before."""
    inbox = FolderInbox(tmp_path / "home")
    item = answer(host, inbox)
    assert item.state is ExchangeState.PENDING
    assert item.reply is not None
    host.may_read.set()
    until(lambda: inbox.item(item.key).state is ExchangeState.ANSWERED, "it is answered")
    until(lambda: host.heard, "the client has it")
    host.end()


def test_an_answer_that_the_client_never_read_is_not_called_sent(
    host: Host, tmp_path: Path
) -> None:
    """The client ends without reading; the text is kept."""
    inbox = FolderInbox(tmp_path / "home")
    item = answer(host, inbox)
    host.end()
    assert inbox.item(item.key).state is not ExchangeState.ANSWERED
    assert inbox.item(item.key).reply == item.reply


@pytest.mark.extension("text_files")
def test_status_txt_says_answered_of_what_the_client_has_and_of_nothing_else(
    host: Host, tmp_path: Path
) -> None:
    """On its way while the client reads nothing, and not confirmed if it ends like that."""
    inbox = FolderInbox(tmp_path / "home")
    item = answer(host, inbox)
    status = Path(inbox.facts(item.key.session).files) / "status.txt"
    until(lambda: "an answer is being sent" in status.read_text("utf-8"), "it is on its way")
    host.close()
    until(lambda: "not confirmed: " in status.read_text("utf-8"), "nobody knows")
    assert "answered by" not in status.read_text("utf-8")
