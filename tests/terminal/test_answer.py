"""`humanmcp answer`: every way to say it, and what becomes of it."""

import base64
import io
import json
from pathlib import Path
from typing import Final

import pytest

from humanmcp.answering import service
from humanmcp.answering.open_exchange import OpenExchange, open_exchange_of
from humanmcp.answering.service import SendResult
from humanmcp.cli import main
from humanmcp.inbox.contract import Draft, Item, Key, Reply, Role
from humanmcp.inbox.folder import FolderInbox
from humanmcp.protocol.conversation.stages import ExchangeState
from humanmcp.protocol.diagnostics.model import TextForm
from humanmcp.terminal import answer, replying
from tests.support.inbox_folder import CALL, INITIALIZE, QUESTION, Room, Shell
from tests.support.serve_process import Serving
from tests.support.waiting import until

SUNNY = '{"jsonrpc":"2.0","id":3,"result":{"content":[{"type":"text","text":"sunny"}]}}'


@pytest.fixture
def key(room: Room) -> Key:
    """Deliver one tool call to a session whose server takes replies."""
    return room.served()


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (("--text", "sunny"), SUNNY),
        (
            ("--tool-error", "遠い"),
            SUNNY.replace("sunny", "遠い").replace("]}}", '],"isError":true}}'),
        ),
        (
            ("--error", "-32602", "遠い。自分で調べて"),
            '{"jsonrpc":"2.0","id":3,"error":{"code":-32602,"message":"遠い。自分で調べて"}}',
        ),
        (
            ("--template", "method_not_found", "--as-is"),
            '{"jsonrpc":"2.0","id":3,"error":{"code":-32601,"message":"Method not found"}}',
        ),
    ],
)
def test_words_answer_a_tool_call(
    key: Key, shell: Shell, words: tuple[str, ...], line: str
) -> None:
    """The exact line that went out is printed, with its size in bytes."""
    ran = shell("answer", "3", *words)
    assert (ran.status, ran.out.splitlines()[-1]) == (0, line)
    assert f"({len(line.encode()) + 1} bytes)" in ran.out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--call", "dice"), "not a turn of the model with tools"),
        (("--choose", "1"), "--text"),
        (("--fault", "wrong-version", "--send-anyway"), "wrong-id"),
        (("--template", "nonsense", "--as-is"), "method_not_found"),
        (("--result", "/nowhere/x.json"), "/nowhere/x.json"),
    ],
)
def test_words_that_do_not_fit_a_tool_call_are_a_usage_error(
    key: Key, shell: Shell, words: tuple[str, ...], said: str
) -> None:
    """The sentence says what fits, or what cannot be read."""
    ran = shell("answer", "3", *words)
    assert (ran.status, said in ran.err) == (2, True)


DICE = {
    "name": "dice",
    "inputSchema": {"properties": {"sides": {"type": "integer"}, "color": {"type": "string"}}},
}
TURN = {
    "jsonrpc": "2.0",
    "id": 3,
    "method": "sampling/createMessage",
    "params": {"messages": [], "maxTokens": 9, "tools": [DICE]},
}


def test_the_model_calls_a_tool_with_words(room: Room, shell: Shell) -> None:
    """Each value becomes what the tool takes; words with spaces are one text."""
    key = room.served(3, json.dumps(TURN))
    assert shell("answer", "3", "--call", "dice", "sides=20", "color=deep red").status == 0
    content = room.sent(key)["result"]["content"]
    assert (content["type"], content["name"]) == ("tool_use", "dice")
    assert content["input"] == {"sides": 20, "color": "deep red"}


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("coin",), "It has: dice."),
        (("dice", "sides=many"), "sides takes: integer"),
        (("dice", "20"), "not key=value: 20"),
    ],
)
def test_a_call_that_cannot_be_made_of_the_words_is_not_sent(
    room: Room, shell: Shell, words: tuple[str, ...], said: str
) -> None:
    """The sentence says what the model may call, or what the argument takes."""
    room.ask(room.session(), 3, json.dumps(TURN))
    ran = shell("answer", "3", "--call", *words)
    assert (ran.status, ran.err) == (2, f"{ran.err.partition(said)[0]}{said}\n")


