"""Headers and bodies: judged as the official SDK's pure functions judge them."""

import json
from collections.abc import Mapping
from typing import Any, Final

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from mcp.shared import inbound as referee

from humanmcp.protocol.http.http_headers import (
    Headers,
    decode_value,
    encode_value,
    mismatch_in,
    param_mismatch,
)
from humanmcp.protocol.http.inbound import facts_stated_in
from humanmcp.protocol.http.outbound import http_status_of
from humanmcp.protocol.json.jsonrpc import Message, read
from humanmcp.protocol.tables import methods, versions
from humanmcp.protocol.validation.json_schema.references import misplaced_header

VERSIONS: Final = ["2026-07-28", "2025-11-25", "v999", ""]
METHODS: Final = [
    *referee.NAME_BEARING_METHODS,
    "tools/list",
    "server/discover",
    "initialize",
    "unknown/method",
]
NAMES: Final = ["weather", " padded ", "天気", "=?base64?eA==?=", "a\nb", "", "file:///a b"]
VALUES: Final = st.sampled_from(
    [*NAMES, "=?base64?5aSp5rCX?=", "=?base64?SGVsbG8?=", "=?base64?SGVs!!!bG8=?=", "=?base64?"]
) | st.text(max_size=8)

METAS: Final = st.fixed_dictionaries(
    {},
    optional={
        versions.META_VERSION: st.sampled_from([*VERSIONS, None, 7]),
        versions.META_CAPABILITIES: st.just({}),
        versions.META_CLIENT: st.just({"name": "c", "version": "1"}),
    },
)
PARAMS: Final[st.SearchStrategy[dict[str, Any]]] = st.fixed_dictionaries(
    {},
    optional={
        "_meta": METAS | st.sampled_from([None, [], "x"]),
        "name": st.sampled_from([*NAMES, None, 7]),
        "uri": st.sampled_from([*NAMES, None]),
    },
)
HEADERS: Final = st.lists(
    st.one_of(
        st.tuples(st.just("MCP-Protocol-Version"), st.sampled_from(VERSIONS)),
        st.tuples(st.sampled_from(["Mcp-Method", "mcp-method"]), st.sampled_from(METHODS)),
        st.tuples(st.just("Mcp-Name"), VALUES),
    ),
    max_size=5,
)


@st.composite
def requests(draw: st.DrawFn) -> tuple[dict[str, Any], list[tuple[str, str]]]:
    """Make a request with headers; half of them begin right and have one thing changed."""
    method, params, headers = draw(st.sampled_from(METHODS)), draw(PARAMS), draw(HEADERS)
    if draw(st.booleans()):
        meta = {versions.META_VERSION: "2026-07-28", versions.META_CAPABILITIES: {}}
        params = {**params, "_meta": meta}
        right = [("MCP-Protocol-Version", "2026-07-28"), ("Mcp-Method", method)]
        member = methods.of(method).named_by
        if member and isinstance(params.get(member), str):
            right.append(("Mcp-Name", encode_value(params[member])))
        headers = [*right, *headers[:1]] if draw(st.booleans()) else right
    body: dict[str, Any] = {"jsonrpc": "2.0", "id": 1, "method": method}
    return body | ({"params": params} if draw(st.integers(0, 9)) else {}), headers


def as_http(headers: list[tuple[str, str]]) -> dict[str, str]:
    """Fold headers as the SDK gets them: lower case, no white space around."""
    return {name.lower(): value.strip(" \t") for name, value in headers}


def verdict_of_the_sdk(body: Mapping[str, Any], headers: list[tuple[str, str]]) -> int | None:
    """Return the code of the error that the SDK's server answers with, None for none."""
    duplicate = referee.find_duplicated_routing_header(headers)
    assert Headers.of(headers).repeated() == (duplicate or "")
    if duplicate is not None:
        return -32020
    verdict = referee.classify_inbound_request(body, headers=as_http(headers))
    return verdict.code if isinstance(verdict, referee.InboundLadderRejection) else None


