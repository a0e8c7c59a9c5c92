"""Ask a real server what it offers, in a process of its own: `humanmcp book --from`."""

from __future__ import annotations

import shlex
import subprocess
import sys
from typing import TYPE_CHECKING, Final

from humanmcp.common.book_file import parse_book
from humanmcp.desk.auth.visit_path import SEAT
from humanmcp.desk.presenters import offer

if TYPE_CHECKING:
    from pathlib import Path

WITHIN: Final = 30.0
"""Seconds that a server has to start and to list what it offers."""
_ADDRESSES: Final = ("http://", "https://")


def asked(command: str, home: Path, language: str) -> offer.Lists:
    """Return the lists of the server that a command starts, or that has an address.

    One who was only given a seat starts nothing on this computer.

    Raises:
        OfferError: it does not say what it offers; the sentence says why.
    """
    if SEAT.get():
        raise offer.OfferError("seat")
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise offer.OfferError("not asked", why=error) from error
    if not words:
        raise offer.OfferError("no command")
    source = [words[0]] if words[0].startswith(_ADDRESSES) else ["--", *words]
    try:
        done = subprocess.run(  # noqa: S603 - the owner of this computer typed it; there is no shell
            [sys.executable, "-m", "humanmcp", "book", "--lang", language, "--from", *source],
            capture_output=True,
            check=False,
            stdin=subprocess.DEVNULL,
            timeout=WITHIN,
            cwd=home,
        )
    except subprocess.TimeoutExpired as error:
        raise offer.OfferError("too slow", seconds=f"{WITHIN:g}") from error
    if done.returncode:
        why = done.stderr.decode("utf-8", "replace").strip()[-500:]
        raise offer.OfferError("not asked", why=why)
    return offer.of_book(parse_book(done.stdout.decode("utf-8", "replace"), home))
