"""Clients that are wrong on purpose are found out, and nothing of them is left."""

import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any

import pytest

from humanmcp.cli import main
from humanmcp.extensions.judge import command, running
from humanmcp.extensions.judge.playing import SERVER, Event
from humanmcp.extensions.judge.reports import FORMATS, report
from humanmcp.extensions.judge.running import Client, JudgeError, Run, run_client
from humanmcp.extensions.judge.server_faults import (
    GOOD,
    RIGHT,
    WRONG,
    ServerFault,
    duties,
    server_fault,
    server_faults,
    written,
)
from humanmcp.extensions.judge.verdicts import DECISIONS, Verdict, Word, facts, verdict
from humanmcp.locales import sentences_of
from tests.support.secrets import CANARY
from tests.support.secrets import HIDDEN as SECRETS
from tests.support.waiting import PATIENCE, until

CLIENT = str(Path(__file__).with_name("hand_made_client.py"))


def client(way: str, seconds: float = 5.0) -> Client:
    """Return the hand-made client."""
    return Client((sys.executable, CLIENT, way, "{server...}"), seconds=seconds)


def judged(way: str, name: str, seconds: float = 5.0) -> Verdict:
    """Judge it with one fault."""
    good = run_client(client(way), GOOD, threading.Event())
    assert good.status == 0, good.output
    run = run_client(client(way, seconds), server_fault(name), threading.Event())
    return verdict(server_fault(name), run, good)


CAREFUL = {
    "banner": Word.WELL,
    "never_asked": Word.WELL,
    "in_pieces": Word.WELL,
    "noisy_stderr": Word.WELL,
    "late_answer": Word.WELL,
    "unknown_request": Word.WELL,
    "roots_not_declared": Word.WELL,
    "ping_during_the_call": Word.WELL,
    "stays_at_the_end": Word.WELL,
    "no_content": Word.TOLD,
    "version_of_the_future": Word.TOLD,
    "exit_at_start": Word.TOLD,
    "killed_at_call": Word.TOLD,
    "another_id": Word.WAITED,
    "silent_at_initialize": Word.WAITED,
    "answer_after_cancel": Word.WAITED,
    "discover_empty": Word.UNKNOWN,
    "silent_at_second_call": Word.UNKNOWN,
}


@pytest.mark.parametrize("name", CAREFUL)
def test_a_careful_client_does_well_or_says_why_not(name: str) -> None:
    """What never happened is not known."""
    found = judged("careful", name, seconds=30)
    assert found.word is CAREFUL[name], found


CARELESS = {
    "swallows errors": ("no_content", Word.SILENT),
    "believes any id": ("another_id", Word.BELIEVED),
    "believes any version": ("version_of_the_future", Word.BELIEVED),
    "hangs on a banner": ("banner", Word.HUNG),
    "waits for ever": ("silent_at_call", Word.HUNG),
    "retries for ever": ("result_no_object", Word.HUNG),
    "crashes on null": ("result_no_object", Word.DIED),
    "dies by a signal": ("no_content", Word.DIED),
    "dies by a signal below a shell": ("no_content", Word.DIED),
    "answers no questions": ("unknown_request", Word.OTHER),
    "does what it never declared": ("roots_not_declared", Word.BELIEVED),
    "leaves its server": ("stays_at_the_end", Word.SILENT),
    "believes null": ("result_no_object", Word.OTHER),
}


