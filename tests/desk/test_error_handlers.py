"""What nobody foresaw: the log knows it, and whoever asked is told so."""

import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from humanmcp import launch
from humanmcp.common.own_process import LARGEST_LOG
from humanmcp.desk import context
from tests.support.desk_process import JSON, Desking
from tests.support.waiting import until

FAILING: Final = """
import sys
from humanmcp.cli import main
from humanmcp.desk import rights
from humanmcp.desk.api import read_calls
from humanmcp.desk.inbox import inbox_page

anybody = rights.Entry(rights.ALL)
rights.TABLE = {**rights.TABLE, "GET /fails": anybody, "POST /api/fails": anybody}

def fail(text):
    raise ValueError("cannot read " + text)

@inbox_page.router.get("/fails")
def page(q: str = ""):
    fail(q)

@read_calls.router.post("/fails")
async def call(body: dict):
    try:
        fail(body["text"])
    except ValueError as error:
        raise RuntimeError("no answer") from error

sys.exit(main(sys.argv[1:]))
"""
"""A desk with two routes that raise."""

SECRET: Final = "x" * 300


@pytest.fixture(scope="module")
def failing(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Desking]:
    """Start it as `humanmcp desk` is started."""
    home = tmp_path_factory.mktemp("failing") / "home"
    with Desking(home, command=(sys.executable, "-c", FAILING, "desk")) as desk:
        yield desk


def log_of(desk: Desking) -> str:
    """Return what its log says."""
    return (desk.home / launch.LOG_NAME).read_text(encoding="utf-8")


def said_after(desk: Desking, before: str, last: str) -> str:
    """Return what its log says since it said `before`, as soon as `last` is in there."""
    until(lambda: last in log_of(desk)[len(before) :], f"the log says {last}")
    return log_of(desk)[len(before) :]


@pytest.mark.parametrize(
    ("language", "sentence"),
    [("en", "because of an unexpected error"), ("ja", "予期しないエラー")],
)
def test_a_page_that_fails_says_so_in_a_sentence(
    failing: Desking, language: str, sentence: str
) -> None:
    """In the reader's language, with the log's place; the traceback is for the log."""
    before = log_of(failing)
    cookie = failing.cookie()["Cookie"]
    headers = {"Cookie": f"{cookie}; lang={language}"}
    answer = failing.ask("GET", failing.in_login("/fails?q=tokyo"), headers=headers)
    said_after(failing, before, ", in fail\n")  # the next test must not find it
    assert answer.status == 500
    assert sentence in answer.text
    assert str(failing.home / launch.LOG_NAME) in answer.text
    assert "Traceback" not in answer.text
    assert "cannot read" not in answer.text
    assert answer.headers["content-security-policy"]


def test_a_call_that_fails_answers_with_an_object(failing: Desking) -> None:
    """Its `detail` is a sentence, its `log` the place."""
    before = log_of(failing)
    answer = failing.post("/api/fails?lang=ja", {"text": "tokyo"})
    said_after(failing, before, ", in fail\n")
    assert answer.status == 500
    record = answer.json
    assert record["log"] == str(failing.home / launch.LOG_NAME)
    assert "予期しないエラー" in record["detail"]


def test_the_log_has_the_way_to_the_error(failing: Desking) -> None:
    """Where it happened and what it came from, once, in a file that only its owner reads."""
    before = log_of(failing)
    assert failing.post("/api/fails", {"text": "tokyo"}).status == 500
    log = said_after(failing, before, ", in fail\n")
    assert "ERROR humanmcp.desk.context: POST /api/fails: RuntimeError: no answer" in log
    assert "ValueError: cannot read tokyo" in log
    assert log.count("RuntimeError: ") == 1
    assert stat.S_IMODE((failing.home / launch.LOG_NAME).stat().st_mode) == 0o600


def test_the_terminal_has_the_first_line_of_it(failing: Desking) -> None:
    """No bare traceback reaches a person."""
    before = log_of(failing)
    assert failing.post("/api/fails", {"text": "tokyo"}).status == 500
    said_after(failing, before, ", in fail\n")
    first = "POST /api/fails: RuntimeError: no answer\n"  # written after the log: wait for itself
    until(lambda: first in failing.err.read_text(encoding="utf-8"), "the terminal says it")
    assert "File " not in failing.err.read_text(encoding="utf-8")


def test_the_log_keeps_no_secret_and_no_message(failing: Desking) -> None:
    """No token, cookie or query, and of what was written only a beginning."""
    before = log_of(failing)
    cookie = failing.cookie()["Cookie"]
    headers = {"Cookie": cookie, "Origin": f"http://127.0.0.1:{failing.port}", **JSON}
    body = f'{{"text": "{SECRET}"}}'.encode()
    where = failing.in_login("/api/fails")
    assert failing.ask("POST", where, body=body, headers=headers).status == 500
    assert failing.ask("GET", f"/fails?q=hush{SECRET}", headers=failing.bearer).status == 500
    log = said_after(failing, before, "GET /fails")
    assert "POST /api/fails" in log
    for hidden in (
        SECRET,
        "?q=",
        cookie.partition("=")[2],
        failing.login_path,
        failing.facts.token,
    ):
        assert hidden not in log


def test_a_stranger_learns_no_path(home: Path) -> None:
    """The door is open to everybody; what fails there names no folder."""
    code = FAILING.replace(
        '@inbox_page.router.get("/fails")', '@inbox_page.router.get("/login")'
    ).replace(
        "from humanmcp.desk.inbox import inbox_page",
        "from humanmcp.desk.inbox import inbox_page\ninbox_page.router.routes[:] = []",
    )
    with Desking(home, command=(sys.executable, "-c", code, "desk")) as desk:
        answer = desk.ask("GET", "/login")
    assert answer.status == 500
    assert launch.LOG_NAME in answer.text
    assert str(home) not in answer.text


def test_a_large_log_is_put_aside_when_the_desk_starts(home: Path) -> None:
    """A log does not grow for ever; the one before it stays."""
    home.mkdir(mode=0o700)
    with (home / launch.LOG_NAME).open("wb") as file:
        file.truncate(LARGEST_LOG + 1)
    with Desking(home):
        assert (home / launch.LOG_NAME).stat().st_size == 0
    assert (home / context.OLD_NAME).stat().st_size > LARGEST_LOG


def test_a_desk_whose_stderr_is_its_log_says_everything_once(home: Path) -> None:
    """That is how `serve --open` starts one."""
    home.mkdir(mode=0o700)
    code = (
        "import logging, pathlib, sys\n"
        "from humanmcp.desk import context\n"
        "context.log_to(pathlib.Path(sys.argv[1]))\n"
        "logging.getLogger('here').warning('once')\n"
    )
    with (home / launch.LOG_NAME).open("ab") as stream:
        subprocess.run([sys.executable, "-c", code, str(home)], stderr=stream, check=True)
    assert (home / launch.LOG_NAME).read_text(encoding="utf-8").count("once") == 1
