"""Obvious secrets do not leave the machine; everything else stays as it was."""

import base64
import json
import time
from typing import Final
from urllib.parse import quote

import pytest

from humanmcp.protocol.conversation.transcript import Direction, Frame
from humanmcp.protocol.json.removed import fits, mark_of, names_in
from humanmcp.protocol.validation.redaction import Redaction, redact_recording, without_secrets
from humanmcp.protocol.validation.secret_shapes import shapes, to_try
from tests.support.recordings import SEED, WEATHER, answer, ask, recording, text
from tests.support.secrets import HIDDEN, KEPT

KEY = "sk-" + "a1B2" * 6
MARK = mark_of("SID_9")
TOKEN = "ghp_" + "Z9" * 18
JWT = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.c2lnbmF0dXJl"


def redact(text: str) -> str:
    """Redact one text alone. Each mark is written without its name."""
    return plain(without_secrets(text))


def plain(text: str) -> str:
    """Write each mark without its name."""
    for name in names_in(text):
        text = text.replace(mark_of(name), "[redacted]")
    return text


SECRETS: Final = [
    (
        '{"headers":[["Mcp-Session-Id","Yx2-abc"],["accept","*/*"]]}',
        '{"headers":[["Mcp-Session-Id","[redacted]"],["accept","*/*"]]}',
    ),
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
        '{"h":[{"header":"X-Api-Key","Values":"abc"},{"key":"sid","VALUE":7}]}',
        '{"h":[{"header":"X-Api-Key","Values":"[redacted]"},{"key":"sid","VALUE":"[redacted]"}]}',
    ),
    ('["x-api-key","k3y 0", "b"]', '["x-api-key","[redacted]", "b"]'),
    ('{"token":[["abc"],7,true]}', '{"token":[["[redacted]"],"[redacted]",true]}'),
    (
        '{"Cookies":{"theme":"dark"},"n":"dark"}',
        '{"Cookies":{"theme":"[redacted]"},"n":"[redacted]"}',
    ),
    ('"secret": 12345, and', '"secret": "[redacted]", and'),
    ('"sid": ["q1", "q2"], and', '"sid": ["[redacted]"], and'),
    (
        "go to=https%3a%2f%2fa.example%2f%3fsid%3dabc x",
        "go to=https%3a%2f%2fa.example%2f%3fsid%3d[redacted] x",
    ),
    (
        "u=https://x/?a%20b+c%3Fsid%3Dabc%26d%3D%zz",
        "u=https://x/?a%20b+c%3Fsid%3D[redacted]%26d%3D%zz",
    ),
    ("u=%FF%c3%A9%E3%81%3Fsid%3Da%C3%A9%FFb%26%81", "u=%FF%c3%A9%E3%81%3Fsid%3D[redacted]%26%81"),
    (
        "/?u=%2f%3Fv%3d%252f%253Fsid%253Dabc%2526q%3D1%26pwd%3Dx",
        "/?u=%2f%3Fv%3d%252f%253Fsid%253D[redacted]%2526q%3D1%26pwd%3D[redacted]",
    ),
    ('{"?sid=abc":{"b":1}, "c":"?sid=abc"}', '{"?sid=[redacted]":{"b":1}, "c":"?sid=[redacted]"}'),
    (
        f"u=a%3D{MARK.replace('[', '%5B')}%26sid%3Dabc%26sid%3Ddef",
        "u=a%3D[redacted]%26sid%3D[redacted]%26sid%3D[redacted]",
    ),
    # Only the mark is new: not the quotes of a number, nor an escape.
    (
        "/?u=%7B%22sid%22%3A1,%22n%22:2%7D&b=%2f",
        "/?u=%7B%22sid%22%3A[redacted],%22n%22:2%7D&b=%2f",
    ),
    (
        "u=%7B%22sid%22%3A1,%22n%22:2,%22t%22:%22%5Cu00e9%20sid%3Dx%22%7D",
        "u=%7B%22sid%22%3A[redacted],%22n%22:2,%22t%22:%22%5Cu00e9%20sid%3D[redacted]%22%7D",
    ),
    (
        r'{"t":"{\"log\": \"caf\\u00e9 https:\\/\\/h\\/?token=abc \\ud83d\\ude00\"}"}',
        r'{"t":"{\"log\": \"caf\\u00e9 https:\\/\\/h\\/?token=[redacted] \\ud83d\\ude00\"}"}',
    ),
    ('Cookie: theme="dark"; remember=abcdef', 'Cookie: theme="[redacted]"; remember=[redacted]'),
    # A value that is the name of its own mark, or a part of it.
    ('{"apiKey":"API_KEY"}', '{"apiKey":"[redacted]"}'),
    ("https://h/?u=a%3Fapi_key%3DAPI_KEY&x=1", "https://h/?u=a%3Fapi_key%3D[redacted]&x=1"),
    ('{"apiKey":"redacted:API_KEY-bcb9"}', '{"apiKey":"[redacted]"}'),
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
    ('{"t":"SECRET=\\"q w\\" x"}', '{"t":"SECRET=\\"[redacted]\\" x"}'),
    ("export TOKEN='q w' x", "export TOKEN=[redacted] x"),
    ('{"authorization":["Bearer abc", "x"]}', '{"authorization":["[redacted]", "[redacted]"]}'),
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
]


