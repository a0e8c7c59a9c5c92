"""Texts that are almost JSON: every mistake with its place, its words and its edits."""
# ruff: noqa: RUF001 - full-width and curly characters are what this is about

import json
import re
from typing import Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from humanmcp.protocol.diagnostics.model import TextEdit, applied
from humanmcp.protocol.repair import parser
from humanmcp.protocol.repair.parser import examine
from humanmcp.protocol.repair.reading import DEEPEST
from humanmcp.protocol.repair.scanner import JsonMistake, ScalarReader


def written(mistake: JsonMistake) -> str:
    """Write a mistake: `CODE words at START-END, LABEL GRADE EDITS`."""
    words = "".join(f" {name}={said}" for name, said in mistake.diagnostic.detail)
    edits = "".join(f" {one.start}-{one.end}:{one.new}" for one in mistake.edits)
    fix = f", {mistake.label} {mistake.applicability}{edits}" if edits else ""
    return f"{mistake.diagnostic.code}{words} at {mistake.start}-{mistake.end}{fix}"


MISTAKES: Final[tuple[tuple[str, list[str], str | None], ...]] = (
    (
        "{'a':\"X, Y\"}",
        ['J05 char=\' at 1-2, replace_all safe 1-2:" 3-4:"'],
        '{"a":"X, Y"}',
    ),
    (
        "{'a':＂X, Y\"}",
        [
            'J05 char=\' at 1-2, replace_all safe 1-2:" 3-4:"',
            'J03 char=＂ half=" at 5-6, replace_all safe 5-6:"',
        ],
        '{"a":"X, Y"}',
    ),
    ("'{\"a\":1}'", ["J31 at 0-1, delete safe 0-1: 8-9:"], '{"a":1}'),
    ("'[1]'", ["J31 at 0-1, delete safe 0-1: 4-5:"], "[1]"),
    ('`{"a":1}`', ["J31 at 0-1, delete safe 0-1: 8-9:"], '{"a":1}'),
    (
        "\"{'a':1}\"",
        ["J31 at 0-1, delete safe 0-1: 8-9:", 'J05 char=\' at 2-3, replace_all safe 2-3:" 4-5:"'],
        '{"a":1}',
    ),
    ('"[1]"', ["J31 at 0-1, delete safe 0-1: 4-5:"], "[1]"),
    ('\'{"a":1}', ["J31 at 0-1, delete safe 0-1:"], '{"a":1}'),
    (
        "{a”: 1}",
        ['J37 at 1-2, insert guess 1-1:"', 'J04 char=” at 2-3, replace_all safe 2-3:"'],
        '{"a": 1}',
    ),
    ("{} X", ["J30 at 3-4, delete removes 3-4:"], "{} "),
    ("[] ,", ["J02 at 3-4, delete safe 3-4:"], "[] "),
    ("[];;", ["J32 at 2-3, delete safe 2-3: 3-4:"], "[]"),
    (
        "[1]]}",
        ["J26 char=] at 3-4, delete safe 3-4:", "J26 char=} at 4-5, delete safe 4-5:"],
        "[1]",
    ),
    ("{} {}", ["J12 at 3-5"], "{} "),
    ("{} [", ["J12 at 3-4"], "{} "),
    ("\n[1", ["J07 char=[ opened=2 at 1-2, close safe 3-3:]"], "\n[1]"),
    ('{\n"a": [1', ["J07 char=[ opened=2 at 7-8, close safe 9-9:]}"], '{\n"a": [1]}'),
    ('[{\n"a": [1\n', ["J07 char=[ opened=2 at 8-9, close safe 10-10:]}]"], '[{\n"a": [1]}]\n'),
    (
        '{"a": {"b": [1}',
        ["J07 char=[ opened=1 at 12-13, close safe 14-14:] 15-15:}"],
        '{"a": {"b": [1]}}',
    ),
    (
        '{"p":"C:\\Users\\"x\\""}',
        ["J16 typed=\\U at 8-9, replace_all safe 8-9:\\\\"],
        '{"p":"C:\\\\Users\\"x\\""}',
    ),
    (
        "{'p':\"C:\\bin\\\\x\"}",
        [
            'J05 char=\' at 1-2, replace_all safe 1-2:" 3-4:"',
            "J16 typed=\\b at 8-9, replace_all safe 8-9:\\\\",
        ],
        '{"p":"C:\\\\bin\\\\x"}',
    ),
    (
        '{"p":"C:\\u0041\\n"}',
        ["J16 typed=\\u at 8-9, replace_all safe 8-9:\\\\ 14-15:\\\\"],
        '{"p":"C:\\\\u0041\\\\n"}',
    ),
    ("{'a':\"bX\"}", ['J05 char=\' at 1-2, replace_all safe 1-2:" 3-4:"'], '{"a":"bX"}'),
    (
        "{'a':＂b\"}",
        [
            'J05 char=\' at 1-2, replace_all safe 1-2:" 3-4:"',
            'J03 char=＂ half=" at 5-6, replace_all safe 5-6:"',
        ],
        '{"a":"b"}',
    ),
    (
        "{'a':＂b＂}",
        [
            'J05 char=\' at 1-2, replace_all safe 1-2:" 3-4:"',
            'J03 char=＂ half=" at 5-6, replace_all safe 5-6:" 7-8:"',
        ],
        '{"a":"b"}',
    ),
    (
        "{'a':＇b'}",
        [
            'J05 char=\' at 1-2, replace_all safe 1-2:" 3-4:" 7-8:"',
            'J03 char=＇ half=" at 5-6, replace_all safe 5-6:"',
        ],
        '{"a":"b"}',
    ),
    (
        "{'a':“b\"}",
        [
            'J05 char=\' at 1-2, replace_all safe 1-2:" 3-4:"',
            'J04 char=“ at 5-6, replace_all safe 5-6:"',
        ],
        '{"a":"b"}',
    ),
    (
        "{'a':‘b’}",
        [
            'J05 char=\' at 1-2, replace_all safe 1-2:" 3-4:"',
            'J04 char=‘ at 5-6, replace_all safe 5-6:" 7-8:"',
        ],
        '{"a":"b"}',
    ),
    (
        "{'a':'b\"c'}",
        ['J05 char=\' at 1-2, replace_all safe 1-2:" 3-4:" 5-6:" 9-10:" 7-8:\\"'],
        '{"a":"b\\"c"}',
    ),
    (
        "{'a':`b\"c`}",
        ['J05 char=\' at 1-2, replace_all safe 1-2:" 3-4:" 5-6:" 9-10:" 7-8:\\"'],
        '{"a":"b\\"c"}',
    ),
    ('{"a":"b"c"}', ['J33 at 7-8, replace_all safe 7-8:\\"'], '{"a":"b\\"c"}'),
    (
        "{'a':'b\\'c'}",
        ['J05 char=\' at 1-2, replace_all safe 1-2:" 3-4:" 5-6:" 10-11:" 7-8:'],
        '{"a":"b\'c"}',
    ),
    (
        "{'a':`b\\`c`}",
        ['J05 char=\' at 1-2, replace_all safe 1-2:" 3-4:" 5-6:" 10-11:" 7-8:'],
        '{"a":"b`c"}',
    ),
    (
        "{'a':\"b\\'c\"}",
        [
            'J05 char=\' at 1-2, replace_all safe 1-2:" 3-4:"',
            "J16 typed=\\' at 7-8, replace_all safe 7-8:\\\\",
        ],
        '{"a":"b\\\\\'c"}',
    ),
    (
        '{"a": “b}',
        ['J04 char=“ at 6-7, replace_all safe 6-7:"', 'J17 at 6-7, close guess 8-8:"'],
        '{"a": "b"}',
    ),
    ('{"a": Xy z}', ['J22 text=Xy z at 6-10, quote safe 6-10:"Xy z"'], '{"a": "Xy z"}'),
    ('{"a": -x}', ['J22 text=-x at 6-8, quote safe 6-8:"-x"'], '{"a": "-x"}'),
    ('{"a": 1_000}', ["J21 value=1_000 meant=1000 at 6-11, replace safe 6-11:1000"], '{"a": 1000}'),
    ('{"a": +0x1f}', ["J21 value=+0x1f meant=31 at 6-11, replace safe 6-11:31"], '{"a": 31}'),
    ('{"a": -0xFF}', ["J21 value=-0xFF meant=-255 at 6-11, replace safe 6-11:-255"], '{"a": -255}'),
    ('{"a": 0x}', ['J22 text=0x at 6-8, quote safe 6-8:"0x"'], '{"a": "0x"}'),
    (
        '{"a": 00.50e+5}',
        ["J21 value=00.50e+5 meant=0.50e+5 at 6-14, replace guess 6-14:0.50e+5"],
        '{"a": 0.50e+5}',
    ),
    ('{"a": .e5}', ['J22 text=.e5 at 6-9, quote safe 6-9:".e5"'], '{"a": ".e5"}'),
    ('{"a": ー５}', ["J03 char=ー half=- at 6-8, replace_all safe 6-8:-5"], '{"a": -5}'),
    ('{"a": ー}', ['J22 text=ー at 6-7, quote safe 6-7:"ー"'], '{"a": "ー"}'),
    ('{"a": nan}', ["J10 value=nan at 6-9, replace_all guess 6-9:null"], '{"a": null}'),
    (
        '{"a": +Infinity}',
        ["J10 value=+Infinity at 6-15, replace_all guess 6-15:null"],
        '{"a": null}',
    ),
    ('{"a": -inf}', ["J10 value=-inf at 6-10, replace_all guess 6-10:null"], '{"a": null}'),
    (
        '{"a": nil, "b": NULL, "c": FALSE}',
        ["J14 typed=nil meant=null at 6-9, replace_all safe 6-9:null 16-20:null 27-32:false"],
        '{"a": null, "b": null, "c": false}',
    ),
    ('{"a": １．５}', ["J03 char=１ half=1 at 6-9, replace_all safe 6-9:1.5"], '{"a": 1.5}'),
    ('{"a": ｎｕｌｌ}', ["J03 char=ｎ half=n at 6-10, replace_all safe 6-10:null"], '{"a": null}'),
    (
        '{"a": \'b\' + "c"}',
        ["J05 char=' at 6-7, replace_all safe 6-7:\"", "J36 at 8-13, join safe 8-13:"],
        '{"a": "bc"}',
    ),
    (
        '{"a": "b"+"c" "d"}',
        ["J36 at 8-11, join safe 8-11:", "J36 at 12-15, join safe 12-15:"],
        '{"a": "bcd"}',
    ),
    (
        '{"a": """b"c"""}',
        [
            'J05 char=""" at 6-9, replace_all safe 6-9:" 12-15:"',
            'J33 at 10-11, replace_all safe 10-11:\\"',
        ],
        '{"a": "b\\"c"}',
    ),
    ("{\"a\": '''b'''}", ["J05 char=''' at 6-9, replace_all safe 6-9:\" 10-13:\""], '{"a": "b"}'),
    (
        '{"a" = 1, "b" => 2, "c"：3}',
        [
            "J13 at 5-6, replace safe 5-6::",
            "J13 at 14-16, replace safe 14-16::",
            "J03 char=： half=: at 23-24, replace_all safe 23-24::",
        ],
        '{"a" : 1, "b" : 2, "c":3}',
    ),
    ('{"a" 1}', ["J13 at 4-5, insert safe 4-4::"], '{"a": 1}'),
    (
        '{"a", "b":}',
        ["J34 at 4-4, null placeholder 4-4:: null", "J34 at 10-10, null placeholder 10-10: null"],
        '{"a": null, "b": null}',
    ),
    (
        '{"a"',
        [
            "J07 char={ opened=1 at 0-1, close guess 4-4:}",
            "J34 at 4-4, null placeholder 4-4:: null",
        ],
        '{"a": null}',
    ),
    (
        '{"a":',
        ["J07 char={ opened=1 at 0-1, close guess 5-5:}", "J34 at 5-5, null placeholder 5-5: null"],
        '{"a": null}',
    ),
    ('{"a":1;"b":2}', ["J32 at 6-7, replace_all safe 6-7:,"], '{"a":1,"b":2}'),
    ("[1 2]", ["J01 at 2-3, insert safe 2-2:,"], "[1, 2]"),
    ("[1,,2]", ["J02 at 3-4, delete safe 3-4:"], "[1,2]"),
    ("[,1]", ["J02 at 1-2, delete safe 1-2:"], "[1]"),
    ("[;1]", ["J02 at 1-2, delete safe 1-2:"], "[1]"),
    (
        "[1 /* x",
        ["J07 char=[ opened=1 at 0-1, close safe 7-7:]", "J08 at 3-7, delete removes 3-7:"],
        "[1 ]",
    ),
    (
        "[1 # x",
        ["J07 char=[ opened=1 at 0-1, close safe 6-6:]", "J08 at 3-6, delete removes 3-6:"],
        "[1 ]",
    ),
    ("[1 /x", ["J01 at 2-3, insert safe 2-2:,", "J29 typed=/ at 3-4"], None),
    ("[1 // x\n, 2]", ["J08 at 3-7, delete removes 3-7:"], "[1 \n, 2]"),
    (
        "\xa0[1]\u3000\u2028",
        [
            "J18 char=U+00A0 at 0-1, replace_all safe 0-1:  5-6: ",
            "J11 at 4-5, replace_all safe 4-5: ",
        ],
        " [1]  ",
    ),
    (
        '"error": {"a":1}',
        ["J38 char={ at 0-1, insert safe 0-0:{", "J07 char={ opened=1 at 0-1, close safe 16-16:}"],
        '{"error": {"a":1}}',
    ),
    (
        'error: {"a":1}',
        [
            "J38 char={ at 0-1, insert safe 0-0:{",
            'J06 key=error at 0-5, replace_all safe 0-5:"error"',
            "J07 char={ opened=1 at 0-1, close safe 14-14:}",
        ],
        '{"error": {"a":1}}',
    ),
    (
        "content: 1",
        [
            "J38 char={ at 0-1, insert safe 0-0:{",
            'J06 key=content at 0-7, replace_all safe 0-7:"content"',
            "J07 char={ opened=1 at 0-1, close safe 10-10:}",
        ],
        '{"content": 1}',
    ),
    ("content 1", ["J20 at 0-9"], None),
    ('name: {"a":1}', ["J20 at 0-13"], None),
    ("result = {}", ["J20 at 0-11"], None),
    (
        '"a": 1',
        ["J38 char={ at 0-1, insert safe 0-0:{", "J07 char={ opened=1 at 0-1, close safe 6-6:}"],
        '{"a": 1}',
    ),
    ("'a", ["J05 char=' at 0-1, replace_all safe 0-1:\"", 'J17 at 0-1, close guess 2-2:"'], '"a"'),
    ("「1」", ['J05 char=「 at 0-1, replace_all safe 0-1:" 2-3:"'], '"1"'),
    ('『"a":1』', ["J03 char=『 half={ at 0-1, replace_all safe 0-1:{ 6-7:}"], '{"a":1}'),
    ("「a」", ['J05 char=「 at 0-1, replace_all safe 0-1:" 2-3:"'], '"a"'),
    ("[「1、2」]", ["J03 char=「 half=[ at 1-2, replace_all safe 1-2:[ 3-4:, 5-6:]"], "[[1,2]]"),
    ("[「1」]", ['J05 char=「 at 1-2, replace_all safe 1-2:" 3-4:"'], '["1"]'),
    ('{"a":1,"a":2,"b":1,"a":3}', ["J09 key=a at 7-10", "J09 key=a at 19-22"], None),
    ('{"a: {"b":1}}', ['J17 at 1-2, close guess 3-3:"'], '{"a": {"b":1}}'),
    ('{"a: 1, "b": 2}', ['J17 at 1-2, close guess 3-3:"'], '{"a": 1, "b": 2}'),
    (
        '{"a":"b',
        ["J07 char={ opened=1 at 0-1, close guess 7-7:}", 'J17 at 5-6, close guess 7-7:"'],
        '{"a":"b"}',
    ),
    ('{"a":"b,\n"c":1}', ['J17 at 5-6, close guess 7-7:"'], '{"a":"b",\n"c":1}'),
    (
        '["a\nb","c',
        [
            "J07 char=[ opened=1 at 0-1, close guess 9-9:]",
            "J15 written=\\n at 3-4, replace_all safe 3-4:\\n",
            'J17 at 7-8, close guess 9-9:"',
        ],
        '["a\\nb","c"]',
    ),
    (
        '["\\ud800","\\udc00x"]',
        [
            "J23 value=\\ud800 at 2-8, replace guess 2-8:\\ufffd",
            "J23 value=\\udc00 at 11-17, replace guess 11-17:\\ufffd",
        ],
        '["\\ufffd","\\ufffdx"]',
    ),
    ("True", ["J14 typed=True meant=true at 0-4, replace_all safe 0-4:true"], "true"),
    ("NaN", ["J10 value=NaN at 0-3, replace_all guess 0-3:null"], "null"),
    ("+5", ["J21 value=+5 meant=5 at 0-2, replace safe 0-2:5"], "5"),
    ("5 x", ["J20 at 0-3"], None),
    ("hello", ["J20 at 0-5"], None),
    ("[1\n2\n]", ["J01 at 2-3, insert safe 2-2:,"], "[1,\n2\n]"),
    (
        '{"a":"C:\\x\\"',
        [
            "J07 char={ opened=1 at 0-1, close guess 12-12:}",
            'J17 at 5-6, close guess 12-12:"',
            "J16 typed=\\x at 8-9, replace_all safe 8-9:\\\\",
        ],
        '{"a":"C:\\\\x\\""}',
    ),
    (
        "{\"a\":'b' 'c'}",
        ['J05 char=\' at 5-6, replace_all safe 5-6:" 11-12:"', "J36 at 7-10, join safe 7-10:"],
        '{"a":"bc"}',
    ),
    ('{"a":"b"\n+ "c"}', ["J36 at 7-12, join safe 7-12:"], '{"a":"bc"}'),
    ("[1}", ["J28 typed=} meant=] at 2-3, replace safe 2-3:]"], "[1]"),
    ('{"a":[1}', ["J07 char=[ opened=1 at 5-6, close safe 7-7:]"], '{"a":[1]}'),
    ("[{]", ["J07 char={ opened=1 at 1-2, close safe 2-2:}"], "[{}]"),
    ("(1)", ["J20 at 0-3"], None),
    ('{"a":"x\ty"}', ["J15 written=\\t at 7-8, replace_all safe 7-8:\\t"], '{"a":"x\\ty"}'),
    ('["a" {"b":1}]', ["J01 at 4-5, insert safe 4-4:,"], '["a", {"b":1}]'),
    ('["a" 5]', ["J01 at 4-5, insert safe 4-4:,"], '["a", 5]'),
    ('{"a":"b" // c\n}', ["J08 at 9-13, delete removes 9-13:"], '{"a":"b" \n}'),
    ('{"a" : tru}', ['J22 text=tru at 7-10, quote safe 7-10:"tru"'], '{"a" : "tru"}'),
    ("[“a„, ”b“]", ['J04 char=“ at 1-2, replace_all safe 1-2:" 3-4:" 6-7:" 8-9:"'], '["a", "b"]'),
    (
        "[1e400, -1e400, 1e308]",
        ["J46 value=1e400 at 1-6, replace_all guess 1-6:null 8-14:null"],
        "[null, null, 1e308]",
    ),
    (
        "{a:1;}",
        ['J06 key=a at 1-2, replace_all safe 1-2:"a"', "J32 at 4-5, delete safe 4-5:"],
        '{"a":1}',
    ),
    (
        "[1、2；3]",
        ["J03 char=、 half=, at 2-3, replace_all safe 2-3:,", "J32 at 4-5, replace_all safe 4-5:,"],
        "[1,2,3]",
    ),
    ("[1;;]", ["J32 at 2-3, delete safe 2-3:", "J02 at 3-4, delete safe 3-4:"], "[1]"),
    ('["a\u3000"\u3000]', ["J11 at 5-6, replace_all safe 5-6: "], '["a\u3000" ]'),
    ('["a"\u200b]', ["J18 char=U+200B at 4-5, replace_all safe 4-5: "], '["a" ]'),
    ('{"a":b"}', ['J37 at 5-6, insert guess 5-5:"'], '{"a":"b"}'),
    (
        "[a, b c,\nd]",
        [
            'J22 text=a at 1-2, quote safe 1-2:"a"',
            'J22 text=b c at 4-7, quote safe 4-7:"b c"',
            'J22 text=d at 9-10, quote safe 9-10:"d"',
        ],
        '["a", "b c",\n"d"]',
    ),
    (
        "[「1,2]",
        [
            "J07 char=[ opened=1 at 0-1, close safe 6-6:]",
            "J03 char=「 half=[ at 1-2, replace_all safe 1-2:[",
        ],
        "[[1,2]]",
    ),
    ("{『a』:1}", ['J05 char=『 at 1-2, replace_all safe 1-2:" 3-4:"'], '{"a":1}'),
    ("{-:1}", ['J06 key=- at 1-2, replace_all safe 1-2:"-"'], '{"-":1}'),
)


