"""The command that a host is to start."""

from pathlib import Path

import pytest

from humanmcp.common.settings import Settings
from humanmcp.setup.hosts import command_for, manner_for, passed_on


def write(path: Path, text: str) -> Path:
    """Write a file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def test_only_what_was_given_here_and_now_is_passed_on() -> None:
    """The settings file is read by the server itself; flags and the environment are not there."""
    settings = Settings(home="/a", book="/b", title="t")
    given = passed_on(settings, {"home": "/a", "book": None}, {"HUMANMCP_TITLE": "t"}, "ja")
    assert given == {"home": "/a", "title": "t", "lang": "ja"}


def test_without_the_console_script_python_is_named(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """`python -m humanmcp` with the whole path of this Python."""
    python = write(tmp_path / "bin" / "python", "")
    monkeypatch.setattr("sys.executable", str(python))
    made = command_for({}, [])
    assert (made.command, made.args) == (str(python), ("-m", "humanmcp", "serve"))


def test_out_of_uv_s_cache_uvx_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """What stands in the cache is gone when it is cleaned; `uvx` finds it again."""
    uvx = write(tmp_path / "tools" / "uvx", "")
    uvx.chmod(0o755)
    monkeypatch.setenv("PATH", str(uvx.parent))
    python = tmp_path / "cache" / "uv" / "archive-v0" / "abc" / "bin" / "python"
    monkeypatch.setattr("sys.executable", str(python))
    made = command_for({"lang": "ja"}, ["--auto"])
    assert (made.command, made.args) == (str(uvx), ("humanmcp", "serve", "--lang", "ja", "--auto"))


@pytest.mark.parametrize(
    ("chosen", "files", "words"),
    [
        (None, False, ("--handshake", "book")),
        (None, True, ()),
        ("book", True, ("--handshake", "book")),
        ("hand", False, ("--handshake", "hand")),
        ("by-hand", False, ("--by-hand",)),
        ("auto", True, ("--auto",)),
    ],
)
def test_an_entry_says_who_opens_the_session(
    chosen: str | None, *, files: bool, words: tuple[str, ...]
) -> None:
    """The book, at once, unless another word was said or somebody answers in text files."""
    assert manner_for(chosen, files=files) == words
