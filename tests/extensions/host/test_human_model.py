"""A person in the model's role, in the same inbox as everything else."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from humanmcp.extensions.host.at_inbox import QuestionInbox
from humanmcp.extensions.host.conversation import (
    ModelError,
    ModelTool,
    TextBlock,
    ToolResult,
    ToolUse,
    Turn,
    TurnRole,
)
from humanmcp.extensions.host.models.human import METHOD, HumanModel, params_of, said
from humanmcp.extensions.host.servers import HostLoop
from humanmcp.inbox.contract import Draft, Item, Life, Reply, Role
from humanmcp.inbox.folder import FolderInbox
from humanmcp.protocol.conversation.exchange import NegotiatedState
from humanmcp.protocol.conversation.stages import ExchangeState
from humanmcp.protocol.diagnostics.model import TextForm
from humanmcp.protocol.json.jsonrpc import Message, read
from humanmcp.protocol.validation import check
from tests.extensions.host.hosting import Table, says, table, use
from tests.support.waiting import until

IMAGE = {"type": "image", "data": "AAAA", "mimeType": "image/png"}
DICE_TOOL = ModelTool("dice__dice", "Roll a dice", {"type": "object"})
HISTORY = (
    Turn(TurnRole.SYSTEM, (TextBlock("Be brief."),)),
    Turn(TurnRole.USER, (TextBlock("roll"),)),
    Turn(
        TurnRole.ASSISTANT, (TextBlock("I roll."), ToolUse("call-1-1", "dice__dice", {"sides": 6}))
    ),
    Turn(TurnRole.USER, (ToolResult("call-1-1", "4", is_error=True),)),
)


class Desk:
    """A person at a desk: another inbox object, as another process would have."""

    def __init__(self, home: Path) -> None:
        """Open the inbox."""
        self.inbox = FolderInbox(home)

    @property
    def session(self) -> str:
        """The session of the model's role."""
        (facts,) = (one for one in self.inbox.sessions() if one.role is Role.MODEL)
        return facts.name

    def waiting(self) -> Item:
        """Return what waits, as soon as something does."""
        (item,) = until(lambda: list(self.inbox.items(self.session)), "a turn in the inbox")
        return item

    def answer(self, text: str, form: TextForm = TextForm.RESULT, *, anyway: bool = False) -> Item:
        """Answer it."""
        item = self.waiting()
        self.inbox.send(item.key, Reply(text, form, anyway=anyway, by="desk"))
        return item


@contextmanager
def seated(home: Path) -> Iterator[tuple[HumanModel, Desk]]:
    """Put a person into the model's role."""
    model = HumanModel(QuestionInbox(FolderInbox(home), Role.MODEL, title="model"))
    try:
        yield model, Desk(home)
    finally:
        model.close()


class Prompted(threading.Thread):
    """The person at the host, who waits for the model."""

    def __init__(self, loop: HostLoop, prompt: str) -> None:
        """Say something to the model."""
        super().__init__(daemon=True)
        self.loop = loop
        self.prompt = prompt
        self.answer = ""
        self.start()

    def run(self) -> None:
        """Wait for its last words."""
        self.answer = self.loop.run(self.prompt)


def test_a_turn_is_put_to_the_person_as_a_sampling_request() -> None:
    """The mapping: messages, systemPrompt and tools, in the shape of 2025-11-25."""
    params = params_of(HISTORY, (DICE_TOOL,))
    assert params["systemPrompt"] == "Be brief."
    assert params["tools"] == [
        {"name": "dice__dice", "description": "Roll a dice", "inputSchema": {"type": "object"}}
    ]
    user, assistant, result = params["messages"]
    assert user == {"role": "user", "content": {"type": "text", "text": "roll"}}
    assert assistant["content"][1]["name"] == "dice__dice"
    assert result["content"] == {
        "type": "tool_result",
        "toolUseId": "call-1-1",
        "content": [{"type": "text", "text": "4"}],
        "isError": True,
    }


def test_the_check_finds_nothing_wrong_with_that_request() -> None:
    """It is an ordinary request of the protocol, so the ordinary check works on it."""
    asked = {"jsonrpc": "2.0", "id": 1, "method": METHOD}
    message = read(json.dumps(asked | {"params": params_of(HISTORY, (DICE_TOOL,))}).encode())
    assert isinstance(message, Message)
    assert check.remarks(message, "2025-11-25", NegotiatedState(initialized=True)) == ()


def test_a_person_plays_the_model_of_the_dice_chat(tmp_path: Path) -> None:
    """Text and a call, then text; without any API key."""
    first = {
        "role": "assistant",
        "content": [
            {"type": "text", "text": "I roll the dice."},
            {"type": "tool_use", "id": "my-1", "name": "dice__dice", "input": {"sides": 1}},
        ],
        "model": "a person",
    }
    with seated(tmp_path) as (model, desk), table(says("unused")) as laid:
        laid.loop.model = model
        host = Prompted(laid.loop, "Please roll")
        item = desk.answer(json.dumps(first))
        shown = json.loads(item.line)["params"]
        assert shown["messages"][0]["content"]["text"] == "Please roll"
        assert [tool["name"] for tool in shown["tools"]] == ["dice__dice"]
        until(lambda: model.person.asked == 2, "the second turn")
        again = json.loads(desk.waiting().line)["params"]["messages"]
        assert again[-1]["content"]["toolUseId"] == "my-1"
        assert again[-1]["content"]["content"] == [{"type": "text", "text": "1"}]
        desk.answer("It shows a one.", TextForm.TEXT)
        host.join(20)
        assert host.answer == "It shows a one."
        states = [one.state for one in desk.inbox.items(desk.session, ExchangeState.ANSWERED)]
        assert states == [ExchangeState.ANSWERED] * 2
    assert desk.inbox.facts(desk.session).life is Life.CLOSED
    assert len(list(desk.inbox.frames(desk.session))) == 4


