"""Whether what is said of a request's progress can be said: MCP's three rules of progress.

The token is one that an open request gave, the value rises with each notification, and nothing
follows the answer. Each direction has its own `Progress`.
"""

from __future__ import annotations

import math
from collections import OrderedDict
from typing import TYPE_CHECKING, Final, TypeGuard

from humanmcp.protocol.diagnostics.kinds.rpc import ProgressFell, TokenUnknown
from humanmcp.protocol.diagnostics.raw import RawDiagnostic, json_text, quoted
from humanmcp.protocol.json.jsonrpc import RequestId

if TYPE_CHECKING:
    from humanmcp.protocol.json.jsonrpc import Json, Message

METHOD: Final = "notifications/progress"
MOST_OPEN: Final = 4096
"""Tokens that are remembered; of more than that the oldest is forgotten."""


class Progress:
    """The tokens that one side's open requests gave, and what the other side said of each."""

    def __init__(self) -> None:
        self._last: OrderedDict[tuple[str, str | int | float], float | None] = OrderedDict()
        self._taken_over: set[tuple[str, str | int | float]] = set()

    def copy(self) -> Progress:
        """Return another one that knows the same, and goes its own way from here."""
        other = Progress()
        other._last = self._last.copy()
        other._taken_over = self._taken_over.copy()
        return other

    def asked(self, request: Message) -> None:
        """Count a request as open."""
        key = _key(request.meta.get("progressToken"))
        if key is None:
            return
        self._last[key] = None
        if len(self._last) > MOST_OPEN:
            self._last.popitem(last=False)

    def over(self, request: Message) -> None:
        """Count a request as over: nothing may be said of it any more."""
        key = _key(request.meta.get("progressToken"))
        if key is not None:
            self._last.pop(key, None)
            self._taken_over.discard(key)

    def mark_manual(self, notice: Message) -> None:
        """Remember that a person sends the progress of a request themselves from here on."""
        key = _key(notice.params.get("progressToken")) if notice.method == METHOD else None
        if key is not None and key in self._last:
            self._taken_over.add(key)

    def is_taken_over(self, request: Message) -> bool:
        """Return True if a person sends the progress of this request themselves."""
        return _key(request.meta.get("progressToken")) in self._taken_over

    def last(self, request: Message) -> float:
        """Return what was said last of a request; 0 if nothing was."""
        key = _key(request.meta.get("progressToken"))
        return (self._last.get(key) if key is not None else None) or 0

    def judge(self, params: Json) -> list[RawDiagnostic]:
        """Return what is wrong with the parameters of a progress notification, but for their shape.

        MCP, progress: "Progress notifications MUST only reference tokens that: Were provided in
        an active request"; "The `progress` value MUST increase with each notification".
        """
        if not isinstance(params, dict):
            return []
        token, value = params.get("progressToken"), params.get("progress")
        key = _key(token)
        if key is None:
            return []
        if key not in self._last:
            return [TokenUnknown(("params", "progressToken"), token=quoted(token))]
        before = self._last[key]
        if not _is_number(value) or before is None or value > before:
            return []
        written = json_text(before), json_text(value)
        return [ProgressFell(("params", "progress"), before=written[0], now=written[1])]

    def hear(self, notice: Message) -> tuple[RawDiagnostic, ...]:
        """Judge and remember a notification; one that is not about progress says nothing here."""
        if notice.method != METHOD:
            return ()
        found = tuple(self.judge(notice.params))
        key, value = _key(notice.params.get("progressToken")), notice.params.get("progress")
        if key is not None and key in self._last and _is_number(value):
            before = self._last[key]
            self._last[key] = value if before is None else max(before, value)
        return found


def _key(token: Json) -> tuple[str, str | int | float] | None:
    """Return what tells tokens apart; None for what is no token. `7` and `"7"` are two."""
    if isinstance(token, bool) or not isinstance(token, (str, int)):
        return None
    return RequestId("", token).key


def _is_number(value: Json) -> TypeGuard[int | float]:
    """Return True for a finite number: `true` is none, nor is 1e999, which overflows."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return False
    return isinstance(value, int) or math.isfinite(value)
