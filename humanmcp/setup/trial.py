"""A start of humanmcp as a host starts it, in an empty folder: what came, and how it ended."""

from __future__ import annotations

import contextlib
import tempfile
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Final, NoReturn

from humanmcp.common.child import ChildCommand, ChildTransport, EndedError, StartError
from humanmcp.common.parsing import Parser
from humanmcp.common.settings import PREFIX, brought_folders
from humanmcp.inbox import open_inbox
from humanmcp.protocol.conversation.outcomes import ResponseArrived, UnreadableArrived
from humanmcp.protocol.json import jsonrpc
from humanmcp.protocol.json.jsonrpc import Kind
from humanmcp.protocol.json.visible import one_line
from humanmcp.protocol.session import McpSession, Party
from humanmcp.protocol.tables import versions
from humanmcp.server import serve
from humanmcp.setup.hosts import PASSED_ON

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

SERVE: Final = "serve"
NOTHING: Final[Mapping[str, str]] = {}
LONGEST: Final = 20.0
"""Seconds for all answers together."""
_LOOK_EVERY: Final = 0.05
_INITIALIZED: Final = jsonrpc.as_line({"jsonrpc": "2.0", "method": "notifications/initialized"})


class Trial:
    """The client of one server, and what it saw. Times are seconds; None where nothing came.

    Its lines are read in a thread of its transport.
    """

    def __init__(self) -> None:
        self.began = time.monotonic()
        self.first_answer: float | None = None
        self.exit_time: float | None = None
        self.status: int | None = None
        self.asks_a_person = False
        """Whether the first request came into the inbox instead."""
        self.stray: list[str] = []
        """Lines on stdout that are no JSON-RPC message."""
        self.stderr = ""
        self.failure: object = None
        """Why it could not even be started."""
        self.is_over = threading.Event()
        """Whether nothing more is expected of it."""
        self._session = McpSession(Party.CLIENT)
        self._send: Callable[[str], object] = lambda _line: None

    def open(self, transport: ChildTransport, client: str) -> None:
        """Say hello under this name."""
        self._send = transport.send
        transport.start(self)
        self._ask(
            "initialize",
            protocolVersion=versions.LATEST_HANDSHAKE,
            capabilities={},
            clientInfo={"name": client, "version": "1.0.0"},
        )

    def _ask(self, method: str, **params: object) -> None:
        self._say(self._session.ask(method, params or None).raw)

    def _say(self, line: str) -> None:
        with contextlib.suppress(EndedError):  # what came says what is wrong
            self._send(line)

    def line_arrived(self, line: bytes) -> None:
        for event in self._session.receive(line):
            match event:
                case UnreadableArrived(malformed):
                    self.stray.append(malformed.text)
                case ResponseArrived(answer, request):
                    self._take(answer.kind, request.method if request else "")

    def _take(self, kind: Kind, method: str) -> None:
        """Ping a server that has answered the hello."""
        if self.first_answer is None:
            self.first_answer = time.monotonic() - self.began
        if kind is Kind.RESULT and method == "initialize":
            self._say(_INITIALIZED)
            self._ask("ping")
        elif method:
            self.is_over.set()

    def stderr_line(self, line: bytes) -> None:
        self.stderr += line.decode("utf-8", "replace") + "\n"

    def ended(self) -> None:
        self.is_over.set()

    @property
    def is_late(self) -> bool:
        return time.monotonic() - self.began > LONGEST

    @property
    def why(self) -> object:
        """Why no answer came: a reason, or what the server wrote to stderr."""
        return self.failure or one_line(self.stderr.strip(), 300) or "-"


def run_trial(
    words: Sequence[str],
    folders: Sequence[str],
    variables: Mapping[str, str] = NOTHING,
    host: str = "",
) -> Trial:
    """Start a server as a host does, say hello, ping it, close its stdin and wait for its end.

    `words` must be those of this installation: see `folders_of`. It starts in an empty folder,
    where these `folders` of its flags are, too. `host` is the name that the host says to it, ""
    if that is unknown. A person who answers the handshake is not waited for.
    """
    with tempfile.TemporaryDirectory(prefix="humanmcp-doctor-") as scratch:
        trial = Trial()
        own = [word for name in folders for word in (f"--{name}", str(Path(scratch, name)))]
        try:
            transport = ChildTransport(ChildCommand((*words, *own), variables, scratch))
        except StartError as error:
            trial.failure = error.fillings["why"]
            return trial
        try:
            trial.open(transport, host or "example-client")
            while not (trial.is_over.wait(_LOOK_EVERY) or trial.asks_a_person or trial.is_late):
                home = Path(scratch, "home")
                trial.asks_a_person = trial.first_answer is None and _is_asked(home)
        finally:
            closing = time.monotonic()
            transport.close()
        trial.exit_time = time.monotonic() - closing
        trial.status = transport.process.returncode
    return trial


def _is_asked(home: Path) -> bool:
    """Return True if a request waits in an inbox."""
    inbox = open_inbox(home, "") if home.is_dir() else None
    return inbox is not None and any(inbox.items(one.name) for one in inbox.sessions())


_HARMLESS: Final = frozenset(
    {"home", "book", "title", "versions", "client_limit", "lang", "by_hand", "auto", "handshake"}
    | {"approvals", "no_progress", "match", *(one.name for one in brought_folders())}
)
"""The flags of `serve` that reach out of the folder of a trial in no way."""
_SETTINGS: Final = frozenset(
    PREFIX + one.upper()
    for one in {*PASSED_ON, *(each.name for each in brought_folders())} - {"inbox", "notify"}
)
"""The variables that do not either."""


class NotTriedError(Exception):
    """An entry is not started to try it. The code of the sentence says why."""


class _QuietParser(Parser):
    """Raises what is wrong with a command line, and prints nothing."""

    def error(self, message: str) -> NoReturn:
        raise ValueError(message)

    def print_help(self, _file: object = None) -> None:
        raise ValueError("--help")


def folders_of(given: Sequence[str], variables: Mapping[str, str]) -> tuple[str, ...]:
    """Return which folders of an entry's server a trial replaces, by the names of their flags.

    A command line that is not valid gets none: it is started as it is, and says what is wrong.

    Raises:
        NotTriedError: it starts more than a server, or reaches further than these folders.
    """
    command, *flags = given or [SERVE]
    if command != SERVE:
        raise NotTriedError("host more")
    parser = _QuietParser(prog=f"humanmcp {SERVE}")
    serve.add_arguments(parser)
    try:
        chosen = vars(parser.parse_args(flags))
    except ValueError:
        return ()
    usual = vars(parser.parse_args([]))
    reaching = chosen.keys() - _HARMLESS - {"server"}
    if any(chosen[name] != usual[name] for name in reaching) or variables.keys() - _SETTINGS:
        raise NotTriedError("host reaches")
    if chosen["server"]:
        return ()
    names = (one.name for one in brought_folders())
    return ("home", *(one for one in names if chosen[one] or variables.get(PREFIX + one.upper())))