@pytest.mark.parametrize(("text", "left"), SECRETS)
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
        '{"env":{"PWD":"/home/me","OLDPWD":"/","XDG_SESSION_ID":"3","pwd":"C:\\\\work"}}',
        "PWD=/home/me node x.js",
        '{"next_token":"abc","page_token":"abcdefgh"}',
        '{"secret":true,"token":null,"password":false,"pass":5,"sid":""}',
        '{"args":["--token","--port","80"],"argv":["--token"]}',
        '{"words":["token","a b 1","x-api-key","Accept"]}',
        '{"name":"weather","values":"sunny1","key":"x-api-key"}',
    ],
)
def test_what_is_no_secret_stays(text: str) -> None:
    """Protocol words, schemas, plain language."""
    assert redact(text) == text


def test_what_holds_no_secret_is_the_same_frame() -> None:
    """Also bytes that are no UTF-8: they are not decoded and encoded again."""
    assert redact_recording(WEATHER.frames).frames == WEATHER.frames
    seed = (SEED / "demo-app.log").read_text(encoding="utf-8")
    assert redact(seed) == seed


def test_a_redacted_message_is_still_a_message() -> None:
    """It can be read, shown and replayed."""
    line = json.dumps({"id": 1, "result": {"secret": 'a"b\\', "n": [1.5]}})
    assert json.loads(redact(line)) == {"id": 1, "result": {"secret": "[redacted]", "n": [1.5]}}


def test_what_stands_beside_a_secret_stays_as_it_was_typed() -> None:
    """In a text within the text, too."""
    inner = json.dumps({"password": "hunter2", "city": "大阪"}, ensure_ascii=False)
    line = json.dumps({"text": inner}, ensure_ascii=False)
    assert redact(line) == line.replace("hunter2", "[redacted]")


def test_a_value_under_a_secret_name_is_replaced_wherever_it_stands() -> None:
    """Also in a name. A secret that is a word is replaced in no name and in no word of MCP."""
    arguments = {"user": "hunter2x", "password": "hunter2", "secret": "correct"}
    recorded = recording(
        ask(1, "tools/call", name="login", arguments=arguments),
        answer(1, result=text('hunter2 fits: {"hunter2": "hunter2"}, see https://a.b/?x=hunter2')),
        answer(2, result={"correct": ["correct"], "hunter2": ["hunter2"], "type": "correct"}),
    )
    told = [plain(frame.text) for frame in redact_recording(recorded.frames).frames]
    assert "hunter2x" in told[0]
    assert '"password": "[redacted]"' in told[0]
    assert json.loads(told[1])["result"]["content"][0]["text"] == (
        '[redacted] fits: {"[redacted]": "[redacted]"}, see https://a.b/?x=[redacted]'
    )
    assert json.loads(told[2])["result"] == {
        "correct": ["[redacted]"],
        "[redacted]": ["[redacted]"],
        "type": "correct",
    }


def test_a_value_that_means_nothing_is_not_looked_for_elsewhere() -> None:
    """Short ones, and the words of a form or a schema, stand in too much else."""
    recorded = recording(
        ask(1, "tools/call", name="a", arguments={"password": "abc", "secret": "string"}),
        answer(1, result=text("abc is a string")),
    )
    assert "abc is a string" in redact_recording(recorded.frames).frames[1].text


