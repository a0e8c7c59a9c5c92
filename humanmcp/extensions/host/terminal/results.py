"""Show responses in a terminal: what they contain, and their problems."""

from __future__ import annotations

import contextlib
import re
import sys
from collections import deque
from contextlib import nullcontext
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

from humanmcp import locales
from humanmcp.common.terminal import (
    SEVERITY_COLOURS,
    Painted,
    quoted_to_stdout,
    to_stderr,
    to_stdout,
)
from humanmcp.extensions.host.client.callbacks import REFUSAL, ClientObserver, Nobody
from humanmcp.extensions.host.client.handshake import LONGEST_LINE
from humanmcp.extensions.host.conversation import text_of
from humanmcp.extensions.host.requests import LISTS, List
from humanmcp.extensions.host.terminal.typing import FormAtTerminal, LeftError
from humanmcp.locales import say, stop
from humanmcp.locales.explain import explain
from humanmcp.protocol.conversation.outcomes import (
    NoticeArrived,
    Refused,
    RequestArrived,
    ResponseArrived,
)
from humanmcp.protocol.conversation.outcomes import UnreadableArrived as Unreadable
from humanmcp.protocol.diagnostics.kinds import title_of
from humanmcp.protocol.diagnostics.model import HINTS, TextForm, unreadable
from humanmcp.protocol.http.client import IncomingResponse, OutgoingRequest
from humanmcp.protocol.http.events import UnreadBytes
from humanmcp.protocol.json.jsonrpc import Flaw, as_json
from humanmcp.protocol.json.tree import objects_at, pretty
from humanmcp.protocol.json.visible import one_line, visible
from humanmcp.protocol.validation.results import sampled
from humanmcp.protocol.validation.starting_draft import values_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from contextlib import AbstractContextManager

    from humanmcp.common.child import EndedError
    from humanmcp.extensions.host.client.callbacks import Judge, MisdirectedResponse
    from humanmcp.extensions.host.terminal.typing import Typist
    from humanmcp.http.transport import HttpPart
    from humanmcp.locales.stop import Reason, StopError
    from humanmcp.protocol.conversation.exchange import Exchange, NegotiatedState
    from humanmcp.protocol.conversation.outcomes import Event
    from humanmcp.protocol.diagnostics.model import Diagnostic
    from humanmcp.protocol.json.jsonrpc import Message


def gist(method: str, result: Any) -> str:  # noqa: ANN401 - any JSON value
    """Return it as text; "" where nothing but the whole result says it."""
    match method, result:
        case "tools/call", {"content": _}:
            return ("isError: " if result.get("isError") is True else "") + text_of(result)
        case "prompts/get", {"messages": list(said)}:
            return "\n".join(map(_said, objects_at(said)))
        case "resources/read", {"contents": list(read)}:
            return text_of({"content": [{"type": "resource", "resource": one} for one in read]})
        case "completion/complete", {"completion": _}:
            return "\n".join(values_of(result))
        case _, dict():
            return _names(method, result)
        case _:
            return ""


def _names(method: str, result: Mapping[str, Any]) -> str:
    """Return the names in a list; "" if it is not a list."""
    for each in LISTS.values():
        listed = result.get(each.member)
        if method == each.method and isinstance(listed, list):
            return ", ".join(str(one.get(each.key)) for one in objects_at(listed)) or "-"
    return ""


def line_of(entry: Mapping[str, Any], each: List) -> tuple[str, str]:
    """Return the name of a list entry, with its arguments and its description."""
    known = objects_at(entry, "arguments") if each.member == "prompts" else []
    takes = [
        f"{one.get('name')}=…" if one.get("required") is True else f"[{one.get('name')}=…]"
        for one in known
    ]
    about = str(entry.get("description") or entry.get("title") or "")
    return str(entry.get(each.key)), "  ".join(one for one in (" ".join(takes), about) if one)


def _said(message: Mapping[str, Any]) -> str:
    """Return one message of a prompt, with its role."""
    return f"{message.get('role')}: {text_of({'content': [message.get('content')]})}"


