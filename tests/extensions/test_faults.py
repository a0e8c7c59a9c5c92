"""A fault of an extension stays in it: the core goes on without what raises, and says so."""

import json
import logging
import signal
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Final, cast

import pytest

from humanmcp import extensions
from humanmcp.answering import steps
from humanmcp.common.guarded import ToldToStopError
from humanmcp.common.own_process import ending_in_order
from humanmcp.desk.command import _listeners
from humanmcp.desk.moments import Listener
from humanmcp.extensions import Extension, Installed
from humanmcp.inbox import open_inbox
from humanmcp.locales.stop import StopError, called_on, stopped
from humanmcp.protocol.answer_book.decide import HandshakePolicy
from humanmcp.server import capabilities, serve
from humanmcp.server.front_end import FrontEnd
from humanmcp.server.moments import Capability
from humanmcp.server.serve_part import ServePart
from humanmcp.server.waiting import ServeOptions
from humanmcp.setup.addition import SetupPart
from tests.extensions.test_extensions import plant, run, with_site
from tests.server.test_capabilities import answers
from tests.server.test_many_sessions import call
from tests.support.desk_process import Desking
from tests.support.serve_process import Serving, pending

if TYPE_CHECKING:
    from humanmcp.server.moments import Way

PING: Final = b'{"jsonrpc":"2.0","id":9,"method":"ping"}'
NOTICE: Final = b'{"jsonrpc":"2.0","method":"notifications/initialized"}'
OPTIONS: Final = ServeOptions(handshake=HandshakePolicy.BOOK)
RESPONSE: Final = b'{"jsonrpc":"2.0","id":77,"result":{}}'


def moments(base: type) -> list[str]:
    """Return the names of the moments of a class."""
    return [one for one in dir(base) if one[0] != "_" and callable(getattr(base, one))]


def fails(*_given: object, **_named: object) -> Any:  # noqa: ANN401 - it returns nothing
    """Do what a stranger's code may do."""
    raise RuntimeError("not today")


def begins(_self: Capability, _way: object) -> None:
    """Begin with a session."""


def leaves(*_given: object, **_named: object) -> Any:  # noqa: ANN401 - as above
    """Do what only the program itself should do."""
    raise SystemExit(3)


@pytest.fixture(autouse=True)
def _forgets() -> Iterator[None]:
    """Each test has its own faults."""
    extensions._FAULTS.clear()
    yield
    extensions._FAULTS.clear()
    capabilities.capabilities.cache_clear()
    serve._parts_brought.cache_clear()
    steps.kind_named.cache_clear()


@pytest.fixture
def brings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[..., None]:
    """Install an extension that brings these objects, each under a name of its own."""

    def install(objects: Mapping[str, object], **brought: Any) -> None:  # noqa: ANN401 - of an extension
        one = Installed("broken", tmp_path, Extension(**brought))
        monkeypatch.setattr(extensions, "installed", lambda: (one,))
        monkeypatch.setattr(extensions, "load", objects.__getitem__)
        for cached in (capabilities.capabilities, serve._parts_brought, steps.kind_named):
            cached.cache_clear()

    return install


# -- the server ------------------------------------------------------------------------------------


def heard_of(home: Path) -> dict[int, Any]:
    """Have a session with a message of each kind. Return the answers."""
    return answers(home, OPTIONS, NOTICE, call(2, "near"), PING, RESPONSE)


@pytest.mark.parametrize("fault", [fails, leaves], ids=["raises", "exits"])
@pytest.mark.parametrize("moment", ["__init__", *moments(FrontEnd)])
def test_a_session_goes_on_where_a_moment_of_a_capability_raises(
    tmp_path: Path,
    brings: Callable[..., None],
    moment: str,
    fault: Callable[..., object],
    caplog: pytest.LogCaptureFixture,
) -> None:
    """What is answered without it is answered, and a call is a person's."""
    heard: set[str] = set()

    def hearing(name: str) -> Callable[..., Any]:
        def hear(self: Capability, *given: Any, **named: Any) -> Any:  # noqa: ANN401 - a moment
            heard.add(name)
            return getattr(FrontEnd, name)(self, *given, **named)

        return hear

    methods = {name: hearing(name) for name in moments(FrontEnd)}
    listens = type("Listens", (FrontEnd,), {**methods, "__init__": begins})
    brings({"m:Broken": listens}, capabilities=("m:Broken",))
    (tmp_path / "well").mkdir()
    well = heard_of(tmp_path / "well")
    assert not extensions.faults()
    broken = type("Broken", (FrontEnd,), {"__init__": begins, moment: fault})
    brings({"m:Broken": broken}, capabilities=("m:Broken",))
    (tmp_path / "broken").mkdir()
    with caplog.at_level(logging.ERROR):
        assert heard_of(tmp_path / "broken") == well
    assert {1, 9} <= well.keys()
    is_heard = moment in heard or moment == "__init__"
    assert bool(extensions.faults()) == is_heard
    records = [one.getMessage() for one in caplog.records]
    part = "capabilities" if moment == "__init__" else moment
    assert records == [f"extension broken: {part} is left out"] * is_heard


