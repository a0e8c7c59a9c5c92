"""What fills a sentence: the trouble of a system or a library, in the reader's language."""

import tomllib
from pathlib import Path

import pytest

from humanmcp.common.book_file import BookFileError, parse_book
from humanmcp.common.settings import SettingError, load
from humanmcp.locales.stop import Phrase, in_language, sentence_of
from tests.support.speaking import said_in


def error_of(path: Path) -> OSError | UnicodeDecodeError:
    """Return what reading a file raises."""
    try:
        path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        return error
    raise AssertionError(path)


def test_trouble_with_a_file_is_told_in_both_languages(tmp_path: Path) -> None:
    """The system speaks English to us, whatever the person reads."""
    (tmp_path / "bytes").write_bytes(b"ab\xff")
    for name, english, japanese in (
        ("missing", "there is no such file or folder", "そのファイルやフォルダーはありません"),
        ("", "it is a folder", "フォルダーです"),
        (
            "bytes",
            "it is not UTF-8 text (byte 3)",
            "UTF-8 の文章ではありません\uff083 バイト目\uff09",
        ),
    ):
        error = error_of(tmp_path / name)
        assert (in_language(error), said_in("ja", in_language, error)) == (english, japanese)


def test_a_bare_error_of_the_system_names_its_file(tmp_path: Path) -> None:
    """Nothing else in such a line says which file is meant."""
    missing = tmp_path / "missing"
    expected = f"{missing}: そのファイルやフォルダーはありません"
    assert said_in("ja", sentence_of, error_of(missing)) == expected
    assert said_in("ja", sentence_of, OSError("odd")) == "odd"


def test_a_text_that_is_no_toml_says_where_in_both_languages(tmp_path: Path) -> None:
    """The reason is the library's and English; the place is what a person needs."""
    with pytest.raises(BookFileError) as caught:
        parse_book("a = 1\nb = = 2\n", tmp_path / "book.toml")
    assert "line 2, column 5: Invalid value" in caught.value.sentence()
    assert "2 行 5 文字目が TOML の書き方になっていません" in said_in("ja", caught.value.sentence)
    (tmp_path / "settings.toml").write_text("lang = \n", encoding="utf-8")
    with pytest.raises(SettingError) as setting:
        load({"home": str(tmp_path)}, {})
    assert "1 行 8 文字目" in said_in("ja", setting.value.sentence)
    error = tomllib.TOMLDecodeError("without a place")
    assert said_in("ja", in_language, error) == "without a place"


def test_a_part_of_a_sentence_is_found_by_its_own_code() -> None:
    """And what is nobody's sentence stays as it is."""
    phrase = Phrase("kept", "draft", {"number": 3})
    assert (in_language(phrase), said_in("ja", in_language, phrase)) == (
        "The draft for message 3",
        "メッセージ 3 の下書き",
    )
    assert said_in("ja", in_language, "as it is") == "as it is"
