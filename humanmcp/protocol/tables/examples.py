"""The texts from which drafts start: an example of every result and error.

They are made of the examples in the table of objects. This module adds what no object contains: the
variants of a result, and the errors. The wording is this project's own; feel free to use and change
it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from humanmcp import __version__
from humanmcp.protocol.tables import methods, types, versions
from humanmcp.protocol.tables.objects import SHAPES
from humanmcp.protocol.tables.versions import (
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
    from collections.abc import Iterator, Mapping

    from humanmcp.protocol.json.jsonrpc import Json, JsonObject
    from humanmcp.protocol.tables.methods import Method
    from humanmcp.protocol.tables.types import Kind, Member

PLACEHOLDERS: Final = {"en": "Type the answer here.", "ja": "ここに回答を書いてください。"}
"""The placeholders of a draft, where a person must write. A draft with one cannot be sent."""

_PLACEHOLDER: Final = PLACEHOLDERS["en"]
_PIXEL: Final = (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9aw"
    "AAAABJRU5ErkJggg=="
)
_SILENCE: Final = "UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAIA+AAACABAAZGF0YQAAAAA="
_TODO: Final = {"uri": "file:///notes/todo.txt"}
_DRAWING: Final = {"uri": "file:///notes/pixel.png", "mimeType": "image/png", "blob": _PIXEL}
PAGE: Final = "page"
"""The variant of `resources/read` for a page of a tool."""
_PAGE: Final = """\
<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><title>My page</title></head>
<body>
<h1>Waiting for the result</h1>
<pre></pre>
<script>
// The page and its host talk in JSON-RPC, by messages between their windows.
const send = (message) => parent.postMessage({ jsonrpc: "2.0", ...message }, "*");
addEventListener("message", ({ data, source }) => {
  if (source !== parent) return;
  if (data.id === 1) send({ method: "ui/notifications/initialized" });
  if (data.method === "ui/notifications/tool-result") {
    document.querySelector("h1").textContent = "The result";
    const { structuredContent } = data.params;
    document.querySelector("pre").textContent = JSON.stringify(structuredContent, null, 2);
    const height = document.documentElement.scrollHeight;
    send({ method: "ui/notifications/size-changed", params: { width: innerWidth, height } });
  }
  if (data.method === "ui/resource-teardown") send({ id: data.id, result: {} });
});
const appInfo = { name: "my-page", version: "1.0.0" };
const params = { appInfo, appCapabilities: {}, protocolVersion: "2026-01-26" };
send({ id: 1, method: "ui/initialize", params });
</script>
</body>
</html>
"""
_SIGN_IN: Final = {
    "message": "Open this page and sign in, then come back.",
    "url": "https://example.com/sign-in",
}
NAMED: Final = {versions.META_SERVER: {"name": "humanmcp", "version": __version__}}
"""The `_meta` of a 2026-07-28 result: "Servers SHOULD include" their name in each."""
_ELICITATION: Final = "3f1c6f0e-5d0b-4d1e-9d54-2f1f6d1c9a10"


def example_of(kind: Kind, version: str, *, usual: bool = False) -> Json:  # noqa: PLR0911 - one arm a kind
    """Return a small value of a kind; with `usual`, also with the usual optional members."""
    match kind:
        case types.ListOf():
            return [example_of(kind.item, version, usual=usual)]
        case types.MapOf():
            return {}
        case types.ByMember():
            name, shape = next(iter(kind.shapes.items()))
            arm = example_of(shape, version, usual=usual)
            return arm if kind.usual else {**arm, kind.member: name}
        case types.ByPresence():
            return example_of(next(iter(kind.shapes.values())), version, usual=usual)
        case types.OneOf():
            return kind.values[0]
        case types.OneOrMany():
            return example_of(kind.item, version, usual=usual)
        case str():
            return {
                name: example(member, version, usual=usual)
                for name, member in SHAPES[kind].members.items()
                if version in member.required
                or (usual and member.example is not None and member.exists(version))
            }
        case _:
            return "…"


def example(member: Member, version: str, *, usual: bool = False) -> Json:
    """Return the example of a member: its own, or one made from its kind."""
    kind = member.kind(version)
    is_made = isinstance(kind.item if isinstance(kind, types.ListOf) else kind, str)
    own = member.example
    return example_of(kind, version, usual=usual) if own is None or (usual and is_made) else own


def _content(kind: str, /, **members: Json) -> JsonObject:
    """Return a tool result with one item of content."""
    return {"content": [{"type": kind, **members}]}


def _text(text: str, /, **members: Json) -> JsonObject:
    return {**_content("text", text=text), **members}


def _says(role: str, text: str) -> JsonObject:
    return {"role": role, "content": {"type": "text", "text": text}}


_HANDSHAKE: Final[Mapping[str, JsonObject]] = {
    "tools_only": {},
    "minimal": {"capabilities": {}},
    "typical": {},
}
_VARIANTS: Final[Mapping[str, Mapping[str, JsonObject]]] = {
    "initialize": _HANDSHAKE,
    "server/discover": _HANDSHAKE,
    "tools/list": {
        "with_output_schema": {
            "tools": [
                {
                    "name": "ask_human",
                    "inputSchema": {"type": "object"},
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
        "with_page": {
            "tools": [
                {
                    "name": "show_weather",
                    "inputSchema": {"type": "object"},
                    "_meta": {"ui": {"resourceUri": "ui://weather/page"}},
                }
            ]
        },
    },
    "tools/call": {
        "typical": _text(_PLACEHOLDER),
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
        "resource_link": _content(
            "resource_link", uri="file:///notes/plan.md", name="plan.md", mimeType="text/markdown"
        ),
        "structured": _text(
            '{"answer": "Yes, go ahead.", "confident": true}',
            structuredContent={"answer": "Yes, go ahead.", "confident": True},
        ),
        "structured_array": _text(
            "First tea, then coffee.",
            structuredContent=[{"rank": 1, "choice": "tea"}, {"rank": 2, "choice": "coffee"}],
        ),
    },
    "resources/read": {
        "minimal": {"contents": [{**_TODO, "text": ""}]},
        "typical": {"contents": [{**_TODO, "mimeType": "text/plain", "text": "- buy milk"}]},
        "blob": {"contents": [_DRAWING]},
        PAGE: {
            "contents": [
                {"uri": "ui://weather/page", "mimeType": "text/html;profile=mcp-app", "text": _PAGE}
            ]
        },
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
    "tasks/get": {
        "typical": {},
        "completed": {"status": "completed", "result": _text("done")},
        "failed": {"status": "failed", "error": {"code": -32603, "message": "Nobody is available"}},
    },
    "tasks/result": {
        "typical": {
            **_text(_PLACEHOLDER),
            "_meta": {versions.META_RELATED_TASK: {"taskId": "0b9a2c54"}},
        }
    },
    "tasks/cancel": {"typical": {"status": "cancelled", "statusMessage": "Cancelled on request."}},
    "skills/get": {"typical": {}},
    "resources/directory/read": {
        "typical": {
            "resources": [
                {"uri": "skill://summarise/SKILL.md", "name": "SKILL.md"},
                {
                    "uri": "skill://summarise/examples",
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
    "sampling/createMessage": {"typical": _says("assistant", _PLACEHOLDER)},
    "elicitation/create": {
        "accept": {"action": "accept", "content": {}},
        "decline": {"action": "decline"},
        "cancel": {"action": "cancel"},
    },
}
"""What each variant of a result has instead of the objects' examples, by method.

