"""What a person types, and the one line that is sent."""

# ruff: noqa: E501 - the texts that people type stand as they are
import json
from typing import Any, Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from humanmcp import locales
from humanmcp.protocol.conversation.exchange import NegotiatedState
from humanmcp.protocol.conversation.stages import ExchangeState, Stage
from humanmcp.protocol.diagnostics.model import TextForm
from humanmcp.protocol.json.jsonrpc import Kind
from humanmcp.protocol.tables import examples, methods
from humanmcp.protocol.validation import addressing
from humanmcp.protocol.validation import check as draft_check
from tests.support.speaking import said_in
from tests.support.verdicts import (
    R2024,
    R2025,
    R2026,
    asked,
    check,
    codes,
    serious,
    stating,
    with_first_fix,
)

CALL: Final = "tools/call"
METHODS: Final = [
    (method, version) for method, record in methods.REQUESTS.items() for version in record.versions
]


# -- the line ---------------------------------------------------------------------------------


def test_the_line_is_the_persons_own_text_without_the_white_space() -> None:
    """`1.0`, `1e5`, big integers, key order and escapes stay as typed."""
    text = r"""{
      "result" : { "content": [ {"text": "a  b\u3042é / \/", "type": "text"} ],
        "structuredContent": {"x": 1.0, "y": 1e5, "z": 12345678901234567890123, "w": -0.0}, "isError":false },
      "id" : 3,   "jsonrpc":"2.0"
    }"""
    verdict = check(asked(CALL), text)
    assert verdict.line == (
        r'{"result":{"content":[{"text":"a  b\u3042é / \/","type":"text"}],'
        r'"structuredContent":{"x":1.0,"y":1e5,"z":12345678901234567890123,"w":-0.0},'
        r'"isError":false},"id":3,"jsonrpc":"2.0"}'
    )
    assert verdict.kind is Kind.RESULT
    assert codes(verdict.diagnostics) == ["M118"]  # JavaScript rounds the large integer


def test_the_articles_pretty_printed_answer_is_sent_with_its_warning() -> None:
    """Exactly this line, and W01 is shown."""
    exchange = asked("initialize", {"protocolVersion": R2024}, token="1", version=R2024)
    typed = {
        "result": {
            "protocolVersion": "2024-11-05",
            "capabilities": {"tools": {}},
            "serverInfo": {
                "name": "humanmcp",
                "version": "1.0.0",
                "capabilities": {"resources": {}, "tools": {}},
            },
        },
        "jsonrpc": "2.0",
        "id": 1,
    }
    verdict = check(exchange, json.dumps(typed, indent=2))
    assert verdict.line == json.dumps(typed, separators=(",", ":"))
    assert codes(verdict.diagnostics) == ["M47"]
    assert dict(verdict.diagnostics[-1].detail)["only"] == "resources"


def test_the_articles_error_is_sent_with_a_hint() -> None:
    """The text of its message stays as it was typed."""
    text = '{"error":{"code":-32602,"message":"遠い。自分で調べて"},"jsonrpc":"2.0","id":4}'
    verdict = check(asked(CALL, {"name": "get-japan-forecast"}, token="4"), text)
    assert verdict.line == text
    assert verdict.kind is Kind.ERROR
    assert codes(verdict.diagnostics) == ["M50"]


def test_the_articles_server_shows_exactly_its_mistakes() -> None:
    """Each mistake has its own problem."""
    handshake = asked("initialize", {"protocolVersion": R2024}, token='"u-1"', version=R2024)
    text = (
        '{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-03-26",'
        '"serverInfo":{"name":"MCP Client","version":"1.0.0"}}}'
    )
    assert sorted(codes(check(handshake, text).diagnostics)) == ["M04", "M09", "M49", "R03"]
    listing = asked("tools/list", token='"u-2"', version=R2024)
    text = (
        '{"jsonrpc":"2.0","id":"u-2","result":{"tools":[{"name":"dice","description":"Roll",'
        '"input_schema":{"type":"object","properties":{"sides":{"type":"integer"}}}}]}}'
    )
    assert codes(check(listing, text).diagnostics) == ["M10"]
    call = asked(CALL, {"name": "dice"}, token='"u-3"', version=R2024)
    text = '{"jsonrpc":"2.0","id":"u-3","result":{"content":4}}'
    assert codes(check(call, text).diagnostics) == ["M01"]


MESSAGE, RESULT = TextForm.MESSAGE, TextForm.RESULT


