"""The tables of objects and methods, held against the official ones, member by member.

`mcp_types` makes its models of the official schemas of 2025-11-25 and 2026-07-28, and says of every
version which methods it has. Where ours say otherwise, the reason stands beside the difference.
"""

import sys
from collections.abc import Iterator, Mapping
from typing import Any, Final, TypeAlias

from mcp_types import jsonrpc
from mcp_types import methods as official
from pydantic import TypeAdapter

from humanmcp.protocol.tables import methods, types
from humanmcp.protocol.tables.objects import FORM_FIELD, SHAPES
from humanmcp.protocol.tables.types import Kind
from humanmcp.protocol.tables.versions import ALL, R2025_11, R2026_07, features
from humanmcp.protocol.validation.envelope import STANDARD

Schema: TypeAlias = dict[str, Any]

PARAMS: Final = (
    official.CLIENT_REQUESTS,
    official.SERVER_REQUESTS,
    official.CLIENT_NOTIFICATIONS,
    official.SERVER_NOTIFICATIONS,
)
RESULTS: Final = (official.SERVER_RESULTS, official.CLIENT_RESULTS)
ASKED_BACK: Final = "InputRequired"
ALONE: Final[Mapping[str, Mapping[str, Kind]]] = {
    R2025_11: {
        "PrimitiveSchemaDefinition": FORM_FIELD,
        "Task": "Task",
        "CreateTaskResult": "CreateTaskResult",
        "GetTaskResult": "TaskStateResult",
        "CancelTaskResult": "TaskResult",
        "ListTasksResult": "TaskListResult",
        "TaskStatusNotificationParams": "TaskNotice",
        "TaskMetadata": "TaskWish",
        "RelatedTaskMetadata": "RelatedTask",
        "Error": "Error",
    },
    R2026_07: {"PrimitiveSchemaDefinition": FORM_FIELD, "Error": "Error"},
}
"""What no method of the package leads to: the fields of a form, tasks, errors."""

_BOTH: Final = (R2025_11, R2026_07)
_WIDER: Final = "the models take more here than the schema says"
_LENGTH: Final = "a length is never negative, although the schema does not say so"
_EARLY: Final = "hosts of 2025-11-25 declare the extensions of the version after it already"
_CLASSES: Final = "forms that a program makes of a class have these, and no client refuses them"
_IN_META: Final = "described in the text of the specification, not in the schema"
DELIBERATE: Final[dict[str, tuple[tuple[str, ...], str]]] = {
    "ClientCapabilities: theirs -, ours extensions": ((R2025_11,), _EARLY),
    "ServerCapabilities: theirs -, ours extensions": ((R2025_11,), _EARLY),
    "ElicitResult.content.*: theirs array, boolean, null, number, string,"
    " ours array, boolean, number, string": ((R2025_11,), _WIDER),
    "InputSchema.properties.*: theirs boolean, object, ours object": ((R2025_11,), _WIDER),
    "OutputSchema.properties.*: theirs boolean, object, ours object": ((R2025_11,), _WIDER),
    "ListenMeta.io.modelcontextprotocol/serverInfo: theirs anything, ours object": (
        (R2026_07,),
        _WIDER,
    ),
    "ResultMeta.io.modelcontextprotocol/serverInfo: theirs anything, ours object": (
        (R2026_07,),
        _WIDER,
    ),
    "ElicitationCompleteNotice: theirs -, ours _meta": (
        (R2025_11,),
        "the params of every notification may have it",
    ),
    "FormSchema: theirs -, ours additionalProperties, description, title": (_BOTH, _CLASSES),
    "InputSchema: theirs -, ours properties, required": (
        (R2026_07,),
        "the schema names the type alone; what JSON Schema says of these two is checked",
    ),
    "ListCapability: theirs -, ours listChanged": (
        (R2026_07,),
        "one object for the lists of both sides; roots have no such member any more",
    ),
    "ListField.maxItems minimum: theirs None, ours 0": (_BOTH, _LENGTH),
    "ListField.minItems minimum: theirs None, ours 0": (_BOTH, _LENGTH),
    "StringField.maxLength minimum: theirs None, ours 0": (_BOTH, _LENGTH),
    "StringField.minLength minimum: theirs None, ours 0": (_BOTH, _LENGTH),
    "NoticeMeta: theirs -, ours io.modelcontextprotocol/related-task": ((R2025_11,), _IN_META),
    "NoticeMeta: theirs -, ours traceparent": ((R2026_07,), _IN_META),
    "RequestMeta: theirs -, ours traceparent": ((R2026_07,), _IN_META),
    "ResultMeta: theirs -, ours io.modelcontextprotocol/related-task": ((R2025_11,), _IN_META),
    "ResultMeta: theirs -, ours io.modelcontextprotocol/subscriptionId": ((R2026_07,), _IN_META),
    "SubscriptionFilter: theirs -, ours taskIds": ((R2026_07,), "of the extension for tasks"),
}
"""Each difference that is meant: in which versions, and why."""
NOT_IN_THE_PACKAGE: Final = {
    *("ListSkillsResult", "GetSkillParams", "GetSkillResult", "Skill", "SkillFrontmatter"),
    *("SkillFile", "ReadDirectoryParams", "ReadDirectoryResult"),
    *("TaskAcknowledged", "TaskParams", "TaskUpdateParams", "TaskPayload", "TaskPayloadMeta"),
    *("CapabilityErrorData", "UrlErrorData", "VersionErrorData"),
}
"""Objects of extensions, of results without a shape, and of `error.data`."""


