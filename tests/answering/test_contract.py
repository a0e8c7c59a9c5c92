"""Every desk on one inbox: the same letters, documents, outcomes, lines and problems.

The process that speaks to the client is a real one, and so is the desk of the page.
"""

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

import pytest

from humanmcp.cli import main
from humanmcp.extensions.host.at_inbox import PersonAsked, QuestionInbox
from humanmcp.inbox import contract as inboxes
from humanmcp.inbox.contract import Item, Key, Purpose, SessionFacts
from humanmcp.inbox.folder import FolderInbox
from humanmcp.protocol.conversation.exchange import NegotiatedState
from humanmcp.protocol.diagnostics.model import TextForm
from tests.answering.contract import MESSAGE, RESULT, TEXT, Files, Page, Seat, Terminal, Told
from tests.browser.seats import call, request
from tests.support.desk_process import Desking
from tests.support.inbox_folder import Taker
from tests.support.serve_process import Serving
from tests.support.waiting import until

RIGHT = '{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"晴れ"}]}}'
WRONG = '{"jsonrpc":"2.0","id":%s,"result":{"content":"sunny","isError":"no"}}'
ERROR = '{"jsonrpc":"2.0","id":%s,"error":{"code":-32602,"message":"no such city"}}'
BROKEN = '{"jsonrpc":"2.0","id":%s,"result":{"content":[}'

META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": {"name": "x", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {},
}


class Scene(NamedTuple):
    """One inbox with everybody at it."""

    page: Page
    terminal: Terminal
    files: Files
    host: Serving

    @property
    def seats(self) -> dict[str, Seat]:
        """The desks by name."""
        return {"page": self.page, "terminal": self.terminal, "files": self.files}

    def ask(self, token: str, line: str = "") -> Key:
        """Let the host ask, and wait until the page has it."""
        self.host.say(line or call(token, city="東京"))
        return until(lambda: self.find(token), f"request {token} waits")

    def find(self, token: str) -> Key | None:
        """Return the key of what waits under an id."""
        for one in self.page.desk.get("/api/exchanges")["waiting"]:
            key = Key(one["session"], one["number"])
            if self.item(key)["id"] == token:
                return key
        return None

    def item(self, key: Key) -> dict[str, object]:
        """Return an exchange as the interface shows it."""
        return dict(self.page.desk.get(f"/api/exchanges/{key.session}/{key.number}"))


@pytest.fixture
def scene(home: Path, capsys: pytest.CaptureFixture[str]) -> Iterator[Scene]:
    """A desk and a server on one inbox folder."""
    with Desking(home, "--lang", "en") as desk, Serving(home, "--by-hand", "--lang", "en") as host:
        yield Scene(Page(desk), Terminal(home, capsys), Files(host), host)


@pytest.mark.parametrize("text", [RIGHT, ERROR, BROKEN, RIGHT.replace('"result"', "'result'")])
def test_one_text_goes_out_as_one_line_from_every_desk(scene: Scene, text: str) -> None:
    """An answer, an error, and what can be fixed: the line, and what is said of it."""
    told: dict[str, Told] = {}
    for token, (name, seat) in enumerate(scene.seats.items(), 70):
        said = seat.send(scene.ask(str(token)), text % token)
        if said.became == "sent" and name != "files":
            assert said.line == scene.host.hear()
        told[name] = said._replace(line=said.line.replace(f'"id":{token}', '"id":7'))
    assert told["page"] == told["terminal"]
    assert (told["page"].became, told["page"].line) == (told["files"].became, told["files"].line)


def test_what_is_wrong_is_said_by_the_same_sentences_at_every_desk(scene: Scene) -> None:
    """Nothing goes out, the text is kept, and with Send anyway one line goes out of two of them."""
    page = scene.page.desk
    told = {}
    for token, (name, seat) in enumerate(scene.seats.items(), 70):
        key, text = scene.ask(str(token)), WRONG % token
        told[name] = seat.send(key, text)
        judged = page.post(f"/api/exchanges/{key.session}/{key.number}/check", {"text": text})
        if name == "files":
            complaint = scene.host.complaint()
            assert [one["message"] for one in judged.json["problems"] if one["blocks"]] == [
                one["message"]
                for one in judged.json["problems"]
                if one["blocks"] and one["message"] in complaint
            ]
        else:
            draft = scene.item(key)["draft"]
            assert isinstance(draft, dict)
            assert (draft["text"], draft["touched"], draft["paused"]) == (text, True, True)
    assert told["page"] == told["terminal"]
    assert {one.became for one in told.values()} == {"blocked"}
    for token, seat in ((70, scene.page), (71, scene.terminal)):
        waiting = scene.find(str(token))
        assert waiting is not None
        said = seat.send(waiting, WRONG % token, anyway=True)
        assert (said.became, said.line) == ("sent", WRONG % token)
        assert scene.host.hear() == WRONG % token


