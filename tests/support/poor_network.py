"""The Wi-Fi of a school: everything takes a while, and some of it is lost and sent again.

A proxy, and not `tc netem`, which takes a kernel that has it and the rights to set it: a packet
that is lost delays those behind it, as TCP does.
"""

import asyncio
import random
import threading
from contextlib import suppress
from typing import Final, Self

DELAY: Final = 0.3
"""Seconds that a packet takes, each way."""
LOSS: Final = 0.02
"""The part of packets that is lost."""
AGAIN: Final = 2 * DELAY
"""Seconds after which TCP sends a lost packet again: it waits at least for a round trip."""
PACKET: Final = 1400


class PoorNetwork:
    """A proxy in front of a port of this computer; `port` is its own."""

    def __init__(self, seed: int) -> None:
        """Listen. `seed` decides which packets are lost."""
        self.behind = 0
        """The port that it leads to, which may be known later."""
        self.lost = 0
        self._chance = random.Random(seed)
        self._loop = asyncio.new_event_loop()
        self._server = self._loop.run_until_complete(
            asyncio.start_server(self._connect, "127.0.0.1", 0)
        )
        self.port: int = self._server.sockets[0].getsockname()[1]
        self._thread = threading.Thread(target=self._loop.run_forever)

    def __enter__(self) -> Self:
        """Begin to hand on."""
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Hand on nothing more."""
        self._loop.call_soon_threadsafe(self._end)
        self._thread.join()
        self._loop.close()

    def _end(self) -> None:
        self._server.close()
        for task in asyncio.all_tasks(self._loop):
            task.cancel()
        self._loop.call_soon(self._loop.stop)

    async def _connect(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError, asyncio.CancelledError):
            there = await asyncio.open_connection("127.0.0.1", self.behind)
            await asyncio.gather(self._carry(reader, there[1]), self._carry(there[0], writer))

    async def _carry(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Carry one direction: packets keep their order, so a lost one delays those behind it."""
        packets: asyncio.Queue[tuple[float, bytes]] = asyncio.Queue()
        carrying = asyncio.create_task(self._deliver(packets, writer))
        due, packet = 0.0, b"-"
        while packet:
            try:
                packet = await reader.read(PACKET)
            except OSError:  # reset: it is so at each further look
                packet = b""
            is_lost = self._chance.random() < LOSS
            self.lost += is_lost
            due = max(due, self._loop.time() + DELAY + is_lost * AGAIN)
            packets.put_nowait((due, packet))
        await carrying

    async def _deliver(
        self, packets: asyncio.Queue[tuple[float, bytes]], writer: asyncio.StreamWriter
    ) -> None:
        with suppress(OSError):
            while (packet := await packets.get())[1]:
                await asyncio.sleep(packet[0] - self._loop.time())
                writer.write(packet[1])
                await writer.drain()
        writer.close()
