"""An extension brings commands, capabilities with settings, pages and sentences."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

from humanmcp import extensions, locales
from humanmcp.common.settings import book_path
from humanmcp.extensions import Extension
from humanmcp.inbox import open_inbox
from humanmcp.inbox.contract import InboxError
from humanmcp.locales import say
from humanmcp.setup.hosts import command_for
from tests.server.test_notifier import command, told
from tests.support.desk_process import Desking
from tests.support.serve_process import HUMANMCP, Serving
from tests.support.waiting import until

SAMPLE: Final = Path(__file__).parents[2] / "samples" / "extension"
CALL: Final = '{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"ask"}}'
POINT: Final = (
    "[console_scripts]\nx = y:z\n\n[humanmcp.extensions]\n{name} = {value}\n\n[other]\na = b\n"
)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Install the sample as a stranger does. Returns the folder that Python finds it in."""
    source = tmp_path_factory.mktemp("source") / "extension"
    shutil.copytree(SAMPLE, source)
    target = tmp_path_factory.mktemp("site")
    pip = (sys.executable, "-m", "pip", "install", "-qq", "--disable-pip-version-check")
    offline = ("--no-deps", "--no-index", "--no-build-isolation", "--target", str(target))
    subprocess.run([*pip, *offline, str(source)], check=True)
    return target


def with_site(site: Path) -> tuple[str, ...]:
    """Return the words that start humanmcp where these extensions are installed."""
    return ("env", f"PYTHONPATH={site}", *HUMANMCP)


