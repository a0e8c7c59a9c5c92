"""Where exchanges wait for a person, and the one place that chooses an implementation."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from humanmcp.inbox.contract import Inbox


def open_inbox(home: Path, where: str = "", name: str = "") -> Inbox:
    """Return the inbox in the folder `home`, or in the database whose address is `where`.

    A database holds several inboxes, each under its name; with one, `home` is for text files only.

    Raises:
        UnsafeFolderError: the folder is not one of this user alone.
        InboxError: the database cannot be used.
    """
    if not where:
        from humanmcp.inbox.folder import FolderInbox  # noqa: PLC0415 - who needs the contract alone does not load it

        return FolderInbox(home)
    from humanmcp.inbox.postgres import database, inbox  # noqa: PLC0415 - few have a database

    return inbox.PostgresInbox(database.opened(where), home, name)
