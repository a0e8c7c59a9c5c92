"""What `check` judges: an answer, and the request that it answers, made up where it is not given.

Knows no file and no session.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from humanmcp.locales.stop import StopError
from humanmcp.protocol.conversation.exchange import Exchange
from humanmcp.protocol.json import jsonrpc
from humanmcp.protocol.repair import reading as json_reading
from humanmcp.protocol.spec import methods, versions
from humanmcp.protocol.validation import check

if TYPE_CHECKING:
    from humanmcp.protocol.diagnostics.verdict import TextForm, Verdict


@dataclass(frozen=True, slots=True)
class TypedCase:
    """One answer to judge, and the request that it answers."""

    exchange: Exchange
    text: str
    form: TextForm

    def verdict(self) -> Verdict:
        """Judge it."""
        return self.judge(self.text)

    def judge(self, text: str) -> Verdict:
        """Judge another text in its place."""
        return check.check(self.exchange, text, self.form)


class CaseError(StopError):
    """What was given is no case: a line of `--lines` that is no object, say."""

    room = "check"


@dataclass(frozen=True, slots=True)
class Asked:
    """What is known of the request that an answer belongs to; each part may be missing."""

    request: str | None = None
    method: str | None = None
    revision: str | None = None
    id: Any = None


def case_of(text: str, form: TextForm, asked: Asked) -> TypedCase:
    """Put together what is judged: an answer, and the request that it answers.

    Without a request one is made up: of the method (or the one that the answer looks like), with
    the id of the answer itself.

    Raises:
        CaseError: the request is none.
    """
    if asked.request is None:
        message = _made_up(text, asked)
    else:
        one_line = jsonrpc.encoded(jsonrpc.compact(asked.request))
        found = jsonrpc.read(one_line)
        if not isinstance(found, jsonrpc.Message) or found.kind is not jsonrpc.Kind.REQUEST:
            raise CaseError("no request")
        message = found
    revision = asked.revision or versions.stated_in(message) or _asked_for(message)
    return TypedCase(Exchange(1, message, revision), text, form)


def _asked_for(request: jsonrpc.Message) -> str:
    """Return the revision of a request that states none: what it asks for, else the newest."""
    wanted = request.params.get("protocolVersion") if request.method == "initialize" else None
    if request.method == "server/discover":
        return versions.LATEST_STATELESS
    return wanted if wanted in versions.HANDSHAKE else versions.LATEST_HANDSHAKE


def _made_up(text: str, asked: Asked) -> jsonrpc.Message:
    """Make up a request for an answer that comes without its request."""
    reading = json_reading.read(text)  # also of a text that is not quite JSON yet
    value = reading.value if reading.readable else None
    token = _own_id(reading.json, value) if asked.id is None else json.dumps(asked.id)
    name = asked.method or guessed_method(value)
    made = jsonrpc.read(
        f'{{"jsonrpc":"2.0","id":{token},"method":{json.dumps(name)},"params":{{}}}}'.encode()
    )
    if not isinstance(made, jsonrpc.Message) or made.id is None:
        raise CaseError("no id", got=token)
    return made


def _own_id(text: str, value: Any) -> str:  # noqa: ANN401 - any JSON value
    """Return the token of the answer's own id where it can be one, else 1."""
    if not isinstance(value, dict) or isinstance(value.get("id"), (bool, float)):
        return "1"
    if not isinstance(value.get("id"), (str, int)):
        return "1"
    return jsonrpc.member(text, "id") or "1"


def guessed_method(value: Any) -> str:  # noqa: ANN401 - any JSON value
    """Guess from a result what it answers; `tools/call` where it may be anything."""
    if isinstance(value, dict) and isinstance(value.get("result"), dict):
        value = value["result"]
    if isinstance(value, dict):
        for one in methods.REQUESTS.values():
            if not value.keys().isdisjoint(one.gives_away):
                return one.name
    return "tools/call"
