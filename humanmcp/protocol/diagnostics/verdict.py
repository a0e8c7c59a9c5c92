"""What goes into a check and what comes out of it: the form of a text, and the verdict on it.

Many problems of one kind come out as one: 33 of M12, at the place of the first of them.
"""

from __future__ import annotations

import enum
import re
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

from humanmcp.protocol.diagnostics.model import Applicability, Fix, blocking, least, together

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable

    from humanmcp.protocol.diagnostics.model import Diagnostic
    from humanmcp.protocol.json.jsonrpc import Kind


class TextForm(enum.Enum):
    """What a person's text stands for. Everything but MESSAGE gets its envelope from us."""

    MESSAGE = "message"
    """A whole JSON-RPC response, or just `{"result": …}` or `{"error": …}`."""
    RESULT = "result"
    """What belongs after `"result":`."""
    ERROR = "error"
    """What belongs after `"error":`."""
    TEXT = "text"
    """Plain text for a tool call: becomes one text item in `content`."""
    TOOL_ERROR = "tool error"
    """The same with `"isError": true`: the model reads why the tool failed."""


class Verdict(NamedTuple):
    """What the check says of a text.

    `line` is the one line to send, without its line feed; None when an error blocks it.
    `forced` is the one line that **Send anyway** writes; None only when there is nothing to write.
    `kind` says whether `line` (or `forced`) is a result or an error, or something of the person's
    own; None where the text is too broken to tell.
    `text` is the text the offsets of the problems and fixes count in: the text as typed, decoded.
    """

    text: str
    line: str | None
    forced: str | None
    diagnostics: tuple[Diagnostic, ...] = ()
    kind: Kind | None = None

    @property
    def sendable(self) -> bool:
        """Return True if nothing blocks sending."""
        return self.line is not None

    @property
    def errors(self) -> tuple[Diagnostic, ...]:
        """Return the problems that block sending."""
        return blocking(self.diagnostics)


# -- many problems of one kind --------------------------------------------------------------------

FEW: Final = 3
"""Problems that say the same of several places and are still shown one by one."""
MOST: Final = 10
"""Problems of one code that are shown one by one, whatever they say; the others are one."""

_INDEX: Final = re.compile(r"\[\d+\]")

_Kind: TypeAlias = "tuple[Hashable, ...]"


def grouped(diagnostics: Iterable[Diagnostic]) -> tuple[Diagnostic, ...]:
    """Return problems, in their order, with those that say the same as one."""
    diagnostics = tuple(diagnostics)
    if len(diagnostics) <= FEW:
        return diagnostics
    same = _joined(diagnostics, _alike, FEW)
    return _joined(same, lambda one: (one.code, one.severity), MOST, keep=True)


def _alike(one: Diagnostic) -> _Kind:
    """Return what two problems share that differ only in the item of a list they are about."""
    detail = tuple((name, _INDEX.sub("[]", text)) for name, text in one.detail)
    return (one.code, one.severity, detail)


def _joined(
    diagnostics: tuple[Diagnostic, ...],
    kind: Callable[[Diagnostic], _Kind],
    most: int,
    *,
    keep: bool = False,
) -> tuple[Diagnostic, ...]:
    """Join the problems of each kind of which there are more than `most`.

    With `keep` the first of them stay as they are, and the last that is shown stands for the rest,
    whatever these say: its fix is its own.
    """
    groups: dict[_Kind, list[int]] = {}
    for at, diagnostic in enumerate(diagnostics):
        groups.setdefault(kind(diagnostic), []).append(at)
    shown: dict[int, Diagnostic] = dict(enumerate(diagnostics))
    for places in groups.values():
        if len(places) > most:
            first, *others = places[most - 1 :] if keep else places
            joined = [shown.pop(at) for at in others]
            shown[first] = _as_one([shown[first], *joined], own_fix=keep)
    return tuple(shown.values())


def _as_one(group: list[Diagnostic], *, own_fix: bool) -> Diagnostic:
    times = sum(one.times for one in group)
    first = group[0]
    if own_fix or first.fix is None or any(one.fix is None for one in group):
        return first._replace(times=times)
    fixes = [one.fix for one in group if one.fix is not None]
    grade = least(*(fix.applicability for fix in fixes)) if fixes else Applicability.SAFE
    return first._replace(times=times, fix=Fix(tuple(together(group)), first.fix.label, grade))
