"""What an extension may bring, and which extensions are installed.

An extension is a package that says what it brings, and an entry point that names it:

    # humanmcp_reminders/__init__.py
    EXTENSION = Extension(capabilities=("humanmcp_reminders.reminders:Reminders",))

    # pyproject.toml
    [project.entry-points."humanmcp.extensions"]
    reminders = "humanmcp_reminders:EXTENSION"

Modules are named and not imported: who needs one imports it, so a server does not wait for a page.
Beside its `__init__.py` the package may have `locales/en/` and `locales/ja/` with sentences,
`templates/` for its pages, and `static/` with the files that they load from `{{ static }}NAME/`.

What cannot be loaded, and what raises, is left out and told (`Fault`): no extension keeps a server
from starting, or breaks a page, a command or a session of the core. What the core calls of an
extension it calls through `call`, or `guard` for an object with several moments.
"""

from __future__ import annotations

import contextlib
import importlib
import logging
import os
import sys
import traceback
from functools import cache, partial
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from typing import TypeAlias

    Pairs: TypeAlias = Sequence[tuple[str, str]]
    Guard: TypeAlias = Callable[[str, str, Pairs, bytes], tuple[int, Pairs, bytes] | None]
    """Answers a request (method, target, headers, body) with a status, headers and a body, or
    lets it through: None."""

logger = logging.getLogger(__name__)

GROUP: Final = "humanmcp.extensions"
"""The group of the entry points."""

_NONE: Final[Mapping[str, Any]] = MappingProxyType({})


class Link(NamedTuple):
    """A link to a page of an extension. The text of the link is the sentence `code` of `section`.

    `place` is where it is shown: "bar" in the bar of each page, "menu" at the settings of each
    page, "book" after the file of the answer book, "session" where a person sends a message of
    their own, "call" at a waiting `tools/call`, "answer" at an answer that may be kept. At the last
    three, the address may hold `{session}` and, for an answer, `{number}`. "holding" is in the bar
    while a session runs that may hold messages, and where it says so. "list" is a button at a
    waiting list, which posts to its address; that may also hold `{member}`, what is listed, and the
    sentence is that of its code, a dot, and the member.
    """

    place: str
    address: str
    section: str
    code: str


class Format(NamedTuple):
    """A format of `humanmcp export`: the function that writes it, and the ending of its file.

    The function takes a recording and options (`export/recording.py`). Two sentences of `section`,
    `export.` with its name and the same with `.for`, say on the page what it is.
    """

    writer: str
    ending: str
    section: str = "desk"
    is_program: bool = False
    """It can ask for each redacted value by its name."""
    is_json: bool = False
    """What a terminal must not see becomes an escape of JSON."""


class Guarded(NamedTuple):
    """A server at an address, with a guard before it, by which clients are judged.

    `section` and `code` name the sentence that says what it does wrong. `kind` says what a good
    client does: it stops ("wrong"), it goes on ("tolerable"), or this is the measure ("good") of
    the others of its `place`.
    """

    name: str
    place: str
    section: str
    code: str
    begin: Callable[[str, Callable[[str, str], object]], Guard]
    """Begin at an origin, such as `http://127.0.0.1:8080`. It is given what writes down what is
    seen: "in" for what came, "out" or, for what is wrong, "odd" for what went out, "broke" for
    what no client may do."""
    kind: str = "wrong"
    quote: str = ""
    """The sentence of the specification that a client breaks which is not well, and its page."""
    link: str = ""
    is_hidden: bool = False
    """No client may show the text of a wrong result, which is in it."""


