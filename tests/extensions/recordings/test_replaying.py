"""`humanmcp serve --replay`: the server is played as it was recorded."""

import json
from pathlib import Path

import pytest

from humanmcp.extensions.recordings.recording import RecordingPlace, read_replay
from humanmcp.inbox import open_inbox
from humanmcp.inbox.contract import SessionFacts
from humanmcp.locales.stop import StopError
from humanmcp.protocol.conversation.transcript import Direction, Frame, to_json
from tests.support.postgres_server import PostgresServer
from tests.support.recordings import recorded_at
from tests.support.serve_process import HUMANMCP, Serving

AT = "2026-11-20T00:00:00.000Z"
ASKED = (
    '{"jsonrpc":"2.0","id":36,"method":"tools/call",'
    '"params":{"name":"calc_add","arguments":{"a":"1","b":"2"}}}'
)
ANSWER = '{"jsonrpc":"2.0","id":36,"result":{"content":"as broken as it was"}}'


@pytest.fixture
def transcript(tmp_path: Path) -> Path:
    """Write a transcript of one call."""
    frames = (
        Frame(1, "2026-11-20T00:00:00.000Z", Direction.IN, ASKED.encode()),
        Frame(2, "2026-11-20T00:00:00.000Z", Direction.OUT, ANSWER.encode()),
    )
    path = tmp_path / "recorded" / "transcript.jsonl"
    path.parent.mkdir()
    path.write_text("".join(to_json(frame) + "\n" for frame in frames) + "torn", encoding="utf-8")
    return path


def test_a_recorded_call_is_answered_as_recorded(tmp_path: Path, transcript: Path) -> None:
    """Right or wrong, with the id of the request; the transcript says where it comes from."""
    with Serving(tmp_path / "home", "--replay", str(transcript)) as serving:
        serving.say(ASKED.replace("36", "5"))
        assert serving.hear() == ANSWER.replace("36", "5")
        frames = (serving.session / "transcript.jsonl").read_text(encoding="utf-8").splitlines()
        assert json.loads(frames[-1])["by"] == "replay: 2"
        assert serving.close()[0] == 0


def test_what_was_not_recorded_is_left_to_the_person(tmp_path: Path, transcript: Path) -> None:
    """It waits in the inbox like any other call."""
    with Serving(tmp_path / "home", "--replay", str(transcript)) as serving:
        serving.say(ASKED.replace('"1"', '"9"'))
        serving.type('{"result":{"content":[{"type":"text","text":"11"}]}}')
        assert json.loads(serving.hear())["result"]["content"][0]["text"] == "11"


@pytest.mark.parametrize("wanted", ["file", "folder", "session"])
def test_a_recording_is_named_in_three_ways(tmp_path: Path, transcript: Path, wanted: str) -> None:
    """The transcript, its folder, or the name of a session in the inbox."""
    home = tmp_path / "home"
    session = home / "sessions" / "20261120T000000Z-abcd"
    session.mkdir(parents=True)
    (session / "transcript.jsonl").write_bytes(transcript.read_bytes())
    names = {"file": str(transcript), "folder": str(transcript.parent), "session": session.name}
    assert len(read_replay(RecordingPlace.find(names[wanted], home), "exact")) == 1


@pytest.mark.postgres
@pytest.mark.xdist_group("postgres")
def test_a_session_of_a_database_is_named_like_any_other(
    tmp_path: Path, postgres: PostgresServer
) -> None:
    """`--inbox postgresql://…`: what was recorded there is played, and other names are refused."""
    where, home = postgres.another(tmp_path.name), tmp_path / "home"
    home.mkdir(mode=0o700)
    inbox = open_inbox(home, where)
    name = inbox.begin_session(SessionFacts("", AT))
    inbox.record(name, Frame(1, AT, Direction.IN, ASKED.encode()))
    inbox.record(name, Frame(2, AT, Direction.OUT, ANSWER.encode()))
    with Serving(home, "--inbox", where, "--replay", name) as serving:
        serving.send(ASKED.replace("36", "5"))
        assert serving.hear() == ANSWER.replace("36", "5")
    with pytest.raises(StopError, match="20260101T000000Z-0000"):
        read_replay(RecordingPlace.find("20260101T000000Z-0000", home, where), "exact")


BROKEN = [
    (b'{"jsonrpc":"2.0","id":1000036,"result":{}}', b'{"jsonrpc":"2.0","id":1000036,"result":{}}'),
    (b'{"jsonrpc":"2.0","id":"36","result":{}}', b'{"jsonrpc":"2.0","id":"5","result":{}}'),
    (b'{"jsonrpc":"2.0","id":36.0,"result":{}}', b'{"jsonrpc":"2.0","id":5.0,"result":{}}'),
    (b'{"id":36,"result":{}}', b'{"id":5,"result":{}}'),
    (
        b'{"jsonrpc":"2.0","id":36,"result":{},"error":{"code":1,"message":""}}',
        b'{"jsonrpc":"2.0","id":5,"result":{},"error":{"code":1,"message":""}}',
    ),
    (b'{"jsonrpc":"2.0","id":36,"resu', b'{"jsonrpc":"2.0","id":5,"resu'),
    (b'[{"jsonrpc":"2.0","id":36,"result":{}}]', b'[{"jsonrpc":"2.0","id":5,"result":{}}]'),
    (b'\xef\xbb\xbf{"jsonrpc":"2.0","id":36,"result":{}}', b'\xef\xbb\xbf{"jsonrpc":"2.0","id":5,'),
    (b'{"jsonrpc":"2.0","id":36,"result":"\xff"}', b'{"jsonrpc":"2.0","id":5,"result":"\xff"}'),
    (b"Traceback (most recent call last):\r", b"Traceback (most recent call last):\r"),
]


