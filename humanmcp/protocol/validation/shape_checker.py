"""Hold a value against the table of shapes and say what differs, in the words of a person.

Every kind is turned once into a function; a value that fits costs a few dictionary look-ups. A
path is a chain of pairs, made into a `Path` only when there is something to report. One wrong item
gives one finding: a key that is missing because it was misspelt is not reported twice.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from humanmcp.protocol.diagnostics.kinds import mcp
from humanmcp.protocol.diagnostics.raw import (
    MOST_PLACED,
    RawDiagnostic,
    delete,
    insert,
    json_text,
    quoted,
    rename_to,
    replace_with,
    shown,
    wrap,
)
from humanmcp.protocol.json.jsonrpc import json_type
from humanmcp.protocol.json.similar import alike, meant_by
from humanmcp.protocol.spec import types
from humanmcp.protocol.spec.examples import example, example_of
from humanmcp.protocol.spec.formats import FORMS, NAMES
from humanmcp.protocol.spec.objects import SHAPES
from humanmcp.protocol.spec.versions import R2025_06, R2025_11, STATELESS
from humanmcp.protocol.validation import shape_diagnostics as wrong

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable

    from humanmcp.protocol.diagnostics.raw import Path
    from humanmcp.protocol.json.jsonrpc import Json
    from humanmcp.protocol.spec.types import Kind, Member, Shape

    # A path as a chain: (the chain so far, the last step); None is the root.
    Chain: TypeAlias = "tuple[Any, str | int] | None"
    Judge: TypeAlias = Callable[[Json, Chain, list[RawDiagnostic]], None]

ENOUGH: Final = 100
"""Findings after which a walk stops looking: more are not read, and a list may have a million."""


def judge(value: Json, kind: Kind, revision: str, path: Path = ()) -> list[RawDiagnostic]:
    """Return what is wrong with a value that must be of a kind, in one revision."""
    found: list[RawDiagnostic] = []
    chain: Chain = None
    for step in path:
        chain = (chain, step)
    _judge_of(kind, revision)(value, chain, found)
    return found


def path_of(chain: Chain) -> Path:
    """Make the path that a chain stands for."""
    steps: list[str | int] = []
    while chain is not None:
        chain, step = chain
        steps.append(step)
    return tuple(reversed(steps))


@cache
def _judge_of(kind: Kind, revision: str) -> Judge:  # noqa: C901, PLR0911, PLR0912 - one arm a kind
    """Turn a kind into the function that judges values of it. Made once for each."""
    match kind:
        case str():
            return _object(SHAPES[kind], revision)
        case types.Text("token"):
            return _token
        case types.Text("answer"):
            return _answer
        case types.Text("one answer"):
            return _one_answer
        case types.Text(form):
            return _formed(form) if form else _text
        case types.Number():
            return _number(kind)
        case types.Truth():
            return _truth
        case types.Anything():
            return _anything
        case types.OneOf():
            return _one_of(kind)
        case types.Many():
            return _many(kind, revision)
        case types.Each():
            return _each(kind, revision)
        case types.ByMember():
            return _by_member(kind, revision)
        case types.ByPresence():
            return _by_presence(kind, revision)
        case types.OneOrMany():
            return _one_or_many(kind, revision)
        case types.OrNull():
            return _or_null(kind, revision)


# -- single values ------------------------------------------------------------------------------


def _anything(_value: Json, _chain: Chain, _out: list[RawDiagnostic]) -> None:
    """Accept: any JSON value will do."""


def _text(value: Json, chain: Chain, out: list[RawDiagnostic]) -> None:
    if type(value) is not str:
        out.append(wrong.not_text(value, path_of(chain)))


def _formed(form: str) -> Judge:
    trouble_of = FORMS[form]

    def judge_form(value: Json, chain: Chain, out: list[RawDiagnostic]) -> None:
        if type(value) is not str:
            out.append(wrong.not_text(value, path_of(chain)))
            return
        trouble = trouble_of(value)
        if trouble is not None:
            out.append(wrong.ill_formed(trouble, value, path_of(chain)))

    return judge_form


def _token(value: Json, chain: Chain, out: list[RawDiagnostic]) -> None:
    if isinstance(value, str) or (isinstance(value, int) and not isinstance(value, bool)):
        return
    out.append(wrong.wrong_type(mcp.NotAToken, value, path_of(chain)))


def _answer(value: Json, chain: Chain, out: list[RawDiagnostic]) -> None:
    """One value that a user filled into a form: text, a number, a truth, or a list of texts."""
    texts = isinstance(value, list) and all(isinstance(item, str) for item in value)
    if texts or isinstance(value, (str, int, float)):
        return
    path = path_of(chain)
    out.append(
        wrong.null(path) if value is None else wrong.wrong_type(mcp.NotAFormValue, value, path)
    )


_ONE_VALUE: Final = "string, number, boolean"


def _one_answer(value: Json, chain: Chain, out: list[RawDiagnostic]) -> None:
    """One answer of a form before 2025-11-25, which brought lists."""
    if isinstance(value, list):
        late = mcp.ValueTooNew(
            path_of(chain),
            value=quoted(value),
            since=R2025_11,
            allowed=_ONE_VALUE,
            revision=R2025_06,
        )
        out.append(late)
    else:
        _answer(value, chain, out)


def _number(kind: types.Number) -> Judge:
    whole, least, most = kind.whole, kind.least, kind.most

    def judge_number(value: Json, chain: Chain, out: list[RawDiagnostic]) -> None:
        fits = type(value) is int or (type(value) is float and (not whole or value.is_integer()))
        if not fits:
            out.append(wrong.not_number(value, path_of(chain), whole=whole))
        elif least is not None and value < least:
            out.append(wrong.beyond(mcp.TooSmall, value, least, path_of(chain)))
        elif most is not None and value > most:
            out.append(wrong.beyond(mcp.TooGreat, value, most, path_of(chain)))

    return judge_number


def _truth(value: Json, chain: Chain, out: list[RawDiagnostic]) -> None:
    if value is True or value is False:
        return
    out.append(wrong.not_a_truth(value, path_of(chain)))


def _one_of(kind: types.OneOf) -> Judge:
    values = kind.values

    def judge_one_of(value: Json, chain: Chain, out: list[RawDiagnostic]) -> None:
        if type(value) is not str or value not in values:
            out.append(wrong.not_one_of(value, kind, path_of(chain)))

    return judge_one_of


def _or_null(kind: types.OrNull, revision: str) -> Judge:
    inner = _judge_of(kind.value, revision)

    def judge_or_null(value: Json, chain: Chain, out: list[RawDiagnostic]) -> None:
        if value is not None:
            inner(value, chain, out)

    return judge_or_null


# -- lists and objects of free names ------------------------------------------------------------


def _many(kind: types.Many, revision: str) -> Judge:
    judge_item = _judge_of(kind.item, revision)
    most = kind.most

    def judge_many(value: Json, chain: Chain, out: list[RawDiagnostic]) -> None:
        if type(value) is not list:
            out.append(_not_a_list(value, path_of(chain), kind, revision))
            return
        for at, item in enumerate(value):
            judge_item(item, (chain, at), out)
            if len(out) > ENOUGH:
                return
        if most is not None and len(value) > most:
            out.append(wrong.too_many(len(value), most, path_of(chain)))

    return judge_many


def _not_a_list(value: Json, path: Path, kind: types.Many, revision: str) -> RawDiagnostic:
    wanted = example_of(kind, revision)
    mend = None
    if isinstance(kind.item, types.ByMember) and isinstance(value, (str, int, float)):
        text = value if isinstance(value, str) else json_text(value)
        mend = replace_with(path, [{"type": "text", "text": text}], "wrap")
    elif value is None:
        mend = replace_with(path, [])
    elif fits(value, kind.item, revision):
        mend = wrap(path, "[", "]")
    elif isinstance(value, dict) and "name" not in value and _named(value, kind, revision):
        listed = [{"name": name, **item} for name, item in value.items()]
        mend = replace_with(path, listed, "wrap")
    got, shows = json_type(value), json_text(wanted)
    return mcp.NotAList(path, mend, key=wrong.name_of(path), got=got, example=shows)


def _named(value: dict[str, Json], kind: types.Many, revision: str) -> bool:
    """Return True if an object is the wanted list, keyed by the items' names."""
    return bool(value) and all(
        isinstance(item, dict) and fits({"name": name, **item}, kind.item, revision)
        for name, item in value.items()
    )


