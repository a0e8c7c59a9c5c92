"""Real clients have the weather session with a script that edits text files."""

import json
from pathlib import Path
from typing import Any, Final

import pytest

from humanmcp.inbox import records
from humanmcp.inbox.client_seconds import ClientSeconds
from humanmcp.inbox.contract import Life
from humanmcp.inbox.folder import FolderInbox
from humanmcp.protocol.conversation.stages import ExchangeState
from tests.clients.hosts import (
    CLIENT_2_AUTO,
    CLIENT_2_LEGACY,
    CLIENT_2_PIN,
    PYTHON_AUTO,
    PYTHON_LEGACY,
    SDK_1,
    Host,
    Understood,
    with_node,
)
from tests.support.person import Person, weather

HANDSHAKE: Final = "2024-11-05"
MODERN: Final = "2026-07-28"


def old_server(request: dict[str, Any]) -> str | None:
    """Answer as somebody whose server knows nothing of 2026."""
    if request["method"] == "server/discover":
        return '"error":{"code":-32601,"message":"Method not found"}'
    return weather(request)


def with_a_probe_answered(request: dict[str, Any]) -> str | None:
    """Answer all but server/discover: without --by-hand that has been answered already."""
    return None if request["method"] == "server/discover" else weather(request)


def check_weather(understood: Understood, version: str) -> None:
    """One tool, "sunny", and both refusals word by word."""
    assert understood.tools == ["get-japan-forecast"]
    sunny, osaka, hokkaido = understood.answers
    assert sunny == {"text": "sunny"}
    assert osaka["code"] == -32602
    assert osaka["message"].endswith("遠い。自分で調べて")
    assert hokkaido["code"] == -32602
    assert hokkaido["message"].endswith("東京の天気以外知りません。自分でググって")
    assert understood.version in (version, "")


def check_inbox(home: Path) -> None:
    """Every session ended in order, nothing waits, and what was answered is kept."""
    inbox = FolderInbox(home)
    answered = 0
    for facts in inbox.sessions():
        assert facts.life is Life.CLOSED
        assert not inbox.items(facts.name)
        answered += len(inbox.items(facts.name, ExchangeState.ANSWERED))
    assert answered >= 4


@pytest.mark.parametrize(
    "host", [PYTHON_LEGACY, with_node(SDK_1), with_node(CLIENT_2_LEGACY)], ids=str
)
def test_a_handshake_client_gets_every_answer_by_hand(host: Host, tmp_path: Path) -> None:
    """Initialize, tools/list and three calls, each typed into out.txt."""
    home = tmp_path / "home"
    with Person(home) as person:
        check_weather(host.play(home, "--by-hand"), HANDSHAKE)
    assert len(person.answered) == 5
    check_inbox(home)


@pytest.mark.parametrize("host", [PYTHON_AUTO, with_node(CLIENT_2_AUTO)], ids=str)
def test_a_client_that_probes_falls_back_when_the_person_says_so(
    host: Host, tmp_path: Path
) -> None:
    """-32601 to server/discover, then initialize and the session of 2024."""
    with Person(tmp_path / "home", old_server) as person:
        check_weather(host.play(tmp_path / "home", "--by-hand"), HANDSHAKE)
    methods = [json.loads(line)["method"] for line in person.seen]
    assert methods.index("server/discover") < methods.index("initialize")


def test_a_client_whose_probe_nobody_answers_falls_back(tmp_path: Path) -> None:
    """After ten seconds of its own, `initialize` comes on the same pipe, and all goes on."""
    home = tmp_path / "home"
    with Person(home, with_a_probe_answered) as person:
        check_weather(PYTHON_AUTO.play(home, "--by-hand"), HANDSHAKE)
    methods = [json.loads(line)["method"] for line in person.seen]
    assert methods.index("server/discover") < methods.index("initialize")
    assert len(list(home.glob("sessions/*"))) == 1


