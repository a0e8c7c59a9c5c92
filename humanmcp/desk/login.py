"""Logging in to the desk: one-time keys, a short code, login sessions, the token for scripts.

It knows secrets and the clock, but not HTTP. Secrets are compared as bytes in constant time, and
only their digests are stored on disk.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import logging
import re
import secrets
import threading
import time
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from humanmcp.inbox.atomic import write_private

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from starlette.types import Scope

ONLY_SESSION: Final = ContextVar("only_session", default="")
"""The only session that this request may see; "" for all."""

_LOGIN_PATH: Final = re.compile(rb"/~[A-Za-z0-9_-]{16,64}(?=/|\Z)")

# Templates escape all values, so a quotation mark in one cannot begin an address.
_LINK: Final = re.compile(r'(\s(?:href|action|formaction|src)=")(?=/(?!/|static/|~))')


def without_login_path(scope: Scope) -> Scope:
    """Return the scope with the desk's own path; its state contains the login path."""
    raw: bytes = scope.get("raw_path") or scope["path"].encode("utf-8", "surrogateescape")
    found = _LOGIN_PATH.match(raw)
    login_path = found[0].decode("ascii") if found else ""
    if not found or not scope["path"].startswith(login_path):
        return scope
    state = {**scope.get("state", {}), "login_path": login_path}
    path = scope["path"][len(login_path) :] or "/"
    return {**scope, "path": path, "raw_path": raw[found.end() :] or b"/", "state": state}


def login_path_of(scope: Scope) -> str:
    """Return the login path of a request (`/~…`), "" for none."""
    state: dict[str, Any] = scope.get("state", {})  # `Any`: it may contain anything
    return str(state.get("login_path", ""))


def within(address: str, login_path: str) -> str:
    """Return an address of the desk below a login path, unless it has one."""
    ours = address.startswith("/") and not address.startswith(("//", "/~"))
    return login_path + address if ours else address


def linked(html: str, scope: Scope) -> str:
    """Return a page with its links and forms below the login path of its request."""
    login_path = login_path_of(scope)
    return _LINK.sub(rf"\g<1>{login_path}", html) if login_path else html


def login_of(login_path: str, cookie: str) -> str:
    """Return the name of a login session from its two secrets, which are only valid together."""
    return f"{login_path}.{cookie}" if login_path and cookie else ""


def parts_of(login: str) -> tuple[str, str]:
    """Return the path and the cookie of a login session."""
    login_path, _, cookie = login.partition(".")
    return login_path, cookie


_log = logging.getLogger(__name__)

FILE_NAME: Final = "logins.json"
KEY_LIFE: Final = 300.0
"""The seconds for which a one-time key is valid."""
IDLE: Final = 12 * 3600.0
"""The seconds without a request after which a browser must log in again."""
LONGEST: Final = 7 * 24 * 3600.0
"""The seconds after which it must log in again in any case."""
DEVICE_KEY_LIFE: Final = 900.0
"""The seconds for which the link of a new device is valid."""
DEVICE_IDLE: Final = 90 * 24 * 3600.0
"""The seconds without a request after which a device needs a new link."""
TRIES: Final = 5
"""The number of wrong codes after which the code changes."""
PAUSE: Final = 5.0
"""The seconds without any check after that, so that codes cannot be guessed or changed quickly."""
REMEMBERED: Final = 3600.0
"""The seconds for which a used key is recognised."""
_WRITE_EVERY: Final = 60.0
_ID_LENGTH: Final = 16
# Without 0/O, 1/I/L: people read a code from one screen, or a wall, and type it at another.
LETTERS: Final = "23456789ABCDEFGHJKMNPQRSTUVWXYZ"


@dataclass(slots=True)
class LoginSession:
    """A logged-in browser; its times are by the clock of the door."""

    began: float
    seen: float
    session: str = ""
    """The only session that it may see; "" for all."""
    device: str = ""
    """The name of its device; "" for a browser of this computer."""
    ended: str = ""
    """Why a device is out, which its page says: "removed" or "unseen"; "" as long as it is in."""


