"""The beginnings that a person in the model's seat is offered at the desk."""

import json

import pytest

from humanmcp.desk.inbox.answer_form import MOST_STARTING_POINTS, chosen, form_of, starts_of
from humanmcp.inbox.contract import Item, Key
from humanmcp.protocol.conversation.exchange import Exchange, NegotiatedState
from humanmcp.protocol.json.jsonrpc import Message, read
from humanmcp.protocol.validation import check


def asked(method: str = "sampling/createMessage", **params: object) -> Exchange:
    """Make the exchange of one request."""
    turn = {"messages": [{"role": "user", "content": {"type": "text", "text": "hi"}}]}
    body = {"jsonrpc": "2.0", "id": 3, "method": method, "params": {**turn, **params}}
    message = read(json.dumps(body).encode())
    assert isinstance(message, Message)
    return Exchange(1, message, "2025-11-25")


DICE = {"name": "dice__dice", "description": "Roll", "inputSchema": {"type": "object"}}


def test_a_turn_begins_with_words_or_with_one_of_the_tools() -> None:
    """Each beginning is a whole message that names the tool; its form fills in the input."""
    say, call = starts_of(asked(tools=[DICE]))
    assert (say.tool, call.tool) == ("", "dice__dice")
    assert say.form.pointer == "/result/content"
    assert call.form.pointer == "/result/content/input"
    assert call.form.schema == {"type": "object"}
    assert json.loads(call.document)["result"]["content"]["id"] == "call-3"


def test_every_beginning_passes_the_check() -> None:
    """What a button writes can be sent once it is filled in."""
    exchange = asked(tools=[DICE], maxTokens=10)
    for start in starts_of(exchange):
        assert check.check(exchange, start.document).errors == ()


def test_a_document_goes_back_to_its_beginning() -> None:
    """After a reload the form is that of the tool that is being called."""
    starts = starts_of(asked(tools=[DICE]))
    assert [chosen(starts, one.document) for one in starts] == list(starts)
    for text in ("{", "[]", "{}", '{"result":{"content":[]}}', '{"result":{"content":7}}'):
        assert chosen(starts, text) is None


@pytest.mark.parametrize(
    "exchange",
    [asked(), asked(tools=[]), asked(tools="x"), asked("tools/call", tools=[DICE])],
)
def test_where_no_tool_is_offered_there_is_nothing_to_choose(exchange: Exchange) -> None:
    """The ordinary form is enough."""
    assert starts_of(exchange) == ()


def test_what_came_over_the_wire_may_be_anything() -> None:
    """Tools without a name, schemas that are none, and more tools than a page can hold."""
    odd = [7, {"name": 1}, {"name": "a", "inputSchema": 7}]
    _say, call = starts_of(asked(tools=odd))
    assert call.form.schema == {}
    many = [{"name": f"t{number}"} for number in range(100)]
    assert len(starts_of(asked(tools=many))) == MOST_STARTING_POINTS + 1


def test_the_terminal_has_the_same_beginnings() -> None:
    """`humanmcp answer N --template "call dice__dice"`."""
    exchange = asked(tools=[DICE])
    _say, call = starts_of(exchange)
    assert check.templates(exchange)["call dice__dice"] == call.document


@pytest.mark.parametrize("schema", [{"type": "object", "properties": {"name": {}}}, 7, None])
def test_what_a_server_asks_its_user_is_a_form(schema: object) -> None:
    """An elicitation: what the user decides, and the fields that the server wants."""
    line = asked("elicitation/create", requestedSchema=schema).request.raw
    item = Item(Key("s", 1), line, "elicitation/create", "3", "2025-11-25", "")
    form = form_of(item, NegotiatedState(), "")
    assert form is not None
    assert form.pointer == "/result"
    fields = form.schema["properties"]
    decisions = [(one["const"], one["title"]) for one in fields["action"]["oneOf"]]
    assert [what for what, _words in decisions] == ["accept", "decline", "cancel"]
    assert decisions[1] == ("decline", "Decline")
    wanted = {"title": "Your answer", **schema} if isinstance(schema, dict) else None
    assert fields.get("content") == wanted
