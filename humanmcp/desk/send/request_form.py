"""The requests that a person can send as the client, and the form of each.

A tool has the fields of its `inputSchema`, a prompt those of its arguments, a resource template one
for each variable. The input goes into the message unchanged; the check judges it.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from humanmcp.answering import summary
from humanmcp.desk.inbox.answer_form import FormField, field_of, form_field
from humanmcp.desk.rendering import SECTION
from humanmcp.inbox.contract import Life, Purpose
from humanmcp.locales import say
from humanmcp.protocol.conversation.stages import ExchangeState
from humanmcp.protocol.conversation.transcript import SPOKEN, Direction
from humanmcp.protocol.json.jsonrpc import Kind, Message, read
from humanmcp.protocol.json.tree import follow, object_at, objects_at, pretty
from humanmcp.protocol.json.visible import one_line
from humanmcp.protocol.tables.schemas import Field, expanded, template_form
from humanmcp.protocol.tables.versions import features
from humanmcp.protocol.validation import input_requests
from humanmcp.protocol.validation.input_requests import AskedBack, InputRequest

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from humanmcp.answering.open_exchange import OpenExchange
    from humanmcp.inbox.contract import DeskInbox, Key
    from humanmcp.protocol.conversation.transcript import Frame

PREFIX: Final = "field "
"""The beginning of the names of form fields."""
_WORDS: Final = frozenset({"text", "long"})
_LISTS: Final = ("prompts", "resources", "resourceTemplates")


@dataclass(frozen=True, slots=True)
class RequestForm:
    """A request to start from: its parameters, without those of `fields`."""

    method: str
    about: str
    params: Mapping[str, Any]
    fields: tuple[FormField, ...] = ()
    template: str = ""
    """A URI template whose variables are the fields."""

    @property
    def ref(self) -> str:
        """The reference for the completion of its arguments, as JSON; "" for a tool."""
        if self.template:
            return json.dumps({"type": "ref/resource", "uri": self.template})
        is_prompt = self.method == "prompts/get"
        return json.dumps({"type": "ref/prompt", "name": self.about}) if is_prompt else ""

    def filled(self, text: str, values: Mapping[str, str]) -> str:
        """Return the message of this request, `text`, with the values of its fields."""
        given = {one.name: values.get(PREFIX + one.name, "") for one in self.fields}
        if self.template:
            typed = {name: value for name, value in given.items() if value}
            uri = expanded(self.template, typed)
            return text.replace(_quoted(self.template), _quoted(uri), 1)
        members = [
            f"{_quoted(one.name)}: {_raw(one, given[one.name])}"
            for one in self.fields
            if given[one.name] or (one.needed and one.kind in _WORDS)
        ]
        return pretty(text.replace('"arguments": {}', f'"arguments": {{{", ".join(members)}}}', 1))


def _raw(field: FormField, typed: str) -> str:
    """Return the JSON of a typed value: a string gets quotes, other values are JSON already."""
    return _quoted(typed) if field.kind in _WORDS else typed


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def lists_of(frames: Iterable[Frame]) -> dict[str, list[dict[str, Any]]]:
    """Return the last lists of a server, by member; the frames are newest first."""
    found: dict[str, list[dict[str, Any]]] = {}
    for frame in frames:
        message = read(frame.raw)
        if not isinstance(message, Message) or message.kind is not Kind.RESULT:
            continue
        for name in _LISTS:
            listed = follow(message.body, "result", name)
            if isinstance(listed, list) and name not in found:
                found[name] = objects_at(listed)
    return found


def tool_form(name: str, entry: object) -> RequestForm:
    form = field_of(object_at(entry, "inputSchema"))
    return RequestForm("tools/call", name, {"name": name, "arguments": {}}, form.fields)


def picked_forms(lists: Mapping[str, list[dict[str, Any]]]) -> list[RequestForm]:
    """Return the forms for the entries of lists: prompts to get, resources to read."""
    forms: list[RequestForm] = []
    for one in lists.get("prompts", []):
        given = one.get("arguments")
        named = [each for each in given or () if isinstance(each, dict)]
        fields = tuple(
            form_field(
                Field(
                    str(each.get("name")),
                    {"type": "string", "description": each.get("description")},
                    needed=each.get("required") is True,
                )
            )
            for each in named
        )
        params: dict[str, Any] = {"name": one.get("name"), "arguments": {}}
        forms.append(RequestForm("prompts/get", str(one.get("name")), params, fields))
    addresses = [one.get("uri") for one in lists.get("resources", [])]
    forms += [RequestForm("resources/read", str(uri), {"uri": uri}) for uri in addresses]
    for one in lists.get("resourceTemplates", []):
        uri = str(one.get("uriTemplate"))
        form = field_of(template_form(uri))
        forms.append(RequestForm("resources/read", uri, {"uri": uri}, form.fields, uri))
    return forms


LOOK_BACK: Final = 2000
"""The number of lines after which the request is no longer searched."""
_CHUNK: Final = 100


@dataclass(frozen=True, slots=True)
class QuestionChoice:
    """A request to the client that may be possible. `why` says why not, "" if it is."""

    input_request: InputRequest
    title: str
    why: str


def question_choices(opened: OpenExchange) -> tuple[QuestionChoice, ...]:
    """Return the requests to the client while this exchange waits; () if none is possible."""
    item, facts, exchange = opened.item, opened.facts, opened.exchange
    ours = facts.role.traits.serves and item.purpose is Purpose.ANSWER
    waits = item.state is ExchangeState.PENDING and facts.life is Life.OPEN
    if exchange is None or not ours or not waits:
        return ()
    found = []
    for input_request in InputRequest:
        hindered = input_requests.obstacle(input_request, exchange, opened.negotiated)
        why = ""
        if hindered is not None:
            code, missing = f"ask.not.{hindered.why.value}", hindered.capability
            why = say(SECTION, code, capability=missing, version=item.protocol_version)
        found.append(QuestionChoice(input_request, say(SECTION, f"ask.{input_request.value}"), why))
    return tuple(found)


@dataclass(frozen=True, slots=True)
class ShownRequest:
    """A request to the client and its response. `outcome` is "" while it is open.

    The outcome is the user's accept, decline or cancel, else `result` or `error`.
    """

    input_request: InputRequest
    words: str
    outcome: str = ""
    fields: tuple[tuple[str, str], ...] = ()
    line: str = ""


def requests_shown(opened: OpenExchange) -> tuple[ShownRequest, ...]:
    """Return the requests to the client that were sent while this exchange waits, oldest first."""
    item = opened.item
    if item.state is not ExchangeState.PENDING or features(item.protocol_version).input_required:
        return ()
    frames = reversed(list(_since(opened.inbox, item.key)))
    lines = [(one.direction, one.raw) for one in frames if one.direction in SPOKEN]
    return tuple(_shown_request(one) for one in input_requests.asked_at(item.key.number, lines))


def _since(inbox: DeskInbox, key: Key) -> Iterator[Frame]:
    """Yield the lines of a session back to the request, newest first."""
    before = 0
    for _chunk in range(LOOK_BACK // _CHUNK):
        frames = inbox.last_frames_before(key.session, before, _CHUNK)
        for frame in reversed(frames):
            yield frame
            if frame.number == key.number and frame.direction is Direction.IN:
                return
        if not frames or frames[0].seq <= 1:
            return
        before = frames[0].seq


def _shown_request(asked: AskedBack) -> ShownRequest:
    words = one_line(_words(asked), 300)
    heard = asked.answer
    if heard is None:
        return ShownRequest(asked.input_request, words)
    line = pretty(heard.raw)
    if heard.kind is Kind.ERROR:
        why = (("error", summary.outcome(heard.body)),)
        return ShownRequest(asked.input_request, words, "error", why, line)
    outcome, fields = _heard(asked.input_request, object_at(heard.body, "result"))
    return ShownRequest(asked.input_request, words, outcome, fields, line)


def _words(asked: AskedBack) -> str:
    params = asked.request.params
    if asked.input_request is InputRequest.USER:
        return str(params.get("message", ""))
    if asked.input_request is InputRequest.MODEL:
        said = params.get("messages")
        return _said(said[-1]) if isinstance(said, list) and said else ""
    return ""


def _said(message: Any) -> str:  # noqa: ANN401 - any JSON value
    content = follow(message, "content")
    text = follow(content, "text")
    return text if isinstance(text, str) else summary.gist(content)


def _heard(
    input_request: InputRequest, result: dict[str, Any]
) -> tuple[str, tuple[tuple[str, str], ...]]:
    """Return the outcome of a request to the client, and its values. It may be any JSON."""
    match input_request:
        case InputRequest.USER:
            action = result.get("action")
            filled = object_at(result, "content").items()
            told = action if action in ("accept", "decline", "cancel") else "result"
            return str(told), tuple((one_line(name, 80), _short(value)) for name, value in filled)
        case InputRequest.MODEL:
            return "result", ((one_line(str(result.get("model", "")), 80), _said(result)[:1000]),)
        case InputRequest.ROOTS:
            return "result", tuple(
                (one_line(str(one.get("name", "")), 80), one_line(str(one.get("uri", "")), 300))
                for one in objects_at(result, "roots")
            )


def _short(value: Any) -> str:  # noqa: ANN401 - any JSON value
    return one_line(value, 1000) if isinstance(value, str) else summary.gist({"": value})[2:]
