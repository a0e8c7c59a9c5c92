"""The pages of the answer book and of saved answers, and of adding to them.

The pages work without scripts: each button is a form.
"""

# No `from __future__ import annotations`: FastAPI reads the annotations when it starts.

import json
from collections import Counter
from collections.abc import Mapping
from functools import partial
from typing import Any, Final, NamedTuple

from fastapi import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from humanmcp.answering import service
from humanmcp.answering.open_exchange import OpenExchange
from humanmcp.common.book_file import BookFileError, read_book
from humanmcp.common.timestamps import stamp
from humanmcp.desk.book import rules
from humanmcp.desk.book.server_copy import WITHIN
from humanmcp.desk.context import desk_of, page, page_router
from humanmcp.desk.desk import Desk
from humanmcp.desk.history.rows import body_of
from humanmcp.desk.routing import FormValues
from humanmcp.desk.server import server_definition
from humanmcp.inbox.contract import Draft, Key, UnknownItemError
from humanmcp.locales.stop import StopError
from humanmcp.protocol.answer_book.book import Book
from humanmcp.protocol.answer_book.placeholders import fill_answer
from humanmcp.protocol.conversation.transcript import Direction
from humanmcp.protocol.json.tree import object_at

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
        "book/book.html",
        422 if why else 200,
        rules=listed,
        limits=limits,
        saved=desk.shelf.all(),
        thrown=desk.shelf.thrown,
        book=desk.shown(desk.book),
        can_undo=rules.can_undo(desk.book),
        why=why,
        typed=typed or {},
        copy=desk.copy,
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
            _put_lists(desk, server_definition.pasted(values.get("lists", "")))
            return RedirectResponse("/server", 303)
        elif act == "be started":
            take = partial(_put_lists, desk)
            desk.copy.start(values.get("command", ""), desk.home, take, desk.board.poke)
            return RedirectResponse("/book#be", 303)
        elif act == "be cancelled":
            desk.copy.cancel()
            return RedirectResponse("/book#be", 303)
    except StopError as error:
        return _book(request, desk.shown(error.sentence()), values)
    return RedirectResponse("/book", 303)


def _put_lists(desk: Desk, found: server_definition.Lists) -> None:
    before = server_definition.of_book(read_book(desk.book) if desk.book.exists() else Book())
    rules.put_lists(desk.book, {**before, **found})


class Kept(NamedTuple):
    """The part of an answer that can be kept, and the arguments for a rule."""

    draft: Draft | None
    where: tuple[tuple[str, Any], ...]


def _kept(opened: OpenExchange) -> Kept:
    """Return the sent answer, else the draft, without its envelope."""
    item = opened.item
    draft = service.draft_of(opened)
    line = item.answer.line if item.answer is not None else service.document(opened, draft)
    arguments = object_at(opened.params, "arguments").items()
    plain = tuple((name, one) for name, one in arguments if not isinstance(one, dict | list))
    return Kept(body_of(line), plain)


@router.get("/m/{name}/{number}/keep")
def keep(request: Request, name: str, number: int) -> HTMLResponse:
    """Show what can be kept of an answer."""
    return _keep(request, Key(name, number), {})


@router.post("/m/{name}/{number}/keep")
def keep_it(request: Request, name: str, number: int, values: FormValues) -> Response:
    """Save the answer under a name, or as a rule; or return the rule as a sentence."""
    desk, key = desk_of(request), Key(name, number)
    opened = desk.open_exchange(key)
    draft = _written(_kept(opened).draft, values)
    name = values.get("name", "").strip()[:LONGEST_NAME]
    if draft is not None and values.get("act") == "answer" and name:
        item = opened.item
        desk.shelf.add(
            name=name, method=item.method, tool=opened.name, form=draft.form, text=draft.text
        )
        return RedirectResponse(f"/m/{key.session}/{key.number}", 303)
    if draft is not None and values.get("act") == "rule":
        try:
            rules.add(desk.book, _rule(opened, values, draft))
        except (BookFileError, rules.RuleError) as error:
            why = desk.shown(error.sentence())
            return _keep(request, key, values, why)
        return RedirectResponse("/book", 303)
    return _keep(request, key, values)


def _written(draft: Draft | None, values: dict[str, str]) -> Draft | None:
    """Return the answer to keep, possibly with placeholders for values of a request."""
    if draft is None or "kept text" not in values:
        return draft
    return draft._replace(text=values["kept text"])


def _filled(opened: OpenExchange, draft: Draft) -> str:
    """Return the answer for this request; a text that is not JSON yet stays unchanged."""
    try:
        return fill_answer(draft.text, draft.form, opened.arguments)
    except ValueError:
        return draft.text


def _rule(opened: OpenExchange, values: dict[str, str], draft: Draft) -> rules.NewRule:
    """Return the rule of a form; before the form was sent, with every argument."""
    offered = _kept(opened).where
    where = {
        name: one
        for at, (name, one) in enumerate(offered)
        if not values or values.get(f"where {at}")
    }
    return rules.NewRule(
        opened.item.method,
        opened.name,
        draft.form,
        draft.text,
        where,
        _number(values.get("after", "")),
        int(_number(values.get("times", ""))),
    )


def _number(text: str) -> float:
    try:
        return min(max(0.0, float(text)), 1e6)
    except ValueError:
        return 0.0


def _keep(request: Request, key: Key, values: dict[str, str], why: str = "") -> HTMLResponse:
    desk = desk_of(request)
    opened = desk.open_exchange(key)
    kept = _kept(opened)
    draft = _written(kept.draft, values)
    sentence = filled = ""
    if draft is not None:
        sentence = rules.sentence(_rule(opened, values, draft))
        filled = _filled(opened, draft)
    offered = [(name, json.dumps(one, ensure_ascii=False)[:60]) for name, one in kept.where]
    shown = {
        "key": key,
        "body": draft,
        "filled": filled if draft is not None and filled != draft.text else "",
        "names": [name for name, _ in kept.where],
        "offered": offered,
        "values": values,
        "sentence": sentence,
        "book": desk.shown(desk.book),
        "why": why,
    }
    return page(request, "book/keep.html", 422 if why else 200, **shown)
