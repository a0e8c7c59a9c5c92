"""The core names nothing of an extension that is part of the project."""

import re
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Final

import pytest

from humanmcp import extensions
from humanmcp.desk.rights import TABLE
from humanmcp.extensions import Installed, load
from humanmcp.locales import compiling
from tests.support.taken_out import ROOT, ours

CALLS: Final = "say|find_sentence|sentences_of|stopped|t|words|flags"
"""What takes the section of a sentence first."""


OWN_ROUTES: Final = {key.split("/")[1] for key in TABLE}
"""What the addresses of the desk begin with."""


def core() -> Iterator[Path]:
    """Yield the sources of the core: code, tables, sentences, templates, scripts and styles."""
    package = ROOT / "humanmcp"
    for file in chain(package.rglob("*"), (ROOT / "web").rglob("*")):
        of_one = file.is_relative_to(package / "extensions") and file.parent.name != "extensions"
        is_made = {"vendor", "compiled", "__pycache__"} & set(file.parts)
        if not of_one and not is_made and file.suffix in {".py", ".toml", ".html", ".js", ".css"}:
            yield file


OF_OTHERS: Final = ROOT / "humanmcp" / "protocol" / "tables" / "bounded.py"
"""The flags of other programs."""
TEXTS: Final = {
    file.relative_to(ROOT): file.read_text(encoding="utf-8") for file in core() if file != OF_OTHERS
}


def patterns(one: Installed) -> Iterator[str]:
    """Yield what would name something of an extension: its package, a route, and so on."""
    yield rf"\bextensions[./]{one.name}\b"
    yield rf"(?<![\w/-]){one.name}/[\w-]+\.(html|css|js)\b"
    brings = one.brings
    for page in map(load, (*brings.pages, *brings.sites)):
        for route in {key.split("/")[1] for key in page.RIGHTS} - OWN_ROUTES:
            yield rf"(?<![\w/.}}-])/{route}(?![\w.-])"
    commands = [name for group in brings.commands.values() for name in group]
    for command in commands:
        yield rf'\bhumanmcp {command}\b(?!")'  # a whole string is the name of a client
        yield rf'"{command}", "--'
    modules = [module for group in brings.commands.values() for module in group.values()]
    for part in map(load, (*brings.capabilities, *modules)):
        for setting in getattr(part, "SETTINGS", ()):
            yield rf"--{setting.name.replace('_', '-')}\b|\bHUMANMCP_{setting.name.upper()}\b"
    for section in compiling.sections("en", one.folder / "locales"):
        yield rf"""\b({CALLS})\(\s*["']{section.name}["']"""
        yield rf"""(?i)\bsection\b[^=\n]*= ["']{section.name}["']"""
        yield rf"""(?m)^"?{section.name}\.[\w. ]+"? = |\bt\(\s*["']{section.name}\."""
    for scheme in brings.inboxes:
        yield rf"\b{scheme}://"


@pytest.mark.parametrize("name", ours())
def test_the_core_names_nothing_of_an_extension(name: str) -> None:
    """Its package, routes, templates, commands, settings and sections of sentences."""
    (one,) = (one for one in extensions.installed() if one.name == name)
    named = [
        f"{file}: {found[0]}"
        for pattern in patterns(one)
        for file, text in TEXTS.items()
        for found in re.finditer(pattern, text)
    ]
    assert named == []


@pytest.mark.extension("tap")
@pytest.mark.parametrize(
    "line",
    [
        'import_module("humanmcp.extensions.tap.hold")',
        '<a href="/taps">',
        'redirect(f"/taps/{name}")',
        '{% include "tap/taps.html" %}',
        "Start one with `humanmcp tap -- COMMAND`.",
        '("tap", "--quiet")',
        'say("hold", "no tap")',
        'section: ClassVar = "hold"',
        'SECTION: Final = "hold"',
        'flag = parser.flags("release")',
        '"taps.title" = "Taps"',
        "{{ t('taps.title') }}",
    ],
)
def test_such_a_line_would_be_found(line: str) -> None:
    """Each kind of name, as code, a template or a sentence has it."""
    (one,) = (one for one in extensions.installed() if one.name == "tap")
    assert any(re.search(pattern, line) for pattern in patterns(one))
