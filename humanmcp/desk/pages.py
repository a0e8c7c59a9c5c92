"""The pages: GET shows, POST acts and leads back to a page. They work without a script.

What a script adds, it adds to these pages; it fetches parts of them (`/list`, `…/status`) and puts
them in place as text and elements, never as markup made from strings.
"""

# No `from __future__ import annotations`: FastAPI reads the annotations when it starts.

from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from typing import Any, Final
from urllib.parse import parse_qs, urlencode

from fastapi import APIRouter, Depends, Request
from starlette.concurrency import run_in_threadpool
from starlette.responses import HTMLResponse, RedirectResponse, Response

from humanmcp.desk import api, asking, composing, history, picture, playing, view, words
from humanmcp.desk.composing import Became, Outcome
from humanmcp.desk.desk import Desk, desk_of
from humanmcp.desk.forms import form_of
from humanmcp.desk.snippets import Snippet, snippets
from humanmcp.desk.starts import chosen, starts_of
from humanmcp.desk.templates import render, web_folder
from humanmcp.inbox.contract import (
    Action,
    Draft,
    Item,
    Key,
    Life,
    SessionFacts,
    UnknownItemError,
)
from humanmcp.inbox.remarking import remarks_on
from humanmcp.locales import LANGUAGES
from humanmcp.locales.explain import Card, explain
from humanmcp.locales.stop import sentence_of
from humanmcp.protocol import clients
from humanmcp.protocol.exchange import State
from humanmcp.protocol.faults import Fault
from humanmcp.protocol.pretty import pretty
from humanmcp.protocol.templates import PLACEHOLDERS
from humanmcp.protocol.transcript import Way
from humanmcp.protocol.verdict import Form


async def note_version(request: Request) -> None:
    """Note the last change before a page gathers what it shows.

    A change that comes while it gathers may be missing in it; the page's script then asks for it.
    """
    request.state.version = desk_of(request).board.version


router: Final = APIRouter(default_response_class=HTMLResponse, dependencies=[Depends(note_version)])

EDITOR: Final = "vendor/editor.js"
THEMES: Final = ("auto", "light", "dark")
STAGED: Final = 400
"""Lines of a conversation that the projector's page can go back to."""
AROUND: Final = 6
"""Earlier lines that stand above the one that is shown."""
RECENT: Final = 12
"""Lines of the past that stand under what waits."""
YEAR: Final = 365 * 24 * 3600
LARGEST_FORM: Final = 16 * 1024 * 1024


def page(request: Request, name: str, status: int = 200, **values: Any) -> HTMLResponse:  # noqa: ANN401 - templates take anything
    """Render a page with what every page shows."""
    desk = desk_of(request)
    theme = request.cookies.get("theme", "auto")
    common = {
        "path": request.scope["path"],
        "theme": theme if theme in THEMES else "auto",
        "version": getattr(request.state, "version", desk.board.version),
        "count": desk.board.count(),
        "sessions": desk.board.sessions(),
        "now": datetime.now(UTC).timestamp(),
        "session": "",
        "editor": editor_address(),
    }
    language = api.spoken(request)
    common["words"] = api.script_json(dict(words.for_scripts(language)))
    html = render(name, language, **{**common, **values})
    # What UTF-8 cannot hold is shown as its escape.
    response = HTMLResponse(html.encode("utf-8", "backslashreplace"), status_code=status)
    asked = request.query_params.get("lang", "")
    if asked in LANGUAGES:
        _prefer(response, "lang", asked)
    return response


@cache
def editor_address() -> str:
    """Return the address of the JSON editor's script; "" in a checkout where it was not built."""
    return f"/static/{EDITOR}" if (web_folder() / "static" / EDITOR).is_file() else ""


def _prefer(response: Response, name: str, value: str) -> None:
    response.set_cookie(name, value, max_age=YEAR, path="/", samesite="strict", httponly=True)


# -- the inbox --------------------------------------------------------------------------------


@router.get("/")
def inbox(request: Request, session: str = "", sent: str = "") -> HTMLResponse:
    """Show what waits, the longest waiting request open."""
    desk = desk_of(request)
    rows = desk.board.waiting(session)
    key = rows[0].key if rows else None
    return _inbox(request, key, session=session, sent=sent, chosen=False)


