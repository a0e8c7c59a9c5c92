"""A step of signing in, as the front ends read it: its card, its check, its ready answers."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import parse_qsl

from humanmcp.extensions.authority import check
from humanmcp.extensions.authority.mistakes import mistakes
from humanmcp.extensions.authority.musts import in_use, of_step
from humanmcp.extensions.authority.steps import Step, WebRequest, named, read_response
from humanmcp.locales import describe, find_sentence, say
from humanmcp.locales.explain import Card
from humanmcp.protocol.json.visible import one_line

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from collections.abc import Set as AbstractSet

    from humanmcp.inbox.contract import Item
    from humanmcp.protocol.diagnostics.model import Verdict

SECTION: Final = check.SECTION
_HELD: Final = frozenset({Step.RESOURCE, Step.SERVER, Step.REGISTER, Step.TOKEN, Step.CHALLENGE})
"""The steps of which clients were seen to give up: all but the one in the browser."""


_NOTHING: Final = {
    **dict.fromkeys(("right", "why", "client", "host", "redirect", "scope", "resource"), ""),
    "step": Step.ELSEWHERE,
    "ready": {},
    "consent": False,
}


def facts_of(item: Item) -> dict[str, Any]:
    """Return what the process says of a step; nothing of one that cannot be read."""
    try:
        found = json.loads(item.context)
    except ValueError:
        return _NOTHING
    is_ours = isinstance(found, dict) and found.get("step") in {*Step}
    return {**_NOTHING, **found} if is_ours else _NOTHING


def request_in(text: str) -> WebRequest:
    """Read a request as it is written in the inbox."""
    head, _, body = text.partition("\n\n")
    first, *lines = head.split("\n")
    method, target, _ = [*first.split(" ", 2), "", ""][:3]
    path, _, query = target.partition("?")
    pairs = (line.partition(": ") for line in lines)
    return WebRequest(method, path, query, tuple((one, value) for one, _, value in pairs), body)


def parameters_of(request: WebRequest) -> Iterator[tuple[str, str, str]]:
    """Yield name, value and meaning of what a request carries."""
    header = request.header("authorization")
    found: list[tuple[str, object]] = [("authorization", header)] if header else []
    found += parse_qsl(request.query, keep_blank_values=True)
    found += request.members.items() or request.form
    for name, value in found:
        meaning = find_sentence(SECTION, f"parameter {name}") or ""
        shown = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        kept = f" ({say(SECTION, 'kept back')})" if shown.endswith(named(name)) else ""
        yield one_line(name, 60), one_line(shown, 300) + kept, meaning


class OAuthSteps:
    """Reads the steps: a `StepKind`."""

    template = "authority/step.html"

    def card(self, item: Item) -> Card:
        facts = facts_of(item)
        name, why = facts["step"], facts["why"]
        rules = of_step(Step(name), item.protocol_version)
        words = [say(SECTION, f"what {name}")]
        words += [find_sentence(SECTION, f"why {why}") or ""] if why else []
        silence = "silence held" if name in _HELD else "silence"
        return Card(
            item.method,
            say(SECTION, f"title {name}"),
            " ".join(filter(None, words)),
            say(SECTION, "sender", client=one_line(facts["client"], 60) or "?"),
            say(SECTION, silence),
            "",
            rules[0].address(in_use(item.protocol_version)) if rules else "",
        )

    def judge(self, item: Item, text: str) -> Verdict:
        return check.judge(facts_of(item), text)

    def ready(self, item: Item) -> Mapping[str, str]:
        return {str(name): str(text) for name, text in facts_of(item)["ready"].items()}

    def view(self, item: Item) -> Mapping[str, Any]:
        facts, version = facts_of(item), in_use(item.protocol_version)
        touched = item.draft is not None and item.draft.touched
        draft = item.draft.text if item.draft and touched else facts["right"]
        problems = self.judge(item, draft).diagnostics if touched else ()
        return {
            **facts,
            "parameters": [*parameters_of(request_in(item.line))],
            "musts": [
                (say(SECTION, f"who {one.who}"), one.plain, one.address(version))
                for one in of_step(Step(facts["step"]), version)
            ],
            "version": version,
            "draft": draft,
            "problems": [(one.severity.value, describe(one), one.page) for one in problems],
            "mistakes": [
                (name, say("oauth mistake", name)) for name in facts["ready"] if name in mistakes()
            ],
        }

    def gist(self, name: str, text: str, *, inwards: bool) -> tuple[str, str]:
        step = name.partition(" ")[0]
        title = find_sentence(SECTION, f"title {step}") or step
        if inwards:
            return title, text.partition("\n")[0].removesuffix(" HTTP/1.1")
        answer, _ = read_response(text)
        if answer is None:
            return "", text.partition("\n")[0]
        said = answer.header("location") or answer.header("www-authenticate")
        members: AbstractSet[str] = answer.members.keys()
        return "", f"{answer.status} {said or answer.members.get('error') or ', '.join(members)}"


KIND: Final = OAuthSteps()
