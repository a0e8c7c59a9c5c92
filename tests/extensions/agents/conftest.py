"""What the tests of agents share with those of the desk and of the configurations of hosts."""

import pytest

from humanmcp.extensions.agents.hook_entries import HOOKS
from tests.desk.conftest import desk, desking
from tests.setup.conftest import _no_variables, installation, machine, run, stranger

__all__ = ["_no_variables", "desk", "desking", "installation", "machine", "run", "stranger"]


@pytest.fixture(autouse=True)
def _no_variables_of_hooks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take away what says where the hosts of this computer have their hooks."""
    rows = [row for hooks in HOOKS.values() for row in hooks.off]
    for places in [*(one.places for one in HOOKS.values()), *(row["places"] for row in rows)]:
        for written in places:
            if written.startswith("$"):
                monkeypatch.delenv(written[1:].partition("/")[0], raising=False)
