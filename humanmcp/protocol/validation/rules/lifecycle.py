"""What MCP asks of a result that no shape can say.

Each method has its rules; all of them are told by value, whatever shape the value has, so every
rule looks before it steps. Rules of tools stand in `tools.py`, those of 2026-07-28's
questions in `elicitation.py`.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

from humanmcp.protocol.diagnostics.fix_safety import PLACEHOLDER
from humanmcp.protocol.diagnostics.raw import (
    RawDiagnostic,
    delete,
    json_text,
    rename_to,
    replace_with,
    shown,
)
from humanmcp.protocol.spec import methods
from humanmcp.protocol.spec import versions as spec_versions
from humanmcp.protocol.spec.examples import PLACEHOLDERS
from humanmcp.protocol.spec.objects import SHAPES, TASK_HOLDS
from humanmcp.protocol.spec.versions import features
from humanmcp.protocol.validation.rules.elicitation import asking, filled_form, listening
from humanmcp.protocol.validation.rules.sampling import turn
from humanmcp.protocol.validation.rules.tools import called_tool, refused_call, tools

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from humanmcp.protocol.conversation.exchange import Exchange, Known
    from humanmcp.protocol.diagnostics.raw import Path
    from humanmcp.protocol.json.jsonrpc import Json, JsonObject

__all__ = ["lint", "lint_error"]


def lint(exchange: Exchange, value: JsonObject, known: Known, path: Path) -> list[RawDiagnostic]:
    """Return what is wrong with a result beyond its shape."""
    found = _offered(exchange, known, path)
    rule = _RULES.get(exchange.method)
    if rule is not None:
        found += rule(exchange, value, known, path)
    if "nextCursor" in value:
        found += _pages(exchange, value, path)
    return found


def lint_error(exchange: Exchange, error: Json, known: Known) -> list[RawDiagnostic]:
    """Return what is to be said of an error that has its shape."""
    if exchange.method == "tools/call" and isinstance(error, dict):
        return refused_call(exchange, error, known)
    return []


def _offered(exchange: Exchange, known: Known, path: Path) -> list[RawDiagnostic]:
    """MCP, lifecycle: both sides only use what was negotiated."""
    if known.offered is None:
        return []
    record = methods.of(exchange.method)
    if not record.to_server or not record.capability or record.capability in known.offered:
        return []
    if record.capability == "completions" and not features(exchange.revision).completions:
        return []
    detail = (("capability", record.capability), ("method", shown(exchange.method)))
    return [RawDiagnostic("M05", path, detail)]


def _pages(exchange: Exchange, value: JsonObject, path: Path) -> list[RawDiagnostic]:
    """MCP, pagination: the end is told by leaving the cursor out."""
    cursor, at = value["nextCursor"], (*path, "nextCursor")
    if cursor == "":
        return [RawDiagnostic("M42", at, (), delete(at))]
    if isinstance(cursor, str) and cursor == exchange.request.params.get("cursor"):
        return [RawDiagnostic("M43", at, (("cursor", shown(cursor)),), delete(at))]
    return []


def doubles(items: Json, name: str, path: Path) -> list[RawDiagnostic]:
    """Report items of a list that share what tells them apart."""
    seen: set[str] = set()
    found: list[RawDiagnostic] = []
    for at, item in enumerate(items if isinstance(items, list) else []):
        own = item.get(name) if isinstance(item, dict) else None
        if not isinstance(own, str):
            continue
        if own in seen:
            where = (*path, at, name)
            found.append(RawDiagnostic("M38", where, (("key", name), ("value", shown(own)))))
        seen.add(own)
    return found


# -- opening -------------------------------------------------------------------------------------


def _initialize(
    exchange: Exchange, value: JsonObject, _known: Known, path: Path
) -> list[RawDiagnostic]:
    found = _version(exchange, value, path)
    found += _capabilities(exchange, value.get("capabilities"), (*path, "capabilities"))
    server, at = value.get("serverInfo"), (*path, "serverInfo")
    if isinstance(server, dict):
        found += _server_info(value, server, at)
    for name in SHAPES["ServerCapabilities"].members:
        if name in value:
            found.append(
                RawDiagnostic(
                    "M63", (*path, name), (("key", name),), delete((*path, name)), at_name=True
                )
            )
    return found


def _version(exchange: Exchange, value: JsonObject, path: Path) -> list[RawDiagnostic]:
    """MCP, lifecycle: answer with the version that was asked for, or with one that you have."""
    typed, wanted = value.get("protocolVersion"), exchange.request.params.get("protocolVersion")
    at = (*path, "protocolVersion")
    if not isinstance(typed, str):
        return []
    speaks = wanted in spec_versions.HANDSHAKE
    if typed not in spec_versions.HANDSHAKE:
        meant = wanted if speaks else spec_versions.LATEST_HANDSHAKE
        allowed = ", ".join(spec_versions.HANDSHAKE)
        detail = (("value", shown(typed)), ("allowed", allowed))
        return [RawDiagnostic("M44", at, detail, replace_with(at, meant))]
    if speaks and typed != wanted:
        detail = (("asked", str(wanted)), ("answered", typed))
        return [RawDiagnostic("M04", at, detail, replace_with(at, wanted))]
    return []


def _server_info(value: JsonObject, server: JsonObject, at: Path) -> list[RawDiagnostic]:
    found: list[RawDiagnostic] = []
    if "capabilities" in server:
        declared = value.get("capabilities")
        there = server["capabilities"]
        only = [
            name
            for name in (there if isinstance(there, dict) else ())
            if not isinstance(declared, dict) or name not in declared
        ]
        where = (*at, "capabilities")
        detail = (("only", shown(", ".join(only)) or "?"),)
        found.append(RawDiagnostic("M47", where, detail, delete(where), at_name=True))
    name = server.get("name")
    if isinstance(name, str) and "client" in name.lower():
        found.append(RawDiagnostic("M49", (*at, "name"), (("value", shown(name)),)))
    return found


def _capabilities(exchange: Exchange, declared: Json, at: Path) -> list[RawDiagnostic]:
    if not isinstance(declared, dict) or "completion" not in declared:
        return []
    where = (*at, "completion")
    if not features(exchange.revision).completions or "completions" in declared:
        return []
    return [RawDiagnostic("M48", where, (), rename_to(where, "completions"), at_name=True)]


def _discover(
    exchange: Exchange, value: JsonObject, _known: Known, path: Path
) -> list[RawDiagnostic]:
    found = _capabilities(exchange, value.get("capabilities"), (*path, "capabilities"))
    versions, at = value.get("supportedVersions"), (*path, "supportedVersions")
    if not isinstance(versions, list):
        return found
    if not versions:
        return [
            *found,
            RawDiagnostic("M45", at, (), replace_with(at, list(spec_versions.STATELESS))),
        ]
    unknown = [each for each in versions if isinstance(each, str) and each not in spec_versions.ALL]
    if unknown or not any(each in spec_versions.STATELESS for each in versions):
        known = ", ".join(spec_versions.ALL)
        detail = (("value", shown(json_text(unknown or versions))), ("allowed", known))
        found.append(
            RawDiagnostic("M46", at, detail, replace_with(at, list(spec_versions.STATELESS)))
        )
    return found


# -- resources, prompts ------------------------------------------------------------------------


def _resources(
    _exchange: Exchange, value: JsonObject, _known: Known, path: Path
) -> list[RawDiagnostic]:
    return doubles(value.get("resources"), "uri", (*path, "resources"))


def _prompts(
    _exchange: Exchange, value: JsonObject, _known: Known, path: Path
) -> list[RawDiagnostic]:
    return doubles(value.get("prompts"), "name", (*path, "prompts"))


def _read(exchange: Exchange, value: JsonObject, _known: Known, path: Path) -> list[RawDiagnostic]:
    if value.get("resultType") == "input_required":
        return asking(exchange, value, path)
    contents, at = value.get("contents"), (*path, "contents")
    if not isinstance(contents, list):
        return []
    if not contents:
        code = features(exchange.revision).resource_not_found
        return [RawDiagnostic("M60", at, (("code", str(code)),))]
    wanted = exchange.request.params.get("uri")
    uris = [each.get("uri") for each in contents if isinstance(each, dict)]
    if isinstance(wanted, str) and uris and not any(_within(uri, wanted) for uri in uris):
        detail = (("asked", shown(wanted)), ("answered", shown(str(uris[0]))))
        return [
            RawDiagnostic("M70", (*at, 0, "uri"), detail, replace_with((*at, 0, "uri"), wanted))
        ]
    return []


def _within(uri: Json, wanted: str) -> bool:
    """A folder is read as the files in it: their addresses begin with its own."""
    return not isinstance(uri, str) or uri.startswith(wanted.rstrip("/"))


def _get_prompt(
    exchange: Exchange, value: JsonObject, _known: Known, path: Path
) -> list[RawDiagnostic]:
    return asking(exchange, value, path)


# -- texts nobody has written yet ---------------------------------------------------------------


def unwritten(value: Json, path: Path, text: str) -> list[RawDiagnostic]:
    """Find what a fix or an example of ours put in the place of a person's words.

    `text` is the JSON that holds the value: it is searched first, since nearly no answer has any.
    """
    return _unwritten(value, path) if _TYPED in text or _ESCAPED in text else []


_TYPED: Final = f'"{PLACEHOLDER}"'
_ESCAPED: Final = json.dumps(PLACEHOLDER).strip('"')


def _unwritten(value: Json, path: Path) -> list[RawDiagnostic]:
    if value == PLACEHOLDER:
        return [RawDiagnostic("M61", path, (("text", PLACEHOLDER),))]
    steps: Iterable[tuple[str | int, Json]] = ()
    if isinstance(value, dict):
        steps = value.items()
    elif isinstance(value, list):
        steps = enumerate(value)
    return [found for step, inner in steps for found in _unwritten(inner, (*path, step))]


def _placeholders(value: Json, path: Path) -> list[RawDiagnostic]:
    """Find the words of the starting draft that were left as they are."""
    blocks = value if isinstance(value, list) else [value]
    found: list[RawDiagnostic] = []
    for at, block in enumerate(blocks):
        text = block.get("text") if isinstance(block, dict) else None
        if isinstance(text, str) and text in PLACEHOLDERS.values():
            step = (at,) if isinstance(value, list) else ()
            found.append(RawDiagnostic("M61", (*path, *step, "text"), (("text", text),)))
    return found


def _call(exchange: Exchange, value: JsonObject, known: Known, path: Path) -> list[RawDiagnostic]:
    if value.get("resultType") == "input_required":
        return asking(exchange, value, path)
    found = _placeholders(value.get("content"), (*path, "content"))
    return found + called_tool(exchange, value, known, path)


def _task_state(
    exchange: Exchange, value: JsonObject, _known: Known, path: Path
) -> list[RawDiagnostic]:
    """What has become of a task stands beside its status: its result, its error, its questions."""
    status = value.get("status")
    needed = TASK_HOLDS.get(status) if isinstance(status, str) else None
    if not features(exchange.revision).result_types or needed is None or needed in value:
        return []
    example = json_text(TASK_EXAMPLES[needed])
    detail = (("key", needed), ("example", example), ("where", "result"))
    return [RawDiagnostic("M09", path, detail)]


TASK_EXAMPLES: Final[Mapping[str, Json]] = {
    "result": {"content": []},
    "error": {"code": -32603, "message": "…"},
    "inputRequests": {"answer": {"method": "elicitation/create"}},
}


def _sampled(
    exchange: Exchange, value: JsonObject, known: Known, path: Path
) -> list[RawDiagnostic]:
    return _placeholders(value.get("content"), (*path, "content")) + turn(
        exchange, value, known, path
    )


def _ended_task(
    _exchange: Exchange, value: JsonObject, _known: Known, path: Path
) -> list[RawDiagnostic]:
    return _placeholders(value.get("content"), (*path, "content"))


_RULES: Final[Mapping[str, Callable[[Exchange, JsonObject, Known, Path], list[RawDiagnostic]]]] = {
    "initialize": _initialize,
    "server/discover": _discover,
    "tools/list": tools,
    "tools/call": _call,
    "tasks/result": _ended_task,
    "tasks/get": _task_state,
    "resources/list": _resources,
    "resources/read": _read,
    "prompts/list": _prompts,
    "prompts/get": _get_prompt,
    "subscriptions/listen": listening,
    "sampling/createMessage": _sampled,
    "elicitation/create": filled_form,
}
