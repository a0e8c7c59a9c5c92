"""The socket of a server: what asyncio makes of the connections that it accepts."""

import asyncio
import socket

from humanmcp.http.listening import listen


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
