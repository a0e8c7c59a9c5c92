"""Where humanmcp keeps its things."""

import stat
from pathlib import Path

import pytest

from humanmcp.common.paths import UnsafeFolderError, home_folder, make_private


def test_the_inbox_is_found_from_the_home_directory_alone(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Hosts strip the environment down to HOME and a few others."""
    monkeypatch.setenv("HOME", str(tmp_path))
    assert home_folder() == tmp_path / ".humanmcp"
    assert home_folder("~/x") == tmp_path / "x"
    assert home_folder("rel").is_absolute()


def test_the_folder_is_made_for_its_owner_alone(tmp_path: Path) -> None:
    """0700, also for the folders above it that were missing."""
    made = make_private(tmp_path / "a" / "b")
    assert stat.S_IMODE(made.stat().st_mode) == 0o700


def test_a_folder_that_others_can_write_in_is_refused_with_advice(tmp_path: Path) -> None:
    """It says which command helps."""
    open_folder = tmp_path / "open"
    open_folder.mkdir()
    open_folder.chmod(0o777)
    with pytest.raises(UnsafeFolderError, match="chmod 700"):
        make_private(open_folder)
