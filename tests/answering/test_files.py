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
from humanmcp.extensions.recordings.recording import (
    RecordingPlace,
    read_frames,
    read_replay,
)
from humanmcp.locales.stop import StopError
from humanmcp.protocol.conversation.transcript import Direction, Frame, is_foreign, to_json
from humanmcp.protocol.validation.captures import captured_line

SPOKEN: Final = (Direction.IN, Direction.OUT)
UNREAD: Final = ("unread", "passed over", "cut")
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
HOOK: Final = '{"session_id":"a","effort":{"a":1},"hook_event_name":"PreToolUse","tool_name":"B"}'
OWN: Final = own((Direction.IN, LIST, ""))
WIDE: Final = BAD.replace('"x"', '"größe"')
JAPANESE: Final = BAD.replace('"x"', '"日本語です"')
LONG: Final = json.dumps(json.loads(LIST), indent=1)
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
    "bytes": (OTHER, bytes(range(256)), "no text"),
    "a pipe in UTF-16 without a mark": (TALK, f"{LIST}\n{BAD}\n".encode("utf-16-be"), ""),
    "UTF-16 that begins in Japanese": (TALK, f"記録\n{LIST}\n{BAD}\n".encode("utf-16-le"), ""),
    "UTF-16 and half a character": (TALK, f"{LIST}\n{BAD}\n".encode("utf-16") + b"x", ""),
    "UTF-32": (OTHER, f"{LIST}\n{BAD}\n".encode("utf-32"), "no text"),
    "a pipe in Latin-1": (TALK, f"{LIST}\n{WIDE}\n".encode("latin-1"), ""),
    "a log in Latin-1": (TALK, f"{LOGGED}{ANSWERED}größe\n".encode("latin-1"), ""),
    "an archive in Latin-1": (
        TALK,
        json.dumps(HAR).replace("log", "lög").encode("latin-1"),
        "",
    ),
    "a pipe in CP932": (TALK, f"{LIST}\n{JAPANESE}\n".encode("cp932"), ""),
    "a response in Latin-1": (OTHER, WIDE.encode("latin-1"), "no text"),
    "a request in Latin-1": (OTHER, LIST.replace("list", "ö").encode("latin-1"), "no text"),
    "a response in CP932": (TYPED, JAPANESE.encode("cp932"), ""),
    "a result in Latin-1": (OTHER, '{"content":["ö"]}'.encode("latin-1"), "no text"),
    "prose in Latin-1": (OTHER, "größe\n".encode("latin-1"), "no text"),
    "a bad byte in a message": (TALK, f"{LIST}\n{BAD}\n".encode().replace(b'"x"', b'"\xff"'), ""),
    "a bad byte between": (TALK, LIST.encode() + b"\n\xff\n" + BAD.encode(), ""),
    "a null byte between": (TALK, f"{LIST}\n\0\n{BAD}\n", ""),
    "compressed": (OTHER, b"PK\x03\x04\x14\0", "packed"),
    "prose": (NONE, "Sun, rain, wind\n", "nothing recorded"),
    "a schema": (NONE, '{"properties":{"jsonrpc":{"const":"2.0"}}}', "nothing recorded"),
    "a configuration": (OTHER, '{"mcpServers":{"a":{"command":"x"}}}', "a configuration"),
    "own": (TALK, own((Direction.IN, LIST, ""), (Direction.OUT, BAD, "")), ""),
    "own responses": (TALK, own((Direction.OUT, BAD, "")), ""),
    "own stderr": (OTHER, own((Direction.ERR, "oops", "")), "nothing recorded"),
    "own notes": (OTHER, own((Direction.NOTE, "", "on purpose: exit")), "nothing recorded"),
    "own without times": (TALK, f'{{"seq":1,"way":"in","raw":{json.dumps(LIST)}}}', ""),
    "own with objects": (TALK, f'{OWN}{{"seq":1,"at":"","way":"out","raw":{BAD}}}', ""),
    "own with a torn line": (TALK, f"{OWN}{OWN[:60]}", ""),
    "own with a line torn between": (TALK, f"{OWN}{OWN[:60]}\n{OWN}", ""),
    "own with no number": (TALK, OWN.replace('"seq":1', '"seq":null'), ""),
    "own with another side": (TALK, f"{OWN}{OWN}".replace('"in"', '"up"', 1), ""),
    "own with a message": (TALK, f"{OWN}{BAD}\n", ""),
    "own with stderr": (TALK, own((Direction.IN, LIST, ""), (Direction.ERR, "oops", "")), ""),
    "own in UTF-16": (TALK, OWN.encode("utf-16"), ""),
    "own in Latin-1": (TALK, own((Direction.OUT, WIDE, "")).encode("latin-1"), ""),
    "own with a byte order mark": (TALK, f"\ufeff{OWN}", ""),
    "own twice": (TALK, f"{OWN}{own((Direction.OUT, BAD, ''))}{OWN}", ""),
    "own prompts": (TALK, own((Direction.IN, HOOK, PROMPT), (Direction.OUT, "{}", PROMPT)), ""),
    "own prompts and messages": (
        TALK,
        own((Direction.IN, HOOK, PROMPT)) + OWN,
        "",
    ),
    "a prompt": (OTHER, HOOK, "a prompt"),
    "a prompt of Copilot": (OTHER, '{"sessionId":"a","toolName":"bash"}', "a prompt"),
    "a page of ours": (
        TALK,
        f"<!doctype html>\n<style>\n.a.error {{}}\n</style>\n<pre>{LIST}</pre>\n<pre>{BAD}</pre>",
        "",
    ),
    "code over several lines": (TALK, f"It says\n```\n{LONG}\n```\nand\n```\n{BAD}\n```\n", ""),
    "a pipe over several lines": (TALK, f"{LONG}\n{LONG}\n", ""),
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
        with pytest.raises(StopError) as refused:
            read_replay(RecordingPlace.find(str(file), tmp_path), "exact")
        assert refused.value.sentence() == sentence
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
    lines = [one for one in recording.frames if one.direction in SPOKEN and not is_foreign(one)]
    assert len(api.read_messages(file.read_bytes())) == len(lines) + sum(
        one.is_cut for one in read.captured
    )
    assert not any(b"\n" in one.raw for one in lines)
    if kind is TALK:  # a replay reads line by line
        assert [one._replace(at="") for one in read_frames(file)] == [
            one._replace(at="") for one in recording.frames
        ]
    home = ("--home", str(tmp_path / "home"))
    assert main(["diff", str(file), str(file), *home]) == 0
    capsys.readouterr()
    assert main(["export", str(file), *home]) == 0
    said = "".join(capsys.readouterr().err)
    assert [one.sentence in said for one in remarks_on(read.captured) if one.code in UNREAD] == [
        True for code in found[1] if code in UNREAD
    ]
    copy = tmp_path / "copy.jsonl"
    copy.write_text("".join(f"{to_json(one)}\n" for one in recording.frames), encoding="utf-8")
    assert said_by_check(copy, capsys) == found
    judged = (each for one in told_of(read, name) for each in one.diagnostics)
    assert found[0] == sorted(one.code for one in judged if one.severity in TOLD)
