"""Numbers on the command line that must be more than nothing."""

from __future__ import annotations

from humanmcp.host.client.client import LONGEST_PATIENCE


def seconds(typed: str) -> float:
    """Read a time in seconds, for argparse, which names what it cannot read by this function."""
    found = float(typed)
    if not 0 < found <= LONGEST_PATIENCE:  # neither does any comparison hold for "nan"
        raise ValueError(typed)
    return found


def from_one(typed: str) -> int:
    """Read a number from 1, for argparse."""
    if not typed.isdecimal() or int(typed) < 1:
        raise ValueError(typed)
    return int(typed)
