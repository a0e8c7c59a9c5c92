"""The JSON that the page's scripts read: the initial state of a page, and the interface's answers.

`make check` has TypeScript check the scripts against these (`docs/make_types.py`).
Knows shapes only; what fills them stands where it is made.
"""

# No `from __future__ import annotations`: the types of the scripts are made from the annotations.

from typing import Annotated, Literal

from humanmcp.answering.schema import TypedDict
from humanmcp.inbox.contract import Action
from humanmcp.protocol.conversation.exchange import ExchangeState
from humanmcp.protocol.diagnostics.verdict import TextForm


class ChangeShape(TypedDict, total=False):
    """What changed: `arrived`, `changed`, `closed`, `session`, `lines`, `everything`.

    `lines`: something was said; `everything` names no exchange. Number 0 is a session.
    """

    what: str
    session: str
    number: int


class FaultShape(TypedDict):
    """A way to break an answer on purpose."""

    name: str
    title: str
    host: str


class SavedShape(TypedDict):
    """An answer that was saved."""

    number: int
    name: str
    method: str
    tool: str
    form: Annotated[str, TextForm]
    text: str


class FieldShape(TypedDict):
    """A field of a form; see `form_fields`. `blank` is the JSON that a new item starts from.

    `label` is what a person reads: the title of its schema, else its name.

    A choice is its JSON and its title, which may be "".
    """

    kind: Literal[
        "group", "list", "choice", "number", "text", "long", "json", "switch", "media", "arms"
    ]
    name: str
    label: str
    help: str
    needed: bool
    fields: list["FieldShape"]
    item: "FieldShape | None"
    blank: str
    choices: list[tuple[str, str]]
    arms: list["ArmShape"]


class ArmShape(TypedDict):
    """One of several forms of an object, by its member `type`, and an empty one."""

    type: str
    field: FieldShape
    blank: str


class FormShape(TypedDict):
    """The field that stands for a place in the message, with those inside it."""

    pointer: str
    field: FieldShape


class StartShape(TypedDict):
    """What a person in the model's seat may begin with."""

    document: str
    form: FormShape


class InitialState(TypedDict):
    """What the composer of a page starts from."""

    session: str
    number: int
    id: str
    method: str
    tool: str
    revision: str
    state: Annotated[str, ExchangeState]
    document: str
    starts: list[StartShape]
    template: str
    templates: dict[str, str]
    placeholders: list[str]
    options: list[str]
    faults: list[FaultShape]
    action: Annotated[str, Action]
    touched: bool
    at: str
    textual: bool
    form: FormShape | None
    mirror: bool
    saved: list[SavedShape]


Kind = Literal["result", "tool error", "error"]
"""The kinds of an answer between which a person chooses."""
