"""The tap: between a real client and a real server, to see, hold, change and replace."""

from typing import Final

from humanmcp.extensions import Extension, Link

_HERE: Final = "humanmcp.extensions.tap"

EXTENSION: Final = Extension(
    commands={
        "between": {
            "tap": f"{_HERE}.command",
            "hold": f"{_HERE}.hold",
            "release": f"{_HERE}.release",
            "wrap": f"{_HERE}.wrap",
            "unwrap": f"{_HERE}.unwrap",
        }
    },
    pages=(f"{_HERE}.taps_page",),
    links=(Link("holding", "/taps", "taps", "title"),),
    recorder="tap",
)
