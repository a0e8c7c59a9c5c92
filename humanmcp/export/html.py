"""The session as one page that opens anywhere: no script, nothing fetched, with explanations."""

from __future__ import annotations

import html
from importlib import resources
from typing import TYPE_CHECKING, Final

from humanmcp.answering.summary import GIST, LineKind
from humanmcp.common.timestamps import log_time
from humanmcp.export.conversation import ANSWERING, ASKING, build_conversation
from humanmcp.export.markdown import ROOM, note, sender
from humanmcp.locales import describe, say, spoken_language
from humanmcp.protocol.conversation.transcript import Direction
from humanmcp.protocol.diagnostics.kinds import title_of
from humanmcp.protocol.json.jsonrpc import one_line, visible
from humanmcp.protocol.json.tree import pretty

if TYPE_CHECKING:
    from collections.abc import Iterator

    from humanmcp.export.conversation import Conversation, Entry
    from humanmcp.export.reading import ExportOptions, Recording

_POLICY: Final = (
    "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
)

KINDS: Final = ASKING | ANSWERING | {LineKind.BATCH, LineKind.BROKEN}
"""The kinds of lines that have a name of their own beside what they say."""


def write(recording: Recording, options: ExportOptions) -> str:
    """Write the page."""
    return "\n".join(_page(build_conversation(recording), options)) + "\n"


def _page(conversation: Conversation, options: ExportOptions) -> Iterator[str]:
    title = _safe(_title(conversation))
    yield "<!doctype html>"
    yield f'<html lang="{spoken_language()}">'
    yield '<head><meta charset="utf-8">'
    yield f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">'
    yield '<meta name="viewport" content="width=device-width, initial-scale=1">'
    yield f"<title>{title}</title>"
    style = resources.files("humanmcp.export").joinpath("html.css").read_text("utf-8")
    yield f"<style>\n{style}</style></head>"
    yield f"<body><h1>{title}</h1>"
    yield from _facts(conversation, options)
    yield f"<p>{_safe(say(ROOM, 'how-to-read'))}</p>"
    for entry in conversation.entries:
        if entry.kind is not LineKind.BLANK:
            yield from _entry(entry, options)
    yield "</body></html>"


def _facts(conversation: Conversation, options: ExportOptions) -> Iterator[str]:
    server = f"{conversation.server} {conversation.server_version}".strip()
    count = str(sum(1 for entry in conversation.entries if entry.message))
    found = sum(len(entry.hints) for entry in conversation.entries)
    began = log_time(conversation.entries[0].frame.at, options.zone) if conversation.entries else ""
    facts = (
        ("session", conversation.name),
        ("began", began.partition(".")[0]),
        ("client", conversation.client),
        ("server", server),
        ("spoken", conversation.version),
        ("messages", count),
        ("found", str(found) if found else ""),
    )
    yield "<dl>"
    for code, value in facts:
        if value:
            yield f"<dt>{_safe(say(ROOM, code))}</dt><dd>{_safe(value)}</dd>"
    yield "</dl>"


def _entry(entry: Entry, options: ExportOptions) -> Iterator[str]:
    side = {Direction.IN: "in", Direction.OUT: "out"}.get(entry.frame.direction, "aside")
    time = _safe(log_time(entry.frame.at, options.zone).partition(" ")[2])
    noted = note(entry)
    mark = f' <span class="mark">{_safe(noted)}</span>' if noted else ""
    diagnostics = f' <span class="mark">&#9888; {len(entry.hints)}</span>' if entry.hints else ""
    yield f'<details class="{side} {entry.kind.value}" id="line-{entry.frame.seq}">'
    yield (
        f"<summary><small>{entry.frame.seq} &middot; {time} &middot; "
        f"{_safe(sender(entry))}</small>{_what(entry)}{mark}{diagnostics}"
        f"{_gist(entry)}</summary>"
    )
    yield "<div>"
    yield from _explained(entry)
    for diagnostic in entry.hints:
        title, level = _safe(title_of(diagnostic.code)), diagnostic.severity.value
        said = _safe(describe(diagnostic))
        yield f'<p class="problem level-{level}"><b>{title}</b> {said}</p>'
    if entry.observed and entry.observed.request and entry.kind in ANSWERING:
        answers = say(ROOM, "answers", method=entry.method, name=entry.name)
        yield f"<p>{_safe(answers)}</p>"
    text = entry.frame.text
    if text.strip():
        laid_out = pretty(text) if entry.message or entry.kind is LineKind.BATCH else text
        yield f"<pre>{_safe(laid_out)}</pre>"
    yield "</div></details>"


def _title(conversation: Conversation) -> str:
    """Name the two who speak, where both have said their names."""
    if conversation.client and conversation.server:
        server = f"{conversation.server} {conversation.server_version}".strip()
        return say(ROOM, "between", client=conversation.client, server=server)
    return say(ROOM, "title", name=conversation.name)


def _what(entry: Entry) -> str:
    """Show the kind of a message and what it is about, apart from what it holds."""
    if entry.kind not in KINDS:
        return ""
    kind = f'<span class="kind">{_safe(say(ROOM, f"kind {entry.kind.value}"))}</span>'
    about = " ".join(part for part in (entry.method, entry.name) if part)
    return f"{kind}<b>{_safe(one_line(about, GIST))}</b>" if about else kind


def _gist(entry: Entry) -> str:
    gist = entry.gist if entry.frame.direction is not Direction.NOTE else ""
    return f"<code>{_safe(gist)}</code>" if gist else ""


def _explained(entry: Entry) -> Iterator[str]:
    if entry.kind not in ASKING:
        return
    card = entry.card()
    yield f"<p><b>{_safe(card.title)}.</b> {_safe(card.what)} {_safe(card.sender)}</p>"
    if card.note:
        yield f"<p>{_safe(card.note)}</p>"
    page = _safe(say(ROOM, "page"))
    yield f'<p><a href="{html.escape(card.page)}" rel="noreferrer">{page}</a></p>'


def _safe(text: str) -> str:
    return html.escape(visible(text))
