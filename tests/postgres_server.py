"""A PostgreSQL of our own for a run of the tests: the distribution's programs, a throw-away folder.

It listens on a socket in that folder and nowhere else. PostgreSQL does not run as root, so root
starts it as the user that the distribution made for it.
"""

from __future__ import annotations

import functools
import os
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from typing import Self

_PLACES: Final = (
    "/usr/lib/postgresql/*/bin",
    "/usr/pgsql-*/bin",
    "/opt/homebrew/opt/postgresql@*/bin",
)
_USER: Final = "postgres"


@functools.cache
def programs() -> Path | None:
    """Return the folder of PostgreSQL's programs, which the distributions keep out of PATH."""
    on_path = shutil.which("initdb")
    places = [Path(on_path).parent] if on_path else []
    for place in _PLACES:
        places += sorted(Path("/").glob(place[1:]), reverse=True)
    return next((place for place in places if (place / "initdb").exists()), None)


@functools.cache
def why_no_postgres() -> str:
    """Say why no PostgreSQL can be started here, or "" when one can."""
    if programs() is None:
        return "there is no PostgreSQL: run `make postgres` as root, or install it"
    try:
        import psycopg_pool  # noqa: F401, PLC0415 - it is only asked for
    except ImportError:
        return "psycopg is not installed: pip install 'humanmcp[postgres]'"
    return ""


class PostgresServer:
    """One cluster. It may be killed and started again."""

    def __init__(self) -> None:
        """Make the cluster and start it."""
        self.folder = Path(tempfile.mkdtemp(prefix="humanmcp-pg-"))
        if os.getuid() == 0:
            shutil.chown(self.folder, _USER)
        options = ("-U", "humanmcp", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync")
        self._run("initdb", "-D", str(self.folder / "data"), *options)
        self.start()

    @property
    def url(self) -> str:
        """The address of its first database."""
        return self._url("postgres")

    def another(self, name: str) -> str:
        """Make a database of its own for a test, and return its address."""
        import psycopg  # noqa: PLC0415 - not everywhere is one
        from psycopg import sql  # noqa: PLC0415

        with psycopg.connect(self.url, autocommit=True) as connection:
            connection.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
        return self._url(name)

    def _url(self, database: str) -> str:
        return f"postgresql://humanmcp@/{database}?host={self.folder}"

    def start(self) -> None:
        """Start it, and wait until it answers. It does not wait for its disk."""
        self._set(fsync=False)
        listens = f"-k {self.folder} -c listen_addresses= -c max_connections=200"
        log = str(self.folder / "log")
        self._pg_ctl("start", "-w", "-l", log, "-o", listens)

    def wait_for_disk(self) -> None:
        """Let it wait for its disk from now on, as it should, until it is started again."""
        self._set(fsync=True)
        self._pg_ctl("reload")

    def _set(self, *, fsync: bool) -> None:
        with (self.folder / "data" / "postgresql.conf").open("a") as settings:
            settings.write(f"\nfsync = {'on' if fsync else 'off'}\n")  # the last one counts

    def kill(self) -> None:
        """Kill all of it, as the system does: nothing that is in memory only gets to the disk."""
        self._pg_ctl("stop", "-m", "immediate")

    def _pg_ctl(self, *words: str) -> None:
        self._run("pg_ctl", "-s", "-D", str(self.folder / "data"), *words)

    def _run(self, program: str, *words: str) -> None:
        folder = programs()
        assert folder is not None
        other = ("setpriv", f"--reuid={_USER}", f"--regid={_USER}", "--clear-groups")
        command = [*(other if os.getuid() == 0 else ()), str(folder / program), *words]
        done = subprocess.run(
            command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, cwd="/", check=False
        )
        assert done.returncode == 0, done.stderr.decode()

    def __enter__(self) -> Self:
        """Lend it."""
        return self

    def __exit__(self, *_: object) -> None:
        """Throw it away."""
        self.kill()
        shutil.rmtree(self.folder)
