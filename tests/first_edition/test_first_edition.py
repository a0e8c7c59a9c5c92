"""What users keep since the first edition goes on working: folders, transcripts, books."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pytest

from tests.serving import Serving, bare_environment
from tests.waiting import PATIENCE

if TYPE_CHECKING:
    from collections.abc import Iterator

HERE: Final = Path(__file__).parent
KEPT: Final = HERE / "home"
SESSIONS: Final = sorted(path.name for path in (KEPT / "sessions").iterdir())
KILLED: Final = "20261121T221425Z-a165"
FORMATS: Final = ("log", "pretty", "markdown", "mermaid", "html", "har", "server", "pytest")


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """Copy the kept folder to where it may be written, with the rights that it had."""
    copy = tmp_path / "home"
    shutil.copytree(KEPT, copy)
    for path in (copy, *copy.rglob("*")):
        path.chmod(0o700 if path.is_dir() else 0o600)
    return copy


def humanmcp(home: Path, *words: str, status: int = 0) -> str:
    """Run one command on the folder, and return what it prints."""
    ended = subprocess.run(
        [sys.executable, "-m", "humanmcp", *words, "--home", str(home), "--lang", "en"],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        env=bare_environment(home.parent),
        timeout=PATIENCE,
        check=False,
    )
    assert ended.returncode == status, ended.stderr.decode()
    return ended.stdout.decode()


def listed(home: Path) -> dict[tuple[str, int], dict[str, Any]]:
    """Return what `inbox --all` lists, by session and number."""
    found = json.loads(humanmcp(home, "inbox", "--all", "--json"))["items"]
    return {(item["session"], item["number"]): item for item in found}


def test_every_exchange_is_listed_as_it_was(home: Path) -> None:
    """State, message, answer and who gave it: all that the first edition said is still said."""
    now = listed(home)
    for then in json.loads((HERE / "inbox.json").read_text(encoding="utf-8")):
        item = now[then["session"], then["number"]]
        assert {name: item[name] for name in then} == then


def test_the_draft_of_a_killed_session_is_still_there(home: Path) -> None:
    """Half a sentence that somebody typed is what they find."""
    name = listed(home)[KILLED, 5]["name"]
    assert "half an ans" in humanmcp(home, "show", name)


@pytest.mark.parametrize("session", SESSIONS)
def test_every_transcript_is_read_to_the_byte(home: Path, session: str) -> None:
    """As jsonl it comes out as it went in."""
    kept = (KEPT / "sessions" / session / "transcript.jsonl").read_text(encoding="utf-8")
    assert humanmcp(home, "export", session, "--format", "jsonl") == kept


@pytest.mark.parametrize("form", FORMATS)
def test_a_transcript_can_be_exported_in_every_format(home: Path, form: str) -> None:
    """The words of the person who answered stand in each of them."""
    assert "two words" in humanmcp(home, "export", KILLED, "--format", form)


@pytest.fixture
def replaying(home: Path) -> Iterator[Serving]:
    """Serve from the transcript of the killed session."""
    transcript = home / "sessions" / KILLED / "transcript.jsonl"
    with Serving(home, "--replay", str(transcript)) as serving:
        yield serving


def test_a_transcript_can_be_replayed(replaying: Serving) -> None:
    """The call that was answered by hand is answered in the same words."""
    call = next(
        item
        for item in json.loads((HERE / "inbox.json").read_text(encoding="utf-8"))
        if item["answer"] and item["session"] == KILLED
    )
    replaying.say(call["line"])
    assert replaying.hear() == call["answer"]


def test_the_book_and_the_settings_are_read(home: Path) -> None:
    """A server that starts in the folder has the title, the tool and the rules of before."""
    opening = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "initialize",
        "params": {
            "protocolVersion": "2025-06-18",
            "capabilities": {},
            "clientInfo": {"name": "test", "version": "1"},
        },
    }
    call = {"name": "get-japan-forecast", "arguments": {"location": "東京"}}
    with Serving(home) as serving:
        serving.say(json.dumps(opening))
        assert '"name":"humanmcp"' in serving.hear()
        serving.say('{"jsonrpc":"2.0","method":"notifications/initialized"}')
        serving.say(json.dumps({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": call}))
        assert '"sunny"' in serving.hear()
    titles = {
        json.loads(path.read_text(encoding="utf-8"))["title"]
        for path in home.glob("sessions/*/session.json")
        if path.parent.name not in SESSIONS
    }
    assert titles == {"our class"}
