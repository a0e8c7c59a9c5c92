"""What a file is, is decided once: check, page, export and their copies say the same of it."""

import json
from pathlib import Path
from typing import Any, Final

import pytest

from humanmcp import api
from humanmcp.answering.alone import TOLD, judge_recording, remarks_on, told, told_of
from humanmcp.answering.files import FileKind, read_file
from humanmcp.cli import main
from humanmcp.export.recording import frames_in, problems_in, recording_of
from humanmcp.locales.stop import StopError
from humanmcp.protocol.conversation.transcript import Direction, Frame, to_json
from humanmcp.protocol.validation.captures import captured_line

AT: Final = "2026-11-20T10:00:00.000Z"
LIST: Final = '{"jsonrpc":"2.0","id":1,"method":"tools/list"}'
BAD: Final = '{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"x"}]}}'
LOGGED: Final = f"2026-11-20T10:00:00.001Z [s] [info] Message from client: {LIST}\n"
ANSWERED: Final = f"2026-11-20T10:00:00.002Z [s] [info] Message from server: {BAD}\n"
CUT: Final = f"{ANSWERED[:-20]}...\n"
HAR: Final = {"log": {"entries": [{"request": {"postData": {"text": LIST}}}]}}


def own(*frames: tuple[Direction, str, str]) -> str:
    """Write our own transcript."""
    return "".join(
        f"{to_json(Frame(at, AT, way, text.encode(), at, note=note))}\n"
        for at, (way, text, note) in enumerate(frames, 1)
    )


PROMPT: Final = "prompt claude-code PreToolUse"
TALK, ALONE, TYPED, NONE, OTHER = (
    FileKind.CONVERSATION,
    FileKind.REQUEST,
    FileKind.ANSWER,
    FileKind.NOTHING,
    FileKind.OTHER,
)
FILES: Final[dict[str, tuple[FileKind, str | bytes, str]]] = {
    "a pipe": (TALK, f"{LIST}\n{BAD}\n", ""),
    "a pipe with a byte order mark": (TALK, f"\ufeff{LIST}\n{BAD}\n", ""),
    "a pipe in UTF-16": (TALK, f"{LIST}\n{BAD}\n".encode("utf-16"), ""),
    "a pipe with a banner": (TALK, f"ready\n{LIST}\n{BAD}\n", ""),
    "a log": (TALK, LOGGED + ANSWERED, ""),
    "a log of one request": (TALK, LOGGED, ""),
    "a log of one response": (TALK, ANSWERED, ""),
    "a log with its errors": (TALK, f"{LOGGED}{ANSWERED}{AT} [s] [error] it crashed\nx\n", ""),
    "a log with a cut response": (TALK, LOGGED + CUT, ""),
    "a log of cut responses": (OTHER, CUT, "left out"),
    "a log of responses, one cut": (TALK, ANSWERED + CUT, ""),
    "a log without messages": (OTHER, f"{AT} listening\n{AT} [error] no port\n", "log but"),
    "an archive": (TALK, json.dumps(HAR), ""),
    "an archive without messages": (OTHER, '\ufeff{"log":{"entries":[]}}', "an archive"),
    "a README": (TALK, f"# Rain\n\n```json\n{LIST}\n```\n\nThat is all.\n", ""),
    "a README without messages": (NONE, "# Rain\n\nIt rains.\n", "nothing recorded"),
    "a request": (ALONE, LIST, ""),
    "a request over lines": (ALONE, json.dumps(json.loads(LIST), indent=1), ""),
    "a request with a comma": (ALONE, '{"jsonrpc":"2.0","id":1,"method":"ping",}', ""),
    "a request of another protocol": (ALONE, LIST.replace("tools/list", "eth_call"), ""),
    "a response": (TYPED, BAD, ""),
    "a response with a comma": (TYPED, BAD.replace("]}}", "],}}"), ""),
    "a torn response": (TYPED, BAD[:-9], ""),
    "a batch of responses": (TYPED, f"[{BAD},{BAD}]", ""),
    "a typed result": (TYPED, '{"content":[{"type":"txt"}]}', "an answer"),
    "a list of tools": (TYPED, '{"tools":[{"name":"x"}]}', "an answer"),
    "HTML": (OTHER, "\ufeff<!doctype html>\n<html>", "a page"),
    "HTML with messages": (
        TALK,
        f"<html><pre>{LIST.replace(chr(34), '&quot;')}</pre><pre>{BAD}</pre>",
        "",
    ),
    "nothing": (NONE, "", "nothing recorded"),
    "bytes": (NONE, bytes(range(256)), "nothing recorded"),
    "compressed": (OTHER, b"PK\x03\x04\x14\0", "packed"),
    "prose": (NONE, "Sun, rain, wind\n", "nothing recorded"),
    "a schema": (NONE, '{"properties":{"jsonrpc":{"const":"2.0"}}}', "nothing recorded"),
    "a configuration": (OTHER, '{"mcpServers":{"a":{"command":"x"}}}', "a configuration"),
    "own": (TALK, own((Direction.IN, LIST, ""), (Direction.OUT, BAD, "")), ""),
    "own responses": (TALK, own((Direction.OUT, BAD, "")), ""),
    "own stderr": (OTHER, own((Direction.ERR, "oops", "")), "nothing recorded"),
    "own notes": (OTHER, own((Direction.NOTE, "", "on purpose: exit")), "nothing recorded"),
    "own with an unknown member": (TALK, f'{{"seq":1,"way":"in","raw":{json.dumps(LIST)}}}', ""),
    "without envelopes": (TALK, '{"method":"tools/list","result":{"tools":[{"name":"x"}]}}', ""),
}


