"""Messages are found in whatever quotes them, and their sides by what they say of each other."""

import base64
import csv
import gc
import gzip
import html
import io
import json
import pprint
import quopri
import re
import shlex
import string
import sys
import textwrap
import time
import urllib.parse
from collections.abc import Callable, Iterator
from typing import Any, Final, TypeAlias

import pytest
from hypothesis import given
from hypothesis import strategies as st

from humanmcp.protocol.conversation.transcript import Direction
from humanmcp.protocol.validation import captures, message_finder
from humanmcp.protocol.validation.captures import Origin, read_capture, read_recording
from humanmcp.protocol.validation.message_finder import MessageFinder, is_message
from humanmcp.protocol.validation.quoting import FILE_LAYERS, FileLayer

Said: TypeAlias = "list[tuple[bool, dict[str, Any]]]"
"""The messages of a conversation, each with whether the client sent it."""
Wrapping: TypeAlias = Callable[[bool, str, int], str]
"""Writes a message as a program does: its side, its text, its number."""

SAID: Final[Said] = [
    (is_client, {"jsonrpc": "2.0", **body})
    for is_client, body in (
        (True, {"id": 1, "method": "initialize", "params": {"clientInfo": {"name": "pröbe"}}}),
        (False, {"id": 1, "result": {"serverInfo": {"name": "rain"}}}),
        (True, {"method": "notifications/initialized"}),
        (True, {"id": 2, "method": "tools/call", "params": {"a": 'Ulm "x"\nit\'s', "b": None}}),
        (False, {"method": "notifications/progress", "params": {"progressToken": 2}}),
        (False, {"id": 9, "method": "ping"}),
        (True, {"id": 9, "result": {}}),
        (False, {"id": 2, "result": {"content": [{"text": 'wet & <b> {cold} "q" \\ '}]}}),
    )
]
AT: Final = "2026-11-20T10:00:0{}.123Z"


def side(first: str, second: str) -> Callable[[bool], str]:
    """Return a function that tells the side in these words."""
    return lambda is_client: first if is_client else second


TX = side("send", "recv")
ENDS = side("client", "server")


def under(prefix: str, text: str) -> str:
    """Write the same words before each line of a message."""
    return "\n".join(prefix + line for line in json.dumps(json.loads(text), indent=2).split("\n"))


def pretty(text: str) -> str:
    """Format a message over several lines."""
    return json.dumps(json.loads(text), indent=2, ensure_ascii=False)


def cell(text: str) -> str:
    """Write a row of a table of comma-separated values."""
    out = io.StringIO()
    csv.writer(out, lineterminator="").writerow(["x", text])
    return out.getvalue()


def packed(content: bytes) -> str:
    """Write bytes in base64."""
    return base64.b64encode(content).decode()


def printed(value: Any) -> str:  # noqa: ANN401 - any JSON value
    """Write a value as Node.js prints it."""
    if isinstance(value, dict):
        return f"{{ {', '.join(f'{name}: {printed(one)}' for name, one in value.items())} }}"
    if isinstance(value, list):
        return f"[ {', '.join(map(printed, value))} ]"
    return "undefined" if value is None else repr(value)


def hashed(value: Any, name: str = '"{}"') -> str:  # noqa: ANN401 - any JSON value
    """Write a value as Ruby prints it, with its names in this form."""
    if isinstance(value, dict):
        pairs = (
            f"{name.format(json.dumps(one)[1:-1])}=>{hashed(part, name)}"
            for one, part in value.items()
        )
        return f"{{{', '.join(pairs)}}}"
    if isinstance(value, list):
        return f"[{', '.join(hashed(one, name) for one in value)}]"
    return "nil" if value is None else json.dumps(value)


def dumped(text: str, row: str = "{at:08x}: {pairs:<39}  {plain}") -> str:
    """Write bytes as a table of hexadecimal digits."""
    lines = []
    for at in range(0, len(content := text.encode()), 16):
        part = content[at : at + 16]
        lines.append(
            row.format(
                at=at,
                pairs=part.hex(" ", -2),
                bytes=part.hex(" "),
                plain="".join(chr(one) if 32 <= one < 127 else "." for one in part),
            )
        )
    return "\n".join(lines)


def chunked(text: str) -> str:
    """Write an event in the chunks of HTTP."""
    content = f"event: message\ndata: {text}\n\n".encode()
    parts = [content[at : at + 70] for at in range(0, len(content), 70)]
    return "".join(f"{len(part):x}\r\n{part.decode('latin-1')}\r\n" for part in parts)


def ticked(text: str) -> str:
    """Write a backtick before each quote and each backtick, as PowerShell does."""
    return re.sub('([`"])', r"`\1", text)


def constructed(value: Any) -> str:  # noqa: ANN401 - any JSON value
    """Write a value as Rust prints it: with the name of its type."""
    if isinstance(value, dict):
        inner = ", ".join(f"{json.dumps(name)}: {constructed(one)}" for name, one in value.items())
        return f"Object {{{inner}}}"
    if isinstance(value, list):
        return f"Array [{', '.join(map(constructed, value))}]"
    if value is None:
        return "Null"
    return f"{'String' if isinstance(value, str) else 'Number'}({json.dumps(value)})"


def bracketed(value: Any) -> str:  # noqa: ANN401 - any JSON value
    """Write a value as Swift prints it: objects in square brackets, too."""
    if isinstance(value, dict):
        inner = ", ".join(f"{json.dumps(name)}: {bracketed(one)}" for name, one in value.items())
        return f"[{inner or ':'}]"
    if isinstance(value, list):
        return f"[{', '.join(map(bracketed, value))}]"
    return "nil" if value is None else json.dumps(value)


def exported(value: Any) -> str:  # noqa: ANN401 - any JSON value
    """Write a value as PHP prints it."""
    if isinstance(value, dict | list):
        pairs = value.items() if isinstance(value, dict) else enumerate(value)
        return f"array (\n{''.join(f'  {k!r} => {exported(one)},{chr(10)}' for k, one in pairs)})"
    if isinstance(value, str):
        return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"
    return "NULL" if value is None else str(value)


