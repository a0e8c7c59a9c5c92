"""Reading a transcript: lines of megabytes beside short ones, torn ones, and how much is read."""

from __future__ import annotations

import io
import os
from random import Random
from typing import TYPE_CHECKING

import pytest

from humanmcp.inbox.transcripts import frames_after, frames_before
from humanmcp.protocol.conversation.transcript import Direction, Frame, from_json, to_json

if TYPE_CHECKING:
    from pathlib import Path

AT = "2026-11-28T10:00:00.000Z"
SIZES = (0, 1, 40, 200, 65_000, 65_536, 131_071, 131_072, 131_073, 700_000)
"""Sizes around those of the blocks in which a file is read."""
TORN = (0, 3, 9, 30, 80, 200_000)
"""How much of a line a crash has left."""
LONG = 4_000_000


def line_of(seq: int, size: int) -> bytes:
    return to_json(Frame(seq, AT, Direction.IN, b"a" * size, seq)).encode() + b"\n"


@pytest.mark.parametrize("seed", range(12))
def test_what_is_read_is_what_was_written(seed: int, tmp_path: Path) -> None:
    """`frames_before`, `frames_after`: beside every frame, whatever is torn between and behind."""
    random, path = Random(seed), tmp_path / "transcript.jsonl"
    lines = [line_of(seq, random.choice(SIZES)) for seq in range(1, 12)]
    frames = [from_json(line.decode()) for line in lines]
    whole = [*lines, line_of(12, 300)]
    torn = [line[: min(random.choice(TORN), len(line) - 2)] for line in whole]
    written = (
        (left + b"\n" if random.random() < 0.4 else b"") + line
        for left, line in zip(torn, lines, strict=False)
    )
    path.write_bytes(b"".join(written) + torn[-1])
    for seq in (*range(1, 13), 99):
        assert list(frames_after(path, seq)) == [one for one in frames if one.seq > seq]
        earlier = [one for one in frames if one.seq < seq]
        found = frames_before(path, seq, 40)
        assert list(found) == earlier
        assert list(frames_before(path, seq, 1)) in (earlier[-1:], [])  # its last line may be torn


@pytest.mark.parametrize("at", range(4), ids=lambda at: f"the long line is line {at + 1}")
@pytest.mark.parametrize("before", [0, 1, 2, 3, 4, 5])
def test_a_line_of_megabytes_is_read_a_few_times(
    at: int, before: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A search comes by it at each of its twenty steps, and others wait for each."""
    path = tmp_path / "transcript.jsonl"
    path.write_bytes(b"".join(line_of(seq + 1, LONG if seq == at else 20) for seq in range(4)))
    read = 0

    class Counted(io.FileIO):
        def readinto(self, buffer: memoryview[int]) -> int | None:  # type: ignore[override]
            nonlocal read
            count = super().readinto(buffer)
            read += count or 0
            return count

        def readall(self) -> bytes:
            nonlocal read
            found = super().readall()
            read += len(found)
            return found

    def opened(descriptor: int, _mode: str) -> io.BufferedReader:
        return io.BufferedReader(Counted(descriptor))

    monkeypatch.setattr(os, "fdopen", opened)
    frames_before(path, before, 1)
    list(frames_after(path, before))
    monkeypatch.undo()
    assert read < 6 * LONG