@pytest.mark.parametrize(("text", "mistakes", "fixed"), MISTAKES, ids=[one[0] for one in MISTAKES])
def test_each_mistake_has_its_place_its_words_and_its_edits(
    text: str, mistakes: list[str], fixed: str | None
) -> None:
    """And all edits together make JSON, or there are none."""
    found, edits = examine(text, DEEPEST)
    assert [written(one) for one in found] == mistakes
    assert (applied(text, edits) if edits else None) == fixed


@pytest.mark.parametrize(("count", "times"), [(9, 1), (10, 1), (11, 2), (30, 21)])
def test_the_tenth_mistake_of_a_kind_stands_for_those_after_it(count: int, times: int) -> None:
    """It is one more with each; all of them are fixed."""
    text = f"[{' '.join(['1'] * (count + 1))}]"
    found, edits = examine(text, DEEPEST)
    assert [one.times for one in found] == [*[1] * (min(count, 10) - 1), times]
    assert [one.start for one in found] == [2 * at for at in range(1, min(count, 10) + 1)]
    assert applied(text, edits) == text.replace(" ", ", ")


@pytest.mark.parametrize("sign", ["", "-"])
@pytest.mark.parametrize(
    ("digits", "is_told"), [(308, False), (310, False), (4299, False), (4300, False), (4301, True)]
)
def test_an_integer_may_have_as_many_digits_as_python_reads(
    digits: int, sign: str, *, is_told: bool
) -> None:
    """As it may in a text without a mistake; a longer one becomes a text, with all its digits."""
    number = sign + "9" * digits
    found, edits = examine(f"[{number},]", DEEPEST)
    told = [TextEdit(1, 1 + len(number), f'"{number}"')] if is_told else []
    assert [one.edits for one in found if one.diagnostic.code in ("J24", "J46")] == [told] * is_told
    assert applied(f"[{number},]", edits) == (f'["{number}"]' if is_told else f"[{number}]")


