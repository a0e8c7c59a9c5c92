"""What passes through a tap is untouched, in order, complete, and recorded.

CAPTURE-1 to CAPTURE-10.
"""

import json
import re
import stat
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

from humanmcp.inbox.contract import Life, Role
from humanmcp.protocol.conversation.transcript import COMMAND as COMMAND_NOTE
from humanmcp.protocol.conversation.transcript import Direction, recorded_command
from tests.extensions.tap.tap_process import COMMAND, Tapped, python, server
from tests.support.person import Person
from tests.support.recordings import SEED as FOLDER
from tests.support.waiting import PATIENCE, until

SEED: Final = FOLDER / "demo-app.log"
ENTRY: Final = re.compile(
    rb"^\[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3}\] (IN|OUT): (\{.*\})$", re.MULTILINE
)


def entries(log: bytes) -> list[tuple[bytes, bytes]]:
    """Return the direction and the JSON of each line of a log."""
    return ENTRY.findall(log)


def test_the_seeds_session_is_logged_byte_for_byte(home: Path, tmp_path: Path) -> None:
    """The article's arguments before a server's command; the JSON of its log is theirs."""
    seed = entries(SEED.read_bytes())
    logs = tmp_path / "logs"
    with Tapped(home, server("scripted", str(SEED)), "--log-dir", str(logs)) as tapped:
        heard = b""
        for way, text in seed:
            if way == b"IN":
                tapped.say(text + b"\n")
            else:
                heard += tapped.hear()
        status, rest, errors = tapped.close()
    assert (status, rest, errors) == (0, b"", b"")
    assert heard == b"".join(text + b"\n" for way, text in seed if way == b"OUT")
    (log,) = logs.iterdir()
    assert len(log.read_bytes().splitlines()) == 9
    assert sorted(entries(log.read_bytes())) == sorted(seed)
    for wanted in (b"IN", b"OUT"):  # in order, each way
        assert [e for e in entries(log.read_bytes()) if e[0] == wanted] == [
            e for e in seed if e[0] == wanted
        ]


def test_stderr_is_recorded_and_goes_to_stderr(home: Path, tmp_path: Path) -> None:
    """An ERR line; never on stdout."""
    code = "import sys; sys.stderr.write('careful\\n'); sys.stdin.read()"
    logs = tmp_path / "mcptest" / "logs"
    with Tapped(home, python(code), "--log-dir", str(logs)) as tapped:
        status, rest, errors = tapped.close()
        assert tapped.recorded(Direction.ERR) == [b"careful"]
    assert (status, rest, errors) == (0, b"", b"careful\n")
    (log,) = logs.iterdir()
    assert re.fullmatch(rb"\[.*\] ERR: careful\n", log.read_bytes())


@pytest.mark.parametrize("size", [70_000, 1 << 20, 16 << 20], ids=["70 KB", "1 MiB", "16 MiB"])
def test_a_long_line_passes_whole_and_so_does_the_next_one(home: Path, size: int) -> None:
    """No 64 KiB limit in either direction, whole in the record as well."""
    long = b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":"' + b"x" * size + b'"}}\n'
    short = b'{"jsonrpc":"2.0","id":2,"method":"ping"}\n'
    with Tapped(home, server("echo")) as tapped:
        tapped.say(long)
        assert tapped.hear() == long
        tapped.say(short)
        assert tapped.hear() == short
        assert tapped.close()[0] == 0
        for direction in (Direction.IN, Direction.OUT):
            assert tapped.recorded(direction) == [long[:-1], short[:-1]]


def test_a_long_line_passes_a_closed_gate(home: Path) -> None:
    """Also while every line is looked at before it goes on."""
    long = b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":"' + b"x" * (4 << 20) + b'"}}\n'
    with Tapped(home, server("echo"), "--hold", "tools/call") as tapped:
        tapped.say(long)
        assert tapped.hear() == long
        assert tapped.close()[0] == 0


def test_the_status_is_the_servers_also_while_the_client_stays(home: Path) -> None:
    """Exits 3 within 2 s, with stdin open."""
    with Tapped(home, python("raise SystemExit(3)")) as tapped:
        assert tapped.process.wait(timeout=PATIENCE) == 3


