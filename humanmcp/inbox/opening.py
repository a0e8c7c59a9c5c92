"""Which inbox there is: the one place that chooses an implementation of the contract."""

from __future__ import annotations

from typing import TYPE_CHECKING

from humanmcp.inbox.folder import FolderInbox

if TYPE_CHECKING:
    from pathlib import Path

    from humanmcp.inbox.contract import Inbox


def open_inbox(home: Path) -> Inbox:
    """Return the inbox that is kept in `home`.

    Raises:
        UnsafeFolderError: it is not a folder of this user alone.
    """
    return FolderInbox(home)