@router.get("/m/{name}/{number}")
def message(
    request: Request, name: str, number: int, session: str = "", sent: str = ""
) -> HTMLResponse:
    """Show one exchange, whatever its state."""
    return _inbox(request, Key(name, number), session=session, sent=sent, chosen=True)


@router.get("/list")
def waiting_list(request: Request, session: str = "", at: str = "") -> HTMLResponse:
    """Show the list alone: what a page fetches when something changed."""
    return page(request, "list.html", **_list(desk_of(request), session), opened=at)


@router.get("/m/{name}/{number}/status")
def status(request: Request, name: str, number: int) -> HTMLResponse:
    """Show how an exchange stands, alone: its banner and its times, never the composer."""
    desk = desk_of(request)
    key = Key(name, number)
    item = desk.inbox.item(key)
    values = _standing(desk, item, api.spoken(request))
    return page(request, "status.html", item=item, row=view.row(item, _badge(desk, key)), **values)


def _list(desk: Desk, session: str) -> dict[str, Any]:
    return {"rows": desk.board.waiting(session), "recent": history.recent(desk.board, RECENT)}


def _badge(desk: Desk, key: Key) -> view.Badge:
    return desk.board.session(key.session).badge


@dataclass(frozen=True, slots=True)
class Broken:
    """What a page without a script knows of an answer that was broken on purpose.

    `before` is the text that was there, in the form `form`.
    """

    fault: Fault
    before: str
    form: Form


def _inbox(  # noqa: PLR0913 - what the page of the inbox depends on
    request: Request,
    key: Key | None,
    *,
    session: str = "",
    sent: str = "",
    chosen: bool,
    broken: Broken | None = None,
) -> HTMLResponse:
    desk = desk_of(request)
    values: dict[str, Any] = {
        **_list(desk, session),
        "session": session,
        "chosen": chosen,
        "opened": "" if key is None else f"{key.session}/{key.number}",
        "item": None,
        "sent": _sent(desk, sent),
        "broken": broken,
        "hosts": _snippets(request) if key is None and not desk.board.sessions() else (),
    }
    if key is not None:
        values |= _message(desk, key, api.spoken(request))
    return page(request, "inbox.html", **values)


def _snippets(request: Request) -> tuple[Snippet, ...]:
    return snippets(desk_of(request).told, api.spoken(request))


def _sent(desk: Desk, name: str) -> dict[str, Any] | None:
    """Return what went out last, so that the next page can show it."""
    session, _, number = name.partition("/")
    if not (number.isascii() and number.isdigit() and len(number) < 12):
        return None
    try:
        item = desk.inbox.item(Key(session, int(number)))
    except UnknownItemError:
        return None
    if item.answer is None:
        return None
    line = item.answer.line
    return {"item": item, "bytes": len(line.encode("utf-8", "replace")), "line": line}


def _message(desk: Desk, key: Key, language: str) -> dict[str, Any]:
    """Gather everything that the page of one exchange shows."""
    item = desk.inbox.item(key)
    row = view.row(item, _badge(desk, key))
    start = composing.starting(desk.inbox, item, language)
    answerable = composing.answerable(item)
    draft = item.draft if item.draft is not None and item.draft.touched else start
    problems = item.problems
    if item.state is State.PENDING and draft.touched:
        problems = composing.verdict(desk.inbox, item, draft.text, draft.form).problems
    saved = desk.shelf.fitting(item.method, row.name)[:9]
    return {
        "item": item,
        "row": row,
        "draft": draft if draft.touched else composing.plain(item, start),
        "problems": [words.describe(one, language) for one in problems],
        "remarks": [words.describe(one, language) for one in remarks_on(desk.inbox, item)],
        "fields": view.fields(item),
        "raw": pretty(item.line),
        "edited": composing.edited(item),
        "faults": [words.fault(one, language) for one in _faults(desk, item)],
        "offers": asking.offers(desk.inbox, item, desk.board.session(key.session), language),
        "card": explain(
            item.method,
            item.revision,
            language,
            asks=bool(item.id),
            seat=desk.board.session(key.session).facts.seat.value,
            inwards=item.way is Way.IN,
        ),
        "answerable": answerable,
        "steps": picture.draw(history.conversation(desk.board, key.session), key.number),
        "answers": saved,
        "starts": starts_of(composing.exchange_of(item)) if answerable else (),
        "island": api.script_json(
            _island(desk, item, draft, start, language) if answerable else None
        ),
        **_standing(desk, item, language),
    }


