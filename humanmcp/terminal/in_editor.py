"""Answer in the person's own editor: open, check, and open again until it may go."""

from __future__ import annotations

import contextlib
import json
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Final

from humanmcp.answering import service
from humanmcp.answering.service import Outcome, SendResult
from humanmcp.common.settings import make_private
from humanmcp.common.terminal import to_stderr
from humanmcp.inbox.contract import Draft
from humanmcp.locales.stop import stopped
from humanmcp.protocol.diagnostics.model import TextForm
from humanmcp.protocol.json.jsonrpc import one_line
from humanmcp.protocol.json.tree import pretty
from humanmcp.terminal.cases import explained, summary
from humanmcp.terminal.inbox import request_in_short
from humanmcp.terminal.replying import BY, Answering, not_sent, submit, tell

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from humanmcp.protocol.diagnostics.model import Diagnostic

MARK: Final = "//"
FOLDER: Final = "editing"
"""The folder of the home that holds the text while an editor is open."""
AT_ONCE: Final = 0.7
"""An editor that is back within these seconds, the text unchanged, did not wait for the person."""

_FALLBACKS: Final = ("notepad",) if os.name == "nt" else ("editor", "vi", "nano")


def command(environment: Mapping[str, str] = os.environ) -> list[str]:
    """Return the words of the editor's command: $VISUAL, $EDITOR, else what is installed.

    Raises:
        StopError: there is none.
    """
    for name in ("VISUAL", "EDITOR"):
        wanted = environment.get(name, "").strip()
        if wanted:
            return shlex.split(wanted, posix=os.name != "nt")
    for name in _FALLBACKS:
        found = shutil.which(name)
        if found:
            return [found]
    raise stopped("answer", "no editor")


def edit(text: str, comments: Sequence[str], home: Path, name: str) -> tuple[str, float]:
    """Let the person edit a text below comments. Returns it without them, and the seconds it took.

    `name` becomes a part of the file's name: it must be our own, never the peer's.

    Raises:
        StopError: there is no editor or no terminal, or the editor failed.
    """
    if not sys.stdin.isatty():
        raise stopped("answer", "no terminal")
    words = command()
    folder = make_private(make_private(home) / FOLDER)
    number, path = tempfile.mkstemp(prefix=f"{name}-", suffix=".json", dir=folder)
    file = Path(path)
    try:
        with os.fdopen(number, "w", encoding="utf-8", newline="\n") as stream:
            stream.write(with_comments(text, comments))
        began = time.monotonic()
        _run([*words, path])
        took = time.monotonic() - began
        # `utf-8-sig`: some editors add a byte-order mark.
        return without_comments(file.read_text(encoding="utf-8-sig", errors="replace")), took
    finally:
        with contextlib.suppress(OSError):
            file.unlink()


def with_comments(text: str, comments: Sequence[str]) -> str:
    """Return the text below its comments, one a line, with a line feed at the end."""
    top = "".join(f"{MARK} {line}".rstrip() + "\n" for line in comments)
    return top + text.rstrip("\n") + "\n"


def without_comments(text: str) -> str:
    """Take the block of comments off the top. A `//` anywhere below it is the person's own."""
    lines = text.split("\n")
    at = 0
    while at < len(lines) and lines[at].lstrip().startswith(MARK):
        at += 1
    return "\n".join(lines[at:])


def same(one: str, other: str) -> bool:
    """Return True if two texts differ in nothing but line ends and the space around them."""
    return one.replace("\r\n", "\n").strip() == other.replace("\r\n", "\n").strip()


def _run(words: Sequence[str]) -> None:
    try:
        ended = subprocess.run(words, check=False)  # noqa: S603 - the person's own choice of editor
    except OSError as error:
        raise stopped("answer", "editor missing", command=words[0]) from error
    if ended.returncode:
        raise stopped("answer", "editor failed", command=words[0], status=ended.returncode)


_JSON_FORMS: Final = frozenset({TextForm.MESSAGE, TextForm.RESULT, TextForm.ERROR})


def in_editor(answering: Answering, draft: Draft, home: Path, *, anyway: bool) -> int:
    """Open the editor until the text may go, or the person gives up. Returns the exit status."""
    edited = _laid_out(draft)
    before = answering.opened.item.draft
    diagnostics = answering.opened.item.diagnostics
    touched = before is not None and before.touched
    service.keep(answering.opened, draft._replace(touched=touched, hold=True, by=BY))
    while True:
        comments = _comments(answering, diagnostics)
        name = f"answer-{answering.opened.key.number}"
        try:
            written, took = edit(edited.text, comments, home, name)
        except BaseException:  # Ctrl-C too: the book must not stay held by an editor that is gone
            _let_go(answering, edited)
            raise
        if not written.strip() or same(written, edited.text):
            return _never_mind(answering, edited, took, emptied=not written.strip())
        edited = edited._replace(text=written)
        result = submit(answering, edited, anyway=anyway)
        diagnostics = result.diagnostics
        if result.outcome is Outcome.BLOCKED:
            continue  # the editor opens again with what is wrong at the top
        status = tell(answering, edited, result)
        if result.outcome is not Outcome.REFUSED:
            return status


def _laid_out(draft: Draft) -> Draft:
    """Lay JSON that stands on one line out over several; leave the person's own lines alone."""
    if draft.form not in _JSON_FORMS or "\n" in draft.text.strip():
        return draft
    try:
        json.loads(draft.text)
    except (ValueError, RecursionError):
        return draft
    return draft._replace(text=pretty(draft.text))


def _never_mind(answering: Answering, draft: Draft, took: float, *, emptied: bool) -> int:
    """Stop without sending. The draft stays as it was, and the book may go on counting."""
    _let_go(answering, draft)
    if not emptied and took < AT_ONCE:
        to_stderr(answering.sentence("at once"))
    why = answering.sentence("emptied" if emptied else "unchanged", name=answering.name)
    return not_sent(answering, why, SendResult(Outcome.BLOCKED, answering.opened.item))


def _let_go(answering: Answering, edited: Draft) -> None:
    """Keep the text as the draft, and let the answer book go on counting."""
    draft = answering.opened.inbox.item(answering.opened.key).draft
    touched = draft is not None and draft.touched
    service.keep(answering.opened, Draft(edited.text, edited.form, touched, by=BY))


def _comments(answering: Answering, diagnostics: Sequence[Diagnostic]) -> list[str]:
    """Write what stands above the text: what is asked, what to do, and what is wrong so far.

    The problems name lines as the editor counts them: with the comments on top.
    """
    item = answering.opened.item
    card = answering.opened.card()
    lines = [
        f"humanmcp {answering.name}: {card.title} ({answering.who})",
        request_in_short(item, 160),
        card.what,
        answering.sentence("how", name=answering.name),
    ]
    if diagnostics:
        lines += ["", answering.sentence("mend", counted=summary(diagnostics))]
        shift = len(lines) + len(diagnostics)
        for diagnostic in diagnostics:
            lines.append("  " + _in_one_line(diagnostic, shift))
    return lines


def _in_one_line(diagnostic: Diagnostic, shift: int) -> str:
    """Say a problem in one comment line."""
    parts = next(explained(diagnostic, "", shift=shift))
    return one_line("".join(word if isinstance(word, str) else word.text for word in parts))
