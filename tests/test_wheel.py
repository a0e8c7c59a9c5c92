"""What is published works without the source: the wheel is built, installed and talked to."""

from __future__ import annotations

import json
import subprocess
import sys
import tarfile
import venv
import zipfile
from pathlib import Path
from typing import Final

import pytest

from humanmcp.locales import LANGUAGES, compiling
from tests.conversations.converse import converse
from tests.conversations.script import read
from tests.serving import Serving, bare_environment

ROOT: Final = Path(__file__).parent.parent
WEATHER: Final = ROOT / "tests" / "conversations" / "weather.txt"

pytestmark = pytest.mark.xdist_group("wheel")


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the source distribution, and the wheel from it; nothing is fetched for it."""
    folder = tmp_path_factory.mktemp("dist")
    build = [sys.executable, "-m", "build", "--no-isolation"]
    run = subprocess.run(
        [*build, "--outdir", str(folder), str(ROOT)], capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stdout + run.stderr
    return folder


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
    folder = "humanmcp/locales/"
    found = {name for name in archive.namelist() if name.startswith(folder)}
    assert not {name for name in found if name.endswith(".toml")}
    for language in LANGUAGES:
        for room, sentences in compiling.sentences(language).items():
            name = f"{folder}compiled/{language}/{room}.json"
            assert json.loads(archive.read(name)) == {"sentences": sentences}
            found.remove(name)
    assert not {name for name in found if name.endswith(".json")}


def test_l4_the_wheel_and_the_source_carry_the_editor(built: Path, wheel: Path) -> None:
    """As bundled: nobody who installs it needs Node.js."""
    if not (ROOT / "web" / "static" / "vendor" / "editor.js").exists():
        pytest.skip("there is no way to Node.js here: the page has a plain text area")
    assert "humanmcp/web/static/vendor/editor.js" in zipfile.ZipFile(wheel).namelist()
    (source,) = built.glob("*.tar.gz")
    with tarfile.open(source) as archive:
        assert any(name.endswith("web/static/vendor/editor.js") for name in archive.getnames())


def test_the_wheel_carries_nothing_else(wheel: Path) -> None:
    """No tests, no bench, no documents: only the package and what describes it."""
    tops = {name.split("/")[0] for name in zipfile.ZipFile(wheel).namelist()}
    assert {top for top in tops if not top.endswith(".dist-info")} == {"humanmcp"}


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
    """With what a user installs, outside the source, without any other package.

    BRIDGE-2 to BRIDGE-8.
    """
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
