"""`humanmcp doctor`: say in plain words what is wrong with an installation, and what to do."""

from __future__ import annotations

import importlib.util
import itertools
import os
import shutil
import stat
import sys
import tempfile
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from humanmcp.answering.schema import TypedDict, filled
from humanmcp.common.book_file import BookFileError, read_book
from humanmcp.common.jsonc import BOM
from humanmcp.common.settings import (
    Settings,
    add_brought_flags,
    add_flags,
    book_path,
    brought_folders,
    home_folder,
)
from humanmcp.common.terminal import Painted, json_to_stdout, to_stdout
from humanmcp.inbox.life_lock import is_held
from humanmcp.locales import say
from humanmcp.locales.stop import REFUSED, in_language
from humanmcp.protocol.json.visible import one_line
from humanmcp.setup.addition import Finding, Level, setup_parts
from humanmcp.setup.config_file import ConfigFile, ConfigFileError, configurations
from humanmcp.setup.hosts import (
    HOSTS,
    Format,
    Host,
    as_ours,
    as_plain,
    command_in,
    filled_in,
    given_to_humanmcp,
    place,
    starter,
    starts_humanmcp,
    url_in,
)
from humanmcp.setup.trial import SERVE, NotTriedError, Trial, folders_of, run_trial

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator, Sequence

    from humanmcp.common.parsing import Parser

SECTION: Final = "doctor"
SETTINGS: Final = brought_folders()
OLDEST_PYTHON: Final = (3, 11)
LEAST_SPACE: Final = 50 * 1024 * 1024
"""Bytes; a session keeps every line, and a tool's result may hold megabytes."""
LEAST_WATCHES: Final = 8192
LEAST_INSTANCES: Final = 16
_INOTIFY: Final = Path("/proc/sys/fs/inotify")
_MOUNTS: Final = Path("/proc/self/mounts")
_REMOTE_KINDS: Final = frozenset(
    {"nfs", "nfs4", "cifs", "smb3", "smbfs", "9p", "afs", "ceph", "glusterfs", "fuse.sshfs"}
    | {"drvfs", "vboxsf", "fuse.vmhgfs-fuse", "davfs"}
)
_DESK_NEEDS: Final = ("fastapi", "jinja2", "starlette", "uvicorn", "watchdog")


def _finding(level: Level, code: str, **fillings: object) -> Finding:
    return Finding(code, level, tuple(fillings.items()))


ok = partial(_finding, Level.OK)
warning = partial(_finding, Level.WARNING)
problem = partial(_finding, Level.PROBLEM)


def check_python(version: tuple[int, ...] = sys.version_info[:3]) -> Iterator[Finding]:
    """Look whether this Python is new enough and the parts of the page are there."""
    written = ".".join(map(str, version))
    if version < OLDEST_PYTHON:
        yield problem("python old", version=written)
    else:
        yield ok("python", version=written, path=sys.executable)
    missing = [name for name in _DESK_NEEDS if importlib.util.find_spec(name) is None]
    if missing:
        yield warning("parts missing", names=", ".join(missing))
    yield ok("not needed")


def check_home(settings: Settings) -> Iterator[Finding]:
    """Look whether the inbox folder is there, private, and can be written."""
    home = home_folder(settings.home)
    try:
        found = home.lstat()
    except FileNotFoundError:
        yield from _check_parent(home)
        return
    except OSError as error:
        yield problem("home unreadable", path=home, why=error)
        return
    if not stat.S_ISDIR(found.st_mode):
        yield problem("home no folder", path=home)
        return
    if os.name != "nt" and found.st_uid != os.getuid():
        yield problem("home foreign", path=home)
    elif os.name != "nt" and found.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        yield problem("home open", path=home)
    elif os.name != "nt" and found.st_mode & (stat.S_IRWXG | stat.S_IRWXO):
        yield warning("home readable", path=home)
    else:
        yield ok("home", path=home)
    yield from check_writable(home)


