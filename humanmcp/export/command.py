"""`humanmcp export`: write what was recorded of a session in another form."""

from __future__ import annotations

import importlib
import shlex
from dataclasses import replace
from datetime import UTC
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, NamedTuple

from humanmcp.common.person_files import write_whole
from humanmcp.common.settings import add_flags, home_folder
from humanmcp.common.terminal import is_terminal, raw_to_stdout, to_stderr
from humanmcp.export.recording import LAST, ExportOptions, find
from humanmcp.export.redact import redact_recording
from humanmcp.locales import say
from humanmcp.locales.stop import StopError, trouble
from humanmcp.protocol.json.jsonrpc import visible, visible_json

if TYPE_CHECKING:
    import argparse

    from humanmcp.common.parsing import Parser
    from humanmcp.common.settings import Settings
    from humanmcp.export.recording import Recording


class ExportFormat(NamedTuple):
    """A form of a session: the function of this folder that writes it, and how its file ends."""

    writer: str
    ending: str


FORMATS: Final = MappingProxyType(
    {
        "html": ExportFormat("readable.write_html", "html"),
        "mermaid": ExportFormat("readable.write_mermaid", "mmd"),
        "markdown": ExportFormat("readable.write_markdown", "md"),
        "server": ExportFormat("runnable.write_server", "py"),
        "pytest": ExportFormat("runnable.write_test", "test.py"),
        "jsonl": ExportFormat("readable.write_transcript", "jsonl"),
        "har": ExportFormat("har.write", "har"),
        "decisions": ExportFormat("readable.write_decisions", "jsonl"),
        "log": ExportFormat("readable.write_log", "log"),
        "pretty": ExportFormat("readable.write_laid_out", "txt"),
    }
)
"""Every format, in the order in which it is offered; a new one is a record here and its words."""

RUNNABLE: Final = frozenset({"server", "pytest"})
"""The formats in which each redacted value keeps a name: what is run can ask for it."""

JSON: Final = frozenset({"jsonl", "har", "decisions"})
"""The formats that are JSON: what a terminal must not see becomes an escape of JSON."""

LOSSLESS: Final = frozenset({"jsonl", "decisions"})
"""The formats that are never redacted unless asked for: the recording itself, and digests."""

FAILED: Final = 1


def add_arguments(parser: Parser) -> None:
    """Declare the flags of `export`."""
    flag = parser.flags("export")
    add_flags(parser, "home", "inbox", "lang")
    flag("session", nargs="?", default=LAST, metavar="SESSION")
    flag("--format", choices=FORMATS, default="log", metavar="FORMAT")
    flag("-o", "--output", metavar="FILE")
    flag("--utc", action="store_true")
    flag("--server", metavar="COMMAND", default="")
    redact = parser.add_mutually_exclusive_group()
    flag("--redact", to=redact, dest="redact", action="store_true", default=None)
    flag("--no-redact", to=redact, dest="redact", action="store_false")


def run(arguments: argparse.Namespace, settings: Settings) -> int:
    """Write one session. Returns the exit status."""
    zone = UTC if arguments.utc else None
    options = ExportOptions(zone, tuple(shlex.split(arguments.server)))
    try:
        recording = find(arguments.session, home_folder(settings.home), zone, inbox=settings.inbox)
    except StopError as error:
        to_stderr(error.sentence())
        return FAILED
    wanted = arguments.redact
    if wanted or (wanted is None and arguments.format not in LOSSLESS):
        named = arguments.format in RUNNABLE
        redacted = redact_recording(recording.frames, named=named)
        recording = replace(recording, frames=redacted.frames)
        options = replace(options, secrets=redacted.names)
        if redacted.names:
            to_stderr(_redaction_note(redacted.names, named=named))
    text = written(arguments.format, recording, options)
    if not arguments.output:
        raw_to_stdout(_shown(text.removesuffix("\n"), arguments.format))
        return 0
    return _deliver(text, arguments.output)


def written(form: str, recording: Recording, options: ExportOptions) -> str:
    """Write a recording in one of the formats."""
    module, _, function = FORMATS[form].writer.partition(".")
    write = getattr(importlib.import_module(f"humanmcp.export.{module}"), function)
    text: str = write(recording, options)
    return text


def _shown(text: str, form: str) -> str:
    """Return what is written to stdout: as it is, unless it could act on a terminal there."""
    if not is_terminal():
        return text
    return visible_json(text) if form in JSON else visible(text)


def _redaction_note(names: tuple[str, ...], *, named: bool) -> str:
    """Return how many values are not in what is written, and which ones what is run asks for."""
    if not named:
        return say("export", "redacted", count=len(names))
    return say("export", "redacted by name", count=len(names), names=", ".join(names))


def _deliver(text: str, output: str) -> int:
    try:
        write_whole(Path(output).expanduser(), text.encode("utf-8"))
    except OSError as error:
        to_stderr(say("export", "unwritable", file=output, why=trouble(error)))
        return FAILED
    to_stderr(say("export", "written", file=output))
    return 0
