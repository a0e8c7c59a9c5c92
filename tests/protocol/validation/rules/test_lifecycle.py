"""What a task holds beside its status."""

import json
from typing import Any

import pytest

from humanmcp.protocol.diagnostics.model import TextForm
from tests.support.verdicts import R2025, R2026, asked, check, stating

TASK = {
    "taskId": "1",
    "createdAt": "2026-01-02T03:04:05Z",
    "lastUpdatedAt": "2026-01-02T03:04:05Z",
    "ttlMs": 1,
    "resultType": "complete",
}


@pytest.mark.parametrize(
    ("status", "needed", "example"),
    [
        ("completed", "result", {"content": []}),
        ("failed", "error", {"code": -32603, "message": "…"}),
        ("input_required", "inputRequests", {"answer": {"method": "elicitation/create"}}),
        ("working", "", None),
        ("cancelled", "", None),
        (7, "", None),
    ],
)
def test_a_task_holds_what_its_status_tells_of(
    status: object, needed: str, example: dict[str, Any] | None
) -> None:
    """2026-07-28: its result, its error or its questions; before, they were asked for."""
    for version in (R2025, R2026):
        params = {"taskId": "1", "_meta": stating()}
        exchange = asked("tasks/get", params, version=version)
        task = {**TASK, "status": status}
        told = [
            dict(one.detail)
            for one in check(exchange, json.dumps(task), TextForm.RESULT).diagnostics
            if one.code == "M09" and one.pointer == "/result"
        ]
        found = [(one["key"], json.loads(one["example"]), one["where"]) for one in told]
        outcomes = [one for one in found if one[0] in ("result", "error", "inputRequests")]
        wanted = version == R2026 and bool(needed)
        assert outcomes == ([(needed, example, "result")] if wanted else [])
