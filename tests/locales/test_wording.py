"""K16: one word for one thing, in both languages, and none of the sentences that read badly."""

from __future__ import annotations

import argparse
import re
from pathlib import Path
from typing import Final

import pytest

from docs import make_reference
from humanmcp.cli import COMMANDS
from humanmcp.locales import say
from humanmcp.locales.compiling import sentences

ROOT: Final = Path(__file__).parent.parent.parent
PRINTED: Final = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)

ENGLISH: Final = {
    r"\bsa(y|id) otherwise\b": "name what can be chosen",
    r"of any kind": "say which kind",
    r"\b(stands?|listed) twice\b": "appears twice",
    r"\bno more\.": "no longer has it",
    r"\bthe (most|least),": "the maximum is, the minimum is",
    r"\b(fewest|mend|mended|anew|shall|whoever)\b": "minimum, fix, again, should, the sender",
    r"\bfor ever\b": "forever",
    r"\bis no (?!longer|more\b|known|such)": "is not a (but: there is no …)",
    r"\bcurly quotes?\b": "smart quotes",
    r"\bhalf of a character\b": "one half of a surrogate pair",
    r"\basking side\b": "the other side",
    r"\bat it\b": "say that a progress notification is sent",
    r"(?<!for )\bmachines?\b": "computer (but: for machines, of what programs read)",
    r"\bversions\b|\bversion (?!and exit)": "revision, where MCP's is meant",
    r"\bwith commas\b": "separated by commas",
}
"""What must not be read in an English sentence, and what is written in its place."""

JAPANESE: Final = {
    "要求": "リクエスト",
    r"応答(?!し)": "回答",
    "返事": "回答",
    r"答え(?=[をがはのも]|です|待ち|帳)": "回答",
    r"(?<![ァ-ヴー])版": "リビジョン、バージョン",
    "握手|最初のやりとり|初期化": "ハンドシェイク",
    "端末": "ターミナル",
    "ひな形": "テンプレート",
    "コンマ": "カンマ",
    "検査|確かめ(ない|る。|てい|ます)": "チェック",
    "やりとり": "やり取り",
    "省略時": "既定",
    r"エディタ(?!ー)": "エディター",
    "曲がった": "スマートクォート",
    "アドレスの型": "リソーステンプレート",
    "文字の半分|半分の文字|半分だけの文字": "サロゲートペアの片方",
    "もう結構": "取り消し",
    r"です\uff08[^\uff09]*になっています": "「… にしてください」と今の値",
    "演じ": "実演する、担当する",
    "ユーザー": "利用者",
    "だれ": "誰",
    "回答集|アンサーブック": "回答帳",
    "モデルの番": "モデルのターン",
    "生きている": "動いている",
    "マシン": "コンピューター",
    "インボックス": "受信箱",
    "わか[るらりっ]": "分かる",
    "[一二三四五六七八九]つ": "1 つ, 2 つ",
    "\uff1a(?!,)": "a colon of half width and a space",
    r"[ぁ-ヿ一-鿿][?!]": "か。, or no mark",
}
"""What must not be read in a Japanese sentence, and what is written in its place."""


def _offences(language: str, words: dict[str, str]) -> list[str]:
    """Return each use of a wrong word, with its sentence and the word to use."""
    return [
        f"{room}.{code}: {text!r} has {found.group()!r}, write: {right}"
        for room, said in sentences(language).items()
        for code, text in said.items()
        for wrong, right in words.items()
        if (found := re.search(wrong, text, re.IGNORECASE)) and not _is_there_no(text, found)
    ]


def _is_there_no(text: str, found: re.Match[str]) -> bool:
    """Return True for the `is no` of "there is no tool", which is plain English."""
    return found.group().startswith("is no") and text[: found.start()].lower().endswith("there ")


@pytest.mark.parametrize(("language", "words"), [("en", ENGLISH), ("ja", JAPANESE)])
def test_k16_one_word_is_used_for_one_thing(language: str, words: dict[str, str]) -> None:
    """K16: the word to use stands beside the wrong one."""
    assert _offences(language, words) == []


def test_k16_the_japanese_pages_use_the_words_of_the_glossary() -> None:
    """K16: what the program calls 回答帳, its manual calls so too."""
    pages = (ROOT / "README.ja.md", *sorted((ROOT / "docs").rglob("*.ja.md")))
    wrong = [
        f"{page.name}: {line} has {found.group()!r}, write: {right}"
        for page in pages
        for line in PRINTED.sub("", page.read_text(encoding="utf-8")).splitlines()
        for word, right in JAPANESE.items()
        if (found := re.search(word, line))
    ]
    assert wrong == []


def test_k16_a_wrong_word_is_found() -> None:
    """The list itself works: it finds what the sentences once said."""
    assert re.search(next(iter(ENGLISH)), "--method and --revision say otherwise.")
    assert re.search(
        r"です\uff08[^\uff09]*になっています",
        "error.code は整数です\uff08文字列になっています\uff09。",
    )


def test_k16_japanese_brackets_are_full_width() -> None:
    """K16: U+FF08 and U+FF09 without spaces around; code in backticks is as typed."""
    wrong = [
        f"{room}.{code}: {text}"
        for room, said in sentences("ja").items()
        for code, text in said.items()
        if re.search(r"[()]| \uff08|\uff09 (?!$)", re.sub(r"`[^`]*`", "", text))
    ]
    assert wrong == []


def _command_help(language: str) -> list[str]:
    """Return every line of every command's help: what it is for, and what each argument means."""
    found = {say("command", command, language) for command in COMMANDS}
    for command in COMMANDS:
        found |= {one.help or "" for one in make_reference.parser_of(command, language)._actions}
    return sorted(found - {argparse.SUPPRESS})


def test_k16_command_help_has_one_form_in_japanese() -> None:
    """K16: a command's help is in the plain form, never 「…します」, and has no full stop."""
    assert [text for text in _command_help("ja") if re.search("(ます|です)。?$|。$", text)] == []


def test_k16_command_help_has_one_form_in_english() -> None:
    """K16: a small letter at the start (but for names such as JSON-RPC), and no full stop."""
    wrong = r"(?![A-Z]{2})[A-Z]|(is|are) |.*[^.]\.$"
    assert [text for text in _command_help("en") if re.match(wrong, text)] == []
