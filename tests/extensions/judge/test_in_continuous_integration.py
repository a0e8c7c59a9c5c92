"""The workflow of the manual runs as it is written, in both languages."""

import os
import re
import subprocess
import sys
from pathlib import Path

HOW_TO = Path(__file__).parents[3] / "docs" / "how-to"
PAGE = "in-continuous-integration.md"
CLIENT = Path(__file__).with_name("hand_made_client.py")
BOOK = """
[[tools]]
name = "t"
inputSchema = { type = "object" }

[[rules]]
tool = "t"
text = "sunny"
"""


def blocks(page: str, kind: str) -> list[str]:
    """Return the code blocks of a page."""
    return re.findall(rf"```{kind}\n(.*?)```", (HOW_TO / page).read_text("utf-8"), re.DOTALL)


def test_both_languages_have_the_same_code() -> None:
    """So that one of them needs to run."""
    code = blocks(PAGE, r"\w+")
    assert len(code) == 3
    assert blocks("in-continuous-integration.ja.md", r"\w+") == code


def test_the_workflow_of_the_manual_passes_and_fails_when_something_is_wrong(
    tmp_path: Path,
) -> None:
    """Record, accept, then each step; a wrong message fails its step."""
    (tmp_path / "messages").mkdir()
    (tmp_path / "book.toml").write_text(BOOK)
    words = ["humanmcp", "serve", "--auto", "--book", "book.toml", "--home", "served"]
    server = f"import os; os.execvp('humanmcp', {words})"
    (tmp_path / "real_server.py").write_text(server)
    again = f"[sys.executable, {str(CLIENT)!r}, 'careful', *sys.argv[1:]]"
    (tmp_path / "client.py").write_text(f"import os, sys; os.execv(sys.executable, {again})")
    programs = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, "PATH": programs, "HUMANMCP_LANG": "en"}

    def run(command: str) -> "subprocess.CompletedProcess[str]":
        # on a busy computer, programs take long to start
        command = command.replace("humanmcp judge ", "humanmcp judge --timeout 60 --jobs 2 ")
        return subprocess.run(
            ["bash", "-c", command],
            capture_output=True,
            text=True,
            check=False,
            cwd=tmp_path,
            env=environment,
        )

    accept, record = blocks(PAGE, "sh")
    for command in (*record.splitlines(), *accept.splitlines()):
        done = run(command)
        assert done.returncode == 0, (command, done.stdout, done.stderr)
    (workflow,) = blocks(PAGE, "yaml")
    steps = re.findall(r"- run: ((?:humanmcp|python) .*)", workflow)
    assert len(steps) == 3
    for command in steps:
        done = run(command)
        assert done.returncode == 0, (command, done.stdout, done.stderr)
    (tmp_path / "messages" / "wrong.json").write_text('{"jsonrpc":"2.0","id":1,"result":[]}')
    assert run(steps[0]).returncode == 1
