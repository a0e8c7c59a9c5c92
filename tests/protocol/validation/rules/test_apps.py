"""What MCP Apps ask of answers: of pages, of the tools that name them, and of their results."""

import base64
import json
from typing import Any

import pytest

from humanmcp.protocol.conversation.exchange import NOTHING_ESTABLISHED, NegotiatedState
from humanmcp.protocol.diagnostics.model import TextForm
from humanmcp.protocol.validation import check as draft_check
from tests.support.verdicts import R2024, R2025, R2026, asked, check, codes, stating

APP = "text/html;profile=mcp-app"
URI = "ui://a/b"
PAGE = "<!doctype html><title>a</title>"
TOOL: dict[str, Any] = {
    "name": "show",
    "inputSchema": {"type": "object"},
    "_meta": {"ui": {"resourceUri": URI}},
}
UI = {"extensions": {"io.modelcontextprotocol/ui": {"mimeTypes": [APP]}}}


def judged(
    method: str, result: dict[str, Any], negotiated: NegotiatedState = NOTHING_ESTABLISHED
) -> list[tuple[str, str, Any]]:
    """List what is said of a result: the code, the pointer, and the result with the fix."""
    params = {"uri": URI} if "read" in method else {"name": "show"}
    text = json.dumps(result)
    found = check(asked(method, params), text, TextForm.RESULT, negotiated).diagnostics
    return [
        (one.code, one.pointer.removeprefix("/result"), one.fix and json.loads(one.fix.apply(text)))
        for one in found
    ]


def read(**members: Any) -> list[tuple[str, str, Any]]:  # noqa: ANN401 - any JSON value
    """List what is said of a page: the fix is that of the page."""
    found = judged("resources/read", {"contents": [{"uri": URI, "mimeType": APP, **members}]})
    return [
        (code, at.removeprefix("/contents/0"), fix and fix["contents"][0])
        for code, at, fix in found
    ]


@pytest.mark.parametrize(
    ("uri", "mime", "found"),
    [
        ("ui://a/b", {"mimeType": APP}, []),
        ("ui://a/b", {"mimeType": "text/html"}, ["M106"]),
        ("ui://a/b", {}, ["M106"]),
        ("file:///b", {"mimeType": "text/html"}, []),
    ],
)
def test_a_page_of_an_app_says_that_it_is_one(
    uri: str, mime: dict[str, str], found: list[str]
) -> None:
    """Where it is read, and where it is listed with a type."""
    exchange = asked("resources/read", {"uri": uri})
    text = json.dumps({"contents": [{"uri": uri, "text": PAGE, **mime}]})
    verdict = check(exchange, text, TextForm.RESULT)
    assert codes(verdict.diagnostics) == found
    for fix in (one.fix for one in verdict.diagnostics):
        assert fix is not None
        assert json.loads(fix.apply(text))["contents"][0]["mimeType"] == APP
    listed = json.dumps({"resources": [{"uri": uri, "name": "a", **mime}]})
    told = codes(check(asked("resources/list"), listed, TextForm.RESULT).diagnostics)
    assert told == (found if mime else [])


@pytest.mark.parametrize(
    ("meta", "found"),
    [
        ({"ui": {"resourceUri": "ui://a"}}, []),
        ({"ui": {"visibility": ["app"]}}, []),
        ({"ui": {"resourceUri": "https://a"}}, ["M107"]),
        ({"ui": {"resourceUri": 5}}, ["M107"]),
        ({"ui/resourceUri": "a.html"}, ["M107", "M145"]),
        ({"ui": "ui://a"}, []),
    ],
)
def test_a_tool_names_its_page_by_its_scheme(meta: dict[str, Any], found: list[str]) -> None:
    """The older spelling, too."""
    tool = {"name": "a", "inputSchema": {"type": "object"}, "_meta": meta}
    text = json.dumps({"tools": [tool]})
    assert codes(check(asked("tools/list"), text, TextForm.RESULT).diagnostics) == found


@pytest.mark.parametrize(
    ("members", "found"),
    [
        ({"text": PAGE}, []),
        ({"text": "\ufeff <!-- a --> <!-- b -->\n<!DOCTYPE HTML>"}, []),
        ({"blob": base64.b64encode(PAGE.encode()).decode()}, []),
        ({"text": "sunny"}, ["M142"]),
        ({"text": "<p>sunny"}, ["M142"]),
        ({"text": "<!-- <!doctype html> -->"}, ["M142"]),
        ({"text": "<!-- a --><p><!-- --><!doctype html>"}, ["M142"]),
        ({"text": "<!doctype htmlx>"}, ["M142"]),
        ({"text": ""}, ["M142"]),
        ({"blob": base64.b64encode(b"<p>").decode()}, ["M142"]),
        ({"blob": base64.b64encode(b"\xff").decode()}, []),  # what it shows is not known
        ({"text": PAGE + "x" * 1_000_000}, ["J40"]),
        ({}, ["M27"]),
        ({"text": PAGE, "blob": "AAAA"}, ["M28"]),
    ],
)
def test_a_page_is_one_document(members: dict[str, str], found: list[str]) -> None:
    """The fix adds the first line, where there is a page below it."""
    said = read(**members)
    assert [code for code, _, _ in said] == found
    text = members.get("text", "")
    fixed = [f"<!doctype html>\n{text}" if "<" in text else None]
    assert [one and one["text"] for code, _, one in said if code == "M142"] in ([], fixed)


