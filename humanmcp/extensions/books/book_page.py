"""The pages of the answer book and of saved answers, and of adding to them.

The pages work without scripts: each button is a form.
"""

# No `from __future__ import annotations`: FastAPI reads the annotations when it starts.

import json
from collections import Counter
from collections.abc import Mapping
from functools import partial
from itertools import compress
from typing import Any, Final

from fastapi import Request
from markupsafe import Markup
from starlette.responses import HTMLResponse, RedirectResponse, Response

from humanmcp.answering import service
from humanmcp.answering.open_exchange import OpenExchange
from humanmcp.common.book_file import BookFileError
from humanmcp.common.timestamps import stamp
from humanmcp.desk import rights
from humanmcp.desk.context import desk_of, page, page_router
from humanmcp.desk.desk import Desk
from humanmcp.desk.history.rows import body_of
from humanmcp.desk.inbox.saved_answers import filled
from humanmcp.desk.rights import DESKS, each
from humanmcp.desk.routing import FormValues
from humanmcp.extensions.books import rules, server_definition
from humanmcp.extensions.books.server_copy import WITHIN, copy_of
from humanmcp.inbox.contract import Key, UnknownItemError
from humanmcp.locales import say
from humanmcp.locales.stop import StopError
from humanmcp.protocol.conversation.transcript import Direction
from humanmcp.protocol.json.tree import object_at

RIGHTS: Final = {
    **rights.read(DESKS, "/book", "/m/{name}/{number}/keep"),
    **rights.acts(
        "/book",
        {
            **each(DESKS, "forget *", "bring back", "undo", "up", "down", "remove", "change"),
            **each(DESKS, "on", "off", "be pasted"),
            **each(rights.OWN, "be started", "be cancelled"),  # a program of this computer
        },
        most=rights.TEXT,
    ),
    **rights.acts(
        "/m/{name}/{number}/keep",
        each(DESKS, "answer", "rule", "look"),
        default="look",
        most=rights.TEXT,
    ),
}

router: Final = page_router()

LONGEST_NAME: Final = 80
COUNTED: Final = 5000
"""The number of lines of each open session in which the rules' answers are counted."""


@router.get("/book")
def book(request: Request) -> HTMLResponse:
    """Show the rules of the answer book and the saved answers."""
    return _book(request)


def _book(request: Request, why: str = "", typed: Mapping[str, str] | None = None) -> HTMLResponse:
    desk = desk_of(request)
    listed: list[rules.BookRule] = []
    limits: list[str] = []
    try:
        listed, limits = rules.listed(desk.book, _hits(desk)), rules.limits(desk.book)
    except (BookFileError, rules.RuleError) as error:
        why = desk.shown(error.sentence())
    return page(
        request,
        "books/book.html",
        422 if why else 200,
        rules=listed,
        limits=limits,
        saved=desk.shelf.all(),
        thrown=desk.shelf.thrown,
        book=desk.shown(desk.book),
        can_undo=rules.can_undo(desk.book),
        why=why,
        typed=typed or {},
        copy=copy_of(desk),
        within=WITHIN,
    )


def _hits(desk: Desk) -> Counter[str]:
    """Return how often each rule has answered in the open sessions since the book was changed."""
    since = stamp(desk.book.stat().st_mtime) if desk.book.exists() else ""
    living = [one.facts.name for one in desk.board.sessions() if one.facts.is_open]
    frames = (one for name in living for one in desk.inbox.last_frames_before(name, 0, COUNTED))
    return Counter(one.by for one in frames if one.at >= since and one.direction is Direction.OUT)