def in_bytes(text: str, form: str) -> str:
    """Write characters that are no printable ASCII, or are a quote, as bytes in this form."""
    plain = set(string.printable) - set('"\\\n')
    return "".join(
        one if one in plain else "".join(form.format(byte) for byte in one.encode()) for one in text
    )


def parted(text: str) -> Iterator[tuple[str, str]]:
    """Yield parts of a text, and the letter that says whether more of it follows."""
    parts = [text[at : at + 40] for at in range(0, len(text), 40)]
    yield from (("P", one) for one in parts[:-1])
    yield "F", parts[-1]


def coloured(text: str) -> str:
    """Write a text as a page that gives its parts colours."""
    return "".join(f'<span class="x">{html.escape(part)}</span>' for _, part in parted(text))


WRAPPINGS: Final[dict[str, Wrapping]] = {
    "parts with a letter": lambda way, text, at: "\n".join(
        f"{AT.format(at)} stdout {letter} {part}" for letter, part in parted(f"{TX(way)} {text}")
    ),
    "a page with colours": lambda way, text, _: f"<p>{TX(way)}: {coloured(text)}</p>",
    "a Python text": lambda way, text, at: f"[info] dir={TX(way)} n={at} raw={text!r}",
    "an arrow": lambda way, text, _: f"{side('-->', '<--')(way)} {text}",
    "a time between": lambda way, text, at: f"{TX(way)} {AT.format(at)} #{at} {text} (+{at} ms)",
    "colours": lambda way, text, _: (
        f"\x1b[36m{TX(way)}\x1b[0m " + text.replace('"jsonrpc"', '\x1b[34m"jsonrpc"\x1b[0m')
    ),
    "syslog": lambda way, text, at: f'<134>1 {AT.format(at)} box x {at} - [dir="{TX(way)}"] {text}',
    "logfmt": lambda way, text, at: f"ts={at} dir={TX(way)} payload={json.dumps(text)} n=3",
    "a member": lambda way, text, at: f'{{"ts":"{AT.format(at)}","side":"{TX(way)}","x":{text}}}',
    "a text": lambda way, text, at: json.dumps({"ts": at, "msg": f"{TX(way)}: {text}"}),
    "a text in a text": lambda way, text, _: json.dumps(
        {"line": json.dumps({"dir": TX(way), "msg": text})}
    ),
    "attributes": lambda way, text, _: json.dumps(
        {
            "attributes": [
                {"key": "way", "value": {"stringValue": TX(way)}},
                {"key": "message", "value": {"stringValue": text}},
            ]
        }
    ),
    "an array": lambda way, text, at: f'[{at}.5, "{TX(way)}", {text}]',
    "YAML, a block": lambda way, text, _: f"- from: {ENDS(way)}\n  raw: |\n{under('    ', text)}",
    "YAML, a line": lambda way, text, _: f"- from: {ENDS(way)}\n  raw: {text}",
    "TOML": lambda way, text, _: f'[[frames]]\nside = "{ENDS(way)}"\nraw = {json.dumps(text)}\n',
    "XML": lambda way, text, _: f"<e dir='{TX(way)}'>{html.escape(text)}</e>",
    "XML, an attribute": lambda way, text, _: f"<e dir='{TX(way)}' m=\"{html.escape(text)}\"/>",
    "XML, a section": lambda way, text, _: f"<e dir='{TX(way)}'><![CDATA[{text}]]></e>",
    "a page": lambda way, text, _: f"<td>{TX(way)}</td><td>{html.escape(pretty(text))}</td>",
    "a quote": lambda way, text, _: f"> {ENDS(way)}:\n{under('> ', text)}",
    "a list": lambda way, text, at: f"{at}. {side('→', '←')(way)} `{text}`",
    "a cell": lambda way, text, at: f"{at},{TX(way)},{cell(text)}",
    "a cell of several lines": lambda way, text, at: f"{at},{TX(way)},{cell(pretty(text))}",
    "a table that a terminal drew": lambda way, text, at: f"│ {at} │ {TX(way)} │ {text} │",
    "a line above": lambda way, text, _: f"{TX(way)}:\n{text}",
    "the same words before each line": lambda way, text, at: under(
        f"{AT.format(at)} [{TX(way)}] ", text
    ),
    "a first line with words": lambda way, text, at: f"{AT.format(at)} {TX(way)} {pretty(text)}",
    "Python, a dictionary": lambda way, text, _: f"DEBUG {TX(way)} {json.loads(text)!r}",
    "Python, over several lines": lambda way, text, _: (
        f"{side('>>>', '<<<')(way)}\n{pprint.pformat(json.loads(text))}"
    ),
    "Python, a text": lambda way, text, _: f"DEBUG {TX(way)} {text!r}",
    "Python, bytes": lambda way, text, _: f"DEBUG {TX(way)} {(text + chr(10)).encode()!r}",
    "Python, a class": lambda way, text, _: (
        f"{TX(way)}: root=Frame("
        f"{', '.join(f'{name}={one!r}' for name, one in json.loads(text).items())})"
    ),
    "Node.js": lambda way, text, _: f"[x] {TX(way)} {printed(json.loads(text))}",
    "Ruby": lambda way, text, _: f"D -- : {TX(way)} {hashed(json.loads(text))}",
    "SQL": lambda way, text, _: f"VALUES ('{TX(way)}', '{text.replace(chr(39), chr(39) * 2)}');",
    "a system call": lambda way, text, _: (
        f"{side('read(0', 'write(1')(way)}, {json.dumps(text + chr(10))}, 9) = 9"
    ),
    "base64": lambda way, text, _: json.dumps({"dir": TX(way), "body": packed(text.encode())}),
    "base64 of what is packed": lambda way, text, _: json.dumps(
        {"dir": TX(way), "body": packed(gzip.compress(text.encode()))}
    ),
    "an address": lambda way, text, _: f'"{TX(way)} /x?m={urllib.parse.quote_plus(text)} HTTP/1"',
    "escapes of other characters": lambda way, text, _: f"{TX(way)} {json.dumps(json.loads(text))}",
    "a recording of a terminal": lambda way, text, at: json.dumps(
        [at, "o", f"{side('>', '<')(way)} {text}\r\n"]
    ),
    "constructors": lambda way, text, _: f"DEBUG {TX(way)} frame={constructed(json.loads(text))}",
    "PHP": lambda way, text, _: f"[x] DEBUG: {TX(way)} {exported(json.loads(text))}",
    "Elixir": lambda way, text, _: f"[debug] {TX(way)}: %{hashed(json.loads(text))}",
    "symbols": lambda way, text, _: f"D -- : {TX(way)} {hashed(json.loads(text), ':{}')}",
    "octal bytes": lambda way, text, _: (
        f'{side("read(0", "write(1")(way)}, "{in_bytes(text, chr(92) + "{:03o}")}", 9) = 9'
    ),
    "hexadecimal bytes": lambda way, text, _: f'{TX(way)} "{in_bytes(text, chr(92) + "x{:02X}")}"',
    "backticks": lambda way, text, _: f'{TX(way)} "{ticked(text)}"',
    "hexadecimal digits": lambda way, text, at: f"{at}\t{TX(way)}\t{text.encode().hex()}",
    "pairs of digits": lambda way, text, _: json.dumps(
        {"way": TX(way), "payload": text.encode().hex(":")}
    ),
    "codes": lambda way, text, _: f"{TX(way)} [{' '.join(map(str, text.encode()))}]",
    "codes in JSON": lambda way, text, _: json.dumps(
        {"way": TX(way), "chunk": {"type": "Buffer", "data": list(text.encode())}}
    ),
    "base64 on several lines": lambda way, text, _: (
        f"- from: {ENDS(way)}\n  raw: !!binary |\n"
        + textwrap.indent("\n".join(textwrap.wrap(packed(text.encode()), 76)), "    ")
    ),
    "base64 of an HTTP message": lambda way, text, _: (
        f"<{ENDS(way)}><![CDATA[{packed(b'POST /mcp HTTP/1.1' + b'; ' + text.encode())}]]></x>"
    ),
    "YAML, folded": lambda way, text, _: (
        f"- from: {ENDS(way)}\n  raw: '"
        + text.replace("'", "''").replace(', "method', ',\n    "method')
        + "'"
    ),
    "lines of a width, with offsets": lambda way, text, _: (
        f"{side('=> Send', '<= Recv')(way)} data\n"
        + "\n".join(f"{at:04x}: {text[at : at + 64]}" for at in range(0, len(text), 64))
    ),
    "a fence of a wiki": lambda way, text, _: (
        f"h4. {ENDS(way)}:\n{{code:json}}\n{pretty(text)}\n{{code}}"
    ),
    "a line above with an arrow": lambda way, text, at: (
        f"{side('>', '<')(way)} 2026/11/20 10:00:0{at}.000123  length={len(text)}\n{text}"
    ),
    "a table of digits": lambda way, text, _: f"{TX(way)} 9 bytes\n{dumped(text)}",
    "a table of digits, another": lambda way, text, _: (
        f"{side('>>>', '<<<')(way)} 10:00\n" + dumped(text, "{at:08x}  {bytes:<48} |{plain}|")
    ),
    "percent signs twice": lambda way, text, _: (
        f"GET /x?dir={TX(way)}&m={urllib.parse.quote(urllib.parse.quote(text))} 200"
    ),
    "carets": lambda way, text, _: rf"C:\x>echo {ENDS(way)} " + re.sub(r'([&<>|^"])', r"^\1", text),
    "quoted-printable": lambda way, text, _: (
        quopri.encodestring(f"{TX(way)}: {text}".encode()).decode().replace('"', "=22")
    ),
    "quoted-printable, quotes as they are": lambda way, text, _: quopri.encodestring(
        f"{TX(way)}: {text}".encode()
    ).decode(),
    "line feeds as rsyslog writes them": lambda way, text, at: (
        f"{AT.format(at)} box app: {TX(way)} " + pretty(text).replace("\n", "#012")
    ),
    "backslashes doubled": lambda way, text, at: (
        f"{at}\t{side('in', 'out')(way)}\t" + text.replace("\\", "\\\\")
    ),
    "bytes in pieces": lambda way, text, _: (
        f"DEBUG {TX(way)} {[text.encode()[at : at + 40] for at in range(0, len(text) + 9, 40)]}"
    ),
    "a shell's words": lambda way, text, _: f"+ {TX(way)} {shlex.quote(text)}",
    "records with a mark": lambda way, text, _: f"\x1e{json.dumps({'way': TX(way), 'm': text})}",
    "more words before the first line": lambda way, text, _: "\n".join(
        f"server-1  | {line}" for line in f"{side('<<', '>>')(way)} {pretty(text)}".split("\n")
    ),
    "Lua": lambda way, text, _: (
        f"[D] {TX(way)} "
        + re.sub(
            r"[\[\]]", lambda sign: "{}"[sign[0] == "]"], hashed(json.loads(text), "{}")
        ).replace("=>", " = ")
    ),
    "a text with words, and read": lambda way, text, at: json.dumps(
        {"text": f"{at} | {text}\n", "record": {"function": TX(way), "message": text}}
    ),
    "times that change from line to line": lambda way, text, at: "\n".join(
        f"2026-11-20T10:00:0{at}.{n:03} [{n * 7}] {TX(way) if n == 0 else ''} {line}"
        for n, line in enumerate(["", *pretty(text).split("\n")])
    ),
    "numbers of lines": lambda way, text, at: "\n".join(
        f"{n:>3}\t{line}"
        for n, line in enumerate([f"{TX(way)}:", *pretty(text).split("\n")], 7 + 9 * at)
    ),
    "PHP, short": lambda way, text, _: (
        f"{TX(way)}: {exported(json.loads(text)).replace('array (', '[').replace(')', ']')}"
        if "wet" not in text and "{}" not in text
        else f"{TX(way)}: {text}"
    ),
    "a list of its parts": lambda way, text, _: json.dumps(
        {"way": TX(way), "chunks": [part for _, part in parted(text)]}
    ),
    "literals of C, one below the other": lambda way, text, _: (
        f"/* {ENDS(way)} */\n" + "\n".join(f"  {json.dumps(part)}" for _, part in parted(text))
    ),
    "bytes of C": lambda way, text, at: (
        (
            f"char {TX(way)}_{at}[] = {{ /* {at} */\n"
            + ",\n".join(textwrap.wrap(", ".join(f"0x{one:02x}" for one in text.encode()), 46))
        ).replace(",,", ",")
        + " };"
    ),
    "a formatted document": lambda way, text, _: (
        rf"\f0 {TX(way)}: " + re.sub(r"([\\{}])", r"\\\1", text).replace("ö", r"\'f6") + r"\par"
    ),
    "Erlang": lambda way, text, _: f"{TX(way)} #" + hashed(json.loads(text), '<<"{}">>'),
    "Clojure": lambda way, text, _: (
        f"10:00 DEBUG {TX(way)} " + re.sub(r'"(\w+)": ', r":\1 ", text).replace("null", "nil")
    ),
    "Swift": lambda way, text, _: f"{TX(way)}: {bracketed(json.loads(text))}",
    "the same words before each line of a literal": lambda way, text, at: (
        "\n".join(
            f"  mcp:{TX(way)} {line}"
            for line in re.sub(r'"(\w+)":', r"\1:", pretty(text)).split("\n")
        )
        + f" +{at}ms"
    ),
    "a line of words above each": lambda way, text, at: (
        f'[#{at}] Received on "mcp.{side("in", "out")(way)}"\n{text}'
    ),
    "values of a width below their names": lambda way, text, _: (
        f"Direction : {side('in', 'out')(way)}\nBody      : "
        + ("\n" + " " * 12).join(text[at : at + 48] for at in range(0, len(text), 48))
    ),
    "an HTTP message": lambda way, text, _: (
        f"{side('POST /mcp HTTP/1.1', 'HTTP/1.1 200 OK')(way)}\nHost: x\n\n{text}\n"
    ),
}
NOISE: Final = (
    "",
    "listening on 127.0.0.1:9900",
    "[info] {ready} [3 tools]",
    '{"level":30,"msg":"handled","took":4}',
    "\tat run (file:///x.js:1:2)",
)


