"""The JSON of the interface for scripts, beside what the page reads: one shape for each answer.

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
    """An entry for the configuration of a host, and the file that it belongs into."""

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
    """What `config` shows and did. `snippet` is to be pasted, `link` and `shell` add it without.

    `state`: absent, there, differs, unreadable or unknown. `why`: why nothing was written.
    """

    state: str
    changed: bool
    backup: str | None
    why: str


class FindingShape(TypedDict):
    """What `doctor` found of one thing."""

    code: str
    level: Literal["ok", "warning", "problem"]
    message: str


class DoctorShape(TypedDict):
    """What `doctor` found. `ok`: nothing of it is a problem."""

    ok: bool
    findings: list[FindingShape]


class HostRowShape(TypedDict, total=False):
    """How a host behaves, as far as it was measured, in seconds: `waited` is the least of `call`.

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
    """A turn of a conversation with a model, in the form that services for models use."""

    role: Literal["system", "user", "assistant"]
    content: list[dict[str, Any]]


class PromptedShape(TypedDict):
    """What a model said at last, and the whole conversation."""

    text: str
    messages: list[TurnShape]


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
    """The field that stands for a place in the message, with those inside it."""

    pointer: str
    field: FieldShape


class StartShape(TypedDict):
    """What a person who is the model may begin with."""

    document: str
    form: FormShape


class InitialState(TypedDict):
    """What the composer of a page starts from."""

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


class NotedShape(TypedDict):
    """That somebody looks at a page."""

    noted: bool


# `in` is a keyword of Python, so that its shape cannot be written as a class.
VisitShape = TypedDict("VisitShape", {"in": bool, "place": str}, total=False)
VisitShape.__doc__ = "Whether one is in, and what the addresses of the visit begin with."


class LoginKeyShape(TypedDict):
    """What opens the page once: a key for an address, and a code to be typed."""

    key: str
    code: str
