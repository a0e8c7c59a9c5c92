"""The preview of a tool's page beside its answer: a host of one page, which a person steers.

Theory of operation. `static/frame.html` is a document of the desk below no login path, without a
secret, and in an origin of its own (`guard.FRAMED`). A script of the desk sends it the text of the
page, which takes its place: so no address has the page. `static/preview.js` plays the host, lists
each message, and does wrong what a person chooses. No message leaves the window: a person answers
the calls of the page.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, Final

from humanmcp.answering.reactions import WATCHED
from humanmcp.answering.summary import calls
from humanmcp.desk.context import device_of, script_json
from humanmcp.desk.rendering import render
from humanmcp.extensions.apps.report import LINK
from humanmcp.locales import say, sentences_of, spoken_language
from humanmcp.protocol.conversation.stages import ExchangeState
from humanmcp.protocol.json.jsonrpc import Message
from humanmcp.protocol.json.tree import object_at, text_at
from humanmcp.protocol.json.undecoded import is_large
from humanmcp.protocol.tables.methods import APP_SCHEME
from humanmcp.protocol.validation.rules.apps import page_of
from humanmcp.protocol.validation.starting_draft import first_value

if TYPE_CHECKING:
    from collections.abc import Iterable

    from starlette.requests import Request

    from humanmcp.answering.open_exchange import OpenExchange
    from humanmcp.protocol.conversation.transcript import Frame

_SCRIPT: Final = "js."
"""The beginning of the codes of sentences for the script."""


def below(request: Request, opened: OpenExchange) -> str:
    """Return the preview for an exchange about a page of a tool.

    Nothing on a phone, nor where Python runs in the browser: no server sends the policy of a frame.

    Of an answer that was sent, or that a tap holds, the page is a stranger's: nothing is shown
    before a click.
    """
    item = opened.item
    if device_of(request) or sys.platform == "emscripten":
        return ""
    uri = text_at(opened.params or _asked(opened), "uri")
    if item.method != "resources/read" or not uri.startswith(APP_SCHEME):
        return ""
    name, tool = next(
        ((n, one) for n, one in opened.negotiated.known_tools.items() if page_of(one) == uri),
        ("", {}),
    )
    frames = opened.inbox.last_frames_before(item.key.session, 0, WATCHED)
    sent = item.answer if item.state is ExchangeState.ANSWERED else None
    known = {
        "uri": uri,
        "tool": {"name": name, "inputSchema": object_at(tool, "inputSchema")},
        "sent": None if sent is None else sent.line,
        "words": {
            code.removeprefix(_SCRIPT): text
            for code, text in sentences_of("apps", spoken_language()).items()
            if code.startswith(_SCRIPT)
        },
    }
    arguments, result = last_call(frames, name) if name else ({}, None)
    if result is None:
        result = {"content": [{"type": "text", "text": say("apps", "preview text")}]}
        result["structuredContent"] = first_value(object_at(tool, "outputSchema")) or {}
    return render(
        "apps/preview.html",
        known=script_json(known | {"arguments": arguments, "result": result}),
        link=LINK,
    )


def _asked(opened: OpenExchange) -> dict[str, Any]:
    """Return the parameters of the request whose response a tap holds."""
    asked = opened.read(opened.item.held.asked) if opened.item.held.asked else None
    return asked.params if isinstance(asked, Message) else {}


def last_call(frames: Iterable[Frame], tool: str) -> tuple[dict[str, Any], dict[str, Any] | None]:
    """Return the arguments and the result of the last call of a tool; None before its result."""
    for one in reversed(calls(frame for frame in frames if not is_large(frame.text))):
        if (one.method, one.name) == ("tools/call", tool):
            return one.arguments, one.result if isinstance(one.result, dict) else None
    return {}, None
