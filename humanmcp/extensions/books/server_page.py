"""The page *Server*: the lists of the server definition, one entry as a form, the reactions.

The lists belong to a session, to the answer book (for all sessions), or to an answer that a person
writes. A session is notified at once; sessions with the book notice a change within a second.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import urlencode

from fastapi import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from humanmcp.answering import service
from humanmcp.answering.schema import diagnostic_shapes
from humanmcp.answering.service import Outcome
from humanmcp.common import apart
from humanmcp.desk import nodes, rights
from humanmcp.desk.context import desk_of, page, page_router
from humanmcp.desk.desk import BY, Desk, place_in
from humanmcp.desk.inbox.answer_form import MOST
from humanmcp.desk.rendering import decoded
from humanmcp.desk.rights import DESKS, each
from humanmcp.desk.routing import FormValues
from humanmcp.desk.send.send_page import client_reactions
from humanmcp.extensions.books import rules, server_definition
from humanmcp.inbox.contract import Draft, Key, Order, Reply, UnknownItemError
from humanmcp.locales.stop import REFUSED, StopError, stopped
from humanmcp.protocol.answer_book.book import LISTED
from humanmcp.protocol.conversation.exchange import Exchange
from humanmcp.protocol.conversation.stages import ExchangeState
from humanmcp.protocol.diagnostics.model import TextForm, Verdict
from humanmcp.protocol.json import jsonrpc
from humanmcp.protocol.tables import versions
from humanmcp.protocol.tables.schemas import KINDS
from humanmcp.protocol.validation import check

RIGHTS: Final = {
    **rights.read(DESKS, "/server", "/server/entry"),
    **rights.write(DESKS, "/server/design"),
    **rights.acts("/server", each(DESKS, "remove", "list", "undo"), most=rights.TEXT),
    **rights.acts(
        "/server/entry",
        each(DESKS, "put", "anyway", "keep", "look", "more", "json", "rows"),
        default="look",
        most=rights.TEXT,
    ),
}

router: Final = page_router()

PUTTING: Final = frozenset({"put", "anyway", "keep"})
"""The buttons that submit the form of an entry."""
SPARE: Final = 2
"""The number of empty rows in a form below the filled ones."""


@dataclass(frozen=True, slots=True)
class DefinitionOwner:
    """The owner of the lists: a session, an answer that a person writes, else the book."""

    desk: Desk
    session: str = ""
    at: str = ""
    late: bool = False
    """The answer was sent, or the request ended, before the entry was put into the answer."""

    @property
    def key(self) -> Key:
        """The request that the answer is for."""
        return place_in(self.at)

    @property
    def query(self) -> dict[str, str]:
        """The owner as parameters of an address."""
        return {"at": self.at} if self.at else {"session": self.session} if self.session else {}

    def lists(self, member: str) -> server_definition.Lists:
        """Return the current lists."""
        if self.at:
            return {member: self._drafted(member).entries}
        if self.session:
            return server_definition.of_session(self.desk.inbox.negotiated(self.session))
        return rules.lists(self.desk.book)

    def _drafted(self, member: str) -> server_definition.Drafted:
        opened = self.desk.open_exchange(self.key)
        text = service.document(opened, service.draft_of(opened))
        return server_definition.drafted(text, member)

    def put(
        self, before: server_definition.Lists, after: server_definition.Lists, member: str
    ) -> None:
        """Publish the changed lists.

        Raises:
            StopError: they cannot be published; the sentence says why.
        """
        if self.at:
            text = self._drafted(member).with_entries(after[member])
            opened = self.desk.open_exchange(self.key)
            service.keep(opened, Draft(text, TextForm.MESSAGE, touched=True, paused=True, by=BY))
            self.desk.board.refresh(*self.key)
        elif self.session:
            known = self.desk.inbox.negotiated(self.session)
            text = server_definition.change(before, after, known)
            reply = Reply(text, order=Order.DEFINITION)
            result = self.desk.submit_outgoing(self.session, reply)
            if result.outcome is not Outcome.SENT:
                raise stopped("server_definition", "not taken", REFUSED)
            self.desk.board.refresh(self.session, 0)
        else:
            rules.put_lists(self.desk.book, after)


def _target(request: Request, session: str, at: str) -> DefinitionOwner:
    """Return the owner in an address; if its answer was sent, the session."""
    desk = desk_of(request)
    owner = DefinitionOwner(desk, session, at)
    if at:
        opened = desk.open_exchange(owner.key)
        if not opened.facts.is_open and opened.standing.is_over:
            return DefinitionOwner(desk, late=True)
        if opened.item.state is not ExchangeState.PENDING:
            return DefinitionOwner(desk, owner.key.session, late=True)
    elif session:
        desk.board.session(session)
    return owner


@router.get("/server")
def show(request: Request, session: str = "") -> HTMLResponse:
    """Show the lists of a session or of the book, and the host's reactions to changes."""
    return _show(request, _target(request, session, ""))


