"""What a value or a schema breaks, told by rule in the language of whoever reads it."""

from typing import Any

import pytest

from humanmcp import locales
from humanmcp.locales import LANGUAGES, sentences_of
from humanmcp.protocol.diagnostics.model import Diagnostic, Severity
from humanmcp.protocol.json.jsonrpc import Json
from humanmcp.protocol.validation.json_schema import validator
from tests.support.speaking import said_in

NAMED = {"properties": {"a": {}}, "additionalProperties": False}
TWO_FORMS = {"oneOf": [{"type": "integer"}, {"minimum": 0}]}

CASES: tuple[tuple[dict[str, Any], Json, str, str], ...] = (
    (
        {"type": "integer"},
        "x",
        '"x" does not have the type integer.',
        '"x" は型 integer ではありません。',
    ),
    ({"type": ["string", "null"]}, 5, "5 does not have the type string", "5 は型 string, null"),
    ({"required": ["a", "b", "c"]}, {"a": 1}, "Missing: b, c.", "b, c がありません。"),
    ({"enum": ["C", 1]}, "F", '"F" is not one of "C", 1.', '"F" は "C", 1 のどれでもありません。'),
    ({"const": "C"}, "F", 'Only "C" is.', 'ここは "C" だけです。'),
    (NAMED, {"a": 1, "z": 2}, "does not allow z.", "z を許していません。"),
    ({"minimum": 1}, 0, "0 is less than 1.", "0 は 1 より小さい"),
    ({"maximum": 1}, 2, "2 is more than 1.", "2 は 1 より大きい"),
    ({"exclusiveMinimum": 1}, 1, "1 is not more than 1.", "1 は 1 より大きくありません。"),
    ({"exclusiveMaximum": 1}, 1, "1 is not less than 1.", "1 は 1 より小さくありません。"),
    ({"multipleOf": 5}, 7, "7 is not a multiple of 5.", "7 は 5 の倍数ではありません。"),
    ({"minLength": 3}, "ab", 'of "ab" is 2. The minimum is 3.', "3 文字以上が必要です。"),
    ({"maxLength": 1}, "ab", 'of "ab" is 2. The maximum is 1.', "1 文字までにしてください。"),
    ({"pattern": "^[0-9]+$"}, "ab", "does not match the pattern ^[0-9]+$.", "パターン ^[0-9]+$"),
    ({"minItems": 2}, [1], "the array is 1. The minimum is 2.", "2 個以上が必要です。"),
    ({"maxItems": 1}, [1, 2], "is 2. The maximum is 1.", "項目は 2 個です。1 個まで"),
    ({"uniqueItems": True}, [1, 1], "The array has the same item twice.", "同じ項目が 2 つ"),
    ({"contains": {"const": 1}}, [2], "not have the item that it needs.", "配列に、必要な項目が"),
    ({"minProperties": 1}, {}, "The number of members is 0. The minimum is 1.", "メンバーは 0 個"),
    (
        {"maxProperties": 0},
        {"a": 1},
        "The number of members is 1. The maximum is 0.",
        "0 個までにしてください。",
    ),
    (
        {"dependentRequired": {"a": ["b"]}},
        {"a": 1},
        "a is there, so b must also be there.",
        "a があるので、b も必要です。",
    ),
    (
        {"dependentRequired": {"no": ["x"], "c": ["a"], "a": ["c", "b", "d"]}},
        {"a": 1, "c": 2},
        "a is there, so b, d must also be there.",
        "a があるので、b, d も必要です。",
    ),
    ({"anyOf": [{"type": "null"}]}, [1], "[…] matches none of the", "[…] は、許されるどの形"),
    (TWO_FORMS, -1.5, "-1.5 matches none of the", "-1.5 は、許されるどの形にも合いません。"),
    (TWO_FORMS, 1, "1 matches several forms", "1 は複数の形に合います"),
    ({"format": "date"}, "x", '"x" does not have the format date.', '"x" は形式 date では'),
    ({"not": {"type": "object"}}, {"a": 1}, "{…} has a form that is not", "{…} の形は許されません"),
    (
        {"properties": {"a": False}},
        {"a": 1},
        "1 is not allowed. Nothing",
        "ここには何も書けません。",
    ),
)


