"""`humanmcp answer N`: write the answer in your own editor, or give it on the command line.

The text is checked here first, with the function that the stub uses; then it is sent, and the stub
has the last word. A refused text opens again with its problems as comments at the top.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from humanmcp.inbox.contract import InboxError, Life, Purpose, TakenError
from humanmcp.locales import language_of, say
from humanmcp.locales.explain import explain
from humanmcp.locales.stop import REFUSED, USAGE_ERROR, StopError
from humanmcp.paths import UnsafeFolderError, home_folder
from humanmcp.protocol import drafts
from humanmcp.protocol.exchange import Exchange, Known, State
from humanmcp.protocol.pretty import pretty
from humanmcp.protocol.verdict import Form, Verdict
from humanmcp.protocol.visible import one_line
from humanmcp.settings import add_flags
from humanmcp.terminal import Painted, complain, say_json
from humanmcp.terminal import say as show
from humanmcp.terminal_desk import editor, waits
from humanmcp.terminal_desk.choose import choose, label, open_inbox, seats
from humanmcp.terminal_desk.explain import as_json, explained, summary
from humanmcp.terminal_desk.files import read_text
from humanmcp.terminal_desk.inbox import client_of, request_in_short
from humanmcp.terminal_desk.sending import Outcome, Result, Text, exchange_of, keep, send

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence
    from pathlib import Path

    from humanmcp.inbox.contract import Inbox, Item, Key
    from humanmcp.protocol.problems import Problem
    from humanmcp.settings import Settings

ROOM: Final = "answer"
SEVERAL_LINES: Final = "J51"
"""The code of the repair that joins a text to one line."""
_JSON_FORMS: Final = frozenset({Form.MESSAGE, Form.RESULT, Form.ERROR})


@dataclass(frozen=True, slots=True)
class Case:
    """One exchange that is being answered, with all that is needed to judge an answer."""

    inbox: Inbox
    name: str
    item: Item
    known: Known
    who: str
    language: str
    json: bool

    @property
    def key(self) -> Key:
        """Its key in the inbox."""
        return self.item.key

    @property
    def exchange(self) -> Exchange | None:
        """What the check needs; None for a message that is no request (a tap may hold those)."""
        return exchange_of(self.item) if self.item.purpose is Purpose.ANSWER else None

    def say(self, code: str, **fillings: object) -> str:
        """Return a sentence of this command."""
        return say(ROOM, code, self.language, **fillings)


class TemplateError(StopError):
    """There is no template of this name."""

    room = ROOM


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of this command."""
    language = language_of()

    def words(code: str) -> str:
        return say(ROOM, f"help {code}", language)

    parser.add_argument(
        "number", nargs="?", default="", metavar="N", help=say("choose", "help number", language)
    )
    ways = parser.add_mutually_exclusive_group()
    ways.add_argument("--text", metavar="TEXT", help=words("text"))
    ways.add_argument("--tool-error", metavar="TEXT", help=words("tool error"))
    ways.add_argument("--result", metavar="FILE", help=words("result"))
    ways.add_argument("--error", nargs=2, metavar=("CODE", "MESSAGE"), help=words("error"))
    ways.add_argument("--message", metavar="FILE", help=words("message"))
    ways.add_argument("--as-is", action="store_true", help=words("as is"))
    parser.add_argument("--template", metavar="NAME", help=words("template"))
    parser.add_argument("--send-anyway", action="store_true", help=words("send anyway"))
    parser.add_argument("--json", action="store_true", help=words("json"))
    add_flags(parser, "home", "lang")


def run(arguments: argparse.Namespace, settings: Settings) -> int:
    """Answer one message. Returns the exit status: 0 sent, 1 not sent, 2 asked in a wrong way."""
    language = language_of(settings.lang)
    try:
        case = _case(open_inbox(settings), arguments, language)
        given = _given(arguments, case)
        if (why_not := _closed(case)) is not None:
            _keep_given(case, given)
            code = "too late" if given is None else "taken"
            return _not_sent(case, case.say(code, happened=why_not), ())
        if given is None:
            return _in_editor(case, arguments, home_folder(settings.home))
        return _send_given(case, given, anyway=arguments.send_anyway)
    except StopError as error:
        complain(error.sentence(language))
        return USAGE_ERROR
    except (InboxError, UnsafeFolderError) as error:
        complain(str(error))
        return REFUSED


def _case(inbox: Inbox, arguments: argparse.Namespace, language: str) -> Case:
    seated, item = choose(inbox, arguments.number)
    return Case(
        inbox=inbox,
        name=label(seated, item.key.number, seats(inbox)),
        item=item,
        known=inbox.known(item.key.session),
        who=client_of(seated.facts) or say("inbox", "no client yet", language),
        language=language,
        json=arguments.json,
    )