def _faults(desk: Desk, item: Item) -> tuple[Fault, ...]:
    return composing.breakable(item, desk.board.session(item.key.session).facts)


def _island(desk: Desk, item: Item, draft: Draft, start: Draft, language: str) -> dict[str, Any]:
    """Gather what the composer's script starts from."""
    name = view.params_of(item.line).get("name")
    tool = name if isinstance(name, str) else ""
    document = composing.document(item, draft)
    starts = starts_of(composing.exchange_of(item))
    begun = chosen(starts, document)
    form = begun.form if begun else form_of(item, desk.inbox.known(item.key.session), tool)
    fitting = desk.shelf.fitting(item.method, tool)[:9]
    return {
        "session": item.key.session,
        "number": item.key.number,
        "id": item.id,
        "method": item.method,
        "tool": tool,
        "revision": item.revision,
        "state": item.state.value,
        "document": document,
        "starts": [
            {
                "document": one.document,
                "form": {"pointer": one.form.pointer, "schema": one.form.schema},
            }
            for one in starts
        ],
        "template": start.text,
        "templates": composing.examples(item),
        "placeholders": list(PLACEHOLDERS.values()),
        "faults": [words.fault(one, language) for one in _faults(desk, item)],
        "touched": draft.touched,
        "hold": draft.hold,
        "at": draft.at,
        "textual": item.method == "tools/call",
        "form": None if form is None else {"pointer": form.pointer, "schema": form.schema},
        "mirror": form is not None and form.mirror,
        "arguments": view.params_of(item.line).get("arguments", {}),
        "saved": [api.write_saved(one) for one in fitting],
        "book": str(desk.book),
    }


def _standing(desk: Desk, item: Item, language: str) -> dict[str, Any]:
    """Say how an exchange stands: its session, its client, who else writes, what may be set."""
    session = desk.board.session(item.key.session)
    client = clients.find(session.facts.client)
    living = session.facts.life is Life.OPEN
    state = item.state
    if state is State.PENDING and not living:
        state = State.ABANDONED
    desk.board.listens(item.key)  # first, so that an answer that comes just now is not missed
    questions = asking.told(desk.inbox, item)
    desk.board.listens(item.key, on=any(not one.outcome for one in questions))
    return {
        "questions": questions,
        "facts": session.facts,
        "badge": session.badge,
        "living": living,
        "state": state.value,
        "writer": desk.board.writer(item.key),
        "client_setting": "" if client is None else client.setting,
        "arrived": view.seconds(item.arrived),
        "refusals": [words.describe(one, language) for one in item.problems],
        "kept": [one.text for one in item.kept],
        "answer_pretty": "" if item.answer is None else pretty(item.answer.line),
        "answer_bytes": 0 if item.answer is None else len(item.answer.line.encode()),
        "answer_at": 0.0 if item.answer is None else view.seconds(item.answer.at),
    }


# -- acting without a script ------------------------------------------------------------------


async def form_values(request: Request) -> dict[str, str]:
    """Read a form that a page sent. The guard has bounded its size."""
    body = (await request.body())[:LARGEST_FORM]
    # Browsers write line ends as CR LF in forms; a text keeps the ones that were typed.
    pairs = parse_qs(body.decode("utf-8", "replace"), keep_blank_values=True, max_num_fields=50)
    return {name: values[-1].replace("\r\n", "\n") for name, values in pairs.items()}


@router.post("/m/{name}/{number}")
async def act(request: Request, name: str, number: int) -> Response:
    """Save, check, send, send anyway, break, hold, let go, drop, or go back to where it began."""
    values = await form_values(request)
    return await run_in_threadpool(_act, request, Key(name, number), values)


