"""The table of methods and of protocol versions."""

import json
import tomllib
from pathlib import Path
from typing import Final

import pytest

from humanmcp.protocol.json.jsonrpc import Message, read
from humanmcp.protocol.tables import examples, methods, versions
from humanmcp.protocol.tables.methods import MethodDirection

TO_SERVER = {
    "initialize": "xxxx-",
    "server/discover": "----x",
    "ping": "xxxx-",
    "tools/list": "xxxxx",
    "tools/call": "xxxxx",
    "resources/list": "xxxxx",
    "resources/templates/list": "xxxxx",
    "resources/read": "xxxxx",
    "resources/subscribe": "xxxx-",
    "resources/unsubscribe": "xxxx-",
    "prompts/list": "xxxxx",
    "prompts/get": "xxxxx",
    "completion/complete": "xxxxx",
    "logging/setLevel": "xxxx-",
    "subscriptions/listen": "----x",
    "tasks/get": "---xx",
    "tasks/result": "---x-",
    "tasks/list": "---x-",
    "tasks/cancel": "---xx",
    "tasks/update": "----x",
    "skills/list": "----x",
    "skills/get": "----x",
    "resources/directory/read": "----x",
    "roots/list": "-----",
}
TO_CLIENT = {
    "ping": "xxxx-",
    "roots/list": "xxxx-",
    "sampling/createMessage": "xxxx-",
    "elicitation/create": "--xx-",
    "tasks/get": "---x-",
    "tools/call": "-----",
}


@pytest.mark.parametrize(
    ("direction", "table"),
    [(MethodDirection.TO_SERVER, TO_SERVER), (MethodDirection.TO_CLIENT, TO_CLIENT)],
)
def test_each_request_exists_in_its_versions_only(
    direction: MethodDirection, table: dict[str, str]
) -> None:
    """Row by row: which version has which request, and which way it goes."""
    for method, marks in table.items():
        for version, mark in zip(versions.ALL, marks, strict=True):
            record = methods.named(method, is_request=True)
            sends = record.to_server if direction is MethodDirection.TO_SERVER else record.to_client
            assert (version in sends) is (mark == "x"), (method, version)


def test_2026_left_the_client_one_notification() -> None:
    """Only `notifications/cancelled`."""
    allowed = {
        one
        for one in methods.NOTIFICATIONS
        if versions.R2026_07 in methods.NOTIFICATIONS[one].to_server
    }
    assert allowed == {"notifications/cancelled"}


def test_each_method_has_a_page_of_its_version() -> None:
    """The address names the version and the longest matching page."""
    page = methods.page("tools/call", "2025-06-18")
    assert page == "https://modelcontextprotocol.io/specification/2025-06-18/server/tools"
    assert methods.page("resources/templates/list", "2024-11-05").endswith("server/resources")
    assert methods.page("no/such", "1900-01-01").endswith("2025-11-25/basic")


PAGES = tomllib.loads(Path(__file__).with_name("spec_pages.toml").read_text(encoding="utf-8"))


@pytest.mark.parametrize("version", versions.ALL)
@pytest.mark.parametrize("method", [*methods.REQUESTS, *methods.NOTIFICATIONS, "no/such"])
def test_no_link_leads_to_a_page_that_the_version_does_not_have(method: str, version: str) -> None:
    """`subscriptions/listen` and 38 other pairs of a method and a version were dead links."""
    address = methods.page(method, version).removeprefix("https://modelcontextprotocol.io/")
    assert address in {f"specification/{version}/{page}" for page in PAGES[version]} | {
        *PAGES["site"]
    }


@pytest.mark.parametrize(
    ("method", "capability"),
    [
        ("tools/list", "tools"),
        ("completion/complete", "completions"),
        ("logging/setLevel", "logging"),
        ("ping", ""),
        ("initialize", ""),
    ],
)
def test_a_method_needs_its_capability(method: str, capability: str) -> None:
    """`completion/complete` needs `completions`."""
    assert methods.of(method).capability == capability


def test_every_record_is_whole() -> None:
    """Each goes some way; each request has an example in each of its versions."""
    for one in (*methods.REQUESTS.values(), *methods.NOTIFICATIONS.values()):
        assert one.versions, one.name
        assert one.name not in methods.REQUESTS or one.name not in methods.NOTIFICATIONS
        for version in one.versions if one.result else ():
            assert dict(examples.each_result(one.name, version)), (one.name, version)


def test_only_the_extension_that_may_answer_a_method_does() -> None:
    """A task may stand in the place of a tool's result, and of no prompt's."""
    assert methods.extension_answering("tools/call", "task") is methods.TASKS
    assert methods.extension_answering("prompts/get", "task") is None
    assert methods.extension_answering("tools/call", ["task"]) is None


