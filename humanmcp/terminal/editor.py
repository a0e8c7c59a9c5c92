"""A person's own editor on a text, with what is to be said about it as comments at the top.

`kubectl edit` is the model: the comments are taken off again, and a text that was not changed, or
was emptied, means "never mind".
"""

from __future__ import annotations

import contextlib
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Final

from humanmcp.common.paths import make_private
from humanmcp.locales.stop import stopped

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

MARK: Final = "//"
FOLDER: Final = "editing"
"""The folder of the home that holds the text while an editor is open."""
AT_ONCE: Final = 0.7
"""An editor that is back within these seconds, the text unchanged, did not wait for the person."""

_FALLBACKS: Final = ("notepad",) if os.name == "nt" else ("editor", "vi", "nano")


def command(environment: Mapping[str, str] = os.environ) -> list[str]:
    """Return the words of the editor's command: $VISUAL, $EDITOR, else what is installed.

    Raises:
        StopError: there is none.
    """
    for name in ("VISUAL", "EDITOR"):
        wanted = environment.get(name, "").strip()
        if wanted:
            return shlex.split(wanted, posix=os.name != "nt")
    for name in _FALLBACKS:
        found = shutil.which(name)
        if found:
            return [found]
    raise stopped("answer", "no editor")


def edit(text: str, comments: Sequence[str], home: Path, name: str) -> tuple[str, float]:
    """Let the person edit a text below comments. Returns it without them, and the seconds it took.

    `name` becomes a part of the file's name: it must be our own, never the peer's.

    Raises:
        StopError: there is no editor or no terminal, or the editor failed.
    """
    if not sys.stdin.isatty():
        raise stopped("answer", "no terminal")
    words = command()
    folder = make_private(make_private(home) / FOLDER)
    number, path = tempfile.mkstemp(prefix=f"{name}-", suffix=".json", dir=folder)
    file = Path(path)
    try:
        with os.fdopen(number, "w", encoding="utf-8", newline="\n") as stream:
            stream.write(with_comments(text, comments))
        began = time.monotonic()
        _run([*words, path])
        took = time.monotonic() - began
        # `utf-8-sig`: some editors add a byte-order mark.
        return without_comments(file.read_text(encoding="utf-8-sig", errors="replace")), took
    finally:
        with contextlib.suppress(OSError):
            file.unlink()


def with_comments(text: str, comments: Sequence[str]) -> str:
    """Return the text below its comments, one a line, with a line feed at the end."""
    top = "".join(f"{MARK} {line}".rstrip() + "\n" for line in comments)
    return top + text.rstrip("\n") + "\n"


def without_comments(text: str) -> str:
    """Take the block of comments off the top. A `//` anywhere below it is the person's own."""
    lines = text.split("\n")
    at = 0
    while at < len(lines) and lines[at].lstrip().startswith(MARK):
        at += 1
    return "\n".join(lines[at:])


def same(one: str, other: str) -> bool:
    """Return True if two texts differ in nothing but line ends and the space around them."""
    return one.replace("\r\n", "\n").strip() == other.replace("\r\n", "\n").strip()


def _run(words: Sequence[str]) -> None:
    try:
        ended = subprocess.run(words, check=False)  # noqa: S603 - the person's own choice of editor
    except OSError as error:
        raise stopped("answer", "editor missing", command=words[0]) from error
    if ended.returncode:
        raise stopped("answer", "editor failed", command=words[0], status=ended.returncode)
