"""Python source that is written for the user: what stands in `programs/`, and recorded values.

A program is a file of its own, with a line `#: …` where recorded values go; these are literals that
say exactly what was on the wire.
"""

from __future__ import annotations

import keyword
import math
import pprint
import re
from importlib import resources
from typing import TYPE_CHECKING, Any, Final

from humanmcp.protocol.json.tree import mapped

if TYPE_CHECKING:
    from collections.abc import Container

WIDTH: Final = 96


def program(name: str, session: str) -> list[str]:
    """Return the parts of a program between which recorded values go, for a recorded session."""
    file = resources.files("humanmcp.export").joinpath("programs", f"{name}.py.txt")
    first, *others = re.split(r"\n#: .*\n", file.read_text("utf-8").removesuffix("\n"))
    return [first.replace("{session}", comment(session)), *others]


def literal(value: Any) -> str:  # noqa: ANN401 - any JSON value
    """Write a decoded JSON value as a Python literal, over as many lines as it needs."""
    return pprint.pformat(mapped(value, _finite), width=WIDTH, sort_dicts=False)


def _finite(leaf: Any) -> Any:  # noqa: ANN401 - any JSON value
    """Replace what JSON does not know (NaN, Infinity): it has no literal in Python either."""
    return None if isinstance(leaf, float) and not math.isfinite(leaf) else leaf


def identifier(name: str, taken: Container[str]) -> str:
    """Make a Python name of a name from the wire that is none of those taken."""
    plain = re.sub(r"\W", "_", name, flags=re.ASCII).strip("_").lower() or "unnamed"
    if plain[0].isdigit() or keyword.iskeyword(plain):
        plain = f"_{plain}"
    count, candidate = 1, plain
    while candidate in taken:
        count += 1
        candidate = f"{plain}_{count}"
    return candidate


def comment(text: str) -> str:
    """Make a text safe for a comment or a docstring: one line, nothing that could end it."""
    plain = "".join(c if c.isprintable() else " " for c in text)
    return plain.replace("\\", "/").replace('"', "'")
