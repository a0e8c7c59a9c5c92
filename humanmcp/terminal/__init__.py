"""The person at a terminal: list what waits, read it, answer it, check an answer."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, TypeAlias

from humanmcp.common.settings import UnsafeFolderError
from humanmcp.common.terminal import to_stderr
from humanmcp.inbox.contract import InboxError
from humanmcp.locales.stop import REFUSED, USAGE_ERROR, StopError

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable

    from humanmcp.common.settings import Settings

    Command: TypeAlias = Callable[[argparse.Namespace, Settings], int]


def command(run: Command) -> Command:
    """Make a command of a function that may raise `StopError`.

    Its error is printed as one sentence, and becomes the exit status: 1 if the inbox refuses, 2
    if the command line cannot be done.
    """

    @functools.wraps(run)
    def stopped(arguments: argparse.Namespace, settings: Settings) -> int:
        try:
            return run(arguments, settings)
        except StopError as error:
            to_stderr(error.sentence())
            return REFUSED if isinstance(error, (InboxError, UnsafeFolderError)) else USAGE_ERROR

    return stopped