LONGEST: Final = 400
"""Characters in a row that may be base64 and are still shown whole."""
SHOWN: Final = 32

_RUN: Final = re.compile(rf"[A-Za-z0-9+/_-]{{{LONGEST},}}={{0,2}}")


def shortened(text: str) -> str:
    """Return a text with every long run of base64 cut, and its length said."""

    def cut(found: re.Match[str]) -> str:
        return say("client", "shortened", start=found[0][:SHOWN], count=len(found[0]))

    return _RUN.sub(cut, text)


def diagnostic_line(diagnostic: Diagnostic) -> tuple[str | Painted, ...]:
    """Return the parts of the line that shows a problem."""
    place = diagnostic.pointer
    if not place and diagnostic.line:
        place = say("check", "place", line=diagnostic.line, column=diagnostic.column)
    said = one_line(locales.describe_or_code(diagnostic))
    return (
        "  ",
        Painted(say("check", diagnostic.severity.value), SEVERITY_COLOURS[diagnostic.severity]),
        f" {title_of(diagnostic.code)}{f' {place}' if place else ''}: {said}",
        Painted(f"  {diagnostic.page}" if diagnostic.page else "", "dim"),
    )


def are_faulty(remarks: Sequence[Diagnostic], tell: Callable[..., None]) -> bool:
    """Print what the check says of a client's own request; True if any of it is no mere hint."""
    for one in remarks:
        tell(*diagnostic_line(one))
    return any(one.severity not in HINTS for one in remarks)


SECTION: Final = "client"
MOST_WITHDRAWN: Final = 1000
"""Questions that are remembered as withdrawn, in case they are still to be asked."""
_URI: Final = r"[A-Za-z][A-Za-z0-9+.\-]*:\S+"
_EXPECTED: Final = {
    "roots/list": rf"{_URI}(\s+{_URI})*",
    "elicitation/create": r"[adcADC]|accept|decline|cancel",
}
"""What a line of the script looks like that answers; where nothing stands, any line does."""


