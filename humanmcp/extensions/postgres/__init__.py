"""The inbox in a PostgreSQL database, which several servers and desks share."""

from typing import Final

from humanmcp.extensions import Extension

_OPEN: Final = "humanmcp.extensions.postgres.inbox:open_inbox"

EXTENSION: Final = Extension(inboxes={"postgresql": _OPEN, "postgres": _OPEN})
