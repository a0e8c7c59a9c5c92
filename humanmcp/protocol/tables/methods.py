"""The methods of MCP: one record each, with all that the specification says about it.

A new method is one record here, an example in `examples.py` and sentences in `locales/`. Methods of
an extension are in its record. `objects.py` describes the objects that the records name. The source
of a record is the page that it names.
"""

from __future__ import annotations

import enum
import re
from functools import partial
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from humanmcp.protocol.json.spelling import alike
from humanmcp.protocol.json.tree import follow
from humanmcp.protocol.tables.types import ByMember
from humanmcp.protocol.tables.versions import (
    ALL,
    HANDSHAKE,
    LATEST_HANDSHAKE,
    META_CAPABILITIES,
    META_PREFIX,
    META_REQUIRED,
    R2025_06,
    R2025_11,
    R2026_07,
    SITE,
    SPEC,
    STATELESS,
    features,
)

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from humanmcp.protocol.json.jsonrpc import Json, JsonObject, Message
    from humanmcp.protocol.tables.types import Kind


CANCELLED: Final = "notifications/cancelled"
DISCOVER: Final = "server/discover"
INITIALIZED: Final = "notifications/initialized"
LOG: Final = "notifications/message"
PROGRESS: Final = "notifications/progress"
UPDATED: Final = "notifications/resources/updated"


class MethodDirection(enum.Enum):
    """The side that sends a method."""

    TO_SERVER = "to server"
    TO_CLIENT = "to client"
    BOTH = "both"


class Listing(NamedTuple):
    """The member of a list result with the entries, and the member that names an entry."""

    member: str
    key: str


class Method(NamedTuple):
    """One request or notification. The first fields are from the specification."""

    name: str
    page: str = "basic"
    """The page of the specification; with a leading slash, it belongs to no version."""
    to_server: tuple[str, ...] = ()
    """The versions in which a client may send it."""
    to_client: tuple[str, ...] = ()
    """The versions in which a server may send it."""
    params: Kind = "EmptyParams"
    result: str = ""
    """The object of a request's result; "" for a notification."""
    result_of: tuple[tuple[str, str], ...] = ()
    """The versions with another result object than `result`, and that object."""
    page_of: tuple[tuple[str, str], ...] = ()
    """Other pages than `page`, each from a version on."""
    capability: str = ""
    """The required capability: of the server, or of the client for requests to the client."""
    listing: Listing | None = None
    asks_back: bool = False
    """The response may be `input_required`, in versions that have it."""
    as_task: bool = False
    """2025-11-25: the response may be a task."""
    plain_text: bool = False
    """A person may answer with plain text."""
    introduces: bool = False
    """The two sides exchange their names and capabilities with it."""
    in_handshake: bool = False
    """A client sends it before its user or model can do anything."""
    early: bool = False
    """It may be sent before `notifications/initialized`."""
    at_once: bool = False
    """It needs no decision of a person."""
    stays_open: bool = False
    """Its response is sent only when the client ends the request."""
    arguments: str = ""
    """The member of `params` with the arguments."""
    gist: str = ""
    """The member of `params` that tells requests apart in a list."""
    gives_away: tuple[str, ...] = ()
    """Members that only this result has."""
    named_by: str = ""
    """The member of `params` with the name or address; over HTTP, `Mcp-Name` repeats it."""
    rule_key: str = ""
    """The key of the answer book for that name."""
    limit_learned: bool = False
    """A cancellation because of a timeout shows the client's limit; limits of lists are shorter."""
    result_counts: bool = False
    """Its result changes the state of the session."""
    unrelated: bool = False
    """It belongs to the session, not to a request."""
    filtered_by: str = ""
    """The member of the filter of `subscriptions/listen` for it."""
    from_servers: bool = False
    """Both sides may send it; without a known direction, it counts as the server's."""

    @property
    def versions(self) -> tuple[str, ...]:
        """The versions that have it, in either direction."""
        return tuple(one for one in ALL if one in self.to_server or one in self.to_client)

    def is_in(self, version: str) -> bool:
        return version in self.to_server or version in self.to_client

    @property
    def direction(self) -> MethodDirection:
        if self.to_server and self.to_client:
            return MethodDirection.BOTH
        return MethodDirection.TO_SERVER if self.to_server else MethodDirection.TO_CLIENT

    def page_in(self, version: str) -> str:
        """Return the address of its page for a version."""
        begun = [page for since, page in self.page_of if since <= version]
        page = begun[-1] if begun else self.page
        return f"{SITE}{page}" if page.startswith("/") else f"{SPEC}{version}/{page}"

    def result_in(self, version: str) -> str:
        """Return the object of its result in a version."""
        return dict(self.result_of).get(version, self.result) if self.result_of else self.result


