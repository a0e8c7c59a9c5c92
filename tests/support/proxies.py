"""The proxies of the manual: where their programs are, and how one is started."""

import os
import shutil
from collections.abc import Mapping, Sequence
from typing import Final

PROXIES: Final[Mapping[str, Sequence[str]]] = {
    "nginx": ("-p", "{folder}", "-e", "stderr", "-c", "{folder}/whole.conf"),
    "haproxy": ("-db", "-f", "{folder}/haproxy.conf"),
}
"""The arguments of each, which keep it in the foreground and in one folder."""


def proxy_program(name: str) -> str | None:
    """Return the path of a proxy's program, which not every user's PATH names."""
    return shutil.which(name, path=f"{os.environ.get('PATH', '')}:/usr/sbin")
