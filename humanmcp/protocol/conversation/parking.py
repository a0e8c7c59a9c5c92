"""Calls that outlive the timeout of their client: how each client gets the answer later.

A parked call gets a response that is not the answer: a task, or a ticket. The person has hours for
the answer. The client asks for it with a token: by `tasks/get`, by the tool `ask_human_result`, or
by a retry of the call (2026-07-28). This module does no input or output: it turns the state of a
parked call into the texts to send.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from humanmcp.protocol.conversation import questions
from humanmcp.protocol.conversation.exchange import APPROVAL, KIND
from humanmcp.protocol.conversation.tickets import RESULT_TOOL_NAME, ParkedAs, asked_ticket
from humanmcp.protocol.conversation.timeouts import shortly_before
from humanmcp.protocol.diagnostics.model import TextForm
from humanmcp.protocol.json import jsonrpc
from humanmcp.protocol.json.tree import follow
from humanmcp.protocol.tables import methods
from humanmcp.protocol.tables.versions import (
    META_RELATED_TASK,
    META_SUBSCRIPTION,
    R2025_11,
    R2026_07,
    features,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from humanmcp.protocol.conversation.exchange import Exchange, NegotiatedState
    from humanmcp.protocol.conversation.timeouts import TimeoutPlan
    from humanmcp.protocol.json.jsonrpc import JsonObject


KEPT_FOR: Final = 7 * 24 * 3600
"""The seconds for which the answer of a parked call is kept: its `ttl`.

"Receivers MAY override the requested `ttl` duration."
https://modelcontextprotocol.io/specification/2025-11-25/basic/utilities/tasks
"""
POLL_AFTER: Final = 5_000
"""The milliseconds between two requests for the state of a task."""
LONGEST_STATUS: Final = 300
"""The maximum length of a person's status message, in characters."""
STILL_WORKING: Final = "A person is working on it."
ASK_AGAIN_AFTER: Final = 45.0
"""The seconds that `ask_human_result` waits before it tells the model to call it again; measured
clients wait for at least 60 s.
"""

RESULT_TOOL: Final[Mapping[str, Any]] = MappingProxyType(
    {
        "name": RESULT_TOOL_NAME,
        "title": "Get the human's answer",
        "description": "Get the answer to an earlier call that a person is still working on",
        "inputSchema": {
            "type": "object",
            "properties": {
                "ticket": {"type": "string", "description": "The ticket that the call returned"}
            },
            "required": ["ticket"],
        },
        "annotations": {"readOnlyHint": True, "idempotentHint": True, "openWorldHint": True},
    }
)
"""The tool that a book adds if it parks calls."""

CAPABILITIES: Final[Mapping[str, Mapping[str, Any]]] = {
    R2025_11: {"tasks": {"list": {}, "cancel": {}, "requests": {"tools": {"call": {}}}}},
    R2026_07: {"extensions": {methods.TASKS.id: {}}},
}
"""The declaration of tasks, by protocol version."""
_NOT_FOUND: Final = "Task not found"


def with_result_tool(
    tools: Sequence[Mapping[str, Any]], version: str
) -> tuple[Mapping[str, Any], ...]:
    """Return the tools with `ask_human_result`. In 2025-11-25 the others may be called as tasks.

    Not those for approvals: they are never parked.
    """
    others = [one for one in tools if one.get("name") != RESULT_TOOL_NAME]
    if features(version).asked_for_tasks:
        others = [
            one
            if follow(one, "_meta", KIND) == APPROVAL
            else {"execution": {"taskSupport": "optional"}, **one}
            for one in others
        ]
    return (*others, dict(RESULT_TOOL))


class ParkedCall(NamedTuple):
    """The state of a parked call in the inbox. `line` is the response that the person wrote.

    `asks` are the questions that the client has not answered yet, as JSON by key.
    """

    token: str
    parked_as: ParkedAs
    created: str
    updated: str
    status: str = ""
    line: str = ""
    cancelled: bool = False
    asks: str = ""

    @property
    def is_over(self) -> bool:
        """True once the state cannot change any more."""
        return bool(self.line) or self.cancelled


