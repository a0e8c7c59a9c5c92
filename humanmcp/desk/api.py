"""The page's JSON interface: whatever the page can do, a script can do, under the same checks.

A browser is known by its cookie; a script shows the token of `desk.json` as
`Authorization: Bearer …`. Every POST carries JSON. `docs/reference/api.md` describes each call.
"""

# No `from __future__ import annotations`: FastAPI reads the annotations when it starts.

import json
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final

from fastapi import APIRouter, HTTPException, Request
from starlette.concurrency import run_in_threadpool
from starlette.responses import JSONResponse, Response

from humanmcp.bookshelf import BookFileError
from humanmcp.desk import composing, history, playing, rules
from humanmcp.desk.composing import BY, Became, Outcome
from humanmcp.desk.desk import Desk, desk_of
from humanmcp.desk.live import MOST, EventStream, report
from humanmcp.desk.login import IDLE
from humanmcp.desk.prepared import Saved
from humanmcp.desk.words import describe, language_of
from humanmcp.inbox.contract import Action, Draft, Item, Key, Reply, UnknownItemError
from humanmcp.inbox.remarking import remarks_on
from humanmcp.locales import say
from humanmcp.locales.stop import StopError, sentence_of
from humanmcp.protocol.exchange import State
from humanmcp.protocol.faults import Fault
from humanmcp.protocol.pretty import pretty
from humanmcp.protocol.verdict import Form, Verdict
from humanmcp.protocol.visible import one_line


class AsciiJson(JSONResponse):
    """JSON in ASCII: a lone surrogate is a legal part of a JSON text, and not of UTF-8."""

    def render(self, content: Any) -> bytes:  # noqa: ANN401 - any JSON value
        """Write the value."""
        return json.dumps(content, ensure_ascii=True, separators=(",", ":")).encode()


router: Final = APIRouter(prefix="/api", default_response_class=AsciiJson)

LONGEST_NAME: Final = 64


def now() -> str:
    """Return this moment as the inbox writes it."""
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def spoken(request: Request) -> str:
    """Choose the language of an answer."""
    return language_of(
        request.query_params.get("lang", ""),
        request.cookies.get("lang", ""),
        request.headers.get("accept-language", ""),
        desk_of(request).language,
    )


# -- coming and going -------------------------------------------------------------------------


@dataclass
class LoginBody:
    """One of the two: the key of the address, or the code that is typed."""

    key: str = ""
    code: str = ""


@router.post("/login")
async def login(request: Request, body: LoginBody) -> AsciiJson:
    """Swap a one-time key, or the short code, for the cookie of a visit."""
    desk = desk_of(request)
    door = desk.door
    visit = door.enter_with_key(body.key) if body.key else door.enter_with_code(body.code)
    if visit is None:
        raise HTTPException(401, say("desk", "login.failed", spoken(request)))
    response = AsciiJson({"in": True})
    set_visit(response, desk, visit)
    return response


def set_visit(response: Response, desk: Desk, visit: str) -> None:
    """Give a browser its cookie. The desk speaks plain HTTP to itself, so it is not `Secure`."""
    response.set_cookie(
        desk.address.cookie,
        visit,
        max_age=int(IDLE),
        path="/",
        httponly=True,
        samesite="strict",
    )


@router.post("/login-key")
async def login_key(request: Request) -> dict[str, str]:
    """Make a one-time key, valid for five minutes: for `humanmcp desk` and `serve --open`."""
    return {"key": desk_of(request).door.new_key()}


@router.post("/logout")
async def logout(request: Request) -> AsciiJson:
    """End the visit of this browser; its live stream ends with it."""
    desk = desk_of(request)
    desk.door.leave(getattr(request.state, "visit", ""))
    response = AsciiJson({"in": False})
    response.delete_cookie(desk.address.cookie, path="/", httponly=True, samesite="strict")
    return response


# -- what there is ----------------------------------------------------------------------------


@router.get("/state")
def state(request: Request, since: int = -1) -> dict[str, Any]:
    """Say what changed since a version: for pages that the live stream does not reach."""
    board = desk_of(request).board
    changes = () if since < 0 else board.since(since)
    return {
        "version": board.version,
        "waiting": board.count(),
        "streams": desk_of(request).live.streams,
        "changes": report(changes),
    }


@router.get("/events")
async def events(request: Request, after: int = -1) -> Response:
    """Open the live stream (server-sent events). It says what changed, never what it changed to."""
    desk = desk_of(request)
    if desk.live.streams >= MOST:
        raise HTTPException(503, say("desk", "streams.full", spoken(request)))
    last = request.headers.get("last-event-id", "")
    start = int(last) if last.isascii() and last.isdigit() and len(last) < 18 else after
    visit = getattr(request.state, "visit", "")
    return EventStream(desk.live, desk.door, visit=visit, after=start)


