"""`humanmcp serve --http --oauth`: a person is the authorization server of a real client."""

from typing import Final

from humanmcp.extensions import Extension, Link

_HERE: Final = "humanmcp.extensions.authority"

EXTENSION: Final = Extension(
    endpoints=(f"{_HERE}.endpoint:Authority",),
    kinds={"oauth": f"{_HERE}.kind:KIND"},
    pages=(f"{_HERE}.authority_page",),
    links=(Link("menu", "/authority", "oauth", "menu"),),
    orders={"oauth": f"{_HERE}.orders:understand"},
    lessons={"sign-in": f"{_HERE}.practice:LESSON"},
    desks=(f"{_HERE}.lesson:LessonBeside",),
    judged=(f"{_HERE}.judged:rows",),
)
