"""The demo's host does with every broken answer what `faults.md` says a good host does."""

import json
from typing import Any

import pytest

from humanmcp.extensions.classroom.demo.good_host import (
    Answered,
    Failed,
    GoodHost,
    Ignored,
    Noticed,
    Strictness,
    WasAsked,
)
from humanmcp.locales import LANGUAGES, describe, say
from humanmcp.protocol.conversation.exchange import Exchange
from humanmcp.protocol.json.jsonrpc import Message
from humanmcp.protocol.tables.faults import Fault
from humanmcp.protocol.validation import check
from humanmcp.protocol.validation.faults import faults, with_fault
from tests.support.speaking import said_in

RIGHT = {"content": [{"type": "text", "text": "sunny"}]}


def asking(
    strictness: Strictness = Strictness.STRICT, method: str = "tools/call", name: str = "t"
) -> tuple[GoodHost, Message]:
    """Return a host that waits for one answer."""
    host = GoodHost(strictness)
    params: dict[str, Any] = {"name": name, "arguments": {}}
    if method == "initialize":
        params = {"protocolVersion": "2024-11-05", "capabilities": {}, "clientInfo": {}}
    return host, host.ask(method, params)


def take(host: GoodHost, message: object) -> Any:  # noqa: ANN401 - one of the reactions
    """Let it take one line and return its one reaction."""
    line = message if isinstance(message, str) else json.dumps(message)
    (reaction,) = host.take(line.encode())
    return reaction


def answer(id: object = 1, **body: object) -> dict[str, object]:  # noqa: A002 - the protocol's own word
    """Make an answer."""
    return {"jsonrpc": "2.0", "id": id, **(body or {"result": RIGHT})}


def on_the_wire(request: Message, fault: Fault) -> str:
    """Break the right answer and return the line that Send anyway writes."""
    exchange = Exchange(1, request, "2024-11-05")
    verdict = check.check(exchange, with_fault(exchange, json.dumps(answer()), fault))
    line = verdict.line or verdict.forced
    assert line is not None
    return line


WANTED = {
    Fault.WRONG_ID: (Ignored, Ignored),
    Fault.ID_AS_TEXT: (Ignored, Answered),
    Fault.RESULT_AND_ERROR: (Failed, Failed),
    Fault.NO_JSONRPC: (Ignored, Answered),
    Fault.UNKNOWN_FIELD: (Answered, Answered),
    Fault.LONE_SURROGATE: (Answered, Answered),
    Fault.HUGE: (Answered, Answered),
    Fault.CUT_IN_HALF: (Ignored, Ignored),
    Fault.LOG_LINE: (Ignored, Ignored),
}
"""What each fault of a tool call comes to, in a strict and in a lenient mood."""


@pytest.mark.parametrize("strictness", Strictness)
def test_every_fault_has_the_end_that_the_manual_promises(strictness: Strictness) -> None:
    """None of them ends the host, and none leaves it without a word."""
    for fault, (strict, lenient) in WANTED.items():
        host, request = asking(strictness)
        reaction = take(host, on_the_wire(request, fault))
        assert isinstance(reaction, strict if strictness is Strictness.STRICT else lenient), fault
    assert set(faults(Exchange(1, request, "2024-11-05"))) <= set(WANTED)


@pytest.mark.parametrize("strictness", Strictness)
@pytest.mark.parametrize(
    "body",
    [
        {"result": {"content": "sunny"}},
        {"result": "sunny"},
        {"error": "no"},
        {"result": None},
        {"result": {"content": None}},
    ],
)
def test_an_answer_that_cannot_be_read_fails_its_call(
    strictness: Strictness, body: dict[str, object]
) -> None:
    """A sentence instead of a list, a result or an error: the call fails, the host goes on."""
    host, _ = asking(strictness)
    assert isinstance(take(host, answer(**body)), Failed)
    host.ask("tools/call", {"name": "t"})
    assert isinstance(take(host, answer(2)), Answered)


@pytest.mark.parametrize(
    ("item", "strict"),
    [
        ({"type": "txt", "text": "sunny"}, Failed),
        ({"type": "image", "data": "eA=="}, Failed),
        ({"type": "image", "data": "???", "mimeType": "image/png"}, Answered),
        ({"type": "text", "text": "sunny", "colour": "blue"}, Answered),
    ],
)
def test_an_answer_that_no_measured_client_takes_fails_its_call(
    item: dict[str, object], strict: type
) -> None:
    """Some of the measured SDKs take the third one. A lenient host takes all of them."""
    for strictness, wanted in ((Strictness.STRICT, strict), (Strictness.LENIENT, Answered)):
        host, _ = asking(strictness)
        assert isinstance(take(host, answer(result={"content": [item]})), wanted), strictness


