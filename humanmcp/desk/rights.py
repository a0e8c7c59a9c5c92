"""Who may do what: one table of every page, call and button of the desk and of a room.

Theory of operation. `DeskRoute` asks this table before a request reaches its function. A route
without an entry does not start, and an act without an entry is refused: nothing is allowed because
somebody forgot it. An act is what a form says in `act` (or a body in another member); a "*" stands
for the rest of its words. The guard says who asks, in a room the visitor's key does.
"""

from __future__ import annotations

import enum
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping


class Who(enum.Flag):
    """Who asks."""

    STRANGER = enum.auto()
    """Nobody has logged in."""
    OWNER = enum.auto()
    """A browser of this computer."""
    SCRIPT = enum.auto()
    """A program of this computer, with the token."""
    ONE_SESSION = enum.auto()
    """A browser of this computer that sees one session only."""
    DEVICE = enum.auto()
    """A phone or another computer with the link of a device."""
    TEACHER = enum.auto()
    """The teacher of a room, at their own desk."""
    WATCHER = enum.auto()
    """The teacher, at a learner's seat."""
    LEARNER = enum.auto()
    GUEST = enum.auto()
    """The projector of a room."""
    KNOCKER = enum.auto()
    """Waits at the door of a room."""


OWN: Final = Who.OWNER | Who.SCRIPT
HERE: Final = OWN | Who.ONE_SESSION
SEATS: Final = Who.TEACHER | Who.WATCHER | Who.LEARNER
DESKS: Final = HERE | SEATS
"""Who has a desk: with its rules, its server definition and its taps."""
ANSWERING: Final = DESKS | Who.DEVICE
ALL: Final = ~Who(0)

BUTTONS: Final = 64 * 1024
TEXT: Final = 8 * 1024 * 1024
"""Bytes of the largest body with a text: a photo of 4 MB, encoded for a form."""
OWN_TEXT: Final = 32 * 1024 * 1024
"""The same from the owner of the computer: a line of 16 MiB, quoted as JSON."""
_NO_ACTS: Final[Mapping[str, Who]] = MappingProxyType({})


class Entry(NamedTuple):
    """Who may use a route, and for a form or a body with acts, who may do each of them."""

    who: Who
    acts: Mapping[str, Who] = _NO_ACTS
    member: str = "act"
    """The member that names the act."""
    default: str = ""
    """The act of a form that names none."""
    most: int = BUTTONS
    """The largest body of anybody but the owner, in bytes."""
    writes: bool = True
    """Whether it has to wait while somebody else writes at this seat."""
    is_file: bool = False
    """The body is a file: neither a form nor JSON."""

    def allowed(self, act: str) -> Who | None:
        """Return who may do an act; None if the table does not know it."""
        if act in self.acts:
            return self.acts[act]
        word, *rest = act.split(" ", 1)
        return self.acts.get(f"{word} *") if rest else None

    def largest(self, who: Who) -> int:
        """Return how many bytes a body may have."""
        return OWN_TEXT if self.most > BUTTONS and who & HERE else self.most


def _read(who: Who, *paths: str) -> dict[str, Entry]:
    return {f"GET {path}": Entry(who, writes=False) for path in paths}


def _write(who: Who, *paths: str, most: int = BUTTONS) -> dict[str, Entry]:
    return {f"POST {path}": Entry(who, most=most) for path in paths}


def _acts(  # noqa: PLR0913 - an entry
    path: str,
    acts: Mapping[str, Who],
    *,
    member: str = "act",
    default: str = "",
    most: int = BUTTONS,
    writes: bool = True,
) -> dict[str, Entry]:
    """Return the entry of a route with acts: who may do any of them may use it."""
    who = Who(0)
    for each in acts.values():
        who |= each
    return {f"POST {path}": Entry(who, acts, member, default, most, writes)}


def _each(who: Who, *acts: str) -> dict[str, Who]:
    return dict.fromkeys(acts, who)


