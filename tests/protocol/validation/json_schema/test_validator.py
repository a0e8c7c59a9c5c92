"""Schemas from strangers: checked as advice, without danger."""

import json
import math
import subprocess
import sys
from pathlib import Path
from typing import Any, Final

import hypothesis.strategies as st
import jsonschema
import pytest
from hypothesis import assume, example, given

from humanmcp.protocol.diagnostics import kinds
from humanmcp.protocol.json.jsonrpc import Json
from humanmcp.protocol.tables import schemas
from humanmcp.protocol.validation.json_schema import references, validator
from tests.protocol.validation.json_schema.hostile_schemas import HOSTILE
from tests.support.waiting import PATIENCE


@pytest.fixture(scope="module")
def said_of_the_evil() -> dict[str, list[str]]:
    """Return what is said of every hostile schema, from a process that may take no longer."""
    here = str(Path(__file__).parent)
    code = (
        "import json, socket, sys\n"
        f"sys.path.insert(0, {here!r})\n"
        "import hostile_schemas as hostile\n"
        "def refuse(*_args): raise SystemExit('a schema opened a connection')\n"
        "socket.socket.connect = refuse\n"
        "print(json.dumps(hostile.say_of_all()))\n"
    )
    run = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, check=False, timeout=PATIENCE
    )
    assert run.returncode == 0, run.stderr.decode()
    said: dict[str, list[str]] = json.loads(run.stdout)
    return said


@pytest.mark.parametrize("name", HOSTILE)
def test_no_schema_whatever_stalls_ends_the_process_or_reaches_out(
    name: str, said_of_the_evil: dict[str, list[str]]
) -> None:
    """A bound on time and size for whatever a peer's schema asks, and a word on it.

    Each is held against each value in one process, which has seconds for what took hours: a text
    that breaks the pattern is told, and what is not compared is said to be unchecked.
    """
    assert sorted(said_of_the_evil[name]) == sorted(HOSTILE[name].said)


def test_everyday_patterns_are_tried() -> None:
    """A pattern is held against the whole text, as far as it says so."""
    schema = {"type": "string", "pattern": "^[0-9]{3}-[0-9]{4}$"}
    assert validator.mismatch("100-0001", schema) is None
    assert validator.mismatch("1000001", schema) is not None


@pytest.mark.parametrize(
    ("pattern", "fits", "breaks"),
    [
        ("^(ab)+$", "abab", "ababa"),
        (r"^[^@]+@[^@]+\.[a-z]+$", "a@b.jp", "a@b"),
        (r"^(?=.*[A-Z])(?=.*\d).{4,}$", "aB3x", "ab3x"),
        (r"^(\w)\1$", "aa", "ab"),
        ("^" + "a?" * 26 + "a" * 26 + "$", "a" * 26, "a" * 25),
    ],
)
def test_repeated_groups_look_arounds_and_references_back_are_tried(
    pattern: str, fits: str, breaks: str
) -> None:
    """Such patterns were silently accepted, whatever was typed."""
    assert validator.compare(fits, {"pattern": pattern}) == validator.Comparison()
    assert validator.mismatch(breaks, {"pattern": pattern}) is not None


@pytest.mark.parametrize(
    ("schema", "value", "why"),
    [
        ({"pattern": "^(?=a)(a+)+$"}, "a" * 5000, "too costly"),
        ({"enum": list(range(20_000))}, 5, "too costly"),
        ({"properties": {f"p{at}": {} for at in range(100_000)}}, 5, "too large"),
        ({"pattern": "a{1,100000}"}, "a", "odd pattern"),
        ({"type": "number"}, float("inf"), "no JSON"),
        ({"type": "string"}, "\ud800", "failed"),
        ({"$schema": "http://json-schema.org/draft-03/schema#"}, 5, "unknown dialect"),
        ({"$schema": "http://[bad"}, 5, "unknown dialect"),
        ({"$ref": "https://example.com/x"}, 5, "remote reference"),
        ({"$ref": "#/$defs/x"}, 5, "broken reference"),
    ],
)
def test_what_is_not_compared_is_said_to_be_unchecked(
    schema: dict[str, Any], value: Json, why: str
) -> None:
    """Silence looked like approval."""
    found = validator.first_found(kinds.structured_content_mismatch, value, schema, ("result",))
    assert [(each.code, dict(each.detail)["rule"]) for each in found] == [("M91", why)]


