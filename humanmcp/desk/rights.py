"""Who may do what: one table of every page, call and button of the desk.

An extension's page has a table of its own, `RIGHTS`, beside its functions. A site that an extension
serves may tell its visitors apart by a flag of its own, in the place of `Who`: `state["role"]` of a
request has it.

Theory of operation. `DeskRoute` asks this table before a request reaches its function. A route
without an entry does not start, and an act without an entry is refused: nothing is allowed because
somebody forgot it. An act is what a form says in `act` (or a body in another member); a "*" stands
for the rest of its words. The guard says who asks, or the site of an extension does.
"""

from __future__ import annotations

import enum
import operator
from functools import reduce
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
    HOSTED = enum.auto()
    """At a desk that an extension hosts for somebody, such as a seat of a room."""
    ONLOOKER = enum.auto()
    """Sees when the state of such a desk changes, and can do nothing there."""
    VISITOR = enum.auto()
    """Is known to an extension's site, and has no desk there."""


OWN: Final = Who.OWNER | Who.SCRIPT
HERE: Final = OWN | Who.ONE_SESSION
DESKS: Final = HERE | Who.HOSTED
"""Who has a desk: with its rules and its server definition."""
ANSWERING: Final = DESKS | Who.DEVICE
ALL: Final = ~Who(0)

BUTTONS: Final = 64 * 1024
TEXT: Final = 8 * 1024 * 1024
"""Bytes of the largest body with a text: a photo of 4 MB, encoded for a form."""
OWN_TEXT: Final = 32 * 1024 * 1024
"""The same from the owner of the computer: a line of 16 MiB, quoted as JSON."""
_NO_ACTS: Final[Mapping[str, enum.Flag]] = MappingProxyType({})


class Entry(NamedTuple):
    """Who may use a route, and for a form or a body with acts, who may do each of them."""

    who: enum.Flag
    acts: Mapping[str, enum.Flag] = _NO_ACTS
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

    def allowed(self, act: str) -> enum.Flag | None:
        """Return who may do an act; None if the table does not know it."""
        if act in self.acts:
            return self.acts[act]
        word, *rest = act.split(" ", 1)
        return self.acts.get(f"{word} *") if rest else None

    def largest(self, who: Who) -> int:
        """Return how many bytes a body may have."""
        return OWN_TEXT if self.most > BUTTONS and who & HERE else self.most


def read(who: enum.Flag, *paths: str) -> dict[str, Entry]:
    """Return the entries of pages and calls that only read."""
    return {f"GET {path}": Entry(who, writes=False) for path in paths}


def write(who: enum.Flag, *paths: str, most: int = BUTTONS) -> dict[str, Entry]:
    """Return the entries of routes that write, with bodies of at most so many bytes."""
    return {f"POST {path}": Entry(who, most=most) for path in paths}


def acts(  # noqa: PLR0913 - an entry
    path: str,
    allowed_acts: Mapping[str, enum.Flag],
    *,
    member: str = "act",
    default: str = "",
    most: int = BUTTONS,
    writes: bool = True,
) -> dict[str, Entry]:
    """Return the entry of a route with acts: who may do any of them may use it."""
    who = reduce(operator.or_, allowed_acts.values())
    return {f"POST {path}": Entry(who, allowed_acts, member, default, most, writes)}


def each(who: enum.Flag, *names: str) -> dict[str, enum.Flag]:
    """Return acts that the same visitors may do."""
    return dict.fromkeys(names, who)


