"""Whether anything in a folder may have changed."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    import os

_COARSEST_CLOCK: Final = 2.5
"""Seconds: FAT writes the time of a change in steps of two."""

_AT_LEAST_EVERY: Final = 5.0
"""Seconds between two looks whatever the folder's time says."""


class FolderTime:
    """When a folder has changed, by its own time: one call to the system instead of many.

    Two changes can carry the same time, so a change is followed by looks until the coarsest clock
    has ticked. And some drives never change it, so now and then it is looked at whatever it says.
    """

    def __init__(self) -> None:
        """Begin with a folder that was not looked at yet."""
        self._changed = (-1, 0.0)  # the folder's own time, and when we noticed it
        self._looked = -math.inf

    def may_have_changed(self, found: os.stat_result, now: float) -> bool:
        """Return True if what is in the folder is to be looked at. `now` is of a rising clock."""
        if found.st_mtime_ns != self._changed[0]:
            self._changed = (found.st_mtime_ns, now)
        due = now - self._looked >= _AT_LEAST_EVERY
        if due or now - self._changed[1] <= _COARSEST_CLOCK:
            self._looked = now
            return True
        return False
