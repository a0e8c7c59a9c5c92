"""A client that signs in, request by request, and the person who consents in a terminal."""

from __future__ import annotations

import json
import re
import threading
from contextlib import suppress
from pathlib import Path
from typing import Any, Final
from urllib.parse import parse_qsl, urlencode, urlsplit

from humanmcp.cli import main
from humanmcp.extensions.authority.grants import challenge_of
from humanmcp.inbox.contract import Item, Order, Reply, Role
from humanmcp.inbox.folder import FolderInbox
from humanmcp.protocol.conversation.transcript import Frame
from tests.support.serve_http import Got, ask_http, initialize
from tests.support.waiting import PATIENCE, until

URI: Final = "http://127.0.0.1:3999/cb"
VERIFIER: Final = "verifier-that-nobody-may-see-anywhere-0123456789"
STATE: Final = "state-that-nobody-may-see-anywhere"
BROWSER: Final = {"Accept": "text/html,*/*"}
_MCP: Final = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}


class SigningIn:
    """A client of an authority at a port."""

    def __init__(self, port: int, host: str = "127.0.0.1") -> None:
        self.port, self.host = port, f"{host}:{port}"
        self.client = ""
        self.secrets: list[str] = [VERIFIER, STATE]
        """Every value that must be written nowhere."""

    def ask(self, method: str, path: str, body: str = "", **headers: str) -> Got:
        """Send a request."""
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return ask_http(self.port, method, path, body, {"Host": self.host, **named})

    def mcp(self, token: str = "", body: str = "") -> Got:
        """Send a message of MCP, with a token if there is one."""
        headers = _MCP | ({"Authorization": f"Bearer {token}"} if token else {})
        body = body or initialize("2025-11-25")
        return ask_http(self.port, "POST", "/mcp", body, {"Host": self.host, **headers})

    def register(self, **more: object) -> Got:
        """Register, as a public client if nothing else is said."""
        members = {
            "client_name": "Test client",
            "redirect_uris": [URI],
            "token_endpoint_auth_method": "none",
            **more,
        }
        got = self.ask("POST", "/as/register", json.dumps(members), content_type="application/json")
        self.client = got.json.get("client_id", "")
        return got

    def asked(self, **more: str) -> str:
        """Return the address that the client opens in a browser."""
        query = {
            "response_type": "code",
            "client_id": self.client,
            "redirect_uri": URI,
            "code_challenge": challenge_of(VERIFIER),
            "code_challenge_method": "S256",
            "state": STATE,
            "resource": f"http://{self.host}/mcp",
            **more,
        }
        return f"/as/authorize?{urlencode(query)}"

    def open(self, path: str = "") -> Redirected:
        """Open the address as a program does, which waits for the redirect."""
        return Redirected(self, path or self.asked())

    def token(self, **form: str) -> Got:
        """Exchange something for a token."""
        given = {"client_id": self.client, "redirect_uri": URI, "code_verifier": VERIFIER, **form}
        got = self.ask(
            "POST",
            "/as/token",
            urlencode(given),
            content_type="application/x-www-form-urlencoded",
        )
        self.secrets += [
            got.json[one] for one in ("access_token", "refresh_token") if one in got.json
        ]
        return got

    def exchange(self, code: str, **form: str) -> Got:
        """Exchange a code."""
        return self.token(grant_type="authorization_code", code=code, **form)

    def refresh(self, refresh_token: str, **form: str) -> Got:
        """Exchange a refresh token."""
        return self.token(grant_type="refresh_token", refresh_token=refresh_token, **form)

    def sign_in(self, home: Path) -> dict[str, Any]:
        """Sign in, with a person who allows it. Returns what the token endpoint said."""
        if not self.client:
            self.register()
        opened = self.open()
        decide(home, "--allow")
        said: dict[str, Any] = self.exchange(opened.parameters()["code"]).json
        return said


class Redirected:
    """A request whose redirect is waited for, in a thread."""

    def __init__(self, client: SigningIn, path: str) -> None:
        self._got: list[Got] = []
        self._client = client
        self._thread = threading.Thread(target=self._ask, args=(path,), daemon=True)
        self._thread.start()

    def _ask(self, path: str) -> None:
        self._got.append(self._client.ask("GET", path))

    @property
    def is_answered(self) -> bool:
        """Whether a response came."""
        return bool(self._got)

    def got(self) -> Got:
        """Return the response."""
        self._thread.join(PATIENCE)
        return self._got[0]

    def parameters(self) -> dict[str, str]:
        """Return the parameters of the redirect."""
        location = self.got().headers["location"]
        found = dict(parse_qsl(urlsplit(location).query))
        self._client.secrets += [found["code"]] if "code" in found else []
        return found


def consents(home: Path) -> list[Item]:
    """Return what waits for a person at the authorities of an inbox."""
    inbox = FolderInbox(home)
    ours = [one.name for one in inbox.sessions() if one.role is Role.ENDPOINT and one.is_open]
    return [item for name in ours for item in inbox.items(name) if item.reply is None]


def decide(home: Path, *words: str) -> None:
    """Decide the one step that waits, in a terminal."""
    (item,) = until(lambda: consents(home), "a step that waits")
    name = f"{item.key.session}/{item.key.number}"
    assert main(["answer", name, *words, "--home", str(home), "--lang", "en"]) == 0


def order(home: Path, words: str) -> None:
    """Order something, as the page does."""
    inbox = FolderInbox(home)
    (facts,) = [one for one in inbox.sessions() if one.role is Role.ENDPOINT and one.is_open]
    ticket = inbox.submit(facts.name, Reply(f"oauth {words}", order=Order.EXTENSION))
    until(lambda: inbox.outgoing_result(facts.name, ticket), "it is followed")


def steps_of(home: Path) -> list[Frame]:
    """Return the recorded steps, and their answers."""
    inbox = FolderInbox(home)
    ours = [one.name for one in inbox.sessions() if one.role is Role.ENDPOINT]
    return [one for name in sorted(ours) for one in inbox.frames(name) if one.note]


def written_in(home: Path) -> str:
    """Return all that is written in a folder, as soon as no file is just moved."""

    def read() -> str:
        with suppress(FileNotFoundError):
            files = [one for one in home.rglob("*") if one.is_file()]
            return "\n".join(one.read_bytes().decode("utf-8", "replace") for one in files)
        return ""

    return until(read, "no file is just moved")


def link_in(page: str) -> str:
    """Return the address that a page of a consent loads by itself."""
    found = re.search(r'http-equiv="refresh" content="0;url=([^"]+)"', page)
    assert found is not None, page
    return found[1]
