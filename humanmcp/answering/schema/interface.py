"""The JSON of the interface for scripts: one shape for each answer.

`make docs` writes the reference of the interface from these, through FastAPI's OpenAPI. Knows
shapes only; what fills them stands where it is made.
"""

# No `from __future__ import annotations`: FastAPI reads the annotations when it starts.

from __future__ import annotations

from typing import Annotated, Any, Literal

from humanmcp.answering.schema import TypedDict
from humanmcp.answering.schema.exchanges import WaitingRowShape
from humanmcp.inbox.contract import Action, Life
from humanmcp.protocol.conversation.exchange import ExchangeState
from humanmcp.protocol.diagnostics.model import TextForm


class HostEntryShape(TypedDict):
    """An entry for the configuration of a host, and the file for it."""

    host: str
    label: str
    name: str
    path: str
    format: str
    entry: dict[str, Any]
    snippet: str
    link: str
    shell: str
    waiting: str
    approval: str


class ConfigShape(HostEntryShape, total=False):
    """The result of `config`. Paste `snippet`, or use `link` or `shell` instead.

    `state`: absent, there, differs, unreadable or unknown. `why`: why nothing was written.
    """

    state: str
    changed: bool
    backup: str | None
    why: str


class FindingShape(TypedDict):
    """One finding of `doctor`."""

    code: str
    level: Literal["ok", "warning", "problem"]
    message: str


class DoctorShape(TypedDict):
    """The findings of `doctor`. `ok`: none of them is a problem."""

    ok: bool
    findings: list[FindingShape]


class HostRowShape(TypedDict, total=False):
    """The measured timeouts of a host, in seconds: `waited` is the minimum of `call`.

    `opens`: probe, modern or handshake. `token`: always, on request or never.
    """

    name: str
    client: str
    version: str
    package: str
    opens: str
    protocol_version: str
    capabilities: list[str]
    start: float | str
    call: float | str
    waited: float
    token: str
    progress: bool
    cancels: bool
    ends: str


class TurnShape(TypedDict):
    """A turn of a conversation with a model, in the common form of model services."""

    role: Literal["system", "user", "assistant"]
    content: list[dict[str, Any]]


class PromptedShape(TypedDict):
    """The last answer of a model, and the whole conversation."""

    text: str
    messages: list[TurnShape]


class ChangeShape(TypedDict, total=False):
    """What changed: `arrived`, `changed`, `closed`, `session`, `lines`, `everything`.

    `lines`: a line was sent or received; `everything` names no exchange. Number 0 is a session.
    """

    what: str
    session: str
    number: int


class FaultShape(TypedDict):
    """A fault that an answer can carry."""

    name: str
    title: str
    host: str


class SavedShape(TypedDict):
    """A saved answer."""

    number: int
    name: str
    method: str
    tool: str
    form: Annotated[str, TextForm]
    text: str


class FieldShape(TypedDict):
    """A field of a form. `blank` is the JSON of a new item.

    `label` is the title of its schema, or its name.

    A choice is its JSON and its title, which may be "".
    """

    kind: Literal[
        "group", "list", "choice", "number", "text", "long", "json", "switch", "media", "arms"
    ]
    name: str
    label: str
    help: str
    needed: bool
    fields: list[FieldShape]
    item: FieldShape | None
    blank: str
    choices: list[tuple[str, str]]
    arms: list[ArmShape]


class ArmShape(TypedDict):
    """One of several forms of an object, by its member `type`, and an empty one."""

    type: str
    field: FieldShape
    blank: str


class FormShape(TypedDict):
    """The field for a place in the message, with its inner fields."""

    pointer: str
    field: FieldShape


class StartShape(TypedDict):
    """A starting point for a person in the role of the model."""

    document: str
    form: FormShape


class InitialState(TypedDict):
    """The initial state of the composer."""

    session: str
    number: int
    id: str
    method: str
    tool: str
    protocol_version: str
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


class StateShape(TypedDict):
    """The state of the desk, and what changed."""

    version: int
    waiting: int
    streams: int
    changes: list[ChangeShape]


class SessionShape(TypedDict):
    """A session. `stuck`: the client stopped reading. `waiting`: the number of waiting requests."""

    name: str
    letter: str
    client: str
    client_version: str
    protocol_version: str
    title: str
    role: str
    life: Annotated[str, Life]
    stuck: bool
    started: str
    waiting: int


class SessionsShape(TypedDict):
    """All sessions, newest first."""

    sessions: list[SessionShape]


class WaitingShape(TypedDict):
    """The waiting requests, the oldest first."""

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
    """Recorded lines, newest first, and the session and line to continue from."""

    lines: list[LineRowShape]
    further: list[Any] | None


class LineShape(TypedDict):
    """A recorded line, verbatim and formatted."""

    seq: int
    raw: str
    pretty: str


class ReactionShape(TypedDict):
    """The client's reaction to a sent line. `seq` is the line."""

    seq: int
    at: str
    what: str
    became: str
    after: float
    sentence: str


class ReactionsShape(TypedDict):
    """The client's reactions, oldest first."""

    reactions: list[ReactionShape]


class CallShape(TypedDict):
    """A request of a client, and its answer. `line` and `answer` are text, with every digit.

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
    """Requests of clients, in order of arrival."""

    calls: list[CallShape]


class DocumentShape(TypedDict):
    """A whole message."""

    document: str


class KeptShape(TypedDict):
    """When a draft was saved."""

    at: str


class JsonSchemaShape(TypedDict):
    """A JSON Schema of what can be typed."""

    schema: dict[str, Any]


class ValuesShape(TypedDict):
    """Values that a server offers for an argument."""

    values: list[str]


class TicketShape(TypedDict):
    """The ticket of an outgoing message: ask with it for the result."""

    ticket: str


class SavedAnswersShape(TypedDict):
    """The saved answers."""

    answers: list[SavedShape]


class RemovedShape(TypedDict):
    """The removed saved answer."""

    removed: int


class LastShape(TypedDict):
    """The last answer to the same method and tool, or null."""

    line: str | None
    document: str


class RuleShape(TypedDict, total=False):
    """A rule as a sentence and as TOML; `why` if no rule is possible."""

    sentence: str
    toml: str
    saved: bool
    why: str


class StartedShape(TypedDict):
    """Whether the demo host was started."""

    started: bool


class NotedShape(TypedDict):
    """The acknowledgement that somebody looks at a page."""

    noted: bool


# `in` is a keyword of Python, so that its shape cannot be written as a class.
VisitShape = TypedDict("VisitShape", {"in": bool, "place": str}, total=False)
VisitShape.__doc__ = "Whether one is in, and what the addresses of the visit begin with."


class LoginKeyShape(TypedDict):
    """The ways to log in once: a key for an address, and a code to type."""

    key: str
    code: str
