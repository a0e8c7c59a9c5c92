"""The rows in which a person writes a schema, as a form of a page has them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from humanmcp.protocol.validation.json_schema.rows import KINDS, SchemaRow

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

MOST: Final = 40
"""Rows of one schema: what is larger is written as JSON."""


def rows_in(values: Mapping[str, str], prefix: str = "") -> tuple[SchemaRow, ...]:
    """Read the rows of a form that have a name."""
    found = []
    for at in range(MOST):
        name = values.get(f"{prefix}name {at}", "").strip()
        kind = values.get(f"{prefix}kind {at}", "")
        listed = values.get(f"{prefix}choices {at}", "").replace("、", ",").split(",")
        choices = tuple(one.strip() for one in listed if one.strip())
        if name:
            found.append(
                SchemaRow(
                    name,
                    kind if kind in KINDS else "string",
                    needed=f"{prefix}needed {at}" in values,
                    choices=choices if kind == "choice" else (),
                    description=values.get(f"{prefix}about {at}", "").strip(),
                )
            )
    return tuple(found)


def values_of(rows: Iterable[SchemaRow], prefix: str = "") -> dict[str, str]:
    """Return the fields that hold these rows."""
    found: dict[str, str] = {}
    for at, row in enumerate(rows):
        found |= {f"{prefix}name {at}": row.name, f"{prefix}kind {at}": row.kind}
        found |= {f"{prefix}choices {at}": ", ".join(row.choices)} if row.choices else {}
        found |= {f"{prefix}about {at}": row.description} if row.description else {}
        found |= {f"{prefix}needed {at}": "on"} if row.needed else {}
    return found