@pytest.mark.parametrize(
    ("schema", "value", "fits"),
    [
        ({"$ref": "#/$defs/a~1b", "$defs": {"a/b": {"type": "string"}}}, 5, False),
        ({"$ref": "#/$defs/a%20b", "$defs": {"a b": {"type": "string"}}}, "x", True),
        ({"$ref": "#here", "$defs": {"x": {"$anchor": "here", "type": "string"}}}, 5, False),
        ({"$id": "https://a.jp/s", "$ref": "t", "$defs": {"t": {"$id": "t", "type": "null"}}},
         5, False),
        ({"allOf": [{"type": "array"}, {"$ref": "#/allOf/0"}]}, [], True),
        ({"items": {"$ref": "#"}, "type": "array"}, [[[]]], True),
        ({"items": {"$ref": "#"}, "type": "array"}, [[5]], False),
        ({"$dynamicAnchor": "n", "items": {"$dynamicRef": "#n"}, "type": "array"}, [5], False),
        ({"properties": {"$ref": {"type": "string"}}}, {"$ref": 5}, False),
        ({"const": {"$ref": "nowhere"}}, {"$ref": "nowhere"}, True),
    ],
)  # fmt: skip
def test_references_inside_a_schema_are_followed(
    schema: dict[str, Any],
    value: Json,
    fits: bool,  # noqa: FBT001 - a table
) -> None:
    """Pointers, anchors and identifiers; a property of that name, and data, are no references."""
    found = validator.compare(value, schema)
    assert (found.unchecked, found.differences == ()) == ((), fits)


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "object"},
        {"type": "object", "properties": {"a": {"type": "string", "enum": ["x"], "minLength": 1}}},
        {"type": "array", "items": {"type": "integer", "minimum": 0}, "maxItems": 3},
        {"$schema": "http://json-schema.org/draft-07/schema#", "required": ["a"], "default": {}},
        {"anyOf": [{"type": "string"}, {"$ref": "#/$defs/x"}], "$defs": {"x": {}}},
        {"type": ["string", "null"]},
    ],
)
def test_a_valid_schema_has_no_trouble(schema: dict[str, Any]) -> None:
    """Everyday schemas, and less usual ones."""
    assert validator.trouble_in(schema) is None


@pytest.mark.parametrize(
    ("schema", "path"),
    [
        ({"type": "objct"}, ("type",)),
        ({"properties": {"a": {"type": "strng"}}}, ("properties", "a", "type")),
        ({"required": ["a", "a"]}, ("required",)),
        ({"minLength": -1}, ("minLength",)),
        ({"properties": []}, ("properties",)),
        ({"items": 5}, ("items",)),
        ({"description": 5}, ("description",)),
    ],
)
def test_a_schema_that_is_none_is_told_with_its_place(
    schema: dict[str, Any], path: tuple[str, ...]
) -> None:
    """Several model APIs reject all tools when one schema is wrong."""
    found = validator.trouble_in(schema)
    assert found is not None
    assert (found.kind, found.path) == (kinds.invalid_json_schema, path)


@pytest.mark.parametrize("pattern", ["^(?:(?=a)a|(?=a)aa)+$", r"^(?:(a|b)\1|a|aa)+$"])
def test_a_pattern_that_goes_back_too_often_is_said_to_be_unchecked(pattern: str) -> None:
    """Of the text itself, within a form that was tried, and of a name."""
    text = "a" * 40 + "!"
    cases: tuple[tuple[dict[str, Any], Json], ...] = (
        ({"pattern": pattern}, text),
        ({"anyOf": [{"pattern": pattern}, {"type": "null"}]}, text),
        ({"propertyNames": {"pattern": pattern}}, {text: 1}),
        ({"oneOf": [{"type": "null"}, {"items": {"pattern": pattern}}]}, [text]),
        ({"anyOf": [{"type": "null"}, {"anyOf": [{"not": {"pattern": pattern}}]}]}, text),
    )
    for schema, value in cases:
        found = validator.compare(value, schema)
        assert (found.differences, dict(found.unchecked)["rule"]) == ((), "too costly")


def test_a_schema_that_is_too_large_is_taken_at_its_word() -> None:
    """It is not looked through: nothing is said of it."""
    nested: dict[str, Any] = {"type": "strin"}
    for _level in range(200):
        nested = {"not": nested}
    assert not references.within_limits(nested)
    assert validator.trouble_in(nested) is None
    assert validator.trouble_in({**nested, "$ref": "#/nowhere"}) is None
    assert references.within_limits(nested["not"]["not"]) is False
    assert references.within_limits({"not": {}}) is True


