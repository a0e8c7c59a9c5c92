"""The command line's own words: help and complaints in the language of whoever reads them."""

import os
from pathlib import Path

import pytest

from humanmcp.cli import commands, main
from humanmcp.common.parsing import sentence

KANA = ("ぁ", "ヿ")
ENGLISH_OF_ARGPARSE = ("usage:", "options:", "positional arguments:", "show this help message")


@pytest.fixture(autouse=True)
def _english_elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let nothing but the command line ask for a language."""
    monkeypatch.setenv("HUMANMCP_HOME", str(tmp_path))
    for name in ("LC_ALL", "LANG", "HUMANMCP_LANG"):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.parametrize("name", commands())
def test_the_help_of_every_command_speaks_the_language_that_is_asked_for(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Headings, flags and the line on help itself: nothing of argparse's English is left."""
    with pytest.raises(SystemExit) as left:
        main([name, "--help", "--lang", "ja"])
    assert left.value.code == 0
    shown = capsys.readouterr().out
    assert shown.startswith("使い方: ")
    assert "オプション:" in shown
    assert "この説明を表示して終わる" in shown
    assert not any(english in shown for english in ENGLISH_OF_ARGPARSE)
    with pytest.raises(SystemExit):
        main([name, "--help"])
    shown = capsys.readouterr().out
    assert shown.startswith("usage: ")
    assert not any(KANA[0] <= character <= KANA[1] for character in shown)


