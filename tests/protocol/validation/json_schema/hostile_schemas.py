"""Schemas of strangers that mean harm, and what is to be said of each.

Held against values by a process of their own (`test_validator.py`): what hangs, or ends the
process, takes no test with it.
"""

from collections.abc import Callable
from typing import Any, Final, NamedTuple

from humanmcp.protocol.diagnostics import kinds
from humanmcp.protocol.json.jsonrpc import Json
from humanmcp.protocol.validation.json_schema import validator

COSTLY: Final = "too costly"
LARGE: Final = "too large"


class Hostile(NamedTuple):
    """One schema, the values it is held against, and what is said: a rule, or why unchecked."""

    schema: dict[str, Any]
    values: tuple[Json, ...]
    said: tuple[str, ...]


def _nested(levels: int, inmost: Json, around: Callable[[Json], Json]) -> Json:
    for _level in range(levels):
        inmost = around(inmost)
    return inmost


def _doubling(levels: int, keyword: str) -> dict[str, Any]:
    """Make a schema of a few lines that stands for 2 to the power of `levels` comparisons."""
    steps = {f"d{at}": {keyword: [{"$ref": f"#/$defs/d{at + 1}"}] * 2} for at in range(levels)}
    return {"$defs": {**steps, f"d{levels}": {"type": "string"}}, "$ref": "#/$defs/d0"}


def _chain(length: int) -> dict[str, Any]:
    links = {f"d{at}": {"$ref": f"#/$defs/d{at + 1}"} for at in range(length)}
    return {"$defs": {**links, f"d{length}": {}}, "$ref": "#/$defs/d0"}


_DEEP_SCHEMA: Any = _nested(5000, {}, lambda inner: {"not": inner})
_LEFT: Final = {"unevaluatedItems": False}
_LONG: Final = "ab" * 1_000_000

HOSTILE: Final[dict[str, Hostile]] = {
    "optional letters": Hostile(
        {"pattern": "^" + "a?" * 26 + "a" * 26 + "$"}, ("a" * 25,), ("pattern",)
    ),
    "repeats of repeats": Hostile({"pattern": "^(a+)+$"}, ("a" * 40 + "!",), ("pattern",)),
    "repeats within limits": Hostile(
        {"pattern": "^" + "(a{0,9}){0,9}" * 4 + "$"}, ("a" * 60 + "!",), ("pattern",)
    ),
    "a large pattern, a long text": Hostile(
        {"pattern": "(?:[ab]{0,90}a){0,90}x"}, (_LONG,), (COSTLY,)
    ),
    "a look-around, a long text": Hostile({"pattern": "(?=a)(a|b|ab)*c"}, (_LONG,), (COSTLY,)),
    "a look-around that goes back": Hostile(
        {"pattern": "^(?=a)(a|a|a)+$"}, ("a" * 40 + "!",), ("pattern",)
    ),
    "a reference back": Hostile({"pattern": r"(a+)+\1c"}, ("a" * 300,), (COSTLY,)),
    "thousands of large patterns": Hostile(
        {"allOf": [{"pattern": f"^.{{1,{at}}}$"} for at in range(200, 1000)]}, ("x",), (COSTLY,)
    ),
    "patterns of names": Hostile(
        {"patternProperties": {"^(a+)+$": {}}, "additionalProperties": False},
        ({"a" * 40 + "!": 1},),
        ("additionalProperties",),
    ),
    "a pattern without end": Hostile({"pattern": "(" * 1_000_000}, ("x",), ("odd pattern",)),
    "references that double": Hostile(_doubling(40, "allOf"), (5,), (COSTLY,)),
    "choices that double": Hostile(_doubling(40, "anyOf"), (5,), (COSTLY,)),
    "single choices that double": Hostile(_doubling(40, "oneOf"), (5,), (COSTLY,)),
    "references that grow with the value": Hostile(
        {"items": {"allOf": [{"$ref": "#"}] * 3}, "type": "array"},
        (_nested(50, 1, lambda inner: [inner]),),
        (COSTLY,),
    ),
    "a reference to itself": Hostile({"$ref": "#"}, (5,), (COSTLY,)),
    "references in a circle": Hostile(
        {"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}},
        (5,),
        (COSTLY,),
    ),
    "a chain of references": Hostile(_chain(6000), (5,), ("broken reference",)),
    "a shorter chain": Hostile(_chain(1500), (5,), (LARGE,)),
    "five thousand levels": Hostile(_DEEP_SCHEMA, (5,), (LARGE,)),
    "a hundred thousand levels of a value": Hostile(
        {"items": {"$ref": "#"}}, (_nested(100_000, 1, lambda inner: [inner]),), (LARGE,)
    ),
    "a million choices": Hostile({"enum": list(range(1_000_000))}, (0.5,), (LARGE,)),
    "a hundred thousand errors of one form": Hostile(
        {"anyOf": [{"items": {"type": "integer"}}]}, (["x"] * 90_000,), (COSTLY,)
    ),
    "what is left unevaluated, in itself": Hostile(
        _nested(31, {"type": "string"}, lambda inner: {"contains": inner, **_LEFT}),
        (_nested(31, "x", lambda inner: [inner]),),
        (COSTLY,),
    ),
    "what is left unevaluated by forms": Hostile(
        _nested(
            23, {"type": "string"}, lambda inner: {"anyOf": [{"prefixItems": [inner]}], **_LEFT}
        ),
        (_nested(23, "x", lambda inner: [inner]),),
        (COSTLY,),
    ),
    "what is left unevaluated, by itself": Hostile(
        _nested(31, {"type": "string"}, lambda inner: {"unevaluatedItems": inner}),
        (_nested(60, "x", lambda inner: [inner]),),
        (COSTLY,),
    ),
    "what is left unevaluated once": Hostile(
        {"allOf": [{"prefixItems": [{"type": "string"}]}], **_LEFT}, (["x"],), ()
    ),
    "the network": Hostile({"$ref": "http://203.0.113.1/schema.json"}, (5,), ("remote reference",)),
    "a file": Hostile({"$ref": "file:///etc/passwd"}, (5,), ("remote reference",)),
    "a dialect of the network": Hostile(
        {"$schema": "http://203.0.113.1/dialect"}, (5,), ("unknown dialect",)
    ),
    "an identifier of the network": Hostile(
        {"$id": "http://203.0.113.1/", "$ref": "other"}, (5,), ("remote reference",)
    ),
}


def say_of_all() -> dict[str, list[str]]:
    """Hold every schema against its values; return what is said of each, by name."""
    return {name: _say_of(one) for name, one in HOSTILE.items()}


def _say_of(one: Hostile) -> list[str]:
    validator.trouble_in(one.schema)
    said = []
    for value in one.values:
        found = validator.first_found(kinds.structured_content_mismatch, value, one.schema, ())
        said += [dict(each.detail)["rule"] for each in found]
    return said
