"""What `humanmcp judge --only oauth` plays: an authority that makes one mistake, for no person.

It guards nothing but a server of the judge, so it consents to everything. What it writes down has
the names of secrets in the place of their values, as in the inbox.
"""

from __future__ import annotations

import json
import threading
import time
from functools import partial
from typing import TYPE_CHECKING, Final

from humanmcp.extensions import Guarded
from humanmcp.extensions.authority import answers
from humanmcp.extensions.authority.answers import Asked, Place
from humanmcp.extensions.authority.grants import Grants, RegisteredClient, digest
from humanmcp.extensions.authority.kind import KIND
from humanmcp.extensions.authority.mistakes import Judged, Mistake, mistakes
from humanmcp.extensions.authority.musts import musts
from humanmcp.extensions.authority.steps import Step, WebRequest
from humanmcp.protocol.http.outbound import PATH
from humanmcp.protocol.json.visible import one_line

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from typing import TypeAlias

    from humanmcp.extensions import Pairs
    from humanmcp.extensions.authority.grants import Grant

    Answered: TypeAlias = tuple[int, Pairs, bytes]

_WRITE: Final = "write"
_SHOWN: Final = 300
_RIGHT: Final = Mistake("right", Step.CHALLENGE, judged=Judged("good"))


def rows() -> Iterator[Guarded]:
    """Yield the authority that makes no mistake, then one for each row of the table."""
    for row in (_RIGHT, *mistakes().values()):
        must = next((one for one in reversed(musts()) if row.id in one.mistakes), None)
        yield Guarded(
            f"oauth_{row.id.replace('-', '_')}",
            "oauth",
            "oauth mistake",
            row.id,
            partial(JudgedAuthority, row),
            row.judged.kind,
            "" if must is None else must.plain,
            "" if must is None else must.newest,
            is_hidden=row.judged.hides,
        )


class JudgedAuthority:
    """The authority before a server of the judge, for one client: a `Guard`."""

    def __init__(self, row: Mistake, origin: str, note: Callable[[str, str], object]) -> None:
        self._row, self._how, self._note = row, row.judged, note
        self._rows = [row, *(mistakes()[one] for one in row.judged.also)]
        self._use = next((one.judged.use for one in self._rows if one.judged.use), "")
        self._grants = Grants()
        self._place = Place(origin, row.judged.path)
        """Where the tokens are given that count."""
        self._was_refused = self._was_made = False
        self._lock = threading.Lock()

    def __call__(self, method: str, target: str, headers: Pairs, body: bytes) -> Answered | None:
        """Answer a step, or refuse a message of MCP; None lets it through. On any thread."""
        path, _, query = target.partition("?")
        request = WebRequest(method, path, query, (*headers,), body.decode("utf-8", "replace"))
        with self._lock:
            return self._enter(request) if path == PATH else self._step(request)

    def _step(self, request: WebRequest) -> Answered:
        first = self._place._replace(path=self._how.path)
        found = [(one.step_at(request.method, request.path), one) for one in (self._place, first)]
        step, place = next((one for one in found if one[0] not in (None, Step.ELSEWHERE)), found[0])
        return self._answer(Asked(step or Step.ELSEWHERE, place, request))

    def _enter(self, request: WebRequest) -> Answered | None:
        token, place = request.header("authorization").partition(" ")[2].strip(), self._place
        asked = Asked(Step.CHALLENGE, place, request, "invalid_token" if token else "")
        grant = self._grants.grant_of(token, place.issuer, place.resource, time.time())
        if grant is None:
            return self._answer(asked)
        if not self._refuses(grant, is_call=request.members.get("method") == "tools/call"):
            return None
        self._was_refused = True
        if self._use in ("call", "scope"):
            scope = f"{grant.scope} {_WRITE}"
            asked = asked._replace(error="insufficient_scope", scope=scope)
            return self._answer(asked, refuses=True)
        grant.ends = 0.0
        self._place = place._replace(path=self._how.moves or place.path)
        return self._answer(asked._replace(place=self._place), refuses=True)

    def _refuses(self, grant: Grant, *, is_call: bool) -> bool:
        """Return True if a request is refused although its token counts."""
        return {
            "": False,
            "always": True,
            "once": is_call and not self._was_refused,
            "call": is_call,
            "scope": is_call and _WRITE not in grant.scope.split(),
        }[self._use]

    def _answer(self, asked: Asked, *, refuses: bool = False) -> Answered:
        step, request = asked.step, asked.request
        head, _, body = request.text().partition("\n\n")
        first = KIND.gist(step, head, inwards=True)[1]
        said = str(request.members.get("method", "")) if request.path == PATH else body
        self._note("in", f"{first} {one_line(said, _SHOWN)}".strip())
        never, sent = self._how.never, dict(request.form or request.parameters)
        if never and BREACHES[never](self._grants, asked, sent):
            self._note("broke", never)
        request, now = self._changed(asked), time.time()
        found = answers.prepare(asked._replace(request=request), self._grants, now)
        response, values, what = found.right, dict(found.values), "out"
        if found.consent is not None:
            values["code"] = self._grants.issue_code(found.consent, now)
        for row in self._rows:
            is_over = row.judged.once and self._was_made
            is_here = row.step is step and bool(row.judged.use) is refuses
            if is_here and row.is_about(request) and not is_over:
                response = row.put_into(response, asked.place)
                what = "odd" if row is self._row and row is not _RIGHT else what
        self._was_made = self._was_made or what == "odd"
        self._note(what, KIND.gist(step, response.text, inwards=False)[1])
        out = response.filled(values)
        return out.status, out.headers, out.body.encode("utf-8", "replace")

    def _changed(self, asked: Asked) -> WebRequest:
        """Return a registration as the row has it, and register who names a document."""
        step, place, request, *_ = asked
        client = dict(request.parameters).get("client_id", "")
        if step is Step.REGISTER and self._how.asks:
            return request._replace(body=json.dumps({**request.members, **self._how.asks}))
        if client.startswith("https://") and "documents" in self._row.id:
            uris = [value for name, value in request.parameters if name == "redirect_uri"]
            self._grants.clients[client] = RegisteredClient(client, place.issuer, "", uris, "none")
        return request


def _brings_old_credentials(grants: Grants, asked: Asked, said: Mapping[str, str]) -> bool:
    """Return True if an authority is shown a client or a token of another one."""
    issuer, token = asked.place.issuer, digest(said.get("refresh_token", ""))
    is_old = any(one.refresh == token and one.issuer != issuer for one in grants.grants.values())
    client, _ = answers.in_header(asked.request) or (said.get("client_id", ""), "")
    is_known = grants.client(issuer, client) is not None
    return asked.step in _NAMES_CLIENT and (is_old or not is_known)


_NAMES_CLIENT: Final = (Step.AUTHORIZE, Step.TOKEN)
BREACHES: Final[Mapping[str, Callable[[Grants, Asked, Mapping[str, str]], bool]]] = {
    "other scope": lambda _, asked, said: (
        asked.step is Step.AUTHORIZE and {*said.get("scope", "").split()} != {"a", "b"}
    ),
    "no resource": lambda _, asked, said: (
        asked.step in _NAMES_CLIENT and said.get("resource") != asked.place.resource
    ),
    "no application_type": lambda _, asked, __: (
        asked.step is Step.REGISTER and "application_type" not in asked.request.members
    ),
    "old credentials": _brings_old_credentials,
    "leaks": lambda _, asked, said: (
        "code" in said and asked.request.header("host") not in asked.place.origin
    ),
}
"""What no client may do, by what a row of the table names: seen in one of its requests.

The last argument is its form, or its query.
"""
