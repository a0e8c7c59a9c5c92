"""Answer from a terminal: on an approval card, or in the person's own editor."""

from __future__ import annotations

import contextlib
import json
import os
import select
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final, cast

from humanmcp.answering import approvals, service
from humanmcp.answering.alone import count_problems
from humanmcp.answering.approvals import ApprovalError
from humanmcp.answering.last_words import last_words
from humanmcp.answering.schema import AnsweredShape, outcome_shape
from humanmcp.answering.service import Outcome, SendResult
from humanmcp.common.person_files import typed_or_read
from humanmcp.common.settings import make_private
from humanmcp.common.terminal import (
    Painted,
    is_terminal,
    json_to_stdout,
    quoted_to_stdout,
    to_stderr,
    to_stdout,
)
from humanmcp.inbox.contract import Draft, Purpose, Reply
from humanmcp.locales import say
from humanmcp.locales.stop import REFUSED, stopped
from humanmcp.protocol.conversation.approvals import digest_of
from humanmcp.protocol.conversation.transcript import Direction
from humanmcp.protocol.diagnostics.model import TextForm
from humanmcp.protocol.json.tree import pretty
from humanmcp.protocol.json.visible import one_line, visible_code, visible_json
from humanmcp.protocol.validation import held as held_check
from humanmcp.terminal.inbox import request_in_short, standing_sentence
from humanmcp.terminal.problems import explained, print_problems

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Mapping, Sequence

    from humanmcp.answering.approvals import ApprovalCard
    from humanmcp.answering.open_exchange import OpenExchange
    from humanmcp.protocol.conversation.approvals import Approval
    from humanmcp.protocol.conversation.questions import AskedQuestion
    from humanmcp.protocol.diagnostics.model import Diagnostic


# -- send a reply, and say what became of it -----------------------------------------------------


SECTION: Final = "answer"
BY: Final = "terminal"
"""The author of what the terminal sends."""
LONGEST_WAIT: Final = 10.0
"""Seconds to wait for the process that speaks to the client."""
SEVERAL_LINES: Final = "J51"
"""The code of the repair that joins a text to one line."""


@dataclass(frozen=True, slots=True)
class Answering:
    """One exchange that is being answered, and how its outcome is printed."""

    opened: OpenExchange
    name: str
    who: str
    json: bool
    shown_at: str = ""
    """When the request was shown to be answered; "" where the answer came with the command."""
    digest: str = ""
    """The digest of what the person saw, "" where the command does not name it."""

    def reader(self, draft: Draft) -> str:
        """Return who gets this text: a held message is forwarded, an answer is returned."""
        held = self.opened.held
        if held is None:
            return self.who
        back = held_check.answers(held, draft.text, draft.form)
        to_server = (held.direction is Direction.IN) is not back
        return self.sentence("the server") if to_server else self.who

    def sentence(self, code: str, **fillings: object) -> str:
        return say(SECTION, code, **fillings)


def submit(answering: Answering, draft: Draft, *, anyway: bool) -> SendResult:
    """Send a text and wait for what becomes of it."""
    shown = answering.digest
    if answering.opened.held is not None:
        shown = shown or digest_of(answering.opened.item.line)
    reply = Reply(draft.text, draft.form, anyway, BY, shown=shown, shown_at=answering.shown_at)
    return service.send(answering.opened, reply._replace(page=draft.page), within=LONGEST_WAIT)


def tell(answering: Answering, draft: Draft, result: SendResult) -> int:
    """Print the outcome of sending a text. Returns the exit status."""
    result = _worth_a_word(result)
    match result.outcome:
        case Outcome.SENT:
            return _went_out(answering, result, draft)
        case Outcome.BLOCKED | Outcome.REFUSED:
            return refused(answering, result)
        case Outcome.QUEUED:
            return not_sent(answering, answering.sentence("not taken"), result)
        case Outcome.UNCONFIRMED:
            return not_sent(answering, answering.sentence("not confirmed"), result)
        case Outcome.STORED:
            to_stdout(answering.sentence("stored"))
            return 0
        case Outcome.TAKEN | Outcome.OVER:
            happened = standing_sentence(answering.opened.again())
            return not_sent(answering, answering.sentence("taken", happened=happened), result)


