"""The bench runs; how fast things are is no test."""

import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

from bench.figures import Figure, percentile, ratio, spread, table
from bench.peer import TS_PACKAGES

ROOT: Final = Path(__file__).parent.parent.parent
HAS_NODE: Final = shutil.which("node") is not None and TS_PACKAGES.is_dir()


@pytest.mark.extension("text_files")
@pytest.mark.timeout(400)  # all of it runs once: with other tests beside it, for minutes
def test_the_bench_prints_every_figure_that_its_manual_explains() -> None:
    """One table, with a row for each row of bench/README.md."""
    run = subprocess.run(
        [sys.executable, "-m", "bench", "--quick"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
    )
    assert run.returncode == 0, run.stderr
    printed = [line.split("|")[1].strip() for line in run.stdout.splitlines() if "|" in line][2:]
    assert len(printed) == 61 + HAS_NODE
    manual = (ROOT / "bench" / "README.md").read_text(encoding="utf-8")
    for what in printed:
        stem = re.sub(r",( \d+)? (pending|idle|sessions)$", "", what).removesuffix(" to exit")
        stem = stem.replace("of 400 mistakes", "of 40,000 mistakes")
        stem = stem.replace("a log of 1,000 messages", "a log of 100,000 messages")
        stem = stem.replace("a log of 1 MB", "a log of 30 MB")
        stem = re.sub(r"\d+ servers? with \d+", "N servers with W", stem)
        stem = re.sub(r"\d+ (waiting sessions|sessions with|sessions to|sessions$)", r"N \1", stem)
        stem = re.sub(
            r"^\d+ people|one of \d+ seats", lambda one: re.sub(r"\d+", "N", one[0]), stem
        )
        assert stem in manual, what


def test_a_bound_that_is_missed_is_named() -> None:
    """And one that is kept, and a figure that has none."""
    assert Figure("x", "3 s", 3, 2, "s").verdict == "MISSED"
    assert Figure("x", "2 s", 2, 2, "s").verdict == "ok"
    assert Figure("x", "2 s").verdict == ""
    assert Figure("x", "2 s", 2, 2, "s").row == ("x", "2 s", "2 s", "ok")


def test_a_ratio_compares_medians() -> None:
    """One slow start must not decide."""
    figure = ratio("x", [0.1, 0.1, 9.0], [0.2, 0.2, 0.2], 0.15)
    assert round(figure.value, 6) == 0.5
    assert figure.verdict == "MISSED"


def test_a_spread_shows_the_middle_and_the_slowest() -> None:
    """p99 of a hundred leaves one out."""
    seconds = [0.001] * 99 + [0.5]
    assert percentile(seconds, 0.5) == 0.001
    assert percentile(seconds, 0.99) == 0.5
    assert spread("x", seconds, 50).verdict == "MISSED"


def test_the_table_is_aligned() -> None:
    """Every line has the same length."""
    lines = table([Figure("a long name", "1 s", 1, 2, "s"), Figure("b", "2")]).splitlines()
    assert len({len(line) for line in lines}) == 1
