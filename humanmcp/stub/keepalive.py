"""What the stub may write by itself while a person is at a request."""

from __future__ import annotations

from typing import TYPE_CHECKING

from humanmcp.protocol.policy.answer_book import Mode
from humanmcp.protocol.policy.timeouts import ALL_MEANS, HOLD

if TYPE_CHECKING:
    from humanmcp.common.book_file import BookFile
    from humanmcp.protocol.session import Session
    from humanmcp.stub.options import ServeOptions


class Keepalive:
    """Whether progress is sent, and whether anything is at all.

    `progress` is the person's last word, None as long as there is none: the command line's and the
    answer book's count then. `silent` keeps back everything that nobody has typed.
    """

    def __init__(self, session: Session, manner: ServeOptions, shelf: BookFile) -> None:
        """Begin as the command line says."""
        self.progress: bool | None = None
        self.silent = False
        self._session = session
        self._manner = manner
        self._shelf = shelf

    @property
    def may_acknowledge(self) -> bool:
        """Whether what only has to be confirmed is confirmed."""
        return self._manner.mode is not Mode.BY_HAND and not self.silent

    def means(self, number: int) -> frozenset[str]:
        """Return by which means a client may be kept waiting for the answer to a request.

        Who sends progress of their own is not interrupted: a client expects one rising value.
        """
        if self._manner.mode is Mode.BY_HAND or self.silent:
            return frozenset()
        if not self._says_progress() or self._session.reports_progress(number):
            return frozenset({HOLD})
        return ALL_MEANS

    def _says_progress(self) -> bool:
        if self.progress is not None:
            return self.progress
        return self._manner.progress and self._shelf.book.progress
