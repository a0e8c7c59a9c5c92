"""An HTTP exchange as a transcript records it."""

from typing import Final

from humanmcp.protocol.conversation.transcript import HTTP, Direction, Frame
from humanmcp.protocol.http.client import IncomingResponse, OutgoingRequest

CALL: Final = b'{"jsonrpc":"2.0","id":"a","method":"tools/call"}'
NOTICE: Final = b'{"jsonrpc":"2.0","method":"notifications/initialized"}'
ASKED: Final = OutgoingRequest("POST", (("Accept", "x"),), CALL, "http://h/mcp")
ANSWERED: Final = IncomingResponse(200, "OK", (("Content-Type", "x"),))


def part_frame(text: str, note: str = HTTP) -> Frame:
    """Record a part."""
    return Frame(1, "2026-11-20T00:00:00.000Z", Direction.IN, text.encode(), note=note)
