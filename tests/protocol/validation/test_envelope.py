"""The envelope of an answer: every mistake there is."""
# ruff: noqa: E501 - the texts that people type stand as they are

from typing import Final, NamedTuple

import pytest

from humanmcp.protocol.diagnostics.model import Severity, TextForm
from humanmcp.protocol.json.jsonrpc import Kind
from tests.support.verdicts import R2025_03, R2026, asked, check, codes, serious, with_first_fix


class Row(NamedTuple):
    """One mistake in a whole answer to a ping of id 3."""

    name: str
    text: str
    code: str
    pointer: str = ""
    fix: bool = True


ROWS: Final = (
    Row("E09 missing jsonrpc", '{"id":3,"result":{}}', "R01"),
    Row("E09 jsonrpc 2.0 number", '{"jsonrpc":2.0,"id":3,"result":{}}', "R01", "/jsonrpc"),
    Row("jsonrpc 1.0", '{"jsonrpc":"1.0","id":3,"result":{}}', "R01", "/jsonrpc"),
    Row("jsonrpc misspelt", '{"jsonRpc":"2.0","id":3,"result":{}}', "R15", "/jsonRpc"),
    Row("missing id", '{"jsonrpc":"2.0","result":{}}', "R02"),
    Row("id misspelt", '{"jsonrpc":"2.0","ID":3,"result":{}}', "R15", "/ID"),
    Row("E24 id null with result", '{"jsonrpc":"2.0","id":null,"result":{}}', "R16", "/id"),
    Row("E24 id null with error", '{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"x"}}',
        "R16", "/id"),
    Row("error without id", '{"jsonrpc":"2.0","error":{"code":-32700,"message":"x"}}', "R02"),
    Row("W06 id as text", '{"jsonrpc":"2.0","id":"3","result":{}}', "R04", "/id"),
    Row("E25 id 3.0", '{"jsonrpc":"2.0","id":3.0,"result":{}}', "R16", "/id"),
    Row("id 3.5", '{"jsonrpc":"2.0","id":3.5,"result":{}}', "R16", "/id"),
    Row("E25 id true", '{"jsonrpc":"2.0","id":true,"result":{}}', "R16", "/id"),
    Row("id a list", '{"jsonrpc":"2.0","id":[3],"result":{}}', "R16", "/id"),
    Row("E02 another id", '{"jsonrpc":"2.0","id":1,"result":{}}', "R03", "/id"),
    Row("E10 both", '{"jsonrpc":"2.0","id":3,"result":{},"error":{"code":1,"message":"x"}}',
        "R05", "/error", fix=False),
    Row("error null + result", '{"jsonrpc":"2.0","id":3,"result":{},"error":null}', "R05", "/error"),
    Row("neither", '{"jsonrpc":"2.0","id":3}', "R06"),
    Row("Result capital", '{"jsonrpc":"2.0","id":3,"Result":{}}', "R15", "/Result"),
    Row("results", '{"jsonrpc":"2.0","id":3,"results":{}}', "R15", "/results"),
    Row("E06 result null", '{"jsonrpc":"2.0","id":3,"result":null}', "R20", "/result"),
    Row("E06 result array", '{"jsonrpc":"2.0","id":3,"result":[]}', "R20", "/result"),
    Row("E06 result string", '{"jsonrpc":"2.0","id":3,"result":"ok"}', "R20", "/result"),
    Row("E12 code string", '{"jsonrpc":"2.0","id":3,"error":{"code":"-32601","message":"x"}}',
        "R08", "/error/code"),
    Row("code word", '{"jsonrpc":"2.0","id":3,"error":{"code":"no","message":"x"}}', "R08",
        "/error/code"),
    Row("code 1.0", '{"jsonrpc":"2.0","id":3,"error":{"code":1.0,"message":"x"}}', "R08",
        "/error/code"),
    Row("code 1.5", '{"jsonrpc":"2.0","id":3,"error":{"code":1.5,"message":"x"}}', "R08",
        "/error/code"),
    Row("code true", '{"jsonrpc":"2.0","id":3,"error":{"code":true,"message":"x"}}', "R08",
        "/error/code", fix=False),
    Row("code missing", '{"jsonrpc":"2.0","id":3,"error":{"message":"x"}}', "R19", "/error"),
    Row("E11 message missing", '{"jsonrpc":"2.0","id":3,"error":{"code":1}}', "R09", "/error"),
    Row("message misspelt", '{"jsonrpc":"2.0","id":3,"error":{"code":1,"massage":"x"}}', "R15",
        "/error/massage"),
    Row("message null", '{"jsonrpc":"2.0","id":3,"error":{"code":1,"message":null}}', "R09",
        "/error/message"),
    Row("E11 error is string", '{"jsonrpc":"2.0","id":3,"error":"boom"}', "R18", "/error"),
    Row("error is list", '{"jsonrpc":"2.0","id":3,"error":[]}', "R18", "/error", fix=False),
    Row("method + result", '{"jsonrpc":"2.0","id":3,"method":"ping","result":{}}', "R07", "/method"),
    Row("a request", '{"jsonrpc":"2.0","id":3,"method":"ping"}', "R07", "/method"),
    Row("E21 batch", '[{"jsonrpc":"2.0","id":3,"result":{}}]', "R12"),
    Row("E21 batch of two", '[{"jsonrpc":"2.0","id":3,"result":{}},{}]', "R12", fix=False),
    Row("E13 extra key", '{"jsonrpc":"2.0","id":3,"result":{},"note":"x"}', "R17", "/note"),
    Row("text", '"sunny"', "R14", fix=False),
    Row("a number", "5", "R14", fix=False),
    Row("null", "null", "R14", fix=False),
)  # fmt: skip


