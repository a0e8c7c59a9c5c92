"""What several statements have in common."""

from __future__ import annotations

from typing import Final

SOON: Final = "set_config('synchronous_commit', 'off', true)"
"""In the FROM of a statement: its transaction does not wait for the disk."""
SINCE: Final = "SELECT pg_snapshot_xmin(pg_current_snapshot())::text"
"""The number of the first transaction that may not be visible yet (`following.py`)."""
