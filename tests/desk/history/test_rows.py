"""What a message looks like: rows, fields, steps, pictures, forms, the language."""

import json
from typing import Any

import pytest

from humanmcp.answering import summary
from humanmcp.answering.standing import Standing
from humanmcp.desk import nodes, rendering
from humanmcp.desk.history import rows, search
from humanmcp.desk.inbox import answer_form
from humanmcp.inbox.contract import Draft, Item, Key, Reply, Role, SessionFacts
from humanmcp.protocol.conversation.exchange import NegotiatedState
from humanmcp.protocol.conversation.transcript import Direction, Frame
from humanmcp.protocol.tables.versions import VERSIONS
from tests.support.inbox_folder import permission

FACTS = SessionFacts("s", "")


def item(line: str, method: str = "tools/call", **more: Any) -> Item:  # noqa: ANN401 - its fields
    """Return an exchange that waits."""
    arrived = "2026-11-20T18:49:07.123Z"
    return Item(Key("s", 1), line, method, "7", "2025-11-25", arrived, **more)


CALL = (
    '{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"get_forecast",'
    '"arguments":{"city":"東京","big":9007199254740993,"one":1.0,"huge":1e400,"o":{"a":1}}}}'
)


@pytest.mark.parametrize(
    ("role", "sender"), [(Role.SERVER, "host"), (Role.TAP, "client"), (Role.CLIENT, "you")]
)
def test_a_line_in_comes_from_the_client_in_every_role(role: Role, sender: str) -> None:
    """In the client's role that is the person."""
    line = Frame(1, "2026-11-20T18:49:07.123Z", Direction.IN, CALL.encode())
    assert rows.step("s", summary.Badge("A", 0), line, role).sender == sender


def test_letters_count_like_the_columns_of_a_table() -> None:
    """A to Z, then AA: as the terminal's letters, so that both mean the same session."""
    assert [summary.badge(rank).letter for rank in (0, 25, 26, 27, 701, 702)] == [
        *("A", "Z", "AA", "AB", "ZZ", "AAA")
    ]
    assert {summary.badge(rank).colour for rank in range(50)} == set(range(summary.COLOURS))


def test_a_row_says_which_tool_and_with_what() -> None:
    """The name, and the arguments in a few words."""
    row = summary.row(item(CALL), FACTS)
    assert (row.summary.name, row.method) == ("get_forecast", "tools/call")
    assert row.summary.gist.startswith('city: "東京", big: 9007199254740993')
    assert row.anchor == "s/1"
    assert row.arrived == pytest.approx(1795200547.123)


@pytest.mark.parametrize(
    ("value", "gist"),
    [
        ([], "[]"),
        (["東京"], '["東京"]'),
        ([2, None, True], "[2, null, true]"),
        ([1, [2], {}, 4], "[1, […], {}, …]"),
        ([{"a": 1}], "[{…}]"),
        ([[1], [2]], "[[…] \N{MULTIPLICATION SIGN}2]"),
    ],
)
def test_a_list_among_the_arguments_reads_as_a_list(value: object, gist: str) -> None:
    """`[2]` is a list with the number two in it, not one of two items."""
    assert summary.gist({"second": value}) == f"second: {gist}"


@pytest.mark.parametrize(
    ("method", "params", "gist"),
    [
        ("elicitation/create", {"message": "Which\npart?", "requestedSchema": {}}, "Which\\npart?"),
        ("sampling/createMessage", [{"type": "text", "text": "sunny"}], "sunny"),
        ("sampling/createMessage", {"type": "text", "text": "sunny"}, "sunny"),
        (
            "sampling/createMessage",
            [{"type": "tool_result", "content": [{"type": "text", "text": "cold"}]}],
            "cold",
        ),
        (
            "sampling/createMessage",
            [{"type": "image", "data": ""}],
            "messages: [{…} \N{MULTIPLICATION SIGN}2]",
        ),
        ("sampling/createMessage", {"text": 7}, "messages: [{…} \N{MULTIPLICATION SIGN}2]"),
    ],
)
def test_a_row_says_what_is_asked_of_a_user_or_a_model(
    method: str, params: object, gist: str
) -> None:
    """The question itself, or what was said last."""
    last = {"messages": [{"role": "user", "content": "first"}, {"content": params}]}
    said = params if method == "elicitation/create" else last
    line = json.dumps({"jsonrpc": "2.0", "id": 7, "method": method, "params": said})
    assert summary.row(item(line, method), FACTS).summary.gist == gist


