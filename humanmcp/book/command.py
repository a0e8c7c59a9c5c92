"""`humanmcp book`: check an answer book and see what it will do, or copy a server into one."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from humanmcp.book.copying import ROOM, doubts, rule_lines
from humanmcp.common.book_file import parse_book, read_book
from humanmcp.common.child import ChildCommand
from humanmcp.common.person_files import write_whole
from humanmcp.common.settings import BOOK_NAME, add_flags, book_path, home_folder
from humanmcp.common.terminal import raw_to_stdout, to_stderr, to_stdout
from humanmcp.http.server_address import ServerAddress, add_header_flags, is_address, put_headers
from humanmcp.locales import say
from humanmcp.locales.stop import stopped, trouble

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable

    from humanmcp.common.parsing import Parser
    from humanmcp.common.settings import Settings
    from humanmcp.protocol.conversation.transcript import Frame


def add_arguments(parser: Parser) -> None:
    """Declare the arguments of `book`."""
    flag = parser.flags(ROOM, "help ")
    flag("words", code="file", nargs="*", metavar="FILE")
    flag("--check", action="store_true")
    flag("--from", dest="source", nargs="?", const="", metavar="TRANSCRIPT")
    flag("-o", "--output", metavar="FILE", default="")
    flag("--no-redact", action="store_true")
    add_header_flags(parser)
    add_flags(parser, "home", "lang")


def run(arguments: argparse.Namespace, settings: Settings) -> int:
    """Check a book, or write one. Returns the exit status."""
    if arguments.source is not None:
        return _copy(arguments, settings)
    given = arguments.words or [str(book_path("", home_folder(settings.home)))]
    if len(given) > 1:
        raise stopped(ROOM, "one file", words=" ".join(given))
    return _check(Path(given[0]).expanduser())


def _check(path: Path) -> int:
    """Show what a book will do."""
    book = read_book(path)
    lists = (book.tools, book.prompts, (*book.resources, *book.resource_templates))
    tools, prompts, resources = map(len, lists)
    counts = {"tools": tools, "prompts": prompts, "resources": resources}
    to_stdout(say(ROOM, "good", file=path, rules=len(book.rules), **counts))
    for line in rule_lines(book):
        to_stdout(line)
    for doubt in doubts(book):
        to_stdout(doubt)
    return 0


def _copy(arguments: argparse.Namespace, settings: Settings) -> int:
    from humanmcp.book.copying import as_toml  # noqa: PLC0415 - a check does without a client
    from humanmcp.protocol.rules.book_writer import copied  # noqa: PLC0415 - likewise

    book = copied(_frames(arguments, settings))
    text = as_toml(book)
    parse_book(text, Path(arguments.output or BOOK_NAME))
    for one in book.left_out:
        to_stderr(say(ROOM, f"left out {one.why}", method=one.method, name=one.name))
    if arguments.output:
        _write(Path(arguments.output).expanduser(), text)
    else:
        raw_to_stdout(text.removesuffix("\n"))
    return 0


def _frames(arguments: argparse.Namespace, settings: Settings) -> Iterable[Frame]:
    """Return what the server said: in a recording, or to us now."""
    source: str = arguments.source or next(filter(is_address, arguments.words[:1]), "")
    more = arguments.words[not arguments.source and bool(source) :]
    if source and more:
        raise stopped(ROOM, "one source", words=" ".join(more))
    if not source or is_address(source):
        from humanmcp.book.copying import listed  # noqa: PLC0415 - as above

        if not source and not more:
            raise stopped(ROOM, "no source")
        return listed(_called(source, arguments) if source else ChildCommand(tuple(more)))
    from humanmcp.export.recording import find  # noqa: PLC0415 - as above
    from humanmcp.export.redact import redact_recording  # noqa: PLC0415 - likewise

    frames = find(source, home_folder(settings.home)).frames
    if arguments.no_redact:
        return frames
    redacted = redact_recording(frames)
    if redacted.names:
        to_stderr(say("export", "redacted", count=len(redacted.names)))
    return redacted.frames


def _called(url: str, arguments: argparse.Namespace) -> ServerAddress:
    """Return the server at a URL, with the headers of the flags."""
    address = ServerAddress.of(url)
    put_headers(address.changes, arguments)
    return address


def _write(path: Path, text: str) -> None:
    """Write a new file: what was written is not replaced."""
    if path.exists():
        raise stopped(ROOM, "exists", file=path)
    try:
        write_whole(path, text.encode("utf-8"))
    except OSError as error:
        raise stopped(ROOM, "unwritable", file=path, why=trouble(error)) from error
    to_stderr(say("export", "written", file=path))
