"""Secrets in every form in which a recording has them, and what looks like one and is none.

`HIDDEN` are texts with the part that must be in no byte of any output.
"""

import base64
import json
from collections.abc import Callable
from typing import Any, Final
from urllib.parse import quote, quote_plus

CANARY: Final = "c4n4ry-5ecret-Qz7"
"""A secret without a form of its own: only its name, or its place, tells."""
_BASIC: Final = base64.b64encode(f"me:{CANARY}".encode()).decode()
_JWT: Final = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.c2lnbmF0dXJlLXF6Nw"
_PEM: Final = "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADAN\nBgkqhkiG9w0B\n-----END PRIVATE KEY-----"

NAMES: Final = (
    *("api_key", "apiKey", "API-Key", "x-api-key", "apikey", "Authorization", "Cookie"),
    *("Set-Cookie", "password", "userPassword", "passwd", "client_secret", "clientSecret"),
    *("access_token", "accessToken", "refresh_token", "id_token", "githubToken", "secret_key"),
    *("code_verifier", "codeVerifier", "session_id", "sessionId", "Mcp-Session-Id", "PHPSESSID"),
    *("AWS_SECRET_ACCESS_KEY", "aws_session_token", "PGPASSWORD", "OPENAI_API_KEY", "credentials"),
    *("webhook_signing_key", "client_assertion", "X-Amz-Security-Token", "パスワード"),
)
"""Names whose values are secrets, wherever they are."""

SHAPES: Final = (
    "AKIAQ7ZP2C4N4RY7QZ71",
    "ghp_c4n4ryQz7c4n4ryQz7c4n4ryQz7c4n4ry",
    "github_pat_c4n4ryQz7c4n4ryQz7c4n4ry",
    "sk-proj-c4n4ryQz7c4n4ryQz7",
    "xoxb-1234567890-c4n4ryQz7",
    "glpat-c4n4ryQz7c4n4ryQz7",
    "AIzac4n4ryQz7c4n4ryQz7c4n4ryQz7c4n4ry",
    "hf_c4n4ryQz7c4n4ryQz7c4n4",
    "npm_c4n4ryQz7c4n4ryQz7c4n4ryQz7c4n4ry",
    _JWT,
)
"""Secrets that their form tells, under any name."""


def _named(name: str) -> dict[str, Any]:
    """Return the places of a value with this name, by what they are."""
    return {
        "member": {name: CANARY},
        "member in a member": {"a": [{"b": {name: CANARY}}]},
        "text that is JSON": {"text": json.dumps({name: CANARY, "n": 1})},
        "JSON in JSON in JSON": {"text": json.dumps({"body": json.dumps({name: CANARY})})},
        "prose with JSON": {"text": f"The response was {json.dumps({name: CANARY})}, as I said."},
        "prose with JSON in JSON": {
            "text": f"I got {json.dumps({'body': json.dumps({name: CANARY})})}, as I said."
        },
        "lines of JSON": {"text": f'first\n{json.dumps({name: CANARY})}\ndata: {{"{name}":"x"}}'},
        "dict of Python": {"text": f"it is { ({name: CANARY})!r}"},
        "line of YAML": {"text": f"a: 1\n{name}: {CANARY}\nb: 2"},
        "quoted line of YAML": {"text": f'a: 1\n  {name}: "{CANARY}"\n'},
        "variable": {"text": f"export {name}={CANARY}"},
        "query": {"url": f"https://a.example/x?n=1&{name}={CANARY}&m=2"},
        "fragment": {"url": f"https://a.example/x#{name}={CANARY}&m=2"},
        "form": {"body": f"n=1&{name}={CANARY}"},
        "name and value": {"headers": [{"name": name, "value": CANARY}]},
        "value and name": {"headers": [{"value": CANARY, "name": name}]},
        "key and value": {"env": [{"key": name, "value": CANARY}]},
        "list": {name: [CANARY, "second"]},
        "flag": {"args": ["run", f"--{name}", CANARY, "-x"]},
        "flag with its value": {"args": [f"--{name}={CANARY}"]},
    }


