"""A person answers hours later, whatever died meanwhile, and the client comes for the answer."""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import pytest

from humanmcp.answering import service
from humanmcp.answering.open_exchange import open_exchange_of
from humanmcp.answering.service import OrderError, queue_outgoing
from humanmcp.cli import main
from humanmcp.inbox.contract import Key, Order, OutgoingResult, Reply
from humanmcp.inbox.folder import FolderInbox
from humanmcp.protocol.conversation.decisions import sha256, verify_decisions
from humanmcp.protocol.conversation.stages import ExchangeState
from humanmcp.protocol.diagnostics.model import TextForm
from humanmcp.protocol.validation import input_requests
from humanmcp.protocol.validation.input_requests import InputRequest
from tests.support.desk_process import Desking
from tests.support.serve_process import Serving
from tests.support.verdicts import stating
from tests.support.waiting import PATIENCE, until

OLD, NEW = "2025-11-25", "2026-07-28"
TASKS: Final[dict[str, Any]] = {"extensions": {"io.modelcontextprotocol/tasks": {}}}
HOURS: Final = 2 * 3600
SHIFTED: Final = """
import sys, time
from pathlib import Path
clock = Path(sys.argv.pop(1))
real, since = time.time_ns, time.monotonic
time.time_ns = lambda: real() + int(clock.read_text()) * 10**9
time.monotonic = lambda: since() + int(clock.read_text())
from humanmcp.cli import main
sys.exit(main())
"""
"""A server whose clocks are moved by the seconds in a file."""


class Client(Serving):
    """A server with a client of one protocol version in front of it."""

    def __init__(self, home: Path, version: str, capabilities: Any = None, *flags: str) -> None:  # noqa: ANN401 - JSON
        """Start it, and open the session where the version wants that."""
        self.clock = home.parent / "clock"
        if not self.clock.exists():
            self.clock.write_text("0")
        super().__init__(
            home,
            *(
                "--book",
                str(home.parent / "book.toml"),
                "--handshake",
                "book",
                "--no-progress",
                *flags,
            ),
            command=(sys.executable, "-c", SHIFTED, str(self.clock), "serve"),
        )
        self.version = version
        self.notices: list[Any] = []
        self.capabilities = capabilities or {}
        self.last = 0
        if version != NEW:
            client = {"name": f"of {version}", "version": "1"}
            opened = self.ask(
                "initialize",
                protocolVersion=version,
                capabilities={name: {} for name in self.capabilities if name == "elicitation"},
                clientInfo=client,
            )
            self.offered = opened["result"]["capabilities"]
            self.say('{"jsonrpc":"2.0","method":"notifications/initialized"}')
        self.tools = self.ask("tools/list")["result"]["tools"]

    def start(self, method: str, **params: Any) -> None:  # noqa: ANN401 - JSON
        """Send a request."""
        self.last += 1
        if self.version == NEW:
            params["_meta"] = stating(self.capabilities)
        body = {"jsonrpc": "2.0", "id": self.last, "method": method, "params": params}
        self.say(json.dumps(body))

    def ask(self, method: str, **params: Any) -> Any:  # noqa: ANN401 - JSON
        """Send a request and return its response."""
        self.start(method, **params)
        return self.response()

    def response(self) -> Any:  # noqa: ANN401 - JSON
        """Return the response to the last request. Notes what the server says before it."""
        while "id" not in (found := json.loads(self.hear())):
            self.notices.append(found)
        assert found["id"] == self.last
        return found

    def notice(self) -> Any:  # noqa: ANN401 - JSON
        """Return the next notification."""
        return self.notices.pop(0) if self.notices else json.loads(self.hear())

    def later(self, seconds: int) -> None:
        """Move its clocks on."""
        moved = self.clock.with_suffix(".new")
        moved.write_text(str(int(self.clock.read_text()) + seconds))
        moved.replace(self.clock)

    def kill(self) -> None:
        """Kill the process and everything of it."""
        self.process.kill()
        self.process.wait()


