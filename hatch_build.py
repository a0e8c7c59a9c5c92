"""Puts the JSON editor of the page into every wheel and source distribution that is built."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

if TYPE_CHECKING:
    from types import ModuleType


def _editor() -> ModuleType:
    """Load `editor/build.py`, which is in no package."""
    file = Path(__file__).parent / "editor" / "build.py"
    spec = importlib.util.spec_from_file_location("humanmcp_editor_build", file)
    assert spec is not None  # noqa: S101 - the file is part of the source
    assert spec.loader is not None  # noqa: S101 - as above
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class EditorHook(BuildHookInterface):  # type: ignore[type-arg]  # the type of its configuration is not ours
    """Bundles the editor before files are gathered. An editable install leaves that to `make`."""

    def dependencies(self) -> list[str]:
        """Ask for Node.js where a bundle has to be made and there is none."""
        editor = _editor()
        needed = not editor.is_made() and editor.find_npm() is None
        return [editor.NODE_PACKAGE] if needed else []

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:  # noqa: ARG002 - hatchling's own names
        """Make the bundle, or say why the page will have a plain text area."""
        if version != "editable":
            _editor().main([])