class Device(NamedTuple):
    """A device that may answer. `id` names it for the desk, and is no secret.

    `began` and `seen` are seconds since 1970.
    """

    id: str
    name: str
    began: float
    seen: float


class _Key(NamedTuple):
    """An unused key: its end of validity, and what it opens."""

    until: float = 0.0
    session: str = ""
    device: str = ""


def elapsed() -> float:
    """Return the seconds of a clock that cannot be set, including sleep if the system counts it."""
    try:
        return time.clock_gettime(time.CLOCK_BOOTTIME)
    except (AttributeError, OSError):  # macOS and Windows have none; a browser's always fails
        return time.monotonic()


@dataclass
class Door:
    """Logs people and scripts in. `file` stores the login sessions.

    `clock` measures durations: a change of the computer's clock ends no login session. `wall`
    returns seconds since 1970: a restarted desk reads in the file when a person was last here.
    """

    file: Path | None = None
    clock: Callable[[], float] = elapsed
    wall: Callable[[], float] = time.time
    token: str = field(default_factory=lambda: secrets.token_urlsafe(32))
    tell: Callable[[str], None] = field(default=lambda _code: None)
    """Shows a new code where the old one was printed."""
    _keys: dict[bytes, _Key] = field(default_factory=dict)
    _used: dict[bytes, float] = field(default_factory=dict)
    """When each key was used, for an hour: whoever comes second is told so."""
    _logins: dict[str, LoginSession] = field(default_factory=dict)
    _code: str = ""
    _wrong: int = 0
    _pause_until: float = 0.0
    _written: float = 0.0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def __post_init__(self) -> None:
        """Read the login sessions of the previous desk."""
        self._code = new_code()
        if self.file is not None:
            self._logins = _read(self.file, self.wall() - self.clock())

    @property
    def code(self) -> str:
        """The short code for people with a browser on another computer: `ABCD-EFGH`."""
        return f"{self._code[:4]}-{self._code[4:]}"

    def new_key(self, session: str = "", device: str = "") -> str:
        """Return a new one-time key: for one session if named, or for a named device."""
        key = secrets.token_urlsafe(16)
        with self._lock:
            now = self.clock()
            self._keys = {known: one for known, one in self._keys.items() if one.until > now}
            life = DEVICE_KEY_LIFE if device else KEY_LIFE
            self._keys[digest(key)] = _Key(now + life, session, device)
        return key

    def enter_with_key(self, key: str, device: str = "") -> str | None:
        """Use a one-time key. Return the login session (`login_of`), or None.

        `device` names a browser that is not on this computer: it never becomes the owner.
        """
        with self._lock:
            now = self.clock()
            found = self._keys.pop(digest(key), _Key())
            if found.until <= now:
                return None
            self._used = {one: at for one, at in self._used.items() if at > now - REMEMBERED}
            self._used[digest(key)] = now
            return self._begin(found.session, found.device or device)

    def was_used(self, key: str) -> bool:
        """Return True if somebody logged in with this key a while ago."""
        return digest(key) in self._used

    def enter_with_code(self, code: str, device: str = "") -> str | None:
        """Try the short code; return the login session or None.

        After several wrong ones, it changes. `device` as with a key.
        """
        with self._lock:
            if self.clock() < self._pause_until:
                return None
            typed = code.replace("-", "").replace(" ", "").upper()[:32]
            right = _same(typed, self._code)
            self._wrong = 0 if right else self._wrong + 1
            spent = self._wrong >= TRIES
            if right or spent:
                self._code, self._wrong = new_code(), 0
            if spent:
                _log.warning("%d wrong login codes: the code has changed", TRIES)
                self._pause_until = self.clock() + PAUSE
            login = self._begin(device=device) if right else None
        if right or spent:
            self.tell(self.code)
        return login

    def knows_token(self, token: str) -> bool:
        """Return True if a script sent the desk's token."""
        return _same(token, self.token)

    def knows_login(self, login: str) -> bool:
        """Return True if this login session has not ended, and record its use."""
        with self._lock:
            name, now = digest(login).hex(), self.clock()
            found = self._logins.get(name)
            if found is None or found.ended:
                return False
            too_old = not found.device and now - found.began > LONGEST
            if too_old or now - found.seen > (DEVICE_IDLE if found.device else IDLE):
                self._end(name, "unseen")
                self._write()
                return False
            found.seen = now
            if now - self._written > _WRITE_EVERY:
                self._write()
            return True

    def end_login(self, login: str) -> None:
        """End a login session: its cookie is no longer valid."""
        with self._lock:
            if self._logins.pop(digest(login).hex(), None) is not None:
                self._write()

    def still_in(self, login: str) -> bool:
        """Return True if a login session has not ended, without recording a use."""
        return self.known(login) is not None

    def known(self, login: str) -> LoginSession | None:
        """Return a login session, None if it is unknown or has ended."""
        with self._lock:
            found = self._logins.get(digest(login).hex())
            return None if found is None or found.ended else found

    def why_ended(self, login: str) -> str:
        """Return why a device is out; "" for every other login."""
        with self._lock:
            found = self._logins.get(digest(login).hex())
            return "" if found is None else found.ended

    def devices(self) -> list[Device]:
        """Return the devices that may answer, newest first."""
        with self._lock:
            ahead = self.wall() - self.clock()
            found = [
                Device(name[:_ID_LENGTH], one.device, one.began + ahead, one.seen + ahead)
                for name, one in self._logins.items()
                if one.device and not one.ended
            ]
        return sorted(found, key=lambda device: device.began, reverse=True)

    def remove_device(self, device_id: str) -> None:
        """End the login of a device; it needs a new link."""
        with self._lock:
            for name in [name for name, one in self._logins.items() if one.device]:
                if name[:_ID_LENGTH] == device_id:
                    self._end(name, "removed")
            self._write()

    def _end(self, name: str, why: str) -> None:
        """End a login session. What a device is told is kept until it would have ended anyway."""
        ended, now = self._logins.pop(name), self.clock()
        if ended.device:
            self._logins[name] = replace(ended, ended=why, seen=now)
        for old in [one for one, it in self._logins.items() if it.ended]:
            if now - self._logins[old].seen > DEVICE_IDLE:
                del self._logins[old]

    def _begin(self, session: str = "", device: str = "") -> str:
        login = login_of(f"/~{secrets.token_urlsafe(16)}", secrets.token_urlsafe(32))
        now = self.clock()
        self._logins[digest(login).hex()] = LoginSession(now, now, session, device)
        self._write()
        return login

    def _write(self) -> None:
        self._written = self.clock()
        if self.file is None:
            return
        ahead = self.wall() - self._written
        record = {
            name: [v.began + ahead, v.seen + ahead, v.session, v.device, v.ended]
            for name, v in self._logins.items()
        }
        try:
            write_private(self.file, json.dumps(record))
        except (
            OSError
        ) as error:  # such as a full disk: the login sessions stay valid until this desk ends
            _log.warning("cannot keep the login sessions in %s: %s", self.file, error)


def _read(file: Path, ahead: float) -> dict[str, LoginSession]:
    """Read the login sessions. `ahead` is how far the file's clock is ahead of the desk's."""
    try:
        record = json.loads(file.read_text(encoding="utf-8"))
        return {
            str(name): LoginSession(
                float(began) - ahead, float(seen) - ahead, str(session), str(device), "".join(ended)
            )
            for name, (began, seen, session, device, *ended) in record.items()
        }
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, TypeError, AttributeError) as error:
        _log.warning("cannot read %s, everybody has to log in again: %s", file, error)
        return {}


def digest(secret: str) -> bytes:
    """Return the digest of a secret for storage."""
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).digest()


def _same(given: str, ours: str) -> bool:
    # `compare_digest` raises for text that is not ASCII, but not for bytes.
    return hmac.compare_digest(
        given.encode("utf-8", "surrogatepass"), ours.encode("utf-8", "surrogatepass")
    )


def new_code() -> str:
    return "".join(secrets.choice(LETTERS) for _ in range(8))
