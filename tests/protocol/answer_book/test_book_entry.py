"""What a rule of the answer book is meant for, and what it says, call after call."""

import json
import tomllib
from pathlib import Path
from typing import Any, Final

import pytest

from humanmcp.common.book_file import BookFileError, parse_book
from humanmcp.protocol.answer_book.book import Book
from humanmcp.protocol.answer_book.book_entry import BookEntry, arguments_of, gaps_filled
from humanmcp.protocol.answer_book.book_format import parse
from humanmcp.protocol.answer_book.decide import decide
from humanmcp.protocol.answer_book.decision import Decision
from humanmcp.protocol.answer_book.following import (
    MOST_RECORDS,
    BookMemory,
    Retry,
    is_signed,
    read_state,
    write_state,
)
from humanmcp.protocol.answer_book.placeholders import fill, fill_answer, fill_text, placeholders
from humanmcp.protocol.conversation.exchange import Exchange, NegotiatedState
from humanmcp.protocol.diagnostics.model import TextForm
from tests.support.speaking import said_in
from tests.support.verdicts import R2025, R2026, asked, stating

SECRET = b"secret"


def book(text: str) -> Book:
    """Read a book from TOML."""
    return parse(tomllib.loads(text))


def call(
    tool: str = "greet",
    version: str = R2025,
    client: Any = None,  # noqa: ANN401 - any JSON value
    arguments: Any = None,  # noqa: ANN401 - any JSON value
    **more: Any,  # noqa: ANN401 - any JSON value
) -> Exchange:
    """Make a call of a tool."""
    meta = {"_meta": stating(client)} if version == R2026 else {}
    params = {"name": tool, "arguments": arguments or {}, **meta, **more}
    return asked("tools/call", params, version=version)


def said(
    text: str,
    exchange: Exchange,
    *,
    used: dict[int, int] | None = None,
    memory: BookMemory | None = None,
) -> Decision:
    """Decide by a book of these rules."""
    memory = memory or BookMemory(SECRET, used=used)
    return decide(exchange, book(text), NegotiatedState(), memory=memory)


# -- values -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("answer", "is_filled"),
    [
        ('text = "sunny"', False),
        ('text = "{} and {"', True),
        ('text = "{city}"', True),
        ('result = {content = [{type = "text", text = "{city}"}]}', True),
        ('result = {content = [{type = "text", text = "sunny"}], _meta = {}}', False),
        ('text = "sunny"\n[[rules.notify]]\nlog = "{city}"', True),
    ],
)
def test_a_rule_without_placeholders_is_told_when_the_book_is_read(
    answer: str, is_filled: object
) -> None:
    """Nothing is looked for in its answer when a call comes."""
    decision = said(f"[[rules]]\n{answer}\n", call(arguments={"city": "Oslo"}))
    assert (decision.values is not None) is is_filled


@pytest.mark.parametrize(
    ("template", "filled"),
    [
        ("It is {sky} in {city}.", "It is grey in Oslo."),
        ("{where.street} {list.1} {list}", 'Main b ["a", "b"]'),
        ("{n} degrees", "3 degrees"),
        ('{nobody} {} {"sky"} {list.7} {{sky}}', '{nobody} {} {"sky"} {list.7} {grey}'),
    ],
)
def test_a_text_is_filled_from_the_arguments(template: str, filled: str) -> None:
    """What the request does not have stays as it is written: braces are no mistake."""
    arguments = {"sky": "grey", "city": "Oslo", "where": {"street": "Main"}, "n": 3}
    arguments["list"] = ["a", "b"]
    rule = f"[[rules]]\ntool = 'greet'\ntext = '''{template}'''"
    assert said(rule, call(arguments=arguments)).text == filled
    assert said(f"{rule}\nfill = false", call(arguments=arguments)).text == template


def test_a_value_keeps_its_type_where_it_stands_alone_in_a_result() -> None:
    """Nested, too; a value is filled once, whatever stands in it."""
    rule = """
    [[rules]]
    tool = "greet"
    result = { content = [{ type = "text", text = "{n}!" }], structuredContent = { n = "{n}" } }
    """
    found = json.loads(said(rule, call(arguments={"n": 3})).text)
    assert found == {"content": [{"type": "text", "text": "3!"}], "structuredContent": {"n": 3}}
    found = json.loads(said(rule, call(arguments={"n": "{n}"})).text)
    assert found["structuredContent"] == {"n": "{n}"}