def test_what_can_be_run_tells_the_values_apart() -> None:
    """Each has a name, the same in all places; what is counted are values, not places."""
    recorded = recording(
        ask(1, "tools/call", name="a", arguments={"apiKey": "first-1", "token": "second-2"}),
        ask(2, "tools/call", name="a", arguments={"apiKey": "third-3"}),
        answer(1, result=text("first-1, third-3")),
        (recording(ask(1, "x")).frames[0].direction, "Authorization: Bearer second-2"),
    )
    redacted = redact_recording(recorded.frames)
    assert redacted.names == ("API_KEY", "API_KEY_2", "TOKEN")
    assert f"{mark_of('API_KEY')}, {mark_of('API_KEY_2')}" in redacted.frames[2].text
    assert redacted.frames[3].text == f"Authorization: Bearer {mark_of('TOKEN')}"


@pytest.mark.parametrize("text", [text for text, _left in SECRETS])
def test_no_shape_is_left_out_that_a_text_has(text: str) -> None:
    """What is not searched for, because of what every match holds, is not there."""
    for each in (text, text.upper(), f"{text} {text.lower()}"):
        there = [shape for shape in shapes() if shape.search(each)]
        assert [shape for shape in to_try(each) if shape in there] == there


def test_a_text_is_searched_again_only_where_something_was_found() -> None:
    """The searches are what takes time: nothing to find, nothing to replace but repeats."""
    redaction = Redaction()
    assert not redaction.find('{"text":"hunter2, and the weather of a day", "n": [1, 2]}')
    assert not redaction.find("")
    assert redaction.find('{"password":"hunter2","text":"a = 1, b: 2"}')
    left = redaction.replace("it is hunter2, token=abc", found=False)
    assert plain(left) == "it is [redacted], token=abc"


def test_a_secret_that_comes_to_light_behind_another_one_is_replaced() -> None:
    """The second search tries every shape: the first one has passed over this one."""
    text = f"a secret=Authorization: Bearer {mark_of('TOKEN')}Authorization: Basic dXNlcjpwYXNz"
    assert "dXNlcjpwYXNz" not in redact(text)


@pytest.mark.parametrize("part", ["token:", "-----BEGIN PRIVATE KEY-----", "Bearer a.", "key='"])
def test_a_recording_that_only_nearly_has_secrets_is_looked_through_once(part: str) -> None:
    """An export of what a stranger sent took minutes where one shape began again and again."""
    assert redact(part * 20_000) == part * 20_000


@pytest.mark.parametrize(
    ("value", "secret"), [row[1:] for row in HIDDEN], ids=[r[0] for r in HIDDEN]
)
def test_no_secret_is_left_in_any_place(value: object, secret: str) -> None:
    """Also where JSON is written with escapes; what is left is JSON, and is not changed again.

    What was removed fits what stood there, also in a query in a query.
    """
    for ascii_only in (True, False):
        line = json.dumps(value, ensure_ascii=ascii_only)
        left = without_secrets(line)
        assert secret not in left
        assert names_in(left)
        assert fits(json.loads(left), value)
        assert without_secrets(left) == left


@pytest.mark.parametrize("value", KEPT, ids=json.dumps)
def test_ordinary_words_are_no_secrets(value: object) -> None:
    """`code` and `state` are of OAuth only where other names say so."""
    line = json.dumps(value)
    assert without_secrets(line) == line


@pytest.mark.parametrize(
    "part",
    [
        *(
            '{"a":"',
            '\\"token\\":\\"',
            '\\\\\\"token\\\\\\":\\\\\\"',
            "'token':'",
            "token=a&",
            "[[",
        ),
        *(
            'name="password"\r\nx\r\n',
            '{"token":["',
            "cookie: a=1; ",
            "\n  token: ",
            "://a:",
            "%3D",
        ),
        *(
            "-----BEGIN PRIVATE KEY-----",
            "eyJaaaaaaaa.",
            "a.token",
            "to=a%3Db%26",
            *(
                "%25",
                "a=%3Dtoken%3Da&",
                "%26token%3Da1",
                "%22token%22%3A1%20",
                "%FF%C3",
                "/%",
                "=%41",
            ),
            '"name":"token",',
        ),
    ],
)
def test_a_text_of_twice_the_length_takes_twice_the_time(part: str) -> None:
    """A stranger writes it; each pattern tries a place once. Three times as long is noise."""

    def seconds(length: int) -> float:
        text = "token=1 " + (part * length)[:length]
        start = time.process_time()
        without_secrets(text)
        return time.process_time() - start

    assert seconds(40_000) < 3 * seconds(20_000) + 0.1


