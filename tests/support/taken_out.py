"""A copy of the project without some of its extensions, as somebody has it who removes them.

    python -m tests.support.taken_out NAME… [-- WORDS FOR PYTEST]

makes the copy, and runs the tests of the core there. What is removed of an extension: its folder,
its entry in `pyproject.toml`, its tests, and what imports one of these in `tests/`, `tools/` and
`bench/`. The generated pages of the manual are written again.
"""

import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import tomllib
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[2]
COPIED: Final = (
    "humanmcp",
    "web",
    "samples",
    "tests",
    "docs",
    "tools",
    "bench",
    "editor",
    "plugins",
)
LEFT_OUT: Final = ("node_modules", ".venv")
OF_THE_CORE: Final = "not in_the_manual and not that_a_page_names and not relative_link"
"""What is tested: all but what people wrote in the manual of the whole project."""
STARTED: Final = "from humanmcp.cli import main; sys.exit(main())"
METADATA: Final = "Metadata-Version: 2.1\nName: humanmcp\nVersion: 0\n"


def ours() -> tuple[str, ...]:
    """Return the names of the extensions that are part of the project."""
    folders = (ROOT / "humanmcp" / "extensions").glob("*/__init__.py")
    return tuple(sorted(one.parent.name for one in folders))


class Copy:
    """The project without these extensions, in a folder, and a Python that has it installed."""

    def __init__(self, folder: Path, without: Collection[str]) -> None:
        """Make it. The libraries are those of this Python."""
        self.root = folder / "project"
        for name in COPIED:
            shutil.copytree(ROOT / name, self.root / name, ignore=shutil.ignore_patterns(*LEFT_OUT))
        for file in ROOT.iterdir():
            if file.is_file():
                shutil.copy(file, self.root / file.name)
        for name in without:
            self._take_out(name)
        self.python = self._install(folder / "venv")
        written = self.run("-m", "docs.make_reference")
        assert written.returncode == 0, written.stderr

    def _take_out(self, name: str) -> None:
        shutil.rmtree(self.root / "humanmcp" / "extensions" / name)
        shutil.rmtree(self.root / "tests" / "extensions" / name, ignore_errors=True)
        project = self.root / "pyproject.toml"
        entry = re.compile(rf"^\w+ = .humanmcp\.extensions\.{name}\b.*\n", re.MULTILINE)
        kept, count = entry.subn("", project.read_text(encoding="utf-8"))
        assert count
        project.write_text(kept, "utf-8")
        of_it = re.compile(rf"^(from|import) (humanmcp|tests)\.extensions\.{name}\b", re.MULTILINE)
        for folder in ("tests", "tools", "bench"):
            for file in (self.root / folder).rglob("*.py"):
                if of_it.search(file.read_text(encoding="utf-8")):
                    file.unlink()

    def _install(self, venv: Path) -> Path:
        """Install the copy for an empty Python, beside the libraries of this one."""
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", venv], check=True)
        (site,) = venv.glob("lib/python*/site-packages")
        for one in Path(sysconfig.get_path("purelib")).iterdir():
            if "humanmcp" not in one.name:
                (site / one.name).symlink_to(one)
        (site / "humanmcp.pth").write_text(f"{self.root}\n", encoding="utf-8")
        project = tomllib.loads((self.root / "pyproject.toml").read_text("utf-8"))["project"]
        points = {"console_scripts": project["scripts"], **project["entry-points"]}
        lines = [
            line
            for group, rows in points.items()
            for line in (f"[{group}]", *(f"{name} = {value}" for name, value in rows.items()))
        ]
        info = site / "humanmcp-0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(METADATA, encoding="utf-8")
        (info / "entry_points.txt").write_text("\n".join([*lines, ""]), encoding="utf-8")
        python, program = venv / "bin" / "python", venv / "bin" / "humanmcp"
        program.write_text(f"#!{python}\nimport sys\n{STARTED}\n", encoding="utf-8")
        program.chmod(0o755)
        return python

    def run(self, *words: str) -> subprocess.CompletedProcess[str]:
        """Run Python there, to its end."""
        return subprocess.run(
            [str(self.python), *words], cwd=self.root, capture_output=True, text=True, check=False
        )


def main(words: Sequence[str]) -> int:
    """Make the copy, check its types, and run tests there: these, or all."""
    at = words.index("--") if "--" in words else len(words)
    with tempfile.TemporaryDirectory() as folder:
        copy = Copy(Path(folder), words[:at])
        there = [
            one for one in words[at + 1 :] if one[:6] != "tests/" or (copy.root / one).exists()
        ]
        status = 0
        for command in (("mypy", "humanmcp"), ("pytest", "-q", "-k", OF_THE_CORE, *there)):
            program = (str(copy.python), "-m", *command)
            status = subprocess.run(program, cwd=copy.root, check=False).returncode or status
        return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
