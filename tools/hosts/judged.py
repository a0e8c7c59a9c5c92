"""A host with the stand-in model, as a client that `humanmcp judge` can start.

    python -m tools.hosts.judged HOST PACKAGES SERVER ARGUMENTS…

The host is configured with this server, and gets one prompt. It prints what the host prints, and
then what the model was told of its call. PACKAGES is where `python -m tools.hosts` keeps them.
"""

import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final

from humanmcp.common.terminal import raw_to_stdout
from humanmcp.setup import hosts
from tools.hosts.installing import install
from tools.hosts.model import Model
from tools.hosts.playing import Room, prepared
from tools.hosts.table import BY_NAME

CALL_SECONDS: Final = 10
"""How long a call may take, of a host whose entry can say so."""


def main(name: str, packages: str, *server: str) -> int:
    """Play one prompt. Returns the exit status of the host."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # the folder goes, too
    known, host = hosts.BY_NAME[name], BY_NAME[name]
    installed = install(host, Path(packages))
    entry = hosts.local_entry(known, hosts.HostCommand(server[0], server[1:]), CALL_SECONDS)
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder, Model() as model:
        room = Room(Path(folder))
        room.make()
        file = hosts.place(known, sys.platform, room.home, {}, room.project)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(hosts.snippet(known, hosts.DEFAULT_NAME, entry), "utf-8")
        environment = prepared(host, installed, model, room)
        command = [str(installed.program), *host.words]
        done = subprocess.run(
            command, cwd=room.project, env=environment, stdin=subprocess.DEVNULL, check=False
        )
        for turn in model.turns:
            if turn.result:
                raw_to_stdout(f"\n{turn.result}")
    return done.returncode


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
