"""A disk with no more room, as one process sees it."""

import resource
import subprocess

from tests.support.forking import Forked


def fill(process: subprocess.Popen[bytes] | Forked, room: int = 0) -> None:
    """Let no file of a process grow beyond this many bytes."""
    hard = resource.prlimit(process.pid, resource.RLIMIT_FSIZE)[1]
    resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (room, hard))


def empty(process: subprocess.Popen[bytes] | Forked) -> None:
    """Take the limit away."""
    fill(process, resource.prlimit(process.pid, resource.RLIMIT_FSIZE)[1])
