"""Which address is listened on: beyond this computer only where that was asked for."""

from __future__ import annotations

import contextlib
import ipaddress
import socket
from typing import Final
from urllib.parse import urlsplit

from humanmcp.http.sockets import listen
from humanmcp.locales.stop import StopError, stopped
from humanmcp.protocol.http.guard import HttpAddress

PORT: Final = 8766
"""The port that is tried first where none was given."""

EVERYWHERE: Final = "0.0.0.0"  # noqa: S104 - only where somebody asked for it


class HttpServeError(StopError):
    """The address, or the key, cannot be used."""

    room = "http"


def address_of(text: str) -> tuple[str, int]:
    """Read ADDRESS:PORT, ADDRESS or PORT; what is missing is loopback, and 0 for no port.

    Raises:
        HttpServeError: it is none of these.
    """
    host, colon, port = text.rpartition(":")
    if text.isdigit():
        host, port = "", text
    elif not colon or text.endswith("]") or (text.count(":") > 1 and not text.startswith("[")):
        host, port = text, ""
    host = {"": "127.0.0.1", "localhost": "127.0.0.1"}.get(host, host).strip("[]")
    try:
        ipaddress.ip_address(host)
        number = int(port or "0")
    except ValueError as error:
        raise HttpServeError("no address", value=text) from error
    if number > 65535:
        raise HttpServeError("no address", value=text)
    return host, number


def bind(text: str, key: str, *, lan: bool, url: str = "") -> tuple[socket.socket, HttpAddress]:
    """Listen where it was asked for; beyond this computer only where that was said.

    `url` is the address of a proxy before it, or another name of this computer.

    Raises:
        HttpServeError: the address cannot be used.
        OSError: there is no port.
    """
    host, port = address_of(text)
    outside = outside_of(url)
    if lan and ipaddress.ip_address(host).is_loopback:
        host = EVERYWHERE
    is_open = not ipaddress.ip_address(host).is_loopback
    if is_open and not (lan or key):
        raise HttpServeError("beyond", address=host)
    listening = listen(host, port or PORT)
    got = int(listening.getsockname()[1])
    if port and got != port:
        listening.close()
        raise HttpServeError("port taken", port=port)
    names = _names_of(host) if is_open else ()
    return listening, HttpAddress(host, got, key, is_open, names, outside)


def outside_of(url: str | None) -> tuple[str, ...]:
    """Return the address of a proxy before this program, as browsers say it; nothing for none.

    Raises:
        StopError: this is no such address.
    """
    if not url:
        return ()
    found = url.rstrip("/")
    parts = urlsplit(found)
    if parts.scheme not in ("http", "https") or not parts.netloc or parts.path:
        raise stopped("desk", "no url", url=url)
    return (found.lower(),)


def _names_of(host: str) -> tuple[str, ...]:
    if ipaddress.ip_address(host).is_unspecified:
        return (*own_addresses(), *own_names())
    return (f"[{host}]" if ":" in host else host,)


_ELSEWHERE: Final = (("192.0.2.1", socket.AF_INET), ("2001:db8::1", socket.AF_INET6))
"""Addresses of documentation: nothing is sent there, but the system says from where it would be."""


def own_names() -> tuple[str, ...]:
    """Return the names by which others in this network may know this computer."""
    name = socket.gethostname().lower()
    short = name.partition(".")[0]
    return tuple(dict.fromkeys((name, short, f"{short}.local")))


def own_addresses() -> tuple[str, ...]:
    """Return the addresses by which others reach this computer, the likeliest first.

    IPv6 addresses stand in brackets. No network is needed, and no name server is asked for others.
    """
    found: list[str] = []
    for target, family in _ELSEWHERE:
        with contextlib.suppress(OSError), socket.socket(family, socket.SOCK_DGRAM) as probe:
            probe.connect((target, 9))
            found.append(str(probe.getsockname()[0]))
    with contextlib.suppress(OSError):
        found += [str(one[4][0]) for one in socket.getaddrinfo(socket.gethostname(), None)]
    usable = dict.fromkeys(one.partition("%")[0] for one in found if _is_usable(one))
    return tuple(f"[{one}]" if ":" in one else one for one in usable)


def _is_usable(address: str) -> bool:
    one = ipaddress.ip_address(address.partition("%")[0])
    return not (one.is_loopback or one.is_link_local or one.is_unspecified)
