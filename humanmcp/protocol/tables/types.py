"""The types of the table of objects: kinds of values, members, objects, formats.

`objects.py` is written with these types, and `validation/shape_checker.py` reads them. This module
contains no object of MCP and checks nothing, except formats.
"""

from __future__ import annotations

import re
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias, dataclass_transform

from humanmcp.protocol.diagnostics import kinds
from humanmcp.protocol.tables.versions import ALL, R2024_11, R2025_11, R2026_07, features

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from humanmcp.protocol.diagnostics.problem import ProblemKind
    from humanmcp.protocol.json.jsonrpc import Json


@dataclass_transform()
class Record:
    """A record with the annotated fields in their order, like a dataclass.

    Servers import these classes at start, and a dozen dataclasses would cost several milliseconds.
    """

    if not TYPE_CHECKING:  # mypy derives both from the annotations

        def __init_subclass__(cls) -> None:
            cls.__match_args__ = tuple(cls.__annotations__)

        def __init__(self, *values, **named) -> None:  # noqa: ANN002, ANN003
            named.update(zip(self.__match_args__, values, strict=False))
            self.__dict__ = named


class Text(Record):
    """A string. `form` is the name of its format in `FORMS`; "" for any string."""

    form: str = ""


class Number(Record):
    """A number or an integer, with limits if it has any."""

    whole: bool = False
    least: float | None = None
    most: float | None = None


class Boolean(Record):
    """`true` or `false`."""


class Anything(Record):
    """Any JSON value, also `null`."""


class OneOf(Record):
    """One of a few values. `unknown_value` is the problem of another value."""

    values: tuple[str, ...]
    unknown_value: ProblemKind = kinds.value_not_allowed


class ListOf(Record):
    """A list of items of one kind, of at most `most` items."""

    item: Kind
    most: int | None = None


class MapOf(Record):
    """An object with free names and values of one kind.

    `names` is the format of a name in `NAMES`; "" for any name.
    """

    value: Kind
    names: str = ""


class ByMember(Record):
    """An object whose kind depends on the value of one of its members.

    `usual` is the value if the member is missing; "" if the member is required. `unknown_value` is
    the problem of another value, if the general one does not fit.
    """

    member: str
    shapes: Mapping[str, str]
    usual: str = ""
    unknown_value: ProblemKind | None = None


class ByPresence(Record):
    """An object whose kind depends on which member it has."""

    shapes: Mapping[str, str]


class OneOrMany(Record):
    """One value, or (since a version) a list: of such values, or of another kind."""

    item: Kind
    many_since: str
    many: Kind


class OrNull(Record):
    """A value or `null`."""

    value: Kind


Kind: TypeAlias = (
    "str | Text | Number | Boolean | Anything | OneOf | ListOf | MapOf | ByMember | ByPresence"
    " | OneOrMany | OrNull"
)
"""The kind of a value. A string names an entry of the table of objects."""


class Member(Record):
    """One member of an object: its kind, its versions, and an example.

    `required` lists the versions that require it. `kinds` are its kinds, each from a version on.
    """

    kinds: tuple[tuple[str, Kind], ...]
    required: tuple[str, ...] = ()
    since: str = R2024_11
    until: str = ALL[-1]
    example: Json = None

    def kind(self, version: str) -> Kind:
        """Return the kind in a version; the first kind if the member came later."""
        begun = [kind for since, kind in self.kinds if since <= version]
        return begun[-1] if begun else self.kinds[0][1]

    def exists(self, version: str) -> bool:
        return self.since <= version <= self.until


class Shape(Record):
    """One object: its members in reading order.

    `open` objects may have other members; `names` is the format of their names in `NAMES`. `closed`
    objects may have no other member at all, because clients check `{}` strictly. At least one of
    the members in `any_of` is required.
    """

    members: Mapping[str, Member]
    since: str = R2024_11
    open: bool = False
    closed: bool = False
    names: str = ""
    any_of: tuple[str, ...] = ()


class KnownMember(NamedTuple):
    """A member in one version."""

    kind: Kind
    required: bool


@lru_cache(maxsize=1024)  # without it, a list of 40,000 tools takes a second
def members_in(shape: Shape, version: str) -> Mapping[str, KnownMember]:
    """Return the members of an object in a version, by name."""
    return {
        name: KnownMember(one.kind(version), version in one.required)
        for name, one in shape.members.items()
        if one.exists(version)
    }


TEXT: Final = Text()
BASE64: Final = Text("base64")
URI: Final = Text("uri")
MIME: Final = Text("mime")
MOMENT: Final = Text("moment")
NUMBER: Final = Number()
SAFE: Final = 2**53 - 1
"""The largest integer that JavaScript represents exactly: its clients refuse larger ones."""
WHOLE: Final = Number(whole=True, least=-SAFE, most=SAFE)
FROM_ZERO: Final = Number(whole=True, least=0, most=SAFE)
SHARE: Final = Number(least=0, most=1)
TRUTH: Final = Boolean()
ANYTHING: Final = Anything()
ANY_OBJECT: Final = "Object"


