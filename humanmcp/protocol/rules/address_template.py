"""The addresses of a rule: `note://{id}` has a gap without a slash, `{+path}` takes anything.

Read from its end with a table of where the rest fits, so the time of a comparison grows with the
length of the address and never with the ways in which it can be cut: a peer chooses the address.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

LONGEST_ADDRESS: Final = 8192
"""Characters; no longer one fits a template that has gaps."""


def gaps_filled(template: str, address: str) -> Mapping[str, str] | None:
    """Return what stands in the gaps of a template; None if it is another address.

    Each gap takes as much as it can, the first one first.
    """
    parts = _parts(template)
    if len(parts) == 1:
        return {} if template == address else None
    if len(address) > LONGEST_ADDRESS or not address.startswith(parts[0]):
        return None
    fits = _places_where_the_rest_fits(parts, address)
    if not fits[0][0]:
        return None
    filled, at = {}, len(parts[0])
    for index in range(1, len(parts), 2):
        gap = parts[index]
        end = fits[index + 1].rindex(1, at + 1, _end_of_gap(gap, address, at) + 1)
        filled[gap[1:-1].lstrip("+")] = address[at:end]
        at = end + len(parts[index + 1])
    return filled


def _parts(template: str) -> Sequence[str]:
    """Cut a template: a text, a gap, a text, and so on."""
    return re.split(r"(\{[^{}]+\})", template)


def _end_of_gap(gap: str, address: str, at: int) -> int:
    slash = -1 if gap.startswith("{+") else address.find("/", at)
    return len(address) if slash < 0 else slash


def _places_where_the_rest_fits(parts: Sequence[str], address: str) -> list[bytearray]:
    """Return for each part, and for the end, at which places what follows it fits from there."""
    size = len(address)
    fits = [bytearray(size + 1) for _ in range(len(parts) + 1)]
    fits[-1][size] = 1
    for index in reversed(range(len(parts))):
        part, here, rest = parts[index], fits[index], fits[index + 1]
        if index % 2:
            takes_slash = part.startswith("{+")
            for place in reversed(range(size)):
                if takes_slash or address[place] != "/":
                    here[place] = rest[place + 1] or here[place + 1]
            continue
        place = address.find(part)
        while place >= 0:
            here[place] = rest[place + len(part)]
            place = address.find(part, place + 1)
    return fits
