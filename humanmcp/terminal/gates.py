"""What `humanmcp check` found, in the forms that continuous integration shows beside the code."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from humanmcp.common.junit import Case, junit
from humanmcp.protocol.diagnostics.model import Severity
from humanmcp.protocol.validation.redaction import without_secrets

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

_LEVELS: Final = {Severity.ERROR: "error", Severity.WARNING: "warning"}


def unchecked(reason: str) -> Mapping[str, Any]:
    """Return what stands for the result of a file that cannot be checked."""
    problem = {"level": Severity.ERROR, "line": 0, "column": 0, "code": "", "name": "not checked"}
    return {"problems": [problem | {"message": reason}]}


def for_others(checked: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the result of a file without secrets: others read the log of a build."""
    problems = [one | {"message": without_secrets(one["message"])} for one in checked["problems"]]
    return {**checked, "problems": problems}


def _annotations(checked: Sequence[Mapping[str, Any]]) -> str:
    """Return a command of GitHub Actions for each problem.

    https://docs.github.com/actions/reference/workflow-commands-for-github-actions
    """
    return "\n".join(
        _annotation(one["file"], problem)
        for one in checked
        for problem in one["problems"]
        if problem["level"] != Severity.REPAIRED
    )


def _annotation(file: str, problem: Mapping[str, Any]) -> str:
    level = _LEVELS.get(problem["level"], "notice")
    place = f"line={problem['line'] or 1},col={max(1, problem['column'])}"
    title = _member(f"{problem['code']} {problem['name']}".strip())
    return f"::{level} file={_member(file)},{place},title={title}::{_data(problem['message'])}"


def _data(text: str) -> str:
    """Escape what would end a workflow command, or begin another one."""
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _member(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")


def _junit(checked: Sequence[Mapping[str, Any]]) -> str:
    return junit("humanmcp check", [_case(one) for one in checked])


def _case(one: Mapping[str, Any]) -> Case:
    """Return the result of a file. Errors and warnings are failures of it."""
    told = [problem for problem in one["problems"] if problem["level"] in _LEVELS]
    text = "\n".join(
        f"{one['file']}:{problem['line']}:{problem['column']}: {problem['level']}:"
        f" {problem['code']} {problem['message']}"
        for problem in told
    )
    return Case("check", one["file"], failure=told[0]["message"] if told else "", text=text)


GATES: Final[Mapping[str, Callable[[Sequence[Mapping[str, Any]]], str]]] = {
    "github": _annotations,
    "junit": _junit,
}
"""The forms, each made of the JSON of all files."""