def test_a_result_says_what_every_result_of_its_version_says() -> None:
    """One book for both eras: nothing of it has to be written twice."""
    rule = "[[rules]]\ntool = 'greet'\nresult = { content = [] }"
    assert json.loads(said(rule, call()).text) == {"content": []}
    modern = json.loads(said(rule, call(version=R2026)).text)
    assert (modern["resultType"], modern["content"]) == ("complete", [])
    typed = "[[rules]]\ntool = 'greet'\nresult = { resultType = 'odd', content = [] }"
    assert json.loads(said(typed, call(version=R2026)).text)["resultType"] == "odd"


# -- conditions ---------------------------------------------------------------------------------


def test_an_address_is_matched_by_a_template_and_gives_its_parts() -> None:
    """`{id}` is no slash; the address itself is a value, too."""
    rules = """
    [[rules]]
    resource = "test://{kind}/{id}/data"
    result = { contents = [{ uri = "{uri}", text = "{kind}: {id}" }] }
    [[rules]]
    resource = "test://{+rest}"
    result = { contents = [{ uri = "{uri}", text = "all of {rest}" }] }
    """
    for uri, text in (("test://a/1/data", "a: 1"), ("test://a/1/2/data", "all of a/1/2/data")):
        found = json.loads(said(rules, asked("resources/read", {"uri": uri})).text)
        assert found["contents"] == [{"uri": uri, "text": text}]
    assert said(rules, asked("resources/read", {"uri": "other://a"})).after is None


def test_a_prompt_is_no_tool_of_the_same_name() -> None:
    """`tool` means either where the method says which."""
    rules = "[[rules]]\nprompt = 'greet'\nresult = { messages = [] }"
    assert said(rules, call()).after is None
    assert said(rules, asked("prompts/get", {"name": "greet"})).entry == 0


def test_a_rule_may_ask_for_what_the_client_has_declared() -> None:
    """In 2026-07-28 the request says it, before that the handshake."""
    rules = "[[rules]]\ntool = 'greet'\nclient_has = ['sampling.tools']\ntext = 'a'"
    assert said(rules, call(version=R2026, client={"sampling": {"tools": {}}})).entry == 0
    assert said(rules, call(version=R2026, client={"sampling": {}})).after is None
    negotiated = NegotiatedState(client_capabilities={"sampling": {"tools": {}}})
    assert decide(call(), book(rules), negotiated).entry == 0
    assert said(rules, call()).after is None


def test_a_retry_can_be_told_by_what_it_carries() -> None:
    """A question back to the user by hand: `inputResponses` and `requestState` as on the wire."""
    rules = """
    [[rules]]
    tool = "greet"
    requestState = "one"
    inputResponses = { ok = { action = "accept" } }
    text = "accepted"
    [[rules]]
    tool = "greet"
    inputResponses = true
    text = "something else"
    [[rules]]
    tool = "greet"
    requestState = false
    result = { resultType = "input_required", requestState = "one" }
    """
    accepted = {"ok": {"action": "accept", "content": {"a": 1}}, "more": 1}
    for more, text in (
        ({"requestState": "one", "inputResponses": accepted}, "accepted"),
        ({"requestState": "two", "inputResponses": accepted}, "something else"),
        ({"inputResponses": {"ok": {"action": "decline"}}}, "something else"),
    ):
        assert said(rules, call(version=R2026, **more)).text == text
    first = json.loads(said(rules, call(version=R2026)).text)
    assert (first["resultType"], first["requestState"]) == ("input_required", "one")
    assert said(rules, call(version=R2026, requestState="three")).after is None


# -- counts -------------------------------------------------------------------------------------


