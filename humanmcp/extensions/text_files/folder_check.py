"""What `humanmcp doctor` finds about the folder of the text files."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from humanmcp.extensions.text_files import SECTION
from humanmcp.extensions.text_files.text_desk import FOLDER
from humanmcp.setup.addition import Finding, Level
from humanmcp.setup.doctor import check_remote, check_writable

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from humanmcp.common.settings import Settings
    from humanmcp.setup.hosts import Host


class FolderCheck:
    """A `SetupPart` that adds nothing to a host."""

    def of(self, _host: Host, _given: Mapping[str, Any], _wait: int | None) -> None:
        """Return nothing."""

    def check(self, settings: Settings) -> Iterator[Finding]:
        """Look whether the folder can be used, if a person chose one."""
        if not (chosen := settings.added.get(FOLDER.name)):
            return
        folder, of_path = Path(chosen), (("path", chosen),)
        if not folder.exists():
            yield Finding("folder new", Level.OK, of_path, SECTION)
        elif not folder.is_dir():
            yield Finding("no folder", Level.PROBLEM, of_path, SECTION)
        else:
            yield Finding("folder", Level.OK, of_path, SECTION)
            yield from check_writable(folder)
            yield from check_remote(folder)


FOLDER_CHECK: Final = FolderCheck()
