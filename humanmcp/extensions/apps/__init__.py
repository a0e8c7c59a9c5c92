"""MCP Apps: what a host does with the page of a tool (`ui://`), as the page itself reports it."""

from typing import Final

from humanmcp.extensions import Extension, Link

_HERE: Final = "humanmcp.extensions.apps"

EXTENSION: Final = Extension(
    commands={"roles": {"apps": f"{_HERE}.command"}},
    pages=(f"{_HERE}.apps_page",),
    links=(Link("session", "/apps/{session}", "apps", "title"),),
    below=(f"{_HERE}.preview:below",),
    books={"app-probe": "probe.toml"},
)
