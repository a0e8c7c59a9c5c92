"""Which room of the house may import which, as one table that the code is compared with.

A room is a folder or a file directly in `humanmcp/`, or a file of `humanmcp/common/`. Arrows point
down the floors: a room imports rooms of lower floors, of the cellar as far as the table lets it,
and itself; never a neighbour. The core is drawn once more by itself, as packages.
"""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

import pytest

from humanmcp.cli import COMMANDS

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

ROOT: Final = Path(__file__).parent.parent
PACKAGE: Final = "humanmcp"

FLOORS: Final = (
    ("protocol",),
    ("inbox",),
    ("answering", "http"),
    ("demo", "export"),
    ("server", "desk", "tap", "host", "terminal", "setup"),
    ("book", "play", "pytest", "room", "welcome"),
    ("cli",),
    ("__main__",),
)
"""The house, from the ground up. A new room must be given its place here."""

CELLAR: Final = {
    "__init__": (),
    "common": (),
    "common/api_key": ("locales",),
    "common/book_file": ("locales", "protocol", "common/toml_sections"),
    "common/child": ("locales", "common/line_cutter"),
    "common/file_descriptors": ("locales",),
    "common/jsonc": ("protocol",),
    "common/line_cutter": (),
    "locales": ("protocol",),
    "common/logfile": (),
    "common/timestamps": (),
    "common/parsing": ("locales",),
    "common/mistakes": ("locales", "protocol", "common/paths", "common/published"),
    "common/paths": ("locales",),
    "common/published": (),
    "common/regular_file": (),
    "common/stop_signals": ("common/file_descriptors",),
    "common/settings": ("locales", "common/parsing", "common/paths"),
    "common/terminal": ("protocol",),
    "common/toml_edit": ("common/toml_sections",),
    "common/toml_sections": (),
    "setup/hosts": ("protocol", "common/settings", "common/toml_edit"),
    "setup/starting": ("protocol", "common/settings", "common/toml_edit", "setup/hosts"),
}
"""Below every floor: small things that many rooms use, each with what it may import itself."""

CELLAR_KEYS: Final = {
    "protocol": ("__init__",),
    "inbox": ("__init__", "common/file_descriptors", "locales", "common/paths"),
    "answering": ("__init__", "common/timestamps", "locales"),
    "server": (
        "__init__",
        "common/book_file",
        "common/child",
        "common/file_descriptors",
        "common/line_cutter",
        "locales",
        "common/logfile",
        "common/parsing",
        "common/paths",
        "common/settings",
        "common/stop_signals",
    ),
}
"""What these rooms may use of the cellar; every other room may use all of it."""

CORE: Final = (
    ("json",),
    ("diagnostics",),
    ("spec",),
    ("repair", "conversation"),
    ("rules", "validation"),
    ("session", "http"),
)
"""The floors of `protocol/`: each package imports those of lower floors only."""

MOST_FILES: Final = 24
"""How many modules a folder may hold, besides its `__init__`."""

GUESTS: Final = {
    "protocol": ("jsonschema_rs",),
    "inbox": ("watchdog",),
    "inbox/postgres": ("psycopg", "psycopg_pool"),
    "answering": ("typing_extensions",),
    "desk": ("fastapi", "jinja2", "starlette", "typing_extensions", "uvicorn"),
    "host": ("anthropic", "openai"),
    "http": ("starlette", "uvicorn"),
    "server/http": ("h11", "starlette", "uvicorn"),
    "common/toml_edit": ("tomlkit",),
    "pytest": ("pytest",),
    "room": ("fastapi", "segno", "starlette"),
}
"""The libraries that a room, or a folder of one, may use; what is not named here has none."""

IMPURE: Final = frozenset(
    {"asyncio", "concurrent", "ctypes", "datetime", "glob", "http", "importlib", "io", "logging"}
    | {"mmap", "multiprocessing", "os", "pathlib", "platform", "queue", "random", "sched"}
    | {"secrets", "select", "selectors", "shutil", "signal", "socket", "socketserver", "ssl"}
    | {"subprocess", "sys", "tempfile", "threading", "time", "urllib.request", "uuid", "warnings"}
)
IMPURE_CALLS: Final = frozenset({"__import__", "breakpoint", "eval", "exec", "input", "open"})
"""What the core does without: clocks, files, sockets, threads, logs, chance, the interpreter."""

