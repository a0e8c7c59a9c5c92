"""What a teacher downloads, and may give away: no byte of it is a secret."""

from __future__ import annotations

import html
import io
import json
import threading
import zipfile
from typing import TYPE_CHECKING, Any, Final

from humanmcp.desk.guard import Address
from humanmcp.extensions.classroom.room import results
from humanmcp.extensions.classroom.room.classroom import Classroom
from humanmcp.extensions.classroom.room.pages import around_of
from tests.support.room_process import Rooming
from tests.support.secrets import CANARY, HIDDEN, SHAPES
from tests.support.serve_http import initialize

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

    from humanmcp.extensions.classroom.room.seat import RoomSeat
    from tests.support.room_process import Visitor

TOKENS: Final = (f"{CANARY}-of-header", f"{CANARY}-of-key")
NAMES: Final = SHAPES[0], SHAPES[2]
"""What somebody wrote into the field of a name: a learner, a host."""


def secrets() -> tuple[list[dict[str, Any]], list[str]]:
    """Return JSON objects that hide secrets, OAuth's too, each with a secret of its own; these."""
    objects, parts = [], []
    for at, (_, value, part) in enumerate(HIDDEN):
        parts.append(f"{part}{at:04}" if part == CANARY else part)
        text = json.dumps(value, ensure_ascii=False)
        objects.append(json.loads(text.replace(CANARY, parts[-1]) if part == CANARY else text))
    return objects, parts


def keys(room: Rooming, *learners: Visitor) -> list[str]:
    """Return whatever opens a door of this room, as it is shown to those who have it."""
    kept = json.loads((room.folder / "room.json").read_text("utf-8"))
    seats = [json.loads(one.read_text("utf-8")) for one in room.folder.glob("seats/*/seat.json")]
    teacher = room.teacher()
    cookies = (one.cookies[one.login_path] for one in (*learners, teacher))
    typed = [one.rpartition("/")[2] for one in (room.teacher_link, room.wall_link)]
    typed += [one.replace("-", "") for one in typed]
    codes = [room.code, f"{room.code[:4]}-{room.code[4:]}", room.code.lower()]
    found = [
        *codes,
        *typed,
        *(one.replace("-", "") for one in typed),
        kept["teacher"],
        kept["wall"],
    ]
    return found + [one["key"] for one in seats] + [one.partition("=")[2] for one in cookies]


def type_in(learner: Visitor, method: str, text: str) -> None:
    """Leave a text in the box, without sending it."""
    asked = learner.question(method)
    path = f"/api/exchanges/{asked['session']}/{asked['number']}/draft"
    assert learner.call(path, {"text": text}).status == 200


def answer_own_host(learner: Visitor, objects: list[dict[str, Any]], words: str) -> None:
    """Be asked by a host that sends its token along, and answer."""
    headers = {"Authorization": f"Bearer {TOKENS[0]}", "X-Api-Key": TOKENS[1]}
    hello = json.loads(initialize("2025-11-25"))
    hello["params"]["clientInfo"] = {"name": f"of {NAMES[1]}", "version": "1", "title": words}
    greeted = learner.host(json.dumps(hello), **headers)
    session = {"Mcp-Session-Id": greeted.headers["mcp-session-id"]}
    session["MCP-Protocol-Version"] = "2025-11-25"
    params = {"name": "say", "arguments": {"objects": objects, "words": words}}
    call = json.dumps({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": params})
    host = threading.Thread(target=lambda: learner.host(call, **headers, **session))
    host.start()
    result = {"content": [{"type": "text", "text": words}], "_meta": {"a.example/b": objects}}
    learner.answer_to_the_end(learner.question("tools/call"), json.dumps(result), "result")
    host.join()


def test_no_byte_of_the_results_is_a_secret_that_somebody_typed_or_a_key_of_the_room(
    tmp_path: Path,
) -> None:
    """In answers, drafts, what is no JSON, requests and tokens of a host, and names."""
    objects, parts = secrets()
    with Rooming(tmp_path / "home") as room:
        ann, ben = room.learner(f"Ann {NAMES[0]}"), room.learner("Ben")
        gone = room.learner("Cy")
        own = keys(room, ann, ben, gone)
        words = f"My link is {ann.link}/mcp, and I found " + ", ".join(own)
        ann.introduce(words)
        type_in(ann, "tools/list", json.dumps({"tools": [], "_meta": {"a.example/b": objects}}))
        broken = '{"result": ' + "\n".join(json.dumps(one, ensure_ascii=False) for one in objects)
        type_in(ben, "initialize", f"{broken}\n{words}")
        answer_own_host(ben, objects, words)
        assert room.teacher().order(act="remove", seat=3).status == 303
        teacher = room.teacher()
        table = teacher.get("/room/seats.csv").text
        home = ann.get("/own/home.html").text
        with zipfile.ZipFile(io.BytesIO(teacher.get("/room/export.zip").body)) as archive:
            members = {one: archive.read(one).decode() for one in archive.namelist()}
    assert len(members) == 6
    assert sum("My link is" in text for text in members.values()) == 3
    for name, text in {**members, "the table": table, "to take home": home}.items():
        for form in (name, text, html.unescape(text)):
            assert [one for one in (*parts, *own, *TOKENS, *NAMES) if one in form] == [], name


def test_the_results_of_a_class_begin_to_come_before_its_first_seat_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing told a teacher for as long as thirty seats take that they come at all."""
    read: list[int] = []

    def no_pages(seat: RoomSeat) -> list[tuple[str, str]]:
        read.append(seat.record.number)
        return [("page", "text")]

    monkeypatch.setattr(results, "_pages", no_pages)
    room = Classroom(tmp_path / "class", "en", around_of)
    room.open(Address(1), "http://127.0.0.1:1")
    room.run()
    for name in ("Ann", "Ben"):
        room.join(name)
    coming = results.packed(room)
    begun = next(coming)
    assert begun.startswith(b"PK")
    assert read == []
    with zipfile.ZipFile(io.BytesIO(begun + b"".join(coming))) as archive:
        assert archive.testzip() is None
        assert len(archive.namelist()) == 5
    assert read == [1, 2]
    room.close()
