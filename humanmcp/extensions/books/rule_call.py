"""The call that adds a rule to the answer book, or says what it would be."""

# No `from __future__ import annotations`: FastAPI reads the annotations when it starts.

from dataclasses import dataclass
from typing import Final

from fastapi import Request
from starlette.responses import Response

from humanmcp.answering.schema import TypedDict
from humanmcp.common.book_file import BookFileError
from humanmcp.desk import rights
from humanmcp.desk.context import call_router, desk_of
from humanmcp.extensions.books import rules
from humanmcp.protocol.json.visible import one_line

RIGHTS: Final = rights.write(rights.DESKS, "/api/rules", most=rights.TEXT)

router: Final = call_router()


@dataclass(frozen=True)
class RuleBody(rules.NewRule):
    """A new rule, as in the answer book. With `save` false, it is only returned as a sentence."""

    save: bool = True


class RuleShape(TypedDict, total=False):
    """A rule as a sentence and as TOML; `why` if no rule is possible."""

    sentence: str
    toml: str
    saved: bool
    why: str


@router.post("/rules")
def add_rule(request: Request, response: Response, body: RuleBody) -> RuleShape:
    """Add a rule to the answer book, and return it as a sentence; `save` false adds nothing."""
    desk = desk_of(request)
    sentence = rules.sentence(body)
    try:
        written = rules.to_toml(body)
        if body.save:
            rules.add(desk.book, body)
    except (BookFileError, rules.RuleError) as error:
        why = one_line(desk.shown(error.sentence()), 300)
        response.status_code = 422
        return {"sentence": sentence, "why": why}
    return {"sentence": sentence, "toml": written, "saved": body.save}