@pytest.mark.parametrize(
    ("name", "output", "status", "word"),
    [
        ("no_content", "", 0, Word.SILENT),
        ("no_content", "", 1, Word.SILENT),
        ("no_content", "undefined", 0, Word.OTHER),
        ("no_content", f"{{'message': '{WRONG}'}}", 0, Word.BELIEVED),
        ("no_content", "Error: no content", 1, Word.TOLD),
        ("surrogate", f"{WRONG} \ufffd", 0, Word.BELIEVED),
        ("latin1", f"{WRONG} \ufffd", 0, Word.BELIEVED),
        ("error_of_the_tool", RIGHT, 0, Word.BELIEVED),
        ("error_of_the_tool", f"the tool failed: {RIGHT}", 0, Word.WELL),
        ("error_of_the_tool", RIGHT, 1, Word.WELL),
        ("error_of_the_tool", "the tool failed", 1, Word.TOLD),
        ("error_of_the_tool", "", 0, Word.SILENT),
        ("structured_in_error", RIGHT, 0, Word.BELIEVED),
        ("structured_in_error", RIGHT, 1, Word.WELL),
        ("structured_in_error", "Error: invalid structured content", 1, Word.TOLD),
        ("null_member", "something", 0, Word.OTHER),
        ("null_member", "", 0, Word.SILENT),
        ("ping_during_the_call", RIGHT, 0, Word.OTHER),
    ],
)
def test_a_word_says_no_more_than_what_was_seen(
    name: str, output: str, status: int, word: Word
) -> None:
    """Silent is who shows nothing; the last word is for what fits no other."""
    asked = Event(1.0, "in", '{"id":3,"method":"tools/call"}')
    seen = [asked, Event(1.1, "odd", "{}"), Event(1.2, "out", "{}")]
    run = Run(seen, status, 1.3, output=output)
    good = Run([asked, Event(1.1, "out", "{}")], 0, 1.2, output=RIGHT)
    assert verdict(server_fault(name), run, good).word is word


@pytest.mark.parametrize("way", CARELESS)
def test_a_client_that_is_wrong_in_one_way_is_found_out(way: str) -> None:
    """Its word, and the lines that prove it."""
    name, word = CARELESS[way]
    found = judged(way, name, seconds=2 if word is Word.HUNG else 30)
    assert found.word is word, found
    assert any(line.startswith("<-") for line in found.lines) == (
        name != "banner" or bool(found.lines)
    )


def test_every_fault_has_its_sentence_its_duty_and_its_decision() -> None:
    """And the last decision of each kind needs nothing: one word is always found."""
    assert len(server_faults()) >= 80
    for language in ("en", "ja"):
        assert set(sentences_of("server_fault", language)) == set(server_faults())
    for one in server_faults().values():
        assert one.duty in duties(), one.name
        assert one.kind in DECISIONS, one.name
    assert all(table[-1][1:] == ((), ()) for table in DECISIONS.values())
    used = {
        fact for table in DECISIONS.values() for _, *facts_of in table for fact in chain(*facts_of)
    }
    assert used == set(facts(GOOD, Run([]), Run([])))
    assert all(duty["quote"] == "" or duty["link"] for duty in duties().values())


def test_no_report_has_a_secret_that_the_client_prints_or_sends() -> None:
    """Nor one of its arguments: a report is for others."""
    begin = Event(1, "in", '{"id":1,"method":"initialize"}')
    row, good = server_fault("version_missing"), Run([begin], ended_at=4)
    verdicts = []
    for _, value, _ in SECRETS:
        texts = [json.dumps(value), *(str(one) for one in value.values())]
        sent = [Event(3, "in", json.dumps({"jsonrpc": "2.0", "params": value}))]
        run = Run([begin, Event(2, "odd", ""), *sent], ended_at=4, output="\n".join(texts))
        verdicts.append(verdict(row, run, good))
    words = ["client", "--api-key", CANARY, f"--url=https://me:{CANARY}@a.example"]
    for form in FORMATS:
        said = report(form, verdicts, words)
        assert len(said) > len(SECRETS)
        assert [(form, what) for what, _, secret in SECRETS if secret in said] == []


BLIND = [
    ("version_missing", "believed", Word.BELIEVED),
    ("version_missing", "stopped", Word.UNKNOWN),
    ("another_id", "believed", Word.UNKNOWN),
    ("login_page", "believed", Word.UNKNOWN),
]


@pytest.mark.parametrize(("name", "way", "word"), BLIND)
def test_what_a_client_believed_that_prints_nothing_is_seen_by_what_it_sends_then(
    name: str, way: str, word: Word
) -> None:
    """Of the result of a call, nothing is seen."""
    begin, call = ('{"id":1,"method":"initialize"}', '{"id":2,"method":"tools/call"}')
    events = [Event(1, "in", begin), Event(2, "odd", ""), Event(3, "in", call)]
    good = Run([Event(1, "in", begin), Event(2, "out", "{}"), Event(3, "in", call)], ended_at=4)
    run = Run(events if way == "believed" else events[:2], ended_at=4)
    assert verdict(server_fault(name), run, good).word is word


