"""`humanmcp client`: be the client of a real server, at a terminal, or for one request of a script.

One request: the result on stdout, all else on stderr; the exit status says what came of it.
"""

from __future__ import annotations

import contextlib
import enum
import itertools
import os
import shlex
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from humanmcp.answering.forms import typed_of
from humanmcp.common.child import ChildCommand, EndedError, StartError
from humanmcp.common.parsing import from_one, seconds
from humanmcp.common.settings import add_flags, home_folder
from humanmcp.common.terminal import raw_to_stdout, to_stderr, to_stdout
from humanmcp.extensions.host.at_inbox import QuestionInbox, ServerRecorder
from humanmcp.extensions.host.client.callbacks import Nobody
from humanmcp.extensions.host.client.client import (
    FIRST_ID,
    LONGEST,
    TIMEOUT,
    Client,
    LiveServer,
    connect,
    first_done,
)
from humanmcp.extensions.host.client.handshake import (
    HandshakeError,
    Identity,
    NoAnswerError,
    SessionStart,
)
from humanmcp.extensions.host.closing import undisturbed
from humanmcp.extensions.host.config import DEFAULT_NAME, find, read_config
from humanmcp.extensions.host.requests import LISTS, Requests
from humanmcp.extensions.host.terminal.prompt import Prompt
from humanmcp.extensions.host.terminal.results import (
    AtTerminal,
    WireLog,
    are_faulty,
    gist,
    line_of,
)
from humanmcp.extensions.host.terminal.typing import LineError, Typist
from humanmcp.http.server_address import ServerAddress, add_header_flags, is_address, put_headers
from humanmcp.inbox import open_inbox
from humanmcp.inbox.contract import Role
from humanmcp.locales import say
from humanmcp.locales.stop import REFUSED, StopError, stopped
from humanmcp.protocol.json import jsonrpc
from humanmcp.protocol.json.jsonrpc import as_json
from humanmcp.protocol.json.tree import objects_at
from humanmcp.protocol.tables import versions

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator

    from humanmcp.common.parsing import Parser
    from humanmcp.common.settings import Settings
    from humanmcp.extensions.host.client.callbacks import ClientObserver, ServerRequestHandler
    from humanmcp.extensions.host.client.client import ServerTarget, Wait
    from humanmcp.extensions.host.client.handshake import Response


SECTION: Final = "client"
CAPABILITIES: Final = ("roots", "sampling", "elicitation")
EXAMPLE_ROOT: Final = "file:///example/root1"
EXAMPLE_VERSION: Final = versions.R2025_03
EXAMPLE_CALL: Final = {"name": "calculate", "arguments": {"first": 5, "second": [10, 20]}}
_FLAGS_OF_A_SCRIPT: Final = "#!"


def add_arguments(parser: Parser) -> None:
    flag = parser.flags(SECTION, "help ")
    flag("words", code="command", nargs="*", metavar="COMMAND")
    flag("--server", metavar="NAME", default="")
    flag("--config", metavar="FILE", default="")
    flag("-e", "--env", metavar="NAME=VALUE", action="append", default=[])
    flag("--cwd", metavar="FOLDER", default="")
    add_header_flags(parser)
    flag("--no-header", metavar="NAME", action="append", default=[])
    flag("--start", choices=[one.value for one in SessionStart], default="handshake")
    flag(
        "--protocol-version",
        metavar="VERSION",
        choices=versions.HANDSHAKE,
        default=versions.LATEST_HANDSHAKE,
    )
    flag("--name", metavar="NAME/VERSION", default="example-client/1.0.0")
    flag("--capabilities", metavar="LIST", default=",".join(CAPABILITIES))
    flag("--root", metavar="[NAME=]URI", action="append", default=[])
    flag("--timeout", metavar="SECONDS", type=seconds, default=TIMEOUT)
    flag("--longest", metavar="SECONDS", type=seconds, default=LONGEST)
    _add_request_arguments(parser)
    flag("--script", metavar="FILE", default="")
    flag("--example", action="store_true")
    flag("--first-id", metavar="N", type=from_one, default=FIRST_ID)
    flag("--no-progress", action="store_true")
    flag("--lenient", action="store_true")
    flag("--strict", action="store_true")
    flag("--pretty", action="store_true")
    flag("--desk", action="store_true")
    add_flags(parser, "home", "lang", "title")
    parser.set_defaults(parser=parser)