def way_to_park(exchange: Exchange, *, has_tool: bool) -> ParkedAs | None:
    """Return how a call can be parked; None if its client could not get the answer.

    `has_tool`: the client has the tool `ask_human_result`.
    """
    if exchange.method not in methods.TASKS.results_of or asked_ticket(exchange) is not None:
        return None
    if features(exchange.version).stateless:
        takes_tasks = methods.declares(exchange.request, methods.TASKS)
    else:
        takes_tasks = wants_task(exchange)
    if takes_tasks:
        return ParkedAs.TASK
    return ParkedAs.TICKET if has_tool else None


def wants_task(exchange: Exchange) -> bool:
    """Return True for a 2025-11-25 call whose client asked for a task: it is parked at once."""
    asked_for = features(exchange.version).asked_for_tasks
    return asked_for and isinstance(exchange.request.params.get("task"), dict)


def park_after(
    exchange: Exchange, parked_as: ParkedAs, plan: TimeoutPlan, wanted: float
) -> float | None:
    """Return the seconds after which a call is parked; None while another keepalive works.

    A ticket costs the model a call, so it is sent as late as the client's timeout allows. For a
    ticket, `plan` counts from the last arrival of the call.
    """
    if parked_as is ParkedAs.TASK:
        return 0.0 if wants_task(exchange) else wanted
    if plan.retry_at is not None or plan.keepalive == "progress":
        return None
    if plan.limit is not None:
        return shortly_before(plan.limit)
    return None if plan.source == "no-limit" else wanted


# -- the response of a parked call ---------------------------------------------------------------


def parked_response(exchange: Exchange, call: ParkedCall, negotiated: NegotiatedState) -> str:
    """Return the result that parks a call."""
    if call.parked_as is ParkedAs.TASK:
        task = _task(exchange.version, call)
        if features(exchange.version).asked_for_tasks:
            return jsonrpc.as_line({"task": task})
        return jsonrpc.as_line({"resultType": "task", **task})
    words = (
        "A person is still working on this. Nothing has been decided. Call the tool "
        f'{RESULT_TOOL_NAME} with {{"ticket": "{call.token}"}} to get the answer.'
    )
    schema = follow(negotiated.known_tools, exchange.tool, "outputSchema")
    # "Servers MUST provide structured results that conform to this schema": not for errors.
    data = questions.waiting(call.token) if schema == questions.OUTCOME else None
    is_error = schema is not None and data is None
    return _tool_result(exchange.version, words, data, is_error=is_error)


def still_waiting(exchange: Exchange, call: ParkedCall) -> str:
    """Return the result of `ask_human_result` while there is no answer."""
    told = f" They say: {call.status}" if call.status else ""
    words = f"A person is still working on this.{told} Call this tool again with the same ticket."
    return _tool_result(exchange.version, words)


def _tool_result(
    version: str, words: str, data: JsonObject | None = None, *, is_error: bool = False
) -> str:
    result: dict[str, Any] = {"content": [{"type": "text", "text": words}]}
    if data is not None and features(version).structured_content:
        result["structuredContent"] = data
    if features(version).result_types:
        result = {"resultType": "complete", **result}
    return jsonrpc.as_line({**result, "isError": True} if is_error else result)


def _task(version: str, call: ParkedCall) -> dict[str, Any]:
    ms = "" if features(version).asked_for_tasks else "Ms"
    return {
        "taskId": call.token,
        "status": _status(version, call),
        **({"statusMessage": call.status or STILL_WORKING} if not call.is_over else {}),
        "createdAt": call.created,
        "lastUpdatedAt": call.updated,
        f"ttl{ms}": KEPT_FOR * 1000,
        f"pollInterval{ms}": POLL_AFTER,
    }