def told(detail: tuple[tuple[str, str], ...], language: str, code: str = "M06") -> str:
    """Say a problem with this detail."""
    return said_in(language, locales.describe, Diagnostic(code, Severity.ERROR, detail))


@pytest.mark.parametrize(("schema", "value", "english", "japanese"), CASES)
def test_every_common_rule_speaks_both_languages(
    schema: dict[str, Any], value: Json, english: str, japanese: str
) -> None:
    """M06: the library's English stood in the middle of a Japanese sentence."""
    found = validator.mismatch(value, schema)
    assert found is not None
    assert english in told(found[1], "en")
    assert japanese in told(found[1], "ja")


def test_every_sentence_of_a_rule_is_met() -> None:
    """No sentence is kept for a rule, or for a reason not to compare, that cannot be found."""
    met = {dict(found[1])["rule"] for s, v, *_ in CASES if (found := validator.mismatch(v, s))}
    met |= {
        dict(validator.compare(value, schema).unchecked)["rule"] for schema, value, *_ in UNCHECKED
    }
    met.add("no library")  # `test_validator.py`
    assert met == set(sentences_of("schema_rule", "en"))


UNCHECKED: tuple[tuple[dict[str, Any], Json, str, str], ...] = (
    ({"enum": list(range(100_000))}, 5, "too large to compare", "大きすぎて"),
    ({"$ref": "#"}, 5, "could take too long", "時間がかかりすぎる"),
    ({"pattern": "a{1,100000}"}, "a", "patterns is too large", "大きすぎるもの"),
    ({}, float("nan"), "a number that JSON does not have", "JSON にない数"),
    ({"type": "string"}, "\ud800", "could not compare it", "値を比べられません"),
    ({"type": "strin"}, "a", "not a valid JSON Schema", "JSON Schema として正しく"),
    ({"$schema": "x"}, 5, '$schema is "x", which is not a known', '$schema は "x" ですが'),
    ({"$ref": "x"}, 5, '$ref points to "x", outside', 'スキーマの外の "x" を'),
    (
        {"$ref": "#x"},
        5,
        '$ref points to "#x", and there is nothing',
        '$ref が "#x" を指していますが',
    ),
)


@pytest.mark.parametrize(("schema", "value", "english", "japanese"), UNCHECKED)
def test_what_was_not_compared_is_said_with_the_reason(
    schema: dict[str, Any], value: Json, english: str, japanese: str
) -> None:
    """In both languages."""
    detail = validator.compare(value, schema).unchecked
    assert english in told(detail, "en", "M91")
    assert japanese in told(detail, "ja", "M91")


def test_a_rule_without_a_sentence_is_told_in_the_librarys_words() -> None:
    """How many items must be of a kind is seldom asked."""
    found = validator.mismatch([1], {"contains": {"const": 1}, "minContains": 2})
    assert found is not None
    assert "rule" not in dict(found[1])
    for language in LANGUAGES:
        assert "None of [1] are valid" in told(found[1], language)


def test_names_that_no_pattern_covers_are_told() -> None:
    """Which they are only the library finds out."""
    schema = {"patternProperties": {"^a": {}}, "additionalProperties": False}
    found = validator.mismatch({"b": 1, "ab": 2}, schema)
    assert found is not None
    assert "The schema does not allow b." in told(found[1], "en")


def test_a_name_that_is_not_allowed_is_told_by_the_rule_it_breaks() -> None:
    """`propertyNames` is a schema of its own."""
    found = validator.mismatch({"abc": 1}, {"propertyNames": {"maxLength": 2}})
    assert found is not None
    assert 'The length of "abc" is 3. The maximum is 2.' in told(found[1], "en")


def test_a_large_value_is_cut_to_a_readable_length() -> None:
    """A sentence is not the place for a page of somebody's text."""
    found = validator.mismatch("x" * 5000, {"enum": ["y" * 5000, "z" * 5000]})
    assert found is not None
    assert len(told(found[1], "ja")) < 250


