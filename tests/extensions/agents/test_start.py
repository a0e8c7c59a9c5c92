"""What a start of a hook may cost: an agent starts one for each prompt, and each tool that ran."""

import subprocess
import sys
from typing import Final

from tests.server.test_start import NOT_FOR_THE_FIRST_ANSWER
from tests.test_layers import MOST_MODULES, PACKAGE, ROOT, modules_loaded_by

MOST_OF_A_SMALL_HOOK: Final = 40
"""Our modules that a hook may load which only hands back."""


def test_a_prompt_needs_no_installed_library() -> None:
    """It imports with no site-packages at all, and loads few modules."""
    loaded = modules_loaded_by("extensions.agents.asking")
    packages = {name.rpartition(".")[0] for name in loaded if name.startswith(PACKAGE)}
    assert len(loaded - packages) <= MOST_MODULES, sorted(loaded)


def test_a_tool_that_has_run_does_not_pay_for_a_server() -> None:
    """Claude Code starts a hook after each of them."""
    loaded = modules_loaded_by("extensions.agents.command")
    ours = {name for name in loaded if name.startswith(PACKAGE)}
    assert not {one for one in ours if ".server" in one or ".validation" in one}
    assert len(ours) <= MOST_OF_A_SMALL_HOOK, sorted(ours)


def test_a_hook_loads_nothing_else_either() -> None:
    """An agent starts one for each prompt, and waits for it."""
    script = "import sys, humanmcp.cli, humanmcp.extensions.agents.asking; print(*sys.modules)"
    run = subprocess.run(
        [sys.executable, "-S", "-c", script],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    assert "humanmcp.extensions.agents.asking" in run.stdout.split()
    assert not NOT_FOR_THE_FIRST_ANSWER.keys() & {*run.stdout.split()}
