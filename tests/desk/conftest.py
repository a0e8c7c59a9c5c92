"""What the tests of the desk share: one running desk for those that change nothing in it."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.desk_process import Desking


@pytest.fixture(scope="module")
def desking(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Desking]:
    """One desk for the tests of a module."""
    with Desking(tmp_path_factory.mktemp("desk") / "home") as desk:
        yield desk


@pytest.fixture
def desk(home: Path) -> Iterator[Desking]:
    """A desk over it."""
    with Desking(home) as desk:
        yield desk


@pytest.fixture
def open_desk(home: Path) -> Desking:
    """A desk that others reach through a proxy."""
    return Desking(home, "--url", "https://desk.example")
