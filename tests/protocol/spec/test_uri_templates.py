"""URI templates: the examples of RFC 6570 that single values make, and the forms of them."""

from typing import Final

import pytest

from humanmcp.protocol.spec.uri_templates import expanded, schema_of

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
    form = schema_of("weather://{city}/{+when}{?unit,lang*}")
    assert list(form["properties"]) == ["city", "when", "unit", "lang"]
    assert form["required"] == ["city", "when"]


def test_a_length_of_thousands_of_digits_names_no_variable() -> None:
    """RFC 6570, 2.4.1: below 10,000. A peer may send it, and Python refuses to read it."""
    template = "note://{id:" + "9" * 5000 + "}"
    assert schema_of(template)["properties"] == {}
    assert expanded(template, {"id": "7"}) == "note://"
