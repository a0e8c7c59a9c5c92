"""What is wrong with an answer that a person wrote, before a client gets it.

Most rules are rows of `rules.toml`, which compare a part of the answer with that of the right one.
The code of a problem names its sentence (section `oauth`) and, in `musts.toml`, the sentence of the
specification.
"""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

from humanmcp.extensions.authority.musts import page_of
from humanmcp.extensions.authority.steps import ABSENT, Step, WebResponse, read_response
from humanmcp.protocol.diagnostics.model import Diagnostic, Severity, Verdict, line_and_column

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

SECTION: Final = "oauth"
CODES: Final[Mapping[str, list[str]]] = tomllib.loads(
    Path(__file__).with_name("problems.toml").read_text("utf-8")
)
"""The codes of all problems, by what becomes of an answer that has them."""


class Rule(NamedTuple):
    """A row of `rules.toml`, which says what its members are."""

    code: str
    steps: Sequence[str]
    at: str
    fits: str
    unless: str = ""
    ends: bool = False


_BEARER: Final = re.compile(r"(?i)(?:.*,\s*)?bearer(?:\s|$)")
FITS: Final[Mapping[str, Callable[[Any, Any], bool]]] = {
    "equal": lambda got, right: got == right,
    "equal or not there": lambda got, right: not got or got == right,
    "equal or not right": lambda got, right: right in (ABSENT, got),
    "equal in any case": lambda got, right: isinstance(got, str) and got.lower() == right.lower(),
    "in any case": lambda got, right: right in got.lower(),
    "there": lambda got, _: bool(got),
    "said": lambda got, _: got != ABSENT,
    "true": lambda got, _: got is True,
    "list": lambda got, _: isinstance(got, list) and bool(got),
    "names": lambda got, right: isinstance(got, list) and right[0] in got,
    "words": lambda got, right: got == ABSENT or {*str(got).split()} <= {*right.split()},
    "seconds": lambda got, _: got == ABSENT or (type(got) is int and got >= 0),
    "bearer": lambda got, _: _BEARER.match(got) is not None,
}
"""Whether a part of an answer fits that of the right one."""
_TABLE: Final = tomllib.loads(Path(__file__).with_name("rules.toml").read_text("utf-8"))
RULES: Final = [Rule(**one) for one in _TABLE["rules"]]


class Found(NamedTuple):
    """A problem. `about` is the part of the text that it is about, "" for the first line."""

    code: str
    about: str = ""
    detail: tuple[tuple[str, str], ...] = ()


Facts: TypeAlias = "Mapping[str, Any]"
"""What the process knows of a step: `right`, the right answer; `step`, `redirect`, …"""


def judge(facts: Facts, text: str) -> Verdict:
    """Check an answer to a step. The line is the answer as it will be recorded."""
    answer, line = read_response(text)
    right, _ = read_response(str(facts.get("right", "")))
    if answer is None:
        about = [*text.split("\n"), ""][line - 1]
        return _verdict(text, None, [Found("unreadable", about, (("line", str(line)),))], facts)
    found: list[Found] = []
    if right is not None:
        found += _of_step(Step(facts["step"]), answer, right, facts)
        found += _of_any_body(answer, right)
    return _verdict(text, answer, found, facts)


def _of_step(step: Step, answer: WebResponse, right: WebResponse, facts: Facts) -> Iterator[Found]:
    if step in (Step.REGISTER, Step.TOKEN) and (_is_error(right) or _is_error(answer)):
        yield from _error(answer, right)
        return
    if step is Step.CHALLENGE:
        is_scope = answer.part("www-authenticate.error") == "insufficient_scope"
        code, wanted = ("scope-status", "403") if is_scope else ("status", right.part("status"))
        if answer.part("status") != wanted:
            yield _other(code, "status", answer.part("status"), wanted)
    if step is Step.AUTHORIZE:
        found = [*_redirect(answer, str(facts.get("redirect", "")))]
        yield from found
        if not facts.get("redirect") or "redirect-elsewhere" in {one.code for one in found}:
            return
    for rule in RULES:
        if step not in rule.steps or (rule.unless and answer.part(rule.unless)):
            continue
        got, wanted = answer.part(rule.at), right.part(rule.at)
        if not FITS[rule.fits](got, wanted):
            yield _other(rule.code, rule.at, got, wanted)
            if rule.ends:
                return