def _worth_a_word(result: SendResult) -> SendResult:
    """Remove the problem that the text had several lines: humanmcp lays out drafts so."""
    found = tuple(
        diagnostic for diagnostic in result.diagnostics if diagnostic.code != SEVERAL_LINES
    )
    return result._replace(diagnostics=found)


def _went_out(answering: Answering, result: SendResult, draft: Draft) -> int:
    size = len(result.line.encode("utf-8", "surrogatepass")) + 1
    if answering.json:
        answer = result.item.answer
        deliberate = bool(answer and answer.deliberate)
        json_to_stdout(_shape(answering, result, sent=True, deliberate=deliberate))
        return 0
    print_problems(result.diagnostics, result.text)
    if result.item.purpose is Purpose.PROMPT:  # what was decided, in the words of the list
        happened = standing_sentence(answering.opened.again())
        to_stdout(answering.sentence("decided", name=answering.name, happened=happened))
        return 0
    code = "sent parked" if result.item.waiting.parked.ticket else "sent"
    to_stdout(Painted(answering.sentence(code, who=answering.reader(draft), size=size), "green"))
    to_stdout(result.line)
    opened = answering.opened
    twins = service.await_result(
        lambda: service.ended_twins(opened.inbox, result.item) or None,
        service.SETTLES_WITHIN if opened.has_twin else 0.0,
    )
    for twin in twins or ():
        name = f"{opened.facts.letter}/{twin.key.number}"
        to_stdout(Painted(answering.sentence("twin", name=name), "yellow"))
    return 0


def _shape(answering: Answering, result: SendResult, **more: object) -> AnsweredShape:
    return cast("AnsweredShape", {**outcome_shape(result), "name": answering.name, **more})


def refused(answering: Answering, result: SendResult) -> int:
    """Show what keeps a text from being sent. Returns the exit status."""
    if not answering.json:
        print_problems(result.diagnostics, result.text)
    counted = count_problems(result.diagnostics)
    code = "refused unread" if answering.opened.item.held.unread else "refused"
    why = answering.sentence(code, counted=counted, name=answering.name)
    return not_sent(answering, why, result)


def not_sent(answering: Answering, why: str, result: SendResult) -> int:
    """Print that nothing was sent, and why. Returns the exit status."""
    if answering.json:
        json_to_stdout(_shape(answering, result, sent=False, why=why))
    else:
        to_stderr(Painted(why, "yellow"))
    return REFUSED


def keep_open(answering: Answering, draft: Draft, *, anyway: bool) -> int:
    """Send the answer's line as an outgoing message, so that its request stays open.

    Raises:
        OrderError, InboxError: it cannot be submitted.
    """
    verdict = service.judge(answering.opened, draft.text, draft.form)
    line = verdict.line or (verdict.forced if anyway else None)
    blocked = SendResult(Outcome.BLOCKED, answering.opened.item, verdict.diagnostics, draft.text)
    if line is None or answering.opened.held is not None:
        return refused(answering, _worth_a_word(blocked))
    reply, session = Reply(line, anyway=True, by=BY), answering.opened.key.session
    said = service.submit_outgoing(answering.opened.inbox, session, reply, within=LONGEST_WAIT)
    result = SendResult(said.outcome, answering.opened.item, said.diagnostics, draft.text)
    if said.outcome is Outcome.QUEUED:
        return not_sent(answering, answering.sentence("not taken"), result)
    if said.outcome is Outcome.REFUSED:
        return not_sent(
            answering, answering.sentence("refused", counted="", name=answering.name), result
        )
    if answering.json:
        size = len(line.encode("utf-8", "replace"))
        json_to_stdout(_shape(answering, result, sent=True, open=True, line=line, bytes=size))
    else:
        to_stdout(
            Painted(
                answering.sentence("kept open", who=answering.who, name=answering.name), "green"
            )
        )
        to_stdout(line)
    return 0


# -- the approval card: printed by `show`, decided by `answer` with one key each -----------------


_COLOURS: Final = {"+": "green", "-": "red", " ": "", "": ""}


