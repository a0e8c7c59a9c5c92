"""The rights of what each extension brings: every route, act and button of its pages and sites."""

from typing import Any, Final

import pytest

from humanmcp import extensions
from humanmcp.desk.rights import TABLE
from humanmcp.extensions import load
from tests.support.rights import endpoints, forms, unknown_acts

PAGES: Final = [
    (one.name, module, is_site)
    for one in extensions.installed()
    for modules, is_site in ((one.brings.pages, False), (one.brings.sites, True))
    for module in map(load, modules)
]


@pytest.mark.parametrize(("name", "module", "is_site"), PAGES, ids=lambda one: str(one)[:60])
def test_each_route_has_an_entry_and_each_act_is_in_it(
    name: str,
    module: Any,  # noqa: ANN401 - a module of an extension
    is_site: bool,  # noqa: FBT001 - a column of the table
) -> None:
    """A page is beside the pages of the desk; a site is in their place."""
    functions = endpoints((module.router,))
    assert {*module.RIGHTS} == {*functions}, name
    assert unknown_acts(module.RIGHTS, functions) == set()
    both = module.RIGHTS.keys() & TABLE.keys()
    assert both == set() or is_site


@pytest.mark.parametrize("one", extensions.installed(), ids=lambda one: one.name)
def test_each_button_of_an_extension_is_an_act(one: extensions.Installed) -> None:
    """Of its own pages, or of the desk's."""
    modules = [*map(load, (*one.brings.pages, *one.brings.sites))]
    tables = [TABLE, *(module.RIGHTS for module in modules)]
    entries = [entry for table in tables for entry in table.values() if entry.acts]
    templates = sorted((one.folder / "templates").rglob("*.html"))
    found = list(forms(templates))
    assert [each for each in found if all(e.allowed(each[1]) is None for e in entries)] == []