UI = '{"extensions":{"io.modelcontextprotocol/ui":{"mimeTypes":["text/html;profile=mcp-app"]}}}'
HIDDEN = [
    (UI, 0, Word.WELL, ["declared"]),
    ("{}", 0, Word.WELL, []),
    (UI, 1, Word.BELIEVED, ["declared", "called"]),
    ("{}", 1, Word.OTHER, ["called"]),
    ('{"extensions":{"io.modelcontextprotocol/tasks":{}}}', 1, Word.OTHER, ["called"]),
    ('{"extensions":[]}', 1, Word.OTHER, ["called"]),
    ("[]", 1, Word.OTHER, ["called"]),
]


@pytest.mark.parametrize(("capabilities", "calls", "word", "notes"), HIDDEN)
def test_a_tool_for_pages_is_kept_from_the_model_by_a_client_that_shows_pages(
    capabilities: str, calls: int, word: Word, notes: list[str]
) -> None:
    """Nobody else owes that: such a call is no breach. Without any call, nothing is known."""
    begin = f'{{"id":1,"method":"initialize","params":{{"capabilities":{capabilities}}}}}'
    call = Event(3, "in", '{"id":3,"method":"tools/call"}')
    events = [Event(1, "in", begin), Event(2, "odd", "")]
    row, run = server_fault("app_only_tool"), Run(events + [call] * calls, output="nobody")
    found = verdict(row, run, Run([*events, call], output="right-7421"))
    assert (found.word, list(found.notes)) == (word, notes)
    if not calls:
        assert verdict(row, run, Run(events)).word is Word.UNKNOWN


LOGGED = (
    "UnicodeDecodeError: 'utf-8' codec can't decode byte\nMCPError: Request 'tools/call' timed out"
)
REFUSED = "ValidationError: isError: Input should be a boolean [input_type=NoneType]"


@pytest.mark.parametrize(
    ("name", "output", "after", "word"),
    [
        ("latin1", LOGGED, 5.0, Word.WAITED),
        ("null_flag", REFUSED, 0.1, Word.TOLD),
        ("null_flag", "TypeError: 'NoneType' object is not iterable", 0.1, Word.DIED),
    ],
)
def test_words_of_a_crash_in_a_log_are_no_crash(
    name: str, output: str, after: float, word: Word
) -> None:
    """A library that logs what it could not read, and then times out, did not break down."""
    call = Event(1, "in", '{"id":2,"method":"tools/call"}')
    good = Run([call, Event(1, "out", "{}")], ended_at=1, output="right-7421")
    run = Run([call, Event(1, "odd", "")], status=1, ended_at=1 + after, output=output)
    assert verdict(server_fault(name), run, good).word is word


CHANGING = [
    "could not make an alias in /tmp/tmphyawieoo",
    r"could not make an alias in C:\Users\me\Temp\tmpa",
    "session 01a21b03-6e86-abcd-86d1-d14c40986d4f failed over to 127.0.0.1:4000",
]


@pytest.mark.parametrize("line", CHANGING)
def test_paths_ids_and_numbers_that_change_from_run_to_run_are_nothing_new(line: str) -> None:
    """A warning that is also printed with the good server says nothing of the mistake."""
    call = Event(1, "in", '{"id":2,"method":"tools/call"}')
    good = Run([call, Event(1, "out", "{}")], ended_at=1, output=f"right-7421\n{line}")
    run = Run([call, Event(1, "odd", "")], ended_at=1.1, output=line)
    for changing in ("hyawieoo", "tmpa", "01a21b03-6e86-abcd", "4000"):
        run.output = run.output.replace(changing, changing[::-1]) if run.output else ""
    assert run.output != line
    assert verdict(server_fault("no_content"), run, good).word is Word.SILENT
    run.output = f"{line}\ncould not read the result"
    assert verdict(server_fault("no_content"), run, good).word is Word.TOLD


