"""`humanmcp serve --replay … --otherwise forward`: what was not recorded is asked for real."""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from threading import Event
from types import SimpleNamespace
from typing import Any, Final

import pytest

from humanmcp.extensions.recordings import forwarding as forwarding_module
from humanmcp.protocol.conversation.stages import ExchangeState
from humanmcp.protocol.conversation.transcript import Direction, Frame, from_json, to_json
from humanmcp.protocol.json import jsonrpc
from humanmcp.protocol.json.jsonrpc import NO_RESPONSE
from tests.support.ports import own_port
from tests.support.serve_process import COMMAND, Serving, bare_environment
from tests.support.waiting import PATIENCE, until

SAMPLES: Final = Path(__file__).parents[3] / "samples" / "servers"
CALCULATE: Final = (sys.executable, str(SAMPLES / "calculate.py"))
WEATHER: Final = (sys.executable, str(SAMPLES / "weather.py"))
ASKING: Final = (sys.executable, str(Path(__file__).parent / "asking_server.py"))

HELLO: Final = (
    '{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18",'
    '"capabilities":{"roots":{}},"clientInfo":{"name":"tester","version":"3"}}}'
)
OPENED: Final = (
    '{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},'
    '"serverInfo":{"name":"recorded","version":"1"}}}'
)
READY: Final = '{"jsonrpc":"2.0","method":"notifications/initialized"}'
SUM: Final = (
    '{"jsonrpc":"2.0","id":%s,"method":"tools/call","params":{"name":"calculate","arguments":'
    '{"first":1,"second":[%s]}}}'
)


def call(token: str, name: str, meta: str = "") -> str:
    """Write a call of a tool."""
    return (
        f'{{"jsonrpc":"2.0","id":{token},"method":"tools/call",'
        f'"params":{{{meta}"name":"{name}","arguments":{{}}}}}}'
    )


def frames_of(path: Path) -> list[Frame]:
    """Read a transcript."""
    return [from_json(line) for line in path.read_text(encoding="utf-8").splitlines()]


@pytest.fixture
def recording(tmp_path: Path) -> Path:
    """Write the recording of a handshake and one sum."""
    answer = '{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"recorded"}]}}'
    lines = (
        (Direction.IN, HELLO),
        (Direction.OUT, OPENED),
        (Direction.IN, SUM % (1, 2)),
        (Direction.OUT, answer),
    )
    path = tmp_path / "recording.jsonl"
    frames = (
        Frame(n, "2026-11-20T00:00:00.000Z", direction, raw.encode())
        for n, (direction, raw) in enumerate(lines, 1)
    )
    path.write_text("".join(to_json(frame) + "\n" for frame in frames), encoding="utf-8")
    return path


def forwarding(
    tmp_path: Path, recording: Path | str, server: tuple[str, ...], *flags: str
) -> Serving:
    """Start a server that plays a recording with a real server behind it."""
    words = ("--replay", str(recording), "--otherwise", "forward", *flags, "--", *server)
    return Serving(tmp_path / "home", *words)


def opened(serving: Serving) -> None:
    """Shake hands."""
    serving.say(HELLO)
    assert serving.hear() == OPENED
    serving.say(READY)


def test_what_was_not_recorded_is_asked_of_the_real_server_and_recorded_from_then_on(
    tmp_path: Path, recording: Path
) -> None:
    """Once: the second session needs no server. The client's id comes back as it was written."""
    with forwarding(tmp_path, recording, CALCULATE) as serving:
        opened(serving)
        serving.say(SUM % (5, 2))
        assert json.loads(serving.hear())["result"]["content"][0]["text"] == "recorded"
        serving.say(SUM % ("6.0", 41))
        line = serving.hear()
        assert '"id": 6.0' in line
        assert "The result of the addition is: 42" in line
        assert serving.close() == (0, [])
        assert (
            f"Requests that the real server answered, added to {recording}: 1."
            in serving.last_words()
        )
        frame = frames_of(serving.session / "transcript.jsonl")[-1]
        assert (frame.by, frame.note, frame.text) == ("forward", "", line)
    assert [(one.seq, one.direction) for one in frames_of(recording)][4:] == [
        (5, Direction.IN),
        (6, Direction.OUT),
    ]
    with Serving(tmp_path / "home", "--replay", str(recording), "--otherwise", "error") as serving:
        opened(serving)
        serving.say(SUM % ('"x"', 41))
        assert json.loads(serving.hear()) == json.loads(line) | {"id": "x"}
        assert serving.close() == (0, [])


