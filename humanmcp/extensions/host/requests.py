"""Requests of a client, made of words: a tool, a prompt, a resource, how an argument may go on.

What the server lists says what the words mean: which arguments there are, and of which kind.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from humanmcp.answering.forms import arguments, texts
from humanmcp.extensions.host.client.handshake import enveloped
from humanmcp.extensions.host.terminal.typing import FormAtTerminal, LeftError, LineError
from humanmcp.protocol.json import jsonrpc
from humanmcp.protocol.json.jsonrpc import Message
from humanmcp.protocol.json.tree import object_at, objects_at
from humanmcp.protocol.tables import methods
from humanmcp.protocol.tables.schemas import expanded, template_form
from humanmcp.protocol.validation import check, starting_draft

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from humanmcp.extensions.host.client.client import Client
    from humanmcp.extensions.host.client.handshake import Response
    from humanmcp.extensions.host.terminal.typing import Typist
    from humanmcp.protocol.diagnostics.model import Diagnostic


class List(NamedTuple):
    """A list that a server has: how it is asked for, where its entries stand, what names one."""

    method: str
    member: str
    key: str


LISTS: Final = {
    one.name.split("/")[-2]: List(one.name, *one.listing) for one in methods.LISTS if one.listing
}
"""The lists of a server by the word that a person types: `templates` for the resource templates."""


class Asking(NamedTuple):
    """A request that was made of words."""

    method: str
    params: dict[str, Any]


class Requests:
    """Makes requests to one server. A person at the terminal fills in what they did not type."""

    def __init__(self, client: Client, typist: Typist | None = None) -> None:
        self.client = client
        self._typist = typist if typist is not None and typist.is_there else None
        self._listed: dict[str, dict[str, Mapping[str, Any]]] = {}

    # -- what the server lists -------------------------------------------------------------------

    def pages(self, word: str) -> Iterator[Response]:
        """Ask for a list, page by page, and remember its entries."""
        wanted = LISTS[word]
        for page in self.client.pages(wanted.method):
            for entry in objects_at(page.result, wanted.member):
                self._listed.setdefault(word, {})[str(entry.get(wanted.key))] = entry
            yield page

    def entry(self, word: str, name: str) -> Mapping[str, Any]:
        """Return what the server lists under a name; its whole list is asked for where need be."""
        if word == "tools" and (self.client.session.negotiated.tools or {}).get(name):
            return self._known_tool(name)
        capability = LISTS[word].method.partition("/")[0]
        if name not in self._listed.get(word, {}) and capability in self.client.server_capabilities:
            for _page in self.pages(word):
                pass
        if word == "tools":
            return self._known_tool(name)
        return self._listed.get(word, {}).get(name, {})

    def _known_tool(self, name: str) -> Mapping[str, Any]:
        return object_at((self.client.session.negotiated.tools or {}).get(name))

    # -- requests --------------------------------------------------------------------------------

    def made(self, word: str, name: str, typed: str, *, anyway: bool = False) -> Asking:
        """Make the request of a word: `call`, `read`, `complete`, or another one for a prompt.

        Raises:
            LineError: as the function of the word.
        """
        if word == "call":
            return self.call(name, typed, anyway=anyway)
        return {"read": self.read, "complete": self.complete}.get(word, self.prompt)(name, typed)

    def call(self, name: str, typed: str, *, anyway: bool = False) -> Asking:
        """Make the call of a tool. `anyway` takes the values for whatever they look like.

        Raises:
            LineError: this is no `key=value`, or a value does not fit its argument.
        """
        schema = self.entry("tools", name).get("inputSchema")
        if typed or self._typist is None:
            given = arguments(typed, None if anyway else schema)
        else:
            given = self._filled(self._typist, schema, name)
        return Asking("tools/call", {"name": name, "arguments": given})

    def prompt(self, name: str, typed: str) -> Asking:
        """Make the request for a prompt. Its arguments are texts, all of them.

        Raises:
            LineError: as `call`, or a required one is missing.
        """
        given = self._texts(name, typed, _form_of(self.entry("prompts", name)))
        more = {"arguments": given} if given else {}
        return Asking("prompts/get", {"name": name, **more})

    def read(self, uri: str, typed: str) -> Asking:
        """Make the request for a resource. A template takes values for its variables.

        Raises:
            LineError: as `prompt`.
        """
        form = template_form(uri)
        if not form["properties"] and typed:
            raise LineError("no variables", uri=uri, typed=typed)
        given = self._texts(uri, typed, form)
        return Asking("resources/read", {"uri": expanded(uri, given)})

    def complete(self, name: str, typed: str) -> Asking:
        """Ask how the last argument may go on; those before it are settled.

        Raises:
            LineError: no argument is named.
        """
        given = texts(typed)
        if not given:
            raise LineError("complete what")
        is_address = "://" in name or "{" in name
        of = {"type": "ref/resource", "uri": name}
        ref = of if is_address else {"type": "ref/prompt", "name": name}
        last, value = given.popitem()
        version = self.client.stated or self.client.session.version
        return Asking("completion/complete", starting_draft.asked(ref, last, value, given, version))

    def remarks(self, method: str, params: Mapping[str, Any] | None) -> tuple[Diagnostic, ...]:
        """Ask the check about a request or a notification before it is sent."""
        client = self.client
        said: dict[str, Any] = {"jsonrpc": "2.0", "method": method}
        if not method.startswith("notifications/"):
            said["id"] = 0
            params = enveloped(params, client.stated, client.identity)
        if params is not None:
            said["params"] = params
        message = jsonrpc.read(json.dumps(said, ensure_ascii=False).encode("utf-8", "replace"))
        assert isinstance(message, Message)  # noqa: S101 - we made it
        negotiated = client.session.negotiated
        return check.remarks(message, client.stated or client.session.version, negotiated)

    def _texts(self, name: str, typed: str, form: Mapping[str, Any]) -> dict[str, str]:
        if not typed and self._typist is not None and form["properties"]:
            return self._filled(self._typist, form, name)
        given = texts(typed)
        for needed in form["required"]:
            if needed not in given:
                raise LineError("needs argument", name=name, needed=needed)
        return given

    def _filled(self, typist: Typist, schema: object, name: str) -> dict[str, Any]:
        try:
            return FormAtTerminal(schema, typist).fill()
        except LeftError as error:
            raise LineError("left form", name=name) from error


def _form_of(prompt: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments of a prompt as a form: MCP knows only texts there."""
    named = objects_at(prompt.get("arguments"))
    return {
        "type": "object",
        "properties": {
            str(one.get("name")): {
                "type": "string",
                "description": str(one.get("description") or one.get("title") or ""),
            }
            for one in named
        },
        "required": [str(one.get("name")) for one in named if one.get("required") is True],
    }
