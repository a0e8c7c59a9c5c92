"""What servers lend to the person at a host: prompts to say, resources to show to the model.

Tools are the model's; a prompt is "user-controlled" and a resource "application-driven" (MCP).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from humanmcp.answering.forms import MistypedError
from humanmcp.common.terminal import Painted, to_stdout
from humanmcp.host.client.handshake import entries_of
from humanmcp.host.client.requests import LISTS, Requests
from humanmcp.host.conversation import ImageBlock, TextBlock
from humanmcp.host.offering import PICTURES
from humanmcp.host.sampling import turns_heard
from humanmcp.host.terminal.form import FormAtTerminal
from humanmcp.host.terminal.results import line_of
from humanmcp.locales import say
from humanmcp.locales.stop import StopError
from humanmcp.protocol.json.tree import objects_at

if TYPE_CHECKING:
    from humanmcp.host.client.requests import Asking
    from humanmcp.host.conversation import Block, Turn
    from humanmcp.host.servers import Server, Servers
    from humanmcp.host.terminal.typing import Typist

ROOM: Final = "host"
KINDS: Final = {"/prompts": ("prompts",), "/resources": ("resources", "templates")}
"""The commands that list, and what each lists."""


class LendingError(StopError):
    """A server does not lend what the person wants."""

    room = ROOM


class Lent:
    """The prompts and resources of all servers of one host."""

    def __init__(self, servers: Servers, typist: Typist, language: str) -> None:
        self.servers = servers
        self.typist = typist
        self.language = language

    def list(self, command: str) -> None:
        """Show what each server that runs has of it, or that there is none.

        Raises:
            StopError: a server does not answer.
        """
        shown = 0
        for word in KINDS[command]:
            for server in self.servers.running():
                capability = LISTS[word].method.partition("/")[0]
                if server.client is not None and capability in server.client.offered:
                    shown += self._list(server, word)
        if not shown:
            to_stdout(f"  {say('client', 'none', self.language)}")

    def _list(self, server: Server, word: str) -> int:
        """Show what a server has of it; return how many there are."""
        shown = 0
        for page in self._requests(server).pages(word):
            for entry in entries_of(page, LISTS[word].member):
                name, about = line_of(entry, LISTS[word])
                to_stdout(
                    f"  {server.name}  ", Painted(name, "bold"), f"  {about}" if about else ""
                )
                shown += 1
        return shown

    def prompt(self, typed: str) -> tuple[Turn, ...]:
        """Return a server's prompt, ready to be said: `SERVER NAME key=value …`.

        Raises:
            StopError: there is no such prompt, or an argument is missing.
        """
        server, name, rest = self._words(typed, "prompt what")
        result = self._asked(server, self._requests(server).prompt(name, rest))
        turns = turns_heard(result.get("messages"))
        if not turns:
            raise LendingError("empty prompt", name=name)
        return turns

    def read(self, typed: str) -> tuple[Block, ...]:
        """Return what a resource holds, ready to be shown to the model: `SERVER URI key=value …`.

        Raises:
            StopError: there is no such resource, or a variable has no value.
        """
        server, uri, rest = self._words(typed, "read what")
        result = self._asked(server, self._requests(server).read(uri, rest))
        return tuple(map(_block, objects_at(result.get("contents"))))

    def _words(self, typed: str, otherwise: str) -> tuple[Server, str, str]:
        """Take a server's name and the name of what it has from the beginning of a line."""
        parts = typed.split(maxsplit=2)
        found = [one for one in self.servers.running() if parts and one.name == parts[0]]
        if len(parts) < 2 or not found:
            names = ", ".join(one.name for one in self.servers.running()) or "-"
            raise LendingError(otherwise, names=names)
        return found[0], parts[1], parts[2] if len(parts) > 2 else ""

    def _requests(self, server: Server) -> Requests:
        def fill(schema: object) -> dict[str, Any]:
            return FormAtTerminal(schema, self.typist, self.language).fill()

        assert server.client is not None  # noqa: S101 - it runs
        return Requests(server.client, fill if self.typist.is_there else None)

    def _asked(self, server: Server, asking: Asking) -> dict[str, Any]:
        assert server.client is not None  # noqa: S101 - it runs
        response = server.client.call(*asking)
        if response.error is not None:
            number, why = response.error
            raise MistypedError("error", method=asking.method, number=number, why=why)
        return response.result or {}


def _block(content: dict[str, Any]) -> Block:
    """Return what a resource holds: a picture, or text with its address."""
    match content:
        case {"blob": str(data), "mimeType": str(mime)} if mime in PICTURES:
            return ImageBlock(mime, data)
        case {"uri": str(uri), "text": str(text)}:
            return TextBlock(f"{uri}:\n{text}")
        case _:
            return TextBlock(f"[resource: {content.get('uri')}]")