def test_send_anyway_sends_an_argument_of_a_wrong_kind(room: Room, shell: Shell) -> None:
    """To see what a host does with it."""
    key = room.served(3, json.dumps(TURN))
    words = ("--call", "dice", "sides=many", "--send-anyway")
    assert shell("answer", "3", *words).status == 0
    assert room.sent(key)["result"]["content"]["input"] == {"sides": "many"}


def test_a_result_comes_from_a_file(key: Key, shell: Shell, tmp_path: Path) -> None:
    """Pretty-printed, with a byte-order mark, as an editor on Windows saves it."""
    file = tmp_path / "result.json"
    file.write_text('{\r\n  "content": [{"type":"text","text":"sunny"}]\r\n}\r\n', "utf-8-sig")
    assert shell("answer", "3", "--result", str(file)).out.splitlines()[-1] == SUNNY


def test_a_message_comes_from_stdin(
    key: Key, shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`-` is stdin; the person's own member order is kept."""
    typed = '{"result":{"content":[{"type":"text","text":"sunny"}]},"jsonrpc":"2.0","id":3}'
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(typed.encode())))
    assert shell("answer", "3", "--message", "-").out.splitlines()[-1] == typed


def test_a_wrong_answer_is_explained_kept_and_not_sent(key: Key, room: Room, shell: Shell) -> None:
    """The place, the fix, exit status 1; it still waits, and the text is its draft."""
    ran = shell("answer", "3", "--error", "abc", "no")
    item = room.inbox.item(key)
    assert ran.status == 1
    assert "line 1, column 10" in ran.out
    assert "^^^^^" in ran.out
    assert "Not sent: 1 error" in ran.err
    assert (item.state, item.reply) == (ExchangeState.PENDING, None)
    assert item.draft is not None
    assert (item.draft.text, item.draft.form, item.draft.touched) == (
        '{"code": "abc", "message": "no"}',
        TextForm.ERROR,
        True,
    )


def test_an_answer_is_broken_on_purpose(key: Key, room: Room, shell: Shell) -> None:
    """Without the page: refused like any broken one, and sent with --send-anyway."""
    assert shell("answer", "3", "--text", "sunny", "--fault", "wrong-id").status == 1
    ran = shell(
        "answer", "3", "--text", "sunny", "--fault", "id-as-text", "--send-anyway", "--json"
    )
    assert json.loads(ran.json["line"])["id"] == "3"
    assert "sunny" in ran.json["line"]
    assert ran.json["deliberate"] is True


def test_a_server_that_does_not_take_the_reply_is_not_waited_for_forever(
    room: Room, shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A stopped process: the reply stays in the inbox, and the person is told."""
    monkeypatch.setattr(replying, "LONGEST_WAIT", 0.05)
    key = room.ask(room.session(), 3)
    ran = shell("answer", "3", "--text", "sunny")
    assert ran.status == 1
    assert "does not have it yet" in ran.err
    assert room.inbox.item(key).reply is not None


def test_the_connection_ends_before_the_server_confirms(
    room: Room, shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The client may have the answer: nobody reads that it was not sent."""
    session = room.session()
    room.ask(session, 3)
    became = service.result_of

    def dies(opened: OpenExchange, reply: Reply) -> SendResult | None:
        assert list(room.inbox.take_replies(session))
        room.inbox.end(session)
        return became(opened, reply)

    monkeypatch.setattr(service, "result_of", dies)
    ran = shell("answer", "3", "--text", "sunny", "--json")
    assert (ran.status, ran.json["became"], ran.json["sent"]) == (1, "not confirmed", False)
    assert ran.json["why"].startswith("Not confirmed: ")
    assert "not confirmed: " in shell("show", "3").out


def test_the_verdict_of_the_server_counts(
    room: Room, shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It knows more than the desk: what it gives back is shown with its problems, exit status 1."""
    session = room.session()
    key = room.ask(session, 3)
    wrong = '{"content": 5}'
    exchange = open_exchange_of(room.inbox, key).exchange
    assert exchange is not None
    desk = "humanmcp.protocol.validation.check.check"
    from humanmcp.protocol.validation import check  # noqa: PLC0415 - the real one, before it is replaced

    lenient = check.check(exchange, '{"content":[]}', TextForm.RESULT)
    strict = check.check(exchange, wrong, TextForm.RESULT)

    became = service.result_of  # where the desk looks again, the server has refused

    def refused(opened: OpenExchange, reply: Reply) -> SendResult | None:
        for taken, _reply in room.inbox.take_replies(session):
            room.inbox.refuse(taken, strict.diagnostics)
        return became(opened, reply)

    monkeypatch.setattr(desk, lambda *_: lenient)
    monkeypatch.setattr(service, "result_of", refused)
    ran = shell("answer", "3", "--text", "sunny")
    assert ran.status == 1
    assert "Not sent" in ran.err
    assert room.inbox.item(key).diagnostics == strict.diagnostics


def test_without_a_terminal_no_editor_is_opened(
    key: Key, shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It says how to answer instead, and the draft is as it was."""
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO()))
    ran = shell("answer", "3")
    assert ran.status == 2
    assert "--text" in ran.err


