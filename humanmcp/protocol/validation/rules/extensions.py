"""What the extensions for skills and for apps ask of answers, beyond the shapes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from humanmcp.protocol.diagnostics.model import Severity
from humanmcp.protocol.diagnostics.raw import (
    RawDiagnostic,
    insert,
    quoted,
    replace_with,
    shown,
)
from humanmcp.protocol.json.tree import follow
from humanmcp.protocol.spec import methods
from humanmcp.protocol.validation.rules.lists import TwiceInList
from humanmcp.protocol.validation.rules.registry import rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from humanmcp.protocol.diagnostics.raw import Path
    from humanmcp.protocol.json.jsonrpc import Json
    from humanmcp.protocol.validation.rules.registry import JudgedAnswer

_W: Final = Severity.WARNING
_SKILLS: Final = (
    "https://github.com/modelcontextprotocol/ext-skills/blob/main/specification/stable/skills.mdx"
)
_APPS: Final = (
    "https://github.com/modelcontextprotocol/ext-apps/blob/main/specification/2026-01-26/apps.mdx"
)

# -- skills ---------------------------------------------------------------------------------------

MOST_FILES: Final = 512
MOST_BYTES: Final = 16 * 1024 * 1024
"""The limits of one skill: "Servers **SHOULD NOT** serve a skill that exceeds either limit." """
_OWN_FILE: Final = "/SKILL.md"


class SkillPath(RawDiagnostic, code="M100", severity=_W, page=_SKILLS):
    """The name of a skill is told by its address alone."""

    name: str


class SkillFileMissing(RawDiagnostic, code="M101", severity=_W, page=_SKILLS):
    """Hosts read no file of a skill that its list does not name."""

    uri: str


class SkillFileOutside(RawDiagnostic, code="M102", severity=_W, page=_SKILLS):
    """What a user approves is the folder of the skill."""

    uri: str
    folder: str


class SkillFilesTooMany(RawDiagnostic, code="M103", severity=_W, page=_SKILLS):
    """A host need not load a larger skill."""

    count: str
    limit: str


class SkillTooLarge(RawDiagnostic, code="M104", severity=_W, page=_SKILLS):
    """A host need not load a larger skill."""

    size: str
    limit: str


class SkillsNeedResources(RawDiagnostic, code="M105", severity=_W, page=_SKILLS):
    """Skills are read as resources."""


@rule("skills/list", "skills/get")
def whole_skills(answer: JudgedAnswer) -> Iterator[RawDiagnostic]:
    """A skill is where its name says, and its list of files is complete and within the limits.

    "The final `<skill-path>` segment of the entry's `uri` **MUST** equal `frontmatter.name`" and
    "it **MUST** be complete. It lists every file of the skill, each exactly once, including an
    entry whose `uri` equals the skill's top-level `uri`."
    https://github.com/modelcontextprotocol/ext-skills/blob/main/specification/stable/skills.mdx
    """
    listed = answer.value.get("skills")
    entries: list[tuple[Path, Json]] = [
        (answer.at("skills", at), skill)
        for at, skill in enumerate(listed if isinstance(listed, list) else ())
    ]
    for path, skill in [*entries, (answer.at("skill"), answer.value.get("skill"))]:
        uri = follow(skill, "uri")
        if isinstance(uri, str):
            yield from _path(uri, follow(skill, "frontmatter", "name"), path)
            yield from _files(uri, follow(skill, "resources"), (*path, "resources"))


def _path(uri: str, name: Json, path: Path) -> Iterator[RawDiagnostic]:
    if not isinstance(name, str) or not name:
        return
    folder = uri.removesuffix(_OWN_FILE)
    if folder == uri or folder.rpartition("/")[2] != name:
        yield SkillPath((*path, "uri"), name=shown(name))


def _files(uri: str, files: Json, path: Path) -> Iterator[RawDiagnostic]:
    if not isinstance(files, list):
        return
    uris = [each for each in (follow(one, "uri") for one in files) if isinstance(each, str)]
    if uri not in uris:
        mend = None if files else replace_with(path, "dynamic")
        yield SkillFileMissing(path, mend, uri=shown(uri))
    folder = uri.removesuffix(_OWN_FILE) + "/"
    seen: set[str] = set()
    for at, one in enumerate(files):
        each = follow(one, "uri")
        if not isinstance(each, str):
            continue
        if each in seen:
            yield TwiceInList((*path, at, "uri"), key="uri", value=shown(each))
        elif not each.startswith(folder):
            yield SkillFileOutside((*path, at, "uri"), uri=shown(each), folder=shown(folder))
        seen.add(each)
    if len(files) > MOST_FILES:
        yield SkillFilesTooMany(path, count=str(len(files)), limit=str(MOST_FILES))
    sizes = [follow(one, "size") for one in files]
    size = sum(one for one in sizes if type(one) is int)
    if size > MOST_BYTES:
        yield SkillTooLarge(path, size=str(size), limit=str(MOST_BYTES))


@rule("initialize", "server/discover")
def skills_with_resources(answer: JudgedAnswer) -> Iterator[RawDiagnostic]:
    """A server with skills has resources.

    "A server declaring this extension therefore **MUST** also declare the `resources` capability."
    https://github.com/modelcontextprotocol/ext-skills/blob/main/specification/stable/skills.mdx
    """
    declared = answer.value.get("capabilities")
    if not isinstance(declared, dict) or "resources" in declared:
        return
    if follow(declared, "extensions", methods.SKILLS.id) is not None:
        at = answer.at("capabilities", "resources")
        yield SkillsNeedResources(answer.at("capabilities"), insert(at, {}))


# -- apps -----------------------------------------------------------------------------------------

APP_SCHEME: Final = "ui://"
APP_TYPE: Final = "text/html;profile=mcp-app"


class AppType(RawDiagnostic, code="M106", severity=_W, page=_APPS):
    """Hosts show a page of this media type only."""

    wanted: str


class AppAddress(RawDiagnostic, code="M107", severity=_W, page=_APPS):
    """Hosts look for the page of a tool under this scheme only."""

    typed: str


@rule("resources/list", "resources/templates/list", "resources/read")
def pages_by_their_type(answer: JudgedAnswer) -> Iterator[RawDiagnostic]:
    """A page of an app says that it is one.

    "`mimeType` MUST be `text/html;profile=mcp-app` (other types reserved for future extensions)"
    https://github.com/modelcontextprotocol/ext-apps/blob/main/specification/2026-01-26/apps.mdx
    """
    for member, key in _ADDRESSED.items():
        listed = answer.value.get(member)
        for index, one in enumerate(listed if isinstance(listed, list) else ()):
            uri = follow(one, key)
            if not isinstance(uri, str) or not uri.startswith(APP_SCHEME):
                continue
            at, typed = answer.at(member, index, "mimeType"), follow(one, "mimeType")
            if isinstance(typed, str) and typed != APP_TYPE:
                yield AppType(at, replace_with(at, APP_TYPE), wanted=APP_TYPE)
            elif typed is None and member == "contents" and "mimeType" not in one:
                yield AppType(at[:-1], insert(at, APP_TYPE), wanted=APP_TYPE)


_ADDRESSED: Final = {"resources": "uri", "resourceTemplates": "uriTemplate", "contents": "uri"}
_PAGE_OF_TOOL: Final = (("_meta", "ui", "resourceUri"), ("_meta", "ui/resourceUri"))
"""Where a tool names its page; the second is an older spelling."""


@rule("tools/list")
def page_of_a_tool(answer: JudgedAnswer) -> Iterator[RawDiagnostic]:
    """The page that a tool brings is a `ui://` resource: "URI MUST start with `ui://` scheme".

    https://github.com/modelcontextprotocol/ext-apps/blob/main/specification/2026-01-26/apps.mdx
    """
    listed = answer.value.get("tools")
    for index, tool in enumerate(listed if isinstance(listed, list) else ()):
        for steps in _PAGE_OF_TOOL if isinstance(tool, dict) and "_meta" in tool else ():
            uri = follow(tool, *steps)
            if uri is not None and not (isinstance(uri, str) and uri.startswith(APP_SCHEME)):
                yield AppAddress(answer.at("tools", index, *steps), typed=quoted(uri))
