"""Rules for tools and their results, for resources and lists, and for placeholders."""

from __future__ import annotations

import binascii
import json
from typing import TYPE_CHECKING, Final

from humanmcp.protocol.conversation.approvals import outcome_of_words, words_in
from humanmcp.protocol.diagnostics import kinds
from humanmcp.protocol.diagnostics.problem import (
    PLACEHOLDER,
    FixAction,
    FixKind,
    RawDiagnostic,
    delete,
    quoted,
    replace_with,
    shown,
)
from humanmcp.protocol.json.jsonrpc import as_json
from humanmcp.protocol.json.tree import array_at, follow, leaves, object_at
from humanmcp.protocol.json.undecoded import is_large
from humanmcp.protocol.tables import methods
from humanmcp.protocol.tables.examples import PLACEHOLDERS
from humanmcp.protocol.tables.versions import features
from humanmcp.protocol.validation.json_schema import validator
from humanmcp.protocol.validation.json_schema.references import misplaced_header
from humanmcp.protocol.validation.rules.registry import rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from humanmcp.protocol.conversation.exchange import Exchange
    from humanmcp.protocol.diagnostics.problem import Path
    from humanmcp.protocol.json.jsonrpc import Json, JsonObject
    from humanmcp.protocol.validation.rules.registry import JudgedAnswer

_OURS: Final = tuple(PLACEHOLDERS.values())
_TYPED: Final = f'"{PLACEHOLDER}"'
_ESCAPED: Final = json.dumps(PLACEHOLDER).strip('"')


@rule("tools/call", "tasks/result", "sampling/createMessage")
def words_of_the_draft(answer: JudgedAnswer) -> Iterator[RawDiagnostic]:
    """Check that the person replaced the placeholders of the draft."""
    if not answer.asks_back:
        yield from _left_in(answer.value.get("content"), answer.at("content"))


@rule("tools/call")
def no_message_as_text(answer: JudgedAnswer) -> Iterator[RawDiagnostic]:
    """Check that the only text of an answer is not a whole response, pasted into it."""
    content = answer.value.get("content")
    only = content[0] if isinstance(content, list) and len(content) == 1 else None
    text = only.get("text") if isinstance(only, dict) else None
    if not isinstance(text, str) or '"jsonrpc"' not in text or is_large(text):
        return
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return
    if isinstance(value, dict) and "jsonrpc" in value and {"result", "error"} & value.keys():
        fix = FixAction(FixKind.REPLACE, (), text.strip(), label="as message")
        yield kinds.message_as_text(answer.at("content", 0, "text"), fix)


@rule("prompts/get")
def words_of_a_prompt(answer: JudgedAnswer) -> Iterator[RawDiagnostic]:
    """Check that the person replaced the placeholders in the messages of a prompt."""
    for at, message in enumerate(array_at(answer.value, "messages")):
        if isinstance(message, dict):
            yield from _left_in(message.get("content"), answer.at("messages", at, "content"))


def _left_in(content: Json, path: Path) -> Iterator[RawDiagnostic]:
    """Yield the placeholders in content, alone or within a person's text."""
    for at, block in enumerate(content if isinstance(content, list) else [content]):
        text = block.get("text") if isinstance(block, dict) else None
        words = text.strip() if isinstance(text, str) else ""
        if words.startswith(_OURS) or words.endswith(_OURS):
            left = next(one for one in _OURS if words.startswith(one) or words.endswith(one))
            where = (*path, at) if isinstance(content, list) else path
            yield kinds.unfilled_placeholder((*where, "text"), text=left)


def unwritten(value: Json, path: Path, text: str) -> list[RawDiagnostic]:
    """Return the placeholders of a fix or an example that are left in a value.

    `text` is the JSON that contains the value: it is searched first, because placeholders are rare.
    """
    if _TYPED not in text and _ESCAPED not in text:
        return []
    left = [at for at, leaf in leaves(value, path) if leaf == PLACEHOLDER]
    return [kinds.unfilled_placeholder(at, text=PLACEHOLDER) for at in left]


# -- tools ---------------------------------------------------------------------------------------


@rule("tools/list")
def usable_schemas(answer: JudgedAnswer) -> Iterator[RawDiagnostic]:
    """Check the schemas of a tool.

    "MUST be a valid JSON Schema object (not `null`)".

    https://modelcontextprotocol.io/specification/2025-11-25/server/tools#tool
    """
    for index, tool in enumerate(array_at(answer.value, "tools")):
        for member in ("inputSchema", "outputSchema") if isinstance(tool, dict) else ():
            schema = tool.get(member)
            if isinstance(schema, dict):
                for found in _schema(answer.exchange, schema, answer.at("tools", index, member)):
                    is_unusable = found.kind is kinds.unusable_schema
                    more = (("member", member),) if is_unusable else ()
                    yield found._replace(detail=(*found.detail, *more))


