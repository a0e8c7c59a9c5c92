"""JSON as a tree: places in it, its layout, and names that are nearly the same."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from humanmcp.protocol.json.jsonrpc import compact
from humanmcp.protocol.json.spelling import alike, meant_by, slips
from humanmcp.protocol.json.tree import (
    DEEPEST_INDENT,
    array_at,
    at,
    follow,
    leaves,
    mapped,
    object_at,
    objects_at,
    pointer,
    pretty,
    text_at,
    well_formed,
)

_LEAF = st.none() | st.booleans() | st.integers() | st.text(max_size=5)
_VALUE = st.recursive(
    _LEAF, lambda inner: st.lists(inner) | st.dictionaries(st.text(max_size=5), inner), max_leaves=9
)


@pytest.mark.parametrize(
    ("steps", "found"),
    [
        ((), {"a": [{"b": None}, 2]}),
        (("a", 1), 2),
        (("a", "1"), 2),
        (("a", 0, "b"), None),
        (("a", "01"), "none"),
        (("a", 2), "none"),
        (("a", -1), "none"),
        (("b",), "none"),
        (("a", 1, "c"), "none"),
    ],
)
def test_steps_lead_to_a_value_or_nowhere(steps: tuple[str | int, ...], found: Any) -> None:  # noqa: ANN401 - any JSON value
    """`null` that is there is no place that is not there."""
    assert follow({"a": [{"b": None}, 2]}, *steps, missing="none") == found


def test_what_is_of_another_type_counts_as_nothing() -> None:
    """What came over a wire may be anything: an object, a list and a text are read as such."""
    value = {"object": {"a": 1}, "list": [1], "text": "hi", "null": None}
    read = {
        name: (object_at(value, name), array_at(value, name), text_at(value, name))
        for name in value
    }
    assert read == {
        "object": ({"a": 1}, [], ""),
        "list": ({}, [1], ""),
        "text": ({}, [], "hi"),
        "null": ({}, [], ""),
    }
    assert (object_at(None, "a"), array_at(7, "a", "b"), text_at("x", "a")) == ({}, [], "")
    assert objects_at({"list": [1, {}, "x", {"a": 2}]}, "list") == [{}, {"a": 2}]


@given(_VALUE)
def test_every_leaf_stands_at_its_path(value: Any) -> None:  # noqa: ANN401 - any JSON value
    """Whatever the value, also where names are empty or look like indexes."""
    for path, leaf in leaves(value):
        assert follow(value, *path, missing=...) == leaf
    assert mapped(value, lambda leaf: leaf) == value


def test_leaves_and_names_are_changed_and_what_they_stand_in_is_not() -> None:
    """A pair stays a pair: a literal of a program is written of it."""
    assert mapped({"a": ["b", (1,)]}, str) == {"a": ["b", ("1",)]}
    assert mapped({"a": "b"}, str.upper, names=True) == {"A": "B"}


def test_half_a_character_cannot_be_sent_on() -> None:
    """Two halves that belong together are one character."""
    assert well_formed({"\ud83d": ["\ud83d\ude00", 1, None]}) == {"\ufffd": ["😀", 1, None]}


# -- JSON Pointers -------------------------------------------------------------------------------

BODY = {"a": [1, {"b": None}], "c/d": 3, "~": 4, "": 5, "01": 6}


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("", BODY),
        ("/a/0", 1),
        ("/a/1/b", None),
        ("/c~1d", 3),
        ("/~0", 4),
        ("/", 5),
        ("/01", 6),
        *((way, "nothing") for way in ("/none", "/a/2", "/a/b", "/a/-1", "/a/00", "/a/0/x")),
        ("/a/①", "nothing"),
        ("/a/" + "1" * 5000, "nothing"),
    ],
)
def test_a_pointer_leads_through_objects_and_lists(text: str, found: object) -> None:
    """RFC 6901, 4: an index has no sign and no zero before it; 5,000 digits ended a lesson."""
    assert at(BODY, text, "nothing") == found


@pytest.mark.parametrize("path", [(), ("a", 1, "b"), ("c/d",), ("~",), ("",), ("01",)])
def test_what_is_written_leads_back(path: tuple[object, ...]) -> None:
    """`~` and `/` are escaped, in this order."""
    value: object = BODY
    for step in path:
        value = value[step]  # type: ignore[index] # an object or a list, as the path says
    assert at(BODY, pointer(path), "nothing") == value


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


@pytest.mark.parametrize(
    ("one", "other", "count"),
    [
        ("", "", 0),
        ("text", "text", 0),
        ("tex", "text", 1),
        ("textt", "text", 1),
        ("tezt", "text", 1),
        ("etxt", "text", 1),
        ("tetx", "text", 1),
        ("txet", "text", 1),
        ("ba", "ab", 1),
        ("ettx", "text", 2),
        ("txt", "text", 1),
        ("", "abc", 3),
        ("abc", "", 3),
        ("abcd", "", 4),
        ("", "abcdef", 4),
        ("abcd", "wxyz", 4),
        ("cab", "abc", 2),
        ("uri", "url", 1),
    ],
)
def test_letters_left_out_added_changed_or_swapped_are_counted(
    one: str, other: str, count: int
) -> None:
    """Up to one more than the limit; it is the same both ways."""
    assert slips(one, other, 3) == count
    assert slips(other, one, 3) == count
    assert slips(one, other, 1) == min(count, 2)


def test_a_word_of_more_than_64_letters_is_compared_with_none() -> None:
    """It costs more than it says."""
    assert alike("a" * 64, ("a" * 64,)) == "a" * 64
    assert alike("a" * 65, ("a" * 65,)) is None


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("ab", None),
        ("a", None),
        ("url", "uri"),
        ("rui", "uri"),
        ("urlx", None),
        ("mimeTyp", "mimeType"),
        ("mimTyp", "mimeType"),
        ("mmTyp", None),
        ("messages", "message"),
        ("s", None),
        ("\uff4d\uff45\uff53\uff53\uff41\uff47\uff45", "message"),
        ("mess-age", "message"),
        (["uri"], None),
        (7, None),
    ],
)
def test_a_slip_counts_by_the_length_of_the_word(typed: object, meant: str | None) -> None:
    """None in two letters, one in three to seven, two in eight."""
    known = [7, None, "xy", "", "uri", "message", "mimeType"]
    assert alike(typed, known) == meant


def test_of_words_that_are_near_the_nearest_is_meant_and_then_the_first() -> None:
    """One slip before two."""
    assert alike("protocols", ["prototype", "protocol"]) == "protocol"
    assert alike("abcdefgx", ["abcdefxy", "abcdefgh"]) == "abcdefgh"
    assert alike("cat", ["bat", "hat"]) == "bat"
    assert alike("cat", ["bat", "CAT"]) == "CAT"


@pytest.mark.parametrize(
    ("missing", "typed", "meant"),
    [
        ("resourceTemplates", ["x", "templates"], "templates"),
        ("uri", ["resourceUri"], "resourceUri"),
        ("supportedVersions", ["protocol_version"], "protocol_version"),
        ("supportedVersions", ["versioned"], None),
        ("name", ["na"], None),
        ("name", ["nam"], "nam"),
        ("content", ["x", "contents", "con"], "contents"),
        ("content", ["x", "y"], None),
        ("content", [], None),
    ],
)
def test_a_name_in_the_place_of_a_missing_one_may_be_a_part_of_it(
    missing: str, typed: list[str], meant: str | None
) -> None:
    """Or may end in its last word: a near one before these."""
    assert meant_by(missing, typed) == meant


@pytest.mark.parametrize(
    ("step", "found"),
    [("9" * 9, "none"), ("9" * 10, "none"), (0, "a"), ("0", "a"), ("00", "none"), ("+0", "none")],
)
def test_a_step_is_an_index_of_digits(step: str | int, found: str) -> None:
    """Without a sign or a zero before it."""
    assert follow(["a"], step, missing="none") == found
    assert follow({"0": "b"}, step, missing="none") == ("b" if step == "0" else "none")


def test_a_half_character_alone_is_replaced_and_others_stay() -> None:
    """In a name as in a value."""
    assert well_formed(["é", "\udc00a\ud800", True]) == ["é", "\ufffda\ufffd", True]
    assert pointer(["a/b", "~1", 0, ""]) == "/a~1b/~01/0/"


@pytest.mark.parametrize(
    ("text", "laid_out"),
    [
        ("]", "\n]"),
        ('{"a"', '{\n  "a"'),
        ("[1,", "[\n  1,\n  "),
        ("{]", "{\n  \n]"),
        ("[}", "[\n  \n}"),
        ("[[]]", "[\n  []\n]"),
        ('a b "', 'ab"'),
    ],
)
def test_what_is_no_json_is_laid_out_as_far_as_it_goes(text: str, laid_out: str) -> None:
    """A person sees what came."""
    assert pretty(text) == laid_out
