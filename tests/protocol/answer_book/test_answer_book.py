"""What the answer book says, and after how long."""

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest

from humanmcp.locales import LANGUAGES, say
from humanmcp.protocol.answer_book.book import Book, book_lists, changed_lists
from humanmcp.protocol.answer_book.book_entry import (
    BookEntry,
    DefinitionChange,
    EntryAction,
    Notice,
)
from humanmcp.protocol.answer_book.book_format import BookError, example_entry, parse
from humanmcp.protocol.answer_book.decide import HandshakePolicy, Mode, decide
from humanmcp.protocol.answer_book.decision import Decision
from humanmcp.protocol.answer_book.following import BookMemory
from humanmcp.protocol.conversation import timeouts
from humanmcp.protocol.conversation.exchange import (
    APPROVAL,
    KIND,
    Exchange,
    NegotiatedState,
    TransportFacts,
)
from humanmcp.protocol.conversation.questions import OUTCOME
from humanmcp.protocol.diagnostics.model import TextForm
from humanmcp.protocol.json.jsonrpc import Message, read
from humanmcp.protocol.tables.methods import LOG, PROGRESS, UPDATED
from humanmcp.protocol.validation.starting_draft import start
from tests.support.verdicts import asked, stating

SAMPLES = Path(__file__).parents[3] / "samples"


HANDSHAKE = ("initialize", "tools/list", "resources/list", "prompts/list")


def exchange(
    method: str,
    version: str = "2025-11-25",
    **params: Any,  # noqa: ANN401 - any JSON value
) -> Exchange:
    """Make a pending exchange. A request of 2026-07-28 says of itself what it must."""
    if version == "2026-07-28":
        params = {"_meta": stating(), **params}
    message = read(json.dumps({"id": 1, "method": method, "params": params}).encode())
    assert isinstance(message, Message)
    return Exchange(1, message, version)


def book(text: str) -> Book:
    """Read a book from TOML."""
    return parse(tomllib.loads(text))


def answer(decision: Decision) -> Any:  # noqa: ANN401 - any JSON value
    """Decode what the book says."""
    return json.loads(decision.text)


RULES = """
[[rules]]
tool = "forecast"
where = { location = "東京", days = 3 }
text = "sunny"

[[rules]]
tool = "forecast"
contains = { location = "大" }
error = { code = -32602, message = "far" }
after = 2
times = 1

[[rules]]
method = "resources/read"
where = { uri = "file:///a" }
result = { contents = [{ uri = "file:///a", text = "A" }] }

[[rules]]
tool = "broken"
tool_error = "it broke"
"""


def test_a_rule_answers_when_method_tool_and_arguments_match() -> None:
    """Text, at once, by rule."""
    found = decide(
        exchange("tools/call", name="forecast", arguments={"location": "東京", "days": 3}),
        book(RULES),
        NegotiatedState(),
    )
    assert (found.text, found.form, found.after, found.entry) == ("sunny", TextForm.TEXT, 0.0, 0)
    assert found.by == "book: rule 1"


EMPTY = Book()
WAITS = book('[wait]\n"tools/list" = 30\nping = false\ninitialize = 0\n')
BY_BOOK, OPENED_BY_HAND = {"handshake": HandshakePolicy.BOOK}, {"handshake": HandshakePolicy.HAND}
BY_HAND, AUTO = {"mode": Mode.BY_HAND}, {"mode": Mode.AUTO}


def forecast(**params: Any) -> Exchange:  # noqa: ANN401 - any JSON value
    """Make a call of the tool that has rules."""
    return exchange("tools/call", **{"name": "forecast", **params})


@pytest.mark.parametrize(
    ("asked", "own", "client", "given", "after"),
    [
        # a tool call is answered by a rule or by a person, never by a default
        *(
            (asked, book(RULES), "", {"mode": mode}, None)
            for mode in Mode
            for asked in (
                forecast(arguments={"location": "東京"}),
                forecast(arguments={"location": "東京", "days": True}),
                forecast(name="other", arguments={"location": "東京", "days": 3}),
                forecast(arguments={"location": 7, "days": 3}),
                forecast(arguments="東京"),
                forecast(),
            )
        ),
        *(
            (exchange(method), EMPTY, "", {}, None)
            for method in ("tools/call", "prompts/get", "resources/read", "completion/complete")
        ),
        # clients probe with server/discover and give up after 1 s
        (exchange("ping"), EMPTY, "", {}, 0),
        (exchange("logging/setLevel"), EMPTY, "", {}, 0),
        (exchange("server/discover", "2026-07-28"), EMPTY, "", {}, 0),
        *(
            (exchange(method), EMPTY, client, given, after)
            for method in HANDSHAKE
            for client, given, after in (
                # 2 s for an unknown client; a known one gets a third of what it waits, 60 s at most
                ("", {}, 2),
                ("mcp", {}, 2),
                ("mcporter", {}, 10),
                ("humanmcp-play", {}, 60),
                # hosts do not wait for a server, or say nothing to their user while they do
                ("claude-code", {}, 0),
                ("codex-mcp-client", {}, 0),
                ("gemini-cli-mcp-client", {}, 0),
                # `serve --handshake book` is what stands in a host's entry
                ("", BY_BOOK, 0),
                ("windsurf-mcp-client", BY_BOOK, 0),
                ("inspector-client", BY_BOOK, 0),
                # opened by hand, an unknown client waits for ever, and one that sets no limit
                ("", OPENED_BY_HAND, None),
                ("Visual Studio Code", OPENED_BY_HAND, None),
            )
        ),
        (exchange("tools/call", name="ask_human"), EMPTY, "mcp", BY_BOOK, None),
        # a grace that a person has set counts, up to the last moment of the client
        (exchange("initialize"), EMPTY, "mine", {"grace": 50}, 50),
        (exchange("initialize"), EMPTY, "claude-code", {"grace": 5}, 5),
        (exchange("initialize"), EMPTY, "inspector", {"grace": 60}, 9),
        # `--by-hand`: not even a ping, and no rule either; `--auto`: all that the book can
        *(
            (exchange(method), EMPTY, "", BY_HAND, None)
            for method in ("ping", "initialize", "tools/list", "server/discover")
        ),
        (exchange("tools/call", name="broken"), book(RULES), "", BY_HAND, None),
        *(
            (exchange(method), EMPTY, "", AUTO, 0)
            for method in ("initialize", "tools/list", "resources/subscribe", "ping")
        ),
        # `[wait]`: 0 is at once, false is never
        (exchange("tools/list"), WAITS, "", {}, 30),
        (exchange("ping"), WAITS, "", {}, None),
        (exchange("initialize"), WAITS, "", {}, 0),
    ],
)
def test_the_book_answers_after_so_many_seconds_or_never(
    asked: Exchange, own: Book, client: str, given: dict[str, Any], after: float | None
) -> None:
    """It waits for a person for as long as the method, the client and the person allow."""
    found = decide(asked, own, NegotiatedState(client_name=client), **given)
    assert found.after == (None if after is None else pytest.approx(after))


