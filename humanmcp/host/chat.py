"""The person at the host: a chat in the terminal, and the say in every tool call."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from humanmcp.host.conversation import Role, Text, ToolResult, ToolUse
from humanmcp.host.models import ModelError
from humanmcp.host.runner import Call, Instead, Refuse, TurnLimitError
from humanmcp.host.servers import NoServerError
from humanmcp.locales import say
from humanmcp.terminal import Painted, complain
from humanmcp.terminal import say as show

if TYPE_CHECKING:
    from collections.abc import Mapping

    from humanmcp.host.conversation import Turn
    from humanmcp.host.offering import Place
    from humanmcp.host.runner import Choice, Runner
    from humanmcp.host.servers import Servers
    from humanmcp.host.typing_in import Typist

ROOM: Final = "host"
PROMPT: Final = "> "
STARTED: Final = "MCP Client Started!"
_LONGEST: Final = 2000


class AtHost:
    """Sees the loop in the terminal. Asks before each call, unless it may call all."""

    def __init__(self, typist: Typist, language: str, *, call_all: bool = False) -> None:
        """Ask through this typist."""
        self.typist = typist
        self.language = language
        self.call_all = call_all
        self._line = ""

    def heard(self, piece: str) -> None:
        """Show what the model says, line by line as it comes."""
        *lines, self._line = (self._line + piece).split("\n")
        for line in lines:
            show(line)

    def turn_ended(self, turn: Turn) -> None:  # noqa: ARG002 - Watcher
        """Show the rest of the last line."""
        self.broke_off()

    def broke_off(self) -> None:
        """Show what was heard of a line that nobody will end."""
        if self._line:
            show(self._line)
        self._line = ""

    def permit(self, use: ToolUse, place: Place) -> Choice:
        """Ask: call it, answer in its place, or refuse. At the end of input it is refused."""
        if self.call_all:
            return Call()
        show(Painted(self._say("wants", server=place.server, tool=place.tool), "bold"))
        show("  ", _text(use.input))
        match self.typist.choose(self._say("ask permission"), "car"):
            case "c":
                return Call()
            case "a":
                return Instead(self.typist.ask(self._say("ask instead")) or "")
            case _:
                return Refuse()

    def calling(self, use: ToolUse, place: Place) -> None:
        """Show the call as seed 001's host does."""
        show(Painted(f"[Calling tool {place.tool} with args {_text(use.input)}]", "cyan"))

    def returned(self, use: ToolUse, result: ToolResult) -> None:  # noqa: ARG002 - Watcher
        """Show what the model will read."""
        text = result.text if len(result.text) <= _LONGEST else result.text[:_LONGEST] + " …"
        complain(Painted(f"  -> {text}", "yellow" if result.is_error else "dim"))

    def waiting(self, seconds: float) -> None:
        """Say that the service has no room."""
        self.broke_off()
        complain(Painted(self._say("overloaded", seconds=f"{seconds:g}"), "yellow"))

    def _say(self, code: str, **fillings: object) -> str:
        return say(ROOM, code, self.language, **fillings)


class Chat:
    """The loop of the person: a line to the model, or a command with a slash."""

    def __init__(self, runner: Runner, typist: Typist, language: str) -> None:
        """Sit down."""
        self.runner = runner
        self.typist = typist
        self.language = language

    def run(self) -> None:
        """Talk until `exit`, `/quit` or the end of input."""
        show(STARTED)
        self._servers(self.runner.servers)
        while (typed := self.typist.ask(PROMPT)) is not None:
            if typed.strip() in ("exit", "/quit", "/exit"):
                return
            if typed.strip():
                self._do(typed.strip())
            self.typist.answer_waiting()

    def _do(self, typed: str) -> None:
        match typed:
            case "/tools":
                for tool in self.runner.servers.offered():
                    show("  ", Painted(tool.name, "bold"), f"  {tool.description}")
            case "/servers":
                self._servers(self.runner.servers)
            case "/history":
                self._history()
            case _ if typed.split(maxsplit=1)[0] == "/reconnect":
                self._reconnect(typed.removeprefix("/reconnect").strip())
            case _ if typed.startswith("/"):
                show(say(ROOM, "help", self.language))
            case _:
                self._run(typed)

    def _reconnect(self, name: str) -> None:
        servers = self.runner.servers
        try:
            servers.reconnect(name)
        except NoServerError as error:
            show(Painted(error.sentence(self.language), "yellow"))
        except KeyboardInterrupt:
            show(Painted(say(ROOM, "interrupted", self.language), "yellow"))
        else:
            self._servers(servers, name)

    def _run(self, prompt: str) -> None:
        try:
            self.runner.run(prompt)
        except (ModelError, TurnLimitError) as error:
            show(Painted(error.sentence(self.language), "red"))
        except KeyboardInterrupt:
            show(Painted(say(ROOM, "interrupted", self.language), "yellow"))

    def _servers(self, servers: Servers, only: str = "") -> None:
        for server in servers.all:
            if only not in ("", server.name):
                continue
            if server.entry.url:
                state = say(ROOM, "is remote", self.language, url=server.entry.url)
            elif server.entry.disabled:
                state = say(ROOM, "is disabled", self.language)
            elif server.trouble:
                state = server.trouble.sentence(self.language)
            else:
                state = say(ROOM, "has tools", self.language, count=len(server.tools))
            show("  ", Painted(server.name, "bold"), f"  {state}")

    def _history(self) -> None:
        for turn in self.runner.history:
            for block in turn.blocks:
                match block:
                    case Text(text):
                        who, said = turn.role.value, text
                    case ToolUse(_, name, given):
                        who, said = turn.role.value, f"{name} {_text(given)}"
                    case ToolResult(_, text, is_error):
                        who, said = "tool_result", f"(error) {text}" if is_error else text
                show(Painted(f"{who}: ", "dim" if turn.role is Role.SYSTEM else "bold"), said)


def _text(given: Mapping[str, Any]) -> str:
    return json.dumps(given, ensure_ascii=False)