def test_a_draft_from_another_desk_is_what_is_sent_as_it_is(
    key: Key, room: Room, shell: Shell
) -> None:
    """The draft is shared: what was begun on the page goes on in the terminal, in its form."""
    room.inbox.save(key, Draft("sunny", TextForm.TEXT, touched=True, by="desk"))
    assert shell("answer", "3", "--as-is").out.splitlines()[-1] == SUNNY


ROOTS = '{"jsonrpc":"2.0","id":3,"method":"roots/list"}'


@pytest.mark.parametrize(
    ("title", "said"), [("dice", "the server dice"), ("", "the server"), ("dice", "サーバー dice")]
)
def test_in_the_clients_seat_an_answer_goes_to_the_server(
    title: str, said: str, room: Room, shell: Shell, tmp_path: Path
) -> None:
    """Who asked there is a server, and it is named; the same in `show`."""
    language = "en" if said.isascii() else "ja"
    room.served(3, ROOTS, client="humanmcp-host", role=Role.CLIENT, title=title)
    assert said in shell("show", "3", "--lang", language).out
    file = tmp_path / "roots.json"
    file.write_text('{"roots": []}', "utf-8")
    sent = shell("answer", "3", "--result", str(file), "--lang", language).out
    assert said in sent
    assert "humanmcp-host" not in sent


def test_an_option_is_chosen_by_its_number(room: Room, shell: Shell) -> None:
    """It goes out word for word."""
    room.served(3, QUESTION)
    ran = shell("answer", "3", "--choose", "2")
    assert ran.status == 0
    assert '"text":"Coffee"' in ran.out.splitlines()[-1]


@pytest.mark.parametrize("number", ["0", "3", "Tea", "\uff12"])
def test_a_number_of_no_option_lists_those_there_are(room: Room, shell: Shell, number: str) -> None:
    """Nothing is sent."""
    room.ask(room.session(), 3, QUESTION)
    ran = shell("answer", "3", "--choose", number)
    assert ran.status == 2
    assert "1 Tea, 2 Coffee" in ran.err


def test_who_types_a_secret_is_told_and_it_goes_out(key: Key, room: Room, shell: Shell) -> None:
    """A warning with its place; what it says does not repeat the secret."""
    ran = shell("answer", "3", "--text", "the password: hunter22")
    assert ran.status == 0
    assert "looks like a secret (password)" in ran.err + ran.out
    assert room.inbox.item(key).answer is not None


def test_who_gives_a_whole_message_as_text_is_told_the_other_flag(key: Key, shell: Shell) -> None:
    """It goes out as words for the model; a warning says how a message is sent."""
    ran = shell("answer", "3", "--text", SUNNY)
    assert ran.status == 0
    assert "The text for the model is a whole JSON-RPC message." in ran.err + ran.out
    assert "`--message FILE`" in ran.err + ran.out


PIXEL: Final = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)


def test_a_text_a_picture_and_files_go_out_in_one_answer(
    room: Room, shell: Shell, tmp_path: Path
) -> None:
    """The picture by its bytes, not its name; a file by its bare name, as text or as a blob."""
    picture, words, raw = tmp_path / "p.txt", tmp_path / "ノート.md", tmp_path / "x.bin"
    picture.write_bytes(PIXEL)
    words.write_text("# sunny", "utf-8")
    raw.write_bytes(b"\xff\x00")
    room.served()
    given = ["--image", str(picture), "--file", str(words), "--file", str(raw)]
    ran = shell("answer", "3", "--text", "Look:", *given)
    assert ran.status == 0, ran.err
    content = json.loads(ran.out.splitlines()[-1])["result"]["content"]
    assert content[0] == {"type": "text", "text": "Look:"}
    assert content[1]["mimeType"] == "image/png"
    assert base64.b64decode(content[1]["data"]) == PIXEL
    assert content[2]["resource"]["text"] == "# sunny"
    assert content[2]["resource"]["uri"].startswith("file:///%E3%83%8E")
    assert content[3]["resource"]["blob"] == "/wA="
    assert str(tmp_path) not in ran.out