def test_the_first_call_gets_one_answer_and_the_next_another() -> None:
    """The last `then` is for all that follow; with `cycle` it begins again."""
    rules = """
    [[rules]]
    tool = "greet"
    text = "one"
    [[rules.then]]
    tool_error = "two"
    after = 1
    [[rules.then]]
    text = "three"
    """
    texts = [said(rules, call(), used={0: count}).text for count in range(5)]
    assert texts == ["one", "two", "three", "three", "three"]
    second = said(rules, call(), used={0: 1})
    assert (second.form, second.after) == (TextForm.TOOL_ERROR, 1.0)
    again = rules.replace("[[rules.then]]", "cycle = true\n[[rules.then]]", 1)
    texts = [said(again, call(), used={0: count}).text for count in range(5)]
    assert texts == ["one", "two", "three", "one", "two"]


def test_a_rule_for_one_call_leaves_the_next_to_the_rules_below() -> None:
    """`once` is `times = 1`."""
    rules = "[[rules]]\ntool = 'greet'\nonce = true\ntext = 'a'\n[[rules]]\ntext = 'b'"
    assert [said(rules, call(), used={0: count}).text for count in range(2)] == ["a", "b"]


# -- records -------------------------------------------------------------------------------------

ORDERS = """
[[rules]]
tool = "order"
key = "{new}"
keep = { dish = "{dish}", state = "in the oven" }
text = "{new}"
[[rules]]
tool = "fetch"
key = "{order}"
kept = { state = "in the oven" }
keep = { state = "ready" }
text = "wait"
[[rules]]
tool = "fetch"
key = "{order}"
kept = true
text = "{kept.dish}"
[[rules]]
tool = "menu"
kept = false
keep = { seen = true }
text = "a menu"
[[rules]]
tool = "menu"
key = ""
kept = { seen = true }
text = "again at {now}?"
[[rules]]
method = "tasks/list"
result = { tasks = "{records}" }
[[rules]]
text = "none such"
"""


def test_what_a_rule_keeps_decides_which_rule_is_meant_later_and_what_it_says() -> None:
    """Each key has its record; one that was not answered has kept nothing."""
    memory = BookMemory(SECRET, lambda: "noon")

    def played(exchange: Exchange) -> str:
        found = said(ORDERS, exchange, memory=memory)
        memory.keep(found)
        return found.text

    pizza, soup = (
        played(call("order", arguments={"dish": dish})._replace(number=number))
        for number, dish in enumerate(("pizza", "soup"), 1)
    )
    assert (len(pizza), pizza != soup) == (24, True)
    fetch = call("fetch", arguments={"order": pizza})
    assert [said(ORDERS, fetch, memory=memory).text for _ in range(2)] == ["wait", "wait"]
    assert [played(fetch) for _ in range(3)] == ["wait", "pizza", "pizza"]
    assert played(call("fetch", arguments={"order": soup})) == "wait"
    assert played(call("fetch", arguments={"order": "{new}"})) == "none such"
    assert json.loads(played(asked("tasks/list", {})))["tasks"] == [
        {"dish": "pizza", "state": "ready"},
        {"dish": "soup", "state": "ready"},
    ]
    assert [played(call("menu")) for _ in range(2)] == ["a menu", "again at noon?"]
    memory.clear()
    assert played(fetch) == "none such"


def test_a_rule_keeps_what_its_questions_brought_and_an_argument_comes_before_a_new_value() -> None:
    """And as many records as there is room for."""
    memory = BookMemory(SECRET)
    given = call(version=R2026, client={"elicitation": {}}, inputResponses={"who": {"a": 1}})
    found = said(ASKS.replace("text =", "keep = { by = '{who.a}' }\ntext ="), given, memory=memory)
    assert (found.key, found.keep) == ("", {"by": 1})
    own = "[[rules]]\ntool = 'greet'\nkey = '{now}'\nkeep = { a = '{now}', b = '{no}' }\ntext = ''"
    for number in range(MOST_RECORDS + 1):
        memory.keep(said(own, call(arguments={"now": str(number)}), memory=memory))
    assert len(memory.records) == MOST_RECORDS
    assert memory.records.popitem() == (str(MOST_RECORDS), {"a": str(MOST_RECORDS), "b": "{no}"})
    assert "0" not in memory.records