class ProtocolExtension(NamedTuple):
    """An extension of MCP, which both sides declare in `capabilities.extensions`."""

    id: str
    methods: tuple[Method, ...] = ()
    result_type: str = ""
    """The `resultType` of the extension's own result object."""
    result: str = ""
    """That object."""
    results_of: tuple[str, ...] = ()
    """The methods whose result it may be."""


_LIFECYCLE: Final = "basic/lifecycle"
_VERSIONING: Final = ((R2026_07, "basic/versioning"),)
_LOGGING: Final = "server/utilities/logging"
_SUBSCRIPTIONS: Final = "basic/patterns/subscriptions"

_tools: Final = partial(Method, page="server/tools", to_server=ALL, capability="tools")
_resources: Final = partial(Method, page="server/resources", to_server=ALL, capability="resources")
_prompts: Final = partial(Method, page="server/prompts", to_server=ALL, capability="prompts")
_tasks: Final = partial(
    Method,
    page_of=((R2025_11, "basic/utilities/tasks"), (R2026_07, "/extensions/tasks/overview")),
    to_server=(R2025_11,),
    to_client=(R2025_11,),
    params="TaskParams",
)


_skills: Final = partial(Method, page="/seps/2640-skills-extension", to_server=STATELESS)


def _list(result: str, member: str, key: str) -> dict[str, Any]:
    """Describe the request for a list of the server."""
    return {
        "params": "PageParams",
        "result": result,
        "listing": Listing(member, key),
        "in_handshake": True,
        "gives_away": (member,),
        "result_counts": member in ("tools", "prompts"),
    }


def _changed(capability: str, filtered_by: str) -> dict[str, Any]:
    """Describe a change notification of the server."""
    return {
        "capability": capability,
        "to_server": (),
        "to_client": ALL,
        "filtered_by": filtered_by,
        "unrelated": True,
    }


