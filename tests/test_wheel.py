"""What is published works without the source: the wheel is built, installed and talked to."""

import hashlib
import html
import itertools
import json
import re
import shutil
import subprocess
import sys
import tarfile
import venv
import zipfile
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path
from typing import Final

import pytest
from packaging.requirements import Requirement

import humanmcp
from humanmcp.answering import mistakes
from humanmcp.locales import LANGUAGES, compiling
from tests.conversations.converse import converse
from tests.conversations.script import read
from tests.support.desk_process import Desking
from tests.support.serve_process import Serving, bare_environment
from tests.support.waiting import PATIENCE

ROOT: Final = Path(__file__).parent.parent
WEATHER: Final = ROOT / "tests" / "conversations" / "weather.txt"

pytestmark = pytest.mark.xdist_group("wheel")


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the source distribution, and the wheel from it; nothing is fetched for it."""
    subprocess.run([sys.executable, "-m", "docs.make_man"], cwd=ROOT, check=True)
    return build(ROOT, tmp_path_factory.mktemp("dist"))


def build(source: Path, folder: Path) -> Path:
    """Build a source tree as `make dist` does. Returns the folder of what was built."""
    command = [sys.executable, "-m", "build", "--no-isolation"]
    run = subprocess.run(
        [*command, "--outdir", str(folder), str(source)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stdout + run.stderr
    return folder


def digests(folder: Path) -> dict[str, str]:
    """Return what is in a folder of what was built, as {name: SHA-256}."""
    return {file.name: hashlib.sha256(file.read_bytes()).hexdigest() for file in folder.iterdir()}


@pytest.fixture(scope="module")
def wheel(built: Path) -> Path:
    """Return the wheel."""
    (found,) = built.glob("*.whl")
    return found


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Install the wheel, and nothing else, in an environment of its own. Returns its `bin`."""
    folder = tmp_path_factory.mktemp("clean") / "venv"
    venv.create(folder, with_pip=False)
    scripts = folder / ("Scripts" if sys.platform == "win32" else "bin")
    pip = [sys.executable, "-m", "pip", "--python", str(scripts / "python")]
    subprocess.run(
        [*pip, "install", "-qq", "--no-index", "--no-deps", "--no-input", str(wheel)], check=True
    )
    return scripts


def needed(requirements: Iterator[str], seen: set[str]) -> Iterator[metadata.Distribution]:
    """List what a program declares to need, what that needs, and so on; what is optional is not."""
    for requirement in map(Requirement, requirements):
        wanted = requirement.marker is None or requirement.marker.evaluate({"extra": ""})
        if wanted and requirement.name not in seen:
            seen.add(requirement.name)
            found = metadata.distribution(requirement.name)
            yield found
            yield from needed(iter(found.requires or ()), seen)


@pytest.fixture(scope="module")
def complete(installed: Path, wheel: Path) -> Path:
    """Put beside the installed program what it declares to need, and nothing else."""
    (described,) = (
        name for name in zipfile.ZipFile(wheel).namelist() if name.endswith("/METADATA")
    )
    text = zipfile.ZipFile(wheel).read(described).decode()
    (site,) = installed.parent.glob("[Ll]ib/**/site-packages")
    for one in needed(iter(re.findall(r"^Requires-Dist: (.+)$", text, re.MULTILINE)), set()):
        for name in {file.parts[0] for file in one.files or () if ".." not in file.parts}:
            there = Path(str(one.locate_file(name)))
            if there.exists() and not (site / name).exists():
                (site / name).symlink_to(there)
    return installed


def test_the_wheel_carries_all_that_the_program_needs(wheel: Path) -> None:
    """Every module, the type marker, the page's files, the licence."""
    names = set(zipfile.ZipFile(wheel).namelist())
    package = {
        path.relative_to(ROOT).as_posix()
        for path in (ROOT / "humanmcp").rglob("*")
        if path.suffix in {".py", ".typed"}
    }
    web = {
        "humanmcp/" + path.relative_to(ROOT).as_posix()
        for path in (ROOT / "web").rglob("*")
        if path.is_file()
    }
    assert "humanmcp/py.typed" in package
    assert web
    assert package | web <= names
    assert any(name.endswith("licenses/LICENSE") for name in names)


