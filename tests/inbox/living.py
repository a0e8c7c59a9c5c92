"""Programs that the tests start as real processes, to kill them or to let them race.

`python -m tests.inbox.living server HOME` delivers and records until it is killed, and says what it
was told is done. `desk HOME SESSION` saves and sends. `race HOME SESSION NAME` sends one reply for
each number it reads.
"""

import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from humanmcp.inbox.contract import Answer, Draft, Key, Reply, SessionFacts, TakenError
from humanmcp.inbox.folder import FolderInbox
from humanmcp.protocol.conversation.stages import ExchangeState
from tests.inbox.contract import AT, frame_of, item_of


def say(*words: object) -> None:
    """Acknowledge something to the test."""
    sys.stderr.write(" ".join(map(str, words)) + "\n")
    sys.stderr.flush()


def server(home: str) -> None:
    """Deliver, record, answer every other reply and refuse the rest, for ever."""
    inbox = FolderInbox(Path(home))
    session = inbox.begin_session(SessionFacts("", AT))
    say("session", session)
    number = 0
    while True:
        number += 1
        inbox.record(session, frame_of(number, number=number))
        say("recorded", number)
        inbox.deliver(item_of(session, number))
        say("delivered", number)
        for key, reply in inbox.take_replies(session):
            if key.number % 2:
                inbox.refuse(key, [])
            else:
                inbox.close(key, ExchangeState.ANSWERED, Answer(reply.text, "desk", AT))
                say("answered", key.number)


def desk(home: str, session: str) -> None:
    """Save a draft for each exchange and then send another text, for ever."""
    inbox = FolderInbox(Path(home))
    seen: set[int] = set()
    while True:
        for item in inbox.items(session):
            if item.key.number in seen:
                continue
            seen.add(item.key.number)
            inbox.save(item.key, Draft(f"draft {item.key.number}", touched=True))
            say("typed", item.key.number, f"draft {item.key.number}")
            try:
                inbox.send(item.key, Reply(f"reply {item.key.number}"))
            except TakenError:
                say("taken", item.key.number)
            say("typed", item.key.number, f"reply {item.key.number}")


def race(home: str, session: str, name: str) -> None:
    """Send a reply for each number that comes in, at once."""
    inbox = FolderInbox(Path(home))
    say("ready")
    for line in sys.stdin:
        try:
            inbox.send(Key(session, int(line)), Reply(name, by=name))
        except TakenError as error:
            say("lost", error.by)
        else:
            say("won")


PROGRAMS: Final[Mapping[str, Callable[..., None]]] = {"server": server, "desk": desk, "race": race}

if __name__ == "__main__":
    PROGRAMS[sys.argv[1]](*sys.argv[2:])