def test_an_answer_to_a_later_call_knows_the_gaps_of_the_address_and_the_record() -> None:
    """What stands in `then` is the same rule, which does something else."""
    rules = """
    [[rules]]
    resource = "note://{id}"
    key = "{id}"
    result = { contents = [] }
    [[rules.then]]
    result = { contents = ["{id}", "{kept}"] }
    """
    read = asked("resources/read", {"uri": "note://7"})
    found = said(rules, read, used={0: 1})
    assert json.loads(found.text)["contents"] == ["7", {}]


def test_a_text_of_a_rule_goes_out_with_its_own_characters() -> None:
    """Also where what every result of 2026-07-28 carries is added to it."""
    rules = "[[rules]]\ntool = 'greet'\n[[rules.then]]\nresult = { content = ['東京'] }"
    later = said(rules + "\n[rules.result]\ncontent = ['大阪']", call(version=R2026), used={0: 1})
    assert "東京" in later.text
    assert '"resultType"' in later.text


def test_a_name_of_a_capability_may_have_dots_in_it() -> None:
    """Those of extensions do."""
    rules = "[[rules]]\nclient_has = ['extensions.io.example/a']\ntext = 'a'\n[[rules]]\ntext = 'b'"
    declared: tuple[Any, ...] = ({"io.example/a": {}}, {"io": {"example/a": {}}}, {"io.b": {}}, [])
    calls = [call(version=R2026, client={"extensions": one}) for one in declared]
    assert [said(rules, one).entry for one in calls] == [0, 1, 1, 1]


# -- questions ----------------------------------------------------------------------------------

ASKS = """
[[rules]]
tool = "greet"
text = "{greeting} {who.content.name}"
once = true
notify = [{ log = "asking" }]
[rules.ask.who]
method = "elicitation/create"
params = { message = "Who, {greeting}?", requestedSchema = { type = "object", properties = {} } }
"""


def test_a_question_is_a_request_before_2026_and_a_result_since() -> None:
    """One rule for both: what is filled is filled when it is known."""
    negotiated = NegotiatedState(client_capabilities={"elicitation": {}})
    old = decide(call(arguments={"greeting": "Hi"}), book(ASKS), negotiated)
    assert (old.ask[0]["who"].method, old.text) == (
        "elicitation/create",
        "{greeting} {who.content.name}",
    )
    assert old.answered({"who": {"content": {"name": "Ann"}}}).text == "Hi Ann"
    client: dict[str, Any] = {"elicitation": {}}
    given = {"greeting": "Hi"}
    first = said(ASKS, call(version=R2026, client=client, arguments=given))
    result = json.loads(first.text)
    assert result["inputRequests"]["who"]["params"]["message"] == "Who, Hi?"
    assert (first.counts, len(first.notices)) == (True, 1)
    retry = call(
        version=R2026,
        client=client,
        arguments=given,
        inputResponses={"who": {"content": {"name": "Ann"}}},
        requestState=result["requestState"],
    )
    last = said(ASKS, retry, used={0: 1})  # it goes on with the rule, which is used up for others
    assert (last.text, last.counts, last.notices) == ("Hi Ann", False, ())


def test_a_result_of_a_rule_says_what_each_of_2026_says_unless_it_asks_back() -> None:
    """Who answers, and that it is complete; what asks back is left as the rule has it."""
    rule = "[[rules]]\ntool = 'greet'\nresult = {inputRequests = {a = {}}}"
    asks_back = said(rule, call(version=R2026))
    assert json.loads(asks_back.text) == {"inputRequests": {"a": {}}}
    whole = json.loads(said(rule.replace("inputRequests", "x"), call(version=R2026)).text)
    assert (whole["resultType"], whole["x"]) == ("complete", {"a": {}})
    assert json.loads(said(rule, call()).text) == {"inputRequests": {"a": {}}}
    for_all = rule.replace("tool = 'greet'", "method = 'tools/list'")
    listed = said(for_all, asked("tools/list", {"_meta": stating()}, version=R2026))
    assert json.loads(listed.text)["resultType"] == "complete"