def _act(request: Request, key: Key, values: dict[str, str]) -> Response:
    desk, here = desk_of(request), f"/m/{key.session}/{key.number}"
    text, form = values.get("text", ""), _form(values.get("form", ""))
    broken = _broken(values)
    match values.get("act", "send"):
        case "hold":
            api.hold_book(desk, key, hold=True)
        case "template":
            start = composing.starting(desk.inbox, desk.inbox.item(key))
            _save(desk, key, start.text, start.form, touched=False)
        case "original":
            original = pretty(desk.inbox.item(key).line)
            _save(desk, key, original, Form.MESSAGE, touched=False)
        case "save":
            _save(desk, key, text, form, touched=True)
        case "mend":
            if broken:
                _save(desk, key, broken.before, broken.form, touched=True)
        case act_on if act_on.startswith("break "):
            before = Draft(broken.before, broken.form) if broken else Draft(text, form)
            return _break(request, key, before, act_on.removeprefix("break "))
        case "let go" | "drop" as act_on:
            action = Action.DROP if act_on == "drop" else Action.PASS
            body = api.ReplyBody(desk.inbox.item(key).line, action=action)
            return _after_sending(here, key, api.hand_in(desk, key, body))
        case act_on:
            body = api.ReplyBody(text, form, anyway=act_on == "anyway")
            outcome = api.hand_in(desk, key, body)
            if broken and outcome.became is Became.BLOCKED:
                return _inbox(request, key, chosen=True, broken=broken)
            return _after_sending(here, key, outcome)
    return RedirectResponse(f"{here}#answer", 303)


def _broken(values: dict[str, str]) -> Broken | None:
    """Read from a form what was there before the answer was broken."""
    try:
        return Broken(Fault(values["fault"]), values["before"], _form(values["before form"]))
    except (KeyError, ValueError):
        return None


def _break(request: Request, key: Key, before: Draft, name: str) -> Response:
    """Break an answer and show it: a fault is put into what was there, not into another fault."""
    desk = desk_of(request)
    item = desk.inbox.item(key)
    if name not in {one.value for one in _faults(desk, item)}:
        raise UnknownItemError(name)
    fault = Fault(name)
    _save(desk, key, composing.broken(item, before, fault), Form.MESSAGE, touched=True)
    return _inbox(request, key, chosen=True, broken=Broken(fault, before.text, before.form))


def _save(desk: Desk, key: Key, text: str, form: Form, *, touched: bool) -> None:
    item = desk.inbox.item(key)
    held = item.draft is not None and item.draft.hold
    desk.inbox.save(key, Draft(text, form, touched, held, composing.BY, api.now()))
    desk.board.refresh(key.session)


def _after_sending(here: str, key: Key, outcome: Outcome) -> Response:
    if outcome.became in (Became.SENT, Became.ON_ITS_WAY):
        return RedirectResponse(f"/?{urlencode({'sent': f'{key.session}/{key.number}'})}", 303)
    return RedirectResponse(f"{here}#answer", 303)


def _form(value: str) -> Form:
    try:
        return Form(value)
    except ValueError:
        return Form.MESSAGE


@router.post("/preferences")
async def prefer(request: Request) -> Response:
    """Remember the language and the theme in this browser."""
    values = await form_values(request)
    back = values.get("back", "/")
    response = RedirectResponse(back if _is_ours(back) else "/", 303)
    if values.get("lang") in LANGUAGES:
        _prefer(response, "lang", values["lang"])
    if values.get("theme") in THEMES:
        _prefer(response, "theme", values["theme"])
    return response


def _is_ours(path: str) -> bool:
    r"""Say whether a path leads to this desk: `//evil` and `/\evil` lead elsewhere."""
    return path.startswith("/") and not path.startswith(("//", "/\\")) and path.isprintable()


@router.post("/try")
async def try_now(request: Request) -> Response:
    """Start the demo host; its first request arrives within seconds."""
    await run_in_threadpool(playing.start, desk_of(request).home, api.spoken(request))
    return RedirectResponse("/", 303)


# -- the other pages --------------------------------------------------------------------------


@router.get("/history")
def past(request: Request, q: str = "", name: str = "", seq: int = 0) -> HTMLResponse:
    """Show the past, the newest lines first, and search it."""
    start = (name, seq) if name and seq > 0 else None
    found = history.look(desk_of(request).board, history.parse(q), start=start)
    further = None
    if found.further is not None:
        further = urlencode({"q": q, "name": found.further[0], "seq": found.further[1]})
    return page(request, "history.html", found=found, q=q, further=further, first=start is None)


