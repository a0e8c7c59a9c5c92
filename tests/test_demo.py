"""`humanmcp demo` in a terminal: the first thing that a newcomer runs."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from humanmcp import demo
from tests.serving import bare_environment
from tests.waiting import PATIENCE, until

if TYPE_CHECKING:
    from collections.abc import Iterator

EXAMPLE = re.compile(r"^ +echo '(.+)' > (.+)$")


@pytest.fixture
def by_hand(tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    """Start the demo with a person in the server's seat."""
    with subprocess.Popen(
        [sys.executable, "-m", "humanmcp", "demo", "--by-hand", "--lang", "en"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        env=bare_environment(tmp_path),
        text=True,
        encoding="utf-8",
    ) as child:
        try:
            yield child
        finally:
            child.kill()


def test_a_book_plays_it_to_the_end(tmp_path: Path) -> None:
    """Without a terminal nobody is there to answer: six steps, each understood."""
    ended = subprocess.run(
        [sys.executable, "-m", "humanmcp", "demo", "--lang", "en"],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        env=bare_environment(tmp_path),
        timeout=PATIENCE,
        check=True,
    )
    said = ended.stdout.decode()
    assert re.findall(r"^(\d)/6 ", said, re.MULTILINE) == list("123456")
    assert said.count("The host understood") == 5
    assert "your tools are get-japan-forecast (1 in all)" in said


def test_every_example_can_be_pasted_and_moves_it_on(by_hand: subprocess.Popen[str]) -> None:
    """Five requests, five examples; each is sent as it stands, and the demo ends well."""
    assert by_hand.stdout is not None
    pasted = 0
    for line in by_hand.stdout:
        if example := EXAMPLE.match(line):
            text, file = example.groups()
            # Not before the server has put the files there: a shell is slower than this test.
            until(Path(file).with_name("in.txt").exists, "the files of the demo")
            Path(file).write_text(text + "\n", encoding="utf-8")
            pasted += 1
    assert pasted == 5
    assert by_hand.wait(PATIENCE) == 0


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
    assert demo.program() == str(Path(".venv") / "bin" / "humanmcp")
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert demo.program() == str(command)
    monkeypatch.setenv("PATH", str(command.parent))
    assert demo.program() == "humanmcp"