class Comparison:
    """Compares kinds of ours with JSON Schemas of one official model."""

    def __init__(self, version: str, root: Schema) -> None:
        self.version = version
        self.differences: set[str] = set()
        self.reached: set[str] = set()
        self._definitions: Schema = root.get("$defs", {})
        self._compared: set[tuple[str, str]] = set()

    def forms(self, node: Schema) -> list[Schema]:
        """Return what a value may be, with every reference followed and no choice left."""
        while "$ref" in node:
            node = self._definitions[node["$ref"].rpartition("/")[2]]
        choices = node.get("anyOf") or node.get("oneOf")
        return [form for each in choices for form in self.forms(each)] if choices else [node]

    def compare(self, kind: Kind, forms: list[Schema], place: str) -> None:  # noqa: C901, PLR0912 - one arm a kind
        """Take note of how a kind of ours differs from the forms that a value may have."""
        match kind:
            case str():
                self._object(kind, forms, place)
            case types.OrNull():
                self._types(forms, {"null"}, place, among=True)
                self.compare(kind.value, _without(forms, "null"), place)
            case types.ListOf():
                self._types(forms, {"array"}, place)
                self.compare(kind.item, self._items(forms), f"{place}[]")
            case types.OneOrMany():
                several = self.version >= kind.many_since
                self._types(forms, {"array"}, place, among=several)
                if several:
                    self.compare(kind.many, self._items(forms), f"{place}[]")
                self.compare(kind.item, _without(forms, "array"), place)
            case types.MapOf():
                self._types(forms, {"object"}, place)
                free = [form.get("additionalProperties", True) for form in forms]
                found = [
                    form for each in free if isinstance(each, dict) for form in self.forms(each)
                ]
                if found:
                    self.compare(kind.value, found, f"{place}.*")
            case types.ByMember():
                self._by_member(kind, forms, place)
            case types.ByPresence():
                for member, shape in kind.shapes.items():
                    self._object(shape, [f for f in forms if member in _members(f)], place)
            case types.OneOf():
                self._note(place, _values(forms), set(kind.values))
            case types.Text("token"):
                self._types(forms, {"string", "integer"}, place)
            case types.Text("answer" | "one answer"):
                self._types(forms, {"string", "number", "boolean", "array"}, place)
            case types.Text():
                self._types(forms, {"string"}, place)
            case types.Number():
                self._types(forms, {"integer" if kind.whole else "number"}, place)
                for name, ours in (("minimum", kind.least), ("maximum", kind.most)):
                    if ours is None or abs(ours) != types.SAFE:
                        self._note(f"{place} {name}", {f.get(name) for f in forms}, {ours})
            case types.Boolean():
                self._types(forms, {"boolean"}, place)

    def _note(self, place: str, theirs: set[Any], ours: set[Any]) -> None:
        if theirs != ours:
            self.differences.add(f"{place}: theirs {_listed(theirs)}, ours {_listed(ours)}")

    def _types(
        self, forms: list[Schema], ours: set[str], place: str, *, among: bool = False
    ) -> None:
        theirs = {form.get("type", "anything") for form in forms}
        if "number" in theirs:
            theirs.discard("integer")
        self._note(place, theirs & ours if among else theirs, ours)

    def _items(self, forms: list[Schema]) -> list[Schema]:
        lists = (form for form in forms if form.get("type") == "array")
        return [form for each in lists for form in self.forms(each.get("items", {}))]

    def _by_member(self, kind: types.ByMember, forms: list[Schema], place: str) -> None:
        tagged = {id(form): self._tags(form, kind.member) for form in forms}
        known = {tag for tag, shape in kind.shapes.items() if SHAPES[shape].since <= self.version}
        self._note(f"{place} {kind.member}", set().union(*tagged.values()), known)
        for tag in sorted(known):
            same = [form for form in forms if tag in tagged[id(form)]]
            if same:
                self._object(kind.shapes[tag], same, place)

    def _tags(self, form: Schema, member: str) -> set[str]:
        part = _members(form).get(member)
        return _values(self.forms(part)) if part else set()

    def _object(self, name: str, forms: list[Schema], place: str) -> None:
        self._types(forms, {"object"}, place)
        objects = [form for form in forms if form.get("type") == "object"]
        if not objects or (name, repr(objects)) in self._compared:
            return
        self._compared.add((name, repr(objects)))
        self.reached.add(name)
        required = set.intersection(*(set(form.get("required", ())) for form in objects))
        theirs: dict[str, list[Schema]] = {}
        for form in objects:
            for one, part in _members(form).items():
                theirs.setdefault(one, []).append(part)
        ours = {
            one: member
            for one, member in SHAPES[name].members.items()
            if member.exists(self.version)
        }
        if not (SHAPES[name].open and not ours):
            self._note(name, set(theirs) - set(ours), set(ours) - set(theirs))
        must = {one for one in ours if self.version in ours[one].required and one in theirs}
        self._note(f"{name} required", required & set(ours), must)
        for one in ours.keys() & theirs.keys():
            # a default of null is how the models write what may be left out
            unset = any(part.get("default", "") is None for part in theirs[one])
            found = [form for part in theirs[one] for form in self.forms(part)]
            kind = ours[one].kind(self.version)
            self.compare(kind, _without(found, "null") if unset else found, f"{name}.{one}")


