"""The versions of MCP: a record of features for each.

Code asks for a feature, such as `features(version).input_required`, not for a version. A new
version is one record here; `methods.py` says which methods it has.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from humanmcp.protocol.json.jsonrpc import Message

SITE: Final = "https://modelcontextprotocol.io"
SPEC: Final = f"{SITE}/specification/"


class Version(NamedTuple):
    """One version and its features.

    The record of a version that removes a feature sets it to False.
    """

    name: str
    stateless: bool = False
    """Each request states its version and the client's capabilities in `_meta`; no `initialize`.

    "The Model Context Protocol (MCP) is a stateless protocol":
    https://modelcontextprotocol.io/specification/2026-07-28/basic#statelessness
    """
    server_requests: bool = True
    """The server may send requests."""
    input_required: bool = False
    """A result may be `input_required`; the client then retries with the answers."""
    result_types: bool = False
    """Each result has a `resultType`, and the server's name in `_meta`."""
    subscriptions: bool = False
    """Change notifications are sent on `subscriptions/listen`, log messages per request."""
    batches: bool = False
    """Messages may be sent in JSON-RPC batches."""
    progress_messages: bool = False
    """A progress notification may have a message."""
    completions: bool = False
    """`completions` is a capability."""
    structured_content: bool = False
    """A tool may declare the structure of its results (`outputSchema`)."""
    meta_names: bool = False
    """The names of `_meta` members have a fixed format."""
    version_header: bool = False
    """Over HTTP, each message of a session states the version."""
    tasks: bool = False
    """The response to a tool call may be a task."""
    asked_for_tasks: bool = False
    """The client asks for the task (`params.task`); there is no extension to declare."""
    resumable: bool = False
    """Over HTTP, a stream begins with an event from which it can be resumed (SEP-1699)."""
    any_schema: bool = False
    """A tool's schemas and structured results may be any JSON."""
    header_arguments: bool = False
    """A schema may mark arguments that are repeated in HTTP headers (`x-mcp-header`)."""
    error_codes: bool = False
    """The error codes from -32000 to -32099 are reserved for the specification."""
    more_errors: tuple[int, ...] = ()
    """The error codes of the version whose `error.data` may be anything."""
    resource_not_found: int = -32002
    error_data: tuple[tuple[int, str], ...] = ()
    """The error codes of the version, each with the object of its `error.data`."""


_2024_11: Final = Version("2024-11-05")
_2025_03: Final = _2024_11._replace(
    name="2025-03-26", batches=True, progress_messages=True, completions=True
)
_2025_06: Final = _2025_03._replace(
    name="2025-06-18",
    batches=False,
    structured_content=True,
    meta_names=True,
    version_header=True,
)
_2025_11: Final = _2025_06._replace(
    name="2025-11-25",
    tasks=True,
    asked_for_tasks=True,
    resumable=True,
    error_data=((-32042, "UrlErrorData"),),
)
_2026_07: Final = _2025_11._replace(
    name="2026-07-28",
    stateless=True,
    asked_for_tasks=False,
    resumable=False,
    server_requests=False,
    input_required=True,
    result_types=True,
    subscriptions=True,
    any_schema=True,
    header_arguments=True,
    error_codes=True,
    resource_not_found=-32602,
    more_errors=(-32020,),
    error_data=((-32022, "VersionErrorData"), (-32021, "CapabilityErrorData")),
)
VERSIONS: Final = {one.name: one for one in (_2024_11, _2025_03, _2025_06, _2025_11, _2026_07)}
"""Every version by its name, oldest first."""

R2024_11: Final = _2024_11.name
R2025_03: Final = _2025_03.name
R2025_06: Final = _2025_06.name
R2025_11: Final = _2025_11.name
R2026_07: Final = _2026_07.name

ALL: Final = tuple(VERSIONS)
HANDSHAKE: Final = tuple(one.name for one in VERSIONS.values() if not one.stateless)
"""The versions that `initialize` can negotiate."""
STATELESS: Final = tuple(one.name for one in VERSIONS.values() if one.stateless)
"""The versions that a request states."""
LATEST_HANDSHAKE: Final = HANDSHAKE[-1]
LATEST_STATELESS: Final = STATELESS[-1]


def features(version: str) -> Version:
    """Return the features of a version; an unknown one counts as the last with a handshake."""
    return VERSIONS.get(version) or VERSIONS[LATEST_HANDSHAKE]


META_PREFIX: Final = "io.modelcontextprotocol/"
META_VERSION: Final = META_PREFIX + "protocolVersion"
META_CLIENT: Final = META_PREFIX + "clientInfo"
META_CAPABILITIES: Final = META_PREFIX + "clientCapabilities"
META_REQUIRED: Final = (META_VERSION, META_CAPABILITIES)
"""The members that `_meta` of every 2026-07-28 request must have."""
META_SERVER: Final = META_PREFIX + "serverInfo"
META_LOG_LEVEL: Final = META_PREFIX + "logLevel"
META_SUBSCRIPTION: Final = META_PREFIX + "subscriptionId"
META_RELATED_TASK: Final = META_PREFIX + "related-task"


def stated_in(message: Message) -> str | None:
    """Return the version in the `_meta` of a request, or None (handshake versions)."""
    stated = message.meta.get(META_VERSION)
    return stated if isinstance(stated, str) else None


def unserved_in(message: Message) -> str | None:
    """Return the unsupported version that a request states, or None.

    MCP 2026-07-28: the response is the error -32022 with the list of supported versions.
    """
    stated = stated_in(message)
    return stated if stated is not None and stated not in STATELESS else None