def test_what_cannot_be_attached_is_said_and_nothing_is_sent(
    room: Room, shell: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No picture, too much, no such file, and an answer that is no tool's."""
    file = tmp_path / "a.txt"
    file.write_text("words", "utf-8")
    session = room.session()
    room.ask(session, 3)
    room.ask(session, 4, INITIALIZE)
    assert "not a PNG" in shell("answer", "3", "--image", str(file)).err
    assert "a.txt" in shell("answer", "3", "--file", str(tmp_path / "none" / "a.txt")).err
    assert "not a tool call" in shell("answer", "4", "--file", str(file)).err
    assert "--text or --choose" in shell("answer", "3", "--as-is", "--file", str(file)).err
    monkeypatch.setattr(answer, "LARGEST", 4)
    ran = shell("answer", "3", "--file", str(file))
    assert (ran.status, "larger than 0 MB" in ran.err) == (2, True)


def test_a_broken_answer_goes_out_and_its_request_stays_open(room: Room, shell: Shell) -> None:
    """From the terminal as from the page; without --send-anyway nothing wrong goes out."""
    with Serving(room.home, "--by-hand") as server:
        server.say(CALL)
        until(lambda: "tools/call" in shell("inbox").out, "the call")
        wrong = ("answer", "--text", "sunny", "--fault", "wrong-id", "--keep-open")
        assert shell(*wrong).status == 1
        ran = shell(*wrong, "--send-anyway")
        assert (ran.status, json.loads(server.hear())["id"]) == (0, 1000003)
        assert "is still open" in ran.out
        for _ in range(2):
            assert shell("answer", "--text", "cloudy", "--keep-open").status == 0
            assert json.loads(server.hear())["id"] == 3
        assert shell("answer", "--text", "sunny").status == 0
        assert json.loads(server.hear())["result"]["content"][0]["text"] == "sunny"
        assert server.close()[1] == []


def test_who_is_second_is_told_who_was_first_and_keeps_the_text(room: Room, shell: Shell) -> None:
    """By the name that the other person gave themselves."""
    session = room.session()
    room.serve(session)
    key = room.ask(session, 1)
    room.inbox.send(key, Reply("rain", TextForm.TEXT, by="desk", who="花子"))
    until(lambda: room.inbox.item(key).answer, "the first answer")
    ran = shell("answer", "1", "--text", "sunny")
    assert ran.status != 0
    assert "花子" in ran.out + ran.err
    assert [one.text for one in room.inbox.item(key).kept] == ["sunny"]


def test_what_ended_a_request_is_said_as_it_was(room: Room, shell: Shell) -> None:
    """The host "closed the connection" also where the server was killed."""
    killed, closed = room.session(), room.session()
    for session in (killed, closed):
        room.ask(session, 3)
    names = [room.inbox.facts(one).letter for one in (killed, closed)]
    room.inbox.leave_session(killed)  # its process is gone, and said nothing
    room.inbox.end(closed)
    told = [shell("answer", f"{name}/3", "--text", "sunny").err for name in names]
    assert "the process of this session ended unexpectedly" in told[0]
    assert "the session ended before this was answered" in told[1]


def test_a_second_request_with_the_same_id_is_said_to_have_ended(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The page said so, and the terminal did not."""
    with Serving(tmp_path / "home") as server:
        server.say(INITIALIZE)
        server.hear()
        server.say(CALL)
        server.say(CALL)
        inbox = FolderInbox(tmp_path / "home")
        until(lambda: len(pending(inbox)) == 2, "both requests")
        words = ["answer", str(pending(inbox)[1].key.number), "--text", "sunny"]
        assert main([*words, "--home", str(tmp_path / "home"), "--lang", "en"]) == 0
        first = next(iter(inbox.items(inbox.sessions()[0].name, ExchangeState.ABANDONED)))
    assert f"Request a/{first.key.number} has the same id" in capsys.readouterr().out


def pending(inbox: FolderInbox) -> list[Item]:
    """Return what waits in the only session."""
    return [item for facts in inbox.sessions() for item in inbox.items(facts.name)]
