"""`humanmcp judge`: what a client does with each thing that a server can do wrong."""

from typing import Final

from humanmcp.extensions import Extension, Link

_HERE: Final = "humanmcp.extensions.judge"
_PAGE: Final = "/faults/{session}"

EXTENSION: Final = Extension(
    commands={"roles": {"judge": f"{_HERE}.command"}},
    capabilities=(f"{_HERE}.tried_faults:TriedFaults",),
    pages=(f"{_HERE}.faults_page",),
    links=(Link("session", _PAGE, "faults", "title"), Link("call", _PAGE, "faults", "title")),
    orders={"faults": f"{_HERE}.orders:understand"},
)
