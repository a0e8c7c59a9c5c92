"""What the client or the server does differently now."""

from pathlib import Path

from humanmcp.export.diff import MessageChange, differences
from humanmcp.export.recording import Recording, build_conversation
from humanmcp.protocol.conversation.transcript import Direction
from tests.export.recordings import HANDSHAKE, answer, ask, call, recording, text, write
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
