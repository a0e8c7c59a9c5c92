"""Texts that are almost JSON, for `recording`: values, marks between them, words around."""
# ruff: noqa: E501, RUF001 - the texts that people type stand as they are

import json
from collections.abc import Iterator
from typing import Final

from humanmcp.protocol.json import spelling, undecoded
from humanmcp.protocol.repair import embedded, reading
from humanmcp.protocol.tables import types
from humanmcp.protocol.tables.schemas import expanded, template_form

_VALUES: Final = (
    "X", "Xy z", "X1",
    "1", "-1", "+1", "01", "-007", "0", "-0", "00", "1.", ".5", "-.5", "+.5", "1.e5", "1e5", "1E+5", "1e", "1e+", "1e400",
    "-1e400", "0x1F", "-0xff", "0xZZ", "0b101", "0o17", "1_000", "1,000", "1.2.3", "1-2", "--1", "12px", "1.5e3x", "9" * 40,
    "ー5", "－５", "−5", "–5", "１２", "1２", "１．５", "＋1", "NaN", "-NaN", "nan", "Infinity", "-Infinity", "+Infinity", "inf", "-inf",
    "true", "True", "TRUE", "tRue", "ｔｒｕｅ", "false", "False", "null", "None", "NULL", "Null", "nil", "undefined", "yes", "$x", "a-b", "a b c",
    "2026-01-02", "12:30", "2026-01-02T03:04:05Z", "http://a.b/c?d=e#f", "C:\\x", "a.b@c.d", "@", "%", "&x", "*", "~", "...", "…", "-", "+", "ー",
    '"x"', "'x'", "`x`", "“x”", "„x“", "‘x’", "«x»", "「x」", "『x』", "＂x＂", "＇x＇", '"""x"""', "'''x'''", '""', "''", "``", "“”", '"', "'", "“",
    '"x', "'x", "“x", 'x"', "x'", "x”", '"x”', '“x"', "'x\"", "\"x'", '"a"b"', '"a "b" c"', "'it's'", "'it\\'s'", "\"it's\"", "'say \"hi\"'",
    '"a" "b"', '"a"\n"b"', '"a" + "b"', "'a' + \"b\"", '"a" +', '+ "a"', '"a""b"', "'a''b'", '"a" "b" "c"', '"a" b', 'b"x"', "r'x'", "f'{x}'", 'u"x"',
    r'"\n"', r'"\x41"', r'"\u{41}"', r'"\u12"', r'"\u00e9"', r'"\ud83d\ude00"', r'"\ud83d"', r'"\ude00"', r'"\d"', r'"\\"', r'"\"', r'"\\\"', r'"\'"', r'"\0"', r'"\v"',
    r'"C:\new\users"', r'"C:\Users"', r'"a\ b"', "'\\n'", "'\\\\'", r"'\x41'", '"a\nb"', '"a\tb"', '"a\x00b"', '"a\r\nb"', '"a\u2028b"', '"\ud800"', '"a\\\nb"',
    "[]", "{}", "[,]", "{,}", "[1,]", "[1,,2]", "[1 2]", "[1;2]", "[1、2]", "(1,2)", "<x>", "｛｝", "［１］", "【1】", "{1}", '{"x"}', '{"x":}', '{"x"=1}',
    '{"x"=>1}', '{"x" 1}', '{"x"：1}', "{x:1}", "{x=1}", "{1:2}", "{x-y:1}", "{'x':1}", "{“x”:1}", "{x:1,x:2}", '{"x":1,"x":2}', '{"x" : "y" "z":1}', "{:1}", "{x}", "{x y:1}",
    "/* c */ 1", "1 /* c */", "// c\n1", "1 // c\n", "# c\n1", "1 # c\n", "<!-- c --> 1", "/* c", "1 -- c", "\u00a01", "\u200b1", "\u30001", "\ufeff1", "\x0b1", "new Date()", "Date(1)", "{...x}", "x => 1", "a.b.c",
)  # fmt: skip
_AROUND: Final = (
    '{{"a":{}}}',
    "[{}, 1]",
    '{{"a":{},\n "b":[2,{{"c":null}}]}}',
    "{}",
    '{{"a":[{}',
    '{{"k {}": 1}}',
)


def scalars() -> Iterator[str]:
    """Yield what is read of a value, right or wrong, at each place where one may stand."""
    for value in _VALUES:
        for around in _AROUND:
            yield from _read(around.format(value))


def marks() -> Iterator[str]:
    """Yield what is read where one mark is another one, is there twice, or is not there."""
    right = '{"a" : [1, {"b": "x"}], "c": {}}'
    others = (
        "",
        " ",
        ",",
        ",,",
        ";",
        ":",
        "::",
        "=",
        "}",
        "]",
        "{",
        "[",
        "(",
        ")",
        '"',
        "'",
        "、",
        "：",
        "」",
        "「",
        "\n",
        "/",
        "\\",
        "+",
        "-",
        "x",
        "1",
    )
    for at, char in enumerate(right):
        if char in '{}[],:"' or at % 5 == 0:
            for other in others:
                yield from _read(right[:at] + other + right[at + 1 :])