@pytest.mark.parametrize(
    ("form", "text", "body"),
    [
        # neither jsonrpc nor id need be typed
        (MESSAGE, '{"result": {"content": []}}', '"result":{"content":[]}'),
        (MESSAGE, '{"error": {"code": 1, "message": "no"}}', '"error":{"code":1,"message":"no"}'),
        (RESULT, '{"content": []}', '"result":{"content":[]}'),
        (TextForm.ERROR, '{"code": -32603, "message": "no"}', '"error":{"code":-32603,"message":"no"}'),
        (TextForm.TEXT, 'say "hi"\n東京', r'"result":{"content":[{"type":"text","text":"say \"hi\"\n東京"}]}'),
        (TextForm.TOOL_ERROR, "no", '"result":{"content":[{"type":"text","text":"no"}],"isError":true}'),
        # spaces and the line ends of Windows are nothing
        (MESSAGE, '{"jsonrpc":"2.0","id":3,  "result":{"content":[]}}\r\n', '"result":{"content":[]}'),
    ],
)  # fmt: skip
def test_every_form_gets_its_envelope(form: TextForm, text: str, body: str) -> None:
    """Only the result, only an error, or the words alone."""
    verdict = check(asked(CALL), text, form)
    assert verdict.line == f'{{"jsonrpc":"2.0","id":3,{body}}}'


def test_plain_text_says_complete_and_who_answers_in_2026() -> None:
    """`resultType` is required there, and each result SHOULD name its server in `_meta`."""
    verdict = check(asked(CALL, version=R2026), "sunny", TextForm.TEXT)
    assert verdict.line == (
        '{"jsonrpc":"2.0","id":3,"result":{"resultType":"complete",'
        '"content":[{"type":"text","text":"sunny"}],"_meta":'
        '{"io.modelcontextprotocol/serverInfo":{"name":"humanmcp","version":"0.1.0"}}}}'
    )


def test_plain_text_and_drafts_name_the_server_that_the_book_names() -> None:
    """The fixed name went out, whatever the book said."""
    negotiated = NegotiatedState(server={"name": "weather", "version": "2"})
    named = {"io.modelcontextprotocol/serverInfo": {"name": "weather", "version": "2"}}
    exchange = asked(CALL, {"name": "a", "_meta": stating({})}, version=R2026)
    line = check(exchange, "sunny", TextForm.TEXT, negotiated).line
    assert line is not None
    assert json.loads(line)["result"]["_meta"] == named
    assert json.loads(draft_check.start(exchange, negotiated))["result"]["_meta"] == named
    fix = check(exchange, "just sunny", TextForm.RESULT, negotiated).diagnostics[0].fix
    assert fix is not None
    assert json.loads(fix.edits[0].new)["_meta"] == named


def test_plain_text_answers_tool_calls_only() -> None:
    """Every other method has a result of its own shape."""
    verdict = check(asked("tools/list"), "sunny", TextForm.TEXT)
    assert codes(verdict.diagnostics) == ["M69"]
    assert verdict.line is None


@pytest.mark.parametrize("text", ["", " \n "])
@pytest.mark.parametrize("form", list(TextForm))
def test_nothing_is_no_answer(text: str, form: TextForm) -> None:
    """J19: there is nothing to write, not even anyway."""
    verdict = check(asked(CALL), text, form)
    assert codes(verdict.diagnostics) == ["J19"]
    assert verdict.forced is None


