"""The person at the terminal answers what a server asks, also while they are typing."""

import errno
import json
import sys
import threading
from pathlib import Path
from typing import Any, NoReturn

import pytest

from humanmcp.common.child import EndedError
from humanmcp.extensions.host.at_inbox import QuestionInbox
from humanmcp.extensions.host.client.callbacks import Nobody, ServerRequestHandler
from humanmcp.extensions.host.client.client import Client
from humanmcp.extensions.host.client.handshake import Response, SessionStart
from humanmcp.extensions.host.terminal.results import AtTerminal
from humanmcp.extensions.host.terminal.typing import Typist
from humanmcp.inbox.contract import Item, Key, Reply, Role, StoreError
from humanmcp.inbox.folder import FolderInbox
from humanmcp.locales import speak
from humanmcp.protocol.conversation.exchange import Exchange
from humanmcp.protocol.conversation.outcomes import Outcome, Refused, RequestArrived, Sent
from humanmcp.protocol.conversation.stages import ExchangeState
from humanmcp.protocol.diagnostics.model import TextForm
from humanmcp.protocol.session import McpSession, Party
from tests.extensions.host.at_keys import Terminal
from tests.extensions.host.seats import SCRIPTED, Way, as_process, in_memory
from tests.support.serve_process import given_back
from tests.support.speaking import said_in
from tests.support.waiting import until

FORM = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "age": {"type": "integer"}},
    "required": ["name"],
}
ELICIT = {"message": "Who are you?", "mode": "form", "requestedSchema": FORM}
URL = {"message": "Log in", "mode": "url", "url": "https://example.com", "elicitationId": "e"}
SAMPLE = {
    "systemPrompt": "Be brief.",
    "messages": [{"role": "user", "content": {"type": "text", "text": "hi"}}],
    "maxTokens": 10,
}


class Question:
    """A server's question, and what became of it."""

    def __init__(self, method: str, params: dict[str, Any] | None = None) -> None:
        """Ask."""
        self.session = McpSession(Party.CLIENT)
        self.session.state.negotiated_version = "2025-11-25"
        self.sent: list[dict[str, Any]] = []
        body: dict[str, Any] = {"jsonrpc": "2.0", "id": "q", "method": method}
        line = json.dumps(body if params is None else body | {"params": params})
        (event,) = self.session.receive(line.encode())
        assert isinstance(event, RequestArrived)
        self.exchange: Exchange = event.exchange

    def judge(
        self, text: str, form: TextForm = TextForm.RESULT, *, anyway: bool = False
    ) -> Outcome:
        """Check an answer, as the client does."""
        outcome = self.session.reply(self.exchange.number, text, form, anyway=anyway)
        if isinstance(outcome, Sent):
            self.sent.append(json.loads(outcome.own))
        return outcome

    def put_to(self, handler: ServerRequestHandler) -> dict[str, Any]:
        """Have it answered; return the answer without its envelope."""
        handler.answer(self.exchange, self.session.negotiated, self.judge)
        (answer,) = self.sent
        found = answer.get("result") or answer["error"]
        assert isinstance(found, dict)
        return found


def at_terminal(*typed: str) -> AtTerminal:
    """Sit down somebody who types this."""
    return AtTerminal(Typist(typed))


