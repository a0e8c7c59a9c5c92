"""Whatever leaves with recorded content has no secret in any byte: ways and secrets.

The secrets are those of `tests/support/secrets.py`, all in one recording. What stays on the
computer of the person is complete: the inbox, its log, `tap --log-dir`.
"""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Final

import pytest

from humanmcp.cli import main
from humanmcp.export.command import FORMATS
from humanmcp.export.recording import Recording
from humanmcp.inbox.contract import SessionFacts
from humanmcp.protocol.conversation.transcript import COMMAND, Direction, Frame
from humanmcp.protocol.json.removed import names_in
from humanmcp.protocol.validation.redaction import Redaction
from humanmcp.server.serve import Stderr
from tests.support.recordings import HANDSHAKE, answer, ask, recording, text, write
from tests.support.secrets import CANARY, HIDDEN

SECRETS: Final = sorted({secret for _, _, secret in HIDDEN})
TOLD: Final = [
    pair
    for number, (_, value, _) in enumerate(HIDDEN, 10)
    for pair in (
        ask(number, "tools/call", name="t", arguments=value),
        answer(number, result={**text(json.dumps(value)), "structuredContent": value}),
    )
]
SPOKEN: Final = recording(
    *HANDSHAKE,
    *TOLD,
    (Direction.ERR, f"Authorization: Bearer {CANARY}"),
    (Direction.OUT, f"password={CANARY} is no message"),
)
COMMANDED: Final = Frame(
    9000,
    "2026-11-20T18:49:00.123Z",
    Direction.NOTE,
    json.dumps(["server", "--api-key", CANARY]).encode(),
    note=COMMAND,
)
FRAMES: Final = (*SPOKEN.frames, COMMANDED)


def by_export(name: str) -> Callable[[Path, pytest.CaptureFixture[str]], str]:
    """Export in one format."""

    def export(folder: Path, _capture: pytest.CaptureFixture[str]) -> str:
        output = folder / "exported"
        words = ("--format", name, "--output", str(output), "--home", str(folder / "home"))
        assert main(["export", str(folder / "transcript.jsonl"), *words]) == 0
        return output.read_text(encoding="utf-8")

    return export


def by_book(folder: Path, capture: pytest.CaptureFixture[str]) -> str:
    assert main(["book", "--from", str(folder / "transcript.jsonl"), "--home", str(folder)]) == 0
    return capture.readouterr().out


def by_diff(folder: Path, capture: pytest.CaptureFixture[str]) -> str:
    other = recording(
        *HANDSHAKE, ask(10, "tools/call", name="t", arguments={}), answer(10, result={})
    )
    (folder / "b").mkdir()
    now = write(folder / "b" / "transcript.jsonl", other)
    words = (str(folder / "transcript.jsonl"), str(now), "--home", str(folder / "home"))
    assert main(["diff", *words]) == 1
    return capture.readouterr().out


def by_room(_folder: Path, _capture: pytest.CaptureFixture[str]) -> str:
    from humanmcp.extensions.classroom.room import results  # noqa: PLC0415 - it may be taken out

    final = {f"1 {number}": json.dumps(value) for number, (_, value, _) in enumerate(HIDDEN)}
    return results._page(FRAMES, SessionFacts("s", ""), final)


def by_forwarding(folder: Path, _capture: pytest.CaptureFixture[str]) -> str:
    from humanmcp.extensions.recordings.recording import Addition  # noqa: PLC0415 - as above

    grown = folder / "grown.jsonl"
    addition = Addition(grown, 0, Redaction())
    for at in range(0, len(FRAMES), 2):
        assert addition.add(FRAMES[at : at + 2]) is None
    return grown.read_text(encoding="utf-8")


def by_stderr(_folder: Path, _capture: pytest.CaptureFixture[str]) -> str:
    source, sink = os.pipe()
    with os.fdopen(source, "rb") as heard:
        stderr = Stderr(sink, 60_000)
        for _, value, _ in HIDDEN[::20]:
            stderr.write(json.dumps(value))
        os.close(sink)
        return heard.read().decode()


WAYS: Final = {
    **{f"export as {name}": by_export(name) for name in FORMATS if name != "decisions"},
    "book --from": by_book,
    "diff": by_diff,
    "the archive of a room": by_room,
    "serve --otherwise forward": by_forwarding,
    "stderr of serve": by_stderr,
}


OF_EXTENSIONS: Final = {
    "book --from": "books",
    "diff": "testing",
    "the archive of a room": "classroom",
    "serve --otherwise forward": "recordings",
}


@pytest.mark.parametrize(
    "way",
    [
        pytest.param(way, marks=pytest.mark.extension(OF_EXTENSIONS[way]))
        if way in OF_EXTENSIONS
        else way
        for way in WAYS
    ],
)
def test_no_secret_leaves(way: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """In no spelling of the format; and something is there."""
    write(tmp_path / "transcript.jsonl", Recording("s", FRAMES))
    (tmp_path / "home").mkdir(mode=0o700)
    left = WAYS[way](tmp_path, capsys)
    assert names_in(left) or "[redacted:" in left.replace("\\", "")
    assert [secret for secret in SECRETS if secret in left] == []