@pytest.mark.parametrize("method", ["initialize", "tools/list", "tools/call"])
@pytest.mark.parametrize("strictness", Strictness)
@pytest.mark.parametrize(
    "value", [None, 0, "x", [], [1], {}, {"tools": {}}, {"tools": [1, {"name": 2}]}, {"content": 1}]
)
@pytest.mark.parametrize("member", ["result", "error"])
def test_no_value_ends_the_host(
    method: str, strictness: Strictness, value: object, member: str
) -> None:
    """Whatever stands in a result or an error, the host understands it or fails the call."""
    host, _ = asking(strictness, method)
    reaction = take(host, answer(**{member: value}))
    assert isinstance(reaction, (Answered, Failed))


def test_a_wrong_id_is_ignored_and_the_right_one_counts_afterwards() -> None:
    """It names the id that nobody asked with, and those that wait."""
    host, _ = asking()
    reaction = take(host, answer(1000001))
    assert reaction == Ignored("ignored-unasked", {"id": "1000001", "waiting": "1"})
    assert isinstance(take(host, answer(1)), Answered)


def test_an_id_of_the_other_type_is_told_apart() -> None:
    """The sentence says that a number and a text are two ids."""
    host, _ = asking()
    assert take(host, answer("1")).code == "ignored-id-type"


def test_a_second_answer_is_ignored() -> None:
    """The first one counts."""
    host, _ = asking()
    assert isinstance(take(host, answer()), Answered)
    assert take(host, answer()).code == "ignored-again"


def test_an_answer_after_the_host_gave_up_is_ignored() -> None:
    """The server was told so with notifications/cancelled."""
    host, request = asking()
    line = host.give_up(request, 20)
    assert line is not None
    assert json.loads(line)["params"] == {"requestId": 1, "reason": "no answer within 20 s"}
    assert take(host, answer()).code == "ignored-late"


def test_a_version_that_nobody_speaks_ends_the_connection() -> None:
    """In both moods: there is nothing that the two could say to each other."""
    for strictness in Strictness:
        host, request = asking(strictness, "initialize")
        reaction = take(host, on_the_wire(request, Fault.WRONG_VERSION))
        assert isinstance(reaction, Failed)
        assert reaction.code == "failed-version"


def test_an_error_without_an_id_and_a_batch_are_ignored() -> None:
    """Neither belongs to a request of this version."""
    host, _ = asking()
    assert take(host, answer(None, error={"code": -32700, "message": "?"})).code == "ignored-no-id"
    assert take(host, [answer()]).diagnostic.code == "N09"


def test_bytes_that_are_no_text_are_ignored() -> None:
    """They are named as what they are."""
    host, _ = asking()
    (reaction,) = host.take(b'{"jsonrpc":"2.0","id":1,"result":"\xff"}')
    assert isinstance(reaction, Ignored)
    assert reaction.diagnostic is not None
    assert reaction.diagnostic.code == "N02"


def test_what_the_server_asks_is_answered() -> None:
    """A ping and the roots as declared; what was not declared is refused with -32601."""
    host, _ = asking()
    for method, member in (("ping", "result"), ("roots/list", "result"), ("x/y", "error")):
        reaction = take(host, {"jsonrpc": "2.0", "id": method, "method": method})
        assert isinstance(reaction, WasAsked)
        assert member in json.loads(reaction.line)


def test_a_notification_is_noticed() -> None:
    """It wants no answer."""
    host, _ = asking()
    assert isinstance(take(host, {"jsonrpc": "2.0", "method": "notifications/message"}), Noticed)


def test_a_failed_tool_is_told_from_a_refused_call() -> None:
    """`isError` is read by the model, an error by the host."""
    host, _ = asking()
    reaction = take(host, answer(result={**RIGHT, "isError": True}))
    assert reaction.code == "understood-tool-error"


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_server_is_told_what_it_declares_also_if_that_is_nothing(language: str) -> None:
    """A sentence, and no sign in the place of a word."""
    declared: list[dict[str, Any]] = [{}, {"tools": {}, "logging": {}}]
    for capabilities in declared:
        host, _ = asking(method="initialize")
        info = {"name": "weather", "version": "1.0"}
        result = {"protocolVersion": "2024-11-05", "capabilities": capabilities, "serverInfo": info}
        reaction = take(host, answer(result=result))
        words = say("demo", reaction.code, language, **reaction.fillings)
        assert "weather 1.0" in words
        assert ("tools, logging" in words) is bool(capabilities)
        assert "-" not in words


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_reaction_has_its_sentence(language: str) -> None:
    """Also those that name a problem of the check."""
    for fault in WANTED:
        host, request = asking()
        reaction = take(host, on_the_wire(request, fault))
        why = (
            said_in(language, describe, reaction.diagnostic)
            if getattr(reaction, "problem", None)
            else ""
        )
        fillings = dict(getattr(reaction, "fillings", {}), why=why, method=request.method)
        assert say("demo", reaction.code, language, **fillings)
