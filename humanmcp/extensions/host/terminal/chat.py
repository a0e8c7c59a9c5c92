"""The person at the host: a chat in the terminal, and the say in every tool call."""

from __future__ import annotations

import threading
import time
from dataclasses import KW_ONLY, dataclass, field
from typing import TYPE_CHECKING, Final

from humanmcp.answering.schema import TypedDict
from humanmcp.common.terminal import Painted, is_terminal, raw_to_stdout, to_stderr, to_stdout
from humanmcp.extensions.host.conversation import (
    ImageBlock,
    StopReason,
    TextBlock,
    ToolResult,
    ToolUse,
    TurnRole,
    TurnShape,
    written,
)
from humanmcp.extensions.host.sampling import Lent
from humanmcp.extensions.host.servers import refused
from humanmcp.locales import say
from humanmcp.locales.stop import Phrase, StopError
from humanmcp.protocol.json.jsonrpc import as_json
from humanmcp.protocol.json.visible import one_line

if TYPE_CHECKING:
    from collections.abc import Callable

    from humanmcp.extensions.host.conversation import Block, ToolAddress, Turn
    from humanmcp.extensions.host.servers import HostLoop, Server
    from humanmcp.extensions.host.terminal.typing import Typist

SECTION: Final = "host"
PROMPT: Final = "> "
STARTED: Final = "MCP Client Started!"
_WAITING: Final = ("/prompts", "/resources", "/prompt", "/read")
"""The commands that ask a server, and so wait for those that still start."""
_LONGEST: Final = 2000
_LONGEST_LAST: Final = 500
"""Characters of what a server wrote before it ended."""
SAY_AFTER: Final = 2.0
"""Seconds after which a person reads which servers are still starting."""
WAIT_FOR_TOOLS: Final = 3.0
"""Seconds from the start that a prompt waits for servers that still start: a model that knows no
tool yet answers without. Later ones do not wait."""
WAIT_OF_A_SCRIPT: Final = 20.0
"""The same where no person sits at the terminal and is kept waiting."""


@dataclass(eq=False)
class AtHost:
    """Sees the loop in the terminal. Asks before each call, unless it may call all.

    `definition` tells what a server says of a tool now.
    """

    typist: Typist
    _: KW_ONLY
    call_all: bool = False
    definition: Callable[[ToolAddress], object] = lambda _place: None
    trusted: dict[ToolAddress, object] = field(default_factory=dict, init=False)
    """Tools that are called without a question, each with what its server said of it then."""
    _line: str = field(default="", init=False)

    def heard(self, piece: str) -> None:
        """Show what the model says, line by line as it comes."""
        *lines, self._line = (self._line + piece).split("\n")
        for line in lines:
            to_stdout(line)

    def turn_ended(self, turn: Turn) -> None:
        """Show the rest of the last line, and why the model stopped, unless it simply finished."""
        self.broke_off()
        why = ending_of(turn)
        if why is not None:
            to_stderr(Painted(why.sentence(), "yellow"))

    def broke_off(self) -> None:
        """Show what was heard of a line that has no end."""
        if self._line:
            to_stdout(self._line)
        self._line = ""

    def permit(self, use: ToolUse, tool: ToolAddress) -> ToolUse | ToolResult:
        """Ask: call it, trust it, answer in its place, or refuse (as at the end of input).

        A tool that is no longer what it was when it was trusted is asked about anew.
        """
        if self.call_all or self._is_trusted(tool):
            return use
        told = {"server": tool.server, "tool": tool.tool}
        to_stdout(Painted(say(SECTION, "wants", **told), "bold"))
        to_stdout("  ", as_json(use.input))
        match self.typist.choose(say(SECTION, "ask permission"), "ctar"):
            case "c":
                return use
            case "t":
                self.trusted[tool] = self.definition(tool)
                to_stdout(Painted(say(SECTION, "trusted", **told), "dim"))
                return use
            case "a":
                return ToolResult(use.id, self.typist.ask(say(SECTION, "ask instead")) or "")
            case _:
                return refused(use)

    def _is_trusted(self, tool: ToolAddress) -> bool:
        if tool not in self.trusted:
            return False
        if self.trusted[tool] == self.definition(tool):
            return True
        del self.trusted[tool]
        to_stdout(
            Painted(say(SECTION, "has changed", server=tool.server, tool=tool.tool), "yellow")
        )
        return False

    def ask_again(self) -> None:
        """Ask before each call again, whatever was trusted."""
        names = ", ".join(f"{one.server}: {one.tool}" for one in self.trusted) or "-"
        self.trusted.clear()
        to_stdout(say(SECTION, "ask again", names=names))

    def calling(self, use: ToolUse, tool: ToolAddress) -> None:
        """Show the call as the article's dice host does."""
        to_stdout(Painted(call_of(use, tool), "cyan"))

    def returned(self, use: ToolUse, result: ToolResult) -> None:  # noqa: ARG002 - Watcher
        """Show what the model will read."""
        text = result.text if len(result.text) <= _LONGEST else result.text[:_LONGEST] + " …"
        to_stderr(Painted(f"  -> {text}", "yellow" if result.is_error else "dim"))

    def waiting(self, seconds: float) -> None:
        """Say that the service has no room."""
        self.broke_off()
        to_stderr(Painted(say(SECTION, "overloaded", seconds=f"{seconds:g}"), "yellow"))


