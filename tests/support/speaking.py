"""Calling what speaks in a language that is not the one of the process."""

from __future__ import annotations

from collections.abc import Callable
from typing import ParamSpec, TypeVar

from humanmcp.locales import speaking

P = ParamSpec("P")
T = TypeVar("T")


def said_in(language: str, call: Callable[P, T], *given: P.args, **named: P.kwargs) -> T:
    """Return what a call returns whose reader reads this language."""
    with speaking(language):
        return call(*given, **named)
