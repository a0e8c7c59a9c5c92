"""The language of the page, the sentences of its scripts, and its templates.

All values are escaped; invisible characters of received text are also made visible.
"""

from __future__ import annotations

import base64
import binascii
import bisect
import hashlib
import json
import re
import threading
from functools import cache
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeGuard

from jinja2 import Environment, FileSystemLoader, StrictUndefined, pass_context
from markupsafe import Markup, escape

from humanmcp import extensions
from humanmcp.answering.schema import TypedDict
from humanmcp.answering.standing import told_of
from humanmcp.answering.summary import INLINE, reason_of, row_title
from humanmcp.common.timestamps import clock, duration, seconds_of
from humanmcp.common.web_folder import web_folder
from humanmcp.inbox.contract import Purpose
from humanmcp.locales import LANGUAGES, say, sentences_of, spoken_language, who
from humanmcp.protocol.diagnostics.kinds import title_of
from humanmcp.protocol.json.jsonrpc import DEEPEST_INCOMING, deeper_than
from humanmcp.protocol.json.tree import leaves
from humanmcp.protocol.json.undecoded import has_many_values
from humanmcp.protocol.json.visible import by_direction, one_line, visible
from humanmcp.protocol.tables import methods, objects
from humanmcp.protocol.validation.rules.tools import mime_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from jinja2 import Template
    from jinja2.runtime import Context

    from humanmcp.answering.standing import Standing
    from humanmcp.inbox.contract import Item
    from humanmcp.protocol.tables.faults import Fault

_FENCE: Final = re.compile(r" {0,3}(```+|~~~+)")
_HEADING: Final = re.compile(r" {0,3}#{1,6} +([^ ].*)")
_ITEM: Final = re.compile(r" *[-*+] +(.+)$")
_NUMBERED: Final = re.compile(r" *(\d{1,4}[.)] +.+)$")


class Run(NamedTuple):
    """A piece of a line; `kind` is text, code or strong."""

    kind: str
    text: str


class Block(NamedTuple):
    """A block; `kind` is text, heading, list, numbered or code. Each line is a row of pieces."""

    kind: str
    lines: tuple[tuple[Run, ...], ...]


def blocks(text: str) -> tuple[Block, ...]:
    """Return a text as blocks; () if it contains no Markdown."""
    found = tuple(_blocks(text.splitlines()))
    plain = all(
        one.kind == "text" and all(run.kind == "text" for line in one.lines for run in line)
        for one in found
    )
    return () if plain else found


def _blocks(lines: list[str]) -> Iterator[Block]:
    kind, held = "", list[str]()
    fence = ""
    for line in lines:
        opening = _FENCE.match(line)
        if fence:
            if opening and line.strip().startswith(fence):
                fence = ""
            else:
                held.append(line)
            continue
        now, shown = _kind_of(line)
        if held and (now != kind or opening or now == "heading"):
            yield _block(kind, held)
            held = []
        if opening:
            kind, fence = "code", opening.group(1)
            about = line.strip()[len(fence) :].strip()
            held = [] if about.isalnum() else list(filter(None, [about]))  # no words get lost
        elif now:
            kind = now
            held.append(shown)
    if held:
        yield _block(kind, held)


def _kind_of(line: str) -> tuple[str, str]:
    if not line.strip():
        return "", ""
    for kind, pattern in (("heading", _HEADING), ("list", _ITEM), ("numbered", _NUMBERED)):
        match = pattern.match(line)
        if match:
            shown = match.group(1)
            return kind, (shown.rstrip(" #") or shown) if kind == "heading" else shown
    return "text", line


def _block(kind: str, lines: list[str]) -> Block:
    if kind == "code":
        return Block(kind, ((Run("code", "\n".join(lines)),),))
    return Block(kind, tuple(tuple(_runs(line)) for line in lines))


def _runs(line: str) -> Iterator[Run]:
    at = 0
    for match in INLINE.finditer(line):
        if match.start() > at:
            yield Run("text", line[at : match.start()])
        code, strong = match.groups()
        yield Run("code", code) if code else Run("strong", strong)
        at = match.end()
    if at < len(line):
        yield Run("text", line[at:])


