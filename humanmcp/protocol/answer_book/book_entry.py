"""One entry of the answer book: its conditions, and what it does.

    its conditions     method, tool, resource, where, contains, client_has, key and kept, …
    before the answer  notify (log, progress, …), ask (and wait), add and remove (in the definition)
    the answer         text, tool_error, result or error, with a fault on purpose
    after the answer   keep (what is known of something from then on)

Pure data and matching; `book_format.py` reads one, `following.py` follows it.
"""

from __future__ import annotations

import enum
import re
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from humanmcp.protocol.answer_book.placeholders import fill_text
from humanmcp.protocol.conversation.state import declared_by
from humanmcp.protocol.json.removed import fits
from humanmcp.protocol.json.tree import follow
from humanmcp.protocol.tables import methods

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from humanmcp.protocol.conversation.exchange import Exchange, NegotiatedState
    from humanmcp.protocol.diagnostics.model import TextForm

LONGEST_ADDRESS: Final = 8192
"""The maximum length of an address that is matched with a template, in characters."""


def gaps_filled(template: str, address: str) -> Mapping[str, str] | None:
    """Return the values of the variables of a template; None if the address does not match.

    Each variable matches as much as possible, the first one first.
    """
    parts = _parts(template)
    if len(parts) == 1:
        return {} if template == address else None
    if len(address) > LONGEST_ADDRESS or not address.startswith(parts[0]):
        return None
    fits = _places_where_the_rest_fits(parts, address)
    if not fits[0][0]:
        return None
    filled, at = {}, len(parts[0])
    for index in range(1, len(parts), 2):
        gap = parts[index]
        end = fits[index + 1].rindex(1, at + 1, _end_of_gap(gap, address, at) + 1)
        filled[gap[1:-1].lstrip("+")] = address[at:end]
        at = end + len(parts[index + 1])
    return filled


def _parts(template: str) -> Sequence[str]:
    """Split a template into text, variable, text, and so on."""
    return re.split(r"(\{[^{}]+\})", template)


def _end_of_gap(gap: str, address: str, at: int) -> int:
    slash = -1 if gap.startswith("{+") else address.find("/", at)
    return len(address) if slash < 0 else slash


def _places_where_the_rest_fits(parts: Sequence[str], address: str) -> list[bytearray]:
    """Return for each part, and for the end, the offsets from which the rest matches."""
    size = len(address)
    fits = [bytearray(size + 1) for _ in range(len(parts) + 1)]
    fits[-1][size] = 1
    for index in reversed(range(len(parts))):
        part, here, rest = parts[index], fits[index], fits[index + 1]
        if index % 2:
            takes_slash = part.startswith("{+")
            for place in reversed(range(size)):
                if takes_slash or address[place] != "/":
                    here[place] = rest[place + 1] or here[place + 1]
            continue
        place = address.find(part)
        while place >= 0:
            here[place] = rest[place + len(part)]
            place = address.find(part, place + 1)
    return fits


_NONE: Final[Mapping[str, Any]] = MappingProxyType({})


class EntryAction(enum.Enum):
    """What an entry does with a request."""

    ANSWER = "answer"
    HOLD = "hold"
    """It waits for a person; a tap holds it."""
    FORWARD = "forward"
    """A tap forwards it, even if it would hold it. Without a real server, a person answers."""


class Notice(NamedTuple):
    """A notification to send before the answer, `after` seconds after the previous one.

    Its progress token and its subscriptions are filled in when it is sent.
    """

    method: str
    params: Mapping[str, Any] = _NONE
    after: float = 0.0


class Question(NamedTuple):
    """A request to the client; the entry's answer can use the response by its name."""

    method: str
    params: Mapping[str, Any] = _NONE


class DefinitionChange(NamedTuple):
    """A change of the server definition by list: objects to add, names or addresses to remove."""

    add: Mapping[str, tuple[Mapping[str, Any], ...]] = _NONE
    remove: Mapping[str, tuple[str, ...]] = _NONE