def test_a_row_is_one_line_whatever_came() -> None:
    """Controls and direction marks are code points, and it is cut."""
    evil = '{"id":7,"method":"tools/call","params":{"name":"a\\u202eb\\n","arguments":{"x":"%s"}}}'
    row = summary.row(item(evil % ("y" * 10_000)), FACTS)
    assert row.summary.name == "a⟦U+202E⟧b\\n"
    assert len(row.summary.gist) <= summary.GIST
    assert summary.row(item("not json", "x\u200b"), FACTS).method == "x⟦U+200B⟧"


def test_a_row_of_the_conversation_says_what_a_permission_is_for() -> None:
    """It named the method and the tool that asks."""
    line = permission("Bash", command="rm -r x")
    step = rows.step("s", summary.badge(0), Frame(1, "", Direction.IN, line.encode(), 1))
    assert (step.summary.wants, step.summary.gist) == ("command", "rm -r x")


def test_a_row_says_what_became_of_a_reply() -> None:
    """On its way, and given back."""
    assert summary.row(item(CALL, reply=Reply("a")), FACTS).standing is Standing.SENDING
    assert summary.row(item(CALL, draft=Draft("a", touched=True)), FACTS).touched


def test_numbers_are_shown_as_they_were_written() -> None:
    """What a decoder would round stays what it is."""
    shown = {one.name: (one.text, one.type) for one in nodes.arguments(item(CALL))}
    assert shown["big"] == ("9007199254740993", "number")
    assert shown["one"] == ("1.0", "number")
    assert shown["huge"] == ("1e400", "number")
    assert shown["city"] == ("東京", "text")
    assert shown["o"] == ('{"a": 1}', "object")


def test_a_long_value_is_cut_and_says_so() -> None:
    """A megabyte is not put into the page."""
    line = '{"id":7,"method":"tools/call","params":{"name":"a","arguments":{"x":"%s"}}}'
    (field,) = nodes.arguments(item(line % ("y" * 1_000_000)))
    assert len(field.text) == rendering.LONGEST
    assert field.cut == 1_000_000 - rendering.LONGEST


@pytest.mark.parametrize(
    ("raw", "kind", "word", "gist"),
    [
        (CALL, "request", "tools/call", "city"),
        ('{"method":"notifications/x"}', "notification", "notifications/x", ""),
        ('{"id":1,"result":{"content":[{"type":"text","text":"sunny"}]}}', "result", "", "sunny"),
        ('{"id":1,"error":{"code":-1,"message":"no"}}', "error", "", "-1 no"),
        ("{broken", "malformed", "", "{broken"),
        (f"[{CALL}]", "batch", "", "get_forecast"),
        (" ", "blank", "", ""),
        ('{"id":1,"result":{"tools":[1,2]}}', "result", "", "tools: [1, 2]"),
        ('{"id":1,"result":{"content":7}}', "result", "", "content: 7"),
    ],
)
def test_a_recorded_line_is_a_step(raw: str, kind: str, word: str, gist: str) -> None:
    """Every kind of line has a row in the history."""
    frame = Frame(3, "2026-11-20T18:49:07.123Z", Direction.IN, raw.encode(), 1)
    step = rows.step("s", summary.badge(0), frame)
    assert (step.kind, step.word) == (kind, word)
    assert gist in step.summary.gist
    assert step.inwards


