"""The answer book: what a server declares and lists, and the entries that answer without a person.

`book_entry.py` defines an entry (people call it an entry), `book_format.py` the format of a book,
`decide.py` when it answers what.
Objects of MCP are spelled as on the wire.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from humanmcp import __version__
from humanmcp.protocol.answer_book.own_tools import ASK_TOOL
from humanmcp.protocol.tables import examples, methods, versions

if TYPE_CHECKING:
    from collections.abc import Mapping

    from humanmcp.protocol.answer_book.book_entry import BookEntry, DefinitionChange


ATTRIBUTES: Final[Mapping[str, str]] = {
    "tools": "tools",
    "resources": "resources",
    "resourceTemplates": "resource_templates",
    "prompts": "prompts",
}
"""The key of each list in a book, by the member of the result."""
LISTED: Final = {one.listing.member: one.listing.key for one in methods.LISTS if one.listing}
"""The member that names an entry of each list."""


class Book(NamedTuple):
    """What is answered without a person. The defaults are those without an answer book."""

    name: str = "humanmcp"
    version: str = __version__
    title: str = ""
    instructions: str = "Every answer is typed by a person. Please allow several minutes per call."
    protocol_versions: tuple[str, ...] = versions.ALL
    capabilities: Mapping[str, Any] | None = None
    """None: the capabilities of the lists below."""
    tools: tuple[Mapping[str, Any], ...] = (ASK_TOOL,)
    resources: tuple[Mapping[str, Any], ...] = ()
    resource_templates: tuple[Mapping[str, Any], ...] = ()
    prompts: tuple[Mapping[str, Any], ...] = ()
    entries: tuple[BookEntry, ...] = ()
    wait: Mapping[str, float | None] = MappingProxyType({})
    """The seconds before the book answers a method, None for never; others have a default."""
    progress: bool = True
    """Send progress to the client while a person works on a request."""
    park: float | None = None
    """The seconds after which a call is parked (`parking.py`), None for never."""

    def declared_capabilities(self, version: str = "") -> Mapping[str, Any]:
        """Return the capabilities that the book declares; a person may change each list later.

        A book that parks calls declares tasks in the form of this protocol version.
        """
        if self.capabilities is not None:
            return self.capabilities
        tasks: Mapping[str, Any] = {}
        if self.park is not None:
            from humanmcp.protocol.conversation.parking import CAPABILITIES  # noqa: PLC0415 - seldom wanted

            tasks = CAPABILITIES.get(version, {})
        resources = self.resources or self.resource_templates
        wanted = {"tools": self.tools, "resources": resources, "prompts": self.prompts}
        return {
            **{name: {"listChanged": True} for name, entries in wanted.items() if entries},
            **tasks,
        }

    def listed_tools(self, version: str = "") -> tuple[Mapping[str, Any], ...]:
        """Return the tools in the list for a client; a book that parks calls adds one."""
        tools = self.tools
        if version and not versions.features(version).structured_content:
            tools = tuple(
                {name: part for name, part in one.items() if name != "outputSchema"}
                for one in tools
            )
        if self.park is None:
            return tools
        from humanmcp.protocol.conversation.parking import with_result_tool  # noqa: PLC0415 - as above

        return with_result_tool(tools, version)

    def changed(self, change: DefinitionChange) -> Book:
        """Return the changed book; an added entry replaces the one with its name."""
        lists: dict[str, Any] = {}
        for member, key in LISTED.items():
            gone = {
                *change.remove.get(member, ()),
                *(one[key] for one in change.add.get(member, ())),
            }
            kept = [one for one in getattr(self, ATTRIBUTES[member]) if one.get(key) not in gone]
            lists[ATTRIBUTES[member]] = (*kept, *change.add.get(member, ()))
        return self._replace(**lists)


def lists_of(book: Book, version: str = "") -> Mapping[str, Mapping[str, Any]]:
    book = book._replace(tools=book.listed_tools(version))
    return {
        one.name: {one.listing.member: list(getattr(book, ATTRIBUTES[one.listing.member]))}
        for one in methods.LISTS
        if one.listing
    }


def changed_lists(before: Book, after: Book) -> tuple[str, ...]:
    """Return the capabilities whose lists differ between two books."""
    pairs = {
        "tools": (before.listed_tools(), after.listed_tools()),
        "prompts": (before.prompts, after.prompts),
        "resources": (
            (before.resources, before.resource_templates),
            (after.resources, after.resource_templates),
        ),
    }
    return tuple(name for name, (old, new) in pairs.items() if old != new)


def book_lists(book: Book) -> Mapping[str, Mapping[str, Any]]:
    """Return the lists that a person wrote into a book; drafts do not start from empty ones."""
    if book._replace(protocol_versions=versions.ALL) == Book():
        return {}
    return {method: part for method, part in lists_of(book).items() if any(part.values())}


def with_result_envelope(
    whole: Mapping[str, Any], method: str, version: str, book: Book
) -> Mapping[str, Any]:
    """Add the members that every 2026-07-28 result has, and the server's name."""
    kind = methods.of(method).result_in(version)
    # MCP: "Servers SHOULD include" it in the `_meta` of every result.
    return examples.dated(dict(whole), kind, version, {versions.META_SERVER: server_info(book)})


def server_info(book: Book) -> Mapping[str, Any]:
    """Return our name and version from the book."""
    title = {"title": book.title} if book.title else {}
    return {"name": book.name, **title, "version": book.version}
