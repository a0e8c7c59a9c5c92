"""`humanmcp answer N`: write the answer in your own editor, or give it on the command line.

The text is checked here first, with the function that the server uses; then sent, and the server
has the last word. A refused text opens again with its problems as comments at the top.
"""

from __future__ import annotations

import base64
import json
import mimetypes
import os
from dataclasses import replace
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote

from humanmcp.answering import forms, service
from humanmcp.answering.approvals import ApprovalError, must_be_seen, told_of
from humanmcp.answering.service import Outcome, SendResult
from humanmcp.answering.steps import ALLOW, DENY
from humanmcp.common.person_files import STDIN, read_bytes, typed_or_read
from humanmcp.common.settings import add_flags, home_folder
from humanmcp.common.terminal import to_stdout
from humanmcp.common.timestamps import now
from humanmcp.inbox.contract import Draft
from humanmcp.locales.stop import stopped
from humanmcp.protocol.diagnostics.model import TextForm
from humanmcp.protocol.json.visible import one_line
from humanmcp.protocol.validation.results import tool_text
from humanmcp.protocol.validation.rules.tools import mime_of
from humanmcp.protocol.validation.starting_draft import call, tools_in
from humanmcp.terminal.inbox import (
    asker_of,
    choose,
    label,
    listed_sessions,
    must_be_listed,
    names_only,
    open_inbox,
    standing_sentence,
)
from humanmcp.terminal.replying import (
    BY,
    Answering,
    ask,
    can_ask,
    decide,
    in_editor,
    is_decided,
    keep_open,
    not_sent,
    submit,
    tell,
)

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from humanmcp.answering.open_exchange import OpenExchange
    from humanmcp.common.parsing import Parser
    from humanmcp.common.settings import Settings
    from humanmcp.protocol.conversation.exchange import Exchange, NegotiatedState

LARGEST: Final = 20 * 1024 * 1024
"""The most bytes attached to one answer: as base64 they fit into a line of 64 MiB."""
_BINARY: Final = "application/octet-stream"