def test_the_server_is_opened_as_the_client_opened_the_session(
    tmp_path: Path, recording: Path
) -> None:
    """The same version, name and capabilities; its stderr stands in the transcript."""
    with forwarding(tmp_path, recording, ASKING) as serving:
        opened(serving)
        serving.say(call("7.0", "respell"))
        assert serving.hear().startswith('{"jsonrpc":"2.0","id":7.0,"result"')
        transcript = serving.session / "transcript.jsonl"
        (aside,) = until(  # it comes by another pipe than the answer
            lambda: [frame for frame in frames_of(transcript) if frame.direction is Direction.ERR],
            "what the server wrote to stderr",
        )
        handshake = json.loads(aside.text)
        assert handshake["params"] == json.loads(HELLO)["params"]


def test_what_the_server_says_meanwhile_is_passed_on(tmp_path: Path, recording: Path) -> None:
    """Logs and progress with the client's token; what is no message stays in the transcript."""
    with forwarding(tmp_path, recording, ASKING) as serving:
        opened(serving)
        serving.say(call("7", "talk", '"_meta":{"progressToken":"mine"},'))
        assert json.loads(serving.hear())["params"] == {"level": "info", "data": "at it"}
        progress = {"progressToken": "mine", "progress": 1, "total": 2}
        assert json.loads(serving.hear())["params"] == progress
        assert json.loads(serving.hear())["id"] == 7
        notes = [
            frame.text
            for frame in frames_of(serving.session / "transcript.jsonl")
            if frame.note == "no message"
        ]
        assert notes == ["no message"]
        assert serving.close() == (0, [])
    with Serving(tmp_path / "home", "--replay", str(recording)) as serving:
        opened(serving)
        serving.say(call("8", "talk", '"_meta":{"progressToken":9},'))
        methods = [json.loads(serving.hear()).get("method") for _ in range(3)]
        assert methods == ["notifications/message", "notifications/progress", None]


def test_its_questions_go_to_the_client(tmp_path: Path, recording: Path) -> None:
    """Under an id that the client has not seen; the answer goes back under the server's own."""
    with forwarding(tmp_path, recording, ASKING) as serving:
        opened(serving)
        serving.say(call("7", "ask"))
        question = json.loads(serving.hear())
        assert (question["method"], question["id"]) == ("roots/list", "forward-1")
        serving.say('{"jsonrpc":"2.0","id":"forward-1","result":{"roots":[]}}')
        assert json.loads(serving.hear())["result"]["content"][0]["text"] == "1: []"
        assert serving.close() == (0, [])
    assert len(frames_of(recording)) == 4 + 4


def test_a_cancelled_call_is_cancelled_there_as_well(tmp_path: Path, recording: Path) -> None:
    """And nothing is added to the recording."""
    with forwarding(tmp_path, recording, ASKING) as serving:
        opened(serving)
        serving.say(call("7", "wait"))
        cancel = '"method":"notifications/cancelled","params":{"requestId":7}'
        serving.say(f'{{"jsonrpc":"2.0",{cancel}}}')
        until(lambda: "notifications/cancelled 7" in _aside(serving), "the server's word")
        assert serving.close() == (0, [])
    assert len(frames_of(recording)) == 4


def _aside(serving: Serving) -> str:
    frames = frames_of(serving.session / "transcript.jsonl")
    return "".join(frame.text for frame in frames if frame.direction is Direction.ERR)


ENDS: Final[dict[str, tuple[tuple[str, ...], str]]] = {
    "dies": (ASKING, "exit status 7"),
    "refuses": ((*ASKING, "refuse"), "not today"),
    "is not there": (("/nowhere/server",), "cannot start `/nowhere/server`"),
}