_HEADERS: Final[dict[str, Callable[[str, str], dict[str, Any]]]] = {
    "pair": lambda name, value: {"headers": [[name, value], ["accept", "*/*"]]},
    "flat list": lambda name, value: {"rawHeaders": ["Accept", "*/*", name, value]},
    "line": lambda name, value: {"text": f"GET / HTTP/1.1\r\n{name}: {value}\r\n\r\n"},
    "curl": lambda name, value: {"text": f"curl -H '{name}: {value}' https://a.example"},
    "word of curl": lambda name, value: {"args": ["-H", f"{name}: {value}"]},
}
_HEADER_VALUES: Final = (
    ("Authorization", f"Bearer {CANARY}", CANARY),
    ("Authorization", f"Basic {_BASIC}", _BASIC),
    ("Proxy-Authorization", f"Basic {_BASIC}", _BASIC),
    ("X-Api-Key", CANARY, CANARY),
    ("Cookie", f"theme=dark; sid={CANARY}; lang=ja", CANARY),
    ("Set-Cookie", f"id={CANARY}; Path=/; HttpOnly", CANARY),
    ("Mcp-Session-Id", CANARY, CANARY),
)

_OAUTH: Final = {
    "request of a token": f"grant_type=authorization_code&code={CANARY}&redirect_uri=x",
    "verifier": f"grant_type=authorization_code&code=x1&code_verifier={CANARY}",
    "callback": f"http://localhost:33418/callback?code={CANARY}&state=x1",
    "state of a callback": f"http://localhost:33418/?code=x1&state={CANARY}",
    "a code alone": f"https://app.example/oauth/done?code={CANARY}",
    "authorize": f"https://as.example/authorize?response_type=code&client_id=1&state={CANARY}",
    "challenge": f"https://as.example/authorize?response_type=code&code_challenge={CANARY}",
    "fragment": f"https://app.example/#access_token=x1&token_type=bearer&state={CANARY}",
    "address in an address": "https://as.example/go?to="
    + quote(f"http://localhost/callback?code={CANARY}&state=1", safe=""),
    "device": f"grant_type=urn:ietf:params:oauth:grant-type:device_code&device_code={CANARY}",
    "request as JSON": json.dumps({"grant_type": "authorization_code", "code": CANARY}),
    "response as JSON": json.dumps({"access_token": CANARY, "token_type": "Bearer"}),
    "client": json.dumps({"redirect_uri": "http://localhost/", "state": CANARY}),
}

_ADDRESS: Final = f"https://a.example/cb(1)?n=1&token={CANARY}"
_IN_ADDRESSES: Final = {
    "behind a bracket": "u=https%3A%2F%2Fa.example%2Fcb(1)%3Fn%3D1%26token%3D" + CANARY,
    "encoded twice, and the address around it not": "u="
    + quote(quote(f"https://a.example/?token={CANARY}", safe=""), safe=""),
    "encoded four times": "u=" + quote(quote(quote(quote(_ADDRESS, "")), ""), ""),
    "in lower case": "u=https%3a%2f%2fa.example%2f%3ftoken%3d" + CANARY,
    "encoded in part": f"u=https%3A//a.example/%3Ftoken={CANARY}",
    "as JSON": "u=" + quote(json.dumps({"token": CANARY, "n": 1}), safe=""),
    "as JSON with a number and marks to escape": "u="
    + quote(json.dumps({"pin": 1, "sid": 123456, "t": f"é token={CANARY}", "n": 1}), safe=""),
    "as JSON in a form": "u=" + quote_plus(json.dumps({"n": 1, "token": CANARY, "m": "a+b"})),
    "as a header": "u=" + quote(f"Authorization: Bearer {CANARY}", safe=""),
    "as a password": "u=" + quote(f"https://me:{CANARY}@a.example/", safe=""),
    "a name that is encoded": f"u=%74oken%3D{CANARY}",
    "beside bytes that are not UTF-8": f"u=%FF%3F%C3token%3D{CANARY}%E3%81&n=%81",
}
"""An address or JSON in a query."""
_REPEATED: Final = {
    "behind a new line in JSON": json.dumps({"log": f"you typed\n{CANARY}\nthanks"}),
    "behind a tab in JSON in JSON": json.dumps({"a": json.dumps({"b": f"x\t{CANARY}"})}),
    "behind a letter in JSON": json.dumps({"a": f"é{CANARY}"}),
    "behind a letter in JSON in JSON": json.dumps({"a": json.dumps({"b": f"é{CANARY}"})}),
    "in Python": repr(f"line\n{CANARY}"),
    "in bytes of Python": repr(f"é{CANARY}".encode()),
    "behind an encoded space": f"https://a.example/?q=is%20{CANARY}%20ok",
    "behind an encoded =": f"https://a.example/?u=https%3A%2F%2Fb%2F%3Fq%3D{CANARY}",
    "encoded twice": f"https://a.example/?u=https%253A%252F%252Fb%252F%253Fq%253D{CANARY}",
    "in a path": f"https://a.example/https%3a%2F%2Fb%2f{CANARY}/x",
}
"""A text that has the secret again, which has its name elsewhere."""