class BookEntry(NamedTuple):
    """A prepared answer with its conditions. An empty condition always matches.

    `where` are arguments that must be equal, `contains` texts that an argument must hold. The
    arguments are `params.arguments` of `tools/call` and `prompts/get`, `params` elsewhere.
    `resource` is an address, or a template of addresses. `responses` are members that
    `inputResponses` must have; False: it must be absent, True: present, None: either. `state` is
    the `requestState`, with the same meaning of False, True and None. `client_has` are capabilities
    that the client must have declared.

    `after` is in seconds; `times` is how often it answers, None for always. An entry with another
    `action` than an answer has no text. `then` are the answers to later calls; the last one is
    repeated, or with `cycle` all from the beginning. With `fills`, placeholders are filled. `ask`
    are rounds of questions, by name. An entry that is not `on` is skipped.

    `key` names a record, with placeholders; `kept` is what the record must contain, False for no
    record, True for any; `keep` is its content after the answer.
    """

    text: str
    form: TextForm
    method: str = ""
    tool: str = ""
    where: Mapping[str, Any] = _NONE
    contains: Mapping[str, str] = _NONE
    after: float = 0.0
    times: int | None = None
    action: EntryAction = EntryAction.ANSWER
    resource: str = ""
    responses: Mapping[str, Any] | bool | None = None
    state: str | bool | None = None
    client_has: tuple[str, ...] = ()
    notices: tuple[Notice, ...] = ()
    ask: tuple[Mapping[str, Question], ...] = ()
    change: DefinitionChange | None = None
    fault: str = ""
    fills: bool = True
    then: tuple[BookEntry, ...] = ()
    cycle: bool = False
    on: bool = True
    key: str = ""
    kept: Mapping[str, Any] | bool | None = None
    keep: Mapping[str, Any] = _NONE

    def matches(
        self,
        exchange: Exchange,
        negotiated: NegotiatedState | None = None,
        records: Mapping[str, Mapping[str, Any]] = _NONE,
    ) -> bool:
        if not self.on:
            return False
        if self.method and self.method != exchange.method:
            return False
        if self.tool and self.tool != exchange.tool:
            return False
        if self.resource and _captured(self.resource, exchange) is None:
            return False
        return (
            self._fits_arguments(exchange)
            and self._fits_retry(exchange.request.params)
            and self._has_been_declared(declared_by(exchange, negotiated))
            and self._fits_kept(exchange, records)
        )

    def _has_been_declared(self, declared: Mapping[str, Any]) -> bool:
        """Return True if the client declared all: `sampling`, or `sampling.tools` within it."""
        undeclared = object()
        # the names of extensions have dots in them
        ways = (
            name.split(".", 1 if name.startswith("extensions.") else -1) for name in self.client_has
        )
        return all(follow(declared, *way, missing=undeclared) is not undeclared for way in ways)

    def _fits_arguments(self, exchange: Exchange) -> bool:
        if not (self.where or self.contains):
            return True
        arguments = arguments_of(exchange)
        return all(
            name in arguments and fits(value, arguments[name]) for name, value in self.where.items()
        ) and all(
            isinstance(arguments.get(name), str) and part in arguments[name]
            for name, part in self.contains.items()
        )

    def _fits_retry(self, params: Mapping[str, Any]) -> bool:
        """Return True if the members of a retry (2026-07-28) match."""
        if self.state is None and self.responses is None:
            return True
        state, responses = params.get("requestState"), params.get("inputResponses")
        if isinstance(self.state, bool):
            has_state = ("requestState" in params) is self.state
        else:
            has_state = self.state is None or fits(self.state, state)
        if isinstance(self.responses, bool):
            return has_state and ("inputResponses" in params) is self.responses
        return has_state and (self.responses is None or _holds(responses, self.responses))

    def _fits_kept(self, exchange: Exchange, records: Mapping[str, Mapping[str, Any]]) -> bool:
        if self.kept is None:
            return True
        record = records.get(self.key_for(exchange))
        if isinstance(self.kept, bool):
            return (record is not None) is self.kept
        return _holds(record, self.kept)

    def key_for(self, exchange: Exchange) -> str:
        """Return the key of the record of a request; without a value for `new`."""
        return fill_text(self.key, self.values(exchange)) if self.key else ""

    @property
    def remembers(self) -> bool:
        """True if it uses records."""
        return bool(self.key or self.keep) or self.kept is not None or "{records}" in self.text

    @property
    def is_plain(self) -> bool:
        """True if it only answers, or leaves the request to others."""
        return not (self.notices or self.ask or self.change or self.fault or self.remembers)

    @property
    def turns(self) -> tuple[BookEntry, ...]:
        """The answers to the calls in order: the entry itself, then its `then`."""
        return (self, *self.then)

    def turn(self, count: int) -> BookEntry:
        """Return the answer to the call after `count` earlier ones."""
        return self.turns[count % len(self.turns) if self.cycle else min(count, len(self.then))]

    def values(self, exchange: Exchange) -> Mapping[str, Any]:
        """Return the values for its placeholders: arguments, variables of its address, `params`."""
        captured = _captured(self.resource, exchange) or {}
        return {"params": exchange.request.params, **arguments_of(exchange), **captured}


def arguments_of(exchange: Exchange) -> Mapping[str, Any]:
    """Return the arguments of a request, without the name of the tool or the prompt."""
    params = exchange.request.params
    member = methods.of(exchange.method).arguments
    if member:
        arguments = params.get(member)
        return arguments if isinstance(arguments, dict) else {}
    return params


def _captured(template: str, exchange: Exchange) -> Mapping[str, str] | None:
    """Return the values of the variables in an address; None if it does not match."""
    uri = exchange.request.params.get("uri")
    return gaps_filled(template, uri) if template and isinstance(uri, str) else None


def _holds(got: Any, wanted: Any) -> bool:  # noqa: ANN401 - any JSON value
    """Return True if a value has all wanted members, with matching values."""
    if not isinstance(wanted, dict):
        return fits(wanted, got)
    return isinstance(got, dict) and all(
        name in got and _holds(got[name], part) for name, part in wanted.items()
    )
