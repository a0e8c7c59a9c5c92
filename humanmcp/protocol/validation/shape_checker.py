"""Compare a value with the table of objects, and report the differences.

One mistake gives one problem: a misspelled key is not also reported as missing.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from humanmcp.protocol.diagnostics import kinds
from humanmcp.protocol.diagnostics.problem import (
    RawDiagnostic,
    delete,
    insert,
    quoted,
    rename_to,
    replace_with,
    replace_with_integer,
    shown,
    unwrap,
    wrap,
)
from humanmcp.protocol.json.jsonrpc import as_json, json_type
from humanmcp.protocol.json.spelling import alike, meant_by
from humanmcp.protocol.tables import types
from humanmcp.protocol.tables.examples import example, example_of
from humanmcp.protocol.tables.objects import SHAPES
from humanmcp.protocol.tables.types import FORMS, NAMES, members_in
from humanmcp.protocol.tables.versions import R2025_06, R2025_11, STATELESS

if TYPE_CHECKING:
    from collections.abc import Iterable

    from humanmcp.protocol.diagnostics.problem import FixAction, Path, ProblemKind
    from humanmcp.protocol.json.jsonrpc import Json, JsonObject
    from humanmcp.protocol.tables.types import Kind, Member, Shape


def name_of(path: Path) -> str:
    """Return a path as a person writes it: `tools[0].name`, without the steps before it."""
    steps = [step for step in path if step not in ("params", "result")] or list(path[-1:])
    said = ""
    first = -3 if len(steps) < 4 or isinstance(steps[-3], str) else -4
    for step in steps[first:]:
        said += f"[{step}]" if isinstance(step, int) else f".{step}" if said else step
    return shown(said)


def wrong_type(
    kind: ProblemKind, value: Json, path: Path, fix: FixAction | None = None
) -> RawDiagnostic:
    """Report a value of the wrong JSON type."""
    return kind(path, fix, key=name_of(path), got=json_type(value))


def null(path: Path) -> RawDiagnostic:
    """Report `null` for a member that should be omitted."""
    return wrong_type(kinds.null_value, None, path, delete(path))


def not_text(value: Json, path: Path) -> RawDiagnostic:
    """Report a value that should be a string."""
    fix = None if value is None or isinstance(value, (dict, list)) else wrap(path, '"', '"')
    return wrong_type(kinds.not_a_string, value, path, fix)


def not_number(value: Json, path: Path, *, whole: bool) -> RawDiagnostic:
    """Report a value that should be a number, or an integer."""
    kind = kinds.not_an_integer if whole else kinds.not_a_number
    fix, form = replace_with_integer(path, value), json_type(value)
    if isinstance(value, str):  # some programs convert it
        form = "integer" if fix else "fraction" if _is_fraction(value) else "word"
    return kind(path, fix, key=name_of(path), value=quoted(value), form=form)


def _is_fraction(text: str) -> bool:
    return re.fullmatch(r"-?[0-9]{1,20}\.[0-9]{1,20}", text) is not None


def not_an_object(value: Json, path: Path) -> RawDiagnostic:
    """Report a value that should be an object."""
    # among capabilities, `"tools": true` means `{}`; a list of names means an object with them
    fix = replace_with(path, {}) if value is True or value is None else None
    if isinstance(value, list) and value and all(isinstance(item, str) for item in value):
        fix = replace_with(path, {item: {} for item in value})
    return wrong_type(kinds.not_an_object, value, path, fix)


def no_arm(value: Json, path: Path, kind: types.ByMember, version: str) -> RawDiagnostic:
    """Report an object whose kind cannot be told by its members."""
    names = [name for name, shape in kind.shapes.items() if SHAPES[shape].since <= version]
    allowed = ", ".join(as_json(name) for name in names)
    if not isinstance(value, dict):
        fix = None
        if kind.member == "type" and isinstance(value, str):
            fix = replace_with(path, {"type": "text", "text": value}, "wrap")
        elif isinstance(value, list) and len(value) == 1 and isinstance(value[0], dict):
            fix = unwrap(path, (0,))
        return wrong_type(kinds.not_an_object, value, path, fix)
    tag = value.get(kind.member)
    at = (*path, kind.member)
    if kind.member not in value:
        meant = next((name for name in names if name in value), None)
        fix = insert(at, meant) if meant else None
        where = name_of(path)
        return kinds.missing_kind(path, fix, key=kind.member, allowed=allowed, where=where)
    if isinstance(tag, str) and tag in kind.shapes:
        since = SHAPES[kind.shapes[tag]].since
        return kinds.value_too_new(at, value=tag, since=since, version=version, allowed=allowed)
    meant = alike(tag, names)
    fix = None if meant is None else replace_with(at, meant)
    strange = kind.unknown_value or (
        kinds.unknown_type if kind.member == "type" else kinds.value_not_allowed
    )
    return strange(at, fix, value=quoted(tag), allowed=allowed, key=name_of(at))


def missing(name: str, path: Path, member: Member, version: str) -> RawDiagnostic:
    """Report a missing member."""
    value = example(member, version)
    kind = kinds.missing_result_type if name == "resultType" else kinds.missing_member
    fix = insert((*path, name), value)
    return kind(path, fix, key=name, example=as_json(value), where=name_of(path))


def none_of(names: tuple[str, ...], path: Path) -> RawDiagnostic:
    """Report an object that needs one of these members and has none."""
    allowed = " / ".join(as_json(name) for name in names)
    return kinds.missing_one_of(path, allowed=allowed, where=name_of(path))


def beyond(kind: ProblemKind, value: Json, limit: float, path: Path) -> RawDiagnostic:
    """Report a number outside its range."""
    fix = replace_with(path, limit)
    return kind(path, fix, key=name_of(path), value=quoted(value), limit=quoted(limit))


_TRUTHS: Final = {
    **dict.fromkeys(("true", "1", "yes", "on"), True),
    **dict.fromkeys(("false", "0", "no", "off"), False),
}


def not_a_truth(value: Json, path: Path) -> RawDiagnostic:
    """Report a value that should be `true` or `false`."""
    meant = _TRUTHS.get(str(value).strip().lower()) if isinstance(value, (str, int)) else None
    fix = None if meant is None else replace_with(path, meant)
    form = "" if fix else "word"  # some programs convert the others
    return kinds.not_a_boolean(path, fix, key=name_of(path), got=json_type(value), form=form)


def not_one_of(value: Json, kind: types.OneOf, path: Path) -> RawDiagnostic:
    """Report a string that is not one of the allowed ones."""
    allowed = ", ".join(map(as_json, kind.values))
    meant = kind.values[0] if len(kind.values) == 1 else alike(value, kind.values)
    fix = None if meant is None else replace_with(path, meant)
    return kind.unknown_value(path, fix, key=name_of(path), allowed=allowed, value=quoted(value))


ENOUGH: Final = 100
"""The number of problems after which the check stops: a list may have a million."""


def judge(value: Json, kind: Kind, version: str, path: Path = ()) -> list[RawDiagnostic]:
    """Return the differences of a value from a kind, in a protocol version."""
    problems: list[RawDiagnostic] = []
    _check(value, kind, version, path, problems)
    return problems


def fits(value: Json, kind: Kind, version: str) -> bool:
    """Return True if a value has no problem."""
    return not judge(value, kind, version)


def _check(  # noqa: C901, PLR0912 - one arm a kind
    value: Json, kind: Kind, version: str, path: Path, problems: list[RawDiagnostic]
) -> None:
    match kind:
        case str():
            _check_object(value, SHAPES[kind], version, path, problems)
        case types.ListOf():
            _check_list(value, kind, version, path, problems)
        case types.ByMember():
            _check_by_member(value, kind, version, path, problems)
        case types.Anything():
            pass
        case types.Text("token"):
            if not isinstance(value, (str, int)) or isinstance(value, bool):
                problems.append(wrong_type(kinds.not_string_or_integer, value, path))
        case types.Text("answer" | "one answer"):
            _check_form_value(value, kind, path, problems)
        case types.Text(form):
            if not isinstance(value, str):
                problems.append(not_text(value, path))
            elif form and (trouble := FORMS[form](value)) is not None:
                fix = None if trouble.fixed is None else replace_with(path, trouble.fixed)
                problems.append(trouble.kind(path, fix, key=name_of(path), value=shown(value)))
        case types.Number():
            _check_number(value, kind, path, problems)
        case types.Boolean():
            if not isinstance(value, bool):
                problems.append(not_a_truth(value, path))
        case types.OneOf():
            if not isinstance(value, str) or value not in kind.values:
                problems.append(not_one_of(value, kind, path))
        case types.OrNull():
            if value is not None:
                _check(value, kind.value, version, path, problems)
        case types.OneOrMany():
            several = isinstance(value, list) and version >= kind.many_since
            inner = types.ListOf(kind.many) if several else kind.item
            _check(value, inner, version, path, problems)
        case types.MapOf():
            _check_free_members(value, kind, version, path, problems)
        case types.ByPresence():
            _check_by_presence(value, kind, version, path, problems)


# -- single values ------------------------------------------------------------------------------


_ONE_VALUE: Final = "string, number, boolean"


def _check_form_value(
    value: Json, kind: types.Text, path: Path, problems: list[RawDiagnostic]
) -> None:
    """Check a value of a form: string, number, boolean; since 2025-11-25 a list of strings."""
    if isinstance(value, (str, int, float)):
        return
    if isinstance(value, list) and kind.form == "one answer":
        given = quoted(value)
        late = kinds.value_too_new(
            path, value=given, since=R2025_11, allowed=_ONE_VALUE, version=R2025_06
        )
        problems.append(late)
    elif not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        odd = wrong_type(kinds.invalid_form_value, value, path)
        problems.append(null(path) if value is None else odd)


def _check_number(
    value: Json, kind: types.Number, path: Path, problems: list[RawDiagnostic]
) -> None:
    whole = type(value) is int or (type(value) is float and value.is_integer())
    if not whole and (kind.whole or type(value) is not float):  # `True` is also an int
        problems.append(not_number(value, path, whole=kind.whole))
    elif kind.least is not None and value < kind.least:
        problems.append(beyond(kinds.number_too_small, value, kind.least, path))
    elif kind.most is not None and value > kind.most:
        problems.append(beyond(kinds.number_too_large, value, kind.most, path))


# -- lists and objects of free names ------------------------------------------------------------


def _check_list(
    value: Json, kind: types.ListOf, version: str, path: Path, problems: list[RawDiagnostic]
) -> None:
    if not isinstance(value, list):
        problems.append(_not_a_list(value, path, kind, version))
        return
    for at, item in enumerate(value):
        _check(item, kind.item, version, (*path, at), problems)
        if len(problems) > ENOUGH:
            return
    if kind.most is not None and len(value) > kind.most:
        key, count = name_of(path), str(len(value))
        problems.append(kinds.too_many_values(path, key=key, limit=str(kind.most), count=count))


def _not_a_list(value: Json, path: Path, kind: types.ListOf, version: str) -> RawDiagnostic:
    fix = None
    if isinstance(kind.item, types.ByMember) and isinstance(value, (str, int, float)):
        text = value if isinstance(value, str) else as_json(value)
        fix = replace_with(path, [{"type": "text", "text": text}], "wrap")
    elif value is None:
        fix = replace_with(path, [])
    elif fits(value, kind.item, version):
        fix = wrap(path, "[", "]")
    elif isinstance(value, dict) and "name" not in value and _named(value, kind, version):
        listed = [{"name": name, **item} for name, item in value.items()]
        fix = replace_with(path, listed, "wrap")
    got, shows = json_type(value), as_json(example_of(kind, version))
    return kinds.not_an_array(path, fix, key=name_of(path), got=got, example=shows)


def _named(value: JsonObject, kind: types.ListOf, version: str) -> bool:
    """Return True if an object is the wanted list, with the items' names as keys."""
    return bool(value) and all(
        isinstance(item, dict) and fits({"name": name, **item}, kind.item, version)
        for name, item in value.items()
    )


