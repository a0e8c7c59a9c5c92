"""The encoding of bytes that are not UTF-8 is guessed where it is all but sure."""

import pytest

from humanmcp.protocol.json.encodings import guessed_encoding, half_characters, utf16_of


@pytest.mark.parametrize(
    ("text", "encoding", "name"),
    [
        ('{"name":"天気予報"}', "cp932", "CP932 (Shift_JIS)"),
        ('{"name":"中文"}', "gbk", "GBK"),
        ('{"name":"café"}', "latin-1", "Windows-1252"),
        ('{"name":"“naïve” ok"}', "cp1252", "Windows-1252"),
        ('{"name":"привет"}', "cp1251", ""),
    ],
)
def test_a_frequent_encoding_is_named(text: str, encoding: str, name: str) -> None:
    """By the bytes of a whole line."""
    assert guessed_encoding(text.encode(encoding)) == name


@pytest.mark.parametrize("raw", [b'{"a":"\xff"}', b"tools\xc0\xafcall", b"\x81", b"\x00\xe9"])
def test_what_may_be_anything_gets_no_name(raw: bytes) -> None:
    """A wrong name would send a person the wrong way."""
    assert guessed_encoding(raw) == ""


@pytest.mark.parametrize(
    ("raw", "encoding", "mark"),
    [
        ("\ufeff{}".encode("utf-16-le"), "utf-16-le", 2),
        ("\ufeff{}".encode("utf-16-be"), "utf-16-be", 2),
        ("{ab}".encode("utf-16-le"), "utf-16-le", 0),
        ("{ab}".encode("utf-16-be"), "utf-16-be", 0),
        ("\t\r\n~".encode("utf-16-le"), "utf-16-le", 0),
        ("{a}".encode("utf-16-le"), "", 0),
        ('記\n{"jsonrpc":"2.0"'.encode("utf-16-le"), "utf-16-le", 0),
        ('記\n{"jsonrpc":"2.0"'.encode("utf-16-be"), "utf-16-be", 0),
        (b"x" + '"jsonrpc"'.encode("utf-16-le"), "", 0),
        (b"{ab}", "", 0),
        (b"", "", 0),
    ],
)
def test_a_file_in_utf16_is_told_by_its_beginning(raw: bytes, encoding: str, mark: int) -> None:
    """By its byte-order mark, by four characters of ASCII, or by a name that messages have."""
    assert utf16_of(raw) == (encoding, mark)


@pytest.mark.parametrize(
    ("text", "encoding", "name"),
    [
        ("「ああ」中文", "euc-jp", "EUC-JP"),
        ("ああ中文", "euc-jp", "EUC-JP"),
        ("あ中文", "euc-jp", "GBK"),
        ("abc", "ascii", "Windows-1252"),
        ("äöé", "cp1252", ""),
        ("naïve, “für” ok", "cp1252", "Windows-1252"),
        ("Größe", "cp1252", "Windows-1252"),
        ("Straße", "cp1252", "Windows-1252"),
        ("カタカナ", "cp932", "CP932 (Shift_JIS)"),
    ],
)
def test_each_encoding_is_told_from_the_next(text: str, encoding: str, name: str) -> None:
    """Two hiragana are no accident; three letters with accents in a row are no word."""
    assert guessed_encoding(text.encode(encoding)) == name


@pytest.mark.parametrize(
    ("text", "halves"),
    [
        (r"\ud7ff\ue000", []),
        (r"\uD800", [(0, 6)]),
        (r"\udbff\udc00", []),
        (r"\uDBFF\uDFFF", []),
        (r"\udc00\ud800", [(0, 6), (6, 12)]),
        (r"\ud800\udc00\udc00", [(12, 18)]),
        (r"\ud800x\udc00", [(0, 6), (7, 13)]),
        (r"\ud8", []),
    ],
)
def test_a_half_is_one_by_its_number(text: str, halves: list[tuple[int, int]]) -> None:
    """From D800 the first, from DC00 the second."""
    assert half_characters(text) == halves
