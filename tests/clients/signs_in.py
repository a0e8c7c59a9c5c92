"""The Python SDK, 1 or 2, as a client that signs in: `python signs_in.py ADDRESS [TOOL [SERVER]]`.

Its "browser" follows no redirect: it reads what the client would get there.
Prints a line of JSON: the names of the tools, or what went wrong. With a TOOL it calls that one
when a token of a second has expired, prints what came, and fails if nothing did: for
`humanmcp judge`. SERVER is the server's own address where ADDRESS is that of a tap before it.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import urllib.error
import urllib.request
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from mcp import ClientSession
from mcp.client.auth import OAuthClientProvider
from mcp.shared.auth import OAuthClientMetadata
from pydantic import AnyUrl

URL, TOOL, SERVER = [*sys.argv[1:], "", ""][:3]
DOCUMENT = "https://client.example/client.json"
EXPIRED = 1.2
"""Seconds until a token is over that is good for one."""
URI = "http://127.0.0.1:3999/cb"


class Stays(urllib.request.HTTPRedirectHandler):
    """A browser that stays where it is."""

    def redirect_request(self, *_: object) -> None:
        """Follow nothing."""


class Storage:
    """Keeps what the SDK asks to keep."""

    tokens: Any = None
    client: Any = None

    async def get_tokens(self) -> Any:  # noqa: ANN401 - the SDKs have types of their own
        """Return the tokens."""
        return self.tokens

    async def set_tokens(self, tokens: object) -> None:
        """Keep the tokens."""
        self.tokens = tokens

    async def get_client_info(self) -> Any:  # noqa: ANN401 - likewise
        """Return the registration."""
        return self.client

    async def set_client_info(self, client_info: object) -> None:
        """Keep the registration."""
        self.client = client_info


came_back: dict[str, str] = {}


async def open_browser(address: str) -> None:
    """Open the page, and wait for where it leads."""

    def wait() -> str:
        try:
            urllib.request.build_opener(Stays).open(address, timeout=60)
        except urllib.error.HTTPError as error:
            return error.headers.get("location") or ""
        return ""

    location = await asyncio.to_thread(wait)
    came_back.update(parse_qsl(urlsplit(location).query))


async def callback() -> Any:  # noqa: ANN401 - a pair, or a class of the SDK 2
    """Return what came back, in the form of this SDK."""
    try:
        from mcp.shared.auth import AuthorizationCodeResult  # noqa: PLC0415 - of the SDK 2
    except ImportError:
        return came_back.get("code", ""), came_back.get("state")
    known = {name: came_back.get(name) for name in ("state", "iss")}
    return AuthorizationCodeResult(code=came_back.get("code", ""), **known)


def provider() -> Any:  # noqa: ANN401 - as above
    """Return what signs in."""
    metadata = OAuthClientMetadata(
        client_name="SDK",
        redirect_uris=[AnyUrl(URI)],
        grant_types=["authorization_code", "refresh_token"],
        response_types=["code"],
        token_endpoint_auth_method="none",
    )
    return OAuthClientProvider(
        SERVER or URL, metadata, Storage(), open_browser, callback, client_metadata_url=DOCUMENT
    )


async def tools(read: Any, write: Any) -> list[str]:  # noqa: ANN401 - as above
    """Return the names of the tools, or what one of them said."""
    async with ClientSession(read, write) as session:
        await session.initialize()
        found = [one.name for one in (await session.list_tools()).tools]
        if TOOL:
            await asyncio.sleep(EXPIRED)
            result = await session.call_tool(TOOL, {})
            return [getattr(one, "text", one.type) for one in result.content]
        return found


async def main() -> list[str]:
    """Sign in, and list the tools."""
    try:
        from mcp.client.streamable_http import streamable_http_client  # noqa: PLC0415 - of the SDK 2
        from mcp.shared._httpx_utils import create_mcp_http_client  # noqa: PLC0415 - likewise
    except ImportError:
        from mcp.client import streamable_http  # noqa: PLC0415 - of the SDK 1

        connect = streamable_http.streamablehttp_client  # type: ignore[attr-defined] # in the SDK 1
        async with connect(URL, auth=provider()) as (read, write, *_):
            return await tools(read, write)
    async with (
        create_mcp_http_client(auth=provider()) as client,
        streamable_http_client(URL, http_client=client) as (read, write, *_),
    ):
        return await tools(read, write)


def leaf(error: BaseException) -> BaseException:
    """Return the error in groups of errors."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


try:
    told: dict[str, object] = {"tools": asyncio.run(main())}
except Exception as error:  # noqa: BLE001 - whatever the SDK raises is what it says
    told = {"error": str(leaf(error))}
os.write(1, json.dumps(told).encode())
if TOOL:
    sys.exit("error" in told)