STDOUT_OWNERS: Final = frozenset({"server/pipe.py", "common/terminal.py"})
MOST_MODULES: Final = 200
"""What `import humanmcp.server.serve` may load, besides our folders; Python alone: about 30."""


class Import(NamedTuple):
    """One import: who, on which line, of what, and whether it runs when the module is imported."""

    room: str
    place: str
    name: str
    lazy: bool

    @property
    def top(self) -> str:
        """The library, or the room when it is one of ours."""
        parts = self.name.split(".")
        return room_of(parts[1:]) if parts[0] == PACKAGE else parts[0]


def room_of(parts: Sequence[str]) -> str:
    """Return the room of a module, from its path below the package."""
    if not parts:
        return "__init__"
    file = "/".join(parts[:2])
    return file if parts[0] == "common" or file in CELLAR else parts[0]


def rooms(house: Path) -> set[str]:
    """List the rooms: folders with Python in them, and files."""
    folders = {path.name for path in house.iterdir() if path.is_dir() and any(path.glob("*.py"))}
    files = {path.stem for path in house.glob("*.py")}
    shared = {f"common/{path.stem}" for path in house.glob("common/*.py")} - {"common/__init__"}
    return folders | files | shared


def modules(house: Path) -> Iterator[tuple[str, Path, ast.Module]]:
    """Parse every module as (room, file, tree)."""
    for file in sorted(house.rglob("*.py")):
        parts = file.relative_to(house).with_suffix("").parts
        room = room_of([part for part in parts if part != "__init__"] or parts)
        yield room, file, ast.parse(file.read_text(encoding="utf-8"), str(file))


def imports(house: Path) -> Iterator[Import]:
    """List every import of every module, also those inside functions and for types only."""
    for room, file, tree in modules(house):
        lazy = {
            id(inner)
            for node in ast.walk(tree)
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.If))
            for inner in ast.walk(node)
        }
        for node in ast.walk(tree):
            for name in _imported(node, file, house):
                place = f"{file.relative_to(house)}:{getattr(node, 'lineno', 0)}"
                yield Import(room, place, name, id(node) in lazy)


def _imported(node: ast.AST, file: Path, house: Path) -> list[str]:
    """Return the full names that one statement imports; `from humanmcp import x` names the room."""
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if not isinstance(node, ast.ImportFrom):
        return []
    if node.level:
        above = file.relative_to(house.parent).parts[: -node.level]
        base = ".".join((*above, *([node.module] if node.module else [])))
    else:
        base = node.module or ""
    folder = house.parent.joinpath(*base.split("."))
    if base.split(".")[0] != PACKAGE or not folder.is_dir():
        return [base]
    return [f"{base}.{a.name}" if _is_module(folder / a.name) else base for a in node.names]


def _is_module(path: Path) -> bool:
    return path.is_dir() or path.with_suffix(".py").is_file()


def allowed(room: str) -> set[str]:
    """Return the rooms that a room may import."""
    if room in CELLAR:
        return {room, *CELLAR[room]}
    floor = next(at for at, names in enumerate(FLOORS) if room in names)
    below = {name for names in FLOORS[:floor] for name in names}
    return {room, *below, *CELLAR_KEYS.get(room, tuple(CELLAR))}


def wrong_arrows(house: Path) -> list[str]:
    """List the imports that the table of floors forbids."""
    return [
        f"{found.place}: {found.room} must not import {found.name}"
        for found in imports(house)
        if found.name.split(".")[0] == PACKAGE and found.top not in allowed(found.room)
    ]


def wrong_arrows_of_the_core(house: Path) -> list[str]:
    """List the imports between packages of the core that do not point down."""
    floor = {name: at for at, names in enumerate(CORE) for name in names}
    found = []
    for each in imports(house):
        package = each.place.removeprefix("protocol/").partition("/")[0].partition(".")[0]
        target = each.name.split(".")[2:3]
        if each.room == "protocol" and each.top == "protocol" and target != [package]:
            known = package in floor and bool(target) and target[0] in floor
            if not known or floor[target[0]] >= floor[package]:
                found.append(f"{each.place}: {package} must not import {each.name}")
    return found


