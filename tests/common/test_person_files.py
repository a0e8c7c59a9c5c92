"""Files of the person's: only files, and they stay theirs."""

import os
import stat
from pathlib import Path

import pytest

from humanmcp.common import person_files
from humanmcp.common.person_files import NotRegularError, read_regular, replace_regular

ROOT_ONLY = pytest.mark.skipif(
    not hasattr(os, "getuid") or os.getuid() != 0, reason="only root gives files away"
)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no FIFOs here")
def test_a_pipe_is_not_waited_for_and_not_replaced(tmp_path: Path) -> None:
    """Reading one for which nobody writes would hang for ever."""
    pipe = tmp_path / "settings.json"
    os.mkfifo(pipe)
    with pytest.raises(NotRegularError):
        read_regular(pipe)
    with pytest.raises(NotRegularError):
        replace_regular(pipe, b"{}")
    assert stat.S_ISFIFO(pipe.stat().st_mode)
    assert list(tmp_path.iterdir()) == [pipe]


def test_a_device_and_a_folder_are_left_alone(tmp_path: Path) -> None:
    """Also behind a link."""
    link = tmp_path / "settings.json"
    for target in (os.devnull, str(tmp_path)):
        link.symlink_to(target)
        for act in (lambda: read_regular(link), lambda: replace_regular(link, b"{}")):
            with pytest.raises((NotRegularError, IsADirectoryError)):
                act()
        link.unlink()


def test_mode_and_link_stay(tmp_path: Path) -> None:
    """A configuration that is kept elsewhere stays there, as readable as it was."""
    kept, link = tmp_path / "kept.json", tmp_path / "settings.json"
    kept.write_bytes(b"old")
    kept.chmod(0o640)
    link.symlink_to(kept)
    replace_regular(link, b"new")
    assert link.is_symlink()
    assert read_regular(link) == b"new"
    assert kept.stat().st_mode & 0o777 == 0o640
    fresh = tmp_path / "fresh"
    replace_regular(fresh, b"new")
    assert fresh.stat().st_mode & 0o777 == 0o600


@ROOT_ONLY
def test_the_owner_stays(tmp_path: Path) -> None:
    """What root writes for somebody is still theirs."""
    file = tmp_path / "settings.json"
    file.write_bytes(b"old")
    os.chown(file, 1234, 2345)
    replace_regular(file, b"new")
    assert (file.stat().st_uid, file.stat().st_gid) == (1234, 2345)
    assert file.read_bytes() == b"new"


def test_who_cannot_give_a_file_away_writes_in_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A group may write in a file that is somebody else's; it stays that file."""
    file = tmp_path / "settings.json"
    file.write_bytes(b"something longer")
    before = file.stat().st_ino
    monkeypatch.setattr(person_files, "keep_owner", lambda *_: False)
    replace_regular(file, b"new")
    assert (file.read_bytes(), file.stat().st_ino) == (b"new", before)
    assert list(tmp_path.iterdir()) == [file]
