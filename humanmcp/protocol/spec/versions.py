"""The five protocol revisions: their methods, which way each goes, and which era they are of.

One table each for requests and notifications, keyed by method; a revision that is not listed does
not have the method. The source of every row is the page of that revision under `SPEC`.
"""

from __future__ import annotations

import enum
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

    from humanmcp.protocol.json.jsonrpc import Message

SPEC: Final = "https://modelcontextprotocol.io/specification/"

R2024_11: Final = "2024-11-05"
R2025_03: Final = "2025-03-26"
R2025_06: Final = "2025-06-18"
R2025_11: Final = "2025-11-25"
R2026_07: Final = "2026-07-28"

ALL: Final = (R2024_11, R2025_03, R2025_06, R2025_11, R2026_07)
HANDSHAKE: Final = ALL[:-1]
MODERN: Final = ALL[-1:]
LATEST_HANDSHAKE: Final = R2025_11

META_PREFIX: Final = "io.modelcontextprotocol/"
META_REVISION: Final = META_PREFIX + "protocolVersion"
META_CLIENT: Final = META_PREFIX + "clientInfo"
META_CAPABILITIES: Final = META_PREFIX + "clientCapabilities"
META_REQUIRED: Final = (META_REVISION, META_CAPABILITIES)
"""What every request of 2026-07-28 says of itself."""
META_SERVER: Final = META_PREFIX + "serverInfo"
META_LOG_LEVEL: Final = META_PREFIX + "logLevel"
META_SUBSCRIPTION: Final = META_PREFIX + "subscriptionId"
META_RELATED_TASK: Final = META_PREFIX + "related-task"
TASKS_EXTENSION: Final = META_PREFIX + "tasks"
SKILLS_EXTENSION: Final = META_PREFIX + "skills"


class MethodDirection(enum.Enum):
    """Which side may send a method."""

    TO_SERVER = "to server"
    TO_CLIENT = "to client"
    BOTH = "both"


def stated_in(message: Message) -> str | None:
    """Return the revision that a request carries in its own `_meta`, or None (handshake era)."""
    stated = message.meta.get(META_REVISION)
    return stated if isinstance(stated, str) else None


def unserved_in(message: Message) -> str | None:
    """Return the revision that a request states and that does not exist here, or None.

    MCP 2026-07-28: such a request is answered with -32022 and the list of those that are served.
    """
    stated = stated_in(message)
    return stated if stated is not None and stated not in MODERN else None


def lacking_in(message: Message, revision: str) -> str | None:
    """Return the member that a request of 2026-07-28 must have in its `_meta` and lacks, or None.

    "A request missing any required field is malformed; the server MUST reject it with JSON-RPC
    error code -32602 (Invalid params)." https://modelcontextprotocol.io/specification/2026-07-28/basic
    """
    if revision not in MODERN or not has_request(message.method, revision):
        return None
    return next((key for key in META_REQUIRED if key not in message.meta), None)


def since(first: str) -> tuple[str, ...]:
    """List the revisions from `first` on."""
    return ALL[ALL.index(first) :]


_LEGACY = HANDSHAKE
_LISTS = ("tools/list", "resources/list", "resources/templates/list", "prompts/list")

REQUESTS: Final[Mapping[str, tuple[MethodDirection, tuple[str, ...]]]] = {
    "initialize": (MethodDirection.TO_SERVER, _LEGACY),
    "server/discover": (MethodDirection.TO_SERVER, MODERN),
    "ping": (MethodDirection.BOTH, _LEGACY),
    **dict.fromkeys(_LISTS, (MethodDirection.TO_SERVER, ALL)),
    "tools/call": (MethodDirection.TO_SERVER, ALL),
    "resources/read": (MethodDirection.TO_SERVER, ALL),
    "resources/subscribe": (MethodDirection.TO_SERVER, _LEGACY),
    "resources/unsubscribe": (MethodDirection.TO_SERVER, _LEGACY),
    "prompts/get": (MethodDirection.TO_SERVER, ALL),
    "completion/complete": (MethodDirection.TO_SERVER, ALL),
    "logging/setLevel": (MethodDirection.TO_SERVER, _LEGACY),
    "subscriptions/listen": (MethodDirection.TO_SERVER, MODERN),
    "tasks/get": (MethodDirection.BOTH, (R2025_11, R2026_07)),
    "tasks/result": (MethodDirection.BOTH, (R2025_11,)),
    "tasks/list": (MethodDirection.BOTH, (R2025_11,)),
    "tasks/cancel": (MethodDirection.BOTH, (R2025_11, R2026_07)),
    "tasks/update": (MethodDirection.TO_SERVER, MODERN),
    "skills/list": (MethodDirection.TO_SERVER, MODERN),
    "skills/get": (MethodDirection.TO_SERVER, MODERN),
    "resources/directory/read": (MethodDirection.TO_SERVER, MODERN),
    "roots/list": (MethodDirection.TO_CLIENT, _LEGACY),
    "sampling/createMessage": (MethodDirection.TO_CLIENT, _LEGACY),
    "elicitation/create": (MethodDirection.TO_CLIENT, (R2025_06, R2025_11)),
}
"""Every request: which way it goes, and in which revisions. 2026-07-28 has none to the client."""

