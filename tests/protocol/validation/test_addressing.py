"""Which exchange a text in `out.txt` is meant for, and what is said when there is none."""

import json

import pytest

from humanmcp.protocol.conversation.exchange import Exchange, RequestArrived
from humanmcp.protocol.diagnostics.model import TextForm
from humanmcp.protocol.json.jsonrpc import Kind
from humanmcp.protocol.session import McpSession
from humanmcp.protocol.validation.addressing import addressed, is_report, kind_typed, unaddressed


def pinged(session: McpSession, *ids: object) -> list[Exchange]:
    """Let requests with these ids arrive."""
    for each in ids:
        body = {"jsonrpc": "2.0", "id": each, "method": "ping"}
        (event,) = session.receive(json.dumps(body).encode())
        assert isinstance(event, RequestArrived)
    return list(session.exchanges.remembered)


def said(session: McpSession, text: str) -> list[str]:
    """Return the codes of what is said of a text that belongs to nothing."""
    found = unaddressed(text, session.exchanges.remembered, session.notice)
    return [one.code for one in found]


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ('{"id":1,"method":"ping"}', Kind.REQUEST),
        ('{"method":"notifications/progress"}', Kind.NOTIFICATION),
        ('{"id":1,"result":{}}', Kind.RESULT),
        ('{"error":"boom"}', Kind.ERROR),
        ('{"id":1,"method":"ping","result":{}}', Kind.RESULT),
        ("[]", None),
        ("{", None),
        ("[" * 5000, None),
        ("{}", None),
    ],
)
def test_what_a_text_wants_to_be_is_told_by_its_members(text: str, kind: Kind | None) -> None:
    """A method makes it something said first; a result or an error makes it an answer."""
    assert kind_typed(text) is kind


def test_the_id_finds_the_exchange_with_its_type() -> None:
    """7 and "7" are different; of neither there, the one that looks alike is meant."""
    number, text = pinged(McpSession(), 7, "7")
    assert addressed('{"id":7,"result":{}}', (number, text)) is number
    assert addressed('{"id":"7","result":{}}', (number, text)) is text
    assert addressed('{"id":"7","result":{}}', (number,)) is number
    assert addressed('{"id":8,"result":{}}', (number, text)) is None


@pytest.mark.parametrize("text", ['{"result":{}}', "sunny", "[1]", '{"id":null,"result":{}}'])
def test_what_has_no_id_is_meant_for_the_only_one_that_waits(text: str) -> None:
    """Also prose, so that the check can say how to write it. With two nobody can tell."""
    one, two = pinged(McpSession(), 1, 2)
    assert addressed(text, (one,)) is one
    assert addressed(text, (one, two)) is None
    assert addressed(text, ()) is None


@pytest.mark.parametrize(
    ("text", "report"),
    [
        ('{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"x"}}', True),
        ('{"error":{"code":-32700,"message":"x"}}', True),
        ('{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"x"}}', True),
        ('{"error":{"code":-32600,"message":"x"}}', False),
        ('{"jsonrpc":"2.0","id":1,"error":{"code":-32700,"message":"x"}}', False),
        ('{"jsonrpc":"2.0","id":null,"error":{"code":-32602,"message":"x"}}', False),
        ('{"id":null,"error":"boom"}', False),
        ("boom", False),
    ],
)
def test_a_report_on_an_unreadable_line_is_no_answer(text: str, *, report: bool) -> None:
    """-32700 cannot be about a request that was read; any other null id is a mistake."""
    assert is_report(text) is report


def test_every_reason_why_nobody_waits_has_its_own_sentence() -> None:
    """The waiting ids are named; an id that is over says how it ended."""
    session = McpSession()
    assert said(session, '{"jsonrpc":"2.0","result":{}}') == ["R52"]
    assert said(session, '{"jsonrpc":"2.0","id":1,"result":{}}') == ["R51"]
    first, _second = pinged(session, 0, 2)
    assert said(session, '{"jsonrpc":"2.0","id":1,"result":{}}') == ["R50"]
    assert said(session, '{"jsonrpc":"2.0","result":{}}') == ["R54"]
    session.reply(first.number, "{}", TextForm.RESULT)
    assert said(session, '{"jsonrpc":"2.0","id":0,"result":7}') == ["R22"]
    cancel = {"method": "notifications/cancelled", "params": {"requestId": 2}}
    session.receive(json.dumps({"jsonrpc": "2.0", **cancel}).encode())
    assert said(session, '{"jsonrpc":"2.0","id":2,"result":{}}') == ["R21"]


def test_an_answer_to_a_notification_is_told_as_that() -> None:
    """With the id of before it is not only too late: the last message wants no answer at all."""
    session = McpSession()
    (first,) = pinged(session, 0)
    session.reply(first.number, "{}", TextForm.RESULT)
    session.receive(b'{"jsonrpc":"2.0","method":"notifications/initialized"}')
    (diagnostic,) = unaddressed(
        '{"jsonrpc":"2.0","id":0,"result":{}}', session.exchanges.remembered, session.notice
    )
    assert diagnostic.code == "R55"
    assert dict(diagnostic.detail) == {"method": "notifications/initialized", "id": "0"}
    assert diagnostic.blocks
    pinged(session, 1)
    assert session.notice == ""


def test_of_a_request_whose_id_was_taken_it_is_said() -> None:
    """Not that the session is over, which it is not."""
    session = McpSession()
    first, _second = pinged(session, 8, 8)
    session.reply(first.number, "{}", TextForm.RESULT)
    assert said(session, '{"jsonrpc":"2.0","id":8,"result":{}}') == ["R53"]
    session.end()
    pinged(session, 9)
    session.end()
    assert said(session, '{"jsonrpc":"2.0","id":9,"result":{}}') == ["R23"]


def test_text_that_is_no_json_is_explained_first() -> None:
    """Broken JSON says where it is broken, not only that an id is missing."""
    session = McpSession()
    pinged(session, 1, 2)
    assert said(session, "sunny") == ["J20"]
    codes = said(session, '{"jsonrpc":"2.0","id":9,"resul')
    assert codes[0] == "J07"
    assert codes[-1] == "R50"


INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 0,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "c", "version": "1"},
    },
}


def test_a_wrong_id_hides_no_other_mistake_where_one_request_waits() -> None:
    """The rest is judged as the answer to that one; of the id only one thing is said."""
    session = McpSession()
    session.receive(json.dumps(INITIALIZE).encode())
    result = '{"protocolVersion":"2025-11-25","capabilities":{"tools":true},"serverInfo":{}}'
    text = f'{{"id":1,"jsonrpc":"2.0","result":{result}}}'
    assert said(session, text) == ["R50", "M16", "M09", "M09"]
    right = '{"name":"s","version":"1"}'
    assert said(session, text.replace("true", "{}").replace(":{}}}", f":{right}}}}}")) == ["R50"]
    pinged(session, 1, 2)
    assert said(session, '{"jsonrpc":"2.0","id":9,"result":{"protocolVersion":1}}') == ["R50"]
