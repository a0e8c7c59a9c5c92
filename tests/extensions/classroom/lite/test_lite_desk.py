"""The page without a server, in this Python: one learner, whose requests are handed over."""

import asyncio
import json
import re
from pathlib import Path
from typing import Final
from urllib.parse import urlencode

import anyio.to_thread
import pytest

from humanmcp.extensions.classroom.lite.lite_desk import LiteDesk, run_here
from humanmcp.extensions.classroom.lite.pages import lessons
from tests.inbox.test_folder import FolderStore

BASE: Final = "https://class.example/humanmcp/try/"
RIGHT: Final = '{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"x"}]}}'
FORM: Final = [("Content-Type", "application/x-www-form-urlencoded")]


class Answer:
    """What was posted of one answer."""

    def __init__(self) -> None:
        """Begin with nothing."""
        self.status, self.headers, self.text = 0, dict[str, str](), ""
        self.began = asyncio.Event()

    def __call__(
        self,
        _number: int,
        status: int,
        headers: list[tuple[str, str]],
        content: bytes,
        _more: bool,  # noqa: FBT001 - as the worker's
    ) -> None:
        """Take a piece."""
        self.status, self.headers = status, dict(headers)
        self.text += content.decode()
        if self.text:
            self.began.set()


def ask(desk: LiteDesk, path: str, **form: str) -> Answer:
    """Send a request as the worker does: a form, or a GET without one."""
    answer = Answer()
    words = ("POST", FORM, urlencode(form).encode()) if form else ("GET", [], b"")
    method, headers, body = words
    asyncio.run(desk.answer(1, method, desk.path + path, headers, body, answer))
    return answer


@pytest.fixture(autouse=True)
def _no_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    """Run everything in one thread, as a browser does."""
    monkeypatch.setattr(anyio.to_thread, "run_sync", run_here)


@pytest.fixture
def desk(tmp_path: Path) -> LiteDesk:
    """Open the page for the first time."""
    return LiteDesk(tmp_path / "home", BASE, "en-US,en")


def test_the_first_page_shows_a_request_and_every_link_is_below_the_folder_of_the_site(
    desk: LiteDesk,
) -> None:
    """A site shares its origin with others."""
    answer = ask(desk, "/")
    assert (answer.status, answer.headers["content-type"]) == (200, "text/html; charset=utf-8")
    assert "Step 1 of 3" in answer.text
    links = re.findall(r'\s(?:href|action|src)="(/[^"]*)"', answer.text)
    assert links
    assert {one for one in links if not one.startswith("/humanmcp/try/")} == set()
    assert "frame-ancestors 'self'" in answer.headers["content-security-policy"]


def test_what_was_done_is_there_in_the_next_python(desk: LiteDesk, tmp_path: Path) -> None:
    """The lesson, its place, and the choices of the person."""
    assert ask(desk, "/preferences", lang="ja", back="/").status == 303
    key = desk.seat.board.waiting()[0].key
    result = {"content": [{"type": "text", "text": "sunny"}]}
    text = json.dumps({"jsonrpc": "2.0", "id": 3, "result": result})
    answer = ask(desk, f"/m/{key.session}/{key.number}", act="send", text=text)
    assert answer.headers["location"].startswith(f"/humanmcp/try{desk.path}/")
    assert desk.seat.standing is not None
    assert desk.seat.standing.step == 4
    store = FolderStore(tmp_path / "home")
    store.kill(desk.seat.inbox)
    again = LiteDesk(tmp_path / "home", BASE, "en")
    assert again.path == desk.path
    assert 'lang="ja"' in ask(again, "/").text
    assert [one.key.number for one in again.seat.board.waiting()] == [4]
    page = ask(again, "/").text
    assert "ハンドシェイク" in page
    assert page.count('class="told"') == 3, "its two requests, and what the model reads"


def test_it_begins_with_a_question_that_a_person_can_answer(desk: LiteDesk) -> None:
    """The handshake comes before it, and is shown after the first answer."""
    (row,) = desk.seat.board.waiting()
    page = ask(desk, "/").text
    assert (row.method, row.key.number) == ("tools/call", 3)
    assert "What is the weather in Tokyo?" in page
    assert "handshake" not in page.partition('class="lesson"')[2].partition("</section>")[0]


