"""JSON with comments: read, and edited in place."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from humanmcp.common import jsonc

COMMENTED = """{
  // the servers of this project
  "servers": {
    "a": {
      "command": "x" /* why x */
    }, // mine
    /* last */
  },
  "other": [1, "// no comment", 2,],
}
"""
ENTRY = {"command": "y", "args": ["s"]}
PLAIN = st.recursive(
    st.none() | st.integers() | st.text('a/*,]}" \\\n', max_size=4),
    lambda inner: (
        st.lists(inner, max_size=2) | st.dictionaries(st.text("ab/", max_size=2), inner, max_size=3)
    ),
    max_leaves=6,
)
OBJECTS = st.dictionaries(st.text("mab/", max_size=2), PLAIN, max_size=3)


def value(text: str) -> Any:  # noqa: ANN401 - any JSON value
    """Read a text with comments."""
    return json.loads(jsonc.plain(text))


def test_comments_and_trailing_commas_become_spaces() -> None:
    """Every offset stays what it was, and strings are left alone."""
    clear = jsonc.plain(COMMENTED)
    assert len(clear) == len(COMMENTED)
    assert value(COMMENTED) == {
        "servers": {"a": {"command": "x"}},
        "other": [1, "// no comment", 2],
    }


def test_each_oddity_has_its_place_and_the_member_before_it() -> None:
    """What a trailing comma follows is named, with the line that closes."""
    found = jsonc.oddities(COMMENTED)
    assert [(one.kind, one.line, one.after, one.closing) for one in found] == [
        ("comment", 2, "", 0),
        ("comment", 5, "", 0),
        ("comma", 6, "a", 8),
        ("comment", 6, "", 0),
        ("comment", 7, "", 0),
        ("comma", 9, "", 9),
        ("comma", 9, "other", 10),
    ]


def test_an_entry_is_added_and_everything_else_stays() -> None:
    """Comments, order, indentation: the new lines are the only difference."""
    after = jsonc.put(COMMENTED, ("servers", "humanmcp"), ENTRY)
    assert value(after)["servers"] == {"a": {"command": "x"}, "humanmcp": ENTRY}
    added = [line for line in after.splitlines() if line not in COMMENTED.splitlines()]
    assert added[0] == '    "humanmcp": {'
    for line in COMMENTED.splitlines():
        assert line in after


@pytest.mark.parametrize(
    "text",
    [
        '{\n    "mcpServers": {\n        "b": {}\n    }\n}\n',
        '{\n\t"mcpServers": {\n\t\t"b": {}\n\t}\n}',
        '{\r\n  "mcpServers": {\r\n    "b": {}\r\n  }\r\n}\r\n',
        '{"mcpServers":{}}',
    ],
)
def test_taking_out_what_was_put_in_gives_the_same_bytes(text: str) -> None:
    """Whatever the indentation and the line ends are."""
    path = ("mcpServers", "humanmcp")
    after = jsonc.put(text, path, ENTRY)
    assert after != text
    assert jsonc.take(after, path) == text
    assert ("\r\n" in text) == ("\r\n" in after)
    assert after.count("\n") - after.count("\r\n") in (0, after.count("\n"))


@given(OBJECTS, st.sampled_from([None, 1, 4, "\t"]))
def test_put_and_take_do_to_the_text_what_they_do_to_the_value(
    before: dict[str, Any], indent: int | str | None
) -> None:
    """Whatever is in the file, and however it is laid out."""
    text = json.dumps(before, indent=indent, ensure_ascii=False)
    put = jsonc.put(text, ("m",), ENTRY)
    assert value(put) == {**before, "m": ENTRY}
    assert list(value(put)) == list({**before, "m": ENTRY})
    taken = jsonc.take(put, ("m",))
    assert value(taken) == {key: one for key, one in before.items() if key != "m"}
    assert jsonc.take(taken, ("m",)) == taken


@given(st.text('{}[],:"/* \n\\a1', max_size=40))
def test_no_text_is_too_odd_to_be_looked_at(text: str) -> None:
    """Blanking and looking never fail and never change the length."""
    assert len(jsonc.plain(text)) == len(text)


@pytest.mark.parametrize(
    ("text", "after"),
    [
        (r'{"a": {"b": "}"}, "c": [1, 2], "d\"": 1,}', 'd"'),
        ('{"a": {"b": "}"},}', "a"),
        ('{"a": {"b": "}",}, "c": [1, 2]}', "b"),
        ('{"a": {"b": "}"}, "c": [1, 2,]}', ""),
    ],
)
def test_the_name_before_a_comma_is_the_one_of_its_own_level(text: str, after: str) -> None:
    """Strings with brackets in them count as strings."""
    assert [one.after for one in jsonc.oddities(text)] == [after]