def test_a_call_is_left_to_a_person_where_nobody_knows_who_was_to_answer_it(
    tmp_path: Path, brings: Callable[..., None]
) -> None:
    """Even if a rule would answer it: the capability may have kept it from the rule."""
    (tmp_path / "book.toml").write_text('[[rules]]\ntool = "t"\ntext = "yes"\n', "utf-8")
    assert 2 in heard_of(tmp_path)
    methods = {"__init__": begins, "decide": lambda *_, **_n: None}
    broken = type("Broken", (Capability,), methods)
    brings({"m:Broken": broken}, capabilities=("m:Broken",))
    heard = heard_of(tmp_path)
    assert 2 not in heard
    assert {1, 9} <= heard.keys()
    (fault,) = extensions.faults()
    assert fault == ("broken", "decide", "TypeError: it returned nothing")


# -- each kind of object that the core calls -------------------------------------------------------

OBJECTS: Final = (Capability, FrontEnd, Listener, ServePart, SetupPart, steps._Unknown)


@pytest.mark.parametrize("base", OBJECTS, ids=lambda one: one.__name__)
def test_each_moment_that_raises_does_what_it_does_without_an_extension(base: type) -> None:
    """A new moment is guarded without a line for it."""
    broken = type("Broken", (), dict.fromkeys(moments(base), fails))()
    for part in (broken, type("Broken", (base,), dict.fromkeys(moments(base), fails))()):
        extensions._FAULTS.clear()
        guarded = extensions.guard("broken", part, base)
        assert isinstance(guarded, base)
        for name in moments(base):
            count = getattr(base, name).__code__.co_argcount - 1
            named = getattr(base, name).__code__.co_kwonlyargcount
            names = getattr(base, name).__code__.co_varnames[count + 1 : count + 1 + named]
            given = [lambda *_: None] * count
            try:
                ours: object = getattr(base(), name)(*given, **dict.fromkeys(names))
            except AttributeError:  # what is given says nothing of an item
                continue
            found = getattr(guarded, name)(*given, **dict.fromkeys(names))
            assert type(found) is type(ours), name
            assert [one for one in extensions._FAULTS if one[1] == name], name


def test_an_iterator_that_raises_late_is_left_out_whole() -> None:
    """And an error that a moment may raise is its caller's."""

    class Late(Listener):
        def notes(self, key: Any) -> Iterator[str]:  # type: ignore[override]  # noqa: ANN401 - as a stranger may
            yield "one"
            raise RuntimeError(key)

        def try_now(self, language: str, *, helps: bool) -> None:
            raise OSError(language, helps)

    late = extensions.guard("late", Late(), Listener, {"try_now": (OSError,)})
    assert late.notes("key") == ()
    with pytest.raises(OSError, match="en"):
        late.try_now("en", helps=True)
    assert [one.part for one in extensions.faults()] == ["notes"]


