"""Find probable secrets: a value with the name of a secret, or with the form of one.

A redacted recording omits them, and a person who types one gets a warning. It cannot know every
secret. The patterns are compiled only when a text may contain a secret, so they do not slow down a
server's start.
"""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, Final, NamedTuple

from humanmcp.protocol.diagnostics import kinds
from humanmcp.protocol.diagnostics.model import grouped
from humanmcp.protocol.json.removed import left_of
from humanmcp.protocol.repair.reading import diagnostic

if TYPE_CHECKING:
    from humanmcp.protocol.diagnostics.model import Diagnostic

_NAMES: Final = (
    r"(?!(?:next|page|progress|continuation|cancel(?:lation)?|sync|max)[_.-]?token\b)"
    r"(?!(?:xdg|term|desktop)[_-])"
    r"(?:[A-Za-z0-9_.-]*[_.-])?(?:"
    r"password|passwd|pwd|passphrase|passcode|secret"
    r"|(?:api|access|private|secret|signing|encryption|master|webhook|account|subscription)[_-]?key"
    r"|(?:access|refresh|auth|id|bearer|session)[_-]?token|token|client[_-]?secret|jwt"
    r"|code[_-]?(?:verifier|challenge)|client[_-]?assertion"
    r"|authorization|proxy-authorization|cookie|set-cookie|credentials?"
    r"|(?:php|j)?sess(?:ion)?[_-]?id|sid"
    r")"
)
"""Names of secrets, without names of the protocol and of desktop sessions."""
_CAMEL: Final = (
    r"(?!(?:[a-z]+[A-Z])?(?i:next|page|progress|continuation|cancel|sync|max)[A-Za-z]*Token\b)"
    r"[a-z][A-Za-z0-9]*(?:Password|Passphrase|Secret|ApiKey|AccessKey|PrivateKey|SecretKey|Token"
    r"|SessionId|Credentials?)"
)
_CAPITALS: Final = (
    r"[A-Z0-9_]*(?:PASSWORD|PASSWD|PASSPHRASE|SECRET|TOKEN|APIKEY|API_KEY|_PASS|_PWD)"
)
"""An environment variable: `PGPASSWORD`, `SMTP_PASS`."""
_JAPANESE: Final = "(?:パスワード|暗証番号|秘密鍵)"
_ANY_NAME: Final = rf"(?:(?i:{_NAMES})|{_CAMEL}|{_CAPITALS}|{_JAPANESE})"
_QUOTED: Final = r'"(?:[^"\\]|\\.)*"'
_STRING: Final = r'(?:[^"\\]|\\.)*'