@pytest.mark.parametrize(
    ("method", "params", "typed", "answer"),
    [
        (
            "roots/list",
            None,
            ["file:///a file:///b"],
            {"roots": [{"uri": "file:///a"}, {"uri": "file:///b"}]},
        ),
        (
            "elicitation/create",
            ELICIT,
            ["a", "Ada", "36"],
            {"action": "accept", "content": {"name": "Ada", "age": 36}},
        ),
        (
            "elicitation/create",
            ELICIT,
            ["a", "Ada", "old", "36"],
            {"action": "accept", "content": {"name": "Ada", "age": 36}},
        ),
        ("elicitation/create", ELICIT, ["d"], {"action": "decline"}),
        ("elicitation/create", ELICIT, ["c"], {"action": "cancel"}),
        ("elicitation/create", URL, ["a"], {"action": "accept"}),
        (
            "sampling/createMessage",
            SAMPLE,
            ["hello"],
            {
                "role": "assistant",
                "content": {"type": "text", "text": "hello"},
                "model": "a person",
                "stopReason": "endTurn",
            },
        ),
    ],
)
def test_a_person_answers_at_the_terminal(
    method: str, params: dict[str, Any] | None, typed: list[str], answer: dict[str, Any]
) -> None:
    """Roots, a form field by field (a slip is asked again), a page to open, a model's words."""
    assert Question(method, params).put_to(at_terminal(*typed)) == answer


@pytest.mark.parametrize(
    ("method", "params", "answer"),
    [
        ("roots/list", None, {"roots": []}),
        ("elicitation/create", ELICIT, {"action": "cancel"}),
        (
            "sampling/createMessage",
            SAMPLE,
            {"code": -1, "message": "User rejected sampling request"},
        ),
    ],
)
def test_where_nobody_sits_the_roots_are_shown_and_the_rest_is_declined(
    method: str, params: dict[str, Any] | None, answer: dict[str, Any]
) -> None:
    """Without a terminal and without a script nobody is waited for."""
    assert Question(method, params).put_to(Nobody()) == answer
    assert Question(method, params).put_to(at_terminal()) == answer


@pytest.mark.parametrize(
    ("method", "params", "answer"),
    [
        ("roots/list", None, {"roots": []}),
        ("elicitation/create", ELICIT, {"action": "cancel"}),
    ],
)
def test_a_line_of_the_script_that_is_no_answer_is_left_for_the_prompt(
    method: str, params: dict[str, Any] | None, answer: dict[str, Any]
) -> None:
    """The server "everything" asks for the roots between two calls, whatever the script says."""
    person = at_terminal("call echo message=hi")
    assert Question(method, params).put_to(person) == answer
    assert person.typist.ask("> ") == "call echo message=hi"


