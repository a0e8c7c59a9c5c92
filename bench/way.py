"""The way of one `tools/call` through a real server: which functions run, in which files, in order.

    python -m bench.way             the files, in the order in which the request reaches them, with
                                    the code lines that a stranger has to read
    python -m bench.way functions   every function as well

The way in begins, in each thread, with the first function that is given the bytes of the request,
and ends when that returns, or when the request is in the inbox. The way out begins when the server
takes the answer, and ends on its stdout.
"""

from __future__ import annotations

import ast
import json
import runpy
import sys
import tempfile
import threading
import tokenize
from pathlib import Path
from typing import TYPE_CHECKING, Final

from bench.peer import Peer, call, watch
from humanmcp.common import terminal
from humanmcp.inbox.contract import Key, Reply
from humanmcp.inbox.folder import FolderInbox
from humanmcp.protocol.diagnostics.model import TextForm

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType

CRASHES: Final = sys.version_info < (3, 11, 4)
"""Python 3.11.2 dies of a segmentation fault when a whole server is traced."""
PACKAGE: Final = Path(__file__).parent.parent / "humanmcp"
FIRST, TRACED = 1, 2
"""The first call loads what is loaded once; the second is traced."""
MARK: Final = b'"id":%d,' % TRACED


class Trace:
    """What runs between two moments of one thread, from a profile function."""

    def __init__(self, finished: Callable[[dict[str, list[tuple[str, str]]]], object]) -> None:
        """Begin with nothing. `finished` is given both ways when they are complete."""
        self._finished = finished
        self.ways: dict[str, list[tuple[str, str]]] = {"in": [], "out": []}
        self._firsts: dict[int, FrameType] = {}
        """Of each thread on its way in, the first function that was given the request."""
        self._is_delivered = False
        self._is_out = False

    def see(self, frame: FrameType, event: str, result: object) -> None:
        """Be told of each call and return of Python."""
        code = frame.f_code
        if not code.co_filename.startswith(str(PACKAGE)):
            return
        file, name = code.co_filename[len(str(PACKAGE)) + 1 :], code.co_qualname
        if event == "call":
            if self._is_out:
                self.ways["out"].append((file, name))
            elif not self._is_delivered:
                self._see_request(frame, file, name)
        elif event == "return":
            if self._firsts.get(threading.get_ident()) is frame:
                del self._firsts[threading.get_ident()]
            if self._firsts and name.endswith(".deliver"):
                self._is_delivered = True
            elif (
                self._is_delivered
                and not self.ways["out"]
                and name.endswith(".take_replies")
                and result
            ):
                self._is_out = True
            elif self._is_out and name == "PipeConnection.send":
                self._is_out = False
                self._finished(self.ways)

    def _see_request(self, frame: FrameType, file: str, name: str) -> None:
        thread = threading.get_ident()
        if thread not in self._firsts and _has_request(frame):
            self._firsts[thread] = frame
        if thread in self._firsts:
            self.ways["in"].append((file, name))


def _has_request(frame: FrameType) -> bool:
    values = frame.f_locals.values()
    return any(isinstance(value, (bytes, bytearray)) and MARK in value for value in values)


def serve(home: str, report: str) -> None:
    """Be the traced server: `humanmcp serve` with a profile function in each thread."""

    def finished(found: dict[str, list[tuple[str, str]]]) -> None:
        sys.setprofile(None)
        part = Path(report + ".part")
        part.write_text(json.dumps(found), encoding="utf-8")
        part.replace(report)

    trace = Trace(finished)
    sys.argv = ["humanmcp", "serve", "--auto", "--home", home]
    threading.setprofile(trace.see)
    sys.setprofile(trace.see)
    runpy.run_module("humanmcp", run_name="__main__")


def ways(home: Path) -> dict[str, list[list[str]]]:
    """Ask a traced server twice, answer as a desk does, and return the second way in and out."""
    report = home / "ways.json"
    inbox = FolderInbox(home)
    with Peer((sys.executable, "-m", "bench.way", "serve", str(home), str(report))) as server:
        server.open()
        for number in (FIRST, TRACED):
            server.write(call(number))
            inbox.send(_arrived(inbox, number), Reply("sunny", TextForm.TEXT, by="bench"))
            server.read()
            _is_closed(inbox, number)
        watch(report.exists)
    found: dict[str, list[list[str]]] = json.loads(report.read_text(encoding="utf-8"))
    return found


def _arrived(inbox: FolderInbox, number: int) -> Key:
    """Return the key of a request, as soon as it waits."""
    watch(lambda: bool(_waiting(inbox, number)))
    return _waiting(inbox, number)[0]


def _is_closed(inbox: FolderInbox, number: int) -> None:
    """Wait until a request is out of the inbox: what closes it is not on the way of the next."""
    watch(lambda: not _waiting(inbox, number))


def _waiting(inbox: FolderInbox, number: int) -> list[Key]:
    """List the request with this id, once it waits: the one before may not be closed yet."""
    return [
        item.key
        for session in inbox.sessions()
        for item in inbox.items(session.name)
        if item.id == str(number)
    ]


_NO_CODE: Final = {
    *(tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT),
    *(tokenize.ENDMARKER, tokenize.ENCODING),
}


def code_lines(file: str) -> int:
    """Count the lines of a file of the package without empty ones, comments and docstrings."""
    path = PACKAGE / file
    with path.open("rb") as opened:
        tokens = [one for one in tokenize.tokenize(opened.readline) if one.type not in _NO_CODE]
    lines = {line for one in tokens for line in range(one.start[0], one.end[0] + 1)}
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            lines.difference_update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    return len(lines)


def main() -> None:
    """Print both ways."""
    with tempfile.TemporaryDirectory() as home:
        found = ways(Path(home))
    for way, steps in found.items():
        files = list(dict.fromkeys(file for file, _ in steps))
        functions = list(dict.fromkeys(map(tuple, steps)))
        lines = {file: code_lines(file) for file in files}
        terminal.to_stdout(
            f"way {way}: {len(functions)} functions in {len(files)} files, "
            f"{sum(lines.values())} code lines"
        )
        for file in files:
            names = [name for where, name in functions if where == file]
            terminal.to_stdout(f"  {file}  ({len(names)}; {lines[file]})")
            if "functions" in sys.argv:
                terminal.to_stdout("\n".join(f"      {name}" for name in names))


if __name__ == "__main__":
    if sys.argv[1:2] == ["serve"]:
        serve(*sys.argv[2:4])
    else:
        main()
