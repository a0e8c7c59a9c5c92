"""`humanmcp play`: all four roles of MCP on one computer; people play any of them.

Starts the desk, prints a link for each person, and plays the other roles. This module is
above desk and host, so that neither knows the other.
"""

from __future__ import annotations

import contextlib
import os
import threading
from functools import partial
from typing import TYPE_CHECKING, Final, TypeAlias
from urllib.parse import quote

from humanmcp import launch
from humanmcp.common.settings import add_flags, home_folder
from humanmcp.common.terminal import Painted, to_stderr, to_stdout
from humanmcp.extensions.host.closing import undisturbed
from humanmcp.extensions.host.table import ROLES, Plan, Table
from humanmcp.inbox import open_inbox
from humanmcp.locales import say
from humanmcp.locales.stop import StopError, sentence_of, stopped

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable

    from humanmcp.common.parsing import Parser
    from humanmcp.common.settings import Settings
    from humanmcp.inbox.contract import Role

    Page: TypeAlias = Callable[[], launch.DeskFacts]

SECTION: Final = "play"
DEFAULT: Final = "model,server"


def add_arguments(parser: Parser) -> None:
    flag = parser.flags(SECTION, "help ")
    flag("--people", metavar="ROLES", default=DEFAULT, said={"default": DEFAULT})
    flag("--model", metavar="MODEL", default="")
    flag("--no-desk", action="store_true")
    add_flags(parser, "home", "port", "lang")


def run(arguments: argparse.Namespace, settings: Settings) -> int:
    """Play until the host ends. Returns the exit status."""
    with contextlib.ExitStack() as stack:
        home = home_folder(settings.home)
        plan = Plan(people_of(arguments.people), home, arguments.model)
        desk = stack.enter_context(launch.DeskOfCommand(home))
        table = Table(plan, open_inbox(home), stack)
        stack.callback(undisturbed(table.servers.close))
        page = None if arguments.no_desk else partial(desk.facts, settings.port)
        table.start(lambda: _seated(table, page))
        table.play()
        to_stdout(say(SECTION, "over"))
    return 0


def people_of(text: str) -> frozenset[Role]:
    """Parse the roles that people play.

    Raises:
        StopError: there is no such role.
    """
    names = {one.value: one for one in ROLES}
    wanted = [word.strip() for word in text.split(",") if word.strip() and text != "nobody"]
    if wanted == ["all"]:
        return frozenset(ROLES)
    unknown = [word for word in wanted if word not in names]
    if unknown:
        raise stopped(SECTION, "no such role", name=unknown[0], names=", ".join(names))
    return frozenset(names[word] for word in wanted)


def _seated(table: Table, page: Page | None) -> None:
    """Print the link of each role, and new links after each Enter: a link opens only once."""
    if _announce(table, page):
        to_stdout(say(SECTION, "again"))
        threading.Thread(target=_announce_again, args=(table, page), daemon=True).start()


def _announce_again(table: Table, page: Page | None) -> None:
    # Not `sys.stdin`: a thread that waits in it keeps the interpreter from ending.
    with contextlib.suppress(OSError):
        while os.read(0, 1024):
            _announce(table, page)


def _announce(table: Table, page: Page | None) -> bool:
    """Print the roles, and a link for each person. Return True if there are links.

    `page` finds or starts it; without that there is none.
    """
    links = _links(table, page) if page is not None and table.plan.people else {}
    for role in ROLES:
        if role not in table.plan.people:
            to_stdout(Painted(f"{role.value:>6}  ", "bold"), say(SECTION, "is played"))
            continue
        session = table.sessions.get(role, "")
        where = links.get(role) or say(SECTION, "in the session", session=session)
        to_stdout(Painted(f"{role.value:>6}  ", "bold"), where)
    return bool(links)


def _links(table: Table, page: Page) -> dict[Role, str]:
    """Make one address per person: each opens the desk once, for one role."""
    try:
        facts = page()
        return {
            role: f"{launch.login_address(facts, session)}&s={quote(session)}"
            for role, session in table.sessions.items()
            if role in table.plan.people
        }
    except (StopError, OSError) as error:
        to_stderr("humanmcp: ", sentence_of(error))
        return {}
