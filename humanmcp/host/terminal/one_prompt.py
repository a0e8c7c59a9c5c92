"""One prompt for the model, and out: for scripts. Its last words on stdout, all else on stderr."""

from __future__ import annotations

from typing import TYPE_CHECKING

from humanmcp.common.terminal import Painted, is_terminal, raw_to_stdout, to_stderr
from humanmcp.host.conversation import written
from humanmcp.host.runner import Refuse
from humanmcp.host.terminal.chat import ROOM, WAIT_OF_A_SCRIPT, AtHost, call_of, state_of
from humanmcp.host.terminal.results import as_json
from humanmcp.locales import say

if TYPE_CHECKING:
    from humanmcp.answering.schema.commands import PromptedShape
    from humanmcp.host.conversation import ToolUse
    from humanmcp.host.offering import ToolAddress
    from humanmcp.host.runner import Choice, HostLoop


class AtHostOnce(AtHost):
    """Tells on stderr what happens. Where stdout is no terminal no person can be asked there."""

    def heard(self, piece: str) -> None:
        """Wait for the whole answer: it goes to stdout in one piece."""

    def permit(self, use: ToolUse, tool: ToolAddress) -> Choice:
        """Ask the person who is there; else refuse what was not allowed before."""
        if self.call_all or (self.typist.is_there and is_terminal()):
            return super().permit(use, tool)
        told = {"server": tool.server, "tool": tool.tool}
        to_stderr(Painted(say(ROOM, "nobody to ask", self.language, **told), "yellow"))
        return Refuse()

    def calling(self, use: ToolUse, tool: ToolAddress) -> None:
        """Tell of the call."""
        to_stderr(Painted(call_of(use, tool), "cyan"))


def ask_once(loop: HostLoop, prompt: str, language: str, *, json: bool) -> None:
    """Let the servers start, say one thing to the model, and show what comes of it.

    Raises:
        StopError: the model took no turn, or asks for tools without end.
    """
    servers = loop.servers
    servers.begin()
    servers.wait_until_settled(WAIT_OF_A_SCRIPT)
    for server in servers.all:
        if server.client is None or server.trouble or not server.settled.is_set():
            to_stderr(Painted(f"  {server.name}  {state_of(server, language)}", "yellow"))
    said = loop.run(prompt)
    if json:
        turns = [written(turn) for turn in loop.history]
        told: PromptedShape = {"text": said, "messages": turns}
        said = as_json(told)
    raw_to_stdout(said)
