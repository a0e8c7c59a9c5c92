"""How a client opens a session, who it says it is, what it gets, and what can go wrong."""

from __future__ import annotations

import enum
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol, TypeAlias

from humanmcp.http.server_address import CallError
from humanmcp.locales.stop import StopError
from humanmcp.protocol.answer_book.decide import UNSUPPORTED_VERSION
from humanmcp.protocol.json.jsonrpc import Kind, Message, RequestId
from humanmcp.protocol.json.tree import array_at, object_at
from humanmcp.protocol.json.visible import one_line
from humanmcp.protocol.tables import methods, versions

if TYPE_CHECKING:
    from collections.abc import Mapping
    from concurrent.futures import Future

    from humanmcp.protocol.diagnostics.model import Diagnostic


class SessionStart(enum.Enum):
    """How a session is opened."""

    HANDSHAKE = "handshake"
    """`initialize`, then `notifications/initialized` (2024-11-05 to 2025-11-25)."""
    MODERN = "modern"
    """`server/discover`; every request carries its version (2026-07-28)."""
    PROBE = "probe"
    """Ask `server/discover` first and fall back to the handshake, as today's SDKs do."""


def _all_that_a_person_can_do() -> Mapping[str, Any]:
    return {"roots": {"listChanged": True}, "sampling": {}, "elicitation": {}}


@dataclass(frozen=True, slots=True)
class Identity:
    """Who the client says it is, and what a server may ask of it."""

    name: str = "example-client"
    version: str = "1.0.0"
    capabilities: Mapping[str, Any] = field(default_factory=_all_that_a_person_can_do)

    @property
    def info(self) -> dict[str, str]:
        """The `clientInfo` of the wire."""
        return {"name": self.name, "version": self.version}


@dataclass(frozen=True, slots=True)
class Response:
    """The answer to one request, and what the check says of it."""

    request: Message
    message: Message
    diagnostics: tuple[Diagnostic, ...] = ()

    @property
    def result(self) -> dict[str, Any] | None:
        """The result; None when the answer is an error, or no object."""
        result = self.message.body.get("result")
        return result if self.message.kind is Kind.RESULT and isinstance(result, dict) else None

    @property
    def error(self) -> tuple[int | None, str] | None:
        """The error's code and message, as far as they can be read; None for a result."""
        if self.message.kind is not Kind.ERROR:
            return None
        error = self.message.body["error"]
        if not isinstance(error, dict):
            return None, str(error)
        code = error.get("code")
        return code if isinstance(code, int) else None, str(error.get("message", ""))


class Begun(NamedTuple):
    """A request that was sent, and where its answer will be."""

    request: Message
    future: Future[Response]

    @property
    def is_answered(self) -> bool:
        """Return True if its answer is there, or will never be."""
        return self.future.done()

    @property
    def response(self) -> Response:
        """The answer, once it is there.

        Raises:
            EndedError: the server ended before it answered.
        """
        return self.future.result()


LONGEST_LINE: Final = 160
"""Characters of a line that are shown."""


class NoAnswerError(StopError):
    """The server did not answer in time."""

    section = "trouble"

    def __init__(
        self,
        method: str,
        seconds: float,
        *,
        is_longest: bool = False,
        unread: str = "",
        unended: str = "",
    ) -> None:
        """Remember what was asked and for how long it was waited, at most or since progress.

        `unread` is a line that looks like the answer, `unended` one without a line feed.
        """
        code = "no answer at last" if is_longest else "no answer"
        if method == "initialize":
            # "The initialize request MUST NOT be cancelled by clients": then nobody was told.
            code = "no answer to initialize"
        if unread or unended:
            code = "answer without line feed" if unended else "answer not read"
        line, count = one_line(unended or unread, LONGEST_LINE), len(unended)
        super().__init__(code, method=method, seconds=f"{seconds:g}", line=line, count=count)


class NotDeclaredError(StopError):
    """The server did not declare what a request needs. Nothing was sent."""

    section = "trouble"

    def __init__(self, method: str, capability: str) -> None:
        super().__init__("not declared", method=method, capability=capability)