@router.get("/sessions")
def sessions(request: Request) -> dict[str, Any]:
    """List the sessions, newest first."""
    return {
        "sessions": [
            {
                "name": one.facts.name,
                "letter": one.badge.letter,
                "client": one.facts.client,
                "client_version": one.facts.client_version,
                "revision": one.facts.revision,
                "title": one.facts.title,
                "seat": one.facts.seat.value,
                "life": one.facts.life.value,
                "started": one.facts.started,
                "waiting": one.waiting,
            }
            for one in desk_of(request).board.sessions()
        ]
    }


@router.get("/exchanges")
def exchanges(request: Request, session: str = "") -> dict[str, Any]:
    """List what waits for an answer, the longest waiting first."""
    rows = desk_of(request).board.waiting(session)
    return {
        "waiting": [
            {
                "session": one.key.session,
                "number": one.key.number,
                "letter": one.badge.letter,
                "method": one.method,
                "name": one.name,
                "gist": one.gist,
                "arrived": one.arrived,
                "touched": one.touched,
            }
            for one in rows
        ]
    }


@router.get("/exchanges/{session}/{number}")
def exchange(request: Request, session: str, number: int) -> dict[str, Any]:
    """Return one exchange, whatever its state, with the draft as it is now."""
    desk = desk_of(request)
    return write_item(desk, desk.inbox.item(Key(session, number)), spoken(request))


def write_item(desk: Desk, item: Item, language: str) -> dict[str, Any]:
    """Write an exchange as the interface shows it. `line` and `id` are text: no number is read."""
    draft = item.draft or composing.starting(desk.inbox, item)
    answer = item.answer
    return {
        "session": item.key.session,
        "number": item.key.number,
        "state": item.state.value,
        "purpose": item.purpose.value,
        "way": item.way.value,
        "asked": item.asked,
        "method": item.method,
        "id": item.id,
        "revision": item.revision,
        "arrived": item.arrived,
        "line": item.line,
        "reason": item.reason,
        "waiting": {
            "limit": item.waiting.limit,
            "source": item.waiting.source,
            "book_at": item.waiting.book_at,
            "held": item.waiting.held,
            "means": item.waiting.means,
            "why_not": item.waiting.why_not,
        },
        "draft": {
            "text": draft.text,
            "form": draft.form.value,
            "touched": draft.touched,
            "hold": draft.hold,
            "by": draft.by,
            "at": draft.at,
        },
        "document": composing.document(item, draft),
        "problems": [describe(one, language) for one in item.problems],
        "remarks": [describe(one, language) for one in remarks_on(desk.inbox, item)],
        "on_its_way": item.reply is not None and item.state is State.PENDING,
        "answer": None
        if answer is None
        else {
            "line": answer.line,
            "by": answer.by,
            "at": answer.at,
            "deliberate": answer.deliberate,
        },
    }


# -- writing and sending ----------------------------------------------------------------------


@dataclass
class TextBody:
    """A text and what it stands for: message, result, error, text, or tool error."""

    text: str
    form: Form = Form.MESSAGE


@dataclass
class DraftBody:
    """What a person is writing. `hold` stops the answer book; `who` names the page that writes."""

    text: str
    form: Form = Form.MESSAGE
    touched: bool = True
    hold: bool = False
    who: str = ""


@dataclass
class ReplyBody:
    """What a person sends. `anyway` sends it although the check finds errors.

    `action` says what is to become of a message that a tap holds: pass, drop or answer.
    """

    text: str
    form: Form = Form.MESSAGE
    anyway: bool = False
    action: Action = Action.PASS


@dataclass
class HoldBody:
    """Whether the countdown of the answer book is to stop."""

    hold: bool = True


@router.post("/exchanges/{session}/{number}/check")
def check(request: Request, session: str, number: int, body: TextBody) -> dict[str, Any]:
    """Say what is wrong with a text, before it is sent."""
    desk = desk_of(request)
    item = desk.inbox.item(Key(session, number))
    judged = composing.verdict(desk.inbox, item, body.text, body.form)
    return write_verdict(judged, spoken(request))


def write_verdict(judged: Verdict, language: str) -> dict[str, Any]:
    """Write what the check says."""
    line = judged.line if judged.line is not None else judged.forced
    return {
        "sendable": judged.sendable,
        "forcible": judged.forced is not None,
        "line": line,
        "bytes": None if line is None else len(line.encode("utf-8", "replace")),
        "kind": None if judged.kind is None else judged.kind.value,
        "text": judged.text,
        "problems": [describe(one, language) for one in judged.problems],
    }


