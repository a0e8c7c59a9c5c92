"""The rules of MCP for answers that no table of objects can express, by subject.

A new rule is one function in one of the modules, with its sentence of the specification and the
link. A new module must be named here.
"""

from humanmcp.protocol.validation.rules import (
    apps,
    capabilities,
    descriptions,
    elicitation,
    hosts,
    lifecycle,
    sampling,
    tools,
)
from humanmcp.protocol.validation.rules.registry import judge, judge_error

__all__ = [
    "apps",
    "capabilities",
    "descriptions",
    "elicitation",
    "hosts",
    "judge",
    "judge_error",
    "lifecycle",
    "sampling",
    "tools",
]