def run(arguments: argparse.Namespace, settings: Settings) -> int:
    """Be the client until the end of input, or for one request. Returns the exit status."""
    try:
        script = _script(arguments)
        wanted = _request_of(arguments)
        target = target_of(arguments)
        if wanted is not None:
            return _ask_once(arguments, settings, target, wanted)
        return _sit(arguments, settings, target, script)
    except StopError as error:
        if not _asks_once(arguments):
            raise
        to_stderr("humanmcp: ", error.sentence())
        return status_of(error)


def target_of(arguments: argparse.Namespace) -> ServerTarget:
    """Return the server, with the flags' additions to its environment or headers."""
    command = _server_of(arguments)
    if isinstance(command, ServerAddress):
        put_headers(command.changes, arguments)
        for name in arguments.no_header:
            command.changes.leave_out(name)
        return command
    added = dict(_variable(one) for one in arguments.env)
    folder = str(Path(arguments.cwd).expanduser()) if arguments.cwd else command.folder
    return replace(command, env={**command.env, **added}, folder=folder)


def _variable(typed: str) -> tuple[str, str]:
    """Read `NAME=VALUE`, or `NAME` for the value that it has here."""
    name, given, value = typed.partition("=")
    if not name or (not given and name not in os.environ):
        raise stopped(SECTION, "no variable", typed=typed)
    return name, value if given else os.environ[name]


def _server_of(arguments: argparse.Namespace) -> ServerTarget:
    """Return the server: a URL, the words after `--`, or an entry of a configuration."""
    if arguments.words:
        if not is_address(arguments.words[0]):
            return ChildCommand(tuple(arguments.words))
        if len(arguments.words) > 1:
            raise stopped(SECTION, "only the address", url=arguments.words[0])
        return ServerAddress.of(arguments.words[0])
    if not arguments.server:
        raise stopped(SECTION, "no server")
    path = Path(arguments.config or Path.home() / DEFAULT_NAME).expanduser()
    return find(read_config(path), arguments.server, path)


