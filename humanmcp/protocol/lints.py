"""What MCP asks of a result that no shape can say."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from humanmcp.protocol.exchange import Exchange, Known
    from humanmcp.protocol.findings import Found, Path
    from humanmcp.protocol.messages import Json


def lint(exchange: Exchange, value: Json, known: Known, path: Path) -> list[Found]:
    """Return what is wrong with a result that has its shape."""
    return []
