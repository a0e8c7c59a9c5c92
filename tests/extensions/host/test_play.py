"""`humanmcp play`: a whole table of MCP, with people in any of its seats."""

import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any, Self

import pytest

from humanmcp import launch
from humanmcp.cli import main
from humanmcp.extensions.host.play import people_of
from humanmcp.extensions.host.table import ROLES
from humanmcp.inbox.contract import Item, Life, OutgoingResult, Reply, Role
from humanmcp.inbox.folder import FolderInbox
from humanmcp.locales.stop import StopError
from humanmcp.protocol.conversation.transcript import Direction
from humanmcp.protocol.diagnostics.model import TextForm
from tests.support.desk_process import Desking
from tests.support.ports import own_port
from tests.support.serve_process import bare_environment
from tests.support.waiting import until

SCHEMA = {"type": "object", "properties": {"location": {"type": "string"}}}
TOOL = {"name": "get-japan-forecast", "inputSchema": SCHEMA}


class Playing:
    """A running table, and one person who walks from seat to role."""

    def __init__(self, home: Path, people: str, *flags: str, page: bool = False) -> None:
        """Lay it, with its page or without."""
        self.process = subprocess.Popen(
            [
                *(sys.executable, "-m", "humanmcp", "play"),
                *(() if page else ("--no-desk",)),
                *("--people", people, "--home", str(home), "--lang", "en", *flags),
            ],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            encoding="utf-8",
            env=bare_environment(home.parent) | {"PYTHONUTF8": "1"},
        )
        self.inbox = FolderInbox(home)

    def __enter__(self) -> Self:
        """Use it as a context: it is gone afterwards."""
        return self

    def __exit__(self, *_: object) -> None:
        """Stop it."""
        self.process.terminate()
        self.process.communicate()

    def session(self, role: Role) -> str | None:
        """Return the session of a role, as soon as there is one."""
        found = [
            facts.name
            for facts in self.inbox.sessions()
            if facts.title == role.value and facts.life is Life.OPEN
        ]
        return found[0] if found else None

    def waiting(self, role: Role, method: str) -> Item:
        """Return what waits in a role."""

        def find() -> Item | None:
            session = self.session(role)
            items = self.inbox.items(session) if session else ()
            return next((one for one in items if one.method == method), None)

        return until(find, f"{method} in the {role.value}'s session")

    def answer(
        self,
        role: Role,
        method: str,
        result: dict[str, Any] | str,
        form: TextForm = TextForm.RESULT,
        *,
        anyway: bool = False,
    ) -> Item:
        """Answer it, and wait until the answer was taken."""
        item = self.waiting(role, method)
        text = result if isinstance(result, str) else json.dumps(result)
        self.inbox.send(item.key, Reply(text, form, by="desk", anyway=anyway))
        until(lambda: self.inbox.item(item.key).state.value == "answered", f"{method} answered")
        return item

    def end(self) -> str:
        """Wait for the end of the play; return what the terminal showed."""
        out, err = self.process.communicate(timeout=60)
        assert self.process.returncode == 0, err
        return out


def prompt(text: str) -> dict[str, Any]:
    """Fill the host's form."""
    return {"action": "accept", "content": {"prompt": text}}


def asks(place: str) -> dict[str, Any]:
    """Ask for a forecast, in the model's place."""
    name = "weather__get-japan-forecast"
    call = {"type": "tool_use", "id": f"call-{place}", "name": name, "input": {"location": place}}
    return {"role": "assistant", "content": [call], "model": "a person", "stopReason": "toolUse"}


@pytest.mark.parametrize(
    ("language", "sample", "answers"),
    [
        ("en", "played by a sample", ("sunny", "too far away, look it up yourself")),
        ("ja", "サンプルのプログラムが担当します", ("晴れ", "遠い。自分で調べて")),
    ],
)
def test_nobody_plays_and_the_conversation_is_finished(
    tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
    language: str,
    sample: str,
    answers: tuple[str, ...],
) -> None:
    """Four samples: the weather conversation, in the reader's language, to the last words."""
    home = ["--home", str(tmp_path / "box")]
    assert main(["play", "--people", "nobody", "--lang", language, *home]) == 0
    shown = capfd.readouterr().out
    assert shown.count(sample) == 4
    lines = [line.split(" | ") for line in shown.splitlines() if " | " in line]
    assert [who.strip() for who, _what in lines] == [
        *("host", "model", "model", "model"),
        *("client", "server", "client", "server", "model"),
    ]
    assert all(answer in shown for answer in answers)


def test_one_person_holds_all_four_seats(tmp_path: Path) -> None:
    """Host, client, server and model in one sitting, through one inbox and one check."""
    with Playing(tmp_path / "box", "all") as table:
        table.answer(
            Role.SERVER,
            "initialize",
            {
                "protocolVersion": "2025-11-25",
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "me", "version": "1"},
            },
        )
        table.answer(Role.SERVER, "tools/list", {"tools": [TOOL]})
        table.answer(Role.HOST, "elicitation/create", prompt("What is the weather?"))
        asked = table.answer(Role.MODEL, "sampling/createMessage", asks("東京"))
        shown = json.loads(asked.line)["params"]
        assert shown["messages"][0]["content"]["text"] == "What is the weather?"
        assert shown["tools"][0]["name"] == "weather__get-japan-forecast"
        allow = {"action": "accept", "content": {"choice": "call"}}
        decided = table.answer(Role.HOST, "elicitation/create", allow)
        assert "get-japan-forecast of weather" in json.loads(decided.line)["params"]["message"]
        called = table.answer(Role.SERVER, "tools/call", "sunny", TextForm.TEXT)
        assert json.loads(called.line)["params"]["name"] == "get-japan-forecast"
        table.answer(Role.MODEL, "sampling/createMessage", "It is sunny.", TextForm.TEXT)
        last = table.answer(Role.HOST, "elicitation/create", {"action": "decline"})
        assert json.loads(last.line)["params"]["message"] == "It is sunny."
        shown_lines = table.end()
        client = next(one for one in table.inbox.sessions() if one.title == "client")
        wire = (Direction.IN, Direction.OUT)
        recorded = [one for one in table.inbox.frames(client.name) if one.direction in wire]
        frames = [json.loads(frame.raw) for frame in recorded]
    assert "  host | What is the weather?" in shown_lines
    assert " model | It is sunny." in shown_lines
    assert client.role is Role.CLIENT
    assert [one["method"] for one in frames if "method" in one] == [
        "initialize",
        "notifications/initialized",
        "tools/list",
        "tools/call",
    ]


