"""Every setting: flag over environment over file over default."""

from pathlib import Path

import pytest

from humanmcp.common.settings import FILE_NAME, SettingError, load


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
