"""Which requests an answer book answers without a person, and when.

`decide` returns the book's decision on one exchange. It has no clock: `waited` is an argument of
the decision.
"""

from __future__ import annotations

import enum
import json
from typing import TYPE_CHECKING, Any, Final

from humanmcp.protocol.answer_book.book import lists_of, server_info, with_result_envelope
from humanmcp.protocol.answer_book.decision import BY_PERSON, Decision
from humanmcp.protocol.conversation import timeouts
from humanmcp.protocol.conversation.questions import (
    NO_ANSWER_AFTER,
    limit_in,
    no_answer,
    questions_in,
    result_with,
)
from humanmcp.protocol.diagnostics.model import TextForm
from humanmcp.protocol.json.jsonrpc import as_json
from humanmcp.protocol.json.tree import object_at, text_at
from humanmcp.protocol.tables import methods, versions
from humanmcp.protocol.tables.methods import DISCOVER

if TYPE_CHECKING:
    from collections.abc import Mapping

    from humanmcp.protocol.answer_book.book import Book
    from humanmcp.protocol.answer_book.following import BookMemory
    from humanmcp.protocol.conversation.exchange import Exchange, NegotiatedState


class Mode(enum.Enum):
    """How much is answered without a person."""

    NORMAL = "normal"
    """Pings at once, the handshake as `HandshakePolicy` says, the rest never."""
    BY_HAND = "by hand"
    """Nothing at all."""
    AUTO = "auto"
    """Everything that the book can answer, at once."""


class HandshakePolicy(enum.Enum):
    """Who answers `initialize` and the lists, if the mode does not say it."""

    BY_CLIENT = "by client"
    """The book: at once for a known host, after a grace time for other clients."""
    BOOK = "book"
    """The book, at once, so that the model has its tools in the first turn."""
    HAND = "hand"
    """A person. The book answers at the last moment before a known client gives up.

    It answers an open `server/discover` with "no such method", so that a handshake follows.
    """
    PERSON = "person"
    """As `HAND`, regardless of the mode and the book: a person at the inbox chose it."""


EVERYTHING: Final = "*"
"""The key in `[wait]` for all methods that the book can answer and that are not listed."""

HEADERS_AFTER: Final = 8.0
"""The seconds before the book refuses a request with wrong headers: a stream begins after 10."""

UNSUPPORTED_VERSION: Final = -32022
HEADER_MISMATCH: Final = -32020
NO_RULE: Final = -32602
_METHOD_NOT_FOUND: Final[Mapping[str, Any]] = {"code": -32601, "message": "Method not found"}


def decide(  # noqa: PLR0913 - everything that a decision depends on, by name
    exchange: Exchange,
    book: Book,
    negotiated: NegotiatedState,
    *,
    mode: Mode = Mode.NORMAL,
    handshake: HandshakePolicy = HandshakePolicy.BY_CLIENT,
    grace: float | None = None,
    memory: BookMemory | None = None,
    refuse: bool = False,
) -> Decision:
    """Return the book's decision on an exchange. `memory` is what its entries have done so far.

    With `refuse`, the client gets an error for requests that the book would leave to a person.
    `grace` is how long this client's handshake may wait, in seconds, if a person has set it.
    """
    if mode is Mode.BY_HAND:
        return BY_PERSON
    mismatch = _header_mismatch(exchange, book)
    if mismatch is not None:
        # Before any entry, because entries do not check headers. A person may still answer.
        wait = 0.0 if mode is Mode.AUTO else HEADERS_AFTER
        return Decision(wait, json.dumps(mismatch), TextForm.ERROR, "book", stoppable=wait != 0)
    if book.entries:
        from humanmcp.protocol.answer_book.following import follow_entries  # noqa: PLC0415 - only with entries

        followed = follow_entries(exchange, book, negotiated, memory)
        if followed is not None:
            return followed
    rejection = _rejection(exchange, book)
    if rejection is not None:
        return Decision(0.0, json.dumps(rejection), TextForm.ERROR, "book")
    own = _own_answer(exchange, book)
    if own is None:
        return _refusal(exchange) if refuse else when_nobody_answers(exchange, book)
    form, answer = own
    after = _after(exchange.method, book, negotiated, mode, handshake, grace)
    if _is_for_a_person(exchange, book, mode, handshake):
        after = timeouts.PROBE_GRACE if grace is None else grace
        if not set(versions.HANDSHAKE).isdisjoint(book.protocol_versions):
            form, answer = TextForm.ERROR, _METHOD_NOT_FOUND
    return Decision(after, as_json(answer), form, "book", stoppable=after != 0)


def _refusal(exchange: Exchange) -> Decision:
    """Refuse a request that the book cannot answer; the error shows an entry that would."""
    if methods.of(exchange.method).stays_open:
        return BY_PERSON
    from humanmcp.protocol.answer_book.book_format import example_entry  # noqa: PLC0415 - seldom wanted

    method, name = exchange.method, exchange.name
    example = example_entry(method, name)
    message = f"No rule of the answer book answers {method} {name}".rstrip()
    message = f"{message}. Add one:\n{example}"
    return Decision(0.0, as_json({"code": NO_RULE, "message": message}), TextForm.ERROR, "book")


