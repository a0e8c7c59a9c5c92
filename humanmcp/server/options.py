"""How a session was asked to behave: by the command line, and by what a person has said since."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from humanmcp.protocol.rules.answer_book import Mode, OpeningPolicy
from humanmcp.protocol.rules.timeouts import ALL_MEANS, HOLD

if TYPE_CHECKING:
    from collections.abc import Callable

    from humanmcp.common.book_file import BookFile
    from humanmcp.protocol.rules.replay import Replay
    from humanmcp.protocol.session import Session
    from humanmcp.server.adding import Addition


class Forward(NamedTuple):
    """What was not recorded is asked of this command, and its answers are added to a recording."""

    command: tuple[str, ...]
    recording: Addition


class ServeOptions(NamedTuple):
    """The options of a server. `client_limit` is in seconds, 0 for the known limit.

    `progress` says whether the client is told that a person is at its request. `replay` has the
    recorded answers that come before the answer book's; `forward` says where the rest is asked.
    `refuse` says that the client gets an error for what the book would leave to a person.
    """

    mode: Mode = Mode.NORMAL
    client_limit: float = 0.0
    language: str = "en"
    replay: Replay | None = None
    opening: OpeningPolicy = OpeningPolicy.BY_CLIENT
    progress: bool = True
    forward: Forward | None = None
    refuse: bool = False
    notify: Callable[[str, int, str], object] | None = None
    """Told of each request that waits for a person: session, number, tool."""


class Keepalive:
    """Decides whether progress notifications or any keepalive is sent.

    `progress` is the person's last word, None as long as there is none: the command line's and the
    answer book's count then. `silent` keeps back everything that was not typed.
    """

    def __init__(self, session: Session, options: ServeOptions, book_file: BookFile) -> None:
        self.progress: bool | None = None
        self.silent = False
        self._session = session
        self._options = options
        self._book_file = book_file

    @property
    def may_acknowledge(self) -> bool:
        """Whether what only has to be confirmed is confirmed."""
        return self._options.mode is not Mode.BY_HAND and not self.silent

    def means(self, number: int) -> frozenset[str]:
        """Return which keepalive a request allows.

        Who sends progress of their own is not interrupted: a client expects one rising value.
        """
        if self._options.mode is Mode.BY_HAND or self.silent:
            return frozenset()
        if not self._says_progress() or self._session.reports_progress(number):
            return frozenset({HOLD})
        return ALL_MEANS

    def _says_progress(self) -> bool:
        if self.progress is not None:
            return self.progress
        return self._options.progress and self._book_file.book.progress
