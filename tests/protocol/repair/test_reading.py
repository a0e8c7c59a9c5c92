"""Texts that are almost JSON: every mistake is named, placed and fixed."""
# ruff: noqa: RUF001 - full-width and curly characters are what this is about

import json
import re
from typing import Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from humanmcp.protocol.diagnostics.model import Severity, TextEdit, applied
from humanmcp.protocol.json import jsonrpc
from humanmcp.protocol.repair import reading as json_reading
from tests.support.verdicts import hold_diagnostic

VALID: Final = (
    '{"a":1}',
    ' \t\r\n{"a" : [1, 2.0, -1e5, "x"]}\n',
    '{"text": "a，b：c ｛ “q” // no comment \'s\'"}',
    '{"big": 9007199254740993, "bigger": 123456789012345678901234567890}',
    r'{"emoji": "\ud83d\ude00", "path": "C:\\Users", "u": "é"}',
    '{"Ünï": "日本語\u2028"}',
    "[]",
    '"text"',
    "1e5",
)

BROKEN: Final = (
    # (3.2 or row, text, code, what the text becomes, the column of the problem)
    ("trailing comma", '{"a":["b",]}', "J02", '{"a":["b"]}', 10),
    ("trailing comma in object", '{"a":1,}', "J02", '{"a":1}', 7),
    ("two commas", '{"a":1,,"b":2}', "J02", '{"a":1,"b":2}', 8),
    ("single quotes", "{'a': 'it\\'s \"b\"'}", "J05", '{"a": "it\'s \\"b\\""}', 2),
    ("backticks", "{`a`: `b`}", "J05", '{"a": "b"}', 2),
    ("smart quotes", "{“a”: “b”}", "J04", '{"a": "b"}', 2),
    ("smart quotes inside value only", '{"a":“b”}', "J04", '{"a":"b"}', 6),
    ("smart quote at the end", '{"a":"b”}', "J04", '{"a":"b"}', 8),
    ("text after", '{"a":1} thanks', "J30", '{"a":1} ', 9),
    ("python literals", '{"a": True, "b": False}', "J14", '{"a": true, "b": false}', 7),
    ("None", '{"a": None}', "J14", '{"a": null}', 7),
    ("undefined", '{"a": undefined}', "J14", '{"a": null}', 7),
    ("comment //", '{"a":1 // one\n}', "J08", '{"a":1 \n}', 8),
    ("comment /* */", '{"a":/* one */1}', "J08", '{"a":1}', 6),
    ("comment #", '{"a":1 # one\n}', "J08", '{"a":1 \n}', 8),
    ("unquoted key", "{a: 1, b_c: 2}", "J06", '{"a": 1, "b_c": 2}', 2),
    ("unquoted Japanese key", "{名前: 1}", "J06", '{"名前": 1}', 2),
    ("raw newline in string", '{"a":"x\ny"}', "J15", '{"a":"x\\ny"}', 8),
    ("raw tab in string", '{"a":"x\ty"}', "J15", '{"a":"x\\ty"}', 8),
    ("raw NUL in string", '{"a":"x\0y"}', "J15", '{"a":"x\\u0000y"}', 8),
    ("windows path", r'{"a":"C:\Users"}', "J16", r'{"a":"C:\\Users"}', 9),
    ("windows path that looks like escapes", r'{"a":"C:\new\Users"}', "J16",
     r'{"a":"C:\\new\\Users"}', 9),
    ("lone backslash", r'{"a":"\d+"}', "J16", r'{"a":"\\d+"}', 7),
    ("short \\u", r'{"a":"\u12"}', "J16", r'{"a":"\\u12"}', 7),
    ("missing closing", '{"a":["b"', "J07", '{"a":["b"]}', 6),
    ("missing closing brace inside", '{"a":[{"b":1]}', "J07", '{"a":[{"b":1}]}', 7),
    ("missing quote", '{"a":"b}', "J17", '{"a":"b"}', 6),
    ("missing quote on a line", '{"a":"b,\n"c":1}', "J17", '{"a":"b",\n"c":1}', 6),
    ("missing comma", '{"a":1 "b":2}', "J01", '{"a":1, "b":2}', 7),
    ("missing comma between lines", '{"a":"x"\n"b":2}', "J01", '{"a":"x",\n"b":2}', 9),
    ("missing comma in a list", "[{} {}]", "J01", "[{}, {}]", 4),
    ("missing colon", '{"a" 1}', "J13", '{"a": 1}', 5),
    ("equals sign", '{"a" = 1}', "J13", '{"a" : 1}', 6),
    ("arrow", '{"a" => 1}', "J13", '{"a" : 1}', 6),
    ("missing value", '{"a": }', "J34", '{"a": null }', 6),
    ("name only", '{"a"}', "J34", '{"a": null}', 5),
    ("NaN", '{"a":NaN}', "J10", '{"a":null}', 6),
    ("Infinity", '{"a":[Infinity,-Infinity]}', "J10", '{"a":[null,null]}', 7),
    ("1e400", '{"a":1e400}', "J46", '{"a":null}', 6),
    ("nbsp", '{\xa0"a":1}', "J18", '{ "a":1}', 2),
    ("zero width space", '\u200b{"a":1}', "J18", ' {"a":1}', 1),
    ("lone surrogate", r'{"a":"\ud800"}', "J23", r'{"a":"\ufffd"}', 7),
    ("lone low surrogate", r'{"a":"x\udc00"}', "J23", r'{"a":"x\ufffd"}', 8),
    ("lone surrogate, raw", '{"a":"\ud800"}', "J23", '{"a":"\ufffd"}', 7),
    ("leading zero", '{"a":007}', "J21", '{"a":7}', 6),
    ("plus", '{"a":+1}', "J21", '{"a":1}', 6),
    ("dot num", '{"a":.5}', "J21", '{"a":0.5}', 6),
    ("num dot", '{"a":1.}', "J21", '{"a":1.0}', 6),
    ("hexadecimal", '{"a":-0x1F}', "J21", '{"a":-31}', 6),
    ("int 5000 digits", '{"a":' + "9" * 5000 + "}", "J24", '{"a":"' + "9" * 5000 + '"}', 6),
    ("E18 full-width", '｛"a"：［１，"b"］｝', "J03", '{"a":[1,"b"]}', 1),
    ("E18 full-width quotes", "{＂a＂:1}", "J03", '{"a":1}', 2),
    ("E18 ideographic comma", '{"a":1、"b":2}', "J03", '{"a":1,"b":2}', 7),
    ("E18 full-width space", '{\u3000"a":1}', "J11", '{ "a":1}', 2),
    ("E18 cmd.exe keeps the quotes", "'{\"a\":1}'", "J31", '{"a":1}', 1),
    ("E18 semicolons", '{"a":1; "b":2; }', "J32", '{"a":1, "b":2 }', 7),
    ("E18 semicolon at the end", '{"a":1};', "J32", '{"a":1}', 8),
    ("quotes inside a text", '{"a":"say "hi" now"}', "J33", r'{"a":"say \"hi\" now"}', 11),
    ("one bracket too many", '{"a":1}}', "J26", '{"a":1}', 8),
    ("the wrong bracket", '{"a":1]', "J28", '{"a":1}', 7),
    ("K9 a corner bracket for a list", '{"a":「1、"b"」}', "J03", '{"a":[1,"b"]}', 6),
    ("K9 corner brackets for braces", '『"a":1』', "J03", '{"a":1}', 1),
    ("K9 corner brackets as quotes", '{"a":「晴れ」}', "J05", '{"a":"晴れ"}', 6),
    ("K9 white corner brackets as quotes", '{"a":『晴れ』}', "J05", '{"a":"晴れ"}', 6),
    ("K9 guillemets", '{"a":«b»}', "J05", '{"a":"b"}', 6),
    ("K9 a long vowel for a minus", '{"a":ー32603}', "J03", '{"a":-32603}', 6),
    ("K9 a minus sign", '{"a":\u221232603}', "J03", '{"a":-32603}', 6),
    ("K9 full-width digits", '{"a":－３２６０３}', "J03", '{"a":-32603}', 6),
    ("K9 a full-width word", '{"a":ｔｒｕｅ}', "J03", '{"a":true}', 6),
    ("a path, half a character", r'{"a":"C:\udecade"}', "J16", r'{"a":"C:\\udecade"}', 9),
    ("K3 triple quotes", '{"a":"""b c"""}', "J05", '{"a":"b c"}', 6),
    ("K3 texts side by side", '{"a":"b" "c"}', "J36", '{"a":"bc"}', 8),
    ("K3 texts joined by a plus", '{"a":"b" +\n "c"}', "J36", '{"a":"bc"}', 8),
    ("K3 the first brace lost", '"a":1}', "J38", '{"a":1}', 1),
    ("K3 the first quote of a text lost", '{"a": b c"}', "J37", '{"a": "b c"}', 7),
    ("K3 the first quote of a name lost", '{a": 1}', "J37", '{"a": 1}', 2),
    ("K3 the last quote of a name lost", '{"a: {"b": 1}}', "J17", '{"a": {"b": 1}}', 2),
    ("text without quotes", '{"a":sunny day}', "J22", '{"a":"sunny day"}', 6),
    ("a date without quotes", '{"a":2026-07-28}', "J22", '{"a":"2026-07-28"}', 6),
)  # fmt: skip

