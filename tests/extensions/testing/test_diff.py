"""What the client or the server does differently now."""

from pathlib import Path
from typing import Final

import pytest

from humanmcp.export.recording import Recording, build_conversation
from humanmcp.extensions.testing.diff import MessageChange, differences
from humanmcp.protocol.conversation.transcript import Direction
from humanmcp.protocol.validation.redaction import redact_recording
from tests.support.recordings import HANDSHAKE, answer, ask, call, recording, text, write
from tests.support.serve_process import HUMANMCP, run_command

BEFORE = recording(
    *HANDSHAKE, call(2, "A"), answer(2, result=text("sunny")), ask(3, "ping"), answer(3, result={})
)


def compared(before: Recording, now: Recording) -> list[tuple[MessageChange, str]]:
    """Compare two recordings, and say in short what is different."""
    return [
        (one.change, one.what)
        for one in differences(build_conversation(before), build_conversation(now))
    ]


def test_two_runs_of_the_same_are_the_same() -> None:
    """Other ids, other times, another progress token, another order of the answers."""
    now = recording(
        *HANDSHAKE,
        ask("x", "tools/call", name="get-forecast", arguments={"city": "A"}, _meta={"p": 1}),
        ask("y", "ping"),
        answer("y", result={}),
        answer("x", result=text("sunny")),
    )
    assert compared(BEFORE, now) == []


def test_another_question_and_another_answer_are_told_apart() -> None:
    """By who did it: the client asked differently, the server answered differently."""
    now = recording(
        *HANDSHAKE,
        call(2, "B"),
        answer(2, result=text("rain")),
        ask(3, "ping"),
        answer(3, result={}),
    )
    assert compared(BEFORE, now) == [
        (MessageChange.ASKED, "tools/call get-forecast"),
        (MessageChange.ANSWERED, "tools/call get-forecast"),
    ]
    found = list(differences(build_conversation(BEFORE), build_conversation(now)))
    assert '-    "city": "A"' in found[0].lines
    assert '+    "city": "B"' in found[0].lines


def test_what_is_new_and_what_is_gone_is_named() -> None:
    """A request more, a request less, a notification more; an error instead of a result."""
    now = recording(
        *HANDSHAKE,
        (Direction.OUT, {"jsonrpc": "2.0", "method": "notifications/message", "params": {}}),
        ask(1, "tools/list"),
        answer(1, result={"tools": []}),
        call(2, "A"),
        answer(2, error={"code": 1, "message": "no"}),
    )
    assert compared(BEFORE, now) == [
        (MessageChange.ONLY_NOW, "tools/list"),
        (MessageChange.ANSWERED, "tools/call get-forecast"),
        (MessageChange.ONLY_BEFORE, "ping"),
        (MessageChange.ONLY_NOW, "notifications/message"),
    ]


GOOD: Final = b'{"jsonrpc":"2.0","id":2,"result":{"content":[{"type":"text","text":"sunny"}]}}'
NOTICE: Final = '{"jsonrpc":"2.0","method":"notifications/message","params":{"data":"%s"}}'
UNLIKE: Final = {
    "log on stdout": ((b"Server running on stdio", GOOD), "not a message: Server running on stdio"),
    "two answers": ((GOOD, GOOD), "result: sunny"),
    "answer that is no JSON": ((GOOD[:-2],), "tools/call get-forecast"),
    "answer in a batch": ((b"[" + GOOD + b"]",), "batch"),
    "id of another type": ((GOOD.replace(b":2,", b':"2",'),), "tools/call get-forecast"),
    "without jsonrpc": ((GOOD.replace(b'"jsonrpc":"2.0",', b""),), "tools/call get-forecast"),
    "error that is null": ((GOOD[:-1] + b',"error":null}',), "tools/call get-forecast"),
    "another member": ((GOOD[:-1] + b',"extra":1}',), "tools/call get-forecast"),
    "notification": ((NOTICE % "disk full", GOOD), "notifications/message"),
}