@pytest.mark.parametrize(("was", "becomes"), BROKEN, ids=[str(n) for n in range(len(BROKEN))])
def test_a_broken_answer_is_given_back_as_it_was_recorded(
    tmp_path: Path, was: bytes, becomes: bytes
) -> None:
    """For the request at hand, and marked as deliberate; the request is closed by it."""
    recording = recorded_at(tmp_path / "recorded", (Direction.IN, ASKED), (Direction.OUT, was))
    with Serving(tmp_path / "home", "--replay", recording) as serving:
        serving.say(ASKED.replace("36", "5"))
        assert serving.hear_raw().startswith(becomes)
        frame = json.loads(transcript_of(serving)[-1])
        assert (frame["by"], frame["note"]) == ("replay: 2", "deliberate")
        assert serving.close() == (0, [])


def test_a_print_before_an_answer_is_said_before_it_and_a_second_answer_after_it(
    tmp_path: Path,
) -> None:
    """What a faulty server does is all of one answer."""
    recording = recorded_at(
        tmp_path / "recorded",
        (Direction.IN, ASKED),
        (Direction.OUT, "Listening on port 80"),
        (Direction.OUT, ANSWER),
        (Direction.OUT, ANSWER),
    )
    with Serving(tmp_path / "home", "--replay", recording) as serving:
        serving.say(ASKED.replace("36", "5"))
        assert serving.hear() == "Listening on port 80"
        assert [serving.hear() for _ in range(2)] == [ANSWER.replace("36", "5")] * 2


def transcript_of(serving: Serving) -> list[str]:
    """Return the frames that a server has recorded, as lines."""
    path = serving.session / "transcript.jsonl"
    return path.read_text(encoding="utf-8").splitlines()


PROGRESS = '{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%s,%s}}'
LOG = '{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"x"}}'
CHANGED = '{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}'
ROOTS = '{"jsonrpc":"2.0","id":%s,"method":"roots/list"}'
TOKEN = ASKED.replace('"params":{', '"params":{"_meta":{"progressToken":%s},')


def test_what_a_server_said_of_its_own_is_said_again_in_its_place(tmp_path: Path) -> None:
    """Progress with the token of today, logs, questions that are waited for, changes."""
    recording = recorded_at(
        tmp_path / "recorded",
        (Direction.IN, TOKEN % 36),
        (Direction.OUT, PROGRESS % (36, '"progress":1')),
        (Direction.OUT, LOG),
        (Direction.OUT, ROOTS % 1),
        (Direction.IN, '{"jsonrpc":"2.0","id":1,"result":{"roots":[]}}'),
        (Direction.OUT, PROGRESS % (36, '"progress":2')),
        (Direction.OUT, ANSWER),
        (Direction.OUT, CHANGED),
    )
    with Serving(tmp_path / "home", "--replay", recording) as serving:
        serving.say(TOKEN.replace("36", "5") % '"mine"')
        assert serving.hear() == PROGRESS % ('"mine"', '"progress":1')
        assert serving.hear() == LOG
        assert serving.hear() == ROOTS % 1
        serving.say('{"jsonrpc":"2.0","id":1,"result":{"roots":[]}}')
        assert serving.hear() == PROGRESS % ('"mine"', '"progress":2')
        assert serving.hear() == ANSWER.replace("36", "5")
        assert serving.hear() == CHANGED
        serving.say(ASKED.replace("36", "6"))  # the same again, without a token
        assert serving.hear() == LOG
        assert serving.hear() == ROOTS % '"1-1"'
        serving.say('{"jsonrpc":"2.0","id":"1-1","error":{"code":-32601,"message":"no"}}')
        assert serving.hear() == ANSWER.replace("36", "6")
        assert serving.hear() == CHANGED
        assert serving.close() == (0, [])


def test_what_follows_the_handshake_follows_it_again(tmp_path: Path) -> None:
    """A server that asks for the roots as soon as the client is ready."""
    ready = '{"jsonrpc":"2.0","method":"notifications/initialized"}'
    recording = recorded_at(
        tmp_path / "recorded",
        (Direction.IN, ready),
        (Direction.OUT, ROOTS % 1),
        (Direction.IN, ASKED),
        (Direction.OUT, ANSWER),
    )
    with Serving(tmp_path / "home", "--replay", recording) as serving:
        serving.say(ready)
        assert serving.hear() == ROOTS % 1


