"""The answer book's file: read at the start, and again whenever it is saved.

Knows TOML and the file; what a book means is in `protocol/answer_book/book.py`, how it is
written in `protocol/answer_book/book_format.py`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from humanmcp.locales import say
from humanmcp.locales.stop import StopError, in_language
from humanmcp.protocol.answer_book.book import Book, book_lists, lists_of, with_result_envelope
from humanmcp.protocol.answer_book.own_tools import APPROVE_TOOL
from humanmcp.protocol.diagnostics.model import TextForm

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from humanmcp.protocol.diagnostics.model import Diagnostic

_LOOK_EVERY = 1.0


SECTION = "book"


class BookFileError(StopError):
    """An answer book cannot be used. The sentence names the file, and the place in it."""

    section = SECTION

    def why(self) -> str:
        """Return what is wrong, without the name of the file."""
        fillings = {name: in_language(part) for name, part in self.fillings.items()}
        place = fillings.get("place", "")
        if fillings.get("line"):
            place = say(SECTION, "at", line=fillings["line"], place=place)
        said = say(SECTION, self.code, **fillings)
        return f"{place}: {said}" if place else said

    def sentence(self) -> str:
        """Return which file, where in it, what is wrong, and what to do."""
        return f"{self.fillings['file']}: {self.why()}"


Decoded = TypeVar("Decoded")


def read_book(path: Path) -> Book:
    """Read a book's file.

    Raises:
        BookFileError: it cannot be read, or not be used.
    """
    return parse_book(read_book_text(path), path)


def read_book_text(path: Path) -> str:
    """Return the text of a file.

    Raises:
        BookFileError: it cannot be read.
    """
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise BookFileError("encoding", file=path) from error
    except OSError as error:
        raise BookFileError("unreadable", file=path, why=error) from error


def parse_book(text: str, path: Path) -> Book:
    """Read the text of a book. `path` is the file that errors name.

    Raises:
        BookFileError: it is not TOML, has an unknown key or value, or a list that is never sent.
    """
    from humanmcp.protocol.answer_book.book_format import parse  # noqa: PLC0415 - 5 ms of a start

    book = decode_book(text, path, parse)
    for method in book_lists(book):
        wrong = _why_never_sent(book, method)
        if wrong is not None:
            from humanmcp.common.toml_edit import line_number_of  # noqa: PLC0415 - only to say where

            place = _place_of(wrong)
            where = {"line": line_number_of(text, place), "place": place}
            raise BookFileError("never sent", file=path, method=method, why=wrong, **where)
    return book


def _why_never_sent(book: Book, method: str) -> Diagnostic | None:
    """Return why the server can send a list of the book in none of its versions; None if it can."""
    from humanmcp.protocol.conversation.exchange import Exchange  # noqa: PLC0415 - only with a book
    from humanmcp.protocol.json import jsonrpc  # noqa: PLC0415 - as above
    from humanmcp.protocol.validation.check import check  # noqa: PLC0415 - as above

    request = jsonrpc.made({"jsonrpc": "2.0", "id": 1, "method": method})
    first: Diagnostic | None = None
    for version in reversed(book.protocol_versions):
        result = with_result_envelope(lists_of(book, version)[method], method, version, book)
        text = jsonrpc.as_json(result)
        wrong = check(Exchange(1, request, version), text, TextForm.RESULT).errors
        if not wrong:
            return None
        first = first or wrong[0]
    return first


def _place_of(problem: Diagnostic) -> str:
    """Return the place in a book of a problem in its list: "/result/tools/0/name" is "tools[0]"."""
    steps = problem.pointer.split("/")[2:]
    return "".join(f"[{step}]" if step.isdigit() else step for step in steps[:2])


def decode_book(text: str, path: Path, parse: Callable[[Mapping[str, Any]], Decoded]) -> Decoded:
    """Decode TOML and `parse` it. `path` is the file that errors name.

    Raises:
        BookFileError: it is not TOML, or has an unknown key or value.
    """
    import tomllib  # noqa: PLC0415 - 5 ms of a server's start that only a book has to pay

    from humanmcp.protocol.answer_book.book_format import BookError  # noqa: PLC0415 - as above

    try:
        return parse(tomllib.loads(text.removeprefix("\ufeff")))
    except tomllib.TOMLDecodeError as error:
        raise BookFileError("toml", file=path, why=error) from error
    except BookError as error:
        from humanmcp.common.toml_edit import line_number_of  # noqa: PLC0415 - only to say where

        inside = (
            error.place.removeprefix("the book").removeprefix("the lesson"),
            error.fillings.get("key", ""),
        )
        line = line_number_of(text, ".".join(filter(None, inside)))
        where = {"line": line, "place": error.place}
        raise BookFileError(error.code, file=path, **where, **error.fillings) from error


class BookFile:
    """A book and the file that it is read from; without a file, the default book."""

    def __init__(
        self,
        path: Path,
        versions: Sequence[str] = (),
        *,
        must_exist: bool = False,
        approvals: bool = False,
    ) -> None:
        """Read the book. `versions` replace the protocol versions that it names.

        With `approvals` the tool for permission prompts is added, unless the book has one.

        Raises:
            BookFileError: the file is missing although it must exist, or it cannot be used.
        """
        self.path = path
        self._versions = tuple(versions)
        self._approvals = approvals
        self.book = self._as_served(Book())
        self.complaint: BookFileError | None = None
        """Why the current file cannot be used; the last good book stays in force."""
        self._stamp: tuple[int, int] | None = None
        self._next_look = 0.0
        if must_exist and not path.exists():
            raise BookFileError("missing", file=path)
        self._look()
        if self.complaint is not None:
            raise self.complaint

    def another(self) -> BookFile:
        """Return a copy that watches the file separately."""
        other: BookFile = object.__new__(type(self))
        vars(other).update(vars(self))
        return other

    def poll(self, now: float) -> bool:
        """Read the file if it was saved, at most once a second. Return True if so."""
        if now < self._next_look:
            return False
        self._next_look = now + _LOOK_EVERY
        return self._look()

    def use(self, book: Book) -> None:
        """Replace the book until the file is saved: a rule changed the server definition."""
        self.book = book

    def _as_served(self, book: Book) -> Book:
        named = {one.get("name") for one in book.tools}
        if self._approvals and APPROVE_TOOL["name"] not in named:
            book = book._replace(tools=(*book.tools, APPROVE_TOOL))
        return book._replace(protocol_versions=self._versions) if self._versions else book

    def _look(self) -> bool:
        try:
            found = self.path.stat()
        except OSError:
            return False
        stamp = (found.st_mtime_ns, found.st_size)
        if stamp == self._stamp:
            return False
        self._stamp = stamp
        try:
            self.book = self._as_served(read_book(self.path))
        except BookFileError as error:
            self.complaint = error
        else:
            self.complaint = None
        return True
