"""What an authority can do wrong on purpose: rows of `mistakes.toml`, put into a right answer."""

from __future__ import annotations

import json
import tomllib
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import quote

from humanmcp.extensions.authority.steps import Step, WebRequest, WebResponse

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from humanmcp.extensions.authority.answers import Place


class Judged(NamedTuple):
    """How `humanmcp judge` plays a mistake, and what a client may not do then."""

    kind: str = "wrong"
    """One of judge's: a client stops ("wrong"), or goes on ("tolerable")."""
    alone: bool = False
    """A person cannot choose it: it is more than one answer."""
    use: str = ""
    """Which request with a valid token is refused: the first call ("once"), each call ("call"),
    each until the token has the scope `write` ("scope"), each request ("always")."""
    also: Sequence[str] = ()
    """Other mistakes that are made, too."""
    path: str = "/as"
    """The path of the issuer."""
    moves: str = ""
    """The path of the next issuer, from the first refused call on."""
    once: bool = False
    asks: Mapping[str, str] = {}
    """Members that the registration has in the place of those that the client sent."""
    never: str = ""
    """What no client may do: a key of `judged.BREACHES`."""
    hides: bool = False
    """No client may show what it says."""


class Mistake(NamedTuple):
    """A row: the step that it changes, and how. A value "" removes a header or a parameter.

    `{issuer}`, `{resource}` and `{origin}` in a value are those of the place, `{other}` is the same
    origin under another name.
    """

    id: str
    step: Step
    status: int = 0
    headers: Mapping[str, str] = {}
    set: Mapping[str, Any] = {}
    drop: Sequence[str] = ()
    body: str | None = None
    location: Mapping[str, str] = {}
    """Parameters of the redirect."""
    only: str = ""
    """The grant type that it is about, "" for any."""
    path: str = ""
    """What the path ends with, "" for any."""
    judged: Judged = Judged()
    """How `humanmcp judge` plays it."""

    def is_about(self, request: WebRequest) -> bool:
        """Return True if it can be put into the answer to a request of its step."""
        grant_type = dict(request.form).get("grant_type", "")
        return self.only in ("", grant_type) and request.path.endswith(self.path)

    def put_into(self, right: WebResponse, place: Place) -> WebResponse:
        """Return the answer with the mistake in it."""
        said = {name: place.filled(value) for name, value in self.headers.items()}
        headers = {**dict(right.headers), **said}
        if self.location and "location" in headers:
            headers["location"] = _changed(headers["location"], self.location)
        body = right.body
        if self.set or self.drop:
            members = {**right.members, **json.loads(place.filled(json.dumps(self.set)))}
            kept = {name: one for name, one in members.items() if name not in self.drop}
            body = json.dumps(kept, ensure_ascii=False, indent=2)
        if self.body is not None:
            body = place.filled(self.body)
        shown = tuple((name, value) for name, value in headers.items() if value)
        return WebResponse(self.status or right.status, shown, body)


def _changed(location: str, wanted: Mapping[str, str]) -> str:
    """Return a redirect with other parameters. It still leads to where it led."""
    base, _, query = location.partition("?")
    kept = [pair for pair in query.split("&") if pair.partition("=")[0] not in wanted]
    added = [f"{name}={quote(value, safe='{}')}" for name, value in wanted.items() if value]
    return f"{base}?{'&'.join([*kept, *added])}"


@cache
def mistakes() -> Mapping[str, Mistake]:
    """Return every mistake by its id, in the order of the table."""
    text = (Path(__file__).parent / "mistakes.toml").read_text(encoding="utf-8")
    rows = (
        Mistake(**{**one, "step": Step(one["step"]), "judged": Judged(**one.get("judged", {}))})
        for one in tomllib.loads(text)["mistake"]
    )
    return {one.id: one for one in rows}


def of_step(step: Step) -> list[Mistake]:
    """Return those of a step that a person can choose."""
    return [one for one in mistakes().values() if one.step is step and not one.judged.alone]


def next_of(name: str) -> Mistake | None:
    """Return one that can be put into the next answer of a rule, by its id; None for no such."""
    steps = (one for one in Step if one is not Step.AUTHORIZE)  # no rule answers it
    return next((one for step in steps for one in of_step(step) if one.id == name), None)
