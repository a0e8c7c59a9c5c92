"""An entry of a server definition as a form, and lists that one was put into."""

import json
from typing import Any

import pytest

from humanmcp.extensions.books import server_definition
from humanmcp.extensions.books.server_definition import entry_of, fields_of
from humanmcp.locales.stop import StopError
from humanmcp.protocol.answer_book.own_tools import ASK_TOOL
from humanmcp.protocol.conversation.exchange import NegotiatedState

PROMPT = {
    "name": "greet",
    "description": "Greets",
    "arguments": [{"name": "who", "description": "Whom", "required": True}, {"name": "how"}],
}
RESOURCE = {"uri": "file:///a", "name": "a", "mimeType": "text/plain", "size": 3}
TOOL = {
    **ASK_TOOL,
    "outputSchema": {"type": "object", "properties": {"sky": {"type": "string"}}},
    "_meta": {"ours": 1},
}


@pytest.mark.parametrize(
    ("member", "entry"), [("tools", TOOL), ("prompts", PROMPT), ("resources", RESOURCE)]
)
def test_a_form_that_is_sent_as_it_is_changes_nothing(member: str, entry: dict[str, Any]) -> None:
    """Also what no field shows stays."""
    assert entry_of(fields_of(entry, member), member) == entry


def test_check_boxes_say_what_differs_from_what_mcp_takes_for_granted() -> None:
    """A hint is written where it says something."""
    values = fields_of({"name": "a", "inputSchema": {"type": "object"}}, "tools")
    assert "annotations" not in entry_of(values, "tools")
    values |= {"readOnlyHint": "on"}
    del values["destructiveHint"]
    hints = entry_of(values, "tools")["annotations"]
    assert hints == {"readOnlyHint": True, "destructiveHint": False}


def test_what_rows_cannot_show_is_written_as_json() -> None:
    """The whole entry stands in one box."""
    odd = {"name": "a", "inputSchema": {"type": "object", "properties": {"x": {"oneOf": []}}}}
    values = fields_of(odd, "tools")
    assert json.loads(values["text"]) == odd
    assert entry_of(values, "tools") == odd


@pytest.mark.parametrize("values", [{"text": "{"}, {"text": "[]"}, {"name": ""}])
def test_what_can_not_be_offered_is_told(values: dict[str, str]) -> None:
    """No JSON, no object, no name."""
    with pytest.raises(StopError):
        entry_of(values, "tools")


def test_a_changed_entry_stays_in_its_place_and_a_new_one_comes_last() -> None:
    """Also where its name changes."""
    lists: server_definition.Lists = {"tools": ({"name": "a"}, {"name": "b"})}
    renamed = server_definition.with_entry(lists, "tools", {"name": "c"}, "a")
    assert [one["name"] for one in renamed["tools"]] == ["c", "b"]
    added = server_definition.with_entry(lists, "tools", {"name": "c"}, "")
    assert [one["name"] for one in added["tools"]] == ["a", "b", "c"]
    assert server_definition.with_entry(lists, "tools", None, "a")["tools"] == ({"name": "b"},)


def test_an_order_takes_out_whatever_is_not_in_the_list() -> None:
    """Also what was typed into an answer, and what every book offers."""
    before = {**server_definition.of_session(NegotiatedState()), "tools": ({"name": "typed"},)}
    after = {**before, "tools": ({"name": "new"},)}
    known = NegotiatedState(tools={"typed": {"name": "typed"}})
    change = json.loads(server_definition.change(before, after, known))
    assert change["remove"]["tools"] == ["ask_human", "typed"]
    assert change["add"] == {"tools": [{"name": "new"}]}


def test_an_answer_keeps_every_byte_around_its_list() -> None:
    """Numbers as they were typed, members in their order, other entries too."""
    text = '{"id":1.0,"result":{"x":1e5,"tools":[{"name":"a","n":1.0}],"_meta":{}}}'
    found = server_definition.drafted(text, "tools")
    written = found.with_entries([*found.entries, {"name": "b"}])
    assert "".join(written.split()) == text.replace('"n":1.0}]', '"n":1.0},{"name":"b"}]').replace(
        " ", ""
    )
    for broken in ("{", '{"id":1}', '{"result":{"tools":{}}}'):
        with pytest.raises(StopError):
            server_definition.drafted(broken, "tools")
