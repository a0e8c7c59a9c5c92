"""Obvious secrets do not leave the machine; everything else stays as it was."""

from __future__ import annotations

import json

import pytest

from humanmcp.export.redact import REDACTED, redact, redact_frames
from tests.export.recordings import SEED, WEATHER

KEY = "sk-" + "a1B2" * 6
TOKEN = "ghp_" + "Z9" * 18
JWT = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.c2lnbmF0dXJl"


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ('{"password":"hunter2"}', '{"password":"[redacted]"}'),
        ('{"apiKey" : "x\\"y", "n":1}', '{"apiKey" : "[redacted]", "n":1}'),
        ('{"ACCESS_TOKEN":12345}', '{"ACCESS_TOKEN":"[redacted]"}'),
        ('{"headers":{"Authorization":"Basic abc"}}', '{"headers":{"Authorization":"[redacted]"}}'),
        (f'{{"text":"use {KEY} now"}}', '{"text":"use [redacted] now"}'),
        (f"fatal: {TOKEN}", "fatal: [redacted]"),
        (f'{{"jwt":"{JWT}"}}', '{"jwt":"[redacted]"}'),
        ('{"url":"postgres://me:pa55@host/db"}', '{"url":"postgres://me:[redacted]@host/db"}'),
        ('{"t":"Authorization: Bearer abc123def"}', '{"t":"Authorization: Bearer [redacted]"}'),
        (
            '{"text":"{\\"password\\": \\"hunter2\\", \\"n\\": 1}"}',
            '{"text":"{\\"password\\": \\"[redacted]\\", \\"n\\": 1}"}',
        ),
        ("Authorization: Basic dXNlcjpwYXNz", "Authorization: Basic [redacted]"),
        (
            "set-cookie: sid=abc; x-api-key: k3y-0f-s0mebody",
            ("set-cookie: sid=[redacted]; x-api-key: [redacted]"),
        ),
        (
            '{"headers":[{"name":"X-Api-Key","value":"abc"},{"name":"Accept","value":"*"}]}',
            '{"headers":[{"name":"X-Api-Key","value":"[redacted]"},{"name":"Accept","value":"*"}]}',
        ),
        (
            '{"args":["-y","server","--api-key","abc","--port","80"]}',
            '{"args":["-y","server","--api-key","[redacted]","--port","80"]}',
        ),
        ("run --token abc --port 80", "run --token [redacted] --port 80"),
        ('{"args":["--token=abc"]}', '{"args":["--token=[redacted]"]}'),
        ("OPENAI_API_KEY=abc node x.js", "OPENAI_API_KEY=[redacted] node x.js"),
        ('{"env":{"OPENAI_API_KEY":"abc"}}', '{"env":{"OPENAI_API_KEY":"[redacted]"}}'),
        (
            '{"url":"https://a.example/?api_key=abc&city=Tokyo"}',
            '{"url":"https://a.example/?api_key=[redacted]&city=Tokyo"}',
        ),
        (
            '{"env":{"PGPASSWORD":"x","SMTP_PASS":1}}',
            '{"env":{"PGPASSWORD":"[redacted]","SMTP_PASS":"[redacted]"}}',
        ),
        ("PGPASSWORD=abc psql", "PGPASSWORD=[redacted] psql"),
        ('{"t":"SECRET=\\"q w\\" x"}', '{"t":"SECRET=[redacted] x"}'),
        ("export TOKEN='q w' x", "export TOKEN=[redacted] x"),
        ('{"authorization":["Bearer abc", "x"]}', '{"authorization":["[redacted]"]}'),
        ('{"auth":{"user":"me","pass":"abc"}}', '{"auth":{"user":"me","pass":"[redacted]"}}'),
        ('{"パスワード":"abc"}', '{"パスワード":"[redacted]"}'),
        ("redis://:abc@host:6379/0", "redis://:[redacted]@host:6379/0"),
        (f"https://{TOKEN[4:]}@git.example/a", "https://[redacted]@git.example/a"),
        (
            "https://a.example/f?sp=r&sig=abc%3D&X-Amz-Signature=0f&x=1",
            "https://a.example/f?sp=r&sig=[redacted]&X-Amz-Signature=[redacted]&x=1",
        ),
        (f"hf_{'aB3' * 9}", "[redacted]"),
        (
            "-----BEGIN RSA PRIVATE KEY-----\\nMII\\n-----END RSA PRIVATE KEY-----",
            "[redacted]",
        ),
    ],
)
def test_a_secret_is_replaced_and_nothing_else(text: str, left: str) -> None:
    """By its name, or by what it looks like; the line stays the JSON that it was."""
    assert redact(text) == left


@pytest.mark.parametrize(
    "text",
    [
        '{"progressToken":1,"nextCursor":"abc","requestState":"s1","params":{"_meta":{}}}',
        '{"inputSchema":{"properties":{"password":{"type":"string"}}}}',
        '{"text":"Basic knowledge of a Bearer certificate"}',
        '{"name":"tokenize","keyboard":"qwerty","monkey":"x"}',
        "https://example.org:8080/path@x",
        "password: see the manual; the token --flag; a secret=",
        '{"pass":5,"fail":2,"passed":"all","tokens":["a"]}',
        '{"required":["password"],"signature":"f(x)"}',
        "https://user@example.org/ ?signature",
        "max_tokens=5 token-ring tokenize=1",
    ],
)
def test_what_is_no_secret_stays(text: str) -> None:
    """Protocol words, schemas, plain language."""
    assert redact(text) == text


def test_what_holds_no_secret_is_the_same_frame() -> None:
    """Also bytes that are no UTF-8: they are not decoded and encoded again."""
    assert redact_frames(WEATHER.frames) == WEATHER.frames
    seed = (SEED / "demo-app.log").read_text(encoding="utf-8")
    assert redact(seed) == seed


def test_a_redacted_message_is_still_a_message() -> None:
    """It can be read, shown and replayed."""
    line = json.dumps({"id": 1, "result": {"secret": 'a"b\\', "n": [1.5]}})
    assert json.loads(redact(line)) == {"id": 1, "result": {"secret": REDACTED, "n": [1.5]}}
