"""`humanmcp play`: all four roles of MCP on one computer; people play any of them.

Starts the desk, prints a link for each person, and plays the other roles. This module is
above desk and host, so that neither knows the other.
"""

from __future__ import annotations

import contextlib
import os
import threading
from typing import TYPE_CHECKING, Final
from urllib.parse import quote

from humanmcp.common.own_process import in_order, undisturbed
from humanmcp.common.settings import add_flags, home_folder
from humanmcp.common.terminal import Painted, to_stderr, to_stdout
from humanmcp.host.table import ROLES, Plan, Table
from humanmcp.inbox import open_inbox
from humanmcp.inbox.contract import Life, Role
from humanmcp.locales import say
from humanmcp.locales.stop import USAGE_ERROR, StopError, sentence_of

if TYPE_CHECKING:
    import argparse
    from pathlib import Path

    from humanmcp.common.parsing import Parser
    from humanmcp.common.settings import Settings

SECTION: Final = "play"
DEFAULT: Final = "model,server"


class PlayError(StopError):
    """The roles cannot be played."""

    section = SECTION
    status = USAGE_ERROR


def add_arguments(parser: Parser) -> None:
    """Add the arguments of this command."""
    flag = parser.flags(SECTION, "help ")
    flag("--people", metavar="ROLES", default=DEFAULT, said={"default": DEFAULT})
    flag("--model", metavar="MODEL", default="")
    flag("--no-desk", action="store_true")
    add_flags(parser, "home", "port", "lang")


def run(arguments: argparse.Namespace, settings: Settings) -> int:
    """Play until the host ends. Returns the exit status."""
    with in_order(), contextlib.ExitStack() as stack:
        home = home_folder(settings.home)
        plan = Plan(people_of(arguments.people), home, arguments.model)
        if not arguments.no_desk and plan.people:
            _end_desk_with(stack, home)
        table = Table(plan, open_inbox(home), stack)
        stack.callback(undisturbed(table.servers.close))
        port = None if arguments.no_desk else settings.port
        table.start(lambda: _seated(table, port))
        table.play()
        to_stdout(say(SECTION, "over"))
    return 0


def people_of(text: str) -> frozenset[Role]:
    """Parse the roles that people play.

    Raises:
        PlayError: there is no such role.
    """
    names = {one.value: one for one in ROLES}
    wanted = [word.strip() for word in text.split(",") if word.strip() and text != "nobody"]
    if wanted == ["all"]:
        return frozenset(ROLES)
    unknown = [word for word in wanted if word not in names]
    if unknown:
        raise PlayError("no such role", name=unknown[0], names=", ".join(names))
    return frozenset(names[word] for word in wanted)


def _seated(table: Table, port: int | None) -> None:
    """Print the link of each role, and new links after each Enter: a link opens only once."""
    if _announce(table, port):
        to_stdout(say(SECTION, "again"))
        threading.Thread(target=_announce_again, args=(table, port), daemon=True).start()


def _announce_again(table: Table, port: int | None) -> None:
    # Not `sys.stdin`: a thread that waits in it keeps the interpreter from ending.
    with contextlib.suppress(OSError):
        while os.read(0, 1024):
            _announce(table, port)


def _announce(table: Table, port: int | None) -> bool:
    """Print the roles, and a link for each person. Return True if there are links.

    Without a port there is no page.
    """
    links = {} if port is None or not table.plan.people else _links(table.plan.home, table, port)
    for role in ROLES:
        if role not in table.plan.people:
            to_stdout(Painted(f"{role.value:>6}  ", "bold"), say(SECTION, "is played"))
            continue
        session = table.sessions.get(role, "")
        where = links.get(role) or say(SECTION, "in the session", session=session)
        to_stdout(Painted(f"{role.value:>6}  ", "bold"), where)
    return bool(links)


def _end_desk_with(stack: contextlib.ExitStack, home: Path) -> None:
    """Stop the desk that was started here, after Ctrl-C. At the regular end it keeps running.

    A desk that ran before keeps running, and so does one in use for another session.
    """
    from humanmcp.desk import launch  # noqa: PLC0415 - only where a page is wanted

    def end(kind: type[BaseException] | None, *_: object) -> None:
        others = any(one.life is Life.OPEN for one in open_inbox(home).sessions())
        if kind is not None and not others:
            undisturbed(lambda: launch.end(home))()

    if launch.find(home) is None:
        stack.push(end)


def _links(home: Path, table: Table, port: int) -> dict[Role, str]:
    """Make one address per person: each opens the desk once, for one role."""
    from humanmcp.desk import launch  # noqa: PLC0415 - only where a page is wanted

    try:
        launch.find_or_start(str(home), open_browser=False, port=port)
        facts = launch.wait_for_facts(home_folder(str(home)))
        if facts is None:
            return {}
        return {
            role: f"{launch.login_address(facts, session)}&s={quote(session)}"
            for role, session in table.sessions.items()
            if role in table.plan.people
        }
    except (launch.NoDeskError, OSError) as error:
        to_stderr("humanmcp: ", sentence_of(error))
        return {}
