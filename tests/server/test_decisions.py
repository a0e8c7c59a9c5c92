"""Whichever way an answer takes, a record says what was decided, by whom and where."""

import json
from base64 import b64encode
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, NamedTuple

import pytest

from humanmcp.answering import approvals, service
from humanmcp.answering.open_exchange import OpenExchange, open_exchange_of
from humanmcp.answering.standing import standing_of, told_of
from humanmcp.answering.summary import reason_of
from humanmcp.cli import main
from humanmcp.inbox.contract import Item, Life, Order, Reply
from humanmcp.inbox.folder import FolderInbox
from humanmcp.protocol.conversation.decisions import verify_decisions
from humanmcp.protocol.diagnostics.model import TextForm
from tests.browser.seats import INITIALIZE, request
from tests.support.inbox_folder import permission, question
from tests.support.serve_process import Serving
from tests.support.waiting import PATIENCE, until

LS: Final = permission("Bash", command="ls")
TEA: Final = question(question="Tea?", options=["yes", "no"])
TYPED: Final = '{"jsonrpc":"2.0","id":3,"result":{"content":[{"type":"text","text":"a little"}]}}'
ALLOWED: Final = (
    b'{"jsonrpc":"2.0","id":3,"result":{"content":[{"type":"text","text":'
    b'"{\\"behavior\\":\\"allow\\"}"}]}}\n'
)
BROKEN: Final = '{"jsonrpc":"2.0","id":3,"result":{"content":7}}'


class Deciding(NamedTuple):
    """A person before a request that waits, with the text files beside."""

    opened: OpenExchange
    files: Path

    def send(self, reply: Reply) -> None:
        """Send a reply through the inbox, as the page, the terminal and a phone do."""
        service.send(self.opened, reply, within=PATIENCE)

    def say(self, reply: Reply) -> None:
        """Send what is no reply: a line beside the request, which stays open, or bytes."""
        session = self.opened.key.session
        service.submit_outgoing(self.opened.inbox, session, reply, within=PATIENCE)

    def write(self, name: str, text: str) -> None:
        """Save a text file."""
        (self.files / name).write_text(text, "utf-8")


class Place(NamedTuple):
    """Where a person decides, and who they say they are."""

    by: str = "desk"
    device: str = ""
    who: str = ""

    def sign(self, reply: Reply) -> Reply:
        """Return a reply from there."""
        return reply._replace(by=self.by, device=self.device, who=self.who)


PEOPLE: Final = ("desk", "terminal", "files")
COMPUTER, PHONE, TERMINAL = Place(), Place("desk", "Ben's phone", "Anna"), Place("terminal")
ON_COMPUTER: Final = "a browser on this computer"
ON_PHONE: Final = "the device Ben's phone"
IN_TERMINAL: Final = "a terminal on this computer"
IN_FILE: Final = "a text file on this computer"


def _allow(person: Deciding, place: Place, text: str = "") -> None:
    assert person.opened.approval is not None
    answer = approvals.allow(person.opened, person.opened.approval, seen=False)
    if text:
        answer = approvals.change(person.opened, person.opened.approval, text)
    person.send(place.sign(answer))


def _deny(person: Deciding, place: Place) -> None:
    person.send(place.sign(approvals.deny(person.opened, "no")))


def _answer(person: Deciding, place: Place) -> None:
    person.send(place.sign(approvals.answer(person.opened, {"Tea?": ("no",)})))


WAYS: Final[dict[str, tuple[str, Callable[[Deciding], object], str, str]]] = {
    "allow, page": (LS, lambda p: _allow(p, COMPUTER), "allow", ON_COMPUTER),
    "allow, phone": (LS, lambda p: _allow(p, PHONE), "allow", ON_PHONE),
    "allow, terminal": (LS, lambda p: _allow(p, TERMINAL), "allow", IN_TERMINAL),
    "change": (LS, lambda p: _allow(p, COMPUTER, '{"command":"pwd"}'), "change", ON_COMPUTER),
    "deny, phone": (LS, lambda p: _deny(p, PHONE), "deny", ON_PHONE),
    "answer, page": (TEA, lambda p: _answer(p, COMPUTER), "answer", ON_COMPUTER),
    "decline, terminal": (TEA, lambda p: _deny(p, TERMINAL), "decline", IN_TERMINAL),
    "out.txt": (TEA, lambda p: p.write("out.txt", TYPED), "answer", IN_FILE),
    "error": (
        TEA,
        lambda p: p.send(Reply('{"code":-32603,"message":"x"}', TextForm.ERROR, by="desk")),
        "error",
        ON_COMPUTER,
    ),
    "fault": (
        TEA,
        lambda p: p.send(Reply(BROKEN, anyway=True, by="terminal")),
        "fault",
        IN_TERMINAL,
    ),
    "kept open": (
        TEA,
        lambda p: p.say(Reply(TYPED, anyway=True, by="terminal")),
        "fault",
        IN_TERMINAL,
    ),
    "bytes": (
        LS,
        lambda p: p.say(Reply(b64encode(ALLOWED).decode(), by="desk", order=Order.RAW)),
        "allow",
        ON_COMPUTER,
    ),
    "plain": (
        request("prompts/get", {"name": "p"}, "3"),
        lambda p: p.send(Reply('{"messages":[]}', TextForm.RESULT, by="terminal")),
        "answer",
        IN_TERMINAL,
    ),
}


