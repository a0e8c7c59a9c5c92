"""`humanmcp hook`: what an agent starts for a permission prompt, and for each tool that has run.

JSON on stdin; the decision as JSON on stdout, and the exit status 0. There are many more tools that
have run than prompts (`asking.py`).
"""

from __future__ import annotations

import logging
import math
import time
from typing import TYPE_CHECKING, Final

from humanmcp.common.own_process import age, claim, log_to
from humanmcp.common.settings import add_flags, home_folder, make_home
from humanmcp.extensions.agents.printer import SECTION, Printer
from humanmcp.inbox import open_inbox
from humanmcp.inbox.inbox_session import Stamps
from humanmcp.locales import say
from humanmcp.locales.stop import StopError, sentence_of
from humanmcp.protocol.conversation.prompts import ENDED, LABELS, OVER, read_prompt
from humanmcp.protocol.json.jsonrpc import as_json
from humanmcp.protocol.json.undecoded import BEGINNING

if TYPE_CHECKING:
    import argparse

    from humanmcp.common.parsing import Parser
    from humanmcp.common.settings import Settings

logger = logging.getLogger(__name__)

LARGEST: Final = 64 * 1024 * 1024
"""The bytes of stdin that are read; more is no prompt that a person could look through."""
DEFAULT_LIMIT: Final = 590
"""Seconds: most agents end a hook after ten minutes where their entry says nothing else."""
CANNOT_HAND_BACK: Final = 1


def seconds(text: str) -> float:
    """Read a limit.

    Raises:
        ValueError: it is no time that passes.
    """
    found = float(text)
    if not (math.isfinite(found) and found >= 0):
        raise ValueError(text)
    return found


def add_arguments(parser: Parser) -> None:
    flag = parser.flags("hook", "help ")
    flag("--host", choices=tuple(LABELS), metavar="HOST", default="")
    flag("--event", metavar="EVENT", default="")
    flag("--limit", type=seconds, metavar="SECONDS", default=DEFAULT_LIMIT)
    add_flags(parser, "home", "inbox", "lang")


def cannot_start(arguments: argparse.Namespace, error: StopError) -> int:
    """Print what is safe where the settings cannot be read. Returns the exit status."""
    printer = _printer(arguments, 1)
    printer.lost(say(SECTION, "lost", why=error.sentence()))
    return printer.status


def _printer(arguments: argparse.Namespace, sink: int) -> Printer:
    """Return what knows the agent by the command line alone, as long as nothing was read."""
    deadline = time.monotonic() - age() + arguments.limit
    unread = read_prompt("", arguments.host, arguments.event)
    return Printer(unread, sink, deadline, arguments.limit)


def run(arguments: argparse.Namespace, settings: Settings) -> int:
    """Ask a person about the prompt on stdin. Returns the exit status."""
    source, sink = claim()
    printer = _printer(arguments, sink)
    printer.watch_limit()
    try:
        raw, text = _read(source)
        printer.prompt = read_prompt(text, arguments.host, arguments.event)
    except Exception:  # an agent must hear what is safe, whatever it wrote
        logger.exception("this should not happen; please report it")
        printer.lost(say(SECTION, "lost", why=say(SECTION, "fault")))
        return printer.status
    if printer.prompt.name in OVER | ENDED:
        return _note(printer, settings)
    from humanmcp.extensions.agents.asking import ask  # noqa: PLC0415 - not for a tool that has run

    return ask(printer, raw, text, settings)


def _note(printer: Printer, settings: Settings) -> int:
    """Take into account that a tool has run, or that a turn has ended."""
    event = printer.prompt
    from humanmcp.extensions.agents.guests import note_event  # noqa: PLC0415 - as above

    def tell(note: str) -> bool:
        said = {"hookEventName": event.name, "additionalContext": note}
        text = as_json({"hookSpecificOutput": said})
        return printer.print(text.encode("utf-8", "backslashreplace").decode())

    try:
        home = make_home(home_folder(settings.home))
        log_to(home)
        at = Stamps().at(time.time_ns() // 1_000_000)
        note_event(open_inbox(home, settings.inbox), event, at, tell)
    except (StopError, OSError) as error:
        from humanmcp.common.terminal import to_stderr  # noqa: PLC0415 - seldom wanted

        to_stderr("humanmcp: ", sentence_of(error))
        return CANNOT_HAND_BACK
    return 0


def _read(source: int) -> tuple[bytes, str]:
    """Return what came on stdin, and as text: one that no agent wrote so is no prompt either."""
    with open(source, "rb", closefd=False) as stream:
        raw = stream.read(LARGEST)
        is_whole = not stream.read(1)
    text = raw.decode("utf-8", "replace")
    if not is_whole:
        return raw, text[:BEGINNING]
    return raw, text if text.encode("utf-8", "replace") == raw else f"\ufffd{text}"