def said_by_check(file: Path, capsys: pytest.CaptureFixture[str]) -> tuple[Any, ...]:
    """Return what the terminal tells: the problems, and what else is said of the file."""
    main(["check", "--json", str(file)])
    found = json.loads(capsys.readouterr().out)
    levels = {one.value for one in TOLD}
    return (
        sorted(one["code"] for one in found["problems"] if one["level"] in levels),
        [one["code"] for one in found["remarks"] if not one["code"].startswith("as ")],
    )


@pytest.mark.parametrize("name", FILES)
def test_a_file_is_the_same_everywhere(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its kind, the sentence about it, its problems and remarks; those of its export, too."""
    kind, content, why = FILES[name]
    file = tmp_path / "a.txt"
    file.write_bytes(content if isinstance(content, bytes) else content.encode())
    read = read_file(file.read_bytes())
    assert (read.kind, read.why) == (kind, why)
    if why:
        with pytest.raises(StopError) as refused:
            frames_in(file.read_bytes(), file)
        sentence = refused.value.sentence()
        assert (refused.value.code, str(file) in sentence) == (why, True)
        main(["check", str(file)])
        assert (sentence in "".join(capsys.readouterr())) == (
            kind is OTHER or (kind is NONE and isinstance(content, str))
        )
        if kind is OTHER:
            with pytest.raises(StopError):
                api.check_text(file.read_bytes())
        return
    found = said_by_check(file, capsys)
    recording = recording_of(file)
    page = [(one.seq, one) for one in recording.frames]
    assert found == (
        sorted(each.code for one in told(judge_recording(page)) for each in one.diagnostics),
        [one.code for one in remarks_on([captured_line(one) for one in recording.frames])],
    )
    exported = (each for one in problems_in(recording).values() for each in one)
    assert found[0] == sorted(each.code for one in exported for each in one.diagnostics)
    copy = tmp_path / "copy.jsonl"
    copy.write_text("".join(f"{to_json(one)}\n" for one in recording.frames), encoding="utf-8")
    assert said_by_check(copy, capsys) == found
    judged = (each for one in told_of(read, name) for each in one.diagnostics)
    assert found[0] == sorted(one.code for one in judged if one.severity in TOLD)
