"""The sentences of the specification about each step, in the protocol version that is in use."""

from __future__ import annotations

import re
import tomllib
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from humanmcp.protocol.tables import versions

if TYPE_CHECKING:
    from humanmcp.extensions.authority.steps import Step

_PAGES: Final = "https://modelcontextprotocol.io/specification/"
USUAL: Final = versions.R2025_11
"""The version that counts where a client names none."""


class Must(NamedTuple):
    """A sentence, and who must follow it: "client", "resource" or "authorization"."""

    step: str
    who: str
    sentence: str
    since: str
    until: str = "9999"
    page: str = ""
    codes: tuple[str, ...] = ()
    mistakes: tuple[str, ...] = ()
    """Those that show whether a client follows it."""

    @property
    def plain(self) -> str:
        """The sentence without its marks of Markdown."""
        return re.sub(r"\*|(?<!\w)_(?=\w)|(?<=\w)_(?!\w)", "", self.sentence)

    def address(self, version: str) -> str:
        """Return the address of its page in a version."""
        page = f"/{self.page}" if self.page and version >= versions.R2026_07 else ""
        return f"{_PAGES}{version}/basic/authorization{page}"

    @property
    def newest(self) -> str:
        """The address of its page in the newest version that has it."""
        return self.address(max(one for one in versions.ALL if self.since <= one <= self.until))


@cache
def musts() -> tuple[Must, ...]:
    text = (Path(__file__).parent / "musts.toml").read_text(encoding="utf-8")
    rows = tomllib.loads(text)["must"]
    lists = [{name: (*row.get(name, ()),) for name in ("codes", "mistakes")} for row in rows]
    return tuple(Must(**{**row, **both}) for row, both in zip(rows, lists, strict=True))


def in_use(version: str) -> str:
    """Return the version by which a step is explained: the client's, if it is one."""
    return version if version in versions.ALL and version >= versions.R2025_03 else USUAL


def of_step(step: Step, version: str) -> tuple[Must, ...]:
    """Return the sentences about a step in a version."""
    used = in_use(version)
    return tuple(one for one in musts() if one.step == step and one.since <= used <= one.until)


def page_of(code: str, version: str) -> str:
    """Return the page with the rule of a problem: that of the version, else the newest one."""
    used = in_use(version)
    ours = [one for one in musts() if code in one.codes]
    fitting = [one for one in ours if one.since <= used <= one.until]
    if fitting:
        return fitting[0].address(used)
    newest = max(ours, key=lambda one: one.since, default=None)
    return "" if newest is None else newest.newest
