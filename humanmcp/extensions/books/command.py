"""`humanmcp book`: check an answer book and see what it will do, or copy a server into one.

A server is copied from its command or address, or from a recording of it.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from humanmcp import extensions
from humanmcp.common.book_file import parse_book, read_book
from humanmcp.common.child import ChildCommand
from humanmcp.common.person_files import write_whole
from humanmcp.common.settings import BOOK_NAME, add_flags, book_path, home_folder
from humanmcp.common.terminal import raw_to_stdout, to_stderr, to_stdout
from humanmcp.common.toml_edit import element_text, table_text
from humanmcp.export.command import say_removed
from humanmcp.export.recording import find_recording
from humanmcp.extensions.books.copied import copied
from humanmcp.http.server_address import ServerAddress, add_header_flags, is_address, put_headers
from humanmcp.locales import say, titled
from humanmcp.locales.stop import stopped, trouble
from humanmcp.protocol.answer_book.book_entry import EntryAction
from humanmcp.protocol.answer_book.book_format import KEY_OF
from humanmcp.protocol.answer_book.following import GIVEN, follow_entries
from humanmcp.protocol.answer_book.placeholders import fill_answer, placeholders
from humanmcp.protocol.conversation.exchange import Exchange, NegotiatedState
from humanmcp.protocol.diagnostics.model import TextForm
from humanmcp.protocol.json import jsonrpc
from humanmcp.protocol.json.jsonrpc import Message, as_json
from humanmcp.protocol.json.tree import object_at
from humanmcp.protocol.json.visible import one_line
from humanmcp.protocol.tables import methods
from humanmcp.protocol.validation.check import check
from humanmcp.protocol.validation.redaction import Redacted, redact_recording

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable, Iterator, Mapping

    from humanmcp.common.parsing import Parser
    from humanmcp.common.settings import Settings
    from humanmcp.extensions.books.copied import CopiedBook
    from humanmcp.protocol.answer_book.book import Book
    from humanmcp.protocol.answer_book.book_entry import BookEntry
    from humanmcp.protocol.conversation.transcript import Frame
    from humanmcp.protocol.diagnostics.model import Diagnostic


def add_arguments(parser: Parser) -> None:
    flag = parser.flags(SECTION, "help ")
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
        raise stopped(SECTION, "one file", words=" ".join(given))
    return _check(Path(given[0]).expanduser())


def _check(path: Path) -> int:
    """Show what a book will do."""
    book = read_book(path)
    lists = (book.tools, book.prompts, (*book.resources, *book.resource_templates))
    tools, prompts, resources = map(len, lists)
    counts = {"tools": tools, "prompts": prompts, "resources": resources}
    to_stdout(say(SECTION, "good", file=path, rules=len(book.entries), **counts))
    for line in rule_lines(book):
        to_stdout(line)
    for doubt in doubts(book):
        to_stdout(doubt)
    return 0


def _copy(arguments: argparse.Namespace, settings: Settings) -> int:
    recorded = _recorded(arguments, settings)
    book = copied(recorded.frames)
    text = "\n".join(_sections(book))
    parse_book(text, Path(arguments.output or BOOK_NAME))
    for one in book.left_out:
        what = f"{one.method} {one.name}".rstrip()
        to_stderr(say(SECTION, f"left out {one.why}", what=what))
    if arguments.output not in ("", "-"):
        _write(Path(arguments.output).expanduser(), text)
    else:
        raw_to_stdout(text.removesuffix("\n"))
    say_removed(recorded.names, text)
    return 0


def _recorded(arguments: argparse.Namespace, settings: Settings) -> Redacted:
    """Return the messages of the server, from a recording or from a new connection."""
    source: str = arguments.source or next(filter(is_address, arguments.words[:1]), "")
    more = arguments.words[not arguments.source and bool(source) :]
    if not source and len(more) == 1 and _is_recording(Path(more[0]).expanduser()):
        source, more = more[0], []  # `--from -o book.toml recording.jsonl`
    if source and more:
        raise stopped(SECTION, "one source", words=" ".join(more))
    if not source or is_address(source):
        if not source and not more:
            raise stopped(SECTION, "no source")
        target = _called(source, arguments) if source else ChildCommand(tuple(more))
        lister = extensions.only("lister")
        if not lister:
            raise stopped(SECTION, "no lister")
        frames: Iterable[Frame] = extensions.load(lister)(target)
    else:
        frames = find_recording(source, home_folder(settings.home)).frames
    return Redacted(tuple(frames), ()) if arguments.no_redact else redact_recording(frames)


def _is_recording(path: Path) -> bool:
    """Return True if a path leads to something that cannot be the command of a server."""
    return path.is_dir() or (path.is_file() and not os.access(path, os.X_OK))


def _called(url: str, arguments: argparse.Namespace) -> ServerAddress:
    """Return the server at a URL, with the headers of the flags."""
    address = ServerAddress.of(url)
    put_headers(address.changes, arguments)
    return address


def _write(path: Path, text: str) -> None:
    """Write a new file, or to a device or pipe; an existing file is not replaced."""
    if path.exists() and not (path.is_fifo() or path.is_char_device()):
        raise stopped(SECTION, "exists", file=path)
    try:
        write_whole(path, text.encode("utf-8"))
    except OSError as error:
        raise stopped(SECTION, "unwritable", file=path, why=trouble(error)) from error
    to_stderr(say("export", "written", file=path))


# -- the lines about a book, and a book from a server --------------------------------------------


def _sections(book: CopiedBook) -> Iterator[str]:
    if book.server:
        yield table_text(["server"], book.server)
    yield table_text(["wait"], book.wait)
    for member, entries in book.lists.items():
        for entry in entries:
            yield element_text(member, entry)
    for entry in book.entries:
        yield element_text("rules", entry)


SECTION: Final = "book_command"
_SHOWN: Final = 160
"""Characters of a rule in its line."""


def rule_lines(book: Book) -> Iterator[str]:
    """Write each rule on a line: when it applies, and what it answers."""
    width = len(str(len(book.entries)))
    for number, entry in enumerate(book.entries, 1):
        turns = " | ".join(_does(turn, entry.where) for turn in entry.turns)
        yield one_line(f"{number:>{width}}  {_meant_for(entry)}  →  {turns}", _SHOWN)


def _meant_for(entry: BookEntry) -> str:
    """Write the conditions of a rule."""
    parts = [entry.method or "*", entry.tool or entry.resource]
    parts += [f"{name} = {as_json(value)}" for name, value in entry.where.items()]
    parts += [f"{name} ∋ {as_json(value)}" for name, value in entry.contains.items()]
    parts += [f"client_has {name}" for name in entry.client_has]
    parts += [f"inputResponses {as_json(entry.responses)}"] if entry.responses is not None else []
    parts += [f"requestState {as_json(entry.state)}"] if entry.state is not None else []
    parts += [f"key {entry.key}"] if entry.key else []
    parts += [f"kept {as_json(entry.kept)}"] if entry.kept is not None else []
    parts += [f"times {entry.times}"] if entry.times is not None else []
    return " ".join(filter(None, parts))


def _does(entry: BookEntry, where: Mapping[str, Any]) -> str:
    """Write what is done about one call."""
    steps = [f"notify {notice.method.removeprefix('notifications/')}" for notice in entry.notices]
    steps += [f"ask {', '.join(questions)}" for questions in entry.ask]
    if entry.change is not None:
        steps += [f"{word} {', '.join(found)}" for word, found in _changes(entry) if found]
    if entry.action is not EntryAction.ANSWER:
        return str(entry.action.value)
    text: str = fill_answer(entry.text, entry.form, where) if entry.fills else entry.text
    steps.append(f"{KEY_OF[entry.form]} {text}")
    steps += [f"fault {entry.fault}"] if entry.fault else []
    steps += [f"keep {as_json(entry.keep)}"] if entry.keep else []
    return "; ".join(steps)


def _changes(entry: BookEntry) -> Iterator[tuple[str, list[str]]]:
    if entry.change is not None:
        added = (one for each in entry.change.add.values() for one in each)
        yield "add", [str(one.get("name") or one) for one in added]
        yield "remove", [name for each in entry.change.remove.values() for name in each]


def doubts(book: Book) -> Iterator[str]:
    """Warn about probable mistakes in a usable book."""
    added = [
        tool
        for entry in book.entries
        for turn in entry.turns
        for tool in (turn.change.add.get("tools", ()) if turn.change else ())
    ]
    tools = {str(tool.get("name")): tool for tool in (*book.tools, *added)}
    negotiated, later = NegotiatedState(tools=tools), []
    for number, entry in enumerate(book.entries, 1):
        for turn in entry.turns:
            wrong = _why_never_sent(book, turn, negotiated) if _is_fixed(turn) else None
            if wrong is not None:
                yield say(SECTION, "never sent", rule=number, why=titled(wrong))
        if entry.on and not all(map(_is_fixed, entry.turns)):
            later.append(number)
        if entry.method == "tools/call" and entry.tool:
            if entry.tool in tools:
                yield from _unknown_names(entry, tools[entry.tool], number)
            elif not _is_for_a_tap(book):
                yield say(SECTION, "no tool", rule=number, tool=entry.tool)
    if later:
        rules = ", ".join(map(str, later))
        yield say(SECTION, "judged later", rules=rules, count=len(later))


def _is_fixed(entry: BookEntry) -> bool:
    """Return True if an answer is the same whatever is asked, but for the conditions of its entry.

    One that is wrong on purpose is none, and there is none where a person or a server answers.
    """
    if entry.action is not EntryAction.ANSWER or not entry.on:
        return True
    is_text = entry.form in (TextForm.TEXT, TextForm.TOOL_ERROR)  # right, whatever is filled in
    filled = () if is_text or not entry.fills else placeholders(_decoded(entry))
    names = {one.split(".")[0] for one in filled}
    is_alone = bool(entry.method) and not (entry.ask or entry.remembers)
    return is_alone and names <= entry.where.keys()


def _why_never_sent(book: Book, entry: BookEntry, negotiated: NegotiatedState) -> Diagnostic | None:
    """Return why the server can send an answer in none of its versions; None if it can.

    It is judged as when it is asked: by the smallest request that its entry answers.
    """
    if entry.action is not EntryAction.ANSWER or entry.fault or not entry.on:
        return None
    arguments = dict(entry.where)
    params = {"name": entry.tool, "arguments": arguments} if entry.tool else arguments
    body = {"jsonrpc": "2.0", "id": 1, "method": entry.method, "params": params}
    request = jsonrpc.read(json.dumps(body).encode())
    alone = entry._replace(
        contains={}, client_has=(), responses=None, state=None, resource="", times=None, then=()
    )
    first: Diagnostic | None = None
    for version in reversed(book.protocol_versions):
        if isinstance(request, Message) and methods.has_request(entry.method, version):
            exchange = Exchange(1, request, version)
            only = book._replace(entries=(alone,))
            decision = follow_entries(exchange, only, negotiated)
            if decision is None:  # its conditions contradict each other: it answers nothing
                return None
            wrong = check(exchange, decision.text, decision.form, negotiated).errors
            if not wrong:
                return None
            first = first or wrong[0]
    return first


def _is_for_a_tap(book: Book) -> bool:
    """Return True if a rule forwards a request: the tools are those of a real server."""
    return any(turn.action is EntryAction.FORWARD for entry in book.entries for turn in entry.turns)


def _unknown_names(entry: BookEntry, tool: Mapping[str, Any], number: int) -> Iterator[str]:
    known = {*object_at(tool.get("inputSchema"), "properties"), "params"}
    for turn in entry.turns:
        names = (
            known
            | (GIVEN if turn.remembers else frozenset())
            | {name for questions in turn.ask for name in questions}
        )
        text = turn.text if turn.form in (TextForm.TEXT, TextForm.TOOL_ERROR) else _decoded(turn)
        for name in dict.fromkeys(placeholders(text)) if turn.fills else ():
            if name.split(".")[0] not in names:
                yield say(
                    SECTION, "no value", rule=number, name=name, known=", ".join(sorted(names))
                )


def _decoded(entry: BookEntry) -> Any:  # noqa: ANN401 - any JSON value
    return json.loads(entry.text) if entry.text else ""
