"""What one message teaches about a conversation: who speaks, what is offered, in which revision.

The same for its receiver and for an observer, such as a tap between the two.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from humanmcp.protocol.spec import methods, versions
from humanmcp.protocol.spec.versions import features

if TYPE_CHECKING:
    from collections.abc import Mapping

    from humanmcp.protocol.conversation.exchange import Established, Exchange
    from humanmcp.protocol.json.jsonrpc import JsonObject, Message


def revision_of(request: Message, negotiated: str) -> str:
    """Return the revision that a request must be answered in."""
    stated = versions.stated_in(request)
    if stated is not None:
        return stated if stated in versions.STATELESS else versions.LATEST_STATELESS
    if request.method == "initialize":
        asked = request.params.get("protocolVersion")
        return asked if asked in versions.HANDSHAKE else versions.LATEST_HANDSHAKE
    if request.method == "server/discover":
        return versions.LATEST_STATELESS
    return negotiated or versions.LATEST_HANDSHAKE


def stated_after(stated: str, request: Message, revision: str) -> str:
    """Return the revision that was stated last, after one more request of the client's.

    `server/discover` asks which revisions there are: it settles none, and takes none back.
    https://modelcontextprotocol.io/specification/2026-07-28/server/discover
    """
    if features(revision).stateless and request.method != "server/discover":
        return revision
    return stated


def after_request(established: Established, request: Message, revision: str) -> Established:
    """Return what is known after a client's request: it says who it is, and what it can do."""
    if features(revision).stateless:
        client = request.meta.get(versions.META_CLIENT)
        capabilities = request.meta.get(versions.META_CAPABILITIES)
    elif request.method == "initialize":
        client = request.params.get("clientInfo")
        capabilities = request.params.get("capabilities")
    else:
        return established
    if isinstance(client, dict):
        established = established._replace(
            client_name=str(client.get("name", "")),
            client_version=str(client.get("version", "")),
        )
    if isinstance(capabilities, dict):
        established = established._replace(client_capabilities=capabilities)
    return established


def declared_by(exchange: Exchange, established: Established | None) -> Mapping[str, Any]:
    """Return what the client has declared: in 2026-07-28 each request says it of itself."""
    if features(exchange.revision).stateless:
        stated = exchange.request.meta.get(versions.META_CAPABILITIES)
        return stated if isinstance(stated, dict) else {}
    return {} if established is None else established.client_capabilities


def may_teach(request: Message, line: str) -> bool:
    """Return True if a result may hold what `after_result` or `question_in` look for.

    It is asked of the text, so that a long answer which teaches nothing is not decoded for that.
    """
    counts = methods.of(request.method).result_counts
    return counts or "input_required" in line or "\\" in line


def after_result(established: Established, request: Message, result: JsonObject) -> Established:
    """Return what is known after a server's result: what it offers, and which tools it has."""
    offered = result.get("capabilities")
    if methods.of(request.method).introduces and isinstance(offered, dict):
        established = established._replace(offered=offered)
    if request.method == "tools/list":
        established = _after_tools(established, request, result.get("tools"))
    return established


def _after_tools(established: Established, request: Message, tools: Any) -> Established:  # noqa: ANN401 - any JSON value
    if not isinstance(tools, list):
        return established
    named: Mapping[str, Any] = {
        tool["name"]: tool
        for tool in tools
        if isinstance(tool, dict) and isinstance(tool.get("name"), str)
    }
    # A request with a cursor asks for a further page: it adds to what is known.
    before = established.tools if "cursor" in request.params else None
    return established._replace(tools={**(before or {}), **named}, newly_prepared=False)


def question_in(result: JsonObject) -> str:
    """Return the `requestState` of a question back to the user (2026-07-28), "" for none."""
    state = result.get("requestState")
    asks = result.get("resultType") == "input_required"
    return state if asks and isinstance(state, str) else ""
