"""Which exchange a text in `out.txt` is meant for, and what is said when there is none."""

import json

import pytest

from humanmcp.protocol.conversation.exchange import Exchange
from humanmcp.protocol.conversation.outcomes import RequestArrived
from humanmcp.protocol.diagnostics.model import TextForm
from humanmcp.protocol.json.jsonrpc import Kind
from humanmcp.protocol.session import McpSession
from humanmcp.protocol.validation.addressing import (
    Documents,
    addressed,
    divide,
    is_report,
    kind_typed,
    unaddressed,
    unmatched,
)
from tests.support.verdicts import R2025, R2025_03, R2026, asked


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
        ('{"id":1,"method":"ping","result":null,"error":null}', Kind.REQUEST),
        ('{"id":1,"method":null,"result":{},"error":null}', Kind.RESULT),
        ('{"id":1,"method":7}', Kind.REQUEST),
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
    assert said(session, '{"jsonrpc":"2.0","id":0,"result":7}') == ["R22", "R50"]
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


@pytest.mark.parametrize(
    ("text", "texts", "ends", "state"),
    [
        ('{"a":1}', [(0, 7)], [7], ""),
        ('{"a":1} ;\n[2]//x\n', [(0, 7), (10, 13)], [9, 16], ""),
        ('{"a":1}}, ', [(0, 7)], [9], ""),
        ('{"a":"}"}', [(0, 9)], [9], ""),
        ("{} # c\n{}", [(0, 2), (7, 9)], [6, 9], ""),
        ("{}/* a\n*/ {}", [(0, 2), (10, 12)], [9, 12], ""),
        ("[1][2]", [(0, 3), (3, 6)], [3, 6], ""),
        ("{}){}", [(0, 2), (3, 5)], [3, 5], ""),
        ("{}; ;{}", [(0, 2), (5, 7)], [5, 7], ""),
        ("\ufeff{}\0", [(1, 3)], [3], ""),
        ("", [], [], ""),
        ('{"a":1', [], [], "incomplete"),
        ('{} {"a"', [(0, 2)], [2], "incomplete"),
        ("x", [], [], "malformed"),
        ("{} x", [(0, 2)], [2], "malformed"),
    ],
)
def test_a_text_is_divided_into_its_documents(
    text: str, texts: list[tuple[int, int]], ends: list[int], state: str
) -> None:
    """With what stands behind each and is no answer; the last one may still be written."""
    wanted = Documents(tuple(texts), tuple(ends), state == "incomplete", state == "malformed")
    assert divide(text) == wanted


@pytest.mark.parametrize(
    ("text", "pending", "code", "detail", "spot", "fix"),
    [
        ('{"id":5,"result":{}}', [], "R51", {"typed": "5"}, (6, 7), None),
        ('{"result":{}}', [], "R52", {}, (0, 0), None),
        ('{"id":5,"result":{}}', ["3"], "R50", {"pending": "3", "typed": "5"}, (6, 7), "guess 3"),
        ('{"result":{}}', ["3"], "R02", {"id": "3"}, (0, 0), None),
        ('{"id":null}', ["3"], "R02", {"id": "3"}, (6, 10), "guess 3"),
        ('{"id":true}', ["3"], "R02", {"id": "3"}, (6, 10), "guess 3"),
        ('{"result":{}}', ["3", '"x"'], "R54", {"id": '3, "x"'}, (0, 0), None),
        ('{"result":{}}', ["3", "3"], "R02", {"id": "3"}, (0, 0), None),
        ('{"result":{}}', ["3", "4", "3"], "R54", {"id": "3, 4"}, (0, 0), None),
        ('{"id":"3"}', ["3"], "R04", {"typed": '"3"', "id": "3"}, (6, 9), "safe 3"),
        ('{"id":"3"}', ["4", "3"], "R04", {"typed": '"3"', "id": "3"}, (6, 9), "safe 3"),
        ('{"id":3}', ['"3"'], "R04", {"typed": "3", "id": '"3"'}, (6, 7), 'safe "3"'),
        ('{"id":5}', ["3", "4"], "R50", {"pending": "3, 4", "typed": "5"}, (6, 7), None),
        ('{"id":1.0}', ["1"], "R50", {"pending": "1", "typed": "1.0"}, (6, 9), "guess 1"),
        ("{'id': 7}", ["3"], "R50", {"pending": "3", "typed": "7"}, (7, 8), "guess 3"),
        ("[1]", ["3"], "R12", {}, (0, 0), None),
        ("x", ["3"], "R02", {"id": "3"}, (0, 0), None),
        (
            '{"id": 5}',
            [str(number) for number in range(10, 18)],
            "R50",
            {"pending": "10, 11, 12, 13, 14, 15, 16, 17", "typed": "5"},
            (7, 8),
            None,
        ),
        (
            '{"id": 5}',
            [str(number) for number in range(10, 19)],
            "R50",
            {"pending": "10, 11, 12, 13, 14, 15, 16, 17", "typed": "5"},
            (7, 8),
            None,
        ),
    ],
)
def test_an_id_that_belongs_to_nothing_is_told_with_those_that_wait(
    text: str,
    pending: list[str],
    code: str,
    detail: dict[str, str],
    spot: tuple[int, int],
    *,
    fix: str | None,
) -> None:
    """At the id; the one that was meant is put there where only one can be meant."""
    found = unmatched(text, [asked("ping", {}, token=token) for token in pending])
    assert (found.code, dict(found.detail)) == (code, detail)
    assert (found.start, found.end, found.line, found.column) == (*spot, 1, spot[0] + 1)
    if found.fix is None:
        assert fix is None
    else:
        (edit,) = found.fix.edits
        assert f"{found.fix.applicability.value} {edit.new}" == fix
        assert (edit.start, edit.end, found.fix.label) == (*spot, "replace")


def test_an_array_is_a_batch_where_the_version_has_batches() -> None:
    """Only 2025-03-26 has."""
    for version, code in ((R2025, "R12"), (R2025_03, "R13"), (R2026, "R12")):
        assert unmatched("[1]", [asked("ping", {}, version=version)]).code == code
