"""The two listings of the first capture script, exactly."""

import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Iterable
from datetime import UTC
from pathlib import Path

import pytest

from humanmcp.export import readable as forms
from humanmcp.export.command import FORMATS, written
from humanmcp.export.recording import ExportOptions, find_recording
from humanmcp.locales.stop import StopError
from humanmcp.protocol.conversation.transcript import Direction
from humanmcp.protocol.json.visible import visible
from humanmcp.protocol.validation.captures import read_capture
from tests.support.recordings import SEED, WEATHER, recording, write

MANNER = ExportOptions(zone=UTC)
IN, OUT = Direction.IN, Direction.OUT


def test_the_first_listing_comes_out_as_it_went_in() -> None:
    """Nine lines, byte for byte."""
    source = SEED / "demo-app.log"
    listing = forms.write_log(find_recording(str(source), SEED, UTC), MANNER)
    assert listing == source.read_text(encoding="utf-8")
    assert listing.count("\n") == 9


def test_the_second_listing_is_the_first_one_laid_out() -> None:
    """132 lines, byte for byte; made from the log or from a transcript."""
    golden = (SEED / "demo-app.pretty.log").read_text(encoding="utf-8")
    assert golden.count("\n") == 132
    assert (
        forms.write_laid_out(find_recording(str(SEED / "demo-app.log"), SEED, UTC), MANNER)
        == golden
    )


def test_a_log_is_the_same_from_a_transcript() -> None:
    """A session's own record, in the same format."""
    lines = forms.write_log(WEATHER, MANNER).splitlines()
    assert lines[0].startswith('[2026-11-20 18:49:01.123] IN: {"jsonrpc": "2.0", "id": 0,')
    assert lines[-2:] == [
        "[2026-11-20 18:49:16.123] ERR: a line of stderr",
        "[2026-11-20 18:49:17.123] OUT: Listening on port 80",
    ]


def test_laying_out_changes_no_token() -> None:
    """1.0, 1e5, big integers, escapes and doubled keys stay; prose and stderr stay lines."""
    odd = '{"a":1.0,"a":1e5,"b":12345678901234567890,"c":"\\u0041 \\"{[","d":{},"e":[]}'
    told = forms.write_laid_out(recording((Direction.OUT, odd), (Direction.ERR, '{"x":1}')), MANNER)
    assert told == (
        "[2026-11-20 18:49:01.123] OUT: {\n"
        '    "a": 1.0,\n'
        '    "a": 1e5,\n'
        '    "b": 12345678901234567890,\n'
        '    "c": "\\u0041 \\"{[",\n'
        '    "d": {},\n'
        '    "e": []\n'
        "  }\n"
        '[2026-11-20 18:49:02.123] ERR: {"x":1}\n'
    )


def test_lines_of_a_log_that_are_no_entries_are_kept(tmp_path: Path) -> None:
    """The first formatter kept them, too; a log of Windows has its carriage returns."""
    path = tmp_path / "odd.log"
    path.write_bytes(b"[2025-04-06 15:09:35.419] IN: {}\r\nTraceback: something\r\n")
    told = forms.write_laid_out(find_recording(str(path), tmp_path, UTC), MANNER)
    assert told == "[2025-04-06 15:09:35.419] IN: {}\nTraceback: something\n"


def test_the_transcript_is_written_whole(tmp_path: Path) -> None:
    """Nothing is lost as jsonl: what is read back are the same frames."""
    odd = recording(
        (Direction.IN, b"\xff\xfe"), (Direction.OUT, '{"a":"\\ud800"}'), (Direction.IN, "")
    )
    for recorded in (odd, WEATHER):
        path = tmp_path / "transcript.jsonl"
        path.write_text(forms.write_transcript(recorded, MANNER), encoding="utf-8")
        assert find_recording(str(path), tmp_path).frames == recorded.frames


WILD = "\x1b]52;c;eA==\x07\r\x7f\x9b31m\u202e"
"""What would act on a terminal: the clipboard, a bell, an overwritten line, a colour, bidi."""


@pytest.mark.skipif(os.name == "nt", reason="there are no pseudo-terminals")
@pytest.mark.parametrize("form", FORMATS)
def test_nothing_of_the_wire_acts_on_the_terminal_that_shows_an_export(
    tmp_path: Path, form: str
) -> None:
    """There it is shown as code points, in JSON as escapes; a pipe gets what was on the wire."""
    message = json.dumps({"jsonrpc": "2.0", "method": WILD, "params": {}}, ensure_ascii=False)
    recorded = recording((Direction.IN, message), (Direction.OUT, WILD), (Direction.ERR, WILD))
    path = write(tmp_path / "transcript.jsonl", recorded)
    words = ["export", str(path), "--home", str(tmp_path), "--format", form]
    command = [sys.executable, "-m", "humanmcp", *words]
    ours, theirs = os.openpty()
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=theirs) as process:
        os.close(theirs)
        shown = b""
        with contextlib.suppress(OSError):  # EIO: the end of a terminal
            while chunk := os.read(ours, 65536):
                shown += chunk
        os.close(ours)
    assert process.returncode == 0
    said = shown.decode().replace("\r\n", "\n")
    assert visible(said) == said
    if form == "jsonl":
        assert [json.loads(line)["raw"] for line in said.splitlines()] == [message, WILD, WILD]
    if form in ("log", "jsonl"):
        piped = subprocess.run(command, capture_output=True, check=True).stdout.decode()
        assert "\x7f" in piped


def test_an_empty_inbox_says_how_to_record_a_session(tmp_path: Path) -> None:
    """Nobody has named `last`, the default."""
    with pytest.raises(StopError, match="There is no session yet"):
        find_recording("last", tmp_path)


@pytest.mark.parametrize("name", ["log", "pretty", "jsonl", "har", "markdown"])
def test_what_is_exported_is_read_back(name: str) -> None:
    """The same messages, from every format that has them whole."""
    text = written(FORMATS[name], WEATHER, MANNER)
    assert messages_in(one.text for one in read_capture(text)) == messages_in(
        frame.text for frame in WEATHER.frames if frame.direction in (IN, OUT)
    )


def messages_in(texts: Iterable[str]) -> list[str]:
    """Return what is JSON of some texts, in one order and one spelling."""
    found = []
    for text in texts:
        with contextlib.suppress(ValueError):
            found.append(json.dumps(json.loads(text)))
    return sorted(found)
