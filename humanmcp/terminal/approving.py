"""The approval card in a terminal: printed by `show`, decided by `answer` with one key each."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Final

from humanmcp.answering import approvals, service
from humanmcp.answering.approvals import ApprovalError, allow_like, pattern_in_words
from humanmcp.common.terminal import Painted, is_terminal, to_stdout
from humanmcp.locales import say
from humanmcp.protocol.conversation.approvals import patterns_for
from humanmcp.protocol.json.tree import pretty
from humanmcp.terminal.cases import read_text
from humanmcp.terminal.replying import BY, LONGEST_WAIT, tell

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Sequence

    from humanmcp.answering.approvals import ApprovalCard
    from humanmcp.answering.open_exchange import OpenExchange
    from humanmcp.inbox.contract import Reply
    from humanmcp.protocol.conversation.approvals import Approval, AskedQuestion
    from humanmcp.terminal.replying import Answering

_COLOURS: Final = {"+": "green", "-": "red", "": ""}


def print_card(opened: OpenExchange, *, whole: bool = True) -> None:
    """Print the card; without `whole` only the beginning of a long one."""
    approval = opened.approval
    if approval is None:
        return
    card = approvals.card_of(approval)
    to_stdout(Painted(approvals.headline(opened, approval, card), "bold"))
    if opened.facts.folder:
        to_stdout("  ", Painted(approvals.plainly(opened.facts.folder), "dim"))
    if approval.problem:
        to_stdout(Painted(say(approvals.ROOM, approval.problem), "yellow"))
    elif approval.questions:
        _print_questions(approval.questions)
    else:
        _print_parts(card if whole else card.beginning())
        if card.is_long:
            code = "digest" if whole else "beginning"
            to_stdout(Painted(say(approvals.ROOM, code, digest=approval.digest), "yellow"))


def _print_parts(card: ApprovalCard) -> None:
    for part in card.parts:
        if part.name:
            to_stdout("  ", Painted(part.name, "dim"))
        for line in part.lines:
            to_stdout("    ", Painted(f"{line.sign}{line.text}", _COLOURS[line.sign]))


def _print_questions(questions: Sequence[AskedQuestion]) -> None:
    for question in questions:
        to_stdout("", "\n", Painted(approvals.plainly(question.text), "bold"))
        for number, (label, note) in enumerate(question.options, 1):
            to_stdout("  ", Painted(f"{number}", "bold"), f"  {approvals.plainly(label)}")
            if note:
                to_stdout("     ", Painted(approvals.plainly(note), "dim"))


def next_commands(opened: OpenExchange, name: str) -> str:
    """Say which commands decide."""
    asks = opened.approval is not None and opened.approval.questions
    return say(approvals.ROOM, "next answers" if asks else "next", name=name)


def is_decided(arguments: argparse.Namespace) -> bool:
    """Return True if a decision stands on the command line."""
    given = (arguments.deny, arguments.change, arguments.allow_like, arguments.answers)
    return bool(arguments.allow) or any(one is not None for one in given)


def decide(answering: Answering, arguments: argparse.Namespace) -> int:
    """Send the decision that stands on the command line. Returns the exit status.

    Raises:
        ApprovalError: nothing may be sent.
    """
    opened, approval = answering.opened, _needed(answering.opened)
    shown = arguments.digest or approval.digest
    if arguments.deny is not None:
        return _send(answering, approvals.deny(opened, arguments.deny, shown=shown))
    if arguments.change is not None:
        text = read_text(arguments.change)
        return _send(answering, approvals.change(opened, approval, text, shown=shown))
    if arguments.answers is not None:
        typed = _typed(approval.questions, arguments.answers)
        answers = approvals.chosen_answers(approval.questions, typed)
        return _send(answering, approvals.answer(opened, answers, shown=shown))
    reply = approvals.allow(opened, approval, seen=bool(arguments.digest), shown=shown)
    return _send(answering, reply, arguments.allow_like)


def _needed(opened: OpenExchange) -> Approval:
    if opened.approval is None:
        raise ApprovalError("no prompt")
    return opened.approval


def _send(answering: Answering, reply: Reply, like: str | None = None) -> int:
    found = patterns_for(_needed(answering.opened))
    if like is not None and like not in map(str, range(1, len(found) + 1)):
        listed = (f"{at} {pattern_in_words(one)}" for at, one in enumerate(found, 1))
        raise ApprovalError("no pattern", choices="; ".join(listed))
    result = service.send(answering.opened, reply._replace(by=BY), within=LONGEST_WAIT)
    if like is not None and result.outcome in (service.Outcome.SENT, service.Outcome.QUEUED):
        allow_like(answering.opened, found[int(like) - 1])
    return tell(answering, reply.as_draft, result)


def _typed(questions: Sequence[AskedQuestion], words: Sequence[str]) -> dict[str, str]:
    """Return answers as a form has them: from numbers of options, with commas, or own words."""
    typed: dict[str, str] = {}
    for at, (question, answer) in enumerate(zip(questions, words, strict=False)):
        numbers = [one.strip() for one in answer.split(",")]
        known = [str(number + 1) for number in range(len(question.options))]
        if all(one in known for one in numbers) and (question.multiple or len(numbers) == 1):
            chosen = [int(one) - 1 for one in numbers]
            typed |= {f"answer {at} {one}": "on" for one in chosen}
        else:
            typed[f"own {at}"] = answer
    return typed


# -- one key each ---------------------------------------------------------------------------------


def can_ask() -> bool:
    """Return True if a person sits at this terminal."""
    return is_terminal() and sys.stdin.isatty()


def ask(
    answering: Answering,
    key: Callable[[], str] | None = None,
    line: Callable[[], str] | None = None,
) -> int | None:
    """Show the card and do what the pressed key says. Returns the exit status; None: the editor.

    Raises:
        ApprovalError: nothing may be sent.
    """
    key, line = key or read_key, line or (lambda: sys.stdin.readline().rstrip("\n"))
    approval, whole = _needed(answering.opened), False
    if approval.questions:
        return _ask_each(answering, approval, line)
    while True:
        print_card(answering.opened, whole=whole)
        to_stdout(Painted(say(approvals.ROOM, "keys"), "dim"))
        pressed, shown = key().lower(), approval.digest
        try:
            match pressed:
                case "a" | "l":
                    reply = approvals.allow(answering.opened, approval, seen=whole, shown=shown)
                    like = _ask_pattern(approval, line) if pressed == "l" else None
                    return _send(answering, reply, like)
                case "d":
                    reason = _asked("reason", line)
                    return _send(answering, approvals.deny(answering.opened, reason, shown=shown))
                case "c":
                    to_stdout(pretty(approval.text))
                    text = _asked("new input", line)
                    return _send(
                        answering,
                        approvals.change(answering.opened, approval, text, shown=shown),
                    )
                case "o":
                    whole = True
                case "e":
                    return None
                case "q" | "":
                    return 0
        except ApprovalError as error:
            to_stdout(Painted(error.sentence(), "yellow"))


def _ask_pattern(approval: Approval, line: Callable[[], str]) -> str:
    for at, one in enumerate(patterns_for(approval), 1):
        to_stdout("  ", Painted(f"{at}", "bold"), f"  {pattern_in_words(one)}")
    return _asked("which pattern", line)


def _asked(code: str, line: Callable[[], str]) -> str:
    to_stdout(Painted(say(approvals.ROOM, code), "bold"))
    return line()


def _ask_each(answering: Answering, approval: Approval, line: Callable[[], str]) -> int:
    words = []
    for question in approval.questions:
        _print_questions((question,))
        words.append(_asked("which option", line))
    typed = _typed(approval.questions, words)
    answers = approvals.chosen_answers(approval.questions, typed)
    return _send(answering, approvals.answer(answering.opened, answers, shown=approval.digest))


def read_key() -> str:
    """Wait for one key; where a terminal gives no single keys, for a line."""
    try:
        import termios  # noqa: PLC0415 - Windows has none
        import tty  # noqa: PLC0415 - likewise

        before = termios.tcgetattr(sys.stdin)
    except (ImportError, OSError):
        return sys.stdin.readline().strip()[:1]
    try:
        tty.setcbreak(sys.stdin)
        return sys.stdin.read(1)
    finally:
        termios.tcsetattr(sys.stdin, termios.TCSADRAIN, before)