def _check_free_members(
    value: Json, kind: types.MapOf, version: str, path: Path, problems: list[RawDiagnostic]
) -> None:
    if not isinstance(value, dict):
        problems.append(not_an_object(value, path))
        return
    for name, item in value.items():
        _check(item, kind.value, version, (*path, name), problems)
        if len(problems) > ENOUGH:
            return
    if kind.names:
        problems += _misnamed(value, kind.names, path, version)


def _misnamed(names: Iterable[str], rule: str, path: Path, version: str) -> list[RawDiagnostic]:
    """Report free names of an object in the wrong format."""
    kinds = ((name, NAMES[rule](name, version)) for name in names)
    return [
        kind((*path, name), at_name=True, key=shown(name), version=version)
        for name, kind in kinds
        if kind
    ]


# -- objects of several kinds -------------------------------------------------------------------


def _check_by_member(
    value: Json, kind: types.ByMember, version: str, path: Path, problems: list[RawDiagnostic]
) -> None:
    tag = value.get(kind.member, kind.usual) if isinstance(value, dict) else None
    shape = kind.shapes.get(tag) if isinstance(tag, str) else None
    if shape is not None and SHAPES[shape].since <= version:
        _check(value, shape, version, path, problems)
    else:
        problems.append(no_arm(value, path, kind, version))


