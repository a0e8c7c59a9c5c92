"""Formats of single values, and templates of addresses."""

import calendar
from typing import Final

import pytest

from humanmcp.protocol.diagnostics import kinds
from humanmcp.protocol.diagnostics.problem import ProblemKind
from humanmcp.protocol.tables.schemas import expanded, template_form
from humanmcp.protocol.tables.types import FORMS, NAMES, FormatTrouble
from humanmcp.protocol.tables.versions import R2025_03, R2025_06, R2025_11


@pytest.mark.parametrize("text", ["", "QUJD", "QUI=", "QQ=="])
def test_comes_in_fours(text: str) -> None:
    """RFC 4648, section 4, padding and all."""
    assert FORMS["base64"](text) is None


@pytest.mark.parametrize(
    ("text", "trouble"),
    [
        ("QUJDR", FormatTrouble(kinds.invalid_base64)),
        ("QUJD\nREVG", FormatTrouble(kinds.invalid_base64, "QUJDREVG")),
        ("QUJD\nREV", FormatTrouble(kinds.invalid_base64)),
        ("data:image/png;base64,QUJD", FormatTrouble(kinds.data_url_as_base64, "QUJD")),
        ("no base64!!!", FormatTrouble(kinds.invalid_base64)),
    ],
)
def test_what_is_nearly_base64_is_fixed(text: str, trouble: FormatTrouble) -> None:
    """Lines are joined, and the beginning of a data URL is taken off."""
    assert FORMS["base64"](text) == trouble


@pytest.mark.parametrize(
    ("form", "right", "wrong"),
    [
        ("uri", "skill://a", "no address"),
        ("file uri", "file:///a", "https://a.example/"),
        ("icon", "data:,", "file:///a"),
        ("digest", "sha256:" + "0a" * 32, "sha256:" + "0A" * 32),
        ("mime", "text/plain; charset=utf-8", "text"),
        ("moment", "2024-02-29T23:59:59Z", "2023-02-29T23:59:59Z"),
        ("tool name", "a.b-c_D9", "a b"),
    ],
)
def test_each_form_takes_what_fits_and_nothing_else(form: str, right: str, wrong: str) -> None:
    """One of each; the check has the sentences."""
    assert FORMS[form](right) is None
    assert FORMS[form](wrong) is not None


@pytest.mark.parametrize("year", [1900, 2000, 2023, 2024])
def test_each_month_has_its_days_and_no_more(year: int) -> None:
    """A leap year is one in four, but of the full centuries one in four, too."""
    for month in range(1, 13):
        last = calendar.monthrange(year, month)[1]
        for day in range(1, 33):
            found = FORMS["moment"](f"{year}-{month:02}-{day:02}T10:30:00Z")
            assert (found is None) == (day <= last), (year, month, day)


@pytest.mark.parametrize(
    ("name", "right"),
    [("com.example/files", True), ("files", False), ("/files", False), ("com.example/", False)],
)
def test_an_extension_is_named_with_the_prefix_of_its_vendor(name: str, *, right: bool) -> None:
    """SEP-2133: the prefix is mandatory."""
    assert NAMES["extension id"](name, R2025_11) == (
        None if right else kinds.extension_without_prefix
    )


@pytest.mark.parametrize(
    ("name", "version", "kind"),
    [
        ("a", R2025_06, None),
        ("a b", R2025_06, kinds.invalid_meta_key),
        ("a b", R2025_03, None),
        ("com.example/a", R2025_06, None),
        ("1.example/a", R2025_06, kinds.invalid_meta_key),
        ("com.mcp.tools/a", R2025_11, kinds.reserved_meta_prefix),
        ("com.mcp.tools/a", R2025_06, kinds.reserved_meta_prefix),
        ("tools.mcp.com/a", R2025_11, kinds.reserved_meta_prefix),
        ("mcp.example.com/a", R2025_11, None),
        ("io.modelcontextprotocol/a", R2025_11, None),
    ],
)
def test_a_key_of_meta_keeps_out_of_the_prefixes_of_mcp(
    name: str, version: str, kind: ProblemKind | None
) -> None:
    """2025-06-18 brought the rule, and looked at the last label but one instead of the second."""
    assert NAMES["meta key"](name, version) == kind


VALUES: Final = {
    "var": "value",
    "hello": "Hello World!",
    "path": "/foo/bar",
    "x": "1024",
    "y": "768",
}


@pytest.mark.parametrize(
    ("template", "uri"),
    [
        ("{var}", "value"),
        ("{hello}", "Hello%20World%21"),
        ("{+hello}", "Hello%20World!"),
        ("{+path}/here", "/foo/bar/here"),
        ("here?ref={+path}", "here?ref=/foo/bar"),
        ("X{#hello}", "X#Hello%20World!"),
        ("{x,y}", "1024,768"),
        ("X{.x,y}", "X.1024.768"),
        ("{/var,x}/here", "/value/1024/here"),
        ("{;x,y}", ";x=1024;y=768"),
        ("{?x,y,undef}", "?x=1024&y=768"),
        ("?fixed=yes{&x}", "?fixed=yes&x=1024"),
        ("{var:3}{/list*}", "val"),
        ("{undef}", ""),
        ("note://today", "note://today"),
    ],
)
def test_a_template_is_expanded_as_its_standard_says(template: str, uri: str) -> None:
    """RFC 6570, 1.2 and 3.2."""
    assert expanded(template, VALUES) == uri


def test_the_form_of_a_template_asks_for_its_variables() -> None:
    """Those of a query may be left out."""
    form = template_form("weather://{city}/{+when}{?unit,lang*}")
    assert list(form["properties"]) == ["city", "when", "unit", "lang"]
    assert form["required"] == ["city", "when"]


def test_a_length_of_thousands_of_digits_names_no_variable() -> None:
    """RFC 6570, 2.4.1: below 10,000. A peer may send it, and Python refuses to read it."""
    template = "note://{id:" + "9" * 5000 + "}"
    assert template_form(template)["properties"] == {}
    assert expanded(template, {"id": "7"}) == "note://"
