"""How bad each problem is that has no class of its own, by its code.

What the rules find are classes beside them. The sentences of all stand in `locales/`. J.. the JSON
text, R.. the JSON-RPC envelope, M.. what MCP asks, N.. an incoming line, F.. the file that a person
wrote, X.. the check itself. `docs/reference/problems.md` lists them with their sentences.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from humanmcp.protocol.diagnostics.model import Severity

if TYPE_CHECKING:
    from collections.abc import Mapping

_E = Severity.ERROR
_W = Severity.WARNING
_H = Severity.HINT
_R = Severity.REPAIRED


def _all(level: Severity, codes: str) -> dict[str, Severity]:
    return dict.fromkeys(codes.split(), level)


LEVELS: Final[Mapping[str, Severity]] = {
    # the JSON text
    **_all(_E, "J01 J02 J03 J04 J05 J06 J07 J08 J09 J10 J11 J12 J13 J14 J15 J16 J17 J18 J19 J20"),
    **_all(_E, "J21 J22 J23 J24 J25 J26 J27 J28 J29 J30 J31 J32 J33 J34 J35 J36 J37 J38 J39"),
    **_all(_E, "J41 J42 J43 J44"),
    **_all(_W, "J40 J45"),
    **_all(_R, "J50 J51"),
    # the file that a person wrote
    **_all(_R, "F01 F02 F03 F06"),
    **_all(_E, "F04 F05"),
    # the JSON-RPC envelope
    **_all(_E, "R01 R02 R03 R04 R05 R06 R07 R08 R09"),
    **_all(_W, "R10 R11"),
    **_all(_E, "R12 R13 R14 R15 R16 R17 R18 R19 R20 R21 R22 R23 R24 R25"),
    # something of the person's own
    **_all(_E, "R30 R31 R32 R33 R34 R35 R36 R37 R38 R39"),
    **_all(_W, "R40 R41"),
    # an answer that belongs to nothing
    **_all(_E, "R50 R51 R52 R53 R54 R55"),
    # what MCP asks, where the rules do not say it
    **_all(_E, "M01 M02 M03 M07 M09 M10 M11 M15 M16 M17 M18 M19 M20 M21 M22 M23 M24 M25"),
    **_all(_E, "M26 M27 M29 M30 M33 M34 M35 M36 M37 M51 M52 M53 M54 M55 M56 M64 M67 M69"),
    **_all(_E, "M75 M76 M81 M94"),
    **_all(_W, "M12 M13 M14 M28 M31 M32 M39 M62 M65 M68 M72 M73 M80 M82 M83 M85 M86 M87"),
    **_all(_W, "M88 M89 M90 M93"),
    **_all(_H, "M71 M84"),
    # an incoming line that is no message
    **_all(_E, "N01 N02 N03 N04 N05 N06 N07 N08 N09"),
    **_all(_W, "N10 N11 N12 N13 N14 N15 N16"),
    # the check itself
    **_all(_E, "X01"),
    # a message that passes a tap
    **_all(_W, "N30 N31 N36 N37 N38 N39"),
    **_all(_E, "N32 N33 N34 N35"),
}
"""Each code and its severity."""