def wrapped(said: Said, wrapping: Wrapping, noise: tuple[str, ...] = ()) -> str:
    """Write a conversation, with lines of noise between its messages."""
    lines = []
    for at, (is_client, body) in enumerate(said):
        lines.append(wrapping(is_client, json.dumps(body, ensure_ascii=False), at % 10))
        lines += noise[at : at + 1]
    return "\n".join(lines)


def read(text: str) -> Said:
    """Return who said what."""
    return [
        (one.direction is Direction.IN, json.loads(one.raw))
        for one in read_recording(text.split("\n"), str)
        if one.direction is not Direction.NOTE
    ]


@pytest.mark.parametrize("name", WRAPPINGS)
def test_a_conversation_is_read_whatever_quotes_it(name: str) -> None:
    """Every message, with its side."""
    assert read(wrapped(SAID, WRAPPINGS[name])) == SAID


@pytest.mark.parametrize("name", ["messages", "contents", "tools", "resources", "traffic"])
@pytest.mark.parametrize("write", [lambda body: body, json.dumps])
def test_a_file_with_one_list_of_messages_is_read_whatever_the_list_is_called(
    name: str, write: Callable[[Any], Any]
) -> None:
    """A result has such lists, too, but of other items."""
    sides = side("client", "server")
    items = [{"from": sides(is_client), "data": write(body)} for is_client, body in SAID]
    assert read(json.dumps({"session": "x", name: items}, indent=1)) == SAID