def _without(forms: list[Schema], name: str) -> list[Schema]:
    return [form for form in forms if form.get("type") != name]


def _members(form: Schema) -> Schema:
    members: Schema = form.get("properties", {})
    return members


def _values(forms: list[Schema]) -> set[str]:
    return {
        one
        for form in forms
        for one in ([form["const"]] if "const" in form else form.get("enum", ()))
    }


def _listed(values: set[Any]) -> str:
    return ", ".join(sorted(map(str, values))) or "-"


def compared(version: str) -> Iterator[Comparison]:
    """Compare the params and the result of each method that a version has, and what is left."""
    for requests in PARAMS:
        for (method, each), model in requests.items():
            if each == version:
                comparison, (message,) = _begun(version, model)
                params = _members(message).get("params", {"type": "object"})
                forms = _without(comparison.forms(params), "null")
                comparison.compare(methods.of(method).params, forms, method)
                yield comparison
    for results in RESULTS:
        for (method, each), answer in results.items():
            if each == version:
                comparison, forms = _begun(version, answer)
                asking = [form for form in forms if str(form.get("title")).startswith(ASKED_BACK)]
                if asking:
                    comparison.compare("InputRequiredResult", asking, method)
                answering = [form for form in forms if form not in asking]
                comparison.compare(methods.of(method).result_in(version), answering, method)
                yield comparison
    module = sys.modules[official.SERVER_RESULTS["tools/list", version].__module__]
    for name, kind in ALONE[version].items():
        comparison, forms = _begun(version, getattr(module, name))
        comparison.compare(kind, forms, name)
        yield comparison


def _begun(version: str, model: Any) -> tuple[Comparison, list[Schema]]:  # noqa: ANN401 - a class or a union of classes
    root = TypeAdapter(model).json_schema(by_alias=True)
    comparison = Comparison(version, root)
    return comparison, comparison.forms(root)


def test_every_object_has_the_members_of_the_official_schemas() -> None:
    """Which there are, which must be there, of which kind, and the few values that some have."""
    found: dict[str, set[str]] = {}
    reached: set[str] = set()
    for version in _BOTH:
        for comparison in compared(version):
            reached |= comparison.reached
            for difference in comparison.differences:
                found.setdefault(difference, set()).add(version)
    assert found == {what: set(versions) for what, (versions, _why) in DELIBERATE.items()}
    assert set(SHAPES) - reached == NOT_IN_THE_PACKAGE


def test_every_version_has_the_methods_of_the_official_tables() -> None:
    """All five versions, both ways; the package has no methods of extensions."""
    sent = {
        "to_server": official.CLIENT_REQUESTS.keys() | official.CLIENT_NOTIFICATIONS.keys(),
        "to_client": official.SERVER_REQUESTS.keys() | official.SERVER_NOTIFICATIONS.keys(),
    }
    extended = {one.name for each in methods.EXTENSIONS for one in each.methods}
    records = (*methods.REQUESTS.values(), *methods.NOTIFICATIONS.values())
    for way, theirs in sent.items():
        ours = {
            (one.name, version)
            for one in records
            for version in getattr(one, way)
            if one.name not in extended
        }
        assert ours == {(name, version) for name, version in theirs if name not in extended}
        assert {version for _name, version in theirs} == set(ALL)


def test_the_error_codes_of_the_specification_are_known() -> None:
    """Of the newest version: each is a standard one, or one that the table of versions names."""
    named = vars(jsonrpc).values()
    codes = {code for code in named if type(code) is int and -32768 <= code <= -32000}
    newest = features(R2026_07)
    known = {*STANDARD, *newest.more_errors, *dict(newest.error_data)}
    of_the_sdk = {jsonrpc.CONNECTION_CLOSED, jsonrpc.REQUEST_TIMEOUT}
    assert codes - known - of_the_sdk == {jsonrpc.URL_ELICITATION_REQUIRED}  # until 2025-11-25
