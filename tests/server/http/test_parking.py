"""Parked calls over HTTP: the next process at the port knows them, and who they belong to."""

import json
from pathlib import Path
from typing import Any

import pytest

from humanmcp.inbox.contract import Key, Reply
from humanmcp.inbox.folder import FolderInbox
from humanmcp.protocol.diagnostics.model import TextForm
from humanmcp.protocol.tables import versions
from tests.support.ports import own_port
from tests.support.serve_http import ServingHttp, answer_in, modern
from tests.support.waiting import until

TASKS: dict[str, Any] = {"extensions": {"io.modelcontextprotocol/tasks": {}}}


class Asking:
    """A client of one protocol version, at one port."""

    def __init__(self, version: str) -> None:
        """Have no session yet."""
        self.version = version
        self.headers: dict[str, str] = {}
        self.last = 10

    def ask(self, server: ServingHttp, method: str, client: str = "test", **params: Any) -> Any:  # noqa: ANN401 - JSON
        """Send a request and return its response."""
        self.last += 1
        if self.version == versions.R2026_07:
            body, headers = modern(method, self.last, client, **params)
            whole = json.loads(body)
            whole["params"]["_meta"][versions.META_CAPABILITIES] = TASKS
            name = params.get("taskId", params.get("name", ""))
            return server.ask(body=json.dumps(whole), headers={**headers, "Mcp-Name": name}).json
        self.headers = self.headers or server.initialize(self.version)
        body = json.dumps({"jsonrpc": "2.0", "id": self.last, "method": method, "params": params})
        return server.ask(body=body, headers=self.headers).json


@pytest.mark.parametrize("version", ["2025-11-25", "2026-07-28"])
def test_a_task_is_known_to_the_next_process_and_to_its_own_client(
    tmp_path: Path, version: str
) -> None:
    """The answer comes while no process runs; another visitor is told of no such task."""
    home, port = tmp_path / "inbox", own_port()
    book = tmp_path / "book.toml"
    book.write_text("[server]\npark = 0\n")
    flags = ("--book", str(book))
    client, inbox = Asking(version), FolderInbox(home)
    wish: dict[str, Any] = {"task": {}} if version == "2025-11-25" else {}
    call: dict[str, Any] = {"name": "ask_human", "arguments": {"question": "?"}, **wish}
    with ServingHttp(home, *flags, address=port) as first:
        result = client.ask(first, "tools/call", **call)["result"]
        task = result.get("task", result)["taskId"]
        first.kill()
    (facts,) = [one for one in inbox.sessions() if inbox.items(one.name)]
    (item,) = inbox.items(facts.name)
    assert item.is_parked
    key = Key(facts.name, item.key.number)
    inbox.send(key, Reply("go", TextForm.TEXT, by="desk"))
    with ServingHttp(home, *flags, address=port) as second:
        if version == "2026-07-28":
            other = client.ask(second, "tasks/get", "somebody else", taskId=task)
            assert other["error"]["code"] == -32602

        def done() -> Any:  # noqa: ANN401 - JSON
            state = client.ask(second, "tasks/get", taskId=task)["result"]
            return state if state["status"] == "completed" else None

        state = until(done, "the task to be completed")
        if version == "2025-11-25":
            state = client.ask(second, "tasks/result", taskId=task)
        assert answer_in(state) == "go"
        until(lambda: (answer := inbox.item(key).answer) and answer.fetched, "that it was fetched")
