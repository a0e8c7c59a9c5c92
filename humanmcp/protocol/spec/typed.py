"""The table of objects as JSON Schema, for an editor that offers what can be written at a place.

It knows names, kinds and the few allowed values of a version. The check says what is wrong.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from humanmcp.protocol.spec import types
from humanmcp.protocol.spec.methods import NOTIFICATIONS, REQUESTS
from humanmcp.protocol.spec.objects import SHAPES

if TYPE_CHECKING:
    from collections.abc import Mapping

    from humanmcp.protocol.spec.types import Kind, Member


class Schemas:
    """The schemas of one version; each object is described once, in `$defs`."""

    def __init__(self, version: str) -> None:
        """Begin with none."""
        self.version = version
        self.defs: dict[str, Any] = {}

    def answer(self, result: str, more: Mapping[str, Any]) -> dict[str, Any]:
        """Return the schema of an answer. `more` describes members of its result."""
        described = {**self.of(result), "properties": dict(more)} if result else {}
        return self._message({"result": described, "error": self.of("Error")})

    def requests(self, tools: Mapping[str, Any]) -> dict[str, Any]:
        """Return the schema of what a client may say. `tools` are the `inputSchema` of each."""
        arms = [
            {"properties": {"method": {"const": one.name}, "params": self.of(one.params)}}
            for one in (*REQUESTS.values(), *NOTIFICATIONS.values())
            if self.version in one.to_server and one.name != "tools/call"
        ]
        called = [
            {"properties": {"name": {"const": name}, "arguments": schema}}
            for name, schema in tools.items()
        ]
        call = {**self.of(REQUESTS["tools/call"].params), "oneOf": called}
        arms.append({"properties": {"method": {"const": "tools/call"}, "params": call}})
        return {**self._message({}), "oneOf": arms}

    def _message(self, members: Mapping[str, Any]) -> dict[str, Any]:
        head = {"jsonrpc": {"const": "2.0"}, "id": {}}
        return {"type": "object", "properties": {**head, **members}, "$defs": self.defs}

    def of(self, kind: Kind) -> dict[str, Any]:  # noqa: PLR0911 - one arm a kind
        """Return the schema of a kind of value."""
        match kind:
            case str():
                return self._named(kind)
            case types.OneOf():
                return {"enum": list(kind.values)}
            case types.Boolean():
                return {"type": "boolean"}
            case types.ListOf():
                return {"type": "array", "items": self.of(kind.item)}
            case types.MapOf():
                return {"type": "object", "additionalProperties": self.of(kind.value)}
            case types.ByMember():
                return {"oneOf": [self._arm(kind, value) for value in self._arms(kind)]}
            case types.ByPresence():
                return {"anyOf": [self.of(one) for one in kind.shapes.values()]}
            case types.OneOrMany():
                many = {"type": "array", "items": self.of(kind.many)}
                later = [many] if kind.many_since <= self.version else []
                return {"anyOf": [self.of(kind.item), *later]}
            case types.OrNull():
                return {"anyOf": [self.of(kind.value), {"const": None}]}
            case _:
                return {}

    def _arms(self, kind: types.ByMember) -> list[str]:
        return [one for one, name in kind.shapes.items() if SHAPES[name].since <= self.version]

    def _arm(self, kind: types.ByMember, value: str) -> dict[str, Any]:
        return {**self.of(kind.shapes[value]), "properties": {kind.member: {"const": value}}}

    def _named(self, name: str) -> dict[str, Any]:
        if name not in self.defs:
            self.defs[name] = {}  # an object may hold itself
            known = {
                each: member
                for each, member in SHAPES[name].members.items()
                if member.exists(self.version)
            }
            self.defs[name] = {
                "type": "object",
                "properties": {each: self._member(one) for each, one in known.items()},
                "required": [each for each, one in known.items() if self.version in one.required],
            }
        return {"$ref": f"#/$defs/{name}"}

    def _member(self, member: Member) -> dict[str, Any]:
        return self.of(member.kind(self.version))
