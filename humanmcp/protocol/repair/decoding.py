"""From the bytes of a file that a person wrote to its text, whatever editor or shell wrote it.

Notepad puts a byte-order mark in front, `>` of Windows PowerShell 5.1 writes UTF-16, an old editor
in Japan writes CP932. What has one meaning is decoded and named; what has not is refused with
advice: guessing would send the client something that was not typed.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from humanmcp.protocol.diagnostics.kinds import syntax
from humanmcp.protocol.repair.reading import diagnostic

if TYPE_CHECKING:
    from humanmcp.protocol.diagnostics.model import Diagnostic

_UTF8_BOM: Final = b"\xef\xbb\xbf"
_ISO_2022_JP: Final = re.compile(rb"\x1b\$[@B]|\x1b\([IJ]|\x1b\$\(D")
"""Its escapes to another character set: control characters that no editor types."""
_UTF16_BOMS: Final = {b"\xff\xfe": "utf-16-le", b"\xfe\xff": "utf-16-be"}


def decode(raw: bytes) -> tuple[str, tuple[Diagnostic, ...]]:
    """Decode the bytes of a file: the text, and what was repaired or is wrong with it.

    A problem that blocks means that the text is only good to be shown.
    """
    bom = raw.startswith(_UTF8_BOM)
    body = raw.removeprefix(_UTF8_BOM)
    for mark, encoding in _UTF16_BOMS.items():
        if raw.startswith(mark):
            return _otherwise(raw[2:], encoding)
    guessed = _without_mark(raw)
    if guessed:
        return _otherwise(raw, guessed)
    if _ISO_2022_JP.search(body):
        # What mail programs in Japan write: ASCII only, so that it would pass for UTF-8.
        return _otherwise(body, "iso-2022-jp-2", "ascii")
    try:
        text = body.decode("utf-8")
    except UnicodeDecodeError:
        return _neither(body)
    if "\0" in text:
        at = text.index("\0")
        return text, (diagnostic(syntax.NoTextAtAll(), text, at, at + 1),)
    return text, (diagnostic(syntax.ByteOrderMark(), text),) if bom else ()


def _otherwise(raw: bytes, encoding: str, shown_as: str = "") -> tuple[str, tuple[Diagnostic, ...]]:
    """Decode what is surely of another encoding; `shown_as` is one that can show it if broken."""
    try:
        text = raw.decode(encoding)
    except UnicodeDecodeError:
        text = raw.decode(shown_as or encoding, "replace")
        return text, (diagnostic(syntax.NoTextAtAll(), text),)
    name = encoding.removesuffix("-2").upper()
    return text, (diagnostic(syntax.OtherEncoding(encoding=name), text),)


def _without_mark(raw: bytes) -> str:
    """Recognise UTF-16 by its zeros: the first two characters of an answer are ASCII."""
    if len(raw) < 4 or len(raw) % 2:
        return ""
    even, odd = raw[0:4:2], raw[1:4:2]
    if odd == b"\0\0" and 0 not in even:
        return "utf-16-le"
    if even == b"\0\0" and 0 not in odd:
        return "utf-16-be"
    return ""


def _neither(raw: bytes) -> tuple[str, tuple[Diagnostic, ...]]:
    """Decode what is no UTF-8: Japanese when it surely is, else text to be shown only."""
    if b"\0" in raw:
        text = raw.decode("utf-8", "replace")
        return text, (diagnostic(syntax.NoTextAtAll(), text),)
    japanese = _cp932(raw)
    if japanese is not None:
        return japanese, (diagnostic(syntax.ReadAsCp932(), japanese),)
    text = raw.decode("cp1252", "replace")
    at = next((at for at, char in enumerate(text) if char > "\x7f"), 0)
    return text, (diagnostic(syntax.NotUtf8(char=text[at : at + 1]), text, at, at + 1),)


def _cp932(raw: bytes) -> str | None:
    """Decode CP932 (Shift_JIS) when it reads like Japanese, None otherwise.

    `“hello”` in cp1252 is valid CP932 too: 93 68 is a rare Chinese character there. Japanese has
    its characters in runs, or with a second byte that is no Latin letter; a lone accent or quote
    has neither.
    """
    try:
        text = raw.decode("cp932")
    except UnicodeDecodeError:
        return None
    sure = doubtful = 0
    before = ""
    for char in text:
        if char <= "\x7f":
            before = ""
            continue
        pair = char.encode("cp932")
        in_run = bool(before)
        kana = pair[0] in (0x81, 0x82, 0x83)  # hardly ever used in cp1252
        letter = chr(pair[-1]).isalnum() and pair[-1] < 0x80  # as after an opening quote
        if len(pair) == 2 and (in_run or kana or not letter):
            sure += 1
        else:
            doubtful += 1
        before = char
    return text if sure > doubtful else None