class Person:
    """Somebody at a desk, who needs no server."""

    def __init__(self, home: Path) -> None:
        """Look into the inbox."""
        self.inbox = FolderInbox(home)

    def call(self) -> Key:
        """Return the parked call, of whatever session."""
        found = [
            item.key
            for facts in self.inbox.sessions()
            for item in self.inbox.items(facts.name)
            if item.outlives and not item.follows
        ]
        assert len(found) == 1
        return found[0]

    def answer(self, key: Key, text: str, form: TextForm = TextForm.TEXT) -> service.SendResult:
        """Send an answer."""
        reply = Reply(text, form, by="desk")
        return service.send(open_exchange_of(self.inbox, key), reply, within=PATIENCE)

    def order(self, order: Order, key: Key, words: str = "") -> None:
        """Submit an order about a call, and wait until it is followed."""
        text = f"{key.number} {words}".strip()
        ticket = queue_outgoing(self.inbox, key.session, Reply(text, by="desk", order=order))
        until(
            lambda: self.inbox.outgoing_result(key.session, ticket) == OutgoingResult(),
            f"{order} to be followed",
        )

    def fetched(self, key: Key) -> str:
        """Return when the client came for the answer."""
        answer = self.inbox.item(key).answer
        return "" if answer is None else answer.fetched


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """Make a place with a book that parks calls at once."""
    (tmp_path / "book.toml").write_text(
        '[server]\npark = 0\n[[tools]]\nname = "deploy"\ninputSchema = { type = "object" }\n'
    )
    return tmp_path / "inbox"


@pytest.fixture
def person(home: Path) -> Person:
    """Return somebody at a desk."""
    return Person(home)


def words_of(result: Any) -> str:  # noqa: ANN401 - JSON
    """Return the text of a tool result."""
    return str(result["content"][0]["text"])


def ticket_of(result: Any) -> str:  # noqa: ANN401 - JSON
    """Return the ticket in a tool result."""
    return str(
        json.loads(words_of(result).partition(" with ")[2].partition("}")[0] + "}")["ticket"]
    )


# -- two hours later, after the death of everything --------------------------------------------


@pytest.mark.parametrize("version", [OLD, NEW])
def test_a_client_with_tasks_gets_the_answer_from_another_process(
    home: Path, person: Person, version: str
) -> None:
    """The person answers while no process runs."""
    wish = {"task": {"ttl": 60000}} if version == OLD else {}
    with Client(home, version, TASKS) as first:
        created = first.ask("tools/call", name="deploy", **wish)["result"]
        task = created["task"]["taskId"] if version == OLD else created["taskId"]
        assert first.ask("tasks/get", taskId=task)["result"]["status"] == "working"
        first.kill()
        first.later(HOURS)
    key = person.call()
    assert person.answer(key, "go").outcome is service.Outcome.STORED
    assert person.fetched(key) == ""
    with Client(home, version, TASKS) as second:
        state = second.ask("tasks/get", taskId=task)["result"]
        assert state["status"] == "completed"
        if version == OLD:
            state = second.ask("tasks/result", taskId=task)
        assert words_of(state["result"]) == "go"
        until(lambda: person.fetched(key), "the answer to be fetched")
        assert second.ask("tasks/get", taskId=task)["result"]["status"] == "completed"
    assert person.inbox.item(key).state is ExchangeState.ANSWERED


def test_a_model_with_a_ticket_gets_the_answer_from_another_process(
    home: Path, person: Person
) -> None:
    """The tool for it is in the list from the start."""
    with Client(home, OLD) as first:
        assert [one["name"] for one in first.tools] == ["deploy", "ask_human_result"]
        ticket = ticket_of(first.ask("tools/call", name="deploy", arguments={})["result"])
        first.kill()
        first.later(HOURS)
    assert person.answer(person.call(), "go").outcome is service.Outcome.STORED
    with Client(home, OLD) as second:
        asked = {"name": "ask_human_result", "arguments": {"ticket": ticket}}
        assert words_of(second.ask("tools/call", **asked)["result"]) == "go"