@pytest.mark.parametrize(
    ("feature", "marks"),
    [
        ("stateless", "----x"),
        ("server_requests", "xxxx-"),
        ("input_required", "----x"),
        ("result_types", "----x"),
        ("subscriptions", "----x"),
        ("batches", "-x---"),
        ("progress_messages", "-xxxx"),
        ("completions", "-xxxx"),
        ("structured_content", "--xxx"),
        ("asked_for_tasks", "---x-"),
        ("resumable", "---x-"),
        ("any_schema", "----x"),
    ],
)
def test_each_version_has_its_features(feature: str, marks: str) -> None:
    """What code asks for, instead of whether a version is a modern one."""
    has = [getattr(versions.features(one), feature) for one in versions.ALL]
    assert has == [mark == "x" for mark in marks]


def test_an_unknown_version_is_taken_for_the_last_with_a_handshake() -> None:
    """A tap meets versions that did not exist when this was written."""
    assert versions.features("2031-01-01") == versions.features(versions.LATEST_HANDSHAKE)


def test_a_modern_request_states_its_version_itself() -> None:
    """2026-07-28: it stands in the request's `_meta`; elsewhere nothing is stated."""
    modern = read(
        b'{"id":1,"method":"x","params":{"_meta":'
        b'{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}'
    )
    plain = read(b'{"id":1,"method":"x","params":{"_meta":{"progressToken":1}}}')
    assert isinstance(modern, Message)
    assert isinstance(plain, Message)
    assert versions.stated_in(modern) == "2026-07-28"
    assert versions.stated_in(plain) is None


def request_of(method: str, **params: object) -> Message:
    """Make a request."""
    found = read(json.dumps({"id": 1, "method": method, "params": params}).encode())
    assert isinstance(found, Message)
    return found


@pytest.mark.parametrize(
    ("method", "params", "declared", "lacks"),
    [
        ("roots/list", {}, {}, "roots"),
        ("roots/list", {}, {"roots": {}}, ""),
        ("ping", {}, {}, ""),
        ("tools/list", {}, {}, ""),
        ("no/such", {}, {}, ""),
        ("notifications/message", {}, {}, ""),
        ("sampling/createMessage", {}, {"roots": {}}, "sampling"),
        ("sampling/createMessage", {"messages": []}, {"sampling": {}}, ""),
        ("sampling/createMessage", {"tools": []}, {"sampling": {}}, "sampling.tools"),
        ("sampling/createMessage", {"toolChoice": {}}, {"sampling": {"x": 1}}, "sampling.tools"),
        ("sampling/createMessage", {"tools": []}, {"sampling": {"tools": {}}}, ""),
        ("sampling/createMessage", {"tools": []}, {"sampling": True}, "sampling.tools"),
        ("sampling/createMessage", ["tools"], {"sampling": {}}, ""),
        ("elicitation/create", {}, {}, "elicitation"),
        ("elicitation/create", {}, {"elicitation": {}}, ""),
        ("elicitation/create", {"mode": "form"}, {"elicitation": {}}, ""),
        ("elicitation/create", {"mode": "url"}, {"elicitation": {}}, "elicitation.url"),
        ("elicitation/create", {"mode": "url"}, {"elicitation": {"url": {}}}, ""),
        ("elicitation/create", {}, {"elicitation": {"url": {}}}, "elicitation.form"),
        ("elicitation/create", {"mode": "url"}, {"elicitation": 7}, "elicitation.url"),
        ("elicitation/create", {"mode": "x"}, {"elicitation": {}}, ""),
        ("elicitation/create", {"tools": []}, {"elicitation": {}}, ""),
        ("elicitation/create", None, {"elicitation": {}}, ""),
    ],
)
def test_a_request_to_a_client_needs_what_the_client_declares(
    method: str, params: object, declared: dict[str, object], lacks: str
) -> None:
    """Word for word as the message says it."""
    assert methods.undeclared(method, params, declared) == lacks


VERSION, CAPABILITIES = versions.META_VERSION, versions.META_CAPABILITIES
META: Final = {VERSION: "2026-07-28", CAPABILITIES: {}}
HAS_TASKS: Final = {
    **META,
    CAPABILITIES: {"extensions": {"io.modelcontextprotocol/tasks": {}}},
}
NEEDS_TASKS: Final = {
    "code": -32021,
    "message": "The client has not declared io.modelcontextprotocol/tasks",
    "data": {"requiredCapabilities": {"extensions": {"io.modelcontextprotocol/tasks": {}}}},
}


