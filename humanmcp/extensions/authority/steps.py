"""The steps of signing in: requests and responses of HTTP as texts, without a secret in them.

A secret value is written as its name in braces: `code={code}`. The process of the session keeps
the values, and fills them in as the response goes out. So what waits in the inbox, what is
recorded and what is exported never had them.
"""

from __future__ import annotations

import enum
import json
import re
import string
import tomllib
from http.client import responses
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple
from urllib.parse import parse_qsl, quote

from humanmcp.protocol.json.jsonrpc import DEEPEST_INCOMING, deeper_than
from humanmcp.protocol.json.visible import visible
from humanmcp.protocol.validation.redaction import without_secrets

if TYPE_CHECKING:
    from collections.abc import Mapping


class Step(enum.StrEnum):
    """What a client asks for on its way to a token, in this order."""

    CHALLENGE = "challenge"
    """A request of MCP without a token that counts: 401, or 403 for too small a scope."""
    RESOURCE = "resource-metadata"
    SERVER = "server-metadata"
    REGISTER = "registration"
    AUTHORIZE = "authorization"
    """The page that the client opens in a browser: a person consents, or does not."""
    TOKEN = "token"  # noqa: S105 - the name of a step
    ELSEWHERE = "elsewhere"
    """An address at which nothing is."""


_NAMES: Final[Mapping[str, list[str]]] = tomllib.loads(
    Path(__file__).with_name("names.toml").read_text("utf-8")
)
_LONGEST: Final = 4_000


def named(name: str) -> str:
    """Return what is written in the place of a secret value."""
    return "{" + name + "}"


class WebRequest(NamedTuple):
    """A request as it came. `path` is without its query."""

    method: str
    path: str
    query: str = ""
    headers: tuple[tuple[str, str], ...] = ()
    body: str = ""

    def header(self, name: str) -> str:
        return next((value for key, value in self.headers if key.lower() == name), "")

    @property
    def form(self) -> list[tuple[str, str]]:
        """The parameters of a form in the body."""
        return parse_qsl(self.body, keep_blank_values=True)

    @property
    def parameters(self) -> list[tuple[str, str]]:
        """The parameters of the query."""
        return parse_qsl(self.query, keep_blank_values=True)

    @property
    def members(self) -> dict[str, Any]:
        """The members of an object in the body; none if it is no object."""
        found = _decoded(self.body)
        return found if isinstance(found, dict) else {}

    @property
    def shown(self) -> dict[str, Any]:
        """The members as they are written: without secrets."""
        found: dict[str, Any] = json.loads(_written(self.members))
        return found

    def text(self) -> str:
        """Return it as it came, with the names of secrets in the place of their values."""
        query = f"?{_without(self.parameters)}" if self.query else ""
        lines = [f"{self.method} {without_secrets(quote(self.path))}{query} HTTP/1.1"]
        lines += (f"{name}: {_header(name, value)}" for name, value in self.headers)
        found = _decoded(self.body)
        body = _written(found) if isinstance(found, dict | list) else _without(self.form)
        end = f"\n\n{visible(body)}" if body else ""
        return visible("\n".join(lines))[:_LONGEST] + end[:_LONGEST]


def _decoded(body: str) -> Any:  # noqa: ANN401 - any JSON value
    """Decode JSON that can be written again; None for NaN, half a character, deep text and such."""
    if deeper_than(body, DEEPEST_INCOMING):
        return None
    try:
        found = json.loads(body)
        json.dumps(found, ensure_ascii=False, allow_nan=False, indent=2).encode()
    except (ValueError, RecursionError):
        return None
    return found


def _written(found: Any) -> str:  # noqa: ANN401 - any JSON value
    return without_secrets(json.dumps(_member("", found), ensure_ascii=False, indent=2))


