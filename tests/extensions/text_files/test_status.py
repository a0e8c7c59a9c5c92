"""`status.txt`: what has become of each line of `in.txt`, and what will."""

import base64
import json
import shutil
import threading
from pathlib import Path
from typing import Final

import pytest

from humanmcp.cli import main
from humanmcp.desk.board import Board
from humanmcp.extensions.text_files.files import TextFiles
from humanmcp.extensions.text_files.folder import OpenFolder
from humanmcp.extensions.text_files.out_txt import DocumentOutcome
from humanmcp.inbox.contract import Order, Reply
from humanmcp.inbox.folder import FolderInbox
from humanmcp.locales import LANGUAGES, say
from humanmcp.protocol.answer_book.decide import HandshakePolicy, Mode
from tests.support.serve_process import AtFiles
from tests.support.verdicts import stating
from tests.support.waiting import until

CALL: Final = (
    '{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"sky","arguments":{}}}'
)


def initialize(client: str) -> str:
    """Write the first message of a client."""
    params = {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": client, "version": "1"},
    }
    message = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params}
    return json.dumps(message)


DECLARED: Final = json.dumps(
    {
        "jsonrpc": "2.0",
        "id": 1,
        "result": {
            "protocolVersion": "2025-11-25",
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "mine", "version": "1"},
        },
    }
)


def test_with_files_the_handshake_waits_for_the_person(tmp_path: Path) -> None:
    """The book steps in for no unknown client; who follows the first article is the server."""
    with AtFiles(tmp_path) as server:
        server.say(initialize("some-client"))
        server.says("line 1: initialize (id 1): waits for you")
        assert "the answer book answers at" not in server.status()
        with pytest.raises(AssertionError, match="no line on stdout"):
            server.hear(within=2.5)  # an unknown client was answered after 2 s
        server.type(DECLARED)
        assert json.loads(server.hear())["result"]["serverInfo"]["name"] == "mine"
        server.says("line 1: initialize (id 1): answered by you, in out.txt")


def test_the_answer_that_status_txt_shows_can_be_sent_as_it_is(tmp_path: Path) -> None:
    """Who has never seen an answer to `initialize` or `tools/list` copies one."""
    with AtFiles(tmp_path) as server:
        for line in (initialize("some-client"), '{"jsonrpc":"2.0","id":2,"method":"tools/list"}'):
            server.say(line)
            title = "initialize (id 1)" if '"id": 1' in line else "tools/list (id 2)"
            server.says(f"{title}: waits for you\n    An answer to start from, for out.txt: ")
            after = server.status().partition(f"{title}: waits for you")[2]
            example = after.splitlines()[1].partition("out.txt: ")[2]
            server.type(example)
            assert json.loads(server.hear()) == json.loads(example)
        server.says("tools/list (id 2): answered by you")
        assert "An answer to start from" not in server.status()