def test_a_wrong_list_has_the_tool_that_the_client_calls() -> None:
    """Otherwise a client fails for another reason: there is no such tool."""
    for one in server_faults().values():
        for step in one.steps if one.method == "tools/list" else ():
            text = written(step.get("line", ""), one, "1", ("get_weather", "other"))
            tools = json.loads(text).get("result", {}).get("tools") if "result" in text else None
            if tools and one.name != "no_string_in_list":
                assert "get_weather" in json.dumps(tools), one.name


STUBBORN = """
import os, signal, subprocess, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
if os.fork() == 0:
    os.setsid()
    time.sleep(3600)
server = subprocess.Popen(sys.argv[1:], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
server.stdin.write(b'{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}\\n')
server.stdin.flush()
time.sleep(3600)
"""

GROWING = """
import subprocess, sys, time
server = subprocess.Popen(sys.argv[1:], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
server.stdout.readline()
taken = []
while True:
    taken.append(b"x" * 10_000_000)
    time.sleep(0.01)
"""

FLOODING = """
import subprocess, sys
server = subprocess.Popen(sys.argv[1:], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
server.stdout.readline()
while True:
    sys.stdout.write("x" * 65536)
"""


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="no /proc: left processes are not found")
@pytest.mark.parametrize(
    ("program", "name", "reason"),
    [
        (STUBBORN, "silent_at_initialize", "late"),
        (FLOODING, "banner", "flooded"),
        (GROWING, "banner", "outgrown"),
    ],
    ids=("stubborn", "flooding", "growing"),
)
def test_a_client_that_does_not_end_is_ended_with_all_that_it_started(
    program: str, name: str, reason: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It forks, leaves its group, ignores SIGTERM, writes for ever, or takes all memory."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(running, "MOST_MEMORY", 200_000_000)
    greedy = Client((sys.executable, "-c", program, "{server...}"), seconds=1.0)
    if program is not STUBBORN:
        greedy = replace(greedy, seconds=60.0)
    run = run_client(greedy, server_fault(name), threading.Event())
    assert run.ended_for == reason
    assert len(run.output or "") < 300_000
    assert run.left or program is not STUBBORN
    assert list(tmp_path.iterdir()) == []
    assert not [words for words in _command_lines() if str(tmp_path) in words]
    found = verdict(server_fault(name), run, run)
    assert found.word is Word.HUNG
    assert found.notes == (("left",) if reason == "late" else (reason,))


LEAVING = """
import os, subprocess, sys
sleeper = "import time; print(flush=True); time.sleep(3600)"
if sys.argv[2] == "not to be looked at":  # as ssh-agent does
    sleeper = "import ctypes; ctypes.CDLL(None).prctl(4, 0, 0, 0, 0)\\n" + sleeper
if sys.argv[2] == "without its main thread":
    sleeper = (
        "import ctypes, threading, time; threading.Thread(target=time.sleep, args=(3600,)).start()"
        "\\nprint(flush=True); ctypes.CDLL(None).pthread_exit(None)"
    )
below = [sys.executable, "-c", sleeper, sys.argv[1]]
server = subprocess.Popen(sys.argv[3:], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
server.stdout.readline()
if sys.argv[2] != "nobody's child" or os.fork() == 0:
    left = subprocess.Popen(below, env={}, stdout=subprocess.PIPE, start_new_session=True)
    left.stdout.readline()
os._exit(0)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="there is no such limit")
@pytest.mark.parametrize(
    "whose", ["a child", "nobody's child", "not to be looked at", "without its main thread"]
)
def test_nothing_remains_that_forgot_who_started_it(tmp_path: Path, whose: str) -> None:
    """A process with an empty environment, in a session of its own; its client ends at once."""
    words = (sys.executable, "-c", LEAVING, str(tmp_path), whose, "{server...}")
    run = run_client(Client(words), server_fault("banner"), threading.Event())
    told = "" if whose == "without its main thread" else str(tmp_path)  # it has no words either
    assert [words for words in run.left if told in words and words != SERVER]
    assert not run.stays
    until(lambda: not [one for one in _command_lines() if str(tmp_path) in one], "it is gone")


ENDING = """
import os, subprocess, sys
server = subprocess.Popen(sys.argv[1:], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
server.stdout.readline()
for _ in range(3):
    if os.fork() == 0:
        os._exit(0)
"""

ASKING_NOBODY = """
import ctypes, sys, threading
from humanmcp.extensions.judge.running import Client, run_client
from humanmcp.extensions.judge.server_faults import server_fault
ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)  # PR_SET_CHILD_SUBREAPER
words = (sys.executable, "-c", sys.argv[1], "{server...}")
run = run_client(Client(words), server_fault("banner"), threading.Event())
print(run.left, run.stays, run.status)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="there is no such process")
def test_what_has_ended_is_not_left(tmp_path: Path) -> None:
    """Nobody asks how a client's children ended: so it is where process 1 is no init."""
    words = (sys.executable, "-c", ASKING_NOBODY, ENDING)
    ended = subprocess.run(words, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert (ended.stdout, ended.stderr) == ("[] False 0\n", "")


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="no /proc: left processes are not found")
def test_what_ends_a_moment_after_the_client_is_not_left() -> None:
    """A shell around its server, as package managers have one."""
    words = (sys.executable, "-c", WRAPPING, "{server...}")
    assert run_client(Client(words), server_fault("banner"), threading.Event()).left == []


