"""What a difference means to a client that works with the server as it was."""

from __future__ import annotations

import enum
import re
from typing import Any, Final

from humanmcp.protocol.json.removed import fits


class Tier(enum.IntEnum):
    """How much a difference matters; each tier includes those below it."""

    MINOR = 1
    """Something new, or a text for people: clients go on working."""
    DANGEROUS = 2
    """Clients go on working, and a model may act otherwise: descriptions, annotations, values."""
    BREAKING = 3
    """Clients may fail: something is gone, needed in addition, or of another type."""


_BREAKING: Final = frozenset({"type", "protocolVersion", "isError", "const", "$ref", "pattern"})
_MINOR: Final = frozenset({"title", "version", "icons", "websiteUrl"})
"""Members whose value is only shown."""
_NAMES: Final = ("name", "uri", "uriTemplate")


def tier_of(old: Any, new: Any, member: str = "") -> Tier | None:  # noqa: ANN401 - any JSON values
    """Return the tier of the largest difference of two values; None if there is none.

    `member` is the name of the member that they are.
    """
    if fits(old, new) or fits(new, old):
        return None
    if isinstance(old, dict) and isinstance(new, dict):
        return _worst(
            *(Tier.BREAKING for name in old if name not in new and name not in _MINOR),
            *(_of_added(name, new[name]) for name in new if name not in old),
            *(tier_of(old[name], new[name], name) for name in old if name in new),
            Tier.MINOR,
        )
    if isinstance(old, list) and isinstance(new, list):
        return _of_lists(old, new, member)
    same_type = type(old) is type(new) or {type(old), type(new)} <= {int, float}
    if not same_type or member in _BREAKING:
        return Tier.BREAKING
    return Tier.MINOR if member in _MINOR else Tier.DANGEROUS


def _worst(*tiers: Tier | None) -> Tier:
    return max(filter(None, tiers), default=Tier.MINOR)


def _of_added(name: str, value: Any) -> Tier:  # noqa: ANN401 - any JSON value
    """Return the tier of a new member: a condition that an old call may not meet, or more."""
    if name == "error" or (name == "required" and value) or (name == "isError" and value is True):
        return Tier.BREAKING
    if name in ("enum", "const", "pattern"):
        return Tier.BREAKING
    return Tier.DANGEROUS if name in ("description", "annotations", "instructions") else Tier.MINOR


def _of_lists(old: list[Any], new: list[Any], member: str) -> Tier:
    if member == "required":
        return Tier.BREAKING if any(one not in old for one in new) else Tier.MINOR
    if member == "enum":
        gone = any(one not in new for one in old)
        return Tier.BREAKING if gone else Tier.DANGEROUS
    before, now = _by_name(old), _by_name(new)
    if before is not None and now is not None:
        return _worst(
            *(Tier.BREAKING for name in before if name not in now),
            *(tier_of(before[name], now[name]) for name in before if name in now),
        )
    pairs = zip(old, new, strict=False)
    length = Tier.DANGEROUS if len(old) != len(new) else Tier.MINOR
    return _worst(length, *(tier_of(one, other) for one, other in pairs))


def _by_name(items: list[Any]) -> dict[str, Any] | None:
    """Return the entries of a list by their names; None if they have none."""
    found = {}
    for item in items:
        name = (
            next((item[key] for key in _NAMES if key in item), None)
            if isinstance(item, dict)
            else None
        )
        if not isinstance(name, str):
            return None
        found[name] = item
    return found


class Ignored:
    """What is not compared: members by their name, and places as `$.result.content[*].text`."""

    def __init__(self, words: tuple[str, ...] = ()) -> None:
        """Read what a person wrote."""
        self._names = frozenset(word for word in words if not word.startswith("$"))
        self._paths = [
            tuple(re.findall(r"[^.\[\]]+", word[1:])) for word in words if word.startswith("$")
        ]

    def has(self, path: tuple[str, ...]) -> bool:
        """Return True for the path of a place that is ignored. An item has its number as a name."""
        return path[-1] in self._names or any(
            len(one) == len(path) and all(a in ("*", b) for a, b in zip(one, path, strict=True))
            for one in self._paths
        )
