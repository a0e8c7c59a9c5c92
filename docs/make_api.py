"""Write the reference of the interface for scripts, from the OpenAPI that FastAPI makes of it.

What a call is for stands in the docstring of its route. The committed page has one line for each
call; the page in `build/` and on the site also has every member.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from fastapi.routing import APIRoute

from docs.brought import brought
from humanmcp import extensions
from humanmcp.answering import schema
from humanmcp.desk.api import read_calls, write_calls
from humanmcp.desk.app import describe, description
from humanmcp.desk.devices import login_page
from humanmcp.desk.history import opening
from humanmcp.export import hosts
from humanmcp.setup import config, doctor

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping


_GROUPS: Final = {
    "Read": (read_calls.router, description),
    "Write and send": (write_calls.router, opening.calls),
    "Help while typing": (read_calls.helping,),
    "Prepared answers and rules": (
        read_calls.prepared,
        *(one.router for one in extensions.loaded("pages")),
    ),
    "Log in and out": (login_page.calls,),
}
PRINTED: Final[Mapping[str, Any]] = {
    "inbox": schema.InboxShape,
    "inbox --watch": schema.ListedShape,
    "show": schema.ShownShape,
    "show --unreadable": schema.UnreadableShape,
    "answer": schema.AnsweredShape,
    "say": schema.SaidShape,
    "check": schema.CheckedShape,
    "check TRANSCRIPT": schema.ConversationShape,
    "check --lines": schema.CheckedShape,
    "forget": schema.ForgottenShape,
    "config HOST": config.ConfigShape,
    "doctor": doctor.DoctorShape,
    "hosts": hosts.HostRowShape,
    **{command: extensions.load(shape) for command, shape in brought("printed")},
}
"""What each command of the terminal prints with `--json`."""
_INTRO: Final = (
    "# The JSON interface of the desk",
    "",
    "A script can do whatever the page can do, under the same checks. The address and the token",
    "are in `desk.json` of the inbox folder. Only you can read it, and both are new whenever the",
    "desk starts.",
    "",
    "```sh",
    "address=$(jq -r .address ~/.humanmcp/desk.json)",
    "token=$(jq -r .token ~/.humanmcp/desk.json)",
    'curl -H "Authorization: Bearer $token" "${address}api/exchanges"',
    "```",
    "",
    "Every POST to `/api/` carries JSON (`Content-Type: application/json`). For what has no call,",
    'send a form of the page with the same token: `curl -d act=hand "${address}handshake"` lets',
    "people answer the handshake. `?lang=en` or `?lang=ja` chooses the language of texts for",
    "people. An exchange is named by its session and number, never by the client's id.",
    "",
    f"This is version {schema.INTERFACE} of the interface: `info.version` of `/api/openapi.json`,",
    "`interface` of `humanmcp inbox --json`. A member that changes its meaning or goes gets a new",
    "version.",
    "",
    "| status of an error | meaning |",
    "| --- | --- |",
    "| 404 | there is no such session or exchange |",
    "| 422 | the body is not as described |",
    "| 503 | too many requests at the same moment |",
    "| 507 | the disk did not store something |",
    "| 500 | unexpected; `log` says where the details are |",
    "",
    'The body of an error is `{"detail": …}`. What each fault does: [faults](faults.md).',
)

_PRINTED: Final = (
    "## What `--json` prints",
    "",
    "The commands of the terminal print the same objects, one on each line. `hosts` prints a list.",
    "`client` prints the result as the server wrote it; with `--list`, one object with the entries",
    "of all pages.",
    "",
)

TYPES: Final = {
    "query": "in the address",
    "body": "body",
    "answer": "answer",
    "member": "member",
    "type": "type",
    "default": "default",
    "or": " or ",
    "list": "list of {}",
    "typed": "{} ({})",
    "string": "text",
    "integer": "whole number",
    "number": "number",
    "boolean": "true or false",
    "object": "object",
    "array": "list",
    "null": "null",
    "any": "any value",
}
"""The words for JSON's types, and the heads of the tables."""

SCHEMAS: Final = "#/components/schemas/"
"""What a reference to a shape begins with."""
_OF_FASTAPI: Final = frozenset({"HTTPValidationError", "ValidationError"})


@dataclass(frozen=True, slots=True)
class _Call:
    """A call, as OpenAPI has it."""

    name: str
    operation: Mapping[str, Any]

    @property
    def answers(self) -> Mapping[str, str]:
        """The shape of each status that has one of ours."""
        found = {
            status: _schema(answer).get("$ref", "").removeprefix(SCHEMAS)
            for status, answer in self.operation["responses"].items()
        }
        return {status: name for status, name in found.items() if name not in {"", *_OF_FASTAPI}}