def run(site: Path, home: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Run a command where these extensions are installed."""
    environment = os.environ | {"HOME": str(home), "LANG": "C", "PYTHONUTF8": "1"}
    return subprocess.run(
        [*with_site(site), *words],
        capture_output=True,
        encoding="utf-8",
        timeout=60,
        check=False,
        env=environment,
        cwd=home,
    )


def plant(site: Path, name: str, code: str) -> Path:
    """Install an extension with this code. Returns the folder."""
    info = site / f"{name}-1.0.dist-info"
    info.mkdir(parents=True)
    (site / f"{name}.py").write_text(code, encoding="utf-8")
    (info / "entry_points.txt").write_text(POINT.format(name=name, value=f"{name}:IT"), "utf-8")
    return site


# -- what an extension says at a sentence of ours --------------------------------------------------


@pytest.mark.parametrize(
    ("tip", "said"),
    [
        (" Or wave: `wave {name!q}`.", " Or wave: `wave 'a b'`."),
        (" {unknown}", ""),
        (" {", ""),
    ],
)
def test_an_extension_adds_a_tip_to_a_sentence_and_a_broken_one_is_left_out(
    tip: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    compiled = tmp_path / "locales" / "compiled" / "en"
    compiled.mkdir(parents=True)
    found = {"sentences": {"tip inbox next held": tip}}
    (compiled / "waving.json").write_text(json.dumps(found), encoding="utf-8")
    waving = extensions.Installed("waving", tmp_path, Extension())
    monkeypatch.setattr(extensions, "installed", lambda: (waving,))
    locales.sentences_of.cache_clear()
    try:
        sentence = say("inbox", "next held", name="a b", held=("4",))
    finally:
        locales.sentences_of.cache_clear()
    assert sentence == f"To read about a message: `humanmcp show 'a b'`.{said}"


# -- an inbox that is stored elsewhere -------------------------------------------------------------


def test_the_scheme_of_an_address_finds_the_extension_that_stores_the_inbox(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened = Extension(inboxes={"shelf": "builtins:dict", "broken": "no.such:thing"})
    shelf = extensions.Installed("shelf", tmp_path, opened)
    monkeypatch.setattr(extensions, "installed", lambda: (shelf,))
    monkeypatch.setattr(extensions, "load", lambda value: open_shelf if "dict" in value else None)
    assert open_inbox(tmp_path, "shelf://a?b", "c") == ("shelf://a?b", tmp_path, "c")  # type: ignore[comparison-overlap]  # what it opened
    for address in ("shelf", "shelf://", "SHELF://a", "other://secret@host", "broken://a", ":"):
        with pytest.raises(InboxError, match="is not a database") as refused:
            open_inbox(tmp_path, address)
        assert "secret" not in str(refused.value)


def open_shelf(*given: object) -> tuple[object, ...]:
    """Open an inbox."""
    return given


# -- an answer book that an extension brings -------------------------------------------------------


def test_a_file_counts_before_a_book_of_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    brought = Extension(books={"shelf": "book.toml"})
    one = extensions.Installed("shelf", tmp_path, brought)
    monkeypatch.setattr(extensions, "installed", lambda: (one,))
    monkeypatch.chdir(tmp_path)
    words = command_for({"book": "shelf"}).args
    assert words[-1] == "shelf"
    assert book_path("shelf", tmp_path) == tmp_path / "book.toml"
    assert book_path("other", tmp_path) == Path("other")
    assert book_path("", tmp_path / "home").parent == tmp_path / "home"
    Path("shelf").touch()
    assert book_path("shelf", tmp_path) == Path("shelf")
    assert command_for({"book": "shelf"}).args[-1] == str(tmp_path / "shelf")


# -- the sample ------------------------------------------------------------------------------------


def test_a_capability_of_an_extension_has_its_setting_and_its_moment(
    tmp_path: Path, site: Path
) -> None:
    """The person is reminded again and again, until nobody waits."""
    words, out = command(tmp_path)
    flags = ("--by-hand", "--notify", words, "--remind", "0.02")
    serve = (*with_site(site), "serve")
    with Serving(tmp_path / "home", *flags, command=serve) as server:
        server.say(CALL)
        lines = until(lambda: told(out)[2:] and told(out), "two reminders")
        assert {tuple(line[1:3]) for line in lines} == {("1", "ask")} or {
            line[0] for line in lines
        } == {"1"}
        assert server.close()[1] == []


def test_a_setting_of_an_extension_stands_in_the_settings_file_too(
    tmp_path: Path, site: Path
) -> None:
    """And a wrong value is named with its place."""
    home = tmp_path / ".humanmcp"
    home.mkdir(mode=0o700)
    (home / "settings.toml").write_text('remind = "soon"\n', encoding="utf-8")
    ended = run(site, tmp_path, "serve")
    assert ended.stderr.endswith("settings.toml: remind must be a number, not 'soon'\n")
    assert ended.stdout == ""
    assert "--remind MINUTES" in run(site, tmp_path, "config", "--help").stdout
    entry = run(site, tmp_path, "config", "cursor", "--json", "--remind", "5").stdout
    assert '"--remind"' in entry


def test_a_command_of_an_extension_is_one_of_all(tmp_path: Path, site: Path) -> None:
    """In the overview, in its own help, in the completion, in both languages."""
    home = tmp_path / ".humanmcp"
    with Serving(home, "--by-hand") as server:
        server.say(CALL)
        assert run(site, tmp_path, "waiting").stdout == "1 request waits, for 0 min\n"
    assert run(site, tmp_path, "waiting").stdout == "0 requests wait, the oldest for 0 min\n"
    summary = "show how many requests wait, and for how long"
    assert summary in run(site, tmp_path, "--help").stdout
    assert summary in run(site, tmp_path, "waiting", "--help").stdout
    assert "表示する" in run(site, tmp_path, "--lang", "ja", "waiting", "--help").stdout
    assert "waiting" in run(site, tmp_path, "--completion", "bash").stdout
    assert run(site, tmp_path, "waitin").returncode == 2


def test_a_page_of_an_extension_has_its_rights_its_style_and_a_link(
    tmp_path: Path, site: Path
) -> None:
    """In the menu of each page; a browser that is not logged in sees nothing."""
    with Desking(tmp_path / "home", command=(*with_site(site), "desk")) as desk:
        assert "0 requests wait" in desk.page("/reminders")
        assert '<a href="/reminders">Reminders</a>' in desk.page("/")
        style = desk.page("/reminders").partition("reminders/reminders.css")[0].rpartition('"')[2]
        assert "1.25rem" in desk.ask("GET", f"{style}reminders/reminders.css").text
        assert desk.ask("GET", "/reminders").status == 401
    with Desking(tmp_path / "home") as desk:
        assert "/reminders" not in desk.page("/")


# -- what is wrong ---------------------------------------------------------------------------------

BROKEN: Final = {
    "raises": "raise RuntimeError('not today')",
    "no class": "from humanmcp.extensions import *\nIT = Extension(capabilities=('os:no_such',))",
    "prints": "import os\nprint('{}')\nfrom humanmcp.extensions import *\nIT = Extension()",
    "exits": "raise SystemExit(3)",
    "is none": "IT = 7",
}


@pytest.mark.parametrize("code", BROKEN.values(), ids=BROKEN)
def test_an_extension_keeps_no_server_from_starting(tmp_path: Path, code: str) -> None:
    """And nothing of it comes to stdout, where only the protocol is."""
    site = plant(tmp_path / "site", "broken", code)
    with Serving(tmp_path / "home", command=(*with_site(site), "serve")) as server:
        server.send('{"jsonrpc":"2.0","id":1,"method":"ping"}')
        assert json.loads(server.hear()) == {"jsonrpc": "2.0", "id": 1, "result": {}}
        assert server.close() == (0, [])
        if "not today" in code:
            assert "humanmcp: broken:IT: RuntimeError: not today" in server.last_words()


def test_nothing_is_loaded_from_the_folder_that_a_command_is_run_in(tmp_path: Path) -> None:
    """A stranger's folder may hold what looks like an installed extension."""
    plant(tmp_path, "planted", "open('PWNED', 'w')")
    assert run(tmp_path / "nothing", tmp_path, "serve").returncode == 0
    assert not (tmp_path / "PWNED").exists()


def test_a_server_starts_where_its_folder_was_removed(tmp_path: Path) -> None:
    """There is nothing to look for, and nothing to leave out."""
    script = "import os, sys; d = sys.argv[1]; os.mkdir(d); os.chdir(d); os.rmdir(d)"
    script += "; from humanmcp import extensions; print(len(extensions.installed()) > 0)"
    words = [sys.executable, "-P", "-c", script, str(tmp_path / "gone")]
    ended = subprocess.run(words, capture_output=True, text=True, check=False)
    assert ended.stdout == "True\n", ended.stderr


def test_the_first_of_two_extensions_with_one_name_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As with everything else that Python imports."""
    for site, command_name in (("first", "a"), ("second", "b")):
        code = "from humanmcp.extensions import *\n"
        code += f"IT = Extension(commands={{'first': {{'{command_name}': 'x', 'serve': 'x'}}}})"
        plant(tmp_path / site, "twice", code)
    monkeypatch.setattr(sys, "path", [str(tmp_path / "first"), str(tmp_path / "second"), *sys.path])
    extensions.installed.cache_clear()
    try:
        twice = [one for one in extensions.installed() if one.name == "twice"]
        assert [one.brings for one in twice] == [
            Extension(commands={"first": {"a": "x", "serve": "x"}})
        ]
    finally:
        extensions.installed.cache_clear()
        sys.modules.pop("twice", None)