def _given(arguments: argparse.Namespace, case: Case) -> Text | None:
    """Return what stands on the command line; None when the editor is wanted.

    Raises:
        FileError: a file cannot be read.
    """
    if arguments.text is not None:
        return Text(arguments.text, Form.TEXT)
    if arguments.tool_error is not None:
        return Text(arguments.tool_error, Form.TOOL_ERROR)
    if arguments.error is not None:
        return Text(_error(*arguments.error), Form.ERROR)
    if arguments.result is not None:
        return Text(read_text(arguments.result), Form.RESULT)
    if arguments.message is not None:
        return Text(read_text(arguments.message), Form.MESSAGE)
    return _starting_text(case, arguments) if arguments.as_is else None


def _error(code: str, message: str) -> str:
    """Write an error object. A code that is no integer is left to the check, which explains it."""
    number = code.removeprefix("-")
    written = code if number.isascii() and number.isdigit() else json.dumps(code)
    return f'{{"code": {written}, "message": {json.dumps(message, ensure_ascii=False)}}}'


def _starting_text(case: Case, arguments: argparse.Namespace) -> Text:
    """Return the text to start from: a template, the draft so far, or the start for this method."""
    exchange = case.exchange
    if arguments.template is not None and exchange is not None:
        return Text(_template(exchange, arguments.template), Form.MESSAGE)
    if case.item.draft is not None:
        return Text(case.item.draft.text, case.item.draft.form)
    if exchange is None:
        return Text(case.item.line, Form.MESSAGE)
    return Text(drafts.start(exchange, case.known, case.language), Form.MESSAGE)


def _template(exchange: Exchange, name: str) -> str:
    """Return a template by its name.

    Raises:
        TemplateError: there is none of that name. The sentence lists those that there are.
    """
    known = drafts.templates(exchange)
    if name not in known:
        raise TemplateError(
            "no template",
            name=name,
            method=exchange.method,
            revision=exchange.revision,
            choices=", ".join(known) or "-",
        )
    return known[name]


def _closed(case: Case) -> str | None:
    """Say why this exchange can no longer be answered; None while it can."""
    if case.item.state is not State.PENDING:
        return waits.outlook(case.item, waits.now(), case.language)[0].sentence
    if case.inbox.facts(case.key.session).life is not Life.OPEN:
        return case.say("session over")
    return None


def _keep_given(case: Case, given: Text | None) -> None:
    if given is not None:
        keep(case.inbox, case.key, given, touched=True, hold=False)


# -- given on the command line ----------------------------------------------------------------


def _send_given(case: Case, given: Text, *, anyway: bool) -> int:
    verdict = _check(case, given)
    if not _may_go(verdict, anyway=anyway):
        keep(case.inbox, case.key, given, touched=True, hold=True)
        return _refused(case, verdict.problems, verdict.text)
    return _sent(case, given, verdict.problems, anyway=anyway)


def _check(case: Case, given: Text) -> Verdict:
    exchange = case.exchange
    if exchange is None:
        return Verdict(given.text, given.text, given.text)
    verdict = drafts.check(exchange, given.text, given.form, case.known)
    # Several lines are our own way to lay out a draft: not worth a word each time.
    told = tuple(problem for problem in verdict.problems if problem.code != SEVERAL_LINES)
    return replace(verdict, problems=told)


def _may_go(verdict: Verdict, *, anyway: bool) -> bool:
    return verdict.sendable or (anyway and verdict.forced is not None)


def _sent(case: Case, given: Text, problems: Sequence[Problem], *, anyway: bool) -> int:
    """Send, wait for the stub's word and tell it."""
    try:
        result = send(case.inbox, case.key, given, anyway=anyway)
    except TakenError:
        item = case.inbox.item(case.key)
        happened = waits.outlook(item, waits.now(), case.language)[0].sentence
        return _not_sent(case, case.say("taken", happened=happened), ())
    match result.outcome:
        case Outcome.SENT:
            return _went_out(case, result, problems, given.text)
        case Outcome.REFUSED:
            return _refused(case, result.problems, given.text)
        case Outcome.TOO_LATE:
            state = waits.outlook(result.item, waits.now(), case.language)
            over = result.item.state is State.PENDING
            happened = case.say("session over") if over else state[0].sentence
            return _not_sent(case, case.say("taken", happened=happened), ())
        case Outcome.WAITING:
            return _not_sent(case, case.say("not taken"), ())


