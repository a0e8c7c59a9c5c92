"""The files of the page keep its promises: text is text, and nothing comes from elsewhere."""

import re
from pathlib import Path
from typing import Final

import pytest

from humanmcp.common.web_folder import web_folder
from tests.support.routes import TEMPLATES

SCRIPTS: Final = sorted((web_folder() / "static").glob("*.js"))
STYLES: Final = sorted((web_folder() / "static").glob("*.css"))

MARKUP: Final = re.compile(
    r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\b|new Function|srcdoc"
    r"|DOMParser|createContextualFragment|setAttribute\(\s*[\"']on"
)
INLINE: Final = re.compile(r"\son[a-z]+\s*=|\sstyle\s*=|<style|javascript:", re.IGNORECASE)
ELSEWHERE: Final = re.compile(r"(?:src|href|url|import|from)\s*[=(]?\s*[\"'(](?:https?:)?//")


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.name)
def test_no_script_makes_markup_of_text(path: Path) -> None:
    """What came over the wire can only ever become a text node."""
    text = path.read_text(encoding="utf-8")
    assert MARKUP.findall(text) == []
    assert ELSEWHERE.findall(text) == []


IMPORTED: Final = re.compile(r'^import [^"]*"\./([a-z]+\.js)"', re.MULTILINE)


def loaded_by(path: Path) -> set[Path]:
    """Return a script with every script that it imports when it starts."""
    found, left = set[Path](), [path]
    while left:
        found.add(one := left.pop())
        imported = {one.with_name(name) for name in IMPORTED.findall(one.read_text("utf-8"))}
        left += imported - found
    return found


def test_the_scripts_stay_small() -> None:
    """144 KiB for the page, without the editor: a class loads it at once from a small computer."""
    loaded = loaded_by(web_folder() / "static" / "desk.js")
    assert {"composer.js", "jsontext.js"} < {path.name for path in loaded}
    assert sum(path.stat().st_size for path in loaded) < 144 * 1024


@pytest.mark.parametrize("path", TEMPLATES, ids=lambda path: path.name)
def test_no_template_has_a_script_or_a_style_in_it(path: Path) -> None:
    """The policy of the page forbids both; data blocks are no scripts."""
    text = path.read_text(encoding="utf-8")
    assert INLINE.findall(text) == []
    assert ELSEWHERE.findall(text) == []
    for tag in re.findall(r"<script[^>]*>", text):
        assert 'src="{{ static }}' in tag or 'type="application/json"' in tag


def test_what_is_put_in_unescaped_was_made_for_that() -> None:
    """`safe` is for the data blocks that `script_json` wrote, and the QR code that we draw."""
    found = {
        path.name: names
        for path in TEMPLATES
        if (names := re.findall(r"\{\{\s*(\w+)\s*\|\s*safe", path.read_text(encoding="utf-8")))
    }
    there = {path.name for path in TEMPLATES}
    assert found == {name: names for name, names in UNESCAPED.items() if name in there}
    written = "".join(path.read_text(encoding="utf-8") for path in TEMPLATES)
    assert len(re.findall(r"\|\s*safe\b", written)) == sum(map(len, found.values()))


UNESCAPED: Final = {
    "base.html": ["words"],
    "message.html": ["initial_state"],
    "devices.html": ["drawn"],
    "notices.html": ["drawn"],
    "preview.html": ["known"],
    "room.html": ["qr"],
    "wall.html": ["qr"],
}


def test_no_style_loads_anything() -> None:
    """Fonts are the system's, pictures are drawn."""
    for path in STYLES:
        text = path.read_text(encoding="utf-8")
        assert "url(" not in text
        assert "@import" not in text


def test_every_module_that_is_imported_is_there() -> None:
    """A renamed script would only be missed by the page."""
    names = {path.name for path in SCRIPTS}
    for path in SCRIPTS:
        imported = re.findall(r"from \"\./([^\"]+)\"", path.read_text(encoding="utf-8"))
        assert set(imported) <= names, path.name