def _status(version: str, call: ParkedCall) -> str:
    """Return the status of a task in the words of MCP.

    2025-11-25: "When the task receiver has messages for the requestor that are necessary to
    complete the task, the receiver **SHOULD** move the task to the `input_required` status." "For
    tool calls specifically, […] `failed` [is] when the tool call result has `isError` set to true".
    2026-07-28: "The `failed` status MUST NOT be used to represent non-JSON-RPC errors, such as a
    tool result that completed with `isError: true`."
    """
    if call.cancelled:
        return "cancelled"
    if not call.line:
        return "input_required" if call.asks else "working"
    if jsonrpc.member(call.line, "error") is not None:
        return "failed"
    failed = jsonrpc.member(call.line, "result", "isError") == "true"
    return "failed" if failed and features(version).asked_for_tasks else "completed"


# -- requests of its client ----------------------------------------------------------------------


def refuse_unknown(exchange: Exchange, why: str = _NOT_FOUND) -> tuple[TextForm, str]:
    """Refuse an unknown token: "Invalid or nonexistent `taskId`: -32602".

    For a ticket it is a tool error: the model reads it, and can repeat its question.
    """
    if exchange.method == "tools/call":
        words = "There is no call with this ticket. Ask your question again."
        return TextForm.RESULT, _tool_result(exchange.version, words, is_error=True)
    return TextForm.ERROR, jsonrpc.as_line({"code": -32602, "message": why})


def reply_to(exchange: Exchange, call: ParkedCall) -> tuple[TextForm, str] | None:
    """Return the answer to a request about a parked call; None while it must wait."""
    match exchange.method:
        case "tasks/get":
            return TextForm.RESULT, task_state(exchange.version, call)
        case "tasks/update":
            # "On success, the server **MUST** acknowledge the request with an empty result."
            return TextForm.RESULT, jsonrpc.as_line({"resultType": "complete"})
        case "tasks/cancel":
            return _cancelled(exchange, call)
        case _:
            return answer_for_client(exchange, call)


def _cancelled(exchange: Exchange, call: ParkedCall) -> tuple[TextForm, str]:
    """Acknowledge the cancellation of a parked call.

    2025-11-25: "Receivers MUST reject cancellation requests for tasks already in a terminal status
    […] with error code -32602".
    """
    if features(exchange.version).stateless:
        return TextForm.RESULT, jsonrpc.as_line({"resultType": "complete"})
    if call.is_over:
        message = f"Cannot cancel task: already {_status(exchange.version, call)}"
        return TextForm.ERROR, jsonrpc.as_line({"code": -32602, "message": message})
    return TextForm.RESULT, jsonrpc.as_line(_task(exchange.version, call._replace(cancelled=True)))


def answer_for_client(exchange: Exchange, call: ParkedCall) -> tuple[TextForm, str] | None:
    """Return the person's answer unchanged; None while there is none.

    "The `tasks/result` operation MUST include the `io.modelcontextprotocol/related-task` metadata
    in its response". https://modelcontextprotocol.io/specification/2025-11-25/basic/utilities/tasks
    """
    if call.cancelled:
        return refuse_unknown(exchange, "The task was cancelled")
    error = jsonrpc.member(call.line, "error") if call.line else None
    if error is not None:
        return TextForm.ERROR, error
    result = jsonrpc.member(call.line, "result") if call.line else None
    if result is None:
        return None
    if exchange.method == "tasks/result":
        result = _with_meta(result, call.token)
    return TextForm.RESULT, result


def _with_meta(result: str, token: str) -> str:
    """Add the id of the task to the text of a result."""
    pair = f"{jsonrpc.as_line(META_RELATED_TASK)}:{jsonrpc.as_line({'taskId': token})}"
    for name, _start, end in jsonrpc.members(result):
        if name == "_meta":
            inside = result[:end].rstrip()
            comma = "" if inside[:-1].rstrip().endswith("{") else ","
            return f"{inside[:-1]}{comma}{pair}}}{result[end:]}"
    comma = "" if result.strip() == "{}" else ","
    return f'{result.rstrip()[:-1]}{comma}"_meta":{{{pair}}}}}'


