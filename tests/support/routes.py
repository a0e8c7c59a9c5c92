"""Every route and template of the desk, and of the sites that extensions serve."""

from typing import Final

from humanmcp import extensions
from humanmcp.common.web_folder import web_folder
from humanmcp.desk.app import CALLS, PAGES
from humanmcp.desk.rights import TABLE, Entry

_SITES: Final = extensions.loaded("sites")
OF_SITES: Final[dict[str, Entry]] = {key: one.RIGHTS[key] for one in _SITES for key in one.RIGHTS}
DESK: Final = {
    **TABLE,
    **{k: e for one in extensions.loaded("pages") for k, e in one.RIGHTS.items()},
}
"""Who may use each route of a desk, those of extensions, too."""
RIGHTS: Final = {**OF_SITES, **DESK}
ROUTERS: Final = (*CALLS, *PAGES, *(one.router for one in _SITES))
TEMPLATES: Final = sorted(
    file
    for folder in (
        web_folder() / "templates",
        *(folder for _, folder in extensions.folders("templates")),
    )
    for file in folder.rglob("*.html")
)
"""The templates of all pages."""
