"""How a good host reacts to each line of its server, whatever the server sends.

`docs/reference/faults.md` lists the reactions. Knows no process, file or screen: a line goes in,
one of the values below comes out. A line that no request waits for is ignored and named, an invalid
answer fails its call, and the connection stays open unless the host does not speak the version.
"""

from __future__ import annotations

import enum
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

from humanmcp.protocol.conversation.outcomes import (
    NoticeArrived,
    RequestArrived,
    ResponseArrived,
    Sent,
    UnreadableArrived,
)
from humanmcp.protocol.conversation.state import StrayCause
from humanmcp.protocol.conversation.transcript import Direction
from humanmcp.protocol.diagnostics.model import Diagnostic, TextForm, unreadable
from humanmcp.protocol.json.jsonrpc import Message, as_json, encoded, read, with_token
from humanmcp.protocol.json.tree import follow
from humanmcp.protocol.session import McpSession, Party
from humanmcp.protocol.tables import methods, reactions, versions

if TYPE_CHECKING:
    from collections.abc import Mapping

    from humanmcp.protocol.conversation.exchange import Exchange
    from humanmcp.protocol.conversation.outcomes import Event
    from humanmcp.protocol.json.jsonrpc import JsonObject


class Strictness(enum.Enum):
    """Whether a host accepts an answer that it understands but the protocol forbids."""

    STRICT = "strict"
    """Like the official SDKs: an answer that none of the measured ones takes fails the call."""
    LENIENT = "lenient"
    """Like some chat programs: an answer that can be understood is accepted."""


class Ignored(NamedTuple):
    """A line without effect: no request of the host waits for it.

    `code` names the sentence; `diagnostic` is the reason if the line is not a message.
    """

    code: str
    fillings: Mapping[str, str] = {}
    diagnostic: Diagnostic | None = None

    @property
    def is_in_vain(self) -> bool:
        """Return True if the server may think that it has answered the present request now."""
        return self.code not in _HARMLESS


_OVER: Final = {StrayCause.REPEATED: "again", StrayCause.LATE: "late"}
_HARMLESS: Final = frozenset({"ignored-again", "ignored-late"})
"""Ignored answers to earlier requests: the current request still waits."""
GIVES_UP_AFTER: Final = 20.0
"""Seconds that the host still waits after a line that did not answer its request.

Before that it waits as long as its person needs: a lesson has no clock.
"""


class Answered(NamedTuple):
    """The answer to a request of the host, and what it understood: a sentence and its fillings."""

    request: Message
    message: Message
    code: str
    fillings: Mapping[str, str]


class Failed(NamedTuple):
    """An answer that the host cannot use: its one call fails, or at `initialize` the connection."""

    request: Message
    message: Message
    diagnostic: Diagnostic | None
    code: str = "failed"


class Noticed(NamedTuple):
    """A notification of the server."""

    message: Message


class WasAsked(NamedTuple):
    """A request of the server, and the line that the host answers it with."""

    message: Message
    line: str


Reaction: TypeAlias = Ignored | Answered | Failed | Noticed | WasAsked


