"""Settings, and where the inbox is."""

import stat
from pathlib import Path

import pytest

from humanmcp.common.settings import (
    FILE_NAME,
    Setting,
    SettingError,
    UnsafeFolderError,
    home_folder,
    load,
    make_private,
)


def test_a_flag_wins_over_the_environment_over_the_file_over_the_default(tmp_path: Path) -> None:
    """The order that every tool of this kind has."""
    home = str(tmp_path)
    assert load({"home": home}, {}).port == 8765
    (tmp_path / FILE_NAME).write_text("port = 1\nlang = 'ja'\n", encoding="utf-8")
    assert load({"home": home}, {}).port == 1
    assert load({"home": home}, {"HUMANMCP_PORT": "2"}).port == 2
    assert load({"home": home, "port": "3"}, {"HUMANMCP_PORT": "2"}).port == 3
    assert load({"home": None}, {"HUMANMCP_HOME": home}).lang == "ja"


def test_a_value_of_the_wrong_type_says_where_it_stands(tmp_path: Path) -> None:
    """Bad input gets a clear error that says what to do."""
    with pytest.raises(SettingError, match=r"HUMANMCP_PORT: port must be a number, not 'x'"):
        load({"home": str(tmp_path)}, {"HUMANMCP_PORT": "x"})
    (tmp_path / FILE_NAME).write_text("port = [", encoding="utf-8")
    with pytest.raises(SettingError, match=FILE_NAME):
        load({"home": str(tmp_path)}, {})


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


@pytest.mark.parametrize(
    ("written", "value"), [("on", True), ("true", True), ("1", True), ("off", False), ("0", False)]
)
def test_a_switch_is_on_or_off(tmp_path: Path, written: str, value: bool) -> None:  # noqa: FBT001 - a column
    """A setting that an extension brings may be one."""
    more = (Setting("oauth", default=False),)
    home = {"HUMANMCP_HOME": str(tmp_path)}
    assert load({}, {**home, "HUMANMCP_OAUTH": written}, more).added == {"oauth": value}
    assert load({"oauth": True}, home, more).added == {"oauth": True}
    assert load({}, home, more).added == {"oauth": False}
    with pytest.raises(SettingError) as refused:
        load({}, {**home, "HUMANMCP_OAUTH": "perhaps"}, more)
    assert "on or off" in refused.value.sentence()
