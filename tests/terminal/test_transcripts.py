"""`humanmcp check` for requests, notifications and whole conversations."""

import json
from pathlib import Path
from typing import Any

import pytest

from humanmcp.cli import main
from humanmcp.protocol.conversation.transcript import Direction, Frame, to_json
from tests.support.inbox_folder import Ran

INITIALIZE = (
    '{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25",'
    '"capabilities":{},"clientInfo":{"name":"c","version":"1"}}}'
)
OPENED = (
    '{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},'
    '"serverInfo":{"name":"s","version":"1"}}}'
)
READY = '{"jsonrpc":"2.0","method":"notifications/initialized"}'
CALL = '{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"t","arguments":{}}}'
GOOD = '{"jsonrpc":"2.0","id":3,"result":{"content":[]}}'
BROKEN = '{"jsonrpc":"2.0","id":3,"result":{"content":"sunny"}}'
SAMPLING = (
    '{"jsonrpc":"2.0","id":1,"method":"sampling/createMessage",'
    '"params":{"messages":[],"maxTokens":5}}'
)


@pytest.fixture
def check(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Any:  # noqa: ANN401 - a function with flags
    """Return a function that checks the lines of a file."""
    for name in ("LC_ALL", "LANG", "HUMANMCP_LANG"):
        monkeypatch.delenv(name, raising=False)

    def run(*lines: str, flags: tuple[str, ...] = (), name: str = "said.jsonl") -> Ran:
        file = tmp_path / name
        file.write_text("\n".join(lines) + "\n", encoding="utf-8")
        capsys.readouterr()
        status = main(["check", *flags, str(file)])
        out, err = capsys.readouterr()
        return Ran(status, out, err)

    return run


def transcript(*lines: tuple[Direction, str]) -> list[str]:
    """Write the lines of a transcript."""
    return [
        to_json(Frame(seq, "2026-11-20T00:00:00.000Z", direction, raw.encode()))
        for seq, (direction, raw) in enumerate(lines, 1)
    ]


def codes(ran: Ran) -> list[tuple[int, str, str]]:
    """Return what was found: the line, who wrote it, the code."""
    return [(found["line"], found["way"], found["code"]) for found in ran.json["problems"]]


@pytest.mark.parametrize(
    ("line", "status", "found"),
    [
        (CALL, 0, []),
        ('{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":5}}', 1, ["M15"]),
        ('{"id":1,"method":"ping"}', 1, ["R01"]),
        (
            '{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1}}',
            1,
            ["M09", "X02"],
        ),
        ('{"jsonrpc":"2.0","id":1,"method":"tool/list"}', 0, ["M84"]),
        (SAMPLING, 0, []),
    ],
)
def test_a_request_or_a_notification_is_judged_as_what_it_is(
    check: Any,  # noqa: ANN401 - see the fixture
    line: str,
    status: int,
    found: list[str],
) -> None:
    """From either side; an error makes the exit status 1."""
    ran = check(line, flags=("--json",))
    assert [code for _line, _way, code in codes(ran)] == found
    assert ran.status == status


def test_a_transcript_is_judged_in_both_directions_with_its_own_line_numbers(
    check: Any,  # noqa: ANN401 - see the fixture
) -> None:
    """What the two sides declared counts, and what never got an answer is named."""
    lines = transcript(
        (Direction.IN, INITIALIZE),
        (Direction.OUT, OPENED),
        (Direction.IN, READY),
        (Direction.IN, CALL),
        (Direction.OUT, SAMPLING),
        (Direction.OUT, BROKEN),
        (Direction.IN, CALL.replace("3", "4")),
    )
    ran = check(*lines[:1], "torn", *lines[1:], flags=("--json",))
    assert codes(ran) == [
        (6, "out", "R32"),
        (7, "out", "M01"),
        (7, "out", "N46"),
        (6, "out", "N38"),
        (8, "in", "N38"),
    ]
    assert (ran.json["messages"], ran.json["errors"], ran.json["warnings"]) == (7, 2, 2)
    assert (ran.json["unread"], ran.json["unread_line"]) == (1, 2)
    assert ran.status == 1
    shown = check(*lines).out
    assert "said.jsonl:6:45: error not-an-array (M01)" in shown
    assert shown.splitlines()[-1] == (
        "7 messages checked, with 2 errors, 2 warnings, 1 hint about hosts."
    )


def test_a_good_conversation_ends_with_status_zero_in_every_form(
    check: Any,  # noqa: ANN401 - see the fixture
) -> None:
    """As a transcript, as a text log, as the messages of a pipe."""
    said = [(Direction.IN, CALL), (Direction.OUT, GOOD)]
    assert check(*transcript(*said)).status == 0
    assert check(*(line for _way, line in said)).status == 0
    log = [f"[2025-04-06 15:09:35.419] {direction.name}: {line}" for direction, line in said]
    assert "2 messages checked" in check(*log).out


def test_messages_of_a_pipe_are_told_apart_by_what_each_side_may_say(
    check: Any,  # noqa: ANN401 - see the fixture
) -> None:
    """An answer is from whoever was asked; a print is a server's."""
    ran = check(
        CALL,
        SAMPLING,
        '{"jsonrpc":"2.0","id":1,"result":{}}',
        "Listening on port 80",
        GOOD,
        flags=("--json",),
    )
    assert {found for found in codes(ran) if found[2] in ("N01", "M09")} == {
        (3, "in", "M09"),
        (4, "out", "N01"),
    }


def test_many_requests_can_be_judged_through_one_pipe(check: Any) -> None:  # noqa: ANN401 - see the fixture
    """`--lines`: a text with a method is no answer, where nobody said that it is one."""
    ran = check(
        json.dumps({"text": CALL}), json.dumps({"text": CALL, "method": "ping"}), flags=("--lines",)
    )
    first, second = (json.loads(line) for line in ran.out.splitlines())
    assert first.items() >= {"sendable": True, "line": CALL, "problems": []}.items()
    assert second["problems"][0]["code"] == "R07"


def test_a_session_folder_means_its_transcript_and_an_empty_one_is_said(
    check: Any,  # noqa: ANN401 - see the fixture
    tmp_path: Path,
) -> None:
    """Exit status 2 for what holds no message."""
    check(*transcript((Direction.IN, CALL), (Direction.OUT, GOOD)), name="transcript.jsonl")
    assert main(["check", str(tmp_path)]) == 0
    note = to_json(Frame(1, "", Direction.NOTE, b"", note="nothing was said"))
    ran = check(note, note)
    assert (ran.status, "has no messages" in ran.err) == (2, True)


def test_the_cause_in_the_log_of_a_host_is_told_whole_and_once(check: Any) -> None:  # noqa: ANN401 - a function with flags
    """It stands behind the time, the name of the server and the words of the host."""
    line = (
        "2025-07-10 10:49:36.646 [error] user-wirewiki: Client error for command "
        "Unexpected token 'S', \"Starting MCP server\" is not valid JSON"
    )
    ran = check(line, line)
    assert (ran.status, ran.err.count("is not valid JSON")) == (2, 1)


def test_the_log_of_claude_desktop_is_checked_as_a_conversation(check: Any) -> None:  # noqa: ANN401 - a function with flags
    """Its first line has no message; what is wrong is found on the line of the log."""
    start = "2025-07-12T05:51:44.{}Z [weather] [info]"
    ran = check(
        f"{start.format(599)} Initializing server... {{ metadata: undefined }}",
        *(
            f"{start.format(600 + number)} Message from {who}: {line} {{ metadata: undefined }}"
            for number, (who, line) in enumerate(
                (
                    ("client", INITIALIZE),
                    ("server", OPENED),
                    ("client", READY),
                    ("client", CALL),
                    ("server", BROKEN),
                )
            )
        ),
        name="mcp-server-weather.log",
    )
    assert ran.status == 1
    assert "mcp-server-weather.log:6:" in ran.out
    assert "5 messages checked," in ran.out