@pytest.mark.parametrize("case", ENDS)
def test_a_call_that_the_server_leaves_is_the_persons(
    tmp_path: Path, recording: Path, case: str
) -> None:
    """It says why on stderr and in the log, and the list of misses names the call."""
    server, why = ENDS[case]
    with forwarding(tmp_path, recording, server) as serving:
        opened(serving)
        serving.say(call("7", "die"))
        waiting = serving.session / "pending"
        until(lambda: any(waiting.glob("*/request.json")), "the call in the inbox")
        serving.type('{"result":{"content":[{"type":"text","text":"by hand"}]}}')
        assert json.loads(serving.hear())["result"]["content"][0]["text"] == "by hand"
        assert serving.close() == (3, [])
        said = serving.last_words()
    assert why in said
    assert "Requests that now wait for you: 1." in said
    assert "Requests without a recorded answer: 1.\n  2 tools/call die" in said
    assert why in (tmp_path / "home" / "humanmcp.log").read_text(encoding="utf-8")
    assert len(frames_of(recording)) == 4


@pytest.mark.parametrize("case", ENDS)
def test_nothing_waits_for_a_person_where_that_was_wished(
    tmp_path: Path, recording: Path, case: str
) -> None:
    """What the server leaves is refused with the reason; what is recorded is given."""
    server, why = ENDS[case]
    words = ("--replay", str(recording), "--otherwise", "forward-or-error", "--", *server)
    with Serving(tmp_path / "home", *words) as serving:
        opened(serving)
        serving.say(call("7", "die"))
        error = json.loads(serving.hear())["error"]
        assert error["code"] == -32602
        assert error["message"].startswith("no answer was recorded for tools/call die; the real")
        assert why in error["message"]
        serving.say(SUM % (8, 2))
        assert json.loads(serving.hear())["result"]["content"][0]["text"] == "recorded"
        assert serving.close() == (3, [])
        assert "Requests that were therefore refused: 1." in serving.last_words()
    assert len(frames_of(recording)) == 4


def test_a_server_that_died_is_started_again_for_the_next_call(
    tmp_path: Path, recording: Path
) -> None:
    """Each call has its chance."""
    with forwarding(tmp_path, recording, ASKING) as serving:
        opened(serving)
        serving.say(call("7", "die"))
        until(lambda: any((serving.session / "pending").glob("*/request.json")), "the call")
        until(lambda: "my last words" in _aside(serving), "what it wrote to stderr")
        serving.say(call("8", "echo"))
        assert json.loads(serving.hear())["id"] == 8


def test_a_recording_may_begin_with_nothing(tmp_path: Path) -> None:
    """The client's own handshake opens the server then, and is recorded as well."""
    recording = tmp_path / "new.jsonl"
    with forwarding(tmp_path, recording, CALCULATE) as serving:
        serving.say(HELLO)
        assert json.loads(serving.hear())["result"]["serverInfo"]["name"] == "calculate"
        serving.say(READY)
        serving.say('{"jsonrpc":"2.0","id":1,"method":"tools/list"}')
        assert json.loads(serving.hear())["result"]["tools"][0]["name"] == "calculate"
        assert serving.close() == (0, [])
    assert recording.stat().st_mode & 0o777 == 0o600
    with Serving(tmp_path / "home", "--replay", str(recording)) as serving:
        serving.say(HELLO)
        assert json.loads(serving.hear())["result"]["serverInfo"]["name"] == "calculate"


MODERN: Final = (
    '"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",'
    '"io.modelcontextprotocol/clientInfo":{"name":"tester","version":"3"},'
    '"io.modelcontextprotocol/clientCapabilities":{}}'
)


def test_a_server_without_a_handshake_is_asked_at_once(tmp_path: Path) -> None:
    """2026-07-28, with a server of the official SDK: each request says what it is."""
    with forwarding(tmp_path, tmp_path / "new.jsonl", WEATHER) as serving:
        serving.say(f'{{"jsonrpc":"2.0","id":"a","method":"tools/list","params":{{{MODERN}}}}}')
        answer = json.loads(serving.hear(3 * PATIENCE))
        assert answer["id"] == "a"
        assert answer["result"]["tools"]


def _as_session(home: Path, recording: Path) -> tuple[str, Path]:
    session = home / "sessions" / "20261120T000000Z-abcd"
    session.mkdir(parents=True)
    (session / "session.json").write_text("{}", encoding="utf-8")
    (session / "transcript.jsonl").write_bytes(recording.read_bytes())
    return session.name, session / "transcript.jsonl"


def _as_log(_home: Path, recording: Path) -> tuple[str, Path]:
    time = "[2025-04-06 15:09:35.419]"
    words = {Direction.IN: "IN", Direction.OUT: "OUT"}
    log = recording.with_name("capture.log")
    lines = (f"{time} {words[one.direction]}: {one.text}\n" for one in frames_of(recording))
    log.write_text("".join(lines), encoding="utf-8")
    return str(log), log


