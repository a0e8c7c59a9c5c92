"""An inbox with sessions in it, and the command line on that inbox."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from humanmcp.cli import main
from tests.terminal.rooms import Room, Shell


@pytest.fixture
def room(tmp_path: Path) -> Iterator[Room]:
    """Make an inbox folder without any session."""
    made = Room(tmp_path / "home")
    yield made
    made.close()


@pytest.fixture
def shell(room: Room, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Shell:
    """Give the command line of that inbox, in English unless it is told otherwise."""
    for name in ("LC_ALL", "LANG", "HUMANMCP_LANG", "HUMANMCP_HOME"):
        monkeypatch.delenv(name, raising=False)
    return Shell(room.home, main, capsys)
