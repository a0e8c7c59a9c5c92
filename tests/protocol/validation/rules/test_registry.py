"""Rules: registered by their methods, and each can be asked alone."""

from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from humanmcp.protocol.conversation.exchange import NegotiatedState
from humanmcp.protocol.diagnostics import kinds
from humanmcp.protocol.diagnostics.problem import RawDiagnostic, rename_to
from humanmcp.protocol.validation import outgoing
from humanmcp.protocol.validation.rules import capabilities, lifecycle, registry, tools
from humanmcp.protocol.validation.rules.registry import JudgedAnswer, Rule, judge, judge_error, rule
from tests.support.verdicts import R2024, R2025, R2026, asked, check, codes, stating

TWICE = {"tools": [{"name": "a"}, {"name": "a"}], "nextCursor": ""}


def answer(
    method: str, value: Mapping[str, Any], negotiated: NegotiatedState | None = None
) -> JudgedAnswer:
    """Make an answer to judge."""
    params = {"cursor": "2", "_meta": stating()}
    return JudgedAnswer(
        asked(method, params, version=R2026), dict(value), negotiated or NegotiatedState()
    )


def told(
    by: Rule, method: str, value: Mapping[str, Any], negotiated: NegotiatedState | None = None
) -> list[str]:
    """Ask one rule only. Returns codes and pointers."""
    found = by(answer(method, value, negotiated))
    return [f"{each.code} /{'/'.join(map(str, each.path))}" for each in found]


def test_what_was_not_declared_is_told_whatever_is_answered() -> None:
    """A server that offers prompts only has no tools."""
    offered = NegotiatedState(server_capabilities={"prompts": {}})
    assert told(capabilities.declared_capability, "tools/list", {}, offered) == ["M05 /result"]
    assert told(capabilities.declared_capability, "prompts/list", {}, offered) == []
    assert told(capabilities.declared_capability, "tools/list", {}) == []


def test_templates_are_told_apart_by_their_address() -> None:
    """Every list of a server has what tells its entries apart."""
    entry = {"uriTemplate": "a://{b}", "name": "b"}
    result = {"resourceTemplates": [entry, entry]}
    found = told(tools.entries_apart, "resources/templates/list", result)
    assert found == ["M38 /result/resourceTemplates/1/uriTemplate"]


def test_a_question_back_is_judged_as_one() -> None:
    """Its capability counts, and that it has no contents does not."""
    question = {"method": "roots/list"}
    asks = {"resultType": "input_required", "inputRequests": {"a": question}, "contents": []}
    found = told(capabilities.declared_by_client, "resources/read", asks)
    assert found == ["M57 /result/inputRequests/a/method"]
    assert told(tools.something_read, "resources/read", asks) == []


def test_a_rule_is_found_by_its_method(monkeypatch: pytest.MonkeyPatch) -> None:
    """Registered once, it is part of the check, and of no other method's."""
    monkeypatch.setattr(registry, "_FOR_RESULTS", registry.RuleSet())
    monkeypatch.setattr(registry, "_FOR_ERRORS", registry.RuleSet())

    @rule("ping")
    def never(answer: JudgedAnswer) -> Iterator[RawDiagnostic]:
        yield kinds.server_named_as_client(answer.at("name"), value="x")

    @rule(errors=True)
    def nor_errors(answer: JudgedAnswer) -> Iterator[RawDiagnostic]:
        yield kinds.error_hidden_from_model(answer.path)

    assert [each.code for each in judge(answer("ping", {}))] == ["M49"]
    assert judge(answer("tools/list", TWICE)) == []
    assert [each.code for each in judge_error(asked("x"), {}, NegotiatedState())] == ["M50"]
    verdict = check(asked("ping"), '{"result": {"name": 1}}')
    assert "M49" in codes(verdict.diagnostics)


def test_of_what_goes_out_first_the_first_rule_that_finds_something_says_it() -> None:
    """An id that is none matters before the method that there is not."""
    own = outgoing.OwnMessage({"id": None}, "no/such", "2025-11-25", NegotiatedState())
    assert [one.code for one in outgoing.own_request.first("no/such", own)] == ["R36"]
    assert [one.code for one in outgoing.own_request.judge("no/such", own)] == ["R36", "R33"]


@pytest.mark.parametrize(
    ("method", "version", "declared", "found"),
    [
        ("completion/complete", R2024, {"tools": {}}, []),
        ("completion/complete", R2025, {"tools": {}}, [("M05 /result capability=completions "
                                                       "method=completion/complete")]),
        ("completion/complete", R2025, {"completions": {}}, []),
        ("tools/list", R2024, {"prompts": {}}, ["M05 /result capability=tools method=tools/list"]),
        ("tools/list", R2024, {}, ["M05 /result capability=tools method=tools/list"]),
        ("tools/list", R2024, None, []),
        ("ping", R2025, {}, []),
        ("roots/list", R2025, {}, []),
        ("x/y", R2025, {}, []),
    ],
)  # fmt: skip
def test_only_what_the_version_declares_must_be_declared(
    method: str, version: str, declared: dict[str, Any] | None, found: list[str]
) -> None:
    """2024-11-05 had completions without a capability; what the client declares is another list."""
    judged = JudgedAnswer(
        asked(method, {}, version=version), {}, NegotiatedState(server_capabilities=declared)
    )
    assert [
        f"{one.code} /{'/'.join(map(str, one.path))} "
        + " ".join(f"{name}={said}" for name, said in one.detail)
        for one in capabilities.declared_capability(judged)
    ] == found


@pytest.mark.parametrize(
    ("version", "declared", "is_told"),
    [
        (R2024, {"completion": {}}, False),
        (R2025, {"completion": {}}, True),
        (R2025, {"completion": {}, "completions": {}}, False),
        (R2025, {"completions": {}}, False),
        (R2025, ["completion"], False),
    ],
)
def test_the_capability_for_completions_has_its_plural_since_it_is_there(
    version: str, declared: object, *, is_told: bool
) -> None:
    """Its old name is renamed in its place."""
    value = {"capabilities": declared}
    judged = JudgedAnswer(asked("initialize", {}, version=version), value, NegotiatedState())
    found = list(lifecycle.name_of_completions(judged))
    at = ("result", "capabilities", "completion")
    wanted = kinds.old_completions_name(at, rename_to(at, "completions"), at_name=True)
    assert found == ([wanted] if is_told else [])