def test_a_repeated_call_gets_the_answer_from_another_process(home: Path, person: Person) -> None:
    """Its `requestState` says which call it is."""
    limit = ("--client-limit", "2")
    with Client(home, NEW, None, *limit) as first:
        held = first.ask("tools/call", name="deploy")["result"]
        assert held["resultType"] == "input_required"
        first.kill()
        first.later(HOURS)
    assert person.answer(person.call(), "go").outcome is service.Outcome.STORED
    with Client(home, NEW, None, *limit) as second:
        state = held["requestState"]
        assert (
            words_of(second.ask("tools/call", name="deploy", requestState=state)["result"]) == "go"
        )


def test_a_call_that_was_repeated_too_early_still_gets_its_answer(
    home: Path, person: Person
) -> None:
    """It waits in the new process for what the person writes to the old call."""
    limit = ("--client-limit", "2")
    with Client(home, NEW, None, *limit) as first:
        held = first.ask("tools/call", name="deploy")["result"]
        first.kill()
    with Client(home, NEW, None, *limit) as second:
        again = second.ask("tools/call", name="deploy", requestState=held["requestState"])["result"]
        assert again["resultType"] == "input_required"
        assert person.answer(person.call(), "go").outcome is service.Outcome.STORED
        found = second.ask("tools/call", name="deploy", requestState=again["requestState"])
        assert words_of(found["result"]) == "go"


def task_of(client: Client) -> str:
    """Let a client with tasks call, and return its task."""
    return str(client.ask("tools/call", name="deploy")["result"]["taskId"])


def ask_for_task(client: Client, task: str) -> Any:  # noqa: ANN401 - JSON
    """Return the result that a task has by now."""
    return client.ask("tasks/get", taskId=task)["result"]["result"]


def ask_with_ticket(client: Client, ticket: str) -> Any:  # noqa: ANN401 - JSON
    """Call the tool for the answer."""
    return client.ask("tools/call", name="ask_human_result", arguments={"ticket": ticket})["result"]


def ask_by_repeat(client: Client, state: str) -> Any:  # noqa: ANN401 - JSON
    """Repeat the call."""
    return client.ask("tools/call", name="deploy", requestState=state)["result"]


@pytest.mark.parametrize(
    ("client", "begin", "fetch"),
    [
        ((NEW, TASKS), task_of, ask_for_task),
        (
            (OLD, None),
            lambda one: ticket_of(one.ask("tools/call", name="deploy", arguments={})["result"]),
            ask_with_ticket,
        ),
        (
            (NEW, None, "--client-limit", "2"),
            lambda one: one.ask("tools/call", name="deploy")["result"]["requestState"],
            ask_by_repeat,
        ),
    ],
    ids=["task", "ticket", "retry"],
)
def test_a_question_is_answered_two_hours_later_after_server_and_desk_were_killed(
    home: Path,
    person: Person,
    client: tuple[Any, ...],
    begin: Callable[[Client], str],
    fetch: Callable[[Client, str], Any],
) -> None:
    """What was half written is at the new desk, whose clock is two hours on; it is killed, too."""
    with Client(home, *client) as first, Desking(home) as desk:
        token = begin(first)
        key = person.call()
        path = f"/api/exchanges/{key.session}/{key.number}"
        until(lambda: desk.get("/api/exchanges")["waiting"], "the desk shows the call")
        assert desk.post(f"{path}/draft", {"text": "half", "form": "text"}).status == 200
        desk.kill()
        first.kill()
        first.later(HOURS)
    moved = (sys.executable, "-c", SHIFTED, str(home.parent / "clock"), "desk")
    with Desking(home, command=moved) as desk:
        assert desk.get(path)["draft"]["text"] == "half"
        sent = desk.post(f"{path}/reply", {"text": "go", "form": "text"})
        assert (sent.status, sent.json["became"]) == (202, "stored")
        desk.kill()
    with Client(home, *client) as second:
        assert words_of(fetch(second, token)) == "go"
        until(lambda: person.fetched(key), "the answer to be fetched")


# -- while the process runs ----------------------------------------------------------------------