SECTION: Final = "desk"
SCRIPT: Final = "js."
"""The beginning of the codes of sentences for the page's scripts."""


@cache
def edition() -> str:
    """Return a name that changes with each of the static files."""
    found = hashlib.sha256()
    for _name, content in static_contents():
        found.update(content)
    return found.hexdigest()[:16]


def static_contents() -> Iterator[tuple[str, bytes]]:
    """Yield each static file by its name below `/static/`: an extension's below its own name."""
    for before, folder in (("", web_folder() / "static"), *extensions.folders("static")):
        for path in sorted(folder.rglob("*")):
            if path.is_file():
                yield f"{before}{path.relative_to(folder).as_posix()}", path.read_bytes()


def static() -> str:
    """Return the beginning of the addresses of static files, which a browser may cache forever."""
    return f"/static/~{edition()}/"


_TURN: Final = threading.RLock()


class _OneAtATime(Environment):
    """Compiles a template once, also where thirty pages ask for it in the same moment."""

    def get_template(self, name: str | Template, *more: Any) -> Template:  # noqa: ANN401 - of jinja2
        """Return a template, which takes about 10 ms where it is not compiled yet."""
        with _TURN:
            return super().get_template(name, *more)


@cache
def _environment() -> Environment:
    environment = _OneAtATime(
        loader=FileSystemLoader(
            [
                web_folder() / "templates",
                *(folder for _before, folder in extensions.folders("templates")),
            ]
        ),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    environment.globals |= {"static": static(), "links": links, "say": say}
    environment.globals |= {"brought": extensions.only, "styles": extensions.styles}
    environment.globals |= {"left_out": extensions.faults, "brought_template": brought_template}
    environment.filters |= {"visible": visible, "one_line": one_line, "ordered": ordered}
    environment.filters |= {
        "markdown": blocks,
        "sentence": sentence,
        "clock": clock,
        "duration": duration,
    }
    environment.filters |= {"problem_title": title_of, "row_title": row_title}
    environment.filters |= {"told": told, "reason_of": reason_of}
    environment.filters |= {"nameless": nameless}
    return environment


class ShownLink(NamedTuple):
    """A link to a page of an extension: its address and its text."""

    address: str
    words: str


def links(place: str, more: str = "", **fillings: object) -> list[ShownLink]:
    """Return the links at a place, the addresses filled; `more` ends the code of the sentence."""
    found = (
        extensions.call(one.section, f"link {one.address}", _shown_link, one, more, fillings)
        for one in extensions.links(place)
    )
    return [one for one in found if one is not None]


def _shown_link(link: extensions.Link, more: str, fillings: Mapping[str, object]) -> ShownLink:
    address = link.address.format(**fillings) if fillings else link.address
    return ShownLink(address, say(link.section, f"{link.code}{more}"))


@pass_context
def brought_template(context: Context, name: str) -> Markup:
    """Render a template of an extension here, below whose name it is."""
    extension, given = name.partition("/")[0], context.get_all()
    html = extensions.call(extension, name, lambda: template(name).render(given), otherwise="")
    return Markup(html)  # noqa: S704 - its own HTML


HIDDEN_NAMES: Final = "hidden_names"
"""The variable of a page on which nobody's name is to be read: a sequence of names."""
SPOKEN_WORDS: Final = "spoken_words"
"""The variable with the words that nobody of them wrote, in lower case (`words_of`)."""


@pass_context
def nameless(context: Context, shown: str) -> str:
    """Hide people's names in what people wrote: a text, or the markup with it.

    A word of MCP, or of the lesson (`SPOKEN_WORDS`), is nobody's name where it stands alone in a
    value, or with others in one word, such as tools/call.
    """
    given = [one for one in context.get(HIDDEN_NAMES, ()) if len(one) > 1 and not one.isdigit()]
    if not given:
        return shown
    spoken = context.get(SPOKEN_WORDS, frozenset[str]()) | protocol_words()
    if isinstance(shown, Markup):
        named = _named(map(escape, given))
        return Markup(_TEXTS.sub(lambda text: _hidden(named, text[0], spoken), shown))  # noqa: S704 - as it was
    return _hidden(_named(given), shown, spoken)


def words_of(text: str) -> frozenset[str]:
    """Return the words of a text as names of tools and methods are written."""
    return frozenset(one.casefold() for one in _WORD.findall(text))


@cache
def protocol_words() -> frozenset[str]:
    """Return the names of MCP's methods and members."""
    members = (name for shape in objects.SHAPES.values() for name in shape.members)
    found = (*methods.REQUESTS, *methods.NOTIFICATIONS, *members, "jsonrpc", "result", "error")
    return words_of(" ".join(found))


def _hidden(named: re.Pattern[str], text: str, spoken: frozenset[str]) -> str:
    words = {one.start(): one for one in _WORD.finditer(text)}
    starts = sorted(words)

    def hide(found: re.Match[str]) -> str:
        at = bisect.bisect_right(starts, found.start()) - 1
        word = words[starts[at]] if at >= 0 else found
        before = text[max(0, word.start() - 5) : word.start()]
        after = text[word.end() : word.end() + 5]
        alone = before.endswith(_QUOTES) if before else True
        alone &= after.startswith(_QUOTES) if after else True
        keeps = word[0].casefold() in spoken and (alone or len(word[0]) > len(found[0]))
        return found[0] if keeps else "…"

    return named.sub(hide, text)


_WORD: Final = re.compile(r"[\w/-]+")
_QUOTES: Final = ('"', "&#34;")
_TEXTS: Final = re.compile(r"(?<![^>])[^<>]+")


def _named(names: Iterable[str]) -> re.Pattern[str]:
    words = (rf"\b{re.escape(one)}\b" if one.isascii() else re.escape(one) for one in names)
    return re.compile("|".join(words), re.IGNORECASE)


def ordered(text: str) -> Markup:
    """Return a text in which words from right to left keep their place among the others."""
    pieces = by_direction(text)
    return Markup("").join(
        Markup("<bdi>{}</bdi>").format(piece) if is_word else piece for piece, is_word in pieces
    )


_QUOTED: Final = re.compile(r"`([^`]+)`")


def told(item: Item, standing: Standing, by: str) -> str:
    """Say on a banner what is so of an exchange; of a decision, what each front end says."""
    answer = item.answer
    if standing.is_over and (item.purpose is Purpose.PROMPT or (answer and answer.action)):
        words = told_of(item, standing, by)
        return say("desk", "banner.told", words=f"{words[:1].upper()}{words[1:]}")
    parked = item.waiting.parked.way or "task"
    return say(
        "desk",
        f"banner.{standing}",
        by=by,
        time=clock(seconds_of(answer.at) - seconds_of(item.arrived)) if answer else "",
        how=say("desk", f"parked.{parked}"),
        at=answer.fetched if answer else "",
    )


def sentence(text: str) -> Markup:
    """Return one of our sentences: what is in backticks is code, as in dom.js."""
    pieces = _QUOTED.split(visible(text))
    return Markup("").join(
        Markup("<code>{}</code>").format(piece) if at % 2 else piece
        for at, piece in enumerate(pieces)
    )


def template(name: str) -> Template:
    """Return a template."""
    with _TURN:
        return _environment().get_template(name)


def render(name: str, **values: Any) -> str:  # noqa: ANN401 - templates take anything
    """Render a template in the reader's language."""

    def t(code: str, **fillings: object) -> str:
        return say(SECTION, code, **fillings)

    def w(code: str) -> str:
        return say("waiting", code)

    def by(name: str) -> str:
        return t("party.you") if name == "desk" else who(name)

    return template(name).render(values, lang=spoken_language(), t=t, w=w, by=by)


def language_of(query: str, cookie: str, accepted: str, wanted: str = "") -> str:
    """Return the language: of the address, an earlier choice, the setting, or the browser."""
    for candidate in (query, cookie, wanted):
        if candidate[:2].lower() in LANGUAGES:
            return candidate[:2].lower()
    for part in accepted[:1000].split(","):
        short = part.strip()[:2].lower()
        if short in LANGUAGES:
            return short
    return "en"


def for_scripts(language: str) -> Mapping[str, str]:
    """Return the sentences for the page's scripts, by code without `js.`."""
    own = sentences_of(SECTION, language)
    lacking = {
        code: text
        for code, text in sentences_of(SECTION, "en").items()
        if code.removesuffix(" one") not in own
    }
    found = {**lacking, **own}
    return {code[len(SCRIPT) :]: text for code, text in found.items() if code.startswith(SCRIPT)}


class FaultShape(TypedDict):
    """A fault that an answer can have."""

    name: str
    title: str
    host: str


def fault(found: Fault) -> FaultShape:
    """Return a fault with its name, its title, and the reaction of a good host."""
    title, host = (say("fault", code) for code in (found.value, f"{found.value}.host"))
    return {"name": found.value, "title": title, "host": host}


MOST: Final = 20
"""The maximum number of images and audio clips of one message that are shown."""
LARGEST: Final = 16 * 1024 * 1024
"""The maximum length of a message in which they are searched, in characters."""
_HEAD: Final = 24
_BYTES: Final = (("data",), ("blob",))
"""The members that may contain bytes."""


class Medium(NamedTuple):
    """An image or audio clip: its type, and its bytes in base64."""

    mime: str
    data: str

    @property
    def is_picture(self) -> bool:
        """True for an image."""
        return self.mime.startswith("image/")

    @property
    def size(self) -> int:
        """The number of bytes: four characters encode three bytes."""
        return len(self.data.rstrip("=")) * 3 // 4

    def decoded(self) -> bytes:
        """Return the bytes; b"" if the text is not base64."""
        try:
            return base64.b64decode(self.data, validate=True)
        except (binascii.Error, ValueError):
            return b""


def media_in(line: str) -> tuple[Medium, ...]:
    """List the pictures and sounds of a message, in its order."""
    if len(line) > LARGEST or has_many_values(line) or not ('"data"' in line or '"blob"' in line):
        return ()
    try:
        every = leaves(json.loads(line, parse_int=str))  # converting a long number is slow
        found = [text for path, text in every if path[-1:] in _BYTES and isinstance(text, str)]
    except (ValueError, RecursionError):
        return ()
    typed = ((_mime_of(data), data) for data in found)
    return tuple(Medium(mime, data) for mime, data in typed if mime)[:MOST]


def _mime_of(data: str) -> str:
    """Return the type of base64 data by its first bytes; "" for a type that is not shown."""
    try:
        return mime_of(binascii.a2b_base64(data[:_HEAD], strict_mode=True))
    except (binascii.Error, ValueError):
        return ""


LONGEST: Final = 8_000
"""The maximum length of one text on the page; the raw message has the rest."""


class WrittenNumber(str):
    """A number as written: 9007199254740993 and 1.0 keep their form."""

    __slots__ = ()


class Shown(NamedTuple):
    """A text without control characters. `cut` counts the characters that are not shown."""

    text: str
    cut: int = 0


def decoded(text: str) -> Any:  # noqa: ANN401 - any JSON value
    """Decode a JSON text; one that is nested too deeply for a message stays as written.

    The server takes no such line, but another program may have written it into the inbox.
    """
    if deeper_than(text, DEEPEST_INCOMING):
        return WrittenNumber(text)
    return json.loads(
        text, parse_int=WrittenNumber, parse_float=WrittenNumber, parse_constant=WrittenNumber
    )


def is_text(value: object) -> TypeGuard[str]:
    return isinstance(value, str) and not isinstance(value, WrittenNumber)


def shown(text: str) -> Shown:
    """Return a text of several lines without control characters."""
    return Shown(visible(text[:LONGEST]), max(0, len(text) - LONGEST))


def written(value: Any) -> str:  # noqa: ANN401 - any JSON value
    """Return a decoded value on one line."""
    match value:
        case WrittenNumber():
            return str(value)
        case dict():
            inner = (f"{written(name)}: {written(one)}" for name, one in value.items())
            return f"{{{', '.join(inner)}}}"
        case list():
            return f"[{', '.join(map(written, value))}]"
        case _:
            return json.dumps(value, ensure_ascii=False)
