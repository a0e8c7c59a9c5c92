"""`humanmcp export`: write what was recorded of a session in another form."""

from __future__ import annotations

import shlex
from dataclasses import replace
from datetime import UTC
from pathlib import Path
from pkgutil import resolve_name
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from humanmcp import extensions
from humanmcp.common.person_files import write_whole
from humanmcp.common.settings import add_flags, home_folder
from humanmcp.common.terminal import is_terminal, raw_to_stdout, to_stderr
from humanmcp.export.recording import LAST, ExportOptions, find_recording, with_notes
from humanmcp.extensions import Format
from humanmcp.inbox.form_drafts import FormDrafts
from humanmcp.locales import say
from humanmcp.locales.stop import stopped, trouble
from humanmcp.protocol.json.removed import names_in
from humanmcp.protocol.json.visible import visible, visible_json
from humanmcp.protocol.validation.redaction import redact_recording

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable, Mapping

    from humanmcp.common.parsing import Parser
    from humanmcp.common.settings import Settings
    from humanmcp.export.recording import Recording


_READABLE: Final = "humanmcp.export.readable"
_OURS: Final = {
    "html": Format(f"{_READABLE}:write_html", "html"),
    "mermaid": Format(f"{_READABLE}:write_mermaid", "mmd"),
    "markdown": Format(f"{_READABLE}:write_markdown", "md"),
    "jsonl": Format(f"{_READABLE}:write_transcript", "jsonl", is_json=True),
    "decisions": Format(f"{_READABLE}:write_decisions", "jsonl", is_json=True),
    "log": Format(f"{_READABLE}:write_log", "log"),
    "pretty": Format(f"{_READABLE}:write_laid_out", "txt"),
}
FORMATS: Final[Mapping[str, Format]] = MappingProxyType({**_OURS, **extensions.formats(), **_OURS})
"""Every format, in the order of the page. No extension replaces one of ours."""


def add_arguments(parser: Parser) -> None:
    flag = parser.flags("export")
    add_flags(parser, "home", "inbox", "lang")
    flag("session", nargs="?", default=LAST, metavar="SESSION")
    flag("--format", choices=FORMATS, default="log", metavar="FORMAT")
    flag("-o", "--output", metavar="FILE")
    flag("--utc", action="store_true")
    flag("--server", metavar="COMMAND", default="")
    redact = parser.add_mutually_exclusive_group()
    flag("--redact", to=redact, dest="redact", action="store_true", default=True)
    flag("--no-redact", to=redact, dest="redact", action="store_false")


def run(arguments: argparse.Namespace, settings: Settings) -> int:
    """Write one session. Returns the exit status."""
    zone = UTC if arguments.utc else None
    options = ExportOptions(zone, tuple(shlex.split(arguments.server)))
    recording = find_recording(
        arguments.session, home_folder(settings.home), zone, inbox=settings.inbox
    )
    if recording.facts is not None:
        notes = FormDrafts(home_folder(settings.home)).notes(recording.name)
        recording = with_notes(recording, notes)
    form = FORMATS[arguments.format]
    recording, names = redacted(recording) if arguments.redact else (recording, ())
    text = written(form, recording, options)
    if not text.strip():
        to_stderr(say("export", "empty", what=recording.name, format=arguments.format))
    if arguments.output in (None, "", "-"):
        raw_to_stdout(_shown(text.removesuffix("\n"), form))
    else:
        _deliver(text, arguments.output)
    say_removed(names, text, by_name=form.is_program)
    return 0


def redacted(recording: Recording) -> tuple[Recording, tuple[str, ...]]:
    """Return a recording without its secrets, and a name for each of them."""
    found = redact_recording(recording.frames)
    return replace(recording, frames=found.frames), found.names


def written(form: Format, recording: Recording, options: ExportOptions) -> str:
    text: str = resolve_name(form.writer)(recording, options)
    return text


def exported(form: str, recording: Recording, keeps_secrets: bool) -> str:  # noqa: FBT001 - called apart, without names
    """Return a recording in a form, by its name; without its secrets, unless it keeps them."""
    left = recording if keeps_secrets else redacted(recording)[0]
    return written(FORMATS[form], left, ExportOptions())


def say_removed(names: Iterable[str], text: str, *, by_name: bool = False) -> None:
    """Say how many of the removed values would stand in a text; a program asks for them by name.

    Markdown has a backslash before each bracket.
    """
    left = sorted({*names}.intersection(names_in(text.replace("\\", ""))))
    if left:
        sentence = "redacted by name" if by_name else "redacted"
        to_stderr(say("export", sentence, count=len(left), names=", ".join(left)))


def _shown(text: str, form: Format) -> str:
    """Make control characters visible if stdout is a terminal."""
    if not is_terminal():
        return text
    return visible_json(text) if form.is_json else visible(text)


def _deliver(text: str, output: str) -> None:
    """Write the output file.

    Raises:
        StopError: it cannot be written.
    """
    try:
        write_whole(Path(output).expanduser(), text.encode("utf-8"))
    except OSError as error:
        raise stopped("export", "unwritable", file=output, why=trouble(error)) from error
    to_stderr(say("export", "written", file=output))
