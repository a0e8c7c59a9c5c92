"""Every conversation, against the session alone and against a running `humanmcp serve`."""

from pathlib import Path
from typing import Final

import pytest

from tests.conversations.converse import converse
from tests.conversations.play import Played, Player
from tests.conversations.script import ScriptError, Step, read
from tests.support.serve_process import Serving

FILES: Final = sorted(Path(__file__).parent.glob("*.txt"))


def check(file: Path, step: Step, played: Played) -> None:
    """Compare what became of a step with what the file says must follow it."""
    assert list(played.out) == step.out, f"{file.name}:{step.at}"
    assert played.codes == step.diagnostics, f"{file.name}:{step.at}"


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_the_session_alone_says_what_the_file_says(file: Path) -> None:
    """Each line and each problem, and no other.

    BRIDGE-2 to BRIDGE-8, BRIDGE-12, BRIDGE-19, BRIDGE-20, BRIDGE-23, BRIDGE-26,
    CAPTURE-8, DICE-5, DICE-6.
    """
    speaker = Player()
    for step in read(file).steps:
        check(file, step, speaker.play(step))


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_a_running_server_writes_what_the_file_says(file: Path, tmp_path: Path) -> None:
    """The same through a process and its two text files, byte for byte, and it ends with 0."""
    conversation = read(file)
    with Serving(tmp_path / "home", *conversation.flags) as serving:
        converse(serving, conversation)


# -- the runner itself can fail ---------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("< x\n", "nothing has happened yet"),
        ("@ dance\n", "nobody knows how to dance"),
        ("> x\n  y\n", "cannot start with"),
        ("> x\nhello\n", "cannot start with"),
    ],
)
def test_a_file_that_breaks_the_format_is_named(tmp_path: Path, text: str, why: str) -> None:
    """With its line, so that a mistyped conversation cannot pass by being ignored."""
    file = tmp_path / "bad.txt"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(ScriptError, match=why):
        read(file)


@pytest.mark.parametrize("line", ["< {}\n", "! N01\n", ""])
def test_a_missing_or_an_unexpected_line_fails(tmp_path: Path, line: str) -> None:
    """A line out that does not come, a problem that is not there, and one that is not listed."""
    file = tmp_path / "wrong.txt"
    right = "" if line else "hello"
    file.write_text(f"> {right or PING}\n{line}", encoding="utf-8")
    (step,) = read(file).steps
    with pytest.raises(AssertionError):
        check(file, step, Player().play(step))


PING: Final = '{"jsonrpc":"2.0","id":1,"method":"ping"}'
