"""What skills ask of answers."""

import json
from typing import Any

import pytest

from humanmcp.protocol.conversation.exchange import NegotiatedState
from humanmcp.protocol.diagnostics.model import TextForm
from humanmcp.protocol.validation import check as draft_check
from tests.support.verdicts import R2025, R2026, asked, check, codes, stating

DIGEST = "sha256:" + "0" * 64
URI = "skill://acme/refunds/SKILL.md"
OWN = {"uri": URI, "digest": DIGEST, "size": 1}
SKILL: dict[str, Any] = {
    "uri": URI,
    "frontmatter": {"name": "refunds", "description": "How to refund"},
    "resources": [OWN, {**OWN, "uri": "skill://acme/refunds/examples/a.md"}],
}


def said(method: str, result: dict[str, Any], version: str = R2026) -> list[tuple[str, str]]:
    """List what is said of a result, as (code, pointer)."""
    whole = {"resultType": "complete", "ttlMs": 0, "cacheScope": "private", **result}
    exchange = asked(method, {"_meta": stating()}, version=version)
    text = json.dumps(whole if version == R2026 else result)
    found = check(exchange, text, TextForm.RESULT).diagnostics
    return [(one.code, one.pointer.removeprefix("/result")) for one in found]


def files(count: int, size: int = 1) -> list[dict[str, Any]]:
    """List the files of a skill."""
    more = [{**OWN, "uri": f"skill://acme/refunds/{at}"} for at in range(count - 1)]
    return [{**OWN, "size": size}, *more]


@pytest.mark.parametrize(
    ("listed", "fixed"), [([], "dynamic"), ([{**OWN, "uri": URI[:-8] + "a.md"}], None)]
)
def test_a_skill_that_lists_no_file_may_call_them_dynamic(listed: list[Any], fixed: Any) -> None:  # noqa: ANN401 - any JSON value
    """Of a list with files only the person knows what is missing."""
    skill = {**SKILL, "resources": listed}
    text = json.dumps(
        {"resultType": "complete", "ttlMs": 0, "cacheScope": "private", "skill": skill}
    )
    exchange = asked("skills/get", {"_meta": stating()}, version=R2026)
    (diagnostic,) = check(exchange, text, TextForm.RESULT).diagnostics
    fix = diagnostic.fix
    assert (fix and json.loads(fix.apply(text))["skill"]["resources"]) == fixed


@pytest.mark.parametrize(
    ("change", "found"),
    [
        ({}, []),
        ({"resources": "dynamic"}, []),
        ({"uri": "github://a/b/refunds/SKILL.md", "resources": "dynamic"}, []),
        ({"frontmatter": {"name": "other", "description": "x"}}, [("M100", "/uri")]),
        ({"uri": "skill://acme/refunds", "resources": "dynamic"}, [("M100", "/uri")]),
        ({"resources": []}, [("M101", "/resources")]),
        ({"resources": [{**OWN, "uri": URI[:-8] + "a.md"}]}, [("M101", "/resources")]),
        ({"resources": [OWN, {**OWN, "uri": "skill://b"}]}, [("M102", "/resources/1/uri")]),
        ({"resources": [OWN, OWN]}, [("M38", "/resources/1/uri")]),
        ({"resources": files(512)}, []),
        ({"resources": files(513)}, [("M103", "/resources")]),
        ({"resources": files(1, 16 * 1024 * 1024)}, []),
        ({"resources": files(2, 16 * 1024 * 1024)}, [("M104", "/resources")]),
    ],
)
def test_a_skill_is_where_its_name_says_with_all_its_files(
    change: dict[str, Any], found: list[tuple[str, str]]
) -> None:
    """The same entry in both methods."""
    skill = {**SKILL, **change}
    assert said("skills/get", {"skill": skill}) == [(code, f"/skill{at}") for code, at in found]
    listed = said("skills/list", {"skills": [SKILL, skill]})
    assert listed == [(code, f"/skills/1{at}") for code, at in found]


@pytest.mark.parametrize("method", ["initialize", "server/discover"])
def test_a_server_with_skills_declares_resources(method: str) -> None:
    """The fix declares them."""
    version = R2025 if method == "initialize" else R2026
    extensions = {"extensions": {"io.modelcontextprotocol/skills": {"directoryRead": True}}}
    result = {
        "protocolVersion": R2025,
        "serverInfo": {"name": "s", "version": "1"},
    }
    if version == R2026:
        result = {"supportedVersions": [R2026]}
    found = said(method, {**result, "capabilities": extensions}, version)
    assert ("M105", "/capabilities") in found
    there = said(method, {**result, "capabilities": {**extensions, "resources": {}}}, version)
    assert "M105" not in dict(there)


@pytest.mark.parametrize(
    ("settings", "found"), [({"directoryRead": True}, []), ({}, ["M108"]), (None, ["M108"])]
)
def test_a_folder_is_read_only_where_the_server_says_it_can_be(
    settings: dict[str, Any] | None, found: list[str]
) -> None:
    """Nothing is said while nobody was heard to declare anything."""
    params = {"uri": "skill://a", "_meta": stating()}
    request = asked("resources/directory/read", params, version=R2026).request
    extensions = {} if settings is None else {"io.modelcontextprotocol/skills": settings}
    offered = NegotiatedState(server_capabilities={"resources": {}, "extensions": extensions})
    assert codes(draft_check.remarks(request, R2026, offered)) == found
    assert codes(draft_check.remarks(request, R2026)) == []
