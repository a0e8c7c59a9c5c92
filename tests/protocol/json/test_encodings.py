"""The encoding of bytes that are not UTF-8 is guessed where it is all but sure."""

import pytest

from humanmcp.protocol.json.encodings import guessed_encoding


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
