"""Where a room is found: the addresses of this computer, and the QR code of one."""

from __future__ import annotations

import contextlib
import io
import ipaddress
import socket
from typing import Final

import segno

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


def own_names() -> tuple[str, ...]:
    """Return the names by which others in this network may know this computer."""
    name = socket.gethostname().lower()
    short = name.partition(".")[0]
    return tuple(dict.fromkeys((name, short, f"{short}.local")))


def spaced(code: str) -> str:
    """Return a code as it is read aloud: in two halves."""
    half = len(code) // 2
    return f"{code[:half]}-{code[half:]}"


def picture(link: str) -> bytes:
    """Draw a link as a QR code, black on white whatever the page's colours are."""
    drawn = io.BytesIO()
    segno.make(link, error="m").save(drawn, kind="svg", border=3, light="#fff", scale=8)
    return drawn.getvalue()


def for_terminal(link: str) -> str:
    """Draw a link as a QR code of letters."""
    drawn = io.StringIO()
    segno.make(link, error="l").terminal(drawn, compact=True, border=2)
    return drawn.getvalue()