@pytest.mark.parametrize(
    ("schema", "english", "japanese"),
    [
        ({"type": "strin"}, '"strin" matches none of the', '"strin" は、許されるどの形にも'),
        ({"pattern": "["}, "not have the format regex.", '"[" は形式 regex ではありません。'),
        ({"minLength": -1}, "-1 is less than 0.", "-1 は 0 より小さい"),
        ({"required": ["a", "a"]}, "has the same item twice", "同じ項目が 2 つ"),
    ],
)
def test_what_is_wrong_with_a_schema_speaks_both_languages(
    schema: dict[str, Any], english: str, japanese: str
) -> None:
    """M40: a slip in a tool's declaration, in the language of whoever made it."""
    found = validator.trouble_in(schema)
    assert found is not None
    assert english in told(found.detail, "en", "M40")
    assert japanese in told(found.detail, "ja", "M40")


def test_a_problem_that_was_kept_before_rules_had_sentences_is_still_told() -> None:
    """The inbox keeps problems in files: an older one has only the library's words."""
    assert "'x' is odd" in told((("why", "'x' is odd"),), "ja")


@pytest.mark.parametrize(
    ("schema", "value", "path", "detail"),
    [
        ({"type": ["string", "null"]}, 1, (), "value=1 rule=type limit=string, null"),
        ({"enum": [1, "a", None]}, 2, (), 'value=2 rule=enum limit=1, "a", null'),
        ({"const": {"a": 1}}, 2, (), "value=2 rule=const limit={…}"),
        ({"minimum": 3}, 2, (), "value=2 rule=minimum limit=3"),
        ({"exclusiveMinimum": 3}, 3, (), "value=3 rule=exclusiveMinimum limit=3"),
        ({"maximum": 3}, 4, (), "value=4 rule=maximum limit=3"),
        ({"exclusiveMaximum": 3}, 3, (), "value=3 rule=exclusiveMaximum limit=3"),
        ({"multipleOf": 2}, 3, (), "value=3 rule=multipleOf limit=2"),
        ({"minLength": 2}, "é", (), 'value="é" rule=minLength limit=2 count=1'),
        ({"maxLength": 2}, "abc", (), 'value="abc" rule=maxLength limit=2 count=3'),
        ({"minItems": 2}, [1], (), "value=[…] rule=minItems limit=2 count=1"),
        ({"maxItems": 1}, [1, 2], (), "value=[…] rule=maxItems limit=1 count=2"),
        ({"uniqueItems": True}, [1, 1], (), "value=[…] rule=uniqueItems"),
        ({"minProperties": 2}, {"a": 1}, (), "value={…} rule=minProperties limit=2 count=1"),
        ({"maxProperties": 0}, {"a": 1}, (), "value={…} rule=maxProperties limit=0 count=1"),
        ({"pattern": "^a"}, "b", (), 'value="b" rule=pattern limit=^a'),
        ({"format": "email"}, "x", (), 'value="x" rule=format limit=email'),
        ({"required": ["b", "a", "c"]}, {"a": 1}, (), "value={…} rule=required names=b, c"),
        (
            {"$ref": "#/$defs/a", "$defs": {"a": {"required": ["b", "c"]}}},
            {"c": 1},
            (),
            "value={…} rule=required names=b",
        ),
        (
            {"unevaluatedProperties": False},
            {"z": 1},
            ("z",),
            "value={…} rule=additionalProperties names=z",
        ),
        (NAMED, {"a": 1, "z": 2}, ("z",), "value={…} rule=additionalProperties names=z"),
        (
            {"properties": {"o": NAMED}},
            {"o": {"z": 1, "a": 1, "y": {}}},
            ("o", "z"),
            "value={…} rule=additionalProperties names=z, y",
        ),
        (
            {"additionalProperties": False},
            {"z": 1, "y": 2},
            ("z",),
            "value=1 rule=additionalProperties names=z, y",
        ),
        (
            {"additionalProperties": False},
            {"z": {"a": 1}, "y": [{}]},
            ("z",),
            "value={…} rule=additionalProperties names=z, y",
        ),
        (
            {"properties": {"additionalProperties": False}},
            {"additionalProperties": {"a": 1}},
            ("additionalProperties",),
            "value={…} rule=false",
        ),
        (
            {"properties": {"properties": {"type": "object", "additionalProperties": False}}},
            {"properties": {"z": {}}},
            ("properties", "z"),
            "value={…} rule=additionalProperties names=z",
        ),
        (
            {"dependentSchemas": {"additionalProperties": False}},
            {"additionalProperties": {"a": 1}},
            (),
            "value={…} rule=false",
        ),
        (
            {"propertyNames": {"minLength": 2}},
            {"z": 1},
            ("z",),
            'value="z" rule=minLength limit=2 count=1',
        ),
        (
            {"dependentRequired": {"q": ["r"], "x": ["a"], "a": ["b", "c"]}},
            {"a": 1, "c": 1, "x": 1},
            (),
            "value={…} rule=dependentRequired key=a names=b",
        ),
        ({"oneOf": [{"type": "integer"}, {}]}, 1, (), "value=1 rule=oneOf several"),
        ({"oneOf": [{"type": "string"}]}, 1, (), "value=1 rule=oneOf"),
        ({"anyOf": [{"type": "string"}]}, 1, (), "value=1 rule=anyOf"),
        ({"not": {"type": "integer"}}, 1, (), "value=1 rule=not"),
        ({"properties": {"a": False}}, {"a": 1}, ("a",), "value=1 rule=false"),
        ({"prefixItems": [{}], "items": False}, [1, 2], (1,), "value=2 rule=false"),
        ({"contains": {"const": 1}}, [2], (), "value=[…] rule=contains"),
        ({"contains": {"const": 1}, "minContains": 2}, [1], (), "value=[…]"),
        ({"contains": {"const": 1}, "maxContains": 1}, [1, 1], (), "value=[…]"),
        ({"unevaluatedItems": False}, [1], (), "value=[…]"),
        (
            {"properties": {"a": {"items": {"type": "string"}}}},
            {"a": ["x", 1]},
            ("a", 1),
            "value=1 rule=type limit=string",
        ),
    ],
)
def test_each_rule_has_its_place_and_what_fills_its_sentence(
    schema: dict[str, Any],
    value: Json,
    path: tuple[str | int, ...],
    detail: str,
) -> None:
    """The words of the library come first; they are used where there is no rule."""
    (found,) = validator.compare(value, schema).differences
    assert found.path == path
    assert found.detail[0][0] == "why"
    assert " ".join(f"{name}={said}" for name, said in found.detail[1:]) == detail