def _check_by_presence(
    value: Json, kind: types.ByPresence, version: str, path: Path, problems: list[RawDiagnostic]
) -> None:
    if not isinstance(value, dict):
        problems.append(not_an_object(value, path))
        return
    there = [name for name in kind.shapes if name in value]
    if len(there) > 1:  # several: most clients use the first one
        at = (*path, there[1])
        problems.append(kinds.conflicting_members(at, delete(at), kept=there[0], lost=there[1]))
        value = {name: item for name, item in value.items() if name != there[1]}
    elif not there or ("uri" not in value and "type" in value):
        problems.append(_neither(value, path, kind, version))
        return
    _check(value, kind.shapes[there[0]], version, path, problems)


def _neither(value: JsonObject, path: Path, kind: types.ByPresence, version: str) -> RawDiagnostic:
    """Report an object without any of the members that tell its kind."""
    if "uri" not in value:  # such as an item of a tools/call result
        first = next(iter(kind.shapes.values()))
        example_uri = example(SHAPES[first].members["uri"], version)
        fix = insert((*path, "uri"), example_uri)
        if "type" in value:
            rest = {name: item for name, item in value.items() if name != "type"}
            fix = replace_with(path, {"uri": example_uri, **rest})
        shows, where = as_json(example_uri), name_of(path)
        return kinds.missing_member(path, fix, key="uri", example=shows, where=where)
    return none_of(tuple(kind.shapes), path)._replace(fix=insert((*path, "text"), "…"))