def print_card(opened: OpenExchange, *, whole: bool = True) -> None:
    """Print the card; without `whole` only the beginning of a long one."""
    approval = opened.approval
    if approval is None:
        return
    card = approvals.card_of(approval)
    to_stdout(Painted(approvals.headline(opened, approval, card), "bold"))
    if folder := approvals.folder_of(opened):
        to_stdout("  ", Painted(visible_code(folder), "dim", is_code=True))
    words = last_words(opened.prompt) if opened.prompt and opened.item.waits else ""
    if words:
        to_stdout(Painted(say(approvals.SECTION, "words"), "dim"))
        quoted_to_stdout(words, "dim")
    if approval.problem:
        to_stdout(Painted(say(approvals.SECTION, approval.problem), "yellow"))
    elif approval.questions:
        _print_questions(approval.questions)
    else:
        _print_parts(card if whole else card.beginning())
        if card.is_long:
            code = "digest" if whole else "beginning"
            to_stdout(Painted(say(approvals.SECTION, code, digest=approval.digest), "yellow"))


def _print_parts(card: ApprovalCard) -> None:
    for part in card.parts:
        if part.name:
            to_stdout("  ", Painted(part.name, "dim", is_code=True))
        for line in part.lines:
            text = f"{line.sign}{line.text}"
            to_stdout("    ", Painted(text, _COLOURS[line.sign], is_code=True))


def _print_questions(questions: Sequence[AskedQuestion]) -> None:
    for question in questions:
        to_stdout("")
        quoted_to_stdout(question.text, "bold")
        for told in approvals.told_beside(question):
            quoted_to_stdout(told, "dim")
        print_options(question)


def print_options(question: AskedQuestion) -> None:
    """Print the options with their numbers and descriptions."""
    for number, (label, note) in enumerate(question.options, 1):
        to_stdout("  ", Painted(f"{number}", "bold"), f"  {one_line(label)}")
        if note:
            to_stdout("     ", Painted(one_line(note), "dim"))


def next_commands(opened: OpenExchange, name: str) -> str:
    asks = opened.approval is not None and opened.approval.questions
    return say(approvals.SECTION, "next answers" if asks else "next", name=name)


def is_decided(arguments: argparse.Namespace) -> bool:
    """Return True if the command line has a decision."""
    given = (arguments.deny, arguments.change, arguments.allow_like, arguments.answers)
    return bool(arguments.allow or arguments.hand_back) or any(one is not None for one in given)


def decide(answering: Answering, arguments: argparse.Namespace) -> int:
    """Send the decision of the command line. Returns the exit status.

    Raises:
        ApprovalError: nothing may be sent.
    """
    opened, approval = answering.opened, _needed(answering.opened)
    shown = arguments.digest or approval.digest
    if arguments.deny is not None:
        return _send(answering, approvals.deny(opened, arguments.deny, shown=shown))
    if arguments.hand_back:
        return _send(answering, approvals.hand_back(opened, shown=shown))
    if arguments.change is not None:
        text = typed_or_read(arguments.change)
        return _send(answering, approvals.change(opened, approval, text, shown=shown))
    if arguments.answers is not None:
        answers = approvals.typed_answers(approval.questions, arguments.answers)
        return _send(answering, approvals.answer(opened, answers, shown=shown))
    seen, note = bool(arguments.digest), arguments.note
    reply = approvals.allow(opened, approval, seen=seen, shown=shown, note=note)
    return _send(answering, reply, arguments.allow_like)


def _needed(opened: OpenExchange) -> Approval:
    if opened.asked is None:
        raise ApprovalError("no prompt")
    return opened.asked


def _send(answering: Answering, reply: Reply, like: str | None = None) -> int:
    pattern = None if like is None else approvals.pattern_at(answering.opened, like)
    signed = reply._replace(by=BY, shown_at=answering.shown_at)
    result = service.send(answering.opened, signed, within=LONGEST_WAIT)
    if pattern is not None and result.outcome in (service.Outcome.SENT, service.Outcome.QUEUED):
        approvals.allow_like(answering.opened, pattern)
    return tell(answering, reply.as_draft, result)


# -- one key each ---------------------------------------------------------------------------------


def can_ask() -> bool:
    """Return True if a person sits at this terminal."""
    return is_terminal() and sys.stdin.isatty()