def test_a_person_is_asked_where_the_script_says_something_else(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Somebody sits at the terminal while the script types: the question is theirs."""
    person = at_terminal("call echo message=hi")
    monkeypatch.setattr(Typist, "is_there", True)
    monkeypatch.setattr("builtins.input", lambda _prompt: "d")
    assert Question("elicitation/create", ELICIT).put_to(person) == {"action": "decline"}
    assert person.typist.ask("> ") == "call echo message=hi"


def test_an_unknown_question_is_answered_as_unknown() -> None:
    """-32601 is what a client says that does not know a method."""
    assert Question("tasks/list").put_to(Nobody())["code"] == -32601


def test_a_question_can_be_answered_at_a_desk(tmp_path: Path) -> None:
    """`--desk`: the same question, draft and check, in the inbox; a slip comes back."""
    session = QuestionInbox(FolderInbox(tmp_path), Role.CLIENT, title="client")
    question = Question("elicitation/create", ELICIT)
    asking = threading.Thread(
        target=session.answer,
        args=(question.exchange, question.session.negotiated, question.judge),
    )
    asking.start()
    inbox = FolderInbox(tmp_path)
    (item,) = until(lambda: list(inbox.items(session.name)), "the question")
    assert '"action": "accept"' in (item.draft.text if item.draft else "")
    inbox.send(item.key, Reply('{"action": "maybe"}', TextForm.RESULT, by="desk"))
    given_back(inbox, item.key)
    inbox.send(item.key, Reply('{"action": "decline"}', TextForm.RESULT, by="desk"))
    asking.join(20)
    assert question.sent == [{"jsonrpc": "2.0", "id": "q", "result": {"action": "decline"}}]
    assert inbox.item(item.key).state is ExchangeState.ANSWERED
    session.end()


@pytest.mark.parametrize(
    ("language", "said"),
    [
        ("en", "the server `x` has ended (exit status 3)"),
        ("ja", "サーバー `x` は終了しました"),
    ],
)
def test_why_a_question_is_withdrawn_is_said_in_the_persons_language(
    language: str, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """At the terminal and in the inbox: the server that asked is gone."""
    error = EndedError("exited", command="x", status=3)
    question = Question("elicitation/create", ELICIT)
    said_in(language, AtTerminal(Typist()).withdraw, question.exchange, error)
    assert said in capsys.readouterr().out
    inbox = FolderInbox(tmp_path)
    speak(language)  # the question waits in a thread
    session = QuestionInbox(inbox, Role.CLIENT)
    asking = threading.Thread(
        target=session.answer,
        args=(question.exchange, question.session.negotiated, question.judge),
    )
    asking.start()
    item = until(lambda: inbox.items(session.name), "the question")[0]
    until(lambda: session._questions, "the wait")
    session.withdraw(question.exchange, error)
    asking.join(20)
    assert said in inbox.item(item.key).reason
    session.end()


def test_a_withdrawn_question_leaves_the_desk(tmp_path: Path) -> None:
    """The server cancelled: nobody should go on writing."""
    session = QuestionInbox(FolderInbox(tmp_path), Role.CLIENT)
    question = Question("elicitation/create", ELICIT)
    asking = threading.Thread(
        target=session.answer,
        args=(question.exchange, question.session.negotiated, question.judge),
    )
    asking.start()
    inbox = FolderInbox(tmp_path)
    (item,) = until(lambda: list(inbox.items(session.name)), "the question")
    until(lambda: session._questions, "the wait")
    session.withdraw(question.exchange, "never mind")
    asking.join(20)
    assert not asking.is_alive()
    assert inbox.item(item.key).state is ExchangeState.CANCELLED
    session.end()


def test_a_question_withdrawn_on_its_way_to_the_desk_is_not_left_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A server that asks and cancels at once leaves nobody a question that nobody waits for."""
    inbox = FolderInbox(tmp_path)
    session = QuestionInbox(inbox, Role.CLIENT)
    question = Question("elicitation/create", ELICIT)
    deliver = inbox.deliver

    def cancelled_first(item: Item) -> None:
        session.withdraw(question.exchange, "never mind")
        deliver(item)

    monkeypatch.setattr(inbox, "deliver", cancelled_first)
    session.answer(question.exchange, question.session.negotiated, question.judge)
    assert question.sent == []
    assert inbox.item(Key(session.name, 1)).state is ExchangeState.CANCELLED
    session.end()


@pytest.mark.parametrize("way", [in_memory, as_process])
def test_the_questions_of_an_answer_are_put_to_the_desk_too(tmp_path: Path, way: Way) -> None:
    """2026-07-28: what `input_required` asks waits in the inbox, one question after the other."""
    session = QuestionInbox(FolderInbox(tmp_path), Role.CLIENT)
    client = Client(way("modern"), session)
    client.open(SessionStart.MODERN)
    found: list[Response] = []
    asking = threading.Thread(
        target=lambda: found.append(client.call("tools/call", {"name": "greet"}))
    )
    asking.start()
    inbox = FolderInbox(tmp_path)
    for number, answer in (
        (1, '{"action": "accept", "content": {"name": "Ada"}}'),
        (2, '{"roots": [{"uri": "file:///home/ada"}]}'),
    ):
        until(lambda: list(inbox.items(session.name)), f"question {number}")
        inbox.send(Key(session.name, number), Reply(answer, TextForm.RESULT, by="desk"))
        key = Key(session.name, number)
        until(lambda: inbox.item(key).state is ExchangeState.ANSWERED, "its end")  # noqa: B023 - at once
    asking.join(20)
    assert found[0].result is not None
    assert found[0].result["content"][0]["text"] == "hello Ada at file:///home/ada"
    client.close()
    session.end()


def test_where_there_is_no_server_nothing_can_be_said_first(tmp_path: Path) -> None:
    """The model's and the host's role are asked by us: whoever speaks there is told so."""
    session = QuestionInbox(FolderInbox(tmp_path), Role.HOST)
    inbox = FolderInbox(tmp_path)
    ticket = inbox.submit(session.name, Reply('{"jsonrpc":"2.0","id":1,"method":"ping"}'))
    (diagnostic,) = until(
        lambda: inbox.outgoing_result(session.name, ticket), "the reason"
    ).problems
    assert diagnostic.code == "R23"
    session.end()


def test_a_server_that_ended_takes_nothing_more(tmp_path: Path) -> None:
    """A late reply is no crash, and what is said first comes back with the reason."""

    def gone(*_arguments: object, **_more: object) -> NoReturn:
        raise EndedError

    session = QuestionInbox(FolderInbox(tmp_path), Role.CLIENT)
    session.submit = gone
    question = Question("elicitation/create", ELICIT)
    asking = threading.Thread(
        target=session.answer, args=(question.exchange, question.session.negotiated, gone)
    )
    asking.start()
    inbox = FolderInbox(tmp_path)
    (item,) = until(lambda: list(inbox.items(session.name)), "the question")
    inbox.send(item.key, Reply('{"action": "decline"}', TextForm.RESULT, by="desk"))
    asking.join(20)
    assert inbox.item(item.key).state is ExchangeState.ABANDONED
    ticket = inbox.submit(session.name, Reply('{"jsonrpc":"2.0","id":1,"method":"ping"}'))
    (diagnostic,) = until(
        lambda: inbox.outgoing_result(session.name, ticket), "the reason"
    ).problems
    assert diagnostic.code == "R23"
    session.end()


def test_a_question_that_cannot_be_kept_is_answered_with_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A full disk: the server is told, instead of waiting for ever."""
    inbox = FolderInbox(tmp_path)
    session = QuestionInbox(inbox, Role.CLIENT)

    def full(_item: object) -> NoReturn:
        raise StoreError(OSError(errno.ENOSPC, "full"), "item", number=1)

    monkeypatch.setattr(inbox, "deliver", full)
    assert Question("elicitation/create", ELICIT).put_to(session)["code"] == -32603
    session.end()


RATED = {
    "type": "object",
    "properties": {
        "mail": {"type": "string", "format": "email"},
        "stars": {"type": "integer", "minimum": 1, "maximum": 5},
        "colour": {
            "oneOf": [{"const": "#f00", "title": "Red"}, {"const": "#0f0", "title": "Green"}]
        },
        "plays": {"type": "array", "items": {"enum": ["Guitar", "Piano"]}},
    },
    "required": ["mail", "stars"],
}


@pytest.mark.parametrize(
    ("typed", "content"),
    [
        (
            ["", "nomail", "a@b.jp", "9", "5", "Purple", "2", "Guitar, 2"],
            {"mail": "a@b.jp", "stars": 5, "colour": "#0f0", "plays": ["Guitar", "Piano"]},
        ),
        (["a@b.jp", "/back", "c@d.jp", "4", "", ""], {"mail": "c@d.jp", "stars": 4}),
        (
            ["a@b.jp", "4", "Red", "/back", "1", ""],
            {"mail": "a@b.jp", "stars": 4, "colour": "#f00"},
        ),
        (["a@b.jp", "/leave", "a", "", "3", "", ""], {"mail": "a@b.jp", "stars": 3}),
    ],
)
def test_a_form_goes_out_only_as_its_schema_wants_it(
    typed: list[str],
    content: dict[str, Any],
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    """Each slip is said where it is typed; one goes back, leaves, comes back, loses nothing."""
    lines = iter(["a", *typed])
    monkeypatch.setattr(Typist, "is_there", True)
    monkeypatch.setattr("builtins.input", lambda _prompt: next(lines))
    question = Question("elicitation/create", ELICIT | {"requestedSchema": RATED})
    assert question.put_to(at_terminal()) == {"action": "accept", "content": content}
    assert "1  Red (#f00)" in capfd.readouterr().out
    assert next(lines, None) is None


def test_each_slip_in_a_form_is_said_in_both_languages(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """What is missing, which rule is broken, which choices there are, and the way out."""
    for language in ("en", "ja"):
        lines = iter(["a", "", "nomail", "/leave", "d"])
        monkeypatch.setattr(Typist, "is_there", True)
        monkeypatch.setattr("builtins.input", lambda _prompt, lines=lines: next(lines))
        speak(language)
        person = AtTerminal(Typist())
        asked = ELICIT | {"requestedSchema": RATED}
        assert Question("elicitation/create", asked).put_to(person) == {"action": "decline"}
    shown = capfd.readouterr().out
    assert "mail is required" in shown
    assert 'mail is not valid: "nomail" does not have the format email.' in shown
    assert "mail は必須です" in shown
    assert "mail の値が正しくありません" in shown


@pytest.mark.parametrize(
    "content", ["{}", '{"mail":"nomail","stars":1}', '{"mail":"a@b","stars":9}']
)
def test_a_form_at_a_desk_that_breaks_its_schema_is_refused(content: str) -> None:
    """An error blocks there too; it can still be sent on purpose."""
    question = Question("elicitation/create", ELICIT | {"requestedSchema": RATED})
    answer = f'{{"action":"accept","content":{content}}}'
    assert isinstance(question.judge(answer), Refused)
    assert isinstance(question.judge(answer, anyway=True), Sent)


def test_ctrl_c_leaves_a_form_and_traps_nobody(tmp_path: Path) -> None:
    """Out of the form, out of the question, and the prompt takes `quit` again."""
    terminal = Terminal(tmp_path, sys.executable, str(SCRIPTED))
    terminal.see("Enter method :  ")
    terminal.type(f"test/form {json.dumps({'form': RATED})}")
    terminal.see("[c]ancel: ")
    terminal.type("a")
    terminal.see("mail* (string): ")
    terminal.press("half a na")
    terminal.see("half a na")
    terminal.interrupt()
    terminal.see("[c]ancel: ")
    terminal.interrupt()
    terminal.see('test/form {"answer": {"action": "cancel"}}')
    terminal.see("Enter method :  ")
    terminal.type("quit")
    assert terminal.end() == 0


@pytest.mark.parametrize(("server", "said"), [("", "The server asks"), ("dice", "dice asks")])
def test_a_question_names_its_server(
    server: str, said: str, capfd: pytest.CaptureFixture[str]
) -> None:
    """Where there are several, a person has to know whom they answer."""
    person = AtTerminal(Typist(["d"]), server=server)
    Question("elicitation/create", ELICIT).put_to(person)
    assert f"{said} you: elicitation/create" in capfd.readouterr().out


def test_a_question_that_was_withdrawn_before_its_turn_is_not_asked() -> None:
    """Nobody fills in a form that nobody waits for."""
    person = at_terminal("d")
    question = Question("elicitation/create", ELICIT)
    person.withdraw(question.exchange, "enough")
    person.answer(question.exchange, question.session.negotiated, question.judge)
    assert question.sent == []


def test_a_question_finds_the_person_at_the_prompt(tmp_path: Path) -> None:
    """Two threads, one keyboard: Enter leaves the prompt, and then the question has its turn."""
    terminal = Terminal(tmp_path, sys.executable, str(SCRIPTED))
    terminal.see("Enter method :  ")
    terminal.type("test/ask &")
    terminal.see("press Enter to answer")
    terminal.type("")
    terminal.see("folders to show")
    terminal.type("file:///home/me")
    terminal.see("Enter method :  ")
    terminal.type("test/seen")
    terminal.see("file:///home/me")
    terminal.see("Enter method :  ")
    terminal.type("quit")
    assert terminal.end() == 0