def test_the_book_answers_a_probe_and_no_handshake_while_somebody_writes() -> None:
    """A person is at it; nobody writes an answer to a ping."""
    assert decide(exchange("ping"), EMPTY, NegotiatedState()).due(0, touched=True)
    for method in HANDSHAKE:
        assert not decide(exchange(method), EMPTY, NegotiatedState()).due(1000, touched=True)


def test_a_rule_may_wait_may_fail_and_may_run_out() -> None:
    """after, error, times."""
    asked = exchange("tools/call", name="forecast", arguments={"location": "大阪"})
    found = decide(asked, book(RULES), NegotiatedState())
    assert (found.after, found.form) == (2.0, TextForm.ERROR)
    assert answer(found) == {"code": -32602, "message": "far"}
    assert not found.due(1.9)
    assert found.due(2.0)
    assert found.due(2.0, touched=True)  # a rule is what somebody decided
    assert (
        decide(asked, book(RULES), NegotiatedState(), memory=BookMemory(used={1: 1})).after is None
    )


def test_a_rule_for_another_method_looks_at_its_params() -> None:
    """`where` means `params` outside of tools and prompts."""
    found = decide(exchange("resources/read", uri="file:///a"), book(RULES), NegotiatedState())
    assert answer(found) == {"contents": [{"uri": "file:///a", "text": "A"}]}
    assert (
        decide(exchange("resources/read", uri="file:///b"), book(RULES), NegotiatedState()).after
        is None
    )


def test_a_tool_can_fail_by_rule() -> None:
    """The model reads why."""
    found = decide(exchange("tools/call", name="broken"), book(RULES), NegotiatedState())
    assert (found.text, found.form) == ("it broke", TextForm.TOOL_ERROR)


@pytest.mark.parametrize("handshake", [HandshakePolicy.HAND, HandshakePolicy.PERSON])
def test_where_a_person_opens_the_session_an_unanswered_probe_leads_to_the_handshake(
    handshake: HandshakePolicy,
) -> None:
    """Its result would settle the version: a person gives it, or the book says -32601."""
    probe = exchange("server/discover", "2026-07-28")
    decision = decide(probe, Book(), NegotiatedState(), handshake=handshake)
    assert decision.after == timeouts.PROBE_GRACE
    assert decision.form is TextForm.ERROR
    assert json.loads(decision.text)["code"] == -32601
    assert not decision.due(1000, touched=True)  # never over somebody who writes
    hurried = decide(probe, Book(), NegotiatedState(), handshake=handshake, grace=0.5)
    assert hurried.after == 0.5
    assert decide(probe, Book(), NegotiatedState(), handshake=HandshakePolicy.BOOK).due(0)


def test_a_probe_of_a_server_with_one_era_is_answered_by_what_it_has() -> None:
    """Without 2026-07-28 nobody has to be asked; without a handshake there is none to lead to."""
    probe = exchange("server/discover", "2026-07-28")
    old = decide(
        probe,
        Book(protocol_versions=("2025-11-25",)),
        NegotiatedState(),
        handshake=HandshakePolicy.HAND,
    )
    assert old.due(0)
    assert json.loads(old.text)["code"] == -32601
    own = Book(protocol_versions=("2026-07-28",))
    new = decide(probe, own, NegotiatedState(), handshake=HandshakePolicy.HAND)
    assert (new.after, new.form) == (timeouts.PROBE_GRACE, TextForm.RESULT)
    assert json.loads(new.text)["supportedVersions"] == ["2026-07-28"]


@pytest.mark.parametrize("mode", [Mode.NORMAL, Mode.AUTO])
def test_whoever_holds_the_handshake_has_the_last_word(mode: Mode) -> None:
    """Before `--handshake book`, `--auto` and the book's own `[wait]`; not of anything else."""
    own = book('[wait]\ninitialize = 0\n"tools/list" = 0\n')
    for method in HANDSHAKE:
        asked = exchange(method)
        assert (
            decide(asked, own, NegotiatedState(), mode=mode, handshake=HandshakePolicy.PERSON).after
            is None
        )
    assert (
        decide(
            exchange("ping"), own, NegotiatedState(), mode=mode, handshake=HandshakePolicy.PERSON
        ).after
        == 0
    )


@pytest.mark.parametrize("mode", [Mode.NORMAL, Mode.AUTO])
@pytest.mark.parametrize(
    ("asked", "rule"),
    [
        (exchange("tools/call", name="b"), '[[rules]]\ntool = "b"\ntext = "…"'),
        (exchange("prompts/get", name="p"), '[[rules]]\nprompt = "p"\nresult = {}'),
        (
            exchange("completion/complete", ref={}),
            '[[rules]]\nmethod = "completion/complete"\nresult = {}',
        ),
    ],
)
def test_what_no_rule_answers_is_refused_where_that_is_wanted(
    asked: Exchange, rule: str, mode: Mode
) -> None:
    """The error says which rule would answer it, and that rule does."""
    own = book('[[rules]]\ntool = "a"\ntext = "x"\n')
    decision = decide(asked, own, NegotiatedState(), mode=mode, refuse=True)
    error = json.loads(decision.text)
    assert (decision.after, decision.form) == (0, TextForm.ERROR)
    assert error["message"].endswith(f"Add one:\n{rule}")
    assert decide(asked, book(rule), NegotiatedState(), mode=mode, refuse=True).entry == 0
    assert decide(asked, own, NegotiatedState(), mode=mode).after is None


def test_what_a_rule_leaves_to_a_person_is_never_refused() -> None:
    """Nor what has an answer that comes later, nor a subscription, which has none."""
    own = book('[wait]\n"tools/list" = false\n[[rules]]\ntool = "a"\ndo = "hold"\n')
    for waiting in (
        exchange("tools/call", name="a"),
        exchange("tools/list"),
        exchange("initialize"),
        exchange("subscriptions/listen", "2026-07-28", notifications={}),
    ):
        assert decide(waiting, own, NegotiatedState(), refuse=True).form is not TextForm.ERROR


