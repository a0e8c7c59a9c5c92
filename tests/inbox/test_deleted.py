"""A folder of sessions that somebody deletes while a server runs."""

from pathlib import Path

from humanmcp.inbox.contract import SessionFacts
from humanmcp.inbox.folder import FolderInbox


def test_a_folder_that_was_deleted_is_made_again_for_the_next_session(tmp_path: Path) -> None:
    """Every client was refused until the server was started again."""
    inbox = FolderInbox(tmp_path / "home")
    inbox.home.rename(tmp_path / "gone")
    name = inbox.begin_session(SessionFacts("", "2026-11-20T18:00:00Z"))
    assert (tmp_path / "home" / "sessions" / name).is_dir()
    inbox.end(name)