UNFIXABLE: Final = (
    ("empty", "", "J19"),
    ("spaces", " \n\t ", "J19"),
    ("BOM only", "\ufeff", "J19"),
    ("only text", "It is sunny in Tokyo.", "J20"),
    ("only Japanese text", "東京の天気は晴れです。", "J20"),
    ("a log line", "INFO: started {pid: 1}", "J20"),
    ("deep nesting 300", "[" * 300 + "]" * 300, "J25"),
    ("deep nesting 100000", "[" * 100_000, "J25"),
    ("an odd character", '{"a": @}', "J29"),
    ("a closing bracket first", '{"a": [)]}', "J29"),
)


@pytest.mark.parametrize("text", VALID)
def test_valid_json_is_left_alone(text: str) -> None:
    """Full-width and curly characters inside quotes are nobody's business."""
    reading = json_reading.read_json(text)
    assert reading.readable
    assert reading.json == text
    assert reading.value == json.loads(text)
    assert all(each.severity is Severity.REPAIRED for each in reading.diagnostics)


@pytest.mark.parametrize(
    ("text", "code", "becomes", "column"),
    [each[1:] for each in BROKEN],
    ids=[each[0] for each in BROKEN],
)
def test_a_mistake_is_named_placed_and_fixed(
    text: str, code: str, becomes: str, column: int
) -> None:
    """One problem, at its place, and a fix that makes it valid."""
    reading = json_reading.read_json(text)
    (diagnostic,) = (each for each in reading.diagnostics if each.severity is not Severity.REPAIRED)
    assert diagnostic.code == code
    assert diagnostic.severity is Severity.ERROR
    assert (diagnostic.line, diagnostic.column) == (1, column)
    hold_diagnostic(diagnostic, text)
    assert diagnostic.fix is not None
    assert diagnostic.fix.apply(text) == becomes
    assert reading.json == becomes
    assert json.loads(becomes) == reading.value
    assert [p.code for p in json_reading.read_json(becomes).diagnostics if p.blocks] == []


