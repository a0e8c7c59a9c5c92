"""The session for people to read: line by line, as a document, a diagram, or a page."""

from __future__ import annotations

import html
import json
import re
import unicodedata
from importlib import resources
from typing import TYPE_CHECKING, Final

from humanmcp.answering.alone import count_problems
from humanmcp.answering.summary import GIST, LineKind, author_of
from humanmcp.common.timestamps import log_time
from humanmcp.common.web_folder import palette, web_folder
from humanmcp.export import timeline
from humanmcp.export.recording import (
    ANSWERING,
    ASKING,
    NOTED,
    PROMPTING,
    build_conversation,
    problems_in,
)
from humanmcp.locales import describe, say, spoken_language, who
from humanmcp.protocol.conversation.transcript import (
    BY_CHECK,
    CHANGED,
    COMMAND,
    DROPPED,
    HELD,
    INSTEAD,
    LET_GO,
    PLACE,
    SAID_AGAIN,
    Direction,
    is_of_prompt,
    to_json,
)
from humanmcp.protocol.diagnostics.kinds import title_of
from humanmcp.protocol.http.client import part_in_words
from humanmcp.protocol.json.tree import pretty
from humanmcp.protocol.json.visible import one_line, visible
from humanmcp.protocol.validation.captures import write_log_line

if TYPE_CHECKING:
    from collections.abc import Iterator

    from humanmcp.export.recording import (
        ExportOptions,
        RecordedConversation,
        RecordedEntry,
        Recording,
    )
    from humanmcp.protocol.conversation.transcript import Frame


# -- line by line: as the transcript, as a text log, and as that log laid out --------------------


_FURTHER: Final = "  "
"""Precedes each further line of a message."""


def write_transcript(recording: Recording, options: ExportOptions) -> str:  # noqa: ARG001 - every format takes it
    """Write a frame a line: the form that loses nothing."""
    text = "".join(f"{to_json(frame)}\n" for frame in recording.frames)
    # UTF-8 cannot hold lone surrogates: they become JSON escapes.
    return text.encode("utf-8", "backslashreplace").decode()


def write_decisions(recording: Recording, options: ExportOptions) -> str:  # noqa: ARG001 - every format takes it
    """Write each decision of a person on a line."""
    return "".join(f"{one.decision}\n" for one in recording.frames if one.decision)


def write_log(recording: Recording, options: ExportOptions) -> str:
    """Write `[time] IN: {…}` for each line of the wire and of stderr, in order."""
    lines = (write_log_line(one, log_time(one.at, options.zone)) for one in recording.frames)
    return "".join(f"{line}\n" for line in lines if line is not None)


def write_laid_out(recording: Recording, options: ExportOptions) -> str:
    """Write the log with every message over several lines."""
    return "".join(f"{line}\n" for frame in recording.frames for line in _lines(frame, options))


def _lines(frame: Frame, options: ExportOptions) -> Iterator[str]:
    if frame.direction is Direction.NOTE and not frame.at:  # a line of a text log that was no entry
        yield frame.remark
        return
    line = write_log_line(frame, log_time(frame.at, options.zone))
    if line is None:
        return
    if frame.direction is Direction.ERR or not _is_json(frame.text):
        yield line
        return
    start = line.index(": ") + 2
    first, *further = pretty(line[start:]).split("\n")
    yield line[:start] + first
    yield from (_FURTHER + each for each in further)


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


# -- Markdown: a table of the messages, then each of them ----------------------------------------


SECTION = "transcript"

TAP_NOTES = frozenset({HELD, LET_GO, CHANGED, DROPPED, INSTEAD, SAID_AGAIN})
"""The notes of a tap that have a sentence."""


def write_markdown(recording: Recording, options: ExportOptions) -> str:
    return "\n".join(_document(_judged(recording), options)) + "\n"