@pytest.mark.parametrize("quotes", [1, 2, 5])
def test_as_many_quotes_are_tried_as_an_end_as_the_limit_says(quotes: int) -> None:
    """One more, and the text ends with its first line."""
    text = '"a\n' + 'b" ' * quotes + 'c"'
    whole, line = len(text) - 1, 2
    for tries, last in ((quotes - 1, line), (quotes, whole), (quotes + 1, whole)):
        piece = ScalarReader(text, tries=tries).piece(0)
        assert (piece.last, piece.closed) == (last, last == whole)


def hold_edits(text: str) -> None:
    """Assert that all is inside the text, and that each character is edited once at most."""
    found, edits = examine(text, DEEPEST)
    assert all(0 <= one.start <= one.end <= len(text) for one in found), text
    assert edits == tuple(dict.fromkeys(edits)), text
    ends = [0, *(one.end for one in edits)]
    assert all(end <= one.start for one, end in zip(edits, ends, strict=False)), text


@pytest.mark.parametrize(
    "text",
    [
        "{0\x85",
        '{"a"\u2028',
        '{"a":\xa0',
        '{"a":/* c}',
        "{# ",
        '{"a":1 // c \t\r',
        "[#\u3000",
        "`{#-`\u3000",
        "'[1]x[]'",
        "'[1]x'\u3000",
        "\x1c",
        " \x1c",
        '"”\x1c\xa0',
        '{"a":1}\x1c',
        '{"a":1}\n\x1c\x1d',
    ],
)
def test_no_character_is_fixed_twice(text: str) -> None:
    """White space after a lost value, at the end of a comment, of a text, of what a shell left."""
    hold_edits(text)


