"""How a recording is to be written: in which language and which time, and under which name."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from datetime import tzinfo


@dataclass(frozen=True, slots=True)
class ExportOptions:
    """What every format may ask for. `zone` is None for the zone of this machine."""

    language: str = "en"
    zone: tzinfo | None = None
    command: tuple[str, ...] = ()
    """The command that starts the real server, for a test that runs it; empty for unknown."""
    secrets: tuple[str, ...] = ()
    """The names of the values that were taken out of the recording, for what can be run."""