def test_a_result_is_waited_for_and_comes_with_the_answer(home: Path, person: Person) -> None:
    """2025-11-25: `tasks/result` blocks; `tasks/list` has the task; all of it is as typed."""
    with Client(home, OLD) as client:
        assert client.offered["tasks"]["requests"] == {"tools": {"call": {}}}
        assert client.tools[0]["execution"] == {"taskSupport": "optional"}
        task = client.ask("tools/call", name="deploy", task={})["result"]["task"]
        assert [one["taskId"] for one in client.ask("tasks/list")["result"]["tasks"]] == [
            task["taskId"]
        ]
        client.start("tasks/result", taskId=task["taskId"])
        key = person.call()
        result = r'{"content":[],"caf\u00e9":1,"structuredContent":{"n":1e5}}'
        assert person.answer(key, result, TextForm.RESULT).outcome is service.Outcome.SENT
        assert json.loads(client.hear())["params"]["status"] == "completed"
        line = client.hear()
        assert result.removesuffix("}") in line
        meta = json.loads(line)["result"]["_meta"]
        assert meta == {"io.modelcontextprotocol/related-task": {"taskId": task["taskId"]}}
        until(lambda: person.fetched(key), "the answer to be fetched")


def test_a_subscription_tells_of_a_status_message_and_of_the_answer(
    home: Path, person: Person
) -> None:
    """2026-07-28: each notification is what `tasks/get` would answer."""
    with Client(home, NEW, TASKS) as client:
        task = client.ask("tools/call", name="deploy")["result"]["taskId"]
        client.start("subscriptions/listen", notifications={"taskIds": [task]})
        acknowledged = json.loads(client.hear())["params"]
        assert acknowledged["notifications"] == {"taskIds": [task]}
        key = person.call()
        person.order(Order.STATUS, key, "Anna looks at it")
        working = json.loads(client.hear())["params"]
        assert (working["status"], working["statusMessage"]) == ("working", "Anna looks at it")
        assert working["lastUpdatedAt"] > working["createdAt"]
        person.answer(key, "go")
        done = json.loads(client.hear())["params"]
        assert (done["status"], words_of(done["result"])) == ("completed", "go")
        until(lambda: person.fetched(key), "the answer to be fetched")


def test_who_asks_with_a_ticket_too_early_is_told_to_ask_again(home: Path, person: Person) -> None:
    """After a while, with what the person says meanwhile; then the answer comes at once."""
    with Client(home, OLD) as client:
        ticket = ticket_of(client.ask("tools/call", name="deploy", arguments={})["result"])
        key = person.call()
        person.order(Order.STATUS, key, "five minutes")
        asked = {"name": "ask_human_result", "arguments": {"ticket": ticket}}
        client.start("tools/call", **asked)
        until(lambda: any(one.follows for one in person.inbox.items(key.session)), "it to wait")
        client.later(60)
        assert "five minutes" in words_of(client.response()["result"])
        client.start("tools/call", **asked)
        until(lambda: any(one.follows for one in person.inbox.items(key.session)), "it to wait")
        person.answer(key, "go")
        assert words_of(client.response()["result"]) == "go"


def test_a_cancelled_task_is_over_for_the_person(home: Path, person: Person) -> None:
    """The text is kept; the client is told so."""
    with Client(home, OLD) as client:
        task = client.ask("tools/call", name="deploy", task={})["result"]["task"]["taskId"]
        key = person.call()
        assert client.ask("tasks/cancel", taskId=task)["result"]["status"] == "cancelled"
        assert person.answer(key, "go").outcome is service.Outcome.OVER
        assert person.inbox.item(key).state is ExchangeState.CANCELLED
        assert client.ask("tasks/cancel", taskId=task)["error"]["code"] == -32602


def test_the_button_parks_a_call_before_its_time(home: Path, person: Person) -> None:
    """It says beforehand how, and the person's text stays."""
    (home.parent / "book.toml").write_text("[server]\npark = 3600\n")
    with Client(home, NEW, TASKS) as client:
        client.start("tools/call", name="ask_human", arguments={"question": "?"})
        name = person.inbox.sessions()[0].name
        item = until(lambda: person.inbox.items(name), "the call")[0]
        assert (item.waiting.can_park, item.is_parked) == ("task", False)
        person.order(Order.PARK, item.key)
        assert client.response()["result"]["resultType"] == "task"
        assert person.inbox.item(item.key).is_parked