def calls() -> Mapping[str, tuple[_Call, ...]]:
    """Return the calls of each group, in the order of the routes."""
    return {
        group: tuple(
            _Call(f"{method.upper()} {path}", operation)
            for path, operations in describe(routers)["paths"].items()
            for method, operation in operations.items()
        )
        for group, routers in _GROUPS.items()
    }


def summary() -> Iterator[str]:
    """Write one line for each call."""
    yield from (*_INTRO, "")
    yield "`GET /api/openapi.json` describes every member of each body and answer (OpenAPI 3.1)."
    for group, members in calls().items():
        yield from ("", f"## {group}", "")
        for call in members:
            about = " ".join(call.operation["description"].split("\n\n")[0].split())
            yield f"- `{call.name}`: {about}"
    yield from ("", *_PRINTED)
    yield ", ".join(f"`{command}`" for command in PRINTED)


def page() -> Iterator[str]:
    """Write every call with its members, and every object."""
    yield from _INTRO
    for group, members in calls().items():
        yield from ("", f"## {group}")
        for call in members:
            yield from _call(call)
    yield from ("", *_PRINTED)
    for command, shape in PRINTED.items():
        yield f"- `humanmcp {command}`: [{shape.__name__}](#{shape.__name__.lower()})"
    yield from ("", "## Shapes")
    for name, shape in sorted(shapes(PRINTED.values()).items()):
        yield from _shape(name, shape)


def _call(call: _Call) -> Iterator[str]:
    yield from ("", f"### `{call.name}`", "")
    about = call.operation["description"]
    yield from about.split("\n")
    lines = [*_asked(call), *_answered(call)]
    if lines:
        yield from ("", *lines)


def _asked(call: _Call) -> Iterator[str]:
    words = TYPES
    query = [one for one in call.operation.get("parameters", ()) if one["in"] == "query"]
    if query:
        named = ", ".join(
            words["typed"].format(f"`{one['name']}`", _type(one["schema"])) for one in query
        )
        yield f"- {words['query']}: {named}"
    if "requestBody" in call.operation:
        yield f"- {words['body']}: {_type(_schema(call.operation['requestBody']))}"


def _answered(call: _Call) -> Iterator[str]:
    if call.answers:
        name = call.answers["200"]
        yield f"- {TYPES['answer']}: [{name}](#{name.lower()})"


def _shape(name: str, schema: Mapping[str, Any]) -> Iterator[str]:
    words = TYPES
    yield from ("", f"### {name}", "")
    if "enum" in schema:
        yield ", ".join(f"`{value}`" for value in schema["enum"])
        return
    about = schema["description"]
    yield from (*about.split("\n\n", maxsplit=1)[0].split("\n"), "")
    needed = schema.get("required", ())
    yield from (
        f"| {words['member']} | {words['type']} | {words['default']} |",
        "| --- | --- | --- |",
    )
    for member, held in schema["properties"].items():
        default = "" if member in needed or "default" not in held else f"`{held['default']!r}`"
        yield f"| `{member}` | {_type(held)} | {_as_json(default)} |"


def _as_json(default: str) -> str:
    """Write a default of Python as JSON has it."""
    return default.replace("'", '"').replace("False", "false").replace("True", "true")


def _type(schema: Mapping[str, Any]) -> str:
    words = TYPES
    match schema:
        case {"$ref": name}:
            name = name.removeprefix(SCHEMAS)
            return f"[{name}](#{name.lower()})"
        case {"anyOf": choices}:
            return words["or"].join(_type(one) for one in choices)
        case {"prefixItems": parts}:
            return f"[{', '.join(_type(one) for one in parts)}]"
        case {"type": "array", "items": inner}:
            return words["list"].format(_type(inner))
        case {"type": kind}:
            return words[kind]
        case _:
            return words["any"]


def _schema(holder: Mapping[str, Any]) -> Mapping[str, Any]:
    content: Mapping[str, Any] = holder.get("content", {}).get("application/json", {})
    return dict(content.get("schema", {}))


def shapes(more: Iterable[Any]) -> dict[str, Any]:
    """Return the JSON Schema of each shape of the interface, and of these."""
    routers = [router for group in _GROUPS.values() for router in group]
    printed = [
        APIRoute(f"/{at}", lambda: None, response_model=shape, methods=["GET"])
        for at, shape in enumerate(more)
    ]
    found: dict[str, Any] = describe(routers, printed)["components"]["schemas"]
    return {name: schema for name, schema in found.items() if name not in _OF_FASTAPI}
