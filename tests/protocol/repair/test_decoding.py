"""Files that other editors and shells wrote."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from humanmcp.protocol.diagnostics.model import Severity
from humanmcp.protocol.repair.reading import decode_file
from tests.support.verdicts import hold_diagnostic

OSAKA = '{"error":{"code":-32602,"message":"遠い。自分で調べて"},"jsonrpc":"2.0","id":4}'


def test_plain_utf8_is_nothing_to_speak_of() -> None:
    """Also with CRLF."""
    assert decode_file(OSAKA.encode()) == (OSAKA, ())
    assert decode_file(b'{"a":1}\r\n') == ('{"a":1}\r\n', ())
    assert decode_file(b"") == ("", ())


@pytest.mark.parametrize(
    ("raw", "code"),
    [
        pytest.param(b"\xef\xbb\xbf" + OSAKA.encode(), "F01", id="E15 UTF-8 BOM"),
        pytest.param(b"\xff\xfe" + OSAKA.encode("utf-16-le"), "F02", id="E16 UTF-16LE BOM"),
        pytest.param(b"\xfe\xff" + OSAKA.encode("utf-16-be"), "F02", id="E16 UTF-16BE BOM"),
        pytest.param(OSAKA.encode("cp932"), "F03", id="E17 CP932"),
    ],
)
def test_what_has_one_meaning_is_decoded_and_named(raw: bytes, code: str) -> None:
    """The exact line each time, plus a note naming what was repaired."""
    text, (diagnostic,) = decode_file(raw)
    assert text == OSAKA
    assert (diagnostic.code, diagnostic.severity) == (code, Severity.REPAIRED)
    hold_diagnostic(diagnostic, text)


@pytest.mark.parametrize(
    "word", ["大阪", "晴", "東京の天気は晴れです。", "それは “ok” です", "テスト"]
)
def test_japanese_of_any_length_is_recognised(word: str) -> None:
    """A person may answer with one word."""
    text, (diagnostic,) = decode_file(f'{{"text":"{word}"}}'.encode("cp932"))
    assert word in text
    assert diagnostic.code == "F03"


@pytest.mark.parametrize("text", ["{“a”: “b”}", '{"a":"café"}', '{"a":"naïve"}', '{"a":"“école”"}'])
def test_windows_1252_is_refused_with_advice(text: str) -> None:
    """“hello” would be valid CP932; a guess would send what nobody typed."""
    shown, (diagnostic,) = decode_file(text.encode("cp1252"))
    assert (diagnostic.code, diagnostic.severity) == ("F04", Severity.ERROR)
    assert shown == text
    hold_diagnostic(diagnostic, shown)


@pytest.mark.parametrize(
    "raw",
    [
        b"\x00\x01\x02\x03",
        b"\x00\x00a\x00",
        b"\x00\x00\x00a",
        b'{"a":"\x00"}',
        b"\xff\xfea",
        b"\xff\x00\xff",
    ],
)
def test_what_is_no_text_is_refused(raw: bytes) -> None:
    """A file of bytes, or half of a character at its end."""
    _text, diagnostics = decode_file(raw)
    assert [diagnostic.code for diagnostic in diagnostics] == ["F05"]
    assert diagnostics[0].blocks


@given(st.binary(max_size=60))
def test_no_bytes_whatever_raise(raw: bytes) -> None:
    """Whatever it is, it is text with at most one problem."""
    text, diagnostics = decode_file(raw)
    assert isinstance(text, str)
    assert len(diagnostics) <= 1


@given(st.text(alphabet="あいうアイウ日本語晴東京大阪。、", min_size=1, max_size=20))
def test_japanese_answers_survive_cp932(words: str) -> None:
    """Whatever was typed in Japanese comes out as it was."""
    text = f'{{"result":{{"content":[{{"type":"text","text":"{words}"}}]}}}}'
    assert decode_file(text.encode("cp932"))[0] == text


@pytest.mark.parametrize(
    ("raw", "text", "code", "detail", "place"),
    [
        (b"\xef\xbb\xbf{}", "{}", "F01", (), (0, 0, 1, 1)),
        (b"\xef\xbb\xbf", "", "F01", (), (0, 0, 0, 0)),
        (b"\xff\xfe{\0}\0", "{}", "F02", (("encoding", "UTF-16-LE"),), (0, 0, 1, 1)),
        (b"\xfe\xff\0{\0}", "{}", "F02", (("encoding", "UTF-16-BE"),), (0, 0, 1, 1)),
        (b'{"a":"\x90\xb0"}', '{"a":"晴"}', "F03", (), (0, 0, 1, 1)),
        (b'\n{"a":"caf\xe9"}', '\n{"a":"café"}', "F04", (("char", "é"),), (10, 11, 2, 10)),
        (b"\xe9", "é", "F04", (("char", "é"),), (0, 1, 1, 1)),
        (b"\x7f\xe9", "\x7fé", "F04", (("char", "é"),), (1, 2, 1, 2)),
        (b"{\0}\0", "{\0}\0", "F05", (), (1, 2, 1, 2)),
        (b'{"a":\n"\0"}', '{"a":\n"\0"}', "F05", (), (7, 8, 2, 2)),
        (b"\xff\xfea", "\ufffd", "F05", (), (0, 0, 1, 1)),
        (b"\xff\0\xff", "\ufffd\0\ufffd", "F05", (), (0, 0, 1, 1)),
        (b"a\0\xff", "a\0\ufffd", "F05", (), (0, 0, 1, 1)),
    ],
)
def test_each_encoding_is_named_at_what_shows_it(
    raw: bytes,
    text: str,
    code: str,
    detail: tuple[tuple[str, str], ...],
    place: tuple[int, int, int, int],
) -> None:
    """The first character that is wrong, or the whole file."""
    decoded, (found,) = decode_file(raw)
    assert (decoded, found.code, found.detail) == (text, code, detail)
    assert (found.start, found.end, found.line, found.column) == place