def _document(conversation: RecordedConversation, options: ExportOptions) -> Iterator[str]:
    agent = " prompts" if conversation.is_of_agent else ""
    yield f"# {markdown_cell(say(SECTION, f'title{agent}', name=conversation.name))}\n"
    both = (("client", conversation.client), ("server", conversation.server_in_words))
    for code, value in (*both, ("spoken", conversation.version)):
        if value:
            yield f"- {say(SECTION, code)}: {markdown_cell(value)}"
    heads = ("number", "time", "from", "message")
    yield "\n| " + " | ".join(say(SECTION, head) for head in heads) + " |"
    yield "| ---: | --- | --- | --- |"
    entries = [entry for entry in conversation.entries if entry.kind is not LineKind.BLANK]
    for entry in entries:
        time = log_time(entry.frame.at, options.zone)
        cells = (str(entry.frame.seq), time, sender(entry), words(entry))
        yield "| " + " | ".join(markdown_cell(cell) for cell in cells) + " |"
    for entry in entries:
        if entry.frame.by != BY_CHECK or entry.frame.note == COMMAND:  # else the table has it all
            yield from _section(entry)


_SENDERS: Final = {Direction.IN: "client", Direction.OUT: "server", Direction.NOTE: "note"}


def sender(entry: RecordedEntry) -> str:
    """Return who sent a line: the client, the server, an agent, or a person."""
    if entry.kind in PROMPTING:
        return who(author_of(entry.frame)) or say(SECTION, "agent")
    code = _SENDERS.get(entry.frame.direction)
    role = say(SECTION, code) if code else "stderr"
    return f"{role} ({entry.frame.by})" if entry.frame.by else role


def note(entry: RecordedEntry) -> str:
    """Describe what happened to a line on its way, or return ""."""
    if entry.frame.note in TAP_NOTES:
        return say(SECTION, entry.frame.note)
    if entry.frame.decision and entry.kind is LineKind.NOTE:
        return entry.gist
    if is_of_prompt(entry.frame):
        return ""
    if entry.frame.note.startswith(PLACE) and entry.kind is not LineKind.NOTE:
        return ""
    return part_in_words(entry.frame) or entry.frame.remark


def words(entry: RecordedEntry) -> str:
    """Return what a line is and what it contains, for a row of a table."""
    return entry.words if entry.frame.direction is not Direction.NOTE else note(entry)


def _section(entry: RecordedEntry) -> Iterator[str]:
    yield f"\n## {entry.frame.seq}. {markdown_cell(entry.method or entry.kind.value)}"
    if entry.kind in ASKING:
        card = entry.card()
        yield f"\n{markdown_cell(card.what)} ([{say(SECTION, 'page')}]({card.page}))"
    for diagnostic in entry.hints:
        yield f"\n- **{title_of(diagnostic.code)}** {markdown_cell(describe(diagnostic))}"
    text = entry.frame.text
    if text.strip():
        yield ""
        yield from fenced(pretty(text) if entry.message or entry.kind is LineKind.BATCH else text)
    if noted := note(entry):
        yield f"\n*{markdown_cell(noted)}*"


def fenced(text: str) -> Iterator[str]:
    """Fence a text with more backticks than it contains in a row."""
    longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    yield f"{fence}json"
    yield visible(text)
    yield fence


def defused(text: str) -> str:
    """Put an apostrophe before a text that a spreadsheet would take for a formula.

    OWASP, CSV injection: also after quotes, spaces and invisible marks, and in full width.
    """
    if text[:1] in ("\t", "\r"):
        return f"'{text}"
    seen = (one for one in text if one not in "\"'" and unicodedata.category(one)[0] not in "CZ")
    first = unicodedata.normalize("NFKC", next(seen, ""))
    return f"'{text}" if first[:1] in {*"=+-@"} else text


def markdown_cell(text: str) -> str:
    """Escape a text for a cell of a Markdown table."""
    shown = defused(one_line(text))
    return re.sub(r"([\\`*_\[\]<>|~&])", r"\\\1", shown)


# -- Mermaid: a sequence diagram, one arrow a message --------------------------------------------


