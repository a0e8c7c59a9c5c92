"""The names in the inbox folder, and which names count as ours.

Knows no file system: `docs/reference/folder.md` describes what stands here, name by name.
"""

from __future__ import annotations

import re
from typing import Final

from humanmcp.protocol.conversation.exchange import ExchangeState

# -- in the home ------------------------------------------------------------------------------
SESSIONS: Final = "sessions"
"""Holds a folder for each session."""
TEMPORARY: Final = "tmp"
"""Where files are written before they get their name. Outside of `sessions`, which is watched."""
LEARNED: Final = "learned.json"
"""How long clients were seen to wait before they gave up."""
CALL_LIMITS: Final = "limits.json"
"""How long clients wait for a call, as a person has set it."""
GRACE: Final = "grace.json"
"""How long the opening messages of clients may wait for a person, as a person has set it."""
LETTERS: Final = "letters"
"""Which session has which letter."""
HELD_OPENING: Final = "opening.held"
"""It is there while people want to open every session themselves."""

# -- in a session's folder --------------------------------------------------------------------
SESSION: Final = "session.json"
KNOWN: Final = "known.json"
LETTER: Final = "letter.json"
LOCK: Final = "session.lock"
BELL: Final = "bell"
"""A FIFO: a desk that sends something rings there."""
TRANSCRIPT: Final = "transcript.jsonl"
FORWARDED: Final = "{}.forwarded.jsonl"
"""What grows beside a recording that is played with its server behind it: the transcript."""
IN_TEXT: Final = "in.txt"
OUT_TEXT: Final = "out.txt"
PROBLEMS_TEXT: Final = "problems.txt"
STATUS_TEXT: Final = "status.txt"
SENT: Final = "sent"
"""The texts of `out.txt` that were sent."""
OUTBOX: Final = "outbox"
HOLDS: Final = "holds.json"
PENDING: Final = ExchangeState.PENDING.value
STATES: Final = tuple(state.value for state in ExchangeState)
"""The folders of exchanges: where an exchange lies is its state."""

# -- in an exchange's folder ------------------------------------------------------------------
REQUEST: Final = "request.json"
WAIT: Final = "wait.json"
DRAFT: Final = "draft.json"
OLD_DRAFT: Final = "draft.old.json"
PROBLEMS: Final = "problems.json"
REPLY: Final = "reply.json"
ANSWER: Final = "answer.json"
KEPT: Final = "kept-{}.json"
TORN: Final = "torn-{}.json"

# -- in the outbox ----------------------------------------------------------------------------
OUTGOING: Final = "{}.json"
RESULT: Final = "{}.result.json"

NAMES: Final = (
    *(
        SESSIONS,
        SESSION,
        KNOWN,
        LOCK,
        BELL,
        TRANSCRIPT,
        IN_TEXT,
        OUT_TEXT,
        PROBLEMS_TEXT,
        STATUS_TEXT,
    ),
    *(LEARNED, CALL_LIMITS, GRACE, HELD_OPENING, LETTERS, LETTER),
    *(OUTBOX, HOLDS, TEMPORARY, *STATES),
    FORWARDED.format(TRANSCRIPT),
    *(REQUEST, WAIT, DRAFT, OLD_DRAFT),
    *(PROBLEMS, REPLY, ANSWER),
    *(KEPT.format("1"), TORN.format("1"), OUTGOING.format("0001"), RESULT.format("0001")),
)
"""Every name, with an example where a number is part of it. The manual lists the same ones."""

FORMAT: Final = 1
"""The number of this layout. It stands in each `session.json`; readers skip what is newer."""

# Neither a dot nor a slash: no name leads out of the folder. Windows keeps some names for devices.
_SESSION_NAME: Final = re.compile(
    r"(?!(?:con|prn|aux|nul|com\d|lpt\d)\Z)[0-9A-Za-z][0-9A-Za-z_-]{0,63}", re.IGNORECASE
)
_NUMBER: Final = re.compile(r"[0-9]{4,12}", re.ASCII)
_KEPT_NAME: Final = re.compile(r"kept-([0-9]{1,6})\.json", re.ASCII)
_LETTER_NAME: Final = re.compile(r"([0-9]{4,9})\.json", re.ASCII)
_OUTGOING_NAME: Final = re.compile(r"([0-9]{4,12})\.json", re.ASCII)


def session_name(stamp: str, suffix: str) -> str:
    """Name a session by the second it began in (20261120T184907Z) and four random digits."""
    return f"{stamp}-{suffix}"


def is_session_name(name: str) -> bool:
    """Return True if a session may have this name."""
    return _SESSION_NAME.fullmatch(name) is not None


def exchange_name(number: int) -> str:
    """Name the folder of an exchange: 3 is `0003`."""
    return f"{number:04d}"


def exchange_number(name: str) -> int | None:
    """Return the number of an exchange's folder; None when the name is no such number."""
    return int(name) if _NUMBER.fullmatch(name) and name == exchange_name(int(name)) else None


def kept_number(name: str) -> int | None:
    """Return the 2 of `kept-2.json`; None for any other name."""
    found = _KEPT_NAME.fullmatch(name)
    return int(found[1]) if found else None


def letter_name(rank: int) -> str:
    """Name the file of a letter: by its number from 1, since Windows takes no `con.json`."""
    return f"{rank + 1:04d}.json"


def letter_rank(name: str) -> int | None:
    """Return the rank of the letter that a file is for; None when it is for none."""
    found = _LETTER_NAME.fullmatch(name)
    return int(found[1]) - 1 if found else None


def ticket_of(name: str) -> str | None:
    """Return the ticket that a file of the outbox belongs to; None when it is no saying."""
    found = _OUTGOING_NAME.fullmatch(name)
    return found[1] if found else None


def is_ticket(text: str) -> bool:
    """Return True if a ticket may look like this."""
    return _NUMBER.fullmatch(text) is not None