def test_the_library_is_only_imported_when_it_is_needed() -> None:
    """The server starts in tens of milliseconds."""
    code = (
        "import sys\n"
        "from humanmcp.protocol.validation import check\n"
        "from humanmcp.protocol.validation.json_schema import validator\n"
        "assert 'jsonschema_rs' not in sys.modules\n"
        "assert 'humanmcp.protocol.repair.parser' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


# -- the referee: another library on the same schemas --------------------------------------------

_NAMES = st.sampled_from(["a", "b", "c"])
_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.floats(-5, 5) | st.sampled_from(["", "a"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_NAMES, inner, max_size=3),
    max_leaves=8,
)
_TYPES = st.sampled_from(["string", "number", "integer", "boolean", "object", "array", "null"])
_FEW = st.integers(0, 3)


def _with(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Make schemas of every keyword that a sentence of ours speaks of."""
    several = st.lists(inner, min_size=1, max_size=3)
    return st.fixed_dictionaries(
        {},
        optional={
            "type": _TYPES | st.lists(_TYPES, min_size=1, max_size=2, unique=True),
            "enum": st.lists(_VALUES, min_size=1, max_size=3),
            "const": _VALUES,
            "minimum": _FEW,
            "exclusiveMaximum": _FEW,
            "multipleOf": st.integers(1, 3),
            "minLength": _FEW,
            "pattern": st.sampled_from(["^a", "a$", "(?=a)", "^(a|b)+$"]),
            "minItems": _FEW,
            "uniqueItems": st.booleans(),
            "contains": inner,
            "minProperties": _FEW,
            "required": st.lists(_NAMES, unique=True),
            "dependentRequired": st.dictionaries(_NAMES, st.lists(_NAMES, unique=True), max_size=2),
            "properties": st.dictionaries(_NAMES, inner, max_size=3),
            "patternProperties": st.dictionaries(st.sampled_from(["^a", "b"]), inner, max_size=2),
            "additionalProperties": inner,
            "propertyNames": inner,
            "items": inner,
            "prefixItems": several,
            "allOf": several,
            "anyOf": several,
            "oneOf": several,
            "not": inner,
            "if": inner,
            "then": inner,
            "else": inner,
            "unevaluatedProperties": inner,
        },
    )


_SCHEMAS = st.recursive(st.booleans() | _with(st.booleans()), _with, max_leaves=6)


@example(
    {"anyOf": [{"pattern": "(?=a)"}, {"unevaluatedProperties": False, "pattern": "(?=a)"}]}, None
)
@given(_SCHEMAS, _VALUES)
def test_a_value_fits_a_schema_where_the_referee_says_so(schema: Json, value: Json) -> None:
    """Another library, the same verdict; and a place where that one, too, finds something."""
    referee = jsonschema.Draft202012Validator(schema)
    theirs = list(referee.iter_errors(value))
    ours = validator.compare(value, schema)
    assert ours.unchecked == ()
    assert bool(ours.differences) == bool(theirs), (ours, theirs)
    places = {tuple(error.absolute_path) for error in theirs}
    places |= {tuple(each.absolute_path) for error in theirs for each in error.context or ()}
    for each in ours.differences:
        assert any(each.path[: len(place)] == place for place in places)


@given(_SCHEMAS.filter(lambda schema: isinstance(schema, dict)))
def test_a_schema_is_valid_where_the_referee_says_so(schema: dict[str, Any]) -> None:
    """What the table of keywords makes is always valid."""
    jsonschema.Draft202012Validator.check_schema(schema)
    assert validator.trouble_in(schema) is None


_REFER = ["$schema", "$ref", "$id", "$anchor", "$defs"]
_JUDGE = ["type", "properties", "items", "enum", "pattern", "patternProperties", "required"]
KEYWORDS = [*_REFER, *_JUDGE, "anyOf", "not", "format", "minimum"]

_ANY = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.text(max_size=3) | st.sampled_from(KEYWORDS), inner, max_size=4)
    ),
    max_leaves=12,
)


@given(_ANY, _ANY)
def test_no_json_whatever_makes_the_comparison_raise(schema: Json, value: Json) -> None:
    """A `$schema` that is a list, a number or no address crashed the check."""
    validator.compare(value, schema)
    if isinstance(schema, dict):
        validator.trouble_in(schema)


@given(_ANY.filter(lambda schema: isinstance(schema, dict)))
def test_what_the_referee_refuses_as_a_schema_we_refuse(schema: dict[str, Any]) -> None:
    """M40, in the dialect that counts where none is named."""
    assume("$schema" not in schema and math.isfinite(sum(_numbers(schema))))
    referee = jsonschema.Draft202012Validator(jsonschema.Draft202012Validator.META_SCHEMA)
    if not referee.is_valid(schema):
        assert validator.trouble_in(schema) is not None


def _numbers(value: Json) -> list[float]:
    if isinstance(value, dict):
        return _numbers(list(value.values()))
    if isinstance(value, list):
        return [number for item in value for number in _numbers(item)]
    return [value] if isinstance(value, float) else []


@pytest.mark.parametrize(
    ("schema", "found"),
    [
        ({"enum": ["C", "F"]}, [("C", ""), ("F", "")]),
        (
            {"enum": ["C", "F"], "enumNames": ["Celsius", "Fahrenheit"]},
            [("C", "Celsius"), ("F", "Fahrenheit")],
        ),
        ({"enum": ["C", "F"], "enumNames": ["one too few"]}, [("C", ""), ("F", "")]),
        ({"const": None}, [(None, "")]),
        ({"oneOf": [{"const": 1, "title": "One"}, {"const": 2}]}, [(1, "One"), (2, "")]),
        ({"anyOf": [{"const": 1}]}, [(1, "")]),
        ({"anyOf": [{"const": 1}, {"type": "string"}]}, []),
        ({"anyOf": [{"const": 1}, "const"]}, []),
        ({"oneOf": 7}, []),
        ({}, []),
    ],
)
def test_the_choices_of_a_schema_come_with_their_titles(
    schema: dict[str, Any], found: list[tuple[Json, str]]
) -> None:
    """MCP has had three ways to write them; where other values are allowed, too, there are none."""
    assert schemas.choices(schema) == found


AS_ECMA_262: Final = {
    ".": "\x85\xa0\ufeff\u0663\u00e9\U0001f642",
    r"\s": "\n\r\u2028\u2029\xa0\ufeff",
    r"\d": "",
    r"\w": "",
    "[^a]": "\n\r\u2028\u2029\x85\xa0\ufeff\u0663\u00e9\U0001f642",
}
"""Patterns, and which of the characters of the last one each takes.

`.` takes no LineTerminator: <https://tc39.es/ecma262/#prod-Atom>. JSON Schema: patterns "SHOULD be
valid regular expressions according to ECMA-262"
<https://json-schema.org/draft/2020-12/json-schema-core#section-6.4>. The library did not do so for
`.` before 0.61.
"""


@pytest.mark.parametrize("pattern", AS_ECMA_262)
def test_the_library_reads_patterns_as_ecma_262_does(pattern: str) -> None:
    """Its next version may not: a client in JavaScript would then take what we refuse."""
    taken = [
        one
        for one in AS_ECMA_262["[^a]"]
        if validator.compare(one, {"pattern": f"^{pattern}$"}) == validator.Comparison()
    ]
    assert "".join(taken) == AS_ECMA_262[pattern]


def test_a_text_is_compared_with_a_pattern_of_a_usual_size() -> None:
    """How large the library compiles a pattern has changed before: nothing was compared then."""
    up_to_999 = {"type": "string", "pattern": "^.{1,999}$"}
    assert validator.compare("x" * 300, up_to_999) == validator.Comparison()
    assert [one.path for one in validator.compare("", up_to_999).differences] == [()]


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        ({"type": "strin"}, 1),
        ({"type": "string", "pattern": "^a+$"}, "b"),
        ({"properties": {"n": {"type": "integer"}}}, {"n": "x"}),
    ],
)
def test_where_the_library_is_missing_nothing_is_said_to_be_right(
    monkeypatch: pytest.MonkeyPatch, schema: dict[str, Json], value: Json
) -> None:
    """A broken schema passed as one that was judged, and a pattern ended the whole check."""
    monkeypatch.setitem(sys.modules, "jsonschema_rs", None)
    validator._weigh.cache_clear()
    trouble, compared = validator.trouble_in(schema), validator.compare(value, schema)
    assert trouble is not None
    assert trouble.kind is kinds.schema_not_checked
    assert compared.differences == ()
    assert dict(compared.unchecked)["why"] == "no library"
    assert not validator.is_here()  # so each call does not say it again


@pytest.mark.parametrize(
    ("pattern", "is_compared"),
    [("a" * (validator.LONGEST_PATTERN - 1), True), ("a" * validator.LONGEST_PATTERN, True),
     ("a" * (validator.LONGEST_PATTERN + 1), False)],
    ids=["one less", "the limit", "one more"],
)  # fmt: skip
def test_a_pattern_may_be_as_long_as_the_limit(pattern: str, *, is_compared: bool) -> None:
    """A longer one is not compiled, so nothing is said to be right or wrong."""
    differences, unchecked = validator.compare("b", {"pattern": pattern})
    assert [one.path for one in differences] == ([()] if is_compared else [])
    assert dict(unchecked).get("why", "") == ("" if is_compared else "odd pattern")