def test_a_rule_that_answers_later_is_waited_for(home: Path) -> None:
    """Nobody has to be asked twice for what comes without a person."""
    with (home.parent / "book.toml").open("a") as book:
        book.write('[[rules]]\ntool = "deploy"\ntext = "automatic"\nafter = 0.2\n')
    with Client(home, NEW, TASKS) as client:
        assert words_of(client.ask("tools/call", name="deploy")["result"]) == "automatic"


# -- whose it is -------------------------------------------------------------------------------


def test_a_task_is_known_to_its_own_client_for_its_ttl_only(home: Path, person: Person) -> None:
    """Another client, a guessed secret or a late question: there is no such task."""
    with Client(home, NEW, TASKS) as client:
        task = client.ask("tools/call", name="deploy")["result"]["taskId"]
        other = task[:-1] + ("0" if task[-1] != "0" else "1")
        assert client.ask("tasks/get", taskId=other)["error"]["code"] == -32602
        with Client(home, OLD) as another:
            assert another.ask("tasks/get", taskId=task)["error"]["code"] == -32602
        assert client.ask("tasks/get", taskId=task)["result"]["status"] == "working"
        client.later(7 * 24 * 3600 + 1)
        assert client.ask("tasks/get", taskId=task)["error"]["code"] == -32602
    assert person.call()


def test_a_client_without_a_task_is_asked_nothing(home: Path, person: Person) -> None:
    """The check says so before anything is sent."""
    with Client(home, NEW, {"elicitation": {}}) as client:
        client.ask("tools/call", name="deploy")
        ask = '{"resultType":"input_required","requestState":"x"}'
        blocked = person.answer(person.call(), ask, TextForm.RESULT)
    assert blocked.outcome is service.Outcome.BLOCKED
    assert [one.code for one in blocked.diagnostics] == ["M109"]


def question(words: str) -> str:
    """Return an answer that asks the user of the client something."""
    params = {
        "mode": "form",
        "message": words,
        "requestedSchema": {"type": "object", "properties": {}},
    }
    asked = {"user": {"method": "elicitation/create", "params": params}}
    return json.dumps({"resultType": "input_required", "inputRequests": asked})


def test_the_client_of_a_task_is_asked_and_the_person_reads_what_it_answers(
    home: Path, person: Person
) -> None:
    """2026-07-28: a key is used once; a part may be answered; what was not asked is ignored."""
    with Client(home, NEW, {**TASKS, "elicitation": {}}) as client:
        task = client.ask("tools/call", name="deploy")["result"]["taskId"]
        client.start("subscriptions/listen", notifications={"taskIds": [task]})
        client.notice()
        key = person.call()

        def state() -> Any:  # noqa: ANN401 - JSON
            return client.ask("tasks/get", taskId=task)["result"]

        for words in ("Which?", "Where?"):
            sent = person.answer(key, question(words), TextForm.RESULT)
            assert sent.outcome is service.Outcome.SENT
            assert client.notice()["params"]["status"] == "input_required"
        asked = state()["inputRequests"]
        assert [one["params"]["message"] for one in asked.values()] == ["Which?", "Where?"]
        assert list(asked) == ["user", "user-2"]
        accepted = {"action": "accept", "content": {}}
        told = {"user-2": accepted, "user-9": accepted}
        assert client.ask("tasks/update", taskId=task, inputResponses=told)["result"] == {
            "resultType": "complete"
        }
        assert list(state()["inputRequests"]) == ["user"]
        client.ask("tasks/update", taskId=task, inputResponses={"user": {"action": "decline"}})
        assert state()["status"] == "working"
        parked = person.inbox.item(key).waiting.parked
        assert parked.asks == ""
        assert json.loads(parked.heard) == {
            "user-2": accepted,
            "user": {"action": "decline"},
        }
        person.answer(key, question("Again?"), TextForm.RESULT)
        assert list(state()["inputRequests"]) == ["user-3"]
        person.answer(key, "go")
        assert words_of(state()["result"]) == "go"


