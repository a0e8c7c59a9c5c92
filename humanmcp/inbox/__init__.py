"""Where exchanges wait for a person, and the one place that chooses an implementation."""

from __future__ import annotations

from typing import TYPE_CHECKING

from humanmcp import extensions

if TYPE_CHECKING:
    from pathlib import Path

    from humanmcp.inbox.contract import Inbox


def open_inbox(home: Path, where: str = "", name: str = "") -> Inbox:
    """Return the inbox in the folder `home`, or in the database whose address is `where`.

    A database is an extension's, found by the scheme of its address. It holds several inboxes, each
    under its name; with one, `home` is for text files only.

    Raises:
        UnsafeFolderError: the folder is not one of this user alone.
        InboxError: the database cannot be used, or no installed extension opens it.
    """
    if not where:
        from humanmcp.inbox.folder import FolderInbox  # noqa: PLC0415 - who needs the contract alone does not load it

        return FolderInbox(home)
    scheme, _, rest = where.partition("://")
    brought = next(extensions.brought_by("inboxes", scheme), None) if rest else None
    if brought is None:
        from humanmcp.inbox.contract import InboxError  # noqa: PLC0415 - as above

        raise InboxError("no address", where=where.partition(":")[0])
    from humanmcp.locales.stop import called_on  # noqa: PLC0415 - as above

    return called_on(brought[0], scheme, brought[1], where, home, name)  # type: ignore[no-any-return]  # what an extension brings