def _script(arguments: argparse.Namespace) -> list[str]:
    """Read the script. Flags in its first line, after `#!`, hold where no other is given."""
    if not arguments.script:
        return []
    try:
        lines = Path(arguments.script).read_text(encoding="utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise stopped(SECTION, "unreadable script", path=arguments.script, why=error) from error
    if lines and lines[0].startswith(_FLAGS_OF_A_SCRIPT):
        parser: Parser = arguments.parser
        try:
            words = shlex.split(lines[0].removeprefix(_FLAGS_OF_A_SCRIPT))
        except ValueError as error:
            raise stopped(SECTION, "flags of script", path=arguments.script) from error
        for name, value in vars(parser.parse_args(words)).items():
            if getattr(arguments, name, None) == parser.get_default(name):
                setattr(arguments, name, value)
    return lines


def identity_of(arguments: argparse.Namespace) -> Identity:
    """Return who the client says it is."""
    name, _, version = arguments.name.partition("/")
    wanted = {word.strip() for word in arguments.capabilities.split(",") if word.strip()}
    unknown = sorted(wanted - set(CAPABILITIES))
    if unknown:
        raise stopped(SECTION, "no such capability", name=unknown[0], names=", ".join(CAPABILITIES))
    capabilities: dict[str, Any] = {one: {} for one in CAPABILITIES if one in wanted}
    if "roots" in capabilities:
        capabilities["roots"] = {"listChanged": True}
    return Identity(name, version or "1.0.0", capabilities)


def _sit(
    arguments: argparse.Namespace, settings: Settings, target: ServerTarget, script: list[str]
) -> int:
    if arguments.example:
        _begin_as_the_example(arguments)
    typist = Typist(script)
    person = AtTerminal(typist, _nobody(arguments))
    log = WireLog(laid_out=arguments.pretty, above=typist.above)
    with _connected(arguments, settings, target, (person, log, typist.wait)) as connection:
        to_stdout("Initialization complete 🎉 Client is ready to send commands.")
        if arguments.example:
            _as_the_example_goes_on(connection.client)
        Prompt(connection, typist).run()
        return REFUSED if connection.client.has_lost_its_server else 0


def _ask_once(
    arguments: argparse.Namespace, settings: Settings, target: ServerTarget, wanted: OneShot
) -> int:
    """Make one request for a script. Nothing but its result goes to stdout."""
    log = WireLog(laid_out=arguments.pretty, lines=arguments.wire)
    called = (_nobody(arguments), log, first_done)
    with _connected(arguments, settings, target, called) as connection:
        return wanted.ask(connection.client)


def _nobody(arguments: argparse.Namespace) -> Nobody:
    return Nobody(tuple(map(_root, arguments.root)))


def _root(written: str) -> dict[str, str]:
    """Read a root, with a name before it or without: an address has a colon before any `=`."""
    name, equals, uri = written.partition("=")
    return {"uri": uri, "name": name} if equals and ":" not in name else {"uri": written}


@contextlib.contextmanager
def _connected(
    arguments: argparse.Namespace,
    settings: Settings,
    target: ServerTarget,
    called: tuple[ServerRequestHandler, ClientObserver, Wait],
) -> Iterator[LiveServer]:
    """Start the server and open the session; end both in order.

    `called` is who answers the server, who observes, and how the client waits.
    """
    identity = identity_of(arguments)
    handler, log, wait = called
    recorded: ServerRecorder | None = None
    with contextlib.ExitStack() as stack:
        session = _desk(settings, target) if arguments.desk else None
        if session is not None:
            stack.callback(session.end)
            recorded = ServerRecorder(session)
            handler = session

        def make() -> Client:
            client = Client(
                connect(target),
                handler,
                identity=identity,
                observers=(recorded, log) if recorded else (log,),
                timeout=arguments.timeout,
                longest=arguments.longest,
                strict=arguments.strict,
                lenient=arguments.lenient,
                progress=not arguments.no_progress,
                first_id=arguments.first_id,
                wait_for_any=wait,
            )
            if recorded is not None:
                recorded.of(client)
            return client

        connection = LiveServer(make, SessionStart(arguments.start), arguments.protocol_version)
        stack.callback(undisturbed(connection.close))
        connection.open()
        yield connection


def _begin_as_the_example(arguments: argparse.Namespace) -> None:
    """Choose what the example client of a Go SDK says of itself, where no flag says otherwise."""
    example: dict[str, Any] = {
        "protocol_version": EXAMPLE_VERSION,
        "capabilities": "roots",
        "first_id": 1,
        "no_progress": True,
        "root": [EXAMPLE_ROOT],
    }
    for name, said in example.items():
        if getattr(arguments, name) == arguments.parser.get_default(name):
            setattr(arguments, name, said)


def _as_the_example_goes_on(client: Client) -> None:
    """List the tools and call one before the person types anything. Only the wire shows it."""
    client.request("tools/list")
    if EXAMPLE_CALL["name"] in (client.session.negotiated.tools or {}):
        client.request("tools/call", EXAMPLE_CALL)
    else:
        to_stderr("  ", say(SECTION, "no example", name=EXAMPLE_CALL["name"]))


def _desk(settings: Settings, target: ServerTarget) -> QuestionInbox:
    """Open a session of the client in the inbox."""
    inbox = open_inbox(home_folder(settings.home))
    title = settings.title or str(target)
    session = QuestionInbox(inbox, Role.CLIENT, title=title)
    to_stderr(say(SECTION, "at the desk", name=session.name))
    return session


# -- one request ------------------------------------------------------------------------------


class ExitStatus(enum.IntEnum):
    """What came of it, for the shell."""

    DONE = 0
    TOOL_ERROR = 1
    """The tool said `isError`."""
    MISTYPED = 2
    """It was asked in a way that cannot be done; nothing was sent."""
    ERROR = 3
    """The server answered with an error, or with nothing that is a result."""
    LOST = 4
    """The server could not be started or talked to, or ended too early."""
    LATE = 5
    """The server did not answer in time."""


_METAVARS: Final = {
    "call": ("TOOL", "name=value"),
    "read": ("URI", "name=value"),
    "get": ("PROMPT", "name=value"),
    "complete": ("PROMPT", "name=value"),
}
LIST: Final = "list"
KINDS: Final = (*_METAVARS, LIST)
"""What one request may ask for."""


def _add_request_arguments(parser: Parser) -> None:
    flag = parser.flags(SECTION, "help ")
    one_of = parser.add_mutually_exclusive_group()
    for kind, metavars in _METAVARS.items():
        flag(f"--{kind}", to=one_of, nargs="+", metavar=metavars)
    flag(f"--{LIST}", to=one_of, choices=list(LISTS))
    flag("--arguments", metavar="JSON", default="")
    for name in ("json", "anyway", "wire"):
        flag(f"--{name}", action="store_true")
    parser.epilog = say(SECTION, "statuses")


def _asks_once(arguments: argparse.Namespace) -> bool:
    """Return True if one request is wanted, and no prompt."""
    return any(getattr(arguments, kind) for kind in KINDS)


def _request_of(arguments: argparse.Namespace) -> OneShot | None:
    """Return what is asked for; None for a prompt.

    Raises:
        LineError: it does not go together.
    """
    for kind in KINDS:
        given = getattr(arguments, kind)
        if given and (arguments.script or arguments.example):
            raise LineError("once and lines", flag=f"--{kind}")
        if given:
            name, *words = [given] if isinstance(given, str) else given
            if words and is_address(words[-1]) and not (arguments.words or arguments.server):
                arguments.words = [words.pop()]  # the server, which argparse cannot tell apart
            words += _arguments_before_the_server(arguments.words)
            if words and arguments.arguments:
                raise LineError("arguments twice")
            typed = arguments.arguments or typed_of(words)
            return OneShot(kind, name, typed, as_json=arguments.json, anyway=arguments.anyway)
    for flag in ("json", "arguments", "anyway", "wire"):
        if getattr(arguments, flag):
            raise LineError("only once", flag=f"--{flag}")
    return None


def _arguments_before_the_server(words: list[str]) -> list[str]:
    """Take off what is no command: `name=value` behind a flag, which argparse cannot tell apart."""
    taken = list(itertools.takewhile(lambda word: "=" in word, words))
    del words[: len(taken)]
    return taken


def status_of(error: StopError) -> ExitStatus:
    match error:
        case NoAnswerError():
            return ExitStatus.LATE
        case StartError() | HandshakeError() | EndedError():
            return ExitStatus.LOST
        case _:
            return ExitStatus.MISTYPED


@dataclass(frozen=True, slots=True)
class OneShot:
    """One request: what kind, of what, and with which arguments, as typed."""

    kind: str
    """One of `KINDS`."""
    name: str
    typed: str
    as_json: bool = False
    anyway: bool = False

    def ask(self, client: Client) -> ExitStatus:
        """Send the request, and show the result.

        Raises:
            StopError: there is no result; `status_of` returns the exit status.
        """
        requests = Requests(client)
        if self.kind == LIST:
            return self._list(requests)
        asking = requests.made(self.kind, self.name, self.typed, anyway=self.anyway)
        if not self.anyway and are_faulty(requests.remarks(*asking), to_stderr):
            raise LineError("not asked", name=self.name)
        response = client.call(*asking)
        status = _status(response)
        if status in (ExitStatus.DONE, ExitStatus.TOOL_ERROR):
            text = "" if self.as_json else gist(asking.method, response.result)
            raw_to_stdout(text or _result_of(response))
        return status

    def _list(self, requests: Requests) -> ExitStatus:
        """Show everything that a list holds, of all its pages."""
        each = LISTS[self.name]
        entries: list[dict[str, Any]] = []
        for page in requests.pages(self.name):
            status = _status(page)
            if status is not ExitStatus.DONE:
                return status
            entries += objects_at(page.result, each.member)
        if self.as_json:
            raw_to_stdout(as_json({each.member: entries}))
            return ExitStatus.DONE
        for entry in entries:
            to_stdout("  ".join(part for part in line_of(entry, each) if part))
        return ExitStatus.DONE


def _status(response: Response) -> ExitStatus:
    """Return the exit status for a response, and print an error."""
    method = response.request.method
    if response.error is not None:
        number, why = response.error
        to_stderr(say(SECTION, "error", method=method, number=number, why=why))
        return ExitStatus.ERROR
    if response.result is None:
        to_stderr(say(SECTION, "no result", method=method))
        return ExitStatus.ERROR
    is_error = method == "tools/call" and response.result.get("isError") is True
    return ExitStatus.TOOL_ERROR if is_error else ExitStatus.DONE


def _result_of(response: Response) -> str:
    """Return the result as the server wrote it."""
    raw = response.message.raw
    spans = {name: (start, end) for name, start, end in jsonrpc.members(raw)}
    start, end = spans["result"]
    return raw[start:end]
