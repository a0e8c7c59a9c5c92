"""What the book answered at once stands in no folder, and is listed all the same."""

from pathlib import Path

import pytest

from humanmcp.answering.summary import answered_at_once
from humanmcp.cli import main
from humanmcp.inbox.contract import Role, SessionFacts
from humanmcp.inbox.folder import FolderInbox
from humanmcp.protocol.conversation.stages import ExchangeState
from humanmcp.protocol.conversation.transcript import Direction, Frame

ASKED = b'{"jsonrpc":"2.0","id":"seven","method":"tools/list"}'
ANSWERED = b'{"jsonrpc":"2.0","id":"seven","result":{"tools":[]}}'
FRAMES = (
    Frame(1, "2026-11-20T18:00:00.000Z", Direction.IN, ASKED, 1),
    Frame(2, "2026-11-20T18:00:00.001Z", Direction.OUT, b'{"jsonrpc":"2.0","method":"x"}', 1),
    Frame(3, "2026-11-20T18:00:00.002Z", Direction.OUT, ANSWERED, 1, by="book"),
    Frame(4, "2026-11-20T18:00:00.003Z", Direction.IN, ASKED, 2),
    Frame(5, "2026-11-20T18:00:00.004Z", Direction.IN, b"no message", 3),
)


@pytest.fixture
def inbox(tmp_path: Path) -> FolderInbox:
    """Make an empty inbox."""
    return FolderInbox(tmp_path / "home")


def record(inbox: FolderInbox, role: Role = Role.SERVER) -> SessionFacts:
    """Record a session in which one request was answered and one was not."""
    facts = SessionFacts(
        "", "2026-11-20T18:00:00Z", role, client="c", protocol_version="2025-11-25"
    )
    name = inbox.begin_session(facts)
    for frame in FRAMES:
        inbox.record(name, frame)
    return facts._replace(name=name)


def test_an_answered_request_is_an_item_like_any_other(inbox: FolderInbox) -> None:
    """With its line, its id as written, and who answered it; what is still open is none."""
    (item,) = answered_at_once(inbox, record(inbox), ())
    assert (item.key.number, item.method, item.id) == (1, "tools/list", '"seven"')
    assert item.state is ExchangeState.ANSWERED
    assert item.answer is not None
    assert (item.answer.line, item.answer.by) == (ANSWERED.decode(), "book")


def test_what_waited_is_not_listed_twice(inbox: FolderInbox) -> None:
    """Its folder says more."""
    assert list(answered_at_once(inbox, record(inbox), {1})) == []


def test_only_the_servers_seat_answers(inbox: FolderInbox) -> None:
    """What passes a tap is not answered here."""
    assert list(answered_at_once(inbox, record(inbox, Role.TAP), ())) == []


def test_all_lists_it_and_show_explains_it(
    inbox: FolderInbox, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """By the name that the list gives it."""
    record(inbox)
    home = ["--home", str(tmp_path / "home"), "--lang", "en"]
    assert main(["inbox", *home]) == 0
    assert "tools/list" not in capfd.readouterr().out
    assert main(["inbox", "--all", *home]) == 0
    assert "answered by the answer book" in capfd.readouterr().out
    assert main(["show", "a/1", *home]) == 0
    assert "tools/list" in capfd.readouterr().out
