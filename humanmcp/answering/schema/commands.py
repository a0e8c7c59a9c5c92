"""What the commands beside the exchanges print as JSON for scripts: set up, look, measure, ask."""

# No `from __future__ import annotations`: FastAPI and the makers of the docs read the annotations.

from typing import Any, Literal

from humanmcp.answering.schema import TypedDict


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
    revision: str
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
