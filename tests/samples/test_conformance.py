"""`samples/conformance.toml` answers what the official conformance suite's server scenarios send.

Each test is named for a scenario of @modelcontextprotocol/conformance 0.2.0-alpha.12, sends what
that one sends, here over stdio, and looks at what it looks at.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final, Self

import pytest

from humanmcp.common.book_file import read_book
from humanmcp.protocol.conversation.exchange import Established
from humanmcp.protocol.validation import check
from tests.asking import R2025, R2026, STATED, asked
from tests.samples.test_servers import SAMPLES
from tests.serving import Serving

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

BOOK: Final = SAMPLES / "conformance.toml"
EVERYTHING: Final = {"sampling": {}, "elicitation": {}, "roots": {"listChanged": True}}


class Suite:
    """The suite's client, in one of the two eras. Every answer must pass the check as well."""

    def __init__(self, server: Serving, revision: str) -> None:
        """Open the session, where there is one to be opened."""
        self.server = server
        self.revision = revision
        self.notices: list[Any] = []
        self.asked: list[Any] = []
        self.handlers: dict[str, Any] = {}
        self.sent: dict[str, Any] = {}
        self._id = 0
        if revision == R2025:
            client = {"name": "conformance-test-client", "version": "1.0.0"}
            self.result(
                "initialize",
                protocolVersion=R2025,
                capabilities={"sampling": {}, "elicitation": {}},
                clientInfo=client,
            )
            server.say('{"jsonrpc":"2.0","method":"notifications/initialized"}')

    def __enter__(self) -> Self:
        """Use it as a context."""
        return self

    def __exit__(self, *_: object) -> None:
        """End the server."""
        self.server.__exit__(None, None, None)

    def send(self, method: str, /, declared: Any = None, **params: Any) -> int:  # noqa: ANN401 - any JSON value
        """Send a request; those of 2026-07-28 say of themselves what they must."""
        self._id += 1
        if self.revision == R2026:
            meta = {
                STATED + "protocolVersion": R2026,
                STATED + "clientInfo": {"name": "conformance-test-client", "version": "1.0.0"},
                STATED + "clientCapabilities": EVERYTHING if declared is None else declared,
            }
            params["_meta"] = {**meta, **params.get("_meta", {})}
        self.sent = params
        request = {"jsonrpc": "2.0", "id": self._id, "method": method, "params": params}
        self.server.say(json.dumps(request))
        return self._id

    def ask(self, method: str, /, declared: Any = None, **params: Any) -> Any:  # noqa: ANN401 - any JSON value
        """Send a request and return the answer to it; answer what the server asks meanwhile."""
        wanted = self.send(method, declared, **params)
        while True:
            message = json.loads(self.server.hear())
            if message.get("id") == wanted and "method" not in message:
                return message
            self._take(message)

    def _take(self, message: Any) -> None:  # noqa: ANN401 - any JSON value
        if "id" not in message:
            self.notices.append(message)
            return
        assert "method" in message, message
        assert self.revision == R2025, "a server of 2026-07-28 must ask by a result"
        self.asked.append(message)
        result = self.handlers[message["method"]]
        self.server.say(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}))

    def result(self, method: str, /, declared: Any = None, **params: Any) -> Any:  # noqa: ANN401 - any JSON value
        """Return a result, which passes the check of its revision without a word."""
        answer = self.ask(method, declared, **params)
        assert "result" in answer, answer
        exchange = asked(method, self.sent, token=str(answer["id"]), revision=self.revision)
        verdict = check.check(exchange, json.dumps(answer), established=Established())
        assert [each.code for each in verdict.errors] == []
        return answer["result"]

    def call(self, tool: str, /, **arguments: Any) -> Any:  # noqa: ANN401 - any JSON value
        """Call a tool."""
        return self.result("tools/call", name=tool, arguments=arguments)

    def hear(self, method: str) -> Any:  # noqa: ANN401 - any JSON value
        """Return the next notification of this method."""
        while True:
            found = next((one for one in self.notices if one["method"] == method), None)
            if found is not None:
                self.notices.remove(found)
                return found
            self._take(json.loads(self.server.hear()))


