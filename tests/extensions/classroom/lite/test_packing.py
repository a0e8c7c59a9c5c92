"""What `tools.lite` packs for Python in a browser, without building it."""

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Final

import humanmcp
from tests.test_layers import imports
from tools.lite import LEFT_OUT, LOCKED, UNUSED
from tools.lock import LOCKED as LOCKS

SOURCE: Final = Path(humanmcp.__file__).parent
OF_A_COMPUTER: Final = {"__main__", "as_child", "extensions/books", "host", "play", "plugin", "tap"}
"""What the page never runs; some of it is small enough to be packed."""


def test_nothing_that_the_page_runs_imports_what_is_left_out() -> None:
    """Functions that import when they are called would fail in the browser alone."""
    left_out = {one.removesuffix(".py") for one in LEFT_OUT}

    def is_left_out(parts: Iterable[str]) -> bool:
        return not left_out.isdisjoint(parts)

    found = [
        f"{one.place}: {one.name}"
        for one in imports(SOURCE)
        if one.package not in OF_A_COMPUTER
        and not is_left_out(Path(one.place.partition(":")[0]).with_suffix("").parts)
        and (
            is_left_out(one.name.split(".")) or f"{one.name.replace('.', '/')}.".startswith(UNUSED)
        )
    ]
    assert found == []


def test_a_browser_runs_the_versions_that_a_server_runs() -> None:
    """But for those that `wheels.in` bounds."""
    bounded = re.findall(r"^([\w-]+)<", LOCKED.with_suffix(".in").read_text(), re.MULTILINE)
    versions = dict(re.findall(r"^([\w-]+)==(\S+)", (LOCKS / "run.txt").read_text(), re.MULTILINE))
    packed = dict(re.findall(r"^([\w-]+)==(\S+)", LOCKED.read_text(), re.MULTILINE))
    assert {name: versions[name] for name in packed if name not in bounded} == {
        name: version for name, version in packed.items() if name not in bounded
    }
