"""A room with thirty people in it, as a teacher meets them: quick, stuck, wrong, gone, new."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from tests.support.room_process import Rooming, Visitor

NAMES: Final = (
    *("Anna", "Ben", "Yuki", "健太", "さくら", "Maximilian-Alexander", "Zoë", "Olu", "Ines", "Tom"),
    *("美咲", "Lars", "Priya", "Chen", "Fatima", "Jonas", "Mia", "Omar", "翔太", "Lea"),
    *("Noah", "Sofia", "Emil", "Hana", "Paul", "Ida", "Kofi", "Lina", "陽菜", "Max"),
)
WRONG: Final = (
    '{"jsonrpc":"2.0","id":2,"result":{}}',
    '{"jsonrpc":"2.0","id":99,"result":{"tools":[]}}',
    '{"jsonrpc":"2.0","id":2,"result":{"tools":[{"nam":"x"}]}}',
    '{"jsonrpc":"2.0","id":2,"result":{"tools":[',
    '{"id":2,"result":{"tools":[]}}',
    '{"jsonrpc":"2.0","id":2,"result":{"tools":{}}}',
    '{"jsonrpc":"2.0","id":2,"result":{"tools":[]},"error":{"code":1,"message":"x"}}',
    '{"jsonrpc":"2.0","id":2,"method":"tools/list","result":{"tools":[]}}',
    '{"jsonrpc":"2.0","id":2,"error":{"code":"x","message":1}}',
    '{"jsonrpc":"2.0","id":null,"result":{"tools":[]}}',
)
"""Answers to `tools/list`, each wrong in another way."""


def fill(room: Rooming) -> list[Visitor]:
    """Seat thirty people: ten finish the first step and are wrong, five raise a hand."""
    people = [room.learner(name) for name in NAMES]
    for number, one in enumerate(people[:20]):
        one.answer_as_offered("initialize")
        if number < len(WRONG):
            asked = one.question("tools/list")
            for _ in range(1 + number % 3):
                one.answer(asked, WRONG[number])
    for one in people[18:23]:
        one.submit("/own", act="raise")
    return people