def must(
    kind: Kind,
    *,
    since: str = R2024_11,
    until: str = ALL[-1],
    required_since: str = R2024_11,
    example: Json = None,
) -> Member:
    """Describe a required member; `required_since` may be later than `since`."""
    first = max(since, required_since)
    required = tuple(version for version in ALL if first <= version <= until)
    return Member(((since, kind),), required, since, until, example)


def may(
    kind: Kind,
    *,
    since: str = R2024_11,
    until: str = ALL[-1],
    then: tuple[str, Kind] | None = None,
    example: Json = None,
) -> Member:
    """Describe an optional member; `then` is its kind from a later version on."""
    kinds = ((since, kind), then) if then else ((since, kind),)
    return Member(kinds, (), since, until, example)


def shape(since: str = R2024_11, /, **members: Member) -> Shape:
    """Describe an object by its members."""
    return Shape(members, since)


def loose(since: str = R2024_11, /, **members: Member) -> Shape:
    """Describe an object that may have other members, too."""
    return Shape(members, since, open=True)


def field(since: str = R2024_11, /, **members: Member) -> Shape:
    """Describe one field of a form, by its type."""
    common = {"type": must(TEXT), "title": may(TEXT), "description": may(TEXT)}
    return Shape({**common, **members}, since, open=True)


def result(**members: Member) -> Shape:
    """Describe a result; since 2026-07-28 each has a `resultType`."""
    return Shape(
        {
            "resultType": must(TEXT, since=R2026_07, example="complete"),
            **members,
            "_meta": may("ResultMeta"),
        }
    )


def cached(**members: Member) -> Shape:
    """Describe a result that 2026-07-28 clients may cache."""
    return result(
        **members,
        ttlMs=must(FROM_ZERO, since=R2026_07, example=0),
        cacheScope=must(OneOf(("private", "public")), since=R2026_07, example="private"),
    )


def paged(**members: Member) -> Shape:
    """Describe a list result: with pages, and since 2026-07-28 with cache members."""
    return cached(**members, nextCursor=may(TEXT))


def params(**members: Member) -> Shape:
    """Describe the parameters of a request; since 2026-07-28 `_meta` contains the version."""
    return Shape({**members, "_meta": must("RequestMeta", required_since=R2026_07)})


def retried(**members: Member) -> Shape:
    """Describe the parameters of a request that a client may retry with the user's answers."""
    return params(
        **members,
        inputResponses=may(MapOf(ANY_OBJECT), since=R2026_07),
        requestState=may(TEXT, since=R2026_07),
    )


def notice(**members: Member) -> Shape:
    """Describe the parameters of a notification."""
    return Shape({**members, "_meta": may("NoticeMeta")})


# -- formats of strings --------------------------------------------------------------------------
#
# Base64, an address, a time: each format is a function from the string to a `FormatTrouble`, or
# None if the string is valid.


class FormatTrouble(NamedTuple):
    """The problem of a string: its kind, and the value that fixes it, if there is one."""

    kind: ProblemKind
    fixed: Json = None


# Strings, not compiled patterns: `re` compiles each at its first use, not at the start of a server.
_BASE64: Final = r"[A-Za-z0-9+/]*+={0,2}"
_MOMENT: Final = (
    r"(\d{4})-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])"
    r"([Tt ])(?:[01]\d|2[0-3]):[0-5]\d(?::[0-5]\d(?:\.\d+)?)?"
    r"(?:[Zz]|[+-](?:[01]\d|2[0-3])(:?)[0-5]\d)"
)
_DATA_URL: Final = r"data:[^,]*,"


def _base64(text: str) -> FormatTrouble | None:
    """Check RFC 4648, section 4: the standard alphabet, padded to a multiple of four."""
    if len(text) % 4 == 0 and re.fullmatch(_BASE64, text):
        return None
    joined = "".join(text.split())  # MIME splits base64 into lines of 76 characters
    if joined != text and len(joined) % 4 == 0 and re.fullmatch(_BASE64, joined):
        return FormatTrouble(kinds.invalid_base64, joined)
    prefix = re.match(_DATA_URL, text)
    if prefix:
        return FormatTrouble(kinds.data_url_as_base64, text[prefix.end() :])
    return FormatTrouble(kinds.invalid_base64)


def _file_uri(text: str) -> FormatTrouble | None:
    """Check MCP, roots: `uri` "**MUST** be a `file://` URI in the current specification"."""
    return FORMS["uri"](text) if text.startswith("file://") else FormatTrouble(kinds.not_a_file_uri)