@router.get("/line/{name}/{seq}")
def line(request: Request, name: str, seq: int) -> HTMLResponse:
    """Show one recorded line, verbatim."""
    desk = desk_of(request)
    frames = desk.inbox.before(name, seq + 1, 1)
    if not frames or frames[0].seq != seq:
        raise UnknownItemError(name, line=seq)
    mark = desk.board.session(name)
    step = view.step(name, mark.badge, frames[0])
    card = _card(step, mark.facts, api.spoken(request))
    return page(
        request,
        "line.html",
        step=step,
        facts=mark.facts,
        card=card if step.kind in ("request", "notification") else None,
        raw=frames[0].text,
        laid_out=pretty(frames[0].text),
    )


def _card(step: view.Step, facts: SessionFacts, language: str) -> Card:
    return explain(
        step.word,
        facts.revision,
        language,
        asks=step.kind == "request",
        seat=facts.seat.value,
        inwards=step.inwards,
    )


@router.get("/present")
def present(request: Request, name: str = "", seq: int = 0) -> HTMLResponse:
    """Show one step of a conversation, large, for a projector. Nothing can be answered here."""
    desk = desk_of(request)
    sessions = desk.board.sessions()
    living = [one for one in sessions if one.facts.life is Life.OPEN]
    chosen = name or next((one.facts.name for one in (*living, *sessions)), "")
    values: dict[str, Any] = {"chosen": chosen, "step": None, "follow": not seq}
    if chosen:
        values |= _stage(desk, chosen, seq, api.spoken(request))
    return page(request, "present.html", **values)


def _stage(desk: Desk, name: str, seq: int, language: str) -> dict[str, Any]:
    """Gather one step and what stands around it: the newest one unless another is named."""
    mark = desk.board.session(name)
    frames = [one for one in desk.inbox.before(name, 0, STAGED) if one.way in (Way.IN, Way.OUT)]
    at = next((at for at, one in enumerate(frames) if one.seq == seq), len(frames) - 1)
    if at < 0:
        return {}
    step = view.step(name, mark.badge, frames[at])
    asks = step.kind == "request"
    shown = [view.step(name, mark.badge, one) for one in frames[max(0, at - AROUND) : at + 1]]
    waits = {row.key.number: row for row in desk.board.waiting(name)}.get(step.number)
    return {
        "step": step,
        "place": at + 1,
        "total": len(frames),
        "before": frames[at - 1].seq if at else 0,
        "after": frames[at + 1].seq if at + 1 < len(frames) else 0,
        "card": _card(step, mark.facts, language) if step.word else None,
        "laid_out": pretty(frames[at].text),
        "steps": picture.draw(shown, step.seq, by_seq=True),
        "pending": asks and waits is not None,
        "arrived": waits.arrived if waits is not None else 0.0,
    }


@router.get("/connect")
def connect(request: Request) -> HTMLResponse:
    """Show what to paste into which host."""
    return page(request, "connect.html", hosts=_snippets(request))


@router.get("/login")
def login(request: Request) -> HTMLResponse:
    """Show the door. GET uses no key up: a preview or a prefetch opens nothing."""
    return page(request, "login.html", count=0, sessions=(), failed=False)


@router.post("/login")
async def log_in(request: Request) -> Response:
    """Try the short code."""
    desk = desk_of(request)
    values = await form_values(request)
    visit = desk.door.enter_with_code(values.get("code", ""))
    if visit is None:
        return page(request, "login.html", 401, count=0, sessions=(), failed=True)
    response = RedirectResponse("/", 303)
    api.set_visit(response, desk, visit)
    return response


@router.post("/logout")
async def log_out(request: Request) -> Response:
    """End the visit of this browser."""
    desk = desk_of(request)
    desk.door.leave(getattr(request.state, "visit", ""))
    response = RedirectResponse("/login", 303)
    response.delete_cookie(desk.address.cookie, path="/", httponly=True, samesite="strict")
    return response


async def on_store(request: Request, error: Exception) -> Response:
    """Say that the disk did not keep something."""
    if request.scope["path"].startswith("/api/"):
        return await api.on_store(request, error)
    what = sentence_of(error, api.spoken(request))
    # A page of its own: what every page shows may not be had from a full disk.
    return HTMLResponse(render("trouble.html", api.spoken(request), what=what), status_code=507)


async def on_missing(request: Request, error: Exception) -> Response:
    """Show that there is no such page, session or exchange."""
    if request.scope["path"].startswith("/api/"):
        return await api.on_unknown(request, error)
    return page(request, "missing.html", 404)
