"""How a session begins: by the handshake, by asking what the server speaks, or by both in turn.

A probe must lose no server that is only slow to start: whatever shows that a server speaks
2026-07-28 counts, late or not. Knows no transport; asks through a `Client`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from humanmcp.host.client.handshake import NoAnswerError, Opening, OpeningError, Response
from humanmcp.host.client.request_meta import supported
from humanmcp.http.server_address import CallError
from humanmcp.protocol.rules.answer_book import UNSUPPORTED_REVISION
from humanmcp.protocol.spec import versions

if TYPE_CHECKING:
    from humanmcp.host.client.client import Begun, Client

PROBE_PATIENCE: Final = 10.0
"""Seconds that the first `server/discover` of a probe may take, as with the official Python SDK."""


def initialize(client: Client, opening: Opening, revision: str) -> None:
    """Open the session in the way that was chosen. `revision` is the one of a handshake.

    Raises:
        OpeningError: the server speaks nothing that we do, or refuses.
        NoAnswerError: it says nothing.
        EndedError: it ended.
    """
    match opening:
        case Opening.HANDSHAKE:
            _accept(client, client.wait(_hello(client, revision)), revision)
        case Opening.MODERN:
            if not _adopt(client, client.wait(_discovery(client))):
                raise OpeningError("not modern", revision=versions.LATEST_STATELESS)
        case Opening.PROBE:
            _probe(client, revision)


def _probe(client: Client, revision: str) -> None:
    """Ask what the server speaks, and fall back to the handshake, as today's SDKs do."""
    probe = _discovery(client)
    # Longer than this it is slow to start, or silent about methods that it does not know: greet it.
    client.wait_for_first(probe, patience=min(client.patience, PROBE_PATIENCE))
    if _is_adopted(client, probe):
        return
    begun = _hello(client, revision)
    if not probe.is_answered and _is_late(client, probe, begun):
        return
    answer = client.wait(begun)
    if answer.result is None and _shows_modern(answer):
        _probe_again(client, probe, answer)
        return
    _accept(client, answer, revision)
    if not probe.is_answered:
        client.give_up(probe.request, "the server has chosen the handshake")


def _is_late(client: Client, probe: Begun, begun: Begun) -> bool:
    """Wait for the probe's answer beside that of the handshake: a late answer is an answer."""
    if not client.wait_for_first(probe, begun):
        client.give_up(begun.request)
        raise NoAnswerError(begun.request.method, client.patience)
    if begun.is_answered or not _is_adopted(client, probe):
        return False
    client.give_up(begun.request)
    return True


def _shows_modern(refusal: Response) -> bool:
    """Return True if a refused `initialize` is evidence of a server that speaks 2026-07-28.

    MCP 2026-07-28: -32022 is its own error; and a server without the handshake should name its
    revisions in whatever error it answers `initialize` with.
    """
    number, _why = refusal.error or (None, "")
    return number == UNSUPPORTED_REVISION or bool(_spoken_by_both(refusal))


def _probe_again(client: Client, probe: Begun, refusal: Response) -> None:
    """Ask once more what the server speaks, as the official Python SDK does: now it is up."""
    if _is_adopted(client, probe):
        return
    again = _discovery(client)
    waiting = [again] if probe.is_answered else [probe, again]
    client.wait_for_first(*waiting)
    if not any(_is_adopted(client, one) for one in waiting):
        raise _refused(refusal)


def _discovery(client: Client) -> Begun:
    """Ask what the server speaks."""
    client.stated = versions.LATEST_STATELESS
    try:
        return client.begin("server/discover")
    finally:
        client.stated = ""


def _is_adopted(client: Client, probe: Begun) -> bool:
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


def _adopt(client: Client, response: Response) -> bool:
    """Speak the newest version without a handshake from now on, when the server has one, too."""
    both = _spoken_by_both(response)
    if not both:
        return False
    client.stated = both[-1]
    client.server = response.result or {}
    return True


def _hello(client: Client, revision: str) -> Begun:
    asked = {
        "protocolVersion": revision,
        "capabilities": client.identity.capabilities,
        "clientInfo": client.identity.info,
    }
    return client.begin("initialize", asked)


def _accept(client: Client, answer: Response, revision: str) -> None:
    """End the handshake, when the server has agreed to it."""
    if answer.result is None:
        raise _refused(answer)
    # "If the client does not support the version in the server's response, it SHOULD
    # disconnect." A missing one is reported by the check; we go on with what we asked for.
    chosen = answer.result.get("protocolVersion", revision)
    if chosen not in versions.HANDSHAKE:
        raise OpeningError("unknown revision", revision=chosen)
    client.server = answer.result
    client.notify("notifications/initialized")


def _refused(answer: Response) -> OpeningError:
    number, why = answer.error or (None, "")
    code = "only modern" if _shows_modern(answer) else "not opened"
    return OpeningError(code, number=number, why=why)
