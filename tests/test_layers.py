"""Which package may import which: one table, with which the code is compared.

A package is a folder or a file directly in `humanmcp/`, or a file of `humanmcp/common/`. A package
imports packages of lower layers, shared modules as far as the table lets it, and itself; never
another package of its own layer. The folders of `protocol/`, the core, have layers of their own.
docs/explanation/design.md says what each package is for.
"""

import ast
import functools
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple

import pytest

from humanmcp.cli import commands

ROOT: Final = Path(__file__).parent.parent
PACKAGE: Final = "humanmcp"

LAYERS: Final = (
    ("protocol",),
    ("inbox",),
    ("answering", "http", "launch"),
    ("api", "export"),
    ("server", "desk", "terminal"),
    ("setup", "welcome"),
    ("cli",),
    ("__main__", "as_child"),
)
"""The layers, the lowest first. A new package must be given its place here."""

SHARED: Final = {
    "__init__": (),
    "common": (),
    "common/apart": (),
    "common/browser": ("common/shell", "locales"),
    "common/shell": (),
    "common/book_file": ("locales", "protocol", "common/toml_edit"),
    "common/child": ("locales", "common/line_pipe"),
    "common/block_yaml": (),
    "common/guarded": (),
    "common/jsonc": ("protocol",),
    "common/junit": (),
    "common/line_pipe": ("common/own_process",),
    "extensions": ("common/guarded",),
    "locales": ("protocol", "common/guarded", "common/shell", "extensions"),
    "common/timestamps": (),
    "common/parsing": ("locales",),
    "common/qr_code": (),
    "common/own_process": ("locales", "common/guarded"),
    "common/published": (),
    "common/person_files": ("locales", "protocol"),
    "common/settings": ("locales", "common/parsing", "extensions"),
    "common/terminal": ("protocol",),
    "common/toml_edit": (),
    "common/web_folder": (),
    "setup/hosts": ("protocol", "common/settings", "common/toml_edit", "extensions"),
    "setup/config_file": (
        *("protocol", "locales", "setup/hosts", "common/block_yaml", "common/jsonc"),
        *("common/person_files", "common/toml_edit"),
    ),
}
"""Below every layer: small modules that many packages use, each with what it may import."""

SHARED_USE: Final = {
    "protocol": ("__init__",),
    "inbox": (
        "__init__",
        "common/apart",
        "common/own_process",
        "extensions",
        "locales",
        "common/settings",
    ),
    "answering": (
        *("__init__", "common/apart", "common/published", "common/settings", "common/timestamps"),
        *("extensions", "locales"),
    ),
    "server": (
        "__init__",
        "common/book_file",
        "common/child",
        "common/own_process",
        "common/line_pipe",
        "locales",
        "common/parsing",
        "common/settings",
        "extensions",
    ),
}
"""Which shared modules these packages may use; every other package may use all of them."""

CORE: Final = (
    ("json",),
    ("diagnostics",),
    ("tables",),
    ("repair", "conversation"),
    ("answer_book", "validation"),
    ("session", "http"),
)
"""The layers of `protocol/`: each folder imports those of lower layers only."""

EXTENSION: Final = "extensions/"
"""A folder in here may import every other package, and none of those imports it."""

MOST_FILES: Final = 24
"""How many modules a folder may hold, besides its `__init__`."""

LIBRARIES: Final = {
    "protocol": ("jsonschema_rs",),
    "inbox": ("watchdog",),
    "answering": ("typing_extensions",),
    "extensions/agents": ("fastapi", "markupsafe", "starlette"),
    "extensions/apps": ("fastapi", "starlette"),
    "extensions/authority": ("fastapi", "markupsafe", "starlette"),
    "extensions/books": ("fastapi", "markupsafe", "starlette"),
    "extensions/classroom": ("anyio", "fastapi", "markupsafe", "starlette"),
    "extensions/notices": ("apprise", "fastapi", "starlette"),
    "extensions/host": ("anthropic", "openai"),
    "extensions/judge": ("fastapi", "starlette"),
    "extensions/postgres": ("psycopg", "psycopg_pool"),
    "extensions/testing": ("pytest",),
    "extensions/tap": ("fastapi", "starlette"),
    "desk": (
        *("anyio", "fastapi", "jinja2", "starlette", "typing_extensions", "uvicorn"),
        "markupsafe",  # the type of escaped text in jinja2, which installs it
    ),
    "http": ("starlette", "uvicorn"),
    "common/block_yaml": ("yaml",),
    "common/toml_edit": ("tomlkit",),
    "common/qr_code": ("segno",),
}
"""The libraries that a package, or a folder of one, may use; any other uses none."""