def test_a_rule_that_is_switched_off_is_meant_for_nothing() -> None:
    """`on = false` keeps it in the file."""
    rules = "[[rules]]\ntool = 'greet'\ntext = 'a'\non = false\n[[rules]]\ntext = 'b'"
    assert said(rules, call()).text == "b"


@pytest.mark.parametrize(
    ("more", "plain", "remembers"),
    [
        ("text = 'a'", True, False),
        ("do = 'hold'", True, False),
        ("text = 'a'\nfault = 'wrong-id'", False, False),
        ("text = 'a'\nnotify = [{log = 'x'}]", False, False),
        ("text = 'a'\nask = [{q = {method = 'roots/list'}}]", False, False),
        ("text = 'a'\nadd = {tools = [{name = 'w'}]}", False, False),
        ("text = '{records}'", False, True),
    ],
)
def test_a_rule_knows_whether_it_does_more_than_answer(
    more: str, *, plain: bool, remembers: bool
) -> None:
    """What is said before, asked, changed, broken or kept."""
    (rule,) = book(f"[[rules]]\ntool = 'greet'\n{more}").entries
    assert (rule.is_plain, rule.remembers) == (plain, remembers)


def test_a_state_is_of_no_use_to_anyone_who_changes_it() -> None:
    """MCP: servers "MUST treat `requestState` as an attacker-controlled input"."""
    first = said(ASKS, call(version=R2026, client={"elicitation": {}}))
    state = json.loads(first.text)["requestState"]
    body, _, signature = state.partition(".")
    given = {"who": {"content": {"name": "Ann"}}}
    changed = ASKS.replace("Who,", "Who else,")
    for brought, rules, secret in (
        (f"{body}.{signature[::-1]}", ASKS, SECRET),
        (f"{body}A.{signature}", ASKS, SECRET),
        (state, ASKS, b"another"),
        (state, changed, SECRET),
        ("", ASKS, SECRET),
        ("WzAsMF0=.x", ASKS, SECRET),
    ):
        retry = call(
            version=R2026, client={"elicitation": {}}, inputResponses=given, requestState=brought
        )
        found = decide(retry, book(rules), NegotiatedState(), memory=BookMemory(secret))
        assert json.loads(found.text)["code"] == -32602, brought


def test_who_declared_nothing_is_asked_nothing() -> None:
    """-32021 names the capability; before 2026-07-28 there is no such code."""
    error = json.loads(said(ASKS, call(version=R2026)).text)
    assert (error["code"], error["data"]) == (-32021, {"requiredCapabilities": {"elicitation": {}}})
    assert json.loads(said(ASKS, call()).text)["code"] == -32600


# -- mistakes -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rule", "line", "place", "words"),
    [
        ("notify = [{ log = 'a', total = 3 }]", 4, "rules[0].notify[0]", "total is not allowed"),
        ("notify = [{ after = 1 }]", 4, "rules[0].notify[0]", "exactly one of these: log"),
        ("notify = [\n  { log = 'a', level = 'loud' }]", 4, "rules[0].notify[0].level", "debug"),
        ("ask = { a = { method = 'ping' } }", 4, "rules[0].ask.a.method", "elicitation/create"),
        ("fault = 'wrong'", 4, "rules[0].fault", "cut-in-half"),
        ("mehtod = 'ping'", 4, "rules[0]", "mehtod is not allowed here. Did you mean method?"),
        ("zzz = 1", 4, "rules[0]", "zzz is not allowed here; use one of add, after, "),
        ("once = true\ntimes = 2", 4, "rules[0].once", "only one of these: times, once"),
        ("inputResponses = 3", 4, "rules[0].inputResponses", "true for any value"),
        ("client_has = 'sampling'", 4, "rules[0].client_has", "array of strings"),
        ("[[rules.then]]\ntext = 'b'\ntool = 'c'", 6, "rules[0].then[0]", "tool is not allowed"),
        (
            "[[rules.then]]\ndo = 'hold'\nfault = 'huge'",
            6,
            "rules[0].then[0].fault",
            "in the same rule",
        ),
        ("[rules.add]\ntools = 3", 5, "rules[0].add.tools", "array of tables"),
        ("[rules.remove]\ntool = ['a']", 5, "rules[0].remove", "Did you mean tools?"),
        ("prompt = 'a'", 4, "rules[0].prompt", "only one of these: tool, resource, prompt"),
        (
            "requestState = true\nask = { a = { method = 'roots/list' } }",
            5,
            "rules[0].ask",
            "remove inputResponses and requestState",
        ),
    ],
)
def test_a_mistake_in_a_rule_is_told_with_its_line(
    rule: str, line: int, place: str, words: str
) -> None:
    """Which line, what is wrong, and what to write."""
    text = f"[[rules]]\ntool = 'a'\ntext = 'b'\n{rule}\n"
    with pytest.raises(BookFileError) as caught:
        parse_book(text, Path("book.toml"))
    sentence = caught.value.sentence()
    assert sentence.startswith(f"book.toml: line {line}, {place}: "), sentence
    assert words in sentence
    assert f"{line} 行目の {place}: " in said_in("ja", caught.value.sentence)


