"""How much, how slowly and how many at once requests may send."""

import asyncio
import contextlib
import http.client
import socket
import sys
import tracemalloc
from pathlib import Path

import pytest
from starlette.types import Message, Receive

from humanmcp.http import bodies
from humanmcp.http.bodies import Bodies, Body, BodyError, BodyTrouble
from humanmcp.http.front import read_body
from humanmcp.protocol.http.inbound import HttpRefusal
from tests.support.desk_process import JSON, Desking
from tests.support.waiting import PATIENCE, until


def part(content: bytes, *, more: bool) -> Message:
    """Return a part of a body as a server hands it on."""
    return {"type": "http.request", "body": content, "more_body": more}


async def never() -> Message:
    """Let nothing arrive."""
    arrival: asyncio.Future[Message] = asyncio.get_running_loop().create_future()
    return await arrival


def outgoing(*parts: Message) -> Receive:
    """Let these parts arrive, then nothing."""
    return arriving(list(parts))


def arriving(left: list[Message]) -> Receive:
    """Let these parts arrive, each taken from the list, then nothing."""

    async def receive() -> Message:
        return left.pop(0) if left else await never()

    return receive


async def trouble_of(body: Body) -> BodyTrouble:
    """Read until it is not taken any more, and return why."""
    try:
        while True:
            await body.receive()
    except BodyError as error:
        return error.trouble


def test_a_stranger_sends_a_key_and_nothing_longer() -> None:
    """Whatever its header said of its size."""

    async def play() -> None:
        every = Bodies()
        long = part(b"x" * (bodies.LARGEST_OF_STRANGERS + 1), more=True)
        with every.coming(outgoing(long), "127.0.0.1", 0, stranger=True) as body:
            assert await trouble_of(body) is BodyTrouble.MUCH
        with every.coming(outgoing(), "127.0.0.1", bodies.LARGEST, stranger=True) as body:
            assert body.trouble is BodyTrouble.MUCH
        key = outgoing(part(b"key", more=False))
        with every.coming(key, "127.0.0.1", 3, stranger=True) as body:
            assert (await body.receive())["body"] == b"key"
        with every.coming(outgoing(long), "login", 0) as body:  # who is known may go on
            assert (await body.receive())["more_body"]
        assert every.held == 0

    asyncio.run(play())


def test_those_who_dawdle_longest_are_cut_when_they_are_many() -> None:
    """Of one address, and of all; who comes now is heard."""

    async def play() -> None:
        every = Bodies()
        with contextlib.ExitStack() as stack:
            first = [
                stack.enter_context(every.coming(never, "127.0.0.1", 9, stranger=True))
                for _ in range(bodies.MOST_OF_AN_ADDRESS)
            ]
            reading = [asyncio.ensure_future(trouble_of(body)) for body in first]
            await asyncio.sleep(0)
            new = stack.enter_context(
                every.coming(outgoing(part(b"key", more=False)), "127.0.0.1", 3, stranger=True)
            )
            assert (await new.receive())["body"] == b"key"
            assert await reading[0] is BodyTrouble.SLOW
            assert not any(one.done() for one in reading[1:])
            for number in range(bodies.MOST_STRANGERS):
                stack.enter_context(every.coming(never, f"127.0.0.{number + 2}", 9, stranger=True))
            assert [await one for one in reading] == [BodyTrouble.SLOW] * len(reading)

    asyncio.run(play())


def test_a_body_that_drips_is_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each part may be quick; the whole has its time as well."""
    monkeypatch.setattr(bodies, "SLOWEST_OF_STRANGERS", 0.05)

    async def drip() -> Message:
        await asyncio.sleep(0)
        return part(b"", more=True)

    async def play() -> None:
        with Bodies().coming(drip, "127.0.0.1", 0, stranger=True) as body:
            assert await trouble_of(body) is BodyTrouble.SLOW

    asyncio.run(play())


def test_what_is_declared_and_not_sent_takes_no_room() -> None:
    """Another visitor's body is read, however many were promised."""

    async def play() -> None:
        every = Bodies()
        with contextlib.ExitStack() as stack:
            for _ in range(10):
                some = outgoing(part(b"{", more=True))
                half = stack.enter_context(every.coming(some, "slow", bodies.LARGEST))
                await half.receive()
            assert every.held == 10
            small = outgoing(part(b"{}", more=False))
            with every.coming(small, "other", 2) as body:
                assert (await body.receive())["body"] == b"{}"
        assert every.held == 0

    asyncio.run(play())