def fits(value: Json, kind: Kind, revision: str) -> bool:
    """Return True if nothing at all is wrong with a value."""
    found: list[RawDiagnostic] = []
    _judge_of(kind, revision)(value, None, found)
    return not found


def _each(kind: types.Each, revision: str) -> Judge:
    judge_value = _judge_of(kind.value, revision)

    def judge_each(value: Json, chain: Chain, out: list[RawDiagnostic]) -> None:
        if type(value) is not dict:
            out.append(wrong.not_an_object(value, path_of(chain)))
            return
        for name, item in value.items():
            judge_value(item, (chain, name), out)
            if len(out) > ENOUGH:
                return
        if kind.names:
            out.extend(_misnamed(value, kind.names, path_of(chain), revision))

    return judge_each


def _misnamed(names: Iterable[str], rule: str, path: Path, revision: str) -> list[RawDiagnostic]:
    """Report the free names of an object that do not look as they must."""
    found: list[RawDiagnostic] = []
    for name in names:
        kind = NAMES[rule](name, revision)
        if kind:
            at = (*path, name)
            found.append(kind(at, at_name=True, key=shown(name), revision=revision))
    return found


# -- objects told apart -------------------------------------------------------------------------


def _by_member(kind: types.ByMember, revision: str) -> Judge:
    arms = {
        name: _judge_of(shape, revision)
        for name, shape in kind.shapes.items()
        if SHAPES[shape].since <= revision
    }
    member, usual = kind.member, kind.usual

    def judge_by_member(value: Json, chain: Chain, out: list[RawDiagnostic]) -> None:
        if type(value) is dict:
            tag = value.get(member, usual) if usual else value.get(member)
            if type(tag) is str and tag in arms:
                arms[tag](value, chain, out)
                return
        out.append(wrong.no_arm(value, path_of(chain), kind, revision))

    return judge_by_member