def test_what_a_result_quotes_was_answered() -> None:
    """So it is no conversation."""
    quoted = "\n".join(json.dumps(body) for _, body in SAID)
    assert read_capture(json.dumps({"content": [{"type": "text", "text": quoted}]})) == ()


TEXTS: Final = st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Zl", "Zp"]))
VALUES: Final = st.recursive(
    st.none() | st.booleans() | st.integers(-99, 99) | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=6,
)
EXACT: Final = tuple(
    WRAPPINGS[name]
    for name in (
        *("an arrow", "a time between", "syslog", "a member", "a text", "a text in a text"),
        *("attributes", "an array", "a list", "base64", "base64 of what is packed"),
        *("escapes of other characters", "the same words before each line", "a line above"),
        *("a first line with words", "a cell", "logfmt", "a system call"),
        *("octal bytes", "hexadecimal bytes", "backticks", "hexadecimal digits"),
        *("pairs of digits", "codes", "codes in JSON", "base64 on several lines"),
        *("constructors", "Elixir", "Python, a dictionary", "Python, bytes", "Python, a text"),
        *("XML, a section", "lines of a width, with offsets", "a table of digits"),
        *("a table of digits, another", "percent signs twice", "carets", "records with a mark"),
        *("quoted-printable", "quoted-printable, quotes as they are"),
    )
)
"""The wrappings that change nothing of a message. In SQL, words in which each backslash is doubled
are also what Python writes, which is seen more often."""


@st.composite
def conversations(draw: st.DrawFn) -> Said:
    """Draw requests and responses of both sides, after the handshake's request."""
    said: Said = [SAID[0], SAID[1]]
    for at in range(2, draw(st.integers(3, 6))):
        is_client = draw(st.booleans())
        method = "tools/call" if is_client else "sampling/createMessage"
        asked = {"jsonrpc": "2.0", "id": at, "method": method, "params": {"a": draw(VALUES)}}
        said.append((is_client, asked))
        answer = {"jsonrpc": "2.0", "id": at, "result": {"b": draw(VALUES)}}
        said.append((not is_client, answer))
    return said


