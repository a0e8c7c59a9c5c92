"""Where the references of a JSON Schema lead: to a part of itself, or out of it.

Reads `$ref` and its like, `$id` and the anchors, and the patterns on the way. Fetches nothing: what
a schema does not hold itself is told, and not looked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from humanmcp.protocol.json.tree import at

if TYPE_CHECKING:
    from collections.abc import Iterator

    from humanmcp.protocol.diagnostics.raw import Path
    from humanmcp.protocol.json.jsonrpc import Json, JsonObject

REFERENCES: Final = ("$ref", "$dynamicRef", "$recursiveRef")
"""The keywords that name another schema."""
DATA: Final = frozenset({"const", "enum", "default", "examples"})
"""The keywords whose value is no schema, whatever it looks like."""
MOST_REFERENCES: Final = 2_000
"""References of one schema that are followed; what has more is taken as leading nowhere."""
_ANCHORS: Final = ("$anchor", "$dynamicAnchor")
_AGAIN: Final = frozenset({"anyOf", "oneOf", "unevaluatedProperties", "unevaluatedItems"})
"""The keywords that look at a value more than once."""


class Reference:
    """One reference: where it stands, what is written there, and what it leads to, if anything."""

    __slots__ = ("holder", "path", "remote", "targets", "text")

    def __init__(self, holder: JsonObject, path: Path, text: str) -> None:
        self.holder = holder
        self.path = path
        self.text = text
        self.targets: tuple[Json, ...] = ()
        self.remote = False

    @property
    def why(self) -> str:
        """The name of the sentence on a reference that leads to nothing."""
        return "remote reference" if self.remote else "broken reference"


class References:
    """All references of one schema, and all its patterns with their places."""

    def __init__(self, schema: Json) -> None:
        self._resources: dict[str, Json] = {"": schema}
        self._anchors: dict[str, dict[str, Json]] = {}
        self._by_holder: dict[int, list[Reference]] = {}
        self.patterns: list[tuple[Path, str]] = []
        self.simple = True
        """Nothing in it looks at a value twice: no reference, no pattern, no choice of forms."""
        found: list[tuple[str, Reference]] = []
        for base, path, part in _parts(schema):
            if path == () or part.get("$id") is not None:
                self._resources[base] = part
            for keyword in _ANCHORS:
                anchor = part.get(keyword)
                if isinstance(anchor, str):
                    self._anchors.setdefault(anchor, {})[base] = part
            for keyword in REFERENCES:
                text = part.get(keyword)
                if isinstance(text, str):
                    found.append((base, Reference(part, (*path, keyword), text)))
            self._patterns_of(part, path)
            self.simple = self.simple and _AGAIN.isdisjoint(part)
        self.simple = self.simple and not found and not self.patterns
        self.all: tuple[Reference, ...] = tuple(each for _base, each in found)
        for base, each in found[:MOST_REFERENCES]:
            self._resolve(base, each)
            self._by_holder.setdefault(id(each.holder), []).append(each)

    def _patterns_of(self, part: JsonObject, path: Path) -> None:
        pattern, named = part.get("pattern"), part.get("patternProperties")
        if isinstance(pattern, str):
            self.patterns.append(((*path, "pattern"), pattern))
        for name in named if isinstance(named, dict) else ():
            self.patterns.append(((*path, "patternProperties", name), name))

    def _resolve(self, base: str, reference: Reference) -> None:
        address, fragment = _split(base, reference.text)
        if address is None or address not in self._resources:
            reference.remote = True
            return
        if reference.path[-1] == "$dynamicRef" and fragment in self._anchors:
            # which of them it is depends on the way there: any may be
            reference.targets = tuple(self._anchors[fragment].values())
        elif fragment and not fragment.startswith("/"):
            reference.targets = _one(self._anchors.get(fragment, {}).get(address))
        else:
            reference.targets = _one(at(self._resources[address], fragment))

    def of(self, holder: JsonObject) -> list[Json]:
        """Return what the references of one schema object lead to."""
        found = self._by_holder.get(id(holder), [])
        return [target for each in found for target in each.targets]

    @property
    def targets(self) -> list[Json]:
        """Everything that is referred to, once."""
        return list({id(one): one for each in self.all for one in each.targets}.values())

    @property
    def broken(self) -> Reference | None:
        """The first reference that leads to nothing in the schema."""
        return next((each for each in self.all if not each.targets), None)


def _parts(schema: Json) -> Iterator[tuple[str, Path, JsonObject]]:
    """List the objects of a schema with their base address and path. Data in it is left out."""
    waiting: list[tuple[str, Path, Json]] = [("", (), schema)]
    while waiting:
        base, path, part = waiting.pop()
        if isinstance(part, list):
            waiting.extend((base, (*path, at), item) for at, item in enumerate(part))
        if not isinstance(part, dict):
            continue
        own = part.get("$id")
        if isinstance(own, str):
            base = _split(base, own)[0] or base
        yield base, path, part
        waiting.extend(
            (base, (*path, name), item)
            for name, item in part.items()
            if name not in DATA and isinstance(item, (dict, list))
        )


def _split(base: str, text: str) -> tuple[str | None, str]:
    """Return the address that a reference names, None where there is none, and its fragment."""
    from urllib.parse import unquote, urldefrag, urljoin  # noqa: PLC0415 - seldom needed

    if text.startswith("#"):
        return base, unquote(text[1:])
    try:
        address, fragment = urldefrag(urljoin(base, text))
        return address, unquote(fragment)
    except ValueError:  # "http://[" is no address at all
        return None, ""


def _one(found: Json) -> tuple[Json, ...]:
    return (found,) if isinstance(found, (dict, bool)) else ()