def test_who_holds_the_most_loses_the_body_that_stood_still_longest() -> None:
    """So that one visitor cannot keep the others out, with half a body or with many."""

    async def play() -> None:
        every, large = Bodies(), b"x" * (bodies.LARGEST_TOGETHER // 3)
        with contextlib.ExitStack() as stack:
            held = []
            for _ in range(3):
                half = outgoing(part(large, more=True))
                held.append(stack.enter_context(every.coming(half, "slow", 0)))
                await held[-1].receive()
            reading = [asyncio.ensure_future(trouble_of(body)) for body in held]
            await asyncio.sleep(0)
            with every.coming(outgoing(part(b"{}", more=False)), "other", 2) as body:
                assert (await body.receive())["body"] == b"{}"
            assert await reading[0] is BodyTrouble.BUSY
            assert not any(one.done() for one in reading[1:])
            with every.coming(outgoing(part(large + b"x", more=True)), "slow", 0) as fourth:
                await fourth.receive()
                assert await reading[1] is BodyTrouble.BUSY
            reading[2].cancel()
        assert every.held == 0

    asyncio.run(play())


def test_bodies_that_are_whole_are_kept_and_the_next_is_told_to_come_back() -> None:
    """They are being worked on: what would be one too many is its sender's."""

    async def play() -> None:
        every = Bodies()
        with contextlib.ExitStack() as stack:
            for _ in range(3):
                whole = outgoing(part(b"x" * (bodies.LARGEST_TOGETHER // 3), more=False))
                await stack.enter_context(every.coming(whole, "busy", 0)).receive()
            with every.coming(outgoing(part(b"x" * 9, more=True)), "other", 9) as body:
                assert await trouble_of(body) is BodyTrouble.BUSY

    asyncio.run(play())


def test_a_thousand_dripping_logins_silence_nobody(home: Path) -> None:
    """Who is known is answered, who comes to log in gets in, and the desk goes on."""
    with Desking(home) as desk, contextlib.ExitStack() as stack:
        head = (
            f"POST /api/login HTTP/1.1\r\nHost: 127.0.0.1:{desk.port}\r\n"
            "Content-Type: application/json\r\nContent-Length: 4000\r\n\r\n{"
        ).encode()
        drips = []
        for _ in range(400):
            one = stack.enter_context(socket.create_connection(("127.0.0.1", desk.port)))
            one.sendall(head)
            drips.append(one)
        assert desk.get("/api/state")["waiting"] == 0
        assert desk.cookie()  # a stranger's body, which is read
        drips[0].settimeout(20)
        try:
            said = drips[0].recv(100)
        except ConnectionResetError:  # hung up on before it had sent all: the 408 is lost then
            said = b""
        assert not said or said.startswith(b"HTTP/1.1 408 ")


def test_a_connection_that_drips_its_next_request_is_hung_up_on(home: Path) -> None:
    """As one that never says its first."""
    slow = "from humanmcp.http import listening; listening.FIRST_LINE_WITHIN = 0.3; "
    start = "import sys; from humanmcp.cli import main; sys.exit(main())"
    with Desking(home, command=(sys.executable, "-c", slow + start, "desk")) as desk:
        one = http.client.HTTPConnection("127.0.0.1", desk.port, timeout=20)
        one.request("GET", "/login")
        one.getresponse().read()
        assert one.sock is not None
        one.sock.sendall(b"GET /login HTTP/1.1\r\nHost: 12")

        line = one.sock

        def hung_up() -> bool:
            try:
                line.sendall(b"7")
            except OSError:
                return True
            return False

        until(hung_up, "the desk hangs up")
        one.close()


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        (rb'{"key": "\ud800"}', "json"),
        (rb'{"code": "\udfff\ud800"}', "json"),
        (b"&".join(b"f%d=1" % number for number in range(400)), "form"),
        (b"code=%ED%A0%80", "form"),
    ],
)
def test_whatever_a_stranger_sends_the_door_stays_shut(
    desking: Desking, body: bytes, kind: str
) -> None:
    """Half characters and hundreds of fields get 401 and never 500."""
    form = {"Content-Type": "application/x-www-form-urlencoded"}
    path, headers = ("/api/login", JSON) if kind == "json" else ("/login", form)
    assert desking.ask("POST", path, body=body, headers=headers).status == 401


def test_a_form_with_too_many_fields_changes_nothing(desking: Desking) -> None:
    """It is said so; nothing is kept of half of it."""
    answer = desking.submit("/preferences", **{f"f{number}": "1" for number in range(1500)})
    assert answer.status == 400
    assert "The form has too many fields, so nothing was saved." in answer.text


@pytest.mark.parametrize(
    ("declared", "headers", "stranger", "too_large", "heard"),
    [
        (bodies.LARGEST + 1, [], False, BodyTrouble.LARGE, 2),
        (bodies.LARGEST + 1, [(b"expect", b"100-continue")], False, BodyTrouble.LARGE, 0),
        (bodies.LARGEST + 1, [], False, BodyTrouble.MUCH, 0),
        (bodies.LARGEST + 1, [], True, BodyTrouble.LARGE, 0),
        (1, [], False, BodyTrouble.LARGE, 0),
    ],
    ids=("known", "asks first", "an address where nobody is known", "a stranger", "small"),
)
def test_whose_body_is_heard_to_its_end(
    declared: int,
    headers: list[tuple[bytes, bytes]],
    stranger: bool,  # noqa: FBT001 - a parameter of the test
    too_large: BodyTrouble,
    heard: int,
) -> None:
    """One that is too large, of who is known and did not ask: each `receive` lets more come.

    "A client that sends a 100-continue expectation is not required to wait for any specific length
    of time" (https://www.rfc-editor.org/rfc/rfc9110#section-10.1.1): it hears 413 before it sends.
    """
    came = [part(b"x", more=True), part(b"x", more=False)]

    async def play() -> None:
        every = Bodies(too_large=too_large)
        with every.coming(arriving(came), "a", declared, stranger=stranger) as body:
            await body.drain({"type": "http", "headers": headers})

    asyncio.run(play())
    assert len(came) == 2 - heard


@pytest.mark.parametrize("pause", [0.0, 0.002])
def test_who_drips_is_not_heard_to_the_end(monkeypatch: pytest.MonkeyPatch, pause: float) -> None:
    """A timeout that came in the moment of a part was lost with Python 3.11, mostly."""
    monkeypatch.setattr(bodies, "SLOWEST_OF_STRANGERS", 0.2)

    async def drip() -> Message:
        await asyncio.sleep(pause)
        return part(b"", more=True)

    async def play() -> None:
        every = Bodies()
        with contextlib.ExitStack() as stack:
            coming = (every.coming(drip, "a", bodies.LARGEST + 1) for _ in range(20))
            heard = [stack.enter_context(one).drain({"headers": []}) for one in coming]
            await asyncio.wait_for(asyncio.gather(*heard), PATIENCE)

    asyncio.run(play())


def test_a_body_that_is_dropped_takes_no_memory() -> None:
    """Nothing counts what came of it before, so it is not kept."""
    sizes, held = [1 << 20, 1, 1, 0], []

    async def receive() -> Message:
        held.append(tracemalloc.get_traced_memory()[0])
        return part(bytes(sizes.pop(0)), more=bool(sizes))

    scope = {"type": "http", "headers": [], "client": ("127.0.0.1", 1)}
    tracemalloc.start()
    refused = asyncio.run(read_body(Bodies((1 << 20) + 1), scope, receive))
    tracemalloc.stop()
    assert isinstance(refused, HttpRefusal)
    assert refused.status == 413
    assert held[2] > 1 << 20
    assert held[3] < 1 << 19


def test_a_stranger_is_not_heard_to_the_end(desking: Desking) -> None:
    """Whatever they ask for: the page for a login, or a script of it."""
    for path in ("/login", "/static/desk.css"):
        head = (
            f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{desking.port}\r\n"
            f"Content-Length: {2 * bodies.LARGEST}\r\n\r\n"
        )
        with socket.create_connection(("127.0.0.1", desking.port), PATIENCE) as connection:
            connection.sendall(head.encode())
            assert connection.recv(12) == b"HTTP/1.1 413"
            with pytest.raises(OSError, match=r"reset|pipe|aborted"):
                connection.sendall(b" " * 2 * bodies.LARGEST)