def given_back(
    members: Mapping[str, Any], shown: Mapping[str, Any] | None = None
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return what is written of members that go back to who sent them, and the values left out.

    `shown` are the members as they are written elsewhere. What is not the same there has a secret
    in it, and what has a brace could be taken for the name of one: the client gets back both.
    """
    shown = (
        {name: without_secrets(one) for name, one in members.items()} if shown is None else shown
    )
    kept = {
        name: one
        for name, one in members.items()
        if shown.get(name) != one or "{" in json.dumps(one)
    }
    return {**members, **{name: named(name) for name in kept}}, kept


def _without(pairs: list[tuple[str, str]]) -> str:
    """Write parameters; what is not known to be no secret is not there, a name neither."""
    return "&".join(_parameter(name, value) for name, value in pairs)


_NAME: Final = re.compile(r"[A-Za-z][A-Za-z0-9_.-]{0,40}")


def _parameter(name: str, value: str) -> str:
    if name in _NAMES["shown"]:
        return f"{name}={quote(without_secrets(value), safe=':/ []')}"
    is_name = name in _NAMES["secret"] or (value and _NAME.fullmatch(name))
    return f"{name}={named(name)}" if is_name else named("?")


_SCHEME: Final = re.compile(r"[A-Za-z]{1,12} +(?=\S)")
"""A scheme before a credential. A token without one is a mistake of clients."""


def _header(name: str, value: str) -> str:
    """Return the value of a header; of one that may hold a secret only its scheme."""
    low = name.lower()
    if low in ("authorization", "proxy-authorization"):
        scheme = _SCHEME.match(value)
        return f"{scheme[0]}{named('token')}" if scheme else named("token")
    if low == "referer":
        return without_secrets(value.partition("?")[0])
    return (
        without_secrets(value) if low in _NAMES["headers"] or low.startswith("sec-") else named(low)
    )


def _member(name: str, value: Any) -> Any:  # noqa: ANN401 - any JSON value
    """Return what is written of a member; as of a parameter, what is not known is not there."""
    if isinstance(value, dict):
        return {key: _member(key, one) for key, one in value.items()}
    if isinstance(value, list):
        return [_member(name, one) for one in value]
    return value if name in _NAMES["shown"] else named(name or "?")


_HEAD: Final = re.compile(r"HTTP/1\.[01] ([2-5][0-9]{2})(?: [^\n]*)?")
"""A status line. 1xx announces a response, and is none (RFC 9110, 15.2)."""
_HEADER_LINE: Final = re.compile(r"([!#$%&'*+.^_`|~0-9A-Za-z-]+):[ \t]*([^\n]*)")
OURS: Final = frozenset({"content-length", "transfer-encoding", "connection", "date"})
"""Headers that the connection itself says."""


_PARAMETER: Final = re.compile(r'([a-z_]+)="?([^",\s]*)"?')
"""A parameter of a challenge."""
_PRINTED: Final = f"{string.punctuation} "
ABSENT: Final = ()
"""A part that is not there. `None` is JSON's null, which is."""


class WebResponse(NamedTuple):
    """A response. A secret value in it is its name in braces until it goes out."""

    status: int
    headers: tuple[tuple[str, str], ...] = ()
    body: str = ""

    @classmethod
    def of_json(cls, status: int, members: Mapping[str, Any], **headers: str) -> WebResponse:
        named_headers = tuple((name.replace("_", "-"), value) for name, value in headers.items())
        body = json.dumps(members, ensure_ascii=False, indent=2)
        return cls(status, (("content-type", "application/json"), *named_headers), body)

    @property
    def text(self) -> str:
        """Return it as the text that a person writes."""
        lines = [f"HTTP/1.1 {self.status} {responses.get(self.status, '')}".rstrip()]
        lines += (f"{name}: {value}" for name, value in self.headers)
        return "\n".join([*lines, "", self.body]).rstrip("\n")

    def header(self, name: str) -> str:
        return next((value for key, value in self.headers if key.lower() == name), "")

    @property
    def members(self) -> dict[str, Any]:
        """The members of an object in the body; none if it is no object."""
        return WebRequest("", "", body=self.body).members

    def part(self, at: str) -> Any:  # noqa: ANN401 - a header, or any JSON value
        """Return `status`, a header, `header.parameter` or `body.member`.

        What is not there is ABSENT, and "" for a header.
        """
        place, _, name = at.partition(".")
        if not name:
            return str(self.status) if at == "status" else self.header(at)
        if place == "body":
            return self.members.get(name, ABSENT)
        if place == "location":  # a brace that is encoded is none of ours
            query = re.sub("(?i)%7b", "%257B", self.header(place).partition("?")[2])
            return dict(parse_qsl(query, keep_blank_values=True)).get(name, ABSENT)
        return dict(_PARAMETER.findall(self.header(place))).get(name, ABSENT)

    def filled(self, values: Mapping[str, Any]) -> WebResponse:
        """Return it with the values of secrets: what goes out.

        A redirect leads to the value `redirect_uri`, which is written there without secrets.
        """
        name = f"({'|'.join(map(re.escape, values)) or '(?!)'})"
        uri = values.get("redirect_uri", "")
        shown, scope = without_secrets(uri), named("scope")

        def header(key: str, value: str) -> str:
            if key == "www-authenticate":
                return value.replace(scope, quote(str(values.get("scope", scope)), _PRINTED))
            if key != "location":
                return value
            lead = uri if value.startswith(shown) else ""
            rest = value.removeprefix(shown)
            return lead + re.sub(rf"{{{name}}}", lambda one: quote(str(values[one[1]]), ""), rest)

        def member(found: re.Match[str]) -> str:
            value = values[found[1] or found[2]]
            text = json.dumps(value)
            return text[1:-1] if found[2] and isinstance(value, str) else text

        headers = tuple((one, header(one.lower(), it)) for one, it in self.headers)
        body = re.sub(rf'"{{{name}}}"|{{{name}}}', member, self.body)
        return self._replace(headers=headers, body=body)


def read_response(text: str) -> tuple[WebResponse | None, int]:
    """Read what a person wrote; None if it is no response, and the number of the wrong line."""
    head, _, body = text.replace("\r\n", "\n").lstrip("\n").partition("\n\n")
    first, *lines = head.split("\n")
    found = _HEAD.fullmatch(first)
    if found is None:
        return None, 1
    headers = []
    for number, line in enumerate(lines, 2):
        header = _HEADER_LINE.fullmatch(line)
        if header is None or not header[2].isascii() or visible(header[2]) != header[2]:
            return None, number
        if header[1].lower() not in OURS:
            headers.append((header[1], header[2].rstrip()))
    return WebResponse(int(found[1]), tuple(headers), body), 0