def result_with(
    exchange: Exchange,
    negotiated: NegotiatedState,
    text: str | None,
    images: Sequence[str],
    files: Sequence[str],
) -> dict[str, Any]:
    """Make the result of a tool call: the text first, then the pictures, then the files.

    Raises:
        StopError: an image is not an image, or the attachments are too large.
        StopError: a file cannot be read.
    """
    left = LARGEST
    content = [] if text is None else [{"type": "text", "text": text}]
    for make, names in ((_image, images), (_file, files)):
        for name in names:
            raw = read_bytes(name)
            left -= len(raw)
            if left < 0:
                raise stopped("attach", "large", name=name, most=LARGEST // 1024 // 1024)
            content.append(make(name, raw))
    return {**tool_text(exchange.version, "", negotiated), "content": content}


def _image(name: str, raw: bytes) -> dict[str, Any]:
    kind = mime_of(raw)
    if not kind.startswith("image/"):
        raise stopped("attach", "no image", name=name)
    return {"type": "image", "data": base64.b64encode(raw).decode("ascii"), "mimeType": kind}


def _file(name: str, raw: bytes) -> dict[str, Any]:
    """Embed a file under its name without the folder, which stays private."""
    bare = "stdin" if name == STDIN else PurePath(name).name
    kind = mimetypes.guess_type(bare)[0]
    resource: dict[str, Any] = {"uri": f"file:///{quote(bare)}"}
    try:
        resource |= {"mimeType": kind or "text/plain", "text": raw.decode("utf-8-sig")}
    except UnicodeDecodeError:
        blob = base64.b64encode(raw).decode("ascii")
        resource |= {"mimeType": kind or _BINARY, "blob": blob}
    return {"type": "resource", "resource": resource}


SECTION: Final = "answer"


def add_arguments(parser: Parser) -> None:
    flag = parser.flags(SECTION, "help ")
    parser.flags("choose", "help ")("number", nargs="?", default="", metavar="N")
    ways = parser.add_mutually_exclusive_group()
    flag("--text", to=ways, metavar="TEXT")
    flag("--choose", to=ways, metavar="NUMBER")
    flag("--call", to=ways, nargs="+", metavar=("TOOL", "name=value"))
    flag("--tool-error", to=ways, metavar="TEXT")
    flag("--result", to=ways, metavar="FILE")
    flag("--error", to=ways, nargs=2, metavar=("CODE", "MESSAGE"))
    flag("--message", to=ways, metavar="FILE")
    flag("--as-is", to=ways, action="store_true")
    flag("--start-over", to=ways, action="store_true")
    flag("--allow", to=ways, action="store_true")
    flag("--deny", to=ways, nargs="?", const="", metavar="REASON")
    flag("--hand-back", to=ways, action="store_true")
    flag("--change", to=ways, metavar="FILE")
    flag("--allow-like", to=ways, metavar="NUMBER")
    flag("--answers", to=ways, nargs="+", metavar="ANSWER")
    flag("--note", default="", metavar="TEXT")
    flag("--digest", default="", metavar="DIGEST")
    flag("--image", action="append", default=[], metavar="FILE")
    flag("--file", action="append", default=[], metavar="FILE")
    flag("--template", metavar="NAME")
    flag("--fault", metavar="NAME")
    flag("--send-anyway", action="store_true")
    flag("--keep-open", action="store_true")
    flag("--json", action="store_true")
    add_flags(parser, "home", "inbox", "lang")


def run(arguments: argparse.Namespace, settings: Settings) -> int:
    """Answer one message. Returns the exit status: 0 sent, 1 not sent, 2 asked in a wrong way."""
    inbox = open_inbox(settings)
    opened = choose(inbox, arguments.number)
    name = label(opened.facts, opened.key.number, listed_sessions(inbox))
    if not (arguments.digest or arguments.start_over):
        must_be_listed(home_folder(settings.home), arguments.number, opened, name)
    who = asker_of(opened.facts)
    answering = Answering(opened, name, who, arguments.json, digest=arguments.digest)
    if arguments.start_over:
        service.keep(opened, _first_text(answering)._replace(by=BY))
        to_stdout(answering.sentence("started over", name=name))
        return 0
    return _answer(answering, arguments, settings)


def _answer(answering: Answering, arguments: argparse.Namespace, settings: Settings) -> int:
    """Send the answer of the command line, else show the approval card, else open the editor."""
    _as_decision(answering.opened, arguments)
    _as_ready(answering.opened, arguments)
    if is_decided(arguments):
        if arguments.deny is None:
            _must_be_named(answering, arguments)
        return decide(answering, arguments)
    draft, anyway = _going_out(answering, arguments), bool(arguments.send_anyway)
    if draft is not None and not arguments.keep_open:
        return tell(answering, draft, submit(answering, draft, anyway=anyway))
    if (why_not := _closed(answering)) is not None:
        result = SendResult(Outcome.OVER, answering.opened.item)
        return not_sent(answering, answering.sentence("too late", happened=why_not), result)
    answering = replace(answering, shown_at=now())
    page = f"terminal {os.urandom(6).hex()}"
    with service.writing(answering.opened, page):
        if draft is None and answering.opened.approval is not None and can_ask():
            status = ask(answering)
            if status is not None:
                return status
        start = (draft or _starting_text(answering, arguments))._replace(page=page)
        if arguments.keep_open:
            return keep_open(answering, start, anyway=anyway)
        return in_editor(answering, start, home_folder(settings.home), anyway=anyway)


def _must_be_named(answering: Answering, arguments: argparse.Namespace) -> None:
    """Refuse to let go what may be another request than the one that was seen.

    Raises:
        StopError: its name may mean another one as well.
    """
    if not (arguments.digest or names_only(arguments.number, answering.opened)):
        raise stopped("choose", "not named", name=answering.name)


def _going_out(answering: Answering, arguments: argparse.Namespace) -> Draft | None:
    """Return the text that goes out at once; None to open the card or the editor."""
    approval = answering.opened.approval
    if arguments.as_is and answering.opened.held and approval:
        must_be_seen(approval, seen=bool(arguments.digest))
    draft = _given(arguments, answering)
    if draft is not None and approval:
        _must_be_named(answering, arguments)
    if arguments.fault is None:
        return draft
    start = draft or _starting_text(answering, arguments)
    return _broken(answering, start, arguments.fault)


def _as_decision(opened: OpenExchange, arguments: argparse.Namespace) -> None:
    """Take what can only mean a decision about an agent's prompt as that decision.

    Raises:
        ApprovalError: a note would reach nobody.
    """
    is_allowed = arguments.allow or arguments.allow_like is not None
    if arguments.note and not (is_allowed and opened.asked is not None):
        raise ApprovalError("note alone")
    if opened.prompt is None or opened.approval is None:
        return
    if arguments.choose is not None and opened.approval.questions:
        arguments.answers, arguments.choose = [arguments.choose], None
    if arguments.tool_error is not None:
        arguments.deny, arguments.tool_error = arguments.tool_error, None


def _as_ready(opened: OpenExchange, arguments: argparse.Namespace) -> None:
    """Take a decision about a step as the ready answer of its name, if there is one."""
    if opened.step is None:
        return
    ready = opened.step.ready(opened.item)
    decided = ALLOW if arguments.allow else DENY if arguments.deny is not None else ""
    if decided in ready:
        arguments.template, arguments.as_is = decided, True
        arguments.allow, arguments.deny = False, None


def _given(arguments: argparse.Namespace, answering: Answering) -> Draft | None:
    """Return the answer on the command line, or None for the editor.

    Raises:
        StopError: a file cannot be read.
    """
    if arguments.image or arguments.file:
        return _attached(arguments, answering)
    words = _words(arguments, answering)
    if words is not None:
        return words
    if arguments.call is not None:
        return _call(answering, *arguments.call, anyway=arguments.send_anyway)
    if arguments.error is not None:
        return Draft(_error(*arguments.error), TextForm.ERROR)
    for file, form in (arguments.result, TextForm.RESULT), (arguments.message, TextForm.MESSAGE):
        if file is not None:
            is_step = answering.opened.step is not None
            return Draft(typed_or_read(file), TextForm.STEP if is_step else form)
    return _starting_text(answering, arguments) if arguments.as_is else None


def _attached(arguments: argparse.Namespace, answering: Answering) -> Draft:
    """Return a result with pictures and files, and with the text beside them.

    Raises:
        StopError: this answer cannot have any, or one of them cannot be sent.
    """
    exchange = answering.opened.exchange
    if exchange is None or exchange.method != "tools/call":
        raise stopped("attach", "no call", name=answering.name)
    ways = (arguments.tool_error, arguments.error, arguments.result, arguments.message)
    if any(way is not None for way in ways) or arguments.as_is or arguments.template is not None:
        raise stopped("attach", "only text")
    draft = _words(arguments, answering)
    text = None if draft is None else draft.text
    result = result_with(
        exchange, answering.opened.negotiated, text, arguments.image, arguments.file
    )
    return Draft(json.dumps(result, ensure_ascii=False), TextForm.RESULT)


def _words(arguments: argparse.Namespace, answering: Answering) -> Draft | None:
    """Return the text for the model on the command line, or None."""
    if arguments.text is not None:
        return Draft(arguments.text, TextForm.TEXT)
    if arguments.choose is not None:
        return Draft(_option(answering, arguments.choose), TextForm.TEXT)
    if arguments.tool_error is not None:
        return Draft(arguments.tool_error, TextForm.TOOL_ERROR)
    return None


def _option(answering: Answering, wanted: str) -> str:
    """Return an option of the question, word for word.

    Raises:
        StopError: there is no such option. The sentence lists the options.
    """
    inquiry = answering.opened.inquiry
    options = () if inquiry is None else inquiry.labels
    for number, option in enumerate(options, 1):
        if wanted == str(number):
            return option
    if not options:
        told = " ".join((*told_of(answering.opened.asked), ""))
        raise stopped(SECTION, "no options", name=answering.name, told=told)
    listed = ", ".join(f"{number} {one_line(one, 60)}" for number, one in enumerate(options, 1))
    raise stopped(SECTION, "no option", number=wanted, choices=listed)


def _call(answering: Answering, tool: str, *words: str, anyway: bool) -> Draft:
    """Return a call of a tool, in the model's place. `anyway` takes any value for an argument.

    Raises:
        StopError: the model may not call it, or a word is no argument of it.
    """
    exchange = answering.opened.exchange
    tools = {} if exchange is None else tools_in(exchange)
    if exchange is None or not tools:
        raise stopped(SECTION, "no calls", name=answering.name)
    if tool not in tools:
        raise stopped(SECTION, "no call", name=tool, choices=", ".join(tools))
    schema = None if anyway else tools[tool].get("inputSchema")
    result = call(exchange, tool, forms.arguments(forms.typed_of(words), schema))
    return Draft(json.dumps(result, ensure_ascii=False), TextForm.RESULT)


def _error(code: str, message: str) -> str:
    """Write an error object. A code that is not an integer is left to the check to explain."""
    number = code.removeprefix("-")
    written = code if number.isascii() and number.isdigit() else json.dumps(code)
    return f'{{"code": {written}, "message": {json.dumps(message, ensure_ascii=False)}}}'


def _starting_text(answering: Answering, arguments: argparse.Namespace) -> Draft:
    """Return the text to start from: a template, the draft so far, or the start for this method."""
    if arguments.template is not None:
        text = _template(answering, arguments.template)
        is_step = answering.opened.step is not None
        return Draft(text, TextForm.STEP if is_step else TextForm.MESSAGE)
    if answering.opened.item.draft is not None:
        return Draft(answering.opened.item.draft.text, answering.opened.item.draft.form)
    return _first_text(answering)


def _broken(answering: Answering, draft: Draft, name: str) -> Draft:
    """Break an answer on purpose. It is sent with --send-anyway, as every broken one.

    Raises:
        StopError: there is no such fault. The sentence lists the faults.
    """
    known = {one.value: one for one in service.possible_faults(answering.opened)}
    if not known:
        raise stopped(SECTION, "no fault held", name=answering.name)
    if name not in known:
        raise stopped(SECTION, "no fault", name=name, choices=", ".join(known))
    return Draft(service.with_fault(answering.opened, draft, known[name]))


def _first_text(answering: Answering) -> Draft:
    """Return the text before any change: at a tap, the message as it came."""
    if answering.opened.held is not None:
        return service.as_it_came(answering.opened)
    return service.starting_draft(answering.opened)


def _template(answering: Answering, name: str) -> str:
    """Return a template by its name.

    Raises:
        StopError: there is no such template. The sentence lists the templates.
    """
    known = service.templates(answering.opened)
    if name not in known:
        raise stopped(
            SECTION,
            "no template" if known else "no templates",
            name=name,
            method=one_line(answering.opened.item.method, 60),
            version=answering.opened.item.protocol_version,
            choices=", ".join(known),
        )
    return known[name]


def _closed(answering: Answering) -> str | None:
    """Return why this exchange can no longer be answered; None while it can."""
    opened = answering.opened.again()
    return standing_sentence(opened) if opened.standing.is_over else None