def _host(tmp_path: Path, *flags: str) -> Serving:
    words = ("--handshake", "book", "--approvals", *flags)
    host = Serving(tmp_path / "home", *words, "--files", str(tmp_path / "mcp"))
    for line in (INITIALIZE, request("tools/list", {}, "2")):
        host.send(line)
        host.hear()
    return host


def _waiting(inbox: FolderInbox) -> Item:
    def found() -> list[Item]:
        return [one for facts in inbox.sessions() for one in inbox.items(facts.name) if one.waits]

    return until(found, "the request")[0]


def _records(inbox: FolderInbox) -> list[Any]:
    (facts,) = inbox.sessions()
    written = [frame.decision for frame in inbox.frames(facts.name) if frame.decision]
    assert list(verify_decisions("".join(f"{one}\n" for one in written).encode())) == []
    assert facts.decisions <= len(written)
    return [json.loads(one) for one in written]


@pytest.mark.parametrize("way", WAYS)
def test_no_answer_of_a_person_is_written_without_a_record(tmp_path: Path, way: str) -> None:
    """What was decided, and where, in words; who, if they have a name."""
    line, decide, action, where = WAYS[way]
    inbox = FolderInbox(tmp_path / "home")
    with _host(tmp_path) as host:
        host.send(line)
        item = _waiting(inbox)
        decide(Deciding(open_exchange_of(inbox, item.key), tmp_path / "mcp"))
        host.hear()
        (record,) = until(lambda: _records(inbox), "the record")
    assert (record["action"], record["where"]) == (action, where)
    assert record["who"] == ("Anna" if where == ON_PHONE else "")
    assert record["exchange"] == item.key.number
    answers = [one for one in inbox.frames(item.key.session) if one.by in PEOPLE]
    assert [one for one in answers if not one.decision] == []


@pytest.mark.parametrize(
    ("decided", "anyway", "told"),
    [
        ({"behavior": "allow"}, False, "Allow sent by you; this agent does not tell"),
        (
            {"behavior": "allow", "updatedInput": {"command": "pwd"}},
            False,
            "Allow with a change sent by you",
        ),
        ({"behavior": "deny", "message": "not here"}, False, "denied by you"),
        ({"behavior": "maybe"}, False, "answered by you"),
        (None, True, "although the check found errors"),
    ],
)
def test_what_was_decided_about_a_call_is_told_as_about_a_prompt(
    tmp_path: Path, decided: dict[str, Any] | None, told: str, *, anyway: bool
) -> None:
    """In the words of a prompt, with its reason; what has errors may not be understood."""
    inbox = FolderInbox(tmp_path / "home")
    content = {"type": "text", "text": json.dumps(decided)} if decided else 7
    result = json.dumps({"content": [content]})
    with _host(tmp_path) as host:
        host.send(LS)
        key = _waiting(inbox).key
        opened = open_exchange_of(inbox, key)
        service.send(opened, Reply(result, TextForm.RESULT, anyway, "desk"), within=PATIENCE)
        host.hear()
        item = until(lambda: one if not (one := inbox.item(key)).waits else None, "its end")
    assert told in told_of(item, standing_of(item, Life.OPEN), "you")
    assert reason_of(item) == (decided or {}).get("message", "")


RESULT: Final = b'{"jsonrpc":"2.0","id":%d,"result":{"content":[]}}\n'
NO_ANSWER: Final = b'{"jsonrpc":"2.0","method":"notifications/message"}\n'


