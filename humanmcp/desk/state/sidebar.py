"""What stands beside a message: the running sessions, what waits, and what was said last."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from humanmcp.desk.state import history

if TYPE_CHECKING:
    from humanmcp.desk.state.board import Board, SessionView

RECENT: Final = 12
"""Lines of the past that stand under what waits."""
FEW: Final = 6
"""Running sessions that stand above the list by name; of more it shows those that wait."""


def listed(board: Board, session: str) -> dict[str, Any]:
    """Gather what the list shows, of one session if named."""
    return {
        "session": session,
        "find": "",
        "running": _running(board, session),
        "rows": board.waiting(session),
        "recent": () if board.inbox.away else history.recent(board, RECENT),
    }


def _running(board: Board, session: str = "") -> list[SessionView]:
    """List the running sessions: the oldest first, or of many the one chosen and who waits."""
    running = [one for one in board.sessions() if one.facts.is_open]
    if len(running) <= FEW:
        return running[::-1]
    return sorted(running, key=lambda one: (one.facts.name != session, not one.waiting))


def found(board: Board, text: str) -> SessionView | None:
    """Return the running session with a letter, or the first with these words in what is shown."""
    wanted = text.strip().casefold()
    running = _running(board)
    words = ((one, f"{one.facts.title} {one.facts.client}".casefold()) for one in running)
    by_letter = (one for one in running if one.badge.letter.casefold() == wanted)
    return next(by_letter, next((one for one, said in words if wanted in said), None))