@pytest.mark.parametrize("made", [_as_session, _as_log], ids=["session", "text log"])
def test_a_record_of_a_session_and_a_text_log_stay_as_they_are(
    tmp_path: Path, recording: Path, made: Callable[[Path, Path], tuple[str, Path]]
) -> None:
    """A file beside them grows, and is played with them from then on."""
    name, path = made(tmp_path / "home", recording)
    before = path.read_bytes()
    with forwarding(tmp_path, name, CALCULATE) as serving:
        opened(serving)
        serving.say(SUM % (6, 41))
        line = serving.hear()
        assert serving.close() == (0, [])
    assert path.read_bytes() == before
    assert path.with_name(path.name + ".forwarded.jsonl").exists()
    with Serving(tmp_path / "home", "--replay", name) as serving:
        opened(serving)
        serving.say(SUM % (6, 41))
        assert json.loads(serving.hear()) == json.loads(line)


def test_a_rule_of_the_book_comes_before_the_server(tmp_path: Path, recording: Path) -> None:
    """What somebody decided is not asked of anybody else."""
    book = tmp_path / "book.toml"
    book.write_text(
        '[[rules]]\nmethod = "tools/call"\nresult = { content = [] }\n', encoding="utf-8"
    )
    with forwarding(tmp_path, recording, ("/nowhere",), "--book", str(book)) as serving:
        opened(serving)
        serving.say(call("7", "echo"))
        assert json.loads(serving.hear())["result"] == {"content": []}


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (("--otherwise", "forward"), "the real server's command"),
        (("--otherwise", "forward", "--", "server"), "needs a recording"),
        (("--", "server", "-x"), "Unexpected arguments: server -x."),
    ],
)
def test_a_command_that_does_not_go_with_the_options_is_told(
    tmp_path: Path, words: tuple[str, ...], why: str
) -> None:
    """Nothing is started."""
    done: Any = subprocess.run(
        [*COMMAND, "--home", str(tmp_path / "home"), *words],
        capture_output=True,
        input=b"",
        env=bare_environment(tmp_path),
        check=False,
    )
    assert done.returncode == 1
    assert why in done.stderr.decode()


def test_the_error_of_a_tap_without_its_server_is_no_answer_of_the_server(tmp_path: Path) -> None:
    """The person, or nobody, gets the request; nothing is recorded."""
    port, made = own_port(), tmp_path / "made.jsonl"  # nobody listens there
    words = ("--quiet", "--home", str(tmp_path / "tap"), f"http://127.0.0.1:{port}/mcp")
    tap = (*COMMAND, "tap", *words)
    with forwarding(tmp_path, made, tap, "--otherwise", "forward-or-error") as serving:
        serving.say(HELLO)
        error = json.loads(serving.hear())["error"]
        assert f"127.0.0.1:{port}" in error["message"]
        assert error.get("data") != NO_RESPONSE, "the tap says so, and this server itself"
    assert not made.exists()


def test_a_server_that_starts_and_never_answers_is_given_up(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The handshake with it is ours, so nobody else would end the wait."""
    monkeypatch.setattr(forwarding_module, "PATIENCE", 0.05)
    woken = Event()
    left: list[object] = []
    told: list[str] = []
    way: Any = SimpleNamespace(
        session=SimpleNamespace(version="2025-06-18", exchanges={}),
        journal=SimpleNamespace(clock=SimpleNamespace(stamp=lambda: "")),
        options=SimpleNamespace(tell_stderr=told.append),
        fall_back=left.append,
    )
    exchange: Any = SimpleNamespace(
        number=1,
        method="tools/call",
        version="2025-06-18",
        request=jsonrpc.read((SUM % (2, 5)).encode()),
        state=ExchangeState.PENDING,
    )
    way.session.exchanges[1] = exchange
    replay: Any = SimpleNamespace(refuses=True, leave=lambda *_: None)
    silent = (sys.executable, "-c", "import sys; sys.stdin.read()")
    forward: Any = SimpleNamespace(command=silent, recording=None)
    made = forwarding_module.Forwarding(way, forward, replay, woken.set)
    made.ask(exchange)
    assert woken.wait(PATIENCE)
    made.look()
    assert left == [exchange]
    assert "did not answer the handshake" in told[0]
    made.close()
