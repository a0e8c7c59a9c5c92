"""Numbers on the command line that must be more than nothing."""

from __future__ import annotations

import argparse

from humanmcp.host.client.client import LONGEST_PATIENCE
from humanmcp.locales import language_of, say


def seconds(typed: str) -> float:
    """Read a time in seconds, for argparse."""
    try:
        found = float(typed)
    except ValueError:
        found = 0.0
    if not 0 < found <= LONGEST_PATIENCE:  # neither does any comparison hold for "nan"
        raise argparse.ArgumentTypeError(_wanted("no seconds", typed))
    return found


def whole_number(typed: str) -> int:
    """Read a number from 1, for argparse."""
    if not typed.isdecimal() or int(typed) < 1:
        raise argparse.ArgumentTypeError(_wanted("no number", typed))
    return int(typed)


def _wanted(code: str, typed: str) -> str:
    return say("client", code, language_of(), typed=typed)