@pytest.mark.parametrize(
    ("text", "code"), [each[1:] for each in UNFIXABLE], ids=[each[0] for each in UNFIXABLE]
)
def test_what_cannot_be_fixed_is_named(text: str, code: str) -> None:
    """No guess would be safe, so there is no value to go on with."""
    reading = json_reading.read_json(text)
    assert not reading.readable
    (diagnostic,) = (each for each in reading.diagnostics if each.severity is not Severity.REPAIRED)
    assert diagnostic.code == code
    assert diagnostic.blocks
    hold_diagnostic(diagnostic, text)


def test_a_second_document_is_named_but_not_taken_away() -> None:
    """Which of the two is meant, nobody can tell."""
    reading = json_reading.read_json('{"a":1}\n{"b":2}')
    (diagnostic,) = (each for each in reading.diagnostics if each.blocks)
    assert (diagnostic.code, diagnostic.line, diagnostic.column, diagnostic.fix) == (
        "J12",
        2,
        1,
        None,
    )
    assert reading.value == {"a": 1}


def test_a_name_twice_is_an_error_at_the_second_one() -> None:
    """Json.loads accepts it, and part of the answer would be lost."""
    reading = json_reading.read_json('{"a": 1, "b": 2, "a": 3}')
    (diagnostic,) = reading.diagnostics
    assert (diagnostic.code, diagnostic.column, diagnostic.detail) == ("J09", 18, (("key", "a"),))