def _read(text: str) -> Iterator[str]:
    found = reading.read_json(text)
    yield f"{text!r}"
    if found.readable and not found.diagnostics:
        yield f"  {json.dumps(found.value, ensure_ascii=True)[:160]}"
        return
    for one in found.diagnostics:
        fix = one.fix and f"{one.fix.label} {one.fix.applicability.value} {one.fix.apply(text)!r}"
        yield f"  {one.code} {one.severity.value} {one.start}-{one.end} {one.detail} {fix}"[:400]
    yield f"  {found.readable} {found.json!r} {found.as_written(len(found.json) // 2)}"[:300]


_RESULT: Final = '{"result": {"content": [{"type": "text", "text": "x"}]}}'
_WORDS: Final = (
    "{}", "Here: {}", "{} is it", "Sure!\n```json\n{}\n```\nBye", "```\n{}\n```", "~~~\n{}\n~~~", "<json>{}</json>", "> {}", "data: {}", "event: message\ndata: {}\n\n",
    "Content-Length: 60\r\n\r\n{}", "curl -d '{}' http://h", "a {} b {}", "{}\n{}", "```json\n{}\n```\n```json\n{}\n```", "const x = {};", "print({})", "({})", "[{}]", "x{}x", "result: {}", "$ echo '{}'", "{{ {}",
)  # fmt: skip


def around() -> Iterator[str]:
    """Yield which answer is found among words."""
    for words in _WORDS:
        for answer in (
            _RESULT,
            '{"content": []}',
            '{"code": 1, "message": "x"}',
            "{'result': {}}",
            '{"a": 1}',
        ):
            text = words.replace("{}", answer)
            yield f"{text!r}: {embedded.find_answer(text)}"
            yield from _read(text)


def words() -> Iterator[str]:
    """Yield which known word is meant by a typed one, and which formats a text has."""
    known = (
        "content",
        "isError",
        "structuredContent",
        "text",
        "type",
        "mimeType",
        "data",
        "uri",
        "nextCursor",
        "_meta",
        "ttlMs",
        "id",
    )
    for typed in (
        "contents", "Content", "CONTENT", "contnet", "cntent", "conten", "tent", "is_error", "iserror", "is-error", "error", "struct", "structured_content",
        "txt", "tex", "typ", "tpye", "mime", "mimetype", "mime_type", "mime type", "dta", "url", "urI", "next_cursor", "cursor", "meta", "__meta", "ttl", "ｔｅｘｔ", "i", "ID", "",
    ):  # fmt: skip
        yield f"{typed!r}: {spelling.alike(typed, known)!r} {spelling.meant_by(typed, known)!r} {spelling.plain(typed)!r} {spelling.half_width(typed)!r}"
        yield f"  {[spelling.slips(typed, one, 3) for one in known]}"
    texts = (
        "", "a", "a@b.c", "a@b", "@b.c", "a b@c.d", "2026-01-02", "2026-13-01", "2026-02-30", "2024-02-29", "2026-01-02T03:04:05Z", "2026-01-02T03:04:05", "2026-01-02T03:04:05.123+09:00",
        "2026-01-02T24:00:00Z", "2026-01-02 03:04:05Z", "http://h", "http://h/a b", "file:///a", "a:b", "//h", "/a", "http://[::1]/", "http://[x", "mailto:a@b.c", "urn:x:y", "1:2", "AAAA", "AAA=", "AA==", "A===", "AA=A", "AAA", "A-_A", "%%%%", "en", "1.5", "text/plain", "x",
        "text", "text/", "text/plain; charset=utf-8", "data:,x", "{a}", "http://h/{a}", "http://h/{+a,b*}", "http://h/{a", "http://h/a}", "http://h/{?a:3}",
    )  # fmt: skip
    for name, found in sorted(types.FORMS.items()):
        for text in texts:
            yield f"{name} {text!r}: {found(text)}"
    for template in (
        "{a}",
        "x{/a}",
        "{+a}",
        "{#a}",
        "{.a}",
        "{;a}",
        "{?a,b}",
        "{&a}",
        "{a:2}",
        "{a*}",
        "{b}",
        "{",
        "a}b",
        "{c}",
        "{a,c}",
    ):
        yield f"{template} {expanded(template, {'a': 'é /x', 'b': '', 'd': '1'})} {template_form(template)}"


def cut() -> Iterator[str]:
    """Yield what stands in for a message of which only the beginning and the end are known."""
    whole = (
        b'{"jsonrpc":"2.0","id":"a\\"b","method":"tools/call","params":{"id":9,"x":[1,{"y":"z"}]}}'
    )
    other = b'{"params":{"method":"no"},"method":"tools/list","id":-12,"jsonrpc":"2.0"}'
    for line in (whole, other):
        for first in range(0, len(line), 7):
            for last in (0, 12, 30, 45):
                found = undecoded.stand_in(line[:first], line[len(line) - last :], 10**6)
                yield f"{first} {last} {found!r}"