@pytest.mark.parametrize(("lines", "what"), UNLIKE.values(), ids=UNLIKE)
def test_whatever_a_server_writes_differently_is_a_difference(
    lines: tuple[bytes, ...], what: str
) -> None:
    """Also what is no message, or answers nothing."""
    before = recording(*HANDSHAKE, call(2, "A"), (Direction.OUT, GOOD))
    now = recording(*HANDSHAKE, call(2, "A"), *((Direction.OUT, line) for line in lines))
    assert what in [found for _change, found in compared(before, now)]
    assert compared(now, now) == []


def test_the_content_of_a_notification_is_compared() -> None:
    """But not the names of requests in it, which differ in each run."""
    progress = '{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%d}}'
    lines = [
        recording(*HANDSHAKE, (Direction.OUT, NOTICE % data), (Direction.OUT, progress % token))
        for token, data in enumerate(("up", "disk full"))
    ]
    (found,) = differences(*map(build_conversation, lines))
    assert (found.change, found.what) == (MessageChange.ASKED, "notifications/message")
    assert '+  "data": "disk full"' in found.lines


def test_bytes_that_are_no_text_are_compared_as_bytes() -> None:
    lines = [
        recording((Direction.OUT, GOOD.replace(b"sunny", b"Z%crich" % code)))
        for code in (0xE4, 0xFC)
    ]
    (found,) = differences(*map(build_conversation, lines))
    assert any("\\xfc" in line for line in found.lines)


def test_of_a_large_answer_all_is_compared() -> None:
    """Other exports read its beginning only."""
    values = [list(range(120_000)), [*range(119_999), 7]]
    lines = [
        recording(*HANDSHAKE, call(2, "A"), answer(2, result={"content": [], "rows": rows}))
        for rows in values
    ]
    assert compared(*lines) == [(MessageChange.ANSWERED, "tools/call get-forecast")]


def test_secrets_that_differ_are_named_and_not_shown(tmp_path: Path) -> None:
    """They differ in each run, so they are no difference for a program."""
    paths = [
        str(
            write(
                tmp_path / f"{key}.jsonl",
                recording(*HANDSHAKE, ask(2, "tools/call", name="t", arguments={"apiKey": key})),
            )
        )
        for key in ("correct-horse", "battery-staple")
    ]
    command = (*HUMANMCP, "diff", *paths, "--lang", "en")
    ran = run_command(tmp_path, *command)
    assert (ran.returncode, "--no-redact" in ran.stdout) == (0, True)
    assert "staple" not in ran.stdout
    ran = run_command(tmp_path, *command, "--no-redact")
    assert (ran.returncode, "battery-staple" in ran.stdout) == (1, True)


def test_a_removed_part_is_no_difference() -> None:
    """Against the value, and against another mark; a text that says "[redacted]" is one."""

    def called(key: str, city: str) -> Recording:
        arguments = {"apiKey": key, "city": city, "n": 1}
        return recording(
            *HANDSHAKE,
            ask(1, "resources/read", uri=f"db://me:{key}@h/x"),
            ask(2, "tools/call", name="t", arguments=arguments),
            answer(2, result=text(f"with {key}")),
        )

    before = called("first-key-1", "[redacted]")
    without = Recording("r", redact_recording(before.frames).frames)
    assert compared(without, without) == []
    other = Recording("o", redact_recording(called("token-b-2", "[redacted]").frames).frames)
    assert compared(without, other) == []
    assert compared(before, called("first-key-1", "Tokyo")) == [
        (MessageChange.ASKED, "tools/call t")
    ]
    found = [change for change, _ in compared(without, called("second-key", "Tokyo"))]
    assert MessageChange.ASKED in found
    assert MessageChange.ANSWERED not in found


def test_the_command_says_it_with_its_status(tmp_path: Path) -> None:
    """As diff(1): 0 for the same, 1 for different, 2 for trouble."""
    before = write(tmp_path / "before.jsonl", BEFORE)
    now = write(tmp_path / "now.jsonl", recording(*HANDSHAKE))

    def diff(*words: str) -> tuple[int, str]:
        ran = run_command(tmp_path, *HUMANMCP, "diff", *words, "--home", str(tmp_path / "home"))
        return ran.returncode, ran.stdout

    assert diff(str(before), str(before))[0] == 0
    status, said = diff(str(before), str(now), "--lang", "en")
    assert status == 1
    assert "- tools/call get-forecast (client): no longer sent" in said
    assert diff(str(before), "nowhere")[0] == 2