def test_the_end_of_a_long_output_is_not_lost(home: Path) -> None:
    """A thousand lines and an exit; all arrive, with the status."""
    code = "print('\\n'.join(str(n) for n in range(1000))); raise SystemExit(7)"
    with Tapped(home, python(code)) as tapped:
        status, rest, _errors = tapped.ended()
        assert tapped.recorded(Direction.OUT) == [str(n).encode() for n in range(1000)]
    assert status == 7
    assert rest == b"".join(b"%d\n" % n for n in range(1000))


def test_the_last_line_needs_no_line_feed_and_the_end_is_passed_on(home: Path) -> None:
    """The server sees the unfinished line and the end of its input; so does the client."""
    with Tapped(home, python("import sys; sys.stdout.write(sys.stdin.read())")) as tapped:
        tapped.say(b"no end")
        status, rest, _errors = tapped.close()
        notes = [frame.note for frame in tapped.frames() if frame.direction is not Direction.NOTE]
        assert notes == ["no line feed at its end"] * 2
    assert (status, rest) == (0, b"no end")


def test_every_byte_passes_as_it_was(home: Path) -> None:
    """Carriage returns, blank lines, bytes that are no UTF-8, a batch, prose."""
    odd = b'{"a":1}\r\n\n  \n\xff\xfe\x00\n[{"jsonrpc":"2.0"}]\nhello\n\xe2\x80\xa8{}\n'
    with Tapped(home, server("echo")) as tapped:
        tapped.say(odd)
        status, rest, _errors = tapped.close()
        assert b"".join(raw + b"\n" for raw in tapped.recorded(Direction.IN)) == odd
    assert (status, rest) == (0, odd)


def test_the_client_sees_the_end_when_the_server_closes_its_output(home: Path) -> None:
    """The server lives on and still hears what is said."""
    code = (
        "import os, sys; os.write(1, b'{}\\n'); os.close(1); sys.exit(len(sys.stdin.buffer.read()))"
    )
    with Tapped(home, python(code)) as tapped:
        assert tapped.hear() == b"{}\n"
        until(lambda: not tapped._reader.is_alive(), "the end of the server's output")
        tapped.say(b"four")
        assert tapped.close()[0] == 4


