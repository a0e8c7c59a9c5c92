"""The other roles: the client, the host that drives servers, and the model that decides there."""

from typing import Final

from humanmcp.extensions import Extension

_HERE: Final = "humanmcp.extensions.host"

EXTENSION: Final = Extension(
    commands={
        "roles": {
            "client": f"{_HERE}.commands.client",
            "host": f"{_HERE}.commands.host",
            "play": f"{_HERE}.play",
        }
    },
    lister=f"{_HERE}.listing:listed",
)