def task_state(version: str, call: ParkedCall) -> str:
    """Return the state of a task; for 2026-07-28 it contains the answer.

    "If the status is `completed`, the server MUST return a `Task` object with status `completed`
    and a `result` field containing the final result of the task."
    https://github.com/modelcontextprotocol/ext-tasks/blob/main/specification/2026-07-28/tasks.md
    """
    if features(version).asked_for_tasks:
        return jsonrpc.as_line(_task(version, call))
    state = jsonrpc.as_line({"resultType": "complete", **_task(version, call)})
    for name in ("result", "error"):
        inside = jsonrpc.member(call.line, name) if call.line else None
        if inside is not None:
            state = f'{state[:-1]},"{name}":{inside}}}'
    if call.asks and not call.is_over:
        # "The `inputRequests` field **MUST** contain all outstanding requests from the server to
        # the client that need to be fulfilled before the task can proceed."
        state = f'{state[:-1]},"inputRequests":{call.asks}}}'
    return state


# -- requests to its client (2026-07-28) ----------------------------------------------------------


def asked_in(line: str, waiting: Sequence[str]) -> dict[str, str]:
    """Return the questions in a person's answer by key, as JSON; {} for a result.

    `waiting` are the questions and answers so far, as JSON by key: "Each request key in
    `inputRequests` **MUST** be unique over the lifetime of a single task." A used key gets a
    number.
    """
    if jsonrpc.member(line, "result", "resultType") != '"input_required"':
        return {}
    used = {name for text in waiting for name in jsonrpc.parts_of(text)}
    found: dict[str, str] = {}
    asked = jsonrpc.member(line, "result", "inputRequests") or ""
    for name, question in jsonrpc.parts_of(asked).items():
        keys = (name, *(f"{name}-{count}" for count in range(2, len(used) + 3)))
        found[next(key for key in keys if key not in used)] = question
    return found


def answered_in(exchange: Exchange, asks: str) -> dict[str, str]:
    """Return the answers of a `tasks/update` to these questions, as JSON by key.

    "A server **SHOULD** ignore any `inputResponses` responses mapped to a key that is not currently
    outstanding for the task". "A server **MAY** accept a partial set of responses".
    """
    given = jsonrpc.parts_of(jsonrpc.member(exchange.request.raw, "params", "inputResponses") or "")
    return {name: given[name] for name in jsonrpc.parts_of(asks) if name in given}


def as_object(found: Mapping[str, str]) -> str:
    """Return a JSON object with these members; "" without any."""
    members = ",".join(f"{jsonrpc.as_line(name)}:{one}" for name, one in found.items())
    return f"{{{members}}}" if found else ""


def status_notice(version: str, call: ParkedCall) -> str:
    """Return the `notifications/tasks/status` of a task of 2025-11-25.

    "When a task status changes, receivers **MAY** send a `notifications/tasks/status` notification
    to inform the requestor of the change. This notification includes the full task state."
    https://modelcontextprotocol.io/specification/2025-11-25/basic/utilities/tasks
    """
    task = jsonrpc.as_line(_task(version, call))
    return jsonrpc.notice_line("notifications/tasks/status", task)


def task_list(version: str, calls: Iterable[ParkedCall]) -> str:
    return jsonrpc.as_line({"tasks": [_task(version, call) for call in calls]})


def changed_task(version: str, call: ParkedCall, subscription: str) -> str:
    """Return the `notifications/tasks` of a subscription: with the same content as `tasks/get`.

    `subscription` is the token of the id of the `subscriptions/listen`.
    """
    state = task_state(version, call)
    start = len('{"resultType":"complete",')
    about = f'{{"_meta":{{"{META_SUBSCRIPTION}":{subscription}}},{state[start:]}'
    return jsonrpc.notice_line("notifications/tasks", about)
