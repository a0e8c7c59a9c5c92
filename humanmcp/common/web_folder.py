"""Where the templates, scripts and styles of the page are."""

from __future__ import annotations

from importlib import resources
from pathlib import Path


def web_folder() -> Path:
    """Return the folder of templates and static files, in the wheel or in a checkout."""
    installed = Path(str(resources.files("humanmcp"))) / "web"
    return installed if installed.is_dir() else Path(__file__).parents[2] / "web"


def palette() -> str:
    """Return the style rule with the colours and fonts of the page, for pages that are files."""
    text = (web_folder() / "static" / "desk.css").read_text("utf-8")
    return text[text.index(":root") : text.index("}") + 1]