IMPURE: Final = frozenset(
    {"asyncio", "concurrent", "ctypes", "datetime", "glob", "http", "importlib", "io", "logging"}
    | {"mmap", "multiprocessing", "os", "pathlib", "platform", "queue", "random", "sched"}
    | {"secrets", "select", "selectors", "shutil", "signal", "socket", "socketserver", "ssl"}
    | {"subprocess", "sys", "tempfile", "threading", "time", "urllib.request", "uuid", "warnings"}
)
IMPURE_CALLS: Final = frozenset({"__import__", "breakpoint", "eval", "exec", "input", "open"})
"""What the core does without: clocks, files, sockets, threads, logs, chance, the interpreter."""

STDOUT_OWNERS: Final = frozenset({"server/connection.py", "common/terminal.py"})
MOST_MODULES: Final = 200
"""What a server may load, besides our folders; Python loads about 30."""


class Import(NamedTuple):
    """One import: by which package, where, of what, and whether it runs when needed only."""

    package: str
    place: str
    name: str
    lazy: bool

    @property
    def top(self) -> str:
        """The library, or the package when it is one of ours."""
        parts = self.name.split(".")
        return package_of(parts[1:]) if parts[0] == PACKAGE else parts[0]


def package_of(parts: Sequence[str]) -> str:
    """Return the package of a module, from its path below `humanmcp/`."""
    if not parts:
        return "__init__"
    file = "/".join(parts[:2])
    return file if parts[0] in ("common", "extensions") or file in SHARED else parts[0]


def packages(source: Path) -> set[str]:
    """List the packages: folders with Python in them, and files."""
    folders = {path.name for path in source.iterdir() if path.is_dir() and any(path.glob("*.py"))}
    files = {path.stem for path in source.glob("*.py")}
    shared = {f"common/{path.stem}" for path in source.glob("common/*.py")} - {"common/__init__"}
    return folders | files | shared


@functools.cache
def modules(source: Path) -> list[tuple[str, Path, ast.Module]]:
    """Parse every module as (package, file, tree)."""
    found = []
    for file in sorted(source.rglob("*.py")):
        parts = file.relative_to(source).with_suffix("").parts
        package = package_of([part for part in parts if part != "__init__"] or parts)
        found.append((package, file, ast.parse(file.read_text(encoding="utf-8"), str(file))))
    return found


@functools.cache
def imports(source: Path) -> list[Import]:
    """List every import of every module, also those inside functions and for types only."""
    return [
        Import(package, f"{file.relative_to(source)}:{node.lineno}", name, lazy)
        for package, file, tree in modules(source)
        for node, lazy in _imports_in(tree, lazy=False)
        for name in _imported(node, file, source)
    ]


def _imports_in(node: ast.AST, *, lazy: bool) -> Iterator[tuple[ast.Import | ast.ImportFrom, bool]]:
    """Yield the imports below a node, each with whether it runs when needed only."""
    lazy = lazy or isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.If))
    for child in ast.iter_child_nodes(node):
        if isinstance(child, (ast.Import, ast.ImportFrom)):
            yield child, lazy
        elif isinstance(child, ast.stmt | ast.excepthandler | ast.match_case):
            yield from _imports_in(child, lazy=lazy)


def _imported(node: ast.Import | ast.ImportFrom, file: Path, source: Path) -> list[str]:
    """Return the full names that one statement imports; `from humanmcp import x` names x."""
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if node.level:
        above = file.relative_to(source.parent).parts[: -node.level]
        base = ".".join((*above, *([node.module] if node.module else [])))
    else:
        base = node.module or ""
    folder = source.parent.joinpath(*base.split("."))
    if base.split(".")[0] != PACKAGE or not folder.is_dir():
        return [base]
    return [f"{base}.{a.name}" if _is_module(folder / a.name) else base for a in node.names]