@dataclass
class BreakBody:
    """An answer so far, and the fault that it shall have."""

    fault: Fault
    text: str
    form: Form = Form.MESSAGE


@router.post("/exchanges/{session}/{number}/break")
def break_it(request: Request, session: str, number: int, body: BreakBody) -> dict[str, Any]:
    """Break an answer on purpose. Nothing is kept and nothing is sent."""
    item = desk_of(request).inbox.item(Key(session, number))
    return {"document": composing.broken(item, Draft(body.text, body.form), body.fault)}


@router.post("/exchanges/{session}/{number}/draft")
def keep(request: Request, session: str, number: int, body: DraftBody) -> dict[str, Any]:
    """Keep what a person is writing. Also after the exchange was closed: nothing is lost."""
    desk = desk_of(request)
    key, at = Key(session, number), now()
    draft = Draft(body.text, body.form, body.touched, body.hold, BY, at)
    desk.inbox.save(key, draft)
    if body.touched:
        desk.board.writes(key, body.who[:LONGEST_NAME])
    desk.board.refresh(session)
    return {"at": at}


@router.post("/exchanges/{session}/{number}/hold")
def hold(request: Request, session: str, number: int, body: HoldBody) -> dict[str, Any]:
    """Stop the countdown of the answer book, or let it run on."""
    desk = desk_of(request)
    hold_book(desk, Key(session, number), hold=body.hold)
    return {"hold": body.hold}


def hold_book(desk: Desk, key: Key, *, hold: bool) -> None:
    """Ask the stub to stop the countdown; the text of the draft stays as it is."""
    item = desk.inbox.item(key)
    draft = item.draft or composing.starting(desk.inbox, item)
    desk.inbox.save(key, Draft(draft.text, draft.form, draft.touched, hold, BY, now()))
    desk.board.refresh(key.session)


@router.post("/exchanges/{session}/{number}/reply")
def reply(request: Request, session: str, number: int, body: ReplyBody) -> AsciiJson:
    """Send an answer. The status says what became of it: 200, 202, 409 (too late) or 422."""
    outcome = hand_in(desk_of(request), Key(session, number), body)
    return AsciiJson(write_outcome(outcome, spoken(request)), status_code=_STATUS[outcome.became])


_STATUS: Final = {
    Became.SENT: 200,
    Became.ON_ITS_WAY: 202,
    Became.TAKEN: 409,
    Became.BLOCKED: 422,
    Became.REFUSED: 422,
}


def hand_in(desk: Desk, key: Key, body: ReplyBody) -> Outcome:
    """Send an answer and look again at its session at once."""
    answer = Reply(body.text, body.form, body.anyway, BY, now(), body.action)
    outcome = composing.send(desk.inbox, key, answer)
    desk.board.refresh(key.session)
    return outcome


def write_outcome(outcome: Outcome, language: str) -> dict[str, Any]:
    """Write what became of a reply."""
    return {
        "became": outcome.became.value,
        "line": outcome.line,
        "bytes": len(outcome.line.encode("utf-8", "replace")),
        "by": outcome.by,
        "state": outcome.state.value,
        "problems": [describe(one, language) for one in outcome.problems],
    }


@dataclass
class SayBody:
    """Something said first: a notification or a request, as a whole message."""

    text: str
    anyway: bool = False


@router.post("/sessions/{session}/say")
def say_first(request: Request, session: str, body: SayBody) -> dict[str, Any]:
    """Hand in something of your own: a notification, a request to the client."""
    desk = desk_of(request)
    ticket = desk.inbox.say(session, Reply(body.text, Form.MESSAGE, body.anyway, BY, now()))
    return {"ticket": ticket}


@router.get("/sessions/{session}/say/{ticket}")
def said(request: Request, session: str, ticket: str) -> dict[str, Any]:
    """Say what became of a saying: waiting, sent, or refused with its problems."""
    found = desk_of(request).inbox.refused(session, ticket)
    became = "waiting" if found is None else "refused" if found else "sent"
    return {"became": became, "problems": [describe(one, spoken(request)) for one in found or ()]}


# -- the past ---------------------------------------------------------------------------------


@router.get("/history")
def past(request: Request, q: str = "", session: str = "", seq: int = 0) -> dict[str, Any]:
    """Search all transcripts, the newest lines first. `session` and `seq` go on from a place."""
    start = (session, seq) if session and seq > 0 else None
    found = history.look(desk_of(request).board, history.parse(q), start=start)
    return {
        "lines": [
            {
                "session": one.session,
                "seq": one.seq,
                "at": one.at,
                "number": one.number,
                "way": "in" if one.inwards else "out",
                "kind": one.kind,
                "method": one.word,
                "gist": one.gist,
                "by": one.by,
                "bytes": one.size,
            }
            for one in found.steps
        ],
        "further": None if found.further is None else list(found.further),
    }


