"""Write every version that `make` and continuous integration install, with its hash: `make lock`.

A version stays as it is as long as `pyproject.toml` allows it; `--upgrade` takes the newest one.
With `--newest`, the upper bounds are lifted, too, and the npm packages of the tests follow: the
nightly workflow then runs the tests with the newest of everything, and commits nothing.
"""

import json
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path
from typing import Final

from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet

from editor.build import need_npm
from tools.install import CLIENTS, SDK_1, SDK_1_LOCKED

ROOT: Final = Path(__file__).parent.parent
LOCKED: Final = Path(__file__).parent / "locked"
LITE: Final = Path(__file__).parent / "pyodide"

ALL: Final = LOCKED / "test.txt"
SETS: Final = {
    ALL: ("pyproject.toml", "--all-extras", "--group", "build"),
    LOCKED / "run.txt": ("pyproject.toml", "--group", "build", "--constraints", str(ALL)),
    LOCKED / "node.txt": ("--group", "node", "--constraints", str(ALL)),
    LITE / "wheels.txt": (str(LITE / "wheels.in"),),
}
"""The files, and what each is resolved from. The others take the versions of the first."""

SDK_1_PIN: Final = str((SDK_1 / "requirements.in").relative_to(ROOT))
"""The older Python SDK that some tests drive, in an environment of its own."""


def compile_set(target: Path, sources: tuple[str, ...], *words: str) -> None:
    """Resolve one set for every system and every Python that the project names."""
    subprocess.run(
        [
            *(sys.executable, "-m", "uv", "pip", "compile", "--quiet", "--universal"),
            *("--python-version", "3.11", "--generate-hashes", "--no-annotate"),
            *("--custom-compile-command", "make lock", "--output-file", str(target)),
            *(*sources, *words),
        ],
        cwd=ROOT,
        check=True,
    )


def without_upper_bounds() -> str:
    """Return the requirements of `pyproject.toml` without upper bounds, a line each."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"].values()
    stated = [*project["dependencies"], *(one for extra in extras for one in extra)]
    return "\n".join(dict.fromkeys(str(_lifted(Requirement(one))) for one in stated))


def _lifted(requirement: Requirement) -> Requirement:
    """Keep the lower bound; an exact version becomes one."""
    lower = [one for one in requirement.specifier if one.operator in (">=", "==")]
    requirement.specifier = SpecifierSet(",".join(f">={one.version}" for one in lower))
    return requirement


def upgrade_npm_packages() -> None:
    """Write the newest versions of the SDK clients into their `package-lock.json`."""
    wanted = json.loads((CLIENTS / "package.json").read_text(encoding="utf-8"))["dependencies"]
    words = ("--package-lock-only", "--save-exact", "--no-audit", "--no-fund", "--ignore-scripts")
    need_npm().run(CLIENTS, "install", *words, *(f"{name}@latest" for name in wanted))


def main(words: list[str]) -> int:
    """Write the files."""
    with tempfile.NamedTemporaryFile("w", suffix=".txt", encoding="utf-8") as lifted:
        if "--newest" in words:
            lifted.write(without_upper_bounds())
            lifted.flush()
            words = ["--upgrade", "--overrides", lifted.name]
            upgrade_npm_packages()
        for target, sources in SETS.items():
            compile_set(target, sources, *words)
        compile_set(SDK_1_LOCKED, (SDK_1_PIN,))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
