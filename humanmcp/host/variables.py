"""Variables in a host's configuration: `${NAME}` and `${NAME:-default}`, as hosts write them.

A configuration that is shared must not hold keys; hosts fill them in from their environment when
they start a server. https://code.claude.com/docs/en/mcp names both forms; VS Code and Cursor write
`${env:NAME}` for the first. Whatever else stands in braces belongs to some host, and stays.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

_VARIABLE: Final = re.compile(
    r"\$\{(?:env:)?(?P<name>[A-Za-z_][A-Za-z0-9_]*)(?::-(?P<default>[^}]*))?\}"
)


class NotSetError(LookupError):
    """A variable without a default is not set."""

    def __init__(self, name: str) -> None:
        """Remember which."""
        super().__init__(name)
        self.name = name


def expanded(text: str, environment: Mapping[str, str]) -> str:
    """Return a text with its variables filled in.

    A default stands in for a variable that is not set or empty, as in a shell.

    Raises:
        NotSetError: a variable is not set, and has no default.
    """

    def value(found: re.Match[str]) -> str:
        there = environment.get(found["name"])
        if found["default"] is not None:
            return there or found["default"]
        if there is None:
            raise NotSetError(found["name"])
        return there

    return _VARIABLE.sub(value, text)
