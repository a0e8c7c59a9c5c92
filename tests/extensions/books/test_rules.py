"""A rule that is saved at the page: written into the book, refused, and said in a sentence."""

from pathlib import Path

import pytest

from humanmcp.common.book_file import BookFileError, read_book
from humanmcp.extensions.books import rules
from humanmcp.protocol.diagnostics.model import TextForm
from tests.support.speaking import said_in

RULES = [
    rules.NewRule("tools/call", 'a "b" \\ \n\t\x7f \x00 東京 😀', "t"),
    rules.NewRule(
        "tools/call", "no", "t", TextForm.TOOL_ERROR, {"x": 1, "y": True, "z": "q"}, 2.5, 3
    ),
    rules.NewRule(
        "tools/list", '{"tools": [], "n": 1.5, "a b": {"c": [1, {}]}}', "", TextForm.RESULT
    ),
    rules.NewRule("x", '{"code": -32602, "message": "no"}', "", TextForm.ERROR),
]


@pytest.mark.parametrize("rule", RULES)
def test_a_rule_survives_the_book(rule: rules.NewRule, tmp_path: Path) -> None:
    """Written as TOML, read by the book: the same method, tool, condition and answer."""
    book = tmp_path / "book.toml"
    book.write_text('\ufeff# mine\n[server]\nname = "weather"\n', encoding="utf-8")
    rules.add(book, rule)
    written = book.read_text(encoding="utf-8")
    assert written.startswith("\ufeff# mine\n")  # the mark of some editors stays, too
    (read,) = read_book(book).entries
    assert (read.method, read.tool, read.form) == (rule.method, rule.tool, rule.form)
    assert dict(read.where) == dict(rule.where)
    assert (read.after, read.times) == (rule.after, rule.times or None)
    if rule.form in (TextForm.TEXT, TextForm.TOOL_ERROR):
        assert read.text == rule.text


@pytest.mark.parametrize("rule", RULES)
def test_a_rule_goes_into_a_list_of_rules(rule: rules.NewRule, tmp_path: Path) -> None:
    """`rules = […]` was refused as "not TOML"."""
    book = tmp_path / "book.toml"
    before = 'rules = [\n  { text = "a" }, # mine\n]\n# the server\n[server]\nname = "weather"\n'
    book.write_text(before, encoding="utf-8")
    rules.add(book, rule)
    written = book.read_text(encoding="utf-8")
    assert [one.method for one in read_book(book).entries] == ["", rule.method]
    assert written.startswith('rules = [\n  { text = "a" }, # mine\n')
    assert written.endswith(']\n# the server\n[server]\nname = "weather"\n')


def test_a_book_that_cannot_be_added_to_is_said_to_be_that(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It stays as it was."""
    book = tmp_path / "book.toml"
    book.write_text("rules = []\n", encoding="utf-8")
    monkeypatch.setattr("tomlkit.parse", lambda _text: {})
    with pytest.raises(rules.RuleError) as caught:
        rules.add(book, RULES[0])
    assert "without changing other parts" in caught.value.sentence()
    assert book.read_text(encoding="utf-8") == "rules = []\n"


def test_a_book_that_cannot_be_read_is_left_alone(tmp_path: Path) -> None:
    """A rule is not added to a broken book, and a rule that breaks it is not added."""
    book = tmp_path / "book.toml"
    book.write_text("[[[", encoding="utf-8")
    with pytest.raises(BookFileError, match="not TOML"):
        rules.add(book, RULES[0])
    assert book.read_text(encoding="utf-8") == "[[["
    for text in ("[]", "{", '{"a": null}'):
        with pytest.raises(rules.RuleError):
            rules.add(tmp_path / "new.toml", rules.NewRule("x", text, "", TextForm.RESULT))
    assert not (tmp_path / "new.toml").exists()


@pytest.mark.parametrize(
    ("text", "english", "japanese"),
    [
        (
            '{"a": 1,\n"b": tru}',
            "Answer, line 2, column 6: Put the string in double quotes",
            "回答の 2 行 6 文字目: ",
        ),
        ("[1]", "The answer must be an object {…}, not […].", "オブジェクト {…} にして"),
        ('{"a": [null]}', "Its answer contains null", "回答に null がありますが"),
    ],
)
def test_a_rule_that_cannot_be_written_says_why_in_both_languages(
    text: str, english: str, japanese: str
) -> None:
    """What was wrong reached the page in the words of a JSON library."""
    with pytest.raises(rules.RuleError) as caught:
        rules.to_toml(rules.NewRule("x", text, "", TextForm.RESULT))
    assert english in caught.value.sentence()
    assert japanese in said_in("ja", caught.value.sentence)


def test_a_book_that_the_disk_refuses_says_so_in_both_languages(tmp_path: Path) -> None:
    """To read it, and to write it: the file's name, and what the system says."""
    (tmp_path / "book.toml").mkdir()
    with pytest.raises(rules.RuleError) as caught:
        rules.add(tmp_path / "book.toml", RULES[0])
    assert caught.value.sentence().endswith("book.toml cannot be read: it is a folder")
    assert said_in("ja", caught.value.sentence).endswith("book.toml を読めません: フォルダーです")
    with pytest.raises(rules.RuleError) as caught:
        rules.add(tmp_path / "missing" / "book.toml", RULES[0])
    assert said_in("ja", caught.value.sentence).endswith(
        "book.toml に書き込めません: そのファイルやフォルダーはありません"
    )


def test_a_rule_leaves_the_rest_of_the_book_as_it_is(tmp_path: Path) -> None:
    """Its line ends, its mode, and a link to where it is kept."""
    kept, book = tmp_path / "kept.toml", tmp_path / "book.toml"
    before = b'# my rules\r\n[[rules]]\r\nmethod = "ping"\r\ntext = "x"\r\n'
    kept.write_bytes(before)
    kept.chmod(0o640)
    book.symlink_to(kept)
    rules.add(book, RULES[0])
    after = kept.read_bytes()
    assert after.startswith(before)
    assert after.count(b"\n") == after.count(b"\r\n") > before.count(b"\n")
    assert book.is_symlink()
    assert kept.stat().st_mode & 0o777 == 0o640
    assert len(read_book(book).entries) == 2


def test_a_rule_is_a_sentence_in_both_languages() -> None:
    """With its condition, its delay and how often."""
    for language in ("en", "ja"):
        sentence = said_in(language, rules.sentence, RULES[1])
        assert "tools/call t" in sentence
        assert "2.5" in sentence
        assert "3" in sentence
        assert "\n" not in said_in(language, rules.sentence, RULES[0])
