r"""What other languages print becomes JSON, and what quotes a text is undone.

`test_message_finder.py` has whole files in these notations.
"""

from typing import Final

import pytest

from humanmcp.protocol.validation.quoting import LAYERS, as_json

PRINTED: Final = {
    # Python
    "{'a': None, 'b': True, 'c': False}": '{"a": null, "b": true, "c": false}',
    "{'a': [1, -2.5e3]} and more": '{"a": [1, -2.5e3]}',
    r"{'a': 'it\'s', 'b': None}": '{"a": "it\'s", "b": null}',
    "{'a': \"it's\", 'b': True}": '{"a": "it\'s", "b": true}',
    "{'a': 'say \"x\"'}": r'{"a": "say \"x\""}',
    "{'a': b'x', 'c': u'y'}": '{"a": "x", "c": "y"}',
    "{'a': 'x'\n 'y' \"z\"}": '{"a": "xyz"}',
    r"{'a': '\x41\u00e4\U0001F600\101\n\r\t\q\\'}": '{"a": "Aä😀A\\n\\r\\tq\\\\"}',
    r"{'a': '\303\266 \xC3\xB6 \xff'}": '{"a": "Ã¶ Ã¶ ÿ"}',
    r"{'a': '\303\266 \xC3\xB6'}": '{"a": "ö ö"}',
    "(a='x', b=None)": '{"a":"x", "b":null}',
    "(a=1, b=Inner(c=[True]))": '{"a":1, "b":{"c":[true]}}',
    # Node.js
    "{ a: undefined, b: 'x', c_1: [] }": '{ "a": null, "b": "x", "c_1": [] }',
    # Ruby, Elixir, Clojure, Lua
    '{"a" => 1, :b => nil, "c"=>"x"}': '{"a" : 1, "b" : null, "c":"x"}',
    '{"a" => %{b: 1}, "c" => #{"d" => 2}}': '{"a" : {"b": 1}, "c" : {"d" : 2}}',
    '{a = "x", b = {{c = 1}, {c = 2}}}': '{"a" : "x", "b" : [{"c" : 1}, {"c" : 2}]}',
    # PHP, Swift, Rust
    "['a' => NULL, 'b' => [0 => 'x', 1 => 'y']]": '{"a" : null, "b" : [ "x",  "y"]}',
    '["a": 1, "b": [:], "c": [2], "d": nil]': '{"a": 1, "b": {}, "c": [2], "d": null}',
    '{"a": String("x"), "b": Number(1), "c": Null}': '{"a": "x", "b": 1, "c": null}',
    '{"a": Array [Number(1)], "b": Object {}}': '{"a": [1], "b": {}}',
    # quotes of a word processor
    "{“a”: “b”}": '{"a": "b"}',
    # commas behind the last one
    "{a: [1, 2, ], }": '{"a": [1, 2 ] }',
}
"""A value in the notation of another language, and as JSON."""


@pytest.mark.parametrize("text", PRINTED)
def test_what_another_language_prints_is_json(text: str) -> None:
    """With its white space, up to its end; also behind other words."""
    for before in ("", "DEBUG {x} "):
        end, plain, is_cut = as_json(before + text, len(before), 1000)
        assert (plain, is_cut) == (PRINTED[text], False)
        assert end == len(before) + len(text.removesuffix(" and more"))


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("{ a: [Object], b: [Array] }", '{ "a": {}, "b": [] }'),
        ("{ a: […], b: {…}, c: [Circular *1] }", '{ "a": [], "b": {}, "c": {} }'),
        ("{ a: [Function: run], b: 1 }", '{ "a": {}, "b": 1 }'),
        ("{ a: [ 1, 2, ... 98 more items ] }", '{ "a": [ 1, 2  ] }'),
        ("{ a: [ 1, ...1 more item ] }", '{ "a": [ 1  ] }'),
        ("{a: 1, …}", '{"a": 1 }'),
        ("{a: 1, ...}", '{"a": 1 }'),
    ],
)
def test_what_a_program_left_out_is_empty(text: str, plain: str) -> None:
    """And it is said that something is missing."""
    assert as_json(text, 0, 1000) == (len(text), plain, True)


@pytest.mark.parametrize(
    ("text", "end"),
    [
        ('{"a": 1,}', 4),  # JSON with a mistake
        ('[{"a" 1}', 6),
        ("{'a': 1", 7),  # never closed
        ("{'a': 'b' 1}", 10),  # nothing between two values
        ("{'a': 'b", 8),  # a text without an end
        ("{a: ?}", 4),
    ],
)
def test_what_is_no_value_of_another_language_is_read_up_to_its_mistake(
    text: str, end: int
) -> None:
    """So that it is not tried again from each bracket in it."""
    assert as_json(text, 0, 1000) == (end, "", False)


def test_a_long_value_is_read_up_to_a_bound() -> None:
    """One character too few, and it has no end."""
    text = "{a: [1, 2], b: 'x'}"
    assert as_json(f"{text} y", 0, len(text))[1] == '{"a": [1, 2], "b": "x"}'
    assert as_json(f"{text} y", 0, len(text) - 1)[1] == ""


@pytest.mark.parametrize(
    ("name", "quoted", "text"),
    [
        ("escaped", r"\"a\":\"b\"", '"a":"b"'),
        ("escaped", '"a"', '"a"'),
        ("escaped", r"\x22a\x22", '"a"'),
        ("escaped", r"\303\266", "ö"),
        ("escaped", r"ä\q", "äq"),
        ("doubled", '""a"":""b""', '"a":"b"'),
        ("entity", "&quot;a&#34;: &lt;&amp;", '"a": <&'),
        ("markup", ">{&quot;a&quot;:1}", '{"a":1}'),
        ("bytes", r"'{\"a\":\"\xc3\xb6\"}'", '{"a":"ö"}'),
        # SQL, a shell, YAML, Python
        ("quoted", "'{\"a\":\"it''s\"}'", '{"a":"it\'s"}'),
        ("quoted", r"""'{"a":"it'\''s"}'""", '{"a":"it\'s"}'),
        ("quoted", '\'{"a":\n    "b  c"}\'', '{"a":\n    "b  c"}'),
        ("quoted", '\'{"a":"b\n    c"}\'', '{"a":"b c"}'),
        ("quoted", r"""'{"a":"it\'s"}'""", '{"a":"it\'s"}'),
        ("quoted", r"""'{"a":"b\\nc"}'""", r'{"a":"b\nc"}'),
        ("quoted", r"""'{"a":"b\nc"}'""", r'{"a":"b\nc"}'),
        ("quoted", "'{no value}'", "'{no value}'"),
        ("quoted", '\'{"a":1}', '\'{"a":1}'),
    ],
)
def test_what_quotes_a_text_is_undone(name: str, quoted: str, text: str) -> None:
    """In the way that gives JSON, where a quote is written in several ways."""
    assert LAYERS[name].undone(quoted) == text