@pytest.fixture
def suite(tmp_path: Path) -> Iterator[Callable[[str], Suite]]:
    """Start a server with the book, for the suite in one era."""
    begun: list[Suite] = []

    def start(revision: str) -> Suite:
        begun.append(Suite(Serving(tmp_path / "home", "--book", str(BOOK)), revision))
        return begun[-1]

    yield start
    for one in begun:
        one.__exit__()


both = pytest.mark.parametrize("revision", [R2025, R2026])


def test_each_tool_prompt_and_resource_stands_in_the_book_once() -> None:
    """Clients take a list for a set of names."""
    book = read_book(BOOK)
    for entries, key in (
        (book.tools, "name"),
        (book.prompts, "name"),
        (book.resources, "uri"),
        (book.resource_templates, "uriTemplate"),
    ):
        named = [one[key] for one in entries]
        assert sorted(named) == sorted(set(named))


@both
def test_server_initialize_and_discover(suite: Callable[[str], Suite], revision: str) -> None:
    """server-initialize, and what server-stateless reads in the discovery."""
    seat = suite(revision)
    if revision == R2025:
        return  # `suite` has opened the session, and looked at the answer
    found = seat.result("server/discover")
    assert R2026 in found["supportedVersions"]
    assert found["capabilities"]["tools"] == {"listChanged": True}
    assert found["_meta"][STATED + "serverInfo"]["name"] == "humanmcp-conformance"


@both
def test_ping_logging_set_level_and_subscriptions(
    suite: Callable[[str], Suite], revision: str
) -> None:
    """ping, logging-set-level, resources-subscribe, -unsubscribe; 2026-07-28 has none of them."""
    seat = suite(revision)
    for method, params in (
        ("ping", {}),
        ("logging/setLevel", {"level": "info"}),
        ("resources/subscribe", {"uri": "test://watched-resource"}),
        ("resources/unsubscribe", {"uri": "test://watched-resource"}),
    ):
        answer = seat.ask(method, **params)
        if revision == R2025:
            assert answer["result"] == {}
        else:
            assert answer["error"]["code"] == -32601
    assert seat.ask("unknown/method")["error"]["code"] == -32601


@both
def test_tools_list(suite: Callable[[str], Suite], revision: str) -> None:
    """tools-list: each has a name, a description and a schema, in one order."""
    seat = suite(revision)
    first, second = (seat.result("tools/list")["tools"] for _ in range(2))
    assert first == second
    assert all(one["name"] and one["description"] and one["inputSchema"] for one in first)


@both
def test_json_schema_2020_12(suite: Callable[[str], Suite], revision: str) -> None:
    """json-schema-2020-12: no keyword of the schema is lost on its way through TOML."""
    tools = suite(revision).result("tools/list")["tools"]
    schema = next(one for one in tools if one["name"] == "json_schema_2020_12_tool")["inputSchema"]
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert schema["$defs"]["address"]["$anchor"] == "addressDef"
    assert schema["additionalProperties"] is False
    assert schema["allOf"][0]["anyOf"]
    assert schema["if"]
    assert schema["then"]
    assert schema["else"]


@both
def test_plain_tool_calls(suite: Callable[[str], Suite], revision: str) -> None:
    """tools-call-simple-text, -image, -audio, -embedded-resource, -mixed-content, -error."""
    seat = suite(revision)
    simple = seat.result("tools/call", name="test_simple_text")["content"]
    assert simple == [{"type": "text", "text": "This is a simple text response for testing."}]
    (image,) = seat.call("test_image_content")["content"]
    assert (image["type"], image["mimeType"], bool(image["data"])) == ("image", "image/png", True)
    (audio,) = seat.call("test_audio_content")["content"]
    assert (audio["type"], audio["mimeType"], bool(audio["data"])) == ("audio", "audio/wav", True)
    (embedded,) = seat.call("test_embedded_resource")["content"]
    assert embedded["resource"]["text"] == "This is an embedded resource content."
    mixed = seat.call("test_multiple_content_types")["content"]
    assert [one["type"] for one in mixed] == ["text", "image", "resource"]
    error = seat.call("test_error_handling")
    assert error["isError"] is True
    assert error["content"][0]["text"]


