"""Whatever anybody sends to any page or call of a desk: never an error page.

The requests are made from what the program itself says of its routes, its bodies (OpenAPI) and its
forms (the table of acts, the templates), with values that fit, and with others. They are the same
in every run.
"""

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple
from urllib.parse import quote, urlencode

import pytest
from fastapi.routing import APIRoute
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from humanmcp.desk.app import CALLS, describe
from humanmcp.inbox.contract import Item, Key, Purpose, Role, SessionFacts
from humanmcp.inbox.folder import FolderInbox
from humanmcp.protocol.conversation.exchange import NegotiatedState
from humanmcp.protocol.conversation.stages import ExchangeState
from humanmcp.protocol.conversation.transcript import Direction, Frame
from tests.desk.devices.test_devices import Browser, link_of
from tests.desk.test_guard import flat
from tests.desk.test_rights import Script
from tests.support.desk_process import Desking
from tests.support.routes import DESK, RIGHTS, ROUTERS, TEMPLATES

EXAMPLES: Final = 160
"""The number of requests of each visitor."""
LEFT_OUT: Final = frozenset({
    "GET /api/events",  # a stream without an end
    "POST /logout",  # everything after it would be a stranger's
    *("POST /try", "POST /test-prompt"),  # programs that would answer, and ask
    *("GET /static/{name:path}", "GET /static/~{kept}/{name:path}"),
})  # fmt: skip
ENDING: Final = frozenset({"be started", "remove idle", "remove", "door"})
AT: Final = "2026-11-21T01:00:01.000Z"
CALL: Final = '{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"w","arguments":{}}}'


class Requested(NamedTuple):
    """One request."""

    key: str
    path: str
    record: Mapping[str, Any]


# -- values -------------------------------------------------------------------------------------

TEXTS: Final = st.one_of(
    st.sampled_from([
        *("", "0", "1", "-1", "9" * 30, "1e400", "NaN", "x" * 5000, "\u202egpj.exe", "a\x00b\x1b["),
        *("\r\n", "\ufeff", "²", "٣", "{", "[]", "null", '{"content":[]}', '{"a":NaN}'),
        *("[" * 2000, CALL, '{"jsonrpc":"2.0","id":7,"result":{}}', "%ZZ", "../../x"),
        *("[[rules]]\ntext = 'x'\n", "text", "message", "result", "error", "tool error"),
        *("tools", "prompts", "string", "sampling"),
    ]),
    st.text(max_size=30),
)  # fmt: skip
FORM_TEXTS: Final = TEXTS.filter(lambda text: text.isprintable() or text.isascii())
VALUES: Final = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | TEXTS | st.just("\ud800"),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=6,
)


SIMPLE: Final[Mapping[str, st.SearchStrategy[Any]]] = {
    "string": TEXTS,
    "integer": st.integers(),
    "number": st.floats(allow_nan=False) | st.integers(),
    "boolean": st.booleans(),
    "null": st.none(),
}


def of_schema(schema: Mapping[str, Any], shapes: Mapping[str, Any]) -> st.SearchStrategy[Any]:
    """Return values of a JSON Schema as FastAPI writes them."""
    if "$ref" in schema:
        return of_schema(shapes[schema["$ref"].rpartition("/")[2]], shapes)
    if "enum" in schema:
        return st.sampled_from(schema["enum"])
    if "anyOf" in schema:
        return st.one_of([of_schema(one, shapes) for one in schema["anyOf"]])
    if "properties" in schema:
        members = {name: of_schema(one, shapes) for name, one in schema["properties"].items()}
        needed = {name: members.pop(name) for name in schema.get("required", ())}
        return st.fixed_dictionaries(needed, optional=members)
    if schema.get("type") == "object":
        return st.dictionaries(TEXTS, VALUES, max_size=3)
    return SIMPLE.get(schema.get("type", ""), VALUES)


def _bodies() -> dict[str, st.SearchStrategy[Any]]:
    """Return the bodies of each call: most are as described."""
    described = describe(CALLS)
    shapes = described["components"]["schemas"]
    found = {}
    for path, verbs in described["paths"].items():
        if "requestBody" in verbs.get("post", {}):
            schema = verbs["post"]["requestBody"]["content"]["application/json"]["schema"]
            fits = of_schema(schema, shapes)
            some = st.dictionaries(st.sampled_from([*shapes, "text", "form", "order"]), VALUES)
            found[f"POST {path}"] = st.one_of(fits, fits, fits, some, VALUES)
    return found


