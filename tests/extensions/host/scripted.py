"""A server that does on command what servers do: swap answers, say nothing, ask back, die.

Runs in memory (a `ScriptedServer` at the other end of a pair) and as a process (this file), so that
one test can be run over both transports. Words on the command line: see `FLAGS`.
"""

import json
import os
import sys
from collections.abc import Callable
from typing import Any, Final

FLAGS: Final = (
    "no-tools",
    "modern",
    "unknown-version",
    "no-discover-answer",
    "no-initialize-answer",
    "late-discover",  # answers it when `initialize` has come
    "lost-discover",  # hears the second one only
    "refuses-initialize",
    "paged",
)
MODERN: Final = "2026-07-28"


class ScriptedServer:
    """One session. Give it lines, and it writes lines."""

    def __init__(self, write: Callable[[str], None], *flags: str) -> None:
        """Behave as the flags say."""
        self.write = write
        self.flags = flags
        self.seen: list[str] = []
        self.waiting: list[dict[str, Any]] = []
        self.answers: dict[str, Any] = {}
        self.asked: dict[str, Any] = {}
        self.changed = False
        self.form: dict[str, Any] | None = None
        self.held: dict[str, Any] | None = None
        self.lost = 0

    def receive(self, line: str) -> None:
        """Take one line."""
        self.seen.append(line)
        message = json.loads(line)
        if "method" not in message:
            self._answered(message)
        elif "id" in message:
            self._request(message)

    def _say(self, message: dict[str, Any]) -> None:
        self.write(json.dumps({"jsonrpc": "2.0", **message}, ensure_ascii=False))

    def _result(self, message: dict[str, Any], result: dict[str, Any]) -> None:
        self._say({"id": message["id"], "result": result})

    def _answered(self, message: dict[str, Any]) -> None:
        if message["id"] == "ask-form" and self.form is not None:
            self._result(self.form, {"answer": message.get("result", message.get("error"))})
            return
        self.answers[message["id"]] = message.get("result", message.get("error"))
        if set(self.answers) >= {"ask-roots", "ask-ping"} and self.asked:
            asked, self.asked = self.asked, {}
            self._result(asked, {"answers": self.answers})

    def _request(self, message: dict[str, Any]) -> None:
        method = message["method"]
        answers: dict[str, Callable[[dict[str, Any]], None]] = {
            "initialize": self._initialize,
            "server/discover": self._discover,
            "tools/list": self._list,
            "tools/call": self._call,
            "test/pair": self._pair,
            "test/silence": lambda _message: None,
            "test/seen": lambda message: self._result(message, {"lines": self.seen}),
            "test/ask": self._ask,
            "test/form": self._form,
            "test/change": self._change,
            "test/die": lambda _message: sys.exit(3),
        }
        if method in answers:
            answers[method](message)
        else:
            self._say({"id": message["id"], "error": {"code": -32601, "message": "no such"}})

    def _initialize(self, message: dict[str, Any]) -> None:
        if self.held is not None:
            self._answer_discover(self.held)
        if "no-initialize-answer" in self.flags:
            return
        if "refuses-initialize" in self.flags:
            told = {"supported": [MODERN], "requested": message["params"]["protocolVersion"]}
            error = {"code": -32022, "message": "unsupported version", "data": told}
            self._say({"id": message["id"], "error": error})
            return
        version = message["params"]["protocolVersion"]
        self._result(
            message,
            {
                "protocolVersion": "1999-01-01" if "unknown-version" in self.flags else version,
                "capabilities": {} if "no-tools" in self.flags else {"tools": {}},
                "serverInfo": {"name": "scripted", "version": "1.0.0"},
            },
        )

    def _list(self, message: dict[str, Any]) -> None:
        if "paged" in self.flags:
            self._list_page(message)
            return
        modern = {"ttlMs": 0, "cacheScope": "private", "resultType": "complete"}
        schema = {"type": "object", "properties": {"n": {"type": "integer"}}}
        names = ["count", *(["more"] if self.changed else [])]
        tools: dict[str, Any] = {"tools": [{"name": one, "inputSchema": schema} for one in names]}
        self._result(message, tools | (modern if "modern" in self.flags else {}))

    def _list_page(self, message: dict[str, Any]) -> None:
        """Tell of one tool a page."""
        at = int(message.get("params", {}).get("cursor", "1"))
        schema = {"type": "object", "properties": {"n": {"type": "integer"}}}
        more = {"nextCursor": str(at + 1)} if at < 3 else {}
        self._result(message, {"tools": [{"name": f"tool{at}", "inputSchema": schema}], **more})

    def _form(self, message: dict[str, Any]) -> None:
        """Ask with the form in the parameters; the answer to it is the answer."""
        self.form = message
        question = {"message": "Who are you?", "requestedSchema": message["params"]["form"]}
        self._say({"id": "ask-form", "method": "elicitation/create", "params": question})

    def _change(self, message: dict[str, Any]) -> None:
        self.changed = True
        self._say({"method": "notifications/tools/list_changed"})
        self._result(message, {})

    def _pair(self, message: dict[str, Any]) -> None:
        self.waiting.append(message)
        if len(self.waiting) == 2:
            for each in reversed(self.waiting):
                self._result(each, {"value": each["params"]["value"]})

    def _ask(self, message: dict[str, Any]) -> None:
        self.asked = message
        self._say({"id": "ask-roots", "method": "roots/list"})
        self._say({"id": "ask-ping", "method": "ping"})
        said = {"level": "info", "data": "hello"}
        self._say({"method": "notifications/message", "params": said})

    def _discover(self, message: dict[str, Any]) -> None:
        if "late-discover" in self.flags:
            self.held = message
        elif "lost-discover" in self.flags and not self.lost:
            self.lost += 1
        else:
            self._answer_discover(message)

    def _answer_discover(self, message: dict[str, Any]) -> None:
        if "modern" in self.flags:
            self._result(
                message,
                {
                    "resultType": "complete",
                    "supportedVersions": [MODERN],
                    "capabilities": {"tools": {}},
                    "ttlMs": 0,
                    "cacheScope": "private",
                },
            )
        elif "no-discover-answer" not in self.flags:
            self._say({"id": message["id"], "error": {"code": -32601, "message": "no such"}})

    def _call(self, message: dict[str, Any]) -> None:
        """Ask for a name first (2026-07-28), then greet; in a session with a handshake, count."""
        params = message["params"]
        if "modern" not in self.flags:
            text = str(params.get("arguments", {}).get("n", 0) + 1)
            self._result(message, {"content": [{"type": "text", "text": text}]})
            return
        answers = params.get("inputResponses")
        if answers is None:
            field = {"type": "object", "properties": {"name": {"type": "string"}}}
            question = {"message": "Who are you?", "mode": "form", "requestedSchema": field}
            self._result(
                message,
                {
                    "resultType": "input_required",
                    "inputRequests": {
                        "who": {"method": "elicitation/create", "params": question},
                        "where": {"method": "roots/list"},
                    },
                    "requestState": "state-1",
                },
            )
            return
        assert params["requestState"] == "state-1"
        name = answers["who"].get("content", {}).get("name", "nobody")
        roots = answers["where"]["roots"][0]["uri"]
        self._result(
            message,
            {
                "resultType": "complete",
                "content": [{"type": "text", "text": f"hello {name} at {roots}"}],
            },
        )


def main() -> None:
    """Serve stdin and stdout."""

    def write(line: str) -> None:
        os.write(1, line.encode() + b"\n")

    server = ScriptedServer(write, *sys.argv[1:])
    for line in sys.stdin.buffer:
        server.receive(line.decode())


if __name__ == "__main__":
    main()
