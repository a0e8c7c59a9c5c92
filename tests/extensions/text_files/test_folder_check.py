"""What `humanmcp doctor` finds about the folder of the text files."""

from pathlib import Path

from humanmcp.common.settings import Settings
from humanmcp.extensions.text_files.folder_check import FOLDER_CHECK
from humanmcp.setup.addition import Level


def found(files: str) -> dict[str, Level]:
    """Return what is found where this folder is chosen."""
    settings = Settings(added={"files": files})
    return {one.code: one.level for one in FOLDER_CHECK.check(settings)}


def test_the_folder_of_the_text_files_is_looked_at(tmp_path: Path) -> None:
    """Only where one is set."""
    texts = tmp_path / "texts"
    assert found("") == {}
    assert found(str(texts)) == {"folder new": Level.OK}
    texts.mkdir()
    assert found(str(texts)) == {"folder": Level.OK}
    texts.rmdir()
    texts.touch()
    assert found(str(texts)) == {"no folder": Level.PROBLEM}
