"""The command line in a home directory and a project of a test."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from humanmcp.cli import main
from tests.support.inbox_folder import Ran


@pytest.fixture
def run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., Ran]:
    """Run a command in a home and a project of its own."""
    for name in list(os.environ):
        if name.startswith("HUMANMCP_") or name in ("LANG", "LC_ALL", "APPDATA"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    monkeypatch.chdir(tmp_path)

    def command(*words: str) -> Ran:
        capsys.readouterr()
        status = main(list(words))
        out, err = capsys.readouterr()
        return Ran(status, out, err)

    return command
