"""The answer of a learner who copies the example of a step, and writes the own words themselves."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from humanmcp.protocol.json.tree import at

if TYPE_CHECKING:
    from humanmcp.extensions.classroom.demo.steps import DemoStep

WORDS: Final = "雨 or snow"


def own_answer(step: DemoStep, words: object = WORDS) -> dict[str, Any]:
    """Return the example with these words wherever the step asks for one's own."""
    text = json.dumps(step.example)
    for place in own_places(step):
        text = text.replace(json.dumps(at(step.example, place)), json.dumps(words))
    answer: dict[str, Any] = json.loads(text)
    return answer


def own_places(step: DemoStep) -> list[str]:
    """Return the pointers to the members that must be the learner's own."""
    return [one.at for one in step.passes if one.other_than is not None]
