"""What headers say: a length, an encoding, and what stands there twice."""

import pytest

from humanmcp.protocol.diagnostics import kinds
from humanmcp.protocol.http.http_headers import (
    HIDDEN,
    Headers,
    Mismatch,
    as_text,
    content_length,
    decode_value,
    encode_value,
    mismatch_in,
    without_keys,
)
from humanmcp.protocol.tables.versions import META_VERSION
from tests.support.verdicts import asked


@pytest.mark.parametrize(
    ("values", "length"),
    [
        ([], 0),
        (["0"], 0),
        (["17"], 17),
        (["9" * 12], 999_999_999_999),
        (["9" * 13], 10**12),
        (["1" * 5000], 10**12),
        (["²"], None),
        (["٣"], None),
        (["-1"], None),
        (["1_0"], None),
        ([""], None),
        (["5", "5"], None),
    ],
)
def test_a_length_is_digits_and_stands_once(values: list[str], length: int | None) -> None:
    """Anything else would be read in two ways, or end a process that turns it into a number."""
    assert content_length(values) == length


@pytest.mark.parametrize(
    ("said", "charset"),
    [
        ("application/json", ""),
        ("application/json; charset=utf-8", "utf-8"),
        ('application/json;v=1;\tCharset="UTF-16"', "utf-16"),
        ("application/json; charset", ""),
    ],
)
def test_an_encoding_is_a_parameter_of_the_type(said: str, charset: str) -> None:
    """RFC 9110, 8.3.1: names in any case, values quoted or not."""
    assert Headers.of([("Content-Type", said)]).charset == charset


@pytest.mark.parametrize(
    ("accept", "json", "events"),
    [
        ("", True, True),
        ("*/*", True, True),
        ("application/json;q=0.1, text/event-stream", True, True),
        ("application/json ; Q=0.000, text/event-stream", False, True),
        ("text/event-stream;q=0, */*", True, False),
        ("application/*;q=0, application/json", True, False),
        ("*/*; q=0", False, False),
        ("text/html", False, False),
    ],
)
def test_what_a_client_gives_no_weight_it_does_not_take(
    accept: str, *, json: bool, events: bool
) -> None:
    """RFC 9110, 12.5.1; the most specific range counts."""
    said = Headers.of([("Accept", accept)])
    assert (said.accepts("application/json"), said.accepts("text/event-stream")) == (json, events)


@pytest.mark.parametrize(
    ("names", "found"),
    [
        (("mcp-name", "mcp-method", "mcp-method", "mcp-name"), "mcp-method"),
        (("Mcp-Protocol-Version", "MCP-PROTOCOL-VERSION"), "mcp-protocol-version"),
        (("mcp-name",), ""),
        (("accept", "accept"), ""),
    ],
)
def test_the_first_routing_header_that_comes_twice_is_named(
    names: tuple[str, ...], found: str
) -> None:
    """Any other may come as often as it likes."""
    assert Headers.of([(name, "x") for name in names]).repeated() == found


def test_of_several_values_the_last_counts() -> None:
    """Without the space around it; all are there."""
    headers = Headers.of([("X-A", " 1\t"), ("x-b", "2"), ("x-A", "3\n")])
    assert (headers.get("x-a"), headers.get("x-c")) == ("3\n", None)
    assert (headers.all("x-a"), headers.all("x-c")) == (("1", "3\n"), ())


@pytest.mark.parametrize(
    ("name", "hidden"),
    [
        ("Authorization", True),
        ("Set-Cookie", True),
        ("X-API-Key", True),
        ("x-token", True),
        ("client-secret", True),
        ("Password", True),
        ("X-Own", True),
        ("X-Owned", False),
        ("Mcp-Session-Id", False),
    ],
)
def test_keys_are_hidden_by_their_names(name: str, *, hidden: bool) -> None:
    """And by those that a person calls secret."""
    assert without_keys([(name, "v")], {"x-own"}) == ((name, HIDDEN if hidden else "v"),)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("a b~", "a b~"),
        ("", ""),
        (" a", "=?base64?IGE=?="),
        ("a\x7f", "=?base64?YX8=?="),
        ("é", "=?base64?w6k=?="),
        ("=?base64?YQ==?=", "=?base64?PT9iYXNlNjQ/WVE9PT89?="),
        ("\ud800", "=?base64?7aCA?="),
    ],
)
def test_a_value_is_written_plain_where_http_can_carry_it(text: str, value: str) -> None:
    """Half a character is no UTF-8, so it does not come back."""
    assert encode_value(text) == value
    assert decode_value(value) == (None if text == "\ud800" else text)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (True, "true"),
        (False, "false"),
        (7, "7"),
        (-1.5, "-1.5"),
        ("a", "a"),
        (None, None),
        ([1], None),
        ({}, None),
        (10**4300, None),
    ],
    ids=range(9),
)
def test_an_argument_is_written_as_its_header_says_it(value: object, text: str | None) -> None:
    """A list, an object and a number of too many digits have no header."""
    assert as_text(value) == text