def _schema(exchange: Exchange, schema: JsonObject, path: Path) -> list[RawDiagnostic]:
    required = schema.get("required")
    if "required" in schema and not isinstance(required, list):
        if not features(exchange.version).any_schema:
            return []  # the shape reports it
        at = (*path, "required")
        fix = replace_with(at, [required]) if isinstance(required, str) else None
        return [kinds.not_an_array(at, fix, key="required", got="text", example='["…"]')]
    trouble = validator.trouble_in(schema)
    if trouble is not None:
        return [trouble._replace(path=(*path, *trouble.path))]
    names = object_at(schema, "properties")
    missing = [each for each in required or () if isinstance(each, str) and each not in names]
    found = _headers(schema, path) if features(exchange.version).header_arguments else []
    if missing and "$ref" not in schema and "allOf" not in schema:
        found.append(kinds.required_without_property((*path, "required"), key=shown(missing[0])))
    return found


def _headers(schema: JsonObject, path: Path) -> list[RawDiagnostic]:
    """Check the headers for arguments of a tool (2026-07-28) and their names.

    "Clients using the Streamable HTTP transport MUST reject tool definitions where any
    `x-mcp-header` value violates these constraints."
    https://modelcontextprotocol.io/specification/2026-07-28/server/tools#x-mcp-header
    """
    wrong = misplaced_header(schema)
    if wrong is None:
        return []
    at, name = wrong
    return [kinds.invalid_argument_header((*path, *at), value=quoted(name))]


@rule("tools/call")
def structured_content(answer: JudgedAnswer) -> Iterator[RawDiagnostic]:
    """Check that the result of a tool fits its output schema. A tool error need not, but may fail.

    "Servers MUST provide structured results that conform to this schema."
    https://modelcontextprotocol.io/specification/2025-11-25/server/tools#output-schema
    """
    if not answer.negotiated.tools:
        return
    tool, is_error = answer.exchange.tool, answer.value.get("isError") is True
    schema = follow(answer.negotiated.tools.get(tool), "outputSchema")
    if schema is None or not _structures(answer):
        return
    if "structuredContent" in answer.value:
        structured, at = answer.value["structuredContent"], answer.at("structuredContent")
        kind = kinds.error_structure_mismatch if is_error else kinds.structured_content_mismatch
        yield from validator.first_found(kind, structured, schema, at)
    elif not is_error and not outcome_of_words(
        answer.exchange, words_in(answer.value), answer.negotiated
    ):
        yield kinds.missing_structured_content(answer.path, tool=shown(tool))


@rule("tools/call")
def structured_content_as_text(answer: JudgedAnswer) -> Iterator[RawDiagnostic]:
    """Check that structured content is also there as text, for models that read text.

    "a tool that returns structured content SHOULD also return the serialized JSON in a TextContent
    block" https://modelcontextprotocol.io/specification/2025-11-25/server/tools#structured-content
    """
    if "structuredContent" not in answer.value or answer.value.get("content") != []:
        return
    structured, at = answer.value["structuredContent"], answer.at("content")
    fitting = isinstance(structured, dict) or features(answer.exchange.version).any_schema
    if not fitting or not _structures(answer):
        return
    fix = None
    if not validator.is_large(structured):
        fix = replace_with(at, [{"type": "text", "text": as_json(structured)}])
    yield kinds.structured_content_without_text(at, fix)


def _structures(answer: JudgedAnswer) -> bool:
    """Return True if the result may have structured content: not `input_required`, not a task."""
    may = features(answer.exchange.version).structured_content
    is_task = "task" in answer.value or answer.value.get("resultType") == "task"
    return may and not answer.asks_back and not is_task


BEGINNINGS: Final = (
    ("image/png", b"\x89PNG"),
    ("image/jpeg", b"\xff\xd8\xff"),
    ("image/gif", b"GIF8"),
    ("image/webp", b"RIFF"),
    ("audio/wav", b"RIFF"),
    ("audio/ogg", b"OggS"),
    ("audio/flac", b"fLaC"),
    ("audio/mpeg", b"ID3"),
    ("audio/mpeg", b"\xff\xfb"),
)
"""The first bytes of files, by type. Other types are not checked."""
_RIFF: Final = {b"WEBP": "image/webp", b"WAVE": "audio/wav"}


def mime_of(content: bytes) -> str:
    """Return the type of an image or audio file by its first bytes; "" for other files."""
    if content.startswith(b"RIFF"):
        return _RIFF.get(content[8:12], "")
    return next((mime for mime, magic in BEGINNINGS if content.startswith(magic)), "")


@rule("tools/call")
def type_of_pictures(answer: JudgedAnswer) -> Iterator[RawDiagnostic]:
    """Check that images and audio begin like files of their stated type."""
    content = None if answer.asks_back else answer.value.get("content")
    for at, block in enumerate(content if isinstance(content, list) else []):
        if not isinstance(block, dict) or block.get("type") not in ("image", "audio"):
            continue
        said, encoded = block.get("mimeType"), block.get("data")
        begins = [magic for mime, magic in BEGINNINGS if mime == said]
        if not begins or not isinstance(encoded, str) or not encoded:
            continue
        try:
            first = binascii.a2b_base64(encoded[:24], strict_mode=True)
        except (binascii.Error, ValueError):
            continue  # the shape reports it
        if any(first.startswith(magic) for magic in begins):
            continue
        really = mime_of(first)
        where = answer.at("content", at, "mimeType")
        fix = replace_with(where, really) if really else None
        yield kinds.media_type_mismatch(where, fix, said=shown(str(said)), really=really or "?")