WRAPPING = """
import subprocess, sys
wrapped = ["sh", "-c", '"$@"; sleep 0.2; true', "sh", *sys.argv[1:]]
server = subprocess.Popen(wrapped, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
server.stdout.readline()
"""


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="no /proc: left processes are not found")
@pytest.mark.parametrize("way", ["words", "one text", "a configuration"])
def test_who_only_speaks_of_a_server_is_none(tmp_path: Path, way: str) -> None:
    """A host was started with the entry among its arguments: it is the person's own."""
    command = running.server_command(tmp_path, 60.0, ("t",))
    told = {
        "words": command,
        "one text": [" ".join(command)],
        "a configuration": [json.dumps({"command": command[0], "args": command[1:]})],
    }
    host = [sys.executable, "-c", "print(flush=True); input()", *told[way]]
    with subprocess.Popen(host, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as own:
        assert own.stdin is not None
        assert own.stdout is not None
        own.stdout.readline()
        assert running.end_all(tmp_path) == {}
        own.stdin.write(b"\n")
    assert own.returncode == 0


@pytest.mark.skipif(sys.platform != "linux", reason="there is no such limit")
def test_what_cannot_be_ended_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As of a program that runs as another user. It was said that it was ended."""
    found: set[int] = set()

    def refuse(pid: int, _signal: int) -> None:
        found.add(pid)
        raise PermissionError

    monkeypatch.setattr(os, "kill", refuse)
    monkeypatch.setattr(running, "GRACE", 0.2)
    words = (sys.executable, "-c", LEAVING, str(tmp_path), "a child", "{server...}")
    run = run_client(Client(words), server_fault("banner"), threading.Event())
    monkeypatch.undo()
    for pid in found:
        os.kill(pid, signal.SIGKILL)
    assert [words for words in run.left if str(tmp_path) in words]
    assert "stays" in verdict(server_fault("banner"), run, run).notes


STAYING = """
import pathlib, subprocess, sys, time
sleeper = "import time; time.sleep(3600)"
subprocess.Popen([sys.executable, "-c", sleeper, sys.argv[1]], env={}, start_new_session=True)
pathlib.Path(sys.argv[1]).touch()
time.sleep(3600)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="there is no such limit")
def test_runs_at_the_same_time_end_only_what_is_theirs(tmp_path: Path) -> None:
    """One of them ends while what the other has started still runs; our own limit is as before."""
    resource = pytest.importorskip("resource")
    before = resource.getrlimit(resource.RLIMIT_RTTIME)
    stays, stopped = tmp_path / "stays", threading.Event()
    waiting = (sys.executable, "-c", STAYING, str(stays), "{server...}")
    staying = Client(waiting, seconds=PATIENCE, most=PATIENCE)
    with ThreadPoolExecutor() as pool:
        other = pool.submit(run_client, staying, server_fault("banner"), stopped)
        until(stays.exists, "the other has started something")
        words = (sys.executable, "-c", LEAVING, str(tmp_path / "ends"), "a child", "{server...}")
        run = run_client(Client(words), server_fault("banner"), threading.Event())
        alive = [one for one in _command_lines() if str(stays) in one and "sleep" in one]
        stopped.set()
        left = other.result().left
    assert len(run.left) == 1
    assert str(tmp_path / "ends") in run.left[0]
    assert alive
    assert [one for one in left if str(stays) in one]
    assert resource.getrlimit(resource.RLIMIT_RTTIME) == before