def _by_presence(kind: types.ByPresence, revision: str) -> Judge:
    arms = {name: _judge_of(shape, revision) for name, shape in kind.shapes.items()}

    def judge_by_presence(value: Json, chain: Chain, out: list[RawDiagnostic]) -> None:
        if type(value) is not dict:
            out.append(wrong.not_an_object(value, path_of(chain)))
            return
        there = [name for name in arms if name in value]
        if len(there) == 1 and ("uri" in value or "type" not in value):
            arms[there[0]](value, chain, out)
            return
        path = path_of(chain)
        if len(there) > 1:  # two of them: the first one counts for most clients
            at = (*path, there[1])
            out.append(mcp.OneIsLost(at, delete(at), kept=there[0], lost=there[1]))
            rest = {name: item for name, item in value.items() if name != there[1]}
            arms[there[0]](rest, chain, out)
            return
        out.extend(_neither(value, path, kind, revision))

    return judge_by_presence


def _neither(
    value: dict[str, Json], path: Path, kind: types.ByPresence, revision: str
) -> list[RawDiagnostic]:
    """Report an object that has none of the members that would tell its kind."""
    if "uri" not in value:  # an item of tools/call, say
        first = next(iter(kind.shapes.values()))
        example_uri = example(SHAPES[first].members["uri"], revision)
        mend = insert((*path, "uri"), example_uri)
        if "type" in value:
            rest = {name: item for name, item in value.items() if name != "type"}
            mend = replace_with(path, {"uri": example_uri, **rest})
        shows, where = json_text(example_uri), wrong.name_of(path)
        return [mcp.MemberMissing(path, mend, key="uri", example=shows, where=where)]
    lacking = wrong.none_of(tuple(kind.shapes), path)
    lacking.mend = insert((*path, "text"), "…")
    return [lacking]


def _one_or_many(kind: types.OneOrMany, revision: str) -> Judge:
    one = _judge_of(kind.item, revision)
    if revision < kind.many_since:
        return one
    many = _judge_of(types.Many(kind.many), revision)

    def judge_one_or_many(value: Json, chain: Chain, out: list[RawDiagnostic]) -> None:
        (many if type(value) is list else one)(value, chain, out)

    return judge_one_or_many


# -- objects ------------------------------------------------------------------------------------


def _object(shape: Shape, revision: str) -> Judge:
    judges: dict[str, Judge] | None = None
    required = tuple(name for name, member in shape.members.items() if revision in member.required)
    needed = frozenset(required)

    def judge_object(value: Json, chain: Chain, out: list[RawDiagnostic]) -> None:
        nonlocal judges
        if type(value) is not dict:
            out.append(wrong.not_an_object(value, path_of(chain)))
            return
        if judges is None:  # not before it is needed: content may hold content
            judges = {
                name: _judge_of(member.kind(revision), revision)
                for name, member in shape.members.items()
                if member.exists(revision)
            }
        strange = False
        for name, item in value.items():
            judge_member = judges.get(name)
            if judge_member is None:
                strange = True
            elif item is None and name not in required and judge_member is not _anything:
                out.append(wrong.null(path_of((chain, name))))
            else:
                judge_member(item, (chain, name), out)
        if not value.keys() >= needed or (strange and not shape.open):
            out.extend(_names(value, path_of(chain), shape, revision))
        if shape.names or shape.either:
            out.extend(_free_names(value, judges, shape, path_of(chain), revision))

    return judge_object


