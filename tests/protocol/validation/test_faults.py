"""Answers that are broken on purpose: one fault each, and the rest as it was written."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from humanmcp.locales import LANGUAGES, say
from humanmcp.protocol.conversation.exchange import Exchange
from humanmcp.protocol.conversation.outcomes import Sent
from humanmcp.protocol.json import jsonrpc, tree
from humanmcp.protocol.json.jsonrpc import Message
from humanmcp.protocol.session import McpSession
from humanmcp.protocol.tables.faults import Fault
from humanmcp.protocol.validation import check
from humanmcp.protocol.validation.faults import HUGE, LOG_LINE, faults, with_fault
from humanmcp.protocol.validation.starting_draft import start
from tests.support.verdicts import asked

SENTENCE = '{"jsonrpc": "2.0", "id": 7, "result": {"content": [{"type": "text", "text": "sunny"}]}}'


def exchange(method: str = "tools/call", token: str = "7", version: str = "2025-11-25") -> Exchange:
    """Make a request that waits."""
    line = f'{{"jsonrpc":"2.0","id":{token},"method":"{method}","params":{{}}}}'
    found = jsonrpc.read(line.encode())
    assert isinstance(found, Message)
    return Exchange(1, found, version)


def on_the_wire(asked: Exchange, text: str) -> str:
    """Return the line that goes out when it is sent anyway."""
    verdict = check.check(asked, text)
    line = verdict.line or verdict.forced
    assert line is not None
    return line


def body(asked: Exchange, fault: Fault, text: str = SENTENCE) -> Any:  # noqa: ANN401 - any JSON value
    """Break an answer and return what the client reads."""
    return json.loads(on_the_wire(asked, with_fault(asked, text, fault)))


ERROR = '{"jsonrpc": "2.0", "id": 7, "error": {"code": -32602, "message": "no"}}'
OPENING, MODERN = exchange("initialize"), exchange(version="2026-07-28")


@pytest.mark.parametrize(
    ("asked", "fault", "text", "pointer", "value"),
    [
        # of the same type, and far from the right one: no other request is answered by mistake
        (exchange(), Fault.WRONG_ID, SENTENCE, "/id", 1000007),
        (exchange(token="9007199254740993"), Fault.WRONG_ID, SENTENCE, "/id", 9007199255740993),
        (exchange(token='"a"'), Fault.WRONG_ID, SENTENCE, "/id", "a-wrong"),
        # an id changes its type and not its digits
        (exchange(), Fault.ID_AS_TEXT, SENTENCE, "/id", "7"),
        (exchange(token='"12"'), Fault.ID_AS_NUMBER, SENTENCE, "/id", 12),
        # a result gets an error, and an error a result
        (exchange(), Fault.RESULT_AND_ERROR, SENTENCE, "/result/content/0/text", "sunny"),
        (exchange(), Fault.RESULT_AND_ERROR, ERROR, "/result", {}),
        (exchange(), Fault.RESULT_AND_ERROR, ERROR, "/error/message", "no"),
        # a version that nobody published, a type that there is not
        (OPENING, Fault.WRONG_VERSION, start(OPENING), "/result/protocolVersion", "1999-01-01"),
        (MODERN, Fault.WRONG_RESULT_TYPE, SENTENCE, "/result/resultType", "finished"),
        # a huge text is added to the `_meta` that is there
        (exchange("ping"), Fault.HUGE, '{"result": {"_meta": {"a": 1}}}', "/result/_meta/a", 1),
    ],
)
def test_one_thing_is_wrong(
    asked: Exchange, fault: Fault, text: str, pointer: str, value: object
) -> None:
    """In the line that goes out."""
    assert tree.at(body(asked, fault, text), pointer) == value


def test_members_come_and_go() -> None:
    """R01, R05 and R17; in the place of an error the answer is begun anew."""
    assert set(body(exchange(), Fault.NO_JSONRPC)) == {"id", "result"}
    assert set(body(exchange(), Fault.RESULT_AND_ERROR)) == {"jsonrpc", "id", "result", "error"}
    assert "unknownField" in body(exchange(), Fault.UNKNOWN_FIELD)
    assert "error" not in body(exchange(), Fault.LONE_SURROGATE, ERROR)
    assert "_meta" in body(exchange("nonsense"), Fault.LONE_SURROGATE, ERROR)["result"]
    assert with_fault(exchange(), '{"jsonrpc": "2.0"}', Fault.NO_JSONRPC) == "{}"


@pytest.mark.parametrize(
    ("asked", "among", "offered"),
    [
        # a number can become text, and a text of digits a number
        (exchange(), {Fault.ID_AS_TEXT, Fault.ID_AS_NUMBER}, {Fault.ID_AS_TEXT}),
        (exchange(token='"7"'), {Fault.ID_AS_TEXT, Fault.ID_AS_NUMBER}, {Fault.ID_AS_NUMBER}),
        (exchange(token='"a-1"'), {Fault.ID_AS_TEXT, Fault.ID_AS_NUMBER}, set()),
        (exchange(token='"007"'), {Fault.ID_AS_TEXT, Fault.ID_AS_NUMBER}, set()),
        (exchange(token='"\\u0664"'), {Fault.ID_AS_TEXT, Fault.ID_AS_NUMBER}, set()),
        (exchange(token='""'), {Fault.ID_AS_TEXT, Fault.ID_AS_NUMBER}, set()),
        # a version is said in the handshake, and 2026-07-28 has result types
        (OPENING, {Fault.WRONG_VERSION}, {Fault.WRONG_VERSION}),
        (exchange(), {Fault.WRONG_VERSION, Fault.WRONG_RESULT_TYPE}, set()),
        (MODERN, {Fault.WRONG_RESULT_TYPE}, {Fault.WRONG_RESULT_TYPE}),
    ],
)
def test_a_fault_is_offered_where_it_can_be_made(
    asked: Exchange, among: set[Fault], offered: set[Fault]
) -> None:
    """Nothing is offered that would change nothing."""
    assert among & set(faults(asked)) == offered


def test_the_rest_stays_as_it_was_written() -> None:
    """Numbers, order and escapes of what the person wrote are not touched."""
    text = '{"id": 7, "jsonrpc": "2.0", "result": {"z": 1.0, "a": [1e5,\n   "\\u00e9"]}}'
    line = on_the_wire(exchange(), with_fault(exchange(), text, Fault.UNKNOWN_FIELD))
    assert '{"id":7,"jsonrpc":"2.0","result":{"z":1.0,"a":[1e5,"\\u00e9"]}' in line


def test_a_cut_message_is_a_part_of_what_it_was() -> None:
    """J07: it ends in the middle, and no more follows."""
    line = on_the_wire(exchange(), with_fault(exchange(), SENTENCE, Fault.CUT_IN_HALF))
    assert line.startswith('{   "jsonrpc": "2.0",   "id": 7,')
    with pytest.raises(ValueError, match="line 1"):
        json.loads(line)


def test_a_log_line_stands_in_the_place_of_the_answer() -> None:
    """Whatever was written before."""
    assert with_fault(exchange(), SENTENCE, Fault.LOG_LINE) == LOG_LINE
    assert on_the_wire(exchange(), LOG_LINE) == LOG_LINE


def test_half_a_character_goes_out_as_the_escape_that_it_is() -> None:
    r"""J23: `\ud83d` is legal JSON, and no character."""
    line = on_the_wire(exchange(), with_fault(exchange(), SENTENCE, Fault.LONE_SURROGATE))
    assert '"?\\ud83d?"' in line
    assert json.loads(line)["result"]["content"][0]["text"] == "?\ud83d?"


@pytest.mark.parametrize(
    ("method", "place"),
    [
        ("tools/call", lambda result: result["content"][0]["text"]),
        ("sampling/createMessage", lambda result: result["content"]["text"]),
        ("ping", lambda result: result["_meta"]["text"]),
    ],
)
def test_a_huge_text_stands_where_it_is_read(method: str, place: Any) -> None:  # noqa: ANN401 - looks into JSON
    """J40: it is legal, so it needs no Send anyway."""
    asked = exchange(method)
    text = with_fault(asked, start(asked), Fault.HUGE)
    assert len(place(body(asked, Fault.HUGE, start(asked))["result"])) == HUGE
    assert check.check(asked, text).sendable


@pytest.mark.parametrize(
    "text", ["", "no JSON", "[1]", '"text"', "[" * 100_000, '{"id": 7, "result"']
)
@pytest.mark.parametrize("fault", [Fault.WRONG_ID, Fault.HUGE])
def test_a_text_that_cannot_be_read_is_begun_anew(text: str, fault: Fault) -> None:
    """There is nothing in it that could be kept."""
    assert body(exchange(), fault, text)["jsonrpc"] == "2.0"


@pytest.mark.parametrize("language", LANGUAGES)
def test_what_nobody_has_written_yet_is_filled_in(language: str) -> None:
    """The fault shall be the only thing that is wrong."""
    asked = exchange()
    text = with_fault(asked, start(asked, language=language), Fault.UNKNOWN_FIELD)
    codes = [one.code for one in check.check(asked, text).diagnostics if one.blocks]
    assert codes == ["R17"]


@pytest.mark.parametrize("fault", [Fault.WRONG_ID, Fault.UNKNOWN_FIELD, Fault.LONE_SURROGATE])
def test_what_is_filled_in_is_in_the_language_of_the_person(fault: Fault) -> None:
    """A text that is no message is begun anew; the fault itself is a word of no language."""
    text = with_fault(exchange(), "", fault, "ja")
    assert ("わざと壊した" in text) is (fault is not Fault.LONE_SURROGATE)
    assert "on purpose" not in text


@pytest.mark.parametrize("method", ["tools/call", "initialize", "prompts/get", "nonsense"])
@pytest.mark.parametrize("version", ["2024-11-05", "2025-11-25", "2026-07-28"])
def test_every_fault_goes_out_on_one_line_and_is_recorded_as_deliberate(
    method: str, version: str
) -> None:
    """Design, section 6: Send anyway is explicit; the server writes whole lines only."""
    for fault in faults(exchange(method, version=version)):
        session = McpSession()
        meta = f'{{"_meta":{{"io.modelcontextprotocol/protocolVersion":"{version}"}}}}'
        params = meta if version == "2026-07-28" else "{}"
        session.receive(
            f'{{"jsonrpc":"2.0","id":7,"method":"{method}","params":{params}}}'.encode()
        )
        asked = session.exchanges[1]
        text = with_fault(asked, start(asked), fault)
        outcome = session.reply(1, text, anyway=True)
        assert isinstance(outcome, Sent), (fault, method)
        assert outcome.line is not None
        assert "\n" not in outcome.line
        wrong = [one for one in outcome.verdict.diagnostics if one.blocks]
        assert outcome.deliberate is bool(wrong)
        assert wrong or fault is Fault.HUGE, (fault, method)


@given(st.text(), st.sampled_from([one for one in Fault if not one.is_of_http]))
def test_no_text_is_too_strange_to_be_broken(text: str, fault: Fault) -> None:
    """Never raises, whatever the text."""
    assert with_fault(exchange(), text, fault)


@pytest.mark.parametrize("language", LANGUAGES)
def test_each_fault_says_what_it_is_and_what_a_good_host_does(language: str) -> None:
    """So that a tester can judge."""
    for fault in Fault:
        assert say("fault", fault.value, language)
        assert say("fault", f"{fault.value}.host", language)


WHOLE = '{"jsonrpc":"2.0","id":3,"result":{"content":[{"type":"text",\n    "text":"a"}]}}'
AROUND = '"result": {"content":[{"type":"text",\n  "text":"a"}]}'


@pytest.mark.parametrize(
    ("fault", "text", "broken"),
    [
        (Fault.WRONG_ID, WHOLE, f'{{\n  "jsonrpc": "2.0",\n  "id": 1000003,\n  {AROUND}\n}}'),
        (Fault.ID_AS_TEXT, WHOLE, f'{{\n  "jsonrpc": "2.0",\n  "id": "3",\n  {AROUND}\n}}'),
        (Fault.NO_JSONRPC, WHOLE, f'{{\n  "id": 3,\n  {AROUND}\n}}'),
        (Fault.CUT_IN_HALF, WHOLE, '{\n  "jsonrpc": "2.0",\n  "id": 3,\n  "result":'),
        (Fault.LOG_LINE, WHOLE, "Server started on stdio"),
        (
            Fault.RESULT_AND_ERROR,
            WHOLE,
            (
                f'{{\n  "jsonrpc": "2.0",\n  "id": 3,\n  {AROUND},\n'
                '  "error": { "code": -32603, "message": "Internal error" }\n}'
            ),
        ),
        (
            Fault.RESULT_AND_ERROR,
            '{"id":3,"error":{"code":1}}',
            '{\n  "id": 3,\n  "error": {"code":1},\n  "result": {}\n}',
        ),
        (
            Fault.WRONG_VERSION,
            '{"id":3,"result":{"a":1}}',
            (
                '{\n  "id": 3,\n  "result": {\n    "a": 1,\n'
                '    "protocolVersion": "1999-01-01"\n  }\n}'
            ),
        ),
        (
            Fault.WRONG_RESULT_TYPE,
            '{"id":3,"result":5}',
            '{\n  "id": 3,\n  "result": {\n    "resultType": "finished"\n  }\n}',
        ),
        (
            Fault.LONE_SURROGATE,
            '{"id":3,"result":{"content":[1]}}',
            (
                '{\n  "id": 3,\n  "result": {\n    "content": [\n'
                '      { "type": "text", "text": "?\\ud83d?" }\n    ]\n  }\n}'
            ),
        ),
        (
            Fault.LONE_SURROGATE,
            '{"id":3,"result":{"content":{"a":1}}}',
            (
                '{\n  "id": 3,\n  "result": {\n'
                '    "content": { "type": "text", "text": "?\\ud83d?" }\n  }\n}'
            ),
        ),
        (
            Fault.LONE_SURROGATE,
            '{"id":3,"result":{"_meta":{"a":1}},"error":{}}',
            (
                '{\n  "id": 3,\n  "result": {\n    "_meta": {\n      "a": 1,\n'
                '      "text": "?\\ud83d?"\n    }\n  }\n}'
            ),
        ),
    ],
)
def test_a_fault_is_written_into_the_text_as_it_stands(
    fault: Fault, text: str, broken: str
) -> None:
    """A member a line, what is within moved below it; the rest as the person wrote it."""
    assert with_fault(asked("tools/call", {"name": "t"}), text, fault) == broken


@pytest.mark.parametrize(
    ("token", "wrong", "number"),
    [("5", "1000005", "0"), ('"0"', '"0-wrong"', "0"), ('"07"', '"07-wrong"', "0"),
     ('"12"', '"12-wrong"', "12"), ('"x"', '"x-wrong"', "0"), ('"\u0661"', '"\u0661-wrong"', "0")],
)  # fmt: skip
def test_a_wrong_id_is_far_from_the_right_one(token: str, wrong: str, number: str) -> None:
    """And the number in a text is one as JSON writes it."""
    exchange = asked("tools/call", {"name": "t"}, token=token)
    text = f'{{"id":{token}}}'
    assert with_fault(exchange, text, Fault.WRONG_ID) == f'{{\n  "id": {wrong}\n}}'
    assert with_fault(exchange, text, Fault.ID_AS_NUMBER) == f'{{\n  "id": {number}\n}}'
    offered = Fault.ID_AS_NUMBER in faults(exchange)
    assert offered == (token in ('"0"', '"12"'))
