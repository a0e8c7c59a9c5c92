"""The JSON of the interface for scripts, beside what the page reads: one shape for each answer.

`make docs` writes the reference of the interface from these, through FastAPI's OpenAPI. Knows
shapes only; what fills them stands where it is made.
"""

# No `from __future__ import annotations`: FastAPI reads the annotations when it starts.

from typing import Annotated, Any

from humanmcp.answering.schema import TypedDict
from humanmcp.answering.schema.exchanges import WaitingRowShape
from humanmcp.answering.schema.page import ChangeShape, SavedShape
from humanmcp.inbox.contract import Life


class StateShape(TypedDict):
    """How the desk stands, and what changed."""

    version: int
    waiting: int
    streams: int
    changes: list[ChangeShape]


class SessionShape(TypedDict):
    """A session. `stuck`: the client has stopped reading. `waiting`: how many requests wait."""

    name: str
    letter: str
    client: str
    client_version: str
    revision: str
    title: str
    seat: str
    life: Annotated[str, Life]
    stuck: bool
    started: str
    waiting: int


class SessionsShape(TypedDict):
    """All sessions, newest first."""

    sessions: list[SessionShape]


class WaitingShape(TypedDict):
    """What waits, the longest waiting first."""

    waiting: list[WaitingRowShape]


class LineRowShape(TypedDict):
    """A recorded line, in a list."""

    session: str
    seq: int
    at: str
    number: int
    way: str
    kind: str
    method: str
    gist: str
    by: str
    bytes: int


class LinesShape(TypedDict):
    """Recorded lines, newest first, and the session and line to go on from."""

    lines: list[LineRowShape]
    further: list[Any] | None


class LineShape(TypedDict):
    """A recorded line, verbatim and laid out."""

    seq: int
    raw: str
    pretty: str


class ReactionShape(TypedDict):
    """What became of something that we said. `seq` is its line."""

    seq: int
    at: str
    what: str
    became: str
    after: float
    sentence: str


class ReactionsShape(TypedDict):
    """What the client made of what was said to it, oldest first."""

    reactions: list[ReactionShape]


class CallShape(TypedDict):
    """A request of a client, and its answer. `line` and `answer` are text: no number is read.

    `arguments` are those of a tool or a prompt, else the whole `params`.
    """

    session: str
    number: int
    method: str
    name: str
    arguments: dict[str, Any]
    line: str
    at: str
    answer: str | None
    result: Any
    error: Any
    answered_at: str
    by: str


class CallsShape(TypedDict):
    """Requests of clients, in the order in which they came."""

    calls: list[CallShape]


class DocumentShape(TypedDict):
    """A whole message."""

    document: str


class KeptShape(TypedDict):
    """When a draft was kept."""

    at: str


class JsonSchemaShape(TypedDict):
    """What can be written, as a JSON Schema."""

    schema: dict[str, Any]


class ValuesShape(TypedDict):
    """Values that a server offers for an argument."""

    values: list[str]


class TicketShape(TypedDict):
    """The name under which it can be asked what became of something."""

    ticket: str


class SavedAnswersShape(TypedDict):
    """The saved answers."""

    answers: list[SavedShape]


class RemovedShape(TypedDict):
    """Which saved answer is gone."""

    removed: int


class LastShape(TypedDict):
    """The last answer to the same method and tool, null when there is none."""

    line: str | None
    document: str


class RuleShape(TypedDict, total=False):
    """A rule as a sentence and as TOML; `why` where it cannot be one."""

    sentence: str
    toml: str
    saved: bool
    why: str


class StartedShape(TypedDict):
    """Whether the demo host was started."""

    started: bool


# `in` is a keyword of Python, so that its shape cannot be written as a class.
VisitShape = TypedDict("VisitShape", {"in": bool, "place": str}, total=False)
VisitShape.__doc__ = "Whether one is in, and what the addresses of the visit begin with."


class LoginKeyShape(TypedDict):
    """What opens the page once: a key for an address, and a code to be typed."""

    key: str
    code: str
