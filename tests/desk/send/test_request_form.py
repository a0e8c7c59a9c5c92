"""What a person in the client's seat may ask of a server, as forms."""

import json
from typing import Any

from humanmcp.desk.send.request_form import RequestForm, lists_of, picked_forms, tool_form
from humanmcp.protocol.conversation.transcript import Direction, Frame


def filled(form: RequestForm, **typed: str) -> str:
    """Return the message of a form with these fields."""
    message = {"jsonrpc": "2.0", "id": 1, "method": form.method, "params": dict(form.params)}
    values = {f"field {name}": text for name, text in typed.items()}
    return form.filled(json.dumps(message, indent=2), values)


def test_what_was_typed_goes_into_the_call_as_it_is() -> None:
    """Words get quotes, numbers stay as they were written, what is left out is left out."""
    properties = {name: {"type": kind} for name, kind in (("n", "number"), ("s", "string"))}
    schema = {"type": "object", "properties": {**properties, "o": {}}, "required": ["s"]}
    form = tool_form("t", {"inputSchema": schema})
    text = filled(form, n="1.0", s='say "hi"')
    assert '"n": 1.0' in text
    assert json.loads(text)["params"] == {"name": "t", "arguments": {"n": 1.0, "s": 'say "hi"'}}
    assert json.loads(filled(form))["params"]["arguments"] == {"s": ""}
    assert "oops" in filled(form, o="{oops"), "what is no JSON is the check's to name"
    assert tool_form("t", {"inputSchema": 7}).fields == ()


def test_prompts_and_resources_are_picked_from_the_last_lists() -> None:
    """The arguments of a prompt, an address, and the names in a template of addresses."""

    def said(seq: int, result: dict[str, Any]) -> Frame:
        line = json.dumps({"jsonrpc": "2.0", "id": seq, "result": result}).encode()
        return Frame(seq, "", Direction.OUT, line)

    lists = lists_of(
        [
            said(3, {"prompts": [{"name": "greet", "arguments": [{"name": "who"}, 7]}, 7]}),
            said(2, {"resources": [{"uri": "file:///a"}]}),
            said(2, {"resourceTemplates": [{"uriTemplate": "db://{table}/{+row}"}]}),
            said(1, {"prompts": [{"name": "old"}]}),
        ]
    )
    greet, read, template = picked_forms(lists)
    assert json.loads(filled(greet, who="you"))["params"]["arguments"] == {"who": "you"}
    assert (read.params, read.fields) == ({"uri": "file:///a"}, ())
    assert json.loads(filled(template, table="t", row="1"))["params"] == {"uri": "db://t/1"}


def test_a_template_is_expanded_by_its_operators_and_holds_any_letter() -> None:
    """RFC 6570, as in the terminal; a name of a query that is empty is left out."""
    listed = {"resourceTemplates": [{"uriTemplate": "db://表/{table}{?from,to}"}]}
    (form,) = picked_forms(listed)
    assert [(one.name, one.needed) for one in form.fields] == [
        ("table", True),
        ("from", False),
        ("to", False),
    ]
    message = json.dumps({"params": dict(form.params)}, ensure_ascii=False)
    text = form.filled(message, {"field table": "a b", "field to": "9"})
    assert json.loads(text)["params"] == {"uri": "db://表/a%20b?to=9"}