@router.get("/sessions/{session}/lines/{seq}")
def line(request: Request, session: str, seq: int) -> dict[str, Any]:
    """Return one recorded line, verbatim and laid out."""
    frames = desk_of(request).inbox.before(session, seq + 1, 1)
    if not frames or frames[0].seq != seq:
        raise UnknownItemError(session, line=seq)
    return {"seq": seq, "raw": frames[0].text, "pretty": pretty(frames[0].text)}


# -- prepared answers -------------------------------------------------------------------------


@dataclass
class SavedBody:
    """An answer to keep: its name, what it is for, and its text."""

    name: str
    method: str
    text: str
    tool: str = ""
    form: Form = Form.TEXT


@dataclass
class RemoveBody:
    """Which saved answer to throw away."""

    number: int


def write_saved(one: Saved) -> dict[str, Any]:
    """Write a saved answer."""
    return {
        "number": one.number,
        "name": one.name,
        "method": one.method,
        "tool": one.tool,
        "form": one.form.value,
        "text": one.text,
    }


@router.get("/answers")
def answers(request: Request, method: str = "", tool: str = "") -> dict[str, Any]:
    """List the saved answers; with a method, those that fit it."""
    shelf = desk_of(request).shelf
    found = shelf.fitting(method, tool) if method else shelf.all()
    return {"answers": [write_saved(one) for one in found]}


@router.post("/answers")
def save_answer(request: Request, body: SavedBody) -> dict[str, Any]:
    """Keep an answer for the next time."""
    saved = desk_of(request).shelf.add(
        name=body.name, method=body.method, tool=body.tool, form=body.form, text=body.text
    )
    return write_saved(saved)


@router.post("/answers/remove")
def remove_answer(request: Request, body: RemoveBody) -> dict[str, Any]:
    """Throw a saved answer away."""
    desk_of(request).shelf.remove(body.number)
    return {"removed": body.number}


@router.get("/exchanges/{session}/{number}/last")
def last_answer(request: Request, session: str, number: int) -> dict[str, Any]:
    """Return the last answer to the same method and tool, to be used again."""
    desk = desk_of(request)
    item = desk.inbox.item(Key(session, number))
    found = history.last_answer(desk.board, item)
    return {"line": found, "document": "" if found is None else pretty(found)}


@dataclass
class RuleBody:
    """A rule to be, as the answer book has it. `save` false only says it as a sentence."""

    method: str
    text: str
    tool: str = ""
    form: Form = Form.TEXT
    where: dict[str, Any] = field(default_factory=dict)
    after: float = 0.0
    times: int = 0
    save: bool = True


@router.post("/rules")
def add_rule(request: Request, body: RuleBody) -> AsciiJson:
    """Add a rule to the answer book, and say it as a sentence."""
    desk = desk_of(request)
    rule = rules.NewRule(
        body.method, body.tool, body.form, body.text, body.where, body.after, body.times
    )
    sentence = rules.sentence(rule, spoken(request))
    try:
        written = rules.to_toml(rule)
        if body.save:
            rules.add(desk.book, rule)
    except (BookFileError, rules.RuleError) as error:
        why = one_line(error.sentence(spoken(request)), 300)
        return AsciiJson({"sentence": sentence, "why": why}, status_code=422)
    return AsciiJson({"sentence": sentence, "toml": written, "saved": body.save})


@router.post("/demo")
async def demo(request: Request) -> dict[str, Any]:
    """Start the demo host: its first request arrives within seconds."""
    await run_in_threadpool(playing.start, desk_of(request).home, spoken(request))
    return {"started": True}


async def on_unknown(request: Request, error: Exception) -> AsciiJson:
    """Answer for an exchange or session that is not there."""
    language = spoken(request)
    known = isinstance(error, StopError)
    detail = sentence_of(error, language) if known else say("desk", "missing.help", language)
    return AsciiJson({"detail": detail}, status_code=404)


async def on_store(request: Request, error: Exception) -> AsciiJson:
    """Answer for a disk that did not keep something: the text is still in the page."""
    return AsciiJson({"detail": sentence_of(error, spoken(request))}, status_code=507)


def script_json(value: Any) -> str:  # noqa: ANN401 - any JSON value
    """Write a value for a data block of a page: nothing in it may end the block."""
    # ASCII only: a lone surrogate, which JSON can carry, has no place in a page's UTF-8.
    text = json.dumps(value, ensure_ascii=True)
    for character in "<>&":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text
