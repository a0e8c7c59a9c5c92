"""`humanmcp demo`: a small, real host that plays one whole session against `humanmcp serve`.

It starts the server as a child, as every host does, sends the messages of the weather session one
by one, and shows what the host asks, what was answered, and what the host made of it. A person
answers in a text file or with `humanmcp answer`; with a book it plays by itself.
"""

from __future__ import annotations

import json
import queue
import shutil
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Self

from humanmcp import paths
from humanmcp.host.child import ChildTransport, Command
from humanmcp.host.transport import EndedError
from humanmcp.locales import language_of, say
from humanmcp.settings import add_flags
from humanmcp.terminal import Painted
from humanmcp.terminal import say as tell

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator

    from humanmcp.settings import Settings

WEATHER_BOOK: Final = "weather.toml"
DEMO_FOLDER: Final = "demo"
LOOK_EVERY: Final = 0.2
BETWEEN_STEPS: Final = 0.8
"""Seconds to read a step by, where a person watches the demo play by itself."""

_TOOL: Final = "get-japan-forecast"


@dataclass(frozen=True, slots=True)
class Step:
    """One message of the host. `code` names its sentences; `example` is an answer to copy.

    A step without an example is a notification: nobody answers it.
    """

    code: str
    message: dict[str, Any]
    example: dict[str, Any] | None = None


def _call(number: int, place: str) -> dict[str, Any]:
    return {
        "jsonrpc": "2.0",
        "id": number,
        "method": "tools/call",
        "params": {"name": _TOOL, "arguments": {"location": place}},
    }


def _refusal(why: str) -> dict[str, Any]:
    return {"error": {"code": -32602, "message": why}}


_SCHEMA: Final = {
    "type": "object",
    "properties": {"location": {"type": "string", "description": "location name"}},
    "required": ["location"],
}

STEPS: Final = (
    Step(
        "initialize",
        {
            "jsonrpc": "2.0",
            "id": 1,
            "method": "initialize",
            "params": {
                "protocolVersion": "2024-11-05",
                "capabilities": {"roots": {"listChanged": True}},
                "clientInfo": {"name": "Visual Studio Code", "version": "1.99.2"},
            },
        },
        {
            "result": {
                "protocolVersion": "2024-11-05",
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "humanmcp", "version": "1.0.0"},
            }
        },
    ),
    Step("initialized", {"method": "notifications/initialized", "jsonrpc": "2.0"}),
    Step(
        "tools-list",
        {"jsonrpc": "2.0", "id": 2, "method": "tools/list", "params": {}},
        {
            "result": {
                "tools": [
                    {
                        "name": _TOOL,
                        "description": "Get weather forecast",
                        "inputSchema": _SCHEMA,
                    }
                ]
            }
        },
    ),
    Step(
        "call-tokyo",
        _call(3, "東京"),
        {"result": {"content": [{"type": "text", "text": "sunny"}]}},
    ),
    Step("call-osaka", _call(4, "大阪"), _refusal("遠い。自分で調べて")),
    Step("call-hokkaido", _call(5, "北海道"), _refusal("東京の天気以外知りません。自分でググって")),
)
"""The weather session: the messages that a real host sent to the first human MCP server."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the flags of `demo`."""
    add_flags(parser, "home", "files", "book", "lang")
    parser.add_argument("--by-hand", action="store_true", help=say("demo", "help by-hand"))


def run(arguments: argparse.Namespace, settings: Settings) -> int:
    """Play the session. Returns 0 when every request was answered."""
    language = language_of(settings.lang)
    home = paths.make_private(paths.home_folder(settings.home))
    watched = sys.stdin.isatty() or bool(arguments.by_hand)
    book = settings.book or ("" if watched else str(sample(WEATHER_BOOK)))
    folder = Path(settings.files).absolute() if settings.files else home / DEMO_FOLDER
    command = [sys.executable, "-m", "humanmcp", "serve", "--home", str(home)]
    command += ["--files", str(folder), "--lang", language]
    command += ["--book", str(Path(book).absolute())] if book else ["--by-hand"]
    tell(Painted(say("demo", "title", language), "bold"))
    told = say(
        "demo", "by-itself" if book else "by-hand", language, folder=folder, program=program()
    )
    tell(told)
    tell(Painted(say("demo", "starts", language, command="humanmcp serve"), "dim"))
    show = Show(language, folder, by_hand=not book, pause=BETWEEN_STEPS if watched and book else 0)
    with Child(command) as child:
        try:
            return 0 if all(show.step(child, number, step) for number, step in _numbered()) else 1
        except KeyboardInterrupt:
            tell()
            return 130
        finally:
            show.end(home)


def sample(name: str) -> Path:
    """Return the path of a sample: in the installed package, else in a checkout."""
    package = Path(__file__).parent
    installed = package / "samples" / name
    return installed if installed.exists() else package.parent / "samples" / name


def program() -> str:
    """Name the command as it can be typed here: a fresh `.venv` is not on PATH yet."""
    ours = Path(sys.executable).with_name("humanmcp")
    on_path = shutil.which("humanmcp")
    if not ours.exists() or (on_path and Path(on_path).samefile(ours)):
        return "humanmcp"
    here = Path.cwd()
    return str(ours.relative_to(here) if ours.is_relative_to(here) else ours)


def _numbered() -> Iterator[tuple[int, Step]]:
    return iter(enumerate(STEPS, 1))