_FORM: Final = f'--b\r\nContent-Disposition: form-data; name="password"\r\n\r\n{CANARY}\r\n--b--'
HIDDEN: Final = (
    *(
        (f"{name}, {place}", value, CANARY)
        for name in NAMES
        for place, value in _named(name).items()
    ),
    *((f"{shape[:6]} in a text", {"text": f"use {shape} now"}, shape) for shape in SHAPES),
    *((f"{shape[:6]} as an argument", {"q": shape}, shape) for shape in SHAPES),
    *(
        (f"{name} as {place}", make(name, value), part)
        for name, value, part in _HEADER_VALUES
        for place, make in _HEADERS.items()
    ),
    *((f"OAuth: {place}", {"text": text}, CANARY) for place, text in _OAUTH.items()),
    *(
        (f"OAuth in prose: {place}", {"text": f"go to {text} ."}, CANARY)
        for place, text in _OAUTH.items()
    ),
    *(
        (f"in an address: {place}", {"url": f"/?{text}"}, CANARY)
        for place, text in _IN_ADDRESSES.items()
    ),
    *(
        (f"in a path: {place}", {"url": f"https://a.example/go/{text[2:]} x"}, CANARY)
        for place, text in _IN_ADDRESSES.items()
    ),
    *(
        (f"repeated: {place}", {"password": CANARY, "text": text}, CANARY)
        for place, text in _REPEATED.items()
    ),
    ("address as a name", {f"https://a.example/?token={CANARY}": 1}, CANARY),
    (
        "in 3,000 lists",
        {"text": "[" * 3000 + json.dumps({"cookies": {"theme": CANARY}}) + "]" * 3000},
        CANARY,
    ),
    ("private key", {"text": f"it is\n{_PEM}\n"}, "BgkqhkiG9w0B"),
    ("password in an address", {"url": f"postgres://me:{CANARY}@db.example/x"}, CANARY),
    ("token in an address", {"url": f"https://{SHAPES[1]}@git.example/x"}, SHAPES[1]),
    ("user of curl", {"text": f"curl -u me:{CANARY} https://a.example"}, CANARY),
    (
        "part of a form",
        {"body": _FORM},
        CANARY,
    ),
    ("signed address", {"url": f"https://a.example/f?se=1&sig={CANARY}&x=1"}, CANARY),
    ("repeated", {"password": CANARY, "text": f"it is {CANARY}!", CANARY: 1, "id": CANARY}, CANARY),
)
"""What it is, a JSON object, and the part of it that is a secret."""

KEPT: Final = (
    {"address": {"country": "JP", "state": "Tokyo", "code": "100-0001"}},
    {"code": "print('x')", "language": "python"},
    {"error": {"code": -32602, "message": "bad state"}},
    {"url": "https://shop.example/list?state=open&page=2"},
    {"url": "https://shop.example/item?code=AB12"},
    {"query": "state=open&label=bug"},
    {"issue": {"state": "closed", "state_reason": "completed"}},
    {"inputSchema": {"properties": {"password": {"type": "string"}, "code": {"type": "string"}}}},
    {"required": ["password", "token"], "enum": ["authorization", "cookie"]},
    {"nextToken": "abcdefgh", "pageToken": "abcdefgh", "nextPageToken": "abcdefgh"},
    {"progressToken": "abcdefgh", "_meta": {"progressToken": "abcdefgh1"}},
    {"text": "Cookie: the small file that a browser keeps."},
    {"text": "The code is 42 and the state is unknown."},
    {"text": "if (state == x && code != y) { state = x; code = y }"},
    {"max_tokens": 5, "tokens": [1, 2], "tokenize": "yes", "stopToken": None},
    {"key": "name", "value": "Ada"},
    {"name": "weather", "value": "sunny"},
    {"text": "[redacted]"},
)
"""JSON objects in which nothing is a secret."""