@pytest.mark.parametrize(
    ("method", "params", "refused"),
    [
        ("tools/list", {"_meta": META}, None),
        (
            "tools/list",
            {"_meta": {CAPABILITIES: {}}},
            {"code": -32602, "message": f"Invalid params: _meta lacks {VERSION}"},
        ),
        (
            "tasks/get",
            {"_meta": {VERSION: "2026-07-28"}},
            {"code": -32602, "message": f"Invalid params: _meta lacks {CAPABILITIES}"},
        ),
        ("ping", {}, None),
        ("no/such", {}, None),
        ("roots/list", {}, None),
        ("tasks/get", {"_meta": META}, NEEDS_TASKS),
        ("tasks/get", {"_meta": HAS_TASKS}, None),
        ("tasks/result", {"_meta": META}, None),
        ("subscriptions/listen", {"_meta": META, "notifications": {"taskIds": []}}, NEEDS_TASKS),
        ("subscriptions/listen", {"_meta": META, "notifications": {"x": ["taskIds"]}}, None),
        ("subscriptions/listen", {"_meta": META, "notifications": ["taskIds"]}, None),
        ("subscriptions/listen", {"_meta": HAS_TASKS, "notifications": {"taskIds": []}}, None),
        ("tools/list", {"_meta": META, "notifications": {"taskIds": []}}, None),
    ],
)
def test_a_request_of_2026_that_lacks_something_is_refused_with_its_name(
    method: str, params: dict[str, object], refused: object
) -> None:
    """An earlier version needs none of it."""
    assert methods.refusal(request_of(method, **params), "2026-07-28") == refused
    assert methods.refusal(request_of(method, **params), "2025-11-25") is None


@pytest.mark.parametrize(
    ("method", "direction", "listed"),
    [
        ("ping", MethodDirection.BOTH, "xxxx-"),
        ("tools/list", MethodDirection.TO_SERVER, "xxxxx"),
        ("roots/list", MethodDirection.TO_CLIENT, "xxxx-"),
        ("tasks/get", MethodDirection.BOTH, "---xx"),
        ("notifications/progress", MethodDirection.BOTH, "xxxxx"),
        ("notifications/tasks", MethodDirection.TO_CLIENT, "----x"),
        ("no/such", MethodDirection.TO_CLIENT, "-----"),
    ],
)
def test_a_method_goes_one_way_or_both_in_its_versions(
    method: str, direction: MethodDirection, listed: str
) -> None:
    """A version counts in which either side sends it."""
    record = methods.of(method)
    assert record.direction is direction
    have = tuple(one for one, mark in zip(versions.ALL, listed, strict=True) if mark == "x")
    assert record.versions == have
    assert tuple(one for one in versions.ALL if record.is_in(one)) == have


@pytest.mark.parametrize(
    ("method", "version", "address"),
    [
        ("tasks/get", "2025-11-25", "specification/2025-11-25/basic/utilities/tasks"),
        ("tasks/get", "2026-07-28", "extensions/tasks/overview"),
        ("tasks/x", "2026-07-28", "extensions/tasks/overview"),
        ("tools/x", "2025-06-18", "specification/2025-06-18/server/tools"),
        ("notifications/x", "2025-06-18", "specification/2025-06-18/basic"),
        ("x", "2025-06-18", "specification/2025-06-18/basic"),
        ("initialize", "2025-11-25", "specification/2025-11-25/basic/lifecycle"),
        ("initialize", "2026-07-28", "specification/2026-07-28/basic/versioning"),
        ("skills/get", "2026-07-28", "seps/2640-skills-extension"),
    ],
)
def test_a_page_changes_with_the_version(method: str, version: str, address: str) -> None:
    """An unknown method has the page of those that begin like it."""
    assert methods.page(method, version) == f"https://modelcontextprotocol.io/{address}"


@pytest.mark.parametrize(
    ("method", "version", "result"),
    [
        ("tasks/cancel", "2025-11-25", "TaskResult"),
        ("tasks/cancel", "2026-07-28", "TaskAcknowledged"),
        ("tools/call", "2026-07-28", "CallToolResult"),
        ("notifications/progress", "2025-11-25", ""),
    ],
)
def test_a_result_changes_with_the_version(method: str, version: str, result: str) -> None:
    """The object that a check looks up."""
    assert methods.of(method).result_in(version) == result


def test_a_record_is_of_a_request_or_of_a_notification() -> None:
    """A name of the one is unknown as the other."""
    assert methods.named("ping", is_request=True).name == "ping"
    assert methods.named("ping", is_request=False).name == ""
    assert methods.named("notifications/progress", is_request=False).to_client == versions.ALL
    assert methods.named("notifications/progress", is_request=True).name == ""
    assert methods.has_request("ping", "2025-11-25")
    assert not methods.has_request("ping", "2026-07-28")
    assert not methods.has_request("notifications/progress", "2025-11-25")
    assert not methods.has_request("roots/list", "2025-11-25")


@pytest.mark.parametrize(
    ("meta", "stated", "unserved"),
    [
        ({}, None, None),
        ({VERSION: 7}, None, None),
        ({VERSION: "2026-07-28"}, "2026-07-28", None),
        ({VERSION: "2025-11-25"}, "2025-11-25", "2025-11-25"),
        ({VERSION: ""}, "", ""),
    ],
)
def test_a_version_that_a_request_states_is_served_or_not(
    meta: dict[str, object], stated: str | None, unserved: str | None
) -> None:
    """Only those without a handshake can be stated."""
    request = request_of("ping", _meta=meta)
    assert (versions.stated_in(request), versions.unserved_in(request)) == (stated, unserved)