A draft starts from the first variant of a method.
"""


def _variants(method: Method) -> Mapping[str, JsonObject]:
    """Return the variants of a method's result; those of a list are its usual forms."""
    own = _VARIANTS.get(method.name, {})
    if method.listing is None:
        return own or {"minimal": {}}
    empty: JsonObject = {method.listing.member: []}
    return {"typical": {}, "empty": empty, "minimal": {}, "paged": {"nextCursor": "page-2"}, **own}


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
"""2026-07-28: `input_required` results instead of an answer."""

_SINCE: Final = {
    ("tools/call", "audio"): R2025_03,
    ("tools/call", "resource_link"): R2025_06,
    ("tools/call", "structured"): R2025_06,
    ("tools/call", "structured_array"): R2026_07,
    ("tools/list", "with_output_schema"): R2025_06,
    ("tools/list", "with_page"): R2025_06,
    ("tasks/get", "completed"): R2026_07,
    ("tasks/get", "failed"): R2026_07,
}
"""The variants that only some versions have."""


class _ErrorExample(NamedTuple):
    """An error, the methods that it answers (() for all), and the versions that have it."""

    code: int
    message: str
    data: JsonObject | None = None
    methods: tuple[str, ...] = ()
    versions: tuple[str, ...] = versions.ALL

    @property
    def body(self) -> JsonObject:
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


