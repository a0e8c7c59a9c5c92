"""The session as one page that opens anywhere: no script, nothing fetched, with explanations."""

from __future__ import annotations

import html
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

_STYLE: Final = """
:root { color-scheme: light dark; --line: #8884; --in: #2563eb; --out: #15803d; --warn: #b45309;
  --bad: #b91c1c; }
body { font: 16px/1.6 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.6rem; line-height: 1.25; margin-bottom: .5rem; overflow-wrap: anywhere; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: 0 1rem; }
dt { opacity: .7; } dd { margin: 0; }
details { border: 1px solid var(--line); border-left-width: .4rem; border-radius: .3rem;
  margin: .4rem 0; }
details.in { border-left-color: var(--in); margin-right: 3rem; }
details.out { border-left-color: var(--out); margin-left: 3rem; }
details.error, details.broken { border-left-color: var(--bad); }
details.aside { margin-inline: 3rem; border-style: dashed; border-left-style: solid; }
summary { padding: .45rem .7rem; cursor: pointer; overflow-wrap: anywhere; }
summary small { opacity: .7; font-variant-numeric: tabular-nums; margin-right: .4rem; }
summary b { margin-right: .3rem; }
summary code { font-size: .85rem; opacity: .8; display: block; white-space: nowrap;
  overflow: hidden; text-overflow: ellipsis; }
.kind { display: inline-block; font-size: .75rem; line-height: 1.5; padding: 0 .45rem;
  border-radius: .7rem; color: #fff; background: #52525b; margin-right: .4rem; }
.in .kind { background: var(--in); } .out .kind { background: var(--out); }
.error .kind, .broken .kind { background: var(--bad); }
details > div { padding: 0 .7rem .7rem; }
pre { background: #8881; padding: .6rem; overflow-x: auto; white-space: pre-wrap;
  overflow-wrap: anywhere; }
.problem { border-left: .2rem solid var(--warn); padding-left: .6rem; }
.problem.level-error { border-color: var(--bad); }
.mark { color: var(--warn); }
@media print { details > div { display: block; } }
"""


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
    yield f"<style>{_STYLE}</style></head>"
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