@pytest.mark.parametrize(
    ("domains", "found", "fixed"),
    [
        (["https://a.example", "wss://a.example:8443", "https://*.a.example"], "", None),
        (["http://localhost:3000", "https://[::1]:3000", "https://a.example/"], "", None),
        (["http://localhost:*"], "", None),  # a policy may name every port
        ([], "", None),
        ("https://a.example", "", ["https://a.example"]),
        (5, "", None),
        (["a.example"], "/0", ["https://a.example"]),
        (
            ["https://b.example", "https://a.example/v1?x=1"],
            "/1",
            ["https://b.example", "https://a.example"],
        ),
        (["*"], "/0", None),
        (["https:"], "/0", None),
        (["https://a.example; script-src *"], "/0", None),
        (["'self'"], "/0", None),
        (["https://a.example\n"], "/0", ["https://a.example"]),
        ([None], "/0", None),
    ],
)
@pytest.mark.parametrize(
    "key", ["connectDomains", "resourceDomains", "frameDomains", "baseUriDomains"]
)
def test_the_domains_of_a_page_are_origins(
    key: str, domains: object, found: str, fixed: object
) -> None:
    """Where it is read, and where it is listed."""
    meta = {"ui": {"csp": {key: domains}}}
    said = read(text=PAGE, _meta=meta)
    wrong = bool(found) or not isinstance(domains, list)
    assert [(code, at) for code, at, _ in said] == (
        [("M143", f"/_meta/ui/csp/{key}{found}")] if wrong else []
    )
    assert [one and one["_meta"]["ui"]["csp"][key] for _, _, one in said] == (
        [fixed] if wrong else []
    )
    listed = {"resources": [{"uri": URI, "name": "a", "_meta": meta}]}
    assert [code for code, _, _ in judged("resources/list", listed)] == [
        code for code, _, _ in said
    ]


def test_other_resources_and_members_of_a_policy_are_not_judged() -> None:
    """As a policy that is no object."""
    other = {
        "contents": [
            {"uri": "file:///a", "text": "a", "_meta": {"ui": {"csp": {"connectDomains": "a"}}}}
        ]
    }
    assert {code for code, _, _ in judged("resources/read", other)} <= {"M70"}
    for policy in ({"later": "a"}, "a", None):
        assert read(text=PAGE, _meta={"ui": {"csp": policy}}) == []


@pytest.mark.parametrize(
    ("meta", "found", "fixed"),
    [
        ({"ui": {"visibility": ["model", "app"]}}, [], None),
        ({"ui": {"visibility": []}}, [], None),
        (
            {"ui": {"visibility": "app"}},
            [("M144", "/ui/visibility")],
            {"ui": {"visibility": ["app"]}},
        ),
        (
            {"ui": {"visibility": ["app", "user"]}},
            [("M144", "/ui/visibility/1")],
            {"ui": {"visibility": ["app"]}},
        ),
        ({"ui": {"visibility": ["user"]}}, [("M144", "/ui/visibility/0")], None),
        ({"ui": {"visibility": {"app": True}}}, [("M144", "/ui/visibility")], None),
        ({"ui": {"visibility": [["app"]]}}, [("M144", "/ui/visibility/0")], None),
        ({"ui/resourceUri": URI}, [("M145", "/ui~1resourceUri")], {"ui": {"resourceUri": URI}}),
        (
            {"a": 1, "ui/resourceUri": URI, "ui": {"visibility": ["app"]}},
            [("M145", "/ui~1resourceUri")],
            {"a": 1, "ui": {"visibility": ["app"], "resourceUri": URI}},
        ),
        ({"ui/resourceUri": URI, "ui": 5}, [("M145", "/ui~1resourceUri")], None),
        ({"ui/resourceUri": URI, "ui": {"resourceUri": URI}}, [], None),  # for older hosts, too
    ],
)
def test_a_tool_says_who_sees_it_and_names_its_page_by_the_new_name(
    meta: dict[str, Any], found: list[tuple[str, str]], fixed: object
) -> None:
    said = judged("tools/list", {"tools": [{**TOOL, "_meta": meta}]})
    assert [(code, at.removeprefix("/tools/0/_meta")) for code, at, _ in said] == found
    assert [one and one["tools"][0]["_meta"] for _, _, one in said] == [fixed] * len(found)