_CORE: Final = (
    Method(
        "initialize",
        _LIFECYCLE,
        HANDSHAKE,
        params="InitializeParams",
        result="InitializeResult",
        page_of=_VERSIONING,
        introduces=True,
        in_handshake=True,
        early=True,
        gives_away=("protocolVersion", "serverInfo"),
        result_counts=True,
    ),
    Method(
        "server/discover",
        _LIFECYCLE,
        STATELESS,
        result="DiscoverResult",
        page_of=((R2026_07, "server/discover"),),
        introduces=True,
        in_handshake=True,
        early=True,
        at_once=True,
        gives_away=("supportedVersions",),
        result_counts=True,
    ),
    Method(
        "ping",
        "basic/utilities/ping",
        HANDSHAKE,
        HANDSHAKE,
        result="EmptyResult",
        page_of=((R2026_07, "basic/patterns"),),
        early=True,
        at_once=True,
        unrelated=True,
    ),
    _tools("tools/list", **_list("ListToolsResult", "tools", "name")),
    _resources("resources/list", **_list("ListResourcesResult", "resources", "uri")),
    _resources(
        "resources/templates/list",
        **_list("ListTemplatesResult", "resourceTemplates", "uriTemplate"),
    ),
    _prompts("prompts/list", **_list("ListPromptsResult", "prompts", "name")),
    _tools(
        "tools/call",
        params="CallToolParams",
        result="CallToolResult",
        asks_back=True,
        as_task=True,
        plain_text=True,
        arguments="arguments",
        gives_away=("content",),
        named_by="name",
        rule_key="tool",
        limit_learned=True,
    ),
    _resources(
        "resources/read",
        params="ReadParams",
        result="ReadResourceResult",
        asks_back=True,
        gist="uri",
        gives_away=("contents",),
        named_by="uri",
        rule_key="resource",
    ),
    *(
        _resources(
            name,
            to_server=HANDSHAKE,
            params="UriParams",
            result="EmptyResult",
            gist="uri",
            result_counts=True,
        )
        for name in ("resources/subscribe", "resources/unsubscribe")
    ),
    _prompts(
        "prompts/get",
        params="GetPromptParams",
        result="GetPromptResult",
        asks_back=True,
        arguments="arguments",
        gives_away=("messages",),
        named_by="name",
        rule_key="prompt",
    ),
    Method(
        "completion/complete",
        "server/utilities/completion",
        ALL,
        params="CompleteParams",
        result="CompleteResult",
        capability="completions",
        gist="argument",
        gives_away=("completion",),
    ),
    Method(
        "logging/setLevel",
        _LOGGING,
        HANDSHAKE,
        params="SetLevelParams",
        result="EmptyResult",
        capability="logging",
        early=True,
        at_once=True,
        result_counts=True,
    ),
    Method(
        "subscriptions/listen",
        to_server=STATELESS,
        params="ListenParams",
        result="ListenResult",
        page_of=((R2026_07, _SUBSCRIPTIONS),),
        stays_open=True,
    ),
    Method(
        "roots/list",
        "client/roots",
        to_client=HANDSHAKE,
        result="ListRootsResult",
        capability="roots",
    ),
    Method(
        "elicitation/create",
        to_client=(R2025_06, R2025_11),
        params=ByMember("mode", {"form": "FormParams", "url": "UrlParams"}, "form"),
        result="ElicitResult",
        page_of=((R2025_06, "client/elicitation"),),
        capability="elicitation",
        as_task=True,
        gist="message",
    ),
    Method(
        "sampling/createMessage",
        "client/sampling",
        to_client=HANDSHAKE,
        params="CreateMessageParams",
        result="CreateMessageResult",
        capability="sampling",
        as_task=True,
        plain_text=True,
        gist="messages",
    ),
    Method(
        "notifications/initialized",
        _LIFECYCLE,
        HANDSHAKE,
        params="EmptyNotice",
        page_of=_VERSIONING,
    ),
    Method(
        "notifications/cancelled",
        "basic/utilities/cancellation",
        ALL,
        ALL,
        params="CancelledNotice",
        unrelated=True,
        page_of=((R2026_07, "basic/patterns/cancellation"),),
    ),
    Method(
        "notifications/progress",
        "basic/utilities/progress",
        HANDSHAKE,
        ALL,
        params="ProgressNotice",
        from_servers=True,
        page_of=((R2026_07, "basic/patterns/progress"),),
    ),
    Method(
        "notifications/roots/list_changed",
        "client/roots",
        HANDSHAKE,
        params="EmptyNotice",
        capability="roots",
    ),
    Method(
        "notifications/message",
        _LOGGING,
        to_client=ALL,
        params="MessageNotice",
        capability="logging",
        early=True,
    ),
    *(
        Method(
            f"notifications/{one}/list_changed",
            f"server/{one}",
            params="EmptyNotice",
            **_changed(one, f"{one}ListChanged"),
        )
        for one in ("tools", "prompts", "resources")
    ),
    Method(
        "notifications/resources/updated",
        "server/resources",
        params="UpdatedNotice",
        **_changed("resources", "resourceSubscriptions"),
    ),
    Method(
        "notifications/elicitation/complete",
        to_client=(R2025_11,),
        params="ElicitationCompleteNotice",
        page_of=((R2025_06, "client/elicitation"),),
    ),
    Method(
        "notifications/subscriptions/acknowledged",
        to_client=STATELESS,
        params="AcknowledgedNotice",
        page_of=((R2026_07, _SUBSCRIPTIONS),),
    ),
)

TASK_IDS: Final = "taskIds"
"""The member of the filter of `subscriptions/listen` for `notifications/tasks`."""

TASKS: Final = ProtocolExtension(
    META_PREFIX + "tasks",
    (
        _tasks(
            "tasks/get",
            to_server=(R2025_11, R2026_07),
            result="TaskStateResult",
            named_by="taskId",
        ),
        _tasks("tasks/result", result="TaskPayload"),
        _tasks(
            "tasks/list",
            params="PageParams",
            result="TaskListResult",
            listing=Listing("tasks", "taskId"),
        ),
        _tasks(
            "tasks/cancel",
            to_server=(R2025_11, R2026_07),
            result="TaskResult",
            result_of=((R2026_07, "TaskAcknowledged"),),
            named_by="taskId",
        ),
        _tasks(
            "tasks/update",
            to_server=STATELESS,
            to_client=(),
            params="TaskUpdateParams",
            result="TaskAcknowledged",
            named_by="taskId",
        ),
        _tasks(
            "notifications/tasks/status", params="TaskNotice", unrelated=True, from_servers=True
        ),
        _tasks(
            "notifications/tasks",
            to_server=(),
            to_client=STATELESS,
            params="TaskNotice",
            filtered_by=TASK_IDS,
        ),
    ),
    result_type="task",
    result="TaskResult",
    results_of=("tools/call",),
)
"""Tasks: part of the core of 2025-11-25, an extension since then.

https://modelcontextprotocol.io/extensions/tasks/overview
"""