@router.post("/server")
def act(request: Request, values: FormValues) -> Response:
    """Remove an entry, replace a whole list with one in JSON, or undo that in the book."""
    owner = _target(request, values.get("session", ""), values.get("at", ""))
    try:
        if values.get("act") == "undo":
            rules.undo(owner.desk.book)
            return RedirectResponse("/server", 303)
        member = _member(values.get("member", ""))
        before = owner.lists(member)
        if values.get("act") == "remove":
            after = server_definition.with_entry(before, member, None, values.get("name", ""))
        else:
            after = {**before, member: server_definition.read_list(values.get("text", ""), member)}
        owner.put(before, after, member)
    except StopError as error:
        return _show(request, owner, owner.desk.shown(error.sentence()), values)
    return _published(owner, member)


def _published(owner: DefinitionOwner, member: str) -> Response:
    """Redirect to the host's reactions; the book itself has no host."""
    at = "told" if owner.session else member
    return RedirectResponse(f"/server?{urlencode(owner.query)}#{at}", 303)


def _member(name: str) -> str:
    if name not in LISTED:
        raise UnknownItemError(name)
    return name


def _show(
    request: Request, owner: DefinitionOwner, why: str = "", typed: dict[str, str] | None = None
) -> HTMLResponse:
    desk = owner.desk
    lists: server_definition.Lists = {}
    try:
        lists = owner.lists("tools")
    except StopError as error:
        why = desk.shown(error.sentence())
    found = [
        (member, _listed(lists.get(member, ()), member, typed))
        for member in server_definition.MEMBERS
    ]
    return page(
        request,
        "books/server.html",
        422 if why else 200,
        target=owner,
        query=urlencode(owner.query),
        lists=found,
        why=why,
        servers=_servers(desk),
        book=desk.shown(desk.book),
        can_undo=rules.can_undo(desk.book),
        told=client_reactions(desk, owner.session) if owner.session else (),
        session=owner.session,
    )


def _servers(desk: Desk) -> list[Any]:
    """Return the open sessions in which a person is the server."""
    sessions = desk.board.sessions()
    return [one for one in sessions if one.facts.is_open and one.facts.role.traits.serves]


def _listed(entries: tuple[Any, ...], member: str, typed: dict[str, str] | None) -> dict[str, Any]:
    """Return the values of a list for the page."""
    text = json.dumps(entries, ensure_ascii=False, indent=2)
    if typed is not None and typed.get("member") == member:
        text = typed.get("text", text)
    return {
        "text": text,
        "entries": [(str(one.get(LISTED[member])), _seen(one)) for one in entries],
    }


def _seen(entry: Any) -> nodes.Node:  # noqa: ANN401 - any JSON value
    """Return the node of an entry as a model or a user sees it."""
    named = {"name": entry.get("uri") or entry.get("uriTemplate") or "?", **entry}
    return nodes.tool(decoded(json.dumps(named)))


# -- one entry ------------------------------------------------------------------------------------


@router.post("/server/design")
def design(request: Request, at: str = "", member: str = "") -> Response:
    """Show a new entry for the answer to a request, whose countdown is paused meanwhile."""
    desk, key = desk_of(request), place_in(at)
    query = urlencode({"at": at, "member": _member(member)})
    service.pause(desk.open_exchange(key), BY)
    desk.board.refresh(*key)
    return RedirectResponse(f"/server/entry?{query}", 303)