@pytest.mark.parametrize("form", [TEXT, TextForm.TOOL_ERROR, RESULT])
def test_what_is_no_whole_message_becomes_the_same_one(scene: Scene, form: TextForm) -> None:
    """Also as the document that the page shows of the draft."""
    text = '{"content": []}' if form is RESULT else "sunny\n東京"
    lines, documents = [], []
    for token, seat in ((70, scene.page), (71, scene.terminal)):
        key = scene.ask(str(token))
        draft = {"text": text, "form": form.value}
        scene.page.desk.post(f"/api/exchanges/{key.session}/{key.number}/draft", draft)
        documents.append(json.loads(str(scene.item(key)["document"]))["result"])
        said = seat.send(key, text, form)
        assert said.became == "sent"
        assert said.line == scene.host.hear()
        lines.append(json.loads(said.line)["result"])
    assert lines[0] == lines[1] == documents[0] == documents[1]


@pytest.mark.parametrize("first", ["page", "terminal", "files"])
def test_who_comes_second_is_told_so_and_keeps_the_text(scene: Scene, first: str) -> None:
    """Taken: the line of the first one went out, once."""
    key = scene.ask("70")
    assert scene.seats[first].send(key, RIGHT % 70).became == "sent"
    if first != "files":
        scene.host.hear()
    for name in {"page", "terminal"} - {first}:
        assert scene.seats[name].send(key, "rain", TEXT).became == "taken"
    assert "rain" in {one.text for one in FolderInbox(scene.terminal.home).item(key).kept}
    if first != "files":
        assert scene.files.send(key, RIGHT % 70).became == "blocked"
        assert (scene.host.session / "out.txt").read_text("utf-8") == RIGHT % 70


@pytest.mark.parametrize("name", ["page", "terminal"])
def test_what_was_cancelled_takes_no_answer(scene: Scene, name: str) -> None:
    """Over: nothing goes out, and the words are the draft."""
    key = scene.ask("70")
    params = '{"requestId":70,"reason":"enough"}'
    scene.host.say(f'{{"jsonrpc":"2.0","method":"notifications/cancelled","params":{params}}}')
    until(lambda: scene.item(key)["state"] == "cancelled", "it is cancelled")
    assert scene.seats[name].send(key, "rain", TEXT) == Told("over")
    draft = scene.item(key)["draft"]
    assert isinstance(draft, dict)
    assert draft["text"] == "rain"
    assert scene.host.close()[1] == []


def letters(scene: Scene) -> tuple[dict[str, str], dict[str, str]]:
    """Return the letter of each session, in the page and in the terminal."""
    page = {
        one["name"]: str(one["letter"]).lower()
        for one in scene.page.desk.get("/api/sessions")["sessions"]
    }
    listed = json.loads(scene.terminal.run("inbox", "--all"))["items"]
    return page, {one["session"]: str(one["letter"]) for one in listed}


def test_after_a_probe_and_a_removed_session_a_letter_names_one_session(scene: Scene) -> None:
    """`answer a/2` answered another client than the page's A/2."""
    home = scene.terminal.home
    with Serving(home, "--lang", "en") as probing, Serving(home, "--by-hand") as other:
        probing.send(request("server/discover", {"_meta": META}, "1"))
        probing.hear()
        other.send(call("71"))
        gone = until(lambda: scene.find("71"), "the other call waits").session
        scene.host.send(call("70"))
        until(lambda: scene.find("70"), "the third call waits")
        probing.send(request("tools/call", {"name": "x", "arguments": {}, "_meta": META}, "72"))
        until(lambda: scene.find("72"), "the probing client asks")
        page, terminal = letters(scene)
        assert terminal.items() <= page.items()
        assert len(set(page.values())) == len(page)
        for token, host in (("70", scene.host), ("71", other)):
            key = scene.find(token)
            assert key is not None
            name = f"{page[key.session]}/{key.number}"
            scene.terminal.run("answer", name, "--text", token)
            assert f'"text":"{token}"' in host.hear()
        other.close()
        until(lambda: scene.page.desk.session(gone).get("life") == "closed", "it has ended")
        scene.terminal.run("forget", page[gone], "--yes")
        until(lambda: not scene.page.desk.session(gone), "it is gone")
        after, terminal = letters(scene)
        assert after == {name: letter for name, letter in page.items() if name != gone}
        assert terminal.items() <= after.items()


