"""The socket of a server: what asyncio makes of the connections that it accepts."""

import asyncio
import socket
import threading

import httpx2
import pytest
from starlette.types import Receive, Scope, Send

from humanmcp.http.listening import (
    KEPT_FOR,
    WRITTEN,
    Patient,
    QuietServer,
    Written,
    listen,
)
from tests.support.waiting import PATIENCE


def test_small_writes_of_an_accepted_connection_are_not_kept_back() -> None:
    """A response of two writes waited 40 ms for the client's delayed acknowledgement."""

    async def accepted() -> int:
        options: asyncio.Queue[int] = asyncio.Queue()

        class Peer(asyncio.Protocol):
            def connection_made(self, transport: asyncio.BaseTransport) -> None:
                own = transport.get_extra_info("socket")
                options.put_nowait(own.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))
                transport.close()

        own = listen("127.0.0.1", 0)
        server = await asyncio.get_running_loop().create_server(Peer, sock=own)
        async with server:
            _reader, writer = await asyncio.open_connection(*own.getsockname())
            writer.close()
            return await options.get()

    assert asyncio.run(accepted()) == 1


def test_an_idle_connection_stays_open_longer_than_clients_keep_it() -> None:
    """A request on a connection that the server closes in that moment fails, and is lost.

    "agent.timeout: 5000": https://nodejs.org/docs/latest-v22.x/api/http.html#httpglobalagent
    """
    sdk, node = httpx2.Limits().keepalive_expiry, 5.0
    assert sdk
    assert max(sdk, node) * 2 < KEPT_FOR
    assert QuietServer(print, print, most=1).config.timeout_keep_alive == KEPT_FOR


@pytest.mark.parametrize("reads", [True, False])
def test_a_client_has_a_response_that_it_read_before_it_hung_up(
    *, reads: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However soon it hangs up, and however late the server looks."""
    tell_when_written = Patient.tell_when_written

    def be_late(patient: Patient, tell: Written) -> None:
        """Look again when the client has hung up."""
        client.join(PATIENCE)
        tell_when_written(patient, tell)

    async def respond(_scope: Scope, _receive: Receive, send: Send) -> None:
        if not reads:
            client.join(PATIENCE)
        head = [(b"content-length", b"2")]
        await send({"type": "http.response.start", "status": 200, "headers": head})
        await send({"type": "http.response.body", "body": b"ok", WRITTEN: told})

    def told(*, written: bool) -> None:
        outcomes.append(written)
        server.should_exit = True

    def ask() -> None:
        with socket.create_connection(own.getsockname()) as peer:
            peer.sendall(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
            while reads and not peer.recv(4096).endswith(b"ok"):
                pass

    monkeypatch.setattr(Patient, "tell_when_written", be_late)
    outcomes: list[bool] = []
    own = listen("127.0.0.1", 0)
    client = threading.Thread(target=ask)
    server = QuietServer(respond, client.start, most=9)
    server.run([own])
    assert outcomes == [reads]