# -- objects ------------------------------------------------------------------------------------


def _check_object(
    value: Json, shape: Shape, version: str, path: Path, problems: list[RawDiagnostic]
) -> None:
    if not isinstance(value, dict):
        problems.append(not_an_object(value, path))
        return
    known = members_in(shape, version)
    free: list[str] = []
    for name, item in value.items():
        member = known.get(name)
        if member is None:
            free.append(name)
        elif item is None and not member.required and not isinstance(member.kind, types.Anything):
            problems.append(null((*path, name)))
        else:
            _check(item, member.kind, version, (*path, name), problems)
    lacking = [name for name, one in known.items() if one.required and name not in value]
    if lacking or free:
        problems += _names(value, free, lacking, path, shape, version)
    if shape.names:
        problems += _misnamed(free, shape.names, path, version)
    if shape.any_of and value.keys().isdisjoint(shape.any_of):
        problems.append(none_of(shape.any_of, path))


_IGNORED: Final = (kinds.unknown_member, kinds.member_too_new, kinds.member_removed)


def _names(  # noqa: PLR0913, PLR0917 - what the sentences need
    value: JsonObject, free: list[str], lacking: list[str], path: Path, shape: Shape, version: str
) -> list[RawDiagnostic]:
    """Report missing and unknown members."""
    if shape.closed and free:
        return [kinds.result_not_empty(path, replace_with(path, {}), key=shown(free[0]))]
    problems: list[RawDiagnostic] = []
    strange = list(free)
    for name in lacking:
        member = shape.members[name]
        typed = meant_by(name, strange)
        if typed is not None:
            strange.remove(typed)
            problems.append(_misspelt(name, typed, value[typed], path, member, version))
        elif (nested := _nested(name, member, value, strange, path, version)) is not None:
            strange = []
            problems.append(nested)
        else:
            problems.append(missing(name, path, member, version))
    if not shape.open:
        absent = [name for name in members_in(shape, version) if name not in value]
        odd = _strange(strange, absent, value, path, shape, version)
        # missing members first: they matter more than ignored ones
        problems += [each for each in odd if not lacking or each.kind not in _IGNORED]
    return problems


