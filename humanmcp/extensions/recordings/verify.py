"""`humanmcp verify`: find what was changed, left out or moved in a file of decisions."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

from humanmcp.answering.summary import sessions_named
from humanmcp.common.settings import add_flags, home_folder
from humanmcp.common.terminal import to_stderr, to_stdout
from humanmcp.inbox import open_inbox
from humanmcp.inbox.contract import InboxError
from humanmcp.locales import say
from humanmcp.locales.stop import trouble
from humanmcp.protocol.conversation.decisions import ChainEnd, DecisionFlaw, verify_decisions
from humanmcp.protocol.json.visible import one_line

if TYPE_CHECKING:
    import argparse

    from humanmcp.common.parsing import Parser
    from humanmcp.common.settings import Settings

SECTION: Final = "verify"
FAILED: Final = 1


def add_arguments(parser: Parser) -> None:
    flag = parser.flags(SECTION)
    add_flags(parser, "home", "inbox", "lang")
    flag("file", metavar="FILE")


def run(arguments: argparse.Namespace, settings: Settings) -> int:
    """Verify a file. Returns the exit status: 1 where something is wrong.

    The sessions that are in the inbox say how many records they have, and how the last one ends.
    """
    try:
        content = _content(arguments.file, settings)
    except OSError as error:
        to_stderr(say(SECTION, "not read", file=arguments.file, why=trouble(error)))
        return FAILED
    kept = _KeptRecords(settings)
    flaws = [*verify_decisions(content, kept.end_of), *kept.flaws]
    for flaw in flaws:
        session = one_line(flaw.session, 80)
        to_stdout(say(SECTION, flaw.code, line=flaw.line, number=flaw.number, session=session))
    if flaws:
        return FAILED
    lines = content.splitlines()
    to_stdout(say(SECTION, "whole", count=len(lines), digest=lines[-1][-66:-2].decode()))
    to_stdout(say(SECTION, "compared" if kept.compared else "not compared"))
    return 0


def _content(wanted: str, settings: Settings) -> bytes:
    """Read a file of decisions, or the decisions in a session.

    Raises:
        OSError: the file cannot be read.
    """
    home = home_folder(settings.home)
    if not Path(wanted).exists() and (settings.inbox or home.is_dir()):
        inbox = open_inbox(home, settings.inbox)
        found = sessions_named(inbox.sessions(), wanted)
        if len(found) == 1:
            frames = inbox.frames(found[0].name)
            return "".join(f"{one.decision}\n" for one in frames if one.decision).encode()
    return Path(wanted).read_bytes()


class _KeptRecords:
    """The records of the sessions that are in this inbox."""

    def __init__(self, settings: Settings) -> None:
        """Make no inbox where there is none."""
        home = home_folder(settings.home)
        has_inbox = bool(settings.inbox) or home.is_dir()
        self._inbox = open_inbox(home, settings.inbox) if has_inbox else None
        self.compared = False
        self.flaws: list[DecisionFlaw] = []
        """Sessions whose facts (`session.json`) contradict their transcript."""

    def end_of(self, session: str) -> ChainEnd | None:
        """Return the last record in the transcript of a session; None if it is not here."""
        try:
            if self._inbox is None:
                return None
            facts, frames = self._inbox.facts(session), self._inbox.frames(session)
        except InboxError:
            return None
        records = [one.decision for one in frames if one.decision]
        self.compared = True
        ends = [ChainEnd(0, "")]
        ends += [ChainEnd(at, one[-66:-2]) for at, one in enumerate(records, 1)]
        # The facts are written after the answer: a server that was killed between has one less.
        if ChainEnd(facts.decisions, facts.last_decision) not in ends[-2:]:
            self.flaws.append(DecisionFlaw("facts", 1, facts.decisions, session))
        return ends[-1]