def ask(
    answering: Answering,
    key: Callable[[], str] | None = None,
    line: Callable[[], str] | None = None,
) -> int | None:
    """Show the card and act on the pressed key. Returns the exit status, or None for the editor.

    Raises:
        ApprovalError: nothing may be sent.
    """
    key, line = key or read_key, line or (lambda: sys.stdin.readline().rstrip("\n"))
    approval, whole = _needed(answering.opened), False
    if approval.questions:
        return _ask_each(answering, approval, key, line)
    while True:
        print_card(answering.opened, whole=whole)
        can_ask_itself = approvals.can_hand_back(answering.opened)
        codes = ("keys", "keys agent") if can_ask_itself else ("keys",)
        to_stdout(Painted(" · ".join(say(approvals.SECTION, one) for one in codes), "dim"))
        pressed = key().lower()
        try:
            match pressed:
                case "o":
                    whole = True
                case "e":
                    return None
                case "q" | "":
                    return 0
                case _:
                    reply = _chosen(answering.opened, pressed, line, whole=whole)
                    like = _ask_pattern(answering.opened, line) if pressed == "l" else None
                    if reply is not None:
                        return _send(answering, reply, like)
        except ApprovalError as error:
            to_stdout(Painted(error.sentence(), "yellow"))


def _chosen(
    opened: OpenExchange, pressed: str, line: Callable[[], str], *, whole: bool
) -> Reply | None:
    """Return the reply of a key; None for a key without a meaning.

    Raises:
        ApprovalError: nothing may be sent.
    """
    approval = _needed(opened)
    shown = approval.digest
    match pressed:
        case "a" | "l":
            return approvals.allow(opened, approval, seen=whole, shown=shown)
        case "d":
            return approvals.deny(opened, _asked("reason", line), shown=shown)
        case "b":
            return approvals.hand_back(opened, shown=shown)
        case "c":
            to_stdout(visible_json(pretty(approval.text)))
            return approvals.change(opened, approval, _asked("new input", line), shown=shown)
        case _:
            return None


def _ask_pattern(opened: OpenExchange, line: Callable[[], str]) -> str:
    found = approvals.patterns_of(opened)
    if found and (scope := approvals.scope_of(opened)):
        to_stdout("  ", Painted(scope, "dim"))
    for at, one in enumerate(found, 1):
        to_stdout("  ", Painted(f"{at}", "bold"), f"  {approvals.pattern_in_words(one)}")
    return _asked("which pattern", line) if found else ""


def _asked(code: str, line: Callable[[], str]) -> str:
    to_stdout(Painted(say(approvals.SECTION, code), "bold"))
    return line()


def _ask_each(
    answering: Answering, approval: Approval, key: Callable[[], str], line: Callable[[], str]
) -> int:
    """Ask one question after the other; send the answers, or decline."""
    typed: dict[str, str] = {}
    for at, question in enumerate(approval.questions):
        _print_questions((question,))
        match _ask_one(at, question, key, line):
            case "decline":
                reply = approvals.deny(
                    answering.opened, _asked("reason", line), shown=approval.digest
                )
                return _send(answering, reply)
            case "leave":
                return 0
            case dict(chosen):
                typed |= chosen
    answers = approvals.chosen_answers(approval.questions, typed)
    return _send(answering, approvals.answer(answering.opened, answers, shown=approval.digest))


_MOST_KEYS: Final = 9


def _ask_one(
    at: int, question: AskedQuestion, key: Callable[[], str], line: Callable[[], str]
) -> dict[str, str] | str:
    """Return the answer as a form has it, from one key each; else what to do instead."""
    numbers = [str(number) for number in range(1, len(question.options) + 1)]
    if len(numbers) > _MOST_KEYS:
        return approvals.typed_answer(at, question, _asked("which option", line))
    code = "several" if question.multiple else "one" if numbers else "words"
    to_stdout(Painted(say(approvals.SECTION, f"keys {code}"), "dim"))
    chosen: set[str] = set()
    while True:
        match key().lower():
            case pressed if pressed in numbers:
                chosen ^= {f"answer {at} {int(pressed) - 1}"}
                to_stdout(
                    ", ".join(one for one in numbers if f"answer {at} {int(one) - 1}" in chosen)
                )
                if not question.multiple:
                    return dict.fromkeys(chosen, "on")
            case "\n" | "\r" if chosen:
                return dict.fromkeys(chosen, "on")
            case "w" if question.free_text:
                own = {f"own {at}": _asked("own words", line)}
                return {**dict.fromkeys(chosen, "on"), **own}
            case "d":
                return "decline"
            case "q" | "":
                return "leave"