class AtTerminal:
    """Asks the person. Where no person sits at the terminal, answers as its stand-in does."""

    def __init__(
        self, typist: Typist, otherwise: Nobody | None = None, *, server: str = ""
    ) -> None:
        """Ask through this typist. `server` names who asks, where there are several."""
        self.typist = typist
        self.otherwise = otherwise or Nobody()
        self.server = server or say(SECTION, "the server")
        self._withdrawn: deque[Message] = deque(maxlen=MOST_WITHDRAWN)

    def answer(self, exchange: Exchange, negotiated: NegotiatedState, judge: Judge) -> None:
        """Ask until the answer passes, or the person gives up."""
        if not self.typist.can_answer:
            self.otherwise.answer(exchange, negotiated, judge)
            return
        notice = say(SECTION, "press enter", method=exchange.method, server=self.server)
        self.typist.put(lambda: self._answer(exchange, negotiated, judge), notice)

    def _answer(self, exchange: Exchange, negotiated: NegotiatedState, judge: Judge) -> None:
        if any(exchange.request is one for one in self._withdrawn):
            return
        with self.typist.expecting(_EXPECTED.get(exchange.method, ".*")) as is_answered:
            if not is_answered:
                self.otherwise.answer(exchange, negotiated, judge)
                return
            card = explain(exchange.method, exchange.version, role="client")
            asks = say(SECTION, "server asks", method=exchange.method, server=self.server)
            to_stdout(Painted(asks, "bold"))
            to_stdout("  ", card.title)
            form = FormAtTerminal(exchange.request.params.get("requestedSchema"), self.typist)
            while True:
                try:
                    answer, kind = self._asked(exchange, form)
                except KeyboardInterrupt:  # the way out of every question
                    answer, kind = self.otherwise.ready_answer(exchange)
                outcome = judge(as_json(answer), kind)
                if not isinstance(outcome, Refused):
                    return
                for one in outcome.verdict.diagnostics:
                    to_stdout(*diagnostic_line(one))

    def withdraw(self, exchange: Exchange, reason: Reason) -> None:
        """Tell the person that the server no longer waits for the answer."""
        self._withdrawn.append(exchange.request)
        why = stop.in_language(reason)
        with self.typist.above():
            to_stdout(Painted(say(SECTION, "withdrawn", method=exchange.method, reason=why), "dim"))

    def _asked(self, exchange: Exchange, form: FormAtTerminal) -> tuple[dict[str, Any], TextForm]:
        params = exchange.request.params
        match exchange.method:
            case "elicitation/create":
                return self._elicited(params, form), TextForm.RESULT
            case "sampling/createMessage":
                return self._sampled(params)
            case "roots/list":
                return self._roots(exchange), TextForm.RESULT
            case _:
                return self.otherwise.ready_answer(exchange)

    def _roots(self, exchange: Exchange) -> dict[str, Any]:
        ready, _form = self.otherwise.ready_answer(exchange)
        shown = ", ".join(root["uri"] for root in ready["roots"]) or say(SECTION, "none")
        typed = self.typist.ask(say(SECTION, "ask roots", shown=shown)) or ""
        return {"roots": [{"uri": uri} for uri in typed.split()]} if typed.split() else ready

    def _sampled(self, params: dict[str, Any]) -> tuple[dict[str, Any], TextForm]:
        """Let the person be the model that the server asks."""
        show_sampling(params)
        typed = self.typist.ask(say(SECTION, "ask sampling"))
        if not typed:
            return dict(REFUSAL), TextForm.ERROR
        return sampled({"type": "text", "text": typed}), TextForm.RESULT

    def _elicited(self, params: dict[str, Any], form: FormAtTerminal) -> dict[str, Any]:
        quoted_to_stdout(str(params.get("message", "")))
        by_url = params.get("mode") == "url"
        if by_url:
            to_stdout("  ", str(params.get("url", "")))
        while True:
            choice = self.typist.choose(say(SECTION, "ask elicitation"), "adc")
            if choice != "a":
                return {"action": "decline" if choice == "d" else "cancel"}
            if by_url:
                return {"action": "accept"}
            with contextlib.suppress(LeftError):  # back to the question: decline, cancel, or fill
                return {"action": "accept", "content": form.fill()}


def show_sampling(params: Mapping[str, Any]) -> None:
    """Show the person the conversation that a server wants a model to continue."""
    if params.get("systemPrompt"):
        to_stdout(Painted("  system: ", "dim"), str(params["systemPrompt"]))
    for message in objects_at(params, "messages"):
        said = as_json(message.get("content"))
        to_stdout(Painted(f"  {message.get('role')}: ", "dim"), shortened(said))


_NOISE: Final = (Flaw.NOT_JSON, Flaw.NOT_UTF8)
"""The codes of lines that are no JSON, or no text: logs, as a rule."""