def _free_names(
    value: dict[str, Json], known: Container[str], shape: Shape, path: Path, revision: str
) -> list[RawDiagnostic]:
    """Report free names that must look otherwise, and an object without any of what it needs."""
    free = [name for name in value if name not in known]
    found = _misnamed(free, shape.names, path, revision) if shape.names else []
    if shape.either and not any(name in value for name in shape.either):
        found.append(wrong.none_of(shape.either, path))
    return found


_IGNORED: Final = (mcp.MemberUnknown, mcp.MemberTooNew, mcp.MemberTooOld)


def _names(value: dict[str, Json], path: Path, shape: Shape, revision: str) -> list[RawDiagnostic]:
    """Report the members that are missing and those that do not belong there."""
    known = dict.fromkeys(n for n, member in shape.members.items() if member.exists(revision))
    strange = [name for name in value if name not in known]
    if shape.alone and strange:
        return [mcp.NotEmpty(path, replace_with(path, {}), key=shown(strange[0]))]
    found: list[RawDiagnostic] = []
    lacking = [
        name
        for name, member in shape.members.items()
        if revision in member.required and name not in value
    ]
    for name in lacking:
        member = shape.members[name]
        typed = meant_by(name, strange)
        if typed is not None:
            strange.remove(typed)
            found.append(_misspelt(name, typed, value[typed], path, member, revision))
            continue
        nested = _nested(name, value, strange, path, member, revision)
        found.append(nested or wrong.missing(name, path, member, revision))
        if nested is not None:
            strange = []
    if not shape.open:
        odd = _strange(strange, value, path, shape, revision)
        # first things first: what is missing counts more than what is merely ignored
        found += [each for each in odd if not lacking or not isinstance(each, _IGNORED)]
    return found


def _nested(  # noqa: PLR0913, PLR0917 - what the sentence needs
    name: str,
    value: dict[str, Json],
    strange: list[str],
    path: Path,
    member: Member,
    revision: str,
) -> RawDiagnostic | None:
    """Recognise members that belong one level deeper: inside the one that is missing."""
    inner = {key: value[key] for key in strange}
    if not inner or not fits(inner, member.kind(revision), revision):
        return None
    whole = {key: item for key, item in value.items() if key not in inner} | {name: inner}
    mend, shows = replace_with(path, whole, "wrap"), shown(json_text(inner))
    return mcp.MemberMissing(path, mend, key=name, example=shows, where=wrong.name_of(path))


def _misspelt(  # noqa: PLR0913, PLR0917 - what the sentence needs
    name: str, typed: str, value: Json, path: Path, member: Member, revision: str
) -> RawDiagnostic:
    at = (*path, typed)
    mend = rename_to(at, name) if fits(value, member.kind(revision), revision) else None
    where = wrong.name_of(path)
    return mcp.MemberMisnamed(at, mend, at_name=True, key=name, typed=shown(typed), where=where)


def _strange(
    names: list[str], value: dict[str, Json], path: Path, shape: Shape, revision: str
) -> list[RawDiagnostic]:
    """Report the members that this revision does not know."""
    free = [
        name
        for name, member in shape.members.items()
        if member.exists(revision) and name not in value
    ]
    found: list[RawDiagnostic] = []
    unknown: list[RawDiagnostic] = []
    for name in names:
        member = shape.members.get(name)
        at = (*path, name)
        if member is not None:
            found += _of_another_revision(member, value[name], at, revision)
        elif (meant := alike(name, free)) is not None:
            mend, key = rename_to(at, meant), shown(name)
            near = mcp.NearlyAMember(
                at, mend, at_name=True, key=key, revision=revision, meant=meant
            )
            found.append(near)
        elif len(unknown) == MOST_PLACED:
            unknown[-1].times += 1
        else:
            key = shown(name)
            odd = mcp.MemberUnknown(at, delete(at), at_name=True, key=key, revision=revision)
            unknown.append(odd)
            found.append(odd)
    return found


def _of_another_revision(
    member: Member, value: Json, at: Path, revision: str
) -> list[RawDiagnostic]:
    """Report a member that this revision does not know yet, or no more."""
    early = revision < member.since
    kind, when = (
        mcp.MemberTooNew if early else mcp.MemberTooOld,
        member.since if early else member.until,
    )
    found = (
        [] if member.since in STATELESS else judge(value, member.kind(revision), member.since, at)
    )
    key = shown(str(at[-1]))
    late = kind(at, delete(at), at_name=True, key=key, revision=revision, since=when)
    return found or [late]
