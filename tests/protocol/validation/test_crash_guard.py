"""The check never raises, and whoever calls it says so to the person."""

import gc
import json
from typing import Any, NoReturn

import hypothesis.strategies as st
import pytest
from hypothesis import given

from humanmcp import locales
from humanmcp.locales import LANGUAGES
from humanmcp.protocol.conversation.exchange import Exchange, NegotiatedState
from humanmcp.protocol.conversation.outcomes import Refused, Sent
from humanmcp.protocol.conversation.transcript import Direction
from humanmcp.protocol.diagnostics.model import Severity, TextForm
from humanmcp.protocol.json import jsonrpc
from humanmcp.protocol.json.jsonrpc import Json, Message
from humanmcp.protocol.session import McpSession, Party
from humanmcp.protocol.tables import methods, versions
from humanmcp.protocol.validation import check, incoming, outgoing, rules, starting_draft
from humanmcp.protocol.validation.crash_guard import without_collection
from tests.support.speaking import said_in

LINE = '{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{}}'
GOOD = '{"result": {"tools": []}}'


class StrangeError(Exception):
    """What nobody thought of."""


def fail(*_args: object, **_kwargs: object) -> NoReturn:
    """Stand in for any function of the check that has a fault."""
    raise StrangeError("the moon")


def asked(method: str, params: Json, version: str = "2025-11-25") -> Exchange:
    """Make an exchange of a request."""
    request = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    message = jsonrpc.read(json.dumps(request).encode())
    assert isinstance(message, Message)
    return Exchange(1, message, version)


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_fault_of_the_check_is_a_problem_that_blocks_and_keeps_the_text(
    language: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One sentence, in both languages; the text can be sent all the same, as it is."""
    monkeypatch.setattr("humanmcp.protocol.validation.rules.judge", fail)
    verdict = check.check(asked("tools/list", {}), GOOD)
    assert (verdict.text, verdict.line, verdict.forced) == (GOOD, None, GOOD)
    (diagnostic,) = verdict.diagnostics
    assert diagnostic.code == "X01"
    assert diagnostic.blocks
    assert "StrangeError: the moon" in said_in(language, locales.describe, diagnostic)


def test_a_fault_in_what_is_said_of_a_peers_message_blocks_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The message is shown, with a warning beside it."""
    monkeypatch.setattr(incoming, "judge", fail)
    monkeypatch.setattr(incoming, "judge_result", fail)
    exchange = asked("tools/call", {"name": "a"})
    response = jsonrpc.read(b'{"jsonrpc":"2.0","id":1,"result":{}}')
    assert isinstance(response, Message)
    for found in (
        check.remarks(exchange.request, "2025-11-25"),
        check.remarks(exchange.request, "2025-11-25", sender=Direction.OUT),
        check.review(exchange, response),
    ):
        assert [(each.code, each.severity) for each in found] == [("X01", Severity.WARNING)]


def test_a_fault_in_the_check_of_a_saying_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """Something of the person's own is kept, too."""
    monkeypatch.setattr(outgoing, "_judge", fail)
    said = '{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}'
    verdict = check.check_outgoing(said, "2025-11-25", NegotiatedState())
    assert [each.code for each in verdict.diagnostics] == ["X01"]
    assert verdict.forced == said


def test_a_request_that_no_draft_can_be_made_of_starts_empty(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It has to reach a person all the same."""
    monkeypatch.setattr(starting_draft, "_results", fail)
    assert json.loads(check.start(asked("tools/list", {})))["result"] == {}


def test_a_session_goes_on_after_a_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    """The request is there, refused answers stay the person's, and the next one passes."""
    session = McpSession()
    with monkeypatch.context() as broken:
        broken.setattr(incoming, "judge", fail)
        session.receive(LINE.encode())
    (exchange,) = session.pending
    with monkeypatch.context() as broken:
        broken.setattr(rules, "judge", fail)
        refused = session.reply(1, GOOD)
    assert isinstance(refused, Refused)
    assert [each.code for each in refused.verdict.diagnostics] == ["X01"]
    assert session.pending == (exchange,)
    assert isinstance(session.reply(1, GOOD), Sent)


# -- any JSON whatever --------------------------------------------------------------------------

_KEYS = st.text(max_size=3) | st.sampled_from(
    ["type", "properties", "required", "$schema", "$ref", "items", "enum", "name", "default"]
)
_ANY = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_KEYS, inner, max_size=4),
    max_leaves=10,
)
_VERSIONS = st.sampled_from(versions.ALL)
_METHODS = st.sampled_from(list(methods.REQUESTS))


