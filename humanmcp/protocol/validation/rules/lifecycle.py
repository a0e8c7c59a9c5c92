"""Rules for the handshake, tasks, subscriptions and skills."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from humanmcp.protocol.diagnostics import kinds
from humanmcp.protocol.diagnostics.problem import (
    RawDiagnostic,
    delete,
    insert,
    quoted,
    rename_to,
    replace_with,
    shown,
)
from humanmcp.protocol.json.jsonrpc import as_json
from humanmcp.protocol.json.spelling import meant_by
from humanmcp.protocol.json.tree import array_at, follow, object_at
from humanmcp.protocol.tables import methods, versions
from humanmcp.protocol.tables.objects import SHAPES
from humanmcp.protocol.tables.versions import features
from humanmcp.protocol.validation.rules.registry import rule
from humanmcp.protocol.validation.shape_checker import name_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from humanmcp.protocol.diagnostics.problem import Path
    from humanmcp.protocol.json.jsonrpc import Json
    from humanmcp.protocol.validation.rules.registry import JudgedAnswer


@rule("initialize")
def agreed_version(answer: JudgedAnswer) -> Iterator[RawDiagnostic]:
    """Check that the version is the requested one, or another existing one.

    "If the server supports the requested protocol version, it MUST respond with the same version."
    https://modelcontextprotocol.io/specification/2025-11-25/basic/lifecycle#version-negotiation
    """
    typed = answer.value.get("protocolVersion")
    wanted = answer.exchange.request.params.get("protocolVersion")
    at, speaks = answer.at("protocolVersion"), wanted in versions.HANDSHAKE
    if speaks and typed is None and meant_by("protocolVersion", answer.value) is None:
        example = as_json(wanted)
        fix, where = insert(at, wanted), name_of(answer.path)
        yield kinds.missing_member(
            answer.path, fix, key="protocolVersion", example=example, where=where
        )
    if not isinstance(typed, str):
        return
    if typed not in versions.HANDSHAKE:
        meant = wanted if speaks else versions.LATEST_HANDSHAKE
        allowed = ", ".join(versions.HANDSHAKE)
        yield kinds.invalid_protocol_version(
            at, replace_with(at, meant), value=shown(typed), allowed=allowed
        )
    elif speaks and typed != wanted:
        yield kinds.protocol_version_differs(
            at, replace_with(at, wanted), asked=str(wanted), answered=typed
        )


@rule("initialize", errors=True)
def version_of_the_server(answer: JudgedAnswer) -> Iterator[RawDiagnostic]:
    """Check that the server does not refuse a version, but names its own.

    "Otherwise, the server MUST respond with another protocol version it supports."
    https://modelcontextprotocol.io/specification/2025-11-25/basic/lifecycle#version-negotiation
    """
    if "version" in as_json(answer.value).lower():
        yield kinds.version_refused(answer.path)


@rule("initialize", "server/discover")
def name_of_completions(answer: JudgedAnswer) -> Iterator[RawDiagnostic]:
    """Check the name of the capability `completions`; the method is `completion/complete`.

    https://modelcontextprotocol.io/specification/2025-11-25/server/utilities/completion#capabilities
    """
    declared, at = answer.value.get("capabilities"), answer.at("capabilities", "completion")
    if not isinstance(declared, dict) or "completion" not in declared:
        return
    if features(answer.exchange.version).completions and "completions" not in declared:
        yield kinds.old_completions_name(at, rename_to(at, "completions"), at_name=True)


@rule("initialize")
def capabilities_in_their_place(answer: JudgedAnswer) -> Iterator[RawDiagnostic]:
    """Check that capabilities are in `capabilities`, not beside it or in `serverInfo`.

    https://modelcontextprotocol.io/specification/2025-11-25/basic/lifecycle#initialization
    """
    server, declared = answer.value.get("serverInfo"), answer.value.get("capabilities")
    if isinstance(server, dict) and "capabilities" in server:
        at = answer.at("serverInfo", "capabilities")
        there = object_at(server, "capabilities")
        only = [name for name in there if name not in object_at(declared)]
        names = shown(", ".join(only)) or "?"
        yield kinds.capabilities_in_server_info(at, delete(at), at_name=True, only=names)
    for name in SHAPES["ServerCapabilities"].members:
        if name in answer.value:
            at = answer.at(name)
            yield kinds.misplaced_capability(at, delete(at), at_name=True, key=name)


@rule("initialize")
def name_of_the_server(answer: JudgedAnswer) -> Iterator[RawDiagnostic]:
    """Check that the server's name does not contain "client"."""
    name = follow(answer.value, "serverInfo", "name")
    if isinstance(name, str) and "client" in name.lower():
        yield kinds.server_named_as_client(answer.at("serverInfo", "name"), value=shown(name))


@rule("server/discover")
def versions_that_there_are(answer: JudgedAnswer) -> Iterator[RawDiagnostic]:
    """Check that the server names existing versions that a request can state.

    https://modelcontextprotocol.io/specification/2026-07-28/server/discover
    """
    named, at = answer.value.get("supportedVersions"), answer.at("supportedVersions")
    if not isinstance(named, list):
        return
    fix = replace_with(at, list(versions.STATELESS))
    unknown = [each for each in named if isinstance(each, str) and each not in versions.ALL]
    if not named:
        yield kinds.no_supported_versions(at, fix)
    elif unknown or not any(each in versions.STATELESS for each in named):
        wrong = shown(as_json(unknown or named))
        yield kinds.unusual_supported_versions(
            at, fix, value=wrong, allowed=", ".join(versions.ALL)
        )