_TOGETHER: Final = 0.05
"""The seconds in which an arrow key, or a paste, sends the rest of its characters."""


def read_key() -> str:
    """Wait for one key; where a terminal gives no single keys, for a line.

    What comes at once stays together, so that no part of it is a key: an arrow sends `ESC [ A`.
    """
    try:
        import termios  # noqa: PLC0415 - Windows has none
        import tty  # noqa: PLC0415 - Windows has none

        terminal = sys.stdin.fileno()
        before = termios.tcgetattr(terminal)
    except (ImportError, OSError):
        return sys.stdin.readline().strip()
    try:
        tty.setcbreak(terminal)  # what was typed before the question was shown is thrown away
        typed = b""
        while part := os.read(terminal, 1024):
            typed += part
            if not select.select([terminal], [], [], _TOGETHER)[0]:
                break
        return typed.decode("utf-8", "replace")
    finally:
        termios.tcsetattr(terminal, termios.TCSADRAIN, before)


# -- the person's own editor: open, check, and open again until it may go ------------------------


MARK: Final = "//"
FOLDER: Final = "editing"
"""The folder of the home that holds the text while an editor is open."""
AT_ONCE: Final = 0.7
"""An editor that returns the text unchanged within these seconds did not wait for the person."""

_FALLBACKS: Final = ("notepad",) if os.name == "nt" else ("editor", "vi", "nano")


def editor_command(environment: Mapping[str, str] = os.environ) -> list[str]:
    """Return the words of the editor's command: $VISUAL, $EDITOR, else what is installed.

    Raises:
        StopError: there is no editor.
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
    words = editor_command()
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
    service.keep(answering.opened, draft._replace(touched=touched, paused=True, by=BY))
    while True:
        comments = _comments(answering, diagnostics)
        name = f"answer-{answering.opened.key.number}"
        try:
            written, took = edit(edited.text, comments, home, name)
        except BaseException:  # also Ctrl-C: the book must not stay paused
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
    """Lay out JSON of one line over several lines; keep the person's own layout."""
    if draft.form not in _JSON_FORMS or "\n" in draft.text.strip():
        return draft
    try:
        json.loads(draft.text)
    except (ValueError, RecursionError):
        return draft
    return draft._replace(text=pretty(draft.text))


def _never_mind(answering: Answering, draft: Draft, took: float, *, emptied: bool) -> int:
    """Stop without sending. The draft is kept, and the book's countdown continues."""
    _let_go(answering, draft)
    if not emptied and took < AT_ONCE:
        to_stderr(answering.sentence("at once"))
    why = answering.sentence("emptied" if emptied else "unchanged", name=answering.name)
    return not_sent(answering, why, SendResult(Outcome.BLOCKED, answering.opened.item))


def _let_go(answering: Answering, edited: Draft) -> None:
    """Keep the text as the draft, and let the book's countdown continue."""
    draft = answering.opened.inbox.item(answering.opened.key).draft
    touched = draft is not None and draft.touched
    service.keep(answering.opened, edited._replace(touched=touched, by=BY))


def _comments(answering: Answering, diagnostics: Sequence[Diagnostic]) -> list[str]:
    """Write the comments above the text: the request, what to do, and the problems so far.

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
        lines += ["", answering.sentence("fix", counted=count_problems(diagnostics))]
        shift = len(lines) + len(diagnostics)
        for diagnostic in diagnostics:
            lines.append("  " + _in_one_line(diagnostic, shift))
    return lines


def _in_one_line(diagnostic: Diagnostic, shift: int) -> str:
    """Write a problem as one comment line."""
    parts = next(explained(diagnostic, "", place_of=lambda line, column: (line + shift, column)))
    return one_line("".join(word if isinstance(word, str) else word.text for word in parts))
