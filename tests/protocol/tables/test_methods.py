"""The table of methods and of protocol versions."""

import tomllib
from pathlib import Path

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
