"""An answer inside a text of something else is found, and what is around it named."""

import json

import pytest

from humanmcp import locales
from humanmcp.protocol.diagnostics.autofix import autofix, suggestion
from humanmcp.protocol.diagnostics.model import Applicability, TextEdit
from humanmcp.protocol.repair.embedded import Around, find_answer, quote_marks, unescaped
from humanmcp.protocol.validation.check import check
from tests.support.speaking import said_in
from tests.support.verdicts import asked, codes, hold

SUNNY = '{"jsonrpc":"2.0","id":3,"result":{"content":[{"type":"text","text":"sunny"}]}}'
LINES = json.dumps(json.loads(SUNNY), indent=1).split("\n")
PYTHON = repr(json.loads(SUNNY))

BEFORE = ("J35", "There is text before the answer.", "回答の前に余分な文字があります。")
AFTER = ("J30", "There is text after the answer.", "回答の後に余分な文字があります。")
BOTH = ("J42", "There is text before and after the answer.", "回答の前と後に余分な文字があります。")
MARKS = ("J41", "Each line starts with", "各行の先頭に")

FORMS = {
    "the echo of the README": (f"echo '{SUNNY}' > out.txt", *BOTH),
    "a reply of a model": (f"Sure! Here it is:\n\n```json\n{SUNNY}\n```\n\nHope it helps.", *BOTH),
    "a fence and words before": (f"Here:\n```json\n{SUNNY}\n```", *BEFORE),
    "a line of an event stream": (f"data: {SUNNY}\n\n", *BEFORE),
    "an event": (f"event: message\nid: 7\ndata: {SUNNY}\n\n", *BEFORE),
    "an HTTP response": (f"HTTP/1.1 200 OK\r\nContent-Length: 77\r\n\r\n{SUNNY}", *BEFORE),
    "curl": (f"curl -d '{SUNNY}' http://127.0.0.1:8000/mcp", *BOTH),
    "a quoted line": (f"> {SUNNY}", *MARKS),
    "quoted lines": ("\n".join(f"> {line}" for line in LINES), *MARKS),
    "a constant": (f"const x = {SUNNY};", *BEFORE),
    "return": (f"return {SUNNY}", *BEFORE),
    "return of Python": (f"    return {PYTHON}\n", *BEFORE),
    "print": (f"print({SUNNY})", *BEFORE),
    "print of Python": (f"print({PYTHON})", *BEFORE),
    "a log": (f"[12:00:01] INFO {SUNNY}", *BEFORE),
    "thanks": (f"{SUNNY} thanks", *AFTER),
    "a redirection": (f"{SUNNY} > out.txt", *AFTER),
}


@pytest.mark.parametrize("name", FORMS)
def test_the_one_answer_inside_is_offered_and_what_stands_around_it_named(name: str) -> None:
    """It was wrapped as words for the model. Nothing is taken out by a bulk fix."""
    text, code, english, japanese = FORMS[name]
    exchange = asked("tools/call")
    verdict = check(exchange, text)
    hold(verdict)
    diagnostic = next(each for each in verdict.diagnostics if each.blocks)
    assert diagnostic.code == code
    assert locales.describe(diagnostic).startswith(english)
    assert said_in("ja", locales.describe, diagnostic).startswith(japanese)
    assert diagnostic.fix is not None
    assert diagnostic.fix.applicability is Applicability.REMOVES
    assert not autofix(text, lambda typed: check(exchange, typed)).verdict.sendable
    offered = suggestion(text, lambda typed: check(exchange, typed))
    assert offered.applicability is Applicability.REMOVES
    assert json.loads(offered.text) == json.loads(SUNNY)


@pytest.mark.parametrize(
    "text",
    ["It is sunny.", "INFO: started {pid: 1}", 'The config is {"a": 1} as you asked.',
     f"a {SUNNY} b {SUNNY}", "a {" * 300, 'x {"result": '],
)  # fmt: skip
def test_words_that_hold_no_answer_or_several_are_words(text: str) -> None:
    """Which of two is meant, nobody can tell; a bit of JSON in a sentence is part of it."""
    assert find_answer(text) is None


def test_marks_count_only_where_every_line_has_one() -> None:
    """Else a `>` is part of the text."""
    assert quote_marks("> a\nb") == ()


@pytest.mark.parametrize(
    "text",
    [
        r"{\"result\":{\"content\":[]}}",
        r'"{\"result\":{\"content\":[]}}"',
        '{"result":{"content":[]}}',
    ],
)
def test_escaped_json_is_read_as_it_was_meant(text: str) -> None:
    """Copied from a program or a log; nothing is lost by undoing it."""
    fixed = autofix(text, lambda typed: check(asked("tools/call"), typed))
    assert json.loads(fixed.text) == {"result": {"content": []}}


@pytest.mark.parametrize(
    "text",
    [
        "result:\n  content:\n  - type: text\n    text: sunny",
        "{&quot;result&quot;:{&quot;content&quot;:[]}}",
        "\n".join(f"{at} {line}" for at, line in enumerate(LINES, 1)),
    ],
    ids=["YAML", "HTML entities", "line numbers"],
)
def test_what_no_client_wrote_as_json_is_refused_and_not_rewritten(text: str) -> None:
    """The ordinary message says that it is no JSON, and where."""
    verdict = check(asked("tools/call"), text)
    hold(verdict)
    assert not verdict.sendable
    assert any(each.code.startswith("J") and each.blocks for each in verdict.diagnostics)