@pytest.mark.parametrize(
    ("words", "english", "japanese"),
    [
        pytest.param(
            *(["verify"], "Missing argument: FILE.", "引数がありません: FILE。"),
            marks=pytest.mark.extension("recordings"),
        ),
        (
            ["inbox", "--sideways"],
            "Unknown argument: --sideways.",
            "知らない引数です: --sideways。",
        ),
        (["answer", "--text"], "--text needs a value", "--text には値が必要です"),
        (["answer", "--error", "1"], "--error needs 2 values", "--error には値が 2 つ必要です"),
        (
            ["answer", "--as-is", "--text", "x"],
            "--text and --as-is cannot be used together",
            "--text と --as-is は同時に指定できません",
        ),
        (
            ["serve", "--handshake", "magic"],
            "magic does not exist. Choose one of these: book, hand",
            "magic はありません。次のどれかにしてください: book, hand",
        ),
        pytest.param(
            *(["release", "one"], "one is not an integer", "one は整数ではありません"),
            marks=pytest.mark.extension("tap"),
        ),
        pytest.param(
            *(["tap", "--release-after", "x"], "x is not a number", "x は数ではありません"),
            marks=pytest.mark.extension("tap"),
        ),
        (["inbox", "--all=3"], "--all takes no value", "--all に値はありません"),
        (["inbox", "--h"], "--h can mean several arguments", "--h に当たるものが複数あります"),
        (["nonsense"], "nonsense does not exist", "nonsense はありません"),
        pytest.param(
            ["client", "--timeout", "x"],
            "--timeout: x is not allowed.",
            "--timeout: x ",
            marks=pytest.mark.extension("host"),
        ),
    ],
)
def test_what_is_wrong_with_a_command_line_is_said_in_both_languages(
    words: list[str], english: str, japanese: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Place, fact and what to do; exit status 2 as ever."""
    for lang, said in (("en", english), ("ja", japanese)):
        with pytest.raises(SystemExit) as left:
            # In front: Python 3.13 takes whatever follows "--error 1" for its second value.
            main([words[0], f"--lang={lang}", *words[1:]])
        assert left.value.code == 2
        assert said in capsys.readouterr().err


@pytest.mark.parametrize(
    ("message", "said"),
    [
        (
            "argument --form: invalid choice: x (choose from text, tool error)",
            "--form: x does not exist. Choose one of these: text, tool error.",
        ),
        ("argument -x: expected at most one argument", "-x takes at most one value."),
        (
            "argument WORD: expected at least one argument",
            "WORD needs one or more values.",
        ),
        ("one of the arguments --a --b is required", "Use one of these: --a --b."),
        ("argument -x: what nobody foresaw", "-x: what nobody foresaw"),
        ("what nobody foresaw", "what nobody foresaw"),
    ],
)
def test_what_argparse_says_is_recognised_or_shown_as_it_is(message: str, said: str) -> None:
    """Newer Pythons leave the quotes off; what is not recognised is never swallowed."""
    assert sentence(message, "humanmcp x") == said


@pytest.mark.parametrize("flag", ["-h", "--help", "--hel"])
def test_help_that_is_asked_for_in_short_says_what_each_flag_is(
    flag: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """`--hel` once listed the flags and said nothing of any."""
    with pytest.raises(SystemExit):
        main(["serve", flag])
    assert "answer nothing automatically, not even ping" in capsys.readouterr().out


def test_the_language_may_stand_before_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    """`humanmcp --lang ja inbox` is what a person tries first."""
    assert main(["--lang", "ja", "inbox"]) == 0
    assert "ホストがつながっていません" in capsys.readouterr().out
    with pytest.raises(SystemExit):
        main(["--lang=ja", "--help"])
    assert "コマンド:" in capsys.readouterr().out


def test_the_language_of_the_settings_counts_where_no_flag_is_given(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Flag over environment over file; a broken file does not take the flag's language away."""
    file = tmp_path / "settings.toml"
    file.write_text('lang = "ja"\n', encoding="utf-8")
    for words, said in (
        (["inbox", "--sideways"], "知らない引数です"),
        (["inbox", "--sideways", "--lang", "en"], "Unknown argument"),
    ):
        with pytest.raises(SystemExit):
            main(words)
        assert said in capsys.readouterr().err
    monkeypatch.setenv("HUMANMCP_LANG", "en")
    with pytest.raises(SystemExit):
        main(["inbox", "--sideways"])
    assert "Unknown argument" in capsys.readouterr().err
    file.write_text("lang = \n", encoding="utf-8")
    assert main(["inbox", "--lang", "ja"]) == 2
    assert "TOML として読めません" in capsys.readouterr().err


def test_an_inbox_that_cannot_be_used_stops_every_command_with_a_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """No traceback, whichever command meets it, and the reader's language."""
    file = tmp_path / "file"
    file.write_text("", encoding="utf-8")
    home = str(file / "inbox")
    called = (
        *(["inbox"], ["show", "1"], ["answer", "1", "--text", "x"], ["release"], ["hold", "in"]),
        *(["export"], ["diff", "last"], ["play", "--people", "nobody"]),
    )
    for words in (one for one in called if one[0] in commands()):
        assert main([*words, "--home", home, "--lang", "ja"]) != 0
        complaint = capsys.readouterr().err
        assert "を作れません: パスの途中がフォルダーではありません" in complaint, words
        assert complaint.count("\n") == 1


@pytest.mark.parametrize(
    ("told", "terminal", "widest"),
    [("70", 120, 70), ("", 60, 60), ("wide", 60, 60), ("0", 60, 60), ("", 0, 80)],
)
def test_help_is_as_wide_as_the_terminal(
    told: str,
    terminal: int,
    widest: int,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """`COLUMNS` counts, then the terminal; 80 columns where neither says anything."""
    monkeypatch.setenv("COLUMNS", told)
    monkeypatch.setattr(os, "get_terminal_size", lambda *_: os.terminal_size((terminal, 24)))
    with pytest.raises(SystemExit):
        main(["serve", "--help"])
    usage, _blank, _rest = capsys.readouterr().out.partition("\n\n")
    longest = max(len(line) for line in usage.splitlines())
    assert widest - 20 < longest <= widest


def test_help_without_a_terminal_has_80_columns(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """In a pipe, as CI has it."""

    def no_terminal(*_: object) -> os.terminal_size:
        raise OSError

    monkeypatch.delenv("COLUMNS", raising=False)
    monkeypatch.setattr(os, "get_terminal_size", no_terminal)
    with pytest.raises(SystemExit):
        main(["serve", "--help"])
    usage, _blank, _rest = capsys.readouterr().out.partition("\n\n")
    assert 60 < max(len(line) for line in usage.splitlines()) <= 80


@pytest.mark.parametrize("command", ["answer", "say", "client", "config", "serve", "export"])
def test_a_line_of_usage_that_is_wider_than_the_terminal_holds_one_flag(
    command: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Flags of which one may be given are written one by one where they fill more than a line."""
    monkeypatch.setenv("COLUMNS", "60")
    with pytest.raises(SystemExit):
        main([command, "--help"])
    usage, _blank, _rest = capsys.readouterr().out.partition("\n\n")
    assert [line for line in usage.splitlines() if len(line) > 60 and line.count("--") > 1] == []
