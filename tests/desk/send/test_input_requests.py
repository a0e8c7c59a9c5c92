"""Asking back while a request waits: what is offered, how it is written, and what was said."""

import html
import json
from collections.abc import Iterator
from typing import Any

import pytest

from humanmcp.answering.open_exchange import open_exchange_of
from humanmcp.desk.send import request_form
from humanmcp.desk.send.request_form import ShownRequest
from humanmcp.inbox.contract import Item, Key, Role, SessionFacts
from humanmcp.inbox.folder import FolderInbox
from humanmcp.protocol.conversation.exchange import NegotiatedState
from humanmcp.protocol.conversation.transcript import Direction, Frame
from humanmcp.protocol.validation.input_requests import InputRequest
from tests.support.desk_process import Desking
from tests.support.waiting import until

AT = "2026-11-21T01:00:00.000Z"
LINE = '{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"weather"}}'
STATED = (
    '{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"weather","_meta":'
    '{"io.modelcontextprotocol/protocolVersion":"2026-07-28",'
    '"io.modelcontextprotocol/clientCapabilities":{"elicitation":{}}}}}'
)
EVERYTHING: dict[str, Any] = {"elicitation": {}, "sampling": {}, "roots": {}}


class Asked:
    """A desk, and a session in which a call waits."""

    def __init__(self, desk: Desking, declared: dict[str, Any], line: str = LINE) -> None:
        """Begin the session, with what its client declared, and deliver the call."""
        self.desk = desk
        self.inbox = FolderInbox(desk.home)
        version = "2026-07-28" if "_meta" in line else "2025-11-25"
        facts = SessionFacts(name="", started=AT, pid=1, protocol_version=version)
        self.key = Key(self.inbox.begin_session(facts), 1)
        negotiated = NegotiatedState(client_capabilities=declared, initialized=True)
        facts = SessionFacts(self.key.session, started=AT, pid=1, protocol_version=version)
        self.inbox.describe(facts, negotiated)
        self.seq = 0
        self.record(Direction.IN, line, 1)
        self.inbox.deliver(Item(self.key, line, "tools/call", "7", version, AT))
        self.path = f"/m/{self.key.session}/{self.key.number}"

    def record(self, direction: Direction, line: str, number: int = 0) -> None:
        """Put a line into the transcript."""
        self.seq += 1
        self.inbox.record(self.key.session, Frame(self.seq, AT, direction, line.encode(), number))

    @property
    def told(self) -> tuple[ShownRequest, ...]:
        """What the page says of the questions at the call."""
        return request_form.requests_shown(open_exchange_of(self.inbox, self.key))

    def page(self, of: str = "") -> str:
        """Return the page on which one asks."""
        return html.unescape(self.desk.page(f"{self.path}/ask?of={of}"))


@pytest.fixture
def asked(desking: Desking) -> Iterator[Asked]:
    """A call of a client that can be asked everything."""
    found = Asked(desking, EVERYTHING)
    yield found
    found.inbox.end(found.key.session)


def test_the_composer_leads_to_the_question(asked: Asked) -> None:
    """Under More."""
    assert f'href="{asked.path}/ask"' in asked.desk.page(asked.path)


def test_a_client_that_declared_nothing_is_asked_nothing_and_the_page_says_why(
    desking: Desking,
) -> None:
    """R32: the entry is there, and the reason beside it."""
    there = Asked(desking, {})
    page = desking.page(there.path)
    assert f"{there.path}/ask" not in page
    assert "did not declare the capability elicitation" in page
    assert "did not declare the capability roots" in there.page()
    there.inbox.end(there.key.session)


@pytest.mark.parametrize("role", [Role.CLIENT, Role.TAP])
def test_only_a_server_asks_back(desking: Desking, role: Role) -> None:
    """In the other seats somebody else is the server."""
    there = Asked(desking, EVERYTHING)
    facts = SessionFacts(
        there.key.session, started=AT, pid=1, role=role, protocol_version="2025-11-25"
    )
    there.inbox.describe(facts, NegotiatedState(client_capabilities=EVERYTHING, initialized=True))
    path = f"{there.path}/ask"

    def seated() -> bool:
        return bool(desking.session(there.key.session).get("role") == role.value)

    until(seated, "the desk knows the seat")
    assert desking.ask("GET", path, headers=desking.bearer).status == 404
    there.inbox.end(there.key.session)


def test_the_form_becomes_a_request_of_our_own(asked: Asked) -> None:
    """As JSON first: the id names the call, and nothing is sent yet."""
    page = asked.desk.submit(
        f"{asked.path}/ask",
        of="user",
        words="Which part?",
        act="json",
        name_0="part",
        kind_0="choice",
        choices_0="north, south、",
        needed_0="on",
        name_1="sure",
        kind_1="boolean",
        name_2=" ",
        name_3="odd",
        kind_3="x",
    ).text
    text = html.unescape(page.split('spellcheck="false">')[1].split("</textarea>")[0])
    request = json.loads(text)
    assert request["id"].startswith("ask-1-")
    assert request["params"]["requestedSchema"] == {
        "type": "object",
        "properties": {
            "part": {"type": "string", "enum": ["north", "south"]},
            "sure": {"type": "boolean"},
            "odd": {"type": "string"},
        },
        "required": ["part"],
    }
    assert list(asked.inbox.outgoing(asked.key.session)) == []


@pytest.mark.parametrize(("of", "words"), [("user", "to fill in"), ("model", "for the model")])
def test_each_question_has_its_own_form(asked: Asked, of: str, words: str) -> None:
    """The roots are asked for without a word."""
    assert words in asked.page(of)
    assert "<textarea" not in asked.page("roots")