def test_a_rule_that_asks_says_what_it_is_asked_for() -> None:
    """A question needs a request that may be answered by one."""
    text = "[[rules]]\nmethod = 'tools/list'\ntext = 'b'\nask = { a = { method = 'roots/list' } }"
    with pytest.raises(BookFileError, match="only in these methods: tools/call"):
        parse_book(text, Path("book.toml"))


EMPTY: Final = BookEntry("", TextForm.TEXT)


@pytest.mark.parametrize(
    ("template", "address", "values"),
    [
        ("a", "a", {}),
        ("a", "b", None),
        ("{x}", "", None),
        ("{x}", "a", {"x": "a"}),
        ("{x}", "a/b", None),
        ("{+x}", "a/b", {"x": "a/b"}),
        ("u:{x}/{y}", "u:a/b", {"x": "a", "y": "b"}),
        ("u:{x}/{y}", "u:a/", None),
        ("{x}{y}", "abc", {"x": "ab", "y": "c"}),
        ("{x}-{y}", "a-b-c", {"x": "a-b", "y": "c"}),
        ("{x}.md", "a.md.md", {"x": "a.md"}),
        ("{x}.md", "a.mdx", None),
        ("a{x}", "ba", None),
        ("{x}", "a" * 8192, {"x": "a" * 8192}),
        ("{x}", "a" * 8193, None),
    ],
    ids=range(15),
)
def test_the_gaps_of_a_template_are_filled_by_an_address(
    template: str, address: str, values: dict[str, str] | None
) -> None:
    """Each takes as much as it can, the first one first, and at least a character."""
    assert gaps_filled(template, address) == values


@pytest.mark.parametrize(
    ("condition", "fits"),
    [
        ({}, True),
        ({"on": False}, False),
        ({"method": "tools/call"}, True),
        ({"method": "prompts/get"}, False),
        ({"tool": "greet"}, True),
        ({"tool": "gree"}, False),
        ({"resource": "u:{x}"}, False),
        ({"where": {"n": 1}}, True),
        ({"where": {"n": 1.0}}, True),
        ({"where": {"n": True}}, False),
        ({"where": {"n": 2}}, False),
        ({"where": {"m": None}}, False),
        ({"where": {"b": True}}, True),
        ({"where": {"b": 1}}, False),
        ({"where": {"n": 1, "s": "x"}}, False),
        ({"contains": {"s": "b"}}, True),
        ({"contains": {"s": "abc"}}, True),
        ({"contains": {"s": "ac"}}, False),
        ({"contains": {"n": "1"}}, False),
        ({"contains": {"m": ""}}, False),
        ({"where": {"n": 1}, "contains": {"s": "x"}}, False),
        ({"responses": True}, True),
        ({"responses": False}, False),
        ({"responses": {"q": {"a": 1}}}, True),
        ({"responses": {"q": {}}}, True),
        ({"responses": {"q": {"a": 2}}}, False),
        ({"responses": {"p": {}}}, False),
        ({"responses": {"q": 1}}, False),
        ({"state": "s"}, True),
        ({"state": "t"}, False),
        ({"state": True}, True),
        ({"state": False}, False),
        ({"state": "s", "responses": False}, False),
        ({"state": "t", "responses": True}, False),
        ({"client_has": ("roots",)}, True),
        ({"client_has": ("roots.list",)}, True),
        ({"client_has": ("roots.no",)}, False),
        ({"client_has": ("roots", "sampling")}, False),
        ({"client_has": ("extensions.a.b",)}, True),
        ({"client_has": ("extensions.a",)}, False),
        ({"kept": True, "key": "k-{n}"}, True),
        ({"kept": False, "key": "k-{n}"}, False),
        ({"kept": False, "key": "none"}, True),
        ({"kept": True, "key": "none"}, False),
        ({"kept": {"v": [1]}, "key": "k-{n}"}, True),
        ({"kept": {"v": [2]}, "key": "k-{n}"}, False),
        ({"kept": {}, "key": "none"}, False),
    ],
)
def test_each_condition_of_a_rule_fits_or_does_not(
    condition: dict[str, Any], *, fits: bool
) -> None:
    """Alone, and two of them together."""
    asked_for = call(
        version=R2026,
        client={"roots": {"list": None}, "extensions": {"a.b": {}}},
        arguments={"n": 1, "s": "abc", "b": True},
        requestState="s",
        inputResponses={"q": {"a": 1}},
    )
    entry = EMPTY._replace(**condition)
    assert entry.matches(asked_for, None, {"k-1": {"v": [1], "w": 2}}) is fits