def crowded(house: Path) -> list[str]:
    """List the folders with too many modules to be looked through."""
    folders = {file.parent for file in house.rglob("*.py")}
    count = {folder: len([*folder.glob("*.py")]) - 1 for folder in folders}
    return sorted(
        f"{folder.relative_to(house)}: {n} modules" for folder, n in count.items() if n > MOST_FILES
    )


def uninvited(house: Path) -> list[str]:
    """List the libraries that were imported by a room that has no such guest."""
    return [
        f"{found.place}: {found.room} must not import {found.name}"
        for found in imports(house)
        if found.top not in sys.stdlib_module_names
        and found.name.split(".")[0] != PACKAGE
        and found.top not in GUESTS.get(found.room, ())
        and found.top not in GUESTS.get(found.place.rpartition("/")[0], ())
    ]


def impurities(house: Path) -> list[str]:
    """List what the core must do without."""
    found = [
        f"{each.place}: the core must not import {each.name}"
        for each in imports(house)
        if each.room == "protocol" and (each.top in IMPURE or each.name in IMPURE)
    ]
    for room, file, tree in modules(house):
        if room == "protocol":
            found += [
                f"{file.relative_to(house)}:{node.lineno}: the core must not call {node.func.id}"
                for node in ast.walk(tree)
                if isinstance(node, ast.Call)
                and isinstance(node.func, ast.Name)
                and node.func.id in IMPURE_CALLS
            ]
    return found


def stdout_users(house: Path) -> list[str]:
    """List the modules that name stdout, or print, and do not own it."""
    found = []
    for _room, file, tree in modules(house):
        name = file.relative_to(house).as_posix()
        for node in ast.walk(tree):
            match node:
                case ast.Attribute(value=ast.Name(id="sys"), attr="stdout" | "__stdout__"):
                    found.append(f"{name}:{node.lineno}")
                case ast.ImportFrom(module="sys") if any(a.name == "stdout" for a in node.names):
                    found.append(f"{name}:{node.lineno}")
                case ast.Call(func=ast.Name(id="print")):
                    found.append(f"{name}:{node.lineno}")
    return [place for place in found if place.rsplit(":", 1)[0] not in STDOUT_OWNERS]


HOUSE: Final = ROOT / PACKAGE


def test_every_room_has_its_place_in_the_table() -> None:
    """A new folder or file in `humanmcp/` must be placed in FLOORS or CELLAR above."""
    placed = {name for names in FLOORS for name in names} | set(CELLAR)
    assert rooms(HOUSE) - placed == set()


def test_no_room_stands_in_the_table_twice() -> None:
    """One room, one floor."""
    names = [name for floor in FLOORS for name in floor] + list(CELLAR)
    assert sorted(names) == sorted(set(names))


def test_arrows_point_down_only() -> None:
    """No room imports its neighbour or a room above it."""
    assert wrong_arrows(HOUSE) == []


def test_arrows_of_the_core_point_down_only() -> None:
    """Packages of the core have an order too; `session.py` stands on all of them."""
    assert wrong_arrows_of_the_core(HOUSE) == []


def test_no_folder_is_crowded() -> None:
    """A folder is read at one look."""
    assert crowded(HOUSE) == []


def test_one_place_chooses_the_inbox() -> None:
    """Nothing above the contract knows whether exchanges wait in a folder or elsewhere."""
    implementations = (f"{PACKAGE}.inbox.folder", f"{PACKAGE}.inbox.postgres")
    users = [
        each.place.partition(":")[0]
        for each in imports(HOUSE)
        if each.name.startswith(implementations) and not each.place.startswith("inbox/postgres/")
    ]
    assert set(users) == {"inbox/opening.py"}


def test_every_library_is_used_in_its_own_room_only() -> None:
    """The server, among others, has the standard library and nothing else."""
    assert uninvited(HOUSE) == []


