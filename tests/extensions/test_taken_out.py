"""Each extension can be removed, and all of them: the core is whole without them.

`python -m tests.support.taken_out NAME…` checks the types and runs every test of the core, which
takes as long as `make test`. Here are those that list what there is.
"""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import pytest

from humanmcp import extensions
from humanmcp.locales import LANGUAGES
from tests.support.taken_out import OF_THE_CORE, Copy, ours

ROUTES: Final = "test_every_route_has_an_entry_and_every_entry_a_route"
LISTING: Final = (
    *("tests/test_layers.py", "tests/test_docs.py", f"tests/desk/test_rights.py::{ROUTES}"),
    *("tests/locales/test_compiling.py", "tests/server/test_capabilities.py"),
)
"""The tests that list modules, pages of the reference, routes, catalogs and capabilities."""
IMPORTING: Final = """
import importlib, json, pkgutil, humanmcp
from humanmcp import cli, extensions
names = [one.name for one in pkgutil.walk_packages(humanmcp.__path__, "humanmcp.")]
for name in names:
    if not name.endswith(("__main__", "as_child")):
        importlib.import_module(name)
print(json.dumps([[one.name for one in extensions.installed()], list(cli.commands())]))
"""


@pytest.mark.timeout(600)
@pytest.mark.parametrize("without", [*((name,) for name in ours()), ours()], ids=" ".join)
def test_the_core_is_whole_without(without: Sequence[str], tmp_path: Path) -> None:
    """Its modules can be imported and its reference made; without all of them, its lists agree."""
    copy = Copy(tmp_path, without)
    imported = copy.run("-c", IMPORTING)
    assert (imported.returncode, imported.stderr) == (0, "")
    names, commands = json.loads(imported.stdout)
    assert names == [name for name in ours() if name not in without]
    of_others = {name for name, one in extensions.commands().items() if one.extension in without}
    assert not of_others & {*commands}
    if without == ("authority",):
        listed = copy.run("-m", "humanmcp", "judge", "--list", "--only", "oauth")
        assert listed.returncode == 1, listed.stdout
    for language in LANGUAGES:
        overview = copy.run("-m", "humanmcp", "--help", "--lang", language)
        assert (overview.returncode, overview.stderr) == (0, "")
    if len(without) == len(ours()):  # it takes half a minute of a processor
        tested = copy.run("-m", "pytest", "-q", "-x", "-k", OF_THE_CORE, *LISTING)
        assert tested.returncode == 0, tested.stdout