def call_of(use: ToolUse, tool: ToolAddress) -> str:
    """Write a call in one line."""
    return f"[Calling tool {tool.tool} with args {as_json(use.input)}]"


def ending_of(turn: Turn) -> Phrase | None:
    """Return how a turn ended, unless it simply did."""
    if turn.stop is not StopReason.DONE:
        return Phrase("model", f"stopped {turn.stop.value}")
    return None if turn.blocks else Phrase("model", "stopped empty")


def state_of(server: Server) -> str:
    if server.entry.trouble is not None:
        return server.entry.trouble.sentence()
    if server.entry.disabled:
        return say(SECTION, "is disabled")
    if server.trouble:
        last = one_line(" ".join(server.last_lines), _LONGEST_LAST)
        said = f".{say('calling', 'server says', said=last)}" if last else ""
        return server.trouble.sentence() + said
    if server.unlisted:
        return server.unlisted.sentence()
    if server.is_starting:
        return say(SECTION, "is starting")
    return say(SECTION, "has tools", count=len(server.tools))


class Chat:
    """The loop of the person: a line to the model, or a command with a slash."""

    def __init__(self, loop: HostLoop, person: AtHost, typist: Typist) -> None:
        self.loop = loop
        self.person = person
        self.typist = typist
        self.lent = Lent(loop.servers, typist)
        self._shown: tuple[Block, ...] = ()
        """What the model is shown with the next thing that is said to it."""
        self._began = time.monotonic()

    def run(self) -> None:
        """Start the servers, and talk until `exit`, `/quit` or the end of input."""
        to_stdout(STARTED)
        servers = self.loop.servers
        for server in servers.all:
            if not server.entry.can_start:
                self._server(server)
        self._began = time.monotonic()
        servers.begin(self._server)
        late = threading.Timer(SAY_AFTER, self._say_who_is_awaited)
        late.daemon = True
        late.start()
        try:
            self._talk()
        finally:
            late.cancel()

    def _talk(self) -> None:
        if not self.typist.is_there:
            self._let_servers_start()
        while (typed := self.typist.ask(PROMPT)) is not None:
            if typed.strip() in ("exit", "/quit", "/exit"):
                return
            if typed.strip():
                self._do(typed.strip())
            self.typist.answer_waiting()

    def _let_servers_start(self) -> None:
        """Wait a little for the tools of servers that still start; the slow ones come later."""
        timeout = WAIT_FOR_TOOLS if self.typist.is_there else WAIT_OF_A_SCRIPT
        left = self._began + timeout - time.monotonic()
        self.loop.servers.wait_until_settled(max(0.0, left))

    def _say_who_is_awaited(self) -> None:
        """Report the servers that are slow to start; the prompt does not wait for them."""
        servers = self.loop.servers
        for server in servers.awaited:
            asked = ", ".join(server.awaits) or "…"
            code = "starting person" if server.entry.is_person else "starting"
            missing = {"name": server.name, "methods": asked, "seconds": f"{servers.timeout:g}"}
            with self.typist.above():
                to_stderr(say(SECTION, code, **missing))

    def _do(self, typed: str) -> None:
        word, _, rest = typed.partition(" ")
        commands: dict[str, Callable[[], object]] = {
            "/prompts": lambda: self.lent.list(word),
            "/resources": lambda: self.lent.list(word),
            "/prompt": lambda: self.loop.say(self.lent.prompt(rest)),
            "/read": lambda: self._read(rest),
            "/reconnect": lambda: self._server(self.loop.servers.reconnect(rest.strip())),
            "/tools": self._tools,
            "/servers": self._servers,
            "/history": self._history,
            "/ask": self.person.ask_again,
        }
        is_said = not typed.startswith("/")
        try:
            if is_said or word in _WAITING:
                self._let_servers_start()
            if is_said:
                self.loop.run(typed, self._shown)
                self._shown = ()
            else:
                commands.get(word, lambda: to_stdout(say(SECTION, "help")))()
        except StopError as error:
            to_stdout(Painted(error.sentence(), "red"))
        except KeyboardInterrupt:
            to_stdout(Painted(say(SECTION, "interrupted"), "yellow"))

    def _tools(self) -> None:
        for tool in self.loop.servers.model_tools():
            to_stdout("  ", Painted(tool.name, "bold"), f"  {tool.description}")

    def _servers(self) -> None:
        for server in self.loop.servers.all:
            self._server(server)

    def _read(self, typed: str) -> None:
        """Show a resource to the person now, and to the model with what is said next."""
        blocks = self.lent.read(typed)
        for one in blocks:
            to_stdout("  ", Painted(one.text if isinstance(one, TextBlock) else "[image]", "dim"))
        self._shown += blocks
        to_stdout(say(SECTION, "will be shown"))

    def _server(self, server: Server) -> None:
        """Show one server and its state."""
        with self.typist.above():
            to_stdout("  ", Painted(server.name, "bold"), f"  {state_of(server)}")

    def _history(self) -> None:
        for turn in self.loop.history:
            for block in turn.blocks:
                match block:
                    case TextBlock(text):
                        who, said = turn.role.value, text
                    case ImageBlock(mime, _):
                        who, said = turn.role.value, f"[image: {mime}]"
                    case ToolUse(_, name, given):
                        who, said = turn.role.value, f"{name} {as_json(given)}"
                    case ToolResult(_, text, is_error):
                        who, said = "tool_result", f"(error) {text}" if is_error else text
                to_stdout(
                    Painted(f"{who}: ", "dim" if turn.role is TurnRole.SYSTEM else "bold"), said
                )