@dataclass(eq=False, kw_only=True)
class WireLog(ClientObserver):
    """Writes every line with its time and its sender, and what the check says of it.

    `laid_out` spreads each message over several lines; `name` tells servers apart. Without `lines`
    only what is unusual is shown: what is wrong, and the server's own stderr. What is written
    stands `above` a line that is just being typed, in one piece.
    """

    name: str = ""
    laid_out: bool = False
    lines: bool = True
    above: Callable[[], AbstractContextManager[object]] = nullcontext
    now: Callable[[], datetime] = datetime.now
    _has_explained_noise: bool = False

    def __post_init__(self) -> None:
        self.name = f"{self.name} " if self.name else ""

    def line_sent(self, line: str) -> None:
        self._show(f"{self.name}Client :  ", line, "cyan")

    def line_arrived(self, line: bytes) -> None:
        """Show a line of the server's."""
        self._show(f"{self.name}Server :   ", line.decode("utf-8", "replace"), "green")

    def stderr_line(self, line: bytes) -> None:
        """Show a line of the server's stderr; it is no message."""
        with self.above():
            text = line.decode("utf-8", "replace").rstrip("\r")
            to_stderr(Painted(f"{self._stamp()}  {self.name}stderr :   {text}", "dim"))

    def http_passed(self, number: int, what: HttpPart) -> None:
        if not self.lines:
            return
        first, *more = _http_lines(what)
        with self.above():
            to_stderr(Painted(f"{self._stamp()}  {self.name}HTTP {number} {first}", "dim"))
            for line in more:
                to_stderr(Painted(f"    {line}", "dim"))

    def not_taken(self, error: StopError) -> None:
        """Say why a message that awaits no answer did not get to the server."""
        self._remark(error.sentence())

    def happened(self, event: Event) -> None:
        """Show the problems of a message from the server."""
        diagnostics: tuple[Diagnostic, ...] = ()
        unread = ""
        match event:
            case ResponseArrived(_, _, diagnostics) | NoticeArrived(_, diagnostics):
                pass
            case RequestArrived(exchange):
                diagnostics = exchange.remarks
            case Unreadable(malformed):
                diagnostics = (unreadable(malformed),)
                unread = "" if self.lines else one_line(malformed.text, LONGEST_LINE)
            case _:
                pass
        if not diagnostics:
            return
        with self.above():
            for one in diagnostics:
                to_stderr(*self._signed(diagnostic_line(one)))
                if unread:
                    to_stderr(Painted(f"    {unread}", "dim"))
                self._explain_noise(one)

    def _signed(self, parts: tuple[str | Painted, ...]) -> tuple[str | Painted, ...]:
        """Put the server's name in front, where there are several whose lines come as they like."""
        return ("  ", Painted(self.name, "bold"), *parts[1:]) if self.name else parts

    def _explain_noise(self, diagnostic: Diagnostic) -> None:
        """Say once what every author of a server has to learn: stdout is the wire."""
        if diagnostic.code in _NOISE and not self._has_explained_noise:
            self._has_explained_noise = True
            to_stderr(Painted("  " + say(SECTION, "noise"), "dim"))

    def answer_went_astray(self, response: MisdirectedResponse) -> None:
        """Explain an answer that no request awaits, and list the requests that wait."""
        own = response.message.id.token if response.message.id is not None else "null"
        if response.taken is not None:
            self._remark(say(SECTION, "taken all the same", id=own, waiting=_named(response.taken)))
            return
        told = say(SECTION, f"stray {response.cause.value}", id=own)
        waiting = ", ".join(map(_named, response.waiting))
        self._remark(
            say(SECTION, "still waiting", cause=told, waiting=waiting) if waiting else told
        )

    def server_ended(self, error: EndedError) -> None:
        """Say that the server is gone; without the lines, the request that waits for it says so."""
        if self.lines:
            self._remark(error.sentence())

    def _remark(self, text: str) -> None:
        with self.above():
            to_stderr(*self._signed(("  ", Painted(text, "dim"))))

    def _show(self, sender: str, line: str, colour: str) -> None:
        if not self.lines:
            return
        text = pretty(line) if self.laid_out else line
        if sys.stderr.isatty():
            text = shortened(text)
        with self.above():
            to_stderr(Painted(f"{self._stamp()}  {sender}", colour), text)
            to_stderr("")

    def _stamp(self) -> str:
        return f"{self.now():%Y/%m/%d %H:%M:%S}"


def _http_lines(what: HttpPart) -> list[str]:
    """Write a part of an HTTP exchange as HTTP does; what a server says may hold anything."""
    match what:
        case OutgoingRequest(method, headers, _, url):
            lines = [f"-> {method} {url}", *(f"{name}: {value}" for name, value in headers)]
        case IncomingResponse(status, reason, headers):
            lines = [f"<- {status} {reason}", *(f"{name}: {value}" for name, value in headers)]
        case UnreadBytes(text):
            lines = ["<- bytes that make no event:", *text.split("\n")]
        case _:
            retry = "" if what.retry is None else f"  retry: {what.retry}"
            lines = [f"<- event: {what.event}  id: {what.id or '-'}{retry}"]
    return [visible(line) for line in lines]


def _named(request: Message) -> str:
    """Name a request that waits: its id as on the wire, and its method."""
    return f"{request.id.token if request.id is not None else ''} ({request.method})"