@pytest.mark.parametrize(
    ("pieces", "decided"),
    [
        ([RESULT % 3], [1]),
        ([(RESULT % 3)[:20], (RESULT % 3)[20:]], [0, 1]),
        ([(RESULT % 3)[:1], (RESULT % 3)[1:9], (RESULT % 3)[9:]], [0, 0, 1]),
        ([(RESULT % 3)[:-1], b"\n"], [1, 0]),
        ([(RESULT % 3)[:-1], b"\n" + RESULT % 4], [1, 1]),
        ([RESULT % 3 + RESULT % 4], [2]),
        ([NO_ANSWER + (RESULT % 3)[:30], (RESULT % 3)[30:] + NO_ANSWER], [0, 1]),
        ([NO_ANSWER[:9], NO_ANSWER[9:]], [0, 0]),
        ([(RESULT % 9)[:20], (RESULT % 9)[20:]], [0, 0]),
    ],
)
def test_bytes_that_answer_leave_one_record_however_they_are_cut(
    tmp_path: Path, pieces: list[bytes], decided: list[int]
) -> None:
    """With the byte that ends the answer; nothing is recorded of what answers no request."""
    inbox = FolderInbox(tmp_path / "home")
    with _host(tmp_path) as host:
        for line in (LS, LS.replace('"id": 3', '"id": 4')):
            host.send(line)
        item = _waiting(inbox)
        until(lambda: len(inbox.items(item.key.session)) == 2, "both requests")
        person, found, before = Deciding(open_exchange_of(inbox, item.key), tmp_path), [], 0
        for piece in pieces:
            person.say(Reply(b64encode(piece).decode(), by="desk", order=Order.RAW))
            frames = inbox.frames(item.key.session)
            found.append(sum(bool(one.decision) for one in frames) - before)
            before += found[-1]
    assert found == decided
    if not before:
        return
    numbers = {3: item.key.number, 4: item.key.number + 1}
    for record, answered in zip(_records(inbox), (3, 4), strict=False):
        assert record["exchange"] == numbers[answered]


def test_what_a_pattern_allows_is_recorded_as_that(tmp_path: Path) -> None:
    """After the decision of the person who chose the pattern."""
    inbox = FolderInbox(tmp_path / "home")
    with _host(tmp_path) as host:
        host.send(LS)
        opened = open_exchange_of(inbox, _waiting(inbox).key)
        approvals.allow_like(opened, approvals.patterns_of(opened)[0])
        _allow(Deciding(opened, tmp_path), COMPUTER)
        host.hear()
        host.send(LS.replace('"id": 3', '"id": 4'))
        host.hear()
        first, second = _records(inbox)
    assert (first["action"], first["where"]) == ("allow", ON_COMPUTER)
    assert (second["action"], second["by"]) == ("allow", "allowed")
    assert second["where"] == "a pattern that a person allowed for the session"


def test_what_a_rule_answers_to_a_prompt_is_recorded_and_the_handshake_is_not(
    tmp_path: Path,
) -> None:
    """Nobody looked at it: the record says which rule."""
    book = tmp_path / "book.toml"
    book.write_text("""[[rules]]
tool = "approve"
text = '{"behavior": "deny", "message": "not here"}'
""")
    inbox = FolderInbox(tmp_path / "home")
    with _host(tmp_path, "--book", str(book)) as host:
        host.send(LS)
        host.hear()
        (record,) = _records(inbox)
    assert record["action"] == "deny"
    assert record["where"].startswith("book")


@pytest.mark.extension("recordings")
@pytest.mark.parametrize(
    ("member", "value"),
    [("decisions", 0), ("decisions", 7), ("last_decision", "0" * 64), ("last_decision", "")],
)
def test_verify_compares_with_the_inbox(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], member: str, value: object
) -> None:
    """A file without its tail, and a `session.json` that was changed, are named."""
    home, file = tmp_path / "home", tmp_path / "decisions.jsonl"
    inbox = FolderInbox(home)
    with _host(tmp_path) as host:
        for number in (3, 4):
            host.send(LS.replace('"id": 3', f'"id": {number}'))
            _allow(Deciding(open_exchange_of(inbox, _waiting(inbox).key), tmp_path), TERMINAL)
            host.hear()
        until(lambda: inbox.sessions()[0].decisions == 2, "the facts")
        (facts,) = inbox.sessions()
    written = [frame.decision for frame in inbox.frames(facts.name) if frame.decision]
    file.write_text("".join(f"{one}\n" for one in written))
    words = ["verify", str(file), "--home", str(home), "--lang", "en"]
    assert main(words) == 0
    assert "The inbox has the same last records." in capsys.readouterr().out
    file.write_text(f"{written[0]}\n")
    assert main(words) == 1
    assert "the last records" in capsys.readouterr().out
    file.write_text("".join(f"{one}\n" for one in written))
    about = next((home / "sessions").glob("*/session.json"))
    about.write_text(json.dumps({**json.loads(about.read_text()), member: value}))
    assert main(words) == 1
    assert "session.json of session" in capsys.readouterr().out