BODIES: Final = _bodies()
FIELDS: Final = sorted({
    re.sub(r"\{\{.*?\}\}", "0", name)
    for file in TEMPLATES
    for name in re.findall(r' name="([^"]+)"', file.read_text(encoding="utf-8"))
})  # fmt: skip
ROUTES: Final[dict[str, APIRoute]] = {
    f"{method} {route.path}": route
    for router in ROUTERS
    for route in flat(router.routes)
    for method in route.methods or ()
}


def forms(key: str) -> st.SearchStrategy[dict[str, str]]:
    """Return forms for a route: with one of its acts, and fields of any page."""
    acts = [one.replace("*", "1") for one in RIGHTS[key].acts if one not in ENDING]
    act = {"act": st.sampled_from(acts)} if acts else {}
    fields = st.dictionaries(st.sampled_from(FIELDS) | FORM_TEXTS, FORM_TEXTS, max_size=6)
    return st.tuples(fields, st.fixed_dictionaries(act)).map(lambda parts: {**parts[0], **parts[1]})


@st.composite
def requests(draw: st.DrawFn, names: list[str], keys: list[str]) -> Requested:
    """Return a request to one of these routes, about one of these sessions or none."""
    key = draw(st.sampled_from(keys))
    method, _, path = key.partition(" ")
    numbers = st.sampled_from(["1", "2", "0", "-1", "9" * 25, "x", "²", "1.5"])
    places = st.sampled_from(names) | st.sampled_from([*names, "x", "..", "\u202e", "a" * 300])

    def filled(match: re.Match[str]) -> str:
        is_number = match[1] in ("number", "seq", "at")
        return quote(draw(numbers if is_number else places), safe="")

    path = re.sub(r"\{(\w+)(?::path)?\}", filled, path)
    if route := ROUTES.get(key):
        asked = {one.name: TEXTS | places | numbers for one in route.dependant.query_params}
        query = draw(st.fixed_dictionaries({}, optional=asked))
        path += f"?{urlencode(query, errors='replace')}" if query else ""
    if method == "GET":
        return Requested(key, path, {})
    return Requested(key, path, draw(BODIES[key] if key in BODIES else forms(key)))


# -- visitors -----------------------------------------------------------------------------------


def filled_inbox(home: Path) -> list[str]:
    """Put sessions of every role into an inbox, open and ended. Return their names."""
    inbox, names = FolderInbox(home), []
    for role in Role:
        for is_over in (False, True):
            facts = SessionFacts(
                name="",
                started=AT,
                role=role,
                pid=1,
                client="\u202eclient",
                protocol_version="2025-11-25",
            )
            name = inbox.begin_session(facts)
            inbox.describe(facts._replace(name=name), NegotiatedState(client_name="c"))
            inbox.record(name, Frame(1, AT, Direction.IN, CALL.encode(), 1))
            inbox.record(name, Frame(2, AT, Direction.IN, b"no \xff JSON\x1b", 0))
            item = Item(Key(name, 1), CALL, "tools/call", "7", "2025-11-25", AT)
            if role is Role.TAP:
                item = item._replace(purpose=Purpose.HELD)
            inbox.deliver(item)
            other = item._replace(key=Key(name, 2), method="approve\u202e", line="[" * 200)
            inbox.deliver(other)
            inbox.close(other.key, ExchangeState.CANCELLED)
            if is_over:
                inbox.end(name)
            names.append(name)
    return names


def never_an_error(visitor: Any, names: list[str]) -> None:  # noqa: ANN401 - a browser, a script or a learner
    """Send the requests, and expect an answer that somebody has written."""
    keys = sorted(set(DESK) - LEFT_OUT)

    @settings(
        max_examples=EXAMPLES,
        deadline=None,
        derandomize=True,
        database=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(requests(names, keys))
    def send(one: Requested) -> None:
        if one.key.startswith("GET"):
            got = visitor.get(one.path)
        else:
            got = visitor.post(one.path, one.record)
        assert got.status not in range(500, 600), (one, got.text[:300])

    send()


@pytest.mark.parametrize("who", ["owner", "script", "device"])
def test_no_request_to_a_desk_is_answered_with_an_error_page(home: Path, who: str) -> None:
    """As a browser of this computer, as a program, and as a phone."""
    home.mkdir(mode=0o700, exist_ok=True)
    names = filled_inbox(home)
    with Desking(home, "--url", "https://desk.example") as desk:
        visitors: dict[str, Callable[[], Any]] = {
            "owner": lambda: Browser(desk, f"#k={desk.key()}"),
            "script": lambda: Script(desk),
            "device": lambda: Browser(desk, link_of(desk, "phone")),
        }
        never_an_error(visitors[who](), names)