def test_what_differs_between_two_books_is_named_by_its_capability() -> None:
    """The host is told of these lists, and of no other."""
    two = book('[[resourceTemplates]]\nuriTemplate = "a"\nname = "b"\n')
    assert changed_lists(Book(), two) == ("resources",)
    assert changed_lists(Book(), Book(entries=two.entries, name="x")) == ()
    assert changed_lists(Book(), Book(tools=(), prompts=({"name": "p"},))) == ("tools", "prompts")


def test_opened_by_hand_the_book_steps_in_before_a_known_client_gives_up() -> None:
    """`initialize` and a list one after the other, within what it waits for both."""
    for client in (one for one in timeouts.CLIENTS if one.handshake is not None):
        own = NegotiatedState(client_name=client.names[0])
        first = decide(exchange("initialize"), Book(), own, handshake=HandshakePolicy.HAND)
        then = decide(exchange("tools/list"), Book(), own, handshake=HandshakePolicy.HAND)
        assert first.after is not None
        assert then.after is not None
        assert client.handshake is not None
        assert client.handshake / 2 < first.after < client.handshake
        if client.listing is None:
            assert first.after + then.after < client.handshake
        else:
            assert client.listing / 2 < then.after < client.listing
        assert not first.due(1000, touched=True)  # never over somebody who writes


def test_what_was_measured_says_of_which_version_and_when() -> None:
    """Figures of `mcp list` were taken for those of the hosts."""
    for client in timeouts.CLIENTS:
        if client.source == "measured" and not client.names[0].startswith("humanmcp"):
            assert "November 2026" in client.seen, client.label
    lists = timeouts.find_client("mcp-test-client")
    assert lists is not None
    assert (lists.handshake, lists.is_host) == (5, False)
    for name, handshake in (("gemini-cli-mcp-client", 600), ("qwen-cli-mcp-client-x", 30)):
        found = timeouts.find_client(name)
        assert found is not None
        assert found.handshake == handshake


@pytest.mark.parametrize(
    ("asked", "served", "said"),
    [
        ("2024-11-05", None, "2024-11-05"),
        ("2025-11-25", None, "2025-11-25"),
        ("1900-01-01", None, "2025-11-25"),
        ("2025-11-25", ["2024-11-05", "2025-03-26"], "2025-03-26"),
        ("2024-11-05", ["2026-07-28"], "2025-11-25"),
    ],
)
def test_initialize_echoes_a_served_version_and_offers_the_latest_otherwise(
    asked: str, served: list[str] | None, said: str
) -> None:
    """Echo it when it is supported, else a result with another one."""
    own = Book() if served is None else parse({"server": {"protocol_versions": served}})
    assert (
        answer(decide(exchange("initialize", protocolVersion=asked), own, NegotiatedState()))[
            "protocolVersion"
        ]
        == said
    )


def test_a_handshake_only_book_answers_a_probe_with_method_not_found() -> None:
    """-32601 is the right automatic answer of a server that knows no 2026-07-28."""
    own = parse({"server": {"protocol_versions": ["2025-11-25"]}})
    found = decide(exchange("server/discover", "2026-07-28"), own, NegotiatedState())
    assert (found.form, answer(found)["code"]) == (TextForm.ERROR, -32601)


def test_a_probe_learns_what_is_served() -> None:
    """The answer to server/discover holds everything that 2026-07-28 asks for."""
    said = answer(
        decide(exchange("server/discover", "2026-07-28"), Book(name="w"), NegotiatedState())
    )
    assert said["supportedVersions"][-1] == "2026-07-28"
    assert said["_meta"]["io.modelcontextprotocol/serverInfo"]["name"] == "w"
    assert (said["resultType"], said["ttlMs"], said["cacheScope"]) == ("complete", 0, "private")


def test_capabilities_follow_the_lists_unless_they_are_written() -> None:
    """What has entries is offered."""
    own = book('[[prompts]]\nname = "p"\n[[resourceTemplates]]\nuriTemplate = "a"\nname = "b"\n')
    changing = {"listChanged": True}  # a person changes each list whenever they like
    assert own.declared_capabilities() == {
        "tools": changing,
        "resources": changing,
        "prompts": changing,
    }
    assert parse({"tools": []}).declared_capabilities() == {}
    written = parse({"server": {"capabilities": {"logging": {}}}})
    assert written.declared_capabilities() == {"logging": {}}


def test_lists_carry_what_their_version_needs() -> None:
    """2026-07-28 wants resultType, cache hints and who answers, the others want none of them."""
    modern = answer(decide(exchange("tools/list", "2026-07-28"), Book(), NegotiatedState()))
    older = answer(decide(exchange("tools/list", "2025-11-25"), Book(), NegotiatedState()))
    assert set(modern) == {"tools", "resultType", "ttlMs", "cacheScope", "_meta"}
    assert modern["_meta"]["io.modelcontextprotocol/serverInfo"]["name"] == "humanmcp"
    assert set(older) == {"tools"}


@pytest.mark.parametrize("method", ["server/discover", "tools/list", "tools/call"])
def test_a_version_that_there_is_not_is_told_at_once(method: str) -> None:
    """-32022 with the ones that are served, so that the client picks another."""
    meta = {"io.modelcontextprotocol/protocolVersion": "2030-01-01"}
    asked = exchange(method, "2026-07-28", _meta=meta)
    told = decide(asked, Book(), NegotiatedState())
    assert told.due(0)
    assert told.form is TextForm.ERROR
    assert answer(told)["code"] == -32022
    assert answer(told)["data"]["requested"] == "2030-01-01"
    assert "2026-07-28" in answer(told)["data"]["supported"]
    assert decide(asked, Book(), NegotiatedState(), mode=Mode.BY_HAND) == Decision()