WORKING = """
import sys, time
taken = b"x" * {taken}
while time.process_time() < 0.5:
    pass
"""


def test_what_a_client_used_is_shown() -> None:
    """Also of what it started and waited for; in the lines, and in JSON."""
    resource = pytest.importorskip("resource", reason="Windows: neither is measured")
    own = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // running._MEGABYTE  # a child too
    nested = "import subprocess, sys; subprocess.run([sys.executable, '-c', sys.argv[1]])"
    working = WORKING.replace("{taken}", str(own + 200 << 20))
    words = (sys.executable, "-c", nested, working, "{server...}")
    run = run_client(Client(words), server_fault("banner"), threading.Event())
    found = verdict(server_fault("banner"), run, run).as_json()
    assert 0.5 <= found["cpu_seconds"] < 5
    assert own + 200 <= found["memory_mb"] < own + 300
    assert found["lines"][-1] == f"   {run.cpu:.1f} s CPU, {run.memory} MB"


def _command_lines() -> list[str]:
    found = []
    for one in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            found.append(one.read_text("utf-8", "replace"))
        except OSError:
            continue
    return found


def test_a_client_that_is_no_program_is_named() -> None:
    """No traceback."""
    with pytest.raises(JudgeError, match="no-such-client cannot be started"):
        run_client(Client(("no-such-client",)), GOOD, threading.Event())


VERDICTS = [
    Verdict("banner", Word.WELL, 0.1, ("<- Server started",)),
    Verdict("nan", Word.BELIEVED, 0.2, ("<- \x1b[31m ]]> & <b>",), ("cancelled",)),
    Verdict("silent_at_second_call", Word.UNKNOWN, 0, ()),
]


@pytest.mark.parametrize("form", FORMATS)
def test_each_format_names_every_row_and_shows_no_control_characters(form: str) -> None:
    """JSON and JUnit can be read by what reads them."""
    text = report(form, VERDICTS, ("python", "c.py"))
    assert "\x1b" not in text or form == "json"
    assert "python c.py" in text or form == "table"
    if form == "json":
        assert [one["word"] for one in json.loads(text)["verdicts"]] == [
            "well",
            "believed",
            "not known",
        ]
    elif form != "junit":
        assert "NaN" in text