def test_a_name_twice_is_found_in_any_spelling() -> None:
    r"""`"\u0061"` is `"a"`."""
    (diagnostic,) = json_reading.read_json(r'{"a": 1, "\u0061": 2}').diagnostics
    assert diagnostic.code == "J09"


def test_the_same_mistake_everywhere_is_one_problem_with_one_fix() -> None:
    """Full-width characters, curly quotes and a full-width space pasted at once."""
    text = "｛“a”：\u3000［１，２］，“b”：“：”｝"
    reading = json_reading.read_json(text)
    found = {each.code: each.fix for each in reading.diagnostics}
    assert set(found) == {"J03", "J04", "J11"}
    assert all(fix and fix.label == "replace_all" for fix in found.values())
    assert reading.value == {"a": [1, 2], "b": "："}


def test_a_byte_order_mark_and_a_code_fence_are_taken_away_and_named() -> None:
    """They have one meaning only."""
    reading = json_reading.read_json('\ufeff```json\n{"a": 1}\n```\n')
    assert reading.value == {"a": 1}
    assert [each.code for each in reading.diagnostics] == ["F01", "J50", "J51"]
    assert all(each.severity is Severity.REPAIRED for each in reading.diagnostics)


def test_places_are_given_in_the_text_as_typed() -> None:
    """What was fixed before a place does not move it."""
    text = "{'a': 'x', 'b': “y”}"
    reading = json_reading.read_json(text)
    for at, char in enumerate(reading.json):
        typed = text[reading.as_written(at)]
        assert typed == char or (typed, char) in {("'", '"'), ("“", '"'), ("”", '"')}


def test_a_deep_text_within_the_limit_is_read() -> None:
    """The limit is 100 levels."""
    assert json_reading.read_json("[" * 100 + "]" * 100).readable
    assert not json_reading.read_json("[" * 101 + "]" * 101).readable


def test_a_large_text_is_a_warning_and_a_too_large_one_an_error() -> None:
    """Trap table, huge line: the TypeScript SDK closes the connection above 10 MiB."""
    large = json_reading.read_json(json.dumps({"a": "x" * 1_100_000}))
    assert [(p.code, p.severity) for p in large.diagnostics] == [("J40", Severity.WARNING)]
    huge = json_reading.read_json(json.dumps({"a": "日" * 3_600_000}, ensure_ascii=False))
    assert [(p.code, p.severity) for p in huge.diagnostics] == [("J27", Severity.ERROR)]


@pytest.mark.parametrize(
    ("end", "code"), [("{}", "J07"), ("{}]} x", "J29"), ("@]}", "J29"), ("}", "J29")]
)
def test_of_a_very_long_text_the_first_mistake_is_told(end: str, code: str) -> None:
    """An examination takes microseconds a character: a server must not stop for seconds."""
    text = '{"a":[' + '{"b":"c"},' * 200_000 + end
    (diagnostic,) = (each for each in json_reading.read_json(text).diagnostics if each.blocks)
    assert diagnostic.code == code
    assert diagnostic.start in (0, *range(2_000_000, len(text)))


@pytest.mark.parametrize(
    ("one", "between", "code"),
    [
        ("'a'", ",", "J05"), ('"a\nb"', ",", "J15"), ("1 //x\n", ",", "J08"), ("[1,]", ",", "J02"),
        ("1", " ", "J01"), ("007", ",", "J21"), ('"abc\n', "", "J17"), ("ab c", ",", "J22"),
        ('"\\ud800"', ",", "J23"), ('"a"', " ", "J36"),
    ],
)  # fmt: skip
def test_forty_thousand_mistakes_of_one_kind_are_a_few_problems(
    one: str, between: str, code: str
) -> None:
    """Each cost another look at all of them; 58 s for a Python repr of 440 kB."""
    text = '{"a":[' + between.join([one] * 40_000) + "]}"
    found = [each for each in json_reading.read_json(text).diagnostics if each.code == code]
    assert 1 <= len(found) <= 10
    assert len(found) == 1 or sum(each.times for each in found) >= 39_000