# -- tasks and subscriptions --------------------------------------------------------------------

_HOLDS: Final[Mapping[str, tuple[str, Json]]] = {
    "completed": ("result", {"content": []}),
    "failed": ("error", {"code": -32603, "message": "…"}),
    "input_required": ("inputRequests", {"answer": {"method": "elicitation/create"}}),
}
"""The required member of a task by its status, and an example of it."""


@rule("tasks/get")
def outcome_beside_status(answer: JudgedAnswer) -> Iterator[RawDiagnostic]:
    """Check that a task has the result, error or requests that its status requires.

    https://modelcontextprotocol.io/extensions/tasks/overview
    """
    status = answer.value.get("status")
    needed = _HOLDS.get(status) if isinstance(status, str) else None
    if not features(answer.exchange.version).result_types or needed is None:
        return
    name, example = needed
    if name not in answer.value:
        yield kinds.missing_member(answer.path, key=name, example=as_json(example), where="result")


@rule("subscriptions/listen")
def own_subscription(answer: JudgedAnswer) -> Iterator[RawDiagnostic]:
    """Check that the subscription id is the id of the request, with the same type.

    https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/subscriptions
    """
    meta = object_at(answer.value, "_meta")
    if versions.META_SUBSCRIPTION not in meta:
        return
    typed, wanted = meta[versions.META_SUBSCRIPTION], answer.exchange.id.value
    if type(typed) is not type(wanted) or typed != wanted:
        at = answer.at("_meta", versions.META_SUBSCRIPTION)
        own = shown(answer.exchange.id.token)
        yield kinds.wrong_subscription_id(at, replace_with(at, wanted), typed=quoted(typed), id=own)


# -- skills --------------------------------------------------------------------------------------

MOST_FILES: Final = 512
MOST_BYTES: Final = 16 * 1024 * 1024
"""The limits of one skill: "Servers **SHOULD NOT** serve a skill that exceeds either limit." """
_OWN_FILE: Final = "/SKILL.md"


@rule("skills/list", "skills/get")
def whole_skills(answer: JudgedAnswer) -> Iterator[RawDiagnostic]:
    """Check the address of a skill, and its list of files.

    "The final `<skill-path>` segment of the entry's `uri` **MUST** equal `frontmatter.name`" and
    "it **MUST** be complete. It lists every file of the skill, each exactly once, including an
    entry whose `uri` equals the skill's top-level `uri`."
    https://github.com/modelcontextprotocol/ext-skills/blob/main/specification/stable/skills.mdx
    """
    listed = enumerate(array_at(answer.value, "skills"))
    entries = [(answer.at("skills", at), skill) for at, skill in listed]
    for path, skill in [*entries, (answer.at("skill"), answer.value.get("skill"))]:
        uri = follow(skill, "uri")
        if isinstance(uri, str):
            yield from _path(uri, follow(skill, "frontmatter", "name"), path)
            yield from _files(uri, follow(skill, "resources"), (*path, "resources"))


def _path(uri: str, name: Json, path: Path) -> Iterator[RawDiagnostic]:
    if not isinstance(name, str) or not name:
        return
    folder = uri.removesuffix(_OWN_FILE)
    if folder == uri or folder.rpartition("/")[2] != name:
        yield kinds.wrong_skill_uri((*path, "uri"), name=shown(name))


def _files(uri: str, files: Json, path: Path) -> Iterator[RawDiagnostic]:
    if not isinstance(files, list):
        return
    uris = [each for each in (follow(one, "uri") for one in files) if isinstance(each, str)]
    if uri not in uris:
        fix = None if files else replace_with(path, "dynamic")
        yield kinds.missing_skill_file(path, fix, uri=shown(uri))
    folder = uri.removesuffix(_OWN_FILE) + "/"
    seen: set[str] = set()
    for at, one in enumerate(files):
        each = follow(one, "uri")
        if not isinstance(each, str):
            continue
        if each in seen:
            yield kinds.duplicate_in_list((*path, at, "uri"), key="uri", value=shown(each))
        elif not each.startswith(folder):
            yield kinds.skill_file_outside(
                (*path, at, "uri"), uri=shown(each), folder=shown(folder)
            )
        seen.add(each)
    if len(files) > MOST_FILES:
        yield kinds.too_many_skill_files(path, count=str(len(files)), limit=str(MOST_FILES))
    sizes = [follow(one, "size") for one in files]
    size = sum(one for one in sizes if type(one) is int)
    if size > MOST_BYTES:
        yield kinds.skill_too_large(path, size=str(size), limit=str(MOST_BYTES))


@rule("initialize", "server/discover")
def skills_with_resources(answer: JudgedAnswer) -> Iterator[RawDiagnostic]:
    """Check that a server with skills declares resources.

    "A server declaring this extension therefore **MUST** also declare the `resources` capability."
    https://github.com/modelcontextprotocol/ext-skills/blob/main/specification/stable/skills.mdx
    """
    declared = answer.value.get("capabilities")
    if not isinstance(declared, dict) or "resources" in declared:
        return
    if follow(declared, "extensions", methods.SKILLS.id) is not None:
        at = answer.at("capabilities", "resources")
        yield kinds.skills_without_resources(answer.at("capabilities"), insert(at, {}))