SKILLS: Final = ProtocolExtension(
    META_PREFIX + "skills",
    (
        _skills(
            "skills/list",
            params="PageParams",
            result="ListSkillsResult",
            listing=Listing("skills", "uri"),
        ),
        _skills("skills/get", params="GetSkillParams", result="GetSkillResult", gist="uri"),
        _skills(
            "resources/directory/read",
            params="ReadDirectoryParams",
            result="ReadDirectoryResult",
            capability="resources",
            gist="uri",
        ),
    ),
)

APPS: Final = ProtocolExtension(META_PREFIX + "ui")
"""MCP Apps: pages of tools, named in `_meta`."""
APP_SCHEME: Final = "ui://"

EXTENSIONS: Final = (TASKS, SKILLS, APPS)
"""The known extensions. Others, and `experimental`, are only known by their declared names."""

_METHODS: Final = (*_CORE, *(method for one in EXTENSIONS for method in one.methods))
_UNKNOWN: Final = Method("")

REQUESTS: Final[Mapping[str, Method]] = {one.name: one for one in _METHODS if one.result}
NOTIFICATIONS: Final[Mapping[str, Method]] = {one.name: one for one in _METHODS if not one.result}
FILTERED: Final[Mapping[str, Method]] = {
    one.filtered_by: one for one in NOTIFICATIONS.values() if one.filtered_by
}
"""The notifications that `subscriptions/listen` can request, by the member of its filter."""
LISTS: Final = tuple(one for one in _CORE if one.listing)
"""The lists of a server."""
MEMBER_OF_LIST: Final = {one.name: one.listing.member for one in LISTS if one.listing}
"""The member of the result that a list is, by the method that requests it."""
CHANGED: Final[Mapping[str, str]] = {
    one.capability: one.name
    for one in NOTIFICATIONS.values()
    if one.to_client and one.name.endswith("/list_changed")
}
"""The notification that a list has changed, by capability."""


def of(method: str) -> Method:
    """Return the record of a method; an empty one for unknown methods."""
    return REQUESTS.get(method) or NOTIFICATIONS.get(method) or _UNKNOWN


def named(method: str, *, is_request: bool) -> Method:
    """Return the record of the request or notification with this name, else an empty one."""
    return (REQUESTS if is_request else NOTIFICATIONS).get(method, _UNKNOWN)


def meant(typed: str, known: Iterable[str], params: Json = None) -> str | None:
    """Return the method that a name probably means: by its letters, its words, or its parameters.

    SDKs name it in another order (`list_tools`), in a namespace (`mcp/listTools`) or without one
    (`create_message`). A request with the name of a tool and arguments is a call, whatever its verb
    (`tools/invoke`).
    """
    known = list(known)
    near = alike(f"notifications/{typed}", [one for one in known if one in NOTIFICATIONS])
    near = near or alike(typed, known)
    if near is not None or len(typed) > _LONGEST:
        return near
    words = _words(typed)
    apart = {one: len(words ^ _words(one)) for one in known if len(words & _words(one)) > 1}
    best = min(apart, key=apart.__getitem__, default=None)
    if best is not None and apart[best] < 2:
        return best
    given = params.keys() if isinstance(params, dict) else set()
    return next((one for one in known if _acts_on(one, words, given)), None)


_LONGEST: Final = 64


def _words(name: str) -> frozenset[str]:
    """Return the words of a method in the singular, without those that say only what it is."""
    words = re.findall(r"[A-Z]?[a-z]+|[A-Z]+|[0-9]+", name)
    return frozenset(word.lower().rstrip("s") for word in words) - {"notification", "request"}


