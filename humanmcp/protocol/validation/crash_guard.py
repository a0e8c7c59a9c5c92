"""A check never raises: its own fault is a problem, which blocks sending and keeps the text.

Nothing is collected during a check: it makes no cycles, and a collection walks through all values
of the text, again and again (a third of the time of a check of 4 MB, in which no thread continues).
"""

from __future__ import annotations

import gc
from contextlib import contextmanager
from functools import wraps
from typing import TYPE_CHECKING, ParamSpec, TypeVar

from humanmcp.protocol.diagnostics import kinds
from humanmcp.protocol.diagnostics.model import Severity, Verdict
from humanmcp.protocol.diagnostics.problem import shown
from humanmcp.protocol.json.jsonrpc import wire_line

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from humanmcp.protocol.diagnostics.model import Diagnostic

Given = ParamSpec("Given")
Result = TypeVar("Result")


def failure(error: BaseException, severity: Severity = Severity.ERROR) -> Diagnostic:
    """Return the problem that the check itself failed; the text is not the cause."""
    why = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    return kinds.check_failed(why=shown(why)).without_fix(severity).unplaced()


def failed(text: str, error: BaseException) -> Verdict:
    """Return the verdict on a text that could not be checked.

    It blocks sending, because nothing is known about the text; **Send anyway** sends it unchanged.
    """
    return Verdict(text, None, wire_line(text), (failure(error),))


def judging(text_at: int) -> Callable[[Callable[Given, Verdict]], Callable[Given, Verdict]]:
    """Decorate a check so that it never raises; `text_at` is the index of its text argument."""

    def of(judge: Callable[Given, Verdict]) -> Callable[Given, Verdict]:
        # whatever it is, the text is kept and told
        return _guarded(judge, lambda error, args: failed(str(args[text_at]), error))

    return of


def remarking(
    remark: Callable[Given, tuple[Diagnostic, ...]],
) -> Callable[Given, tuple[Diagnostic, ...]]:
    """Decorate a check of a peer's message so that it never raises: the message is shown anyway."""
    return _guarded(remark, lambda error, _args: (failure(error, Severity.WARNING),))


@contextmanager
def without_collection() -> Iterator[None]:
    """Collect nothing in this block, also if it is within another one.

    Who switches it off switches it on again, and nobody else does either: so it is on after blocks
    of several threads.
    """
    collects = gc.isenabled()
    if collects:
        gc.disable()
    try:
        yield
    finally:
        if collects:
            gc.enable()


def _guarded(
    function: Callable[Given, Result],
    otherwise: Callable[[Exception, tuple[object, ...]], Result],
) -> Callable[Given, Result]:
    """Return a function that collects nothing, and returns something else where it failed."""

    @wraps(function)
    def guarded(*args: Given.args, **kwargs: Given.kwargs) -> Result:
        try:
            with without_collection():
                return function(*args, **kwargs)
        except Exception as error:  # noqa: BLE001 - see `otherwise`
            return otherwise(error, args)

    return guarded