class Extension(NamedTuple):
    """What an extension brings. A module is named by its full name, a class as `module:Class`."""

    commands: Mapping[str, Mapping[str, str]] = _NONE
    """The module of each command, by the group of the help: `{"roles": {"judge": "…"}}`. Its help
    is the sentence `command NAME` of the section that has the extension's name."""
    capabilities: Sequence[str] = ()
    """Classes: `server/moments.py` says what they hear, and `SETTINGS` of a class what it brings
    to be set."""
    pages: Sequence[str] = ()
    """Modules with a `router`, and `RIGHTS`: who may use each of its routes (`desk/rights.py`).
    Those below `/api/` are calls of the JSON interface."""
    sites: Sequence[str] = ()
    """Such modules of a site that only the extension itself serves, as a room is."""
    links: Sequence[Link] = ()
    below: Sequence[str] = ()
    """Functions that return what is shown below the answer of an exchange: they take the request of
    the page and the `OpenExchange`, and return HTML, "" for nothing. An element in it with
    `data-module` loads the script of this address."""
    marks: Sequence[str] = ()
    """Functions that return what is shown in the bar of each page: they take its request, and
    return HTML, "" for nothing."""
    styles: Sequence[str] = ()
    """Style sheets in `static/` that each page loads, for what it shows on pages of others."""
    desks: Sequence[str] = ()
    """Classes of listeners to a desk (`desk/moments.py`), which are made with its folder."""
    inboxes: Mapping[str, str] = _NONE
    """Where sessions are stored: for each scheme of an address, the function that opens an inbox
    (`inbox/contract.py`) there. It takes the address, the folder for text files, and the name."""
    recorder: str = ""
    """The command that records the messages between its client and a real server. It takes
    `--quiet` and `--home FOLDER`, then `--` and the server's command, or its URL."""
    lister: str = ""
    """The function that asks a real server for its definition. It takes a `ChildCommand` or a
    `ServerAddress`, and returns the messages (`Frame`)."""
    setups: Sequence[str] = ()
    """Objects that add to what `config` writes and `doctor` checks (`setup/doctor.py`)."""
    endpoints: Sequence[str] = ()
    """Classes that answer requests to the address of `serve --http` (`http/front.py`)."""
    kinds: Mapping[str, str] = _NONE
    """The kinds of exchanges that are no messages of MCP (`answering/steps.py`), by name: the
    object that reads them."""
    serving: Sequence[str] = ()
    """Objects that add to the command line of `serve` (`server/serve_part.py`)."""
    orders: Mapping[str, str] = _NONE
    """What people may order a running server to do (`Order.EXTENSION`), by the first word: the
    function that takes the other words, and raises an `OrderError` if they say nothing."""
    judged: Sequence[str] = ()
    """Functions that return servers by which clients are judged: each a `Guarded`."""
    lessons: Mapping[str, str] = _NONE
    """Lessons whose client sends more than messages of MCP, by name: the object that plays one.
    It has `title`, `teaches` and `count`, the number of answers. `play(settings, opened=…)` returns
    the exit status and how many answers passed."""
    books: Mapping[str, str] = _NONE
    """Answer books for `--book NAME`: the file in the package, by the name."""
    formats: Mapping[str, Format] = _NONE
    """More formats of an export, by name."""


class Fault(NamedTuple):
    """What was left out of an extension: a moment, a kind or a module of it, which raised."""

    extension: str
    """Its name; of what cannot be imported the package."""
    part: str
    error: str


_FAULTS: Final[dict[tuple[str, str, str], Fault]] = {}
_TELLERS: Final[list[Callable[[Fault], object]]] = []


def on_fault(tell: Callable[[Fault], object]) -> None:
    """Have each fault told, once."""
    _TELLERS.append(tell)


def faults() -> tuple[Fault, ...]:
    """Return the first fault of each extension in this process."""
    return tuple({one.extension: one for one in reversed(_FAULTS.values())}.values())[::-1]


def note_fault(extension: str, part: str, error: BaseException) -> None:
    """Log a fault with its traceback and tell it, if it is the first of its kind at this part."""
    key = (extension, part, type(error).__name__)
    if key not in _FAULTS:
        said = traceback.format_exception_only(error)[-1].strip()  # its own `str` may raise, too
        _FAULTS[key] = Fault(extension, part, said)
        logger.error("extension %s: %s is left out", extension, part, exc_info=error)
        for tell in _TELLERS:
            tell(_FAULTS[key])


def call(
    extension: str,
    part: str,
    function: Callable[..., Any],
    *given: Any,  # noqa: ANN401 - whatever an extension takes
    otherwise: Any = None,  # noqa: ANN401 - as above
    passes: tuple[type[Exception], ...] = (),
) -> Any:  # noqa: ANN401 - as above
    """Call a function of an extension. If it raises, note the fault and return `otherwise`.

    `passes` are the errors that belong to what it promises: they are the caller's.
    """
    from humanmcp.common.guarded import guarded_call  # noqa: PLC0415 - each run of pytest imports this

    fails = partial(_otherwise, extension, part, lambda *_given: otherwise, passes)
    return guarded_call(function, fails, may_be_none=True)(*given)


