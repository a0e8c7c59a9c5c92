"""The values of an answer book, each read from decoded TOML, and what is said of a wrong one."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping


class BookError(Exception):
    """A book cannot be used: where in it, and what is wrong there."""

    def __init__(self, place: str, code: str, **fillings: str) -> None:
        """Remember the place (`rules[2].after`), the code of the sentence and what fills it."""
        super().__init__(place, code, fillings)
        self.place = place
        self.code = code
        self.fillings = fillings

    def __str__(self) -> str:
        """Return where and what, for a log; people read the sentence of the code."""
        return f"{self.place}: {' '.join((self.code, *self.fillings.values()))}"


def json_text(value: Any, place: str) -> str:  # noqa: ANN401 - TOML's types
    """Write what goes on the wire. TOML knows dates, nan and inf; JSON does not."""
    try:
        return json.dumps(value, ensure_ascii=False, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise BookError(place, "json") from error


def only(found: Mapping[str, Any], allowed: frozenset[str], place: str) -> None:
    """Allow these keys and no others."""
    unknown = sorted(set(found) - allowed)
    if unknown:
        raise BookError(place, "key", key=unknown[0], known=", ".join(sorted(allowed)))


def table(value: Any, place: str) -> Mapping[str, Any]:  # noqa: ANN401 - TOML's types
    """Read a table."""
    if not isinstance(value, dict):
        raise BookError(place, "table")
    return value


def tables(value: Any, place: str) -> list[Mapping[str, Any]]:  # noqa: ANN401 - TOML's types
    """Read a list of tables."""
    if not isinstance(value, list) or not all(isinstance(one, dict) for one in value):
        raise BookError(place, "tables")
    return value


def text(value: Any, place: str) -> str:  # noqa: ANN401 - TOML's types
    """Read a text."""
    if not isinstance(value, str):
        raise BookError(place, "text")
    return value


def flag(value: Any, place: str) -> bool:  # noqa: ANN401 - TOML's types
    """Read true or false."""
    if not isinstance(value, bool):
        raise BookError(place, "flag")
    return value


def seconds(value: Any, place: str) -> float:  # noqa: ANN401 - TOML's types
    """Read a number of seconds."""
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if not is_number or not math.isfinite(value) or value < 0:
        raise BookError(place, "seconds")
    return float(value)


def count(value: Any, place: str) -> int:  # noqa: ANN401 - TOML's types
    """Read a whole number above 0."""
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise BookError(place, "count")
    return value


def texts(value: Any, place: str) -> tuple[str, ...]:  # noqa: ANN401 - TOML's types
    """Read a list of texts."""
    if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
        raise BookError(place, "texts")
    return tuple(value)


def one_of(value: Any, known: tuple[str, ...], place: str) -> str:  # noqa: ANN401 - TOML's types
    """Read one of a few words."""
    if value not in known:
        raise BookError(place, "word", known=", ".join(known))
    return str(value)
