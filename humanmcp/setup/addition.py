"""What an extension adds to a host: what `config` writes beside its entry."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterator

    from humanmcp.common.terminal import Painted


class Addition(Protocol):
    """What brings the permission prompts of one host here, with `config HOST --approvals`.

    What changes a file raises a `ConfigFileError`.
    """

    def offer(self) -> str:
        """Return how it is asked for, for a person who has not; "" to say nothing."""

    def where(self) -> str:
        """Return where `snippet` goes."""

    def snippet(self) -> str:
        """Return what to paste."""

    def check(self) -> None:
        """Raise what `write` would raise, and change nothing."""

    def write(self) -> str:
        """Write it, once. Return what was done."""

    def remove(self, *, is_asked: bool) -> str:
        """Take it out. Return what was done; "" if nothing was, and nobody asked for it."""

    def notes(self, *, is_written: bool) -> Iterator[str | Painted]:
        """Yield what comes next, and what it does not do."""
