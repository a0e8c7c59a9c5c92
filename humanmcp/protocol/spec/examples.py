"""The texts a person starts from: every result and error there is an example of.

Written once, in the words of the newest revision; what an older revision does not know is left out
with the help of the table of shapes. This project's own wording: take it, change it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from humanmcp import __version__
from humanmcp.protocol.spec import methods, types, versions
from humanmcp.protocol.spec.objects import SHAPES
from humanmcp.protocol.spec.versions import (
    HANDSHAKE,
    R2024_11,
    R2025_03,
    R2025_06,
    R2025_11,
    R2026_07,
    STATELESS,
    features,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from humanmcp.protocol.json.jsonrpc import Json, JsonObject
    from humanmcp.protocol.spec.types import Kind

PLACEHOLDERS: Final = {
    "en": "Type the answer here.",
    "ja": "ここに回答を書いてください。",
}
"""What a draft says where a person's own words belong. It cannot be sent untouched."""

_PLACEHOLDER: Final = PLACEHOLDERS["en"]
_PIXEL: Final = (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9aw"
    "AAAABJRU5ErkJggg=="
)
_SILENCE: Final = "UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAIA+AAACABAAZGF0YQAAAAA="
_TODO: Final = {"uri": "file:///notes/todo.txt"}
_PLAN: Final = {
    "uri": "file:///notes/plan.md",
    "name": "plan.md",
    "description": "The plan for this week",
    "mimeType": "text/markdown",
}
_SIGN_IN: Final = {
    "message": "Open this page and sign in, then come back.",
    "url": "https://example.com/sign-in",
}
_DRAWING: Final = {"uri": "file:///notes/pixel.png", "mimeType": "image/png", "blob": _PIXEL}
_NOW: Final = "2026-11-20T10:30:00Z"
_TASK: Final = {
    "taskId": "0b9a2c54-7c7e-4f5d-8a55-6f6f3f0f7d21",
    "status": "working",
    "statusMessage": "A person is working on it.",
    "createdAt": _NOW,
    "lastUpdatedAt": _NOW,
    "ttl": 60000,
    "pollInterval": 5000,
    "ttlMs": 60000,
    "pollIntervalMs": 5000,
}
_ASK_TOOL: Final = {
    "name": "ask_human",
    "title": "Ask the human",
    "description": "Ask a person a question and wait for the typed answer",
    "inputSchema": {
        "type": "object",
        "properties": {
            "question": {"type": "string", "description": "What the person should answer"}
        },
        "required": ["question"],
    },
    "annotations": {"readOnlyHint": True, "openWorldHint": True},
}
_SMALL_TOOL: Final = {"name": "ask_human", "inputSchema": {"type": "object"}}
_SKILL: Final = {
    "uri": "skill://ask-a-human/SKILL.md",
    "frontmatter": {
        "name": "ask-a-human",
        "description": "When to ask a person, and how to word the question",
    },
    "resources": "dynamic",
}
_OFFERED: Final = {
    "logging": {},
    "prompts": {"listChanged": True},
    "resources": {"subscribe": True, "listChanged": True},
    "tools": {"listChanged": True},
    "completions": {},
}
_SERVER: Final = {
    "name": "humanmcp",
    "title": "Human at the keyboard",
    "version": __version__,
    "description": "Every answer is typed by a person; expect replies in minutes.",
}
NAMED: Final = {versions.META_SERVER: {"name": "humanmcp", "version": __version__}}
"""The `_meta` of a result of 2026-07-28: "Servers SHOULD include" who they are in each."""
_ELICITATION: Final = "3f1c6f0e-5d0b-4d1e-9d54-2f1f6d1c9a10"
_PATIENCE: Final = (
    "A person answers every call. Send a progressToken and allow several minutes per call."
)


def _content(kind: str, /, **members: Json) -> JsonObject:
    """Write the result of a tool with one item of content."""
    return {"content": [{"type": kind, **members}]}


def _text(text: str, /, **members: Json) -> JsonObject:
    return {**_content("text", text=text), **members}


def _says(role: str, text: str) -> JsonObject:
    return {"role": role, "content": {"type": "text", "text": text}}


def _task_that(status: str, **members: Json) -> JsonObject:
    return {**_TASK, "status": status, **members}


