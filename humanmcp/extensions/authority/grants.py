"""What an authorization server knows: clients, codes, grants. It has no clock and no file.

Secrets are digests here, so what is kept on the disk opens nothing. Each record names its issuer:
two authorities never take what the other one gave.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import secrets
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

CODE_LIVES: Final = 300.0
"""Seconds within which a code is exchanged. RFC 6749, 4.1.2: "A maximum authorization code lifetime
of 10 minutes is RECOMMENDED"."""
TOKEN_LIVES: Final = 3600.0
MOST_CLIENTS: Final = 200
MOST_GRANTS: Final = 1_000
MOST_SESSIONS: Final = 2_000


def digest(secret: str) -> str:
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()


def challenge_of(verifier: str) -> str:
    """Return the S256 challenge of a verifier (RFC 7636, 4.2)."""
    hashed = hashlib.sha256(verifier.encode("ascii", "replace")).digest()
    return base64.urlsafe_b64encode(hashed).rstrip(b"=").decode()


def new_secret() -> str:
    return secrets.token_urlsafe(32)


@dataclass(slots=True)
class RegisteredClient:
    """A client. `secret` is a digest, "" for a public client."""

    id: str
    issuer: str
    name: str
    redirect_uris: list[str]
    method: str
    """How it says at the token endpoint who it is."""
    secret: str = ""


@dataclass(slots=True)
class IssuedCode:
    """What a code is good for. `spent` is the id of the grant that it became."""

    issuer: str
    client: str
    redirect_uri: str
    challenge: str
    resource: str
    scope: str
    ends: float
    names_redirect: bool = True
    spent: str = ""


@dataclass(slots=True)
class Grant:
    """What a client may do. `access` and `refresh` are digests of the tokens that count now."""

    id: str
    issuer: str
    client: str
    resource: str
    scope: str
    access: str = ""
    ends: float = 0.0
    refresh: str = ""
    rotated: list[str] = field(default_factory=list)
    """The digests of earlier refresh tokens: who shows one again has stolen it, or was robbed."""

    def renew(self, now: float) -> tuple[str, str]:
        """Return a new access token and a new refresh token, which alone count from now on."""
        access, refresh = new_secret(), new_secret()
        self.access, self.refresh = digest(access), digest(refresh)
        self.ends = now + TOKEN_LIVES
        return access, refresh