@pytest.mark.parametrize("method", ["server/discover", "tools/list", "tools/call"])
@pytest.mark.parametrize(
    ("meta", "lacking"),
    [
        ({}, "io.modelcontextprotocol/protocolVersion"),
        (
            {"io.modelcontextprotocol/protocolVersion": "2026-07-28"},
            "io.modelcontextprotocol/clientCapabilities",
        ),
    ],
)
def test_a_request_that_does_not_say_enough_of_itself_is_rejected_at_once(
    method: str, meta: dict[str, Any], lacking: str
) -> None:
    """MCP: "malformed; the server MUST reject it with […] -32602". A rule goes first."""
    asked = exchange(method, "2026-07-28", _meta=meta)
    told = decide(asked, Book(), NegotiatedState())
    assert told.due(0)
    assert told.form is TextForm.ERROR
    assert answer(told)["code"] == -32602
    assert lacking in answer(told)["message"]
    assert decide(asked, Book(), NegotiatedState(), mode=Mode.BY_HAND) == Decision()
    ruled = book(f'[[rules]]\nmethod = "{method}"\nresult = {{ resultType = "complete" }}')
    assert decide(asked, ruled, NegotiatedState()).form is TextForm.RESULT
    modern = decide(exchange(method, "2026-07-28"), Book(), NegotiatedState())
    assert modern.form is not TextForm.ERROR


TASKS: dict[str, Any] = {"extensions": {"io.modelcontextprotocol/tasks": {}}}


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("tasks/get", {"taskId": "a"}),
        ("tasks/update", {"taskId": "a", "inputResponses": {}}),
        ("tasks/cancel", {"taskId": "a"}),
        ("subscriptions/listen", {"notifications": {"taskIds": ["a"]}}),
    ],
)
def test_a_client_that_did_not_declare_tasks_is_told_that_it_must(
    method: str, params: dict[str, Any]
) -> None:
    """-32021 with the extension, whoever writes it: the book, or a person from the draft."""
    silent = asked(method, {**params, "_meta": stating()}, version="2026-07-28")
    told = decide(silent, Book(), NegotiatedState())
    assert told.due(0)
    assert told.form is TextForm.ERROR
    assert answer(told)["code"] == -32021
    assert answer(told)["data"] == {"requiredCapabilities": TASKS}
    assert json.loads(start(silent))["error"] == answer(told)
    declared = asked(method, {**params, "_meta": stating(TASKS)}, version="2026-07-28")
    assert decide(declared, Book(), NegotiatedState()).form is not TextForm.ERROR
    assert "error" not in json.loads(start(declared))


def test_a_subscription_to_lists_needs_no_extension() -> None:
    """Only what is asked of tasks needs it; in 2025-11-25 tasks are no extension."""
    params = {"notifications": {"toolsListChanged": True}, "_meta": stating()}
    listens = asked("subscriptions/listen", params, version="2026-07-28")
    assert decide(listens, Book(), NegotiatedState()).form is not TextForm.ERROR
    older = asked("tasks/get", {"taskId": "a"}, version="2025-11-25")
    assert decide(older, Book(), NegotiatedState()).form is not TextForm.ERROR


def test_a_handshake_only_book_does_not_argue_about_versions() -> None:
    """Clients fail hard on a list that has no version in common with theirs."""
    meta = {"io.modelcontextprotocol/protocolVersion": "2030-01-01"}
    asked = exchange("server/discover", "2026-07-28", _meta=meta)
    told = decide(asked, book('[server]\nprotocol_versions = ["2025-11-25"]'), NegotiatedState())
    assert answer(told)["code"] == -32601


@pytest.mark.parametrize("mode", [Mode.NORMAL, Mode.AUTO])
@pytest.mark.parametrize("method", ["ping", "logging/setLevel"])
def test_what_is_answered_at_once_is_so_where_the_version_does_not_have_it(
    method: str, mode: Mode
) -> None:
    """MCP 2026-07-28 has no ping, and the ping of FastMCP 4 waits without limit all the same."""
    told = decide(exchange(method, "2026-07-28"), Book(), NegotiatedState(), mode=mode)
    assert (told.after, told.form, answer(told)["code"]) == (0, TextForm.ERROR, -32601)


def test_a_method_that_the_version_does_not_have_is_left_to_the_person_unless_nobody_is() -> None:
    """A person may want to see what the client does with an answer. `--auto` has no person."""
    asked = exchange("resources/subscribe", "2026-07-28", uri="file:///a")
    assert decide(asked, Book(), NegotiatedState()).after is None
    told = decide(asked, Book(), NegotiatedState(), mode=Mode.AUTO)
    assert (told.after, told.form, answer(told)["code"]) == (0, TextForm.ERROR, -32601)
    assert decide(asked, Book(), NegotiatedState(), mode=Mode.BY_HAND).after is None


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ('tool = "x"', "the book"),
        ("[server]\nnmae = 1", "server"),
        ("[server]\nname = 1", "server.name"),
        ('[server]\nprotocol_versions = ["2030-01-01"]', "server.protocol_versions"),
        ("[server]\ncapabilities = 1", "server.capabilities"),
        ("[tools]\nname = 1", "tools"),
        ('[[rules]]\nmethod = "x"', "rules[0]"),
        ('[[rules]]\ntext = "a"\nresult = {}', "rules[0]"),
        ("[[rules]]\ntext = 1", "rules[0].text"),
        ('[[rules]]\nresult = "a"', "rules[0].result"),
        ('[[rules]]\ntext = "a"\nafter = -1', "rules[0].after"),
        ('[[rules]]\ntext = "a"\ntimes = 0', "rules[0].times"),
        ('[[rules]]\ntext = "a"\ntimes = true', "rules[0].times"),
        ('[[rules]]\ntext = "a"\nwhere = 1', "rules[0].where"),
        ('[[rules]]\ntext = "a"\ncontains = { a = 1 }', "rules[0].contains.a"),
        ('[wait]\nping = "soon"', "wait.'ping'"),
        ("[wait]\nping = true", "wait.'ping'"),
        ("[wait]\nping = nan", "wait.'ping'"),
        ("[server]\nprotocol_versions = [{}]", "server.protocol_versions"),
        ("[server]\ncapabilities = { tools = { a = nan } }", "server.capabilities"),
        ("[[tools]]\nname = 2026-01-01", "tools"),
        ("[[rules]]\nresult = { at = 2026-01-01 }", "rules[0].result"),
    ],
)
def test_a_book_with_a_mistake_names_the_place(text: str, place: str) -> None:
    """Bad input gets a clear error."""
    with pytest.raises(BookError) as caught:
        book(text)
    assert caught.value.place == place
    assert str(caught.value).startswith(place)
    for language in LANGUAGES:
        assert say("book", caught.value.code, language, place=place, **caught.value.fillings)


NO_BOOKS = ("mistakes.toml", "measured_hosts.toml")
"""What `check --explain` and `hosts` read."""


