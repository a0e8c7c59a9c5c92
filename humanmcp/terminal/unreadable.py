"""What a client sent that cannot be read: how many lines, and the last of them explained.

Such a line is no exchange and waits for nothing, so it has no number: it is named by its session.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from humanmcp.answering.schema.exchanges import unreadable_shape
from humanmcp.answering.unreadable import why_unreadable
from humanmcp.common.terminal import Painted, is_terminal, json_to_stdout, raw_to_stdout, to_stdout
from humanmcp.locales import describe as sentence
from humanmcp.locales import say
from humanmcp.locales.stop import stopped
from humanmcp.terminal.choose import choose_session
from humanmcp.terminal.inbox import asker_of, unreadable_in

if TYPE_CHECKING:
    import argparse

    from humanmcp.inbox.contract import DeskInbox, SessionFacts
    from humanmcp.protocol.conversation.transcript import Frame

ROOM: Final = "show"


def show_unreadable(inbox: DeskInbox, arguments: argparse.Namespace, language: str) -> None:
    """Show the last line of a session that could not be read, and why.

    Raises:
        ChoiceError: there is no such session, or there are several.
        StopError: there is no such line.
    """
    facts = choose_session(inbox, arguments.number)
    frame = _last(inbox, facts)
    if arguments.json:
        json_to_stdout(unreadable_shape(facts, frame, why_unreadable(frame), language))
    elif arguments.raw:
        (to_stdout if is_terminal() else raw_to_stdout)(frame.text)
    else:
        _print(facts, frame, language)


def _last(inbox: DeskInbox, facts: SessionFacts) -> Frame:
    found = (
        inbox.last_frames_before(facts.name, facts.unreadable_at + 1, 1) if facts.unreadable else ()
    )
    if not found:
        raise stopped(ROOM, "all readable", letter=facts.letter)
    return found[0]


def _print(facts: SessionFacts, frame: Frame, language: str) -> None:
    who = asker_of(facts, language)
    to_stdout(Painted(unreadable_in(facts, language), "bold"))
    to_stdout(Painted(say(ROOM, "last unreadable", language, who=who, at=frame.at), "dim"))
    for line in _reasons(frame, language):
        to_stdout("  " + line)
    to_stdout("", "\n", Painted(say(ROOM, "message", language), "bold"))
    to_stdout("  " + frame.text)
    to_stdout("", "\n", Painted(say(ROOM, "next unreadable", language), "dim"))


def _reasons(frame: Frame, language: str) -> list[str]:
    return (
        [frame.note] if frame.note else [sentence(one, language) for one in why_unreadable(frame)]
    )