def when_nobody_answers(exchange: Exchange, book: Book) -> Decision:
    """Answer *no answer* after the agent's limit, if the book has an entry for it."""
    arguments = object_at(exchange.request.params, "arguments")
    tools = book.tools if exchange.method == "tools/call" else ()
    called = next((one for one in tools if one.get("name") == exchange.tool), None)
    named = text_at(called, "_meta", NO_ANSWER_AFTER)
    limit = limit_in(arguments, named) if named else None
    if limit is None:
        return BY_PERSON
    result = result_with(exchange.version, no_answer(questions_in(arguments)[0]))
    whole = with_result_envelope(result, exchange.method, exchange.version, book)
    return Decision(limit, as_json(whole), TextForm.RESULT, "book")


def _header_mismatch(exchange: Exchange, book: Book) -> Mapping[str, Any] | None:
    """Return the error for a request with wrong headers, None for others."""
    wrong = exchange.transport_facts.error if exchange.transport_facts is not None else None
    is_mismatch = wrong is not None and wrong["code"] == HEADER_MISMATCH
    return wrong if is_mismatch and _is_stateless(book) else None


def _is_for_a_person(
    exchange: Exchange, book: Book, mode: Mode, handshake: HandshakePolicy
) -> bool:
    """Return True for a probe if a person answers the handshake: its result would decide that."""
    if exchange.method != DISCOVER or not _is_stateless(book):
        return False
    by_hand = handshake is HandshakePolicy.HAND and mode is Mode.NORMAL
    return handshake is HandshakePolicy.PERSON or (by_hand and exchange.method not in book.wait)


def _after(  # noqa: PLR0913, PLR0917 - what `decide` depends on
    method: str,
    book: Book,
    negotiated: NegotiatedState,
    mode: Mode,
    handshake: HandshakePolicy,
    grace: float | None,
) -> float | None:
    if handshake is HandshakePolicy.PERSON and method in timeouts.HANDSHAKE:
        return timeouts.last_moment(negotiated.client_name, method)
    if mode is Mode.AUTO:
        return 0.0
    if method in book.wait or EVERYTHING in book.wait:
        return book.wait.get(method, book.wait.get(EVERYTHING))
    if methods.of(method).at_once:
        return 0.0
    if method not in timeouts.HANDSHAKE:
        return None
    return _opened_after(method, negotiated.client_name, handshake, grace)


def _opened_after(
    method: str, client: str, handshake: HandshakePolicy, grace: float | None
) -> float | None:
    last = timeouts.last_moment(client, method)
    match handshake:
        case HandshakePolicy.BOOK:
            return 0.0
        case HandshakePolicy.HAND | HandshakePolicy.PERSON:
            return last
        case HandshakePolicy.BY_CLIENT if grace is not None:
            return grace if last is None else min(grace, last)
        case HandshakePolicy.BY_CLIENT:
            return timeouts.grace(client)


def _own_answer(exchange: Exchange, book: Book) -> tuple[TextForm, Mapping[str, Any]] | None:
    """Return the book's own answer to a method; None if an entry or a person must answer."""
    method, version = exchange.method, exchange.version
    if not methods.has_request(method, version):
        # FastMCP 4 also pings in 2026-07-28, which has no ping, and waits without a limit.
        return TextForm.ERROR, _METHOD_NOT_FOUND
    if methods.of(method).result == "EmptyResult":
        return TextForm.RESULT, {}
    if method == "initialize":
        return TextForm.RESULT, _initialize(exchange, book)
    if method == DISCOVER:
        return _discover(book)
    if methods.of(method) not in methods.LISTS:
        return None
    listed = lists_of(book, version)[method]
    return TextForm.RESULT, with_result_envelope(listed, method, version, book)


def _initialize(exchange: Exchange, book: Book) -> Mapping[str, Any]:
    asked = exchange.request.params.get("protocolVersion")
    served = [one for one in book.protocol_versions if one in versions.HANDSHAKE]
    latest = served[-1] if served else versions.LATEST_HANDSHAKE
    answered = asked if asked in served else latest
    return {
        "protocolVersion": answered,
        "capabilities": book.declared_capabilities(answered),
        "serverInfo": server_info(book),
        **({"instructions": book.instructions} if book.instructions else {}),
    }


def _is_stateless(book: Book) -> bool:
    return not set(versions.STATELESS).isdisjoint(book.protocol_versions)


def _discover(book: Book) -> tuple[TextForm, Mapping[str, Any]]:
    if not _is_stateless(book):
        # Every client understands this error as "handshake only" and then sends `initialize`.
        return TextForm.ERROR, _METHOD_NOT_FOUND
    found = {
        "supportedVersions": list(book.protocol_versions),
        "capabilities": book.declared_capabilities(versions.LATEST_STATELESS),
        **({"instructions": book.instructions} if book.instructions else {}),
    }
    return TextForm.RESULT, with_result_envelope(found, DISCOVER, versions.LATEST_STATELESS, book)


def _rejection(exchange: Exchange, book: Book) -> Mapping[str, Any] | None:
    """Return the error that a 2026-07-28 request must get in any case; None for a valid one.

    A book without 2026-07-28 leaves such requests to its answers for other versions.
    """
    if not _is_stateless(book):
        return None
    if exchange.transport_facts is not None and exchange.transport_facts.error is not None:
        return exchange.transport_facts.error
    if versions.unserved_in(exchange.request) is not None:
        return _unsupported(exchange, book)
    return methods.refusal(exchange.request, exchange.version)


def _unsupported(exchange: Exchange, book: Book) -> Mapping[str, Any]:
    """Return the error with the supported versions: the client picks one, or sends `initialize`."""
    return {
        "code": UNSUPPORTED_VERSION,
        "message": "Unsupported protocol version",
        "data": {
            "supported": list(book.protocol_versions),
            "requested": versions.unserved_in(exchange.request),
        },
    }
