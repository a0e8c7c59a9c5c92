"""`humanmcp serve --replay`: the server is played as it was recorded."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from humanmcp.protocol.transcript import Frame, Way, to_json
from humanmcp.stub.replaying import NoReplayError, read_replay
from tests.serving import Serving

if TYPE_CHECKING:
    from pathlib import Path

ASKED = (
    '{"jsonrpc":"2.0","id":36,"method":"tools/call",'
    '"params":{"name":"calc_add","arguments":{"a":"1","b":"2"}}}'
)
ANSWER = '{"jsonrpc":"2.0","id":36,"result":{"content":"as broken as it was"}}'


@pytest.fixture
def transcript(tmp_path: Path) -> Path:
    """Write a transcript of one call."""
    frames = (
        Frame(1, "2026-11-20T00:00:00.000Z", Way.IN, ASKED.encode()),
        Frame(2, "2026-11-20T00:00:00.000Z", Way.OUT, ANSWER.encode()),
    )
    path = tmp_path / "recorded" / "transcript.jsonl"
    path.parent.mkdir()
    path.write_text("".join(to_json(frame) + "\n" for frame in frames) + "torn", encoding="utf-8")
    return path


def test_a_recorded_call_is_answered_as_recorded(tmp_path: Path, transcript: Path) -> None:
    """Right or wrong, with the id of the request; the transcript says where it comes from."""
    with Serving(tmp_path / "home", "--replay", str(transcript)) as serving:
        serving.say(ASKED.replace("36", "5"))
        assert serving.hear() == ANSWER.replace("36", "5")
        frames = (serving.session / "transcript.jsonl").read_text(encoding="utf-8").splitlines()
        assert json.loads(frames[-1])["by"] == "replay: 2"
        assert serving.close()[0] == 0


def test_what_was_not_recorded_is_left_to_the_person(tmp_path: Path, transcript: Path) -> None:
    """It waits in the inbox like any other call."""
    with Serving(tmp_path / "home", "--replay", str(transcript)) as serving:
        serving.say(ASKED.replace('"1"', '"9"'))
        serving.type('{"result":{"content":[{"type":"text","text":"11"}]}}')
        assert json.loads(serving.hear())["result"]["content"][0]["text"] == "11"


@pytest.mark.parametrize("wanted", ["file", "folder", "session"])
def test_a_recording_is_named_in_three_ways(tmp_path: Path, transcript: Path, wanted: str) -> None:
    """The transcript, its folder, or the name of a session in the inbox."""
    home = tmp_path / "home"
    session = home / "sessions" / "20261120T000000Z-abcd"
    session.mkdir(parents=True)
    (session / "transcript.jsonl").write_bytes(transcript.read_bytes())
    names = {"file": str(transcript), "folder": str(transcript.parent), "session": session.name}
    assert len(read_replay(names[wanted], home, "exact")) == 1


def test_a_recording_that_is_none_is_said(tmp_path: Path) -> None:
    """A missing file, and a file without an answer."""
    empty = tmp_path / "empty.jsonl"
    empty.write_text("hello\n", encoding="utf-8")
    for path in (empty, tmp_path / "nowhere.jsonl"):
        with pytest.raises(NoReplayError, match="Name a transcript"):
            read_replay(str(path), tmp_path, "exact")