@pytest.mark.parametrize(
    "file",
    [one for one in sorted(SAMPLES.glob("*.toml")) if one.name not in NO_BOOKS],
    ids=lambda file: file.name,
)
def test_each_sample_book_can_be_used(file: Path) -> None:
    """samples/*.toml are what people start from."""
    assert parse(tomllib.loads(file.read_text(encoding="utf-8"))).tools


def test_a_rule_may_leave_a_request_to_a_person() -> None:
    """An exception from a rule below it: what it matches waits, whatever follows."""
    rules = book("""
        [[rules]]
        tool = "forecast"
        where = { location = "東京" }
        do = "hold"

        [[rules]]
        tool = "forecast"
        text = "sunny"
    """)
    held = exchange("tools/call", name="forecast", arguments={"location": "東京"})
    other = exchange("tools/call", name="forecast", arguments={"location": "京都"})
    assert decide(held, rules, NegotiatedState()).after is None
    assert decide(other, rules, NegotiatedState()).by == "book: rule 2"


def test_a_rule_cannot_do_just_anything() -> None:
    """The error names the place and what can be done."""
    with pytest.raises(BookError, match=r"rules\[0\]\.do: action"):
        book('[[rules]]\ntool = "forecast"\ndo = "explode"')


def test_a_draft_of_a_list_starts_from_the_book_that_somebody_wrote() -> None:
    """What the book would send and what a person starts from are the same list.

    A list that was given goes before it; a book that nobody wrote is no text to start from.
    """
    book = Book(tools=({"name": "mine", "inputSchema": {}},), prompts=({"name": "p"},))
    negotiated = NegotiatedState(prepared=book_lists(book))
    assert set(negotiated.prepared) == {"tools/list", "prompts/list"}
    for version in ("2025-06-18", "2026-07-28"):
        listing = exchange("tools/list", version)
        started = json.loads(start(listing, negotiated))["result"]
        decision = decide(listing, book, negotiated)
        assert started["tools"] == json.loads(decision.text)["tools"]
        assert set(started) == set(json.loads(decision.text))
    given = negotiated._replace(tools={"given": {"name": "given"}})
    assert json.loads(start(asked("tools/list"), given))["result"]["tools"] == [{"name": "given"}]
    assert start(asked("resources/list"), negotiated) == start(asked("resources/list"))
    assert book_lists(Book()) == {}


def test_a_decision_that_was_answered_asks_nothing_more() -> None:
    """Its text stays where nothing fills it."""
    asking = Decision(0.0, "{a}", ask=({},))
    assert asking.answered({"a": 1}) == Decision(0.0, "{a}")
    plain = Decision(0.0, "{a}")
    assert plain.answered({"a": 1}) is plain


def test_what_is_offered_is_changed_list_by_list() -> None:
    """What is added replaces what has its name, and comes last; what is not there is no matter."""
    found = Book(
        tools=({"name": "a"}, {"name": "b"}, {"title": "?"}),
        resources=({"uri": "u:1"}, {"uri": "u:2"}),
        prompts=({"name": "a"},),
    ).changed(
        DefinitionChange(
            add={"tools": ({"name": "a", "title": "new"}, {"name": "c"})},
            remove={"tools": ("b", "none"), "resources": ("u:1",)},
        )
    )
    assert found.tools == ({"title": "?"}, {"name": "a", "title": "new"}, {"name": "c"})
    assert found.resources == ({"uri": "u:2"},)
    assert found.prompts == ({"name": "a"},)


@pytest.mark.parametrize(
    ("decision", "steps", "at_once"),
    [
        (Decision(0.0), False, True),
        (Decision(0.5), False, False),
        (Decision(), False, False),
        (Decision(0.0, notices=(Notice("x"),)), True, False),
        (Decision(0.0, ask=({},)), True, False),
        (Decision(0.0, change=DefinitionChange(remove={"tools": ("a",)})), True, False),
    ],
)
def test_an_answer_is_given_at_once_where_nothing_comes_before_it(
    decision: Decision, *, steps: bool, at_once: bool
) -> None:
    """No person sees such a request wait."""
    assert (decision.has_steps, decision.at_once) == (steps, at_once)


def test_a_request_whose_headers_lie_gets_its_error_before_any_rule() -> None:
    """A person may think otherwise in the meantime; by hand it is the person's alone."""
    error = {"code": -32020, "message": "Mcp-Name"}
    call = exchange("tools/call", "2026-07-28", name="t")._replace(
        transport_facts=TransportFacts("2026-07-28", error)
    )
    rules = "[[rules]]\ntext = 'a'"
    found = decide(call, book(rules), NegotiatedState())
    assert (found.form, answer(found), found.stoppable) == (TextForm.ERROR, error, True)
    assert (found.after, found.by) == (8.0, "book")
    found = decide(call, book(rules), NegotiatedState(), mode=Mode.AUTO)
    assert (answer(found), found.after, found.stoppable) == (error, 0.0, False)
    assert decide(call, book(rules), NegotiatedState(), mode=Mode.BY_HAND).after is None
    other = call._replace(transport_facts=TransportFacts("2026-07-28", {**error, "code": -32602}))
    assert decide(other, book(rules), NegotiatedState()).text == "a"
    found = decide(other, book(""), NegotiatedState())
    assert (answer(found)["code"], found.after) == (-32602, 0.0)


@pytest.mark.parametrize(("given", "after"), [(3.0, 3.0), (9999.0, None)])
def test_an_handshake_message_waits_no_longer_than_its_client(
    given: float, after: float | None
) -> None:
    """As long as a person has set; of a client whose patience is known, at most that."""
    hello = exchange("initialize", protocolVersion="2025-11-25")
    last = timeouts.last_moment("claude-code", "initialize")
    known = NegotiatedState(client_name="claude-code")
    assert decide(hello, book(""), known, grace=given).after == (after or last)
    assert (
        decide(hello, book(""), NegotiatedState(client_name="unheard-of"), grace=3.0).after == 3.0
    )


def test_a_version_that_is_not_served_is_told_with_those_that_are() -> None:
    """The client picks another one; a book of the handshake alone has no such error."""
    meta = {**stating(), "io.modelcontextprotocol/protocolVersion": "2099-01-01"}
    call = exchange("tools/list", "2026-07-28", _meta=meta)
    found = decide(
        call, book("[server]\nprotocol_versions = ['2026-07-28', '2025-11-25']"), NegotiatedState()
    )
    assert answer(found)["data"] == {
        "supported": ["2025-11-25", "2026-07-28"],
        "requested": "2099-01-01",
    }
    assert (answer(found)["code"], found.form) == (-32022, TextForm.ERROR)