def _check_parent(home: Path) -> Iterator[Finding]:
    """Check that a missing folder can be created."""
    above = next(one for one in home.parents if one.exists())
    if os.access(above, os.W_OK | os.X_OK):
        yield ok("home new", path=home)
    else:
        yield problem("home impossible", path=home, above=above)


def check_writable(folder: Path) -> Iterator[Finding]:
    """Look whether a file can be written there."""
    try:
        with tempfile.NamedTemporaryFile(prefix=".doctor-", dir=folder) as scratch:
            scratch.write(b"x")
            scratch.flush()
            os.fsync(scratch.fileno())
    except OSError as error:
        yield problem("unwritable", path=folder, why=error)


def check_disk(settings: Settings) -> Iterator[Finding]:
    """Look how much space there is, and whether the disk is one of this machine."""
    home = home_folder(settings.home)
    above = next(one for one in (home, *home.parents) if one.exists())
    free = shutil.disk_usage(above).free
    megabytes = free // (1024 * 1024)
    if free < LEAST_SPACE:
        yield problem("disk full", path=above, free=megabytes)
    else:
        yield ok("disk", free=megabytes)
    yield from check_remote(above)


def check_remote(folder: Path) -> Iterator[Finding]:
    """Look whether a folder is on a disk of another machine."""
    if (kind := kind_of_disk(folder)) in _REMOTE_KINDS:
        yield warning("disk remote", path=folder, kind=kind)


def kind_of_disk(folder: Path, mounts: Path = _MOUNTS) -> str:
    """Return the kind of file system of a folder, or "" if it is unknown."""
    try:
        lines = mounts.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return ""
    real = str(folder.resolve())
    best = ("", "")
    for line in lines:
        words = line.split()
        if len(words) < 3:
            continue
        # proc(5): space, tab, newline and backslash are octal escapes.
        point = words[1].replace("\\040", " ").replace("\\011", "\t").replace("\\134", "\\")
        inside = real == point or real.startswith(point.rstrip("/") + "/")
        if inside and len(point) >= len(best[0]):
            best = point, words[2]
    return best[1]


def check_watching(limits: Path = _INOTIFY) -> Iterator[Finding]:
    """Look whether the page may watch the folder (Linux limits that for each user)."""
    try:
        instances = int((limits / "max_user_instances").read_text())
        watches = int((limits / "max_user_watches").read_text())
    except (OSError, ValueError):
        return  # not Linux: no checks
    if instances < LEAST_INSTANCES or watches < LEAST_WATCHES:
        yield warning("watching", instances=instances, watches=watches)
    else:
        yield ok("watching ok", instances=instances, watches=watches)


def check_book(settings: Settings) -> Iterator[Finding]:
    """Look whether the answer book can be used."""
    home = home_folder(settings.home)
    path = book_path(settings.book, home)
    if not path.exists():
        yield problem("book missing", path=path) if settings.book else ok("book none")
        return
    try:
        book = read_book(path)
    except BookFileError as error:
        yield problem("book bad", why=error)
    else:
        yield ok("book", path=path, tools=len(book.tools), rules=len(book.entries))


def check_desk(settings: Settings) -> Iterator[Finding]:
    """Check whether a desk is running: by its lock, not by a process number."""
    home = home_folder(settings.home)
    if is_held(home / "desk.lock"):
        yield ok("desk")
    elif (home / "desk.json").exists():
        yield ok("desk stale")
    else:
        yield ok("desk none")


_PLACES: Final = ("cwd", "envFile")
"""The members of an entry that say in what folder and with what variables it starts."""


def check_hosts() -> Iterator[Finding]:
    """Check the hosts of this machine: whether the command of an entry exists and answers."""
    started: dict[object, Trial] = {}
    files = list(configurations())
    mentioned = False
    for host in HOSTS:
        paths = [path for one, path in files if one is host]
        found = [one for path in paths for one in _in_file(host, path, started)]
        yield from found
        if _has_plugin(host):
            found.append(ok("host plugin", label=host.label))
            yield found[-1]
        said = {one.code for one in found} - {"host remote", "host odd", "host bom"}
        mentioned |= bool(said - {"host bad"})
        if not said and _is_installed(host):
            path = place(host, sys.platform, Path.home(), os.environ, None)
            code = "host unread" if host.format is Format.YAML else "host without"
            yield ok(code, label=host.label, host=host.name, path=path)
    if not mentioned:
        yield warning("host none")


