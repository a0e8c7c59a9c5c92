"""What counts as passed in a step of a lesson, by what a good host made of the answer.

Knows no session and no time: what the host heard since it said the step's message comes in.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from humanmcp.demo.good_host import Answered, Failed, Ignored, WasAsked
from humanmcp.protocol.json.tree import at

if TYPE_CHECKING:
    from collections.abc import Sequence

    from humanmcp.demo.good_host import Reaction
    from humanmcp.protocol.json.jsonrpc import JsonObject

RESULT: Final = "result"
ERROR: Final = "error"
TOOL_ERROR: Final = "isError"
NOTHING: Final = "none"
ANSWERS: Final = (RESULT, ERROR, TOOL_ERROR, NOTHING)
LATE: Final = "late"
WRONG: Final = "wrong"
SURVIVED: Final = (LATE, WRONG)
_MISSING: Final = object()


@dataclass(frozen=True, slots=True)
class Passing:
    """What an answer needs to pass; without anything, that the check finds no error in it."""

    answer: str = ""
    """One of `ANSWERS`; "" for a result or an error."""
    at: str = ""
    """A pointer into the answer (RFC 6901) to something that must be there."""
    value: Any = None
    """What must stand there; None: anything."""
    picked: tuple[str, ...] | None = None
    """The scripted model must find a tool that speaks of one of these words."""
    asked: str = ""
    """What the server must have asked the host before."""
    survives: str = ""
    """One of `SURVIVED`: what the host must have lived through."""


def passes(passing: Passing, heard: Sequence[Reaction]) -> bool:
    """Return True if what the host heard since it asked is what a step is about."""
    last = next((one for one in heard if isinstance(one, (Answered, Failed))), None)
    if passing.survives == WRONG:
        return any(_is_wrong(one) for one in heard)
    if passing.answer == NOTHING:
        return last is None
    return (
        isinstance(last, Answered)
        and (not passing.answer or _form(last.message.body) == passing.answer)
        and (not passing.at or _is_there(last.message.body, passing))
        and (passing.picked is None or picked(_tools(last), passing.picked) is not None)
        and (not passing.asked or _was_asked(heard, passing.asked))
        and (passing.survives != LATE or _came_late(heard))
    )


def picked(tools: Sequence[JsonObject], words: Sequence[str]) -> JsonObject | None:
    """Return the tool that the scripted model picks: the first that speaks of one of the words.

    A model knows nothing of a tool but its name, title and description.
    """
    for tool in tools:
        spoken = " ".join(str(tool.get(one, "")) for one in ("name", "title", "description"))
        if not words or any(word.casefold() in spoken.casefold() for word in words):
            return tool
    return None


def _is_wrong(reaction: Reaction) -> bool:
    return isinstance(reaction, Failed) or (isinstance(reaction, Ignored) and reaction.is_in_vain)


def _was_asked(heard: Sequence[Reaction], method: str) -> bool:
    return any(isinstance(one, WasAsked) and one.message.method == method for one in heard)


def _came_late(heard: Sequence[Reaction]) -> bool:
    return any(isinstance(one, Ignored) and one.code == "ignored-late" for one in heard)


def _form(body: JsonObject) -> str:
    if ERROR in body:
        return ERROR
    result = body.get(RESULT)
    failed = isinstance(result, dict) and result.get(TOOL_ERROR) is True
    return TOOL_ERROR if failed else RESULT


def _tools(answer: Answered) -> Sequence[JsonObject]:
    tools = answer.message.body.get(RESULT, {}).get("tools", ())
    return [one for one in tools if isinstance(one, dict)]


def _is_there(body: JsonObject, passing: Passing) -> bool:
    found = at(body, passing.at, _MISSING)
    return found is not _MISSING and (passing.value is None or found == passing.value)