@pytest.mark.parametrize(
    ("schema", "rule", "value"),
    [
        ({"$schema": "http://x/"}, "unknown dialect", '"http://x/"'),
        ({"$ref": "#/x"}, "broken reference", '"#/x"'),
        ({"$ref": "http://x/"}, "remote reference", '"http://x/"'),
        ({"type": "strin"}, "invalid schema", '""'),
        ({"properties": 5}, "invalid schema", '""'),
        (
            {"$schema": "http://json-schema.org/draft-07/schema#", "items": 5},
            "invalid schema",
            '""',
        ),
        ({"$recursiveRef": "#"}, "too costly", '""'),
    ],
)
def test_each_reason_not_to_compare_is_told(schema: dict[str, Any], rule: str, value: str) -> None:
    """As a rule of its own: nothing is said to be right or wrong."""
    wanted = (("rule", rule), ("why", rule), ("value", value))
    assert validator.compare({}, schema) == validator.Comparison((), wanted)


def test_twenty_differences_are_told_and_the_value_of_each_at_its_place() -> None:
    """More are no help."""
    schema = {"items": {"type": "string"}}
    for count in (19, 20, 21):
        found = validator.compare([1] * count, schema).differences
        assert [one.path for one in found] == [(at,) for at in range(min(count, 20))]


@pytest.mark.parametrize(("count", "large"), [(1_999, False), (2_000, False), (2_001, True)])
def test_a_value_of_more_than_two_thousand_is_large(count: int, *, large: bool) -> None:
    """It is neither shown nor repeated."""
    assert validator.is_large([1] * count) == large