def verdict_of_ours(body: Mapping[str, Any], headers: list[tuple[str, str]]) -> int | None:
    """Return the code of the error that we answer with."""
    message = read(json.dumps(body).encode())
    assert isinstance(message, Message)
    ours = Headers.of(headers)
    if mismatch_in(message, ours) is not None and ours.repeated():
        return -32020  # the SDK looks for these before anything else
    transport_facts = facts_stated_in(message, ours)
    if transport_facts.error is not None:
        return int(transport_facts.error["code"])
    return -32022 if versions.unserved_in(message) is not None else None


@settings(max_examples=1_000, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(requests())
def test_requests_are_judged_as_the_sdk_judges_them(
    made: tuple[dict[str, Any], list[tuple[str, str]]],
) -> None:
    """The same error for the same request, or none for both."""
    body, headers = made
    assert verdict_of_ours(body, headers) == verdict_of_the_sdk(body, headers)


@settings(deadline=None)
@given(st.text(max_size=30) | st.sampled_from(NAMES))
def test_a_text_is_encoded_as_the_sdk_encodes_it_and_comes_back(text: str) -> None:
    """And what we encode we read."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return  # half a surrogate pair: the SDK raises
    assert encode_value(text) == referee.encode_header_value(text)
    assert decode_value(encode_value(text)) == text


@settings(deadline=None)
@given(VALUES | st.from_regex(r"=\?base64\?[A-Za-z0-9+/=!]{0,12}\?=", fullmatch=True))
@example("=?base64?SGVsbG9=?=")
def test_a_header_is_decoded_as_the_sdk_decodes_it(value: str) -> None:
    """Broken base64, another spelling of the same bytes, and broken UTF-8 are no text."""
    assert decode_value(value) == referee.decode_header_value(value)


SCALARS: Final = st.sampled_from(["x", "", "天気", "42", 0, 42, -7, 42.0, 1.5, True, False, None])
KINDS: Final = st.sampled_from(["string", "integer", "boolean", "number", "object"])
TOKENS: Final = st.sampled_from(["Region", "region", "City", "a b", "", 7])
PROPERTY: Final = st.fixed_dictionaries({"type": KINDS}, optional={"x-mcp-header": TOKENS})
SCHEMAS: Final = st.fixed_dictionaries(
    {"type": st.just("object")},
    optional={
        "properties": st.dictionaries(
            st.sampled_from(["a", "b", "properties"]),
            st.one_of(
                PROPERTY,
                st.builds(lambda inner: {"type": "object", "properties": {"c": inner}}, PROPERTY),
                st.builds(lambda inner: {"type": "array", "items": inner}, PROPERTY),
            ),
        ),
        "anyOf": st.lists(PROPERTY, max_size=1),
        "x-mcp-header": TOKENS,
    },
)
ARGUMENTS: Final = st.dictionaries(
    st.sampled_from(["a", "b", "properties"]),
    SCALARS | st.dictionaries(st.just("c"), SCALARS),
)
PARAM_HEADERS: Final = st.dictionaries(
    st.sampled_from(["Mcp-Param-Region", "mcp-param-city"]),
    st.sampled_from(["x", "", "42", "42.0", "042", "4.2e1", "1.5", "true", "True"])
    | st.sampled_from(["=?base64?5aSp5rCX?=", "=?base64?SGVsbG8?="]),
)


@settings(max_examples=500, deadline=None)
@given(SCHEMAS, ARGUMENTS, PARAM_HEADERS)
def test_headers_of_arguments_are_judged_as_the_sdk_judges_them(
    schema: dict[str, Any], arguments: dict[str, Any], headers: dict[str, str]
) -> None:
    """Which annotations are valid, and whether a call agrees with its headers."""
    assert (misplaced_header(schema) is None) == (referee.find_invalid_x_mcp_header(schema) is None)
    theirs = referee.validate_mcp_param_headers(schema, arguments, headers)
    ours = param_mismatch(schema, arguments, Headers.of(headers.items()))
    assert (ours is None) == (theirs is None)


def test_an_annotation_where_the_sdk_does_not_look_makes_a_tool_invalid() -> None:
    """Stricter than the SDK on purpose.

    "An `x-mcp-header` annotation anywhere else makes the annotation — and thus the tool definition
    — invalid."
    """
    schema = {"type": "object", "x-own": {"x-mcp-header": "Region"}}
    assert referee.find_invalid_x_mcp_header(schema) is None
    assert misplaced_header(schema) == (("x-own", "x-mcp-header"), "Region")


@pytest.mark.parametrize("method", ["tasks/get", "tasks/update", "tasks/cancel"])
def test_the_name_of_a_task_stands_in_a_header(method: str) -> None:
    """Beyond the SDK's table, which has the core's methods only.

    "the client MUST set the `Mcp-Name` header […] to the value of `params.taskId`"
    """
    meta = {versions.META_VERSION: "2026-07-28", versions.META_CAPABILITIES: {}}
    body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": {"_meta": meta, "taskId": "t1"}}
    right = [("MCP-Protocol-Version", "2026-07-28"), ("Mcp-Method", method), ("Mcp-Name", "t1")]
    assert verdict_of_ours(body, right) is None
    assert verdict_of_ours(body, right[:2]) == -32020
    assert verdict_of_ours(body, [*right[:2], ("Mcp-Name", "t2")]) == -32020


def test_an_error_has_the_status_that_the_sdk_gives_it() -> None:
    """In 2026-07-28; before that an answer is 200 whatever it says."""
    for code, status in referee.ERROR_CODE_HTTP_STATUS.items():
        line = json.dumps({"jsonrpc": "2.0", "id": 1, "error": {"code": code, "message": "m"}})
        assert http_status_of(line.encode(), "2026-07-28") == status
        assert http_status_of(line.encode(), "2025-11-25") == 200


@pytest.mark.parametrize(
    ("kind", "argument", "values", "wrong"),
    [
        ("string", "a", ["a"], None),
        ("string", "a", ["b"], ("b", "a")),
        ("string", "a", ["=?base64?YQ==?="], None),
        ("string", "a", ["=?base64?YQ=?="], ("=?base64?YQ=?=", "a")),
        ("string", "a", [], (None, "a")),
        ("string", "a", ["a", "a"], (None, None)),
        ("string", None, [], None),
        ("string", None, ["a"], ("a", None)),
        ("string", ["a"], [], None),
        ("string", ["a"], ["a"], ("a", None)),
        ("boolean", True, ["true"], None),
        ("boolean", False, ["False"], ("False", "false")),
        ("boolean", True, ["1"], ("1", "true")),
        ("integer", 42, ["42.0"], None),
        ("integer", 42, ["42.5"], ("42.5", "42")),
        ("integer", 42.0, ["42"], None),
        ("integer", -7, ["-7.00"], None),
        ("integer", 42, ["1" * 5000], ("1" * 5000, "42")),
        ("integer", 42, ["4 2"], ("4 2", "42")),
        ("integer", True, ["1"], ("1", "true")),
        pytest.param("integer", 10**3999, [f"{10**3999}.0"], None, id="just not too long"),
        pytest.param(
            "integer", 10**4000, [f"{10**4000}"], (f"{10**4000}", f"{10**4000}"), id="longer"
        ),
        pytest.param("integer", 10**5000, ["1"], ("1", None), id="too long"),
        pytest.param("integer", 10**5000, [], None, id="too long to be said"),
        ("string", 42, ["42.0"], ("42.0", "42")),
        ("string", 42, ["42"], None),
    ],
)  # fmt: skip
def test_the_header_of_an_argument_says_what_the_argument_says(
    kind: str,
    argument: Any,  # noqa: ANN401 - any JSON value
    values: list[str],
    wrong: tuple[str | None, str | None] | None,
) -> None:
    """Whole numbers are compared as numbers; what no header can say has none."""
    schema = {"type": "object", "properties": {"a": {"type": kind, "x-mcp-header": "City"}}}
    headers = Headers.of([("Mcp-Param-City", value) for value in values])
    found = param_mismatch(schema, {} if argument is None else {"a": argument}, headers)
    assert (found and (found.got, found.wanted)) == wrong
    if found is not None:
        assert (found.header, found.at) == ("Mcp-Param-City", ("params", "arguments", "a"))