def test_the_wheel_carries_every_sentence_compiled_and_no_source(wheel: Path) -> None:
    """Two builds of one source are equal, so nothing in it says when its source was written."""
    archive = zipfile.ZipFile(wheel)
    names = (name for name in archive.namelist() if not name.startswith("humanmcp/samples/"))
    found = {name for name in names if "/locales/" in name}
    assert not {name for name in found if name.endswith(".toml")}
    for folder, language in itertools.product(compiling.folders(), LANGUAGES):
        for room, sentences in compiling.sentences(language, folder).items():
            name = f"{folder.relative_to(ROOT).as_posix()}/compiled/{language}/{room}.json"
            assert json.loads(archive.read(name)) == {"sentences": sentences}
            found.remove(name)
    assert not {name for name in found if name.endswith(".json")}


def test_the_wheel_and_the_source_carry_the_editor(built: Path, wheel: Path) -> None:
    """As bundled: nobody who installs it needs Node.js."""
    if not (ROOT / "web" / "static" / "vendor" / "editor.js").exists():
        pytest.skip("there is no way to Node.js here: the page has a plain text area")
    assert "humanmcp/web/static/vendor/editor.js" in zipfile.ZipFile(wheel).namelist()
    (source,) = built.glob("*.tar.gz")
    with tarfile.open(source) as archive:
        assert any(name.endswith("web/static/vendor/editor.js") for name in archive.getnames())


def test_the_wheel_carries_nothing_else(wheel: Path) -> None:
    """No tests, no bench, no documents but the page of `man`."""
    names = zipfile.ZipFile(wheel).namelist()
    others = [name for name in names if not re.match(r"humanmcp/|[^/]+\.dist-info/", name)]
    assert others == [f"humanmcp-{humanmcp.__version__}.data/data/share/man/man1/humanmcp.1"]


def test_two_builds_of_one_source_are_the_same_bytes(built: Path, tmp_path: Path) -> None:
    """From another folder, with other times of its files, on another day."""
    made = (".git", ".venv", ".*_cache", ".hypothesis", "dist", "wheelhouse", "site")
    fetched = shutil.ignore_patterns(*made, "node_modules", "__pycache__", "compiled")
    source = tmp_path / "elsewhere"
    shutil.copytree(ROOT, source, ignore=fetched, copy_function=shutil.copy)
    assert digests(build(source, tmp_path / "again")) == digests(built)


def test_the_wheel_is_small(wheel: Path) -> None:
    """Who tries it once with `uvx` fetches about 2 MB of ours."""
    assert wheel.stat().st_size < 2_100_000


