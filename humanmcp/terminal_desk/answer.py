"""`humanmcp answer N`: write the answer in your own editor, or give it on the command line.

The text is checked here first, with the function that the stub uses; then it is sent, and the stub
has the last word. A refused text opens again with its problems as comments at the top.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

from humanmcp.common.paths import UnsafeFolderError, home_folder
from humanmcp.common.settings import add_flags
from humanmcp.common.terminal import complain
from humanmcp.common.terminal import say as show
from humanmcp.inbox.contract import InboxError, Life
from humanmcp.locales import language_of
from humanmcp.locales.stop import REFUSED, USAGE_ERROR, StopError
from humanmcp.protocol.conversation.exchange import Exchange, ExchangeState
from humanmcp.protocol.diagnostics.verdict import TextForm
from humanmcp.protocol.json.escaping import one_line
from humanmcp.protocol.json.layout import pretty
from humanmcp.protocol.validation import check, faults
from humanmcp.protocol.validation.inquiry import inquiry_in
from humanmcp.terminal_desk import waits
from humanmcp.terminal_desk.attaching import AttachmentError, result_with
from humanmcp.terminal_desk.choose import choose, label, open_inbox, seats
from humanmcp.terminal_desk.files import read_text
from humanmcp.terminal_desk.in_editor import in_editor
from humanmcp.terminal_desk.inbox import asker_of
from humanmcp.terminal_desk.replying import (
    HeldCase,
    judged,
    keep_open,
    may_go,
    not_sent,
    refused,
    sent,
)
from humanmcp.terminal_desk.sending import TypedText, keep

if TYPE_CHECKING:
    import argparse

    from humanmcp.common.parsing import Parser
    from humanmcp.common.settings import Settings
    from humanmcp.inbox.contract import DeskInbox

ROOM: Final = "answer"


class FaultError(StopError):
    """An answer to this message cannot be broken in this way."""

    room = ROOM


class TemplateError(StopError):
    """There is no template of this name."""

    room = ROOM


class OptionError(StopError):
    """The question has no option of this number."""

    room = ROOM


def add_arguments(parser: Parser) -> None:
    """Add the arguments of this command."""
    words = parser.words(ROOM, "help ")
    number = parser.words("choose")("help number")
    parser.add_argument("number", nargs="?", default="", metavar="N", help=number)
    ways = parser.add_mutually_exclusive_group()
    ways.add_argument("--text", metavar="TEXT", help=words("text"))
    ways.add_argument("--choose", metavar="NUMBER", help=words("choose"))
    ways.add_argument("--tool-error", metavar="TEXT", help=words("tool error"))
    ways.add_argument("--result", metavar="FILE", help=words("result"))
    ways.add_argument("--error", nargs=2, metavar=("CODE", "MESSAGE"), help=words("error"))
    ways.add_argument("--message", metavar="FILE", help=words("message"))
    ways.add_argument("--as-is", action="store_true", help=words("as is"))
    ways.add_argument("--start-over", action="store_true", help=words("start over"))
    parser.add_argument("--image", action="append", default=[], metavar="FILE", help=words("image"))
    parser.add_argument("--file", action="append", default=[], metavar="FILE", help=words("file"))
    parser.add_argument("--template", metavar="NAME", help=words("template"))
    parser.add_argument("--break", dest="fault", metavar="NAME", help=words("break"))
    parser.add_argument("--send-anyway", action="store_true", help=words("send anyway"))
    parser.add_argument("--keep-open", action="store_true", help=words("keep open"))
    parser.add_argument("--json", action="store_true", help=words("json"))
    add_flags(parser, "home", "lang")


def run(arguments: argparse.Namespace, settings: Settings) -> int:
    """Answer one message. Returns the exit status: 0 sent, 1 not sent, 2 asked in a wrong way."""
    language = language_of(settings.lang)
    try:
        case = _case(open_inbox(settings), arguments, language)
        if arguments.start_over:
            return _start_over(case)
        given = _given(arguments, case)
        if arguments.fault is not None:
            given = _broken(case, given or _starting_text(case, arguments), arguments.fault)
        if (why_not := _closed(case)) is not None:
            _keep_given(case, given)
            code = "too late" if given is None else "taken"
            return not_sent(case, case.say(code, happened=why_not), ())
        if arguments.keep_open and given is None:
            given = _starting_text(case, arguments)
        if given is None:
            return in_editor(
                case,
                _starting_text(case, arguments),
                home_folder(settings.home),
                anyway=arguments.send_anyway,
            )
        send = keep_open if arguments.keep_open else _send_given
        return send(case, given, anyway=arguments.send_anyway)
    except (InboxError, UnsafeFolderError) as error:
        complain(error.sentence(language))
        return REFUSED
    except StopError as error:
        complain(error.sentence(language))
        return USAGE_ERROR


def _case(inbox: DeskInbox, arguments: argparse.Namespace, language: str) -> HeldCase:
    seated, item = choose(inbox, arguments.number)
    return HeldCase(
        inbox=inbox,
        name=label(seated, item.key.number, seats(inbox)),
        seat=seated.facts.seat,
        item=item,
        known=inbox.known(item.key.session),
        who=asker_of(seated.facts, language),
        language=language,
        json=arguments.json,
    )


def _given(arguments: argparse.Namespace, case: HeldCase) -> TypedText | None:
    """Return what stands on the command line; None when the editor is wanted.

    Raises:
        FileError: a file cannot be read.
    """
    if arguments.image or arguments.file:
        return _attached(arguments, case)
    words = _words(arguments, case)
    if words is not None:
        return words
    if arguments.error is not None:
        return TypedText(_error(*arguments.error), TextForm.ERROR)
    if arguments.result is not None:
        return TypedText(read_text(arguments.result), TextForm.RESULT)
    if arguments.message is not None:
        return TypedText(read_text(arguments.message), TextForm.MESSAGE)
    return _starting_text(case, arguments) if arguments.as_is else None


def _attached(arguments: argparse.Namespace, case: HeldCase) -> TypedText:
    """Return a result with pictures and files, and with the text beside them.

    Raises:
        AttachmentError: this answer cannot have any, or one of them cannot be sent.
    """
    if case.exchange is None or case.exchange.method != "tools/call":
        raise AttachmentError("no call", name=case.name)
    ways = (arguments.tool_error, arguments.error, arguments.result, arguments.message)
    if any(way is not None for way in ways) or arguments.as_is or arguments.template is not None:
        raise AttachmentError("only text")
    given = _words(arguments, case)
    text = None if given is None else given.text
    result = result_with(case.exchange, case.known, text, arguments.image, arguments.file)
    return TypedText(json.dumps(result, ensure_ascii=False), TextForm.RESULT)


def _words(arguments: argparse.Namespace, case: HeldCase) -> TypedText | None:
    """Return the words for the model that stand on the command line; None when there are none."""
    if arguments.text is not None:
        return TypedText(arguments.text, TextForm.TEXT)
    if arguments.choose is not None:
        return TypedText(_option(case, arguments.choose), TextForm.TEXT)
    if arguments.tool_error is not None:
        return TypedText(arguments.tool_error, TextForm.TOOL_ERROR)
    return None


def _option(case: HeldCase, wanted: str) -> str:
    """Return an option of the question, word for word.

    Raises:
        OptionError: there is none of that number. The sentence lists those that there are.
    """
    asked = inquiry_in(case.item.line) if case.exchange is not None else None
    options = () if asked is None else asked.options
    for number, option in enumerate(options, 1):
        if wanted == str(number):
            return option
    if not options:
        raise OptionError("no options", name=case.name)
    listed = ", ".join(f"{number} {one_line(one, 60)}" for number, one in enumerate(options, 1))
    raise OptionError("no option", number=wanted, choices=listed)


def _error(code: str, message: str) -> str:
    """Write an error object. A code that is no integer is left to the check, which explains it."""
    number = code.removeprefix("-")
    written = code if number.isascii() and number.isdigit() else json.dumps(code)
    return f'{{"code": {written}, "message": {json.dumps(message, ensure_ascii=False)}}}'


def _starting_text(case: HeldCase, arguments: argparse.Namespace) -> TypedText:
    """Return the text to start from: a template, the draft so far, or the start for this method."""
    exchange = case.exchange
    if arguments.template is not None and exchange is not None:
        return TypedText(_template(exchange, arguments.template), TextForm.MESSAGE)
    if case.item.draft is not None:
        return TypedText(case.item.draft.text, case.item.draft.form)
    return _first_text(case)


def _broken(case: HeldCase, given: TypedText, name: str) -> TypedText:
    """Break an answer on purpose. It is sent with --send-anyway, as every broken one.

    Raises:
        FaultError: there is no such fault. The sentence lists those that there are.
    """
    exchange = case.exchange
    if exchange is None:
        raise FaultError("no fault held", name=case.name)
    known = {one.value: one for one in faults.faults(exchange)}
    if name not in known:
        raise FaultError("no fault", name=name, choices=", ".join(known))
    verdict = check.check(exchange, given.text, given.form, case.known)
    whole = pretty(verdict.line or verdict.forced or "")
    return TypedText(faults.broken(exchange, whole, known[name]), TextForm.MESSAGE)


def _first_text(case: HeldCase) -> TypedText:
    """Return the text that nobody has changed yet: at a tap, the message as it came."""
    exchange = case.exchange
    if exchange is None:
        return TypedText(pretty(case.item.line), TextForm.MESSAGE)
    return TypedText(check.start(exchange, case.known, case.language), TextForm.MESSAGE)


def _start_over(case: HeldCase) -> int:
    """Put the draft back to the text that it began with, and send nothing."""
    keep(case.inbox, case.key, _first_text(case), touched=False, hold=False)
    show(case.say("started over", name=case.name))
    return 0


def _template(exchange: Exchange, name: str) -> str:
    """Return a template by its name.

    Raises:
        TemplateError: there is none of that name. The sentence lists those that there are.
    """
    known = check.templates(exchange)
    if name not in known:
        raise TemplateError(
            "no template" if known else "no templates",
            name=name,
            method=exchange.method,
            revision=exchange.revision,
            choices=", ".join(known),
        )
    return known[name]


def _closed(case: HeldCase) -> str | None:
    """Say why this exchange can no longer be answered; None while it can."""
    if case.item.state is not ExchangeState.PENDING:
        return waits.outlook(case.item, waits.now(), case.language)[0].sentence
    if case.inbox.facts(case.key.session).life is not Life.OPEN:
        return case.say("session over")
    return None


def _keep_given(case: HeldCase, given: TypedText | None) -> None:
    if given is not None:
        keep(case.inbox, case.key, given, touched=True, hold=False)


# -- given on the command line ----------------------------------------------------------------


def _send_given(case: HeldCase, given: TypedText, *, anyway: bool) -> int:
    verdict = judged(case, given)
    if not may_go(verdict, anyway=anyway):
        keep(case.inbox, case.key, given, touched=True, hold=True)
        return refused(case, verdict.problems, verdict.text)
    return sent(case, given, verdict.problems, anyway=anyway)