@given(
    said=conversations(),
    wrapping=st.sampled_from(EXACT),
    noise=st.lists(st.sampled_from(NOISE), max_size=6).map(tuple),
)
def test_any_conversation_comes_back_from_any_wrapping(
    said: Said, wrapping: Wrapping, noise: tuple[str, ...]
) -> None:
    """With its values and its sides, whatever else is in the file."""
    assert read(wrapped(said, wrapping, noise)) == said


def test_base64_is_joined_whatever_the_length_of_its_last_line() -> None:
    """Also where that has four characters."""
    for size in range(80):
        said = [*SAID[:2], (True, SAID[3][1] | {"params": {"a": "x" * size}})]
        assert read(wrapped(said, WRAPPINGS["base64 on several lines"])) == said


def test_a_message_keeps_its_bytes_and_its_place() -> None:
    """Numbers and white space, too; a place in quotes is where the message begins."""
    text = '{"jsonrpc": "2.0",  "id":1.0, "method":"a\\u00e4"}'
    file = f"x\n[a] in: {text}\n{{'y': 1}} {json.dumps({'m': text})}\n"
    first, second = (one for one in read_capture(file) if one.direction is not Direction.NOTE)
    assert (first.number, first.column, first.text) == (2, 9, text)
    assert (second.number, second.column, second.text) == (3, 16, text)
    assert (first.origin, second.origin) == (Origin.LINE, Origin.QUOTED)


def test_chunks_of_http_are_joined() -> None:
    """Those of an event stream, with the sizes between them."""
    said = [(is_client, body) for is_client, body in SAID if not is_client]
    text = "".join(chunked(json.dumps(body)) for _, body in said)
    assert read(f"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n{text}0\r\n\r\n") == said


LONG: Final = json.dumps(SAID[3][1] | {"params": {"a": "x" * 99}})
LEFT_OUT: Final = {
    "an ellipsis": f"recv {LONG[:90]}…",
    "dots and a count": f"recv {LONG[:90]}... [61 more chars]",
    "dots behind a quote": f'read(0, "{LONG[:90]}'.replace('"', '\\"').replace("\\", "", 1)
    + '"..., 9) = 9',
}


@pytest.mark.parametrize("name", LEFT_OUT)
def test_what_a_program_left_out_is_no_mistake_of_who_sent_it(name: str) -> None:
    """The message is cut, and not torn; its id and method are known."""
    first, answer = f"recv {json.dumps(SAID[0][1])}", f"send {json.dumps(SAID[7][1])}"
    lines = read_capture(f"{first}\n{LEFT_OUT[name]}\n{answer}")
    assert [one.is_cut for one in lines] == [False, True, False]
    assert json.loads(lines[1].text) == {"jsonrpc": "2.0", "id": 2, "method": "tools/call"}
    assert [one.direction for one in lines] == [Direction.IN, Direction.IN, Direction.OUT]


@pytest.mark.parametrize(
    ("written", "known"),
    [
        ('"id":2,"method":"x","params":{"a', {"id": 2, "method": "x"}),
        ('"method":"x","id":0,"params":{"a', {"id": 0, "method": "x"}),
        ('"id":"b","method":"x","par', {"id": "b", "method": "x"}),
        ('"id":2,"meth', {"id": 2}),
        ('"id":2,"result":{"id":7,', {"id": 2, "result": {}}),
        ('"id":2,"error":{"code":1,', {"id": 2, "error": {}}),
        # what is no JSON is not known
        ('"id":007,"method":"x","params":{"a', {"method": "x"}),
        ('"id":\uff12,"method":"x","params":{"a', {"method": "x"}),
        pytest.param(
            f'"id":{"9" * 5_000},"method":"x","params":{{"a', {"method": "x"}, id="a long number"
        ),
        ('"id":2,"method":"a\tb","params":{"a', {"id": 2}),
    ],
)
def test_of_a_message_that_was_cut_its_id_and_method_are_known(
    written: str, known: dict[str, object]
) -> None:
    """As far as they were written; what it had, is empty."""
    _first, cut = read_capture(f'send {CALL}\nrecv {{"jsonrpc":"2.0",{written}…')
    assert (cut.is_cut, json.loads(cut.text)) == (True, {"jsonrpc": "2.0", **known})


@pytest.mark.parametrize("written", ['"2.0', '"2.0"', '"2.0","params":{"a'])
def test_of_a_message_that_was_cut_before_its_id_nothing_is_known(written: str) -> None:
    """It stays as it is, and is torn."""
    _first, cut = read_capture(f'send {CALL}\nrecv {{"jsonrpc":{written}…')
    assert (cut.is_cut, cut.text) == (False, f'{{"jsonrpc":{written}…')


def test_a_request_that_was_cut_has_its_response() -> None:
    """By its id: no word says who sent the response."""
    lines = [
        f"a {CALL.replace('ping', 'tools/call')}",
        'b {"jsonrpc":"2.0","id":7,"method":"roots/list","params":{"a…',
        'c {"jsonrpc":"2.0","id":7,"result":{}}',
        'd {"jsonrpc":"2.0","id":1,"result":{}}',
    ]
    wanted = [Direction.IN, Direction.OUT, Direction.IN, Direction.OUT]
    assert [one.direction for one in read_capture("\n".join(lines))] == wanted


@pytest.mark.parametrize(
    ("value", "is_one", "is_one_among_others"),
    [
        ({"jsonrpc": "2.0"}, False, False),
        ({"jsonrpc": "2.0", "id": 1}, True, True),
        ({"jsonrpc": 7, "params": 1, "x": 1}, True, True),
        ({"jsonrpc": {"type": "string"}, "id": 1}, False, False),
        ({"method": "ping"}, True, True),
        ({"method": "ping", "x": 1}, True, False),
        ({"method": "GET"}, False, False),
        ({"method": 7}, False, False),
        ({"id": 1, "result": None}, True, True),
        ({"id": 1, "result": {}, "x": 1}, True, False),
        ({"id": {"type": "number"}, "result": {}}, True, False),
        ({"id": 1, "error": None}, False, False),
        ({"id": 1, "error": {}}, True, True),
        ({"result": {}}, False, False),
        ([], False, False),
        ("ping", False, False),
    ],
)
def test_a_message_is_known_by_its_members(
    value: object, *, is_one: bool, is_one_among_others: bool
) -> None:
    """Among other objects, one without a version has no other members."""
    assert is_message(value) is is_one
    assert is_message(value, strict=True) is is_one_among_others