def test_libraries_below_the_floors_are_imported_when_needed() -> None:
    """`jsonschema_rs` costs 25 ms, `tomlkit` 35: only what needs them pays."""
    eager = [
        each.place
        for each in imports(HOUSE)
        if each.room in {"protocol", *CELLAR}
        and each.top in GUESTS.get(each.room, ())
        and not each.lazy
    ]
    assert eager == []


def test_the_core_is_pure() -> None:
    """`protocol/` knows no clock, file, socket, thread, log, and no chance."""
    assert impurities(HOUSE) == []


def test_stdout_is_named_by_its_owners_only() -> None:
    """What a library prints can never end up on the wire."""
    assert stdout_users(HOUSE) == []


def test_every_command_lives_in_a_room_below_the_command_line() -> None:
    """The command line imports by name: those names are arrows too."""
    for module in COMMANDS.values():
        package, room, *_rest = module.split(".")
        assert package == PACKAGE
        assert room in allowed("cli") - set(CELLAR)


def test_the_server_starts_without_any_installed_library() -> None:
    """It imports with no site-packages at all, and loads few modules even of the standard library.

    Some hosts give a server 1.5 s from its spawn to its first answer.
    """
    script = (
        f"import sys; sys.path.insert(0, {str(ROOT)!r}); import humanmcp.cli;"
        "import humanmcp.server.serve;"
        "sys.stderr.write('\\n'.join(sys.modules))"
    )
    run = subprocess.run(
        [sys.executable, "-S", "-c", script], capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stderr
    loaded = run.stderr.split("\n")
    assert PACKAGE in loaded
    packages = {name.rpartition(".")[0] for name in loaded if name.startswith(PACKAGE)}
    assert len({*loaded} - packages) <= MOST_MODULES, sorted(loaded)


# -- the rules themselves can fail ------------------------------------------------------------

OFFENCES: Final = {
    "server/serve.py": (
        "from humanmcp.desk import app\nimport fastapi\nimport sys\nsys.stdout.write('x')\n"
    ),
    "inbox/folder.py": "def f():\n    from humanmcp import cli\n",
    "protocol/session.py": "import time\nfrom ..inbox import contract\nopen('x')\nprint('x')\n",
    "protocol/json/spans.py": "from humanmcp.protocol.spec import versions\n",
    "attic/mess.py": "",
}


@pytest.fixture
def bad_house(tmp_path: Path) -> Path:
    """Build a house in which every rule is broken."""
    house = tmp_path / PACKAGE
    for name, text in OFFENCES.items():
        file = house / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    for room in ("cli", "desk", "inbox"):
        file = house / f"{room}.py"
        file.write_text("", encoding="utf-8")
    return house


def test_a_wrong_arrow_is_found(bad_house: Path) -> None:
    """Sideways, upwards, relative and inside a function."""
    found = "\n".join(wrong_arrows(bad_house))
    assert "server/serve.py:1" in found
    assert "inbox/folder.py:2" in found
    assert "protocol/session.py:2" in found


def test_a_wrong_arrow_of_the_core_is_found(bad_house: Path) -> None:
    """Upwards."""
    found = wrong_arrows_of_the_core(bad_house)
    assert found == ["protocol/json/spans.py:1: json must not import humanmcp.protocol.spec"]


def test_an_uninvited_library_is_found(bad_house: Path) -> None:
    """A web framework in the server."""
    assert uninvited(bad_house) == ["server/serve.py:2: server must not import fastapi"]


def test_an_impurity_is_found(bad_house: Path) -> None:
    """A clock, a file."""
    found = [line.split(" ")[0] for line in impurities(bad_house)]
    assert found == ["protocol/session.py:1:", "protocol/session.py:3:"]


def test_a_stray_print_is_found(bad_house: Path) -> None:
    """By its own name or by that of the stream."""
    assert stdout_users(bad_house) == ["protocol/session.py:4", "server/serve.py:4"]


def test_an_unplaced_room_is_found(bad_house: Path) -> None:
    """The table must name it before anything can be said of it."""
    assert "attic" in rooms(bad_house)