_LONGEST: Final = 60
_ARROWS: Final = {
    LineKind.REQUEST: "->>",
    LineKind.NOTIFICATION: "-)",
    LineKind.RESULT: "-->>",
    LineKind.ERROR: "--x",
    LineKind.BATCH: "->>",
    LineKind.MALFORMED: "-x",
    **dict.fromkeys((LineKind.PROMPT, LineKind.STEP), "->>"),
    **dict.fromkeys((LineKind.DECISION, LineKind.STEP_ANSWER), "-->>"),
}


def write_mermaid(recording: Recording, options: ExportOptions) -> str:  # noqa: ARG001 - every format takes it
    """Write the diagram. It can be pasted into Markdown between ```mermaid and ```."""
    return "\n".join(_diagram(build_conversation(recording))) + "\n"


def _diagram(conversation: RecordedConversation) -> Iterator[str]:
    yield "sequenceDiagram"
    agent = conversation.is_of_agent
    yield f"  participant C as {_label(conversation.client or ('agent' if agent else 'client'))}"
    person = any(entry.frame.note in (HELD, CHANGED, INSTEAD) for entry in conversation.entries)
    if person:
        yield "  participant P as tap"
    yield f"  participant S as {_label(conversation.server or ('person' if agent else 'server'))}"
    for entry in conversation.entries:
        if entry.kind in _ARROWS:
            start, end = _ends(entry)
            said = (entry.gist or entry.kind.value) if entry.kind in ANSWERING else entry.words
            yield f"  {start}{_ARROWS[entry.kind]}{end}: {_label(said)}"
        elif entry.kind is LineKind.NOTE and _is_told(entry.frame):
            yield f"  Note over C,S: {_label(note(entry))}"


def _is_told(frame: Frame) -> bool:
    """Return True for a note that says something itself, rather than its data."""
    return bool(frame.note) and (not frame.raw or frame.note.startswith(PLACE))


def _ends(entry: RecordedEntry) -> tuple[str, str]:
    """Return both ends of an arrow. A held message reached only the tap."""
    start, end = ("C", "S") if entry.frame.direction is Direction.IN else ("S", "C")
    if entry.frame.note == HELD:
        return start, "P"
    return ("P", end) if entry.frame.note in (CHANGED, INSTEAD) else (start, end)


def _label(text: str) -> str:
    """Escape a text so that Mermaid reads no syntax in it."""
    shown = one_line(text, _LONGEST)
    return re.sub(
        r"[^\w .,/:!?'(){}\[\]=+*-]|\bend\b",
        lambda found: "".join(f"#{ord(character)};" for character in found[0]),
        shown,
    )


# -- HTML: one page that opens anywhere, without scripts, with explanations ----------------------


_POLICY: Final = (
    "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
)

KINDS: Final = frozenset(LineKind) - {LineKind.BLANK, LineKind.NOTE, LineKind.STDERR}
"""The kinds of lines whose name is shown."""


def write_html(recording: Recording, options: ExportOptions) -> str:
    return "\n".join(_page(_judged(recording), options)) + "\n"


def _page(conversation: RecordedConversation, options: ExportOptions) -> Iterator[str]:
    title = _safe(_title(conversation))
    yield "<!doctype html>"
    yield f'<html lang="{spoken_language()}">'
    yield '<head><meta charset="utf-8">'
    yield f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">'
    yield '<meta name="viewport" content="width=device-width, initial-scale=1">'
    yield f"<title>{title}</title>"
    own = resources.files("humanmcp.export").joinpath("html.css").read_text("utf-8")
    of_plots = (web_folder() / "static" / "timeline.css").read_text("utf-8")
    yield f"<style>\n{palette()}\n{own}{of_plots}</style></head>"
    yield f"<body><main><h1>{title}</h1>"
    yield from _facts(conversation, options)
    yield from _plots(conversation)
    agent = " prompts" if conversation.is_of_agent else ""
    yield f"<p>{_safe(say(SECTION, f'how-to-read{agent}'))}</p>"
    for entry in conversation.entries:
        if entry.kind is not LineKind.BLANK:
            yield from _details(entry, options)
    yield "</main></body></html>"