@pytest.mark.parametrize(
    ("more", "expected", "sendable"),
    [(0, [], True), (1, ["J40"], True), (2, ["J27"], False)],
)
def test_words_are_weighed_as_the_line_that_they_become(
    more: int, expected: list[str], *, sendable: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In bytes, envelope and all: a large answer is told, too large a one is not sent."""
    line = check(asked("tools/call"), "é" * 10, TextForm.TEXT).line
    assert line is not None
    size = len(line.encode())
    monkeypatch.setattr(draft_check, "LONG", size)
    monkeypatch.setattr(draft_check, "LONGEST", size + 1)
    found = check(asked("tools/call"), "é" * 10 + "x" * more, TextForm.TEXT)
    assert (codes(found.diagnostics), found.sendable) == (expected, sendable)


def test_prose_for_a_tool_call_can_be_wrapped() -> None:
    """Wrap it with the text-answer form?"""
    verdict = check(asked(CALL), "Sunny, 23 degrees.")
    assert codes(verdict.diagnostics) == ["J20"]
    again = check(asked(CALL), with_first_fix(verdict))
    assert again.sendable
    assert '"text":"Sunny, 23 degrees."' in str(again.line)
    assert check(asked("ping"), "pong").diagnostics[0].fix is None


def test_what_is_said_of_prose_can_be_done_wherever_it_is_typed() -> None:
    """J20: a file has no text form, and most methods have none either; an object can be written."""
    (diagnostic,) = check(asked("ping"), "pong").diagnostics
    assert "Write an object {…}" in locales.describe(diagnostic)
    assert "オブジェクト {…} を書き" in said_in("ja", locales.describe, diagnostic)


@pytest.mark.parametrize(
    ("state", "code"),
    [
        (ExchangeState.CANCELLED, "R21"),
        (ExchangeState.ANSWERED, "R22"),
        (ExchangeState.ABANDONED, "R23"),
    ],
)
@pytest.mark.parametrize(
    ("form", "text"), [(TextForm.MESSAGE, '{"result":{"content":[]}}'), (TextForm.TEXT, "a")]
)
def test_a_late_answer_is_refused(
    state: ExchangeState, code: str, form: TextForm, text: str
) -> None:
    """After a cancellation, a second time, after the end; and kept as a draft."""
    verdict = check(asked(CALL)._replace(stage=Stage(state.value)), text, form)
    assert codes(verdict.diagnostics) == [code]
    assert verdict.forced


# -- send anyway --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "forced"),
    [
        ('{"jsonrpc": "2.0", "id": 99, "result": {}}', '{"jsonrpc":"2.0","id":99,"result":{}}'),
        ('{"jsonrpc":"2.0",\n"id":3,"result":', '{"jsonrpc":"2.0", "id":3,"result":'),
        ("{'id': 1,\r\n}", "{'id': 1, }"),
        ("INFO started\nport 1", "INFO started port 1"),
        ('{"id":1,"id":2}', '{"id":1,"id":2}'),
        ('{"content":"x"}', '{"jsonrpc":"2.0","id":3,"result":{"content":"x"}}'),
        ('{"id":"\ud800"}', '{"id":"?"}'),
        ('{"result": "x"}', '{"jsonrpc":"2.0","id":3,"result":"x"}'),
    ],
)
def test_sent_anyway_is_what_was_typed_on_one_line(text: str, forced: str) -> None:
    """Design 6: testing a client with a broken answer is a use, not an accident."""
    verdict = check(asked("ping"), text)
    assert verdict.line is None
    assert verdict.forced == forced


def test_sent_anyway_in_a_form_keeps_the_envelope() -> None:
    """The person chose the form; only what they typed is wrong."""
    verdict = check(asked("ping"), "{'a':\n1}", TextForm.RESULT)
    assert verdict.forced == '{"jsonrpc":"2.0","id":3,"result":{\'a\': 1}}'


@given(
    st.text(max_size=60), st.sampled_from(list(TextForm)), st.sampled_from([R2024, R2025, R2026])
)
def test_no_text_whatever_raises(text: str, form: TextForm, version: str) -> None:
    """Never raises, whatever the text; whatever is sent is one line of valid UTF-8."""
    check(asked(CALL, {"name": "a"}, version=version), text, form)


def test_a_decision_about_a_prompt_is_no_answer_to_a_request() -> None:
    """It has a form of its own, and never becomes a member of a response."""
    text = '{"behavior": "allow"}'
    verdict = check(asked(CALL, {"name": "a"}), text, TextForm.DECISION)
    assert verdict == check(asked(CALL, {"name": "a"}), text, TextForm.MESSAGE)
    assert verdict.line is None


# -- the draft to start from ------------------------------------------------------------------


@pytest.mark.parametrize(("method", "version"), METHODS)
@pytest.mark.parametrize("language", ["en", "ja"])
def test_every_draft_can_be_sent_untouched_or_asks_for_its_words(
    method: str, version: str, language: str
) -> None:
    """A draft is right for its method and version; where only the person knows, it says so."""
    params = {"protocolVersion": version, "_meta": stating()}
    exchange = asked(method, params, token='"é"', version=version)
    text = draft_check.start(exchange, language=language)
    assert text.startswith('{\n  "jsonrpc": "2.0",\n  "id": "é",\n')
    worded = (CALL, "prompts/get", "sampling/createMessage", "tasks/result")
    expected = ["M61"] if method in worded else []
    assert codes(check(exchange, text).diagnostics) == expected


@pytest.mark.parametrize(("method", "version"), METHODS)
def test_every_template_passes_the_check(method: str, version: str) -> None:
    """Every variant: results and errors; only the placeholder is refused."""
    everything: dict[str, Any] = {"roots": {}, "sampling": {}, "elicitation": {"form": {}, "url": {}},
                  "extensions": {"io.modelcontextprotocol/tasks": {}}}  # fmt: skip
    params: dict[str, Any] = {"_meta": stating(everything), "task": {}, "name": "no_such_tool"}
    exchange = asked(method, params, version=version)
    texts = draft_check.templates(exchange)
    assert "method_not_found" in texts
    for name, text in texts.items():
        diagnostics = check(exchange, text).diagnostics
        refuses_version = ["M120"] if name == "unsupported_protocol_version_initialize" else []
        assert serious(diagnostics) in ([], ["M61"], refuses_version), name


def test_a_tool_call_is_never_sent_untouched_in_any_form() -> None:
    """M61: "replace the placeholder", in either language."""
    for words in examples.PLACEHOLDERS.values():
        assert codes(check(asked(CALL), words, TextForm.TEXT).diagnostics) == ["M61"]


@pytest.mark.parametrize("words", examples.PLACEHOLDERS.values())
@pytest.mark.parametrize("typed", ["{}It is sunny.", "It is sunny. {}\n"])
def test_a_placeholder_beside_words_is_refused(typed: str, words: str) -> None:
    """Who writes behind the placeholder, or before it, does not send it."""
    text = typed.format(words)
    assert codes(check(asked(CALL), text, TextForm.TEXT).diagnostics) == ["M61"]
    message = {"messages": [{"role": "user", "content": {"type": "text", "text": text}}]}
    prompt = asked("prompts/get", {"name": "greet"})
    (found,) = check(prompt, json.dumps(message), TextForm.RESULT).diagnostics
    assert (found.code, found.pointer) == ("M61", "/result/messages/0/content/text")


@pytest.mark.parametrize("spelt", ["…", "\\u2026"])
def test_an_ellipsis_of_ours_is_found_however_it_is_spelt(spelt: str) -> None:
    """M61: what an example put there, in the text or as its escape."""
    text = f'{{"content":[{{"type":"text","text":"{spelt}"}}]}}'
    assert codes(check(asked(CALL), text).diagnostics) == ["M61"]
    assert codes(check(asked(CALL), text.replace(spelt, f"so {spelt}")).diagnostics) == []


@pytest.mark.parametrize(
    ("wanted", "answered"),
    [(R2024, R2024), ("2025-03-26", "2025-03-26"), (R2026, R2025), ("3", R2025), (None, R2025)],
)
def test_initialize_echoes_the_version_if_it_is_known(wanted: str, answered: str) -> None:
    """Else it makes the offer of the newest handshake version."""
    text = draft_check.start(asked("initialize", {"protocolVersion": wanted}, version=answered))
    assert json.loads(text)["result"]["protocolVersion"] == answered


@pytest.mark.parametrize(
    ("method", "version"),
    [
        ("no/such", R2025),
        ("ping", R2026),
        ("server/discover", R2025),
        ("elicitation/create", R2024),
    ],
)
def test_an_unknown_method_is_answered_with_method_not_found(method: str, version: str) -> None:
    """An unknown method, or one that is not in this version, offers -32601."""
    exchange = asked(method, version=version)
    text = draft_check.start(exchange)
    assert json.loads(text)["error"]["code"] == -32601
    assert check(exchange, text).sendable


@pytest.mark.parametrize("method", ["tools/call", "tools/list", "server/discover"])
@pytest.mark.parametrize("key", ["protocolVersion", "clientCapabilities"])
def test_a_request_that_does_not_say_enough_of_itself_is_answered_with_an_error(
    method: str, key: str
) -> None:
    """MCP: "malformed; the server MUST reject it with […] -32602", and says why."""
    meta = {name: value for name, value in stating().items() if not name.endswith(key)}
    exchange = asked(method, {"name": "dice", "_meta": meta}, version=R2026)
    text = draft_check.start(exchange)
    assert json.loads(text)["error"]["code"] == -32602
    assert key in json.loads(text)["error"]["message"]
    assert check(exchange, text).sendable


def test_a_form_is_filled_with_its_defaults() -> None:
    """The client's seat: what the server's form already says."""
    fields = {
        "a": {"type": "string", "default": "x"},
        "b": {"type": "boolean"},
        "c": {"type": "integer"},
        "d": {"type": "string", "enum": ["p", "q"]},
        "e": {"type": "string"},
    }
    params = {"message": "?", "requestedSchema": {"type": "object", "properties": fields}}
    exchange = asked("elicitation/create", params)
    content = json.loads(draft_check.start(exchange))["result"]["content"]
    assert content == {"a": "x", "b": False, "d": "p", "e": ""}
    assert check(exchange, draft_check.start(exchange)).sendable
    url = {"mode": "url", "message": "?", "url": "https://a.example/", "elicitationId": "1"}
    opened = asked("elicitation/create", url)
    assert json.loads(draft_check.start(opened))["result"] == {"action": "accept"}


# -- several answers in one text --------------------------------------------------------------


ONE, TWO = '{"id":1,"a":"}\\""}', '[{"b":\n2}]'


@pytest.mark.parametrize(
    ("text", "texts", "incomplete", "malformed"),
    [
        ("", [], False, False),
        (" \n", [], False, False),
        (ONE, [ONE], False, False),
        (f"\ufeff {ONE}\n{TWO}\n", [ONE, TWO], False, False),
        (f"{ONE}{TWO}", [ONE, TWO], False, False),
        (f"{ONE}\n{TWO[:-1]}", [ONE], True, False),
        ('{"a":"b', [], True, False),
        ('{"a":"b\\"}', [], True, False),
        (f"{ONE}\nhello", [ONE], False, True),
        ("hello", [], False, True),
        ("]", [], False, True),
    ],
)
def test_a_text_is_divided_into_its_documents(
    text: str,
    texts: list[str],
    incomplete: bool,  # noqa: FBT001 - a table
    malformed: bool,  # noqa: FBT001 - a table
) -> None:
    """Several on one line or on several; half-written is not malformed."""
    documents = addressing.divide(text)
    assert [text[start:end] for start, end in documents.texts] == texts
    assert (documents.incomplete, documents.malformed) == (incomplete, malformed)


@given(st.lists(st.sampled_from([ONE, TWO, "{}", '{"x":["{",[]]}']), max_size=5), st.data())
def test_whatever_is_cut_off_is_incomplete(parts: list[str], data: st.DataObject) -> None:
    """A prefix of complete documents is complete up to there, and never malformed."""
    text = "\n".join(parts)
    cut = data.draw(st.integers(0, len(text)))
    documents = addressing.divide(text[:cut])
    assert not documents.malformed
    whole = addressing.divide(text).texts
    assert documents.texts == tuple(span for span in whole if span[1] <= cut)


@pytest.mark.parametrize(
    ("text", "token"),
    [
        ('{"id": 1.0, "result": {}}', "1.0"),
        ('{"id": "a", "result": {}}', '"a"'),
        ('{"id": 0}', "0"),
        ("{'id': 7, 'result': {}}", "7"),
        ('{"id": null}', None),
        ('{"id": true}', None),
        ('{"result": {}}', None),
        ("[1]", None),
        ("hello", None),
        ("", None),
    ],
)
def test_the_id_of_a_text_is_found_in_spite_of_mistakes(text: str, token: str | None) -> None:
    """It decides whose answer a text is."""
    found = addressing.id_of(text)
    assert (found.token if found else None) == token


@pytest.mark.parametrize(
    ("tokens", "text", "code", "said", "fixed"),
    [
        # an answer to nobody names who waits; with two there is no guess
        ("0 2", '{"id":1,"result":{}}', "R50", {"pending": "0, 2", "typed": "1"}, ""),
        ("1 2", '{"result":{}}', "R54", {"id": "1, 2"}, ""),
        # of one that waits, or two with one id, the id can be put in, in its own type
        ('"x"', '{"id":1,"result":{}}', "R50", {"typed": "1"}, '{"id":"x","result":{}}'),
        ("3 3", '{"id":1,"result":{}}', "R50", {"pending": "3"}, '{"id":3,"result":{}}'),
        ("1 2", '{"id":"2","result":{}}', "R04", {}, '{"id":2,"result":{}}'),
    ],
)
def test_an_answer_that_fits_no_request_names_those_that_wait(
    tokens: str, text: str, code: str, said: dict[str, str], fixed: str
) -> None:
    """And is fixed where one alone can be meant."""
    pending = [asked("ping", token=token) for token in tokens.split()]
    problem = addressing.unmatched(text, pending)
    assert problem.code == code
    assert said.items() <= dict(problem.detail).items()
    assert (problem.fix.apply(text) if problem.fix else "") == fixed


def test_without_an_id_one_of_those_that_wait_is_asked_for() -> None:
    """The rule: "It must be 7, 8" was said where one of them is meant; of a single one it stays."""
    pending = [asked("ping", token="7"), asked("ping", token="8")]
    sentence = locales.describe
    several = addressing.unmatched('{"result":{}}', pending)
    assert sentence(several) == '"id" is missing. Several requests wait: use one of 7, 8.'
    assert "7, 8 のどれか" in said_in("ja", sentence, several)
    assert sentence(addressing.unmatched('{"result":{}}', pending[:1])).endswith("must be 7.")