_RESULTS: Final[Mapping[str, Mapping[str, JsonObject]]] = {
    "initialize": {
        "tools_only": {
            "protocolVersion": "",
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "humanmcp", "version": __version__},
        },
        "minimal": {
            "protocolVersion": "",
            "capabilities": {},
            "serverInfo": {"name": "humanmcp", "version": __version__},
        },
        "typical": {
            "protocolVersion": "",
            "capabilities": _OFFERED,
            "serverInfo": _SERVER,
            "instructions": _PATIENCE,
        },
    },
    "server/discover": {
        "tools_only": {
            "supportedVersions": [R2026_07],
            "capabilities": {"tools": {}},
        },
        "minimal": {"supportedVersions": [R2026_07], "capabilities": {}},
        "typical": {
            "supportedVersions": [R2026_07],
            "capabilities": {k: v for k, v in _OFFERED.items() if k != "logging"},
            "instructions": _PATIENCE,
            "_meta": {versions.META_SERVER: _SERVER},
        },
    },
    **{
        name: {"minimal": {}}
        for name, one in sorted(methods.REQUESTS.items())
        if one.result == "EmptyResult"
    },
    "tools/list": {
        "typical": {
            "tools": [
                _ASK_TOOL,
                {
                    "name": "is_anyone_there",
                    "description": "Says whether a person is at the keyboard",
                    "inputSchema": {"type": "object", "additionalProperties": False},
                },
            ]
        },
        "empty": {"tools": []},
        "minimal": {"tools": [_SMALL_TOOL]},
        "paged": {"tools": [_SMALL_TOOL], "nextCursor": "page-2"},
        "with_output_schema": {
            "tools": [
                {
                    **_ASK_TOOL,
                    "outputSchema": {
                        "type": "object",
                        "properties": {
                            "answer": {"type": "string"},
                            "confident": {"type": "boolean"},
                        },
                        "required": ["answer"],
                    },
                }
            ]
        },
    },
    "tools/call": {
        "typical": _text(_PLACEHOLDER, isError=False),
        "minimal": {"content": []},
        "text": _text(""),
        "tool_error": _text(
            "That date is in the past. Call again with a date after today.", isError=True
        ),
        "declined": _text(
            "The person declined to answer this call. Do not retry without asking them first.",
            isError=True,
        ),
        "image": _content("image", data=_PIXEL, mimeType="image/png"),
        "embedded_resource": _content(
            "resource", resource={**_TODO, "mimeType": "text/plain", "text": "- buy milk"}
        ),
        "embedded_blob": _content("resource", resource=_DRAWING),
        "audio": _content("audio", data=_SILENCE, mimeType="audio/wav"),
        "resource_link": _content("resource_link", **_PLAN),
        "structured": _text(
            '{"answer": "Yes, go ahead.", "confident": true}',
            structuredContent={"answer": "Yes, go ahead.", "confident": True},
        ),
        "structured_array": _text(
            "First tea, then coffee.",
            structuredContent=[{"rank": 1, "choice": "tea"}, {"rank": 2, "choice": "coffee"}],
        ),
        "task": {"task": _TASK},
    },
    "resources/list": {
        "typical": {"resources": [{**_PLAN, "title": "Plan"}]},
        "empty": {"resources": []},
        "minimal": {"resources": [{**_TODO, "name": "todo.txt"}]},
        "paged": {"resources": [{**_TODO, "name": "todo.txt"}], "nextCursor": "page-2"},
    },
    "resources/templates/list": {
        "typical": {
            "resourceTemplates": [
                {
                    "uriTemplate": "file:///notes/{name}",
                    "name": "notes",
                    "title": "Notes",
                    "description": "Any note by its file name",
                    "mimeType": "text/plain",
                }
            ]
        },
        "empty": {"resourceTemplates": []},
        "minimal": {
            "resourceTemplates": [{"uriTemplate": "file:///notes/{name}", "name": "notes"}]
        },
    },
    "resources/read": {
        "minimal": {"contents": [{**_TODO, "text": ""}]},
        "typical": {
            "contents": [
                {
                    "uri": _PLAN["uri"],
                    "mimeType": "text/markdown",
                    "text": "# Plan\n\n1. Measure\n2. Decide",
                }
            ]
        },
        "blob": {"contents": [_DRAWING]},
    },
    "prompts/list": {
        "typical": {
            "prompts": [
                {
                    "name": "summarise",
                    "title": "Summarise a text",
                    "description": "Asks for a short summary",
                    "arguments": [
                        {"name": "text", "description": "What to summarise", "required": True}
                    ],
                }
            ]
        },
        "empty": {"prompts": []},
        "minimal": {"prompts": [{"name": "summarise"}]},
    },
    "prompts/get": {
        "typical": {"messages": [_says("user", _PLACEHOLDER)]},
        "minimal": {"messages": [_says("user", "")]},
        "empty": {"messages": []},
    },
    "completion/complete": {
        "minimal": {"completion": {"values": []}},
        "typical": {
            "completion": {"values": ["red", "green", "blue"], "total": 12, "hasMore": True}
        },
        "complete_list": {"completion": {"values": ["red"], "total": 1, "hasMore": False}},
    },
    "subscriptions/listen": {"minimal": {"_meta": {versions.META_SUBSCRIPTION: 1}}},
    "tasks/get": {
        "typical": _TASK,
        "completed": _task_that("completed", result=_text("done", isError=False)),
        "failed": _task_that("failed", error={"code": -32603, "message": "Nobody is available"}),
    },
    "tasks/result": {
        "typical": _text(
            _PLACEHOLDER,
            isError=False,
            _meta={versions.META_RELATED_TASK: {"taskId": _TASK["taskId"]}},
        ),
    },
    "tasks/list": {"typical": {"tasks": [_TASK]}, "minimal": {"tasks": []}},
    "tasks/cancel": {"typical": _task_that("cancelled", statusMessage="Cancelled on request.")},
    "tasks/update": {"minimal": {}},
    "skills/list": {
        "typical": {"skills": [_SKILL]},
        "empty": {"skills": []},
    },
    "skills/get": {"typical": {"skill": _SKILL}},
    "resources/directory/read": {
        "typical": {
            "resources": [
                {
                    "uri": "skill://ask-a-human/SKILL.md",
                    "name": "SKILL.md",
                    "mimeType": "text/markdown",
                },
                {
                    "uri": "skill://ask-a-human/examples",
                    "name": "examples",
                    "mimeType": "inode/directory",
                },
            ]
        },
        "empty": {"resources": []},
    },
    "roots/list": {
        "typical": {"roots": [{"uri": "file:///home/me/project", "name": "project"}]},
        "empty": {"roots": []},
    },
    "sampling/createMessage": {
        "typical": {
            **_says("assistant", _PLACEHOLDER),
            "model": "a person",
            "stopReason": "endTurn",
        },
    },
    "elicitation/create": {
        "accept": {"action": "accept", "content": {}},
        "decline": {"action": "decline"},
        "cancel": {"action": "cancel"},
    },
}
"""By method and variant; the first variant of a method is what a draft starts from."""