@pytest.mark.parametrize("before", ["[2026-11-20 10:00:00.000] IN: ", ""])
def test_what_was_sent_with_dots_at_its_end_is_torn(before: str) -> None:
    """A log of ours and a pipe have what was sent, so that nobody left out a part."""
    whole = f"{before}{json.dumps(SAID[0][1])}"
    torn = LONG[:90] + "..."
    *_, last = read_capture(f"{whole}\n{whole}\n{before}{torn}")
    assert (last.text, last.is_cut) == (torn, False)


@given(
    text=st.text(st.sampled_from("ab01 :^`%25EOAx\r\n\\\"'|{")) | st.text().map(dumped),
    layer=st.sampled_from(FILE_LAYERS),
)
def test_a_layer_of_a_file_keeps_its_lines(text: str, layer: FileLayer) -> None:
    """So that each message and each note is at the line where it is."""
    assert layer.undone(text).count("\n") == text.count("\n")


INIT: Final = '{"method":"initialize","params":{"a":1}}'
LIST: Final = '{"method":"tools/list"}'
GIVEN: Final = '{"tools":[]}'
BARE: Final = {
    "one below the other": f"1. x\nRequest:\n{INIT}\nResponse:\n{{}}\n{LIST}\n{GIVEN}",
    "one object for both": f'{INIT[:-1]},"result":{{}}}}\n{LIST[:-1]},"result":{GIVEN}}}',
    "in pairs": f'[{{"request":{INIT},"response":{{}}}},{{"request":{LIST},"response":{GIVEN}}}]',
    "in pairs of texts": json.dumps(
        [{"request": INIT, "response": "{}"}, {"request": LIST, "response": GIVEN}], indent=1
    ),
    "named by the words before": (
        "[Trace] Sending request 'initialize - (7)'.\nParams: {\"a\":1}\n\n"
        "[Trace] Received response 'initialize - (7)' in 3ms.\nResult: {}\n\n"
        "[Trace] Sending request 'tools/list - (9)'.\nNo parameters provided.\n\n"
        f"[Trace] Received response 'tools/list - (9)' in 3ms.\nResult: {GIVEN}\n"
    ),
    "beside other members": (
        f'{{"request":{INIT},"headers":{{"a":"b"}},"response":{{"result":{{}}}},"ms":4}}\n'
        f'{{"request":{LIST},"response":{{"result":{GIVEN}}}}}'
    ),
}


@pytest.mark.parametrize("name", BARE)
def test_methods_and_results_without_json_rpc_are_exchanges(name: str) -> None:
    """Which answers which, their order says; the ids are made up."""
    lines = read_capture(BARE[name])
    assert [(one.direction, json.loads(one.text)) for one in lines] == [
        (Direction.IN, {"jsonrpc": "2.0", "id": 1, **json.loads(INIT)}),
        (Direction.OUT, {"jsonrpc": "2.0", "id": 1, "result": {}}),
        (Direction.IN, {"jsonrpc": "2.0", "id": 2, **json.loads(LIST)}),
        (Direction.OUT, {"jsonrpc": "2.0", "id": 2, "result": {"tools": []}}),
    ]
    assert {one.origin for one in lines} == {Origin.BARE}
    places = [(one.number, one.column) for one in lines]
    assert places == sorted(set(places))


def test_a_notification_leaves_a_request_without_json_rpc_open() -> None:
    """The response comes after it."""
    told = '{"method":"notifications/progress","params":{"progress":1}}'
    lines = read_capture(f"1. x\n{LIST}\n{told}\n{GIVEN}")
    assert [one.direction for one in lines] == [Direction.IN, Direction.OUT, Direction.OUT]
    assert json.loads(lines[2].text) == {"jsonrpc": "2.0", "id": 1, "result": {"tools": []}}


@pytest.mark.parametrize(
    "line",
    [
        '{"level":"info","method":"GET","url":"/x","status":200,"time":1}',
        '{"id":7,"error":null,"name":"x"}',
        '{"time":1,"request":{"method":"POST","url":"/mcp"},"id":3}',
        '{"time":1,"job":{"id":7,"result":"ok","owner":"x"}}',
    ],
)
def test_objects_of_other_programs_are_no_messages(line: str) -> None:
    """They have members of these names, and others."""
    assert not list(MessageFinder(f"at 10:00 {line}"))


def test_a_file_without_a_mark_of_a_terminal_keeps_its_line_ends() -> None:
    """Lines that are full by chance are not joined."""
    lines = [f'{{"jsonrpc":"2.0","id":{at},"method":"ping","params":{{}}}}' for at in range(4)]
    assert [one.text for one in read_capture("\n".join(lines))] == lines


def test_what_a_terminal_broke_at_its_width_is_joined() -> None:
    """Each message is at the line where it begins."""
    text = wrapped(SAID, WRAPPINGS["an arrow"])
    lines = [line[at : at + 50] for line in text.split("\n") for at in range(0, len(line), 50)]
    assert read("\n".join(lines)) == SAID
    found = [one.number for one in read_capture("\n".join(lines)) if one.direction]
    assert found == [at for at, line in enumerate(lines, 1) if line.startswith(("-->", "<--"))]


