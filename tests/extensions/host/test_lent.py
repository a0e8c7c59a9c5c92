"""Prompts and resources in the chat of a host."""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from humanmcp.answering.forms import MistypedError
from humanmcp.common.child import ChildCommand
from humanmcp.extensions.host.client.callbacks import Nobody
from humanmcp.extensions.host.config import ServerEntry
from humanmcp.extensions.host.conversation import TextBlock, Turn, TurnRole
from humanmcp.extensions.host.sampling import Lent
from humanmcp.extensions.host.servers import Servers
from humanmcp.extensions.host.terminal.typing import Typist
from humanmcp.locales.stop import StopError
from tests.extensions.host.hosting import DICE, configuration, entry, says
from tests.extensions.host.test_host import chat, recorded, words

PROGRAM: Final = str(Path(__file__).parent / "sdk_library.py")
LIBRARY: Final = ServerEntry("library", ChildCommand((sys.executable, PROGRAM)))


@pytest.fixture(scope="module")
def lent() -> Iterator[Lent]:
    """What two servers lend: one that has everything, and one that has tools only."""
    servers = Servers((DICE, LIBRARY), lambda _name: Nobody())
    servers.start()
    yield Lent(servers, Typist())
    servers.close()


def test_all_servers_are_asked_what_they_lend(
    lent: Lent, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each line begins with the server, as the commands that use it want it."""
    lent.list("/prompts")
    lent.list("/resources")
    assert capsys.readouterr().out.splitlines() == [
        "  library  greeting  city=… [style=…]  Greet a city.",
        "  library  note://today  What is to be done.",
        "  library  weather://{city}/now  Weather of a city.",
    ]


def test_where_no_server_lends_anything_that_is_said(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """`/prompts` printed nothing, as if it had not been understood."""
    servers = Servers((DICE,), lambda _name: Nobody())
    servers.start()
    Lent(servers, Typist()).list("/prompts")
    servers.close()
    assert capsys.readouterr().out == "  none\n"


def test_a_prompt_becomes_what_is_said(lent: Lent) -> None:
    """As its server wrote it."""
    said = TextBlock("Write a short greeting to Oslo.")
    assert lent.prompt("library greeting city=Oslo") == (Turn(TurnRole.USER, (said,)),)


def test_a_resource_becomes_what_is_shown(lent: Lent) -> None:
    """With its address, and a template with its variables filled in."""
    assert lent.read("library note://today") == (TextBlock("note://today:\nwater the plants"),)
    shown = lent.read("library weather://{city}/now city=Oslo")
    assert shown == (TextBlock("weather://Oslo/now:\nsunny in Oslo"),)


@pytest.mark.parametrize("typed", ["", "library", "nobody greeting"])
def test_what_is_left_out_is_said_with_the_names_of_the_servers(lent: Lent, typed: str) -> None:
    """A sentence, no error of a server."""
    with pytest.raises(StopError, match="servers: dice, library"):
        lent.prompt(typed)
    with pytest.raises(StopError, match="servers: dice, library"):
        lent.read(typed)


def test_what_a_server_refuses_is_told(lent: Lent) -> None:
    """In its words."""
    with pytest.raises(MistypedError, match="greeting needs city"):
        lent.prompt("library greeting")
    with pytest.raises(MistypedError, match="-32602"):
        lent.read("library note://never")


def test_a_chat_says_a_prompt_and_shows_a_resource(tmp_path: Path) -> None:
    """The resource goes with the next thing that is said, and once."""
    config = configuration(
        tmp_path,
        library={"command": sys.executable, "args": [PROGRAM]},
        dice=entry("dice"),
    )
    model = recorded(tmp_path, says("Hello Oslo!"), says("Water them."), says("Bye."))
    typed = ("/prompt library greeting city=Oslo", "/read library note://today", "What now?", "bye")
    run = chat(tmp_path, words(config, model), *typed, "/prompt", "/history")
    assert run.returncode == 0, run.stderr
    assert "the model reads this with your next message" in run.stdout
    history = run.stdout[run.stdout.index("user: Write a short") :]
    assert history.splitlines()[:8] == [
        "user: Write a short greeting to Oslo.",
        "assistant: Hello Oslo!",
        "user: note://today:",
        "water the plants",
        "user: What now?",
        "assistant: Water them.",
        "user: bye",
        "assistant: Bye.",
    ]
    assert "write: /prompt SERVER NAME" in run.stdout