@pytest.mark.parametrize("value", ["secret{}x9", "{}", "a b%3D{}", "eyJhbGciOiJIUzI1NiJ9.eyJ{}"])
def test_twice_as_many_secrets_take_twice_the_time(value: str) -> None:
    """Each has a name that no other one has, and is searched in all of the texts."""

    def seconds(count: int) -> float:
        texts = [json.dumps({"password": value.format(10_000 + n)}) for n in range(count)]
        frames = [Frame(0, "", Direction.IN, text.encode()) for text in texts]
        start = time.process_time()
        assert len(redact_recording(frames).names) >= count
        return time.process_time() - start

    assert seconds(2_000) < 3 * seconds(1_000) + 0.1


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ('{"apiKey":"x1"}', ["API_KEY"]),
        ('{"x.api-key":"x1"}', ["X_API_KEY"]),
        ('{"_token":"x1"}', ["TOKEN"]),
        ('{"githubToken":"x1"}', ["GITHUB_TOKEN"]),
        ('{"パスワード":"x1"}', ["SECRET"]),
        (json.dumps({f"{'a' * 50}_token": "x1"}), ["A" * 40]),
        ('{"apiKey":"x1","api_key":"x2","api-key":"x3"}', ["API_KEY", "API_KEY_2", "API_KEY_3"]),
        ('{"apiKey":"x1","api_key":"x1"}', ["API_KEY", "API_KEY"]),
        (f'{{"was":"{mark_of("TOKEN")}","token":"x1"}}', ["TOKEN", "TOKEN_2"]),
        (f"/?u={quote(quote(mark_of('TOKEN')))}&token=x1", ["TOKEN_2"]),
        (f"use {KEY} now", ["KEY"]),
        ("Cookie: theme=dark; lang=ja; Path=/", ["COOKIE", "COOKIE_2"]),
    ],
)
def test_a_mark_is_named_after_the_member_as_a_variable_is(text: str, names: list[str]) -> None:
    """In capitals and at most 40 characters; each value has a name that nothing else has."""
    assert names_in(without_secrets(text)) == names


@pytest.mark.parametrize(
    ("secret", "spelt"),
    [
        ("wJalrXUtnFEMI/K7MDENG/bPx", r"wJalrXUtnFEMI\/K7MDENG\/bPx"),
        ("Tr0ub&dor99", r"Tr0ub\u0026dor99"),
        ("aGVsbG8+d29ybGQ", r"aGVsbG8\u002Bd29ybGQ"),
        ("geheimwört99", r"geheimw\u00F6rt99"),
        ('hun"ter2', r"hun\"ter2"),
    ],
)
@pytest.mark.parametrize("levels", [0, 1, 3])
def test_a_repeat_is_replaced_however_another_program_escapes_it(
    secret: str, spelt: str, levels: int
) -> None:
    """PHP, Go and .NET escape what Python does not; the rest stays as they wrote it."""
    text = rf'{{"a":"\u0041 {spelt} \/"}}'
    left = r'{"a":"\u0041 [redacted:PASSWORD-da99] \/"}'
    for _ in range(levels):
        text, left = json.dumps({"t": f"so: {text}"}), json.dumps({"t": f"so: {left}"})
    redaction = Redaction()
    redaction.redact(json.dumps({"password": secret}))
    assert redaction.redact(text) == left


def test_half_a_character_beside_a_secret_is_kept() -> None:
    """An escape of JSON may have it, also in an address within an address."""
    text = without_secrets('{"t":"go?to=https%3A%2F%2Fa.example%2F%3Ftoken%3Dabc1%26b%3D\\ud800"}')
    address = f"https%3A%2F%2Fa.example%2F%3Ftoken%3D{mark_of('TOKEN')}%26b%3D\ud800"
    assert json.loads(text) == {"t": f"go?to={address}"}


BASIC: Final = base64.b64encode(b"me:pa55:word").decode()