def test_a_call_that_was_cancelled_while_it_was_asked_back_gets_no_answer(
    tmp_path: Path,
) -> None:
    """The answer to the question comes too late."""
    recording = recorded_at(
        tmp_path / "recorded",
        (Direction.IN, ASKED),
        (Direction.OUT, ROOTS % 1),
        (Direction.OUT, ANSWER),
    )
    cancel = '{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":36}}'
    with Serving(tmp_path / "home", "--replay", recording) as serving:
        serving.say(ASKED)
        assert serving.hear() == ROOTS % 1
        serving.say(cancel)
        serving.say('{"jsonrpc":"2.0","id":1,"result":{"roots":[]}}')
        serving.say('{"jsonrpc":"2.0","id":9,"method":"ping"}')
        assert json.loads(serving.hear())["id"] == 9
        assert serving.close() == (0, [])


def test_what_was_not_recorded_is_refused_where_that_is_wanted_and_listed_at_the_end(
    tmp_path: Path, transcript: Path
) -> None:
    """On stderr, in the log, and by the exit status; a ping is answered as ever."""
    flags = ("--replay", str(transcript), "--otherwise", "error")
    with Serving(tmp_path / "home", *flags) as serving:
        serving.say('{"jsonrpc":"2.0","id":1,"method":"ping"}')
        assert json.loads(serving.hear())["result"] == {}
        serving.say(ASKED.replace('"1"', '"9"'))
        error = json.loads(serving.hear())["error"]
        assert error == {
            "code": -32602,
            "message": "no answer was recorded for tools/call calc_add",
        }
        assert serving.close() == (3, [])
        said = serving.last_words()
    assert "Requests without a recorded answer: 1.\n  2 tools/call calc_add" in said
    log = (tmp_path / "home" / "humanmcp.log").read_text(encoding="utf-8")
    assert "not recorded: 2 tools/call calc_add" in log


def test_a_text_log_can_be_played_as_well(tmp_path: Path) -> None:
    """The format of the first capture script."""
    log = tmp_path / "capture.log"
    time = "[2025-04-06 15:09:35.419]"
    log.write_text(f"{time} IN: {ASKED}\n{time} OUT: {ANSWER}\n", encoding="utf-8")
    with Serving(tmp_path / "home", "--replay", str(log)) as serving:
        serving.say(ASKED)
        assert serving.hear() == ANSWER


def test_a_recording_that_is_none_is_said(tmp_path: Path) -> None:
    """A missing file, and a file without an answer."""
    empty = tmp_path / "empty.jsonl"
    empty.write_text("hello\n", encoding="utf-8")
    told = {empty: "no messages.+ Use a recording", tmp_path / "nowhere.jsonl": "Give a transcript"}
    for path, sentence in told.items():
        with pytest.raises(StopError, match=sentence):
            read_replay(RecordingPlace.find(str(path), tmp_path), "exact")


def test_a_recording_is_played_by_a_command_of_its_own(tmp_path: Path, transcript: Path) -> None:
    """With the flags of `serve`, before or behind the file."""
    command = (*HUMANMCP, "replay", "--match", "similar", str(transcript), "--otherwise", "error")
    with Serving(tmp_path / "home", command=command) as serving:
        serving.say(ASKED.replace("36", "5").replace('"1"', '"12"'))
        assert serving.hear() == ANSWER.replace("36", "5")
        serving.say('{"jsonrpc":"2.0","id":6,"method":"tools/list"}')
        assert json.loads(serving.hear())["error"]["code"] == -32602
        assert serving.close()[0] == 3


def test_a_call_can_have_a_fault_and_the_others_their_answers(
    tmp_path: Path, transcript: Path
) -> None:
    """The second call is never answered: a client tests its timeout."""
    flags = ("--replay", str(transcript), "--fault", "2:silence", "--fault", "3:wrong-id")
    with Serving(tmp_path / "home", *flags) as serving:
        for number in (5, 6, 7, 8):
            serving.say(ASKED.replace("36", str(number)))
        assert serving.hear() == ANSWER.replace("36", "5")
        wrong = json.loads(serving.hear())
        assert (wrong["id"] != 7, wrong["result"]) == (True, json.loads(ANSWER)["result"])
        assert serving.hear() == ANSWER.replace("36", "8")


@pytest.mark.parametrize("fault", ["silence", "2:nothing", "x:silence"])
def test_a_fault_that_there_is_not_is_refused(tmp_path: Path, transcript: Path, fault: str) -> None:
    with pytest.raises(StopError, match=fault):
        read_replay(RecordingPlace(transcript, tmp_path), "exact", faults=[fault])


def test_a_recorded_request_that_was_not_sent_can_be_an_error(
    tmp_path: Path, transcript: Path
) -> None:
    flags = ("--replay", str(transcript), "--must-be-used")
    for asks, status in ((False, 3), (True, 0)):
        with Serving(tmp_path / f"home-{status}", *flags) as serving:
            if asks:
                serving.say(ASKED)
                serving.hear()
            else:
                serving.say('{"jsonrpc":"2.0","method":"notifications/initialized"}')
            assert serving.close()[0] == status
