"""`humanmcp serve --room`: let the people of a room answer this server, wherever it runs.

The folder of this computer stays the truth, and its desks go on working. What happens in the
session is posted to the room; what is sent there comes back by a long poll, and is one more reply
in this folder. Without a network everything goes on here, and on return the room is told what it
missed (`inbox/mirror.py`). Standard library only.
"""

from __future__ import annotations

import http.client
import json
import logging
import threading
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote, urlencode, urlsplit

from humanmcp.inbox import records
from humanmcp.inbox.contract import InboxError
from humanmcp.inbox.mirror import Original
from humanmcp.inbox.watch import Watch
from humanmcp.locales import say
from humanmcp.locales.stop import stopped

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from humanmcp.inbox.contract import Inbox

logger = logging.getLogger(__name__)

ROOM: Final = "link"
LOOK_EVERY: Final = 2.0
"""Seconds after which the session is looked at though nothing was heard of it."""
LONGEST_PAUSE: Final = 10.0
ANSWERS_WITHIN: Final = 10.0
POLLS_FOR: Final = 35.0
ENDS_WITHIN: Final = 3.0


def checked(url: str, key: str) -> str:
    """Return the address of a seat.

    Raises:
        StopError: it is no address of a room, or there is no key.
    """
    parts = urlsplit(url.rstrip("/"))
    if parts.scheme not in {"http", "https"} or not parts.hostname or "/r/" not in parts.path:
        raise stopped(ROOM, "no room", url=url)
    if not key:
        raise stopped(ROOM, "no seat")
    return f"{url.rstrip('/')}/s/{quote(key, safe='')}"


class RoomLink:
    """Two threads beside a session: one posts, one polls."""

    def __init__(
        self,
        url: str,
        inbox: Inbox,
        home: Path,
        tell: Callable[[str], object],
        language: str,
    ) -> None:
        """Link to the seat at an address. `tell` is told when the room goes and comes back."""
        self._url = urlsplit(url)
        self._inbox = inbox
        self._home = home
        self._tell = tell
        self._changed = threading.Event()
        self._ending = threading.Event()
        self._threads: list[threading.Thread] = []
        self._is_there: bool | None = None
        self._language = language

    def state(self) -> str:
        """Return "there" or "away", as the room can be reached or not; "" before that is known."""
        return {True: "there", False: "away", None: ""}[self._is_there]

    def start(self, session: str) -> None:
        """Link a session."""
        original = Original(self._inbox, session)
        for work in (self._post, self._poll):
            one = threading.Thread(target=work, args=(session, original), daemon=True)
            one.start()
            self._threads.append(one)

    def close(self) -> None:
        """Post how it ended, as far as that is quickly done."""
        self._ending.set()
        self._changed.set()
        for one in self._threads[:1]:
            one.join(ENDS_WITHIN)

    # -- up -------------------------------------------------------------------------------------

    def _post(self, session: str, original: Original) -> None:
        boot, pause = "", 0.5
        seq: int | None = 0

        def wake(name: str, _number: int) -> None:
            if name == session:
                self._changed.set()

        with Watch(self._home, wake):
            while True:
                ending = self._ending.is_set()
                self._changed.clear()
                try:
                    answered = self._post_news(original, seq)
                except (OSError, http.client.HTTPException, ValueError) as error:
                    self._lost(error)
                    original.forget()
                    seq = None
                    if ending or self._ending.wait(pause):
                        return
                    pause = min(pause * 2, LONGEST_PAUSE)
                    continue
                pause = 0.5
                if answered is not None:
                    self._back()
                    seq = int(answered["seq"])
                    if boot not in {"", answered["boot"]}:
                        original.forget()
                        self._changed.set()
                    boot = answered["boot"]
                elif ending:
                    return
                else:
                    self._changed.wait(LOOK_EVERY)

    def _post_news(self, original: Original, seq: int | None) -> Any:  # noqa: ANN401 - JSON
        """Post what is new; without `seq` ask first what the room has of it."""
        found = original.news(seq)
        if found is None:
            return None
        record, posted = found
        answer = self._ask("POST", "/events", records.encode(record), ANSWERS_WITHIN)
        posted()
        return answer

    # -- down -----------------------------------------------------------------------------------

    def _poll(self, session: str, original: Original) -> None:
        after, boot, pause = 0, "", 0.5
        while not self._ending.is_set():
            query = urlencode({"session": session, "after": after, "boot": boot})
            try:
                answer = self._ask("GET", f"/replies?{query}", b"", POLLS_FOR)
            except (OSError, http.client.HTTPException, ValueError) as error:
                self._lost(error)
                self._ending.wait(pause)
                pause = min(pause * 2, LONGEST_PAUSE)
                continue
            pause = 0.5
            self._back()
            after, boot = int(answer["after"]), str(answer["boot"])
            for one in answer["sent"]:
                try:
                    original.send(one)
                except InboxError as error:
                    logger.info("a reply of the room came too late: %s", error)
                self._changed.set()

    # -- the network ----------------------------------------------------------------------------

    def _ask(self, method: str, what: str, body: bytes, within: float) -> Any:  # noqa: ANN401 - JSON
        secure = self._url.scheme == "https"
        kind = http.client.HTTPSConnection if secure else http.client.HTTPConnection
        assert self._url.hostname is not None  # noqa: S101 - `checked` has looked
        connection = kind(self._url.hostname, self._url.port, timeout=within)
        try:
            headers = {"Content-Type": "application/json"} if body else {}
            connection.request(method, self._url.path + what, body, headers)
            response = connection.getresponse()
            content = response.read()
        finally:
            connection.close()
        if response.status != 200:
            raise ConnectionError(response.status)
        return json.loads(content)

    def _lost(self, error: Exception) -> None:
        if self._is_there is not False:
            logger.warning("the room cannot be reached: %s", error)
            self._tell(say(ROOM, "lost", self._language))
        self._is_there = False

    def _back(self) -> None:
        if self._is_there is not True:
            self._tell(say(ROOM, "there", self._language))
        self._is_there = True