def guard(
    extension: str,
    part: Any,  # noqa: ANN401 - as above
    base: type,
    passes: Mapping[str, tuple[type[Exception], ...]] = _NONE,
    instead: Mapping[str, Callable[..., Any]] = _NONE,
) -> Any:  # noqa: ANN401 - as above
    """Guard each moment that `base` has: where that of `part` raises, `base` does what it does.

    `passes` has the errors that a moment may raise, `instead` what else to do for some. To return
    nothing where something is promised is a fault, too, and so is an iterator that raises. What is
    no `base` gets one in front of it.
    """
    from humanmcp.common.guarded import guarded_call  # noqa: PLC0415 - as above

    guarded = part if isinstance(part, base) else base()
    for name in (one for one in dir(base) if not one.startswith("_")):
        own: Any = getattr(part, name, None)
        ours = getattr(base, name)
        if not callable(ours):
            if guarded is not part and own is not None:
                setattr(guarded, name, own)
        elif getattr(own, "__func__", None) is not ours:
            returns = str(ours.__annotations__["return"])
            if returns.startswith(("Sequence", "Iterator")):
                own = partial(_whole, own)  # an iterator may raise late
            otherwise = partial(instead.get(name, ours), guarded)
            fails = partial(_otherwise, extension, name, otherwise, passes.get(name, ()))
            heard = guarded_call(own, fails, may_be_none="None" in returns)
            object.__setattr__(guarded, name, heard)
    return guarded


def _whole(own: Callable[..., Iterable[Any]], *given: Any, **named: Any) -> tuple[Any, ...]:  # noqa: ANN401 - as above
    return tuple(own(*given, **named))


def _otherwise(
    extension: str,
    part: str,
    otherwise: Callable[..., Any],
    passes: tuple[type[Exception], ...],
    error: BaseException | None,
    *given: Any,  # noqa: ANN401 - as above
    **named: Any,  # noqa: ANN401 - as above
) -> Any:  # noqa: ANN401 - as above
    if isinstance(error, passes):
        raise error
    note_fault(extension, part, error or TypeError("it returned nothing"))
    return otherwise(*given, **named)


class Installed(NamedTuple):
    """An installed extension: its name, the folder of its package, what it brings."""

    name: str
    folder: Path
    brings: Extension


def _entry_points() -> Iterator[tuple[str, str]]:
    """Yield name and value of each entry point of the group.

    Read as the packaging specification has them, since `importlib.metadata` takes longer to import
    than a server needs to start; ours first, where most commands are: https://packaging.python.org/specifications/entry-points/
    """
    here = {"", os.path.dirname(os.__file__)}  # noqa: PTH120 - at a start; nothing is installed there
    with contextlib.suppress(OSError):  # a folder may be removed while one works in it
        here.add(str(Path.cwd()))  # `python -m` looks there first: nor there
    for folder in dict.fromkeys(one for one in sys.path if one not in here):
        names: list[str] = []
        with contextlib.suppress(OSError):  # a folder that does not exist, or a file
            names = os.listdir(folder)  # noqa: PTH208 - at a start
        names = [name for name in names if name.endswith(".dist-info")]
        for name in sorted(names, key=lambda one: (not one.startswith("humanmcp"), one)):
            with contextlib.suppress(OSError, UnicodeDecodeError):
                text = Path(folder, name, "entry_points.txt").read_text(encoding="utf-8")
                yield from _in_group(text)


def _in_group(text: str) -> Iterator[tuple[str, str]]:
    _, _, section = f"\n{text}".partition(f"\n[{GROUP}]\n")
    for line in section.partition("\n[")[0].splitlines():
        name, equals, value = line.partition("=")
        if equals and not line.lstrip().startswith(("#", ";")):
            yield name.strip(), value.partition("[")[0].strip()


def _found() -> Iterator[Installed]:
    """Yield the installed extensions. The first of two with one name counts."""
    names: set[str] = set()
    for name, value in _entry_points():
        brings = None if name in names else load(value)
        if isinstance(brings, Extension):
            names.add(name)
            module = sys.modules[value.partition(":")[0]]
            yield Installed(name, Path(str(module.__file__)).parent, brings)