def _is_module(path: Path) -> bool:
    return path.is_dir() or path.with_suffix(".py").is_file()


def allowed(package: str) -> set[str]:
    """Return the packages that a package may import."""
    if package in SHARED:
        return {package, *SHARED[package]}
    if package.startswith(EXTENSION):
        return {package, *SHARED, *(name for names in LAYERS for name in names)}
    layer = next(at for at, names in enumerate(LAYERS) if package in names)
    below = {name for names in LAYERS[:layer] for name in names}
    return {package, *below, *SHARED_USE.get(package, tuple(SHARED))}


def knots(source: Path) -> list[set[str]]:
    """List the groups of files that import each other in a circle."""
    edges: dict[str, set[str]] = {}
    for each in imports(source):
        path = source.parent.joinpath(*each.name.split("."))
        file = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
        if each.name.partition(".")[0] == PACKAGE:
            edges.setdefault(each.place.partition(":")[0], set()).add(
                file.relative_to(source).as_posix()
            )
    reached = {one: _reached(edges, one) for one in edges}
    found: list[set[str]] = []
    for one in sorted(edges):
        knot = {other for other in reached[one] if one in reached.get(other, ())}
        if len(knot) > 1 and knot not in found:
            found.append(knot)
    return found


def _reached(edges: Mapping[str, set[str]], file: str) -> set[str]:
    """Return what a file imports, what that imports, and so on."""
    reached: set[str] = set()
    rest = [file]
    while rest:
        new = edges.get(rest.pop(), set()) - reached
        reached |= new
        rest += new
    return reached


def wrong_imports(source: Path) -> list[str]:
    """List the imports that the table of layers forbids."""
    return [
        f"{found.place}: {found.package} must not import {found.name}"
        for found in imports(source)
        if found.name.split(".")[0] == PACKAGE and found.top not in allowed(found.package)
    ]


def wrong_imports_of_the_core(source: Path) -> list[str]:
    """List the imports between folders of the core that the table forbids."""
    layer = {name: at for at, names in enumerate(CORE) for name in names}
    found = []
    for each in imports(source):
        folder = each.place.removeprefix("protocol/").partition("/")[0].partition(".")[0]
        target = each.name.split(".")[2:3]
        if each.package == "protocol" and each.top == "protocol" and target != [folder]:
            known = folder in layer and bool(target) and target[0] in layer
            if not known or layer[target[0]] >= layer[folder]:
                found.append(f"{each.place}: {folder} must not import {each.name}")
    return found


def large_folders(source: Path) -> list[str]:
    """List the folders with too many modules."""
    folders = {file.parent for file in source.rglob("*.py")}
    count = {folder: len([*folder.glob("*.py")]) - 1 for folder in folders}
    return sorted(
        f"{folder.relative_to(source)}: {n} modules"
        for folder, n in count.items()
        if n > MOST_FILES
    )


def wrong_libraries(source: Path) -> list[str]:
    """List the imports of libraries that the table forbids."""
    return [
        f"{found.place}: {found.package} must not import {found.name}"
        for found in imports(source)
        if found.top not in sys.stdlib_module_names
        and found.name.split(".")[0] != PACKAGE
        and found.top not in LIBRARIES.get(found.package, ())
        and found.top not in LIBRARIES.get(found.place.rpartition("/")[0], ())
    ]


def impurities(source: Path) -> list[str]:
    """List what the core must do without."""
    found = [
        f"{each.place}: the core must not import {each.name}"
        for each in imports(source)
        if each.package == "protocol" and (each.top in IMPURE or each.name in IMPURE)
    ]
    for package, file, tree in modules(source):
        if package == "protocol":
            found += [
                f"{file.relative_to(source)}:{node.lineno}: the core must not call {node.func.id}"
                for node in ast.walk(tree)
                if isinstance(node, ast.Call)
                and isinstance(node.func, ast.Name)
                and node.func.id in IMPURE_CALLS
            ]
    return found


