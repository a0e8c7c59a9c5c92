"""A room whose disk is full: what is refused is not done, and works when there is room again."""

import re
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, Final

import pytest

from tests.extensions.classroom.room.test_teaching import table_of, without_running_clock
from tests.support import full_disk
from tests.support.room_process import Rooming
from tests.support.serve_http import Got
from tests.support.waiting import until

TYPED: Final = '{"jsonrpc":"2.0",'
OWN_LESSON: Final = Path("samples/lessons/02-picked-tool.toml")


class Class:
    """A teacher, four learners, two of them a pair, and one whose seat was removed."""

    def __init__(self, home: Path) -> None:
        self.room = Rooming(home)
        self.teacher = self.room.teacher()
        self.ann, self.ben, self.cyd, self.dan, fay = map(
            self.room.learner, ("Ann", "Ben", "Cyd", "Dan", "Fay")
        )
        people = (self.ann, self.ben, self.cyd, self.dan, fay)
        self.asked, bens, *_ = [one.question("initialize") for one in people]
        self.teacher.order(act="remove", seat=3)
        self.cyd.submit("/login", code=self.room.code, name="Cyd", lost="yes")
        self.teacher.order(act="pair", seat=1, server=2)
        ours = bens["session"]
        until(lambda: [one for one in self.ben.waiting() if one["session"] != ours], "the pair")
        found = re.search(r'name="knock" value="(\d+)"', self.teacher.get("/room").text)
        assert found
        self.knock = found[1]

    def at_desk(self, what: str, **record: Any) -> Got:  # noqa: ANN401 - any JSON value
        """Make a call about what waits for the first learner."""
        path = f"/api/exchanges/{self.asked['session']}/{self.asked['number']}"
        return self.ann.call(f"{path}/{what}", record or {"text": str(self.ann.get(path).json)})

    def seen(self) -> dict[str, Any]:
        """Return what people see of the class, without what runs on."""
        page = self.teacher.get("/room").text
        waiting = {
            name: [
                (each["session"], each["number"])
                for each in one.get("/api/exchanges").json.get("waiting", ())
            ]
            for name, one in (("Ann", self.ann), ("Ben", self.ben), ("Dan", self.dan))
        }
        return {
            "table": {
                name: without_running_clock(row) for name, row in table_of(self.teacher).items()
            },
            "buttons": sorted(re.findall(r"<button[^>]*>[^<]*", page)),
            "values": sorted(re.findall(r'name="on" value="\w+"', page)),
            "waiting": waiting,
            "hands and tasks": [
                one.get("/own").text.count("<button") for one in (self.ann, self.ben)
            ],
            "projector": re.findall(
                r"<h1.*?</h1>", self.room.visitor().follow(self.room.wall_link).get("/wall").text
            ),
            "is paused": "paused everyone" in self.ann.get("/").text,
        }

    def is_as(self, before: dict[str, Any]) -> bool:
        """Return True if people see what they saw; what a lesson asks next comes by itself."""
        return {**self.seen(), "waiting": ()} == {**before, "waiting": ()}

    def are_at(self, step: str, names: tuple[str, ...]) -> bool:
        """Return True if these learners are at a step."""
        table = table_of(self.teacher)
        return all(table[name]["step"] == step for name in names)

    def end(self, folder: Path) -> None:
        """Kill the room after all was done, and find it as it was."""
        self.teacher.order(act="door", state="open")
        names = {"Ann", "Ben", "Cyd", "Eve", "Fay"}
        table = table_of(self.teacher)
        assert {*table} == names
        self.room.kill()
        self.room = Rooming(self.room.home)
        again = table_of(self.teacher)
        assert {name: again[name]["lesson"] for name in names} == dict.fromkeys(names, "recover")
        assert again["Ann"]["hands"] == table["Ann"]["hands"]
        logs = "".join(file.read_text("utf-8") for file in folder.rglob("*.log"))
        assert "Traceback" not in logs
        self.room.__exit__()


ACTS: Final[dict[str, Callable[[Class], Got]]] = {
    "join": lambda one: one.room.visitor().submit("/login", code=one.room.code, name="Eve"),
    "type": lambda one: one.at_desk("draft", text=TYPED),
    "send": lambda one: one.at_desk("reply", text="{}", form="result", anyway=True),
    "hand in": lambda one: one.ann.submit("/own", act="hand in"),
    "raise": lambda one: one.ann.submit("/own", act="raise"),
    "begin again": lambda one: one.ben.submit("/own", act="begin"),
    "take a lesson": lambda one: one.ben.submit("/own", act="lesson", lesson="recover"),
    "hint": lambda one: one.teacher.order(act="hint", hint="Look at the id"),
    "names": lambda one: one.teacher.order(act="names", on="yes"),
    "projector": lambda one: one.teacher.order(act="wall", show="steps"),
    "count down": lambda one: one.teacher.order(act="count down", minutes=5),
    "reset": lambda one: one.teacher.order(act="reset", seat=2),
    "give back": lambda one: one.teacher.order(act="let in", knock=one.knock, seat=3),
    "pair": lambda one: one.teacher.order(act="pair", seat=1, server=2),
    "part": lambda one: one.teacher.order(act="part", seat=1),
    "pair all": lambda one: one.teacher.order(act="pair all"),
    "remove": lambda one: one.teacher.order(act="remove", seat=4),
    "add a lesson": lambda one: one.teacher.submit(
        "/room", act="add lesson", name="own.toml", text=OWN_LESSON.read_text("utf-8")
    ),
    "open a step": lambda one: one.teacher.order(act="step", step=2),
    "lesson": lambda one: one.teacher.order(act="lesson", lesson="recover"),
    "pause": lambda one: one.teacher.order(act="freeze", on="yes"),
    "go on": lambda one: one.teacher.order(act="freeze", on="no"),
    "lock": lambda one: one.teacher.order(act="door", state="locked"),
}
"""What people do in a room and what is written then, in an order in which each can be done."""


def test_what_a_full_disk_refuses_is_said_and_not_done(tmp_path: Path) -> None:
    """Everything is as it was, on each page and after a kill. With room again, all of it works."""
    here = Class(tmp_path / "home")
    assert here.at_desk("draft", text=TYPED).status == 200
    before = here.seen()
    full_disk.fill(here.room.process)
    for name, act in ACTS.items():
        got = act(here)
        assert (got.status, "could not be saved" in got.text) == (507, True), name
    assert here.seen() == before
    full_disk.empty(here.room.process)
    assert here.seen() == before
    for name, act in ACTS.items():
        assert act(here).status in {200, 202, 303}, name
    here.end(tmp_path)


@pytest.mark.parametrize("left", [600, 1500])
def test_what_a_disk_refuses_in_the_middle_is_not_done(tmp_path: Path, left: int) -> None:
    """`left` are the bytes that a file may have: some is written then, and the next thing not."""
    here = Class(tmp_path / "home")
    for name, act in ACTS.items():
        before = here.seen()
        full_disk.fill(here.room.process, left)
        got = act(here)
        full_disk.empty(here.room.process)
        if got.status == 507:
            until(partial(here.is_as, before), name)
            got = act(here)
        assert got.status in {200, 202, 303}, name
        if name == "open a step":  # the lesson comes there by itself, once that can be noted
            until(partial(here.are_at, "2", ("Cyd", "Eve", "Fay")), name)
    here.end(tmp_path)