@pytest.mark.parametrize(
    ("code", "form"),
    [
        ('"-32601"', "text"),
        ('"no"', "word"),
        ("1.0", "fraction"),
        ("1.5", "fraction"),
        ("true", "word"),
        ("null", "word"),
        ("[1]", "word"),
    ],
)
def test_the_form_of_a_code_that_is_no_integer_is_told(code: str, form: str) -> None:
    """Clients do different things with them."""
    text = f'{{"jsonrpc":"2.0","id":3,"error":{{"code":{code},"message":"x"}}}}'
    (found,) = check(asked("ping"), text).diagnostics
    assert (found.code, dict(found.detail)["form"]) == ("R08", form)


@pytest.mark.parametrize("row", ROWS, ids=[row.name for row in ROWS])
def test_a_mistake_in_the_envelope_is_one_problem(row: Row) -> None:
    """Its code and place, and a fix that fixes it."""
    verdict = check(asked("ping"), row.text)
    assert codes(verdict.diagnostics) == [row.code]
    diagnostic = verdict.diagnostics[0]
    assert (diagnostic.pointer, diagnostic.severity) == (row.pointer, Severity.ERROR)
    assert (diagnostic.fix is not None) == row.fix
    assert verdict.line is None
    if row.fix and row.name != "a request":
        left = serious(check(asked("ping"), with_first_fix(verdict)).diagnostics)
        assert left in ([], ["M61"])  # a placeholder of ours has to be filled in first


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ('"method":null,"result":{},"error":null', ["R07", "R05"]),
        ('"method":"","params":null,"result":{},"error":null', ["R07", "R17", "R05"]),
        ('"method":"","result":null,"error":{"code":1,"message":"x"}', ["R07", "R05"]),
        ('"method":"tools/call","params":{},"result":{}', ["R07", "R17"]),
        ('"method":"tools/call","params":{}', ["R07"]),
    ],
)
def test_each_member_that_an_answer_does_not_have_is_reported(text: str, found: list[str]) -> None:
    """As a program with one structure for all messages writes them."""
    verdict = check(asked("ping"), f'{{"jsonrpc":"2.0","id":3,{text}}}')
    assert codes(verdict.diagnostics) == found


@pytest.mark.parametrize(
    "token", ["9223372036854775808", "9007199254740993", "0", "-7", '""', '"a-1"']
)
def test_every_id_is_echoed_as_it_came(token: str) -> None:
    """2**63, 2**53+1, 0, negative, empty text: the token byte for byte."""
    exchange = asked("ping", token=token)
    verdict = check(exchange, f'{{"jsonrpc":"2.0","id":{token},"result":{{}}}}')
    assert verdict.line == f'{{"jsonrpc":"2.0","id":{token},"result":{{}}}}'
    assert check(exchange, "{}", TextForm.RESULT).line == verdict.line


def test_a_batch_is_put_together_by_the_server() -> None:
    """2025-03-26 has batches, but each request is answered by itself here."""
    text = '[{"jsonrpc":"2.0","id":3,"result":{}}]'
    verdict = check(asked("ping", version=R2025_03), text)
    assert codes(verdict.diagnostics) == ["R13"]
    assert check(asked("ping", version=R2025_03), with_first_fix(verdict)).sendable


def test_the_answer_alone_gets_its_envelope() -> None:
    """The person may type less than the envelope; it is added."""
    exchange = asked("tools/call")
    result = check(exchange, '{"content": []}')
    assert result.line == '{"jsonrpc":"2.0","id":3,"result":{"content":[]}}'
    assert (result.kind, result.diagnostics) == (Kind.RESULT, ())
    error = check(exchange, '{"code": 1, "message": "x"}')
    assert error.line == '{"jsonrpc":"2.0","id":3,"error":{"code":1,"message":"x"}}'
    assert error.kind is Kind.ERROR
    wrong = check(exchange, '{"content": "sunny"}')
    assert codes(wrong.diagnostics) == ["M01"]
    assert wrong.diagnostics[0].pointer == "/result/content"
    assert check(exchange, with_first_fix(wrong)).sendable


def test_half_an_envelope_is_an_error_whose_fix_completes_it() -> None:
    """Who has begun to write the envelope means to write it: what is missing is said."""
    exchange = asked("tools/call")
    beside = check(exchange, '{"jsonrpc":"2.0","id":3,"content":[]}')
    assert codes(beside.diagnostics) == ["R06"]
    assert check(exchange, with_first_fix(beside)).sendable


