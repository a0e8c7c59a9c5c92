"""What MCP asks of answers that no shape can say, one module for each of its subjects.

A new rule is one function in one of them, with its sentence of the specification and its link; a
new module has its name here.
"""

from humanmcp.protocol.validation.rules import elicitation, lifecycle, tools
from humanmcp.protocol.validation.rules.registry import JudgedAnswer, judge

__all__ = ["JudgedAnswer", "elicitation", "judge", "lifecycle", "tools"]
