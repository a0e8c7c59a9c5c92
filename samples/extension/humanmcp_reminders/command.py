"""`humanmcp waiting`: how many requests wait for a person, and for how long."""

from __future__ import annotations

from typing import TYPE_CHECKING

from humanmcp.common.settings import add_flags, home_folder
from humanmcp.common.terminal import to_stdout
from humanmcp.common.timestamps import seconds_of
from humanmcp.inbox import open_inbox
from humanmcp.locales import say
from humanmcp.server.journal import Clock

if TYPE_CHECKING:
    import argparse

    from humanmcp.common.parsing import Parser
    from humanmcp.common.settings import Settings
    from humanmcp.inbox.contract import DeskInbox


def add_arguments(parser: Parser) -> None:
    add_flags(parser, "home", "inbox", "lang")


def run(_arguments: argparse.Namespace, settings: Settings) -> int:
    """Print one line. Returns the exit status."""
    minutes = waiting(open_inbox(home_folder(settings.home), settings.inbox))
    to_stdout(say("reminders", "waiting", count=len(minutes), minutes=max(minutes, default=0)))
    return 0


def waiting(inbox: DeskInbox) -> list[int]:
    """Return for how many whole minutes each request has waited."""
    now = seconds_of(Clock().stamp())
    open_sessions = (one for one in inbox.sessions() if one.is_open)
    items = (item for one in open_sessions for item in inbox.items(one.name))
    return [int(now - seconds_of(item.arrived)) // 60 for item in items]
