"""What a person in the client's seat may ask of a server, and the form that each request has.

A tool has the fields of its `inputSchema`, a prompt those of its arguments, a template of addresses
one for each of its names. What was typed goes into the message as it is; the check judges it.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from humanmcp.desk.presenters.form_fields import field_of
from humanmcp.protocol.json.jsonrpc import Kind, Message, read
from humanmcp.protocol.json.layout import pretty
from humanmcp.protocol.json.tree import follow, object_at, objects_at
from humanmcp.protocol.spec import uri_templates

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from humanmcp.answering.schema.page import FieldShape
    from humanmcp.protocol.conversation.transcript import Frame

PREFIX: Final = "field "
"""Begins the names of the fields in a form of the page."""
_WORDS: Final = frozenset({"text", "long"})
_LISTS: Final = ("prompts", "resources", "resourceTemplates")


@dataclass(frozen=True, slots=True)
class RequestForm:
    """A request to begin with: its parameters but for what `fields` fill in."""

    method: str
    about: str
    params: Mapping[str, Any]
    fields: tuple[FieldShape, ...] = ()
    template: str = ""
    """An address with names in braces, which the fields fill."""

    @property
    def ref(self) -> str:
        """What its arguments are completed by, as JSON; "" for a tool."""
        if self.template:
            return json.dumps({"type": "ref/resource", "uri": self.template})
        is_prompt = self.method == "prompts/get"
        return json.dumps({"type": "ref/prompt", "name": self.about}) if is_prompt else ""

    def filled(self, text: str, values: Mapping[str, str]) -> str:
        """Return the message of this request, `text`, with what was typed into its fields."""
        given = {one["name"]: values.get(PREFIX + one["name"], "") for one in self.fields}
        if self.template:
            typed = {name: value for name, value in given.items() if value}
            uri = uri_templates.expanded(self.template, typed)
            return text.replace(_quoted(self.template), _quoted(uri), 1)
        members = [
            f"{_quoted(one['name'])}: {_raw(one, given[one['name']])}"
            for one in self.fields
            if given[one["name"]] or (one["needed"] and one["kind"] in _WORDS)
        ]
        return pretty(text.replace('"arguments": {}', f'"arguments": {{{", ".join(members)}}}', 1))


def _raw(field: FieldShape, typed: str) -> str:
    """Return the JSON of what was typed: words get quotes, all else is JSON already."""
    return _quoted(typed) if field["kind"] in _WORDS else typed


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def lists_of(frames: Iterable[Frame]) -> dict[str, list[dict[str, Any]]]:
    """Return the last lists that a server gave, by member; the lines come newest first."""
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
    """Return the form of a call."""
    form = field_of(object_at(entry, "inputSchema"))
    return RequestForm("tools/call", name, {"name": name, "arguments": {}}, tuple(form["fields"]))


def picked_forms(lists: Mapping[str, list[dict[str, Any]]]) -> list[RequestForm]:
    """List what may be picked of the lists: prompts to get, resources to read."""
    forms: list[RequestForm] = []
    for one in lists.get("prompts", []):
        given = one.get("arguments")
        named = [each for each in given or () if isinstance(each, dict)]
        fields = tuple(
            field_of(
                {"type": "string", "description": each.get("description")},
                str(each.get("name")),
                needed=each.get("required") is True,
            )
            for each in named
        )
        params: dict[str, Any] = {"name": one.get("name"), "arguments": {}}
        forms.append(RequestForm("prompts/get", str(one.get("name")), params, fields))
    addresses = [one.get("uri") for one in lists.get("resources", [])]
    forms += [RequestForm("resources/read", str(uri), {"uri": uri}) for uri in addresses]
    for one in lists.get("resourceTemplates", []):
        uri = str(one.get("uriTemplate"))
        form = field_of(uri_templates.schema_of(uri))
        forms.append(RequestForm("resources/read", uri, {"uri": uri}, tuple(form["fields"]), uri))
    return forms