def _went_out(case: Case, result: Result, problems: Sequence[Problem], text: str) -> int:
    answer = result.item.answer
    line = answer.line if answer else ""
    size = len(line.encode("utf-8", "surrogatepass")) + 1
    if case.json:
        found = [as_json(problem, case.language) for problem in problems]
        deliberate = bool(answer and answer.deliberate)
        say_json(
            {"sent": True, "name": case.name, "line": line, "bytes": size, "problems": found}
            | {"deliberate": deliberate}
        )
        return 0
    for problem in problems:
        for parts in explained(problem, text, case.language):
            show(*parts)
    show(Painted(case.say("sent", who=case.who, size=size), "green"))
    show(line)
    return 0


def _refused(case: Case, problems: Sequence[Problem], text: str) -> int:
    if not case.json:
        for problem in problems:
            for parts in explained(problem, text, case.language):
                show(*parts)
    counted = summary(problems, case.language)
    return _not_sent(case, case.say("refused", counted=counted, name=case.name), problems)


def _not_sent(case: Case, why: str, problems: Sequence[Problem]) -> int:
    if case.json:
        found = [as_json(problem, case.language) for problem in problems]
        say_json({"sent": False, "name": case.name, "why": why, "problems": found})
    else:
        complain(Painted(why, "yellow"))
    return REFUSED


# -- in the editor ----------------------------------------------------------------------------


def _in_editor(case: Case, arguments: argparse.Namespace, home: Path) -> int:
    """Open the editor until the text may go, or the person gives up."""
    start = _starting_text(case, arguments)
    opened = _laid_out(start)
    before = case.item.draft
    problems = case.item.problems
    touched = before is not None and before.touched
    keep(case.inbox, case.key, start, touched=touched, hold=True)
    while True:
        comments = _comments(case, problems)
        name = f"answer-{case.key.number}"
        try:
            written, took = editor.edit(opened.text, comments, home, name)
        except BaseException:  # Ctrl-C too: the book must not stay held for nobody
            _let_go(case, opened)
            raise
        if not written.strip() or editor.same(written, opened.text):
            return _never_mind(case, opened, took, emptied=not written.strip())
        opened = Text(written, opened.form)
        verdict = _check(case, opened)
        keep(case.inbox, case.key, opened, touched=True, hold=True)
        if _may_go(verdict, anyway=arguments.send_anyway):
            status = _sent(case, opened, verdict.problems, anyway=arguments.send_anyway)
            problems = case.inbox.item(case.key).problems
            if status == 0 or _closed_now(case) or not problems:
                return status
        else:
            problems = verdict.problems


def _laid_out(start: Text) -> Text:
    """Lay JSON that stands on one line out over several; leave the person's own lines alone."""
    if start.form not in _JSON_FORMS or "\n" in start.text.strip():
        return start
    try:
        json.loads(start.text)
    except (ValueError, RecursionError):
        return start
    return Text(pretty(start.text), start.form)


def _never_mind(case: Case, opened: Text, took: float, *, emptied: bool) -> int:
    """Stop without sending. The draft stays as it was, and the book may go on counting."""
    _let_go(case, opened)
    if not emptied and took < editor.AT_ONCE:
        complain(case.say("at once"))
    return _not_sent(case, case.say("emptied" if emptied else "unchanged", name=case.name), ())


def _let_go(case: Case, opened: Text) -> None:
    """Keep the text as the draft, and let the answer book go on counting."""
    draft = case.inbox.item(case.key).draft
    touched = draft is not None and draft.touched
    keep(case.inbox, case.key, opened, touched=touched, hold=False)


def _closed_now(case: Case) -> bool:
    return case.inbox.item(case.key).state is not State.PENDING


def _comments(case: Case, problems: Sequence[Problem]) -> list[str]:
    """Write what stands above the text: what is asked, what to do, and what is wrong so far.

    The problems name lines as the editor counts them: with the comments on top.
    """
    card = explain(case.item.method, case.item.revision, case.language)
    lines = [
        f"humanmcp {case.name}: {card.title} ({case.who})",
        request_in_short(case.item, 160),
        card.what,
        case.say("how", name=case.name),
    ]
    if problems:
        lines += ["", case.say("mend", counted=summary(problems, case.language))]
        shift = len(lines) + len(problems)
        for problem in problems:
            lines.append("  " + _in_one_line(problem, case.language, shift))
    return lines


def _in_one_line(problem: Problem, language: str, shift: int) -> str:
    """Say a problem in one comment line."""
    parts = next(explained(problem, "", language, shift=shift))
    return one_line("".join(word if isinstance(word, str) else word.text for word in parts))