@pytest.mark.parametrize(
    ("secret", "elsewhere", "left"),
    [
        ("hunter22", "it is hunter22!", "it is []!"),
        ("hunter22", "xhunter22 hunter22x 7hunter22", "xhunter22 hunter22x 7hunter22"),
        ("hun", "hun", "hun"),
        # as it is written in an address, in a string of JSON, and in one of ASCII
        ("a b/c", "a b/c a%20b/c a%20b%2Fc a+b%2Fc", "[] [] [] []"),
        ('a"bc', 'is "a\\"bc"', 'is "[]"'),
        ("ünsafe", 'is "\\u00fcnsafe" or ünsafe', 'is "[]" or []'),
        # and encoded twice, in lower case, in a text in a text
        ("a b/c", "/a%2520b%252fc /?q=a+b%2fc", "/[] /?q=[]"),
        ('a"bc', '\\"is \\\\\\"a\\\\\\"bc\\"', '\\"is \\\\\\"[]\\"'),
        ("hunter22", "xnhunter22 u00e9hunter22", "xnhunter22 u00e9hunter22"),
        # what is secret alone
        ("hun%20ter", "is hun ter", "is []"),
        ("Bearer abcd", "is abcd", "is []"),
        ("Negotiate abcd", "is abcd", "is abcd"),
        (f"Basic {BASIC}", f"is pa55:word, {BASIC}", "is [], []"),
        (f"Bearer {BASIC}", "is pa55:word", "is pa55:word"),
        (f"Basic {base64.b64encode(b'nobody').decode()}", "is nobody", "is nobody"),
        ("Basic nobody", "is nobody", "is []"),
    ],
)
def test_a_secret_is_replaced_in_each_spelling_and_part(
    secret: str, elsewhere: str, left: str
) -> None:
    """Wherever it stands as a word of its own."""
    for ascii_only in (True, False):
        line = json.dumps({"password": secret, "text": elsewhere}, ensure_ascii=ascii_only)
        text = json.loads(without_secrets(line))["text"]
        for name in names_in(text):
            text = text.replace(mark_of(name), "[]")
        assert text == left


def test_a_number_is_replaced_elsewhere_if_it_is_long() -> None:
    """From six digits; a shorter one is a number like any other."""
    assert redact('{"secret":123456,"n":[123456]}') == '{"secret":"[redacted]","n":["[redacted]"]}'
    assert redact('{"secret":12345,"n":[12345]}') == '{"secret":"[redacted]","n":[12345]}'


def test_a_note_is_redacted_and_bytes_that_are_no_text_stay() -> None:
    """A frame without a secret is the same one."""
    kept, noted, written = redact_recording(
        (
            Frame(1, "", Direction.IN, b"\xff"),
            Frame(2, "", Direction.NOTE, b"x", note="see token=abcd1"),
            Frame(3, "", Direction.OUT, b"abcd1 \xff"),
        )
    ).frames
    assert (kept.raw, kept.note) == (b"\xff", "")
    assert (noted.raw, noted.note) == (b"x", f"see token={mark_of('TOKEN')}")
    assert written.raw.startswith(mark_of("TOKEN").encode() + b" ")


def test_a_mark_in_a_note_keeps_its_name() -> None:
    """Two values of one name would be one value for who reads them."""
    noted = Frame(1, "", Direction.NOTE, b"", note=f"see {mark_of('TOKEN')}")
    written = Frame(2, "", Direction.IN, b'{"token":"zzz98765"}')
    assert redact_recording([noted, written]).names == ("TOKEN_2",)


@pytest.mark.parametrize(("levels", "is_replaced"), [(0, True), (8, True), (9, False)])
def test_texts_in_texts_are_searched_to_a_depth(levels: int, *, is_replaced: bool) -> None:
    """A stranger may nest them without an end."""
    text = json.dumps({"cookies": {"theme": "hunter22"}})
    for _ in range(levels):
        text = json.dumps({"t": text})
    assert ("hunter22" not in without_secrets(text)) is is_replaced


@pytest.mark.parametrize(("count", "is_replaced"), [(0, True), (19, True), (20, False)])
def test_what_only_begins_like_json_is_tried_a_few_times(count: int, *, is_replaced: bool) -> None:
    """Each try may read the text to its end."""
    text = '{" ' * count + json.dumps({"cookies": {"theme": "hunter22"}})
    assert ("hunter22" not in without_secrets(f"is {text}")) is is_replaced
