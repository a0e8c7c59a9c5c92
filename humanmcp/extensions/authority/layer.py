"""The ASGI layer of an authority: which request is a step, and who may pass to MCP."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import TYPE_CHECKING, Final, TypeVar
from urllib.parse import parse_qs

from humanmcp.extensions.authority import consent
from humanmcp.extensions.authority.answers import Asked, Place
from humanmcp.extensions.authority.session import Outgoing, Ticket
from humanmcp.extensions.authority.steps import Step, WebRequest
from humanmcp.http.bodies import Bodies, BodyTrouble
from humanmcp.http.front import headers_of, read_body, two_lengths
from humanmcp.http.listening import WRITTEN
from humanmcp.http.responses import HttpResponse
from humanmcp.protocol.http import inbound
from humanmcp.protocol.http.http_headers import SESSION
from humanmcp.protocol.http.outbound import PATH

if TYPE_CHECKING:
    from collections.abc import Callable

    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from humanmcp.extensions.authority.session import AuthoritySession
    from humanmcp.protocol.http.http_headers import Headers
    from humanmcp.protocol.http.inbound import HttpAddress

Heard = TypeVar("Heard")

LARGEST: Final = 64 * 1024
"""Bytes of a registration or of a form."""
WAITS: Final = 20.0
"""Seconds for which a browser waits for a decision before it asks again."""
_CONSENT: Final = "/consent/"
_NAMES: Final = SESSION.encode()
_NOBODYS: Final = b"nobody"
"""An id that no session has."""


class AuthorityLayer:
    """Answers what is not MCP's at an address, and lets MCP in with a token alone."""

    def __init__(self, app: ASGIApp, session: AuthoritySession, address: HttpAddress) -> None:
        self._app = app
        self._session = session
        self._address = address
        self._bodies = Bodies(LARGEST, BodyTrouble.MUCH)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request, or hand it on."""
        headers, path = headers_of(scope), str(scope["path"])
        refusal = inbound.refusal_of(path, headers, self._address)
        if refusal not in (None, inbound.ELSEWHERE) or two_lengths(headers):
            await self._app(scope, receive, send)
            return
        place, page = self._place(headers), inbound.for_page(headers, self._address)
        response = HttpResponse(receive, send, page)
        asked = inbound.preflight(scope["method"], headers) if page else ()
        step = Step.CHALLENGE if refusal is None else place.step_at(scope["method"], path)
        ticket = path.removeprefix(place.path + _CONSENT)
        if asked and (refusal is None or step is not None):
            await response.whole(200, more=asked)
        elif step is Step.CHALLENGE:
            await self._enter(scope, headers, place, response)
        elif step is not None:
            await self._step(scope, headers, place, response, step)
        elif ticket != path and "/" not in ticket:
            await self._consent(scope, headers, response, ticket, path)
        else:
            await self._app(scope, receive, send)

    def _place(self, headers: Headers) -> Place:
        """Return the addresses as this client knows them."""
        host = (headers.get("host") or "").lower()
        outside = [one for one in self._address.outside if one.partition("://")[2] == host]
        if outside:
            return Place(outside[0])
        if host in self._address.authorities:
            return Place(f"http://{host}")
        return Place(self._address.url.removesuffix(PATH))

    # -- MCP --------------------------------------------------------------------------------------

    async def _enter(
        self, scope: Scope, headers: Headers, place: Place, response: HttpResponse
    ) -> None:
        """Let a request with a token in: without the token, with the name of its grant.

        The session of another client does not exist for it.
        """
        grant, error, wanted = self._session.grant_of(inbound.bearer(headers), place)
        if grant is None:
            request = _request(scope, headers, b"")
            await self._answer(Asked(Step.CHALLENGE, place, request, error, wanted), response)
            return
        kept = [pair for pair in scope["headers"] if pair[0] != b"authorization"]
        named = (b"authorization", f"Bearer {grant.id}".encode())
        if not all(self._session.may_use(grant, one) for one in headers.all(SESSION)):
            kept = [(name, _NOBODYS if name == _NAMES else value) for name, value in kept]

        async def send(message: Message) -> None:
            if message["type"] == "http.response.start":
                for name, value in message.get("headers", ()):
                    if name.lower() == _NAMES:
                        self._session.began(grant, value.decode("latin-1"))
            await response.send(message)

        await self._app({**scope, "headers": [*kept, named]}, response.receive, send)

    # -- the steps --------------------------------------------------------------------------------

    async def _step(
        self, scope: Scope, headers: Headers, place: Place, response: HttpResponse, step: Step
    ) -> None:
        body = await read_body(self._bodies, scope, response.receive)
        if isinstance(body, inbound.HttpRefusal):
            await response.whole(body.status, more=(("connection", "close"),))
            return
        await self._answer(Asked(step, place, _request(scope, headers, body)), response)

    async def _answer(self, asked: Asked, response: HttpResponse) -> None:
        """Bring a step to the session, and write what comes back."""
        heard: asyncio.Future[Outgoing | Ticket] = _hear(partial(self._session.ask, asked))
        if not await response.while_there(_said(heard)):
            heard.add_done_callback(lambda late: self._unwritten(late.result()))
            return
        found = heard.result()
        if isinstance(found, Outgoing):
            await self._write(found, response)
        elif "text/html" in asked.request.header("accept"):
            path = f"{asked.place.path}{_CONSENT}{found.name}"
            await self._write(Outgoing(consent.waiting_page(found, path)), response)
        else:  # a program: it waits for the redirect
            await self._decided(found.name, response, None)

    def _unwritten(self, found: Outgoing | Ticket) -> None:
        if isinstance(found, Outgoing):
            self._session.was_written(found.number, written=False)

    async def _write(self, out: Outgoing, response: HttpResponse) -> None:
        """Write a response as it is; only its length is ours.

        A response without a body is whole with its head: who has read that may hang up.
        """
        answer, body = out.response, out.response.body.encode("utf-8", "replace")
        written = partial(self._session.was_written, out.number) if out.number else None
        headers = [*answer.headers, ("content-length", str(len(body)))]
        await response.start(answer.status, headers, None if body else written)
        told = written if body else None
        await response.send({"type": "http.response.body", "body": body, WRITTEN: told})

    # -- the page of a consent --------------------------------------------------------------------

    async def _consent(
        self, scope: Scope, headers: Headers, response: HttpResponse, ticket: str, path: str
    ) -> None:
        """Wait for a decision, or refuse: nothing here consents."""
        if scope["method"] == "POST":
            body = await read_body(self._bodies, scope, response.receive)
            form = parse_qs("" if isinstance(body, inbound.HttpRefusal) else body.decode("latin-1"))
            site = headers.get("sec-fetch-site")  # the browser says that its own page sent it
            is_own = headers.get("origin") is not None or site == "same-origin"
            if form.get("act") == ["deny"] and is_own:
                self._session.deny(ticket, form.get("form", [""])[0])
            await self._write(Outgoing(consent.again_page(path)), response)
        elif scope["method"] == "GET":
            await self._decided(ticket, response, path)
        else:
            await response.whole(405, more=(("allow", "GET, POST"),))

    async def _decided(self, ticket: str, response: HttpResponse, path: str | None) -> None:
        """Write the redirect once a person decided; a browser at a `path` asks again."""
        heard: asyncio.Future[Outgoing | None] = _hear(
            partial(self._session.await_decision, ticket)
        )
        if not await response.while_there(_said(heard, WAITS if path else None)):
            return
        if path and not heard.done():
            await self._write(Outgoing(consent.again_page(path)), response)
        else:
            await self._write(heard.result() or Outgoing(consent.over_page()), response)


def _hear(begin: Callable[[Callable[[Heard], object]], object]) -> asyncio.Future[Heard]:
    """Return what another thread will say once. `begin` is given the function that it calls."""
    loop = asyncio.get_running_loop()
    heard: asyncio.Future[Heard] = loop.create_future()
    begin(lambda value: loop.call_soon_threadsafe(heard.set_result, value))
    return heard


async def _said(heard: asyncio.Future[Heard], seconds: float | None = None) -> None:
    """Wait until it is said, or for so many seconds."""
    await asyncio.wait({heard}, timeout=seconds)


def _request(scope: Scope, headers: Headers, body: bytes) -> WebRequest:
    query = scope["query_string"].decode("latin-1")
    text = body.decode("utf-8", "replace")
    return WebRequest(scope["method"], str(scope["path"]), query, tuple(headers.pairs), text)
