"""The servers of a host: started together, offered to the model as `server__tool`, ended together.

A server that does not start, or dies, costs its tools and nothing else.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from dataclasses import KW_ONLY, InitVar, dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final, Protocol

from humanmcp.common.child import EndedError, StartError
from humanmcp.extensions.host.client.callbacks import ClientObserver
from humanmcp.extensions.host.client.client import LONGEST, TIMEOUT, Client, connect, first_done
from humanmcp.extensions.host.client.handshake import (
    HandshakeError,
    Identity,
    NoAnswerError,
    SessionStart,
)
from humanmcp.extensions.host.conversation import (
    BETWEEN,
    ModelError,
    ModelTool,
    NoToolError,
    OverloadedError,
    TextBlock,
    ToolAddress,
    ToolFilter,
    ToolResult,
    ToolUse,
    Turn,
    TurnRole,
    images_of,
    name_for_model,
    text_of,
)
from humanmcp.locales.stop import StopError, stopped
from humanmcp.protocol.conversation.outcomes import NoticeArrived, UnreadableArrived
from humanmcp.protocol.json.tree import follow, objects_at

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from humanmcp.extensions.host.client.callbacks import ServerRequestHandler
    from humanmcp.extensions.host.client.client import Wait
    from humanmcp.extensions.host.config import ServerEntry
    from humanmcp.extensions.host.conversation import Block
    from humanmcp.extensions.host.models import Model
    from humanmcp.protocol.conversation.outcomes import Event

MOST_LAST_LINES: Final = 3
_TROUBLE: Final = (StartError, HandshakeError, NoAnswerError, EndedError)


class Server(ClientObserver):
    """One entry of the configuration, with its client when it runs."""

    def __init__(self, entry: ServerEntry) -> None:
        self.entry = entry
        self.settled = threading.Event()
        """Set once it has started, or will not."""
        self.begin_anew()

    def begin_anew(self) -> None:
        """Forget what was: it is about to be started."""
        self.settled.clear()
        self.is_starting = self.entry.can_start
        self.client: Client | None = None
        self.tools: tuple[Mapping[str, Any], ...] = ()
        self.trouble: StopError | None = None
        """Why it cannot be used; None when it can."""
        self.unlisted: StopError | None = None
        """Why its tools are not known; None when they are."""
        self.stale = False
        self.last_lines: deque[str] = deque(maxlen=MOST_LAST_LINES)
        """What it wrote last on stderr, or on stdout without being a message."""

    @property
    def name(self) -> str:
        return self.entry.name

    @property
    def awaits(self) -> tuple[str, ...]:
        """The methods that have no answer yet."""
        client = self.client
        return tuple(one.method for one in client.session.awaited) if client is not None else ()

    def happened(self, event: Event) -> None:
        """Note when its tools change, and what it writes beside messages."""
        if isinstance(event, NoticeArrived):
            self.stale |= event.message.method == "notifications/tools/list_changed"
        elif isinstance(event, UnreadableArrived):
            self.last_lines.append(event.malformed.text)

    def stderr_line(self, line: bytes) -> None:
        self.last_lines.append(line.decode("utf-8", "replace"))

    def server_ended(self, error: EndedError) -> None:
        self.trouble = error

    def list_tools(self) -> None:
        """Ask for its tools, page by page."""
        if self.client is None or "tools" not in self.client.server_capabilities:
            return
        self.stale = False
        self.unlisted = None
        tools: list[Mapping[str, Any]] = []
        for page in self.client.pages("tools/list"):
            if page.error is not None:
                number, why = page.error
                told = {"method": "tools/list", "number": number, "why": why}
                self.unlisted = stopped("client", "error", **told)
            elif not isinstance(follow(page.result, "tools"), list):
                self.unlisted = stopped("client", "no list", method="tools/list", name="tools")
            tools += objects_at(page.result, "tools")
        self.tools = tuple(tool for tool in tools if isinstance(tool.get("name"), str))


@dataclass(eq=False)
class Servers:
    """All servers of one host.

    `respondent` makes the one that answers a server's questions, from its name, and `observer`
    the one that sees its lines. `wait` is how a client waits.
    """

    entries: InitVar[Sequence[ServerEntry]]
    respondent: Callable[[str], ServerRequestHandler]
    _: KW_ONLY
    identity: Identity = field(default_factory=Identity)
    observer: Callable[[str], ClientObserver] = lambda _name: ClientObserver()
    session_start: SessionStart = SessionStart.PROBE
    timeout: float = TIMEOUT
    longest: float = LONGEST
    wait: Wait = first_done
    tools: ToolFilter = field(default_factory=ToolFilter)

    def __post_init__(self, entries: Sequence[ServerEntry]) -> None:
        self.all = tuple(Server(entry) for entry in entries)
        self._places: dict[str, ToolAddress] = {}
        self._closed = False
        self._lock = threading.Lock()

    # -- starting and ending -------------------------------------------------------------------

    @property
    def awaited(self) -> list[Server]:
        """The servers that have neither started nor failed yet."""
        return [one for one in self.all if one.entry.can_start and not one.settled.is_set()]

    def running(self) -> list[Server]:
        """List the servers that can be asked something now."""
        return [
            one
            for one in self.all
            if one.client is not None and one.settled.is_set() and not one.trouble
        ]

    def begin(self, on_start: Callable[[Server], None] = lambda _server: None) -> None:
        """Start every server that can be started, each in the background.

        `on_start` hears of each one that has started, or will not; `trouble` says why not. It hears
        of none after `close`.
        """
        for server in self.all:
            if server.entry.can_start:
                threading.Thread(target=self._start, args=(server, on_start), daemon=True).start()

    def wait_until_settled(self, seconds: float | None = None) -> bool:
        """Wait for the servers that still start. False when that took too long."""
        end = None if seconds is None else time.monotonic() + seconds
        for server in self.all:
            left = None if end is None else max(0.0, end - time.monotonic())
            if server.entry.can_start and not server.settled.wait(left):
                return False
        return True

    def start(self) -> None:
        """Start every server that can be started, all at once, and wait for them."""
        self.begin()
        try:
            self.wait_until_settled()
        except BaseException:  # Ctrl-C: a server that says nothing must not be waited for
            self.close()
            raise

    def _start(self, server: Server, on_start: Callable[[Server], None]) -> None:
        try:
            self._open(server)
        finally:
            server.is_starting = False
            with self._lock:
                if not self._closed:
                    on_start(server)
            server.settled.set()  # last: who waits for it goes on after `on_start`

    def _open(self, server: Server) -> None:
        target = server.entry.target
        if target is None:
            return
        try:
            transport = connect(target)
        except StartError as error:
            server.trouble = error
            return
        with self._lock:
            if self._closed:
                transport.close()
                return
            server.client = Client(
                transport,
                self.respondent(server.name),
                identity=self.identity,
                observers=(server, self.observer(server.name)),
                timeout=self.timeout,
                longest=self.longest,
                wait_for_any=self.wait,
            )
        try:
            server.client.open(self.session_start)
            server.list_tools()
        except _TROUBLE as error:
            server.trouble = error
            server.client.close()

    def reconnect(self, name: str) -> Server:
        """End one server, start it anew, and list its tools again; its `trouble` says if it fails.

        Raises:
            StopError: there is none of this name that can be started.
        """
        server = next((one for one in self.all if one.name == name and one.entry.can_start), None)
        if server is None:
            names = ", ".join(one.name for one in self.all if one.entry.can_start)
            raise stopped("host", "reconnect what", name=name, names=names)
        if server.client is not None:
            server.client.close()
        server.begin_anew()
        self._start(server, lambda _server: None)
        return server

    def close(self) -> None:
        """End every server, all at once: each has a separate timeout."""
        with self._lock:
            self._closed = True
        clients = [server.client for server in self.all if server.client is not None]
        with ThreadPoolExecutor(max(1, len(clients))) as pool:
            list(pool.map(Client.close, clients))

    # -- tools ---------------------------------------------------------------------------------

    def model_tools(self) -> tuple[ModelTool, ...]:
        """List the tools for the model, by names that lead back. Asks again what has changed."""
        places: dict[str, ToolAddress] = {}
        found = []
        for server in self.all:
            if server.trouble or not server.settled.is_set():
                continue
            if server.stale:
                try:
                    server.list_tools()
                except _TROUBLE as error:
                    server.trouble = error
                    continue
            for tool in server.tools:
                if not self.tools.lets(ToolAddress(server.name, tool["name"])):
                    continue
                name = name_for_model(server.name, tool["name"], places)
                places[name] = ToolAddress(server.name, tool["name"])
                schema = tool.get("inputSchema")
                found.append(
                    ModelTool(
                        name,
                        str(tool.get("description") or tool.get("title") or ""),
                        schema if isinstance(schema, dict) else {"type": "object"},
                    )
                )
        self._places = places
        return tuple(found)

    def place(self, name: str) -> ToolAddress:
        """Return where a name leads: an offered one, or any `server__tool` of a known server.

        Raises:
            NoToolError: it has no `__`, its server is not there, or the person keeps it back.
        """
        if name in self._places:
            return self._places[name]
        server, between, tool = name.partition(BETWEEN)
        if not between:
            raise NoToolError("tool names have the form server__tool")
        if server not in {one.name for one in self.all}:
            raise NoToolError(f"there is no server {server}")
        found = ToolAddress(server, tool)
        if not self.tools.lets(found):
            raise NoToolError("the user does not offer this tool")
        return found

    def definition(self, place: ToolAddress) -> Mapping[str, Any] | None:
        """Return what a server says of a tool now; None when it lists none of this name."""
        listed = (one.tools for one in self.all if one.name == place.server)
        return next(
            (tool for tools in listed for tool in tools if tool["name"] == place.tool), None
        )

    def call(self, use: ToolUse, tool: ToolAddress) -> ToolResult:
        """Call a tool on its server, and on that one only. Errors become text for the model."""
        server = next(one for one in self.all if one.name == tool.server)
        if server.client is None or server.trouble or not server.settled.is_set():
            return _failed(use, server.trouble or "the server does not run yet", tool.tool)
        params = {"name": tool.tool, "arguments": dict(use.input)}
        try:
            response = server.client.call("tools/call", params)
        except _TROUBLE as error:
            return _failed(use, error, tool.tool)
        if response.error is not None:
            code, why = response.error
            return _failed(use, f"{code}: {why}", tool.tool)
        result = response.result or {}
        is_error = result.get("isError") is True
        return ToolResult(use.id, text_of(result), is_error, images_of(result))


PAUSES: Final = (1.0, 2.0, 4.0, 8.0, 16.0)
"""The seconds before each new attempt, where the service of a model is overloaded."""

INTERRUPTED: Final = "The user interrupted this tool call."


class Watcher(Protocol):
    """Sees what happens in the loop, and is asked before each call."""

    def heard(self, piece: str) -> None:
        """Hear a piece of what the model says."""

    def turn_ended(self, turn: Turn) -> None:
        """See a whole turn of the model."""

    def broke_off(self) -> None:
        """See that the model did not end its turn."""

    def permit(self, use: ToolUse, tool: ToolAddress) -> ToolUse | ToolResult:
        """Return a call to make it, or what the model reads in its place."""

    def calling(self, use: ToolUse, tool: ToolAddress) -> None:
        """See that a tool is called."""

    def returned(self, use: ToolUse, result: ToolResult) -> None:
        """See what the model will read."""

    def waiting(self, seconds: float) -> None:
        """See that the service has no room, and for how long it is waited."""


@dataclass(frozen=True, slots=True)
class Limits:
    """How far a model may go after one prompt."""

    turns: int = 20
    calls: int = 10
    """In one turn."""


class TurnLimitError(StopError):
    """The model asks for tools again and again."""

    section = "model"


@dataclass(eq=False)
class HostLoop:
    """One conversation between a person, a model and their servers."""

    model: Model
    servers: Servers
    watcher: Watcher
    _: KW_ONLY
    system: InitVar[str] = ""
    limits: Limits = field(default_factory=Limits)
    sleep: Callable[[float], None] = time.sleep

    def __post_init__(self, system: str) -> None:
        self.history: list[Turn] = [Turn(TurnRole.SYSTEM, (TextBlock(system),))] if system else []

    def run(self, prompt: str, shown: tuple[Block, ...] = ()) -> str:
        """Say something to the model and return its last words; `shown` stands before the prompt.

        Raises:
            StopError, KeyboardInterrupt: as `say`.
        """
        return self.say((Turn(TurnRole.USER, (*shown, TextBlock(prompt))),))

    def say(self, turns: tuple[Turn, ...]) -> str:
        """Put turns into the conversation, and return the model's last words to them.

        Raises:
            ModelError: it took no turn. The history is as it was before that turn.
            TurnLimitError: it asks for tools without end.
            KeyboardInterrupt: the person had enough; no call is left without a result.
        """
        before = len(self.history)
        self.history += turns
        for _ in range(self.limits.turns):
            try:
                turn = self._turn()
            except (ModelError, KeyboardInterrupt):
                self.watcher.broke_off()
                if len(self.history) == before + len(turns):
                    del self.history[
                        before:
                    ]  # the model has not heard it: the next one stands in its place
                raise
            self.history.append(turn)
            self.watcher.turn_ended(turn)
            if not turn.calls:
                return turn.text
            self._answer(turn.calls)
        raise TurnLimitError("turn limit", turns=self.limits.turns)

    def _turn(self) -> Turn:
        tools = self.servers.model_tools()
        for pause in (*PAUSES, None):
            try:
                turn = self.model.turn(tuple(self.history), tools, self.watcher.heard)
                return self._with_own_ids(turn)
            except OverloadedError as error:
                if pause is None:
                    raise ModelError("overloaded") from error
                self.watcher.waiting(pause)
                self.sleep(pause)
        raise AssertionError("the last attempt returns or raises")

    def _with_own_ids(self, turn: Turn) -> Turn:
        """Give a call another id when one before it has the same: a result names its call by it."""
        seen = {call.id for each in self.history for call in each.calls}
        blocks = []
        for block in turn.blocks:
            own = block
            if isinstance(own, ToolUse):
                while own.id in seen:
                    own = replace(own, id=own.id + "'")
                seen.add(own.id)
            blocks.append(own)
        return replace(turn, blocks=tuple(blocks))

    def _answer(self, calls: tuple[ToolUse, ...]) -> None:
        """Give every call its result, in one turn of the user."""
        results: list[ToolResult] = []
        try:
            for number, use in enumerate(calls):
                results.append(self._result(use, number))
                self.watcher.returned(use, results[-1])
        finally:
            results += [
                ToolResult(use.id, INTERRUPTED, is_error=True) for use in calls[len(results) :]
            ]
            self.history.append(Turn(TurnRole.USER, tuple(results)))

    def _result(self, use: ToolUse, number: int) -> ToolResult:
        if number >= self.limits.calls:
            why = f"not called: at most {self.limits.calls} tools can be called in one turn"
            return _failed(use, why)
        if use.malformed:
            return _failed(use, f"the arguments are not a JSON object: {use.malformed}")
        try:
            tool = self.servers.place(use.name)
        except NoToolError as error:
            return _failed(use, error)
        decided = self.watcher.permit(use, tool)
        if isinstance(decided, ToolUse):
            self.watcher.calling(decided, tool)
            return self.servers.call(decided, tool)
        return decided


def refused(use: ToolUse) -> ToolResult:
    return ToolResult(use.id, "The user refused this tool call.", is_error=True)


def _failed(use: ToolUse, why: object, tool: str = "") -> ToolResult:
    return ToolResult(use.id, f"Error calling tool {tool or use.name}: {why}", is_error=True)