def quietly(codes: Any) -> bool:  # noqa: ANN401 - problems
    """Return True if no problem says that the check itself failed."""
    return all(each.code != "X01" for each in codes)


@given(_ANY, _VERSIONS)
def test_any_json_may_be_the_schema_of_a_tool(schema: Json, version: str) -> None:
    """In the answer to tools/list, and then for what is called and what comes back."""
    tool = {"name": "a", "inputSchema": schema, "outputSchema": schema}
    listed = {"tools": [tool]}
    text = json.dumps({"result": listed})
    assert quietly(check.check(asked("tools/list", {}, version), text).diagnostics)
    negotiated = NegotiatedState(tools={"a": tool})
    call = asked("tools/call", {"name": "a", "arguments": schema}, version)
    assert quietly(check.remarks(call.request, version, negotiated))
    result = json.dumps({"content": [], "structuredContent": schema})
    assert quietly(check.check(call, result, TextForm.RESULT, negotiated).diagnostics)


@given(_ANY, _ANY, _VERSIONS)
def test_any_json_may_be_the_schema_of_a_form(schema: Json, content: Json, version: str) -> None:
    """What is asked, the draft that starts from it, and what is answered."""
    exchange = asked("elicitation/create", {"message": "?", "requestedSchema": schema}, version)
    assert json.loads(check.start(exchange))
    assert quietly(check.remarks(exchange.request, version))
    answer = json.dumps({"action": "accept", "content": content})
    assert quietly(check.check(exchange, answer, TextForm.RESULT).diagnostics)


@given(_METHODS, _ANY, _ANY, _VERSIONS)
def test_any_json_may_be_asked_and_answered(
    method: str, params: Json, result: Json, version: str
) -> None:
    """Every method, every version, both ways."""
    exchange = asked(method, params, version)
    assert quietly(check.remarks(exchange.request, version))
    assert check.start(exchange)
    for form in (TextForm.RESULT, TextForm.ERROR):
        assert quietly(check.check(exchange, json.dumps(result), form).diagnostics)
    said = json.dumps({"jsonrpc": "2.0", "method": method, "params": params})
    assert quietly(check.check_outgoing(said, version, NegotiatedState()).diagnostics)
    session = McpSession(Party.CLIENT)
    session.ask(method, {"a": params})
    answer = json.dumps({"jsonrpc": "2.0", "id": 1, "result": result})
    session.receive(answer.encode())


@pytest.mark.parametrize("collects", [True, False])
@pytest.mark.parametrize("fails", [True, False])
def test_nothing_is_collected_during_a_check_and_afterwards_as_before(
    monkeypatch: pytest.MonkeyPatch, *, collects: bool, fails: bool
) -> None:
    """A collection walks through all values of the text, while no other thread continues."""
    during: list[bool] = []

    def judge(_answer: object) -> list[Any]:
        during.append(gc.isenabled())
        if fails:
            fail()
        return []

    monkeypatch.setattr("humanmcp.protocol.validation.rules.judge", judge)
    (gc.enable if collects else gc.disable)()
    try:
        check.check(asked("tools/list", {}), GOOD)
        assert (during, gc.isenabled()) == ([False], collects)
    finally:
        gc.enable()


def test_it_is_collected_after_a_block_that_began_while_another_one_ended(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Two threads: one has just read whether it is collected when the other one's block ends."""
    first, is_enabled = without_collection(), gc.isenabled
    first.__enter__()

    def read_while_it_ends() -> bool:
        monkeypatch.undo()
        found = is_enabled()
        first.__exit__(None, None, None)
        return found

    monkeypatch.setattr(gc, "isenabled", read_while_it_ends)
    try:
        with without_collection():
            pass
        assert is_enabled()
    finally:
        gc.enable()
