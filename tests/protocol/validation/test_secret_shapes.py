"""Who types a secret in an answer is told, with its place, and is kept from nothing."""

import base64
import json
import random
from typing import Any

import pytest

from humanmcp.protocol.conversation.exchange import NegotiatedState
from humanmcp.protocol.conversation.transcript import Direction
from humanmcp.protocol.diagnostics.model import Severity, TextForm
from humanmcp.protocol.json.removed import mark_of
from humanmcp.protocol.tables import examples, methods, versions
from humanmcp.protocol.validation.held import HeldMessage, judge
from humanmcp.protocol.validation.outgoing import check_outgoing
from humanmcp.protocol.validation.secret_shapes import (
    is_secret,
    to_try,
    typed_secrets,
    warn_of_secrets,
)
from tests.support.verdicts import R2025, asked, check, codes

CALL = "tools/call"
JWT = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.abcDEF123_-x"
PEM = "-----BEGIN RSA PRIVATE KEY-----\\nMIIEow\\n-----END RSA PRIVATE KEY-----"


@pytest.mark.parametrize(
    ("typed", "secret", "name"),
    [
        ("the password: hunter22", "hunter22", "password"),
        ("export GITHUB_TOKEN=abc123def", "abc123def", "GITHUB_TOKEN"),
        ("use sk-abcdefghijklmnop1234 for it", "sk-abcdefghijklmnop1234", "sk-a…"),
        ("AKIAABCDEFGHIJKLMNOP", "AKIAABCDEFGHIJKLMNOP", "AKIA…"),
        (f"it is {JWT}.", JWT, "eyJh…"),
        ("Authorization: Bearer abcdef123456", "abcdef123456", "Authorization"),
        ("postgres://me:s3cret@db/x", "s3cret", "s3cr…"),
        (PEM, PEM, "----…"),
        ('{"apiKey": "k-123456"}', '"k-123456"', "apiKey"),
        ("パスワード=himitsu1", "himitsu1", "パスワード"),
    ],
)
def test_what_looks_like_a_secret_is_found_where_it_stands(
    typed: str, secret: str, name: str
) -> None:
    """By the name that it has, or by its shape."""
    (found,) = typed_secrets(typed)
    assert (typed[found.start : found.end], found.name) == (secret, name)


@pytest.mark.parametrize(
    ("typed", "found"),
    [
        ("token=sk-abcdefghijklmnop1234", [(6, 29, "token")]),
        (PEM + PEM, [(0, len(PEM), "----…"), (len(PEM), 2 * len(PEM), "----…")]),
        ("secret=hunter22 token=hunter33", [(7, 15, "secret"), (22, 30, "token")]),
        ("sk-abcdefghijklmnop1234 token=hunter33", [(0, 23, "sk-a…"), (30, 38, "token")]),
        ("token=abc", []),
        ("token=abcd", [(6, 10, "token")]),
    ],
)
def test_several_are_told_in_their_order_and_each_once(
    typed: str, found: list[tuple[int, int, str]]
) -> None:
    """One that has two shapes is one, two that touch are two."""
    assert [tuple(one) for one in typed_secrets(typed)] == found


@pytest.mark.parametrize(
    "typed",
    [
        "",
        "the key to this session is a password that nobody knows",
        "password: see the manual",
        '{"password": ""}',
        '{"password": "…", "token": "<your token>", "secret": "${SECRET}", "apiKey": "xxxxxxxx"}',
        '{"type": "object", "properties": {"password": {"type": "string"}}}',
        '{"nextPageToken": "abc123", "progressToken": "abc123"}',
        '{"token": "[redacted]"}',
        "Basic knowledge of https://example.org/a@b",
    ],
)
def test_what_is_none_is_left_alone(typed: str) -> None:
    """A warning that is often wrong is not read."""
    assert typed_secrets(typed) == ()


def test_a_picture_is_no_secret_whatever_stands_in_it() -> None:
    """Long base64, of both alphabets."""
    content = random.Random(8).randbytes(30_000)
    for encode in (base64.b64encode, base64.urlsafe_b64encode):
        data = encode(content).decode()
        mixed = f"{data[:9000]}sk-abcdefghijklmnop1234AKIAABCDEFGHIJKLMNOP{data[9000:]}"
        assert typed_secrets(json.dumps({"type": "image", "data": mixed, "name": "key"})) == ()


@pytest.mark.parametrize(
    ("form", "text"),
    [
        (TextForm.TEXT, "It is:\n  sk-abcdefghijklmnop1234"),
        (TextForm.RESULT, '{"content": [],\n  "_meta": {"a/token": "sk-abcdefghijklmnop1234"}}'),
        (TextForm.ERROR, '{"code": -32603,\n "message": "sk-abcdefghijklmnop1234"}'),
    ],
)
def test_the_check_warns_at_the_place_and_blocks_nothing(form: TextForm, text: str) -> None:
    """In every form; the secret itself is not in what is said."""
    verdict = check(asked(CALL), text, form)
    (diagnostic,) = [each for each in verdict.diagnostics if each.code == "J45"]
    assert (diagnostic.severity, diagnostic.line) == (Severity.WARNING, 2)
    assert "sk-abcdefghijklmnop1234" in text[diagnostic.start : diagnostic.end]
    assert "abcdefgh" not in str(diagnostic.detail)
    assert verdict.line is not None


def test_many_are_one_warning() -> None:
    """Grouped, as all problems of one kind."""
    verdict = check(asked(CALL), "sk-abcdefghijklmnop1234 " * 500, TextForm.TEXT)
    assert codes(verdict.diagnostics) == ["J45"]