@rule("tools/call", errors=True)
def error_that_a_model_could_fix(answer: JudgedAnswer) -> Iterator[RawDiagnostic]:
    """Check that an error that a model can fix is a result with `isError`.

    "Tool Execution Errors contain actionable feedback that language models can use to self-correct"
    https://modelcontextprotocol.io/specification/2025-11-25/server/tools#error-handling
    """
    negotiated = answer.negotiated
    unknown = negotiated.tools is not None and answer.exchange.tool not in negotiated.tools
    code = answer.value.get("code")
    if code not in _NOT_FOR_A_MODEL and not unknown:
        yield kinds.error_hidden_from_model(answer.path)


_NOT_FOR_A_MODEL: Final = (-32700, -32600, -32601, -32603, -32042, -32021, -32022)


@rule(*(one.name for one in methods.LISTS))
def same_scope(answer: JudgedAnswer) -> Iterator[RawDiagnostic]:
    """Check that all pages of a list have the same `cacheScope`.

    "Servers **MUST** apply the same `cacheScope` to all response pages for a given list request."
    https://modelcontextprotocol.io/specification/2026-07-28/server/utilities/caching
    """
    first = answer.negotiated.cache_scopes.get(answer.exchange.method)
    scope, at = answer.value.get("cacheScope"), answer.at("cacheScope")
    is_later = "cursor" in answer.exchange.request.params
    if is_later and isinstance(scope, str) and isinstance(first, str) and scope != first:
        yield kinds.cache_scope_differs(at, replace_with(at, first), first=shown(first))


@rule()
def next_page(answer: JudgedAnswer) -> Iterator[RawDiagnostic]:
    """Check that the last page has no cursor, and that each page has a new one.

    "Clients SHOULD: Treat a missing `nextCursor` as the end of results"
    https://modelcontextprotocol.io/specification/2025-11-25/server/utilities/pagination
    """
    if "nextCursor" not in answer.value:
        return
    cursor, at = answer.value["nextCursor"], answer.at("nextCursor")
    if cursor == "":
        yield kinds.empty_cursor(at, delete(at))
    elif isinstance(cursor, str) and cursor == answer.exchange.request.params.get("cursor"):
        yield kinds.same_cursor(at, delete(at))


@rule(*(one.name for one in methods.LISTS))
def entries_apart(answer: JudgedAnswer) -> Iterator[RawDiagnostic]:
    """Check that no two entries have the same name or address: "Unique identifier for the tool".

    https://modelcontextprotocol.io/specification/2025-11-25/server/tools#tool
    """
    listing = methods.of(answer.exchange.method).listing
    items = answer.value.get(listing.member) if listing else None
    if listing is None or not isinstance(items, list):
        return
    seen: set[str] = set()
    for index, item in enumerate(items):
        own = item.get(listing.key) if isinstance(item, dict) else None
        if not isinstance(own, str):
            continue
        if own in seen:
            at = answer.at(listing.member, index, listing.key)
            yield kinds.duplicate_in_list(at, key=listing.key, value=shown(own))
        seen.add(own)


@rule("resources/read")
def something_read(answer: JudgedAnswer) -> Iterator[RawDiagnostic]:
    """Check that a missing resource is an error, not an empty list.

    "Servers SHOULD return standard JSON-RPC errors for common failure cases"
    https://modelcontextprotocol.io/specification/2025-11-25/server/resources#error-handling
    """
    if answer.value.get("contents") == [] and not answer.asks_back:
        code = features(answer.exchange.version).resource_not_found
        yield kinds.empty_contents(answer.at("contents"), instead=str(code))


@rule("resources/read")
def read_what_was_asked(answer: JudgedAnswer) -> Iterator[RawDiagnostic]:
    """Check that one of the addresses is the requested one."""
    contents, wanted = answer.value.get("contents"), answer.exchange.request.params.get("uri")
    if answer.asks_back or not isinstance(contents, list) or not isinstance(wanted, str):
        return
    uris = [each.get("uri") for each in contents if isinstance(each, dict)]
    if uris and not any(_within(uri, wanted) for uri in uris):
        at = answer.at("contents", 0, "uri")
        answered = shown(str(uris[0]))
        yield kinds.resource_uri_differs(
            at, replace_with(at, wanted), asked=shown(wanted), answered=answered
        )


def _within(uri: Json, wanted: str) -> bool:
    """Return True for a file in the requested folder: its address begins with the folder's."""
    return not isinstance(uri, str) or uri.startswith(wanted.rstrip("/"))