def test_a_server_that_nobody_hears_is_told_so(home: Path) -> None:
    """The client closes its end of the server's output: the server's next write fails, as ever."""
    code = """
import os
try:
    while True:
        os.write(1, b"{}\\n")
except BrokenPipeError:
    os._exit(5)
"""
    command = [*COMMAND, "--home", str(home), *python(code)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"{}\n"
        process.stdout.close()
        assert process.wait(timeout=PATIENCE) == 5


def test_two_runs_in_one_second_have_two_logs(home: Path, tmp_path: Path) -> None:
    """The name of a log is its own, also within a second."""
    logs = tmp_path / "logs"
    for _ in range(3):
        with Tapped(home, python("pass"), "--log-dir", str(logs)) as tapped:
            tapped.close()
    assert len(list(logs.iterdir())) == 3
    assert len(list((home / "sessions").iterdir())) == 3


def test_a_tap_around_humanmcp_itself_logs_the_weather_session(home: Path, tmp_path: Path) -> None:
    """Answered by a script in the person's place, in the format of the log."""
    inner, logs = tmp_path / "inner", tmp_path / "logs"
    serve = (sys.executable, "-m", "humanmcp", "serve", "--home", str(inner), "--by-hand")
    client = '"capabilities":{},"clientInfo":{"name":"test","version":"1"}'
    params = f'"params":{{"protocolVersion":"2024-11-05",{client}}}'
    asked = [
        f'{{"jsonrpc":"2.0","id":1,"method":"initialize",{params}}}',
        '{"jsonrpc":"2.0","id":2,"method":"tools/list","params":{}}',
    ]
    for number, location in ((3, "東京"), (4, "大阪"), (5, "北海道")):
        call = f'"params":{{"name":"get-japan-forecast","arguments":{{"location":"{location}"}}}}'
        asked.append(f'{{"jsonrpc":"2.0","id":{number},"method":"tools/call",{call}}}')
    answers = []
    with Tapped(home, serve, "--log-dir", str(logs)) as tapped, Person(inner):
        for line in asked:
            tapped.say(line.encode() + b"\n")
            answers.append(json.loads(tapped.hear()))
        assert tapped.close()[0] == 0
    assert answers[2]["result"]["content"] == [{"type": "text", "text": "sunny"}]
    assert answers[3]["error"]["message"] == "遠い。自分で調べて"
    (log,) = logs.iterdir()
    found = entries(log.read_bytes())
    assert [text.decode() for way, text in found if way == b"IN"] == asked
    assert [json.loads(text) for way, text in found if way == b"OUT"] == answers


def test_a_tapped_session_stands_in_the_inbox_beside_the_others(home: Path) -> None:
    """Every desk shows it: role, client, version, title, and closed when it is over."""
    seed = entries(SEED.read_bytes())
    with Tapped(home, server("scripted", str(SEED)), "--title", "the demo") as tapped:
        for way, text in seed:
            if way == b"IN":
                tapped.say(text + b"\n")
            else:
                tapped.hear()
        inbox = tapped.inbox
        facts = until(lambda: next(iter(inbox.sessions()), None), "a visible session")
        assert (facts.role, facts.life, facts.title) == (Role.TAP, Life.OPEN, "the demo")
        facts = until(
            lambda: one if (one := inbox.sessions()[0]).protocol_version else None, "its version"
        )
        assert (facts.client, facts.client_version) == ("claude-ai", "0.1.0")
        assert facts.protocol_version == "2024-11-05"
        until(lambda: inbox.negotiated(facts.name).tools, "the server's tools")
        assert set(inbox.negotiated(facts.name).tools or {}) == {"calc_add", "exec_shell_command"}
        assert tapped.close()[0] == 0
        assert inbox.sessions()[0].life is Life.CLOSED


def test_a_probe_is_no_session(home: Path) -> None:
    """A process that only ever hears server/discover is not shown."""
    with Tapped(home, server("echo")) as tapped:
        tapped.say(b'{"jsonrpc":"2.0","id":1,"method":"server/discover"}\n')
        tapped.hear()
        assert tapped.close()[0] == 0
        assert list(tapped.inbox.sessions()) == []


def test_what_cannot_be_recorded_passes_all_the_same(home: Path) -> None:
    """An inbox that cannot be used is said once, where nothing is to be held; nobody notices."""
    home.mkdir(mode=0o700)
    (home / "sessions").write_text("no folder")
    with Tapped(home, server("echo", "4")) as tapped:
        tapped.say(b"{}\n")
        assert tapped.hear() == b"{}\n"
        status, _rest, errors = tapped.close()
    assert status == 4
    assert b"nothing is recorded" in errors


def test_a_line_of_half_a_megabyte_is_checked_while_the_session_goes_on(home: Path) -> None:
    """The note stands in the record; of a longer line it says that only an export checks it."""
    filling = b"x" * (512 * 1024)
    wrong = b'{"jsonrpc":"2.0","id":1,"result":{"content":"' + filling + b'"}}\n'
    ask = b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"dice"}}\n'
    script = home.parent / "script.log"
    script.write_bytes(b"[t] IN: " + ask + b"[t] OUT: " + wrong)
    with Tapped(home, server("scripted", str(script))) as tapped:
        tapped.say(ask)
        assert tapped.hear() == wrong
        until(
            lambda: [one for one in checked(tapped) if "(M" in one and one.startswith("2: ")],
            "a note",
        )
        tapped.say(b'{"x":"' + filling * 2 + b'"}\n')
        said = until(lambda: [one for one in checked(tapped) if "too long" in one], "a note")
        assert said[0].endswith("an export checks it")


def checked(tapped: Tapped) -> list[str]:
    """Return what the check has said so far."""
    return [frame.note for frame in tapped.frames() if frame.by == "check"]


def test_the_taps_own_troubles_are_found_afterwards(home: Path) -> None:
    """In the log of the home, with the session; what was said on the wire is not there."""
    home.mkdir(mode=0o700)
    (home / "book.toml").write_text("[[rules]]\ntool = 'a'\ntext = 'b'\n")
    with Tapped(home, server("echo", "4"), "--book", str(home / "book.toml")) as tapped:
        tapped.say(b'{"jsonrpc":"2.0","id":1,"method":"secret"}\n')
        tapped.hear()
        (home / "book.toml").write_text("[[rules]\n")
        log = home / "humanmcp.log"
        until(lambda: "the answer book cannot be used" in log.read_text("utf-8"), "the trouble")
        assert tapped.close()[0] == 4
        said = log.read_text("utf-8")
    assert stat.S_IMODE(log.stat().st_mode) == 0o600
    assert f"session {tapped.session}: a tap before {Path(sys.executable).name}" in said
    assert "the server has ended with status 4" in said
    assert "secret" not in said


