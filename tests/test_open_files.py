"""What is said where the system allows too few open files."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such limit")

LIMITED = """
import resource, sys
resource.setrlimit(resource.RLIMIT_NOFILE, ({soft}, {hard}))
from humanmcp.cli import main
sys.exit(main())
"""


def run(home: Path, command: str, soft: int, hard: int) -> subprocess.CompletedProcess[str]:
    """Run a command with so many open files allowed; its input ends at once."""
    return subprocess.run(
        [sys.executable, "-c", LIMITED.format(soft=soft, hard=hard), command, "--lang", "en"],
        env={**os.environ, "HUMANMCP_HOME": str(home)},
        input="",
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


@pytest.mark.parametrize("command", ["serve", "desk"])
def test_too_few_open_files_are_a_sentence(tmp_path: Path, command: str) -> None:
    """With the command that allows more; no traceback, and nothing on stdout."""
    ended = run(tmp_path / "home", command, 8, 8)
    assert ended.returncode != 0
    assert "ulimit -n 32" in ended.stderr
    assert "Traceback" not in ended.stderr
    assert ended.stdout == ""


def test_what_may_be_allowed_is_allowed(tmp_path: Path) -> None:
    """A low limit that the process may raise itself is no obstacle."""
    assert run(tmp_path / "home", "serve", 8, 4096).returncode == 0