def stdout_users(source: Path) -> list[str]:
    """List the modules that name stdout, or print, and do not own it."""
    found = []
    for _package, file, tree in modules(source):
        name = file.relative_to(source).as_posix()
        for node in ast.walk(tree):
            match node:
                case ast.Attribute(value=ast.Name(id="sys"), attr="stdout" | "__stdout__"):
                    found.append(f"{name}:{node.lineno}")
                case ast.ImportFrom(module="sys") if any(a.name == "stdout" for a in node.names):
                    found.append(f"{name}:{node.lineno}")
                case ast.Call(func=ast.Name(id="print")):
                    found.append(f"{name}:{node.lineno}")
    return [place for place in found if place.rsplit(":", 1)[0] not in STDOUT_OWNERS]


SOURCE: Final = ROOT / PACKAGE


def test_every_package_has_its_place_in_the_table() -> None:
    """A new folder or file in `humanmcp/` must be placed in LAYERS or SHARED above."""
    placed = {name for names in LAYERS for name in names} | set(SHARED)
    assert packages(SOURCE) - placed == set()


def test_no_package_is_in_the_table_twice() -> None:
    """One package, one layer."""
    names = [name for layer in LAYERS for name in layer] + list(SHARED)
    assert sorted(names) == sorted(set(names))


def test_the_manual_draws_the_layers_as_they_are() -> None:
    """Each package stands in the drawing of docs/explanation/design.md, in its layer."""
    page = (ROOT / "docs" / "explanation" / "design.md").read_text(encoding="utf-8")
    drawing = page.split("```text\nhumanmcp/\n")[1].split("```")[0]
    drawn: list[list[str]] = []
    core: list[str] = []
    for line in drawing.split("\nshared ")[0].splitlines():
        if number := re.match(r"\d", line):
            drawn.insert(0, [])
            assert int(number[0]) == len(LAYERS) + 1 - len(drawn)
        name = line[1:].split()[0]
        (core if line.startswith("     ") else drawn[0]).append(name)
    assert [sorted(names) for names in drawn] == [sorted(names) for names in LAYERS]
    assert sorted(core) == sorted(name for names in CORE for name in names)
    listed = drawing.split("a folder for each of ours: ")[1].split(")")[0]
    folders = (SOURCE / "extensions").glob("*/__init__.py")
    assert {*listed.replace(",", " ").split()} >= {one.parent.name for one in folders}


def test_packages_import_lower_layers_only() -> None:
    """No package imports another one of its layer, or one of a higher layer."""
    assert wrong_imports(SOURCE) == []


def test_packages_of_the_core_import_lower_layers_only() -> None:
    """`session.py` may use all of them."""
    assert wrong_imports_of_the_core(SOURCE) == []


def test_no_files_import_each_other_in_a_circle() -> None:
    """One can read a file without those that use it. Imports for types only count, too."""
    assert knots(SOURCE) == []


def test_no_folder_has_too_many_modules() -> None:
    """A reader can take in a folder at a glance."""
    assert large_folders(SOURCE) == []


def test_one_place_chooses_the_inbox() -> None:
    """Nothing above the contract knows whether exchanges wait in a folder or elsewhere."""
    users = [
        each.place.partition(":")[0]
        for each in imports(SOURCE)
        if f"{each.name}.".startswith(f"{PACKAGE}.inbox.folder.")
    ]
    assert set(users) == {"inbox/__init__.py"}


def test_every_library_is_used_in_its_own_package_only() -> None:
    """The server, among others, has the standard library and nothing else."""
    assert wrong_libraries(SOURCE) == []


def test_libraries_of_the_core_and_of_shared_modules_are_imported_when_needed() -> None:
    """`jsonschema_rs` costs 25 ms, `tomlkit` 35: only what needs them pays."""
    eager = [
        each.place
        for each in imports(SOURCE)
        if each.package in {"protocol", *SHARED}
        and each.top in LIBRARIES.get(each.package, ())
        and not each.lazy
    ]
    assert eager == []


def test_the_core_is_pure() -> None:
    """`protocol/` knows no clock, file, socket, thread, log, and no chance."""
    assert impurities(SOURCE) == []