class HandshakeError(StopError):
    """A session could not be opened."""

    section = "trouble"


Key: TypeAlias = tuple[str, str | int | float]
"""A key for comparing ids and tokens: `7` and `"7"` differ."""

NO_KEY: Final = ("", "")
"""The key of a value that is not a token; no request has it."""


def with_progress_token(
    method: str, params: Mapping[str, Any] | None, number: int
) -> Mapping[str, Any] | None:
    """Ask for progress where a request may take long, unless the caller has a token of their own.

    MCP, progress: the token "MUST be unique across all active requests"; the id is, and the
    official TypeScript SDK takes it too.
    """
    # what may ask its user back is what may take a server long
    if not methods.of(method).asks_back:
        return params
    meta = {"progressToken": number, **object_at((params or {}).get("_meta"))}
    return {**(params or {}), "_meta": meta}


def token_of(request: Message) -> Key:
    """Return the key of a request's progress token; `NO_KEY` without one."""
    return as_key(request.meta.get("progressToken"))


def as_key(token: Any) -> Key:  # noqa: ANN401 - any JSON value
    """Return the key of a token; `NO_KEY` for a value that is not a token."""
    if isinstance(token, bool) or not isinstance(token, (str, int)):
        return NO_KEY
    return RequestId("", token).key


def enveloped(
    params: Mapping[str, Any] | None, stated: str, identity: Identity
) -> Mapping[str, Any] | None:
    """Add what every request of 2026-07-28 carries; nothing where no version is stated."""
    if not stated:
        return params
    meta = {
        versions.META_VERSION: stated,
        versions.META_CLIENT: identity.info,
        versions.META_CAPABILITIES: _without_notices(identity.capabilities),
    }
    return {**(params or {}), "_meta": meta | object_at((params or {}).get("_meta"))}


def _without_notices(capabilities: Mapping[str, Any]) -> dict[str, Any]:
    """Leave out of the capabilities what 2026-07-28 no longer has: a client's notifications."""
    return {name: {} if name == "roots" else value for name, value in capabilities.items()}


def supported(response: Response) -> list[Any]:
    """List the versions that an answer to `server/discover` names, be it a result or an error."""
    if response.result is not None:
        return array_at(response.result, "supportedVersions")
    error = object_at(response.message.body, "error")
    is_told = error.get("code") == UNSUPPORTED_VERSION
    return array_at(error, "data", "supported") if is_told else []


PROBE_TIMEOUT: Final = 10.0
"""Seconds that the first `server/discover` of a probe may take, as with the official Python SDK."""


class OpeningClient(Protocol):
    """What opening a session needs of a client."""

    identity: Identity
    timeout: float
    stated: str
    """The version that every request carries; "" in a session with a handshake."""
    server: Mapping[str, Any]
    """What the server said of itself: the result of `initialize` or `server/discover`."""

    def begin(self, method: str, params: Mapping[str, Any] | None = None) -> Begun:
        """Ask without waiting."""

    def wait(self, begun: Begun) -> Response:
        """Wait for the response."""

    def wait_for_first(self, *begun: Begun, timeout: float = 0) -> bool:
        """Wait until one of several requests is answered. False when none was in time."""

    def give_up(self, request: Message, reason: str = "") -> None:
        """Stop waiting for one answer, and tell the server."""

    def notify(self, method: str) -> None:
        """Send a notification."""


def initialize(client: OpeningClient, session_start: SessionStart, version: str) -> None:
    """Open the session in the way that was chosen. `version` is the one of a handshake.

    Raises:
        HandshakeError: the server speaks nothing that we do, or refuses.
        NoAnswerError: it says nothing.
        EndedError: it ended.
    """
    match session_start:
        case SessionStart.HANDSHAKE:
            _accept(client, client.wait(_hello(client, version)), version)
        case SessionStart.MODERN:
            answer = client.wait(_discovery(client))
            if not _adopt(client, answer):
                raise _refused(answer)
        case SessionStart.PROBE:
            _probe(client, version)