def test_a_question_shows_what_to_write_into_out_txt(tmp_path: Path) -> None:
    """Not only the command of a terminal; the words go into the place of the placeholder."""
    with AtFiles(tmp_path, "--handshake", "book") as server:
        server.say(initialize("some-client"))
        server.hear()
        params = {"name": "ask_human", "arguments": {"question": "Tea?"}}
        call = {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": params}
        server.say(json.dumps(call))
        server.says("To answer: `humanmcp answer 2 --digest ")
        example = server.status().partition("for out.txt: ")[2].splitlines()[0]
        server.type(example.replace("Type the answer here.", "yes"))
        said = json.loads(server.hear())["result"]["structuredContent"]
        assert said == {"status": "answered", "answers": {"Tea?": "yes"}}


def test_the_book_waits_for_who_writes_in_out_txt_and_says_so(tmp_path: Path) -> None:
    """A client that gives up after 1.5 s, and half an answer in the file."""
    with AtFiles(tmp_path) as server:
        until(server.find_session, "the files")
        server.type(DECLARED[:40])
        until(server.complaint, "two seconds without a change")
        server.say(initialize("Cline"))
        server.says("the answer book waits while you write")
        with pytest.raises(AssertionError, match="no line on stdout"):
            server.hear(within=1.5)
        server.type(DECLARED)
        assert json.loads(server.hear())["result"]["serverInfo"]["name"] == "mine"


def test_what_the_book_will_do_and_did_is_said_beside_and_on_stderr(tmp_path: Path) -> None:
    """Nothing was ever told of a countdown or of the book."""
    with AtFiles(tmp_path) as server:
        server.say(initialize("Cline"))
        server.says("line 1: initialize (id 1): waits for you; the answer book answers at ")
        assert json.loads(server.hear())["result"]["serverInfo"]["name"] == "humanmcp"
        server.says("line 1: initialize (id 1): answered by the answer book")
        server.close()
        said = server.last_words()
    assert "initialize (id 1): waits for you; the answer book answers at " in said
    assert "initialize (id 1): answered by the answer book" in said
    assert "status.txt" in said


def test_what_is_unusual_about_a_line_stands_beside_it(tmp_path: Path) -> None:
    """An unreadable line, and what the check says of a request."""
    with AtFiles(tmp_path, "--by-hand") as server:
        server.say("hello")
        server.say(CALL.replace("arguments", "args"))
        server.says(
            "line 1: not a message: unreadable; humanmcp sends nothing for it\n"
            "    line-not-json (N01): This line",
            "line 2: tools/call sky (id 7): waits for you\n",
            'This client sent "args"',
        )


def test_a_folder_that_cannot_come_back_ends_no_session(tmp_path: Path) -> None:
    """A link took its name; that is said once, and the folder is back when the link is gone."""
    with AtFiles(tmp_path, "--by-hand") as server:
        server.say(CALL)
        server.says("waits for you")
        (tmp_path / "other").mkdir()
        shutil.rmtree(server.folder)
        server.folder.symlink_to(tmp_path / "other")
        log = server.home / "humanmcp.log"
        until(lambda: "cannot be made anew" in log.read_text("utf-8"), "a word in the log")
        assert "Traceback" not in log.read_text("utf-8")
        server.folder.unlink()
        server.says("waits for you")


def test_each_line_is_told_of_also_when_the_session_is_over(tmp_path: Path) -> None:
    """A notification, a ping, a cancelled call, one that is left, an answer to nobody."""
    with AtFiles(tmp_path) as server:
        server.say('{"jsonrpc":"2.0","id":"p","method":"ping"}')
        server.say(CALL)
        cancel = {"requestId": 7, "reason": "enough"}
        notice = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": cancel}
        server.say(json.dumps(notice))
        server.say(CALL.replace("7", "8"))
        server.say('{"jsonrpc":"2.0","id":"z","result":{}}')
        server.hear()
        assert server.close()[0] == 0
        lines = server.status().splitlines()
    for wanted in (
        'line 1: ping (id "p"): answered by the answer book',
        "line 2: tools/call sky (id 7): the client cancelled this request: no answer is sent",
        "line 3: notifications/cancelled: needs no answer",
        "line 4: tools/call sky (id 8): the session ended before this was answered",
        'line 5: a response (id "z"): you sent no request with this id',
    ):
        assert wanted in lines, lines


def test_a_long_session_is_told_of_in_its_last_lines(tmp_path: Path) -> None:
    """What still waits is told of, however old it is."""
    with AtFiles(tmp_path) as server:
        server.say(CALL)
        for _ in range(300):
            server.send('{"jsonrpc":"2.0","id":"p","method":"ping"}')
        server.says("line 301: ping")
        told = server.status()
    assert "line 1: tools/call sky (id 7): waits for you" in told
    assert "line 101: ping" not in told
    assert "Earlier lines that are left out here: 100" in told


@pytest.mark.parametrize("language", LANGUAGES)
def test_how_much_is_answered_is_said_in_every_manner(language: str) -> None:
    """No manner of starting leaves the file without its first sentences."""
    for handshake in HandshakePolicy:
        assert say("status", f"handshake {handshake.value}", language)
    for mode in Mode:
        assert mode is Mode.NORMAL or say("status", f"mode {mode.value}", language)


# -- F4 -------------------------------------------------------------------------------------------


def test_an_answer_that_came_too_early_is_told_when_its_request_comes(tmp_path: Path) -> None:
    """The sentence went stale. It is sent when it is saved again, and not before."""
    answer = '{"jsonrpc":"2.0","id":8,"result":{"content":[]}}'
    with AtFiles(tmp_path, "--by-hand") as server:
        server.say(CALL)
        server.type(answer)
        until(server.complaint, "the refusal")
        server.say(CALL.replace('"id":7', '"id":8'))
        until(lambda: "The request 8 has come" in server.complaint(), "the news")
        server.type(answer + "\n")
        assert server.hear() == answer


def test_a_folder_that_was_deleted_comes_back_with_all_that_came(tmp_path: Path) -> None:
    """`rm -r` while the server runs; the next answer goes out from the new folder."""
    with AtFiles(tmp_path, "--by-hand") as server:
        server.say(CALL)
        shutil.rmtree(server.folder)
        until((server.folder / "in.txt").exists, "the folder")
        until(lambda: CALL.encode() in (server.folder / "in.txt").read_bytes(), "the line")
        server.says("line 1: tools/call sky (id 7): waits for you")
        server.type('{"jsonrpc":"2.0","id":7,"result":{"content":[]}}')
        assert json.loads(server.hear())["id"] == 7


def test_no_version_is_shown_before_one_was_agreed(tmp_path: Path) -> None:
    """The inbox showed 2025-11-25 while `initialize` was still waiting."""
    with AtFiles(tmp_path, "--by-hand") as server:
        server.say(initialize("some-client"))
        desk = FolderInbox(server.home)
        until(lambda: desk.sessions() and desk.sessions()[0].client, "the client's name")
        assert desk.sessions()[0].protocol_version == ""
        server.type(DECLARED)
        server.hear()
        until(lambda: desk.sessions()[0].protocol_version == "2025-11-25", "the agreement")


def suggested(complaint: str) -> str:
    """Return the text that problems.txt offers to copy: what is indented at its end."""
    lines = complaint.splitlines()
    return "\n".join(line[4:] for line in lines if line.startswith("    "))


@pytest.mark.parametrize("typed", ["-0.5", '"sunny"'])
def test_a_plain_number_is_offered_as_words_are_and_what_is_offered_passes(
    tmp_path: Path, typed: str
) -> None:
    """It is the text of the tool's result, written exactly as it was typed."""
    with AtFiles(tmp_path, "--by-hand") as server:
        server.say(CALL)
        server.type("sunny")
        until(lambda: "plain text" in server.complaint(), "the refusal of the words")
        for_words = suggested(server.complaint())
        server.type(typed)
        until(lambda: "must be an object" in server.complaint(), "the refusal")
        offered = suggested(server.complaint())
        assert offered == for_words.replace("sunny", typed.strip('"'))
        server.type(offered)
        assert json.loads(server.hear())["result"]["content"][0]["text"] == typed.strip('"')


@pytest.mark.parametrize("log", ["2026-11-21 10:00:00 INFO starting", "7 up"])
def test_a_right_answer_below_a_log_line_is_offered_without_it(tmp_path: Path, log: str) -> None:
    """It blocked, and nothing said how it would pass."""
    answer = '{"jsonrpc":"2.0","id":7,"result":{"content":[]}}'
    with AtFiles(tmp_path, "--by-hand") as server:
        server.say(CALL)
        server.type(f"{log}\n{answer}\n")
        until(server.complaint, "the refusal")
        assert "There is text before the answer" in server.complaint()
        offered = next(line for line in server.complaint().splitlines() if answer in line)
        server.type(offered[offered.index("{") :])
        assert server.hear() == answer


@pytest.mark.parametrize(
    "typed", ["oops", '{"jsonrpc":"2.0","id":9,"result":{}}', CALL.replace("7", '"x"')]
)
def test_what_was_wrong_is_gone_when_out_txt_is_deleted(tmp_path: Path, typed: str) -> None:
    """Problems.txt kept its text. Plain words, an id that nobody waits for, a wrong request."""
    with AtFiles(tmp_path, "--by-hand") as server:
        server.say(CALL)
        server.type(typed)
        until(lambda: "Not sent" in server.complaint(), "the refusal")
        (server.folder / "out.txt").unlink()
        until(lambda: not server.complaint(), "an empty problems.txt")


def test_what_was_wrong_is_gone_when_what_came_back_is_deleted(tmp_path: Path) -> None:
    """Of two answers one was sent, and the other one given back."""
    answer = '{"jsonrpc":"2.0","id":7,"result":{"content":[]}}'
    with AtFiles(tmp_path, "--by-hand") as server:
        server.say(CALL)
        server.type(f"{answer}\n{answer.replace('7', '9')}\n")
        server.hear()
        until(lambda: "Not sent" in server.complaint(), "the refusal")
        until((server.folder / "out.txt").exists, "what was refused")
        (server.folder / "out.txt").unlink()
        until(lambda: not server.complaint(), "an empty problems.txt")


# -- L6 -------------------------------------------------------------------------------------------


def test_the_options_of_a_question_stand_below_its_line(tmp_path: Path) -> None:
    """As long as it waits. What is said of one stands behind it."""
    tea = {"label": "Tea", "description": "green"}
    asked = {"question": "Tea or coffee?", "options": [tea, "Coffee\x1b[2J"]}
    params = {"name": "sky", "arguments": {**asked, "allow_free_text": False}}
    call = {"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": params}
    with AtFiles(tmp_path, "--by-hand") as server:
        server.say(json.dumps(call))
        server.says("    Tea or coffee?\n      - Tea (green)\n      - Coffee⟦U+001B⟧[2J\n")
        server.says("Write one of these texts exactly.")
        server.type('{"content": [{"type": "text", "text": "Tea"}]}')
        assert json.loads(server.hear())["result"]["content"][0]["text"] == "Tea"
        until(lambda: "Coffee" not in (server.folder / "status.txt").read_text("utf-8"), "the end")


def test_a_secret_in_out_txt_goes_out_and_problems_txt_says_so(tmp_path: Path) -> None:
    """Whoever saves a file is told as well; what is told does not repeat the secret."""
    with AtFiles(tmp_path, "--by-hand") as server:
        server.say(CALL)
        until(server.find_session, "the files")
        server.type('{"jsonrpc":"2.0","id":7,"result":{"content":[],"_meta":{"token":"hunter22"}}}')
        assert json.loads(server.hear())["id"] == 7
        until(lambda: "looks like a secret (token)" in server.complaint(), "the warning")
        assert "hunter22" not in server.complaint()


LISTEN: Final = json.dumps(
    {
        "jsonrpc": "2.0",
        "id": "s",
        "method": "subscriptions/listen",
        "params": {"notifications": {"toolsListChanged": True}, "_meta": stating()},
    }
)


def test_an_acknowledged_subscription_waits_for_nobody(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """2026-07-28: it is an open subscription in status.txt, the terminal's list and the page's."""
    with AtFiles(tmp_path) as server:
        server.say(LISTEN)
        assert json.loads(server.hear())["method"] == "notifications/subscriptions/acknowledged"
        server.says('line 1: subscriptions/listen (id "s"): an open subscription')
        assert "waits for you" not in server.status()
        words = ["--home", str(server.home), "--lang", "en"]
        assert main(["inbox", *words]) == 0
        shown = capsys.readouterr().out
        assert "an open subscription" in shown
        assert "No message is waiting" in shown
        board = Board(FolderInbox(server.home))
        board.refresh_all()
        assert (board.count(), [row.subscription for row in board.waiting()]) == (0, [True])
        server.say(CALL)
        server.says("line 2: tools/call sky (id 7): waits for you")
        assert main(["answer", "--text", "sunny", *words]) == 0
        assert json.loads(server.hear())["id"] == 7


def test_a_subscription_that_nobody_acknowledged_waits_for_a_person(tmp_path: Path) -> None:
    """By hand, the person acknowledges it."""
    with AtFiles(tmp_path, "--by-hand") as server:
        server.say(LISTEN)
        server.says('line 1: subscriptions/listen (id "s"): waits for you')


def test_what_came_back_may_be_deleted_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before the server has looked at it; problems.txt kept its text for ever."""
    create = OpenFolder.create

    def create_and_delete(folder: OpenFolder, name: str, content: bytes) -> None:
        create(folder, name, content)
        if name == "out.txt":
            folder.remove(name)

    monkeypatch.setattr(OpenFolder, "create", create_and_delete)
    files = TextFiles.claim(tmp_path / "desk")
    (tmp_path / "desk" / "out.txt").write_text('{"id":7,"result":{}}\n{"id":9,"result":{}}\n')
    texts = [document for now in range(4) for document in files.poll(now)]
    outcomes = ((text, text is texts[0]) for text in texts)
    files.settle([DocumentOutcome(text, sent=sent, diagnostics=()) for text, sent in outcomes])
    assert (tmp_path / "desk" / "problems.txt").read_text() == ""
    files.release()


def test_several_writers_at_once_are_all_sent_and_none_twice(tmp_path: Path) -> None:
    """Four programs append to out.txt, also while it is put away: each answer goes out once."""
    with AtFiles(tmp_path, "--by-hand") as server:
        for number in range(1, 41):
            server.say(
                CALL.replace('"id":7', f'"id":{number}').replace('"id": 7', f'"id": {number}')
            )
        server.says("line 40: ")

        def write(first: int) -> None:
            for number in range(first, 41, 4):
                with (server.folder / "out.txt").open("a") as out:
                    out.write(f'{{"jsonrpc":"2.0","id":{number},"result":{{"content":[]}}}}\n')

        writers = [threading.Thread(target=write, args=(first,)) for first in range(1, 5)]
        for one in writers:
            one.start()
        answered = [json.loads(server.hear())["id"] for _ in range(40)]
        for one in writers:
            one.join()
        assert sorted(answered) == list(range(1, 41))
        with pytest.raises(AssertionError, match="no line on stdout"):
            server.hear(within=0.5)


def test_what_the_client_made_of_what_was_said_stands_at_the_end(tmp_path: Path) -> None:
    """A changed list, and an answer with an id that nobody asked with."""
    changed = '{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}'
    with AtFiles(tmp_path, "--handshake", "book") as server:
        server.say(initialize("some-client"))
        server.hear()
        server.say('{"jsonrpc":"2.0","method":"notifications/initialized"}')
        server.says("notifications/initialized: needs no answer")
        assert "What the client made" not in server.status()
        server.type(changed)
        assert server.hear() == changed
        server.says("the client has not sent tools/list again.")
        raw = Reply(base64.b64encode(b"no message\n").decode(), by="terminal", order=Order.RAW)
        inbox = FolderInbox(server.home)
        inbox.submit(inbox.sessions()[0].name, raw)
        assert server.hear() == "no message"
        server.says("You sent a line that no client can use. Nothing has come since.")
        server.say('{"jsonrpc":"2.0","id":9,"method":"tools/list"}')
        server.says(
            "The client sent tools/list again after ", "no client can use. The client continued."
        )