class AtHostOnce(AtHost):
    """Tells on stderr what happens. Where stdout is no terminal no person can be asked there."""

    def heard(self, piece: str) -> None:
        """Wait for the whole answer: it goes to stdout in one piece."""

    def permit(self, use: ToolUse, tool: ToolAddress) -> ToolUse | ToolResult:
        """Ask the person; without one, refuse what was not allowed before."""
        if self.call_all or (self.typist.is_there and is_terminal()):
            return super().permit(use, tool)
        told = {"server": tool.server, "tool": tool.tool}
        to_stderr(Painted(say(SECTION, "nobody to ask", **told), "yellow"))
        return refused(use)

    def calling(self, use: ToolUse, tool: ToolAddress) -> None:
        to_stderr(Painted(call_of(use, tool), "cyan"))


class PromptedShape(TypedDict):
    """The last answer of a model, and the whole conversation."""

    text: str
    messages: list[TurnShape]


def ask_once(loop: HostLoop, prompt: str, *, json: bool) -> None:
    """Let the servers start, say one thing to the model, and show what comes of it.

    Raises:
        StopError: the model took no turn, or asks for tools without end.
    """
    servers = loop.servers
    servers.begin()
    servers.wait_until_settled(WAIT_OF_A_SCRIPT)
    for server in servers.all:
        is_running = server.client is not None and server.settled.is_set()
        if not is_running or server.trouble or server.unlisted:
            to_stderr(Painted(f"  {server.name}  {state_of(server)}", "yellow"))
    said = loop.run(prompt)
    if json:
        turns = [written(turn) for turn in loop.history]
        told: PromptedShape = {"text": said, "messages": turns}
        said = as_json(told)
    raw_to_stdout(said)