def _probe(client: OpeningClient, version: str) -> None:
    """Ask what the server speaks, and fall back to the handshake, as today's SDKs do."""
    probe = _discovery(client)
    # Longer than this it is slow to start, or silent about methods that it does not know: greet it.
    client.wait_for_first(probe, timeout=min(client.timeout, PROBE_TIMEOUT))
    if _is_adopted(client, probe):
        return
    begun = _hello(client, version)
    if not probe.is_answered and _is_late(client, probe, begun):
        return
    answer = client.wait(begun)
    if answer.result is None and _shows_modern(answer):
        _probe_again(client, probe, answer)
        return
    _accept(client, answer, version)
    if not probe.is_answered:
        client.give_up(probe.request, "the server has chosen the handshake")


def _is_late(client: OpeningClient, probe: Begun, begun: Begun) -> bool:
    """Wait for the probe's answer beside that of the handshake: a late answer is an answer."""
    if not client.wait_for_first(probe, begun):
        client.give_up(begun.request)
        raise NoAnswerError(begun.request.method, client.timeout)
    if begun.is_answered or not _is_adopted(client, probe):
        return False
    client.give_up(begun.request)
    return True


def _shows_modern(refusal: Response) -> bool:
    """Return True if a refused `initialize` is evidence of a server that speaks 2026-07-28.

    MCP 2026-07-28: -32022 is its own error; and a server without the handshake should name its
    versions in whatever error it answers `initialize` with.
    """
    number, _why = refusal.error or (None, "")
    return number == UNSUPPORTED_VERSION or bool(_spoken_by_both(refusal))


def _probe_again(client: OpeningClient, probe: Begun, refusal: Response) -> None:
    """Ask once more what the server speaks, as the official Python SDK does: now it is up."""
    if _is_adopted(client, probe):
        return
    again = _discovery(client)
    waiting = [again] if probe.is_answered else [probe, again]
    client.wait_for_first(*waiting)
    if not any(_is_adopted(client, one) for one in waiting):
        raise _refused(refusal)


def _discovery(client: OpeningClient) -> Begun:
    """Ask what the server speaks."""
    client.stated = versions.LATEST_STATELESS
    try:
        return client.begin("server/discover")
    finally:
        client.stated = ""


def _is_adopted(client: OpeningClient, probe: Begun) -> bool:
    """Speak 2026-07-28 from now on, when the answer is there and says so.

    Over HTTP a probe may end without one: an older server refuses what it does not know.
    """
    try:
        return probe.is_answered and _adopt(client, probe.response)
    except CallError:
        return False


def _spoken_by_both(response: Response) -> list[str]:
    """List the versions without a handshake that a server names and this client speaks."""
    named = supported(response)
    return [one for one in versions.STATELESS if one in named]


def _adopt(client: OpeningClient, response: Response) -> bool:
    """Speak the newest version without a handshake from now on, when the server has one, too."""
    both = _spoken_by_both(response)
    if not both:
        return False
    client.stated = both[-1]
    client.server = response.result or {}
    return True


def _hello(client: OpeningClient, version: str) -> Begun:
    asked = {
        "protocolVersion": version,
        "capabilities": client.identity.capabilities,
        "clientInfo": client.identity.info,
    }
    return client.begin("initialize", asked)


def _accept(client: OpeningClient, answer: Response, version: str) -> None:
    """End the handshake, when the server has agreed to it."""
    if answer.result is None:
        raise _refused(answer)
    # "If the client does not support the version in the server's response, it SHOULD
    # disconnect." A missing one is reported by the check; we go on with what we asked for.
    chosen = answer.result.get("protocolVersion", version)
    if chosen not in versions.HANDSHAKE:
        raise HandshakeError("unknown version", version=chosen)
    client.server = answer.result
    client.notify("notifications/initialized")


def _refused(answer: Response) -> HandshakeError:
    number, why = answer.error or (None, "")
    if answer.request.method == "initialize":
        code = "only modern" if _shows_modern(answer) else "not opened"
    else:
        code = "not modern" if answer.error is None else "not discovered"
    return HandshakeError(code, number=number, why=why, version=versions.LATEST_STATELESS)