def test_no_example_of_ours_is_a_secret() -> None:
    """What we offer to begin with warns of nothing."""
    for method in methods.REQUESTS:
        for version in versions.ALL:
            for result in dict(examples.each_result(method, version)).values():
                assert typed_secrets(json.dumps(result)) == (), method


KEY = "sk-abcdefghijklmnop1234"


@pytest.mark.parametrize("method", [*methods.REQUESTS, "x/own"])
def test_a_secret_is_told_whatever_was_asked(method: str) -> None:
    """In a result, and in the message of an error."""
    result = json.dumps({"_meta": {"com.example/note": KEY}})
    assert "J45" in codes(check(asked(method), result, TextForm.RESULT).diagnostics)
    error = json.dumps({"code": 1, "message": f"use {KEY}"})
    assert "J45" in codes(check(asked(method), error, TextForm.ERROR).diagnostics)


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("notifications/message", {"level": "info", "data": {"password": "hunter22"}}),
        ("sampling/createMessage", {"messages": [], "maxTokens": 1, "systemPrompt": KEY}),
        ("x/own", {"url": "https://me:hunter22@example.com/"}),
    ],
)
def test_a_secret_in_an_outgoing_message_is_told(method: str, params: dict[str, Any]) -> None:
    """What nobody asked for is kept and logged as well."""
    text = json.dumps({"jsonrpc": "2.0", "method": method, "params": params, "id": 1})
    assert "J45" in codes(check_outgoing(text, R2025, NegotiatedState()).diagnostics)


def test_of_a_held_message_only_what_was_typed_is_a_secret_of_the_person() -> None:
    """The client's own stood there before."""
    line = '{"jsonrpc":"2.0","method":"x/own","params":{"token":"hunter22","b":1}}'
    held = HeldMessage(line, Direction.IN, R2025)
    assert codes(judge(held, line.replace(":1", ":2")).diagnostics) == []
    assert codes(judge(held, line.replace("hunter22", "hunter33")).diagnostics) == ["J45"]


def test_the_list_of_tools_may_name_what_it_wants() -> None:
    """`default` and `examples` of a schema belong to whoever wrote the server."""
    schema = {
        "type": "object",
        "properties": {"token": {"default": "x"}},
        "examples": [{"token": "abcd"}],
    }
    tools = {"tools": [{"name": "a", "inputSchema": schema}]}
    found = check(asked("tools/list"), json.dumps(tools), TextForm.RESULT).diagnostics
    assert "J45" not in codes(found)


@pytest.mark.parametrize(
    ("text", "secret"),
    [
        ("token=hunter22", True),
        (f"token={mark_of('TOKEN')}", False),
        (f'"token": "{mark_of("TOKEN")}"', False),
        (f'"authorization": "Bearer {mark_of("TOKEN")}"', False),
        ("token=[redacted]", True),
        ("token=[redacted:TOKEN-0000]", True),
        ("PWD=/home/me", False),
        ("PWD=hunter22", False),
        ("pwd=hunter22", True),
        ("pwd=/home/me", False),
        ("PASSWD=/home/me", True),
    ],
)
def test_a_mark_and_the_folder_one_works_in_are_no_secrets(text: str, *, secret: bool) -> None:
    """What is hidden already is not hidden anew."""
    found = [match for shape in to_try(text) for match in shape.finditer(text)]
    assert found
    assert any(map(is_secret, found)) == secret


GITHUB = "ghp_" + "a" * 20


@pytest.mark.parametrize(
    ("typed", "found", "by_shape"),
    [
        ('"password": "abc"', [], []),
        ('"password": "abcd"', [(12, 18, "password")], []),
        ('"token": "true"', [], []),
        ('"token": "True"', [], []),
        ('"token": "true1"', [(9, 16, "token")], []),
        ('"token": "<key>"', [], []),
        ("token=[redacted1]", [], []),
        ("PWD=/a/b", [], []),
        ("pwd=secret99", [(4, 12, "pwd")], []),
        (GITHUB[:-1], [], []),
        (GITHUB, [(0, 24, "ghp_…")], [(0, 24, "ghp_…")]),
        (
            f'"password": "abcd", "password": "efgh" {GITHUB}',
            [(12, 18, "password"), (32, 38, "password"), (39, 63, "ghp_…")],
            [(39, 63, "ghp_…")],
        ),
        (f"{'x ' * 24_988}{GITHUB}", [(49_976, 50_000, "ghp_…")], [(49_976, 50_000, "ghp_…")]),
        (f"{'x ' * 24_989}{GITHUB}", [], []),
    ],
    ids=lambda one: one[-30:] if isinstance(one, str) else "",
)
def test_a_secret_has_four_characters_and_is_no_common_word(
    typed: str, found: list[tuple[int, int, str]], by_shape: list[tuple[int, int, str]]
) -> None:
    """It is sought in the first fifty thousand characters, by its name or by its shape alone."""
    assert [tuple(one) for one in typed_secrets(typed)] == found
    assert [tuple(one) for one in typed_secrets(typed, by_name=False)] == by_shape


def test_what_is_known_already_is_not_warned_of() -> None:
    """Each other secret at its place, with its name."""
    text = f'"password": "abcd"\n{GITHUB}'
    found = warn_of_secrets(text, known='x "abcd" x')
    assert [(one.code, one.detail, one.start, one.end, one.line, one.column) for one in found] == [
        ("J45", (("name", "ghp_…"),), 19, 43, 2, 1)
    ]
    assert [one.start for one in warn_of_secrets(text)] == [12, 19]
    assert [one.start for one in warn_of_secrets(text, by_name=False)] == [19]
    assert warn_of_secrets(text, known=text) == ()