def _acts_on(method: str, words: Collection[str], given: Collection[str]) -> bool:
    """Return True if these words and parameters are about what a method is about."""
    record = of(method)
    wanted = {record.named_by, record.arguments} - {""}
    subject = record.capability.rstrip("s")
    return bool(record.named_by) and subject in words and wanted <= set(given)


def extension_answering(method: str, result_type: Json) -> ProtocolExtension | None:
    return next(
        (one for one in EXTENSIONS if method in one.results_of and one.result_type == result_type),
        None,
    )


def has_request(method: str, version: str) -> bool:
    """Return True if a client of this version may send this request."""
    return version in REQUESTS.get(method, _UNKNOWN).to_server


def declares(request: Message, extension: ProtocolExtension) -> bool:
    """Return True if a request declares that its client has an extension."""
    return follow(request.meta, META_CAPABILITIES, "extensions", extension.id) is not None


def undeclared(method: str, params: Json, declared: Mapping[str, Json]) -> str:
    """Return the capability that a request to the client needs and the client lacks, else ""."""
    record = named(method, is_request=True)
    capability = record.capability
    if not record.to_client or not capability:
        return ""
    if capability not in declared:
        return capability
    has = declared[capability]
    details = params if isinstance(params, dict) else {}
    inside = has if isinstance(has, dict) else {}
    if capability == "elicitation":
        mode = details.get("mode", "form")
        # `"elicitation": {}` means forms only
        known = inside or {"form": {}}
        return f"elicitation.{mode}" if mode in ("form", "url") and mode not in known else ""
    if capability == "sampling" and ("tools" in details or "toolChoice" in details):
        return "" if "tools" in inside else "sampling.tools"
    return ""


def page(method: str, version: str) -> str:
    """Return the address of the specification's page on a method, for one version.

    An unknown method gets the page of similar methods (`tools/…`), or the overview of the base
    protocol.
    """
    version = version if version in ALL else LATEST_HANDSHAKE
    record = of(method)
    group = method.rpartition("/")[0]
    if not record.name and group not in ("", "notifications"):
        record = next((one for one in _METHODS if one.name.startswith(f"{group}/")), record)
    return record.page_in(version)


# -- what 2026-07-28 requires of each request ---------------------------------------------------


def refusal(request: Message, version: str) -> JsonObject | None:
    """Return the error that 2026-07-28 requires for an incomplete request; None for others."""
    missing = lacking_in(request, version)
    if missing is not None:
        return lacking(missing)
    extension = undeclared_extension(request, version)
    return _lacking_extension(extension) if extension else None


def lacking_in(message: Message, version: str) -> str | None:
    """Return the required member that the `_meta` of a stateless version's request lacks.

    "A request missing any required field is malformed; the server MUST reject it with JSON-RPC
    error code -32602 (Invalid params)."
    https://modelcontextprotocol.io/specification/2026-07-28/basic
    """
    if not features(version).stateless or not has_request(message.method, version):
        return None
    return next((key for key in META_REQUIRED if key not in message.meta), None)


def undeclared_extension(message: Message, version: str) -> str:
    """Return the extension that a request needs and its client did not declare, else "".

    "Servers **MUST** return this error [-32021] for non-declaring clients requesting task
    notifications on `subscriptions/listen`" and "for non-declaring clients issuing `tasks/get`,
    `tasks/update`, and `tasks/cancel` requests."
    https://github.com/modelcontextprotocol/ext-tasks/blob/main/specification/2026-07-28/tasks.md
    """
    if not features(version).stateless or not has_request(message.method, version):
        return ""
    filtered = message.params.get("notifications")
    watches_tasks = isinstance(filtered, dict) and TASK_IDS in filtered
    needs_tasks = of(message.method) in TASKS.methods or (
        of(message.method).stays_open and watches_tasks
    )
    return TASKS.id if needs_tasks and not declares(message, TASKS) else ""


def lacking(key: str) -> JsonObject:
    """Return the error for a request whose `_meta` lacks a required member."""
    return {"code": -32602, "message": f"Invalid params: _meta lacks {key}"}


def _lacking_extension(extension: str) -> JsonObject:
    """Return the error for a request that needs an extension its client did not declare."""
    return {
        "code": -32021,
        "message": f"The client has not declared {extension}",
        "data": {"requiredCapabilities": {"extensions": {extension: {}}}},
    }