@pytest.mark.parametrize(
    ("cycle", "texts"), [(False, ["a", "b", "c", "c", "c"]), (True, ["a", "b", "c", "a", "b"])]
)
def test_the_calls_of_a_rule_get_its_turns_in_order(*, cycle: bool, texts: list[str]) -> None:
    """The last one again and again, or all from the beginning."""
    then = (EMPTY._replace(text="b"), EMPTY._replace(text="c"))
    entry = EMPTY._replace(text="a", then=then, cycle=cycle)
    assert [entry.turn(count).text for count in range(5)] == texts
    assert EMPTY._replace(cycle=True).turn(3) == EMPTY._replace(cycle=True)


def test_the_values_of_a_rule_are_those_of_its_request() -> None:
    """Arguments, the parts of its address, and all parameters."""
    read = asked("resources/read", {"uri": "u:1", "x": 2})
    entry = EMPTY._replace(resource="u:{x}")
    assert entry.values(read) == {"params": {"uri": "u:1", "x": 2}, "uri": "u:1", "x": "1"}
    assert EMPTY.values(call(arguments={"n": 1})) == {
        "params": {"name": "greet", "arguments": {"n": 1}},
        "n": 1,
    }
    assert arguments_of(asked("tools/call", {"name": "t", "arguments": [1]})) == {}
    assert arguments_of(asked("tools/call", {"name": "t"})) == {}
    assert arguments_of(asked("x", {"a": 1})) == {"a": 1}
    assert EMPTY._replace(key="{n}-{m}").key_for(call(arguments={"n": 1})) == "1-{m}"
    assert EMPTY.key_for(call()) == ""


@pytest.mark.parametrize(
    ("template", "filled"),
    [
        ("{a}", 1),
        ("{a} ", "1 "),
        ("{b.c}", [1]),
        ("x{b.c}", "x[1]"),
        ("{b.c.0}", 1),
        ("{b.d}", "{b.d}"),
        ("{s}{a}", "é1"),
        ("{n}", None),
        ("{n}.", "null."),
        ("{1}", "{1}"),
        ("{ a }", "{ a }"),
        ({"{a}": ["{a}", 2]}, {"{a}": [1, 2]}),
    ],
)
def test_a_placeholder_is_filled_with_its_value(template: object, filled: object) -> None:
    """Alone it keeps its type; in a text it is JSON; one without a value stays."""
    values = {"a": 1, "b": {"c": [1]}, "s": "é", "n": None}
    assert fill(template, values) == filled
    if isinstance(template, str):
        text = fill_text(template, values)
        assert text == (filled if isinstance(filled, str) else json.dumps(filled))
        assert fill_answer(template, TextForm.TEXT, values) == text
    whole = fill_answer(json.dumps(template), TextForm.RESULT, values)
    assert json.loads(whole) == filled


