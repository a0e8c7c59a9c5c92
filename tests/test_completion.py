"""What the shells complete, asked of the shells themselves."""

import os
import re
import select
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

from humanmcp.cli import commands, main
from tests.support.serve_process import bare_environment
from tests.support.waiting import until

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="shells of Unix")

FORMS: Final = ["message", "result", "error", "text", "tool error"]


@pytest.fixture
def script(
    request: pytest.FixtureRequest, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> Path:
    """Return the script of the shell that the test is about."""
    shell = request.param
    if shutil.which(shell) is None:
        pytest.skip(f"there is no {shell} here")
    assert main(["--completion", shell, "--lang", "en"]) == 0
    file = tmp_path / f"completion.{shell}"
    file.write_text(capsys.readouterr().out, encoding="utf-8")
    return file


def ran(*words: str) -> list[str]:
    """Run a shell; return the lines that it printed."""
    run = subprocess.run(
        words, capture_output=True, text=True, check=True, stdin=subprocess.DEVNULL
    )
    assert run.stderr == ""
    return run.stdout.splitlines()


def in_bash(script: Path, *words: str) -> list[str]:
    """Ask bash what may stand in the place of the last word."""
    ask = (
        'source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _shtab_humanmcp; '
        'for one in "${COMPREPLY[@]}"; do printf "%s\\n" "$one"; done'
    )
    return ran("bash", "--norc", "-c", ask, "bash", str(script), "humanmcp", *words)


@pytest.mark.parametrize("script", ["bash"], indirect=True)
def test_bash_completes_commands_flags_and_values(script: Path) -> None:
    """Files where nothing is known."""
    assert set(commands()) <= set(in_bash(script, ""))
    assert in_bash(script, "ch") == ["check"]
    assert in_bash(script, "check", "--fo") == ["--form", "--format"]
    assert in_bash(script, "check", "--form", "mess") == ["message"]
    assert in_bash(script, "check", "x") == []
    assert in_bash(script, "--completion", "f") == ["fish"]
    assert in_bash(script, "config", "claude-c") == ["claude-code"]


def in_fish(script: Path, line: str) -> list[str]:
    """Ask fish what may end a line."""
    ask = "source $argv[1]; complete -C $argv[2]"
    lines = ran("fish", "--no-config", "-c", ask, str(script), line)
    return [line.partition("\t")[0] for line in lines]


@pytest.mark.parametrize("script", ["fish"], indirect=True)
def test_fish_completes_commands_flags_and_values(script: Path) -> None:
    """Each with what it means."""
    assert set(commands()) <= set(in_fish(script, "humanmcp "))
    assert in_fish(script, "humanmcp che") == ["check"]
    assert in_fish(script, "humanmcp check --fo") == ["--form", "--format"]
    assert sorted(in_fish(script, "humanmcp check --form ")) == sorted(FORMS)
    assert in_fish(script, "humanmcp --completion f") == ["fish"]
    assert "claude-code" in in_fish(script, "humanmcp config claude")


class Typing:
    """An interactive zsh: what is typed, and what stands on its screen after it."""

    def __init__(self, script: Path) -> None:
        """Start it with its own completion, and ours."""
        import pty  # noqa: PLC0415 - there is none on Windows

        self.screen = ""
        self.pid, self.terminal = pty.fork()
        if self.pid == 0:
            home = {**bare_environment(script.parent), "TERM": "dumb", "PS1": "> "}
            os.execvpe("zsh", ["zsh", "-f", "-i"], home)
        self.type("autoload -Uz compinit; compinit -D; echo rea''dy\n", "ready")
        self.type(f'eval "$(cat {script})"; echo loa""ded\n', "loaded")

    def type(self, keys: str, wanted: str) -> None:
        """Type keys, and wait until something stands on the screen."""
        self.screen = ""
        os.write(self.terminal, keys.encode())
        until(lambda: self._shows(wanted), f"zsh shows {wanted!r}, not {self.screen!r}")

    def _shows(self, wanted: str) -> bool:
        if select.select([self.terminal], [], [], 0)[0]:
            self.screen += os.read(self.terminal, 4096).decode("utf-8", "replace")
        return wanted in self.screen

    def end(self) -> None:
        """End it."""
        os.kill(self.pid, 9)
        os.waitpid(self.pid, 0)
        os.close(self.terminal)


@pytest.mark.extension("tap")
@pytest.mark.parametrize("script", ["zsh"], indirect=True)
def test_zsh_completes_commands_flags_and_values(script: Path) -> None:
    """In a shell at a terminal, with the key that a person uses."""
    typing = Typing(script)
    try:
        typing.type("humanmcp unw\t", "humanmcp unwrap")
        typing.type("\x15humanmcp check --fo\t", "check --form")
        typing.type("\x15humanmcp check --form mess\t", "--form message")
        typing.type("\x15humanmcp --completion fi\t", "--completion fish")
        typing.type("\x15humanmcp config claude-c\t", "config claude-code")
    finally:
        typing.end()


def test_the_page_of_man_can_be_read(tmp_path: Path) -> None:
    """Every command stands in it, and groff has nothing to say against it."""
    from docs import make_man  # noqa: PLC0415 - beside what needs it

    page = make_man.page()
    for command in commands():
        assert f".SS humanmcp {command}\n" in page
    if shutil.which("groff") is None:
        pytest.skip("there is no groff here")
    file = tmp_path / "humanmcp.1"
    file.write_text(page, encoding="utf-8")
    shown = "\n".join(ran("groff", "-man", "-Tutf8", "-ww", "-K", "utf8", str(file)))
    assert "--explain" in re.sub(".\b", "", shown)  # bold, as typewriters did it
