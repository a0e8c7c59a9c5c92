"""Say how a value differs from its kind: one problem for each way of being wrong.

Knows the table of shapes for its examples, and judges nothing: `shape_checker.py` finds what is
wrong and asks here for the words and the mend.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from humanmcp.protocol.diagnostics.kinds import mcp
from humanmcp.protocol.diagnostics.raw import (
    RawDiagnostic,
    delete,
    insert,
    json_text,
    quoted,
    replace_with,
    shown,
    unwrap,
    wrap,
)
from humanmcp.protocol.json.jsonrpc import json_type
from humanmcp.protocol.json.similar import alike
from humanmcp.protocol.spec.examples import example
from humanmcp.protocol.spec.objects import SHAPES

if TYPE_CHECKING:
    from humanmcp.protocol.diagnostics.raw import FixAction, Path
    from humanmcp.protocol.json.jsonrpc import Json
    from humanmcp.protocol.spec import types
    from humanmcp.protocol.spec.formats import FormatTrouble
    from humanmcp.protocol.spec.types import Member


def name_of(path: Path) -> str:
    """Return how a person would call the place: `tools[0].name`, without what leads to it."""
    steps = [step for step in path if step not in ("params", "result")] or list(path[-1:])
    said = ""
    first = -3 if len(steps) < 4 or isinstance(steps[-3], str) else -4
    for step in steps[first:]:
        said += f"[{step}]" if isinstance(step, int) else f".{step}" if said else step
    return shown(said)


def wrong_type(
    kind: type[mcp.WrongType], value: Json, path: Path, fix: FixAction | None = None
) -> RawDiagnostic:
    """Report a value by the place and the JSON type that stands there."""
    return kind(path, fix, key=name_of(path), got=json_type(value))


def null(path: Path) -> RawDiagnostic:
    """Report `null` for a member that is better left out."""
    return wrong_type(mcp.NullValue, None, path, delete(path))


def not_text(value: Json, path: Path) -> RawDiagnostic:
    """Report what should be text."""
    fix = None
    if value is not None and not isinstance(value, (dict, list)):
        fix = wrap(path, '"', '"')
    return wrong_type(mcp.NotText, value, path, fix)


def not_number(value: Json, path: Path, *, whole: bool) -> RawDiagnostic:
    """Report what should be a number, or a whole one."""
    fix = None
    if isinstance(value, str):
        digits = value.strip()
        if digits.removeprefix("-").isdecimal() and digits.isascii() and len(digits) < 1000:
            fix = replace_with(path, int(digits), "unquote")
    elif isinstance(value, float):
        fix = replace_with(path, round(value))
    kind = mcp.NotWhole if whole else mcp.NotANumber
    return kind(path, fix, key=name_of(path), value=quoted(value))


def not_an_object(value: Json, path: Path) -> RawDiagnostic:
    """Report what should be an object."""
    if value is None:
        return wrong_type(mcp.NotAnObject, None, path, replace_with(path, {}))
    # `"tools": true` among capabilities means `{}`; a list of names means an object of them
    fix = replace_with(path, {}) if value is True else None
    if isinstance(value, list) and value and all(isinstance(item, str) for item in value):
        fix = replace_with(path, {item: {} for item in value})
    return wrong_type(mcp.NotAnObject, value, path, fix)


def no_arm(value: Json, path: Path, kind: types.ByMember, revision: str) -> RawDiagnostic:
    """Report an object whose kind none of its members tells."""
    names = [name for name, shape in kind.shapes.items() if SHAPES[shape].since <= revision]
    allowed = ", ".join(json_text(name) for name in names)
    if not isinstance(value, dict):
        fix = None
        if kind.member == "type" and isinstance(value, str):
            fix = replace_with(path, {"type": "text", "text": value}, "wrap")
        elif isinstance(value, list) and len(value) == 1 and isinstance(value[0], dict):
            fix = unwrap(path, (0,))
        return wrong_type(mcp.NotAnObject, value, path, fix)
    tag = value.get(kind.member)
    at = (*path, kind.member)
    if kind.member not in value:
        meant = next((name for name in names if name in value), None)
        fix = insert(at, meant) if meant else None
        where = name_of(path)
        return mcp.KindMissing(path, fix, key=kind.member, allowed=allowed, where=where)
    if isinstance(tag, str) and tag in kind.shapes:
        since = SHAPES[kind.shapes[tag]].since
        return mcp.ValueTooNew(at, value=tag, since=since, revision=revision, allowed=allowed)
    meant = alike(tag, names)
    fix = None if meant is None else replace_with(at, meant)
    strange = kind.unknown_value or (mcp.TypeUnknown if kind.member == "type" else mcp.NotAllowed)
    return strange(at, fix, value=quoted(tag), allowed=allowed, key=name_of(at))


def missing(name: str, path: Path, member: Member, revision: str) -> RawDiagnostic:
    """Report a member that must be there."""
    value = example(member, revision)
    kind = mcp.ResultTypeMissing if name == "resultType" else mcp.MemberMissing
    fix = insert((*path, name), value)
    return kind(path, fix, key=name, example=json_text(value), where=name_of(path))


def none_of(names: tuple[str, ...], path: Path) -> RawDiagnostic:
    """Report an object that has none of the members of which it needs one."""
    allowed = " / ".join(json_text(name) for name in names)
    return mcp.NoneOfMembers(path, allowed=allowed, where=name_of(path))


def ill_formed(trouble: FormatTrouble, value: str, path: Path) -> RawDiagnostic:
    """Report a text that does not look like what it must be."""
    fix = None if trouble.mended is None else replace_with(path, trouble.mended)
    return trouble.kind(path, fix, key=name_of(path), value=shown(value))


def beyond(kind: type[mcp.OutOfRange], value: Json, limit: float, path: Path) -> RawDiagnostic:
    """Report a number outside its range."""
    fix = replace_with(path, limit)
    return kind(path, fix, key=name_of(path), value=quoted(value), limit=quoted(limit))


def too_many(count: int, most: int, path: Path) -> RawDiagnostic:
    """Report a list that is too long."""
    return mcp.TooMany(path, key=name_of(path), limit=str(most), count=str(count))


_TRUTHS: Final = {
    **dict.fromkeys(("true", "1", "yes", "on"), True),
    **dict.fromkeys(("false", "0", "no", "off"), False),
}


def not_a_truth(value: Json, path: Path) -> RawDiagnostic:
    """Report what should be `true` or `false`."""
    meant = _TRUTHS.get(str(value).strip().lower()) if isinstance(value, (str, int)) else None
    fix = None if meant is None else replace_with(path, meant)
    return wrong_type(mcp.NotATruth, value, path, fix)


def not_one_of(value: Json, kind: types.OneOf, path: Path) -> RawDiagnostic:
    """Report a word that is none of the few that have a meaning."""
    allowed = ", ".join(map(json_text, kind.values))
    meant = kind.values[0] if len(kind.values) == 1 else alike(value, kind.values)
    fix = None if meant is None else replace_with(path, meant)
    return kind.unknown_value(path, fix, key=name_of(path), allowed=allowed, value=quoted(value))