HOSTILE: Final = {
    "values that never end": '{"jsonrpc":[\n',
    "escaped texts that never end": '{\\"jsonrpc\\":',
    "quotes that never end": "{'jsonrpc': \"",
    "calls that never end": "Frame(jsonrpc='",
    "prefixes": 'a {"jsonrpc"\n',
    "prefixes with numbers": '1a1a1a {"jsonrpc":{\n',
    "arrays in arrays": "[[",
    "objects in objects": '{"jsonrpc":',
    "texts in texts": '{"a":"{\\"jsonrpc\\":1',
    "base64": "eyJqc29ucnBjIjoiMi4wIiwi ",
    "entities": "{&quot;jsonrpc&quot;",
    "cells": '{""jsonrpc',
    "titles": "Client ->\nServer ->\n",
    "events": 'data: {"jsonrpc"\n',
    "numbers": "2026-11-20 10:00:00 1234567890 jsonrpc ",
    "arrows": "a -> b -> ",
    "a line of slashes above a message": "/" * 9_999 + '\n{"jsonrpc":"2.0","id":1}\n',
    "events in a text that a message began": '{"jsonrpc":"\n' + "event: x\ndata: {\n\n" * 50,
    "spaces": '{                "jsonrpc"  ',
    "brackets": "[x] [y] jsonrpc ",
    "members": '{"jsonrpc":"2.0","id":1}, ',
    "rows of digits": '00000010: 7b22 6a73 6f6e 7270 6322 3a22 {"jsonrpc"\n',
    "chunks": '{"jsonrpc":\n1a\n',
    "percent signs": "%2525257B%22jsonrpc",
    "full lines": f'{{"jsonrpc":{"x" * 49}\n',
    "words before lines that go on": 'a b c d {"jsonrpc":\na b\n',
    "escaped members": '{\\"a\\":',
    "doubled quotes": '{""a',
    "quotes in pairs": "'",
    "literals in quotes": "'{",
    "literals": "{'a': ",
    "curly quotes": "[“",
    "entities without a name": "{&quot;a",
    "braces, one a line": "{\n",
    "brackets, one a line": "[\n",
    "what was left out": "[Object",
    "short lines": "a\n",
    "one line": "a",
    "half hexadecimal": "6a736f6e727063",
}
SPREAD: Final = {
    "alone": lambda piece, size: piece * (size // len(piece)),
    "with a mark behind them": lambda piece, size: piece * (size // len(piece)) + '\n"jsonrpc"',
    "between messages": lambda piece, size: (
        f"{piece * (200 // len(piece) + 1)}{CALL}\n" * (size // 300)
    ),
}
"""Without a mark behind them, a place is never tried."""
CALL: Final = '{"jsonrpc":"2.0","id":1,"method":"ping"}'


def cost(text: str) -> float:
    """Return the seconds of processor time that it takes to read a text, the least of three."""
    found = []
    for _ in range(3):
        began = time.process_time()
        read_capture(text)
        found.append(time.process_time() - began)
    return min(found)


@pytest.mark.parametrize("spread", SPREAD)
@pytest.mark.parametrize("piece", HOSTILE.values(), ids=HOSTILE)
def test_the_work_grows_with_the_text(
    piece: str, spread: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Four times the text takes about four times as long, and never sixteen times.

    What may be read in vain in any file would hide it in files as small as these.
    """
    monkeypatch.setattr(message_finder, "_LEAST", 0)
    small, large = (SPREAD[spread](piece, size) for size in (15_000, 60_000))
    assert cost(large) < 9 * cost(small) + 0.05


@pytest.mark.parametrize(
    "name",
    [
        *("prefixes", "texts in texts", "rows of digits", "backslashes", "values with an end"),
        *("other words in each line", "literals that never close"),
    ],
)
def test_a_start_in_vain_costs_a_few_steps(name: str) -> None:
    """So few that the longest file is read, too: in bytes, and not in tries times lines."""
    others = {
        "backslashes": TORN,
        "values with an end": "a {'jsonrpc'}\n",
        "literals that never close": "{'jsonrpc': '2.0', 'id': 1, 'params': {'a': 1\n",
        "other words in each line": "".join(
            f'{" ".join(map(chr, range(at, at + 9)))} {{"jsonrpc":"2.0",\n'
            for at in range(0x4E00, 0x5E00)
        ),
    }
    piece = {**HOSTILE, **others}[name]
    text = piece * (600_000 // len(piece))
    assert steps_of(text) < 10 * len(text)


def steps_of(text: str) -> int:
    """Return how many functions are called and left while a text is read."""
    steps = 0

    def count(*_: object) -> None:
        nonlocal steps
        steps += 1

    sys.setprofile(count)
    try:
        read_capture(text)
    finally:
        sys.setprofile(None)
    return steps


MOST_STEPS: Final[dict[str, tuple[int, Callable[[list[str]], str]]]] = {
    "lines": (200, "\n".join),
    "an array": (155, lambda said: f"[{','.join(said)}]"),
    "a log": (200, lambda said: "\n".join(f"10:00:01 recv {one}" for one in said)),
    "Python": (285, lambda said: "\n".join(f"10:00:01 recv {json.loads(one)}" for one in said)),
    "texts in JSON": (
        390,
        lambda said: "\n".join(f'{{"dir":"in","at":1,"m":{json.dumps(one)}}}' for one in said),
    ),
    "base64": (
        430,
        lambda said: "\n".join(f'{{"dir":"in","m":"{packed(one.encode())}"}}' for one in said),
    ),
}
"""So many steps a message may cost, and how the file is written."""


@pytest.mark.parametrize("name", MOST_STEPS)
def test_a_message_costs_few_steps_and_collects_no_garbage(name: str) -> None:
    """Nothing is done twice for each message: a file may have hundreds of thousands."""
    most, written = MOST_STEPS[name]
    one = '{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"n":1}}'
    text, phases = written([one % at for at in range(600)]), []
    gc.collect()
    gc.callbacks.append(lambda phase, _: phases.append(phase))
    try:
        assert len(read_capture(text)) == 600
    finally:
        gc.callbacks.pop()
    assert phases.count("start") <= 1  # afterwards
    assert gc.isenabled()
    assert steps_of(text) < most * 600


MANY: Final = "\n".join(f"recv {json.dumps(body)}" for _, body in SAID * 1_800)
READ_ONCE: Final = {
    "a dump": dumped(MANY[:300_000]),
    "a torn message at the end": MANY + '\nrecv {"jsonrpc":"2.0","id":1,"params":{"a":"\\\\n',
    "a torn message in the middle": f'{MANY}\nrecv {{"jsonrpc":"2.0","id":{{"%22":\n{MANY}',
}


@pytest.mark.parametrize("name", READ_ONCE)
def test_a_large_file_is_searched_once(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What may have been done to it is tried in a part of it."""
    sizes = []

    class Counting(MessageFinder):
        def __init__(self, text: str) -> None:
            sizes.append(len(text))
            super().__init__(text)

    monkeypatch.setattr(captures, "MessageFinder", Counting)
    text = READ_ONCE[name]
    assert len(text) > 1 << 20
    assert len(read_capture(text)) > 1_000
    assert sum(sizes) < 1.5 * len(text)


TORN: Final = 'x {"jsonrpc":"\\\\"\n'
UNREAD: Final = {
    "a log": lambda text: f"10:00:01 recv {text}",
    "a log of ours": lambda text: f"[2026-11-20 10:00:00.000] OUT: {text}",
    "a pipe": lambda text: text,
    "an array of texts": lambda text: json.dumps({"dir": "in", "m": text}),
}


@pytest.mark.parametrize("name", UNREAD)
def test_of_many_lines_that_cannot_be_read_the_first_are_kept(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One note tells how many more there are, and where the first of them is."""
    monkeypatch.setattr(captures, "_MOST_UNREAD", 300)
    written, torn = UNREAD[name], '{"jsonrpc": "2.0", "id": 1'
    said = [json.dumps(body) for _, body in SAID[:2]]
    lines = read_capture("\n".join(map(written, [*said, *[torn] * 400, *said])))
    kept = [one for one in lines if not one.more]
    (rest,) = (one for one in lines if one.more)
    assert [one.text for one in kept] == [*said, *[torn] * 300, *said]
    assert (rest.number, rest.direction, rest.level) == (303, Direction.NOTE, "")
    assert rest.more == 99


def test_what_is_packed_is_read_up_to_a_bound() -> None:
    """Of many texts that are small as they are packed, a file says no more than fits in memory."""
    bomb = packed(gzip.compress(b'{"jsonrpc":"2.0"}' + b" " * (1 << 24)))
    (layer, *_) = (one for one in FILE_LAYERS if one.mark.search(bomb))
    assert len(layer.undone(" ".join([bomb] * 40))) < 1 << 26


ONE_TEXT: Final = {
    "an array": lambda many: f"[{','.join(many)}]",
    "a line without an end": "".join,
}


@pytest.mark.parametrize("name", ONE_TEXT)
def test_messages_in_one_text_take_as_long_as_on_their_own_lines(name: str) -> None:
    """Each part of the file is counted once, also where it has no line feed."""
    one = '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"a":"%s"}}'
    bare = [one % ("x" * 300)] * 8_000
    many = [f'{{"d":"in","m":{each}}}' for each in bare] if name == "an array" else bare
    assert cost(ONE_TEXT[name](many)) < 4 * cost("\n".join(many)) + 0.05


@pytest.mark.parametrize("words", ["a\nb", "ō", "\\", "C:\\new", "\\u014d", "it's"])
def test_a_text_of_python_is_read_with_its_own_words(words: str) -> None:
    """Doubled backslashes are valid JSON, too, with other words."""
    said = [*SAID[:2], (True, SAID[3][1] | {"params": {"a": words}})]
    assert read(wrapped(said, WRAPPINGS["a Python text"])) == said


def test_what_stands_between_two_tables_of_digits_keeps_its_line() -> None:
    """A table has fewer lines of text than rows: the places behind it are those of the file."""
    second = CALL.replace("1,", "2,")
    file = "\n".join([dumped(f"{CALL}\n"), "and then", dumped(f"{second}\n"), ""])
    places = [(one.number, one.text) for one in read_capture(file)]
    assert places == [(1, CALL), (4, "and then"), (5, second)]


PIECES: Final = (
    *('{"jsonrpc":"2.0"', ',"id":1', ',"id":007', ',"id":"a"', ',"method":"ping"', ',"result":{}'),
    *(',"params":{"a":"', "[", "]", "{", "}", '"', "'", "\\", '\\"', '""', ",", ":", "(", ")"),
    *("\n", "\r\n", "\r", "…", "...", "recv ", "send ", "data: ", "HTTP/1.1 200 OK\n", "```\n"),
    *("[2026-11-20 10:00:00.000] IN: ", "[2026-11-20 10:00:00.000] ERR: ", " => ", "│ ", "\x1b[0m"),
    *("[Object]", "None", "b'", "&quot;", "&#9;", "%22", "=22", "#012", "0000: 7b 22", "eyJqc29u"),
    *(f"{CALL}\n", CALL, json.dumps(CALL), repr(CALL), "9" * 5_000, "\ufeff", "\ud800", "\uff12"),
)


@given(st.lists(st.sampled_from(PIECES), max_size=24).map("".join))
def test_any_file_is_read_and_each_line_of_it_has_its_place(text: str) -> None:
    """A stranger wrote it, and it may have been cut anywhere."""
    last = len(re.split("\r\n|\r|\n", text))
    read = read_capture(text)
    assert all(1 <= one.number <= last and one.column >= 1 for one in read)
    assert [one.number for one in read] == sorted(one.number for one in read)
    for frame in read_recording(text.split("\n"), str):
        frame.raw.decode("utf-8", "surrogateescape")


def test_what_a_layer_left_as_it_is_has_places_in_the_file() -> None:
    """Only what it undid is quoted there."""
    second = CALL.replace("1,", "2,")
    read = read_capture("\n".join([dumped(f"{CALL}\n"), f"> {second}", f'{{"m":{second}}}', ""]))
    assert [(one.column, one.origin) for one in read] == [
        (1, Origin.QUOTED),
        (3, Origin.LINE),
        (6, Origin.MEMBER),
    ]
