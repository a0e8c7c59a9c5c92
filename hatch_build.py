"""Puts what is made into what is built.

The JSON editor of the page goes into every wheel and source distribution, and the sentences in
their compiled form into every wheel: from a source distribution they are compiled like here. The
page of `man` goes along where `docs/make_man.py` has made it.
"""

from __future__ import annotations

import importlib.util
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

if TYPE_CHECKING:
    from types import ModuleType


ROOT: Final = Path(__file__).parent
MAN: Final = ROOT / "build" / "humanmcp.1"
"""The page of `man`, where `make dist` has made it."""


def _load(file: Path) -> ModuleType:
    """Load a module by its file: while it is built, the package is not installed."""
    spec = importlib.util.spec_from_file_location(f"humanmcp_build_{file.stem}", file)
    assert spec is not None  # noqa: S101 - the file is part of the source
    assert spec.loader is not None  # noqa: S101 - as above
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # where a class of the module looks for its own types
    spec.loader.exec_module(module)
    return module


def _editor() -> ModuleType:
    return _load(ROOT / "editor" / "build.py")


class MadeFilesHook(BuildHookInterface):  # type: ignore[type-arg]  # the type of its configuration is not ours
    """Makes files before they are gathered. An editable install leaves that to `make`."""

    _made: tempfile.TemporaryDirectory[str] | None = None

    def dependencies(self) -> list[str]:
        """Ask for Node.js where a bundle has to be made and there is none."""
        editor = _editor()
        needed = not editor.is_made() and editor.find_npm() is None
        return [editor.NODE_PACKAGE] if needed else []

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Bundle the editor, or say why the page will have a text area; compile the sentences."""
        if version == "editable":
            return
        _editor().main([])
        if self.target_name == "wheel":
            self._compile_sentences(build_data)
            if MAN.exists():
                build_data["shared_data"][str(MAN)] = "share/man/man1/humanmcp.1"

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:  # noqa: ARG002 - hatchling's own names
        """Remove what was made for this build alone."""
        if self._made is not None:
            self._made.cleanup()

    def _compile_sentences(self, build_data: dict[str, Any]) -> None:
        compiling = _load(ROOT / "humanmcp" / "locales" / "compiling.py")
        self._made = tempfile.TemporaryDirectory()
        for number, folder in enumerate(compiling.folders()):
            made = Path(self._made.name, str(number))
            for language in compiling.languages(folder):
                sections = compiling.sections(language, folder)
                compiling.write(made / language, sections, stamped=False)
            target = (folder / "compiled").relative_to(ROOT).as_posix()
            build_data["force_include"][str(made)] = target
