"""A recording as a server: replayed, with the real one behind it; archived, and verified."""

from typing import Final

from humanmcp.extensions import Extension, Format

_HERE: Final = "humanmcp.extensions.recordings"
SECTION: Final = "replay"
"""The section of what is said about a replay."""

EXTENSION: Final = Extension(
    commands={"sessions": {"replay": f"{_HERE}.command", "verify": f"{_HERE}.verify"}},
    capabilities=(f"{_HERE}.serving:replayed_answers",),
    serving=(f"{_HERE}.serving:REPLAY",),
    formats={"har": Format(f"{_HERE}.har:write", "har", "recordings", is_json=True)},
)