def _asks(name: str, method: str, **params: Json) -> JsonObject:
    asked = {"method": method, **({"params": params} if params else {})}
    return {"inputRequests": {name: asked}}


_ASKING: Final[Mapping[str, JsonObject]] = {
    "input_required_form": _asks(
        "branch",
        "elicitation/create",
        mode="form",
        message="Which branch should be used?",
        requestedSchema={
            "type": "object",
            "properties": {"branch": {"type": "string", "title": "Branch"}},
            "required": ["branch"],
        },
    ),
    "input_required_url": _asks("sign_in", "elicitation/create", mode="url", **_SIGN_IN),
    "input_required_sampling": _asks(
        "summary",
        "sampling/createMessage",
        messages=[_says("user", "Summarise the change in one line.")],
        systemPrompt="Be brief.",
        maxTokens=200,
    ),
    "input_required_roots": _asks("client_roots", "roots/list"),
    "input_required_state_only": {"requestState": "opaque-1"},
}
"""2026-07-28: questions back to the user in the place of an answer."""

_SINCE: Final = {
    ("tools/call", "audio"): R2025_03,
    ("tools/call", "resource_link"): R2025_06,
    ("tools/call", "structured"): R2025_06,
    ("tools/call", "structured_array"): R2026_07,
    ("tools/call", "task"): R2025_11,
    ("tools/list", "with_output_schema"): R2025_06,
    ("tasks/get", "completed"): R2026_07,
    ("tasks/get", "failed"): R2026_07,
}
"""The variants that not every revision has."""


class _ErrorExample(NamedTuple):
    """An error, the methods that it answers (none: all), and the versions that have it."""

    code: int
    message: str
    data: JsonObject | None = None
    methods: tuple[str, ...] = ()
    versions: tuple[str, ...] = versions.ALL

    @property
    def body(self) -> JsonObject:
        """Return what stands after `"error":`."""
        body: JsonObject = {"code": self.code, "message": self.message}
        return body if self.data is None else {**body, "data": self.data}


_PAGED: Final = tuple(one.name for one in methods.REQUESTS.values() if one.params == "PageParams")
_ASK_BACK: Final = tuple(one.name for one in methods.REQUESTS.values() if one.asks_back)

