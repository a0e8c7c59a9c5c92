"""Takes obvious secrets out of what leaves the machine: what is named like one, or looks like one.

Works on the text of a line and replaces values only, so the rest stays as it was on the wire. It
cannot know every secret: who passes a recording on still has to look at it.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

    from humanmcp.protocol.transcript import Frame

REDACTED: Final = "[redacted]"

_NAMES: Final = (
    r"(?:[A-Za-z0-9_.-]*[_.-])?(?:"
    r"password|passwd|pwd|passphrase|secret|api[_-]?key|apikey|access[_-]?key|private[_-]?key"
    r"|(?:access|refresh|auth|id|bearer|session)[_-]?token|token|client[_-]?secret"
    r"|authorization|proxy-authorization|cookie|set-cookie|credentials?|session[_-]?id|sid"
    r")"
)
_CAMEL: Final = (
    r"[a-z][A-Za-z0-9]*(?:Password|Passphrase|Secret|ApiKey|AccessKey|PrivateKey|AccessToken"
    r"|RefreshToken|AuthToken|IdToken|BearerToken|SessionToken|SessionId|Credentials?)"
)
_CAPITALS: Final = (
    r"[A-Z0-9_]*(?:PASSWORD|PASSWD|PASSPHRASE|SECRET|TOKEN|APIKEY|API_KEY|_PASS|_PWD)"
)
"""A variable of an environment: `PGPASSWORD`, `SMTP_PASS`."""
_JAPANESE: Final = "(?:パスワード|暗証番号|秘密鍵)"
_ANY_NAME: Final = rf"(?:(?i:{_NAMES})|{_CAMEL}|{_CAPITALS}|{_JAPANESE})"
_QUOTED: Final = r'"(?:[^"\\]|\\.)*"'
_NAMED: Final = re.compile(
    rf'("{_ANY_NAME}"\s*:\s*)(?:{_QUOTED}|-?\d[\d.eE+-]*)'
    rf'|("(?:pass|otp)"\s*:\s*){_QUOTED}'
    rf'|("{_ANY_NAME}"\s*:\s*\[\s*){_QUOTED}(?:\s*,\s*{_QUOTED})*'
)
"""A member by its name; also where its value is a list, as the headers of some libraries are."""
_ESCAPED_NAMED: Final = re.compile(rf'(\\"{_ANY_NAME}\\"\s*:\s*\\")((?:[^"\\]|\\\\.)*)(\\")')
"""The same inside a JSON text that is itself a string, as tools like to answer."""

_STRING: Final = r'(?:[^"\\]|\\.)*'
_PAIRED: Final = re.compile(rf'("name"\s*:\s*"(?i:{_NAMES})"\s*,\s*"value"\s*:\s*"){_STRING}(?=")')
"""A header or a variable as an object with its name and its value."""
_ARGUMENT: Final = re.compile(rf'("--?(?i:{_NAMES})"\s*,\s*"){_STRING}(?=")')
"""A flag and its value as two words of a command."""
_FLAG: Final = re.compile(rf"(?<![\w-])(--?(?i:{_NAMES}) )(?!-)[^\s\"'\\]+")
_ASSIGNED: Final = re.compile(
    rf"(?<![A-Za-z0-9_.-])({_ANY_NAME}=)"
    r"(?:\\\"[^\"\\]*\\\"|'[^'\"\\]*'|[^\s\"'\\&;,)}\]]+)"
)
"""An address's query, an environment, a flag with its value."""
_SIGNED: Final = re.compile(
    r"([?&](?:sig|signature|x-amz-signature|x-amz-security-token|x-goog-signature)=)[^\s\"'\\&]+",
    re.IGNORECASE,
)
"""What lets anybody in who has the address."""
# A digit in it tells it from "password: see the manual".
_HEADER: Final = re.compile(
    rf"(?<![A-Za-z0-9_.-])((?i:{_NAMES}):[ ]?)(?=[^\s\"'\\]*\d)[^\s\"'\\,;]{{6,}}"
)
_AUTHORIZED: Final = re.compile(
    r"(\bauthorization[\"']?\s*[:=]\s*[\"']?(?:bearer|basic|token|digest)\s+)[^\s\"'\\]+",
    re.IGNORECASE,
)

_LOOKS: Final = re.compile(
    r"\b(?:"
    r"sk-[A-Za-z0-9_-]{16,}"  # language models
    r"|gh[pousr]_[A-Za-z0-9]{20,}|github_pat_[A-Za-z0-9_]{20,}"
    r"|hf_[A-Za-z0-9]{20,}"
    r"|glpat-[A-Za-z0-9_-]{16,}"
    r"|xox[abprs]-[A-Za-z0-9-]{10,}"
    r"|(?:AKIA|ASIA)[A-Z0-9]{16}"
    r"|AIza[A-Za-z0-9_-]{30,}"
    r"|npm_[A-Za-z0-9]{30,}|pypi-[A-Za-z0-9_-]{30,}"
    r"|(?:sk|rk|pk)_(?:live|test)_[A-Za-z0-9]{16,}"
    r"|(?<![\w-])eyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]+"  # JSON Web Tokens
    r")"
)
# A digit in it tells it from "Basic knowledge".
_BEARER: Final = re.compile(r"\b((?:Bearer|Basic)\s+)(?=[A-Za-z+/=._~-]*\d)[A-Za-z0-9+/=._~-]{8,}")
_IN_ADDRESS: Final = re.compile(
    r"(\b[a-z][a-z0-9+.-]{0,30}://)(?:([^\s/:@\"\\]*:)[^\s/@\"\\]+|[\w-]{20,})(?=@)", re.IGNORECASE
)
"""A password, or a long word in the place of a user's name: such a one is a token."""
_KEY_BLOCK: Final = re.compile(
    r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?-----END [A-Z ]*PRIVATE KEY-----", re.DOTALL
)


def redact(text: str) -> str:
    """Return the text with every obvious secret replaced."""
    text = _NAMED.sub(_named, text)
    text = _ESCAPED_NAMED.sub(rf"\1{REDACTED}\3", text)
    for shape in (_PAIRED, _ARGUMENT, _FLAG, _ASSIGNED, _SIGNED, _AUTHORIZED, _HEADER):
        text = shape.sub(rf"\1{REDACTED}", text)
    text = _LOOKS.sub(REDACTED, text)
    text = _BEARER.sub(rf"\1{REDACTED}", text)
    text = _IN_ADDRESS.sub(rf"\1\2{REDACTED}", text)
    return _KEY_BLOCK.sub(REDACTED, text)


def _named(found: re.Match[str]) -> str:
    return f'{found[1] or found[2] or found[3]}"{REDACTED}"'


def redact_frames(frames: Iterable[Frame]) -> tuple[Frame, ...]:
    """Return the frames with every obvious secret replaced; what holds none stays the same."""
    return tuple(_redact_frame(frame) for frame in frames)


def _redact_frame(frame: Frame) -> Frame:
    text, note = redact(frame.text), redact(frame.note)
    if (text, note) == (frame.text, frame.note):
        return frame
    return frame._replace(raw=text.encode("utf-8", "replace"), note=note)
