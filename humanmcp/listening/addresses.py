"""Which address is listened on: beyond this computer only where that was asked for."""

from __future__ import annotations

import ipaddress
from typing import TYPE_CHECKING, Final

from humanmcp.listening.sockets import listen
from humanmcp.locales.stop import StopError
from humanmcp.protocol.http.guard import HttpAddress

if TYPE_CHECKING:
    import socket

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
