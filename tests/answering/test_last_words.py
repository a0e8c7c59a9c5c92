"""What an agent wrote before it asked, from the end of its own transcript."""

import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from humanmcp.answering.last_words import LONGEST, MOST, last_words
from humanmcp.protocol.conversation.prompts import read_prompt
from tests.protocol.conversation.test_prompts import CLAUDE, GEMINI


def entry(kind: str, *blocks: dict[str, Any], **more: object) -> str:
    """Write a line of a transcript of Claude Code."""
    return json.dumps({"type": kind, "message": {"role": kind, "content": blocks}, **more})


def said(text: str, **more: object) -> str:
    """Write what the agent said."""
    return entry("assistant", {"type": "text", "text": text}, **more)


USER = json.dumps({"type": "user", "message": {"role": "user", "content": "Do it."}})
TOOL = entry("assistant", {"type": "tool_use", "name": "Bash", "input": {"command": "ls"}})
RESULT = entry("user", {"type": "tool_result", "content": "done"})


def words(path: Path, **more: object) -> str:
    """Return the words beside a prompt whose transcript is at this path."""
    sent = {**CLAUDE, "transcript_path": str(path), **more}
    return last_words(read_prompt(json.dumps(sent), "claude-code"))


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ((USER, said("I list it."), TOOL), "I list it."),
        ((USER, said("One."), TOOL, RESULT, said("Two."), TOOL), "Two."),
        ((USER, said("One."), TOOL, RESULT, TOOL), "One."),
        ((USER, said("Before."), USER, TOOL), ""),
        ((said("Before."), entry("user", {"type": "text", "text": "Go on."}), TOOL), ""),
        ((USER, said("Mine."), said("A sub-agent's.", isSidechain=True), TOOL), "Mine."),
        ((USER, "not JSON", "[" * 5000, "3", "null", said("Here."), '{"type":"assi'), "Here."),
        ((said("x" * 2 * LONGEST),), "x" * LONGEST),
        ((said("Too far away."), json.dumps("x" * MOST), TOOL), ""),
        ((said("日本語 👩‍👧"), TOOL), "日本語 👩‍👧"),
        ((), ""),
    ],
)
def test_the_last_words_of_the_turn_are_shown(
    tmp_path: Path, lines: tuple[str, ...], expected: str
) -> None:
    """No earlier turn's, no sub-agent's, and nothing that cannot be read."""
    path = tmp_path / "6b8d.jsonl"
    path.write_text("".join(f"{line}\n" for line in lines), "utf-8")
    assert words(path) == expected
    assert words(path, agent_id="a7") == ""  # it is the main agent's transcript


@pytest.mark.skipif(sys.platform == "win32", reason="links and pipes")
def test_only_a_file_is_read_and_only_of_an_agent_that_was_measured(tmp_path: Path) -> None:
    """No link, no pipe that would be waited for, no folder, no path that is none."""
    path = tmp_path / "6b8d.jsonl"
    path.write_text(said("Here."), "utf-8")
    link, pipe = tmp_path / "link.jsonl", tmp_path / "pipe.jsonl"
    link.symlink_to(path)
    os.mkfifo(pipe)
    assert words(path) == "Here."
    for other in (link, pipe, tmp_path, tmp_path / "none", Path("/dev/zero"), Path("a\0b")):
        assert words(other) == ""
    sent = {**GEMINI, "transcript_path": str(path)}
    assert last_words(read_prompt(json.dumps(sent), "gemini-cli")) == ""
