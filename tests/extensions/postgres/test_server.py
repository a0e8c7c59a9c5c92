"""`humanmcp serve --inbox postgresql://…` refuses what it refuses with a folder, alike."""

import json
from pathlib import Path
from typing import Final

import pytest

from humanmcp.inbox import open_inbox
from humanmcp.inbox.contract import Inbox, Key, Reply
from humanmcp.protocol.conversation.transcript import Direction, Frame, to_json
from humanmcp.protocol.diagnostics.model import TextForm
from tests.support.postgres_server import PostgresServer
from tests.support.serve_http import Got, ServingHttp, initialize
from tests.support.serve_process import Serving
from tests.support.waiting import until

pytestmark = [pytest.mark.postgres, pytest.mark.xdist_group("postgres")]

AT: Final = "2026-11-20T00:00:00.000Z"
CALL: Final = '{"jsonrpc":"2.0","id":%s,"method":"tools/call","params":{"name":"%s"}}'
PING: Final = '{"jsonrpc":"2.0","id":9,"method":"ping"}'


@pytest.fixture
def where(tmp_path: Path, postgres: PostgresServer) -> str:
    """Make a database of its own."""
    return postgres.another(tmp_path.name)


@pytest.fixture
def desk(tmp_path: Path, where: str) -> Inbox:
    """Answer in the database."""
    return open_inbox(tmp_path / "desk", where)


@pytest.fixture
def recording(tmp_path: Path) -> str:
    """Write the recording of one call."""
    path = tmp_path / "recording.jsonl"
    answer = '{"jsonrpc":"2.0","id":1,"result":{"content":[]}}'
    frames = (
        Frame(1, AT, Direction.IN, (CALL % (1, "recorded")).encode()),
        Frame(2, AT, Direction.OUT, answer.encode()),
    )
    path.write_text("".join(to_json(one) + "\n" for one in frames), encoding="utf-8")
    return str(path)


def test_a_call_that_was_not_recorded_gets_the_error_that_a_folder_gives(
    tmp_path: Path, where: str, recording: str, desk: Inbox
) -> None:
    """The refusal stands in the transcript of the database, and the process says so at its end."""
    homes = {"folder": (), "database": ("--inbox", where)}
    heard, left = {}, {}
    for home, flags in homes.items():
        words = (*flags, "--replay", recording, "--otherwise", "error")
        with Serving(tmp_path / home, *words) as serving:
            serving.send(CALL % (5, "recorded"))
            assert json.loads(serving.hear()) == {
                "jsonrpc": "2.0",
                "id": 5,
                "result": {"content": []},
            }
            serving.send(CALL % (6, "other"))
            heard[home] = serving.hear()
            # Where to answer is said only if there was a quiet moment before the end.
            left[home] = (serving.close()[0], serving.last_words().partition("Requests without")[2])
    assert json.loads(heard["folder"])["error"]["code"] == -32602
    assert heard["database"] == heard["folder"]
    assert left["database"] == left["folder"]
    assert "tools/call other" in left["folder"][1]
    (session,) = desk.sessions()
    assert [one.text for one in desk.frames(session.name)][-1] == heard["database"]


def test_a_call_that_the_real_server_leaves_waits_in_the_database(
    tmp_path: Path, where: str, recording: str, desk: Inbox
) -> None:
    """A person answers it there; the server's command leads nowhere."""
    words = ("--inbox", where, "--replay", recording, "--otherwise", "forward", "--", "/nowhere")
    with Serving(tmp_path / "home", *words) as serving:
        serving.send(CALL % (6, "other"))
        (item,) = until(
            lambda: [one for each in desk.sessions() for one in desk.items(each.name)], "the call"
        )
        desk.send(Key(*item.key), Reply("by hand", TextForm.TEXT))
        assert json.loads(serving.hear())["result"]["content"][0]["text"] == "by hand"
        assert serving.close()[0] == 3
        assert "Requests without a recorded answer: 1." in serving.last_words()


def test_while_the_database_is_away_a_client_is_told_to_come_back(
    tmp_path: Path, where: str, recording: str, postgres: PostgresServer
) -> None:
    """503 with an error of JSON-RPC, as where a folder cannot be written; then all goes on."""

    def asked_in_vain() -> Got | None:
        got = server.ask(body=initialize("2025-11-25"))
        return got if got.status == 503 else None

    with ServingHttp(tmp_path / "home", "--inbox", where, "--replay", recording) as server:
        headers = server.initialize()
        postgres.kill()
        try:
            refused = until(asked_in_vain, "the database is missed")
            assert refused.headers["retry-after"] == "1"
            assert refused.json["error"]["code"] == -32603
            assert "database" in refused.json["error"]["message"]
        finally:
            postgres.start()
        until(
            lambda: server.ask(body=initialize("2025-11-25")).status == 200,
            "a client gets in again",
        )
        assert server.ask(body=PING, headers=headers).json["result"] == {}
