"""The flags of every command that calls a server at an address."""

from __future__ import annotations

from typing import TYPE_CHECKING

from humanmcp.calling.address import put_header
from humanmcp.common.api_key import find_key

if TYPE_CHECKING:
    import argparse

    from humanmcp.common.parsing import Parser
    from humanmcp.protocol.http.client import HeaderChanges


def add_header_flags(parser: Parser) -> None:
    """Declare the flags that put headers over those of an address."""
    words = parser.words("calling", "help ")
    parser.add_argument(
        "--header", metavar="NAME:VALUE", action="append", default=[], help=words("header")
    )
    parser.add_argument("--key-file", metavar="FILE", default="", help=words("key-file"))


def put_headers(changes: HeaderChanges, arguments: argparse.Namespace) -> None:
    """Put the headers of the flags over others; keys come from a file or a variable.

    Raises:
        StopError: one is no header, or the key cannot be used.
    """
    for one in arguments.header:
        name, _, value = one.partition(":")
        put_header(changes, name, value)
    key = find_key("", arguments.key_file)
    if key is not None:
        changes.put("Authorization", f"Bearer {key.secret}", secret=True)
