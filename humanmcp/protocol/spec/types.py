"""The words that the table of shapes is written in: kinds of value, members, objects.

Knows no MCP object and judges nothing: `objects.py` is written in these words, and
`validation/shape_checker.py` reads it. Plain classes, compared by identity: servers import them at
start, and a dozen dataclasses would cost it several milliseconds.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeAlias

from humanmcp.protocol.diagnostics.kinds.mcp import NotAllowed
from humanmcp.protocol.spec.versions import ALL, R2024_11

if TYPE_CHECKING:
    from collections.abc import Mapping

    from humanmcp.protocol.diagnostics.kinds.mcp import NoneOfThese
    from humanmcp.protocol.json.jsonrpc import Json


class Text:
    """A string. `form` names what it must look like, a key of `forms.FORMS`; "" for any text."""

    __match_args__ = ("form",)
    __slots__ = ("form",)

    def __init__(self, form: str = "") -> None:
        self.form = form


class Number:
    """A number, whole or not, within limits where there are any."""

    __slots__ = ("least", "most", "whole")

    def __init__(
        self, *, whole: bool = False, least: float | None = None, most: float | None = None
    ) -> None:
        self.whole = whole
        self.least = least
        self.most = most


class Boolean:
    """`true` or `false`."""

    __slots__ = ()


class Anything:
    """Any JSON value, `null` too."""

    __slots__ = ()


class OneOf:
    """One of a few values. `strange` says what another value is."""

    __slots__ = ("strange", "values")

    def __init__(self, values: tuple[str, ...], strange: type[NoneOfThese] = NotAllowed) -> None:
        self.values = values
        self.strange = strange


class ListOf:
    """A list of items of one kind, of at most `most` items."""

    __slots__ = ("item", "most")

    def __init__(self, item: Kind, most: int | None = None) -> None:
        self.item = item
        self.most = most


class MapOf:
    """An object whose names are free and whose values are of one kind.

    `names` says what a name must look like, a key of `forms.NAMES`; "" for any name.
    """

    __slots__ = ("names", "value")

    def __init__(self, value: Kind, names: str = "") -> None:
        self.value = value
        self.names = names


class ByMember:
    """An object whose kind is told by the value of one of its members.

    `usual` is the value that a missing member stands for; "" when the member must be there.
    `strange` says what another value is where the general sentence would not do.
    """

    __slots__ = ("member", "shapes", "strange", "usual")

    def __init__(
        self,
        member: str,
        shapes: Mapping[str, str],
        usual: str = "",
        strange: type[NoneOfThese] | None = None,
    ) -> None:
        self.member = member
        self.shapes = shapes
        self.usual = usual
        self.strange = strange


class ByPresence:
    """An object whose kind is told by which member it has."""

    __slots__ = ("shapes",)

    def __init__(self, shapes: Mapping[str, str]) -> None:
        self.shapes = shapes


class OneOrMany:
    """One value, or (since a revision) a list of them, or of another kind: `many`."""

    __slots__ = ("item", "many", "many_since")

    def __init__(self, item: Kind, many_since: str, many: Kind | None = None) -> None:
        self.item = item
        self.many_since = many_since
        self.many = many or item


class OrNull:
    """A value or `null`."""

    __slots__ = ("value",)

    def __init__(self, value: Kind) -> None:
        self.value = value


Kind: TypeAlias = (
    "str | Text | Number | Boolean | Anything | OneOf | ListOf | MapOf | ByMember | ByPresence"
    " | OneOrMany | OrNull"
)
"""What a value may be. A plain string names an entry of the table of shapes."""


class Member:
    """One member of an object: what it may be, in which revisions, and an example of it.

    `required` lists the revisions in which it must be there. `kinds` says from which revision on it
    is of another kind than before: the last entry that has begun counts.
    """

    __slots__ = ("example", "kinds", "required", "since", "until")

    def __init__(
        self,
        kinds: tuple[tuple[str, Kind], ...],
        required: tuple[str, ...] = (),
        since: str = R2024_11,
        until: str = ALL[-1],
        example: Json = None,
    ) -> None:
        self.kinds = kinds
        self.required = required
        self.since = since
        self.until = until
        self.example = example

    def kind(self, revision: str) -> Kind:
        """Return the kind in one revision; the first kind where the member came later."""
        begun = [kind for since, kind in self.kinds if since <= revision]
        return begun[-1] if begun else self.kinds[0][1]

    def exists(self, revision: str) -> bool:
        """Return True if the revision knows the member."""
        return self.since <= revision <= self.until


class Shape:
    """One object: its members in reading order.

    `open` objects may have members of other names; `names` says what those must look like, a key of
    `forms.NAMES`. `closed` says that no other member may be there at all, whatever it is called:
    clients check `{}` strictly. Of the members that `any_of` names at least one must be there.
    """

    __slots__ = ("any_of", "closed", "members", "names", "open", "since")

    def __init__(  # noqa: PLR0913 - each says one thing about the object, by name
        self,
        members: Mapping[str, Member],
        since: str = R2024_11,
        *,
        open: bool = False,  # noqa: A002 - the word for it
        closed: bool = False,
        names: str = "",
        any_of: tuple[str, ...] = (),
    ) -> None:
        self.members = members
        self.since = since
        self.open = open
        self.closed = closed
        self.names = names
        self.any_of = any_of


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
    """Describe a member that must be there, or must since a revision later than its own."""
    first = max(since, required_since)
    required = tuple(revision for revision in ALL if first <= revision <= until)
    return Member(((since, kind),), required, since, until, example)


def may(
    kind: Kind,
    *,
    since: str = R2024_11,
    until: str = ALL[-1],
    then: tuple[str, Kind] | None = None,
    example: Json = None,
) -> Member:
    """Describe a member that may be left out; `then` is its kind from a later revision on."""
    kinds = ((since, kind), then) if then else ((since, kind),)
    return Member(kinds, (), since, until, example)