def test_tools_call_with_logging(suite: Callable[[str], Suite]) -> None:
    """tools-call-with-logging: three messages come before the answer."""
    seat = suite(R2025)
    seat.result("logging/setLevel", level="debug")
    assert seat.call("test_tool_with_logging")["content"]
    said = [one["params"]["data"] for one in seat.notices]
    assert said == [
        "Tool execution started",
        "Tool processing data",
        "Tool execution completed",
    ]


def test_a_level_that_was_set_keeps_lower_messages_back(suite: Callable[[str], Suite]) -> None:
    """MCP: servers send log messages at and above the level that was set."""
    seat = suite(R2025)
    seat.result("logging/setLevel", level="error")
    seat.call("test_tool_with_logging")
    assert seat.notices == []


def test_no_log_without_log_level(suite: Callable[[str], Suite]) -> None:
    """server-stateless: only a request that states a level is logged to."""
    seat = suite(R2026)
    seat.call("test_logging_tool")
    assert seat.notices == []
    meta = {STATED + "logLevel": "info"}
    seat.result("tools/call", name="test_logging_tool", arguments={}, _meta=meta)
    assert [one["method"] for one in seat.notices] == ["notifications/message"]


@both
def test_tools_call_with_progress(suite: Callable[[str], Suite], revision: str) -> None:
    """tools-call-with-progress: under the request's token; without one nothing is said."""
    seat = suite(revision)
    seat.call("test_tool_with_progress")
    assert seat.notices == []
    meta = {"progressToken": "progress-test-1"}
    seat.result("tools/call", name="test_tool_with_progress", arguments={}, _meta=meta)
    assert [one["params"] for one in seat.notices] == [
        {"progressToken": "progress-test-1", "progress": step, "total": 100}
        for step in (0, 50, 100)
    ]


def test_tools_call_sampling(suite: Callable[[str], Suite]) -> None:
    """tools-call-sampling: the model is asked what the arguments say, its answer is used."""
    seat = suite(R2025)
    seat.handlers["sampling/createMessage"] = {
        "role": "assistant",
        "content": {"type": "text", "text": "This is a test response from the client"},
        "model": "test-model",
        "stopReason": "endTurn",
    }
    content = seat.call("test_sampling", prompt="Test prompt for sampling")["content"]
    (asked_for,) = seat.asked
    assert asked_for["params"]["messages"][0]["content"]["text"] == "Test prompt for sampling"
    assert content[0]["text"] == "LLM response: This is a test response from the client"


def test_tools_call_elicitation(suite: Callable[[str], Suite]) -> None:
    """tools-call-elicitation."""
    seat = suite(R2025)
    content = {"username": "testuser", "email": "test@example.com"}
    seat.handlers["elicitation/create"] = {"action": "accept", "content": content}
    (said,) = seat.call("test_elicitation", message="Please provide your information")["content"]
    assert seat.asked[0]["params"]["message"] == "Please provide your information"
    assert said["text"] == (
        "User response: action=accept, "
        'content={"username": "testuser", "email": "test@example.com"}'
    )


def test_elicitation_forms(suite: Callable[[str], Suite]) -> None:
    """elicitation-sep1034-defaults, elicitation-sep1330-enums."""
    seat = suite(R2025)
    seat.handlers["elicitation/create"] = {"action": "decline"}
    seat.call("test_elicitation_sep1034_defaults")
    seat.call("test_elicitation_sep1330_enums")
    defaults, enums = (one["params"]["requestedSchema"]["properties"] for one in seat.asked)
    assert {name: one["default"] for name, one in defaults.items()} == {
        "name": "John Doe",
        "age": 30,
        "score": 95.5,
        "status": "active",
        "verified": True,
    }
    assert enums["untitledSingle"]["enum"] == ["option1", "option2", "option3"]
    assert enums["titledSingle"]["oneOf"][0] == {"const": "value1", "title": "First Option"}
    assert len(enums["legacyEnum"]["enumNames"]) == len(enums["legacyEnum"]["enum"])
    assert enums["untitledMulti"]["items"]["enum"]
    assert enums["titledMulti"]["items"]["anyOf"][0] == {"const": "value1", "title": "First Choice"}


