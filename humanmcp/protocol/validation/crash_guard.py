"""A check never raises: its own fault is a problem, which blocks sending and keeps the text."""

from __future__ import annotations

from functools import wraps
from typing import TYPE_CHECKING, ParamSpec

from humanmcp.protocol.diagnostics import kinds
from humanmcp.protocol.diagnostics.model import Severity, Verdict
from humanmcp.protocol.diagnostics.problem import shown
from humanmcp.protocol.json.jsonrpc import wire_line

if TYPE_CHECKING:
    from collections.abc import Callable

    from humanmcp.protocol.diagnostics.model import Diagnostic

Given = ParamSpec("Given")


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
        @wraps(judge)
        def judged(*args: Given.args, **kwargs: Given.kwargs) -> Verdict:
            try:
                return judge(*args, **kwargs)
            except Exception as error:  # noqa: BLE001 - whatever it is, the text is kept and told
                return failed(str(args[text_at]), error)

        return judged

    return of


def remarking(
    remark: Callable[Given, tuple[Diagnostic, ...]],
) -> Callable[Given, tuple[Diagnostic, ...]]:
    """Decorate a check of a peer's message so that it never raises."""

    @wraps(remark)
    def remarked(*args: Given.args, **kwargs: Given.kwargs) -> tuple[Diagnostic, ...]:
        try:
            return remark(*args, **kwargs)
        except Exception as error:  # noqa: BLE001 - the message is shown all the same
            return (failure(error, Severity.WARNING),)

    return remarked
