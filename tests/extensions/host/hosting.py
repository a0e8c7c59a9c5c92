"""What the tests of the host share: a configuration of real servers, and a watcher."""

import contextlib
import json
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final

from humanmcp.common.child import ChildCommand
from humanmcp.extensions.host.client.callbacks import Nobody
from humanmcp.extensions.host.config import ServerEntry
from humanmcp.extensions.host.conversation import ToolAddress, ToolResult, ToolUse, Turn
from humanmcp.extensions.host.models.script import ScriptModel
from humanmcp.extensions.host.servers import HostLoop, Limits, Servers
from tests.extensions.host.seats import SAMPLES, SCRIPTED, Notes, sample

DICE: Final = ServerEntry("dice", sample("dice"))
WEATHER: Final = ServerEntry("human", sample("weather"))
SCRIPT: Final = ServerEntry("scripted", ChildCommand((sys.executable, str(SCRIPTED))))


def use(name: str, call: str = "", /, **given: Any) -> dict[str, Any]:  # noqa: ANN401 - any JSON value
    """Write the block with which a model asks for a tool."""
    return {"type": "tool_use", "name": name, "input": given, **({"id": call} if call else {})}


def says(*content: dict[str, Any] | str) -> dict[str, Any]:
    """Write a turn of a recorded model."""
    return {
        "content": [
            {"type": "text", "text": one} if isinstance(one, str) else one for one in content
        ]
    }


OVERLOADED: Final = {"error": "overloaded_error: no room"}


class Watching:
    """A watcher that lets everything pass and remembers it."""

    def __init__(self, choices: Sequence[Callable[[ToolUse], ToolResult]] = ()) -> None:
        """Decide as listed, and call what comes after that."""
        self.choices = list(choices)
        self.called: list[ToolAddress] = []
        self.results: list[ToolResult] = []
        self.pauses: list[float] = []
        self.pieces: list[str] = []

    def heard(self, piece: str) -> None:
        """Note it."""
        self.pieces.append(piece)

    def turn_ended(self, turn: Turn) -> None:
        """Do nothing."""

    def broke_off(self) -> None:
        """Do nothing."""

    def permit(self, use: ToolUse, tool: ToolAddress) -> ToolUse | ToolResult:  # noqa: ARG002 - Watcher
        """Decide as told."""
        return self.choices.pop(0)(use) if self.choices else use

    def calling(self, use: ToolUse, tool: ToolAddress) -> None:  # noqa: ARG002 - Watcher
        """Note it."""
        self.called.append(tool)

    def returned(self, use: ToolUse, result: ToolResult) -> None:  # noqa: ARG002 - Watcher
        """Note it."""
        self.results.append(result)

    def waiting(self, seconds: float) -> None:
        """Note it."""
        self.pauses.append(seconds)


class Table:
    """A host with a recorded model and real servers."""

    def __init__(
        self,
        servers: Servers,
        turns: Sequence[dict[str, Any]],
        notes: dict[str, Notes],
        watching: Watching,
        **choices: Any,  # noqa: ANN401 - the runner's own
    ) -> None:
        """Lay it."""
        self.servers = servers
        self.model = ScriptModel(turns)
        self.notes = notes
        self.watching = watching
        self.slept: list[float] = []
        self.loop = HostLoop(self.model, servers, watching, sleep=self.slept.append, **choices)

    def wire(self, server: str) -> list[dict[str, Any]]:
        """Return what was sent to one server after its tools were listed."""
        sent = [json.loads(line) for line in self.notes[server].sent]
        listed = max(at for at, one in enumerate(sent) if one.get("method") == "tools/list")
        return sent[listed + 1 :]


@contextlib.contextmanager
def table(
    *turns: dict[str, Any],
    entries: Sequence[ServerEntry] = (DICE,),
    choices: Sequence[Callable[[ToolUse], ToolResult]] = (),
    limits: Limits | None = None,
    system: str = "",
) -> Iterator[Table]:
    """Lay a table, and clear it."""
    notes: dict[str, Notes] = {}

    def onlooker(name: str) -> Notes:
        notes[name] = Notes()
        return notes[name]

    servers = Servers(entries, lambda _name: Nobody(), observer=onlooker)
    servers.start()
    try:
        yield Table(
            servers, turns, notes, Watching(choices), limits=limits or Limits(), system=system
        )
    finally:
        servers.close()


def configuration(folder: Path, **servers: dict[str, Any]) -> Path:
    """Write a configuration file."""
    file = folder / "mcp.json"
    file.write_text(json.dumps({"mcpServers": servers}), encoding="utf-8")
    return file


def entry(name: str) -> dict[str, Any]:
    """Write the entry of a sample server."""
    return {"command": sys.executable, "args": [str(SAMPLES / "servers" / f"{name}.py")]}
