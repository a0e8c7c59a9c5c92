"""The prompt of the client's seat: a person types a method, and sees what a server makes of it."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from humanmcp.host.eras import enveloped
from humanmcp.host.explaining import told
from humanmcp.host.form_at_terminal import LeftError, reason
from humanmcp.host.forms import FieldError, TypingError, arguments
from humanmcp.host.offering import text_of
from humanmcp.host.opening import Opening, entries_of
from humanmcp.host.shortening import shortened
from humanmcp.host.typing_in import Typist, complete_with
from humanmcp.locales import say
from humanmcp.locales.stop import StopError
from humanmcp.protocol import drafts, messages
from humanmcp.protocol.jsontext import read
from humanmcp.protocol.messages import Message
from humanmcp.protocol.problems import Level, blocking
from humanmcp.protocol.revisions import REQUESTS, Way
from humanmcp.terminal import Painted, is_terminal
from humanmcp.terminal import say as show

if TYPE_CHECKING:
    from collections.abc import Mapping

    from humanmcp.host.at_terminal import AtTerminal
    from humanmcp.host.client import Client
    from humanmcp.host.connection import Connection
    from humanmcp.host.opening import Response
    from humanmcp.protocol.problems import Problem

PROMPT: Final = "Enter method :  "
ROOM: Final = "client"

_LISTS: Final[Mapping[str, tuple[str, str, str]]] = {
    "tools": ("tools/list", "tools", "name"),
    "resources": ("resources/list", "resources", "uri"),
    "prompts": ("prompts/list", "prompts", "name"),
}
_OF_THE_WRITER: Final = frozenset({"M10", "R15"})
"""Problems that say who wrote the wrong word: here the person at the prompt, not the server."""
_FOR_ANOTHER_SEAT: Final = frozenset(
    method for method, (way, _revisions) in REQUESTS.items() if way is Way.TO_CLIENT
)


class MistypedError(StopError):
    """The person typed something that cannot be sent."""

    room = ROOM


class FieldMistypedError(MistypedError):
    """A value does not fit its field."""

    def __init__(self, error: FieldError) -> None:
        """Remember what does not fit."""
        super().__init__("wrong field", name=error.field.name, wanted=error.field.wanted)
        self.error = error

    def sentence(self, language: str) -> str:
        """Say why it does not fit."""
        return reason(self.error, language)


@dataclass(slots=True)
class Prompt:
    """A person and a client. `learned` are names to complete: tools, resources, prompts."""

    connection: Connection
    typist: Typist
    person: AtTerminal
    language: str
    history: list[str] = field(default_factory=list)
    learned: dict[str, Any] = field(default_factory=dict)

    @property
    def client(self) -> Client:
        """The client that speaks to the server now."""
        return self.connection.client

    def run(self) -> None:
        """Do what is typed until the end of input."""
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
            show(Painted(error.sentence(self.language), colour))
        except KeyboardInterrupt:
            show(Painted(self._say("interrupted"), "yellow"))
        return True

    def names(self) -> list[str]:
        """List what can be completed: commands, methods, and what the server told of."""
        commands = [
            "call",
            "call!",
            "raw",
            "again",
            "history",
            "help",
            "quit",
            "reconnect",
            *_LISTS,
        ]
        return [*commands, *(set(REQUESTS) - _FOR_ANOTHER_SEAT), *self.learned]

    def _say(self, code: str, **fillings: object) -> str:
        return say(ROOM, code, self.language, **fillings)

    def _do(self, word: str, rest: str, typed: str) -> None:
        match word:
            case "help" | "?":
                show(self._say("help"))
            case "history":
                for number, line in enumerate(self.history, 1):
                    show(f"{number:4} {line}")
            case "reconnect":
                self._keep(typed)
                self._reconnect(rest)
            case "raw":
                self._keep(typed)
                self._raw(rest)
            case "call" | "call!":
                self._keep(typed)
                self._call(rest, anyway=word == "call!")
            case _ if word in _LISTS and not rest:
                self._keep(typed)
                self._list(word)
            case _ if word in REQUESTS or "/" in word:
                self._keep(typed)
                self._method(word, rest)
            case _:
                show(self._say("unknown word", word=word))

    def _told(self, problem: Problem) -> tuple[str | Painted, ...]:
        """Tell what is wrong with what the person typed, about what the server declared."""
        return told(problem, self.language, seen=problem.code not in _OF_THE_WRITER)

    def _keep(self, typed: str) -> None:
        if not self.history or self.history[-1] != typed:
            self.history.append(typed)

    def _reconnect(self, word: str) -> None:
        """Start the server anew, and open the session as before or as the word says."""
        names = [one.value for one in Opening]
        if word and word not in names:
            raise MistypedError("no such opening", word=word, names=", ".join(names))
        self.connection.reconnect(Opening(word) if word else None)
        show(self._say("reconnected"))

    # -- what can be sent ----------------------------------------------------------------------

    def _method(self, method: str, rest: str) -> None:
        in_background = rest.endswith("&")
        params = _object(rest.removesuffix("&").strip())
        self._is_faulty(method, params)  # said, and sent: a person may want to see what comes of it
        if method.startswith("notifications/"):
            self.client.notify(method, params)
        elif in_background:
            self.client.begin(method, params)
        else:
            self._show(method, self.client.call(method, params))

    def _raw(self, line: str) -> None:
        verdict, begun = self.client.say(line)
        for one in verdict.problems:
            show(*self._told(one))
        if begun is not None:
            self._show(begun[0].method, self.client.wait(begun))

    def _list(self, word: str) -> None:
        """List everything there is, page by page."""
        method, member, key = _LISTS[word]
        for page in self.client.pages(method):
            for entry in entries_of(page, member):
                name = str(entry.get(key))
                self.learned[name] = entry
                about = str(entry.get("description") or entry.get("title") or "")
                show("  ", Painted(name, "bold"), f"  {about}" if about else "")
            if page.result is None:
                self._show(method, page)

    def _call(self, rest: str, *, anyway: bool) -> None:
        """Call a tool with `key=value …`, checked against what the server said it takes."""
        name, _, typed = rest.partition(" ")
        if not name:
            raise MistypedError("call what")
        schema = self._tool(name).get("inputSchema")
        try:
            given = arguments(typed, None if anyway else schema)
        except TypingError as error:
            raise MistypedError("no pairs", at=error.at) from error
        except FieldError as error:
            raise FieldMistypedError(error) from error
        if not typed and self.typist.is_there:
            try:
                given = self.person.fill(schema)
            except LeftError as error:
                raise MistypedError("left form", name=name) from error
        params = {"name": name, "arguments": given}
        if not anyway and self._is_faulty("tools/call", params):
            raise MistypedError("not called", name=name)
        self._show("tools/call", self.client.call("tools/call", params))

    def _tool(self, name: str) -> Mapping[str, Any]:
        """Return what the server said of a tool; all pages of its list are asked for once more."""
        if name not in (self.client.session.known.tools or {}) and "tools" in self.client.offered:
            for _page in self.client.pages("tools/list"):
                pass
        found = (self.client.session.known.tools or {}).get(name)
        return found if isinstance(found, dict) else {}

    def _is_faulty(self, method: str, params: Mapping[str, Any] | None) -> bool:
        """Ask the check about a request or a notification before it is sent."""
        client = self.client
        said: dict[str, Any] = {"jsonrpc": "2.0", "method": method}
        if not method.startswith("notifications/"):
            said["id"] = 0
            params = enveloped(params, client.stated, client.identity)
        if params is not None:
            said["params"] = params
        message = messages.read(json.dumps(said, ensure_ascii=False).encode("utf-8", "replace"))
        assert isinstance(message, Message)  # noqa: S101 - we made it
        found = drafts.remarks(
            message, client.stated or client.session.revision, client.session.known
        )
        for one in found:
            show(*self._told(one))
        return any(one.level is not Level.HINT for one in found)

    # -- what comes back -----------------------------------------------------------------------

    def _show(self, method: str, response: Response) -> None:
        name = method.capitalize() if "/" not in method else method
        if response.error is not None:
            number, why = response.error
            show(Painted(self._say("error", method=name, number=number, why=why), "red"))
            return
        result = response.message.body.get("result")
        told = _text(result)
        if is_terminal() and sys.stderr.isatty():  # the whole of it stands just above, on the wire
            told = _summary(method, result) or shortened(told, self.language)
        show(f"{name} ", told)


def _object(typed: str) -> dict[str, Any] | None:
    if not typed:
        return None
    reading = read(typed)
    broken = blocking(reading.problems)
    if broken:
        raise MistypedError("no json", column=broken[0].column, why=broken[0])
    if not isinstance(reading.value, dict):
        raise MistypedError("no object")
    return reading.value


def _summary(method: str, result: Any) -> str:  # noqa: ANN401 - any JSON value
    """Return what a person wants to know of a result that they have seen; "" for all of it."""
    if not isinstance(result, dict):
        return ""
    if method == "tools/call":
        mark = "isError: " if result.get("isError") is True else ""
        return mark + text_of(result) if "content" in result else ""
    for listing, member, key in _LISTS.values():
        entries = result.get(member)
        if method == listing and isinstance(entries, list):
            return ", ".join(str(one.get(key)) for one in entries if isinstance(one, dict)) or "-"
    return ""


def _text(value: Any) -> str:  # noqa: ANN401 - any JSON value
    return json.dumps(value, ensure_ascii=False)