def test_a_name_twice_in_a_very_long_text_is_still_found() -> None:
    """The standard library's parser says nothing of it."""
    text = json.dumps({"x": "y" * 1_100_000})[:-1] + ', "a": 1, "a": 2}'
    assert "J09" in [each.code for each in json_reading.read_json(text).diagnostics]


def test_several_lines_are_named_as_joined() -> None:
    """Fix, say so. A line end after the answer is none of them."""
    assert [p.code for p in json_reading.read_json('{\n"a":1}').diagnostics] == ["J51"]
    assert json_reading.read_json('{"a":1}\r\n').diagnostics == ()


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


@given(JSON, st.booleans(), st.sampled_from([None, 2]))
def test_whatever_is_json_is_read_as_json(value: object, ascii_only: bool, indent: int) -> None:  # noqa: FBT001 - drawn by hypothesis
    """The value is the one of the standard library, and no problem blocks."""
    text = json.dumps(value, ensure_ascii=ascii_only, indent=indent)
    reading = json_reading.read_json(text)
    assert reading.readable
    assert reading.value == json.loads(text)
    assert not any(each.blocks for each in reading.diagnostics)


@settings(max_examples=300)
@given(JSON, st.data())
def test_whatever_was_done_to_a_text_the_fixes_make_json_of_it(
    value: object, data: st.DataObject
) -> None:
    """A character lost, doubled or changed: never an exception, never a silent pass."""
    text = json.dumps({"a": value}, ensure_ascii=False)
    at = data.draw(st.integers(0, len(text) - 1))
    new = data.draw(st.sampled_from(["", '"', "'", ",", "{", "]", "：", "\n", "\\", "x", " ", "“"]))
    broken = text[:at] + new + text[at + 1 :]
    reading = json_reading.read_json(broken)
    for diagnostic in reading.diagnostics:
        hold_diagnostic(diagnostic, broken)
    try:
        json_reading.strict(broken)
    except ValueError:
        assert any(each.blocks for each in reading.diagnostics)
    else:
        assert not any(each.blocks for each in reading.diagnostics)
    if reading.readable:
        assert json.loads(reading.json) == reading.value


@given(st.text(alphabet="{}[]\",:\\'ab1. \n\u3000“，｛/*#;-", max_size=30))
def test_no_text_whatever_raises(text: str) -> None:
    """Never raises, whatever the text."""
    reading = json_reading.read_json(text)
    assert reading.readable or any(each.blocks for each in reading.diagnostics)


@given(st.text(alphabet='{}[]" \\a', max_size=40))
def test_depth_is_counted_like_brackets(text: str) -> None:
    """`deeper_than` agrees with counting one bracket after another outside strings."""
    depth = deepest = 0
    for part in re.sub(r'"(?:[^"\\]|\\.)*"', "", text):
        depth += (part in "{[") - (part in "]}")
        deepest = max(deepest, depth)
    assert jsonrpc.deeper_than(text, 2) == (deepest > 2)


def test_full_width_brackets_nest_as_deep_as_others() -> None:
    """Whoever reads them does so level by level."""
    found = json_reading.read_json("\uff3b" * 5_000)
    assert (found.readable, [one.code for one in found.diagnostics][-1:]) == (False, ["J25"])


@pytest.mark.parametrize(
    "pair", ["“”", "„“", "‘’", "＂＂", "＇＇", "「」", "『』", "«»", "»«", "``", "''"]
)
def test_each_quote_is_closed_by_its_own(pair: str) -> None:
    """Letters of any kind are none, and a text may end in one."""
    for words in ("X", "aX", "X, Y", "A}B"):
        assert json_reading.read_json(f'{{"a": {pair[0]}{words}{pair[1]}}}').value == {"a": words}