class Child:
    """The server, as a host has it: its lines wait here until somebody reads them."""

    def __init__(self, command: list[str]) -> None:
        """Start it. What it says on stderr is kept for the case that it dies."""
        self.lines: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self.said: list[bytes] = []
        self.transport = ChildTransport(Command(tuple(command)))
        self.transport.start(self)

    def __enter__(self) -> Self:
        """Use it as a context: it ends with the block."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close its stdin and wait: that is how a client says goodbye over stdio."""
        self.transport.close()

    def receive(self, timeout: float) -> bytes | None:
        """Return the next line of the server, None when none came in time.

        Raises:
            EndedError: the server is gone.
        """
        try:
            line = self.lines.get(timeout=timeout)
        except queue.Empty:
            return None
        if line is None:
            raise self.transport.obituary()
        return line

    def line_arrived(self, line: bytes) -> None:
        """Keep a line from the server."""
        self.lines.put(line)

    def said_aside(self, line: bytes) -> None:
        """Keep a line of its stderr."""
        self.said.append(line)

    def ended(self) -> None:
        """Let whoever waits for a line know that none will come."""
        self.lines.put(None)


class Show:
    """Shows the session on the terminal, step by step."""

    def __init__(self, language: str, folder: Path, *, by_hand: bool, pause: float) -> None:
        """Remember how to show it. `pause` is in seconds, between two steps."""
        self.language = language
        self.folder = folder
        self.by_hand = by_hand
        self.pause = pause
        self.arrows: list[str] = []
        self._complained = ""

    def step(self, child: Child, number: int, step: Step) -> bool:
        """Play one step. False when the server is gone."""
        tell()
        title = say("demo", f"{step.code}-title", self.language)
        tell(Painted(f"{number}/{len(STEPS)}  {title}", "bold"))
        tell("     " + say("demo", f"{step.code}-is", self.language))
        line = json.dumps(step.message, ensure_ascii=False, separators=(",", ":"))
        tell(Painted("  >> ", "cyan"), line)
        self.arrows.append(f"host  ──▶  you    {step.message['method']}")
        try:
            child.transport.send(line)
            answer = self._answer(child, step) if step.example is not None else None
        except EndedError:
            self._gone(child)
            return False
        if answer is not None:
            self._show_answer(step, answer)
        if self.pause:
            time.sleep(self.pause)
        return True

    def _answer(self, child: Child, step: Step) -> dict[str, Any]:
        if self.by_hand:
            self._invite(step)
        while True:
            line = child.receive(LOOK_EVERY)
            if line is None:
                self._show_complaint()
                continue
            answer = json.loads(line)
            if answer.get("id") == step.message["id"]:
                tell(Painted("  << ", "green"), line.decode("utf-8", "replace"))
                return dict(answer)

    def _invite(self, step: Step) -> None:
        example = {"jsonrpc": "2.0", "id": step.message["id"], **(step.example or {})}
        text = json.dumps(example, ensure_ascii=False)
        tell(Painted("     " + say("demo", "your-turn", self.language), "yellow"))
        tell(f"     echo '{text}' > {self.folder}/out.txt")

    def _show_complaint(self) -> None:
        """Show why the last answer was not sent: it stands in `problems.txt`."""
        try:
            text = (self.folder / "problems.txt").read_text(encoding="utf-8").strip()
        except OSError:
            return
        if text and text != self._complained:
            for line in text.splitlines():
                tell(Painted("     " + line, "red"))
        self._complained = text

    def _show_answer(self, step: Step, answer: dict[str, Any]) -> None:
        kind = "error" if "error" in answer else "result"
        self.arrows.append(f"host  ◀──  you    {kind}")
        tell(Painted("     " + self._understood(step, answer), "green"))

    def _understood(self, step: Step, answer: dict[str, Any]) -> str:
        """Say what a host makes of an answer."""
        if "error" in answer:
            error = answer["error"]
            return say(
                "demo",
                "understood-error",
                self.language,
                code=error.get("code"),
                message=error.get("message"),
            )
        result = answer.get("result", {})
        match step.message["method"]:
            case "initialize":
                server = result.get("serverInfo", {})
                return say(
                    "demo",
                    "understood-initialize",
                    self.language,
                    name=server.get("name"),
                    version=server.get("version"),
                    offers=", ".join(result.get("capabilities", {})) or "-",
                )
            case "tools/list":
                names = [tool.get("name") for tool in result.get("tools", [])]
                return say(
                    "demo",
                    "understood-tools",
                    self.language,
                    count=len(names),
                    names=", ".join(map(str, names)),
                )
            case _:
                texts = [item.get("text", "") for item in result.get("content", [])]
                return say("demo", "understood-call", self.language, text=" ".join(texts))

    def _gone(self, child: Child) -> None:
        tell(Painted(say("demo", "gone", self.language), "red"))
        child.transport.close()  # then all that it said is here
        for line in child.said:
            tell("     " + line.decode("utf-8", "replace").rstrip())

    def end(self, home: Path) -> None:
        """Show the whole session at a glance, and where to go from here."""
        tell()
        tell(Painted(say("demo", "at-a-glance", self.language), "bold"))
        for arrow in self.arrows:
            tell("     " + arrow)
        tell()
        sessions = home / "sessions"
        tell(say("demo", "what-next", self.language, sessions=sessions, program=program()))