def test_a_note_is_a_step_without_an_arrow() -> None:
    """What the recording process said is in the history and not in the picture."""
    note = rows.step("s", summary.badge(0), Frame(1, "", Direction.NOTE, b"", note="began"))
    assert note.summary.gist == "began"
    assert rows.draw([note], 0)["arrows"] == []


def test_the_picture_has_an_arrow_a_line_in_its_direction() -> None:
    """In goes right, out goes left, the exchange at hand is marked, older ones are counted."""
    frames = [
        Frame(at, "", Direction.IN if at % 2 else Direction.OUT, CALL.encode(), (at + 1) // 2)
        for at in range(1, 41)
    ]
    drawn = rows.draw([rows.step("s", summary.badge(0), frame) for frame in frames], 20)
    assert drawn["more"] == 40 - len(drawn["arrows"])
    for arrow in drawn["arrows"]:
        assert (arrow["head"] > arrow["tail"]) == arrow["step"].inwards
    assert [arrow["step"].number for arrow in drawn["arrows"] if arrow["current"]] == [20, 20]


def test_an_answer_says_what_it_answers() -> None:
    """By its id, its direction and its session: ids come again, and both sides count their own."""
    lines = [
        (
            "s",
            Direction.IN,
            '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"dice"}}',
        ),
        ("t", Direction.IN, '{"jsonrpc":"2.0","id":1,"method":"ping"}'),
        ("s", Direction.OUT, '{"jsonrpc":"2.0","id":1,"method":"roots/list"}'),
        ("s", Direction.IN, '{"jsonrpc":"2.0","id":1,"result":{"roots":[]}}'),
        ("s", Direction.OUT, '{"jsonrpc":"2.0","id":"1","result":{}}'),
        ("s", Direction.OUT, '{"jsonrpc":"2.0","id":1,"result":{}}'),
        ("s", Direction.OUT, '{"jsonrpc":"2.0","id":1,"result":{}}'),
        ("t", Direction.OUT, '{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"no"}}'),
    ]
    steps = [
        rows.step(session, summary.badge(0), Frame(seq, "", direction, line.encode()))
        for seq, (session, direction, line) in enumerate(lines, 1)
    ]
    assert [step.answers for step in rows.paired(steps)] == [
        *("", "", "", "roots/list", "", "dice", "", "ping")
    ]


def test_a_search_has_words_and_names() -> None:
    """What has no meaning as a name is a word."""
    query = search.parse("Sunny method:tools/call x:y STATE:answered tool:")
    assert query.words == ("sunny", "x:y", "tool:")
    assert (query.method, query.state, query.tool) == ("tools/call", "answered", "")
    assert search.parse("  ").empty


@pytest.mark.parametrize(
    ("typed", "words", "tool"),
    [
        ('"Rain in" Tokyo', ("rain in", "tokyo"), ""),
        ('tool:"my tool" x', ("x",), "my tool"),
        ('"id":7 "never closed', ('"id":7', '"never', "closed"), ""),
        ('id: http://x:1 "a b', ("id:", "http://x:1", '"a', "b"), ""),
    ],
)
def test_a_search_may_have_phrases(typed: str, words: tuple[str, ...], tool: str) -> None:
    """In quotes; what is copied from a message is taken as it stands."""
    query = search.parse(typed)
    assert (query.words, query.tool) == (words, tool)


def test_a_tool_brings_its_own_form() -> None:
    """From its outputSchema; for anything else that it declares, the parts of an answer."""
    good = {"type": "object", "properties": {"a": {"type": "string"}}}
    for schema, there in ((good, True), ({"type": "string"}, False), (None, False), ("x", False)):
        negotiated = NegotiatedState(tools={"get_forecast": {"outputSchema": schema}})
        found = answer_form.form_of(item(CALL), negotiated, "get_forecast")
        assert found is not None
        own = ("/result/structuredContent", True)
        assert (found.pointer, found.mirror) == (own if there else ("/result", False))
    huge = {"type": "object", "properties": {str(n): {"type": "string"} for n in range(20_000)}}
    negotiated = NegotiatedState(tools={"get_forecast": {"outputSchema": huge}})
    for known in (negotiated, NegotiatedState()):
        found = answer_form.form_of(item(CALL), known, "get_forecast")
        assert found is not None
        assert found.pointer == "/result"


def test_the_answers_that_people_write_have_a_form() -> None:
    """Server info, tools, resources and prompts; a ping has nothing to fill in."""
    for method in ("initialize", "tools/list", "resources/list", "prompts/list", "resources/read"):
        found = answer_form.form_of(item("{}", method), NegotiatedState(), "")
        assert found is not None
        assert found.pointer == "/result"
    assert answer_form.form_of(item("{}", "ping"), NegotiatedState(), "") is None


@pytest.mark.parametrize(
    ("method", "begun"),
    [
        ("tools/list", {"name": "", "inputSchema": {"type": "object"}}),
        ("prompts/get", {"role": "user", "content": {"type": "text", "text": ""}}),
        ("sampling/createMessage", {"type": "text", "text": ""}),
    ],
)
def test_what_is_added_to_a_list_of_a_form_begins_as_the_check_wants_it(
    method: str, begun: dict[str, Any]
) -> None:
    """A tool has a schema that is an object, a message and a part have a type."""
    form = answer_form.form_of(item("{}", method), NegotiatedState(), "")
    assert form is not None
    (item_field,) = [one.item for one in form.field.fields if one.item]
    assert json.loads(item_field.blank) == begun


def test_a_form_begins_with_what_is_usual_and_needs_what_every_answer_has() -> None:
    """A prompt's message is the user's first; what a resource holds may be text or a `blob`."""
    prompt = answer_form.form_of(item("{}", "prompts/get"), NegotiatedState(), "")
    assert prompt is not None
    messages = prompt.field.fields[1].item
    assert messages is not None
    assert [title for _value, title in messages.fields[0].choices] == ["user", "assistant"]
    resource = answer_form.form_of(item("{}", "resources/read"), NegotiatedState(), "")
    assert resource is not None
    contents = resource.field.fields[0].item
    assert contents is not None
    assert [(one.name, one.needed) for one in contents.fields] == [
        ("uri", True),
        ("mimeType", False),
        ("text", False),
        ("_meta", False),
        ("blob", False),
    ]


@pytest.mark.parametrize("version", VERSIONS)
def test_a_prompt_s_message_has_the_content_of_its_version(version: str) -> None:
    """A link came in 2025-06-18; a resource has fields in every version, however deep it is."""
    asked = item("{}", "prompts/get")._replace(protocol_version=version)
    form = answer_form.form_of(asked, NegotiatedState(), "")
    assert form is not None
    message = form.field.fields[1].item
    assert message is not None
    arms = {one.name: one for one in message.fields[1].arms}
    assert ("resource_link" in arms) is (version >= "2025-06-18")
    (resource,) = arms["resource"].fields
    rare = ["json"] if version >= "2025-06-18" else []  # _meta
    assert [one.kind for one in resource.fields] == ["text", "text", "long", *rare, "media"]


def test_the_language_is_chosen_in_order() -> None:
    """The address, what was chosen before, the setting, the browser, English."""
    choose = rendering.language_of
    assert choose("ja", "en", "en") == "ja"
    assert choose("xx", "ja", "en") == "ja"
    assert choose("", "", "en", "ja") == "ja"
    assert choose("", "", "fr-FR, ja;q=0.8, en;q=0.5") == "ja"
    assert choose("", "", "fr") == "en"


def test_the_scripts_have_every_sentence_in_both_languages() -> None:
    """The same codes, but for a wording for one: Japanese has none, and borrows none of English."""
    english, japanese = (rendering.for_scripts(language) for language in ("en", "ja"))
    assert {one.removesuffix(" one") for one in english} == japanese.keys()