@pytest.mark.parametrize(
    ("text", "edits", "codes"),
    [
        ("[1,\u3000]", [(2, 3, ""), (3, 4, " ")], ["J02", "J11"]),
        ("[1，\u3000]", [(2, 3, ""), (3, 4, " ")], ["J02", "J11"]),
        ("[1；\u3000]", [(2, 3, ""), (3, 4, " ")], ["J32", "J11"]),
        ("[1; /*x*/ ]", [(2, 3, ""), (4, 9, "")], ["J32", "J08"]),
        ("[1；1；\u3000]", [(2, 3, ","), (4, 5, ""), (5, 6, " ")], ["J32", "J11"]),
        ("[1，2，]", [(2, 3, ","), (4, 5, "")], ["J03", "J02"]),
        (
            '{"a"：1，\u3000}',
            [(4, 5, ":"), (6, 7, ""), (7, 8, " ")],
            ["J03", "J02", "J11"],
        ),
    ],
)
def test_a_mark_that_was_fixed_and_then_turns_out_to_be_too_much_is_taken_out_once(
    text: str, edits: list[tuple[int, int, str]], codes: list[str]
) -> None:
    """Also where something else was fixed behind it."""
    reading = json_reading.read_json(text)
    assert [tuple(one) for one in reading.edits] == edits
    assert [one.code for one in reading.diagnostics] == codes


LONG_TEXT = "x" * json_reading.LONG


@pytest.mark.parametrize(
    ("text", "code", "place", "detail"),
    [
        (f'{{"a":"{LONG_TEXT}"}}}}', "J29", len(LONG_TEXT) + 8, {"typed": "}"}),
        (f'hello {LONG_TEXT} {{"result":{{}}}}', "J29", 0, {"typed": "h"}),
        (f'[1,"{LONG_TEXT}" ', "J07", 0, {"char": "[", "opened": "1"}),
        (f'\ufeff{{"a":"{LONG_TEXT}",', "J07", 1, {"char": "{", "opened": "1"}),
        (f'\ufeff{{"a":"{LONG_TEXT}",\nb', "J29", len(LONG_TEXT) + 10, {"typed": "b"}),
    ],
    ids=["one too many", "words before it", "not closed", "a mark before it", "on its last line"],
)
def test_of_a_long_text_the_first_mistake_has_its_place(
    text: str, code: str, place: int, detail: dict[str, str]
) -> None:
    """It is neither fixed nor searched for an answer."""
    reading = json_reading.read_json(text)
    (problem,) = (one for one in reading.diagnostics if one.blocks)
    assert (problem.code, problem.start, problem.end) == (code, place, place + 1)
    before = text[:place]
    column = place - before.rfind("\n")
    assert (problem.line, problem.column) == (1 + before.count("\n"), column)
    assert (dict(problem.detail), problem.fix, reading.readable) == (detail, None, False)


def test_a_long_number_in_a_long_text_is_named_with_its_fix() -> None:
    """The standard library says nothing of its place."""
    number = "9" * 4301
    reading = json_reading.read_json(f'[{number},"{LONG_TEXT}"]')
    assert [one.code for one in reading.diagnostics] == ["J40", "J24"]
    assert [tuple(one) for one in reading.edits] == [(1, 4302, f'"{number}"')]


ONE: Final = '{"a":1}'
READINGS: Final[
    tuple[tuple[str, str, list[tuple[int, int]], list[tuple[str, int, int, int, int]]], ...]
] = (
    # (text, the JSON in it, what is cut, the problems: code, start, end, line, column)
    (f"\ufeff{ONE}", ONE, [(0, 1)], [("F01", 0, 1, 1, 1)]),
    (f"```json\n{ONE}\n```", ONE, [(0, 8), (15, 19)], [("J50", 0, 19, 1, 1), ("J51", 0, 0, 1, 1)]),
    (
        f"```json\r\n{ONE}\r\n  ```\r\n",
        ONE,
        [(0, 9), (16, 25)],
        [("J50", 0, 25, 1, 1), ("J51", 0, 0, 1, 1)],
    ),
    (
        '\ufeff ```\n{"a":1,}\n``` ',
        ONE,
        [(0, 6), (12, 13), (14, 19)],
        [("F01", 0, 1, 1, 1), ("J50", 0, 19, 1, 1), ("J51", 0, 0, 1, 1), ("J02", 12, 13, 2, 7)],
    ),
    (
        "\ufeffecho '{\"result\":1}' > x",
        '{"result":1}',
        [(0, 7), (19, 24)],
        [("F01", 0, 1, 1, 1), ("J42", 1, 24, 1, 2)],
    ),
    (
        'ab\n{"result":1}',
        '{"result":1}',
        [(0, 3)],
        [("J35", 0, 3, 1, 1), ("J51", 0, 0, 1, 1)],
    ),
    (f"\n > {ONE}", f"\n{ONE}", [(0, 0), (1, 4), (11, 11)], [("J41", 0, 11, 1, 1)]),
    (
        f"\ufeff> {ONE}",
        ONE,
        [(0, 1), (1, 3), (10, 10)],
        [("F01", 0, 1, 1, 1), ("J41", 1, 10, 1, 2)],
    ),
    (
        f"```\n> {ONE}\n```",
        ONE,
        [(0, 4), (4, 6), (13, 17)],
        [("J50", 0, 17, 1, 1), ("J41", 4, 13, 2, 1)],
    ),
    ('{"a":1\n}', '{"a":1\n}', [], [("J51", 0, 0, 1, 1)]),
    (f"{ONE}\n\n", f"{ONE}\n\n", [], []),
    ("", "", [], [("J19", 0, 0, 0, 0)]),
    ("  ", "", [], [("J19", 0, 0, 1, 1)]),
    ("\ufeff", "", [], [("J19", 0, 0, 1, 1)]),
    ("```\n\n```", "", [], [("J19", 0, 0, 1, 1)]),
)


