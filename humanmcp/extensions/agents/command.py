"""`humanmcp hook`: what an agent starts for a permission prompt, and for each tool that has run.

JSON on stdin; the decision as JSON on stdout, and the exit status 0. There are many more tools that
have run than prompts (`asking.py`).
"""

from __future__ import annotations

import logging
import math
import time
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Final

from humanmcp.common.own_process import age, claim, log_to
from humanmcp.common.settings import add_flags, home_folder, make_home
from humanmcp.extensions.agents.printer import SECTION, Printer
from humanmcp.inbox import open_inbox
from humanmcp.inbox.inbox_session import Stamps
from humanmcp.locales import say
from humanmcp.locales.stop import StopError, sentence_of
from humanmcp.protocol.conversation.prompts import ENDED, LABELS, OVER, json_object, read_prompt
from humanmcp.protocol.json.jsonrpc import as_json
from humanmcp.protocol.json.undecoded import BEGINNING

if TYPE_CHECKING:
    import argparse
    from pathlib import Path

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


def run(arguments: argparse.Namespace, settings: Settings | StopError) -> int:
    """Ask a person about the prompt on stdin. Returns the exit status.

    With the error instead of the settings, they cannot be read: it prints what is safe.
    """
    source, sink = claim()
    deadline = time.monotonic() - age() + arguments.limit
    unread = read_prompt("", arguments.host, arguments.event)
    printer = Printer(unread, sink, deadline, arguments.limit)
    printer.watch_limit()
    try:
        raw, text = _read(source)
        printer.prompt = read_prompt(text, arguments.host, arguments.event)
        inbox = open_inbox(*_place(settings))
        if _decides(printer):
            from humanmcp.extensions.agents import asking  # noqa: PLC0415 - see the head

            asking.PromptWaiting(inbox, printer, raw, text).run()
            printer.lost(say(SECTION, "ended"))  # unless something was printed
        else:
            from humanmcp.extensions.agents import guests  # noqa: PLC0415 - no prompt waits for it

            at = Stamps().at(time.time_ns() // 1_000_000)
            guests.note_event(inbox, printer.prompt, at, partial(_tell, printer))
    except Exception as error:  # noqa: BLE001 - an agent must hear what is safe, whatever is wrong
        return _failed(printer, settings, error)
    return printer.status if _decides(printer) else 0


cannot_start: Final = run
"""What the command line calls where the settings cannot be read."""


def _decides(printer: Printer) -> bool:
    """Return True unless the event tells what is over. Nothing runs by that, and it waits."""
    return printer.prompt.name not in OVER | ENDED


def _failed(printer: Printer, settings: Settings | StopError, error: Exception) -> int:
    """End a hook that an error has ended: with what is safe, or quietly. Returns the exit status.

    What decides is denied, or asked by the agent; what was not read may decide.
    """
    is_known = isinstance(error, StopError | OSError)
    if not is_known:
        with suppress(Exception):  # no log: what is safe is printed in any case
            _place(settings)  # opens it
            logger.error("this should not happen; please report it", exc_info=error)
    why = sentence_of(error) if is_known else say(SECTION, "fault")
    if _decides(printer):
        printer.lost(say(SECTION, "lost", why=why))
        return printer.status
    if is_known:
        from humanmcp.common.terminal import to_stderr  # noqa: PLC0415 - seldom wanted

        to_stderr("humanmcp: ", why)
    return CANNOT_HAND_BACK if is_known else 0


def _place(settings: Settings | StopError) -> tuple[Path, str]:
    """Open the log. Return the folder of the inbox, and the address of its database or "".

    Raises:
        StopError: the settings cannot be read, or the folder cannot be used.
        OSError: the log cannot be written.
    """
    if isinstance(settings, StopError):
        raise settings
    home = make_home(home_folder(settings.home))
    log_to(home)
    return home, settings.inbox


def _tell(printer: Printer, note: str) -> bool:
    """Print a note to the agent. Return True if it has it."""
    said = {"hookEventName": printer.prompt.name, "additionalContext": note}
    return printer.print(json_object({"hookSpecificOutput": as_json(said)}))


def _read(source: int) -> tuple[bytes, str]:
    """Return what came on stdin, and as text: one that no agent wrote so is no prompt either."""
    with open(source, "rb", closefd=False) as stream:
        raw = stream.read(LARGEST)
        is_whole = not stream.read(1)
    text = raw.decode("utf-8", "replace")
    if not is_whole:
        return raw, text[:BEGINNING]
    return raw, text if text.encode("utf-8", "replace") == raw else f"\ufffd{text}"