def test_the_placeholders_of_a_value_are_named_in_order() -> None:
    """Those of names are none."""
    value = {"{x}": ["{a} {b.c}", {"d": "{a}"}, 7, "{1}"]}
    assert list(placeholders(value)) == ["a", "b.c", "a"]
    assert fill_answer('{ "a" : 1.0 }', TextForm.ERROR, {}) == '{ "a" : 1.0 }'


@pytest.mark.parametrize(
    "state",
    [None, 7, "", "WzAsMCwwLHt9XQ==", "x.y", "W10=.x", "WzAsMCwwXQ==.x", "WzAsMCwwLDdd.x", "é.x"],
)
def test_a_state_that_is_not_ours_is_none(state: object) -> None:
    """Half of it, other base64, other JSON."""
    assert read_state(state) is None


def test_a_state_is_read_as_it_was_written_and_signed_for_its_rule() -> None:
    """Whoever changes the rule, the body or the secret has another signature."""
    retry = Retry(1, 2, 3, {"q": {"a": 1}})
    state = write_state(retry, EMPTY, SECRET)
    body, dot, signature = state.partition(".")
    assert (dot, len(signature)) == (".", 32)
    assert read_state(state) == retry
    assert is_signed(state, EMPTY, SECRET)
    assert not is_signed(state, EMPTY._replace(text="x"), SECRET)
    assert not is_signed(state, EMPTY, b"other")
    assert not is_signed(f"{body}.{signature[:-1]}", EMPTY, SECRET)
    assert not is_signed(body, EMPTY, SECRET)


def test_a_memory_counts_uses_and_keeps_the_last_records() -> None:
    """What is not to be counted is not, and without anything to keep nothing is."""
    memory = BookMemory(SECRET, now=lambda: "noon", used={0: 1})
    for decision in (
        Decision(entry=0),
        Decision(entry=2),
        Decision(entry=2, counts=False),
        Decision(),
    ):
        memory.count(decision)
    assert memory.used == {0: 2, 2: 1}
    memory.keep(Decision(key="a", keep={"x": 1, "y": 1}))
    memory.keep(Decision(key="a", keep={"x": 2}))
    memory.keep(Decision(key="b"))
    assert memory.records == {"a": {"x": 2, "y": 1}}
    entry = EMPTY._replace(key="{k}", keep={"x": 1})
    first = call(arguments={"k": "a"})
    values = memory.values(entry, first)
    assert {name: values[name] for name in ("kept", "records", "now", "k")} == {
        "kept": {"x": 2, "y": 1},
        "records": [{"x": 2, "y": 1}],
        "now": "noon",
        "k": "a",
    }
    assert len(values["new"]) == 24
    assert memory.values(entry, first)["new"] == values["new"]
    assert memory.values(entry, first._replace(number=2))["new"] != values["new"]
    assert memory.values(entry, call(arguments={"k": "b"}))["kept"] == {}
    assert memory.values(EMPTY, first) == EMPTY.values(first)
    memory.clear()
    assert (memory.used, memory.records) == ({}, {})


def test_a_capability_that_a_question_lacks_is_named_in_its_parts() -> None:
    """-32021 with the object that would declare it; before that a plain error."""
    rule = (
        "[[rules]]\ntool = 'greet'\ntext = 'x'\n"
        "ask = {q = {method = 'sampling/createMessage', params = {tools = []}}}"
    )
    message = "The client has not declared sampling.tools"
    found = said(rule, call(version=R2026, client={"sampling": {}}))
    assert json.loads(found.text) == {
        "code": -32021,
        "message": message,
        "data": {"requiredCapabilities": {"sampling": {"tools": {}}}},
    }
    assert (found.form, found.by, found.entry, found.counts) == (
        TextForm.ERROR, "book: rule 1", 0, False,
    )  # fmt: skip
    old = decide(
        call(),
        book(rule),
        NegotiatedState(client_capabilities={"sampling": {}}),
        memory=BookMemory(SECRET),
    )
    assert json.loads(old.text) == {"code": -32600, "message": message}
