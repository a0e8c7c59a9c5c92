"""The session as one page that opens anywhere: no script, nothing fetched, with explanations."""

from __future__ import annotations

import html
from importlib import resources
from typing import TYPE_CHECKING, Final

from humanmcp.answering.summary import GIST
from humanmcp.common.timestamps import log_time
from humanmcp.export.conversation import tell
from humanmcp.export.markdown import ROOM, note, sender
from humanmcp.locales import problem, say
from humanmcp.locales.explain import explain
from humanmcp.protocol.conversation.transcript import Direction
from humanmcp.protocol.json.escaping import one_line, visible
from humanmcp.protocol.json.layout import pretty

if TYPE_CHECKING:
    from collections.abc import Iterator

    from humanmcp.export.conversation import Conversation, Entry
    from humanmcp.export.reading import ExportOptions, Recording

_POLICY: Final = (
    "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
)

KINDS: Final = ("request", "notification", "result", "error", "batch", "broken")
"""The kinds of lines that have a name of their own beside what they say."""


def write(recording: Recording, manner: ExportOptions) -> str:
    """Write the page."""
    return "\n".join(_page(tell(recording), manner)) + "\n"


def _page(story: Conversation, manner: ExportOptions) -> Iterator[str]:
    language = manner.language
    title = _safe(_title(story, language))
    yield "<!doctype html>"
    yield f'<html lang="{language}">'
    yield '<head><meta charset="utf-8">'
    yield f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">'
    yield '<meta name="viewport" content="width=device-width, initial-scale=1">'
    yield f"<title>{title}</title>"
    style = resources.files("humanmcp.export").joinpath("html.css").read_text("utf-8")
    yield f"<style>\n{style}</style></head>"
    yield f"<body><h1>{title}</h1>"
    yield from _facts(story, manner)
    yield f"<p>{_safe(say(ROOM, 'how-to-read', language))}</p>"
    for turn in story.turns:
        if turn.kind != "blank":
            yield from _turn(turn, manner)
    yield "</body></html>"


def _facts(story: Conversation, manner: ExportOptions) -> Iterator[str]:
    language = manner.language
    server = f"{story.server} {story.server_version}".strip()
    count = str(sum(1 for turn in story.turns if turn.message))
    found = sum(len(turn.hints) for turn in story.turns)
    began = log_time(story.turns[0].frame.at, manner.zone) if story.turns else ""
    facts = (
        ("session", story.name),
        ("began", began.partition(".")[0]),
        ("client", story.client),
        ("server", server),
        ("spoken", story.revision),
        ("messages", count),
        ("found", str(found) if found else ""),
    )
    yield "<dl>"
    for code, value in facts:
        if value:
            yield f"<dt>{_safe(say(ROOM, code, language))}</dt><dd>{_safe(value)}</dd>"
    yield "</dl>"


def _turn(turn: Entry, manner: ExportOptions) -> Iterator[str]:
    language = manner.language
    side = {Direction.IN: "in", Direction.OUT: "out"}.get(turn.frame.way, "aside")
    time = _safe(log_time(turn.frame.at, manner.zone).partition(" ")[2])
    told = note(turn, language)
    mark = f' <span class="mark">{_safe(told)}</span>' if told else ""
    problems = f' <span class="mark">&#9888; {len(turn.hints)}</span>' if turn.hints else ""
    yield f'<details class="{side} {turn.kind}" id="line-{turn.frame.seq}">'
    yield (
        f"<summary><small>{turn.frame.seq} &middot; {time} &middot; "
        f"{_safe(sender(turn, language))}</small>{_what(turn, language)}{mark}{problems}"
        f"{_gist(turn)}</summary>"
    )
    yield "<div>"
    yield from _explained(turn, language)
    for found in turn.hints:
        yield (
            f'<p class="problem level-{found.level.value}"><b>{_safe(found.code)}</b> '
            f"{_safe(problem(found, language))}</p>"
        )
    if turn.heard and turn.heard.asked and turn.kind in ("result", "error"):
        yield f"<p>{_safe(say(ROOM, 'answers', language, method=turn.method, name=turn.name))}</p>"
    text = turn.frame.text
    if text.strip():
        laid_out = pretty(text) if turn.message or turn.kind == "batch" else text
        yield f"<pre>{_safe(laid_out)}</pre>"
    yield "</div></details>"


def _title(story: Conversation, language: str) -> str:
    """Name the two who speak, where both have said their names."""
    if story.client and story.server:
        server = f"{story.server} {story.server_version}".strip()
        return say(ROOM, "between", language, client=story.client, server=server)
    return say(ROOM, "title", language, name=story.name)


def _what(turn: Entry, language: str) -> str:
    """Show the kind of a message and what it is about, apart from what it holds."""
    if turn.kind not in KINDS:
        return ""
    kind = f'<span class="kind">{_safe(say(ROOM, f"kind {turn.kind}", language))}</span>'
    about = " ".join(part for part in (turn.method, turn.name) if part)
    return f"{kind}<b>{_safe(one_line(about, GIST))}</b>" if about else kind


def _gist(turn: Entry) -> str:
    gist = turn.gist if turn.frame.way is not Direction.NOTE else ""
    return f"<code>{_safe(gist)}</code>" if gist else ""


def _explained(turn: Entry, language: str) -> Iterator[str]:
    if turn.kind not in ("request", "notification"):
        return
    card = explain(
        turn.method,
        turn.revision,
        language,
        asks=turn.kind == "request",
        seat="reader",
        inwards=turn.frame.way is Direction.IN,
    )
    yield f"<p><b>{_safe(card.title)}.</b> {_safe(card.what)} {_safe(card.sender)}</p>"
    if card.note:
        yield f"<p>{_safe(card.note)}</p>"
    page = _safe(say(ROOM, "page", language))
    yield f'<p><a href="{html.escape(card.page)}" rel="noreferrer">{page}</a></p>'


def _safe(text: str) -> str:
    return html.escape(visible(text))
