"""Command lines that are printed to be pasted."""

import subprocess
import sys
from pathlib import Path

import pytest

from humanmcp.common.shell import command_line, program, shell_quoted


def test_it_names_the_command_as_it_can_be_typed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`make demo` installs into `.venv`, which is not on PATH: then its path from here is named."""
    command = tmp_path / ".venv" / "bin" / "humanmcp"
    command.parent.mkdir(parents=True)
    command.touch(mode=0o755)
    monkeypatch.setattr(sys, "executable", str(command.with_name("python")))
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    assert program() == str(Path(".venv") / "bin" / "humanmcp")
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert program() == str(command)
    monkeypatch.setenv("PATH", str(command.parent))
    assert program() == "humanmcp"


WORDS = [
    "plain/path.json",
    "",
    "it's here",
    "x'$(touch PWNED)'y",
    "`touch PWNED`; touch PWNED & touch PWNED",
    '"$(touch PWNED)"',
    "-a b",
    "~",
    "*",
    "#",
    "a\nb",
    "日本 語",
]


@pytest.mark.parametrize("word", WORDS)
def test_a_shell_takes_a_word_as_it_is(tmp_path: Path, word: str) -> None:
    """Nothing in it is run, replaced or divided."""
    line = command_line(sys.executable, "-c", "import sys; print(ascii(sys.argv[1:]))", word)
    done = subprocess.run(
        ["sh", "-c", line], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert done.stdout == f"{[word]!a}\n"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("word", "line"),
    [
        (r"C:\Users\me\mcp.json", r"C:\Users\me\mcp.json"),
        (r"C:\Program Files", r"'C:\Program Files'"),
        ("it's", "'it''s'"),
        ("it\u2019s", "'it\u2019\u2019s'"),
        ("$(calc)", "'$(calc)'"),
        ("@args", "'@args'"),
        ("", "''"),
    ],
)
def test_a_word_for_powershell(word: str, line: str) -> None:
    """Its quotes are doubled, also the typographic ones, which it reads as quotes."""
    assert shell_quoted(word, "win32") == line
