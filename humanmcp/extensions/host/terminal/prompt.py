"""The prompt of the client: a person types a method, and sees what a server makes of it."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, Final, cast

from humanmcp.answering.forms import MistypedError
from humanmcp.common.child import EndedError
from humanmcp.common.parsing import closest
from humanmcp.common.terminal import Painted, is_terminal, to_stdout
from humanmcp.extensions.host.client.handshake import SessionStart
from humanmcp.extensions.host.requests import LISTS, Requests
from humanmcp.extensions.host.terminal.results import (
    are_faulty,
    diagnostic_line,
    gist,
    line_of,
    shortened,
)
from humanmcp.extensions.host.terminal.typing import LineError, Typist, complete_with
from humanmcp.http.server_address import put_header
from humanmcp.locales import say
from humanmcp.locales.stop import StopError
from humanmcp.protocol.diagnostics.model import blocking
from humanmcp.protocol.json.jsonrpc import as_json
from humanmcp.protocol.json.tree import objects_at
from humanmcp.protocol.repair.reading import read_json
from humanmcp.protocol.tables.methods import REQUESTS

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from humanmcp.extensions.host.client.client import Client, LiveServer
    from humanmcp.extensions.host.client.handshake import Response
    from humanmcp.http.transport import HttpTransport
    from humanmcp.protocol.http.client import HttpConversation

PROMPT: Final = "Enter method :  "
SECTION: Final = "client"

_FOR_ANOTHER_ROLE: Final = frozenset(name for name, one in REQUESTS.items() if not one.to_server)
_WORDS: Final = ("call", "call!", "prompt", "read", "complete")
_SAMPLE: Final = b'{"jsonrpc":"2.0","id":0,"method":"ping"}'
_OF_HTTP: Final = ("header", "drop", "resume")


@dataclass(slots=True)
class Prompt:
    """A person and a client. `learned` are names to complete: tools, resources, prompts."""

    connection: LiveServer
    typist: Typist
    history: list[str] = field(default_factory=list)
    learned: dict[str, Any] = field(default_factory=dict)
    _requests: Requests | None = None

    @property
    def client(self) -> Client:
        """The client that speaks to the server now."""
        return self.connection.client

    @property
    def requests(self) -> Requests:
        """What makes requests of words, for the client that speaks to the server now."""
        if self._requests is None or self._requests.client is not self.client:
            self._requests = Requests(self.client, self.typist)
        return self._requests

    def run(self) -> None:
        """Run what is typed until the end of input."""
        if self.typist.is_there:  # elsewhere the library might write into what is being read
            complete_with(self.names)
        while (typed := self.typist.ask(PROMPT)) is not None:
            if typed.strip() and not self.do(typed.strip()):
                return
            self.typist.answer_waiting()

    def do(self, typed: str) -> bool:
        """Do one line. False when it ends the session."""
        word, _, rest = typed.partition(" ")
        if word in ("quit", "exit"):
            return False
        if word == "again":
            typed = self.history[-1] if self.history else "help"
            word, _, rest = typed.partition(" ")
        try:
            self._do(word, rest.strip(), typed)
        except StopError as error:
            colour = "yellow" if isinstance(error, MistypedError) else "red"
            to_stdout(Painted(error.sentence(), colour))
        except KeyboardInterrupt:
            to_stdout(Painted(say(SECTION, "interrupted"), "yellow"))
        return True

    def names(self) -> list[str]:
        """List what can be completed: commands, methods, and names that the server listed."""
        commands = [*self._commands, "again", "history", "help", "quit", *LISTS]
        return [*commands, *(set(REQUESTS) - _FOR_ANOTHER_ROLE), *self.learned]

    def _do(self, word: str, rest: str, typed: str) -> None:
        match word:
            case "help" | "?":
                to_stdout(say(SECTION, "help"))
                return
            case "history":
                for number, line in enumerate(self.history, 1):
                    to_stdout(f"{number:4} {line}")
                return
        if not self.history or self.history[-1] != typed:
            self.history.append(typed)
        command = self._commands.get(word)
        if command is not None:
            command(rest)
        elif word in LISTS and not rest:
            self._list(word)
        elif word in REQUESTS or "/" in word:
            self._method(word, rest)
        else:
            guess = closest(word, self.names())
            code = "unknown guess" if guess else "unknown word"
            to_stdout(say(SECTION, code, word=word, guess=guess))

    @property
    def _commands(self) -> dict[str, Callable[[str], None]]:
        """What takes the rest of a line, by its first word."""
        return {
            "raw": self._raw,
            "reconnect": self._reconnect,
            **{word: partial(self._ask_in_words, word) for word in _WORDS},
            **{word: partial(self._do_over_http, word) for word in _OF_HTTP},
        }

    # -- what HTTP says beside the lines ---------------------------------------------------------

    def _do_over_http(self, word: str, rest: str) -> None:
        """Change headers, hang up, or come again after an event."""
        transport = self.client.transport
        if not hasattr(transport, "conversation"):
            raise LineError("no http")
        transport = cast("HttpTransport", transport)
        match word:
            case "header":
                self._header(transport.conversation, rest)
            case "drop":
                to_stdout(say(SECTION, "dropped", count=transport.drop()))
            case _:
                found = transport.resume(rest)
                to_stdout(say(SECTION, "resumed" if found else "nothing to resume", id=found))

    def _header(self, conversation: HttpConversation, rest: str) -> None:
        """Show the headers that go out, after a change: `NAME: VALUE`, `-NAME`, `+NAME`."""
        changes = conversation.changes
        name, given, value = rest.partition(":")
        if given:
            put_header(changes, name, value)
        elif rest.startswith("-"):
            changes.leave_out(rest[1:].strip())
        elif rest.startswith("+"):
            changes.take_back(rest[1:].strip())
        elif rest:
            raise LineError("header how", typed=rest)
        for header, shown in changes.shown(conversation.posted(_SAMPLE).headers):
            to_stdout(f"  {header}: {shown}")

    def _reconnect(self, word: str) -> None:
        """Start the server anew, and open the session as before or as the word says."""
        names = [one.value for one in SessionStart]
        if word and word not in names:
            raise LineError("no such start", word=word, names=", ".join(names))
        self.connection.reconnect(SessionStart(word) if word else None)
        to_stdout(say(SECTION, "reconnected"))

    # -- what can be sent ----------------------------------------------------------------------

    def _method(self, method: str, rest: str) -> None:
        in_background = rest.endswith("&")
        params = _object(rest.removesuffix("&").strip())
        self._is_faulty(method, params)  # said, and sent: a person may want to see what comes of it
        if method.startswith("notifications/"):
            self.client.notify(method, params)
        elif in_background:
            self._begin(method, params)
        else:
            self._show(method, self.client.call(method, params))

    def _raw(self, line: str) -> None:
        verdict, begun = self.client.submit(line)
        with self.client.given_up_if_interrupted(*filter(None, [begun])):
            for one in verdict.diagnostics:
                to_stdout(*diagnostic_line(one))
            if begun is not None:
                self._show(begun.request.method, self.client.wait(begun))

    def _list(self, word: str) -> None:
        """List everything there is, page by page."""
        each = LISTS[word]
        for page in self.requests.pages(word):
            for entry in objects_at(page.result, each.member):
                name, about = line_of(entry, each)
                self.learned[name] = entry
                to_stdout("  ", Painted(name, "bold"), f"  {about}" if about else "")
            if page.result is None:
                self._show(each.method, page)

    def _ask_in_words(self, word: str, rest: str) -> None:
        """Call a tool, get a prompt, read a resource, or complete an argument."""
        word, anyway = word.removesuffix("!"), word.endswith("!")
        is_call = word == "call"
        in_background = is_call and rest.endswith(" &")
        name, _, typed = (rest[:-2] if in_background else rest).partition(" ")
        if not name:
            raise LineError(f"{word} what")
        asking = self.requests.made(word, name, typed.strip(), anyway=anyway)
        if not anyway and self._is_faulty(*asking) and is_call:  # all else is said, and sent
            raise LineError("not called", name=name)
        if in_background:
            self._begin(*asking)
        else:
            self._show(asking.method, self.client.call(*asking))

    def _begin(self, method: str, params: Mapping[str, Any] | None) -> None:
        """Ask in the background; the response is shown when it comes."""

        def show(_future: object) -> None:
            with self.typist.above():
                try:
                    self._show(method, begun.response)
                except EndedError:
                    pass  # the end is shown once
                except StopError as error:
                    to_stdout(Painted(error.sentence(), "red"))

        begun = self.client.begin(method, params)
        begun.future.add_done_callback(show)

    def _is_faulty(self, method: str, params: Mapping[str, Any] | None) -> bool:
        """Ask the check about a request or a notification before it is sent."""
        return are_faulty(self.requests.remarks(method, params), to_stdout)

    # -- what comes back -----------------------------------------------------------------------

    def _show(self, method: str, response: Response) -> None:
        name = method.capitalize() if "/" not in method else method
        if response.error is not None:
            number, why = response.error
            to_stdout(Painted(say(SECTION, "error", method=name, number=number, why=why), "red"))
            return
        result = response.message.body.get("result")
        text = as_json(result)
        if is_terminal() and sys.stderr.isatty():  # the whole of it stands just above, on the wire
            text = gist(method, result) or shortened(text)
        to_stdout(f"{name} ", text)


def _object(typed: str) -> dict[str, Any] | None:
    if not typed:
        return None
    reading = read_json(typed)
    errors = blocking(reading.diagnostics)
    if errors:
        raise LineError("no json", column=errors[0].column, why=errors[0])
    if not isinstance(reading.value, dict):
        raise LineError("no object")
    return reading.value