@pytest.mark.parametrize("method", ["tasks/get", "tasks/update", "tasks/cancel"])
def test_a_client_that_does_not_declare_tasks_is_told_so_with_each_request(
    home: Path, person: Person, method: str
) -> None:
    """2026-07-28: also about a task that it got before; nothing changes by it."""
    with Client(home, NEW, TASKS) as client:
        task = client.ask("tools/call", name="deploy")["result"]["taskId"]
        client.capabilities = {}
        error = client.ask(method, taskId=task, inputResponses={})["error"]
        assert (error["code"], error["data"]) == (-32021, {"requiredCapabilities": TASKS})
        assert person.inbox.item(person.call()).state is ExchangeState.PENDING


def test_a_task_requires_input_while_its_client_is_asked_something(
    home: Path, person: Person
) -> None:
    """2025-11-25: the question is a request that names the task; each change is notified."""
    with Client(home, OLD, {"elicitation": {}}) as client:
        task = client.ask("tools/call", name="deploy", task={})["result"]["task"]["taskId"]
        key = person.call()
        opened = open_exchange_of(person.inbox, key)
        assert opened.exchange is not None
        asked = input_requests.params(InputRequest.USER, "Which?")
        text = input_requests.request(opened.exchange, InputRequest.USER, asked, "1", task)
        queue_outgoing(person.inbox, key.session, Reply(text, by="desk"))
        heard = json.loads(client.hear())
        assert heard["params"]["_meta"] == {
            "io.modelcontextprotocol/related-task": {"taskId": task}
        }
        told = client.notice()
        assert told["method"] == "notifications/tasks/status"
        assert told["params"]["status"] == "input_required"
        assert client.ask("tasks/get", taskId=task)["result"]["status"] == "input_required"
        answer = {"jsonrpc": "2.0", "id": heard["id"], "result": {"action": "decline"}}
        client.say(json.dumps(answer))
        assert client.notice()["params"]["status"] == "working"
        person.answer(key, "go")
        assert client.notice()["params"]["status"] == "completed"


def test_without_park_in_the_book_nothing_is_parked(home: Path, person: Person) -> None:
    """And no tool is offered beside those of the book."""
    (home.parent / "book.toml").write_text("")
    with Client(home, NEW, TASKS) as client:
        assert [one["name"] for one in client.tools] == ["ask_human"]
        client.start("tools/call", name="ask_human", arguments={"question": "?"})
        name = person.inbox.sessions()[0].name
        item = until(lambda: person.inbox.items(name), "the call")[0]
        assert item.waiting.can_park == ""
        with pytest.raises(OrderError):
            person.order(Order.PARK, item.key)
        assert not person.inbox.item(item.key).is_parked


@pytest.mark.parametrize("version", [OLD, NEW])
def test_an_approval_is_never_parked(home: Path, person: Person, version: str) -> None:
    """Not on a timer, not for a client that asks for a task, not by an order of a person.

    The client waits for the decision, and nothing else is an answer.
    """
    (home.parent / "book.toml").write_text("[server]\npark = 0\n")
    prompt = {"tool_name": "Bash", "input": {"command": "ls"}}
    wish: dict[str, Any] = {"task": {}} if version == OLD else {}
    with Client(home, version, TASKS, "--approvals") as client:
        (listed,) = [one for one in client.tools if one["name"] == "approve"]
        assert "execution" not in listed
        client.start("tools/call", name="approve", arguments=prompt, **wish)
        name = person.inbox.sessions()[0].name
        item = until(lambda: person.inbox.items(name), "the call")[0]
        assert (item.waiting.can_park, item.outlives) == ("", False)
        with pytest.raises(OrderError):
            person.order(Order.PARK, item.key)
        ticket = person.inbox.submit(name, Reply(str(item.key.number), order=Order.PARK))
        until(lambda: person.inbox.outgoing_result(name, ticket), "the order")
        waiting = person.inbox.item(item.key)
        assert not waiting.outlives
        person.answer(item.key, '{"behavior": "allow", "updatedInput": {"command": "ls"}}')
        decided = json.loads(words_of(client.response()["result"]))
        assert decided["behavior"] == "allow"