class Grants:
    """All clients, codes and grants of one address, by what names them."""

    def __init__(self) -> None:
        self.clients: dict[str, RegisteredClient] = {}
        self.codes: dict[str, IssuedCode] = {}
        self.grants: dict[str, Grant] = {}
        self.sessions: dict[str, str] = {}
        """Who began each session of MCP: the client, by the digest of the session's id."""

    # -- keeping ----------------------------------------------------------------------------------

    def as_record(self) -> dict[str, Any]:
        """Return all of it as JSON. Codes are not kept: they end with the process."""
        return {
            "clients": [asdict(one) for one in self.clients.values()],
            "grants": [asdict(one) for one in self.grants.values()],
            "sessions": self.sessions,
        }

    @classmethod
    def read(cls, record: Mapping[str, Any]) -> Grants:
        """Read a record.

        Raises:
            KeyError, TypeError, ValueError: it is none.
        """
        found = cls()
        found.clients = {one["id"]: RegisteredClient(**one) for one in record["clients"]}
        found.grants = {one["id"]: Grant(**one) for one in record["grants"]}
        found.sessions = dict(record.get("sessions", {}))
        return found

    def copied(self) -> Grants:
        """Return what `undo` needs: all but the sessions of MCP."""
        found = Grants()
        found.clients = dict(self.clients)
        found.codes = {name: replace(one) for name, one in self.codes.items()}
        found.grants = {name: replace(one) for name, one in self.grants.items()}
        return found

    def undo(self, before: Grants) -> None:
        """Take back what nobody was told. A grant that has ended stays ended."""
        self.clients, self.codes = before.clients, before.codes
        self.grants = {name: one for name, one in before.grants.items() if name in self.grants}

    # -- clients ----------------------------------------------------------------------------------

    def register(
        self, issuer: str, name: str, redirect_uris: Sequence[str], method: str
    ) -> tuple[RegisteredClient, str]:
        """Register a client. Return it, and its secret, "" for a public one."""
        secret = "" if method == "none" else new_secret()
        client_id, kept = secrets.token_urlsafe(12), digest(secret) if secret else ""
        client = RegisteredClient(client_id, issuer, name, [*redirect_uris], method, kept)
        self.clients[client.id] = client
        if len(self.clients) > MOST_CLIENTS:
            used = {one.client for one in self.grants.values()}
            used |= {one.client for one in self.codes.values()}
            older = list(self.clients)[:-1]
            del self.clients[next((one for one in older if one not in used), older[0])]
        return client, secret

    def client(self, issuer: str, name: str) -> RegisteredClient | None:
        found = self.clients.get(name)
        return found if found is not None and found.issuer == issuer else None

    def own(self, client: str, session: str) -> bool:
        """Note who began a session. Return False if that is known."""
        name = digest(session)
        if name in self.sessions:
            return False
        self.sessions[name] = client
        if len(self.sessions) > MOST_SESSIONS:
            del self.sessions[next(iter(self.sessions))]
        return True

    def owns(self, client: str, session: str) -> bool:
        """Return True if a client began a session, with this grant or an earlier one."""
        return self.sessions.get(digest(session)) == client

    # -- codes ------------------------------------------------------------------------------------

    def issue_code(self, code: IssuedCode, now: float) -> str:
        """Return a new code. Only a person's consent may lead here."""
        secret = new_secret()
        self.codes[digest(secret)] = replace(code, ends=now + CODE_LIVES)
        return secret

    def exchange(self, secret: str, issuer: str, client: str, now: float) -> IssuedCode | None:
        """Take a code, once; None for one that does not count.

        RFC 6749, 4.1.2: if a code is used more than once, the server "SHOULD revoke (when possible)
        all tokens previously issued based on that authorization code".
        """
        found = self.codes.get(digest(secret))
        if found is None or (found.issuer, found.client) != (issuer, client):
            return None
        if found.spent:
            self.grants.pop(found.spent, None)
            return None
        if now >= found.ends:
            return None
        found.spent = "-"
        return found

    def forget_codes(self, now: float) -> None:
        """Forget the codes that ended long ago."""
        ended = [name for name, one in self.codes.items() if now >= one.ends + TOKEN_LIVES]
        for name in ended:
            del self.codes[name]

    # -- tokens -----------------------------------------------------------------------------------

    def grant(self, code: IssuedCode, now: float) -> tuple[Grant, str, str]:
        """Make the grant of a code. Return it, its access token and its refresh token."""
        name = secrets.token_urlsafe(12)
        found = Grant(name, code.issuer, code.client, code.resource, code.scope)
        code.spent = found.id
        self.grants[found.id] = found
        if len(self.grants) > MOST_GRANTS:
            del self.grants[next(iter(self.grants))]
        return found, *found.renew(now)

    def refresh(
        self, secret: str, issuer: str, client: str, now: float
    ) -> tuple[Grant, str, str] | None:
        """Take a refresh token, and give new ones in its place; None for one that does not count.

        OAuth 2.1, 4.3.1: a refresh token that was rotated and comes again ends its grant.
        """
        hashed = digest(secret)
        for found in self.grants.values():
            if (found.issuer, found.client) != (issuer, client):
                continue
            if hashed in found.rotated:
                del self.grants[found.id]
                return None
            if found.refresh and hmac.compare_digest(found.refresh, hashed):
                found.rotated = [*found.rotated[-9:], hashed]
                return found, *found.renew(now)
        return None

    def grant_of(self, token: str, issuer: str, resource: str, now: float) -> Grant | None:
        """Return the grant of an access token that counts for a resource; None for any other."""
        hashed = digest(token)
        for found in self.grants.values():
            is_here = (found.issuer, found.resource) == (issuer, resource) and now < found.ends
            if is_here and hmac.compare_digest(found.access, hashed):
                return found
        return None

    def expire(self) -> None:
        """Let no access token count any more; refresh tokens go on."""
        for one in self.grants.values():
            one.ends = 0.0
