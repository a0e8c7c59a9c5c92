"""What every page and every call of the interface needs, in one value."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from fastapi import Request

    from humanmcp.desk.auth.guard import Address
    from humanmcp.desk.auth.login import Door
    from humanmcp.desk.state.board import Board
    from humanmcp.desk.state.live import Live
    from humanmcp.desk.state.saved_answers import Shelf
    from humanmcp.inbox.contract import DeskInbox


@dataclass(frozen=True, slots=True)
class Desk:
    """A desk: its inbox and everything that stands around it."""

    home: Path
    board: Board
    live: Live
    door: Door
    address: Address
    shelf: Shelf
    book: Path
    language: str = ""
    told: Mapping[str, Any] = field(default_factory=dict)
    """What a server must be told, as settings, to meet this desk."""

    @property
    def inbox(self) -> DeskInbox:
        """Where the exchanges wait."""
        return self.board.inbox


def desk_of(request: Request) -> Desk:
    """Return the desk that a request came to."""
    desk = request.app.state.desk
    if not isinstance(desk, Desk):  # `make_app` puts it there
        raise TypeError(type(desk))
    return desk