def test_a_person_at_the_client_says_something_first(tmp_path: Path) -> None:
    """The client's role: a request of one's own goes to the server, and its answer is recorded."""
    with Playing(tmp_path / "box", "client,host") as table:
        table.waiting(Role.HOST, "elicitation/create")
        client = until(lambda: table.session(Role.CLIENT), "the client's session")
        ticket = table.inbox.submit(client, Reply('{"jsonrpc":"2.0","id":"mine","method":"ping"}'))
        until(
            lambda: table.inbox.outgoing_result(client, ticket) == OutgoingResult(),
            "the ping to go out",
        )
        until(
            lambda: any(b'"id":"mine","result"' in one.raw for one in table.inbox.frames(client)),
            "its answer",
        )
        table.answer(Role.HOST, "elicitation/create", {"action": "cancel"})
        table.end()


def test_the_host_may_answer_in_the_tool_s_place_or_refuse(tmp_path: Path) -> None:
    """At the desk: what the host types is what the model reads; the server is not asked."""
    with Playing(tmp_path / "box", "host,model") as table:
        table.answer(Role.HOST, "elicitation/create", prompt("weather?"))
        table.answer(Role.MODEL, "sampling/createMessage", asks("東京"))
        instead = {"action": "accept", "content": {"choice": "answer", "answer": "foggy"}}
        table.answer(Role.HOST, "elicitation/create", instead)
        again = table.answer(Role.MODEL, "sampling/createMessage", asks("大阪"))
        assert "foggy" in again.line
        table.answer(Role.HOST, "elicitation/create", {"action": "decline"})
        told = table.answer(Role.MODEL, "sampling/createMessage", "Well.", TextForm.TEXT)
        assert "The user refused this tool call." in told.line
        table.answer(Role.HOST, "elicitation/create", {"action": "decline"})
        assert "client | tools/call" not in table.end()


def test_a_tool_that_nobody_offers_is_answered(tmp_path: Path) -> None:
    """A person in the model's role types a wrong name, and no call waits for anybody."""
    with Playing(tmp_path / "box", "model") as table:
        wrong = asks("東京")
        wrong["content"][0]["name"] = "weather__get-forecast"
        table.answer(Role.MODEL, "sampling/createMessage", wrong, anyway=True)
        told = table.answer(Role.MODEL, "sampling/createMessage", "Well.", TextForm.TEXT)
        assert "Unknown tool: get-forecast" in told.line
        table.end()


def test_links_are_made_anew_at_the_port_that_is_wanted(tmp_path: Path) -> None:
    """Each opens its seat once; Enter in the terminal prints others."""
    port = own_port()
    with Playing(tmp_path / "box", "model", "--port", str(port), page=True) as table:
        out, into = table.process.stdout, table.process.stdin
        assert out is not None
        assert into is not None

        def link() -> str:
            return next(line for line in out if line.lstrip().startswith("model")).split()[1]

        first = link()
        assert first.startswith(f"http://127.0.0.1:{port}/")
        assert "Press Enter here for new links" in next(out)
        into.write("\n")
        into.flush()
        second = link()
        assert second.partition("#k=")[0] == first.partition("#k=")[0]
        assert second != first


def test_seats_are_named_and_mistyped_ones_are_explained() -> None:
    """`all`, `nobody`, a list; anything else names the four."""
    assert people_of("all") == frozenset(ROLES)
    assert people_of("nobody") == frozenset()
    assert people_of("model, server") == {Role.MODEL, Role.SERVER}
    with pytest.raises(StopError, match="the roles are host, client, server, model"):
        people_of("modle")


@pytest.mark.skipif(sys.platform == "win32", reason="no signals of this kind")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_play_that_is_broken_off_takes_its_page_with_it(tmp_path: Path, number: int) -> None:
    """Ctrl-C, `kill` and a closed terminal: nothing that play started runs on."""
    home = tmp_path / "box"
    with Playing(home, "model", page=True) as table:
        until(lambda: launch.find(home), "the page")
        table.waiting(Role.MODEL, "sampling/createMessage")
        table.process.send_signal(number)
        table.process.communicate(timeout=60)
    until(lambda: launch.find(home) is None, "the end of the page")


def test_a_page_that_was_there_before_outlives_the_play(tmp_path: Path) -> None:
    """It belongs to whoever started it."""
    with Desking(tmp_path / "box") as desk:
        with Playing(tmp_path / "box", "model", page=True) as table:
            table.waiting(Role.MODEL, "sampling/createMessage")
            table.process.terminate()
            table.process.communicate(timeout=60)
        assert launch.find(tmp_path / "box") == desk.facts