@cache
def installed() -> tuple[Installed, ...]:
    """Return the installed extensions, by name."""
    return tuple(sorted(_found(), key=lambda one: one.name))


@cache
def load(value: str) -> Any:  # noqa: ANN401 - whatever an extension brings
    """Import a module, or what `module:name` names; None, told on stderr, if that fails.

    What it prints goes to stderr: stdout is a server's protocol.
    """
    return call(value.partition(":")[0].rpartition(".")[0] or value, value, _imported, value)


def _imported(value: str) -> Any:  # noqa: ANN401 - as above
    module, _, name = value.partition(":")
    with contextlib.redirect_stdout(sys.stderr):
        loaded = importlib.import_module(module)
        return getattr(loaded, name) if name else loaded


def parts(kind: str) -> Iterator[tuple[str, Any]]:
    """Yield what the extensions bring of what is named, each after its extension's name."""
    for one in installed():
        for value in getattr(one.brings, kind):
            if (part := load(value)) is not None:
                yield one.name, part


def loaded(kind: str) -> tuple[Any, ...]:
    """Return what the extensions bring of what is named: "capabilities", "pages", "endpoints"."""
    return tuple(part for _name, part in parts(kind))


def shown(kind: str, *given: Any) -> list[str]:  # noqa: ANN401 - as above
    """Return the HTML of each function of what is named: "marks", "below"."""
    return [call(name, kind, _html, show, *given, otherwise="") for name, show in parts(kind)]


def _html(show: Callable[..., object], *given: Any) -> str:  # noqa: ANN401 - as above
    html = show(*given)
    if not isinstance(html, str):
        raise TypeError(f"returns {type(html).__name__}, not HTML")
    return html


class Command(NamedTuple):
    """A command of an extension: its module, its group of the help, and the extension's name."""

    module: str
    group: str
    extension: str


def _commands(found: Iterable[Installed]) -> Iterator[tuple[str, Command]]:
    for one in found:
        for group, modules in one.brings.commands.items():
            for name, module in modules.items():
                yield name, Command(module, group, one.name)


@cache
def command(name: str) -> Command | None:
    """Return a command. No other extension is loaded: an agent waits for its hook to start."""
    return next((one for own, one in _commands(_found()) if own == name), None)


def commands() -> Mapping[str, Command]:
    """Return the commands of all extensions, by their names."""
    names = dict.fromkeys(name for name, _ in _commands(installed()))
    return {name: one for name in names if (one := command(name)) is not None}


def brought(kind: str, name: str) -> Any:  # noqa: ANN401 - as above
    """Return what an extension brings under a name, such as of "orders"; None if none does."""
    return next((part for _name, part in brought_by(kind, name)), None)


def brought_by(kind: str, name: str) -> Iterator[tuple[str, Any]]:
    """Yield what is brought under a name, each after its extension's name."""
    for one in installed():
        value = getattr(one.brings, kind).get(name)
        if value and (part := load(value)) is not None:
            yield one.name, part


def book(name: str) -> Path | None:
    """Return the file of an answer book that an extension brings under a name."""
    found = (one.folder / one.brings.books[name] for one in installed() if name in one.brings.books)
    return next(found, None)


def formats() -> Mapping[str, Format]:
    """Return the formats of all extensions, by name."""
    return {name: form for one in installed() for name, form in one.brings.formats.items()}


def only(kind: str) -> str:
    """Return what is named of the first extension that brings it: "recorder", "lister"; else ""."""
    return next(filter(None, (getattr(one.brings, kind) for one in installed())), "")


def links(place: str) -> tuple[Link, ...]:
    """Return the links to show at a place."""
    return tuple(link for one in installed() for link in one.brings.links if link.place == place)


@cache
def styles() -> tuple[str, ...]:
    """Return the style sheets of each page, below `/static/`."""
    return tuple(f"{one.name}/{file}" for one in installed() for file in one.brings.styles)


def folders(name: str) -> Iterator[tuple[str, Path]]:
    """Yield the folders of this name that the extensions have, each after `EXTENSION/`."""
    for one in installed():
        if (folder := one.folder / name).is_dir():
            yield f"{one.name}/", folder
