"""No page shows a character of the wire that is not drawn: names, words, ids and addresses."""

import json
import re
from pathlib import Path
from typing import Any

from humanmcp import extensions
from tests.support.desk_process import Desking
from tests.support.serve_process import Serving
from tests.support.waiting import until

HIDDEN = "\u202e\u200b\u2028\u0085\u0007\u180b\ufff0\U000e0100"
_TO_SEND = re.compile(
    r'<textarea.*?</textarea>|<data id="initial-state".*?</data>|<button name="text" value="[^"]*"',
    re.DOTALL,
)
"""What a page sends back has the characters themselves."""


def hiding(value: Any) -> Any:  # noqa: ANN401 - any JSON value
    """Hide characters in each text of a value, and in each name of a member but the known ones."""
    match value:
        case str():
            return value[:1] + HIDDEN + value[1:]
        case list():
            return [hiding(one) for one in value]
        case dict():
            return {name: hiding(one) for name, one in value.items()}
        case _:
            return value


def call(name: str, **arguments: object) -> tuple[str, dict[str, Any]]:
    """Return a call of a tool."""
    return "tools/call", {"name": name, "arguments": arguments}


ASKED = (
    call("approve", tool_name=hiding("Bash"), input={"command": hiding("ls"), hiding("x"): 1}),
    call("approve", tool_name="Write", input=hiding({"file_path": "/a", "content": "x\ny"})),
    call("ask_human", **hiding({"question": "Which?", "options": ["a", "b"], "context": "Now."})),
    call(
        "approve",
        tool_name="AskUserQuestion",
        input={"questions": [hiding({"question": "Q?", "options": [{"label": "l"}]})]},
    ),
    call(hiding("unknown"), **{hiding("city"): hiding("Tokyo")}),
    (hiding("x/y"), hiding({"z": "z"})),
)


def test_no_page_shows_a_character_that_is_not_drawn(home: Path, desk: Desking) -> None:
    """Each page of a client that hides them wherever a text can be."""
    with Serving(home, "--handshake", "book", "--approvals") as host:
        who = hiding({"name": "evil", "version": "1", "title": "t"})
        shaking = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": who}
        host.say(_line("initialize", shaking, 1))
        host.hear()
        host.say('{"jsonrpc":"2.0","method":"notifications/initialized"}')
        host.say(_line("tools/list", {}, 2))
        host.hear()
        for number, (method, params) in enumerate(ASKED):
            host.say(_line(method, params, hiding(f"id {number}")))
        waiting = until(lambda: _all_waiting(desk), "all of it")
        session = waiting[0]["session"]
        paths = ["/", "/list", "/history", "/compare", "/present", "/settings", "/connect"]
        paths += [link.address for link in extensions.links("holding")]
        bar = [link.address for link in extensions.links("bar")]
        paths += [*bar, *(f"{one}?session={session}" for one in bar), f"/say/{session}"]
        paths += [f"/line/{session}/{seq}" for seq in range(1, 10)]
        for one in waiting:
            at = f"/m/{session}/{one['number']}"
            kept = [link.address.format(**one) for link in extensions.links("answer")]
            paths += [at, f"{at}/status", f"{at}/ask", *kept]
        for path in paths:
            shown = _TO_SEND.sub("", desk.page(path))
            assert (path, sorted(set(shown) & set(HIDDEN))) == (path, [])


def _line(method: str, params: object, token: object) -> str:
    return json.dumps({"jsonrpc": "2.0", "id": token, "method": method, "params": params})


def _all_waiting(desk: Desking) -> Any:  # noqa: ANN401 - any JSON value
    waiting = desk.get("/api/exchanges")["waiting"]
    return waiting if len(waiting) == len(ASKED) else None