# Each pattern has the group `value` and, if possible, `name`; `before` and `after` are kept. A
# `number` becomes a string.
_SHAPES: Final = (
    # A member with such a name.
    rf'(?P<before>"(?P<name>{_ANY_NAME})"\s*:\s*)(?P<value>{_QUOTED}|(?P<number>-?\d[\d.eE+-]*))',
    rf'(?P<before>"(?P<name>pass|otp)"\s*:\s*)(?P<value>{_QUOTED})',
    # Also if its value is a list, as for the headers of some libraries.
    (
        rf'(?P<before>"(?P<name>{_ANY_NAME})"\s*:\s*\[\s*)'
        rf"(?P<value>{_QUOTED}(?:\s*,\s*{_QUOTED})*)"
    ),
    # The same in a text that contains JSON in a string, however deep, or a dict of Python.
    (
        rf'(?P<before>(?P<quote>\\{{1,15}}")(?P<name>{_ANY_NAME})(?P=quote)\s*:\s*(?P=quote))'
        r"(?P<value>(?:(?!(?<!\\)(?P=quote)).)*+)(?P<after>(?P=quote))"
    ),
    rf"(?P<before>'(?P<name>{_ANY_NAME})'\s*:\s*')(?P<value>(?:[^'\\]|\\.)*+)(?P<after>')",
    # A header or a variable as an object with a name and a value.
    (
        rf'(?P<before>"name"\s*:\s*"(?P<name>(?i:{_NAMES}))"\s*,\s*"value"\s*:\s*")'
        rf'(?P<value>{_STRING})(?P<after>")'
    ),
    # The same as a pair, as in a transcript. Whoever knows a session id can use the session.
    (
        rf'(?P<before>\[\s*"(?P<name>(?i:mcp-session-id))"\s*,\s*")(?P<value>{_STRING})'
        rf'(?P<after>")'
    ),
    # A flag and its value as two arguments of a command.
    rf'(?P<before>"--?(?P<name>(?i:{_NAMES}))"\s*,\s*")(?P<value>{_STRING})(?P<after>")',
    rf"(?P<before>(?<![\w-])--?(?P<name>(?i:{_NAMES})) )(?!-)(?P<value>[^\s\"'\\]+)",
    # A query of an address, an environment variable, a flag with its value.
    (
        rf"(?P<before>(?<![A-Za-z0-9_.-])-{{0,2}}(?P<name>{_ANY_NAME})=)"
        r"(?P<value>\\\"[^\"\\]*\\\"|\"[^\"\\\n]*\"|'[^'\"\\]*'|[^\s\"'\\&;,)}\]]+)"
    ),
    # Secret addresses: whoever has one has access.
    (
        r"(?P<before>[?&](?P<name>(?i:sig|signature|x-amz-signature|x-amz-security-token"
        r"|x-goog-signature))=)(?P<value>[^\s\"'\\&]+)"
    ),
    (
        r"(?P<before>\b(?P<name>(?i:authorization))[\"']?\s*[:=]\s*[\"']?"
        r"(?i:bearer|basic|token|digest)\s+)(?P<value>[^\s\"'\\]+)"
    ),
    # A line of YAML, or a header.
    (
        rf"(?m)(?P<before>^[\s>-]{{0,99}}[\"']?(?P<name>{_ANY_NAME})[\"']?[ \t]*:[ \t]+[\"']?)"
        r"(?P<value>[^\s\"'#,{}\[\]\\]++)(?=[\"']?[ \t\r]*$)"
    ),
    (
        r"(?P<before>(?<!\S)(?:-u|--user|--proxy-user)[ =][\"']?[^\s:\"'\\]{1,99}:)"
        r"(?P<value>[^\s\"'\\]+)"
    ),
    # A part of a form.
    (
        rf'(?P<before>\bname="(?P<name>{_ANY_NAME})"(?:\r?\n[^\r\n]+){{0,9}}\r?\n\r?\n)'
        r"(?P<value>[^\r\n]+)"
    ),
    # The digit excludes text such as "password: see the manual".
    (
        rf"(?P<before>(?<![A-Za-z0-9_.-])(?P<name>(?i:{_NAMES})):[ ]?)"
        r"(?=[^\s\"'\\]{0,99}\d)(?P<value>[^\s\"'\\,;]{6,})"
    ),
    # Forms of secrets with any name.
    (
        r"\b(?P<value>"
        r"sk-[A-Za-z0-9_-]{16,}"  # language models
        r"|gh[pousr]_[A-Za-z0-9]{20,}|github_pat_[A-Za-z0-9_]{20,}"
        r"|hf_[A-Za-z0-9]{20,}"
        r"|glpat-[A-Za-z0-9_-]{16,}"
        r"|xox[abprs]-[A-Za-z0-9-]{10,}"
        r"|(?:AKIA|ASIA)[A-Z0-9]{16}"
        r"|AIza[A-Za-z0-9_-]{30,}"
        r"|npm_[A-Za-z0-9]{30,}|pypi-[A-Za-z0-9_-]{30,}"
        r"|(?:sk|rk|pk)_(?:live|test)_[A-Za-z0-9]{16,}"
        # JSON Web Tokens
        r"|(?<![\w-])eyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]+"
        r")"
    ),
    # The digit excludes text such as "Basic knowledge".
    (
        r"(?P<before>\b(?P<name>Bearer|Basic)\s+)"
        r"(?=[A-Za-z+/=._~-]{0,99}\d)(?P<value>[A-Za-z0-9+/=._~-]{8,})"
    ),
    # A password in an address, or a long word instead of the user name: that is a token.
    (
        r"(?i:(?P<before>\b[a-z][a-z0-9+.-]{0,30}://(?:[^\s/:@\"\\]*:(?=[^\s/@\"\\]+@))?)"
        r"(?P<value>(?<=:)[^\s/@\"\\]+|[\w-]{20,})(?P<after>@))"
    ),
    (
        r"(?P<value>-----BEGIN [A-Z ]{0,20}PRIVATE KEY-----"
        r"(?s:(?:(?!-----BEGIN).)*?)-----END [A-Z ]{0,20}PRIVATE KEY-----)"
    ),
)
_IN_NAMES: Final = (
    *("pass", "pwd", "secret", "key", "token", "auth", "cookie", "cred", "sess", "sid", "jwt"),
    *("verifier", "challenge", "assertion"),
    *("パスワード", "暗証番号", "秘密鍵"),
)
"""Every name contains one of these in lower case, which is faster to search than all names."""
_FOLDER: Final = r'"?(?:[/~]|\.{1,2}/|[A-Za-z]:|\\\\)'
"""The beginning of the value of `PWD`: the working folder is not a password."""

