"""Ports that a process may leave and come back to."""

import itertools
import os
import random
import socket
from typing import Final

_EACH: Final = 1_200
_WORKER: Final = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw")) % 16
_FIRST: Final = 12_000 + _WORKER * _EACH
_TURNS: Final = itertools.count(random.randrange(_EACH))


def own_port() -> int:
    """Return a port that no connection of this machine gets by chance, and no other worker."""
    while True:
        port = _FIRST + next(_TURNS) % _EACH
        with socket.socket() as tried:
            try:
                tried.bind(("127.0.0.1", port))
            except OSError:
                continue
        return port