NAMED = ("params", "name")


@pytest.mark.parametrize(
    ("pairs", "wrong", "message"),
    [
        ({}, None, ""),
        (
            {"Mcp-Protocol-Version": None},
            (kinds.missing_header, "MCP-Protocol-Version", None, "2026-07-28"),
            (
                "MCP-Protocol-Version is missing, and "
                "params._meta.io.modelcontextprotocol/protocolVersion is there"
            ),
        ),
        (
            {"Mcp-Method": "x"},
            (kinds.wrong_header, "Mcp-Method", "x", "tools/call"),
            "Mcp-Method does not match method",
        ),
        (
            {"Mcp-Name": "=?base64?YQ=?="},
            (kinds.undecodable_header, "Mcp-Name", "=?base64?YQ=?=", "é"),
            "Mcp-Name is not valid base64 of UTF-8",
        ),
        (
            {"Mcp-Name": "e"},
            (kinds.wrong_header, "Mcp-Name", "e", "é"),
            "Mcp-Name does not match params.name",
        ),
        (
            {"mcp-method": "tools/call"},
            (kinds.repeated_header, "Mcp-Method", None, None),
            "Mcp-Method appears more than once",
        ),
        (
            {"Mcp-Param-City": "x"},
            (kinds.header_without_argument, "Mcp-Param-City", "x", None),
            "Mcp-Param-City is there, and params.arguments.city is not",
        ),
    ],
)
def test_a_header_that_disagrees_is_told_with_what_it_disagrees_with(
    pairs: dict[str, str | None], wrong: object, message: str
) -> None:
    """The sentence goes to the developer of the client."""
    right = {
        "Mcp-Protocol-Version": "2026-07-28",
        "Mcp-Method": "tools/call",
        "Mcp-Name": "=?base64?w6k=?=",
    }
    said = [(name, value) for name, value in {**right, **pairs}.items() if value is not None]
    meta = {META_VERSION: "2026-07-28"}
    call = asked("tools/call", {"name": "é", "arguments": {}, "_meta": meta}).request
    city = {"type": "string", "x-mcp-header": "City"}
    schema = {"type": "object", "properties": {"city": city}}
    found = mismatch_in(call, Headers.of(said), schema)
    assert (found and (found.kind, found.header, found.got, found.wanted)) == wrong
    assert (found.message if found else "") == (message and f"Header mismatch: {message}")


@pytest.mark.parametrize(
    ("params", "schema", "kind"),
    [
        ({"name": 7}, None, kinds.wrong_header),
        ({}, None, None),
        ({"name": None}, None, None),
        ({"name": "n", "arguments": "x"}, {"properties": {}}, None),
        ({"name": "n", "arguments": {}}, "no schema", None),
    ],
)
def test_what_is_no_name_and_no_schema_says_nothing(
    params: dict[str, object], schema: object, kind: object
) -> None:
    """The shape of a request is judged elsewhere."""
    call = asked("tools/call", {**params, "_meta": {META_VERSION: "v"}}).request
    said = [("Mcp-Protocol-Version", "v"), ("Mcp-Method", "tools/call"), ("Mcp-Name", "n")]
    found = mismatch_in(call, Headers.of(said), schema)
    assert (found and found.kind) == kind


def test_a_method_that_names_nothing_needs_no_name() -> None:
    """A ping has no member to repeat; a request that states no version disagrees with any."""
    ping = asked("ping", {"_meta": {META_VERSION: "v"}}).request
    said = [("Mcp-Protocol-Version", "v"), ("Mcp-Method", "ping")]
    assert mismatch_in(ping, Headers.of(said)) is None
    found = mismatch_in(asked("ping").request, Headers.of(said))
    assert found == Mismatch(
        kinds.wrong_header, "MCP-Protocol-Version", ("params", "_meta", META_VERSION), "v", None
    )
    assert dict(found.found.detail) == {
        "header": "MCP-Protocol-Version",
        "got": '"v"',
        "wanted": "null",
    }