def test_what_only_looks_escaped_stays_as_it_is() -> None:
    """Where undoing makes no JSON of it, it was something else."""
    assert unescaped(r"{\"a\": }") is None
    assert unescaped("Tom &amp; Jerry") is None


@pytest.mark.parametrize(
    ("text", "becomes"),
    [
        ('"sunny"', [{"type": "text", "text": "sunny"}]),
        ("42", [{"type": "text", "text": "42"}]),
        ("true", [{"type": "text", "text": "true"}]),
        (
            '[{"type":"text","text":"a"},{"type":"text","text":"b"}]',
            [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}],
        ),
    ],
)
def test_a_bare_text_or_list_is_what_a_tool_says(text: str, becomes: object) -> None:
    """Two items were called a batch, and the others had no fix."""
    exchange = asked("tools/call")
    assert codes(check(exchange, text).diagnostics) == ["R20"]
    fixed = autofix(text, lambda typed: check(exchange, typed))
    assert json.loads(fixed.verdict.line or "")["result"] == {"content": becomes}
    assert check(exchange, text).forced == text


def test_base64_in_lines_is_joined() -> None:
    """MIME breaks it after 76 characters."""
    image = {"type": "image", "mimeType": "image/png", "data": "iVBO\nRw0K"}
    text = json.dumps({"result": {"content": [image]}})
    fixed = autofix(text, lambda typed: check(asked("tools/call"), typed))
    assert '"iVBORw0K"' in fixed.text


def test_a_placeholder_of_ours_is_refused() -> None:
    """The rule: "…" went out from suggestions that were copied."""
    for text in ('{"result":{"content":[{"type":"text","text":"…"}]}}',
                 '{"error":{"code":-32602,"message":"…"}}'):  # fmt: skip
        assert "M61" in codes(check(asked("tools/call"), text).diagnostics)


@pytest.mark.parametrize(("count", "is_found"), [(199, True), (200, False)])
def test_an_answer_is_sought_behind_many_brackets_and_not_behind_more(
    count: int, *, is_found: bool
) -> None:
    """Each may begin it, and each is tried."""
    found = find_answer(f"words {'(] [1] ' * count}" + '{"content": []}')
    assert (found is not None) is is_found


@pytest.mark.parametrize(
    ("text", "code", "answer"),
    [
        ('x {"result":{}}', "J35", '{"result":{}}'),
        ('x {"result":{}} y', "J42", '{"result":{}}'),
        ('x {"result":{}} ;,)\'"`\n', "J35", '{"result":{}}'),
        ('x {"result":{}}\t\r\n;', "J35", '{"result":{}}'),
        ('x {"code":1,"message":"m"}', "J35", '{"code":1,"message":"m"}'),
        ('x [{"result":1}] y', "J42", '[{"result":1}]'),
        ('x [1,{"result":1}]', "J42", '{"result":1}'),
        ('x [] {"error":1}', "J35", '{"error":1}'),
        ('x {"a":{"result":1}}', "J42", '{"result":1}'),
        ('x [[{"result":1}]]', "J42", '[{"result":1}]'),
        ("x {result: 1}", "J35", "{result: 1}"),
        ("x {'tools': 1}", "J35", "{'tools': 1}"),
        ("x {“roots”: 1}", "J35", "{“roots”: 1}"),
        ("x {a: {error:1}}", "J35", "{a: {error:1}}"),
        ('x {"a":"}", "error":1} z', "J42", '{"a":"}", "error":1}'),
        ("x ('}', {error:1})", "J35", "{error:1}"),
        ('x {"code":1}', "", ""),
        ('x {"message":"m"}', "", ""),
        ('x {"a":1}', "", ""),
        (' {"result":{}}', "", ""),
        ('{"result":{}} x', "", ""),
        ('{"result":1', "", ""),
    ],
)
def test_an_answer_inside_has_its_place_and_what_stands_around_it_its_code(
    text: str, code: str, answer: str
) -> None:
    """Marks that end a line of a program are no words behind it."""
    at = text.find(answer)
    assert find_answer(text) == (Around(code, at, at + len(answer)) if code else None)


@pytest.mark.parametrize(
    ("text", "cut"),
    [
        ("> a\n>b", [(0, 2), (4, 5)]),
        (">> a\n\n > b\n", [(0, 3), (6, 9)]),
        ("  > {}", [(0, 4)]),
        (">\t>a", [(0, 3)]),
        ("> a\nb", []),
        ("a", []),
        ("", []),
    ],
)
def test_the_marks_of_quoted_lines_are_cut_where_they_stand(
    text: str, cut: list[tuple[int, int]]
) -> None:
    """With the white space before them and one behind; a blank line needs none."""
    assert quote_marks(text) == tuple(TextEdit(*one, "") for one in cut)


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        (r"{\"a\":1}", '{"a":1}'),
        (r'"{\"a\":1}"', '{"a":1}'),
        (r" [\"a\"] ", '["a"]'),
        (r"{ \"a\": \"b\tc\" }", None),
        (r"{\\\"a\\\":1}", None),
        (r"[ \"a\"", None),
        (r"'{\"a\":1}'", None),
        ('{"a":1}', None),
    ],
)
def test_escapes_are_undone_once_and_only_where_json_comes_of_it(
    text: str, plain: str | None
) -> None:
    """What was escaped twice would be JSON in JSON."""
    assert unescaped(text) == plain
