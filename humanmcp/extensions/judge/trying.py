"""Try all faults: the next calls of a served session are each answered wrongly, in another way.

The server of the session plays them (`tried_faults.py`). What the client then did is read from
the transcript: an order of a person begins, ends, or tells what the client showed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from humanmcp.common.timestamps import seconds_of
from humanmcp.extensions.judge.playing import KEPT, Event
from humanmcp.extensions.judge.running import Run
from humanmcp.extensions.judge.server_faults import RIGHT, WRONG, ServerFault, server_faults
from humanmcp.extensions.judge.verdicts import Verdict, verdict
from humanmcp.protocol.conversation.transcript import ON_PURPOSE, SPOKEN

if TYPE_CHECKING:
    from collections.abc import Iterable

    from humanmcp.inbox.contract import SessionFacts
    from humanmcp.protocol.conversation.exchange import NegotiatedState
    from humanmcp.protocol.conversation.transcript import Frame

BY: Final = "faults"
ORDER: Final = "faults"
"""The first word of the orders of people: `on`, `off`, `shown NAME LETTER`."""
SHOWN: Final = {"r": RIGHT, "w": WRONG, "e": "error", "n": ""}
"""What the client showed, by the letter that a person chooses."""
_RULE: Final = f"{BY}: rule "
_ORDERED: Final = f"{ON_PURPOSE}{ORDER} "
_GOOD: Final = Run([], None, output=RIGHT)


def by(row: ServerFault) -> str:
    """Return the author of a wrong answer in the transcript."""
    return f"{_RULE}{row.name}"


def to_try(facts: SessionFacts, negotiated: NegotiatedState) -> list[ServerFault]:
    """Return what can be wrong in the one answer to a call of this session, without waiting."""
    fitting = []
    for row in server_faults().values():
        lines = [step.get("line", "") for step in row.steps]
        is_one_answer = bool(lines) and all(step.keys() <= {"line", "right"} for step in row.steps)
        is_long = any("«" in line for line in lines)
        is_here = row.transport != "http"
        if facts.http.port and lines:  # a line is one event, and one with a method ends no stream
            is_here = is_here and "\n" not in "".join(lines) and '"method"' not in lines[-1]
        if (
            row.method == "tools/call"
            and is_one_answer
            and is_here
            and not (is_long or row.structured or row.nth or row.unanswered)
            and row.version in ("", facts.protocol_version)
            and row.declares not in negotiated.client_capabilities
        ):
            fitting.append(row)
    return fitting


def tried(frames: Iterable[Frame]) -> tuple[list[Verdict], bool]:
    """Return what the client did with each fault so far, and whether more are to come."""
    runs: dict[str, Run] = {}
    run: Run | None = None
    is_on = False
    for frame in frames:
        if frame.note.startswith(_ORDERED):
            word, *rest = frame.note.removeprefix(_ORDERED).split(" ")
            if word == "on":
                runs, run = {}, None
            elif word == "shown" and rest[0] in runs:
                runs[rest[0]].output = SHOWN[rest[1]]
            is_on = is_on if word == "shown" else word == "on"
        is_odd = frame.by.startswith(_RULE)
        if is_odd:
            run = runs.setdefault(frame.by.removeprefix(_RULE), Run([], None, output=None))
        if run is not None and frame.direction in SPOKEN:
            what = "odd" if is_odd else frame.direction.value
            run.ended_at = seconds_of(frame.at)
            run.events.append(Event(run.ended_at, what, frame.text[: KEPT["in"]]))
    rows = server_faults()
    return [verdict(rows[name], one, _GOOD) for name, one in runs.items() if name in rows], is_on
