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
from functools import partial
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
class Grant:
    """What a client may do: asked for, then of a code, then of tokens.

    `code`, `access` and `refresh` are digests of what counts now, "" for none.
    """

    issuer: str
    client: str
    resource: str
    scope: str
    redirect_uri: str = ""
    challenge: str = ""
    names_redirect: bool = True
    code: str = ""
    ends: float = 0.0
    """When its code is over, then its access token."""
    access: str = ""
    refresh: str = ""
    rotated: list[str] = field(default_factory=list)
    """The digests of earlier refresh tokens: who shows one again has stolen it, or was robbed."""
    id: str = field(default_factory=partial(secrets.token_urlsafe, 12))

    def renew(self, now: float) -> dict[str, str]:
        """Return new tokens by their names, which alone count from now on."""
        tokens = {"access_token": new_secret(), "refresh_token": new_secret()}
        self.access, self.refresh = map(digest, tokens.values())
        self.ends = now + TOKEN_LIVES
        return tokens


@dataclass(slots=True)
class Grants:
    """All clients and grants of one address, by what names them."""

    clients: dict[str, RegisteredClient] = field(default_factory=dict)
    grants: dict[str, Grant] = field(default_factory=dict)
    sessions: dict[str, str] = field(default_factory=dict)
    """Who began each session of MCP: the client, by the digest of the session's id."""

    # -- keeping ----------------------------------------------------------------------------------

    def as_record(self) -> dict[str, Any]:
        """Return all of it as JSON. Codes are not kept: they end with the process."""
        given = (replace(one, code="") for one in self.grants.values() if one.access)
        return {
            "clients": [asdict(one) for one in self.clients.values()],
            "grants": [asdict(one) for one in given],
            "sessions": {**self.sessions},
        }

    @classmethod
    def read(cls, record: Mapping[str, Any]) -> Grants:
        """Read a record.

        Raises:
            KeyError, TypeError, ValueError: it is none.
        """
        clients = {one["id"]: RegisteredClient(**one) for one in record["clients"]}
        grants = {one["id"]: Grant(**one) for one in record["grants"]}
        return cls(clients, grants, dict(record.get("sessions", {})))

    def copied(self) -> Grants:
        """Return one to change while others read this one. The sessions are those of both."""
        grants = {name: replace(one) for name, one in self.grants.items()}
        return Grants({**self.clients}, grants, self.sessions)

    def without_ended(self, later: Grants) -> Grants:
        """Return this one as if what came later had not: but a grant that has ended stays ended."""
        kept = {name: one for name, one in self.grants.items() if name in later.grants}
        return replace(self, grants=kept)

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

    # -- grants -----------------------------------------------------------------------------------

    def issue_code(self, consent: Grant, now: float) -> str:
        """Return a new code. Only a person's consent may lead here."""
        every = self.grants.items()  # but codes that nobody has exchanged in time
        self.grants = {name: one for name, one in every if one.access or now < one.ends}
        secret = new_secret()
        self.grants[consent.id] = replace(consent, code=digest(secret), ends=now + CODE_LIVES)
        if len(self.grants) > MOST_GRANTS:
            del self.grants[next(iter(self.grants))]
        return secret

    def exchange(self, secret: str, client: RegisteredClient, now: float) -> Grant | None:
        """Take a code, once; None for one that does not count. Its grant is no more then.

        RFC 6749, 4.1.2: if a code is used more than once, the server "SHOULD revoke (when possible)
        all tokens previously issued based on that authorization code".
        """
        hashed = digest(secret)
        for found in self._of(client):
            if hmac.compare_digest(found.code, hashed):
                del self.grants[found.id]
                return None if found.access or now >= found.ends else found
        return None

    def refresh(self, secret: str, client: RegisteredClient) -> Grant | None:
        """Take a refresh token; None for one that does not count.

        OAuth 2.1, 4.3.1: a refresh token that was rotated and comes again ends its grant.
        """
        hashed = digest(secret)
        for found in self._of(client):
            if hashed in found.rotated:
                del self.grants[found.id]
                return None
            if found.refresh and hmac.compare_digest(found.refresh, hashed):
                found.rotated = [*found.rotated[-9:], hashed]
                return found
        return None

    def _of(self, client: RegisteredClient) -> list[Grant]:
        named = (client.issuer, client.id)
        return [one for one in self.grants.values() if (one.issuer, one.client) == named]

    def grant_of(self, token: str, issuer: str, resource: str, now: float) -> Grant | None:
        """Return the grant of an access token that counts for a resource; None for any other."""
        hashed = digest(token)
        for found in self.grants.values():
            is_here = (found.issuer, found.resource) == (issuer, resource) and now < found.ends
            if is_here and hmac.compare_digest(found.access, hashed):
                return found
        return None

    def narrow(self, token: str, scope: str) -> None:
        """Take from the grant of an access token what a person who gave it left out."""
        for one in self.grants.values():
            if one.access == digest(token):
                kept = [word for word in one.scope.split() if word in scope.split()]
                one.scope = " ".join(kept) or one.scope

    def expire(self) -> None:
        """Let no access token count any more; refresh tokens go on."""
        for one in self.grants.values():
            one.ends = 0.0 if one.access else one.ends
