"""What can go wrong with a call, for those who do not make any themselves."""

from __future__ import annotations

from humanmcp.common.child import EndedError


class CallError(EndedError):
    """A message could not be brought to its address, or its answer not back."""

    room = "calling"


class SessionOverError(CallError):
    """The server no longer knows the session: a client begins anew."""