def test_a_tool_of_the_book_says_what_it_is_for_where_desks_read_it_and_models_do_not() -> None:
    """`kind` is no member of a tool in MCP; its `_meta` keeps what a person wrote there."""
    text = (
        '[[tools]]\nname = "may_i"\nkind = "approval"\n_meta = {"x/y" = 1}\n[[tools]]\nname = "add"'
    )
    tools = book(text).tools
    assert tools[0] == {"name": "may_i", "_meta": {"x/y": 1, KIND: APPROVAL}}
    assert tools[1] == {"name": "add"}
    with pytest.raises(BookError) as refused:
        book('[[tools]]\nname = "may_i"\nkind = "anything"')
    assert (refused.value.place, refused.value.code) == ("tools[0].kind", "word")


ANSWER_KEYS = {"known": "text, tool_error, result, error, do"}
RULE = {"text": "a"}
ASK = {"q": {"method": "roots/list"}}


@pytest.mark.parametrize(
    ("written", "place", "code", "fillings"),
    [
        ({"server": 1}, "server", "table", {}),
        ({"server": {"name": 1}}, "server.name", "text", {}),
        ({"server": {"progress": 1}}, "server.progress", "flag", {}),
        ({"server": {"park": -1}}, "server.park", "seconds", {}),
        ({"server": {"park": float("inf")}}, "server.park", "seconds", {}),
        ({"server": {"nme": 1}}, "server", "key guess", {"key": "nme", "guess": "name"}),
        (
            {"zzz": 1},
            "the book",
            "key",
            {
                "key": "zzz",
                "known": "prompts, resourceTemplates, resources, rules, server, tools, wait",
            },
        ),
        (
            {"server": {"protocol_versions": []}},
            "server.protocol_versions",
            "versions",
            {"known": "2024-11-05, 2025-03-26, 2025-06-18, 2025-11-25, 2026-07-28"},
        ),
        ({"tools": {}}, "tools", "tables", {}),
        ({"tools": ["a"]}, "tools", "tables", {}),
        ({"tools": [{"kind": "x"}]}, "tools[0].kind", "word", {"known": "approval, question"}),
        ({"tools": [{}, {"no_answer_after": 1}]}, "tools[1].no_answer_after", "text", {}),
        ({"tools": [{"kind": "question", "_meta": 1}]}, "tools[0]._meta", "table", {}),
        ({"rules": [{}]}, "rules[0]", "answers", ANSWER_KEYS),
        ({"rules": [RULE, {**RULE, "error": {}}]}, "rules[1]", "answers", ANSWER_KEYS),
        ({"rules": [{"do": "answer"}]}, "rules[0].do", "action", {}),
        ({"rules": [{"do": "hold", "keep": {}}]}, "rules[0].keep", "alone", {"key": "keep"}),
        (
            {"rules": [{"do": "hold", "notify": [], "ask": {}}]},
            "rules[0].ask",
            "alone",
            {"key": "ask"},
        ),
        (
            {"rules": [{**RULE, "tool": "a", "prompt": "b"}]},
            "rules[0].prompt",
            "one of",
            {"known": "tool, resource, prompt"},
        ),
        (
            {"rules": [{**RULE, "times": 1, "once": True}]},
            "rules[0].once",
            "one of",
            {"known": "times, once"},
        ),
        ({"rules": [{**RULE, "once": 1}]}, "rules[0].once", "flag", {}),
        ({"rules": [{**RULE, "method": 1}]}, "rules[0].method", "text", {}),
        ({"rules": [{**RULE, "resource": 1}]}, "rules[0].resource", "text", {}),
        ({"rules": [{**RULE, "requestState": {}}]}, "rules[0].requestState", "retried", {}),
        ({"rules": [{**RULE, "kept": "a"}]}, "rules[0].kept", "retried", {}),
        ({"rules": [{**RULE, "client_has": [1]}]}, "rules[0].client_has", "texts", {}),
        ({"rules": [{**RULE, "fill": 1}]}, "rules[0].fill", "flag", {}),
        ({"rules": [{**RULE, "then": {}}]}, "rules[0].then", "tables", {}),
        ({"rules": [{**RULE, "then": [RULE, {}]}]}, "rules[0].then[1]", "answers", ANSWER_KEYS),
        (
            {"rules": [{**RULE, "notify": [{"log": 1, "level": "loud"}]}]},
            "rules[0].notify[0].level",
            "word",
            {"known": "debug, info, notice, warning, error, critical, alert, emergency"},
        ),
        (
            {"rules": [{**RULE, "notify": [{"list_changed": "roots"}]}]},
            "rules[0].notify[0].list_changed",
            "word",
            {"known": "tools, prompts, resources"},
        ),
        (
            {"rules": [{**RULE, "notify": [{"log": 1}, {"log": 1, "updated": "a"}]}]},
            "rules[0].notify[1]",
            "answers",
            {"known": "log, progress, list_changed, updated, method"},
        ),
        (
            {"rules": [{**RULE, "notify": [{"updated": 1}]}]},
            "rules[0].notify[0].updated",
            "text",
            {},
        ),
        (
            {"rules": [{**RULE, "notify": [{"method": "m", "params": 1}]}]},
            "rules[0].notify[0].params",
            "table",
            {},
        ),
        (
            {"rules": [{**RULE, "notify": [{"progress": 1, "after": "x"}]}]},
            "rules[0].notify[0].after",
            "seconds",
            {},
        ),
        (
            {"rules": [{**RULE, "notify": [{"log": float("nan")}]}]},
            "rules[0].notify[0]",
            "json",
            {},
        ),
        (
            {"rules": [{**RULE, "ask": [ASK, {"q": 1}]}]},
            "rules[0].ask[1].q",
            "table",
            {},
        ),
        (
            {"rules": [{**RULE, "tool": "t", "ask": {"q": {"method": "ping"}}}]},
            "rules[0].ask.q.method",
            "word",
            {"known": "elicitation/create, sampling/createMessage, roots/list"},
        ),
        (
            {"rules": [{**RULE, "method": "tools/list", "ask": ASK}]},
            "rules[0].ask",
            "asks",
            {"known": "tools/call, resources/read, prompts/get"},
        ),
        (
            {"rules": [{**RULE, "tool": "t", "then": [{**RULE, "ask": ASK}], "requestState": "a"}]},
            "rules[0].ask",
            "asks twice",
            {},
        ),
        (
            {"rules": [{**RULE, "tool": "t", "inputResponses": False, "ask": ASK}]},
            "rules[0].ask",
            "asks twice",
            {},
        ),
        ({"rules": [{**RULE, "add": {"tools": [1]}}]}, "rules[0].add.tools", "tables", {}),
        ({"rules": [{**RULE, "remove": {"tools": [1]}}]}, "rules[0].remove.tools", "texts", {}),
        ({"rules": [{**RULE, "remove": 1}]}, "rules[0].remove", "table", {}),
        ({"wait": {"a/b": -0.1}}, "wait.'a/b'", "seconds", {}),
    ],
    ids=range(45),
)
def test_each_mistake_of_a_book_has_its_place_its_code_and_its_fillings(
    written: dict[str, Any], place: str, code: str, fillings: dict[str, str]
) -> None:
    """The sentence is made of these."""
    with pytest.raises(BookError) as caught:
        parse(written)
    error = caught.value
    assert (error.place, error.code, error.fillings) == (place, code, fillings)
    assert str(error) == f"{place}: {' '.join([code, *fillings.values()])}"


