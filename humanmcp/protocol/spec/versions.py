"""The versions of MCP, each a record of what it has: code asks for the feature that it means.

`features(version).input_required` says in the reader's words what `version in MODERN` left to be
guessed. A new version is one record here; which methods it has stands in `methods.py`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from humanmcp.protocol.json.jsonrpc import Message

SITE: Final = "https://modelcontextprotocol.io"
SPEC: Final = f"{SITE}/specification/"


class Version(NamedTuple):
    """One version, by what it has. A feature that is taken away is switched off in its record."""

    name: str
    stateless: bool = False
    """Each request states its version and the client's capabilities in `_meta`: no `initialize`.

    "The Model Context Protocol (MCP) is a stateless protocol":
    https://modelcontextprotocol.io/specification/2026-07-28/basic#statelessness
    """
    server_requests: bool = True
    """The server may send requests of its own."""
    input_required: bool = False
    """A result may ask the user back, and the client repeats its request with the answers."""
    result_types: bool = False
    """Each result says what it is (`resultType`), and who gives it (`_meta`)."""
    subscriptions: bool = False
    """Notifications of changes go out on `subscriptions/listen`, and log messages by request."""
    batches: bool = False
    """Messages may come in JSON-RPC arrays."""
    progress_messages: bool = False
    """A progress notification may say something."""
    completions: bool = False
    """Completion is a capability that is declared."""
    structured_content: bool = False
    """A tool may declare what its results hold (`outputSchema`)."""
    meta_names: bool = False
    """The members of `_meta` have names of a form that is set."""
    version_header: bool = False
    """Over HTTP each message of a session names the version."""
    tasks: bool = False
    """A tool call may be answered with a task."""
    asked_for_tasks: bool = False
    """The client asks for the task (`params.task`), and no extension has to be declared."""
    resumable: bool = False
    """Over HTTP a stream begins with an event to resume it from (SEP-1699)."""
    any_schema: bool = False
    """A tool's schemas, and its structured results, may be any JSON."""
    header_arguments: bool = False
    """Arguments may be marked to be mirrored into HTTP headers (`x-mcp-header`)."""
    error_codes: bool = False
    """The codes from -32000 to -32099 are the specification's own."""
    resource_not_found: int = -32002
    error_data: tuple[tuple[int, str], ...] = ()
    """The codes of its own, and the object that `error.data` is with each."""


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
    error_data=((-32022, "VersionErrorData"), (-32021, "CapabilityErrorData")),
)
VERSIONS: Final = {one.name: one for one in (_2024_11, _2025_03, _2025_06, _2025_11, _2026_07)}
"""Every version by its name, the oldest first."""

R2024_11: Final = _2024_11.name
R2025_03: Final = _2025_03.name
R2025_06: Final = _2025_06.name
R2025_11: Final = _2025_11.name
R2026_07: Final = _2026_07.name

ALL: Final = tuple(VERSIONS)
HANDSHAKE: Final = tuple(one.name for one in VERSIONS.values() if not one.stateless)
"""What `initialize` can settle."""
STATELESS: Final = tuple(one.name for one in VERSIONS.values() if one.stateless)
"""What a request can state of itself."""
LATEST_HANDSHAKE: Final = HANDSHAKE[-1]
LATEST_STATELESS: Final = STATELESS[-1]


def features(version: str) -> Version:
    """Return what a version has; one that does not exist is taken for the last with a handshake."""
    return VERSIONS.get(version) or VERSIONS[LATEST_HANDSHAKE]


META_PREFIX: Final = "io.modelcontextprotocol/"
META_VERSION: Final = META_PREFIX + "protocolVersion"
META_CLIENT: Final = META_PREFIX + "clientInfo"
META_CAPABILITIES: Final = META_PREFIX + "clientCapabilities"
META_REQUIRED: Final = (META_VERSION, META_CAPABILITIES)
"""What every request of 2026-07-28 says of itself."""
META_SERVER: Final = META_PREFIX + "serverInfo"
META_LOG_LEVEL: Final = META_PREFIX + "logLevel"
META_SUBSCRIPTION: Final = META_PREFIX + "subscriptionId"
META_RELATED_TASK: Final = META_PREFIX + "related-task"


def stated_in(message: Message) -> str | None:
    """Return the version that a request carries in its own `_meta`, or None (handshake era)."""
    stated = message.meta.get(META_VERSION)
    return stated if isinstance(stated, str) else None


def unserved_in(message: Message) -> str | None:
    """Return the version that a request states and that does not exist here, or None.

    MCP 2026-07-28: such a request is answered with -32022 and the list of those that are served.
    """
    stated = stated_in(message)
    return stated if stated is not None and stated not in STATELESS else None
