"""Rules for MCP Apps: the pages of tools, and how tools and hosts name them.

https://github.com/modelcontextprotocol/ext-apps/blob/main/specification/2026-01-26/apps.mdx
"""

from __future__ import annotations

import binascii
import re
from typing import TYPE_CHECKING, Any, Final

from humanmcp.protocol.conversation.state import declared_by
from humanmcp.protocol.diagnostics import kinds
from humanmcp.protocol.diagnostics.problem import (
    RawDiagnostic,
    delete,
    insert,
    quoted,
    replace_with,
    shown,
)
from humanmcp.protocol.json.tree import array_at, follow, object_at, text_at
from humanmcp.protocol.tables.methods import APP_SCHEME, APPS
from humanmcp.protocol.tables.versions import META_CAPABILITIES, features
from humanmcp.protocol.validation.rules.registry import rule

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from humanmcp.protocol.diagnostics.problem import FixAction, Path
    from humanmcp.protocol.json.jsonrpc import Json
    from humanmcp.protocol.validation.rules.registry import JudgedAnswer

PAGE_TYPE: Final = "text/html;profile=mcp-app"
_LONG: Final = 1_000_000
"""Characters of a page to which nothing is added."""

_ADDRESSED: Final = {"resources": "uri", "resourceTemplates": "uriTemplate", "contents": "uri"}
_NEW: Final = ("_meta", "ui", "resourceUri")
_OLD: Final = ("_meta", "ui/resourceUri")
"""The members with a tool's page; the second is an older name."""


def page_of(tool: Json) -> str:
    """Return the URI of a tool's page, "" if it has none."""
    found = (follow(tool, *steps) for steps in (_NEW, _OLD))
    return next((one for one in found if isinstance(one, str)), "")


def _pages(answer: JudgedAnswer) -> Iterator[tuple[Path, Any]]:
    """Yield the place and value of each page in a list or in contents."""
    for member, key in _ADDRESSED.items():
        for index, one in enumerate(array_at(answer.value, member)):
            if text_at(one, key).startswith(APP_SCHEME):
                yield answer.at(member, index), one


@rule("resources/list", "resources/templates/list", "resources/read")
def pages_by_their_type(answer: JudgedAnswer) -> Iterator[RawDiagnostic]:
    """Check the `mimeType` of an app's page.

    "`mimeType` MUST be `text/html;profile=mcp-app` (other types reserved for future extensions)"
    """
    for path, one in _pages(answer):
        at, typed = (*path, "mimeType"), follow(one, "mimeType")
        if isinstance(typed, str) and typed != PAGE_TYPE:
            yield kinds.wrong_app_type(at, replace_with(at, PAGE_TYPE), wanted=PAGE_TYPE)
        elif typed is None and "contents" in path and "mimeType" not in one:
            yield kinds.wrong_app_type(path, insert(at, PAGE_TYPE), wanted=PAGE_TYPE)


@rule("resources/read")
def a_page_is_a_document(answer: JudgedAnswer) -> Iterator[RawDiagnostic]:
    """Check the content of a page: "Content MUST be valid HTML5 document".

    Only its beginning is judged.
    """
    for path, one in _pages(answer):
        member = "text" if isinstance(follow(one, "text"), str) else "blob"
        at, page = (*path, member), _content(one)
        if page is None:
            continue
        if not _DOCUMENT.match(page):
            is_ours = member == "text" and "<" in page and len(page) < _LONG
            fix = replace_with(at, f"<!doctype html>\n{page}", "insert") if is_ours else None
            yield kinds.not_a_document(at, fix)


_DOCUMENT: Final = re.compile(
    r"\ufeff?(?:\s|<!--.*?-->)*+<!doctype html\b", re.DOTALL | re.IGNORECASE
)


def _content(one: Json) -> str | None:
    """Return the text of a page, decoded if it is a `blob`; None if it cannot be read."""
    text, blob = follow(one, "text"), follow(one, "blob")
    if isinstance(text, str):
        return text
    try:
        return (
            binascii.a2b_base64(blob, strict_mode=True).decode() if isinstance(blob, str) else None
        )
    except (binascii.Error, ValueError):
        return None


@rule("resources/list", "resources/templates/list", "resources/read")
def domains_of_a_page(answer: JudgedAnswer) -> Iterator[RawDiagnostic]:
    """Check that the domains of a page are origins: "connectDomains?: string[]".

    "Host MUST construct CSP headers based on declared domains"
    """
    for path, one in _pages(answer):
        for member, domains in object_at(one, "_meta", "ui", "csp").items():
            at = (*path, "_meta", "ui", "csp", member)
            if member in _DOMAINS and not isinstance(domains, list):
                fix = replace_with(at, [domains], "wrap") if isinstance(domains, str) else None
                yield kinds.wrong_app_domain(at, fix, key=member, typed=quoted(domains))
                continue
            for index, domain in enumerate(domains if member in _DOMAINS else ()):
                if not (isinstance(domain, str) and _ORIGIN.fullmatch(domain)):
                    place = (*at, index)
                    fix = _origin_in(domain, place)
                    yield kinds.wrong_app_domain(place, fix, key=member, typed=quoted(domain))