@pytest.mark.extension("text_files")
@pytest.mark.parametrize("encoding", ["cp932", "utf-16", "utf-8-sig"])
def test_a_file_is_read_as_out_txt_is(scene: Scene, encoding: str) -> None:
    """`--message FILE` refused CP932."""
    lines = []
    for token in (70, 71):
        key, raw = scene.ask(str(token)), (RIGHT % token).encode(encoding)
        if token == 70:
            (scene.host.session / "out.txt").write_bytes(raw)
        else:
            file = scene.terminal.home.parent / "answer.json"
            file.write_bytes(raw)
            scene.terminal.run("answer", scene.terminal.name(key), "--message", str(file))
        lines.append(scene.host.hear())
    assert lines == [RIGHT % 70, RIGHT % 71]


def test_every_fix_is_applied_alike_at_every_desk(scene: Scene) -> None:
    """The page, `check --fix` and `problems.txt` gave three results."""
    key = scene.ask("70")
    text = "{'jsonrpc':'2.0','id':70,'result':{'content':'sunny',},}"
    path = f"/api/exchanges/{key.session}/{key.number}/autofix"
    fixed = scene.page.desk.post(path, {"text": text}).json
    file = scene.terminal.home.parent / "given.json"
    file.write_text(text, encoding="utf-8")
    scene.terminal.capsys.readouterr()
    main(["check", "--fix", "--method", "tools/call", str(file)])
    assert scene.terminal.capsys.readouterr().out == f"{fixed['text']}\n"
    scene.host.type(text)
    until(lambda: fixed["text"] in scene.host.complaint(), "the same text in problems.txt")


HELD = '{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"dice","arguments":{}}}'


@pytest.mark.parametrize(
    ("text", "form", "became"),
    [
        (HELD, MESSAGE, "sent"),
        (HELD.replace("dice", "cards"), MESSAGE, "sent"),
        (HELD.replace('"id":7', '"id":8'), MESSAGE, "blocked"),
        (HELD.replace('"method"', '"methud"'), MESSAGE, "blocked"),
        ("four", TEXT, "sent"),
        (RIGHT % 7, MESSAGE, "sent"),
    ],
)
def test_a_held_message_is_judged_and_sent_alike(
    scene: Scene, text: str, form: TextForm, became: str
) -> None:
    """Let go as it came, changed, changed too much, answered in the server's place."""
    home = scene.terminal.home
    inbox = FolderInbox(home)
    session = inbox.begin_session(SessionFacts("", "2026-11-22T01:00:00Z", inboxes.Role.TAP))
    tap = Taker(home, session)
    told = []
    try:
        for number, seat in ((1, scene.page), (2, scene.terminal)):
            key = Key(session, number)
            at = "2026-11-22T01:00:00.000Z"
            item = Item(key, HELD, "tools/call", "7", "2025-11-25", at)
            inbox.deliver(item._replace(purpose=Purpose.HELD))
            told.append(seat.send(key, text, form))
    finally:
        tap.stop()
        inbox.end(session)
    assert told[0] == told[1]
    assert told[0].became == became


@pytest.mark.parametrize("name", ["page", "terminal"])
def test_in_the_models_seat_a_desk_answers_as_in_the_servers(scene: Scene, name: str) -> None:
    """The host's inbox: plain text becomes what a model says, in the document and the line."""
    seat = QuestionInbox(FolderInbox(scene.terminal.home), inboxes.Role.MODEL)
    person = PersonAsked(
        seat, NegotiatedState("", client_capabilities={"sampling": {}}, initialized=True)
    )
    params = {
        "maxTokens": 9,
        "messages": [{"role": "user", "content": {"type": "text", "text": "?"}}],
    }
    with ThreadPoolExecutor(1) as pool:
        asked = pool.submit(person.ask, "sampling/createMessage", params)
        key = until(lambda: scene.find("1"), "the question waits")
        draft = {"text": "sunny", "form": "text"}
        path = f"/api/exchanges/{key.session}/{key.number}"
        scene.page.desk.post(f"{path}/draft", draft)
        document = str(scene.item(key)["document"])
        assert scene.page.desk.post(f"{path}/check", {"text": document}).json["sendable"] is True
        said = scene.seats[name].send(key, "sunny", TEXT)
        assert said.became == "sent"
        assert asked.result() == json.loads(said.line)
    assert json.loads(said.line) == json.loads(document)
    seat.end()
