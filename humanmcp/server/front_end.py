"""A capability where people answer in the process that speaks to the client, as in text files."""

from __future__ import annotations

import math

from humanmcp.server.moments import Capability


class FrontEnd(Capability):
    """Where people answer, and where the session looks in the very step that would have to answer.

    Other front ends submit to the inbox.
    """

    def is_open(self) -> bool:
        """Whether people can answer there; not after `probed` until it is `shown`."""
        return True

    def hello(self) -> str:
        """Return where to answer, in lines for stderr. Called once, when no line comes any more."""
        return ""

    def next(self) -> float:
        """Return when to look for what people have written."""
        return math.inf

    def look_for_answers(self, now: float, *, is_last: bool) -> None:
        """Send what people have written, if a look is due or `is_last`: a rule may answer next."""

    def tells_at(self, quiet_at: float) -> float:  # noqa: ARG002 - as above
        """Return when to `tell`. At `quiet_at` no line has come for a moment."""
        return math.inf

    def tell(self) -> None:
        """Show people what has become of each message."""
