"""What `make` and continuous integration install is locked, and fits what the project asks for."""

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tools import lock
from tools.install import SDK_1_LOCKED

ROOT: Final = Path(__file__).parents[2]
PROJECT: Final[dict[str, Any]] = tomllib.loads(
    (ROOT / "pyproject.toml").read_text(encoding="utf-8")
)
GROUPS: Final = PROJECT["dependency-groups"]
RUNS: Final[list[str]] = [*PROJECT["project"]["dependencies"], *GROUPS["build"]]
EXTRAS: Final = [
    one for extra in PROJECT["project"]["optional-dependencies"].values() for one in extra
]
ASKED: Final = {
    "run.txt": RUNS,
    "node.txt": GROUPS["node"],
    "test.txt": [*RUNS, *EXTRAS],
    "sdk1.txt": (lock.ROOT / lock.SDK_1_PIN).read_text(encoding="utf-8").split(),
}
"""The requirements that each file must meet."""

ENVIRONMENTS: Final = [
    {"python_version": python, "python_full_version": f"{python}.0", "sys_platform": system}
    for python in ("3.11", "3.12", "3.13", "3.14")
    for system in ("linux", "darwin", "win32")
]


def locked(name: str) -> Iterator[tuple[Requirement, int]]:
    """Read a file: each requirement, and the number of its hashes."""
    text = (lock.LOCKED / name).read_text(encoding="utf-8")
    for stated in re.findall(r"(?m)^[a-z0-9].*(?:\n    .*)*", text):
        line, *hashes = re.split(r"\s*\\\n\s*", stated)
        yield Requirement(line), sum(one.startswith("--hash=sha256:") for one in hashes)


def versions(name: str, environment: dict[str, str]) -> dict[str, str]:
    """Return what a file installs in an environment: from a name to its version."""
    return {
        canonicalize_name(one.name): str(one.specifier).removeprefix("==")
        for one, _hashes in locked(name)
        if one.marker is None or one.marker.evaluate(environment)
    }


def test_every_set_is_written_and_asked_for() -> None:
    """No file is left that nothing writes, and none is written that nothing needs."""
    assert {file.name for file in lock.LOCKED.iterdir()} == set(ASKED)
    written = [one for one in (*lock.SETS, SDK_1_LOCKED) if one.parent != lock.LITE]
    assert {one.name for one in written} == set(ASKED)
    assert all(one.is_file() for one in lock.SETS)


@pytest.mark.parametrize("name", ASKED)
def test_every_version_is_exact_and_has_a_hash(name: str) -> None:
    """Nobody can put another file in the place of one that was tested."""
    for requirement, hashes in locked(name):
        assert re.fullmatch(r"==[\w.!+]+", str(requirement.specifier)), requirement
        assert hashes, requirement


@pytest.mark.parametrize("name", ASKED)
def test_what_is_locked_is_what_the_project_asks_for(name: str) -> None:
    """After a change of pyproject.toml: `make lock`."""
    for environment in ENVIRONMENTS:
        there = versions(name, environment)
        for requirement in map(Requirement, ASKED[name]):
            if requirement.marker is None or requirement.marker.evaluate(environment):
                version = there[canonicalize_name(requirement.name)]
                assert requirement.specifier.contains(version, prereleases=True), requirement


def test_the_sets_agree_on_every_version() -> None:
    """The tests test what `make demo` runs."""
    for environment in ENVIRONMENTS:
        tested = versions("test.txt", environment).items()
        assert versions("run.txt", environment).items() <= tested
        assert versions("node.txt", environment).items() <= tested


def test_nothing_is_installed_past_the_lock() -> None:
    """Each call of pip names the file with hashes, or installs this project alone."""
    files = ["Makefile", "Dockerfile", ".devcontainer/devcontainer.json"]
    files += [str(file.relative_to(ROOT)) for file in (ROOT / ".github/workflows").iterdir()]
    calls = [
        line.strip()
        for file in files
        for line in (ROOT / file).read_text(encoding="utf-8").splitlines()
        if re.search(r"pip\)? install\b", line, re.IGNORECASE)
    ]
    assert calls
    unlocked = [one for one in calls if not re.search("--require-hashes|--no-deps", one)]
    # `make lock` takes the resolver itself; the last line is a sentence about another computer.
    assert [one for one in unlocked if "install uv" not in one and "echo" not in one] == []


@pytest.mark.parametrize("name", ["jsonschema-rs", "tomlkit"])
def test_a_library_that_decides_what_a_person_reads_has_an_upper_bound(name: str) -> None:
    """Its next version may say something else: then the bound is moved, with its tests."""
    found = next(one for one in map(Requirement, RUNS) if one.name == name)
    assert any(one.operator == "<" for one in found.specifier)


def test_the_newest_versions_are_tried_without_upper_bounds() -> None:
    """The nightly workflow finds out what a bound keeps away."""
    lifted = {one.name: one for one in map(Requirement, lock.without_upper_bounds().split("\n"))}
    for requirement in map(Requirement, [*PROJECT["project"]["dependencies"], *EXTRAS]):
        found = lifted[requirement.name]
        assert found.specifier.contains("9999.0"), found
        assert not found.specifier.contains("0.0.0"), found
        assert (found.marker, found.extras) == (requirement.marker, requirement.extras)