@given(st.text(alphabet="{}[]:,\"'0a \n\r\x85\xa0\x1c\u3000\ufeff`#/*“」｛：=;\\", max_size=14))
def test_no_character_of_any_text_is_fixed_twice(text: str) -> None:
    """All fixes together are one text, and every place is a place in what was typed."""
    hold_edits(text)


SKIPS: Final = ("PLAIN_NAME", "PLAIN_VALUE", "PLAIN_COMMA")
"""The patterns for what is certainly right."""


def step_by_step(text: str) -> tuple[list[str], tuple[TextEdit, ...]]:
    """Examine a text in which nothing is skipped."""
    with pytest.MonkeyPatch.context() as patch:
        for name in SKIPS:
            patch.setattr(parser, name, re.compile("(?!)"))
        found, edits = examine(text, DEEPEST)
    return [written(one) for one in found], edits


def hold_skips(text: str) -> None:
    """Assert that what is skipped would have been read as it is."""
    found, edits = examine(text, DEEPEST)
    assert ([written(one) for one in found], edits) == step_by_step(text), text


@pytest.mark.parametrize("text", [text for text, _found, _fixed in MISTAKES])
def test_what_is_skipped_changes_no_mistake(text: str) -> None:
    """Alone, and among what is right."""
    hold_skips(text)
    hold_skips(f'{{"a": 1.5, "b" : "c" ,"d":[true,\n{text}, null], "a":{text}}}')


JSON: Final = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text('a"\\\n”＂ :', max_size=4),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text('a:" ', max_size=2), inner, max_size=3)
    ),
    max_leaves=9,
)


@given(JSON, st.integers(0, 200), st.integers(0, 3), st.sampled_from(["", *"{}[]:,\"' \n”＂0/-aN"]))
def test_what_is_skipped_changes_nothing_in_any_text(
    value: object, at: int, cut: int, typed: str
) -> None:
    """A text of JSON, in which some characters are replaced."""
    text = json.dumps(value, ensure_ascii=False)
    hold_skips(text[:at] + typed + text[at + cut :])


def test_a_mistake_in_each_object_costs_no_step_for_each_character(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Each object is three right members and a wrong one; only that is looked at closely."""
    steps = 0
    space = ScalarReader.space

    def counting(reader: ScalarReader) -> str:
        nonlocal steps
        steps += 1
        return space(reader)

    monkeypatch.setattr(ScalarReader, "space", counting)
    objects = ",".join(['{"a":"b","c":1,"d":true,"e":NaN}'] * 100)
    found, _edits = examine(f"[{objects}]", DEEPEST)
    assert [one.count for one in found] == [100]
    assert steps < 400