def test_the_command_compares_with_an_earlier_run(tmp_path: Path) -> None:
    """Exit 1 with what became worse; 0 where nothing did."""
    expected = tmp_path / "expected.json"
    command = [sys.executable, "-m", "humanmcp", "judge", "--timeout", "30"]
    command += ["--only", "banner,another-id"]
    of_client = ["--", sys.executable, CLIENT, "careful", "{server...}"]
    wrote = subprocess.run(
        [*command, "--write-expect", str(expected), *of_client],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (wrote.returncode, wrote.stderr.splitlines()[-1]) == (0, "well: 1, waited: 1")
    assert json.loads(expected.read_text()) == {"another_id": "waited", "banner": "well"}
    printed = tmp_path / "printed.json"
    printed.write_text('{"client": "c", "verdicts": [{"name": "another_id", "word": "waited"}]}')
    of_client[3] = "believes any id"
    worse = subprocess.run(
        [*command, "--expect", str(printed), *of_client],
        capture_output=True,
        text=True,
        check=False,
    )
    assert worse.returncode == 1
    assert "Worse: another_id: believed (before: waited)" in worse.stderr


def test_an_interrupt_prints_what_there_is() -> None:
    """Every client is ended, and the exit status is not 0."""
    command = [sys.executable, "-m", "humanmcp", "judge", "--timeout", "60", "--only"]
    command += ["banner,silent_at_call", "--", sys.executable, CLIENT, "waits for ever"]
    judge = subprocess.Popen(
        [*command, "{server...}"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )

    def waits() -> bool:
        return any("silent_at_call" in one and "playing" in one for one in _command_lines())

    until(waits, "the client of the fault that lasts")
    os.kill(judge.pid, signal.SIGINT)
    out, err = judge.communicate(timeout=30)
    assert judge.returncode == 1
    assert "Interrupted" in err
    assert not waits()
    assert "Traceback" not in out + err


class _Interrupted(ThreadPoolExecutor):
    """Ctrl-C comes when the first client has been started, and the second has not."""

    def submit(self, *arguments: Any, **named: Any) -> Future[Any]:  # noqa: ANN401 - as it is
        if self._threads:
            raise KeyboardInterrupt
        return super().submit(*arguments, **named)


def test_an_interrupt_while_the_clients_are_started_ends_them(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """No moment is left in which it would only be waited for what was started."""

    def play(_client: Client, row: ServerFault, stopped: threading.Event) -> Run:
        if row is not GOOD:
            assert stopped.wait(PATIENCE)
        return Run([Event(1.0, "in", "{}")])

    monkeypatch.setattr(command, "ThreadPoolExecutor", _Interrupted)
    monkeypatch.setattr(command, "run_client", play)
    assert main(["judge", "--only", "banner,silent_at_call", "client"]) == 1
    assert "Interrupted" in capsys.readouterr().err


BROAD = {
    "protocolVersion": "2025-06-18",
    "clientInfo": {"name": "x" * 900, "version": "1"},
    "capabilities": {"roots": {}},
}


@pytest.mark.parametrize(
    ("program", "name", "word"),
    [
        pytest.param(
            "import time; time.sleep(60)",
            "no_content",
            Word.UNKNOWN,
            id="hangs before the mistake",
        ),
        pytest.param(
            "import subprocess, sys; s = subprocess.Popen(sys.argv[1:], stdin=-1, stdout=-1);"
            f"s.stdin.write({(json.dumps({'id': 1, 'method': 'initialize', 'params': BROAD}))!r}"
            ".encode() + b'\\n'); s.stdin.flush(); s.stdout.readline();"
            """s.stdin.write(b'{"method":"notifications/initialized"}\\n'"""
            """b'{"id":2,"method":"tools/list"}\\n{"id":3,"method":"tools/call"}\\n');"""
            "s.stdin.close(); s.wait()",
            "roots_not_declared",
            Word.UNKNOWN,
            id="declares in a long line",
        ),
    ],
)
def test_what_cannot_be_known_is_not_guessed(program: str, name: str, word: Word) -> None:
    """The mistake never began, or was none: the client declared the capability."""
    one = Client((sys.executable, "-c", program, "{server...}"), seconds=2, most=2)
    good = run_client(client("careful"), GOOD, threading.Event())
    run = run_client(one, server_fault(name), threading.Event())
    found = verdict(server_fault(name), run, good)
    assert found.word is word, found


@pytest.mark.parametrize(
    ("flags", "program", "status", "said"),
    [
        (["--jobs", "0"], "", 2, "--jobs"),
        (["--timeout", "nan"], "", 2, "--timeout"),
        (["--timeout", "0"], "", 2, "--timeout"),
        (["--write-expect", "/no-such-folder/x.json"], "", 1, "cannot be written"),
        ([], "; exit 7", 0, "exit status 7"),
        ([], "; yes", 1, "more than 64 MB"),
    ],
)
def test_the_command_says_what_it_cannot_do(
    flags: list[str], program: str, status: int, said: str
) -> None:
    """No traceback; and a client that fails by itself is named."""
    words = f"{sys.executable} {CLIENT} careful {{server}}{program}"
    command = [sys.executable, "-m", "humanmcp", "judge", "--lang", "en", "--only", "banner"]
    done = subprocess.run(
        [*command, *flags, "--", "sh", "-c", words],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, "Traceback" in done.stderr) == (status, False), done.stderr
    assert said in done.stderr


def test_output_in_utf16_is_read() -> None:
    """As PowerShell prints it."""
    program = "import sys; sys.stdout.buffer.write('right-7421'.encode('utf-16'))"
    run = run_client(Client((sys.executable, "-c", program)), GOOD, threading.Event())
    assert "right-7421" in (run.output or "")
