"""Write a book that is a server that exists: from its command, or from a recording of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from humanmcp import __version__
from humanmcp.common.timestamps import now
from humanmcp.common.toml_edit import element_text, table_text
from humanmcp.host.client.callbacks import ClientObserver
from humanmcp.host.client.client import Client
from humanmcp.host.client.handshake import Identity, Opening
from humanmcp.host.client.respondents import Nobody
from humanmcp.host.client.transport import connect
from humanmcp.protocol.conversation.transcript import Direction, Frame
from humanmcp.protocol.spec import methods

if TYPE_CHECKING:
    from collections.abc import Iterator

    from humanmcp.host.client.transport import ServerTarget
    from humanmcp.protocol.rules.book_writer import CopiedBook

NAME: Final = "humanmcp-book"
"""Who the client is that reads what a server offers."""


class _Listener(ClientObserver):
    """Records what passes, as a transcript would."""

    def __init__(self) -> None:
        self.frames: list[Frame] = []

    def line_sent(self, line: str) -> None:
        self._add(Direction.IN, line.encode())

    def line_arrived(self, line: bytes) -> None:
        self._add(Direction.OUT, line)

    def _add(self, direction: Direction, raw: bytes) -> None:
        self.frames.append(Frame(len(self.frames) + 1, now(), direction, raw))


def listed(target: ServerTarget) -> list[Frame]:
    """Ask a server what it offers, and return all that was said.

    Raises:
        StopError: it cannot be started, or does not speak MCP.
    """
    listener = _Listener()
    client = Client(
        connect(target),
        Nobody(),
        identity=Identity(NAME, __version__, {}),
        observer=listener,
    )
    try:
        client.open(Opening.PROBE)
        for method in methods.LISTS:
            if method.capability in client.offered:
                for _page in client.pages(method.name):
                    pass
    finally:
        client.close()
    return listener.frames


def as_toml(book: CopiedBook) -> str:
    """Write a book."""
    return "\n".join(_sections(book))


def _sections(book: CopiedBook) -> Iterator[str]:
    if book.server:
        yield table_text(["server"], book.server)
    yield table_text(["wait"], book.wait)
    for member, entries in book.lists.items():
        for entry in entries:
            yield element_text(member, entry)
    for rule in book.rules:
        yield element_text("rules", rule)
