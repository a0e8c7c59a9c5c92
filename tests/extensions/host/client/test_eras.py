"""The envelope of a modern request, and which versions an answer names."""

import json
from collections.abc import Mapping
from typing import Any

import pytest

from humanmcp.extensions.host.client.handshake import Identity, Response, enveloped, supported
from humanmcp.protocol.json.jsonrpc import Message, read

META = "io.modelcontextprotocol/"
IDENTITY = Identity(capabilities={"roots": {"listChanged": True}, "elicitation": {"url": {}}})


def test_every_modern_request_says_who_asks_and_what_may_be_asked_back() -> None:
    """2026-07-28: the roots of a client no longer tell of changes; the rest stays as it is."""
    for params in (None, {"name": "t"}):
        sent = enveloped(params, "2026-07-28", IDENTITY) or {}
        assert sent["_meta"] == {
            f"{META}protocolVersion": "2026-07-28",
            f"{META}clientInfo": {"name": "example-client", "version": "1.0.0"},
            f"{META}clientCapabilities": {"roots": {}, "elicitation": {"url": {}}},
        }
        assert {key: value for key, value in sent.items() if key != "_meta"} == (params or {})


def test_what_was_typed_in_the_meta_wins() -> None:
    """A person may lie on purpose; what is no object gives way."""
    typed = {"_meta": {f"{META}protocolVersion": "2099-01-01", "progressToken": 1}}
    meta = (enveloped(typed, "2026-07-28", IDENTITY) or {})["_meta"]
    assert meta[f"{META}protocolVersion"] == "2099-01-01"
    assert meta["progressToken"] == 1
    assert f"{META}clientInfo" in meta
    broken = enveloped({"_meta": 7}, "2026-07-28", IDENTITY) or {}
    assert broken["_meta"][f"{META}protocolVersion"] == "2026-07-28"


@pytest.mark.parametrize("params", [None, {}, {"_meta": {"progressToken": 1}}])
def test_after_a_handshake_nothing_is_added(params: Mapping[str, Any] | None) -> None:
    """The version is settled."""
    assert enveloped(params, "", IDENTITY) is params


@pytest.mark.parametrize(
    ("answer", "named"),
    [
        ({"result": {"supportedVersions": ["2026-07-28"]}}, ["2026-07-28"]),
        ({"result": {"supportedVersions": "2026-07-28"}}, []),
        ({"result": {}}, []),
        ({"error": {"code": -32022, "message": "", "data": {"supported": ["a"]}}}, ["a"]),
        ({"error": {"code": -32601, "message": "", "data": {"supported": ["a"]}}}, []),
        ({"error": {"code": -32022, "message": "", "data": 7}}, []),
        ({"error": "broken"}, []),
    ],
)
def test_an_answer_to_the_probe_names_versions(answer: dict[str, Any], named: list[str]) -> None:
    """In a result, or in the error -32022; nothing else is believed."""
    asked = read(b'{"jsonrpc":"2.0","id":1,"method":"server/discover"}')
    told = read(json.dumps({"jsonrpc": "2.0", "id": 1, **answer}).encode())
    assert isinstance(asked, Message)
    assert isinstance(told, Message)
    assert supported(Response(asked, told)) == named