TABLE: Final[Mapping[str, Entry]] = MappingProxyType({
    # Without a login.
    **_read(ALL, "/login", "/offline", "/favicon.ico"),
    **_read(ALL, "/static/~{kept}/{name:path}", "/static/{name:path}"),
    "POST /login": Entry(ALL, writes=False),
    "POST /api/login": Entry(ALL, writes=False),
    # Reading.
    **_read(ANSWERING, "/", "/list", "/history", "/compare", "/taps", "/line/{name}/{seq}"),
    **_read(ANSWERING, "/timeline/{name}", "/check/{name}"),
    **_read(ANSWERING, "/m/{name}/{number}", "/m/{name}/{number}/line"),
    **_read(ANSWERING, "/m/{name}/{number}/status", "/m/{name}/{number}/ask"),
    **_read(ANSWERING, "/media/{name}/{where}/{number}/{at}", "/mistake/{code}", "/say/{name}"),
    **_read(ANSWERING, "/api/sessions", "/api/sessions/{session}/reactions"),
    **_read(ANSWERING, "/api/sessions/{session}/schema", "/api/sessions/{session}/lines/{seq}"),
    **_read(ANSWERING, "/api/sessions/{session}/say/{ticket}", "/api/exchanges"),
    **_read(ANSWERING, "/api/exchanges/{session}/{number}"),
    **_read(ANSWERING, "/api/exchanges/{session}/{number}/last"),
    **_read(ANSWERING, "/api/exchanges/{session}/{number}/schema"),
    **_read(ANSWERING, "/api/history", "/api/calls", "/api/answers"),
    **_read(ANSWERING | Who.GUEST, "/api/state", "/api/events"),
    **_read(DESKS, "/faults/{name}"),
    **_read(DESKS, "/present", "/export/{name}", "/connect", "/api/openapi.json"),
    **_read(Who.DEVICE | HERE, "/worker.js", "/manifest.webmanifest"),
    # Answering.
    **_acts(
        "/m/{name}/{number}",
        {
            **_each(ANSWERING, "send", "allow", "deny", "change", "change json", "answers"),
            **_each(ANSWERING, "hand back"),
            **_each(ANSWERING, "let go", "drop", "pause", "park", "status"),
            **_each(DESKS, "like", "take back"),  # rules of the session
            **_each(DESKS, "progress on", "progress off", "design *", "forget"),
        },
        default="send",
        most=TEXT,
    ),
    **_acts(
        "/m/{name}/{number}/ask",
        _each(ANSWERING, "send", "json", "anyway"),
        default="send",
        most=TEXT,
    ),
    **_acts(
        "/say/{name}",
        {
            **_each(ANSWERING, "send", "json", "anyway"),
            **_each(DESKS, "raw", "silence on", "silence off", "progress on", "progress off"),
            **_each(DESKS, "exit *", "crash"),
        },
        default="send",
        most=TEXT,
    ),
    **_acts("/faults/{name}", _each(DESKS, "on", "off", "shown *")),
    **_acts(
        "/api/sessions/{session}/say",
        {
            **_each(ANSWERING, "say"),
            **_each(DESKS, "raw", "progress", "silence", "definition", "exit", "crash", "http"),
            **_each(DESKS, "park", "status", "faults"),
        },
        member="order",
        default="say",
        most=TEXT,
    ),
    "POST /api/exchanges/{session}/{number}/check": Entry(ANSWERING, most=TEXT, writes=False),
    "POST /api/recordings": Entry(OWN, most=TEXT, is_file=True),
    **_write(ANSWERING, "/api/exchanges/{session}/{number}/autofix", most=TEXT),
    **_write(ANSWERING, "/api/exchanges/{session}/{number}/draft", most=TEXT),
    **_write(ANSWERING, "/api/exchanges/{session}/{number}/reply", "/api/drafts", most=TEXT),
    **_write(ANSWERING, "/api/exchanges/{session}/{number}/writer"),
    **_write(DESKS, "/api/exchanges/{session}/{number}/fault", most=TEXT),
    **_write(ANSWERING, "/api/sessions/{session}/complete"),
    **_acts("/line/{name}/{seq}", _each(DESKS, "note", "remove"), default="note"),
    # One's own browser.
    "POST /preferences": Entry(~Who.STRANGER, writes=False),
    **_write(ANSWERING, "/api/looking"),
    **_write(HERE | Who.DEVICE, "/logout"),
    # Rules, saved answers, the server definition, what taps hold.
    **_read(DESKS, "/book", "/m/{name}/{number}/keep", "/server", "/server/entry"),
    **_acts(
        "/book",
        {
            **_each(DESKS, "forget *", "bring back", "undo", "up", "down", "remove", "change"),
            **_each(DESKS, "on", "off", "be pasted"),
            **_each(OWN, "be started", "be cancelled"),  # a program of this computer
        },
        most=TEXT,
    ),
    **_acts(
        "/m/{name}/{number}/keep",
        _each(DESKS, "answer", "rule", "look"),
        default="look",
        most=TEXT,
    ),
    **_acts("/server", _each(DESKS, "remove", "list", "undo"), most=TEXT),
    **_acts(
        "/server/entry",
        _each(DESKS, "put", "anyway", "keep", "look", "more", "json", "rows"),
        default="look",
        most=TEXT,
    ),
    **_acts("/taps/{name}", _each(DESKS, "release", "hold"), default="hold"),
    **_write(DESKS, "/api/answers", "/api/rules", most=TEXT),
    # The computer of the desk.
    **_read(HERE, "/settings"),
    **_read(OWN, "/devices"),
    **_write(OWN, "/settings", "/settings/clients", "/settings/notices", "/devices"),
    **_write(Who.SCRIPT, "/api/login-key"),  # no key outlives the login that made it
    # Starting something to try, and who answers the handshake: in a room, of the own seat.
    **_acts("/handshake", _each(OWN | SEATS, "hand", "book")),
    **_write(OWN | SEATS, "/try"),
    # The room.
    **_read(Who.TEACHER, "/room", "/room/seat/{number}", "/room/mistake/{code}"),
    **_read(Who.TEACHER, "/room/export.zip", "/room/seats.csv"),
    **_read(Who.GUEST | SEATS, "/wall"),
    **_read(Who.KNOCKER | SEATS, "/waiting"),
    **_read(SEATS, "/own"),
    **_write(Who.LEARNER, "/check", most=TEXT),
    **_acts(
        "/room",
        {
            **_each(Who.TEACHER, "door", "let in", "let all in", "send away", "hint", "lower"),
            **_each(Who.TEACHER, "wall", "names", "freeze", "step", "lesson", "remove"),
            **_each(Who.TEACHER, "remove idle", "reset", "count down", "add lesson"),
        },
        most=TEXT,
    ),
    **_acts(
        "/own",
        {
            **_each(Who.LEARNER, "raise", "hint read", "lesson", "begin", "hand in", "take back"),
            **_each(Who.LEARNER | Who.WATCHER, "lower"),
            **_each(Who.WATCHER, "take", "give back"),
        },
        writes=False,
    ),
})  # fmt: skip

PUBLIC: Final = frozenset(
    key.partition(" ")[2]
    for key, one in TABLE.items()
    if Who.STRANGER in one.who and "{" not in key
)
"""The paths that need no login, for logging in. The files under /static/ are public, too."""