def test_stdout_is_named_by_its_owners_only() -> None:
    """What a library prints can never end up on the wire."""
    assert stdout_users(SOURCE) == []


def test_every_command_is_in_a_package_below_the_command_line() -> None:
    """The command line imports by name: those names count, too."""
    for module in commands().values():
        top, *parts = module.split(".")
        package = package_of(parts)
        assert top == PACKAGE
        assert package.startswith(EXTENSION) or package in allowed("cli") - set(SHARED)


def test_the_server_starts_without_any_installed_library() -> None:
    """It imports with no site-packages at all, and loads few modules even of the standard library.

    Some hosts give a server 1.5 s from its spawn to its first answer.
    """
    loaded = modules_loaded_by("server.serve")
    packages = {name.rpartition(".")[0] for name in loaded if name.startswith(PACKAGE)}
    assert len(loaded - packages) <= MOST_MODULES, sorted(loaded)


def modules_loaded_by(module: str) -> set[str]:
    """Return what a command loads, without any installed library."""
    script = (
        f"import sys; sys.path.insert(0, {str(ROOT)!r}); import {PACKAGE}.cli;"
        f"import {PACKAGE}.{module};"
        "sys.stderr.write('\\n'.join(sys.modules))"
    )
    run = subprocess.run(
        [sys.executable, "-S", "-c", script], capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stderr
    loaded = {*run.stderr.split("\n")}
    assert PACKAGE in loaded
    return loaded


# -- the rules themselves can fail ------------------------------------------------------------

OFFENCES: Final = {
    "server/serve.py": (
        "from humanmcp.desk import app\nimport fastapi\nimport sys\nsys.stdout.write('x')\n"
    ),
    "inbox/folder.py": "def f():\n    from humanmcp import cli\n",
    "inbox/bell.py": "if TYPE_CHECKING:\n    from humanmcp.inbox import rope\n",
    "inbox/rope.py": "def f():\n    from humanmcp.inbox import lock\n",
    "inbox/lock.py": "from humanmcp.inbox.bell import Bell\n",
    "protocol/session.py": "import time\nfrom ..inbox import contract\nopen('x')\nprint('x')\n",
    "protocol/json/spans.py": "from humanmcp.protocol.tables import versions\n",
    "attic/mess.py": "",
}


@pytest.fixture
def bad_source(tmp_path: Path) -> Path:
    """Write packages that break every rule."""
    source = tmp_path / PACKAGE
    for name, text in OFFENCES.items():
        file = source / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    for package in ("cli", "desk", "inbox"):
        file = source / f"{package}.py"
        file.write_text("", encoding="utf-8")
    return source


def test_a_wrong_import_is_found(bad_source: Path) -> None:
    """Sideways, upwards, relative and inside a function."""
    found = "\n".join(wrong_imports(bad_source))
    assert "server/serve.py:1" in found
    assert "inbox/folder.py:2" in found
    assert "protocol/session.py:2" in found


def test_a_wrong_import_of_the_core_is_found(bad_source: Path) -> None:
    """Upwards."""
    found = wrong_imports_of_the_core(bad_source)
    assert found == ["protocol/json/spans.py:1: json must not import humanmcp.protocol.tables"]


def test_a_circle_is_found(bad_source: Path) -> None:
    """Of three files, with an import for types and one inside a function."""
    assert knots(bad_source) == [{f"inbox/{one}.py" for one in ("bell", "lock", "rope")}]


def test_a_wrong_library_is_found(bad_source: Path) -> None:
    """A web framework in the server."""
    assert wrong_libraries(bad_source) == ["server/serve.py:2: server must not import fastapi"]


def test_an_impurity_is_found(bad_source: Path) -> None:
    """A clock, a file."""
    found = [line.split(" ")[0] for line in impurities(bad_source)]
    assert found == ["protocol/session.py:1:", "protocol/session.py:3:"]


def test_a_print_is_found(bad_source: Path) -> None:
    """By its own name or by that of the stream."""
    assert stdout_users(bad_source) == ["protocol/session.py:4", "server/serve.py:4"]


def test_a_package_without_a_place_is_found(bad_source: Path) -> None:
    """The table must name it."""
    assert "attic" in packages(bad_source)