@router.get("/server/entry")
def entry(  # noqa: PLR0913, PLR0917 - what an address may hold
    request: Request,
    session: str = "",
    at: str = "",
    member: str = "tools",
    name: str = "",
    copy: str = "",
) -> HTMLResponse:
    """Show one entry as a form: a new one, an existing one, or a copy."""
    owner = _target(request, session, at)
    key, why, chosen = LISTED[_member(member)], "", server_definition.blank(member)
    try:
        listed = owner.lists(member)[member]
        chosen = dict(next((one for one in listed if one.get(key) == name), chosen))
    except StopError as error:
        why = owner.desk.shown(error.sentence())
    if copy and name:
        chosen[key] = f"{name}_2"
    values = server_definition.fields_of(chosen, member)
    more = {"member": member, "old": "" if copy else name, "copied": name if copy else ""}
    return _form(request, owner, {**values, **more}, why)


@router.post("/server/entry")
def write(request: Request, values: FormValues) -> Response:
    """Put an entry into its lists, save it in the book, or show it in another form."""
    owner = _target(request, values.get("session", ""), values.get("at", ""))
    member = _member(values.get("member", ""))
    act = values.get("act", "")
    try:
        made = server_definition.entry_of(values, member)
        if act == "json":
            values["text"] = json.dumps(made, ensure_ascii=False, indent=2)
        elif act == "rows":
            kept = {name: values.get(name, "") for name in ("member", "old", "copied")}
            values = {**server_definition.fields_of(made, member), **kept}
        elif act in PUTTING and not owner.late:
            verdict = _judged(made, member)
            if act != "anyway" and verdict.errors:
                return _form(request, owner, values, verdict=verdict)
            return _put(owner, made, values)
    except StopError as error:
        why = "" if act in ("look", "more") else owner.desk.shown(error.sentence())
        return _form(request, owner, values, why)
    return _form(request, owner, values, verdict=_judged(made, member))


def _put(owner: DefinitionOwner, made: Any, values: dict[str, str]) -> Response:  # noqa: ANN401 - any JSON value
    member = values["member"]
    goals = [owner, DefinitionOwner(owner.desk)] if values.get("act") == "keep" else [owner]
    for goal in goals:
        before = goal.lists(member)
        after = server_definition.with_entry(before, member, made, values.get("old", ""))
        goal.put(before, after, member)
    if owner.at:
        return RedirectResponse(f"/m/{owner.at}#answer", 303)
    return _published(owner, member)


def _judged(made: Any, member: str) -> Verdict:  # noqa: ANN401 - any JSON value
    """Return the check's verdict on a list with an entry."""
    method = server_definition.LISTS[member]
    asked = jsonrpc.made({"jsonrpc": "2.0", "id": 1, "method": method})
    exchange = Exchange(1, asked, versions.LATEST_HANDSHAKE)
    text = json.dumps({member: [made]}, ensure_ascii=False)
    return apart.call(len(text), check.check, exchange, text, TextForm.RESULT)


def _form(
    request: Request,
    owner: DefinitionOwner,
    values: dict[str, str],
    why: str = "",
    verdict: Verdict | None = None,
) -> HTMLResponse:
    member = values["member"]
    diagnostics = () if verdict is None else verdict.diagnostics
    try:
        seen = _seen(server_definition.entry_of(values, member))
    except StopError:
        seen = None
    names: list[str] = []
    if not why:
        try:
            names = [str(one.get(LISTED[member])) for one in owner.lists(member)[member]]
        except StopError as error:
            why = owner.desk.shown(error.sentence())
    return page(
        request,
        "books/entry.html",
        422 if why else 200,
        target=owner,
        query=urlencode({**owner.query, "member": member}),
        typed=request.method == "POST",
        values=values,
        member=member,
        fields=server_definition.FIELDS[member],
        key=LISTED[member],
        hints=tuple(server_definition.HINTS),
        kinds=KINDS,
        spare=SPARE,
        most=MOST,
        names=names,
        seen=seen,
        why=why,
        blocked=verdict is not None and bool(verdict.errors),
        # Their places are in a list that the page created, whose lines nobody sees.
        problems=[{**one, "line": 0} for one in diagnostic_shapes(diagnostics)],
        book=owner.desk.shown(owner.desk.book),
    )
