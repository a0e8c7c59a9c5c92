"""A script in the person's place: reads `in.txt`, looks its answer up, writes `out.txt`.

It knows nothing of humanmcp but the two text files, as the person would.
"""

import json
import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, Self, TypeAlias

from tests.support.serve_process import need_text_files
from tests.support.waiting import EVERY, until

Answers: TypeAlias = Callable[[dict[str, Any]], str | None]
"""From a request to what belongs beside its id: `"result":{…}` or `"error":{…}`, or nothing."""

MODERN: Final = "io.modelcontextprotocol/protocolVersion"

TOOL: Final = (
    '{"name":"get-japan-forecast","description":"Get weather forecast","inputSchema":'
    '{"type":"object","properties":{"location":{"type":"string","description":"location name"}},'
    '"required":["location"],"additionalProperties":false,'
    '"$schema":"http://json-schema.org/draft-07/schema#"}}'
)
SERVER: Final = '{"name":"humanmcp","version":"1.0.0"}'
FORECASTS: Final = {
    "東京": '"result":{%s"content":[{"type":"text","text":"sunny"}]}',
    "大阪": '"error":{"code":-32602,"message":"遠い。自分で調べて"}',
    "北海道": '"error":{"code":-32602,"message":"東京の天気以外知りません。自分でググって"}',
}


def weather(request: dict[str, Any]) -> str | None:
    """Answer as the person of the weather session does, in the version that was asked in."""
    params = request.get("params", {})
    modern = MODERN in params.get("_meta", {})
    complete = '"resultType":"complete",' if modern else ""
    cached = '"ttlMs":0,"cacheScope":"private",' if modern else ""
    match request["method"]:
        case "initialize":
            return (
                '"result":{"protocolVersion":"2024-11-05","capabilities":{"tools":{}},'
                f'"serverInfo":{SERVER}}}'
            )
        case "server/discover":
            return (
                f'"result":{{{complete}{cached}"supportedVersions":["2026-07-28"],'
                f'"capabilities":{{"tools":{{}}}}}}'
            )
        case "tools/list":
            return f'"result":{{{complete}{cached}"tools":[{TOOL}]}}'
        case "tools/call":
            forecast = FORECASTS[params["arguments"]["location"]]
            return forecast % complete if "%s" in forecast else forecast
        case _:
            return None


class Person:
    """Answers every request that appears, one after the other.

    `folder` is where `in.txt` stands (`--files`), or an inbox folder with all its sessions, or the
    folder of several such.
    """

    def __init__(self, folder: Path, answers: Answers = weather) -> None:
        """Sit down in front of the folder."""
        need_text_files()
        self.seen: list[str] = []
        """Every line that arrived, in order."""
        self.answered: list[str] = []
        """Every answer that was taken, in order."""
        self._folder = folder
        self._answers = answers
        self._read: dict[Path, int] = {}
        self._leave = threading.Event()
        self._trouble: BaseException | None = None
        self._thread = threading.Thread(target=self._work, daemon=True)

    def __enter__(self) -> Self:
        """Begin to answer."""
        self._thread.start()
        return self

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        """Stop; say what went wrong unless the test has failed already."""
        self._leave.set()
        self._thread.join()
        if self._trouble is None:
            return
        if error is None:
            raise self._trouble
        error.add_note(f"the person had left before: {self._trouble!r}")

    def _work(self) -> None:
        try:
            while not self._leave.wait(EVERY):
                for in_txt in self._in_texts():
                    for line in self._new_lines(in_txt):
                        self._answer(line, in_txt.with_name("out.txt"))
        except BaseException as trouble:  # noqa: BLE001 - it is raised where the test can see it
            self._trouble = trouble

    def _in_texts(self) -> list[Path]:
        places = ("in.txt", "sessions/*/in.txt", "*/sessions/*/in.txt")
        return sorted(found for place in places for found in self._folder.glob(place))

    def _new_lines(self, in_txt: Path) -> list[str]:
        with in_txt.open("rb") as stream:
            begun = self._read.get(in_txt, 0)
            if stream.seek(0, os.SEEK_END) < begun:
                begun = 0  # the next session began in it, as `tail -f` says, too
            stream.seek(begun)
            new = stream.read()
        whole = new[: new.rfind(b"\n") + 1]
        self._read[in_txt] = begun + len(whole)
        return whole.decode("utf-8").split("\n")[:-1]

    def _answer(self, line: str, out_txt: Path) -> None:
        self.seen.append(line)
        message = json.loads(line)
        if "id" not in message or "method" not in message:
            return
        body = self._answers(message)
        if body is None:
            return
        text = f'{{"jsonrpc":"2.0","id":{json.dumps(message["id"])},{body}}}\n'
        out_txt.write_text(text, encoding="utf-8")
        until(lambda: self._leave.is_set() or is_taken(out_txt), f"{text} taken")
        self.answered.append(text)


def is_taken(out_txt: Path) -> bool:
    """Return True if the text of an `out.txt` was taken."""
    try:
        return out_txt.stat().st_size == 0
    except FileNotFoundError:
        return True