def each_result(method: str, version: str) -> Iterator[tuple[str, JsonObject]]:
    """Yield every example of a result of a version, by variant; a draft only needs the first."""
    record = methods.of(method)
    kind = record.result_in(version)
    before: list[JsonObject] = []
    for variant, other in _variants(record).items() if kind else ():
        if _SINCE.get((method, variant), R2024_11) <= version:
            whole = example_of(kind, version, usual=variant == "typical")
            made = dated(whole | _trimmed(other, kind, version), kind, version)
            if made not in before:
                yield variant, made
            before.append(made)
    if method in methods.TASKS.results_of and features(version).tasks:
        yield "task", _task(version)
    if features(version).input_required and record.asks_back:
        for variant, asking in _ASKING.items():
            yield variant, {"resultType": "input_required", **asking, "_meta": dict(NAMED)}


def named(server: Mapping[str, Json]) -> JsonObject:
    """Return the `_meta` of a 2026-07-28 result with our name, if the answer book has one."""
    return {versions.META_SERVER: dict(server)} if server else dict(NAMED)


def _task(version: str) -> JsonObject:
    if not features(version).result_types:
        return {"task": example_of("Task", version, usual=True)}
    task = example_of("TaskResult", version, usual=True)
    return {**task, "resultType": "task", "_meta": dict(NAMED)}


def errors(method: str, version: str) -> dict[str, JsonObject]:
    """Return every example of an error response to a method, by name."""
    found = {
        name: one.body
        for name, one in _ERRORS.items()
        if version in one.versions and (not one.methods or method in one.methods)
    }
    if "resource_not_found" in found:
        found["resource_not_found"]["code"] = features(version).resource_not_found
    return found


def dated(
    whole: JsonObject, kind: str, version: str, meta: Mapping[str, Json] = NAMED
) -> JsonObject:
    """Add the members that every 2026-07-28 result has; `meta` is its `_meta`."""
    shape = SHAPES.get(kind)
    if not features(version).result_types or not shape or "resultType" not in shape.members:
        return whole
    # "Servers SHOULD include […] in every result's `_meta`": the server's name, in each result.
    full = {"resultType": "complete", **whole, "_meta": {**meta, **whole.get("_meta", {})}}
    if "cacheScope" in shape.members and full["resultType"] == "complete":
        # 0 and private, because clients do cache, and a person changes answers.
        ttl, scope = whole.get("ttlMs", 0), whole.get("cacheScope", "private")
        full = {**full, "ttlMs": ttl, "cacheScope": scope}
    return full


def _trimmed(value: Json, kind: Kind, version: str) -> Json:
    """Remove from a value the members that a version does not have."""
    match kind:
        case str() if isinstance(value, dict):
            shape, kept = SHAPES[kind], {}
            for name, item in value.items():
                member = shape.members.get(name)
                if member is None and shape.open:
                    kept[name] = item
                elif member is not None and member.exists(version):
                    kept[name] = _trimmed(item, member.kind(version), version)
            return kept
        case types.ListOf() if isinstance(value, list):
            return [_trimmed(item, kind.item, version) for item in value]
        case _:
            return value