def homes_of(words: Sequence[str]) -> list[str]:
    """Return the inbox folders that a command names."""
    after = dict(itertools.pairwise((*words, "")))
    given = [word.removeprefix("--home=") for word in words if word.startswith("--home=")]
    return [home for home in (*given, after.get("--home", "")) if home]


def check_home_of(words: Sequence[str]) -> Iterator[Finding]:
    """Report what is wrong with the inbox folder of a command, which its trial did not use."""
    found = (one for home in homes_of(words) for one in check_home(Settings(home=home)))
    yield from (one for one in found if one.level is Level.PROBLEM)


def _is_installed(host: Host) -> bool:
    """Return True if a host left a trace of itself: its command, or the folder of its file."""
    folder = place(host, sys.platform, Path.home(), os.environ, None).parent
    return bool(host.program and shutil.which(host.program)) or (
        folder != Path.home() and folder.is_dir()
    )


def _has_plugin(host: Host) -> bool:
    """Return True if a host has installed the plugin of humanmcp."""
    if not host.plugin:
        return False
    path = filled_in(host.plugin, Path.home(), os.environ, Path.cwd())
    try:
        return host.plugin_name in path.read_text("utf-8")
    except (OSError, ValueError):
        return False


def _in_file(host: Host, path: Path, started: dict[object, Trial]) -> Iterator[Finding]:
    try:
        file = ConfigFile.read(host, path)
        servers = file.servers
    except ConfigFileError as error:
        yield warning("host bad", label=host.label, why=error)
        return
    if file.text.startswith(BOM):
        yield warning("host bom", path=path)
    for keys, one in servers.items():
        if starts_humanmcp(one) and command_in(one):
            yield from _check_entry(host, path, keys[-1], one, started)
        elif url_in(one):
            yield ok("host remote", label=host.label, name=keys[-1])
        elif not command_in(one) and not _is_from_elsewhere(one):
            yield warning("host odd", label=host.label, name=keys[-1], path=path)


def _is_from_elsewhere(entry: object) -> bool:
    """Return True if an entry is off, or its command is that of an extension of its host."""
    plain = entry if isinstance(entry, dict) else {}
    is_off = plain.get("enabled") is False or plain.get("disabled") is True
    return is_off or bool(plain.keys() & {"settings", "source", "extension"})


def _check_entry(
    host: Host,
    path: Path,
    name: str,
    one: Any,  # noqa: ANN401 - any JSON value
    started: dict[object, Trial],
) -> Iterator[Finding]:
    """Look whether a host without the shell's PATH can start an entry, and gets an answer.

    What is not certainly a command of this installation is not started: the file of a project is
    of somebody else, and so may be what an entry names.
    """
    words, plain = command_in(one), as_plain(one)
    about = {"label": host.label, "name": name, "path": path, "command": words[0]}
    if not Path(words[0]).is_absolute():
        yield warning("host relative", **about, host=host.name)
        return
    if not os.access(words[0], os.X_OK):
        yield problem("host missing", **about, host=host.name)
        return
    variables = plain.get("env") or {}
    own = as_ours(words)
    given = given_to_humanmcp(words)[1:]
    if not own or not isinstance(variables, dict) or any(plain.get(key) for key in _PLACES):
        is_ours = list(words[: len(starter())]) == starter()  # uvx, which may have to fetch it
        yield (ok if is_ours else warning)("host other", **about)
        return
    try:
        folders = folders_of(given, variables)
    except NotTriedError as error:
        yield ok(str(error), **about)
        return
    texts = {name: str(value) for name, value in variables.items()}
    key = (own, host.client, *sorted(texts.items()))
    if key not in started:
        own = own if given else (*own, SERVE)
        started[key] = run_trial(own, folders, texts, host.client)
    seen = started[key]
    if seen.asks_a_person:
        yield ok("host asks", **about)
    elif seen.first_answer is None:
        yield problem("host silent", **about, host=host.name, why=seen.why)
    else:
        yield ok("host answers", **about, took=f"{seen.first_answer:.2f}")
    yield from check_home_of(words)