def _moment(text: str) -> FormatTrouble | None:
    """Check ISO 8601 with a time zone, as the SDKs do: `2026-11-20T10:30:00Z`."""
    found = re.fullmatch(_MOMENT, text)
    if found is None or int(found[3]) > _days(int(found[1]), int(found[2])):
        return FormatTrouble(kinds.not_a_time)
    zone = re.sub(r"([+-]\d\d)(\d\d)$", r"\1:\2", text[10:].upper()) if found[5] == "" else ""
    fixed = f"{text[:10]}T{(zone or text[10:].upper())[1:]}"
    return None if fixed == text else FormatTrouble(kinds.not_a_time, fixed)


def _days(year: int, month: int) -> int:
    if month == 2:
        return 29 if year % 4 == 0 and (year % 100 != 0 or year % 400 == 0) else 28
    return 30 if month in (4, 6, 9, 11) else 31


def _shaped(pattern: str, kind: ProblemKind) -> Callable[[str], FormatTrouble | None]:
    def judge(text: str) -> FormatTrouble | None:
        return None if _compiled(pattern).fullmatch(text) else FormatTrouble(kind)

    return judge


_compiled: Final = cache(re.compile)
"""Compile at the first use, without `re`'s own cache: 40,000 tool names would pay for that."""

FORMS: Final[Mapping[str, Callable[[str], FormatTrouble | None]]] = {
    "base64": _base64,
    # RFC 3986: a scheme, a colon, and something after it.
    "uri": _shaped(r"[A-Za-z][A-Za-z0-9+.\-]*:[^\s<>\"{}|\\^`]+", kinds.not_a_uri),
    "file uri": _file_uri,
    # MCP, icons: `src` is an https: or data: URI.
    "icon": _shaped(r"(?s)(?:https?|data):.*", kinds.invalid_icon_url),
    # SEP-2640: `sha256:` and 64 lowercase hexadecimal characters.
    "digest": _shaped(r"sha256:[0-9a-f]{64}", kinds.invalid_digest),
    # RFC 6838: a type, a slash, a subtype, perhaps parameters.
    "mime": _shaped(
        r"[A-Za-z0-9!#$&^_.+\-]+/[A-Za-z0-9!#$&^_.+\-]+(?:\s*;.*)?", kinds.not_a_media_type
    ),
    "moment": _moment,
    # W3C Trace Context: version, trace, parent and flags, in lowercase; neither id is all zeros.
    "traceparent": _shaped(
        r"(?!ff)[0-9a-f]{2}-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}",
        kinds.invalid_trace_parent,
    ),
    # MCP, tools: 1 to 128 of A-Z a-z 0-9 _ - . (required since 2025-11-25, by models before).
    "tool name": _shaped(r"[A-Za-z0-9_.\-]{1,128}", kinds.invalid_tool_name),
}
"""The formats of strings, by the name in the table of objects."""

# -- names of members --------------------------------------------------------------------------

_LABELS: Final = (
    r"[A-Za-z](?:[A-Za-z0-9-]*[A-Za-z0-9])?(?:\.[A-Za-z](?:[A-Za-z0-9-]*[A-Za-z0-9])?)*"
)
_NAME: Final = r"(?:[A-Za-z0-9](?:[A-Za-z0-9_.-]*[A-Za-z0-9])?)?"
_RESERVED: Final = frozenset({"modelcontextprotocol", "mcp"})
_OFFICIAL: Final = frozenset({"io.modelcontextprotocol", "io.modelcontextprotocol.skills"})
"""The prefixes of the `_meta` keys of MCP and its extensions."""


def _meta_key(name: str, version: str) -> ProblemKind | None:
    """Check MCP, `_meta`: "an optional prefix, and a name", and the reserved prefixes."""
    if not features(version).meta_names:
        return None
    prefix, slash, last = name.rpartition("/")
    if not re.fullmatch(_NAME, last) or (slash and not re.fullmatch(_LABELS, prefix)):
        return kinds.invalid_meta_key
    labels = prefix.split(".")
    # "Any prefix where the second label is `modelcontextprotocol` or `mcp` is reserved"; in
    # 2025-06-18 the label before the last one counted.
    second = labels[-2:-1] if version < R2025_11 else labels[1:2]
    kept = not _RESERVED.isdisjoint(second) and prefix not in _OFFICIAL
    return kinds.reserved_meta_prefix if kept else None


def _extension_id(name: str, _version: str) -> ProblemKind | None:
    """Check SEP-2133: `{vendor-prefix}/{extension-name}`, "the prefix is mandatory"."""
    prefix, _slash, last = name.rpartition("/")
    fits = re.fullmatch(_LABELS, prefix) and last and re.fullmatch(_NAME, last)
    return None if fits else kinds.extension_without_prefix


NAMES: Final[Mapping[str, Callable[[str, str], ProblemKind | None]]] = {
    "meta key": _meta_key,
    "extension id": _extension_id,
}
"""The formats of the free names of an object: the kind of the problem, None if valid."""
