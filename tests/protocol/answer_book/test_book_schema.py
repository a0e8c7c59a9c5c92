"""The JSON Schema that editors check an answer book with."""

import tomllib
from typing import Any

import jsonschema_rs
import pytest

from docs import make_book_schema
from humanmcp.common.settings import sample
from humanmcp.protocol.answer_book.book_format import BookError, parse

VALIDATOR = jsonschema_rs.validator_for(make_book_schema.schema())


@pytest.mark.parametrize("name", ["conformance.toml", "tasks.toml", "weather.toml"])
def test_a_book_that_is_read_fits_the_schema(name: str) -> None:
    """An editor would underline what is right."""
    assert [
        str(one) for one in VALIDATOR.iter_errors(tomllib.loads(sample(name).read_text()))
    ] == []


@pytest.mark.parametrize(
    "book",
    [
        {"servers": {}},
        {"server": {"nam": "x"}},
        {"server": {"progress": "no"}},
        {"server": {"protocol_versions": ["2023-01-01"]}},
        {"rules": [{"tool": "a"}]},
        {"rules": [{"tool": "a", "text": "b", "error": {}}]},
        {"rules": [{"tool": 1, "text": "b"}]},
        {"rules": [{"tool": "a", "text": "b", "after": -1}]},
        {"rules": [{"tool": "a", "text": "b", "times": 0}]},
        {"rules": [{"tool": "a", "text": "b", "fault": "moon"}]},
        {"rules": [{"tool": "a", "text": "b", "contains": {"x": 1}}]},
        {"rules": [{"tool": "a", "text": "b", "then": [{"tool": "c", "text": "d"}]}]},
        {"wait": {"ping": True}},
    ],
)
def test_what_is_refused_does_not_fit_the_schema(book: dict[str, Any]) -> None:
    """An editor shows it before the server does."""
    with pytest.raises(BookError):
        parse(book)
    assert not VALIDATOR.is_valid(book)


def test_every_key_has_its_words_from_the_reference() -> None:
    """The editor shows them beside the key."""
    schema = make_book_schema.schema()
    tables = [schema["properties"]["server"], *schema["$defs"].values()]
    lacking = [
        key
        for table in tables
        for key, one in table["properties"].items()
        if "description" not in one or not one.keys() - {"description"}
    ]
    assert lacking == []