@pytest.mark.parametrize(
    "host", [PYTHON_AUTO, with_node(CLIENT_2_AUTO), with_node(CLIENT_2_PIN)], ids=str
)
def test_a_modern_client_gets_every_answer_by_hand(host: Host, tmp_path: Path) -> None:
    """BRIDGE-9 in 2026-07-28: no handshake; server/discover is typed too."""
    with Person(tmp_path / "home") as person:
        check_weather(host.play(tmp_path / "home", "--by-hand"), MODERN)
    assert "initialize" not in {json.loads(line)["method"] for line in person.seen}


@pytest.mark.parametrize(
    ("host", "version"),
    [
        pytest.param(PYTHON_LEGACY, HANDSHAKE, id="python-legacy"),
        pytest.param(PYTHON_AUTO, MODERN, id="python-auto"),
        pytest.param(SDK_1, HANDSHAKE, marks=pytest.mark.node, id="sdk1"),
        pytest.param(CLIENT_2_LEGACY, HANDSHAKE, marks=pytest.mark.node, id="client2-legacy"),
        pytest.param(CLIENT_2_AUTO, MODERN, marks=pytest.mark.node, id="client2-auto"),
        pytest.param(CLIENT_2_PIN, MODERN, marks=pytest.mark.node, id="client2-pin"),
    ],
)
def test_every_client_is_served_without_any_flag(host: Host, version: str, tmp_path: Path) -> None:
    """As a host starts it: probes are answered by themselves, everything else by the person."""
    home = tmp_path / "home"
    with Person(home, with_a_probe_answered):
        check_weather(host.play(home), version)
    check_inbox(home)


@pytest.mark.parametrize("host", [PYTHON_AUTO, with_node(SDK_1), with_node(CLIENT_2_AUTO)], ids=str)
def test_every_client_is_served_in_a_folder_of_the_persons_choice(
    host: Host, tmp_path: Path
) -> None:
    """With --files; a client that starts a probe first does not get in its own way."""
    home, files = tmp_path / "home", tmp_path / "files"
    home.mkdir(mode=0o700)
    for name in ("mcp", "client2"):
        ClientSeconds(home, records.GRACE).put(name, 0.3)
    with Person(files, with_a_probe_answered) as person:
        host.play(home, "--files", str(files))
    assert len(person.answered) >= 4
    assert not (tmp_path / "files-2").exists()


def test_a_client_that_probes_begins_with_the_handshake_where_a_person_opens(
    tmp_path: Path,
) -> None:
    """Nobody answers server/discover; `in.txt` has it and all that follows."""
    home, files = tmp_path / "home", tmp_path / "files"
    home.mkdir(mode=0o700)
    ClientSeconds(home, records.GRACE).put("mcp", 0.3)
    with Person(files, with_a_probe_answered):
        check_weather(PYTHON_AUTO.play(home, "--files", str(files)), HANDSHAKE)
    lines = (files / "in.txt").read_text(encoding="utf-8").splitlines()
    assert [json.loads(line)["method"] for line in lines[:3]] == [
        "server/discover",
        "initialize",
        "notifications/initialized",
    ]
    assert [path.name for path in files.glob("in.*.txt")] == []
    assert f"Protocol version: {HANDSHAKE}" in (files / "status.txt").read_text(encoding="utf-8")


def test_a_server_without_2026_is_opened_with_the_handshake(tmp_path: Path) -> None:
    """`--versions`: the probe is refused at once."""
    home, files = tmp_path / "home", tmp_path / "files"
    with Person(files, with_a_probe_answered) as person:
        flags = ("--files", str(files), "--versions", "2024-11-05,2025-11-25")
        check_weather(PYTHON_AUTO.play(home, *flags), HANDSHAKE)
    assert len(person.answered) == 5


@pytest.mark.node
def test_a_client_that_counts_from_0_gets_its_answers(tmp_path: Path) -> None:
    """The first id of the npm clients is 0, which is falsy in most languages."""
    with Person(tmp_path / "home") as person:
        check_weather(SDK_1.play(tmp_path / "home", "--by-hand"), HANDSHAKE)
    first = json.loads(person.seen[0])
    assert first["id"] == 0
    assert json.loads(person.answered[0])["id"] == 0
