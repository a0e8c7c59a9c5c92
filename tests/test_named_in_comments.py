"""What a comment, a docstring or the design names in backticks exists: a file, a constant."""

import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parent.parent
FOLDERS: Final = ("humanmcp", "tests", "bench", "docs", "tools", "samples", "editor")
FILES: Final = [
    ROOT / "hatch_build.py",
    *(f for one in FOLDERS for f in (ROOT / one).rglob("*.py")),
]
INSTALLED: Final = {"node_modules", ".venv"}
PYTHON: Final = {f: f.read_text("utf-8") for f in FILES if not INSTALLED & set(f.parts)}
PROSE: Final = ("docs/explanation/design.md", "CONTRIBUTING.md", "AGENTS.md", "tools/README.md")
_NAMED: Final = re.compile(r"`([\w./]+\.py)`|`(\w+)\.([A-Z][A-Z0-9_]+)`")


def _written() -> Iterator[tuple[str, str]]:
    """Yield each text that people read, with the file that it is in."""
    yield from ((name, (ROOT / name).read_text("utf-8")) for name in PROSE)
    for file, source in PYTHON.items():
        if _NAMED.search(source):
            for token in tokenize.generate_tokens(io.StringIO(source).readline):
                if token.type == tokenize.COMMENT or '"""' in token.string[:4]:
                    yield str(file), token.string


def _exists(path: str | None, owner: str, name: str) -> bool:
    """Look for a file, or for a name that a file, a package or a class of this name sets."""
    if path:
        return any(f"/{file.as_posix()}".endswith(f"/{path}") for file in PYTHON)
    sets = re.compile(rf"^\s*{name}(: [^=\n]+)? = ", re.MULTILINE)
    return any(
        sets.search(source)
        for file, source in PYTHON.items()
        if owner in (file.stem, file.parent.name) or f"class {owner}(" in source
    )


def test_every_file_and_constant_that_is_named_exists() -> None:
    """A name that moved on leaves a sentence that leads nowhere."""
    named = ((file, found) for file, text in _written() for found in _NAMED.finditer(text))
    assert [(file, found[0]) for file, found in named if not _exists(*found.groups())] == []
