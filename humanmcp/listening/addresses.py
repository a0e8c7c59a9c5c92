"""Which address is listened on: beyond this computer only where that was asked for."""

from __future__ import annotations

import contextlib
import ipaddress
import socket
from typing import Final

from humanmcp.listening.sockets import listen
from humanmcp.locales.stop import StopError
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


def bind(text: str, key: str, *, lan: bool) -> tuple[socket.socket, HttpAddress]:
    """Listen where it was asked for; beyond this computer only where that was said.

    Raises:
        HttpServeError: the address cannot be used.
        OSError: there is no port.
    """
    host, port = address_of(text)
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
    return listening, HttpAddress(host, got, key, is_open)


_ELSEWHERE: Final = (("192.0.2.1", socket.AF_INET), ("2001:db8::1", socket.AF_INET6))
"""Addresses of documentation: nothing is sent there, but the system says from where it would be."""


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