@both
def test_prompts(suite: Callable[[str], Suite], revision: str) -> None:
    """prompts-list, prompts-get-simple, -with-args, -embedded-resource, -with-image."""
    seat = suite(revision)
    assert all(one["name"] and one["description"] for one in seat.result("prompts/list")["prompts"])
    (simple,) = seat.result("prompts/get", name="test_simple_prompt")["messages"]
    assert simple["content"]["text"] == "This is a simple prompt for testing."
    given = {"arg1": "testValue1", "arg2": "testValue2"}
    filled = seat.result("prompts/get", name="test_prompt_with_arguments", arguments=given)
    text = filled["messages"][0]["content"]["text"]
    assert text == "Prompt with arguments: arg1='testValue1', arg2='testValue2'"
    given = {"resourceUri": "test://example-resource"}
    filled = seat.result("prompts/get", name="test_prompt_with_embedded_resource", arguments=given)
    assert filled["messages"][0]["content"]["resource"]["uri"] == "test://example-resource"
    image = seat.result("prompts/get", name="test_prompt_with_image")["messages"][0]["content"]
    assert (image["type"], image["mimeType"], bool(image["data"])) == ("image", "image/png", True)


@both
def test_completion_complete(suite: Callable[[str], Suite], revision: str) -> None:
    """completion-complete."""
    ref = {"type": "ref/prompt", "name": "test_prompt_with_arguments"}
    found = suite(revision).result(
        "completion/complete", ref=ref, argument={"name": "arg1", "value": "test"}
    )
    assert isinstance(found["completion"]["values"], list)


@both
def test_resources(suite: Callable[[str], Suite], revision: str) -> None:
    """resources-list, resources-read-text, -read-binary, resources-templates-read."""
    seat = suite(revision)
    assert all(one["uri"] and one["name"] for one in seat.result("resources/list")["resources"])
    (text,) = seat.result("resources/read", uri="test://static-text")["contents"]
    assert text == {
        "uri": "test://static-text",
        "mimeType": "text/plain",
        "text": "This is the content of the static text resource.",
    }
    (binary,) = seat.result("resources/read", uri="test://static-binary")["contents"]
    assert (binary["mimeType"], bool(binary["blob"])) == ("image/png", True)
    (filled,) = seat.result("resources/read", uri="test://template/123/data")["contents"]
    assert filled["uri"] == "test://template/123/data"
    assert json.loads(filled["text"])["id"] == "123"


def test_sep_2164_resource_not_found(suite: Callable[[str], Suite]) -> None:
    """sep-2164-resource-not-found: -32602, and the address in `data`."""
    uri = "test://nonexistent-resource-for-conformance-testing"
    error = suite(R2026).ask("resources/read", uri=uri)["error"]
    assert (error["code"], error["data"]) == (-32602, {"uri": uri})


def test_caching(suite: Callable[[str], Suite]) -> None:
    """caching: hints on every list, and on what is read."""
    seat = suite(R2026)
    uri = seat.result("resources/list")["resources"][0]["uri"]
    for method, params in (
        ("tools/list", {}),
        ("prompts/list", {}),
        ("resources/list", {}),
        ("resources/templates/list", {}),
        ("resources/read", {"uri": uri}),
    ):
        found = seat.result(method, **params)
        assert (found["ttlMs"], found["cacheScope"]) == (0, "private")


# -- server-stateless ---------------------------------------------------------------------------


@pytest.mark.parametrize("lacking", ["protocolVersion", "clientCapabilities"])
def test_a_request_without_its_meta_is_malformed(
    suite: Callable[[str], Suite], lacking: str
) -> None:
    """server-stateless: -32602, whatever was asked; the name of the client may be left out."""
    seat = suite(R2026)
    stated = {STATED + "protocolVersion": R2026, STATED + "clientCapabilities": {}}
    request = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {"_meta": stated}}
    seat.server.say(json.dumps(request))
    assert "result" in json.loads(seat.server.hear())
    if lacking == "clientCapabilities":  # without a version it is a request of another era
        del stated[STATED + lacking]
        seat.server.say(json.dumps(request | {"id": 2}))
        assert json.loads(seat.server.hear())["error"]["code"] == -32602


def test_a_version_that_is_not_served_is_named_back(suite: Callable[[str], Suite]) -> None:
    """server-stateless: the error lists what is served, and echoes what was asked for."""
    meta = {STATED + "protocolVersion": "v999.0.0"}
    error = suite(R2026).ask("server/discover", _meta=meta)["error"]
    assert error["code"] == -32022
    assert error["data"]["requested"] == "v999.0.0"
    assert R2026 in error["data"]["supported"]