def _nested(  # noqa: PLR0913, PLR0917 - what the sentence needs
    name: str, member: Member, value: JsonObject, strange: list[str], path: Path, version: str
) -> RawDiagnostic | None:
    """Report members that belong one level deeper: inside the missing member."""
    inner = {key: value[key] for key in strange}
    if not inner or not fits(inner, member.kind(version), version):
        return None
    whole = {key: item for key, item in value.items() if key not in inner} | {name: inner}
    fix, shows = replace_with(path, whole, "wrap"), shown(as_json(inner))
    return kinds.missing_member(path, fix, key=name, example=shows, where=name_of(path))


def _misspelt(  # noqa: PLR0913, PLR0917 - what the sentence needs
    name: str, typed: str, value: Json, path: Path, member: Member, version: str
) -> RawDiagnostic:
    at = (*path, typed)
    fix = rename_to(at, name) if fits(value, member.kind(version), version) else None
    where = name_of(path)
    return kinds.misspelt_required_member(
        at, fix, at_name=True, key=name, typed=shown(typed), where=where
    )


def _strange(  # noqa: PLR0913, PLR0917 - what the sentences need
    names: list[str],
    absent: Iterable[str],
    value: JsonObject,
    path: Path,
    shape: Shape,
    version: str,
) -> list[RawDiagnostic]:
    """Report members that this protocol version does not have."""
    problems: list[RawDiagnostic] = []
    for name in names:
        at, key, member = (*path, name), shown(name), shape.members.get(name)
        if member is not None:
            problems += _of_another_version(member, value[name], at, version)
        elif (meant := alike(name, absent)) is not None:
            fix = rename_to(at, meant)
            near = kinds.misspelt_member(
                at, fix, at_name=True, key=key, version=version, meant=meant
            )
            problems.append(near)
        elif len(problems) <= ENOUGH:
            odd = kinds.unknown_member(at, delete(at), at_name=True, key=key, version=version)
            problems.append(odd)
    return problems


def _of_another_version(member: Member, value: Json, at: Path, version: str) -> list[RawDiagnostic]:
    """Report a member that this protocol version does not have yet, or no longer has."""
    known = member.since not in STATELESS
    problems = judge(value, member.kind(version), member.since, at) if known else []
    early = version < member.since
    kind = kinds.member_too_new if early else kinds.member_removed
    since, key = member.since if early else member.until, shown(str(at[-1]))
    late = kind(at, delete(at), at_name=True, key=key, version=version, since=since)
    return problems or [late]
