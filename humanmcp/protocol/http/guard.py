"""What may reach the server at all, before anybody looks at a message.

"Servers MUST validate the `Origin` header on all incoming connections to prevent DNS rebinding
attacks": a page of a stranger's whose name leads to this computer says its own name in `Host`, and
in `Origin`. https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#security-warning
"""

from __future__ import annotations

import hmac
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from humanmcp.protocol.http.inbound import HttpRefusal, repeated

if TYPE_CHECKING:
    from humanmcp.protocol.http.headers import Headers

PATH: Final = "/mcp"
LONGEST_KEY: Final = 512

ONE_HOST: Final = HttpRefusal(400, "one host")
"""RFC 9112, 3.2: 400 for a request without `Host`, and for one with more than one."""
WRONG_HOST: Final = HttpRefusal(403, "host")
FOREIGN: Final = HttpRefusal(403, "origin")
NO_KEY: Final = HttpRefusal(401, "key", headers=(("www-authenticate", "Bearer"),))
ELSEWHERE: Final = HttpRefusal(404, "path")

_LOOPBACK: Final = ("127.0.0.1", "localhost", "[::1]")


@dataclass(frozen=True, slots=True)
class HttpAddress:
    """Where the server listens. `key` is what a client must have, "" for nothing.

    `is_open` says that others than this computer reach it: by `names`, which are hosts without
    port, an IPv6 address in brackets; or by a proxy at `outside`, such as `https://mcp.example`.
    """

    host: str
    port: int
    key: str = ""
    is_open: bool = False
    names: tuple[str, ...] = ()
    outside: tuple[str, ...] = ()

    @property
    def url(self) -> str:
        """The address that a client is given."""
        shown = f"[{self.host}]" if ":" in self.host else self.host
        return f"http://{shown}:{self.port}{PATH}"

    @property
    def authorities(self) -> frozenset[str]:
        """Every `Host` that is ours."""
        ends = (f":{self.port}", *_bare(self.port))
        own = {name + end for name in (*_LOOPBACK, *self.names) for end in ends}
        return frozenset(own | {one.partition("://")[2] for one in self.outside})


def _bare(port: int) -> tuple[str, ...]:
    return ("",) if port == 80 else ()


def refused(target: str, headers: Headers, address: HttpAddress) -> HttpRefusal | None:
    """Return why a request may not enter; None lets it pass. A query in its target says nothing.

    Nothing but the endpoint is there, the metadata of OAuth neither: a client that finds any, or is
    told 401 without a key being asked for, begins to log in somewhere, which cannot end.
    """
    host, path = _asked_for(target, (headers.get("host") or "").lower())
    hosts = headers.all("host")
    if len(hosts) != 1:
        return ONE_HOST
    if host not in address.authorities:
        return WRONG_HOST
    if not all(_is_ours(origin, host, address) for origin in headers.all("origin")):
        return FOREIGN
    if path != PATH:
        return ELSEWHERE
    if headers.repeated(("authorization",)):
        return repeated("authorization")
    return None if _has_key(headers, address.key) else NO_KEY


def _asked_for(target: str, host: str) -> tuple[str, str]:
    """Return the host and the path of a request.

    RFC 9112, 3.2.2: "a server MUST accept the absolute-form in requests", and then "MUST ignore the
    received Host header field".
    """
    path = target.partition("?")[0]
    scheme, _, rest = path.partition("://")
    if scheme.lower() != "http":
        return host, path
    authority, _, path = rest.partition("/")
    return authority.lower(), f"/{path}"


def _is_ours(origin: str, host: str, address: HttpAddress) -> bool:
    """Return True if a page says that it comes from where it asks."""
    if origin.lower() in address.outside:
        return True
    try:
        parts = urlsplit(origin.lower())
    except ValueError:  # no address at all
        return False
    return parts.scheme == "http" and parts.netloc == host and not parts.path


def _has_key(headers: Headers, key: str) -> bool:
    if not key:
        return True
    sent = bearer(headers)
    return hmac.compare_digest(sent.encode("utf-8", "replace"), key.encode("utf-8", "replace"))


def bearer(headers: Headers) -> str:
    """Return the key that a request brings, "" for none."""
    scheme, _, token = (headers.get("authorization") or "")[:LONGEST_KEY].partition(" ")
    return token.strip() if scheme.lower() == "bearer" else ""
