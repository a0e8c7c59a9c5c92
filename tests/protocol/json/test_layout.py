"""Laying JSON out without changing a token."""

import json

from hypothesis import given
from hypothesis import strategies as st

from humanmcp.protocol.json.jsonrpc import compact
from humanmcp.protocol.json.tree import DEEPEST_INDENT, pretty

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@given(VALUES, st.sampled_from([None, 0, 3]))
def test_compacting_gives_back_what_was_laid_out(value: object, indent: int | None) -> None:
    """Only white space outside strings comes and goes."""
    text = json.dumps(value, ensure_ascii=False, indent=indent)
    assert compact(pretty(text)) == compact(text)


@given(VALUES)
def test_the_layout_is_that_of_the_standard_library(value: object) -> None:
    """A member or item a line, two spaces a level, empty ones on one line."""
    assert pretty(json.dumps(value)) == json.dumps(value, indent=2)


def test_no_number_is_read() -> None:
    """1.0, 1e400 and 2**53 + 1 stay as typed, and so does a name that comes twice."""
    text = '{"a":1.0,"a":1e400,"b":[9007199254740993,-0]}'
    assert compact(pretty(text)) == text


def test_a_line_of_a_hundred_thousand_brackets_is_no_mountain_of_spaces() -> None:
    """A client may send it; History shows each line that came, also those that are no message."""
    assert len(pretty("[" * 100_000)) < 100_000 * (2 * DEEPEST_INDENT + 3)
    deep = "[" * 60 + "1" + "]" * 60
    assert pretty(deep).replace("\n", "").replace(" ", "") == deep
