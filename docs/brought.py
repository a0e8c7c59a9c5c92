"""What the extensions bring to pages of the reference: `reference.toml` in the folder of each."""

from __future__ import annotations

import tomllib
from typing import TYPE_CHECKING

from humanmcp import extensions

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


def brought(table: str) -> Iterator[Sequence[str]]:
    """Yield the rows that extensions bring to a table."""
    for one in extensions.installed():
        file = one.folder / "reference.toml"
        if file.exists():
            yield from tomllib.loads(file.read_text(encoding="utf-8")).get(table, ())
