"""How much a stranger has to read to follow one request."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pytest

from bench.way import CRASHES, code_lines, ways

if TYPE_CHECKING:
    from pathlib import Path

MOST_IN: Final = 6_900
MOST_OUT: Final = 6_400
"""Code lines. What acts at a moment of each request adds its files to both. The way out has those
of the look for outgoing messages, which comes after a reply was taken."""


@pytest.mark.skipif(CRASHES, reason="this Python crashes while it is traced: use 3.11.4 or newer")
def test_a_stranger_reads_little_to_follow_a_request_to_the_inbox_and_its_answer_to_stdout(
    tmp_path: Path,
) -> None:
    """`python -m bench.way` lists them."""
    found = ways(tmp_path)
    files_in, files_out = ({file for file, _ in found[way]} for way in ("in", "out"))
    assert {"server/connection.py", "protocol/session.py", "inbox/folder.py"} <= files_in
    assert {"protocol/validation/check.py", "server/connection.py"} <= files_out
    assert sum(map(code_lines, files_in)) <= MOST_IN, sorted(files_in)
    assert sum(map(code_lines, files_out)) <= MOST_OUT, sorted(files_out)
