"""What an authority can do wrong on purpose: rows of `mistakes.toml`, put into a right answer."""

from __future__ import annotations

import json
import re
import tomllib
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import quote

from humanmcp.extensions.authority.steps import Step, WebResponse

if TYPE_CHECKING:
    from collections.abc import Mapping

    from humanmcp.extensions.authority.answers import Place


class Mistake(NamedTuple):
    """A row: the step that it changes, and how. A value "" removes a header or a parameter.

    `{issuer}`, `{resource}` and `{origin}` in a value are those of the place.
    """

    id: str
    step: Step
    status: int = 0
    headers: Mapping[str, str] = {}
    set: Mapping[str, Any] = {}
    drop: tuple[str, ...] = ()
    body: str | None = None
    location: Mapping[str, str] = {}
    """Parameters of the redirect."""
    only: str = ""
    """The grant type that it is about, "" for any."""

    def put_into(self, right: WebResponse, place: Place) -> WebResponse:
        """Return the answer with the mistake in it."""
        words = {"issuer": place.issuer, "resource": place.resource, "origin": place.origin}

        def filled(value: Any) -> Any:  # noqa: ANN401 - any JSON value
            if isinstance(value, str):
                return re.sub(r"\{(issuer|resource|origin)\}", lambda one: words[one[1]], value)
            return [filled(one) for one in value] if isinstance(value, list) else value

        headers = dict(right.headers)
        for name, value in self.headers.items():
            headers |= {name: filled(value)}
        if self.location and "location" in headers:
            headers["location"] = _changed(headers["location"], self.location)
        body = right.body
        if self.set or self.drop:
            members = {**right.members, **{name: filled(one) for name, one in self.set.items()}}
            kept = {name: one for name, one in members.items() if name not in self.drop}
            body = json.dumps(kept, ensure_ascii=False, indent=2)
        if self.body is not None:
            body = filled(self.body)
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
        Mistake(**{**one, "step": Step(one["step"]), "drop": tuple(one.get("drop", ()))})
        for one in tomllib.loads(text)["mistake"]
    )
    return {one.id: one for one in rows}


def of_step(step: Step) -> list[Mistake]:
    return [one for one in mistakes().values() if one.step is step]