@pytest.mark.parametrize("version", [R2025, R2026])
@pytest.mark.parametrize(
    ("capabilities", "tool", "found"),
    [
        (UI, TOOL, []),
        ({}, TOOL, ["M146"]),
        ({"extensions": {"other": {}}}, TOOL, ["M146"]),
        ({}, {**TOOL, "_meta": {"ui": {"visibility": ["app"]}}}, []),
        (None, TOOL, []),  # nothing was heard of it
    ],
)
def test_a_client_that_shows_no_pages_is_named_once(
    version: str, capabilities: dict[str, Any] | None, tool: dict[str, Any], found: list[str]
) -> None:
    """In 2026-07-28, each request states its capabilities, and those of before do not count."""
    meta = {} if capabilities is None else stating(capabilities)
    heard = NegotiatedState(
        client_name="c" if capabilities is not None else "", client_capabilities=capabilities or {}
    )
    is_stated = version == R2026
    exchange = asked("tools/list", {"_meta": meta} if is_stated else {}, version=version)
    envelope = {"resultType": "complete", "ttlMs": 0, "cacheScope": "private"} if is_stated else {}
    text = json.dumps({**envelope, "tools": [tool, {**tool, "name": "other"}]})
    before = NegotiatedState(client_name="c", client_capabilities=UI) if is_stated else heard
    said = check(exchange, text, TextForm.RESULT, before).diagnostics
    assert [one.code for one in said] == found


@pytest.mark.parametrize(
    ("content", "meta", "found"),
    [
        ([], TOOL["_meta"], ["M147"]),
        ([{"type": "text", "text": " \n"}], TOOL["_meta"], ["M147"]),
        ([{"type": "text", "text": "21 degrees"}], TOOL["_meta"], []),
        ([{"type": "text", "text": ""}, {"type": "text", "text": "a"}], TOOL["_meta"], []),
        ([{"type": "image", "data": "AAAA", "mimeType": "image/png"}], TOOL["_meta"], []),
        ([], {}, []),
        ([], {"ui": {"resourceUri": URI, "visibility": ["app"]}}, []),  # no model reads it
        ([], {"ui": {"resourceUri": URI, "visibility": ["app", "model"]}}, ["M147"]),
        ([], {"ui": {"resourceUri": URI, "visibility": 5}}, ["M147"]),
    ],
)
def test_a_tool_with_a_page_has_something_for_the_model(
    content: list[Any], meta: dict[str, Any], found: list[str]
) -> None:
    negotiated = NegotiatedState(tools={"show": {**TOOL, "_meta": meta}})
    result = {"content": content, "structuredContent": {"t": 21}}
    said = [code for code, _, _ in judged("tools/call", result, negotiated) if code != "M53"]
    assert [code for code in said if code == "M147"] == found


@pytest.mark.parametrize(("named", "found"), [(URI, ["M148"]), ("ui://a/c", [])])
@pytest.mark.parametrize("way", ["tools", "offered"])
def test_the_page_that_a_tool_names_can_be_read(named: str, found: list[str], way: str) -> None:
    """A tool that was listed, or one of the answer book that was not yet."""
    tools = {"show": {**TOOL, "_meta": {"ui": {"resourceUri": named}}}}
    negotiated = NegotiatedState(tools=tools) if way == "tools" else NegotiatedState(offered=tools)
    error = json.dumps({"code": -32002, "message": "Resource not found"})
    exchange = asked("resources/read", {"uri": URI})
    said = check(exchange, error, TextForm.ERROR, negotiated).diagnostics
    assert codes(said) == found


@pytest.mark.parametrize("version", [R2024, R2025, R2026])
def test_the_draft_for_a_page_is_a_page(version: str) -> None:
    """It can be sent as it is, to whoever asks for any page."""
    meta = {"_meta": stating()} if version == R2026 else {}
    exchange = asked("resources/read", {"uri": URI, **meta}, version=version)
    draft = draft_check.start(exchange)
    assert check(exchange, draft).line is not None
    assert codes(check(exchange, draft).diagnostics) == []
    assert json.loads(draft)["result"]["contents"][0]["uri"] == URI
    other = asked("resources/read", {"uri": "file:///a", **meta}, version=version)
    assert "<!doctype" not in draft_check.start(other)
    assert "page" in draft_check.templates(other)


def test_a_long_beginning_takes_a_time_in_proportion() -> None:
    """Comments that never end, or end too often."""
    for piece in ("<!--", "<!---->", "<!-- -->\n", " "):
        assert "M142" in [code for code, _, _ in read(text=piece * 100_000)]