SLOW_START: Final = 1.5
"""Seconds: the shortest time that a host is known to wait for a server's first answer."""
SLOW_END: Final = 2.0
"""Seconds after which hosts begin to kill."""
MOST_STDERR: Final = 2048

_MARK: Final = {Level.OK: "✓", Level.WARNING: "!", Level.PROBLEM: "✗"}
_COLOUR: Final = {Level.OK: "green", Level.WARNING: "yellow", Level.PROBLEM: "red"}


def add_arguments(parser: Parser) -> None:
    parser.flags(SECTION, "help ")("--json", action="store_true")
    add_flags(parser, "home", "book", "lang")
    add_brought_flags(parser, SETTINGS)


class FindingShape(TypedDict):
    """One finding of `doctor`."""

    code: str
    level: Level
    message: str


class DoctorShape(TypedDict):
    """The findings of `doctor`. `ok`: none of them is a problem."""

    ok: bool
    findings: list[FindingShape]


def run(arguments: argparse.Namespace, settings: Settings) -> int:
    """Look at everything. Returns 1 when there is a problem, else 0."""
    found = []
    for finding in findings(settings):
        found.append(finding)
        if not arguments.json:
            mark = Painted(_MARK[finding.level], _COLOUR[finding.level])
            to_stdout(mark, f" {one_line(_said(finding))}")
    problems = sum(finding.level is Level.PROBLEM for finding in found)
    warnings = sum(finding.level is Level.WARNING for finding in found)
    if arguments.json:
        told: DoctorShape = {
            "ok": not problems,
            "findings": [filled(FindingShape, one, message=_said(one)) for one in found],
        }
        json_to_stdout(told)
    else:
        code = "problems" if problems else "warnings" if warnings else "well"
        to_stdout(say(SECTION, code, count=problems or warnings))
    return REFUSED if problems else 0


def findings(settings: Settings) -> Iterator[Finding]:
    """Yield what every check finds, one after the other."""
    yield from check_python()
    yield from check_home(settings)
    yield from check_disk(settings)
    yield from check_server()
    yield from check_watching()
    yield from check_book(settings)
    yield from check_desk(settings)
    yield from check_editor()
    yield from check_hosts()
    for part in setup_parts():
        yield from part.check(settings)


def check_server() -> Iterator[Finding]:
    """Start the server as a host would, and judge what it does."""
    words = (sys.executable, "-P", "-m", "humanmcp", SERVE, "--auto")
    seen = run_trial(words, ("home", *(one.name for one in SETTINGS)))
    if seen.failure or seen.first_answer is None:
        yield problem("server silent", why=seen.why)
        return
    if seen.stray:
        yield problem("stdout dirty", line=one_line(seen.stray[0], 100), count=len(seen.stray))
    else:
        yield ok("stdout clean")
    took = f"{seen.first_answer:.2f}"
    is_slow = seen.first_answer > SLOW_START
    yield warning("start slow", took=took) if is_slow else ok("start", took=took)
    if seen.exit_time is None or seen.exit_time > SLOW_END:
        yield warning("end slow")
    if len(seen.stderr.encode()) > MOST_STDERR:
        yield warning("stderr long", size=len(seen.stderr.encode()))


def check_editor() -> Iterator[Finding]:
    """Look which editor `humanmcp answer` would open."""
    for name in ("VISUAL", "EDITOR"):
        wanted = os.environ.get(name, "").split()
        if wanted:
            there = shutil.which(wanted[0])
            yield (ok if there else warning)(
                "editor" if there else "editor missing", name=name, command=wanted[0]
            )
            return
    there = next(filter(None, map(shutil.which, ("editor", "vi", "nano", "notepad"))), None)
    yield ok("editor default", command=there) if there else warning("editor none")


def _said(finding: Finding) -> str:
    told = {name: in_language(filling) for name, filling in finding.fillings}
    return say(finding.section, finding.code, **told)
