"""`humanmcp hook`: what an agent starts for a permission prompt, and for each tool that has run.

JSON on stdin; the decision as JSON on stdout, and the exit status 0. A prompt needs the server
(`asking.py`). A tool that has run does not, and there are many more of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from humanmcp.common.own_process import claim, log_to
from humanmcp.common.settings import add_flags, home_folder, make_home
from humanmcp.hook.events import ENDED, LABELS, OVER, read_prompt
from humanmcp.hook.handing_back import hand_back
from humanmcp.inbox import open_inbox
from humanmcp.locales.stop import StopError, sentence_of

if TYPE_CHECKING:
    import argparse

    from humanmcp.common.parsing import Parser
    from humanmcp.common.settings import Settings
    from humanmcp.hook.events import HookPrompt

LARGEST: Final = 64 * 1024 * 1024
"""The bytes of stdin that are read; more is no prompt that a person could look through."""
DEFAULT_LIMIT: Final = 590
"""Seconds: most agents end a hook after ten minutes where their entry says nothing else."""
CANNOT_HAND_BACK: Final = 1


def add_arguments(parser: Parser) -> None:
    flag = parser.flags("hook", "help ")
    flag("--host", choices=tuple(LABELS), metavar="HOST", default="")
    flag("--event", metavar="EVENT", default="")
    flag("--limit", type=float, metavar="SECONDS", default=DEFAULT_LIMIT)
    add_flags(parser, "home", "inbox", "book", "notify", "lang")


def run(arguments: argparse.Namespace, settings: Settings) -> int:
    """Ask a person about the prompt on stdin. Returns the exit status."""
    source, sink = claim()
    prompt = read_prompt(_read(source), arguments.host, arguments.event)
    if prompt.name in OVER | ENDED:
        return _hand_back(prompt, settings)
    from humanmcp.hook.asking import ask  # noqa: PLC0415 - a tool that has run does not pay for it

    return ask(prompt, sink, arguments.limit, settings)


def _hand_back(prompt: HookPrompt, settings: Settings) -> int:
    try:
        home = make_home(home_folder(settings.home))
        log_to(home)
        hand_back(open_inbox(home, settings.inbox), prompt)
    except (StopError, OSError) as error:
        from humanmcp.common.terminal import to_stderr  # noqa: PLC0415 - seldom wanted

        to_stderr("humanmcp: ", sentence_of(error))
        return CANNOT_HAND_BACK
    return 0


def _read(source: int) -> str:
    """Return what came on stdin, up to the largest prompt."""
    with open(source, "rb", closefd=False) as stream:
        return stream.read(LARGEST).decode("utf-8", "replace")
