"""The folder inbox keeps every promise, and its files are what the manual says."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from humanmcp.inbox.folder import FolderInbox
from tests.inbox.contract import InboxContract

if TYPE_CHECKING:
    from pathlib import Path

    from humanmcp.inbox.contract import Inbox


class FolderStore:
    """One folder; each view is an inbox of its own on it."""

    def __init__(self, home: Path) -> None:
        """Keep things in `home`."""
        self.home = home

    def view(self) -> FolderInbox:
        """Open another inbox on the folder."""
        return FolderInbox(self.home)

    def kill(self, inbox: Inbox) -> None:
        """Let go of its locks, as the system does for a process that died."""
        assert isinstance(inbox, FolderInbox)
        for own in inbox._own.values():
            own.lock.release()


@pytest.fixture
def store(tmp_path: Path) -> FolderStore:
    """Keep things in a folder of the test."""
    return FolderStore(tmp_path / "home")


class TestFolderInbox(InboxContract):
    """The folder passes what every inbox passes."""