_DOMAINS: Final = ("connectDomains", "resourceDomains", "frameDomains", "baseUriDomains")
_NAME: Final = r"(?:\*\.)?[A-Za-z0-9][A-Za-z0-9.-]{0,252}|\[[0-9A-Fa-f:.]{2,45}\]"
_HOST: Final = rf"(?:{_NAME})(?::(?:\d{{1,5}}|\*))?"
_ORIGIN: Final = re.compile(rf"(?:https?|wss?)://{_HOST}/?")
_WITHIN: Final = re.compile(rf"\s*((?:https?|wss?)://)?({_HOST})(?:[/?#][^\s;,]*)?\s*")


def _origin_in(typed: Json, at: Path) -> FixAction | None:
    """Return a fix that leaves only the origin of an address, or adds the scheme to a host."""
    found = _WITHIN.fullmatch(typed) if isinstance(typed, str) else None
    if found is None or "." not in found[2] + (found[1] or ""):
        return None
    return replace_with(at, f"{found[1] or 'https://'}{found[2]}")


@rule("tools/list")
def page_of_a_tool(answer: JudgedAnswer) -> Iterator[RawDiagnostic]:
    """Check how a tool names its page, and who sees the tool.

    "URI MUST start with `ui://` scheme". "The flat `_meta["ui/resourceUri"]` format is deprecated".
    "visibility?: Array<"model" | "app">".
    """
    for index, tool in enumerate(array_at(answer.value, "tools")):
        meta = object_at(tool, "_meta")
        if not meta:
            continue
        at = answer.at("tools", index, "_meta")
        for steps in (_NEW, _OLD):
            uri, place = follow(tool, *steps), (*at, *steps[1:])
            if uri is not None and not (isinstance(uri, str) and uri.startswith(APP_SCHEME)):
                yield kinds.not_a_ui_uri(place, typed=quoted(uri))
        if _OLD[1] in meta and follow(tool, *_NEW) is None:
            yield kinds.old_page_member((*at, _OLD[1]), _renewed(meta, at))
        seen = follow(meta, "ui", "visibility")
        if seen is None:
            continue
        place, listed = (*at, "ui", "visibility"), seen if isinstance(seen, list) else [seen]
        unknown = [one for one in listed if one not in _SEERS]
        if unknown:
            wrong = (*place, listed.index(unknown[0])) if listed is seen else place
            fix = delete(wrong) if listed is seen and len(listed) > len(unknown) else None
            yield kinds.wrong_visibility(wrong, fix, typed=quoted(unknown[0]))
        elif listed is not seen:
            yield kinds.wrong_visibility(place, replace_with(place, listed), typed=quoted(seen))


_SEERS: Final = ("model", "app")


def _renewed(meta: Mapping[str, Json], at: Path) -> FixAction | None:
    """Return a fix that names the page as `ui.resourceUri`; None if `ui` is something else."""
    ui = meta.get("ui", {})
    rest = {name: one for name, one in meta.items() if name != _OLD[1]}
    new = {"resourceUri": meta[_OLD[1]]}
    return replace_with(at, {**rest, "ui": {**ui, **new}}) if isinstance(ui, dict) else None


@rule("tools/list")
def client_shows_pages(answer: JudgedAnswer) -> Iterator[RawDiagnostic]:
    """Say that a client will show the text only.

    "Servers SHOULD check client capabilities before registering UI-enabled tools". In 2026-07-28,
    each request states them.
    """
    exchange, negotiated = answer.exchange, answer.negotiated
    stateless = features(exchange.version).stateless
    is_known = META_CAPABILITIES in exchange.request.meta if stateless else negotiated.client_name
    if not is_known or follow(declared_by(exchange, negotiated), "extensions", APPS.id) is not None:
        return
    for index, tool in enumerate(array_at(answer.value, "tools")):
        if page_of(tool):
            yield kinds.client_without_apps(answer.at("tools", index, "_meta"))
            return


@rule("tools/call")
def text_beside_the_page(answer: JudgedAnswer) -> Iterator[RawDiagnostic]:
    """Check that the model has something to read.

    "Tools MUST return meaningful content array even when UI is available"
    """
    tool = answer.exchange.tool
    declared = answer.negotiated.known_tools.get(tool)
    if declared is None or not page_of(declared):
        return
    content = answer.value.get("content")
    seen = array_at(declared, "_meta", "ui", "visibility") or _SEERS
    if not isinstance(content, list) or "model" not in seen:
        return
    if all(follow(one, "type") == "text" and not text_at(one, "text").strip() for one in content):
        yield kinds.page_without_text(answer.at("content"), tool=shown(tool))


@rule("resources/read", errors=True)
def named_page_exists(answer: JudgedAnswer) -> Iterator[RawDiagnostic]:
    """Check that the page of a tool can be read: "Resource MUST exist on the server"."""
    uri = answer.exchange.request.params.get("uri")
    for name, tool in answer.negotiated.known_tools.items():
        if uri and page_of(tool) == uri:
            yield kinds.page_of_tool_missing(answer.path, tool=shown(name))
            return