TABLE: Final[Mapping[str, Entry]] = MappingProxyType({
    # Without a login.
    **read(ALL, "/login", "/offline", "/favicon.ico"),
    **read(ALL, "/static/~{kept}/{name:path}", "/static/{name:path}"),
    "POST /login": Entry(ALL, writes=False),
    "POST /api/login": Entry(ALL, writes=False),
    # Reading.
    **read(ANSWERING, "/", "/list", "/history", "/compare", "/line/{name}/{seq}"),
    **read(ANSWERING, "/timeline/{name}", "/check/{name}"),
    **read(ANSWERING, "/m/{name}/{number}", "/m/{name}/{number}/line"),
    **read(ANSWERING, "/m/{name}/{number}/status", "/m/{name}/{number}/ask"),
    **read(ANSWERING, "/media/{name}/{where}/{number}/{at}", "/mistake/{code}", "/say/{name}"),
    **read(ANSWERING, "/api/sessions", "/api/sessions/{session}/reactions"),
    **read(ANSWERING, "/api/sessions/{session}/schema", "/api/sessions/{session}/lines/{seq}"),
    **read(ANSWERING, "/api/sessions/{session}/say/{ticket}", "/api/exchanges"),
    **read(ANSWERING, "/api/exchanges/{session}/{number}"),
    **read(ANSWERING, "/api/exchanges/{session}/{number}/last"),
    **read(ANSWERING, "/api/exchanges/{session}/{number}/schema"),
    **read(ANSWERING, "/api/history", "/api/calls", "/api/answers"),
    **read(ANSWERING | Who.ONLOOKER, "/api/state", "/api/events"),
    **read(DESKS, "/present", "/export/{name}", "/connect", "/api/openapi.json"),
    **read(Who.DEVICE | HERE, "/worker.js", "/manifest.webmanifest"),
    # Answering.
    **acts(
        "/m/{name}/{number}",
        {
            **each(ANSWERING, "send", "allow", "deny", "change", "change json", "answers"),
            **each(ANSWERING, "hand back"),
            **each(ANSWERING, "let go", "drop", "pause", "park", "status"),
            **each(DESKS, "like", "take back"),  # rules of the session
            **each(DESKS, "progress on", "progress off", "forget"),
        },
        default="send",
        most=TEXT,
    ),
    **acts(
        "/m/{name}/{number}/ask",
        each(ANSWERING, "send", "json", "anyway"),
        default="send",
        most=TEXT,
    ),
    **acts(
        "/say/{name}",
        {
            **each(ANSWERING, "send", "json", "anyway"),
            **each(DESKS, "raw", "silence on", "silence off", "progress on", "progress off"),
            **each(DESKS, "exit *", "crash"),
        },
        default="send",
        most=TEXT,
    ),
    **acts(
        "/api/sessions/{session}/say",
        {
            **each(ANSWERING, "say"),
            **each(DESKS, "raw", "progress", "silence", "definition", "exit", "crash", "http"),
            **each(DESKS, "park", "status", "extension"),
        },
        member="order",
        default="say",
        most=TEXT,
    ),
    "POST /api/exchanges/{session}/{number}/check": Entry(ANSWERING, most=TEXT, writes=False),
    "POST /api/recordings": Entry(OWN, most=TEXT, is_file=True),
    **write(ANSWERING, "/api/exchanges/{session}/{number}/autofix", most=TEXT),
    **write(ANSWERING, "/api/exchanges/{session}/{number}/draft", most=TEXT),
    **write(ANSWERING, "/api/exchanges/{session}/{number}/reply", "/api/drafts", most=TEXT),
    **write(ANSWERING, "/api/exchanges/{session}/{number}/writer"),
    **write(DESKS, "/api/exchanges/{session}/{number}/fault", most=TEXT),
    **write(ANSWERING, "/api/sessions/{session}/complete"),
    **acts("/line/{name}/{seq}", each(DESKS, "note", "remove"), default="note"),
    # One's own browser.
    "POST /preferences": Entry(~Who.STRANGER, writes=False),
    **write(ANSWERING, "/api/looking"),
    **write(HERE | Who.DEVICE, "/logout"),
    **write(DESKS, "/api/answers", most=TEXT),
    # The computer of the desk.
    **read(HERE, "/settings"),
    **read(OWN, "/devices"),
    **write(OWN, "/settings", "/settings/clients", "/devices"),
    **write(Who.SCRIPT, "/api/login-key"),  # no key outlives the login that made it
    # Starting something to try, and who answers the handshake.
    **acts("/handshake", each(OWN | Who.HOSTED, "hand", "book")),
    **write(OWN | Who.HOSTED, "/try"),
})  # fmt: skip

PUBLIC: Final = frozenset(
    key.partition(" ")[2]
    for key, one in TABLE.items()
    if Who.STRANGER in one.who and "{" not in key
)
"""The paths that need no login, for logging in. The files under /static/ are public, too."""