# -- the record of decisions ---------------------------------------------------------------------


def test_each_answer_of_a_person_leaves_a_record(
    home: Path, person: Person, capsys: pytest.CaptureFixture[str]
) -> None:
    """Of what a person decided, not of what came automatically; `verify` finds a change."""
    with Client(home, OLD) as client:
        task = client.ask("tools/call", name="deploy", task={})["result"]["task"]["taskId"]
        key = person.call()
        person.answer(key, "go")
        name = person.inbox.sessions()[0].name
        until(lambda: person.inbox.facts(name).decisions == 1, "the facts, before the client asks")
        client.ask("tasks/get", taskId=task)
        client.start("prompts/get", name="p")
        waits = until(lambda: [one for one in person.inbox.items(name) if one.waits], "the prompt")
        person.answer(waits[0].key, '{"messages":[]}', TextForm.RESULT)
        client.response()
        until(lambda: person.inbox.facts(name).decisions == 2, "the facts of the session")
    shell = ["--home", str(home), "--lang", "en"]
    assert main(["export", name, "--format", "decisions", *shell]) == 0
    written = capsys.readouterr().out
    first, second = map(json.loads, written.splitlines())
    parked = person.inbox.item(key)
    assert parked.answer is not None
    assert (first["exchange"], first["by"]) == (key.number, "desk")
    assert (first["action"], first["where"]) == ("answer", "a browser on this computer")
    assert first["asked"] == sha256(parked.line)
    assert first["answered"] == sha256(parked.answer.line)
    assert first["sent_at"] <= first["taken_at"]
    assert second["exchange"] == waits[0].key.number
    assert person.inbox.facts(name).last_decision == second["digest"]
    assert not [*verify_decisions(written.encode())]
    changed = written.replace('"by":"desk"', '"by":"disk"', 1)
    (flaw,) = verify_decisions(changed.encode())
    assert (flaw.code, flaw.line, flaw.number) == ("changed", 1, 1)


@pytest.mark.parametrize("killed", [False, True])
@pytest.mark.parametrize("version", [OLD, NEW])
def test_a_parked_question_ends_with_the_limit_of_its_asker(
    home: Path, person: Person, version: str, *, killed: bool
) -> None:
    """Two hours later nobody has answered, in another process too; before that it is a task."""
    (home.parent / "book.toml").write_text("[server]\npark = 0\n")
    wish: dict[str, Any] = {"task": {}} if version == OLD else {}
    asked = {"question": "Tea?", "default": "yes", "timeout_seconds": HOURS}
    with Client(home, version, TASKS) as client:
        result = client.ask("tools/call", name="ask_human", arguments=asked, **wish)["result"]
        task = result.get("task", result)["taskId"]
        state = client.ask("tasks/get", taskId=task)["result"]
        assert state["status"] == "working"
        client.later(HOURS - 60)
        assert client.ask("tasks/get", taskId=task)["result"]["status"] == "working"
        client.later(61)
        if killed:
            client.kill()
        else:
            _has_no_answer(client, task)
    if killed:
        with Client(home, version, TASKS) as client:
            _has_no_answer(client, task)


def _has_no_answer(client: Client, task: str) -> None:
    state = client.ask("tasks/get", taskId=task)["result"]
    assert state["status"] == "completed"
    result = state.get("result") or client.ask("tasks/result", taskId=task)["result"]
    expected = {"status": "no_answer", "answers": {}, "defaults": {"Tea?": "yes"}}
    assert result["structuredContent"] == expected


def test_a_request_that_waits_for_a_parked_question_hears_when_its_limit_is_over(
    home: Path, person: Person
) -> None:
    """`tasks/result` of 2025-11-25 is open until then."""
    (home.parent / "book.toml").write_text("[server]\npark = 0\n")
    asked = {"question": "Tea?", "timeout_seconds": 2}
    with Client(home, OLD) as client:
        created = client.ask("tools/call", name="ask_human", arguments=asked, task={})["result"]
        found = client.ask("tasks/result", taskId=created["task"]["taskId"])["result"]
        assert found["structuredContent"] == {"status": "no_answer", "answers": {}}