def test_without_a_log_everything_else_works(home: Path) -> None:
    """It cannot be written: the session is recorded all the same."""
    (home / "humanmcp.log").mkdir(parents=True)
    home.chmod(0o700)
    with Tapped(home, server("echo")) as tapped:
        tapped.say(b"{}\n")
        assert tapped.hear() == b"{}\n"
        assert tapped.close() == (0, b"", b"")
        assert tapped.recorded(Direction.OUT) == [b"{}"]


def test_a_command_that_is_not_there_is_said(home: Path) -> None:
    """As a shell says it: status 127, one line, no traceback."""
    with Tapped(home, ("no-such-command-anywhere",)) as tapped:
        status, rest, errors = tapped.ended()
    assert (status, rest) == (127, b"")
    assert errors.count(b"\n") == 1
    assert b"no-such-command-anywhere" in errors


def test_no_command_is_a_usage_error() -> None:
    """The message says how to write it."""
    ran = subprocess.run(
        [*COMMAND, "--"],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=PATIENCE,
        check=False,
    )
    assert ran.returncode == 2
    assert b"humanmcp tap -- COMMAND" in ran.stderr


@pytest.mark.parametrize("dashes", [(), ("--",)])
def test_the_servers_own_flags_reach_the_server(home: Path, dashes: tuple[str, ...]) -> None:
    """With `--` before the command or without: everything after it belongs to the server."""
    code = "import sys, json; print(json.dumps(sys.argv[1:]))"
    with Tapped(home, (*dashes, *python(code), "--quiet", "--", "--home", "x")) as tapped:
        _status, rest, _errors = tapped.ended()
    assert json.loads(rest) == ["--quiet", "--", "--home", "x"]


CALL = b'{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"t"}}'
BOTH = b'{"jsonrpc":"2.0","id":3,"result":{"content":[]},"error":{"code":1,"message":"x"}}'


@pytest.mark.parametrize(
    ("answer", "codes"),
    [
        (BOTH, ["R05", "N39"]),
        (b'[{"jsonrpc":"2.0","id":3,"result":{"content":[]}}]', ["R12", "N39"]),
        (b'\xef\xbb\xbf{"jsonrpc":"2.0","id":3,"result":{"content":[]}}', ["N11", "N39"]),
        (b'{"id":3,"result":{"content":[]}}', ["R01", "N39"]),
        (b'{"jsonrpc":"2.0","id":3,"result":{"cont', ["N01", "N39"]),
        (b'{"jsonrpc":"2.0","id":3.0,"result":{"content":[]}}', ["R16", "N39"]),
        (b"", ["N38"]),
    ],
)
def test_what_keeps_an_answer_from_the_client_is_said_with_its_effect(
    home: Path, tmp_path: Path, answer: bytes, codes: list[str]
) -> None:
    """In the record; and what never got an answer is named at the end, on stderr as well."""
    log = tmp_path / "log"
    script = [(b"IN", CALL), *([(b"OUT", answer)] if answer else [])]
    log.write_bytes(b"".join(b"[at] %s: %s\n" % line for line in script))
    command = (sys.executable, "-m", "humanmcp", "tap", "--lang", "en")
    with Tapped(home, server("scripted", str(log)), command=command) as tapped:
        tapped.say(CALL + b"\n")
        if answer:
            assert tapped.hear() == answer + b"\n"
        _status, _rest, errors = tapped.close()
        notes = [frame for frame in tapped.frames() if frame.direction is Direction.NOTE]
        said = [json.loads(note.raw)["code"] for note in notes if note.note != COMMAND_NOTE]
    assert said == codes
    named = "tools/call with id 3" in errors.decode()
    assert named is bool({"N38", "N39"} & set(codes))


def test_an_answered_session_ends_without_a_word(home: Path, tmp_path: Path) -> None:
    """Nothing is said where nothing is missing."""
    log = tmp_path / "log"
    answer = b'{"jsonrpc":"2.0","id":3,"result":{"content":[]}}'
    log.write_bytes(b"[at] IN: %s\n[at] OUT: %s\n" % (CALL, answer))
    with Tapped(home, server("scripted", str(log))) as tapped:
        tapped.say(CALL + b"\n")
        tapped.hear()
        assert tapped.close()[2] == b""
        assert [frame.note for frame in tapped.frames() if frame.direction is Direction.NOTE] == [
            COMMAND_NOTE
        ]
        assert recorded_command(tapped.frames()) == server("scripted", str(log))