def test_a_slip_comes_back_with_its_problems(tmp_path: Path) -> None:
    """The same check: broken JSON is refused, kept as the draft, and can be fixed."""
    with seated(tmp_path) as (model, desk), table(says("unused")) as laid:
        laid.loop.model = model
        host = Prompted(laid.loop, "hi")
        item = desk.answer('{"role": "assistant", "content": [}')
        diagnostics = until(lambda: desk.inbox.item(item.key).diagnostics, "the problems")
        assert diagnostics
        assert (desk.inbox.item(item.key).draft or Draft("")).text.startswith('{"role"')
        desk.answer("hello", TextForm.TEXT)
        host.join(20)
        assert host.answer == "hello"


def failing(laid: Table) -> tuple[threading.Thread, list[str]]:
    """Let the host ask its model, which will fail; the reason is added to the list."""
    trouble: list[str] = []

    def prompt() -> None:
        try:
            laid.loop.run("hi")
        except ModelError as error:
            trouble.append(str(error))

    host = threading.Thread(target=prompt)
    host.start()
    return host, trouble


def test_a_person_may_refuse_to_be_the_model(tmp_path: Path) -> None:
    """An error is an error of the model: the loop ends, the history is as before."""
    with seated(tmp_path) as (model, desk), table(says("unused")) as laid:
        laid.loop.model = model
        host, trouble = failing(laid)
        desk.answer('{"code": -1, "message": "no time"}', TextForm.ERROR)
        host.join(20)
        assert trouble == ["no answer from the model: no time"]
        assert laid.loop.history == []


def test_leaving_the_seat_lets_the_host_go_on(tmp_path: Path) -> None:
    """The host does not hang on a person who is gone; what waited is abandoned in the inbox."""
    with table(says("unused")) as laid, seated(tmp_path) as (model, desk):
        laid.loop.model = model
        host, trouble = failing(laid)
        item = desk.waiting()
        model.close()
        host.join(20)
        assert "left without an answer" in trouble[0]
        assert desk.inbox.item(item.key).state is ExchangeState.ABANDONED


def test_an_interrupted_turn_is_taken_out_of_the_inbox(tmp_path: Path) -> None:
    """Ctrl-C at the host: nobody should answer a question that nobody asks any more."""
    with seated(tmp_path) as (model, desk):
        real = model.person.desk.answer

        def interrupted(*arguments: Any) -> None:  # noqa: ANN401 - passed on
            thread = threading.Thread(target=real, args=arguments, daemon=True)
            thread.start()
            desk.waiting()
            raise KeyboardInterrupt

        model.person.desk.answer = interrupted  # type: ignore[method-assign, assignment]  # the interruption is the test
        with pytest.raises(KeyboardInterrupt):
            model.turn(HISTORY[:2], (), lambda _piece: None)
        assert list(desk.inbox.items(desk.session)) == []
        (item,) = desk.inbox.items(desk.session, ExchangeState.CANCELLED)
        assert item.reason == "the host was interrupted"


@pytest.mark.parametrize(
    "line",
    [
        "{}",
        '{"jsonrpc":"2.0","id":1,"result":{"content":{"type":"image"}}}',
        '{"jsonrpc":"2.0","id":1,"result":{"content":[7]}}',
        '{"jsonrpc":"2.0","id":1,"result":{"content":{"type":"tool_use","name":"x","input":[]}}}',
        '{"jsonrpc":"2.0","id":1,"result":[]}',
    ],
)
def test_what_was_sent_anyway_need_not_be_a_turn(line: str) -> None:
    """A deliberate mistake ends the turn with a sentence, not the host with a traceback."""
    with pytest.raises(ModelError):
        said(json.loads(line))


def test_two_turns_of_one_person_do_not_share_ids() -> None:
    """A call without an id gets one of its own."""
    block = use("x")
    response = {"jsonrpc": "2.0", "id": 1, "result": {"content": [block, block]}}
    ids = [call.id for number in (1, 2) for call in said(response, number).calls]
    assert len(set(ids)) == 4


def test_a_turn_is_refused_at_the_desk_before_it_is_sent(tmp_path: Path) -> None:
    """The person reads why, and their next try is taken; the host's user loses nothing."""
    with seated(tmp_path) as (model, desk), table() as laid:
        laid.loop.model = model
        prompted = Prompted(laid.loop, "roll")
        item = desk.answer(f'{{"role":"assistant","model":"x","content":{json.dumps(IMAGE)}}}')
        refused = until(lambda: desk.inbox.item(item.key).diagnostics, "the problem")
        assert [one.code for one in refused] == ["M98"]
        desk.answer("done", TextForm.TEXT)
        prompted.join(20)
        assert prompted.answer == "done"
