"""`notices.toml`: where notices go, how much of a request they contain, and for which clients."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final

from humanmcp.http.server_address import AddressError, ServerAddress
from humanmcp.locales.stop import StopError
from humanmcp.protocol.http.client import HeaderError

if TYPE_CHECKING:
    from pathlib import Path

FILE: Final = "notices.toml"
SECTION: Final = "notices"
PUBLIC_NTFY: Final = "https://ntfy.sh"


class Detail(StrEnum):
    """How much of a request leaves this computer."""

    NOTHING = "nothing"
    WAITING = "waiting"
    QUESTION = "question"


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule: where notices go, how much they contain, and for which clients.

    `to` is an Apprise URL.
    """

    to: str
    detail: Detail = Detail.WAITING
    client: str = "*"


@dataclass(frozen=True, slots=True, kw_only=True)
class PhoneRule(Rule):
    """A rule for a phone: `to` is the address of its ntfy server.

    With `buttons`, a press can answer; a button sends `button_token` to its server.
    """

    device: str
    token: str = ""
    button_token: str = ""
    buttons: bool = False


class NoticesError(StopError):
    """`notices.toml` cannot be used, or Apprise is not installed."""

    section = SECTION


def read_rules(file: Path) -> tuple[list[Rule], list[PhoneRule]]:
    """Read `notices.toml`: the rules of services, and those of phones.

    Raises:
        NoticesError: it is invalid.
    """
    try:
        record = tomllib.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return [], []
    except (OSError, ValueError) as error:
        raise NoticesError("unreadable", file=file, why=error) from error
    are_lists = all(isinstance(one, list) for one in record.values())
    if set(record) - {"notices", "ntfy"} or not are_lists:
        raise NoticesError("no list", file=file)
    rules = [_rule(file, *entry) for entry in enumerate(record.get("notices", []), 1)]
    phones = [_phone(file, *entry) for entry in enumerate(record.get("ntfy", []), 1)]
    names = [phone.device for phone in phones]
    for name in names:
        if names.count(name) > 1:
            raise NoticesError("two phones", file=file, device=name)
    return rules, phones


def _rule(file: Path, number: int, entry: Any) -> Rule:  # noqa: ANN401 - whatever the file holds
    if not _holds(entry, {"to", "detail", "client"}) or "to" not in entry:
        raise NoticesError("no rule", file=file, number=number)
    if not load_apprise().Apprise().add(entry["to"]):
        raise NoticesError("no address", file=file, number=number)
    return Rule(entry["to"], _detail(file, number, entry), entry.get("client", "*"))


_OF_PHONE: Final = {"device", "server", "token", "button_token", "detail", "client"}


def _phone(file: Path, number: int, entry: Any) -> PhoneRule:  # noqa: ANN401 - whatever the file holds
    given = dict(entry) if isinstance(entry, dict) else {}
    buttons = given.pop("buttons", False)
    device = " ".join(str(given.get("device", "")).split())
    if not (device and _holds(given, _OF_PHONE) and isinstance(buttons, bool)):
        raise NoticesError("no phone", file=file, number=number)
    detail = _detail(file, number, given)
    if buttons and detail is not Detail.QUESTION:
        raise NoticesError("no buttons", file=file, device=device)
    address = ServerAddress(given.get("server", PUBLIC_NTFY).rstrip("/"))
    tokens = {name: given.get(name, "") for name in ("token", "button_token")}
    try:
        address.check()
        for token in tokens.values():
            address.changes.put("Authorization", f"Bearer {token}")
    except (AddressError, HeaderError) as error:
        raise NoticesError("no server", file=file, device=device) from error
    if address.parts.path or address.parts.query or address.parts.fragment:
        raise NoticesError("no server", file=file, device=device)
    client = given.get("client", "*")
    return PhoneRule(address.url, detail, client, device=device, buttons=buttons, **tokens)


def _holds(entry: Any, names: set[str]) -> bool:  # noqa: ANN401 - whatever the file holds
    """Return True for a table with only these names, whose values are strings."""
    if not isinstance(entry, dict) or set(entry) - names:
        return False
    return all(isinstance(value, str) for value in entry.values())


def _detail(file: Path, number: int, entry: dict[str, str]) -> Detail:
    try:
        return Detail(entry.get("detail", Detail.WAITING))
    except ValueError as error:
        raise NoticesError("no detail", file=file, number=number, detail=entry["detail"]) from error


def load_apprise() -> Any:  # noqa: ANN401 - a module that may be missing
    try:
        import apprise  # noqa: PLC0415 - an extra: only who wants notices has it
    except ImportError as error:
        raise NoticesError("no apprise") from error
    return apprise
