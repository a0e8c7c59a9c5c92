"""What `humanmcp room` says in the terminal, and what it opens."""

import re
from pathlib import Path
from typing import Final

import pytest

from humanmcp.http.listening import own_addresses
from humanmcp.launch import OPEN_NAME
from humanmcp.locales import say
from tests.support.desktop import Desktop
from tests.support.room_process import Rooming
from tests.support.waiting import until

QR: Final = "▄▄▄▄▄"
NEAR: Final = "Only this computer can join, so there is no QR code."


@pytest.mark.parametrize(
    ("flags", "why_not"),
    [
        ((), NEAR),
        (("--url", "http://localhost:1"), NEAR),
        (("--url", "https://class.example"), ""),
        (("--lan",), "" if [one for one in own_addresses() if ":" not in one] else NEAR),
    ],
)
def test_there_is_a_qr_code_exactly_where_a_phone_can_open_the_address(
    tmp_path: Path, flags: tuple[str, ...], why_not: str
) -> None:
    """In the terminal and on the projector; where there is none, both say why."""
    with Rooming(tmp_path / "home", *flags) as room:
        key = room.wall_link.rpartition("/")[2]
        wall = room.visitor().follow(f":{room.port}/s/{key}").get("/wall").text
        main = wall.partition("<main")[2].partition("</main>")[0]
        assert [QR in room.said(), "<svg" in main] == [not why_not] * 2
        assert why_not in room.said()
        assert ("Only this computer can join." in main) is bool(why_not)
        assert ("(only on this computer)" in room.said()) is (not why_not)


@pytest.mark.parametrize("sees", [True, False], ids=["a desktop", "no screen"])
def test_the_teachers_page_opens_and_its_link_is_there(tmp_path: Path, *, sees: bool) -> None:
    """The browser gets a file of the room that only its owner can read, which leads to the page."""
    desktop = Desktop(tmp_path)
    environment = desktop.environment if sees else desktop.without_screen
    home = tmp_path / "home"
    with Rooming(home, "--open", "--lang", "en", environment=environment) as room:
        told = "Your browser opens the page." if sees else "humanmcp cannot open a browser here."
        until(lambda: told in room.said(), "what was opened")
        page = room.folder / OPEN_NAME
        assert [line.split()[-1] for line in desktop.lines()] == ([page.as_uri()] if sees else [])
        if sees:
            assert page.stat().st_mode & 0o777 == 0o600
            (link,) = re.findall(r"url=([^\"]+)", page.read_text())
            assert link == room.teacher_link
            assert room.visitor().follow(link).get("/room").status == 200


def test_a_room_that_ends_says_where_it_is_kept_and_opens_again_with_its_links(
    tmp_path: Path,
) -> None:
    said = []
    for _ in range(2):
        with Rooming(tmp_path / "room") as room:
            pass
        said.append(room.said())
    first, again = said
    assert again == first
    assert first.endswith(say("room", "closed", "en", folder=room.folder) + "\n")
