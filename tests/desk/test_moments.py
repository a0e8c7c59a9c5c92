"""What a desk tells its listeners, and what it asks them."""

import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Final

import pytest
from markupsafe import Markup

from humanmcp.common.settings import Settings
from humanmcp.desk import command, rendering
from humanmcp.desk.desk import BY, Desk
from humanmcp.desk.guard import Address
from humanmcp.desk.moments import Around, Listener, Panel, Press
from humanmcp.inbox.contract import Key
from humanmcp.locales import say
from tests.support.desk_process import Desking

KEY: Final = Key("s", 7)
SHOWN: Final = Panel(Markup("open"), Markup("ended"))


class Hearing(Listener):
    """A listener that notes what it hears, and has an answer to everything."""

    IS_HOSTED = True
    author = "somebody"

    def __init__(self) -> None:
        """Nothing was heard."""
        self.heard: list[object] = []

    def judged(self, key: Key, diagnostics: Sequence[Any], press: Press) -> None:
        """Note it."""
        self.heard.append((key, tuple(diagnostics), press))

    def draft_name(self, key: Key) -> str:
        """Name it otherwise."""
        return f"mine {key.number}"

    def around(self, request: object) -> Around:
        """Return the place."""
        return Around("place", more=request)

    def panel(self, inbox: object, request: object, facts: object) -> Panel:
        """Show the same for all."""
        del inbox, request, facts
        return SHOWN


ASKED: Final[dict[str, tuple[Callable[[Any], object], object, object]]] = {
    "who writes": (lambda desk: desk.author, BY, "somebody"),
    "a draft's name": (lambda desk: desk.draft_name(KEY), "s/7", "mine 7"),
    "what is around": (lambda desk: desk.around(3), None, Around("place", more=3)),
    "what is beside": (lambda desk: desk.panel(None, None), None, SHOWN),
    "whose computer": (lambda desk: desk.is_hosted, False, True),
    "a folder": (lambda desk: desk.shown(desk.home / "a"), "{home}/a", "a"),
}
"""What a desk asks: how, what it says alone, and what with a listener."""


@pytest.fixture
def alone(home: Path) -> Desk:
    """Return a desk without a listener."""
    made = command.make_desk(home, Address(8765), Settings())
    return replace(made, listeners=())


@pytest.mark.parametrize(("ask", "by_itself", "with_one"), ASKED.values(), ids=ASKED)
def test_the_first_listener_with_an_answer_is_asked(
    alone: Desk, ask: Callable[[Any], object], by_itself: object, with_one: object
) -> None:
    """One that has none is passed over; without any, it is a person's own desk."""
    own = by_itself.format(home=alone.home) if isinstance(by_itself, str) else by_itself
    assert ask(alone) == own
    assert ask(replace(alone, listeners=(Listener(),))) == own
    assert ask(replace(alone, listeners=(Listener(), Hearing(), Listener()))) == with_one


def test_every_listener_hears_what_happened(alone: Desk) -> None:
    """Not only the first."""
    both = Hearing(), Hearing()
    replace(alone, listeners=both).judged(KEY, (), Press.STOPPED)
    assert [one.heard for one in both] == [[(KEY, (), Press.STOPPED)]] * 2


BARE: Final = """
import sys
from humanmcp import extensions
extensions.installed = lambda: ()
from humanmcp.cli import main
sys.exit(main(sys.argv[1:]))
"""
"""humanmcp where no extension is installed."""


@pytest.mark.extension("books")
@pytest.mark.extension("classroom")
@pytest.mark.extension("host")
def test_a_desk_without_extensions_offers_nothing_to_try(tmp_path: Path, desking: Desking) -> None:
    """A button that nothing does is not shown; the address is one of the desk anyway."""
    pages = ("/", "/connect")
    assert all('action="/try"' in desking.page(one) for one in pages)
    with Desking(tmp_path / "home", command=(sys.executable, "-c", BARE, "desk")) as desk:
        assert not any('action="/try"' in desk.page(one) for one in pages)
        assert 'value="be started"' in desking.page("/book")
        assert 'href="/book"' not in desk.page("/")
        desk.submit("/try")
        assert "/connect" in desk.page("/")


@pytest.mark.parametrize(
    ("around", "told"),
    [(None, "No host is connected yet."), (Around("a"), "Nothing waits for")],
)
def test_who_is_in_an_extensions_place_is_told_to_wait_and_not_to_connect_a_host(
    around: Around | None, told: str
) -> None:
    """A learner's first request may come a moment after the page: nothing else is to be done."""
    page = rendering.template("inbox/inbox.html")
    values: dict[str, Any] = {
        "t": partial(say, "desk"),
        "around": around,
        "sessions": [],
        "running": [],
    }
    values |= {"sent": None, "item": None, "device": "", "panel": None, "probes": [], "links": list}
    values["shown"] = lambda _place: Markup()
    shown = "".join(
        page.blocks["main"](page.new_context({**values, "can_try": True, "opens": 0, "hosts": []}))
    )
    assert told in shown
    assert ("/try" in shown) == (around is None)