def test_a_capability_that_was_not_declared_is_named(suite: Callable[[str], Suite]) -> None:
    """server-stateless: -32021, keyed by the capability that is missing."""
    seat = suite(R2026)
    error = seat.ask("tools/call", {}, name="test_missing_capability", arguments={})["error"]
    assert error["code"] == -32021
    assert error["data"]["requiredCapabilities"] == {"sampling": {}}


def test_a_question_is_no_request_of_the_servers(suite: Callable[[str], Suite]) -> None:
    """server-stateless: the stream holds `input_required` and no request."""
    result = suite(R2026).call("test_streaming_elicitation")
    assert result["resultType"] == "input_required"


@pytest.mark.parametrize("list_", ["tools", "prompts"])
def test_a_change_of_what_is_offered_is_told_to_who_asked(
    suite: Callable[[str], Suite], list_: str
) -> None:
    """server-stateless: acknowledged first, then the change, each with the subscription's id."""
    seat = suite(R2026)
    seat.result("server/discover")
    listening = seat.send("subscriptions/listen", notifications={f"{list_}ListChanged": True})
    other = "promptsListChanged" if list_ == "tools" else "toolsListChanged"
    elsewhere = seat.send("subscriptions/listen", notifications={other: True})
    first, second = json.loads(seat.server.hear()), json.loads(seat.server.hear())
    assert first["method"] == second["method"] == "notifications/subscriptions/acknowledged"
    before = len(seat.result(f"{list_}/list")[list_])
    for count in (before + 1, before, before + 1):
        seat.call(f"test_trigger_{list_.removesuffix('s')}_change")
        changed = seat.hear(f"notifications/{list_}/list_changed")
        assert changed["params"]["_meta"][STATED + "subscriptionId"] == listening != elsewhere
        assert len(seat.result(f"{list_}/list")[list_]) == count
    assert seat.notices == []


# -- input-required-result-* --------------------------------------------------------------------


def accept(**content: Any) -> dict[str, Any]:  # noqa: ANN401 - any JSON value
    """Answer a form."""
    return {"action": "accept", "content": content}


def said(text: str) -> dict[str, Any]:
    """Answer as a model."""
    content = {"type": "text", "text": text}
    return {
        "role": "assistant",
        "content": content,
        "model": "test-model",
        "stopReason": "endTurn",
    }


ROOTS: Final = {"roots": [{"uri": "file:///test/root", "name": "Test Root"}]}


@pytest.mark.parametrize(
    ("tool", "key", "method", "answer", "text"),
    [
        ("elicitation", "user_name", "elicitation/create", accept(name="Alice"), "Hello, Alice!"),
        (
            "sampling",
            "capital_question",
            "sampling/createMessage",
            said("The capital of France is Paris."),
            "The model says: The capital of France is Paris.",
        ),
        ("list_roots", "client_roots", "roots/list", ROOTS, "Your first root: file:///test/root"),
        ("request_state", "confirm", "elicitation/create", accept(ok=True), "state-ok"),
    ],
)
def test_input_required_result_basic(  # noqa: PLR0917 - the columns of a table
    suite: Callable[[str], Suite],
    tool: str,
    key: str,
    method: str,
    answer: Any,  # noqa: ANN401 - any JSON value
    text: str,
) -> None:
    """input-required-result-basic-elicitation, -sampling, -list-roots, -request-state."""
    seat = suite(R2026)
    name = f"test_input_required_result_{tool}"
    first = seat.call(name)
    assert first["resultType"] == "input_required"
    assert first["inputRequests"][key]["method"] == method
    assert isinstance(first["requestState"], str)
    repeat = {"inputResponses": {key: answer}, "requestState": first["requestState"]}
    last = seat.result("tools/call", name=name, arguments={}, **repeat)
    assert last["resultType"] == "complete"
    assert last["content"][0]["text"] == text


