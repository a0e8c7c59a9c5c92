"""The words of a run as a table, as JSON, JUnit, Markdown, or a page that stands alone."""

from __future__ import annotations

import html
import json
import shlex
from collections import Counter
from typing import TYPE_CHECKING, Final

from humanmcp.common.junit import Case, junit
from humanmcp.common.web_folder import palette
from humanmcp.extensions.judge.server_faults import every
from humanmcp.extensions.judge.verdicts import Verdict, Word
from humanmcp.locales import say, spoken_language
from humanmcp.protocol.json.visible import visible
from humanmcp.protocol.validation.redaction import without_secrets

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

SECTION: Final = "judge"
GRAVE: Final = (Word.SILENT, Word.BELIEVED, Word.HUNG, Word.DIED)
"""The words that a test counts as a failure."""

_STYLE: Final = """
body { background: var(--paper); color: var(--ink); font: 1rem/1.55 var(--text); }
main { max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
table { border-collapse: collapse; width: 100%; }
td, th { text-align: start; vertical-align: top; padding: .4rem .6rem; }
tr { border-top: 1px solid var(--line); }
code, pre { font-family: var(--mono); }
pre { overflow-x: auto; font-size: .8rem; margin: .5rem 0; }
summary { cursor: pointer; }
.well, .told { color: var(--good); }
.believed, .silent, .hung, .died { color: var(--bad); font-weight: 600; }
small { color: var(--soft); font-weight: normal; }
"""


def report(form: str, verdicts: Sequence[Verdict], client: Sequence[str]) -> str:
    """Return the words in one of `FORMATS`, in the language of the reader."""
    return FORMATS[form](verdicts, without_secrets(shlex.join(client)))


def summary(verdicts: Sequence[Verdict]) -> str:
    """Return how many of each word there are, in one line."""
    counts = Counter(one.word for one in verdicts)
    return ", ".join(f"{said(word)}: {counts[word]}" for word in Word if counts[word])


def said(word: Word) -> str:
    """Return a word in the language of the reader."""
    return say(SECTION, f"word {word.value}")


def is_grave(one: Verdict) -> bool:
    return one.word in GRAVE or one.broke is not None


def _what(one: Verdict) -> str:
    return every()[one.name].what()


def notes_of(one: Verdict) -> str:
    """Return what else was seen, in the language of the reader."""
    return "; ".join(say(SECTION, f"note {code}") for code in one.notes)


def _table(verdicts: Sequence[Verdict], _client: str) -> str:
    width = max((len(one.name) for one in verdicts), default=0)
    words = max((len(said(one.word)) for one in verdicts), default=0)
    lines = []
    for one in verdicts:
        lines.append(f"{said(one.word):{words}}  {one.name:{width}}  {_what(one)}")
        if is_grave(one):
            lines += [f"    {visible(line)}" for line in one.lines]
        if one.broke:
            lines.append(f"    “{one.broke[0]}” {one.broke[1]}")
        if one.notes:
            lines.append(f"    ({notes_of(one)})")
    return "\n".join(lines)


def _json(verdicts: Sequence[Verdict], client: str) -> str:
    found = [one.as_json() | {"what": _what(one)} for one in verdicts]
    return json.dumps({"client": client, "verdicts": found}, indent=1, ensure_ascii=False)


def _junit(verdicts: Sequence[Verdict], client: str) -> str:
    cases = [
        Case(
            "judge",
            one.name,
            failure=one.word if is_grave(one) else "",
            skipped=one.word if one.word is Word.UNKNOWN else "",
            text="\n".join((_what(one), *one.lines)),
            seconds=one.seconds,
        )
        for one in verdicts
    ]
    return junit(client, cases)


def _markdown(verdicts: Sequence[Verdict], client: str) -> str:
    head = [say(SECTION, name) for name in ("column what", "column word", "column seen")]
    lines = [f"`{client}`", "", f"| {' | '.join(head)} |", "| --- | --- | --- |"]
    for one in verdicts:
        seen = notes_of(one).replace("|", "\\|")
        lines.append(f"| {_what(one)} | {said(one.word)} | {seen} |")
    return "\n".join(lines)


def _html(verdicts: Sequence[Verdict], client: str) -> str:
    """Return a page; each row opens to the lines that prove its word."""
    rows = []
    for one in verdicts:
        quote, link = map(html.escape, every()[one.name].source)
        source = f'<p><small>“{quote}” <a href="{link}">{link}</a></small></p>' if quote else ""
        proof = html.escape("\n".join(map(visible, one.lines)))
        notes = f"<br><small>{html.escape(notes_of(one))}</small>" if one.notes else ""
        name = one.word.value.replace(" ", "-")
        rows.append(
            f"<tr><td><details><summary>{html.escape(_what(one))}</summary>{source}<pre>{proof}</pre>"
            f'</details></td><td class="{name}">{html.escape(said(one.word))}{notes}</td></tr>'
        )
    title = html.escape(client)
    return (
        f'<!doctype html><html lang="{spoken_language()}"><meta charset="utf-8">'
        f'<meta name="viewport" content="width=device-width"><title>{title}</title>'
        f"<style>{palette()}{_STYLE}</style><main><h1><code>{title}</code></h1>"
        f"<p>{html.escape(summary(verdicts))}</p>"
        f"<table><tr><th>{html.escape(say(SECTION, 'column what'))}</th>"
        f"<th>{html.escape(say(SECTION, 'column word'))}</th></tr>"
        f"{''.join(rows)}</table></main></html>"
    )


FORMATS: Final[Mapping[str, Callable[[Sequence[Verdict], str], str]]] = {
    "table": _table,
    "json": _json,
    "junit": _junit,
    "markdown": _markdown,
    "html": _html,
}
"""How a run can be written."""
