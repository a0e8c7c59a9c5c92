"""One request of a client, and out: for scripts. The result on stdout, all else on stderr."""

from __future__ import annotations

import enum
import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from humanmcp.answering.forms import MistypedError, typed_of
from humanmcp.common.child import EndedError, StartError
from humanmcp.common.terminal import raw_to_stdout, to_stderr, to_stdout
from humanmcp.host.client.handshake import HandshakeError, NoAnswerError, entries_of
from humanmcp.host.client.requests import LISTS, Requests
from humanmcp.host.terminal.results import as_json, diagnostic_line_for_asker, gist, line_of
from humanmcp.locales import say
from humanmcp.protocol.diagnostics.model import Severity
from humanmcp.protocol.json import jsonrpc

if TYPE_CHECKING:
    import argparse

    from humanmcp.common.parsing import Parser
    from humanmcp.host.client.client import Client
    from humanmcp.host.client.handshake import Response
    from humanmcp.host.client.requests import Asking
    from humanmcp.locales.stop import StopError

ROOM: Final = "client"


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


class RequestKind(enum.Enum):
    """What is asked for."""

    CALL = "call"
    LIST = "list"
    READ = "read"
    GET = "get"
    COMPLETE = "complete"


_METAVARS: Final = {
    RequestKind.CALL: ("TOOL", "name=value"),
    RequestKind.READ: ("URI", "name=value"),
    RequestKind.GET: ("PROMPT", "name=value"),
    RequestKind.COMPLETE: ("PROMPT", "name=value"),
}


def add_arguments(parser: Parser) -> None:
    """Add the flags of one request."""
    flag = parser.flags(ROOM, "help ")
    one_of = parser.add_mutually_exclusive_group()
    for kind, metavars in _METAVARS.items():
        flag(f"--{kind.value}", to=one_of, nargs="+", metavar=metavars)
    flag("--list", to=one_of, choices=list(LISTS))
    flag("--arguments", metavar="JSON", default="")
    for name in ("json", "anyway", "wire"):
        flag(f"--{name}", action="store_true")
    parser.epilog = say(ROOM, "statuses")


def is_wanted(arguments: argparse.Namespace) -> bool:
    """Return True if one request is wanted, and no prompt."""
    return any(getattr(arguments, kind.value) for kind in RequestKind)


def wanted(arguments: argparse.Namespace) -> OneShot | None:
    """Return what is asked for; None for a prompt.

    Raises:
        MistypedError: it does not go together.
    """
    for kind in RequestKind:
        given = getattr(arguments, kind.value)
        if given and (arguments.script or arguments.example):
            raise MistypedError("once and lines", flag=f"--{kind.value}")
        if given:
            name, *words = [given] if isinstance(given, str) else given
            words += _arguments_before_the_server(arguments.words)
            if words and arguments.arguments:
                raise MistypedError("arguments twice")
            typed = arguments.arguments or typed_of(words)
            return OneShot(kind, name, typed, as_json=arguments.json, anyway=arguments.anyway)
    for flag in ("json", "arguments", "anyway", "wire"):
        if getattr(arguments, flag):
            raise MistypedError("only once", flag=f"--{flag}")
    return None


def _arguments_before_the_server(words: list[str]) -> list[str]:
    """Take off what is no command: `name=value` behind a flag, which argparse cannot tell apart."""
    taken = list(itertools.takewhile(lambda word: "=" in word, words))
    del words[: len(taken)]
    return taken


def status_of(error: StopError) -> ExitStatus:
    """Return the exit status for an error."""
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

    kind: RequestKind
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
        if self.kind is RequestKind.LIST:
            return self._list(requests)
        asking = self._asking(requests)
        if not self.anyway:
            self._check(requests, asking)
        response = client.call(*asking)
        status = _status(response)
        if status in (ExitStatus.DONE, ExitStatus.TOOL_ERROR):
            text = "" if self.as_json else gist(asking.method, response.result)
            raw_to_stdout(text or _result_of(response))
        return status

    def _asking(self, requests: Requests) -> Asking:
        match self.kind:
            case RequestKind.CALL:
                return requests.call(self.name, self.typed, anyway=self.anyway)
            case RequestKind.READ:
                return requests.read(self.name, self.typed)
            case RequestKind.GET:
                return requests.prompt(self.name, self.typed)
            case _:
                return requests.complete(self.name, self.typed)

    def _check(self, requests: Requests, asking: Asking) -> None:
        """Print the problems of the request; return True if it must not be sent."""
        found = requests.remarks(*asking)
        for one in found:
            to_stderr(*diagnostic_line_for_asker(one))
        if any(one.severity is not Severity.HINT for one in found):
            raise MistypedError("not asked", name=self.name)

    def _list(self, requests: Requests) -> ExitStatus:
        """Show everything that a list holds, of all its pages."""
        each = LISTS[self.name]
        entries: list[dict[str, Any]] = []
        for page in requests.pages(self.name):
            status = _status(page)
            if status is not ExitStatus.DONE:
                return status
            entries += entries_of(page, each.member)
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
        to_stderr(say(ROOM, "error", method=method, number=number, why=why))
        return ExitStatus.ERROR
    if response.result is None:
        to_stderr(say(ROOM, "no result", method=method))
        return ExitStatus.ERROR
    is_error = method == "tools/call" and response.result.get("isError") is True
    return ExitStatus.TOOL_ERROR if is_error else ExitStatus.DONE


def _result_of(response: Response) -> str:
    """Return the result as the server wrote it."""
    raw = response.message.raw
    spans = {name: (start, end) for name, start, end in jsonrpc.members(raw)}
    start, end = spans["result"]
    return raw[start:end]
