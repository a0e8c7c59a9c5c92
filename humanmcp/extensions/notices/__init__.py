"""Notices for people who are elsewhere: services of Apprise, and phones with ntfy."""

from typing import Final

from humanmcp.extensions import Extension, Link

_HERE: Final = "humanmcp.extensions.notices"

EXTENSION: Final = Extension(
    desks=(f"{_HERE}.notifier:Notifier",),
    pages=(f"{_HERE}.notices_page",),
    links=(Link("menu", "/notices", "notices", "title"),),
)
