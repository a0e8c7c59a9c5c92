"""The words that the table of shapes is written in: kinds of value, members, objects.

Knows no MCP object and judges nothing: `objects.py` is written in these words, and
`validation/shape_checker.py` reads it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeAlias, dataclass_transform

from humanmcp.protocol.diagnostics import kinds
from humanmcp.protocol.spec.versions import ALL, R2024_11

if TYPE_CHECKING:
    from collections.abc import Mapping

    from humanmcp.protocol.diagnostics.kinds import ProblemKind
    from humanmcp.protocol.json.jsonrpc import Json


@dataclass_transform()
class Record:
    """What has the fields that its annotations name, in this order, as a dataclass has.

    Servers import the records at start, and a dozen dataclasses would cost several milliseconds.
    """

    if not TYPE_CHECKING:  # mypy makes both of the annotations

        def __init_subclass__(cls) -> None:
            cls.__match_args__ = tuple(cls.__annotations__)

        def __init__(self, *values, **named) -> None:  # noqa: ANN002, ANN003
            named.update(zip(self.__match_args__, values, strict=False))
            self.__dict__ = named


class Text(Record):
    """A string. `form` names what it must look like, a key of `forms.FORMS`; "" for any text."""

    form: str = ""


class Number(Record):
    """A number, whole or not, within limits where there are any."""

    whole: bool = False
    least: float | None = None
    most: float | None = None


class Boolean(Record):
    """`true` or `false`."""


class Anything(Record):
    """Any JSON value, `null` too."""


class OneOf(Record):
    """One of a few values. `unknown_value` says what another value is."""

    values: tuple[str, ...]
    unknown_value: ProblemKind = kinds.value_not_allowed


class ListOf(Record):
    """A list of items of one kind, of at most `most` items."""

    item: Kind
    most: int | None = None


class MapOf(Record):
    """An object whose names are free and whose values are of one kind.

    `names` says what a name must look like, a key of `forms.NAMES`; "" for any name.
    """

    value: Kind
    names: str = ""


class ByMember(Record):
    """An object whose kind is told by the value of one of its members.

    `usual` is the value that a missing member stands for; "" when the member must be there.
    `unknown_value` says what another value is where the general sentence would not do.
    """

    member: str
    shapes: Mapping[str, str]
    usual: str = ""
    unknown_value: ProblemKind | None = None


class ByPresence(Record):
    """An object whose kind is told by which member it has."""

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
"""What a value may be. A plain string names an entry of the table of shapes."""


class Member(Record):
    """One member of an object: what it may be, in which versions, and an example of it.

    `required` lists the versions in which it must be there. `kinds` says from which version on it
    is of another kind than before: the last entry that has begun counts.
    """

    kinds: tuple[tuple[str, Kind], ...]
    required: tuple[str, ...] = ()
    since: str = R2024_11
    until: str = ALL[-1]
    example: Json = None

    def kind(self, version: str) -> Kind:
        """Return the kind in one version; the first kind where the member came later."""
        begun = [kind for since, kind in self.kinds if since <= version]
        return begun[-1] if begun else self.kinds[0][1]

    def exists(self, version: str) -> bool:
        """Return True if the version knows the member."""
        return self.since <= version <= self.until


class Shape(Record):
    """One object: its members in reading order.

    `open` objects may have members of other names; `names` says what those must look like, a key of
    `forms.NAMES`. `closed` says that no other member may be there at all, whatever it is called:
    clients check `{}` strictly. Of the members that `any_of` names at least one must be there.
    """

    members: Mapping[str, Member]
    since: str = R2024_11
    open: bool = False
    closed: bool = False
    names: str = ""
    any_of: tuple[str, ...] = ()


TEXT: Final = Text()
BASE64: Final = Text("base64")
URI: Final = Text("uri")
MIME: Final = Text("mime")
MOMENT: Final = Text("moment")
NUMBER: Final = Number()
SAFE: Final = 2**53 - 1
"""The largest whole number that JavaScript counts exactly: its clients refuse what is beyond."""
WHOLE: Final = Number(whole=True, least=-SAFE, most=SAFE)
FROM_ZERO: Final = Number(whole=True, least=0, most=SAFE)
SHARE: Final = Number(least=0, most=1)
TRUTH: Final = Boolean()
ANYTHING: Final = Anything()


def must(
    kind: Kind,
    *,
    since: str = R2024_11,
    until: str = ALL[-1],
    required_since: str = R2024_11,
    example: Json = None,
) -> Member:
    """Describe a member that must be there, or must since a version later than its own."""
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
    """Describe a member that may be left out; `then` is its kind from a later version on."""
    kinds = ((since, kind), then) if then else ((since, kind),)
    return Member(kinds, (), since, until, example)