@router.post("/book")
def change(request: Request, values: FormValues) -> Response:
    """Move, change or remove a rule, or delete a saved answer."""
    desk, act = desk_of(request), values.get("act", "")
    try:
        if act.startswith("forget "):
            number = act.removeprefix("forget ")
            if not (number.isascii() and number.isdigit() and len(number) < 12):
                raise UnknownItemError(act)
            desk.shelf.remove(int(number))
        elif act == "bring back":
            desk.shelf.bring_back()
        elif act == "undo":
            rules.undo(desk.book)
        elif act in {"up", "down", "remove", "change", "on", "off"}:
            rules.change(desk.book, values.get("seen", ""), act, values.get("text", ""))
        elif act == "be pasted":
            rules.put_lists(desk.book, server_definition.pasted(values.get("lists", "")))
            return RedirectResponse("/server", 303)
        elif act == "be started":
            take = partial(rules.put_lists, desk.book)
            copy_of(desk).start(values.get("command", ""), take, desk.board.poke)
            return RedirectResponse("/book#be", 303)
        elif act == "be cancelled":
            copy_of(desk).cancel()
            return RedirectResponse("/book#be", 303)
    except StopError as error:
        return _book(request, desk.shown(error.sentence()), values)
    return RedirectResponse("/book", 303)


def _kept(
    opened: OpenExchange, values: Mapping[str, str]
) -> tuple[rules.NewRule | None, dict[str, Any]]:
    """Return the sent answer, else the draft, as a rule; and the arguments that it can test.

    Before the form was sent, it tests every argument. The text may have placeholders for them.
    """
    item, draft = opened.item, service.draft_of(opened)
    line = item.answer.line if item.answer is not None else service.document(opened, draft)
    arguments = object_at(opened.params, "arguments").items()
    plain = {name: one for name, one in arguments if not isinstance(one, dict | list)}
    body = body_of(line)
    if body is None:
        return None, plain
    chosen = [not values or bool(values.get(f"where {at}")) for at in range(len(plain))]
    rule = rules.NewRule(
        item.method,
        values.get("kept text", body.text),
        opened.name,
        body.form,
        dict(compress(plain.items(), chosen)),
        _number(values.get("after", "")),
        int(_number(values.get("times", ""))),
    )
    return rule, plain


@router.get("/m/{name}/{number}/keep")
def keep(request: Request, name: str, number: int) -> HTMLResponse:
    """Show what can be kept of an answer."""
    return _keep(request, Key(name, number), {})


@router.post("/m/{name}/{number}/keep")
def keep_it(request: Request, name: str, number: int, values: FormValues) -> Response:
    """Save the answer under a name, or as a rule; or return the rule as a sentence."""
    desk, key = desk_of(request), Key(name, number)
    rule, _ = _kept(desk.open_exchange(key), values)
    name = values.get("name", "").strip()[:LONGEST_NAME]
    if rule is not None and values.get("act") == "answer" and name:
        desk.shelf.add(
            name=name, method=rule.method, tool=rule.tool, form=rule.form, text=rule.text
        )
        return RedirectResponse(f"/m/{key.session}/{key.number}", 303)
    if rule is not None and values.get("act") == "rule":
        try:
            rules.add(desk.book, rule)
        except (BookFileError, rules.RuleError) as error:
            return _keep(request, key, values, desk.shown(error.sentence()))
        return RedirectResponse("/book", 303)
    return _keep(request, key, values)


def _number(text: str) -> float:
    try:
        return min(max(0.0, float(text)), 1e6)
    except ValueError:
        return 0.0


def _keep(request: Request, key: Key, values: dict[str, str], why: str = "") -> HTMLResponse:
    desk = desk_of(request)
    opened = desk.open_exchange(key)
    rule, plain = _kept(opened, values)
    shown = "" if rule is None else filled(rule.text, rule.form, opened.arguments)
    return page(
        request,
        "books/keep.html",
        422 if why else 200,
        key=key,
        body=rule,
        filled="" if rule is None or shown == rule.text else shown,
        names=list(plain),
        offered=[(name, json.dumps(one, ensure_ascii=False)[:60]) for name, one in plain.items()],
        values=values,
        sentence="" if rule is None else rules.sentence(rule),
        book=desk.shown(desk.book),
        why=why,
    )


def rules_mark(request: Request) -> str:
    """Return how many rules are on, for the bar of each page."""
    count = rules.rules_on(desk_of(request).book)
    link = Markup('<a class="note-chip" id="rules-on" href="/book">{}</a>')
    return link.format(say("books", "bar.rules", count=count)) if count else ""