def test_the_index_would_take_it(built: Path) -> None:
    """Its description can be shown, and nothing is missing."""
    files = [str(file) for file in built.iterdir()]
    run = subprocess.run(
        [sys.executable, "-m", "twine", "check", "--strict", *files],
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stdout


def test_the_wheel_has_the_version_that_the_program_says(wheel: Path) -> None:
    """Written once, in `humanmcp/__init__.py`."""
    assert wheel.name == f"humanmcp-{humanmcp.__version__}-py3-none-any.whl"


def test_the_source_distribution_can_be_tested(built: Path) -> None:
    """It holds the tests, the manual and the Makefile, and nothing that was fetched."""
    (archive,) = built.glob("*.tar.gz")
    with tarfile.open(archive) as tar:
        names = {name.partition("/")[2] for name in tar.getnames()}
    wanted = {"Makefile", "README.md", "LICENSE", "pyproject.toml", "tests/conftest.py"}
    assert wanted <= names
    assert "tests/conversations/weather.txt" in names
    made = ("node_modules", "__pycache__", "locales/compiled")
    assert not {name for name in names if any(part in name for part in made)}


def test_the_installed_program_has_the_weather_session(installed: Path, tmp_path: Path) -> None:
    """With what a user installs, outside the source, without any other package."""
    conversation = read(WEATHER)
    command = (str(installed / "humanmcp"), "serve")
    with Serving(tmp_path / "home", *conversation.flags, command=command) as serving:
        converse(serving, conversation)


def test_the_installed_program_speaks_japanese(installed: Path, tmp_path: Path) -> None:
    """Where no source of a sentence is."""
    run = subprocess.run(
        [str(installed / "humanmcp"), "inbox", "--lang", "ja"],
        capture_output=True,
        check=False,
        cwd=tmp_path,
        env=bare_environment(tmp_path) | {"HUMANMCP_HOME": str(tmp_path / "home")},
    )
    assert "ホストがつながっていません" in run.stdout.decode()


def test_the_installed_program_is_the_one_that_was_built(installed: Path, tmp_path: Path) -> None:
    """The session above must not have run from the source by accident."""
    run = subprocess.run(
        [str(installed / "python"), "-c", "import humanmcp; raise SystemExit(humanmcp.__file__)"],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
        env=bare_environment(tmp_path),
    )
    assert Path(run.stderr.strip()).is_relative_to(installed.parent)


def test_the_installed_program_plays_the_demo(complete: Path, tmp_path: Path) -> None:
    """With the book that it carries, without a network and without the source."""
    run = subprocess.run(
        [str(complete / "humanmcp"), "demo", "--lang", "en"],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=True,
        cwd=tmp_path,
        env=bare_environment(tmp_path),
        timeout=PATIENCE,
    )
    assert re.findall(r"^(\d)/5 ", run.stdout.decode(), re.MULTILINE) == list("12345")


def test_the_installed_program_shows_the_page(complete: Path, tmp_path: Path) -> None:
    """With nothing but what it declares to need; its scripts and styles are there."""
    with Desking(tmp_path / "home", command=(str(complete / "humanmcp"), "desk")) as desk:
        page = desk.ask("GET", "/", headers=desk.bearer)
        assert page.status == 200
        linked = re.findall(r'(?:src|href)="([^"]*/static/[^"]+)"', page.text)
        assert linked
        for address in linked:
            assert desk.ask("GET", address, headers=desk.bearer).status == 200, address


def test_the_installed_program_explains_mistakes_and_calls(complete: Path, tmp_path: Path) -> None:
    """It has no manual: the command and the page show what the manual says."""
    run = subprocess.run(
        [str(complete / "humanmcp"), "check", "--lang", "en", "--explain", "M02"],
        capture_output=True,
        text=True,
        check=True,
        cwd=tmp_path,
        env=bare_environment(tmp_path),
    )
    right = mistakes.examples()["M02"].right
    assert right in run.stdout
    with Desking(tmp_path / "home", command=(str(complete / "humanmcp"), "desk")) as desk:
        page = desk.ask("GET", "/mistake/M02", headers=desk.bearer)
        assert page.status == 200
        # It is laid out there, and what differs from the wrong one is marked.
        shown = html.unescape(re.sub(r"<[^>]*>", "", page.text))
        assert '"type": "text"' in shown
        assert '"text": "sunny"' in shown
        assert "/api/exchanges" in desk.get("/api/openapi.json")["paths"]


def test_the_installed_program_says_what_to_paste(complete: Path, tmp_path: Path) -> None:
    """The command in the entry is the one that was installed."""
    run = subprocess.run(
        [str(complete / "humanmcp"), "config", "cursor"],
        capture_output=True,
        text=True,
        check=True,
        cwd=tmp_path,
        env=bare_environment(tmp_path),
    )
    assert str(complete) in run.stdout
