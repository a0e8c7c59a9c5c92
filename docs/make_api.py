"""Write the reference of the interface for scripts, from the OpenAPI that FastAPI makes of it.

What a call is for stands in the docstring of its route; the Japanese sentences stand here, beside
what the page says around the calls. A shape is a heading with its members: the same in both
languages. `make docs` writes the pages; tests/test_docs.py fails when one is stale.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, get_args, get_type_hints

from fastapi.openapi.utils import get_openapi
from fastapi.routing import APIRoute

from docs.api_words import INTRO, PRINTED_WORDS, TITLES, TYPES
from humanmcp.answering.schema import commands, diagnostics, exchanges, interface
from humanmcp.answering.schema import page as island
from humanmcp.desk.routes import api, api_completion, api_drafts, api_saved, connect, login

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence


_GROUPS: Final = {
    "reading": api.router,
    "writing": api_drafts.router,
    "completing": api_completion.router,
    "prepared": api_saved.router,
    "opening": connect.calls,
    "visits": login.calls,
}
PRINTED: Final[Mapping[str, Any]] = {
    "inbox": exchanges.InboxShape,
    "inbox --watch": exchanges.ListedShape,
    "show": exchanges.ShownShape,
    "show --unreadable": exchanges.UnreadableShape,
    "answer": diagnostics.AnsweredShape,
    "say": diagnostics.SaidShape,
    "check": diagnostics.CheckedShape,
    "check TRANSCRIPT": diagnostics.ConversationShape,
    "check --lines": diagnostics.CheckedShape,
    "forget": exchanges.ForgottenShape,
    "config HOST": commands.ConfigShape,
    "doctor": commands.DoctorShape,
    "hosts": commands.HostRowShape,
    "host -p TEXT": commands.PromptedShape,
}
"""What each command of the terminal prints with `--json`."""
_SCHEMAS: Final = "#/components/schemas/"
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
            status: _schema(answer).get("$ref", "").removeprefix(_SCHEMAS)
            for status, answer in self.operation["responses"].items()
        }
        return {status: name for status, name in found.items() if name not in {"", *_OF_FASTAPI}}


def calls() -> Mapping[str, tuple[_Call, ...]]:
    """Return the calls of each group, in the order of the routes."""
    return {
        group: tuple(
            _Call(f"{method.upper()} {path}", operation)
            for path, operations in _openapi(router.routes)["paths"].items()
            for method, operation in operations.items()
        )
        for group, router in _GROUPS.items()
    }


def page() -> Iterator[str]:
    """Write the page, line by line."""
    yield from INTRO
    for group, members in calls().items():
        yield from ("", f"## {TITLES[group]}")
        for call in members:
            yield from _call(call)
    yield from ("", f"## {TITLES['printed']}", "", PRINTED_WORDS, "")
    for command, shape in PRINTED.items():
        yield f"- `humanmcp {command}`: [{shape.__name__}](#{shape.__name__.lower()})"
    yield from ("", f"## {TITLES['shapes']}")
    for name, schema in sorted(_shapes().items()):
        yield from _shape(name, schema)


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
        text = _type(held) + _values(name, member)
        yield f"| `{member}` | {text} | {_as_json(default)} |"


def _as_json(default: str) -> str:
    """Write a default of Python as JSON has it."""
    return default.replace("'", '"').replace("False", "false").replace("True", "true")


def _values(name: str, member: str) -> str:
    """Return the values of a member that OpenAPI only knows as text."""
    places = (diagnostics, exchanges, interface, island)
    shape = next((vars(one)[name] for one in places if name in vars(one)), None)
    hint = get_type_hints(shape, include_extras=True).get(member) if shape else None
    enums = [one for one in get_args(hint)[1:] if hasattr(one, "__members__")]
    return "".join(f": {', '.join(f'`{value.value}`' for value in one)}" for one in enums)


def _type(schema: Mapping[str, Any]) -> str:
    words = TYPES
    match schema:
        case {"$ref": name}:
            name = name.removeprefix(_SCHEMAS)
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


def _shapes() -> dict[str, Any]:
    routes = [route for router in _GROUPS.values() for route in router.routes]
    printed = [
        APIRoute(f"/{at}", lambda: None, response_model=shape, methods=["GET"])
        for at, shape in enumerate(PRINTED.values())
    ]
    found: dict[str, Any] = _openapi(routes, printed)["components"]["schemas"]
    return {name: schema for name, schema in found.items() if name not in _OF_FASTAPI}


def _openapi(routes: Iterable[Any], more: Sequence[APIRoute] = ()) -> dict[str, Any]:
    """Let FastAPI describe the routes anew, with the answers that the desk keeps from it."""
    plain = [APIRoute(one.path, one.endpoint, methods=one.methods) for one in routes]
    return get_openapi(title="humanmcp", version="0", routes=[*plain, *more])