_ERRORS: Final[Mapping[str, _ErrorExample]] = {
    "method_not_found": _ErrorExample(-32601, "Method not found"),
    "unknown_tool": _ErrorExample(-32602, "Unknown tool: no_such_tool", methods=("tools/call",)),
    "unknown_prompt": _ErrorExample(
        -32602, "Unknown prompt: no_such_prompt", methods=("prompts/get",)
    ),
    "invalid_cursor": _ErrorExample(-32602, "Invalid cursor", methods=_PAGED),
    "resource_not_found": _ErrorExample(
        -32002, "Resource not found", {"uri": ""}, ("resources/read",)
    ),
    "unsupported_protocol_version_initialize": _ErrorExample(
        -32602,
        "Unsupported protocol version",
        {"supported": [R2024_11], "requested": "1.0.0"},
        ("initialize",),
        HANDSHAKE,
    ),
    "url_elicitation_required": _ErrorExample(
        -32042,
        "Sign in first",
        {"elicitations": [{"mode": "url", "elicitationId": _ELICITATION, **_SIGN_IN}]},
        versions=(R2025_11,),
    ),
    "unsupported_protocol_version": _ErrorExample(
        -32022,
        "Unsupported protocol version",
        {"supported": [R2026_07], "requested": "1900-01-01"},
        versions=STATELESS,
    ),
    "missing_client_capability": _ErrorExample(
        -32021,
        "This request needs a client that supports elicitation",
        {"requiredCapabilities": {"elicitation": {}}},
        _ASK_BACK,
        STATELESS,
    ),
    "invalid_params": _ErrorExample(-32602, "Invalid params"),
    "invalid_request": _ErrorExample(-32600, "Invalid Request"),
    "internal_error": _ErrorExample(-32603, "Internal error"),
    "declined_by_person": _ErrorExample(1, "The person declined to answer this request"),
    "nobody_answered": _ErrorExample(2, "No person answered in time", {"waitedSeconds": 300}),
}


def results(method: str, revision: str) -> dict[str, JsonObject]:
    """Return every example of a result, by variant, right for one revision."""
    kind = methods.of(method).result_in(revision)
    if not kind:
        return {}
    found: dict[str, JsonObject] = {}
    for variant, whole in _RESULTS[method].items():
        if _SINCE.get((method, variant), R2024_11) > revision:
            continue
        if variant == "task":
            found[variant] = _task(whole, revision)
        else:
            found[variant] = _trimmed(dated(whole, kind, revision), kind, revision)
    if features(revision).input_required and methods.of(method).asks_back:
        for variant, asking in _ASKING.items():
            found[variant] = {"resultType": "input_required", **asking, "_meta": dict(NAMED)}
    return found


def named(server: Mapping[str, Json]) -> JsonObject:
    """Return the `_meta` of a result of 2026-07-28: who we are, if the answer book says it."""
    return {versions.META_SERVER: dict(server)} if server else dict(NAMED)


def _task(whole: JsonObject, revision: str) -> JsonObject:
    task = _trimmed(whole["task"], "Task", revision)
    if not features(revision).result_types:
        return {"task": task}
    return {"resultType": "task", **task, "_meta": dict(NAMED)}


def errors(method: str, revision: str) -> dict[str, JsonObject]:
    """Return every example of an error that could answer a method, by name."""
    found = {
        name: one.body
        for name, one in _ERRORS.items()
        if revision in one.versions and (not one.methods or method in one.methods)
    }
    if "resource_not_found" in found:
        found["resource_not_found"]["code"] = features(revision).resource_not_found
    return found


def lacking(key: str) -> JsonObject:
    """Return the error that answers a request without a member that its `_meta` must have."""
    return {"code": -32602, "message": f"Invalid params: _meta lacks {key}"}


def dated(
    whole: JsonObject, kind: str, revision: str, meta: Mapping[str, Json] = NAMED
) -> JsonObject:
    """Add what results of 2026-07-28 carry in any case; `meta` says who gives them."""
    shape = SHAPES.get(kind)
    if not features(revision).result_types or not shape or "resultType" not in shape.members:
        return whole
    # "Servers SHOULD include […] in every result's `_meta`": who answers, in each answer by itself.
    full = {"resultType": "complete", **whole, "_meta": {**meta, **whole.get("_meta", {})}}
    if "ttlMs" in shape.members and full["resultType"] == "complete":
        # 0 and private, because clients really cache and a person changes answers.
        full = {**full, "ttlMs": 0, "cacheScope": "private"} | {
            name: whole[name] for name in ("ttlMs", "cacheScope") if name in whole
        }
    return full


def _trimmed(value: Json, kind: Kind, revision: str) -> Json:
    """Leave out of a value what a revision does not know."""
    match kind:
        case str() if isinstance(value, dict):
            shape, kept = SHAPES[kind], {}
            for name, item in value.items():
                member = shape.members.get(name)
                if member is None and shape.open:
                    kept[name] = item
                elif member is not None and member.exists(revision):
                    kept[name] = _trimmed(item, member.kind(revision), revision)
            return kept
        case types.Many() if isinstance(value, list):
            return [_trimmed(item, kind.item, revision) for item in value]
        case _:
            return value