def _verdict(text: str, answer: WebResponse | None, found: list[Found], facts: Facts) -> Verdict:
    problems = tuple(_diagnostic(text, one, str(facts.get("version", ""))) for one in found)
    is_hard = answer is None or any(one.code in CODES["never"] for one in found)
    line = None if answer is None else answer.text
    blocked = any(one.blocks for one in problems)
    return Verdict(text, None if blocked else line, None if is_hard else line, problems)


def _diagnostic(text: str, found: Found, version: str) -> Diagnostic:
    start = text.find(found.about) if found.about else -1
    end = start + len(found.about) if start >= 0 else max(0, text.find("\n"))
    start = max(0, start)
    line, column = line_and_column(text, start)
    severity = Severity.WARNING if found.code in CODES["warning"] else Severity.ERROR
    page = page_of(found.code, version)
    return Diagnostic(
        f"{SECTION}.{found.code}", severity, found.detail, "", start, end, line, column, page=page
    )


def _other(code: str, at: str, got: object, wanted: object) -> Found:
    """Return the problem that a part is another one than the right one."""
    place, _, name = at.rpartition(".")
    one = wanted[0] if isinstance(wanted, list) and wanted else wanted
    said, right = (
        part if isinstance(part, str) else "" if part == ABSENT else json.dumps(part)
        for part in (got, one)
    )
    detail = (("name", name), ("got", said), ("wanted", right))
    header = place if place not in ("", "body") else f'"{name}"'
    return Found(code, got if isinstance(got, str) and got else header, detail)


def _of_any_body(answer: WebResponse, right: WebResponse) -> Iterator[Found]:
    """A JSON body must be one, and say so."""
    if right.header("content-type").startswith("application/json") and answer.body.strip():
        kind = answer.header("content-type").partition(";")[0].strip().lower()
        if not answer.members:
            yield Found("no-json", answer.body[:40])
        elif kind != "application/json":
            yield _other("no-body-type", "content-type", kind, "application/json")


def _redirect(answer: WebResponse, uri: str) -> Iterator[Found]:
    location, leading = answer.header("location"), ("location", "refresh")
    count = sum(name.lower() in leading for name, _ in answer.headers)
    if not uri and not count:
        return
    if count != 1 or not leads_to(location, uri):
        yield _other("redirect-elsewhere", "location", location, uri)
        return
    if answer.body.strip():
        yield Found("page-elsewhere", answer.body[:40])
    if answer.status not in (302, 303):
        yield _other("status", "status", str(answer.status), "302 / 303")
    if answer.part("location.access_token") != ABSENT or "access_token" in location:
        yield Found("token-in-address", "access_token")


def leads_to(location: str, uri: str) -> bool:
    """Return True if a location is a redirect URI, with parameters added and nothing else."""
    if not uri or not location.startswith(uri) or "#" in location or "\\" in location:
        return False
    rest = location[len(uri) :]
    return not rest or rest[0] == ("&" if "?" in uri else "?")


def _is_error(answer: WebResponse) -> bool:
    return answer.status >= 400 or "error" in answer.members


def _error(answer: WebResponse, right: WebResponse) -> Iterator[Found]:
    """An error has a code that is known, and a status that says so."""
    said = answer.members.get("error", "")
    if _is_error(right) and not _is_error(answer):
        yield _other("granted", "error", answer.status, right.members.get("error", ""))
        return
    if said not in _TABLE["errors"]:
        yield _other("error-code", "error", said, "invalid_grant")
    if answer.status < 400:
        yield _other("status", "status", str(answer.status), "400")
