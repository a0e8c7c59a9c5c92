"""A check that never raises: what went wrong in it is said as a problem.

A fault of ours must not cost a session, a text or an answer. So the functions that judge are
called through here, and what they could not judge is told under one code, X01, by whichever desk
asked. Knows no rule of MCP.
"""

from __future__ import annotations

from functools import wraps
from typing import TYPE_CHECKING, Final, ParamSpec

from humanmcp.protocol.diagnostics.kinds.rpc import CheckFailed
from humanmcp.protocol.diagnostics.model import Severity
from humanmcp.protocol.diagnostics.raw import shown
from humanmcp.protocol.diagnostics.verdict import Verdict
from humanmcp.protocol.json.escaping import wire_line

if TYPE_CHECKING:
    from collections.abc import Callable

    from humanmcp.protocol.diagnostics.model import Diagnostic

Given = ParamSpec("Given")

FAILED: Final = CheckFailed.code
"""The code of a problem that says that the check itself failed."""


def failure(error: BaseException, severity: Severity = Severity.ERROR) -> Diagnostic:
    """Return the problem that says that the check itself failed. The text is not to blame."""
    why = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    return CheckFailed(why=shown(why)).without_fix(severity).unplaced()


def failed(text: str, error: BaseException) -> Verdict:
    """Return the verdict on a text that could not be judged: it goes out as it is, or not at all.

    It blocks, since nothing is known of it, and nothing else may go out in its place.
    """
    return Verdict(text, None, wire_line(text), (failure(error),))


def judging(text_at: int) -> Callable[[Callable[Given, Verdict]], Callable[Given, Verdict]]:
    """Let a function that judges the text at this place of its arguments never raise."""

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
    """Let a function that speaks of what a peer sent never raise."""

    @wraps(remark)
    def remarked(*args: Given.args, **kwargs: Given.kwargs) -> tuple[Diagnostic, ...]:
        try:
            return remark(*args, **kwargs)
        except Exception as error:  # noqa: BLE001 - the message is shown all the same
            return (failure(error, Severity.WARNING),)

    return remarked