@pytest.mark.parametrize("lesson", lessons())
def test_every_lesson_that_needs_no_http_begins(desk: LiteDesk, lesson: str) -> None:
    """Each in its turn, and the next one after it."""
    assert ask(desk, "/own", act="lesson", lesson=lesson).status == 303
    assert desk.seat.record.lesson == lesson
    assert len(desk.seat.board.waiting()) == 1
    assert ask(desk, "/").status == 200


def test_a_link_begins_the_lesson_that_it_names_and_goes_on_with_it(desk: LiteDesk) -> None:
    """One that comes along, or a file beside the page; opened again, it loses nothing."""
    own = Path("samples/lessons/02-picked-tool.toml").read_text("utf-8")
    for name, text in (("recover", ""), ("lunch.toml", own)):
        assert (
            ask(desk, "/own", act="lesson", lesson=name, text=text).headers["location"][-1] == "/"
        )
        assert desk.seat.record.lesson.rpartition("/")[2] == name
        (before,) = desk.seat.board.waiting()
        ask(desk, "/own", act="lesson", lesson=name, text=text)
        assert desk.seat.board.waiting() == [before]
    page = ask(desk, "/own").text
    assert f'value="{desk.seat.record.lesson}"' in page
    assert ask(desk, "/own", act="lesson", lesson=desk.seat.record.lesson).status == 303
    assert desk.seat.board.waiting() != [before], "a button begins it anew"


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("nonsense", ""),
        ("gone.toml", ""),
        ("wrong.toml", "title ="),
        ("../../seat.toml", Path("samples/lessons/02-picked-tool.toml").read_text("utf-8")),
        ("http.toml", Path("samples/lessons/14-over-http.toml").read_text("utf-8")),
        ("over-http", ""),
    ],
    ids=["no lesson", "gone", "no TOML", "a path", "over HTTP", "a lesson of ours over HTTP"],
)
def test_a_link_to_a_lesson_that_cannot_be_begun_says_so(
    desk: LiteDesk, name: str, text: str
) -> None:
    """What was begun before goes on."""
    before = desk.seat.board.waiting()
    answer = ask(desk, "/own", act="lesson", lesson=name, text=text)
    path = answer.headers["location"].removeprefix(f"/humanmcp/try{desk.path}")
    assert f"cannot start the lesson {name}" in ask(desk, path).text
    assert desk.seat.board.waiting() == before


def test_a_message_is_checked_as_on_the_command_line(desk: LiteDesk) -> None:
    """The same words, in the language of the person."""
    wrong = json.dumps({"jsonrpc": "2.0", "id": 1})
    assert ask(desk, "/check", text=wrong).status == 303  # Back leads to no form that is sent again
    page = ask(desk, "/check").text
    assert page.index('id="verdict"') < page.index("<textarea")
    assert "1 message has problems. 1 error." in page
    assert re.search(rf'href="/humanmcp/try{desk.path}/mistake/\w+"', page)
    assert ask(desk, "/check", text=RIGHT).status == 303
    assert "No problems." in ask(desk, "/check").text
    assert ask(desk, "/check", text=f"{RIGHT}\n{RIGHT}").status == 303
    assert '<p class="aside">The file has no requests, so' in ask(desk, "/check").text


@pytest.mark.parametrize("path", ["/settings", "/devices", "/connect"])
def test_what_belongs_to_a_computer_leads_to_the_lessons(desk: LiteDesk, path: str) -> None:
    """Somebody may type its address."""
    answer = ask(desk, path)
    assert answer.headers["location"] == f"/humanmcp/try{desk.path}/own"
    assert ask(desk, "/login-key").status == 404


def test_a_stream_ends_when_its_reader_leaves(desk: LiteDesk) -> None:
    """A closed tab costs nothing."""
    answer = Answer()

    async def listen() -> None:
        reading = asyncio.ensure_future(
            desk.answer(7, "GET", f"{desk.path}/api/events?after=-1", [], b"", answer)
        )
        await answer.began.wait()
        desk.leave(7)
        await asyncio.wait_for(reading, 10)

    asyncio.run(listen())
    assert "event: hello" in answer.text
    assert desk.seat.desk.live.streams == 0