_LEFT: Final = r"""(?i)[\\"']*(?:(?:bearer|basic|token|digest)\s+|[\w.-]{1,40}=)?[\\"']*"""
"""What may be left of a value without its marks."""
_SHORTEST: Final = 4
"""The minimum length of a value that is also searched elsewhere, in characters."""
_HARMLESS: Final = frozenset(
    {"true", "false", "null", "none", "string", "number", "integer", "boolean", "object", "array"}
    | {"password", "secret", "token", "redacted", "text", "user", "required", "optional", "bearer"}
)
"""Harmless values of members with such names: in a form, a schema, an example."""
_MARKS: Final = (
    *("sk-", "ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_", "hf_", "glpat-", "xox", "akia"),
    *("asia", "aiza", "npm_", "pypi-", "_live_", "_test_", "eyj", "bearer", "basic", "://"),
    *("private key-----", "sig=", "signature=", "-u ", "--user", "--proxy-user"),
)
"""Each form without a name contains one of these, in lower case."""
_HINTS: Final = (*_IN_NAMES, *_MARKS)
_FOR_OTHERS: Final = r"(?is)[*x.•…-]+|[<$%{\[].*"
"""Placeholders for a secret: `…`, `<your key>`, `${TOKEN}`, `xxxx`."""
_PICTURE: Final = r"(?<![A-Za-z0-9+/_.-])[A-Za-z0-9+/_-]{200,}+(?!\.)"
"""An image or a file in base64: it can contain anything by chance. Tokens contain dots."""
_MOST: Final = 50_000
"""The maximum length of typed text that is searched, in characters."""


class Typed(NamedTuple):
    """A secret in a typed text: its place and its name."""

    start: int
    end: int
    name: str


@cache
def shapes() -> tuple[re.Pattern[str], ...]:
    return tuple(map(re.compile, _SHAPES))


@cache
def _unnamed() -> tuple[re.Pattern[str], ...]:
    """Return the patterns of secrets without such a name."""
    return tuple(each for each in shapes() if _NAMES not in each.pattern)


def to_try(text: str) -> tuple[re.Pattern[str], ...]:
    """Return the patterns that may match in a text: searching for names is slow."""
    small = text.casefold()
    return shapes() if any(part in small for part in _IN_NAMES) else _unnamed()


@cache
def _names() -> re.Pattern[str]:
    return re.compile(rf"{_ANY_NAME}|pass|otp")


def may_have_secrets(text: str) -> bool:
    """Return False if no shape can match in a text."""
    small = text.casefold()
    return any(part in small for part in _HINTS) or "\\u" in small


def is_secret_name(name: str) -> bool:
    """Return True for the name of a member, a header, a variable or a flag that has a secret."""
    return _names().fullmatch(name) is not None


def is_secret(found: re.Match[str]) -> bool:
    """Return True if a match is a secret, not a mark or the working folder."""
    left = left_of(found.string, *found.span("value"))
    if left is not None and re.fullmatch(_LEFT, left):
        return False
    return is_secret_value(found.groupdict().get("name") or "", found["value"])


def is_secret_value(name: str, value: str) -> bool:
    """Return True if the value of such a name is a secret, not a mark or the working folder."""
    left = left_of(value)
    if left is not None and re.fullmatch(_LEFT, left):
        return False
    return not (name.lower() in ("pwd", "oldpwd") and (name.isupper() or re.match(_FOLDER, value)))


def is_telling(value: str) -> bool:
    """Return True if a value is more than a common word."""
    return len(value) >= _SHORTEST and value.lower() not in _HARMLESS


def typed_secrets(text: str, *, by_name: bool = True) -> tuple[Typed, ...]:
    """Return the probable secrets in a typed text, in order.

    With `by_name`, any value with the name of a secret counts.
    """
    small = text[:_MOST].casefold()
    if not any(map(small.__contains__, _HINTS if by_name else _MARKS)):
        return ()
    plain = re.sub(_PICTURE, lambda found: " " * len(found[0]), text[:_MOST])
    tried = to_try(plain) if by_name else _unnamed()
    found = [match for shape in tried for match in shape.finditer(plain)]
    secrets: list[Typed] = []
    for match in sorted(found, key=lambda each: each.span("value")):
        start, end = match.span("value")
        value = match["value"].strip("\"'")
        wanted = is_secret(match) and is_telling(value) and not re.fullmatch(_FOR_OTHERS, value)
        if wanted and (not secrets or start >= secrets[-1].end):
            name = match.groupdict().get("name") or f"{value[:4]}…"
            secrets.append(Typed(start, end, name))
    return tuple(secrets)


def warn_of_secrets(text: str, *, by_name: bool = True, known: str = "") -> tuple[Diagnostic, ...]:
    """Return a warning for each secret in a typed text, except those that are in `known`."""
    return grouped(
        tuple(
            diagnostic(kinds.possible_secret(name=each.name), text, each.start, each.end)
            for each in typed_secrets(text, by_name=by_name)
            if not known or text[each.start : each.end] not in known
        )
    )
