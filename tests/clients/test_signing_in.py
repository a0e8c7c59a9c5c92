"""Real clients sign in while a person consents; a refusal and a mistake stop them with words."""

import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, NamedTuple

import pytest

from humanmcp.cli import main
from humanmcp.inbox.contract import Role
from humanmcp.inbox.folder import FolderInbox
from humanmcp.protocol.conversation.transcript import HTTP
from tests.clients.hosts import NODE
from tests.extensions.tap.test_keys import tap
from tests.support.serve_http import ServingHttp
from tests.support.serve_process import bare_environment
from tests.support.signing_in import consents, decide, order, steps_of
from tests.support.waiting import PATIENCE

PYTHON_1: Final = Path(__file__).parent / "python1" / ".venv" / "bin" / "python"
SCRIPT: Final = str(Path(__file__).parent / "signs_in.py")


class SigningSdk(NamedTuple):
    """A client: its command, and whether it goes on when the issuer is another host."""

    command: tuple[str, ...]
    goes_on: bool = False


SDKS: Final = {
    "python1": SigningSdk((str(PYTHON_1), SCRIPT)),
    "python2": SigningSdk((sys.executable, SCRIPT)),
    "typescript1": SigningSdk(("node", str(NODE / "signs_in.mjs"), "1"), goes_on=True),
    "typescript2": SigningSdk(("node", str(NODE / "signs_in.mjs"), "2")),
}
EACH: Final = pytest.mark.parametrize(
    "sdk",
    [
        pytest.param(one, id=name, marks=[pytest.mark.node] if "script" in name else [])
        for name, one in SDKS.items()
    ],
)


def start(sdk: SigningSdk, serving: ServingHttp, *words: str) -> "subprocess.Popen[str]":
    """Start a client of the server, or with other words."""
    if sdk.command[0] == str(PYTHON_1) and not PYTHON_1.exists():
        pytest.skip("the Python SDK 1 is not installed here")
    return subprocess.Popen(
        [*sdk.command, *(words or (serving.url,))],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        encoding="utf-8",
        env=bare_environment(serving.home.parent),
    )


def said(client: "subprocess.Popen[str]") -> dict[str, Any]:
    """Return what a client said at its end."""
    with client:
        out, _ = client.communicate(timeout=PATIENCE * 2)
    found: dict[str, Any] = json.loads(out.splitlines()[-1])
    return found


@EACH
def test_a_client_signs_in_and_lists_the_tools(sdk: SigningSdk, tmp_path: Path) -> None:
    """The person allows it, and every step was answered."""
    home = tmp_path / "home"
    with ServingHttp(home, "--oauth") as serving:
        client = start(sdk, serving)
        decide(home, "--allow")
        assert said(client) == {"tools": ["ask_human"]}
    names = [one.note.split()[2] for one in steps_of(home)]
    assert {*names} >= {"challenge", "resource-metadata", "server-metadata", "registration"}
    assert names.count("authorization") == names.count("token") == 2


@EACH
def test_a_client_that_is_refused_has_no_token(sdk: SigningSdk, tmp_path: Path) -> None:
    """And says that it failed."""
    home = tmp_path / "home"
    with ServingHttp(home, "--oauth") as serving:
        client = start(sdk, serving)
        decide(home, "--deny")
        assert "error" in said(client)
    assert "token" not in {one.note.split()[2] for one in steps_of(home)}


@EACH
def test_a_mistake_in_the_next_answer_shows_what_a_client_does(
    sdk: SigningSdk, tmp_path: Path
) -> None:
    """The metadata name an issuer of another host: three of four SDKs stop."""
    home = tmp_path / "home"
    with ServingHttp(home, "--oauth") as serving:
        order(home, "mistake issuer-other")
        client = start(sdk, serving)
        if sdk.goes_on:
            decide(home, "--allow")
        found = said(client)
    assert ("tools" in found) is sdk.goes_on, found


BOOK: Final = """
[[rules]]
tool = "ask_human"
text = "It is answered."
"""


@contextmanager
def allowing(home: Path) -> Iterator[None]:
    """Be a person who allows each sign-in."""
    over = threading.Event()

    def allow_all() -> None:
        while not over.wait(0.05):  # until the client is done: how often it asks is its own
            for item in consents(home):
                main(
                    [
                        "answer",
                        f"{item.key.session}/{item.key.number}",
                        "--allow",
                        "--home",
                        str(home),
                    ]
                )

    person = threading.Thread(target=allow_all)
    person.start()
    try:
        yield
    finally:
        over.set()
        person.join()


def through_a_tap(sdk: SigningSdk, home: Path, happens: str) -> tuple[dict[str, Any], list[str]]:
    """Let a client sign in through a tap, and call a tool. Return what it said, and the statuses.

    It must know the server's own address: that of the tap is to a SDK the one of another server.
    """
    book = home.parent / "book.toml"
    book.write_text(BOOK)
    with (
        ServingHttp(home, "--oauth", "--book", str(book)) as serving,
        tap(home, serving.url) as (where, _),
    ):
        order(home, happens)
        client = start(sdk, serving, f"http://{where}/mcp", "ask_human", serving.url)
        with allowing(home):
            found = said(client)
    inbox = FolderInbox(home)
    taps = [one.name for one in inbox.sessions() if one.role is Role.TAP]
    frames = sorted((frame for name in taps for frame in inbox.frames(name)), key=lambda it: it.at)
    parts = [json.loads(one.raw) for one in frames if one.note == HTTP]
    return found, [str(one["status"]) for one in parts if "status" in one]


@EACH
def test_a_client_signs_in_through_a_tap_and_renews_its_token(
    sdk: SigningSdk, tmp_path: Path
) -> None:
    """The first one expires before the call, in the same session."""
    found, statuses = through_a_tap(sdk, tmp_path / "home", "mistake expired-soon")
    assert "It is answered." in found["tools"][0]
    assert statuses[0] == "401"


@EACH
def test_a_token_that_is_refused_through_a_tap_is_refused(sdk: SigningSdk, tmp_path: Path) -> None:
    """The client does with it what it does without a tap."""
    _, statuses = through_a_tap(sdk, tmp_path / "home", "refuse")
    assert statuses.count("401") >= 2
