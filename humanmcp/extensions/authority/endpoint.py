"""`serve --http --oauth`: lets requests of MCP in with a token, and answers the steps to one.

A layer around the application of the address. Without `--oauth` there is none.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Final

from humanmcp.common.settings import Setting
from humanmcp.locales.stop import stopped

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Self

    from starlette.types import ASGIApp

    from humanmcp.inbox.attendant import Attendant
    from humanmcp.inbox.contract import Inbox
    from humanmcp.protocol.http.inbound import HttpAddress
    from humanmcp.server.serve import ServerParts

OAUTH: Final = "oauth"


class Authority:
    """The authority of an address."""

    SETTINGS: ClassVar = (Setting(OAUTH, default=False, section=OAUTH),)

    def __init__(self, parts: ServerParts, inbox: Inbox, address: HttpAddress) -> None:
        self._parts, self._inbox, self._address = parts, inbox, address

    @classmethod
    def of(cls, parts: ServerParts, inbox: Inbox, address: HttpAddress) -> Self | None:
        """Return the authority if it is wanted.

        Raises:
            StopError: it does not go with the other flags.
        """
        if not parts.options.added.get(OAUTH):
            return None
        if address.key:
            raise stopped(OAUTH, "with key")
        if address.is_open or any(not one.startswith("https://") for one in address.outside):
            raise stopped(OAUTH, "not https")
        return cls(parts, inbox, address)

    def begin(self, attendant: Attendant) -> Callable[[ASGIApp], ASGIApp]:
        """Begin the session. Return the layer around the application."""
        from humanmcp.extensions.authority.layer import AuthorityLayer  # noqa: PLC0415 - over HTTP alone
        from humanmcp.extensions.authority.session import AuthoritySession  # noqa: PLC0415 - as above

        kept = self._parts.home / OAUTH / f"{self._address.at}.json"
        title = self._parts.title or f"OAuth {self._address.port}"
        session = AuthoritySession(self._inbox, kept, title, self._parts.options.notify)
        if session.is_lost:
            from humanmcp.locales import say  # noqa: PLC0415 - seldom

            self._parts.options.tell_stderr(say(OAUTH, "lost", file=kept))
        attendant.attend(session)
        return lambda app: AuthorityLayer(app, session, self._address)
