"""`humanmcp export`: to a terminal, a pipe, a file."""

import os
import re
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from humanmcp.cli import main
from humanmcp.export.command import FORMATS
from humanmcp.protocol.conversation.transcript import Direction
from humanmcp.protocol.json.removed import mark_of, names_in
from tests.support.recordings import HANDSHAKE, answer, ask, recording, text, write
from tests.support.waiting import PATIENCE


def test_every_format_can_be_had_from_the_command(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """`humanmcp export`: to stdout or a file, with secrets taken out unless told otherwise."""
    secret = write(
        tmp_path / "transcript.jsonl",
        recording(
            *HANDSHAKE, ask(1, "tools/call", name="login", arguments={"password": "hunter2"})
        ),
    )

    def export(*words: str) -> str:
        assert main(["export", str(secret), "--home", str(tmp_path), *words]) == 0
        out, err = capfd.readouterr()
        errors.append(err)
        return out

    errors: list[str] = []
    for name in FORMATS:
        assert "hunter2" not in export("--format", name)
    assert "hunter2" not in export("--format", "jsonl", "--redact")
    assert errors[-1].startswith("humanmcp removed 1 value")
    export("--format", "jsonl", "--no-redact")
    assert errors[-1] == ""
    assert "hunter2" in export("--format", "log", "--no-redact")
    output = tmp_path / "out.html"
    assert export("--format", "html", "-o", str(output)) == ""
    assert output.read_text(encoding="utf-8").startswith("<!doctype html>")
    assert f"Written: {output}" in errors[-1]  # nobody has to look whether it was written


@pytest.mark.parametrize(
    "words",
    [
        *(pytest.param(["export", "--format", name], id=name) for name in FORMATS),
        pytest.param(["book", "--from"], id="book", marks=pytest.mark.extension("books")),
    ],
)
@pytest.mark.parametrize("keeps", [False, True])
def test_what_is_told_of_removed_values_is_what_was_removed_from_the_text(
    words: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str], *, keeps: bool
) -> None:
    """A form that leaves out a message removed nothing from it; a mark of before is no news."""
    recorded = write(
        tmp_path / "transcript.jsonl",
        recording(
            *HANDSHAKE,
            ask(1, "tools/call", name="login", arguments={"password": "hunter2"}),
            answer(1, result=text(f"api_key=k3y-0f-s0mebody {mark_of('OLD')}")),
            (Direction.ERR, "token: t0ken-0f-s0mebody"),
            (Direction.NOTE, "the header token=n0te-0f-s0mebody is wrong"),
        ),
    )
    added = ["--no-redact"] if keeps else []
    assert main([*words, str(recorded), "--home", str(tmp_path), *added]) == 0
    out, err = capsys.readouterr()
    told = re.search(r"humanmcp removed (\d+) value", err)
    assert (int(told[1]) if told else 0) == len({*names_in(out.replace("\\", ""))} - {"OLD"})
    assert (told is None) == (keeps or "decisions" in words)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device is full here")
@pytest.mark.parametrize(
    "words",
    [["export"], pytest.param(["book", "--from"], marks=pytest.mark.extension("books"))],
)
def test_what_cannot_be_written_says_so_and_tells_of_nothing_removed(
    words: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A device may be full."""
    login = ask(1, "tools/call", name="login", arguments={"password": "hunter2"})
    recorded = write(tmp_path / "transcript.jsonl", recording(*HANDSHAKE, login))
    assert main([*words, str(recorded), "-o", "/dev/full", "--home", str(tmp_path)]) != 0
    err = capsys.readouterr().err
    assert "/dev/full" in err
    assert "removed" not in err


@pytest.mark.skipif(os.name == "nt", reason="there are no modes")
def test_a_new_export_can_be_read_by_whom_the_umask_lets_and_a_device_is_written_into(
    tmp_path: Path,
) -> None:
    """An export is made to be passed on; `-o /dev/stdout` goes on into a pipe."""
    log = tmp_path / "a.log"
    log.write_text('[2026-11-20 10:00:00.000] IN: {"jsonrpc":"2.0","id":1,"method":"ping"}\n')
    output = tmp_path / "a.txt"
    before = os.umask(0o027)
    try:
        assert main(["export", str(log), "-o", str(output)]) == 0
    finally:
        os.umask(before)
    assert stat.S_IMODE(output.stat().st_mode) == 0o640
    for device in ("/dev/stdout", "-"):
        command = [sys.executable, "-m", "humanmcp", "export", str(log), "-o", device]
        ran = subprocess.run(
            command, capture_output=True, timeout=PATIENCE, check=True, cwd=tmp_path
        )
        assert ran.stdout == output.read_bytes()
    assert not (tmp_path / "-").exists()