def _plots(conversation: RecordedConversation) -> Iterator[str]:
    """Yield the time line and the latencies, each folded; nothing without a request."""
    found = timeline.bars(conversation)
    plots = (
        ("timeline", timeline.draw(found, "#line-{seq}")),
        ("latency", timeline.draw_latencies(timeline.latencies(found))),
    )
    for code, lines in plots if found else ():
        yield f'<details class="plot" open><summary>{_safe(say(SECTION, code))}</summary><div>'
        yield from lines
        yield "</div></details>"


def _judged(recording: Recording) -> RecordedConversation:
    return build_conversation(recording, problems=problems_in(recording))


def _facts(conversation: RecordedConversation, options: ExportOptions) -> Iterator[str]:
    count = str(sum(1 for entry in conversation.entries if entry.message))
    found = [each for entry in conversation.entries for each in entry.hints]
    began = log_time(conversation.entries[0].frame.at, options.zone) if conversation.entries else ""
    facts = (
        ("session", conversation.name),
        ("began", began.partition(".")[0]),
        ("client", conversation.client),
        ("server", conversation.server_in_words),
        ("spoken", conversation.version),
        ("messages", count),
        ("found", count_problems(found)),
    )
    yield "<dl>"
    for code, value in facts:
        if value:
            yield f"<dt>{_safe(say(SECTION, code))}</dt><dd>{_safe(value)}</dd>"
    yield "</dl>"


def _details(entry: RecordedEntry, options: ExportOptions) -> Iterator[str]:
    side = {Direction.IN: "in", Direction.OUT: "out"}.get(entry.frame.direction, "aside")
    time = _safe(log_time(entry.frame.at, options.zone).partition(" ")[2])
    noted = note(entry)
    mark = f' <span class="mark">{_safe(noted)}</span>' if noted else ""
    diagnostics = f' <span class="mark">&#9888; {len(entry.hints)}</span>' if entry.hints else ""
    place = "" if entry.frame.note.startswith(NOTED) else f' id="line-{entry.frame.seq}"'
    yield f'<details class="{side} {entry.kind.value}"{place}>'
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
        answers = say(SECTION, "answers", method=entry.method, name=entry.name)
        yield f"<p>{_safe(answers)}</p>"
    text = entry.frame.text
    if text.strip():
        laid_out = pretty(text) if entry.message or entry.kind is LineKind.BATCH else text
        yield f"<pre>{_safe(laid_out)}</pre>"
    yield "</div></details>"


def _title(conversation: RecordedConversation) -> str:
    """Name client and server if both are known, else the session."""
    if conversation.client and conversation.server:
        both = {"client": conversation.client, "server": conversation.server_in_words}
        return say(SECTION, "between", **both)
    agent = " prompts" if conversation.is_of_agent else ""
    return say(SECTION, f"title{agent}", name=conversation.name)


def _what(entry: RecordedEntry) -> str:
    """Show the kind of a message, its method and name."""
    if entry.kind not in KINDS:
        return ""
    kind = f'<span class="kind">{_safe(say(SECTION, f"kind {entry.kind.value}"))}</span>'
    about = " ".join(part for part in (entry.method, entry.name) if part)
    return f"{kind}<b>{_safe(one_line(about, GIST))}</b>" if about else kind


def _gist(entry: RecordedEntry) -> str:
    gist = entry.gist if entry.frame.direction is not Direction.NOTE else ""
    return f"<code>{_safe(gist)}</code>" if gist else ""


def _explained(entry: RecordedEntry) -> Iterator[str]:
    if entry.kind not in ASKING:
        return
    card = entry.card()
    yield f"<p><b>{_safe(card.title)}.</b> {_safe(card.what)} {_safe(card.sender)}</p>"
    if card.note:
        yield f"<p>{_safe(card.note)}</p>"
    page = _safe(say(SECTION, "page"))
    yield f'<p><a href="{html.escape(card.page)}" rel="noreferrer">{page}</a></p>'


def _safe(text: str) -> str:
    return html.escape(visible(text))
