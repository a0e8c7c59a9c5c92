"""The moments of a desk that others hear, and what they bring to its pages.

A desk knows none of its listeners. An extension names classes in `desks`, and each desk has one
listener of each, made with the desk's folder. Who opens desks for several people gives each of
them a listener of its own. All are told what happened; the first that has an answer is asked no
further: who writes, what a draft is called, what is shown beside a message.
"""

from __future__ import annotations

import enum
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from markupsafe import Markup

if TYPE_CHECKING:
    from collections.abc import Sequence

    from starlette.requests import Request

    from humanmcp.inbox.contract import Inbox, Key, SessionFacts
    from humanmcp.protocol.diagnostics.model import Diagnostic


class Press(enum.Enum):
    """What the press of Send did with a text that was checked."""

    NONE = "none"
    """Nobody pressed it: somebody is typing."""
    STOPPED = "stopped"
    SENT = "sent"


class Panel(NamedTuple):
    """What a listener shows about a session: above its open request, and once it has ended."""

    open: Markup
    ended: Markup = Markup()


class Place(NamedTuple):
    """A link in the bar of each page. How many are `waiting` there stands beside it."""

    address: str
    title: str
    waiting: int = 0


class Around(NamedTuple):
    """Where a desk is that an extension hosts, as each of its pages shows it."""

    title: str
    """Names what is `shown`, for a screen reader."""
    kind: str = ""
    """What the extension's styles know it by."""
    shown: Markup = Markup()
    home: str = "/"
    """Where the name of the program leads."""
    places: tuple[Place, ...] = ()
    has_inbox: bool = True
    """The bar leads to inbox and history."""
    has_places: bool = True
    """The bar leads anywhere."""
    is_own: bool = False
    """The visitor's own: their browser finds it again, and a new request opens by itself."""
    looks_on: bool = False
    """Somebody else writes here. When that changes, the page loads again."""
    is_disabled: bool = False
    """Nothing of this page can be pressed."""
    follows: bool = False
    """What is shown is also followed on a page without a list."""
    invites: str = ""
    """Stands above the waiting requests."""
    led: str = ""
    """Why a request was answered for the visitor, and what leads them on; "" for nobody's act."""
    goes_on: str = ""
    aside: str = ""
    """Stands above a request that waits until something else is over (`Board.is_aside`)."""
    more: Any = None
    """What the extension's own templates need."""


class Listener:
    """Hears the moments of a desk. Each method that it does not define does nothing."""

    IS_HOSTED: ClassVar = False
    """The desk is for somebody who does not own this computer: it shows no folders of it."""
    STARTS: ClassVar = False
    """`try_now` starts something."""
    author: str = ""
    """Who writes what the desk sends; "" for the person at a desk of their own."""
    watches: bool = False
    """The pages tell when somebody looks at them (`looked`)."""

    def begin(self, desk: Any) -> None:  # noqa: ANN401 - the `Desk`, which knows its listeners
        """Hear that the desk is served from now on."""

    def end(self) -> None:
        """Hear that it is served no more."""

    def looked(self) -> None:
        """Hear that somebody looks at a page."""

    def notes(self, key: Key) -> Sequence[str]:
        """Return sentences to show beside an exchange."""
        del key
        return ()

    def judged(self, key: Key, diagnostics: Sequence[Diagnostic], press: Press) -> None:
        """Hear the problems of an answer, and what the press of Send did."""

    def draft_saved(self) -> None:
        """Hear that somebody typed."""

    def try_now(self, language: str, *, helps: bool) -> None:
        """Start something that sends a first request to this desk, and `helps` its person or not.

        Raises:
            OSError: it cannot be started.
        """

    def draft_name(self, key: Key) -> str:
        """Name the draft of an exchange in a browser: those of one name ask for the same answer."""
        del key
        return ""

    def practises(self, client: str) -> bool:
        """Return True for a client that waits for as long as a person likes."""
        del client
        return False

    def around(self, request: Request) -> Around | None:
        """Return what each page of the desk shows of where it is; None for nothing."""
        del request
        return None

    def shown(self, place: str) -> Markup:
        """Return what to show at a place of a page.

        They are "connect", how a host is connected, "guests", where agents ask and none waits, and
        "nothing yet", where no host is connected: with its own heading, or nothing.
        """
        del place
        return Markup()

    def panel(self, inbox: Inbox, request: Request, facts: SessionFacts) -> Panel | None:
        """Return what to show about a session: that of the open request, or the newest one."""
        del inbox, request, facts
        return None
