"""Approvals of agents: the hook that asks a person, and what `config` and `doctor` do with it."""

from typing import Final

from humanmcp.extensions import Extension

_HERE: Final = "humanmcp.extensions.agents"

EXTENSION: Final = Extension(
    commands={"answering": {"hook": f"{_HERE}.command"}},
    setups=(f"{_HERE}.host_prompts:PROMPTS",),
    pages=(f"{_HERE}.test_prompt",),
    desks=(f"{_HERE}.test_prompt:ApprovalsHere",),
)
