"""Pictures and files in an answer that is given on the command line: L8."""

import base64
import json
from pathlib import Path
from typing import Final

import pytest

from humanmcp.terminal import answer
from tests.terminal.rooms import INITIALIZE, Room, Shell

PIXEL: Final = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)


def test_a_text_a_picture_and_files_go_out_in_one_answer(
    room: Room, shell: Shell, tmp_path: Path
) -> None:
    """The picture by its bytes, not its name; a file by its bare name, as text or as a blob."""
    picture, words, raw = tmp_path / "p.txt", tmp_path / "ノート.md", tmp_path / "x.bin"
    picture.write_bytes(PIXEL)
    words.write_text("# sunny", "utf-8")
    raw.write_bytes(b"\xff\x00")
    session = room.session()
    room.ask(session, 3)
    room.serve(session)
    given = ["--image", str(picture), "--file", str(words), "--file", str(raw)]
    ran = shell("answer", "3", "--text", "Look:", *given)
    assert ran.status == 0, ran.err
    content = json.loads(ran.out.splitlines()[-1])["result"]["content"]
    assert content[0] == {"type": "text", "text": "Look:"}
    assert content[1]["mimeType"] == "image/png"
    assert base64.b64decode(content[1]["data"]) == PIXEL
    assert content[2]["resource"]["text"] == "# sunny"
    assert content[2]["resource"]["uri"].startswith("file:///%E3%83%8E")
    assert content[3]["resource"]["blob"] == "/wA="
    assert str(tmp_path) not in ran.out


def test_what_cannot_be_attached_is_said_and_nothing_is_sent(
    room: Room, shell: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No picture, too much, no such file, and an answer that is no tool's."""
    file = tmp_path / "a.txt"
    file.write_text("words", "utf-8")
    session = room.session()
    room.ask(session, 3)
    room.ask(session, 4, INITIALIZE)
    assert "not a PNG" in shell("answer", "3", "--image", str(file)).err
    assert "a.txt" in shell("answer", "3", "--file", str(tmp_path / "none" / "a.txt")).err
    assert "not a tool call" in shell("answer", "4", "--file", str(file)).err
    assert "--text or --choose" in shell("answer", "3", "--as-is", "--file", str(file)).err
    monkeypatch.setattr(answer, "LARGEST", 4)
    ran = shell("answer", "3", "--file", str(file))
    assert (ran.status, "larger than 0 MB" in ran.err) == (2, True)