NOTIFICATIONS: Final[Mapping[str, tuple[MethodDirection, tuple[str, ...]]]] = {
    "notifications/initialized": (MethodDirection.TO_SERVER, _LEGACY),
    "notifications/cancelled": (MethodDirection.BOTH, ALL),
    "notifications/progress": (MethodDirection.BOTH, ALL),
    "notifications/roots/list_changed": (MethodDirection.TO_SERVER, _LEGACY),
    "notifications/message": (MethodDirection.TO_CLIENT, ALL),
    "notifications/tools/list_changed": (MethodDirection.TO_CLIENT, ALL),
    "notifications/prompts/list_changed": (MethodDirection.TO_CLIENT, ALL),
    "notifications/resources/list_changed": (MethodDirection.TO_CLIENT, ALL),
    "notifications/resources/updated": (MethodDirection.TO_CLIENT, ALL),
    "notifications/elicitation/complete": (MethodDirection.TO_CLIENT, (R2025_11,)),
    "notifications/tasks/status": (MethodDirection.BOTH, (R2025_11,)),
    "notifications/subscriptions/acknowledged": (MethodDirection.TO_CLIENT, MODERN),
    "notifications/tasks": (MethodDirection.TO_CLIENT, MODERN),
}
"""Every notification: which way it goes, and in which revisions."""

MODERN_TO_SERVER_NOTIFICATIONS: Final = frozenset({"notifications/cancelled"})
"""2026-07-28 left the client one notification."""

INPUT_REQUIRED_METHODS: Final = frozenset({"tools/call", "prompts/get", "resources/read"})
"""2026-07-28: the requests that may be answered with a question back to the user."""

CACHED_METHODS: Final = frozenset({"server/discover", *_LISTS, "resources/read"})
"""2026-07-28: the requests whose results carry `ttlMs` and `cacheScope`."""

EMPTY_RESULTS: Final = frozenset(
    {"ping", "logging/setLevel", "resources/subscribe", "resources/unsubscribe"}
)
"""Requests whose result is exactly `{}`."""


def has_request(
    method: str, revision: str, way: MethodDirection = MethodDirection.TO_SERVER
) -> bool:
    """Say whether a revision knows this request in this direction."""
    return _has(REQUESTS, method, revision, way)


def has_notification(
    method: str, revision: str, way: MethodDirection = MethodDirection.TO_SERVER
) -> bool:
    """Say whether a revision knows this notification in this direction."""
    if way is MethodDirection.TO_SERVER and revision in MODERN:
        return method in MODERN_TO_SERVER_NOTIFICATIONS
    return _has(NOTIFICATIONS, method, revision, way)


def _has(
    table: Mapping[str, tuple[MethodDirection, tuple[str, ...]]],
    method: str,
    revision: str,
    way: MethodDirection,
) -> bool:
    if method not in table:
        return False
    goes, revisions = table[method]
    if (
        method in ("tasks/get", "tasks/cancel")
        and revision in MODERN
        and way is MethodDirection.TO_CLIENT
    ):
        return False  # the 2026-07-28 extension has them towards the server only
    return revision in revisions and goes in (way, MethodDirection.BOTH)


SITE: Final = "https://modelcontextprotocol.io"

_PAGES: Final[Mapping[str, tuple[tuple[str, str], ...]]] = {
    "initialize": ((R2024_11, "basic/lifecycle"), (R2026_07, "basic/versioning")),
    "notifications/initialized": ((R2024_11, "basic/lifecycle"), (R2026_07, "basic/versioning")),
    "server/discover": ((R2024_11, "basic/lifecycle"), (R2026_07, "server/discover")),
    "ping": ((R2024_11, "basic/utilities/ping"), (R2026_07, "basic/patterns")),
    "notifications/cancelled": (
        (R2024_11, "basic/utilities/cancellation"),
        (R2026_07, "basic/patterns/cancellation"),
    ),
    "notifications/progress": (
        (R2024_11, "basic/utilities/progress"),
        (R2026_07, "basic/patterns/progress"),
    ),
    "tools/": ((R2024_11, "server/tools"),),
    "resources/": ((R2024_11, "server/resources"),),
    "prompts/": ((R2024_11, "server/prompts"),),
    "completion/": ((R2024_11, "server/utilities/completion"),),
    "logging/": ((R2024_11, "server/utilities/logging"),),
    "notifications/message": ((R2024_11, "server/utilities/logging"),),
    "notifications/tools/": ((R2024_11, "server/tools"),),
    "notifications/resources/": ((R2024_11, "server/resources"),),
    "notifications/prompts/": ((R2024_11, "server/prompts"),),
    "notifications/roots/": ((R2024_11, "client/roots"),),
    "notifications/elicitation/": ((R2025_06, "client/elicitation"),),
    "roots/": ((R2024_11, "client/roots"),),
    "sampling/": ((R2024_11, "client/sampling"),),
    "elicitation/": ((R2025_06, "client/elicitation"),),
    "subscriptions/": ((R2026_07, "basic/patterns/subscriptions"),),
    "notifications/subscriptions/": ((R2026_07, "basic/patterns/subscriptions"),),
    "tasks/": ((R2025_11, "basic/utilities/tasks"), (R2026_07, "/extensions/tasks/overview")),
    "notifications/tasks": (
        (R2025_11, "basic/utilities/tasks"),
        (R2026_07, "/extensions/tasks/overview"),
    ),
    "skills/": ((R2024_11, "/seps/2640-skills-extension"),),
    "resources/directory/": ((R2024_11, "/seps/2640-skills-extension"),),
}
"""The page of the specification on each group of methods, since which revision.

An address that begins with a slash is one of the site, and of no revision.
"""


def page(method: str, revision: str) -> str:
    """Return the address of the specification's page on a method, for one revision.

    A method that is unknown, or has no page there, gets the revision's overview of the base
    protocol.
    """
    revision = revision if revision in ALL else LATEST_HANDSHAKE
    best = max((key for key in _PAGES if method.startswith(key)), key=len, default="")
    begun = [page for since, page in _PAGES.get(best, ()) if since <= revision]
    found = begun[-1] if begun else "basic"
    return f"{SITE}{found}" if found.startswith("/") else f"{SPEC}{revision}/{found}"