@pytest.mark.parametrize(
    ("written", "entry"),
    [
        (RULE, BookEntry("a", TextForm.TEXT, fills=False)),
        ({"text": "{a}"}, BookEntry("{a}", TextForm.TEXT)),
        ({"text": "{}"}, BookEntry("{}", TextForm.TEXT, fills=False)),
        ({"text": "{a}", "fill": False}, BookEntry("{a}", TextForm.TEXT, fills=False)),
        (
            {"result": {"a": {}}},
            BookEntry('{"a": {}}', TextForm.RESULT, fills=False),
        ),
        ({**RULE, "keep": {}}, BookEntry("a", TextForm.TEXT, fills=False)),
        ({**RULE, "keep": {"a": 1}}, BookEntry("a", TextForm.TEXT, keep={"a": 1})),
        ({**RULE, "notify": []}, BookEntry("a", TextForm.TEXT)),
        ({"do": "hold"}, BookEntry("", TextForm.RESULT, action=EntryAction.HOLD, fills=False)),
        (
            {"do": "forward"},
            BookEntry("", TextForm.RESULT, action=EntryAction.FORWARD, fills=False),
        ),
        ({**RULE, "once": True}, BookEntry("a", TextForm.TEXT, times=1, fills=False)),
        ({**RULE, "once": False}, BookEntry("a", TextForm.TEXT, fills=False)),
        ({**RULE, "times": 2}, BookEntry("a", TextForm.TEXT, times=2, fills=False)),
        (
            {**RULE, "tool": "t"},
            BookEntry("a", TextForm.TEXT, "tools/call", "t", fills=False),
        ),
        ({**RULE, "tool": ""}, BookEntry("a", TextForm.TEXT, fills=False)),
        (
            {**RULE, "prompt": "p", "method": "x"},
            BookEntry("a", TextForm.TEXT, "x", "p", fills=False),
        ),
        (
            {**RULE, "resource": "u"},
            BookEntry("a", TextForm.TEXT, "resources/read", resource="u", fills=False),
        ),
        (
            {**RULE, "fault": "cut-stream 3", "after": 2, "key": "k"},
            BookEntry("a", TextForm.TEXT, after=2.0, fault="cut-stream 3", key="k", fills=False),
        ),
    ],
    ids=range(18),
)
def test_a_rule_is_read_as_it_is_written(written: dict[str, Any], entry: BookEntry) -> None:
    """Each key, and what is so without it."""
    assert parse({"rules": [written]}).entries == (entry,)


@pytest.mark.parametrize(
    ("written", "notice"),
    [
        ({"log": 7}, Notice(LOG, {"level": "info", "data": 7})),
        (
            {"log": {}, "level": "error", "logger": "l", "after": 1},
            Notice(LOG, {"level": "error", "logger": "l", "data": {}}, 1.0),
        ),
        ({"progress": 1, "total": 2}, Notice(PROGRESS, {"progress": 1, "total": 2})),
        ({"list_changed": "prompts"}, Notice("notifications/prompts/list_changed")),
        ({"updated": "u"}, Notice(UPDATED, {"uri": "u"})),
        ({"method": "m"}, Notice("m")),
        ({"method": "m", "params": {"a": 1}}, Notice("m", {"a": 1})),
    ],
)
def test_a_notification_before_the_answer_is_read(written: dict[str, Any], notice: Notice) -> None:
    """In its shortest form."""
    (entry,) = parse({"rules": [{**RULE, "notify": [written]}]}).entries
    assert entry.notices == (notice,)


def test_the_rest_of_a_book_is_read() -> None:
    """What a table lists, in the order of the versions; a schema may be JSON text."""
    written = {
        "server": {
            "name": "n", "version": "v", "title": "t", "instructions": "i", "park": 3,
            "protocol_versions": ["2026-07-28", "2024-11-05"], "progress": False,
        },
        "tools": [
            {"name": "a", "inputSchema": '{"default":null}', "outputSchema": "{"},
            {"name": "b", "kind": "question", "no_answer_after": "s"},
        ],
        "prompts": [{"name": "p"}],
        "resourceTemplates": [{"uriTemplate": "u"}],
        "wait": {"ping": False, "*": 0},
    }  # fmt: skip
    meta = {KIND: "question", "humanmcp/no_answer_after": "s"}
    assert parse(written) == Book(
        "n",
        "v",
        "t",
        "i",
        ("2024-11-05", "2026-07-28"),
        tools=(
            {"name": "a", "inputSchema": {"default": None}, "outputSchema": "{"},
            {"outputSchema": OUTCOME, "name": "b", "_meta": meta},
        ),
        prompts=({"name": "p"},),
        resource_templates=({"uriTemplate": "u"},),
        wait={"ping": None, "*": 0.0},
        progress=False,
        park=3.0,
    )
    change = {**RULE, "add": {"tools": [{"name": "t"}]}, "remove": {"prompts": ["p"]}}
    (entry,) = parse({"rules": [change]}).entries
    assert entry.change == DefinitionChange({"tools": ({"name": "t"},)}, {"prompts": ("p",)})


