# ruff: noqa: ANN401 - the library is imported where it is needed, and so are its types
"""Why a value does not keep to a JSON Schema: the rule it breaks, and what fills the sentence.

Knows the keywords of JSON Schema and what the library tells of an error; nothing of languages. The
sentence of a rule stands in `locales/`, room `schema_rule`; where there is no rule of ours, the
library's own words (`why`) are all there is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, TypeAlias

from humanmcp.protocol.diagnostics.locate import LONGEST_QUOTE, quoted, shown
from humanmcp.protocol.json.tree import at, follow

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from humanmcp.protocol.diagnostics.locate import Path
    from humanmcp.protocol.json.jsonrpc import Json, JsonObject

Fillings: TypeAlias = "Mapping[str, str] | None"

RULE: Final = "rule"
"""The filling that names the rule."""

_UNCERTAIN: Final = frozenset({"BacktrackLimitExceeded", "RegexEngineFailure", "Referencing"})


def unchecked(rule: str, value: Json = "") -> tuple[tuple[str, str], ...]:
    """Return what fills the sentence on why there was no comparison."""
    return ((RULE, rule), ("why", rule), ("value", quoted(value)))


def uncertain(error: Any) -> bool:
    """Return True if an error means that the library gave up, there or in a form that it tried."""
    if type(error.kind).__name__ in _UNCERTAIN:
        return True
    forms = getattr(error.kind, "context", None) or ()
    inner = getattr(error.kind, "error", None)
    return any(uncertain(each) for form in forms for each in form) or (
        hasattr(inner, "kind") and uncertain(inner)
    )


def detail_of(error: Any, schema: Json) -> tuple[tuple[str, str], ...]:
    """Return what fills the sentence on one error of the library, which broke `schema`."""
    keyword = error.kind.name
    if keyword == "propertyNames":
        return detail_of(error.kind.error, schema)
    detail = {"why": f"{shown(error.message).removesuffix('.')}.", "value": quoted(error.instance)}
    rule = _RULES.get(keyword, keyword)
    if error.schema_path[-1:] and error.schema_path[-1] in _OTHERWISE:
        rule = _OTHERWISE[error.schema_path[-1]]
    try:
        fillings = _TELLERS[rule](error, schema)
    except (KeyError, TypeError, AttributeError, IndexError):  # not ours, or meant otherwise
        fillings = None
    if fillings is not None:
        detail |= {RULE: rule, **fillings}
    return tuple(detail.items())


_RULES: Final[Mapping[str, str]] = {
    "falseSchema": "false",
    "unevaluatedProperties": "additionalProperties",
}
"""What the library calls otherwise than the sentences do."""

_OTHERWISE: Final[Mapping[str, str]] = {
    "dependentRequired": "dependentRequired",
    "dependencies": "dependentRequired",
    "minContains": "",
    "maxContains": "",
}
"""Keywords whose errors the library gives the name of another; "" where no sentence of ours is."""


def _plain(_error: Any, _schema: Json) -> Fillings:
    return {}


def _limit(error: Any, _schema: Json) -> Fillings:
    return {"limit": quoted(error.kind.value)}


def _count(error: Any, _schema: Json) -> Fillings:
    return {"limit": quoted(error.kind.value), "count": str(len(error.instance))}


def _text(error: Any, _schema: Json) -> Fillings:
    return {"limit": shown(error.kind.value)}


def _type(error: Any, schema: Json) -> Fillings:
    typed = _broken(error, schema)  # in the order in which they stand there
    return {"limit": ", ".join(typed if isinstance(typed, list) else error.kind.types)}


def _choices(error: Any, _schema: Json) -> Fillings:
    first = error.kind.options[:LONGEST_QUOTE]  # no sentence has room for more of them
    return {"limit": shown(", ".join(quoted(each) for each in first))}


def _missing(error: Any, schema: Json) -> Fillings:
    needed = _broken(error, schema)
    if not isinstance(needed, list):
        return _named([error.kind.property])
    return _named(name for name in needed if name not in error.instance)


def _extra(error: Any, _schema: Json) -> Fillings:
    return _named(error.kind.unexpected)


def _depends(error: Any, schema: Json) -> Fillings:
    for name, needed in _broken(error, schema).items():
        missing = [each for each in needed if each not in error.instance]
        if name in error.instance and missing:
            return {"key": shown(name), **(_named(missing) or {})}
    return None


def _one_of(error: Any, _schema: Json) -> Fillings:
    several = type(error.kind).__name__.endswith("MultipleValid")
    return {RULE: "oneOf several"} if several else {}


def _named(names: Iterable[str]) -> Fillings:
    return {"names": shown(", ".join(names))}


def _broken(error: Any, schema: Json) -> Any:
    """Return the value of the keyword that was broken, None where it is not found."""
    return follow(schema, *error.schema_path)


_LIMITS: Final = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf")
_COUNTS: Final = tuple(
    f"{least}{what}" for least in ("min", "max") for what in ("Length", "Items", "Properties")
)
_TELLERS: Final[Mapping[str, Callable[[Any, Json], Fillings]]] = {
    "type": _type,
    "required": _missing,
    "enum": _choices,
    **dict.fromkeys(("const", *_LIMITS), _limit),
    "additionalProperties": _extra,
    **dict.fromkeys(_COUNTS, _count),
    **dict.fromkeys(("pattern", "format"), _text),
    **dict.fromkeys(("uniqueItems", "contains", "anyOf", "not", "false"), _plain),
    "dependentRequired": _depends,
    "oneOf": _one_of,
}


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