def test_input_required_result_multiple_input_requests(suite: Callable[[str], Suite]) -> None:
    """input-required-result-multiple-input-requests."""
    seat = suite(R2026)
    name = "test_input_required_result_multiple_inputs"
    first = seat.call(name)
    asked_for = {key: one["method"] for key, one in first["inputRequests"].items()}
    assert asked_for == {
        "user_name": "elicitation/create",
        "greeting": "sampling/createMessage",
        "client_roots": "roots/list",
    }
    given = {
        "user_name": accept(name="Alice"),
        "greeting": said("Hello there!"),
        "client_roots": ROOTS,
    }
    state = first["requestState"]
    last = seat.result(
        "tools/call", name=name, arguments={}, inputResponses=given, requestState=state
    )
    assert last["content"][0]["text"] == (
        "Hello there! You are Alice, your root is file:///test/root."
    )


def test_input_required_result_multi_round(suite: Callable[[str], Suite]) -> None:
    """input-required-result-multi-round: each round has a state, and what went before."""
    seat = suite(R2026)
    name = "test_input_required_result_multi_round"
    first = seat.call(name)
    state, given = first["requestState"], {"step1": accept(name="Alice")}
    second = seat.result(
        "tools/call", name=name, arguments={}, inputResponses=given, requestState=state
    )
    assert second["resultType"] == "input_required"
    assert second["requestState"] != state
    (question,) = second["inputRequests"].values()
    assert question["params"]["message"] == "Step 2: What is your favorite color, Alice?"
    state, given = second["requestState"], {"step2": accept(color="blue")}
    last = seat.result(
        "tools/call", name=name, arguments={}, inputResponses=given, requestState=state
    )
    assert last["content"][0]["text"] == "Alice likes blue."


@pytest.mark.parametrize(
    ("responses", "complete"),
    [
        ({"wrong_key": accept(data="wrong")}, False),
        ({"user_name": 12345}, False),
        (None, False),
        ({"user_name": accept(name="Alice"), "unknown_extra_key": accept(foo="bar")}, True),
    ],
)
def test_input_required_result_odd_answers(
    suite: Callable[[str], Suite],
    responses: Any,  # noqa: ANN401 - any JSON value
    complete: bool,  # noqa: FBT001 - a column of the table
) -> None:
    """input-required-result-missing-input-response, -ignore-extra-params, -validate-input."""
    name = "test_input_required_result_elicitation"
    found = suite(R2026).ask("tools/call", name=name, arguments={}, inputResponses=responses)
    result = found["result"]
    assert result["resultType"] == ("complete" if complete else "input_required")


def test_input_required_result_non_tool_request(suite: Callable[[str], Suite]) -> None:
    """input-required-result-non-tool-request: a prompt asks, too."""
    seat = suite(R2026)
    name = "test_input_required_result_prompt"
    first = seat.result("prompts/get", name=name)
    given = {"user_context": accept(context="test context")}
    last = seat.result(
        "prompts/get", name=name, inputResponses=given, requestState=first["requestState"]
    )
    assert last["messages"][0]["content"]["text"] == "Mind this: test context"


def test_input_required_result_tampered_state(suite: Callable[[str], Suite]) -> None:
    """input-required-result-tampered-state, and a state that is lent to another tool."""
    seat = suite(R2026)
    name = "test_input_required_result_tampered_state"
    state = seat.call(name)["requestState"]
    given = {"confirm": accept(ok=True)}
    other = "test_input_required_result_request_state"
    for tool, brought in ((name, f"{state}-TAMPERED"), (name, "x"), (other, state)):
        answer = seat.ask(
            "tools/call", name=tool, arguments={}, inputResponses=given, requestState=brought
        )
        assert answer["error"]["code"] == -32602, (tool, brought)


def test_input_required_result_capability_check(suite: Callable[[str], Suite]) -> None:
    """input-required-result-capability-check: only what the client can answer is asked."""
    seat = suite(R2026)
    name = "test_input_required_result_capabilities"
    first = seat.result("tools/call", {"sampling": {}}, name=name, arguments={})
    assert [one["method"] for one in first["inputRequests"].values()] == ["sampling/createMessage"]


@both
def test_an_unknown_tool_or_prompt_is_an_error(
    suite: Callable[[str], Suite], revision: str
) -> None:
    """Nothing waits for a person: the suite has none."""
    seat = suite(revision)
    assert seat.ask("tools/call", name="nobody")["error"]["message"] == "Unknown tool: nobody"
    assert seat.ask("prompts/get", name="nobody")["error"]["message"] == "Unknown prompt: nobody"
