"""Write the entry that most hosts read into the README, and links that install it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final
from urllib.parse import quote

from docs.make_manifests import COMMAND
from humanmcp.setup import hosts, starting
from humanmcp.setup.hosts import HOSTS, Format

if TYPE_CHECKING:
    from collections.abc import Iterator

    from humanmcp.setup.hosts import Host

BLOCK: Final = re.compile(
    r"(?<=<!-- install: made by `make docs` -->\n).*?(?=^<!-- install: end -->$)",
    re.DOTALL | re.MULTILINE,
)
_KINDS: Final = {
    Format.JSON: "json",
    Format.JSONC: "json",
    Format.TOML: "toml",
    Format.YAML: "text",
}
_WEB: Final = {
    "cursor://anysphere.cursor-deeplink/mcp/install?": "https://cursor.com/en/install-mcp?",
    "lmstudio://add_mcp?": "https://lmstudio.ai/install-mcp?",
}
"""Pages that open an address of a host: pages of repositories show no others as links."""


def block() -> str:
    """Return the entry that most hosts read, and the buttons."""
    standard = hosts.BY_NAME["cursor"]
    buttons = ((host, web_link(host)) for host in HOSTS)
    links = " · ".join(f"[**{host.label}**]({link})" for host, link in buttons if link)
    return "\n".join(["", f"Or install it with one click: {links}", "", *_fenced(standard), "", ""])


def _fenced(host: Host) -> Iterator[str]:
    entry = hosts.entry(host, COMMAND, hosts.wait_to_write(host, None))
    yield f"```{_KINDS[host.format]}"
    yield starting.snippet(host, hosts.DEFAULT_NAME, entry).rstrip("\n")
    yield "```"


def web_link(host: Host) -> str:
    """Return the address of a page that installs the entry with one click; "" where none is."""
    link = hosts.install_link(host, hosts.DEFAULT_NAME, COMMAND)
    if link.startswith("vscode:"):
        return f"https://insiders.vscode.dev/redirect?url={quote(link, safe='')}"
    for own, page in _WEB.items():
        if link.startswith(own):
            return page + link.removeprefix(own)
    return ""