def test_a_fault_is_logged_and_told_once(
    capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    """Its text cannot do anything to a terminal."""

    def shout() -> None:
        raise ValueError("a\x1b[2Jb\nc")

    for _ in range(3):
        assert extensions.call("loud", "marks", shout, otherwise="") == ""
    err = capsys.readouterr().err
    assert err.count("\n") == 1
    assert err.startswith("humanmcp: marks: ValueError: a")
    assert "\x1b" not in err
    assert "extension loud" in err
    (record,) = caplog.records
    assert record.exc_info is not None


# -- what is asked for by its name -----------------------------------------------------------------


def test_what_is_asked_for_stops_in_words(tmp_path: Path, brings: Callable[..., None]) -> None:
    """It is not left out: the person would believe that it was done."""
    from humanmcp.answering.service import not_understood  # noqa: PLC0415 - beside its test
    from humanmcp.inbox.contract import Order  # noqa: PLC0415 - as above

    brings({"m:fails": fails}, inboxes={"shelf": "m:fails"}, orders={"wave": "m:fails"})
    with pytest.raises(StopError, match="extension broken cannot do shelf: RuntimeError"):
        open_inbox(tmp_path, "shelf://a")
    with pytest.raises(StopError, match="extension broken cannot do order wave"):
        not_understood(Order.EXTENSION, "wave now")


# -- processes -------------------------------------------------------------------------------------

PAGES: Final = ("/", "/history", "/m/{key}", "/say/{name}", "/connect", "/settings", "/present")


@pytest.mark.parametrize("error", [stopped("inbox", "other program"), PermissionError(13, "no")])
def test_what_cannot_be_made_for_a_reason_that_is_told_stops_the_program(
    error: Exception, tmp_path: Path, brings: Callable[..., None]
) -> None:
    """Its own kind of error says so: a folder that a person named cannot be used."""

    def cannot(*_given: object) -> Any:  # noqa: ANN401 - it returns nothing
        raise error

    brings({"one": cannot}, desks=("one",), capabilities=("one",))
    with pytest.raises(type(error)):
        list(_listeners(tmp_path))
    with pytest.raises(type(error)):
        capabilities.capabilities()[2](cast("Way", None))
    assert extensions.faults() == ()


ALL_FAIL: Final = """
from humanmcp.extensions import Extension, Link
from humanmcp.desk.moments import Listener
from humanmcp.server.front_end import FrontEnd
from humanmcp.server.serve_part import ServePart

def fails(*given, **named):
    raise RuntimeError("not today")

def none(*given, **named):
    return None

def all_of(base):
    return {one: fails for one in dir(base) if one[0] != "_" and callable(getattr(base, one))}

Hears = type("Hears", (Listener,), {**all_of(Listener), "__init__": none})
Serves = type("Serves", (FrontEnd,), {**all_of(FrontEnd), "__init__": none})
PART = type("Part", (), all_of(ServePart))()
SETUP = type("Setup", (), {"of": fails, "check": fails})()
Ends = type("Ends", (), {"SETTINGS": (), "of": fails})
PLACES = ("bar", "menu", "book", "session", "call", "answer", "holding", "list")
IT = Extension(
    commands={"first": {"wave": "no.such.module"}},
    capabilities=("broken:Serves",),
    desks=("broken:Hears", "broken:fails"),
    marks=("broken:fails", "broken:none"),
    below=("broken:fails", "broken:none"),
    links=tuple(Link(one, "/{no}", "broken", "no sentence") for one in PLACES),
    pages=("broken", "no.such.page"),
    serving=("broken:PART",),
    setups=("broken:SETUP",),
    endpoints=("broken:Ends",),
)
"""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Install an extension of which everything fails, and whose sentences cannot be read."""
    folder = plant(tmp_path_factory.mktemp("site"), "broken", ALL_FAIL)
    (folder / "locales" / "en").mkdir(parents=True)
    (folder / "locales" / "en" / "broken.toml").write_text("[broken\n", encoding="utf-8")
    return folder


def test_every_page_is_shown_where_everything_of_an_extension_fails(
    tmp_path: Path, site: Path
) -> None:
    """The server answers, the pages are there, and one sentence says what is left out."""
    home = tmp_path / "home"
    with (
        Serving(home, "--by-hand", command=(*with_site(site), "serve")) as server,
        Desking(home, command=(*with_site(site), "desk")) as desk,
    ):
        server.send(call(7, "near").decode())
        (key,) = pending(home)
        places = {"key": f"{key.session}/{key.number}", "name": key.session}
        for path in PAGES:
            page = desk.page(path.format(**places))
            assert page.count("this part of the extension broken is left out") == 1, path
        assert "の部分を外しました" in desk.page("/?lang=ja")
        sent = desk.submit(f"/m/{places['key']}", text="yes", form="text")
        assert sent.status == 303
        assert json.loads(server.hear())["result"]["content"][0]["text"] == "yes"
        assert server.close()[0] == 0
        assert "the extension broken is left out" in server.last_words()
        log = desk.err.read_text("utf-8") + (home / "desk.log").read_text("utf-8")
        for part in ("marks", "below", "desks", "around", "begin", "pages", "link /{no}"):
            assert f"extension broken: {part} is left out" in log, part


@pytest.mark.parametrize(
    "words",
    [
        ("--help",),
        ("inbox",),
        ("--completion", "bash"),
        ("config", "cursor", "--json"),
        ("serve", "--help"),
        ("export", "--help"),
    ],
    ids=" ".join,
)
def test_every_command_works_where_everything_of_an_extension_fails(
    tmp_path: Path, site: Path, words: tuple[str, ...]
) -> None:
    """Its own command says in words why it does not."""
    ended = run(site, tmp_path, *words)
    assert ended.returncode in (0, 1 if words == ("inbox",) else 0), ended.stderr
    assert ended.stdout or words == ("inbox",)
    own = run(site, tmp_path, "wave")
    assert own.returncode == 1
    assert "The extension broken cannot do wave: ModuleNotFoundError" in own.stderr


WAYS: Final[Mapping[str, Callable[[Callable[..., Any]], object]]] = {
    "a function": lambda function: extensions.call("one", "links", function),
    "a moment": lambda function: extensions.guard(
        "one", SimpleNamespace(looked=function), Listener
    ).looked(),
    "what was asked for": lambda function: called_on("one", "sign", function),
    "an import": lambda _function: extensions.load("stopping:brings"),
}


@pytest.mark.skipif(sys.platform == "win32", reason="no signals of this kind")
@pytest.mark.parametrize(
    ("number", "raised"), [(signal.SIGINT, KeyboardInterrupt), (signal.SIGTERM, ToldToStopError)]
)
@pytest.mark.parametrize("way", WAYS)
def test_a_signal_in_the_midst_of_a_strangers_code_ends_the_process(
    way: str,
    number: signal.Signals,
    raised: type[BaseException],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It is no fault of the extension. A command that is told to end would go on for ever."""
    Path(tmp_path, "stopping.py").write_text(f"import signal; signal.raise_signal({number})")
    monkeypatch.syspath_prepend(str(tmp_path))
    with ending_in_order(), pytest.raises(raised):
        WAYS[way](lambda *_given: signal.raise_signal(number))
    assert extensions.faults() == ()