class GoodHost:
    """The host's side of one session of a version with a handshake."""

    def __init__(
        self,
        strictness: Strictness = Strictness.STRICT,
        answers: Mapping[str, JsonObject] | None = None,
    ) -> None:
        """Begin. `answers` are results of what the server may ask, by the method."""
        self.strictness = strictness
        self._answers = {"ping": {}, "roots/list": {"roots": []}, **(answers or {})}
        self.listed: dict[str, tuple[JsonObject, ...]] = {}
        """The items of the last lists that it understood, by method."""
        self._session = McpSession(Party.CLIENT)

    def ask(self, method: str, params: Mapping[str, Any]) -> Message:
        """Make the next request."""
        return self._session.ask(method, params)

    def give_up(self, request: Message, seconds: float) -> str | None:
        """Stop waiting for an answer; return the notification to the server, if there is one."""
        return self._session.give_up(request, f"no answer within {seconds:g} s")

    def take(self, line: bytes) -> tuple[Reaction, ...]:
        """Take one line of the server: mostly one reaction, for a batch none or several."""
        message = read(line)
        if isinstance(message, Message):
            if self.strictness is Strictness.STRICT and message.body.get("jsonrpc") != "2.0":
                # JSON-RPC 2.0, section 4: 'jsonrpc ... MUST be exactly "2.0".'
                return (Ignored("ignored-no-jsonrpc"),)
            awaited = self._awaited_as_other_type(message)
            if self.strictness is Strictness.STRICT and awaited is not None:
                return (self._unasked(message),)
            if awaited is not None and awaited.id is not None:
                line = encoded(with_token(message.raw, awaited.id.token))
        found = (self._react(event) for event in self._session.receive(line))
        return tuple(one for one in found if one is not None)

    def _awaited_as_other_type(self, message: Message) -> Message | None:
        """Find the request whose id differs from an answer's only in its JSON type."""
        typed = message.id
        if typed is None or not message.kind.is_answer:
            return None
        alike = (
            one
            for one in self._session.awaited
            if one.id is not None
            and one.id.key != typed.key
            and str(one.id.value) == str(typed.value)
        )
        return next(alike, None)

    def _react(self, event: Event) -> Reaction | None:
        match event:
            case ResponseArrived(message, None):
                return self._unasked(message)
            case ResponseArrived(message, request, diagnostics) if request is not None:
                return self._answered(request, message, diagnostics)
            case RequestArrived(exchange):
                return self._was_asked(exchange)
            case NoticeArrived(message):
                return Noticed(message)
            case UnreadableArrived(malformed):
                why = unreadable(malformed)
                return Ignored("ignored-no-message", {}, why)
            case _:
                return None

    def _unasked(self, message: Message) -> Ignored:
        """Return why no request waits for this answer."""
        if message.id is None:
            return Ignored("ignored-no-id")
        fillings = {"id": message.id.token, "waiting": self._waiting()}
        if self._awaited_as_other_type(message) is not None:
            return Ignored("ignored-id-type", fillings)
        cause = self._session.state.why_stray(Direction.OUT, message)
        return Ignored(f"ignored-{_OVER.get(cause, 'unasked')}", fillings)

    def _waiting(self) -> str:
        ids = [one.id.token for one in self._session.awaited if one.id is not None]
        return ", ".join(ids) or "-"

    def _was_asked(self, exchange: Exchange) -> WasAsked:
        """Answer what any host can; refuse what this one did not declare."""
        result = self._result_for(exchange)
        form = TextForm.RESULT if result is not None else TextForm.ERROR
        refusal = {"code": -32601, "message": "Method not found"}
        text = as_json(refusal if result is None else result)
        outcome = self._session.reply(exchange.number, text, form, anyway=True)
        line = outcome.line if isinstance(outcome, Sent) else None
        return WasAsked(exchange.request, line or "")

    def _result_for(self, exchange: Exchange) -> JsonObject | None:
        """Return the result that the lesson has; its user fills in no form but the one it knows."""
        result = self._answers.get(exchange.method)
        filled = follow(result, "content")
        if exchange.method == "elicitation/create" and isinstance(filled, dict):
            asked = follow(exchange.request.body, "params", "requestedSchema", "properties")
            if not isinstance(asked, dict) or asked.keys() != filled.keys():
                return {"action": "decline"}
        return result

    # -- what an answer means -------------------------------------------------------------------

    def _answered(
        self, request: Message, message: Message, diagnostics: tuple[Diagnostic, ...]
    ) -> Answered | Failed:
        wrong = next(filter(_is_taken_by_nobody, diagnostics), None)
        if "result" in message.body and "error" in message.body:
            return Failed(request, message, wrong)
        chosen = follow(message.body, "result", "protocolVersion")
        is_unknown = isinstance(chosen, str) and chosen not in versions.HANDSHAKE
        if request.method == "initialize" and is_unknown:
            return Failed(request, message, wrong, "failed-version")
        if wrong is not None and self.strictness is Strictness.STRICT:
            return Failed(request, message, wrong)
        understood = self._understood(request, message)
        return understood or Failed(request, message, wrong)

    def _understood(self, request: Message, message: Message) -> Answered | None:
        """Read an answer as far as possible, or return None."""
        code, said = "", dict[str, str]()
        match request.method, message.body:
            case _, {"error": dict(error)}:
                code = "understood-error"
                said = {"code": str(error.get("code")), "message": str(error.get("message"))}
            case (
                "initialize",
                {"result": {"serverInfo": dict(server), "capabilities": dict(capabilities)}},
            ):
                code = f"understood-initialize{'' if capabilities else '-none'}"
                said = {name: str(server.get(name)) for name in ("name", "version")}
                said["capabilities"] = ", ".join(capabilities)
            case "tools/call", {"result": {"content": list(content), **others}}:
                is_error = others.get("isError") is True
                code = "understood-tool-error" if is_error else "understood-call"
                said = {"text": " ".join(map(_shown, content))}
            case (("initialize" | "tools/call"), _):
                pass
            case method, {"result": dict(result)}:
                code, said = self._read(method, result)
        return Answered(request, message, code, said) if code else None

    def _read(self, method: str, result: JsonObject) -> tuple[str, dict[str, str]]:
        """Read a list, or what is in an item of it; "" for none that can be read."""
        member, name = methods.of(method).listing or CONTENTS.get(method, ("", ""))
        items = result.get(member)
        if not member:
            return "understood-other", {"method": method}
        if not isinstance(items, list):
            return "", {}
        if method in CONTENTS:
            texts = (_shown(follow(one, "content") if name else one) for one in items)
            return f"understood-{member}", {"text": " ".join(texts)}
        named = tuple(one for one in items if isinstance(follow(one, name), str))
        self.listed[method] = named
        names = ", ".join(one[name] for one in named)
        code = f"understood-{member}" if member in SHOWN else "understood-other"
        code = code if named or member != "tools" else "understood-no-tools"
        return code, {"names": names or "-", "count": f"{len(named)}", "method": method}


SHOWN: Final = ("tools", "resources", "prompts")
"""The lists of which the host says what it does with them."""
CONTENTS: Final = {"resources/read": ("contents", ""), "prompts/get": ("messages", "content")}
"""The member of the result of each pick, and where in its items the content is."""


def _is_taken_by_nobody(diagnostic: Diagnostic) -> bool:
    """Return True if every measured client refuses a response with this problem."""
    measured = reactions.reactions_to([diagnostic]).values()
    return bool(measured) and reactions.Reaction.TAKEN not in measured


def _shown(item: object) -> str:
    """Return the text of an item of content, or its kind."""
    if isinstance(item, dict) and isinstance(item.get("text"), str):
        return str(item["text"])
    kind = follow(item, "type")
    return f"[{kind}]" if isinstance(kind, str) else "[?]"