@pytest.mark.parametrize(("text", "within", "cut", "problems"), READINGS)
def test_what_stands_around_json_is_cut_and_named_at_its_place(
    text: str,
    within: str,
    cut: list[tuple[int, int]],
    problems: list[tuple[str, int, int, int, int]],
) -> None:
    """A mark, a fence, the words of a shell, the marks of a quotation."""
    reading = json_reading.read_json(text)
    assert (reading.json, reading.readable) == (within, bool(within))
    assert reading.value == (json.loads(within) if within else None)
    assert reading.size == len(text.encode())
    assert [tuple(one) for one in reading.edits] == [(*one, "") for one in cut]
    assert [
        (one.code, one.start, one.end, one.line, one.column) for one in reading.diagnostics
    ] == problems


@pytest.mark.parametrize(
    ("text", "label", "grade", "becomes"),
    [
        (rf"{chr(0xFEFF)}{{\"a\":1}}", "replace", "safe", f"\ufeff{ONE}"),
        (f"\ufeff> {ONE}", "delete", "removes", f"\ufeff{ONE}"),
        ('\ufeff x\n {"result":1} ;', "only", "removes", '{"result":1}'),
        ('x {"result":1} y', "only", "removes", '{"result":1}'),
    ],
)
def test_what_is_cut_around_json_is_a_fix_with_its_grade(
    text: str, label: str, grade: str, becomes: str
) -> None:
    """Words may mean something; the escapes of a program mean nothing."""
    (problem,) = (one for one in json_reading.read_json(text).diagnostics if one.blocks)
    assert problem.fix is not None
    assert (problem.fix.label, problem.fix.applicability.value) == (label, grade)
    assert problem.fix.apply(text) == becomes


@pytest.mark.parametrize(
    ("size", "codes"),
    [
        (json_reading.LONG - 1, []),
        (json_reading.LONG, []),
        (json_reading.LONG + 1, [("J40", (("size", "1.0"),))]),
        (json_reading.LONGEST, [("J40", (("size", "10.5"),))]),
        (json_reading.LONGEST + 1, [("J27", (("size", "10.0"),))]),
    ],
)
def test_the_size_of_a_text_is_told_above_each_limit(
    size: int, codes: list[tuple[str, tuple[tuple[str, str], ...]]]
) -> None:
    """In millions of bytes, or in MiB where that is the limit."""
    reading = json_reading.read_json(f'"{"x" * (size - 2)}"')
    assert [(one.code, one.detail) for one in reading.diagnostics] == codes
    assert (reading.size, reading.readable) == (size, size <= json_reading.LONGEST)


def test_offsets_of_a_fixed_text_are_those_of_the_typed_one() -> None:
    """Behind a cut, inside and behind what was put in, and behind a replacement."""
    edits = (TextEdit(0, 2, ""), TextEdit(4, 4, "xy"), TextEdit(6, 8, "a"))
    typed = json_reading.as_typed(edits)
    assert applied("01234567890", edits) == "23xy45a890"
    assert [typed(at) for at in range(10)] == [2, 3, 4, 4, 4, 5, 6, 8, 9, 10]
    assert json_reading.as_typed(edits[1:])(0) == 0