@pytest.mark.parametrize(
    ("method", "name", "text"),
    [
        ("tools/call", "a", '[[rules]]\ntool = "a"\ntext = "…"'),
        ("tools/call", "", '[[rules]]\nmethod = "tools/call"\ntext = "…"'),
        ("prompts/get", 'é"', '[[rules]]\nprompt = "é\\""\nresult = {}'),
        ("resources/read", "u", '[[rules]]\nresource = "u"\nresult = {}'),
        ("x", "y", '[[rules]]\nmethod = "x"\nresult = {}'),
    ],
)
def test_an_example_of_a_rule_is_written_for_a_request(method: str, name: str, text: str) -> None:
    """It answers that request and none beside it."""
    assert example_entry(method, name) == text


def test_a_refusal_says_what_no_rule_answers_and_which_would() -> None:
    """Word for word: the model reads it."""
    found = decide(exchange("tools/call", name="b"), Book(), NegotiatedState(), refuse=True)
    message = (
        "No rule of the answer book answers tools/call b. Add one:\n"
        '[[rules]]\ntool = "b"\ntext = "…"'
    )
    assert found == Decision(
        0.0, json.dumps({"code": -32602, "message": message}, ensure_ascii=False),
        TextForm.ERROR, "book",
    )  # fmt: skip
    bare = decide(exchange("completion/complete"), Book(), NegotiatedState(), refuse=True)
    begins = "No rule of the answer book answers completion/complete. Add one:"
    assert answer(bare)["message"].startswith(begins)


INFO = {"name": "n", "version": "v"}
PLAIN = Book("n", "v", instructions="", tools=())
SERVED = {"io.modelcontextprotocol/serverInfo": INFO}
WRAPPED = {"resultType": "complete", "_meta": SERVED}


@pytest.mark.parametrize(
    ("asked_for", "own", "found"),
    [
        (
            exchange("initialize", protocolVersion="2025-03-26"),
            PLAIN,
            {"protocolVersion": "2025-03-26", "capabilities": {}, "serverInfo": INFO},
        ),
        (
            exchange("initialize"),
            PLAIN._replace(title="t", instructions="i", prompts=({"name": "p"},)),
            {
                "protocolVersion": "2025-11-25",
                "capabilities": {"prompts": {"listChanged": True}},
                "serverInfo": {"name": "n", "title": "t", "version": "v"},
                "instructions": "i",
            },
        ),
        (
            exchange("server/discover", "2026-07-28"),
            PLAIN._replace(protocol_versions=("2025-11-25", "2026-07-28")),
            {
                **WRAPPED,
                "supportedVersions": ["2025-11-25", "2026-07-28"],
                "capabilities": {},
                "ttlMs": 0,
                "cacheScope": "private",
            },
        ),
        (
            exchange("server/discover", "2026-07-28"),
            PLAIN._replace(protocol_versions=("2025-11-25",)),
            {"code": -32601, "message": "Method not found"},
        ),
        (exchange("resources/subscribe"), PLAIN, {}),
        (exchange("ping", "2026-07-28"), PLAIN, {"code": -32601, "message": "Method not found"}),
        (exchange("prompts/list"), PLAIN, {"prompts": []}),
        (
            exchange("tools/list", "2026-07-28"),
            PLAIN._replace(tools=({"name": "a", "outputSchema": {}},)),
            {
                **WRAPPED,
                "tools": [{"name": "a", "outputSchema": {}}],
                "ttlMs": 0,
                "cacheScope": "private",
            },
        ),
        (
            exchange("tools/list", "2025-03-26"),
            PLAIN._replace(tools=({"name": "a", "outputSchema": {}},)),
            {"tools": [{"name": "a"}]},
        ),
        (
            exchange(
                "tools/list",
                "2026-07-28",
                _meta={"io.modelcontextprotocol/protocolVersion": "2030-01-01"},
            ),
            PLAIN,
            {
                "code": -32022,
                "message": "Unsupported protocol version",
                "data": {
                    "supported": list(PLAIN.protocol_versions),
                    "requested": "2030-01-01",
                },
            },
        ),
    ],
    ids=range(10),
)
def test_the_own_answers_of_a_book_are_whole(
    asked_for: Exchange, own: Book, found: dict[str, Any]
) -> None:
    """Member by member."""
    assert answer(decide(asked_for, own, NegotiatedState(), mode=Mode.AUTO)) == found


@pytest.mark.parametrize(
    ("arguments", "limit", "after"),
    [
        ({"question": "Q?", "s": 5, "default": "d"}, "s", 5.0),
        ({"question": "Q?", "s": 5}, "t", None),
        ({"question": "Q?", "s": 5}, "", None),
        ({"question": "Q?", "s": "x"}, "s", None),
    ],
)
def test_a_question_that_nobody_answers_has_its_outcome_after_the_limit(
    arguments: dict[str, Any], limit: str, after: float | None
) -> None:
    """Of the tool that is called, and of no other."""
    meta = {"humanmcp/no_answer_after": limit} if limit else {}
    own = PLAIN._replace(tools=({"name": "x"}, {"name": "a", "_meta": meta}))
    call = exchange("tools/call", name="a", arguments=arguments)
    found = decide(call, own, NegotiatedState())
    assert found.after == after
    assert not decide(
        exchange("prompts/get", name="a", arguments=arguments), own, NegotiatedState()
    ).text
    if after is not None:
        outcome = {"status": "no_answer", "answers": {}, "defaults": {"Q?": "d"}}
        text = {"type": "text", "text": json.dumps(outcome)}
        assert answer(found) == {"content": [text], "structuredContent": outcome}
        assert (found.form, found.by, found.stoppable) == (TextForm.RESULT, "book", False)


def test_a_decision_is_due_from_its_moment_on() -> None:
    """A person who is at it stops only what may be stopped."""
    decision = Decision(2.0)
    assert [decision.due(waited) for waited in (1.9, 2.0, 2.1)] == [False, True, True]
    assert decision.due(2.0, touched=True)
    assert not decision._replace(stoppable=True).due(2.0, touched=True)
    assert decision._replace(stoppable=True).due(2.0)
    assert not Decision().due(9e9)
    error = {"code": 1, "message": "é"}
    refused = Decision(2.0, "x", TextForm.TEXT, "b", 3, notices=(Notice("m"),), fault="f")
    assert refused.refused(error) == Decision(
        2.0, json.dumps(error), TextForm.ERROR, "b", 3, counts=False
    )
