"""The names under which humanmcp is published: who publishes it, and where it is then found.

`OWNER` is a placeholder until an account is chosen. To publish, write the account here and run
`make docs`, which writes it into everything that names it.
"""

from __future__ import annotations

from typing import Final

NAME: Final = "humanmcp"
UNCHOSEN: Final = "OWNER"
OWNER: Final = UNCHOSEN
"""The account that the repository belongs to."""

REPOSITORY: Final = f"https://github.com/{OWNER}/{NAME}"
SITE: Final = f"https://{OWNER.lower()}.github.io/{NAME}/"
REGISTRY_NAME: Final = f"io.github.{OWNER}/{NAME}"
"""The name in the registry of MCP; an account may publish names that begin with its own."""


def page_of(code: str) -> str:
    """Return the address of the page about a mistake; "" while nothing is published."""
    return manual(f"reference/mistakes/{code}")


def manual(page: str, language: str = "en") -> str:
    """Return the address of a page of the manual; "" while nothing is published."""
    folder = "" if language == "en" else f"{language}/"
    return "" if OWNER == UNCHOSEN else f"{SITE}{folder}{page}.html"
