"""Measure humanmcp on this machine and print one table: `make bench`. See bench/README.md."""

from __future__ import annotations

import argparse
import compileall
import platform
import tempfile
from pathlib import Path
from typing import Final

import humanmcp
from bench import desk, hostile, load, many_sessions, measure, postgres, room, streamable, tap
from bench.figures import Figure, table
from bench.load import BESIDE
from humanmcp.common import terminal
from humanmcp.common.own_process import need_files

ENOUGH_FILES: Final = BESIDE + postgres.WHOLE.sessions * many_sessions.FILES_EACH


def main() -> None:
    """Run every measurement."""
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="few rounds: does it run at all?")
    rounds = 3 if parser.parse_args().quick else 200
    # As pip leaves an installed program; a clone may have no bytecode yet.
    compileall.compile_dir(str(Path(humanmcp.__file__).parent), quiet=1)
    files = need_files()
    if files < ENOUGH_FILES:
        terminal.to_stderr(
            f"The system allows {files} open files, so some figures are of fewer sessions."
            f" For all, run ulimit -n {ENOUGH_FILES} first."
        )
    figures: list[Figure] = []
    with tempfile.TemporaryDirectory() as folder:
        parts = (measure, load, many_sessions, streamable, hostile, tap, desk, room, postgres)
        for measurement in (each for part in parts for each in part.ALL):
            few = measurement is measure.start_up
            for figure in measurement(Path(folder), min(rounds, 15) if few else rounds):
                figures.append(figure)
                terminal.to_stderr(f"{figure.what}: {figure.measured}")
    terminal.raw_to_stdout(table(figures))
    terminal.raw_to_stdout(
        f"\nPython {platform.python_version()} on {platform.system()} {platform.machine()}."
        " Ratios are of medians in this one run; absolute times are of this machine."
    )


if __name__ == "__main__":
    main()