@pytest.mark.parametrize(
    ("code", "version", "expected"),
    [
        (-32700, R2025_03, []),
        (-32002, R2025_03, []),
        (-32042, R2025_03, []),
        (-32099, R2025_03, []),
        (-32500, R2025_03, ["R10"]),
        (-32768, R2025_03, ["R10"]),
        (-1, R2025_03, []),
        (42, R2025_03, []),
        (-32602, R2026, []),
        (1, R2026, []),
        (-32002, R2026, ["R10"]),
        (-32042, R2026, ["R10"]),
        (-32050, R2026, ["R10"]),
        (-32020, R2026, []),
        (-32000, R2026, ["R10"]),
        (-32022, R2026, ["M09"]),
        (-32021, R2026, ["M09"]),
    ],
)
def test_error_codes_keep_to_their_ranges(code: int, version: str, expected: list[str]) -> None:
    """What is reserved, what 2026-07-28 took away, and which codes need data."""
    verdict = check(
        asked("prompts/list", version=version), f'{{"error":{{"code":{code},"message":"x"}}}}'
    )
    assert codes(verdict.diagnostics) == expected


def test_a_resource_not_found_of_2026_is_fixed_to_invalid_params() -> None:
    """-32002 was replaced by -32602."""
    exchange = asked("resources/read", {"uri": "a"}, version=R2026)
    verdict = check(exchange, '{"error":{"code":-32002,"message":"x"}}')
    assert '"code":-32602' in with_first_fix(verdict)


def test_error_data_has_a_shape_for_some_codes() -> None:
    """Supported and requested, requiredCapabilities, elicitations."""
    exchange = asked("tools/list", version=R2026)
    text = '{"error":{"code":-32022,"message":"x","data":{"supported":["2026-07-28"]}}}'
    verdict = check(exchange, text)
    assert [(p.code, p.pointer) for p in verdict.diagnostics] == [("M09", "/error/data")]
    left = check(exchange, with_first_fix(verdict))
    assert codes(left.diagnostics) == ["M61"]  # what was requested has to be filled in
    assert check(exchange, left.text.replace("…", "2099-01-01")).sendable


@pytest.mark.parametrize(
    "text",
    ['{"error":{"code":1,"message":"x"}}',
     '{"jsonrpc":"2.0","id":3,"error":{"code":1,"message":"x"}}'],
)  # fmt: skip
def test_an_error_inside_the_error_is_fixed(text: str) -> None:
    """R25: the error form adds the envelope, so it must not be there twice."""
    verdict = check(asked("ping"), text, TextForm.ERROR)
    assert codes(verdict.diagnostics) == ["R25"]
    line = '{"jsonrpc":"2.0","id":3,"error":{"code":1,"message":"x"}}'
    assert check(asked("ping"), with_first_fix(verdict), TextForm.ERROR).line == line


def test_more_in_an_error_is_a_warning() -> None:
    """Put extras in error.data."""
    verdict = check(asked("ping"), '{"error":{"code":1,"message":"x","reason":"y"}}')
    assert codes(verdict.diagnostics) == ["R11"]
    assert verdict.sendable


@pytest.mark.parametrize(
    ("members", "expected"), [('"result":{},"error":null', ["R05"]), ('"error":null', ["R18"])]
)
def test_an_error_of_null_beside_a_result_is_one_too_many_and_alone_no_error(
    members: str, expected: list[str]
) -> None:
    """What some languages write for "no error": said once, not as a wrong error object as well."""
    text = f'{{"jsonrpc":"2.0","id":3,{members}}}'
    assert codes(check(asked("ping"), text).diagnostics) == expected


@pytest.mark.parametrize(
    ("text", "becomes"),
    [
        ('{"params":{"a":1}}', '{"jsonrpc": "2.0", "id": 3, "result": {"params":{"a":1}}}'),
        (
            '{"params":{},"code":1,"message":"x"}',
            '{"jsonrpc": "2.0", "id": 3, "error": {"params":{},"code":1,"message":"x"}}',
        ),
        ('{"params":1,"code":1}', '{"jsonrpc": "2.0", "id": 3, "result": {"params":1,"code":1}}'),
    ],
)
def test_params_without_anything_of_an_answer_stand_inside_it(text: str, becomes: str) -> None:
    """Nothing else of the envelope is asked for: one fix puts all of it around."""
    verdict = check(asked("ping"), text)
    assert codes(verdict.diagnostics) == ["R06"]
    assert with_first_fix(verdict) == becomes


@pytest.mark.parametrize(("token", "typed", "said"), [("3.0", "3.0", []), ("3", "3.0", ["R16"])])
def test_a_number_with_a_fraction_is_the_id_only_if_the_client_wrote_it_so(
    token: str, typed: str, said: list[str]
) -> None:
    """Clients compare what they wrote."""
    text = f'{{"jsonrpc":"2.0","id":{typed},"result":{{}}}}'
    assert codes(check(asked("ping", token=token), text).diagnostics) == said