def test_a_question_that_nobody_takes_says_so(asked: Asked) -> None:
    """The session's program is the only one who sends; it is what the test plays here."""
    answer = asked.desk.submit(f"{asked.path}/ask", of="roots", act="send")
    assert "Not sent yet" in answer.text
    ((_, reply),) = asked.inbox.outgoing(asked.key.session)
    assert json.loads(reply.text)["method"] == "roots/list"


def test_a_question_that_there_is_not_is_not_found(asked: Asked) -> None:
    """A form that was made up."""
    assert asked.desk.submit(f"{asked.path}/ask", of="nobody", act="send").status == 404


def test_in_the_modern_era_the_question_is_put_into_the_box(desking: Desking) -> None:
    """2026-07-28: one button, the other template; the server's check passes it."""
    there = Asked(desking, {}, STATED)
    answer = desking.submit(
        f"{there.path}/ask", of="user", words="Which?", name_0="part", act="send"
    )
    assert answer.status == 303
    path = f"/api/exchanges/{there.key.session}/1"
    draft = desking.get(path)["draft"]
    assert json.loads(draft["text"])["result"]["resultType"] == "input_required"
    assert desking.post(f"{path}/check", {"text": draft["text"]}).json["sendable"] is True
    there.inbox.end(there.key.session)


def question(method: str, params: dict[str, Any] | None = None) -> str:
    """Write a question as it went out."""
    inside = {} if params is None else {"params": params}
    return json.dumps({"jsonrpc": "2.0", "id": "ask-1-1", "method": method, **inside})


def answer(result: Any) -> str:  # noqa: ANN401 - any JSON value
    """Write an answer as it came in."""
    return json.dumps({"jsonrpc": "2.0", "id": "ask-1-1", "result": result})


USER = question("elicitation/create", {"message": "Which\npart?"})
MODEL = question(
    "sampling/createMessage", {"messages": [{"role": "user", "content": {"text": "Short?"}}]}
)
ROOTS = question("roots/list")


def test_an_open_question_stands_at_the_call(asked: Asked) -> None:
    """With its words on one line; progress in between changes nothing."""
    asked.record(Direction.OUT, USER)
    for _ in range(250):
        asked.record(Direction.OUT, '{"jsonrpc":"2.0","method":"notifications/progress"}')
    assert asked.told == (ShownRequest(InputRequest.USER, "Which\\npart?"),)
    page = html.unescape(asked.desk.page(asked.path))
    assert "The user has not answered yet." in page


@pytest.mark.parametrize(
    ("asks", "result", "outcome", "fields"),
    [
        (
            USER,
            {"action": "accept", "content": {"a": "b", "n": 3}},
            "accept",
            (("a", "b"), ("n", "3")),
        ),
        (USER, {"action": "decline"}, "decline", ()),
        (USER, {"action": "cancel"}, "cancel", ()),
        (USER, {"action": ["odd"], "content": "odd"}, "result", ()),
        (USER, "odd", "result", ()),
        (MODEL, {"model": "m", "content": {"text": "Yes."}}, "result", (("m", "Yes."),)),
        (MODEL, {"content": [1]}, "result", (("", "[1]"),)),
        (ROOTS, {"roots": [{"uri": "file:///a", "name": "A"}, 5]}, "result", (("A", "file:///a"),)),
        (ROOTS, {"roots": 5}, "result", ()),
    ],
)
def test_what_was_said_is_shown_in_words(
    asked: Asked,
    asks: str,
    result: Any,  # noqa: ANN401 - any JSON value
    outcome: str,
    fields: tuple[tuple[str, str], ...],
) -> None:
    """Whatever came: it came over a wire."""
    asked.record(Direction.OUT, asks)
    asked.record(Direction.IN, answer(result))
    (told,) = asked.told
    assert (told.outcome, told.fields) == (outcome, fields)
    assert asked.desk.page(asked.path).count("question told") == 1


def test_a_refusal_is_shown_too(asked: Asked) -> None:
    """An error of the client: its code and its words."""
    asked.record(Direction.OUT, USER)
    asked.record(
        Direction.IN,
        '{"jsonrpc":"2.0","id":"ask-1-1","error":{"code":-32601,"message":"no forms"}}',
    )
    (told,) = asked.told
    assert (told.outcome, told.fields) == ("error", (("error", "-32601 no forms"),))


@pytest.mark.parametrize("params", [{}, {"messages": 5}, {"messages": ["odd"]}])
def test_a_question_that_was_written_by_hand_may_be_anything(
    asked: Asked, params: dict[str, Any]
) -> None:
    """It was sent anyway."""
    asked.record(Direction.OUT, question("sampling/createMessage", params))
    assert len(asked.told) == 1


def test_what_was_asked_before_the_call_is_not_looked_for(asked: Asked) -> None:
    """Numbers are ours and never come again, but the look back has an end."""
    asked.record(Direction.IN, LINE, 1)
    assert asked.told == ()


def test_an_answer_that_comes_is_told_as_a_line(asked: Asked) -> None:
    """It changes no exchange; a page that shows the open question looks at each line."""
    asked.record(Direction.OUT, USER)
    asked.desk.page(asked.path)
    version = asked.desk.get("/api/state")["version"]
    asked.record(Direction.IN, answer({"action": "cancel"}))

    def heard() -> bool:
        changes = asked.desk.get(f"/api/state?since={version}")["changes"]
        return {"what": "lines", "session": asked.key.session, "number": 0} in changes

    until(heard, "the page would hear of it")
